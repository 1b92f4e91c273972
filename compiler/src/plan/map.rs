//! Maps: files next to plans that say where a plan's operations come from.
//!
//! In: a map's text. Out: a [`Map`], which adds to reports about its plan the source lines that the operations come
//! from. It is bound to the plan by a hash of the plan's bytes. `docs/map.md` describes the format; its version changes
//! when a field is removed or changes its meaning. `trace` makes maps.
//!
//! A map is not trusted: an index that is out of range is ignored.

mod accepted;
mod trace;

use crate::diagnostic::{Diagnostic, Label};
use crate::source::{FileId, Place, PlanPlace, SourceMap, Span, escape_name, refused_character};
pub use accepted::Accepted;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The version of the format.
pub const VERSION: u32 = 1;

/// Where the operations of one plan come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    version: u32,
    /// The hash of the plan's bytes.
    plan: String,
    collective: Collective,
    /// How many copies of each block the plan has, side by side.
    instances: u32,
    /// The source files.
    files: Vec<File>,
    /// Places in them.
    places: Vec<PlaceRow>,
    /// Loop values and calls, numbered from 1: 0 is none.
    values: Vec<ValueRow>,
    /// The distinct blocks: where the block comes from, then its operations, pipelines before their bodies.
    blocks: Vec<Vec<OriginRow>>,
    /// For each rank, the rows of `blocks` that it has, in order, before copies are made.
    ranks: Vec<Vec<u32>>,
    /// For each rank, what several of its blocks may use; empty if no rank has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shared: Vec<Vec<accepted::SharedRow>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Collective {
    name: String,
    /// Names of its parameters and their values before copies are made, as they would be written in source.
    arguments: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    name: String,
    hash: String,
}

/// The file, the offsets of the first byte and of the byte after the last one, line and column.
type PlaceRow = (u32, u32, u32, u32, u32);

/// A row of `places`, and the innermost loop value or call around it.
type OriginRow = (u32, u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
enum ValueRow {
    /// The next outer row, a name and its value.
    Value(u32, String, i64),
    /// The next outer row, and the place of a call.
    Call(u32, u32),
}

/// A value that a map gives to a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// A number, such as a rank.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A list, such as the counts of a collective.
    List(Vec<Argument>),
}

impl Argument {
    /// The value of a text, which is the same in source and in JSON; none for any other expression: whoever reads a map
    /// does not compute what its author likes.
    fn read(text: &str) -> Option<Argument> {
        serde_json::from_str(text).ok()
    }
}

/// A source file that a map names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'m> {
    /// Its path as it was given to the compiler, or a library name such as `std::patterns`.
    pub name: &'m str,
    hash: &'m str,
}

impl Source<'_> {
    /// Whether this is the text that the plan was built from.
    #[must_use]
    pub fn has(&self, text: &str) -> bool {
        digest(text.as_bytes()) == self.hash
    }
}

