//! Wide random programs ([`crate::wide`]): whether the checker refuses exactly those that go wrong, and whether passes,
//! copies, plans and symmetric ranks preserve the accepted ones.
//!
//! Each program is judged as it was generated, after enough has been removed that the checker accepts it, and just
//! before the last removal. An accepted program is given the promise to leave what a run of it leaves. That promise
//! must hold for the program itself, after the passes, for its copies, and for its plan after it is read back in. The
//! checker may refuse packets that are written twice, one after the other. `ORACLE_WIDE` sets the number of programs.

use crate::agreement::{Tally, compare, is_unproved, number, part, refusals, report};
use crate::machine::Verdict;
use crate::schedule::{Effort, explore};
use crate::wide;
use compiler::check::{self, Ranks};
use compiler::driver;
use compiler::interpreter::{self, Outcome, Value};
use compiler::interrupt::Interrupt;
use compiler::ir::grain::count_parts;
use compiler::ir::{Joins, Program, Promise, RankId, Term};
use compiler::optimize::{self, Stage};
use compiler::plan::write;
use compiler::source::FileId;
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn programs_by_lot_of_everything_are_refused_where_they_go_wrong() {
    let seed = number("ORACLE_SEED", 1, 1);
    let count = number("ORACLE_WIDE", 120, 6000);
    let (part, parts) = part();
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut surprises = Vec::new();
    let mut kept = 0;
    for i in (0..count).filter(|i| i % parts == part) {
        let lot = seed.wrapping_mul(1 << 32) + i;
        let drawn = wide::program(lot);
        let (thin, before) = wide::thinned(drawn.clone(), lot);
        let drawn = before.is_some().then_some(drawn);
        let forms = [("drawn", drawn), ("thinned", Some(thin)), ("before that", before)];
        for (form, program) in forms {
            let Some(program) = program else { continue };
            let what = format!("{form} {i} of seed {seed}");
            let tally = tallies.entry(form).or_default();
            surprises
                .extend(compare(&what, &program, seed, tally).filter(|said| !is_by_rule(said)));
            surprises.extend(unlike(&what, &program));
            if refusals(&program).is_empty() && !is_unproved(&program) {
                let (made, wrong) = passed(&what, &program, seed);
                kept += made;
                surprises.extend(wrong);
            }
        }
    }
    report(&tallies);
    eprintln!("{kept} forms of accepted programs");
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
}

/// Whether a right program is refused by a rule of the language: a packet may be written only once in a launch.
fn is_by_rule(said: &str) -> bool {
    said.contains(": refused: E0521")
}

/// If ranks of the program stand for others: a message if the checks find something else when each rank is followed.
fn unlike(what: &str, program: &Program) -> Option<String> {
    if check::followed(program) == program.ranks.len() {
        return None;
    }
    let found = |ranks| check::check_following(program, ranks, &Interrupt::default());
    let (few, all) = (found(Ranks::Few), found(Ranks::All));
    (few != all).then(|| format!("{what}: of few ranks {few:?}, of all {all:?}"))
}

/// The number of forms of an accepted program, and messages about those with another result.
fn passed(what: &str, program: &Program, seed: u64) -> (u32, Vec<String>) {
    let Some(promised) = promised(program) else { return (0, Vec::new()) };
    let mut forms = vec![("as it is", promised.clone())];
    if program.joins == Joins::Implied {
        for (name, stage) in [("fused", Stage::Fuse), ("with joins", Stage::Sync)] {
            forms.push((name, optimize::optimize(promised.clone(), stage)));
        }
        forms.push(("for kernels", optimize::for_kernels(promised.clone())));
        let mut copied = promised.clone();
        copied.options.instances = 2;
        if optimize::replicate::replicable(&copied).is_ok() {
            forms.push(("copied", optimize::optimize(copied, Stage::Replicate)));
        }
    }
    let read = forms.iter().find(|(name, _)| *name == "with joins").and_then(|(_, p)| again(p));
    // In plans, a flush does not wait.
    let read = read.map(|program| Program { flush_waits: promised.flush_waits, ..program });
    forms.extend(read.map(|program| ("read again", program)));
    let count = forms.len() as u32;
    let wrong = forms.into_iter().filter_map(|(name, program)| {
        let refused = refusals(&program);
        let found = explore(&program, Effort { checked: 1, weak: 2, show: false }, seed);
        let right = found.verdict == Verdict::Ok && refused.is_empty();
        if std::env::var("ORACLE_SHOW").is_ok_and(|shown| what.contains(&shown)) && !right {
            eprintln!("{what}, {name}\n{}", compiler::ir::print::print(&program).text);
        }
        (!right).then(|| format!("{what}, {name}: {found:?}, refused: {refused:?}"))
    });
    (count, wrong.collect())
}

/// The program, written as a plan and read back in.
fn again(program: &Program) -> Option<Program> {
    let mut text = Vec::new();
    write::write(program, &mut text).ok()?;
    let text = String::from_utf8(text).ok()?;
    let (read, reports) = driver::read_plan(FileId(0), &text);
    let mut read = read.filter(|_| !driver::has_errors(&reports))?;
    for (rank, written) in read.ranks.iter_mut().zip(program.ranks.iter()) {
        rank.promises = Arc::clone(&written.promises);
        rank.alias = written.alias;
        for (channel, old) in rank.channels.iter_mut().zip(written.channels.iter()) {
            channel.shared = old.shared;
        }
        for (semaphore, old) in rank.semaphores.iter_mut().zip(written.semaphores.iter()) {
            semaphore.shared = old.shared;
        }
    }
    Some(read)
}

/// The program, with the promise that its outputs hold what a run of it leaves in them.
fn promised(program: &Program) -> Option<Program> {
    let parts = count_parts(program);
    let Outcome::Finished(memory) = interpreter::run_in(program, parts, 5_000_000) else {
        return None;
    };
    let mut promised = program.clone();
    let ids: Vec<RankId> = program.ranks.ids().collect();
    for id in ids {
        let output = memory.output(program, id);
        let chunks = output.chunks(parts as usize).enumerate();
        let promises = chunks.filter_map(|(chunk, cells)| promise(chunk as u32, cells, parts));
        promised.ranks[id].promises = promises.collect();
    }
    Some(promised)
}

/// The promise that describes what a chunk holds, if there is one.
fn promise(chunk: u32, cells: &[Value], parts: u32) -> Option<Promise> {
    let first = cells.first()?.contributions();
    let whole =
        first.iter().all(|one| one.rank != u32::MAX && one.count == 1 && one.cell % parts == 0);
    let alike = cells.iter().zip(0..).all(|(cell, at)| {
        let terms = cell.contributions();
        terms.len() == first.len()
            && terms.iter().zip(first).all(|(term, one)| {
                (term.rank, term.cell, term.count) == (one.rank, one.cell + at, 1)
            })
    });
    let term =
        |rank, cell| Term { rank, chunk: cell / parts, count: 1, rank_step: 0, chunk_step: 0 };
    (whole && alike).then(|| Promise {
        chunk,
        terms: first.iter().map(|one| term(one.rank, one.cell)).collect(),
    })
}
