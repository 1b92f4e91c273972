//! Less synchronization: statements are removed, with the loops and conditions that have nothing else in them, or
//! `relaxed`.

use super::statement::Statement;
use super::surroundings::{Header, Surroundings};
use crate::diagnostic::Edit;
use crate::source::{FileId, Place, SourceMap, Span};
use crate::syntax::token::Kind;
use std::collections::BTreeMap;

/// Makes signals and waits `relaxed`; none if a statement is none, or has the word already, or is not in one of the
/// author's files.
pub(crate) fn relaxed(sources: &SourceMap, places: &[Place]) -> Option<Vec<Edit>> {
    places.iter().map(|place| Statement::new(sources, *place)?.relaxed()).collect()
}

/// Removes statements; none if one is not in one of the author's files.
pub(crate) fn without(sources: &SourceMap, places: &[Place]) -> Option<Vec<Edit>> {
    let mut files: BTreeMap<FileId, Vec<Span>> = BTreeMap::new();
    for place in places {
        let statement = Statement::new(sources, *place)?;
        files.entry(statement.span.file).or_default().push(statement.span);
    }
    let mut edits = Vec::new();
    for (id, mut spans) in files {
        let file = sources.files.lookup(id)?;
        let surroundings = Surroundings::new(file, spans.first().copied()?);
        while let Some(emptied) =
            spans.iter().find_map(|span| emptied(&surroundings, *span, &spans))
        {
            spans.retain(|span| !contains(emptied, *span));
            spans.push(emptied);
        }
        for span in spans {
            edits.push(Statement::or_block(sources, Place::Source(span))?.removed_with_comment());
        }
    }
    Some(edits)
}

/// The innermost loop or condition around a removed statement, if everything in it is removed.
fn emptied(surroundings: &Surroundings<'_>, removed: Span, all: &[Span]) -> Option<Span> {
    let header = surroundings.headers(removed.start)?.pop()?;
    let close = surroundings.closing(header.open)?;
    let inside = surroundings.tokens.get(header.open + 1..close)?;
    let is_empty = inside.iter().all(|token| all.iter().any(|span| contains(*span, token.span)));
    let ends = (surroundings.start(header.first)?, surroundings.end(close)?);
    (is_empty && stands_alone(surroundings, header, close)).then_some(Span {
        start: ends.0,
        end: ends.1,
        ..removed
    })
}

/// Whether this is a loop or a condition without `else`.
fn stands_alone(surroundings: &Surroundings<'_>, header: Header, close: usize) -> bool {
    let kind = |at: usize| surroundings.tokens.get(at).map(|token| token.kind);
    matches!(kind(header.word), Some(Kind::For | Kind::If)) && kind(close + 1) != Some(Kind::Else)
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
