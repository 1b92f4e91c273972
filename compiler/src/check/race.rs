//! Races: two accesses to the same memory, at least one of them a write, that nothing orders.
//!
//! In: a program in which every wait is answered and every counter has one user; of a counter with several users, only
//! what it tells in every schedule counts ([`guarantee`]). Then all schedules have the same events in the same partial
//! order, so one run through the program decides. The run records for every thread block what it knows to have happened
//! ([`clock`]), and for every cell of memory the last accesses to it ([`mod@cells`]). Rules, with their codes:
//!
//! * E0501: accesses by two blocks, or by a block and the proxy of a port channel, are ordered by strong signals,
//!   semaphores or barriers. Relaxed signals and packets order execution only. Two things are known through a packet
//!   all the same: the packet itself, and that the data it carries has been read at its source. A reader of all packets
//!   of an operation knows what that operation's first threads had heard, since each of these has written one of them.
//! * E0503: accesses by threads of one block are ordered where the threads meet, or where the same thread makes both. A
//!   thread still knows what its packets told it about the steps of others when it goes on to plain elements
//!   ([`heard::Halves`]).
//! * E0510: another rank's input and output are touched only when that rank is known to have started this launch, in
//!   whatever way: before, they belong to its user. Scratch has no user, and exists before the first launch on any
//!   rank: it may be touched before its rank has started, unless something of an earlier launch may still be at work on
//!   it.
//! * E0512: when a rank's blocks end, they know of every access to the rank's input or output: after that, its memory
//!   belongs to its user again.
//! * E0520: memory that is read was written before, in this launch, or is the input.
//! * E0521: a packet is written once in a launch; or always with the same value, as established by a run of the
//!   program; or the writes are ordered, and every reader is known to find a particular one.
//! * E0702: when a rank's blocks end, they know that the ranks have started for which the collective promises that.
//! * E0515: scratch, which lives from launch to launch, is touched again only when every access to it in the previous
//!   launch is known to be done; with `double_scratch`, for packets, in the launch before that one.
//! * W0503: where launches may have messages of different sizes, that goes for all scratch of a rank, since a chunk is
//!   elsewhere then ([`Across`]).
//!
//! Chunks are cut into parts so that slices of groups and windows of pipelines are whole.

mod access;
mod acts;
mod agents;
mod begun;
mod block;
mod cells;
mod clock;
mod fold;
mod guarantee;
mod heard;
mod history;
mod kept;
mod launches;
mod machine;
mod memory;
mod merged;
pub(super) mod overlay;
mod packets;
mod pages;
mod proxy;
mod reading;
mod report;
mod sight;
mod standing;
mod sync;
mod turn;
mod value;
mod witness;
mod words;
mod writers;

use super::budget::{CELLS, Exceeded, ROUNDS, SETTLING};
use crate::diagnostic::{Code, Diagnostic};
use crate::interpreter::{Rewritten, Stuck};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::ir::grain::Grain;
use crate::source::Place;
use agents::Agents;
pub(super) use begun::Early;
use clock::Lookup;
pub(super) use fold::Fold;
use guarantee::Guarantees;
use history::History;
use launches::Launches;
pub(super) use launches::{Across, Use, Writes};
use machine::Cut;
use merged::Merged;
use report::Detail;
use std::collections::BTreeSet;
use value::Inputs;
use writers::Writers;

/// What is certain about counters with several users and packets with several writers.
#[derive(Debug, Default)]
struct Shared {
    guarantees: Guarantees,
    writers: Writers,
    /// The budgets because of which there may be more that is certain.
    exceeded: BTreeSet<Exceeded>,
}

/// The outcome of the search for races.
pub(super) enum Races {
    /// These were found; if there are none, with what launches have to do with launches of another size.
    Found(Vec<Diagnostic>, Option<Across>),
    /// The search was interrupted.
    Interrupted,
    /// The program is too large to be followed.
    TooLong(Exceeded),
    /// In some schedule these blocks can never go on.
    Standing(Vec<Stuck>),
    /// Something has no counterpart where there must be one, so nothing is certain.
    Lost,
}

/// Two statements whose accesses conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Met {
    /// Causes come before effects.
    pub(super) order: u8,
    code: Code,
    places: (Place, Place),
}

impl Met {
    /// Two statements, in any order; the same one twice where a report shows only one. None where the code is not that
    /// of a race.
    pub(super) fn new(code: Code, one: Place, other: Place) -> Option<Met> {
        let order = report::order(code)?;
        Some(Met { order, code, places: (one.min(other), one.max(other)) })
    }

    /// Whether memory is read that nobody has written.
    pub(super) fn is_unwritten(&self) -> bool {
        self.code == Code::E0520
    }

    /// Whether the two are of one kind and have a statement in common.
    pub(super) fn shares(&self, other: &Met) -> bool {
        let (one, two) = other.places;
        let meets = |place| place == one || place == two;
        self.code == other.code && (meets(self.places.0) || meets(self.places.1))
    }
}

