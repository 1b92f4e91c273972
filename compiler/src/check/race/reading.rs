//! Which elements are known to have been run, as far as a clock has gone back: those that it met, and what they were made
//! from, which is looked into when it is asked for.

use super::clock::Lookup;
use super::history::FlowId;
use super::sight::Turned;
use super::turn::By;
use rustc_hash::{FxHashMap, FxHashSet};

/// Which elements are known to have been run.
#[derive(Debug, Default)]
pub(super) struct Reading {
    met: Flows,
    ahead: Vec<(FlowId, By)>,
    /// Whose they are.
    agents: FxHashSet<Turned>,
}

/// Elements, as they are turned. Who knows of one of an operation mostly knows of all, and those follow each other: so many
/// share an entry, with a bit each.
#[derive(Debug, Default)]
struct Flows(FxHashMap<(u32, By), u64>);

impl Flows {
    /// The entry of an element, and its bit there.
    fn entry((flow, by): (FlowId, By)) -> ((u32, By), u64) {
        ((flow / u64::BITS, by), 1 << (flow % u64::BITS))
    }

    fn contains(&self, flow: (FlowId, By)) -> bool {
        let (entry, bit) = Flows::entry(flow);
        self.0.get(&entry).is_some_and(|bits| bits & bit != 0)
    }

    /// Adds one; whether it is new.
    fn insert(&mut self, flow: (FlowId, By)) -> bool {
        let (entry, bit) = Flows::entry(flow);
        let bits = self.0.entry(entry).or_default();
        let new = *bits & bit == 0;
        *bits |= bit;
        new
    }

    fn iter(&self) -> impl Iterator<Item = (FlowId, By)> {
        self.0.iter().flat_map(|((word, by), bits)| {
            let set = (0..u64::BITS).filter(move |at| bits >> at & 1 == 1);
            set.map(move |at| (word * u64::BITS + at, *by))
        })
    }
}

impl Reading {
    /// Whether an element was met.
    pub(super) fn has_met(&self, flow: (FlowId, By)) -> bool {
        self.met.contains(flow)
    }

    /// Takes an element in; whether it is new.
    pub(super) fn meet(&mut self, lookup: Lookup<'_>, flow: (FlowId, By)) -> bool {
        let new = self.met.insert(flow);
        if new {
            if !lookup.history.parts(flow.0).is_empty() {
                self.ahead.push(flow);
            }
            self.agents.insert((lookup.history.doer(flow.0).0, flow.1));
        }
        new
    }

    /// Whether an element was run, or one that made something from it. The oldest are looked into first: what is asked
    /// for is mostly old.
    pub(super) fn find(&mut self, lookup: Lookup<'_>, flow: (FlowId, By)) -> bool {
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

    /// Whether any element of an agent was run.
    pub(super) fn find_any(&mut self, lookup: Lookup<'_>, agent: Turned) -> bool {
        while !self.agents.contains(&agent) {
            let Some(next) = self.ahead.pop() else { return false };
            self.look_into(lookup, next);
        }
        true
    }

    /// All that were run, ascending.
    pub(super) fn all(&mut self, lookup: Lookup<'_>) -> Vec<(FlowId, By)> {
        while let Some(next) = self.ahead.pop() {
            self.look_into(lookup, next);
        }
        let mut all: Vec<(FlowId, By)> = self.met.iter().collect();
        all.sort_unstable();
        all
    }

    fn look_into(&mut self, lookup: Lookup<'_>, (flow, by): (FlowId, By)) {
        let turn = lookup.agents.turn();
        for (part, more) in lookup.history.parts(flow).iter().rev() {
            self.meet(lookup, (*part, turn.then(by, *more)));
        }
    }
}
