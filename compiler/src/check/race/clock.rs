//! What is known to have happened.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::rc::Rc;

/// A thread block, or the proxy of a port channel, counted over all ranks.
pub(super) type Agent = u32;

/// An element of an operation: agent, step, element.
pub(super) type Element = (Agent, u32, u32);

/// An element, and what the values that it read were made from: shared, since much is made from the same.
#[derive(Debug)]
pub(super) struct Flow {
    /// Which of all flows, counted up: a flow comes after those it was made from.
    pub(super) id: u32,
    /// The element.
    pub(super) element: Element,
    /// Where the values came from that it read.
    pub(super) parts: SmallVec<[Rc<Flow>; 2]>,
}

/// A set of things that are known to have happened, memory included; and of steps that are known to have been run.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// Ascending by agent: the step before which everything has happened and can be seen.
    seen: Vec<(Agent, u32)>,
    /// Ascending by agent: the step before which everything has been run, visible or not. Who stands here has started.
    run: Vec<(Agent, u32)>,
    /// Ascending by id: packets whose reading can be seen. What they were made from was read.
    consumed: Rc<Vec<Rc<Flow>>>,
    /// Ascending by id: further elements that are known to have been run, visible or not.
    heard: Rc<Vec<Rc<Flow>>>,
}

impl Clock {
    /// Whether a step's effects are known.
    pub(super) fn knows(&self, agent: Agent, step: u32) -> bool {
        find(&self.seen, agent).is_some_and(|before| step < before)
    }

    /// Whether a step is known to have been run.
    pub(super) fn has_run(&self, agent: Agent, step: u32) -> bool {
        find(&self.run, agent).is_some_and(|before| step < before)
    }

    /// Whether it can be seen that the packets of an element were read, or what followed from them.
    pub(super) fn consumed(&self, element: Element) -> bool {
        follows_from(self.consumed.iter(), &|one| one == element)
    }

    /// Whether it is known that an element was run, or what followed from it.
    pub(super) fn heard(&self, element: Element) -> bool {
        follows_from(self.consumed.iter().chain(self.heard.iter()), &|one| one == element)
    }

    /// Whether any element of an agent is known to have been run.
    pub(super) fn heard_any(&self, agent: Agent) -> bool {
        follows_from(self.consumed.iter().chain(self.heard.iter()), &|(one, _, _)| one == agent)
    }

    /// Whether any of the agents in a range is known to have started.
    pub(super) fn has_run_any(&self, agents: std::ops::Range<Agent>) -> bool {
        let at = self.run.partition_point(|(agent, _)| *agent < agents.start);
        self.run.get(at).is_some_and(|(agent, _)| *agent < agents.end)
    }

    /// Learns that everything of an agent before `step` has happened.
    pub(super) fn join(&mut self, agent: Agent, step: u32) {
        raise(&mut self.seen, agent, step);
        raise(&mut self.run, agent, step);
    }

    /// Learns that an agent has started.
    pub(super) fn start(&mut self, agent: Agent) {
        raise(&mut self.run, agent, 0);
    }

    /// Learns all that `other` knows.
    pub(super) fn merge(&mut self, other: &Clock) {
        union(&mut self.seen, &other.seen);
        union(&mut self.run, &other.run);
        add(&mut self.consumed, &other.consumed);
        add(&mut self.heard, &other.heard);
    }

    /// Learns what `other` knows to have been run, but nothing of its effects.
    pub(super) fn merge_run(&mut self, other: &Clock) {
        union(&mut self.run, &other.run);
        add(&mut self.heard, &other.heard);
        add(&mut self.heard, &other.consumed);
    }

    /// Learns which steps `other` knows to have been run by all threads of their blocks.
    pub(super) fn merge_steps(&mut self, other: &Clock) {
        union(&mut self.run, &other.run);
    }

    /// Learns what an element has learnt of packets, once its threads have met.
    pub(super) fn merge_told(&mut self, told: &Clock) {
        self.merge_run(told);
        add(&mut self.consumed, &told.consumed);
    }

    /// Learns that a packet was read.
    pub(super) fn consume(&mut self, flow: &Rc<Flow>) {
        if let Err(at) = self.consumed.binary_search_by_key(&flow.id, |flow| flow.id) {
            Rc::make_mut(&mut self.consumed).insert(at, Rc::clone(flow));
        }
    }

    /// Learns that an element was run.
    pub(super) fn hear(&mut self, flow: &Rc<Flow>) {
        if let Err(at) = self.heard.binary_search_by_key(&flow.id, |flow| flow.id) {
            Rc::make_mut(&mut self.heard).insert(at, Rc::clone(flow));
        }
    }

    /// Only what has been run.
    pub(super) fn execution_only(&self) -> Clock {
        let mut clock = Clock { run: self.run.clone(), ..Clock::default() };
        clock.heard = Rc::clone(&self.heard);
        add(&mut clock.heard, &self.consumed);
        clock
    }

