//! Bounds of machines with symmetries are the same whether the symmetries are used or not.

#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::collections::BTreeMap;
use synth::automorphism::{Symmetry, find_symmetry};
use synth::bound::ProgramBudget;
use synth::bound::allreduce::bound_allreduce_under;
use synth::bound::alltoall::bound_alltoall_under;
use synth::bound::cut::bound_allgather_under;
use synth::bound::layered::bound_allgather_in_steps_under;
use synth::bound::steps::bound_steps_under;
use synth::collective::CollectiveKind;
use synth::families::RelativeGraph;
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::proof::read::check_proof;
use synth::proof::write::{Certificate, write_proof};

/// A permutation whose cycles have the same length, but for one that is shorter: what symmetric machines have.
fn draw_cycles(random: &mut fastrand::Rng, first: u32, count: u32) -> Vec<u32> {
    let mut items: Vec<u32> = (first..first + count).collect();
    random.shuffle(&mut items);
    let mut images: Vec<u32> = (first..first + count).collect();
    let length = random.usize(1..4);
    for cycle in items.chunks(length) {
        for (place, item) in cycle.iter().enumerate() {
            images[(item - first) as usize] = cycle[(place + 1) % cycle.len()];
        }
    }
    images
}

/// A graph of up to seven ranks and two switches whose edges some permutations map to each other.
fn draw_symmetric(random: &mut fastrand::Rng) -> Topology {
    let ranks = random.u32(2..8);
    let switches = random.u32(0..3);
    let generators: Vec<Vec<u32>> = (0..random.u32(1..3))
        .map(|_| [draw_cycles(random, 0, ranks), draw_cycles(random, ranks, switches)].concat())
        .collect();
    let mut rates = BTreeMap::new();
    for _ in 0..random.u32(1..7) {
        let [from, to] = [(); 2].map(|()| random.u32(0..ranks + switches));
        let rate = random.u64(1..4);
        // The orbit of the edge.
        let mut open = vec![(from, to)];
        while let Some((from, to)) = open.pop() {
            if from != to && rates.insert((from, to), rate) != Some(rate) {
                open.extend(generators.iter().map(|one| (one[from as usize], one[to as usize])));
            }
        }
    }
    let mut graph = RelativeGraph::new(ranks);
    let abilities = SwitchAbilities { multicast: random.bool(), reduce: random.bool() };
    (0..switches).for_each(|_| {
        graph.add_switch(abilities);
    });
    for ((from, to), rate) in rates {
        graph.add_edge(Vertex(from), Vertex(to), rate);
    }
    graph.build().unwrap()
}

#[test]
fn symmetries_change_no_bound() {
    let mut random = fastrand::Rng::with_seed(47);
    let mut compared = 0;
    let mut in_steps = 0;
    for _ in 0..400 {
        let topology = draw_symmetric(&mut random);
        let symmetry = find_symmetry(&topology);
        if symmetry.generators.is_empty() || topology.check_reachability().is_err() {
            continue;
        }
        compared += 1;
        let trivial = Symmetry::trivial(&topology);
        let [found, expected] =
            [&symmetry, &trivial].map(|group| bound_allgather_under(&topology, group).unwrap());
        assert_eq!(found.value, expected.value, "{topology:?}");
        let kind = CollectiveKind::AllGather;
        let [steps, expected] =
            [&symmetry, &trivial].map(|group| bound_steps_under(&topology, group, kind).unwrap());
        assert_eq!(steps, expected, "{topology:?}");
        let budget = ProgramBudget::default();
        let [lengths, expected] = [&symmetry, &trivial]
            .map(|group| bound_alltoall_under(&topology, group, &budget).unwrap());
        assert_eq!(lengths.value, expected.value, "{topology:?}");
        let [reduced, expected] = [&symmetry, &trivial]
            .map(|group| bound_allreduce_under(&topology, group, &budget).unwrap());
        assert_eq!(reduced.value, expected.value, "{topology:?}");
        let mut certificates = vec![
            Certificate::Cut { collective: kind.into(), bound: found },
            Certificate::Lengths { bound: lengths },
        ];
        for steps in steps.steps..steps.steps + 2 {
            let [layered, expected] = [&symmetry, &trivial].map(|group| {
                bound_allgather_in_steps_under(&topology, group, steps, &budget).unwrap()
            });
            assert_eq!(layered.value, expected.value, "{steps} steps, {topology:?}");
            certificates.push(Certificate::Layered { collective: kind, bound: layered });
            in_steps += 1;
        }
        check_proof(&write_proof(&topology, &certificates)).unwrap();
    }
    assert!(compared > 100 && in_steps > 200, "{compared} {in_steps}");
}
