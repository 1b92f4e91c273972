//! For reports: the nearest synchronization on each side of two unordered operations, that is, what the first one's
//! block signals next and what the second one's block waited for last; and the write that is nearest to a chunk that
//! nobody writes.

use super::event_graph::{Agent, EventGraph, Line, Moment};
use super::names;
use crate::events::{CounterOfRank, Give, Step, Strength, Take};
use crate::ir::counter::CounterKind;
use crate::ir::{
    Action, Buffer, ChannelId, Operand, OperandSide, RankId, SemaphoreId, Verb, Where, memory,
};

/// The next operation of a moment's block that signals others, in any way ([`Line::tells`]).
pub(super) fn after(graph: &EventGraph, moment: Moment) -> Option<Moment> {
    let (agent, line) = graph.line(moment)?;
    let mut behind = (line + 1..).zip(graph.lines(agent).iter().skip(line as usize + 1));
    let (at, _) = behind.find(|(_, line)| line.tells)?;
    Some(Moment { launch: moment.launch, agent, at })
}

/// The operation that announces a moment to others: itself where it signals, otherwise the next one that does.
pub(super) fn teller(graph: &EventGraph, moment: Moment) -> Option<Moment> {
    let (agent, at) = graph.line(moment)?;
    let own = Moment { agent, at, ..moment };
    let signals = line(graph, own).is_some_and(|line| line.tells);
    if signals { Some(own) } else { after(graph, moment) }
}

/// The last operation before a moment, in its block, that waits for others in any way ([`Line::hears`]).
pub(super) fn before(graph: &EventGraph, moment: Moment) -> Option<Moment> {
    let (agent, line) = graph.line(moment)?;
    let lines = graph.lines(agent).get(..line as usize)?;
    let at = lines.iter().rposition(|line| line.hears)?;
    Some(Moment { launch: moment.launch, agent, at: at as u32 })
}

/// The first wait of a block for a signal from a rank.
pub(super) fn first_wait_for(graph: &EventGraph, agent: Agent, peer: RankId) -> Option<Moment> {
    let lines = 0..graph.lines(agent).len() as u32;
    let waits = |at: &u32| {
        let is_from = |take: &Take| graph.peer_of(take.counter) == Some(peer);
        graph.with_step(agent, *at, |step| step.takes.iter().any(is_from)).unwrap_or(false)
    };
    Some(Moment { launch: 0, agent, at: lines.into_iter().find(waits)? })
}

/// The last signal of a block to a rank that is not relaxed.
pub(super) fn last_signal_to(graph: &EventGraph, agent: Agent, peer: RankId) -> Option<Moment> {
    let lines = 0..graph.lines(agent).len() as u32;
    let signals = |at: &u32| {
        let is_to = |give: &Give| {
            let arrives = give.counter.and_then(|id| graph.events().counter(id));
            let is_signal = give.channel.is_some() && give.strength == Strength::Strong;
            is_signal && arrives.is_some_and(|counter| counter.rank == peer)
        };
        // A put with a signal is none that could have come earlier: its data goes with it.
        let look = |step: &Step| {
            let requests = step.requests.iter().filter(|request| request.put.is_none());
            let mut signals = requests.filter_map(|request| request.signal.as_ref());
            step.gives.iter().any(is_to) || signals.any(is_to)
        };
        graph.with_step(agent, *at, look).unwrap_or(false)
    };
    Some(Moment { launch: 0, agent, at: lines.into_iter().rev().find(signals)? })
}

/// "block `main` of rank 3"
pub(super) fn block(graph: &EventGraph, moment: Moment) -> String {
    let Some((agent, _)) = graph.line(moment) else { return "nobody".to_string() };
    let rank = graph.rank(agent);
    let row = graph.program.ranks.lookup(rank);
    let block = row.and_then(|row| row.blocks.iter().nth(graph.number(agent) as usize));
    format!("block `{}` of rank {}", block.map_or("", |block| &block.name), rank.0)
}

