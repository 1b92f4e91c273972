//! `cclc run`: runs a program or a plan on this machine and reports the result.

use super::args::{Number, Reduction, Run};
use super::limits;
use super::report::Reporter;
use super::{Failure, Status, build, files, output, settings, verify};
use compiler::bytes;
use compiler::cuda::launch::Elements;
use compiler::diagnostic::log::escape_json;
use compiler::diagnostic::{Code, Diagnostic, Severity};
use compiler::driver::{self, Known};
use compiler::emulate::{self, Element, MOST_STEPS, Outcome, Settings, TooLarge, Trial};
use compiler::ir::{Program, Rank, ReduceOp};
use compiler::target::{Capacity, PLAN, Target};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run may take if no limit is given.
const USUAL_TIME: Duration = Duration::from_secs(60);

/// The result of a run.
struct Done {
    /// How many schedules gave the right result.
    right: u64,
    /// How long all schedules took, including the wrong one.
    time: Duration,
}

/// Runs one program.
pub(crate) fn run(run: &Run, reporter: &mut Reporter) -> Result<Status, Failure> {
    let max_bytes = settings::bytes(reporter, "--max-memory", &run.max_memory)?;
    let Some(program) = program(run, reporter)? else {
        return Ok(reporter.finish().max(Status::Errors));
    };
    kernels_accept(run, &program)?;
    let program = match run.op {
        Some(op) => emulate::with_reduction(program, reduction(op)),
        None => program,
    };
    let settings = Settings {
        chunk_bytes: chunk_bytes(run, reporter, &program)?,
        element: element(run.number),
        launches: run.launches,
        max_bytes,
        entries: target(run).count_handled_entries(&program),
        inexact: run.inexact,
    };
    let sizes = Arc::clone(&settings.chunk_bytes);
    let mut trial = Trial::new(&program, settings).map_err(|why| too_large(run, why))?;
    let done = try_schedules(run, reporter, &mut trial);
    tell(run, reporter, &program, &sizes, &done)?;
    Ok(reporter.finish())
}

/// Refuses what a program's kernels would refuse at their launch.
fn kernels_accept(run: &Run, program: &Program) -> Result<(), Failure> {
    let op = run.op.map_or(program.collective.op, reduction);
    let elements = Elements {
        bytes: element(run.number).bytes() as u32,
        is_float: matches!(run.number, Number::F32 | Number::F16 | Number::Bf16),
    };
    let Some(why) = target(run).refuse_launch(program, elements, op) else { return Ok(()) };
    let (kind, op) = (name(run.number), op.word());
    Err(Failure::Usage(format!("the kernels refuse `--type {kind}` with `--op {op}`: {why}")))
}

/// The program to run; none if there were errors, which are then in `reporter`.
fn program(run: &Run, reporter: &mut Reporter) -> Result<Option<Program>, Failure> {
    if is_plan(run) {
        return plan(run, reporter);
    }
    let proof = build::proof(&run.elaboration, run.unproved);
    let found = build::lowered(reporter, &run.elaboration, proof, &run.file, run.target)?;
    let Some((input, lowered)) = found else { return Ok(None) };
    let runs = input.fits(reporter, &lowered) || run.unproved;
    Ok(runs.then(|| driver::runnable(lowered.program())))
}

/// What the program was compiled for: a plan is one already.
fn target(run: &Run) -> &'static Target {
    if is_plan(run) { &PLAN } else { run.target }
}

fn is_plan(run: &Run) -> bool {
    files::ends_in(&run.file, "json")
}

fn plan(run: &Run, reporter: &mut Reporter) -> Result<Option<Program>, Failure> {
    settings::only_plans(&run.elaboration)?;
    let file = match files::plan(
        &mut reporter.sources,
        &run.file,
        reporter.limits.plan_bytes(),
        &reporter.interrupt,
    ) {
        Ok(file) => file,
        Err(why) => {
            reporter.unreadable(&run.file, &why);
            return Ok(None);
        }
    };
    let given = settings::arguments(reporter, &run.elaboration.define)?;
    let known = Known { given, shared: reporter.shared(), ..Known::default() };
    let capacity = Capacity { sms: run.elaboration.sms, worst: Severity::Error };
    let (program, found) = verify::plan(reporter, &run.file, file, known, capacity);
    if reporter.is_stopped() {
        return Ok(None);
    }
    let broken = reporter.add(found);
    Ok(program.filter(|_| !broken || run.unproved))
}

/// The size of a chunk for each of the requested messages.
fn chunk_bytes(
    run: &Run,
    reporter: &mut Reporter,
    program: &Program,
) -> Result<Arc<[u64]>, Failure> {
    let least = program.options.min_message_size.unwrap_or(0);
    let most = program.options.max_message_size.unwrap_or(u64::MAX);
    if run.sizes.is_empty() {
        return Ok([emulate::choose_chunk_bytes(program)].into());
    }
    let chunks = u64::from(program.message_chunks());
    let requested = run.sizes.iter().map(|text| {
        let bytes = settings::bytes(reporter, "--size", text)?;
        let rounded = emulate::round_chunk_bytes(program, bytes);
        if rounded.saturating_mul(chunks) < least || bytes > most {
            return Err(not_served(text, least, most));
        }
        Ok(rounded)
    });
    requested.collect()
}

