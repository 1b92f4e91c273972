//! `cclc fmt`: formats source files.

use super::args::Fmt;
use super::folders::FileKind;
use super::report::Reporter;
use super::{Failure, Status, files, folders, output};
use compiler::source::FileId;
use compiler::syntax;
use std::path::Path;

/// Formats files in place, or standard input to standard output; with `--check`, lists those that would change.
pub(crate) fn run(fmt: &Fmt, reporter: &mut Reporter) -> Result<Status, Failure> {
    let mut changed = Status::Clean;
    for path in &folders::expanded(reporter, &fmt.files, FileKind::Sources) {
        match files::source(
            &mut reporter.sources,
            path,
            reporter.limits.source_bytes(),
            &reporter.interrupt,
        ) {
            Ok(file) => changed = changed.max(one(fmt, reporter, path, file)?),
            Err(why) => reporter.unreadable(path, &why),
        }
    }
    Ok(reporter.finish().max(changed))
}

fn one(fmt: &Fmt, reporter: &mut Reporter, path: &Path, file: FileId) -> Result<Status, Failure> {
    let text = reporter.sources.files[file].text.clone();
    let (_, diagnostics) = syntax::parse(file, &text);
    if reporter.add(diagnostics) {
        return Ok(Status::Errors);
    }
    let formatted = match syntax::format(&text) {
        Ok(formatted) => formatted,
        Err(diagnostics) => {
            reporter.add(diagnostics);
            return Ok(Status::Errors);
        }
    };
    let same = formatted == *text;
    if fmt.check && !same {
        output::show(&format!("{}\n", files::name(path)))?;
        return Ok(Status::Errors);
    }
    if !fmt.check && (!same || path == Path::new("-")) {
        output::write_text(path, &formatted)?;
    }
    Ok(Status::Clean)
}
