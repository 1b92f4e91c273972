//! Representatives: where ranks are symmetric, that is, do the same up to a [`Turn`], only some of them are followed;
//! at best rank 0 alone.
//!
//! Whatever rank 0 does to a rank p, some rank does to rank 0 in the same way; and whatever rank 0 hears from p, some
//! rank hears from rank 0. A fold maps each cell and each channel of a rank to its counterpart on the rank's
//! representative. It is guessed from what everything is used for ([`marks`], [`guess`]), and then verified against
//! every operation of every rank ([`same`]). Where something turns out to have no counterpart all the same, nothing is
//! concluded, and every rank is followed.

mod guess;
mod homes;
mod marks;
mod operands;
mod same;
mod stretches;
mod uses;

use super::cells::Place;
use super::merged::Merged;
use super::overlay;
use super::turn::{Turn, TurnId};
use crate::check::budget::{FOLDED, MARKED};
use crate::ir::grain::Grain;
use crate::ir::memory::{accesses, home};
use crate::ir::{Action, Buffer, ChannelId, ChannelKind, Op, Program, Rank, RankId, all_ops};
use crate::table::{Id, Table};
pub(super) use homes::{Homes, Span};
use marks::{Marks, Numbers};
use rustc_hash::FxHashSet;
use std::cell::{Cell, OnceCell};
use std::iter::{once, once_with};
use std::ops::RangeInclusive;
use std::rc::Rc;
use uses::Cells;

/// The number of rounds of marks that is tried first. One round is enough for most programs. More are needed where data is
/// handed on by blocks that differ only in what they hand on, or goes to another rank in each step, as on a cube of
/// ranks.
fn first_rounds(turn: Turn) -> u32 {
    if turn == Turn::Cube { 2 } else { 1 }
}

/// Which ranks represent which others, and what corresponds to what on them.
#[derive(Clone, Debug)]
pub(in crate::check) struct Fold {
    turn: Turn,
    grain: Grain,
    ranks: Rc<Vec<Folded>>,
    /// Whether ranks may process the elements of an operation in another order than their representative, and so by
    /// other threads.
    scattered: bool,
    /// Whether something was looked up that has no counterpart: then nothing is known.
    lost: Cell<bool>,
}

/// The counterparts of what one rank has on its representative. A buffer that is part of another one has no chunks of
/// its own.
#[derive(Debug, Default)]
struct Folded {
    /// The rank's blocks, in the order of their counterparts.
    blocks: Vec<u32>,
    /// For each channel, its counterpart.
    channels: Vec<u32>,
    semaphores: Vec<u32>,
    input: Homes,
    output: Homes,
    scratch: Homes,
}

impl Fold {
    /// Every rank represents itself.
    pub(super) fn none() -> Fold {
        Fold::new(Turn::Still, Rc::default(), false)
    }

    /// Looks at memory by chunks until [`Fold::at`] sets another grain.
    fn new(turn: Turn, ranks: Rc<Vec<Folded>>, scattered: bool) -> Fold {
        Fold { turn, grain: Grain::parts(1), ranks, scattered, lost: Cell::new(false) }
    }

