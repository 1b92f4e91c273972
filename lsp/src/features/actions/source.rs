//! Actions about a whole file, which editors run by name or when the file is saved.
//!
//! In: a file and its problems. Out: actions that change something. `source.fixAll.ccl` makes the fixes that `cclc check
//! --fix` makes in one round; `source.addMissingImports` makes those of them that import a name;
//! `source.organizeImports` sorts imports and removes unused ones. All edits are in this file.

use super::organize::organize;
use crate::analysis::Analysis;
use crate::features::problems::{Fix, Problem};
use compiler::diagnostic::{Code, Edit, Import};
use compiler::resolve::import;
use compiler::source::FileId;
use compiler::syntax;
use lsp_types::{CodeAction, CodeActionKind, Range, TextEdit, Url, WorkspaceEdit};

/// A file with its problems.
pub(super) struct Checked<'a> {
    pub(super) analysis: &'a Analysis<'a>,
    pub(super) url: &'a Url,
    pub(super) problems: &'a [Problem],
}

/// An action about a file.
pub(super) struct SourceAction {
    /// Its kind.
    pub(super) kind: CodeActionKind,
    title: &'static str,
    edits: fn(&Checked<'_>) -> Vec<TextEdit>,
}

/// All of them.
pub(super) const SOURCE_ACTIONS: [SourceAction; 3] = [
    SourceAction {
        kind: CodeActionKind::new("source.fixAll.ccl"),
        title: "Make all fixes that are certain",
        edits: all_fixes,
    },
    SourceAction {
        kind: CodeActionKind::new("source.addMissingImports"),
        title: "Add all missing imports",
        edits: missing_imports,
    },
    SourceAction {
        kind: CodeActionKind::SOURCE_ORGANIZE_IMPORTS,
        title: "Organize imports",
        edits: organized_imports,
    },
];

impl SourceAction {
    /// The action as it is sent; none if it would change nothing.
    pub(super) fn apply(self, file: &Checked<'_>) -> Option<CodeAction> {
        let edits = (self.edits)(file);
        (!edits.is_empty()).then(|| CodeAction {
            title: self.title.to_owned(),
            kind: Some(self.kind),
            edit: Some(WorkspaceEdit {
                changes: Some([(file.url.clone(), edits)].into()),
                ..WorkspaceEdit::default()
            }),
            ..CodeAction::default()
        })
    }
}

impl Checked<'_> {
    /// The fixes that are certain and change this file only.
    fn sure_fixes(&self) -> impl Iterator<Item = &Fix> {
        let is_here = |fix: &&Fix| fix.sure && fix.edits.iter().all(|(url, _)| url == self.url);
        self.problems.iter().flat_map(|problem| &problem.fixes).filter(is_here)
    }

    /// Edits of the text as edits of the protocol.
    fn converted(&self, edits: Vec<Edit>) -> Vec<TextEdit> {
        let lines = &self.analysis.lines;
        let converted = edits
            .into_iter()
            .map(|edit| TextEdit::new(lines.range(edit.span.start..edit.span.end), edit.text));
        converted.collect()
    }
}

/// As with `cclc check --fix`, a fix that touches another one has to wait until the file is checked again.
fn all_fixes(file: &Checked<'_>) -> Vec<TextEdit> {
    let mut edits = missing_imports(file);
    for fix in file.sure_fixes().filter(|fix| fix.import.is_none()) {
        let is_apart = |edit: &TextEdit| edits.iter().all(|other| apart(other.range, edit.range));
        if fix.edits.iter().all(|(_, edit)| is_apart(edit)) {
            edits.extend(fix.edits.iter().map(|(_, edit)| edit.clone()));
        }
    }
    edits
}

fn apart(one: Range, other: Range) -> bool {
    one.end < other.start || other.end < one.start
}

fn missing_imports(file: &Checked<'_>) -> Vec<TextEdit> {
    let imports: Vec<Import> = file.sure_fixes().filter_map(|fix| fix.import.clone()).collect();
    let parsed = syntax::parse(FileId(0), file.analysis.text()).0;
    file.converted(import::edits(&parsed, FileId(0), &imports))
}

fn organized_imports(file: &Checked<'_>) -> Vec<TextEdit> {
    let unused = file.problems.iter().filter(|problem| problem.allowable == Some(Code::W0201));
    let start = |problem: &Problem| file.analysis.lines.offset(problem.diagnostic.range.start);
    file.converted(organize(file.analysis.text(), &unused.map(start).collect()))
}
