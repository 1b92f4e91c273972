//! What is fused, what it becomes, and what is not, given what the executor does (`docs/plan.md`).

use super::fuse;
use crate::ir::build::{
    acquire, all, group, input, local, memory, on, output, over, pipeline, port, program, scratch,
    signal, sliced, to, wait,
};
use crate::ir::{
    Action, BlockId, Buffer, ChannelId, ChannelKind, Operand, Program, RankId, ReduceOp,
    SyncOverride, Transfer, Verb,
};

fn base(ranks: u32) -> Program {
    program(ranks, 16, 16, 32).mesh(ChannelKind::Memory).semaphores(20)
}

/// The operations that rank 0's block becomes.
fn fused(ops: Vec<Action>) -> Vec<Action> {
    fused_in(base(16), ops)
}

fn fused_in(program: Program, ops: Vec<Action>) -> Vec<Action> {
    let program = fuse(program.block(|r| if r == 0 { ops.clone() } else { vec![] }));
    program.ranks[RankId(0)].blocks[BlockId(0)].ops.iter().map(|op| op.action.clone()).collect()
}

fn kept(ops: Vec<Action>) -> bool {
    fused(ops.clone()) == ops
}

fn reduce(sources: &[Operand], destinations: &[Operand]) -> Action {
    memory_or_local(Verb::Reduce, sources, destinations)
}

fn reduce_packets(sources: &[Operand], destinations: &[Operand]) -> Action {
    memory_or_local(Verb::ReducePackets, sources, destinations)
}

fn memory_or_local(verb: Verb, sources: &[Operand], destinations: &[Operand]) -> Action {
    let remote = |o: &Operand| o.place != crate::ir::Where::Local;
    match sources.iter().chain(destinations).any(remote) {
        true => memory(0, verb, sources, destinations),
        false => local(verb, sources, destinations),
    }
}

fn put(from: Operand, into: Operand) -> Action {
    memory(0, Verb::Put, &[from], &[into])
}

#[test]
fn signals_of_one_kind_and_order_become_one() {
    let c = |p| to(0, p);
    assert_eq!(
        fused(vec![signal([c(1)], true), signal([c(2)], true)]),
        [signal([c(1), c(2)], true)]
    );
    assert_eq!(fused(vec![wait([c(1)], false), wait([c(2)], false)]), [wait([c(1), c(2)], false)]);
    assert!(kept(vec![signal([c(1)], true), signal([c(2)], false)]));
    assert!(kept(vec![signal([c(1)], true), signal([c(1)], true)]));
    assert!(kept(vec![signal([c(1)], true), wait([c(2)], true)]));
    assert!(kept(vec![signal([c(1)], true), Action::Sync, signal([c(2)], true)]));
    let nine = fused((1..10).map(|p| signal([c(p)], false)).collect());
    assert_eq!(nine, [signal((1..9).map(c), false), signal([c(9)], false)]);
}

#[test]
fn semaphores_become_one_operation_up_to_sixteen() {
    let many: Vec<Action> = (0..17).map(|s| acquire(&[s])).collect();
    assert_eq!(fused(many), [acquire(&(0..16).collect::<Vec<_>>()), acquire(&[16])]);
    assert!(kept(vec![acquire(&[1]), acquire(&[1])]));
}

#[test]
fn puts_need_one_size_and_one_source_buffer_and_places_of_their_own() {
    let p = |from, peer, into| put(from, on(peer, into));
    assert_eq!(
        fused(vec![p(input(0, 1), 1, output(0, 1)), p(input(1, 1), 2, output(0, 1))]),
        [memory(
            0,
            Verb::Put,
            &[input(0, 1), input(1, 1)],
            &[on(1, output(0, 1)), on(2, output(0, 1))]
        )]
    );
    assert!(kept(vec![p(input(0, 1), 1, output(0, 1)), p(scratch(1, 1), 2, output(0, 1))]));
    assert!(kept(vec![p(input(0, 1), 1, output(0, 1)), p(input(2, 2), 2, output(0, 2))]));
    assert!(kept(vec![p(input(0, 1), 1, output(0, 1)), p(input(1, 1), 1, output(0, 1))]));
    let eleven = fused((1..12).map(|peer| p(input(0, 1), peer, output(0, 1))).collect());
    let sizes: Vec<usize> = eleven.iter().map(|a| destinations(a).len()).collect();
    assert_eq!(sizes, [10, 1]);
}

