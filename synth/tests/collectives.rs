//! All bounds of a collective at once.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::bound::allreduce::bound_rooted_demands;
use synth::bound::collective::{
    Attainment, BoundRequest, BoundScope, CollectiveBounds, SweepEnd, bound_collective,
};
use synth::bound::{BoundBudget, BoundError, Completeness, ProgramBudget};
use synth::collective::{
    Collective, CollectiveKind, Demand, DemandError, DemandList, SummandGroup,
};
use synth::families::{
    BoxShape, RelativeGraph, build_boxes, build_dgx1, build_full, build_hub, build_hypercube,
    build_line, build_ring, build_star, build_two_cliques,
};
use synth::graph::{SwitchAbilities, Topology, TopologyError, Vertex};
use synth::sketch::Sketch;

const PLAIN: SwitchAbilities = SwitchAbilities { multicast: false, reduce: false };
const ABLE: SwitchAbilities = SwitchAbilities { multicast: true, reduce: true };

fn bound(topology: &Topology, collective: impl Into<Collective>) -> CollectiveBounds {
    let sketch = Sketch::default();
    bound_collective(topology, &collective.into(), &sketch, &BoundRequest::default()).unwrap()
}

/// The steps and times, as text.
fn list_points(bounds: &CollectiveBounds) -> Vec<String> {
    let points = bounds.by_steps.iter();
    points.map(|bound| format!("{}: {}", bound.steps, bound.value)).collect()
}

#[test]
fn dgx1_has_two_points_of_allgather() {
    let dgx1 = build_dgx1().unwrap();
    for kind in [CollectiveKind::AllGather, CollectiveKind::ReduceScatter] {
        let bounds = bound(&dgx1, kind);
        assert_eq!(bounds.steps.steps, 2);
        assert_eq!(bounds.bandwidth.value.to_string(), "7/6");
        assert_eq!(bounds.bandwidth.attainment, Attainment::InSteps(3));
        assert_eq!(list_points(&bounds), ["2: 3/2", "3: 7/6"]);
        assert_eq!(bounds.sweep_end, SweepEnd::ReachedBandwidth);
    }
}

#[test]
fn sweeps_end_where_they_are_told() {
    let dgx1 = build_dgx1().unwrap();
    let request = BoundRequest { max_steps: Some(2), ..BoundRequest::default() };
    let allgather = CollectiveKind::AllGather.into();
    let bounds = bound_collective(&dgx1, &allgather, &Sketch::default(), &request).unwrap();
    assert_eq!(list_points(&bounds), ["2: 3/2"]);
    assert_eq!(bounds.sweep_end, SweepEnd::MaxSteps);
    assert_eq!(bounds.bandwidth.attainment, Attainment::Unknown);
}

#[test]
fn sweeps_end_at_budgets_and_sizes() {
    let dgx1 = build_dgx1().unwrap();
    let broadcast = CollectiveKind::Broadcast(Vertex(0)).into();
    let whole = ProgramBudget::default();
    for (budget, end, count) in [
        (ProgramBudget { rounds: 2, ..whole }, SweepEnd::OutOfBudget, 1),
        // One group of values, 32 edges, up to three steps.
        (ProgramBudget { layered_variables: 96, ..whole }, SweepEnd::TooLarge, 2),
    ] {
        let request = BoundRequest { budget, ..BoundRequest::default() };
        let bounds = bound_collective(&dgx1, &broadcast, &Sketch::default(), &request).unwrap();
        assert_eq!(bounds.sweep_end, end);
        assert_eq!(bounds.by_steps.len(), count);
        let last = bounds.by_steps.last().unwrap();
        let is_stopped = matches!(last.completeness, Completeness::Stopped(BoundBudget::Rounds));
        assert_eq!(is_stopped, end == SweepEnd::OutOfBudget);
    }
}

#[test]
fn allreduce_is_compared_with_its_halves() {
    let bounds = bound(&build_line(4).unwrap(), CollectiveKind::AllReduce);
    let comparison = bounds.allreduce.unwrap();
    assert_eq!(bounds.bandwidth.value.to_string(), "1");
    assert_eq!(comparison.composed.to_string(), "3/2");
    assert_eq!(comparison.composed_per_shard.to_string(), "6");
    assert_eq!(comparison.without_abilities, None);
}

