//! Schedules of steps that are written by hand on a ring of four ranks, and each flaw that the check finds.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::collective::{Collective, CollectiveKind, Demand, DemandList};
use synth::families::{RelativeGraph, build_hub, build_ring};
use synth::graph::{EdgeIndex, SwitchAbilities, Topology, Vertex};
use synth::schedule::{
    Move, MoveAction, Piece, ScheduleFlaw, StepSchedule, Unit, check_schedule, list_units,
};
use synth::steps::bfb::find_breadth_first;

use MoveAction::{Copy, Reduce};

fn find_edge(topology: &Topology, from: u32, to: u32) -> EdgeIndex {
    let is_wanted = |edge: &synth::graph::DirectedEdge| [edge.from.0, edge.to.0] == [from, to];
    EdgeIndex(topology.edges().iter().position(is_wanted).unwrap() as u32)
}

/// A move over one edge: the step, the two ranks and the piece.
fn step(topology: &Topology, [step, from, to, piece]: [u32; 4], action: MoveAction) -> Move {
    let path = vec![find_edge(topology, from, to)];
    Move { step, from: Vertex(from), to: Vertex(to), piece: Piece(piece), action, path }
}

/// Moves on the ring of four ranks, with one piece for each unit and so many rounds for each step.
fn write(rounds: &[u64], moves: &[[u32; 4]], action: MoveAction) -> StepSchedule {
    let ring = build_ring(4).unwrap();
    let mut moves: Vec<Move> = moves.iter().map(|own| step(&ring, *own, action)).collect();
    moves.sort_unstable();
    StepSchedule { chunks: 1, rounds: rounds.to_vec(), moves }
}

fn check(kind: CollectiveKind, schedule: &StepSchedule) -> Result<(), ScheduleFlaw> {
    let units = list_units(&Collective::Known(kind), 4);
    check_schedule(&build_ring(4).unwrap(), &units, schedule)
}

/// In two steps of one and two rounds: both neighbors, and then the far rank from one side.
fn write_allgather() -> StepSchedule {
    let mut moves = Vec::new();
    for rank in 0..4 {
        let [next, far, last] = [1, 2, 3].map(|offset| (rank + offset) % 4);
        moves.extend([[0, rank, next, rank], [0, rank, last, rank], [1, next, far, rank]]);
    }
    write(&[1, 1], &moves, Copy)
}

fn write_alltoall() -> StepSchedule {
    let mut moves = Vec::new();
    for rank in 0..4 {
        let [next, far, last] = [1, 2, 3].map(|offset| (rank + offset) % 4);
        let unit = |to: u32| rank + 4 * to;
        moves.extend([[0, rank, next, unit(next)], [0, rank, last, unit(last)]]);
        moves.extend([[0, rank, next, unit(far)], [1, next, far, unit(far)]]);
    }
    write(&[2, 1], &moves, Copy)
}

fn write_broadcast() -> StepSchedule {
    write(&[1, 1], &[[0, 0, 1, 0], [0, 0, 3, 0], [1, 1, 2, 0]], Copy)
}

fn write_scatter() -> StepSchedule {
    write(&[2, 1], &[[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 3, 3], [1, 1, 2, 2]], Copy)
}

/// On the reversed topology, which is the same for a ring.
fn reverse(schedule: &StepSchedule, reduces: bool) -> StepSchedule {
    let ring = build_ring(4).unwrap();
    schedule.reverse(&ring, &ring.reverse(), reduces)
}

#[test]
fn every_known_collective_has_a_schedule() {
    let root = Vertex(0);
    let reduce_scatter = reverse(&write_allgather(), true);
    let rows = [
        (CollectiveKind::AllGather, write_allgather(), [2, 2]),
        (CollectiveKind::ReduceScatter, reduce_scatter.clone(), [2, 2]),
        (CollectiveKind::AllReduce, reduce_scatter.chain(write_allgather()), [4, 4]),
        (CollectiveKind::AllToAll, write_alltoall(), [2, 3]),
        (CollectiveKind::Broadcast(root), write_broadcast(), [2, 2]),
        (CollectiveKind::Reduce(root), reverse(&write_broadcast(), true), [2, 2]),
        (CollectiveKind::Scatter(root), write_scatter(), [2, 3]),
        (CollectiveKind::Gather(root), reverse(&write_scatter(), false), [2, 3]),
    ];
    for (kind, schedule, [steps, rounds]) in rows {
        assert_eq!(check(kind, &schedule), Ok(()), "{kind}");
        let point = schedule.measure();
        assert_eq!([u64::from(point.steps), point.rounds], [steps, rounds], "{kind}");
        // Every move counts.
        for index in 0..schedule.moves.len() {
            let mut less = schedule.clone();
            less.moves.remove(index);
            assert!(check(kind, &less).is_err(), "{kind} without move {index}");
        }
        for other in [CollectiveKind::AllToAll, CollectiveKind::AllReduce] {
            assert!(kind == other || check(other, &schedule).is_err(), "{kind} as {other}");
        }
    }
}

