//! Comparing two plans by what they do.
//!
//! In: the texts of two plans, with what is known about their collectives. Out: whether they are the same in the
//! listing's normal form, and reports about what differs.
//! * E0902: one of them is not a plan.
//! * E0908: they differ; the first report says whether their outputs do, and whether they are proved.

mod lists;

use super::{Known, contract, decompile, has_errors, verify};
use crate::check::{limits, names};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::interpreter::{self, Combined, Outcome, Value};
use crate::interrupt::Interrupt;
use crate::ir::contribution::Contribution;
use crate::ir::grain::{count_parts, gcd};
use crate::ir::{Action, Block, OriginId, Program, Rank, RankId, all_ops};
use crate::plan::compare::{Difference, compare};
use crate::plan::{self, read};
use crate::source::{FileId, Place, PlanPlace};
use crate::target::Capacity;
use lists::ListDifference;
use std::borrow::Cow;

/// The most differences that are reported.
const MOST_TOLD: usize = 100;

/// For how many steps two plans are run to compare their outputs.
const STEPS: u64 = 200_000_000;

/// Into how many parts chunks may be cut for that.
const MOST_PARTS: u32 = 256;

/// The most contributions to a chunk that are named.
const MOST_NAMED: usize = 4;

/// One of two plans.
#[derive(Clone, Debug)]
pub struct Side<'t> {
    /// Its file, for reports.
    pub file: FileId,
    /// Its text.
    pub text: &'t str,
    /// What is known about its collective.
    pub known: Known,
}

/// Compares two plans; returns whether they are the same, if both are plans.
#[must_use]
pub fn diff(
    left: &Side<'_>,
    right: &Side<'_>,
    capacity: Capacity,
    interrupt: &Interrupt,
) -> (Option<bool>, Vec<Diagnostic>) {
    let (a, mut reports) = read::read(left.file, left.text);
    let (b, others) = read::read(right.file, right.text);
    reports.extend(others);
    let (Some(mut a), Some(mut b)) = (a, b) else { return (None, reports) };
    if has_errors(&reports) {
        return (None, reports);
    }
    if let Some(report) = unfit([(&a, left), (&b, right)], interrupt) {
        return (None, vec![report]);
    }
    let said = [sizes(&a), sizes(&b)];
    for program in [&mut a, &mut b] {
        set_sizes(program, served(program));
    }
    let listing = |side: &Side<'_>| {
        plan::parse(side.file, side.text).map(decompile::listed).unwrap_or_default()
    };
    let (one, other) = (listing(left), listing(right));
    // The listing says nothing about plans that the loader refuses.
    let told_of = !one.lines().any(|line| line.starts_with("REJECT"));
    let parted = decompile::difference(&one, &other);
    let verdict = |side: &Side<'_>| found(side, Severity::Error, capacity, interrupt);
    let meets = [meetings(&a), meetings(&b)];
    let alike = told_of && parted.is_none() && sizes(&a) == sizes(&b) && shapes(&a) == shapes(&b);
    // Where the threads of a block meet is not a difference, and neither are sizes that a plan claims to serve and does
    // not, unless the checks' verdicts on the plans differ.
    let same_verdict = || verdict(left) == verdict(right);
    let claims_differ = said[0] != said[1] && !same_verdict();
    if alike && !claims_differ && (meets[0] == meets[1] || same_verdict()) {
        return (Some(true), reports);
    }
    if claims_differ {
        for (program, sizes) in [&mut a, &mut b].into_iter().zip(said) {
            set_sizes(program, sizes);
        }
    }
    for (program, side) in [(&mut a, left), (&mut b, right)] {
        // How buffers share memory in place decides what is computed.
        if contract::add(program, &side.known, interrupt).is_err() {
            decompile::share(program);
        }
    }
    let differences = compare(&a, &b);
    let unused = lists::differences(&one, &other, !differences.is_empty());
    let message = match differing(differences.len(), unused.len()) {
        Some(what) => format!("the plans differ in {what}"),
        None => "the plans differ in where the threads of a block synchronize".to_owned(),
    };
    let proved =
        |which: &str, side: &Side<'_>| match found(side, Severity::Warning, capacity, interrupt)
            .as_slice()
        {
            [] => format!("the checks find nothing wrong with the {which} plan"),
            codes => format!("the checks find {} in the {which} plan", codes.join(", ")),
        };
    let mut head = Diagnostic::without_place(Code::E0908, message)
        .note(outputs(&a, &b))
        .note(proved("first", left))
        .note(proved("second", right));
    if differences.len() + unused.len() > MOST_TOLD {
        head = head.note(format!("the first {MOST_TOLD} of them are shown"));
    }
    reports.push(head);
    let differences = differences.iter().map(|difference| told(&a, &b, difference));
    let unused = unused.iter().map(|list| list_told(left.file, list));
    reports.extend(differences.chain(unused).take(MOST_TOLD));
    (Some(false), reports)
}

