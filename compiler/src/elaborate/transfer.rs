//! Unrolls statements that move data.
//!
//! Checked here is what needs values: the sizes on both sides, whose memory an operand is in, and which channel
//! leads there.

use super::eval::{Eval, Evaluated, Failed};
use super::unroll::{Around, Output, sync_override};
use super::value::Value;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{Expr, Op, Operand, Transfer};
use crate::source::Span;
use crate::table::Id;
use smallvec::SmallVec;

/// The most blocks that can share an operation.
const MAX_SLICES: i64 = ir::MOST_SLICES as i64;

/// An operand with its place in the source.
#[derive(Clone, Copy, Debug)]
struct Placed {
    operand: ir::Operand,
    span: Span,
}

/// A statement with its operands evaluated, before it becomes operations.
struct Draft {
    verb: ir::Verb,
    sources: Vec<Placed>,
    destinations: Vec<Placed>,
    via: Vec<(ir::ChannelId, Span)>,
    /// The first operand after `via`, even if it evaluates to no channels.
    named: Option<Span>,
    reduce: ir::ReduceOp,
    sync: Option<ir::SyncOverride>,
    slice: Option<ir::Slice>,
    origin: ir::OriginId,
    span: Span,
    verb_span: Span,
}

impl<'a> Eval<'_, 'a> {
    /// Unrolls a statement that moves data.
    pub(super) fn transfer(
        &mut self,
        out: &mut Output,
        around: &Around,
        transfer: &'a Transfer,
        span: Span,
    ) -> Evaluated<()> {
        let sources = self.chunks_of(&transfer.sources)?;
        let destinations = self.chunks_of(&transfer.destinations)?;
        let via = self.channels_of(&transfer.via)?;
        let slice = match &transfer.slice {
            Some((index, count)) => Some(self.slice_of(index, count, around)?),
            None => None,
        };
        if sources.is_empty() || destinations.is_empty() {
            return Ok(());
        }
        let draft = Draft {
            verb: transfer.verb,
            sources,
            destinations,
            via,
            named: transfer
                .via
                .first()
                .map(|(Operand::One(expr) | Operand::Each(_, expr))| expr.span),
            reduce: transfer.op.map_or(out.op, |(op, _)| reduce_op(op)),
            sync: sync_override(transfer.sync),
            slice,
            origin: self.new_origin(out, around, span),
            span,
            verb_span: transfer.verb_span,
        };
        self.check_draft(out, &draft, around)?;
        match draft.verb.row().pairing {
            ir::Pairing::Combine => self.reduction(out, around, draft),
            ir::Pairing::Pairs | ir::Pairing::OneToAll => self.pairs(out, around, &draft),
        }
    }

    /// `slice = 1 of 4`
    fn slice_of(
        &mut self,
        index: &'a Expr,
        count: &'a Expr,
        around: &Around,
    ) -> Evaluated<ir::Slice> {
        if around.group {
            return Err(self.fail(index, slice_in_group(index.span.to(count.span))));
        }
        let (part, of) = (self.int(index)?, self.int(count)?);
        match (1..=MAX_SLICES).contains(&of) && (0..of).contains(&part) {
            true => Ok(ir::Slice { index: part as u32, count: of as u32 }),
            false => Err(self.fail(index, no_slice(index.span.to(count.span), part, of))),
        }
    }

    fn chunks_of(&mut self, operands: &'a [Operand]) -> Evaluated<Vec<Placed>> {
        let values = self.operands(operands)?;
        let chunk = |(value, span)| {
            let Value::Chunk(operand) = value else { return Err(Failed) };
            Ok(Placed { operand, span })
        };
        values.into_iter().map(chunk).collect()
    }

    fn channels_of(&mut self, operands: &'a [Operand]) -> Evaluated<Vec<(ir::ChannelId, Span)>> {
        let values = self.operands(operands)?;
        let channel = |(value, span)| {
            let Value::Channel(id) = value else { return Err(Failed) };
            Ok((id, span))
        };
        values.into_iter().map(channel).collect()
    }

    /// Checks what must hold for every verb: sizes agree, packets are in scratch, the input is not written by
    /// accident.
    fn check_draft(&mut self, out: &Output, draft: &Draft, around: &Around) -> Evaluated<()> {
        let all = || draft.sources.iter().chain(&draft.destinations);
        let first = all().next().copied();
        if let Some(first) = first
            && let Some(other) = all().find(|placed| placed.operand.size != first.operand.size)
        {
            let (a, b) = (self.text(first.operand), self.text(other.operand));
            let report = sizes_differ(first, *other, &a, &b);
            return Err(self.report(out, around, report));
        }
        let (read, packed) = ir::memory::packets(draft.verb, &draft.sources, &draft.destinations);
        let mut packets = read.into_iter().chain(packed);
        if let Some(plain) = packets.find(|placed| placed.operand.buffer != ir::Buffer::Scratch) {
            return Err(self.report(out, around, plain_packets(plain.span)));
        }
        let written =
            draft.destinations.iter().find(|placed| placed.operand.buffer == ir::Buffer::Input);
        if let (Some(written), false, None) = (written, around.clobber, self.own.alias) {
            let text = self.text(written.operand);
            return Err(self.report(out, around, clobbered(written.span, &text)));
        }
        Ok(())
    }

    /// Pairs sources with destinations; a single source is paired with every destination.
    fn pairs(&mut self, out: &mut Output, around: &Around, draft: &Draft) -> Evaluated<()> {
        let (from, to) = (draft.sources.len(), draft.destinations.len());
        if from != to && from != 1 {
            return Err(self.report(out, around, no_pairs(draft.span, from, to)));
        }
        let reads_peer = draft.verb.row().sources.is_away();
        let remote_side = if reads_peer { &draft.sources } else { &draft.destinations };
        let channels = self.routes(out, draft, around, remote_side)?;
        self.check_sides(out, draft, around)?;
        // One operation for each kind of channel, in the order in which the kinds first occur.
        let mut kinds: SmallVec<[Option<ir::ChannelKind>; 2]> = SmallVec::new();
        let kind_of = |channel: &Option<ir::ChannelId>| {
            channel.and_then(|id| self.own.links.get(id.index())).map(ir::Link::kind)
        };
        for channel in &channels {
            let kind = kind_of(channel);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let mut ops = Vec::new();
        for via in kinds {
            let picked: Vec<usize> = channels
                .iter()
                .enumerate()
                .filter(|(_, c)| kind_of(c) == via)
                .map(|(i, _)| i)
                .collect();
            let pick = |side: &[Placed]| -> SmallVec<[ir::Operand; 1]> {
                match side {
                    [single] => std::iter::once(single.operand).collect(),
                    _ => picked
                        .iter()
                        .filter_map(|i| side.get(*i))
                        .map(|placed| placed.operand)
                        .collect(),
                }
            };
            ops.push(ir::Transfer {
                verb: draft.verb,
                sources: pick(&draft.sources),
                destinations: pick(&draft.destinations),
                via,
                channels: picked
                    .iter()
                    .filter_map(|i| channels.get(*i).copied().flatten())
                    .collect(),
                slice: draft.slice,
                reduce: ir::ReduceOp::Sum,
            });
        }
        for transfer in ops {
            self.emit_transfer(out, around, draft, transfer)?;
        }
        Ok(())
    }

    /// A reduction; with a single source, it is a copy.
    fn reduction(&mut self, out: &mut Output, around: &Around, mut draft: Draft) -> Evaluated<()> {
        let is_switch = |placed: &&Placed| placed.operand.is_switch();
        let switches = draft.sources.iter().chain(&draft.destinations).filter(is_switch).count();
        if switches > 0 && (draft.sources.len() > 1 || draft.destinations.len() > 1) {
            return Err(self.report(out, around, switch_alone(draft.span)));
        }
        // The executor takes this rank's operands first. The order says how sums are rounded, and is the same everywhere.
        draft.sources.sort_by_key(|placed| !placed.operand.is_local());
        // The executor needs the local destination first.
        draft.destinations.sort_by_key(|placed| !placed.operand.is_local());
        if switches == 0 && draft.destinations.first().is_some_and(|d| !d.operand.is_local()) {
            return Err(self.report(out, around, no_local_result(draft.span)));
        }
        if switches == 0 && draft.sources.len() == 1 {
            return self.single_source(out, around, draft);
        }
        let remote: Vec<Placed> = draft
            .sources
            .iter()
            .chain(&draft.destinations)
            .filter(|p| !p.operand.is_local())
            .copied()
            .collect();
        let channels = self.routes(out, &draft, around, &remote)?;
        let via = channels
            .iter()
            .flatten()
            .find_map(|id| self.own.links.get(id.index()))
            .map(ir::Link::kind);
        if let Some(wrong) = via.filter(|kind| *kind == ir::ChannelKind::Port) {
            return Err(self.report(out, around, wrong_kind(draft.verb_span, draft.verb, wrong)));
        }
        let transfer = ir::Transfer {
            verb: draft.verb,
            sources: draft.sources.iter().map(|placed| placed.operand).collect(),
            destinations: draft.destinations.iter().map(|placed| placed.operand).collect(),
            via,
            channels: channels.into_iter().flatten().collect(),
            slice: draft.slice,
            reduce: draft.reduce,
        };
        self.emit_transfer(out, around, &draft, transfer)
    }

    /// A reduction with one source: a copy to each destination, except onto the source itself.
    fn single_source(&mut self, out: &mut Output, around: &Around, draft: Draft) -> Evaluated<()> {
        let Some(source) = draft.sources.first().copied() else { return Ok(()) };
        let packets = draft.verb == ir::Verb::ReducePackets;
        let operands: Vec<Placed> =
            std::iter::once(source).chain(draft.destinations.iter().copied()).collect();
        let mut ways = self.routes(out, &draft, around, &operands)?.into_iter();
        let (mut from, mut way_from) = (source, ways.next().flatten());
        for (position, (destination, way)) in draft.destinations.iter().zip(ways).enumerate() {
            if destination.operand == source.operand {
                continue;
            }
            let verb = match (destination.operand.place, from.operand.place) {
                (ir::Where::Local, ir::Where::Remote(_)) => ir::Verb::Get,
                (ir::Where::Local, _) if packets && position > 0 => ir::Verb::CopyPackets,
                (ir::Where::Local, _) => ir::Verb::Copy,
                (ir::Where::Remote(_) | ir::Where::Switch(_), _) if packets => ir::Verb::PutPackets,
                (ir::Where::Remote(_) | ir::Where::Switch(_), _) => ir::Verb::Put,
            };
            let via = way_from.or(way).map(|id| (id, destination.span)).into_iter().collect();
            let (sources, destinations) = (vec![from], vec![*destination]);
            self.pairs(out, around, &Draft { verb, sources, destinations, via, ..draft })?;
            if position == 0 {
                (from, way_from) = (*destination, None);
            }
        }
        Ok(())
    }

    /// The channel of every operand; none for a local one.
    fn routes(
        &mut self,
        out: &Output,
        draft: &Draft,
        around: &Around,
        side: &[Placed],
    ) -> Evaluated<Vec<Option<ir::ChannelId>>> {
        let remote = side.iter().filter(|placed| placed.operand.is_remote()).count();
        let mut routes = Vec::with_capacity(side.len());
        let mut turn = 0;
        for placed in side {
            routes.push(match placed.operand.place {
                ir::Where::Local => None,
                ir::Where::Switch(channel) => Some(channel),
                ir::Where::Remote(peer) => {
                    let in_turn =
                        draft.via.get(turn).filter(|_| draft.via.len() == remote).copied();
                    turn += 1;
                    Some(self.route(out, draft, around, *placed, peer, in_turn)?)
                }
            });
        }
        Ok(routes)
    }

    /// The channel to `peer`: the one at the operand's position if there are as many channels as remote operands;
    /// otherwise the only one that leads there.
    fn route(
        &mut self,
        out: &Output,
        draft: &Draft,
        around: &Around,
        placed: Placed,
        peer: ir::RankId,
        in_turn: Option<(ir::ChannelId, Span)>,
    ) -> Evaluated<ir::ChannelId> {
        let own = self.own.clone();
        let leads =
            |id: ir::ChannelId| own.links.get(id.index()).and_then(ir::Link::peer) == Some(peer);
        if let Some((id, _)) = in_turn.filter(|(id, _)| leads(*id)) {
            return Ok(id);
        }
        let mut matching = draft.via.iter().filter(|(id, _)| leads(*id));
        match (matching.next(), matching.next()) {
            (Some((id, _)), None) => Ok(*id),
            (Some((_, span)), Some(_)) => Err(self.report(out, around, two_ways(*span, peer))),
            (None, _) => {
                let text = self.slice_text(placed.operand);
                let goes = draft
                    .via
                    .iter()
                    .find_map(|(id, _)| own.links.get(id.index()).and_then(ir::Link::peer));
                let via = draft.via.first().map(|(_, span)| *span).or(draft.named);
                Err(self.report(out, around, no_way(placed.span, via, &text, peer, goes)))
            }
        }
    }

    /// Checks the sides and the channels: puts write to peers, gets read from peers, everything else is local,
    /// and the verb can use the kind of channel.
    fn check_sides(&mut self, out: &Output, draft: &Draft, around: &Around) -> Evaluated<()> {
        let local = |placed: &&Placed| placed.operand.is_local();
        let row = draft.verb.row();
        let (reads_peer, writes_peer) = (row.sources.is_away(), row.destinations.is_away());
        let wrong_source = draft.sources.iter().find(|placed| local(placed) == reads_peer);
        let wrong_destination =
            draft.destinations.iter().find(|placed| local(placed) == writes_peer);
        if let Some(placed) = wrong_source {
            return Err(self.report(
                out,
                around,
                wrong_side(draft.verb, placed.span, reads_peer, "reads"),
            ));
        }
        if let Some(placed) = wrong_destination {
            return Err(self.report(
                out,
                around,
                wrong_side(draft.verb, placed.span, writes_peer, "writes"),
            ));
        }
        let own = self.own.clone();
        let kinds = draft
            .via
            .iter()
            .filter_map(|(id, span)| own.links.get(id.index()).map(|link| (link.kind(), *span)));
        for (kind, span) in kinds {
            if !row.channels.contains(&kind) {
                return Err(self.report(out, around, wrong_kind(span, draft.verb, kind)));
            }
        }
        Ok(())
    }

    fn emit_transfer(
        &mut self,
        out: &mut Output,
        around: &Around,
        draft: &Draft,
        transfer: ir::Transfer,
    ) -> Evaluated<()> {
        let op = ir::Op {
            action: ir::Action::Transfer(transfer),
            origin: draft.origin,
            sync: draft.sync,
        };
        self.emit(out, around, op, draft.span)
    }

    /// Reports a mistake, with the loop values of the statement.
    pub(super) fn report(
        &mut self,
        out: &Output,
        around: &Around,
        diagnostic: Diagnostic,
    ) -> Failed {
        self.fail_at(out.origins.binding_values(around.binding).join(", "), diagnostic)
    }

    /// An operand as it is named in a message: "`output[3]` of rank 2".
    fn text(&self, operand: ir::Operand) -> String {
        let slice = self.slice_text(operand);
        match operand.place {
            ir::Where::Local | ir::Where::Switch(_) => slice,
            ir::Where::Remote(peer) => format!("{slice} of rank {}", peer.0),
        }
    }

    /// The same without its rank. Scratch is named by its region, which says more than an index into all of
    /// scratch.
    fn slice_text(&self, operand: ir::Operand) -> String {
        if operand.buffer == ir::Buffer::Scratch {
            return format!("`{}`", self.region_name(operand));
        }
        let name = operand.buffer.word();
        match operand.size {
            1 => format!("`{name}[{}]`", operand.index),
            size => format!("`{name}[{}..+{size}]`", operand.index),
        }
    }

    fn region_name(&self, operand: ir::Operand) -> &'a str {
        let declared = self.declared(operand.place);
        let mut regions = self.world.program.scratch.iter().zip(&declared.regions);
        let holds = |family: &super::world::Family| {
            let at = u64::from(operand.index);
            (family.first..family.first + family.domain.len()).contains(&at)
        };
        let region = regions.find(|(_, family)| family.as_ref().is_some_and(holds));
        region.map_or("scratch", |(region, _)| region.name.as_str())
    }
}

