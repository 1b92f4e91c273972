//! How much the linear programs may do, and whether they came to their end. Every bound is valid whatever the budgets;
//! one that ends at a budget may be below the optimum, and says so. All are counters, so that the same input gives the
//! same bound on every machine.

use crate::observer::{NoObserver, SearchObserver};
use crate::rational::Rational;
use std::fmt;

/// Whether a bound is the optimum of the program that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It is: exactly, or up to the precision of the search, as far as the search can tell.
    Optimal,
    /// The search ended at a budget: the optimum may be larger.
    Stopped(BoundBudget),
    /// The search came to its end, but what it found could not be kept when it was rounded to integers: the optimum
    /// is larger.
    Imprecise,
}

/// A budget at which a search can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundBudget {
    /// [`ProgramBudget::rounds`].
    Rounds,
    /// [`ProgramBudget::pivot_work`].
    PivotWork,
    /// [`ProgramBudget::first_rows`].
    FirstRows,
    /// [`ProgramBudget::layered_variables`] or [`ProgramBudget::layered_lengths`]: there was no program.
    LayeredVariables,
    /// None: the observer stopped the search.
    Observer,
}

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Completeness::Optimal => write!(f, "optimal"),
            Completeness::Stopped(BoundBudget::Observer) => write!(f, "stopped"),
            Completeness::Stopped(budget) => write!(f, "stopped at the budget of {budget}"),
            Completeness::Imprecise => write!(f, "below the optimum, by rounding"),
        }
    }
}

impl fmt::Display for BoundBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BoundBudget::Rounds => "cutting-plane rounds",
            BoundBudget::PivotWork => "pivot work",
            BoundBudget::FirstRows => "first rows",
            BoundBudget::LayeredVariables => "variables",
            BoundBudget::Observer => "the observer",
        })
    }
}

/// How much a linear program may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramBudget {
    /// How often routings or cuts are searched for. The machines of the literature need less than 30 rounds.
    pub rounds: usize,
    /// How many numbers of a dictionary the pivots may change in all; the default takes one or two seconds.
    pub pivot_work: usize,
    /// How many numbers the first rows of the program of an AllToAll may have: one for each rank and each edge or
    /// rank. The default takes some 16 MiB. For larger machines there is no program: the bound is the larger one of
    /// those that the inverse rates and the fullest edges show.
    pub first_rows: usize,
    /// How many lengths a bound for so many steps may have: one for each origin, destination, edge and step. Its
    /// certificate names those that are not zero; `BoundError::TooLarge` reports it.
    pub layered_lengths: usize,
    /// How many variables a program for so many steps may have: one for each orbit of a group of flows and an edge, and
    /// each step. Its dictionary has some rows for each of them, so that more take too much memory;
    /// `BoundError::TooLarge` reports it.
    pub layered_variables: usize,
    /// How many ranks and edges a topology may have together for the program of an AllReduce; more take too long, and
    /// `BoundError::TooLarge` reports it.
    pub allreduce_variables: usize,
}

impl Default for ProgramBudget {
    fn default() -> ProgramBudget {
        ProgramBudget {
            rounds: 400,
            pivot_work: 1 << 31,
            first_rows: 1 << 21,
            layered_lengths: 1 << 21,
            layered_variables: 1 << 14,
            allreduce_variables: 1 << 11,
        }
    }
}

/// What ends a linear program: its budget, or an observer.
#[derive(Clone, Copy, Debug)]
pub struct ProgramLimits<'a> {
    /// How much it may do.
    pub budget: &'a ProgramBudget,
    /// Who can stop it.
    pub observer: &'a dyn SearchObserver,
}

/// A budget that nobody watches.
impl<'a> From<&'a ProgramBudget> for ProgramLimits<'a> {
    fn from(budget: &'a ProgramBudget) -> Self {
        ProgramLimits { budget, observer: &NoObserver }
    }
}

impl ProgramLimits<'_> {
    /// What holds of a bound that is exact unless the observer stopped its search.
    pub(super) fn complete(&self) -> Completeness {
        if self.observer.is_stopped() {
            Completeness::Stopped(BoundBudget::Observer)
        } else {
            Completeness::Optimal
        }
    }
}

/// Solutions are searched to this relative precision.
pub(super) const PRECISION: f64 = 1e-9;

/// By how much of itself the optimum may differ from the bound that is returned, which is its exact value if it is the
/// optimum: the errors of all pivots add up.
const ROUNDING_PRECISION: f64 = 1e-6;

/// The capacity of an edge that carries everything, where cuts are searched for.
pub(super) const WHOLE_FLOW: u64 = 1 << 40;

/// How much of [`WHOLE_FLOW`] a flow may lack. It is more than all edges of a cut get beyond what they carry, one each.
pub(super) const TOLERATED_LACK: u64 = 1 << 20;

impl Completeness {
    /// What holds of a bound that was rounded from a solution: the search says whether that is optimal. Both are in the
    /// same unit.
    pub(super) fn after_rounding(self, bound: Rational, solution: f64) -> Completeness {
        let exact = bound.numerator() as f64 / bound.denominator() as f64;
        let is_kept = exact >= solution * (1.0 - ROUNDING_PRECISION);
        match self {
            Completeness::Optimal if !is_kept => Completeness::Imprecise,
            Completeness::Optimal | Completeness::Stopped(_) | Completeness::Imprecise => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BoundBudget, Completeness};
    use crate::rational::Rational;

    #[test]
    fn bounds_below_the_solution_are_imprecise() {
        let bound = Rational::new(7, 6).unwrap();
        let optimal = Completeness::Optimal;
        assert_eq!(optimal.after_rounding(bound, 7.0 / 6.0 + 1e-9), optimal);
        assert_eq!(optimal.after_rounding(bound, 1.17), Completeness::Imprecise);
        let stopped = Completeness::Stopped(BoundBudget::Rounds);
        assert_eq!(stopped.after_rounding(bound, 1.17), stopped);
    }
}