/// The text for an operation that signals others: "signals block `main` of rank 0".
pub(super) fn told(graph: &EventGraph, moment: Moment) -> String {
    let Some(line) = line(graph, moment) else { return String::new() };
    let rank = graph.rank(moment.agent);
    match &line.op.action {
        Action::Signal(signal) => {
            let relaxed = if signal.relaxed { " (relaxed)" } else { "" };
            format!("{}{relaxed}", signals(graph, rank, moment, &signal.channels))
        }
        Action::Transfer(transfer) => signals(graph, rank, moment, &transfer.channels),
        Action::Release(list) => format!("releases {}", semaphores(graph, rank, list)),
        Action::Barrier { .. } => "reaches a barrier".to_string(),
        Action::Sync
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Pipeline(_) => String::new(),
    }
}

/// The text for an operation that waits for others: "waits for rank 1".
pub(super) fn heard(graph: &EventGraph, moment: Moment) -> String {
    let Some(line) = line(graph, moment) else { return String::new() };
    let rank = graph.rank(moment.agent);
    match &line.op.action {
        Action::Wait(signal) => {
            let relaxed = if signal.relaxed { " (relaxed)" } else { "" };
            let peers = peers(graph, rank, &signal.channels);
            format!("waits for {}{relaxed}", names::ranks(&peers))
        }
        Action::Acquire(list) => format!("acquires {}", semaphores(graph, rank, list)),
        Action::Barrier { .. } => "reaches a barrier".to_string(),
        Action::Transfer(_) => "waits for packets".to_string(),
        Action::Sync
        | Action::Signal(_)
        | Action::Flush(_)
        | Action::Release(_)
        | Action::Pipeline(_) => String::new(),
    }
}

/// The wait on rank `on` that receives what an operation signals.
pub(super) fn hearer(graph: &EventGraph, told: Moment, on: RankId) -> Option<Moment> {
    let arrivals = graph.with_step(told.agent, told.at, |step| {
        let signals = step.requests.iter().filter_map(|request| request.signal.as_ref());
        let counters = signals.chain(step.gives).filter_map(|give| give.counter);
        counters.filter_map(|id| graph.events().counter(id)).collect::<Vec<CounterOfRank>>()
    })?;
    arrivals.into_iter().filter(|counter| counter.rank == on).find_map(|counter| {
        let CounterKind::Channel(there) = counter.kind else { return None };
        graph.wait_for(on, there, graph.giver(told, there, on)?)
    })
}

/// A chunk of a rank's buffer.
#[derive(Clone, Copy)]
pub(super) struct ChunkOfRank {
    pub(super) owner: RankId,
    pub(super) buffer: Buffer,
    pub(super) chunk: u64,
}

impl ChunkOfRank {
    /// Whether an operation of a rank that has this operand writes the chunk.
    fn is_written(self, access: &memory::Access, from: RankId) -> bool {
        let operand = access.operand;
        let first = u64::from(operand.index);
        let chunks = first..first + u64::from(operand.size);
        access.write
            && operand.buffer == self.buffer
            && lies_on(operand, from, self.owner)
            && chunks.contains(&self.chunk)
    }
}

/// The write that is nearest to a chunk of a rank's buffer, and the chunk that it writes.
pub(super) fn writer(graph: &EventGraph, wanted: ChunkOfRank) -> Option<(Moment, u64)> {
    let ChunkOfRank { owner, buffer, chunk } = wanted;
    let mut nearest: Option<(u64, Moment, u64)> = None;
    for agent in graph.all_blocks() {
        let from = graph.rank(agent);
        for (at, line) in (0..).zip(graph.lines(agent)) {
            let Action::Transfer(transfer) = &line.op.action else { continue };
            for access in memory::accesses(transfer).filter(|access| access.write) {
                let operand = access.operand;
                let there = lies_on(operand, from, owner);
                let last = operand.index.saturating_add(operand.size.saturating_sub(1));
                let written = chunk.clamp(u64::from(operand.index), u64::from(last));
                let away = written.abs_diff(chunk);
                let nearer = nearest.is_none_or(|(best, ..)| away < best);
                if there && operand.buffer == buffer && nearer {
                    nearest = Some((away, Moment { launch: 0, agent, at }, written));
                }
            }
        }
    }
    nearest.map(|(_, moment, written)| (moment, written))
}

