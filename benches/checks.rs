//! What the checks cost, against what it costs to make the plan: time, and memory for each operation and edge.
//!
//!     cargo bench -p ccl-compiler --bench checks [-- [PROGRAM..] [RANKS..]]
//!
//! A Markdown table goes to standard output. "Made" is elaborating, passing and writing (to nowhere), "checked" both
//! checks, as written and after the passes; the mean of several turns of each, in CPU time where the system tells it (Linux),
//! so that other work on the machine counts for less. "Followed" is how many ranks stand for all, as written and after the
//! passes. Memory is how far the resident set rises above what the program itself takes, in a process of its own that gives
//! back what is freed, which only Linux tells; the budget for it is 100 bytes for each operation and 32 for each edge.
//! Operations are those after the passes, edges what one block tells another: a signal, release, arrival at a barrier, or
//! operand of packets.

#![expect(clippy::print_stdout, reason = "the table is what this is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made fails")]

use compiler::driver::{self, Proof, Target};
use compiler::elaborate::{self, Settings};
use compiler::interrupt::Interrupt;
use compiler::ir::{Action, Program, count_ops, memory, run};
use compiler::optimize::{self, Stage};
use compiler::resolve::program::{ProgramId, Unit};
use compiler::source::{FileId, SourceMap};
use compiler::{check, diagnostic::Severity, resolve, syntax};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where each program is, what it is, how many ranks share a node, and at most how many there are.
const PROGRAMS: &[(&str, &str, u32, u32)] = &[
    ("benches/ring_allgather.ccl", "ring AllGather", 8, 1024),
    ("stdlib/ccl/algorithms/allgather_ring.ccl", "ring AllGather, ten steps a block", 8, 1024),
    ("stdlib/ccl/algorithms/allreduce_nodes.ccl", "two-level AllReduce", 8, 1024),
    ("examples/hierarchical_allreduce.ccl", "two-level AllReduce, rings", 8, 1024),
    ("benches/two_level_allreduce.ccl", "two-level AllReduce, LL, groups of 4", 8, 1024),
    ("benches/allpairs_allgather_packets.ccl", "all-pairs AllGather, LL", 8, 1024),
    ("benches/allpairs_allreduce_packets.ccl", "all-pairs AllReduce, LL", 8, 1024),
];

/// How many ranks share a node in programs that are named by their path.
const WIDTH: u32 = 8;

/// The most turns of programs that take little.
const TURNS: u32 = 200;

/// The word that has one program's memory measured, in a process of its own.
const MEMORY: &str = "--memory-of";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let numbers: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<u32>().is_err()).collect();
    if let (Some(word), Some(path), [ranks, width]) =
        (names.first(), names.get(1), numbers.as_slice())
        && *word == MEMORY
    {
        println!("{}", memory_of(path, *ranks, *width));
        return;
    }
    let ranks = if numbers.is_empty() { vec![64, 128, 256, 512, 1024] } else { numbers };
    println!(
        "| program | ranks | followed | operations | edges | made | checked | ratio | checked, an operation | memory | of its budget |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let known = |name: &String| PROGRAMS.iter().any(|(path, ..)| path.contains(name.as_str()));
    let chosen = PROGRAMS.iter().copied().filter(|(path, ..)| {
        names.is_empty() || names.iter().any(|name| path.contains(name.as_str()))
    });
    let others =
        names.iter().filter(|name| !known(name)).map(|name| (name.as_str(), name.as_str()));
    let others = others.map(|(path, title)| (path, title, WIDTH, u32::MAX));
    for (path, title, width, most) in chosen.chain(others) {
        for ranks in ranks.iter().filter(|ranks| **ranks <= most) {
            row(path, title, *ranks, width);
        }
    }
}

fn row(path: &str, title: &str, ranks: u32, width: u32) {
    let (unit, program) = load(path);
    let settings = settings(&unit, program, ranks, width);
    let never = Interrupt::default();
    let made = mean(|| {
        let (lowered, _) = driver::lower(&unit, program, &settings, Proof::Skipped, &never);
        let target = Target { sms: u32::MAX, worst: Severity::Warning };
        driver::write_plan(lowered.unwrap(), target, &mut std::io::sink()).unwrap();
    });
    let (written, passed) = both(&unit, program, &settings);
    let checked = mean(|| check_both(&written, &passed));
    let followed = [&written, &passed].map(check::followed).map(|count| count.to_string());
    let (operations, edges) = (operations(&passed), edges(&passed));
    drop((written, passed));
    let memory = memory_elsewhere(path, ranks, width);
    let budget = (operations * 100 + edges * 32) as f64;
    println!(
        "| {title} | {ranks} | {} | {operations} | {edges} | {:.3} s | {:.3} s | {:.2} | {:.0} ns | {:.1} MiB | {:.0} % |",
        followed.join(", "),
        made.as_secs_f64(),
        checked.as_secs_f64(),
        checked.as_secs_f64() / made.as_secs_f64(),
        checked.as_secs_f64() * 1e9 / operations as f64,
        memory as f64 / 1024.0,
        memory as f64 * 1024.0 * 100.0 / budget,
    );
}

