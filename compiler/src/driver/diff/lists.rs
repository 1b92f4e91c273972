//! Lists in which two plans differ and that no operation shows: of channels, remote buffers and semaphores.
//!
//! In: the listings of both plans in normal form, and whether their operations are told to differ already. Out: the lines
//! that only one of them has, rank by rank and block by block, each with the line of its kind in the other plan. Ranks
//! that differ alike are told once.

use crate::ir::RankId;
use crate::plan::compare::Alike;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A rank, or one of its blocks.
type Place = (RankId, Option<u32>);

/// Lines that follow from what other ranks list.
const DERIVED: [&str; 2] = ["exported", "unpaired"];

/// Lines whose differences are told with those of operations.
const TOLD: [&str; 4] = ["plan", "rank", "channels", "semaphores"];

/// A list that is not the same in both plans.
pub(super) struct ListDifference {
    /// Where it is.
    pub(super) place: Place,
    /// What the first plan has there, and the second.
    pub(super) lines: [String; 2],
    /// The ranks on which it is so, up to numbers.
    pub(super) ranks: Vec<RankId>,
}

/// The lines of a listing by what they are about, each once.
type Sections<'l> = BTreeMap<Place, Section<'l>>;

#[derive(Default, PartialEq, Eq)]
struct Section<'l> {
    lists: Vec<&'l str>,
    operations: Vec<&'l str>,
}

/// All lists that differ. Where operations do, too, the lists that follow from them do not count.
pub(super) fn differences(left: &str, right: &str, operations_differ: bool) -> Vec<ListDifference> {
    let (left, right) = (sections(left), sections(right));
    let none = Section::default();
    let places: BTreeSet<Place> = left.keys().chain(right.keys()).copied().collect();
    let sides =
        |place: &Place| (left.get(place).unwrap_or(&none), right.get(place).unwrap_or(&none));
    let does_other = |place: &Place| {
        let (a, b) = sides(place);
        operations_differ && a.operations != b.operations
    };
    let others: BTreeSet<Place> = places.iter().copied().filter(does_other).collect();
    let ranks: BTreeSet<RankId> = others.iter().map(|place| place.0).collect();
    let mut found = Found::default();
    for place in places.iter().filter(|place| !others.contains(place)) {
        // What a rank lists is for all its blocks.
        if place.1.is_none() && ranks.contains(&place.0) {
            continue;
        }
        let (a, b) = sides(place);
        for lines in pairs(&a.lists, &b.lists) {
            let is_told = lines.iter().any(|line| TOLD.iter().any(|kind| is_of(line, kind)));
            if !(operations_differ && is_told) {
                found.add(*place, lines);
            }
        }
    }
    found.lists
}

/// What was found, alike ranks together.
#[derive(Default)]
struct Found {
    lists: Vec<ListDifference>,
    alike: Alike,
}

impl Found {
    fn add(&mut self, place: Place, lines: [String; 2]) {
        let row = self.alike.row(place.0, &lines.join("\n"), self.lists.len());
        match self.lists.get_mut(row) {
            Some(known) => known.ranks.push(place.0),
            None => self.lists.push(ListDifference { place, lines, ranks: vec![place.0] }),
        }
    }
}

/// The lines that only one side has, with those of their kind that only the other one has.
fn pairs(left: &[&str], right: &[&str]) -> Vec<[String; 2]> {
    let (gone, new) = (only(left, right), only(right, left));
    let mut by_kind: BTreeMap<Option<&str>, VecDeque<usize>> = BTreeMap::new();
    for (at, line) in new.iter().enumerate() {
        by_kind.entry(kind(line)).or_default().push_back(at);
    }
    let mut pairs = Vec::new();
    for line in gone {
        let other = by_kind.get_mut(&kind(line)).and_then(VecDeque::pop_front);
        let other = other.and_then(|at| new.get(at).copied()).unwrap_or("nothing");
        pairs.push([line.to_owned(), other.to_owned()]);
    }
    let mut only_new: Vec<usize> = by_kind.into_values().flatten().collect();
    only_new.sort_unstable();
    let only_new = only_new.into_iter().filter_map(|at| new.get(at));
    pairs.extend(only_new.map(|line| ["nothing".to_owned(), (*line).to_owned()]));
    pairs
}

/// The lines that are not among the others.
fn only<'l>(lines: &[&'l str], others: &[&str]) -> Vec<&'l str> {
    let others: FxHashSet<&str> = others.iter().copied().collect();
    lines.iter().copied().filter(|line| !others.contains(line)).collect()
}

/// The first word of a line.
fn kind(line: &str) -> Option<&str> {
    line.split(' ').next()
}

/// Whether a line begins with a word.
fn is_of(line: &str, word: &str) -> bool {
    kind(line) == Some(word)
}

/// A listing by ranks and blocks. It may say the same twice, for two sizes of chunks.
fn sections(listing: &str) -> Sections<'_> {
    let mut sections = Sections::new();
    let mut place: Place = (RankId(0), None);
    let mut seen: BTreeSet<(Place, bool, &str)> = BTreeSet::new();
    for line in listing.lines() {
        let mut words = line.split(' ');
        let (kind, number) = (words.next(), words.next().and_then(|word| word.parse().ok()));
        match (kind, number) {
            (Some("rank"), Some(rank)) => place = (RankId(rank), None),
            (Some("tb"), Some(block)) => place.1 = Some(block),
            _ => {}
        }
        let section = sections.entry(place).or_default();
        let (is_operation, line) = (line.starts_with(' '), line.trim());
        let lines = match is_operation {
            true => &mut section.operations,
            false => &mut section.lists,
        };
        if !DERIVED.iter().any(|kind| is_of(line, kind)) && seen.insert((place, is_operation, line))
        {
            lines.push(line);
        }
    }
    sections
}
