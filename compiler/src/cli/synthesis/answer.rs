//! What was found, as text and as JSON.

use super::costs::CostTable;
use super::files::PointProgram;
use super::programs::count;
use super::search::Synthesis;
use compiler::machine::Machine;
use compiler::machine::listing::write_rate;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use synth::bound::collective::{Attainment, BoundScope, SweepEnd};
use synth::collective::{Collective, CollectiveKind};
use synth::frontier::{Frontier, FrontierPoint, PointStatus};
use synth::graph::{RateUnit, Vertex};
use synth::rational::Rational;
use synth::schedule::{MoveAction, SchedulePoint, StepSchedule, Unit};
use synth::steps::SolverLimit;
use synth::trees::{AllReducePacking, PackingEnd, TreeDirection, TreeSet, WeightedTree};

/// What is said of schedules.
pub(super) struct SynthesisAnswer<'a> {
    pub(super) name: &'a str,
    pub(super) machine: &'a Machine,
    pub(super) found: &'a Synthesis,
    pub(super) max_chunks: u32,
    /// The flags of the sketch, as they were given; empty without one.
    pub(super) sketch: &'a str,
    /// The programs of the points, and then that of the trees; none for what was not asked for.
    pub(super) programs: &'a [Option<PointProgram>],
}

impl SynthesisAnswer<'_> {
    /// A table for people.
    pub(super) fn write_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.fill_text(&mut text);
        text
    }

    fn describe_quantum(&self) -> String {
        let graph = &self.machine.graph;
        let rate = write_rate(graph.quantum(), graph.unit());
        match graph.unit() {
            RateUnit::ChunksPerRound => format!("a link of bandwidth {rate}"),
            RateUnit::BytesPerSecond => format!("a link of {rate}"),
        }
    }

    fn points(&self) -> &[FrontierPoint] {
        self.found.frontier.as_ref().map_or(&[], |frontier| &frontier.points)
    }

    fn fill_text(&self, text: &mut String) -> std::fmt::Result {
        let SynthesisAnswer { name, machine, sketch, .. } = self;
        let ranks = machine.graph.count_ranks();
        writeln!(text, "{name} on {} ({ranks} ranks)", machine.name)?;
        if !sketch.is_empty() {
            writeln!(text, "  with {sketch}")?;
        }
        writeln!(text, "  in a round {} carries one piece", self.describe_quantum())?;
        let mut programs = self.programs.iter();
        if !self.points().is_empty() {
            let time = if self.is_of_allreduce() { "rounds/buffer" } else { "rounds/chunk" };
            let [steps, rounds, chunks] = ["steps", "rounds", "chunks"];
            writeln!(text, "{steps:>7}{rounds:>8}{chunks:>8}{time:>14}  status")?;
        }
        for point in self.points() {
            let size = point.schedule.measure();
            let (steps, chunks) = (size.steps, size.chunks);
            let rounds = self.count_rounds(size);
            let time = self.write_rounds(point.time);
            let status = self.describe_status(point);
            writeln!(text, "{steps:>7}{rounds:>8}{chunks:>8}{time:>14}  {status}")?;
            write_program_line(programs.next().and_then(Option::as_ref), text)?;
        }
        if let Some(trees) = self.found.find_trees() {
            let (k, time) = (trees.k, self.write_rounds(trees.rho));
            let hops = count(trees.measure_depth().into(), "hop");
            let trees = count(k, "tree");
            writeln!(
                text,
                "{:>7}{:>8}{k:>8}{time:>14}  optimal (proved) as messages become long: {trees} for each root, paths of at most {hops}",
                "trees", ""
            )?;
            write_program_line(programs.next().and_then(Option::as_ref), text)?;
        }
        if let Some(Ok(packing)) = &self.found.allreduce {
            self.fill_allreduce(packing, text)?;
            write_program_line(programs.next().and_then(Option::as_ref), text)?;
        }
        if let Some(costs) = &self.found.costs {
            self.fill_costs(costs, text)?;
        }
        for note in self.list_notes() {
            writeln!(text, "note: {note}")?;
        }
        Ok(())
    }

    /// What trees of an AllReduce take, for the whole buffer.
    fn fill_allreduce(&self, packing: &AllReducePacking, text: &mut String) -> std::fmt::Result {
        let AllReducePacking { trees, end, bound, .. } = packing;
        let graph = &self.machine.graph;
        let [sums, copies] = [TreeDirection::ToRoot, TreeDirection::FromRoot]
            .map(|direction| trees.measure_depth(graph, direction));
        let status = match end {
            PackingEnd::BoundReached => "optimal (proved) as messages become long".to_owned(),
            PackingEnd::AboveBound | PackingEnd::OutOfBudget => {
                format!("bound {}", self.write_rounds(*bound))
            }
            PackingEnd::TooLarge => "a ReduceScatter and an AllGather".to_owned(),
        };
        let time = self.write_rounds(trees.rho);
        if self.points().is_empty() {
            writeln!(text, "{:>7}{:>8}{:>8}{:>14}  status", "", "", "pieces", "rounds/buffer")?;
        }
        writeln!(
            text,
            "{:>7}{:>8}{:>8}{time:>14}  {status}: {} pieces of the buffer, sums over at most {}, copies over at most {}",
            "trees",
            "",
            trees.k,
            trees.k,
            count(sums.into(), "hop"),
            count(copies.into(), "hop")
        )
    }

    /// A table of the times of all that was found, size by size.
    fn fill_costs(&self, costs: &CostTable, text: &mut String) -> std::fmt::Result {
        let mut titles: Vec<String> = Vec::new();
        for point in self.points() {
            let size = point.schedule.measure();
            titles.push(format!("({}, {}, {})", size.steps, self.count_rounds(size), size.chunks));
        }
        titles.extend(self.found.find_packed().map(|_| "trees".to_owned()));
        let cells = titles.iter().map(|title| format!("{title:>14} ")).collect::<String>();
        writeln!(text, "{}", format!("{:>14}{cells}", "time at size").trim_end())?;
        for (size, row) in costs.goal.sizes.iter().zip(&costs.rows) {
            let cells = row.times.iter().enumerate().map(|(index, time)| {
                let mark = if index == row.best { "*" } else { " " };
                format!("{:>14}{mark}", costs.goal.write_time(*time))
            });
            let line = format!("{:>14}{}", size.text, cells.collect::<String>());
            writeln!(text, "{}", line.trim_end())?;
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
        let mut notes = Vec::new();
        if let Some(frontier) = &self.found.frontier {
            self.note_frontier(frontier, &mut notes);
        }
        if let Some(stop) = self.found.stop {
            notes.push(format!("{stop}: this is what is known so far"));
        }
        notes.extend(self.found.long_trees.map(|hops| {
            format!("trees for long messages were left out, as some of their ways take {hops} hops")
        }));
        match &self.found.allreduce {
            None => {}
            Some(Ok(packing)) => {
                match packing.end {
                    PackingEnd::BoundReached | PackingEnd::AboveBound => {}
                    PackingEnd::OutOfBudget => {
                        notes.push("the search for trees ended at its budget".to_owned());
                    }
                    PackingEnd::TooLarge => notes.push(
                        "the machine is too large for trees of both halves together, and for their bound"
                            .to_owned(),
                    ),
                }
            }
            Some(Err(error)) => notes.push(format!("no trees for long messages: {error}")),
        }
        if let Some(Err(error)) = &self.found.trees {
            notes.push(format!("no trees for long messages: {error}"));
        }
        notes
    }

    fn note_frontier(&self, frontier: &Frontier, notes: &mut Vec<String>) {
        for count in frontier.step_counts.iter().filter(|count| !count.is_settled()) {
            let bound = self.write_rounds(count.bound);
            let steps = if count.steps == 1 {
                "1 step".to_owned()
            } else {
                format!("{} steps", count.steps)
            };
            let best = count.best.map_or_else(
                || "nothing was found".to_owned(),
                |best| format!("the best found takes {}", self.write_rounds(best)),
            );
            let points: Vec<String> = count
                .undecided
                .iter()
                .take(3)
                .map(|own| format!("({}, {}, {})", count.steps, own.point.rounds, own.point.chunks))
                .collect();
            let why = match count.undecided.first() {
                None => format!("none with {} is known to reach it", self.describe_pieces()),
                Some(first) => {
                    format!("{} for {}", describe_limit(first.reached.limit), points.join(", "))
                }
            };
            notes.push(format!("in {steps}: bound {bound}, {best}; {why}"));
        }
        if frontier.points.is_empty() {
            let least = frontier.bounds.steps.steps;
            notes.push(format!("at least {}", count_needed(least)));
        }
        let limit = self.write_rounds(frontier.bounds.bandwidth.value);
        let is_least =
            frontier.points.last().map(|point| point.time) == Some(frontier.bounds.bandwidth.value);
        match (frontier.bounds.sweep_end, frontier.bounds.bandwidth.attainment) {
            _ if is_least => {}
            (_, Attainment::LimitOnly) => notes.push(format!(
                "the frontier is infinite: with more steps the time comes as near as is wanted to {limit}"
            )),
            (SweepEnd::MaxSteps | SweepEnd::ReachedBandwidth, _) => notes.push(format!(
                "with more steps there may be faster ones: the bound for any number is {limit}"
            )),
            (SweepEnd::OutOfBudget | SweepEnd::TooLarge, _) => notes.push(format!(
                "for more steps the only bound is {limit}, that for any number: the programs for others are too large"
            )),
        }
        if frontier.bounds.bandwidth.scope == BoundScope::RootedSums {
            let found = if Self::is_allreduce(frontier) {
                "; the schedules are a ReduceScatter and then an AllGather, or exchange all summands in one step"
            } else {
                ""
            };
            notes.push(format!(
                "the bounds are those of algorithms that sum each part up at one rank{found}"
            ));
        }
        if frontier.is_complete {
            notes.push("complete: no other schedule is better in steps or in time".to_owned());
        }
    }

    fn is_of_allreduce(&self) -> bool {
        self.found.frontier.as_ref().is_some_and(Self::is_allreduce)
    }

    fn is_allreduce(frontier: &Frontier) -> bool {
        frontier.bounds.collective == Collective::Known(CollectiveKind::AllReduce)
    }

    fn describe_pieces(&self) -> String {
        match self.max_chunks {
            1 => "whole chunks".to_owned(),
            most => format!("up to {most} pieces (`--max-chunks` allows more)"),
        }
    }

    /// One line of JSON.
    pub(super) fn write_json(&self) -> String {
        let SynthesisAnswer { name, machine, found, sketch, .. } = self;
        let mut programs = self.programs.iter();
        let points: Vec<Value> = self
            .points()
            .iter()
            .map(|point| self.point_json(point, programs.next().and_then(Option::as_ref)))
            .collect();
        let mut object = json!({
            "collective": name,
            "topology": machine.name,
            "ranks": machine.graph.count_ranks(),
            "round": self.describe_quantum(),
            "sketch": sketch,
            "points": points,
            "complete": found.is_complete(),
            "notes": self.list_notes(),
        });
        if let (Some(trees), Some(fields)) = (found.find_trees(), object.as_object_mut()) {
            insert_tree_program(programs.next().and_then(Option::as_ref), fields);
            fields.insert("trees".to_owned(), list_trees(trees));
            fields.insert("k".to_owned(), json!(trees.k));
            fields.insert("rho".to_owned(), json!(self.write_rounds(trees.rho)));
            fields.insert("depth".to_owned(), json!(trees.measure_depth()));
        }
        if let (Some(Ok(packing)), Some(fields)) = (&self.found.allreduce, object.as_object_mut()) {
            let AllReducePacking { trees, bound, .. } = packing;
            insert_tree_program(programs.next().and_then(Option::as_ref), fields);
            fields.insert("sums".to_owned(), list_weighted_trees(&trees.sums));
            fields.insert("copies".to_owned(), list_weighted_trees(&trees.copies));
            fields.insert("k".to_owned(), json!(trees.k));
            fields.insert("rho".to_owned(), json!(self.write_rounds(trees.rho)));
            fields.insert("bound".to_owned(), json!(self.write_rounds(*bound)));
        }
        if let (Some(costs), Some(fields)) = (&self.found.costs, object.as_object_mut()) {
            let rows = costs.goal.sizes.iter().zip(&costs.rows).map(|(size, row)| {
                let times: Vec<String> =
                    row.times.iter().map(|time| costs.goal.write_time(*time)).collect();
                json!({ "size": size.text, "times": times, "best": row.best })
            });
            fields.insert("sizes".to_owned(), Value::Array(rows.collect()));
        }
        if let (Some(frontier), Some(fields)) = (&self.found.frontier, object.as_object_mut())
            && matches!(frontier.bounds.collective, Collective::Demands(_))
        {
            fields.insert("units".to_owned(), list_unit_values(&frontier.units));
            fields.insert("chunks_per_unit".to_owned(), json!(frontier.bounds.factor));
            // Of the points that say `separates_sums`.
            let separate = list_unit_values(&frontier.separate_units);
            fields.insert("separate_units".to_owned(), separate);
        }
        format!("{object}\n")
    }

    fn point_json(&self, point: &FrontierPoint, program: Option<&PointProgram>) -> Value {
        let size = point.schedule.measure();
        let (status, bound) = match point.status {
            PointStatus::Optimal => ("optimal", point.time),
            PointStatus::AboveBound { bound } => ("above bound", bound),
        };
        let mut value = json!({
            "steps": size.steps,
            "rounds": self.count_rounds(size),
            "chunks": size.chunks,
            "rounds_of_steps": point.schedule.rounds,
            "rounds_per_chunk": self.write_rounds(point.time),
            "bound": self.write_rounds(bound),
            "status": status,
            "separates_sums": point.separates_sums,
            "program": program.and_then(|own| own.path.as_ref()),
            "packets": program.and_then(|own| own.packets.as_ref()),
            "failure": program.and_then(|own| own.failure.as_ref()),
            "moves": list_moves(&point.schedule),
        });
        let adds = || point.schedule.moves.iter().map(|own| own.action == MoveAction::Reduce);
        if let Some(fields) = value.as_object_mut()
            && adds().any(|adds| adds)
        {
            fields.insert("adds".to_owned(), adds().collect());
        }
        value
    }

    /// A time in rounds: in each the largest rate that divides all others carries one piece.
    fn write_rounds(&self, time: Rational) -> String {
        let quantum = self.machine.graph.quantum();
        let factor = Rational::from_integer(self.find_factor());
        time.checked_mul(quantum)
            .and_then(|rounds| rounds.checked_mul(factor))
            .map_or_else(|_| format!("{time} * {quantum} * {factor}"), |rounds| rounds.to_string())
    }

    /// How many chunks of the collective each one of the schedules stands for.
    fn find_factor(&self) -> u64 {
        self.found.frontier.as_ref().map_or(1, |frontier| frontier.bounds.factor)
    }

    /// How many rounds a schedule takes for all chunks.
    fn count_rounds(&self, size: SchedulePoint) -> u64 {
        size.rounds.saturating_mul(self.find_factor())
    }
}

