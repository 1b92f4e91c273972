//! Trees of an AllReduce: of machines whose times theory knows, of random ones, and the check of such trees.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

#[path = "support/drawing.rs"]
mod drawing;
#[path = "support/machines.rs"]
mod machines;

use drawing::{Drawing, LinkKind, SwitchKind, draw_topology};
use machines::{boxes, build_broken_torus, build_slow_port};
use synth::bound::BoundError;
use synth::bound::allreduce::bound_allreduce;
use synth::bound::cut::{bound_allgather, bound_reduce_scatter};
use synth::families::{
    BoxShape, RelativeGraph, build_boxes, build_dgx1, build_full, build_hub, build_hypercube,
    build_line, build_ring, build_star, build_two_cliques,
};
use synth::graph::{EdgeIndex, SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;
use synth::trees::{
    AllReduceFlaw, AllReduceMethod, AllReducePacking, AllReduceTrees, HalfTree, PackBudget,
    PackLimit, PackRequest, PackingEnd, TreeDirection, TreeEdge, TreeError, WeightedTree,
    check_allreduce_trees, compose_allreduce_trees, pack_allreduce_trees,
    pack_allreduce_with_count,
};

const PLAIN: SwitchAbilities = SwitchAbilities { multicast: false, reduce: false };
const ABLE: SwitchAbilities = SwitchAbilities { multicast: true, reduce: true };

/// Boxes of eight ranks whose switches can copy and add.
fn able_boxes(boxes: u32, port_rate: u64, rails: u32) -> Topology {
    let shape = BoxShape { boxes, ranks: 8, port_rate, card_rate: 1, rails, abilities: ABLE };
    build_boxes(shape).unwrap()
}

fn pack(topology: &Topology) -> AllReducePacking {
    let bound = bound_allreduce(topology).unwrap();
    let packing = pack_allreduce_trees(topology, &bound, PackRequest::default()).unwrap();
    check_packing(topology, &packing.trees);
    assert_eq!(packing.bound, bound.value);
    assert!(packing.trees.rho >= bound.value);
    let is_least = packing.trees.rho == bound.value;
    assert_eq!(packing.end == PackingEnd::BoundReached, is_least);
    packing
}

/// The check, and what it should say, by following every piece.
fn check_packing(topology: &Topology, trees: &AllReduceTrees) {
    check_allreduce_trees(topology, trees).unwrap();
    for tree in &trees.sums {
        // How often the contribution of each rank is in the sum of each vertex.
        let ranks = topology.count_ranks() as usize;
        let mut sums = vec![vec![0; ranks]; topology.count_vertices()];
        (0..ranks).for_each(|rank| sums[rank][rank] = 1);
        for edge in &tree.edges {
            let sent = sums[edge.from.0 as usize].clone();
            let sum = sums[edge.to.0 as usize].iter_mut();
            sum.zip(sent).for_each(|(sum, sent)| *sum += sent);
        }
        assert_eq!(sums[tree.root.0 as usize], vec![1; ranks]);
    }
    for tree in &trees.copies {
        let mut has_piece = vec![false; topology.count_vertices()];
        has_piece[tree.root.0 as usize] = true;
        for edge in &tree.edges {
            assert!(has_piece[edge.from.0 as usize]);
            has_piece[edge.to.0 as usize] = true;
        }
        assert!(topology.ranks().all(|rank| has_piece[rank.0 as usize]));
    }
    let weight = |half: &[WeightedTree]| half.iter().map(|tree| tree.weight).sum::<u64>();
    assert_eq!([weight(&trees.sums), weight(&trees.copies)], [trees.k; 2]);
}

/// What is expected of a machine.
struct Row {
    name: &'static str,
    topology: Topology,
    /// The time of a ReduceScatter and an AllGather.
    composed: &'static str,
    rho: &'static str,
    /// The depths of both halves at most.
    depths: [u32; 2],
}

fn rows() -> Vec<Row> {
    let row = |name, topology, [composed, rho]: [&'static str; 2], depths| Row {
        name,
        topology,
        composed,
        rho,
        depths,
    };
    vec![
        row("dgx1", build_dgx1().unwrap(), ["7/24", "7/24"], [3, 3]),
        row("ring 8", build_ring(8).unwrap(), ["7/8", "7/8"], [4, 4]),
        row("hypercube 3", build_hypercube(3).unwrap(), ["7/12", "7/12"], [3, 3]),
        row("full 8", build_full(8, 1).unwrap(), ["1/4", "1/4"], [1, 1]),
        row("two cliques", build_two_cliques(4, 4).unwrap(), ["1", "1"], [3, 3]),
        row("hub 8, plain", build_hub(8, PLAIN).unwrap(), ["7/4", "7/4"], [1, 1]),
        row("h100 x2, plain", boxes(2, 8, 9, 1), ["3/16", "3/16"], [2, 2]),
        row("line 4", build_line(4).unwrap(), ["3/2", "1"], [2, 2]),
        row("line 8", build_line(8).unwrap(), ["7/4", "1"], [4, 4]),
        row("star 8", build_star(8).unwrap(), ["7/4", "1"], [1, 1]),
        row("hub 8", build_hub(8, ABLE).unwrap(), ["7/4", "1"], [1, 1]),
        row("h100 x2", able_boxes(2, 9, 1), ["3/16", "1/8"], [2, 2]),
        row("h100 x4", able_boxes(4, 9, 1), ["31/160", "1/8"], [2, 2]),
        row("a100 x2", able_boxes(2, 12, 1), ["15/104", "1/8"], [2, 2]),
        row("h100 x2, rails", able_boxes(2, 9, 8), ["3/16", "1/8"], [2, 2]),
        row("h100 x16", able_boxes(16, 9, 1), ["15/64", "1/8"], [2, 2]),
    ]
}

#[test]
fn machines_have_trees_that_reach_their_bounds() {
    for Row { name, topology, composed, rho, depths } in rows() {
        let request = PackRequest::default();
        let both = compose_allreduce_trees(&topology, request).unwrap();
        check_packing(&topology, &both);
        assert_eq!(both.rho.to_string(), composed, "{name}");
        let packing = pack(&topology);
        assert_eq!(packing.trees.rho.to_string(), rho, "{name}");
        assert_eq!(packing.end, PackingEnd::BoundReached, "{name}");
        let is_composed = packing.method == AllReduceMethod::Composed;
        assert_eq!(is_composed, composed == rho, "{name}");
        for (direction, most) in
            [TreeDirection::ToRoot, TreeDirection::FromRoot].into_iter().zip(depths)
        {
            let depth = packing.trees.measure_depth(&topology, direction);
            assert!(depth <= most, "{name}: {depth}");
        }
    }
}

#[test]
fn numbers_of_pieces_are_small() {
    // A cut between boxes carries one piece on each of eight cards, and a switch that copies and adds serves all ranks
    // equally.
    let counts = [
        (build_line(7).unwrap(), 1),
        (build_star(8).unwrap(), 1),
        (build_hub(8, ABLE).unwrap(), 8),
        (able_boxes(2, 9, 1), 8),
        (able_boxes(4, 9, 1), 8),
    ];
    for (topology, k) in counts {
        assert_eq!(pack(&topology).trees.k, k);
    }
}

#[test]
fn composed_trees_take_the_time_of_both_halves() {
    for topology in [build_dgx1().unwrap(), build_slow_port(2, 1), boxes(3, 4, 5, 1)] {
        let trees = compose_allreduce_trees(&topology, PackRequest::default()).unwrap();
        let gather = bound_allgather(&topology).unwrap().value;
        let scatter = bound_reduce_scatter(&topology).unwrap().value;
        let ranks = Rational::from_integer(u64::from(topology.count_ranks()));
        let both = gather.checked_add(scatter).unwrap().checked_div(ranks).unwrap();
        assert_eq!(trees.rho, both);
        let of_root = |half: &[WeightedTree], root| {
            let own = half.iter().filter(|tree| tree.root == root);
            own.map(|tree| tree.weight).sum::<u64>()
        };
        for rank in topology.ranks() {
            let shard = trees.k / u64::from(topology.count_ranks());
            assert_eq!([of_root(&trees.sums, rank), of_root(&trees.copies, rank)], [shard; 2]);
        }
    }
}

#[test]
fn a_missing_link_does_not_cost_both_ways() {
    // Less is summed up at the two ranks of three links. The time is the one of the bound, to which a ReduceScatter and
    // an AllGather with their 2 * 21 / 64 do not come near.
    let packing = pack(&build_broken_torus());
    assert_eq!(packing.trees.rho.to_string(), "63/127");
    assert_eq!(packing.method, AllReduceMethod::Direct);
}

/// One root would be as fast, and have all the work.
#[test]
fn all_ranks_of_a_switch_are_roots() {
    let topology = build_hub(5, ABLE).unwrap();
    let AllReduceTrees { sums, copies, .. } = pack(&topology).trees;
    for half in [sums, copies] {
        let roots: Vec<Vertex> = half.iter().map(|tree| tree.root).collect();
        assert_eq!(roots, topology.ranks().collect::<Vec<Vertex>>());
        assert!(half.iter().all(|tree| tree.weight == 1 && tree.edges.len() == 5));
    }
}

#[test]
fn one_ability_helps_one_half() {
    // Where only the links to the switch are slow, it is enough that it copies; where only those from it are slow, that
    // it adds: 7/8 of the buffer and 1/8 pass the slow links of each rank, instead of 7/8 twice.
    for (abilities, rates) in [
        (SwitchAbilities { multicast: true, reduce: false }, [1, 2]),
        (SwitchAbilities { multicast: false, reduce: true }, [2, 1]),
    ] {
        let mut graph = RelativeGraph::new(8);
        let switch = graph.add_switch(abilities);
        for rank in 0..8 {
            graph.add_edge(Vertex(rank), switch, rates[0]);
            graph.add_edge(switch, Vertex(rank), rates[1]);
        }
        let topology = graph.build().unwrap();
        let packing = pack(&topology);
        assert_eq!((packing.trees.rho, packing.end), (Rational::ONE, PackingEnd::BoundReached));
        let joins = |half: &[WeightedTree]| {
            half.iter().flat_map(|tree| &tree.edges).any(|edge| !topology.is_rank(edge.to))
        };
        assert_eq!(joins(&packing.trees.copies), abilities.multicast);
        assert_eq!(joins(&packing.trees.sums), abilities.reduce);
    }
}

/// Every other one has even links.
fn choose_links(round: u32) -> LinkKind {
    if round.is_multiple_of(2) { LinkKind::Even } else { LinkKind::Uneven }
}

#[test]
fn random_machines_that_forward_reach_their_bounds() {
    let mut random = fastrand::Rng::with_seed(2027);
    let mut methods = [0, 0];
    for round in 0..160 {
        let drawing = Drawing {
            most_ranks: 8,
            most_switches: 3,
            links: choose_links(round),
            switches: SwitchKind::Plain,
        };
        let topology = draw_topology(&mut random, drawing);
        let packing = pack(&topology);
        assert_eq!(packing.end, PackingEnd::BoundReached, "{round}");
        methods[usize::from(packing.method == AllReduceMethod::Direct)] += 1;
    }
    assert!(methods.iter().all(|count| *count > 20), "{methods:?}");
}

#[test]
fn random_machines_that_copy_and_add_come_near_their_bounds() {
    let mut random = fastrand::Rng::with_seed(2028);
    let mut reached = 0;
    for round in 0..60 {
        let drawing = Drawing {
            most_ranks: 7,
            most_switches: 3,
            links: choose_links(round),
            switches: SwitchKind::Able,
        };
        let topology = draw_topology(&mut random, drawing);
        let packing = pack(&topology);
        reached += u32::from(packing.end == PackingEnd::BoundReached);
        let gap = packing.trees.rho.checked_div(packing.bound).unwrap();
        assert!(gap <= Rational::new(106, 100).unwrap(), "{round}: {gap}");
    }
    assert!(reached > 45, "{reached}");
}

/// All trees towards or from a root, as how often they use each edge. Switches must be able to do what they need.
fn list_trees(topology: &Topology, root: Vertex, direction: TreeDirection) -> Vec<Vec<u64>> {
    let edges = topology.edges();
    let ends = |index: usize| match direction {
        TreeDirection::FromRoot => [edges[index].from, edges[index].to],
        TreeDirection::ToRoot => [edges[index].to, edges[index].from],
    };
    let mut found = Vec::new();
    // Every set of edges of which one enters each vertex but the root, at most one each switch.
    for set in 0..1_u32 << edges.len() {
        let chosen: Vec<usize> = (0..edges.len()).filter(|bit| set >> bit & 1 == 1).collect();
        let mut reached = vec![root];
        let mut is_new = true;
        while is_new {
            is_new = false;
            for index in &chosen {
                let [near, far] = ends(*index);
                if reached.contains(&near) && !reached.contains(&far) {
                    reached.push(far);
                    is_new = true;
                }
            }
        }
        let spans = topology.ranks().all(|rank| reached.contains(&rank));
        if spans && reached.len() == chosen.len() + 1 {
            found.push((0..edges.len()).map(|bit| u64::from(set >> bit & 1)).collect());
        }
    }
    found
}

/// The least time of one or two pieces, by all pairs of trees.
fn search_all(topology: &Topology, k: u64) -> Rational {
    let mut pairs: Vec<Vec<u64>> = Vec::new();
    for root in topology.ranks() {
        let [sums, copies] = [TreeDirection::ToRoot, TreeDirection::FromRoot]
            .map(|direction| list_trees(topology, root, direction));
        for one in &sums {
            for other in &copies {
                pairs.push(one.iter().zip(other).map(|(one, other)| one + other).collect());
            }
        }
    }
    pairs.sort();
    pairs.dedup();
    let time = |loads: &mut dyn Iterator<Item = u64>| {
        let times = loads.zip(topology.weighted_edges());
        let times = times.map(|(load, (_, weight))| {
            Rational::new(i128::from(load), i128::from(weight * k)).unwrap()
        });
        times.max().unwrap()
    };
    let times = pairs.iter().enumerate().flat_map(|(index, one)| {
        let others = if k == 1 { &pairs[index..=index] } else { &pairs[index..] };
        others.iter().map(move |other| {
            time(
                &mut one
                    .iter()
                    .zip(other)
                    .map(|(one, other)| if k == 1 { *one } else { one + other }),
            )
        })
    });
    let least = times.min().unwrap();
    least.checked_div(topology.quantum()).unwrap()
}

#[test]
fn few_pieces_take_the_least_time_of_all_trees() {
    let mut random = fastrand::Rng::with_seed(2029);
    let mut exact = 0;
    let mut count = 0;
    while count < 60 {
        let drawing = Drawing {
            most_ranks: 4,
            most_switches: 1,
            links: LinkKind::Uneven,
            switches: SwitchKind::Able,
        };
        let topology = draw_topology(&mut random, drawing);
        let forwards =
            |switch: &SwitchAbilities| switch.multicast != switch.reduce || *switch == PLAIN;
        if topology.edges().len() > 10 || topology.switches().iter().any(forwards) {
            continue;
        }
        let bound = bound_allreduce(&topology).unwrap();
        for k in [1, 2] {
            let least = search_all(&topology, k);
            let packing =
                pack_allreduce_with_count(&topology, &bound, k, PackRequest::default()).unwrap();
            check_packing(&topology, &packing.trees);
            assert!(packing.trees.rho >= least && least >= packing.bound);
            assert!(packing.bound >= bound.value);
            exact += u32::from(packing.trees.rho == least);
            count += 1;
        }
    }
    assert!(exact > 54, "{exact} of {count}");
}

#[test]
fn counted_pieces_are_as_many_as_asked_for() {
    let rows = [
        (build_line(8).unwrap(), ["1", "1", "1", "1"]),
        (build_hub(8, ABLE).unwrap(), ["1", "1", "1", "1"]),
        // A piece uses six of the eight edges.
        (build_ring(4).unwrap(), ["1", "1", "1", "3/4"]),
        // A network card carries one piece, or none.
        (able_boxes(2, 9, 1), ["1", "1/2", "1/3", "1/4"]),
    ];
    for (topology, times) in rows {
        let bound = bound_allreduce(&topology).unwrap();
        for (k, time) in (1..).zip(times) {
            let request = PackRequest::default();
            let packing = pack_allreduce_with_count(&topology, &bound, k, request).unwrap();
            check_packing(&topology, &packing.trees);
            assert_eq!(packing.trees.rho.to_string(), time, "{k}");
            assert_eq!(packing.end, PackingEnd::BoundReached, "{k}");
            assert_eq!(packing.bound, packing.trees.rho);
        }
    }
}

#[test]
fn ranks_may_have_any_numbers_and_results_are_the_same_twice() {
    let mut random = fastrand::Rng::with_seed(2030);
    for topology in [able_boxes(2, 9, 1), build_star(8).unwrap(), build_line(6).unwrap()] {
        let ranks = topology.count_ranks();
        let mut numbers: Vec<u32> = (0..ranks).collect();
        random.shuffle(&mut numbers);
        let mut graph = RelativeGraph::new(ranks);
        for abilities in topology.switches() {
            graph.add_switch(*abilities);
        }
        for (edge, weight) in topology.weighted_edges() {
            let rename =
                |end: Vertex| numbers.get(end.0 as usize).map_or(end, |number| Vertex(*number));
            graph.add_edge(rename(edge.from), rename(edge.to), weight);
        }
        let first = pack(&topology);
        assert_eq!(first, pack(&topology));
        let renamed = pack(&graph.build().unwrap());
        assert_eq!(renamed.trees.rho, first.trees.rho);
        assert_eq!(renamed.end, PackingEnd::BoundReached);
    }
}

#[test]
fn what_is_impossible_is_told() {
    let line = build_line(4).unwrap();
    let bound = bound_allreduce(&line).unwrap();
    let request = PackRequest::default();
    assert_eq!(pack_allreduce_with_count(&line, &bound, 0, request), Err(TreeError::NoTrees));
    let many = pack_allreduce_with_count(&line, &bound, 1 << 40, request);
    assert_eq!(many, Err(TreeError::OutOfBudget(PackLimit::TreeEdges)));
    let single = build_full(1, 1).unwrap();
    let alone = Err(TreeError::Bound(BoundError::SingleRank));
    assert_eq!(pack_allreduce_trees(&single, &bound, request), alone);
    assert_eq!(pack_allreduce_with_count(&single, &bound, 1, request), alone);
    let mut graph = RelativeGraph::new(3);
    graph.add_link(Vertex(0), Vertex(1), 1);
    graph.add_edge(Vertex(1), Vertex(2), 1);
    let one_way = graph.build().unwrap();
    for found in [
        pack_allreduce_trees(&one_way, &bound, request),
        pack_allreduce_with_count(&one_way, &bound, 1, request),
    ] {
        assert!(matches!(found, Err(TreeError::Bound(BoundError::Unreachable { .. }))));
    }
    let large = build_star(513).unwrap();
    let counted = pack_allreduce_with_count(&large, &bound, 1, request);
    assert_eq!(counted, Err(TreeError::Bound(BoundError::TooLarge)));
}

#[test]
fn searches_end_at_their_budgets() {
    let line = build_line(8).unwrap();
    let bound = bound_allreduce(&line).unwrap();
    let budget = PackBudget::default();
    let pack = |topology, bound, flow_tests| {
        let budget = PackBudget { flow_tests, ..budget };
        pack_allreduce_trees(topology, bound, PackRequest { budget, ..PackRequest::default() })
    };
    let out = Err(TreeError::OutOfBudget(PackLimit::FlowTests));
    assert_eq!(pack(&line, &bound, 0), out);
    let able = able_boxes(2, 9, 1);
    let bound = bound_allreduce(&able).unwrap();
    // Enough for trees of both halves alone, and nothing else.
    let few = pack(&able, &bound, 10).unwrap();
    assert_eq!((few.method, few.end), (AllReduceMethod::Composed, PackingEnd::OutOfBudget));
    assert_eq!(few.trees.rho.to_string(), "3/16");
    check_packing(&able, &few.trees);
    let edges = PackBudget { tree_edges: 10, ..budget };
    let found = pack_allreduce_trees(
        &able,
        &bound,
        PackRequest { budget: edges, ..PackRequest::default() },
    );
    assert_eq!(found, Err(TreeError::OutOfBudget(PackLimit::TreeEdges)));
}

/// Trees for two pieces of two boxes of two ranks; the boxes' switches, 4 and 5, copy and add, the one between, 6, only
/// forwards.
fn small_trees() -> (Topology, AllReduceTrees) {
    let mut graph = RelativeGraph::new(4);
    let inside = [graph.add_switch(ABLE), graph.add_switch(ABLE)];
    let between = graph.add_switch(PLAIN);
    for rank in 0..4 {
        graph.add_link(Vertex(rank), inside[rank as usize / 2], 2);
        graph.add_link(Vertex(rank), between, 1);
    }
    let topology = graph.build().unwrap();
    let path = |vertices: &[u32]| {
        let find = |ends: &[u32]| {
            let is_same = |edge: &&synth::graph::DirectedEdge| [edge.from.0, edge.to.0] == *ends;
            let index = topology.edges().iter().position(|edge| is_same(&edge)).unwrap();
            EdgeIndex(index as u32)
        };
        TreeEdge {
            from: Vertex(vertices[0]),
            to: Vertex(*vertices.last().unwrap()),
            path: vertices.windows(2).map(find).collect(),
        }
    };
    let mut sums = Vec::new();
    let mut copies = Vec::new();
    for [root, other, far, farther] in [[0, 1, 2, 3], [1, 0, 3, 2]] {
        let edges = vec![
            path(&[farther, 5]),
            path(&[5, far]),
            path(&[far, 6, root]),
            path(&[other, 4]),
            path(&[4, root]),
        ];
        sums.push(WeightedTree { root: Vertex(root), weight: 1, edges });
        let edges = vec![
            path(&[root, 6, far]),
            path(&[root, 4]),
            path(&[4, other]),
            path(&[far, 5]),
            path(&[5, farther]),
        ];
        copies.push(WeightedTree { root: Vertex(root), weight: 1, edges });
    }
    let rho = Rational::new(1, 2).unwrap();
    (topology, AllReduceTrees { k: 2, rho, sums, copies })
}

/// What the check says of trees after a change.
fn check_changed(change: impl FnOnce(&mut AllReduceTrees)) -> AllReduceFlaw {
    let (topology, mut trees) = small_trees();
    check_packing(&topology, &trees);
    assert_eq!(trees.measure_depth(&topology, TreeDirection::FromRoot), 2);
    change(&mut trees);
    check_allreduce_trees(&topology, &trees).unwrap_err()
}

const FIRST_SUMS: HalfTree = HalfTree { direction: TreeDirection::ToRoot, index: 0 };
const FIRST_COPIES: HalfTree = HalfTree { direction: TreeDirection::FromRoot, index: 0 };

#[test]
fn roots_and_weights_are_checked() {
    let foreign = |trees: &mut AllReduceTrees| trees.sums[0].root = Vertex(4);
    assert_eq!(check_changed(foreign), AllReduceFlaw::ForeignRoot(FIRST_SUMS));
    let foreign = |trees: &mut AllReduceTrees| trees.copies[0].root = Vertex(99);
    assert_eq!(check_changed(foreign), AllReduceFlaw::ForeignRoot(FIRST_COPIES));
    let weightless = |trees: &mut AllReduceTrees| trees.copies[0].weight = 0;
    assert_eq!(check_changed(weightless), AllReduceFlaw::Weightless(FIRST_COPIES));
    let unequal = AllReduceFlaw::UnequalWeights { root: Vertex(0) };
    assert_eq!(check_changed(|trees| trees.sums[0].weight = 2), unequal);
    assert_eq!(check_changed(|trees| drop(trees.copies.remove(0))), unequal);
    assert_eq!(check_changed(|trees| trees.k = 3), AllReduceFlaw::WrongTotal);
    let empty = |trees: &mut AllReduceTrees| {
        trees.k = 0;
        trees.sums.clear();
        trees.copies.clear();
    };
    assert_eq!(check_changed(empty), AllReduceFlaw::WrongTotal);
}

#[test]
fn paths_are_checked() {
    let broken = AllReduceFlaw::BrokenPath { tree: FIRST_COPIES, edge: 0 };
    assert_eq!(check_changed(|trees| trees.copies[0].edges[0].path.clear()), broken);
    assert_eq!(check_changed(|trees| trees.copies[0].edges[0].path.reverse()), broken);
    let short = |trees: &mut AllReduceTrees| trees.copies[0].edges[0].path.truncate(1);
    assert_eq!(check_changed(short), broken);
    let unknown = |trees: &mut AllReduceTrees| trees.copies[0].edges[0].path[0] = EdgeIndex(99);
    assert_eq!(check_changed(unknown), broken);
    // Through a rank: what it sends on would not be counted as its own.
    let through_rank = |trees: &mut AllReduceTrees| {
        let edges = &mut trees.copies[0].edges;
        let onward = edges.remove(3);
        edges[0].path.extend(&onward.path);
        edges[0].to = onward.to;
    };
    assert_eq!(check_changed(through_rank), broken);
    let unable = AllReduceFlaw::UnableEnd { tree: FIRST_COPIES, edge: 0 };
    let at_switch = |trees: &mut AllReduceTrees| {
        let edge = &mut trees.copies[0].edges[0];
        edge.to = Vertex(6);
        edge.path.truncate(1);
    };
    assert_eq!(check_changed(at_switch), unable);
    assert_eq!(check_changed(|trees| trees.copies[0].edges[0].to = Vertex(99)), unable);
}

#[test]
fn abilities_are_checked() {
    let (topology, trees) = small_trees();
    for (abilities, flaw) in [
        (
            SwitchAbilities { multicast: false, reduce: true },
            AllReduceFlaw::UnableEnd { tree: FIRST_COPIES, edge: 1 },
        ),
        (
            SwitchAbilities { multicast: true, reduce: false },
            // Followed from the root: the last edge first.
            AllReduceFlaw::UnableEnd { tree: FIRST_SUMS, edge: 4 },
        ),
    ] {
        let switches = vec![abilities, abilities, PLAIN];
        let other = Topology::new(4, switches, topology.edges()).unwrap();
        assert_eq!(check_allreduce_trees(&other, &trees), Err(flaw));
    }
}

#[test]
fn spans_are_checked() {
    // A copy before the piece arrived.
    let early = |trees: &mut AllReduceTrees| trees.copies[0].edges.swap(0, 3);
    let flaw = AllReduceFlaw::Detached { tree: FIRST_COPIES, edge: 0 };
    assert_eq!(check_changed(early), flaw);
    // A sum that is sent on before it is complete: what rank 3 adds comes too late.
    let early = |trees: &mut AllReduceTrees| trees.sums[0].edges.swap(0, 1);
    let flaw = AllReduceFlaw::Detached { tree: FIRST_SUMS, edge: 1 };
    assert_eq!(check_changed(early), flaw);
    let twice = |trees: &mut AllReduceTrees| {
        let edge = trees.copies[0].edges[2].clone();
        trees.copies[0].edges.push(edge);
    };
    let flaw = AllReduceFlaw::JoinedTwice { tree: FIRST_COPIES, edge: 5 };
    assert_eq!(check_changed(twice), flaw);
    // A rank whose contribution is added twice.
    let twice = |trees: &mut AllReduceTrees| {
        let edge = trees.sums[0].edges[3].clone();
        trees.sums[0].edges.insert(0, edge);
    };
    let flaw = AllReduceFlaw::JoinedTwice { tree: FIRST_SUMS, edge: 0 };
    assert_eq!(check_changed(twice), flaw);
    let cut = |trees: &mut AllReduceTrees| drop(trees.copies[0].edges.remove(2));
    let flaw = AllReduceFlaw::Unreached { tree: FIRST_COPIES, rank: Vertex(1) };
    assert_eq!(check_changed(cut), flaw);
    let cut = |trees: &mut AllReduceTrees| drop(trees.sums[0].edges.remove(0));
    let flaw = AllReduceFlaw::Unreached { tree: FIRST_SUMS, rank: Vertex(3) };
    assert_eq!(check_changed(cut), flaw);
}

#[test]
fn idle_switches_are_refused() {
    let (topology, mut trees) = small_trees();
    let find = |from: u32, to: u32| {
        let is_same = |edge: &synth::graph::DirectedEdge| [edge.from.0, edge.to.0] == [from, to];
        EdgeIndex(topology.edges().iter().position(is_same).unwrap() as u32)
    };
    let edge = TreeEdge { from: Vertex(0), to: Vertex(1), path: vec![find(0, 6), find(6, 1)] };
    trees.copies[0].edges[2] = edge;
    let flaw = AllReduceFlaw::IdleSwitch { tree: FIRST_COPIES, switch: Vertex(4) };
    assert_eq!(check_allreduce_trees(&topology, &trees), Err(flaw));
}

#[test]
fn loads_are_checked() {
    let faster = |trees: &mut AllReduceTrees| trees.rho = Rational::new(499, 1000).unwrap();
    assert!(matches!(check_changed(faster), AllReduceFlaw::Overloaded { .. }));
    let huge = |trees: &mut AllReduceTrees| trees.rho = Rational::new(i128::MAX, 1).unwrap();
    assert!(matches!(check_changed(huge), AllReduceFlaw::Arithmetic(_)));
    let (topology, mut trees) = small_trees();
    trees.rho = Rational::ONE;
    assert_eq!(check_allreduce_trees(&topology, &trees), Ok(()));
    // What a switch copies loads the edge to it once: three edges from it carry a piece each, and one to it.
    let hub = build_hub(4, ABLE).unwrap();
    let packing = pack(&hub);
    assert_eq!(packing.trees.rho, Rational::ONE);
    for tree in &packing.trees.copies {
        assert_eq!(tree.edges.len(), 4);
        assert_eq!(tree.edges.iter().filter(|edge| edge.from == tree.root).count(), 1);
    }
}
