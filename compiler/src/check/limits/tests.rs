//! One case for each limit, on programs built by hand.

use super::{Limits, Outcome, outcome};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::ir;
use crate::source::{FileId, Place, PlanPlace, Span};
use std::borrow::Cow;

mod launches;

const MEMORY: Option<ir::ChannelKind> = Some(ir::ChannelKind::Memory);
const PORT: Option<ir::ChannelKind> = Some(ir::ChannelKind::Port);
const SWITCH: Option<ir::ChannelKind> = Some(ir::ChannelKind::Switch);
const INPUT: ir::Buffer = ir::Buffer::Input;
const OUTPUT: ir::Buffer = ir::Buffer::Output;
const SCRATCH: ir::Buffer = ir::Buffer::Scratch;

fn local(buffer: ir::Buffer, index: u32, size: u32) -> ir::Operand {
    ir::Operand { place: ir::Where::Local, buffer, index, size }
}

fn remote(rank: u32, buffer: ir::Buffer, index: u32, size: u32) -> ir::Operand {
    ir::Operand { place: ir::Where::Remote(ir::RankId(rank)), buffer, index, size }
}

fn multimem(buffer: ir::Buffer, index: u32) -> ir::Operand {
    ir::Operand { place: ir::Where::Switch(ir::ChannelId(0)), buffer, index, size: 1 }
}

fn transfer(
    verb: ir::Verb,
    sources: &[ir::Operand],
    destinations: &[ir::Operand],
    via: Option<ir::ChannelKind>,
) -> ir::Transfer {
    let outside = |operand: &&ir::Operand| !matches!(operand.place, ir::Where::Local);
    let channels = sources.iter().chain(destinations).filter(outside).map(|_| ir::ChannelId(0));
    ir::Transfer {
        verb,
        sources: sources.into(),
        destinations: destinations.into(),
        via,
        channels: channels.collect(),
        slice: None,
        reduce: ir::ReduceOp::Sum,
    }
}

/// An operation whose origin is the row after the blocks' one.
fn op(action: ir::Action) -> ir::Op {
    ir::Op { action, origin: ir::OriginId(1), sync: None }
}

fn moves(
    verb: ir::Verb,
    sources: &[ir::Operand],
    destinations: &[ir::Operand],
    via: Option<ir::ChannelKind>,
) -> ir::Op {
    op(ir::Action::Transfer(transfer(verb, sources, destinations, via)))
}

fn pipeline(unit: u64, chunks: u32, body: Vec<ir::Op>) -> ir::Op {
    op(ir::Action::Pipeline(ir::Pipeline { unit, chunks, body }))
}

fn span(start: u32) -> Place {
    Place::Source(Span { file: FileId(0), start, end: start + 1 })
}

/// Two ranks that run the same blocks; 2 input, 2 output and 4 scratch chunks; a memory channel to the other rank.
fn program(blocks: Vec<Vec<ir::Op>>) -> ir::Program {
    let rank = |peer: u32| ir::Rank {
        input_chunks: 2,
        output_chunks: 2,
        scratch_chunks: 4,
        channels: vec![channel(ir::Link::Memory(ir::RankId(peer)))].into(),
        blocks: blocks
            .iter()
            .map(|ops| ir::Block { name: "main".into(), ops: ops.clone(), origin: ir::OriginId(0) })
            .collect(),
        ..ir::Rank::default()
    };
    ir::Program {
        collective: ir::Collective {
            name: "allreduce".into(),
            arguments: Vec::new(),
            in_place: true,
            op: ir::ReduceOp::Sum,
            place: Some(span(9)),
        },
        options: ir::Options { message_size_place: Some(span(5)), ..ir::Options::default() },
        ranks: vec![rank(1), rank(0)].into(),
        ranks_per_node: 2,
        ranks_per_domain: 2,
        machine: None,
        origins: ir::Origins {
            rows: [0, 1]
                .map(|row| ir::Origin { place: span(row), binding: None })
                .into_iter()
                .collect(),
            ..ir::Origins::default()
        },
        joins: ir::Joins::Explicit,
        flush_waits: true,
        instances_done: 1,
        chunk_size: None,
    }
}

