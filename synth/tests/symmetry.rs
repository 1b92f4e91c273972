//! Groups of automorphisms: their orders and orbits, compared with closed forms and with all permutations.

#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::collections::BTreeSet;
use synth::automorphism::{Automorphism, Symmetry, find_symmetry, search_automorphisms};
use synth::families::{
    BoxShape, RelativeGraph, build_amd4, build_amd8, build_boxes, build_dgx1, build_full,
    build_hub, build_hypercube, build_line, build_mi250, build_ring, build_star, build_torus,
    build_two_cliques,
};
use synth::graph::{DirectedEdge, EdgeIndex, SwitchAbilities, Topology, TopologyError, Vertex};

const PLAIN: SwitchAbilities = SwitchAbilities { multicast: false, reduce: false };

fn boxes(boxes: u32, ranks: u32, rails: u32) -> Result<Topology, TopologyError> {
    let shape = BoxShape { boxes, ranks, port_rate: 9, card_rate: 1, rails, abilities: PLAIN };
    build_boxes(shape)
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

/// The order of the whole group, and how many orbits of vertices and of edges it has.
struct Expected {
    name: &'static str,
    topology: Topology,
    order: u64,
    vertex_orbits: usize,
    edge_orbits: usize,
}

fn expectations() -> Vec<Expected> {
    let row = |name, topology: Result<Topology, TopologyError>, order, orbits: [usize; 2]| {
        let [vertex_orbits, edge_orbits] = orbits;
        Expected { name, topology: topology.unwrap(), order, vertex_orbits, edge_orbits }
    };
    vec![
        // Z2 x Z2: two orbits of ranks. The 32 edges are in orbits of four, as the group acts freely.
        row("dgx1", build_dgx1(), 4, [2, 8]),
        row("ring 3", build_ring(3), 6, [1, 1]),
        row("ring 8", build_ring(8), 16, [1, 1]),
        row("ring 15", build_ring(15), 30, [1, 1]),
        row("line 8", build_line(8), 2, [4, 7]),
        row("line 9", build_line(9), 2, [5, 8]),
        row("full 8", build_full(8, 3), factorial(8), [1, 1]),
        row("hub 8", build_hub(8, PLAIN), factorial(8), [2, 2]),
        row("star 8", build_star(8), factorial(7), [2, 2]),
        // Bit flips, and permutations of the bits.
        row("hypercube 3", build_hypercube(3), 8 * factorial(3), [1, 1]),
        row("hypercube 4", build_hypercube(4), 16 * factorial(4), [1, 1]),
        row("hypercube 5", build_hypercube(5), 32 * factorial(5), [1, 1]),
        // The dihedral groups of rows and columns; the 4 x 4 torus is a hypercube.
        row("torus 3x5", build_torus(3, 5), 6 * 10, [1, 2]),
        row("torus 4x4", build_torus(4, 4), 16 * factorial(4), [1, 1]),
        row("torus 5x5", build_torus(5, 5), 2 * 10 * 10, [1, 1]),
        row("amd4", build_amd4(), 8, [1, 1]),
        // Two groups of four that can change places.
        row("amd8", build_amd8(), 2 * factorial(4) * factorial(4), [1, 2]),
        row("two cliques", build_two_cliques(4, 4), 2 * 6 * 6, [2, 4]),
        // Each box's ranks, and the boxes.
        row("boxes 2x4", boxes(2, 4, 1), 2 * factorial(4) * factorial(4), [3, 4]),
        // The ranks of a box can change places only with those of the other boxes.
        row("boxes 3x4, 4 rails", boxes(3, 4, 4), factorial(3) * factorial(4), [3, 4]),
    ]
}

fn count_orbits(symmetry: &Symmetry, topology: &Topology) -> [usize; 2] {
    let counts = [symmetry.vertices.list_firsts().len(), symmetry.edges.list_firsts().len()];
    let vertices = (0..topology.count_vertices() as u32).map(Vertex);
    let edges = (0..topology.edges().len() as u32).map(EdgeIndex);
    let firsts = [
        vertices.filter(|vertex| symmetry.vertices.is_first(*vertex)).count(),
        edges.filter(|edge| symmetry.edges.is_first(*edge)).count(),
    ];
    assert_eq!(counts, firsts);
    counts
}

#[test]
fn groups_have_their_orders_and_orbits() {
    for Expected { name, topology, order, vertex_orbits, edge_orbits } in expectations() {
        let found = search_automorphisms(&topology);
        assert!(found.is_whole, "{name}");
        assert_eq!(found.orbit_sizes.iter().product::<u64>(), order, "{name}");
        let whole = Symmetry::generate(&topology, found.generators);
        let expected = [vertex_orbits, edge_orbits];
        assert_eq!(count_orbits(&whole, &topology), expected, "{name}");
        let symmetry = find_symmetry(&topology);
        assert_eq!(count_orbits(&symmetry, &topology), expected, "{name}");
        assert_eq!(symmetry.vertices, whole.vertices, "{name}");
        assert_eq!(symmetry.edges, whole.edges, "{name}");
        let reversed = topology.reverse();
        assert_eq!(count_orbits(&symmetry.reverse(&reversed), &reversed), expected, "{name}");
        for generator in &symmetry.generators {
            check_automorphism(&topology, generator);
        }
    }
}

/// Compares each edge with its image, which is where its ends go.
fn check_automorphism(topology: &Topology, automorphism: &Automorphism) {
    let mut images = BTreeSet::new();
    for (index, edge) in (0..).map(EdgeIndex).zip(topology.edges()) {
        let image = automorphism.map_edge(index);
        let [from, to] = [edge.from, edge.to].map(|end| automorphism.map_vertex(end));
        assert_eq!(topology.edges()[image.0 as usize], DirectedEdge { from, to, ..*edge });
        assert_eq!(topology.is_rank(from), topology.is_rank(edge.from));
        assert!(images.insert(image));
    }
}

#[test]
fn large_machines_have_few_orbits() {
    let machines = [
        ("boxes 16x8", boxes(16, 8, 1), [3, 4]),
        ("boxes 128x8", boxes(128, 8, 1), [3, 4]),
        ("boxes 128x8, 8 rails", boxes(128, 8, 8), [3, 4]),
        ("torus 32x32", build_torus(32, 32), [1, 1]),
        ("torus 16x64", build_torus(16, 64), [1, 2]),
        ("hypercube 10", build_hypercube(10), [1, 1]),
        ("ring 1000", build_ring(1000), [1, 1]),
        ("full 500", build_full(500, 1), [1, 1]),
        ("hub 1000", build_hub(1000, PLAIN), [2, 2]),
        ("line 1001", build_line(1001), [501, 1000]),
        // Too long for labels that tell all vertices apart.
        ("line 16000", build_line(16000), [8000, 15999]),
    ];
    for (name, topology, expected) in machines {
        let topology = topology.unwrap();
        let symmetry = find_symmetry(&topology);
        assert_eq!(count_orbits(&symmetry, &topology), expected, "{name}");
    }
    // The boxes change places, and each has two halves.
    let mi250 = build_mi250(4, 50, 16).unwrap();
    let [vertices, _] = count_orbits(&find_symmetry(&mi250), &mi250);
    assert!(vertices < 16 + 1, "{vertices}");
}

#[test]
fn searches_end_at_their_budget() {
    // Each of 600 twins would be chosen, and tried against the next one.
    let found = search_automorphisms(&build_hub(600, PLAIN).unwrap());
    assert!(!found.is_whole);
}

/// All permutations of a set that begins at `first`.
fn permute(items: &mut Vec<u32>, first: usize, visit: &mut impl FnMut(&[u32])) {
    if first == items.len() {
        visit(items);
        return;
    }
    for other in first..items.len() {
        items.swap(first, other);
        permute(items, first + 1, visit);
        items.swap(first, other);
    }
}

/// How many permutations of ranks and of switches keep every edge, of all there are.
fn count_automorphisms(topology: &Topology) -> u64 {
    let key = |edge: &DirectedEdge, names: &[u32]| {
        let [from, to] = [edge.from, edge.to].map(|end| names[end.0 as usize]);
        let abilities = (edge.abilities.memory, edge.abilities.port);
        let amount = edge.rate.amount;
        (from, to, edge.latency_ns, abilities, amount.numerator(), amount.denominator())
    };
    let vertices = topology.count_vertices() as u32;
    let same: Vec<u32> = (0..vertices).collect();
    let edges: BTreeSet<_> = topology.edges().iter().map(|edge| key(edge, &same)).collect();
    let mut count = 0;
    permute(&mut (0..topology.count_ranks()).collect(), 0, &mut |ranks| {
        permute(&mut (topology.count_ranks()..vertices).collect(), 0, &mut |switches| {
            let names = [ranks, switches].concat();
            let abilities = |switch: u32| {
                topology.switches()[(names[switch as usize] - topology.count_ranks()) as usize]
            };
            let keeps_switches = (topology.count_ranks()..vertices)
                .zip(topology.switches())
                .all(|(switch, own)| abilities(switch) == *own);
            let keeps_edges =
                || topology.edges().iter().all(|edge| edges.contains(&key(edge, &names)));
            count += u64::from(keeps_switches && keeps_edges());
        });
    });
    count
}

/// A graph of up to five ranks and two switches, in which many edges are alike, and some differ in one property only.
fn draw_topology(random: &mut fastrand::Rng) -> Topology {
    let ranks = random.u32(1..6);
    let vertices = ranks + random.u32(0..3);
    let mut graph = RelativeGraph::new(ranks);
    for _ in ranks..vertices {
        graph.add_switch(SwitchAbilities { multicast: random.u8(0..4) == 0, reduce: false });
    }
    let density = random.f64();
    for one in 0..vertices {
        for other in one + 1..vertices {
            if random.f64() < density {
                graph.add_link(Vertex(one), Vertex(other), 1 + u64::from(random.u8(0..8) == 0));
            }
        }
    }
    let topology = graph.build().unwrap();
    let mut edges = topology.edges().to_vec();
    if random.u8(0..4) == 0 && !edges.is_empty() {
        let index = random.usize(0..edges.len());
        let edge = &mut edges[index];
        match random.u8(0..4) {
            0 => edge.latency_ns = 7,
            1 => edge.abilities.memory = false,
            2 => edge.abilities.port = false,
            _ => {
                let parallel = DirectedEdge { latency_ns: 7, ..*edge };
                edges.push(parallel);
            }
        }
    }
    Topology::new(ranks, topology.switches().to_vec(), &edges).unwrap()
}

#[test]
fn groups_have_all_permutations_that_keep_everything() {
    let mut random = fastrand::Rng::with_seed(46);
    let mut orders = BTreeSet::new();
    for _ in 0..400 {
        let topology = draw_topology(&mut random);
        let found = search_automorphisms(&topology);
        let order = count_automorphisms(&topology);
        assert!(found.is_whole);
        assert_eq!(found.orbit_sizes.iter().product::<u64>(), order, "{topology:?}");
        let whole = Symmetry::generate(&topology, found.generators);
        let symmetry = find_symmetry(&topology);
        assert_eq!(symmetry.vertices, whole.vertices, "{topology:?}");
        assert_eq!(symmetry.edges, whole.edges, "{topology:?}");
        assert_eq!(symmetry.generators.is_empty(), order == 1, "{topology:?}");
        orders.insert(order);
    }
    assert!(orders.len() > 8, "{orders:?}");
    assert_eq!(count_automorphisms(&build_dgx1().unwrap()), 4);
}

#[test]
fn what_changes_something_is_no_automorphism() {
    let line = build_line(3).unwrap();
    let new =
        |images: &[u32]| Automorphism::new(&line, images.iter().copied().map(Vertex).collect());
    assert!(new(&[2, 1, 0]).is_some() && new(&[0, 1, 2]).is_some());
    for images in [&[1, 0, 2][..], &[0, 1], &[0, 1, 3], &[0, 1, 1], &[0, 1, 2, 3]] {
        assert_eq!(new(images), None, "{images:?}");
    }
    // A rank is no switch, whatever its edges are.
    let mut graph = RelativeGraph::new(1);
    let switch = graph.add_switch(PLAIN);
    graph.add_link(Vertex(0), switch, 1);
    let pair = graph.build().unwrap();
    assert_eq!(Automorphism::new(&pair, vec![Vertex(1), Vertex(0)]), None);
}

#[test]
fn the_group_of_dgx1_leaves_no_rank_in_its_place() {
    let dgx1 = build_dgx1().unwrap();
    let symmetry = find_symmetry(&dgx1);
    let images = |one: &Automorphism| dgx1.ranks().map(|rank| one.map_vertex(rank)).collect();
    let mut elements: BTreeSet<Vec<Vertex>> = BTreeSet::from([dgx1.ranks().collect()]);
    let generators: Vec<Vec<Vertex>> = symmetry.generators.iter().map(images).collect();
    for _ in 0..4 {
        for element in elements.clone() {
            for generator in &generators {
                elements.insert(element.iter().map(|rank| generator[rank.0 as usize]).collect());
            }
        }
    }
    assert_eq!(elements.len(), 4);
    // Semiregular, and each element is its own inverse.
    for element in elements {
        let fixed = dgx1.ranks().filter(|rank| element[rank.0 as usize] == *rank).count();
        assert!(fixed == 0 || fixed == 8);
        assert!(dgx1.ranks().all(|rank| element[element[rank.0 as usize].0 as usize] == rank));
    }
}
