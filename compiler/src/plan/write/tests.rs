//! Small programs built by hand, and the text that they become.

use super::*;
use crate::source::{FileId, Place, Span};

fn local(buffer: ir::Buffer, index: u32) -> ir::Operand {
    ir::Operand { place: ir::Where::Local, buffer, index, size: 1 }
}

fn remote(rank: u32, buffer: ir::Buffer, index: u32) -> ir::Operand {
    ir::Operand { place: ir::Where::Remote(ir::RankId(rank)), buffer, index, size: 1 }
}

fn op(action: ir::Action) -> ir::Op {
    ir::Op { action, origin: ir::OriginId(0), sync: None }
}

fn transfer(
    verb: ir::Verb,
    sources: &[ir::Operand],
    destinations: &[ir::Operand],
    via: Option<ir::ChannelKind>,
    channels: &[u32],
) -> ir::Transfer {
    ir::Transfer {
        verb,
        sources: sources.into(),
        destinations: destinations.into(),
        via,
        channels: channels.iter().map(|id| ir::ChannelId(*id)).collect(),
        slice: None,
        reduce: ir::ReduceOp::Sum,
    }
}

fn channel(link: ir::Link) -> ir::Channel {
    ir::Channel { name: "c".into(), link, partner: None, origin: ir::OriginId(0), shared: false }
}

/// A program of one rank with one block and the channels mem 0:r1, port 0:r1, mem 1:r2.
fn program(ops: Vec<ir::Op>) -> ir::Program {
    let rank = ir::Rank {
        input_chunks: 1,
        output_chunks: 2,
        scratch_chunks: 3,
        channels: vec![
            channel(ir::Link::Memory(ir::RankId(1))),
            channel(ir::Link::Port(ir::RankId(1))),
            channel(ir::Link::Memory(ir::RankId(2))),
        ]
        .into(),
        semaphores: vec![ir::Semaphore {
            name: "s".into(),
            initial: 2,
            origin: ir::OriginId(0),
            shared: false,
        }]
        .into(),
        blocks: vec![ir::Block { name: "b".into(), ops, origin: ir::OriginId(0) }].into(),
        ..ir::Rank::default()
    };
    let place = Place::Source(Span { file: FileId(0), start: 0, end: 0 });
    ir::Program {
        collective: ir::Collective {
            name: "allgather".into(),
            arguments: Vec::new(),
            in_place: true,
            op: ir::ReduceOp::Sum,
            place: None,
        },
        options: ir::Options { name: "a \"b\"".into(), ..ir::Options::default() },
        ranks: vec![rank].into(),
        ranks_per_node: 1,
        ranks_per_domain: 1,
        machine: None,
        origins: ir::Origins {
            rows: vec![ir::Origin { place, binding: None }].into(),
            ..ir::Origins::default()
        },
        joins: ir::Joins::Explicit,
        flush_waits: true,
        instances_done: 1,
        chunk_size: None,
    }
}

fn text(program: &ir::Program) -> String {
    let mut out = Vec::new();
    write(program, &mut out).expect("a vector takes all");
    String::from_utf8(out).expect("UTF-8")
}

/// The lines between the first `"ops":[` and its `]`.
fn lines(ops: Vec<ir::Op>) -> String {
    let all = text(&program(ops));
    let (_, rest) = all.split_once("\"ops\":[\n").expect("operations");
    rest.split_once("\n],\"channels\"").expect("their end").0.to_string()
}