fn channel(link: ir::Link) -> ir::Channel {
    ir::Channel { name: "c".into(), link, partner: None, origin: ir::OriginId(0), shared: false }
}

fn outcome_of(program: &ir::Program) -> Outcome {
    outcome(program, &mut |id| Cow::Borrowed(&program.ranks[id]), &Limits::default())
}

/// The code, message and place of each finding, without the notes on launches that most plans of a kind have.
fn found(program: &ir::Program) -> Vec<(Code, String, Option<Place>)> {
    let mut diagnostics = outcome_of(program).diagnostics;
    diagnostics.retain(|found| !matches!(found.code, Code::N0802 | Code::N0803 | Code::N0804));
    let row = |d: Diagnostic| (d.code, d.message, d.primary.map(|label| label.place));
    diagnostics.into_iter().map(row).collect()
}

/// The only finding's code and message.
fn only(program: &ir::Program) -> (Code, String) {
    let mut all = found(program);
    assert_eq!(all.len(), 1, "{all:?}");
    let (code, message, _) = all.remove(0);
    (code, message)
}

fn clean(program: &ir::Program) {
    assert_eq!(found(program), []);
}

fn signal(channels: usize) -> ir::Op {
    let channels = (0..channels as u32).map(ir::ChannelId).collect();
    op(ir::Action::Signal(ir::Signal { channels, relaxed: false }))
}

#[test]
fn sixty_four_operations() {
    clean(&program(vec![vec![op(ir::Action::Sync); 64]]));
    let many = program(vec![vec![op(ir::Action::Sync); 65]]);
    let outcome = outcome_of(&many);
    let finding = &outcome.diagnostics[0];
    assert_eq!(finding.code, Code::E0801);
    assert_eq!(
        finding.message,
        "block `main` has 65 operations; MSCCL++'s executor runs at most 64 in one block"
    );
    assert_eq!(finding.primary.as_ref().map(|label| label.place), Some(span(0)));
    assert_eq!(
        finding.primary.as_ref().map(|label| label.text.as_str()),
        Some("rank 0, block `main`")
    );
    assert!(
        finding.notes.iter().any(|note| note == "the same on 1 other rank"),
        "{:?}",
        finding.notes
    );
}

#[test]
fn pipelines_and_their_bodies_count() {
    let copy = moves(ir::Verb::Copy, &[local(INPUT, 0, 1)], &[local(OUTPUT, 1, 1)], None);
    clean(&program(vec![vec![pipeline(64, 1, vec![copy.clone(); 63])]]));
    assert_eq!(only(&program(vec![vec![pipeline(64, 1, vec![copy; 64])]])).0, Code::E0801);
}

#[test]
fn the_worst_case_of_a_place_is_told() {
    let blocks = [65, 70, 66].map(|count| vec![op(ir::Action::Sync); count]);
    let outcome = outcome_of(&program(blocks.to_vec()));
    assert_eq!(outcome.diagnostics.len(), 1);
    assert!(outcome.diagnostics[0].message.contains("70 operations"));
    assert!(
        outcome.diagnostics[0].notes.contains(&"the same in 5 other places on 2 ranks".to_string())
    );
}

#[test]
fn channels_of_a_block_and_of_an_operation() {
    let with = |count: usize, ops: Vec<ir::Op>| {
        let mut program = program(vec![ops]);
        for rank in program.ranks.iter_mut() {
            let link = rank.channels[ir::ChannelId(0)].link.clone();
            rank.channels = (0..count).map(|_| channel(link.clone())).collect();
        }
        program
    };
    let one = |id: u32| {
        op(ir::Action::Wait(ir::Signal {
            channels: [ir::ChannelId(id)].into_iter().collect(),
            relaxed: true,
        }))
    };
    clean(&with(16, (0..16).map(one).collect()));
    let (code, message) = only(&with(17, (0..17).map(one).collect()));
    assert_eq!(code, Code::E0802);
    assert!(message.starts_with("block `main` uses 17 memory channels"), "{message}");
    clean(&with(8, vec![signal(8)]));
    let (code, message) = only(&with(9, vec![signal(9)]));
    assert_eq!(
        (code, &*message),
        (Code::E0802, "this names 9 channels; MSCCL++'s executor takes at most 8 in one operation")
    );
}

