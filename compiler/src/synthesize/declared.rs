//! Programs of collectives that are declared somewhere: each value has its own places in the input of its origins and in
//! the output of its receivers, which the promises of the collective name. What is neither there is in scratch memory. What
//! is added up arrives in scratch memory first, so that the same lines serve memory and ports.

use super::channels::{Channels, UsedWay};
use super::{UnwrittenProgram, format_program};
use crate::ir;
use crate::machine::Machine;
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use synth::graph::Vertex;
use synth::rational::Rational;
use synth::schedule::{Move, MoveAction, Piece, StepSchedule, Unit};

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
    let mut ratios = values.iter().zip(&pieces).map(|((wanted, values), (own, pieces))| {
        (wanted == own).then(|| Rational::new(i128::from(*pieces), i128::from(*values)).ok())?
    });
    let first = ratios.next().flatten().filter(|_| values.len() == pieces.len());
    let ratio = first.filter(|first| ratios.all(|ratio| ratio == Some(*first)));
    let division = ratio.and_then(|ratio| {
        let chunk = u64::try_from(ratio.numerator()).ok()?;
        Some(PieceDivision { chunk, piece: u32::try_from(ratio.denominator()).ok()? })
    });
    division.ok_or(UnwrittenProgram::UnfitPieces)
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
    let moves = schedule.moves.iter();
    let ways = moves.map(|own| UsedWay { from: own.from, to: own.to, path: &own.path });
    let channels = Channels::find(head.machine, head.whole, ways)?;
    let values = ValueList::collect(head.promises, head.sums).assign(units, schedule.chunks)?;
    let plan = PlacedMoves::plan(&values, schedule, head.promises.len() as u32);
    let mut text = String::new();
    let written = plan.write_program(head, &channels, &mut text);
    written.map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    format_program(&text)
}

/// Who has parts of values, and who gets which of them. Values with the same signature can stand for each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Signature {
    origins: Vec<Vertex>,
    /// For each receiver the origins of what it gets, in order; a copy is not demanded by its origin.
    receivers: BTreeMap<Vertex, Vec<Vertex>>,
}

impl Signature {
    fn of_unit(unit: &Unit) -> Signature {
        let receivers = unit.receivers.iter().enumerate();
        Signature {
            origins: unit.origins.clone(),
            receivers: receivers
                .map(|(index, receiver)| (*receiver, unit.find_summands(index).to_vec()))
                .collect(),
        }
    }

    /// Whether somebody gets something that it does not have.
    fn moves(&self) -> bool {
        !self.receivers.is_empty()
    }
}

/// A chunk of a buffer of a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BufferChunk {
    rank: Vertex,
    chunk: u32,
}

/// Values that are made of the same parts: a copy, a sum, or sums of some of the parts each.
struct PromisedValue {
    signature: Signature,
    /// The chunk of the input of each origin.
    inputs: BTreeMap<Vertex, u32>,
    /// The chunks of the output of each rank that gets it, its origin included.
    outputs: BTreeMap<Vertex, Vec<u32>>,
}

impl PromisedValue {
    /// Where what arrives at a rank stays; none if others get it from there.
    fn find_output(&self, rank: Vertex) -> Option<u32> {
        self.signature.receivers.get(&rank)?;
        self.outputs.get(&rank)?.first().copied()
    }

    fn new() -> PromisedValue {
        PromisedValue {
            signature: Signature { origins: Vec::new(), receivers: BTreeMap::new() },
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
        }
    }
}

struct ValueList {
    values: Vec<PromisedValue>,
}

