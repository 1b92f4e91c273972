//! Scatters and Gathers in the least number of steps.
//!
//! What one root sends is a flow in the network of steps: each rank is there once before each step, and waits or sends
//! over the edges of the step to where it is after it. With given rounds for each step, a maximum flow of integers
//! shows whether all pieces arrive in time, and is their ways (Ford and Fulkerson, "Constructing maximal dynamic flows
//! from static flows", 1958). If they do not, a minimum cut is an inequality that the rounds must satisfy; the least
//! rounds that satisfy all inequalities found so far are tried next, until they are enough or are no fewer than what
//! was enough before (Benders, "Partitioning procedures for solving mixed-variables programming problems", 1962). So
//! nothing takes fewer rounds in so many steps, for that number of pieces.

mod cover;
mod network;

use super::ConstructionError;
use super::construction::MAX_MOVES;
use super::hops::HopFinder;
use crate::bound::steps::{UNREACHED, measure_distances};
use crate::graph::{Topology, Vertex};
use crate::observer::{NoObserver, SearchObserver};
use crate::rational::Rational;
use crate::schedule::StepSchedule;
use cover::{CoverOutcome, RoundCover};
use network::ScatterNetwork;

/// A schedule of a Scatter or a Gather.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScatterSchedule {
    /// The schedule.
    pub schedule: StepSchedule,
    /// Whether no schedule of as many steps and pieces takes fewer rounds; if not, the search ended at
    /// [`MAX_COVER_NODES`], or was stopped.
    pub is_least: bool,
}

pub use cover::MAX_COVER_NODES;

/// A schedule of a Scatter in the least number of steps, for so many pieces of each unit.
///
/// # Errors
/// [`ConstructionError::NoChunks`], [`ConstructionError::RootOutOfRange`], [`ConstructionError::Unreachable`] and
/// [`ConstructionError::TooLarge`].
pub fn schedule_scatter(
    topology: &Topology,
    root: Vertex,
    chunks: u32,
) -> Result<ScatterSchedule, ConstructionError> {
    ScatterSearch::new(topology, root, chunks, &NoObserver)?.schedule(chunks)
}

/// The same, for that number of pieces, up to a largest one, for which the time per chunk is the least; of several such
/// ones the smallest.
///
/// # Errors
/// Those of [`schedule_scatter`], and [`ConstructionError::Arithmetic`].
pub fn find_scatter(
    topology: &Topology,
    root: Vertex,
    max_chunks: u32,
) -> Result<ScatterSchedule, ConstructionError> {
    find_scatter_until(topology, root, max_chunks, &NoObserver)
}

/// The same, or the best schedule that is found before the observer stops the search; if there is none,
/// [`ConstructionError::Stopped`].
pub(crate) fn find_scatter_until(
    topology: &Topology,
    root: Vertex,
    max_chunks: u32,
    observer: &dyn SearchObserver,
) -> Result<ScatterSchedule, ConstructionError> {
    let mut search = ScatterSearch::new(topology, root, max_chunks, observer)?;
    let mut best: Option<(Rational, ScatterSchedule)> = None;
    for chunks in 1..=max_chunks {
        let found = match search.schedule(chunks) {
            Err(ConstructionError::Stopped) if best.is_some() => break,
            found => found?,
        };
        let rounds = i128::from(found.schedule.measure().rounds);
        let time = Rational::new(rounds, i128::from(chunks))?;
        if best.as_ref().is_none_or(|(least, _)| time < *least) {
            best = Some((time, found));
        }
    }
    best.map(|(_, found)| found).ok_or(ConstructionError::NoChunks)
}

/// A schedule of a Gather: a Scatter on the reversed topology, which runs backwards.
///
/// # Errors
/// Those of [`find_scatter`].
pub fn find_gather(
    topology: &Topology,
    root: Vertex,
    max_chunks: u32,
) -> Result<ScatterSchedule, ConstructionError> {
    find_gather_until(topology, root, max_chunks, &NoObserver)
}

