//! Clocks: what is known to have happened.
//!
//! A clock is asked about few of the things that it knows. So it only stores where its knowledge comes from, and
//! searches back through the [`History`] as far as a question needs; it remembers what it found on the way
//! ([`super::sight`]).

use super::agents::{Agent, Agents};
use super::history::{FlowId, History, MomentId, NONE, Packed, Source};
use super::sight::{Sight, Sights, Way};
use super::turn::TurnId;
use crate::ir::RankId;
use smallvec::SmallVec;
use std::cell::RefCell;

/// A set of things that are known to have happened, memory effects included, and of steps that are known to have run.
#[derive(Debug)]
pub(super) struct Clock {
    /// The agent, with the step before which everything of its own has happened.
    own: Option<(Agent, u32)>,
    chain: u32,
    /// The sources that were added since the last moment.
    fresh: SmallVec<[Packed; 2]>,
    /// The last moment, or [`NONE`].
    last: MomentId,
    /// How far it has searched back so far.
    sights: RefCell<Sights>,
}

/// Everything that is known to have run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// For each agent, ascending, the step before which everything has run; for each rank that is known to have
    /// started, an entry at least for its first block.
    pub(super) steps: Vec<(Agent, u32)>,
    /// Elements, ascending, including all elements that those were made from.
    pub(super) elements: Vec<(FlowId, TurnId)>,
}

impl Run {
    /// What both contain.
    pub(super) fn common(&self, lookup: Lookup<'_>, other: &Run) -> Run {
        let steps = self.steps.iter().filter_map(|(agent, before)| {
            other.before(*agent).map(|least| (*agent, least.min(*before)))
        });
        let own = self.elements.iter().filter(|one| other.has(lookup, **one));
        let others = other.elements.iter().filter(|one| self.has(lookup, **one));
        let mut both =
            Run { steps: steps.collect(), elements: own.chain(others).copied().collect() };
        both.elements.sort_unstable();
        both.elements.dedup();
        both
    }

    fn before(&self, agent: Agent) -> Option<u32> {
        let at = self.steps.binary_search_by_key(&agent, |(agent, _)| *agent).ok()?;
        self.steps.get(at).map(|(_, before)| *before)
    }

    fn has(&self, lookup: Lookup<'_>, element: (FlowId, TurnId)) -> bool {
        let (agent, step) = lookup.history.doer(element.0);
        let agent = lookup.agents.moved(agent, element.1);
        self.elements.binary_search(&element).is_ok()
            || self.before(agent).is_some_and(|before| step < before)
    }
}

/// The tables in which clocks look things up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a> {
    /// What happened.
    pub(super) history: &'a History,
    /// Who acts.
    pub(super) agents: &'a Agents,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            own: None,
            chain: NONE,
            fresh: SmallVec::new(),
            last: NONE,
            sights: RefCell::default(),
        }
    }
}

impl Clock {
    /// What an agent knows when it starts.
    pub(super) fn of(agent: Agent, chain: u32) -> Clock {
        Clock { own: Some((agent, 0)), chain, ..Clock::default() }
    }

    /// A clock that knows what these sources tell.
    pub(super) fn told(sources: impl IntoIterator<Item = Source>) -> Clock {
        let mut clock = Clock::default();
        for source in sources {
            clock.fresh.push(Packed::from(source));
        }
        clock
    }

    /// All of the agent's own steps before this one have happened.
    pub(super) fn reach(&mut self, step: u32) {
        if let Some((_, before)) = &mut self.own {
            *before = step.max(*before);
        }
    }

    /// Adds a source.
    pub(super) fn hear(&mut self, lookup: Lookup<'_>, source: Source) {
        self.fresh.push(Packed::from(source));
        self.sights.get_mut().hear(lookup, source);
    }

    /// Forgets how far it has searched back: what it knows, it can find again.
    pub(super) fn forget(&mut self) {
        self.sights = RefCell::default();
    }

