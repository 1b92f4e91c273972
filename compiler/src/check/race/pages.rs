//! Lists that only grow, and may grow long: stored page by page, so that no entry is ever moved and at most one page of
//! space is unused.

use std::ops::Range;

/// The number of entries on a page.
const PAGE: usize = 64;

/// A list that grows page by page. All pages but the last one are full.
#[derive(Debug)]
pub(super) struct Pages<T>(Vec<Vec<T>>);

impl<T> Default for Pages<T> {
    fn default() -> Pages<T> {
        Pages(Vec::new())
    }
}

impl<T> Pages<T> {
    /// Adds an entry; returns its index.
    pub(super) fn push(&mut self, item: T) -> usize {
        let at = self.len();
        match self.0.last_mut().filter(|page| page.len() < PAGE) {
            Some(page) => page.push(item),
            None => {
                // Many lists have few entries.
                let mut page = if at == 0 { Vec::new() } else { Vec::with_capacity(PAGE) };
                page.push(item);
                self.0.push(page);
            }
        }
        at
    }

    /// Adds several entries.
    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        for item in items {
            self.push(item);
        }
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * PAGE + last.len())
    }

    /// An entry.
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.0.get(at / PAGE)?.get(at % PAGE)
    }

    /// An entry, to be changed.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.0.get_mut(at / PAGE)?.get_mut(at % PAGE)
    }

    /// The last entry.
    pub(super) fn last(&self) -> Option<&T> {
        self.0.last()?.last()
    }

    /// All entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }

    /// A range of entries.
    pub(super) fn range(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &T> {
        range.filter_map(|at| self.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, Pages};

    #[test]
    fn entries_stay_where_they_were_put() {
        let mut pages = Pages::default();
        let count = 3 * PAGE + 1;
        for number in 0..count {
            assert_eq!((pages.len(), pages.push(number)), (number, number));
            assert_eq!(pages.last(), Some(&number));
        }
        assert!(pages.iter().copied().eq(0..count));
        assert_eq!((pages.get(PAGE), pages.get(count)), (Some(&PAGE), None));
        assert!(pages.range(PAGE - 1..PAGE + 1).rev().eq(&[PAGE, PAGE - 1]));
        *pages.get_mut(2).expect("an entry") = 7;
        assert_eq!(pages.get(2), Some(&7));
    }
}
