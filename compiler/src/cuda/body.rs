//! A thread block's operations as statements.
//!
//! In: one block of one rank. Out: its statements, which call operations of `runtime/block.cuh`, with holes for the
//! numbers. In place, the names of both buffers refer to the one that contains the other.

mod port;

use super::layout::Layout;
use super::statement::{Kind, Statement};
use crate::ir::{
    self, Action, Buffer, ChannelId, ChannelKind, Operand, OriginId, Pairing, Program, RankId,
    ReduceOp, Transfer, Verb, Where, memory,
};

/// What the statements of a block depend on.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) program: &'a Program,
    pub(super) layout: &'a Layout,
    pub(super) rank: RankId,
}

/// The statements of a block.
pub(super) fn body(context: Context, ops: &[ir::Op]) -> Vec<Statement> {
    let (mut statements, mut pushed) = (Vec::new(), port::Pushed::default());
    for op in ops {
        port::order(context, op, false, &mut pushed, &mut statements);
        add(context, op, false, &mut pushed, &mut statements);
    }
    statements
}

fn add(
    context: Context,
    op: &ir::Op,
    piped: bool,
    pushed: &mut port::Pushed,
    out: &mut Vec<Statement>,
) {
    let line = Statement::new(usize::from(piped), Some(op.origin));
    match &op.action {
        Action::Sync => out.push(Statement::new(line.depth, None).text("b.sync();")),
        Action::Barrier { id, arrivals } => out.push(
            line.text("b.barrier(")
                .one(Kind::Barrier, id.0)
                .text(", ")
                .one(Kind::Size, *arrivals)
                .text(");"),
        ),
        Action::Signal(signal) => out.push(channels(context, line, true, signal)),
        Action::Wait(signal) => out.push(channels(context, line, false, signal)),
        // Without a network, nothing is in flight.
        Action::Flush(channels) if channels.iter().any(|id| is_port(context, *id)) => {
            out.push(line.text("b.port_flush();"));
        }
        Action::Flush(_) => {}
        Action::Acquire(list) => out.push(semaphores(line, "b.acquire(", list)),
        Action::Release(list) => out.push(semaphores(line, "b.release(", list)),
        Action::Transfer(transfer) if transfer.via == Some(ChannelKind::Port) => {
            port::moved(context, transfer, piped, op.origin, out);
        }
        Action::Transfer(transfer) => moved(context, transfer, piped, op.origin, out),
        Action::Pipeline(pipeline) => {
            let (unit, chunks) = (pipeline.unit, pipeline.chunks);
            out.push(
                line.text(&format!("for (size_t at = 0; at < b.bytes({chunks}); at += {unit}) {{")),
            );
            out.push(Statement::new(1, None).text(&format!(
                "[[maybe_unused]] const ccl::Part part = b.window({chunks}, at, {unit});"
            )));
            pushed.extend(port::put_in_a_turn(&pipeline.body));
            for op in &pipeline.body {
                port::order(context, op, true, pushed, out);
                add(context, op, true, pushed, out);
            }
            out.push(Statement::new(0, None).text("}"));
        }
    }
}

fn channels(context: Context, line: Statement, signals: bool, signal: &ir::Signal) -> Statement {
    let port = signal.channels.iter().any(|id| is_port(context, *id));
    let verb = if signals { "signal" } else { "wait" };
    // Signals and waits over ports are never relaxed.
    let line = match (port, signal.relaxed) {
        (true, _) => line.text(&format!("b.port_{verb}(")),
        (false, true) => line.text(&format!("b.{verb}_relaxed(")),
        (false, false) => line.text(&format!("b.{verb}(")),
    };
    let of = if signals { to_peers } else { from_peers };
    of(context, line, &signal.channels).text(");")
}

/// The peers of channels and, if there are several lanes, the lanes on which they are signaled.
fn to_peers(context: Context, line: Statement, channels: &[ChannelId]) -> Statement {
    let lane = |id: &ChannelId| context.layout.number(context.rank, *id);
    ends(context, line, channels, lane)
}

