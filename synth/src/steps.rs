//! Schedules of steps: constructed ones, and those that a solver looks for.
//!
//! - `bfb`, `scatter`, `exchange` and `greedy` construct schedules from flows and matchings; `rooted` and `scan` those of
//!   sums that several ranks get.
//! - `boxes` constructs those of AllToAlls, with equal amounts or any others, on machines of boxes.
//! - `encode`, `quotient`, `solver` and `solve` look for one of a certain size, or show that there is none.
//!
//! Each schedule is checked by [`crate::schedule::check_schedule`].

pub mod bfb;
pub mod boxes;
mod construction;
mod direction;
mod encode;
mod error;
pub mod exchange;
pub mod greedy;
pub mod hops;
mod legs;
mod quotient;
mod rooted;
mod routes;
mod scan;
pub mod scatter;
mod solve;
mod solver;

pub use construction::{ConstructionError, MAX_MOVES};
pub(crate) use direction::{SearchDirection, reverse_units};
pub use error::SearchError;
pub(crate) use rooted::{RootChoice, RootedRequest, schedule_by_roots};
pub(crate) use scan::{ScanMethod, schedule_scans};
pub use solve::{
    BudgetReached, PointOutcome, SolverBudget, SolverLimit, solve_collective_point, solve_point,
};
pub(crate) use solve::{PointAnswer, SearchSubject, UnitSearch, check_point_size};
