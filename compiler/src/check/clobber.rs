//! Writes to inputs.
//!
//! In: a program that was read from a plan; a program from source was checked statement by statement. Out:
//! * E0504: where the collective is out of place, no operation writes to anyone's input. In place, it may.

use super::event_graph::{EventGraph, Run};
use super::found::Found;
use crate::diagnostic::witness::{Cells, Clobber, Finding, Witness};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::memory::{Access, accesses, ranks_of};
use crate::ir::{self, BlockId, Buffer, Operand, RankId, Where};
use std::cell::LazyCell;

/// Checks every operation.
pub(super) fn check(program: &ir::Program) -> Vec<Diagnostic> {
    let mut found = Found::default();
    if program.collective.in_place {
        return Vec::new();
    }
    let graph = LazyCell::new(|| EventGraph::new(program, 1));
    for (id, rank) in program.ranks.entries() {
        for (number, block) in rank.blocks.entries() {
            for op in ir::all_ops(&block.ops) {
                let mut written = op.transfer().into_iter().flat_map(accesses);
                let input = |a: &Access| a.write && a.operand.buffer == Buffer::Input;
                if let Some(access) = written.find(input) {
                    let report = clobbered(program, id, op, access.operand);
                    found.add_told(report, |report| match &*graph {
                        Some(graph) => show(graph, (id, number), op, access.operand, report),
                        None => report,
                    });
                }
            }
        }
    }
    found.finish("place")
}

fn clobbered(program: &ir::Program, rank: RankId, op: &ir::Op, operand: Operand) -> Diagnostic {
    let of = match operand.place {
        Where::Local => format!("its `input[{}]`", operand.index),
        Where::Remote(peer) => format!("`input[{}]` of rank {}", operand.index, peer.0),
        Where::Switch(_) => format!("`input[{}]` of a group of ranks", operand.index),
    };
    let message = format!("rank {} writes {of}, but the collective is not in place", rank.0);
    Diagnostic::new(Code::E0504, program.origins.at(op.origin), message)
        .note("the input belongs to the user, who does not expect it to change")
        .help("write to the output or to scratch, or mark the plan as in place")
}

/// Adds a witness: which memory is written, by which operation, and a schedule that leads there.
fn show(
    graph: &EventGraph,
    (rank, block): (RankId, BlockId),
    op: &ir::Op,
    operand: Operand,
    mut report: Diagnostic,
) -> Diagnostic {
    let Some(moment) = graph.first_from(rank, block, op.origin) else { return report };
    let owner = ranks_of(&graph.program.ranks, rank, operand.place).next().unwrap_or(rank);
    let memory = Cells {
        rank: owner.0,
        buffer: Buffer::Input.word(),
        start: operand.index.into(),
        end: u64::from(operand.index) + u64::from(operand.size),
        parts: 1,
    };
    let mut run = Run::new(graph);
    let schedule = if run.reach(moment) { graph.turns(run.moments()) } else { Vec::new() };
    let finding = Finding::Clobber(Box::new(Clobber { memory, event: graph.event(moment) }));
    report.witness = Some(Box::new(Witness::new(finding, schedule)));
    report
}
