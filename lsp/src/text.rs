//! Text as a client sees it: lines, positions in the units that were agreed on, changes of ranges.
//!
//! In: a text and positions of the protocol. Out: offsets in bytes and back, the text after a change. A position beyond
//! the end of its line means the end of the line, one beyond the last line the end of the text, and one inside a
//! character its beginning, so that no position of a client can be wrong.

use lsp_types::{Position, PositionEncodingKind, Range, TextDocumentContentChangeEvent};
use std::sync::Arc;

/// In what a column is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of 16 bits, which every client speaks.
    #[default]
    Utf16,
}

impl Encoding {
    /// The best of those that a client offers.
    #[must_use]
    pub fn negotiated(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        match offered {
            Some(kinds) if kinds.contains(&PositionEncodingKind::UTF8) => Encoding::Utf8,
            Some(_) | None => Encoding::Utf16,
        }
    }

    /// Its name in the protocol.
    #[must_use]
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    /// How many units a text has.
    fn units(self, text: &str) -> usize {
        match self {
            Encoding::Utf8 => text.len(),
            Encoding::Utf16 => text.encode_utf16().count(),
        }
    }

    /// The offset of a column in a line: that of the last character which begins at or before it.
    fn offset(self, line: &str, column: usize) -> usize {
        let mut units = 0;
        for (offset, character) in line.char_indices() {
            let after = units
                + match self {
                    Encoding::Utf8 => character.len_utf8(),
                    Encoding::Utf16 => character.len_utf16(),
                };
            if after > column {
                return offset;
            }
            units = after;
        }
        line.len()
    }
}

/// A text with the beginnings of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    text: Arc<str>,
    starts: Vec<u32>,
    encoding: Encoding,
}

impl Lines {
    /// The lines of a text.
    #[must_use]
    pub fn new(text: Arc<str>, encoding: Encoding) -> Lines {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        Lines { text, starts, encoding }
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines there are, the empty one after the last line break among them.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// A line without its line break.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        let start = self.start(line) as usize;
        let end = self.starts.get(line as usize + 1).map_or(self.text.len(), |next| *next as usize);
        let line = self.text.get(start..end).unwrap_or("");
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// The offset at which a line begins; that of the end for lines that there are not.
    #[must_use]
    pub fn start(&self, line: u32) -> u32 {
        self.starts.get(line as usize).copied().unwrap_or(self.text.len() as u32)
    }

    /// The offset of a position.
    #[must_use]
    pub fn offset(&self, position: Position) -> u32 {
        let line = self.line(position.line);
        let column = self.encoding.offset(line, position.character as usize);
        self.start(position.line) + column as u32
    }

    /// The position of an offset.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1) as u32;
        let mut end = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = self.text.get(self.start(line) as usize..end).unwrap_or("");
        Position::new(line, self.encoding.units(before) as u32)
    }

    /// The range between two offsets.
    #[must_use]
    pub fn range(&self, offsets: std::ops::Range<u32>) -> Range {
        Range::new(self.position(offsets.start), self.position(offsets.end.max(offsets.start)))
    }

    /// The positions of ascending offsets, in the time that one reading of the text takes.
    #[must_use]
    pub fn walk(&self) -> Walk<'_> {
        Walk { lines: self, offset: 0, position: Position::default() }
    }

    /// The offsets of a range.
    #[must_use]
    pub fn offsets(&self, range: Range) -> std::ops::Range<u32> {
        let start = self.offset(range.start);
        start..self.offset(range.end).max(start)
    }
}

/// A way through a text, from the front.
pub struct Walk<'t> {
    lines: &'t Lines,
    offset: u32,
    position: Position,
}

impl Walk<'_> {
    /// The position of an offset that does not lie before the last one.
    pub fn to(&mut self, offset: u32) -> Position {
        let between = self.lines.text.get(self.offset as usize..offset as usize).unwrap_or("");
        let line = match between.rfind('\n') {
            Some(last) => {
                self.position.line += between.matches('\n').count() as u32;
                self.position.character = 0;
                between.get(last + 1..).unwrap_or("")
            }
            None => between,
        };
        self.position.character += self.lines.encoding.units(line) as u32;
        self.offset = offset;
        self.position
    }
}

/// The text after changes, each of which is about the text that the one before it left.
#[must_use]
pub fn changed(
    text: &Arc<str>,
    changes: Vec<TextDocumentContentChangeEvent>,
    encoding: Encoding,
) -> Arc<str> {
    let mut text = text.clone();
    for change in changes {
        text = match change.range {
            None => change.text.into(),
            Some(range) => {
                let lines = Lines::new(text.clone(), encoding);
                let range = lines.offsets(range);
                let (before, after) = (range.start as usize, range.end as usize);
                let mut new = String::with_capacity(text.len() + change.text.len());
                new.push_str(text.get(..before).unwrap_or(""));
                new.push_str(&change.text);
                new.push_str(text.get(after..).unwrap_or(""));
                new.into()
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_the_units_agreed_on() {
        let text: Arc<str> = "a\né𝔘x\r\n".into();
        let lines = Lines::new(text.clone(), Encoding::Utf16);
        assert_eq!(lines.offset(Position::new(1, 3)), 8);
        assert_eq!(lines.position(8), Position::new(1, 3));
        // Inside a pair of units, and behind the end of the line.
        assert_eq!(lines.offset(Position::new(1, 2)), 4);
        assert_eq!(lines.offset(Position::new(1, 99)), 9);
        assert_eq!(lines.offset(Position::new(99, 0)), text.len() as u32);
        let lines = Lines::new(text, Encoding::Utf8);
        assert_eq!(lines.offset(Position::new(1, 6)), 8);
        assert_eq!(lines.position(8), Position::new(1, 6));
    }

    #[test]
    fn a_walk_meets_the_same_positions() {
        let text: Arc<str> = "a\né𝔘x\r\n\nend".into();
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let lines = Lines::new(text.clone(), encoding);
            let mut walk = lines.walk();
            for (at, _) in text.char_indices() {
                assert_eq!(walk.to(at as u32), lines.position(at as u32));
            }
        }
    }

    #[test]
    fn each_change_is_about_the_text_that_the_last_one_left() {
        let at = |line, column| Position::new(line, column);
        let change = |from, to, text: &str| TextDocumentContentChangeEvent {
            range: Some(Range::new(from, to)),
            range_length: None,
            text: text.to_owned(),
        };
        let changes = vec![change(at(0, 1), at(1, 0), "--"), change(at(0, 3), at(0, 4), "𝔘")];
        assert_eq!(&*changed(&"a\nb\nc".into(), changes, Encoding::Utf16), "a--𝔘\nc");
    }
}
