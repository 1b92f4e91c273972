//! Schedules that are constructed before a solver searches for better ones.

use super::{FrontierRequest, SearchEngine};
use crate::collective::CollectiveKind;
use crate::graph::Topology;
use crate::observer::SearchObserver;
use crate::schedule::{StepSchedule, Unit, check_schedule, list_units, measure_hops};
use crate::steps::bfb::find_breadth_first_until;
use crate::steps::boxes::{BoxGrouping, BoxSearchRequest, TrafficMatrix, find_box_alltoalls};
use crate::steps::exchange::{ExchangeRequest, find_exchange_until};
use crate::steps::greedy::{GreedyOutcome, GreedyRequest, schedule_greedily_until};
use crate::steps::scatter::{find_gather_until, find_scatter_until};
use crate::steps::{
    RootChoice, RootedRequest, ScanMethod, SearchDirection, SearchError, reverse_units,
    schedule_by_roots, schedule_scans,
};

/// How many pieces of a unit a constructed AllToAll has at most: each number of them is routed on its own.
const MAX_EXCHANGE_CHUNKS: u32 = 4;

/// The numbers of pieces for which pieces are matched to links one by one. It is quick, and seldom better with others.
const GREEDY_CHUNKS: [u32; 3] = [1, 2, 4];

/// How many moves a greedy schedule may have: some tenths of a second.
const MAX_GREEDY_MOVES: u64 = 1 << 16;

/// What schedules are constructed with.
#[derive(Clone, Copy)]
pub(super) struct Construction<'a> {
    pub(super) engine: SearchEngine,
    pub(super) max_chunks: u32,
    pub(super) max_hops: Option<u32>,
    pub(super) observer: &'a dyn SearchObserver,
}

