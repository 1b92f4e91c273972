//! What operations do: the one place that turns an operation into the effects of its steps.

use super::code::Occurrence;
use super::step::{
    Arrival, CellForm, Give, MemoryExtent, MemoryReach, Move, ProxyRequest, StepSink, Strength,
    Take,
};
use super::{EndOfRank, Events, MeetingId};
use crate::ir::memory::{home, ranks_of, reads_packets, writes_packets};
use crate::ir::threads::find_share;
use crate::ir::{Action, ChannelId, ChannelKind, Operand, RankId, Signal, Transfer, Verb, Where};

/// Whether the threads meet in a step, and the barrier at which it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepMeeting {
    pub(super) is_join: bool,
    pub(super) arrival: Option<Arrival>,
}

impl Events<'_> {
    /// Lets a sink look at the effects of an operation of rank `here`.
    pub(super) fn lower(
        &self,
        here: RankId,
        occurrence: &Occurrence,
        sink: &mut impl StepSink,
    ) -> StepMeeting {
        match &occurrence.op.action {
            Action::Sync => return StepMeeting { is_join: true, arrival: None },
            Action::Barrier { id, arrivals } => {
                let meeting = MeetingId(self.first(here).meeting + id.0);
                let arrival = Some(Arrival { meeting, arrivals: *arrivals });
                return StepMeeting { is_join: true, arrival };
            }
            Action::Signal(signal) => self.lower_signal(here, signal, sink),
            Action::Wait(signal) => {
                for (thread, channel) in (0..).zip(&signal.channels) {
                    let end = EndOfRank { rank: here, channel: *channel };
                    let strength = strength_of(signal.relaxed && !self.is_port(end));
                    sink.take(Take { counter: self.channel_counter(end), thread, strength });
                }
            }
            Action::Flush(channels) => self.lower_flush(here, channels, sink),
            Action::Acquire(semaphores) => {
                for (thread, id) in (0..).zip(semaphores) {
                    let counter = self.semaphore_counter(here, *id);
                    sink.take(Take { counter, thread, strength: Strength::Strong });
                }
            }
            Action::Release(semaphores) => {
                for (thread, id) in (0..).zip(semaphores) {
                    let counter = Some(self.semaphore_counter(here, *id));
                    sink.give(Give { counter, channel: None, thread, strength: Strength::Strong });
                }
            }
            Action::Transfer(transfer) => {
                let is_port = transfer.via == Some(ChannelKind::Port);
                let is_observing =
                    is_port && transfer.verb == Verb::ReadPutPackets && occurrence.site.part == 0;
                let events = self;
                TransferLowering { events, here, occurrence, transfer, is_port, is_observing }
                    .lower(sink);
            }
            // A pipeline in a pipeline is refused: neither plans nor kernels have it.
            Action::Pipeline(_) => {}
        }
        StepMeeting::default()
    }

    /// A port's signal is its proxy's, and always strong.
    fn lower_signal(&self, here: RankId, signal: &Signal, sink: &mut impl StepSink) {
        for (thread, channel) in (0..).zip(&signal.channels) {
            let end = EndOfRank { rank: here, channel: *channel };
            if self.is_port(end) {
                let signal = Some(self.give_over(end, thread, Strength::Strong));
                sink.request(ProxyRequest { signal, ..self.empty_request(end, thread) });
            } else {
                sink.give(self.give_over(end, thread, strength_of(signal.relaxed)));
            }
        }
    }

    /// Only ports have proxies to wait for; and of a plan that was read, the executor goes on at once.
    fn lower_flush(&self, here: RankId, channels: &[ChannelId], sink: &mut impl StepSink) {
        if !self.program.flush_waits {
            return;
        }
        for (thread, channel) in (0..).zip(channels) {
            let end = EndOfRank { rank: here, channel: *channel };
            if self.is_port(end) {
                sink.request(ProxyRequest { awaited: true, ..self.empty_request(end, thread) });
            }
        }
    }

    fn empty_request(&self, end: EndOfRank, thread: u32) -> ProxyRequest {
        ProxyRequest {
            end: self.end_id(end),
            channel: end.channel,
            thread,
            put: None,
            signal: None,
            awaited: false,
        }
    }

    /// A signal over an end of a channel, which arrives at the other end.
    fn give_over(&self, end: EndOfRank, thread: u32, strength: Strength) -> Give {
        let row =
            self.program.ranks.lookup(end.rank).and_then(|rank| rank.channels.lookup(end.channel));
        let other =
            row.and_then(|row| Some(EndOfRank { rank: row.peer()?, channel: row.partner? }));
        let counter = other.map(|other| self.channel_counter(other));
        Give { counter, channel: Some(end.channel), thread, strength }
    }

    fn is_port(&self, end: EndOfRank) -> bool {
        let rank = self.program.ranks.lookup(end.rank);
        let row = rank.and_then(|rank| rank.channels.lookup(end.channel));
        row.is_some_and(|row| row.kind() == ChannelKind::Port)
    }
}

