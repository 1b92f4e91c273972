//! `cclc list`: the canonical listing of a plan.

use super::args::List;
use super::report::Reporter;
use super::{Failure, Status, files, output};
use compiler::pending::plan::{self as listing, Form};
use std::path::Path;

/// Prints the listing.
pub(crate) fn run(list: &List, reporter: &mut Reporter) -> Result<Status, Failure> {
    let file = match files::open(&mut reporter.sources, &list.plan) {
        Ok(file) => file,
        Err(why) => {
            reporter.unreadable(&list.plan, &why);
            return Ok(reporter.finish());
        }
    };
    let form = if list.normal {
        Form::Normal
    } else if list.canon {
        Form::Canon
    } else {
        Form::Plain
    };
    let text = reporter.sources.files[file].text.clone();
    let (listing, diagnostics) = listing::listing(file, &text, list.rank, list.chunk_bytes, form);
    reporter.add(diagnostics);
    let status = reporter.finish();
    if let Some(listing) = listing {
        let path = list.output.as_deref().unwrap_or(Path::new("-"));
        output::write(path, |out| out.write_all(listing.as_bytes()))?;
    }
    Ok(status)
}
