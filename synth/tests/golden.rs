//! Bounds of machines that the literature and closed forms know.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[path = "support/machines.rs"]
mod machines;

use machines::{
    boxes, build_broken_torus, build_mi300x, build_ndv2, build_slow_port, build_two_dgx2,
};
use synth::bound::BoundError;
use synth::bound::allreduce::bound_allreduce;
use synth::bound::alltoall::bound_alltoall;
use synth::bound::cut::{bound_allgather, bound_reduce_scatter};
use synth::bound::layered::{bound_allgather_in_steps, bound_reduce_scatter_in_steps};
use synth::bound::rooted::{bound_broadcast, bound_gather, bound_reduce, bound_scatter};
use synth::bound::steps::bound_steps;
use synth::bound::tree_count::compute_tree_count;
use synth::collective::CollectiveKind;
use synth::families::{
    BoxShape, build_amd4, build_amd8, build_boxes, build_dgx1, build_full, build_hub,
    build_hypercube, build_line, build_mi250, build_ring, build_star, build_torus,
    build_two_cliques,
};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;

const PLAIN: SwitchAbilities = SwitchAbilities { multicast: false, reduce: false };

/// What is expected of a machine; fractions as text.
struct Row {
    name: &'static str,
    topology: Topology,
    /// The steps of an AllGather.
    diameter: u32,
    allgather: &'static str,
    broadcast: &'static str,
    scatter: &'static str,
    alltoall: &'static str,
}

fn rows() -> Vec<Row> {
    let row = |name, topology: Result<Topology, _>, diameter, fractions: [&'static str; 4]| {
        let [allgather, broadcast, scatter, alltoall] = fractions;
        let topology = topology.unwrap();
        Row { name, topology, diameter, allgather, broadcast, scatter, alltoall }
    };
    vec![
        row("dgx1", build_dgx1(), 2, ["7/6", "1/6", "7/6", "8/3"]),
        row("ring 4", build_ring(4), 2, ["3/2", "1/2", "3/2", "2"]),
        row("ring 8", build_ring(8), 4, ["7/2", "1/2", "7/2", "8"]),
        row("line 8", build_line(8), 7, ["7", "1", "7", "16"]),
        row("full 8", build_full(8, 1), 1, ["1", "1/7", "1", "1"]),
        row("hypercube 3", build_hypercube(3), 3, ["7/3", "1/3", "7/3", "4"]),
        row("hypercube 4", build_hypercube(4), 4, ["15/4", "1/4", "15/4", "8"]),
        row("torus 4x4", build_torus(4, 4), 4, ["15/4", "1/4", "15/4", "8"]),
        row("amd4", build_amd4(), 2, ["3/2", "1/2", "3/2", "2"]),
        row("amd8", build_amd8(), 1, ["7/38", "1/38", "7/38", "1/5"]),
        row("mi250", build_mi250(1, 1, 1), 5, ["7/3", "1/6", "7/3", "32/3"]),
        row("hub 8", build_hub(8, PLAIN), 1, ["7", "1", "7", "7"]),
        row("hub 16", build_hub(16, PLAIN), 1, ["15", "1", "15", "15"]),
        // The bridge carries the buffer, the chunks of four ranks, or a chunk for each of 16 pairs.
        row("two cliques", build_two_cliques(4, 4), 3, ["4", "1", "4", "16"]),
        // Each leaf has one link, for seven chunks each way.
        row("star 8", build_star(8), 2, ["7", "1", "1", "7"]),
    ]
}

#[test]
fn known_machines_have_their_bounds() {
    for row in rows() {
        let (name, topology, root) = (row.name, &row.topology, Vertex(0));
        let steps = |kind| bound_steps(topology, kind).unwrap().steps;
        assert_eq!(steps(CollectiveKind::AllGather), row.diameter, "{name}");
        assert_eq!(steps(CollectiveKind::ReduceScatter), row.diameter, "{name}");
        assert_eq!(steps(CollectiveKind::AllToAll), row.diameter, "{name}");
        let values = [
            bound_allgather(topology).unwrap().value,
            bound_reduce_scatter(topology).unwrap().value,
            bound_broadcast(topology, root).unwrap().value,
            bound_reduce(topology, root).unwrap().value,
            bound_scatter(topology, root).unwrap().value,
            bound_gather(topology, root).unwrap().value,
            bound_alltoall(topology).unwrap().value,
        ];
        let expected = [
            row.allgather,
            row.allgather,
            row.broadcast,
            row.broadcast,
            row.scatter,
            row.scatter,
            row.alltoall,
        ];
        assert_eq!(values.map(|value| value.to_string()), expected, "{name}");
    }
}

