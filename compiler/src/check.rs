//! The checks of a concrete program, and the list of them.
//!
//! In: a program, joins implied or explicit. Out: its mistakes, those that it has on any target; what a particular
//! target cannot run is checked in [`limits`]. The first check that finds something ends the list: later findings would
//! only be consequences.

pub mod limits;

mod begun;
pub mod budget;
mod borders;
pub(crate) mod calls;
mod classes;
mod clobber;
mod deadlock;
mod ends;
mod event_graph;
mod explore;
mod found;
pub(crate) mod machine;
mod matching;
pub(crate) mod names;
mod nearest;
mod patterns;
mod promise;
mod pushers;
mod race;
mod ring;
mod same;
mod shared;
mod sizes;
mod unrolled;
mod weakest;
mod windows;

use crate::bytes;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::interpreter::{self, Memory, Outcome, Stuck};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::ir::grain::{Grain, count_parts};
use crate::ir::windows::choose_windows;
use crate::phase::phase;
use crate::source::At;
use budget::{Exceeded, PARTS, RUN, SIZES};
use classes::{Class, Classes, LeftOut, Sought};
use race::{Beyond, Folded, Races, Seen, Writes};
use sizes::Sizes;
use std::cell::LazyCell;

/// Which ranks the checks follow. The findings are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// Only representatives, where ranks are symmetric.
    Few,
    /// Every rank.
    All,
}

/// What a check learned about a program.
#[derive(Debug, Default)]
pub struct Known {
    /// Which ranks represent which others: that may still hold for the programs that passes make of it.
    fold: Option<race::Fold>,
    /// Whether launches with messages of different sizes may follow each other.
    any_size: bool,
}

impl Known {
    /// Whether launches of the program that was checked last may follow each other whatever the sizes of their messages:
    /// proved, not assumed.
    #[must_use]
    pub fn any_size(&self) -> bool {
        self.any_size
    }

    /// How many ranks of the program are followed, as representatives of all.
    #[must_use]
    pub fn followed(&self, program: &ir::Program) -> usize {
        self.fold.as_ref().map_or(program.ranks.len(), |fold| fold.followed(program).count())
    }
}

/// Checks a program.
#[must_use]
pub fn check(program: &ir::Program, interrupt: &Interrupt) -> Vec<Diagnostic> {
    check_following(program, Ranks::Few, interrupt)
}

/// Whether the checks find nothing in a program, not even that something cannot be checked. They cannot be interrupted.
#[must_use]
pub fn finds_nothing(program: &ir::Program) -> bool {
    check(program, &Interrupt::default()).is_empty()
}

/// Checks a program about which something may be known already, and adds to what is known.
#[must_use]
pub fn check_again(
    program: &ir::Program,
    known: &mut Known,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    check_with(program, (Ranks::Few, known), interrupt)
}

/// How many ranks are followed, as representatives of all.
#[must_use]
pub fn followed(program: &ir::Program) -> usize {
    Folded::of(program, None).map_or(program.ranks.len(), |folded| folded.followed())
}

/// A program, and the representatives of its ranks where these are symmetric.
struct Subject<'p> {
    program: &'p ir::Program,
    folded: Option<Folded<'p>>,
}

