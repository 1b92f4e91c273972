//! Schedules that are constructed before a solver searches for better ones.

use crate::collective::{Collective, CollectiveKind};
use crate::graph::Topology;
use crate::schedule::{StepSchedule, check_schedule, list_units};
use crate::steps::bfb::find_breadth_first;
use crate::steps::boxes::{BoxGrouping, BoxSearchRequest, TrafficMatrix, find_box_alltoalls};
use crate::steps::exchange::{ExchangeRequest, find_exchange};
use crate::steps::greedy::{GreedyOutcome, GreedyRequest, schedule_greedily};
use crate::steps::scatter::{find_gather, find_scatter};

/// How many pieces of a unit a constructed AllToAll has at most: each number of them is routed on its own.
const MAX_EXCHANGE_CHUNKS: u32 = 4;

/// The numbers of pieces for which pieces are matched to links one by one. It is quick, and seldom better with others.
const GREEDY_CHUNKS: [u32; 3] = [1, 2, 4];

/// How many moves a greedy schedule may have: some tenths of a second.
const MAX_GREEDY_MOVES: u64 = 1 << 16;

/// Schedules of a collective, all of which pass the check. A construction that ends without one is left out: whatever it
/// would have found, the frontier compares what it has with the bounds.
pub(super) fn construct_schedules(
    topology: &Topology,
    kind: CollectiveKind,
    max_chunks: u32,
) -> Vec<StepSchedule> {
    let mut found = match kind {
        CollectiveKind::AllGather => {
            let mut found = Vec::from_iter(find_breadth_first(topology, max_chunks).ok());
            found.extend(construct_greedily(topology, kind, max_chunks));
            found
        }
        CollectiveKind::Broadcast(_) => construct_greedily(topology, kind, max_chunks),
        CollectiveKind::ReduceScatter | CollectiveKind::Reduce(_) => {
            let reversed = topology.reverse();
            let forward = kind.reverse().map(|forward| {
                construct_schedules(&reversed, forward, max_chunks)
                    .iter()
                    .map(|schedule| schedule.reverse(&reversed, topology, true))
                    .collect()
            });
            forward.unwrap_or_default()
        }
        CollectiveKind::Scatter(root) => {
            let found = find_scatter(topology, root, max_chunks);
            found.map(|found| found.schedule).into_iter().collect()
        }
        CollectiveKind::Gather(root) => {
            let found = find_gather(topology, root, max_chunks);
            found.map(|found| found.schedule).into_iter().collect()
        }
        CollectiveKind::AllToAll => construct_exchanges(topology, max_chunks),
        CollectiveKind::AllReduce => Vec::new(),
    };
    let units = list_units(&Collective::Known(kind), topology.count_ranks());
    found.retain(|schedule| check_schedule(topology, &units, schedule).is_ok());
    found
}

/// Schedules by boxes, if there are some, and one by ways of single pieces, unless a schedule by boxes takes the fewest
/// steps and the least time.
fn construct_exchanges(topology: &Topology, max_chunks: u32) -> Vec<StepSchedule> {
    let Ok(traffic) = TrafficMatrix::uniform(topology.count_ranks()) else { return Vec::new() };
    let request = BoxSearchRequest { max_chunks, ..BoxSearchRequest::default() };
    let by_boxes = BoxGrouping::find(topology)
        .and_then(|boxes| find_box_alltoalls(topology, &boxes, &traffic, &request).ok())
        .map_or_else(Vec::new, |found| found.schedules);
    // One of two steps comes first where some ranks are not joined directly.
    let is_best =
        by_boxes.first().is_some_and(|own| own.is_least() && own.schedule.rounds.len() <= 2);
    let mut found: Vec<StepSchedule> = by_boxes.into_iter().map(|own| own.schedule).collect();
    if !is_best {
        let units = traffic.list_units();
        let request = ExchangeRequest {
            max_chunks: max_chunks.min(MAX_EXCHANGE_CHUNKS),
            ..ExchangeRequest::default()
        };
        let exchange = find_exchange(topology, &units, &request);
        found.extend(exchange.map(|found| found.schedule));
    }
    found
}

fn construct_greedily(
    topology: &Topology,
    kind: CollectiveKind,
    max_chunks: u32,
) -> Vec<StepSchedule> {
    let units = list_units(&Collective::Known(kind), topology.count_ranks());
    let mut found = Vec::new();
    for chunks in GREEDY_CHUNKS.into_iter().filter(|chunks| *chunks <= max_chunks) {
        let request =
            GreedyRequest { chunks, max_moves: MAX_GREEDY_MOVES, ..GreedyRequest::default() };
        if let Ok(GreedyOutcome::Found(schedule)) = schedule_greedily(topology, &units, &request) {
            found.push(schedule);
        }
    }
    found
}
