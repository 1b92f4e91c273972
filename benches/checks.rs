//! What the checks cost, against what it costs to make the plan: time, and memory for each operation and edge.
//!
//!     cargo bench -p ccl-compiler --bench checks [-- RANKS..]
//!
//! A Markdown table goes to standard output. "Made" is elaborating, passing and writing (to nowhere), "checked" both
//! checks, as written and after the passes; the best of a few turns of each. Memory is how far the resident set rises
//! above what the program itself takes, which only Linux tells. Operations are those after the passes, edges what one
//! block tells another: a signal, release, arrival at a barrier, or operand of packets.

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
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where each program is, what it is, how many ranks share a node, and at most how many there are.
const PROGRAMS: &[(&str, &str, u32, u32)] = &[
    ("benches/ring_allgather.ccl", "ring AllGather", 8, 1024),
    ("stdlib/ccl/algorithms/allgather_ring.ccl", "ring AllGather, ten steps a block", 8, 1024),
    ("stdlib/ccl/algorithms/allreduce_nodes.ccl", "two-level AllReduce", 8, 1024),
    ("examples/hierarchical_allreduce.ccl", "two-level AllReduce, rings", 8, 1024),
    ("benches/two_level_allreduce.ccl", "two-level AllReduce, LL, groups of 4", 8, 128),
    ("benches/allpairs_allgather_packets.ccl", "all-pairs AllGather, LL", 8, 512),
    ("benches/allpairs_allreduce_packets.ccl", "all-pairs AllReduce, LL", 8, 256),
];

/// Turns of which the best counts, of programs that take less than a second.
const TURNS: usize = 5;

fn main() {
    let wanted: Vec<u32> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let ranks = if wanted.is_empty() { vec![64, 128, 256, 512, 1024] } else { wanted };
    println!(
        "| program | ranks | operations | edges | made | checked | ratio | checked, an operation | memory | a budget of |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (path, title, width, most) in PROGRAMS {
        for ranks in ranks.iter().filter(|ranks| *ranks <= most) {
            row(path, title, *ranks, *width);
        }
    }
}

fn row(path: &str, title: &str, ranks: u32, width: u32) {
    let (unit, program) = load(path);
    let settings = settings(&unit, program, ranks, width);
    let never = Interrupt::default();
    let made = best(|| {
        let (lowered, _) = driver::lower(&unit, program, &settings, Proof::Skipped, &never);
        let target = Target { sms: u32::MAX, worst: Severity::Warning };
        driver::write_plan(lowered.unwrap(), target, &mut std::io::sink()).unwrap();
    });
    let (written, _) = elaborate::elaborate(&unit, program, &settings, &never);
    let written = written.unwrap();
    let passed = optimize::optimize(written.clone(), Stage::Sync);
    let before = resident();
    let checked = best(|| {
        for program in [&written, &passed] {
            let found = check::check(program, &never);
            assert!(found.is_empty(), "{title}: {:?}", found.first());
        }
    });
    let memory = peak().saturating_sub(before);
    let (operations, edges) = (operations(&passed), edges(&passed));
    println!(
        "| {title} | {ranks} | {operations} | {edges} | {:.3} s | {:.3} s | {:.2} | {:.0} ns | {:.1} MiB | {:.1} MiB |",
        made.as_secs_f64(),
        checked.as_secs_f64(),
        checked.as_secs_f64() / made.as_secs_f64(),
        checked.as_secs_f64() * 1e9 / operations as f64,
        memory as f64 / 1024.0,
        (operations * 100 + edges * 32) as f64 / 1_048_576.0,
    );
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

/// The shortest of a few turns.
fn best(mut work: impl FnMut()) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..TURNS {
        let start = Instant::now();
        work();
        least = least.min(start.elapsed());
        if start.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    least
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