    /// As few representatives as possible, if ranks are symmetric, and the operations to follow: as they stand, if
    /// ranks are symmetric that way, since threads of merged operations know less; otherwise merged. Memory is looked
    /// at by chunks until [`Fold::at`] sets another grain. The fold that is known of the program from which passes made
    /// this one is tried first.
    pub(super) fn of<'p>(program: &'p Program, known: Option<&Fold>) -> Option<(Merged<'p>, Fold)> {
        let chunks = |rank: &Rank| {
            [rank.input_chunks, rank.output_chunks, rank.scratch_chunks]
                .map(u64::from)
                .iter()
                .sum::<u64>()
        };
        let too_many = FOLDED.allow(program.ranks.iter().map(chunks).sum()).is_err();
        if program.ranks.len() < 2 || too_many || overlay::mixed(program) {
            return None;
        }
        let ways = Way::all(program, known);
        let (written, cells) = (Merged::as_written(program), OnceCell::new());
        let mut together = None;
        for way in ways {
            if let Some(fold) = way.lay(&written, &cells) {
                return Some((written, fold));
            }
            let (merged, cells) =
                together.get_or_insert_with(|| (Merged::of(program), OnceCell::new()));
            let differs = !merged.is_as_written();
            if let Some(fold) = differs.then(|| way.lay(merged, cells)).flatten() {
                let followed = fold.turn.first(program.ranks.len() as u32);
                return together.map(|(merged, _)| (merged.of_first(followed), fold));
            }
        }
        None
    }

    /// Whether ranks do the same as their representatives under this fold.
    pub(super) fn holds(&self, merged: &Merged<'_>) -> bool {
        let holds = (!self.scattered || is_plain(merged.program())) && same::holds(merged, self);
        debug_assert!(!holds || self.is_one_to_one(), "two things have one counterpart");
        holds && !self.lost.get()
    }

    /// Whether no two things of a rank have the same counterpart.
    fn is_one_to_one(&self) -> bool {
        let is_distinct = |list: &mut dyn Iterator<Item = u32>| {
            let all: Vec<u32> = list.collect();
            all.iter().collect::<FxHashSet<&u32>>().len() == all.len()
        };
        self.ranks.iter().all(|rank| {
            let lists = [&rank.blocks, &rank.channels, &rank.semaphores];
            let homes = [&rank.input, &rank.output, &rank.scratch];
            lists.into_iter().all(|list| is_distinct(&mut list.iter().copied()))
                && homes.into_iter().all(|homes| {
                    is_distinct(&mut (0..homes.len()).filter_map(|chunk| homes.get(chunk)))
                })
        })
    }

    /// Something has no counterpart.
    pub(super) fn lose(&self) {
        self.lost.set(true);
    }

    /// Whether something was looked up that has no counterpart. Then what was found says nothing.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// Whether everything that a program's ranks have has a counterpart.
    fn fits(&self, program: &Program) -> bool {
        let fits = |(rank, folded): (&Rank, &Folded)| {
            let cells = [Buffer::Input, Buffer::Output, Buffer::Scratch]
                .into_iter()
                .all(|buffer| folded.homes(buffer).len() == chunks(rank, buffer));
            cells
                && folded.blocks.len() == rank.blocks.len()
                && folded.channels.len() == rank.channels.len()
                && folded.semaphores.len() == rank.semaphores.len()
        };
        self.ranks.len() == program.ranks.len()
            && program.ranks.iter().zip(self.ranks.iter()).all(fits)
    }

    /// The same fold at another grain; none if the counterparts of a unit's chunks are not a unit on every rank.
    pub(super) fn at(&self, grain: Grain) -> Option<Fold> {
        let unit = grain.chunks_of_unit().max(1);
        let keeps = |rank: &Folded| {
            [&rank.input, &rank.output, &rank.scratch].iter().all(|homes| homes.keep_units(unit))
        };
        debug_assert!(!self.is_lost(), "a fold that holds has lost nothing");
        let kept = !self.scattered || unit == 1 || self.ranks.iter().all(keeps);
        kept.then(|| Fold { grain, ..self.clone() })
    }

    /// The symmetry of the ranks.
    pub(super) fn turn(&self) -> Turn {
        self.turn
    }

    /// Whether ranks may process the elements of an operation in another order than their representative.
    pub(super) fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// The ranks that are followed.
    pub(in crate::check) fn followed(
        &self,
        program: &Program,
    ) -> impl Iterator<Item = RankId> + Clone + use<> {
        (0..self.turn.first(program.ranks.len() as u32)).map(RankId)
    }

    /// A place's counterpart, and the turn that leads from there to it. The places of followed ranks are their own
    /// counterparts.
    pub(super) fn home(&self, place: Place) -> (Place, TurnId) {
        let (rank, by) = self.turn.home(place.rank);
        if by == 0 {
            return (place, 0);
        }
        let (chunk, part) = self.grain.unit(place.cell);
        let chunk = self.cell(place.rank, place.buffer, chunk).unwrap_or_else(|| {
            self.lose();
            0
        });
        let cell = self.grain.cells(u64::from(chunk)) + part;
        (Place { rank, buffer: place.buffer, cell }, by)
    }

    /// The counterpart of a channel's end, and the turn that leads from there to it.
    pub(super) fn end(&self, rank: RankId, channel: ChannelId) -> (RankId, ChannelId, TurnId) {
        let (first, by) = self.turn.home(rank);
        if by == 0 {
            return (rank, channel, 0);
        }
        let there = self.ranks.get(rank.index());
        let there = there.and_then(|there| there.channels.get(channel.index()));
        let there = there.copied().unwrap_or_else(|| {
            self.lose();
            u32::MAX
        });
        (first, ChannelId(there), by)
    }

    fn cell(&self, rank: RankId, buffer: Buffer, chunk: u64) -> Option<u32> {
        self.homes(rank, buffer)?.get(u32::try_from(chunk).ok()?)
    }

    /// For each chunk that really lies in a buffer, its counterpart.
    pub(super) fn homes(&self, rank: RankId, buffer: Buffer) -> Option<&Homes> {
        self.ranks.get(rank.index()).map(|rank| rank.homes(buffer))
    }
}