/// The same for waits: the lanes are those on which the other ends signal.
fn from_peers(context: Context, line: Statement, channels: &[ChannelId]) -> Statement {
    let lane = |id: &ChannelId| {
        let end = channel(context, *id).and_then(|end| end.peer().zip(end.partner));
        end.map_or(0, |(peer, end)| context.layout.number(peer, end))
    };
    ends(context, line, channels, lane)
}

fn ends(
    context: Context,
    line: Statement,
    channels: &[ChannelId],
    lane: impl Fn(&ChannelId) -> u32,
) -> Statement {
    let peer = |id: &ChannelId| {
        channel(context, *id).and_then(ir::Channel::peer).map_or(context.rank.0, |peer| peer.0)
    };
    let line = line.many(Kind::Rank, channels.iter().map(peer).collect());
    if context.layout.lanes < 2 {
        return line;
    }
    line.text(", ").even(Kind::Lane, channels.iter().map(lane).collect())
}

fn channel(context: Context<'_>, id: ChannelId) -> Option<&ir::Channel> {
    context.program.ranks.lookup(context.rank)?.channels.lookup(id)
}

fn is_port(context: Context, id: ChannelId) -> bool {
    channel(context, id).is_some_and(|channel| channel.kind() == ChannelKind::Port)
}

fn semaphores(line: Statement, verb: &str, list: &[ir::SemaphoreId]) -> Statement {
    let numbers = list.iter().map(|id| id.0).collect();
    line.text(verb).many(Kind::Semaphore, numbers).text(");")
}

fn moved(
    context: Context,
    transfer: &Transfer,
    piped: bool,
    origin: OriginId,
    out: &mut Vec<Statement>,
) {
    let depth = usize::from(piped);
    let begin = |verb: &str, operand: &Operand| {
        let line = Statement::new(depth, Some(origin)).text("b.").text(verb).text("(");
        part(line, transfer, operand.size, piped).text(", ")
    };
    let (sources, destinations) = (&*transfer.sources, &*transfer.destinations);
    let ([first, ..], [to, ..]) = (sources, destinations) else { return };
    let to_switch = to.is_switch();
    match transfer.verb.row().pairing {
        Pairing::Combine if first.is_switch() => {
            let verb = if to_switch { "load_reduce_broadcast" } else { "load_reduce" };
            let verb = format!("{verb}<K{}>", operation(context, transfer));
            let line = spots(context, begin(&verb, first), std::slice::from_ref(to), false);
            out.push(
                spots(context, line.text(", "), std::slice::from_ref(first), false).text(");"),
            );
        }
        Pairing::Combine if !transfer.verb.moves_packets() => {
            let line = begin(&format!("reduce<K{}>", operation(context, transfer)), first);
            let line = spots(context, line, destinations, false).text(", ");
            out.push(spots(context, line, sources, false).text(");"));
        }
        Pairing::Combine => {
            let line = begin(&format!("reduce_packets<K{}>", operation(context, transfer)), first);
            let (plain, packets) = destinations.split_at(1);
            let mut line = spots(context, line, plain, false).text(", ");
            if !packets.is_empty() {
                line = spots(context, line, packets, true).text(", ");
            }
            let (plain, packets) = sources.split_at(1);
            let line = spots(context, line, plain, false).text(", ");
            out.push(spots(context, line, packets, true).text(");"));
        }
        Pairing::Pairs | Pairing::OneToAll => {
            let verb = word(transfer.verb);
            let writes = memory::writes_packets(transfer.verb, 0);
            let reads = memory::reads_packets(transfer.verb, 0);
            let mut push = |to: &[Operand], from: &Operand| {
                let line = spots(context, begin(verb, from), to, writes).text(", ");
                out.push(spots(context, line, std::slice::from_ref(from), reads).text(");"));
            };
            if sources.len() == 1 && !to_switch {
                push(destinations, first);
            } else {
                for (k, to) in destinations.iter().enumerate() {
                    push(std::slice::from_ref(to), sources.get(k).unwrap_or(first));
                }
            }
        }
    }
}

