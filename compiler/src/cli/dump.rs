//! `cclc dump`: a program at a point between source and plan, as straight-line `.ccl`, as JSON with that text
//! and the origins of its lines, or as a picture.

use super::args::{Dump, DumpFormat as Format};
use super::report::Reporter;
use super::{Failure, Status, build, output};
use compiler::check;
use compiler::diagnostic::json;
use compiler::diagnostic::witness::{self, Event, Finding, Witness};
use compiler::elaborate;
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use compiler::ir::print::{self, Printed};
use compiler::optimize;
use compiler::picture::{self, Agent, Mark};
use std::path::Path;

/// Prints the program.
pub(crate) fn run(dump: &Dump, reporter: &mut Reporter) -> Result<Status, Failure> {
    let elaboration = &dump.elaboration;
    let Some(input) = build::input(reporter, elaboration, &dump.file)? else {
        return Ok(reporter.finish().max(Status::Errors));
    };
    let (program, diagnostics) = elaborate::elaborate(
        &input.loaded.unit,
        input.program,
        &input.settings,
        &reporter.interrupt,
    );
    if reporter.is_stopped() {
        return Ok(reporter.finish());
    }
    let broken = reporter.add(diagnostics);
    let status = reporter.finish();
    let Some(program) = program.filter(|_| !broken) else { return Ok(status.max(Status::Errors)) };
    let program = optimize::optimize(program, dump.after);
    let text = match dump.format {
        Format::Text => print::print(&program).text,
        Format::Json => linked(reporter, &program, &print::print(&program)),
        Format::Svg => drawn(&program, &reporter.interrupt)?,
    };
    let path = dump.output.as_deref().unwrap_or(Path::new("-"));
    output::refuse_losses([path], &reporter.sources)?;
    output::show_or_write(path, &text)?;
    Ok(status)
}

/// The text as JSON, with the places from which its lines come.
fn linked(reporter: &Reporter, program: &Program, printed: &Printed) -> String {
    let links: Vec<json::Link> = printed
        .lines
        .iter()
        .map(|(line, origin)| json::Link { line: *line, places: program.origins.places(*origin) })
        .collect();
    json::linked_text(&reporter.sources, &printed.text, &links)
}

/// A picture of the program, with marks for what the first report shows.
fn drawn(program: &Program, interrupt: &Interrupt) -> Result<String, Failure> {
    if !picture::fits(program) {
        let most = picture::MOST_OPERATIONS;
        let text = format!("a picture has up to {most} operations, and this program has more");
        return Err(Failure::Usage(text + ": use fewer ranks"));
    }
    let found = check::check(program, interrupt);
    let marks = found.first().and_then(|report| report.witness.as_deref()).map(marks);
    Ok(picture::draw(program, &marks.unwrap_or_default()))
}

/// The two accesses of a race.
fn marks(witness: &Witness) -> Vec<Mark> {
    let Finding::Race(race) = &witness.finding else { return Vec::new() };
    let events: Vec<Event> =
        race.first.iter().chain([&race.second]).map(|access| access.event).collect();
    let first = events.iter().map(|event| event.launch).min().unwrap_or_default();
    let users = events.iter().any(|event| event.agent == witness::Agent::User);
    let several = !users && events.iter().any(|event| event.launch != first);
    let mark = |event: &Event| {
        let operation = event.step.map_or(0, |step| step.operation);
        let inner = event.step.and_then(|step| step.inner).map(|(number, _)| number);
        let agent = match event.agent {
            witness::Agent::Block(block) => Agent::Block { block, operation, inner },
            witness::Agent::Proxy { channel, block } => {
                Agent::Proxy { channel, block, operation, inner }
            }
            witness::Agent::User if event.launch > first => Agent::After,
            witness::Agent::User => Agent::Before,
        };
        let launch = several.then_some(event.launch - first + 1);
        Mark { rank: event.rank, agent, launch }
    };
    events.iter().map(mark).collect()
}
