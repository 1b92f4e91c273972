//! Expressions of regular lists and of shifts, as an author would write them.

use synth::shifts::{Shift, ShiftGroup};

/// How many members a progression has at least to be written as one.
const LEAST_PROGRESSION: usize = 5;

/// How many parts a list that is not written member by member has at most.
const MAX_RUNS: usize = 3;

/// A list of numbers.
pub(super) fn write_numbers(numbers: &[u32]) -> String {
    let mut runs: Vec<&[u32]> = Vec::new();
    let mut rest = numbers;
    while !rest.is_empty() {
        let mut length = measure_progression(rest);
        // The last one may begin the next progression as well: boxes of 8 begin at 8, and not at 16.
        let shorter = rest.get(length - 1..).unwrap_or_default();
        if length > LEAST_PROGRESSION && measure_progression(shorter) >= LEAST_PROGRESSION {
            length -= 1;
        }
        let (run, others) = rest.split_at(length);
        runs.push(run);
        rest = others;
    }
    let is_regular =
        runs.len() <= MAX_RUNS && runs.iter().all(|run| run.len() >= LEAST_PROGRESSION);
    if !is_regular || runs.is_empty() {
        let members: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        return format!("[{}]", members.join(", "));
    }
    let texts: Vec<String> = runs.iter().map(|run| write_progression(run)).collect();
    texts.join(" + ")
}

/// How many numbers from the first one on grow by the same.
fn measure_progression(numbers: &[u32]) -> usize {
    let [first, second, ..] = numbers else { return numbers.len() };
    let Some(step) = second.checked_sub(*first).filter(|step| *step > 0) else { return 1 };
    let grows = |pair: &&[u32]| matches!(pair, [one, next] if next.checked_sub(*one) == Some(step));
    numbers.windows(2).take_while(grows).count() + 1
}

fn write_progression(run: &[u32]) -> String {
    let [first, second, .., last] = run else { return String::new() };
    let step = second - first;
    let end = u64::from(*last) + u64::from(step);
    if step == 1 { format!("({first}..{end})") } else { format!("({first}..{end}).step({step})") }
}

/// A list of lists, one for each way, which are given as texts: equal neighbors are written once.
pub(super) fn write_by_way(lists: &[String]) -> String {
    let runs: Vec<&[String]> = lists.chunk_by(|one, other| one == other).collect();
    let is_regular =
        runs.len() <= MAX_RUNS && runs.iter().any(|run| run.len() >= LEAST_PROGRESSION);
    if !is_regular {
        return format!("[{}]", lists.join(", "));
    }
    let write = |run: &&[String]| match run {
        [] => String::new(),
        [one, .., _] if run.len() >= LEAST_PROGRESSION => {
            if run.len() == lists.len() {
                format!("[w in ways: {one}]")
            } else {
                format!("[w in 0..{}: {one}]", run.len())
            }
        }
        few => format!("[{}]", few.join(", ")),
    };
    runs.iter().map(write).collect::<Vec<String>>().join(" + ")
}

/// The sum of a rank and an offset in a group of shifts, which are given as names.
pub(super) fn write_sum(group: &ShiftGroup, rank: &str, offset: &str) -> String {
    write_shift(group, &ShiftTerms { rank, sign: '+', offset })
}

/// The difference.
pub(super) fn write_difference(group: &ShiftGroup, rank: &str, offset: &str) -> String {
    write_shift(group, &ShiftTerms { rank, sign: '-', offset })
}

/// Whether a rank is as far from another one as that from it: then sums and differences are the same.
pub(super) fn is_involutory(group: &ShiftGroup) -> bool {
    group.digits().iter().all(|shift| shift.radix == 2)
}

struct ShiftTerms<'t> {
    rank: &'t str,
    sign: char,
    offset: &'t str,
}

impl ShiftTerms<'_> {
    /// The digit of the sum, at its place.
    fn write_digit(&self, shift: Shift) -> String {
        let ShiftTerms { rank, sign, offset } = self;
        let Shift { radix, stride } = shift;
        if stride == 1 {
            format!("({rank} {sign} {offset}) % {radix}")
        } else {
            format!("({rank} / {stride} {sign} {offset} / {stride}) % {radix} * {stride}")
        }
    }

    /// Several bits that follow each other.
    fn write_bits(&self, bits: Shift, is_all: bool) -> String {
        let ShiftTerms { rank, offset, .. } = self;
        let Shift { radix, stride } = bits;
        match stride {
            _ if is_all => format!("{rank} ^ {offset}"),
            1 => format!("(({rank} ^ {offset}) % {radix})"),
            _ => format!("(({rank} ^ {offset}) / {stride} % {radix} * {stride})"),
        }
    }
}

fn write_shift(group: &ShiftGroup, terms: &ShiftTerms<'_>) -> String {
    let digits = group.digits();
    let runs = digits.chunk_by(|one, other| one.radix == 2 && other.radix == 2);
    let texts = runs.map(|run| match run {
        [only] => terms.write_digit(*only),
        [.., lowest] => {
            let bits = Shift { radix: 1 << run.len(), stride: lowest.stride };
            terms.write_bits(bits, run.len() == digits.len())
        }
        [] => String::new(),
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { "0".to_owned() } else { texts.join(" + ") }
}

#[cfg(test)]
mod tests {
    use super::{write_by_way, write_difference, write_numbers, write_sum};
    use synth::shifts::{Shift, ShiftGroup};

    #[test]
    fn progressions_are_written_as_such() {
        let boxes: Vec<u32> = (1..8).chain((8..128).step_by(8)).collect();
        let rows: [(&[u32], &str); 6] = [
            (&[], "[]"),
            (&[0], "[0]"),
            (&[1, 2, 3, 4], "[1, 2, 3, 4]"),
            (&[1, 2, 3, 4, 5], "(1..6)"),
            (&[9, 7, 5, 3, 1], "[9, 7, 5, 3, 1]"),
            (&boxes, "(1..8) + (8..128).step(8)"),
        ];
        for (numbers, expected) in rows {
            assert_eq!(write_numbers(numbers), expected);
        }
    }

    #[test]
    fn equal_neighbors_are_written_once() {
        let lists = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(write_by_way(&lists(&["[0]", "[1]"])), "[[0], [1]]");
        assert_eq!(write_by_way(&lists(&["[0]"; 6])), "[w in ways: [0]]");
        let two = [["[8]"; 7].as_slice(), ["[]"; 2].as_slice()].concat();
        assert_eq!(write_by_way(&lists(&two)), "[w in 0..7: [8]] + [[], []]");
    }

    #[test]
    fn shifts_are_those_of_the_group() {
        let write = |ranks: u32, keeps: fn(Shift) -> bool| {
            let group = ShiftGroup::find(ranks, keeps).unwrap();
            [write_sum(&group, "r", "x"), write_difference(&group, "r", "x")]
        };
        assert_eq!(write(6, |_| true), ["(r + x) % 6", "(r - x) % 6"]);
        assert_eq!(write(8, |shift| shift.radix == 2), ["r ^ x", "r ^ x"]);
        assert_eq!(
            write(24, |shift| shift.stride * shift.radix <= 8 || shift.stride >= 8),
            ["(r / 8 + x / 8) % 3 * 8 + (r + x) % 8", "(r / 8 - x / 8) % 3 * 8 + (r - x) % 8"]
        );
        assert_eq!(
            write(12, |shift| shift.radix == 2 && shift.stride < 4 || shift.stride == 4)[0],
            "(r / 4 + x / 4) % 3 * 4 + ((r ^ x) % 4)"
        );
    }
}
