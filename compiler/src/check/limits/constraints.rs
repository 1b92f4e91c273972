//! What launches of a plan must not do, and no check can see.
//!
//! In: a program. Out: the constraints on whoever launches its plan, and a note (N0802) that lists them where there are
//! more than the one that all plans have. MSCCL++'s executor keeps one counter of launches for all plans of a process; it
//! passes the counter to the kernel as an argument, by which packets are recognized, and whose parity chooses the half of
//! scratch. Plans with `reuse_resources` share one scratch.

use super::findings::place_at;
use super::terms::Terms;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::memory::accesses;
use crate::ir::{Op, Program, Protocol};

/// A constraint on whoever launches a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Its launches belong on one stream at a time.
    OneStream,
    /// It must not be in a CUDA graph that is replayed.
    NoGraphReplay,
    /// The halves of its scratch alternate with launches of other plans, too.
    SharesLaunchParity,
    /// Its scratch is that of other plans, too.
    SharesScratch,
}

impl Constraint {
    /// The word for it in a manifest.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Constraint::OneStream => "one-stream",
            Constraint::NoGraphReplay => "no-graph-replay",
            Constraint::SharesLaunchParity => "shares-launch-parity",
            Constraint::SharesScratch => "shares-scratch",
        }
    }

    /// What it is about, and what to do.
    fn rule(self, terms: Terms) -> String {
        match self {
            Constraint::OneStream => {
                "all of its launches belong on one stream: they share channels and scratch".to_owned()
            }
            Constraint::NoGraphReplay => "it must not be captured in a CUDA graph: a replay repeats the number of the launch, by which packets are recognized, so that old packets are taken for new ones".to_owned(),
            Constraint::SharesLaunchParity => format!(
                "launches of any plan change the half of scratch under {}: launch other plans an even number of times in between, or let the ranks synchronize there",
                terms.double_scratch()
            ),
            Constraint::SharesScratch => "all plans with `reuse_resources` share one scratch: let the ranks synchronize between launches of different plans".to_owned(),
        }
    }
}

/// The constraints on whoever launches the plan of a program.
#[must_use]
pub fn constraints(program: &Program) -> Vec<Constraint> {
    let options = &program.options;
    let has_scratch = program.ranks.iter().any(|rank| rank.scratch_chunks > 0);
    let packets = options.protocol == Protocol::Ll && program.all_ops().any(moves_packets);
    [
        (Constraint::NoGraphReplay, packets),
        (Constraint::SharesLaunchParity, options.double_scratch && has_scratch),
        (Constraint::SharesScratch, options.reuse_resources && has_scratch),
        (Constraint::OneStream, true),
    ]
    .into_iter()
    .filter_map(|(constraint, applies)| applies.then_some(constraint))
    .collect()
}

fn moves_packets(op: &Op) -> bool {
    op.transfer().is_some_and(|transfer| accesses(transfer).any(|access| access.packets))
}

/// The note on them, if there are more than all plans have.
pub(super) fn note(program: &Program) -> Option<Diagnostic> {
    let (all, terms) = (constraints(program), Terms::of(program));
    if all.len() < 2 {
        return None;
    }
    let message = "no check sees how a plan is launched, and this one has rules for that";
    let note = Diagnostic::without_place(Code::N0802, message);
    let note = all.iter().fold(note, |note, constraint| note.note(constraint.rule(terms)));
    let note = match terms {
        Terms::Source => note.help(
            "or build kernels, which count launches of their own on the GPU, and have scratch of their own: `--emit cuda`",
        ),
        Terms::Plan => note,
    };
    Some(place_at(note, program.collective.place, String::new()))
}
