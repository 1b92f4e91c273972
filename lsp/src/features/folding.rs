//! Folding: declarations, bodies, runs of comments and of imports.

use crate::analysis::{Analysis, Part};
use crate::nodes::Node;
use compiler::source::{FileId, Span};
use compiler::syntax::ast::{Item, ItemKind, ProgramItemKind};
use compiler::syntax::token::{Token, tokens};
use lsp_types::{FoldingRange, FoldingRangeKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// The folds of a file, sorted by their first lines; at most one begins on each line.
#[must_use]
pub fn folds(analysis: &Analysis<'_>) -> Vec<FoldingRange> {
    let mut folds = Folds { analysis, found: BTreeMap::new() };
    let mut imports: Option<Range<u32>> = None;
    for part in analysis.parts() {
        let parsed = analysis.parsed(part);
        folds.comments(part);
        for item in &parsed.file.items {
            let range = part.range(item.span);
            imports = match (&item.kind, imports) {
                (ItemKind::Use(_), Some(before)) => Some(before.start..range.end),
                (ItemKind::Use(_), None) => Some(range),
                (_, before) => {
                    folds.imports(before);
                    None
                }
            };
            folds.item(part, item);
        }
    }
    folds.imports(imports);
    folds.found.into_values().collect()
}

struct Folds<'a, 'db> {
    analysis: &'a Analysis<'db>,
    found: BTreeMap<u32, FoldingRange>,
}

impl Folds<'_, '_> {
    fn item(&mut self, part: Part<'_>, item: &Item) {
        Node::Item(item).walk(&mut |node| {
            let folds = match node {
                Node::Item(_) | Node::Clause(_) | Node::TopologyItem(_) | Node::Body(_) => true,
                Node::ProgramItem(item) => {
                    matches!(item.kind, ProgramItemKind::Options(_) | ProgramItemKind::Statement(_))
                }
                Node::Parameter(_)
                | Node::Type(_)
                | Node::Option(_)
                | Node::Binder(_)
                | Node::Operand(_)
                | Node::Argument(_)
                | Node::Expr(_)
                | Node::Index(_)
                | Node::Name(_)
                | Node::Stmt(_) => false,
            };
            if folds {
                self.add(part.range(node.span()), None);
            }
        });
    }

    fn imports(&mut self, range: Option<Range<u32>>) {
        if let Some(range) = range {
            self.add(range, Some(FoldingRangeKind::Imports));
        }
    }

    /// Folds runs of comments that are on lines of their own, one below the other.
    fn comments(&mut self, part: Part<'_>) {
        let text = part.declaration.text(self.analysis.database);
        let cut = tokens(FileId(0), &text);
        let docs = cut.tokens.iter().filter(|token| token.text.starts_with("//"));
        let mut all: Vec<Span> =
            docs.chain(&cut.comments).map(|token: &Token<'_>| token.span).collect();
        all.retain(|span| alone(&text, *span));
        all.sort_unstable();
        let mut run: Option<Span> = None;
        for comment in all {
            run = match run {
                Some(before) if follows(&text, before, comment) => Some(before.to(comment)),
                before => {
                    self.run(part, before);
                    Some(comment)
                }
            };
        }
        self.run(part, run);
    }

    fn run(&mut self, part: Part<'_>, run: Option<Span>) {
        if let Some(span) = run {
            self.add(part.range(span), Some(FoldingRangeKind::Comment));
        }
    }

    /// Adds a fold if it hides at least one line; of several that begin on a line, the largest is
    /// kept.
    fn add(&mut self, range: Range<u32>, kind: Option<FoldingRangeKind>) {
        let lines = self.analysis.lines.range(range);
        let (start, mut end) = (lines.start.line, lines.end.line);
        if kind.is_none() {
            // The closing bracket stays visible.
            end = end.saturating_sub(1);
        }
        if end <= start || self.found.get(&start).is_some_and(|known| known.end_line >= end) {
            return;
        }
        let fold =
            FoldingRange { start_line: start, end_line: end, kind, ..FoldingRange::default() };
        self.found.insert(start, fold);
    }
}

/// Whether a comment is the first thing on its line.
fn alone(text: &str, comment: Span) -> bool {
    let before = text.get(..comment.start as usize).unwrap_or("");
    before.rsplit(['\n', '\r']).next().is_none_or(|line| line.trim().is_empty())
}

/// Whether a comment is on the line after another one.
fn follows(text: &str, before: Span, comment: Span) -> bool {
    let between = text.get(before.end as usize..comment.start as usize).unwrap_or("");
    let breaks = between.matches(['\n', '\r']).count() - between.matches("\r\n").count();
    breaks == 1 && between.trim().is_empty()
}
