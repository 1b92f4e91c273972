//! Bounds as text and as JSON.

use super::super::search_watch::SearchStop;
use super::conditions::{fill_conditions, list_conditions};
use compiler::demand::has_common_contributions;
use compiler::machine::Machine;
use compiler::machine::listing::write_rate;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use synth::bound::collective::{
    Attainment, BandwidthWitness, BoundInSteps, BoundScope, CollectiveBounds, StepWitness, SweepEnd,
};
use synth::bound::{Completeness, CutBound};
use synth::collective::{Collective, CollectiveKind};
use synth::graph::{RateUnit, Vertex};
use synth::rational::Rational;
use synth::schedule::Unit;
use synth::sketch::SketchGap;

/// How many vertices of a cut are shown in a text.
const SHOWN: usize = 16;

/// What is said of a collective on a machine.
pub(super) struct Answer<'a> {
    pub(super) name: &'a str,
    pub(super) machine: &'a Machine,
    pub(super) bounds: &'a CollectiveBounds,
    /// The flags of the sketch, as they were given; empty without one.
    pub(super) sketch: &'a str,
    /// What its chunks are, if that is asked for.
    pub(super) conditions: Option<&'a [Unit]>,
    /// What ended the search before its end.
    pub(super) stop: Option<SearchStop>,
}

