//! How much the linear programs may do. Every bound is valid whatever the budgets; one that ends at a budget may be
//! below the optimum. All are counters, so that the same input gives the same bound on every machine.

/// How often routings or cuts are searched for. The machines of the literature need less than 30 rounds.
pub(super) const MAX_ROUNDS: usize = 400;

/// How many numbers of a dictionary the pivots may change in all, which takes one or two seconds.
pub(super) const MAX_PIVOT_WORK: usize = 1 << 31;

/// How many numbers the first rows of the program of an AllToAll may have, which take some 16 MiB: one for each rank
/// and each edge or rank. For larger machines there is no program: the bound is the larger one of those that the
/// inverse rates and the fullest edges show.
pub(super) const MAX_FIRST_ROWS: usize = 1 << 21;

/// How many lengths the bound of an AllGather in so many steps may have: one for each origin, destination, edge and step.
/// Its certificate names those that are not zero; `BoundError::TooLarge` reports it.
pub(super) const MAX_LAYERED_LENGTHS: usize = 1 << 21;

/// How many variables the program of an AllGather in so many steps may have: one for each orbit of an origin and an edge,
/// and each step. Its dictionary has some rows for each of them, so that more take too much memory; `BoundError::TooLarge` reports it.
pub(super) const MAX_LAYERED_VARIABLES: usize = 1 << 14;

/// How many ranks and edges a topology may have together for the program of an AllReduce; more take too long, and
/// `BoundError::TooLarge` reports it.
pub(super) const MAX_ALLREDUCE_VARIABLES: usize = 1 << 11;

/// Solutions are searched to this relative precision.
pub(super) const PRECISION: f64 = 1e-9;

/// The capacity of an edge that carries everything, where cuts are searched for.
pub(super) const WHOLE_FLOW: u64 = 1 << 40;

/// How much of [`WHOLE_FLOW`] a flow may lack. It is more than all edges of a cut get beyond what they carry, one each.
pub(super) const TOLERATED_LACK: u64 = 1 << 20;
