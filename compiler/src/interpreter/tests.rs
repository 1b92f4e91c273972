//! What small programs leave in memory, and where they get stuck.

use super::{
    Awaits, Combined, Outcome, Times, Value, broken_promises, keeps_promises, run, run_in,
};
use crate::ir::build::{
    acquire, group, input, local, memory, on, output, over, pipeline, program, release, scratch,
    signal, sliced, to, wait,
};
use crate::ir::contribution::Contribution;
use crate::ir::grain::count_parts;
use crate::ir::{
    Action, BarrierId, BlockId, Buffer, ChannelId, ChannelKind, Operand, Program, RankId, ReduceOp,
    SemaphoreId, Verb,
};

const LIMIT: u64 = 100_000;

fn finished(program: &Program) -> super::Memory {
    let Outcome::Finished(memory) = run(program, LIMIT) else {
        panic!("the program does not come to its end")
    };
    memory
}

/// A rank's output: of each cell the contributions, as rank and cell.
fn left(program: &Program, rank: u32) -> Vec<Vec<(u32, u32)>> {
    let cells = finished(program).output(program, RankId(rank));
    cells
        .iter()
        .map(|value| value.contributions().iter().map(|c| (c.rank, c.cell)).collect())
        .collect()
}

fn copy(from: Operand, into: Operand) -> Action {
    local(Verb::Copy, &[from], &[into])
}

const NOBODY: u32 = Contribution::NOBODY;

#[test]
fn memory_begins_with_the_input() {
    let p = program(2, 2, 3, 1).block(|_| vec![copy(input(1, 1), output(2, 1))]);
    assert_eq!(left(&p, 1), [vec![(NOBODY, 0)], vec![(NOBODY, 0)], vec![(1, 1)]]);
    let shared = program(2, 1, 2, 0).in_place(Buffer::Input, Buffer::Output, |r| r);
    assert_eq!(left(&shared, 1), [vec![(NOBODY, 0)], vec![(1, 0)]]);
}

#[test]
fn a_wait_comes_after_its_signal() {
    let p = program(2, 1, 2, 0).mesh(ChannelKind::Memory).block(|r| match r {
        0 => vec![wait([to(0, 1)], false), copy(output(1, 1), output(0, 1))],
        _ => vec![
            memory(1, Verb::Put, &[input(0, 1)], &[on(0, output(1, 1))]),
            signal([to(1, 0)], false),
        ],
    });
    assert_eq!(left(&p, 0), [vec![(1, 0)], vec![(1, 0)]]);
}

#[test]
fn a_wait_without_a_signal_is_stuck() {
    let p = program(2, 1, 1, 0)
        .mesh(ChannelKind::Memory)
        .block(|r| if r == 0 { vec![wait([to(0, 1)], false)] } else { vec![] });
    let Outcome::Stuck(stuck) = run(&p, LIMIT) else { panic!("it waits forever") };
    let place: Vec<_> = stuck.iter().map(|s| (s.rank, s.block, s.awaits)).collect();
    assert_eq!(place, [(RankId(0), BlockId(0), Awaits::Signal(to(0, 1)))]);
}

