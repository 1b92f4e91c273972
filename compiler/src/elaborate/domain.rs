//! The members of a family: a tree of index values that gives each member its position.
//!
//! `scratch stage[nodes, ranks_per_node]` and `channel far[p in rail_peers if p.node > node]` both become a tree with
//! one level per dimension. Members are numbered row by row, the last dimension fastest. The values of a dimension
//! share one subtree if the dimensions below do not depend on them.

use rustc_hash::FxHashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// A family's members. A single thing, which has no dimensions, is a leaf.
#[derive(Clone, Debug)]
pub(super) enum Domain {
    /// One member.
    Leaf,
    /// A dimension, with those below it.
    Dimension(Rc<Dimension>),
}

/// A dimension's values, and the members below each of them.
#[derive(Clone, Debug)]
pub(super) struct Dimension {
    values: Values,
    below: Below,
}

#[derive(Clone, Debug)]
enum Values {
    Count(i64),
    List { values: Vec<i64>, positions: FxHashMap<i64, u32> },
}

#[derive(Clone, Debug)]
enum Below {
    Same(Domain),
    Each { domains: Vec<Domain>, starts: Vec<u64> },
}

/// The most members of a family whose indices are listed for reports; members of a larger one are only numbered.
const MOST_NAMED: u64 = 1 << 22;

/// A family whose rows differ is described in at most this many parts.
const MOST_PARTS: usize = 64;

/// The values of each dimension, in order.
pub(super) type Dimensions = Vec<Arc<[i64]>>;

/// A run of consecutive members, such as those of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The first member's number.
    pub(super) first: u64,
    /// The number of members.
    pub(super) len: u64,
}

/// The values of one dimension that are selected.
#[derive(Clone, Debug)]
pub(super) enum Selection {
    /// One value.
    One(i64),
    /// `len` consecutive values from `first` on.
    Values(i64, i64),
    /// The values from this one on, to the end.
    From(i64),
    /// The values from the beginning on that are less than this one.
    Below(i64),
    /// All of them, as one run.
    Whole,
}

/// Why a selection is not a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// Dimension `.0` has no value `.1`.
    NoMember(usize, i64),
    /// The members are not consecutive.
    Scattered,
    /// No member is selected.
    Empty,
}

impl Domain {
    /// The values `0..count`, with the same `below` for each of them.
    pub(super) fn count(count: i64, below: Domain) -> Domain {
        Domain::Dimension(Rc::new(Dimension {
            values: Values::Count(count.max(0)),
            below: Below::Same(below),
        }))
    }

    /// These values, with the same `below` for each of them.
    pub(super) fn list(values: Vec<i64>, below: Domain) -> Domain {
        Domain::Dimension(Rc::new(Dimension {
            values: Values::of(values),
            below: Below::Same(below),
        }))
    }

    /// These values, each with its own domain.
    pub(super) fn each(values: Vec<i64>, domains: Vec<Domain>) -> Domain {
        let mut next = 0;
        let starts = domains
            .iter()
            .map(|domain| {
                let start = next;
                next += domain.len();
                start
            })
            .collect();
        Domain::Dimension(Rc::new(Dimension {
            values: Values::of(values),
            below: Below::Each { domains, starts },
        }))
    }

    /// The number of members.
    pub(super) fn len(&self) -> u64 {
        match self {
            Domain::Leaf => 1,
            Domain::Dimension(dimension) => dimension.start(dimension.values.len()),
        }
    }

    /// The domain below the first selected value of the first dimension.
    pub(super) fn below_first(&self, selection: &Selection) -> Option<&Domain> {
        let selected = |value: &i64| match selection {
            Selection::One(first) | Selection::Values(first, _) => value == first,
            Selection::From(first) => value >= first,
            Selection::Below(end) => value < end,
            Selection::Whole => true,
        };
        let Domain::Dimension(dimension) = self else { return None };
        let mut values = (0..dimension.values.len()).filter_map(|at| dimension.values.get(at));
        self.below(values.find(selected)?)
    }

    /// The values of the first dimension; none for a leaf.
    pub(super) fn values(&self) -> Vec<i64> {
        match self {
            Domain::Leaf => Vec::new(),
            Domain::Dimension(dimension) => (0..dimension.values.len())
                .filter_map(|position| dimension.values.get(position))
                .collect(),
        }
    }

