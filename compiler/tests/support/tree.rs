//! Syntax trees, for comparison.

#![allow(unreachable_pub, reason = "test crates include this file")]

use compiler::syntax::ast::{File, ItemKind};

/// A tree's text without spans.
pub fn without_spans(tree: &impl std::fmt::Debug) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("Span { ");
    let mut bare = parts.next().unwrap_or_default().to_owned();
    bare.extend(parts.map(|part| part.split_once(" }").map_or(part, |(_, rest)| rest)));
    bare
}

/// The declarations of a file without spans: first its imports, in an order that does not depend on that in the file, as
/// do their names.
pub fn declarations(file: &File) -> Vec<String> {
    let mut imports = Vec::new();
    let mut others = Vec::new();
    for item in &file.items {
        let mut item = item.clone();
        if let ItemKind::Use(import) = &mut item.kind {
            import.names.sort_by_cached_key(without_spans);
            imports.push(without_spans(&item));
        } else {
            others.push(without_spans(&item));
        }
    }
    imports.sort_unstable();
    imports.extend(others);
    imports
}