#[test]
fn remote_buffers_of_a_block() {
    let puts = |peers: u32| {
        let put = |peer| {
            moves(ir::Verb::Put, &[local(INPUT, 0, 1)], &[remote(peer, OUTPUT, 0, 1)], MEMORY)
        };
        program(vec![(0..peers).map(put).collect()])
    };
    clean(&puts(16));
    let (code, message) = only(&puts(17));
    assert_eq!(code, Code::E0803);
    assert!(
        message.contains("reaches 17 buffers of other ranks over memory channels"),
        "{message}"
    );
}

#[test]
fn operands_of_an_operation() {
    let reduce = |sources: usize| {
        program(vec![vec![moves(
            ir::Verb::Reduce,
            &vec![local(INPUT, 0, 1); sources],
            &[local(OUTPUT, 0, 1)],
            None,
        )]])
    };
    clean(&reduce(10));
    assert_eq!(only(&reduce(11)).0, Code::E0803);
}

#[test]
fn semaphores_and_barriers() {
    let acquire = |count: u32| {
        program(vec![vec![op(ir::Action::Acquire((0..count).map(ir::SemaphoreId).collect()))]])
    };
    clean(&acquire(16));
    assert_eq!(only(&acquire(17)).0, Code::E0804);
    let barrier = |id: u32| {
        program(vec![vec![op(ir::Action::Barrier { id: ir::BarrierId(id), arrivals: 1 })]])
    };
    clean(&barrier(15));
    assert_eq!(only(&barrier(16)).0, Code::E0804);
}

#[test]
fn blocks_that_run_at_once() {
    let blocks = program(vec![vec![]; 133]);
    let (code, message) = only(&blocks);
    assert_eq!(
        (code, &*message),
        (Code::E0806, "a rank has 133 thread blocks; 132 run at once on its GPU")
    );
    let settings = Limits { max_blocks: 133 };
    assert!(
        outcome(&blocks, &mut |id| Cow::Borrowed(&blocks.ranks[id]), &settings)
            .diagnostics
            .is_empty()
    );
}

#[test]
fn what_the_executor_lacks() {
    let (a, b) = (local(INPUT, 0, 1), local(OUTPUT, 1, 1));
    let (theirs, shifted) = (remote(1, OUTPUT, 0, 1), remote(1, OUTPUT, 1, 1));
    let (their_scratch, cells) = (remote(1, SCRATCH, 0, 1), multimem(INPUT, 0));
    let lacking = [
        moves(ir::Verb::Get, &[shifted], &[a], MEMORY),
        moves(ir::Verb::Get, &[theirs], &[a], PORT),
        moves(ir::Verb::Put, &[a, b], &[theirs, shifted], MEMORY),
        moves(ir::Verb::PutWithSignal, &[a], &[theirs], MEMORY),
        moves(ir::Verb::PutWithSignalAndFlush, &[a], &[theirs], MEMORY),
        moves(ir::Verb::Copy, &[a, a], &[b, b], None),
        moves(ir::Verb::Reduce, &[cells], &[b], SWITCH),
        moves(ir::Verb::Reduce, &[cells], &[b, cells], SWITCH),
        moves(ir::Verb::Reduce, &[a, b], &[cells], SWITCH),
        moves(ir::Verb::Reduce, &[a, theirs], &[b], PORT),
        moves(ir::Verb::Reduce, &[a, b, theirs], &[b], MEMORY),
        moves(ir::Verb::Reduce, &[theirs, shifted], &[b], MEMORY),
        moves(ir::Verb::Reduce, &[a, b], &[b, a], None),
        moves(ir::Verb::Reduce, &[a, b], &[theirs], MEMORY),
        moves(ir::Verb::Broadcast, &[a, b], &[cells, cells], SWITCH),
        op(ir::Action::Flush([ir::ChannelId(0)].into_iter().collect())),
    ];
    for op in lacking {
        let (code, message) = only(&program(vec![vec![op.clone()]]));
        assert_eq!(code, Code::E0807, "{message}: {op:?}");
    }
    let sound = vec![
        moves(ir::Verb::Get, &[theirs], &[a], MEMORY),
        moves(ir::Verb::Put, &[a, b], &[theirs, shifted], PORT),
        moves(ir::Verb::Put, &[a], &[theirs, their_scratch], MEMORY),
        moves(ir::Verb::PutWithSignalAndFlush, &[a], &[theirs], PORT),
        moves(ir::Verb::Reduce, &[cells], &[cells], SWITCH),
        moves(ir::Verb::Reduce, &[a, theirs, shifted], &[b, theirs], MEMORY),
        moves(ir::Verb::Broadcast, &[a], &[cells], SWITCH),
    ];
    clean(&program(vec![sound]));
}

