//! Builds a plan as `cclc build` does, next to the source, and replaces it in one step.

use super::CompileCommand;
use super::source::SourceSnapshot;
use crate::workspace::file_path;
use compiler::driver::{self, Proof, Request};
use compiler::interrupt::Interrupt;
use compiler::target::PLAN;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What follows the name of a source, without `.ccl`, in the name of its plan.
const EXTENSION: &str = "plan.json";

/// Builds the plan of a program; answers with its path.
pub(super) fn build_plan(
    source: &SourceSnapshot,
    command: &CompileCommand,
    interrupt: &Interrupt,
) -> Result<Value, String> {
    let path = plan_path(command)?;
    let loaded = source.load(command.program.as_deref())?;
    let request = Request {
        unit: &loaded.unit,
        program: loaded.program,
        settings: &loaded.elaboration,
        target: &PLAN,
        proof: Proof::Needed,
        interrupt,
    };
    let capacity = source.settings.capacity();
    let (lowered, found) = driver::lower_within(&request, capacity);
    loaded.refuse_errors(&found, interrupt)?;
    let lowered = lowered.ok_or_else(|| format!("`{}` has no plan", loaded.name()))?;
    let mut plan = Vec::new();
    let outcome =
        driver::write_plan(lowered, capacity, &mut plan).map_err(|why| why.to_string())?;
    loaded.refuse_errors(&outcome.diagnostics, interrupt)?;
    replace_file(&path, &plan)
        .map_err(|why| format!("cannot write `{}`: {why}", path.display()))?;
    Ok(json!({"program": loaded.name(), "path": path}))
}

fn plan_path(command: &CompileCommand) -> Result<PathBuf, String> {
    let unsaved = || "save the file first: its plan is written next to it".to_owned();
    let path = file_path(&command.url).ok_or_else(unsaved)?;
    let is_source = path.extension().is_some_and(|end| end == "ccl");
    is_source
        .then(|| path.with_extension(EXTENSION))
        .ok_or_else(|| format!("`{}` is no file whose name ends with `.ccl`", path.display()))
}

/// Writes a file under another name first, so that nobody sees half of it. A file that has these bytes is left alone.
fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: the file to which it leads is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let new = path.with_extension(format!("json.{}.tmp", std::process::id()));
    let done = fs::write(&new, bytes).and_then(|()| fs::rename(&new, path));
    if done.is_err() {
        // Nobody can use what was begun; the error that matters is the one that is returned.
        let _ = fs::remove_file(&new);
    }
    done
}
