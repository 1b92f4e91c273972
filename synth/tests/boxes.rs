//! AllToAlls on machines of boxes: sizes that follow from the machines, and laws on random machines and amounts.

#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[path = "support/machines.rs"]
mod machines;

use machines::{boxes, build_mi300x};
use std::collections::BTreeMap;
use synth::bound::alltoall::bound_alltoall;
use synth::collective::{Collective, CollectiveKind};
use synth::families::{RelativeGraph, build_dgx1, build_two_cliques};
use synth::frontier::{FrontierRequest, PointStatus, find_frontier};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;
use synth::schedule::{check_schedule, list_units};
use synth::steps::boxes::{
    BoxError, BoxGrouping, BoxIndex, BoxOrder, BoxRequest, BoxSchedule, BoxSearchRequest,
    BoxWitness, TrafficMatrix, bound_box_alltoall, construct_box_alltoall, find_box_alltoalls,
};

const PLAIN: SwitchAbilities = SwitchAbilities { multicast: false, reduce: false };

fn request(max_chunks: u32) -> BoxSearchRequest {
    BoxSearchRequest { max_chunks, ..BoxSearchRequest::default() }
}

/// Schedules of an AllToAll, after a check that they do what it demands.
fn find_uniform(topology: &Topology, max_chunks: u32) -> Vec<BoxSchedule> {
    let grouping = BoxGrouping::find(topology).unwrap();
    let traffic = TrafficMatrix::uniform(topology.count_ranks()).unwrap();
    let found =
        find_box_alltoalls(topology, &grouping, &traffic, &request(max_chunks)).unwrap().schedules;
    let units = list_units(&Collective::Known(CollectiveKind::AllToAll), topology.count_ranks());
    for own in &found {
        assert_eq!(check_schedule(topology, &units, &own.schedule), Ok(()));
        assert!(own.bound.value <= bound_alltoall(topology).unwrap().value);
        assert!(own.bound.value <= own.time);
    }
    found
}

fn list_sizes(found: &[BoxSchedule]) -> Vec<[u64; 3]> {
    let size = |own: &BoxSchedule| {
        let point = own.schedule.measure();
        [u64::from(point.steps), point.rounds, u64::from(point.chunks)]
    };
    found.iter().map(size).collect()
}

/// Boxes of 8 with a leaf switch for each rail, which four spines join; they carry a part of what the cards do.
fn build_spines(count: u32, oversubscription: u64) -> Topology {
    let mut graph = RelativeGraph::new(8 * count);
    let inside: Vec<Vertex> = (0..count).map(|_| graph.add_switch(PLAIN)).collect();
    let leaves: Vec<Vertex> = (0..8).map(|_| graph.add_switch(PLAIN)).collect();
    let spines: Vec<Vertex> = (0..4).map(|_| graph.add_switch(PLAIN)).collect();
    for rank in 0..8 * count {
        graph.add_link(Vertex(rank), inside[rank as usize / 8], 9 * 8);
        graph.add_link(Vertex(rank), leaves[rank as usize % 8], 8);
    }
    for leaf in &leaves {
        for spine in &spines {
            graph.add_link(*leaf, *spine, 2 * u64::from(count) / oversubscription);
        }
    }
    graph.build().unwrap()
}

/// Boxes of 8 on a switch, of which each second rank has a card.
fn build_gateways(count: u32) -> Topology {
    let mut graph = RelativeGraph::new(8 * count);
    let inside: Vec<Vertex> = (0..count).map(|_| graph.add_switch(PLAIN)).collect();
    let rails: Vec<Vertex> = (0..4).map(|_| graph.add_switch(PLAIN)).collect();
    for rank in 0..8 * count {
        graph.add_link(Vertex(rank), inside[rank as usize / 8], 12);
        if rank % 2 == 0 {
            graph.add_link(Vertex(rank), rails[rank as usize / 2 % 4], 1);
        }
    }
    graph.build().unwrap()
}

#[test]
fn two_steps_are_enough_on_rails() {
    // Each card carries what eight ranks have for one of each other box.
    for (count, port_rate) in [(2, 9), (4, 9), (16, 9), (2, 12), (3, 18)] {
        let found = find_uniform(&boxes(count, 8, port_rate, 8), 1);
        assert_eq!(list_sizes(&found), [[2, u64::from(8 * (count - 1)), 1]]);
        assert!(found[0].is_least());
        assert_eq!(found[0].bound.witness, BoxWitness::BoxSends(BoxIndex(0)));
    }
    // Cards at four fifths of the ports' rate: 24 chunks at a rate of 4, and 28 at a rate of 5.
    let mut graph = RelativeGraph::new(32);
    let switches: Vec<Vertex> = (0..12).map(|_| graph.add_switch(PLAIN)).collect();
    for rank in 0..32 {
        graph.add_link(Vertex(rank), switches[rank as usize / 8], 5);
        graph.add_link(Vertex(rank), switches[4 + rank as usize % 8], 4);
    }
    let topology = graph.build().unwrap();
    let grouping = BoxGrouping::of_size(&topology, 8).unwrap();
    let traffic = TrafficMatrix::uniform(32).unwrap();
    let found = find_box_alltoalls(&topology, &grouping, &traffic, &request(1)).unwrap().schedules;
    assert_eq!(list_sizes(&found), [[2, 6, 1]]);
    assert!(found[0].is_least());
}

