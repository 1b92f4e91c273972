//! `cclc check --fix`: makes the fixes of which there is no doubt.
//!
//! Fixes are made in the order of the reports; one that touches what another one has changed waits
//! for the next round. A file is replaced in one step, and only if it is still what was checked.
//! Standard input and the library are never changed.

use super::report::Reporter;
use super::{Failure, files, output};
use compiler::diagnostic::render;
use compiler::diagnostic::{Certainty, Edit, Fix};
use compiler::repair;
use compiler::source::{FileId, Place, SourceMap, Span};
use std::collections::BTreeMap;
use std::path::Path;

/// Makes fixes, and returns how many.
pub(crate) fn make(reporter: &Reporter) -> Result<usize, Failure> {
    let sources = &reporter.sources;
    let mut edits: BTreeMap<FileId, Vec<Edit>> = BTreeMap::new();
    let mut made = Vec::new();
    for report in reporter.diagnostics() {
        let sure = |fix: &&Fix| fix.certainty == Certainty::Sure;
        let Some(fix) = report.fix.as_ref().filter(sure) else { continue };
        if !fix.edits.iter().all(|edit| fits(sources, &edits, edit)) {
            continue;
        }
        for edit in &fix.edits {
            edits.entry(edit.span.file).or_default().push(edit.clone());
        }
        let place = fix.edits.first().map(|edit| Place::Source(edit.span));
        let place = place.map_or_else(String::new, |place| render::place_text(sources, place));
        made.push(format!("{place}: fixed {}: {}", report.code.id(), fix.title));
    }
    for (file, edits) in &edits {
        write(reporter, *file, edits)?;
    }
    made.iter().for_each(|line| reporter.remark(line));
    Ok(made.len())
}

/// Whether an edit is to a file that can be written, and touches none of the other edits.
fn fits(sources: &SourceMap, edits: &BTreeMap<FileId, Vec<Edit>>, edit: &Edit) -> bool {
    let file = sources.files.lookup(edit.span.file);
    let on_disk = file.is_some_and(|file| Path::new(&file.name).is_file());
    let apart = |other: &Edit| apart(other.span, edit.span);
    on_disk && edits.get(&edit.span.file).is_none_or(|others| others.iter().all(apart))
}

fn apart(one: Span, other: Span) -> bool {
    one.end < other.start || other.end < one.start
}

fn write(reporter: &Reporter, file: FileId, edits: &[Edit]) -> Result<(), Failure> {
    let Some(file) = reporter.sources.files.lookup(file) else { return Ok(()) };
    let path = Path::new(&file.name);
    let failed = |why: &str| Failure::Files(format!("cannot fix `{}`: {why}", files::shown(path)));
    let mut now = SourceMap::default();
    let there = files::open(&mut now, path, reporter.limits.source_bytes(), &reporter.interrupt)
        .map_err(|why| failed(&why))?;
    if now.files[there].text != file.text {
        return Err(failed("it has changed since it was read"));
    }
    let Some(text) = repair::apply(&file.text, edits) else {
        return Err(failed("its fixes do not fit"));
    };
    output::write_text(path, &text)
}
