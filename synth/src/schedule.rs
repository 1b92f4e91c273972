//! Schedules of steps: which piece moves over which edges in which step, and the check that they do what a collective
//! demands within what the machine carries.
//!
//! A *unit* is what the collective counts in chunks: one rank's contribution to an AllGather, what one rank sends to
//! another one in an AllToAll. Each unit is cut into `chunks` equal *pieces*; piece `unit * chunks + i` is the `i`-th of
//! its unit. A step takes a number of rounds, in each of which an edge carries as many pieces as its weight in
//! [`Topology::weighted_edges`]: so the time of a schedule is `rounds / chunks`, over the quantum of the rates.

mod check;
mod copies;
mod hops;
mod unit;

pub use check::{ScheduleFlaw, check_schedule};
pub use hops::measure_hops;
pub use unit::{Unit, list_separate_units, list_units};

use crate::dense::DenseKey;
use crate::graph::{DirectedEdge, EdgeIndex, Topology, Vertex};
use crate::rational::{ArithmeticError, Rational};
use std::collections::BTreeMap;

/// A piece, by its number: that of its unit times the pieces per unit, and its own number in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece(pub u32);

impl DenseKey for Piece {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the receiver of a move does with the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MoveAction {
    /// It keeps it in place of what it had.
    Copy,
    /// It adds it to what it has.
    Reduce,
}

/// A piece goes from a rank to another one, through switches at most, in one step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// In which step, from 0.
    pub step: u32,
    /// The rank that has it.
    pub from: Vertex,
    /// The rank that gets it.
    pub to: Vertex,
    /// What is moved.
    pub piece: Piece,
    /// What the receiver does with it.
    pub action: MoveAction,
    /// The edges from `from` to `to`, in order. All vertices between are switches.
    pub path: Vec<EdgeIndex>,
}

/// A schedule of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSchedule {
    /// How many pieces each unit has; at least 1.
    pub chunks: u32,
    /// How many rounds each step takes; each at least 1.
    pub rounds: Vec<u64>,
    /// The moves, in order.
    pub moves: Vec<Move>,
}

/// The size of a schedule of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchedulePoint {
    /// The number of steps.
    pub steps: u32,
    /// The number of rounds of all steps.
    pub rounds: u64,
    /// The number of pieces of each unit.
    pub chunks: u32,
}

impl SchedulePoint {
    /// The time per chunk, in rounds per chunk, or in seconds per byte: what bounds are compared with.
    ///
    /// # Errors
    /// [`ArithmeticError`] if it does not fit.
    pub fn compute_time(self, topology: &Topology) -> Result<Rational, ArithmeticError> {
        let ratio = Rational::new(i128::from(self.rounds), i128::from(self.chunks))?;
        ratio.checked_div(topology.quantum())
    }
}

impl StepSchedule {
    /// Its size. The largest number of rounds stands for more.
    #[must_use]
    pub fn measure(&self) -> SchedulePoint {
        SchedulePoint {
            steps: self.rounds.len() as u32,
            rounds: self.rounds.iter().fold(0, |sum, rounds| sum.saturating_add(*rounds)),
            chunks: self.chunks,
        }
    }

    /// The schedule that runs backwards, on the reversed topology: what is copied is added up there. So a schedule of an
    /// AllGather gives one of a ReduceScatter, that of a Broadcast one of a Reduce, and that of a Scatter one of a
    /// Gather. `reduces` says whether what meets at a rank is added up there, which is not so for a Gather.
    #[must_use]
    pub fn reverse(&self, topology: &Topology, reversed: &Topology, reduces: bool) -> StepSchedule {
        let edges = match_reversed_edges(topology, reversed);
        let last = self.rounds.len().saturating_sub(1) as u32;
        let action = if reduces { MoveAction::Reduce } else { MoveAction::Copy };
        let reverse_move = |own: &Move| Move {
            step: last.saturating_sub(own.step),
            from: own.to,
            to: own.from,
            piece: own.piece,
            action,
            path: own.path.iter().rev().filter_map(|edge| edges.get(edge).copied()).collect(),
        };
        let mut moves: Vec<Move> = self.moves.iter().map(reverse_move).collect();
        moves.sort_unstable();
        let rounds = self.rounds.iter().rev().copied().collect();
        StepSchedule { chunks: self.chunks, rounds, moves }
    }

