//! Schedules of steps by the SAT solver, and frontiers: those of the literature, and laws on random machines.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::automorphism::{Symmetry, find_symmetry};
use synth::bound::BoundError;
use synth::collective::{Collective, CollectiveKind};
use synth::families::{
    BoxShape, RelativeGraph, build_amd4, build_amd8, build_boxes, build_dgx1, build_full,
    build_hub, build_hypercube, build_line, build_ring, build_star, build_torus, build_two_cliques,
};
use synth::frontier::{Frontier, FrontierRequest, PointStatus, find_frontier};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;
use synth::schedule::{SchedulePoint, Unit, check_schedule, list_units};
use synth::steps::{
    BudgetReached, PointOutcome, SearchError, SolverBudget, SolverLimit, solve_collective_point,
    solve_point,
};

const ROOT: Vertex = Vertex(0);

const EVERY_KIND: [CollectiveKind; 7] = [
    CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllToAll,
    CollectiveKind::Broadcast(ROOT),
    CollectiveKind::Reduce(ROOT),
    CollectiveKind::Scatter(ROOT),
    CollectiveKind::Gather(ROOT),
];

/// Steps, rounds, chunks.
fn point(numbers: [u32; 3]) -> SchedulePoint {
    let [steps, rounds, chunks] = numbers;
    SchedulePoint { steps, rounds: u64::from(rounds), chunks }
}

/// The frontier, whose schedules are checked.
fn search(topology: &Topology, kind: CollectiveKind, request: &FrontierRequest<'_>) -> Frontier {
    let frontier = find_frontier(topology, &kind.into(), request).unwrap();
    let units = list_units(&Collective::Known(kind), topology.count_ranks());
    for own in &frontier.points {
        check_schedule(topology, &units, &own.schedule).unwrap();
        assert_eq!(own.time, own.schedule.measure().compute_time(topology).unwrap());
    }
    // None is better in both.
    let sizes = frontier.points.windows(2);
    for pair in sizes {
        let [one, other] = pair else { continue };
        assert!(one.schedule.rounds.len() < other.schedule.rounds.len());
        assert!(one.time > other.time);
    }
    frontier
}

fn list_points(frontier: &Frontier) -> Vec<SchedulePoint> {
    frontier.points.iter().map(|own| own.schedule.measure()).collect()
}

/// That this is the whole frontier, and that it is known to be.
fn assert_complete(topology: &Topology, kind: CollectiveKind, expected: &[[u32; 3]]) {
    let frontier = search(topology, kind, &FrontierRequest::default());
    let expected: Vec<SchedulePoint> = expected.iter().map(|own| point(*own)).collect();
    assert_eq!(list_points(&frontier), expected, "{kind}");
    assert!(frontier.is_complete, "{kind}");
    assert!(frontier.points.iter().all(|own| own.status == PointStatus::Optimal));
}

fn solve(topology: &Topology, kind: CollectiveKind, numbers: [u32; 3]) -> PointOutcome {
    let symmetry = find_symmetry(topology);
    let budget = SolverBudget { conflicts: 100_000, ..SolverBudget::default() };
    let outcome = solve_collective_point(topology, kind, point(numbers), &symmetry, budget);
    let outcome = outcome.unwrap();
    if let PointOutcome::Found(schedule) = &outcome {
        let units = list_units(&Collective::Known(kind), topology.count_ranks());
        check_schedule(topology, &units, schedule).unwrap();
        assert_eq!(schedule.measure(), point(numbers));
    }
    outcome
}

fn assert_found(topology: &Topology, kind: CollectiveKind, numbers: [u32; 3]) {
    let outcome = solve(topology, kind, numbers);
    assert!(matches!(outcome, PointOutcome::Found(_)), "{kind} {numbers:?}: {outcome:?}");
}

fn assert_impossible(topology: &Topology, kind: CollectiveKind, numbers: [u32; 3]) {
    assert_eq!(solve(topology, kind, numbers), PointOutcome::Impossible, "{kind} {numbers:?}");
}

