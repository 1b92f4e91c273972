//! Reports about statements in procedures, placed at the calls of these.
//!
//! In: reports whose labels know the calls that led to them. Out: the same reports, as the author of the program should
//! read them.
//! * A label in the library moves to the place where the author calls the library, and the library's own statement is
//!   shown in addition: the author cannot change that one.
//! * A label in one of the author's procedures stays there, and the calls are pointed to where there are several.

use crate::diagnostic::{Diagnostic, Label};
use crate::ir::Origins;
use crate::source::{At, Call};
use std::collections::BTreeSet;

/// How many of the calls that lead to a statement are shown.
const SHOWN: usize = 3;

/// The text of labels at calls; each call gets one.
const CALLED: &str = "called here";

/// Places reports at calls.
pub(crate) fn told(origins: &Origins, reports: Vec<Diagnostic>) -> Vec<Diagnostic> {
    reports.into_iter().map(|report| at_calls(origins, report)).collect()
}

fn at_calls(origins: &Origins, mut report: Diagnostic) -> Diagnostic {
    let mut labels: Vec<Label> = report.primary.take().into_iter().collect();
    let has_primary = !labels.is_empty();
    labels.append(&mut report.secondary);
    let called: Vec<Label> =
        labels.iter().flat_map(|label| own_calls(origins, label, &labels)).collect();
    let inside = labels.iter().filter_map(|label| in_library(origins, label)).collect::<Vec<_>>();
    let mut told: Vec<Label> = Vec::new();
    let lifted = labels.into_iter().map(|label| lifted(origins, label));
    for label in lifted.chain(called).chain(inside) {
        let label = Label::new(label.place, label.text);
        let again = label.text.starts_with(CALLED)
            && told
                .iter()
                .any(|other| other.place == label.place && other.text.starts_with(CALLED));
        if !again && !told.contains(&label) {
            told.push(label);
        }
    }
    let mut told = told.into_iter();
    report.primary = if has_primary { told.next() } else { None };
    report.secondary = told.collect();
    report
}

/// A label in the library, moved to the place where the author calls the library.
fn lifted(origins: &Origins, label: Label) -> Label {
    let Some(call) = origins.into_library(label.place, &label.calls) else { return label };
    let mut calls = label.calls;
    let outer = calls.split_off(call + 1);
    match calls.pop() {
        Some(call) => Label { place: call.span.into(), text: label.text, calls: outer },
        None => Label { calls: outer, ..label },
    }
}

/// The library's statement that a label is about.
fn in_library(origins: &Origins, label: &Label) -> Option<Label> {
    let call = label.calls.get(origins.into_library(label.place, &label.calls)?)?;
    Some(Label::new(label.place, format!("in `{}`", call.name)))
}

/// The advice to leave something out: the statement itself, or the call of the library that contains it.
pub(super) fn left_out(origins: &Origins, at: Option<&At>, what: &str) -> String {
    let call = at.and_then(|at| at.calls.get(origins.into_library(at.place, &at.calls)?));
    match call {
        Some(call) => format!("remove the call of `{}`", call.name),
        None => format!("remove the {what}"),
    }
}

/// The calls of the author's procedures that lead to a label, where its place alone does not tell them. Where the
/// labels of a report come from different calls, each call is shown with its label's text.
fn own_calls(origins: &Origins, label: &Label, all: &[Label]) -> Vec<Label> {
    let outer = |label: &Label| lifted(origins, label.clone()).calls;
    let calls = outer(label);
    let ways: BTreeSet<Vec<Call>> = all.iter().map(outer).filter(|way| !way.is_empty()).collect();
    if calls.is_empty() || ways.len() == 1 && !origins.has_other_calls(&label.at()) {
        return Vec::new();
    }
    let texts = calls.iter().take(SHOWN).enumerate().map(|(depth, call)| {
        let text = match depth {
            0 if ways.len() > 1 && !label.text.is_empty() => format!("{CALLED}: {}", label.text),
            _ => CALLED.to_owned(),
        };
        Label::new(call.span, text)
    });
    texts.collect()
}
