//! How much the search for trees may do. All budgets are counters, so that the same input ends at the same place on
//! every machine.

use super::demand::TreeDemand;
use super::error::TreeError;
use std::fmt;

/// How many arcs the network of one flow test has; a larger one counts as several.
const ARCS_PER_TEST: u64 = 1 << 10;

/// What trees are asked for with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PackRequest {
    /// How much may be done.
    pub budget: PackBudget,
}

/// How much may be done for trees. [`TreeError::OutOfBudget`] reports what did not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackBudget {
    /// How many maximum flows may be computed; one in a network of more than 1,024 arcs counts once for each 1,024 of
    /// them. Trees for 64 dies of MI250, edge by edge, take some ten thousand, and the default takes some seconds.
    pub flow_tests: u64,
    /// How many edges all trees may have: memory, of about 100 bytes each.
    pub tree_edges: u64,
}

impl Default for PackBudget {
    fn default() -> PackBudget {
        PackBudget { flow_tests: 1 << 20, tree_edges: 1 << 23 }
    }
}

/// Which budget did not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackLimit {
    /// [`PackBudget::flow_tests`].
    FlowTests,
    /// [`PackBudget::tree_edges`].
    TreeEdges,
}

impl fmt::Display for PackLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PackLimit::FlowTests => "flow tests",
            PackLimit::TreeEdges => "edges of trees",
        })
    }
}

/// Counts what is done.
#[derive(Debug)]
pub(super) struct FlowMeter {
    budget: PackBudget,
    tests: u64,
    edges: u64,
}

impl FlowMeter {
    pub(super) fn new(request: PackRequest) -> FlowMeter {
        FlowMeter { budget: request.budget, tests: 0, edges: 0 }
    }

    /// Counts one maximum flow in a network of so many arcs.
    pub(super) fn count_flow(&mut self, arcs: usize) -> Result<(), TreeError> {
        self.tests += 1 + arcs as u64 / ARCS_PER_TEST;
        if self.tests > self.budget.flow_tests {
            return Err(TreeError::OutOfBudget(PackLimit::FlowTests));
        }
        Ok(())
    }

    /// What a search finds with at most so many more tests; none if they do not suffice.
    pub(super) fn try_within<T>(
        &mut self,
        tests: u64,
        search: impl FnOnce(&mut FlowMeter) -> Result<T, TreeError>,
    ) -> Result<Option<T>, TreeError> {
        let left = self.budget.flow_tests.saturating_sub(self.tests).min(tests);
        let budget = PackBudget { flow_tests: left, ..self.budget };
        let mut inner = FlowMeter { budget, tests: 0, edges: self.edges };
        let found = search(&mut inner);
        self.tests += inner.tests.min(left);
        match found {
            Err(TreeError::OutOfBudget(_)) => Ok(None),
            other => other.map(Some),
        }
    }

    /// How many tests were counted.
    pub(super) fn count_tests(&self) -> u64 {
        self.tests
    }

    /// Whether one tree for each root may be built at all.
    pub(super) fn check_size(&self, demand: &TreeDemand) -> Result<(), TreeError> {
        let roots = demand.supplies.as_slice().iter().filter(|supply| **supply > 0).count() as u64;
        if roots * demand.supplies.len() as u64 > self.budget.tree_edges {
            return Err(TreeError::OutOfBudget(PackLimit::TreeEdges));
        }
        Ok(())
    }

    /// Counts the edges of a tree that is built.
    pub(super) fn count_tree(&mut self, edges: usize) -> Result<(), TreeError> {
        self.edges += edges as u64;
        if self.edges > self.budget.tree_edges {
            return Err(TreeError::OutOfBudget(PackLimit::TreeEdges));
        }
        Ok(())
    }
}
