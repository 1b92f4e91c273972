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
use compiler::driver::{self, Known, Target};
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use compiler::plan::map::{Map, Source};
use compiler::resolve;
use compiler::source::{FileId, SourceMap};
use std::path::Path;

/// Checks each plan.
pub(crate) fn run(verify: &Verify, reporter: &mut Reporter) -> Result<Status, Failure> {
    let target = Target { sms: verify.sms, worst: Severity::Error };
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
                let (_, found) = plan(reporter, path, file, known.clone(), target);
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
    if plans.len() > 1 && reporter.shows_summaries() {
        reporter.remark(&format!("{checked} plans checked, {refused} refused"));
    }
    Ok(reporter.finish())
}

/// The program of one plan, if it can be read, and what is wrong with it.
pub(crate) fn plan(
    reporter: &mut Reporter,
    path: &Path,
    file: FileId,
    known: Known,
    target: Target,
) -> (Option<Program>, Vec<Diagnostic>) {
    let (most, interrupt) = (reporter.limits.plan_bytes(), reporter.interrupt.clone());
    let sources = &mut reporter.sources;
    let text = sources.files[file].text.clone();
    let beside = path.with_extension(MAP);
    let map = match map(path, &beside, &text, most, &interrupt) {
        Ok(None) => return driver::verified(file, &text, &known, target, &interrupt),
        Ok(Some(map)) => map,
        Err(why) => {
            let (program, found) = driver::verified(file, &text, &known, target, &interrupt);
            let found = std::iter::once(useless(&beside, &why)).chain(found).collect();
            return (program, found);
        }
    };
    let known = known.with_map(&map);
    let (program, mut found) = driver::verified(file, &text, &known, target, &interrupt);
    if !found.is_empty() {
        let texts: Vec<Option<FileId>> =
            map.sources().map(|source| open(sources, &beside, source, most, &interrupt)).collect();
        map.explain(file, &texts, &mut found);
    }
    (program, found)
}

/// The plan's map, if it has one; or the reason why the map is of no use.
fn map(
    plan: &Path,
    beside: &Path,
    text: &str,
    most: u64,
    interrupt: &Interrupt,
) -> Result<Option<Map>, String> {
    if plan == Path::new("-") || beside == plan || !beside.exists() {
        return Ok(None);
    }
    let map = Map::read(&files::text(beside, most, interrupt)?)?;
    match map.fits(text) {
        true => Ok(Some(map)),
        false => Err("it was written for a different plan than this one".to_owned()),
    }
}

/// The text of a source file if it is unchanged, looked for where the compiler read it and next to the map.
fn open(
    sources: &mut SourceMap,
    map: &Path,
    source: Source<'_>,
    most: u64,
    interrupt: &Interrupt,
) -> Option<FileId> {
    // A map may name anything: only ordinary files are opened.
    let read =
        |path: &Path| path.is_file().then(|| files::text(path, most, interrupt).ok()).flatten();
    let texts = [
        resolve::library_text(source.name).map(str::to_owned),
        read(Path::new(source.name)),
        read(&map.with_file_name(source.name)),
    ];
    let text = texts.into_iter().flatten().find(|text| source.has(text))?;
    Some(sources.add(source.name, text))
}

fn useless(map: &Path, why: &str) -> Diagnostic {
    let message = format!("`{}` cannot be used: {why}", files::name(map));
    Diagnostic::without_place(Code::W0901, message)
        .note("reports show only places in the plan")
        .help("build the plan with its map, `--emit plan,map`")
}
