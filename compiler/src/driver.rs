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
mod goal;
mod idle;
mod in_place;
mod namesake;
mod scheduled;
mod swap;
mod unsolved;

use crate::check::{self, limits};
use crate::cuda::{self, Network};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::elaborate::{self, Settings};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::optimize::{self, Stage, replicate};
use crate::phase::phase;
use crate::plan::map::Map;
use crate::plan::{message, read, write};
use crate::resolve::{self, program};
use crate::source::{FileId, SourceMap};
pub use analysis::{MeasuredBandwidth, analyze, measure_bandwidth};
pub use completed::{
    CompletedImport, CompletedProgram, CompletionError, CompletionGoal, UnfinishedProgram,
    complete_program,
};
pub use contract::{Known, Shared};
pub use decompile::{Source, decompile};
pub use diff::{Side, diff};
pub(crate) use early::first_codes;
pub use early::{Early, early};
pub use goal::Goal;
pub use scheduled::{
    PackedText, ScheduledFailure, write_packed_allreduce, write_packed_program,
    write_scheduled_declared, write_scheduled_packets, write_scheduled_program,
};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// What a program is checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Thread blocks that the GPU runs at once.
    pub sms: u32,
    /// How severe it is if the target cannot do something: an error, except in measurements.
    pub worst: Severity,
}

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

/// A program in the final form of its operations, about which the requested proof is known. Only [`lower`] makes
/// one, so that nothing is written that has not gone through the checks, or was explicitly exempted from them. The
/// copies that `instances` requests are not made yet.
#[derive(Clone, Debug)]
pub struct Lowered {
    program: ir::Program,
    /// Whether launches may follow each other whatever the sizes of their messages.
    any_size: bool,
}

impl Lowered {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &ir::Program {
        &self.program
    }

    /// Whether it is proved that launches may follow each other whatever the sizes of their messages.
    #[must_use]
    pub fn any_size(&self) -> bool {
        self.any_size
    }
}

/// A program in the form from which kernels are written; otherwise like [`Lowered`]. Only
/// [`lower_to_kernels`] and [`lower_to_nvshmem`] make one.
#[derive(Clone, Debug)]
pub struct Kernels {
    program: ir::Program,
    network: Network,
    /// Whether launches may follow each other whatever the sizes of their messages.
    any_size: bool,
    /// Whether they are to be a native algorithm of MSCCL++.
    is_native: bool,
}

impl Kernels {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &ir::Program {
        &self.program
    }

    /// What maps the memory of other ranks; none where whoever creates the kernels has to map it all, by any means.
    fn mapping(&self) -> Option<limits::Mapping> {
        match (self.network, self.is_native) {
            (_, true) => Some(limits::Mapping::Communicator),
            (Network::Nvshmem, false) => Some(limits::Mapping::Nvshmem),
            (Network::Mapped, false) => None,
        }
    }
}

/// From a resolved program to the final form of its operations, checked twice:
/// as its author wrote it, and after the passes.
pub fn lower(
    unit: &program::Unit,
    program: program::ProgramId,
    settings: &Settings,
    proof: Proof,
    interrupt: &Interrupt,
) -> (Option<Lowered>, Vec<Diagnostic>) {
    let passes = |program| optimize::optimize(program, Stage::Sync);
    let form = Form { passes: &passes, is_plan: true };
    let (program, diagnostics) = passed(unit, program, settings, (proof, form), interrupt);
    (program.map(|Passed { program, any_size }| Lowered { program, any_size }), diagnostics)
}

/// The same for standalone kernels, which have other passes.
pub fn lower_to_kernels(
    unit: &program::Unit,
    program: program::ProgramId,
    settings: &Settings,
    proof: Proof,
    interrupt: &Interrupt,
) -> (Option<Kernels>, Vec<Diagnostic>) {
    let form = Form { passes: &optimize::for_kernels, is_plan: false };
    let (program, diagnostics) = passed(unit, program, settings, (proof, form), interrupt);
    (program.map(|passed| passed.kernels(Network::Mapped)), diagnostics)
}

