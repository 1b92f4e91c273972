//! Exact fractions of 128-bit integers. Every operation is exact or reports an overflow; nothing is rounded, so that
//! a bound that is printed is the bound that was proved.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A fraction in lowest terms, with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rational {
    numerator: i128,
    denominator: i128,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticError {
    /// A numerator or denominator does not fit into 128 bits.
    Overflow,
    /// The denominator is zero.
    DivisionByZero,
}

impl fmt::Display for ArithmeticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArithmeticError::Overflow => "a fraction does not fit into 128 bits",
            ArithmeticError::DivisionByZero => "a fraction has the denominator 0",
        })
    }
}

impl std::error::Error for ArithmeticError {}

/// Why a text is no fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseRationalError;

impl fmt::Display for ParseRationalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a fraction of 128-bit integers, such as `7/6` or `4`")
    }
}

impl std::error::Error for ParseRationalError {}

impl Rational {
    /// The number 0.
    pub const ZERO: Rational = Rational { numerator: 0, denominator: 1 };
    /// The number 1.
    pub const ONE: Rational = Rational { numerator: 1, denominator: 1 };

    /// The fraction `numerator / denominator`, in lowest terms.
    ///
    /// # Errors
    /// The denominator is zero, or a part is `i128::MIN`, whose negation does not fit.
    pub fn new(numerator: i128, denominator: i128) -> Result<Rational, ArithmeticError> {
        if denominator == 0 {
            return Err(ArithmeticError::DivisionByZero);
        }
        let magnitude = numerator.checked_abs().ok_or(ArithmeticError::Overflow)?;
        let positive = denominator.checked_abs().ok_or(ArithmeticError::Overflow)?;
        let divisor = gcd(magnitude, positive);
        let sign = denominator.signum();
        Ok(Rational { numerator: sign * numerator / divisor, denominator: positive / divisor })
    }

    /// An integer.
    #[must_use]
    pub fn from_integer(value: u64) -> Rational {
        Rational { numerator: i128::from(value), denominator: 1 }
    }

    /// The number above the line; negative for a negative fraction.
    #[must_use]
    pub fn numerator(self) -> i128 {
        self.numerator
    }

    /// The number below the line; at least 1.
    #[must_use]
    pub fn denominator(self) -> i128 {
        self.denominator
    }

    /// The integer that it is; none if it is a fraction.
    #[must_use]
    pub fn to_integer(self) -> Option<i128> {
        (self.denominator == 1).then_some(self.numerator)
    }

    /// Whether the fraction is above zero.
    #[must_use]
    pub fn is_positive(self) -> bool {
        self.numerator > 0
    }

    /// The sum.
    ///
    /// # Errors
    /// [`ArithmeticError::Overflow`].
    pub fn checked_add(self, other: Rational) -> Result<Rational, ArithmeticError> {
        // Over the least common denominator, which keeps the products small.
        let divisor = gcd(self.denominator, other.denominator);
        let left = multiply(self.numerator, other.denominator / divisor)?;
        let right = multiply(other.numerator, self.denominator / divisor)?;
        let sum = left.checked_add(right).ok_or(ArithmeticError::Overflow)?;
        Rational::new(sum, multiply(self.denominator, other.denominator / divisor)?)
    }

    /// The difference.
    ///
    /// # Errors
    /// [`ArithmeticError::Overflow`].
    pub fn checked_sub(self, other: Rational) -> Result<Rational, ArithmeticError> {
        let negated = other.numerator.checked_neg().ok_or(ArithmeticError::Overflow)?;
        self.checked_add(Rational { numerator: negated, denominator: other.denominator })
    }

    /// The product.
    ///
    /// # Errors
    /// [`ArithmeticError::Overflow`].
    pub fn checked_mul(self, other: Rational) -> Result<Rational, ArithmeticError> {
        // Reduced crosswise before the products, so that only a result that does not fit overflows.
        let left = Rational::new(self.numerator, other.denominator)?;
        let right = Rational::new(other.numerator, self.denominator)?;
        Ok(Rational {
            numerator: multiply(left.numerator, right.numerator)?,
            denominator: multiply(left.denominator, right.denominator)?,
        })
    }