/// The same, until the observer stops the search.
pub(crate) fn find_gather_until(
    topology: &Topology,
    root: Vertex,
    max_chunks: u32,
    observer: &dyn SearchObserver,
) -> Result<ScatterSchedule, ConstructionError> {
    let reversed = topology.reverse();
    let found =
        find_scatter_until(&reversed, root, max_chunks, observer).map_err(|error| match error {
            ConstructionError::Unreachable { from, to } => {
                ConstructionError::Unreachable { from: to, to: from }
            }
            ConstructionError::NoChunks
            | ConstructionError::RootOutOfRange { .. }
            | ConstructionError::BadUnit { .. }
            | ConstructionError::UnfitUnit { .. }
            | ConstructionError::TooLarge
            | ConstructionError::Stopped
            | ConstructionError::Arithmetic(_) => error,
        })?;
    let schedule = found.schedule.reverse(&reversed, topology, false);
    Ok(ScatterSchedule { schedule, is_least: found.is_least })
}

/// A search whose inequalities hold for all numbers of pieces.
struct ScatterSearch<'a> {
    network: ScatterNetwork<'a>,
    cover: RoundCover,
    steps: usize,
    observer: &'a dyn SearchObserver,
}

impl<'a> ScatterSearch<'a> {
    fn new(
        topology: &'a Topology,
        root: Vertex,
        max_chunks: u32,
        observer: &'a dyn SearchObserver,
    ) -> Result<ScatterSearch<'a>, ConstructionError> {
        if max_chunks == 0 {
            return Err(ConstructionError::NoChunks);
        }
        if !topology.is_rank(root) {
            return Err(ConstructionError::RootOutOfRange { root });
        }
        let distances = measure_distances(topology, &topology.collect_neighbors(), root);
        if let Some(to) = topology.ranks().find(|rank| distances[*rank] == UNREACHED) {
            return Err(ConstructionError::Unreachable { from: root, to });
        }
        let steps = topology.ranks().map(|rank| distances[rank]).max().unwrap_or(0);
        let ranks = u128::from(topology.count_ranks());
        if ranks * u128::from(steps) * u128::from(max_chunks) > u128::from(MAX_MOVES) {
            return Err(ConstructionError::TooLarge);
        }
        let finder = HopFinder::new(topology);
        let network = ScatterNetwork::new(finder, root, steps)?;
        let steps = steps as usize;
        Ok(ScatterSearch { network, cover: RoundCover::new(steps), steps, observer })
    }

    fn schedule(&mut self, chunks: u32) -> Result<ScatterSchedule, ConstructionError> {
        self.cover.restart();
        let mut rounds = self.find_enough(chunks)?;
        let mut least = self.cover.bound_sum(chunks);
        let is_least = loop {
            if self.observer.is_stopped() {
                break false;
            }
            let limit = rounds.iter().sum();
            match self.cover.find_rounds(least, limit, chunks) {
                CoverOutcome::None => break true,
                CoverOutcome::Stopped => break false,
                CoverOutcome::Least(fewer) => {
                    // Nothing with a smaller sum satisfies what is known.
                    least = fewer.iter().sum();
                    match self.network.try_rounds(&fewer, chunks) {
                        Some(cut) => self.cover.add(cut),
                        None => rounds = fewer,
                    }
                }
            }
        };
        // The flow of the last rounds that were tried may be another one.
        if self.network.try_rounds(&rounds, chunks).is_some() {
            return Err(ConstructionError::TooLarge);
        }
        let mut moves = self.network.list_moves(chunks);
        moves.sort_unstable();
        Ok(ScatterSchedule { schedule: StepSchedule { chunks, rounds, moves }, is_least })
    }

    /// Rounds that are enough, none of which can be left out unless the search is stopped.
    fn find_enough(&mut self, chunks: u32) -> Result<Vec<u64>, ConstructionError> {
        let mut rounds = vec![1; self.steps];
        self.cover.raise(&mut rounds, chunks)?;
        while let Some(cut) = self.network.try_rounds(&rounds, chunks) {
            if self.observer.is_stopped() {
                return Err(ConstructionError::Stopped);
            }
            self.cover.add(cut);
            self.cover.raise(&mut rounds, chunks)?;
        }
        for step in 0..self.steps {
            loop {
                let mut fewer = rounds.clone();
                let Some(own) = fewer.get_mut(step).filter(|rounds| **rounds > 1) else { break };
                *own -= 1;
                let is_stopped = self.observer.is_stopped();
                if is_stopped || self.network.try_rounds(&fewer, chunks).is_some() {
                    break;
                }
                rounds = fewer;
            }
        }
        Ok(rounds)
    }
}
