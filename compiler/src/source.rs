//! Where something is: files, spans, lines and columns, and places in a plan.
//!
//! Everything that a report can point to is a [`Place`]: a span of source text, or an operation of a plan that was
//! read from JSON. Offsets are bytes of UTF-8 text.

mod ranges;

use crate::table::Table;
pub use ranges::Ranges;
use std::sync::Arc;

crate::table::id! {
    /// A file of a [`SourceMap`].
    FileId
}

/// A range of bytes in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file that it is in.
    pub file: FileId,
    /// Offset of its first byte.
    pub start: u32,
    /// Offset after its last byte.
    pub end: u32,
}

impl Span {
    /// The span from the beginning of `self` to the end of `last`, both in one file.
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        Span { file: self.file, start: self.start.min(last.start), end: self.end.max(last.end) }
    }
}

/// A plan that was read from a file, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanPlace {
    /// The plan's file.
    pub file: FileId,
    /// The rank, if the place is in one.
    pub rank: Option<u32>,
    /// The thread block, if the place is in one.
    pub block: Option<u32>,
    /// The operation's index in its block; operations in pipeline bodies are counted in file order.
    pub op: Option<u32>,
}

impl PlanPlace {
    /// The whole plan.
    #[must_use]
    pub fn whole(file: FileId) -> PlanPlace {
        PlanPlace { file, rank: None, block: None, op: None }
    }

    /// "rank 3", "block 0", "operation 5", as far as they are known.
    #[must_use]
    pub fn parts(&self) -> Vec<String> {
        let parts = [("rank", self.rank), ("block", self.block), ("operation", self.op)];
        let named =
            parts.iter().filter_map(|(word, number)| Some(format!("{word} {}", (*number)?)));
        named.collect()
    }
}

/// Whether a character makes text display in another order than it is written in: Unicode's embeddings, overrides and
/// isolates of direction (UAX 9, section 2). The two direction marks (U+200E, U+200F) are not among them: they act
/// like an invisible letter and change the direction of nothing else.
#[must_use]
pub fn changes_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A character because of which a file's name is refused, both for reading and for writing; none where there is none.
///
/// Names go into logs, makefiles, `#line` directives and build scripts' output, where a line end would begin a line that
/// the name's author chose. They are refused instead of escaped, since each of these places has other escapes, or none.
#[must_use]
pub fn refused_character(name: &str) -> Option<char> {
    name.chars().find(|c| is_refused(*c))
}

/// A file's name on one line, in which characters that are refused are written as escapes, such as `\u{a}`.
#[must_use]
pub fn escape_name(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        if is_refused(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn is_refused(c: char) -> bool {
    c.is_control() || changes_direction(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// What a report points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Source text.
    Source(Span),
    /// A part of a plan.
    Plan(PlanPlace),
}

impl From<Span> for Place {
    fn from(span: Span) -> Place {
        Place::Source(span)
    }
}

/// A call of a procedure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Where the call is.
    pub span: Span,
    /// The name of the procedure.
    pub name: Arc<str>,
}

/// A place, and the calls that led to it, innermost first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The place.
    pub place: Place,
    /// The calls of the procedures that the place is in.
    pub calls: Vec<Call>,
}

impl From<Place> for At {
    fn from(place: Place) -> At {
        At { place, calls: Vec::new() }
    }
}

impl From<Span> for At {
    fn from(span: Span) -> At {
        Place::from(span).into()
    }
}

/// What ends a line: `\n`, `\r`, or `\r\n` as one.
pub const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// The offsets behind the ends of a text's lines.
pub fn line_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    let is_end = move |at: &usize| match bytes.get(*at) {
        Some(b'\n') => true,
        Some(b'\r') => bytes.get(at + 1) != Some(&b'\n'),
        Some(_) | None => false,
    };
    (0..bytes.len()).filter(is_end).map(|at| at + 1)
}

/// A text without the end of a line that it begins with; none where it begins with none.
#[must_use]
pub fn next_line(text: &str) -> Option<&str> {
    text.strip_prefix("\r\n").or_else(|| text.strip_prefix(LINE_ENDS))
}

/// One file: its name as the user knows it, and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// A path as given, `<stdin>`, or `std::collections` for a library file.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// A file with its line index.
    #[must_use]
    pub fn new(name: String, text: Arc<str>) -> SourceFile {
        let line_starts =
            std::iter::once(0).chain(line_ends(&text).map(|end| end as u32)).collect();
        SourceFile { name, text, line_starts }
    }

    /// Line and column of an offset, both from 1; the column counts characters.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start as usize..offset as usize).unwrap_or("");
        (line as u32, before.chars().count() as u32 + 1)
    }

    /// The text of a span; empty if the span does not fit in the file.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}

/// All files of one run.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// The files, in the order in which they were read.
    pub files: Table<FileId, SourceFile>,
}

impl SourceMap {
    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.files.push(SourceFile::new(name.into(), text.into()))
    }

    /// The text of a span.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.files[span.file].slice(span)
    }

    /// The line of a span's beginning, from 1.
    #[must_use]
    pub fn line(&self, span: Span) -> u32 {
        self.files[span.file].line_column(span.start).0
    }
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, escape_name, next_line, refused_character};

    #[test]
    fn names_have_no_line_ends() {
        assert_eq!(refused_character("dir/a b,c.ccl"), None);
        assert_eq!(refused_character("a\n::error::b.ccl"), Some('\n'));
        assert_eq!(refused_character("a\u{2028}b"), Some('\u{2028}'));
        assert_eq!(escape_name("a\n\u{202e}é.ccl"), "a\\u{a}\\u{202e}é.ccl");
    }

    #[test]
    fn a_line_ends_with_either_or_both() {
        let file = SourceFile::new("a".to_owned(), "ab\rc\r\nd\n\re".into());
        let places: Vec<(u32, u32)> = (0..10).map(|offset| file.line_column(offset)).collect();
        let lines =
            [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1), (5, 1)];
        assert_eq!(places, lines);
        assert_eq!(
            [next_line("\r\na"), next_line("\r\r"), next_line("a")],
            [Some("a"), Some("\r"), None]
        );
    }
}