impl ValueList {
    /// What is promised, in order. Joined sums are one value, and so are promises of the same parts.
    fn collect(promises: &[ir::Rank], sums: CommonSums) -> ValueList {
        let mut promised: Vec<PromisedParts> = Vec::new();
        for (rank, row) in (0..).map(Vertex).zip(promises) {
            for promise in row.promises.iter() {
                let sources = promise.terms.iter().flat_map(ir::Term::sources);
                let mut parts: Vec<BufferChunk> = sources
                    .map(|(rank, chunk)| BufferChunk { rank: Vertex(rank), chunk })
                    .collect();
                parts.sort_unstable();
                promised.push(PromisedParts {
                    place: BufferChunk { rank, chunk: promise.chunk },
                    parts,
                });
            }
        }
        promised.retain(|own| !own.parts.is_empty());
        let joined = match sums {
            CommonSums::Joined => join_parts(&promised),
            CommonSums::Separate => BTreeMap::new(),
        };
        let mut values: BTreeMap<Vec<BufferChunk>, PromisedValue> = BTreeMap::new();
        for PromisedParts { place, parts } in promised {
            let key = match (sums, parts.first()) {
                (CommonSums::Joined, Some(first)) => vec![find_first(&joined, *first)],
                (CommonSums::Joined | CommonSums::Separate, _) => parts.clone(),
            };
            let value = values.entry(key).or_insert_with(PromisedValue::new);
            let origins: Vec<Vertex> = parts.iter().map(|part| part.rank).collect();
            for part in &parts {
                value.inputs.insert(part.rank, part.chunk);
            }
            value.outputs.entry(place.rank).or_default().push(place.chunk);
            // Nobody has to send a rank what it contributes alone.
            if origins != [place.rank] {
                value.signature.receivers.insert(place.rank, origins);
            }
        }
        let mut values: Vec<PromisedValue> = values.into_values().collect();
        for value in &mut values {
            value.signature.origins = value.inputs.keys().copied().collect();
        }
        ValueList { values }
    }

    /// A value for each piece, and then those that nobody else gets.
    fn assign(self, units: &[Unit], chunks: u32) -> Result<AssignedValues, UnwrittenProgram> {
        let mut of_signature: BTreeMap<Signature, Vec<PromisedValue>> = BTreeMap::new();
        let mut kept = Vec::new();
        for value in self.values.into_iter().rev() {
            if value.signature.moves() {
                of_signature.entry(value.signature.clone()).or_default().push(value);
            } else {
                kept.push(value);
            }
        }
        let mut of_pieces = BTreeMap::new();
        for (index, unit) in (0..).zip(units).filter(|(_, unit)| !unit.receivers.is_empty()) {
            let fitting = of_signature.get_mut(&Signature::of_unit(unit));
            let fitting = fitting.ok_or(UnwrittenProgram::UnfitPieces)?;
            for part in 0..chunks {
                let value = fitting.pop().ok_or(UnwrittenProgram::UnfitPieces)?;
                of_pieces.insert(Piece(index * chunks + part), value);
            }
        }
        if of_signature.values().any(|left| !left.is_empty()) {
            return Err(UnwrittenProgram::UnfitPieces);
        }
        Ok(AssignedValues { of_pieces, kept })
    }
}

/// What a chunk of an output is made of.
struct PromisedParts {
    place: BufferChunk,
    /// Chunks of inputs, in order.
    parts: Vec<BufferChunk>,
}

/// The parts that are joined with others, since a promise has both: each points to one that is not after it.
fn join_parts(promised: &[PromisedParts]) -> BTreeMap<BufferChunk, BufferChunk> {
    let mut joined: BTreeMap<BufferChunk, BufferChunk> = BTreeMap::new();
    for PromisedParts { parts, .. } in promised {
        let firsts: Vec<BufferChunk> =
            parts.iter().map(|part| find_first(&joined, *part)).collect();
        let Some(least) = firsts.iter().copied().min() else { continue };
        joined.extend(firsts.iter().chain(parts).map(|part| (*part, least)));
    }
    joined
}

/// The first part that a part is joined with.
fn find_first(joined: &BTreeMap<BufferChunk, BufferChunk>, mut part: BufferChunk) -> BufferChunk {
    while let Some(before) = joined.get(&part).copied().filter(|before| *before != part) {
        part = before;
    }
    part
}

struct AssignedValues {
    of_pieces: BTreeMap<Piece, PromisedValue>,
    /// What ranks get of their own.
    kept: Vec<PromisedValue>,
}

/// Where a value is on a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PlaceOnRank {
    Input(u32),
    Output(u32),
    Scratch(u32),
}

/// A piece on a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PieceOnRank {
    rank: Vertex,
    piece: Piece,
}

