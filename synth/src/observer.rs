//! Searches can be watched and stopped: by a person who waits, by a clock, by whoever has what they need. The crate
//! itself knows no clock.
//!
//! A search asks its observer every few milliseconds whether to stop. One that stops returns what is known so far, and
//! says so; it never claims what it did not come to. A search that is not stopped finds what it would find if nobody
//! watched.

use crate::bound::collective::CollectiveBounds;
use crate::rational::Rational;
use crate::schedule::SchedulePoint;
use std::fmt::Debug;

/// Watches a search.
pub trait SearchObserver: Debug {
    /// Whether the search shall end. Once it shall, this stays so.
    fn is_stopped(&self) -> bool {
        false
    }

    /// What the search came to.
    fn report(&self, progress: SearchProgress<'_>) {
        let _ = progress;
    }
}

/// Nobody watches, and nobody stops the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NoObserver;

impl SearchObserver for NoObserver {}

/// What a search came to.
#[derive(Clone, Copy, Debug)]
pub enum SearchProgress<'a> {
    /// The bounds are known. For an AllReduce, those of its halves follow.
    BoundsFound(&'a CollectiveBounds),
    /// The search looks for schedules of so many steps.
    StepsBegun {
        /// The number of steps.
        steps: u32,
        /// The bound on their time.
        bound: Rational,
    },
    /// The solver is asked for a schedule.
    PointBegun {
        /// Its size.
        point: SchedulePoint,
        /// How many conflicts the searches may still have, this one included.
        conflicts_left: u64,
    },
    /// The solver is still at it. This is reported every [`REPORTED_CONFLICTS`] conflicts.
    Solving {
        /// What it looks for.
        point: SchedulePoint,
        /// How many conflicts the formula has had. There is one formula for each group of symmetries.
        conflicts: u64,
    },
    /// There is a schedule that is better than those before.
    PointFound {
        /// Its size.
        point: SchedulePoint,
    },
    /// So many flow tests for trees are done. This is reported every [`REPORTED_TESTS`] tests.
    TestingFlows {
        /// How many.
        tests: u64,
    },
}

/// How many conflicts lie between two reports of the solver.
pub const REPORTED_CONFLICTS: u64 = 1 << 8;

/// How many flow tests lie between two reports of a search for trees.
pub const REPORTED_TESTS: u64 = 1 << 8;
