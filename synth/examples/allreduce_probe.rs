#[path = "../tests/support/machines.rs"]
mod machines;
use std::time::Instant;
use synth::bound::allreduce::bound_allreduce;
use synth::families::*;
use synth::graph::*;
use synth::trees::*;
const ABLE: SwitchAbilities = SwitchAbilities { multicast: true, reduce: true };
fn main() {
    let able = |boxes, port, card, rails| {
        build_boxes(BoxShape {
            boxes,
            ranks: 8,
            port_rate: port,
            card_rate: card,
            rails,
            abilities: ABLE,
        })
        .unwrap()
    };
    let rows: Vec<(&str, Topology)> = vec![
        ("line 4", build_line(4).unwrap()),
        ("line 8", build_line(8).unwrap()),
        ("line 7", build_line(7).unwrap()),
        ("star 8", build_star(8).unwrap()),
        ("hub 8", build_hub(8, ABLE).unwrap()),
        ("h100 x2", able(2, 9, 1, 1)),
        ("h100 x4", able(4, 9, 1, 1)),
        ("a100 x2", able(2, 12, 1, 1)),
        ("h100 x2 rails", able(2, 9, 1, 8)),
        ("h100 x4 rails", able(4, 9, 1, 8)),
        ("dgx1", build_dgx1().unwrap()),
        ("ring 8", build_ring(8).unwrap()),
        ("cube", build_hypercube(3).unwrap()),
        ("full 8", build_full(8, 1).unwrap()),
        ("hub 8 plain", build_hub(8, SwitchAbilities::default()).unwrap()),
        ("broken torus", machines::build_broken_torus()),
        ("h100 x16", able(16, 9, 1, 1)),
        ("h100 x16 rails", able(16, 9, 1, 8)),
        ("slow port x4", machines::build_slow_port(4, 1)),
    ];
    let wanted = std::env::args().nth(1);
    for (name, topology) in rows {
        if wanted.as_ref().is_some_and(|w| !name.contains(w.as_str())) {
            continue;
        }
        let t = Instant::now();
        let bound = match bound_allreduce(&topology) {
            Ok(b) => b,
            Err(e) => {
                println!("{name}: {e}");
                continue;
            }
        };
        let tb = t.elapsed().as_secs_f64() * 1e3;
        let t = Instant::now();
        let p = pack_allreduce_trees(&topology, &bound, PackRequest::default());
        let tp = t.elapsed().as_secs_f64() * 1e3;
        match p {
            Ok(p) => println!(
                "{name}: bound {} {} -> {} k {} {:?} {:?} depth {}+{} trees {}+{} tests {}; {tb:.1}+{tp:.1} ms",
                bound.value,
                bound.completeness,
                p.trees.rho,
                p.trees.k,
                p.method,
                p.end,
                p.trees.measure_depth(&topology, TreeDirection::ToRoot),
                p.trees.measure_depth(&topology, TreeDirection::FromRoot),
                p.trees.sums.len(),
                p.trees.copies.len(),
                p.flow_tests
            ),
            Err(e) => println!("{name}: bound {} error {e}; {tb:.1}+{tp:.1}", bound.value),
        }
    }
}
