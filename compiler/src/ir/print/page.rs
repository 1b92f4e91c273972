//! Text as it is written, with the line numbers of operations.
//!
//! In: pieces of text in order, and a mark before each operation. Out: the text, and the line of each mark.

use super::Printed;
use crate::ir::OriginId;

/// What has been written so far.
#[derive(Default)]
pub(super) struct Page {
    text: String,
    lines: u32,
    marks: Vec<(u32, OriginId)>,
}

impl Page {
    /// Adds text.
    pub(super) fn push(&mut self, text: &str) {
        self.lines += text.bytes().filter(|byte| *byte == b'\n').count() as u32;
        self.text.push_str(text);
    }

    /// Records the origin of the line that is written next.
    pub(super) fn mark(&mut self, origin: OriginId) {
        self.marks.push((self.lines + 1, origin));
    }

    /// The finished text.
    pub(super) fn done(self) -> Printed {
        Printed { text: self.text, lines: self.marks }
    }
}
