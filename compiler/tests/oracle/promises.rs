//! Random promises and small random programs: the checks say that a program is right exactly if it runs right, in the
//! emulator of `cclc run` and in the interpreter of this test.
//!
//! A program moves and combines chunks between the inputs, the scratch and the outputs of two or three ranks, between two
//! handshakes, so that it has no races. What it leaves in the outputs is worked out here, as counts of contributions; the
//! promise is that, or that with a change: a contribution more or less, another one in its place, another operator, or a
//! second promise for the chunk. An operator that is not the collective's only combines values that have nothing in
//! common, and so does what is made of such a value afterwards. So it never happens to give the same numbers, as the maximum
//! of a value and itself does, or `max(a, min(a, b), b)`.

use crate::agreement::number;
use crate::corpus;
use crate::lot::Lot;
use crate::machine::Verdict;
use crate::schedule::{Effort, explore};
use compiler::check;
use compiler::driver;
use compiler::elaborate::{self, Settings};
use compiler::emulate::{self, Element, Outcome, Trial};
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use compiler::optimize::{self, Stage};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Chunks of each buffer of a rank.
const CHUNKS: usize = 2;
const OPS: [&str; 3] = ["sum", "min", "max"];

/// A chunk's contributions, by rank and input chunk, each with how often it is there; none if it was not written.
type Counts = BTreeMap<(usize, usize), u32>;

/// What the chunks of a rank hold, as far as this is a reduction by the collective's operator.
#[derive(Clone, Default)]
struct Chunk {
    counts: Counts,
    foreign: bool,
}

/// A source or destination of an operation: its text, and its place among the rank's chunks.
#[derive(Clone, Copy)]
enum Place {
    Own(usize),
    Of(usize, usize),
    Scratch(usize),
    Output(usize),
}

struct Made {
    text: String,
    /// How the promise was changed.
    change: &'static str,
}

#[test]
fn the_checks_agree_with_runs_on_random_promises() {
    let (seed, count) = (number("ORACLE_SEED", 1, 1), number("ORACLE_PROMISES", 250, 4000));
    let mut tallies: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    let mut surprises = Vec::new();
    for i in 0..count {
        let made = made(seed.wrapping_mul(1 << 32) + i);
        let unit = corpus::unit("p.ccl", &made.text)
            .unwrap_or_else(|| panic!("a text with errors:\n{}", made.text));
        let id = unit.programs.ids().next().expect("a program");
        let settings = Settings::default();
        let (program, reports) = elaborate::elaborate(&unit, id, &settings, &Interrupt::default());
        let contradictory = reports.iter().any(|report| report.code.id() == "E0703");
        let tally = tallies.entry(made.change).or_default();
        let Some(program) = program.filter(|_| !driver::has_errors(&reports)) else {
            tally[1] += 1;
            if !contradictory || made.change != "a second promise" {
                surprises.push(format!("{i}: {reports:?}\n{}", made.text));
            }
            continue;
        };
        let refused = check::check(&program, &Interrupt::default());
        let right = runs_right(&program);
        let effort = Effort { checked: 1, weak: 1, show: false };
        let judged = explore(&program, effort, seed).verdict == Verdict::Ok;
        tally[usize::from(!right)] += 1;
        let only_promises = refused.iter().all(|report| report.code.id() == "E0701");
        if !only_promises || refused.is_empty() != right || judged != right {
            let codes: Vec<_> = refused.iter().map(|report| &report.message).collect();
            surprises.push(format!(
                "{i} of {}: runs right: {right}, judged right: {judged}, refused: {codes:?}\n{}",
                made.change, made.text
            ));
        }
    }
    eprintln!("right and wrong, by how the promise was changed: {tallies:?}");
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    for (change, [right, wrong]) in tallies {
        let enough = count as u32 / 30;
        match change {
            "as it is" | "said twice" => assert!(right > enough && wrong == 0, "{change}"),
            _ => assert!(wrong > enough, "{change}: {right} {wrong}"),
        }
    }
}

/// Whether a program is right in a few schedules of the emulator.
fn runs_right(program: &Program) -> bool {
    let program = optimize::optimize(program.clone(), Stage::Sync);
    let settings = emulate::Settings {
        chunk_bytes: [256].into(),
        element: Element::F32,
        launches: 2,
        max_bytes: 1 << 24,
        entries: usize::MAX,
        inexact: false,
    };
    let mut trial = Trial::new(&program, settings).expect("it is small");
    (0..2).all(|seed| matches!(trial.run(seed, &Interrupt::default()), Outcome::Right))
}

