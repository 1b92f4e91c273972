//! The steps of a block: taken as soon as possible where they take nothing from others, and in every order where they
//! do.

use super::model::{Act, Model, Turn};
use super::state::State;

impl Model {
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
        let Some(act) = self.act(state, block) else { return false };
        if let Some((turn, counter)) = act.turn {
            return turn == Turn::Wait && served(state, block, counter);
        }
        let mut left = act.takes.iter().filter_map(|counter| state.count(*counter));
        if !left.all(|count| count.left() > 0) || !self.has_packets(state, act) {
            return false;
        }
        let Some(barrier) = act.barrier else {
            act.takes.iter().for_each(|counter| state.take(*counter));
            act.gives.iter().for_each(|counter| state.give(*counter));
            state.pass(block);
            return true;
        };
        let members = self.members(barrier);
        let is_there = |member: &usize| {
            self.act(state, *member).is_some_and(|act| act.barrier == Some(barrier))
        };
        let meet = members.iter().all(is_there);
        if meet {
            members.iter().for_each(|member| state.pass(*member));
        }
        meet
    }

    /// The blocks that can do something next whose order matters, as far as that must be tried. Things that are done
    /// with different counters change nothing for each other. So where all who still use a counter are at it, nothing
    /// that is done elsewhere leads to something else being done with it first: then only what is done with that one is
    /// tried now, and all else after it.
    pub(super) fn tried(&self, state: &State) -> Vec<usize> {
        let turns = || {
            (0..self.blocks.len()).filter_map(|block| Some((block, self.can_turn(state, block)?)))
        };
        let ready = turns().map(|(_, counter)| counter).find(|one| self.have_all_come(state, *one));
        let is_tried = |counter| ready.is_none_or(|ready| ready == counter);
        turns().filter(|(_, counter)| is_tried(*counter)).map(|(block, _)| block).collect()
    }

    /// Whether all who still use a counter are at it, and do not come to it again by what others do: who has drawn a
    /// ticket goes on when a signal comes.
    fn have_all_come(&self, state: &State, counter: usize) -> bool {
        let users = self.users.get(counter).into_iter().flatten();
        users.copied().all(|(block, last)| {
            let place = state.place(block);
            let turn = self.act(state, block).and_then(|act| act.turn);
            let Some((turn, _)) = turn.filter(|(_, at)| *at == counter) else {
                return place.at > last;
            };
            let has_ticket = turn == Turn::Wait && place.drawn.is_some();
            !has_ticket || place.at == last
        })
    }

    /// The shared counter with which a block can do something next whose order matters.
    pub(super) fn can_turn(&self, state: &State, block: usize) -> Option<usize> {
        let (turn, counter) = self.act(state, block)?.turn?;
        let can = match (turn, state.place(block).drawn) {
            (Turn::Wait, drawn) => drawn.is_none(),
            (Turn::Acquire, Some(old)) => state.count(counter)?.left() >= old,
            (Turn::Acquire, None) | (Turn::Release, _) => true,
        };
        can.then_some(counter)
    }

    /// The state after a block has done the next thing whose order matters; none if it can do no such thing.
    pub(super) fn turn(&self, state: &State, block: usize) -> Option<State> {
        let counter = self.can_turn(state, block)?;
        let Act { turn, .. } = self.act(state, block)?;
        let mut after = state.clone();
        let count = state.count(counter)?;
        match (turn.map(|(turn, _)| turn)?, state.place(block).drawn) {
            (Turn::Wait, _) => {
                after.take(counter);
                after.draw(block, count.begun + 1);
            }
            (Turn::Acquire, Some(_)) => after.pass(block),
            (Turn::Acquire, None) => {
                after.take(counter);
                match count.left() > 0 {
                    true => after.pass(block),
                    false => after.draw(block, count.left()),
                }
            }
            (Turn::Release, _) => {
                after.give(counter);
                after.pass(block);
            }
        }
        Some(after)
    }
}

/// Lets a block that has drawn a ticket go on, if it is its turn; says whether it did.
fn served(state: &mut State, block: usize, counter: usize) -> bool {
    let drawn = state.place(block).drawn;
    let came = state.count(counter).zip(drawn).is_some_and(|(count, ticket)| count.given >= ticket);
    if came {
        state.pass(block);
    }
    came
}
