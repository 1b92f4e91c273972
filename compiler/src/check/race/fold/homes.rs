//! For each chunk of a buffer, its counterpart on the representative. Most chunks in a row have counterparts in a row,
//! too: such a row is one entry, however many chunks it has.

use std::borrow::Cow;
use std::ops::Range;

/// Rows are used only if they have more chunks than this on average.
const LEAST: usize = 4;

/// For each chunk of a buffer, its counterpart.
#[derive(Debug)]
pub(in crate::check::race) enum Homes {
    /// In rows: where these begin, ascending, with the counterparts of their first chunks; and the number of chunks.
    Rows(Vec<(u32, u32)>, u32),
    /// Each chunk on its own, where rows are short.
    Each(Vec<u32>),
}

/// Consecutive chunks of a buffer.
#[derive(Clone, Copy, Debug)]
pub(in crate::check::race) struct Span<'a> {
    homes: &'a Homes,
    start: u32,
    end: u32,
}

impl Default for Homes {
    fn default() -> Homes {
        Homes::Each(Vec::new())
    }
}

impl Homes {
    /// Each chunk is its own counterpart.
    pub(super) fn same(len: u32) -> Homes {
        Homes::Rows(vec![(0, 0)], len)
    }

    /// From the counterparts of the first chunk, the second, and so on.
    pub(super) fn new(chunks: Vec<u32>) -> Homes {
        let next = |at: usize| chunks.get(at.checked_sub(1)?).map(|home| home + 1);
        let begins = |(at, home): &(usize, &u32)| next(*at) != Some(**home);
        let rows = || chunks.iter().enumerate().filter(begins);
        if LEAST * rows().count() >= chunks.len() {
            return Homes::Each(chunks);
        }
        let rows: Vec<(u32, u32)> = rows().map(|(at, home)| (at as u32, *home)).collect();
        debug_assert!(rows.is_sorted_by_key(|(at, _)| *at), "rows ascend");
        Homes::Rows(rows, chunks.len() as u32)
    }

    /// How many chunks there are.
    pub(super) fn len(&self) -> u32 {
        match self {
            Homes::Rows(_, len) => *len,
            Homes::Each(list) => list.len() as u32,
        }
    }

    /// The counterpart of a chunk.
    pub(in crate::check::race) fn get(&self, chunk: u32) -> Option<u32> {
        match self {
            Homes::Rows(rows, len) => {
                let (at, home) = rows.get(row(rows, chunk)?).filter(|_| chunk < *len)?;
                Some(home + (chunk - at))
            }
            Homes::Each(list) => list.get(chunk as usize).copied(),
        }
    }

    /// A range of chunks; none if it has not that many.
    pub(in crate::check::race) fn span(&self, chunks: Range<u32>) -> Option<Span<'_>> {
        let fits = chunks.start <= chunks.end && chunks.end <= self.len();
        fits.then_some(Span { homes: self, start: chunks.start, end: chunks.end })
    }

    /// Whether the counterparts of every unit's chunks are a unit: `unit` chunks in a row that begin at a multiple of
    /// `unit`.
    pub(super) fn keep_units(&self, unit: u32) -> bool {
        let starts = |home: u32| home.is_multiple_of(unit);
        match self {
            Homes::Rows(rows, _) => rows.iter().all(|(at, home)| starts(*at) && starts(*home)),
            Homes::Each(list) => list
                .chunks(unit as usize)
                .all(|unit| unit.first().is_none_or(|first| starts(*first)) && is_row(unit)),
        }
    }
}

impl<'a> Span<'a> {
    /// The number of its chunks.
    pub(in crate::check::race) fn len(self) -> u32 {
        self.end - self.start
    }