    /// The quotient.
    ///
    /// # Errors
    /// [`ArithmeticError::DivisionByZero`] if `other` is zero, or [`ArithmeticError::Overflow`].
    pub fn checked_div(self, other: Rational) -> Result<Rational, ArithmeticError> {
        self.checked_mul(Rational::new(other.denominator, other.numerator)?)
    }

    /// A fraction near a number from 0 to 2^53: the last convergent of its continued fraction whose denominator is at
    /// most `limit`. It is the number itself if that is such a fraction, up to the errors of rounding (Khinchin,
    /// "Continued Fractions", theorem 19). `None` for other numbers.
    #[must_use]
    pub fn approximate(value: f64, limit: u32) -> Option<Rational> {
        const LARGEST: f64 = 9_007_199_254_740_992.0; // 2^53: up to here every integer is exact.
        if !(0.0..=LARGEST).contains(&value) {
            return None;
        }
        let mut last = Rational { numerator: 1, denominator: 0 };
        let mut here = Rational { numerator: value.floor() as i128, denominator: 1 };
        let mut rest = value - value.floor();
        // A double has 53 significant bits, and a convergent's denominator at least doubles in two terms: what comes
        // after 64 terms is noise.
        for _ in 0..64 {
            // Below this, the reciprocal is made of rounding errors.
            if rest < 1e-9 {
                break;
            }
            let term = (1.0 / rest).floor();
            rest = 1.0 / rest - term;
            let next = Rational {
                numerator: term as i128 * here.numerator + last.numerator,
                denominator: term as i128 * here.denominator + last.denominator,
            };
            if next.denominator > i128::from(limit) {
                break;
            }
            last = here;
            here = next;
        }
        Some(here)
    }
}

impl Ord for Rational {
    /// Exact: compares the integer parts, then the reciprocals of what is left (Euclid's algorithm), so that no product
    /// can overflow.
    fn cmp(&self, other: &Rational) -> Ordering {
        let (mut left, mut right) = (*self, *other);
        let mut reversed = false;
        loop {
            let floors = (
                left.numerator.div_euclid(left.denominator),
                right.numerator.div_euclid(right.denominator),
            );
            let rests = (
                left.numerator.rem_euclid(left.denominator),
                right.numerator.rem_euclid(right.denominator),
            );
            let order = match floors.0.cmp(&floors.1) {
                // A rest of zero is smaller than any other; two equal ones end the search.
                Ordering::Equal if rests.0 == 0 || rests.1 == 0 => rests.0.cmp(&rests.1),
                Ordering::Equal => {
                    left = Rational { numerator: left.denominator, denominator: rests.0 };
                    right = Rational { numerator: right.denominator, denominator: rests.1 };
                    reversed = !reversed;
                    continue;
                }
                different @ (Ordering::Less | Ordering::Greater) => different,
            };
            return if reversed { order.reverse() } else { order };
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Rational) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 {
            write!(f, "{}", self.numerator)
        } else {
            write!(f, "{}/{}", self.numerator, self.denominator)
        }
    }
}

impl FromStr for Rational {
    type Err = ParseRationalError;

    fn from_str(text: &str) -> Result<Rational, ParseRationalError> {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let parse = |part: &str| part.parse().map_err(|_| ParseRationalError);
        Rational::new(parse(numerator)?, parse(denominator)?).map_err(|_| ParseRationalError)
    }
}

fn multiply(left: i128, right: i128) -> Result<i128, ArithmeticError> {
    left.checked_mul(right).ok_or(ArithmeticError::Overflow)
}

