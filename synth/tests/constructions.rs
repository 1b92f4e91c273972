//! Schedules that are constructed: golden sizes, and laws on random machines.

#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::panic, reason = "a test fails where something is missing")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::collections::BTreeSet;
use synth::bound::collective::{BoundRequest, bound_collective};
use synth::collective::{Collective, CollectiveKind, Demand, DemandList};
use synth::families::{
    BoxShape, RelativeGraph, build_amd4, build_amd8, build_boxes, build_dgx1, build_full,
    build_hub, build_hypercube, build_line, build_mi250, build_ring, build_torus,
    build_two_cliques,
};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::schedule::{StepSchedule, Unit, check_schedule, list_units};
use synth::shifts::{Shift, ShiftGroup};
use synth::sketch::Sketch;
use synth::steps::ConstructionError;
use synth::steps::bfb::{find_breadth_first, schedule_breadth_first};
use synth::steps::exchange::{ExchangeEnd, ExchangeRequest, find_exchange, schedule_exchange};
use synth::steps::greedy::{GreedyOrder, GreedyOutcome, GreedyRequest, schedule_greedily};
use synth::steps::scatter::{ScatterSchedule, find_gather, find_scatter, schedule_scatter};

/// The size of a schedule, after a check that it does what the collective demands.
fn measure(topology: &Topology, kind: CollectiveKind, schedule: &StepSchedule) -> [u64; 3] {
    let units = list_units(&Collective::Known(kind), topology.count_ranks());
    assert_eq!(check_schedule(topology, &units, schedule), Ok(()), "{kind}");
    let point = schedule.measure();
    [u64::from(point.steps), point.rounds, u64::from(point.chunks)]
}

/// What one rank gets is what all ranks get, shifted.
#[test]
fn broadcasts_of_symmetric_machines_are_kept_by_shifts() {
    let abilities = SwitchAbilities::default();
    let shape = BoxShape { boxes: 3, ranks: 4, port_rate: 9, card_rate: 1, rails: 4, abilities };
    let rows: [(Topology, &[u32]); 6] = [
        (build_hypercube(4).unwrap(), &[2, 2, 2, 2]),
        (build_ring(9).unwrap(), &[9]),
        (build_ring(8).unwrap(), &[8]),
        (build_torus(3, 4).unwrap(), &[3, 4]),
        (build_hub(6, abilities).unwrap(), &[6]),
        (build_boxes(shape).unwrap(), &[3, 4]),
    ];
    for (topology, radices) in rows {
        let ranks = topology.count_ranks();
        let schedule = find_breadth_first(&topology, 6).unwrap();
        let moves: BTreeSet<[u32; 4]> = schedule
            .moves
            .iter()
            .map(|own| [own.step, own.from.0, own.to.0, own.piece.0])
            .collect();
        let chunks = schedule.chunks;
        let keeps = |shift: Shift| {
            moves.iter().all(|[step, from, to, piece]| {
                let map = |rank: u32| shift.map(Vertex(rank)).0;
                let piece = map(piece / chunks) * chunks + piece % chunks;
                moves.contains(&[*step, map(*from), map(*to), piece])
            })
        };
        let group = ShiftGroup::find(ranks, keeps).unwrap();
        let found: Vec<u32> = group.digits().iter().map(|shift| shift.radix).collect();
        assert_eq!(found, radices);
    }
}

