//! Imports as links to the imported files, including those of the library.

use crate::analysis::Analysis;
use compiler::source::Span;
use compiler::syntax::ast::{ItemKind, Use, UseRoot};
use lsp_types::{DocumentLink, Url};

/// The links of a file; `url` gives the URL of a file by its compiler name.
#[must_use]
pub fn links(analysis: &Analysis<'_>, url: &dyn Fn(&str) -> Option<Url>) -> Vec<DocumentLink> {
    let mut links = Vec::new();
    for part in analysis.parts() {
        for item in &analysis.parsed(part).file.items {
            let ItemKind::Use(used) = &item.kind else { continue };
            let range = part.range(module(used));
            let range = analysis.lines.range(range);
            let target = analysis.imported(used).and_then(|name| url(&name));
            let tooltip = Some("open the imported file".to_owned());
            links.extend(target.map(|target| DocumentLink {
                range,
                target: Some(target),
                tooltip,
                data: None,
            }));
        }
    }
    links
}

/// The span of a module's name: a path without its quotes, or `std::` and the names after it.
fn module(used: &Use) -> Span {
    match &used.root {
        UseRoot::File(path) => {
            Span { start: path.span.start + 1, end: path.span.end - 1, ..path.span }
        }
        UseRoot::Name(root) => used.path.iter().fold(root.span, |all, name| all.to(name.span)),
    }
}
