//! Selection ranges: the word, the nodes that contain it, the declaration, the file.

use crate::analysis::Analysis;
use crate::nodes::Node;
use compiler::source::FileId;
use compiler::syntax::token::tokens;
use lsp_types::SelectionRange;
use std::ops::Range;

/// The ranges around an offset, innermost first; the whole file is the outermost parent.
#[must_use]
pub fn around(analysis: &Analysis<'_>, offset: u32) -> SelectionRange {
    let whole = 0..analysis.text().len() as u32;
    let mut ranges: Vec<Range<u32>> = Vec::from([whole]);
    if let Some(part) = analysis.part_at(offset) {
        let parsed = analysis.parsed(part);
        let at = offset - part.start;
        let text = part.declaration.text(analysis.database);
        for item in &parsed.file.items {
            if item.span.start <= at && at <= item.span.end {
                let path = Node::Item(item).path(at);
                ranges.extend(path.iter().map(|node| part.range(node.span())));
            }
        }
        let mut words = tokens(FileId(0), &text).tokens.into_iter();
        let word = words.rfind(|word| word.span.start <= at && at <= word.span.end);
        ranges.extend(word.map(|word| part.range(word.span)));
    }
    nested(analysis, ranges)
}

/// Nests ranges, given from the outermost to the innermost; each distinct one appears once.
fn nested(analysis: &Analysis<'_>, ranges: Vec<Range<u32>>) -> SelectionRange {
    let mut last: Range<u32> = 0..u32::MAX;
    let mut result: Option<SelectionRange> = None;
    for range in ranges {
        let inside = last.start <= range.start && range.end <= last.end;
        if inside && range != last {
            let parent = result.map(Box::new);
            result = Some(SelectionRange { range: analysis.lines.range(range.clone()), parent });
            last = range;
        }
    }
    result.unwrap_or(SelectionRange { range: analysis.lines.range(0..0), parent: None })
}
