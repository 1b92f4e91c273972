//! Text as a client sees it: lines, positions in the negotiated encoding, and changes of ranges.
//!
//! In: a text and positions of the protocol. Out: byte offsets and back, and the text after a change. A position beyond
//! the end of its line means the end of the line, one beyond the last line the end of the text, and one inside a
//! character its beginning, so that every position that a client sends is valid.

use compiler::source::line_ends;
use lsp_types::{Position, PositionEncodingKind, TextDocumentContentChangeEvent};
use std::ops::Range;
use std::sync::Arc;

/// The units in which columns are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// 16-bit units, which every client supports.
    #[default]
    Utf16,
}

impl Encoding {
    /// Its name in the protocol.
    #[must_use]
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    /// The offset of a column in a line; a column inside a character means the beginning of the character.
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

/// A text with the offsets of its lines. A line ends with `\n`, `\r` or `\r\n`, as in the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    text: Arc<str>,
    starts: Vec<u32>,
    /// For each character that has fewer units than bytes: the offset of its end, and by how many units the text up to
    /// there is shorter than its bytes.
    short: Vec<(u32, u32)>,
    encoding: Encoding,
}

impl Lines {
    /// The lines of a text.
    #[must_use]
    pub fn new(text: Arc<str>, encoding: Encoding) -> Lines {
        let starts = line_ends(&text).map(|end| end as u32);
        let starts = std::iter::once(0).chain(starts).collect();
        let short = match encoding {
            Encoding::Utf8 => Vec::new(),
            Encoding::Utf16 => short(&text),
        };
        Lines { text, starts, short, encoding }
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of lines, including the empty one after a final line break.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// A line without its line break.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        let start = self.start(line) as usize;
        let end = self.starts.get(line as usize + 1).map_or(self.text.len(), |next| *next as usize);
        self.text.get(start..end).unwrap_or("").trim_end_matches(['\r', '\n'])
    }

    /// The offset at which a line begins; for lines that do not exist, the end of the text.
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
        Position::new(line, self.units(end as u32) - self.units(self.start(line)))
    }

    /// The number of units before an offset.
    fn units(&self, offset: u32) -> u32 {
        let before = self.short.partition_point(|(end, _)| *end <= offset).checked_sub(1);
        let fewer = before.and_then(|last| self.short.get(last)).map_or(0, |(_, fewer)| *fewer);
        offset - fewer
    }

    /// The range between two offsets.
    #[must_use]
    pub fn range(&self, offsets: Range<u32>) -> lsp_types::Range {
        lsp_types::Range::new(
            self.position(offsets.start),
            self.position(offsets.end.max(offsets.start)),
        )
    }

    /// The offsets of a range.
    #[must_use]
    pub fn offsets(&self, range: lsp_types::Range) -> Range<u32> {
        let start = self.offset(range.start);
        start..self.offset(range.end).max(start)
    }
}

/// The entries of [`Lines`]'s `short`: the characters that have fewer 16-bit units than bytes.
fn short(text: &str) -> Vec<(u32, u32)> {
    let mut fewer = 0;
    let short = text.char_indices().filter(|(_, character)| !character.is_ascii());
    let entry = |(at, character): (usize, char)| {
        fewer += (character.len_utf8() - character.len_utf16()) as u32;
        ((at + character.len_utf8()) as u32, fewer)
    };
    short.map(entry).collect()
}

/// Applies changes; each refers to the text that the one before it left.
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

/// A range of a text that was replaced: all that differs between two texts.
#[derive(Clone, Copy, Debug)]
pub struct TextChange {
    start: u32,
    /// Where it ended in the old text.
    old_end: u32,
    /// Where its replacement ends in the new text.
    new_end: u32,
}

impl TextChange {
    /// The change that makes one text of another one.
    #[must_use]
    pub fn new(old: &str, new: &str) -> TextChange {
        let same = |(a, b): &(u8, u8)| a == b;
        let start = old.bytes().zip(new.bytes()).take_while(same).count();
        let most = old.len().min(new.len()) - start;
        let rest = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(same).count();
        TextChange {
            start: start as u32,
            old_end: (old.len() - rest) as u32,
            new_end: (new.len() - rest) as u32,
        }
    }

    /// Moves a range from the old text to the new one; returns whether it still exists.
    #[must_use]
    pub fn carry(&self, range: &mut Range<u32>) -> bool {
        if range.end <= self.start {
            return true;
        }
        if range.start < self.old_end {
            return false;
        }
        range.start = range.start - self.old_end + self.new_end;
        range.end = range.end - self.old_end + self.new_end;
        true
    }

    /// Moves an offset from the old text to the new one; returns whether it still exists.
    #[must_use]
    pub fn carry_offset(&self, offset: &mut u32) -> bool {
        let mut range = *offset..*offset;
        let exists = self.carry(&mut range);
        *offset = range.start;
        exists
    }
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
        // Inside a surrogate pair, and beyond the end of the line.
        assert_eq!(lines.offset(Position::new(1, 2)), 4);
        assert_eq!(lines.offset(Position::new(1, 99)), 9);
        assert_eq!(lines.offset(Position::new(99, 0)), text.len() as u32);
        let lines = Lines::new(text, Encoding::Utf8);
        assert_eq!(lines.offset(Position::new(1, 6)), 8);
        assert_eq!(lines.position(8), Position::new(1, 6));
    }

    #[test]
    fn a_line_ends_with_a_carriage_return_too() {
        let lines = Lines::new("a\rb\r\nc\n\rd\r".into(), Encoding::Utf16);
        assert_eq!(lines.count(), 6);
        let shown: Vec<&str> = (0..6).map(|line| lines.line(line)).collect();
        assert_eq!(shown, ["a", "b", "c", "", "d", ""]);
        assert_eq!(lines.offset(Position::new(1, 9)), 3);
        assert_eq!(lines.offset(Position::new(4, 0)), 8);
        assert_eq!(lines.position(8), Position::new(4, 0));
        assert_eq!(lines.position(4), Position::new(1, 2));
    }

    #[test]
    fn positions_lead_back() {
        let text: Arc<str> = "a\né𝔘x\r\n\nend\r𝔘é".into();
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let lines = Lines::new(text.clone(), encoding);
            // The second half of a `\r\n` is not a position of its own.
            for (at, character) in text.char_indices().filter(|(at, _)| *at != 10) {
                let position = lines.position(at as u32);
                assert_eq!(lines.offset(position), at as u32, "{character:?}");
            }
        }
    }

    #[test]
    fn each_change_is_about_the_text_that_the_last_one_left() {
        let at = |line, column| Position::new(line, column);
        let change = |from, to, text: &str| TextDocumentContentChangeEvent {
            range: Some(lsp_types::Range::new(from, to)),
            range_length: None,
            text: text.to_owned(),
        };
        let changes = vec![change(at(0, 1), at(1, 0), "--"), change(at(0, 3), at(0, 4), "𝔘")];
        assert_eq!(&*changed(&"a\nb\nc".into(), changes, Encoding::Utf16), "a--𝔘\nc");
    }

    #[test]
    fn what_stands_behind_an_edit_moves() {
        let change = TextChange::new("let a = 1; let b = 2;", "let a = 10; let b = 2;");
        let carried = |mut range: Range<u32>| change.carry(&mut range).then_some(range);
        assert_eq!(carried(4..5), Some(4..5));
        assert_eq!(carried(15..16), Some(16..17));
        assert!(!TextChange::new("aXYb", "aZb").carry(&mut (1..2)));
    }
}
