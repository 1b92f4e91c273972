//! Checks schedules of steps. It shares nothing with the searches for them.

use super::{Move, MoveAction, StepSchedule, Unit};
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is wrong with a schedule. Moves are named by their index among [`StepSchedule::moves`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleFlaw {
    /// A unit has no pieces, or a step no rounds.
    Empty,
    /// The pieces of all units, or the rounds of all steps, do not fit into their numbers.
    TooLarge,
    /// A unit has no origin, or names a rank that does not exist, or its parts are not for its receivers.
    BadUnit {
        /// Its index.
        unit: usize,
    },
    /// The move names a piece, a rank or a step that does not exist, or stands before one of an earlier step.
    Malformed {
        /// Its index.
        index: usize,
    },
    /// The edges of the move do not lead from its rank to the other one through switches only.
    BrokenPath {
        /// Its index.
        index: usize,
    },
    /// The rank does not have the piece before the step.
    NotHeld {
        /// The index of the move.
        index: usize,
    },
    /// A summand that the receiver has already would be added again.
    AddedTwice {
        /// The index of the move.
        index: usize,
    },
    /// Something that the receiver has, and that what it gets does not contain, would be lost.
    Overwritten {
        /// The index of the move.
        index: usize,
    },
    /// The receiver gets the piece from elsewhere in this step, too, and one of the two is a copy: what it has
    /// afterwards depends on which comes first.
    CopiedTwice {
        /// The index of the move.
        index: usize,
    },
    /// An edge would carry more in a step than it can.
    Overloaded {
        /// The edge.
        edge: EdgeIndex,
        /// The step.
        step: u32,
    },
    /// A rank does not have what it must get at the end.
    Missing {
        /// The number of the piece.
        piece: u32,
        /// The rank.
        rank: Vertex,
    },
    /// A rank has a sum with more than it must get at the end.
    TooMuch {
        /// The number of the piece.
        piece: u32,
        /// The rank.
        rank: Vertex,
    },
}

impl fmt::Display for ScheduleFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleFlaw::Empty => write!(f, "a unit has no pieces, or a step no rounds"),
            ScheduleFlaw::TooLarge => write!(f, "there are too many pieces or rounds"),
            ScheduleFlaw::BadUnit { unit } => {
                write!(f, "unit {unit} has no origin, or names a rank that does not exist")
            }
            ScheduleFlaw::Malformed { index } => write!(f, "move {index} is malformed"),
            ScheduleFlaw::BrokenPath { index } => {
                write!(f, "the edges of move {index} do not join its ranks")
            }
            ScheduleFlaw::NotHeld { index } => {
                write!(f, "move {index} sends what its rank does not have")
            }
            ScheduleFlaw::AddedTwice { index } => {
                write!(f, "move {index} adds what its receiver has already")
            }
            ScheduleFlaw::Overwritten { index } => {
                write!(f, "move {index} overwrites what its receiver has")
            }
            ScheduleFlaw::CopiedTwice { index } => {
                write!(
                    f,
                    "move {index} brings what its receiver also gets from elsewhere in this step"
                )
            }
            ScheduleFlaw::Overloaded { edge, step } => {
                write!(f, "link {} carries too much in step {step}", edge.0)
            }
            ScheduleFlaw::Missing { piece, rank } => {
                write!(f, "rank {rank} does not have piece {piece} at the end")
            }
            ScheduleFlaw::TooMuch { piece, rank } => {
                write!(f, "rank {rank} has a larger sum of piece {piece} at the end than it gets")
            }
        }
    }
}

impl std::error::Error for ScheduleFlaw {}

/// Whose summands a rank has of a piece; empty if it has nothing.
type Summands = BTreeSet<Vertex>;

/// Checks that a schedule does what the units demand, in steps of which each only sends what ranks had before it, and
/// that no edge carries more than its rate allows.
///
/// # Errors
/// The first [`ScheduleFlaw`].
pub fn check_schedule(
    topology: &Topology,
    units: &[Unit],
    schedule: &StepSchedule,
) -> Result<(), ScheduleFlaw> {
    if schedule.chunks == 0 || schedule.rounds.contains(&0) {
        return Err(ScheduleFlaw::Empty);
    }
    check_units(topology, units, schedule)?;
    check_form(topology, units, schedule)?;
    check_loads(topology, schedule)?;
    check_holdings(topology, units, schedule)
}

fn check_units(
    topology: &Topology,
    units: &[Unit],
    schedule: &StepSchedule,
) -> Result<(), ScheduleFlaw> {
    let pieces = (units.len() as u64).checked_mul(u64::from(schedule.chunks));
    let rounds = schedule.rounds.iter().try_fold(0_u64, |sum, rounds| sum.checked_add(*rounds));
    if pieces.is_none_or(|pieces| pieces > u64::from(u32::MAX)) || rounds.is_none() {
        return Err(ScheduleFlaw::TooLarge);
    }
    let is_bad = |unit: &Unit| {
        let mut ends = unit.origins.iter().chain(&unit.receivers);
        // Of each part some summand is there, and its receiver's own one.
        let has_bad_part = unit.has_parts()
            && (unit.summands.len() != unit.receivers.len()
                || unit.receivers.iter().zip(&unit.summands).any(|(receiver, summands)| {
                    let is_own = !unit.has_origin(*receiver) || summands.contains(receiver);
                    summands.is_empty()
                        || !is_own
                        || !summands.iter().all(|origin| unit.has_origin(*origin))
                }));
        unit.origins.is_empty() || has_bad_part || ends.any(|rank| !topology.is_rank(*rank))
    };
    match units.iter().position(is_bad) {
        Some(unit) => Err(ScheduleFlaw::BadUnit { unit }),
        None => Ok(()),
    }
}