impl<'p> Subject<'p> {
    fn new(program: &'p ir::Program, ranks: Ranks, known: &Known) -> Subject<'p> {
        let few = ranks == Ranks::Few;
        let folded = few.then(|| Folded::of(program, known.fold.as_ref())).flatten();
        Subject { program, folded }
    }

    /// How many cells are followed in a class of uneven slices, by representatives if there are any.
    fn cells(&self, class: &Class) -> u64 {
        let (Some(grain), Some(_)) = (class.coarse, class.size) else { return 0 };
        let program = class.program.as_deref().unwrap_or(self.program);
        let all = program.ranks.len();
        let followed = self.folded.as_ref().map_or(all, |folded| folded.followed());
        grain.cells(program.ranks.iter().take(followed).map(ir::Rank::all_chunks).sum())
    }
}

/// Checks a program, following the ranks that `ranks` says.
#[must_use]
pub fn check_following(
    program: &ir::Program,
    ranks: Ranks,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    check_with(program, (ranks, &mut Known::default()), interrupt)
}

fn check_with(
    program: &ir::Program,
    following: (Ranks, &mut Known),
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    calls::told(&program.origins, found_in(program, following, interrupt))
}

fn found_in(
    program: &ir::Program,
    (ranks, known): (Ranks, &mut Known),
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    known.any_size = false;
    if let Some(report) = unrolled::too_many(program) {
        return vec![report];
    }
    let balancing = phase("balance", "");
    let unbalanced = matching::check(program);
    drop(balancing);
    if !unbalanced.is_empty() {
        return weakest::mend(program, count_parts(program), unbalanced, interrupt);
    }
    if interrupt.is_set() {
        return unbalanced;
    }
    let folding = phase("ranks alike", "");
    let subject = Subject::new(program, ranks, known);
    drop(folding);
    known.fold = subject.folded.as_ref().map(|folded| folded.fold().clone());
    let mut sizes = Sizes::of(program, Writes::Together);
    let mut classes = classes::classes(program);
    let mut found: Vec<Diagnostic> = Vec::new();
    let (mut cells, mut checked) = (0, 0);
    for class in &classes.all {
        if interrupt.is_set() || has_errors(&found) {
            break;
        }
        cells += subject.cells(class);
        if let Err(exceeded) = SIZES.allow(cells) {
            found.push(sizes_too_many(program, class, exceeded));
            break;
        }
        checked += 1;
        let more = in_class(&subject, class, (ranks, known), &mut sizes, interrupt);
        for report in told(program, class, more, interrupt) {
            if found.iter().all(|known| known.message != report.message) {
                found.push(report);
            }
        }
    }
    classes.all.truncate(checked);
    if !has_errors(&found) {
        found.extend(classes.left_out.and_then(|why| sizes_left_out(program, why)));
    }
    if !has_errors(&found) && choose_windows(program).are_left_out() {
        found.extend(without_windows(program));
    }
    if !has_errors(&found) {
        if sizes.needs_each_write() {
            let each = Again { ranks, known, classes: &classes, writes: Writes::Each };
            sizes = again(&subject, each, interrupt);
        }
        let needs_all = sizes.needs_all_ranks(program);
        let sizes = if needs_all { of_all_ranks(program, &classes, interrupt) } else { sizes };
        let is_complete = found.iter().all(|report| report.code != Code::W0501);
        known.any_size = is_complete && !interrupt.is_set() && sizes.may_change();
        found.extend(sizes.report(program, classes::unit(program)));
    }
    found
}

/// How classes are looked at again.
#[derive(Clone, Copy)]
struct Again<'a> {
    ranks: Ranks,
    known: &'a Known,
    classes: &'a Classes,
    writes: Writes,
}

/// Whether launches of different sizes may follow each other, from looking at all classes again.
fn again(subject: &Subject<'_>, again: Again<'_>, interrupt: &Interrupt) -> Sizes {
    let Again { ranks, known, classes, writes } = again;
    let mut sizes = Sizes::of(subject.program, writes);
    for class in &classes.all {
        if interrupt.is_set() {
            break;
        }
        in_class(subject, class, (ranks, known), &mut sizes, interrupt);
    }
    sizes
}

/// The same, from following every rank.
fn of_all_ranks(program: &ir::Program, classes: &Classes, interrupt: &Interrupt) -> Sizes {
    let subject = Subject { program, folded: None };
    let known = Known::default();
    let first = Again { ranks: Ranks::All, known: &known, classes, writes: Writes::Together };
    let sizes = again(&subject, first, interrupt);
    if sizes.needs_each_write() {
        again(&subject, Again { writes: Writes::Each, ..first }, interrupt)
    } else {
        sizes
    }
}

fn has_errors(found: &[Diagnostic]) -> bool {
    found.iter().any(|report| report.severity == Severity::Error)
}

/// What is found for a class of message sizes.
fn in_class(
    subject: &Subject<'_>,
    class: &Class,
    (ranks, known): (Ranks, &Known),
    sizes: &mut Sizes,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    let program = class.program.as_deref().unwrap_or(subject.program);
    if let (Some(program), Err(exceeded)) = (&class.program, unrolled::allow(program)) {
        return not_made(program, "for all messages that it serves", exceeded, interrupt);
    }
    match (class.sought, &class.program) {
        (Sought::Ends, _) => standing(program, class.parts, interrupt),
        (Sought::All, None) => with_parts(subject, class, sizes, interrupt),
        (Sought::All, Some(_)) => {
            with_parts(&Subject::new(program, ranks, known), class, sizes, interrupt)
        }
    }
}

