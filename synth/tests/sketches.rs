//! Bounds of schedules that keep the constraints of a sketch.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::bound::BoundError;
use synth::bound::collective::{BoundRequest, CollectiveBounds, SweepEnd, bound_collective};
use synth::collective::CollectiveKind;
use synth::families::{
    BoxShape, RelativeGraph, build_boxes, build_dgx1, build_full, build_ring, build_torus,
};
use synth::graph::{EdgeIndex, SwitchAbilities, Topology, Vertex};
use synth::sketch::{Passage, Relay, Sketch, SketchError, SketchGap};

fn try_bound(
    topology: &Topology,
    kind: CollectiveKind,
    sketch: &Sketch,
) -> Result<CollectiveBounds, BoundError> {
    // Large machines have no bounds for each number of steps here.
    let max_steps = if topology.count_ranks() > 8 { Some(0) } else { None };
    let request = BoundRequest { max_steps, ..BoundRequest::default() };
    bound_collective(topology, &kind.into(), sketch, &request)
}

fn bound(topology: &Topology, kind: CollectiveKind, sketch: &Sketch) -> CollectiveBounds {
    try_bound(topology, kind, sketch).unwrap()
}

/// The edge between two vertices.
fn find_edge(topology: &Topology, from: Vertex, to: Vertex) -> EdgeIndex {
    let mut edges = topology.edges().iter();
    EdgeIndex(edges.position(|edge| edge.from == from && edge.to == to).unwrap() as u32)
}

#[test]
fn forbidden_edges_are_not_there() {
    let torus = build_torus(8, 8).unwrap();
    let [one, other] = [Vertex(0), Vertex(1)];
    let forbidden = vec![find_edge(&torus, one, other), find_edge(&torus, other, one)];
    let sketch = Sketch { forbidden, ..Sketch::default() };
    let bounds = bound(&torus, CollectiveKind::AllGather, &sketch);
    // Without this link, a rank gets 63 chunks over three.
    assert_eq!(bounds.bandwidth.value.to_string(), "21");
    assert_eq!(bounds.topology.edges().len(), 254);
    assert_eq!(bounds.gaps, []);

    let mut graph = RelativeGraph::new(3);
    graph.add_link(Vertex(0), Vertex(1), 4);
    graph.add_link(Vertex(1), Vertex(2), 6);
    graph.add_edge(Vertex(0), Vertex(2), 9);
    let topology = graph.build().unwrap();
    let forbidden = vec![find_edge(&topology, Vertex(0), Vertex(2))];
    let sketch = Sketch { forbidden, ..Sketch::default() };
    let bounds = bound(&topology, CollectiveKind::AllGather, &sketch);
    // As if it had never been there: the other rates have a larger divisor.
    assert_eq!(bounds.topology.quantum().to_string(), "2");
    assert_eq!(bounds.bandwidth.value.to_string(), "1/2");
}

fn boxes(rails: u32) -> Topology {
    let abilities = SwitchAbilities::default();
    let shape = BoxShape { boxes: 2, ranks: 8, port_rate: 9, card_rate: 1, rails, abilities };
    build_boxes(shape).unwrap()
}

/// From the first of two boxes to the second one over the cards of their first ranks only.
fn cross_at_first_rank(topology: &Topology) -> Sketch {
    let rail = Vertex(18);
    let via = vec![find_edge(topology, Vertex(0), rail), find_edge(topology, rail, Vertex(8))];
    let [from, to] = [0..8, 8..16].map(|ranks| ranks.map(Vertex).collect());
    Sketch { passages: vec![Passage { from, to, via }], ..Sketch::default() }
}

#[test]
fn passages_close_other_ways() {
    let topology = boxes(8);
    let sketch = cross_at_first_rank(&topology);
    let bounds = bound(&topology, CollectiveKind::AllGather, &sketch);
    // Eight chunks pass one card, on a way over both first ranks.
    assert_eq!(bounds.bandwidth.value.to_string(), "8");
    assert_eq!(bounds.steps.steps, 3);
    assert_eq!(bounds.gaps, []);
    // A card of the first box leads to the second one only.
    let open = bound(&topology, CollectiveKind::AllGather, &Sketch::default());
    assert_eq!(open.bandwidth.value.to_string(), "3/2");
    assert_eq!(bounds.topology.edges().len(), open.topology.edges().len() - 14);
}