fn build_two_boxes(ranks: u32, port_rate: u64) -> Topology {
    let abilities = SwitchAbilities::default();
    build_boxes(BoxShape { boxes: 2, ranks, port_rate, card_rate: 1, rails: 1, abilities }).unwrap()
}

#[test]
fn dgx1_has_the_frontiers_of_the_literature() {
    let dgx1 = build_dgx1().unwrap();
    assert_complete(&dgx1, CollectiveKind::AllGather, &[[2, 3, 2], [3, 7, 6]]);
    assert_complete(&dgx1, CollectiveKind::ReduceScatter, &[[2, 3, 2], [3, 7, 6]]);
    assert_complete(&dgx1, CollectiveKind::AllToAll, &[[2, 8, 3]]);
    assert_complete(&dgx1, CollectiveKind::Scatter(ROOT), &[[2, 7, 6]]);
    assert_complete(&dgx1, CollectiveKind::Gather(ROOT), &[[2, 7, 6]]);
}

#[test]
fn points_of_dgx1_are_possible_or_not() {
    let dgx1 = build_dgx1().unwrap();
    for numbers in [[2, 2, 1], [3, 4, 3], [3, 5, 4], [3, 6, 5]] {
        assert_found(&dgx1, CollectiveKind::AllGather, numbers);
        assert_found(&dgx1, CollectiveKind::ReduceScatter, numbers);
    }
    for numbers in [[1, 9, 1], [2, 4, 3], [2, 5, 4], [2, 6, 5], [2, 7, 6]] {
        assert_impossible(&dgx1, CollectiveKind::AllGather, numbers);
        assert_impossible(&dgx1, CollectiveKind::ReduceScatter, numbers);
    }
    for numbers in [[2, 3, 1], [3, 3, 1]] {
        assert_found(&dgx1, CollectiveKind::AllToAll, numbers);
    }
    assert_impossible(&dgx1, CollectiveKind::AllToAll, [2, 2, 1]);
}

#[test]
fn regular_machines_have_one_point() {
    for (topology, expected) in [
        (build_ring(4), [2, 3, 2]),
        (build_ring(5), [2, 2, 1]),
        (build_ring(6), [3, 5, 2]),
        (build_ring(7), [3, 3, 1]),
        (build_ring(8), [4, 7, 2]),
        (build_ring(9), [4, 4, 1]),
        (build_line(4), [3, 3, 1]),
        (build_amd4(), [2, 3, 2]),
        (build_full(2, 1), [1, 1, 1]),
        (build_full(8, 1), [1, 1, 1]),
        (build_hypercube(3), [3, 7, 3]),
        (build_hypercube(4), [4, 15, 4]),
        (build_torus(4, 4), [4, 15, 4]),
        (build_hub(8, SwitchAbilities::default()), [1, 7, 1]),
        (build_hub(16, SwitchAbilities::default()), [1, 15, 1]),
    ] {
        let topology = topology.unwrap();
        assert_complete(&topology, CollectiveKind::AllGather, &[expected]);
        assert_complete(&topology, CollectiveKind::ReduceScatter, &[expected]);
    }
}

#[test]
fn unicasts_reach_their_bounds() {
    for (topology, expected) in [
        (build_ring(4), [2, 2, 1]),
        (build_ring(8), [4, 8, 1]),
        (build_line(8), [7, 16, 1]),
        (build_full(8, 1), [1, 1, 1]),
        (build_hypercube(3), [3, 4, 1]),
        (build_hub(8, SwitchAbilities::default()), [1, 7, 1]),
        (build_amd8(), [1, 1, 5]),
    ] {
        assert_complete(&topology.unwrap(), CollectiveKind::AllToAll, &[expected]);
    }
}

