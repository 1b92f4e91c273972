//! Formulas in conjunctive normal form, with counters, and the solver for them.
//!
//! Counters are totalizers (Bailleux and Boufkhad, "Efficient CNF encoding of Boolean cardinality constraints", 2003),
//! whose outputs end at the largest number that anything asks for (Büttner and Rintanen, 2005).

use crate::observer::{REPORTED_CONFLICTS, SearchObserver, SearchProgress};
use crate::schedule::SchedulePoint;
use batsat::callbacks::Callbacks;
use batsat::interface::SolverInterface;
use batsat::{ClauseKind, Solver, SolverOpts, Var, lbool};
use std::cell::Cell;

/// A variable or its negation.
pub(super) use batsat::Lit as Literal;

/// A literal, or what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Known(bool),
    Literal(Literal),
}

impl Term {
    pub(super) fn negate(self) -> Term {
        match self {
            Term::Known(value) => Term::Known(!value),
            Term::Literal(literal) => Term::Literal(!literal),
        }
    }
}

impl From<Literal> for Term {
    fn from(literal: Literal) -> Self {
        Term::Literal(literal)
    }
}

/// What a solver found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Satisfiable,
    Unsatisfiable,
    OutOfConflicts,
    Stopped,
}

/// Who watches the search for a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointWatch<'a> {
    pub(super) point: SchedulePoint,
    pub(super) observer: &'a dyn SearchObserver,
}

/// The observer is asked once in so many times that the solver asks: it does so before each decision.
const DECISIONS_PER_QUESTION: u32 = 1 << 4;

/// Counts conflicts, and stops the solver at a limit.
struct ConflictCounter<'a> {
    count: u64,
    limit: u64,
    watch: PointWatch<'a>,
    /// How often the solver asked.
    asked: Cell<u32>,
    is_stopped: Cell<bool>,
}

impl Callbacks for ConflictCounter<'_> {
    fn on_new_clause(&mut self, _: &[Literal], kind: ClauseKind) {
        // Each conflict teaches one clause.
        if kind == ClauseKind::Learnt {
            self.count += 1;
            if self.count.is_multiple_of(REPORTED_CONFLICTS) {
                let PointWatch { point, observer } = self.watch;
                observer.report(SearchProgress::Solving { point, conflicts: self.count });
            }
        }
    }

    fn stop(&self) -> bool {
        let asked = self.asked.get();
        self.asked.set(asked.wrapping_add(1));
        if asked.is_multiple_of(DECISIONS_PER_QUESTION) && self.watch.observer.is_stopped() {
            self.is_stopped.set(true);
        }
        self.is_stopped.get() || self.count >= self.limit
    }
}

/// A formula and its solver.
pub(super) struct Formula<'a> {
    solver: Solver<ConflictCounter<'a>>,
    variables: usize,
    clause: Vec<Literal>,
}

impl<'a> Formula<'a> {
    pub(super) fn new(watch: PointWatch<'a>) -> Formula<'a> {
        let counter = ConflictCounter {
            count: 0,
            limit: u64::MAX,
            watch,
            asked: Cell::new(0),
            is_stopped: Cell::new(false),
        };
        let solver = Solver::new(SolverOpts::default(), counter);
        Formula { solver, variables: 0, clause: Vec::new() }
    }

    pub(super) fn count_variables(&self) -> usize {
        self.variables
    }

    pub(super) fn count_conflicts(&self) -> u64 {
        self.solver.cb().count
    }

    pub(super) fn add_variable(&mut self) -> Literal {
        self.variables += 1;
        let variable: Var = self.solver.new_var_default();
        Literal::new(variable, true)
    }

    /// Demands that one of the terms is true.
    pub(super) fn add_clause(&mut self, terms: &[Term]) {
        self.clause.clear();
        for term in terms {
            match term {
                Term::Known(true) => return,
                Term::Known(false) => {}
                Term::Literal(literal) => self.clause.push(*literal),
            }
        }
        // A formula that this makes false stays so: the solver says it.
        self.solver.add_clause_reuse(&mut self.clause);
    }

    /// Literals of which the first `k` are true if `k` of the inputs are, up to a limit on `k`.
    pub(super) fn count_inputs(&mut self, inputs: &[Literal], limit: usize) -> Vec<Literal> {
        if inputs.len() < 2 {
            return inputs.to_vec();
        }
        let (left, right) = inputs.split_at(inputs.len() / 2);
        let left = self.count_inputs(left, limit);
        let right = self.count_inputs(right, limit);
        self.add_counts(&left, &right, limit)
    }

    /// The sum of two numbers that literals count.
    pub(super) fn add_counts(
        &mut self,
        left: &[Literal],
        right: &[Literal],
        limit: usize,
    ) -> Vec<Literal> {
        let length = limit.min(left.len() + right.len());
        let sum: Vec<Literal> = (0..length).map(|_| self.add_variable()).collect();
        for pair in sum.windows(2) {
            if let [fewer, more] = pair {
                self.add_clause(&[(!*more).into(), (*fewer).into()]);
            }
        }
        let get = |counts: &[Literal], count: usize| match count.checked_sub(1) {
            Some(index) => counts.get(index).map_or(Term::Known(false), |own| Term::Literal(*own)),
            None => Term::Known(true),
        };
        for one in 0..=left.len() {
            // A sum beyond the limit is told by smaller parts of it.
            for other in 0..=right.len().min(length - one.min(length)) {
                if (1..=length).contains(&(one + other)) {
                    let reached = get(&sum, one + other);
                    self.add_clause(&[
                        get(left, one).negate(),
                        get(right, other).negate(),
                        reached,
                    ]);
                }
            }
        }
        sum
    }

    pub(super) fn solve(&mut self, max_conflicts: u64) -> Verdict {
        let counter = self.solver.cb_mut();
        counter.limit = counter.count.saturating_add(max_conflicts);
        let verdict = self.solver.solve_limited(&[]);
        if verdict == lbool::TRUE {
            Verdict::Satisfiable
        } else if verdict == lbool::FALSE {
            Verdict::Unsatisfiable
        } else if self.solver.cb().is_stopped.get() {
            Verdict::Stopped
        } else {
            Verdict::OutOfConflicts
        }
    }

    /// Whether a term is true in the solution that was found.
    pub(super) fn holds(&self, term: Term) -> bool {
        match term {
            Term::Known(value) => value,
            Term::Literal(literal) => self.is_true(literal),
        }
    }

    /// Whether a literal is true in the solution that was found.
    pub(super) fn is_true(&self, literal: Literal) -> bool {
        self.solver.value_lit(literal) == lbool::TRUE
    }
}

#[cfg(test)]
mod tests {
    use super::{Formula, Literal, PointWatch, Term, Verdict};
    use crate::observer::NoObserver;
    use crate::schedule::SchedulePoint;

