//! Races in words.

use super::super::found::Found;
use super::super::names;
use super::super::past::Past;
use super::cells::Touch;
use super::machine::{Conflict, Kind};
use super::{Met, witness};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::run::each_op;
use crate::ir::{Action, BlockId, Program, RankId};
use crate::source;
use crate::table::Id;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How many conflicts are looked at; more are never shown.
const LOOKED_AT: usize = 100_000;

const ONLY_PACKETS: &str =
    "between them are packets, which order execution, and of memory only what they carry";

/// Of how many reports the way there is told.
const SHOWN: usize = 16;

/// Conflicts at one pair of places: the first one, the cells where its two operations meet, and which ranks have it.
struct Group<'c, 'p> {
    conflict: &'c Conflict<'p>,
    cells: Range<u64>,
    ranks: BTreeSet<(RankId, RankId)>,
}

/// One report for each pair of places. Where threads of a block do not meet, or a rank is touched too early, what
/// follows from it is left out.
pub(super) fn reports(program: &Program, parts: u32, conflicts: Vec<Conflict>) -> Vec<Diagnostic> {
    if conflicts.is_empty() {
        return Vec::new();
    }
    let words = Words { program, parts, relaxed: has_relaxed(program) };
    let past = Past::new(program, parts);
    let mut found = Found::default();
    let mut shown = 0;
    for group in grouped(program, &conflicts) {
        found.add_told(words.report(group.conflict), |report| {
            shown += 1;
            let report = others(&group.ranks, report);
            match past.as_ref().filter(|_| shown <= SHOWN) {
                Some(past) => witness::show(past, group.conflict, group.cells, report),
                None => report,
            }
        });
    }
    found.finish("place")
}