/// How much of the operation this block does.
fn part(line: Statement, transfer: &Transfer, size: u32, piped: bool) -> Statement {
    match transfer.slice {
        _ if piped => line.text("part"),
        None => line.text("b.whole(").one(Kind::Size, size).text(")"),
        Some(slice) => line
            .text("b.share(")
            .one(Kind::Size, size)
            .text(", ")
            .one(Kind::Share, slice.index)
            .text(", ")
            .one(Kind::Size, slice.count)
            .text(")"),
    }
}

/// The operation as a template argument; none if all operations are the one that the launch asks for.
fn operation(context: Context, transfer: &Transfer) -> String {
    match context.layout.traits.fixed_op {
        true => format!(", {}", class(transfer.reduce)),
        false => String::new(),
    }
}

/// The class of a reduction in the device header.
pub(super) fn class(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "ccl::Sum",
        ReduceOp::Min => "ccl::Min",
        ReduceOp::Max => "ccl::Max",
    }
}

/// The places of operands: one list for neighbors in one buffer.
fn spots(context: Context, line: Statement, operands: &[Operand], packets: bool) -> Statement {
    let runs: Vec<&[Operand]> = operands
        .chunk_by(|a, b| home(context, a).0 == home(context, b).0 && a.is_local() == b.is_local())
        .collect();
    match runs.as_slice() {
        [only] => spot(context, line, only, packets),
        many => {
            let mut line = line.text("ccl::all(");
            for (k, run) in many.iter().enumerate() {
                line = spot(context, line.text(if k > 0 { ", " } else { "" }), run, packets);
            }
            line.text(")")
        }
    }
}

fn spot(context: Context, line: Statement, run: &[Operand], packets: bool) -> Statement {
    let Some(first) = run.first() else { return line };
    let chunks = run.iter().map(|operand| home(context, operand).1).collect();
    let buffer = accessor(home(context, first).0, packets);
    match first.place {
        Where::Local => line.text(&format!("b.{buffer}(")).many(Kind::Chunk, chunks).text(")"),
        Where::Remote(_) => {
            let ranks = run.iter().filter_map(|operand| operand.place.peer().map(|peer| peer.0));
            let line = line.text(&format!("b.{buffer}(")).even(Kind::Chunk, chunks).text(", ");
            line.many(Kind::Rank, ranks.collect()).text(")")
        }
        Where::Switch(channel) => {
            let line = match first.buffer {
                Buffer::Scratch if packets => line.text("b.multicast_packets("),
                Buffer::Scratch => line.text("b.multicast_scratch("),
                Buffer::Input | Buffer::Output => line.text("b.multicast("),
            };
            line.one(Kind::Group, context.layout.number(context.rank, channel))
                .text(", ")
                .one(Kind::Chunk, first.index)
                .text(")")
        }
    }
}

/// The name of the block's function that gives places in a buffer.
fn accessor(buffer: Buffer, packets: bool) -> &'static str {
    if packets && buffer == Buffer::Scratch { "packets" } else { buffer.word() }
}

/// The buffer and chunk in which an operand is stored; a multicast group has addresses of its own.
fn home(context: Context, operand: &Operand) -> (Buffer, u32) {
    let owner = match operand.place {
        Where::Local => context.rank,
        Where::Remote(peer) => peer,
        Where::Switch(_) => return (operand.buffer, operand.index),
    };
    let alias = context.program.ranks.lookup(owner).and_then(|rank| rank.alias);
    let (buffer, chunk) = memory::home(alias, operand.buffer, operand.index);
    (buffer, u32::try_from(chunk).unwrap_or(u32::MAX))
}

fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Copy => "copy",
        Verb::Put | Verb::PutWithSignal | Verb::PutWithSignalAndFlush => "put",
        Verb::Get => "get",
        Verb::Reduce => "reduce<K>",
        Verb::Broadcast => "broadcast",
        Verb::PutPackets => "put_packets<K>",
        Verb::ReadPutPackets => "read_put_packets<K>",
        Verb::CopyPackets => "copy_packets<K>",
        Verb::UnpackPackets => "unpack_packets<K>",
        Verb::ReducePackets => "reduce_packets<K>",
        Verb::BroadcastPackets => "broadcast_packets<K>",
    }
}
