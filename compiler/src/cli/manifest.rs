//! `cclc manifest`: joins the manifests of several plans, and refuses those that a runtime could not tell apart.
//!
//! Paths of plans stay valid: a plan in or below the new manifest's folder is named relative to
//! that folder, any other plan by its absolute path.

use super::args;
use super::build::BuiltPlan;
use super::output::Output;
use super::report::Reporter;
use super::{Failure, Status, files, output};
use compiler::diagnostic::{Code, Diagnostic};
use compiler::interrupt::Interrupt;
use compiler::plan::manifest::{Entry, Manifest, Written};
use std::io;
use std::path::{Path, PathBuf};

/// Joins manifests.
pub(crate) fn run(args: &args::Manifest, reporter: &mut Reporter) -> Result<Status, Failure> {
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let folder = folder(output).map_err(|error| lost(output, &error))?;
    let mut plans = Vec::new();
    for path in &args.manifests {
        match read(path, reporter.limits.plan_bytes(), &reporter.interrupt) {
            Ok(entries) => {
                for entry in entries {
                    let path = named(Path::new(&entry.path), &folder);
                    let path = path.map_err(|error| lost(Path::new(&entry.path), &error))?;
                    plans.push(Entry { path, ..entry });
                }
            }
            Err(Unread::File(why)) => reporter.unreadable(path, &why),
            Err(Unread::Text(why)) => {
                reporter.add(vec![no_manifest(path, &why)]);
            }
        }
    }
    let (joined, reports) = Manifest::of(plans);
    reporter.add(reports);
    let status = reporter.finish();
    if status == Status::Clean {
        output::write(output, |out| joined.write(out).map(|()| true))?;
    }
    Ok(status)
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

/// Why a manifest has no entries.
enum Unread {
    /// The file cannot be read.
    File(String),
    /// Its content is not a manifest.
    Text(String),
}

/// The plans of a manifest, with absolute paths.
fn read(path: &Path, most: u64, interrupt: &Interrupt) -> Result<Vec<Entry>, Unread> {
    let text = files::text(path, most, interrupt).map_err(Unread::File)?;
    let folder = folder(path).map_err(|error| Unread::File(error.to_string()))?;
    let plans = Manifest::read(&text).map_err(Unread::Text)?.plans;
    let placed =
        |plan: Entry| Entry { path: folder.join(&plan.path).display().to_string(), ..plan };
    Ok(plans.into_iter().map(placed).collect())
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

fn no_manifest(path: &Path, why: &str) -> Diagnostic {
    let message = format!("`{}` is not a manifest: {why}", files::name(path));
    Diagnostic::without_place(Code::E0901, message)
        .help("`cclc build --emit plan,manifest` writes one next to the plan")
}
