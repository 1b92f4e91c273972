//! Reads source files with what they import, and picks the programs that are selected.

use super::args::Elaboration;
use super::report::Reporter;
use super::{Failure, files};
use compiler::diagnostic::nearest;
use compiler::driver;
use compiler::resolve::program::{ProgramId, Unit};
use compiler::source::FileId;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that was read and resolved.
pub(crate) struct Loaded {
    /// The file.
    pub(crate) file: FileId,
    /// Its programs and what they use.
    pub(crate) unit: Unit,
    /// Whether it has errors; its programs must then not be elaborated.
    pub(crate) broken: bool,
}

/// Reads a file with its imports. None if it cannot be read, which is then reported.
pub(crate) fn load(
    reporter: &mut Reporter,
    elaboration: &Elaboration,
    path: &Path,
) -> Option<Loaded> {
    load_file(reporter, elaboration.root.as_deref(), path)
}

/// The same; imports have to be in the folder `root`, if it is given.
pub(crate) fn load_file(
    reporter: &mut Reporter,
    root: Option<&Path>,
    path: &Path,
) -> Option<Loaded> {
    if let Some(root) = root.filter(|root| !root.is_dir()) {
        reporter.unreadable(root, "it is not a folder");
        return None;
    }
    let (most, interrupt) = (reporter.limits.source_bytes(), reporter.interrupt.clone());
    let main = match files::source(&mut reporter.sources, path, most, &interrupt) {
        Ok(main) => main,
        Err(why) => {
            reporter.unreadable(path, &why);
            return None;
        }
    };
    let root = files::root(root, path);
    let text = reporter.sources.files[main].text.clone();
    let mut left = most - text.len() as u64;
    let mut known: BTreeMap<PathBuf, Arc<str>> = BTreeMap::new();
    known.extend(fs::canonicalize(path).ok().map(|path| (path, text)));
    let mut read = |import: &str| {
        let real = fs::canonicalize(import);
        if let Some(text) = real.as_ref().ok().and_then(|path| known.get(path)) {
            return Ok(text.clone());
        }
        let text = files::import(&root, import, left)?;
        left -= text.len() as u64;
        known.extend(real.ok().map(|path| (path, text.clone())));
        Ok(text)
    };
    let (unit, diagnostics) = driver::load(main, &mut reporter.sources, &mut read);
    // An import that did not come in time is not missing.
    if reporter.is_stopped() {
        return None;
    }
    let broken = reporter.add(diagnostics);
    Some(Loaded { file: main, unit, broken })
}

/// The selected programs: the one that `--program` names, otherwise all.
pub(crate) fn programs(unit: &Unit, elaboration: &Elaboration) -> Vec<ProgramId> {
    let named = |name: &str| elaboration.program.as_ref().is_none_or(|wanted| wanted == name);
    unit.programs.entries().filter(|(_, program)| named(&program.name)).map(|(id, _)| id).collect()
}

/// The selected program, where there can be only one.
pub(crate) fn the_program(
    unit: &Unit,
    elaboration: &Elaboration,
    path: &Path,
) -> Result<ProgramId, Failure> {
    match programs(unit, elaboration).as_slice() {
        [program] => Ok(*program),
        [] if unit.programs.is_empty() => Err(no_program(path)),
        [] => Err(unknown_program(&[unit], elaboration)),
        [..] => Err(several_programs(unit, path)),
    }
}

/// The error that no file has a program with the name that `--program` gives.
pub(crate) fn unknown_program(units: &[&Unit], elaboration: &Elaboration) -> Failure {
    let wanted = elaboration.program.as_deref().unwrap_or_default();
    let names: Vec<&str> =
        units.iter().flat_map(|unit| unit.programs.iter()).map(|p| p.name.as_str()).collect();
    let hint =
        nearest(wanted, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    Failure::Usage(format!(
        "there is no program `{wanted}`{}\n{}",
        hint.unwrap_or_default(),
        list(&names)
    ))
}

fn no_program(path: &Path) -> Failure {
    Failure::Usage(format!("`{}` has no program", files::name(path)))
}

fn several_programs(unit: &Unit, path: &Path) -> Failure {
    let names: Vec<&str> = unit.programs.iter().map(|program| program.name.as_str()).collect();
    let file = files::name(path);
    Failure::Usage(format!(
        "`{file}` has several programs; choose one with `--program NAME`\n{}",
        list(&names)
    ))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "  programs: none".to_owned()
    } else {
        format!("  programs: {}", names.join(", "))
    }
}