    /// The moment at which the agent passes on what it knows.
    pub(super) fn moment(&mut self, history: &mut History) -> MomentId {
        let Some((agent, seen)) = self.own else {
            return history.meeting(self.fresh.iter().map(|packed| packed.source()));
        };
        let last = history.moment(self.last);
        if self.fresh.is_empty() && last.is_some_and(|last| last.seen == seen) {
            return self.last;
        }
        let fresh = self.fresh.drain(..).map(|packed| packed.source());
        self.last = history.add((agent, self.chain), seen, self.last, fresh);
        self.last
    }

    /// Whether a step's effects are known; or, with an element's flow, whether it is known that the element's packets
    /// were read, or what followed from them.
    pub(super) fn sees(
        &self,
        lookup: Lookup<'_>,
        act: (Agent, u32),
        read: Option<(FlowId, TurnId)>,
    ) -> bool {
        let own = self.has_done(act);
        own == Some(true)
            || (own.is_none() || read.is_some())
                && self.look(lookup, Way::All, |sight| sight.finds(lookup, act, read))
    }

    /// Whether a step is known to have been run.
    pub(super) fn has_run(&self, lookup: Lookup<'_>, agent: Agent, step: u32) -> bool {
        let act = (agent, step);
        self.has_done(act).unwrap_or_else(|| {
            self.look(lookup, Way::Steps, |sight| sight.finds(lookup, act, None))
        })
    }

    /// Whether a thread's mark is known, or what the thread did after it ([`super::block::Block::mark`]).
    pub(super) fn has_passed(&self, lookup: Lookup<'_>, mark: (MomentId, TurnId)) -> bool {
        self.look(lookup, Way::Steps, |sight| sight.finds_moment(lookup, mark))
    }

    /// Whether it is known that an element of a step was run, or what followed from it. Sources that are about steps
    /// only are searched last: packets tell about elements, and those are near.
    pub(super) fn has_run_element(
        &self,
        lookup: Lookup<'_>,
        (agent, step): (Agent, u32),
        flow: (FlowId, TurnId),
    ) -> bool {
        let find = |sight: &mut Sight| sight.finds(lookup, (agent, step), Some(flow));
        self.has_done((agent, step)) == Some(true)
            || self.look(lookup, Way::Run, find)
            || self.has_run(lookup, agent, step)
    }

    /// Whether a step is over, if it is the clock's own agent's.
    fn has_done(&self, (agent, step): (Agent, u32)) -> Option<bool> {
        self.own.filter(|(own, _)| *own == agent).map(|(_, before)| step < before)
    }

    /// Whether a rank, that is, any of its blocks, is known to have started this launch.
    pub(super) fn has_started(&self, lookup: Lookup<'_>, rank: RankId) -> bool {
        self.own.is_some_and(|(own, _)| lookup.agents.blocks(rank).contains(&own))
            || self.look(lookup, Way::Steps, |sight| sight.finds_started(lookup, rank))
    }

    /// Whether anything is known of what an agent did, memory effects included.
    pub(super) fn has_met(&self, lookup: Lookup<'_>, agent: Agent) -> bool {
        self.look(lookup, Way::All, |sight| sight.finds_any_moment(lookup, agent))
    }

    /// Whether any element of an agent is known to have been run.
    pub(super) fn heard_any(&self, lookup: Lookup<'_>, agent: Agent) -> bool {
        self.look(lookup, Way::Run, |sight| sight.finds_any_element(lookup, agent))
    }

    /// For each agent, ascending, the step before which everything has happened, memory effects included.
    pub(super) fn seen(&self, lookup: Lookup<'_>) -> Vec<(Agent, u32)> {
        self.look(lookup, Way::All, |sight| sight.steps(lookup))
    }

