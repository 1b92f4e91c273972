//! The phases in order, for one program and one set of parameters.
//!
//! In: files that were read, a program's number and its settings. Out: a program ready to be written, and every report
//! on the way. If a phase reports an error, no further phase runs.

mod analysis;
mod completed;
mod contract;
mod decompile;
mod diff;
mod doubled;
mod early;
mod idle;
mod in_place;
mod namesake;
mod scheduled;
mod swap;
mod unsolved;

use crate::check::{self, limits};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::elaborate::{self, Settings};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::optimize::replicate;
use crate::phase::phase;
use crate::plan::map::Map;
use crate::plan::{message, read, write};
use crate::resolve::{self, program};
use crate::source::{FileId, SourceMap};
use crate::target::{self, Capacity, KernelFiles, KernelJob, Target, Writer};
pub use analysis::{MeasuredBandwidth, analyze, measure_bandwidth};
pub use completed::{
    CompletedImport, CompletedProgram, CompletionError, CompletionGoal, UnfinishedProgram,
    complete_program,
};
pub use contract::{Known, Shared};
pub use decompile::{Source, decompile};
pub use diff::{Side, diff};
use early::early;
pub(crate) use early::first_codes;
pub use scheduled::{
    PackedText, ScheduledFailure, write_packed_allreduce, write_packed_program,
    write_scheduled_declared, write_scheduled_packets, write_scheduled_program,
};
use std::io;
use std::sync::Arc;

/// What must be known about a program before it is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// That the checks find nothing.
    Needed,
    /// What the checks find; the program is lowered in any case.
    Reported,
    /// Nothing: for measurements.
    Skipped,
}

/// Reads imports: takes a path, and returns its text or the reason why there is none.
pub type Read<'a> = dyn FnMut(&str) -> Result<Arc<str>, String> + 'a;

/// From text to a resolved unit. If there are errors among the reports, only the names and
/// parameters of the unit's programs can be used.
pub fn load(
    main: FileId,
    sources: &mut SourceMap,
    read: &mut Read<'_>,
) -> (program::Unit, Vec<Diagnostic>) {
    let (modules, mut diagnostics) = resolve::load(main, sources, read);
    let broken = has_errors(&diagnostics);
    let resolving = phase("resolve", "");
    let (unit, names) = resolve::resolve(&modules);
    drop(resolving);
    // What could not be parsed may use a name, so unused names are not reported for a broken file.
    diagnostics
        .extend(names.into_iter().filter(|report| !broken || report.severity == Severity::Error));
    (unit, diagnostics)
}

/// A program with its settings, what it is compiled for, and what must be known about it before it is lowered.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The resolved declarations of its files.
    pub unit: &'a program::Unit,
    /// Which program of the unit.
    pub program: program::ProgramId,
    /// The settings that it is elaborated with.
    pub settings: &'a Settings,
    /// What it is compiled for.
    pub target: &'static Target,
    /// What must be known about it.
    pub proof: Proof,
    /// Set when nobody waits for the result any more.
    pub interrupt: &'a Interrupt,
}

impl<'a> Request<'a> {
    /// The same program with other settings, of which nothing must be known.
    #[must_use]
    pub(crate) fn with_settings<'b>(&self, settings: &'b Settings) -> Request<'b>
    where
        'a: 'b,
    {
        Request { settings, proof: Proof::Skipped, ..*self }
    }
}

/// A program in its final form for a target, about which the requested proof is known. Only [`lower_program`] makes
/// one, so that nothing is written that has not gone through the checks, or was explicitly exempted from them. The
/// copies that `instances` requests are not made yet.
#[derive(Clone, Debug)]
pub struct Lowered {
    program: ir::Program,
    target: &'static Target,
    /// Whether launches may follow each other whatever the sizes of their messages.
    any_size: bool,
}

impl Lowered {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &ir::Program {
        &self.program
    }

    /// What it was lowered for.
    #[must_use]
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// Whether it is proved that launches may follow each other whatever the sizes of their messages.
    #[must_use]
    pub fn any_size(&self) -> bool {
        self.any_size
    }
}

