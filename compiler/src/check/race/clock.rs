//! What is known to have happened.
//!
//! A clock is asked about few of the things that it knows. So it only keeps from whom it has heard, and goes back
//! through the [`History`] as far as a question needs; what it met on the way it remembers.

use super::agents::{Agent, Agents, NOBODY};
use super::history::{FlowId, History, MomentId, NONE, Source};
use super::turn::By;
use crate::ir::RankId;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

/// A set of things that are known to have happened, memory included; and of steps that are known to have been run.
#[derive(Debug)]
pub(super) struct Clock {
    /// Whose, with the step before which everything of its own has happened.
    own: Option<(Agent, u32)>,
    chain: u32,
    /// What was heard since the last moment.
    fresh: SmallVec<[Source; 2]>,
    /// The last moment, or [`NONE`].
    last: MomentId,
    sights: RefCell<Option<Box<Sights>>>,
}

/// How far a clock has gone back.
#[derive(Debug)]
struct Sights {
    /// By what orders memory.
    all: Sight,
    /// By what orders execution.
    run: Sight,
    /// By what orders steps.
    steps: Sight,
}

/// How far a clock has gone back in one way.
#[derive(Debug)]
struct Sight {
    way: Way,
    /// Of each agent that was met, the step before which everything is known.
    known: FxHashMap<Agent, u32>,
    /// Of each chain, as it is turned, the moment after the last that was met.
    met: FxHashMap<(u32, By), u32>,
    /// Moments to be looked into, and where in its chain that ends.
    ahead: VecDeque<(MomentId, By, u32)>,
    /// Ranks that were met, by their first block.
    started: FxHashSet<Agent>,
    /// Packets that were read.
    read: Reading,
}

/// What one goes back by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By what orders memory.
    All,
    /// By what orders execution.
    Run,
    /// By what orders steps: all of the above, and what tells of steps only.
    Steps,
}

/// Which elements are known to have been run.
#[derive(Debug, Default)]
struct Reading {
    met: FxHashSet<(FlowId, By)>,
    ahead: Vec<(FlowId, By)>,
    /// Whose they are.
    agents: FxHashSet<Agent>,
}

/// All that is known to have been run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// Of each agent, ascending, the step before which everything was; of each rank that is known to have started, at
    /// least of its first block.
    pub(super) steps: Vec<(Agent, u32)>,
    /// Elements, ascending, all that those were made from included.
    pub(super) elements: Vec<(FlowId, By)>,
}

impl Run {
    /// What is known of both.
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

    fn has(&self, lookup: Lookup<'_>, element: (FlowId, By)) -> bool {
        let (agent, step) = lookup.history.doer(element.0);
        let agent = lookup.agents.moved(agent, element.1);
        self.elements.binary_search(&element).is_ok()
            || self.before(agent).is_some_and(|before| step < before)
    }
}

/// What is met on the way back.
#[derive(Clone, Copy, Debug)]
enum Met {
    /// An agent's moment, and the step before which it is known.
    Moment(Agent, u32),
    /// An element.
    Flow((FlowId, By)),
}

impl Met {
    fn is_moment(self, wanted: impl Fn(Agent, u32) -> bool) -> bool {
        match self {
            Met::Moment(agent, before) => wanted(agent, before),
            Met::Flow(_) => false,
        }
    }
}

/// Where to look things up.
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
            sights: RefCell::new(None),
        }
    }
}

impl Clock {
    /// What an agent knows when it starts.
    pub(super) fn of(agent: Agent, chain: u32) -> Clock {
        Clock { own: Some((agent, 0)), chain, ..Clock::default() }
    }

    /// Knows what these tell.
    pub(super) fn told(sources: &[Source]) -> Clock {
        Clock { fresh: SmallVec::from_slice(sources), ..Clock::default() }
    }

    /// All of the agent's own steps before this one have happened.
    pub(super) fn reach(&mut self, step: u32) {
        if let Some((_, before)) = &mut self.own {
            *before = step.max(*before);
        }
    }