#[test]
fn reductions_are_sums() {
    let mut reduce =
        transfer(ir::Verb::Reduce, &[local(INPUT, 0, 1); 2], &[local(OUTPUT, 0, 1)], None);
    reduce.reduce = ir::ReduceOp::Max;
    let (code, message) = only(&program(vec![vec![op(ir::Action::Transfer(reduce))]]));
    assert_eq!((code, &*message), (Code::E0807, "MSCCL++'s executor has no reduction `max`"));
}

#[test]
fn packets() {
    let put =
        moves(ir::Verb::PutPackets, &[local(INPUT, 0, 1)], &[remote(1, SCRATCH, 0, 1)], MEMORY);
    let unpack =
        moves(ir::Verb::UnpackPackets, &[local(SCRATCH, 0, 1)], &[local(OUTPUT, 0, 1)], None);
    let mut both = program(vec![vec![put.clone(), unpack]]);
    let (code, message) = only(&both);
    assert_eq!((code, &*message), (Code::E0807, "packets need `protocol = LL`"));
    both.options.protocol = ir::Protocol::Ll;
    clean(&both);
    let ll = |op: ir::Op| {
        let mut program = program(vec![vec![op]]);
        program.options.protocol = ir::Protocol::Ll;
        program
    };
    let port =
        moves(ir::Verb::PutPackets, &[local(INPUT, 0, 1)], &[remote(1, SCRATCH, 0, 1)], PORT);
    assert_eq!(only(&ll(port)).0, Code::E0807);
    let scratch = local(SCRATCH, 0, 1);
    let three = [local(OUTPUT, 0, 1), scratch, scratch];
    let reduce = moves(ir::Verb::ReducePackets, &[local(INPUT, 0, 1), scratch], &three, None);
    assert_eq!(only(&ll(reduce)).0, Code::E0807);
    assert_eq!(only(&ll(pipeline(64, 1, vec![put]))).0, Code::E0809);
}

/// The program as if it had been read from a plan.
fn of_plan(mut program: ir::Program) -> ir::Program {
    for row in program.origins.rows.iter_mut() {
        row.place =
            Place::Plan(PlanPlace { file: FileId(0), rank: Some(0), block: None, op: None });
    }
    program
}

#[test]
fn what_is_read_from_a_plan_may_flush() {
    let flush = op(ir::Action::Flush([ir::ChannelId(0)].into_iter().collect()));
    let read = of_plan(program(vec![vec![flush]]));
    assert_eq!(outcome_of(&read).diagnostics[0].severity, Severity::Warning);
}

/// Beyond 65,535 windows, a pipeline moves nothing.
#[test]
fn a_plan_with_small_windows_is_not_for_all_messages() {
    let copy = moves(ir::Verb::Copy, &[local(INPUT, 0, 1)], &[local(OUTPUT, 0, 1)], None);
    let with = |unit| of_plan(program(vec![vec![pipeline(unit, 1, vec![copy.clone()])]]));
    let message = |end: &str| {
        format!(
            "this plan says that it serves messages of any size, and can serve only up to {end}"
        )
    };
    assert_eq!(only(&with(16)), (Code::W0802, message("2097120 bytes")));
    // With larger windows, offsets of 32 bits are what is left: two chunks of 4 GiB - 16.
    assert_eq!(only(&with(1 << 20)), (Code::W0802, message("8589934560 bytes")));
    let mut bounded = with(1 << 20);
    bounded.options.max_message_size = Some(1 << 30);
    clean(&bounded);
    // What states an end that is too large has an error.
    bounded.options.max_message_size = Some(1 << 34);
    assert_eq!(only(&bounded).0, Code::E0805);
}

