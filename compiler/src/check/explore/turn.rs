//! The steps of a block: taken as soon as possible where they take nothing from others, and in every order where they
//! do.

use super::counter::{Counter, gives, takes};
use super::scene::{Drawn, Scene};
use super::state::State;
use crate::ir::{Action, RankId};

impl Scene<'_> {
    /// Takes all steps whose order does not matter, as far as possible.
    pub(super) fn settle(&self, state: &mut State) {
        let mut moved = true;
        while moved {
            moved = false;
            for block in 0..self.blocks.len() {
                while self.free(state, block) {
                    moved = true;
                }
            }
        }
    }

    /// Runs a block's next operation, if its order does not matter and it can run; says whether it did.
    fn free(&self, state: &mut State, block: usize) -> bool {
        let Some((rank, op)) = self.op(state, block) else { return false };
        let semaphore = |counter| matches!(counter, Counter::Semaphore(_));
        let ordered = takes(op).any(|counter| self.is_shared(rank, counter))
            || gives(op).any(|counter| semaphore(counter) && self.is_shared(rank, counter));
        if ordered {
            return self.served(state, block);
        }
        let members = match &op.action {
            Action::Barrier { id, .. } => {
                let there = self.barrier(rank, *id);
                let at_it = |other: &usize| {
                    self.op(state, *other).is_some_and(|(_, other)| {
                        matches!(&other.action, Action::Barrier { id: same, .. } if same == id)
                    })
                };
                if !there.iter().all(at_it) {
                    return false;
                }
                there
            }
            Action::Sync
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => vec![block],
        };
        if !takes(op).all(|counter| state.take(rank, counter, true))
            || !self.has_packets(state, rank, op)
        {
            return false;
        }
        takes(op).for_each(|counter| {
            state.take(rank, counter, false);
        });
        gives(op).for_each(|counter| self.give(state, rank, counter));
        members.iter().for_each(|member| state.pass(*member));
        true
    }

    /// Lets a block that has drawn a ticket go on, if it is its turn.
    fn served(&self, state: &mut State, block: usize) -> bool {
        let drawn = state.drawn.get(block).copied().flatten();
        let (Some(ticket), Some((rank, op))) = (drawn, self.op(state, block)) else { return false };
        let Action::Wait(signal) = &op.action else { return false };
        let came = signal.channels.first().and_then(|id| state.channel(rank, *id));
        let served = came.is_some_and(|(came, _)| i64::from(*came) >= ticket);
        if served {
            state.pass(block);
        }
        served
    }

    /// What comes of the next things whose order matters, as far as they must be tried. Things that are done with different
    /// counters change nothing for each other. So where all who still use a counter are at it, nothing that is done
    /// elsewhere leads to something else being done with it first: then only what is done with that one is tried now,
    /// and all else after it.
    pub(super) fn tried(&self, state: &State) -> Vec<State> {
        let turn = |block| Some((self.at_counter(state, block)?, self.turn(state, block)?));
        let turns: Vec<(Drawn, State)> = (0..self.blocks.len()).filter_map(turn).collect();
        let ready =
            turns.iter().map(|(drawn, _)| *drawn).find(|one| self.have_all_come(state, *one));
        let is_tried = |drawn: &Drawn| ready.is_none_or(|ready| ready == *drawn);
        turns.into_iter().filter(|(drawn, _)| is_tried(drawn)).map(|(_, after)| after).collect()
    }

    /// The shared counter that a block is at.
    fn at_counter(&self, state: &State, block: usize) -> Option<Drawn> {
        let (rank, op) = self.op(state, block)?;
        self.drawn_from(rank, op)
    }

    /// Whether all who still use a counter are at it, and do not come to it again by what others do: who has drawn a
    /// ticket goes on when a signal comes.
    fn have_all_come(&self, state: &State, drawn: Drawn) -> bool {
        let users = self.users.get(&drawn).into_iter().flatten();
        users.copied().all(|(block, last)| {
            let at = state.at.get(block).map_or(0, |at| *at as usize);
            let waits = state.drawn.get(block).is_some_and(Option::is_some);
            let has_ticket = waits && matches!(drawn.1, Counter::Channel(_));
            let is_there = self.at_counter(state, block) == Some(drawn);
            at > last || is_there && (!has_ticket || at == last)
        })
    }

    /// The state after a block has taken the next step whose order matters; none if it is not at such a step, or cannot
    /// go on.
    pub(super) fn turn(&self, state: &State, block: usize) -> Option<State> {
        let (rank, op) = self.op(state, block)?;
        let mut after = state.clone();
        let drawn = state.drawn.get(block).copied().flatten();
        match &op.action {
            Action::Wait(signal) => {
                let (_, begun) = after.channel(rank, *signal.channels.first()?)?;
                if drawn.is_some() {
                    return None;
                }
                *begun += 1;
                let ticket = i64::from(*begun);
                *after.drawn.get_mut(block)? = Some(ticket);
            }
            Action::Acquire(list) => {
                let value = after.semaphore(rank, *list.first()?)?;
                match drawn {
                    Some(old) if *value >= old => after.pass(block),
                    Some(_) => return None,
                    None => {
                        let old = *value;
                        *value -= 1;
                        match old > 0 {
                            true => after.pass(block),
                            false => *after.drawn.get_mut(block)? = Some(old),
                        }
                    }
                }
            }
            Action::Release(list) => {
                *after.semaphore(rank, *list.first()?)? += 1;
                after.pass(block);
            }
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Flush(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => return None,
        }
        let counters = takes(op).chain(gives(op));
        counters.into_iter().any(|one| self.is_shared(rank, one)).then_some(after)
    }

    fn give(&self, state: &mut State, rank: RankId, counter: Counter) {
        match counter {
            Counter::Semaphore(id) => {
                state.semaphore(rank, id).into_iter().for_each(|value| *value += 1);
            }
            Counter::Channel(id) => {
                let end = self.program.ranks.lookup(rank).and_then(|rank| rank.channels.lookup(id));
                let other = end.and_then(|end| end.peer().zip(end.partner));
                let came = other.and_then(|(peer, there)| state.channel(peer, there));
                came.into_iter().for_each(|(came, _)| *came += 1);
            }
        }
    }
}
