//! Whether the windows of a program's pipelines can be followed one by one.
//!
//! In: a program. Out: a warning if its pipelines go through more windows than the checks follow (W0501). It is asked before
//! any check, since all of them unroll pipelines.

use super::budget::{Exceeded, UNROLLED};
use crate::diagnostic::Diagnostic;
use crate::ir::windows::{Windows, choose_windows};
use crate::ir::{Op, Pipeline, Program};

/// The warning about a program that has too many windows.
pub(super) fn too_many(program: &Program) -> Option<Diagnostic> {
    let exceeded = allow(program).err()?;
    let windows = choose_windows(program);
    let longest = pipelines(program)
        .max_by_key(|(_, pipeline)| steps(&windows, pipeline))
        .map(|(op, pipeline)| (program.origins.at(op.origin), windows.turns(pipeline)));
    let (at, most) = longest?;
    let message = format!("this program is too large to be checked: here are {most} windows");
    let report = exceeded.warning(Some(at), message);
    Some(
        report.help("let pipelines go through fewer chunks, or check the program with fewer ranks"),
    )
}

/// Whether there are few enough windows.
pub(super) fn allow(program: &Program) -> Result<(), Exceeded> {
    let windows = choose_windows(program);
    let all = pipelines(program).map(|(_, pipeline)| steps(&windows, pipeline));
    UNROLLED.allow(all.fold(0, u64::saturating_add))
}

/// How many operations there are in all windows of a pipeline.
fn steps(windows: &Windows, pipeline: &Pipeline) -> u64 {
    windows.turns(pipeline).saturating_mul(pipeline.body.len() as u64)
}

fn pipelines(program: &Program) -> impl Iterator<Item = (&Op, &Pipeline)> {
    let ops = program.blocks().flat_map(|block| &block.ops);
    ops.filter_map(|op| op.pipeline().map(|pipeline| (op, pipeline)))
}