#[test]
fn gets_need_equal_offsets() {
    let get = |from, peer, into| memory(0, Verb::Get, &[on(peer, from)], &[into]);
    assert_eq!(
        fused(vec![get(input(3, 1), 1, output(3, 1)), get(input(4, 1), 2, output(4, 1))]).len(),
        1
    );
    assert!(kept(vec![get(input(3, 1), 1, output(4, 1)), get(input(4, 1), 2, output(5, 1))]));
}

#[test]
fn port_puts_need_a_channel_each() {
    let base = || program(3, 4, 4, 4).mesh(ChannelKind::Port);
    let p = |from, peer| port(0, Verb::Put, &[from], &[on(peer, from)]);
    assert_eq!(fused_in(base(), vec![p(input(0, 1), 1), p(input(0, 1), 2)]).len(), 1);
    assert_eq!(fused_in(base(), vec![p(input(0, 1), 1), p(input(1, 1), 1)]).len(), 2);
}

/// A request to each proxy instead of two.
#[test]
fn puts_over_ports_signal_at_once() {
    let base = || program(3, 4, 4, 4).mesh(ChannelKind::Port);
    let p = |verb, peers: &[u32]| {
        let there: Vec<Operand> = peers.iter().map(|peer| on(*peer, input(0, 1))).collect();
        port(0, verb, &vec![input(0, 1); peers.len()], &there)
    };
    let c = |peer| to(0, peer);
    let both = [p(Verb::PutWithSignal, &[1, 2])];
    let (one, other) = (p(Verb::Put, &[1]), p(Verb::Put, &[2]));
    let signals = |peer| signal([c(peer)], false);
    // All puts first, each with its signal, or in another order.
    assert_eq!(fused_in(base(), vec![one.clone(), other.clone(), signals(1), signals(2)]), both);
    assert_eq!(fused_in(base(), vec![one.clone(), signals(1), other.clone(), signals(2)]), both);
    let backwards = signal([c(2), c(1)], false);
    assert_eq!(fused_in(base(), vec![one.clone(), other.clone(), backwards]), both);
    // Another channel, and the same one twice.
    let kept = |ops: Vec<Action>| fused_in(base(), ops.clone()) == ops;
    assert!(kept(vec![one.clone(), signals(2)]));
    assert!(kept(vec![one.clone(), signal([c(1), c(1)], false)]));
    assert!(kept(vec![signals(1), one]));
    let memory_put = vec![put(input(0, 1), on(1, output(0, 1))), signals(1)];
    assert_eq!(fused(memory_put.clone()), memory_put);
}

/// The proxies work at the same time, and the block waits for all of them at once.
#[test]
fn puts_that_are_flushed_go_out_together() {
    let p = |peers: &[u32]| {
        let there: Vec<Operand> = peers.iter().map(|peer| on(*peer, output(0, 1))).collect();
        port(0, Verb::PutWithSignalAndFlush, &vec![input(0, 1); peers.len()], &there)
    };
    let base = || program(3, 4, 4, 4).mesh(ChannelKind::Port);
    assert_eq!(fused_in(base(), vec![p(&[1]), p(&[2])]), [p(&[1, 2])]);
    // Rank 2 may know from its signal that rank 0 needs its input no longer.
    let overwritten = base().block(|r| match r {
        0 => vec![p(&[1]), p(&[2])],
        2 => vec![port(2, Verb::Put, &[input(0, 1)], &[on(0, input(0, 1))])],
        _ => vec![],
    });
    assert_eq!(fuse(overwritten).ranks[RankId(0)].blocks[BlockId(0)].ops.len(), 2);
}

/// Without a meeting, the second put would be pushed by another thread than the signal after it.
#[test]
fn puts_over_ports_stay_with_their_threads() {
    let mut port_program = program(3, 4, 4, 4).mesh(ChannelKind::Port);
    port_program.options.auto_sync = false;
    let p = |peer| port(0, Verb::Put, &[input(0, 1)], &[on(peer, input(0, 1))]);
    let ops = vec![p(1), p(2), signal([to(0, 2)], false)];
    assert_eq!(fused_in(port_program, ops.clone()), ops);
}