/// A move with its places.
struct PlacedMove {
    from: Vertex,
    to: Vertex,
    source: PlaceOnRank,
    /// Where it arrives.
    landing: PlaceOnRank,
    /// What it is added to, and where the sum goes; none if it is copied.
    sum: Option<PlacedSum>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PlacedSum {
    own: PlaceOnRank,
    target: PlaceOnRank,
}

/// A copy on one rank.
struct LocalCopy {
    rank: Vertex,
    source: PlaceOnRank,
    output: u32,
}

struct PlacedMoves {
    steps: Vec<Vec<PlacedMove>>,
    /// What is copied on ranks in the end.
    copies: Vec<LocalCopy>,
    inputs: u32,
    outputs: u32,
    scratch: u32,
}

/// Gives out chunks of scratch memory, rank by rank.
struct ScratchSlots {
    next: BTreeMap<Vertex, u32>,
}

impl ScratchSlots {
    fn take(&mut self, rank: Vertex) -> PlaceOnRank {
        let slot = self.next.entry(rank).or_default();
        *slot += 1;
        PlaceOnRank::Scratch(*slot - 1)
    }
}

impl PlacedMoves {
    fn plan(values: &AssignedValues, schedule: &StepSchedule, ranks: u32) -> PlacedMoves {
        let mut slots = ScratchSlots { next: BTreeMap::new() };
        let mut held: BTreeMap<PieceOnRank, PlaceOnRank> = BTreeMap::new();
        for (piece, value) in &values.of_pieces {
            for (rank, chunk) in &value.inputs {
                held.insert(PieceOnRank { rank: *rank, piece: *piece }, PlaceOnRank::Input(*chunk));
            }
        }
        let mut moves: Vec<&Move> = schedule.moves.iter().collect();
        moves.sort();
        let mut steps = Vec::new();
        for of_step in moves.chunk_by(|one, other| one.step == other.step) {
            // What is sent is what was there before the step.
            let sources: Vec<Option<PlaceOnRank>> = of_step
                .iter()
                .map(|own| held.get(&PieceOnRank { rank: own.from, piece: own.piece }).copied())
                .collect();
            let mut placed = Vec::new();
            for (own, source) in of_step.iter().zip(sources) {
                let Some(source) = source else { continue };
                let here = PieceOnRank { rank: own.to, piece: own.piece };
                let output =
                    values.of_pieces.get(&own.piece).and_then(|value| value.find_output(own.to));
                let known = held.get(&here).copied();
                let mut find_target = || match (known, output) {
                    (Some(PlaceOnRank::Scratch(slot)), _) => PlaceOnRank::Scratch(slot),
                    (_, Some(output)) => PlaceOnRank::Output(output),
                    (_, None) => slots.take(own.to),
                };
                let target = find_target();
                let summand = known.filter(|_| own.action == MoveAction::Reduce);
                let (landing, sum) = match summand {
                    Some(summand) => (slots.take(own.to), Some(PlacedSum { own: summand, target })),
                    None => (target, None),
                };
                held.insert(here, target);
                placed.push(PlacedMove { from: own.from, to: own.to, source, landing, sum });
            }
            steps.push(placed);
        }
        let pieces = values.of_pieces.iter().map(|(piece, value)| (Some(*piece), value));
        let mut copies = Vec::new();
        for (piece, value) in pieces.chain(values.kept.iter().map(|value| (None, value))) {
            for (rank, outputs) in &value.outputs {
                let rank = *rank;
                // What passes through a rank that gets its own contribution only is not what it gets.
                let arrives = value.signature.receivers.contains_key(&rank);
                let moved = piece
                    .filter(|_| arrives)
                    .and_then(|piece| held.get(&PieceOnRank { rank, piece }).copied());
                let kept = value.inputs.get(&rank).map(|chunk| PlaceOnRank::Input(*chunk));
                let Some(source) = moved.or(kept) else { continue };
                let missing =
                    outputs.iter().filter(|output| source != PlaceOnRank::Output(**output));
                copies.extend(missing.map(|output| LocalCopy { rank, source, output: *output }));
            }
        }
        let all = || values.of_pieces.values().chain(&values.kept);
        let inputs = all().flat_map(|value| value.inputs.values()).max();
        let outputs = all().flat_map(|value| value.outputs.values().flatten()).max();
        debug_assert!(held.keys().all(|held| held.rank.0 < ranks), "moves are between ranks");
        PlacedMoves {
            steps,
            copies,
            inputs: inputs.map_or(0, |last| last + 1),
            outputs: outputs.map_or(0, |last| last + 1),
            scratch: slots.next.into_values().max().unwrap_or(0),
        }
    }