impl Folded {
    fn homes(&self, buffer: Buffer) -> &Homes {
        match buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Scratch => &self.scratch,
        }
    }
}

/// A way in which ranks may represent each other.
enum Way {
    /// As known of the program from which passes made this one.
    Known(Fold),
    /// By a symmetry, with so many rounds of marks.
    Turn(Turn, RangeInclusive<u32>),
}

impl Way {
    /// The ways to try, in this order. Where the known fold no longer holds, its symmetry has usually been lost, so that
    /// more rounds of marks for it come last.
    fn all(program: &Program, known: Option<&Fold>) -> Vec<Way> {
        let known = known.filter(|fold| fold.fits(program));
        let (mut ways, mut last) = (Vec::new(), None);
        ways.extend(known.cloned().map(Way::Known));
        for turn in turns(program) {
            if !marks::are_linked_alike(program, turn) {
                continue;
            }
            let (first, most) = (first_rounds(turn), MARKED.amount() as u32);
            if known.is_some_and(|fold| fold.turn == turn) && first < most {
                ways.push(Way::Turn(turn, first..=first));
                last = Some(Way::Turn(turn, first + 1..=most));
            } else {
                ways.push(Way::Turn(turn, first..=most));
            }
        }
        ways.extend(last);
        ways
    }

    /// The fold, if ranks are symmetric this way. How their buffers are cut is found once for all ways.
    fn lay(&self, merged: &Merged<'_>, cells: &OnceCell<Vec<Cells>>) -> Option<Fold> {
        match self {
            Way::Known(fold) => fold.holds(merged).then(|| fold.clone()),
            Way::Turn(turn, _) if !marks::begin_alike(merged, *turn) => None,
            Way::Turn(turn, rounds) => {
                let cells = cells.get_or_init(|| uses::cut(merged));
                let fold =
                    |ranks: Vec<Folded>, scattered| Fold::new(*turn, Rc::new(ranks), scattered);
                let marks =
                    |numbers, rounds| marks::marks((merged, cells), *turn, (numbers, rounds));
                let guess = |marks: Option<Vec<Marks>>| {
                    Some(fold(guess::by_marks((merged, cells), *turn, &marks?)?, false))
                };
                // If not even the marks of rows are alike, nothing is; and whatever differs after few rounds differs
                // after more.
                let is_last = u64::from(*rounds.end()) == MARKED.amount();
                let guesses = rounds.clone().map_while(|rounds| {
                    let rows = once(Some(marks(Numbers::OfRows, rounds)?));
                    let all = rows.chain(once_with(move || marks(Numbers::OfOperations, rounds)));
                    Some(all.map_while(guess))
                });
                let by_number = once_with(|| {
                    let cube = (*turn == Turn::Cube && is_last).then_some(*turn)?;
                    Some(fold(guess::by_number((merged, cells), cube)?, true))
                });
                let mut guesses = guesses.flatten().chain(by_number.flatten());
                guesses.find(|fold| fold.holds(merged))
            }
        }
    }
}

