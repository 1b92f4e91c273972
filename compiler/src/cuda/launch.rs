//! Which launches the kernels of a program refuse, as `host.cuh` decides it.

use crate::ir::{Op, Operand, Program, ReduceOp, Transfer};

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
    let transfers = || program.all_ops().filter_map(Op::transfer).filter(|it| it.verb.reduces());
    if op != own && transfers().any(|transfer| transfer.reduce != own) {
        return Some(
            "the program also reduces in other ways, so its kernels are launched with its collective's operation only",
        );
    }
    let by_switch = |transfer: &&Transfer| transfer.sources.iter().any(Operand::is_switch);
    // The collective's operation is replaced by the one of the launch.
    let combined = |transfer: &Transfer| if transfer.reduce == own { op } else { transfer.reduce };
    transfers().filter(by_switch).find_map(|transfer| match (elements.bytes, combined(transfer)) {
        (1, _) => Some("switches do not combine single bytes"),
        (4, ReduceOp::Min | ReduceOp::Max) if elements.is_float => {
            Some("switches add up 32-bit floats; they have no minimum or maximum of them")
        }
        (_, _) => None,
    })
}
