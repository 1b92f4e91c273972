//! Lanes: which of the channels between two ranks a signal uses.
//!
//! In: the program. Out: for each end of a channel, the lane on which it signals; its other end waits on that lane.
//!
//! - All ends of a family, the channels of one name, have the same lane, on any rank and to any peer. Where several of
//!   a rank's ends lead to one peer, the family has that many consecutive lanes.
//! - A family gets the first lanes that are free of every earlier family with which it shares a rank and its peer.

use crate::ir::{Channel, Program, Rank, RankId};
use std::collections::BTreeMap;

/// The ends of channels with one name, not counting indices.
#[derive(Default)]
struct Family {
    /// How many lead from each rank to each peer.
    between: BTreeMap<(RankId, RankId), u32>,
    /// Its first lane.
    first: u32,
}

impl Family {
    /// How many lanes it has.
    fn width(&self) -> u32 {
        self.between.values().copied().max().unwrap_or(0)
    }

    /// The lane after its last.
    fn end(&self) -> u32 {
        self.first + self.width()
    }

    /// Whether both have ends that lead from the same rank to the same peer.
    fn meets(&self, other: &Family) -> bool {
        self.between.keys().any(|pair| other.between.contains_key(pair))
    }

    /// The first lane from which on its lanes overlap none of the others'.
    fn beside(&self, others: &[Family]) -> u32 {
        let met: Vec<&Family> = others.iter().filter(|other| self.meets(other)).collect();
        let is_free = |first: &u32| {
            met.iter().all(|other| first + self.width() <= other.first || other.end() <= *first)
        };
        let ends = met.iter().map(|other| other.end());
        ends.chain([0]).filter(is_free).min().unwrap_or(0)
    }
}

/// The number of lanes, and for each rank the lane of each of its ends. The lanes of switch channels mean nothing.
pub(super) fn lanes(program: &Program) -> (u32, Vec<Vec<u32>>) {
    let (families, ends) = families(program);
    let mut placed: Vec<Family> = Vec::new();
    for family in families {
        let first = family.beside(&placed);
        placed.push(Family { first, ..family });
    }
    let lane = |end: &End| placed.get(end.family).map_or(0, |family| family.first + end.place);
    let lanes = ends.iter().map(|row| row.iter().map(lane).collect()).collect();
    (placed.iter().map(Family::end).max().unwrap_or(0), lanes)
}

/// An end: its family, and how many ends of the family before it lead to the same peer.
struct End {
    family: usize,
    place: u32,
}

/// The families in the order of their first ends, and the ends of each rank.
fn families<'p>(program: &'p Program) -> (Vec<Family>, Vec<Vec<End>>) {
    let mut order: BTreeMap<&'p str, usize> = BTreeMap::new();
    let mut families: Vec<Family> = Vec::new();
    let mut end = |rank: RankId, channel: &'p Channel| {
        let name = channel.name.split('[').next().unwrap_or_default();
        let next = families.len();
        let family = *order.entry(name).or_insert(next);
        if family == next {
            families.push(Family::default());
        }
        let known = families.get_mut(family).zip(channel.peer());
        let before = known.map(|(family, peer)| family.between.entry((rank, peer)).or_default());
        let place = before.map_or(0, |before| std::mem::replace(before, *before + 1));
        End { family, place }
    };
    let of_rank = |(id, rank): (RankId, &'p Rank)| {
        rank.channels.iter().map(|channel| end(id, channel)).collect()
    };
    let ends = program.ranks.entries().map(of_rank).collect();
    (families, ends)
}
