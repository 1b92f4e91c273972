//! Bounds of random topologies, compared with all of their cuts and all of their paths, and under changes that they
//! must follow.

#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::bound::allreduce::bound_allreduce;
use synth::bound::alltoall::bound_alltoall;
use synth::bound::cut::{bound_allgather, bound_reduce_scatter};
use synth::bound::rooted::{bound_broadcast, bound_gather, bound_reduce, bound_scatter};
use synth::bound::steps::bound_steps;
use synth::bound::{BoundError, CutBound};
use synth::collective::CollectiveKind;
use synth::families::RelativeGraph;
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;

/// A graph of up to eight ranks and three switches. About one in four cannot reach everything.
fn draw_topology(random: &mut fastrand::Rng) -> Topology {
    let ranks = random.u32(1..9);
    let vertices = ranks + random.u32(0..4);
    let mut graph = RelativeGraph::new(ranks);
    for _ in ranks..vertices {
        graph.add_switch(SwitchAbilities::default());
    }
    let density = random.f64();
    for from in 0..vertices {
        for to in 0..vertices {
            // Some edges are there twice.
            for chance in [density, 0.1] {
                if from != to && random.f64() < chance {
                    graph.add_edge(Vertex(from), Vertex(to), random.u64(1..10));
                }
            }
        }
    }
    graph.build().unwrap()
}

/// The worst ratio of an amount to the rates that leave a set of vertices, over all sets; `None` if nothing leaves a
/// set that something must. `count` says how much must leave a set, whose bits are the vertices.
fn worst_ratio(topology: &Topology, count: impl Fn(u32) -> u32) -> Option<Rational> {
    let mut worst = Rational::ZERO;
    for side in 0..1_u32 << topology.count_vertices() {
        let amount = count(side);
        if amount == 0 {
            continue;
        }
        let is_inside = |vertex: Vertex| side >> vertex.0 & 1 == 1;
        let mut rate = Rational::ZERO;
        for edge in topology.edges() {
            if is_inside(edge.from) && !is_inside(edge.to) {
                rate = rate.checked_add(edge.rate.amount).unwrap();
            }
        }
        let ratio = Rational::from_integer(u64::from(amount)).checked_div(rate).ok()?;
        worst = worst.max(ratio);
    }
    Some(worst)
}