#[test]
fn semaphores_count_and_barriers_open_for_all() {
    let mut p = program(1, 2, 2, 1)
        .semaphores(1)
        .block(|_| vec![acquire(&[0]), acquire(&[0]), copy(scratch(0, 1), output(0, 1))])
        .block(|_| vec![release(&[0]), copy(input(1, 1), scratch(0, 1)), release(&[0])]);
    assert_eq!(left(&p, 0)[0], [(0, 1)]);
    let meet = crate::ir::build::op(Action::Barrier { id: BarrierId(0), arrivals: 2 });
    let rank = &mut p.ranks[RankId(0)];
    rank.barriers.push(vec![BlockId(0), BlockId(1)]);
    rank.blocks[BlockId(0)].ops.insert(0, meet.clone());
    let alone = p.clone();
    p.ranks[RankId(0)].blocks[BlockId(1)].ops.push(meet);
    assert_eq!(left(&p, 0)[0], [(0, 1)]);
    let Outcome::Stuck(stuck) = run(&alone, LIMIT) else { panic!("nobody comes") };
    assert_eq!(stuck[0].awaits, Awaits::Barrier(BarrierId(0)));
    for (block, arrivals) in [(0, 3), (1, 3), (0, 1), (1, 1)] {
        let mut other = p.clone();
        let ops = &mut other.ranks[RankId(0)].blocks[BlockId(block)].ops;
        for op in ops.iter_mut().filter(|op| matches!(op.action, Action::Barrier { .. })) {
            op.action = Action::Barrier { id: BarrierId(0), arrivals };
        }
        assert!(matches!(run(&other, LIMIT), Outcome::Stuck(_)), "it is for two blocks");
    }
}

#[test]
fn a_semaphore_without_releases_is_stuck() {
    let p = program(1, 1, 1, 0).semaphores(1).block(|_| vec![acquire(&[0])]);
    let Outcome::Stuck(stuck) = run(&p, LIMIT) else { panic!("nobody releases") };
    assert_eq!(stuck[0].awaits, Awaits::Semaphore(SemaphoreId(0)));
}

#[test]
fn packets_are_waited_for_one_by_one() {
    let unpack = || local(Verb::UnpackPackets, &[scratch(0, 2)], &[output(0, 2)]);
    let pack = |i| local(Verb::CopyPackets, &[input(i, 1)], &[scratch(i, 1)]);
    let p = program(1, 2, 2, 2).block(|_| vec![unpack()]).block(|_| vec![pack(1), pack(0)]);
    assert_eq!(left(&p, 0), [vec![(0, 0)], vec![(0, 1)]]);
    let half = program(1, 2, 2, 2).block(|_| vec![unpack()]).block(|_| vec![pack(1)]);
    let Outcome::Stuck(stuck) = run(&half, LIMIT) else { panic!("one never comes") };
    assert_eq!(stuck[0].awaits, Awaits::Packets);
    // A packet goes back and forth between two operations: this works only element by element.
    let chase = program(2, 1, 1, 3).mesh(ChannelKind::Memory).block(|r| {
        let forward = |into| memory(r, Verb::ReadPutPackets, &[scratch(0, 2)], &[on(1 - r, into)]);
        let last = local(Verb::UnpackPackets, &[scratch(2, 1)], &[output(0, 1)]);
        let first = local(Verb::CopyPackets, &[input(0, 1)], &[scratch(0, 1)]);
        if r == 0 {
            vec![first, forward(scratch(0, 2)), last]
        } else {
            vec![forward(scratch(1, 2))]
        }
    });
    assert_eq!(left(&chase, 0), [vec![(0, 0)]]);
}

#[test]
fn sums_count_and_minima_do_not() {
    let twice = |op| {
        let mut p = program(1, 1, 1, 0)
            .block(|_| vec![local(Verb::Reduce, &[input(0, 1), input(0, 1)], &[output(0, 1)])]);
        if let Action::Transfer(t) = &mut p.ranks[RankId(0)].blocks[BlockId(0)].ops[0].action {
            t.reduce = op;
        }
        finished(&p).output(&p, RankId(0))[0].contributions()[0].count
    };
    assert_eq!((twice(ReduceOp::Sum), twice(ReduceOp::Min), twice(ReduceOp::Max)), (2, 1, 1));
}

#[test]
fn a_switch_reads_and_writes_every_rank() {
    let nvls = ChannelId(0);
    let cells = [group(nvls, input(0, 1))];
    let p = program(3, 1, 1, 0)
        .in_place(Buffer::Output, Buffer::Input, |_| 0)
        .switch(Buffer::Input, 1)
        .block(|r| {
            let all = over(Verb::Reduce, Some(ChannelKind::Switch), &cells, &cells, &[nvls, nvls]);
            if r == 1 { vec![all] } else { vec![] }
        });
    for rank in 0..3 {
        assert_eq!(left(&p, rank), [vec![(0, 0), (1, 0), (2, 0)]]);
    }
}

