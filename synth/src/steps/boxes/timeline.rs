//! When boxes send to which boxes: the permutations one after another, cut into parts that become steps.

use super::birkhoff::{PermutationTerm, decompose_matrix};
use super::grouping::BoxIndex;
use super::{BoxError, BoxOrder};
use crate::dense::DenseMap;
use std::collections::BTreeMap;

/// Two boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BoxPair {
    pub(super) from: BoxIndex,
    pub(super) to: BoxIndex,
}

/// How long a box sends to another one in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartSpan {
    pub(super) part: u32,
    /// At least 1.
    pub(super) length: u64,
}

/// When boxes send to which boxes.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub(super) terms: Vec<PermutationTerm>,
    /// How many parts there are; 0 if nothing is sent.
    pub(super) parts: u32,
    /// In which parts each box sends to which other one, in order. They sum up to its entry of the matrix.
    pub(super) spans: BTreeMap<BoxPair, Vec<PartSpan>>,
}

impl Timeline {
    /// The timeline of a matrix that has the time which each box needs to send to each other one. In a part of its own, each
    /// permutation keeps every box at one other box; otherwise the parts are as equal as multiples of `unit` are.
    pub(super) fn plan(
        lengths: &DenseMap<BoxIndex, DenseMap<BoxIndex, u64>>,
        order: BoxOrder,
        unit: u64,
    ) -> Result<Timeline, BoxError> {
        let rows: Vec<Vec<u64>> =
            lengths.as_slice().iter().map(|row| row.as_slice().to_vec()).collect();
        let terms = decompose_matrix(&rows).map_err(|_| BoxError::TooLarge)?;
        let total: u64 = terms.iter().map(|term| term.weight).sum();
        let ends: Vec<u64> = match order {
            BoxOrder::Permutations => terms
                .iter()
                .scan(0, |end, term| {
                    *end += term.weight;
                    Some(*end)
                })
                .collect(),
            BoxOrder::Parts(parts) => cut_evenly(total, parts, unit)?,
            BoxOrder::Direct | BoxOrder::RelayFirst => vec![total],
        };
        let mut timeline = Timeline { terms, parts: ends.len() as u32, spans: BTreeMap::new() };
        timeline.add_spans(lengths, &ends);
        Ok(timeline)
    }

    fn add_spans(&mut self, lengths: &DenseMap<BoxIndex, DenseMap<BoxIndex, u64>>, ends: &[u64]) {
        let mut rest = lengths.clone();
        let mut start = 0;
        for term in &self.terms {
            for (from, to) in (0..).map(BoxIndex).zip(term.columns.iter().copied().map(BoxIndex)) {
                // What the matrix was filled up with comes after what is sent.
                let length = rest[from][to].min(term.weight);
                rest[from][to] -= length;
                let own = if length > 0 { Some(BoxPair { from, to }) } else { None };
                let Some(spans) = own.map(|own| self.spans.entry(own).or_default()) else {
                    continue;
                };
                add_span(spans, start..start + length, ends);
            }
            start += term.weight;
        }
    }
}

/// Adds what of a time is in which part.
fn add_span(spans: &mut Vec<PartSpan>, time: std::ops::Range<u64>, ends: &[u64]) {
    let first = ends.partition_point(|end| *end <= time.start);
    let mut start = time.start;
    for (part, end) in (first as u32..).zip(ends.iter().skip(first)) {
        let length = time.end.min(*end) - start;
        start += length;
        match spans.last_mut() {
            Some(last) if last.part == part => last.length += length,
            _ => spans.push(PartSpan { part, length }),
        }
        if start == time.end {
            return;
        }
    }
}

/// Where so many parts end. Those that would be empty are left out.
fn cut_evenly(total: u64, parts: u32, unit: u64) -> Result<Vec<u64>, BoxError> {
    if parts == 0 {
        return Err(BoxError::NoParts);
    }
    // Where there are fewer units than parts, a cut in a unit is as good as any.
    let unit = if total / unit.max(1) >= u64::from(parts) { unit.max(1) } else { 1 };
    let mut ends = Vec::new();
    for part in 1..=parts {
        let end = u128::from(total) * u128::from(part) / u128::from(parts);
        let rounded = (end as u64).next_multiple_of(unit).min(total);
        if ends.last().copied().unwrap_or(0) < rounded {
            ends.push(rounded);
        }
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::{BoxPair, PartSpan, Timeline, cut_evenly};
    use crate::dense::DenseMap;
    use crate::steps::boxes::grouping::BoxIndex;
    use crate::steps::boxes::{BoxError, BoxOrder};
    use std::collections::BTreeMap;

    #[test]
    fn cuts_are_even_multiples() {
        assert_eq!(cut_evenly(8, 2, 1), Ok(vec![4, 8]));
        assert_eq!(cut_evenly(96, 2, 25), Ok(vec![50, 96]));
        assert_eq!(cut_evenly(3, 5, 1), Ok(vec![1, 2, 3]));
        assert_eq!(cut_evenly(0, 2, 1), Ok(Vec::new()));
        assert_eq!(cut_evenly(3, 0, 1), Err(BoxError::NoParts));
    }

    #[test]
    fn parts_carry_what_the_matrix_asks_for() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..300 {
            let size = random.usize(2..6);
            let mut entry = |row, column| if row == column { 0 } else { random.u64(0..9) };
            let rows: Vec<DenseMap<BoxIndex, u64>> = (0..size)
                .map(|row| (0..size).map(|column| entry(row, column)).collect::<Vec<u64>>().into())
                .collect();
            let lengths = rows.into();
            for order in [BoxOrder::Permutations, BoxOrder::Parts(1), BoxOrder::Parts(3)] {
                check_timeline(&lengths, order);
            }
        }
    }

    fn check_timeline(lengths: &DenseMap<BoxIndex, DenseMap<BoxIndex, u64>>, order: BoxOrder) {
        let timeline = Timeline::plan(lengths, order, 1).unwrap();
        // For each part and each side of each box how much it sends or gets, and from how many.
        let mut lines: BTreeMap<(u32, usize, BoxIndex), Vec<u64>> = BTreeMap::new();
        let boxes = || (0..lengths.len() as u32).map(BoxIndex);
        for (from, to) in boxes().flat_map(|from| boxes().map(move |to| (from, to))) {
            let spans = timeline.spans.get(&BoxPair { from, to }).cloned().unwrap_or_default();
            assert_eq!(spans.iter().map(|span| span.length).sum::<u64>(), lengths[from][to]);
            assert!(spans.is_sorted_by(|one, other| one.part < other.part));
            for PartSpan { part, length } in spans {
                assert!(length > 0 && part < timeline.parts);
                lines.entry((part, 0, from)).or_default().push(length);
                lines.entry((part, 1, to)).or_default().push(length);
            }
        }
        let mut longest = vec![0; timeline.parts as usize];
        for ((part, _, _), line) in &lines {
            let own = &mut longest[*part as usize];
            *own = line.iter().sum::<u64>().max(*own);
            assert!(order != BoxOrder::Permutations || line.len() == 1, "one box at a time");
        }
        let total: u64 = timeline.terms.iter().map(|term| term.weight).sum();
        assert!(longest.iter().sum::<u64>() <= total);
    }
}
