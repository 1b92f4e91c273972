//! Collectives that are described by what they demand: searched for, checked, and compared with all schedules there are
//! on small machines.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

#[path = "support/drawing.rs"]
mod drawing;

use drawing::draw_subset;
use std::collections::BTreeSet;
use synth::bound::BoundError;
use synth::bound::collective::BoundScope;
use synth::collective::{Collective, CollectiveKind, Demand, DemandList, SummandGroup};
use synth::families::{
    RelativeGraph, build_dgx1, build_full, build_hub, build_line, build_ring, build_star,
};
use synth::frontier::{
    Frontier, FrontierRequest, PointStatus, PointVerdict, SearchEngine, find_frontier, search_point,
};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;
use synth::schedule::{SchedulePoint, Unit, check_schedule, list_units, measure_hops};
use synth::steps::{SearchError, SolverLimit};

fn list(ranks: &[u32]) -> Vec<Vertex> {
    ranks.iter().copied().map(Vertex).collect()
}

fn demand(demands: Vec<Demand>) -> Collective {
    Collective::Demands(DemandList::new(demands).unwrap())
}

/// Each rank gets the sum of what those up to it contribute, or of those before it.
fn build_scan(ranks: u32, is_inclusive: bool) -> Collective {
    let sum = |rank: u32| Demand {
        origins: (0..rank + u32::from(is_inclusive)).map(Vertex).collect(),
        receivers: list(&[rank]),
        count: 1,
        summands: Some(SummandGroup(7)),
    };
    demand((u32::from(!is_inclusive)..ranks).map(sum).collect())
}

/// The frontier, whose schedules are checked against its bounds.
fn search(topology: &Topology, collective: &Collective, request: &FrontierRequest<'_>) -> Frontier {
    let frontier = find_frontier(topology, collective, request).unwrap();
    for own in &frontier.points {
        check_schedule(topology, frontier.find_units(own), &own.schedule).unwrap();
        if let Some(most) = request.max_hops {
            assert!(measure_hops(frontier.find_units(own), &own.schedule) <= most);
        }
        assert_eq!(own.time, own.schedule.measure().compute_time(topology).unwrap());
        let is_rooted = frontier.bounds.bandwidth.scope == BoundScope::RootedSums;
        assert!(is_rooted || own.time >= frontier.bounds.bandwidth.value);
        let steps = own.schedule.measure().steps;
        assert!(steps >= frontier.bounds.steps.steps);
        if let Some(bound) = frontier.bounds.by_steps.iter().find(|bound| bound.steps == steps) {
            assert!(is_rooted || own.time >= bound.value);
        }
    }
    frontier
}

fn list_points(frontier: &Frontier) -> Vec<[u64; 3]> {
    let size = |point: SchedulePoint| [u64::from(point.steps), point.rounds, point.chunks.into()];
    frontier.points.iter().map(|own| size(own.schedule.measure())).collect()
}

#[test]
fn known_collectives_are_recognized_with_their_factor() {
    let dgx1 = build_dgx1().unwrap();
    for (kind, expected) in [
        (CollectiveKind::AllGather, &[[2, 3, 2], [3, 7, 6]][..]),
        (CollectiveKind::ReduceScatter, &[[2, 3, 2], [3, 7, 6]]),
        (CollectiveKind::AllToAll, &[[2, 8, 3]]),
    ] {
        let demands = kind.list_demands(8);
        let three = demands.as_slice().iter().cloned().map(|own| Demand { count: 3, ..own });
        let frontier = search(&dgx1, &demand(three.collect()), &FrontierRequest::default());
        assert_eq!(list_points(&frontier), expected);
        assert_eq!(frontier.bounds.factor, 3);
        assert_eq!(frontier.units, list_units(&kind.into(), 8));
    }
}

