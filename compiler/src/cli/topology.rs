//! `cclc topology`: shows a machine, writes it for other tools, and reads what other tools say of one.

use super::args::{ExportTopology, GraphFormat, ShowTopology, TopologyCommand};
use super::machine::find_machine;
use super::report::Reporter;
use super::{Failure, Status, import, output};
use compiler::machine::Machine;
use compiler::machine::dot::write_dot;
use compiler::machine::drawing::{MOST_LINKS, write_drawing};
use compiler::machine::listing::write_listing;
use std::path::Path;
use std::sync::Arc;

/// Runs one of the commands.
pub(crate) fn run(command: &TopologyCommand, reporter: &mut Reporter) -> Result<Status, Failure> {
    match command {
        TopologyCommand::Import(import) => import::run(import, reporter),
        TopologyCommand::Show(show) => run_show(show, reporter),
        TopologyCommand::Export(export) => run_export(export, reporter),
    }
}

fn run_show(show: &ShowTopology, reporter: &mut Reporter) -> Result<Status, Failure> {
    let machine = find(&show.machine, show.on.as_deref(), show.root.as_deref(), reporter)?;
    output::show(&write_listing(&machine))?;
    if let Some(path) = &show.picture {
        let picture = write_drawing(&machine).ok_or_else(|| {
            Failure::Usage(format!(
                "a picture has at most {MOST_LINKS} links, each direction counted"
            ))
        })?;
        output::refuse_losses([path.as_path()], &reporter.sources)?;
        output::write_text(path, &picture)?;
    }
    Ok(reporter.finish())
}

fn run_export(export: &ExportTopology, reporter: &mut Reporter) -> Result<Status, Failure> {
    let machine = find(&export.machine, export.on.as_deref(), export.root.as_deref(), reporter)?;
    let text = match export.format {
        GraphFormat::Dot => write_dot(&machine),
    };
    let path = export.output.as_deref().unwrap_or(Path::new("-"));
    output::refuse_losses([path], &reporter.sources)?;
    output::show_or_write(path, &text)?;
    Ok(reporter.finish())
}

fn find(
    text: &str,
    on: Option<&str>,
    root: Option<&Path>,
    reporter: &mut Reporter,
) -> Result<Arc<Machine>, Failure> {
    let args =
        super::args::MachineArgs { topology: Some(text.to_owned()), on: on.map(str::to_owned) };
    let machine = find_machine(reporter, &args, root)?;
    machine.ok_or_else(|| Failure::Usage(format!("`{text}` is no machine")))
}