impl Answer<'_> {
    /// A table for people.
    pub(super) fn write_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.fill_text(&mut text);
        text
    }

    fn fill_text(&self, text: &mut String) -> std::fmt::Result {
        let Answer { name, machine, bounds, sketch, .. } = self;
        let ranks = machine.graph.count_ranks();
        writeln!(text, "{name} on {} ({ranks} ranks)", machine.name)?;
        if !sketch.is_empty() {
            writeln!(text, "  with {sketch}")?;
        }
        writeln!(text, "  a chunk is {}", self.describe_chunk())?;
        writeln!(text, "  {}", self.describe_round())?;
        if let Some(units) = self.conditions {
            fill_conditions(units, ranks, text)?;
        }
        let steps = &bounds.steps;
        let why = format!("rank {} is as many hops away from rank {}", steps.to, steps.from);
        writeln!(text, "  {:<12}{:>12}  {why}", "steps", steps.steps)?;
        let bandwidth = &bounds.bandwidth;
        let value = self.write_rounds(bandwidth.value);
        writeln!(text, "  {:<12}{value:>12}  {}", "bandwidth", self.describe_witness())?;
        if let Some(rate) = self.algorithm_bandwidth() {
            writeln!(text, "  {:<12}{:>12}  {rate}", "", "")?;
        }
        for bound in &bounds.by_steps {
            let label = if bound.steps == 1 {
                "in 1 step".to_owned()
            } else {
                format!("in {} steps", bound.steps)
            };
            let value = self.write_rounds(bound.value);
            writeln!(text, "  {label:<12}{value:>12}  {}", self.describe_step(bound))?;
        }
        for note in self.notes() {
            writeln!(text, "  note: {note}")?;
        }
        Ok(())
    }

    /// One line of JSON.
    pub(super) fn write_json(&self) -> String {
        let Answer { name, machine, bounds, sketch, .. } = self;
        let completeness_by_steps: Map<String, Value> = bounds
            .by_steps
            .iter()
            .map(|bound| {
                (bound.steps.to_string(), json!(self.find_completeness(bound).to_string()))
            })
            .collect();
        let by_steps: Map<String, Value> = bounds
            .by_steps
            .iter()
            .map(|bound| (bound.steps.to_string(), json!(self.write_rounds(bound.value))))
            .collect();
        let mut object = json!({
            "collective": name,
            "topology": machine.name,
            "ranks": machine.graph.count_ranks(),
            "steps": bounds.steps.steps,
            "rounds_per_chunk": self.write_rounds(bounds.bandwidth.value),
            "by_steps": by_steps,
            "completeness_by_steps": completeness_by_steps,
            "sketch": sketch,
            "witness": self.witness_json(),
            "completeness": bounds.bandwidth.completeness.to_string(),
            "trees_per_root": bounds.tree_count,
            "notes": self.notes(),
        });
        let Some(fields) = object.as_object_mut() else { return String::new() };
        if let Some(units) = self.conditions {
            fields.insert("conditions".to_owned(), list_conditions(units));
        }
        if self.has_rates() {
            fields.insert("seconds_per_byte".to_owned(), json!(bounds.bandwidth.value.to_string()));
            fields.insert("round".to_owned(), json!(self.quantum_text()));
        }
        if let Some(comparison) = &bounds.allreduce {
            let composed = self.write_rounds(comparison.composed);
            let per_shard = self.write_rounds(comparison.composed_per_shard);
            let without = comparison.without_abilities.map(|value| self.write_rounds(value));
            let value = json!({
                "reduce_scatter_and_allgather": composed,
                "per_shard": per_shard,
                "without_multicast_and_reduce": without,
            });
            fields.insert("allreduce".to_owned(), value);
        }
        format!("{object}\n")
    }

    fn witness_json(&self) -> Value {
        match &self.bounds.bandwidth.witness {
            BandwidthWitness::Cut(cut) => {
                let names: Vec<String> =
                    cut.side.iter().map(|vertex| self.machine.name_vertex(*vertex)).collect();
                json!({ "cut": names, "outside": self.machine.name_vertex(cut.outside) })
            }
            BandwidthWitness::Lengths(bound) => json!({ "lengths": bound.lengths }),
            BandwidthWitness::Flows(_) => json!({ "dual": "lengths of links for each value" }),
            BandwidthWitness::AllReduce(_) => {
                json!({ "dual": "lengths and potentials of both halves" })
            }
        }
    }

    fn kind(&self) -> Option<CollectiveKind> {
        match &self.bounds.collective {
            Collective::Known(kind) => Some(*kind),
            Collective::Demands(_) => None,
        }
    }

    fn has_rates(&self) -> bool {
        self.machine.graph.unit() == RateUnit::BytesPerSecond
    }

    /// A time in rounds: with rates, a round is the time in which a chunk passes the largest rate that divides all
    /// others. Where the product does not fit, its factors are written.
    fn write_rounds(&self, value: Rational) -> String {
        let factor = Rational::from_integer(self.bounds.factor);
        let one = Rational::from_integer(1);
        let quantum = if self.has_rates() { self.machine.graph.quantum() } else { one };
        let product = value.checked_mul(factor).and_then(|all| all.checked_mul(quantum));
        product.map_or_else(|_| format!("{value} * {factor} * {quantum}"), |all| all.to_string())
    }

    fn quantum_text(&self) -> String {
        write_rate(self.machine.graph.quantum(), self.machine.graph.unit())
    }

    fn describe_round(&self) -> String {
        if self.has_rates() {
            format!("a round is the time in which one passes {}", self.quantum_text())
        } else {
            "a link of bandwidth 1 carries one in a round".to_owned()
        }
    }

    fn describe_chunk(&self) -> String {
        let of_kind = self.describe_chunk_of_kind();
        match self.bounds.factor {
            _ if self.kind().is_none() => of_kind.to_owned(),
            1 => of_kind.to_owned(),
            factor => {
                format!("one of the {factor} that are {of_kind}; the numbers are for all of them")
            }
        }
    }

    fn describe_chunk_of_kind(&self) -> &'static str {
        match self.kind() {
            Some(CollectiveKind::AllGather | CollectiveKind::Gather(_)) => {
                "what one rank contributes"
            }
            Some(CollectiveKind::ReduceScatter | CollectiveKind::Scatter(_)) => {
                "what one rank gets"
            }
            Some(CollectiveKind::AllToAll) => "what one rank sends to another one",
            Some(
                CollectiveKind::AllReduce
                | CollectiveKind::Broadcast(_)
                | CollectiveKind::Reduce(_),
            ) => "the whole buffer",
            None => "a chunk of the collective's declaration",
        }
    }

    /// NCCL's algorithm bandwidth (nccl-tests, PERFORMANCE.md): the bytes of the whole operation, divided by the time.
    fn algorithm_bandwidth(&self) -> Option<String> {
        if !self.has_rates() {
            return None;
        }
        let ranks = u64::from(self.machine.graph.count_ranks());
        let chunks = match self.kind()? {
            CollectiveKind::AllGather
            | CollectiveKind::ReduceScatter
            | CollectiveKind::AllToAll
            | CollectiveKind::Gather(_)
            | CollectiveKind::Scatter(_) => ranks,
            CollectiveKind::AllReduce
            | CollectiveKind::Broadcast(_)
            | CollectiveKind::Reduce(_) => 1,
        };
        let rate = Rational::from_integer(chunks).checked_div(self.bounds.bandwidth.value).ok()?;
        let rate = rate.numerator() as f64 / rate.denominator() as f64 / 1e9;
        Some(format!("at most {rate:.1} GB/s of algorithm bandwidth, as nccl-tests count it"))
    }

    fn describe_witness(&self) -> String {
        let bandwidth = &self.bounds.bandwidth;
        let witness = match &bandwidth.witness {
            BandwidthWitness::Cut(cut) => self.describe_cut(cut),
            BandwidthWitness::Lengths(_) => {
                "by lengths of links: the dual of the flow program".to_owned()
            }
            BandwidthWitness::Flows(_) => {
                "by lengths of links for each value: the dual of the flow program".to_owned()
            }
            BandwidthWitness::AllReduce(_) => {
                "by the dual of the program for sums and copies".to_owned()
            }
        };
        qualify(&witness, bandwidth.completeness)
    }

    fn describe_cut(&self, cut: &CutBound) -> String {
        let vertices = self.machine.graph.count_vertices();
        let outside: Vec<Vertex> = (0..vertices as u32)
            .map(Vertex)
            .filter(|vertex| cut.side.binary_search(vertex).is_err())
            .collect();
        if cut.side.len() <= outside.len() {
            format!("what must leave {}", self.list(&cut.side))
        } else {
            format!("what must enter {}", self.list(&outside))
        }
    }

    fn list(&self, vertices: &[Vertex]) -> String {
        let names: Vec<String> = vertices
            .iter()
            .take(SHOWN)
            .map(|vertex| {
                if self.machine.graph.is_rank(*vertex) {
                    vertex.to_string()
                } else {
                    self.machine.name_vertex(*vertex)
                }
            })
            .collect();
        let more = vertices.len() - names.len();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("{{{}{more}}}", names.join(", "))
    }

    /// What has to be known to read the numbers.
    fn notes(&self) -> Vec<String> {
        let bounds = self.bounds;
        let mut notes = Vec::new();
        notes.extend(self.stop.map(|stop| format!("{stop}: the bounds may be higher")));
        match bounds.bandwidth.attainment {
            Attainment::InSteps(_) | Attainment::Unknown => {}
            Attainment::LimitOnly => notes.push(
                "the bandwidth bound is a limit that no number of steps reaches: each step more comes nearer"
                    .to_owned(),
            ),
        }
        match bounds.sweep_end {
            SweepEnd::ReachedBandwidth | SweepEnd::MaxSteps => {}
            SweepEnd::TooLarge => {
                notes.push(
                    "bounds for more steps are left out: the program is too large".to_owned(),
                );
            }
            SweepEnd::OutOfBudget => notes.push(
                "bounds for more steps are left out: a search ended at its budget".to_owned(),
            ),
        }
        if self.has_weak_switches() && !bounds.by_steps.is_empty() {
            notes.push(
                "the bounds for numbers of steps let every switch copy and add up: without `multicast` and `reduce` the least may be more"
                    .to_owned(),
            );
        }
        if bounds.bandwidth.scope == BoundScope::RootedSums {
            notes.push(
                "the bandwidth bound is that of algorithms that sum each part of the buffer up at one rank, and send the sum from there"
                    .to_owned(),
            );
        }
        if let Some(comparison) = &bounds.allreduce {
            let [composed, shard] = [comparison.composed, comparison.composed_per_shard]
                .map(|value| self.write_rounds(value));
            let ranks = self.machine.graph.count_ranks();
            // Constraints on hops are not in what the halves take.
            if comparison.composed >= bounds.bandwidth.value {
                notes.push(format!(
                    "a ReduceScatter and an AllGather take {composed} rounds for the whole buffer, {shard} for each of its {ranks} shards"
                ));
            }
            if let Some(without) = comparison.without_abilities {
                let without = self.write_rounds(without);
                notes.push(format!("without multicast and reduction in switches: {without}"));
            }
        }
        if has_common_contributions(&bounds.collective) {
            notes.push(
                "values with parts in common are counted as sums: with `min` and `max`, one may follow from others"
                    .to_owned(),
            );
        }
        if let Some(count) = bounds.tree_count {
            let trees = if count == 1 {
                "one tree for each root reaches".to_owned()
            } else {
                format!("{count} trees for each root reach")
            };
            notes.push(format!("{trees} the bandwidth bound, with as many pieces of a chunk"));
        }
        notes.extend(bounds.gaps.iter().map(|gap| self.describe_gap(gap)));
        notes
    }
}

