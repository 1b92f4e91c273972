//! Whether the checker refuses exactly the programs that go wrong.
//!
//! Every mutant of the corpus that some schedule shows to be wrong must be refused, and every other one accepted,
//! except for mutants in which one counter has several users, which the checker refuses for that reason. Schedules are
//! random; if none of them shows why a mutant is refused, the schedule in its report is tried, too.
//!
//! `ORACLE=full` tries far more. `ORACLE_SEED` selects other random choices, `ORACLE_STRIDE` every n-th program,
//! `ORACLE_MUTANTS` the number of mutants of each kind and program, `ORACLE_RARE` the same for kinds of which there are
//! few, and `ORACLE_GOLDENS` a factor for plans. `ORACLE_PART=2/6` runs one of six parts, whose rates must be added up,
//! and `ORACLE_KIND` only the kinds of change whose names contain the text. `ORACLE_SHOW` prints the programs whose
//! names contain the text. `docs/proof.md` has the results.

use crate::corpus::{Form, corpus, defective};
use crate::is_full;
use crate::machine::{Kind, Verdict};
use crate::mutants::{Count, Mutant, mutants};
use crate::random;
use crate::schedule::{Effort, Found, explore, places};
use crate::witnesses::a_witness_shows;
use compiler::check;
use compiler::diagnostic::{Code, Severity};
use compiler::interrupt::Interrupt;
use compiler::ir::{Program, Rank};
use std::collections::{BTreeMap, BTreeSet};

/// How often the oracle and the checker gave each combination of verdicts for a kind of mutant.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    wrong_refused: u32,
    wrong_accepted: u32,
    /// Mutants that are right: the change makes no difference that matters.
    right_accepted: u32,
    right_refused: u32,
    /// Right in all schedules that were tried, but refused because a counter has several users.
    outside: u32,
    /// Wrong values that no race explains.
    unexplained: u32,
    /// Wrong mutants that values, counters or a deadlock show to be wrong.
    shown: u32,
    /// Wrong mutants that no random schedule shows to be wrong, but the one in a report.
    rare: u32,
}

#[test]
fn mutants_are_refused_where_they_go_wrong() {
    let seed = number("ORACLE_SEED", 1, 1);
    let stride = number("ORACLE_STRIDE", 12, 2) as usize;
    let most = number("ORACLE_MUTANTS", 1, 1) as usize;
    let rare = number("ORACLE_RARE", 1, 16) as usize;
    let goldens = number("ORACLE_GOLDENS", 4, 60) as usize;
    let wanted = std::env::var("ORACLE_KIND").unwrap_or_default();
    let (part, parts) = part();
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut surprises = Vec::new();
    let mut made = [0, 0];
    for (i, form) in
        [Form::Written, Form::Passed(1), Form::Passed(2), Form::Plan].into_iter().enumerate()
    {
        // There are few plans compared with programs: more of them are taken, and more mutants of each.
        let (times, stride) = match form {
            Form::Plan => (goldens, (stride / 4).max(1)),
            Form::Written | Form::Passed(_) => (1, stride),
        };
        let count = Count { most: most * times, rare: rare * times };
        for (j, entry) in corpus(&[2, 3, 4], form).into_iter().enumerate() {
            let sampled = entry.is_sampled(stride, i + seed as usize) && j as u64 % parts == part;
            if !sampled || judge(&entry.program, seed).verdict != Verdict::Ok {
                continue;
            }
            let mutants = mutants(&entry.program, count, seed + j as u64);
            for mutant in mutants.iter().filter(|mutant| mutant.kind.contains(&wanted)) {
                let tally = tallies.entry(mutant.kind).or_default();
                made[usize::from(form == Form::Plan)] += 1;
                let Mutant { kind, place, program } = mutant;
                let what = format!("{} {form:?}, {kind} at {place}", entry.name);
                surprises.extend(compare(&what, program, seed, tally));
            }
        }
    }
    report(&tallies);
    let [programs, plans] = made;
    eprintln!("{programs} mutants of programs, {plans} of plans that others made");
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    if parts > 1 || !wanted.is_empty() {
        return;
    }
    assert!(programs + plans > 500 && 4 * plans >= programs, "only {made:?} mutants");
    if is_full() {
        assert!(programs + plans >= 5000 && 2 * plans >= programs, "only {made:?} mutants");
        for (kind, tally) in tallies {
            assert!(tally.wrong_refused >= 100, "only {} wrong: {kind}", tally.wrong_refused);
        }
    }
}

