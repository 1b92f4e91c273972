//! The program over flows, compared with the bounds of known collectives, and with values of the literature.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::bound::allreduce::bound_rooted_demands;
use synth::bound::alltoall::bound_alltoall;
use synth::bound::cut::{bound_allgather, bound_reduce_scatter};
use synth::bound::flows::{FlowBound, Layering, bound_flows};
use synth::bound::layered::{bound_allgather_in_steps, bound_reduce_scatter_in_steps};
use synth::bound::rooted::{bound_broadcast, bound_gather, bound_reduce, bound_scatter};
use synth::bound::steps::bound_demand_steps;
use synth::bound::{BoundError, Completeness, ProgramBudget};
use synth::collective::{CollectiveKind, Demand, DemandList, SummandGroup};
use synth::families::{RelativeGraph, build_dgx1, build_full, build_line, build_ring};
use synth::graph::text::{is_topology_line, parse_topology};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::proof::read::check_proof;
use synth::proof::write::{Certificate, CertifiedCollective, write_demands_proof};

fn bound(
    topology: &Topology,
    demands: &DemandList,
    layering: Layering,
) -> Result<FlowBound, BoundError> {
    let bound = bound_flows(topology, demands, layering, &ProgramBudget::default());
    if let Ok(bound) = &bound {
        assert_eq!(bound.completeness, Completeness::Optimal);
    }
    bound
}

fn value(topology: &Topology, kind: CollectiveKind, layering: Layering) -> String {
    let demands = kind.list_demands(topology.count_ranks());
    bound(topology, &demands, layering).unwrap().value.to_string()
}

#[test]
fn dgx1_has_the_times_of_the_literature() {
    let dgx1 = build_dgx1().unwrap();
    let root = Vertex(0);
    for kind in [CollectiveKind::Scatter(root), CollectiveKind::Gather(root)] {
        assert_eq!(value(&dgx1, kind, Layering::Steps(2)), "7/6", "{kind}");
    }
    for kind in [CollectiveKind::AllGather, CollectiveKind::ReduceScatter] {
        assert_eq!(value(&dgx1, kind, Layering::Steps(2)), "3/2", "{kind}");
        assert_eq!(value(&dgx1, kind, Layering::Steps(3)), "7/6", "{kind}");
    }
    assert_eq!(value(&dgx1, CollectiveKind::AllToAll, Layering::Steps(2)), "8/3");
    for kind in [CollectiveKind::Broadcast(root), CollectiveKind::Reduce(root)] {
        assert_eq!(value(&dgx1, kind, Layering::Unlimited), "1/6", "{kind}");
    }
}

/// A graph of up to five ranks and two switches, whose edges need not go both ways.
fn draw_topology(random: &mut fastrand::Rng) -> Topology {
    let ranks = random.u32(2..6);
    let vertices = ranks + random.u32(0..3);
    let mut graph = RelativeGraph::new(ranks);
    for _ in ranks..vertices {
        graph.add_switch(SwitchAbilities::default());
    }
    for from in 0..vertices {
        for to in (0..vertices).filter(|to| *to != from) {
            if random.u8(0..10) < 6 {
                graph.add_edge(Vertex(from), Vertex(to), random.u64(1..10));
            }
        }
    }
    graph.build().unwrap()
}

#[test]
fn known_collectives_have_their_bounds() {
    let mut random = fastrand::Rng::with_seed(46);
    let mut compared = 0;
    for _ in 0..40 {
        let topology = draw_topology(&mut random);
        if topology.check_reachability().is_err() {
            continue;
        }
        compared += 1;
        let root = Vertex(random.u32(0..topology.count_ranks()));
        let cuts = [
            (CollectiveKind::AllGather, bound_allgather(&topology)),
            (CollectiveKind::ReduceScatter, bound_reduce_scatter(&topology)),
            (CollectiveKind::Broadcast(root), bound_broadcast(&topology, root)),
            (CollectiveKind::Reduce(root), bound_reduce(&topology, root)),
            (CollectiveKind::Scatter(root), bound_scatter(&topology, root)),
            (CollectiveKind::Gather(root), bound_gather(&topology, root)),
        ];
        for (kind, cut) in cuts {
            let expected = cut.unwrap().value.to_string();
            assert_eq!(value(&topology, kind, Layering::Unlimited), expected, "{kind}");
        }
        let expected = bound_alltoall(&topology).unwrap().value.to_string();
        assert_eq!(value(&topology, CollectiveKind::AllToAll, Layering::Unlimited), expected);
        let demands = CollectiveKind::AllGather.list_demands(topology.count_ranks());
        let least = bound_demand_steps(&topology, &demands).unwrap().steps;
        for steps in least..least + 2 {
            let layering = Layering::Steps(steps);
            let expected = bound_allgather_in_steps(&topology, steps).unwrap().value;
            assert_eq!(bound(&topology, &demands, layering).unwrap().value, expected);
            let expected = bound_reduce_scatter_in_steps(&topology, steps).unwrap().value;
            let found = value(&topology, CollectiveKind::ReduceScatter, layering);
            assert_eq!(found, expected.to_string());
        }
    }
    assert!(compared > 20, "{compared}");
}

