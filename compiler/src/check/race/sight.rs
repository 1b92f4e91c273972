//! How far a clock has searched back: what it has found, and where to continue when that does not answer a question.

use super::agents::{Agent, NOBODY};
use super::clock::Lookup;
use super::history::{FlowId, MomentId, NONE, Source};
use super::reading::Reading;
use super::turn::TurnId;
use crate::ir::RankId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// The sources that a search follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Those that order memory.
    All,
    /// Those that order execution.
    Run,
    /// Those that order steps: all of the above, and those that are about steps only.
    Steps,
}

/// An agent, as its counterpart on the representative, which has the moments, and the turn that leads from there to it.
pub(super) type Turned = (Agent, TurnId);

/// How far a clock has searched back in one way.
#[derive(Debug)]
pub(super) struct Sight {
    way: Way,
    /// How far each agent that was found is known.
    agents: FxHashMap<Turned, Seen>,
    /// For each chain that is not an agent's own, with its turn, the moment after the last one that was found.
    chains: FxHashMap<(u32, TurnId), MomentId>,
    /// Moments to be searched, and where in its chain that search ends.
    ahead: VecDeque<(MomentId, TurnId, MomentId)>,
    /// Ranks of which a block was found.
    started: FxHashSet<RankId>,
    /// Packets that were read.
    read: Reading,
}

/// How far an agent is known.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The step before which everything is known.
    before: u32,
    /// In its own chain, the moment after the last one that was found.
    end: MomentId,
}

/// Something that is found on the way back.
#[derive(Clone, Copy, Debug)]
enum Met {
    /// A moment of an agent, and the step before which the agent is known.
    Moment(MomentId, Turned, u32),
    /// An element.
    Flow((FlowId, TurnId)),
}

/// How far a clock has searched back in each way that was needed: a linked list, since most ways never are.
#[derive(Debug, Default)]
pub(super) struct Sights(Option<Box<(Sight, Sights)>>);

impl Sights {
    /// The search in one way, which begins when it is first needed.
    pub(super) fn of(&mut self, way: Way, begin: impl Fn(&mut Sight)) -> &mut Sight {
        let first = self.0.get_or_insert_with(|| {
            let mut sight = Sight::new(way);
            begin(&mut sight);
            Box::new((sight, Sights::default()))
        });
        let (sight, more) = &mut **first;
        if sight.way == way { sight } else { more.of(way, begin) }
    }

    /// Adds a source that the clock has heard since its searches began.
    pub(super) fn hear(&mut self, lookup: Lookup<'_>, source: Source) {
        if let Some(boxed) = &mut self.0 {
            let (sight, more) = &mut **boxed;
            sight.hear(lookup, source);
            more.hear(lookup, source);
        }
    }
}

impl Sight {
    /// A search that has found nothing yet.
    pub(super) fn new(way: Way) -> Sight {
        Sight {
            way,
            agents: FxHashMap::default(),
            chains: FxHashMap::default(),
            ahead: VecDeque::new(),
            started: FxHashSet::default(),
            read: Reading::default(),
        }
    }

    /// Adds a source that the clock has heard.
    pub(super) fn add(&mut self, lookup: Lookup<'_>, source: Source) {
        self.take(lookup, source, 0);
    }

    /// Adds a source that the clock has just heard. It is searched first: what a block asks for next is usually what it
    /// has just waited for, while the rest may be long.
    fn hear(&mut self, lookup: Lookup<'_>, source: Source) {
        if let Some(Met::Moment(..)) = self.take(lookup, source, 0) {
            self.ahead.rotate_right(1);
        }
    }

    /// Whether a step is known; or an element, if one is given, or what followed from it. Both are searched for at the
    /// same time.
    pub(super) fn finds(
        &mut self,
        lookup: Lookup<'_>,
        (agent, step): (Agent, u32),
        flow: Option<(FlowId, TurnId)>,
    ) -> bool {
        let agent = lookup.agents.home(agent);
        self.agents.get(&agent).is_some_and(|seen| step < seen.before)
            || flow.is_some_and(|flow| self.read.has_met(flow))
            || self.go_back(lookup, |met| match met {
                Met::Moment(_, other, before) => other == agent && step < before,
                Met::Flow(found) => Some(found) == flow,
            })
            || flow.is_some_and(|flow| self.read.find(lookup, flow))
    }

    /// Whether any block of a rank is known to have started.
    pub(super) fn finds_started(&mut self, lookup: Lookup<'_>, rank: RankId) -> bool {
        self.started.contains(&rank)
            || self.go_back(lookup, |met| match met {
                Met::Moment(_, agent, _) => rank_of(lookup, agent) == Some(rank),
                Met::Flow(_) => false,
            })
    }

