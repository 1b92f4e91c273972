//! The weakest change that makes a finding go away, found by trying.
//!
//! In: a program and findings with their witnesses. Out: the same findings, each with the first of the following
//! changes that helps, and without the findings that this change removes too, since they have the same cause.
//! 1. the threads of the block meet;
//! 2. signals and waits between the two are no longer relaxed; for scratch, also those by which its rank answers at the
//!    end of the previous launch;
//! 3. a put that signals also flushes;
//! 4. a signal moves behind the first access, or a wait before the second;
//! 5. between blocks of one rank: a semaphore starts at a lower value; one block joins a barrier of the other, if the
//!    program is then free of mistakes; a new semaphore, or a barrier where a group shares the work; or each block of a
//!    family releases the next one;
//! 6. a new signal and wait, over the channels of one access or the other, or, where a block has to know that others have
//!    started, over those that it waits on later.
//!
//! For packets that race with those of the previous launch, doubling scratch comes first. Operations on an unbalanced
//! counter are removed or repeated. A read of memory that nobody has written yet moves to a later place. Of data that
//! is written or added twice, one operation is removed.
//!
//! A race of a kind that usually follows from others is reported only where a change for it removes one of these: then
//! it is their cause. If a change for it removes all findings, it is the only one reported.
//!
//! A change helps if the finding is gone, the program does not deadlock, and no new race of the same or an earlier kind
//! has appeared; for deadlocks and unbalanced counters, only if no finding at all is left. Every change is tried on the
//! whole program, as long as the budget for its size allows.

mod apply;
mod candidates;
mod counts;
mod exchange;
mod memory;
mod order;

use super::budget::{RUN, TRIALS};
use super::event_graph::EventGraph;
use super::race::{self, Met};
use super::{matching, names};
use crate::diagnostic::change::Change;
use crate::diagnostic::witness::{Finding, Race};
use crate::diagnostic::{Code, Diagnostic, Label};
use crate::interpreter::{self, Outcome, keeps_promises};
use crate::interrupt::Interrupt;
use crate::ir::{self, Buffer, RankId};
use crate::phase::phase;
use crate::source::Place;
use candidates::candidates;
use std::collections::BTreeSet;

/// Looks for changes in a program whose chunks are cut into `parts` parts, and drops the findings that go away with
/// them.
pub(super) fn mend(
    program: &ir::Program,
    parts: u32,
    findings: Vec<Diagnostic>,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    if findings.iter().all(|finding| finding.witness.is_none()) {
        return first_kind(findings);
    }
    let _mending = phase("look for a change", "");
    let Some(graph) = EventGraph::new(program, parts) else { return first_kind(findings) };
    let size = size(program, parts);
    let first = first_order(&findings);
    let mut trials =
        Trials { program, parts, interrupt, left: TRIALS.count(), size, first, before: None };
    let mut causes = findings.iter().filter(|finding| comes_after(finding, first));
    let cause = causes.find_map(|cause| Some((cause, trials.all(cause, &graph)?)));
    if let Some((cause, change)) = cause {
        return vec![changed(&program.origins, cause.clone(), change, findings.len() - 1)];
    }
    let mut kept: Vec<Diagnostic> = Vec::new();
    let mut open: Vec<Diagnostic> = findings;
    open.reverse();
    while let Some(finding) = open.pop() {
        let follows = comes_after(&finding, first);
        let mut candidates = candidates(&graph, &finding);
        candidates.retain(|change| !rewrites_library(program, change));
        if follows {
            candidates.retain(orders_blocks);
        }
        let Some((change, after)) = trials.first(&finding, candidates) else {
            match kept.iter_mut().find(|other| share(program, other, &finding)) {
                _ if follows => {}
                Some(other) if met(other) == met(&finding) => tell_call(other, &finding),
                Some(other) => tell_too(other, &finding),
                None => kept.push(finding),
            }
            continue;
        };
        let all = open.len();
        // A change for a finding that is no race was accepted only because nothing is left to be found.
        let whole = met(&finding).is_none();
        let stays =
            |other: &Diagnostic| !whole && met(other).is_none_or(|met| after.contains(&met));
        // Where blocks of one rank have to be ordered, the race between them says more than its consequences do.
        let ordered = !follows && orders_blocks(&change);
        open.retain(|other| stays(other) || ordered && comes_after(other, first));
        let before = kept.len();
        kept.retain(stays);
        let gone = all + before - open.len() - kept.len();
        kept.push(changed(&program.origins, finding, change, gone));
    }
    kept
}

