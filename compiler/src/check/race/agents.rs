//! Agents: thread blocks and the proxies of port channels, numbered over all ranks.
//!
//! A proxy carries out requests in the order in which they were pushed. Where several blocks push to one channel, that
//! order is not certain, so the channel then counts as several proxies, one for each of these blocks. With each of these
//! comes a queue, an agent whose steps are the pushes: who knows of them knows what comes first. Where an agent is looked up
//! that does not exist, nothing is concluded from what was found ([`Agents::is_lost`]).

use super::turn::{Turn, TurnId};
use crate::check::pushers;
use crate::events::{Events, SizeClass};
use crate::ir::{BlockId, ChannelId, ChannelKind, Program, Rank, RankId};
use crate::table::{Id, Rows, Table};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// A thread block, or the proxy of a port channel. Blocks come first, rank by rank, then the proxies, rank by rank. On
/// ranks that are represented by another one, they are in the order of that rank's.
pub(super) type Agent = u32;

/// The number that means no agent.
pub(super) const NOBODY: Agent = Agent::MAX;

/// All agents of a program.
#[derive(Debug)]
pub(super) struct Agents {
    blocks: Table<RankId, Range<Agent>>,
    proxies: Table<RankId, Range<Agent>>,
    /// For each channel of the followed ranks, the index of its first proxy among the rank's proxies; if it has none, that
    /// of the next one.
    ports: Rows<RankId, u32>,
    /// For each proxy of the followed ranks, its channel.
    channels: Rows<RankId, ChannelId>,
    /// For each proxy of the followed ranks, the rank at the other end of its channel.
    peers: Rows<RankId, RankId>,
    /// The blocks that push to a channel of a followed rank, ascending, if there are several.
    pushers: BTreeMap<(RankId, ChannelId), Vec<BlockId>>,
    /// The rank of each agent.
    owners: Vec<u32>,
    turn: Turn,
    /// Whether an agent was looked up that does not exist: then nothing is known.
    lost: Cell<bool>,
}

impl Agents {
    /// The agents of a program whose ranks have this symmetry.
    pub(super) fn new(program: &Program, turn: Turn) -> Agents {
        let mut owners = Vec::new();
        let mut some = |rank: RankId, count: usize| {
            let first = owners.len();
            owners.resize(first + count, rank.0);
            first as Agent..owners.len() as Agent
        };
        let mut blocks = Table::default();
        for (id, rank) in program.ranks.entries() {
            blocks.push(some(id, rank.blocks.len()));
        }
        let followed = turn.first(program.ranks.len() as u32) as usize;
        let events = Events::new(program, SizeClass::Outline);
        let ranks = || program.ranks.entries().take(followed);
        let pushers: BTreeMap<_, _> =
            ranks().flat_map(|(id, _)| pushers::list_shared_ports(&events, id)).collect();
        let proxies_of = |id: RankId, channel: ChannelId| {
            pushers.get(&(id, channel)).map_or(1, |blocks| 2 * blocks.len())
        };
        let ports_of = |(id, rank): (RankId, &Rank)| -> Vec<ChannelId> {
            let ports = rank.channels.entries();
            let ports = ports.filter(|(_, one)| one.kind() == ChannelKind::Port);
            ports.flat_map(|(port, _)| vec![port; proxies_of(id, port)]).collect()
        };
        let channels = Rows::new(ranks().map(ports_of));
        let mut proxies = Table::default();
        for id in program.ranks.ids() {
            proxies.push(some(id, channels.row(turn.home(id).0).len()));
        }
        let ports = ranks().map(|(id, rank)| {
            let mut next = 0;
            let first = rank.channels.entries().map(|(channel, row)| {
                let port = next;
                let is_port = row.kind() == ChannelKind::Port;
                next += if is_port { proxies_of(id, channel) as u32 } else { 0 };
                port
            });
            first.collect::<Vec<u32>>()
        });
        let peers = ranks().map(|(id, rank)| {
            let peer = |channel: &ChannelId| rank.channels.lookup(*channel)?.peer();
            channels.row(id).iter().filter_map(peer).collect::<Vec<RankId>>()
        });
        let (ports, peers) = (Rows::new(ports), Rows::new(peers));
        debug_assert!(
            ranks().all(|(id, _)| channels.row(id).len() == peers.row(id).len()),
            "a port leads to a rank"
        );
        let lost = Cell::new(false);
        Agents { blocks, proxies, ports, channels, peers, pushers, owners, turn, lost }
    }

    /// The agents that are a rank's blocks.
    pub(super) fn blocks(&self, rank: RankId) -> Range<Agent> {
        self.blocks.lookup(rank).cloned().unwrap_or_default()
    }

