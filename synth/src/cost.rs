//! How long schedules take for a size of chunks, in the linear model of latency and bandwidth (Hockney, "The communication
//! challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 1994; Cai et al., PPoPP 2021, for schedules of steps).
//!
//! A schedule of S steps and R rounds with C pieces of each chunk takes `latency + size * R / C`: the latency is that of
//! the slowest path of each step, one step after the other. Trees whose pieces are cut into P windows are steps, too: the
//! last window leaves the root after P - 1 others and takes as many hops as the tree is deep, so that they take
//! `latency + size * rho * (depth + P - 1) / P`.

use crate::graph::{RateUnit, Topology};
use crate::rational::{ArithmeticError, Rational};
use crate::schedule::StepSchedule;
use crate::trees::{AllReduceTrees, TreeDirection, TreeSet, WeightedTree};
use std::collections::BTreeMap;

/// What trees are to the model.
#[derive(Clone, Copy)]
struct TreeCost {
    /// How many hops the longest way has.
    depth: u32,
    /// The latency of the slowest way, in nanoseconds.
    latency: u64,
    /// The time per unit of size.
    rho: Rational,
    /// Into how many pieces the size is cut.
    pieces: u64,
}

/// What steps and rounds cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostModel {
    /// The latencies and rates of the topology, whose rates are bytes per second: times are nanoseconds, and sizes are bytes.
    Links {
        /// How many bytes of a piece a window of trees has.
        window: u64,
    },
    /// Every step takes `alpha`, and every round `beta` for a chunk of size 1: times and sizes have no unit. A round is the
    /// time in which an edge whose rate divides all others passes one chunk. Trees have as many windows as is best.
    Uniform {
        /// The time of a step.
        alpha: Rational,
        /// The time of a round.
        beta: Rational,
    },
}

impl CostModel {
    /// The model in which a step takes as long as a chunk of size 1 in a round.
    pub const UNIT: CostModel = CostModel::Uniform { alpha: Rational::ONE, beta: Rational::ONE };

    /// How long a schedule of steps takes for chunks of this size.
    ///
    /// # Errors
    /// [`ArithmeticError`] if a number does not fit.
    pub fn estimate_steps(
        &self,
        topology: &Topology,
        schedule: &StepSchedule,
        size: Rational,
    ) -> Result<Rational, ArithmeticError> {
        let point = schedule.measure();
        let latency = match self {
            CostModel::Links { .. } => sum_latencies(topology, schedule),
            CostModel::Uniform { alpha, .. } => {
                alpha.checked_mul(Rational::from_integer(point.steps.into()))?
            }
        };
        let per_chunk = self.convert_time(topology, point.compute_time(topology)?)?;
        latency.checked_add(per_chunk.checked_mul(size)?)
    }

    /// How long trees take for chunks of this size.
    ///
    /// # Errors
    /// [`ArithmeticError`] if a number does not fit.
    pub fn estimate_trees(
        &self,
        topology: &Topology,
        trees: &TreeSet,
        size: Rational,
    ) -> Result<Rational, ArithmeticError> {
        let measure = |tree| measure_latency(topology, tree, trees.direction);
        let packed = TreeCost {
            depth: trees.measure_depth(),
            latency: trees.trees.iter().map(measure).max().unwrap_or(0),
            rho: trees.rho,
            pieces: trees.k,
        };
        self.estimate_packed(topology, packed, size)
    }

    /// How long trees of an AllReduce take for a buffer of this size: what is added up in a window goes back in the next
    /// ones.
    ///
    /// # Errors
    /// [`ArithmeticError`] if a number does not fit.
    pub fn estimate_allreduce_trees(
        &self,
        topology: &Topology,
        trees: &AllReduceTrees,
        size: Rational,
    ) -> Result<Rational, ArithmeticError> {
        let halves =
            [(TreeDirection::ToRoot, &trees.sums), (TreeDirection::FromRoot, &trees.copies)];
        let mut packed = TreeCost { depth: 0, latency: 0, rho: trees.rho, pieces: trees.k };
        for (direction, half) in halves {
            packed.depth += trees.measure_depth(topology, direction);
            let latencies = half.iter().map(|tree| measure_latency(topology, tree, direction));
            packed.latency = packed.latency.saturating_add(latencies.max().unwrap_or(0));
        }
        self.estimate_packed(topology, packed, size)
    }