    /// Parts in which all rows have the same values, each with the number of its first member; a single part if that
    /// holds for the whole family. If there would be too many parts, a single one without dimensions.
    pub(super) fn parts(&self) -> Vec<(u64, Dimensions)> {
        let parts = if self.len() > MOST_NAMED { None } else { self.even_parts() };
        parts.filter(|parts| parts.len() <= MOST_PARTS).unwrap_or_else(|| vec![(0, Vec::new())])
    }

    fn even_parts(&self) -> Option<Vec<(u64, Dimensions)>> {
        if let Some(dimensions) = self.dimensions() {
            return Some(vec![(0, dimensions)]);
        }
        let Domain::Dimension(dimension) = self else { return None };
        let mut parts = Vec::new();
        for (position, value) in (0..).zip(self.values()) {
            if parts.len() > MOST_PARTS {
                break;
            }
            for (first, below) in dimension.child(position)?.even_parts()? {
                let this: Arc<[i64]> = [value].into();
                parts.push((dimension.start(position) + first, [vec![this], below].concat()));
            }
        }
        Some(parts)
    }

    /// The values of every dimension; none if the values of one depend on the index in another.
    fn dimensions(&self) -> Option<Dimensions> {
        let mut dimensions = Vec::new();
        let mut domain = self;
        while let Domain::Dimension(dimension) = domain {
            let Below::Same(below) = &dimension.below else { return None };
            dimensions.push(domain.values().into());
            domain = below;
        }
        Some(dimensions)
    }

    /// The domain below a value of the first dimension.
    pub(super) fn below(&self, value: i64) -> Option<&Domain> {
        match self {
            Domain::Leaf => None,
            Domain::Dimension(dimension) => dimension.child(dimension.values.position(value)?),
        }
    }

    /// The number of the member with these indices.
    pub(super) fn position(&self, indices: &[i64]) -> Result<u64, Miss> {
        let mut domain = self;
        let mut number = 0;
        for (depth, index) in indices.iter().enumerate() {
            let Domain::Dimension(dimension) = domain else {
                return Err(Miss::NoMember(depth, *index));
            };
            let position =
                dimension.values.position(*index).ok_or(Miss::NoMember(depth, *index))?;
            number += dimension.start(position);
            domain = dimension.child(position).ok_or(Miss::NoMember(depth, *index))?;
        }
        Ok(number)
    }

    /// The run of members that a selection for each dimension selects.
    pub(super) fn run(&self, selections: &[Selection]) -> Result<Run, Miss> {
        self.run_below(0, selections)
    }

    fn run_below(&self, depth: usize, selections: &[Selection]) -> Result<Run, Miss> {
        let (Domain::Dimension(dimension), Some((selection, rest))) =
            (self, selections.split_first())
        else {
            return Ok(Run { first: 0, len: self.len() });
        };
        let (position, len) = match selection {
            Selection::One(value) => (dimension.position(depth, *value)?, 1),
            Selection::Whole => (0, dimension.values.len()),
            Selection::Values(first, len) => dimension.consecutive(depth, *first, *len)?,
            Selection::From(first) => dimension.from(depth, *first)?,
            Selection::Below(end) => dimension.before(depth, *end)?,
        };
        if len == 0 {
            return Err(Miss::Empty);
        }
        if len == 1 {
            let below = dimension.child(position).ok_or(Miss::Empty)?.run_below(depth + 1, rest)?;
            return Ok(Run { first: dimension.start(position) + below.first, len: below.len });
        }
        for inner in position..position + len {
            let child = dimension.child(inner).ok_or(Miss::Empty)?;
            if child.run_below(depth + 1, rest)? != (Run { first: 0, len: child.len() }) {
                return Err(Miss::Scattered);
            }
            if matches!(dimension.below, Below::Same(_)) {
                break;
            }
        }
        let first = dimension.start(position);
        Ok(Run { first, len: dimension.start(position + len) - first })
    }

    /// The indices of every member, in order.
    pub(super) fn members(&self) -> Vec<Vec<i64>> {
        let mut members = Vec::new();
        self.collect(&mut Vec::new(), &mut members);
        members
    }

    fn collect(&self, prefix: &mut Vec<i64>, members: &mut Vec<Vec<i64>>) {
        let Domain::Dimension(dimension) = self else {
            members.push(prefix.clone());
            return;
        };
        for position in 0..dimension.values.len() {
            if let (Some(value), Some(child)) =
                (dimension.values.get(position), dimension.child(position))
            {
                prefix.push(value);
                child.collect(prefix, members);
                prefix.pop();
            }
        }
    }
}

