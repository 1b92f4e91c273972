//! Symbols: the outline of a file, and declarations in all files and in the library by a part of their name.

use crate::actor::Snapshot;
use crate::analysis::{Analysis, Part};
use crate::excerpt;
use compiler::resolve::import::{Wanted, library};
use compiler::source::{FileId, Span};
use compiler::syntax::ast;
use compiler::syntax::token::{Kind, Token, tokens};
use lsp_types::{DocumentSymbol, Location, SymbolInformation, SymbolKind, Url};
use std::collections::{BTreeMap, BTreeSet};

/// The most symbols that a search returns.
const MAX_FOUND: usize = 1000;

/// The name of a symbol whose name has not been written yet; the protocol forbids empty names.
const UNNAMED: &str = "<unnamed>";

/// The symbols of a file: its declarations, and those inside its programs.
#[must_use]
pub fn document(analysis: &Analysis<'_>) -> Vec<DocumentSymbol> {
    let mut symbols = Vec::new();
    for part in analysis.parts() {
        let builder = SymbolBuilder { analysis, part };
        symbols
            .extend(analysis.parsed(part).file.items.iter().filter_map(|item| builder.item(item)));
    }
    symbols
}

/// The declarations in all files whose names contain the letters of a query, in order.
#[must_use]
pub fn workspace(snapshot: &Snapshot, query: &str) -> Vec<SymbolInformation> {
    let mut found = Vec::new();
    for url in snapshot.files().iter().filter_map(|name| snapshot.url(name)) {
        let analysis = snapshot.analysis(&url);
        for symbol in document(&analysis) {
            let named = symbol.name != UNNAMED;
            if found.len() < MAX_FOUND && named && has_letters(&symbol.name, query) {
                found.push(flat(&url, symbol, None));
            }
        }
    }
    // Without a query, the names of the workspace are wanted.
    if !query.is_empty() {
        found.extend(library_symbols(snapshot, query));
        found.truncate(MAX_FOUND);
    }
    found
}

/// The names of the library that fit a query, with their modules.
fn library_symbols(snapshot: &Snapshot, query: &str) -> Vec<SymbolInformation> {
    let kinds = [Wanted::Function, Wanted::Procedure, Wanted::Collective];
    let names = kinds.into_iter().flat_map(library);
    // Declarations in the modules of algorithms are meant for those modules only.
    let fitting = names
        .filter(|(name, module)| module.matches("::").count() == 1 && has_letters(name, query));
    let mut modules: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, module) in fitting {
        modules.entry(module).or_default().insert(name);
    }
    let mut found = Vec::new();
    for (module, names) in modules {
        let Some(url) = snapshot.url(module) else { continue };
        let symbols = document(&snapshot.analysis(&url)).into_iter();
        let named = symbols.filter(|symbol| names.contains(symbol.name.as_str()));
        found.extend(named.map(|symbol| flat(&url, symbol, Some(module.to_owned()))));
    }
    found
}

/// The symbols of a file for a client that shows no tree: each with the name of the one that contains it.
#[must_use]
pub fn flattened(url: &Url, symbols: Vec<DocumentSymbol>) -> Vec<SymbolInformation> {
    let mut all = Vec::new();
    for mut symbol in symbols {
        let inner = symbol.children.take().unwrap_or_default();
        let outer = symbol.name.clone();
        all.push(flat(url, symbol, None));
        all.extend(inner.into_iter().map(|symbol| flat(url, symbol, Some(outer.clone()))));
    }
    all
}

fn flat(url: &Url, symbol: DocumentSymbol, container_name: Option<String>) -> SymbolInformation {
    #[expect(deprecated, reason = "the field has no other way to be left out")]
    SymbolInformation {
        name: symbol.name,
        kind: symbol.kind,
        tags: None,
        deprecated: None,
        location: Location::new(url.clone(), symbol.selection_range),
        container_name,
    }
}

/// Whether a name contains the letters of a query in order, possibly with others in between.
fn has_letters(name: &str, query: &str) -> bool {
    let mut letters = name.chars().map(|letter| letter.to_ascii_lowercase());
    query.chars().all(|wanted| letters.any(|letter| letter == wanted.to_ascii_lowercase()))
}

struct SymbolBuilder<'a> {
    analysis: &'a Analysis<'a>,
    part: Part<'a>,
}

