//! Races as reports: one for each pair of places, causes before their consequences.

use super::super::budget::{CONFLICTS, WITNESSES};
use super::super::event_graph::EventGraph;
use super::super::found::Found;
use super::acts::Touch;
use super::cells::Place;
use super::machine::{Conflict, Kind};
use super::words::Words;
use super::{Met, witness};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::grain::Grain;
use crate::ir::{Program, RankId};
use crate::source::At;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The conflicts at one pair of places: the first one, the cells where its two operations conflict, and which ranks
/// have it.
struct Group<'c, 'p> {
    conflict: &'c Conflict<'p>,
    cells: Range<u64>,
    ranks: BTreeSet<(RankId, RankId)>,
}

/// How the programs of reports are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Every rank was followed: reports say how the conflict comes about, where single chunks are known.
    All,
    /// Only representatives were.
    Few,
}

/// One report for each pair of places. Where threads of a block do not meet, or a rank is touched too early, the
/// consequences are left out.
pub(super) fn reports(
    program: &Program,
    (grain, detail): (Grain, Detail),
    mut conflicts: Vec<Conflict>,
) -> Vec<Diagnostic> {
    if conflicts.is_empty() {
        return Vec::new();
    }
    turn_to_writers(&mut conflicts);
    keep_to_one_form(&mut conflicts);
    let words = Words::new(program, grain);
    let is_exact = detail == Detail::All && grain.chunks_of_unit() == 1;
    let graph = is_exact.then(|| EventGraph::new(program, grain.cells_of_unit())).flatten();
    let mut found = Found::default();
    let mut shown = 0;
    for group in grouped(program, grain, &conflicts) {
        found.add_told(words.report(group.conflict), |report| {
            shown += 1;
            let report = others(&group.ranks, report);
            match graph.as_ref().filter(|_| shown <= WITNESSES.count()) {
                Some(graph) => witness::show(graph, group.conflict, group.cells, report),
                None => report,
            }
        });
    }
    found.finish("place")
}

/// Where a read came first in the run and found memory that nobody had written, the conflicting write should come
/// first: swaps the two.
fn turn_to_writers(conflicts: &mut [Conflict]) {
    let touch = |touch: &Touch, place: Place| {
        (touch.agent, touch.step, place.rank, place.buffer, place.cell)
    };
    let unwritten = conflicts.iter().filter(|one| one.kind == Kind::Unwritten);
    let early: BTreeSet<_> = unwritten.map(|one| touch(&one.first, one.place)).collect();
    for one in conflicts.iter_mut().filter(|one| one.kind == Kind::Race) {
        let reads_first = !one.first.write && one.second.write;
        if reads_first && early.contains(&touch(&one.first, one.place)) {
            std::mem::swap(&mut one.first, &mut one.second);
        }
    }
}

/// Where a plain operation reads what only packets were written to, no order of the two helps: that nothing was written
/// for the read is the mistake. Drops the races between the two.
fn keep_to_one_form(conflicts: &mut Vec<Conflict>) {
    let step = |touch: &Touch| (touch.agent, touch.step);
    let unwritten = conflicts.iter().filter(|one| one.kind == Kind::Unwritten);
    let unwritten: BTreeSet<_> = unwritten.map(|one| step(&one.first)).collect();
    conflicts.retain(|one| {
        let (write, read) = match one.first.write {
            true => (&one.first, &one.second),
            false => (&one.second, &one.first),
        };
        let packets = write.write && write.packet;
        let plain = !read.write && !read.packet && unwritten.contains(&step(read));
        one.kind != Kind::Race || !packets || !plain
    });
}

