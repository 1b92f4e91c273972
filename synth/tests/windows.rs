//! Trees whose pieces come one window after another are schedules of steps, and the check of those, which knows nothing
//! of trees, accepts them.

#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[path = "support/drawing.rs"]
mod drawing;
#[path = "support/machines.rs"]
mod machines;

use drawing::{Drawing, LinkKind, SwitchKind, draw_topology};
use machines::{boxes, build_broken_torus, build_mi300x, build_ndv2, build_slow_port};
use synth::bound::cut::bound_allgather;
use synth::bound::rooted::bound_broadcast;
use synth::collective::CollectiveKind;
use synth::families::{
    build_dgx1, build_hub, build_mi250, build_ring, build_star, build_two_cliques,
};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;
use synth::schedule::{Move, MoveAction, Piece, StepSchedule, check_schedule, list_units};
use synth::trees::{
    PackRequest, TreeDirection, TreeRoots, TreeSet, pack_allgather_trees, pack_broadcast_trees,
    pack_with_count,
};

/// How far each rank is from the root of a tree.
fn measure_depths(topology: &Topology, trees: &TreeSet, tree: usize) -> Vec<u32> {
    let edges = &trees.trees[tree].edges;
    let mut depths = vec![0; topology.ranks().len()];
    match trees.direction {
        TreeDirection::FromRoot => edges
            .iter()
            .for_each(|edge| depths[edge.to.0 as usize] = depths[edge.from.0 as usize] + 1),
        TreeDirection::ToRoot => edges
            .iter()
            .rev()
            .for_each(|edge| depths[edge.from.0 as usize] = depths[edge.to.0 as usize] + 1),
    }
    depths
}

/// In each step, the pieces of a window go from one depth to the next one.
fn expand(topology: &Topology, trees: &TreeSet, windows: u32) -> StepSchedule {
    let chunks = trees.k as u32 * windows;
    let deepest = trees.measure_depth();
    let mut offsets = vec![0_u32; topology.ranks().len()];
    let mut moves = Vec::new();
    for (index, tree) in trees.trees.iter().enumerate() {
        let unit = match trees.roots {
            TreeRoots::EveryRank => tree.root.0,
            TreeRoots::One(_) => 0,
        };
        let depths = measure_depths(topology, trees, index);
        let offset = &mut offsets[tree.root.0 as usize];
        let first = *offset;
        *offset += tree.weight as u32;
        for edge in &tree.edges {
            let (action, layer) = match trees.direction {
                TreeDirection::FromRoot => (MoveAction::Copy, depths[edge.from.0 as usize]),
                TreeDirection::ToRoot => {
                    (MoveAction::Reduce, deepest - 1 - depths[edge.to.0 as usize])
                }
            };
            for window in 0..windows {
                for place in first..*offset {
                    let piece = Piece(unit * chunks + window * trees.k as u32 + place);
                    let (from, to, path) = (edge.from, edge.to, edge.path.clone());
                    moves.push(Move { step: window + layer, from, to, piece, action, path });
                }
            }
        }
    }
    moves.sort_unstable();
    let mut loads = vec![vec![0_u64; topology.edges().len()]; (deepest + windows - 1) as usize];
    for own in &moves {
        own.path.iter().for_each(|edge| loads[own.step as usize][edge.0 as usize] += 1);
    }
    let count_rounds = |loads: &Vec<u64>| {
        let weights = topology.weighted_edges().map(|(_, weight)| weight);
        weights.zip(loads).map(|(weight, load)| load.div_ceil(weight)).max().unwrap()
    };
    StepSchedule { chunks, rounds: loads.iter().map(count_rounds).collect(), moves }
}

/// The time of a window is the time of the trees, but for whole rounds; the first one arrives after as many as the trees
/// are deep.
fn check_windows(topology: &Topology, kind: CollectiveKind, trees: &TreeSet) {
    let units = list_units(&kind.into(), topology.count_ranks());
    for windows in [1, 3] {
        let schedule = expand(topology, trees, windows);
        assert_eq!(check_schedule(topology, &units, &schedule), Ok(()), "{kind} {topology:?}");
        let point = schedule.measure();
        assert_eq!(point.steps, trees.measure_depth() + windows - 1);
        let ratio = |numerator: u32, denominator: u32| {
            Rational::new(numerator.into(), denominator.into()).unwrap()
        };
        let rounding = ratio(point.steps, point.chunks).checked_div(topology.quantum()).unwrap();
        let whole = trees.rho.checked_mul(ratio(point.steps, windows)).unwrap();
        let most = whole.checked_add(rounding).unwrap();
        let time = point.compute_time(topology).unwrap();
        assert!(trees.rho <= time && time < most, "{kind} {time} {most} {topology:?}");
    }
}

/// The trees of all collectives that have some.
fn check_machine(topology: &Topology, root: Vertex) {
    let request = PackRequest::default();
    let cut = bound_allgather(topology).unwrap();
    let gather = pack_allgather_trees(topology, &cut, request).unwrap().trees;
    check_windows(topology, CollectiveKind::AllGather, &gather);
    let counted = pack_with_count(topology, 2, request).unwrap().trees;
    check_windows(topology, CollectiveKind::AllGather, &counted);
    let cut = bound_broadcast(topology, root).unwrap();
    let broadcast = pack_broadcast_trees(topology, root, &cut, request).unwrap().trees;
    check_windows(topology, CollectiveKind::Broadcast(root), &broadcast);
    let reversed = topology.reverse();
    let scatter = gather.reverse(topology, &reversed);
    check_windows(&reversed, CollectiveKind::ReduceScatter, &scatter);
    let reduce = broadcast.reverse(topology, &reversed);
    check_windows(&reversed, CollectiveKind::Reduce(root), &reduce);
}

#[test]
fn trees_of_the_literature_are_schedules() {
    for topology in [
        build_dgx1().unwrap(),
        build_ring(8).unwrap(),
        build_star(6).unwrap(),
        build_hub(6, SwitchAbilities::default()).unwrap(),
        build_two_cliques(4, 4).unwrap(),
        build_mi250(1, 50, 16).unwrap(),
        build_mi300x(1),
        build_ndv2(2),
        build_slow_port(2, 8),
        build_broken_torus(),
        boxes(2, 8, 9, 1),
        boxes(2, 8, 12, 2),
    ] {
        check_machine(&topology, Vertex(1));
    }
}

#[test]
fn trees_of_random_machines_are_schedules() {
    let mut random = fastrand::Rng::with_seed(2036);
    let drawing = Drawing {
        most_ranks: 7,
        most_switches: 3,
        links: LinkKind::Even,
        switches: SwitchKind::Plain,
    };
    for _ in 0..60 {
        let topology = draw_topology(&mut random, drawing);
        check_machine(&topology, Vertex(random.u32(0..topology.count_ranks())));
    }
}

/// Of 6 pieces for each root some links of a DGX-1 carry 7 rounds full: as many as each step takes, once all three levels of
/// the trees are busy.
#[test]
fn windows_of_dgx1_take_seven_rounds() {
    let dgx1 = build_dgx1().unwrap();
    let cut = bound_allgather(&dgx1).unwrap();
    let trees = pack_allgather_trees(&dgx1, &cut, PackRequest::default()).unwrap().trees;
    let schedule = expand(&dgx1, &trees, 20);
    assert_eq!(schedule.rounds[3..18], [7; 15]);
    let point = schedule.measure();
    assert_eq!([point.steps, point.chunks], [22, 120]);
    let time = point.compute_time(&dgx1).unwrap();
    assert!(time <= Rational::new(7 * 22, 120).unwrap(), "{time}");
}