    /// The number that stands for a place in a table.
    fn number(&self, place: PlaceOnRank) -> u32 {
        match place {
            PlaceOnRank::Input(chunk) => chunk,
            PlaceOnRank::Output(chunk) => self.inputs + chunk,
            PlaceOnRank::Scratch(slot) => self.inputs + self.outputs + slot,
        }
    }

    /// The chunk that a number in a table stands for, if it is in the same buffer as a place.
    fn write_place(&self, place: PlaceOnRank, number: &str) -> String {
        let after = |first: u32| {
            if first == 0 { number.to_owned() } else { format!("{number} - {first}") }
        };
        match place {
            PlaceOnRank::Input(_) => format!("input[{number}]"),
            PlaceOnRank::Output(_) => format!("output[{}]", after(self.inputs)),
            PlaceOnRank::Scratch(_) => format!("held[{}]", after(self.inputs + self.outputs)),
        }
    }

    /// The condition that a number stands for a place in the same buffer.
    fn write_condition(&self, place: PlaceOnRank, number: &str) -> String {
        let last = self.inputs + self.outputs;
        match place {
            PlaceOnRank::Input(_) => format!("{number} < {}", self.inputs),
            PlaceOnRank::Output(_) => {
                format!("{number} >= {} && {number} < {last}", self.inputs)
            }
            PlaceOnRank::Scratch(_) => format!("{number} >= {last}"),
        }
    }

    fn write_program(
        &self,
        head: &DeclaredHead<'_>,
        channels: &Channels,
        text: &mut String,
    ) -> fmt::Result {
        let ranks = head.promises.len();
        for line in head.header {
            writeln!(text, "//! {line}")?;
        }
        writeln!(text, "use {};", head.import)?;
        if head.is_library_machine {
            let name = head.machine.name.split('(').next().unwrap_or_default();
            writeln!(text, "use std::topologies::{name};")?;
        }
        writeln!(text)?;
        self.write_tables(text)?;
        writeln!(text, "/// The ranks that `r` sends to or receives from.")?;
        writeln!(
            text,
            "fn neighbors(r: rank) -> int[] = {{step in steps, s in step if s[0] == r || s[1] == r: s[0] + s[1] - r}};\n"
        )?;
        channels.write_functions(text)?;
        writeln!(text, "program {}(ranks: int = {ranks}, instances: int = 1) {{", head.name)?;
        writeln!(text, "require ranks == {ranks}, \"this schedule is for {ranks} ranks\";")?;
        if head.is_library_machine {
            writeln!(text, "topology {};", head.machine.name)?;
        }
        writeln!(text, "collective {};", head.call)?;
        writeln!(text, "options {{ instances = instances; }}")?;
        channels.write_declaration(text)?;
        if self.scratch > 0 {
            writeln!(text, "scratch held[{}];", self.scratch)?;
        }
        writeln!(text, "\nblock main {{")?;
        channels.write_greeting(text)?;
        self.write_steps(channels, text)?;
        self.write_copies(text)?;
        if !channels.can_read() {
            channels.write_farewell(text)?;
        }
        writeln!(text, "}}\n}}")
    }

    fn write_tables(&self, text: &mut String) -> fmt::Result {
        let has_sums = self.steps.iter().flatten().any(|own| own.sum.is_some());
        let shape =
            if has_sums { ", what is added to it, the sum]; -1 where it is copied" } else { "]" };
        writeln!(
            text,
            "/// Step by step: [from, to, place in `from`, place in `to`{shape}. The places below {} are in the input",
            self.inputs
        )?;
        let last = self.inputs + self.outputs;
        if self.scratch > 0 {
            writeln!(
                text,
                "/// those below {last} in the output, and all others in scratch memory."
            )?;
        } else {
            writeln!(text, "/// and all others in the output.")?;
        }
        writeln!(text, "let steps = [")?;
        for step in &self.steps {
            writeln!(text, "[")?;
            for of_rank in step.chunk_by(|one, other| one.from == other.from) {
                let rows: Vec<String> =
                    of_rank.iter().map(|own| self.write_row(own, has_sums)).collect();
                writeln!(text, "{},", rows.join(", "))?;
            }
            writeln!(text, "],")?;
        }
        writeln!(text, "];\n")?;
        if self.copies.is_empty() {
            return Ok(());
        }
        writeln!(
            text,
            "/// What each rank copies in the end: [rank, place, chunk of the output].\nlet copies = ["
        )?;
        for of_rank in self.copies.chunk_by(|one, other| one.rank == other.rank) {
            let rows: Vec<String> = of_rank
                .iter()
                .map(|own| format!("[{}, {}, {}]", own.rank, self.number(own.source), own.output))
                .collect();
            writeln!(text, "{},", rows.join(", "))?;
        }
        writeln!(text, "];\n")
    }

