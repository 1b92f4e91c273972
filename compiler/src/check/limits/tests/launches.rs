//! What concerns whoever launches a plan: memory that is allocated, rules that no check sees, and channels that leave a
//! node, on programs built by hand.

use super::super::{Constraint, constraints};
use super::{INPUT, SCRATCH, clean, local, moves, of_plan, only, op, outcome_of, program};
use crate::diagnostic::Code;
use crate::ir;

fn codes(program: &ir::Program) -> Vec<Code> {
    outcome_of(program).diagnostics.into_iter().map(|report| report.code).collect()
}

/// 2 chunks of input, 4 of scratch, packets and halves: eight bytes of scratch for each byte of a message.
#[test]
fn scratch_that_packets_take() {
    let copy = moves(ir::Verb::CopyPackets, &[local(INPUT, 0, 1)], &[local(SCRATCH, 3, 1)], None);
    let with = |least: u64, largest: Option<u64>| {
        let mut program = program(vec![vec![copy.clone()]]);
        program.options.protocol = ir::Protocol::Ll;
        program.options.double_scratch = true;
        program.options.min_message_size = Some(least);
        program.options.max_message_size = largest;
        program
    };
    let note = |program: &ir::Program| {
        let found = outcome_of(program).diagnostics.into_iter();
        let mut notes = found.filter(|report| report.code == Code::N0803);
        notes.next().map(|report| (report.message, report.helps))
    };
    assert_eq!(note(&with(32, Some(16 << 20))), None);
    let said = |bytes: &str| {
        format!(
            "MSCCL++'s executor allocates up to {bytes} of scratch on a rank for this plan, whatever is sent"
        )
    };
    let help = "set `message_size = ..=16MiB`: then it is at most 128MiB".to_owned();
    let more = with(32, Some(32 << 20));
    assert_eq!(note(&more), Some((said("256MiB"), vec![help.clone()])));
    // Without an end, it is the largest that fits: chunks of 256 MiB - 16.
    let open = with(32, None);
    assert_eq!(note(&open), Some((said("4294967040 bytes"), vec![help])));
    let help = "set `max_message_size` to 16777216: then it is at most 128MiB".to_owned();
    assert_eq!(note(&of_plan(more)), Some((said("256MiB"), vec![help])));
    let help = "send messages of this size without packets".to_owned();
    assert_eq!(note(&with(17 << 20, Some(32 << 20))), Some((said("256MiB"), vec![help])));
    // Without packets, or where all plans share one scratch, nothing depends on the size.
    let mut plain = program(vec![vec![op(ir::Action::Sync)]]);
    plain.options.double_scratch = true;
    assert_eq!(note(&plain), None);
    let mut reused = with(32, None);
    reused.options.reuse_resources = true;
    assert_eq!(note(&reused), None);
}

/// Four slices of one chunk need four units, of two chunks two units in each; input has two chunks of 16 bytes or more.
#[test]
fn slices_without_a_unit() {
    let with = |size: u32, least: Option<u64>, largest: Option<u64>| {
        let mut copy = moves(
            ir::Verb::Copy,
            &[local(INPUT, 0, size)],
            &[local(ir::Buffer::Output, 0, size)],
            None,
        );
        if let ir::Action::Transfer(transfer) = &mut copy.action {
            transfer.slice = Some(ir::Slice { index: 0, count: 4 });
        }
        let mut program = program(vec![vec![copy]]);
        program.options.min_message_size = least;
        program.options.max_message_size = largest;
        program
    };
    let note = |program: &ir::Program| {
        let found = outcome_of(program).diagnostics.into_iter();
        let mut notes = found.filter(|report| report.code == Code::N0804);
        notes.next().map(|report| (report.message, report.helps))
    };
    let said = |bytes: u64| {
        format!(
            "MSCCL++ 0.9 and before share out messages of less than {bytes} bytes wrongly among blocks"
        )
    };
    let help =
        |least: u64| format!("if the plan is for such a version, set `message_size = {least}..`");
    assert_eq!(note(&with(1, None, None)), Some((said(128), vec![help(128)])));
    assert_eq!(note(&with(2, None, None)), Some((said(64), vec![help(64)])));
    assert_eq!(note(&with(1, Some(96), None)), Some((said(128), vec![help(128)])));
    assert_eq!(note(&with(1, Some(128), None)), None);
    let fewer = "share such messages among fewer blocks".to_owned();
    assert_eq!(note(&with(1, None, Some(96))), Some((said(128), vec![fewer])));
    let help = "if it is for such a version, set `min_message_size` to 128".to_owned();
    assert_eq!(note(&of_plan(with(1, None, None))), Some((said(128), vec![help])));
}

#[test]
fn what_launches_must_not_do() {
    let copy = moves(ir::Verb::CopyPackets, &[local(INPUT, 0, 1)], &[local(SCRATCH, 3, 1)], None);
    let words = |program: &ir::Program| {
        constraints(program).into_iter().map(Constraint::word).collect::<Vec<_>>()
    };
    let plain = program(vec![vec![op(ir::Action::Sync)]]);
    assert_eq!((words(&plain), codes(&plain)), (vec!["one-stream"], vec![]));
    let mut packets = program(vec![vec![copy]]);
    packets.options.protocol = ir::Protocol::Ll;
    packets.options.max_message_size = Some(1 << 20);
    assert_eq!(words(&packets), ["no-graph-replay", "one-stream"]);
    assert_eq!(codes(&packets), [Code::N0802]);
    packets.options.double_scratch = true;
    assert_eq!(words(&packets), ["no-graph-replay", "shares-launch-parity", "one-stream"]);
    let mut reused = plain.clone();
    reused.options.reuse_resources = true;
    assert_eq!(words(&reused), ["shares-scratch", "one-stream"]);
    assert_eq!(codes(&reused), [Code::N0802]);
    reused.ranks.iter_mut().for_each(|rank| rank.scratch_chunks = 0);
    assert_eq!((words(&reused), codes(&reused)), (vec!["one-stream"], vec![]));
}

/// Of a plan, all channels are one declaration.
#[test]
fn channels_of_a_plan_that_leave_their_node() {
    let nodes = |per_domain: u32| {
        let mut all = program(vec![vec![op(ir::Action::Sync)]]);
        all.options.max_message_size = Some(1 << 20);
        (all.ranks_per_node, all.ranks_per_domain) = (1, per_domain);
        of_plan(all)
    };
    clean(&nodes(2));
    let (code, message) = only(&nodes(1));
    assert_eq!(code, Code::W0801);
    assert_eq!(
        message,
        "this memory channel leaves its node: it leads from rank 0 of node 0 to rank 1 of node 1"
    );
    let report = outcome_of(&nodes(1)).diagnostics.remove(0);
    assert!(report.notes.contains(&"the same on 1 other rank".to_owned()), "{:?}", report.notes);
    assert!(report.helps.iter().any(|help| help.contains("`--ranks-per-domain`")));
}