fn allgather(topology: &Topology) -> String {
    let value = bound_allgather(topology).unwrap().value;
    assert_eq!(bound_reduce_scatter(topology).unwrap().value, value);
    value.to_string()
}

fn fraction(numerator: i128, denominator: i128) -> String {
    Rational::new(numerator, denominator).unwrap().to_string()
}

fn alltoall(topology: &Topology) -> String {
    bound_alltoall(topology).unwrap().value.to_string()
}

fn diameter(topology: &Topology) -> u32 {
    bound_steps(topology, CollectiveKind::AllGather).unwrap().steps
}

#[test]
fn regular_graphs_follow_their_closed_forms() {
    for n in 2..20_u32 {
        let ranks = i128::from(n);
        let ring = build_ring(n).unwrap();
        let degree = if n > 2 { 2 } else { 1 };
        assert_eq!(allgather(&ring), fraction(ranks - 1, degree), "ring {n}");
        assert_eq!(diameter(&ring), n / 2, "ring {n}");
        if n > 2 && n % 2 == 0 {
            assert_eq!(alltoall(&ring), fraction(ranks * ranks, 8), "ring {n}");
        }
        let line = build_line(n).unwrap();
        assert_eq!(allgather(&line), fraction(ranks - 1, 1), "line {n}");
        assert_eq!(diameter(&line), n - 1, "line {n}");
        // The middle link separates the most pairs.
        assert_eq!(alltoall(&line), fraction(ranks / 2 * (ranks - ranks / 2), 1), "line {n}");
        let full = build_full(n, 1).unwrap();
        assert_eq!(allgather(&full), "1", "full {n}");
        assert_eq!(diameter(&full), 1, "full {n}");
        assert_eq!(alltoall(&full), "1", "full {n}");
    }
    for k in 1..8 {
        let hypercube = build_hypercube(k).unwrap();
        assert_eq!(allgather(&hypercube), fraction((1 << k) - 1, i128::from(k)), "hypercube {k}");
        assert_eq!(diameter(&hypercube), k, "hypercube {k}");
        assert_eq!(alltoall(&hypercube), fraction(1 << (k - 1), 1), "hypercube {k}");
    }
    for rows in 3..8 {
        for columns in 3..8 {
            let torus = build_torus(rows, columns).unwrap();
            let ranks = i128::from(rows * columns);
            assert_eq!(allgather(&torus), fraction(ranks - 1, 4), "torus {rows} x {columns}");
            assert_eq!(diameter(&torus), rows / 2 + columns / 2, "torus {rows} x {columns}");
        }
    }
}

#[test]
fn boxes_are_bound_by_ports_or_by_network_cards() {
    for port_rate in [1, 3, 9, 12] {
        let ports = i128::from(port_rate);
        assert_eq!(allgather(&boxes(1, 8, port_rate, 1)), fraction(7, ports));
        for count in 2..7 {
            // A GPU gets what its port and its card let in, or a box gets what its cards let in.
            let n = i128::from(count);
            let expected = if (8 * n - 1) > (n - 1) * (ports + 1) {
                fraction(8 * n - 1, ports + 1)
            } else {
                fraction(n - 1, 1)
            };
            for rails in [1, 2, 8] {
                let found = allgather(&boxes(count, 8, port_rate, rails));
                assert_eq!(found, expected, "{count} boxes, {port_rate}, {rails} rails");
            }
        }
    }
}

/// Two to sixteen boxes of H100 and A100.
#[test]
fn boxes_have_the_times_of_the_literature() {
    for (count, port_rate, expected) in [
        (1, 9, "7/9"),
        (2, 9, "3/2"),
        (3, 9, "23/10"),
        (4, 9, "31/10"),
        (5, 9, "4"),
        (8, 9, "7"),
        (16, 9, "15"),
        (2, 12, "15/13"),
        (4, 12, "3"),
        (16, 12, "15"),
    ] {
        let topology = boxes(count, 8, port_rate, 1);
        assert_eq!(allgather(&topology), expected, "{count} boxes, {port_rate}");
        // One GPU gets all others' chunks, or a box the chunks of all other boxes.
        let bound = bound_allgather(&topology).unwrap();
        let outside = topology.ranks().filter(|rank| !bound.side.contains(rank)).count();
        let is_one_rank = expected.contains('/');
        assert_eq!(outside, if is_one_rank { 1 } else { 8 }, "{count} boxes, {port_rate}");
    }
}

