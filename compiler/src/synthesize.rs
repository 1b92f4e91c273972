//! Programs of schedules: from moves, or trees, to source text that an author could continue with.
//!
//! In: a machine, a collective, and a schedule for it (`synth::schedule`). Out: a `.ccl` file that is formatted. Nothing
//! here is taken on trust: whoever writes the file compiles and checks the text first.
//!
//! - `allreduce` writes trees of an AllReduce, for long messages.
//! - `boxes` writes AllToAlls on boxes with rails, as formulas.
//! - `channels` says which channels the schedule needs: memory, ports, or both.
//! - `declared` writes programs of collectives that a file declares, whose values may be anywhere.
//! - `shifted` says what one rank does in place of all, where a group of shifts keeps the schedule; `rules` writes that
//!   for steps, and `lanes` for trees, with the expressions of `expressions`; `levels` writes trees along rails.
//! - `packets` writes schedules of one or two steps for short messages.
//! - `rows` turns the moves of other schedules into the lines of a table.
//! - `table` writes schedules in which a piece has the same place on all ranks: AllGather, Broadcast, ReduceScatter,
//!   Reduce and AllReduce.
//! - `trees` writes trees for long messages.
//! - `routed` writes those in which each piece goes from an input to an output, through scratch memory on its way:
//!   AllToAll, Scatter and Gather.

mod allreduce;
mod boxes;
mod channels;
mod declared;
mod expressions;
mod lanes;
mod levels;
mod packets;
mod routed;
mod rows;
mod rules;
mod shifted;
mod table;
mod trees;

use crate::machine::Machine;
use crate::syntax;
pub use allreduce::write_allreduce_tree_program;
pub use boxes::{PlacePair, RailBoxes, write_box_program};
pub use declared::{
    CommonSums, DeclaredHead, PieceDivision, divide_pieces, write_declared_program,
};
pub use trees::write_tree_program;

use channels::{Channels, UsedWay};
use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;
use synth::collective::CollectiveKind;
use synth::graph::Vertex;
use synth::schedule::{MoveAction, Piece, SchedulePoint, StepSchedule};

/// How many moves the table of a program has at most: each rank looks at all of them. Rules for one rank have no such
/// limit.
pub const MAX_TABLE_MOVES: usize = 20_000;

/// How many thread blocks a program has at most: an H100 runs 132 at once.
pub const MAX_BLOCKS: usize = 128;

/// How many operations MSCCL++'s executor has room for in a block.
const MAX_OPERATIONS: u64 = 64;

/// How many channels of one kind MSCCL++'s executor has room for in a block.
const MAX_BLOCK_CHANNELS: usize = 16;

/// How many bytes of a piece a block passes on at a time, along trees.
pub const WINDOW_BYTES: u64 = 64 << 10;

/// [`WINDOW_BYTES`], as programs have it.
const WINDOW: &str = "64KiB";

/// What programs of all forms begin with.
#[derive(Clone, Copy, Debug)]
pub struct ProgramHead<'a> {
    /// The machine that the schedule is for.
    pub machine: &'a Machine,
    /// The same machine with the links that a sketch keeps from carrying anything: signals may use them.
    pub whole: &'a Machine,
    /// Whether the library has the machine, so that the program can name it.
    pub is_library_machine: bool,
    /// The collective.
    pub kind: CollectiveKind,
    /// Into how many pieces each chunk is divided; the whole buffer, for trees of an AllReduce.
    pub chunks: u64,
    /// The name of the program.
    pub name: &'a str,
    /// What the file says of the program at its begin, line by line.
    pub header: &'a [String],
    /// How it says what is moved.
    pub form: ProgramForm,
}

/// How a program says what is moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramForm {
    /// As rules for one rank where the schedule has symmetries, and as a table elsewhere.
    #[default]
    Shortest,
    /// As a table of moves or trees.
    Table,
}

/// Why a schedule has no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnwrittenProgram {
    /// Some ranks are joined by memory and others by ports, and which ones does not follow from their nodes.
    IrregularChannels,
    /// There are more moves than a table has.
    TooManyMoves {
        /// How many.
        moves: usize,
    },
    /// There are more trees than thread blocks.
    TooManyTrees {
        /// How many.
        trees: usize,
    },
    /// There are more pieces on a tree than operations in a thread block.
    TooManyPieces {
        /// How many.
        pieces: u64,
    },
    /// A path is neither for memory nor for ports.
    NoChannel {
        /// Where it begins.
        from: u32,
        /// Where it ends.
        to: u32,
    },
    /// Nothing leads from a rank to another one that sends to it: not even signals.
    NoWayBack {
        /// Where the way would begin.
        from: u32,
        /// Where it would end.
        to: u32,
    },
    /// A switch adds or copies, but not both for all ranks at once.
    SwitchSums,
    /// The values of a declared collective are not those of the schedule, cut into pieces.
    UnfitPieces,
    /// The text does not parse, which is a bug.
    Malformed(String),
}

