//! Inputs that are written.
//!
//! In: a program that was read from a plan; of one from source its author was asked statement by statement. Out:
//! * E0504: out of place, no operation writes to anyone's input. What is in place may.

use super::found::Found;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::memory::accesses;
use crate::ir::run::each_op;
use crate::ir::{self, Action, Buffer, RankId, Where};

/// Checks every operation.
pub(super) fn check(program: &ir::Program) -> Vec<Diagnostic> {
    let mut found = Found::default();
    if program.collective.in_place {
        return Vec::new();
    }
    for (id, rank) in program.ranks.entries() {
        for block in &rank.blocks {
            each_op(&block.ops, &mut |op| {
                let Action::Transfer(transfer) = &op.action else { return };
                let written =
                    accesses(transfer).find(|a| a.write && a.operand.buffer == Buffer::Input);
                if let Some(access) = written {
                    found.add(clobbered(program, id, op, access.operand));
                }
            });
        }
    }
    found.finish("place")
}

fn clobbered(program: &ir::Program, rank: RankId, op: &ir::Op, operand: ir::Operand) -> Diagnostic {
    let of = match operand.place {
        Where::Local => format!("its `input[{}]`", operand.index),
        Where::Remote(peer) => format!("`input[{}]` of rank {}", operand.index, peer.0),
        Where::Switch(_) => format!("`input[{}]` of a group of ranks", operand.index),
    };
    let message = format!("rank {} writes {of}, and the collective is not in place", rank.0);
    Diagnostic::new(Code::E0504, program.origins.place(op.origin), message)
        .note("the user's input is theirs: nobody expects it to change")
        .help("write to the output or to scratch, or let the plan say that it works in place")
}
