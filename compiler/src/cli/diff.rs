//! `cclc diff`: how two plans differ in what they do, or the plans of two programs.
//!
//! A source file stands for the plan that is built from it; reports name its lines next to the places in that plan.

use super::args::{Diff, Elaboration};
use super::build::{self, BuildInput};
use super::report::Reporter;
use super::{Failure, Status, files, load, settings};
use compiler::diagnostic::Severity;
use compiler::driver::{self, Known, Proof, Side};
use compiler::plan::map::Map;
use compiler::source::{FileId, SourceMap};
use compiler::target::{Capacity, PLAN};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Compares two plans.
pub(crate) fn run(diff: &Diff, reporter: &mut Reporter) -> Result<Status, Failure> {
    let paths = [&diff.first, &diff.second];
    if paths.iter().all(|path| **path == Path::new("-")) {
        return Err(Failure::Usage("only one plan can come from standard input".to_owned()));
    }
    if !paths.iter().any(|path| files::ends_in(path, "ccl")) {
        settings::only_plans(&diff.elaboration)?;
    }
    let mut defined = Defined::new(&diff.elaboration);
    let mut plans = Vec::new();
    for path in paths {
        let plan = match files::ends_in(path, "ccl") {
            true => program(diff, path, &mut defined, reporter)?,
            false => read(path, reporter),
        };
        plans.extend(plan);
    }
    let known = defined.left(&plans)?;
    let known = Known { given: settings::arguments(reporter, &known)?, ..Known::default() };
    let [left, right] = plans.as_slice() else {
        return Ok(reporter.finish().max(Status::Errors));
    };
    let (a, b) = (left.side(&known), right.side(&known));
    let capacity = Capacity { sms: diff.elaboration.sms, worst: Severity::Error };
    let (same, mut found) = driver::diff(&a, &b, capacity, &reporter.interrupt);
    if reporter.is_stopped() {
        return Ok(reporter.finish());
    }
    for plan in [left, right] {
        if let Some(map) = &plan.map {
            let sources = &reporter.sources;
            map.explain(plan.file, sources, &texts(sources, map), &mut found);
        }
    }
    reporter.add(found);
    if same == Some(true) {
        reporter.remark("the plans are the same");
    }
    Ok(reporter.finish())
}

/// A plan; with the origins of its operations if it was built here.
struct Plan {
    file: FileId,
    text: Arc<str>,
    map: Option<Map>,
}

impl Plan {
    /// This side of the comparison; `known` is what is known about a plan that was not built here.
    fn side(&self, known: &Known) -> Side<'_> {
        let known = match &self.map {
            Some(map) => Known::default().with_map(map),
            None => known.clone(),
        };
        Side { file: self.file, text: &self.text, known }
    }
}

/// Reads a plan; none if it cannot be read, which is then reported.
fn read(path: &Path, reporter: &mut Reporter) -> Option<Plan> {
    match files::plan(
        &mut reporter.sources,
        path,
        reporter.limits.plan_bytes(),
        &reporter.interrupt,
    ) {
        Ok(file) => {
            let text = reporter.sources.files[file].text.clone();
            Some(Plan { file, text, map: None })
        }
        Err(why) => {
            reporter.unreadable(path, &why);
            None
        }
    }
}

/// Builds a program; none if it cannot be built, which is then reported. Findings of the checks and limits of
/// the target are reported for its plan instead.
fn program(
    diff: &Diff,
    path: &Path,
    defined: &mut Defined,
    reporter: &mut Reporter,
) -> Result<Option<Plan>, Failure> {
    let Some(loaded) = load::load(reporter, &diff.elaboration, path).filter(|file| !file.broken)
    else {
        return Ok(None);
    };
    let program = load::the_program(&loaded.unit, &diff.elaboration, path)?;
    let names = loaded.unit.programs[program].parameters.iter().map(|p| p.name.as_str());
    let elaboration = Elaboration { define: defined.of(names), ..diff.elaboration.clone() };
    let given = settings::given(reporter, &elaboration)?;
    let settings = build::settings(reporter, &elaboration, &given, &loaded, program)?;
    let capacity = Capacity { sms: elaboration.sms, worst: Severity::Note };
    let claimed = BTreeSet::new();
    let mut input = BuildInput { loaded, program, settings, capacity, proved: false, claimed };
    let lowered = input.lowered(reporter, Proof::Skipped, &PLAN);
    let Some(lowered) = lowered else { return Ok(None) };
    let map = driver::map(&lowered, &reporter.sources);
    let mut bytes = Vec::new();
    let name = files::name(path);
    driver::write_plan(lowered, capacity, &mut bytes)
        .map_err(|error| Failure::Files(format!("`{name}`: {error}")))?;
    let text: Arc<str> = String::from_utf8_lossy(&bytes).into();
    let file = reporter.sources.add(format!("plan of {name}"), text.clone());
    Ok(Some(Plan { file, text, map: Some(map) }))
}

/// The files that a map names, as far as they have been read.
fn texts(sources: &SourceMap, map: &Map) -> Vec<Option<FileId>> {
    let read = |name: &str| sources.files.entries().find(|(_, file)| file.name == name);
    map.sources().map(|source| read(source.name).map(|(file, _)| file)).collect()
}

/// The `-D`s, and which of them a program has taken.
struct Defined<'a> {
    all: &'a [String],
    taken: BTreeSet<&'a str>,
}

impl<'a> Defined<'a> {
    fn new(elaboration: &'a Elaboration) -> Defined<'a> {
        Defined { all: &elaboration.define, taken: BTreeSet::new() }
    }

    /// Those for a program with parameters of these names.
    fn of<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Vec<String> {
        let names: BTreeSet<&str> = names.collect();
        let mine = |text: &&'a String| names.contains(parameter(text));
        let mine: Vec<&'a String> = self.all.iter().filter(mine).collect();
        self.taken.extend(mine.iter().map(|text| parameter(text)));
        mine.into_iter().cloned().collect()
    }

    /// Those that no program has. They are for the collectives of plans, if there are any plans.
    fn left(&self, plans: &[Plan]) -> Result<Vec<String>, Failure> {
        let left = self.all.iter().filter(|text| !self.taken.contains(parameter(text)));
        let left: Vec<String> = left.cloned().collect();
        match left.first() {
            Some(text) if plans.len() == 2 && plans.iter().all(|plan| plan.map.is_some()) => {
                let name = parameter(text);
                Err(Failure::Usage(format!("neither program has a parameter `{name}`")))
            }
            Some(_) | None => Ok(left),
        }
    }
}

fn parameter(text: &str) -> &str {
    text.split_once('=').map_or(text, |(name, _)| name).trim()
}
