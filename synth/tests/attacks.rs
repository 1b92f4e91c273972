//! Attacks on proof files: whatever is changed in one, what is still accepted holds.

#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[path = "support/drawing.rs"]
mod drawing;

use drawing::draw_subset;
use std::collections::BTreeMap;
use synth::bound::allreduce::bound_rooted_demands;
use synth::bound::collective::{BoundRequest, bound_collective};
use synth::bound::flows::{Layering, bound_flows};
use synth::bound::steps::bound_demand_steps;
use synth::bound::{BoundError, Completeness, ProgramBudget};
use synth::collective::{Collective, CollectiveKind, Demand, DemandList, SummandGroup};
use synth::families::RelativeGraph;
use synth::graph::text::write_topology;
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::proof::read::check_proof;
use synth::proof::write::{
    Certificate, CertifiedCollective, collect_certificates, write_demands_proof,
};
use synth::proof::{ProofError, ProofFlaw, ProvedQuantity};
use synth::rational::Rational;
use synth::sketch::Sketch;

/// A graph of up to four ranks and two switches of any abilities, whose edges need not go both ways.
fn draw_topology(random: &mut fastrand::Rng) -> Topology {
    let ranks = random.u32(2..5);
    let vertices = ranks + random.u32(0..3);
    let mut graph = RelativeGraph::new(ranks);
    for _ in ranks..vertices {
        graph.add_switch(SwitchAbilities { multicast: random.bool(), reduce: random.bool() });
    }
    for from in 0..vertices {
        for to in (0..vertices).filter(|to| *to != from) {
            if random.u8(0..10) < 6 {
                graph.add_edge(Vertex(from), Vertex(to), random.u64(1..5));
            }
        }
    }
    graph.build().unwrap()
}

fn draw_ranks(random: &mut fastrand::Rng, ranks: u32) -> Vec<Vertex> {
    let mut drawn = draw_subset(random, 0..ranks);
    drawn.push(Vertex(random.u32(0..ranks)));
    drawn
}

fn draw_collective(random: &mut fastrand::Rng, ranks: u32) -> Collective {
    let root = Vertex(random.u32(0..ranks));
    let kinds = [
        CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll,
        CollectiveKind::AllReduce,
        CollectiveKind::Broadcast(root),
        CollectiveKind::Scatter(root),
    ];
    match kinds.get(random.usize(0..kinds.len() + 3)) {
        Some(kind) => (*kind).into(),
        None => {
            let is_grouped = random.bool();
            let demands = (0..random.u32(1..4)).map(|_| {
                let [origins, mut receivers] = [(); 2].map(|()| draw_ranks(random, ranks));
                // Sums with common summands are bound by what they need without, if one rank gets each.
                let summands = is_grouped.then_some(SummandGroup(0));
                receivers.truncate(if is_grouped { 1 } else { receivers.len() });
                let count = if is_grouped { 2 } else { random.u64(1..4) };
                Demand { origins, receivers, count, summands }
            });
            Collective::Demands(DemandList::new(demands.collect()).unwrap())
        }
    }
}