    fn estimate_packed(
        &self,
        topology: &Topology,
        packed: TreeCost,
        size: Rational,
    ) -> Result<Rational, ArithmeticError> {
        let depth = Rational::from_integer(packed.depth.into());
        let full = self.convert_time(topology, packed.rho)?.checked_mul(size)?;
        let add_windows = |latency: Rational, windows: u64| {
            let windows = Rational::from_integer(windows);
            let steps = depth.checked_add(windows)?.checked_sub(Rational::ONE)?;
            latency.checked_add(full.checked_mul(steps)?.checked_div(windows)?)
        };
        match self {
            CostModel::Links { window } => {
                let latency = Rational::from_integer(packed.latency);
                let bytes =
                    Rational::from_integer((*window).max(1).saturating_mul(packed.pieces.max(1)));
                add_windows(latency, round_up(size.checked_div(bytes)?).max(1))
            }
            CostModel::Uniform { alpha, .. } => {
                let estimate = |windows: u64| {
                    let steps = depth.checked_add(Rational::from_integer(windows))?;
                    let latency = alpha.checked_mul(steps.checked_sub(Rational::ONE)?)?;
                    add_windows(latency, windows)
                };
                // The sum is convex in the number of windows: double it as long as that helps, then halve the range.
                let mut windows = 1_u64;
                while windows < MAX_WINDOWS && estimate(windows * 2)? < estimate(windows)? {
                    windows *= 2;
                }
                let (mut low, mut high) = (windows / 2 + 1, windows * 2);
                low = low.min(windows);
                while low < high {
                    let middle = low + (high - low) / 2;
                    if estimate(middle)? <= estimate(middle + 1)? {
                        high = middle;
                    } else {
                        low = middle + 1;
                    }
                }
                estimate(low)
            }
        }
    }

    /// The time of a bound or a schedule, in the unit of the model.
    fn convert_time(
        &self,
        topology: &Topology,
        time: Rational,
    ) -> Result<Rational, ArithmeticError> {
        match self {
            CostModel::Links { .. } => match topology.unit() {
                RateUnit::BytesPerSecond => {
                    time.checked_mul(Rational::from_integer(NANOSECONDS_PER_SECOND))
                }
                RateUnit::ChunksPerRound => Ok(time),
            },
            CostModel::Uniform { beta, .. } => {
                time.checked_mul(topology.quantum())?.checked_mul(*beta)
            }
        }
    }
}

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// So many windows are tried at most where as many as are best are taken.
const MAX_WINDOWS: u64 = 1 << 40;

/// The latency of the slowest path of each step, one after the other.
fn sum_latencies(topology: &Topology, schedule: &StepSchedule) -> Rational {
    let mut slowest: BTreeMap<u32, u64> = BTreeMap::new();
    for own in &schedule.moves {
        let latency = measure_path(topology, &own.path);
        let known = slowest.entry(own.step).or_default();
        *known = (*known).max(latency);
    }
    Rational::from_integer(slowest.into_values().fold(0, u64::saturating_add))
}

fn measure_path(topology: &Topology, path: &[crate::graph::EdgeIndex]) -> u64 {
    let edges = path.iter().filter_map(|edge| topology.edges().get(edge.0 as usize));
    edges.map(|edge| edge.latency_ns).fold(0, u64::saturating_add)
}

/// The latency of the slowest way between the root of a tree and a rank.
fn measure_latency(topology: &Topology, tree: &WeightedTree, direction: TreeDirection) -> u64 {
    let mut latencies = BTreeMap::from([(tree.root, 0_u64)]);
    let mut extend = |near, far, latency: u64| {
        let before = latencies.get(&near).copied().unwrap_or(0);
        latencies.insert(far, before.saturating_add(latency));
    };
    match direction {
        TreeDirection::FromRoot => {
            for edge in &tree.edges {
                extend(edge.from, edge.to, measure_path(topology, &edge.path));
            }
        }
        TreeDirection::ToRoot => {
            for edge in tree.edges.iter().rev() {
                extend(edge.to, edge.from, measure_path(topology, &edge.path));
            }
        }
    }
    latencies.into_values().max().unwrap_or(0)
}

fn round_up(value: Rational) -> u64 {
    let whole = value.numerator().div_euclid(value.denominator());
    let rest = value.numerator().rem_euclid(value.denominator());
    u64::try_from(whole + i128::from(rest > 0)).unwrap_or(u64::MAX)
}