/// Keeps only the races of the kind that comes first: the others usually follow from them.
pub(super) fn first_kind(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let first = first_order(&findings);
    findings.retain(|finding| !comes_after(finding, first));
    findings
}

fn first_order(findings: &[Diagnostic]) -> Option<u8> {
    findings.iter().filter_map(met).map(|met| met.order).min()
}

fn comes_after(finding: &Diagnostic, first: Option<u8>) -> bool {
    met(finding).zip(first).is_some_and(|(met, first)| met.order > first)
}

/// Whether a change edits the library, which authors cannot do. Making a procedure's signals strong is allowed: another
/// procedure may offer that, which is looked for later.
fn rewrites_library(program: &ir::Program, change: &Change) -> bool {
    let theirs = |place: &Place| program.origins.is_library(*place);
    !matches!(change, Change::Strong { .. }) && change.rewritten().iter().any(theirs)
}

/// Whether a change orders blocks of one rank, and does nothing else.
fn orders_blocks(change: &Change) -> bool {
    match change {
        Change::Handover(_)
        | Change::Relay { .. }
        | Change::Barrier { .. }
        | Change::Attend { .. }
        | Change::Initial { .. } => true,
        Change::Join { .. }
        | Change::Strong { .. }
        | Change::Flush { .. }
        | Change::Move { .. }
        | Change::Option { .. }
        | Change::Handshake { .. }
        | Change::Exchange { .. }
        | Change::Remove { .. }
        | Change::Repeat { .. }
        | Change::Answer { .. }
        | Change::InPlace { .. }
        | Change::Release { .. } => false,
    }
}

/// Whether two findings without a known change are the same mistake: conflicts that have a statement in common, an
/// index of which may be wrong; reads of one region that nobody has written to; or the same conflict in another call.
fn share(program: &ir::Program, one: &Diagnostic, other: &Diagnostic) -> bool {
    let (Some(race), Some(next)) = (race_of(one), race_of(other)) else { return false };
    let places = |race: &Race| Some([race.first?.event.place?, race.second.event.place?]);
    let meet = match (places(race), places(next)) {
        (Some(ones), Some(others)) => ones.iter().any(|at| others.contains(at)),
        (_, _) => one.code == Code::E0520 && region(program, race) == region(program, next),
    };
    let statement = |at: &Label| !program.origins.is_library(at.place);
    let again = met(one).is_some()
        && met(one) == met(other)
        && one.primary.iter().chain(&one.secondary).all(statement);
    one.change.is_none() && one.code == other.code && (meet || again)
}

/// The rank and the buffer that a race is about; in scratch, also the region.
fn region(program: &ir::Program, race: &Race) -> (u32, &'static str, Option<String>) {
    let cells = &race.memory;
    let chunk = cells.start / u64::from(cells.parts.max(1));
    let at = |buffer| names::at(program, RankId(cells.rank), buffer, chunk).0;
    let region = (cells.buffer == Buffer::Scratch.word()).then(|| at(Buffer::Scratch));
    (cells.rank, cells.buffer, region)
}

/// Adds a note about the same finding in another call of one of the author's procedures.
fn tell_call(one: &mut Diagnostic, other: &Diagnostic) {
    one.notes.push(format!("likewise, in another call: {}", other.message));
}