impl Answer<'_> {
    fn describe_gap(&self, gap: &SketchGap) -> String {
        match gap {
            SketchGap::Passage { edge, .. } => {
                let ends = self.bounds.topology.edges().get(edge.0 as usize);
                let link = ends.map_or_else(String::new, |edge| {
                    let [from, to] =
                        [edge.from, edge.to].map(|vertex| self.machine.name_vertex(vertex));
                    format!(" from {from} to {to}")
                });
                format!(
                    "the link{link} also carries what stays in a node, so the bounds allow it to carry more"
                )
            }
            SketchGap::HopsOfSums => {
                "sums that several ranks get have no limit on hops but in the number of steps"
                    .to_owned()
            }
            SketchGap::TooManyHops => {
                "the limit on hops is in the number of steps only: the program is too large"
                    .to_owned()
            }
            SketchGap::HopsWithinSteps => {
                "bounds for more steps than hops have each limit, but not both at once".to_owned()
            }
        }
    }
}

impl Answer<'_> {
    fn describe_step(&self, bound: &BoundInSteps) -> String {
        let completeness = self.find_completeness(bound);
        let witness = match &bound.witness {
            StepWitness::Layered(_) | StepWitness::Flows(_) => "by lengths of links in each step",
            StepWitness::Bandwidth if completeness == Completeness::Optimal => {
                "the bandwidth bound"
            }
            StepWitness::Bandwidth => "no less than with any number of steps",
            StepWitness::OneMoreStep => "no less than with one step more",
        };
        qualify(witness, completeness)
    }

    /// Whether a bound is the optimum of its program: where it is the bandwidth bound, that one has to be, too.
    fn find_completeness(&self, bound: &BoundInSteps) -> Completeness {
        match (bound.completeness, &bound.witness) {
            (Completeness::Optimal, StepWitness::Bandwidth) => self.bounds.bandwidth.completeness,
            (completeness, _) => completeness,
        }
    }

    /// Whether the bounds for numbers of steps let a switch do what it cannot: they count what enters and leaves it
    /// without asking whether it was copied or added up there.
    fn has_weak_switches(&self) -> bool {
        let shares = match self.kind() {
            Some(
                CollectiveKind::AllToAll | CollectiveKind::Scatter(_) | CollectiveKind::Gather(_),
            ) => false,
            Some(
                CollectiveKind::AllGather
                | CollectiveKind::ReduceScatter
                | CollectiveKind::AllReduce
                | CollectiveKind::Broadcast(_)
                | CollectiveKind::Reduce(_),
            )
            | None => true,
        };
        let switches = self.machine.graph.switches();
        shares && switches.iter().any(|switch| !switch.multicast || !switch.reduce)
    }
}

/// Says of a bound that is not known to be the least one that it may be below it.
fn qualify(witness: &str, completeness: Completeness) -> String {
    if completeness == Completeness::Optimal {
        witness.to_owned()
    } else {
        format!("{witness} ({completeness}: the least may be more)")
    }
}