#[test]
fn breadth_first_broadcasts_have_their_sizes() {
    let plain = SwitchAbilities::default();
    let rows = [
        ("DGX-1", build_dgx1(), [2, 3, 2]),
        ("ring 4", build_ring(4), [2, 3, 2]),
        ("ring 8", build_ring(8), [4, 7, 2]),
        ("line 8", build_line(8), [7, 7, 1]),
        ("full 8", build_full(8, 1), [1, 1, 1]),
        ("hypercube 3", build_hypercube(3), [3, 7, 3]),
        ("hypercube 4", build_hypercube(4), [4, 15, 4]),
        ("torus 4 x 4", build_torus(4, 4), [4, 15, 4]),
        ("AMD 4", build_amd4(), [2, 3, 2]),
        ("AMD 8", build_amd8(), [1, 1, 5]),
        ("MI250", build_mi250(1, 1, 1), [5, 79, 14]),
        ("hub 8", build_hub(8, plain), [1, 7, 1]),
        ("hub 16", build_hub(16, plain), [1, 15, 1]),
        ("two cliques", build_two_cliques(4, 4), [3, 19, 4]),
    ];
    for (name, topology, expected) in rows {
        let topology = topology.unwrap();
        let schedule = find_breadth_first(&topology, 16).unwrap();
        assert_eq!(measure(&topology, CollectiveKind::AllGather, &schedule), expected, "{name}");
    }
}

fn build_h100(boxes: u32, rails: u32) -> Topology {
    let abilities = SwitchAbilities::default();
    build_boxes(BoxShape { boxes, ranks: 8, port_rate: 9, card_rate: 1, rails, abilities }).unwrap()
}

#[test]
fn receivers_share_what_leads_through_switches() {
    // In the second step each rank gets a tenth of seven chunks from its rail, and the rest from its box.
    for (boxes, expected) in [(2, [2, 17, 10]), (4, [2, 51, 10])] {
        let topology = build_h100(boxes, 8);
        let schedule = find_breadth_first(&topology, 10).unwrap();
        assert_eq!(measure(&topology, CollectiveKind::AllGather, &schedule), expected);
    }
}

#[test]
fn reversed_broadcasts_are_reductions() {
    let topology = build_dgx1().unwrap();
    let reversed = topology.reverse();
    let allgather = find_breadth_first(&reversed, 4).unwrap();
    let reduce_scatter = allgather.reverse(&reversed, &topology, true);
    assert_eq!(measure(&topology, CollectiveKind::ReduceScatter, &reduce_scatter), [2, 3, 2]);
    let allreduce = reduce_scatter.chain(find_breadth_first(&topology, 4).unwrap());
    assert_eq!(measure(&topology, CollectiveKind::AllReduce, &allreduce), [4, 6, 2]);
}

#[test]
fn scatters_have_their_sizes() {
    let root = Vertex(0);
    let rows = [
        ("DGX-1", build_dgx1(), [2, 7, 6]),
        ("ring 8", build_ring(8), [4, 7, 2]),
        ("line 8", build_line(8), [7, 7, 1]),
        ("full 8", build_full(8, 1), [1, 1, 1]),
        ("hypercube 4", build_hypercube(4), [4, 15, 4]),
        ("torus 4 x 4", build_torus(4, 4), [4, 15, 4]),
        ("AMD 4", build_amd4(), [2, 3, 2]),
        ("hub 16", build_hub(16, SwitchAbilities::default()), [1, 15, 1]),
        ("two cliques", build_two_cliques(4, 4), [3, 19, 4]),
    ];
    for (name, topology, expected) in rows {
        let topology = topology.unwrap();
        let scatter = find_scatter(&topology, root, 8).unwrap();
        assert!(scatter.is_least, "{name}");
        assert_eq!(
            measure(&topology, CollectiveKind::Scatter(root), &scatter.schedule),
            expected,
            "{name}"
        );
        let gather = find_gather(&topology, root, 8).unwrap();
        assert_eq!(
            measure(&topology, CollectiveKind::Gather(root), &gather.schedule),
            expected,
            "{name}"
        );
    }
}

