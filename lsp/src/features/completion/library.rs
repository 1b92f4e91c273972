//! Names of the library that a file does not import yet: who takes one imports it.

use super::procedures::library_allowed;
use super::scope::{Scope, called, procedure};
use crate::analysis::Analysis;
use compiler::diagnostic::Import;
use compiler::resolve::import::{Wanted, edits, library};
use compiler::source::FileId;
use compiler::syntax::{self, ast};
use lsp_types::{CompletionItem, CompletionItemKind, CompletionItemLabelDetails, TextEdit};

/// What of the library can be named here and is not, each with the change that imports it.
pub(super) fn names(scope: &Scope<'_>, wanted: Wanted) -> Vec<CompletionItem> {
    let analysis = scope.analysis();
    let head = head(analysis);
    // What an algorithm declares is for itself.
    let all = library(wanted).filter(|(_, module)| module.matches("::").count() == 1);
    let missing = all.filter(|(name, _)| !scope.is_named(name) && !scope.binds(name));
    let level = scope.level();
    let missing = missing.filter(|(name, module)| {
        wanted != Wanted::Procedure || library_allowed(analysis, module, name, level)
    });
    missing
        .map(|(name, module)| {
            let import = Import { from: module.to_owned(), name: name.to_owned() };
            item(analysis, &head, wanted, import)
        })
        .collect()
}

fn item(
    analysis: &Analysis<'_>,
    head: &ast::File,
    wanted: Wanted,
    import: Import,
) -> CompletionItem {
    let item = match wanted {
        Wanted::Function => called(&import.name, CompletionItemKind::FUNCTION),
        Wanted::Procedure => procedure(&import.name),
        Wanted::Collective => called(&import.name, CompletionItemKind::INTERFACE),
    };
    let edits = edits(head, FileId(0), &import)
        .into_iter()
        .map(|edit| TextEdit::new(analysis.lines.range(edit.span.start..edit.span.end), edit.text));
    CompletionItem {
        additional_text_edits: Some(edits.collect()),
        // Behind what needs no change elsewhere.
        sort_text: Some(format!("~{}", import.name)),
        detail: Some(format!("use {}", import.from)),
        label_details: Some(CompletionItemLabelDetails {
            detail: None,
            description: Some(import.from),
        }),
        ..item
    }
}

/// The file up to its last import, or where it has none, its first item: all that an import depends on.
fn head(analysis: &Analysis<'_>) -> ast::File {
    let parts = analysis.parts();
    let is_use = |item: &ast::Item| matches!(item.kind, ast::ItemKind::Use(_));
    let imports = parts.iter().rfind(|part| analysis.parsed(**part).file.items.iter().any(is_use));
    let end = imports.or(parts.first()).map_or(0, |part| part.end);
    let text = analysis.text();
    syntax::parse(FileId(0), text.get(..end as usize).unwrap_or(text)).0
}
