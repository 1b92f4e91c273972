//! Lists that only grow, and may grow long: page by page, so that no entry is ever moved and no more room is taken than for
//! a page beside what is there.

use std::ops::Range;

/// So many entries are on a page.
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
    /// Adds one; which it is.
    pub(super) fn push(&mut self, item: T) -> usize {
        let at = self.len();
        match self.0.last_mut().filter(|page| page.len() < PAGE) {
            Some(page) => page.push(item),
            None => {
                // Many a list has few entries.
                let mut page = if at == 0 { Vec::new() } else { Vec::with_capacity(PAGE) };
                page.push(item);
                self.0.push(page);
            }
        }
        at
    }

    /// Adds these.
    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        for item in items {
            self.push(item);
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * PAGE + last.len())
    }

    /// One of them.
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.0.get(at / PAGE)?.get(at % PAGE)
    }

    /// One of them, to change.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.0.get_mut(at / PAGE)?.get_mut(at % PAGE)
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&T> {
        self.0.last()?.last()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }

    /// Some that follow each other.
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
