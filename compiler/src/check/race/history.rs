//! What happened, and who heard of it: moments, each with the moments that were known at that time.
//!
//! A moment is a point in the life of an agent at which it told others what it knew, or was told something. It holds
//! only what is new since the previous moment; the rest is found by searching back ([`super::clock`]), so that telling
//! costs the same however much is known. Flows record in the same way what values were made from.

use super::agents::{Agent, Agents, NOBODY};
use super::pages::Pages;
use super::turn::TurnId;

/// A row of [`History::moments`].
pub(super) type MomentId = u32;

/// A row of [`History::flows`].
pub(super) type FlowId = u32;

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// A point in the life of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The agent, on a followed rank.
    pub(super) agent: Agent,
    /// Moments of one chain follow each other, and each knows everything that those before it know.
    pub(super) chain: u32,
    /// The agent's step before which everything has happened and is visible.
    pub(super) seen: u32,
    /// The previous moment in the chain, or [`NONE`].
    pub(super) previous: MomentId,
    /// Where its sources begin; they end where those of the next moment begin.
    sources: u32,
}

/// Something that is known at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// Everything that was known at another moment, memory effects included.
    All(MomentId, TurnId),
    /// Everything that was known at another moment to have run.
    Run(MomentId, TurnId),
    /// The steps that were known at another moment to have been run by all threads of their blocks.
    Steps(MomentId, TurnId),
    /// That a packet was read, and so was what it was made from; its effects are visible.
    Read(FlowId, TurnId),
    /// That an element was run, visible or not.
    Heard(FlowId, TurnId),
}

/// All moments and flows of a launch.
#[derive(Debug, Default)]
pub(super) struct History {
    moments: Vec<Moment>,
    sources: Vec<Packed>,
    /// The number of elements: each has a flow, whether it is followed or not.
    elements: FlowId,
    flows: Pages<Flow>,
    /// The agent and step of elements, once for those that follow each other.
    doers: Pages<(Agent, u32)>,
    parts: Vec<(FlowId, TurnId)>,
    chains: u32,
}

/// An element, and what the values that it read were made from.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// A row of [`History::doers`].
    doer: u32,
    /// Where its parts begin; they end where those of the next flow begin.
    parts: u32,
}

/// A source packed into eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    row: u32,
    /// The turn, with the kind of source in the three highest bits.
    by: u32,
}

/// The position of the kind in a packed source.
const KIND: u32 = 29;

impl History {
    /// An empty history. Each of the agents has a chain with its own number.
    pub(super) fn new(agents: u32) -> History {
        History { chains: agents, ..History::default() }
    }

    /// A new chain.
    pub(super) fn chain(&mut self) -> u32 {
        self.chains += 1;
        self.chains - 1
    }

    /// Adds a moment of an agent's chain; the agent's steps before `seen` have happened.
    pub(super) fn add(
        &mut self,
        (agent, chain): (Agent, u32),
        seen: u32,
        previous: MomentId,
        sources: impl IntoIterator<Item = Source>,
    ) -> MomentId {
        debug_assert!(
            previous == NONE || self.moment(previous).is_some_and(|one| one.chain == chain),
            "moments of one chain follow each other"
        );
        let first = self.sources.len() as u32;
        for source in sources {
            push(&mut self.sources, Packed::from(source));
        }
        push(&mut self.moments, Moment { agent, chain, seen, previous, sources: first });
        self.moments.len() as MomentId - 1
    }

    /// Adds a moment of no particular agent, which only combines sources.
    pub(super) fn meeting(&mut self, sources: impl IntoIterator<Item = Source>) -> MomentId {
        let chain = self.chain();
        self.add((NOBODY, chain), 0, NONE, sources)
    }