/// A program whose ranks are symmetric, some of which are followed as representatives of all.
pub(super) struct Folded<'p> {
    merged: Merged<'p>,
    fold: Fold,
}

/// What is sought beyond races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// Nothing.
    Nothing,
    /// What launches have to do with launches of another size ([`Across`]), and how writes are looked at for
    /// that.
    Sizes(Writes),
}

/// The result of following the representatives only. A mistake on any rank shows on one of them; which other ranks have
/// it, and what its consequences are, can only be found by following all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// There may be races, or a block may never come to its end.
    Unclear,
    /// All blocks come to their ends, and there are no races; the promise may be broken.
    Apart,
    /// The promise is kept, too.
    Sound,
}

impl<'p> Folded<'p> {
    /// A program, if its ranks are symmetric. The symmetry that is known of the program it was made from is tried
    /// first.
    pub(super) fn of(program: &'p ir::Program, known: Option<&Fold>) -> Option<Folded<'p>> {
        Fold::of(program, known).map(|(merged, fold)| Folded { merged, fold })
    }

    /// Which ranks represent which others.
    pub(super) fn fold(&self) -> &Fold {
        &self.fold
    }

    /// How many ranks are followed, as representatives of all.
    pub(super) fn followed(&self) -> usize {
        self.fold.followed(self.merged.program()).count()
    }

    /// Follows the representatives, and looks at memory at the given grain.
    pub(super) fn look(
        &self,
        grain: Grain,
        beyond: Beyond,
        interrupt: &Interrupt,
    ) -> (Seen, Option<Across>) {
        let merged = &self.merged;
        let Some(fold) = self.fold.at(grain) else { return (Seen::Unclear, None) };
        let Ok(after) = follow(merged, (&fold, grain), beyond, interrupt) else {
            return (Seen::Unclear, None);
        };
        let inputs = Inputs { program: merged.program(), fold: &fold, grain };
        if !after.conflicts.is_empty() || !after.early.is_empty() {
            return (Seen::Unclear, None);
        }
        let is_kept = kept::are_kept(inputs, &after.cells);
        match (fold.is_lost(), is_kept) {
            (true, _) => (Seen::Unclear, None),
            (false, true) => (Seen::Sound, after.across),
            (false, false) => (Seen::Apart, after.across),
        }
    }
}

impl Folded<'_> {
    /// Reports of the races that the representatives show. Which other ranks have them, and in which schedule, is not
    /// known.
    pub(super) fn reports(&self, grain: Grain, interrupt: &Interrupt) -> Vec<Diagnostic> {
        let Some(fold) = self.fold.at(grain) else { return Vec::new() };
        let after = follow(&self.merged, (&fold, grain), Beyond::Nothing, interrupt);
        let Ok(mut after) = after else { return Vec::new() };
        // Packets that are written twice may have the same contents, which representatives do not tell.
        after.conflicts.retain(|conflict| conflict.kind != machine::Kind::Twice);
        let reports = report::reports(self.merged.program(), (grain, Detail::Few), after.conflicts);
        reports.into_iter().map(|report| noted(report, &after.exceeded)).collect()
    }
}

/// A report with the reasons why it may be wrong.
fn noted(report: Diagnostic, exceeded: &BTreeSet<Exceeded>) -> Diagnostic {
    exceeded.iter().fold(report, |report, exceeded| report.note(exceeded.note()))
}

/// Looks for races in a program that rewrites the given packets, following every rank.
pub(super) fn check(
    program: &ir::Program,
    rewritten: &Rewritten,
    beyond: Beyond,
    interrupt: &Interrupt,
) -> Races {
    let merged = Merged::as_written(program);
    match alone(&merged, rewritten, beyond, interrupt) {
        Ok(after) if after.conflicts.is_empty() => {
            let early = super::begun::report(program, &after.early);
            Races::Found(early.into_iter().collect(), after.across)
        }
        Ok(after) => {
            let reports =
                report::reports(program, (rewritten.grain(), Detail::All), after.conflicts);
            let reports = reports.into_iter().map(|report| noted(report, &after.exceeded));
            Races::Found(reports.collect(), None)
        }
        Err(Cut::Standing(stuck)) => Races::Standing(stuck),
        Err(Cut::Lost) => Races::Lost,
        Err(Cut::Interrupted) => Races::Interrupted,
        Err(Cut::TooLong(exceeded)) => Races::TooLong(exceeded),
    }
}

/// Whether there are no races; if so, with what launches have to do with launches of another size.
pub(super) fn are_none(
    program: &ir::Program,
    rewritten: &Rewritten,
    beyond: Beyond,
    interrupt: &Interrupt,
) -> (bool, Option<Across>) {
    let merged = Merged::as_written(program);
    match alone(&merged, rewritten, beyond, interrupt) {
        Ok(after) if after.conflicts.is_empty() && after.early.is_empty() => (true, after.across),
        Ok(_) | Err(_) => (false, None),
    }
}

