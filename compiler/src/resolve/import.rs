//! Names of the library that a file uses without importing them: where they are declared, and the edits that import
//! them.

use super::load::{Module, uses};
use crate::diagnostic::{Diagnostic, Edit, Import, nearest};
use crate::source::{FileId, Span};
use crate::syntax::ast::{self, UseRoot};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What a name is used as: the word of its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// `fn`
    Function,
    /// `proc`
    Procedure,
    /// `collective`
    Collective,
    /// `topology`
    Topology,
}

impl Wanted {
    /// All of them.
    pub const ALL: [Wanted; 4] =
        [Wanted::Function, Wanted::Procedure, Wanted::Collective, Wanted::Topology];

    /// The word of its declaration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Wanted::Function => "fn",
            Wanted::Procedure => "proc",
            Wanted::Collective => "collective",
            Wanted::Topology => "topology",
        }
    }
}

/// The names that the library declares, each with the first module that declares it: `std::math`.
static NAMES: LazyLock<BTreeMap<Wanted, BTreeMap<&str, String>>> = LazyLock::new(|| {
    let mut names: BTreeMap<Wanted, BTreeMap<&str, String>> = BTreeMap::new();
    for (module, text) in stdlib::FILES {
        for wanted in Wanted::ALL {
            let known = names.entry(wanted).or_default();
            for name in declared(text, wanted) {
                let module = || format!("std::{}", module.replace('/', "::"));
                known.entry(name).or_insert_with(module);
            }
        }
    }
    names
});

/// The module of the library that declares the name, such as `std::math`.
#[must_use]
pub fn module_with(name: &str, wanted: &[Wanted]) -> Option<&'static str> {
    wanted.iter().find_map(|wanted| NAMES.get(wanted)?.get(name)).map(String::as_str)
}

/// The names that the library declares for this use, each with its module, such as `std::math`.
pub fn library(wanted: Wanted) -> impl Iterator<Item = (&'static str, &'static str)> {
    let names = NAMES.get(&wanted).into_iter().flatten();
    names.map(|(name, module)| (*name, module.as_str()))
}

/// The names that a file of the library declares for this use. In the library, every top-level declaration begins a
/// line.
fn declared(text: &str, wanted: Wanted) -> impl Iterator<Item = &str> {
    text.lines().filter_map(move |line| {
        let mut words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.next().filter(|word| *word == wanted.word()).and(words.next())
    })
}

/// Adds to a report how to import a name that the library has; none if it has no such name.
pub(super) fn found(
    report: &Diagnostic,
    module: &Module,
    name: &ast::Name,
    wanted: Wanted,
) -> Option<Diagnostic> {
    let from = module_with(&name.text, &[wanted]).filter(|_| !is_library(module))?;
    let title = format!("insert `use {from}::{};`", name.text);
    let import = Import { from: from.to_owned(), name: name.text.clone() };
    let edits = edits(&module.ast, module.file, std::slice::from_ref(&import));
    Some(report.clone().fix(title, edits).importing(import))
}

/// Adds to a report which name of the library was probably meant.
pub(super) fn meant(
    report: Diagnostic,
    module: &Module,
    name: &ast::Name,
    wanted: Wanted,
) -> Diagnostic {
    let all = library(wanted).map(|(name, _)| name);
    let near = nearest(&name.text, all).filter(|_| !is_library(module));
    let Some((near, from)) = near.and_then(|near| Some((near, module_with(near, &[wanted])?)))
    else {
        return report;
    };
    let title = format!("write `{near}`, and `use {from}::{near};`");
    let import = Import { from: from.to_owned(), name: near.to_owned() };
    let mut edits = edits(&module.ast, module.file, std::slice::from_ref(&import));
    edits.push(Edit { span: name.span, text: near.to_owned() });
    report.guess(title, edits).importing(import)
}

/// Whether a file belongs to the library.
pub(super) fn is_library(module: &Module) -> bool {
    module.name.starts_with("std::")
}

/// The edits of a file that import names: next to others from the same modules, or on lines of their own.
#[must_use]
pub fn edits(file: &ast::File, id: FileId, imports: &[Import]) -> Vec<Edit> {
    let mut modules: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Import { from, name } in imports {
        modules.entry(from).or_default().insert(name);
    }
    let uses = uses(file);
    let (mut edits, mut lines) = (Vec::new(), Vec::new());
    for (from, names) in modules {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        match uses.iter().rev().find_map(|(use_, _)| beside(use_, from, &names)) {
            Some(beside) => edits.extend(beside),
            None if names.contains(',') => lines.push(format!("use {from}::{{{names}}};")),
            None => lines.push(format!("use {from}::{names};")),
        }
    }
    if lines.is_empty() {
        return edits;
    }
    let lines = lines.join("\n");
    let (at, text) = match (uses.last(), file.items.first()) {
        (Some((_, last)), _) => (last.end, format!("\n{lines}")),
        (None, Some(first)) => (begin(first), format!("{lines}\n\n")),
        (None, None) => (0, format!("{lines}\n")),
    };
    edits.push(Edit { span: Span { file: id, start: at, end: at }, text });
    edits
}

/// The edits that add names to an import, if that imports from the same module.
fn beside(use_: &ast::Use, from: &str, names: &str) -> Option<Vec<Edit>> {
    let UseRoot::Name(root) = &use_.root else { return None };
    let path = use_.path.iter().map(|part| part.text.as_str());
    let last = use_.names.last()?;
    let first = use_.names.first()?.name.span;
    let end = last.alias.as_ref().map_or(last.name.span.end, |alias| alias.span.end);
    let same = from.split("::").eq(std::iter::once(root.text.as_str()).chain(path));
    let behind = Span { start: end, end, ..last.name.span };
    same.then(|| {
        if use_.braced {
            return vec![Edit { span: behind, text: format!(", {names}") }];
        }
        let before = Span { end: first.start, ..first };
        vec![
            Edit { span: before, text: "{".to_owned() },
            Edit { span: behind, text: format!(", {names}}}") },
        ]
    })
}

/// Where an item begins, including its documentation and attributes.
fn begin(item: &ast::Item) -> u32 {
    let docs = item.docs.iter().map(|doc| doc.span.start);
    let attributes = item.attributes.iter().map(|attribute| attribute.span.start);
    docs.chain(attributes).min().unwrap_or(item.span.start)
}
