//! The law that all passes obey: what a program leaves in memory stays the same, and so does
//! what the collective promises.

use super::{Stage, for_kernels, optimize};
use crate::interpreter::{self, Outcome, Value};
use crate::ir::build::{
    acquire, all, group, input, local, memory, on, op, output, over, pipeline, port, program,
    release, scratch, signal, sliced, to, wait,
};
use crate::ir::grain::count_parts;
use crate::ir::{
    Action, BarrierId, BlockId, Buffer, ChannelId, ChannelKind, Program, RankId, SyncOverride, Verb,
};

const LIMIT: u64 = 10_000_000;

fn outputs(program: &Program, parts: u32) -> Vec<Vec<Value>> {
    let outcome = interpreter::run_in(program, parts, LIMIT);
    let Outcome::Finished(memory) = outcome else { panic!("{outcome:?}") };
    assert_eq!(interpreter::broken_promises(program, &memory), None);
    program.ranks.ids().map(|rank| memory.output(program, rank)).collect()
}

/// Runs the program before and after every pass, with one and with three instances.
fn law(program: &Program) {
    assert!(
        program.ranks.iter().any(|rank| !rank.promises.is_empty()),
        "a program that promises nothing proves little"
    );
    for instances in [1, 3] {
        let mut program = program.clone();
        program.options.instances = instances;
        super::replicate::replicable(&program).unwrap();
        let parts = count_parts(&program);
        for stage in [Stage::Fuse, Stage::Split, Stage::Sync] {
            assert_eq!(
                outputs(&program, parts),
                outputs(&optimize(program.clone(), stage), parts),
                "{stage:?}"
            );
        }
        // The chunks of the copies are parts of the old ones, in order.
        let copies = optimize(program.clone(), Stage::Replicate);
        assert_eq!(outputs(&program, parts * instances), outputs(&copies, parts), "copies");
    }
}

fn everybody(ranks: u32, chunk: u32) -> Vec<(u32, u32)> {
    (0..ranks).map(|rank| (rank, chunk)).collect()
}

fn peers(r: u32, ranks: u32) -> impl Iterator<Item = u32> + Clone {
    (0..ranks).filter(move |p| *p != r)
}

fn handshake(r: u32, ranks: u32, relaxed: bool) -> Vec<Action> {
    vec![signal(all(r, ranks), relaxed), wait(all(r, ranks), relaxed)]
}

fn gathers(ranks: u32) -> Program {
    program(ranks, 1, ranks, 2 * ranks)
        .in_place(Buffer::Input, Buffer::Output, |r| r)
        .promise(|_, chunk| vec![(chunk, 0)])
}

#[test]
fn allgather_all_pairs() {
    for ranks in [2, 3, 12] {
        law(&gathers(ranks).mesh(ChannelKind::Memory).block(|r| {
            let mut ops = handshake(r, ranks, true);
            ops.extend(
                peers(r, ranks)
                    .map(|p| memory(r, Verb::Put, &[output(r, 1)], &[on(p, output(r, 1))])),
            );
            ops.extend(handshake(r, ranks, false));
            ops
        }));
    }
}

#[test]
fn allgather_over_ports_in_one_list() {
    law(&gathers(11).mesh(ChannelKind::Port).block(|r| {
        let put: Vec<_> = peers(r, 11).map(|p| on(p, output(r, 1))).collect();
        vec![port(r, Verb::PutWithSignalAndFlush, &[output(r, 1)], &put), wait(all(r, 11), false)]
    }));
}

#[test]
fn allgather_ring() {
    let ranks = 5;
    let (next, previous) = (move |r| (r + 1) % ranks, move |r| (r + ranks - 1) % ranks);
    law(&gathers(ranks).mesh(ChannelKind::Memory).block(|r| {
        let mut ops = vec![signal([to(r, previous(r))], true), wait([to(r, next(r))], true)];
        for step in 0..ranks - 1 {
            let chunk = output((r + ranks - step) % ranks, 1);
            ops.push(memory(r, Verb::Put, &[chunk], &[on(next(r), chunk)]));
            ops.extend([signal([to(r, next(r))], false), wait([to(r, previous(r))], false)]);
        }
        ops
    }));
}