/// A program as written, and after the passes.
fn both(unit: &Unit, program: ProgramId, settings: &Settings) -> (Program, Program) {
    let (written, _) = elaborate::elaborate(unit, program, settings, &Interrupt::default());
    let written = written.unwrap();
    let passed = optimize::optimize(written.clone(), Stage::Sync);
    (written, passed)
}

fn check_both(written: &Program, passed: &Program) {
    let mut known = check::Known::default();
    for program in [written, passed] {
        let found = check::check_again(program, &mut known, &Interrupt::default());
        assert!(found.is_empty(), "{:?}", found.first());
    }
}

/// What the checks of a program take, in KiB, measured in another process: there, what is freed goes back to the system,
/// so that what making the program has left is not taken for the checks'.
fn memory_elsewhere(path: &str, ranks: u32, width: u32) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([MEMORY, path, &ranks.to_string(), &width.to_string()])
        .env("MALLOC_MMAP_THRESHOLD_", "16384")
        .env("MALLOC_TRIM_THRESHOLD_", "0")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap_or(0)
}

/// How far the resident set rises in the checks, in KiB.
fn memory_of(path: &str, ranks: u32, width: u32) -> u64 {
    let (unit, program) = load(path);
    let (written, passed) = both(&unit, program, &settings(&unit, program, ranks, width));
    let before = resident();
    check_both(&written, &passed);
    peak().saturating_sub(before)
}

fn load(path: &str) -> (Unit, ProgramId) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let mut sources = SourceMap::default();
    let main = sources.add(path.display().to_string(), fs::read_to_string(&path).unwrap());
    let mut read =
        |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
    let (unit, _) = driver::load(main, &mut sources, &mut read);
    let program = unit.programs.ids().next().unwrap();
    (unit, program)
}

fn settings(unit: &Unit, program: ProgramId, ranks: u32, width: u32) -> Settings {
    let number = |value: u32| {
        let (expr, _) = syntax::parse_expression(FileId(0), &value.to_string());
        resolve::argument(&expr.unwrap()).0.unwrap()
    };
    let parameters = [("ranks", ranks), ("ranks_per_node", width)]
        .into_iter()
        .filter(|(name, _)| unit.programs[program].parameters.iter().any(|p| p.name == *name))
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect();
    Settings { parameters, ..Settings::default() }
}

/// What one of several turns takes: of as many as take a quarter of a second together, since the system counts in
/// thousandths.
fn mean(mut work: impl FnMut()) -> Duration {
    let (start, began) = (spent(), Instant::now());
    let took =
        || spent().zip(start).map_or(began.elapsed(), |(now, start)| now.saturating_sub(start));
    for turns in 1.. {
        work();
        if turns == TURNS || took() > Duration::from_millis(250) {
            return took() / turns;
        }
    }
    took()
}

/// The CPU time of this thread so far, if the system tells.
fn spent() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The resident set, in KiB, from which its peak counts now; 0 where the system does not tell.
fn resident() -> u64 {
    let _ = fs::write("/proc/self/clear_refs", "5");
    status("VmRSS")
}

/// The peak of the resident set, in KiB.
fn peak() -> u64 {
    status("VmHWM")
}

fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn operations(program: &Program) -> u64 {
    let blocks = program.ranks.iter().flat_map(|rank| &rank.blocks);
    blocks.map(|block| count_ops(&block.ops) as u64).sum()
}

fn edges(program: &Program) -> u64 {
    let mut edges = 0;
    for block in program.ranks.iter().flat_map(|rank| &rank.blocks) {
        run::each_op(&block.ops, &mut |op| {
            edges += match &op.action {
                Action::Signal(signal) => signal.channels.len(),
                Action::Release(list) => list.len(),
                Action::Barrier { .. } => 1,
                Action::Transfer(transfer) => {
                    memory::accesses(transfer).filter(|one| one.packets && !one.write).count()
                }
                Action::Sync
                | Action::Wait(_)
                | Action::Flush(_)
                | Action::Acquire(_)
                | Action::Pipeline(_) => 0,
            };
        });
    }
    edges as u64
}
