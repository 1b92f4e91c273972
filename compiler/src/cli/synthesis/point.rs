//! `--point`: whether there is a schedule of exactly so many steps, rounds and pieces.

use super::answer::{count_needed, describe_limit, list_moves, list_unit_values};
use super::files::{PointProgram, is_one_file, write_files};
use super::{Question, SynthesisFailure};
use crate::cli::proof::write_proof;
use crate::cli::report::Reporter;
use crate::cli::search_watch::SearchWatch;
use crate::cli::{Failure, Status, output};
use compiler::interrupt::Interrupt;
use serde_json::{Value, json};
use synth::bound::collective::BoundScope;
use synth::collective::Collective;
use synth::frontier::{FrontierPoint, PointSearch, PointStatus, PointVerdict, search_point};
use synth::rational::Rational;
use synth::schedule::SchedulePoint;

/// What is known about a point, and its program.
struct PointAnswer<'a> {
    question: &'a Question<'a>,
    search: &'a PointSearch,
    program: Option<PointProgram>,
    /// Why the search ended before it knew; none if nothing ended it.
    stop: Option<String>,
}

/// Searches for one schedule, writes its program, and prints what is known.
pub(super) fn answer_point(
    question: &Question<'_>,
    size: SchedulePoint,
    reporter: &mut Reporter,
) -> Result<Status, SynthesisFailure> {
    let watch = SearchWatch::begin(&reporter.interrupt, reporter.shows_progress());
    let request = question.read_request(&watch);
    let topology = &question.machine.graph;
    let search = search_point(topology, &question.asked.collective, size, &request)?;
    let stop = watch.find_stop();
    drop(watch);
    if let Some(path) = &question.args.answer.prove {
        write_proof(path, &search.bounds, reporter)?;
    }
    let interrupt = if stop.is_some() { Interrupt::default() } else { reporter.interrupt.clone() };
    let program = write_program(question, &search, &interrupt, reporter)?;
    let stop = stop.map(|stop| stop.to_string());
    let answer = PointAnswer { question, search: &search, program, stop };
    output::show(&if question.args.answer.json {
        answer.write_json()
    } else {
        answer.write_text()
    })?;
    let status = reporter.finish();
    let is_written = answer.program.as_ref().is_none_or(|program| program.failure.is_none());
    Ok(match search.verdict {
        PointVerdict::Found { .. } if is_written => status,
        PointVerdict::Found { .. } | PointVerdict::NotFound { .. } => status.max(Status::Files),
        PointVerdict::TooFewSteps { .. }
        | PointVerdict::BelowBound { .. }
        | PointVerdict::Impossible => status.max(Status::Impossible),
    })
}

fn write_program(
    question: &Question<'_>,
    search: &PointSearch,
    interrupt: &Interrupt,
    reporter: &Reporter,
) -> Result<Option<PointProgram>, Failure> {
    let PointVerdict::Found { schedule, status } = &search.verdict else { return Ok(None) };
    let Some(output) = question.find_output() else { return Ok(None) };
    let point = FrontierPoint {
        schedule: schedule.clone(),
        time: search.time,
        status: *status,
        separates_sums: false,
    };
    let texts = question.write_point(&point, &search.units, !is_one_file(output), interrupt);
    let mut programs = write_files(output, vec![Some(texts)], reporter)?;
    Ok(programs.pop().flatten())
}

