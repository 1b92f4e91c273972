//! The signals that a wait can count on where several blocks signal, or several wait; likewise for releases and
//! acquires.
//!
//! In: a run through a program. Out: for each wait on a counter with several users, the signals that come before it in
//! every schedule, and what else is known whichever signals those are. A signal is certain if there would be too few
//! without it, counting all other signals except those that come after it or after the wait. Where it is uncertain
//! which of them have come, all of them may have told more than one has to: of an agent's steps, those are known that
//! all signals know except one less than are needed. With several waiters, it is unknown who comes first: each needs at
//! least one more signal than there are waits that are known to come before it.

use super::agents::{Agent, Agents};
use super::clock::{Clock, Lookup};
use super::history::{History, MomentId, Source};
use super::turn::TurnId;
use crate::check::budget::{AGENTS, COMPARED, Exceeded};
use crate::check::matching::InTurn;
use crate::ir::counter::CounterKind;
use crate::ir::{ChannelId, Program, RankId, SemaphoreId};
use std::collections::{BTreeMap, BTreeSet};

/// A counter of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CounterKey {
    /// The signals at an end of a channel.
    Channel(RankId, ChannelId),
    /// The releases of a semaphore.
    Semaphore(RankId, SemaphoreId),
}

impl CounterKey {
    /// Whether those who signal or release do so in turn.
    pub(super) fn is_given_in_turn(self, program: &Program, in_turn: &InTurn<'_>) -> bool {
        match self {
            CounterKey::Channel(rank, channel) => {
                let row = program.ranks.lookup(rank).and_then(|rank| rank.channels.lookup(channel));
                let other = row.and_then(|row| row.peer().zip(row.partner));
                other.is_some_and(|(peer, there)| in_turn.signals(peer, there))
            }
            CounterKey::Semaphore(rank, id) => in_turn.releases(rank, id),
        }
    }

    /// Whether the blocks that wait or acquire do so in turn.
    pub(super) fn is_taken_in_turn(self, in_turn: &InTurn<'_>) -> bool {
        match self {
            CounterKey::Channel(rank, id) => in_turn.takes(rank, CounterKind::Channel(id)),
            CounterKey::Semaphore(rank, id) => in_turn.takes(rank, CounterKind::Semaphore(id)),
        }
    }
}

/// An agent and its step.
pub(super) type Act = (Agent, u32);

/// An act, and the thread that did it.
pub(super) type User = (Act, u32);

/// A signal or release.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    /// The agent and the step that gave it.
    pub(super) act: Act,
    /// The thread.
    pub(super) thread: u32,
    /// What it tells the taker.
    pub(super) source: Source,
    /// Known to those who know that it was given.
    pub(super) mark: Mark,
}

/// A moment that is known to those, and only those, who know that a thread has acted; with the turn that leads to it.
pub(super) type Mark = (MomentId, TurnId);

impl Given {
    /// Who gave it, and when.
    pub(super) fn user(&self) -> User {
        (self.act, self.thread)
    }
}

/// A wait or acquire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// The block, its step and the thread.
    pub(super) user: User,
    /// What the taker knew before.
    pub(super) knew: MomentId,
    /// Known to those who know that it was taken.
    pub(super) mark: Mark,
    /// The counter's initial value.
    pub(super) start: usize,
}

/// The uses of a counter with several users, in the order of a run.
#[derive(Debug, Default)]
pub(super) struct Acts {
    /// The signals or releases.
    pub(super) given: Vec<Given>,
    /// The waits or acquires.
    pub(super) taken: Vec<Taken>,
}

impl Acts {
    /// How many signals each wait or acquire needs at least.
    fn needs(&self, lookup: Lookup<'_>) -> Vec<usize> {
        let needs = |(at, one): (usize, &Taken)| {
            let knew = Clock::told([Source::All(one.knew, 0)]);
            // The run has an order that all schedules may have: what comes first in all of them does so here.
            let earlier = self
                .taken
                .iter()
                .take(at)
                .filter(|other| is_after(lookup, (one.user, &knew), (other.user, other.mark)));
            (earlier.count() + 1).saturating_sub(one.start)
        };
        self.taken.iter().enumerate().map(needs).collect()
    }
}

/// Whether one who acts with this knowledge does so after another act, in every schedule. Threads of a block do not know of
/// each other until they meet.
fn is_after(
    lookup: Lookup<'_>,
    ((act, thread), clock): (User, &Clock),
    (((agent, step), by), mark): (User, Mark),
) -> bool {
    act.0 == agent && thread == by && act.1 > step
        || clock.has_run(lookup, agent, step)
        || clock.has_passed(lookup, mark)
}

/// The signals that waits can count on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Guarantees {
    /// The counters with several users.
    several: BTreeSet<CounterKey>,
    /// For each wait on one of them, the signals.
    known: BTreeMap<(CounterKey, User), Vec<User>>,
    /// For each wait for which not all signals are needed, what it knows whichever have come.
    common: BTreeMap<(CounterKey, User), Common>,
    /// The budgets because of which signals that may be certain are not here.
    pub(super) exceeded: BTreeSet<Exceeded>,
}