/// The same for kernels whose ports use NVSHMEM.
pub fn lower_to_nvshmem(
    unit: &program::Unit,
    program: program::ProgramId,
    settings: &Settings,
    proof: Proof,
    interrupt: &Interrupt,
) -> (Option<Kernels>, Vec<Diagnostic>) {
    let form = Form { passes: &optimize::for_networked_kernels, is_plan: false };
    let (program, diagnostics) = passed(unit, program, settings, (proof, form), interrupt);
    (program.map(|passed| passed.kernels(Network::Nvshmem)), diagnostics)
}

/// The same for kernels that are to be a native algorithm of MSCCL++.
pub fn lower_to_native(
    unit: &program::Unit,
    program: program::ProgramId,
    settings: &Settings,
    proof: Proof,
    interrupt: &Interrupt,
) -> (Option<Kernels>, Vec<Diagnostic>) {
    let (kernels, diagnostics) = lower_to_kernels(unit, program, settings, proof, interrupt);
    (kernels.map(|kernels| Kernels { is_native: true, ..kernels }), diagnostics)
}

/// What a program is lowered to.
struct Form<'p> {
    passes: &'p dyn Fn(ir::Program) -> ir::Program,
    /// Whether it is a plan, for which the executor's limits count.
    is_plan: bool,
}

/// A program after the passes.
struct Passed {
    program: ir::Program,
    /// Whether it is proved that launches may follow each other whatever the sizes of their messages.
    any_size: bool,
}

impl Passed {
    fn kernels(self, network: Network) -> Kernels {
        let Passed { program, any_size } = self;
        Kernels { program, network, any_size, is_native: false }
    }
}