#[test]
fn a_group_covers_the_whole_once() {
    let part = |i| vec![sliced(copy(input(0, 2), output(0, 2)), i, 3)];
    let p = program(1, 2, 2, 0).block(|_| part(0)).block(|_| part(1)).block(|_| part(2));
    assert_eq!(count_parts(&p), 3);
    let whole: Vec<_> = (0..6).map(|cell| vec![(0, cell)]).collect();
    assert_eq!(left(&p, 0), whole);
    let two = program(1, 2, 2, 0).block(|_| part(0)).block(|_| part(2));
    let gap: Vec<_> = left(&two, 0).into_iter().map(|cell| cell[0].0 == NOBODY).collect();
    assert_eq!(gap, [false, false, true, true, false, false]);
}

#[test]
fn a_pipeline_goes_window_by_window() {
    let p = program(1, 2, 2, 2)
        .semaphores(2)
        .block(|_| {
            vec![pipeline(
                64,
                2,
                vec![acquire(&[1]), copy(input(0, 2), scratch(0, 2)), release(&[0])],
            )]
        })
        .block(|_| {
            vec![pipeline(
                64,
                2,
                vec![release(&[1]), acquire(&[0]), copy(scratch(0, 2), output(0, 2))],
            )]
        });
    assert_eq!(count_parts(&p), 2);
    assert_eq!(left(&p, 0), (0..4).map(|cell| vec![(0, cell)]).collect::<Vec<_>>());
}

#[test]
fn promises_are_compared_chunk_by_chunk() {
    let sum = |sources: &[Operand]| local(Verb::Reduce, sources, &[output(0, 1)]);
    let p = program(2, 3, 2, 0)
        .block(|_| vec![sum(&[input(0, 1), input(0, 1), input(2, 1)])])
        .promise(|r, chunk| if chunk == 0 { vec![(r, 0), (r, 1)] } else { vec![(0, 0)] });
    let broken = broken_promises(&p, &finished(&p)).expect("some are broken");
    // Of each rank, one chunk is wrong, and nothing has written the other.
    assert_eq!((broken.chunks, broken.unwritten), (4, 1));
    let first = &broken.first;
    assert_eq!((first.rank, first.chunk), (RankId(0), 0));
    let twice = Times { of: (0, 0), found: 2, promised: 1 };
    assert_eq!(
        (&first.missing[..], &first.doubled[..], &first.unexpected[..]),
        (&[(0, 1)][..], &[twice][..], &[(0, 2)][..])
    );
    assert!(first.last_writer.is_some());
    let kept = program(1, 1, 1, 0)
        .block(|_| vec![copy(input(0, 1), output(0, 1))])
        .promise(|r, c| vec![(r, c)]);
    assert_eq!(broken_promises(&kept, &finished(&kept)), None);
    assert!(keeps_promises(&kept, &finished(&kept)) && !keeps_promises(&p, &finished(&p)));
}

/// What a chunk of rank 0 holds after these reductions, each of two operands, of which the last writes it.
fn reduced(steps: &[(ReduceOp, [Operand; 2], Operand)]) -> Program {
    program(1, 3, 1, 2).block(|_| {
        let step = |(op, sources, to): &(ReduceOp, [Operand; 2], Operand)| {
            let mut action = local(Verb::Reduce, sources, &[*to]);
            if let Action::Transfer(transfer) = &mut action {
                transfer.reduce = *op;
            }
            action
        };
        steps.iter().map(step).collect()
    })
}

