//! Where items are inserted, and what of them: nothing that the text has already.
//!
//! In: items with the text that they would insert into an empty line, and the word at the cursor. Out: the same items
//! with their edits. Before a bracket, `=`, `.` or `;`, or before the operands of a statement, an item does not bring
//! its own.

use crate::analysis::Analysis;
use compiler::source::{FileId, LINE_ENDS};
use compiler::syntax::token::{Kind, Token, tokens};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, InsertReplaceEdit, InsertTextFormat,
};

/// The word at the cursor, in offsets of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Where it begins.
    pub(super) start: u32,
    /// Where the cursor is.
    pub(super) cursor: u32,
    /// Where it ends.
    pub(super) end: u32,
}

impl Word {
    /// The part of a text around an offset whose characters `belongs` accepts.
    pub(super) fn around(text: &str, cursor: u32, belongs: impl Fn(char) -> bool) -> Word {
        let (before, after) = text.split_at_checked(cursor as usize).unwrap_or((text, ""));
        let start = before.trim_end_matches(&belongs).len();
        let rest = after.trim_start_matches(&belongs).len();
        Word { start: start as u32, cursor, end: (text.len() - rest) as u32 }
    }
}

/// Whether a character can be part of a name.
pub(super) fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The items with their edits, in this order for clients, too.
pub(super) fn inserted(
    analysis: &Analysis<'_>,
    word: Word,
    items: Vec<CompletionItem>,
) -> Vec<CompletionItem> {
    let rest = analysis.text().get(word.end as usize..).unwrap_or_default();
    let rest = rest.split(LINE_ENDS).next().unwrap_or_default().trim_start();
    let next = tokens(FileId(0), rest).tokens.first().copied();
    let goes_on = next.is_some_and(continues);
    // A word of the language that comes next already is not missing.
    let is_next = |item: &CompletionItem| {
        let bare = item.insert_text.is_none() && item.kind == Some(CompletionItemKind::KEYWORD);
        bare && word.start == word.end && next.is_some_and(|next| next.text == item.label)
    };
    let (insert, replace) = (word.start..word.cursor, word.start..word.end);
    let (insert, replace) = (analysis.lines.range(insert), analysis.lines.range(replace));
    let placed = |(position, item): (usize, CompletionItem)| {
        let (new_text, insert_text_format) = text_before(&item, rest, goes_on);
        let edit = InsertReplaceEdit { new_text, insert, replace };
        CompletionItem {
            insert_text: None,
            insert_text_format,
            sort_text: Some(format!("{position:04}")),
            text_edit: Some(CompletionTextEdit::InsertAndReplace(edit)),
            ..item
        }
    };
    items.into_iter().filter(|item| !is_next(item)).enumerate().map(placed).collect()
}

/// What of an item is inserted before the rest of a line. `goes_on` says whether that continues a statement.
fn text_before(
    item: &CompletionItem,
    rest: &str,
    goes_on: bool,
) -> (String, Option<InsertTextFormat>) {
    let text = item.insert_text.as_deref().unwrap_or(&item.label);
    // A binder has a placeholder for its name.
    if item.label.split_once(' ').is_some_and(|(_, next)| begins_alike(next, rest)) {
        let name = item.label.split(' ').next().unwrap_or(text);
        return (name.to_owned(), None);
    }
    let head = text.find(|c| !is_of_name(c) && c != '.').unwrap_or(text.len());
    let head = text.get(..head).unwrap_or(text).trim_end_matches('.');
    let tail = text.get(head.len()..).unwrap_or_default();
    let operands = tail.starts_with(' ') && !tail.starts_with(" =");
    if begins_alike(tail.trim_start(), rest) || operands && goes_on {
        return (head.to_owned(), None);
    }
    let ended = rest.starts_with(';') || goes_on;
    let tail = if ended { tail.trim_end_matches(';') } else { tail };
    (format!("{head}{tail}"), item.insert_text_format)
}

/// Whether what an item inserts after its name and the rest of a line begin with the same mark, or the same `in`.
fn begins_alike(tail: &str, rest: &str) -> bool {
    let marks = ["[", "(", ".", "::", "=", "in "];
    let begins = |mark: &&str| tail.starts_with(mark) && rest.starts_with(mark);
    marks.iter().any(begins) && !rest.starts_with("==")
}

/// Whether a token that comes next continues a statement, rather than ending it or beginning another one.
fn continues(next: Token<'_>) -> bool {
    let ends = next.kind.is_closer() || matches!(next.kind, Kind::Semicolon | Kind::Comma);
    let begins = grammar::WORDS.iter().filter(|word| word.text == next.text);
    let another = begins.map(|word| word.kind).any(|kind| {
        use grammar::Kind::{Declaration, Synchronise, Transfer};
        matches!(kind, Declaration | Synchronise | Transfer)
    });
    !ends && !another
}
