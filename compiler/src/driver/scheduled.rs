//! From a schedule to the text of a program that is compiled, checked and compared with the schedule before anybody
//! sees it.

use super::analysis::measure_busiest_time;
use super::{Lowered, Proof, Read, Request, check_limits, load, lower_program};
use crate::diagnostic::{Diagnostic, Severity};
use crate::elaborate::Settings;
use crate::interrupt::Interrupt;
use crate::ir::memory::ranks_of;
use crate::ir::{Program, RankId, Where};
use crate::machine::{EdgeEnds, Machine};
use crate::resolve::program::ProgramId;
use crate::source::SourceMap;
use crate::synthesize::{
    DeclaredHead, ProgramHead, UnwrittenProgram, write_allreduce_tree_program,
    write_declared_program, write_packet_program, write_step_program, write_tree_program,
};
use crate::table::Id;
use crate::target::{Capacity, PLAN};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use synth::graph::{Topology, Vertex};
use synth::rational::Rational;
use synth::schedule::{StepSchedule, Unit};
use synth::trees::{AllReduceTrees, TreeSet, WeightedTree};

/// What `cclc check` assumes if nothing else is asked for: an H100.
const CAPACITY: Capacity = Capacity { sms: 132, worst: Severity::Error };

/// Why there is no program of a schedule.
#[derive(Clone, Debug)]
pub enum ScheduledFailure {
    /// No text was written.
    Unwritten(UnwrittenProgram),
    /// The checks found something in the text.
    Refused {
        /// The text.
        text: String,
        /// What they found: warnings and errors.
        reports: Vec<Diagnostic>,
    },
    /// The time was up before the checks had ended.
    Stopped,
    /// The program moves something else than the schedule.
    OtherTraffic {
        /// Between which ranks.
        ends: EdgeEnds,
        /// How many pieces the schedule moves.
        scheduled: u64,
        /// How many the program moves.
        moved: u64,
    },
}

impl fmt::Display for ScheduledFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduledFailure::Unwritten(why) => why.fmt(f),
            ScheduledFailure::Refused { reports, .. } => {
                let messages: Vec<String> = reports
                    .iter()
                    .take(3)
                    .map(|report| format!("{}: {}", report.code.id(), report.message))
                    .collect();
                write!(f, "the checks find something in it: {}", messages.join("; "))
            }
            ScheduledFailure::Stopped => write!(f, "the time was up before it was checked"),
            ScheduledFailure::OtherTraffic { ends, scheduled, moved } => {
                let EdgeEnds { from, to } = ends;
                write!(
                    f,
                    "it moves {moved} pieces from rank {from} to rank {to}, and the schedule {scheduled}"
                )
            }
        }
    }
}

impl std::error::Error for ScheduledFailure {}

/// Writes the program of a schedule, and makes sure of it: the front end and both checks find nothing in it but notes,
/// it is within the limits of the executor on an H100, and between each pair of ranks it moves as
/// many pieces as the schedule.
///
/// # Errors
/// [`ScheduledFailure`]; none of its kinds is the fault of whoever asked.
pub fn write_scheduled_program(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
    machine: &Arc<Machine>,
    interrupt: &Interrupt,
) -> Result<String, ScheduledFailure> {
    let text = write_step_program(head, schedule).map_err(ScheduledFailure::Unwritten)?;
    check_text(text, &count_moves(schedule), machine, interrupt)
}

/// The same for a collective that is declared somewhere: in the library, or in the file that `read` has.
///
/// # Errors
/// [`ScheduledFailure`].
pub fn write_scheduled_declared(
    head: &DeclaredHead<'_>,
    units: &[Unit],
    schedule: &StepSchedule,
    machine: &Arc<Machine>,
    read: &mut Read<'_>,
    interrupt: &Interrupt,
) -> Result<String, ScheduledFailure> {
    let text =
        write_declared_program(head, units, schedule).map_err(ScheduledFailure::Unwritten)?;
    let traffic = count_moves(schedule);
    check_file(text, &traffic, machine, read, interrupt).map(|checked| checked.text)
}

