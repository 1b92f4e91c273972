//! Linear programs whose rows become known one after another: the dual simplex method (Lemke, "The dual method of
//! solving the linear programming problem", 1954) on a dictionary (Chvátal, "Linear Programming", chapter 2).
//!
//! A program is: minimize `costs * x`, where `x >= 0` and `row * x >= bound` for each row. No cost is negative, so that
//! `x = 0` is optimal as long as there are no rows; each further row is repaired from the optimum before it.
//!
//! The numbers are floating-point ones, and nothing relies on them: a bound that is found here is rounded to integers
//! and computed again from these, exactly.

use crate::dense::{DenseKey, DenseMap};
use crate::observer::SearchObserver;

/// What is smaller is zero.
const TOLERANCE: f64 = 1e-9;

/// A variable of the program, in the order of the costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unknown(pub(crate) u32);

impl DenseKey for Unknown {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A row of the program, in the order in which they were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowId(pub(crate) u32);

/// A variable times a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearTerm {
    pub(crate) unknown: Unknown,
    pub(crate) factor: f64,
}

/// By how much the objective grows with the bound of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPrice {
    pub(crate) row: RowId,
    pub(crate) price: f64,
}

/// Whether [`LinearProgram::optimize`] reached its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinearOutcome {
    /// The solution is the least one.
    Optimal,
    /// No `x` satisfies all rows.
    Infeasible,
    /// So much work was not enough.
    OutOfWork,
    /// The observer stopped the search.
    Stopped,
}

