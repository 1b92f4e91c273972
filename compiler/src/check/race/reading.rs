//! The elements that are known to have run, as far as a clock has searched back: those that it found, and what these
//! were made from, which is searched when it is needed.

use super::clock::Lookup;
use super::history::FlowId;
use super::sight::Turned;
use super::turn::TurnId;
use rustc_hash::{FxHashMap, FxHashSet};

/// The elements that are known to have run.
#[derive(Debug, Default)]
pub(super) struct Reading {
    met: Flows,
    ahead: Vec<(FlowId, TurnId)>,
    /// Their agents.
    agents: FxHashSet<Turned>,
}

/// Elements, with their turns. Whoever knows of one element of an operation usually knows of all, and these have
/// consecutive numbers: so many elements share an entry, with a bit each.
#[derive(Debug, Default)]
struct Flows(FxHashMap<(u32, TurnId), u64>);

impl Flows {
    /// The entry of an element, and its bit there.
    fn entry((flow, by): (FlowId, TurnId)) -> ((u32, TurnId), u64) {
        ((flow / u64::BITS, by), 1 << (flow % u64::BITS))
    }

    fn contains(&self, flow: (FlowId, TurnId)) -> bool {
        let (entry, bit) = Flows::entry(flow);
        self.0.get(&entry).is_some_and(|bits| bits & bit != 0)
    }

    /// Adds an element; says whether it is new.
    fn insert(&mut self, flow: (FlowId, TurnId)) -> bool {
        let (entry, bit) = Flows::entry(flow);
        let bits = self.0.entry(entry).or_default();
        let new = *bits & bit == 0;
        *bits |= bit;
        new
    }

    fn iter(&self) -> impl Iterator<Item = (FlowId, TurnId)> {
        self.0.iter().flat_map(|((word, by), bits)| {
            let some = |bits: u64| Some(bits).filter(|bits| *bits != 0);
            let left = std::iter::successors(some(*bits), move |bits| some(bits & (bits - 1)));
            left.map(move |bits| (word * u64::BITS + bits.trailing_zeros(), *by))
        })
    }
}

impl Reading {
    /// Whether an element has been found already.
    pub(super) fn has_met(&self, flow: (FlowId, TurnId)) -> bool {
        self.met.contains(flow)
    }

    /// Adds an element; says whether it is new.
    pub(super) fn meet(&mut self, lookup: Lookup<'_>, flow: (FlowId, TurnId)) -> bool {
        let new = self.met.insert(flow);
        if new {
            if !lookup.history.parts(flow.0).is_empty() {
                self.ahead.push(flow);
            }
            self.agents.insert((lookup.history.doer(flow.0).0, flow.1));
        }
        new
    }

    /// Whether an element has run, or one that was made from it. The oldest elements are searched first: what is asked
    /// for is usually old.
    pub(super) fn find(&mut self, lookup: Lookup<'_>, flow: (FlowId, TurnId)) -> bool {
        let turn = lookup.agents.turn();
        while !self.met.contains(flow) {
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

    /// Whether any element of an agent has run.
    pub(super) fn find_any(&mut self, lookup: Lookup<'_>, agent: Turned) -> bool {
        while !self.agents.contains(&agent) {
            let Some(next) = self.ahead.pop() else { return false };
            self.look_into(lookup, next);
        }
        true
    }

    /// All elements that have run, ascending.
    pub(super) fn all(&mut self, lookup: Lookup<'_>) -> Vec<(FlowId, TurnId)> {
        while let Some(next) = self.ahead.pop() {
            self.look_into(lookup, next);
        }
        let mut all: Vec<(FlowId, TurnId)> = self.met.iter().collect();
        all.sort_unstable();
        all
    }

    fn look_into(&mut self, lookup: Lookup<'_>, (flow, by): (FlowId, TurnId)) {
        let turn = lookup.agents.turn();
        for (part, more) in lookup.history.parts(flow).iter().rev() {
            self.meet(lookup, (*part, turn.then(by, *more)));
        }
    }
}