#[test]
fn every_collective_has_bounds_for_its_steps() {
    let dgx1 = build_dgx1().unwrap();
    let root = Vertex(0);
    for kind in [CollectiveKind::Scatter(root), CollectiveKind::Gather(root)] {
        assert_eq!(list_points(&bound(&dgx1, kind)), ["2: 7/6"], "{kind}");
    }
    let bounds = bound(&dgx1, CollectiveKind::AllToAll);
    assert_eq!(list_points(&bounds), ["2: 8/3"]);
    assert_eq!(bounds.bandwidth.attainment, Attainment::InSteps(2));
    for kind in [CollectiveKind::Broadcast(root), CollectiveKind::Reduce(root)] {
        let bounds = bound(&dgx1, kind);
        let points = list_points(&bounds);
        // With up to ten chunks the literature knows 3/7 and 2/5.
        assert_eq!(points[..3], ["2: 1", "3: 9/22", "4: 4/13"], "{kind}");
        assert!(bounds.by_steps[1].value < "3/7".parse().unwrap());
        assert!(bounds.by_steps[2].value < "2/5".parse().unwrap());
        assert!(bounds.by_steps.is_sorted_by(|one, next| one.value > next.value));
        assert_eq!(bounds.bandwidth.value.to_string(), "1/6");
        assert_eq!(bounds.bandwidth.attainment, Attainment::LimitOnly);
        assert_eq!(bounds.sweep_end, SweepEnd::MaxSteps);
        assert_eq!(points.len(), 7);
    }
    let bounds = bound(&dgx1, CollectiveKind::AllReduce);
    assert_eq!(list_points(&bounds)[..3], ["2: 1", "3: 1/2", "4: 1/3"]);
    assert_eq!(bounds.bandwidth.value.to_string(), "7/24");
}

#[test]
fn limits_are_told_from_bounds_that_are_reached() {
    let attainment = |topology: Result<Topology, _>, kind: CollectiveKind| {
        bound(&topology.unwrap(), kind).bandwidth.attainment
    };
    let root = Vertex(0);
    for kind in [CollectiveKind::Broadcast(root), CollectiveKind::Reduce(root)] {
        assert_eq!(attainment(build_line(2), kind), Attainment::InSteps(1));
        // The port of the root carries everything once, and the switch copies it.
        assert_eq!(attainment(build_hub(4, PLAIN), kind), Attainment::InSteps(1));
        assert_eq!(attainment(build_line(3), kind), Attainment::LimitOnly);
        assert_eq!(attainment(build_full(8, 1), kind), Attainment::LimitOnly);
        assert_eq!(attainment(build_ring(4), kind), Attainment::LimitOnly);
    }
}

/// A machine with the least times of an AllReduce: as halves, directly, and with switches that do what they can.
struct AllReduceRow {
    topology: Result<Topology, TopologyError>,
    composed: &'static str,
    plain: &'static str,
    able: Option<&'static str>,
}

#[test]
fn allreduce_is_faster_than_its_halves_on_some_machines() {
    let plain = |topology, composed, plain| AllReduceRow { topology, composed, plain, able: None };
    let able = |topology, composed, able| AllReduceRow {
        topology,
        composed,
        plain: composed,
        able: Some(able),
    };
    let boxes = |boxes, port_rate| {
        build_boxes(BoxShape {
            boxes,
            ranks: 8,
            port_rate,
            card_rate: 1,
            rails: 1,
            abilities: ABLE,
        })
    };
    for AllReduceRow { topology, composed, plain, able } in [
        plain(build_dgx1(), "7/24", "7/24"),
        plain(build_ring(8), "7/8", "7/8"),
        plain(build_hypercube(3), "7/12", "7/12"),
        plain(build_full(8, 1), "1/4", "1/4"),
        plain(build_two_cliques(4, 4), "1", "1"),
        plain(build_line(4), "3/2", "1"),
        plain(build_line(8), "7/4", "1"),
        plain(build_star(8), "7/4", "1"),
        plain(build_hub(8, PLAIN), "7/4", "7/4"),
        able(build_hub(8, ABLE), "7/4", "1"),
        able(boxes(2, 9), "3/16", "1/8"),
        able(boxes(4, 9), "31/160", "1/8"),
        able(boxes(2, 12), "15/104", "1/8"),
    ] {
        let request = BoundRequest { max_steps: Some(0), ..BoundRequest::default() };
        let kind = CollectiveKind::AllReduce.into();
        let topology = topology.unwrap();
        let bounds = bound_collective(&topology, &kind, &Sketch::default(), &request).unwrap();
        let comparison = bounds.allreduce.unwrap();
        assert_eq!(comparison.composed.to_string(), composed);
        assert_eq!(bounds.bandwidth.value.to_string(), able.unwrap_or(plain));
        let without = comparison.without_abilities.map(|value| value.to_string());
        assert_eq!(without.as_deref(), able.map(|_| plain));
    }
}

fn all(ranks: u32) -> Vec<Vertex> {
    (0..ranks).map(Vertex).collect()
}