fn write_program_line(program: Option<&PointProgram>, text: &mut String) -> std::fmt::Result {
    let Some(program) = program else { return Ok(()) };
    if let Some(path) = &program.path {
        writeln!(text, "{:>7}program: {path}", "")?;
    }
    if let Some(remark) = &program.remark {
        writeln!(text, "{:>7}{remark}", "")?;
    }
    if let Some(path) = &program.packets {
        writeln!(text, "{:>7}packets: {path}", "")?;
    }
    if let Some(why) = &program.failure {
        writeln!(text, "{:>7}no program: {why}", "")?;
    }
    Ok(())
}

pub(super) fn describe_limit(limit: SolverLimit) -> &'static str {
    match limit {
        SolverLimit::Conflicts | SolverLimit::AllConflicts => {
            "the solver ended at its budget of conflicts"
        }
        SolverLimit::Variables => "the formula has too many variables",
        SolverLimit::Ranks => "the solver is for fewer ranks, and was not asked",
        SolverLimit::Routes => "nothing was found on the shortest paths through switches",
        SolverLimit::OneValue => "ranks keep one value of each piece, and that is not enough",
        SolverLimit::Observer => "the search was ended",
    }
}

/// Piece, from, to, step.
pub(super) fn list_moves(schedule: &StepSchedule) -> Vec<[u32; 4]> {
    let moves = schedule.moves.iter();
    moves.map(|own| [own.piece.0, own.from.0, own.to.0, own.step]).collect()
}

