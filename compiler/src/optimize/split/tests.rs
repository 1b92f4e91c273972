//! What is cut, and into what, given the executor's limits on one operation (`docs/plan.md`).

use super::{split, undo::undo};
use crate::ir::build::{
    acquire, input, local, memory, on, op, output, port, program, release, scratch, signal, to,
};
use crate::ir::{
    Action, BlockId, Buffer, ChannelId, ChannelKind, Op, Operand, Program, RankId, SyncOverride,
    Verb,
};

fn base() -> Program {
    program(24, 64, 64, 64).mesh(ChannelKind::Memory).semaphores(40)
}

fn cut(ops: Vec<Action>) -> Vec<Action> {
    cut_in(base(), ops)
}

fn cut_in(program: Program, ops: Vec<Action>) -> Vec<Action> {
    let program = split(program.block(|r| if r == 0 { ops.clone() } else { vec![] }));
    program.ranks[RankId(0)].blocks[BlockId(0)].ops.iter().map(|op| op.action.clone()).collect()
}

fn kept(action: Action) -> bool {
    cut(vec![action.clone()]) == [action]
}

fn peers(count: u32, operand: Operand) -> Vec<Operand> {
    (1..=count).map(|p| on(p, operand)).collect()
}

fn channels(from: u32, until: u32) -> Vec<ChannelId> {
    (from..until).map(|p| to(0, p)).collect()
}

#[test]
fn signals_have_eight_channels_and_semaphores_come_in_sixteens() {
    assert!(kept(signal(channels(1, 9), true)));
    let parts = [
        signal(channels(1, 9), true),
        signal(channels(9, 17), true),
        signal(channels(17, 18), true),
    ];
    assert_eq!(cut(vec![signal(channels(1, 18), true)]), parts);
    let all: Vec<u32> = (0..33).collect();
    assert_eq!(
        cut(vec![release(&all)]),
        [release(&all[..16]), release(&all[16..32]), release(&all[32..])]
    );
    assert_eq!(cut(vec![acquire(&[1, 1])]), [acquire(&[1]), acquire(&[1])]);
    assert_eq!(cut(vec![signal([], false)]), []);
}

#[test]
fn an_authors_join_stays_at_the_ends() {
    let with = |sync| {
        let mut program = base().block(|_| vec![signal(channels(1, 18), true)]);
        program.ranks[RankId(0)].blocks[BlockId(0)].ops[0].sync = Some(sync);
        let program = split(program);
        let ops: Vec<_> = program.ranks[RankId(0)].blocks[BlockId(0)]
            .ops
            .iter()
            .map(|op: &Op| op.sync.unwrap())
            .collect();
        ops
    };
    use SyncOverride::{After, Before, Both, None};
    assert_eq!(with(Both), [Before, None, After]);
    assert_eq!(with(Before), [Before, None, None]);
    assert_eq!(with(After), [None, None, After]);
}

#[test]
fn the_executor_copies_one_thing_at_a_time() {
    let (from, into) = ([input(0, 1), input(1, 1)], [output(0, 1), output(1, 1)]);
    for verb in [Verb::Copy, Verb::CopyPackets, Verb::UnpackPackets] {
        let singles = [local(verb, &from[..1], &into[..1]), local(verb, &from[1..], &into[1..])];
        assert_eq!(cut(vec![local(verb, &from, &into)]), singles);
        let spread = [local(verb, &from[..1], &into[..1]), local(verb, &from[..1], &into[1..])];
        assert_eq!(cut(vec![local(verb, &from[..1], &into)]), spread);
    }
}

#[test]
fn puts_have_ten_pairs_of_one_source_buffer() {
    assert!(kept(memory(0, Verb::Put, &[input(0, 1)], &peers(10, output(0, 1)))));
    let parts = cut(vec![memory(0, Verb::Put, &[input(0, 1)], &peers(12, output(0, 1)))]);
    let ten = vec![input(0, 1); 10];
    assert_eq!(
        parts,
        [
            memory(0, Verb::Put, &ten, &peers(10, output(0, 1))),
            memory(
                0,
                Verb::Put,
                &[input(0, 1), input(0, 1)],
                &[on(11, output(0, 1)), on(12, output(0, 1))]
            ),
        ]
    );
    let mixed = memory(
        0,
        Verb::Put,
        &[input(0, 1), scratch(0, 1)],
        &[on(1, output(0, 1)), on(2, output(0, 1))],
    );
    assert_eq!(
        cut(vec![mixed]),
        [
            memory(0, Verb::Put, &[input(0, 1)], &[on(1, output(0, 1))]),
            memory(0, Verb::Put, &[scratch(0, 1)], &[on(2, output(0, 1))]),
        ]
    );
}