/// Packets over a port arrive as they are; those from another buffer do not.
#[test]
fn packets_of_two_buffers_are_refused_in_a_plan_too() {
    let put = |second: ir::Buffer, via| {
        let sources = [local(INPUT, 0, 1), local(second, 0, 1)];
        let destinations = [remote(1, SCRATCH, 0, 1), remote(1, SCRATCH, 1, 1)];
        let mut read =
            program(vec![vec![moves(ir::Verb::PutPackets, &sources, &destinations, via)]]);
        read.options.protocol = ir::Protocol::Ll;
        read.options.max_message_size = Some(1 << 20);
        let found = outcome_of(&of_plan(read)).diagnostics.into_iter();
        found.map(|report| report.severity).filter(|severity| *severity > Severity::Note).collect()
    };
    let over_memory: Vec<Severity> = put(OUTPUT, MEMORY);
    assert_eq!(over_memory, [Severity::Error]);
    let over_port: Vec<Severity> = put(INPUT, PORT);
    assert_eq!(over_port, [Severity::Warning]);
}

/// The second half begins after 2 * chunks * (allocation / chunks of input, rounded up) bytes.
#[test]
fn packets_in_the_second_half_may_not_be_aligned() {
    let with = |input_chunks, scratch_chunks| {
        let mut program = program(vec![vec![op(ir::Action::Sync)]]);
        program.options.double_scratch = true;
        program.options.protocol = ir::Protocol::Ll;
        for rank in program.ranks.iter_mut() {
            (rank.input_chunks, rank.output_chunks) = (input_chunks, input_chunks);
            rank.scratch_chunks = scratch_chunks;
        }
        program
    };
    clean(&with(2, 6));
    clean(&with(3, 8));
    let report = outcome_of(&with(3, 6)).diagnostics.remove(0);
    assert_eq!((report.code, report.severity), (Code::E0810, Severity::Warning));
    // Half an alignment's chunks, if the alignment is an odd multiple of 16.
    let aligned = |scratch_chunks, alignment| {
        let mut program = with(2, scratch_chunks);
        program.options.alignment = alignment;
        program
    };
    clean(&aligned(24, 48));
    clean(&aligned(6, 64));
    let report = outcome_of(&aligned(6, 48)).diagnostics.remove(0);
    assert_eq!((report.code, report.severity), (Code::E0810, Severity::Warning));
    assert_eq!(report.helps, ["let `scratch_chunks` be a multiple of 24"]);
}

/// In a plan that was made elsewhere, the largest message may be cut into chunks of any size.
#[test]
fn the_largest_message_of_a_plan_moves_the_second_half_too() {
    let with = |largest| {
        let mut program = program(vec![vec![op(ir::Action::Sync)]]);
        program.options.double_scratch = true;
        program.options.protocol = ir::Protocol::Ll;
        program.options.max_message_size = Some(largest);
        for rank in program.ranks.iter_mut() {
            rank.scratch_chunks = 5;
        }
        of_plan(program)
    };
    // Two chunks of 512 bytes: half is 5 * 512 * 2. Of 500 bytes it is 5000, which is rounded to 5000.
    clean(&with(1024));
    assert_eq!(outcome_of(&with(1000)).diagnostics.remove(0).code, Code::E0810);
}

#[test]
fn pipelines() {
    let copy =
        |size| moves(ir::Verb::Copy, &[local(INPUT, 0, size)], &[local(OUTPUT, 0, size)], None);
    clean(&program(vec![vec![pipeline(1024, 2, vec![copy(2)])]]));
    for (unit, chunks, size) in [(24, 1, 1), (1 << 32, 1, 1), (0, 1, 1), (64, 2, 1), (64, 1, 2)] {
        let found = found(&program(vec![vec![pipeline(unit, chunks, vec![copy(size)])]]));
        assert!(
            found.iter().any(|(code, ..)| *code == Code::E0809),
            "{unit} {chunks} {size}: {found:?}"
        );
    }
    let nested = pipeline(64, 1, vec![pipeline(64, 1, vec![copy(1)])]);
    assert_eq!(only(&program(vec![vec![nested]])).0, Code::E0809);
    let mut part = transfer(ir::Verb::Copy, &[local(INPUT, 0, 1)], &[local(OUTPUT, 0, 1)], None);
    part.slice = Some(ir::Slice { index: 0, count: 2 });
    let group = pipeline(64, 1, vec![op(ir::Action::Transfer(part))]);
    let group = program(vec![vec![group]]);
    assert_eq!(only(&group).0, Code::E0809);
    assert_eq!(only(&of_plan(group)).0, Code::E0809);
}