/// What a wait knows whichever signals have come: for each agent, the step before which everything has happened, and
/// the step before which everything has run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Common {
    seen: Vec<(Agent, u32)>,
    run: Vec<(Agent, u32)>,
}

impl Common {
    /// As sources.
    pub(super) fn sources(&self, history: &mut History, agents: &Agents) -> Vec<Source> {
        let mut moments = |known: &[(Agent, u32)], source: fn(MomentId, TurnId) -> Source| {
            let moments = known.iter().map(|one| history.steps_of(agents, *one));
            moments.map(|(moment, by)| source(moment, by)).collect::<Vec<Source>>()
        };
        [moments(&self.run, Source::Steps), moments(&self.seen, Source::All)].concat()
    }
}

impl Guarantees {
    /// No guarantees yet, for these counters.
    pub(super) fn new(several: BTreeSet<CounterKey>) -> Guarantees {
        Guarantees { several, ..Guarantees::default() }
    }

    /// No guarantees, for the same counters.
    pub(super) fn forgotten(&self) -> Guarantees {
        Guarantees::new(self.several.clone())
    }

    /// Whether a counter has several users.
    pub(super) fn concern(&self, which: CounterKey) -> bool {
        self.several.contains(&which)
    }

    /// The signals that a wait can count on.
    pub(super) fn of(&self, which: CounterKey, user: User) -> &[User] {
        self.known.get(&(which, user)).map_or(&[], Vec::as_slice)
    }

    /// What a wait knows beyond the signals that it can count on.
    pub(super) fn common(&self, which: CounterKey, user: User) -> Option<&Common> {
        self.common.get(&(which, user))
    }

    /// Adds the guarantees for a counter that follow from what was known to be ordered.
    pub(super) fn add(&mut self, lookup: Lookup<'_>, which: CounterKey, acts: &Acts) {
        let Acts { given, taken } = acts;
        if let Err(exceeded) = COMPARED.allow(given.len().max(taken.len()) as u64) {
            self.exceeded.insert(exceeded);
            return;
        }
        let clocks: Vec<Clock> = given.iter().map(|one| Clock::told([one.source])).collect();
        let rows: Vec<(&Given, &Clock)> = given.iter().zip(&clocks).collect();
        let after = |(late, clock): (&Given, &Clock), early: (User, Mark)| {
            is_after(lookup, (late.user(), clock), early)
        };
        for (one, needs) in taken.iter().zip(acts.needs(lookup)) {
            let possible: Vec<(&Given, &Clock)> =
                rows.iter().copied().filter(|row| !after(*row, (one.user, one.mark))).collect();
            let needed = |this: &Given| {
                let others = possible.iter().filter(|row| {
                    row.0.user() != this.user() && !after(**row, (this.user(), this.mark))
                });
                others.count() < needs
            };
            let known = possible.iter().filter(|(this, _)| needed(this));
            self.known.insert((which, one.user), known.map(|(this, _)| this.user()).collect());
            if (1..possible.len()).contains(&needs) {
                let clocks: Vec<&Clock> = possible.iter().map(|(_, clock)| *clock).collect();
                match common(lookup, &clocks, needs) {
                    Ok(common) => {
                        self.common.insert((which, one.user), common);
                    }
                    Err(exceeded) => {
                        self.exceeded.insert(exceeded);
                    }
                }
            }
        }
    }
}

/// What is known once `needs` signals have come, whichever of these they are.
fn common(lookup: Lookup<'_>, clocks: &[&Clock], needs: usize) -> Result<Common, Exceeded> {
    AGENTS.allow(u64::from(lookup.agents.count()) * clocks.len() as u64)?;
    Ok(Common {
        seen: told_by_any(clocks.iter().map(|clock| clock.seen(lookup)), needs),
        run: told_by_any(clocks.iter().map(|clock| clock.run(lookup).steps), needs),
    })
}

/// For each agent, the step before which it is known by any `needs` of those who tell: the least that so many know.
fn told_by_any(
    tellers: impl Iterator<Item = Vec<(Agent, u32)>>,
    needs: usize,
) -> Vec<(Agent, u32)> {
    let mut known: BTreeMap<Agent, Vec<u32>> = BTreeMap::new();
    let mut count = 0;
    for steps in tellers {
        count += 1;
        for (agent, before) in steps {
            known.entry(agent).or_default().push(before);
        }
    }
    let least = |(agent, mut steps): (Agent, Vec<u32>)| {
        // Those who do not know the agent come first.
        let at = (needs - 1).checked_sub(count - steps.len())?;
        steps.sort_unstable();
        steps.get(at).map(|before| (agent, *before))
    };
    known.into_iter().filter_map(least).collect()
}