#[test]
fn port_puts_have_eight_pairs_with_a_channel_each() {
    let base = || program(24, 4, 4, 4).mesh(ChannelKind::Port);
    let put = port(0, Verb::PutWithSignal, &[input(0, 1)], &peers(9, output(0, 1)));
    let sizes: Vec<usize> = cut_in(base(), vec![put]).iter().map(|a| operands(a).1).collect();
    assert_eq!(sizes, [8, 1]);
    let twice = port(
        0,
        Verb::Put,
        &[input(0, 1), input(1, 1)],
        &[on(1, output(0, 1)), on(1, output(1, 1))],
    );
    assert_eq!(cut_in(base(), vec![twice]).len(), 2);
}

#[test]
fn forwarding_reads_one_source() {
    let one = memory(0, Verb::ReadPutPackets, &[scratch(0, 1)], &peers(3, scratch(1, 1)));
    assert!(kept(one));
    let two =
        memory(0, Verb::ReadPutPackets, &[scratch(0, 1), scratch(1, 1)], &peers(2, scratch(2, 1)));
    assert_eq!(
        cut(vec![two]),
        [
            memory(0, Verb::ReadPutPackets, &[scratch(0, 1)], &[on(1, scratch(2, 1))]),
            memory(0, Verb::ReadPutPackets, &[scratch(1, 1)], &[on(2, scratch(2, 1))]),
        ]
    );
}

#[test]
fn a_long_sum_is_added_up_in_steps() {
    let sources: Vec<Operand> = (0..12).map(|i| input(i, 1)).collect();
    let d = output(0, 1);
    let steps = [
        local(Verb::Reduce, &sources[..10], &[d]),
        local(Verb::Reduce, &[d, input(10, 1), input(11, 1)], &[d]),
    ];
    assert_eq!(cut(vec![local(Verb::Reduce, &sources, &[d])]), steps);
}

#[test]
fn what_lies_where_the_result_does_is_read_first() {
    let mut sources: Vec<Operand> = (0..12).map(|i| scratch(i, 1)).collect();
    sources[11] = output(0, 1);
    let d = output(0, 1);
    let mut first = vec![d];
    first.extend((0..9).map(|i| scratch(i, 1)));
    let steps = [
        local(Verb::Reduce, &first, &[d]),
        local(Verb::Reduce, &[d, scratch(9, 1), scratch(10, 1)], &[d]),
    ];
    assert_eq!(cut(vec![local(Verb::Reduce, &sources, &[d])]), steps);
}

#[test]
fn the_result_goes_out_with_the_last_step() {
    let sources: Vec<Operand> = (0..12).map(|i| input(i, 1)).collect();
    let (d, p) = (output(0, 1), on(1, output(0, 1)));
    let parts = cut(vec![memory(0, Verb::Reduce, &sources, &[d, p])]);
    assert_eq!(parts[0], local(Verb::Reduce, &sources[..10], &[d]));
    assert_eq!(parts[1], memory(0, Verb::Reduce, &[d, input(10, 1), input(11, 1)], &[d, p]));
}

#[test]
fn local_and_remote_addends_are_steps_of_their_own() {
    let (d, a, b) = (output(0, 1), input(0, 1), input(1, 1));
    let r = on(1, input(0, 1));
    let parts = [local(Verb::Reduce, &[a, b], &[d]), memory(0, Verb::Reduce, &[d, r], &[d])];
    assert_eq!(cut(vec![memory(0, Verb::Reduce, &[r, a, b], &[d])]), parts);
    let read = [memory(0, Verb::Get, &[r], &[d]), memory(0, Verb::Reduce, &[d, on(2, a)], &[d])];
    assert_eq!(cut(vec![memory(0, Verb::Reduce, &[r, on(2, a)], &[d])]), read);
    assert!(kept(memory(0, Verb::Reduce, &[a, r, on(2, a)], &[d, on(3, d)])));
}

