//! `cclc dump`: a program at a point between source and plan, as straight-line `.ccl`, or as JSON that holds that text and
//! where its lines come from.

use super::args::{Dump, DumpFormat as Format, Stage};
use super::report::Reporter;
use super::{Failure, Status, build, output};
use compiler::diagnostic::json;
use compiler::elaborate;
use compiler::ir::Program;
use compiler::ir::print::{self, Printed};
use compiler::optimize;
use std::path::Path;

/// Prints the program.
pub(crate) fn run(dump: &Dump, reporter: &mut Reporter) -> Result<Status, Failure> {
    let elaboration = &dump.elaboration;
    let Some(front) = build::front(reporter, elaboration, &dump.file)? else {
        return Ok(reporter.finish().max(Status::Errors));
    };
    let (program, diagnostics) = elaborate::elaborate(
        &front.loaded.unit,
        front.program,
        &front.settings,
        &reporter.interrupt,
    );
    if reporter.is_stopped() {
        return Ok(reporter.finish());
    }
    let broken = reporter.add(diagnostics);
    let status = reporter.finish();
    let Some(program) = program.filter(|_| !broken) else { return Ok(status.max(Status::Errors)) };
    let program = match stage(dump.after) {
        Some(last) => optimize::optimize(program, last),
        None => program,
    };
    let printed = print::print(&program);
    let text = match dump.format {
        Format::Text => printed.text,
        Format::Json => linked(reporter, &program, &printed),
    };
    let path = dump.output.as_deref().unwrap_or(Path::new("-"));
    output::write_text(path, &text)?;
    Ok(status)
}

/// The text as JSON, with the places that its lines come from.
fn linked(reporter: &Reporter, program: &Program, printed: &Printed) -> String {
    let links: Vec<json::Link> = printed
        .lines
        .iter()
        .map(|(line, origin)| json::Link { line: *line, places: program.origins.places(*origin) })
        .collect();
    json::linked_text(&reporter.sources, &printed.text, &links)
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