/// The reduction in the IR.
pub(super) fn reduce_op(op: Op) -> ir::ReduceOp {
    match op {
        Op::Sum => ir::ReduceOp::Sum,
        Op::Min => ir::ReduceOp::Min,
        Op::Max => ir::ReduceOp::Max,
    }
}

fn count_text(size: u32) -> String {
    if size == 1 { "1 chunk".to_string() } else { format!("{size} chunks") }
}

fn sizes_differ(first: Placed, other: Placed, a: &str, b: &str) -> Diagnostic {
    let (one, two) = (count_text(first.operand.size), count_text(other.operand.size));
    Diagnostic::new(Code::E0309, other.span, format!("{b} is {two}, but {a} is {one}"))
        .and(first.span, one)
        .help("all operands of an operation must have the same size; `..+n` makes it explicit")
}

fn plain_packets(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0210, span, "packets can only be in scratch")
        .help("a packet takes twice its payload, which only a scratch region has room for")
}

fn clobbered(span: Span, text: &str) -> Diagnostic {
    Diagnostic::new(Code::E0504, span, format!("{text} is written, but the collective is not in place"))
        .note("the input belongs to the user, who does not expect it to change")
        .help("write to `output` or scratch; or set `in_place = true`; or accept it: `#[allow(clobber, \"why\")]`")
}