#[test]
fn copies_go_to_any_receivers() {
    let find_first = |topology: &Topology, demands: Vec<Demand>| {
        let frontier = search(topology, &demand(demands), &FrontierRequest::default());
        assert_eq!(frontier.points[0].status, PointStatus::Optimal);
        list_points(&frontier)[0]
    };
    // Opposite ranks of a ring: half each way round.
    let ring = build_ring(4).unwrap();
    assert_eq!(find_first(&ring, vec![Demand::copy(Vertex(0), list(&[2]), 1)]), [2, 2, 2]);
    // One receiver is on the way to the other one.
    let line = build_line(4).unwrap();
    assert_eq!(find_first(&line, vec![Demand::copy(Vertex(0), list(&[1, 3]), 1)]), [3, 3, 1]);
    // The root's port carries two copies, its receivers' ports one: nobody else needs to help.
    let hub = build_hub(4, SwitchAbilities::default()).unwrap();
    let multicast = demand(vec![Demand::copy(Vertex(1), list(&[0, 3]), 1)]);
    let frontier = search(&hub, &multicast, &FrontierRequest::default());
    assert_eq!(frontier.points.first().unwrap().schedule.measure().rounds, 2);
}

#[test]
fn uneven_exchanges_take_the_time_of_the_fullest_port() {
    let hub = build_hub(4, SwitchAbilities::default()).unwrap();
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..8 {
        let mut demands = Vec::new();
        let mut sent = [[0_u64; 4]; 2];
        for from in 0..4_u32 {
            for to in (0..4).filter(|to| *to != from) {
                let count = random.u64(0..4);
                if count > 0 {
                    demands.push(Demand::copy(Vertex(from), list(&[to]), count));
                    sent[0][from as usize] += count;
                    sent[1][to as usize] += count;
                }
            }
        }
        let collective = demand(demands);
        let frontier = search(&hub, &collective, &FrontierRequest::default());
        let fullest = sent.as_flattened().iter().max().copied().unwrap();
        let rounds = fullest / frontier.bounds.factor;
        assert_eq!(list_points(&frontier), [[1, rounds, 1]]);
        assert!(frontier.is_complete);
    }
}

#[test]
fn sums_for_one_rank_each_run_backwards() {
    // Rank 3 gets the sum of two others, which are not neighbors, and rank 0 that of all.
    let ring = build_ring(4).unwrap();
    let sums = demand(vec![
        Demand::sum(list(&[0, 2]), list(&[3]), 1),
        Demand::sum(list(&[0, 1, 2, 3]), list(&[0]), 1),
        Demand::copy(Vertex(1), list(&[2]), 1),
    ]);
    let frontier = search(&ring, &sums, &FrontierRequest::default());
    assert!(!frontier.points.is_empty());
    assert_eq!(frontier.points[0].schedule.measure().steps, 2);
    assert_eq!(frontier.points[0].status, PointStatus::Optimal);
}

#[test]
fn scans_are_found() {
    for ranks in 2..=5 {
        let full = build_full(ranks, 1).unwrap();
        let scan = build_scan(ranks, true);
        let frontier = search(&full, &scan, &FrontierRequest::default());
        assert_eq!(list_points(&frontier)[0], [1, 1, 1], "{ranks}");
        assert_eq!(frontier.units.len(), usize::from(ranks > 2) + usize::from(ranks == 2));
        // Along a line each rank adds and sends on: it takes as long as the way.
        let line = build_line(ranks).unwrap();
        let frontier = search(&line, &scan, &FrontierRequest::default());
        let steps = u64::from(ranks - 1);
        assert_eq!(list_points(&frontier)[0], [steps, steps, 1], "{ranks}");
        // More steps come nearer to one round per chunk.
        let last = frontier.points.last().unwrap();
        assert!(ranks == 2 || last.time < Rational::from_integer(steps));
    }
    // Each rank's own part is not in its sum: there are sums of their own.
    let line = build_line(3).unwrap();
    let frontier = search(&line, &build_scan(3, false), &FrontierRequest::default());
    assert_eq!(frontier.units.len(), 2);
    assert!(!frontier.points.is_empty());
    // No hop joins the ranks of the order, and each has a value of its own.
    let star = build_star(5).unwrap();
    let order = [1, 2, 3, 4];
    let scan = demand(
        (2..=4)
            .map(|end| Demand {
                origins: list(&order[..end]),
                receivers: list(&order[end - 1..end]),
                count: 1,
                summands: Some(SummandGroup(0)),
            })
            .collect(),
    );
    let frontier = search(&star, &scan, &FrontierRequest::default());
    assert!(frontier.points.iter().any(|own| own.separates_sums));
    // Two steps are too few for DGX-1 if ranks keep one value each.
    let dgx1 = build_dgx1().unwrap();
    let frontier = search(&dgx1, &build_scan(8, true), &FrontierRequest::default());
    assert_eq!(frontier.points[0].schedule.measure().steps, 2);
    assert!(frontier.points[0].separates_sums);
}

