//! The database's inputs (files, settings), and the declarations that its queries are about.
#![expect(missing_docs, reason = "the code that salsa's macros generate has no documentation")]

use crate::settings::Settings;
use std::sync::Arc;

/// A file's text, or a short explanation of why there is none.
pub type Text = Result<Arc<str>, String>;

/// A file: open in the editor, or read because another one imports it.
#[salsa::input(debug)]
pub struct Document {
    /// What the compiler calls it: its path from the root, its absolute path, or its URL.
    #[returns(clone)]
    pub name: Arc<str>,
    /// Its text.
    #[returns(clone)]
    pub text: Text,
}

/// The folders of the editor, on which it depends what a file may import.
#[salsa::input(singleton)]
pub struct Reach {
    /// How often they have changed.
    #[returns(copy)]
    pub changes: u64,
}

/// The editor's settings.
#[salsa::input(singleton)]
pub struct Configuration {
    /// The settings.
    #[returns(clone)]
    pub settings: Arc<Settings>,
}

/// A declaration at the top of a file, identified by its first words; its position in the file is
/// not part of it.
#[salsa::tracked(debug)]
pub struct Declaration<'db> {
    /// Its file.
    #[returns(copy)]
    pub document: Document,
    /// `program ring`, `use std`; empty for a piece without a declaration.
    #[returns(clone)]
    pub title: String,
    /// Its text, including comments and attributes above it that belong to it.
    #[tracked]
    #[returns(clone)]
    pub text: Arc<str>,
}
