//! Names of the library that a file does not import yet; accepting one also imports it.

use super::named::Named;
use super::procedures::library_allowed;
use super::scope::{Scope, called, procedure, topology};
use crate::analysis::Analysis;
use compiler::diagnostic::Import;
use compiler::resolve::import::{Wanted, edits, library};
use compiler::source::FileId;
use compiler::syntax::{self, ast};
use lsp_types::{CompletionItem, CompletionItemKind, CompletionItemLabelDetails, TextEdit};

/// The names of the library that can be used here but are not imported, each with the edits that import
/// it.
pub(super) fn names(scope: &Scope<'_>, wanted: Wanted) -> Vec<CompletionItem> {
    let analysis = scope.analysis();
    let head = head(analysis);
    // Declarations in the modules of algorithms are meant for those modules only.
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
        Wanted::Topology => {
            let (here, file) = (import.name.clone(), import.from.clone());
            topology(analysis, &Named { here: here.clone(), file, name: here }, &import.name)
        }
    };
    let edits = edits(head, FileId(0), std::slice::from_ref(&import))
        .into_iter()
        .map(|edit| TextEdit::new(analysis.lines.range(edit.span.start..edit.span.end), edit.text));
    let edits = Some(edits.collect());
    let Import { from, name } = import;
    let named = Named { here: name.clone(), file: from.clone(), name };
    let item = named.introduced(analysis, item);
    let signature = item.detail.as_ref().map_or(String::new(), |text| format!(": {text}"));
    let details = item.label_details.unwrap_or_default();
    CompletionItem {
        additional_text_edits: edits,
        detail: Some(format!("use {from}{signature}")),
        label_details: Some(CompletionItemLabelDetails { description: Some(from), ..details }),
        ..item
    }
}

/// The file up to its last import, or up to its first item if it has no imports; the edits of an import
/// depend only on this.
fn head(analysis: &Analysis<'_>) -> ast::File {
    let parts = analysis.parts();
    let is_use = |item: &ast::Item| matches!(item.kind, ast::ItemKind::Use(_));
    let imports = parts.iter().rfind(|part| analysis.parsed(**part).file.items.iter().any(is_use));
    let end = imports.or(parts.first()).map_or(0, |part| part.end);
    let text = analysis.text();
    syntax::parse(FileId(0), text.get(..end as usize).unwrap_or(text)).0
}
