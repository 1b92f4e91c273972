//! Single points, ranges of steps, and engines: what is found, and why something is not.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::bound::collective::BoundScope;
use synth::collective::CollectiveKind;
use synth::families::{
    BoxShape, RelativeGraph, build_boxes, build_dgx1, build_full, build_hub, build_line, build_ring,
};
use synth::frontier::{
    FrontierGoal, FrontierRequest, PointStatus, PointVerdict, SearchEngine, SymmetryUse,
    find_frontier, search_point,
};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::schedule::{SchedulePoint, check_schedule, measure_hops};
use synth::steps::{SearchError, SolverBudget, SolverLimit};

const ROOT: Vertex = Vertex(0);

/// Steps, rounds, chunks.
fn point([steps, rounds, chunks]: [u32; 3]) -> SchedulePoint {
    SchedulePoint { steps, rounds: u64::from(rounds), chunks }
}

fn look_for(
    topology: &Topology,
    kind: CollectiveKind,
    numbers: [u32; 3],
    request: &FrontierRequest<'_>,
) -> PointVerdict {
    let found = search_point(topology, &kind.into(), point(numbers), request).unwrap();
    if let PointVerdict::Found { schedule, .. } = &found.verdict {
        check_schedule(topology, &found.units, schedule).unwrap();
        assert_eq!(schedule.measure(), point(numbers));
    }
    found.verdict
}

fn list_engines() -> [SearchEngine; 2] {
    [SearchEngine::Auto, SearchEngine::Solver]
}

fn assert_found(topology: &Topology, kind: CollectiveKind, numbers: [u32; 3]) {
    for engine in list_engines() {
        let request = FrontierRequest { engine, ..FrontierRequest::default() };
        let verdict = look_for(topology, kind, numbers, &request);
        let is_found = matches!(verdict, PointVerdict::Found { .. });
        assert!(is_found, "{kind} {numbers:?} {engine:?}: {verdict:?}");
    }
}

fn assert_below(topology: &Topology, kind: CollectiveKind, numbers: [u32; 3], bound: &str) {
    let verdict = look_for(topology, kind, numbers, &FrontierRequest::default());
    let scope = BoundScope::EverySchedule;
    let expected = PointVerdict::BelowBound { bound: bound.parse().unwrap(), scope };
    assert_eq!(verdict, expected, "{kind} {numbers:?}");
}

fn build_two_boxes(ranks: u32, port_rate: u64) -> Topology {
    let abilities = SwitchAbilities::default();
    build_boxes(BoxShape { boxes: 2, ranks, port_rate, card_rate: 1, rails: 1, abilities }).unwrap()
}

#[test]
fn points_of_the_literature_are_found_or_are_below_a_bound() {
    let dgx1 = build_dgx1().unwrap();
    for kind in [CollectiveKind::AllGather, CollectiveKind::ReduceScatter] {
        for numbers in [[2, 2, 1], [2, 3, 2], [3, 4, 3], [3, 5, 4], [3, 6, 5], [3, 7, 6]] {
            assert_found(&dgx1, kind, numbers);
        }
        for numbers in [[2, 4, 3], [2, 5, 4], [2, 6, 5], [2, 7, 6]] {
            assert_below(&dgx1, kind, numbers, "3/2");
        }
        let one = look_for(&dgx1, kind, [1, 9, 1], &FrontierRequest::default());
        assert_eq!(one, PointVerdict::TooFewSteps { least: 2 });
    }
    for numbers in [[2, 3, 1], [3, 3, 1], [2, 8, 3]] {
        assert_found(&dgx1, CollectiveKind::AllToAll, numbers);
    }
    assert_below(&dgx1, CollectiveKind::AllToAll, [2, 2, 1], "8/3");
    for kind in [CollectiveKind::Scatter(ROOT), CollectiveKind::Gather(ROOT)] {
        assert_found(&dgx1, kind, [2, 7, 6]);
        assert_below(&dgx1, kind, [2, 6, 6], "7/6");
    }
    for numbers in [[2, 2, 2], [3, 3, 7], [4, 4, 10]] {
        assert_found(&dgx1, CollectiveKind::Broadcast(ROOT), numbers);
    }
    let hub = build_hub(8, SwitchAbilities::default()).unwrap();
    assert_found(&hub, CollectiveKind::AllGather, [1, 7, 1]);
    assert_below(&hub, CollectiveKind::AllGather, [1, 6, 1], "7");
    let small = build_two_boxes(4, 3);
    assert_found(&small, CollectiveKind::AllGather, [2, 4, 2]);
    assert_found(&small, CollectiveKind::AllGather, [2, 7, 4]);
    assert_below(&build_two_boxes(8, 9), CollectiveKind::AllGather, [2, 3, 2], "128/79");
}

/// On two links of rates 2 and 3, one after the other, `c` pieces take `c / 2` rounds and then `c / 3`, each rounded up.
/// The bound is 5/6.
#[test]
fn the_solver_goes_through_all_schedules() {
    let mut graph = RelativeGraph::new(3);
    graph.add_link(Vertex(0), Vertex(1), 2);
    graph.add_link(Vertex(1), Vertex(2), 3);
    let line = graph.build().unwrap();
    let request = FrontierRequest::default();
    for kind in [CollectiveKind::Broadcast(ROOT), CollectiveKind::Reduce(ROOT)] {
        for chunks in 1..=9_u32 {
            let needed = chunks.div_ceil(2) + chunks.div_ceil(3);
            assert_found(&line, kind, [2, needed, chunks]);
            let fewer = [2, needed - 1, chunks];
            if needed == 2 {
                continue;
            }
            if 6 * (needed - 1) < 5 * chunks {
                assert_below(&line, kind, fewer, "5/6");
            } else {
                let verdict = look_for(&line, kind, fewer, &request);
                assert_eq!(verdict, PointVerdict::Impossible, "{kind} {fewer:?}");
            }
        }
    }
}