/// Changes a word, a line, or the order of them.
fn mutate(lines: &mut Vec<String>, random: &mut fastrand::Rng) {
    let count = lines.len();
    // Neither the first line nor the last one.
    let flows: Vec<usize> = (0..count).filter(|line| lines[*line].starts_with("flow ")).collect();
    let index = match random.choice(&flows) {
        Some(flow) if random.bool() => *flow,
        Some(_) | None => random.usize(1..count - 1),
    };
    let mut words: Vec<String> = lines[index].split(' ').map(str::to_owned).collect();
    let place = random.usize(0..words.len());
    let numbers = ["0", "1", "2", "3", "-1", "-2", "5", "all", "0 1", "1 2", ":", "1000"];
    match random.u8(0..12) {
        0..5 => {
            let places: Vec<usize> =
                (0..words.len()).filter(|place| words[*place].parse::<i64>().is_ok()).collect();
            if let Some(place) = random.choice(places) {
                let step = *random.choice(&[-2, -1, -1, 1, 1, 2, 7]).unwrap();
                words[place] = (words[place].parse::<i64>().unwrap() + step).to_string();
            }
        }
        5 => words[place] = (*random.choice(&numbers).unwrap()).to_owned(),
        6 => {
            let other = random.usize(0..words.len());
            words.swap(place, other);
        }
        7 => {
            // What another line says, too: flows that share what is sent.
            let other = lines[random.usize(1..count - 1)].clone();
            if let Some((_, numbers)) = other.split_once(" : ") {
                words.push(numbers.to_owned());
            }
        }
        8 => {
            let swapped = ["demand", "apart", "steps", "hops", "roots", "time"];
            let new = (*random.choice(&swapped).unwrap()).to_owned();
            let old = words.iter().position(|word| swapped.contains(&word.as_str()));
            match old {
                Some(old) => words[old] = new,
                None => words.push(new),
            }
        }
        9 => {
            let line = lines[index].clone();
            lines.insert(index, line);
            return;
        }
        10 => {
            lines.remove(index);
            return;
        }
        _ => {
            let abilities = *random.choice(&["", " multicast", " reduce"]).unwrap();
            if words[0] == "switch" {
                words = vec![format!("switch{abilities}")];
            } else {
                words.truncate(place.max(1));
            }
        }
    }
    lines[index] = words.join(" ");
}

/// What a file demands: an own reader, for files that were accepted. Sums with common summands have none in common.
fn read_demands(text: &str, ranks: u32) -> DemandList {
    let mut demands = Vec::new();
    for line in text.lines() {
        let (head, lists) = line.split_once(" : ").unwrap_or_default();
        let Some((kind @ ("demand" | "apart"), count)) = head.split_once(' ') else { continue };
        let lists: Vec<Vec<Vertex>> = lists
            .split(" : ")
            .map(|list| match list {
                "all" => (0..ranks).map(Vertex).collect(),
                _ => list.split(' ').map(|word| Vertex(word.parse().unwrap())).collect(),
            })
            .collect();
        let count = count.parse().unwrap();
        for sum in lists.chunks(2) {
            let size = if kind == "apart" { 1 } else { sum[1].len() };
            let parts = sum[1].chunks(size);
            demands.extend(parts.map(|part| Demand::sum(sum[0].clone(), part.to_vec(), count)));
        }
    }
    DemandList::new(demands).unwrap()
}

