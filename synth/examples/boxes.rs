//! How near AllToAlls on boxes come to their bounds, and how long they take:
//! `cargo run --release -p ccl-synth --example boxes`.

#![expect(clippy::print_stdout, reason = "times are what is asked for")]
#![expect(clippy::indexing_slicing, reason = "it ends where something is missing")]
#![expect(clippy::unwrap_used, reason = "it ends where something is missing")]

use std::time::Instant;
use synth::bound::alltoall::bound_alltoall;
use synth::families::{BoxShape, RelativeGraph, build_boxes, build_two_cliques};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::schedule::check_schedule;
use synth::steps::boxes::{
    BoxGrouping, BoxOrder, BoxRequest, BoxSearchRequest, TrafficMatrix, construct_box_alltoall,
    find_box_alltoalls,
};

const PLAIN: SwitchAbilities = SwitchAbilities { multicast: false, reduce: false };

fn main() {
    for (name, topology) in list_machines() {
        let start = Instant::now();
        let boxes = BoxGrouping::find(&topology).unwrap();
        let traffic = TrafficMatrix::uniform(topology.count_ranks()).unwrap();
        let found = find_box_alltoalls(&topology, &boxes, &traffic, &BoxSearchRequest::default())
            .unwrap()
            .schedules;
        let time = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        let least = bound_alltoall(&topology).unwrap().value;
        let bound_time = start.elapsed().as_secs_f64() * 1e3;
        println!("{name}: {time:.1} ms; bound {least} in {bound_time:.1} ms");
        for own in &found {
            check_schedule(&topology, &traffic.list_units(), &own.schedule).unwrap();
            let point = own.schedule.measure();
            println!(
                "  ({}, {}, {}) takes {}, bound {} by {}",
                point.steps,
                point.rounds,
                point.chunks,
                own.time,
                own.bound.value,
                own.bound.witness
            );
        }
    }
    println!("Random amounts from 0 to 31");
    let mut random = fastrand::Rng::with_seed(1);
    for (name, topology) in list_machines().into_iter().filter(|(_, own)| own.count_ranks() <= 64) {
        let boxes = BoxGrouping::find(&topology).unwrap();
        let ranks = topology.count_ranks() as usize;
        let row = |_| (0..ranks).map(|_| random.u64(0..32)).collect();
        let traffic = TrafficMatrix::from_rows((0..ranks).map(row).collect()).unwrap();
        for order in [
            BoxOrder::Direct,
            BoxOrder::RelayFirst,
            BoxOrder::Parts(2),
            BoxOrder::Parts(4),
            BoxOrder::Permutations,
        ] {
            let start = Instant::now();
            let request = BoxRequest { max_chunks: 1, order };
            let Ok(own) = construct_box_alltoall(&topology, &boxes, &traffic, &request) else {
                continue;
            };
            let time = start.elapsed().as_secs_f64() * 1e3;
            check_schedule(&topology, &traffic.list_units(), &own.schedule).unwrap();
            let point = own.schedule.measure();
            println!(
                "  {name}, {order:?}: {} steps take {}, bound {} by {}; {} terms; {time:.1} ms",
                point.steps,
                own.time,
                own.bound.value,
                own.bound.witness,
                own.terms.len()
            );
        }
    }
}

fn list_machines() -> Vec<(&'static str, Topology)> {
    let boxes = |boxes, port_rate, card_rate, rails| {
        let abilities = PLAIN;
        build_boxes(BoxShape { boxes, ranks: 8, port_rate, card_rate, rails, abilities }).unwrap()
    };
    vec![
        ("H100 x 2", boxes(2, 9, 1, 8)),
        ("H100 x 4", boxes(4, 9, 1, 8)),
        ("H100 x 16", boxes(16, 9, 1, 8)),
        ("H100 x 128", boxes(128, 9, 1, 8)),
        ("A100 x 2", boxes(2, 12, 1, 8)),
        ("H100 x 4, one switch", boxes(4, 9, 1, 1)),
        ("fast cards x 4", boxes(4, 5, 4, 8)),
        ("rails and spines x 2", build_rails(2, 100)),
        ("rails and spines x 4", build_rails(4, 100)),
        ("rails and spines x 4, half", build_rails(4, 50)),
        ("MI300X x 2", build_mesh(2)),
        ("MI300X x 4", build_mesh(4)),
        ("4 cards for 8 x 2", build_gateways(2)),
        ("4 cards for 8 x 4", build_gateways(4)),
        ("two cliques", build_two_cliques(4, 4).unwrap()),
    ]
}

/// Boxes of 8 with a leaf for each rail, and four spines that carry so many percent of what the cards do.
fn build_rails(boxes: u32, percent: u64) -> Topology {
    let mut graph = RelativeGraph::new(8 * boxes);
    let inside: Vec<Vertex> = (0..boxes).map(|_| graph.add_switch(PLAIN)).collect();
    let leaves: Vec<Vertex> = (0..8).map(|_| graph.add_switch(PLAIN)).collect();
    let spines: Vec<Vertex> = (0..4).map(|_| graph.add_switch(PLAIN)).collect();
    for rank in 0..8 * boxes {
        graph.add_link(Vertex(rank), inside[rank as usize / 8], 9 * 200);
        graph.add_link(Vertex(rank), leaves[rank as usize % 8], 200);
    }
    for leaf in &leaves {
        for spine in &spines {
            graph.add_link(*leaf, *spine, u64::from(boxes) * percent / 2);
        }
    }
    graph.build().unwrap()
}

/// Boxes of 8 joined pairwise, with a card for each rank.
fn build_mesh(boxes: u32) -> Topology {
    let mut graph = RelativeGraph::new(8 * boxes);
    let rails: Vec<Vertex> = (0..8).map(|_| graph.add_switch(PLAIN)).collect();
    for rank in 0..8 * boxes {
        graph.add_link(Vertex(rank), rails[rank as usize % 8], 50);
        for other in rank + 1..8 * (rank / 8 + 1) {
            graph.add_link(Vertex(rank), Vertex(other), 64);
        }
    }
    graph.build().unwrap()
}

/// Boxes of 8 on a switch, with a card for each second rank.
fn build_gateways(boxes: u32) -> Topology {
    let mut graph = RelativeGraph::new(8 * boxes);
    let inside: Vec<Vertex> = (0..boxes).map(|_| graph.add_switch(PLAIN)).collect();
    let rails: Vec<Vertex> = (0..4).map(|_| graph.add_switch(PLAIN)).collect();
    for rank in 0..8 * boxes {
        graph.add_link(Vertex(rank), inside[rank as usize / 8], 12);
        if rank % 2 == 0 {
            graph.add_link(Vertex(rank), rails[rank as usize / 2 % 4], 1);
        }
    }
    graph.build().unwrap()
}