/// Compares a bound with the expected value, and its witness with its value. `amount` says how much must leave the
/// witness.
fn check_bound(
    topology: &Topology,
    bound: Result<CutBound, BoundError>,
    amount: impl Fn(u32) -> u32,
) {
    let expected = worst_ratio(topology, &amount);
    if topology.count_ranks() == 1 {
        assert_eq!(bound, Err(BoundError::SingleRank));
        return;
    }
    let bound = match bound {
        Ok(bound) => bound,
        Err(BoundError::Unreachable { from, to }) => {
            assert_eq!(expected, None);
            let unreachable = topology.check_reachability().is_err();
            assert!(unreachable && from != to);
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(Some(bound.value), expected, "{topology:?}");
    let side = bound.side.iter().fold(0, |side, vertex| side | 1 << vertex.0);
    assert!(side >> bound.outside.0 & 1 == 0 && topology.is_rank(bound.outside));
    let rates = topology.edges().iter();
    let leaving = rates.filter(|edge| side >> edge.from.0 & 1 == 1 && side >> edge.to.0 & 1 == 0);
    let rate = leaving
        .map(|edge| edge.rate.amount)
        .fold(Rational::ZERO, |sum, rate| sum.checked_add(rate).unwrap());
    let value = Rational::from_integer(u64::from(amount(side))).checked_div(rate).unwrap();
    assert_eq!(value, bound.value);
}

#[test]
fn bounds_are_the_worst_of_all_cuts() {
    let mut random = fastrand::Rng::with_seed(42);
    let mut reachable = 0;
    for _ in 0..600 {
        let topology = draw_topology(&mut random);
        let ranks = topology.count_ranks();
        let all = (1_u32 << ranks) - 1;
        reachable += u32::from(topology.check_reachability().is_ok());
        let gathered = |side: u32| if side & all == all { 0 } else { (side & all).count_ones() };
        check_bound(&topology, bound_allgather(&topology), gathered);
        let summed = |side: u32| if side & all == 0 { 0 } else { (all & !side).count_ones() };
        check_bound(&topology, bound_reduce_scatter(&topology), summed);
        let root = Vertex(random.u32(0..ranks));
        let has_root = |side: u32| side >> root.0 & 1 == 1;
        let missing = |side: u32| if has_root(side) { (all & !side).count_ones() } else { 0 };
        let is_missing = |side: u32| missing(side).min(1);
        check_bound(&topology, bound_broadcast(&topology, root), is_missing);
        let sending = |side: u32| if has_root(side) { 0 } else { (all & side).count_ones() };
        check_bound(&topology, bound_reduce(&topology, root), |side| sending(side).min(1));
        check_bound(&topology, bound_scatter(&topology, root), missing);
        check_bound(&topology, bound_gather(&topology, root), sending);
    }
    assert!((300..550).contains(&reachable), "{reachable}");
}

/// The least number of ranks, after the first, on a path from each vertex to each other one, by Floyd and Warshall;
/// `None` where there is no path.
fn measure_all_paths(topology: &Topology) -> Vec<Vec<Option<u32>>> {
    let vertices = topology.count_vertices();
    let mut lengths = vec![vec![None; vertices]; vertices];
    for (vertex, row) in lengths.iter_mut().enumerate() {
        row[vertex] = Some(0);
    }
    for edge in topology.edges() {
        let (from, to) = (edge.from.0 as usize, edge.to.0 as usize);
        lengths[from][to] = Some(u32::from(topology.is_rank(edge.to)));
    }
    for middle in 0..vertices {
        for from in 0..vertices {
            for to in 0..vertices {
                let (Some(first), Some(second)) = (lengths[from][middle], lengths[middle][to])
                else {
                    continue;
                };
                let through = first + second;
                lengths[from][to] = Some(lengths[from][to].map_or(through, |old| old.min(through)));
            }
        }
    }
    lengths
}

#[test]
fn steps_are_the_longest_of_the_shortest_paths() {
    let mut random = fastrand::Rng::with_seed(43);
    for _ in 0..600 {
        let topology = draw_topology(&mut random);
        let ranks = topology.count_ranks();
        let root = Vertex(random.u32(0..ranks));
        let lengths = measure_all_paths(&topology);
        for kind in [
            CollectiveKind::AllGather,
            CollectiveKind::ReduceScatter,
            CollectiveKind::AllToAll,
            CollectiveKind::AllReduce,
            CollectiveKind::Broadcast(root),
            CollectiveKind::Scatter(root),
            CollectiveKind::Reduce(root),
            CollectiveKind::Gather(root),
        ] {
            let mut demands = Vec::new();
            for from in 0..ranks {
                for to in (0..ranks).filter(|to| *to != from) {
                    let needed = match kind {
                        CollectiveKind::Broadcast(_) | CollectiveKind::Scatter(_) => from == root.0,
                        CollectiveKind::Reduce(_) | CollectiveKind::Gather(_) => to == root.0,
                        CollectiveKind::AllGather
                        | CollectiveKind::ReduceScatter
                        | CollectiveKind::AllToAll
                        | CollectiveKind::AllReduce => true,
                    };
                    if needed {
                        demands.push(lengths[from as usize][to as usize]);
                    }
                }
            }
            match bound_steps(&topology, kind) {
                Ok(bound) => {
                    assert_eq!(demands.into_iter().max().unwrap(), Some(bound.steps));
                    let [from, to] = [bound.from, bound.to];
                    assert_eq!(lengths[from.0 as usize][to.0 as usize], Some(bound.steps));
                    assert!(kind.has_demand(from, to));
                }
                Err(BoundError::Unreachable { from, to }) => {
                    assert_eq!(lengths[from.0 as usize][to.0 as usize], None);
                }
                Err(error) => assert_eq!((error, ranks), (BoundError::SingleRank, 1)),
            }
        }
    }
}

/// The topology with its ranks, and its switches, in another order, and all rates multiplied.
fn permute(topology: &Topology, names: &[u32], factor: u64) -> Topology {
    let mut graph = RelativeGraph::new(topology.count_ranks());
    for switch in topology.switches() {
        graph.add_switch(*switch);
    }
    for edge in topology.edges() {
        let name = |vertex: Vertex| Vertex(names[vertex.0 as usize]);
        let rate = u64::try_from(edge.rate.amount.numerator()).unwrap() * factor;
        graph.add_edge(name(edge.from), name(edge.to), rate);
    }
    graph.build().unwrap()
}

#[test]
fn bounds_follow_names_rates_and_directions() {
    let mut random = fastrand::Rng::with_seed(44);
    for _ in 0..60 {
        let topology = draw_topology(&mut random);
        let Ok(bound) = bound_allgather(&topology) else { continue };
        let ranks = topology.count_ranks();
        let mut names: Vec<u32> = (0..topology.count_vertices() as u32).collect();
        let (of_ranks, of_switches) = names.split_at_mut(ranks as usize);
        random.shuffle(of_ranks);
        random.shuffle(of_switches);
        let permuted = permute(&topology, &names, 1);
        assert_eq!(bound_allgather(&permuted).unwrap().value, bound.value);
        let steps = |topology| bound_steps(topology, CollectiveKind::AllGather).unwrap().steps;
        assert_eq!(steps(&permuted), steps(&topology));

        let factor = random.u64(2..1000);
        let scaled = bound_allgather(&permute(&topology, &names, factor)).unwrap().value;
        assert_eq!(scaled.checked_mul(Rational::from_integer(factor)).unwrap(), bound.value);

        let reversed = bound_reduce_scatter(&topology.reverse()).unwrap();
        assert_eq!(reversed.value, bound.value);
        assert!(bound.side.iter().all(|vertex| !reversed.side.contains(vertex)));

        // Whoever exchanges or sums up everything can do so backwards.
        let exchange = bound_alltoall(&topology).unwrap().value;
        assert_eq!(bound_alltoall(&permuted).unwrap().value, exchange);
        assert_eq!(bound_alltoall(&topology.reverse()).unwrap().value, exchange);
        let reduction = bound_allreduce(&topology).unwrap().value;
        assert_eq!(bound_allreduce(&permuted).unwrap().value, reduction);
        assert_eq!(bound_allreduce(&topology.reverse()).unwrap().value, reduction);
        // A ReduceScatter and an AllGather are an AllReduce.
        let backwards = bound_reduce_scatter(&topology).unwrap().value;
        let composed = bound.value.checked_add(backwards).unwrap();
        let shards = Rational::from_integer(u64::from(ranks));
        assert!(reduction <= composed.checked_div(shards).unwrap());
    }
}

#[test]
fn absolute_rates_give_seconds_per_byte() {
    let mut graph = RelativeGraph::new(2);
    graph.add_link(Vertex(0), Vertex(1), 1);
    let mut edges = graph.build().unwrap().edges().to_vec();
    for edge in &mut edges {
        edge.rate.unit = synth::graph::RateUnit::BytesPerSecond;
        edge.rate.amount = Rational::from_integer(25_000_000_000);
    }
    let topology = Topology::new(2, Vec::new(), &edges).unwrap();
    assert_eq!(bound_allgather(&topology).unwrap().value.to_string(), "1/25000000000");
}

#[test]
fn impossible_collectives_name_a_pair() {
    let mut graph = RelativeGraph::new(3);
    graph.add_edge(Vertex(0), Vertex(1), 1);
    graph.add_edge(Vertex(1), Vertex(2), 1);
    let topology = graph.build().unwrap();
    let unreachable = |from, to| BoundError::Unreachable { from: Vertex(from), to: Vertex(to) };
    let root = Vertex(1);
    assert!(bound_broadcast(&topology, Vertex(0)).is_ok());
    assert!(bound_gather(&topology, Vertex(2)).is_ok());
    assert_eq!(bound_broadcast(&topology, root), Err(unreachable(1, 0)));
    assert_eq!(bound_scatter(&topology, root), Err(unreachable(1, 0)));
    assert_eq!(bound_reduce(&topology, root), Err(unreachable(2, 1)));
    assert_eq!(bound_gather(&topology, root), Err(unreachable(2, 1)));
    // Nothing enters rank 0, and nothing leaves rank 2.
    assert_eq!(bound_allgather(&topology), Err(unreachable(1, 0)));
    assert_eq!(bound_reduce_scatter(&topology), Err(unreachable(2, 0)));
    let outside = BoundError::RootOutOfRange { root: Vertex(3) };
    assert_eq!(bound_broadcast(&topology, Vertex(3)), Err(outside));
}
