//! What is known to have happened.

use std::rc::Rc;

/// A thread block, or the proxy of a port channel, counted over all ranks.
pub(super) type Agent = u32;

/// An element of an operation: agent, step, element.
pub(super) type Element = (Agent, u32, u32);

/// A set of things that are known to have happened, memory included; and of steps that are known to have been run.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// Ascending by agent: the step before which everything has happened and can be seen.
    seen: Vec<(Agent, u32)>,
    /// Ascending by agent: the last step that has been run, visible or not.
    run: Vec<(Agent, u32)>,
    /// Ascending: elements whose packets were read, here or on the way: what these packets were made from was read.
    consumed: Rc<Vec<Element>>,
}

impl Clock {
    /// Whether a step's effects are known.
    pub(super) fn knows(&self, agent: Agent, step: u32) -> bool {
        find(&self.seen, agent).is_some_and(|before| step < before)
    }

    /// Whether a step is known to have been run.
    pub(super) fn has_run(&self, agent: Agent, step: u32) -> bool {
        find(&self.run, agent).is_some_and(|last| step <= last)
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
        raise(&mut self.seen, agent, step);
        if step > 0 {
            self.ran(agent, step - 1);
        }
    }

    /// Learns that a step has been run.
    pub(super) fn ran(&mut self, agent: Agent, step: u32) {
        raise(&mut self.run, agent, step);
    }

    /// Learns all that `other` knows.
    pub(super) fn merge(&mut self, other: &Clock) {
        other.seen.iter().for_each(|(agent, step)| raise(&mut self.seen, *agent, *step));
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

#[cfg(test)]
mod tests {
    use super::Clock;
    use std::rc::Rc;

    #[test]
    fn running_is_not_seeing() {
        let (mut from, mut to) = (Clock::default(), Clock::default());
        from.join(0, 9);
        to.merge_run(&from);
        assert!(to.has_run(0, 8) && !to.knows(0, 0));
        to.merge(&from);
        assert!(to.knows(0, 8));
    }

    #[test]
    fn consumed_elements_add_up() {
        let mut clock = Clock::default();
        clock.consume(&Rc::new(vec![(1, 2, 3)]));
        clock.consume(&Rc::new(vec![(0, 0, 0), (1, 2, 3)]));
        assert!(
            clock.consumed((0, 0, 0)) && clock.consumed((1, 2, 3)) && !clock.consumed((1, 2, 4))
        );
    }
}