/// Programs from MSCCL++ that are right, but that its executor runs incorrectly: it swaps the offsets of a `get`, and
/// does not wait at a `flush`.
const RIGHT: [&str; 2] = ["unit_tests/get_chunk", "unit_tests/flushed"];

#[test]
fn programs_that_are_known_to_go_wrong_are_refused_by_both() {
    let mut surprises = Vec::new();
    let mut programs = defective(&[2, 3, 4]);
    programs.retain(|entry| !RIGHT.iter().any(|right| entry.name.starts_with(right)));
    for entry in &programs {
        let found = judge(&entry.program, 1);
        let refused = refusals(&entry.program);
        if found.verdict == Verdict::Ok && !found.stale || refused.is_empty() {
            surprises.push(format!("{}: {found:?}, {refused:?}", entry.name));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert!(programs.len() > 25, "only {} programs", programs.len());
}

/// Which part is to be run (from 0), and of how many.
pub(crate) fn part() -> (u64, u64) {
    let text = std::env::var("ORACLE_PART").unwrap_or_default();
    let part = text.split_once('/').and_then(|(part, parts)| {
        let (part, parts): (u64, u64) = (part.parse().ok()?, parts.parse().ok()?);
        (1..=parts).contains(&part).then(|| (part - 1, parts))
    });
    part.unwrap_or((0, 1))
}

/// A number from the environment, or else the default for the short or the full run.
pub(crate) fn number(name: &str, short: u64, full: u64) -> u64 {
    let otherwise = if is_full() { full } else { short };
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn programs_by_lot_are_refused_where_they_go_wrong() {
    let seed = number("ORACLE_SEED", 1, 1);
    let count = number("ORACLE_PROGRAMS", 1500, 20_000);
    let mut tallies = BTreeMap::new();
    let mut surprises = Vec::new();
    let (part, parts) = part();
    for i in (0..count).filter(|i| i % parts == part) {
        let mixed = i % 16 == 0;
        let program = random::program(seed.wrapping_mul(1 << 32) + i, mixed);
        let what = format!("program {i} of seed {seed}");
        let kind =
            if mixed { "random programs, packets over plain chunks" } else { "random programs" };
        let tally = tallies.entry(kind).or_default();
        surprises.extend(compare(&what, &program, seed, tally));
    }
    report(&tallies);
    let right: u32 = tallies.values().map(|tally| tally.right_accepted).sum();
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    assert!(u64::from(right) > count / parts / 10, "only {right} are right");
}

fn judge(program: &Program, seed: u64) -> Found {
    let effort = if is_full() {
        Effort { checked: 4, weak: 8, show: true }
    } else {
        Effort { checked: 1, weak: 2, show: false }
    };
    explore(program, effort, seed)
}

/// The checker's errors about a program.
pub(crate) fn refusals(program: &Program) -> Vec<String> {
    let reports = check::check(program, &Interrupt::default());
    let errors = reports.into_iter().filter(|report| report.severity == Severity::Error);
    let said = errors.map(|report| format!("{} {}", report.code.id(), report.message));
    said.filter(|said| ["E05", "E06", "E07"].iter().any(|group| said.starts_with(group))).collect()
}

/// The codes of the checker's errors about a program, in order.
pub(crate) fn codes(program: &Program) -> BTreeSet<String> {
    let codes = refusals(program).into_iter();
    codes.map(|said| said.split(' ').next().unwrap_or_default().to_owned()).collect()
}

/// Counts the verdicts on a mutant; returns a message if they disagree.
pub(crate) fn compare(
    what: &str,
    program: &Program,
    seed: u64,
    tally: &mut Tally,
) -> Option<String> {
    let found = judge(program, seed);
    let refused = refusals(program);
    if std::env::var("ORACLE_SHOW").is_ok_and(|shown| what.contains(&shown)) {
        let places = places(program, &found);
        eprintln!(
            "{what}: {refused:?}, {found:?}: {places}\n{}",
            compiler::ir::print::print(program).text
        );
    }
    tally.shown += u32::from(found.shown);
    let right = found.verdict == Verdict::Ok;
    let several = refused.iter().any(|said| said.starts_with("E0605")) || is_shared(program);
    let weak = found.schedule.is_some_and(|schedule| schedule.kind == Kind::Weak);
    // That a rank ends too early has nothing to do with memory, and shows in no race.
    let early = matches!(found.verdict, Verdict::Early { .. });
    if weak && !early && !several {
        tally.unexplained += 1;
        return Some(format!("{what}: unexplained: {found:?}"));
    }
    // Memory that was not written in the launch must not be read, whatever the consequences.
    match (right && !found.stale, refused.first()) {
        (true, None) => tally.right_accepted += 1,
        (false, Some(_)) => tally.wrong_refused += 1,
        (true, Some(_)) if several => tally.outside += 1,
        (true, Some(_)) if a_witness_shows(program) => {
            tally.wrong_refused += 1;
            tally.rare += 1;
        }
        (false, None) if several && is_unproved(program) => tally.outside += 1,
        (false, None) => {
            tally.wrong_accepted += 1;
            return Some(format!("{what}: accepted, but {found:?}: {}", places(program, &found)));
        }
        (true, Some(said)) => {
            tally.right_refused += 1;
            return Some(format!("{what}: refused: {said}"));
        }
    }
    None
}

/// Whether the author allows several blocks to use one counter.
fn is_shared(program: &Program) -> bool {
    let shares = |rank: &Rank| {
        rank.channels.iter().any(|channel| channel.shared)
            || rank.semaphores.iter().any(|semaphore| semaphore.shared)
    };
    program.ranks.iter().any(shares)
}

/// Whether the checker says that something about a program is not proved.
pub(crate) fn is_unproved(program: &Program) -> bool {
    let reports = check::check(program, &Interrupt::default());
    reports.iter().any(|report| [Code::W0501, Code::W0502].contains(&report.code))
}

/// Prints the tallies. If more than a few mutants are shown to be wrong only by the schedules in reports, the random
/// schedules are badly chosen.
pub(crate) fn report(tallies: &BTreeMap<&str, Tally>) {
    let mut sum = Tally::default();
    let line = |name: &str, t: &Tally| {
        eprintln!(
            "{name:24} {:8} {:9} {:9} {:9} {:9} {:9} {:9} {:9}",
            t.wrong_refused,
            t.wrong_accepted,
            t.right_accepted,
            t.right_refused,
            t.outside,
            t.unexplained,
            t.shown,
            t.rare
        );
    };
    eprintln!(
        "{:24} {:>18} {:>19} {:>9} {:>9} {:>9} {:>9}",
        "", "wrong: ref. acc.", "equal: acc. ref.", "outside", "unexpl.", "shown", "rare"
    );
    for (name, t) in tallies {
        line(name, t);
        sum.wrong_refused += t.wrong_refused;
        sum.wrong_accepted += t.wrong_accepted;
        sum.right_accepted += t.right_accepted;
        sum.right_refused += t.right_refused;
        sum.outside += t.outside;
        sum.unexplained += t.unexplained;
        sum.shown += t.shown;
        sum.rare += t.rare;
    }
    line("all", &sum);
    assert!(1000 * sum.rare <= sum.wrong_refused, "{} only by reports' schedules", sum.rare);
}
