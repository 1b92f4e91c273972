//! The call hierarchy: who calls a function, procedure or collective, and what it calls. Programs and constants call, but
//! are not called.

use super::occurrences;
use crate::actor::Snapshot;
use crate::analysis::{self, Semantics, Spot};
use crate::database::{self, Db as _, Declaration};
use compiler::syntax::ast::{Item, ItemKind, Name};
use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, Position, Range,
    SymbolKind, Url,
};
use std::collections::BTreeMap;

/// A caller or callee: its declaration, its name, and the offset in its file that their spans are
/// relative to.
struct Found<'db> {
    declaration: Declaration<'db>,
    item: Item,
    name: Name,
    kind: SymbolKind,
    start: u32,
}

/// The declaration named at a position.
#[must_use]
pub fn prepare(
    snapshot: &Snapshot,
    url: &Url,
    position: Position,
) -> Option<Vec<CallHierarchyItem>> {
    let analysis = snapshot.analysis(url);
    let target = occurrences::at(&analysis, analysis.lines.offset(position))?.target;
    let found = around(snapshot, &target).filter(|found| is_name_of(found, &target))?;
    Some(vec![entry(snapshot, &target.name, &found)?])
}

/// The calls to an item.
#[must_use]
pub fn incoming(
    snapshot: &Snapshot,
    item: &CallHierarchyItem,
) -> Option<Vec<CallHierarchyIncomingCall>> {
    let target = target(snapshot, item);
    around(snapshot, &target).filter(is_called)?;
    let (database, files) = (&snapshot.database, snapshot.files());
    let documents = occurrences::neighbors(database, &files, &target.name);
    let mut callers: BTreeMap<(String, u32), (CallHierarchyItem, Vec<Range>)> = BTreeMap::new();
    for place in occurrences::all(database, &documents, &target).into_iter().skip(1) {
        let Some(found) = around(snapshot, &place) else { continue };
        let (Some(from), Some(at)) =
            (entry(snapshot, &place.name, &found), snapshot.location(&place))
        else {
            continue;
        };
        let key = (place.name.clone(), found.start);
        callers.entry(key).or_insert_with(|| (from, Vec::new())).1.push(at.range);
    }
    let calls = callers.into_values();
    Some(calls.map(|(from, from_ranges)| CallHierarchyIncomingCall { from, from_ranges }).collect())
}

/// The calls that an item makes.
#[must_use]
pub fn outgoing(
    snapshot: &Snapshot,
    item: &CallHierarchyItem,
) -> Option<Vec<CallHierarchyOutgoingCall>> {
    let found = around(snapshot, &target(snapshot, item))?;
    let semantics = Semantics::new(&snapshot.database, found.declaration);
    let mut called: BTreeMap<Spot, (CallHierarchyItem, Vec<Range>)> = BTreeMap::new();
    for one in occurrences::uses(&semantics) {
        let callee = around(snapshot, &one.target)
            .filter(|found| is_called(found) && is_name_of(found, &one.target));
        let to = callee.and_then(|callee| entry(snapshot, &one.target.name, &callee));
        if let (Some(to), Some(at)) = (to, snapshot.location(&one.place)) {
            called.entry(one.target).or_insert_with(|| (to, Vec::new())).1.push(at.range);
        }
    }
    let calls = called.into_values();
    Some(calls.map(|(to, from_ranges)| CallHierarchyOutgoingCall { to, from_ranges }).collect())
}

/// The place of the name of an item that the client was given.
fn target(snapshot: &Snapshot, item: &CallHierarchyItem) -> Spot {
    let analysis = snapshot.analysis(&item.uri);
    let range = analysis.lines.offsets(item.selection_range);
    Spot { name: analysis.name().to_string(), start: range.start, end: range.end }
}

/// The item that contains a place, if it can call or be called.
fn around<'db>(snapshot: &'db Snapshot, place: &Spot) -> Option<Found<'db>> {
    let document = snapshot.database.document(&place.name);
    let parts = analysis::parts(&snapshot.database, document);
    let part = parts.into_iter().rfind(|part| part.start <= place.start)?;
    let parsed = database::parsed(&snapshot.database, part.declaration);
    let inside = |item: &&Item| {
        let range = part.range(item.span);
        range.start <= place.start && place.end <= range.end
    };
    let item = parsed.file.items.iter().find(inside)?;
    let (name, kind) = match &item.kind {
        ItemKind::Function(item) => (&item.name, SymbolKind::FUNCTION),
        ItemKind::Procedure(item) => (&item.name, SymbolKind::METHOD),
        ItemKind::Program(item) => (&item.name, SymbolKind::CLASS),
        ItemKind::Collective(item) => (&item.name, SymbolKind::INTERFACE),
        ItemKind::Topology(item) => (&item.name, SymbolKind::STRUCT),
        ItemKind::Let(item) => (&item.name, SymbolKind::CONSTANT),
        ItemKind::Use(_) => return None,
    };
    Some(Found {
        declaration: part.declaration,
        item: item.clone(),
        name: name.clone(),
        kind,
        start: part.start,
    })
}

/// Whether a declaration is something that is called.
fn is_called(found: &Found<'_>) -> bool {
    [SymbolKind::FUNCTION, SymbolKind::METHOD, SymbolKind::INTERFACE].contains(&found.kind)
}

/// Whether a place is that of the item's own name.
fn is_name_of(found: &Found<'_>, place: &Spot) -> bool {
    found.start + found.name.span.start == place.start
}

fn entry(snapshot: &Snapshot, file: &str, found: &Found<'_>) -> Option<CallHierarchyItem> {
    let spot = |start: u32, end: u32| Spot {
        name: file.to_owned(),
        start: found.start + start,
        end: found.start + end,
    };
    let whole = snapshot.location(&spot(found.item.span.start, found.item.span.end))?;
    let name = snapshot.location(&spot(found.name.span.start, found.name.span.end))?;
    Some(CallHierarchyItem {
        name: found.name.text.clone(),
        kind: found.kind,
        tags: None,
        detail: Some(file.to_owned()),
        uri: whole.uri,
        range: whole.range,
        selection_range: name.range,
        data: None,
    })
}