#[test]
fn double_scratch_is_for_packets() {
    let with = |op: ir::Op| {
        let mut program = program(vec![vec![op]]);
        program.options.double_scratch = true;
        program
    };
    let (scratch, theirs) = (local(SCRATCH, 0, 1), remote(1, SCRATCH, 0, 1));
    let wrong = [
        moves(ir::Verb::Put, &[local(INPUT, 0, 1)], &[theirs], MEMORY),
        moves(ir::Verb::Put, &[scratch], &[remote(1, OUTPUT, 0, 1)], PORT),
        moves(ir::Verb::Broadcast, &[local(INPUT, 0, 1)], &[multimem(SCRATCH, 0)], SWITCH),
    ];
    for op in wrong {
        assert_eq!(only(&with(op)).0, Code::E0810);
    }
    clean(&with(moves(ir::Verb::Put, &[scratch], &[remote(1, OUTPUT, 0, 1)], MEMORY)));
    clean(&with(moves(ir::Verb::Copy, &[local(INPUT, 0, 1)], &[scratch], None)));
}

#[test]
fn reuse_resources_is_for_scratch() {
    let with = |op: ir::Op| {
        let mut program = program(vec![vec![op]]);
        program.options.reuse_resources = true;
        program
    };
    let wrong = [
        moves(ir::Verb::Put, &[local(SCRATCH, 0, 1)], &[remote(1, OUTPUT, 0, 1)], MEMORY),
        moves(ir::Verb::Put, &[local(INPUT, 0, 1)], &[remote(1, SCRATCH, 0, 1)], PORT),
        moves(ir::Verb::Reduce, &[multimem(INPUT, 0)], &[multimem(INPUT, 0)], SWITCH),
    ];
    for op in wrong {
        assert_eq!(only(&with(op)).0, Code::E0810);
    }
    clean(&with(moves(ir::Verb::Put, &[local(INPUT, 0, 1)], &[remote(1, SCRATCH, 0, 1)], MEMORY)));
}

#[test]
fn alignment() {
    let mut program = program(vec![vec![]]);
    program.options.alignment = 8;
    assert_eq!(only(&program).0, Code::E0810);
    program.options.alignment = 128;
    clean(&program);
}

#[test]
fn ranks_without_input_or_output() {
    let mut program = program(vec![vec![]]);
    program.ranks.iter_mut().for_each(|rank| rank.output_chunks = 0);
    let outcome = outcome_of(&program);
    assert_eq!(outcome.diagnostics.len(), 1);
    assert_eq!(outcome.diagnostics[0].message, "rank 0 has no output");
    assert_eq!(outcome.diagnostics[0].primary.as_ref().map(|label| label.place), Some(span(9)));
    assert!(outcome.diagnostics[0].notes.contains(&"the same on 1 other rank".to_string()));
}

#[test]
fn ports_beyond_the_eighth_rank_of_a_node() {
    let nodes = |per_node: u32| {
        let mut all = program(vec![vec![]]);
        let of = |rank: u32| ir::Rank {
            channels: vec![channel(ir::Link::Port(ir::RankId((rank + per_node) % (2 * per_node))))]
                .into(),
            ..all.ranks[ir::RankId(0)].clone()
        };
        all.ranks = (0..2 * per_node).map(of).collect();
        all.ranks_per_node = per_node;
        all
    };
    clean(&nodes(8));
    assert_eq!(only(&nodes(9)).0, Code::E0812);
    let mut one_node = nodes(9);
    one_node.ranks_per_node = 18;
    clean(&one_node);
}

