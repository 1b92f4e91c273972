//! A program with concrete parameters, as straight-line text: what every rank does, and where each line comes from.
//!
//! In: a file and the name of a program. Out: the text that `cclc dump` prints, for the text in the editor, saved or
//! not. None if the program has errors or too many operations to be readable.

use crate::actor::Snapshot;
use crate::concrete;
use compiler::ir::print;
use compiler::source::Place;
use compiler::syntax::ast::ItemKind;
use lsp_types::{Location, TextDocumentIdentifier, Url};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most operations of a program that is shown.
const MAX_OPERATIONS: u64 = 1 << 18;

/// The parameters of the request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Params {
    /// The file.
    pub text_document: TextDocumentIdentifier,
    /// The program's name; without one, the first program of the file is meant.
    pub program: Option<String>,
}

/// An elaborated program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elaborated {
    /// Its text.
    pub text: String,
    /// The source locations of the lines.
    pub places: Vec<Location>,
    /// The lines that have source locations, ascending.
    pub links: Vec<Link>,
}

/// A line and its source locations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The line, from 0.
    pub line: u32,
    /// Its statement, then the calls that led there, innermost first; each is an index into the list of places.
    pub places: Vec<usize>,
}

/// Elaborates a program of a file.
#[must_use]
pub fn elaborated(snapshot: &Snapshot, url: &Url, program: Option<&str>) -> Option<Elaborated> {
    let analysis = snapshot.analysis(url);
    let mut parts = analysis.parts().into_iter();
    let part = parts.find(|part| {
        analysis.parsed(*part).file.items.iter().any(|item| match &item.kind {
            ItemKind::Program(item) => program.is_none_or(|name| name == item.name.text),
            ItemKind::Use(_)
            | ItemKind::Let(_)
            | ItemKind::Function(_)
            | ItemKind::Procedure(_)
            | ItemKind::Collective(_) => false,
        })
    })?;
    let program = concrete::promised(&snapshot.database, part.declaration, MAX_OPERATIONS)?;
    let semantics = analysis.semantics(part);
    let printed = print::print(&program);
    let mut known: BTreeMap<Place, Option<usize>> = BTreeMap::new();
    let (mut places, mut links) = (Vec::new(), Vec::new());
    for (line, origin) in printed.lines {
        let found = program.origins.places(origin).into_iter().filter_map(|place| {
            *known.entry(place).or_insert_with(|| {
                let Place::Source(span) = place else { return None };
                places.push(snapshot.location(&semantics.spot(span))?);
                Some(places.len() - 1)
            })
        });
        links.push(Link { line: line - 1, places: found.collect() });
    }
    Some(Elaborated { text: printed.text, places, links })
}