#[test]
fn reversed_schedules_reverse_back() {
    let allgather = write_allgather();
    assert_eq!(reverse(&reverse(&allgather, true), false), allgather);
    assert_eq!(reverse(&allgather, true).rounds, [1, 1]);
    assert_eq!(reverse(&write_alltoall(), false).rounds, [1, 2]);
}

#[test]
fn reversal_keeps_edges_with_the_same_ends_apart() {
    let mut graph = RelativeGraph::new(3);
    for (from, to, rate) in [(0, 1, 2), (1, 2, 3), (2, 0, 5)] {
        graph.add_edge(Vertex(from), Vertex(to), rate);
    }
    let topology = graph.build().unwrap();
    let moves = [[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 2, 0]];
    let mut moves: Vec<Move> = moves.map(|own| step(&topology, own, Copy)).into();
    moves[1].piece = Piece(1);
    let schedule = StepSchedule { chunks: 2, rounds: vec![1, 1], moves };
    let reversed = topology.reverse();
    let turned = schedule.reverse(&topology, &reversed, true);
    assert_eq!(turned.moves[0].path, [find_edge(&reversed, 2, 1)]);
    assert_eq!(turned.moves[1].path, [find_edge(&reversed, 1, 0)]);
    assert_eq!(turned.moves[2].step, 1);
}

#[test]
fn sizes_that_make_no_sense_are_flaws() {
    let kind = CollectiveKind::AllGather;
    let with_rounds =
        |rounds: &[u64]| StepSchedule { rounds: rounds.to_vec(), ..write_allgather() };
    assert_eq!(check(kind, &with_rounds(&[1, 0])), Err(ScheduleFlaw::Empty));
    assert_eq!(check(kind, &with_rounds(&[u64::MAX, 1])), Err(ScheduleFlaw::TooLarge));
    let with_chunks = |chunks| StepSchedule { chunks, ..write_allgather() };
    assert_eq!(check(kind, &with_chunks(0)), Err(ScheduleFlaw::Empty));
    assert_eq!(check(kind, &with_chunks(1 << 30)), Err(ScheduleFlaw::TooLarge));
    // More rounds than are needed are no flaw.
    assert_eq!(check(kind, &with_rounds(&[1 << 40, 1])), Ok(()));
}

#[test]
fn units_without_origins_or_of_other_ranks_are_flaws() {
    let ring = build_ring(4).unwrap();
    let good = Unit::new(vec![Vertex(0)], vec![Vertex(1)]);
    let ends: [[Vec<Vertex>; 2]; 3] = [
        [Vec::new(), vec![Vertex(1)]],
        [vec![Vertex(4)], vec![Vertex(1)]],
        [vec![Vertex(0)], vec![Vertex(9)]],
    ];
    for [origins, receivers] in ends {
        let units = [good.clone(), Unit::new(origins, receivers)];
        let schedule = write(&[1], &[[0, 0, 1, 0]], Copy);
        let flaw = check_schedule(&ring, &units, &schedule);
        assert_eq!(flaw, Err(ScheduleFlaw::BadUnit { unit: 1 }));
    }
}

/// The flaw of an AllGather, after a change of its moves.
fn spoil(change: impl FnOnce(&mut Vec<Move>)) -> Result<(), ScheduleFlaw> {
    let mut schedule = write_allgather();
    change(&mut schedule.moves);
    check(CollectiveKind::AllGather, &schedule)
}

#[test]
fn malformed_moves_are_flaws() {
    let changes: [fn(&mut Move); 5] = [
        |own| own.piece = Piece(4),
        |own| own.step = 2,
        |own| own.from = Vertex(4),
        |own| own.to = Vertex(4),
        |own| own.to = own.from,
    ];
    for change in changes {
        let flaw = spoil(|moves| change(&mut moves[11]));
        assert_eq!(flaw, Err(ScheduleFlaw::Malformed { index: 11 }));
    }
    let unsorted = spoil(|moves| moves.swap(7, 8));
    assert_eq!(unsorted, Err(ScheduleFlaw::Malformed { index: 8 }));
}