/// On a line, what rank 0 contributes is in all three sums. If each sum is on its own, it goes to rank 1 three times, which
/// takes six rounds for two pieces. That fewer are not enough is no proof that there is no schedule.
#[test]
fn what_sums_have_in_common_is_not_ruled_out() {
    let line = build_line(4).unwrap();
    let request = FrontierRequest { engine: SearchEngine::Solver, ..FrontierRequest::default() };
    let look = |steps, rounds| {
        let point = SchedulePoint { steps, rounds, chunks: 2 };
        search_point(&line, &build_scan(4, false), point, &request).unwrap().verdict
    };
    assert!(matches!(look(6, 6), PointVerdict::Found { .. }));
    let verdict = look(5, 5);
    let PointVerdict::NotFound { reached: Some(reached) } = verdict else { panic!("{verdict:?}") };
    assert_eq!(reached.limit, SolverLimit::OneValue);
}

/// The greedy schedule takes more steps than are searched for, and the solver is not asked.
#[test]
fn long_schedules_are_better_than_none() {
    let mut random = fastrand::Rng::with_seed(3);
    let line = build_line(12).unwrap();
    let sums = (0..30).map(|_| {
        let mut ranks: Vec<Vertex> = (0..12).map(Vertex).collect();
        random.shuffle(&mut ranks);
        Demand::sum(ranks[..6].to_vec(), ranks[4..9].to_vec(), 1)
    });
    let collective = demand(sums.collect());
    let request = FrontierRequest { engine: SearchEngine::Greedy, ..FrontierRequest::default() };
    let frontier = search(&line, &collective, &request);
    let steps = frontier.points[0].schedule.measure().steps;
    assert!(steps > frontier.bounds.steps.steps + 6);
    let most = FrontierRequest { max_steps: Some(steps - 1), ..request };
    assert!(search(&line, &collective, &most).points.is_empty());
}

#[test]
fn groups_of_ranks_add_up() {
    // Two pairs: each rank sends to the other one.
    let full = build_full(4, 1).unwrap();
    let pairs = demand(vec![
        Demand::sum(list(&[0, 1]), list(&[0, 1]), 1),
        Demand::sum(list(&[2, 3]), list(&[2, 3]), 1),
    ]);
    let frontier = search(&full, &pairs, &FrontierRequest::default());
    assert_eq!(list_points(&frontier)[0], [1, 1, 1]);
    // Three of five ranks: 0 and 4 meet in the middle.
    let line = build_line(5).unwrap();
    let three = demand(vec![Demand::sum(list(&[0, 2, 4]), list(&[0, 2, 4]), 1)]);
    let frontier = search(&line, &three, &FrontierRequest::default());
    let point = frontier.points.first().unwrap().schedule.measure();
    assert_eq!((point.steps, point.rounds), (4, 4));
    // Sums, copies and exchanges together.
    let ring = build_ring(5).unwrap();
    let mixed = demand(vec![
        Demand::sum(list(&[0, 1, 2, 3, 4]), list(&[1, 3]), 1),
        Demand::copy(Vertex(2), list(&[0, 4]), 2),
        Demand::sum(list(&[0, 3]), list(&[4]), 1),
    ]);
    for engine in [SearchEngine::Greedy, SearchEngine::Auto] {
        let request = FrontierRequest { engine, ..FrontierRequest::default() };
        assert!(!search(&ring, &mixed, &request).points.is_empty(), "{engine:?}");
    }
}