/// From a resolved program to its final form for a target, checked twice: as its author wrote it, and after the passes.
pub fn lower_program(request: &Request<'_>) -> (Option<Lowered>, Vec<Diagnostic>) {
    let Request { unit, program, settings, target, proof, interrupt } = *request;
    let (elaborated, mut diagnostics) = elaborated(unit, program, settings, interrupt);
    if let Some(program) = &elaborated {
        let apart = replicate::replicable(program).err().map(|report| *report);
        diagnostics.extend(check::calls::told(&program.origins, apart.into_iter().collect()));
    }
    let Some(elaborated) = elaborated.filter(|_| !has_errors(&diagnostics) && !interrupt.is_set())
    else {
        return (None, diagnostics);
    };
    diagnostics.extend(check::calls::told(&elaborated.origins, check::machine::check(&elaborated)));
    diagnostics.extend(idle::check(unit, &unit.programs[program], &elaborated));
    if let Some(implements) = &unit.programs[program].collective {
        diagnostics.extend(namesake::check(unit, implements, &elaborated, interrupt));
    }
    let mut known = check::Known::default();
    if proof != Proof::Skipped {
        let _checking = phase("check the program", "");
        let found = check::check_again(&elaborated, &mut known, interrupt);
        let subject = swap::Subject { unit, program, settings, interrupt };
        let found = in_place::told(&subject, &elaborated, found);
        let found = swap::told(&subject, &elaborated, found);
        let found = if target.is_plan() {
            found
        } else {
            doubled::offer_double_scratch(&elaborated, found, interrupt)
        };
        let is_refused = target.is_plan() && proof == Proof::Needed;
        diagnostics.extend(if is_refused { caused(&elaborated, found) } else { found });
    }
    let sound = !has_errors(&diagnostics);
    if !sound && proof == Proof::Needed {
        if target.is_plan() && !interrupt.is_set() {
            // What a statement asks of the executor in vain does not depend on what else is wrong.
            diagnostics.extend(limits::in_transfers(&run_passes(target, elaborated)));
        }
        return (None, diagnostics);
    }
    let program = run_passes(target, elaborated);
    if let Some(note) = target.channel_note
        && sound
    {
        let found = check::calls::told(&program.origins, check::machine::check(&program));
        diagnostics.extend(found.into_iter().map(|report| report.note(note)));
    }
    let mut any_size = false;
    if sound && proof != Proof::Skipped {
        let _checking = phase("check what is written", "");
        let found = check::check_again(&program, &mut known, interrupt);
        any_size = known.any_size();
        let new: Vec<Diagnostic> =
            found.into_iter().filter(|report| !is_told(&diagnostics, report)).collect();
        let open = diagnostics.iter().any(is_left_open);
        diagnostics.extend(new.into_iter().map(|report| made_here(report, open)));
    }
    let kept = proof != Proof::Needed || !has_errors(&diagnostics);
    (kept.then_some(Lowered { program, target, any_size }), diagnostics)
}

/// The same, unless limits that show on the first rank make a large program wrong: they come at once then. What the
/// target lacks is as severe as `capacity` says.
pub fn lower_within(
    request: &Request<'_>,
    capacity: Capacity,
) -> (Option<Lowered>, Vec<Diagnostic>) {
    let early = early(request, capacity);
    if early.is_large {
        return (None, early.and(Vec::new(), false));
    }
    let (lowered, found) = lower_program(request);
    let found = early.and(capacity.grade_lacking(found), lowered.is_some());
    (lowered, found)
}

/// All reports about a program, including those about what the target has no room for, and the program in its final
/// form, if it has one.
pub fn check_program(
    request: &Request<'_>,
    capacity: Capacity,
) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let early = early(request, capacity);
    if early.is_large {
        return (None, early.and(Vec::new(), false));
    }
    let (lowered, found) = lower_program(request);
    let mut found = capacity.grade_lacking(found);
    found.extend(lowered.iter().flat_map(|lowered| check_limits(lowered, capacity)));
    let found = early.and(found, lowered.is_some());
    (lowered.map(|lowered| lowered.program), found)
}

fn elaborated(
    unit: &program::Unit,
    program: program::ProgramId,
    settings: &Settings,
    interrupt: &Interrupt,
) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let mut elaborating = phase("elaborate", &unit.programs[program].name);
    let done = elaborate::elaborate(unit, program, settings, interrupt);
    if let Some(program) = &done.0 {
        elaborating.count("ranks", || program.ranks.len() as u64);
        elaborating.count("operations", || operations(program));
    }
    done
}

/// The program after the passes of a target.
fn run_passes(target: &Target, program: ir::Program) -> ir::Program {
    let mut passing = phase("passes", "");
    let program = (target.passes)(program);
    passing.count("operations", || operations(&program));
    program
}

