//! Go to definition, implementations, references and highlights.

use super::occurrences::{self, Occurrence};
use super::partners;
use crate::actor::Snapshot;
use crate::analysis::{Analysis, Spot};
use crate::declared::program_of;
use compiler::syntax::ast::ProgramItemKind;
use lsp_types::{DocumentHighlight, DocumentHighlightKind, Location, LocationLink, Position, Url};

/// Where the name at a position is declared.
#[must_use]
pub fn definition(snapshot: &Snapshot, url: &Url, position: Position) -> Option<Location> {
    let analysis = snapshot.analysis(url);
    let found = occurrences::at(&analysis, analysis.lines.offset(position))?;
    snapshot.location(&found.target)
}

/// The same for a client that also shows the whole declaration, and underlines the name at the position.
#[must_use]
pub fn definition_link(snapshot: &Snapshot, url: &Url, position: Position) -> Option<LocationLink> {
    let analysis = snapshot.analysis(url);
    let Occurrence { place, target } = occurrences::at(&analysis, analysis.lines.offset(position))?;
    let Location { uri, range } = snapshot.location(&target)?;
    let whole = whole_declaration(&snapshot.analysis(&uri), &target);
    Some(LocationLink {
        origin_selection_range: Some(analysis.lines.range(place.start..place.end)),
        target_range: whole.unwrap_or(range),
        target_selection_range: range,
        target_uri: uri,
    })
}

/// The range of the declaration at the top of a file whose name is at a place; none if what is declared there is inside
/// another declaration.
fn whole_declaration(analysis: &Analysis<'_>, target: &Spot) -> Option<lsp_types::Range> {
    let part = analysis.part_at(target.start)?;
    let parsed = analysis.parsed(part);
    let item = parsed.file.items.iter().find(|item| {
        let name = item.kind.declared_name();
        name.is_some_and(|name| part.range(name.span) == (target.start..target.end))
    })?;
    Some(analysis.lines.range(part.range(item.span)))
}

/// The programs, in all files, that implement the collective whose name is at a position.
#[must_use]
pub fn implementations(
    snapshot: &Snapshot,
    url: &Url,
    position: Position,
) -> Option<Vec<Location>> {
    let analysis = snapshot.analysis(url);
    let target = occurrences::at(&analysis, analysis.lines.offset(position))?.target;
    let places = occurrences::everywhere(snapshot, &target);
    let programs: Vec<Location> =
        places.iter().filter_map(|place| implementing_program(snapshot, place)).collect();
    (!programs.is_empty()).then_some(programs)
}

/// The name of the program that implements the collective that is named at a place.
fn implementing_program(snapshot: &Snapshot, place: &Spot) -> Option<Location> {
    let analysis = snapshot.analysis(&snapshot.url(&place.name)?);
    let part = analysis.part_at(place.start)?;
    let parsed = analysis.parsed(part);
    let mut programs = parsed.file.items.iter().filter_map(program_of);
    let program = programs.find(|program| {
        program.items.iter().any(|item| match &item.kind {
            ProgramItemKind::Implements(named) => {
                part.range(named.name.span) == (place.start..place.end)
            }
            ProgramItemKind::Machine(_)
            | ProgramItemKind::Options(_)
            | ProgramItemKind::Scratch(_)
            | ProgramItemKind::Channel(_)
            | ProgramItemKind::Semaphore(_)
            | ProgramItemKind::Statement(_) => false,
        })
    })?;
    let name = part.range(program.name.span);
    snapshot.location(&Spot { name: place.name.clone(), start: name.start, end: name.end })
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