/// The greatest common divisor of two numbers that are not negative; that of 0 and `a` is `a`.
fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::{ArithmeticError, Rational};
    use std::cmp::Ordering;

    fn fraction(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn fractions_are_in_lowest_terms() {
        assert_eq!(Rational::new(14, 12).unwrap().to_string(), "7/6");
        assert_eq!(Rational::new(-14, -12).unwrap().to_string(), "7/6");
        assert_eq!(Rational::new(14, -12).unwrap().to_string(), "-7/6");
        assert_eq!(Rational::new(0, -5).unwrap(), Rational::ZERO);
        assert_eq!(Rational::new(8, 2).unwrap().to_string(), "4");
        assert_eq!(Rational::new(1, 0), Err(ArithmeticError::DivisionByZero));
    }

    #[test]
    fn arithmetic_is_that_of_fractions() {
        let (a, b) = (fraction("7/6"), fraction("-3/4"));
        assert_eq!(a.checked_add(b).unwrap(), fraction("5/12"));
        assert_eq!(a.checked_sub(b).unwrap(), fraction("23/12"));
        assert_eq!(a.checked_mul(b).unwrap(), fraction("-7/8"));
        assert_eq!(a.checked_div(b).unwrap(), fraction("-14/9"));
        assert_eq!(a.checked_div(Rational::ZERO), Err(ArithmeticError::DivisionByZero));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let large = Rational::new(i128::MAX, 1).unwrap();
        let tiny = Rational::new(1, i128::MAX).unwrap();
        assert_eq!(large.checked_add(Rational::ONE), Err(ArithmeticError::Overflow));
        assert_eq!(large.checked_mul(fraction("2")), Err(ArithmeticError::Overflow));
        assert_eq!(large.checked_div(tiny), Err(ArithmeticError::Overflow));
        assert_eq!(Rational::new(i128::MIN, 3), Err(ArithmeticError::Overflow));
        assert_eq!(Rational::new(3, i128::MIN), Err(ArithmeticError::Overflow));
        // The product fits, although that of the numerators does not.
        assert_eq!(large.checked_mul(tiny).unwrap(), Rational::ONE);
    }

    #[test]
    fn comparison_is_exact_where_products_overflow() {
        let less = Rational::new(i128::MAX - 2, i128::MAX - 1).unwrap();
        let more = Rational::new(i128::MAX - 1, i128::MAX).unwrap();
        assert_eq!(less.cmp(&more), Ordering::Less);
        assert_eq!(more.cmp(&less), Ordering::Greater);
        assert_eq!(more.cmp(&more), Ordering::Equal);
        let mut small: Vec<Rational> = Vec::new();
        for numerator in -7..8 {
            small.extend((1..8).map(|denominator| Rational::new(numerator, denominator).unwrap()));
        }
        for a in &small {
            for b in &small {
                let products = (a.numerator * b.denominator).cmp(&(b.numerator * a.denominator));
                assert_eq!(a.cmp(b), products, "{a} and {b}");
            }
        }
    }

    #[test]
    fn texts_are_read_back() {
        for text in ["7/6", "-7/6", "0", "12"] {
            assert_eq!(fraction(text).to_string(), text);
        }
        for text in ["", "/", "7/", "/6", "7/0", "1.5", "7/6/5", " 7", "0x1"] {
            assert!(text.parse::<Rational>().is_err(), "{text}");
        }
        // 2^128
        assert!("340282366920938463463374607431768211456".parse::<Rational>().is_err());
    }

    #[test]
    fn doubles_are_approximated_by_small_fractions() {
        for denominator in 1..=60 {
            for numerator in 0..=120 {
                let exact = Rational::new(numerator, denominator).unwrap();
                let value = numerator as f64 / denominator as f64;
                for noise in [0.0, 1e-11, -1e-11] {
                    let found = Rational::approximate((value + noise).max(0.0), 2520).unwrap();
                    assert_eq!(found, exact, "{value}");
                }
            }
        }
        assert_eq!(Rational::approximate(std::f64::consts::PI, 100).unwrap(), fraction("22/7"));
        assert_eq!(Rational::approximate(f64::NAN, 10), None);
        assert_eq!(Rational::approximate(-0.5, 10), None);
        assert_eq!(Rational::approximate(f64::INFINITY, 10), None);
    }
}