/// What a rank gets comes over its own links: n - 1 chunks. Only smaller cuts, where machines have some, take longer.
#[test]
fn no_machine_is_faster_than_the_links_of_a_rank() {
    const CUT_ELSEWHERE: [&str; 2] = ["mi250", "two cliques"];
    for Row { name, topology, .. } in rows() {
        let ranks = i128::from(topology.count_ranks());
        let times = topology.ranks().map(|rank| {
            let entering = topology.edges().iter().filter(|edge| edge.to == rank);
            let rate = entering.map(|edge| edge.rate.amount.numerator()).sum();
            Rational::new(ranks - 1, rate).unwrap()
        });
        let slowest = times.max().unwrap();
        let bound = bound_allgather(&topology).unwrap().value;
        assert!(bound >= slowest, "{name}");
        assert_eq!(bound > slowest, CUT_ELSEWHERE.contains(&name), "{name}");
    }
    let cut = |topology: Topology| bound_allgather(&topology).unwrap().side.len();
    // Of 14 dies six lanes lead to the others, and of a clique one link.
    assert_eq!(cut(build_mi250(1, 1, 1).unwrap()), 14);
    assert_eq!(cut(build_two_cliques(4, 4).unwrap()), 4);
}

#[test]
fn boxes_exchange_through_their_network_cards() {
    for count in [2, 4, 16] {
        // Each card sends what its GPU has for the other boxes.
        let expected = fraction(8 * (i128::from(count) - 1), 1);
        assert_eq!(alltoall(&boxes(count, 8, 9, 1)), expected, "{count} boxes");
    }
    // A port of the same rate has less to do: seven chunks.
    assert_eq!(alltoall(&boxes(2, 8, 1, 1)), "8");
}

#[test]
fn few_steps_take_more_time() {
    let in_steps = |topology: &Topology, steps| {
        let bound = bound_allgather_in_steps(topology, steps).unwrap();
        let reversed = bound_reduce_scatter_in_steps(topology, steps).unwrap();
        assert_eq!(reversed.value, bound.value);
        bound.value.to_string()
    };
    assert_eq!(in_steps(&build_dgx1().unwrap(), 2), "3/2");
    assert_eq!(in_steps(&boxes(2, 4, 3, 1), 2), "7/4");
    assert_eq!(in_steps(&boxes(2, 8, 9, 1), 2), "128/79");
    let cliques = build_two_cliques(4, 4).unwrap();
    assert_eq!(in_steps(&cliques, 3), "19/4");
    assert_eq!(in_steps(&cliques, 4), "115/28");
    assert_eq!(in_steps(&build_amd8().unwrap(), 1), "1/5");
    assert_eq!(in_steps(&build_hub(8, PLAIN).unwrap(), 1), "7");
    // Where the least number of steps is enough for the least time.
    assert_eq!(in_steps(&build_ring(4).unwrap(), 2), "3/2");
    assert_eq!(in_steps(&build_ring(5).unwrap(), 2), "2");
    assert_eq!(in_steps(&build_ring(8).unwrap(), 4), "7/2");
    assert_eq!(in_steps(&build_line(4).unwrap(), 3), "3");
    assert_eq!(in_steps(&build_hypercube(3).unwrap(), 3), "7/3");
    assert_eq!(in_steps(&build_full(8, 1).unwrap(), 1), "1");
}

#[test]
fn allreduce_is_bound_per_buffer() {
    const ABLE: SwitchAbilities = SwitchAbilities { multicast: true, reduce: true };
    let allreduce = |topology: Result<Topology, _>| {
        bound_allreduce(&topology.unwrap()).unwrap().value.to_string()
    };
    // As long as a ReduceScatter and an AllGather.
    assert_eq!(allreduce(build_dgx1()), "7/24");
    assert_eq!(allreduce(build_ring(8)), "7/8");
    assert_eq!(allreduce(build_hypercube(3)), "7/12");
    assert_eq!(allreduce(build_full(8, 1)), "1/4");
    assert_eq!(allreduce(build_two_cliques(4, 4)), "1");
    assert_eq!(allreduce(build_hub(8, PLAIN)), "7/4");
    // Faster than these.
    assert_eq!(allreduce(build_line(4)), "1");
    assert_eq!(allreduce(build_line(8)), "1");
    assert_eq!(allreduce(build_star(8)), "1");
    assert_eq!(allreduce(build_hub(8, ABLE)), "1");
    let boxes = |boxes, port_rate, abilities| {
        build_boxes(BoxShape { boxes, ranks: 8, port_rate, card_rate: 1, rails: 1, abilities })
    };
    assert_eq!(allreduce(boxes(2, 9, PLAIN)), "3/16");
    assert_eq!(allreduce(boxes(4, 9, PLAIN)), "31/160");
    assert_eq!(allreduce(boxes(2, 12, PLAIN)), "15/104");
    assert_eq!(allreduce(boxes(2, 9, ABLE)), "1/8");
    assert_eq!(allreduce(boxes(4, 9, ABLE)), "1/8");
    assert_eq!(allreduce(boxes(2, 12, ABLE)), "1/8");
}

