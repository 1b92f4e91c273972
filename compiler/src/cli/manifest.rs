//! `cclc manifest`: joins the manifests of several plans, and refuses those that a runtime could not tell apart; `checked`
//! compares them with their plans.
//!
//! Paths of plans stay valid: a plan in or below the new manifest's folder is named relative to
//! that folder, any other plan by its absolute path.

mod checked;

use super::args;
use super::build::BuiltPlan;
use super::output::Output;
use super::report::Reporter;
use super::{Failure, Status, files, output};
use compiler::diagnostic::Diagnostic;
use compiler::plan::manifest::{Entry, Manifest, Written};
use compiler::source::FileId;
use std::io;
use std::path::{Path, PathBuf};

/// Joins manifests, or checks them.
pub(crate) fn run(args: &args::Manifest, reporter: &mut Reporter) -> Result<Status, Failure> {
    let read: Vec<ManifestText> =
        args.manifests.iter().filter_map(|path| read(path, reporter)).collect();
    if args.check {
        return checked::run(args, read, reporter);
    }
    let plans = read.into_iter().flat_map(|manifest| manifest.plans).collect();
    let (joined, reports) = Manifest::of(plans);
    reporter.add(reports);
    let status = reporter.finish();
    if status == Status::Clean {
        write_joined(joined, args.output.as_deref().unwrap_or(Path::new("-")))?;
    }
    Ok(status)
}

/// Writes a manifest whose plans have absolute paths, named as one at `output` is to name them.
fn write_joined(joined: Manifest, output: &Path) -> Result<(), Failure> {
    let folder = folder(output).map_err(|error| lost(output, &error))?;
    let mut plans = Vec::new();
    for entry in joined.plans {
        let path = named(Path::new(&entry.path), &folder);
        let path = path.map_err(|error| lost(Path::new(&entry.path), &error))?;
        plans.push(Entry { path, ..entry });
    }
    let (joined, _) = Manifest::of(plans);
    output::write(output, |out| joined.write(out).map(|()| true))
}

/// Writes the manifest of one plan.
pub(crate) fn write_one(
    output: Output<'_>,
    plan: &Path,
    entry: Entry,
    made: BuiltPlan,
    proved: bool,
) -> Result<(), Failure> {
    let folder = folder(output.path).map_err(|error| lost(output.path, &error))?;
    let written = Written {
        path: named(plan, &folder).map_err(|error| lost(plan, &error))?,
        hash: made.digest,
        message_size: made.message_size,
        proved,
    };
    let (manifest, _) = Manifest::of(vec![entry.written(written)]);
    output.write(|out| manifest.write(out).map(|()| true))
}

/// A manifest that was read.
struct ManifestText {
    /// Its name, for reports.
    name: String,
    /// Its text.
    file: FileId,
    /// Its plans, with paths that are valid here.
    plans: Vec<Entry>,
}

/// Reads a manifest; none if it cannot be read, which is then reported.
fn read(path: &Path, reporter: &mut Reporter) -> Option<ManifestText> {
    let (most, interrupt) = (reporter.limits.plan_bytes(), reporter.interrupt.clone());
    let file = match files::open(&mut reporter.sources, path, most, &interrupt) {
        Ok(file) => file,
        Err(why) => {
            reporter.unreadable(path, &why);
            return None;
        }
    };
    let text = reporter.sources.files[file].text.clone();
    let plans = match Manifest::read(file, &text) {
        Ok(manifest) => manifest.plans,
        Err(report) => {
            let report = Diagnostic {
                message: format!("`{}`: {}", files::name(path), report.message),
                ..*report
            };
            reporter.add(vec![report]);
            return None;
        }
    };
    let placed = here(path, plans);
    match placed {
        Ok(plans) => Some(ManifestText { name: files::name(path), file, plans }),
        Err((plan, error)) => {
            let why = format!("{error}; `{}` names it", files::name(path));
            reporter.unreadable(&plan, &why);
            None
        }
    }
}

/// The plans of the manifest at `path`, with paths that are valid here: one file has one path, wherever it is named. If
/// that fails, the path that names no file.
fn here(path: &Path, plans: Vec<Entry>) -> Result<Vec<Entry>, (PathBuf, io::Error)> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let current = self::folder(Path::new("-")).map_err(|error| (path.to_owned(), error))?;
    let placed = plans.into_iter().map(|plan| {
        let path = folder.join(&plan.path);
        if path.file_name().is_none() {
            return Err((path, io::Error::other("it is not a file")));
        }
        match named(&path, &current) {
            Ok(path) => Ok(Entry { path, ..plan }),
            Err(error) => Err((path, error)),
        }
    });
    placed.collect()
}

/// The path of a plan, as a manifest in `folder` names it.
fn named(plan: &Path, folder: &Path) -> io::Result<String> {
    let plan = self::folder(plan)?.join(plan.file_name().unwrap_or_default());
    Ok(plan.strip_prefix(folder).unwrap_or(&plan).display().to_string())
}

/// The absolute path of a file's folder, without links and `..`, so that one folder has one path; for standard output
/// the current folder.
fn folder(file: &Path) -> io::Result<PathBuf> {
    let mut file = std::path::absolute(file)?;
    file.pop();
    // A folder that is not there cannot be written to, which is reported when that is tried.
    Ok(std::fs::canonicalize(&file).unwrap_or(file))
}

fn lost(path: &Path, error: &io::Error) -> Failure {
    Failure::Files(format!("`{}` has no folder: {error}", files::shown(path)))
}
