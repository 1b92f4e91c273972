//! What an agent can rely on having happened: vector clocks that count the accesses of other agents.
//!
//! Three clocks travel with messages. `seen`: accesses that release and acquire have made visible. `begun`: accesses
//! that were over before the launches began that the agent has heard of, which is all that a relaxed message can
//! establish. `past`: everything that came earlier in any way, which is enough for packets and for nothing else.

use std::rc::Rc;

/// For each agent, how many of its accesses.
pub(crate) type Clock = Rc<Vec<u32>>;

/// What one agent can rely on.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The agent that it belongs to: an agent knows what it did itself.
    pub(crate) me: u32,
    pub(crate) seen: Clock,
    pub(crate) begun: Clock,
    pub(crate) past: Clock,
}

/// What a message carries: its sender's view, and the sender's own accesses so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) view: View,
    pub(crate) agent: u32,
    pub(crate) count: u32,
}

/// Takes the maximum of two clocks.
pub(crate) fn join(clock: &mut Clock, other: &Clock) {
    if Rc::ptr_eq(clock, other) || !other.iter().enumerate().any(|(i, n)| at(clock, i) < *n) {
        return;
    }
    let all = clock.len().max(other.len());
    if (0..all).all(|i| at(clock, i) <= at(other, i)) {
        *clock = Rc::clone(other);
        return;
    }
    let own = Rc::make_mut(clock);
    own.resize(all, 0);
    for (mine, theirs) in own.iter_mut().zip(other.iter()) {
        *mine = (*mine).max(*theirs);
    }
}

/// Advances the count of one agent to at least `count`.
pub(crate) fn advance(clock: &mut Clock, agent: u32, count: u32) {
    let agent = agent as usize;
    if at(clock, agent) >= count {
        return;
    }
    let own = Rc::make_mut(clock);
    own.resize(own.len().max(agent + 1), 0);
    own[agent] = count;
}

fn at(clock: &Clock, agent: usize) -> u32 {
    clock.get(agent).copied().unwrap_or(0)
}

impl View {
    /// Adds everything that another view has.
    pub(crate) fn join(&mut self, other: &View) {
        join(&mut self.seen, &other.seen);
        join(&mut self.begun, &other.begun);
        join(&mut self.past, &other.past);
    }

    /// Adds a message to those that a receiver gets together. Even a relaxed one says which launches have begun.
    pub(crate) fn gather(&mut self, told: &Told, strong: bool) {
        join(&mut self.begun, &told.view.begun);
        join(&mut self.past, &told.view.past);
        advance(&mut self.past, told.agent, told.count);
        if strong {
            join(&mut self.seen, &told.view.seen);
            advance(&mut self.seen, told.agent, told.count);
        }
    }

    /// Receives what was gathered; `strong` unless the wait is relaxed.
    pub(crate) fn receive(&mut self, gathered: &View, strong: bool) {
        join(&mut self.begun, &gathered.begun);
        join(&mut self.past, &gathered.past);
        join(&mut self.seen, &gathered.begun);
        if strong {
            join(&mut self.seen, &gathered.seen);
        }
    }

    /// Whether an access has been made visible.
    pub(crate) fn sees(&self, agent: u32, count: u32) -> bool {
        agent == self.me || at(&self.seen, agent as usize) >= count
    }

    /// Whether an access came earlier in any way.
    pub(crate) fn follows(&self, agent: u32, count: u32) -> bool {
        agent == self.me || at(&self.past, agent as usize) >= count
    }
}