    fn write_row(&self, own: &PlacedMove, has_sums: bool) -> String {
        let [source, landing] = [own.source, own.landing].map(|place| self.number(place));
        let ends = format!("{}, {}, {source}, {landing}", own.from, own.to);
        match own.sum {
            _ if !has_sums => format!("[{ends}]"),
            None => format!("[{ends}, -1, -1]"),
            Some(sum) => {
                format!("[{ends}, {}, {}]", self.number(sum.own), self.number(sum.target))
            }
        }
    }

    fn write_steps(&self, channels: &Channels, text: &mut String) -> fmt::Result {
        let name = channels.name();
        let kind = |place: PlaceOnRank| match place {
            PlaceOnRank::Input(_) => PlaceOnRank::Input(0),
            PlaceOnRank::Output(_) => PlaceOnRank::Output(0),
            PlaceOnRank::Scratch(_) => PlaceOnRank::Scratch(0),
        };
        let moves = || self.steps.iter().flatten();
        let mut puts: Vec<[PlaceOnRank; 2]> =
            moves().map(|own| [kind(own.source), kind(own.landing)]).collect();
        puts.sort();
        puts.dedup();
        let mut sums: Vec<PlacedSum> = moves()
            .filter_map(|own| own.sum)
            .map(|sum| PlacedSum { own: kind(sum.own), target: kind(sum.target) })
            .collect();
        sums.sort();
        sums.dedup();
        writeln!(text, "for step in steps {{")?;
        let is_single = puts.len() == 1;
        for [source, landing] in &puts {
            let condition = if is_single {
                String::new()
            } else {
                format!(
                    " && {} && {}",
                    self.write_condition(*source, "s[2]"),
                    self.write_condition(*landing, "s[3]")
                )
            };
            writeln!(
                text,
                "for s in step if s[0] == rank{condition} {{ put {} -> (s[1]).{} via {name}[s[1]]; }}",
                self.write_place(*source, "s[2]"),
                self.write_place(*landing, "s[3]")
            )?;
        }
        writeln!(text, "for p in {{s in step if s[0] == rank: s[1]}} {{ signal {name}[p]; }}")?;
        writeln!(text, "for p in {{s in step if s[1] == rank: s[0]}} {{ wait {name}[p]; }}")?;
        let [own_number, target_number] = ["s[4]", "s[5]"];
        for sum in &sums {
            let condition = format!(
                "s[4] >= 0 && {} && {}",
                self.write_condition(sum.own, own_number),
                self.write_condition(sum.target, target_number)
            );
            writeln!(
                text,
                "for s in step if s[1] == rank && {condition} {{ reduce {}, {} -> {}; }}",
                self.write_place(sum.own, own_number),
                self.write_place(PlaceOnRank::Scratch(0), "s[3]"),
                self.write_place(sum.target, target_number)
            )?;
        }
        writeln!(text, "}}")
    }

    fn write_copies(&self, text: &mut String) -> fmt::Result {
        for source in [PlaceOnRank::Input(0), PlaceOnRank::Output(0), PlaceOnRank::Scratch(0)] {
            let condition = self.write_condition(source, "c[1]");
            let is_same = |own: &LocalCopy| {
                matches!(
                    (own.source, source),
                    (PlaceOnRank::Input(_), PlaceOnRank::Input(_))
                        | (PlaceOnRank::Output(_), PlaceOnRank::Output(_))
                        | (PlaceOnRank::Scratch(_), PlaceOnRank::Scratch(_))
                )
            };
            if self.copies.iter().any(is_same) {
                writeln!(
                    text,
                    "for c in copies if c[0] == rank && {condition} {{ copy {} -> output[c[2]]; }}",
                    self.write_place(source, "c[1]")
                )?;
            }
        }
        Ok(())
    }
}