#[test]
fn exchanges_have_their_sizes() {
    let rows = [
        ("DGX-1", build_dgx1(), [2, 8, 3]),
        ("ring 4", build_ring(4), [2, 2, 1]),
        ("ring 8", build_ring(8), [4, 16, 2]),
        ("line 8", build_line(8), [7, 16, 1]),
        ("full 8", build_full(8, 1), [1, 1, 1]),
        ("hypercube 3", build_hypercube(3), [3, 4, 1]),
        ("hypercube 4", build_hypercube(4), [4, 8, 1]),
        ("torus 4 x 4", build_torus(4, 4), [4, 8, 1]),
        ("AMD 4", build_amd4(), [2, 2, 1]),
        ("hub 8", build_hub(8, SwitchAbilities::default()), [1, 7, 1]),
        ("two cliques", build_two_cliques(4, 4), [3, 16, 1]),
    ];
    for (name, topology, expected) in rows {
        let topology = topology.unwrap();
        let units = list_units(&CollectiveKind::AllToAll.into(), topology.count_ranks());
        let request = ExchangeRequest { max_chunks: 3, ..ExchangeRequest::default() };
        let found = find_exchange(&topology, &units, &request).unwrap();
        assert_eq!(
            measure(&topology, CollectiveKind::AllToAll, &found.schedule),
            expected,
            "{name}"
        );
    }
}

/// A greedy schedule.
fn search(topology: &Topology, units: &[Unit], request: GreedyRequest) -> StepSchedule {
    match schedule_greedily(topology, units, &request).unwrap() {
        GreedyOutcome::Found(schedule) => schedule,
        GreedyOutcome::Stopped { missing } => panic!("{missing} are missing"),
    }
}

#[test]
fn greedy_schedules_are_near_the_bounds() {
    let rows = [
        ("DGX-1", build_dgx1().unwrap(), 4, [5, 5, 4]),
        ("ring 8", build_ring(8).unwrap(), 2, [4, 7, 2]),
        ("line 8", build_line(8).unwrap(), 1, [7, 7, 1]),
        ("hub 16", build_hub(16, SwitchAbilities::default()).unwrap(), 1, [12, 15, 1]),
        ("hypercube 7", build_hypercube(7).unwrap(), 1, [19, 19, 1]),
        ("H100, 16 boxes", build_h100(16, 8), 1, [16, 16, 1]),
    ];
    for (name, topology, chunks, expected) in rows {
        let units = list_units(&CollectiveKind::AllGather.into(), topology.count_ranks());
        let request = GreedyRequest { chunks, ..GreedyRequest::default() };
        let schedule = search(&topology, &units, request);
        assert_eq!(measure(&topology, CollectiveKind::AllGather, &schedule), expected, "{name}");
        assert_eq!(search(&topology, &units, request), schedule, "{name}");
    }
}

#[test]
fn seeds_and_orders_matter() {
    let topology = build_torus(4, 4).unwrap();
    let units = list_units(&CollectiveKind::AllGather.into(), 16);
    let find = |seed, order| {
        let request = GreedyRequest { chunks: 2, seed, order, ..GreedyRequest::default() };
        let schedule = search(&topology, &units, request);
        measure(&topology, CollectiveKind::AllGather, &schedule);
        schedule
    };
    let (first, second) = (find(1, GreedyOrder::Rarest), find(2, GreedyOrder::Rarest));
    assert_ne!(first, second);
    assert_eq!(first, find(1, GreedyOrder::Rarest));
    // The rarest pieces are new ones, so that their steps cannot be merged.
    let [steps, ..] = [first, find(1, GreedyOrder::Earliest)].map(|own| own.measure().steps);
    assert!(find(1, GreedyOrder::Earliest).measure().steps < steps);
}

