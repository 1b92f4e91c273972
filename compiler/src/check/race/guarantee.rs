//! What a wait can count on where several blocks signal, or several wait: the same for releases and acquires.
//!
//! In: a run through a program. Out: of each wait on a counter with several users, the signals that come before it in
//! every schedule. A signal is one of them if there would be too few without it: of all signals but those that come
//! after it, or after the wait. Of several waiters nobody knows who comes first: each needs as many signals as it has
//! waited itself.

use super::agents::Agent;
use super::clock::{Clock, Lookup};
use super::history::Source;
use crate::ir::{ChannelId, RankId, SemaphoreId};
use std::collections::{BTreeMap, BTreeSet};

/// The most signals of one counter that are compared with each other; of more nothing is known.
const MOST_COMPARED: usize = 256;

/// A counter of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Which {
    /// What came over a channel.
    Channel(RankId, ChannelId),
    /// What a semaphore was released.
    Semaphore(RankId, SemaphoreId),
}

/// An agent and its step.
pub(super) type Act = (Agent, u32);

/// A signal or release.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    /// Whose.
    pub(super) act: Act,
    /// What it tells.
    pub(super) source: Source,
}

/// A wait or acquire.
#[derive(Clone, Copy, Debug)]
struct Taken {
    act: Act,
    /// How many signals it needs at least.
    needs: usize,
}

/// Who uses a counter with several users, and how, in the order of a run.
#[derive(Debug, Default)]
pub(super) struct Acts {
    /// The signals or releases.
    pub(super) given: Vec<Given>,
    taken: Vec<Taken>,
}

impl Acts {
    /// A wait or acquire of a counter of which there were so many at the start.
    pub(super) fn take(&mut self, act: Act, start: usize) {
        let own = self.taken.iter().filter(|one| one.act.0 == act.0);
        let needs = (own.count() + 1).saturating_sub(start);
        self.taken.push(Taken { act, needs });
    }
}

/// What waits can count on.
#[derive(Debug, Default)]
pub(super) struct Guarantees {
    /// The counters with several users.
    several: BTreeSet<Which>,
    /// Of each wait on one of them, the signals.
    known: BTreeMap<(Which, Act), Vec<Act>>,
}

impl Guarantees {
    /// Nothing yet, of these counters.
    pub(super) fn new(several: BTreeSet<Which>) -> Guarantees {
        Guarantees { several, known: BTreeMap::new() }
    }

    /// Nothing yet, of the same counters.
    pub(super) fn forgotten(&self) -> Guarantees {
        Guarantees::new(self.several.clone())
    }

    /// Whether a counter has several users.
    pub(super) fn concern(&self, which: Which) -> bool {
        self.several.contains(&which)
    }

    /// What a wait can count on.
    pub(super) fn of(&self, which: Which, act: Act) -> &[Act] {
        self.known.get(&(which, act)).map_or(&[], Vec::as_slice)
    }

    /// Adds what follows for a counter from who was known to come after whom.
    pub(super) fn add(&mut self, lookup: Lookup<'_>, which: Which, Acts { given, taken }: &Acts) {
        if given.len() > MOST_COMPARED {
            return;
        }
        let clocks: Vec<Clock> = given.iter().map(|one| Clock::told([one.source])).collect();
        let rows: Vec<(&Given, &Clock)> = given.iter().zip(&clocks).collect();
        let after = |(late, clock): (&Given, &Clock), early: Act| {
            late.act.0 == early.0 && late.act.1 > early.1 || clock.has_run(lookup, early.0, early.1)
        };
        for one in taken {
            let possible: Vec<(&Given, &Clock)> =
                rows.iter().copied().filter(|row| !after(*row, one.act)).collect();
            let needed = |this: &Given| {
                let others =
                    possible.iter().filter(|row| row.0.act != this.act && !after(**row, this.act));
                others.count() < one.needs
            };
            let known = possible.iter().filter(|(this, _)| needed(this));
            self.known.insert((which, one.act), known.map(|(this, _)| this.act).collect());
        }
    }
}
