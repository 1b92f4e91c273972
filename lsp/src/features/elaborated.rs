//! A program with concrete parameters, as straight-line text: what every rank does, and where each line comes from.
//!
//! In: a file and the name of a program. Out: the text that `cclc dump` prints, for the text in the editor, saved or
//! not. None if the program has too many operations to be readable, or errors and none was shown before.

use crate::actor::Snapshot;
use crate::analysis::{Analysis, Part, Spot};
use crate::concrete;
use crate::retained::{Retainable, Retained};
use crate::text::TextChange;
use compiler::ir::print;
use compiler::source::Place;
use compiler::syntax::ast::ItemKind;
use lsp_types::{Location, TextDocumentIdentifier, Url};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

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
#[serde(rename_all = "camelCase")]
pub struct Elaborated {
    /// Its text.
    pub text: String,
    /// The source locations of the lines.
    pub places: Vec<Location>,
    /// The lines that have source locations, ascending.
    pub links: Vec<Link>,
    /// Whether it is the program as it is now; otherwise it is the one before its errors.
    pub is_current: bool,
}

/// A line and its source locations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The line, from 0.
    pub line: u32,
    /// Its statement, then the calls that led there, innermost first; each is an index into the list of places.
    pub places: Vec<usize>,
}

/// An elaborated program with its places in files.
#[derive(Clone, Debug)]
pub struct ElaboratedSource {
    /// The file that it was made from.
    file: String,
    text: Arc<str>,
    /// The places of the lines; none where one is gone since.
    places: Vec<Option<Spot>>,
    links: Arc<[Link]>,
}

impl Retainable for ElaboratedSource {
    fn carry(&mut self, change: &TextChange) -> bool {
        for place in &mut self.places {
            let Some(spot) = place.as_mut().filter(|spot| spot.name == self.file) else { continue };
            let mut range = spot.start..spot.end;
            if change.carry(&mut range) {
                (spot.start, spot.end) = (range.start, range.end);
            } else {
                *place = None;
            }
        }
        true
    }
}

impl ElaboratedSource {
    /// The program for the client; the links that lead nowhere are left out.
    fn answer(&self, snapshot: &Snapshot, is_current: bool) -> Elaborated {
        let mut places = Vec::new();
        let numbers: Vec<Option<usize>> = (self.places.iter())
            .map(|spot| {
                places.push(snapshot.location(spot.as_ref()?)?);
                Some(places.len() - 1)
            })
            .collect();
        let number = |place: &usize| numbers.get(*place).copied().flatten();
        let links = self.links.iter().map(|link| Link {
            line: link.line,
            places: link.places.iter().filter_map(number).collect(),
        });
        let links = links.filter(|link| !link.places.is_empty()).collect();
        Elaborated { text: self.text.to_string(), places, links, is_current }
    }
}

/// Elaborates a program of a file. While it has errors, `retained` has what was shown before.
#[must_use]
pub fn elaborated(
    snapshot: &Snapshot,
    url: &Url,
    program: Option<&str>,
    retained: &Retained<ElaboratedSource>,
) -> Option<Elaborated> {
    let analysis = snapshot.analysis(url);
    let text = analysis.document.text(analysis.database).unwrap_or_default();
    let key = program.unwrap_or_default();
    let part = find_program(&analysis, program);
    match part.filter(|part| analysis.is_sound(*part)) {
        Some(part) => {
            let source = elaborate(snapshot, &analysis, part);
            retained.keep(url, &text, key, source.iter().cloned().collect());
            source.map(|source| source.answer(snapshot, true))
        }
        None => {
            let before = retained.recall(url, &text, key);
            before.first().map(|source| source.answer(snapshot, false))
        }
    }
}

/// The declaration of a program; of the first one, if it has no name.
fn find_program<'a>(analysis: &Analysis<'a>, program: Option<&str>) -> Option<Part<'a>> {
    analysis.parts().into_iter().find(|part| {
        analysis.parsed(*part).file.items.iter().any(|item| match &item.kind {
            ItemKind::Program(item) => program.is_none_or(|name| name == item.name.text),
            ItemKind::Use(_)
            | ItemKind::Let(_)
            | ItemKind::Function(_)
            | ItemKind::Procedure(_)
            | ItemKind::Collective(_)
            | ItemKind::Topology(_) => false,
        })
    })
}

fn elaborate(
    snapshot: &Snapshot,
    analysis: &Analysis<'_>,
    part: Part<'_>,
) -> Option<ElaboratedSource> {
    let program = concrete::promised(&snapshot.database, part.declaration, MAX_OPERATIONS)?;
    let semantics = analysis.semantics(part);
    let printed = print::print(&program);
    let mut known: BTreeMap<Place, Option<usize>> = BTreeMap::new();
    let (mut places, mut links) = (Vec::new(), Vec::new());
    for (line, origin) in printed.lines {
        let found = program.origins.places(origin).into_iter().filter_map(|place| {
            *known.entry(place).or_insert_with(|| {
                let Place::Source(span) = place else { return None };
                places.push(Some(semantics.spot(span)));
                Some(places.len() - 1)
            })
        });
        links.push(Link { line: line - 1, places: found.collect() });
    }
    let (file, text) = (analysis.name().to_string(), printed.text.into());
    Some(ElaboratedSource { file, text, places, links: links.into() })
}