/// The symmetries that a program's ranks may have.
fn turns(program: &Program) -> Vec<Turn> {
    let ranks = program.ranks.len() as u32;
    let width = program.ranks_per_node.max(1);
    let mut turns = vec![Turn::Ring { ranks, step: 1 }];
    let nodes = width > 1 && width < ranks && ranks.is_multiple_of(width);
    if nodes {
        turns.push(Turn::Grid { nodes: ranks / width, width });
    }
    if ranks.is_power_of_two() && ranks > 2 {
        turns.push(Turn::Cube);
    }
    if nodes {
        turns.push(Turn::Ring { ranks, step: width });
    }
    turns
}

/// The number of chunks of a rank's buffer; 0 for one that is part of another.
fn chunks(rank: &Rank, buffer: Buffer) -> u32 {
    let (outer, _) = home(rank.alias, buffer, 0);
    match buffer {
        _ if outer != buffer => 0,
        Buffer::Input => rank.input_chunks,
        Buffer::Output => rank.output_chunks,
        Buffer::Scratch => rank.scratch_chunks,
    }
}

/// Whether no thread knows more than the others of its block, and all threads take part in all operations.
fn is_plain(program: &Program) -> bool {
    let mut plain = true;
    for block in program.ranks.iter().flat_map(|rank| &rank.blocks) {
        all_ops(&block.ops).for_each(|op| {
            plain &= match &op.action {
                Action::Transfer(transfer) => {
                    transfer.slice.is_none() && !accesses(transfer).any(|access| access.packets)
                }
                Action::Pipeline(_) => false,
                Action::Sync
                | Action::Barrier { .. }
                | Action::Signal(_)
                | Action::Wait(_)
                | Action::Flush(_)
                | Action::Acquire(_)
                | Action::Release(_) => true,
            };
        });
    }
    plain
}

/// The turn that leads from a rank to its representative.
fn back(turn: Turn, rank: RankId) -> TurnId {
    turn.back(turn.home(rank).1)
}

/// Whether an operation only moves plain data, and does not synchronize: several such operations in a row, none of
/// which touches what another one writes, may be in any order.
fn is_quiet(op: &Op) -> bool {
    match &op.action {
        Action::Transfer(transfer) => {
            op.sync.is_none()
                && transfer.via != Some(ChannelKind::Port)
                && !accesses(transfer).any(|access| access.packets)
        }
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => false,
    }
}

/// A value for each rank.
fn per_rank<T>(program: &Program, make: impl Fn(&Rank) -> T) -> Vec<T> {
    program.ranks.iter().map(make).collect()
}

/// A row.
fn row<I: Id, T>(table: &Table<I, T>, index: u32) -> Option<&T> {
    table.lookup(I::from_index(index as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_counterpart_is_noticed() {
        let turn = Turn::Ring { ranks: 2, step: 1 };
        let fold = || Fold::new(turn, Rc::new(vec![Folded::default(), Folded::default()]), false);
        let place = |rank| Place { rank: RankId(rank), buffer: Buffer::Input, cell: 0 };
        let (own, other, end) = (fold(), fold(), fold());
        own.home(place(0));
        other.home(place(1));
        end.end(RankId(1), ChannelId(0));
        assert_eq!([own.is_lost(), other.is_lost(), end.is_lost()], [false, true, true]);
    }
}
