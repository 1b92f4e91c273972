//! Pairs the ends of channels, and puts them into the order in which the executor pairs them.
//!
//! The executor pairs the k-th channel of a kind from a to b with the k-th from b to a. Ids follow the order of
//! declaration. If several channels of a kind connect two ranks, the order on the lower rank decides, and the ends
//! on the higher rank are permuted among their ids.

use super::declare::{End, FirstPass};
use super::world::{Declared, World, indexed};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::ChannelFamilyId;
use crate::source::Span;
use crate::table::Id;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The channels of all ranks in their final order.
pub(super) struct Paired {
    /// For each rank, the final row of each end.
    pub(super) rows: Vec<Vec<ir::ChannelId>>,
    /// For each rank, the other end's final row for each end; none for a switch.
    pub(super) partners: Vec<Vec<Option<ir::ChannelId>>>,
}

/// The place of an end: its rank, and its number there.
type Place = (usize, usize);

/// Pairs all ends; each report comes with the rank that it is about.
pub(super) fn pair(
    world: World,
    declared: &[Declared],
    made: &[FirstPass],
) -> Result<Paired, Vec<(i64, Diagnostic)>> {
    let mut partners: Vec<Vec<Option<Place>>> = Vec::with_capacity(made.len());
    let mut reports = Vec::new();
    // For each family in a report, the family whose end the report is about.
    let mut tellers = BTreeMap::new();
    for (rank, ends) in made.iter().enumerate() {
        let found = ends.ends.iter().map(|end| match partner(world, declared, made, rank, end) {
            Ok(place) => place,
            Err(report) => {
                // Two families that do not match are one mistake, reported from the side where it is found first.
                let other = end.other.as_ref().map_or(end.family, |(family, _)| *family);
                let own = [end.family, other]
                    .map(|family| *tellers.entry(family).or_insert(end.family) == end.family);
                if own == [true, true] {
                    reports.push((rank as i64, *report));
                }
                None
            }
        });
        partners.push(found.collect());
    }
    check_groups(world, declared, made, &mut reports);
    if reports.is_empty() {
        reports.extend(crossed_groups(world, made));
    }
    if !reports.is_empty() {
        return Err(reports);
    }
    let rows = order(made, &partners);
    let row = |(rank, end): Place| {
        rows.get(rank).and_then(|rows: &Vec<ir::ChannelId>| rows.get(end)).copied()
    };
    let partners = partners
        .into_iter()
        .map(|ends| ends.into_iter().map(|place| place.and_then(row)).collect());
    Ok(Paired { partners: partners.collect(), rows })
}

/// What to do about ends of different kinds that name each other.
const ONE_KIND: &str =
    "both ends of a channel are of one kind: let both ranks choose `memory`, or both `port`";

/// The other end: it must exist, have the same kind, and name this end.
fn partner(
    world: World,
    declared: &[Declared],
    made: &[FirstPass],
    rank: usize,
    end: &End,
) -> Result<Option<Place>, Box<Diagnostic>> {
    let (Some((family, indices)), Some(peer)) = (&end.other, peer_of(&end.link)) else {
        return Ok(None);
    };
    let Some((number, other)) = find(declared, made, peer, *family, indices) else {
        return Err(no_partner(world, rank, peer, end, *family, indices).into());
    };
    let points_back = peer_of(&other.link) == Some(rank)
        && other
            .other
            .as_ref()
            .is_some_and(|(family, indices)| *family == end.family && *indices == end.indices);
    let same_kind = matches!(
        (&end.link, &other.link),
        (ir::Link::Memory(_), ir::Link::Memory(_)) | (ir::Link::Port(_), ir::Link::Port(_))
    );
    match points_back && same_kind {
        true => Ok(Some((peer, number))),
        false => {
            let report = mismatch(world, rank, peer, end, other, same_kind);
            let way_out = match points_back {
                true => ONE_KIND.to_owned(),
                false => way_out(world, made, rank, peer, end),
            };
            Err(report.help(way_out).into())
        }
    }
}

