//! `cclc decompile`: the program of a plan, whoever made it, as `.ccl`.

use super::args::Decompile;
use super::report::Reporter;
use super::{Failure, Status, files, output};
use compiler::driver;
use std::path::Path;

/// Writes the program, if building it gives the plan again.
pub(crate) fn run(decompile: &Decompile, reporter: &mut Reporter) -> Result<Status, Failure> {
    let file = match files::plan(
        &mut reporter.sources,
        &decompile.plan,
        reporter.limits.plan_bytes(),
        &reporter.interrupt,
    ) {
        Ok(file) => file,
        Err(why) => {
            reporter.unreadable(&decompile.plan, &why);
            return Ok(reporter.finish());
        }
    };
    let text = reporter.sources.files[file].text.clone();
    let regular = !decompile.straight;
    let (source, found) = driver::decompile(file, &text, regular, &reporter.interrupt);
    if reporter.is_stopped() {
        return Ok(reporter.finish());
    }
    reporter.add(found);
    let status = reporter.finish();
    if let Some(source) = source {
        let path = decompile.output.as_deref().unwrap_or(Path::new("-"));
        output::refuse_losses([path], &reporter.sources)?;
        output::show_or_write(path, &source.text)?;
    }
    Ok(status)
}