#[test]
fn ports_of_switches_limit_what_passes() {
    let hub = build_hub(8, SwitchAbilities::default()).unwrap();
    assert_found(&hub, CollectiveKind::AllGather, [1, 7, 1]);
    assert_impossible(&hub, CollectiveKind::AllGather, [1, 6, 1]);
    // The root's port carries one copy for each other rank.
    assert_found(&hub, CollectiveKind::Broadcast(ROOT), [1, 7, 1]);
    assert_impossible(&hub, CollectiveKind::Broadcast(ROOT), [1, 6, 1]);
    let small = build_two_boxes(4, 3);
    assert_found(&small, CollectiveKind::AllGather, [2, 4, 2]);
    assert_found(&small, CollectiveKind::AllGather, [2, 7, 4]);
    assert_complete(&small, CollectiveKind::AllGather, &[[1, 4, 1], [2, 7, 4]]);
}

#[test]
fn two_steps_are_not_enough_for_two_boxes() {
    let boxes = build_two_boxes(8, 9);
    assert_impossible(&boxes, CollectiveKind::AllGather, [2, 3, 2]);
    assert_found(&boxes, CollectiveKind::AllGather, [3, 3, 2]);
}

#[test]
fn frontiers_of_broadcasts_do_not_end() {
    let dgx1 = build_dgx1().unwrap();
    let request = FrontierRequest { max_chunks: 10, ..FrontierRequest::default() };
    let expected = [[2, 2, 2], [3, 3, 7], [4, 4, 10]].map(point);
    for kind in [CollectiveKind::Broadcast(ROOT), CollectiveKind::Reduce(ROOT)] {
        let frontier = search(&dgx1, kind, &request);
        assert_eq!(list_points(&frontier), expected);
        assert!(!frontier.is_complete);
        let statuses: Vec<PointStatus> = frontier.points.iter().map(|own| own.status).collect();
        let above = |bound: &str| PointStatus::AboveBound { bound: bound.parse().unwrap() };
        assert_eq!(statuses, [PointStatus::Optimal, above("9/22"), above("4/13")]);
        // With so few pieces no point was left out.
        assert!(frontier.step_counts.iter().all(|own| own.undecided.is_empty()));
    }
}

#[test]
fn gaps_are_reported() {
    // The bound for two steps takes 38 pieces.
    let frontier =
        search(&build_amd8().unwrap(), CollectiveKind::AllGather, &FrontierRequest::default());
    assert_eq!(list_points(&frontier), [point([1, 1, 5])]);
    assert!(!frontier.is_complete && frontier.step_counts.len() > 1);
    let [first, second] = frontier.step_counts.first_chunk().unwrap();
    assert!(first.is_settled() && !second.is_settled());
    assert_eq!(second.bound, "7/38".parse().unwrap());
    assert_eq!(second.best, first.best);
    // The bound for four steps takes 28 pieces; 33/8 is above it.
    let cliques = build_two_cliques(4, 4).unwrap();
    let request = FrontierRequest { max_steps: Some(4), ..FrontierRequest::default() };
    let frontier = search(&cliques, CollectiveKind::AllGather, &request);
    let points = list_points(&frontier);
    assert_eq!(points.first(), Some(&point([3, 19, 4])));
    let last = frontier.points.last().unwrap();
    assert_eq!(last.status, PointStatus::AboveBound { bound: "115/28".parse().unwrap() });
    assert!(last.time <= "17/4".parse().unwrap());
}

