//! The outline of a file: its declarations, and what programs declare.

use crate::analysis::{Analysis, Part};
use compiler::source::Span;
use compiler::syntax::ast;
use lsp_types::{DocumentSymbol, SymbolKind};

/// The symbols of a file.
#[must_use]
pub fn document(analysis: &Analysis<'_>) -> Vec<DocumentSymbol> {
    let mut symbols = Vec::new();
    for part in analysis.parts() {
        for item in &analysis.parsed(part).file.items {
            symbols.extend(declared(analysis, part, item));
        }
    }
    symbols
}

fn declared(analysis: &Analysis<'_>, part: Part<'_>, item: &ast::Item) -> Option<DocumentSymbol> {
    let (name, kind) = match &item.kind {
        ast::ItemKind::Use(_) => return None,
        ast::ItemKind::Let(item) => (&item.name, SymbolKind::CONSTANT),
        ast::ItemKind::Function(item) => (&item.name, SymbolKind::FUNCTION),
        ast::ItemKind::Procedure(item) => (&item.name, SymbolKind::METHOD),
        ast::ItemKind::Collective(item) => (&item.name, SymbolKind::INTERFACE),
        ast::ItemKind::Program(item) => (&item.name, SymbolKind::CLASS),
    };
    Some(symbol(analysis, part, name, item.span, kind))
}

fn symbol(
    analysis: &Analysis<'_>,
    part: Part<'_>,
    name: &ast::Name,
    span: Span,
    kind: SymbolKind,
) -> DocumentSymbol {
    #[expect(deprecated, reason = "the field has no other way to be left out")]
    DocumentSymbol {
        name: name.text.clone(),
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: analysis.lines.range(part.range(span)),
        selection_range: analysis.lines.range(part.range(name.span)),
        children: None,
    }
}
