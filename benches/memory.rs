//! The memory that the checks take.
//!
//!     cargo bench -p ccl-compiler --bench memory [-- [PROGRAM..] [RANKS..]]
//!
//! A Markdown table goes to standard output: the most memory that both checks, before and after the passes, have
//! allocated at once in addition to the program itself, and how much of a budget that is. The budget is 100 bytes for
//! each operation after the passes and 32 for each edge, where an edge is a message from one block to another. Counting
//! allocations takes time, so the time is measured without it (`checks.rs`).

#![expect(clippy::print_stdout, reason = "printing the table is this program's purpose")]

mod subject;

use compiler::ir::memory::accesses;
use compiler::ir::{Action, Program, all_ops};
use peak_alloc::PeakAlloc;
use subject::subjects;

/// Budget in bytes of an operation, and of an edge.
const BUDGET: (u64, u64) = (100, 32);

/// Counts allocations.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

fn main() {
    println!("| program | ranks | operations | edges | memory | of its budget |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for subject in subjects() {
        let both = subject.both();
        let (operations, edges) = (both.operations(), edges(&both.passed) as u64);
        let memory = most(|| both.check()) as f64;
        let budget = (operations * BUDGET.0 + edges * BUDGET.1) as f64;
        println!(
            "| {} | {} | {operations} | {edges} | {:.1} MiB | {:.0} % |",
            subject.title,
            subject.ranks,
            memory / f64::from(1 << 20),
            memory * 100.0 / budget,
        );
    }
}

/// The most bytes allocated at once while `work` runs.
fn most(work: impl FnOnce()) -> usize {
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    work();
    HEAP.peak_usage().saturating_sub(before)
}

/// How many messages blocks send to other blocks.
fn edges(program: &Program) -> usize {
    let mut edges = 0;
    for block in program.ranks.iter().flat_map(|rank| &rank.blocks) {
        all_ops(&block.ops).for_each(|op| edges += tells(&op.action));
    }
    edges
}

fn tells(action: &Action) -> usize {
    match action {
        Action::Signal(signal) => signal.channels.len(),
        Action::Release(list) => list.len(),
        Action::Barrier { .. } => 1,
        Action::Transfer(transfer) => {
            accesses(transfer).filter(|one| one.packets && !one.write).count()
        }
        Action::Sync
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Pipeline(_) => 0,
    }
}