/// The same with packets, for short messages; `None` if a schedule has no such program.
///
/// # Errors
/// [`ScheduledFailure`].
pub fn write_scheduled_packets(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
    machine: &Arc<Machine>,
    interrupt: &Interrupt,
) -> Result<Option<String>, ScheduledFailure> {
    let text = write_packet_program(head, schedule).map_err(ScheduledFailure::Unwritten)?;
    let check = |text| check_text(text, &count_moves(schedule), machine, interrupt);
    text.map(check).transpose()
}

fn count_moves(schedule: &StepSchedule) -> RankTraffic {
    let mut traffic = RankTraffic::new();
    for own in &schedule.moves {
        *traffic.entry(EdgeEnds { from: own.from, to: own.to }).or_default() += 1;
    }
    traffic
}

/// The same for trees, whose pieces are pipelined.
///
/// # Errors
/// [`ScheduledFailure`].
pub fn write_packed_program(
    head: &ProgramHead<'_>,
    trees: &TreeSet,
    machine: &Arc<Machine>,
    interrupt: &Interrupt,
) -> Result<PackedText, ScheduledFailure> {
    let text = write_tree_program(head, trees).map_err(ScheduledFailure::Unwritten)?;
    let rho = PackedTime { rho: trees.rho, pieces: trees.k };
    let mut traffic = RankTraffic::new();
    for tree in &trees.trees {
        for edge in &tree.edges {
            *traffic.entry(EdgeEnds { from: edge.from, to: edge.to }).or_default() += tree.weight;
        }
    }
    check_packed(text, &traffic, rho, machine, interrupt)
}

/// The same for trees of an AllReduce.
///
/// # Errors
/// [`ScheduledFailure`].
pub fn write_packed_allreduce(
    head: &ProgramHead<'_>,
    trees: &AllReduceTrees,
    machine: &Arc<Machine>,
    interrupt: &Interrupt,
) -> Result<PackedText, ScheduledFailure> {
    let text = write_allreduce_tree_program(head, trees).map_err(ScheduledFailure::Unwritten)?;
    let mut traffic = RankTraffic::new();
    for tree in trees.sums.iter().chain(&trees.copies) {
        count_tree(&head.machine.graph, tree, &mut traffic);
    }
    let rho = PackedTime { rho: trees.rho, pieces: trees.k };
    check_packed(text, &traffic, rho, machine, interrupt)
}

/// The text of a program of trees, and how its time compares with theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedText {
    /// The program, formatted.
    pub text: String,
    /// How many times longer its busiest link takes than the trees say, if that is longer: channels choose no way where there
    /// are several between ranks, and a switch that adds gets a part of its reader, too.
    pub slowdown: Option<Rational>,
}

/// The time of trees.
#[derive(Clone, Copy)]
struct PackedTime {
    rho: Rational,
    /// How many chunks of the program `rho` is the time of.
    pieces: u64,
}

fn check_packed(
    text: String,
    traffic: &RankTraffic,
    time: PackedTime,
    machine: &Arc<Machine>,
    interrupt: &Interrupt,
) -> Result<PackedText, ScheduledFailure> {
    let mut read = |_: &str| Err("no file is read here".to_owned());
    let CheckedText { text, lowered } = check_file(text, traffic, machine, &mut read, interrupt)?;
    let all = time.rho.checked_mul(Rational::from_integer(time.pieces)).ok();
    let busiest = measure_busiest_time(lowered.program(), machine);
    let ratio = busiest.zip(all).and_then(|(busiest, all)| busiest.checked_div(all).ok());
    Ok(PackedText { text, slowdown: ratio.filter(|ratio| *ratio > Rational::ONE) })
}

