//! Where joins are needed, and that there are no others.

use crate::ir::build::{
    acquire, all, input, local, memory, on, op, output, pipeline, port, program, release, scratch,
    signal, sliced, to, wait,
};
use crate::ir::{Action, Buffer, ChannelKind, Program, SyncOverride, Verb};

fn synced(program: Program) -> String {
    super::sync(program).words(0, 0)
}

fn local_block(ops: Vec<Action>) -> String {
    synced(program(1, 8, 8, 8).semaphores(4).block(|_| ops.clone()))
}

fn copy(from: crate::ir::Operand, into: crate::ir::Operand) -> Action {
    local(Verb::Copy, &[from], &[into])
}

#[test]
fn a_wait_is_for_all_threads_and_a_signal_of_all_threads() {
    let p = program(3, 1, 3, 0).mesh(ChannelKind::Memory).block(|r| {
        let peers = || (0..3).filter(move |p| *p != r);
        let puts: Vec<_> = peers().map(|p| on(p, output(r, 1))).collect();
        vec![
            signal(all(r, 3), true),
            wait(all(r, 3), true),
            memory(r, Verb::Put, &[output(r, 1)], &puts),
            signal(all(r, 3), false),
            wait(all(r, 3), false),
        ]
    });
    assert_eq!(synced(p), "signal:2 wait:2 sync Put:1>2 sync signal:2 wait:2");
}

#[test]
fn one_thread_may_pass_on_what_it_heard_but_not_what_another_did() {
    assert_eq!(local_block(vec![acquire(&[0]), release(&[1])]), "acquire:1 release:1");
    assert_eq!(local_block(vec![acquire(&[0]), release(&[1, 2])]), "acquire:1 sync release:2");
    assert_eq!(local_block(vec![acquire(&[0, 1]), release(&[2])]), "acquire:2 sync release:1");
    assert_eq!(local_block(vec![release(&[1, 2]), acquire(&[0])]), "release:2 acquire:1");
}

#[test]
fn a_counter_has_one_thread_at_a_time() {
    assert_eq!(local_block(vec![acquire(&[0, 1]), acquire(&[0, 1])]), "acquire:2 acquire:2");
    assert_eq!(local_block(vec![acquire(&[0, 1]), acquire(&[1, 0])]), "acquire:2 sync acquire:2");
}

#[test]
fn element_for_element_is_one_threads_work() {
    let chain = vec![copy(input(0, 1), scratch(0, 1)), copy(scratch(0, 1), output(0, 1))];
    assert_eq!(local_block(chain), "Copy:1>1 Copy:1>1");
    let part = vec![copy(input(0, 2), scratch(0, 2)), copy(scratch(0, 1), output(0, 1))];
    assert_eq!(local_block(part), "Copy:1>1 Copy:1>1");
    let shifted = vec![copy(input(0, 2), scratch(0, 2)), copy(scratch(1, 1), output(0, 1))];
    assert_eq!(local_block(shifted), "Copy:1>1 sync Copy:1>1");
    let apart = vec![copy(input(0, 1), scratch(0, 1)), copy(scratch(1, 1), output(0, 1))];
    assert_eq!(local_block(apart), "Copy:1>1 Copy:1>1");
    let read_twice = vec![copy(input(0, 2), scratch(0, 2)), copy(input(1, 1), output(0, 1))];
    assert_eq!(local_block(read_twice), "Copy:1>1 Copy:1>1");
    let overwritten = vec![copy(scratch(0, 2), output(0, 2)), copy(input(0, 1), scratch(1, 1))];
    assert_eq!(local_block(overwritten), "Copy:1>1 sync Copy:1>1");
}

#[test]
fn packets_have_elements_of_their_own_and_wait_for_themselves() {
    let unpack = |from, into| local(Verb::UnpackPackets, &[from], &[into]);
    let pack = |from, into| local(Verb::CopyPackets, &[from], &[into]);
    assert_eq!(
        local_block(vec![pack(input(0, 2), scratch(0, 2)), unpack(scratch(1, 1), output(0, 1))]),
        "CopyPackets:1>1 UnpackPackets:1>1"
    );
    let widths = vec![copy(input(0, 1), output(0, 1)), pack(output(0, 1), scratch(0, 1))];
    assert_eq!(local_block(widths), "Copy:1>1 sync CopyPackets:1>1");
    // As packets, scratch chunk 1 begins where plain chunk 2 does.
    let doubled = vec![copy(input(0, 1), scratch(2, 1)), pack(input(0, 1), scratch(1, 1))];
    assert_eq!(local_block(doubled), "Copy:1>1 sync CopyPackets:1>1");
    let beside = vec![copy(input(0, 1), scratch(1, 1)), pack(input(0, 1), scratch(1, 1))];
    assert_eq!(local_block(beside), "Copy:1>1 CopyPackets:1>1");
}

