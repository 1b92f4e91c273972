//! Whether an operand's cells correspond to those of the representative's operand: element by element, in the same
//! order or, where chunks are in another order there, in any.

use super::super::turn::TurnId;
use super::homes::Span;
use super::same::Check;
use crate::ir::memory::home;
use crate::ir::{Buffer, Channel, Link, Operand, RankId, Where};

/// The positions of an operation's elements among those of its counterpart; none where they are in the same places.
pub(super) type Places<'a> = Option<Scattered<'a>>;

/// An operand whose chunks all have counterparts in one row, which begins at `start`.
pub(super) struct Scattered<'a> {
    span: Span<'a>,
    start: u32,
}

impl<'a> Check<'a> {
    /// The positions of the elements of this rank's operand among those of the representative's.
    pub(super) fn places(
        &self,
        (id, _): (RankId, TurnId),
        both: Option<(&Operand, &Operand)>,
    ) -> Places<'a> {
        let (operand, one) = both.filter(|_| self.fold.is_scattered())?;
        let (buffer, span) = self.place(id, operand)?;
        let (there, others) = self.place(self.turn.home(id).0, one)?;
        let local = (operand.place, one.place) == (Where::Local, Where::Local);
        // A representative's chunks are their own counterparts, so they are in a row.
        let start = others.get(0)?;
        let is_same = span.row() == Some(start);
        let inside = |chunk: &u32| chunk.checked_sub(start).is_some_and(|at| at < one.size);
        let scattered = local && buffer == there && span.len() == others.len() && !is_same;
        (scattered && span.chunks().iter().all(inside)).then_some(Scattered { span, start })
    }

    pub(super) fn operand(
        &self,
        (id, back): (RankId, TurnId),
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

    /// Whether both operands have the same counterparts, chunk by chunk.
    fn cells(
        &self,
        (id, operand): (RankId, &Operand),
        (other, one): (RankId, &Operand),
        places: &Places<'_>,
    ) -> bool {
        let Some((buffer, own)) = self.place(id, operand) else { return false };
        let Some((there, others)) = self.place(other, one) else { return false };
        let alike = match places {
            Some(places) => {
                let [own, others, at] = [own, others, places.span].map(Span::chunks);
                let there = |at: &u32| others.get(at.checked_sub(places.start)? as usize);
                let mut both = own.iter().zip(at.iter());
                own.len() == at.len() && both.all(|(cell, at)| there(at) == Some(cell))
            }
            None => match (own.row(), others.row()) {
                (Some(own_first), Some(first)) => own_first == first && own.len() == others.len(),
                (None, None) => own.chunks() == others.chunks(),
                (Some(_), None) | (None, Some(_)) => false,
            },
        };
        buffer == there && alike
    }

    /// The buffer in which an operand really lies, and its chunks there.
    fn place(&self, id: RankId, operand: &Operand) -> Option<(Buffer, Span<'a>)> {
        let alias = self.program.ranks.lookup(id)?.alias;
        let (buffer, at) = home(alias, operand.buffer, operand.index);
        let start = u32::try_from(at).ok()?;
        let end = start.checked_add(operand.size)?;
        Some((buffer, self.fold.homes(id, buffer)?.span(start..end)?))
    }
}
