use std::time::Instant;
use synth::bound::allreduce::bound_allreduce;
use synth::families::*;
use synth::graph::*;
use synth::trees::*;
fn draw(random: &mut fastrand::Rng, even: bool, able: bool) -> Topology {
    let ranks = random.u32(2..9);
    let vertices = ranks + random.u32(0..4);
    let mut graph = RelativeGraph::new(ranks);
    for _ in ranks..vertices {
        graph.add_switch(if able {
            SwitchAbilities { multicast: random.bool(), reduce: random.bool() }
        } else {
            SwitchAbilities::default()
        });
    }
    let density = random.f64();
    let most = random.u64(2..8);
    for one in 0..vertices {
        for other in one + 1..vertices {
            if other == one + 1 || random.f64() < density {
                let rates = [random.u64(1..most), random.u64(1..most)];
                graph.add_edge(Vertex(one), Vertex(other), rates[0]);
                graph.add_edge(Vertex(other), Vertex(one), if even { rates[0] } else { rates[1] });
            }
        }
    }
    graph.build().unwrap()
}
fn main() {
    for (even, able) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut random = fastrand::Rng::with_seed(2027);
        let t = Instant::now();
        let (mut worst_t, mut worst_gap) = (0.0f64, 0.0f64);
        let mut count = std::collections::BTreeMap::new();
        let mut ks = Vec::new();
        let mut depths = [0, 0];
        for round in 0..200 {
            let topology = draw(&mut random, even, able);
            let bound = bound_allreduce(&topology).unwrap();
            let t = Instant::now();
            match pack_allreduce_trees(&topology, &bound, PackRequest::default()) {
                Ok(p) => {
                    let gap = p.trees.rho.checked_div(bound.value).unwrap();
                    let gap = gap.numerator() as f64 / gap.denominator() as f64 - 1.0;
                    if gap > 1e-9 {
                        println!(
                            "{round}: gap {:.2e} k {} {:?} {} vs {} {:.1} ms, {} ranks {} switches",
                            gap,
                            p.trees.k,
                            p.method,
                            p.trees.rho,
                            bound.value,
                            t.elapsed().as_secs_f64() * 1e3,
                            topology.count_ranks(),
                            topology.switches().len()
                        );
                    }
                    worst_gap = worst_gap.max(gap);
                    *count.entry(format!("{:?} {:?}", p.method, p.end)).or_insert(0) += 1;
                    ks.push(p.trees.k);
                    depths[0] += p.trees.measure_depth(&topology, TreeDirection::ToRoot);
                    depths[1] += p.trees.measure_depth(&topology, TreeDirection::FromRoot);
                }
                Err(e) => {
                    *count.entry(format!("{e}")).or_insert(0) += 1;
                }
            }
            worst_t = worst_t.max(t.elapsed().as_secs_f64());
        }
        ks.sort();
        println!(
            "even {even} able {able}: {count:?} worst gap {worst_gap:.2e} worst time {worst_t:.2} total {:.2} k median {} max {} depths {depths:?}",
            t.elapsed().as_secs_f64(),
            ks[ks.len() / 2],
            ks[ks.len() - 1]
        );
    }
}