    /// Adds a moment, of a chain of its own, at which an agent's steps before `seen` have happened and nothing else is
    /// known. The moment is one of the agent's representative; the turn leads from there to the agent.
    pub(super) fn steps_of(
        &mut self,
        agents: &Agents,
        (agent, seen): (Agent, u32),
    ) -> (MomentId, TurnId) {
        let (home, by) = agents.home(agent);
        let chain = self.chain();
        (self.add((home, chain), seen, NONE, []), by)
    }

    /// A moment.
    pub(super) fn moment(&self, id: MomentId) -> Option<&Moment> {
        self.moments.get(id as usize)
    }

    /// The sources that a moment adds.
    pub(super) fn sources(&self, id: MomentId) -> impl Iterator<Item = Source> + '_ {
        let at = id as usize;
        let first = self.moments.get(at).map_or(0, |moment| moment.sources as usize);
        let next = self.moments.get(at + 1);
        let end = next.map_or(self.sources.len(), |moment| moment.sources as usize);
        self.sources.get(first..end).unwrap_or_default().iter().map(|packed| packed.source())
    }

    /// The flow of one more element.
    pub(super) fn next_flow(&mut self) -> FlowId {
        self.elements += 1;
        self.elements - 1
    }

    /// Adds what the next element, of this agent's step, is made from. Either all elements are added, or none.
    pub(super) fn flow(&mut self, doer: (Agent, u32), parts: &mut [(FlowId, TurnId)]) {
        parts.sort_unstable();
        if self.doers.last() != Some(&doer) {
            self.doers.push(doer);
        }
        self.flows.push(Flow { doer: self.doers.len() as u32 - 1, parts: self.parts.len() as u32 });
        self.parts.extend_from_slice(parts);
    }

    /// The agent and the step of a flow's element.
    pub(super) fn doer(&self, flow: FlowId) -> (Agent, u32) {
        let doer =
            self.flows.get(flow as usize).and_then(|flow| self.doers.get(flow.doer as usize));
        doer.copied().unwrap_or((NOBODY, 0))
    }

    /// What a flow was made from, ascending.
    pub(super) fn parts(&self, flow: FlowId) -> &[(FlowId, TurnId)] {
        let at = flow as usize;
        let first = self.flows.get(at).map_or(0, |flow| flow.parts as usize);
        let end = self.flows.get(at + 1).map_or(self.parts.len(), |next| next.parts as usize);
        self.parts.get(first..end).unwrap_or_default()
    }
}

impl Source {
    /// The same, limited to execution.
    pub(super) fn run(self) -> Source {
        match self {
            Source::All(moment, by) | Source::Run(moment, by) => Source::Run(moment, by),
            Source::Steps(..) => self,
            Source::Read(flow, by) | Source::Heard(flow, by) => Source::Heard(flow, by),
        }
    }

    /// The same, limited to steps.
    pub(super) fn steps(self) -> Option<Source> {
        match self {
            Source::All(moment, by) | Source::Run(moment, by) | Source::Steps(moment, by) => {
                Some(Source::Steps(moment, by))
            }
            Source::Read(..) | Source::Heard(..) => None,
        }
    }
}

impl From<Source> for Packed {
    fn from(source: Source) -> Packed {
        match source {
            Source::All(row, by) => Packed { row, by },
            Source::Run(row, by) => Packed { row, by: by | 1 << KIND },
            Source::Steps(row, by) => Packed { row, by: by | 2 << KIND },
            Source::Read(row, by) => Packed { row, by: by | 3 << KIND },
            Source::Heard(row, by) => Packed { row, by: by | 4 << KIND },
        }
    }
}

impl Packed {
    /// The source.
    pub(super) fn source(self) -> Source {
        let by = self.by & ((1 << KIND) - 1);
        match self.by >> KIND {
            0 => Source::All(self.row, by),
            1 => Source::Run(self.row, by),
            2 => Source::Steps(self.row, by),
            3 => Source::Read(self.row, by),
            _ => Source::Heard(self.row, by),
        }
    }
}

/// Adds to a list that is gone through again and again: it stays in one piece, and has little room to spare.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 8 + 8);
    }
    list.push(item);
}
