//! Quick fixes: the changes that reports propose.
//!
//! In: the problems of a file, and a range. Out: one action for each distinct change that fixes a problem in
//! the range.

use super::problems::Problem;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Range, TextEdit, Url, WorkspaceEdit,
};
use std::collections::BTreeMap;

/// The actions that fix the problems in a range.
#[must_use]
pub fn fixes(problems: &[Problem], range: Range) -> Vec<CodeActionOrCommand> {
    let meets = |problem: &&Problem| {
        let place = problem.diagnostic.range;
        place.start <= range.end && range.start <= place.end
    };
    let mut found: Vec<&Problem> = Vec::new();
    for problem in problems.iter().filter(meets) {
        if !found.iter().any(|known| known.fix == problem.fix) {
            found.push(problem);
        }
    }
    found.into_iter().filter_map(action).collect()
}

fn action(problem: &Problem) -> Option<CodeActionOrCommand> {
    let fix = problem.fix.as_ref()?;
    let mut changes: BTreeMap<Url, Vec<TextEdit>> = BTreeMap::new();
    for (url, edit) in &fix.edits {
        changes.entry(url.clone()).or_default().push(edit.clone());
    }
    Some(CodeActionOrCommand::CodeAction(CodeAction {
        title: capitalized(&fix.title),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![problem.diagnostic.clone()]),
        edit: Some(WorkspaceEdit {
            changes: Some(changes.into_iter().collect()),
            ..WorkspaceEdit::default()
        }),
        is_preferred: Some(fix.sure),
        ..CodeAction::default()
    }))
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