#[test]
fn a_sum_of_one_is_a_copy_and_onto_itself_nothing() {
    let (i, o) = (input(0, 1), output(0, 1));
    assert_eq!(cut(vec![local(Verb::Reduce, &[i], &[o])]), [local(Verb::Copy, &[i], &[o])]);
    assert_eq!(cut(vec![local(Verb::Reduce, &[i], &[i])]), []);
    let shared = base().in_place(Buffer::Input, Buffer::Output, |_| 0);
    assert_eq!(cut_in(shared, vec![local(Verb::Reduce, &[i], &[o])]), []);
    let sent = vec![local(Verb::Copy, &[i], &[o]), memory(0, Verb::Put, &[o], &[on(1, o)])];
    assert_eq!(cut(vec![memory(0, Verb::Reduce, &[i], &[o, on(1, o)])]), sent);
}

#[test]
fn further_results_are_copies() {
    let (a, b) = (input(0, 1), input(1, 1));
    let (d, e) = (output(0, 1), output(1, 1));
    let copied = [local(Verb::Reduce, &[a, b], &[d]), local(Verb::Copy, &[d], &[e])];
    assert_eq!(cut(vec![local(Verb::Reduce, &[a, b], &[d, e])]), copied);
    let mut many = vec![d];
    many.extend(peers(11, d));
    let parts = cut(vec![memory(0, Verb::Reduce, &[a, b], &many)]);
    assert_eq!(
        parts,
        [memory(0, Verb::Reduce, &[a, b], &many[..10]), memory(0, Verb::Put, &[d, d], &many[10..]),]
    );
}

#[test]
fn packets_of_a_sum_stand_before_those_for_peers() {
    let (a, s, d) = (input(0, 1), scratch(0, 1), output(0, 1));
    let (keep, more, sent) = (scratch(1, 1), scratch(2, 1), on(1, scratch(3, 1)));
    assert!(kept(memory(0, Verb::ReducePackets, &[a, s], &[d, keep, sent])));
    let parts = [
        memory(0, Verb::ReducePackets, &[a, s], &[d, keep, sent]),
        local(Verb::CopyPackets, &[d], &[more]),
    ];
    assert_eq!(cut(vec![memory(0, Verb::ReducePackets, &[a, s], &[d, sent, keep, more])]), parts);
    let packets: Vec<Operand> = std::iter::once(a).chain((0..11).map(|i| scratch(i, 1))).collect();
    let steps = [
        local(Verb::ReducePackets, &packets[..10], &[d]),
        local(Verb::ReducePackets, &[d, scratch(9, 1), scratch(10, 1)], &[d]),
    ];
    assert_eq!(cut(vec![local(Verb::ReducePackets, &packets, &[d])]), steps);
}

#[test]
fn pipelines_are_cut_inside() {
    let body = vec![signal(channels(1, 10), true)];
    let Action::Pipeline(pipeline) = &cut(vec![crate::ir::build::pipeline(64, 1, body)])[0] else {
        panic!()
    };
    assert_eq!(
        pipeline.body,
        [op(signal(channels(1, 9), true)), op(signal(channels(9, 10), true))]
    );
}

#[test]
fn what_is_cut_in_a_pipeline_is_put_together_again() {
    let body = vec![signal(channels(1, 10), true)];
    let original = base().block(|_| vec![crate::ir::build::pipeline(64, 1, body.clone())]);
    let whole = undo(&split(original.clone())).unwrap();
    assert!(whole.blocks().zip(original.blocks()).all(|(one, other)| one.ops == other.ops));
}

fn operands(action: &Action) -> (usize, usize) {
    let Action::Transfer(transfer) = action else { panic!("not a transfer: {action:?}") };
    (transfer.sources.len(), transfer.destinations.len())
}

#[test]
fn no_list_is_longer_than_the_block_has_threads() {
    let mut few = base();
    few.options.threads = 2;
    let ops = vec![
        signal(channels(1, 4), true),
        release(&[0, 1, 2]),
        port(0, Verb::Put, &[input(0, 1)], &peers(3, output(0, 1))),
        memory(0, Verb::Put, &[input(0, 1)], &peers(3, output(0, 1))),
    ];
    let parts = [
        signal(channels(1, 3), true),
        signal(channels(3, 4), true),
        release(&[0, 1]),
        release(&[2]),
        port(0, Verb::Put, &[input(0, 1), input(0, 1)], &peers(2, output(0, 1))),
        port(0, Verb::Put, &[input(0, 1)], &[on(3, output(0, 1))]),
        // Over memory channels, all threads move each part.
        memory(0, Verb::Put, &[input(0, 1)], &peers(3, output(0, 1))),
    ];
    assert_eq!(cut_in(few, ops), parts);
}