/// Adds another finding of the same mistake.
fn tell_too(one: &mut Diagnostic, other: &Diagnostic) {
    const ALSO: &str = "an index of that statement may be wrong; or ";
    if one.code == Code::E0520 {
        let again = other.primary.as_ref().map(Label::at);
        let text = || "this reads from it too".to_owned();
        one.secondary.extend(again.map(|place| Label::new(place, text())));
        return;
    }
    let primary = one.primary.as_ref().map(|label| label.place);
    let mut places = other.primary.iter().chain(&other.secondary).map(|label| Some(label.place));
    let which = if places.any(|place| place == primary) { "same" } else { "other" };
    let note = format!("likewise, at the {which} statement: {}", other.message);
    if !one.notes.contains(&note) {
        one.notes.push(note);
    }
    for help in one.helps.iter_mut().filter(|help| !help.starts_with(ALSO)) {
        help.insert_str(0, ALSO);
    }
}

fn changed(
    origins: &ir::Origins,
    mut finding: Diagnostic,
    change: Change,
    others: usize,
) -> Diagnostic {
    finding.helps = vec![change.title()];
    let said = |finding: &Diagnostic, place: Place| {
        finding.primary.iter().chain(&finding.secondary).any(|label| label.place == place)
    };
    let places = change.places();
    // Of a signal and its wait, it is enough to see one.
    let seen = matches!(change, Change::Strong { .. })
        && places.iter().any(|(place, _)| said(&finding, *place));
    for (place, text) in places.into_iter().filter(|_| !seen) {
        if !said(&finding, place) {
            finding.secondary.push(Label::new(origins.first_at(place), text));
        }
    }
    finding.change = Some(change);
    match others {
        0 => finding,
        1 => finding.note("the same change resolves 1 other finding"),
        more => finding.note(format!("the same change resolves {more} other findings")),
    }
}

/// Operations and cells.
fn size(program: &ir::Program, parts: u32) -> usize {
    let cells = program.chunks().saturating_mul(u64::from(parts));
    usize::try_from(cells).unwrap_or(usize::MAX).saturating_add(program.all_ops().count())
}

struct Trials<'a> {
    program: &'a ir::Program,
    parts: u32,
    interrupt: &'a Interrupt,
    left: usize,
    size: usize,
    /// The order of the races that come first, see [`Met::order`].
    first: Option<u8>,
    /// The conflicts of the unchanged program.
    before: Option<BTreeSet<Met>>,
}