/// With one origin or one receiver, it is no matter where the root is: at that rank it costs nothing. The time is then that
/// of the least maximum flow, on machines on which not every rank can be a root, too.
#[test]
fn one_root_is_enough_for_one_origin_or_receiver() {
    let mut random = fastrand::Rng::with_seed(48);
    let mut compared = 0;
    for _ in 0..150 {
        let topology = draw_topology(&mut random);
        let ranks = topology.count_ranks();
        let root = Vertex(random.u32(0..ranks));
        for (kind, exact) in [
            (CollectiveKind::Broadcast(root), bound_broadcast(&topology, root)),
            (CollectiveKind::Reduce(root), bound_reduce(&topology, root)),
            (CollectiveKind::Scatter(root), bound_scatter(&topology, root)),
            (CollectiveKind::Gather(root), bound_gather(&topology, root)),
        ] {
            let Ok(exact) = exact else { continue };
            let demands = kind.list_demands(ranks);
            let rooted = bound_rooted_demands(&topology, &demands, &ProgramBudget::default());
            let rooted = rooted.unwrap();
            assert_eq!(rooted.completeness, Completeness::Optimal, "{kind} {topology:?}");
            // Switches that only forward what comes can make copies slower, but nothing faster.
            assert!(rooted.value >= exact.value, "{kind} {topology:?}");
            if topology.switches().is_empty() {
                assert_eq!(rooted.value, exact.value, "{kind} {topology:?}");
                compared += u32::from(topology.check_reachability().is_err());
            }
            let collective = CertifiedCollective::Demands;
            let certificates = [Certificate::AllReduce { collective, bound: rooted }];
            check_proof(&write_demands_proof(&topology, Some(&demands), &certificates)).unwrap();
        }
    }
    assert!(compared > 20, "{compared}");
}

/// Rank 2 only gets something, from rank 0, and so it is no root of the sum that both of the others get. That sum and the
/// copy share the link from rank 0 to rank 1.
#[test]
fn ranks_that_reach_nobody_are_no_roots() {
    let mut graph = RelativeGraph::new(3);
    graph.add_link(Vertex(0), Vertex(1), 1);
    graph.add_edge(Vertex(0), Vertex(2), 6);
    let topology = graph.build().unwrap();
    for (demands, expected) in [
        (vec![Demand::sum(all(0..2), all(0..2), 1)], "1"),
        (vec![Demand::copy(Vertex(0), all(2..3), 1)], "1/6"),
        (vec![Demand::sum(all(0..2), all(2..3), 1)], "1"),
        (vec![Demand::copy(Vertex(0), all(1..3), 1), Demand::sum(all(0..2), all(0..2), 1)], "2"),
    ] {
        let demands = DemandList::new(demands).unwrap();
        let bound = bound_rooted_demands(&topology, &demands, &ProgramBudget::default()).unwrap();
        assert_eq!(bound.completeness, Completeness::Optimal, "{demands:?}");
        assert_eq!(bound.value.to_string(), expected, "{demands:?}");
    }
    // One link, in the only direction that is needed.
    let mut graph = RelativeGraph::new(2);
    graph.add_edge(Vertex(1), Vertex(0), 6);
    let demands = CollectiveKind::Reduce(Vertex(0)).list_demands(2);
    let link = graph.build().unwrap();
    let bound = bound_rooted_demands(&link, &demands, &ProgramBudget::default()).unwrap();
    assert_eq!(bound.value.to_string(), "1/6");
}

fn all(ranks: std::ops::Range<u32>) -> Vec<Vertex> {
    ranks.map(Vertex).collect()
}

