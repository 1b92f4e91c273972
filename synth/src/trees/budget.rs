//! How much the search for trees may do. All budgets are counters, so that the same input ends at the same place on
//! every machine.

use super::demand::TreeDemand;
use super::error::TreeError;
use crate::observer::{NoObserver, REPORTED_TESTS, SearchObserver, SearchProgress};
use std::fmt;

/// How many arcs the network of one flow test has; a larger one counts as several.
const ARCS_PER_TEST: u64 = 1 << 10;

/// What trees are asked for with.
#[derive(Clone, Copy, Debug)]
pub struct PackRequest<'a> {
    /// How much may be done.
    pub budget: PackBudget,
    /// Who can stop the search, which has no trees then: [`TreeError::OutOfBudget`] with [`PackLimit::Observer`].
    pub observer: &'a dyn SearchObserver,
}

impl Default for PackRequest<'_> {
    fn default() -> Self {
        PackRequest { budget: PackBudget::default(), observer: &NoObserver }
    }
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
    /// None: [`PackRequest::observer`] stopped the search.
    Observer,
}

impl fmt::Display for PackLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PackLimit::FlowTests => "flow tests",
            PackLimit::TreeEdges => "edges of trees",
            PackLimit::Observer => "the observer",
        })
    }
}

/// Counts what is done.
#[derive(Debug)]
pub(super) struct FlowMeter<'a> {
    budget: PackBudget,
    observer: &'a dyn SearchObserver,
    tests: u64,
    edges: u64,
}

impl<'a> FlowMeter<'a> {
    pub(super) fn new(request: PackRequest<'a>) -> FlowMeter<'a> {
        let PackRequest { budget, observer } = request;
        FlowMeter { budget, observer, tests: 0, edges: 0 }
    }

    /// Who can stop the search.
    pub(super) fn observer(&self) -> &'a dyn SearchObserver {
        self.observer
    }

    /// Counts one maximum flow in a network of so many arcs.
    pub(super) fn count_flow(&mut self, arcs: usize) -> Result<(), TreeError> {
        if self.observer.is_stopped() {
            return Err(TreeError::OutOfBudget(PackLimit::Observer));
        }
        let before = self.tests;
        self.tests += 1 + arcs as u64 / ARCS_PER_TEST;
        if self.tests / REPORTED_TESTS > before / REPORTED_TESTS {
            self.observer.report(SearchProgress::TestingFlows { tests: self.tests });
        }
        if self.tests > self.budget.flow_tests {
            return Err(TreeError::OutOfBudget(PackLimit::FlowTests));
        }
        Ok(())
    }

    /// What a search finds with at most so many more tests; none if they do not suffice.
    pub(super) fn try_within<T>(
        &mut self,
        tests: u64,
        search: impl FnOnce(&mut FlowMeter<'_>) -> Result<T, TreeError>,
    ) -> Result<Option<T>, TreeError> {
        let left = self.budget.flow_tests.saturating_sub(self.tests).min(tests);
        let budget = PackBudget { flow_tests: left, ..self.budget };
        let mut inner = FlowMeter { budget, observer: self.observer, tests: 0, edges: self.edges };
        let found = search(&mut inner);
        self.tests += inner.tests.min(left);
        match found {
            Err(TreeError::OutOfBudget(PackLimit::FlowTests | PackLimit::TreeEdges)) => Ok(None),
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