/// The optimum of what is bounded; `None` if it is infinite or not known.
fn find_optimum(
    topology: &Topology,
    demands: &DemandList,
    quantity: ProvedQuantity,
) -> Option<Rational> {
    let budget = ProgramBudget::default();
    // A bound of which it is not known that it is the optimum is not compared.
    let keep = |value, completeness| (completeness == Completeness::Optimal).then_some(value);
    let flows = |layering| {
        bound_flows(topology, demands, layering, &budget)
            .map(|bound| keep(bound.value, bound.completeness))
    };
    let optimum = match quantity {
        ProvedQuantity::Steps => bound_demand_steps(topology, demands)
            .map(|bound| Some(Rational::from_integer(u64::from(bound.steps)))),
        ProvedQuantity::TimePerChunk => flows(Layering::Unlimited),
        ProvedQuantity::TimePerChunkInSteps(steps) => flows(Layering::Steps(steps as u32)),
        ProvedQuantity::TimePerChunkInHops(hops) => flows(Layering::Hops(hops as u32)),
        ProvedQuantity::TimePerChunkByRoots => bound_rooted_demands(topology, demands, &budget)
            .map(|bound| keep(bound.value, bound.completeness)),
    };
    match optimum {
        Ok(value) => value,
        Err(BoundError::SingleRank) => Some(Rational::ZERO),
        Err(
            BoundError::Unreachable { .. } | BoundError::TooFewSteps { .. } | BoundError::NoRoot,
        ) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The same file with the values that its numbers show, as far as they show any.
fn correct_values(mut lines: Vec<String>) -> Option<String> {
    for _ in 0..lines.len() {
        let bounds = lines.iter().filter(|line| line.starts_with("bound ")).count();
        *lines.last_mut()? = format!("end {bounds}");
        let text = lines.join("\n");
        match check_proof(&text) {
            Ok(_) => return Some(text),
            Err(ProofError { line, flaw: ProofFlaw::OtherValue(value) }) => {
                let words: Vec<String> = lines[line - 1].split(' ').map(str::to_owned).collect();
                let corrected = [vec![words[0].clone(), value.to_string()], words[2..].to_vec()];
                lines[line - 1] = corrected.concat().join(" ");
            }
            Err(_) => return None,
        }
    }
    None
}

#[test]
fn what_is_accepted_holds() {
    let mut random = fastrand::Rng::with_seed(72);
    let mut optima: BTreeMap<String, Option<Rational>> = BTreeMap::new();
    let mut accepted: BTreeMap<String, u32> = BTreeMap::new();
    let nearly = Rational::new(1_000_001, 1_000_000).unwrap();
    for _ in 0..300 {
        let topology = draw_topology(&mut random);
        let ranks = topology.count_ranks();
        let collective = draw_collective(&mut random, ranks);
        let max_hops = random.bool().then_some(2);
        let sketch = Sketch { max_hops, ..Sketch::default() };
        let request = BoundRequest { max_steps: Some(3), ..BoundRequest::default() };
        let Ok(bounds) = bound_collective(&topology, &collective, &sketch, &request) else {
            continue;
        };
        let demands = match &bounds.collective {
            Collective::Demands(demands) => demands.clone(),
            Collective::Known(kind) => kind.list_demands(ranks),
        };
        let mut certificates = collect_certificates(&bounds);
        if demands.as_slice().iter().all(|demand| demand.summands.is_none()) {
            let bound = bound_rooted_demands(&topology, &demands, &ProgramBudget::default());
            let collective = CertifiedCollective::Demands;
            certificates
                .extend(bound.ok().map(|bound| Certificate::AllReduce { collective, bound }));
        }
        for certificate in certificates {
            let text = write_demands_proof(&topology, Some(&demands), &[certificate]);
            let whole: Vec<String> = text.lines().map(str::to_owned).collect();
            for attack in 0..20 {
                let mut lines = whole.clone();
                // The first one is none.
                for _ in 0..random.u32(0..4).min(attack) {
                    mutate(&mut lines, &mut random);
                }
                let Some(text) = correct_values(lines) else { continue };
                let proof = check_proof(&text).unwrap();
                let demands = read_demands(&text, proof.topology.count_ranks());
                for claim in &proof.claims {
                    let quantity = claim.quantity;
                    let machine = write_topology(&proof.topology);
                    let key = format!("{machine}{:?}{quantity:?}", demands.as_slice());
                    let optimum = *optima
                        .entry(key)
                        .or_insert_with(|| find_optimum(&proof.topology, &demands, quantity));
                    let holds = optimum
                        .is_none_or(|optimum| claim.value <= optimum.checked_mul(nearly).unwrap());
                    assert!(holds, "{} above {optimum:?}:\n{text}", claim.value);
                    let compared = accepted.entry(format!("{quantity:?}")).or_default();
                    *compared += u32::from(optimum.is_some());
                }
            }
        }
    }
    // Many changed files are still proofs, of each kind, and their values were compared.
    let kinds = [
        "Steps",
        "TimePerChunk",
        "TimePerChunkByRoots",
        "TimePerChunkInSteps(2)",
        "TimePerChunkInHops(2)",
    ];
    assert!(
        kinds.iter().all(|kind| accepted.get(*kind).is_some_and(|count| *count > 15)),
        "{accepted:?}"
    );
}