#[test]
fn both_names_of_shared_memory_count() {
    let p = program(2, 1, 2, 1)
        .in_place(Buffer::Input, Buffer::Output, |r| r)
        .block(|_| vec![copy(scratch(0, 1), input(0, 1)), copy(output(0, 2), scratch(0, 1))]);
    // On rank 0 input[0] is output[0], where the second copy begins; on rank 1 it is in the middle of that copy.
    let p = super::sync(p);
    assert_eq!(p.words(0, 0), "Copy:1>1 Copy:1>1");
    assert_eq!(p.words(1, 0), "Copy:1>1 sync Copy:1>1");
}

#[test]
fn slices_of_a_group_differ_with_the_size_of_the_whole() {
    let first = sliced(copy(input(0, 4), scratch(0, 4)), 1, 2);
    let whole = sliced(copy(scratch(0, 4), output(0, 4)), 1, 2);
    let part = sliced(copy(scratch(0, 2), output(0, 2)), 1, 2);
    let twin = sliced(copy(input(4, 4), scratch(0, 4)), 0, 2);
    assert_eq!(local_block(vec![first.clone(), whole]), "Copy:1>1 Copy:1>1");
    assert_eq!(local_block(vec![first.clone(), part]), "Copy:1>1 sync Copy:1>1");
    assert_eq!(local_block(vec![first, twin]), "Copy:1>1 Copy:1>1");
}

#[test]
fn a_port_put_is_its_threads_and_then_the_proxys() {
    let block = |ops: Vec<Action>| {
        synced(
            program(3, 4, 4, 4)
                .mesh(ChannelKind::Port)
                .block(move |r| if r == 0 { ops.clone() } else { vec![] }),
        )
    };
    let put = |from| port(0, Verb::PutWithSignal, &[from], &[on(1, output(0, 1))]);
    let plain = |from| port(0, Verb::Put, &[from], &[on(1, output(0, 1))]);
    assert_eq!(block(vec![wait([to(0, 1)], false), put(input(0, 1))]), "wait:1 PutWithSignal:1>1");
    assert_eq!(
        block(vec![wait(all(0, 3), false), put(input(0, 1))]),
        "wait:2 sync PutWithSignal:1>1"
    );
    assert_eq!(
        block(vec![copy(input(1, 1), scratch(0, 1)), plain(scratch(0, 1))]),
        "Copy:1>1 sync Put:1>1"
    );
    assert_eq!(
        block(vec![copy(input(1, 1), scratch(0, 1)), plain(scratch(1, 1))]),
        "Copy:1>1 Put:1>1"
    );
    assert_eq!(
        block(vec![copy(input(1, 1), scratch(0, 1)), put(scratch(1, 1))]),
        "Copy:1>1 sync PutWithSignal:1>1"
    );
    assert_eq!(block(vec![plain(scratch(0, 1)), signal([to(0, 1)], false)]), "Put:1>1 signal:1");
    assert_eq!(
        block(vec![plain(scratch(0, 1)), signal([to(0, 2), to(0, 1)], false)]),
        "Put:1>1 sync signal:2"
    );
}

#[test]
fn packets_over_a_port_meet_on_their_own() {
    let p = program(2, 4, 4, 4).mesh(ChannelKind::Port).semaphores(1).block(|r| {
        let forward = port(r, Verb::ReadPutPackets, &[scratch(0, 1)], &[on(1 - r, scratch(1, 1))]);
        vec![local(Verb::CopyPackets, &[input(0, 1)], &[scratch(0, 1)]), forward, release(&[0])]
    });
    assert_eq!(synced(p), "CopyPackets:1>1 ReadPutPackets:1>1 release:1");
}