#[test]
fn an_allreduce_can_be_searched_for_directly() {
    // By doubling, the whole buffer in two steps; each of four parts is one of four pieces.
    let ring = build_ring(4).unwrap();
    let kind = CollectiveKind::AllReduce.into();
    let request = FrontierRequest { engine: SearchEngine::Solver, ..FrontierRequest::default() };
    let look = |steps, rounds| {
        let point = SchedulePoint { steps, rounds, chunks: 1 };
        let found = search_point(&ring, &kind, point, &request).unwrap();
        if let PointVerdict::Found { schedule, .. } = &found.verdict {
            check_schedule(&ring, &found.units, schedule).unwrap();
        }
        found.verdict
    };
    // Four units over two links to each rank: four rounds each.
    assert!(matches!(look(2, 8), PointVerdict::Found { .. }));
    let few = look(2, 2);
    assert!(!matches!(few, PointVerdict::Found { .. }), "{few:?}");
    assert_eq!(look(1, 9), PointVerdict::TooFewSteps { least: 2 });
}

#[test]
fn limits_on_hops_are_kept() {
    let dgx1 = build_dgx1().unwrap();
    let broadcast = CollectiveKind::Broadcast(Vertex(0)).into();
    let free = search(&dgx1, &broadcast, &FrontierRequest::default());
    let hops = free.points.iter().map(|own| measure_hops(&free.units, &own.schedule));
    assert!(hops.max().unwrap() > 2);
    let two = FrontierRequest { max_hops: Some(2), ..FrontierRequest::default() };
    let limited = search(&dgx1, &broadcast, &two);
    assert!(limited.points.last().unwrap().time > free.points.last().unwrap().time);
    assert!(!limited.points.is_empty());
    for kind in [CollectiveKind::AllGather, CollectiveKind::ReduceScatter] {
        let limited = search(&dgx1, &kind.into(), &two);
        assert_eq!(list_points(&limited)[0], [2, 3, 2]);
    }
    let one = FrontierRequest { max_hops: Some(1), ..two };
    let error = find_frontier(&dgx1, &broadcast, &one).unwrap_err();
    assert_eq!(error, SearchError::Bound(BoundError::TooFewHops { least: 2 }));
    // Directly, from the root only, or to it.
    let full = build_full(5, 1).unwrap();
    for kind in [CollectiveKind::Broadcast(Vertex(2)), CollectiveKind::Reduce(Vertex(2))] {
        let frontier = search(&full, &kind.into(), &one);
        assert_eq!(list_points(&frontier), [[1, 1, 1]]);
        assert!(frontier.is_complete);
    }
    // An AllReduce takes one hop where all exchange all they have, and two over roots.
    let ring = build_ring(4).unwrap();
    let two_hops = find_frontier(&full, &CollectiveKind::AllReduce.into(), &two).unwrap();
    assert_eq!(list_points(&two_hops)[..2], [[1, 5, 1], [2, 2, 1]]);
    let error = find_frontier(&ring, &CollectiveKind::AllReduce.into(), &one).unwrap_err();
    assert_eq!(error, SearchError::Bound(BoundError::TooFewHops { least: 2 }));
    // A sum that several ranks get.
    let sum = demand(vec![Demand::sum(list(&[0, 1, 2]), list(&[0, 1]), 1)]);
    for max_hops in [1, 2] {
        let request = FrontierRequest { max_hops: Some(max_hops), ..one };
        assert!(!search(&full, &sum, &request).points.is_empty());
    }
}

