//! One rank for many: where ranks do the same, turned, one of them is followed alone; at best rank 0 for all.
//!
//! What rank 0 does to rank p, another rank does to rank 0; what it hears from p, p has heard of it from elsewhere. A fold
//! says which cell and which channel of a rank that is followed are meant by those of another. It is guessed from what everything is
//! used for ([`marks`], [`guess`]), and then held against every operation of every rank ([`same`]).

mod guess;
mod homes;
mod marks;
mod operands;
mod same;
mod stretches;
mod uses;

use super::cells::Place;
use super::overlay;
use super::turn::{By, Turn};
use super::whole::Whole;
use crate::ir::memory::{accesses, home};
use crate::ir::run::{Grain, each_op};
use crate::ir::{Action, Buffer, ChannelId, ChannelKind, Op, Program, Rank, RankId};
use crate::table::{Id, Table};
pub(super) use homes::{Homes, Span};
use marks::{Marks, Numbers};
use std::cell::OnceCell;
use std::iter::{once, once_with};
use std::ops::RangeInclusive;
use std::rc::Rc;
use uses::Cells;

/// The most chunks for which it is worked out which stands for which.
const MOST_CHUNKS: u64 = 50_000_000;

/// How many rounds of marks are tried. One is enough for most programs. What is handed on by blocks that are alike but for
/// what they hand on needs more; so does what goes to another rank in each step, as it does where ranks make a cube.
fn rounds(turn: Turn) -> RangeInclusive<u32> {
    let first = if turn == Turn::Cube { 2 } else { 1 };
    first..=3
}

/// How ranks are laid on each other.
#[derive(Clone, Debug)]
pub(in crate::check) struct Fold {
    turn: Turn,
    grain: Grain,
    ranks: Rc<Vec<Folded>>,
    /// Whether ranks may do the elements of an operation in another order, and so by other threads, than the rank that stands
    /// for them.
    scattered: bool,
}

/// What stands for what a rank has. A buffer that lies in another has no cells of its own.
#[derive(Debug, Default)]
struct Folded {
    /// Its blocks, in the order of those of the rank that stands for it.
    blocks: Vec<u32>,
    /// For each channel the one there.
    channels: Vec<u32>,
    semaphores: Vec<u32>,
    input: Homes,
    output: Homes,
    scratch: Homes,
}

impl Fold {
    /// Every rank for itself.
    pub(super) fn none() -> Fold {
        Fold { turn: Turn::Still, grain: Grain::parts(1), ranks: Rc::default(), scattered: false }
    }

    /// Ranks on others, as few as there are, if they do the same; and with which operations: as they stand, if they do so
    /// then, since threads of what is put together know less. Memory is looked at by chunks, until it is said how finely. What
    /// was known of a program from which passes made this one is tried first.
    pub(super) fn of<'p>(program: &'p Program, known: Option<&Fold>) -> Option<(Whole<'p>, Fold)> {
        let chunks = |rank: &Rank| {
            [rank.input_chunks, rank.output_chunks, rank.scratch_chunks]
                .map(u64::from)
                .iter()
                .sum::<u64>()
        };
        let too_many = program.ranks.iter().map(chunks).sum::<u64>() > MOST_CHUNKS;
        if program.ranks.len() < 2 || too_many || overlay::mixed(program) {
            return None;
        }
        let known = known.filter(|fold| fold.fits(program)).cloned().map(Way::Known);
        let turns =
            turns(program).into_iter().filter(|turn| marks::are_linked_alike(program, *turn));
        let (written, cells) = (Whole::as_written(program), OnceCell::new());
        let mut together = None;
        for way in known.into_iter().chain(turns.map(Way::Turn)) {
            if let Some(fold) = way.lay(&written, &cells) {
                return Some((written, fold));
            }
            let (whole, cells) =
                together.get_or_insert_with(|| (Whole::of(program), OnceCell::new()));
            let differs = !whole.is_as_written();
            if let Some(fold) = differs.then(|| way.lay(whole, cells)).flatten() {
                let followed = fold.turn.first(program.ranks.len() as u32);
                return together.map(|(whole, _)| (whole.of_first(followed), fold));
            }
        }
        None
    }

    /// Whether ranks do the same, laid on each other so.
    pub(super) fn holds(&self, whole: &Whole<'_>) -> bool {
        (!self.scattered || is_plain(whole.program())) && same::holds(whole, self)
    }

    /// Whether everything that a program's ranks have has something that stands for it.
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

    /// The same where memory is looked at so finely; none where the chunks of a unit are not one on every rank.
    pub(super) fn at(&self, grain: Grain) -> Option<Fold> {
        let unit = grain.chunks_of_unit().max(1);
        let keeps = |rank: &Folded| {
            [&rank.input, &rank.output, &rank.scratch].iter().all(|homes| homes.keep_units(unit))
        };
        let kept = !self.scattered || unit == 1 || self.ranks.iter().all(keeps);
        kept.then(|| Fold { grain, ..self.clone() })
    }

    /// How ranks are turned.
    pub(super) fn turn(&self) -> Turn {
        self.turn
    }

    /// Whether ranks may do the elements of an operation in another order than the rank that stands for them.
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

    /// The place that stands for one, and the turn that leads from there to it. Those of a rank that is followed stand for
    /// themselves.
    pub(super) fn home(&self, place: Place) -> (Place, By) {
        let (rank, by) = self.turn.home(place.rank);
        if by == 0 {
            return (place, 0);
        }
        let (chunk, part) = self.grain.unit(place.cell);
        let chunk = self.cell(place.rank, place.buffer, chunk).unwrap_or(0);
        let cell = self.grain.cells(u64::from(chunk)) + part;
        (Place { rank, buffer: place.buffer, cell }, by)
    }

    /// The end of a channel that stands for one, and the turn that leads from there to it.
    pub(super) fn end(&self, rank: RankId, channel: ChannelId) -> (RankId, ChannelId, By) {
        let (first, by) = self.turn.home(rank);
        if by == 0 {
            return (rank, channel, 0);
        }
        let there = self.ranks.get(rank.index());
        let there = there.and_then(|there| there.channels.get(channel.index()));
        (first, ChannelId(there.copied().unwrap_or(u32::MAX)), by)
    }

    fn cell(&self, rank: RankId, buffer: Buffer, chunk: u64) -> Option<u32> {
        self.homes(rank, buffer)?.get(u32::try_from(chunk).ok()?)
    }

    /// For each chunk that really lies in a buffer the one that stands for it.
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