    /// The rank of a block; none of a proxy.
    pub(super) fn rank_of_block(&self, agent: Agent) -> Option<RankId> {
        self.owners.get(agent as usize).map(|rank| RankId(*rank)).filter(|_| !self.is_proxy(agent))
    }

    /// The rank of an agent; for [`NOBODY`], a rank that does not exist.
    pub(super) fn rank(&self, agent: Agent) -> RankId {
        RankId(self.owners.get(agent as usize).copied().unwrap_or(NOBODY))
    }

    /// The agent's counterpart on its representative, and the turn that leads from there to it.
    pub(super) fn home(&self, agent: Agent) -> (Agent, TurnId) {
        let by = self.owners.get(agent as usize).map_or(0, |rank| self.turn.home(RankId(*rank)).1);
        (self.moved(agent, self.turn.back(by)), by)
    }

    /// Whether an agent is a proxy.
    pub(super) fn is_proxy(&self, agent: Agent) -> bool {
        self.blocks.iter().next_back().is_some_and(|last| agent >= last.end)
    }

    /// How many agents there are.
    pub(super) fn count(&self) -> u32 {
        self.owners.len() as u32
    }

    /// The proxy of a port channel of a followed rank that serves a block.
    pub(super) fn proxy(&self, rank: RankId, channel: ChannelId, block: Agent) -> Agent {
        let first = self.proxies.lookup(rank).map(|agents| agents.start);
        let port = self.ports.get(rank, channel.index());
        let of_block = |one: &BlockId| self.blocks(rank).start + one.0 == block;
        // With one pusher, there is one proxy.
        let number = match self.pushers.get(&(rank, channel)) {
            Some(blocks) => blocks.iter().position(of_block),
            None => Some(0),
        };
        let Some(((first, port), number)) = first.zip(port).zip(number) else {
            return self.lose();
        };
        first + port + number as Agent
    }

    /// An agent does not exist.
    fn lose(&self) -> Agent {
        self.lost.set(true);
        NOBODY
    }

    /// Whether an agent was looked up that does not exist. Then what was found says nothing.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// The queue of a proxy that shares its channel with others.
    pub(super) fn queue(&self, proxy: Agent) -> Agent {
        proxy.saturating_add(self.siblings(proxy).len() as Agent)
    }

    /// The proxies of a proxy's channel, itself included: they are carried out in one order, but it is not known in which.
    pub(super) fn siblings(&self, proxy: Agent) -> Range<Agent> {
        let siblings = || {
            let rank = RankId(*self.owners.get(proxy as usize)?);
            let first = self.proxies.lookup(rank)?.start;
            let home = self.turn.home(rank).0;
            let channel = self.channels.get(home, proxy.checked_sub(first)? as usize)?;
            let start = first + self.ports.get(home, channel.index())?;
            let count = self.pushers.get(&(home, *channel)).map_or(1, Vec::len);
            Some(start..start + count as Agent)
        };
        siblings().unwrap_or(proxy..proxy.saturating_add(1))
    }

    /// The rank at the other end of a proxy's channel; none of a block.
    pub(super) fn peer(&self, agent: Agent) -> Option<RankId> {
        let rank = RankId(*self.owners.get(agent as usize)?);
        let (first, by) = self.turn.home(rank);
        let port = agent.checked_sub(self.proxies.lookup(rank)?.start)?;
        let peer = self.peers.get(first, port as usize)?;
        Some(RankId(self.turn.then(peer.0, by)))
    }

    /// The symmetry of the ranks.
    pub(super) fn turn(&self) -> Turn {
        self.turn
    }

    /// The agent to which a turn takes this one.
    pub(super) fn moved(&self, agent: Agent, by: TurnId) -> Agent {
        if by == 0 {
            return agent;
        }
        let Some(rank) = self.owners.get(agent as usize) else { return agent };
        let of = if self.is_proxy(agent) { &self.proxies } else { &self.blocks };
        let (from, to) = (of.lookup(RankId(*rank)), of.lookup(RankId(self.turn.then(*rank, by))));
        let (Some(from), Some(to)) = (from, to) else { return self.lose() };
        debug_assert!(from.len() == to.len(), "symmetric ranks have as many agents");
        agent - from.start + to.start
    }
}

#[cfg(test)]
mod tests {
    use super::{Agents, NOBODY};
    use crate::check::race::turn::Turn;
    use crate::ir::build::program;
    use crate::ir::{Action, ChannelId, RankId};

    #[test]
    fn a_proxy_that_does_not_exist_is_noticed() {
        let program = program(4, 1, 1, 0).block(|_| vec![Action::Sync]);
        let agents = Agents::new(&program, Turn::Still);
        assert_eq!(agents.rank_of_block(0), Some(RankId(0)));
        assert!(!agents.is_lost());
        assert_eq!(agents.proxy(RankId(0), ChannelId(9), 0), NOBODY);
        assert!(agents.is_lost());
    }
}