impl fmt::Display for UnwrittenProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnwrittenProgram::IrregularChannels => write!(
                f,
                "some of its paths are for memory and others for ports, and which ones does not follow from nodes of as many ranks each: some lead through network cards within a node, or nodes differ in size"
            ),
            UnwrittenProgram::TooManyMoves { moves } => {
                write!(f, "it has {moves} moves, and a table at most {MAX_TABLE_MOVES}")
            }
            UnwrittenProgram::TooManyTrees { trees } => {
                write!(
                    f,
                    "{trees} trees need as many thread blocks, and a program has at most {MAX_BLOCKS}"
                )
            }
            UnwrittenProgram::TooManyPieces { pieces } => write!(
                f,
                "a tree carries {pieces} pieces, each with an operation of its own, and a thread block has {MAX_OPERATIONS} operations"
            ),
            UnwrittenProgram::NoChannel { from, to } => {
                write!(f, "neither memory nor ports lead all the way from rank {from} to rank {to}")
            }
            UnwrittenProgram::NoWayBack { from, to } => write!(
                f,
                "nothing leads back from rank {from} to rank {to}, which sends to it: a program needs a way for signals"
            ),
            UnwrittenProgram::SwitchSums => write!(
                f,
                "MSCCL++'s executor has a switch add and copy for all its ranks at once, over memory, and these trees use switches otherwise"
            ),
            UnwrittenProgram::UnfitPieces => write!(
                f,
                "its chunks cannot be cut into the pieces of the schedule: the collective needs a parameter `chunks` that multiplies its chunks"
            ),
            UnwrittenProgram::Malformed(text) => write!(f, "its text is malformed: {text}"),
        }
    }
}

impl std::error::Error for UnwrittenProgram {}

/// Writes the program of a schedule of steps, formatted. That of an AllReduce is a ReduceScatter and then an AllGather.
///
/// # Errors
/// [`UnwrittenProgram`].
pub fn write_step_program(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
) -> Result<String, UnwrittenProgram> {
    if head.form == ProgramForm::Shortest
        && let Some(boxes) = RailBoxes::find(head, schedule)
    {
        return write_box_program(head, &boxes);
    }
    let channels = find_channels(head, schedule)?;
    let mut text = String::new();
    let written = if let Some(rules) = find_rules(head, schedule) {
        rules::write_program(head, &rules, &channels, &mut text)
    } else if schedule.moves.len() > MAX_TABLE_MOVES {
        return Err(UnwrittenProgram::TooManyMoves { moves: schedule.moves.len() });
    } else {
        match head.kind {
            CollectiveKind::AllToAll | CollectiveKind::Scatter(_) | CollectiveKind::Gather(_) => {
                routed::write_program(head, schedule, &channels, &mut text)
            }
            CollectiveKind::AllGather
            | CollectiveKind::ReduceScatter
            | CollectiveKind::AllReduce
            | CollectiveKind::Broadcast(_)
            | CollectiveKind::Reduce(_) => {
                table::write_program(head, schedule, &channels, &mut text)
            }
        }
    };
    written.map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    format_program(&text)
}

/// Writes the program of a schedule of steps with packets, formatted: for short messages. `None` if it has none, because
/// it has more than two steps, because it is not in memory, or because there is no such program of the collective.
///
/// # Errors
/// [`UnwrittenProgram`].
pub fn write_packet_program(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
) -> Result<Option<String>, UnwrittenProgram> {
    if schedule.rounds.len() > packets::MAX_STEPS {
        return Ok(None);
    }
    let channels = find_channels(head, schedule)?;
    let rules = find_rules(head, schedule);
    let mut text = String::new();
    let written = packets::write_program(head, schedule, rules.as_ref(), &channels, &mut text)
        .map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    if written { format_program(&text).map(Some) } else { Ok(None) }
}

fn find_channels(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
) -> Result<Channels, UnwrittenProgram> {
    let moves = schedule.moves.iter();
    Channels::find(
        head.machine,
        head.whole,
        moves.map(|own| UsedWay { from: own.from, to: own.to, path: &own.path }),
    )
}

/// The rules of a schedule, if it has some: each unit belongs to a rank, and all ranks do the same.
fn find_rules(head: &ProgramHead<'_>, schedule: &StepSchedule) -> Option<shifted::StepRules> {
    if head.form == ProgramForm::Table || sends_what_it_adds(schedule) {
        return None;
    }
    match head.kind {
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllReduce => {
            shifted::find_step_rules(head.machine.graph.count_ranks(), schedule)
        }
        CollectiveKind::AllToAll
        | CollectiveKind::Broadcast(_)
        | CollectiveKind::Reduce(_)
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => None,
    }
}

/// Whether a rank sends, in some step, what it adds to in the same one. Others cannot read that from it then.
fn sends_what_it_adds(schedule: &StepSchedule) -> bool {
    let added: BTreeSet<(u32, Vertex, Piece)> = schedule
        .moves
        .iter()
        .filter(|own| own.action == MoveAction::Reduce)
        .map(|own| (own.step, own.to, own.piece))
        .collect();
    schedule.moves.iter().any(|own| added.contains(&(own.step, own.from, own.piece)))
}

