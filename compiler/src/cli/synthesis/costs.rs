//! What schedules and trees cost at the sizes that were asked for.

use super::goal::{SizeGoal, describe_overflow};
use super::search::Synthesis;
use compiler::machine::Machine;
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
        let mut rows = Vec::new();
        for size in &goal.sizes {
            let chunk = size.chunk.checked_mul(Rational::from_integer(factor));
            let chunk = chunk.map_err(describe_overflow)?;
            let points = found.frontier.iter().flat_map(|frontier| &frontier.points);
            let mut times = Vec::new();
            for point in points {
                times.push(goal.model.estimate_steps(graph, &point.schedule, chunk));
            }
            times.extend(
                found.find_trees().map(|trees| goal.model.estimate_trees(graph, trees, chunk)),
            );
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
