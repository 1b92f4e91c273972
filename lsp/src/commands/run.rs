//! Runs a program as `cclc run` does without options, with the editor's settings: on real numbers, in random schedules.

use super::source::{LoadedProgram, SourceSnapshot};
use compiler::bytes;
use compiler::cuda::launch::Elements;
use compiler::diagnostic::Diagnostic;
use compiler::driver::{self, Proof, Request};
use compiler::emulate::{self, Element, MOST_STEPS, Outcome, Settings, TooLarge, Trial};
use compiler::interrupt::Interrupt;
use compiler::ir::{Program, Rank};
use compiler::target::Target;
use serde_json::{Value, json};

/// How many schedules are tried.
const SCHEDULES: u64 = 16;

/// How many launches follow each other in a schedule.
const LAUNCHES: u32 = 3;

/// The most bytes of memory that a run may use: less than `cclc run` may, since an editor runs beside it.
const MAX_BYTES: u64 = 1 << 30;

/// The type of the numbers.
const ELEMENT: Element = Element::F32;

/// How the schedules went that were tried.
struct ScheduleTally {
    /// How many gave what is promised.
    right: u64,
    /// The report about the first one that did not.
    wrong: Option<Diagnostic>,
}

/// Runs a program; answers with the verdict: how many schedules were right, and the same in words.
pub(super) fn run_program(
    source: &SourceSnapshot,
    wanted: Option<&str>,
    interrupt: &Interrupt,
) -> Result<Value, String> {
    let loaded = source.load(wanted)?;
    let target = source.settings.target.run_form();
    let request = Request {
        unit: &loaded.unit,
        program: loaded.program,
        settings: &loaded.elaboration,
        target,
        proof: Proof::Needed,
        interrupt,
    };
    let (program, found) = driver::check_program(&request, source.settings.capacity());
    loaded.refuse_errors(&found, interrupt)?;
    let program = program.ok_or_else(|| format!("`{}` cannot be run", loaded.name()))?;
    let program = driver::runnable(&program);
    refuse_unlaunchable(target, &program)?;
    let chunk_bytes = emulate::choose_chunk_bytes(&program);
    let settings = Settings {
        chunk_bytes: [chunk_bytes].into(),
        element: ELEMENT,
        launches: LAUNCHES,
        max_bytes: MAX_BYTES,
        entries: target.count_handled_entries(&program),
        inexact: false,
    };
    let mut trial = Trial::new(&program, settings).map_err(|why| describe_size(&loaded, why))?;
    let tally = try_schedules(&mut trial, interrupt);
    let promised = program.ranks.iter().any(Rank::promises_anything);
    let message = chunk_bytes.saturating_mul(u64::from(program.message_chunks()));
    let text = format!(
        "`{}`: {}, with messages of {}",
        loaded.name(),
        describe_tally(&tally, promised),
        bytes::text(message)
    );
    Ok(json!({
        "program": loaded.name(),
        "right": tally.right,
        "schedules": SCHEDULES,
        "promised": promised,
        "text": match &tally.wrong {
            Some(report) => format!("{text}\n{}", describe_report(report)),
            None => text,
        },
    }))
}

/// Refuses what a program's kernels would refuse at their launch.
fn refuse_unlaunchable(target: &Target, program: &Program) -> Result<(), String> {
    let elements = Elements { bytes: ELEMENT.bytes() as u32, is_float: true };
    let why = target.refuse_launch(program, elements, program.collective.op);
    why.map_or(Ok(()), |why| Err(format!("the kernels refuse numbers of type `f32`: {why}")))
}

/// Runs one schedule after another until one goes wrong or the time is up.
fn try_schedules(trial: &mut Trial<'_>, interrupt: &Interrupt) -> ScheduleTally {
    let mut right = 0;
    for seed in 0..SCHEDULES {
        let outcome = trial.run(seed, interrupt);
        match &outcome {
            Outcome::Right => right += 1,
            Outcome::Interrupted => break,
            Outcome::Wrong(_)
            | Outcome::Early { .. }
            | Outcome::Stuck(_)
            | Outcome::Outside(..) => {
                return ScheduleTally { right, wrong: trial.report(seed, &outcome) };
            }
        }
    }
    ScheduleTally { right, wrong: None }
}

fn describe_tally(tally: &ScheduleTally, promised: bool) -> String {
    let all = format!("{SCHEDULES} schedules of {LAUNCHES} launches");
    if tally.wrong.is_some() {
        return format!("failed after {} of {all}", tally.right);
    }
    if tally.right < SCHEDULES {
        return format!("stopped, as the time was up, after {} of {all}", tally.right);
    }
    if promised {
        return format!("right in {all}");
    }
    format!("finished in {all}, and nothing is promised about its result")
}

fn describe_report(report: &Diagnostic) -> String {
    let notes: String = report.notes.iter().map(|note| format!("\nnote: {note}")).collect();
    format!("error[{}]: {}{notes}", report.code.id(), report.message)
}

fn describe_size(loaded: &LoadedProgram, why: TooLarge) -> String {
    let needs = match why {
        TooLarge::Memory(needed) => format!(
            "{} of memory, and the server uses at most {}",
            bytes::text(needed.checked_next_multiple_of(1 << 20).unwrap_or(needed)),
            bytes::text(MAX_BYTES)
        ),
        TooLarge::Steps => format!("more than {MOST_STEPS} operations"),
    };
    format!("running `{}` takes {needs}; `cclc run` has options for that", loaded.name())
}
