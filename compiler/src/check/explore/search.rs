//! The search of one part of a program, which can be interrupted and continued.

use super::Unserved;
use super::model::Model;
use super::state::{Place, State};
use rustc_hash::FxHashSet;

/// How far a search has come.
pub(super) enum Progress {
    /// Some block waits forever for a counter that it shares with others.
    Stuck(Unserved),
    /// It has not met all states yet.
    Halfway,
    /// It has met all states.
    Done,
}

/// The search of a part: depth first.
pub(super) struct Search {
    pub(super) model: Model,
    /// The places of the blocks in all states that were met.
    met: FxHashSet<Vec<Place>>,
    /// The states that lead to the current one, and for each the blocks whose turns are still to be tried.
    path: Vec<(State, Vec<usize>)>,
    /// Whether some state seems to be the last one of its schedule, but may not be: packets that arrive in pieces are
    /// not modeled.
    pub(super) is_unsure: bool,
}

impl Search {
    pub(super) fn new(model: Model) -> Search {
        Search { model, met: FxHashSet::default(), path: Vec::new(), is_unsure: false }
    }

    /// How many states were met.
    pub(super) fn met(&self) -> usize {
        self.met.len()
    }

    /// How many places a state has.
    pub(super) fn size(&self) -> usize {
        self.model.blocks.len()
    }

    /// Continues until so many more states have been met.
    pub(super) fn go_on(&mut self, most: usize) -> Progress {
        let most = self.met.len().saturating_add(most);
        while self.met.len() < most {
            let Some(next) = self.next() else { return Progress::Done };
            if let Some(unserved) = self.enter(next) {
                return Progress::Stuck(unserved);
            }
        }
        match !self.met.is_empty() && self.path.iter().all(|(_, turns)| turns.is_empty()) {
            true => Progress::Done,
            false => Progress::Halfway,
        }
    }

    /// The first state, or the next one that follows from one that was met.
    fn next(&mut self) -> Option<State> {
        if self.met.is_empty() {
            return Some(self.model.start());
        }
        loop {
            let (state, turns) = self.path.last_mut()?;
            let Some(block) = turns.pop() else {
                self.path.pop();
                continue;
            };
            if let Some(after) = self.model.turn(state, block) {
                return Some(after);
            }
        }
    }

    /// Goes to a state, unless it was met before. If nothing follows it: a block that waits forever.
    fn enter(&mut self, mut state: State) -> Option<Unserved> {
        self.model.settle(&mut state);
        if !self.met.insert(state.places.clone()) {
            return None;
        }
        let turns = self.model.tried(&state);
        let last = turns.is_empty().then(|| self.model.unfinished(&state)).flatten();
        let unserved = last.and_then(|block| self.model.unserved(&state, block));
        self.is_unsure |= last.is_some() && unserved.is_none();
        self.path.push((state, turns));
        unserved
    }
}
