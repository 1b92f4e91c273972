//! How long constructions of schedules take, and how near they come to the bounds:
//! `cargo run --release -p ccl-synth --example constructions`.

#![expect(clippy::print_stdout, reason = "times are what is asked for")]
#![expect(clippy::unwrap_used, reason = "it ends where something is missing")]

use std::time::Instant;
use synth::bound::collective::{BoundRequest, bound_collective};
use synth::collective::{Collective, CollectiveKind};
use synth::families::{
    BoxShape, build_boxes, build_dgx1, build_hub, build_hypercube, build_line, build_mi250,
    build_ring, build_torus, build_two_cliques,
};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::schedule::{StepSchedule, check_schedule, list_units};
use synth::sketch::Sketch;
use synth::steps::bfb::{find_breadth_first, schedule_breadth_first};
use synth::steps::exchange::{ExchangeRequest, find_exchange};
use synth::steps::greedy::{GreedyOrder, GreedyOutcome, GreedyRequest, schedule_greedily};
use synth::steps::scatter::{find_gather, find_scatter};

struct Machine {
    name: &'static str,
    topology: Topology,
}

fn main() {
    println!("Breadth-first broadcasts, up to 12 pieces");
    for Machine { name, topology } in list_machines() {
        measure(name, &topology, CollectiveKind::AllGather, || {
            find_breadth_first(&topology, 12).unwrap()
        });
    }
    let hub = build_hub(1000, SwitchAbilities::default()).unwrap();
    measure("hub 1,000, 1 piece", &hub, CollectiveKind::AllGather, || {
        schedule_breadth_first(&hub, 1).unwrap()
    });
    let torus = build_torus(32, 32).unwrap();
    measure("torus 32 x 32, 4 pieces", &torus, CollectiveKind::AllGather, || {
        schedule_breadth_first(&torus, 4).unwrap()
    });
    println!("Scatters and Gathers, up to 12 pieces");
    for Machine { name, topology } in list_machines() {
        let root = Vertex(0);
        measure(name, &topology, CollectiveKind::Scatter(root), || {
            find_scatter(&topology, root, 12).unwrap().schedule
        });
        measure(name, &topology, CollectiveKind::Gather(root), || {
            find_gather(&topology, root, 12).unwrap().schedule
        });
    }
    for max_chunks in [1, 2, 4] {
        println!("Exchanges, up to {max_chunks} pieces");
        for Machine { name, topology } in list_machines() {
            let units =
                list_units(&Collective::Known(CollectiveKind::AllToAll), topology.count_ranks());
            let request = ExchangeRequest { max_chunks, ..ExchangeRequest::default() };
            measure(name, &topology, CollectiveKind::AllToAll, || {
                let found = find_exchange(&topology, &units, &request).unwrap();
                print!("{:?}", found.end);
                found.schedule
            });
        }
    }
    if std::env::args().len() < 2 {
        return;
    }
    for order in [GreedyOrder::Rarest, GreedyOrder::Earliest] {
        for chunks in [1, 2, 4] {
            println!("Greedy AllGather, {order:?}, {chunks} pieces");
            for Machine { name, topology } in list_machines() {
                measure(name, &topology, CollectiveKind::AllGather, || {
                    search_greedily(&topology, CollectiveKind::AllGather, order, chunks)
                });
            }
        }
    }
    let order = GreedyOrder::Rarest;
    for kind in [
        CollectiveKind::AllToAll,
        CollectiveKind::Broadcast(Vertex(0)),
        CollectiveKind::Scatter(Vertex(0)),
    ] {
        for chunks in [1, 6] {
            println!("Greedy {kind}, {chunks} pieces");
            for Machine { name, topology } in list_machines() {
                measure(name, &topology, kind, || search_greedily(&topology, kind, order, chunks));
            }
        }
    }
}

fn search_greedily(
    topology: &Topology,
    kind: CollectiveKind,
    order: GreedyOrder,
    chunks: u32,
) -> StepSchedule {
    let units = list_units(&Collective::Known(kind), topology.count_ranks());
    let request = GreedyRequest { chunks, order, ..GreedyRequest::default() };
    match schedule_greedily(topology, &units, &request).unwrap() {
        GreedyOutcome::Found(schedule) => schedule,
        GreedyOutcome::Stopped { .. } => panic!("no budget"),
    }
}

fn list_machines() -> Vec<Machine> {
    let boxes = |boxes, port_rate, rails| {
        let abilities = SwitchAbilities::default();
        build_boxes(BoxShape { boxes, ranks: 8, port_rate, card_rate: 1, rails, abilities })
    };
    let rows = [
        ("DGX-1", build_dgx1()),
        ("ring 8", build_ring(8)),
        ("line 8", build_line(8)),
        ("hypercube 4", build_hypercube(4)),
        ("torus 4 x 4", build_torus(4, 4)),
        ("torus 3 x 5", build_torus(3, 5)),
        ("MI250", build_mi250(1, 1, 1)),
        ("two cliques", build_two_cliques(4, 4)),
        ("hub 16", build_hub(16, SwitchAbilities::default())),
        ("H100, 2 boxes, 1 switch", boxes(2, 9, 1)),
        ("H100, 2 boxes, 8 rails", boxes(2, 9, 8)),
        ("H100, 4 boxes, 8 rails", boxes(4, 9, 8)),
        ("hypercube 7", build_hypercube(7)),
        ("torus 8 x 16", build_torus(8, 16)),
        ("H100, 16 boxes, 1 switch", boxes(16, 9, 1)),
        ("H100, 16 boxes, 8 rails", boxes(16, 9, 8)),
    ];
    let convert =
        |(name, topology): (_, Result<Topology, _>)| Machine { name, topology: topology.unwrap() };
    rows.into_iter().map(convert).collect()
}

fn measure(
    name: &str,
    topology: &Topology,
    kind: CollectiveKind,
    construct: impl FnOnce() -> StepSchedule,
) {
    let start = Instant::now();
    let schedule = construct();
    let time = start.elapsed().as_secs_f64() * 1e3;
    let collective = Collective::Known(kind);
    let start = Instant::now();
    let units = list_units(&collective, topology.count_ranks());
    check_schedule(topology, &units, &schedule).unwrap();
    let check = start.elapsed().as_secs_f64() * 1e3;
    let point = schedule.measure();
    let reached = point.compute_time(topology).unwrap();
    // The programs for so many steps take long on large machines.
    let max_steps = if topology.count_ranks() > 16 { 0 } else { point.steps };
    let request = BoundRequest { max_steps: Some(max_steps), ..BoundRequest::default() };
    let bound = bound_collective(topology, &collective, &Sketch::default(), &request).unwrap();
    let in_steps = bound.by_steps.last().map_or(bound.bandwidth.value, |last| last.value);
    println!(
        "  {name}: ({}, {}, {}) takes {reached}, bound {in_steps} in {} steps, {} at last, least steps {}; \
         {time:.2} ms, check {check:.2} ms",
        point.steps,
        point.rounds,
        point.chunks,
        bound.by_steps.last().map_or(0, |last| last.steps),
        bound.bandwidth.value,
        bound.steps.steps,
    );
}
