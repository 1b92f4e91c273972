//! How long the bounds of large machines take: `cargo run --release -p ccl-synth --example times`.

#![expect(clippy::print_stdout, reason = "times are what is asked for")]
#![expect(clippy::unwrap_used, reason = "it ends where something is missing")]

use std::time::Instant;
use synth::automorphism::find_symmetry;
use synth::bound::allreduce::bound_allreduce;
use synth::bound::alltoall::bound_alltoall;
use synth::bound::collective::{BoundRequest, bound_collective};
use synth::bound::cut::{bound_allgather, bound_reduce_scatter};
use synth::bound::layered::{bound_allgather_in_steps, bound_reduce_scatter_in_steps};
use synth::bound::rooted::{bound_broadcast, bound_gather, bound_reduce, bound_scatter};
use synth::bound::steps::bound_steps;
use synth::collective::CollectiveKind;
use synth::families::{
    BoxShape, build_boxes, build_dgx1, build_hypercube, build_mi250, build_torus,
};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::proof::read::check_proof;
use synth::proof::write::{Certificate, write_bounds_proof, write_proof};
use synth::sketch::Sketch;

fn measure<T>(name: &str, compute: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = compute();
    println!("  {name}: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    result
}

fn main() {
    goals();
    whole_bounds();
    linear_programs();
    large_machines();
}

/// What is to take at most 0.05 s for a DGX-1 and for 128 GPUs, and at most 0.3 s for 1,024 GPUs.
fn goals() {
    println!("All bounds and their certificates, written and checked");
    measure("DGX-1, AllGather in up to 3 steps", || {
        prove(&build_dgx1().unwrap(), &[2, 3], true);
    });
    measure("H100, 16 boxes", || prove(&build_h100(16, 1), &[], true));
    measure("H100, 16 boxes, 8 rails", || prove(&build_h100(16, 8), &[], true));
    // An AllReduce has too many variables.
    measure("H100, 128 boxes", || prove(&build_h100(128, 1), &[], false));
    measure("H100, 128 boxes, 8 rails", || prove(&build_h100(128, 8), &[], false));
    measure("torus 32 x 32", || prove(&build_torus(32, 32).unwrap(), &[], false));
    measure("hypercube 10", || prove(&build_hypercube(10).unwrap(), &[], false));
}

/// What the command line does: all bounds of each collective, their proof, and its check.
fn whole_bounds() {
    let root = Vertex(0);
    let kinds = [
        CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter,
        CollectiveKind::AllReduce,
        CollectiveKind::AllToAll,
        CollectiveKind::Broadcast(root),
        CollectiveKind::Reduce(root),
        CollectiveKind::Scatter(root),
        CollectiveKind::Gather(root),
    ];
    let machines = [
        ("DGX-1", build_dgx1().unwrap()),
        ("H100, 2 boxes", build_h100(2, 1)),
        ("H100, 16 boxes", build_h100(16, 1)),
        ("torus 8 x 8", build_torus(8, 8).unwrap()),
        ("H100, 128 boxes", build_h100(128, 1)),
    ];
    for (name, topology) in machines {
        println!("{name}, all bounds, proved");
        for kind in kinds {
            measure(&kind.to_string(), || {
                let request = BoundRequest::default();
                let sketch = Sketch::default();
                let bounds = bound_collective(&topology, &kind.into(), &sketch, &request).unwrap();
                check_proof(&write_bounds_proof(&bounds)).unwrap();
            });
        }
    }
}

/// All bounds of a machine with their certificates, written and checked.
fn prove(topology: &Topology, numbers_of_steps: &[u32], has_allreduce: bool) {
    let root = Vertex(0);
    let mut certificates = Vec::new();
    let cuts = [
        (CollectiveKind::AllGather, bound_allgather(topology)),
        (CollectiveKind::ReduceScatter, bound_reduce_scatter(topology)),
        (CollectiveKind::Broadcast(root), bound_broadcast(topology, root)),
        (CollectiveKind::Reduce(root), bound_reduce(topology, root)),
        (CollectiveKind::Scatter(root), bound_scatter(topology, root)),
        (CollectiveKind::Gather(root), bound_gather(topology, root)),
    ];
    for (collective, bound) in cuts {
        certificates
            .push(Certificate::Cut { collective: collective.into(), bound: bound.unwrap() });
        let bound = bound_steps(topology, collective).unwrap();
        certificates.push(Certificate::Steps { collective: collective.into(), bound });
    }
    certificates.push(Certificate::Lengths { bound: bound_alltoall(topology).unwrap() });
    for &steps in numbers_of_steps {
        let bound = bound_allgather_in_steps(topology, steps).unwrap();
        certificates.push(Certificate::Layered { collective: CollectiveKind::AllGather, bound });
        let bound = bound_reduce_scatter_in_steps(topology, steps).unwrap();
        let collective = CollectiveKind::ReduceScatter;
        certificates.push(Certificate::Layered { collective, bound });
    }
    if has_allreduce {
        certificates.push(Certificate::AllReduce {
            collective: CollectiveKind::AllReduce.into(),
            bound: bound_allreduce(topology).unwrap(),
        });
    }
    check_proof(&write_proof(topology, &certificates)).unwrap();
}

fn linear_programs() {
    let dgx1 = build_dgx1().unwrap();
    println!("DGX-1");
    measure("allreduce", || bound_allreduce(&dgx1).unwrap());
    measure("allgather in 2 steps", || bound_allgather_in_steps(&dgx1, 2).unwrap());
    measure("allgather in 3 steps", || bound_allgather_in_steps(&dgx1, 3).unwrap());
    for boxes in [2, 4, 8, 16] {
        let topology = build_h100(boxes, 1);
        println!("H100, {boxes} boxes");
        measure("allreduce", || bound_allreduce(&topology).unwrap());
        if boxes < 16 {
            measure("allgather in 2 steps", || bound_allgather_in_steps(&topology, 2).unwrap());
        }
    }
}

fn build_h100(boxes: u32, rails: u32) -> Topology {
    let abilities = SwitchAbilities::default();
    let shape = BoxShape { boxes, ranks: 8, port_rate: 9, card_rate: 1, rails, abilities };
    build_boxes(shape).unwrap()
}

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
        measure("symmetry", || find_symmetry(&topology));
        measure("steps", || bound_steps(&topology, CollectiveKind::AllGather).unwrap());
        measure("allgather", || bound_allgather(&topology).unwrap());
        measure("reduce_scatter", || bound_reduce_scatter(&topology).unwrap());
        measure("broadcast", || bound_broadcast(&topology, Vertex(0)).unwrap());
        measure("alltoall", || bound_alltoall(&topology).unwrap());
        measure("scatter", || bound_scatter(&topology, Vertex(0)).unwrap());
    }
}