#[test]
fn budgets_are_reported() {
    let dgx1 = build_dgx1().unwrap();
    let kind = CollectiveKind::AllGather;
    let solve = |budget: SolverBudget| {
        let symmetry = Symmetry::trivial(&dgx1);
        solve_collective_point(&dgx1, kind, point([3, 7, 6]), &symmetry, budget).unwrap()
    };
    let limit = |outcome: &PointOutcome| match outcome {
        PointOutcome::OutOfBudget(BudgetReached { limit, .. }) => Some(*limit),
        PointOutcome::Found(_) | PointOutcome::Impossible => None,
    };
    let budget = SolverBudget::default();
    let outcome = solve(SolverBudget { conflicts: 10, ..budget });
    assert_eq!(limit(&outcome), Some(SolverLimit::Conflicts), "{outcome:?}");
    let outcome = solve(SolverBudget { variables: 1000, ..budget });
    assert_eq!(limit(&outcome), Some(SolverLimit::Variables), "{outcome:?}");
    let outcome = solve(SolverBudget { ranks: 7, ..budget });
    assert_eq!(limit(&outcome), Some(SolverLimit::Ranks), "{outcome:?}");
    // What cannot be on the shortest routes may be on others.
    let hub = build_two_boxes(4, 3);
    let few = SolverBudget { routes_per_pair: 1, ..budget };
    let symmetry = find_symmetry(&hub);
    let outcome = solve_collective_point(&hub, kind, point([1, 3, 1]), &symmetry, few).unwrap();
    assert_eq!(limit(&outcome), Some(SolverLimit::Routes), "{outcome:?}");
    let outcome = solve_collective_point(&hub, kind, point([1, 3, 1]), &symmetry, budget).unwrap();
    assert_eq!(outcome, PointOutcome::Impossible);
    // A frontier goes on without conflicts, and says what it left out.
    let star = build_star(8).unwrap();
    let request = FrontierRequest { conflicts: 1000, ..FrontierRequest::default() };
    let frontier = search(&star, CollectiveKind::AllToAll, &request);
    let limits = frontier.step_counts.iter().flat_map(|own| &own.undecided);
    let mut limits = limits.map(|own| own.reached.limit);
    assert!(limits.any(|limit| limit == SolverLimit::AllConflicts));
    assert!(!frontier.is_complete);
}

#[test]
fn bad_input_is_an_error() {
    let ring = build_ring(4).unwrap();
    let symmetry = find_symmetry(&ring);
    let budget = SolverBudget::default();
    let solve = |units: &[Unit], point: SchedulePoint| {
        solve_point(&ring, units, point, &symmetry, budget).unwrap_err()
    };
    let good = Unit::new(vec![ROOT], vec![Vertex(2)]);
    let units = |origins: &[u32], receivers: &[u32]| {
        let list = |ranks: &[u32]| ranks.iter().copied().map(Vertex).collect();
        [good.clone(), Unit::new(list(origins), list(receivers))]
    };
    let valid = point([2, 2, 1]);
    for origins in [&[][..], &[0, 1]] {
        assert_eq!(solve(&units(origins, &[2]), valid), SearchError::NotACopy { unit: 1 });
    }
    let rank = Vertex(4);
    assert_eq!(solve(&units(&[4], &[2]), valid), SearchError::RankOutOfRange { rank });
    assert_eq!(solve(&units(&[1], &[4]), valid), SearchError::RankOutOfRange { rank });
    for numbers in [[2, 2, 0], [2, 1, 1], [0, 1, 1]] {
        assert_eq!(solve(&units(&[1], &[2]), point(numbers)), SearchError::MalformedPoint);
    }
    assert_eq!(solve(&units(&[1], &[2]), point([2, 2, u32::MAX])), SearchError::TooLarge);
    let composed = CollectiveKind::AllReduce;
    let outcome = solve_collective_point(&ring, composed, valid, &symmetry, budget);
    assert_eq!(outcome, Err(SearchError::Composed));
    let outside = CollectiveKind::Gather(rank);
    let outcome = solve_collective_point(&ring, outside, valid, &symmetry, budget);
    assert_eq!(outcome, Err(SearchError::RankOutOfRange { rank }));
    let request = FrontierRequest::default();
    let bound = BoundError::RootOutOfRange { root: rank };
    let error = find_frontier(&ring, &outside.into(), &request).unwrap_err();
    assert_eq!(error, SearchError::Bound(bound));
}