#[test]
fn budgets_end_searches() {
    let topology = build_ring(8).unwrap();
    let units = list_units(&CollectiveKind::AllGather.into(), 8);
    let stop = |max_moves| {
        let request = GreedyRequest { max_moves, ..GreedyRequest::default() };
        schedule_greedily(&topology, &units, &request).unwrap()
    };
    assert_eq!(stop(0), GreedyOutcome::Stopped { missing: 56 });
    assert_eq!(stop(50), GreedyOutcome::Stopped { missing: 6 });
    assert!(matches!(stop(56), GreedyOutcome::Found(_)));
    let topology = build_mi250(1, 1, 1).unwrap();
    let units = list_units(&CollectiveKind::AllToAll.into(), 16);
    let find = |max_work| {
        let request = ExchangeRequest { max_chunks: 1, max_work };
        let found = schedule_exchange(&topology, &units, &request).unwrap();
        (measure(&topology, CollectiveKind::AllToAll, &found.schedule), found.end)
    };
    let (stopped, end) = find(0);
    assert_eq!(end, ExchangeEnd::Stopped);
    let (settled, end) = find(1 << 26);
    assert_eq!(end, ExchangeEnd::Settled);
    assert!(settled[1] < stopped[1], "{settled:?}, {stopped:?}");
}

#[test]
fn ends_of_exchanges_are_told() {
    let end_of = |topology: Topology, chunks| {
        let units = list_units(&CollectiveKind::AllToAll.into(), topology.count_ranks());
        let request = ExchangeRequest { max_chunks: chunks, ..ExchangeRequest::default() };
        let found = schedule_exchange(&topology, &units, &request).unwrap();
        (found.schedule.measure().rounds, found.end)
    };
    // All edges are full.
    assert_eq!(end_of(build_hypercube(3).unwrap(), 1), (4, ExchangeEnd::Least));
    // The ports are.
    let hub = build_hub(8, SwitchAbilities::default()).unwrap();
    assert_eq!(end_of(hub, 2), (14, ExchangeEnd::Least));
    // The bridge is, which is not seen.
    assert_eq!(end_of(build_two_cliques(4, 4).unwrap(), 1), (16, ExchangeEnd::Settled));
}

#[test]
fn mistakes_are_named() {
    let root = Vertex(0);
    let line = build_line(3).unwrap();
    let no_chunks = Err(ConstructionError::NoChunks);
    assert_eq!(schedule_breadth_first(&line, 0), no_chunks);
    assert_eq!(find_breadth_first(&line, 0), no_chunks);
    assert_eq!(find_scatter(&line, root, 0).map(|_| ()), no_chunks.clone().map(|_| ()));
    let far = Vertex(3);
    let out_of_range = ConstructionError::RootOutOfRange { root: far };
    assert_eq!(schedule_scatter(&line, far, 1), Err(out_of_range));
    let too_large = Err(ConstructionError::TooLarge);
    assert_eq!(schedule_breadth_first(&line, u32::MAX), too_large);
    assert_eq!(schedule_scatter(&line, root, u32::MAX).map(|_| ()), too_large.clone().map(|_| ()));
    // Rank 2 is only reached.
    let mut graph = RelativeGraph::new(3);
    graph.add_link(Vertex(0), Vertex(1), 1);
    graph.add_edge(Vertex(1), Vertex(2), 1);
    let one_way = graph.build().unwrap();
    let unreachable = ConstructionError::Unreachable { from: Vertex(2), to: Vertex(0) };
    assert_eq!(schedule_breadth_first(&one_way, 1), Err(unreachable));
    assert_eq!(find_gather(&one_way, root, 1), Err(unreachable));
    assert_eq!(find_scatter(&one_way, Vertex(2), 1), Err(unreachable));
    let request = GreedyRequest::default();
    let units = |collective: CollectiveKind| list_units(&collective.into(), 3);
    let allgather = units(CollectiveKind::AllGather);
    assert_eq!(schedule_greedily(&one_way, &allgather, &request), Err(unreachable));
    let exchange = ExchangeRequest::default();
    let alltoall = units(CollectiveKind::AllToAll);
    assert!(matches!(
        schedule_exchange(&one_way, &alltoall, &exchange),
        Err(ConstructionError::Unreachable { from: Vertex(2), .. })
    ));
    let unfit = ConstructionError::UnfitUnit { unit: 0 };
    let reduce_scatter = units(CollectiveKind::ReduceScatter);
    assert_eq!(schedule_greedily(&line, &reduce_scatter, &request), Err(unfit));
    assert_eq!(schedule_exchange(&line, &allgather, &exchange), Err(unfit));
    for bad in [
        Unit::new(Vec::new(), vec![root]),
        Unit::new(vec![far], vec![root]),
        Unit::new(vec![root], vec![far]),
    ] {
        let expected = ConstructionError::BadUnit { unit: 1 };
        let units = [alltoall[1].clone(), bad];
        assert_eq!(schedule_greedily(&line, &units, &request), Err(expected));
        assert_eq!(schedule_exchange(&line, &units, &exchange), Err(expected));
    }
}

