//! Which way schedules are searched for: what is summed up for one rank is a copy that runs backwards.

use crate::collective::Collective;
use crate::graph::Vertex;
use crate::schedule::Unit;

/// Which way schedules of a collective are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchDirection {
    /// On the machine itself.
    Forward,
    /// On the reversed one.
    Backward,
}

impl SearchDirection {
    /// The direction for the units of a collective. A Gather is searched for backwards, as a Scatter; of demands, sums
    /// with one receiver each are, and what is copied to one receiver each along with them.
    pub(crate) fn find(collective: &Collective, units: &[Unit]) -> SearchDirection {
        let is_backward = match collective {
            Collective::Known(kind) => kind.reverse().is_some(),
            Collective::Demands(_) => {
                units.iter().any(Unit::is_sum) && units.iter().all(|unit| unit.receivers.len() < 2)
            }
        };
        if is_backward { SearchDirection::Backward } else { SearchDirection::Forward }
    }
}

/// The units that those with one receiver each are when they run backwards: from there to the origins.
pub(crate) fn reverse_units(units: &[Unit]) -> Vec<Unit> {
    let reverse = |unit: &Unit| match unit.receivers.first() {
        Some(&receiver) => {
            let others = unit.origins.iter().copied().filter(|origin| *origin != receiver);
            Unit::new(vec![receiver], others.collect())
        }
        // Nobody gets it.
        None => {
            Unit::new(unit.origins.iter().copied().take(1).collect::<Vec<Vertex>>(), Vec::new())
        }
    };
    units.iter().map(reverse).collect()
}