/// What the pieces are pieces of.
pub(super) fn list_unit_values(units: &[Unit]) -> Value {
    let list = |ranks: &[Vertex]| -> Vec<u32> { ranks.iter().map(|rank| rank.0).collect() };
    let rows = units
        .iter()
        .map(|unit| json!({ "origins": list(&unit.origins), "receivers": list(&unit.receivers) }));
    Value::Array(rows.collect())
}

/// How many steps are needed, as a sentence goes on.
pub(super) fn count_needed(steps: u32) -> String {
    if steps == 1 { "1 step is needed".to_owned() } else { format!("{steps} steps are needed") }
}

fn insert_tree_program(program: Option<&PointProgram>, fields: &mut Map<String, Value>) {
    let path = program.and_then(|own| own.path.as_ref());
    fields.insert("tree_program".to_owned(), json!(path));
    let failure = program.and_then(|own| own.failure.as_ref());
    fields.insert("tree_failure".to_owned(), json!(failure));
    let remark = program.and_then(|own| own.remark.as_ref());
    fields.insert("tree_remark".to_owned(), json!(remark));
}

fn list_trees(trees: &TreeSet) -> Value {
    list_weighted_trees(&trees.trees)
}

/// Vertices that are no ranks are switches.
fn list_weighted_trees(trees: &[WeightedTree]) -> Value {
    let rows = trees.iter().map(|tree| {
        let edges: Vec<[u32; 2]> = tree.edges.iter().map(|edge| [edge.from.0, edge.to.0]).collect();
        json!({ "root": tree.root.0, "weight": tree.weight, "edges": edges })
    });
    Value::Array(rows.collect())
}
