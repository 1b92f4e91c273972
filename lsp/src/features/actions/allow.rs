//! "Allow CODE here": an attribute that accepts a warning or note.
//!
//! In: a problem of a file. Out: the action that inserts `#[allow(CODE, "why")]` before the innermost statement or
//! declaration around it; none for errors, which no attribute accepts, and for what lies in another file.

use crate::analysis::Analysis;
use crate::features::problems::Problem;
use crate::nodes::Node;
use lsp_types::{CodeAction, CodeActionKind, Range, TextEdit, WorkspaceEdit};

/// The action for a problem.
pub(super) fn allow(analysis: &Analysis<'_>, problem: &Problem) -> Option<CodeAction> {
    let code = problem.allowable?.id();
    let start = beginning(analysis, problem.diagnostic.range)?;
    let before = analysis.text().get(..start as usize)?;
    let line = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let indent = before.get(line..)?;
    // On a line with other code, the attribute stays on that line.
    let end = if indent.trim().is_empty() { format!("\n{indent}") } else { " ".to_owned() };
    let attribute = format!("#[allow({code}, \"why\")]{end}");
    let edit = TextEdit::new(analysis.lines.range(start..start), attribute);
    Some(CodeAction {
        title: format!("Allow {code} here"),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![problem.diagnostic.clone()]),
        edit: Some(WorkspaceEdit {
            changes: Some([(problem.url.clone(), vec![edit])].into()),
            ..WorkspaceEdit::default()
        }),
        is_preferred: Some(false),
        ..CodeAction::default()
    })
}

/// Where the innermost statement or declaration around a range begins.
fn beginning(analysis: &Analysis<'_>, range: Range) -> Option<u32> {
    let range = analysis.lines.offsets(range);
    let part = analysis.part_at(range.start)?;
    let parsed = analysis.parsed(part);
    let paths = parsed.file.items.iter().map(|item| {
        let path = Node::Item(item).path(range.start - part.start);
        path.into_iter().filter(takes_attributes).map(|node| part.range(node.span()))
    });
    let around = paths.flatten().filter(|own| own.start <= range.start && range.end <= own.end);
    around.map(|own| own.start).max()
}

fn takes_attributes(node: &Node<'_>) -> bool {
    matches!(
        node,
        Node::Item(_)
            | Node::Clause(_)
            | Node::TopologyItem(_)
            | Node::ProgramItem(_)
            | Node::Stmt(_)
    )
}