/// Adds what a tree moves between ranks. What a switch adds or copies goes from each rank before it to each one after it.
fn count_tree(graph: &Topology, tree: &WeightedTree, traffic: &mut RankTraffic) {
    for edge in tree.edges.iter().filter(|edge| graph.is_rank(edge.from)) {
        let mut count = |to: Vertex| {
            *traffic.entry(EdgeEnds { from: edge.from, to }).or_default() += tree.weight;
        };
        if graph.is_rank(edge.to) {
            count(edge.to);
        } else {
            let onward = tree.edges.iter().filter(|next| next.from == edge.to);
            onward.for_each(|next| count(next.to));
        }
    }
}

/// How many pieces go from a rank to another one.
type RankTraffic = BTreeMap<EdgeEnds, u64>;

fn check_text(
    text: String,
    traffic: &RankTraffic,
    machine: &Arc<Machine>,
    interrupt: &Interrupt,
) -> Result<String, ScheduledFailure> {
    let mut read = |_: &str| Err("no file is read here".to_owned());
    check_file(text, traffic, machine, &mut read, interrupt).map(|checked| checked.text)
}

/// A text that the checks accept, and the program that it is.
struct CheckedText {
    text: String,
    lowered: Lowered,
}

fn check_file(
    text: String,
    traffic: &RankTraffic,
    machine: &Arc<Machine>,
    read: &mut Read<'_>,
    interrupt: &Interrupt,
) -> Result<CheckedText, ScheduledFailure> {
    let mut sources = SourceMap::default();
    let main = sources.add("<synthesized>", text.as_str());
    let (unit, mut reports) = load(main, &mut sources, read);
    let settings = Settings { machine: Some(machine.clone()), ..Settings::default() };
    let mut lowered = None;
    if !unit.programs.is_empty() {
        let id = ProgramId::from_index(0);
        let (program, found) = lower_program(&Request {
            unit: &unit,
            program: id,
            settings: &settings,
            target: &PLAN,
            proof: Proof::Needed,
            interrupt,
        });
        reports.extend(found);
        if let Some(program) = &program {
            reports.extend(check_limits(program, CAPACITY));
        }
        lowered = program;
    }
    reports.retain(|report| report.severity > Severity::Note);
    if interrupt.is_set() {
        return Err(ScheduledFailure::Stopped);
    }
    match lowered {
        Some(lowered) if reports.is_empty() => {
            compare_traffic(lowered.program(), traffic)?;
            Ok(CheckedText { text, lowered })
        }
        Some(_) | None => Err(ScheduledFailure::Refused { text, reports }),
    }
}

fn compare_traffic(program: &Program, scheduled: &RankTraffic) -> Result<(), ScheduledFailure> {
    let mut moved = RankTraffic::new();
    for (id, rank) in program.ranks.entries() {
        let here = Vertex(id.0);
        for transfer in rank.all_ops().filter_map(|op| op.transfer()) {
            for operand in &transfer.sources {
                for from in list_others(program, id, operand.place) {
                    let ends = EdgeEnds { from, to: here };
                    *moved.entry(ends).or_default() += u64::from(operand.size);
                }
            }
            for operand in &transfer.destinations {
                for to in list_others(program, id, operand.place) {
                    let ends = EdgeEnds { from: here, to };
                    *moved.entry(ends).or_default() += u64::from(operand.size);
                }
            }
        }
    }
    let pairs = scheduled.keys().chain(moved.keys()).copied();
    for ends in pairs.collect::<std::collections::BTreeSet<_>>() {
        let [scheduled, moved] =
            [scheduled, &moved].map(|all| all.get(&ends).copied().unwrap_or(0));
        if scheduled != moved {
            return Err(ScheduledFailure::OtherTraffic { ends, scheduled, moved });
        }
    }
    Ok(())
}

/// The other ranks in whose memory an operand of rank `here` lies.
fn list_others(
    program: &Program,
    here: RankId,
    place: Where,
) -> impl Iterator<Item = Vertex> + use<'_> {
    let ranks = ranks_of(&program.ranks, here, place);
    ranks.filter(move |rank| *rank != here).map(|rank| Vertex(rank.0))
}