#[test]
fn paths_that_do_not_join_ranks_are_flaws() {
    let broken = |change: fn(&mut Vec<EdgeIndex>)| spoil(|moves| change(&mut moves[0].path));
    let expected = Err(ScheduleFlaw::BrokenPath { index: 0 });
    assert_eq!(broken(Vec::clear), expected);
    assert_eq!(broken(|path| path[0].0 += 1), expected);
    assert_eq!(broken(|path| path.push(path[0])), expected);
    assert_eq!(broken(|path| path[0].0 = 99), expected);
    // Through a rank, although the edges join.
    let ring = build_ring(4).unwrap();
    let mut through_rank = step(&ring, [0, 0, 1, 0], Copy);
    through_rank.to = Vertex(2);
    through_rank.path.push(find_edge(&ring, 1, 2));
    let schedule = StepSchedule { chunks: 1, rounds: vec![1], moves: vec![through_rank] };
    let units = [Unit::new(vec![Vertex(0)], vec![Vertex(2)])];
    assert_eq!(check_schedule(&ring, &units, &schedule), expected);
}

#[test]
fn paths_through_switches_load_their_ports() {
    let hub = build_hub(3, SwitchAbilities::default()).unwrap();
    let send = |from, to, piece| Move {
        step: 0,
        from: Vertex(from),
        to: Vertex(to),
        piece: Piece(piece),
        action: Copy,
        path: vec![find_edge(&hub, from, 3), find_edge(&hub, 3, to)],
    };
    let units = list_units(&Collective::Known(CollectiveKind::AllGather), 3);
    let mut moves = Vec::new();
    for rank in 0..3 {
        moves.extend([1, 2].map(|offset| send(rank, (rank + offset) % 3, rank)));
    }
    let mut schedule = StepSchedule { chunks: 1, rounds: vec![2], moves };
    assert_eq!(check_schedule(&hub, &units, &schedule), Ok(()));
    schedule.rounds = vec![1];
    let overloaded = ScheduleFlaw::Overloaded { edge: find_edge(&hub, 0, 3), step: 0 };
    assert_eq!(check_schedule(&hub, &units, &schedule), Err(overloaded));
}

#[test]
fn rates_limit_steps_one_by_one() {
    // What another step leaves idle does not count.
    let mut schedule = write_alltoall();
    schedule.rounds = vec![1, 2];
    let flaw = check(CollectiveKind::AllToAll, &schedule);
    assert!(matches!(flaw, Err(ScheduleFlaw::Overloaded { step: 0, .. })), "{flaw:?}");
}

#[test]
fn what_comes_in_a_step_is_not_sent_in_it() {
    let kind = CollectiveKind::Broadcast(Vertex(0));
    let moves = [[0, 0, 1, 0], [0, 0, 3, 0], [0, 1, 2, 0]];
    assert_eq!(check(kind, &write(&[1], &moves, Copy)), Err(ScheduleFlaw::NotHeld { index: 2 }));
    let moves = [[0, 0, 1, 0], [0, 0, 3, 0], [0, 2, 3, 0]];
    assert_eq!(check(kind, &write(&[1], &moves, Copy)), Err(ScheduleFlaw::NotHeld { index: 2 }));
}

#[test]
fn summands_are_added_once() {
    let reduce = CollectiveKind::Reduce(Vertex(0));
    // The sum of 1 and 2 and that of 2 and 3 have one in common.
    let moves = [[0, 2, 1, 0], [0, 2, 3, 0], [1, 1, 0, 0], [1, 3, 0, 0]];
    let twice = write(&[1, 1], &moves, Reduce);
    assert_eq!(check(reduce, &twice), Err(ScheduleFlaw::AddedTwice { index: 3 }));
    // The same summand again, in a later step.
    let moves = [[0, 2, 1, 0], [1, 1, 0, 0], [1, 3, 0, 0], [2, 3, 0, 0]];
    let again = write(&[1, 1, 1], &moves, Reduce);
    assert_eq!(check(reduce, &again), Err(ScheduleFlaw::AddedTwice { index: 3 }));
    // A sum comes back to one of its summands.
    let moves = [[0, 0, 1, 0], [0, 2, 3, 0], [1, 1, 0, 0], [1, 3, 0, 0]];
    let back = write(&[1, 1], &moves, Reduce);
    assert_eq!(check(reduce, &back), Err(ScheduleFlaw::AddedTwice { index: 2 }));
}

#[test]
fn copies_do_not_lose_summands() {
    let moves = [[0, 2, 1, 0], [1, 1, 0, 0], [1, 3, 0, 0]];
    let lost = write(&[1, 1], &moves, Copy);
    let reduce = CollectiveKind::Reduce(Vertex(0));
    assert_eq!(check(reduce, &lost), Err(ScheduleFlaw::Overwritten { index: 0 }));
}