#[test]
fn passages_that_edges_do_not_tell_apart_are_gaps() {
    // All cards are on one switch: those of the first box may carry what stays in it.
    let topology = boxes(1);
    let mut sketch = cross_at_first_rank(&boxes(8));
    let rail = Vertex(18);
    sketch.passages[0].via = vec![find_edge(&topology, Vertex(0), rail)];
    let bounds = bound(&topology, CollectiveKind::AllGather, &sketch);
    assert!(
        bounds.gaps.contains(&SketchGap::Passage {
            passage: 0,
            edge: find_edge(&topology, Vertex(3), rail)
        })
    );
    assert!(
        !bounds.gaps.contains(&SketchGap::Passage {
            passage: 0,
            edge: find_edge(&topology, Vertex(0), rail)
        })
    );
    assert_eq!(bounds.bandwidth.value.to_string(), "3/2");
}

#[test]
fn hops_are_limited() {
    let dgx1 = build_dgx1().unwrap();
    let two = Sketch { max_hops: Some(2), ..Sketch::default() };
    let broadcast = CollectiveKind::Broadcast(Vertex(0));
    let bounds = bound(&dgx1, broadcast, &two);
    // Two links of rate 1 lead to rank 7 in two hops; without the limit it is 1/6.
    assert_eq!(bounds.bandwidth.value.to_string(), "1/2");
    assert_eq!(bounds.sweep_end, SweepEnd::ReachedBandwidth);
    let steps: Vec<String> =
        bounds.by_steps.iter().map(|bound| format!("{}: {}", bound.steps, bound.value)).collect();
    assert_eq!(steps, ["2: 1", "3: 1/2"]);
    assert_eq!(bounds.gaps, [SketchGap::HopsWithinSteps]);

    let bounds = bound(&dgx1, CollectiveKind::AllReduce, &two);
    assert!(bounds.gaps.contains(&SketchGap::HopsOfSums));
    let bounds = bound(&dgx1, CollectiveKind::ReduceScatter, &two);
    assert_eq!(bounds.bandwidth.value.to_string(), "7/6");
    assert_eq!(bounds.gaps, [SketchGap::HopsWithinSteps]);
    // No way is longer than that.
    let many = Sketch { max_hops: Some(8), ..Sketch::default() };
    assert_eq!(bound(&dgx1, CollectiveKind::AllReduce, &many).gaps, []);

    let one = Sketch { max_hops: Some(1), ..Sketch::default() };
    let few = try_bound(&dgx1, CollectiveKind::AllGather, &one).err();
    assert_eq!(few, Some(BoundError::TooFewHops { least: 2 }));
}

#[test]
fn ranks_need_not_relay() {
    let direct = Sketch { relay: Relay::Nothing, ..Sketch::default() };
    let full = build_full(8, 1).unwrap();
    let broadcast = CollectiveKind::Broadcast(Vertex(0));
    assert_eq!(bound(&full, broadcast, &direct).bandwidth.value.to_string(), "1");
    assert_eq!(bound(&full, broadcast, &Sketch::default()).bandwidth.value.to_string(), "1/7");
    // Each contribution goes to each other rank.
    let bounds = bound(&full, CollectiveKind::AllReduce, &direct);
    assert_eq!(bounds.bandwidth.value.to_string(), "1");
    assert_eq!(bounds.gaps, []);
    // Over the network card of the sender, and of the receiver.
    let topology = boxes(1);
    let bounds = bound(&topology, CollectiveKind::AllToAll, &direct);
    assert_eq!(bounds.steps.steps, 1);
    assert_eq!(bounds.bandwidth.value.to_string(), "8");
    let ring = build_ring(4).unwrap();
    let few = try_bound(&ring, CollectiveKind::AllToAll, &direct).err();
    assert_eq!(few, Some(BoundError::TooFewHops { least: 2 }));
}

#[test]
fn mistakes_in_sketches_are_named() {
    let ring = build_ring(4).unwrap();
    let refuse = |sketch: &Sketch| try_bound(&ring, CollectiveKind::AllGather, sketch).err();
    let edge = EdgeIndex(8);
    let unknown = Some(BoundError::Sketch(SketchError::UnknownEdge { edge }));
    assert_eq!(refuse(&Sketch { forbidden: vec![edge], ..Sketch::default() }), unknown);
    let passage = Passage { from: vec![Vertex(0)], to: vec![Vertex(1)], via: vec![edge] };
    let with = |passage| Sketch { passages: vec![passage], ..Sketch::default() };
    assert_eq!(refuse(&with(passage.clone())), unknown);
    let rank = Vertex(4);
    let passage = Passage { to: vec![rank], via: Vec::new(), ..passage };
    let unknown = Some(BoundError::Sketch(SketchError::UnknownRank { rank }));
    assert_eq!(refuse(&with(passage)), unknown);
    let all: Vec<EdgeIndex> = (0..8).map(EdgeIndex).collect();
    let nothing = refuse(&Sketch { forbidden: all, ..Sketch::default() });
    let [from, to] = [Vertex(0), Vertex(1)];
    assert_eq!(nothing, Some(BoundError::Unreachable { from, to }));
}
