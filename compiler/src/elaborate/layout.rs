//! Keeps the packets of one scratch region out of the plain chunks of another.
//!
//! In: ranks whose regions lie in the order of their declaration, without gaps. Out: the same, with regions of plain
//! chunks behind the packets that are declared before them. A packet takes twice the space of its data, from twice the
//! offset on, and would otherwise lie in the plain chunks of a later region.
//!
//! - What a region holds is decided for all ranks together, so that regions of one size lie in one place on all ranks.
//! - Packets need no such care: from twice their offset on, no earlier region has plain chunks.
//! - In a region that holds both, the two share memory, which the checks know; its author may mean it.
//! - Nothing moves if the members of a switch would then find a region in different places.

use super::observe::Notes;
use super::world::{Declared, Family};
use crate::ir::{self, memory};
use crate::table::{Id, Table};
use std::rc::Rc;

/// The most chunks of scratch; more would not fit the numbers of operands.
const MOST_CHUNKS: u64 = 1 << 31;

/// What operations have in a region, on any rank.
#[derive(Clone, Copy, Default)]
struct Held {
    packets: bool,
    plain: bool,
    through_a_switch: bool,
}

/// Moves regions of plain chunks behind the packets of other regions.
pub(super) fn keep_apart(
    ranks: &mut Table<ir::RankId, ir::Rank>,
    declared: &[Rc<Declared>],
    notes: Option<&mut Notes>,
) {
    let held = held(ranks, declared);
    let Some(packets) = held.iter().position(|held| held.packets) else { return };
    if !held.iter().skip(packets + 1).any(|held| held.plain) {
        return;
    }
    let moves: Vec<Moves> = declared.iter().map(|own| Moves::of(own, &held)).collect();
    let fits = moves.iter().all(|moves| moves.chunks < MOST_CHUNKS);
    if !fits || !switches_agree(declared, &held, &moves) {
        return;
    }
    let moved = |at: ir::RankId, chunk: u32| {
        let (own, moves) = (declared.get(at.index())?, moves.get(at.index())?);
        Some(chunk + moves.distances.get(row_at(own, chunk)?)?)
    };
    let place = |here: ir::RankId, operand: &mut ir::Operand| {
        if operand.buffer == ir::Buffer::Scratch {
            operand.index = moved(home(here, operand), operand.index).unwrap_or(operand.index);
        }
    };
    for ((id, rank), moves) in (0..).map(ir::RankId).zip(ranks.iter_mut()).zip(&moves) {
        rank.scratch_chunks = moves.chunks as u32;
        for region in &mut rank.regions {
            region.offset = moved(id, region.offset).unwrap_or(region.offset);
        }
        let ops = rank.blocks.iter_mut().flat_map(|block| &mut block.ops);
        ops.for_each(|op| move_operands(op, &|operand| place(id, operand)));
    }
    if let Some(notes) = notes {
        notes.each_operand(&place);
    }
}

/// Whether regions that are reached through switches move alike on all ranks that have chunks there.
fn switches_agree(declared: &[Rc<Declared>], held: &[Held], moves: &[Moves]) -> bool {
    let rows = held.iter().enumerate().filter(|(_, held)| held.through_a_switch);
    rows.map(|(row, _)| row).all(|row| {
        let ranks = declared.iter().zip(moves).filter(|(own, _)| has_chunks(own, row));
        let mut distances = ranks.map(|(_, moves)| moves.distances.get(row));
        distances.next().is_none_or(|first| distances.all(|other| other == first))
    })
}

fn has_chunks(own: &Declared, row: usize) -> bool {
    let family = own.regions.get(row).and_then(Option::as_ref);
    family.is_some_and(|family| family.domain.len() > 0)
}

/// What each region holds.
fn held(ranks: &Table<ir::RankId, ir::Rank>, declared: &[Rc<Declared>]) -> Vec<Held> {
    let regions = declared.first().map_or(0, |own| own.regions.len());
    let mut held = vec![Held::default(); regions];
    // A single region has no other one in its way.
    if regions < 2 {
        return held;
    }
    for (id, rank) in ranks.entries() {
        for access in rank.all_ops().filter_map(ir::Op::transfer).flat_map(memory::accesses) {
            let operand = access.operand;
            let own = declared.get(home(id, &operand).index());
            let own = own.filter(|_| operand.buffer == ir::Buffer::Scratch);
            let row = own.and_then(|own| row_at(own, operand.index));
            if let Some(held) = row.and_then(|row| held.get_mut(row)) {
                held.packets |= access.packets;
                held.plain |= !access.packets;
                held.through_a_switch |= operand.is_switch();
            }
        }
    }
    held
}

/// The rank by whose declarations an operand of rank `here` was found.
fn home(here: ir::RankId, operand: &ir::Operand) -> ir::RankId {
    operand.place.peer().unwrap_or(here)
}

/// The region that has a chunk of scratch. Regions lie in order, and an empty one is not the last that begins there.
fn row_at(own: &Declared, chunk: u32) -> Option<usize> {
    let begins = |family: &Option<Family>| {
        family.as_ref().is_none_or(|family| family.first <= u64::from(chunk))
    };
    own.regions.partition_point(begins).checked_sub(1)
}

/// Where the regions of a rank go.
struct Moves {
    /// By how many chunks each of them moves. An empty one stays behind the one before it.
    distances: Vec<u32>,
    /// How many chunks of scratch there are then.
    chunks: u64,
}

impl Moves {
    fn of(own: &Declared, held: &[Held]) -> Moves {
        // Where the regions before end, and where their packets do.
        let (mut end, mut packets_end) = (0, 0);
        let mut distances = Vec::with_capacity(held.len());
        for (family, held) in own.regions.iter().zip(held) {
            let Some(family) = family else {
                distances.push(0);
                continue;
            };
            let chunks = family.domain.len();
            let is_behind = held.plain && chunks > 0;
            let first = if is_behind { packets_end.max(end) } else { end };
            distances.push((first - family.first) as u32);
            end = first + chunks;
            if held.packets && chunks > 0 {
                packets_end = 2 * end;
            }
        }
        Moves { distances, chunks: end }
    }
}

fn move_operands(op: &mut ir::Op, place: &impl Fn(&mut ir::Operand)) {
    match &mut op.action {
        ir::Action::Transfer(transfer) => {
            let operands = transfer.sources.iter_mut().chain(&mut transfer.destinations);
            operands.for_each(place);
        }
        ir::Action::Pipeline(pipeline) => {
            pipeline.body.iter_mut().for_each(|op| move_operands(op, place));
        }
        ir::Action::Sync
        | ir::Action::Barrier { .. }
        | ir::Action::Signal(_)
        | ir::Action::Wait(_)
        | ir::Action::Flush(_)
        | ir::Action::Acquire(_)
        | ir::Action::Release(_) => {}
    }
}
