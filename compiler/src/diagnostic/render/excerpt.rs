//! Excerpts from lines that are too long to be drawn whole: a plan's JSON is often one line of many
//! megabytes.

use super::printable;
use crate::source::{LINE_ENDS, SourceFile};

/// Lines with more bytes than this are not drawn whole.
const MAX_LINE: usize = 1000;

/// How many characters are shown on each side of a place's beginning.
const AROUND: usize = 60;

/// Whether one of the lines in which a range of a text begins and ends is too long to be drawn.
pub(super) fn is_needed(file: &SourceFile, (start, end): (usize, usize)) -> bool {
    [start, end].into_iter().any(|offset| line(file, offset).len() > MAX_LINE)
}

/// The text around the beginning of a range, and a line of marks to go below it.
pub(super) fn around(file: &SourceFile, (start, end): (usize, usize)) -> [String; 2] {
    let line = line(file, start);
    let before = file.text.get(line.start..start).unwrap_or("");
    let after = file.text.get(start..line.end).unwrap_or("");
    let from = before.char_indices().rev().take(AROUND).last().map_or(before.len(), |(at, _)| at);
    let to = after.char_indices().nth(AROUND).map_or(after.len(), |(at, _)| at);
    let (left, right) = (before.get(from..).unwrap_or(""), after.get(..to).unwrap_or(""));
    let cut = |is_cut: bool| if is_cut { ".." } else { "" };
    let (head, tail) = (cut(from > 0), cut(to < after.len()));
    let inside = right.get(..end - start).unwrap_or(right).chars().count().max(1);
    let indent = " ".repeat(head.len() + left.chars().count());
    let shown = printable(&format!("{left}{right}"));
    [format!("{head}{shown}{tail}"), format!("{indent}{}", "^".repeat(inside))]
}

/// The range of an offset's line, without its line end. Of a line that is too long, only the part around the offset, so
/// that a thousand reports about one line do not read all of it a thousand times.
fn line(file: &SourceFile, offset: usize) -> std::ops::Range<usize> {
    let text = &*file.text;
    let offset = if text.is_char_boundary(offset) { offset } else { text.len() };
    let first = boundary(text, (0..=offset.saturating_sub(MAX_LINE + 1)).rev());
    let last = boundary(text, offset + MAX_LINE + 1..text.len());
    let (before, after) = (text.get(first..offset), text.get(offset..last));
    let start = before.and_then(|before| before.rfind(LINE_ENDS));
    let end = after.and_then(|after| after.find(LINE_ENDS));
    start.map_or(first, |newline| first + newline + 1)..end.map_or(last, |end| offset + end)
}

/// The first of some offsets that is not inside a character; the end of the text if none is.
fn boundary(text: &str, mut offsets: impl Iterator<Item = usize>) -> usize {
    offsets.find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINE, line};
    use crate::source::SourceFile;

    #[test]
    fn of_a_long_line_only_a_part_is_read() {
        let text = format!("first\n{}\nlast", "ä".repeat(10_000));
        let file = SourceFile::new("a".to_owned(), text.as_str().into());
        assert_eq!((line(&file, 2), line(&file, text.len())), (0..5, text.len() - 4..text.len()));
        let middle = line(&file, 10_006);
        assert!(middle.start < 10_006 - MAX_LINE && 10_006 + MAX_LINE < middle.end, "{middle:?}");
        assert!(middle.len() < 2 * MAX_LINE + 10, "{middle:?}");
        assert!(text.is_char_boundary(middle.start) && text.is_char_boundary(middle.end));
    }
}