    /// The counterpart of each chunk, in order.
    pub(in crate::check::race) fn chunks(self) -> Cow<'a, [u32]> {
        match self.homes {
            Homes::Each(list) => Cow::Borrowed(self.list(list)),
            Homes::Rows(rows, _) => {
                let rows = self.rows(rows);
                let ends = rows.iter().skip(1).map(|(at, _)| *at).chain([self.end]);
                let mut chunks = Vec::with_capacity(self.len() as usize);
                for ((at, home), end) in rows.iter().zip(ends) {
                    let (from, to) = (self.start.max(*at), self.end.min(end));
                    chunks.extend(home + (from - at)..home + (to - at));
                }
                Cow::Owned(chunks)
            }
        }
    }

    /// The counterpart of one of its chunks.
    pub(in crate::check::race) fn get(self, at: u32) -> Option<u32> {
        let chunk = self.start.checked_add(at).filter(|chunk| *chunk < self.end)?;
        self.homes.get(chunk)
    }

    /// The counterpart of the first chunk, if all counterparts are in a row.
    pub(super) fn row(self) -> Option<u32> {
        match self.homes {
            Homes::Rows(rows, _) => {
                let first = row(rows, self.start).filter(|_| self.start < self.end)?;
                let next = rows.get(first + 1);
                let (at, home) = rows.get(first)?;
                next.is_none_or(|(at, _)| self.end <= *at).then(|| home + (self.start - at))
            }
            Homes::Each(list) => {
                let list = self.list(list);
                list.first().copied().filter(|_| is_row(list))
            }
        }
    }

    /// The rows that contain its chunks.
    fn rows(self, rows: &[(u32, u32)]) -> &[(u32, u32)] {
        let last = self.end.checked_sub(1).filter(|last| self.start <= *last);
        let range = last.and_then(|last| Some(row(rows, self.start)?..row(rows, last)? + 1));
        range.and_then(|range| rows.get(range)).unwrap_or_default()
    }

    fn list(self, list: &[u32]) -> &[u32] {
        list.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The row that contains a chunk.
fn row(rows: &[(u32, u32)], chunk: u32) -> Option<usize> {
    rows.partition_point(|(at, _)| *at <= chunk).checked_sub(1)
}

fn is_row(chunks: &[u32]) -> bool {
    chunks.windows(2).all(|two| matches!(two, [here, next] if here + 1 == *next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_chunks_is_what_was_said() {
        let long: Vec<u32> = (20..30).chain(0..7).chain([19]).chain(7..19).collect();
        let short = vec![3, 4, 5, 0, 1, 7, 6, 2];
        for chunks in [long, short, vec![5], Vec::new()] {
            let (homes, len) = (Homes::new(chunks.clone()), chunks.len() as u32);
            assert_eq!(matches!(homes, Homes::Rows(..)), chunks.len() == 30);
            assert_eq!(homes.len(), len);
            assert!(
                (0..=len).map(|at| homes.get(at)).eq(chunks
                    .iter()
                    .copied()
                    .map(Some)
                    .chain([None]))
            );
            for range in (0..=len).flat_map(|end| (0..=end).map(move |start| start..end)) {
                let span = homes.span(range.clone()).expect("it has that many");
                let inside =
                    chunks.get(range.start as usize..range.end as usize).unwrap_or_default();
                assert_eq!(*span.chunks(), *inside);
                assert_eq!(span.len() as usize, inside.len());
                assert_eq!(span.row(), inside.first().copied().filter(|_| is_row(inside)));
            }
            assert!(homes.span(0..len + 1).is_none());
        }
    }

    #[test]
    fn units_are_kept_where_rows_begin_at_their_ends() {
        let keeps = |chunks: &[u32], unit| Homes::new(chunks.to_vec()).keep_units(unit);
        assert!(keeps(&[4, 5, 2, 3, 0, 1], 2) && !keeps(&[4, 5, 2, 3, 0, 1], 4));
        assert!(!keeps(&[1, 2, 3, 0], 2));
        let rows: Vec<u32> = (8..16).chain(0..8).collect();
        assert!(keeps(&rows, 4) && keeps(&rows, 8) && !keeps(&rows, 3));
        assert!(Homes::same(7).keep_units(3));
    }
}