#[test]
fn allgather_with_forwarded_packets() {
    let ranks = 3;
    law(&gathers(ranks).mesh(ChannelKind::Memory).block(|r| {
        let mut ops = vec![local(Verb::CopyPackets, &[output(r, 1)], &[scratch(ranks, 1)])];
        let send =
            |p| memory(r, Verb::ReadPutPackets, &[scratch(ranks, 1)], &[on(p, scratch(r, 1))]);
        ops.extend(peers(r, ranks).map(send));
        ops.extend(
            peers(r, ranks).map(|p| local(Verb::UnpackPackets, &[scratch(p, 1)], &[output(p, 1)])),
        );
        ops
    }));
}

#[test]
fn allreduce_with_packets() {
    let ranks = 4;
    let reduces = program(ranks, ranks, ranks, 3 * ranks).promise(|_, c| everybody(ranks, c));
    law(&reduces.in_place(Buffer::Output, Buffer::Input, |_| 0).mesh(ChannelKind::Memory).block(
        |r| {
            let mut ops = Vec::new();
            ops.extend(
                peers(r, ranks)
                    .map(|p| memory(r, Verb::PutPackets, &[input(p, 1)], &[on(p, scratch(r, 1))])),
            );
            ops.extend(peers(r, ranks).map(|p| {
                local(Verb::ReducePackets, &[input(r, 1), scratch(p, 1)], &[input(r, 1)])
            }));
            ops.push(local(Verb::CopyPackets, &[input(r, 1)], &[scratch(2 * ranks, 1)]));
            let send =
                |p| memory(r, Verb::PutPackets, &[input(r, 1)], &[on(p, scratch(ranks + r, 1))]);
            ops.extend(peers(r, ranks).map(send));
            ops.extend(
                peers(r, ranks)
                    .map(|p| local(Verb::UnpackPackets, &[scratch(ranks + p, 1)], &[input(p, 1)])),
            );
            ops
        },
    ));
}

#[test]
fn allreduce_reads_and_sends() {
    for ranks in [2, 4, 14] {
        let reduces = program(ranks, ranks, ranks, 0).promise(|_, c| everybody(ranks, c));
        law(&reduces
            .in_place(Buffer::Output, Buffer::Input, |_| 0)
            .mesh(ChannelKind::Memory)
            .block(|r| {
                let mine = input(r, 1);
                let mut ops = handshake(r, ranks, true);
                ops.extend(
                    peers(r, ranks).map(|p| memory(r, Verb::Reduce, &[mine, on(p, mine)], &[mine])),
                );
                ops.extend(peers(r, ranks).map(|p| memory(r, Verb::Put, &[mine], &[on(p, mine)])));
                ops.extend(handshake(r, ranks, false));
                ops
            }));
    }
}

#[test]
fn allreduce_in_one_statement() {
    let ranks = 13;
    let reduces = program(ranks, ranks, ranks, 0).promise(|_, c| everybody(ranks, c));
    law(&reduces.in_place(Buffer::Output, Buffer::Input, |_| 0).mesh(ChannelKind::Memory).block(
        |r| {
            let mine = input(r, 1);
            let others: Vec<_> = peers(r, ranks).map(|p| on(p, mine)).collect();
            let both = |first, rest: &[_]| {
                std::iter::once(first).chain(rest.iter().copied()).collect::<Vec<_>>()
            };
            let mut ops = handshake(r, ranks, true);
            ops.push(memory(r, Verb::Reduce, &both(mine, &others), &both(mine, &others)));
            ops.extend(handshake(r, ranks, false));
            ops
        },
    ));
}

#[test]
fn allreduce_over_a_switch() {
    let ranks = 3;
    let nvls = ChannelId(ranks - 1);
    let reduces = program(ranks, ranks, ranks, 0).promise(|_, c| everybody(ranks, c));
    let reduces = reduces.in_place(Buffer::Output, Buffer::Input, |_| 0).mesh(ChannelKind::Memory);
    law(&reduces.switch(Buffer::Input, ranks).block(|r| {
        let (mine, cell) = (input(r, 1), group(nvls, input(r, 1)));
        let mut ops = handshake(r, ranks, true);
        ops.push(over(Verb::Reduce, Some(ChannelKind::Switch), &[cell], &[mine], &[nvls]));
        ops.push(over(Verb::Broadcast, Some(ChannelKind::Switch), &[mine], &[cell], &[nvls]));
        ops.extend(handshake(r, ranks, false));
        ops
    }));
}

