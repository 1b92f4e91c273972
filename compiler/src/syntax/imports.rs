//! The order of imports: sorted by where they import from, and the names of each by themselves.
//!
//! In: a file without syntax errors. Out: groups of imports, and the text with each of them in order. A group is a run
//! of imports on consecutive lines; blank lines, comments, documentation and attributes end it, and an import with one
//! of these inside or beside it stays as it is.

use super::ast::{File, Item, ItemKind, Use, UseName, UseRoot};
use super::token::{Token, tokens};
use crate::source::{FileId, LINE_ENDS, Span, next_line};

/// An import and the declaration that it is.
#[derive(Clone, Copy, Debug)]
pub struct Import<'a> {
    /// The declaration, which has nothing but the import.
    pub item: &'a Item,
    /// What it imports.
    pub content: &'a Use,
}

/// The imports of a file.
#[derive(Debug, Default)]
pub struct Imports<'a> {
    /// Those whose order does not matter, in runs.
    pub groups: Vec<Vec<Import<'a>>>,
    /// Those that stay where they are.
    pub fixed: Vec<Import<'a>>,
}

/// Finds the imports of a file.
#[must_use]
pub fn find_imports<'a>(file: &'a File, text: &str) -> Imports<'a> {
    let comments = tokens(FileId(0), text).comments;
    let mut found = Imports::default();
    let mut last: Option<Span> = None;
    for item in &file.items {
        let ItemKind::Use(content) = &item.kind else { continue };
        let import = Import { item, content };
        let is_bare = item.docs.is_empty() && item.attributes.is_empty();
        if !is_bare || has_comment(item.span, text, &comments) {
            found.fixed.push(import);
            last = None;
            continue;
        }
        let joins = last.is_some_and(|last| follows(text, last, item.span));
        match found.groups.last_mut() {
            Some(group) if joins => group.push(import),
            Some(_) | None => found.groups.push(vec![import]),
        }
        last = Some(item.span);
    }
    found
}

/// The text of a file with its imports in order.
#[must_use]
pub fn sort_imports(file: &File, text: &str) -> String {
    let mut sorted = String::with_capacity(text.len());
    let mut end = 0;
    for group in find_imports(file, text).groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let order = |import: &Import<'_>| (module(import.content, text), names(import.content));
        let mut imports = group.clone();
        imports.sort_by_cached_key(order);
        let imports: Vec<String> = imports.iter().map(|import| in_order(*import, text)).collect();
        sorted.push_str(text.get(end..first.item.span.start as usize).unwrap_or_default());
        sorted.push_str(&imports.join(line_end(text)));
        end = last.item.span.end as usize;
    }
    sorted.push_str(text.get(end..).unwrap_or_default());
    sorted
}

/// What a text ends its lines with.
#[must_use]
pub fn line_end(text: &str) -> &'static str {
    let first = text.find(LINE_ENDS).and_then(|end| text.get(end..));
    if first.is_some_and(|rest| rest.starts_with("\r\n")) { "\r\n" } else { "\n" }
}

/// Where names are imported from, as it is written: `std::patterns`.
#[must_use]
pub fn module(import: &Use, text: &str) -> String {
    let root = match &import.root {
        UseRoot::Name(name) => name.span,
        UseRoot::File(path) => path.span,
    };
    let root = slice(text, root);
    let path = import.path.iter().map(|part| part.text.as_str());
    std::iter::once(root).chain(path).collect::<Vec<_>>().join("::")
}

/// A name and its alias.
#[must_use]
pub fn written(name: &UseName) -> String {
    match &name.alias {
        Some(alias) => format!("{} as {}", name.name.text, alias.text),
        None => name.name.text.clone(),
    }
}

/// The names of an import in order.
fn names(import: &Use) -> Vec<String> {
    let mut names: Vec<String> = import.names.iter().map(written).collect();
    names.sort_unstable();
    names
}

/// An import with its names in order.
fn in_order(import: Import<'_>, text: &str) -> String {
    let Import { item, content } = import;
    let as_written = slice(text, item.span);
    if content.names.iter().map(written).is_sorted() {
        return as_written.to_owned();
    }
    let last = as_written.trim_end_matches([';', '}', ' ', '\t', '\r', '\n']);
    let comma = if last.ends_with(',') { "," } else { "" };
    format!("use {}::{{{}{comma}}};", module(content, text), names(content).join(", "))
}

/// Whether there is a comment in an import, or directly behind it on its line.
fn has_comment(span: Span, text: &str, comments: &[Token<'_>]) -> bool {
    let behind = text.get(span.end as usize..).unwrap_or_default();
    let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
    let end = span.end + blanks as u32;
    comments.iter().any(|comment| span.start <= comment.span.start && comment.span.start <= end)
}

/// Whether there is nothing between two imports, blank lines included.
fn follows(text: &str, before: Span, after: Span) -> bool {
    let between = text.get(before.end as usize..after.start as usize).unwrap_or_default();
    let rest = between.trim_start_matches([' ', '\t']);
    let rest = next_line(rest).unwrap_or(rest);
    rest.chars().all(|c| matches!(c, ' ' | '\t'))
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or_default()
}