    /// Whether any moment of an agent is known.
    pub(super) fn finds_any_moment(&mut self, lookup: Lookup<'_>, agent: Agent) -> bool {
        let agent = lookup.agents.home(agent);
        self.agents.contains_key(&agent)
            || self.go_back(lookup, |met| matches!(met, Met::Moment(_, other, _) if other == agent))
    }

    /// Whether a moment is known, or a later one of its chain; the chain must not be an agent's own.
    pub(super) fn finds_moment(
        &mut self,
        lookup: Lookup<'_>,
        (id, by): (MomentId, TurnId),
    ) -> bool {
        let chain_of = |id| lookup.history.moment(id).map(|moment| moment.chain);
        let Some(chain) = chain_of(id) else { return false };
        self.chains.get(&(chain, by)).is_some_and(|end| id < *end)
            || self.go_back(lookup, |met| match met {
                Met::Moment(later, (_, turn), _) => {
                    turn == by && id <= later && chain_of(later) == Some(chain)
                }
                Met::Flow(_) => false,
            })
    }

    /// Whether any element of an agent is known.
    pub(super) fn finds_any_element(&mut self, lookup: Lookup<'_>, agent: Agent) -> bool {
        self.go_back(lookup, |_| false);
        self.read.find_any(lookup, lookup.agents.home(agent))
    }

    /// For each agent, ascending, the step before which everything is known; for each rank that was found, an entry at
    /// least for its first block.
    pub(super) fn steps(&mut self, lookup: Lookup<'_>) -> Vec<(Agent, u32)> {
        self.go_back(lookup, |_| false);
        for rank in &self.started {
            let first = lookup.agents.home(lookup.agents.blocks(*rank).start);
            self.agents.entry(first).or_default();
        }
        let agent = |(agent, by): Turned| lookup.agents.moved(agent, by);
        let steps = self.agents.iter().filter(|((agent, _), _)| *agent != NOBODY);
        let mut steps: Vec<(Agent, u32)> =
            steps.map(|(turned, seen)| (agent(*turned), seen.before)).collect();
        steps.sort_unstable();
        steps
    }

    /// All elements that are known, ascending.
    pub(super) fn elements(&mut self, lookup: Lookup<'_>) -> Vec<(FlowId, TurnId)> {
        self.go_back(lookup, |_| false);
        self.read.all(lookup)
    }

    /// Adds a source. Returns what is new.
    fn take(&mut self, lookup: Lookup<'_>, source: Source, by: TurnId) -> Option<Met> {
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

    /// Adds a moment, to be searched later.
    fn meet(&mut self, lookup: Lookup<'_>, id: MomentId, by: TurnId) -> Option<Met> {
        let moment = lookup.history.moment(id)?;
        let agent = (moment.agent, by);
        let seen = self.agents.entry(agent).or_default();
        // An agent's own chain, to which most moments belong, has the agent's number.
        let own = moment.chain == moment.agent;
        let last = match own {
            true => &mut seen.end,
            false => self.chains.entry((moment.chain, by)).or_default(),
        };
        let end = *last;
        if end > id {
            return None;
        }
        *last = id + 1;
        seen.before = moment.seen.max(seen.before);
        self.ahead.push_back((id, by, end));
        if self.way == Way::Steps {
            self.started.extend(rank_of(lookup, agent));
        }
        Some(Met::Moment(id, agent, moment.seen))
    }

    /// Searches back until something wanted is found, or to the end.
    fn go_back(&mut self, lookup: Lookup<'_>, wanted: impl Fn(Met) -> bool) -> bool {
        while let Some(segment) = self.ahead.pop_front() {
            if self.go_along(lookup, segment, &wanted) {
                return true;
            }
        }
        false
    }

    /// Searches back along a chain, from one moment on, until something wanted is found. The earlier moments of the
    /// chain do not go through the queue, which would become long and cost more than everything else.
    fn go_along(
        &mut self,
        lookup: Lookup<'_>,
        (mut id, by, end): (MomentId, TurnId, MomentId),
        wanted: impl Fn(Met) -> bool,
    ) -> bool {
        while id != NONE && id >= end {
            let mut found = false;
            for source in lookup.history.sources(id) {
                found |= self.take(lookup, source, by).is_some_and(&wanted);
            }
            id = lookup.history.moment(id).map_or(NONE, |moment| moment.previous);
            if found {
                self.ahead.push_front((id, by, end));
                return true;
            }
        }
        false
    }
}

/// The rank of a block; none of a proxy.
fn rank_of(lookup: Lookup<'_>, (agent, by): Turned) -> Option<RankId> {
    let rank = lookup.agents.rank_of_block(agent)?;
    Some(RankId(lookup.agents.turn().then(rank.0, by)))
}
