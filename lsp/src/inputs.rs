//! What the database is told, and what its queries are about.
#![expect(missing_docs, reason = "what the macros of salsa add has no documentation")]

use crate::settings::Settings;
use std::sync::Arc;

/// A file's text, or in a few words why there is none.
pub type Text = Result<Arc<str>, String>;

/// A file: open in the editor, or read because another one imports it.
#[salsa::input(debug)]
pub struct Document {
    /// What the compiler calls it: its path from the root, or a whole path or address.
    #[returns(clone)]
    pub name: Arc<str>,
    /// Its text.
    #[returns(clone)]
    pub text: Text,
}

/// What the editor's settings ask for.
#[salsa::input(singleton)]
pub struct Configuration {
    /// The settings.
    #[returns(clone)]
    pub settings: Arc<Settings>,
}

/// A declaration at the top of a file, known by its first words; where it stands is no part of it.
#[salsa::tracked(debug)]
pub struct Declaration<'db> {
    /// Its file.
    #[returns(copy)]
    pub document: Document,
    /// `program ring`, `use`; empty for a piece without a declaration.
    #[returns(clone)]
    pub title: String,
    /// Its text, what stands above it and belongs to it included.
    #[tracked]
    #[returns(clone)]
    pub text: Arc<str>,
}
