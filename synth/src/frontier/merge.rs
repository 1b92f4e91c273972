//! Points of two searches for the same collective.

use super::stairs::FoundPoints;
use super::{FrontierPoint, StepCount};
use crate::bound::collective::CollectiveBounds;
use std::collections::BTreeMap;

impl FoundPoints {
    /// Whether the fastest schedule takes the least time of all.
    pub(super) fn is_least(&self, bounds: &CollectiveBounds) -> bool {
        self.points.last().is_some_and(|point| point.time <= bounds.bandwidth.value)
    }

    /// Drops points that another one is no worse than, and counts what is left for each number of steps.
    pub(super) fn prune(mut self) -> FoundPoints {
        self.points.sort_by_key(|point| (point.schedule.rounds.len(), point.time));
        let mut kept: Vec<FrontierPoint> = Vec::new();
        for point in self.points {
            if kept.last().is_none_or(|last| last.time > point.time) {
                kept.push(point);
            }
        }
        for count in &mut self.step_counts {
            let fitting =
                kept.iter().filter(|point| point.schedule.rounds.len() as u32 <= count.steps);
            count.best = fitting.map(|point| point.time).min();
        }
        FoundPoints { points: kept, step_counts: self.step_counts }
    }
}

/// The points that none of both searches has a better one than. A number of steps is undecided where either search is.
pub(super) fn merge_points(first: FoundPoints, second: FoundPoints) -> FoundPoints {
    let mut counts: BTreeMap<u32, StepCount> = BTreeMap::new();
    for count in first.step_counts.into_iter().chain(second.step_counts) {
        match counts.get_mut(&count.steps) {
            Some(known) => known.undecided.extend(count.undecided),
            None => drop(counts.insert(count.steps, count)),
        }
    }
    let points = first.points.into_iter().chain(second.points).collect();
    FoundPoints { points, step_counts: counts.into_values().collect() }.prune()
}