/// The sum of the contributions of all ranks up to each rank.
fn list_prefixes(ranks: u32, summands: Option<SummandGroup>) -> DemandList {
    let prefix =
        |rank| Demand { summands, ..Demand::sum(all(0..rank + 1), all(rank..rank + 1), 1) };
    DemandList::new((0..ranks).map(prefix).collect()).unwrap()
}

#[test]
fn sums_with_common_contributions_pass_a_link_once() {
    let line = build_line(5).unwrap();
    let scan = list_prefixes(5, Some(SummandGroup(0)));
    assert_eq!(scan.recognize(5), None);
    assert_eq!(bound_demand_steps(&line, &scan).unwrap().steps, 4);
    for layering in [Layering::Unlimited, Layering::Hops(4)] {
        assert_eq!(bound(&line, &scan, layering).unwrap().value.to_string(), "1");
    }
    // Each link carries something new in one step only.
    assert_eq!(bound(&line, &scan, Layering::Steps(4)).unwrap().value.to_string(), "4");
    // Sums of different contributions: the first link carries one for each other rank.
    let sums = list_prefixes(5, None);
    assert_eq!(bound(&line, &sums, Layering::Unlimited).unwrap().value.to_string(), "4");
}

#[test]
fn several_roots_share_the_links() {
    let ring = build_ring(4).unwrap();
    let roots = [Vertex(0), Vertex(2)];
    let broadcasts = roots.map(|root| Demand::copy(root, all(0..4), 1));
    let broadcasts = DemandList::new(broadcasts.to_vec()).unwrap();
    // Ranks 1 and 3 get two chunks over two links.
    assert_eq!(bound(&ring, &broadcasts, Layering::Unlimited).unwrap().value.to_string(), "1");
    let scatters = roots
        .iter()
        .flat_map(|root| all(0..4).into_iter().map(|rank| Demand::copy(*root, vec![rank], 1)));
    let scatters = DemandList::new(scatters.collect()).unwrap();
    // A root sends three chunks over two links.
    assert_eq!(bound(&ring, &scatters, Layering::Unlimited).unwrap().value.to_string(), "3/2");
    let gathers = roots
        .iter()
        .flat_map(|root| all(0..4).into_iter().map(|rank| Demand::copy(rank, vec![*root], 3)));
    let gathers = DemandList::new(gathers.collect()).unwrap();
    assert_eq!(bound(&ring, &gathers, Layering::Unlimited).unwrap().value.to_string(), "9/2");
}

#[test]
fn counts_weigh_demands() {
    // Rank 0 has three chunks for rank 1, and five for both others, on links of rate 2.
    let full = build_full(3, 2).unwrap();
    let demands = DemandList::new(vec![
        Demand::copy(Vertex(0), all(1..2), 3),
        Demand::copy(Vertex(0), all(1..3), 5),
    ]);
    let demands = demands.unwrap();
    // Rank 0 sends eight chunks over two links; rank 1 gets them over two links.
    assert_eq!(bound(&full, &demands, Layering::Unlimited).unwrap().value.to_string(), "2");
    // Without forwarding the first link carries all eight.
    assert_eq!(bound(&full, &demands, Layering::Hops(1)).unwrap().value.to_string(), "4");
    assert_eq!(bound(&full, &demands, Layering::Steps(1)).unwrap().value.to_string(), "4");
}

#[test]
fn hops_are_limited_in_any_number_of_steps() {
    let ring = build_ring(6).unwrap();
    let demands = CollectiveKind::AllGather.list_demands(6);
    // Five chunks come over two links, whatever way they took.
    assert_eq!(bound(&ring, &demands, Layering::Hops(3)).unwrap().value.to_string(), "5/2");
    let few = bound(&ring, &demands, Layering::Hops(2));
    assert_eq!(few, Err(BoundError::TooFewSteps { least: 3 }));
    // On DGX-1, two hops lead from rank 0 to rank 7 over the ranks 3 and 4 only, with links of rate 1 to it.
    let dgx1 = build_dgx1().unwrap();
    assert_eq!(value(&dgx1, CollectiveKind::Broadcast(Vertex(0)), Layering::Hops(2)), "1/2");
}