/// How ranks may lie on each other.
enum Way {
    /// As those do of a program that passes made this one from.
    Known(Fold),
    /// Turned so.
    Turn(Turn),
}

impl Way {
    /// Ranks laid on each other, if they do the same. How their buffers are cut is found once for all ways.
    fn lay(&self, whole: &Whole<'_>, cells: &OnceCell<Vec<Cells>>) -> Option<Fold> {
        match self {
            Way::Known(fold) => fold.holds(whole).then(|| fold.clone()),
            Way::Turn(turn) if !marks::begin_alike(whole, *turn) => None,
            Way::Turn(turn) => {
                let cells = cells.get_or_init(|| uses::cut(whole));
                let fold = |ranks: Vec<Folded>, scattered| {
                    let (turn, ranks) = (*turn, Rc::new(ranks));
                    Fold { turn, grain: Grain::parts(1), ranks, scattered }
                };
                let marks =
                    |numbers, rounds| marks::marks((whole, cells), *turn, (numbers, rounds));
                let guess = |marks: Option<Vec<Marks>>| {
                    Some(fold(guess::by_marks((whole, cells), *turn, &marks?)?, false))
                };
                // Where not even the marks of rows are alike, nothing is; what differs after few rounds does after more.
                let guesses = rounds(*turn).map_while(|rounds| {
                    let rows = once(Some(marks(Numbers::OfRows, rounds)?));
                    let all = rows.chain(once_with(move || marks(Numbers::OfOperations, rounds)));
                    Some(all.map_while(guess))
                });
                let by_number = once_with(|| {
                    let cube = (*turn == Turn::Cube).then_some(*turn)?;
                    Some(fold(guess::by_number((whole, cells), cube)?, true))
                });
                let mut guesses = guesses.flatten().chain(by_number.flatten());
                guesses.find(|fold| fold.holds(whole))
            }
        }
    }
}

/// The turns that a program's ranks may have.
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

/// The chunks of a rank's buffer; none of one that lies in another.
fn chunks(rank: &Rank, buffer: Buffer) -> u32 {
    let (outer, _) = home(rank.alias, buffer, 0);
    match buffer {
        _ if outer != buffer => 0,
        Buffer::Input => rank.input_chunks,
        Buffer::Output => rank.output_chunks,
        Buffer::Scratch => rank.scratch_chunks,
    }
}

/// Whether no thread knows more than the others of its block, and all operations are done by all of them.
fn is_plain(program: &Program) -> bool {
    let mut plain = true;
    for block in program.ranks.iter().flat_map(|rank| &rank.blocks) {
        each_op(&block.ops, &mut |op| {
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

/// The turn that puts the rank that stands for one in its place, undone.
fn back(turn: Turn, rank: RankId) -> By {
    turn.back(turn.home(rank).1)
}

/// Whether an operation tells nobody anything and hears nothing, but moves plain data: several such operations in a row,
/// none of which touches what another one writes, may stand in any order.
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

/// A table's rows, one for each rank.
fn per_rank<T>(program: &Program, make: impl Fn(&Rank) -> T) -> Vec<T> {
    program.ranks.iter().map(make).collect()
}

/// A row.
fn row<I: Id, T>(table: &Table<I, T>, index: u32) -> Option<&T> {
    table.lookup(I::from_index(index as usize))
}