    /// The same schedule with each piece cut into so many, and as many times the rounds.
    ///
    /// # Errors
    /// [`ScheduleFlaw::TooLarge`] if pieces or rounds do not fit into their numbers.
    pub fn refine(&self, factor: u32) -> Result<StepSchedule, ScheduleFlaw> {
        let chunks = self.chunks.checked_mul(factor).ok_or(ScheduleFlaw::TooLarge)?;
        let scale = |rounds: &u64| rounds.checked_mul(u64::from(factor));
        let rounds: Option<Vec<u64>> = self.rounds.iter().map(scale).collect();
        let mut moves = Vec::with_capacity(self.moves.len().saturating_mul(factor as usize));
        for own in &self.moves {
            let first = own.piece.0.checked_mul(factor).ok_or(ScheduleFlaw::TooLarge)?;
            let last = first.checked_add(factor - 1).ok_or(ScheduleFlaw::TooLarge)?;
            moves.extend((first..=last).map(|piece| Move { piece: Piece(piece), ..own.clone() }));
        }
        moves.sort_unstable();
        Ok(StepSchedule { chunks, rounds: rounds.ok_or(ScheduleFlaw::TooLarge)?, moves })
    }

    /// The same moves without steps in which nothing moves, and without rounds in which no edge has to carry anything.
    #[must_use]
    pub fn tighten(&self, topology: &Topology) -> StepSchedule {
        let weights: Vec<u64> = topology.weighted_edges().map(|(_, weight)| weight).collect();
        let mut loads = vec![0_u64; weights.len()];
        let mut order: Vec<&Move> = self.moves.iter().collect();
        order.sort_by_key(|own| own.step);
        let mut needed: BTreeMap<u32, u64> = BTreeMap::new();
        for of_step in order.chunk_by(|one, other| one.step == other.step) {
            let edges = || of_step.iter().flat_map(|own| &own.path).map(|edge| edge.index());
            let mut rounds = 1;
            for edge in edges() {
                let weight = weights.get(edge).copied().unwrap_or(1).max(1);
                if let Some(load) = loads.get_mut(edge) {
                    *load += 1;
                    rounds = load.div_ceil(weight).max(rounds);
                }
            }
            for edge in edges() {
                loads.get_mut(edge).into_iter().for_each(|load| *load = 0);
            }
            needed.extend(of_step.first().map(|own| (own.step, rounds)));
        }
        let numbers: BTreeMap<u32, u32> = needed.keys().copied().zip(0..).collect();
        let renumber = |own: &Move| Move {
            step: numbers.get(&own.step).copied().unwrap_or(own.step),
            ..own.clone()
        };
        StepSchedule {
            chunks: self.chunks,
            rounds: needed.into_values().collect(),
            moves: self.moves.iter().map(renumber).collect(),
        }
    }

    /// This schedule, and then another one with as many pieces of each unit.
    #[must_use]
    pub fn chain(mut self, next: StepSchedule) -> StepSchedule {
        let steps = self.rounds.len() as u32;
        self.rounds.extend(next.rounds);
        let shift = |own: Move| Move { step: own.step.saturating_add(steps), ..own };
        self.moves.extend(next.moves.into_iter().map(shift));
        self
    }
}

/// For each edge the edge of the reversed topology that it becomes.
pub(crate) fn match_reversed_edges(
    topology: &Topology,
    reversed: &Topology,
) -> BTreeMap<EdgeIndex, EdgeIndex> {
    let sort = |topology: &Topology, key: fn(&DirectedEdge) -> [Vertex; 2]| {
        let mut order: Vec<usize> = (0..topology.edges().len()).collect();
        order.sort_by_key(|index| {
            let edge = topology.edges().get(*index);
            edge.map(|edge| {
                (key(edge), edge.latency_ns, edge.abilities.memory, edge.abilities.port)
            })
        });
        order.into_iter().map(|index| EdgeIndex(index as u32))
    };
    let own = sort(topology, |edge| [edge.from, edge.to]);
    own.zip(sort(reversed, |edge| [edge.to, edge.from])).collect()
}
