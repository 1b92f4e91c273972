//! Which launches the kernels of a program refuse, as `host.cuh` decides it.

use super::layout::Traits;
use crate::ir::{Program, ReduceOp};

/// The elements of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// The bytes of one.
    pub bytes: u32,
    /// Whether they are floats.
    pub is_float: bool,
}

/// Why kernels refuse to combine such elements with that operation, in words; none if they do not.
#[must_use]
pub fn refusal(program: &Program, elements: Elements, op: ReduceOp) -> Option<&'static str> {
    let own = program.collective.op;
    let Traits { fixed_op, switch_ops, .. } = Traits::of(program);
    if fixed_op && op != own {
        return Some(
            "the program also reduces in other ways, so its kernels are launched with its collective's operation only",
        );
    }
    // The collective's operation is replaced by the one of the launch.
    let mut combined = switch_ops.into_iter().map(|by| if by == own { op } else { by });
    combined.find_map(|by| match (elements.bytes, by) {
        (1, _) => Some("switches do not combine single bytes"),
        (4, ReduceOp::Min | ReduceOp::Max) if elements.is_float => {
            Some("switches add up 32-bit floats; they have no minimum or maximum of them")
        }
        (_, _) => None,
    })
}