/// Whether some block can never go on.
fn standing(program: &ir::Program, parts: u32, interrupt: &Interrupt) -> Vec<Diagnostic> {
    match outcome(|| interpreter::run_in(program, parts, RUN.amount())) {
        Outcome::Stuck(stuck) => deadlocks(program, parts, &stuck),
        Outcome::Finished(_) => shared::check(program),
        Outcome::TooLong => {
            not_made(program, "for deadlocks in long messages", RUN.exceeded(), interrupt)
        }
    }
}

/// Reports that also say for which message sizes they hold. Suggested changes and witnesses belong to the program that
/// was checked: where that is a variant of the given one, the reports have neither.
fn told(
    program: &ir::Program,
    class: &Class,
    found: Vec<Diagnostic>,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    let found = match &class.program {
        None => weakest::mend(program, class.parts, found, interrupt),
        Some(_) => weakest::first_kind(found),
    };
    let seen = found.into_iter().map(|mut report| {
        if !class.has_witnesses() {
            report.witness = None;
        }
        if let Some(witness) = &mut report.witness {
            witness.message_size = class.size;
        }
        // Of a check that was not run, nothing is known to happen.
        match &class.said {
            Some(said) if report.code != Code::W0501 => report.note(said.as_str()),
            Some(_) | None => report,
        }
    });
    seen.collect()
}

/// Checks a balanced program whose chunks are cut into parts as a class says.
fn with_parts(
    subject: &Subject<'_>,
    class: &Class,
    sizes: &mut Sizes,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    let program = subject.program;
    let (parts, coarse) = (class.parts, class.coarse);
    let unproved = LazyCell::new(|| shared::check(program));
    let grain = coarse.unwrap_or_else(|| Grain::parts(parts));
    let following = phase("races", "");
    let seen = subject.folded.as_ref().map(|folded| {
        let (seen, across) = folded.look(grain, sizes.beyond(), interrupt);
        sizes.add(across);
        seen
    });
    drop(following);
    let is_sound = match (seen, coarse) {
        (Some(Seen::Sound), _) => true,
        (Some(Seen::Apart), _) | (_, None) => false,
        (Some(Seen::Unclear) | None, Some(grain)) => is_sound_at(program, grain, sizes, interrupt),
    };
    if is_sound && unproved.is_empty() {
        return same_bits(program, (grain, parts), interrupt);
    }
    match outcome(|| interpreter::run_in(program, parts, RUN.amount())) {
        Outcome::Stuck(stuck) => deadlocks(program, parts, &stuck),
        Outcome::Finished(memory) => {
            let rewritten = memory.rewritten();
            let unequal = same::check(program, &memory);
            let broken = broken(program, memory);
            let racing = phase("races", "");
            let races = match seen {
                Some(Seen::Apart | Seen::Sound) => Races::Found(Vec::new(), None),
                Some(Seen::Unclear) | None => {
                    race::check(program, &rewritten, sizes.beyond(), interrupt)
                }
            };
            drop(racing);
            let races = match races {
                Races::Found(races, across) => {
                    sizes.add(across);
                    races
                }
                Races::Standing(stuck) => {
                    let found = in_some_schedule(program, parts, &stuck);
                    return or_else(found, || not_followed(program, interrupt));
                }
                Races::TooLong(exceeded) => {
                    let found = at_coarse_grain(subject, grain, interrupt);
                    or_else(found, || not_made(program, "for races", exceeded, interrupt))
                }
                Races::Interrupted => Vec::new(),
                Races::Lost => not_followed(program, interrupt),
            };
            let racing = races.iter().any(|report| report.severity == Severity::Error);
            let broken = broken.filter(|_| !racing);
            let broken = broken.map_or(Vec::new(), |memory| promise::check(program, &memory));
            let found = races.into_iter().chain(broken);
            let mut found: Vec<Diagnostic> = found.chain(unproved.iter().cloned()).collect();
            if !has_errors(&found) {
                found.extend(unequal);
            }
            found
        }
        Outcome::TooLong => {
            let what = "for deadlocks, races and wrong outputs";
            let found = at_coarse_grain(subject, grain, interrupt);
            or_else(found, || not_made(program, what, RUN.exceeded(), interrupt))
        }
    }
}