    /// Learns something.
    pub(super) fn hear(&mut self, lookup: Lookup<'_>, source: Source) {
        self.fresh.push(source);
        if let Some(sights) = self.sights.get_mut() {
            sights.add(lookup, source);
        }
    }

    /// The moment at which the agent tells others what it knows.
    pub(super) fn moment(&mut self, history: &mut History) -> MomentId {
        let Some((agent, seen)) = self.own else {
            return history.meeting(self.fresh.iter().copied());
        };
        let last = history.moment(self.last);
        if self.fresh.is_empty() && last.is_some_and(|last| last.seen == seen) {
            return self.last;
        }
        self.last = history.add((agent, self.chain), seen, self.last, self.fresh.drain(..));
        self.last
    }

    /// Whether a step's effects are known.
    pub(super) fn knows(&self, lookup: Lookup<'_>, agent: Agent, step: u32) -> bool {
        match self.own {
            Some((own, before)) if own == agent => step < before,
            Some(_) | None => self.look(lookup, |sights| sights.all.finds(lookup, agent, step)),
        }
    }

    /// Whether a step is known to have been run.
    pub(super) fn has_run(&self, lookup: Lookup<'_>, agent: Agent, step: u32) -> bool {
        match self.own {
            Some((own, before)) if own == agent => step < before,
            Some(_) | None => self.look(lookup, |sights| sights.steps.finds(lookup, agent, step)),
        }
    }

    /// Whether any of the agents in a range is known to have started.
    pub(super) fn has_run_any(&self, lookup: Lookup<'_>, agents: Range<Agent>) -> bool {
        if self.own.is_some_and(|(own, _)| agents.contains(&own)) {
            return true;
        }
        self.look(lookup, |sights| {
            let steps = &mut sights.steps;
            !agents.is_empty() && steps.started.contains(&agents.start)
                || steps.go_back(lookup, |met| met.is_moment(|agent, _| agents.contains(&agent)))
        })
    }

    /// Whether a rank is known to have started this launch.
    pub(super) fn has_started(&self, lookup: Lookup<'_>, rank: RankId) -> bool {
        self.has_run_any(lookup, lookup.agents.blocks(rank))
    }

    /// Whether it can be seen that the packets of an element were read, or what followed from them.
    pub(super) fn consumed(&self, lookup: Lookup<'_>, flow: (FlowId, By)) -> bool {
        self.look(lookup, |sights| sights.all.has_read(lookup, flow))
    }

    /// Whether it is known that an element was run, or what followed from it.
    pub(super) fn heard(&self, lookup: Lookup<'_>, flow: (FlowId, By)) -> bool {
        self.look(lookup, |sights| sights.run.has_read(lookup, flow))
    }

    /// Whether any element of an agent is known to have been run.
    pub(super) fn heard_any(&self, lookup: Lookup<'_>, agent: Agent) -> bool {
        self.look(lookup, |sights| {
            sights.run.go_back(lookup, |_| false);
            sights.run.read.find_any(lookup, agent)
        })
    }

    /// All that is known to have been run.
    pub(super) fn run(&self, lookup: Lookup<'_>) -> Run {
        let mut all = Run::default();
        self.look(lookup, |sights| {
            sights.run.go_back(lookup, |_| false);
            sights.run.read.look_into_all(lookup);
            sights.steps.go_back(lookup, |_| false);
            for first in &sights.steps.started {
                sights.steps.known.entry(*first).or_insert(0);
            }
            all.steps.extend(sights.steps.known.iter().map(|(agent, before)| (*agent, *before)));
            all.elements.extend(sights.run.read.met.iter().copied());
            true
        });
        all.steps.retain(|(agent, _)| *agent != NOBODY);
        all.steps.sort_unstable();
        all.elements.sort_unstable();
        all
    }