#[test]
fn forwarded_packets_of_one_source_go_out_together() {
    let f = |from, peer| memory(0, Verb::ReadPutPackets, &[from], &[on(peer, scratch(9, 1))]);
    let both = memory(
        0,
        Verb::ReadPutPackets,
        &[scratch(0, 1)],
        &[on(1, scratch(9, 1)), on(2, scratch(9, 1))],
    );
    assert_eq!(fused(vec![f(scratch(0, 1), 1), f(scratch(0, 1), 2)]), [both]);
    assert!(kept(vec![f(scratch(0, 1), 1), f(scratch(1, 1), 2)]));
}

#[test]
fn sums_into_one_place_become_one() {
    let (o, i) = (output(0, 1), input(0, 1));
    let s = |n| scratch(n, 1);
    assert_eq!(
        fused(vec![reduce(&[i, s(0)], &[o]), reduce(&[o, s(1)], &[o])]),
        [reduce(&[i, s(0), s(1)], &[o])]
    );
    let remote = |p: u32| on(p, i);
    assert_eq!(
        fused(vec![reduce(&[i, remote(1)], &[i]), reduce(&[i, remote(2)], &[i])]),
        [reduce(&[i, remote(1), remote(2)], &[i])]
    );
    let packets = vec![reduce_packets(&[i, s(0)], &[o]), reduce_packets(&[o, s(1), s(2)], &[o])];
    assert_eq!(fused(packets), [reduce_packets(&[i, s(0), s(1), s(2)], &[o])]);
}

#[test]
fn sums_that_are_not_one_sum_stay_apart() {
    let (o, i) = (output(0, 1), input(0, 1));
    let s = |n| scratch(n, 1);
    // The second does not add to the first's result.
    assert!(kept(vec![reduce(&[i, s(0)], &[o]), reduce(&[i, s(1)], &[o])]));
    // It does, but puts the sum elsewhere.
    assert!(kept(vec![reduce(&[i, s(0)], &[o]), reduce(&[o, s(1)], &[output(1, 1)])]));
    // It reads the result a second time, which would happen before the result is there.
    assert!(kept(vec![reduce(&[i, s(0)], &[o]), reduce(&[o, o], &[o])]));
    // One adds local operands, the other a peer's.
    assert!(kept(vec![reduce(&[i, s(0)], &[o]), reduce(&[o, on(1, i)], &[o])]));
    let mut max = reduce(&[o, s(1)], &[o]);
    if let Action::Transfer(transfer) = &mut max {
        transfer.reduce = ReduceOp::Max;
    }
    assert!(kept(vec![reduce(&[i, s(0)], &[o]), max]));
}

#[test]
fn a_result_is_put_as_it_is_made() {
    let (o, i, s) = (output(0, 1), input(0, 1), scratch(0, 1));
    let sent = |o| on(1, o);
    assert_eq!(
        fused(vec![reduce(&[i, s], &[o]), put(o, sent(o))]),
        [reduce(&[i, s], &[o, sent(o)])]
    );
    assert_eq!(
        fused(vec![reduce(&[i, on(1, i)], &[i]), put(i, on(1, i)), put(i, on(2, i))]),
        [reduce(&[i, on(1, i)], &[i, on(1, i), on(2, i)])]
    );
    // Only a part of the result, or something else.
    assert!(kept(vec![reduce(&[input(0, 2), scratch(0, 2)], &[output(0, 2)]), put(o, sent(o))]));
    assert!(kept(vec![reduce(&[i, s], &[o]), put(output(1, 1), sent(o))]));
    // Cells of the peer would be overwritten before another thread has read them.
    let pair = vec![
        reduce(&[input(0, 2), on(1, input(0, 2))], &[input(0, 2)]),
        put(input(0, 2), on(1, input(1, 2))),
    ];
    assert!(kept(pair));
}

#[test]
fn the_channels_follow_the_operands() {
    let (o, i) = (output(0, 1), input(0, 1));
    let ops = fused(vec![reduce(&[i, on(2, i)], &[o]), put(o, on(1, o)), put(o, on(2, o))]);
    let Action::Transfer(Transfer { channels, .. }) = &ops[0] else { panic!("a reduction") };
    assert_eq!(channels.as_slice(), [to(0, 2), to(0, 1), to(0, 2)]);
}