    /// What both know to have been run.
    pub(super) fn in_common(&self, other: &Clock) -> Clock {
        let least =
            |(agent, step): &(Agent, u32)| Some((*agent, find(&other.run, *agent)?.min(*step)));
        let both =
            |flow: &&Rc<Flow>| other.heard.binary_search_by_key(&flow.id, |flow| flow.id).is_ok();
        Clock {
            run: self.run.iter().filter_map(least).collect(),
            heard: Rc::new(self.heard.iter().filter(both).map(Rc::clone).collect()),
            ..Clock::default()
        }
    }
}

/// Whether one of some flows is of such an element, or was made from what is.
pub(super) fn follows_from<'a>(
    flows: impl Iterator<Item = &'a Rc<Flow>>,
    wanted: &dyn Fn(Element) -> bool,
) -> bool {
    let mut pending: Vec<&Rc<Flow>> = flows.collect();
    let mut looked_at = FxHashSet::default();
    while let Some(flow) = pending.pop() {
        if wanted(flow.element) {
            return true;
        }
        if looked_at.insert(flow.id) {
            pending.extend(&flow.parts);
        }
    }
    false
}

fn add(list: &mut Rc<Vec<Rc<Flow>>>, flows: &Rc<Vec<Rc<Flow>>>) {
    if flows.is_empty() || Rc::ptr_eq(list, flows) {
        return;
    }
    if list.is_empty() {
        *list = Rc::clone(flows);
        return;
    }
    let own = Rc::make_mut(list);
    own.extend(flows.iter().map(Rc::clone));
    own.sort_by_key(|flow| flow.id);
    own.dedup_by_key(|flow| flow.id);
}

fn find(list: &[(Agent, u32)], agent: Agent) -> Option<u32> {
    let at = list.binary_search_by_key(&agent, |(agent, _)| *agent).ok()?;
    list.get(at).map(|(_, step)| *step)
}

/// Raises an agent's entry to `step`, if it is lower.
fn raise(list: &mut Vec<(Agent, u32)>, agent: Agent, step: u32) {
    match list.binary_search_by_key(&agent, |(agent, _)| *agent) {
        Ok(at) => {
            if let Some((_, old)) = list.get_mut(at) {
                *old = step.max(*old);
            }
        }
        Err(at) => list.insert(at, (agent, step)),
    }
}

/// Raises every entry to that of `other`, if it is lower.
fn union(list: &mut Vec<(Agent, u32)>, other: &[(Agent, u32)]) {
    if let [(agent, step)] = other {
        raise(list, *agent, *step);
        return;
    }
    let mut merged = Vec::with_capacity(list.len().max(other.len()));
    let (mut own, mut theirs) = (list.iter().copied().peekable(), other.iter().copied().peekable());
    while let (Some((a, x)), Some((b, y))) = (own.peek().copied(), theirs.peek().copied()) {
        match a.cmp(&b) {
            std::cmp::Ordering::Less => merged.extend(own.next()),
            std::cmp::Ordering::Greater => merged.extend(theirs.next()),
            std::cmp::Ordering::Equal => {
                merged.push((a, x.max(y)));
                own.next();
                theirs.next();
            }
        }
    }
    merged.extend(own);
    merged.extend(theirs);
    *list = merged;
}

#[cfg(test)]
mod tests {
    use super::{Clock, Flow};
    use std::rc::Rc;

    #[test]
    fn running_is_not_seeing() {
        let (mut from, mut to) = (Clock::default(), Clock::default());
        from.join(0, 9);
        to.merge_run(&from);
        assert!(to.has_run(0, 8) && !to.has_run(0, 9) && !to.knows(0, 0));
        to.start(3);
        assert!(to.has_run_any(3..4) && !to.has_run(3, 0));
        to.merge(&from);
        assert!(to.knows(0, 8) && !to.knows(0, 9));
    }

    #[test]
    fn the_later_of_two_counts() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.join(1, 5);
        a.join(3, 2);
        b.join(2, 7);
        b.join(3, 4);
        a.merge(&b);
        assert!(a.knows(1, 4) && a.knows(2, 6) && a.knows(3, 3) && !a.knows(3, 4));
        assert!(a.has_run_any(2..3) && !a.has_run_any(4..9));
    }

    #[test]
    fn what_a_packet_was_made_from_is_consumed_with_it() {
        let flow = |id, element, parts: &[&Rc<Flow>]| {
            Rc::new(Flow { id, element, parts: parts.iter().map(|flow| Rc::clone(flow)).collect() })
        };
        let first = flow(0, (1, 2, 3), &[]);
        let second = flow(1, (4, 0, 0), &[&first]);
        let mut clock = Clock::default();
        clock.consume(&second);
        assert!(
            clock.consumed((1, 2, 3)) && clock.consumed((4, 0, 0)) && !clock.consumed((1, 2, 4))
        );
    }
}