    fn look(&self, lookup: Lookup<'_>, ask: impl FnOnce(&mut Sights) -> bool) -> bool {
        let mut sights = self.sights.borrow_mut();
        let sights = sights.get_or_insert_with(|| {
            let mut new = Box::new(Sights::default());
            if self.last != NONE {
                new.add(lookup, Source::All(self.last, 0));
            }
            self.fresh.iter().for_each(|source| new.add(lookup, *source));
            new
        });
        ask(sights)
    }
}

impl Default for Sights {
    fn default() -> Sights {
        Sights {
            all: Sight::new(Way::All),
            run: Sight::new(Way::Run),
            steps: Sight::new(Way::Steps),
        }
    }
}

impl Sights {
    fn add(&mut self, lookup: Lookup<'_>, source: Source) {
        self.all.take(lookup, source, 0);
        self.run.take(lookup, source, 0);
        self.steps.take(lookup, source, 0);
    }
}

impl Sight {
    fn new(way: Way) -> Sight {
        Sight {
            way,
            known: FxHashMap::default(),
            met: FxHashMap::default(),
            ahead: VecDeque::new(),
            started: FxHashSet::default(),
            read: Reading::default(),
        }
    }

    fn finds(&mut self, lookup: Lookup<'_>, agent: Agent, step: u32) -> bool {
        self.known.get(&agent).is_some_and(|before| step < *before)
            || self.go_back(lookup, |met| {
                met.is_moment(|other, before| other == agent && step < before)
            })
    }

    fn has_read(&mut self, lookup: Lookup<'_>, flow: (FlowId, By)) -> bool {
        self.read.met.contains(&flow)
            || self.go_back(lookup, |met| match met {
                Met::Flow(found) => found == flow,
                Met::Moment(..) => false,
            })
            || self.read.find(lookup, flow)
    }

    /// Takes a source in. What comes new is given back.
    fn take(&mut self, lookup: Lookup<'_>, source: Source, by: By) -> Option<Met> {
        let turn = lookup.agents.turn();
        match (source, self.way) {
            (Source::All(id, more), _)
            | (Source::Run(id, more), Way::Run | Way::Steps)
            | (Source::Steps(id, more), Way::Steps) => self.meet(lookup, id, turn.then(by, more)),
            (Source::Read(flow, more), Way::All | Way::Run)
            | (Source::Heard(flow, more), Way::Run) => {
                let flow = (flow, turn.then(by, more));
                self.read.meet(lookup, flow).then_some(Met::Flow(flow))
            }
            (Source::Run(..) | Source::Heard(..), Way::All)
            | (Source::Steps(..), Way::All | Way::Run)
            | (Source::Read(..) | Source::Heard(..), Way::Steps) => None,
        }
    }

    /// Takes a moment in, to be looked into later.
    fn meet(&mut self, lookup: Lookup<'_>, id: MomentId, by: By) -> Option<Met> {
        let moment = lookup.history.moment(id)?;
        let end = self.met.entry((moment.chain, by)).or_insert(0);
        if *end > id {
            return None;
        }
        self.ahead.push_back((id, by, *end));
        *end = id + 1;
        let agent = lookup.agents.moved(moment.agent, by);
        if self.way == Way::Steps {
            self.started.extend(lookup.agents.first_of(agent));
        }
        let known = self.known.entry(agent).or_insert(0);
        *known = moment.seen.max(*known);
        Some(Met::Moment(agent, moment.seen))
    }

    /// Goes back until something is met, or to the end.
    fn go_back(&mut self, lookup: Lookup<'_>, wanted: impl Fn(Met) -> bool) -> bool {
        while let Some((id, by, end)) = self.ahead.pop_front() {
            let mut found = false;
            for source in lookup.history.sources(id) {
                found |= self.take(lookup, source, by).is_some_and(&wanted);
            }
            let previous = lookup.history.moment(id).map_or(NONE, |moment| moment.previous);
            if previous != NONE && previous >= end {
                self.ahead.push_back((previous, by, end));
            }
            if found {
                return true;
            }
        }
        false
    }
}