#[test]
fn one_step_is_enough_where_all_are_joined() {
    for count in [2, 4] {
        let rounds = u64::from(8 * (count - 1));
        assert_eq!(list_sizes(&find_uniform(&boxes(count, 8, 9, 1), 1)), [[1, rounds, 1]]);
    }
    // Half of 56 * 7 chunks per leaf and spine: 84 at a rate of 4; two steps do not need spines.
    let found = find_uniform(&build_spines(4, 2), 2);
    assert_eq!(list_sizes(&found[..1]), [[1, 21, 1]]);
    assert!(found[1].is_least() && found[1].schedule.rounds.len() == 2);
    assert_eq!(found[1].time, Rational::from_integer(3));
}

#[test]
fn few_cards_are_reached_through_boxes() {
    // Four cards for 64 chunks between each two boxes, one after another through three ranks at least.
    for count in [2, 3] {
        let topology = build_gateways(count);
        let found = find_uniform(&topology, 4);
        assert_eq!(found[0].schedule.rounds.len(), 3);
        let best = found.last().unwrap();
        let bound = Rational::from_integer(u64::from(16 * (count - 1)));
        assert_eq!(best.bound.value, bound);
        let tenth = bound.checked_div(Rational::from_integer(10)).unwrap();
        assert!(best.time < bound.checked_add(tenth).unwrap(), "{}", best.time);
    }
    let found = find_uniform(&build_two_cliques(4, 4).unwrap(), 12);
    assert_eq!(found[0].bound.value, Rational::from_integer(16));
    assert_eq!(found[0].schedule.rounds.len(), 3);
}

#[test]
fn frontiers_take_what_boxes_give() {
    let found = find_frontier(
        &boxes(4, 8, 9, 8),
        &CollectiveKind::AllToAll.into(),
        &FrontierRequest::default(),
    );
    let found = found.unwrap();
    assert!(found.is_complete);
    assert_eq!(found.points.len(), 1);
    assert_eq!(found.points[0].status, PointStatus::Optimal);
    assert_eq!(found.points[0].time, Rational::from_integer(24));
}

#[test]
fn machines_without_lanes_are_refused() {
    let dgx1 = build_dgx1().unwrap();
    let grouping = BoxGrouping::of_size(&dgx1, 4).unwrap();
    let traffic = TrafficMatrix::uniform(8).unwrap();
    let request = |order| BoxRequest { max_chunks: 1, order };
    let construct =
        |order| construct_box_alltoall(&dgx1, &grouping, &traffic, &request(order)).map(|_| ());
    let [from, to] = [Vertex(0), Vertex(5)];
    assert!(matches!(construct(BoxOrder::Direct), Err(BoxError::NoHop { .. })));
    assert!(construct(BoxOrder::Parts(2)).is_ok(), "its halves are joined pairwise");
    assert_eq!(construct(BoxOrder::Parts(0)), Err(BoxError::NoParts));
    let mut graph = RelativeGraph::new(6);
    graph.add_link(from, Vertex(1), 2);
    graph.add_link(Vertex(1), Vertex(2), 2);
    for [one, other] in [[3, 4], [4, 5], [5, 3]] {
        graph.add_link(Vertex(one), Vertex(other), 2);
    }
    graph.add_link(from, to, 1);
    let topology = graph.build().unwrap();
    let grouping = BoxGrouping::find(&topology).unwrap();
    let construct = |traffic: &TrafficMatrix| {
        let request = BoxRequest { max_chunks: 1, order: BoxOrder::Parts(2) };
        construct_box_alltoall(&topology, &grouping, traffic, &request).map(|_| ())
    };
    let split = construct(&TrafficMatrix::uniform(6).unwrap());
    assert_eq!(split, Err(BoxError::SplitBox { from, to: Vertex(2) }));
    assert_eq!(construct(&TrafficMatrix::uniform(5).unwrap()), Err(BoxError::BadMatrix));
}

/// Amounts in which a few pairs of ranks have much, and many have nothing.
fn build_skewed(ranks: u32, random: &mut fastrand::Rng) -> TrafficMatrix {
    let count = |random: &mut fastrand::Rng| match random.u32(0..8) {
        0 => random.u64(0..60),
        1..4 => random.u64(0..6),
        _ => 0,
    };
    let rows = (0..ranks).map(|_| (0..ranks).map(|_| count(random)).collect()).collect();
    TrafficMatrix::from_rows(rows).unwrap()
}