fn check_form(
    topology: &Topology,
    units: &[Unit],
    schedule: &StepSchedule,
) -> Result<(), ScheduleFlaw> {
    let pieces = units.len() as u64 * u64::from(schedule.chunks);
    let mut step = 0;
    for (index, own) in schedule.moves.iter().enumerate() {
        let is_known =
            u64::from(own.piece.0) < pieces && (own.step as usize) < schedule.rounds.len();
        let joins_ranks = topology.is_rank(own.from) && topology.is_rank(own.to);
        if !is_known || !joins_ranks || own.from == own.to || own.step < step {
            return Err(ScheduleFlaw::Malformed { index });
        }
        step = own.step;
        let mut at = own.from;
        for (count, edge) in own.path.iter().enumerate() {
            let edge = topology.edges().get(edge.index());
            let edge = edge.filter(|edge| edge.from == at && (count == 0 || !topology.is_rank(at)));
            at = edge.ok_or(ScheduleFlaw::BrokenPath { index })?.to;
        }
        if at != own.to {
            return Err(ScheduleFlaw::BrokenPath { index });
        }
    }
    Ok(())
}

fn check_loads(topology: &Topology, schedule: &StepSchedule) -> Result<(), ScheduleFlaw> {
    let mut loads: BTreeMap<(u32, EdgeIndex), u64> = BTreeMap::new();
    for own in &schedule.moves {
        for edge in &own.path {
            *loads.entry((own.step, *edge)).or_default() += 1;
        }
    }
    let weights: Vec<u64> = topology.weighted_edges().map(|(_, weight)| weight).collect();
    for ((step, edge), load) in loads {
        let rounds = schedule.rounds.get(step as usize).copied().unwrap_or(0);
        let weight = weights.get(edge.index()).copied().unwrap_or(0);
        if u128::from(load) > u128::from(rounds) * u128::from(weight) {
            return Err(ScheduleFlaw::Overloaded { edge, step });
        }
    }
    Ok(())
}

fn check_holdings(
    topology: &Topology,
    units: &[Unit],
    schedule: &StepSchedule,
) -> Result<(), ScheduleFlaw> {
    let mut moves_of_pieces: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, own) in schedule.moves.iter().enumerate() {
        moves_of_pieces.entry(own.piece.0).or_default().push(index);
    }
    for (piece, unit) in
        (0..).zip(units.iter().flat_map(|unit| std::iter::repeat_n(unit, schedule.chunks as usize)))
    {
        let mut holdings = PieceHoldings::new(topology, unit);
        let mut step = 0;
        for index in moves_of_pieces.remove(&piece).unwrap_or_default() {
            let Some(own) = schedule.moves.get(index) else { continue };
            if own.step > step {
                holdings.end_step();
                step = own.step;
            }
            holdings.add_move(own, index)?;
        }
        holdings.end_step();
        for (index, &rank) in unit.receivers.iter().enumerate() {
            let needed: Summands = unit.find_summands(index).iter().copied().collect();
            let held = &holdings.held[rank];
            if !held.is_superset(&needed) {
                return Err(ScheduleFlaw::Missing { piece, rank });
            }
            if held.len() > needed.len() {
                return Err(ScheduleFlaw::TooMuch { piece, rank });
            }
        }
    }
    Ok(())
}

/// Who has which summands of one piece.
struct PieceHoldings {
    /// What each rank has before the step.
    held: DenseMap<Vertex, Summands>,
    /// What ranks that get something in the step have after it.
    arriving: BTreeMap<Vertex, Arriving>,
}

struct Arriving {
    summands: Summands,
    /// What all moves to the rank do, in this step.
    action: MoveAction,
}

impl PieceHoldings {
    fn new(topology: &Topology, unit: &Unit) -> PieceHoldings {
        let ranks = topology.count_ranks() as usize;
        let mut held = DenseMap::filled(ranks, Summands::new());
        for origin in &unit.origins {
            held[*origin].insert(*origin);
        }
        PieceHoldings { held, arriving: BTreeMap::new() }
    }

    fn add_move(&mut self, own: &Move, index: usize) -> Result<(), ScheduleFlaw> {
        let sent = &self.held[own.from];
        if sent.is_empty() {
            return Err(ScheduleFlaw::NotHeld { index });
        }
        let kept = match self.arriving.get(&own.to) {
            Some(other)
                if (own.action, other.action) != (MoveAction::Reduce, MoveAction::Reduce) =>
            {
                return Err(ScheduleFlaw::CopiedTwice { index });
            }
            Some(other) => &other.summands,
            None => &self.held[own.to],
        };
        match own.action {
            MoveAction::Copy if !kept.is_subset(sent) => Err(ScheduleFlaw::Overwritten { index }),
            MoveAction::Reduce if !kept.is_disjoint(sent) => {
                Err(ScheduleFlaw::AddedTwice { index })
            }
            MoveAction::Copy | MoveAction::Reduce => {
                let summands = kept.union(sent).copied().collect();
                self.arriving.insert(own.to, Arriving { summands, action: own.action });
                Ok(())
            }
        }
    }

    fn end_step(&mut self) {
        for (rank, arriving) in std::mem::take(&mut self.arriving) {
            self.held[rank] = arriving.summands;
        }
    }
}