/// How many operations all ranks have.
fn operations(program: &ir::Program) -> u64 {
    program.all_ops().count() as u64
}

/// Instead of what a program that is not built does wrong, the pipelines that are likely to be the reason. Those of a
/// program that is built are reported with the other limits.
fn caused(program: &ir::Program, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if !has_errors(&found) {
        return found;
    }
    let causes = limits::in_pipelines(program);
    if causes.is_empty() { found } else { causes }
}

/// Whether this is reported already: what is not proved of a program is not proved of the result of the passes either,
/// and for launches of different sizes, one pair of accesses is named of many.
fn is_told(told: &[Diagnostic], report: &Diagnostic) -> bool {
    told.iter().any(|one| {
        (one.code, &one.message, &one.primary) == (report.code, &report.message, &report.primary)
            || one.code == report.code && report.code == Code::W0503
    })
}

/// Notes that a finding appeared only after the passes: it is not the author's mistake, and if only that form of the
/// program is too large for a proof, there is no mistake at all. With `open`, the checks of the program as written have
/// left something open, so it may be the author's mistake all the same.
fn made_here(report: Diagnostic, open: bool) -> Diagnostic {
    let note = match (is_left_open(&report), open) {
        (_, true) => {
            "this is about the program after the compiler's passes; for the program as written, it was left open"
        }
        (true, false) => {
            "this is about the program after the compiler's passes; for the program as written it is proved"
        }
        (false, false) => {
            "the compiler's passes introduced this; it is not in the program as written: please report it"
        }
    };
    report.note(note)
}

/// What the target cannot do for a lowered program.
#[must_use]
pub fn check_limits(lowered: &Lowered, capacity: Capacity) -> Vec<Diagnostic> {
    lowered.target.check_limits(&lowered.program, capacity)
}

/// Checks a lowered program against its target and writes its plan, rank by rank, so that no two ranks' copies have to
/// be in memory at once. If there are errors among the reports, what was written must be discarded. The sizes in the
/// outcome are those that the plan states.
///
/// # Errors
/// Those of `out`; and [`io::ErrorKind::InvalidInput`] if the program was lowered for something else than plans.
pub fn write_plan(
    lowered: Lowered,
    capacity: Capacity,
    out: &mut impl io::Write,
) -> io::Result<limits::Outcome> {
    if !lowered.target.is_plan() {
        let why = format!("a program for `{}` is no plan", lowered.target.word);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut writing = phase("write the plan", &lowered.program.options.name);
    writing.count("operations", || operations(&lowered.program));
    let mut program = lowered.program;
    let mut checker = limits::Checker::new(&program, capacity.limits());
    write::head(&program, out)?;
    for id in program.ranks.ids() {
        let rank = replicate::rank(&program, id);
        checker.rank(id, &rank);
        write::rank(id, &rank, out)?;
    }
    let outcome = checker.finish();
    program.options.min_message_size = Some(outcome.min_message_size);
    program.options.max_message_size = Some(outcome.max_message_size);
    write::tail(&program, out)?;
    Ok(limits::Outcome {
        max_message_size: message::in_plan(&program, outcome.max_message_size),
        diagnostics: capacity.grade(outcome.diagnostics),
        ..outcome
    })
}

/// The map of a lowered program, to be bound to its plan.
#[must_use]
pub fn map(lowered: &Lowered, sources: &SourceMap) -> Map {
    Map::trace(&lowered.program, sources)
}

/// The kernels of a lowered program, if its target can run it and writing was not interrupted, and the reports about it;
/// none if it was lowered for plans. `name` is the name of the main file, without an extension.
#[must_use]
pub fn write_kernels(
    lowered: &Lowered,
    capacity: Capacity,
    name: &str,
    sources: &SourceMap,
    interrupt: &Interrupt,
) -> (Option<KernelFiles>, Vec<Diagnostic>) {
    let Writer::Kernels(writer) = &lowered.target.writer else { return (None, Vec::new()) };
    let mut writing = phase("write kernels", name);
    writing.count("operations", || operations(&lowered.program));
    let program = &replicate::replicate(lowered.program.clone());
    let found = (writer.limits)(program, capacity);
    if has_errors(&found) {
        return (None, found);
    }
    let any_size = lowered.any_size;
    ((writer.write)(&KernelJob { program, any_size, name, sources, interrupt }), found)
}

/// Checks a plan, whoever made it. Arguments of its collective that are not
/// `known` follow from the sizes of its buffers.
#[must_use]
pub fn verify(
    file: FileId,
    text: &str,
    known: &Known,
    capacity: Capacity,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    verified(file, text, known, capacity, interrupt).1
}

/// The same, and the plan's program with what its collective promises, if it can be read.
#[must_use]
pub fn verified(
    file: FileId,
    text: &str,
    known: &Known,
    capacity: Capacity,
    interrupt: &Interrupt,
) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let (program, found) = judged(file, text, known, capacity, interrupt);
    (program, found.into_iter().map(|report| report.in_plan(file)).collect())
}