impl Dimension {
    fn position(&self, depth: usize, value: i64) -> Result<u32, Miss> {
        self.values.position(value).ok_or(Miss::NoMember(depth, value))
    }

    /// The position of `first`, and the length, if the values `first`, `first + 1`, .. are at consecutive positions.
    fn consecutive(&self, depth: usize, first: i64, len: i64) -> Result<(u32, u32), Miss> {
        let Some(last) = first.checked_add(len - 1).filter(|_| len > 0) else {
            return Err(Miss::Empty);
        };
        let (begin, end) = (self.position(depth, first)?, self.position(depth, last)?);
        if i64::from(end) - i64::from(begin) == len - 1 {
            return Ok((begin, len as u32));
        }
        let missing = (first..=last).find(|value| self.values.position(*value).is_none());
        Err(missing.map_or(Miss::Scattered, |value| Miss::NoMember(depth, value)))
    }

    /// The positions of the values from `first` on; `first` must not be less than the least value.
    fn from(&self, depth: usize, first: i64) -> Result<(u32, u32), Miss> {
        match self.values.ends() {
            Some((least, _)) if first < least => Err(Miss::NoMember(depth, first)),
            _ => self.values.among(first..i64::MAX),
        }
    }

    /// The positions of the values less than `end`; `end` must not be greater than the greatest value plus one.
    fn before(&self, depth: usize, end: i64) -> Result<(u32, u32), Miss> {
        match self.values.ends() {
            Some((_, greatest)) if end.saturating_sub(1) > greatest => {
                Err(Miss::NoMember(depth, end.saturating_sub(1)))
            }
            _ => self.values.among(i64::MIN..end),
        }
    }

    /// The number of the first member below the value at `position`; for the number of values, the number of all
    /// members.
    fn start(&self, position: u32) -> u64 {
        match &self.below {
            Below::Same(below) => u64::from(position) * below.len(),
            Below::Each { domains, starts } => match starts.get(position as usize) {
                Some(start) => *start,
                None => domains.iter().map(Domain::len).sum(),
            },
        }
    }

    fn child(&self, position: u32) -> Option<&Domain> {
        match &self.below {
            Below::Same(below) => (position < self.values.len()).then_some(below),
            Below::Each { domains, .. } => domains.get(position as usize),
        }
    }
}

impl Values {
    fn of(values: Vec<i64>) -> Values {
        let positions =
            values.iter().enumerate().map(|(position, value)| (*value, position as u32)).collect();
        Values::List { values, positions }
    }

    fn len(&self) -> u32 {
        match self {
            Values::Count(count) => *count as u32,
            Values::List { values, .. } => values.len() as u32,
        }
    }

    fn get(&self, position: u32) -> Option<i64> {
        match self {
            Values::Count(count) => (i64::from(position) < *count).then_some(i64::from(position)),
            Values::List { values, .. } => values.get(position as usize).copied(),
        }
    }

    fn position(&self, value: i64) -> Option<u32> {
        match self {
            Values::Count(count) => (0..*count).contains(&value).then_some(value as u32),
            Values::List { positions, .. } => positions.get(&value).copied(),
        }
    }

    /// The least and the greatest value.
    fn ends(&self) -> Option<(i64, i64)> {
        match self {
            Values::Count(count) => (*count > 0).then_some((0, count - 1)),
            Values::List { values, .. } => {
                values.iter().min().copied().zip(values.iter().max().copied())
            }
        }
    }

