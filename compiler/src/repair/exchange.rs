//! A signal and a wait at the beginning of a block.
//!
//! The edit is made only if the wait whose channels are used stands directly in the block, and nothing that is declared
//! before it in the block could be named by them.

use super::statement::{Statement, gap};
use super::surroundings::Surroundings;
use crate::diagnostic::Edit;
use crate::source::Span;

/// Makes the block of a wait begin with a relaxed signal and wait over its channels.
pub(super) fn at_the_beginning(like: &Statement<'_>) -> Option<Edit> {
    let text = Surroundings::new(like.file, like.span);
    let headers = text.headers(like.span.start)?;
    let (block, around) = headers.split_last()?;
    let in_program = around.first().is_some_and(|first| text.word(first.word) == "program");
    if !in_program || text.word(block.word) != "block" {
        return None;
    }
    let start = text.start(block.open + 1)?;
    let mut at = block.open + 1;
    while text.start(at)? < like.span.start {
        at = match text.word(at) {
            "let" => return None,
            "(" | "[" | "{" => text.closing(at)? + 1,
            _ => at + 1,
        };
    }
    let (via, gap) = (like.via()?, gap(text.file, start));
    let span = Span { start, end: start, ..like.span };
    Some(Edit { span, text: format!("signal {via} relaxed;{gap}wait {via} relaxed;{gap}") })
}
