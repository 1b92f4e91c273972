//! `cclc check`: everything except writing, for every program and every combination of parameters.

use super::args::{Check, Elaboration};
use super::folders::FileKind;
use super::load::{self, Loaded};
use super::report::Reporter;
use super::settings::{self, Given, Values};
use super::summary::{Summaries, Summary};
use super::{Failure, Status, build, fix, folders, sweep};
use compiler::diagnostic::Diagnostic;
use compiler::driver::{self, Proof, Request};
use compiler::elaborate::{Settings, evaluate_alone};
use compiler::interrupt::Interrupt;
use compiler::onset;
use compiler::phase::phase;
use compiler::resolve::program::{Program, ProgramId, Unit};
use compiler::trial::{self, Needless, Subject};

/// How often files are checked again after fixes: one fix may reveal what another one fixes.
const ROUNDS: usize = 10;

/// How many combinations for which a program is correct are checked again when fixes are tried.
const MOST_RIGHT: usize = 16;

/// Checks each file and, if requested, makes fixes and checks again.
pub(crate) fn run(check: &Check, reporter: &mut Reporter) -> Result<Status, Failure> {
    let mut remarks = files(check, reporter)?;
    for _ in 0..ROUNDS {
        if !check.fix || fix::make(reporter)? == 0 {
            break;
        }
        reporter.start_again();
        remarks = files(check, reporter)?;
    }
    for remark in remarks {
        reporter.remark(&remark);
    }
    Ok(reporter.finish())
}

/// Checks all programs of the files; returns what is said of them beside reports.
fn files(check: &Check, reporter: &mut Reporter) -> Result<Vec<String>, Failure> {
    let elaboration = &check.elaboration;
    let given = settings::given(reporter, elaboration)?;
    let paths = folders::expanded(reporter, &check.files, FileKind::Sources);
    let loaded: Vec<Loaded> =
        paths.iter().filter_map(|path| load::load(reporter, elaboration, path)).collect();
    names_are_known(reporter, elaboration, &given, &loaded)?;
    let interrupt = reporter.interrupt.clone();
    let mut remarks = Vec::new();
    for file in loaded.iter().filter(|file| !file.broken) {
        remarks.extend(check_topologies(reporter, file, &interrupt));
        for program in load::programs(&file.unit, elaboration) {
            remarks
                .extend(check_program(reporter, check, &given, &file.unit, program, &interrupt)?);
        }
    }
    reporter.is_stopped();
    Ok(remarks)
}

/// Evaluates the topologies of a file that need no arguments: those of programs are evaluated with theirs. Returns what
/// is said of a file that has nothing else.
fn check_topologies(reporter: &mut Reporter, file: &Loaded, interrupt: &Interrupt) -> Vec<String> {
    let mut remarks = Vec::new();
    for (topology, row) in file.unit.topologies.entries() {
        if row.span.file != file.file {
            continue;
        }
        let (machine, reports) = evaluate_alone(&file.unit, topology, interrupt);
        reporter.add_new(reports);
        if let Some(machine) = machine
            && file.unit.programs.is_empty()
        {
            remarks.push(format!("`{}`: {}", row.name, machine.describe_size()));
        }
    }
    remarks
}

/// Every `-D` and `--program` must mean something in some file; if a file is broken, it may be that one.
fn names_are_known(
    reporter: &Reporter,
    elaboration: &Elaboration,
    given: &Given,
    loaded: &[Loaded],
) -> Result<(), Failure> {
    if loaded.is_empty() || loaded.iter().any(|file| file.broken) {
        return Ok(());
    }
    let programs: Vec<&Program> = loaded
        .iter()
        .flat_map(|file| {
            load::programs(&file.unit, elaboration).into_iter().map(|id| &file.unit.programs[id])
        })
        .collect();
    if programs.is_empty() && elaboration.program.is_some() {
        let units: Vec<&Unit> = loaded.iter().map(|file| &file.unit).collect();
        return Err(load::unknown_program(&units, elaboration));
    }
    settings::check_names(&reporter.sources, given, &programs)
}

