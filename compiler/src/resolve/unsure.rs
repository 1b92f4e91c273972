//! Names that may be unused only because of a mistake.
//!
//! In: the reports about all files. Out: the same without warnings that a name is unused, if the part of the file in
//! which it can be used has an error and mentions the name again: the mistake may be why that mention does not count.

use super::load::{Module, Modules};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::{Place, Span};
use crate::syntax::{ast, token};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::ops::Range;

/// Drops the warnings.
pub(super) fn drop_unsure(modules: &Modules, reports: &mut Vec<Diagnostic>) {
    let is_error = |report: &&Diagnostic| report.severity == Severity::Error;
    let mut errors: Vec<Span> = reports.iter().filter(is_error).filter_map(place).collect();
    if errors.is_empty() {
        return;
    }
    errors.sort_unstable();
    let files = modules.modules.iter().map(|module| (module.file, File::of(module)));
    let files: FxHashMap<_, File<'_>> = files.collect();
    let is_unsure = |report: &Diagnostic| {
        let Some(span) = place(report).filter(|_| says_unused(report)) else { return false };
        files.get(&span.file).is_some_and(|file| file.is_unsure(span, &errors))
    };
    reports.retain(|report| !is_unsure(report));
}

fn place(report: &Diagnostic) -> Option<Span> {
    match report.primary.as_ref()?.place {
        Place::Source(span) => Some(span),
        Place::Plan(_) => None,
    }
}

fn says_unused(report: &Diagnostic) -> bool {
    matches!(report.code, Code::W0201 | Code::W0202 | Code::W0203 | Code::W0204 | Code::W0205)
}

/// A file, and where each of its words is, once that is asked for.
struct File<'m> {
    module: &'m Module,
    words: OnceCell<FxHashMap<&'m str, Vec<u32>>>,
}

impl<'m> File<'m> {
    fn of(module: &'m Module) -> File<'m> {
        File { module, words: OnceCell::new() }
    }

    /// Whether the part of the file in which a name can be used has an error and mentions the name again.
    fn is_unsure(&self, name: Span, errors: &[Span]) -> bool {
        let part = self.part(name);
        let Some(text) = self.module.text.get(name.start as usize..name.end as usize) else {
            return false;
        };
        let start = |at: u32| Span { file: name.file, start: at, end: at };
        let first = errors.partition_point(|error| *error < start(part.start));
        let is_wrong = errors.get(first).is_some_and(|error| *error < start(part.end));
        is_wrong && self.mentions(text, &part) > 1
    }

    /// What an item declares can be used only in it; what is imported, in the whole file.
    fn part(&self, name: Span) -> Range<u32> {
        let items = &self.module.ast.items;
        let before = items.partition_point(|item| item.span.start <= name.start);
        let around = before.checked_sub(1).and_then(|at| items.get(at));
        let around = around.filter(|item| {
            name.end <= item.span.end && !matches!(item.kind, ast::ItemKind::Use(_))
        });
        around.map_or(0..self.module.text.len() as u32, |item| item.span.start..item.span.end)
    }

    /// How often a word is in a part of the file, outside comments.
    fn mentions(&self, word: &str, part: &Range<u32>) -> usize {
        let words = self.words.get_or_init(|| {
            let mut words: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
            for token in token::tokens(self.module.file, &self.module.text).tokens {
                words.entry(token.text).or_default().push(token.span.start);
            }
            words
        });
        let Some(places) = words.get(word) else { return 0 };
        let before = |end: u32| places.partition_point(|at| *at < end);
        before(part.end) - before(part.start)
    }
}
