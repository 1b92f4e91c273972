//! Whether operands are the same cells, once a rank is turned to the one that stands for it: element by element, in the same
//! order or, where chunks lie in another one, in any.

use super::super::turn::By;
use super::same::Check;
use crate::ir::memory::home;
use crate::ir::{Buffer, Channel, Link, Operand, RankId, Where};
use crate::table::Id;

/// Where the elements of an operation are among those of another one; none where they are in the same places.
pub(super) type Places<'a> = Option<Scattered<'a>>;

/// Chunks that stand for an operand's, all of them among as many in a row from here on.
pub(super) struct Scattered<'a> {
    chunks: &'a [u32],
    start: u32,
}

impl<'a> Check<'a> {
    /// Where the elements of an operand of this rank are among those of one of the rank that stands for it.
    pub(super) fn places(
        &self,
        (id, _): (RankId, By),
        both: Option<(&Operand, &Operand)>,
    ) -> Places<'a> {
        let (operand, one) = both.filter(|_| self.fold.is_scattered())?;
        let (buffer, chunks, in_a_row) = self.place(id, operand)?;
        let (there, others, _) = self.place(self.turn.home(id).0, one)?;
        let local = (operand.place, one.place) == (Where::Local, Where::Local);
        // The rank that stands for others stands for itself, so its chunks lie in a row.
        let start = *others.first()?;
        let is_same = in_a_row && chunks.first() == Some(&start);
        let inside = |chunk: &u32| chunk.checked_sub(start).is_some_and(|at| at < one.size);
        let scattered = local && buffer == there && chunks.len() == others.len() && !is_same;
        (scattered && chunks.iter().all(inside)).then_some(Scattered { chunks, start })
    }

    pub(super) fn operand(
        &self,
        (id, back): (RankId, By),
        (operand, one): (&Operand, &Operand),
        places: &Places<'_>,
    ) -> bool {
        if operand.size != one.size {
            return false;
        }
        let cells = |whose, other| self.cells((whose, operand), (other, one), places);
        match (operand.place, one.place) {
            (Where::Local, Where::Local) => cells(id, self.turn.home(id).0),
            (Where::Remote(peer), Where::Remote(other)) => {
                self.turn.then(peer.0, back) == other.0 && cells(peer, other)
            }
            (Where::Switch(channel), Where::Switch(other)) => {
                let row = |rank, id| self.program.ranks.lookup(rank)?.channels.lookup(id);
                let link = row(id, channel).map(|channel: &Channel| &channel.link);
                let Some(Link::Switch(group)) = link else { return false };
                self.fold.end(id, channel).1 == other
                    && group
                        .ranks
                        .iter()
                        .all(|member| cells(*member, RankId(self.turn.then(member.0, back))))
            }
            (Where::Local | Where::Remote(_) | Where::Switch(_), _) => false,
        }
    }

    /// Whether the same chunks stand for both operands, chunk by chunk.
    fn cells(
        &self,
        (id, operand): (RankId, &Operand),
        (other, one): (RankId, &Operand),
        places: &Places<'_>,
    ) -> bool {
        let Some((buffer, own, in_a_row)) = self.place(id, operand) else { return false };
        let Some((there, others, row_there)) = self.place(other, one) else { return false };
        let alike = match places {
            Some(places) => {
                let at = |place: &u32| others.get(place.checked_sub(places.start)? as usize);
                own.len() == places.chunks.len()
                    && own.iter().zip(places.chunks).all(|(cell, place)| at(place) == Some(cell))
            }
            None if in_a_row && row_there => own.first() == others.first(),
            None => own == others,
        };
        buffer == there && alike
    }

    /// The buffer in which an operand really lies, which chunks stand for its own, and whether these lie in a row.
    fn place(&self, id: RankId, operand: &Operand) -> Option<(Buffer, &'a [u32], bool)> {
        let alias = self.program.ranks.lookup(id)?.alias;
        let (buffer, at) = home(alias, operand.buffer, operand.index);
        let rows = self.rows.get(id.index())?.get(buffer as usize)?;
        let chunks = at as usize..at as usize + operand.size as usize;
        let cells = self.fold.cells(id, buffer).get(chunks)?;
        Some((buffer, cells, rows.leave_whole(at as u32, operand.size)))
    }
}
