//! `cclc verify`: checks plans, whoever made them.
//!
//! If there is a map next to a plan, reports name the source lines that the plan's operations come from, and show them
//! if the source is still what the plan was built from.

use super::args::Verify;
use super::build::MAP;
use super::folders::FileKind;
use super::report::Reporter;
use super::{Failure, Status, files, folders, settings};
use compiler::diagnostic::{Code, Diagnostic, Severity};
use compiler::driver::{self, Known};
use compiler::ir::Program;
use compiler::plan::map::{Map, Source};
use compiler::resolve;
use compiler::resolve::path::EXTENSION;
use compiler::source::{FileId, SourceMap};
use compiler::target::Capacity;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Checks each plan.
pub(crate) fn run(verify: &Verify, reporter: &mut Reporter) -> Result<Status, Failure> {
    let capacity = Capacity { sms: verify.sms, worst: Severity::Error };
    let given = settings::arguments(reporter, &verify.define)?;
    let known = Known {
        given,
        shared: reporter.shared(),
        ranks_per_node: verify.ranks_per_node,
        ranks_per_domain: verify.ranks_per_domain,
        ..Known::default()
    };
    let plans = folders::expanded(reporter, &verify.plans, FileKind::Plans);
    let (mut checked, mut refused) = (0, 0);
    for path in &plans {
        match files::plan(
            &mut reporter.sources,
            path,
            reporter.limits.plan_bytes(),
            &reporter.interrupt,
        ) {
            Ok(file) => {
                let (_, found) = plan(reporter, path, file, known.clone(), capacity);
                if reporter.is_stopped() {
                    break;
                }
                checked += 1;
                refused += usize::from(driver::has_errors(&found));
                reporter.add(found);
            }
            Err(why) => reporter.unreadable(path, &why),
        }
    }
    if (plans.len() > 1 || verify.plans.iter().any(|path| path.is_dir()))
        && reporter.shows_summaries()
    {
        let noun = if checked == 1 { "plan" } else { "plans" };
        reporter.remark(&format!("{checked} {noun} checked, {refused} refused"));
    }
    Ok(reporter.finish())
}

/// The program of one plan, if it can be read, and what is wrong with it.
pub(crate) fn plan(
    reporter: &mut Reporter,
    path: &Path,
    file: FileId,
    known: Known,
    capacity: Capacity,
) -> (Option<Program>, Vec<Diagnostic>) {
    let (most, interrupt) = (reporter.limits.plan_bytes(), reporter.interrupt.clone());
    let sources = &mut reporter.sources;
    let text = sources.files[file].text.clone();
    let beside = path.with_extension(MAP);
    let map = match map(path, &beside, &text, most) {
        Ok(None) => return driver::verified(file, &text, &known, capacity, &interrupt),
        Ok(Some(map)) => map,
        Err(why) => {
            let (program, found) = driver::verified(file, &text, &known, capacity, &interrupt);
            let found = std::iter::once(useless(&beside, &why)).chain(found).collect();
            return (program, found);
        }
    };
    let known = known.with_map(&map);
    let (program, mut found) = driver::verified(file, &text, &known, capacity, &interrupt);
    if !found.is_empty() {
        let texts = MapSources::new(&beside, reporter.limits.source_bytes()).open(sources, &map);
        map.explain(file, sources, &texts, &mut found);
    }
    (program, found)
}

/// The plan's map, if it has one; or the reason why the map is of no use.
fn map(plan: &Path, beside: &Path, text: &str, most: u64) -> Result<Option<Map>, String> {
    if plan == Path::new("-") || beside == plan || !beside.exists() {
        return Ok(None);
    }
    // Nobody named it, so it must be an ordinary file, which is there at once, and in the plan's folder.
    if !files::stays(beside) {
        return Err("it is a link to a file outside its folder".to_owned());
    }
    let map = Map::read(&files::ordinary(beside, most)?)?;
    match map.fits(text) {
        true => Ok(Some(map)),
        false => Err("it was written for a different plan than this one".to_owned()),
    }
}

/// The source files that a map names, which anyone may have written. Each is read at most once, and all together have at
/// most as many bytes as a source file with its imports.
///
/// A path that is absolute, leads up, or has a hidden part is not looked for, and nor is one that does not end with `.ccl`.
/// What a link leads to must be below the folder in which the path was looked for.
struct MapSources {
    /// Where the compiler was probably run, and where the map is.
    folders: [PathBuf; 2],
    /// How many bytes may still be read.
    left: u64,
    /// What was read, by its path without links; none for what could not be.
    read: BTreeMap<PathBuf, Option<Arc<str>>>,
}

impl MapSources {
    fn new(map: &Path, most: u64) -> MapSources {
        let beside = map.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folders = [PathBuf::from("."), beside.unwrap_or(Path::new(".")).to_owned()];
        MapSources { folders, left: most, read: BTreeMap::new() }
    }

    /// The files whose texts are unchanged, in the order in which the map names them.
    fn open(mut self, sources: &mut SourceMap, map: &Map) -> Vec<Option<FileId>> {
        let mut known: BTreeMap<&str, Option<FileId>> = BTreeMap::new();
        let mut opened = Vec::new();
        for source in map.sources() {
            // A map names each file once; whoever names it again gets nothing for it.
            let taken = known.contains_key(source.name);
            let text = if taken { None } else { self.text(&source) };
            let file = text.map(|text| sources.add(source.name, text));
            known.insert(source.name, file);
            opened.push(file);
        }
        opened
    }

    fn text(&mut self, source: &Source<'_>) -> Option<Arc<str>> {
        if let Some(text) = resolve::library_text(source.name) {
            return source.has(text).then(|| text.into());
        }
        let plain = |part: Component<'_>| match part {
            Component::Normal(part) => !part.as_encoded_bytes().starts_with(b"."),
            Component::CurDir => true,
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => false,
        };
        let path = Path::new(source.name);
        if !path.components().all(plain) || !source.name.ends_with(EXTENSION) {
            return None;
        }
        let folders = self.folders.clone();
        folders.iter().find_map(|folder| self.below(folder, path)).filter(|text| source.has(text))
    }

    /// The text of a file below a folder.
    fn below(&mut self, folder: &Path, path: &Path) -> Option<Arc<str>> {
        let real = fs::canonicalize(folder.join(path)).ok()?;
        if let Some(text) = self.read.get(&real) {
            return text.clone();
        }
        let text = files::import(folder, &folder.join(path).to_string_lossy(), self.left).ok();
        self.left -= text.as_ref().map_or(0, |text| text.len() as u64);
        self.read.insert(real, text.clone());
        text
    }
}

fn useless(map: &Path, why: &str) -> Diagnostic {
    let message = format!("`{}` cannot be used: {why}", files::name(map));
    Diagnostic::without_place(Code::W0901, message)
        .note("reports show only places in the plan")
        .help("build the plan with its map, `--emit plan,map`")
}
