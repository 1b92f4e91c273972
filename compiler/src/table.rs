//! Tables with an index type of their own, so that the number of a channel cannot be used as the number of a
//! block.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that indexes one kind of table.
pub trait Id: Copy {
    /// The id of the row `index`.
    fn from_index(index: usize) -> Self;
    /// The row that this id names.
    fn index(self) -> usize;
}

/// Declares an id type: a `u32` that indexes one kind of [`Table`].
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);

        impl $crate::table::Id for $name {
            fn from_index(index: usize) -> Self {
                $name(index as u32)
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use id;

/// A vector that is indexed by an id. Indexing with an id of another table is a bug and panics; ids that come
/// from outside (the numbers in a plan) are looked up with [`Table::lookup`].
#[derive(Clone, PartialEq, Eq)]
pub struct Table<I, T> {
    rows: Vec<T>,
    id: PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    /// Adds a row and returns its id.
    pub fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::from_index(self.rows.len() - 1)
    }

    /// Removes all rows but the first so many.
    pub fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
    }

    /// The row of an id, if there is one.
    pub fn lookup(&self, id: I) -> Option<&T> {
        self.rows.get(id.index())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// The rows, in order, mutable.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// The rows with their ids, in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.rows.iter().enumerate().map(|(i, row)| (I::from_index(i), row))
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.rows.len()).map(I::from_index)
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Table { rows: Vec::new(), id: PhantomData }
    }
}

impl<I, T: fmt::Debug> fmt::Debug for Table<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;
    #[expect(clippy::indexing_slicing, reason = "the only place where ids index the rows")]
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[expect(clippy::indexing_slicing, reason = "the only place where ids index the rows")]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(rows: It) -> Self {
        Table { rows: rows.into_iter().collect(), id: PhantomData }
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(rows: Vec<T>) -> Self {
        Table { rows, id: PhantomData }
    }
}

impl<I, T> IntoIterator for Table<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a Table<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

/// A list of items for each id, stored in one vector.
#[derive(Clone, Debug)]
pub struct Rows<I, T> {
    items: Vec<T>,
    /// Where the items of each id end; they begin where those of the previous id end.
    ends: Vec<u32>,
    id: PhantomData<I>,
}

impl<I: Id, T> Rows<I, T> {
    /// Stores the items of each id, in the order of the ids.
    pub fn new<R: IntoIterator<Item = T>>(rows: impl IntoIterator<Item = R>) -> Self {
        let (mut items, mut ends) = (Vec::new(), Vec::new());
        for row in rows {
            items.extend(row);
            ends.push(items.len() as u32);
        }
        items.shrink_to_fit();
        Rows { items, ends, id: PhantomData }
    }

    /// One of an id's items.
    pub fn get(&self, id: I, at: usize) -> Option<&T> {
        self.items.get(self.range(id.index())).and_then(|row| row.get(at))
    }

    /// An id's items.
    #[must_use]
    pub fn row(&self, id: I) -> &[T] {
        self.items.get(self.range(id.index())).unwrap_or_default()
    }

    /// One of an id's items, mutable.
    pub fn get_mut(&mut self, id: I, at: usize) -> Option<&mut T> {
        let range = self.range(id.index());
        self.items.get_mut(range).and_then(|row| row.get_mut(at))
    }

    /// The ids with their items, in order.
    pub fn entries(&self) -> impl Iterator<Item = (I, &[T])> {
        let row = |index: usize| self.items.get(self.range(index)).unwrap_or_default();
        (0..self.ends.len()).map(move |index| (I::from_index(index), row(index)))
    }

    fn range(&self, index: usize) -> std::ops::Range<usize> {
        let end = |index: usize| self.ends.get(index).map_or(0, |end| *end as usize);
        index.checked_sub(1).map_or(0, end)..end(index)
    }
}

/// Numbers from 0 on, in sets that are united step by step. A set is known by its least number.
#[derive(Clone, Debug)]
pub struct Sets {
    /// The parent of a set's first member is itself.
    parent: Vec<usize>,
}

impl Sets {
    /// So many numbers, each in a set of its own.
    #[must_use]
    pub fn new(count: usize) -> Sets {
        Sets { parent: (0..count).collect() }
    }

    /// The set of a number.
    pub fn find(&mut self, number: usize) -> usize {
        let mut at = number;
        while let Some(parent) = self.parent.get(at).copied().filter(|parent| *parent != at) {
            let grandparent = self.parent.get(parent).copied().unwrap_or(parent);
            if let Some(slot) = self.parent.get_mut(at) {
                *slot = grandparent;
            }
            at = grandparent;
        }
        at
    }

    /// Puts two numbers, with all that are in their sets, in one.
    pub fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(slot) = self.parent.get_mut(a.max(b)) {
            *slot = a.min(b);
        }
    }
}