/// A variable of the dictionary: one of the program, or by how much a row exceeds its bound. Both are at least zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DictionaryVariable {
    Unknown(Unknown),
    Surplus(RowId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column(u32);

impl DenseKey for Column {
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BasicRow(u32);

impl DenseKey for BasicRow {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// `variable = constant + factors * columns`.
#[derive(Clone, Debug)]
struct Equation {
    variable: DictionaryVariable,
    constant: f64,
    factors: DenseMap<Column, f64>,
}

/// A column that can repair a row: what that costs per unit, and its factor in the row.
struct CheapColumn {
    column: Column,
    ratio: f64,
    factor: f64,
}

/// Where a variable stands.
#[derive(Clone, Copy, Debug)]
enum Standing {
    Column(Column),
    Row(BasicRow),
}

/// A program, and the dictionary of its best solution so far, in which the variables of the columns are zero.
#[derive(Clone, Debug)]
pub(crate) struct LinearProgram {
    columns: DenseMap<Column, DictionaryVariable>,
    /// By how much the objective grows with the variable of each column; not negative.
    costs: DenseMap<Column, f64>,
    objective: f64,
    rows: DenseMap<BasicRow, Equation>,
    standings: DenseMap<Unknown, Standing>,
    row_count: u32,
    /// How many numbers all pivots so far changed.
    work: usize,
}

impl LinearProgram {
    /// A program without rows. No cost is negative.
    pub(crate) fn new(costs: Vec<f64>) -> LinearProgram {
        let unknowns = 0..costs.len() as u32;
        let columns = unknowns.clone().map(|index| DictionaryVariable::Unknown(Unknown(index)));
        let standings = unknowns.map(|index| Standing::Column(Column(index)));
        LinearProgram {
            columns: columns.collect::<Vec<_>>().into(),
            standings: standings.collect::<Vec<_>>().into(),
            costs: costs.into(),
            objective: 0.0,
            rows: Vec::new().into(),
            row_count: 0,
            work: 0,
        }
    }

    /// The value of a variable in the solution.
    pub(crate) fn value(&self, unknown: Unknown) -> f64 {
        match self.standings[unknown] {
            Standing::Column(_) => 0.0,
            Standing::Row(row) => self.rows[row].constant.max(0.0),
        }
    }

    /// What the solution costs.
    pub(crate) fn objective(&self) -> f64 {
        self.objective
    }

    /// The prices of the rows whose price is not zero, in the order of the rows: the dual solution. No price is
    /// negative.
    pub(crate) fn collect_prices(&self) -> Vec<RowPrice> {
        let mut prices = Vec::new();
        for (variable, &price) in self.columns.as_slice().iter().zip(self.costs.as_slice()) {
            if let DictionaryVariable::Surplus(row) = *variable
                && price > TOLERANCE
            {
                prices.push(RowPrice { row, price });
            }
        }
        prices.sort_by_key(|price| price.row);
        prices
    }

    /// Requires that the terms sum up to at least a bound. The next [`LinearProgram::optimize`] sees to it.
    pub(crate) fn add_row(&mut self, terms: &[LinearTerm], bound: f64) -> RowId {
        let id = RowId(self.row_count);
        self.row_count += 1;
        let mut constant = -bound;
        let mut factors = DenseMap::filled(self.columns.len(), 0.0);
        for term in terms {
            match self.standings[term.unknown] {
                Standing::Column(column) => factors[column] += term.factor,
                Standing::Row(row) => {
                    let equation = &self.rows[row];
                    constant += term.factor * equation.constant;
                    add_multiple(&mut factors, &equation.factors, term.factor);
                }
            }
        }
        self.rows.push(Equation { variable: DictionaryVariable::Surplus(id), constant, factors });
        id
    }

    /// Changes the solution to the best one that satisfies all rows, as long as all pivots of this program together
    /// change at most so many numbers, and nobody stops it.
    pub(crate) fn optimize(
        &mut self,
        max_work: usize,
        observer: &dyn SearchObserver,
    ) -> LinearOutcome {
        let mut best = self.objective;
        let mut stalled = 0;
        loop {
            // As long as the objective grows there is no circle. Where it does not, Bland's rule ("New finite pivoting
            // rules for the simplex method", 1977) has an end, which the other one need not have.
            let is_stalled = stalled > self.rows.len() + self.columns.len();
            let row =
                if is_stalled { self.find_first_violated() } else { self.find_most_violated() };
            let Some(row) = row else { return LinearOutcome::Optimal };
            if observer.is_stopped() {
                return LinearOutcome::Stopped;
            }
            let column = self.find_cheapest(row, is_stalled);
            let Some(column) = column else { return LinearOutcome::Infeasible };
            self.work += self.rows.len() * self.columns.len();
            if self.work > max_work {
                return LinearOutcome::OutOfWork;
            }
            self.pivot(row, column);
            stalled += 1;
            if self.objective > best + TOLERANCE {
                best = self.objective;
                stalled = 0;
            }
        }
    }

    /// Of the variables that are below zero the first one.
    fn find_first_violated(&self) -> Option<BasicRow> {
        let rows = (0..).map(BasicRow).zip(self.rows.as_slice());
        let violated = rows.filter(|(_, equation)| equation.constant < -TOLERANCE);
        violated.min_by_key(|(_, equation)| equation.variable).map(|(row, _)| row)
    }

    /// The variable that is most below zero; of several the first.
    fn find_most_violated(&self) -> Option<BasicRow> {
        let mut worst = None;
        let mut least = -TOLERANCE;
        for (index, equation) in (0..).zip(self.rows.as_slice()) {
            if equation.constant < least {
                least = equation.constant;
                worst = Some(BasicRow(index));
            }
        }
        worst
    }

    /// The column that repairs a row at the least cost per unit, so that no cost becomes negative. Of several the one
    /// with the largest factor, for the sake of precision; or that of the first variable.
    fn find_cheapest(&self, row: BasicRow, takes_first: bool) -> Option<Column> {
        let factors = self.rows[row].factors.as_slice();
        let mut best: Option<CheapColumn> = None;
        for (index, (&factor, &cost)) in (0..).zip(factors.iter().zip(self.costs.as_slice())) {
            if factor <= TOLERANCE {
                continue;
            }
            let column = Column(index);
            let found = CheapColumn { column, ratio: cost.max(0.0) / factor, factor };
            let is_better = best.as_ref().is_none_or(|best| {
                let is_preferred = if takes_first {
                    self.columns[column] < self.columns[best.column]
                } else {
                    factor > best.factor
                };
                found.ratio < best.ratio - TOLERANCE
                    || (found.ratio < best.ratio + TOLERANCE && is_preferred)
            });
            if is_better {
                best = Some(found);
            }
        }
        best.map(|best| best.column)
    }

    /// Exchanges the variable of a row with that of a column.
    fn pivot(&mut self, row: BasicRow, column: Column) {
        let factor = self.rows[row].factors[column];
        let leaving = self.rows[row].variable;
        let entering = self.columns[column];
        // Solved for the variable of the column.
        let equation = &mut self.rows[row];
        equation.variable = entering;
        equation.constant /= -factor;
        equation.factors.as_mut_slice().iter_mut().for_each(|other| *other /= -factor);
        equation.factors[column] = 1.0 / factor;
        self.columns[column] = leaving;
        self.set_standing(entering, Standing::Row(row));
        self.set_standing(leaving, Standing::Column(column));

        let solved = self.rows[row].clone();
        for (index, equation) in (0..).zip(self.rows.as_mut_slice()) {
            let multiple = equation.factors[column];
            if BasicRow(index) == row || multiple == 0.0 {
                continue;
            }
            equation.factors[column] = 0.0;
            equation.constant += multiple * solved.constant;
            add_multiple(&mut equation.factors, &solved.factors, multiple);
        }
        let multiple = self.costs[column];
        self.costs[column] = 0.0;
        self.objective += multiple * solved.constant;
        add_multiple(&mut self.costs, &solved.factors, multiple);
    }

    fn set_standing(&mut self, variable: DictionaryVariable, standing: Standing) {
        if let DictionaryVariable::Unknown(unknown) = variable {
            self.standings[unknown] = standing;
        }
    }

    /// Forgets the rows from a given one on that are satisfied with something left over. The solution stays the best
    /// one, but may violate them after other rows are added: whoever does so looks again, and adds them again.
    pub(crate) fn drop_slack_rows(&mut self, first: RowId) {
        let rows = std::mem::replace(&mut self.rows, Vec::new().into());
        let is_needed = |equation: &Equation| match equation.variable {
            DictionaryVariable::Unknown(_) => true,
            DictionaryVariable::Surplus(row) => row < first || equation.constant <= TOLERANCE,
        };
        for equation in rows.into_values().into_iter().filter(is_needed) {
            let row = BasicRow(self.rows.len() as u32);
            self.set_standing(equation.variable, Standing::Row(row));
            self.rows.push(equation);
        }
    }
}

fn add_multiple(sum: &mut DenseMap<Column, f64>, summand: &DenseMap<Column, f64>, multiple: f64) {
    for (sum, summand) in sum.as_mut_slice().iter_mut().zip(summand.as_slice()) {
        *sum += multiple * summand;
    }
}

#[cfg(test)]
mod tests {
    use super::{LinearOutcome, LinearProgram, LinearTerm, RowId, Unknown};
    use crate::observer::NoObserver;

    fn terms(factors: &[f64]) -> Vec<LinearTerm> {
        let unknowns = (0..).map(Unknown).zip(factors);
        unknowns.map(|(unknown, &factor)| LinearTerm { unknown, factor }).collect()
    }

    #[test]
    fn a_small_program_has_its_solution() {
        // A diet: two foods with their prices, and nutrients of which enough is needed.
        let mut program = LinearProgram::new(vec![3.0, 2.0]);
        program.add_row(&terms(&[1.0, 1.0]), 4.0);
        assert_eq!(program.optimize(1000, &NoObserver), LinearOutcome::Optimal);
        assert!((program.objective() - 8.0).abs() < 1e-12);
        program.add_row(&terms(&[3.0, 1.0]), 6.0);
        program.add_row(&terms(&[1.0, 0.0]), 2.0);
        assert_eq!(program.optimize(1000, &NoObserver), LinearOutcome::Optimal);
        assert!((program.objective() - 10.0).abs() < 1e-12);
        assert!((program.value(Unknown(0)) - 2.0).abs() < 1e-12);
        assert!((program.value(Unknown(1)) - 2.0).abs() < 1e-12);
        // The first and the third row bind: 2 * 4 + 1 * 2 = 10.
        let prices = program.collect_prices();
        let prices: Vec<(u32, f64)> = prices.iter().map(|row| (row.row.0, row.price)).collect();
        assert_eq!(prices, [(0, 2.0), (2, 1.0)]);
        program.drop_slack_rows(RowId(0));
        // At most one of the second: the first must grow.
        program.add_row(&terms(&[0.0, -1.0]), -1.0);
        assert_eq!(program.optimize(1000, &NoObserver), LinearOutcome::Optimal);
        assert!((program.objective() - 11.0).abs() < 1e-12);
    }

    #[test]
    fn programs_without_solution_and_short_budgets_are_told() {
        let mut program = LinearProgram::new(vec![1.0]);
        program.add_row(&terms(&[1.0]), 2.0);
        assert_eq!(program.optimize(0, &NoObserver), LinearOutcome::OutOfWork);
        program.add_row(&terms(&[-1.0]), -1.0);
        assert_eq!(program.optimize(1000, &NoObserver), LinearOutcome::Infeasible);
    }

    /// `x * factors[0] + y * factors[1] >= bound`.
    #[derive(Clone, Debug)]
    struct HalfPlane {
        factors: [f64; 2],
        bound: f64,
    }

    impl HalfPlane {
        /// By how much a point exceeds the bound.
        fn measure_surplus(&self, [x, y]: [f64; 2]) -> f64 {
            self.factors[0] * x + self.factors[1] * y - self.bound
        }
    }

    /// The least cost over all corners: the points where two of the borders and axes meet.
    fn search_corners(costs: [f64; 2], rows: &[HalfPlane]) -> Option<f64> {
        let axes = [[1.0, 0.0], [0.0, 1.0]].map(|factors| HalfPlane { factors, bound: 0.0 });
        let lines = [rows, axes.as_slice()].concat();
        let mut best: Option<f64> = None;
        for (index, first) in lines.iter().enumerate() {
            for second in &lines[index + 1..] {
                let ([a, b], [c, d]) = (first.factors, second.factors);
                let determinant = a * d - b * c;
                if determinant == 0.0 {
                    continue;
                }
                let x = (first.bound * d - second.bound * b) / determinant;
                let y = (second.bound * a - first.bound * c) / determinant;
                if lines.iter().all(|line| line.measure_surplus([x, y]) > -1e-9) {
                    let cost = costs[0] * x + costs[1] * y;
                    best = Some(best.map_or(cost, |best: f64| best.min(cost)));
                }
            }
        }
        best
    }

    /// Adds the rows that are violated, until none is.
    fn add_until_satisfied(program: &mut LinearProgram, rows: &[HalfPlane]) -> LinearOutcome {
        loop {
            let point = [0, 1].map(|index| program.value(Unknown(index)));
            let mut is_satisfied = true;
            for row in rows.iter().filter(|row| row.measure_surplus(point) < -1e-7) {
                program.add_row(&terms(&row.factors), row.bound);
                is_satisfied = false;
            }
            let outcome = program.optimize(1000, &NoObserver);
            if is_satisfied || outcome != LinearOutcome::Optimal {
                return outcome;
            }
        }
    }

    #[test]
    fn solutions_are_the_best_corners() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut feasible = 0;
        for _ in 0..2000 {
            let costs = [random.u32(0..9).into(), random.u32(0..9).into()];
            let mut program = LinearProgram::new(costs.to_vec());
            let mut rows = Vec::new();
            for _ in 0..random.usize(1..6) {
                let mut factor = || f64::from(random.i32(-6..7));
                rows.push(HalfPlane { factors: [factor(), factor()], bound: factor() });
                let outcome = add_until_satisfied(&mut program, &rows);
                let expected = search_corners(costs, &rows);
                assert_eq!(outcome == LinearOutcome::Optimal, expected.is_some(), "{rows:?}");
                let Some(expected) = expected else { break };
                feasible += 1;
                assert!((program.objective() - expected).abs() < 1e-6, "{costs:?} {rows:?}");
                program.drop_slack_rows(RowId(0));
            }
        }
        assert!(feasible > 2000);
    }
}