/// The conflicts of the kind that comes first, grouped by place, with those that may be their cause.
fn grouped<'c, 'p>(
    program: &Program,
    grain: Grain,
    conflicts: &'c [Conflict<'p>],
) -> Vec<Group<'c, 'p>> {
    let worst = conflicts.iter().map(|conflict| rank_of(conflict.kind)).min();
    let mut groups: Vec<Group<'c, 'p>> = Vec::new();
    let mut known: BTreeMap<(Kind, At, At), usize> = BTreeMap::new();
    let matters = |conflict: &&Conflict<'_>| {
        Some(rank_of(conflict.kind)) == worst || may_cause(conflict, worst)
    };
    for conflict in conflicts.iter().filter(matters).take(CONFLICTS.count().max(1)) {
        let (first, second) = (first(conflict), &conflict.second);
        let place = |touch: &Touch| program.origins.at(touch.op.origin);
        let (one, other) = (place(first), place(second));
        let (one, other) = if one <= other { (one, other) } else { (other, one) };
        let key = (conflict.kind, one, other);
        let row = *known.entry(key).or_insert(groups.len());
        let ((_, cell), owner) = (conflict.said(program, grain), conflict.place.rank);
        let ranks = match conflict.kind {
            Kind::Race | Kind::Launches | Kind::Twice => (first.rank, second.rank),
            Kind::Threads | Kind::Start | Kind::End | Kind::Unwritten => (first.rank, owner),
        };
        match groups.get_mut(row) {
            Some(group) => {
                group.ranks.insert(ranks);
                if meets_on(group.conflict, conflict) && group.cells.end == cell {
                    group.cells.end += 1;
                }
            }
            None => groups.push(Group {
                conflict,
                cells: cell..cell + 1,
                ranks: BTreeSet::from([ranks]),
            }),
        }
    }
    groups
}

/// The first of the two accesses that are reported together. The access of the previous launch that an early access may
/// conflict with is reported in addition.
fn first<'c, 'p>(conflict: &'c Conflict<'p>) -> &'c Touch<'p> {
    if conflict.kind == Kind::Start { &conflict.second } else { &conflict.first }
}

/// Whether a conflict may be the cause of conflicts of kind `worst`: a block with which another block of its rank does
/// not synchronize does not know what that one has heard, either: which ranks have started, and what they have done.
fn may_cause(conflict: &Conflict, worst: Option<u8>) -> bool {
    worst == Some(rank_of(Kind::Start)) && conflict.kind == Kind::Race
}

/// Whether two conflicts are the same one, in different cells.
fn meets_on(one: &Conflict, other: &Conflict) -> bool {
    let who = |touch: &Touch| (touch.agent, touch.step, touch.buffer);
    one.place.rank == other.place.rank
        && who(&one.first) == who(&other.first)
        && who(&one.second) == who(&other.second)
}

/// Adds how many other ranks have it too.
fn others(ranks: &BTreeSet<(RankId, RankId)>, report: Diagnostic) -> Diagnostic {
    let pairs = ranks.iter().any(|(a, b)| a != b);
    match (ranks.len(), pairs) {
        (0 | 1, _) => report,
        (2, true) => report.note("the same for 1 other pair of ranks"),
        (n, true) => report.note(format!("the same for {} other pairs of ranks", n - 1)),
        (2, false) => report.note("the same for 1 other rank"),
        (n, false) => report.note(format!("the same for {} other ranks", n - 1)),
    }
}

/// All conflicts, as pairs of statements.
pub(super) fn met(program: &Program, conflicts: &[Conflict]) -> BTreeSet<Met> {
    let place = |touch: &Touch| program.origins.place(touch.op.origin);
    let all = conflicts.iter().take(CONFLICTS.count().max(1));
    let met = |one: &Conflict| Met::new(code(one.kind), place(first(one)), place(&one.second));
    all.filter_map(met).collect()
}

/// The position of a race's code in the order of causes and effects; none for other codes.
pub(super) fn order(wanted: Code) -> Option<u8> {
    let kinds = [
        Kind::Race,
        Kind::Threads,
        Kind::Start,
        Kind::End,
        Kind::Unwritten,
        Kind::Twice,
        Kind::Launches,
    ];
    kinds.into_iter().find(|kind| code(*kind) == wanted).map(rank_of)
}

fn code(kind: Kind) -> Code {
    match kind {
        Kind::Race => Code::E0501,
        Kind::Threads => Code::E0503,
        Kind::Start => Code::E0510,
        Kind::End => Code::E0512,
        Kind::Unwritten => Code::E0520,
        Kind::Twice => Code::E0521,
        Kind::Launches => Code::E0515,
    }
}

/// Causes before effects. Where it is unknown which packet is found, nothing is known through that packet.
fn rank_of(kind: Kind) -> u8 {
    match kind {
        Kind::Threads => 0,
        Kind::Start => 1,
        Kind::Twice => 2,
        Kind::Race => 3,
        Kind::Unwritten => 4,
        Kind::End => 5,
        Kind::Launches => 6,
    }
}