/// The halves of an AllReduce follow each other where both have as many pieces. Its times are for the whole buffer.
#[test]
fn an_allreduce_is_composed_of_its_halves() {
    let found = find_frontier(
        &build_dgx1().unwrap(),
        &CollectiveKind::AllReduce.into(),
        &FrontierRequest::default(),
    );
    let found = found.unwrap();
    let sizes: Vec<SchedulePoint> =
        found.points.iter().map(|point| point.schedule.measure()).collect();
    assert_eq!(sizes, [point([4, 6, 2]), point([5, 16, 6]), point([6, 14, 6])]);
    let times: Vec<String> = found.points.iter().map(|point| point.time.to_string()).collect();
    assert_eq!(times, ["3/8", "1/3", "7/24"]);
    assert!(!found.is_complete);
    // What another synthesizer looked for without an end. No schedule of any number of steps is faster.
    let ring = build_ring(5).unwrap();
    let found =
        find_frontier(&ring, &CollectiveKind::AllReduce.into(), &FrontierRequest::default());
    let found = found.unwrap();
    assert_eq!(list_points(&found), [point([4, 4, 1])]);
    assert_eq!(found.points[0].time, "4/5".parse().unwrap());
    assert_eq!(found.bounds.bandwidth.value, "4/5".parse().unwrap());
}

#[test]
fn sizes_at_the_limits_are_answered() {
    let ring = build_ring(4).unwrap();
    let symmetry = find_symmetry(&ring);
    let kind = CollectiveKind::AllGather;
    let solve = |point: SchedulePoint| {
        solve_collective_point(&ring, kind, point, &symmetry, SolverBudget::default()).unwrap()
    };
    // Steps and pieces that no memory holds.
    for (steps, chunks) in [(u32::MAX, 1), (2, 1 << 29)] {
        let outcome = solve(SchedulePoint { steps, rounds: u64::MAX, chunks });
        let is_too_large = matches!(
            outcome,
            PointOutcome::OutOfBudget(BudgetReached { limit: SolverLimit::Variables, .. })
        );
        assert!(is_too_large, "{outcome:?}");
    }
    // Rounds that nothing needs.
    let PointOutcome::Found(schedule) =
        solve(SchedulePoint { steps: 2, rounds: u64::MAX, chunks: 1 })
    else {
        panic!("there is one in two rounds");
    };
    assert_eq!(schedule.measure().rounds, u64::MAX);
    // Nothing has to move.
    let units = [Unit::new(vec![ROOT], Vec::new())];
    let none = SchedulePoint { steps: 0, rounds: 0, chunks: 3 };
    let outcome = solve_point(&ring, &units, none, &symmetry, SolverBudget::default()).unwrap();
    let PointOutcome::Found(schedule) = outcome else { panic!("{outcome:?}") };
    assert!(schedule.moves.is_empty() && schedule.rounds.is_empty());
    // Nor can it move where no path leads.
    let apart = RelativeGraph::new(2).build().unwrap();
    let trivial = Symmetry::trivial(&apart);
    let budget = SolverBudget::default();
    let outcome = solve_collective_point(&apart, kind, point([3, 3, 1]), &trivial, budget).unwrap();
    assert_eq!(outcome, PointOutcome::Impossible);
}

/// A graph of up to six ranks and two switches, in which a ring joins all ranks.
fn draw_topology(random: &mut fastrand::Rng) -> Topology {
    let ranks = random.u32(2..7);
    let vertices = ranks + random.u32(0..3);
    let mut graph = RelativeGraph::new(ranks);
    for _ in ranks..vertices {
        graph.add_switch(SwitchAbilities::default());
    }
    for rank in 0..ranks {
        graph.add_edge(Vertex(rank), Vertex((rank + 1) % ranks), random.u64(1..3));
    }
    let density = random.f64() * 0.6;
    for from in 0..vertices {
        for to in 0..vertices {
            if from != to && random.f64() < density {
                graph.add_edge(Vertex(from), Vertex(to), random.u64(1..4));
            }
        }
    }
    graph.build().unwrap()
}

