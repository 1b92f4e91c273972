//! One rank for all: where every rank does the same as rank 0, turned, rank 0 is followed alone.
//!
//! What rank 0 does to rank p, another rank does to rank 0; what it hears from p, p has heard of it from elsewhere. A fold
//! says which cell and which channel of rank 0 are meant by those of another rank.

use super::cells::Place;
use super::turn::{By, Turn};
use crate::ir::{ChannelId, Program, RankId};

/// How ranks are laid on each other.
#[derive(Debug)]
pub(super) struct Fold {
    turn: Turn,
}

impl Fold {
    /// Every rank for itself.
    pub(super) fn none() -> Fold {
        Fold { turn: Turn::Still }
    }

    /// How ranks are turned.
    pub(super) fn turn(&self) -> Turn {
        self.turn
    }

    /// The ranks that are followed.
    pub(super) fn followed(
        &self,
        program: &Program,
    ) -> impl Iterator<Item = RankId> + Clone + use<> {
        let all = program.ranks.len() as u32;
        (0..if self.turn == Turn::Still { all } else { all.min(1) }).map(RankId)
    }

    /// The place that stands for one, and the turn that leads from there to it.
    pub(super) fn home(&self, place: Place) -> (Place, By) {
        (place, 0)
    }

    /// The end of a channel that stands for one, and the turn that leads from there to it.
    pub(super) fn end(&self, rank: RankId, channel: ChannelId) -> (RankId, ChannelId, By) {
        (rank, channel, 0)
    }
}