#[test]
fn a_promise_is_kept_by_its_operator_only() {
    let (a, b, c, out) = (input(0, 1), input(1, 1), input(2, 1), output(0, 1));
    let (sum, max) = (ReduceOp::Sum, ReduceOp::Max);
    let broken = |steps: &[_], op, terms: Vec<(u32, u32)>| {
        let mut p = reduced(steps).promise(|_, _| terms.clone());
        p.collective.op = op;
        let found = broken_promises(&p, &finished(&p));
        let first = found.map(|broken| broken.first);
        first.map(|broken| (broken.combined, broken.too_few.len(), broken.doubled.len()))
    };
    let both = vec![(0, 0), (0, 1)];
    let mixed = [(sum, [a, b], scratch(0, 1)), (max, [scratch(0, 1), a], out)];
    assert_eq!(broken(&[(sum, [a, b], out)], sum, both.clone()), None);
    assert_eq!(broken(&[(max, [a, b], out)], max, both.clone()), None);
    let by = |op| Some((Some(Combined::By(op)), 0, 0));
    assert_eq!(broken(&[(sum, [a, b], out)], max, both.clone()), by(sum));
    assert_eq!(broken(&[(max, [a, b], out)], sum, both.clone()), by(max));
    assert_eq!(broken(&mixed, sum, both.clone()), Some((Some(Combined::Mixed), 0, 0)));
    // A copy keeps the operator of what it copies.
    let three = [(sum, [a, b], scratch(0, 1)), (sum, [scratch(0, 1), c], out)];
    assert_eq!(broken(&three, max, vec![(0, 0), (0, 1), (0, 2)]), by(sum));
    // How often a contribution is promised matters for sums only.
    let twice = [(sum, [a, a], out)];
    assert_eq!(broken(&twice, sum, vec![(0, 0), (0, 0)]), None);
    assert_eq!(broken(&twice, sum, vec![(0, 0)]), Some((None, 0, 1)));
    assert_eq!(
        broken(&[(sum, [a, b], out)], sum, vec![(0, 0), (0, 0), (0, 1)]),
        Some((None, 1, 0))
    );
    assert_eq!(broken(&[(max, [a, b], out)], max, vec![(0, 0), (0, 0), (0, 1)]), None);
    assert_eq!(broken(&[(max, [a, a], out)], max, vec![(0, 0)]), None);
}

#[test]
fn the_operator_takes_no_room() {
    assert_eq!(size_of::<Value>(), 24);
}

#[test]
fn a_part_in_the_wrong_place_breaks_a_promise() {
    let swap = |i| {
        vec![
            sliced(copy(input(0, 1), scratch(0, 1)), i, 2),
            sliced(copy(scratch(0, 1), output(0, 1)), i, 2),
        ]
    };
    let p = program(1, 1, 1, 1).block(|_| swap(0)).promise(|r, c| vec![(r, c)]);
    let broken = broken_promises(&p, &finished(&p)).expect("one is broken");
    assert_eq!(broken.first.missing, [(0, 0)]);
}

#[test]
fn a_limit_ends_a_run() {
    let p = program(1, 1 << 20, 1, 0).block(|_| vec![]);
    assert!(matches!(run(&p, LIMIT), Outcome::TooLong));
    let many =
        program(1, 1, 1, 0).block(|_| (0..20).map(|_| copy(input(0, 1), output(0, 1))).collect());
    assert!(matches!(run(&many, 10), Outcome::TooLong));
}

#[test]
fn more_parts_are_the_same_program() {
    let p = program(1, 2, 2, 0).block(|_| vec![copy(input(0, 2), output(0, 2))]);
    let Outcome::Finished(fine) = run_in(&p, 4, LIMIT) else { panic!("it finishes") };
    let cells: Vec<u32> =
        fine.output(&p, RankId(0)).iter().map(|v: &Value| v.contributions()[0].cell).collect();
    assert_eq!(cells, (0..8).collect::<Vec<u32>>());
}