#[test]
fn one_rank_has_everything() {
    let topology = build_line(1).unwrap();
    let schedule = schedule_breadth_first(&topology, 3).unwrap();
    assert_eq!(measure(&topology, CollectiveKind::AllGather, &schedule), [0, 0, 3]);
    let scatter = find_scatter(&topology, Vertex(0), 3).unwrap();
    assert_eq!(
        measure(&topology, CollectiveKind::Scatter(Vertex(0)), &scatter.schedule),
        [0, 0, 1]
    );
    let units = list_units(&CollectiveKind::AllToAll.into(), 1);
    let exchange = find_exchange(&topology, &units, &ExchangeRequest::default()).unwrap();
    assert_eq!(measure(&topology, CollectiveKind::AllToAll, &exchange.schedule), [0, 0, 1]);
}

/// A machine of up to eight ranks and three switches, whose links have other rates in each direction, if at all, and
/// where all ranks reach one another.
fn draw_topology(random: &mut fastrand::Rng) -> Topology {
    loop {
        let ranks = random.u32(2..9);
        let vertices = ranks + random.u32(0..4);
        let mut graph = RelativeGraph::new(ranks);
        for _ in ranks..vertices {
            graph.add_switch(SwitchAbilities::default());
        }
        let density = random.f64();
        for from in 0..vertices {
            for to in 0..vertices {
                if from != to && random.f64() < density {
                    graph.add_edge(Vertex(from), Vertex(to), random.u64(1..6));
                }
            }
        }
        let topology = graph.build().unwrap();
        if topology.check_reachability().is_ok() {
            return topology;
        }
    }
}

/// Checks a schedule, that it is not better than the bound for as many steps, and whether it has the least number of
/// them.
fn check_bound(
    topology: &Topology,
    collective: &Collective,
    schedule: &StepSchedule,
    is_shortest: bool,
) {
    let units = list_units(collective, topology.count_ranks());
    assert_eq!(check_schedule(topology, &units, schedule), Ok(()), "{topology:?}");
    let point = schedule.measure();
    let request = BoundRequest { max_steps: Some(point.steps), ..BoundRequest::default() };
    let bounds = bound_collective(topology, collective, &Sketch::default(), &request).unwrap();
    assert!(point.steps >= bounds.steps.steps);
    assert!(!is_shortest || point.steps == bounds.steps.steps);
    let time = point.compute_time(topology).unwrap();
    let bound = bounds.by_steps.last().map_or(bounds.bandwidth.value, |last| last.value);
    let bound = bound.checked_mul(synth::rational::Rational::from_integer(bounds.factor)).unwrap();
    assert!(time >= bound, "{collective:?}: {time} is less than {bound} on {topology:?}");
}