#[test]
fn too_many_values_are_refused() {
    let full = build_full(3, 1).unwrap();
    let many = demand(vec![
        Demand::copy(Vertex(0), list(&[1]), 1_000_003),
        Demand::copy(Vertex(1), list(&[2]), 999_983),
    ]);
    let error = find_frontier(&full, &many, &FrontierRequest::default()).unwrap_err();
    assert_eq!(error, SearchError::TooLarge);
}

/// All schedules of one piece for each unit: what ranks can have after steps of so many rounds.
struct EverySchedule<'a> {
    topology: &'a Topology,
    units: &'a [Unit],
}

/// For each unit and rank the origins whose contributions it has, one bit each.
type Holdings = Vec<Vec<u8>>;

impl EverySchedule<'_> {
    fn begin(&self) -> Holdings {
        let held = |unit: &Unit| {
            let own = |rank: Vertex| if unit.has_origin(rank) { 1 << rank.0 } else { 0 };
            self.topology.ranks().map(own).collect()
        };
        self.units.iter().map(held).collect()
    }

    fn is_end(&self, held: &Holdings) -> bool {
        self.units.iter().zip(held).all(|(unit, held)| {
            unit.receivers.iter().enumerate().all(|(index, receiver)| {
                let needed: u8 =
                    unit.find_summands(index).iter().map(|origin| 1_u8 << origin.0).sum();
                held[receiver.0 as usize] == needed
            })
        })
    }

    /// Whether a schedule of so many steps and rounds exists.
    fn exists(&self, steps: u32, rounds: u64) -> bool {
        let mut states: BTreeSet<(u64, Holdings)> = BTreeSet::from([(0, self.begin())]);
        for step in 0..steps {
            let later = u64::from(steps - step - 1);
            let mut next = BTreeSet::new();
            for (used, held) in &states {
                for own in 1..=rounds.saturating_sub(used + later) {
                    let mut reached = BTreeSet::new();
                    let weights: Vec<u64> =
                        self.topology.weighted_edges().map(|(_, weight)| weight * own).collect();
                    self.extend(held, &weights, 0, &mut vec![Vec::new(); held.len()], &mut reached);
                    next.extend(reached.into_iter().map(|held| (used + own, held)));
                }
            }
            states = next;
        }
        states.iter().any(|(_, held)| self.is_end(held))
    }

    /// Chooses what the edge carries, and then all after it: pairs of an edge and whether it is a copy, for each unit.
    fn extend(
        &self,
        held: &Holdings,
        room: &[u64],
        edge: usize,
        moves: &mut Vec<Vec<(usize, bool)>>,
        reached: &mut BTreeSet<Holdings>,
    ) {
        if edge == room.len() {
            reached.extend(self.apply(held, moves));
            return;
        }
        // In base 3: nothing, added, copied.
        for code in 0..3_u32.pow(held.len() as u32) {
            let digit = |unit: usize| code / 3_u32.pow(unit as u32) % 3;
            let chosen = (0..held.len()).filter(|unit| digit(*unit) > 0);
            let is_sum = |unit: &usize| self.units[*unit].is_sum();
            if chosen.clone().count() as u64 > room[edge]
                || chosen.clone().any(|unit| !is_sum(&unit) && digit(unit) == 1)
            {
                continue;
            }
            let from = self.topology.edges()[edge].from.0 as usize;
            if chosen.clone().any(|unit| held[unit][from] == 0) {
                continue;
            }
            chosen.clone().for_each(|unit| moves[unit].push((edge, digit(unit) == 2)));
            self.extend(held, room, edge + 1, moves, reached);
            chosen.for_each(|unit| assert!(moves[unit].pop().is_some()));
        }
    }

    fn apply(&self, held: &Holdings, moves: &[Vec<(usize, bool)>]) -> Option<Holdings> {
        let mut after = held.clone();
        for ((before, after), moves) in held.iter().zip(&mut after).zip(moves) {
            for (index, &(edge, is_copy)) in moves.iter().enumerate() {
                let ends = &self.topology.edges()[edge];
                let [from, to] = [ends.from, ends.to].map(|rank| rank.0 as usize);
                let is_with = |other: &&(usize, bool)| self.topology.edges()[other.0].to == ends.to;
                let comes_alone = moves.iter().filter(is_with).count() == 1;
                let sent = before[from];
                let is_right = if is_copy {
                    comes_alone && before[to] & !sent == 0
                } else {
                    after[to] & sent == 0
                };
                if !is_right || moves[..index].contains(&(edge, !is_copy)) {
                    return None;
                }
                after[to] |= sent;
            }
        }
        Some(after)
    }
}

