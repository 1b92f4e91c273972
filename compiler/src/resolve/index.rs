//! The names of a file. In: its tree. Out: what it declares, without looking into any body.

use crate::source::Span;
use crate::syntax::ast;

/// What a file declares, in order, including duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The declarations.
    pub entries: Vec<Entry>,
}

/// A declaration at the top of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it declares.
    pub kind: EntryKind,
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub span: Span,
    /// Its index among the file's items.
    pub item: usize,
}

/// What an [`Entry`] declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A `let`.
    Constant,
    /// A function.
    Function,
    /// A procedure.
    Procedure,
    /// A collective.
    Collective,
    /// A topology.
    Topology,
    /// A program, which cannot be imported.
    Program,
}

impl EntryKind {
    /// The noun with its article, such as "a function".
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            EntryKind::Constant => "a constant",
            EntryKind::Function => "a function",
            EntryKind::Procedure => "a procedure",
            EntryKind::Collective => "a collective",
            EntryKind::Topology => "a topology",
            EntryKind::Program => "a program",
        }
    }
}

/// The names that a file declares.
#[must_use]
pub fn index(file: &ast::File) -> Index {
    let mut entries = Vec::new();
    for (item, declared) in file.items.iter().enumerate() {
        let (kind, name) = match &declared.kind {
            ast::ItemKind::Use(_) => continue,
            ast::ItemKind::Let(item) => (EntryKind::Constant, &item.name),
            ast::ItemKind::Function(item) => (EntryKind::Function, &item.name),
            ast::ItemKind::Procedure(item) => (EntryKind::Procedure, &item.name),
            ast::ItemKind::Collective(item) => (EntryKind::Collective, &item.name),
            ast::ItemKind::Topology(item) => (EntryKind::Topology, &item.name),
            ast::ItemKind::Program(item) => (EntryKind::Program, &item.name),
        };
        entries.push(Entry { kind, name: name.text.clone(), span: name.span, item });
    }
    Index { entries }
}