impl Map {
    /// Reads a map.
    ///
    /// # Errors
    /// The reason, if the text is not a map or is of another version.
    pub fn read(text: &str) -> Result<Map, String> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let head: Head = serde_json::from_str(text).map_err(|error| misread(&error))?;
        if head.version != VERSION {
            let other = head.version;
            return Err(format!("it has version {other}, and only {VERSION} is supported"));
        }
        let map: Map = serde_json::from_str(text).map_err(|error| misread(&error))?;
        map.refuse_odd_texts()?;
        Ok(map)
    }

    /// Refuses names that would not stay on their line in a report, and arguments that are no values.
    fn refuse_odd_texts(&self) -> Result<(), String> {
        let of_values = self.values.iter().filter_map(|row| match row {
            ValueRow::Value(_, name, _) => Some(name),
            ValueRow::Call(..) => None,
        });
        let mut names = self.files.iter().map(|file| &file.name).chain(of_values);
        if names.any(|name| refused_character(name).is_some()) {
            return Err("a name in it has a control character".to_owned());
        }
        let is_odd = |(_, value): &&(String, String)| Argument::read(value).is_none();
        match self.collective.arguments.iter().find(is_odd) {
            Some((name, _)) => Err(format!(
                "its argument `{}` is no number, `true`, `false` or list of these",
                escape_name(name)
            )),
            None => Ok(()),
        }
    }

    /// Binds the map to the plan that has this digest.
    #[must_use]
    pub fn bound_to(self, plan: String) -> Map {
        Map { plan, ..self }
    }

    /// Whether this is the map of the plan with this text.
    #[must_use]
    pub fn fits(&self, plan: &str) -> bool {
        digest(plan.as_bytes()) == self.plan
    }

    /// Writes the map.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// Whether a file that begins like this is a map that was written here.
    #[must_use]
    pub fn is_written(head: &[u8]) -> bool {
        let version = head.strip_prefix(b"{\"version\":").unwrap_or_default();
        let digits = version.iter().take_while(|byte| byte.is_ascii_digit()).count();
        version.get(digits..).is_some_and(|rest| rest.starts_with(b",\"plan\":\"blake3:"))
    }

    /// The arguments of the plan's collective before copies were made, with their names.
    pub fn arguments(&self) -> impl Iterator<Item = (&str, Argument)> {
        let arguments = self.collective.arguments.iter();
        arguments.filter_map(|(name, value)| Some((name.as_str(), Argument::read(value)?)))
    }

    /// The source files, in the order in which [`Map::explain`] takes them.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        self.files.iter().map(|file| Source { name: &file.name, hash: &file.hash })
    }

    /// Adds to reports about the plan where its operations come from: in words, and if the source text is available, as
    /// a place in it, if the map has one that lies there. `texts` has the file of each source, where there is one.
    pub fn explain(
        &self,
        plan: FileId,
        sources: &SourceMap,
        texts: &[Option<FileId>],
        reports: &mut [Diagnostic],
    ) {
        for report in reports {
            let mut places = Vec::new();
            for label in report.primary.iter_mut().chain(&mut report.secondary) {
                let place = self.trace_label(plan, texts, label);
                places.extend(place.filter(|label| lies_in(sources, label.place)));
            }
            report.secondary.extend(places);
        }
    }

    fn trace_label(
        &self,
        plan: FileId,
        texts: &[Option<FileId>],
        label: &mut Label,
    ) -> Option<Label> {
        let Place::Plan(place) = label.place else { return None };
        let (row, value) = self.origin(place).filter(|_| place.file == plan)?;
        let (file, start, end, line, _) = *self.places.get(row as usize)?;
        let name = &self.files.get(file as usize)?.name;
        let values = self.loop_values(value);
        let values = match values.as_slice() {
            [] => String::new(),
            values => format!(" ({})", values.join(", ")),
        };
        let and = if label.text.is_empty() { "" } else { ", " };
        label.text += &format!("{and}from {name}:{line}{values}");
        let file = texts.get(file as usize).copied().flatten()?;
        let text = format!("{}{values}", part(place));
        Some(Label::new(Span { file, start, end }, text))
    }

    fn origin(&self, place: PlanPlace) -> Option<OriginRow> {
        let block = place.block?.checked_div(self.instances)?;
        let row = self.ranks.get(place.rank? as usize)?.get(block as usize)?;
        let ops = self.blocks.get(*row as usize)?;
        ops.get(place.op.map_or(0, |op| op as usize + 1)).copied()
    }

    /// "step = 3", outermost first.
    fn loop_values(&self, value: u32) -> Vec<String> {
        let mut values = Vec::new();
        let mut next = value;
        while let Some(row) = next.checked_sub(1).and_then(|row| self.values.get(row as usize)) {
            let outer = match row {
                ValueRow::Value(outer, name, value) => {
                    values.push(format!("{name} = {value}"));
                    *outer
                }
                ValueRow::Call(outer, _) => *outer,
            };
            // Each row refers to an earlier one as its outer row; anything else might never end.
            next = if outer < next { outer } else { 0 };
        }
        values.reverse();
        values
    }
}

/// "operation 5 of block 1 of rank 3"
fn part(place: PlanPlace) -> String {
    let mut parts = place.parts();
    parts.reverse();
    parts.join(" of ")
}

/// The hash of some bytes, with the name of the hash function.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(bytes).to_hex())
}

/// A writer that hashes what is written through it.
pub struct Hashed<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Hashed<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Hashed<W> {
        Hashed { out, hasher: blake3::Hasher::new() }
    }

    /// The digest of all bytes so far.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("blake3:{}", self.hasher.finalize().to_hex())
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.out.write(bytes)?;
        self.hasher.update(bytes.get(..taken).unwrap_or_default());
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Whether a place lies in its file: a map is anybody's, and may have the hash of a file and other places.
fn lies_in(sources: &SourceMap, place: Place) -> bool {
    let Place::Source(span) = place else { return false };
    let text = sources.files.lookup(span.file).map(|file| &*file.text);
    text.is_some_and(|text| text.get(span.start as usize..span.end as usize).is_some())
}

/// Why a text is no map, without what stands in it: a map may be a link to another file, and logs may be public.
fn misread(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if !error.is_data() || text.starts_with("missing field") {
        return text;
    }
    let (line, column) = (error.line(), error.column());
    format!("at line {line}, column {column} is something else than a map has there")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_go_round_in_a_circle_end() {
        let name = "i".to_owned();
        let values = vec![
            ValueRow::Value(2, name.clone(), 1),
            ValueRow::Value(1, name.clone(), 2),
            ValueRow::Value(9, name, 3),
        ];
        let collective = Collective { name: String::new(), arguments: Vec::new() };
        let map = Map {
            version: VERSION,
            plan: String::new(),
            collective,
            instances: 1,
            files: Vec::new(),
            places: Vec::new(),
            values,
            blocks: Vec::new(),
            ranks: Vec::new(),
            shared: Vec::new(),
        };
        assert_eq!(map.loop_values(2), ["i = 1", "i = 2"]);
        assert_eq!(map.loop_values(3), ["i = 3"]);
        assert_eq!(map.loop_values(0), Vec::<String>::new());
        assert_eq!(map.loop_values(7), Vec::<String>::new());
    }

    #[test]
    fn what_goes_through_is_hashed() {
        let mut hashed = Hashed::new(Vec::new());
        hashed.write_all(b"{\"name\":").unwrap();
        hashed.write_all(b"1}").unwrap();
        assert_eq!(hashed.digest(), digest(b"{\"name\":1}"));
        assert_eq!(hashed.out, b"{\"name\":1}");
    }
}
