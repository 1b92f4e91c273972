//! Linear programs that have a row for each cut of a network: too many to write down, so that those that a solution
//! violates are found by maximum flows and added, one round after another (Kelley, "The cutting-plane method for
//! solving convex programs", 1960).

use super::budget::{BoundBudget, Completeness, PRECISION, ProgramLimits};
use super::rounding::round_ratios;
use crate::dense::DenseMap;
use crate::observer::SearchObserver;
use crate::simplex::{LinearOutcome, LinearProgram, LinearTerm, RowId, Unknown};
use std::collections::BTreeMap;

/// A row that a solution violates, with what it says.
pub(crate) struct ViolatedCut<M> {
    pub(crate) terms: Vec<LinearTerm>,
    pub(crate) bound: f64,
    pub(crate) meaning: M,
}

/// What finds the cuts that a solution violates.
pub(crate) trait CutFinder<M> {
    /// Rows that given values of the variables violate; none if they satisfy all. If the observer stops the search, some
    /// may be missing.
    fn find_violated_cuts(
        &mut self,
        values: &DenseMap<Unknown, f64>,
        observer: &dyn SearchObserver,
    ) -> Vec<ViolatedCut<M>>;
}

/// A row with its price in the dual solution, as an integer in the ratios of the prices.
pub(crate) struct PricedRow<'a, M> {
    pub(crate) meaning: &'a M,
    pub(crate) price: u64,
}

/// A program, with the meanings of its rows.
pub(crate) struct CutProgram<M> {
    program: LinearProgram,
    meanings: BTreeMap<RowId, M>,
    /// The rows before are there from the start.
    first_cut: RowId,
    /// A solution that satisfies every row: the value of each variable.
    inner: DenseMap<Unknown, f64>,
}

impl<M> CutProgram<M> {
    /// A program with the costs of its variables, and values of them that satisfy every row.
    pub(crate) fn new(costs: Vec<f64>, inner: DenseMap<Unknown, f64>) -> CutProgram<M> {
        let program = LinearProgram::new(costs);
        CutProgram { program, meanings: BTreeMap::new(), first_cut: RowId(0), inner }
    }

    /// Adds a row that is there from the start. Those whose price is needed have a meaning.
    pub(crate) fn add_fixed_row(&mut self, terms: &[LinearTerm], bound: f64, meaning: Option<M>) {
        let row = self.program.add_row(terms, bound);
        self.first_cut = RowId(row.0 + 1);
        if let Some(meaning) = meaning {
            self.meanings.insert(row, meaning);
        }
    }

    /// What the solution costs.
    pub(crate) fn objective(&self) -> f64 {
        self.program.objective()
    }

    /// Adds cuts and improves the solution in turn, as far as the budgets go. Cuts that the point between the solution
    /// and a feasible one violates cut off more than those that the solution violates (Ben-Ameur and Neto,
    /// "Acceleration of cutting-plane and column generation algorithms", 2007).
    pub(crate) fn optimize(
        &mut self,
        finder: &mut impl CutFinder<M>,
        limits: ProgramLimits<'_>,
    ) -> Completeness {
        let ProgramLimits { budget, observer } = limits;
        for _ in 0..budget.rounds {
            let outer = self.collect_values();
            let between = outer.as_slice().iter().zip(self.inner.as_slice());
            let between = between.map(|(outer, inner)| (outer + inner) / 2.0);
            let between: DenseMap<Unknown, f64> = between.collect::<Vec<f64>>().into();
            if self.add_violated_cuts(finder, &between, observer) == 0 {
                // Which may not satisfy every row, if the search for those was stopped.
                self.inner = between;
                if self.add_violated_cuts(finder, &outer, observer) == 0 {
                    return limits.complete();
                }
            }
            let before = self.program.objective();
            match self.program.optimize(budget.pivot_work, observer) {
                LinearOutcome::Optimal => {}
                LinearOutcome::OutOfWork => return Completeness::Stopped(BoundBudget::PivotWork),
                LinearOutcome::Stopped => return Completeness::Stopped(BoundBudget::Observer),
                // There is a solution that satisfies every row: only errors of rounding say otherwise.
                LinearOutcome::Infeasible => return Completeness::Imprecise,
            }
            // Rows that are dropped can come back; as long as the objective grows, this has an end.
            if self.program.objective() > before + PRECISION {
                self.program.drop_slack_rows(self.first_cut);
            }
        }
        Completeness::Stopped(BoundBudget::Rounds)
    }

    /// The value of each variable in the solution.
    pub(crate) fn collect_values(&self) -> DenseMap<Unknown, f64> {
        let unknowns = (0..self.inner.len() as u32).map(Unknown);
        unknowns.map(|unknown| self.program.value(unknown)).collect::<Vec<f64>>().into()
    }

    /// Returns how many there were.
    fn add_violated_cuts(
        &mut self,
        finder: &mut impl CutFinder<M>,
        values: &DenseMap<Unknown, f64>,
        observer: &dyn SearchObserver,
    ) -> usize {
        let found = finder.find_violated_cuts(values, observer);
        let count = found.len();
        for cut in found {
            let row = self.program.add_row(&cut.terms, cut.bound);
            self.meanings.insert(row, cut.meaning);
        }
        count
    }

    /// The rows that have a meaning and a price.
    pub(crate) fn round_prices(&self) -> Vec<PricedRow<'_, M>> {
        let prices = self.program.collect_prices();
        let priced =
            prices.iter().filter_map(|price| Some((self.meanings.get(&price.row)?, price.price)));
        let (meanings, prices): (Vec<&M>, Vec<f64>) = priced.unzip();
        let rows = meanings.into_iter().zip(round_ratios(&prices));
        rows.map(|(meaning, price)| PricedRow { meaning, price }).collect()
    }
}