#[test]
fn any_amounts_arrive_and_stay_above_the_bound() {
    let mut random = fastrand::Rng::with_seed(11);
    let machines = [
        boxes(2, 4, 3, 4),
        boxes(3, 4, 3, 2),
        boxes(3, 3, 5, 1),
        boxes(5, 2, 2, 2),
        build_mi300x(2),
        build_gateways(2),
        build_two_cliques(3, 4).unwrap(),
    ];
    let orders = [
        BoxOrder::Direct,
        BoxOrder::RelayFirst,
        BoxOrder::Parts(1),
        BoxOrder::Parts(2),
        BoxOrder::Parts(5),
        BoxOrder::Permutations,
    ];
    for round in 0..6 {
        for topology in &machines {
            let traffic = build_skewed(topology.count_ranks(), &mut random);
            let grouping = BoxGrouping::find(topology).unwrap();
            for order in orders {
                let request = BoxRequest { max_chunks: 1 + round % 2, order };
                let found = construct_box_alltoall(topology, &grouping, &traffic, &request);
                let Ok(found) = found else {
                    assert!(matches!(order, BoxOrder::Direct | BoxOrder::RelayFirst), "{found:?}");
                    continue;
                };
                let check = check_schedule(topology, &traffic.list_units(), &found.schedule);
                assert_eq!(check, Ok(()), "{order:?}");
                assert!(found.bound.value <= found.time);
                if order == BoxOrder::Permutations {
                    check_permutations(&grouping, &found);
                }
            }
        }
    }
}

/// No box sends to two boxes in a step, or gets something from two.
fn check_permutations(grouping: &BoxGrouping, found: &BoxSchedule) {
    let size = grouping.boxes().len();
    assert!(found.terms.len() <= size * size + 2 - 2 * size);
    assert!(found.schedule.rounds.len() <= found.terms.len() + 2);
    let find_box = |rank: Vertex| grouping.boxes().iter().position(|own| own.contains(&rank));
    let mut partners: BTreeMap<(u32, bool, Option<usize>), Option<usize>> = BTreeMap::new();
    for own in &found.schedule.moves {
        let [from, to] = [own.from, own.to].map(find_box);
        if from != to {
            for (is_sender, one, other) in [(true, from, to), (false, to, from)] {
                let partner = partners.entry((own.step, is_sender, one)).or_insert(other);
                assert_eq!(*partner, other);
            }
        }
    }
}

#[test]
fn dense_amounts_come_near_the_bound() {
    let mut random = fastrand::Rng::with_seed(12);
    for topology in [boxes(2, 8, 9, 8), boxes(4, 8, 9, 8), boxes(4, 8, 9, 1)] {
        let ranks = topology.count_ranks();
        let rows = (0..ranks).map(|_| (0..ranks).map(|_| random.u64(0..32)).collect()).collect();
        let traffic = TrafficMatrix::from_rows(rows).unwrap();
        let grouping = BoxGrouping::find(&topology).unwrap();
        let found =
            find_box_alltoalls(&topology, &grouping, &traffic, &request(1)).unwrap().schedules;
        let best = found.last().unwrap();
        // Whole pieces on each lane, and what is moved before the first part and after the last one.
        let limit = best.bound.value.checked_mul("21/20".parse().unwrap()).unwrap();
        assert!(best.time <= limit, "{} for a bound of {}", best.time, best.bound.value);
    }
}

/// Only the amounts of some pairs; nothing else.
fn build_traffic(ranks: u32, entries: &[[u64; 3]]) -> TrafficMatrix {
    let mut rows = vec![vec![0; ranks as usize]; ranks as usize];
    for [from, to, count] in entries {
        rows[*from as usize][*to as usize] = *count;
    }
    TrafficMatrix::from_rows(rows).unwrap()
}

#[test]
fn bounds_name_what_binds() {
    let topology = boxes(3, 4, 3, 4);
    let grouping = BoxGrouping::find(&topology).unwrap();
    let bound = |entries: &[[u64; 3]]| {
        let traffic = build_traffic(12, entries);
        let bound = bound_box_alltoall(&topology, &grouping, &traffic).unwrap();
        (bound.value.to_string(), bound.witness)
    };
    // Four cards of rate 1 out of the box.
    let sends = bound(&[[0, 4, 6], [1, 8, 6], [2, 9, 6]]);
    assert_eq!(sends, ("9/2".to_owned(), BoxWitness::BoxSends(BoxIndex(0))));
    let receives = bound(&[[0, 8, 3], [4, 9, 6]]);
    assert_eq!(receives, ("9/4".to_owned(), BoxWitness::BoxReceives(BoxIndex(2))));
    // A port of rate 3 and a card of rate 1.
    let rank = bound(&[[0, 1, 5], [0, 2, 6]]);
    assert_eq!(rank, ("11/4".to_owned(), BoxWitness::RankSends(Vertex(0))));
    let rank = bound(&[[0, 1, 6], [2, 1, 6], [3, 1, 1]]);
    assert_eq!(rank, ("13/4".to_owned(), BoxWitness::RankReceives(Vertex(1))));
    // Inside boxes only: twelve ports of rate 3, three chunks out of each.
    let rows: Vec<Vec<u64>> =
        (0..12).map(|from| (0..12).map(|to| u64::from(from / 4 == to / 4)).collect()).collect();
    let traffic = TrafficMatrix::from_rows(rows).unwrap();
    let inside = bound_box_alltoall(&topology, &grouping, &traffic).unwrap();
    assert_eq!(inside.value, Rational::ONE);
    assert_eq!(inside.witness, BoxWitness::InsidePorts);
}