    const UNWATCHED: PointWatch<'_> = PointWatch {
        point: SchedulePoint { steps: 0, rounds: 0, chunks: 1 },
        observer: &NoObserver,
    };

    #[test]
    fn counters_count_up_to_their_limit() {
        for inputs in 0..7 {
            for limit in 0..8 {
                for set in 0..1_u32 << inputs {
                    let mut formula = Formula::new(UNWATCHED);
                    let literals: Vec<Literal> =
                        (0..inputs).map(|_| formula.add_variable()).collect();
                    let counts = formula.count_inputs(&literals, limit);
                    assert!(counts.len() <= limit.max(1));
                    for (index, literal) in literals.iter().enumerate() {
                        let is_set = set >> index & 1 == 1;
                        let literal = if is_set { *literal } else { !*literal };
                        formula.add_clause(&[literal.into()]);
                    }
                    // Whatever is not forced can be false.
                    let count = set.count_ones() as usize;
                    for literal in counts.iter().skip(count) {
                        formula.add_clause(&[(!*literal).into()]);
                    }
                    assert_eq!(formula.solve(100), Verdict::Satisfiable);
                    for literal in counts.iter().take(count) {
                        assert!(formula.is_true(*literal), "{inputs} {limit} {set:b}");
                    }
                }
            }
        }
    }

    #[test]
    fn known_terms_leave_clauses() {
        let mut formula = Formula::new(UNWATCHED);
        let literal = formula.add_variable();
        formula.add_clause(&[Term::Known(true), literal.into()]);
        formula.add_clause(&[Term::Known(false), (!literal).into()]);
        assert_eq!(formula.solve(1), Verdict::Satisfiable);
        assert!(!formula.is_true(literal));
        formula.add_clause(&[Term::Known(false)]);
        assert_eq!(formula.solve(1), Verdict::Unsatisfiable);
    }

    /// So many pigeons and one hole less.
    fn add_pigeons(formula: &mut Formula<'_>, pigeons: usize) {
        let sits: Vec<Vec<Literal>> =
            (0..pigeons).map(|_| (1..pigeons).map(|_| formula.add_variable()).collect()).collect();
        for holes in &sits {
            let terms: Vec<Term> = holes.iter().map(|own| (*own).into()).collect();
            formula.add_clause(&terms);
        }
        for (pigeon, holes) in sits.iter().enumerate() {
            for others in &sits[..pigeon] {
                for (one, other) in holes.iter().zip(others) {
                    formula.add_clause(&[(!*one).into(), (!*other).into()]);
                }
            }
        }
    }

    #[test]
    fn conflicts_are_limited() {
        let mut formula = Formula::new(UNWATCHED);
        add_pigeons(&mut formula, 7);
        assert_eq!(formula.solve(10), Verdict::OutOfConflicts);
        let before = formula.count_conflicts();
        assert!((10..20).contains(&before), "{before}");
        assert_eq!(formula.solve(1_000_000), Verdict::Unsatisfiable);
        assert!(formula.count_conflicts() > before);
    }
}
