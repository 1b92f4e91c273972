//! The view of a file that features work with: its text, its declarations and their meaning, in the file's own offsets.
//!
//! In: a snapshot of the database and a file. Out: for each declaration (a [`Part`]) its syntax tree and its
//! [`Semantics`]: its meaning, with the mapping between offsets of the file and of the excerpt that the compiler saw.
//! Everything is computed on demand and only for the declaration in question, so that an answer takes no longer in a
//! long file than in a short one.

use crate::database::{
    self, Database, Db, Declaration, Disk as _, Document, Parsed, Proved, Resolved,
};
use crate::excerpt::{Canon, Excerpt};
use crate::settings::Settings;
use crate::text::{Encoding, Lines};
use crate::workspace::Workspace;
use compiler::resolve::load;
use compiler::source::{FileId, Span};
use compiler::syntax::ast;
use std::ops::Range;
use std::sync::Arc;

/// A file, as features see it.
pub struct Analysis<'db> {
    /// The snapshot of the database.
    pub database: &'db Database,
    /// The mapping between files and names.
    pub workspace: &'db Workspace,
    /// The file.
    pub document: Document,
    /// Its text and positions.
    pub lines: Arc<Lines>,
}

/// A declaration at the top of a file.
#[derive(Clone, Copy)]
pub struct Part<'db> {
    /// Where it begins; spans of its tree are relative to this offset.
    pub start: u32,
    /// Where the next one begins.
    pub end: u32,
    /// The database's handle of it.
    pub declaration: Declaration<'db>,
}

impl Part<'_> {
    /// Converts a span of its tree to offsets in the file.
    #[must_use]
    pub fn range(&self, span: Span) -> Range<u32> {
        self.start + span.start..self.start + span.end
    }
}

/// A range of some file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The compiler's name for the file.
    pub name: String,
    /// The first offset.
    pub start: u32,
    /// The offset after the last.
    pub end: u32,
}

impl<'db> Analysis<'db> {
    /// The view of a file in a snapshot.
    #[must_use]
    pub fn new(
        database: &'db Database,
        workspace: &'db Workspace,
        name: &str,
        encoding: Encoding,
    ) -> Analysis<'db> {
        let document = database.document(name);
        let lines = database::lines(database, document, encoding);
        Analysis { database, workspace, document, lines }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.lines.text()
    }

    /// The compiler's name for it.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        self.document.name(self.database)
    }

    /// The file that an import names; none if there can be no such file, or it may not be imported.
    #[must_use]
    pub fn imported(&self, used: &ast::Use) -> Option<String> {
        let name = self.name();
        let import = load::imported(&name, used)?;
        self.workspace.refuse_import(&name, &import).ok().map(|()| import)
    }

    /// The editor's settings.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        database::Configuration::get(self.database).settings(self.database)
    }

    /// Its declarations, in order; together they cover the whole text.
    #[must_use]
    pub fn parts(&self) -> Vec<Part<'db>> {
        parts(self.database, self.document)
    }

    /// The declaration in which an offset lies.
    #[must_use]
    pub fn part_at(&self, offset: u32) -> Option<Part<'db>> {
        let parts = self.parts();
        let position = parts.partition_point(|part| part.start <= offset);
        parts.get(position.checked_sub(1)?).copied()
    }

    /// A declaration's syntax tree; its spans are converted by [`Part::range`].
    #[must_use]
    pub fn parsed(&self, part: Part<'db>) -> Arc<Parsed> {
        database::parsed(self.database, part.declaration)
    }

    /// Whether a declaration has no errors of syntax, names or types, also in what it needs.
    #[must_use]
    pub fn is_sound(&self, part: Part<'db>) -> bool {
        !database::is_faulty(self.database, part.declaration)
            && !database::resolved(self.database, part.declaration).broken
    }

    /// The meaning of a declaration.
    #[must_use]
    pub fn semantics(&self, part: Part<'db>) -> Semantics<'db> {
        Semantics::new(self.database, part.declaration)
    }

    /// The result of the checks of a program; computed if it is not known yet, which may take long.
    #[must_use]
    pub fn proved(&self, part: Part<'db>) -> Arc<Proved> {
        database::proved(self.database, part.declaration)
    }
}

/// The declarations of a file.
#[must_use]
pub fn parts(database: &Database, document: Document) -> Vec<Part<'_>> {
    let outline = database::outline(database, document);
    let length = document.text(database).map_or(0, |text| text.len() as u32);
    let ends = outline.declarations.iter().skip(1).map(|(start, _)| *start).chain([length]);
    let parts = outline.declarations.iter().zip(ends);
    parts
        .map(|((start, declaration), end)| Part { start: *start, end, declaration: *declaration })
        .collect()
}