/// Whether outputs have the same bits where that is promised, in a program of which all else is known to be right. Every rank
/// is followed: which operands a representative adds first does not say which ones the others do. What is found at a coarse
/// grain is looked for again at the finest one, since reports name single chunks.
fn same_bits(
    program: &ir::Program,
    (grain, parts): (Grain, u32),
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    if program.ranks.iter().all(|rank| rank.same.is_empty()) {
        return Vec::new();
    }
    let found = match outcome(|| interpreter::run_at(program, grain, RUN.amount())) {
        Outcome::Finished(memory) => same::check(program, &memory),
        Outcome::Stuck(_) | Outcome::TooLong => {
            return not_made(program, "for equal bits", RUN.exceeded(), interrupt);
        }
    };
    let Some(coarse) = found else { return Vec::new() };
    let fine = match outcome(|| interpreter::run_in(program, parts, RUN.amount())) {
        Outcome::Finished(memory) => same::check(program, &memory),
        Outcome::Stuck(_) | Outcome::TooLong => None,
    };
    vec![fine.unwrap_or(coarse)]
}

/// The races of a program that is too large to be looked at chunk by chunk and rank by rank, as far as they show without.
fn at_coarse_grain(subject: &Subject<'_>, grain: Grain, interrupt: &Interrupt) -> Vec<Diagnostic> {
    let found = match &subject.folded {
        Some(folded) => folded.reports(grain, interrupt),
        None => match outcome(|| interpreter::run_at(subject.program, grain, RUN.amount())) {
            Outcome::Finished(memory) => {
                let rewritten = memory.rewritten();
                match race::check(subject.program, &rewritten, Beyond::Nothing, interrupt) {
                    Races::Found(races, _) => races,
                    Races::Standing(_) | Races::TooLong(_) | Races::Interrupted | Races::Lost => {
                        Vec::new()
                    }
                }
            }
            Outcome::Stuck(_) | Outcome::TooLong => Vec::new(),
        },
    };
    let note = "the program is too large to say which other ranks and chunks it concerns";
    found.into_iter().map(|report| report.note(note)).collect()
}

fn or_else(found: Vec<Diagnostic>, other: impl FnOnce() -> Vec<Diagnostic>) -> Vec<Diagnostic> {
    if found.is_empty() { other() } else { found }
}

/// Why the run on symbols comes to a stop. Where several blocks take from one counter, what seems to be missing may have gone
/// to another one.
fn deadlocks(program: &ir::Program, parts: u32, stuck: &[Stuck]) -> Vec<Diagnostic> {
    let reports = deadlock::explain(program, parts, stuck);
    let unanswered = reports.iter().any(|report| report.code == Code::E0602);
    let taken = unanswered.then(|| explore::standing(program, stuck)).flatten();
    taken.map_or(reports, |report| vec![report])
}

/// Why the run that looks for races comes to a stop where the run on symbols has come to its end.
fn in_some_schedule(program: &ir::Program, parts: u32, stuck: &[Stuck]) -> Vec<Diagnostic> {
    match explore::standing(program, stuck) {
        Some(report) => vec![report],
        None => deadlock::explain(program, parts, stuck),
    }
}

/// Whether nothing is found at a coarse grain, which treats as one what is always used together. Where something is
/// found, the program has to be checked again at the finest grain, since reports name single chunks.
fn is_sound_at(
    program: &ir::Program,
    grain: Grain,
    sizes: &mut Sizes,
    interrupt: &Interrupt,
) -> bool {
    match outcome(|| interpreter::run_at(program, grain, RUN.amount())) {
        Outcome::Finished(memory) => {
            let rewritten = memory.rewritten();
            if broken(program, memory).is_some() {
                return false;
            }
            let _racing = phase("races", "");
            let (are_none, across) = race::are_none(program, &rewritten, sizes.beyond(), interrupt);
            sizes.add(across);
            are_none
        }
        Outcome::Stuck(_) | Outcome::TooLong => false,
    }
}

/// The memory that a run left, where it does not hold what is promised. Otherwise it is dropped: nobody needs it again,
/// and it takes more room than everything else.
fn broken(program: &ir::Program, memory: Memory) -> Option<Memory> {
    Some(memory).filter(|memory| !interpreter::keeps_promises(program, memory))
}