/// All conflicts, as pairs of statements; none where they cannot be found.
pub(super) fn met(
    program: &ir::Program,
    rewritten: &Rewritten,
    interrupt: &Interrupt,
) -> Option<BTreeSet<Met>> {
    let folded = Folded::of(program, None);
    let look = |folded: Folded<'_>| folded.look(rewritten.grain(), Beyond::Nothing, interrupt).0;
    if folded.is_some_and(|folded| look(folded) != Seen::Unclear) {
        return Some(BTreeSet::new());
    }
    let merged = Merged::as_written(program);
    let after = alone(&merged, rewritten, Beyond::Nothing, interrupt).ok()?;
    Some(report::met(program, &after.conflicts))
}

/// The state in which a launch leaves all ranks, each of which stands for itself alone.
fn alone<'p>(
    merged: &'p Merged<'p>,
    rewritten: &Rewritten,
    beyond: Beyond,
    interrupt: &Interrupt,
) -> Result<machine::After<'p>, Cut> {
    let mut after = follow(merged, (&Fold::none(), rewritten.grain()), beyond, interrupt)?;
    after.conflicts.retain(|conflict| {
        conflict.kind != machine::Kind::Twice
            || rewritten.contains(conflict.place.rank, conflict.place.cell)
    });
    Ok(after)
}

/// How many cells the followed ranks have.
fn cells(program: &ir::Program, fold: &Fold, grain: Grain) -> u64 {
    let chunks = fold.followed(program).filter_map(|id| program.ranks.lookup(id)).map(|rank| {
        u64::from(rank.input_chunks)
            + u64::from(rank.output_chunks)
            + 2 * u64::from(rank.scratch_chunks)
    });
    grain.cells(chunks.sum())
}

/// The state in which a launch leaves the followed ranks, and the conflicts on them.
fn follow<'p>(
    merged: &'p Merged<'p>,
    (fold, grain): (&Fold, Grain),
    beyond: Beyond,
    interrupt: &Interrupt,
) -> Result<machine::After<'p>, Cut> {
    let program = merged.program();
    CELLS.allow(cells(program, fold, grain)).map_err(Cut::TooLong)?;
    let agents = Agents::new(program, fold.turn());
    let run = |shared: &Shared| machine::run(merged, (fold, &agents, shared), grain, interrupt);
    let settle = |guarantees| settle(run, &agents, guarantees);
    let (mut shared, mut after, mut history) = settle(Guarantees::default())?;
    let several = after.counters.several(program);
    let mut is_settled = several.is_empty();
    if !is_settled {
        (shared, after, history) = settle(Guarantees::new(several))?;
    }
    let mut rounds = 1;
    while !is_settled {
        let lookup = Lookup { history: &history, agents: &agents };
        let next = after.counters.guarantees(lookup, &shared.guarantees);
        is_settled = next == shared.guarantees;
        if !is_settled && let Err(exceeded) = ROUNDS.allow(rounds) {
            shared.exceeded.insert(exceeded);
            is_settled = true;
        }
        rounds += 1;
        if !is_settled {
            (shared, after, history) = settle(next)?;
        }
    }
    after.exceeded = shared.exceeded;
    after.exceeded.extend(&shared.guarantees.exceeded);
    let lookup = Lookup { history: &history, agents: &agents };
    after.conflicts = Launches { program, fold, lookup, after: &after }.conflicts();
    if let Beyond::Sizes(writes) = beyond {
        after.across = Some(Launches { program, fold, lookup, after: &after }.across(writes));
    }
    drop_settled(&mut after, fold, lookup);
    after.early = begun::early(program, fold, lookup, &after.ends);
    // What was looked up in vain may have hidden something.
    if fold.is_lost() || agents.is_lost() { Err(Cut::Lost) } else { Ok(after) }
}

/// Drops conflicts about packets written twice to one place where it is certain which one remains there, and which one
/// every reader finds.
fn drop_settled(after: &mut machine::After<'_>, fold: &Fold, lookup: Lookup<'_>) {
    let (packets, acts) = (&after.packets, &after.acts);
    after.conflicts.retain(|conflict| {
        let home = fold.home(conflict.place).0;
        let packet = packets.get((home.rank, home.cell as u32));
        conflict.kind != machine::Kind::Twice
            || packet.is_none_or(|packet| writers::are_open(lookup, acts, packet))
    });
}

/// Runs again and again until what packets with several writers tell is certain; returns the state after the last run.
fn settle<'p>(
    run: impl Fn(&Shared) -> Result<(machine::After<'p>, History), Cut>,
    agents: &Agents,
    guarantees: Guarantees,
) -> Result<(Shared, machine::After<'p>, History), Cut> {
    let mut shared = Shared { guarantees, ..Shared::default() };
    for _ in 0..SETTLING.amount() {
        let (after, history) = run(&shared)?;
        let writers = Writers::of(Lookup { history: &history, agents }, &after);
        if writers == shared.writers {
            return Ok((shared, after, history));
        }
        shared.writers = writers;
    }
    shared.writers = shared.writers.forgotten();
    shared.exceeded.insert(SETTLING.exceeded());
    let (after, history) = run(&shared)?;
    Ok((shared, after, history))
}