#[test]
fn groups_with_a_barrier() {
    let blocks = 3;
    let mut p = program(1, 4, 4, 4).promise(|_, chunk| vec![(0, chunk)]);
    for i in 0..blocks {
        p = p.block(|_| {
            vec![
                sliced(
                    local(Verb::Copy, &[input(0, 2), input(2, 2)], &[scratch(0, 2), scratch(2, 2)]),
                    i,
                    blocks,
                ),
                sliced(local(Verb::Copy, &[scratch(0, 2)], &[output(0, 2)]), i, blocks),
                sliced(local(Verb::Copy, &[scratch(2, 2)], &[output(2, 2)]), i, blocks),
            ]
        });
    }
    let rank = &mut p.ranks[RankId(0)];
    rank.barriers.push((0..blocks).map(BlockId).collect());
    for block in rank.blocks.iter_mut() {
        block.ops.insert(1, op(Action::Barrier { id: BarrierId(0), arrivals: blocks }));
    }
    law(&p);
}

#[test]
fn a_pipeline_between_two_ranks() {
    let p = program(2, 2, 2, 2)
        .mesh(ChannelKind::Memory)
        .semaphores(2)
        .promise(|r, chunk| vec![(1 - r, chunk)]);
    law(&p
        .block(|r| {
            let other = 1 - r;
            let body = vec![
                memory(r, Verb::Put, &[input(0, 2)], &[on(other, scratch(0, 2))]),
                signal([to(r, other)], false),
                release(&[0]),
            ];
            let mut ops = handshake(r, 2, true);
            ops.push(pipeline(512, 2, body));
            ops
        })
        .block(|r| {
            let drain = local(Verb::Copy, &[scratch(0, 2)], &[output(0, 2)]);
            vec![pipeline(512, 2, vec![acquire(&[0]), wait([to(r, 1 - r)], false), drain])]
        }));
}

#[test]
fn unequal_pieces() {
    law(&program(2, 4, 4, 4)
        .mesh(ChannelKind::Memory)
        .promise(|r, chunk| vec![(1 - r, chunk)])
        .block(|r| {
            let mut ops = vec![memory(r, Verb::Put, &[input(0, 4)], &[on(1 - r, scratch(0, 4))])];
            ops.extend([signal([to(r, 1 - r)], false), wait([to(r, 1 - r)], false)]);
            ops.push(local(
                Verb::Copy,
                &[scratch(0, 1), scratch(1, 1)],
                &[output(0, 1), output(1, 1)],
            ));
            ops.push(local(Verb::Copy, &[scratch(2, 2)], &[output(2, 2)]));
            ops
        }));
}

#[test]
fn stages_follow_one_another() {
    let p = gathers(10).mesh(ChannelKind::Memory).block(|r| {
        let mut ops = handshake(r, 10, true);
        ops.extend(
            peers(r, 10).map(|p| memory(r, Verb::Put, &[output(r, 1)], &[on(p, output(r, 1))])),
        );
        ops.extend(handshake(r, 10, false));
        ops
    });
    let words = |stage| optimize(p.clone(), stage).words(0, 0);
    assert_eq!(words(Stage::Fuse), "signal:9 wait:9 Put:9>9 signal:9 wait:9");
    assert_eq!(
        words(Stage::Split),
        "signal:8 signal:1 wait:8 wait:1 Put:9>9 signal:8 signal:1 wait:8 wait:1"
    );
    let synced =
        "signal:8 signal:1 wait:8 wait:1 sync Put:9>9 sync signal:8 signal:1 wait:8 wait:1";
    assert_eq!(words(Stage::Sync), synced);
    assert_eq!(words(Stage::Replicate), synced);
}

/// All threads do what one thread asks of a proxy where there is none, even if an
/// operation next to it keeps them from meeting.
#[test]
fn kernels_without_a_proxy_meet_where_one_thread_was_enough() {
    let base = program(2, 1, 1, 1).mesh(ChannelKind::Memory).mesh(ChannelKind::Port);
    let mut program = base.block(|r| {
        let (near, far) = ([to(r, 1 - r)], [ChannelId(1)]);
        let (from, into) = ([input(0, 1)], [on(1 - r, output(0, 1))]);
        let put = over(Verb::PutWithSignal, Some(ChannelKind::Port), &from, &into, &far);
        vec![signal(near, true), wait(near, true), put, wait(far, false)]
    });
    for rank in program.ranks.iter_mut() {
        rank.blocks[BlockId(0)].ops[1].sync = Some(SyncOverride::Before);
    }
    let words = for_kernels(program).words(0, 0);
    assert!(words.contains("wait:1 sync Put"), "{words}");
}