#[test]
fn demands_of_known_collectives_are_recognized() {
    let root = Vertex(2);
    for ranks in [3, 4, 7] {
        for kind in [
            CollectiveKind::AllGather,
            CollectiveKind::ReduceScatter,
            CollectiveKind::AllToAll,
            CollectiveKind::AllReduce,
            CollectiveKind::Broadcast(root),
            CollectiveKind::Reduce(root),
            CollectiveKind::Scatter(root),
            CollectiveKind::Gather(root),
        ] {
            let mut demands = kind.list_demands(ranks).as_slice().to_vec();
            for demand in &mut demands {
                // What one has already is no demand, and the order does not matter.
                demand.count = 6;
                demand.receivers.reverse();
                if demand.origins.len() == 1 {
                    demand.receivers.push(demand.origins[0]);
                }
            }
            demands.reverse();
            let list = DemandList::new(demands.clone()).unwrap();
            let recognized = list.recognize(ranks).unwrap();
            assert_eq!((recognized.kind, recognized.factor), (kind, 6));
            // On more ranks it is another one.
            assert_eq!(list.recognize(ranks + 1), None);
            demands[0].count = 5;
            let is_single = demands.len() == 1;
            let changed = DemandList::new(demands).unwrap().recognize(ranks);
            assert_eq!(changed.is_some(), is_single, "{kind}");
        }
    }
}

#[test]
fn sums_that_several_ranks_get_have_roots() {
    // Two AllReduces of two ranks each, on a ring of four.
    let ring = build_ring(4).unwrap();
    let pairs = [[0, 1], [2, 3]].map(|pair| pair.map(Vertex).to_vec());
    let sums = pairs.map(|pair| Demand::sum(pair.clone(), pair, 1));
    let demands = DemandList::new(sums.to_vec()).unwrap();
    let bounds = bound(&ring, Collective::Demands(demands));
    assert_eq!(bounds.steps.steps, 1);
    // Both pass the two links between the ranks 0 and 3 and the others.
    assert_eq!(bounds.bandwidth.value.to_string(), "1");
    // One of three ranks on a line of three: the middle one sums up.
    let line = build_line(3).unwrap();
    let demands = DemandList::new(vec![Demand::sum(all(3), all(3), 2)]).unwrap();
    let bounds = bound(&line, Collective::Demands(demands));
    assert_eq!(bounds.collective, Collective::Known(CollectiveKind::AllReduce));
    assert_eq!(bounds.factor, 2);
    // A cut shows it, for every schedule.
    assert_eq!(bounds.bandwidth.scope, BoundScope::EverySchedule);
    assert_eq!(bounds.bandwidth.value.to_string(), "1");
    // Four of the eight ranks of a DGX-1: more than their cuts show.
    let dgx1 = build_dgx1().unwrap();
    let demands = DemandList::new(vec![Demand::sum(all(4), all(4), 1)]).unwrap();
    let bounds = bound(&dgx1, Collective::Demands(demands));
    assert_eq!(bounds.bandwidth.scope, BoundScope::RootedSums);
    assert!(bounds.bandwidth.value > "1/6".parse().unwrap());
}

#[test]
fn sums_may_have_no_root() {
    // From two ranks to two others, and nothing else: each receiver sums up.
    let mut graph = RelativeGraph::new(4);
    for [from, to] in [[0, 2], [0, 3], [1, 2], [1, 3]] {
        graph.add_edge(Vertex(from), Vertex(to), 1);
    }
    let topology = graph.build().unwrap();
    let sum = Demand::sum(all(2), vec![Vertex(2), Vertex(3)], 1);
    let demands = DemandList::new(vec![sum]).unwrap();
    let rooted = bound_rooted_demands(&topology, &demands, &ProgramBudget::default());
    assert_eq!(rooted, Err(BoundError::NoRoot));
    let bounds = bound(&topology, Collective::Demands(demands));
    assert_eq!(bounds.bandwidth.value.to_string(), "1");
    assert_eq!(bounds.bandwidth.scope, BoundScope::EverySchedule);
}

#[test]
fn counts_are_a_factor() {
    let ring = build_ring(4).unwrap();
    let each = all(4).into_iter().map(|rank| Demand::copy(rank, all(4), 5));
    let demands = DemandList::new(each.collect()).unwrap();
    let bounds = bound(&ring, Collective::Demands(demands));
    assert_eq!(bounds.collective, Collective::Known(CollectiveKind::AllGather));
    assert_eq!(bounds.factor, 5);
    assert_eq!(bounds.bandwidth.value.to_string(), "3/2");
}

#[test]
fn mistakes_in_demands_are_named() {
    let copy = Demand::copy(Vertex(0), all(2), 1);
    let wrong = |demand: Demand| DemandList::new(vec![copy.clone(), demand]).unwrap_err();
    let none = Demand { origins: Vec::new(), ..copy.clone() };
    assert_eq!(wrong(none), DemandError::NoOrigin { demand: 1 });
    assert_eq!(wrong(Demand { count: 0, ..copy.clone() }), DemandError::NoValue { demand: 1 });
    assert_eq!(wrong(Demand { count: 1 << 32, ..copy.clone() }), DemandError::TooMany);
    let group = SummandGroup(7);
    let grouped = |count| Demand { summands: Some(group), count, ..Demand::sum(all(2), all(2), 1) };
    let error = DemandList::new(vec![grouped(1), grouped(2)]).unwrap_err();
    assert_eq!(error, DemandError::DifferentCounts { group });
    assert!(DemandList::new(vec![grouped(2), grouped(2)]).is_ok());
}
