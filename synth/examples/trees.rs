//! How long trees of machines take, and what they are: `cargo run --release -p ccl-synth --example trees`.

#![expect(clippy::print_stdout, reason = "times are what is asked for")]
#![expect(clippy::unwrap_used, reason = "it ends where something is missing")]

#[path = "../tests/support/machines.rs"]
mod machines;

use machines::{
    boxes, build_broken_torus, build_mi300x, build_ndv2, build_slow_port, build_two_dgx2,
};
use std::time::Instant;
use synth::bound::allreduce::bound_allreduce;
use synth::bound::cut::bound_allgather;
use synth::families::{
    BoxShape, build_boxes, build_dgx1, build_hub, build_hypercube, build_line, build_mi250,
    build_torus,
};
use synth::graph::{SwitchAbilities, Topology};
use synth::trees::{
    PackRequest, TreeDirection, check_trees, pack_allgather_trees, pack_allreduce_trees,
};

const ABLE: SwitchAbilities = SwitchAbilities { multicast: true, reduce: true };

fn main() {
    let wanted = std::env::args().nth(1);
    for Machine { name, build } in list_machines() {
        if wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str())) {
            measure(name, &build());
        }
    }
    for Machine { name, build } in list_reducing_machines() {
        if wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str())) {
            measure_allreduce(name, &build());
        }
    }
}

struct Machine {
    name: &'static str,
    build: fn() -> Topology,
}

fn list_machines() -> Vec<Machine> {
    let row = |name, build| Machine { name, build };
    vec![
        row("dgx1", || build_dgx1().unwrap()),
        row("a100", || boxes(1, 8, 12, 1)),
        row("a100 x2", || boxes(2, 8, 12, 2)),
        row("h100", || boxes(1, 8, 9, 1)),
        row("h100 x2", || boxes(2, 8, 9, 1)),
        row("h100 x3", || boxes(3, 8, 9, 1)),
        row("h100 x4", || boxes(4, 8, 9, 1)),
        row("h100 x16", || boxes(16, 8, 9, 1)),
        row("h100 x16, rails", || boxes(16, 8, 9, 8)),
        row("h100 x16, slow port", || build_slow_port(16, 1)),
        row("h100 x16, rails, slow port", || build_slow_port(16, 8)),
        row("h100 x64", || boxes(64, 8, 9, 1)),
        row("h100 x128", || boxes(128, 8, 9, 1)),
        row("h100 x128, rails", || boxes(128, 8, 9, 8)),
        row("one slow port, h100 x128", || build_slow_port(128, 1)),
        row("nvl72", || boxes(1, 72, 18, 1)),
        row("nvl72 x4", || boxes(4, 72, 18, 1)),
        row("nvl72 x16", || boxes(16, 72, 18, 1)),
        row("mi300x", || build_mi300x(1)),
        row("mi300x x2", || build_mi300x(2)),
        row("mi300x x8", || build_mi300x(8)),
        row("mi250", || build_mi250(1, 50, 16).unwrap()),
        row("mi250 x2", || build_mi250(2, 50, 16).unwrap()),
        row("mi250 x4", || build_mi250(4, 50, 16).unwrap()),
        row("torus 8", || build_torus(8, 8).unwrap()),
        row("torus 16", || build_torus(16, 16).unwrap()),
        row("torus 32", || build_torus(32, 32).unwrap()),
        row("torus 8, broken", build_broken_torus),
        row("hypercube 7", || build_hypercube(7).unwrap()),
        row("hypercube 10", || build_hypercube(10).unwrap()),
        row("dgx2 x2", build_two_dgx2),
        row("ndv2 x2", || build_ndv2(2)),
        row("ndv2 x4", || build_ndv2(4)),
    ]
}

/// Boxes of H100 whose switches copy and add.
fn build_reducing_boxes(boxes: u32, rails: u32) -> Topology {
    let shape = BoxShape { boxes, ranks: 8, port_rate: 9, card_rate: 1, rails, abilities: ABLE };
    build_boxes(shape).unwrap()
}

fn list_reducing_machines() -> Vec<Machine> {
    let row = |name, build| Machine { name, build };
    vec![
        row("allreduce, dgx1", || build_dgx1().unwrap()),
        row("allreduce, line 8", || build_line(8).unwrap()),
        row("allreduce, torus 8, broken", build_broken_torus),
        row("allreduce, nvswitch 8", || build_hub(8, ABLE).unwrap()),
        row("allreduce, nvswitch h100 x2", || build_reducing_boxes(2, 1)),
        row("allreduce, nvswitch h100 x4, rails", || build_reducing_boxes(4, 8)),
        row("allreduce, nvswitch h100 x16", || build_reducing_boxes(16, 1)),
    ]
}

fn measure_allreduce(name: &str, topology: &Topology) {
    let start = Instant::now();
    let bound = bound_allreduce(topology).unwrap();
    let bounded = start.elapsed().as_secs_f64() * 1e3;
    let start = Instant::now();
    let found = pack_allreduce_trees(topology, &bound, PackRequest::default());
    let packed = start.elapsed().as_secs_f64() * 1e3;
    match found {
        Ok(packing) => {
            let [sums, copies] = [TreeDirection::ToRoot, TreeDirection::FromRoot]
                .map(|direction| packing.trees.measure_depth(topology, direction));
            println!(
                "{name}: {} of a buffer in {} pieces, depths {sums} and {copies}, {:?}, {:?}, {} flow tests; {bounded:.2} + {packed:.2} ms",
                packing.trees.rho, packing.trees.k, packing.method, packing.end, packing.flow_tests,
            );
        }
        Err(error) => println!("{name}: {error}; {bounded:.2} + {packed:.2} ms"),
    }
}

fn measure(name: &str, topology: &Topology) {
    let start = Instant::now();
    let cut = bound_allgather(topology).unwrap();
    let bounded = start.elapsed().as_secs_f64() * 1e3;
    let start = Instant::now();
    let found = pack_allgather_trees(topology, &cut, PackRequest::default());
    let packed = start.elapsed().as_secs_f64() * 1e3;
    match found {
        Ok(packing) => {
            check_trees(topology, &packing.trees).unwrap();
            println!(
                "{name}: {} with {}, depth {}, {:.2} trees per root, {:?}, {} flow tests; {bounded:.2} + {packed:.2} ms",
                packing.trees.rho,
                packing.trees.k,
                packing.trees.measure_depth(),
                packing.trees.trees.len() as f64 / f64::from(topology.count_ranks()),
                packing.method,
                packing.flow_tests,
            );
        }
        Err(error) => println!("{name}: {error}; {bounded:.2} + {packed:.2} ms"),
    }
}