fn strength_of(relaxed: bool) -> Strength {
    if relaxed { Strength::Relaxed } else { Strength::Strong }
}

/// One of the two lists of operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandSide {
    Source,
    Destination,
}

/// An operation that moves data, as it runs once.
struct TransferLowering<'a, 'p> {
    events: &'a Events<'p>,
    here: RankId,
    occurrence: &'a Occurrence<'a>,
    transfer: &'a Transfer,
    /// Whether proxies carry it out.
    is_port: bool,
    /// Whether this is the part in which the threads wait for packets that a proxy moves.
    is_observing: bool,
}

impl TransferLowering<'_, '_> {
    fn lower<S: StepSink>(&self, sink: &mut S) {
        let moves = self.count_moves();
        if S::ASKS_FOR_MEMORY {
            (0..moves).for_each(|entry| self.lower_move(entry, sink));
        }
        if self.is_port && !self.is_observing {
            self.lower_requests(moves, sink);
        }
    }

    /// A reduction is one move; otherwise each destination has one. A single source that goes to several destinations is
    /// observed once.
    fn count_moves(&self) -> usize {
        let destinations = self.transfer.destinations.len();
        let is_one = self.transfer.verb.reduces() || self.is_observing && self.has_single_source();
        if is_one { destinations.min(1) } else { destinations }
    }

    fn has_single_source(&self) -> bool {
        self.transfer.sources.len() == 1
    }

    fn lower_move(&self, entry: usize, sink: &mut impl StepSink) {
        let Transfer { sources, destinations, verb, slice, reduce, .. } = self.transfer;
        let (slice, reduce, is_combined) = (*slice, *reduce, verb.reduces());
        let window = self.occurrence.window.as_ref();
        // Operands of one move have as many chunks as its first destination: otherwise the program is refused.
        let chunks = destinations.get(entry).map_or(0, |operand| operand.size);
        let covered = self.events.class.covered(slice, window, chunks);
        let source = if self.has_single_source() { 0 } else { entry };
        for (number, operand) in sources.iter().enumerate() {
            if is_combined || number == source {
                self.visit_extents(OperandSide::Source, number, operand, covered.start, sink);
            }
        }
        for (number, operand) in destinations.iter().enumerate() {
            if (is_combined || number == entry) && !self.is_observing {
                self.visit_extents(OperandSide::Destination, number, operand, covered.start, sink);
            }
        }
        sink.close_move(Move {
            entry: entry as u32,
            elements: covered.end.saturating_sub(covered.start),
            slice,
            share: find_share(&self.events.program.options, self.transfer),
            is_all: slice.is_none() && window.is_none(),
            reduce,
            // Whoever keeps extents says where.
            reads: 0..0,
            writes: 0..0,
        });
    }

    /// Visits an operand's cells from its element `first` on, on each rank on which it lies.
    fn visit_extents(
        &self,
        side: OperandSide,
        number: usize,
        operand: &Operand,
        first: u64,
        sink: &mut impl StepSink,
    ) {
        let reach = match operand.place {
            Where::Local => MemoryReach::Own,
            Where::Remote(_) => MemoryReach::Peer,
            Where::Switch(_) => MemoryReach::Group,
        };
        let ranks = &self.events.program.ranks;
        for rank in ranks_of(ranks, self.here, operand.place) {
            let Some(row) = ranks.lookup(rank) else { continue };
            let (buffer, chunk) = home(row.alias, operand.buffer, operand.index);
            let extent = MemoryExtent {
                start: self.events.class.cells(chunk).saturating_add(first),
                rank,
                operand: number as u16,
                buffer,
                named: operand.buffer,
                form: self.form(side, number),
                reach,
            };
            match side {
                OperandSide::Source => sink.read(extent),
                OperandSide::Destination => sink.write(extent),
            }
        }
    }

    fn form(&self, side: OperandSide, number: usize) -> CellForm {
        let verb = self.transfer.verb;
        match side {
            OperandSide::Destination if writes_packets(verb, number) => CellForm::Packets,
            OperandSide::Destination => CellForm::Plain,
            // What the block has seen, its proxy does not wait for.
            OperandSide::Source if reads_packets(verb, number) => {
                if self.is_port && !self.is_observing {
                    CellForm::SeenPackets
                } else {
                    CellForm::Packets
                }
            }
            // In plans that were read, `put_packets` over a port sends what it finds as it is.
            OperandSide::Source if self.is_port && verb == Verb::PutPackets => CellForm::RawPackets,
            OperandSide::Source => CellForm::Plain,
        }
    }

    fn lower_requests(&self, moves: usize, sink: &mut impl StepSink) {
        let verb = self.transfer.verb;
        for (thread, channel) in (0..).zip(&self.transfer.channels) {
            let end = EndOfRank { rank: self.here, channel: *channel };
            let signal =
                verb.signals().then(|| self.events.give_over(end, thread, Strength::Strong));
            sink.request(ProxyRequest {
                put: ((thread as usize) < moves).then_some(thread),
                signal,
                awaited: verb.flushes(),
                ..self.events.empty_request(end, thread)
            });
        }
    }
}