/// Whether one piece can be copied from one rank to others in steps of one round each, over so many hops at most: for
/// each state the least number of hops over which each rank has it, plus 1, or 0.
fn exists_within_hops(topology: &Topology, unit: &Unit, steps: u32, hops: u8) -> bool {
    let ranks = topology.count_ranks() as usize;
    let mut begin = vec![0_u8; ranks];
    begin[unit.origins[0].0 as usize] = 1;
    let mut states = BTreeSet::from([begin]);
    for _ in 0..steps {
        let mut next = BTreeSet::new();
        for state in &states {
            for choice in 0..1_u32 << topology.edges().len() {
                let mut after = state.clone();
                for (index, edge) in topology.edges().iter().enumerate() {
                    let from = state[edge.from.0 as usize];
                    let to = &mut after[edge.to.0 as usize];
                    if choice >> index & 1 == 1 && from > 0 && (*to == 0 || *to > from + 1) {
                        *to = from + 1;
                    }
                }
                next.insert(after);
            }
        }
        states = next;
    }
    let is_end = |state: &Vec<u8>| {
        let mut held = unit.receivers.iter().map(|rank| state[rank.0 as usize]);
        held.all(|held| held > 0 && held <= hops + 1)
    };
    states.iter().any(is_end)
}

#[test]
fn limits_on_hops_rule_out_longer_ways() {
    let mut random = fastrand::Rng::with_seed(31);
    let mut counts = [0; 2];
    for _ in 0..60 {
        let ranks = random.u32(4..6);
        let mut graph = RelativeGraph::new(ranks);
        for _ in 0..random.u32(5..9) {
            let [from, to] = [(); 2].map(|()| Vertex(random.u32(0..ranks)));
            if from != to {
                graph.add_edge(from, to, 1);
            }
        }
        graph.add_edge(Vertex(0), Vertex(1), 1);
        let topology = graph.build().unwrap();
        let receivers = draw_subset(&mut random, 1..ranks);
        let collective = demand(vec![Demand::copy(Vertex(0), receivers, 1)]);
        let units = list_units(&collective, ranks);
        let Some(unit) = units.first() else { continue };
        for hops in 1..=3_u8 {
            for steps in 1..=3 {
                let point = SchedulePoint { steps, rounds: u64::from(steps), chunks: 1 };
                let request = FrontierRequest {
                    engine: SearchEngine::Solver,
                    max_hops: Some(hops.into()),
                    ..FrontierRequest::default()
                };
                let Ok(found) = search_point(&topology, &collective, point, &request) else {
                    // Unreachable, or by too many hops only.
                    assert!(!exists_within_hops(&topology, unit, steps, hops));
                    continue;
                };
                let is_found = matches!(found.verdict, PointVerdict::Found { .. });
                assert_eq!(is_found, exists_within_hops(&topology, unit, steps, hops));
                if let PointVerdict::Found { schedule, .. } = &found.verdict {
                    assert!(measure_hops(&units, schedule) <= u32::from(hops));
                }
                counts[usize::from(is_found)] += 1;
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 25), "{counts:?}");
}

/// A machine of direct links of rate 1 or 2, and one unit or two.
fn draw_case(random: &mut fastrand::Rng) -> (Topology, Collective) {
    let ranks = random.u32(3..5);
    let mut graph = RelativeGraph::new(ranks);
    let mut edges = 0;
    for from in 0..ranks {
        for to in (0..ranks).filter(|to| *to != from) {
            if edges < 7 && random.u32(0..10) < 6 {
                graph.add_edge(Vertex(from), Vertex(to), random.u64(1..3));
                edges += 1;
            }
        }
    }
    // A link of rate 1, so that the others are multiples of it.
    graph.add_edge(Vertex(0), Vertex(1), 1);
    let topology = graph.build().unwrap();
    let draw_ranks = |random: &mut fastrand::Rng, least: usize| loop {
        let drawn = draw_subset(random, 0..ranks);
        if drawn.len() >= least {
            return drawn;
        }
    };
    let mut demands = Vec::new();
    match random.u32(0..4) {
        0 => {
            for _ in 0..2 {
                let origin = Vertex(random.u32(0..ranks));
                demands.push(Demand::copy(origin, draw_ranks(random, 1), 1));
            }
        }
        1 => {
            let receiver = Vertex(random.u32(0..ranks));
            demands.push(Demand::sum(draw_ranks(random, 2), vec![receiver], 1));
        }
        2 => demands.push(Demand::sum(draw_ranks(random, 2), draw_ranks(random, 2), 1)),
        _ => {
            let Collective::Demands(scan) = build_scan(ranks, true) else { panic!() };
            demands.extend(scan.as_slice().iter().cloned());
        }
    }
    (topology, demand(demands))
}

#[test]
fn what_the_solver_finds_is_all_there_is() {
    let mut random = fastrand::Rng::with_seed(23);
    let request = FrontierRequest { engine: SearchEngine::Solver, ..FrontierRequest::default() };
    let [mut possible, mut impossible] = [0, 0];
    for _ in 0..120 {
        let (topology, collective) = draw_case(&mut random);
        let units = list_units(&collective, topology.count_ranks());
        for (steps, rounds) in [(1, 1), (1, 2), (2, 2), (2, 3)] {
            let point = SchedulePoint { steps, rounds, chunks: 1 };
            let found = match search_point(&topology, &collective, point, &request) {
                Ok(found) => found,
                Err(SearchError::Bound(
                    BoundError::Unreachable { .. } | BoundError::SingleRank,
                )) => {
                    break;
                }
                Err(error) => panic!("{error}"),
            };
            if found.units != units {
                continue;
            }
            let exists = EverySchedule { topology: &topology, units: &units }.exists(steps, rounds);
            match &found.verdict {
                PointVerdict::Found { schedule, .. } => {
                    check_schedule(&topology, &units, schedule).unwrap();
                    assert!(exists);
                    possible += 1;
                }
                PointVerdict::NotFound { reached } => {
                    assert_eq!(reached.unwrap().limit, SolverLimit::OneValue);
                    assert!(!exists, "{units:?} {point:?}");
                    impossible += 1;
                }
                PointVerdict::TooFewSteps { .. }
                | PointVerdict::BelowBound { .. }
                | PointVerdict::Impossible => {
                    assert!(!exists, "{units:?} {point:?} {:?}", found.verdict);
                    impossible += 1;
                }
            }
        }
    }
    assert!(possible > 60 && impossible > 60, "{possible} {impossible}");
}

#[test]
fn whatever_can_reach_its_receivers_has_a_schedule() {
    let mut random = fastrand::Rng::with_seed(29);
    let mut found = 0;
    for _ in 0..60 {
        let (topology, collective) = draw_case(&mut random);
        let request = FrontierRequest { conflicts: 500, ..FrontierRequest::default() };
        match find_frontier(&topology, &collective, &request) {
            Ok(_) => {
                found += usize::from(!search(&topology, &collective, &request).points.is_empty())
            }
            Err(SearchError::Bound(BoundError::Unreachable { .. } | BoundError::SingleRank)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(found > 20, "{found}");
}