/// Whether a moment's operation is the only one that writes to a chunk.
pub(super) fn writes_alone(graph: &EventGraph, moment: Moment, chunk: ChunkOfRank) -> bool {
    let here = graph.line(moment);
    graph.all_blocks().all(|agent| {
        let from = graph.rank(agent);
        (0..).zip(graph.lines(agent)).all(|(at, line)| {
            let mut accesses = line.op.transfer().into_iter().flat_map(memory::accesses);
            here == Some((agent, at)) || !accesses.any(|access| chunk.is_written(&access, from))
        })
    })
}

/// Whether an operation writes packets, which operations on packets read.
pub(super) fn writes_packets(graph: &EventGraph, moment: Moment) -> bool {
    let transfer = line(graph, moment).and_then(|line| line.op.transfer());
    transfer.is_some_and(|transfer| {
        (0..transfer.destinations.len()).any(|index| memory::writes_packets(transfer.verb, index))
    })
}

/// The verb that writes packets where the one at a moment writes plain data.
pub(super) fn packet_verb(graph: &EventGraph, moment: Moment) -> Verb {
    let transfer = line(graph, moment).and_then(|line| line.op.transfer());
    let Some(transfer) = transfer else { return Verb::PutPackets };
    let destinations = &transfer.verb.row().destinations;
    if destinations.has_packets() {
        return transfer.verb;
    }
    if transfer.verb.reduces() {
        return Verb::ReducePackets;
    }
    match destinations.first.sides {
        [OperandSide::Switch] => Verb::BroadcastPackets,
        [OperandSide::Remote] => Verb::PutPackets,
        _ => Verb::CopyPackets,
    }
}

/// Whether a moment's block has written to a chunk before that moment.
pub(super) fn has_written(graph: &EventGraph, moment: Moment, chunk: ChunkOfRank) -> bool {
    let Some((agent, line)) = graph.line(moment) else { return false };
    let from = graph.rank(agent);
    let earlier = graph.lines(agent).iter().take(line as usize);
    let mut accesses = earlier.filter_map(|line| line.op.transfer()).flat_map(memory::accesses);
    accesses.any(|access| chunk.is_written(&access, from))
}

fn lies_on(operand: Operand, from: RankId, owner: RankId) -> bool {
    match operand.place {
        Where::Local => from == owner,
        Where::Remote(peer) => peer == owner,
        Where::Switch(_) => true,
    }
}

fn line<'a, 'p>(graph: &'a EventGraph<'p>, moment: Moment) -> Option<&'a Line<'p>> {
    graph.lines(moment.agent).get(moment.at as usize)
}

/// "signals block `main` of rank 0", "signals ranks 0, 2 and 3".
fn signals(graph: &EventGraph, rank: RankId, moment: Moment, channels: &[ChannelId]) -> String {
    let end = match channels {
        [channel] => graph.program.ranks.lookup(rank).and_then(|row| row.channels.lookup(*channel)),
        _ => None,
    };
    let hearer = end.and_then(|end| Some((end.peer()?, end.partner?))).and_then(|(peer, there)| {
        let signal = graph.giver(moment, there, peer)?;
        graph.wait_for(peer, there, signal)
    });
    match hearer {
        Some(hearer) => format!("signals {}", block(graph, hearer)),
        None => format!("signals {}", names::ranks(&peers(graph, rank, channels))),
    }
}

fn peers(graph: &EventGraph, rank: RankId, channels: &[ChannelId]) -> Vec<u32> {
    let row = graph.program.ranks.lookup(rank);
    let ends = channels.iter().filter_map(|channel| row?.channels.lookup(*channel));
    ends.filter_map(|end| end.peer()).map(|peer| peer.0).collect()
}

fn semaphores(graph: &EventGraph, rank: RankId, list: &[SemaphoreId]) -> String {
    let row = graph.program.ranks.lookup(rank);
    let names = list.iter().filter_map(|id| row?.semaphores.lookup(*id));
    names.map(|row| format!("`{}`", row.name)).collect::<Vec<_>>().join(", ")
}