/// The range of a program whose only block has these operations, after `set` changed the program.
fn range(ops: Vec<ir::Op>, set: fn(&mut ir::Program)) -> (u64, u64) {
    let mut program = program(vec![ops]);
    set(&mut program);
    let outcome = outcome_of(&program);
    assert!(
        outcome.diagnostics.iter().all(|found| found.severity == Severity::Note),
        "{outcome:?}"
    );
    (outcome.min_message_size, outcome.max_message_size)
}

#[test]
fn sizes_by_32_bit_offsets() {
    // Chunk 1 ends at twice a chunk's bytes, which must stay below 4 GiB: chunks of 2 GiB - 16.
    let put = moves(ir::Verb::Put, &[local(INPUT, 1, 1)], &[remote(1, OUTPUT, 1, 1)], MEMORY);
    assert_eq!(range(vec![put.clone()], |_| ()), (32, 2 * ((1 << 31) - 16)));
    // The executor compares the output of an allgather.
    let gather = |program: &mut ir::Program| {
        program.collective.name = "allgather".into();
        program.ranks.iter_mut().for_each(|rank| rank.output_chunks = 6);
    };
    assert_eq!(range(vec![put], gather), (96, 6 * ((1 << 31) - 16)));
}

#[test]
fn sizes_by_packets() {
    let copy = moves(ir::Verb::CopyPackets, &[local(INPUT, 0, 1)], &[local(SCRATCH, 3, 1)], None);
    let ll = |program: &mut ir::Program| program.options.protocol = ir::Protocol::Ll;
    // Four chunks of packets below 2 GiB: chunks of 512 MiB - 16, two of them a message.
    assert_eq!(range(vec![copy.clone()], ll).1, 2 * ((1 << 29) - 16));
    let double = |program: &mut ir::Program| {
        program.options.protocol = ir::Protocol::Ll;
        program.options.double_scratch = true;
    };
    // Half of scratch is 4 chunks of packets, and as much follows: 16 chunk sizes below 4 GiB.
    assert_eq!(range(vec![copy.clone()], double).1, 2 * ((1 << 28) - 16));
    // The largest part of a message has 4 chunks, by which the executor sizes scratch: half of it is 4 / 2 times as large
    // for rank 0, and as many packets as before follow: 24 chunk sizes below 4 GiB.
    let uneven = |program: &mut ir::Program| {
        program.options.protocol = ir::Protocol::Ll;
        program.options.double_scratch = true;
        program.ranks[ir::RankId(1)].input_chunks = 4;
    };
    assert_eq!(range(vec![copy], uneven).1, 2 * ((1 << 32) / 24 / 16 * 16));
}

#[test]
fn sizes_by_slots_of_scratch() {
    let copy = moves(ir::Verb::Copy, &[local(INPUT, 0, 1)], &[local(SCRATCH, 0, 1)], None);
    let reuse = |program: &mut ir::Program| program.options.reuse_resources = true;
    assert_eq!(range(vec![copy.clone()], reuse).1, 2 * (64 << 20) / 4);
    let double = |program: &mut ir::Program| {
        program.options.reuse_resources = true;
        program.options.double_scratch = true;
    };
    assert_eq!(range(vec![copy], double).1, 2 * (32 << 20) / 4);
}

#[test]
fn sizes_by_pipelines() {
    let copy = moves(ir::Verb::Copy, &[local(INPUT, 0, 2)], &[local(SCRATCH, 0, 2)], None);
    let back = moves(ir::Verb::Copy, &[local(SCRATCH, 0, 2)], &[local(OUTPUT, 0, 2)], None);
    let both = vec![pipeline(1024, 2, vec![copy.clone(), back.clone()])];
    assert_eq!(range(both.clone(), |_| ()).1, 65_535 * 1024 / 32 * 32);
    // Scratch that is read before the next round writes it may wrap around under `reuse_resources`.
    let reuse = |program: &mut ir::Program| program.options.reuse_resources = true;
    assert_eq!(range(both, reuse).1, 65_535 * 1024 / 32 * 32);
    // Otherwise it may not: two chunks share a slot of 16 MiB.
    let ops = vec![pipeline(1024, 2, vec![copy]), pipeline(1024, 2, vec![back])];
    let reuse = |program: &mut ir::Program| program.options.reuse_resources = true;
    assert_eq!(range(ops.clone(), reuse).1, 16 << 20);
    let mut program = program(vec![ops]);
    reuse(&mut program);
    assert_eq!(only(&program), (Code::N0801, "the plan serves messages up to 16MiB, so that its pipelines never wrap around in scratch".into()));
}

