//! Agents: thread blocks and the proxies of port channels, numbered over all ranks.

use super::turn::{Turn, TurnId};
use crate::ir::{ChannelId, ChannelKind, Program, RankId};
use crate::table::{Id, Rows, Table};
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
    /// For each channel of the followed ranks, the index of its proxy among the rank's proxies; if it has none, that of
    /// the next one.
    ports: Rows<RankId, u32>,
    /// For each proxy of the followed ranks, the rank at the other end of its channel.
    peers: Rows<RankId, RankId>,
    /// The rank of each agent.
    owners: Vec<u32>,
    turn: Turn,
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
        let mut proxies = Table::default();
        for (id, rank) in program.ranks.entries() {
            let ports = rank.channels.iter().filter(|one| one.kind() == ChannelKind::Port);
            proxies.push(some(id, ports.count()));
        }
        let followed = turn.first(program.ranks.len() as u32) as usize;
        let ranks = || program.ranks.iter().take(followed);
        let ports = ranks().map(|rank| {
            let mut next = 0;
            rank.channels.iter().map(move |channel| {
                let port = next;
                next += u32::from(channel.kind() == ChannelKind::Port);
                port
            })
        });
        let peers = ranks().map(|rank| {
            let ports = rank.channels.iter().filter(|one| one.kind() == ChannelKind::Port);
            ports.filter_map(crate::ir::Channel::peer)
        });
        let (ports, peers) = (Rows::new(ports), Rows::new(peers));
        Agents { blocks, proxies, ports, peers, owners, turn }
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

    /// The proxy of a port channel of a followed rank.
    pub(super) fn proxy(&self, rank: RankId, channel: ChannelId) -> Agent {
        let first = self.proxies.lookup(rank).map(|agents| agents.start);
        let port = self.ports.get(rank, channel.index());
        first.zip(port).map_or(NOBODY, |(first, port)| first + port)
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
        from.zip(to).map_or(NOBODY, |(from, to)| agent - from.start + to.start)
    }
}