    /// Everything that is known to have run.
    pub(super) fn run(&self, lookup: Lookup<'_>) -> Run {
        Run {
            steps: self.look(lookup, Way::Steps, |sight| sight.steps(lookup)),
            elements: self.look(lookup, Way::Run, |sight| sight.elements(lookup)),
        }
    }

    /// Searches back one way; that search begins when it is first needed.
    fn look<T>(&self, lookup: Lookup<'_>, way: Way, ask: impl FnOnce(&mut Sight) -> T) -> T {
        let mut sights = self.sights.borrow_mut();
        ask(sights.of(way, |new| {
            if self.last != NONE {
                new.add(lookup, Source::All(self.last, 0));
            }
            self.fresh.iter().for_each(|packed| new.add(lookup, packed.source()));
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::agents::{Agents, NOBODY};
    use super::super::history::{History, NONE, Source};
    use super::super::turn::Turn;
    use super::{Clock, Lookup};
    use crate::ir::RankId;
    use crate::ir::build::program;

    fn agents() -> Agents {
        let three = || vec![crate::ir::Action::Sync];
        Agents::new(&program(4, 1, 1, 0).block(|_| three()), Turn::Still)
    }

    #[test]
    fn running_is_not_seeing() {
        let (agents, mut history) = (agents(), History::new(4));
        let told = history.add((0, 0), 9, NONE, []);
        let lookup = Lookup { history: &history, agents: &agents };
        let mut clock = Clock::of(3, 3);
        clock.hear(lookup, Source::Run(told, 0));
        assert!(clock.has_run(lookup, 0, 8) && !clock.has_run(lookup, 0, 9));
        assert!(!clock.sees(lookup, (0, 0), None));
        assert!(clock.has_started(lookup, RankId(0)) && !clock.has_started(lookup, RankId(1)));
        clock.hear(lookup, Source::All(told, 0));
        assert!(clock.sees(lookup, (0, 8), None) && !clock.sees(lookup, (0, 9), None));
    }

    #[test]
    fn what_was_known_then_is_known_and_what_came_later_is_not() {
        let (agents, mut history) = (agents(), History::new(4));
        let early = history.add((0, 0), 2, NONE, []);
        let via = history.add((1, 1), 5, NONE, [Source::All(early, 0)]);
        let late = history.add((0, 0), 7, early, []);
        let lookup = Lookup { history: &history, agents: &agents };
        let clock = Clock::told([Source::All(via, 0)]);
        assert!(clock.sees(lookup, (0, 1), None) && !clock.sees(lookup, (0, 2), None));
        let both = Clock::told([Source::All(via, 0), Source::All(late, 0)]);
        assert!(both.sees(lookup, (1, 4), None) && both.sees(lookup, (0, 6), None));
    }

    #[test]
    fn what_a_packet_was_made_from_is_consumed_with_it() {
        let (agents, mut history) = (agents(), History::new(4));
        history.flow((1, 0), &mut []);
        history.flow((2, 0), &mut [(0, 0)]);
        history.flow((3, 0), &mut []);
        let told = history.add((2, 2), 0, NONE, [Source::Read(1, 0)]);
        let lookup = Lookup { history: &history, agents: &agents };
        let consumed = |clock: &Clock, flow| clock.sees(lookup, (NOBODY, 0), Some(flow));
        let heard = |clock: &Clock, flow| clock.has_run_element(lookup, (NOBODY, 0), flow);
        let seen = Clock::told([Source::All(told, 0)]);
        assert!(consumed(&seen, (0, 0)) && !consumed(&seen, (2, 0)));
        let run = Clock::told([Source::Run(told, 0)]);
        assert!(heard(&run, (0, 0)) && !consumed(&run, (0, 0)));
        assert!(run.heard_any(lookup, 1) && !run.heard_any(lookup, 3));
        let steps = Clock::told([Source::Steps(told, 0)]);
        assert!(!heard(&steps, (0, 0)) && steps.has_started(lookup, RankId(2)));
    }
}