#[test]
fn what_ended_the_search_is_told() {
    let dgx1 = build_dgx1().unwrap();
    let solver = SolverBudget { conflicts: 0, ..SolverBudget::default() };
    let request = FrontierRequest { solver, ..FrontierRequest::default() };
    let verdict = look_for(&dgx1, CollectiveKind::Broadcast(ROOT), [3, 5, 12], &request);
    let PointVerdict::NotFound { reached: Some(reached) } = verdict else { panic!("{verdict:?}") };
    assert_eq!(reached.limit, SolverLimit::Conflicts);
}

#[test]
fn points_may_be_larger_than_a_schedule_needs() {
    let dgx1 = build_dgx1().unwrap();
    // Four pieces in six rounds, and steps and rounds that nothing needs.
    let request =
        FrontierRequest { engine: SearchEngine::BreadthFirst, ..FrontierRequest::default() };
    for numbers in [[2, 6, 4], [4, 9, 4]] {
        let verdict = look_for(&dgx1, CollectiveKind::AllGather, numbers, &request);
        assert!(matches!(verdict, PointVerdict::Found { .. }), "{verdict:?}");
    }
    // Breadth first, three steps are no faster than two.
    let verdict = look_for(&dgx1, CollectiveKind::AllGather, [3, 7, 6], &request);
    assert_eq!(verdict, PointVerdict::NotFound { reached: None });
}

#[test]
fn ranges_of_steps_are_kept_to() {
    let dgx1 = build_dgx1().unwrap();
    let allgather = CollectiveKind::AllGather.into();
    let request = FrontierRequest { min_steps: Some(3), ..FrontierRequest::default() };
    let found = find_frontier(&dgx1, &allgather, &request).unwrap();
    let sizes: Vec<SchedulePoint> = found.points.iter().map(|own| own.schedule.measure()).collect();
    assert_eq!(sizes, [point([3, 7, 6])]);
    assert!(found.is_complete && found.is_settled());
    let steps: Vec<u32> = found.step_counts.iter().map(|count| count.steps).collect();
    assert_eq!(steps, [3]);
    let two = FrontierRequest { max_steps: Some(2), ..FrontierRequest::default() };
    let least = FrontierRequest { goal: FrontierGoal::LeastSteps, ..FrontierRequest::default() };
    for request in [two, least] {
        let found = find_frontier(&dgx1, &allgather, &request).unwrap();
        assert_eq!(found.points.len(), 1);
        assert_eq!(found.points[0].schedule.measure(), point([2, 3, 2]));
        assert!(found.is_settled() && !found.is_complete);
    }
}

#[test]
fn engines_are_those_that_were_asked_for() {
    let ring = build_ring(6).unwrap();
    let find = |kind: CollectiveKind, engine| {
        let request = FrontierRequest { engine, ..FrontierRequest::default() };
        find_frontier(&ring, &kind.into(), &request)
    };
    let unfit = |kind, engine| {
        assert_eq!(find(kind, engine).unwrap_err(), SearchError::UnfitEngine, "{kind} {engine:?}");
    };
    for kind in [CollectiveKind::AllGather, CollectiveKind::ReduceScatter] {
        for engine in [SearchEngine::BreadthFirst, SearchEngine::Solver] {
            let found = find(kind, engine).unwrap();
            assert_eq!(found.points[0].schedule.measure(), point([3, 5, 2]));
        }
        assert!(!find(kind, SearchEngine::Greedy).unwrap().points.is_empty());
        unfit(kind, SearchEngine::Flows);
    }
    for kind in [CollectiveKind::AllToAll, CollectiveKind::Scatter(ROOT)] {
        for engine in [SearchEngine::Flows, SearchEngine::Solver, SearchEngine::Greedy] {
            let found = find(kind, engine).unwrap();
            assert!(!found.points.is_empty(), "{kind} {engine:?}");
            // Without the solver nothing ends at its budget.
            if engine != SearchEngine::Solver {
                assert!(found.step_counts.iter().all(|count| count.undecided.is_empty()));
            }
        }
        unfit(kind, SearchEngine::BreadthFirst);
    }
    unfit(CollectiveKind::Broadcast(ROOT), SearchEngine::BreadthFirst);
    // Symmetry only says where the solver looks first.
    let request = FrontierRequest {
        engine: SearchEngine::Solver,
        symmetry: SymmetryUse::None,
        ..FrontierRequest::default()
    };
    let found = find_frontier(&ring, &CollectiveKind::AllGather.into(), &request).unwrap();
    assert_eq!(found.points[0].schedule.measure(), point([3, 5, 2]));
    assert_eq!(found.points[0].status, PointStatus::Optimal);
}

#[test]
fn malformed_points_are_errors() {
    let full = build_full(4, 1).unwrap();
    for numbers in [[1, 0, 1], [2, 1, 1], [1, 1, 0]] {
        let found = search_point(
            &full,
            &CollectiveKind::AllGather.into(),
            point(numbers),
            &FrontierRequest::default(),
        );
        assert_eq!(found.unwrap_err(), SearchError::MalformedPoint);
    }
}

#[test]
fn hops_of_schedules_are_counted() {
    let line = build_line(4).unwrap();
    for kind in [CollectiveKind::AllGather, CollectiveKind::ReduceScatter] {
        let found = find_frontier(&line, &kind.into(), &FrontierRequest::default()).unwrap();
        assert_eq!(measure_hops(&found.units, &found.points[0].schedule), 3);
    }
}
