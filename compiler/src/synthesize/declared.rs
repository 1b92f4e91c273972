//! Programs of collectives that are declared somewhere: each value has its own places in the input of its origins and in
//! the output of its receivers, which the promises of the collective name. What is neither there is in scratch memory. What
//! is added up arrives in scratch memory first, so that the same lines serve memory and ports.

mod places;
mod text;
mod values;

use super::channels::{Channels, UsedWay};
use super::{MAX_TABLE_MOVES, UnwrittenProgram, format_program};
use crate::ir;
use crate::machine::Machine;
use places::PlacedMoves;
use std::collections::{BTreeMap, BTreeSet};
use synth::rational::Rational;
use synth::schedule::{StepSchedule, Unit};
use values::{Signature, ValueList};

/// What the program of a declared collective begins with.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredHead<'a> {
    /// The machine that the schedule is for.
    pub machine: &'a Machine,
    /// The same machine with the links that a sketch keeps from carrying anything: signals may use them.
    pub whole: &'a Machine,
    /// Whether the library has the machine, so that the program can name it.
    pub is_library_machine: bool,
    /// The name of the program.
    pub name: &'a str,
    /// What the file says of the program at its begin, line by line.
    pub header: &'a [String],
    /// What the file imports: `std::collectives::scan`, `"mine.ccl"::exchange`.
    pub import: &'a str,
    /// The collective with its arguments: `scan(ranks, chunks = 2)`.
    pub call: &'a str,
    /// What each rank is promised, where each value is a piece.
    pub promises: &'a [ir::Rank],
    /// How the schedule takes sums that have parts in common.
    pub sums: CommonSums,
}

/// How a schedule takes sums that have parts in common, as those of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommonSums {
    /// Together, as one value of which ranks get different parts.
    Joined,
    /// Each on its own.
    Separate,
}

/// How the pieces of a schedule become values of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceDivision {
    /// Into how many pieces each chunk of the collective is divided.
    pub chunk: u64,
    /// Into how many each piece of the schedule is.
    pub piece: u32,
}

/// How both are divided so that each piece is a value.
///
/// # Errors
/// [`UnwrittenProgram::UnfitPieces`] if values and pieces do not go between the same ranks, or not in the same ratio.
pub fn divide_pieces(
    promises: &[ir::Rank],
    sums: CommonSums,
    units: &[Unit],
    chunks: u32,
) -> Result<PieceDivision, UnwrittenProgram> {
    let mut values: BTreeMap<Signature, u64> = BTreeMap::new();
    for value in ValueList::collect(promises, sums).values {
        *values.entry(value.signature).or_default() += 1;
    }
    values.retain(|signature, _| signature.moves());
    let mut pieces: BTreeMap<Signature, u64> = BTreeMap::new();
    for unit in units.iter().filter(|unit| !unit.receivers.is_empty()) {
        *pieces.entry(Signature::of_unit(unit)).or_default() += u64::from(chunks);
    }
    if !values.keys().eq(pieces.keys()) {
        return Err(UnwrittenProgram::UnfitPieces);
    }
    let ratios = pieces
        .values()
        .zip(values.values())
        .map(|(pieces, values)| Rational::new(i128::from(*pieces), i128::from(*values)).ok());
    // One for all, or there is none.
    let ratios: BTreeSet<Option<Rational>> = ratios.collect();
    let division = match Vec::from_iter(ratios).as_slice() {
        [Some(ratio)] => {
            u64::try_from(ratio.numerator()).ok().zip(u32::try_from(ratio.denominator()).ok())
        }
        _ => None,
    };
    division
        .map(|(chunk, piece)| PieceDivision { chunk, piece })
        .ok_or(UnwrittenProgram::UnfitPieces)
}

/// Writes the program of a schedule, formatted. `units` are what its pieces are pieces of.
///
/// # Errors
/// [`UnwrittenProgram`].
pub fn write_declared_program(
    head: &DeclaredHead<'_>,
    units: &[Unit],
    schedule: &StepSchedule,
) -> Result<String, UnwrittenProgram> {
    if schedule.moves.len() > MAX_TABLE_MOVES {
        return Err(UnwrittenProgram::TooManyMoves { moves: schedule.moves.len() });
    }
    let moves = schedule.moves.iter();
    let ways = moves.map(|own| UsedWay { from: own.from, to: own.to, path: &own.path });
    let channels = Channels::find(head.machine, head.whole, ways)?;
    let values = ValueList::collect(head.promises, head.sums).assign(units, schedule.chunks)?;
    let plan = PlacedMoves::plan(&values, schedule);
    let mut text = String::new();
    let written = plan.write_program(head, &channels, &mut text);
    written.map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    format_program(&text)
}
