//! Sets of offset ranges that can be searched for an overlap.
//!
//! In: ranges in any order. Out: a sorted set, and the answer to whether a given range overlaps one of them.

use std::ops::Range;

/// Ranges of offsets in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// In order. None overlaps another: ranges that overlapped have been merged.
    apart: Vec<Range<u32>>,
}

impl Ranges {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.apart.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Range<u32>> {
        self.apart.iter()
    }

    /// Whether one of the ranges begins before `other` ends and ends after it begins.
    #[must_use]
    pub fn meet(&self, other: Range<u32>) -> bool {
        let first = self.apart.partition_point(|range| range.end <= other.start);
        self.apart.get(first).is_some_and(|range| range.start < other.end)
    }
}

impl FromIterator<Range<u32>> for Ranges {
    fn from_iter<I: IntoIterator<Item = Range<u32>>>(ranges: I) -> Ranges {
        let mut sorted: Vec<Range<u32>> = ranges.into_iter().collect();
        sorted.sort_by_key(|range| (range.start, range.end));
        let mut apart: Vec<Range<u32>> = Vec::new();
        for range in sorted {
            match apart.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        Ranges { apart }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All sets of three ranges in a text of five bytes, compared with the definition.
    #[test]
    fn a_search_finds_what_a_look_at_each_finds() {
        let all: Vec<Range<u32>> = (0..6).flat_map(|a| (a..6).map(move |b| a..b)).collect();
        for a in &all {
            for b in &all {
                for c in &all {
                    let given = [a.clone(), b.clone(), c.clone()];
                    let ranges: Ranges = given.iter().cloned().collect();
                    for other in &all {
                        let meets =
                            |range: &Range<u32>| range.start < other.end && other.start < range.end;
                        assert_eq!(
                            ranges.meet(other.clone()),
                            given.iter().any(meets),
                            "{given:?} {other:?}"
                        );
                    }
                }
            }
        }
    }
}