impl PointAnswer<'_> {
    fn write_rounds(&self, time: Rational) -> String {
        let quantum = self.question.machine.graph.quantum();
        time.checked_mul(quantum)
            .map_or_else(|_| format!("{time} * {quantum}"), |rounds| rounds.to_string())
    }

    /// What is known, in a word for programs and in words for people.
    fn describe_verdict(&self) -> [String; 2] {
        let [word, text] = match &self.search.verdict {
            PointVerdict::Found { status: PointStatus::Optimal, .. } => {
                ["found", "found: optimal for so many steps (proved)"].map(str::to_owned)
            }
            PointVerdict::Found { status: PointStatus::AboveBound { bound }, .. } => [
                "found".to_owned(),
                format!("found; the bound for so many steps is {}", self.write_rounds(*bound)),
            ],
            PointVerdict::TooFewSteps { least } => [
                "too few steps".to_owned(),
                format!("impossible (proved): at least {}", count_needed(*least)),
            ],
            PointVerdict::BelowBound { bound, scope } => {
                let scope = match scope {
                    BoundScope::EverySchedule => "",
                    BoundScope::RootedSums => {
                        ", if each part of the buffer is summed up at one rank"
                    }
                };
                let bound = self.write_rounds(*bound);
                [
                    "below bound".to_owned(),
                    format!("impossible (proved): the bound for so many steps is {bound}{scope}"),
                ]
            }
            PointVerdict::Impossible => [
                "impossible".to_owned(),
                "impossible: the solver went through all schedules, and no certificate shows it"
                    .to_owned(),
            ],
            PointVerdict::NotFound { reached } => {
                let why = match (&self.stop, reached) {
                    (Some(stop), _) => stop.clone(),
                    (None, Some(reached)) => describe_limit(reached.limit).to_owned(),
                    (None, None) => "this engine does not look at all schedules".to_owned(),
                };
                ["not found".to_owned(), format!("not found: {why}")]
            }
        };
        [word, text]
    }

    fn write_text(&self) -> String {
        let Question { asked, machine, .. } = self.question;
        let SchedulePoint { steps, rounds, chunks } = self.search.point;
        let [_, verdict] = self.describe_verdict();
        let mut text = format!(
            "{} on {} ({} ranks)\n  ({steps}, {rounds}, {chunks}): rounds/chunk {}\n  {verdict}\n",
            asked.name,
            machine.name,
            machine.graph.count_ranks(),
            self.write_rounds(self.search.time)
        );
        let factor = self.search.bounds.factor;
        if factor > 1 {
            text.push_str(&format!("  each of its chunks stands for {factor}\n"));
        }
        if let Some(program) = &self.program {
            let line = match (&program.path, &program.failure) {
                (Some(path), _) => format!("  program: {path}\n"),
                (None, Some(why)) => format!("  no program: {why}\n"),
                (None, None) => String::new(),
            };
            text.push_str(&line);
        }
        text
    }

    fn write_json(&self) -> String {
        let Question { asked, machine, .. } = self.question;
        let SchedulePoint { steps, rounds, chunks } = self.search.point;
        let [verdict, text] = self.describe_verdict();
        let mut points = Vec::new();
        if let PointVerdict::Found { schedule, status } = &self.search.verdict {
            let (status, bound) = match status {
                PointStatus::Optimal => ("optimal", self.search.time),
                PointStatus::AboveBound { bound } => ("above bound", *bound),
            };
            points.push(json!({
                "steps": steps,
                "rounds": rounds,
                "chunks": chunks,
                "rounds_of_steps": schedule.rounds,
                "rounds_per_chunk": self.write_rounds(self.search.time),
                "bound": self.write_rounds(bound),
                "status": status,
                "program": self.program.as_ref().and_then(|program| program.path.as_ref()),
                "packets": self.program.as_ref().and_then(|program| program.packets.as_ref()),
                "failure": self.program.as_ref().and_then(|program| program.failure.as_ref()),
                "moves": list_moves(schedule),
            }));
        }
        let units = match self.search.bounds.collective {
            Collective::Known(_) => Value::Null,
            Collective::Demands(_) => list_unit_values(&self.search.units),
        };
        let object = json!({
            "collective": asked.name,
            "topology": machine.name,
            "ranks": machine.graph.count_ranks(),
            "point": [steps, rounds, u64::from(chunks)],
            "verdict": verdict,
            "notes": [text],
            "points": points,
            "units": units,
            "complete": !matches!(self.search.verdict, PointVerdict::NotFound { .. }),
        });
        format!("{object}\n")
    }
}