fn passed(
    unit: &program::Unit,
    program: program::ProgramId,
    settings: &Settings,
    (proof, Form { passes, is_plan }): (Proof, Form<'_>),
    interrupt: &Interrupt,
) -> (Option<Passed>, Vec<Diagnostic>) {
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
        let found = if is_plan {
            found
        } else {
            doubled::offer_double_scratch(&elaborated, found, interrupt)
        };
        let is_refused = is_plan && proof == Proof::Needed;
        diagnostics.extend(if is_refused { caused(&elaborated, found) } else { found });
    }
    let sound = !has_errors(&diagnostics);
    if !sound && proof == Proof::Needed {
        if is_plan && !interrupt.is_set() {
            // What a statement asks of the executor in vain does not depend on what else is wrong.
            diagnostics.extend(limits::in_transfers(&passed_through(passes, elaborated)));
        }
        return (None, diagnostics);
    }
    let program = passed_through(passes, elaborated);
    if !is_plan && sound {
        let found = check::calls::told(&program.origins, check::machine::check(&program));
        diagnostics.extend(found.into_iter().map(|report| {
            report.note(
                "in kernels of this target ports are memory channels; `--target nvshmem` has ports",
            )
        }));
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
    (kept.then_some(Passed { program, any_size }), diagnostics)
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

fn passed_through(
    passes: &dyn Fn(ir::Program) -> ir::Program,
    program: ir::Program,
) -> ir::Program {
    let mut passing = phase("passes", "");
    let program = passes(program);
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
pub fn limits(lowered: &Lowered, target: Target) -> Vec<Diagnostic> {
    limits_of(&lowered.program, target)
}

fn limits_of(program: &ir::Program, target: Target) -> Vec<Diagnostic> {
    let rank_of = |id| replicate::rank(program, id);
    let found = limits::check(program, &mut |id| Cow::Owned(rank_of(id)), &target.limits());
    target.graded(found)
}

/// Checks a lowered program against its target and writes its plan, rank by rank, so that no two ranks' copies have to
/// be in memory at once. If there are errors among the reports, what was written must be discarded. The sizes in the
/// outcome are those that the plan states.
///
/// # Errors
/// Those of `out`.
pub fn write_plan(
    lowered: Lowered,
    target: Target,
    out: &mut impl io::Write,
) -> io::Result<limits::Outcome> {
    let mut writing = phase("write the plan", &lowered.program.options.name);
    writing.count("operations", || operations(&lowered.program));
    let mut program = lowered.program;
    let mut checker = limits::Checker::new(&program, target.limits());
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
        diagnostics: target.graded(outcome.diagnostics),
        ..outcome
    })
}

/// The map of a lowered program, to be bound to its plan.
#[must_use]
pub fn map(lowered: &Lowered, sources: &SourceMap) -> Map {
    Map::trace(&lowered.program, sources)
}

/// Reports the limits of kernels that a lowered program exceeds.
#[must_use]
pub fn kernel_limits(kernels: &Kernels, target: Target) -> Vec<Diagnostic> {
    exceeded(kernels, &replicate::replicate(kernels.program.clone()), target)
}

/// The same, of the program with all its copies.
fn exceeded(kernels: &Kernels, program: &ir::Program, target: Target) -> Vec<Diagnostic> {
    let mut found = target.graded(cuda::limits::check(program, kernels.network, target.sms));
    found.extend(
        kernels.mapping().into_iter().flat_map(|mapping| limits::unmapped(program, mapping)),
    );
    found.extend(cuda::mscclpp::lacking(program).filter(|_| kernels.is_native));
    found
}

/// The CUDA source of a lowered program, if its target can run it and writing was not interrupted, and the reports
/// about it. `name` is the name of the file, without an extension.
#[must_use]
pub fn write_cuda(
    kernels: &Kernels,
    target: Target,
    name: &str,
    sources: &SourceMap,
    interrupt: &Interrupt,
) -> (Option<cuda::Files>, Vec<Diagnostic>) {
    let mut writing = phase("write kernels", name);
    writing.count("operations", || operations(&kernels.program));
    let program = replicate::replicate(kernels.program.clone());
    let found = exceeded(kernels, &program, target);
    let write = || {
        let Kernels { network, any_size, .. } = *kernels;
        cuda::write(&program, (network, any_size), name, sources, interrupt)
    };
    let files = if has_errors(&found) { None } else { write() };
    (files, found)
}

/// Kernels of [`lower_to_native`] as a native algorithm of MSCCL++, in addition to the files that [`write_cuda`] gives.
#[must_use]
pub fn write_native(kernels: &Kernels, files: &cuda::Files, name: &str) -> String {
    cuda::mscclpp::write(&kernels.program, files, name)
}

/// Checks a plan, whoever made it. Arguments of its collective that are not
/// `known` follow from the sizes of its buffers.
#[must_use]
pub fn verify(
    file: FileId,
    text: &str,
    known: &Known,
    target: Target,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    verified(file, text, known, target, interrupt).1
}

/// The same, and the plan's program with what its collective promises, if it can be read.
#[must_use]
pub fn verified(
    file: FileId,
    text: &str,
    known: &Known,
    target: Target,
    interrupt: &Interrupt,
) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let (program, found) = judged(file, text, known, target, interrupt);
    (program, found.into_iter().map(|report| report.in_plan(file)).collect())
}

fn judged(
    file: FileId,
    text: &str,
    known: &Known,
    target: Target,
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
    let limits = limits_of(&program, target);
    // If too much is used, too much is also listed: that is one mistake.
    let told = |list: &Diagnostic| limits.iter().any(|report| report.code == list.code);
    let lists = lists.into_iter().filter(|list| !told(list)).collect();
    diagnostics.extend(target.graded(lists));
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

impl Target {
    fn limits(self) -> limits::Limits {
        limits::Limits { max_blocks: self.sms }
    }

    /// The reports of a program that may not have been built, so that its limits are not known except for the
    /// operations that the target lacks: these reports are no more severe than this target's worst.
    #[must_use]
    pub fn graded_if_lacking(self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let (lacking, others): (Vec<_>, Vec<_>) =
            diagnostics.into_iter().partition(|report| report.code == Code::E0807);
        others.into_iter().chain(self.graded(lacking)).collect()
    }

    /// The reports, none of them more severe than this target's worst.
    fn graded(self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for report in &mut diagnostics {
            report.severity = report.severity.min(self.worst);
        }
        diagnostics
    }
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