/// The end with these indices in a rank's family, and its number.
fn find<'m>(
    declared: &[Declared],
    made: &'m [FirstPass],
    rank: usize,
    family: ChannelFamilyId,
    indices: &[i64],
) -> Option<(usize, &'m End)> {
    let family = declared.get(rank)?.channels.get(family.index())?.as_ref()?;
    let number = (family.first + family.domain.position(indices).ok()?) as usize;
    Some((number, made.get(rank)?.ends.get(number)?))
}

fn peer_of(link: &ir::Link) -> Option<usize> {
    match link {
        ir::Link::Memory(peer) | ir::Link::Port(peer) => Some(peer.index()),
        ir::Link::Switch(_) => None,
    }
}

/// Every member of a switch group must declare the same group under the same name.
fn check_groups(
    world: World,
    declared: &[Declared],
    made: &[FirstPass],
    reports: &mut Vec<(i64, Diagnostic)>,
) {
    for (rank, ends) in made.iter().enumerate() {
        for end in &ends.ends {
            let ir::Link::Switch(group) = &end.link else { continue };
            let odd = group.ranks.iter().find(|member| {
                let other = find(declared, made, member.index(), end.family, &end.indices);
                other.is_none_or(|(_, other)| other.link != end.link)
            });
            if let Some(odd) = odd {
                reports.push((rank as i64, group_mismatch(world, end, rank, *odd)));
            }
        }
    }
}

/// Each rank sets up its groups in the order of declaration, each group together with its other members, so all
/// members must declare their groups in the same order.
fn crossed_groups(world: World, made: &[FirstPass]) -> Option<(i64, Diagnostic)> {
    let switches = |ends: &'_ FirstPass| -> Vec<(usize, Arc<ir::SwitchGroup>)> {
        let group = |(number, end): (usize, &End)| match &end.link {
            ir::Link::Switch(group) => Some((number, Arc::clone(group))),
            ir::Link::Memory(_) | ir::Link::Port(_) => None,
        };
        ends.ends.iter().enumerate().filter_map(group).collect()
    };
    let all: Vec<Vec<(usize, Arc<ir::SwitchGroup>)>> = made.iter().map(switches).collect();
    let groups: Vec<Vec<&ir::SwitchGroup>> =
        all.iter().map(|groups| groups.iter().map(|(_, group)| &**group).collect()).collect();
    let unmet = ir::unmet(&groups)?;
    let rank = unmet.rank.index();
    let (number, _) = all.get(rank)?.get(unmet.position)?;
    let end = made.get(rank)?.ends.get(*number)?;
    Some((rank as i64, group_crossed(world, end, rank, unmet.absent)))
}

/// The final row of every end.
fn order(made: &[FirstPass], partners: &[Vec<Option<Place>>]) -> Vec<Vec<ir::ChannelId>> {
    let mut rows: Vec<Vec<ir::ChannelId>> = Vec::with_capacity(made.len());
    for (rank, ends) in made.iter().enumerate() {
        let mut own: Vec<ir::ChannelId> =
            (0..ends.ends.len()).map(ir::ChannelId::from_index).collect();
        // For each lower rank and kind: this rank's ends, each with the row of the other end there.
        let mut shared: BTreeMap<(usize, bool), Vec<(ir::ChannelId, usize)>> = BTreeMap::new();
        for (number, end) in ends.ends.iter().enumerate() {
            let Some((peer, there)) =
                partners.get(rank).and_then(|ends| ends.get(number)).copied().flatten()
            else {
                continue;
            };
            let row = rows.get(peer).and_then(|rows| rows.get(there));
            if let (true, Some(row)) = (peer < rank, row) {
                let port = matches!(end.link, ir::Link::Port(_));
                shared.entry((peer, port)).or_default().push((*row, number));
            }
        }
        for mut ends in shared.into_values() {
            let slots: Vec<usize> = ends.iter().map(|(_, number)| *number).collect();
            ends.sort_unstable();
            for ((_, number), slot) in ends.into_iter().zip(slots) {
                if let Some(row) = own.get_mut(number) {
                    *row = ir::ChannelId::from_index(slot);
                }
            }
        }
        rows.push(own);
    }
    rows
}

