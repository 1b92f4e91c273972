//! What schedules and trees cost at the sizes that were asked for.

use super::goal::{SizeGoal, describe_overflow};
use super::search::{PackedTrees, Synthesis};
use compiler::machine::Machine;
use synth::collective::CollectiveKind;
use synth::rational::Rational;

/// What the points, and then the trees, cost.
pub(super) struct CostTable {
    pub(super) goal: SizeGoal,
    /// Size by size.
    pub(super) rows: Vec<CostRow>,
}

/// What the points, and then the trees, cost at a size.
pub(super) struct CostRow {
    /// One for each of them.
    pub(super) times: Vec<Rational>,
    /// Which one is fastest: the first one of several.
    pub(super) best: usize,
}

impl CostTable {
    /// Whether a schedule is the fastest one at some size.
    pub(super) fn has_best(&self, index: usize) -> bool {
        self.rows.iter().any(|row| row.best == index)
    }

    /// What all that was found costs.
    pub(super) fn compute(
        found: &Synthesis,
        goal: SizeGoal,
        machine: &Machine,
    ) -> Result<CostTable, String> {
        let graph = &machine.graph;
        let factor = found.frontier.as_ref().map_or(1, |frontier| frontier.bounds.factor);
        // The pieces of an AllReduce's schedules are those of one rank's part of the buffer.
        let parts = found.frontier.as_ref().map_or(1, |frontier| {
            let is_allreduce = frontier.bounds.collective == CollectiveKind::AllReduce.into();
            if is_allreduce { graph.count_ranks() } else { 1 }
        });
        let parts = Rational::from_integer(parts.into());
        let mut rows = Vec::new();
        for size in &goal.sizes {
            let chunk = size.chunk.checked_mul(Rational::from_integer(factor));
            let chunk = chunk.map_err(describe_overflow)?;
            let points = found.frontier.iter().flat_map(|frontier| &frontier.points);
            let part = chunk.checked_div(parts).map_err(describe_overflow)?;
            let mut times = Vec::new();
            for point in points {
                times.push(goal.model.estimate_steps(graph, &point.schedule, part));
            }
            times.extend(found.find_packed().map(|packed| match packed {
                PackedTrees::OneWay(trees) => goal.model.estimate_trees(graph, trees, chunk),
                PackedTrees::BothWays(packing) => {
                    goal.model.estimate_allreduce_trees(graph, &packing.trees, chunk)
                }
            }));
            let times: Vec<Rational> =
                times.into_iter().collect::<Result<_, _>>().map_err(describe_overflow)?;
            let best = times.iter().enumerate().min_by_key(|(_, time)| **time);
            if let Some((best, _)) = best {
                rows.push(CostRow { best, times });
            }
        }
        Ok(CostTable { goal, rows })
    }
}