#[test]
fn random_machines_have_valid_schedules_above_the_bounds() {
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..40 {
        let topology = draw_topology(&mut random);
        let ranks = topology.count_ranks();
        let root = Vertex(random.u32(0..ranks));
        let chunks = random.u32(1..4);
        let known = Collective::Known;
        let allgather = find_breadth_first(&topology, chunks).unwrap();
        check_bound(&topology, &known(CollectiveKind::AllGather), &allgather, true);
        let scatter = find_scatter(&topology, root, chunks).unwrap();
        check_bound(&topology, &known(CollectiveKind::Scatter(root)), &scatter.schedule, true);
        check_least_scatter(&topology, root, &scatter);
        let gather = find_gather(&topology, root, chunks).unwrap();
        check_bound(&topology, &known(CollectiveKind::Gather(root)), &gather.schedule, true);
        let alltoall = known(CollectiveKind::AllToAll);
        let request = ExchangeRequest { max_chunks: chunks, ..ExchangeRequest::default() };
        let exchange = find_exchange(&topology, &list_units(&alltoall, ranks), &request).unwrap();
        check_bound(&topology, &alltoall, &exchange.schedule, true);
        let request = GreedyRequest { chunks, seed: random.u64(0..3), ..GreedyRequest::default() };
        for kind in [
            CollectiveKind::AllGather,
            CollectiveKind::AllToAll,
            CollectiveKind::Broadcast(root),
            CollectiveKind::Scatter(root),
        ] {
            let units = list_units(&known(kind), ranks);
            check_bound(&topology, &known(kind), &search(&topology, &units, request), false);
        }
        check_reversed_greedy(&topology, root, request);
        check_demands(&mut random, &topology, request);
    }
}

/// No schedule of as many steps and pieces that is found in another way takes fewer rounds than the least.
fn check_least_scatter(topology: &Topology, root: Vertex, scatter: &ScatterSchedule) {
    assert!(scatter.is_least);
    let units = list_units(&CollectiveKind::Scatter(root).into(), topology.count_ranks());
    let point = scatter.schedule.measure();
    let request = ExchangeRequest { max_chunks: point.chunks, ..ExchangeRequest::default() };
    let other = schedule_exchange(topology, &units, &request).unwrap().schedule.measure();
    assert!(other.steps == point.steps && other.rounds >= point.rounds, "{topology:?}");
}

/// What is copied greedily on the reversed machine is added up when it runs backwards.
fn check_reversed_greedy(topology: &Topology, root: Vertex, request: GreedyRequest) {
    let reversed = topology.reverse();
    for kind in [CollectiveKind::ReduceScatter, CollectiveKind::Reduce(root)] {
        let forward = kind.reverse().unwrap();
        let units = list_units(&forward.into(), topology.count_ranks());
        let schedule = search(&reversed, &units, request).reverse(&reversed, topology, true);
        check_bound(topology, &kind.into(), &schedule, false);
    }
}

/// Copies to some of the ranks, and sums of the contributions of some: these run backwards.
fn check_demands(random: &mut fastrand::Rng, topology: &Topology, request: GreedyRequest) {
    let ranks = topology.count_ranks();
    let demands = (0..3).map(|_| {
        let origin = Vertex(random.u32(0..ranks));
        let receivers = topology.ranks().filter(|rank| *rank != origin && random.bool()).collect();
        Demand::copy(origin, receivers, random.u64(1..3))
    });
    let demands = DemandList::new(demands.collect()).unwrap();
    if demands.as_slice().is_empty() {
        return;
    }
    let collective = Collective::Demands(demands);
    let units = list_units(&collective, ranks);
    let schedule = search(topology, &units, request);
    check_bound(topology, &collective, &schedule, false);
    let reversed = topology.reverse();
    let sums = units.into_iter().map(|unit| {
        let mut origins = unit.receivers;
        let place = origins.partition_point(|rank| *rank < unit.origins[0]);
        origins.insert(place, unit.origins[0]);
        Unit::new(origins, unit.origins)
    });
    let sums: Vec<Unit> = sums.collect();
    let backwards = schedule.reverse(topology, &reversed, true);
    assert_eq!(check_schedule(&reversed, &sums, &backwards), Ok(()));
}