#[test]
fn too_few_steps_and_too_large_machines_are_told() {
    let dgx1 = build_dgx1().unwrap();
    let too_few = Err(BoundError::TooFewSteps { least: 2 });
    assert_eq!(bound_allgather_in_steps(&dgx1, 1), too_few);
    assert_eq!(bound_reduce_scatter_in_steps(&dgx1, 0), too_few);
    let large = boxes(16, 8, 9, 1);
    assert_eq!(bound_allgather_in_steps(&large, 2), Err(BoundError::TooLarge));
    let larger = build_torus(32, 32).unwrap();
    assert_eq!(bound_allreduce(&larger), Err(BoundError::TooLarge));
    // Beyond the limit of the program for AllToAll, which the fullest edges answer.
    assert_eq!(alltoall(&build_full(129, 1).unwrap()), "1");
}

/// A machine with its least time for an AllGather, and the number of trees per root that reach it.
struct TreeRow {
    name: &'static str,
    topology: Topology,
    rho: &'static str,
    trees: u64,
}

fn tree_rows() -> Vec<TreeRow> {
    let row = |name, topology, rho, trees| TreeRow { name, topology, rho, trees };
    let mi250 = |boxes| build_mi250(boxes, 50, 16).unwrap();
    vec![
        row("dgx1", build_dgx1().unwrap(), "7/6", 6),
        row("a100", boxes(1, 8, 12, 1), "7/12", 1),
        row("h100", boxes(1, 8, 9, 1), "7/9", 1),
        row("h100 x2", boxes(2, 8, 9, 1), "3/2", 2),
        // GPUs with odd and with even numbers have a network each.
        row("a100 x2", boxes(2, 8, 12, 2), "15/13", 13),
        row("mi250", mi250(1), "7/150", 3),
        row("mi250 x2", mi250(2), "15/166", 83),
        row("mi250 x4", mi250(4), "3/16", 8),
        row("h100 x4", boxes(4, 8, 9, 1), "31/10", 10),
        row("h100 x16", boxes(16, 8, 9, 1), "15", 1),
        row("h100 x16, rails", boxes(16, 8, 9, 8), "15", 1),
        row("h100 x16, slow port", build_slow_port(16, 1), "127/7", 7),
        row("h100 x16, rails, slow port", build_slow_port(16, 8), "127/7", 7),
        row("h100 x64", boxes(64, 8, 9, 1), "63", 1),
        row("h100 x128", boxes(128, 8, 9, 1), "127", 1),
        row("h100 x512", boxes(512, 8, 9, 1), "511", 1),
        row("nvl72", boxes(1, 72, 18, 1), "71/18", 1),
        row("nvl72 x4", boxes(4, 72, 18, 1), "287/19", 19),
        row("nvl72 x16", boxes(16, 72, 18, 1), "1151/19", 19),
        row("mi300x", build_mi300x(1), "1/64", 1),
        row("mi300x x2", build_mi300x(2), "5/166", 83),
        row("mi300x x8", build_mi300x(8), "7/50", 25),
        row("torus 8", build_torus(8, 8).unwrap(), "63/4", 4),
        row("torus 16", build_torus(16, 16).unwrap(), "255/4", 4),
        row("torus 32", build_torus(32, 32).unwrap(), "1023/4", 4),
        row("torus 8, broken", build_broken_torus(), "21", 1),
        row("hypercube 7", build_hypercube(7).unwrap(), "127/7", 7),
        row("hypercube 10", build_hypercube(10).unwrap(), "1023/10", 10),
        row("dgx2 x2", build_two_dgx2(), "31/250", 10),
        row("ndv2 x2", build_ndv2(2), "8/25", 1),
        row("ndv2 x4", build_ndv2(4), "24/25", 1),
    ]
}

#[test]
fn machines_of_the_literature_have_their_bounds_and_trees() {
    for TreeRow { name, topology, rho, trees } in tree_rows() {
        let bound = bound_allgather(&topology).unwrap();
        assert_eq!(bound.value.to_string(), rho, "{name}");
        assert_eq!(compute_tree_count(&topology, &bound).unwrap(), trees, "{name}");
        let reversed = bound_reduce_scatter(&topology).unwrap();
        assert_eq!(reversed.value, bound.value, "{name}");
    }
}