fn no_pairs(span: Span, from: usize, to: usize) -> Diagnostic {
    Diagnostic::new(Code::E0310, span, format!("{from} sources cannot go to {to} destinations"))
        .help("they pair up one by one; a single source goes to all destinations")
}

fn switch_alone(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0310,
        span,
        "a reduction through a switch has one source and one destination",
    )
    .help("write `reduce nvls.input[i] -> d`, and the rest in statements of its own")
}

fn no_local_result(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, span, "a reduction needs a destination on this rank")
        .help("name one before those on peers: `reduce a, b -> d, p.e via c`")
}

fn two_ways(span: Span, peer: ir::RankId) -> Diagnostic {
    Diagnostic::new(Code::E0308, span, format!("two of these channels lead to rank {}", peer.0))
        .help("name as many channels as there are remote operands, in their order")
}

fn no_way(
    span: Span,
    via: Option<Span>,
    text: &str,
    peer: ir::RankId,
    goes: Option<ir::RankId>,
) -> Diagnostic {
    let nobody = format!("no channel leads to rank {}, where {text} is", peer.0);
    let (place, message) = match (via, goes) {
        (Some(via), Some(goes)) => (
            via,
            format!("this channel leads to rank {}, but {text} is on rank {}", goes.0, peer.0),
        ),
        (Some(via), None) => (via, nobody),
        (None, _) => (span, nobody),
    };
    let report = Diagnostic::new(Code::E0308, place, message);
    match (via, goes) {
        (Some(_), Some(_)) => report.and(span, format!("on rank {}", peer.0)),
        (Some(_), None) => report
            .label("this names no channel on this rank")
            .and(span, format!("on rank {}", peer.0))
            .note("a family has members only for the indices that its declaration lists")
            .help("write the statement in a `for` over that list, `for q in .. { .. via c[q]; }`: a rank without the channel then has no such statement"),
        (None, _) => report.help("name it with `via`"),
    }
}