/// Reports what the user says about the collectives of the plans, if it fits none of them.
fn unfit(sides: [(&Program, &Side<'_>); 2], interrupt: &Interrupt) -> Option<Diagnostic> {
    let told = sides.into_iter().filter(|(_, side)| !side.known.given.is_empty());
    let wrong = told.map(|(program, side)| {
        let why = contract::add(&mut program.clone(), &side.known, interrupt).err()?;
        (why.code == Code::E0314).then(|| why.in_plan(side.file))
    });
    wrong.collect::<Option<Vec<Diagnostic>>>()?.into_iter().next()
}

/// The first report; `unused` is where the listings differ, if no operation shows it.
fn differing(things: usize, lists: usize) -> Option<String> {
    let things = match things {
        0 => None,
        1 => Some("one way".to_owned()),
        count => Some(format!("{count} ways")),
    };
    let lists = match lists {
        0 => None,
        1 => Some("one list that no operation uses".to_owned()),
        count => Some(format!("{count} lists that no operation uses")),
    };
    match (things, lists) {
        (Some(things), Some(lists)) => Some(format!("{things}, and in {lists}")),
        (things, lists) => things.or(lists),
    }
}

/// The codes of what the checks find, if it is of this severity or worse.
fn found(
    side: &Side<'_>,
    least: Severity,
    capacity: Capacity,
    interrupt: &Interrupt,
) -> Vec<&'static str> {
    let found = verify(side.file, side.text, &side.known, capacity, interrupt);
    let severe = found.iter().filter(|report| report.severity >= least);
    let mut codes: Vec<&str> = severe.map(|report| report.code.id()).collect();
    codes.dedup();
    codes
}

/// The smallest and the largest message in bytes.
type MessageSizes = (Option<u64>, Option<u64>);

/// The messages that a plan serves; what it leaves open follows from what it does.
fn served(program: &Program) -> MessageSizes {
    let rank_of = |id: RankId| Cow::Borrowed(&program.ranks[id]);
    let (least, most, _) = limits::message_size(program, &mut { rank_of });
    (Some(least), Some(most))
}

/// The messages that a plan says it serves.
fn sizes(program: &Program) -> MessageSizes {
    (program.options.min_message_size, program.options.max_message_size)
}

fn set_sizes(program: &mut Program, (least, most): MessageSizes) {
    program.options.min_message_size = least;
    program.options.max_message_size = most;
}

/// For each rank, its chunks of input and output, and how many blocks it has: the listings that are compared have at
/// least one of each.
fn shapes(program: &Program) -> Vec<(u32, u32, usize)> {
    let shape = |rank: &Rank| (rank.input_chunks, rank.output_chunks, rank.blocks.len());
    program.ranks.iter().map(shape).collect()
}

/// For each block, at which of its operations its threads meet.
fn meetings(program: &Program) -> Vec<Vec<usize>> {
    let of = |block: &Block| {
        let ops = all_ops(&block.ops).enumerate();
        ops.filter(|(_, op)| op.action == Action::Sync).map(|(at, _)| at).collect()
    };
    program.blocks().map(of).collect()
}

fn told(a: &Program, b: &Program, difference: &Difference) -> Diagnostic {
    let place = |program: &Program, origin: OriginId| -> Place { program.origins.place(origin) };
    let (left, right) = (
        difference.left.map(|origin| place(a, origin)),
        difference.right.map(|origin| place(b, origin)),
    );
    let message = difference.message.as_str();
    let report = match (left, right) {
        (Some(left), Some(right)) => {
            Diagnostic::new(Code::E0908, left, message).and(right, "in the second plan")
        }
        (Some(only), None) | (None, Some(only)) => Diagnostic::new(Code::E0908, only, message),
        (None, None) => Diagnostic::without_place(Code::E0908, message),
    };
    also_on(report, &difference.ranks)
}

/// A list that no operation uses and in which the plans differ.
fn list_told(
    file: FileId,
    ListDifference { place: (rank, block), lines, ranks }: &ListDifference,
) -> Diagnostic {
    let place = Place::Plan(PlanPlace { file, rank: Some(rank.0), block: *block, op: None });
    let owner = match block {
        Some(block) => format!("rank {}, block {block}", rank.0),
        None => format!("rank {}", rank.0),
    };
    let [one, other] = lines;
    let report = Diagnostic::new(Code::E0908, place, format!("{owner}: a list differs"))
        .note(format!("the first plan has:  {one}"))
        .note(format!("the second plan has:  {other}"));
    also_on(report, ranks)
}

/// A report of the first of these ranks, for all of them.
fn also_on(report: Diagnostic, on: &[RankId]) -> Diagnostic {
    match on {
        [] | [_] => report,
        [_, others @ ..] => {
            report.note(format!("the same, apart from numbers, on {}", ranks(others)))
        }
    }
}

fn ranks(ranks: &[RankId]) -> String {
    names::ranks(&ranks.iter().map(|rank| rank.0).collect::<Vec<u32>>())
}

/// Says whether two plans compute the same.
fn outputs(a: &Program, b: &Program) -> String {
    let unknown = "it is not known whether they compute the same outputs";
    let sizes = |program: &Program| -> Vec<u32> {
        program.ranks.iter().map(|rank| rank.output_chunks).collect()
    };
    if sizes(a) != sizes(b) {
        return "their outputs have different sizes".to_owned();
    }
    let (one, other) = (count_parts(a), count_parts(b));
    let parts = u64::from(one) / gcd(one.into(), other.into()) * u64::from(other);
    let Some(parts) = u32::try_from(parts).ok().filter(|parts| *parts <= MOST_PARTS) else {
        return unknown.to_owned();
    };
    let run = |program: &Program| -> Result<Vec<Vec<Value>>, &str> {
        match interpreter::run_in(program, parts, STEPS) {
            Outcome::Finished(memory) => {
                Ok(program.ranks.ids().map(|rank| memory.output(program, rank)).collect())
            }
            Outcome::Stuck(_) => Err("does not finish"),
            Outcome::TooLong => Err("is too long to be run symbolically"),
        }
    };
    match (run(a), run(b)) {
        (Ok(a), Ok(b)) => {
            let differing: Vec<RankId> = (0..)
                .map(RankId)
                .zip(a.iter().zip(&b))
                .filter(|(_, (a, b))| a != b)
                .map(|(rank, _)| rank)
                .collect();
            match differing.as_slice() {
                [] => "they compute the same outputs".to_owned(),
                differing => {
                    let example = differing.first().and_then(|rank| {
                        let of = |all: &[Vec<Value>]| all.get(rank.0 as usize).cloned();
                        Some(example(*rank, &of(&a)?, &of(&b)?, parts))
                    });
                    let example = example.unwrap_or_default();
                    format!("they compute different outputs on {}{example}", ranks(differing))
                }
            }
        }
        (Err(why), _) => format!("{unknown}: the first plan {why}"),
        (_, Err(why)) => format!("{unknown}: the second plan {why}"),
    }
}

/// The first cell that differs: what only one of the two plans has in it.
fn example(rank: RankId, left: &[Value], right: &[Value], parts: u32) -> String {
    let Some((cell, (a, b))) = left.iter().zip(right).enumerate().find(|(_, (a, b))| a != b) else {
        return String::new();
    };
    let chunk = cell / parts.max(1) as usize;
    let only = |one: &Value, other: &Value, which: &str| {
        let lacks = |part: &&Contribution| !other.contributions().contains(part);
        let named: Vec<String> = one
            .contributions()
            .iter()
            .filter(lacks)
            .map(|part| contribution(*part, parts))
            .collect();
        let more = named.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown = named.get(..MOST_NAMED).unwrap_or(&named).join(", ");
        (!named.is_empty()).then(|| format!("{shown}{more} in the {which} plan only"))
    };
    let sides = [only(a, b, "first"), only(b, a, "second")];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    if sides.is_empty() {
        let [a, b] = [a, b].map(|value| made(value.combined()));
        let rank = rank.0;
        return format!(
            ": `output[{chunk}]` of rank {rank} is {a} in the first plan and {b} in the second"
        );
    }
    format!(": `output[{chunk}]` of rank {} has {}", rank.0, sides.join(", "))
}

/// How a value was made.
fn made(combined: Combined) -> String {
    match combined {
        Combined::Never => "a copy".to_owned(),
        Combined::By(op) => format!("combined by `{}`", op.word()),
        Combined::Mixed => "combined by several operators".to_owned(),
    }
}

fn contribution(part: Contribution, parts: u32) -> String {
    let times = if part.count > 1 { format!("{} times ", part.count) } else { String::new() };
    match part.rank {
        Contribution::NOBODY => "memory that was never written".to_owned(),
        rank => format!("{times}`input[{}]` of rank {rank}", part.cell / parts.max(1)),
    }
}
