//! Code actions: the changes that reports propose, and attributes that accept what is reported.
//!
//! In: the problems of a file, a range, and the kinds of actions that the client asks for. Out: one action for each
//! distinct change that fixes a problem in the range, then one for each warning there that can be allowed; and those that complete a program. Actions about
//! the whole file are only computed for clients that ask for them.

mod allow;
mod organize;
mod source;
mod synthesize;

use super::problems::{Fix, Problem};
use crate::analysis::Analysis;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Range, TextEdit, Url, WorkspaceEdit,
};
use source::{Checked, SOURCE_ACTIONS};
use std::collections::BTreeMap;
pub(crate) use synthesize::GOALS;

/// What a client asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The file.
    pub url: Url,
    /// The range that is selected.
    pub range: Range,
    /// The kinds that it wants, with all kinds below them; quick fixes and rewritings if it says nothing.
    pub only: Option<Vec<CodeActionKind>>,
    /// Whether it changes files when the server asks for it, as commands do.
    pub can_apply: bool,
}

impl Request {
    /// Whether actions of a kind are wanted.
    fn wants(&self, kind: &CodeActionKind) -> bool {
        let only = self.only.as_ref().filter(|only| !only.is_empty());
        let Some(only) = only else {
            return *kind == CodeActionKind::QUICKFIX || *kind == synthesize::KIND;
        };
        only.iter().any(|wanted| is_below(kind.as_str(), wanted.as_str()))
    }
}

/// Whether a kind is another one or below it, as `source.fixAll.ccl` is below `source`. All are below the empty kind.
fn is_below(kind: &str, other: &str) -> bool {
    let rest = kind.strip_prefix(other);
    other.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The kinds of all actions.
#[must_use]
pub fn kinds() -> Vec<CodeActionKind> {
    let source = SOURCE_ACTIONS.into_iter().map(|action| action.kind);
    [CodeActionKind::QUICKFIX, synthesize::KIND].into_iter().chain(source).collect()
}

/// The actions for a request.
#[must_use]
pub fn actions(
    analysis: &Analysis<'_>,
    problems: &[Problem],
    request: &Request,
) -> Vec<CodeActionOrCommand> {
    let mut actions = Vec::new();
    if request.wants(&CodeActionKind::QUICKFIX) {
        let meets = |problem: &&Problem| {
            let (place, range) = (problem.diagnostic.range, request.range);
            place.start <= range.end && range.start <= place.end
        };
        let problems: Vec<&Problem> = problems.iter().filter(meets).collect();
        actions.extend(fixes(&problems));
        actions.extend(problems.iter().filter_map(|problem| allow::allow(analysis, problem)));
    }
    if request.can_apply && request.wants(&synthesize::KIND) {
        actions.extend(synthesize::synthesize(analysis, &request.url, request.range));
    }
    let file = Checked { analysis, url: &request.url, problems };
    let wanted = SOURCE_ACTIONS.into_iter().filter(|action| request.wants(&action.kind));
    actions.extend(wanted.filter_map(|action| action.apply(&file)));
    actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()
}

/// The actions that fix problems.
fn fixes(problems: &[&Problem]) -> Vec<CodeAction> {
    let mut found: Vec<&Fix> = Vec::new();
    let mut actions = Vec::new();
    for problem in problems {
        for fix in &problem.fixes {
            if !found.contains(&fix) {
                found.push(fix);
                actions.push(action(problem, fix));
            }
        }
    }
    actions
}

fn action(problem: &Problem, fix: &Fix) -> CodeAction {
    let mut changes: BTreeMap<Url, Vec<TextEdit>> = BTreeMap::new();
    for (url, edit) in &fix.edits {
        changes.entry(url.clone()).or_default().push(edit.clone());
    }
    CodeAction {
        title: capitalized(&fix.title),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![problem.diagnostic.clone()]),
        edit: Some(WorkspaceEdit {
            changes: Some(changes.into_iter().collect()),
            ..WorkspaceEdit::default()
        }),
        is_preferred: Some(fix.sure),
        ..CodeAction::default()
    }
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn kinds_are_below_those_that_they_begin_with() {
        for other in ["", "source", "source.fixAll", "source.fixAll.ccl"] {
            assert!(is_below("source.fixAll.ccl", other), "{other}");
        }
        for other in
            ["quickfix", "sourc", "source.fix", "source.fixAll.other", "source.fixAll.ccl.x"]
        {
            assert!(!is_below("source.fixAll.ccl", other), "{other}");
        }
    }
}
