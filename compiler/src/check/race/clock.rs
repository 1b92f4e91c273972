//! What is known to have happened.

use smallvec::SmallVec;
use std::rc::Rc;

/// A thread block, or the proxy of a port channel, counted over all ranks.
pub(super) type Agent = u32;

/// Who of a block does something: all threads, or the thread of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// Every thread, each its elements.
    All,
    /// One thread.
    Thread(u8),
}

/// What is known of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Everything before this step.
    joined: u32,
    /// Of a single thread, everything up to and including this step.
    threads: SmallVec<[(u8, u32); 2]>,
}

/// An element of an operation: agent, step, element.
pub(super) type Element = (Agent, u32, u32);

/// A set of things that are known to have happened, memory included; and of steps that are known to have been run.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// Ascending by agent: what has happened and can be seen.
    seen: Vec<(Agent, Seen)>,
    /// Ascending by agent: steps that have been run, visible or not.
    run: Vec<(Agent, u32)>,
    /// Ascending: elements whose packets were read, here or on the way: what these packets were made from was read.
    consumed: Rc<Vec<Element>>,
}

impl Clock {
    /// Whether a step's effects are known.
    pub(super) fn knows(&self, agent: Agent, lane: Lane, step: u32) -> bool {
        let Ok(at) = self.seen.binary_search_by_key(&agent, |(agent, _)| *agent) else { return false };
        let Some((_, seen)) = self.seen.get(at) else { return false };
        step < seen.joined
            || match lane {
                Lane::All => false,
                Lane::Thread(thread) => seen.threads.iter().any(|(t, upto)| *t == thread && step <= *upto),
            }
    }

    /// Whether a step is known to have been run.
    pub(super) fn has_run(&self, agent: Agent, step: u32) -> bool {
        self.run
            .binary_search_by_key(&agent, |(agent, _)| *agent)
            .ok()
            .and_then(|at| self.run.get(at))
            .is_some_and(|(_, upto)| step <= *upto)
    }

    /// Whether the packets of an element were read, or what followed from them.
    pub(super) fn consumed(&self, element: Element) -> bool {
        self.consumed.binary_search(&element).is_ok()
    }

    /// The agents of which anything is known to have been run.
    pub(super) fn agents(&self) -> impl Iterator<Item = Agent> + '_ {
        self.run.iter().map(|(agent, _)| *agent)
    }

    /// Learns that everything of an agent before `step` has happened.
    pub(super) fn join(&mut self, agent: Agent, step: u32) {
        let seen = slot(&mut self.seen, agent);
        seen.joined = seen.joined.max(step);
        if step > 0 {
            self.ran(agent, step - 1);
        }
    }

    /// Learns that a thread of an agent has done everything up to `step`.
    pub(super) fn thread(&mut self, agent: Agent, thread: u8, step: u32) {
        note(&mut slot(&mut self.seen, agent).threads, thread, step);
        self.ran(agent, step);
    }

    /// Learns that a step has been run.
    pub(super) fn ran(&mut self, agent: Agent, step: u32) {
        match self.run.binary_search_by_key(&agent, |(agent, _)| *agent) {
            Ok(at) => {
                if let Some((_, upto)) = self.run.get_mut(at) {
                    *upto = step.max(*upto);
                }
            }
            Err(at) => self.run.insert(at, (agent, step)),
        }
    }

    /// Learns all that `other` knows.
    pub(super) fn merge(&mut self, other: &Clock) {
        for (agent, seen) in &other.seen {
            let own = slot(&mut self.seen, *agent);
            own.joined = own.joined.max(seen.joined);
            seen.threads.iter().for_each(|(thread, step)| note(&mut own.threads, *thread, *step));
        }
        self.merge_run(other);
        self.consume(&other.consumed);
    }

    /// Learns which steps `other` knows to have been run, but nothing of their effects.
    pub(super) fn merge_run(&mut self, other: &Clock) {
        other.run.iter().for_each(|(agent, step)| self.ran(*agent, *step));
    }

    /// Learns that the packets of these elements were read; they are ascending.
    pub(super) fn consume(&mut self, elements: &Rc<Vec<Element>>) {
        if elements.is_empty() || Rc::ptr_eq(&self.consumed, elements) {
            return;
        }
        if self.consumed.is_empty() {
            self.consumed = elements.clone();
            return;
        }
        if elements.iter().any(|element| !self.consumed(*element)) {
            let mut all = Vec::clone(&self.consumed);
            all.extend(elements.iter().copied());
            all.sort_unstable();
            all.dedup();
            self.consumed = Rc::new(all);
        }
    }
}

fn slot(list: &mut Vec<(Agent, Seen)>, agent: Agent) -> &mut Seen {
    let at = match list.binary_search_by_key(&agent, |(agent, _)| *agent) {
        Ok(at) => at,
        Err(at) => {
            list.insert(at, (agent, Seen::default()));
            at
        }
    };
    #[expect(clippy::indexing_slicing, reason = "found or inserted just now")]
    &mut list[at].1
}

fn note(threads: &mut SmallVec<[(u8, u32); 2]>, thread: u8, step: u32) {
    match threads.iter_mut().find(|(other, _)| *other == thread) {
        Some((_, upto)) => *upto = step.max(*upto),
        None => threads.push((thread, step)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Lane};
    use std::rc::Rc;

    #[test]
    fn a_thread_does_not_speak_for_the_others() {
        let mut clock = Clock::default();
        clock.join(3, 4);
        clock.thread(3, 1, 6);
        assert!(clock.knows(3, Lane::All, 3) && !clock.knows(3, Lane::All, 4));
        assert!(clock.knows(3, Lane::Thread(1), 6) && !clock.knows(3, Lane::Thread(0), 5));
        assert!(clock.has_run(3, 6) && !clock.has_run(3, 7) && !clock.has_run(2, 0));
    }

    #[test]
    fn running_is_not_seeing() {
        let (mut from, mut to) = (Clock::default(), Clock::default());
        from.join(0, 9);
        to.merge_run(&from);
        assert!(to.has_run(0, 8) && !to.knows(0, Lane::All, 0));
        to.merge(&from);
        assert!(to.knows(0, Lane::All, 8));
    }

    #[test]
    fn consumed_elements_add_up() {
        let mut clock = Clock::default();
        clock.consume(&Rc::new(vec![(1, 2, 3)]));
        clock.consume(&Rc::new(vec![(0, 0, 0), (1, 2, 3)]));
        assert!(clock.consumed((0, 0, 0)) && clock.consumed((1, 2, 3)) && !clock.consumed((1, 2, 4)));
    }
}
