//! How long the bounds of large machines take: `cargo test --release -p ccl-synth --test times -- --ignored --nocapture`.

#![expect(clippy::print_stdout, reason = "times are what is asked for")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::time::Instant;
use synth::bound::alltoall::bound_alltoall;
use synth::bound::cut::{bound_allgather, bound_reduce_scatter};
use synth::bound::rooted::{bound_broadcast, bound_scatter};
use synth::bound::steps::bound_steps;
use synth::collective::CollectiveKind;
use synth::families::{
    BoxShape, build_boxes, build_dgx1, build_hypercube, build_mi250, build_torus,
};
use synth::graph::{SwitchAbilities, Topology, Vertex};

fn measure<T>(name: &str, compute: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = compute();
    println!("  {name}: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    result
}

fn build_h100(boxes: u32, rails: u32) -> Topology {
    let abilities = SwitchAbilities::default();
    let shape = BoxShape { boxes, ranks: 8, port_rate: 9, card_rate: 1, rails, abilities };
    build_boxes(shape).unwrap()
}

#[test]
#[ignore = "prints times, and checks nothing"]
fn large_machines() {
    let machines = [
        ("DGX-1", build_dgx1().unwrap()),
        ("H100, 16 boxes", build_h100(16, 1)),
        ("H100, 16 boxes, 8 rails", build_h100(16, 8)),
        ("H100, 128 boxes", build_h100(128, 1)),
        ("H100, 128 boxes, 8 rails", build_h100(128, 8)),
        ("MI250, 4 boxes", build_mi250(4, 50, 16).unwrap()),
        ("torus 32 x 32", build_torus(32, 32).unwrap()),
        ("hypercube 10", build_hypercube(10).unwrap()),
    ];
    for (name, topology) in machines {
        println!("{name}");
        measure("steps", || bound_steps(&topology, CollectiveKind::AllGather).unwrap());
        measure("allgather", || bound_allgather(&topology).unwrap());
        measure("reduce_scatter", || bound_reduce_scatter(&topology).unwrap());
        measure("broadcast", || bound_broadcast(&topology, Vertex(0)).unwrap());
        measure("alltoall", || bound_alltoall(&topology).unwrap());
        measure("scatter", || bound_scatter(&topology, Vertex(0)).unwrap());
    }
}
