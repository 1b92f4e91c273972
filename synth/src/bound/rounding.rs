//! Between the exact numbers of a topology and the floating-point ones of a linear program.

use super::paths::EdgeIndex;
use crate::dense::DenseMap;
use crate::graph::Topology;
use crate::rational::Rational;

/// The largest denominator with which fractions of the largest number are tried: the least number that all up to 10
/// divide.
const MAX_DENOMINATOR: u32 = 2520;

/// The largest denominator of a fraction that a single number is taken for. Fractions of larger ones are nearer to each
/// other than the errors of rounding.
const MAX_SINGLE_DENOMINATOR: u32 = 1 << 15;

/// What the largest number becomes if they are in no simple ratios.
const FINE: u32 = 1 << 30;

/// The rate of each edge, as a fraction of the largest one.
pub(crate) fn rate_fractions(topology: &Topology) -> DenseMap<EdgeIndex, f64> {
    let heaviest = topology.weighted_edges().map(|(_, weight)| weight).max().unwrap_or(1);
    let rates = topology.weighted_edges().map(|(_, weight)| weight as f64 / heaviest as f64);
    rates.collect::<Vec<f64>>().into()
}

/// A time, in the unit of the topology, that is given in rounds in which the fastest edge carries one chunk.
pub(super) fn find_time(topology: &Topology, rounds: f64) -> f64 {
    let heaviest = topology.weighted_edges().map(|(_, weight)| weight).max().unwrap_or(1);
    let quantum = topology.quantum();
    rounds / heaviest as f64 / (quantum.numerator() as f64 / quantum.denominator() as f64)
}

/// Integers in the ratios of numbers that are not negative: exact ones if each number is a simple fraction of the
/// largest one, up to errors of rounding, and fine ones otherwise.
pub(super) fn round_ratios(numbers: &[f64]) -> Vec<u64> {
    let is_exact = |denominator: &u32| {
        let mut multiples = multiply_ratios(numbers, *denominator);
        multiples.all(|multiple| (multiple - multiple.round()).abs() < 1e-6)
    };
    let exact = (1..=MAX_DENOMINATOR).find(is_exact);
    let exact = exact.or_else(|| find_common_denominator(numbers));
    multiply_ratios(numbers, exact.unwrap_or(FINE)).map(|number| number.round() as u64).collect()
}

/// The common denominator of all numbers as fractions of the largest one, if it is not larger than [`FINE`]: by
/// continued fractions, each of which must be nearly exact.
fn find_common_denominator(numbers: &[f64]) -> Option<u32> {
    let mut common: u64 = 1;
    for ratio in multiply_ratios(numbers, 1) {
        let fraction = Rational::approximate(ratio, MAX_SINGLE_DENOMINATOR)?;
        let error = fraction.numerator() as f64 / fraction.denominator() as f64 - ratio;
        if error.abs() > 1e-10 {
            return None;
        }
        let denominator = u64::try_from(fraction.denominator()).ok()?;
        let (mut a, mut b) = (common, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        common = common / a * denominator;
        if common > u64::from(FINE) {
            return None;
        }
    }
    u32::try_from(common).ok()
}

/// Integers in the ratios of numbers that are not negative, up to one in 2^30 of the largest one.
pub(super) fn round_finely(numbers: &[f64]) -> Vec<u64> {
    multiply_ratios(numbers, FINE).map(|number| number.round() as u64).collect()
}

/// The numbers as fractions of the largest one, times a factor.
fn multiply_ratios(numbers: &[f64], factor: u32) -> impl Iterator<Item = f64> {
    let largest = numbers.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    numbers.iter().map(move |number| number / largest * f64::from(factor))
}

#[cfg(test)]
mod tests {
    use super::{FINE, round_finely, round_ratios};

    #[test]
    fn simple_ratios_are_exact() {
        assert_eq!(round_ratios(&[0.3, 0.1, 0.0, 0.2]), [3, 1, 0, 2]);
        assert_eq!(round_ratios(&[1.0 / 7.0 + 1e-12, 1.0 / 6.0]), [6, 7]);
        assert_eq!(round_ratios(&[0.0, 0.0]), [0, 0]);
    }

    #[test]
    fn common_denominators_may_be_large() {
        let numbers = [1.0, 5.0 / 7919.0 + 1e-13, 3.0 / 104.0, 0.0];
        assert_eq!(round_ratios(&numbers), [7919 * 104, 5 * 104, 3 * 7919, 0]);
    }

    #[test]
    fn other_ratios_are_fine() {
        let half_root = f64::from(FINE) * std::f64::consts::FRAC_1_SQRT_2;
        assert_eq!(
            round_ratios(&[2.0, 2.0_f64.sqrt()]),
            [u64::from(FINE), half_root.round() as u64]
        );
        assert_eq!(round_finely(&[4.0, 1.0]), [u64::from(FINE), u64::from(FINE / 4)]);
    }
}
