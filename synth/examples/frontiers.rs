//! How long searches for frontiers take: `cargo run --release -p ccl-synth --example frontiers`.

#![expect(clippy::print_stdout, reason = "times are what is asked for")]
#![expect(clippy::unwrap_used, reason = "it ends where something is missing")]

use std::time::Instant;
use synth::collective::CollectiveKind;
use synth::families::{
    BoxShape, build_boxes, build_dgx1, build_hub, build_hypercube, build_mi250, build_ring,
    build_star, build_torus, build_two_cliques,
};
use synth::frontier::{FrontierPoint, FrontierRequest, PointStatus, find_frontier};
use synth::graph::{SwitchAbilities, Topology, Vertex};

fn main() {
    let abilities = SwitchAbilities::default();
    let boxes = BoxShape { boxes: 2, ranks: 8, port_rate: 9, card_rate: 1, rails: 1, abilities };
    let machines = [
        // The goal for its AllGather and its AllToAll is 50 ms each.
        ("DGX-1", build_dgx1().unwrap()),
        ("ring of 8", build_ring(8).unwrap()),
        ("hypercube 3", build_hypercube(3).unwrap()),
        ("hub of 8", build_hub(8, abilities).unwrap()),
        ("star of 8", build_star(8).unwrap()),
        ("two cliques", build_two_cliques(4, 4).unwrap()),
        ("torus 4 x 4", build_torus(4, 4).unwrap()),
        ("H100, 2 boxes", build_boxes(boxes).unwrap()),
        ("MI250", build_mi250(1, 1, 1).unwrap()),
    ];
    let root = Vertex(0);
    let kinds = [
        CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll,
        CollectiveKind::Scatter(root),
        CollectiveKind::Gather(root),
        CollectiveKind::Broadcast(root),
    ];
    for (name, topology) in &machines {
        println!("{name}");
        for kind in kinds {
            measure(topology, kind);
        }
    }
}

fn measure(topology: &Topology, kind: CollectiveKind) {
    let start = Instant::now();
    let frontier = find_frontier(topology, &kind.into(), &FrontierRequest::default()).unwrap();
    let time = start.elapsed().as_secs_f64() * 1e3;
    let points: Vec<String> = frontier.points.iter().map(describe_point).collect();
    let end = if frontier.is_complete { "complete" } else { "open" };
    println!("  {kind}: {time:.2} ms, {}, {end}", points.join(" "));
}

fn describe_point(point: &FrontierPoint) -> String {
    let size = point.schedule.measure();
    let gap = match point.status {
        PointStatus::Optimal => String::new(),
        PointStatus::AboveBound { bound } => format!(" above {bound}"),
    };
    format!("({}, {}, {}){gap}", size.steps, size.rounds, size.chunks)
}