/// The outcome of a symbolic run, which shows deadlocks and what is left in memory.
fn outcome<T>(run: impl FnOnce() -> T) -> T {
    let _running = phase("run on symbols", "");
    run()
}

/// Writes to inputs, for a program that comes from a plan: in source, they are reported before.
#[must_use]
pub fn written_inputs(program: &ir::Program) -> Vec<Diagnostic> {
    clobber::check(program)
}

/// The warning for a program whose windows cannot be whole parts of chunks: it is checked for messages of one window only.
fn without_windows(program: &ir::Program) -> Option<Diagnostic> {
    let pipeline = program.all_ops().find(|op| op.pipeline().is_some())?;
    let message = "messages of more than one window are not checked: the units of the pipelines have too large a common multiple";
    let report = PARTS.exceeded().warning(Some(program.origins.at(pipeline.origin)), message);
    Some(report.help("choose units that divide each other"))
}

/// The warning that says for which messages a program is not checked.
fn sizes_left_out(program: &ir::Program, why: LeftOut) -> Option<Diagnostic> {
    let is_about = |op: &&ir::Op| match why {
        LeftOut::Windows(_) => op.pipeline().is_some(),
        LeftOut::Patterns(_)
        | LeftOut::InPipelines
        | LeftOut::BesideWindows
        | LeftOut::FewWindows => op.transfer().is_some_and(|one| one.slice.is_some()),
    };
    let at = program.all_ops().find(is_about).map(|op| program.origins.at(op.origin))?;
    Some(match why {
        LeftOut::Patterns(exceeded) => exceeded
            .warning(Some(at), "messages whose slices come out uneven are not checked: they end in too many ways")
            .help("give groups that share memory numbers of blocks that divide each other"),
        LeftOut::Windows(exceeded) => exceeded
            .warning(Some(at), "some messages that go through few windows of pipelines are not checked")
            .help("let all pipelines have windows of one size, over as many chunks each, or serve fewer sizes of messages"),
        LeftOut::FewWindows => Diagnostic::new(
            Code::W0501,
            at,
            "messages that go through few windows of pipelines and whose slices come out uneven are not checked",
        )
        .help("serve messages of one window, or only longer ones, or share out operations evenly"),
        LeftOut::InPipelines => Diagnostic::new(
            Code::W0501,
            at,
            "messages whose slices come out uneven are not checked: slices are in a pipeline",
        )
        .help("let whole blocks run the pipeline, or serve messages of one size"),
        LeftOut::BesideWindows => Diagnostic::new(
            Code::W0501,
            at,
            "messages of more than one window whose slices come out uneven are not checked: a pipeline uses the same memory",
        )
        .help("serve messages of one window or of one size, or share out chunks that no pipeline uses"),
    })
}

/// The warning that says from which size on messages are not checked for uneven slices.
fn sizes_too_many(program: &ir::Program, class: &Class, exceeded: Exceeded) -> Diagnostic {
    let size =
        class.size.map_or(String::new(), |size| format!(" of {} and others", bytes::text(size)));
    let message = format!(
        "messages{size} whose slices come out uneven are not checked: this program is too large"
    );
    let report = exceeded.warning(program.collective.place.map(At::from), message);
    report.help("check it with fewer chunks or ranks, or with a range of `message_size` for each of these sizes")
}

/// The warning that says which check was not made, so that none is skipped silently.
fn not_made(
    program: &ir::Program,
    what: &str,
    exceeded: Exceeded,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    if interrupt.is_set() {
        return Vec::new();
    }
    let message = format!("this program is too large to be checked {what}");
    let report = exceeded.warning(program.collective.place.map(At::from), message);
    let report = report
        .help("check it with fewer chunks or ranks: a program that is right there is usually right with more");
    vec![report]
}

/// The warning about a program that comes to its end on symbols, but not where races are looked for, without a reason.
fn not_followed(program: &ir::Program, interrupt: &Interrupt) -> Vec<Diagnostic> {
    if interrupt.is_set() {
        return Vec::new();
    }
    let message = "this program cannot be followed to its end where races are looked for";
    let report = match program.collective.place {
        Some(place) => Diagnostic::new(Code::W0501, place, message),
        None => Diagnostic::without_place(Code::W0501, message),
    };
    vec![report.help("let no two blocks share an end of a channel or a semaphore")]
}