impl<'a> Construction<'a> {
    pub(super) fn new(request: &FrontierRequest<'a>) -> Construction<'a> {
        let FrontierRequest { engine, max_chunks, max_hops, observer, .. } = *request;
        Construction { engine, max_chunks, max_hops, observer }
    }

    /// Schedules of a known collective, all of which pass the check. A construction that ends without one is left out:
    /// whatever it would have found, the frontier compares what it has with the bounds.
    ///
    /// Errors are those of an engine that is not for the collective.
    pub(super) fn construct_known(
        self,
        topology: &Topology,
        kind: CollectiveKind,
    ) -> Result<Vec<StepSchedule>, SearchError> {
        let units = list_units(&kind.into(), topology.count_ranks());
        let mut found = self.construct_forward(topology, kind, &units)?;
        self.keep_valid(topology, &units, &mut found);
        Ok(found)
    }

    fn construct_forward(
        self,
        topology: &Topology,
        kind: CollectiveKind,
        units: &[Unit],
    ) -> Result<Vec<StepSchedule>, SearchError> {
        let Construction { engine, max_chunks, observer, .. } = self;
        let mut found = Vec::new();
        match kind {
            CollectiveKind::AllGather => {
                if engine.includes(SearchEngine::BreadthFirst) {
                    found.extend(find_breadth_first_until(topology, max_chunks, observer));
                }
                found.extend(self.construct_greedily(topology, units));
                self.require(&[SearchEngine::BreadthFirst, SearchEngine::Greedy])?;
            }
            CollectiveKind::Broadcast(_) => {
                found.extend(self.construct_greedily(topology, units));
                self.require(&[SearchEngine::Greedy])?;
            }
            CollectiveKind::ReduceScatter | CollectiveKind::Reduce(_) => {
                let Some(forward) = kind.reverse() else { return Ok(found) };
                let reversed = topology.reverse();
                let schedules = self.construct_known(&reversed, forward)?;
                let turn = |schedule: &StepSchedule| schedule.reverse(&reversed, topology, true);
                found.extend(schedules.iter().map(turn));
            }
            CollectiveKind::Scatter(root) => {
                if engine.includes(SearchEngine::Flows) {
                    let schedule = find_scatter_until(topology, root, max_chunks, observer);
                    found.extend(schedule.map(|found| found.schedule));
                }
                found.extend(self.construct_if_asked(topology, units));
                self.require(&[SearchEngine::Flows, SearchEngine::Greedy])?;
            }
            CollectiveKind::Gather(root) => {
                if engine.includes(SearchEngine::Flows) {
                    let schedule = find_gather_until(topology, root, max_chunks, observer);
                    found.extend(schedule.map(|found| found.schedule));
                }
                found.extend(self.construct_if_asked(topology, units));
                self.require(&[SearchEngine::Flows, SearchEngine::Greedy])?;
            }
            CollectiveKind::AllToAll => {
                found.extend(self.construct_exchanges(topology, units));
                found.extend(self.construct_if_asked(topology, units));
                self.require(&[SearchEngine::Flows, SearchEngine::Greedy])?;
            }
            CollectiveKind::AllReduce => {}
        }
        Ok(found)
    }

    /// Schedules of any units.
    pub(super) fn construct_units(
        self,
        topology: &Topology,
        units: &[Unit],
        direction: SearchDirection,
    ) -> Result<Vec<StepSchedule>, SearchError> {
        let mut found = match direction {
            SearchDirection::Forward if units.iter().any(Unit::is_sum) => {
                self.require(&[SearchEngine::Greedy])?;
                self.construct_sums(topology, units)
            }
            SearchDirection::Forward => self.construct_copies(topology, units),
            SearchDirection::Backward => {
                let reversed = topology.reverse();
                let turn = |schedule: &StepSchedule| {
                    schedule.reverse(&reversed, topology, true).prefer_copies(units)
                };
                let backwards = self.construct_copies(&reversed, &reverse_units(units));
                backwards.iter().map(turn).collect()
            }
        };
        self.require(&[SearchEngine::Flows, SearchEngine::Greedy])?;
        self.keep_valid(topology, units, &mut found);
        Ok(found)
    }

    fn construct_copies(self, topology: &Topology, units: &[Unit]) -> Vec<StepSchedule> {
        let mut found = Vec::from_iter(self.construct_exchange(topology, units));
        found.extend(self.construct_greedily(topology, units));
        found
    }

    /// Schedules by boxes, if there are some, and one by ways of single pieces, unless a schedule by boxes takes the
    /// fewest steps and the least time.
    fn construct_exchanges(self, topology: &Topology, units: &[Unit]) -> Vec<StepSchedule> {
        if !self.engine.includes(SearchEngine::Flows) {
            return Vec::new();
        }
        let Ok(traffic) = TrafficMatrix::uniform(topology.count_ranks()) else { return Vec::new() };
        let request =
            BoxSearchRequest { max_chunks: self.max_chunks, ..BoxSearchRequest::default() };
        let by_boxes = BoxGrouping::find(topology)
            .and_then(|boxes| find_box_alltoalls(topology, &boxes, &traffic, &request).ok())
            .map_or_else(Vec::new, |found| found.schedules);
        // One of two steps comes first where some ranks are not joined directly.
        let is_best =
            by_boxes.first().is_some_and(|own| own.is_least() && own.schedule.rounds.len() <= 2);
        let mut found: Vec<StepSchedule> = by_boxes.into_iter().map(|own| own.schedule).collect();
        if !is_best {
            found.extend(self.construct_exchange(topology, units));
        }
        found
    }

    /// Schedules of sums that several ranks get, and of what is copied besides: first those whose receivers get different
    /// parts, and then the others.
    fn construct_sums(self, topology: &Topology, units: &[Unit]) -> Vec<StepSchedule> {
        let mut found = Vec::new();
        if !self.engine.includes(SearchEngine::Greedy) {
            return found;
        }
        let no_part = |unit: &Unit| {
            if unit.has_parts() {
                Unit::new(unit.origins.iter().copied().take(1).collect(), Vec::new())
            } else {
                unit.clone()
            }
        };
        let others: Vec<Unit> = units.iter().map(no_part).collect();
        for chunks in GREEDY_CHUNKS.into_iter().filter(|chunks| *chunks <= self.max_chunks) {
            let mut rooted = Vec::new();
            for roots in [RootChoice::Nearest, RootChoice::Spread] {
                let greedy = GreedyRequest {
                    chunks,
                    max_moves: MAX_GREEDY_MOVES,
                    ..GreedyRequest::default()
                };
                let request = RootedRequest { roots, greedy };
                let schedule = schedule_by_roots(topology, &others, request, self.observer);
                rooted.extend(schedule.ok().flatten());
            }
            if !units.iter().any(Unit::has_parts) {
                found.extend(rooted);
                continue;
            }
            for method in [ScanMethod::Direct, ScanMethod::Doubling, ScanMethod::Chain] {
                let Some(scans) = schedule_scans(topology, units, chunks, method) else { continue };
                found.extend(rooted.iter().map(|rooted| scans.clone().chain(rooted.clone())));
            }
        }
        found
    }

    /// The ways of units with one receiver each; none if there are others.
    fn construct_exchange(self, topology: &Topology, units: &[Unit]) -> Option<StepSchedule> {
        if !self.engine.includes(SearchEngine::Flows) {
            return None;
        }
        let request = ExchangeRequest {
            max_chunks: self.max_chunks.min(MAX_EXCHANGE_CHUNKS),
            ..ExchangeRequest::default()
        };
        let found = find_exchange_until(topology, units, &request, self.observer);
        found.ok().map(|found| found.schedule)
    }

    /// Greedy schedules of what has better ones, where they are asked for.
    fn construct_if_asked(self, topology: &Topology, units: &[Unit]) -> Vec<StepSchedule> {
        match self.engine {
            SearchEngine::Greedy => self.construct_greedily(topology, units),
            SearchEngine::Auto
            | SearchEngine::BreadthFirst
            | SearchEngine::Solver
            | SearchEngine::Flows => Vec::new(),
        }
    }

    fn construct_greedily(self, topology: &Topology, units: &[Unit]) -> Vec<StepSchedule> {
        let mut found = Vec::new();
        if !self.engine.includes(SearchEngine::Greedy) {
            return found;
        }
        for chunks in GREEDY_CHUNKS.into_iter().filter(|chunks| *chunks <= self.max_chunks) {
            let request =
                GreedyRequest { chunks, max_moves: MAX_GREEDY_MOVES, ..GreedyRequest::default() };
            let schedule = schedule_greedily_until(topology, units, &request, self.observer);
            if let Ok(GreedyOutcome::Found(schedule)) = schedule {
                found.push(schedule);
            }
        }
        found
    }

    /// An error if the engine constructs nothing for the collective.
    fn require(self, engines: &[SearchEngine]) -> Result<(), SearchError> {
        let is_fit = self.engine.has_solver() || engines.contains(&self.engine);
        if is_fit { Ok(()) } else { Err(SearchError::UnfitEngine) }
    }

    /// Keeps what passes the check and the limit on hops.
    fn keep_valid(self, topology: &Topology, units: &[Unit], found: &mut Vec<StepSchedule>) {
        found.retain(|schedule| check_schedule(topology, units, schedule).is_ok());
        if let Some(most) = self.max_hops {
            found.retain(|schedule| measure_hops(units, schedule) <= most);
        }
    }
}
