//! Steps that a block repeats.
//!
//! In: the statements of a block, and where to start. Out: stretches of statements from there on
//! that repeat except for their numbers, those that cover the most first. Whether formulas for the
//! numbers make a loop of them is decided elsewhere.

use super::statement::Statement;

/// Fewer turns than this are easier to read one after the other.
const FEWEST: usize = 3;

/// The longest step that is tried.
const LONGEST: usize = 64;

/// A step, and how often it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turns {
    from: usize,
    length: usize,
    pub(super) count: usize,
}

impl Turns {
    /// The index of the statement after the last turn.
    pub(super) fn end(self) -> usize {
        self.from + self.length * self.count
    }

    /// The statements of the first turn.
    pub(super) fn period(self) -> std::ops::Range<usize> {
        self.from..self.from + self.length
    }

    /// The indices of a statement of the first turn and of its counterparts in the other turns.
    pub(super) fn of(self, index: usize) -> impl Iterator<Item = usize> {
        (index..).step_by(self.length).take(self.count)
    }
}

/// The repeats that begin at a statement.
pub(super) fn turns(statements: &[Statement], from: usize) -> Vec<Turns> {
    let rest = statements.get(from..).unwrap_or_default();
    // Steps that contain a loop are left as they are.
    let plain = rest.iter().take_while(|statement| !statement.is_loop()).count();
    let rest = rest.get(..plain).unwrap_or_default();
    let of = |length: usize| {
        let again = rest.iter().zip(rest.iter().skip(length));
        let alike = again.take_while(|(one, other)| one.is_like(other)).count();
        Turns { from, length, count: alike / length + 1 }
    };
    let mut found: Vec<Turns> = (1..=LONGEST.min(rest.len() / FEWEST))
        .map(of)
        .filter(|turns| turns.count >= FEWEST)
        .collect();
    // The sort is stable, so the shortest step stays first among those that cover as much.
    found.sort_by_key(|turns| std::cmp::Reverse(turns.end()));
    found
}