impl Reading {
    /// Takes an element in; whether it is new.
    fn meet(&mut self, lookup: Lookup<'_>, flow: (FlowId, By)) -> bool {
        let new = self.met.insert(flow);
        if new {
            self.ahead.push(flow);
            self.agents.insert(lookup.agents.moved(lookup.history.doer(flow.0).0, flow.1));
        }
        new
    }

    /// Whether an element was run, or one that made something from it. The oldest are looked into first: what is asked
    /// for is mostly old.
    fn find(&mut self, lookup: Lookup<'_>, flow: (FlowId, By)) -> bool {
        let turn = lookup.agents.turn();
        while !self.met.contains(&flow) {
            let Some((next, by)) = self.ahead.pop() else { return false };
            let parts = lookup.history.parts(next);
            let there = (flow.0, turn.then(flow.1, turn.back(by)));
            if parts.binary_search(&there).is_ok() {
                self.ahead.push((next, by));
                return true;
            }
            self.look_into(lookup, (next, by));
        }
        true
    }

    fn find_any(&mut self, lookup: Lookup<'_>, agent: Agent) -> bool {
        while !self.agents.contains(&agent) {
            let Some(next) = self.ahead.pop() else { return false };
            self.look_into(lookup, next);
        }
        true
    }

    fn look_into_all(&mut self, lookup: Lookup<'_>) {
        while let Some(next) = self.ahead.pop() {
            self.look_into(lookup, next);
        }
    }

    fn look_into(&mut self, lookup: Lookup<'_>, (flow, by): (FlowId, By)) {
        let turn = lookup.agents.turn();
        for (part, more) in lookup.history.parts(flow).iter().rev() {
            self.meet(lookup, (*part, turn.then(by, *more)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::agents::Agents;
    use super::super::history::{History, NONE, Source};
    use super::super::turn::Turn;
    use super::{Clock, Lookup};
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
        assert!(!clock.knows(lookup, 0, 0));
        assert!(clock.has_run_any(lookup, 0..1) && !clock.has_run_any(lookup, 1..3));
        clock.hear(lookup, Source::All(told, 0));
        assert!(clock.knows(lookup, 0, 8) && !clock.knows(lookup, 0, 9));
    }

    #[test]
    fn what_was_known_then_is_known_and_what_came_later_is_not() {
        let (agents, mut history) = (agents(), History::new(4));
        let early = history.add((0, 0), 2, NONE, []);
        let via = history.add((1, 1), 5, NONE, [Source::All(early, 0)]);
        let late = history.add((0, 0), 7, early, []);
        let lookup = Lookup { history: &history, agents: &agents };
        let clock = Clock::told(&[Source::All(via, 0)]);
        assert!(clock.knows(lookup, 0, 1) && !clock.knows(lookup, 0, 2));
        let both = Clock::told(&[Source::All(via, 0), Source::All(late, 0)]);
        assert!(both.knows(lookup, 1, 4) && both.knows(lookup, 0, 6));
    }

    #[test]
    fn what_a_packet_was_made_from_is_consumed_with_it() {
        let (agents, mut history) = (agents(), History::new(4));
        history.flow((1, 0), &mut []);
        history.flow((2, 0), &mut [(0, 0)]);
        history.flow((3, 0), &mut []);
        let told = history.add((2, 2), 0, NONE, [Source::Read(1, 0)]);
        let lookup = Lookup { history: &history, agents: &agents };
        let seen = Clock::told(&[Source::All(told, 0)]);
        assert!(seen.consumed(lookup, (0, 0)) && !seen.consumed(lookup, (2, 0)));
        let run = Clock::told(&[Source::Run(told, 0)]);
        assert!(run.heard(lookup, (0, 0)) && !run.consumed(lookup, (0, 0)));
        assert!(run.heard_any(lookup, 1) && !run.heard_any(lookup, 3));
        let steps = Clock::told(&[Source::Steps(told, 0)]);
        assert!(!steps.heard(lookup, (0, 0)) && steps.has_run_any(lookup, 2..3));
    }
}
