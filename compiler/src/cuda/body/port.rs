//! Operations over ports, as statements: each put is a statement of its own, done by the whole block.

use super::is_port;
use super::{Context, home, part, spots, to_peers};
use crate::cuda::statement::{Kind, Statement};
use crate::ir::{Action, ChannelId, ChannelKind, Op, Operand, OriginId, Transfer, memory};
use std::collections::BTreeSet;

/// The channels over which a block has put something that may not be flushed yet.
pub(super) type Pushed = BTreeSet<ChannelId>;

/// Orders puts and signals behind earlier puts over the same channel. A put with a signal of its own needs no order
/// between the two, but it does with other puts.
pub(super) fn order(
    context: Context,
    op: &Op,
    piped: bool,
    pushed: &mut Pushed,
    out: &mut Vec<Statement>,
) {
    let (channels, puts, flushes) = match &op.action {
        Action::Signal(signal) => (&signal.channels, false, false),
        Action::Transfer(transfer) => (&transfer.channels, true, transfer.verb.flushes()),
        Action::Flush(channels) => (channels, false, true),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => return,
    };
    let ports: Vec<ChannelId> =
        channels.iter().copied().filter(|id| is_port(context, *id)).collect();
    // What other blocks have put is not known here.
    let shared = |id: &ChannelId| context.layout.sharing.is_pushed(context.rank, *id);
    let speaks = !matches!(op.action, Action::Flush(_));
    let behind = |id: &ChannelId| speaks && (pushed.contains(id) || shared(id));
    if ports.iter().any(behind) {
        out.push(Statement::new(usize::from(piped), None).text("b.port_order();"));
        // Whatever comes now is behind all that was put before.
        pushed.clear();
    }
    if flushes && !ports.is_empty() {
        pushed.clear();
    } else if puts {
        pushed.extend(ports);
    }
}

/// What a turn of a pipeline puts without waiting for it: in the next turn, everything comes behind.
pub(super) fn put_in_a_turn(body: &[Op]) -> impl Iterator<Item = ChannelId> {
    let transfers = body.iter().filter_map(Op::transfer);
    let puts = transfers
        .filter(|transfer| transfer.via == Some(ChannelKind::Port) && !transfer.verb.flushes());
    puts.flat_map(|transfer| transfer.channels.iter().copied())
}

/// The statements of a transfer over ports.
pub(super) fn moved(
    context: Context,
    transfer: &Transfer,
    piped: bool,
    origin: OriginId,
    out: &mut Vec<Statement>,
) {
    let packets = memory::writes_packets(transfer.verb, 0);
    let signals = transfer.verb.signals();
    let verb = match (signals, packets) {
        (true, _) => "port_put_with_signal",
        (false, true) => "port_put_packets<K>",
        (false, false) => "port_put",
    };
    let pairs = transfer.destinations.iter().zip(&transfer.channels).enumerate();
    for (k, (to, channel)) in pairs {
        let only = transfer.sources.first().filter(|_| transfer.sources.len() == 1);
        let Some(from) = only.or_else(|| transfer.sources.get(k)) else { continue };
        let line = Statement::new(usize::from(piped), Some(origin)).text(&format!("b.{verb}("));
        let line = part(line, transfer, from.size, piped).text(", ");
        let line = destination(context, line, to, packets).text(", ");
        let line = spots(context, line, std::slice::from_ref(from), packets).text(", ");
        out.push(to_peers(context, line, std::slice::from_ref(channel)).text(");"));
    }
    if transfer.verb.flushes() {
        out.push(Statement::new(usize::from(piped), Some(origin)).text("b.port_flush();"));
    }
}

/// The place of a destination, as the network addresses it.
fn destination(context: Context, line: Statement, to: &Operand, packets: bool) -> Statement {
    let (buffer, chunk) = home(context, to);
    let buffer = super::accessor(buffer, packets);
    let peer = to.place.peer().unwrap_or(context.rank);
    line.text(&format!("b.{buffer}("))
        .one(Kind::Chunk, chunk)
        .text(", b.across(")
        .one(Kind::Rank, peer.0)
        .text("))")
}
