//! Frontiers as text and as JSON.

use super::PointProgram;
use compiler::machine::Machine;
use serde_json::{Value, json};
use std::fmt::Write as _;
use synth::bound::collective::{Attainment, SweepEnd};
use synth::frontier::{Frontier, FrontierPoint, PointStatus};
use synth::graph::RateUnit;
use synth::rational::Rational;

/// What is said of a frontier.
pub(super) struct FrontierAnswer<'a> {
    pub(super) name: &'a str,
    pub(super) machine: &'a Machine,
    pub(super) frontier: &'a Frontier,
    pub(super) max_chunks: u32,
    pub(super) programs: &'a [PointProgram],
}

impl FrontierAnswer<'_> {
    /// A table for people.
    pub(super) fn write_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.fill_text(&mut text);
        text
    }

    fn fill_text(&self, text: &mut String) -> std::fmt::Result {
        let FrontierAnswer { name, machine, frontier, .. } = self;
        let ranks = machine.graph.count_ranks();
        writeln!(text, "{name} on {} ({ranks} ranks)", machine.name)?;
        writeln!(
            text,
            "{:>7}{:>8}{:>8}{:>14}  status",
            "steps", "rounds", "chunks", "rounds/chunk"
        )?;
        for (point, program) in frontier.points.iter().zip(self.programs) {
            let size = point.schedule.measure();
            let (steps, rounds, chunks) = (size.steps, size.rounds, size.chunks);
            let time = self.write_rounds(point.time);
            let status = self.describe_status(point);
            writeln!(text, "{steps:>7}{rounds:>8}{chunks:>8}{time:>14}  {status}")?;
            if let Some(path) = &program.path {
                writeln!(text, "{:>7}program: {path}", "")?;
            }
            if let Some(why) = &program.failure {
                writeln!(text, "{:>7}no program: {why}", "")?;
            }
        }
        for note in self.list_notes() {
            writeln!(text, "note: {note}")?;
        }
        Ok(())
    }

    fn describe_status(&self, point: &FrontierPoint) -> String {
        match point.status {
            PointStatus::Optimal => "optimal (proved)".to_owned(),
            PointStatus::AboveBound { bound } => {
                let gap = point.time.checked_div(bound).map_or_else(
                    |_| String::new(),
                    |ratio| {
                        let percent = ratio.numerator() as f64 / ratio.denominator() as f64 - 1.0;
                        format!(", at most {:.1} % above the least", percent * 100.0)
                    },
                );
                format!("bound {}{gap}", self.write_rounds(bound))
            }
        }
    }

    /// What is not settled, and why.
    fn list_notes(&self) -> Vec<String> {
        let frontier = self.frontier;
        let mut notes = Vec::new();
        for count in frontier.step_counts.iter().filter(|count| !count.is_settled()) {
            let bound = self.write_rounds(count.bound);
            let steps = count.steps;
            let best = count.best.map_or_else(
                || "nothing was found".to_owned(),
                |best| format!("the best found takes {}", self.write_rounds(best)),
            );
            let why = if count.undecided.is_empty() {
                format!("none with up to {} pieces reaches it", self.max_chunks)
            } else {
                let points: Vec<String> = count
                    .undecided
                    .iter()
                    .take(3)
                    .map(|own| format!("({steps}, {}, {})", own.point.rounds, own.point.chunks))
                    .collect();
                format!("the search ended at its budget for {}", points.join(", "))
            };
            notes.push(format!("in {steps} steps: bound {bound}, {best}; {why}"));
        }
        let limit = self.write_rounds(frontier.bounds.bandwidth.value);
        match (frontier.bounds.sweep_end, frontier.bounds.bandwidth.attainment) {
            (SweepEnd::ReachedBandwidth, _) => {}
            (_, Attainment::LimitOnly) => notes.push(format!(
                "the frontier is infinite: with more steps the time comes as near as is wanted to {limit}"
            )),
            (SweepEnd::MaxSteps, _) => notes.push(format!(
                "more steps were not looked at, whose bound is {limit}; `--max-steps N`"
            )),
            (SweepEnd::OutOfBudget | SweepEnd::TooLarge, _) => notes.push(format!(
                "the bounds for some numbers of steps are only {limit}, that for any number: their programs are too large"
            )),
        }
        if frontier.is_complete {
            notes.push("complete: no other schedule is better in steps or in time".to_owned());
        }
        notes
    }

    /// One line of JSON.
    pub(super) fn write_json(&self) -> String {
        let FrontierAnswer { name, machine, frontier, .. } = self;
        let points: Vec<Value> = frontier
            .points
            .iter()
            .zip(self.programs)
            .map(|(point, program)| self.point_json(point, program))
            .collect();
        let object = json!({
            "collective": name,
            "topology": machine.name,
            "ranks": machine.graph.count_ranks(),
            "points": points,
            "complete": frontier.is_complete,
            "bandwidth_bound": self.write_rounds(frontier.bounds.bandwidth.value),
            "notes": self.list_notes(),
        });
        format!("{object}\n")
    }

    fn point_json(&self, point: &FrontierPoint, program: &PointProgram) -> Value {
        let size = point.schedule.measure();
        let (status, bound) = match point.status {
            PointStatus::Optimal => ("optimal", point.time),
            PointStatus::AboveBound { bound } => ("above bound", bound),
        };
        let moves: Vec<[u32; 4]> = point
            .schedule
            .moves
            .iter()
            .map(|own| [own.piece.0, own.from.0, own.to.0, own.step])
            .collect();
        json!({
            "steps": size.steps,
            "rounds": size.rounds,
            "chunks": size.chunks,
            "rounds_of_steps": point.schedule.rounds,
            "rounds_per_chunk": self.write_rounds(point.time),
            "bound": self.write_rounds(bound),
            "status": status,
            "program": program.path,
            "failure": program.failure,
            "moves": moves,
        })
    }

    /// A time in rounds. With rates, a round is the time in which a chunk passes the largest rate that divides all others.
    fn write_rounds(&self, time: Rational) -> String {
        let graph = &self.machine.graph;
        if graph.unit() == RateUnit::ChunksPerRound {
            return time.to_string();
        }
        let quantum = graph.quantum();
        time.checked_mul(quantum)
            .map_or_else(|_| format!("{time} * {quantum}"), |rounds| rounds.to_string())
    }
}
