//! Trees of machines that the literature knows, of random ones, and the check of trees.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[path = "support/drawing.rs"]
mod drawing;
#[path = "support/machines.rs"]
mod machines;

use drawing::{Drawing, LinkKind, SwitchKind, draw_topology};
use machines::{
    boxes, build_broken_torus, build_mi300x, build_ndv2, build_slow_port, build_two_dgx2,
};
use synth::bound::CutBound;
use synth::bound::cut::{bound_allgather, bound_reduce_scatter};
use synth::bound::rooted::{bound_broadcast, bound_reduce};
use synth::families::{
    RelativeGraph, build_amd8, build_dgx1, build_full, build_hub, build_hypercube, build_line,
    build_mi250, build_ring, build_star, build_torus, build_two_cliques,
};
use synth::graph::{EdgeIndex, SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;
use synth::trees::{
    PackBudget, PackLimit, PackRequest, PackingMethod, TreeDirection, TreeError, TreeFlaw,
    TreePacking, TreeRoots, TreeSet, check_trees, pack_allgather_trees, pack_broadcast_trees,
    pack_broadcast_with_count, pack_with_count,
};

const PLAIN: SwitchAbilities = SwitchAbilities { multicast: false, reduce: false };

fn pack(topology: &Topology) -> TreePacking {
    let cut = bound_allgather(topology).unwrap();
    let packing = pack_allgather_trees(topology, &cut, PackRequest::default()).unwrap();
    assert_eq!(packing.trees.rho, cut.value);
    check_trees(topology, &packing.trees).unwrap();
    packing
}

/// What is expected of a machine.
struct Row {
    name: &'static str,
    topology: Topology,
    rho: &'static str,
    k: u64,
    /// The depth of the trees at most.
    depth: u32,
}

fn rows() -> Vec<Row> {
    let row = |name, topology, rho, k, depth| Row { name, topology, rho, k, depth };
    let mi250 = |boxes| build_mi250(boxes, 50, 16).unwrap();
    vec![
        row("dgx1", build_dgx1().unwrap(), "7/6", 6, 3),
        row("a100", boxes(1, 8, 12, 1), "7/12", 1, 1),
        row("a100 x2", boxes(2, 8, 12, 2), "15/13", 13, 2),
        row("h100", boxes(1, 8, 9, 1), "7/9", 1, 1),
        row("h100 x2", boxes(2, 8, 9, 1), "3/2", 2, 2),
        row("h100 x3", boxes(3, 8, 9, 1), "23/10", 10, 2),
        row("h100 x4", boxes(4, 8, 9, 1), "31/10", 10, 2),
        row("h100 x16", boxes(16, 8, 9, 1), "15", 1, 2),
        row("h100 x16, rails", boxes(16, 8, 9, 8), "15", 1, 2),
        row("h100 x16, slow port", build_slow_port(16, 1), "127/7", 7, 2),
        row("h100 x16, rails, slow port", build_slow_port(16, 8), "127/7", 7, 2),
        row("nvl72", boxes(1, 72, 18, 1), "71/18", 1, 1),
        row("nvl72 x4", boxes(4, 72, 18, 1), "287/19", 19, 2),
        row("mi300x", build_mi300x(1), "1/64", 1, 1),
        row("mi300x x2", build_mi300x(2), "5/166", 83, 2),
        row("mi300x x8", build_mi300x(8), "7/50", 25, 2),
        row("mi250", mi250(1), "7/150", 3, 10),
        row("mi250 x2", mi250(2), "15/166", 83, 11),
        row("mi250 x4", mi250(4), "3/16", 8, 11),
        row("torus 8", build_torus(8, 8).unwrap(), "63/4", 4, 8),
        row("torus 16", build_torus(16, 16).unwrap(), "255/4", 4, 16),
        row("torus 8, broken", build_broken_torus(), "21", 1, 8),
        row("hypercube 7", build_hypercube(7).unwrap(), "127/7", 7, 7),
        row("dgx2 x2", build_two_dgx2(), "31/250", 10, 9),
        row("ndv2 x2", build_ndv2(2), "8/25", 1, 5),
        row("ndv2 x4", build_ndv2(4), "24/25", 1, 5),
        row("ring 8", build_ring(8).unwrap(), "7/2", 2, 4),
        row("line 5", build_line(5).unwrap(), "4", 1, 4),
        row("full 5", build_full(5, 3).unwrap(), "1/3", 1, 1),
        row("star 6", build_star(6).unwrap(), "5", 1, 2),
        row("hub 6", build_hub(6, PLAIN).unwrap(), "5", 1, 1),
        row("amd8", build_amd8().unwrap(), "7/38", 38, 4),
        row("two cliques", build_two_cliques(4, 4).unwrap(), "4", 1, 3),
    ]
}

#[test]
fn machines_have_trees_that_reach_their_bounds() {
    for Row { name, topology, rho, k, depth } in rows() {
        let packing = pack(&topology);
        assert_eq!(packing.trees.rho.to_string(), rho, "{name}");
        assert_eq!(packing.trees.k, k, "{name}");
        let found = packing.trees.measure_depth();
        assert!(found <= depth, "{name}: {found}");
        // Backwards for a ReduceScatter: the trees of the reversed topology.
        let reversed = topology.reverse();
        let cut = bound_allgather(&reversed).unwrap();
        let gather = pack_allgather_trees(&reversed, &cut, PackRequest::default()).unwrap();
        let scatter = gather.trees.reverse(&reversed, &topology);
        check_trees(&topology, &scatter).unwrap();
        assert_eq!(scatter.direction, TreeDirection::ToRoot, "{name}");
        assert_eq!(scatter.rho, bound_reduce_scatter(&topology).unwrap().value, "{name}");
        assert_eq!(scatter.measure_depth(), gather.trees.measure_depth(), "{name}");
        assert_eq!(scatter.reverse(&topology, &reversed), gather.trees, "{name}");
    }
}

#[test]
fn a_thousand_ranks_have_flat_trees() {
    for (topology, k, depth) in [
        (boxes(64, 8, 9, 1), 1, 2),
        (boxes(128, 8, 9, 1), 1, 2),
        (build_torus(32, 32).unwrap(), 4, 32),
        (build_hypercube(10).unwrap(), 10, 10),
    ] {
        let packing = pack(&topology);
        assert_eq!((packing.trees.k, packing.trees.measure_depth()), (k, depth));
        assert_eq!(packing.method, PackingMethod::Layered);
        // One rank stands for all.
        assert!(packing.flow_tests < 10);
    }
    // Of 1152 ranks with 19 trees each, the trees are too many to be written down.
    let nvl72 = boxes(16, 72, 18, 1);
    let cut = bound_allgather(&nvl72).unwrap();
    let found = pack_allgather_trees(&nvl72, &cut, PackRequest::default());
    assert_eq!(found, Err(TreeError::OutOfBudget(PackLimit::TreeEdges)));
}

#[test]
fn the_same_input_gives_the_same_trees() {
    for topology in [build_dgx1().unwrap(), boxes(2, 8, 12, 2), build_mi250(1, 50, 16).unwrap()] {
        assert_eq!(pack(&topology), pack(&topology));
    }
}

/// By how much the least time of so many trees per root is above the bound, in percent.
fn losses(topology: &Topology, counts: std::ops::RangeInclusive<u64>) -> Vec<String> {
    let rho = bound_allgather(topology).unwrap().value;
    let loss = |k| {
        let packing = pack_with_count(topology, k, PackRequest::default()).unwrap();
        assert_eq!(packing.trees.k, k);
        check_trees(topology, &packing.trees).unwrap();
        let ratio = packing.trees.rho.checked_div(rho).unwrap();
        let ratio = ratio.numerator() as f64 / ratio.denominator() as f64;
        format!("{:.1}", (ratio - 1.0) * 100.0)
    };
    counts.map(loss).collect()
}

#[test]
fn few_trees_take_longer() {
    let dgx1 = build_dgx1().unwrap();
    assert_eq!(losses(&dgx1, 1..=6), ["28.6", "7.1", "14.3", "7.1", "2.9", "0.0"]);
    assert_eq!(losses(&boxes(2, 8, 9, 1), 1..=2), ["3.7", "0.0"]);
    let h100 = losses(&boxes(3, 8, 9, 1), 1..=7);
    assert_eq!([h100[0].as_str(), h100[6].as_str()], ["1.4", "0.1"]);
    let a100 = losses(&boxes(2, 8, 12, 2), 1..=7);
    assert_eq!([a100[0].as_str(), a100[6].as_str()], ["1.1", "0.1"]);
    let mi250 = losses(&build_mi250(2, 50, 16).unwrap(), 1..=8);
    assert_eq!(mi250, ["10.7", "3.8", "3.3", "3.8", "1.8", "3.3", "1.2", "2.4"]);
    // 15/4 percent for all.
    assert_eq!(losses(&build_mi300x(2), 1..=8), ["3.8"; 8]);
}

#[test]
fn broadcasts_have_as_many_trees_as_disjoint_paths() {
    let rows = [
        ("dgx1", build_dgx1().unwrap(), "1/6", 6),
        ("ring 8", build_ring(8).unwrap(), "1/2", 2),
        ("line 4", build_line(4).unwrap(), "1", 1),
        ("full 8", build_full(8, 1).unwrap(), "1/7", 7),
        ("hypercube 4", build_hypercube(4).unwrap(), "1/4", 4),
        ("hub 8", build_hub(8, PLAIN).unwrap(), "1", 1),
        ("amd8", build_amd8().unwrap(), "1/38", 38),
        ("h100 x2", boxes(2, 8, 9, 1), "1/8", 8),
        ("mi250", build_mi250(1, 1, 1).unwrap(), "1/6", 6),
    ];
    for (name, topology, rho, k) in rows {
        for root in [Vertex(0), Vertex(topology.count_ranks() - 1)] {
            let cut = bound_broadcast(&topology, root).unwrap();
            let packing =
                pack_broadcast_trees(&topology, root, &cut, PackRequest::default()).unwrap();
            check_trees(&topology, &packing.trees).unwrap();
            if root == Vertex(0) {
                assert_eq!(packing.trees.rho.to_string(), rho, "{name}");
                assert_eq!(packing.trees.k, k, "{name}");
            }
            let reversed = topology.reverse();
            let reduce = packing.trees.reverse(&topology, &reversed);
            check_trees(&reversed, &reduce).unwrap();
            assert_eq!(reduce.rho, bound_reduce(&reversed, root).unwrap().value, "{name}");
        }
    }
    let dgx1 = build_dgx1().unwrap();
    let times = [1, 2, 3, 6].map(|k| {
        let request = PackRequest::default();
        let packing = pack_broadcast_with_count(&dgx1, Vertex(0), k, request).unwrap();
        packing.trees.rho.to_string()
    });
    // One tree can use double links only where they suffice.
    assert_eq!(times, ["1/2", "1/4", "1/3", "1/6"]);
}

/// Up to eight ranks and three switches.
fn draw_plain(random: &mut fastrand::Rng, links: LinkKind) -> Topology {
    let drawing = Drawing { most_ranks: 8, most_switches: 3, links, switches: SwitchKind::Plain };
    draw_topology(random, drawing)
}

#[test]
fn random_machines_have_trees_that_reach_their_bounds() {
    let mut random = fastrand::Rng::with_seed(2026);
    let mut methods = [0, 0];
    for round in 0..600 {
        let topology = draw_plain(&mut random, LinkKind::Even);
        let packing = pack(&topology);
        methods[usize::from(packing.method == PackingMethod::Exact)] += 1;
        let root = Vertex(random.u32(0..topology.count_ranks()));
        let cut = bound_broadcast(&topology, root).unwrap();
        let request = PackRequest::default();
        let broadcast = pack_broadcast_trees(&topology, root, &cut, request).unwrap();
        check_trees(&topology, &broadcast.trees).unwrap();
        assert_eq!(broadcast.trees.rho, cut.value);
        if round % 4 == 0 {
            let k = random.u64(1..5);
            let counted = pack_with_count(&topology, k, request).unwrap();
            check_trees(&topology, &counted.trees).unwrap();
            assert!(counted.trees.rho >= packing.trees.rho);
        }
    }
    assert!(methods.iter().all(|count| *count > 100), "{methods:?}");
}

#[test]
fn only_uneven_switches_make_machines_lose_something() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut failed = 0;
    for _ in 0..600 {
        let topology = draw_plain(&mut random, LinkKind::Uneven);
        let cut = bound_allgather(&topology).unwrap();
        match pack_allgather_trees(&topology, &cut, PackRequest::default()) {
            Ok(packing) => check_trees(&topology, &packing.trees).unwrap(),
            Err(TreeError::UnevenSwitch { switch }) => {
                assert!(!topology.is_rank(switch));
                failed += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(failed < 60, "{failed}");
}

/// Leaves with four ranks each, and two spines above them.
fn build_fat_tree(leaves: u32, rank_rate: u64, spine_rate: u64) -> Topology {
    let mut graph = RelativeGraph::new(4 * leaves);
    let spines = [graph.add_switch(PLAIN), graph.add_switch(PLAIN)];
    for leaf in 0..leaves {
        let switch = graph.add_switch(PLAIN);
        for local in 0..4 {
            graph.add_link(Vertex(4 * leaf + local), switch, rank_rate);
        }
        for spine in spines {
            graph.add_link(switch, spine, spine_rate);
        }
    }
    graph.build().unwrap()
}

#[test]
fn switches_between_switches_are_replaced() {
    // The ports of ranks are the bottleneck, or the links between the switches.
    let machines = [
        (build_fat_tree(2, 2, 4), "7/2"),
        (build_fat_tree(3, 2, 4), "11/2"),
        (build_fat_tree(4, 2, 1), "15/2"),
        (build_fat_tree(3, 4, 1), "4"),
    ];
    for (topology, rho) in machines {
        let packing = pack(&topology);
        assert_eq!(packing.trees.rho.to_string(), rho);
        let paths = packing.trees.trees.iter().flat_map(|tree| &tree.edges);
        assert_eq!(paths.map(|edge| edge.path.len()).max(), Some(4));
    }
}

#[test]
fn ranks_may_have_any_numbers() {
    let mut random = fastrand::Rng::with_seed(11);
    for (topology, depth) in [(boxes(2, 8, 9, 1), 2), (boxes(4, 8, 9, 1), 2)] {
        let mut numbers: Vec<u32> = (0..topology.count_ranks()).collect();
        random.shuffle(&mut numbers);
        let mut graph = RelativeGraph::new(topology.count_ranks());
        topology.switches().iter().for_each(|_| {
            graph.add_switch(PLAIN);
        });
        for (edge, weight) in topology.weighted_edges() {
            let rename =
                |end: Vertex| numbers.get(end.0 as usize).map_or(end, |number| Vertex(*number));
            graph.add_edge(rename(edge.from), rename(edge.to), weight);
        }
        let packing = pack(&graph.build().unwrap());
        assert_eq!(packing.trees.measure_depth(), depth);
    }
}

#[test]
fn parallel_links_are_paths_of_their_own() {
    let dgx1 = build_dgx1().unwrap();
    let mut edges = dgx1.edges().to_vec();
    for edge in dgx1.edges() {
        edges.push(synth::graph::DirectedEdge { latency_ns: 5, ..*edge });
    }
    let doubled = Topology::new(8, Vec::new(), &edges).unwrap();
    assert_eq!(pack(&doubled).trees.rho.to_string(), "7/12");
}

#[test]
fn what_is_impossible_is_told() {
    let dgx1 = build_dgx1().unwrap();
    let cut = bound_allgather(&dgx1).unwrap();
    let request = PackRequest::default();
    assert_eq!(pack_with_count(&dgx1, 0, request), Err(TreeError::NoTrees));
    let much = pack_with_count(&dgx1, u64::MAX, request);
    assert!(matches!(much, Err(TreeError::Arithmetic(_))), "{much:?}");
    let foreign = pack_broadcast_trees(&dgx1, Vertex(8), &cut, request);
    assert!(matches!(foreign, Err(TreeError::Bound(_))), "{foreign:?}");
    for topology in [dgx1.clone(), boxes(2, 8, 9, 1)] {
        let cut = bound_allgather(&topology).unwrap();
        let half = Rational::new(1, 2).unwrap();
        let value = cut.value.checked_mul(half).unwrap();
        let low = CutBound { value, ..cut };
        let found = pack_allgather_trees(&topology, &low, request);
        assert_eq!(found, Err(TreeError::TooLittleTime));
    }
    let single = build_full(1, 1).unwrap();
    assert!(matches!(pack_with_count(&single, 1, request), Err(TreeError::Bound(_))));
    assert!(matches!(pack_allgather_trees(&single, &cut, request), Err(TreeError::Bound(_))));
}

#[test]
fn searches_end_at_their_budgets() {
    let dgx1 = build_dgx1().unwrap();
    let cut = bound_allgather(&dgx1).unwrap();
    let budget = PackBudget::default();
    let needed = pack(&dgx1).flow_tests;
    let pack = |budget| {
        pack_allgather_trees(&dgx1, &cut, PackRequest { budget, ..PackRequest::default() })
    };
    for flow_tests in [0, 1, needed - 1] {
        let found = pack(PackBudget { flow_tests, ..budget });
        assert_eq!(found, Err(TreeError::OutOfBudget(PackLimit::FlowTests)));
    }
    assert!(pack(PackBudget { flow_tests: needed, ..budget }).is_ok());
    for tree_edges in [63, 64] {
        let found = pack(PackBudget { tree_edges, ..budget });
        assert_eq!(found, Err(TreeError::OutOfBudget(PackLimit::TreeEdges)));
    }
    // Layered trees of depth 5 would be improved, if there were more tests; so they are kept.
    let dgx2 = build_two_dgx2();
    let cut = bound_allgather(&dgx2).unwrap();
    let few =
        PackRequest { budget: PackBudget { flow_tests: 500, ..budget }, ..PackRequest::default() };
    let kept = pack_allgather_trees(&dgx2, &cut, few).unwrap();
    assert_eq!(kept.method, PackingMethod::Layered);
    assert!(kept.flow_tests <= 500);
}

/// Trees of two boxes of two ranks each, with switches in them and between them.
fn small_trees() -> (Topology, TreeSet) {
    let topology = boxes(2, 2, 2, 1);
    let trees = pack(&topology).trees;
    (topology, trees)
}

/// What the check says of trees after a change.
fn check_changed(change: impl FnOnce(&mut TreeSet)) -> TreeFlaw {
    let (topology, mut trees) = small_trees();
    change(&mut trees);
    check_trees(&topology, &trees).unwrap_err()
}

#[test]
fn weights_are_checked() {
    let set_root = |root| move |set: &mut TreeSet| set.trees[1].root = root;
    assert_eq!(check_changed(set_root(Vertex(4))), TreeFlaw::ForeignRoot { tree: 1 });
    let one = |set: &mut TreeSet| set.roots = TreeRoots::One(Vertex(0));
    assert!(matches!(check_changed(one), TreeFlaw::ForeignRoot { .. }));
    let none = |set: &mut TreeSet| set.roots = TreeRoots::One(Vertex(9));
    assert_eq!(check_changed(none), TreeFlaw::WrongWeight { root: Vertex(9) });
    assert_eq!(check_changed(|set| set.trees[0].weight = 0), TreeFlaw::Weightless { tree: 0 });
    let wrong = TreeFlaw::WrongWeight { root: Vertex(0) };
    assert_eq!(check_changed(|set| set.trees[0].weight += 1), wrong);
    assert_eq!(check_changed(|set| set.k += 1), wrong);
    let last = TreeFlaw::WrongWeight { root: Vertex(3) };
    assert_eq!(check_changed(|set| set.trees.truncate(set.trees.len() - 1)), last);
    let empty = |set: &mut TreeSet| {
        set.k = 0;
        set.trees.clear();
    };
    assert_eq!(check_changed(empty), wrong);
}

#[test]
fn paths_are_checked() {
    let broken = TreeFlaw::BrokenPath { tree: 0, edge: 0 };
    assert_eq!(check_changed(|set| set.trees[0].edges[0].path.clear()), broken);
    assert_eq!(check_changed(|set| set.trees[0].edges[0].path.reverse()), broken);
    let shorten = |set: &mut TreeSet| set.trees[0].edges[0].path.truncate(1);
    assert_eq!(check_changed(shorten), broken);
    let unknown = |set: &mut TreeSet| set.trees[0].edges[0].path[0] = EdgeIndex(999);
    assert_eq!(check_changed(unknown), broken);
    let elsewhere =
        |set: &mut TreeSet| set.trees[0].edges[0].path = set.trees[0].edges[1].path.clone();
    assert_eq!(check_changed(elsewhere), broken);
    let to_switch = |set: &mut TreeSet| set.trees[0].edges[0].to = Vertex(4);
    assert_eq!(check_changed(to_switch), broken);
    // Through a rank, which would have to forward what it does not get.
    let line = build_line(3).unwrap();
    let mut trees = pack(&line).trees;
    let tree = trees.trees.iter_mut().find(|tree| tree.root == Vertex(0)).unwrap();
    assert_eq!([tree.edges[0].to, tree.edges[1].to], [Vertex(1), Vertex(2)]);
    let mut path = tree.edges[0].path.clone();
    path.extend(&tree.edges[1].path);
    tree.edges[1].path = path;
    tree.edges[1].from = Vertex(0);
    assert_eq!(check_trees(&line, &trees), Err(TreeFlaw::BrokenPath { tree: 0, edge: 1 }));
}

#[test]
fn spans_are_checked() {
    let cut = |set: &mut TreeSet| drop(set.trees[0].edges.pop());
    assert!(matches!(check_changed(cut), TreeFlaw::Unreached { tree: 0, .. }));
    let again = |set: &mut TreeSet| {
        let edge = set.trees[0].edges[0].clone();
        set.trees[0].edges.push(edge);
    };
    let edge = small_trees().1.trees[0].edges.len();
    assert_eq!(check_changed(again), TreeFlaw::JoinedTwice { tree: 0, edge });
    // The farthest edge of a line first.
    let line = build_line(4).unwrap();
    let trees = pack(&line).trees;
    let index = trees.trees.iter().position(|tree| tree.root == Vertex(0)).unwrap();
    let check = |order: [usize; 3]| {
        let mut trees = trees.clone();
        let edges = trees.trees[index].edges.clone();
        trees.trees[index].edges = order.map(|place| edges[place].clone()).to_vec();
        check_trees(&line, &trees)
    };
    assert_eq!(check([0, 1, 2]), Ok(()));
    assert_eq!(check([1, 0, 2]), Err(TreeFlaw::Detached { tree: index, edge: 0 }));
    // Both directions from rank 1: 1 -> 2 -> 3 before 1 -> 0 is not in the order of the depths.
    let second = trees.trees.iter().position(|tree| tree.root == Vertex(1)).unwrap();
    let mut mixed = trees.clone();
    mixed.trees[second].edges.sort_by_key(|edge| std::cmp::Reverse(edge.to));
    mixed.trees[second].edges.swap(0, 1);
    let flaw = TreeFlaw::NotBreadthFirst { tree: second, edge: 2 };
    assert_eq!(check_trees(&line, &mixed), Err(flaw));
    // The same trees are none towards their roots.
    let turned = |set: &mut TreeSet| set.direction = TreeDirection::ToRoot;
    assert!(matches!(check_changed(turned), TreeFlaw::Detached { .. }));
}

#[test]
fn loads_are_checked() {
    let faster = |set: &mut TreeSet| {
        let less = Rational::new(999, 1000).unwrap();
        set.rho = set.rho.checked_mul(less).unwrap();
    };
    assert!(matches!(check_changed(faster), TreeFlaw::Overloaded { .. }));
    let huge = |set: &mut TreeSet| set.rho = Rational::new(i128::MAX, 1).unwrap();
    assert!(matches!(check_changed(huge), TreeFlaw::Arithmetic(_)));
    // A longer time is no flaw of the trees.
    let (topology, mut trees) = small_trees();
    trees.rho = trees.rho.checked_add(Rational::ONE).unwrap();
    assert_eq!(check_trees(&topology, &trees), Ok(()));
}
