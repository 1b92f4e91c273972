//! The least rounds of steps that satisfy inequalities.

use super::super::ConstructionError;

/// How many partial choices of rounds are looked at for one number of pieces; some milliseconds. If they are not
/// enough, the rounds are those that were found without choices, and [`super::ScatterSchedule::is_least`] says that
/// fewer may do.
pub const MAX_COVER_NODES: u64 = 1 << 16;

/// A sum over all steps: a factor times the rounds of the step is at least an amount times the pieces of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoundInequality {
    /// The factors of the steps.
    pub(super) factors: Vec<u64>,
    /// For each piece of a unit.
    pub(super) amount: u64,
}

/// Rounds that satisfy all inequalities, in a sum below a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CoverOutcome {
    /// These, and none with a smaller sum.
    Least(Vec<u64>),
    /// There are none.
    None,
    /// The search ended at [`MAX_COVER_NODES`].
    Stopped,
}

/// Inequalities of the rounds of steps. Each step has at least one round.
#[derive(Clone, Debug)]
pub(super) struct RoundCover {
    inequalities: Vec<RoundInequality>,
    steps: usize,
    nodes: u64,
}

impl RoundCover {
    pub(super) fn new(steps: usize) -> RoundCover {
        RoundCover { inequalities: Vec::new(), steps, nodes: 0 }
    }

    /// Begins with another number of pieces.
    pub(super) fn restart(&mut self) {
        self.nodes = 0;
    }

    pub(super) fn add(&mut self, inequality: RoundInequality) {
        self.inequalities.push(inequality);
    }

    /// No smaller sum satisfies any of the inequalities, each on its own.
    pub(super) fn bound_sum(&self, chunks: u32) -> u64 {
        let bound = |own: &RoundInequality| {
            let largest = own.factors.iter().max().copied().unwrap_or(0).max(1);
            own.amount.saturating_mul(u64::from(chunks)).div_ceil(largest)
        };
        self.inequalities.iter().map(bound).max().unwrap_or(0).max(self.steps as u64)
    }

    /// Adds rounds, one by one, to the first step of those that count most in an inequality, until all hold.
    pub(super) fn raise(&self, rounds: &mut [u64], chunks: u32) -> Result<(), ConstructionError> {
        while let Some(own) = self.inequalities.iter().find(|own| !own.holds(rounds, chunks)) {
            let most =
                own.factors.iter().zip(rounds.iter_mut()).rev().max_by_key(|(factor, _)| **factor);
            let Some((_, rounds)) = most.filter(|(factor, _)| **factor > 0) else {
                // A cut that nothing leaves: every receiver is reachable in so many steps.
                return Err(ConstructionError::TooLarge);
            };
            *rounds += 1;
        }
        Ok(())
    }

    /// The least rounds that satisfy all inequalities, with a sum from a least one to below a limit.
    pub(super) fn find_rounds(&mut self, least: u64, limit: u64, chunks: u32) -> CoverOutcome {
        for total in least..limit {
            let mut prefix = Vec::with_capacity(self.steps);
            if let Some(found) = self.complete(&mut prefix, total, chunks) {
                return CoverOutcome::Least(found);
            }
            if self.nodes > MAX_COVER_NODES {
                return CoverOutcome::Stopped;
            }
        }
        CoverOutcome::None
    }

    /// Searches for rounds with a sum that satisfy all inequalities, after the first ones.
    fn complete(&mut self, prefix: &mut Vec<u64>, rest: u64, chunks: u32) -> Option<Vec<u64>> {
        self.nodes += 1;
        if self.nodes > MAX_COVER_NODES {
            return None;
        }
        if prefix.len() == self.steps {
            let is_enough = self.inequalities.iter().all(|own| own.holds(prefix, chunks));
            return (rest == 0 && is_enough).then(|| prefix.clone());
        }
        if !self.inequalities.iter().all(|own| own.can_hold(prefix, rest, chunks)) {
            return None;
        }
        let later = (self.steps - prefix.len() - 1) as u64;
        let most = rest.checked_sub(later)?;
        let least = if later == 0 { most } else { 1 };
        for rounds in least.max(1)..=most {
            prefix.push(rounds);
            let found = self.complete(prefix, rest - rounds, chunks);
            prefix.pop();
            if found.is_some() || self.nodes > MAX_COVER_NODES {
                return found;
            }
        }
        None
    }
}

impl RoundInequality {
    fn sum(&self, rounds: &[u64]) -> u128 {
        let terms = self.factors.iter().zip(rounds);
        terms.map(|(factor, rounds)| u128::from(*factor) * u128::from(*rounds)).sum()
    }

    fn holds(&self, rounds: &[u64], chunks: u32) -> bool {
        self.sum(rounds) >= u128::from(self.amount) * u128::from(chunks)
    }

    /// Whether it can hold if the steps after the first ones have so many rounds together.
    fn can_hold(&self, prefix: &[u64], rest: u64, chunks: u32) -> bool {
        let largest = self.factors.iter().skip(prefix.len()).max().copied().unwrap_or(0);
        let most = self.sum(prefix) + u128::from(largest) * u128::from(rest);
        most >= u128::from(self.amount) * u128::from(chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::{CoverOutcome, RoundCover, RoundInequality};

    fn find(inequalities: &[[u64; 3]], chunks: u32) -> Vec<u64> {
        let mut cover = RoundCover::new(2);
        for [one, other, amount] in inequalities {
            cover.add(RoundInequality { factors: vec![*one, *other], amount: *amount });
        }
        let CoverOutcome::Least(found) = cover.find_rounds(2, 1000, chunks) else { panic!() };
        let sum = found.iter().sum::<u64>();
        assert!(cover.bound_sum(chunks) <= sum);
        assert_eq!(cover.find_rounds(2, sum, chunks), CoverOutcome::None);
        let mut raised = vec![1, 1];
        cover.raise(&mut raised, chunks).unwrap();
        assert!(raised.iter().sum::<u64>() >= sum);
        found
    }

    #[test]
    fn rounds_are_the_least_that_are_enough() {
        assert_eq!(find(&[], 1), [1, 1]);
        assert_eq!(find(&[[2, 3, 9]], 1), [1, 3]);
        assert_eq!(find(&[[2, 3, 9], [5, 0, 10]], 1), [2, 2]);
        assert_eq!(find(&[[2, 3, 9], [5, 0, 10]], 2), [4, 4]);
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..200 {
            let mut draw = || [random.u64(1..5), random.u64(0..5), random.u64(0..30)];
            let inequalities = [draw(), draw(), draw()];
            let holds = |one: u64, other: u64| {
                inequalities.iter().all(|[a, b, amount]| a * one + b * other >= *amount)
            };
            let sums = (1..40).flat_map(|one| (1..40).map(move |other| [one, other]));
            let least = sums.filter(|[a, b]| holds(*a, *b)).map(|[a, b]| a + b).min();
            let found = find(&inequalities, 1);
            assert!(holds(found[0], found[1]));
            assert_eq!(found[0] + found[1], least.unwrap());
        }
    }

    #[test]
    fn searches_end_at_their_budget() {
        let mut cover = RoundCover::new(9);
        for step in 0..9 {
            let factor = |other| u64::from(other != step);
            cover.add(RoundInequality { factors: (0..9).map(factor).collect(), amount: 1001 });
        }
        assert_eq!(cover.find_rounds(9, 2000, 1), CoverOutcome::Stopped);
    }
}
