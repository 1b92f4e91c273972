//! Turns the changes that the checks found to help into edits of the source.
//!
//! In: reports and the files that they point to. Out: the same reports, each with a fix if its change is one obvious
//! edit of one of the author's files. Statements in the library or in plans get no fix, and neither do statements whose
//! channels are not written with them. Fixes that exist already are left as they are.

mod around;
mod exchange;
mod option;
mod order;
mod removal;
mod statement;
mod surroundings;

use crate::diagnostic::change::Change;
use crate::diagnostic::{Certainty, Code, Diagnostic, Edit, Fix};
use crate::source::{Place, SourceMap};
pub(crate) use around::around;
pub(crate) use removal::{relaxed, without};
use statement::{Statement, moved};

/// How the names of the library's files begin.
const LIBRARY: &str = "std::";

/// Makes fixes from the changes. None of them is sure, since nobody has tried them.
pub fn repair(sources: &SourceMap, diagnostics: &mut [Diagnostic]) {
    for report in propose(sources, diagnostics) {
        if let Some(fix) = &mut report.fix {
            fix.certainty = Certainty::Guess;
        }
    }
}

/// The same, but fixes that would be sure if a trial confirmed them are marked as sure. Returns the reports that got a
/// fix.
pub(crate) fn propose<'d>(
    sources: &SourceMap,
    diagnostics: &'d mut [Diagnostic],
) -> Vec<&'d mut Diagnostic> {
    let mut proposed = Vec::new();
    for report in diagnostics.iter_mut().filter(|report| report.fix.is_none()) {
        let fix = report.change.as_ref().and_then(|change| fix(sources, report, change));
        if let Some(fix) = fix {
            // The title of the fix says it from now on.
            report.helps.retain(|help| *help != fix.title);
            report.fix = Some(fix);
            proposed.push(report);
        }
    }
    proposed
}

fn fix(sources: &SourceMap, report: &Diagnostic, change: &Change) -> Option<Fix> {
    let statement = |place: &Place| Statement::new(sources, *place);
    let (edits, certainty) = match change {
        Change::Join { before, .. } => (vec![statement(before)?.before("sync;")], Certainty::Sure),
        Change::Strong { at } => {
            let words = at.iter().map(|place| statement(place)?.without_relaxed());
            (words.collect::<Option<Vec<Edit>>>()?, Certainty::Sure)
        }
        Change::Flush { at, signal } => {
            let mut edits = vec![statement(at)?.flushed()?];
            if let Some(signal) = signal {
                edits.push(statement(signal)?.removed());
            }
            (edits, Certainty::Sure)
        }
        Change::Move { what, past, side, .. } => {
            // Opening a cycle of waits, or reading later what nobody has written yet, helps only if the program is
            // correct afterwards.
            let certainty = match matches!(report.code, Code::E0601 | Code::E0520) {
                true => Certainty::Sure,
                false => Certainty::Guess,
            };
            (moved(&statement(what)?, &statement(past)?, *side)?, certainty)
        }
        Change::Option { name, value } => {
            let at = report.primary.as_ref()?.place;
            let within = Statement::or_block(sources, at)?;
            (vec![option::set(&within, name, value)?], Certainty::Sure)
        }
        Change::Handshake { at, side, relaxed } => {
            (vec![statement(at)?.handshake(*side, *relaxed)?], Certainty::Sure)
        }
        Change::Exchange { like, .. } => {
            (vec![exchange::at_the_beginning(&statement(like)?)?], Certainty::Sure)
        }
        Change::Remove { at, .. } => (vec![statement(at)?.removed()], Certainty::Sure),
        Change::Repeat { at, more, .. } => (vec![statement(at)?.repeated(*more)], Certainty::Sure),
        Change::Answer { verb, at, side } => {
            (vec![statement(at)?.answer(verb, *side)?], Certainty::Sure)
        }
        Change::Release { semaphore, after } => {
            (vec![statement(after)?.after(&format!("release {semaphore};"))], Certainty::Sure)
        }
        Change::Initial { at, value, .. } => {
            (vec![statement(at)?.with_value(*value)?], Certainty::Sure)
        }
        Change::Handover(change) => {
            let (after, before) = (statement(&change.after)?, statement(&change.before)?);
            (order::hand_over(change, &after, &before)?, Certainty::Sure)
        }
        Change::Relay { family, within } => {
            (order::relay(family, &statement(within)?)?, Certainty::Sure)
        }
        Change::Barrier { first, second } => {
            (vec![order::meet(&statement(first)?, &statement(second)?)?], Certainty::Sure)
        }
        // Whether the program is meant to run in place is the author's decision.
        Change::InPlace { at } => {
            (vec![statement(at)?.with_argument("in_place = true")?], Certainty::Guess)
        }
        Change::Attend { barrier, block } => {
            (vec![statement(barrier)?.with_another(block)?], Certainty::Sure)
        }
    };
    Some(Fix { title: change.title(), certainty, edits, import: None })
}

