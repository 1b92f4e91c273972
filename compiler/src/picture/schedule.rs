//! One schedule of the events: it says which of the signals or releases of several blocks come first.
//!
//! In: the scene with the arrows that are known without counting, and what events give and take. Out: when each event
//! comes.

use super::event::{Order, Scene, Who};
use super::layout::teams;

/// The events that give and that take of one counter, and whether memory is ordered by them.
#[derive(Default)]
pub(super) struct Counter {
    pub(super) given: Vec<(usize, bool)>,
    pub(super) taken: Vec<(usize, bool)>,
    /// How many things are there from the beginning.
    pub(super) initial: usize,
}

/// For each event, its number in the schedule; those that never come have the largest.
pub(super) fn times<'c>(
    scene: &Scene,
    counters: impl Iterator<Item = &'c Counter> + Clone,
) -> Vec<usize> {
    let count = scene.events.len();
    let mut run = Run {
        before: before(scene),
        gives: by_event(count, counters.clone().map(|counter| &counter.given)),
        takes: by_event(count, counters.clone().map(|counter| &counter.taken)),
        levels: counters.map(|counter| counter.initial).collect(),
        times: vec![usize::MAX; count],
    };
    let mut next = 0;
    loop {
        let begin = next;
        for event in 0..count {
            if run.is_ready(event) {
                run.come(event, next);
                next += 1;
            }
        }
        if next == begin {
            return run.times;
        }
    }
}

/// The state of a run. Counters are numbered.
struct Run {
    /// For each event, the events before it.
    before: Vec<Vec<usize>>,
    gives: Vec<Vec<usize>>,
    takes: Vec<Vec<usize>>,
    levels: Vec<usize>,
    times: Vec<usize>,
}

impl Run {
    fn has_come(&self, event: usize) -> bool {
        self.times.get(event).is_some_and(|time| *time < usize::MAX)
    }

    fn is_ready(&self, event: usize) -> bool {
        let (Some(before), Some(takes)) = (self.before.get(event), self.takes.get(event)) else {
            return false;
        };
        let is_there = |same: &[usize]| {
            let level = same.first().and_then(|counter| self.levels.get(*counter));
            level.is_some_and(|level| *level >= same.len())
        };
        !self.has_come(event)
            && before.iter().all(|event| self.has_come(*event))
            && takes.chunk_by(|one, other| one == other).all(is_there)
    }

    fn come(&mut self, event: usize, time: usize) {
        if let Some(slot) = self.times.get_mut(event) {
            *slot = time;
        }
        for counter in self.takes.get(event).into_iter().flatten() {
            if let Some(level) = self.levels.get_mut(*counter) {
                *level -= 1;
            }
        }
        for counter in self.gives.get(event).into_iter().flatten() {
            if let Some(level) = self.levels.get_mut(*counter) {
                *level += 1;
            }
        }
    }
}

/// For each event, the counters that it gives to or takes from, in ascending order.
fn by_event<'c>(
    count: usize,
    lists: impl Iterator<Item = &'c Vec<(usize, bool)>>,
) -> Vec<Vec<usize>> {
    let mut counters: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (counter, list) in lists.enumerate() {
        for (event, _) in list {
            if let Some(own) = counters.get_mut(*event) {
                own.push(counter);
            }
        }
    }
    counters
}

/// For each event, what comes before it without counting: at a block, the event before it and before those that it
/// meets; at a proxy, its request.
fn before(scene: &Scene) -> Vec<Vec<usize>> {
    let teams = teams(scene);
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for column in scene.columns.iter().filter(|column| matches!(column.who, Who::Block(_))) {
        pairs
            .extend(column.events.windows(2).filter_map(|two| Some((*two.first()?, *two.last()?))));
    }
    let known = scene.arrows.iter().filter(|arrow| arrow.order != Order::Meeting);
    pairs.extend(known.map(|arrow| (arrow.from, arrow.to)));
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); teams.len()];
    for (event, leader) in teams.iter().enumerate() {
        if let Some(list) = members.get_mut(*leader) {
            list.push(event);
        }
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); teams.len()];
    for (from, to) in pairs {
        for member in teams.get(to).and_then(|leader| members.get(*leader)).into_iter().flatten() {
            if let Some(list) = before.get_mut(*member) {
                list.push(from);
            }
        }
    }
    before
}
