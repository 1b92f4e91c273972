//! `cclc dump`: a program at a point between source and plan, as straight-line `.ccl`.

use super::args::{Dump, Stage};
use super::report::Reporter;
use super::{Failure, Status, build, load, output};
use compiler::driver;
use compiler::elaborate;
use compiler::pending::print;
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
    let text = print::print(&driver::optimize(program, stage(dump.after)));
    let path = dump.output.as_deref().unwrap_or(Path::new("-"));
    output::write(path, |out| out.write_all(text.as_bytes()))?;
    Ok(status)
}

fn stage(stage: Stage) -> driver::Stage {
    match stage {
        Stage::Elaborate => driver::Stage::Elaborate,
        Stage::Fuse => driver::Stage::Fuse,
        Stage::Sync => driver::Stage::Sync,
        Stage::Split => driver::Stage::Split,
        Stage::Replicate => driver::Stage::Replicate,
    }
}