#[test]
fn packets_of_a_result_are_kept_and_sent() {
    let (o, i, s) = (output(0, 1), input(0, 1), scratch(0, 1));
    let sum = || reduce_packets(&[i, s], &[o]);
    let keep = local(Verb::CopyPackets, &[o], &[scratch(5, 1)]);
    let send = memory(0, Verb::PutPackets, &[o], &[on(1, scratch(6, 1))]);
    let forward = memory(0, Verb::ReadPutPackets, &[scratch(5, 1)], &[on(1, scratch(6, 1))]);
    let all = reduce_packets(&[i, s], &[o, scratch(5, 1), on(1, scratch(6, 1))]);
    assert_eq!(fused(vec![sum(), keep.clone()]), [reduce_packets(&[i, s], &[o, scratch(5, 1)])]);
    assert_eq!(
        fused(vec![sum(), send.clone()]),
        [reduce_packets(&[i, s], &[o, on(1, scratch(6, 1))])]
    );
    assert_eq!(fused(vec![sum(), keep.clone(), send]), std::slice::from_ref(&all));
    assert_eq!(fused(vec![sum(), keep, forward]), [all]);
}

#[test]
fn a_load_reduce_is_stored_where_it_came_from() {
    let nvls = ChannelId(1);
    let base = || program(2, 4, 4, 4).mesh(ChannelKind::Memory).switch(Buffer::Input, 4);
    let load = |into| {
        over(Verb::Reduce, Some(ChannelKind::Switch), &[group(nvls, input(0, 1))], &[into], &[nvls])
    };
    let store = |from, at| {
        over(Verb::Broadcast, Some(ChannelKind::Switch), &[from], &[group(nvls, at)], &[nvls])
    };
    let cells = [group(nvls, input(0, 1))];
    let whole = over(Verb::Reduce, Some(ChannelKind::Switch), &cells, &cells, &[nvls, nvls]);
    let both = |cell, at| fused_in(base(), vec![load(cell), store(cell, at)]);
    assert_eq!(both(input(0, 1), input(0, 1)), std::slice::from_ref(&whole));
    // The executor would not write this output.
    assert_eq!(both(output(0, 1), input(0, 1)).len(), 2);
    assert_eq!(both(input(1, 1), input(1, 1)).len(), 2);
    // Scratch that nobody else reads need not be written; scratch that somebody reads must.
    assert_eq!(both(scratch(0, 1), input(0, 1)), [whole]);
    let read = local(Verb::Copy, &[scratch(0, 2)], &[output(0, 2)]);
    let ops = vec![load(scratch(1, 1)), store(scratch(1, 1), input(0, 1)), read];
    assert_eq!(fused_in(base(), ops).len(), 3);
}

#[test]
fn slices_pipelines_and_authors_keep_operations_apart() {
    let (a, b) = (put(input(0, 1), on(1, output(0, 1))), put(input(1, 1), on(2, output(0, 1))));
    assert!(kept(vec![sliced(a.clone(), 0, 2), sliced(b.clone(), 1, 2)]));
    assert_eq!(fused(vec![sliced(a.clone(), 0, 2), sliced(b.clone(), 0, 2)]).len(), 1);
    assert!(kept(vec![a.clone(), pipeline(1024, 1, vec![b.clone()])]));
    assert!(
        fused(vec![pipeline(1024, 1, vec![a.clone(), b.clone()])])
            != [pipeline(1024, 1, vec![a.clone(), b])]
    );
    let mut program = base(3).block(|_| vec![acquire(&[0]), acquire(&[1])]);
    for rank in program.ranks.iter_mut() {
        rank.blocks[BlockId(0)].ops[1].sync = Some(SyncOverride::Before);
    }
    assert_eq!(fuse(program).words(0, 0), "acquire:1 acquire:1");
}

#[test]
fn fusion_can_be_turned_off() {
    let mut program = base(3)
        .block(|r| vec![wait(all(r, 3), false), wait([], false), acquire(&[0]), acquire(&[1])]);
    program.options.fuse = false;
    assert_eq!(fuse(program).words(0, 0), "wait:2 wait:0 acquire:1 acquire:1");
}

fn destinations(action: &Action) -> &[Operand] {
    let Action::Transfer(transfer) = action else { panic!("not a transfer: {action:?}") };
    &transfer.destinations
}
