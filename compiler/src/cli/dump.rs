//! `cclc dump`: a program at a point between source and plan, as straight-line `.ccl`.

use super::args::{Dump, Stage};
use super::report::Reporter;
use super::{Failure, Status, build, load, output};
use compiler::elaborate;
use compiler::ir::print;
use compiler::optimize;
use std::path::Path;

/// Prints the program.
pub(crate) fn run(dump: &Dump, reporter: &mut Reporter) -> Result<Status, Failure> {
    let elaboration = &dump.elaboration;
    let Some(front) = build::front(reporter, elaboration, &dump.file)? else {
        return Ok(reporter.finish().max(Status::Errors));
    };
    let interrupt = load::interrupt(elaboration.time_limit);
    let (program, diagnostics) =
        elaborate::elaborate(&front.loaded.unit, front.program, &front.settings, &interrupt);
    let broken = reporter.add(diagnostics);
    if interrupt.is_set() {
        reporter.stopped(elaboration.time_limit);
        return Ok(reporter.finish());
    }
    let status = reporter.finish();
    let Some(program) = program.filter(|_| !broken) else { return Ok(status.max(Status::Errors)) };
    let program = match stage(dump.after) {
        Some(last) => optimize::optimize(program, last),
        None => program,
    };
    let text = print::print(&program);
    let path = dump.output.as_deref().unwrap_or(Path::new("-"));
    output::write_text(path, &text)?;
    Ok(status)
}

/// The last pass; none before the first.
fn stage(stage: Stage) -> Option<optimize::Stage> {
    match stage {
        Stage::Elaborate => None,
        Stage::Fuse => Some(optimize::Stage::Fuse),
        Stage::Split => Some(optimize::Stage::Split),
        Stage::Sync => Some(optimize::Stage::Sync),
        Stage::Replicate => Some(optimize::Stage::Replicate),
    }
}