fn format_program(text: &str) -> Result<String, UnwrittenProgram> {
    syntax::format(text).map_err(|reports| {
        let first = reports.first().map_or_else(String::new, |report| report.message.clone());
        UnwrittenProgram::Malformed(first)
    })
}

/// Refuses trees of so many pieces that a block would have too many operations: what would be a program of which checks take
/// long, and which they refuse.
fn refuse_many_pieces(weights: impl Iterator<Item = u64>) -> Result<(), UnwrittenProgram> {
    match weights.max() {
        Some(pieces) if pieces > MAX_OPERATIONS => Err(UnwrittenProgram::TooManyPieces { pieces }),
        Some(_) | None => Ok(()),
    }
}

/// The comment at the begin, and what the program uses.
fn write_head(head: &ProgramHead<'_>, text: &mut String) -> fmt::Result {
    for line in head.header {
        writeln!(text, "//! {line}")?;
    }
    writeln!(text, "use std::collectives::{};", library_name(head.kind))?;
    if head.is_library_machine {
        let name = head.machine.name.split('(').next().unwrap_or_default();
        writeln!(text, "use std::topologies::{name};")?;
    }
    writeln!(text)
}

/// Nodes that a program mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProgramNodes {
    nodes: u32,
    ranks_per_node: u32,
}

/// The first items of the program, up to its options. `in_place` says that the input lies in the output, or the output
/// in the input.
fn write_declarations(head: &ProgramHead<'_>, in_place: bool, text: &mut String) -> fmt::Result {
    write_opening(head, in_place, None, text)?;
    writeln!(text, "options {{ instances = instances; }}")
}

/// The first items of the program, up to its collective.
fn write_opening(
    head: &ProgramHead<'_>,
    in_place: bool,
    nodes: Option<ProgramNodes>,
    text: &mut String,
) -> fmt::Result {
    write_requirements(head, nodes, text)?;
    write!(text, "collective {}(ranks, chunks = {}", library_name(head.kind), head.chunks)?;
    if let Some(root) = head.kind.root() {
        write!(text, ", root = {root}")?;
    }
    writeln!(text, "{});", if in_place { ", in_place = true" } else { "" })
}

/// The first items of the program, up to its topology.
fn write_requirements(
    head: &ProgramHead<'_>,
    nodes: Option<ProgramNodes>,
    text: &mut String,
) -> fmt::Result {
    let ProgramHead { machine, name, .. } = head;
    let ranks = machine.graph.count_ranks();
    if let Some(ProgramNodes { nodes, ranks_per_node: size }) = nodes {
        writeln!(
            text,
            "program {name}(ranks: int = {ranks}, ranks_per_node: int = {size}, instances: int = 1) {{
            require ranks == {ranks} && ranks_per_node == {size}, \"this schedule is for {nodes} nodes of {size} ranks\";"
        )?;
    } else {
        writeln!(text, "program {name}(ranks: int = {ranks}, instances: int = 1) {{")?;
        writeln!(text, "require ranks == {ranks}, \"this schedule is for {ranks} ranks\";")?;
    }
    if head.is_library_machine {
        writeln!(text, "topology {};", machine.name)?;
    }
    Ok(())
}

/// What the library calls a collective.
#[must_use]
pub fn library_name(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::ReduceScatter => "reducescatter",
        CollectiveKind::AllGather
        | CollectiveKind::AllToAll
        | CollectiveKind::AllReduce
        | CollectiveKind::Broadcast(_)
        | CollectiveKind::Reduce(_)
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => kind.name(),
    }
}

/// A name for the program of a schedule of so many steps on a machine, which is called so.
#[must_use]
pub fn name_step_program(kind: CollectiveKind, machine: &str, point: SchedulePoint) -> String {
    let SchedulePoint { steps, rounds, chunks } = point;
    format!("{}_{steps}_{rounds}_{chunks}", name_pair(kind, machine))
}

/// The same for a declared collective.
#[must_use]
pub fn name_declared_program(collective: &str, machine: &str, point: SchedulePoint) -> String {
    let SchedulePoint { steps, rounds, chunks } = point;
    format!("{collective}_{}_{steps}_{rounds}_{chunks}", join_words(machine))
}

/// A name for the program of a schedule with packets, beside that without.
#[must_use]
pub fn name_packet_program(name: &str) -> String {
    format!("{name}_packets")
}

/// A name for the program of trees on a machine, which is called so.
#[must_use]
pub fn name_tree_program(kind: CollectiveKind, machine: &str) -> String {
    format!("{}_trees", name_pair(kind, machine))
}

fn name_pair(kind: CollectiveKind, machine: &str) -> String {
    format!("{}_{}", library_name(kind), join_words(machine))
}

/// The words and numbers of a text, with an underscore between them.
fn join_words(machine: &str) -> String {
    let is_word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let machine: String = machine.chars().map(is_word).collect();
    let parts: Vec<&str> = machine.split('_').filter(|part| !part.is_empty()).collect();
    parts.join("_")
}