#[test]
fn the_authors_sizes() {
    let put = moves(ir::Verb::Put, &[local(INPUT, 1, 1)], &[remote(1, OUTPUT, 1, 1)], MEMORY);
    let asked = |min: Option<u64>, max: Option<u64>| {
        let mut program = program(vec![vec![put.clone()]]);
        program.options.min_message_size = min;
        program.options.max_message_size = max;
        program
    };
    let exact = asked(Some(1024), Some(1 << 30));
    clean(&exact);
    let outcome = outcome_of(&exact);
    assert_eq!((outcome.min_message_size, outcome.max_message_size), (1024, 1 << 30));
    let uneven = asked(Some(1000), Some(1000));
    assert_eq!(
        only(&uneven),
        (
            Code::E0805,
            "no message size in 1000 bytes..=1000 bytes is a multiple of 32 bytes".into()
        )
    );
    let rounded = asked(Some(1000), Some(2000));
    assert_eq!(
        only(&rounded),
        (Code::N0301, "the message sizes are rounded to 1KiB..=1984 bytes".into())
    );
    let outcome = outcome_of(&rounded);
    assert_eq!((outcome.min_message_size, outcome.max_message_size), (1024, 1984));
    let huge = asked(None, Some(8 << 30));
    let all = found(&huge);
    assert_eq!(
        all,
        [(
            Code::E0805,
            "the plan cannot serve messages of 8GiB, only up to 4294967264 bytes".into(),
            Some(span(5))
        )]
    );
    let late = asked(Some(2 << 30), None);
    assert_eq!(
        only(&late),
        (Code::E0805, "the smallest message size is 2GiB; it must be below 2GiB".into())
    );
    assert_eq!(only(&asked(Some(8 << 30), None)).0, Code::E0805);
}

#[test]
fn message_size_alone_says_the_same() {
    let put = moves(ir::Verb::Put, &[local(INPUT, 1, 1)], &[remote(1, OUTPUT, 1, 1)], MEMORY);
    let program = program(vec![vec![put]]);
    let (min, max, found) =
        super::message_size(&program, &mut |id| Cow::Borrowed(&program.ranks[id]));
    let outcome = outcome_of(&program);
    assert_eq!((min, max, found.len()), (outcome.min_message_size, outcome.max_message_size, 0));
}

#[test]
fn an_operation_takes_a_thread_for_each_entry() {
    let with = |threads: u32, op: ir::Op| {
        let mut program = program(vec![vec![op]]);
        program.options.threads = threads;
        program
    };
    clean(&with(3, signal(3)));
    let (code, message) = only(&with(2, signal(3)));
    assert_eq!(code, Code::E0802);
    assert!(message.starts_with("this names 3 channels, and a block has 2 threads;"), "{message}");
    let release = op(ir::Action::Release((0..4).map(ir::SemaphoreId).collect()));
    clean(&with(4, release.clone()));
    assert_eq!(only(&with(1, release)).0, Code::E0804);
    let peers = [remote(1, OUTPUT, 0, 1), remote(1, OUTPUT, 1, 1)];
    let put = |via| moves(ir::Verb::Put, &[local(INPUT, 0, 1), local(INPUT, 1, 1)], &peers, via);
    clean(&with(1, put(MEMORY)));
    clean(&with(2, put(PORT)));
    assert_eq!(only(&with(1, put(PORT))).0, Code::E0802);
}

#[test]
fn a_rank_without_blocks() {
    let found = outcome_of(&program(vec![])).diagnostics;
    assert_eq!((found.len(), found[0].code), (1, Code::E0811));
    assert_eq!(found[0].message, "rank 0 has no thread block");
    assert_eq!(found[0].notes.last().map(String::as_str), Some("the same on 1 other rank"));
}