#[test]
fn mistakes_are_told() {
    let line = build_line(3).unwrap();
    let budget = ProgramBudget { layered_variables: 11, ..ProgramBudget::default() };
    let demands = CollectiveKind::AllGather.list_demands(3);
    let error = bound_flows(&line, &demands, Layering::Unlimited, &budget).err();
    assert_eq!(error, Some(BoundError::TooLarge));
    let budget = ProgramBudget { layered_variables: 12, ..budget };
    assert!(bound_flows(&line, &demands, Layering::Unlimited, &budget).is_ok());
    let unknown = DemandList::new(vec![Demand::copy(Vertex(0), all(1..4), 1)]).unwrap();
    let error = bound(&line, &unknown, Layering::Unlimited).err();
    assert_eq!(error, Some(BoundError::RootOutOfRange { root: Vertex(3) }));
    let nothing = DemandList::new(vec![Demand::copy(Vertex(0), all(0..1), 1)]).unwrap();
    let error = bound(&line, &nothing, Layering::Unlimited).err();
    assert_eq!(error, Some(BoundError::SingleRank));
}

/// `demand 6 - : 3 : 0 1`: how many, of which group of summands, from whom, to whom.
fn parse_demand(line: &str) -> Option<Demand> {
    let mut parts = line.strip_prefix("demand ")?.split(" : ");
    let (count, group) = parts.next()?.split_once(' ')?;
    let mut ranks = || {
        let numbers = parts.next()?.split(' ').map(|number| number.parse().ok().map(Vertex));
        numbers.collect::<Option<Vec<Vertex>>>()
    };
    Some(Demand {
        origins: ranks()?,
        receivers: ranks()?,
        count: count.parse().ok()?,
        summands: group.parse().ok().map(SummandGroup),
    })
}

/// A topology, demands, and the answers of another solver.
struct StoredDemands {
    topology: Topology,
    demands: DemandList,
    answers: Vec<&'static str>,
}

fn read_cases(text: &'static str) -> Vec<StoredDemands> {
    let lines: Vec<&'static str> = text.lines().collect();
    let cases = lines.chunk_by(|line, next| is_topology_line(line) || !is_topology_line(next));
    let read = |case: &[&'static str]| {
        let (head, rest): (Vec<&str>, Vec<&'static str>) =
            case.iter().partition(|line| is_topology_line(line));
        let demands = rest.iter().filter_map(|line| parse_demand(line)).collect();
        StoredDemands {
            topology: parse_topology(&head).unwrap(),
            demands: DemandList::new(demands).unwrap(),
            answers: rest.iter().filter_map(|line| line.strip_prefix("answer ")).collect(),
        }
    };
    cases.map(read).collect()
}

/// The values in `stored/demands.txt` are those of HiGHS, on a program that has every flow as a variable.
#[test]
fn demands_have_the_bounds_of_another_solver() {
    let mut count = 0;
    for StoredDemands { topology, demands, answers } in
        read_cases(include_str!("stored/demands.txt"))
    {
        for answer in answers {
            let words: Vec<&str> = answer.split(' ').collect();
            let (layering, expected) = match words.as_slice() {
                ["unlimited", value] => (Layering::Unlimited, value),
                ["steps", steps, value] => (Layering::Steps(steps.parse().unwrap()), value),
                ["hops", hops, value] => (Layering::Hops(hops.parse().unwrap()), value),
                _ => panic!("{answer}"),
            };
            let found = bound(&topology, &demands, layering).unwrap().value;
            let found = found.to_string();
            assert_eq!(found, **expected, "{layering:?} of {topology:?}, {demands:?}");
            count += 1;
        }
    }
    assert_eq!(count, 326);
}

/// Those in `stored/rooted.txt`, on the program with a root for each part of a sum.
#[test]
fn sums_have_the_bounds_of_another_solver() {
    let cases = read_cases(include_str!("stored/rooted.txt"));
    assert_eq!(cases.len(), 60);
    for StoredDemands { topology, demands, answers } in cases {
        let budget = ProgramBudget::default();
        let bound = bound_rooted_demands(&topology, &demands, &budget).unwrap();
        assert_eq!(bound.completeness, Completeness::Optimal);
        let answer = format!("roots {}", bound.value);
        assert_eq!(answers, [answer.as_str()], "{topology:?}, {demands:?}");
        let collective = CertifiedCollective::Demands;
        let certificates = [Certificate::AllReduce { collective, bound }];
        check_proof(&write_demands_proof(&topology, Some(&demands), &certificates)).unwrap();
    }
}