#[test]
fn the_whole_frame() {
    let signal = ir::Signal { channels: [ir::ChannelId(2)].into_iter().collect(), relaxed: true };
    let expected = r#"{"name":"a \"b\"","collective":"allgather","protocol":"Simple","inplace":true,"reuse_resources":false,"gpus":[
{"id":0,"input_chunks":1,"output_chunks":2,"scratch_chunks":3,"threadblocks":[
{"id":0,"ops":[
{"name":"rlxsignal","channel_ids":[0],"channel_type":"memory"}
],"channels":[{"channel_type":"memory","channel_ids":[1]}],"remote_buffer_refs":[]}],"channels":[
{"channel_type":"memory","connected_to":[1,2]},
{"channel_type":"port","connected_to":[1]}],"remote_buffers":[],"semaphores":[{"init_value":2}]}
],"num_threads_per_block":1024,"use_double_scratch_buffer":false,"buffer_alignment":16,"min_message_size":0,"max_message_size":18446744073709551615}
"#;
    assert_eq!(text(&program(vec![op(ir::Action::Signal(signal))])), expected);
}

#[test]
fn a_single_source_of_a_put_is_written_for_each_destination() {
    let put = transfer(
        ir::Verb::Put,
        &[local(ir::Buffer::Output, 1)],
        &[remote(2, ir::Buffer::Output, 1), remote(1, ir::Buffer::Output, 1)],
        Some(ir::ChannelKind::Memory),
        &[2, 0],
    );
    let all = text(&program(vec![op(ir::Action::Transfer(put))]));
    assert!(all.contains(r#"{"name":"put","src_buff":[{"type":"o","index":1,"size":1},{"type":"o","index":1,"size":1}],"dst_buff":[{"buffer_id":0,"index":1,"size":1},{"buffer_id":1,"index":1,"size":1}],"channel_type":"memory"}"#), "{all}");
    assert!(all.contains(r#""channels":[{"channel_type":"memory","channel_ids":[1,0]}],"remote_buffer_refs":[{"access_channel_type":"memory","remote_buffer_ids":[0,1]}]"#), "{all}");
    assert!(
        all.contains(
            "{\"rank\":2,\"type\":\"o\",\"access_channel_types\":[\"memory\"]},\n{\"rank\":1,"
        ),
        "{all}"
    );
}

#[test]
fn reductions_take_local_operands_first() {
    let reduce = transfer(
        ir::Verb::Reduce,
        &[remote(1, ir::Buffer::Input, 0), local(ir::Buffer::Input, 0)],
        &[local(ir::Buffer::Output, 0), remote(1, ir::Buffer::Output, 0)],
        Some(ir::ChannelKind::Memory),
        &[0, 0],
    );
    assert_eq!(
        lines(vec![op(ir::Action::Transfer(reduce))]),
        r#"{"name":"rres","src_buff":[{"type":"i","index":0,"size":1},{"buffer_id":0,"index":0,"size":1}],"dst_buff":[{"type":"o","index":0,"size":1},{"buffer_id":1,"index":0,"size":1}],"channel_type":"memory","reduce_op":"sum"}"#
    );
}

#[test]
fn one_buffer_over_two_kinds_of_channel_is_one_remote_buffer() {
    let (to, from) = (remote(1, ir::Buffer::Output, 0), local(ir::Buffer::Input, 0));
    let memory = transfer(ir::Verb::Put, &[from], &[to], Some(ir::ChannelKind::Memory), &[0]);
    let port = transfer(
        ir::Verb::PutWithSignalAndFlush,
        &[from],
        &[to],
        Some(ir::ChannelKind::Port),
        &[1],
    );
    let all =
        text(&program(vec![op(ir::Action::Transfer(memory)), op(ir::Action::Transfer(port))]));
    assert!(all.contains(r#""channel_ids":[0],"channel_type":"port"}"#), "{all}");
    assert!(
        all.contains(r#"{"rank":1,"type":"o","access_channel_types":["memory","port"]}]"#),
        "{all}"
    );
}

#[test]
fn numbers_are_decimal() {
    let (rank, mut digits) = (ir::Rank::default(), String::new());
    let mut writer = RankWriter::new(ir::RankId(0), &rank);
    for number in [0, 9, 10, 4096, u64::MAX] {
        writer.number(number);
        writer.text(" ");
        digits += &format!("{number} ");
    }
    assert_eq!(String::from_utf8(writer.out).expect("UTF-8"), digits);
}
