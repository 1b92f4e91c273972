//! Regular expressions that match words of the table.

use crate::{Kind, of_kind};

/// A pattern for whole words of some kinds.
pub(crate) fn whole(kinds: &[Kind]) -> String {
    format!(r"\b(?:{})\b", words(kinds))
}

/// The words of some kinds as alternatives, longer ones first, so that a shorter word does not match
/// the beginning of a longer one.
pub(crate) fn words(kinds: &[Kind]) -> String {
    let mut texts: Vec<&str> =
        kinds.iter().flat_map(|kind| of_kind(*kind)).map(|word| word.text).collect();
    texts.sort_by_key(|text| (std::cmp::Reverse(text.len()), *text));
    texts.into_iter().map(escape).collect::<Vec<_>>().join("|")
}

/// A pattern for numbers with their units.
pub(crate) fn number() -> String {
    format!(r"\b[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:{})?\b", words(&[Kind::Unit]))
}

/// A pattern that matches exactly this text.
fn escape(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let special = !c.is_ascii_alphanumeric() && c != '_';
            special.then_some('\\').into_iter().chain(std::iter::once(c))
        })
        .collect()
}