impl SymbolBuilder<'_> {
    fn item(&self, item: &ast::Item) -> Option<DocumentSymbol> {
        let (name, kind) = match &item.kind {
            ast::ItemKind::Use(_) => return None,
            ast::ItemKind::Let(item) => (&item.name, SymbolKind::CONSTANT),
            ast::ItemKind::Function(item) => (&item.name, SymbolKind::FUNCTION),
            ast::ItemKind::Procedure(item) => (&item.name, SymbolKind::METHOD),
            ast::ItemKind::Collective(item) => (&item.name, SymbolKind::INTERFACE),
            ast::ItemKind::Topology(item) => (&item.name, SymbolKind::STRUCT),
            ast::ItemKind::Program(item) => (&item.name, SymbolKind::CLASS),
        };
        let children = match &item.kind {
            ast::ItemKind::Program(program) => self.program(program),
            ast::ItemKind::Topology(topology) => self.topology(topology),
            ast::ItemKind::Use(_)
            | ast::ItemKind::Let(_)
            | ast::ItemKind::Function(_)
            | ast::ItemKind::Procedure(_)
            | ast::ItemKind::Collective(_) => Vec::new(),
        };
        Some(self.symbol(name, item.span, kind, children))
    }

    fn topology(&self, topology: &ast::Topology) -> Vec<DocumentSymbol> {
        let switches = topology.items.iter().filter_map(|item| match &item.kind {
            ast::TopologyItemKind::Switch(switch) => {
                Some(self.symbol(&switch.name, item.span, SymbolKind::STRUCT, Vec::new()))
            }
            ast::TopologyItemKind::Let(_)
            | ast::TopologyItemKind::Require(_)
            | ast::TopologyItemKind::Count(_)
            | ast::TopologyItemKind::Link(_) => None,
        });
        switches.collect()
    }

    fn program(&self, program: &ast::Program) -> Vec<DocumentSymbol> {
        let mut symbols = Vec::new();
        for item in &program.items {
            let found = match &item.kind {
                ast::ProgramItemKind::Scratch(row) => Some((&row.name, SymbolKind::ARRAY)),
                ast::ProgramItemKind::Channel(row) => Some((&row.name, SymbolKind::EVENT)),
                ast::ProgramItemKind::Semaphore(row) => Some((&row.name, SymbolKind::EVENT)),
                ast::ProgramItemKind::Statement(statement) => named(statement),
                ast::ProgramItemKind::Implements(_)
                | ast::ProgramItemKind::Machine(_)
                | ast::ProgramItemKind::Options(_) => None,
            };
            symbols
                .extend(found.map(|(name, kind)| self.symbol(name, item.span, kind, Vec::new())));
        }
        symbols
    }

    /// Parameters, indices, a link or a value: what stands between the name and the body of a declaration.
    fn detail(&self, name: &ast::Name, span: Span) -> Option<String> {
        let text = self.part.declaration.text(self.analysis.database);
        let rest = text.get(name.span.end as usize..span.end.max(name.span.end) as usize)?;
        let detail = heading(&tokens(FileId(0), rest).tokens);
        (!detail.is_empty()).then_some(detail)
    }

    fn symbol(
        &self,
        name: &ast::Name,
        span: Span,
        kind: SymbolKind,
        children: Vec<DocumentSymbol>,
    ) -> DocumentSymbol {
        let lines = &self.analysis.lines;
        let (text, place) = match name.text.as_str() {
            "" => (UNNAMED, span),
            text => (text, name.span),
        };
        #[expect(deprecated, reason = "the field has no other way to be left out")]
        DocumentSymbol {
            name: text.to_owned(),
            detail: self.detail(name, span),
            kind,
            tags: None,
            deprecated: None,
            range: lines.range(self.part.range(span.to(name.span))),
            selection_range: lines.range(self.part.range(place)),
            children: (!children.is_empty()).then_some(children),
        }
    }
}

/// The most characters of a detail; longer ones end with `..`.
const LONGEST_DETAIL: usize = 60;

/// How a declaration goes on behind its name, up to its body, on one line.
fn heading(tokens: &[Token<'_>]) -> String {
    let mut depth = 0_usize;
    let is_value = tokens.first().is_some_and(|first| first.kind == Kind::Equal);
    let end = tokens.iter().position(|token| {
        let is_end = token.kind == Kind::Semicolon || token.kind == Kind::LeftBrace && !is_value;
        let ends = is_end && depth == 0;
        depth += usize::from(token.kind.is_opener());
        depth = depth.saturating_sub(usize::from(token.kind.is_closer()));
        ends
    });
    let text = excerpt::line(tokens.get(..end.unwrap_or(tokens.len())).unwrap_or_default());
    match text.char_indices().nth(LONGEST_DETAIL) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or("")),
        None => text,
    }
}

/// The name that a statement at the top level of a program declares.
fn named(statement: &ast::StmtKind) -> Option<(&ast::Name, SymbolKind)> {
    match statement {
        ast::StmtKind::Let(row) => Some((&row.name, SymbolKind::VARIABLE)),
        ast::StmtKind::Block(row) => Some((&row.name, SymbolKind::OBJECT)),
        ast::StmtKind::Require(_)
        | ast::StmtKind::For(..)
        | ast::StmtKind::If(_)
        | ast::StmtKind::Group(..)
        | ast::StmtKind::Pipeline(..)
        | ast::StmtKind::Barrier(_)
        | ast::StmtKind::Sync
        | ast::StmtKind::Transfer(_)
        | ast::StmtKind::Synchronise(_)
        | ast::StmtKind::Call(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::has_letters;

    #[test]
    fn letters_come_in_order() {
        assert!(has_letters("allgather_ring", "AGring"));
        assert!(!has_letters("allgather_ring", "ringa"));
    }
}