fn made(seed: u64) -> Made {
    let mut lot = Lot(seed);
    let ranks = 2 + lot.below(2) as usize;
    let op = lot.of(&OPS);
    let (mut bodies, mut held) = (String::new(), Vec::new());
    for rank in 0..ranks {
        let mut chunks = vec![Chunk::default(); 2 * CHUNKS];
        let _ = writeln!(bodies, "        if rank == {rank} {{");
        for _ in 0..2 + lot.below(4) {
            bodies.push_str(&operation(&mut lot, (rank, ranks), op, &mut chunks));
        }
        bodies.push_str("        }\n");
        held.push(chunks.split_off(CHUNKS));
    }
    let change = lot.of(&[
        "as it is",
        "as it is",
        "said twice",
        "one more",
        "one less",
        "another one",
        "another operator",
        "a second promise",
    ]);
    let (ensures, change) = promises(&mut lot, (&held, op), change);
    let promised = if change == "another operator" { other(&mut lot, op) } else { op };
    let text = format!(
        "collective c(ranks: int) {{\n    input[{CHUNKS}];\n    output[{CHUNKS}];\n{ensures}}}\n\
         program p(ranks: int = {ranks}) {{\n    collective c(ranks, op = {promised});\n    scratch s[{CHUNKS}];\n\
         \x20   channel mem[p in peers] = memory(p);\n    block main {{\n        signal mem[*] relaxed;\n        wait mem[*] relaxed;\n\
         {bodies}        signal mem[*];\n        wait mem[*];\n    }}\n}}\n"
    );
    Made { text, change }
}

fn other(lot: &mut Lot, op: &str) -> &'static str {
    let others: Vec<&'static str> = OPS.into_iter().filter(|other| *other != op).collect();
    lot.of(&others)
}

/// An operation of a rank, and its effect on the rank's chunks: scratch first, then outputs.
fn operation(
    lot: &mut Lot,
    (rank, ranks): (usize, usize),
    op: &'static str,
    chunks: &mut [Chunk],
) -> String {
    let mut sources = Vec::new();
    for _ in 0..1 + lot.below(3) {
        let chunk = lot.below(CHUNKS as u32) as usize;
        let place = match lot.below(5) {
            0 => Place::Own(chunk),
            1 | 2 => Place::Of((rank + 1 + lot.below(ranks as u32 - 1) as usize) % ranks, chunk),
            3 => Place::Scratch(chunk),
            _ => Place::Output(chunk),
        };
        let written = match place {
            Place::Own(_) | Place::Of(..) => true,
            Place::Scratch(at) => !chunks[at].counts.is_empty(),
            Place::Output(at) => !chunks[CHUNKS + at].counts.is_empty(),
        };
        sources.push(if written { place } else { Place::Own(chunk) });
    }
    // A local accumulator first: the plan's operations read their peers after it.
    sources.sort_by_key(|source| matches!(source, Place::Of(..)));
    let mut values: Vec<Chunk> =
        sources.iter().map(|source| value(*source, rank, chunks)).collect();
    let mut all: Vec<_> = values.iter().flat_map(|value| value.counts.keys().copied()).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    let apart = all.len() == count;
    let has_foreign = values.iter().any(|value| value.foreign);
    let foreign = sources.len() > 1 && apart && !has_foreign && lot.once_in(6);
    if has_foreign && !apart {
        sources.truncate(1);
        values.truncate(1);
    }
    let used = if foreign { other(lot, op) } else { op };
    let mut made = Chunk { counts: Counts::new(), foreign };
    for value in values {
        made.foreign |= value.foreign;
        for (of, times) in value.counts {
            let here = made.counts.entry(of).or_default();
            *here = if used == "sum" { *here + times } else { (*here).max(times) };
        }
    }
    let into = lot.below(2 * CHUNKS as u32) as usize;
    let target =
        if into < CHUNKS { format!("s[{into}]") } else { format!("output[{}]", into - CHUNKS) };
    let names: Vec<String> = sources.iter().map(|source| name(*source)).collect();
    let remote = sources.iter().filter(|source| matches!(source, Place::Of(..))).count();
    chunks[into] = made;
    let names = names.join(", ");
    let via = if remote == 0 { "" } else { " via mem[*]" };
    match (sources.len(), remote) {
        (1, 0) => format!("            copy {names} -> {target};\n"),
        (1, _) => format!("            get {names} -> {target}{via};\n"),
        _ => format!("            reduce {names} -> {target}{via} op = {used};\n"),
    }
}

fn value(place: Place, rank: usize, chunks: &[Chunk]) -> Chunk {
    let input = |rank, chunk| Chunk { counts: Counts::from([((rank, chunk), 1)]), foreign: false };
    match place {
        Place::Own(chunk) => input(rank, chunk),
        Place::Of(peer, chunk) => input(peer, chunk),
        Place::Scratch(at) => chunks[at].clone(),
        Place::Output(at) => chunks[CHUNKS + at].clone(),
    }
}