/// Runs one schedule after another until one goes wrong.
fn try_schedules(run: &Run, reporter: &mut Reporter, trial: &mut Trial<'_>) -> Done {
    let limit = reporter.limits.time_limit.unwrap_or(USUAL_TIME);
    let (started, interrupt) = (Instant::now(), limits::interrupt(Some(limit)));
    let mut right = 0;
    for seed in (0..run.schedules).map(|more| run.seed.wrapping_add(more)) {
        let outcome = trial.run(seed, &interrupt);
        match &outcome {
            Outcome::Right => right += 1,
            Outcome::Interrupted => {
                reporter.add(vec![out_of_time(limit, right, run.schedules)]);
                break;
            }
            Outcome::Wrong(_)
            | Outcome::Early { .. }
            | Outcome::Stuck(_)
            | Outcome::Outside(..) => {
                let report = trial.report(seed, &outcome);
                reporter.add(report.map(|report| of_seed(report, seed)).into_iter().collect());
                break;
            }
        }
    }
    Done { right, time: started.elapsed() }
}

fn of_seed(report: Diagnostic, seed: u64) -> Diagnostic {
    report.note(format!("`--seed {seed} --schedules 1` runs this schedule again"))
}

/// Prints what was run and how it went, to standard output.
fn tell(
    run: &Run,
    reporter: &Reporter,
    program: &Program,
    sizes: &[u64],
    done: &Done,
) -> Result<(), Failure> {
    let all = done.right == run.schedules;
    let chunks = u64::from(program.message_chunks());
    let promised = program.ranks.iter().any(Rank::promises_anything);
    let (number, op) = (name(run.number), program.collective.op.word());
    if reporter.is_for_machines() {
        let line = json!({
            "version": 1,
            "program": program.options.name,
            "collective": program.collective.name,
            "ranks": program.ranks.len(),
            "message_bytes": sizes.first().map(|chunk_bytes| chunks * chunk_bytes),
            "chunk_bytes": sizes.first(),
            "sizes": sizes.iter().map(|bytes| json!({
                "message_bytes": chunks * bytes,
                "chunk_bytes": bytes,
            })).collect::<Vec<_>>(),
            "type": number,
            "op": op,
            "inexact": run.inexact,
            "seed": run.seed,
            "launches": run.launches,
            "schedules": run.schedules,
            "right": done.right,
            "promised": promised,
            "seconds": done.time.as_secs_f64(),
        });
        return output::to_stdout(escape_json(&format!("{line}\n")).as_bytes());
    }
    let what = format!(
        "{}: {} on {}, {} in {} of {}, {number}, {op}{}",
        program.options.name,
        program.collective.name,
        counted(program.ranks.len() as u64, "rank"),
        either(sizes.iter().map(|chunk_bytes| chunks * chunk_bytes)),
        counted(chunks, "chunk"),
        either(sizes.iter().copied()),
        if run.inexact { ", inexact" } else { "" },
    );
    let how = match (all, promised) {
        (true, true) => "right",
        (true, false) => "finished, and nothing is promised about its result",
        (false, _) => "failed",
    };
    let launches = counted(u64::from(run.launches), "launch");
    let tried = match run.schedules {
        1 if all => format!("one schedule of {launches}"),
        many if all => format!("{many} schedules of {launches}"),
        many => format!("after {} of {many} schedules of {launches}", done.right),
    };
    let seconds = done.time.as_secs_f64();
    output::show(&format!("{what}\n{how}: {tried}, in {seconds:.2} s\n"))
}

/// "1KiB or 64KiB"
fn either(sizes: impl Iterator<Item = u64>) -> String {
    sizes.map(bytes::text).collect::<Vec<_>>().join(" or ")
}

fn counted(count: u64, word: &str) -> String {
    match (count, word.ends_with("ch")) {
        (1, _) => format!("1 {word}"),
        (_, true) => format!("{count} {word}es"),
        (_, false) => format!("{count} {word}s"),
    }
}

fn element(number: Number) -> Element {
    match number {
        Number::F32 => Element::F32,
        Number::F16 => Element::F16,
        Number::Bf16 => Element::Bf16,
        Number::I32 => Element::I32,
        Number::U32 => Element::U32,
        Number::U8 => Element::U8,
    }
}

fn name(number: Number) -> &'static str {
    match number {
        Number::F32 => "f32",
        Number::F16 => "f16",
        Number::Bf16 => "bf16",
        Number::I32 => "i32",
        Number::U32 => "u32",
        Number::U8 => "u8",
    }
}

fn reduction(op: Reduction) -> ReduceOp {
    match op {
        Reduction::Sum => ReduceOp::Sum,
        Reduction::Min => ReduceOp::Min,
        Reduction::Max => ReduceOp::Max,
    }
}

fn out_of_time(limit: Duration, right: u64, schedules: u64) -> Diagnostic {
    let message = format!(
        "stopped after {} s: {right} of {schedules} schedules were run",
        limit.as_secs_f64()
    );
    Diagnostic::without_place(Code::E0903, message)
        .help("give it more time with `--time-limit`, or try fewer ranks, schedules or bytes")
}

fn not_served(text: &str, least: u64, most: u64) -> Failure {
    let serves = match (least, most) {
        (least, u64::MAX) => format!("of {} or more", bytes::text(least)),
        (0, most) => format!("up to {}", bytes::text(most)),
        (least, most) => format!("from {} to {}", bytes::text(least), bytes::text(most)),
    };
    Failure::Usage(format!("`--size {text}`: the program serves messages {serves}"))
}

fn too_large(run: &Run, why: TooLarge) -> Failure {
    let file = files::name(Path::new(&run.file));
    Failure::Usage(match why {
        TooLarge::Memory(bytes) => format!(
            "running `{file}` takes {} of memory, and `--max-memory` is {}; use a smaller `--size`, or \
             fewer ranks",
            bytes::text(bytes.checked_next_multiple_of(1 << 20).unwrap_or(bytes)),
            run.max_memory
        ),
        TooLarge::Steps => format!(
            "running `{file}` takes more than {MOST_STEPS} operations; use a smaller `--size`, or fewer ranks"
        ),
    })
}