/// `far[3]` or `ahead`, in backquotes.
fn end_text(world: World, family: ChannelFamilyId, indices: &[i64]) -> String {
    format!("`{}`", indexed(&world.program.channels[family].name, indices))
}

fn span_of(world: World, family: ChannelFamilyId) -> Span {
    world.program.channels[family].span
}

fn no_partner(
    world: World,
    rank: usize,
    peer: usize,
    end: &End,
    family: ChannelFamilyId,
    indices: &[i64],
) -> Diagnostic {
    let (own, other) =
        (end_text(world, end.family, &end.indices), end_text(world, family, indices));
    let report = Diagnostic::new(
        Code::E0307,
        span_of(world, end.family),
        format!("rank {rank}'s {own} leads to rank {peer}, which has no {other} to pair with it"),
    );
    let report = match family == end.family {
        true => report,
        false => report.and(span_of(world, family), "where the other end would be declared"),
    };
    report.help(format!("declare {other} on rank {peer}, or name the other end with `to`"))
}

fn mismatch(
    world: World,
    rank: usize,
    peer: usize,
    end: &End,
    other: &End,
    same_kind: bool,
) -> Diagnostic {
    let (own, there) =
        (end_text(world, end.family, &end.indices), end_text(world, other.family, &other.indices));
    let why = match (peer_of(&other.link), &other.other) {
        _ if !same_kind => "is a channel of a different kind".to_string(),
        (Some(back), _) if back != rank => format!("leads to rank {back}"),
        (Some(back), Some((family, indices))) => {
            format!("pairs with rank {back}'s {}", end_text(world, *family, indices))
        }
        _ => "is a switch channel".to_string(),
    };
    let report = Diagnostic::new(
        Code::E0307,
        span_of(world, end.family),
        format!("rank {rank}'s {own} would pair with rank {peer}'s {there}, which {why}"),
    );
    match other.family == end.family {
        true => report,
        false => report.and(span_of(world, other.family), "the other end"),
    }
}

/// Suggests the end to name: the one that names this one, or else the only one of another name that leads back.
fn way_out(world: World, made: &[FirstPass], rank: usize, peer: usize, end: &End) -> String {
    let is_port = |end: &End| matches!(end.link, ir::Link::Port(_));
    let leads_back =
        |other: &&End| peer_of(&other.link) == Some(rank) && is_port(other) == is_port(end);
    let names = |other: &&End| {
        peer_of(&other.link) == Some(rank)
            && other
                .other
                .as_ref()
                .is_some_and(|(family, indices)| (*family, indices) == (end.family, &end.indices))
    };
    let ends = || made.get(peer).into_iter().flat_map(|made| &made.ends);
    let there = |other: &End| end_text(world, other.family, &other.indices);
    if let Some(other) = ends().find(names) {
        let there = there(other);
        return format!("rank {peer}'s {there} names it as its other end: name that one with `to`");
    }
    let mut back = ends().filter(leads_back).filter(|other| other.family != end.family);
    match (back.next(), back.next()) {
        (Some(other), None) => {
            let (own, there) = (end_text(world, end.family, &end.indices), there(other));
            format!("rank {peer}'s {there} leads back: name it with `to`, and let it name {own}")
        }
        _ => {
            "the two ends must name each other: `to` says which end a channel pairs with".to_owned()
        }
    }
}

fn group_mismatch(world: World, end: &End, rank: usize, odd: ir::RankId) -> Diagnostic {
    let own = end_text(world, end.family, &end.indices);
    Diagnostic::new(
        Code::E0307,
        span_of(world, end.family),
        format!("rank {rank}'s {own} has rank {} in its group, but there {own} is another group or is missing", odd.0),
    )
    .help("every member of a switch group must declare the same group")
}

fn group_crossed(world: World, end: &End, rank: usize, odd: ir::RankId) -> Diagnostic {
    let own = end_text(world, end.family, &end.indices);
    Diagnostic::new(
        Code::E0307,
        span_of(world, end.family),
        format!("rank {rank} declares {own} where rank {} declares another group first", odd.0),
    )
    .note("members set up a group together, and each rank sets up its groups one after the other")
    .help("declare the groups in the same order on all ranks")
}
