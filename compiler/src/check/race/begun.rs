//! Ranks that must have begun, as a barrier promises.
//!
//! In: what is known when the blocks of a rank have ended. Out: ranks that end before others have begun (E0702). The
//! order of execution counts: a rank that is known to have started has begun, in whatever way that is known.

use super::clock::{Clock, Lookup};
use super::fold::Fold;
use crate::ir::{Program, RankId};
use crate::table::Id;

/// A rank that may end too early.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::check) struct Early {
    /// The rank.
    pub(in crate::check) rank: RankId,
    /// The ranks that must have begun, and may not have.
    pub(in crate::check) missing: Vec<RankId>,
}

/// The ranks that may end too early. `ends` is what the followed ranks know at their ends.
pub(super) fn early(
    program: &Program,
    fold: &Fold,
    lookup: Lookup<'_>,
    ends: &[Clock],
) -> Vec<Early> {
    let turn = fold.turn();
    let mut found = Vec::new();
    for (rank, row) in program.ranks.entries() {
        let (home, by) = turn.home(rank);
        let Some(end) = ends.get(home.index()) else { continue };
        let back = turn.back(by);
        let known = |other: &RankId| {
            *other == rank || end.has_started(lookup, RankId(turn.then(other.0, back)))
        };
        let missing: Vec<RankId> =
            row.begun.iter().copied().filter(|other| !known(other)).collect();
        if !missing.is_empty() {
            found.push(Early { rank, missing });
        }
    }
    found
}