/// Checks one program; returns what is said of it beside reports.
fn check_program(
    reporter: &mut Reporter,
    check: &Check,
    given: &Given,
    unit: &Unit,
    program: ProgramId,
    interrupt: &Interrupt,
) -> Result<Vec<String>, Failure> {
    let elaboration = &check.elaboration;
    let sweep = sweep::sweep(&reporter.sources, given, &unit.programs[program], Values::Several)?;
    let (target, capacity) = (check.target, build::capacity(elaboration));
    let proof = build::proof(elaboration, false);
    let mut gathered = sweep::Gathered::default();
    let mut refusals = sweep::Gathered::default();
    let mut tally = sweep::Tally::default();
    let mut tried = Vec::new();
    let is_summarized = proof != Proof::Skipped && reporter.shows_summaries();
    let mut summaries = Summaries::default();
    for combination in sweep.combinations() {
        let _one = sweep.varies().then(|| phase("with", &combination.text));
        let settings = given.settings(elaboration, combination.parameters.clone());
        let request = Request { unit, program, settings: &settings, target, proof, interrupt };
        let (lowered, mut diagnostics) = driver::check_program(&request, capacity);
        if !sweep.varies() {
            onset::explain(&request, capacity, &mut diagnostics);
        }
        if interrupt.is_set() {
            break;
        }
        if let Some(why) = sweep.skips(&unit.programs[program], &diagnostics) {
            tally.skip(why);
            refusals.add(&combination, diagnostics);
            continue;
        }
        tally.taken += 1;
        if is_summarized {
            let is_proved = driver::is_proved(&diagnostics);
            summaries.add(if is_proved { lowered.as_ref().map(Summary::of) } else { None });
        }
        if check.analyze
            && let Some(program) = &lowered
        {
            diagnostics.extend(driver::analyze(program));
        }
        if driver::has_errors(&diagnostics) || check.needless || tried.len() < MOST_RIGHT {
            tried.push(settings);
        }
        gathered.add(&combination, diagnostics);
    }
    // If nothing is left to check, nothing is shown to be correct.
    let found = if tally.taken == 0 { refusals } else { gathered };
    let mut found = found.finish(sweep.varies());
    let look = |unit: &Unit, program: ProgramId, settings: &Settings, proof: Proof| {
        let request = Request { unit, program, settings, target, proof, interrupt };
        driver::check_program(&request, capacity).1
    };
    let sources = &reporter.sources;
    let subject = Subject { sources, unit, program, settings: &tried, check: &look, interrupt };
    trial::confirm(subject, &mut found);
    let correct = tally.taken > 0 && !driver::has_errors(&found);
    let (more, remark) = match check.needless && correct {
        true => needless(subject),
        false => (Vec::new(), None),
    };
    reporter.add(found);
    reporter.add(more);
    let name = &unit.programs[program].name;
    let mut remarks = Vec::from_iter(remark);
    if check.analyze && !given.has_machine() && unit.programs[program].machine.is_none() {
        remarks.push(format!(
            "`{name}` names no machine, so that there is nothing to analyze: `--topology NAME`"
        ));
    }
    let is_done = correct && !interrupt.is_set();
    let summary = if is_done { summaries.of_all() } else { None };
    match (summary, sweep.varies()) {
        (None, false) => {}
        (None, true) => remarks.push(format!("`{name}`: {}", tally.text("checked"))),
        (Some(summary), false) => {
            let (ranks, facts) = (summary.ranks(), summary.text(target.is_plan(), false));
            remarks.push(format!("`{name}`: proved for {ranks}: {facts}"));
        }
        (Some(summary), true) => {
            let given = sweep.given(&elaboration.define).join(", ");
            let (tally, facts) = (tally.text("checked"), summary.text(target.is_plan(), true));
            remarks.push(format!("`{name}`: proved for {given}: {tally}; {facts}"));
        }
    }
    Ok(remarks)
}

/// What a correct program can do without, and a remark about what was tried.
fn needless(subject: Subject<'_>) -> (Vec<Diagnostic>, Option<String>) {
    let name = &subject.unit.programs[subject.program].name;
    let Some(Needless { found, exchanges, untried }) = trial::needless(subject) else {
        let why =
            "nothing is promised of its result, so nothing shows which synchronization it needs";
        return (Vec::new(), Some(format!("`{name}`: {why}")));
    };
    let untried = match untried {
        0 => String::new(),
        _ => format!("; {untried} were not tried, as that would take too long: try fewer ranks"),
    };
    let changed = found.len();
    let remark = format!(
        "`{name}`: {changed} of {exchanges} synchronizations can be removed or relaxed{untried}"
    );
    (found, Some(remark))
}