fn judged(
    file: FileId,
    text: &str,
    known: &Known,
    capacity: Capacity,
    interrupt: &Interrupt,
) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let read::Read { program, mut diagnostics, lists } = read_only(file, text);
    let Some(mut program) = program.filter(|_| !has_errors(&diagnostics)) else {
        return (None, diagnostics);
    };
    known.mark(&mut program);
    let mut found = Vec::new();
    match contract::add(&mut program, known, interrupt) {
        Ok(undetermined) => {
            let checking = phase("check the plan", "");
            let checked = check::check(&program, interrupt);
            drop(checking);
            found.extend(contract::choose(&mut program, &undetermined, checked, interrupt));
            found.extend(undetermined.told(&program));
            found.extend(contract::promises_nothing(&program));
        }
        Err(mut why) => {
            let sharing = unsolved::share(&mut program, &mut why);
            found.push(*why);
            found.extend(sharing.graded(check::check(&program, interrupt)));
        }
    }
    diagnostics.extend(found.into_iter().map(acceptable));
    diagnostics.extend(check::written_inputs(&program));
    let limits = target::PLAN.check_limits(&program, capacity);
    // If too much is used, too much is also listed: that is one mistake.
    let told = |list: &Diagnostic| limits.iter().any(|report| report.code == list.code);
    let lists = lists.into_iter().filter(|list| !told(list)).collect();
    diagnostics.extend(capacity.grade(lists));
    diagnostics.extend(limits);
    (Some(program), diagnostics)
}

/// Adds how to accept something that may be intended, since a plan cannot say so.
fn acceptable(report: Diagnostic) -> Diagnostic {
    if report.code != Code::E0605 {
        return report;
    }
    report.help("if this is intended, `--allow shared` accepts it, and so does the map of a program with `#[allow(shared)]`")
}

/// A plan's program, without what its collective promises.
fn read_only(file: FileId, text: &str) -> read::Read {
    let mut reading = phase("read the plan", "");
    let done = read::read_with_lists(file, text);
    reading.count("bytes", || text.len() as u64);
    if let Some(program) = &done.program {
        reading.count("operations", || operations(program));
    }
    done
}

/// Reads a plan, whoever made it, and what its collective promises.
#[must_use]
pub fn read_plan(file: FileId, text: &str) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let (program, mut diagnostics) = read::read(file, text);
    let program = program.map(|mut program| {
        let added = contract::add(&mut program, &Known::default(), &Interrupt::default());
        diagnostics.extend(added.err().map(|why| *why));
        program
    });
    (program, diagnostics)
}

/// A lowered program with all its copies, as it is run.
#[must_use]
pub fn runnable(program: &ir::Program) -> ir::Program {
    replicate::replicate(program.clone())
}

/// Whether a program whose checks were made and found this is proved to be correct: nothing is wrong, and no check was
/// left out.
#[must_use]
pub fn is_proved(diagnostics: &[Diagnostic]) -> bool {
    !has_errors(diagnostics) && !diagnostics.iter().any(is_left_open)
}

/// Whether a report says that something was too large to be checked in full.
fn is_left_open(report: &Diagnostic) -> bool {
    matches!(report.code, Code::W0501 | Code::W0502)
}

/// Whether a report is an error.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|report| report.severity == Severity::Error)
}

#[cfg(test)]
mod tests {
    use super::made_here;
    use crate::diagnostic::{Code, Diagnostic};

    #[test]
    fn what_was_left_open_is_not_blamed_on_the_passes() {
        for (code, open, text) in [
            (Code::E0601, false, "please report it"),
            (Code::E0601, true, "it was left open"),
            (Code::W0501, false, "it is proved"),
            (Code::W0502, true, "it was left open"),
        ] {
            let report = made_here(Diagnostic::without_place(code, "m"), open);
            assert!(report.notes.iter().any(|note| note.ends_with(text)), "{:?}", report.notes);
        }
    }
}
