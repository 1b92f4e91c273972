//! Syntax trees, for comparison.

#![allow(unreachable_pub, reason = "test crates include this file")]

/// A tree's text without spans.
pub fn without_spans(tree: &impl std::fmt::Debug) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("Span { ");
    let mut bare = parts.next().unwrap_or_default().to_owned();
    bare.extend(parts.map(|part| part.split_once(" }").map_or(part, |(_, rest)| rest)));
    bare
}
