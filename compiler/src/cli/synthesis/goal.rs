//! `--goal`, `--steps`, `--point`, `--alpha` and `--beta`: what is looked for, and what it costs.

use super::super::Failure;
use super::super::args::{Synth, SynthGoal};
use compiler::bytes;
use compiler::machine::Machine;
use compiler::syntax::token;
use compiler::synthesize::WINDOW_BYTES;
use synth::collective::{Collective, CollectiveKind};
use synth::cost::CostModel;
use synth::graph::RateUnit;
use synth::rational::{ArithmeticError, Rational};

/// How many sizes a range may have, each twice the one before.
const MOST_SIZES: u32 = 40;

/// A size that schedules are compared at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AskedSize {
    /// As it is shown: `64MiB`, `0.1`.
    pub(super) text: String,
    /// The size of a chunk: in bytes, or in the unit of the cost model.
    pub(super) chunk: Rational,
}

/// Sizes, and what schedules cost there.
#[derive(Clone, Debug)]
pub(super) struct SizeGoal {
    pub(super) model: CostModel,
    pub(super) sizes: Vec<AskedSize>,
}

impl SizeGoal {
    /// The sizes of a goal, for messages of a collective on a machine; none for other goals.
    pub(super) fn read(
        args: &Synth,
        machine: &Machine,
        collective: &Collective,
    ) -> Result<Option<SizeGoal>, Failure> {
        let (first, last) = match &args.goal {
            SynthGoal::Pareto
            | SynthGoal::LeastSteps
            | SynthGoal::Latency
            | SynthGoal::Bandwidth => {
                return match args.alpha.or(args.beta) {
                    Some(_) => Err(Failure::Usage(
                        "`--alpha` and `--beta` are for a goal with a size: `--goal size:10`"
                            .to_owned(),
                    )),
                    None => Ok(None),
                };
            }
            SynthGoal::Size(size) => (size, size),
            SynthGoal::Sizes { first, last } => (first, last),
        };
        let is_abstract = machine.graph.unit() == RateUnit::ChunksPerRound
            || args.alpha.is_some()
            || args.beta.is_some();
        let one = Rational::ONE;
        let model = if is_abstract {
            CostModel::Uniform { alpha: args.alpha.unwrap_or(one), beta: args.beta.unwrap_or(one) }
        } else {
            CostModel::Links { window: WINDOW_BYTES }
        };
        let list = if is_abstract {
            list_numbers(first, last)
        } else {
            let parts = count_parts(collective, machine.graph.count_ranks());
            list_messages(first, last, parts)
        };
        Ok(Some(SizeGoal { model, sizes: list.map_err(Failure::Usage)? }))
    }

    /// A time, as it is shown.
    pub(super) fn write_time(&self, time: Rational) -> String {
        match self.model {
            CostModel::Uniform { .. } => write_number(time),
            CostModel::Links { .. } => {
                let nanoseconds = time.numerator() as f64 / time.denominator() as f64;
                let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
                let (unit, scale) = units
                    .into_iter()
                    .find(|(_, scale)| nanoseconds >= *scale)
                    .unwrap_or(("ns", 1.0));
                format!("{:.1} {unit}", nanoseconds / scale)
            }
        }
    }
}

/// A whole number as it is, others with three digits behind the point.
fn write_number(number: Rational) -> String {
    match number.to_integer() {
        Some(whole) => whole.to_string(),
        None => format!("{:.3}", number.numerator() as f64 / number.denominator() as f64),
    }
}

/// Into how many chunks a message is divided: the output of an AllGather, the input of a ReduceScatter, of an AllToAll and
/// of a Scatter, the output of a Gather, and else the buffer, which is one chunk.
fn count_parts(collective: &Collective, ranks: u32) -> u64 {
    match collective {
        Collective::Known(
            CollectiveKind::AllGather
            | CollectiveKind::ReduceScatter
            | CollectiveKind::AllToAll
            | CollectiveKind::Scatter(_)
            | CollectiveKind::Gather(_),
        ) => u64::from(ranks),
        Collective::Known(
            CollectiveKind::AllReduce | CollectiveKind::Broadcast(_) | CollectiveKind::Reduce(_),
        )
        | Collective::Demands(_) => 1,
    }
}