fn wrong_side(verb: ir::Verb, span: Span, wants_peer: bool, does: &str) -> Diagnostic {
    let word = verb.word();
    let is_switched = verb.row().destinations.first.sides.contains(&ir::OperandSide::Switch);
    let message = if wants_peer && is_switched {
        format!(
            "`{word}` {does} through a switch channel, as in `nvls.output[i]`, and this does not"
        )
    } else if wants_peer {
        format!("`{word}` {does} another rank's memory, but this is this rank's")
    } else {
        format!("`{word}` {does} this rank's memory, but this is not")
    };
    Diagnostic::new(Code::E0308, span, message)
        .help("use `copy` within a rank, `put` to a peer, `get` from a peer")
}

fn wrong_kind(span: Span, verb: ir::Verb, kind: ir::ChannelKind) -> Diagnostic {
    Diagnostic::new(Code::E0209, span, format!("{} cannot do `{}`", kind.noun(), verb.word()))
        .help("where channels are of different kinds, let an `if` with the condition of their declaration choose the statement")
}

fn slice_in_group(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0214,
        span,
        "in a group, an operation is divided among the blocks already",
    )
    .help("remove `slice = ..`, or write the operation in a `block`")
}

fn no_slice(span: Span, part: i64, of: i64) -> Diagnostic {
    Diagnostic::new(Code::E0312, span, format!("there is no part {part} of {of}"))
        .help(format!("parts are counted from 0, and there are 1 to {MAX_SLICES} of them"))
}