/// The text after some edits; none if they overlap or lie beyond its end.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in sorted {
        let (start, end) = (edit.span.start as usize, edit.span.end as usize);
        out.push_str(text.get(at..start).filter(|_| start <= end)?);
        out.push_str(&edit.text);
        at = end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::change::Side;
    use crate::source::Span;

    /// The text after a change of statements, which are given by their texts.
    fn after(text: &str, change: impl Fn(&dyn Fn(&str) -> Place) -> Change) -> Option<String> {
        let mut sources = SourceMap::default();
        let file = sources.add("a.ccl", text);
        let place = |statement: &str| {
            let start = text.find(statement).expect("it is there") as u32;
            Place::Source(Span { file, start, end: start + statement.len() as u32 })
        };
        let mut report = Diagnostic::without_place(Code::E0501, "m");
        report.change = Some(change(&place));
        report.helps = vec![change(&place).title()];
        repair(&sources, std::slice::from_mut(&mut report));
        assert_eq!(report.fix.is_none(), report.helps.len() == 1);
        apply(text, &report.fix?.edits)
    }

    #[test]
    fn statements_go_before_and_after() {
        let text = "  put a -> b via mem[p, (q)], c sync = none;\n  x; y;";
        let at = |place: &dyn Fn(&str) -> Place, side| Change::Handshake {
            at: place("put a -> b via mem[p, (q)], c sync = none;"),
            side,
            relaxed: side == Side::Before,
        };
        assert_eq!(
            after(text, |place| at(place, Side::After)).unwrap(),
            "  put a -> b via mem[p, (q)], c sync = none;\n  signal mem[p, (q)], c;\n  wait mem[p, (q)], c;\n  x; y;"
        );
        assert_eq!(
            after(text, |place| at(place, Side::Before)).unwrap(),
            "  signal mem[p, (q)], c relaxed;\n  wait mem[p, (q)], c relaxed;\n  put a -> b via mem[p, (q)], c sync = none;\n  x; y;"
        );
        let joined = after(text, |place| Change::Join { verb: "y", before: place("y;") }).unwrap();
        assert!(joined.ends_with("  x; sync; y;"), "{joined}");
    }

    #[test]
    fn words_go_and_come() {
        let text = "signal m relaxed; wait m  relaxed sync = none; put_with_signal a -> b via c;";
        let strong = |place: &dyn Fn(&str) -> Place| Change::Strong {
            at: vec![place("signal m relaxed;"), place("wait m  relaxed sync = none;")],
        };
        assert!(after(text, strong).unwrap().starts_with("signal m; wait m sync = none;"));
        let flush = |place: &dyn Fn(&str) -> Place| Change::Flush {
            at: place("put_with_signal a -> b via c;"),
            signal: None,
        };
        assert!(after(text, flush).unwrap().ends_with("put_with_signal_and_flush a -> b via c;"));
    }

    #[test]
    fn a_statement_moves_past_its_neighbors_only() {
        let past = |what: &'static str, past: &'static str, side| {
            move |place: &dyn Fn(&str) -> Place| Change::Move {
                verb: "signal",
                what: place(what),
                past: place(past),
                over: "put",
                side,
            }
        };
        let text = "{\n  signal m;\n  put a;\n  for { wait n; }\n}";
        assert_eq!(
            after(text, past("signal m;", "put a;", Side::After)).unwrap(),
            "{\n  put a;\n  signal m;\n  for { wait n; }\n}"
        );
        assert_eq!(
            after(text, past("put a;", "signal m;", Side::Before)).unwrap(),
            "{\n  put a;\n  signal m;\n  for { wait n; }\n}"
        );
        assert_eq!(after(text, past("wait n;", "put a;", Side::Before)), None);
        let flush =
            |place: &dyn Fn(&str) -> Place| Change::Flush { at: place("reduce a;"), signal: None };
        assert_eq!(after("reduce a;", flush), None);
    }

    #[test]
    fn edits_that_overlap_are_refused() {
        let mut sources = SourceMap::default();
        let file = sources.add("a", "abc");
        let edit = |start, end, text: &str| Edit {
            span: Span { file, start, end },
            text: text.to_owned(),
        };
        assert_eq!(apply("abc", &[edit(2, 3, "x"), edit(0, 1, "")]).as_deref(), Some("bx"));
        assert_eq!(apply("abc", &[edit(0, 2, ""), edit(1, 3, "")]), None);
        assert_eq!(apply("abc", &[edit(2, 9, "")]), None);
    }
}