#[test]
fn an_author_has_the_last_word() {
    let with = |sync| {
        let mut p = program(1, 8, 8, 8).semaphores(1).block(|_| {
            vec![
                copy(input(0, 1), output(0, 1)),
                release(&[0]),
                copy(input(1, 1), output(1, 1)),
                release(&[0]),
            ]
        });
        for rank in p.ranks.iter_mut() {
            for block in rank.blocks.iter_mut() {
                block.ops[1].sync = Some(sync);
            }
        }
        synced(p)
    };
    assert_eq!(with(SyncOverride::None), "Copy:1>1 release:1 Copy:1>1 sync release:1");
    assert_eq!(with(SyncOverride::Before), "Copy:1>1 sync release:1 Copy:1>1 sync release:1");
    assert_eq!(with(SyncOverride::After), "Copy:1>1 release:1 sync Copy:1>1 sync release:1");
    assert_eq!(with(SyncOverride::Both), "Copy:1>1 sync release:1 sync Copy:1>1 sync release:1");
}

#[test]
fn without_inference_only_the_authors_joins_stand() {
    let mut p = program(1, 8, 8, 8).semaphores(1).block(|_| {
        vec![acquire(&[0]), copy(input(0, 1), output(0, 1)), Action::Sync, release(&[0])]
    });
    p.options.auto_sync = false;
    assert_eq!(synced(p), "acquire:1 Copy:1>1 sync release:1");
}

#[test]
fn a_join_that_stands_already_is_enough() {
    let ops = vec![
        acquire(&[0]),
        Action::Sync,
        copy(input(0, 1), output(0, 1)),
        Action::Sync,
        release(&[0]),
    ];
    assert_eq!(local_block(ops), "acquire:1 sync Copy:1>1 sync release:1");
}

#[test]
fn a_pipeline_is_a_circle() {
    let through = vec![copy(input(0, 1), scratch(0, 1)), copy(scratch(0, 1), output(0, 1))];
    assert_eq!(local_block(vec![pipeline(1024, 1, through)]), "[Copy:1>1 Copy:1>1]");
    let fill = vec![copy(input(0, 1), scratch(0, 1)), release(&[0])];
    // A release orders nothing after it, so the next turn may begin.
    assert_eq!(local_block(vec![pipeline(1024, 1, fill)]), "[Copy:1>1 sync release:1]");
    let drain = vec![acquire(&[0]), copy(scratch(0, 1), output(0, 1)), release(&[1])];
    assert_eq!(
        local_block(vec![pipeline(1024, 1, drain)]),
        "[acquire:1 sync Copy:1>1 sync release:1]"
    );
    // The last turn's acquire, heard by one thread, is followed by the next turn's copy.
    let late = vec![copy(input(0, 1), scratch(0, 1)), acquire(&[0])];
    assert_eq!(local_block(vec![pipeline(1024, 1, late)]), "[Copy:1>1 acquire:1 sync]");
}

#[test]
fn one_join_between_turns_serves_what_comes_before_too() {
    let late = vec![copy(input(0, 1), scratch(0, 1)), acquire(&[0])];
    let before = vec![acquire(&[1]), pipeline(1024, 1, late.clone())];
    assert_eq!(local_block(before), "acquire:1 [sync Copy:1>1 acquire:1]");
    let after = vec![pipeline(1024, 1, late), copy(input(1, 1), output(1, 1))];
    assert_eq!(local_block(after), "[Copy:1>1 acquire:1 sync] Copy:1>1");
}

#[test]
fn windows_begin_elsewhere_than_the_whole() {
    let body = vec![copy(scratch(0, 1), output(0, 1))];
    let ops = vec![copy(input(0, 1), scratch(0, 1)), pipeline(1024, 1, body)];
    assert_eq!(local_block(ops), "Copy:1>1 sync [Copy:1>1]");
}

#[test]
fn joins_are_explicit_afterwards() {
    let mut p = program(1, 1, 1, 0).block(|_| vec![copy(input(0, 1), output(0, 1))]);
    p.ranks[crate::ir::RankId(0)].blocks[crate::ir::BlockId(0)].ops.push(op(Action::Sync));
    let p = super::sync(p);
    assert_eq!(p.joins, crate::ir::Joins::Explicit);
    assert_eq!(super::sync(p.clone()).words(0, 0), p.words(0, 0));
}
