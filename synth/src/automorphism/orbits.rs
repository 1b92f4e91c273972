//! Orbits: what a group of permutations maps to each other.

use crate::dense::{DenseKey, DenseMap};

/// The orbits of keys, numbered in the order of their first members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orbits<K> {
    numbers: DenseMap<K, OrbitNumber>,
    firsts: DenseMap<OrbitNumber, K>,
    sizes: DenseMap<OrbitNumber, u64>,
}

/// An orbit, by its place in the order of the first members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrbitNumber(pub u32);

impl DenseKey for OrbitNumber {
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[expect(private_bounds, reason = "the keys are the vertices and the edges of a topology")]
impl<K: DenseKey> Orbits<K> {
    /// The orbit of a key.
    #[must_use]
    pub fn find_orbit(&self, key: K) -> OrbitNumber {
        self.numbers[key]
    }

    /// The first member of a key's orbit.
    #[must_use]
    pub fn find_first(&self, key: K) -> K {
        self.firsts[self.numbers[key]]
    }

    /// How many members the orbit of a key has.
    #[must_use]
    pub fn count_members(&self, key: K) -> u64 {
        self.sizes[self.numbers[key]]
    }

    /// Whether a key is the first one of its orbit.
    #[must_use]
    pub fn is_first(&self, key: K) -> bool {
        self.find_first(key).index() == key.index()
    }

    /// The first member of each orbit, in order.
    #[must_use]
    pub fn list_firsts(&self) -> &[K] {
        self.firsts.as_slice()
    }
}

/// Orbits that grow as generators are added: a forest whose roots are the first members (Galler and Fisher, "An
/// improved equivalence algorithm", 1964).
#[derive(Clone, Debug)]
pub(crate) struct OrbitMerger {
    parents: Vec<u32>,
    /// How many orbits there are.
    count: usize,
}

impl OrbitMerger {
    /// So many orbits of one member each.
    pub(crate) fn new(count: usize) -> OrbitMerger {
        OrbitMerger { parents: (0..count as u32).collect(), count }
    }

    /// How many orbits there are.
    pub(crate) fn count_orbits(&self) -> usize {
        self.count
    }

    /// How many members all orbits have.
    pub(crate) fn count_members(&self) -> usize {
        self.parents.len()
    }

    /// The first member of an orbit.
    #[expect(
        clippy::indexing_slicing,
        reason = "parents are members; members come from the same range"
    )]
    pub(crate) fn find_first(&mut self, member: usize) -> usize {
        let mut member = member;
        while self.parents[member] as usize != member {
            // Halves the path for whoever comes next.
            self.parents[member] = self.parents[self.parents[member] as usize];
            member = self.parents[member] as usize;
        }
        member
    }

    /// Makes one orbit of two. Returns whether they were two.
    pub(crate) fn merge(&mut self, one: usize, other: usize) -> bool {
        let [one, other] = [self.find_first(one), self.find_first(other)];
        if one == other {
            return false;
        }
        if let Some(parent) = self.parents.get_mut(one.max(other)) {
            *parent = one.min(other) as u32;
        }
        self.count -= 1;
        true
    }

    /// The orbits of keys, which are all members in order.
    pub(crate) fn collect_orbits<K: DenseKey>(
        &mut self,
        keys: impl Iterator<Item = K>,
    ) -> Orbits<K> {
        let mut numbers: DenseMap<K, OrbitNumber> = Vec::new().into();
        let mut firsts: DenseMap<OrbitNumber, K> = Vec::new().into();
        let mut sizes: DenseMap<OrbitNumber, u64> = Vec::new().into();
        for (member, key) in keys.enumerate() {
            let first = self.find_first(member);
            // The first member of an orbit comes before all others.
            let number =
                numbers.as_slice().get(first).copied().unwrap_or(OrbitNumber(firsts.len() as u32));
            numbers.push(number);
            if first == member {
                firsts.push(key);
                sizes.push(0);
            }
            sizes[number] += 1;
        }
        Orbits { numbers, firsts, sizes }
    }
}

#[cfg(test)]
mod tests {
    use super::{OrbitMerger, OrbitNumber};
    use crate::graph::Vertex;

    #[test]
    fn orbits_begin_with_their_first_members() {
        let mut merger = OrbitMerger::new(6);
        assert!(merger.merge(5, 3) && merger.merge(4, 1) && merger.merge(3, 4));
        assert!(!merger.merge(1, 5));
        assert_eq!(merger.count_orbits(), 3);
        let orbits = merger.collect_orbits((0..6).map(Vertex));
        let firsts: Vec<u32> = (0..6).map(|key| orbits.find_first(Vertex(key)).0).collect();
        assert_eq!(firsts, [0, 1, 2, 1, 1, 1]);
        let counts: Vec<u64> = (0..6).map(|key| orbits.count_members(Vertex(key))).collect();
        assert_eq!(counts, [1, 4, 1, 4, 4, 4]);
        assert!(orbits.is_first(Vertex(2)) && !orbits.is_first(Vertex(5)));
        assert_eq!(orbits.list_firsts(), [0, 1, 2].map(Vertex));
        assert_eq!(orbits.find_orbit(Vertex(4)), OrbitNumber(1));
    }
}