fn name(place: Place) -> String {
    match place {
        Place::Own(chunk) => format!("input[{chunk}]"),
        Place::Of(peer, chunk) => format!("{peer}.input[{chunk}]"),
        Place::Scratch(at) => format!("s[{at}]"),
        Place::Output(at) => format!("output[{at}]"),
    }
}

/// Promises of what the outputs hold, one of them changed, and how it was: as it is, if the change would make no
/// difference.
fn promises(
    lot: &mut Lot,
    (held, op): (&[Vec<Chunk>], &str),
    change: &'static str,
) -> (String, &'static str) {
    let places = held.iter().enumerate().flat_map(|(rank, chunks)| {
        chunks.iter().enumerate().map(move |(at, chunk)| (rank, at, chunk))
    });
    let known: Vec<_> = places.filter(|(.., chunk)| !chunk.counts.is_empty()).collect();
    let mut text = String::new();
    let several = |chunk: &Chunk| chunk.counts.values().sum::<u32>() > 1;
    let wrong = known.iter().any(|(.., chunk)| chunk.foreign);
    let fits = |chunk: &Chunk| match change {
        "one less" => several(chunk) && (op == "sum" || chunk.counts.len() > 1),
        "another operator" => chunk.counts.len() > 1 && !chunk.foreign,
        _ => true,
    };
    let candidates: Vec<usize> = (0..known.len()).filter(|at| fits(known[*at].2)).collect();
    let chosen = if candidates.is_empty() { None } else { Some(lot.of(&candidates)) };
    let mut done = if wrong { "an operator in the program" } else { "as it is" };
    for (index, (rank, at, chunk)) in known.iter().enumerate() {
        let mut counts = chunk.counts.clone();
        let mut said = vec![terms(lot, &counts, op)];
        if chosen == Some(index) {
            let keys: Vec<(usize, usize)> = counts.keys().copied().collect();
            let one = lot.of(&keys);
            match change {
                "one more" => {
                    // Of a minimum or maximum, only one that is not there makes a difference.
                    let missing =
                        (0..held.len()).flat_map(|rank| (0..CHUNKS).map(move |c| (rank, c)));
                    let missing: Vec<_> =
                        missing.filter(|key| op == "sum" || !counts.contains_key(key)).collect();
                    if !missing.is_empty() {
                        *counts.entry(lot.of(&missing)).or_default() += 1;
                        (said, done) = (vec![terms(lot, &counts, op)], "one more");
                    }
                }
                "one less" => {
                    let times = counts.entry(one).or_default();
                    *times = if op == "sum" { *times - 1 } else { 0 };
                    counts.retain(|_, times| *times > 0);
                    (said, done) = (vec![terms(lot, &counts, op)], "one less");
                }
                "another one" => {
                    let missing =
                        (0..held.len()).flat_map(|rank| (0..CHUNKS).map(move |c| (rank, c)));
                    let missing: Vec<_> = missing.filter(|key| !counts.contains_key(key)).collect();
                    if !missing.is_empty() {
                        let times = counts.remove(&one).unwrap_or(1);
                        counts.insert(lot.of(&missing), times);
                        (said, done) = (vec![terms(lot, &counts, op)], "another one");
                    }
                }
                "another operator" => done = "another operator",
                "said twice" => {
                    said.push(terms(lot, &counts, op));
                    done = if wrong { done } else { "said twice" };
                }
                "a second promise" => {
                    let chunk = (one.1 + 1) % CHUNKS;
                    let second = Counts::from([((one.0, chunk), 1)]);
                    if second != counts {
                        said.push(terms(lot, &second, op));
                        done = "a second promise";
                    }
                }
                _ => {}
            }
        }
        for value in said {
            let _ = writeln!(
                text,
                "    ensures for only in [{rank}] if rank == {rank} {{ output[{at}] == {value} }}"
            );
        }
    }
    (text, done)
}

/// Contributions as a promise has them: a chunk, or a reduction in any order. A minimum or maximum may name one several
/// times.
fn terms(lot: &mut Lot, counts: &Counts, op: &str) -> String {
    let mut all = Vec::new();
    for (of, times) in counts {
        let times = if op == "sum" { *times } else { 1 + lot.below(2) };
        (0..times).for_each(|_| all.push(*of));
    }
    if let [(rank, chunk)] = all.as_slice() {
        return format!("{rank}.input[{chunk}]");
    }
    for at in (1..all.len()).rev() {
        all.swap(at, lot.below(at as u32 + 1) as usize);
    }
    let list = |each: fn(&(usize, usize)) -> usize| {
        let numbers: Vec<String> = all.iter().map(|one| each(one).to_string()).collect();
        format!("[{}]", numbers.join(", "))
    };
    let (ranks, chunks) = (list(|one| one.0), list(|one| one.1));
    format!("reduce(k in 0..{}: {ranks}[k].input[{chunks}[k]])", all.len())
}