#[test]
fn copies_come_alone() {
    let moves = [[0, 0, 1, 0], [0, 0, 3, 0], [1, 1, 2, 0], [1, 3, 2, 0]];
    let twice = write(&[1, 1], &moves, Copy);
    let broadcast = CollectiveKind::Broadcast(Vertex(0));
    assert_eq!(check(broadcast, &twice), Err(ScheduleFlaw::CopiedTwice { index: 3 }));
    // A copy and a summand in one step: which comes first would matter, in whatever order they are listed.
    let units = [Unit::new(vec![Vertex(1), Vertex(3)], vec![Vertex(2)])];
    let ring = build_ring(4).unwrap();
    for actions in [[Copy, Reduce], [Reduce, Copy]] {
        let moves = [[0, 1, 2, 0], [0, 3, 2, 0]];
        let moves = moves.into_iter().zip(actions).map(|(own, action)| step(&ring, own, action));
        let schedule = StepSchedule { chunks: 1, rounds: vec![1], moves: moves.collect() };
        let flaw = check_schedule(&ring, &units, &schedule);
        assert_eq!(flaw, Err(ScheduleFlaw::CopiedTwice { index: 1 }));
    }
}

#[test]
fn what_is_demanded_arrives() {
    assert_eq!(
        spoil(|moves| drop(moves.pop())),
        Err(ScheduleFlaw::Missing { piece: 2, rank: Vertex(0) })
    );
    // A part of a sum is not the sum.
    let part = write(&[1], &[[0, 1, 0, 0], [0, 3, 0, 0]], Reduce);
    let missing = ScheduleFlaw::Missing { piece: 0, rank: Vertex(0) };
    assert_eq!(check(CollectiveKind::Reduce(Vertex(0)), &part), Err(missing));
    // The second piece of a unit is one of its own.
    let halves = StepSchedule { chunks: 2, ..write_broadcast() };
    let missing = ScheduleFlaw::Missing { piece: 1, rank: Vertex(1) };
    assert_eq!(check(CollectiveKind::Broadcast(Vertex(0)), &halves), Err(missing));
}

#[test]
fn demands_are_units_in_their_order() {
    let sum = Demand::sum(vec![Vertex(0), Vertex(1)], vec![Vertex(3)], 1);
    let copy = Demand::copy(Vertex(2), vec![Vertex(0), Vertex(3)], 2);
    let demands = DemandList::new(vec![sum, copy]).unwrap();
    let units = list_units(&Collective::Demands(demands), 4);
    assert_eq!(units.len(), 3);
    assert!(units[0].is_sum() && units[0].has_receiver(Vertex(3)));
    assert!(units[1] == units[2] && !units[1].is_sum() && units[1].has_origin(Vertex(2)));
    let ring = build_ring(4).unwrap();
    let mut moves: Vec<Move> = vec![
        step(&ring, [0, 1, 0, 0], Reduce),
        step(&ring, [1, 0, 3, 0], Reduce),
        step(&ring, [0, 2, 3, 1], Copy),
        step(&ring, [0, 2, 3, 2], Copy),
        step(&ring, [1, 3, 0, 1], Copy),
        step(&ring, [1, 3, 0, 2], Copy),
    ];
    moves.sort_unstable();
    let schedule = StepSchedule { chunks: 1, rounds: vec![2, 2], moves };
    assert_eq!(check_schedule(&ring, &units, &schedule), Ok(()));
}

#[test]
fn flaws_say_what_they_are_about() {
    let flaws = [
        (ScheduleFlaw::Malformed { index: 7 }, "move 7"),
        (ScheduleFlaw::Missing { piece: 7, rank: Vertex(3) }, "rank 3 does not have piece 7"),
        (ScheduleFlaw::Overloaded { edge: EdgeIndex(5), step: 2 }, "link 5"),
        (ScheduleFlaw::BadUnit { unit: 4 }, "unit 4"),
    ];
    for (flaw, expected) in flaws {
        assert!(flaw.to_string().starts_with(expected), "{flaw}");
    }
}

/// Cutting pieces, and leaving out what is not needed, keep what a schedule does.
#[test]
fn schedules_are_refined_and_tightened() {
    let ring = build_ring(4).unwrap();
    let kind = CollectiveKind::AllGather;
    let units = list_units(&Collective::Known(kind), 4);
    let own = find_breadth_first(&ring, 2).unwrap();
    let fine = own.refine(3).unwrap();
    check_schedule(&ring, &units, &fine).unwrap();
    let (before, after) = (own.measure(), fine.measure());
    assert_eq!((after.steps, after.rounds, after.chunks), (before.steps, 3 * before.rounds, 6));
    assert_eq!(own.refine(u32::MAX), Err(ScheduleFlaw::TooLarge));
    let mut wasteful = own.clone();
    wasteful.rounds.iter_mut().for_each(|rounds| *rounds += 5);
    wasteful.rounds.insert(1, 7);
    wasteful.moves.iter_mut().for_each(|own| own.step += u32::from(own.step > 0));
    check_schedule(&ring, &units, &wasteful).unwrap();
    assert_eq!(wasteful.tighten(&ring), own);
}
