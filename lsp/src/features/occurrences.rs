//! Names and their declarations: the basis of go to definition, references and rename.
//!
//! In: an offset in a file. Out: where the name at the offset is declared, and every place that refers to the same
//! declaration, in all files that import it. The answers come from the compiler's name resolution.

use crate::actor::Snapshot;
use crate::analysis::{Analysis, Part, Semantics, Spot};
use crate::database::{self, Database, Db as _, Document};
use compiler::resolve::program::Unit;
use compiler::source::{FileId, Span};
use compiler::syntax::token::{Kind, Token, tokens};
use std::collections::BTreeSet;

/// A place that refers to a declaration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// The range of the name.
    pub place: Spot,
    /// The range of the name in its declaration.
    pub target: Spot,
}

/// The places in a declaration that refer to something, in the order of the text, without the names that it declares.
#[must_use]
pub fn uses(semantics: &Semantics<'_>) -> Vec<Occurrence> {
    let uses = semantics.resolved.uses.definitions.iter();
    let own = uses.filter(|(place, target)| place != target && semantics.is_own(*place));
    let occurrence = |(place, target): &(Span, Span)| Occurrence {
        place: semantics.spot(*place),
        target: semantics.spot(*target),
    };
    let all: BTreeSet<Occurrence> = own.map(occurrence).collect();
    all.into_iter().collect()
}

/// The name at an offset: its range, and that of its declaration.
#[must_use]
pub fn at(analysis: &Analysis<'_>, offset: u32) -> Option<Occurrence> {
    let part = analysis.part_at(offset)?;
    let semantics = analysis.semantics(part);
    let covers = |spot: &Spot| spot.start <= offset && offset <= spot.end;
    if let Some(found) = uses(&semantics).into_iter().find(|one| covers(&one.place)) {
        return Some(found);
    }
    let place = declared(analysis, part, &semantics).into_iter().find(covers)?;
    Some(Occurrence { target: place.clone(), place })
}

/// Every place that refers to the declaration at `target`, with the declaration itself first.
#[must_use]
pub fn all(database: &Database, documents: &[Document], target: &Spot) -> Vec<Spot> {
    let mut places = BTreeSet::new();
    for document in documents {
        for (_, declaration) in &database::outline(database, *document).declarations {
            let semantics = Semantics::new(database, *declaration);
            let same = uses(&semantics).into_iter().filter(|one| one.target == *target);
            places.extend(same.map(|one| one.place));
        }
    }
    places.remove(target);
    std::iter::once(target.clone()).chain(places).collect()
}

/// Every place in all files that refers to the declaration at `target`, with the declaration itself first.
#[must_use]
pub fn everywhere(snapshot: &Snapshot, target: &Spot) -> Vec<Spot> {
    let (database, files) = (&snapshot.database, snapshot.files());
    all(database, &neighbors(database, &files, &target.name), target)
}

/// The files that may refer to what a file declares: itself, and those that import it.
#[must_use]
pub fn neighbors(database: &Database, files: &[String], name: &str) -> Vec<Document> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let mut documents = vec![database.document(name)];
    for other in files.iter().filter(|other| *other != name) {
        let document = database.document(other);
        if document
            .text(database)
            .is_ok_and(|text| text.contains(file) || name.starts_with("std::"))
        {
            documents.push(document);
        }
    }
    documents
}

/// The names that a declaration declares: its own, and those inside it.
fn declared(analysis: &Analysis<'_>, part: Part<'_>, semantics: &Semantics<'_>) -> Vec<Spot> {
    let mut spans: Vec<Span> = locals(&semantics.resolved.unit);
    spans.retain(|span| semantics.is_own(*span));
    let mut spots: Vec<Spot> = spans.into_iter().map(|span| semantics.spot(span)).collect();
    let text = analysis.text().get(part.start as usize..part.end as usize).unwrap_or("");
    let all = tokens(FileId(0), text).tokens;
    for pair in all.windows(2) {
        if let [word, name] = pair
            && declares(word.kind)
            && name.kind.is_name()
        {
            let range = part.range(name.span);
            spots.push(Spot {
                name: analysis.name().to_string(),
                start: range.start,
                end: range.end,
            });
        }
    }
    spots
}

/// The parameters, binders and `let`s of all bodies.
fn locals(unit: &Unit) -> Vec<Span> {
    let functions = unit.functions.iter().map(|row| &row.frame);
    let procedures = unit.procedures.iter().map(|row| &row.frame);
    let collectives = unit.collectives.iter().map(|row| &row.frame);
    let programs = unit.programs.iter().map(|row| &row.frame);
    let topologies = unit.topologies.iter().map(|row| &row.frame);
    let frames = functions.chain(procedures).chain(collectives).chain(topologies).chain(programs);
    frames.flat_map(|frame| frame.iter()).map(|local| local.span).collect()
}

/// Whether the token after this word declares a name.
fn declares(word: Kind) -> bool {
    matches!(
        word,
        Kind::Let
            | Kind::Fn
            | Kind::Proc
            | Kind::Collective
            | Kind::Topology
            | Kind::Switch
            | Kind::Program
            | Kind::Scratch
            | Kind::Channel
            | Kind::Semaphore
            | Kind::Block
    )
}

/// Whether a text is a valid name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let cut = tokens(FileId(0), text);
    let whole = |token: &Token<'_>| token.kind.is_name() && token.text == text;
    cut.faults.is_empty() && matches!(cut.tokens.as_slice(), [token] if whole(token))
}
