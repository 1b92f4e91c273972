//! Go to definition, references and highlights.

use super::occurrences;
use super::partners;
use crate::actor::Snapshot;
use crate::analysis::{Analysis, Spot};
use lsp_types::{DocumentHighlight, DocumentHighlightKind, Location, Position, Url};

/// Where the name at a position is declared.
#[must_use]
pub fn definition(snapshot: &Snapshot, url: &Url, position: Position) -> Option<Location> {
    let analysis = snapshot.analysis(url);
    let found = occurrences::at(&analysis, analysis.lines.offset(position))?;
    snapshot.location(&found.target)
}

/// Every place that refers to the same declaration as the name at a position. For a channel, these include the
/// declarations at the other ends; for the first word of an operation, they are the operations that meet it.
#[must_use]
pub fn references(
    snapshot: &Snapshot,
    url: &Url,
    position: Position,
    declaration: bool,
) -> Option<Vec<Location>> {
    let analysis = snapshot.analysis(url);
    let offset = analysis.lines.offset(position);
    if let Some(partners) = partners::of_operation(&analysis, offset) {
        return Some(partners.iter().filter_map(|place| snapshot.location(place)).collect());
    }
    let target = occurrences::at(&analysis, offset)?.target;
    let mut places = occurrences::everywhere(snapshot, &target);
    places.extend(partners::of_channel(&analysis, &target));
    let places = places.iter().skip(usize::from(!declaration));
    Some(places.filter_map(|place| snapshot.location(place)).collect())
}

/// The places in this file that refer to the same declaration.
#[must_use]
pub fn highlights(analysis: &Analysis<'_>, position: Position) -> Option<Vec<DocumentHighlight>> {
    let target = occurrences::at(analysis, analysis.lines.offset(position))?.target;
    let places = occurrences::all(analysis.database, &[analysis.document], &target);
    let name = analysis.name();
    let highlight = |place: &Spot| DocumentHighlight {
        range: analysis.lines.range(place.start..place.end),
        kind: Some(if *place == target {
            DocumentHighlightKind::WRITE
        } else {
            DocumentHighlightKind::READ
        }),
    };
    Some(places.iter().filter(|place| *place.name == *name).map(highlight).collect())
}
