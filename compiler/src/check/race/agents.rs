//! Who acts: thread blocks, and the proxies of port channels, numbered over all ranks.

use super::turn::{By, Turn};
use crate::ir::{ChannelId, ChannelKind, Program, RankId};
use crate::table::{Id, Table};
use std::ops::Range;

/// A thread block, or the proxy of a port channel. Blocks come first, rank by rank, then the proxies, rank by rank.
pub(super) type Agent = u32;

/// The agent that stands for nobody.
pub(super) const NOBODY: Agent = Agent::MAX;

/// All agents of a program.
#[derive(Debug)]
pub(super) struct Agents {
    blocks: Table<RankId, Range<Agent>>,
    /// For each channel the proxy; of a channel that has none, whichever comes next.
    proxies: Table<RankId, Vec<Agent>>,
    /// How ranks are turned.
    turn: Turn,
    /// Where ranks are turned: how many blocks and proxies each has.
    of_each: (u32, u32),
    all: u32,
    first_proxy: Agent,
}

impl Agents {
    /// The agents of a program. Where its ranks are turned, all have as many.
    pub(super) fn new(program: &Program, turn: Turn) -> Agents {
        let mut next: Agent = 0;
        let blocks: Table<RankId, Range<Agent>> = program
            .ranks
            .iter()
            .map(|rank| {
                let first = next;
                next += rank.blocks.len() as Agent;
                first..next
            })
            .collect();
        let first_proxy = next;
        let mut proxies: Table<RankId, Vec<Agent>> = Table::default();
        for row in &program.ranks {
            let mut list = Vec::new();
            for channel in &row.channels {
                list.push(next);
                next += Agent::from(channel.kind() == ChannelKind::Port);
            }
            proxies.push(list);
            if turn != Turn::Still {
                break;
            }
        }
        let first = program.ranks.iter().next();
        let ports = first.map_or(0, |rank| {
            rank.channels.iter().filter(|channel| channel.kind() == ChannelKind::Port).count()
        });
        let of_each = (first.map_or(0, |rank| rank.blocks.len()) as u32, ports as u32);
        Agents { blocks, proxies, turn, of_each, all: next, first_proxy }
    }

    /// The agents that are a rank's blocks.
    pub(super) fn blocks(&self, rank: RankId) -> Range<Agent> {
        self.blocks.lookup(rank).cloned().unwrap_or_default()
    }

    /// Whether an agent is a proxy.
    pub(super) fn is_proxy(&self, agent: Agent) -> bool {
        agent >= self.first_proxy
    }

    /// How many agents there are.
    pub(super) fn count(&self) -> u32 {
        let (blocks, ports) = self.of_each;
        let ranks = self.blocks.len() as u32;
        match self.turn {
            Turn::Still => self.all,
            Turn::Ring { .. } | Turn::Grid { .. } | Turn::Cube => ranks * (blocks + ports),
        }
    }

    /// The proxy of a port channel.
    pub(super) fn proxy(&self, rank: RankId, channel: ChannelId) -> Agent {
        let list = self.proxies.lookup(rank);
        list.and_then(|list| list.get(channel.index())).copied().unwrap_or(NOBODY)
    }

    /// How ranks are turned.
    pub(super) fn turn(&self) -> Turn {
        self.turn
    }

    /// The agent that a turn puts in the place of this one.
    pub(super) fn moved(&self, agent: Agent, by: By) -> Agent {
        if by == 0 || agent == NOBODY {
            return agent;
        }
        let (blocks, ports) = self.of_each;
        let all = blocks * self.blocks.len() as u32;
        match agent.checked_sub(all) {
            None => self.turn.then(agent / blocks, by) * blocks + agent % blocks,
            Some(proxy) => all + self.turn.then(proxy / ports, by) * ports + proxy % ports,
        }
    }
}