/// Messages of so many bytes, each twice as long as the one before.
fn list_messages(first: &str, last: &str, parts: u64) -> Result<Vec<AskedSize>, String> {
    let read = |text: &str| {
        let number = token::integer(text).and_then(|number| u64::try_from(number).ok());
        number.filter(|number| *number > 0).ok_or_else(|| {
            format!("`--goal`: expected the size of a message, such as `64MiB`, and found `{text}`")
        })
    };
    let (first, last) = (read(first)?, read(last)?);
    if first > last {
        return Err("`--goal`: the first size is larger than the last one".to_owned());
    }
    let sizes = double(first, last, |size| size.checked_mul(2))?;
    let size = |size: u64| {
        let chunk = Rational::from_integer(size).checked_div(Rational::from_integer(parts));
        Ok(AskedSize { text: bytes::text(size), chunk: chunk.map_err(describe_overflow)? })
    };
    sizes.into_iter().map(size).collect()
}

/// Chunks of so many units, each twice as large as the one before.
fn list_numbers(first: &str, last: &str) -> Result<Vec<AskedSize>, String> {
    let read = |text: &str| {
        parse_number(text).filter(|number| number.is_positive()).ok_or_else(|| {
            format!(
                "`--goal`: with relative bandwidths, and with `--alpha` or `--beta`, a size is that of a chunk, a number such as `10` or `0.1`: found `{text}`"
            )
        })
    };
    let (first, last) = (read(first)?, read(last)?);
    if first > last {
        return Err("`--goal`: the first size is larger than the last one".to_owned());
    }
    let two = Rational::from_integer(2);
    let sizes = double(first, last, |size| size.checked_mul(two).ok())?;
    Ok(sizes.into_iter().map(|chunk| AskedSize { text: write_number(chunk), chunk }).collect())
}

/// A number, twice the number and so on, up to the last one, which is always there.
fn double<T: Copy + Ord>(
    first: T,
    last: T,
    next: impl Fn(T) -> Option<T>,
) -> Result<Vec<T>, String> {
    let mut all = vec![first];
    let mut size = first;
    while size < last {
        size = next(size).map_or(last, |next| next.min(last));
        all.push(size);
        if all.len() > MOST_SIZES as usize {
            return Err(format!(
                "`--goal`: from one size to the next one it doubles, and there may be {MOST_SIZES} at most"
            ));
        }
    }
    Ok(all)
}

pub(super) fn describe_overflow(_: ArithmeticError) -> String {
    "`--goal`: the numbers are too large".to_owned()
}

/// A decimal number or a fraction: `10`, `0.1`, `3/4`.
pub(crate) fn parse_number(text: &str) -> Option<Rational> {
    let whole = |text: &str| -> Option<i128> {
        let is_short = !text.is_empty() && text.len() <= 18;
        let is_number = is_short && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    if let Some((numerator, denominator)) = text.split_once('/') {
        return Rational::new(whole(numerator)?, whole(denominator)?).ok();
    }
    let Some((integer, digits)) = text.split_once('.') else {
        return Rational::new(whole(text)?, 1).ok();
    };
    let scale = 10_i128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let number = whole(integer)?.checked_mul(scale)?.checked_add(whole(digits)?)?;
    Rational::new(number, scale).ok()
}

#[cfg(test)]
mod tests {
    use super::{double, list_numbers, parse_number};
    use synth::rational::Rational;

    #[test]
    fn numbers_are_decimal_or_fractions() {
        let number = |text| parse_number(text).map(|number| number.to_string());
        assert_eq!(number("10").as_deref(), Some("10"));
        assert_eq!(number("0.1").as_deref(), Some("1/10"));
        assert_eq!(number("3/4").as_deref(), Some("3/4"));
        for text in ["", ".", "1.", ".5", "-1", "1e3", "1/0", "1/", "0x10", "9999999999999999999"] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_double_up_to_the_last_one() {
        let next = |size: u64| size.checked_mul(2);
        assert_eq!(double(3, 20, next), Ok(vec![3, 6, 12, 20]));
        assert_eq!(double(4, 4, next), Ok(vec![4]));
        assert!(double(1, u64::MAX, next).is_err());
        let sizes = list_numbers("0.1", "0.3").unwrap();
        let texts: Vec<&str> = sizes.iter().map(|size| size.text.as_str()).collect();
        assert_eq!(texts, ["0.100", "0.200", "0.300"]);
        assert_eq!(sizes[0].chunk, Rational::new(1, 10).unwrap());
    }
}
