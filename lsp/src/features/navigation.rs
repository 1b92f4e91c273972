//! Go to definition, references, highlights and rename.
//!
//! Rename changes every place where the old name is written; places that use another name given by an import's `as`
//! stay as they are. It is refused if the new name is not a valid name or is already used in a declaration that
//! would change, if the library declares the name, and for parameters of programs that the compiler finds by their
//! names.

use super::occurrences::{self, Occurrence};
use super::partners;
use crate::actor::Snapshot;
use crate::analysis::{self, Analysis, Spot};
use crate::database::{self, Db as _};
use compiler::syntax::ast;
use lsp_types::{
    DocumentChanges, DocumentHighlight, DocumentHighlightKind, Location, OneOf,
    OptionalVersionedTextDocumentIdentifier, Position, PrepareRenameResponse, TextDocumentEdit,
    TextEdit, Url, WorkspaceEdit,
};
use std::collections::BTreeMap;

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
    let mut places = everywhere(snapshot, &target);
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

/// Whether the name at a position can be changed, and its range.
///
/// # Errors
/// Why it cannot be changed.
pub fn prepare_rename(
    snapshot: &Snapshot,
    url: &Url,
    position: Position,
) -> Result<Option<PrepareRenameResponse>, String> {
    let analysis = snapshot.analysis(url);
    let Some(found) = occurrences::at(&analysis, analysis.lines.offset(position)) else {
        return Ok(None);
    };
    let placeholder = text(snapshot, &found.place);
    refuse(snapshot, &found, &placeholder)?;
    let range = analysis.lines.range(found.place.start..found.place.end);
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder }))
}

/// Says why a name cannot be changed, regardless of the new name.
fn refuse(snapshot: &Snapshot, found: &Occurrence, old: &str) -> Result<(), String> {
    if !is_original(snapshot, &found.target, old) {
        return Ok(());
    }
    if found.target.name.starts_with("std::") {
        return Err("names declared in the library cannot be renamed".to_owned());
    }
    if INTERFACE.contains(&old) && is_program_parameter(snapshot, &found.target) {
        return Err(format!("`{old}` cannot be renamed: the compiler finds it by this name"));
    }
    Ok(())
}

/// The parameters that say on how many ranks a program runs; the compiler looks for these names.
const INTERFACE: [&str; 2] = ["ranks", "ranks_per_node"];

fn is_program_parameter(snapshot: &Snapshot, target: &Spot) -> bool {
    is_in_program(snapshot, target, |program, place| {
        program.parameters.iter().any(|parameter| parameter.name.span.start == place)
    })
}

fn is_program(snapshot: &Snapshot, target: &Spot) -> bool {
    is_in_program(snapshot, target, |program, place| program.name.span.start == place)
}

/// Whether `holds` is true of a program in the declaration around a place, and of that place in its tree.
fn is_in_program(
    snapshot: &Snapshot,
    target: &Spot,
    holds: impl Fn(&ast::Program, u32) -> bool,
) -> bool {
    let document = snapshot.database.document(&target.name);
    let parts = analysis::parts(&snapshot.database, document);
    let Some(part) = parts.iter().rfind(|part| part.start <= target.start) else { return false };
    let parsed = database::parsed(&snapshot.database, part.declaration);
    parsed.file.items.iter().any(|item| match &item.kind {
        ast::ItemKind::Program(program) => holds(program, target.start - part.start),
        ast::ItemKind::Use(_)
        | ast::ItemKind::Let(_)
        | ast::ItemKind::Function(_)
        | ast::ItemKind::Procedure(_)
        | ast::ItemKind::Collective(_) => false,
    })
}

/// The edits that rename what is named at a position; `versioned` makes them edits of the current versions of open
/// files.
///
/// # Errors
/// Why it cannot be renamed.
pub fn rename(
    snapshot: &Snapshot,
    url: &Url,
    position: Position,
    new: &str,
    versioned: bool,
) -> Result<Option<WorkspaceEdit>, String> {
    if !occurrences::is_name(new) {
        return Err(format!("`{new}` is not a valid name"));
    }
    let analysis = snapshot.analysis(url);
    let Some(found) = occurrences::at(&analysis, analysis.lines.offset(position)) else {
        return Ok(None);
    };
    let old = text(snapshot, &found.place);
    refuse(snapshot, &found, &old)?;
    if new == old {
        return Ok(Some(WorkspaceEdit::default()));
    }
    let places = everywhere(snapshot, &found.target);
    let places: Vec<Spot> =
        places.into_iter().filter(|place| text(snapshot, place) == old).collect();
    let clash = |place: &&Spot| match is_program(snapshot, &found.target) {
        true => is_program_name(snapshot, place, new),
        false => is_taken(snapshot, place, new),
    };
    if let Some(place) = places.iter().find(clash) {
        return Err(format!("`{new}` is already used in `{}`", place.name));
    }
    let mut changes: BTreeMap<Url, Vec<TextEdit>> = BTreeMap::new();
    for location in places.iter().filter_map(|place| snapshot.location(place)) {
        let edit = TextEdit::new(location.range, new.to_owned());
        changes.entry(location.uri).or_default().push(edit);
    }
    Ok(Some(if versioned {
        let edits = changes.into_iter().map(|(uri, edits)| of_version(snapshot, uri, edits));
        let document_changes = Some(DocumentChanges::Edits(edits.collect()));
        WorkspaceEdit { document_changes, ..WorkspaceEdit::default() }
    } else {
        let changes = Some(changes.into_iter().collect());
        WorkspaceEdit { changes, ..WorkspaceEdit::default() }
    }))
}

/// Edits of the version of a file that was looked at.
fn of_version(snapshot: &Snapshot, uri: Url, edits: Vec<TextEdit>) -> TextDocumentEdit {
    let version = snapshot.version(&uri);
    TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    }
}

fn everywhere(snapshot: &Snapshot, target: &Spot) -> Vec<Spot> {
    let (database, files) = (&snapshot.database, snapshot.files());
    let documents = occurrences::neighbors(database, &files, &target.name);
    occurrences::all(database, &documents, target)
}

/// Whether `name` is the name with which the target is declared, not another one that an import gave it.
fn is_original(snapshot: &Snapshot, target: &Spot, name: &str) -> bool {
    text(snapshot, target) == name
}

fn text(snapshot: &Snapshot, spot: &Spot) -> String {
    let lines = snapshot.lines(&spot.name);
    let text = lines.as_ref().map_or("", |lines| lines.text());
    text.get(spot.start as usize..spot.end as usize).unwrap_or("").to_owned()
}

/// Whether a name already has a meaning in the declaration around a place.
fn is_taken(snapshot: &Snapshot, place: &Spot, name: &str) -> bool {
    let database = &snapshot.database;
    let document = database.document(&place.name);
    let outline = database::outline(database, document);
    let next = outline.declarations.partition_point(|(start, _)| *start <= place.start);
    let around = next.checked_sub(1).and_then(|last| outline.declarations.get(last));
    let mentions = around.is_some_and(|(_, declaration)| {
        database::names(database, *declaration).mentions.contains(name)
    });
    mentions || database::directory(database, document).declaring.contains_key(name)
}

/// Whether a program in the file around a place has this name; programs have a namespace of their own.
fn is_program_name(snapshot: &Snapshot, place: &Spot, name: &str) -> bool {
    let document = snapshot.database.document(&place.name);
    database::directory(&snapshot.database, document).programs.contains(name)
}