impl Trials<'_> {
    /// The first change that helps, and the conflicts that remain with it.
    fn first(
        &mut self,
        finding: &Diagnostic,
        candidates: Vec<Change>,
    ) -> Option<(Change, BTreeSet<Met>)> {
        candidates.into_iter().find_map(|change| {
            self.left = self.left.checked_sub(self.size)?;
            let changed = apply::apply(self.program, &change)?;
            let after = self.try_out(&changed, Demand::of(finding, &change), met(finding))?;
            self.helps(finding, &after).then_some((change, after))
        })
    }

    /// The first change that orders blocks and leaves nothing to be found.
    fn all(&mut self, finding: &Diagnostic, graph: &EventGraph) -> Option<Change> {
        let further = race_of(finding).map_or_else(Vec::new, |race| order::of_ends(graph, race));
        let changes = candidates(graph, finding).into_iter().chain(further).filter(orders_blocks);
        let mut changes = changes.filter(|change| !rewrites_library(self.program, change));
        changes.find(|change| {
            let Some(left) = self.left.checked_sub(self.size) else { return false };
            self.left = left;
            let changed = apply::apply(self.program, change);
            changed.is_some_and(|changed| self.try_out(&changed, Demand::All, None).is_some())
        })
    }

    /// The conflicts of a changed program; none where it deadlocks, or does not meet the demand.
    fn try_out(
        &self,
        changed: &ir::Program,
        demand: Demand,
        finding: Option<Met>,
    ) -> Option<BTreeSet<Met>> {
        if self.interrupt.is_set() || !matching::is_clean(changed) {
            return None;
        }
        let Outcome::Finished(memory) = interpreter::run_in(changed, self.parts, RUN.amount())
        else {
            return None;
        };
        let after = race::met(changed, &memory.rewritten(), self.interrupt)?;
        let kept = || keeps_promises(changed, &memory);
        let good = match demand {
            Demand::Nothing => true,
            // Conflicts that remain at the same statement may come from the same wrong index.
            Demand::Promise => {
                let left = |one: &Met| finding.is_some_and(|finding| finding.shares(one));
                !after.is_empty() && !after.iter().any(left) || kept()
            }
            Demand::All => after.is_empty() && kept(),
        };
        good.then_some(after)
    }

    fn helps(&mut self, finding: &Diagnostic, after: &BTreeSet<Met>) -> bool {
        let Some(met) = met(finding) else { return true };
        if self.before.is_none() {
            self.before = self.try_out(self.program, Demand::Nothing, None);
        }
        // Conflicts of a later kind may have been hidden before; a read of unwritten memory is due to the change.
        let known = |other: &Met| {
            self.before.as_ref().is_some_and(|before| before.contains(other))
                || other.order > met.order && !other.is_unwritten()
        };
        let cause = !comes_after(finding, self.first) || self.undoes_first(after);
        !after.contains(&met) && after.iter().all(known) && cause
    }

    /// Whether any of the races that come first is gone.
    fn undoes_first(&self, after: &BTreeSet<Met>) -> bool {
        let mut before = self.before.iter().flatten();
        before.any(|met| Some(met.order) == self.first && !after.contains(met))
    }
}

/// What a changed program must fulfill, in addition to losing its finding.
#[derive(Clone, Copy)]
enum Demand {
    /// Nothing more.
    Nothing,
    /// To keep its promise if no races are left, or if some are left at the same statement: there are two ways to order
    /// blocks, and an index may be wrong.
    Promise,
    /// To be free of races and to keep its promise.
    All,
}

impl Demand {
    fn of(finding: &Diagnostic, change: &Change) -> Demand {
        match change {
            _ if met(finding).is_none() => Demand::All,
            Change::Remove { .. } | Change::Flush { signal: Some(_), .. } => Demand::All,
            _ if finding.code == Code::E0520 => Demand::All,
            Change::Attend { .. } | Change::Relay { .. } | Change::InPlace { .. } => Demand::All,
            Change::Handover(_) | Change::Barrier { .. } | Change::Initial { .. } => {
                Demand::Promise
            }
            Change::Handshake { .. } | Change::Move { .. } if finding.code == Code::E0501 => {
                Demand::Promise
            }
            Change::Join { .. }
            | Change::Strong { .. }
            | Change::Flush { .. }
            | Change::Move { .. }
            | Change::Option { .. }
            | Change::Handshake { .. }
            | Change::Exchange { .. }
            | Change::Repeat { .. }
            | Change::Answer { .. }
            | Change::Release { .. } => Demand::Nothing,
        }
    }
}

/// The conflicting statements of a race.
fn met(finding: &Diagnostic) -> Option<Met> {
    let race = race_of(finding)?;
    let first = race.first.and_then(|access| access.event.place);
    let second = race.second.event.place;
    Met::new(finding.code, first.or(second)?, second.or(first)?)
}

fn race_of(finding: &Diagnostic) -> Option<&Race> {
    match &finding.witness.as_ref()?.finding {
        Finding::Race(race) => Some(race),
        Finding::Deadlock { .. }
        | Finding::Counter { .. }
        | Finding::Users { .. }
        | Finding::Clobber(_)
        | Finding::Value(_)
        | Finding::Early { .. } => None,
    }
}