    /// The first position, and the number of positions, of the values in this range; they must be consecutive.
    fn among(&self, range: Range<i64>) -> Result<(u32, u32), Miss> {
        let (begin, len) = match self {
            Values::Count(count) => {
                let begin = range.start.max(0);
                (begin, range.end.min(*count).saturating_sub(begin))
            }
            Values::List { values, .. } => {
                let is_meant = |value: &i64| range.contains(value);
                let begin = values.iter().position(is_meant).ok_or(Miss::Empty)?;
                let len = values.iter().skip(begin).take_while(|value| is_meant(value)).count();
                if values.iter().skip(begin + len).any(is_meant) {
                    return Err(Miss::Scattered);
                }
                (begin as i64, len as i64)
            }
        };
        match len > 0 {
            true => Ok((begin as u32, len as u32)),
            false => Err(Miss::Empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Domain, Miss, Run, Selection};

    #[test]
    fn rows_are_contiguous_and_columns_are_not() {
        let stage = Domain::count(3, Domain::count(4, Domain::Leaf));
        assert_eq!(stage.len(), 12);
        assert_eq!(stage.position(&[2, 1]), Ok(9));
        assert_eq!(stage.run(&[Selection::One(1), Selection::Whole]), Ok(Run { first: 4, len: 4 }));
        assert_eq!(
            stage.run(&[Selection::Values(1, 2), Selection::Whole]),
            Ok(Run { first: 4, len: 8 })
        );
        assert_eq!(stage.run(&[Selection::Whole, Selection::One(0)]), Err(Miss::Scattered));
        assert_eq!(stage.run(&[Selection::One(3), Selection::Whole]), Err(Miss::NoMember(0, 3)));
    }

    #[test]
    fn a_set_is_looked_up_by_value() {
        let peers = Domain::list(vec![0, 1, 3], Domain::Leaf);
        assert_eq!(peers.position(&[3]), Ok(2));
        assert_eq!(peers.run(&[Selection::Values(0, 2)]), Ok(Run { first: 0, len: 2 }));
        assert_eq!(peers.run(&[Selection::Values(1, 3)]), Err(Miss::NoMember(0, 2)));
    }

    #[test]
    fn open_ends_are_those_of_the_dimension() {
        let run = |first, len| Ok(Run { first, len });
        let four = Domain::count(4, Domain::Leaf);
        assert_eq!(four.run(&[Selection::From(1)]), run(1, 3));
        assert_eq!(four.run(&[Selection::Below(3)]), run(0, 3));
        assert_eq!(four.run(&[Selection::From(4)]), Err(Miss::Empty));
        assert_eq!(four.run(&[Selection::From(-1)]), Err(Miss::NoMember(0, -1)));
        assert_eq!(four.run(&[Selection::Below(0)]), Err(Miss::Empty));
        assert_eq!(four.run(&[Selection::Below(6)]), Err(Miss::NoMember(0, 5)));
        let peers = Domain::list(vec![0, 1, 3], Domain::count(2, Domain::Leaf));
        assert_eq!(peers.run(&[Selection::From(2)]), run(4, 2));
        assert_eq!(peers.run(&[Selection::Below(2), Selection::Whole]), run(0, 4));
        assert_eq!(peers.run(&[Selection::One(3), Selection::From(1)]), run(5, 1));
        assert_eq!(peers.run(&[Selection::From(0), Selection::From(1)]), Err(Miss::Scattered));
        assert_eq!(peers.run(&[Selection::Below(5)]), Err(Miss::NoMember(0, 4)));
        let turned = Domain::list(vec![3, 0, 2], Domain::Leaf);
        assert_eq!(turned.run(&[Selection::From(2)]), Err(Miss::Scattered));
        assert_eq!(turned.run(&[Selection::Below(3)]), run(1, 2));
    }

    #[test]
    fn ragged_rows_lie_one_after_the_other() {
        let row = |n| Domain::count(n, Domain::Leaf);
        let ragged = Domain::each(vec![5, 7], vec![row(2), row(3)]);
        assert_eq!(ragged.len(), 5);
        assert_eq!(ragged.position(&[7, 0]), Ok(2));
        assert_eq!(
            ragged.run(&[Selection::One(7), Selection::Whole]),
            Ok(Run { first: 2, len: 3 })
        );
        assert_eq!(ragged.run(&[Selection::Whole, Selection::Whole]), Ok(Run { first: 0, len: 5 }));
    }
    #[test]
    fn parts_have_rows_that_are_alike() {
        let row = |n| Domain::count(n, Domain::Leaf);
        let numbers = |parts: Vec<(u64, super::Dimensions)>| {
            let lists = |dimensions: super::Dimensions| {
                dimensions.iter().map(|values| values.to_vec()).collect::<Vec<_>>()
            };
            parts.into_iter().map(|(first, all)| (first, lists(all))).collect::<Vec<_>>()
        };
        let ragged = Domain::each(vec![5, 7], vec![row(2), row(1)]);
        assert_eq!(
            numbers(ragged.parts()),
            [(0, vec![vec![5], vec![0, 1]]), (2, vec![vec![7], vec![0]])]
        );
        let even = Domain::count(2, row(2));
        assert_eq!(numbers(even.parts()), [(0, vec![vec![0, 1], vec![0, 1]])]);
        let rows = |n: i64| (0..n).map(|i| row(i % 2)).collect();
        let deep = |n: i64| Domain::each((0..n).collect(), rows(n));
        let many = Domain::each((0..64).collect(), (0..64).map(|_| deep(64)).collect());
        assert_eq!(numbers(many.parts()), [(0, vec![])], "too many to be told apart");
    }
}
