//! Vectors that are indexed by a type of their own, so that the number of an arc cannot be used as the number of a
//! node.

use std::ops::{Index, IndexMut};

/// A number that counts from zero, without gaps.
pub(crate) trait DenseKey: Copy {
    /// Where its value stands in a [`DenseMap`].
    fn index(self) -> usize;
}

/// One value for each key from zero to a length. A key that is not below the length is a bug and panics: whoever
/// takes keys from outside compares them with the length first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DenseMap<K, T> {
    values: Vec<T>,
    key: std::marker::PhantomData<K>,
}

impl<K: DenseKey, T> DenseMap<K, T> {
    /// `length` copies of a value.
    pub(crate) fn filled(length: usize, value: T) -> Self
    where
        T: Clone,
    {
        vec![value; length].into()
    }

    /// Overwrites every value.
    pub(crate) fn fill(&mut self, value: T)
    where
        T: Clone,
    {
        self.values.fill(value);
    }

    /// Adds the value of the next key.
    pub(crate) fn push(&mut self, value: T) {
        self.values.push(value);
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The values, in the order of the keys.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.values
    }

    /// The values, in the order of the keys.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The values, in the order of the keys.
    pub(crate) fn into_values(self) -> Vec<T> {
        self.values
    }
}

impl<K, T> From<Vec<T>> for DenseMap<K, T> {
    fn from(values: Vec<T>) -> Self {
        DenseMap { values, key: std::marker::PhantomData }
    }
}

impl<K: DenseKey, T> Index<K> for DenseMap<K, T> {
    type Output = T;
    #[expect(clippy::indexing_slicing, reason = "the only place where keys index the values")]
    fn index(&self, key: K) -> &T {
        &self.values[key.index()]
    }
}

impl<K: DenseKey, T> IndexMut<K> for DenseMap<K, T> {
    #[expect(clippy::indexing_slicing, reason = "the only place where keys index the values")]
    fn index_mut(&mut self, key: K) -> &mut T {
        &mut self.values[key.index()]
    }
}