#[test]
fn nothing_is_below_the_bounds_of_random_machines() {
    let mut random = fastrand::Rng::with_seed(11);
    let request = FrontierRequest { max_chunks: 4, conflicts: 2000, ..FrontierRequest::default() };
    let mut optimal = 0;
    for case in 0..40 {
        let topology = draw_topology(&mut random);
        for kind in EVERY_KIND {
            let frontier = search(&topology, kind, &request);
            assert!(!frontier.points.is_empty(), "case {case} {kind}");
            for own in &frontier.points {
                let steps = own.schedule.rounds.len();
                let count = frontier.step_counts.iter().find(|own| own.steps as usize == steps);
                assert!(count.is_some_and(|count| own.time >= count.bound), "case {case} {kind}");
                optimal += u32::from(own.status == PointStatus::Optimal);
            }
        }
    }
    assert!(optimal > 200, "{optimal}");
}

#[test]
fn broadcasts_of_one_piece_take_as_many_steps_as_floods() {
    let mut random = fastrand::Rng::with_seed(5);
    for case in 0..60 {
        let topology = draw_topology(&mut random);
        if !topology.switches().is_empty() {
            continue;
        }
        let kind = CollectiveKind::Broadcast(ROOT);
        // One piece fits on every edge in one round: the fastest way is to send it to everybody at once.
        let mut reached = 1_u32;
        let mut steps = 0;
        while reached.count_ones() < topology.count_ranks() {
            for edge in topology.edges() {
                if reached >> edge.from.0 & 1 == 1 {
                    reached |= 1 << (edge.to.0 + 8);
                }
            }
            reached = (reached | reached >> 8) & 0xff;
            steps += 1;
        }
        assert_found(&topology, kind, [steps, steps, 1]);
        assert_found(&topology, kind, [steps + 1, steps + 1, 1]);
        if steps > 1 {
            assert_impossible(&topology, kind, [steps - 1, steps + 7, 1]);
        }
        assert!(steps > 0, "case {case}");
    }
}

#[test]
fn symmetric_schedules_are_not_needed() {
    // Whatever is found or refuted with symmetries is without them, if there is time enough.
    let budget = SolverBudget::default();
    let mut compared = 0;
    for topology in [build_ring(5), build_hypercube(3), build_dgx1(), build_amd4()] {
        let topology = topology.unwrap();
        let trivial = Symmetry::trivial(&topology);
        for kind in [CollectiveKind::AllGather, CollectiveKind::AllToAll] {
            for numbers in [[2, 2, 1], [2, 3, 2], [3, 3, 1], [3, 5, 2], [3, 8, 2]] {
                let with = solve(&topology, kind, numbers);
                let without =
                    solve_collective_point(&topology, kind, point(numbers), &trivial, budget);
                let is_found = |own: &PointOutcome| match own {
                    PointOutcome::Found(_) => Some(true),
                    PointOutcome::Impossible => Some(false),
                    PointOutcome::OutOfBudget(_) => None,
                };
                if let Some(without) = is_found(&without.unwrap()) {
                    assert_eq!(is_found(&with), Some(without), "{kind} {numbers:?}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn larger_rates_make_times_shorter() {
    let build = |rate: u64| {
        let mut graph = RelativeGraph::new(5);
        for (one, other) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)] {
            graph.add_link(Vertex(one), Vertex(other), rate);
        }
        graph.build().unwrap()
    };
    let request = FrontierRequest { max_chunks: 4, ..FrontierRequest::default() };
    for kind in [CollectiveKind::AllGather, CollectiveKind::ReduceScatter] {
        let [slow, fast] = [1, 3].map(|rate| search(&build(rate), kind, &request));
        assert_eq!(list_points(&slow), list_points(&fast));
        for (one, other) in slow.points.iter().zip(&fast.points) {
            assert_eq!(one.time, other.time.checked_mul(Rational::from_integer(3)).unwrap());
        }
    }
}

#[test]
fn the_same_search_finds_the_same_schedule() {
    let dgx1 = build_dgx1().unwrap();
    let [one, other] =
        [(); 2].map(|()| search(&dgx1, CollectiveKind::AllGather, &FrontierRequest::default()));
    assert_eq!(one.points, other.points);
    assert_eq!(one.step_counts, other.step_counts);
}