/// Maps a declaration's own tokens to the excerpt in which the compiler saw it.
pub struct Own {
    canon: Arc<Canon>,
    /// Where they begin in the excerpt.
    base: u32,
}

impl Own {
    /// Finds a declaration in its excerpt.
    #[must_use]
    pub fn new<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Own {
        let reached = database::reached(db, declaration);
        let position = reached.iter().position(|other| *other == declaration);
        let excerpt = database::excerpt_of(db, declaration);
        let base = position.and_then(|position| excerpt.starts.get(position)).copied();
        Own { canon: database::canon(db, declaration), base: base.unwrap_or(0) }
    }

    /// Converts a span of the declaration's tree to the compiler's span.
    #[must_use]
    pub fn place(&self, span: Span) -> Span {
        // An offset at the end of the span may already belong to the next token.
        let last = span.end.max(span.start + 1) - 1;
        let end = self.forth(last) + u32::from(span.end > span.start);
        Span { file: FileId(0), start: self.forth(span.start), end }
    }

    fn forth(&self, offset: u32) -> u32 {
        self.base + self.canon.forth(offset)
    }
}

/// The meaning of a declaration, and the mapping between the compiler's offsets and the file's.
pub struct Semantics<'db> {
    /// The result of name resolution, in the compiler's offsets.
    pub resolved: Arc<Resolved>,
    name: Arc<str>,
    excerpt: Arc<Excerpt>,
    /// The declarations of the excerpt: the offset in the file at which each begins, and its tokens.
    members: Vec<(u32, Arc<Canon>)>,
    declaration: Declaration<'db>,
    reached: Arc<Vec<Declaration<'db>>>,
    own: Own,
    /// The offset in the file at which the declaration begins.
    start: u32,
}

impl<'db> Semantics<'db> {
    /// Resolves a declaration.
    #[must_use]
    pub fn new(database: &'db Database, declaration: Declaration<'db>) -> Semantics<'db> {
        let document = declaration.document(database);
        let reached = database::reached(database, declaration);
        let outline = database::outline(database, document);
        let start = |declaration: &Declaration<'db>| {
            let found = outline.declarations.iter().find(|(_, other)| other == declaration);
            found.map_or(0, |(start, _)| *start)
        };
        let member = |other: &Declaration<'db>| (start(other), database::canon(database, *other));
        Semantics {
            resolved: database::resolved(database, declaration),
            name: document.name(database),
            excerpt: database::excerpt_of(database, declaration),
            members: reached.iter().map(member).collect(),
            declaration,
            reached,
            own: Own::new(database, declaration),
            start: start(&declaration),
        }
    }

    /// Converts a span of the compiler's to a range of a file.
    #[must_use]
    pub fn spot(&self, span: Span) -> Spot {
        if span.file != FileId(0) {
            let file = self.resolved.sources.files.lookup(span.file);
            let name = file.map(|file| file.name.clone()).unwrap_or_default();
            return Spot { name, start: span.start, end: span.end };
        }
        let end = self.back(span.end, Canon::back_from_end);
        let start = if span.start < span.end { self.back(span.start, Canon::back) } else { end };
        Spot { name: self.name.to_string(), start, end: end.max(start) }
    }

    /// Converts the span of an edit that the compiler proposes to a range of a file.
    #[must_use]
    pub fn edited(&self, span: Span) -> Spot {
        let spot = self.spot(span);
        if span.file != FileId(0) || span.start >= span.end {
            return spot;
        }
        let (position, offset) = self.excerpt.part(span.start);
        let start =
            self.members.get(position).map(|(start, canon)| start + canon.back_to_next(offset));
        Spot { start: start.unwrap_or(spot.start).min(spot.end), ..spot }
    }

    /// Whether a span lies in the declaration itself.
    #[must_use]
    pub fn is_own(&self, span: Span) -> bool {
        let (position, _) = self.excerpt.part(span.start);
        span.file == FileId(0) && self.reached.get(position) == Some(&self.declaration)
    }

    /// Converts an offset in the file, inside this declaration, to the compiler's offset.
    #[must_use]
    pub fn forth(&self, offset: u32) -> u32 {
        self.own.forth(offset.saturating_sub(self.start))
    }

    /// Converts a span of this declaration's tree to the compiler's span.
    #[must_use]
    pub fn place(&self, span: Span) -> Span {
        self.own.place(span)
    }

    /// Converts an offset of the compiler's to an offset in the file.
    fn back(&self, offset: u32, way: impl Fn(&Canon, u32) -> u32) -> u32 {
        let (position, offset) = self.excerpt.part(offset);
        self.members.get(position).map_or(0, |(start, canon)| start + way(canon, offset))
    }
}