/// The conflicts of the kind that comes first, by place, and those that may be its cause.
fn grouped<'c, 'p>(program: &Program, conflicts: &'c [Conflict<'p>]) -> Vec<Group<'c, 'p>> {
    let worst = conflicts.iter().map(|conflict| rank_of(conflict.kind)).min();
    let mut groups: Vec<Group<'c, 'p>> = Vec::new();
    let mut known: BTreeMap<(Kind, source::Place, source::Place), usize> = BTreeMap::new();
    for conflict in conflicts.iter().take(LOOKED_AT) {
        if Some(rank_of(conflict.kind)) != worst && !may_cause(conflict, worst) {
            continue;
        }
        let (first, second) = (&conflict.first, &conflict.second);
        let place = |touch: &Touch| program.origins.place(touch.op.origin);
        let (one, other) = (place(first), place(second));
        let key = (conflict.kind, one.min(other), one.max(other));
        let row = *known.entry(key).or_insert(groups.len());
        let (cell, owner) = (u64::from(conflict.second.said.1), conflict.place.rank);
        let ranks = match conflict.kind {
            Kind::Race | Kind::Launches | Kind::Twice => (first.rank, second.rank),
            Kind::Threads | Kind::Start | Kind::End | Kind::Unwritten => (first.rank, owner),
        };
        match groups.get_mut(row) {
            Some(group) => {
                group.ranks.insert(ranks);
                if meets_on(group.conflict, conflict, group.cells.end) {
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

/// Whether a conflict may be the cause of one that comes before it: a block that another one of its rank tells nothing does
/// not know either what that one has heard of: of ranks that have started, and of what they have done.
fn may_cause(conflict: &Conflict, worst: Option<u8>) -> bool {
    worst == Some(rank_of(Kind::Start)) && conflict.kind == Kind::Race
}

/// Whether a conflict is the same one, a cell further.
fn meets_on(one: &Conflict, other: &Conflict, cell: u64) -> bool {
    let who = |touch: &Touch| (touch.agent, touch.step, touch.said.0);
    one.place.rank == other.place.rank
        && who(&one.first) == who(&other.first)
        && who(&one.second) == who(&other.second)
        && u64::from(other.second.said.1) == cell
}

/// Says how many other ranks have it too.
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

/// Everything that meets.
pub(super) fn met(program: &Program, conflicts: &[Conflict]) -> BTreeSet<Met> {
    let place = |touch: &Touch| program.origins.place(touch.op.origin);
    let all = conflicts.iter().take(LOOKED_AT);
    let met = |one: &Conflict| Met::new(code(one.kind), place(&one.first), place(&one.second));
    all.filter_map(met).collect()
}

/// The order of causes and effects that a code has; none of other codes.
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

/// Causes before effects. Where it is open which packet is found, nothing is known through it.
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

fn has_relaxed(program: &Program) -> bool {
    let mut found = false;
    for block in program.ranks.iter().flat_map(|rank| &rank.blocks) {
        each_op(&block.ops, &mut |op| {
            found |=
                matches!(&op.action, Action::Signal(list) | Action::Wait(list) if list.relaxed);
        });
    }
    found
}

struct Words<'a> {
    program: &'a Program,
    parts: u32,
    /// Whether any signal or wait is relaxed. Where none is, only packets order no more than execution.
    relaxed: bool,
}

impl Words<'_> {
    fn report(&self, conflict: &Conflict) -> Diagnostic {
        match conflict.kind {
            Kind::Race => self.race(conflict),
            Kind::Threads => self.threads(conflict),
            Kind::Start => self.start(conflict),
            Kind::End => self.end(conflict),
            Kind::Unwritten => self.unwritten(conflict),
            Kind::Twice => self.twice(conflict),
            Kind::Launches => self.launches(conflict),
        }
    }

    fn race(&self, conflict: &Conflict) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        let place = self.place(conflict);
        let owner = conflict.place.rank;
        let message = match (first.rank == second.rank, first.rank == owner) {
            (true, true) => format!(
                "{} of rank {} {} {place} while {} may be {} it",
                self.agent(second),
                owner.0,
                does(second),
                self.agent(first),
                doing(first)
            ),
            (true, false) => format!(
                "{} of rank {} {} {place} of rank {} while {} of rank {} may be {} it",
                self.agent(second),
                second.rank.0,
                does(second),
                owner.0,
                self.agent(first),
                first.rank.0,
                doing(first)
            ),
            (false, _) => format!(
                "rank {} {} {} while rank {} may be {} it",
                second.rank.0,
                does(second),
                self.whose(conflict, second.rank),
                first.rank.0,
                doing(first)
            ),
        };
        let report = Diagnostic::new(Code::E0501, self.at(second), message)
            .label(self.label(second))
            .and(self.at(first), self.label(first));
        let report = match (conflict.relaxed, self.relaxed) {
            (true, true) => {
                return report
                    .note("what lies between them orders execution, not memory: a relaxed signal, or packets")
                    .help("leave `relaxed` out of the signal and the wait between the two");
            }
            (true, false) => report.note(ONLY_PACKETS),
            (false, _) => report.note("nothing orders the two"),
        };
        let own = match first.write && second.write {
            true => "let each write a chunk of its own; or ",
            false => "",
        };
        match first.rank == second.rank {
            true => report.help(format!(
                "{own}let {} release a semaphore when it is done, and {} acquire it first, or the other way round",
                self.agent(first),
                self.agent(second)
            )),
            false => report.help(format!(
                "{own}let rank {} signal when it is done, and rank {} wait for that first, or the other way round",
                first.rank.0, second.rank.0
            )),
        }
    }

    fn threads(&self, conflict: &Conflict) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        let place = self.place(conflict);
        let what = match first.write && second.write {
            true => "both write".to_string(),
            false => format!("{} and {}", bare(first), bare(second)),
        };
        let message = format!(
            "threads of one block {what} {place} of rank {} without meeting in between",
            conflict.place.rank.0
        );
        Diagnostic::new(Code::E0503, self.at(second), message)
            .label(self.label(second))
            .and(self.at(first), self.label(first))
            .note("an operation is spread over all threads of its block, and each goes on when its part is done")
            .help("put `sync;` between the two, or leave synchronization inside blocks to the compiler")
    }

    fn start(&self, conflict: &Conflict) -> Diagnostic {
        let touch = &conflict.first;
        let owner = conflict.place.rank.0;
        let message = format!(
            "rank {} {} {} of rank {owner}, which may not have started",
            touch.rank.0,
            does(touch),
            self.place(conflict)
        );
        Diagnostic::new(Code::E0510, self.at(touch), message)
            .label(self.label(touch))
            .note(format!(
                "until rank {owner} starts, this memory is in use by what ran there before"
            ))
            .help(format!("wait for a signal of rank {owner} first; `relaxed` is enough"))
    }

    fn end(&self, conflict: &Conflict) -> Diagnostic {
        let touch = &conflict.first;
        let owner = conflict.place.rank.0;
        let place = self.place(conflict);
        let message = match touch.rank == conflict.place.rank {
            true => format!(
                "the proxy of rank {owner} may still be {} {place} when the kernel ends",
                doing(touch)
            ),
            false => format!(
                "rank {} may still be {} {place} of rank {owner} when its kernel ends",
                touch.rank.0,
                doing(touch)
            ),
        };
        let report = Diagnostic::new(Code::E0512, self.at(touch), message)
            .label(self.label(touch))
            .note(format!("rank {owner}'s user may overwrite its buffers, or read them, as soon as its kernel has ended"));
        match (touch.rank == conflict.place.rank, conflict.relaxed) {
            (true, _) => report.help("use `put_with_signal_and_flush`, or wait for a strong answer of the peer"),
            (false, true) if self.relaxed => report
                .note("what lies between orders execution, not memory: a relaxed signal, or packets")
                .help("leave `relaxed` out of the last signal and wait"),
            (false, _) => report
                .help(format!("signal rank {owner} after this, and let it wait before it ends; both without `relaxed`")),
        }
    }

    fn unwritten(&self, conflict: &Conflict) -> Diagnostic {
        let touch = &conflict.first;
        let message = format!(
            "rank {} reads {}, which nobody has written",
            touch.rank.0,
            self.whose(conflict, touch.rank)
        );
        Diagnostic::new(Code::E0520, self.at(touch), message)
            .label(self.label(touch))
            .note("it holds what was left there, by an earlier launch or by anyone")
            .help("write it first, in this launch, or read what is written")
    }

    fn twice(&self, conflict: &Conflict) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        let place = self.place(conflict);
        let message = format!(
            "two packets are written to {place} of rank {} in one launch",
            conflict.place.rank.0
        );
        Diagnostic::new(Code::E0521, self.at(second), message)
            .label(self.label(second))
            .and(self.at(first), self.label(first))
            .note("both carry the flag of the launch, and its reader takes whichever it finds")
            .help(match first.rank == second.rank {
                true => "give each its own slot".to_string(),
                false => format!(
                    "give each rank that writes there a slot of its own on rank {}",
                    conflict.place.rank.0
                ),
            })
    }

    fn launches(&self, conflict: &Conflict) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        let launch = if self.program.options.double_scratch {
            "an earlier launch"
        } else {
            "the launch before"
        };
        let message = format!(
            "rank {} {} {} while rank {} may still be {} it in {launch}",
            second.rank.0,
            does(second),
            self.whose(conflict, second.rank),
            first.rank.0,
            doing(first)
        );
        let doubled = match self.program.options.double_scratch {
            true => "",
            false => ", or take `double_scratch = true` for packets",
        };
        Diagnostic::new(Code::E0515, self.at(second), message)
            .label(self.label(second))
            .and(self.at(first), self.label(first))
            .note("scratch lives from launch to launch, and ranks do not start together")
            .help(format!("let the reader answer before the launch ends{doubled}"))
    }

    fn at(&self, touch: &Touch) -> source::Place {
        self.program.origins.place(touch.op.origin)
    }

    fn label(&self, touch: &Touch) -> String {
        let values = self.program.origins.values(touch.op.origin);
        let values =
            if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
        format!("rank {}, {}, {} it{values}", touch.rank.0, self.agent(touch), does(touch))
    }

    /// "block `main`", or "a proxy" where the block has handed the operation on.
    fn agent(&self, touch: &Touch) -> String {
        let before: usize =
            self.program.ranks.iter().take(touch.rank.index()).map(|rank| rank.blocks.len()).sum();
        let blocks = self.program.ranks.lookup(touch.rank).map(|rank| &rank.blocks);
        let block = (touch.agent as usize).checked_sub(before).map(BlockId::from_index);
        match block.and_then(|block| blocks.and_then(|blocks| blocks.lookup(block))) {
            Some(block) => format!("block `{}`", block.name),
            None => "the proxy of a port channel".to_string(),
        }
    }

    /// "its `output[3]`", "`output[3]` of rank 1", as seen from a rank.
    fn whose(&self, conflict: &Conflict, from: RankId) -> String {
        let owner = conflict.place.rank;
        let place = self.place(conflict);
        if owner == from { format!("its {place}") } else { format!("{place} of rank {}", owner.0) }
    }

    /// "`output[3]`", by the name that the author uses.
    fn place(&self, conflict: &Conflict) -> String {
        let (buffer, cell) = conflict.second.said;
        let chunk = u64::from(cell / self.parts.max(1));
        names::chunk(self.program, conflict.place.rank, buffer, chunk)
    }
}

fn does(touch: &Touch) -> &'static str {
    if touch.write { "writes" } else { "reads" }
}

fn doing(touch: &Touch) -> &'static str {
    if touch.write { "writing" } else { "reading" }
}

fn bare(touch: &Touch) -> &'static str {
    debug_assert!(
        matches!(touch.op.action, Action::Transfer(_)),
        "only data operations touch memory"
    );
    if touch.write { "write" } else { "read" }
}
