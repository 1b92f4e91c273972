//! Rename: the edits that give a declaration another name, or the reason why it must keep its own.
//!
//! In: a position and a new name. Out: an edit for every place where the old name is written, including comments that
//! set a parameter. A name that an import gives with `as` is renamed in its file only; the other way around, a new name
//! for a declaration leaves it as it is. Refused are:
//!
//! - names that the library declares;
//! - names by which the compiler finds something, both as the old and as the new name;
//! - new names that are no valid names, and words that the language gives a meaning where the name would be used;
//! - new names that are already used: for what is declared inside a declaration, in that one; for what files share,
//!   anywhere in a file in which the new name would be visible.

use super::occurrences::{self, Occurrence};
use crate::actor::Snapshot;
use crate::analysis::{self, Part, Spot};
use crate::cut;
use crate::database::{self, Db as _};
use crate::directive::{self, Fate};
use compiler::resolve::index::{self, EntryKind};
use compiler::source::FileId;
use compiler::syntax::ast;
use compiler::syntax::token::{Kind, tokens};
use lsp_types::{
    DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, Position,
    PrepareRenameResponse, TextDocumentEdit, TextEdit, Url, WorkspaceEdit,
};
use std::collections::BTreeMap;

/// The parameters that say on how many ranks a program runs; the compiler looks for these names.
const INTERFACE: [&str; 3] = ["ranks", "ranks_per_node", "ranks_per_domain"];

/// What a program says about its collective besides its parameters.
const MODES: [&str; 2] = ["in_place", "op"];

/// The collective whose message the compiler, as MSCCL++, measures at its output.
const MEASURED: &str = "allgather";

/// The buffers.
const BUFFERS: [&str; 2] = ["input", "output"];

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A declaration at the top of a file.
    Item(EntryKind),
    /// A parameter of one.
    Parameter(EntryKind),
    /// Anything else inside one.
    Inner,
}

/// Whether the name at a position can be changed, and its range.
///
/// # Errors
/// Why it cannot be changed.
pub fn prepare(
    snapshot: &Snapshot,
    url: &Url,
    position: Position,
) -> Result<Option<PrepareRenameResponse>, String> {
    let analysis = snapshot.analysis(url);
    let Some(found) = occurrences::at(&analysis, analysis.lines.offset(position)) else {
        return Ok(None);
    };
    let placeholder = text(snapshot, &found.place);
    let range = analysis.lines.range(found.place.start..found.place.end);
    Renaming::new(snapshot, found, &placeholder).must_stay()?;
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder }))
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
    let renaming = Renaming::new(snapshot, found, &old);
    renaming.must_stay()?;
    if new == old {
        return Ok(Some(WorkspaceEdit::default()));
    }
    renaming.must_be_free(new)?;
    let places = renaming.places();
    if let Some(place) = renaming.taken(&places, new) {
        return Err(format!("`{new}` is already used in {place}"));
    }
    let edits: Vec<SpotEdit> =
        places.into_iter().map(|spot| SpotEdit { spot, text: new.to_owned() }).collect();
    Ok(Some(make_edit(snapshot, &edits, versioned)))
}

/// A name that is to be changed.
struct Renaming<'s> {
    snapshot: &'s Snapshot,
    found: Occurrence,
    old: &'s str,
    role: Role,
    /// Whether it is the name in the declaration, not another one that an import gave it.
    original: bool,
}

impl<'s> Renaming<'s> {
    fn new(snapshot: &'s Snapshot, found: Occurrence, old: &'s str) -> Renaming<'s> {
        let original = text(snapshot, &found.target) == old;
        let role = role(snapshot, &found.target);
        Renaming { snapshot, found, old, role, original }
    }

    /// Says why the name cannot be changed, regardless of the new one.
    fn must_stay(&self) -> Result<(), String> {
        if !self.original {
            return Ok(());
        }
        if self.found.target.name.starts_with("std::") {
            return Err("names declared in the library cannot be renamed".to_owned());
        }
        if self.is_looked_for(self.old) {
            let old = self.old;
            return Err(format!("`{old}` cannot be renamed: the compiler finds it by this name"));
        }
        Ok(())
    }

    /// Whether the compiler finds what is renamed by this name.
    fn is_looked_for(&self, name: &str) -> bool {
        match self.role {
            Role::Parameter(EntryKind::Program) => INTERFACE.contains(&name),
            Role::Parameter(EntryKind::Collective) => MODES.contains(&name),
            Role::Item(EntryKind::Collective) => self.original && name == MEASURED,
            Role::Item(
                EntryKind::Constant
                | EntryKind::Function
                | EntryKind::Procedure
                | EntryKind::Topology
                | EntryKind::Program,
            )
            | Role::Parameter(
                EntryKind::Constant
                | EntryKind::Function
                | EntryKind::Procedure
                | EntryKind::Topology,
            )
            | Role::Inner => false,
        }
    }

    /// Says why nothing of this kind can have the new name, wherever it is declared.
    fn must_be_free(&self, new: &str) -> Result<(), String> {
        if self.is_looked_for(new) {
            return Err(format!("`{new}` has a meaning of its own for the compiler"));
        }
        if self.role == Role::Item(EntryKind::Procedure) && !is_plain(new) {
            return Err(format!(
                "a procedure cannot be called `{new}`: it is a word of statements"
            ));
        }
        // Programs have a namespace of their own.
        if self.role != Role::Item(EntryKind::Program) && self.is_builtin(new) {
            return Err(format!("the language already gives `{new}` a meaning"));
        }
        Ok(())
    }

    fn is_builtin(&self, new: &str) -> bool {
        // These two are defined in programs and procedures only, where parameters may replace them.
        let replaces = matches!(self.role, Role::Parameter(_)) && INTERFACE.contains(&new);
        let means = |word: &grammar::Word| {
            word.text == new
                && matches!(
                    word.kind,
                    grammar::Kind::Builtin | grammar::Kind::Function | grammar::Kind::Link
                )
        };
        !replaces && (BUFFERS.contains(&new) || grammar::WORDS.iter().any(means))
    }

    /// The places where the old name is written.
    fn places(&self) -> Vec<Spot> {
        let mut places = occurrences::everywhere(self.snapshot, &self.found.target);
        places.retain(|place| {
            let here = self.original || place.name == self.found.place.name;
            here && text(self.snapshot, place) == self.old
        });
        if self.role == Role::Parameter(EntryKind::Program) {
            places.extend(self.comments());
        }
        places
    }

    /// The places where comments above the program set the parameter.
    fn comments(&self) -> Vec<Spot> {
        let Some(part) = part(self.snapshot, &self.found.target) else { return Vec::new() };
        let text = part.declaration.text(&self.snapshot.database);
        let (start, piece) = cut::piece(&text, self.found.target.start - part.start);
        let comments = directive::comments(piece, true).into_iter();
        let counting = comments.filter(|comment| comment.fate == Fate::Counts);
        let set = counting.flat_map(|comment| comment.assignments());
        let set = set.filter(|(_, assignment)| assignment.name == self.old);
        let spot = |(at, _): (usize, directive::Assignment<'_>)| {
            let start = part.start + start + at as u32;
            let name = self.found.target.name.clone();
            Spot { name, start, end: start + self.old.len() as u32 }
        };
        set.map(spot).collect()
    }

    /// Where the new name already has a meaning, in words.
    fn taken(&self, places: &[Spot], new: &str) -> Option<String> {
        match self.role {
            Role::Item(EntryKind::Program) => places.iter().find_map(|place| {
                is_program_name(self.snapshot, place, new).then(|| format!("`{}`", place.name))
            }),
            Role::Item(_) => {
                places.iter().find_map(|place| taken_in_file(self.snapshot, place, new))
            }
            // Where a call names a parameter, no other name can be meant.
            Role::Parameter(_) | Role::Inner => {
                taken_nearby(self.snapshot, &self.found.target, new)
            }
        }
    }
}

/// Whether a name is not a word of the language.
fn is_plain(name: &str) -> bool {
    let cut = tokens(FileId(0), name).tokens;
    matches!(cut.as_slice(), [token] if token.kind == Kind::Name)
}

/// What the name declared at a place is the name of.
fn role(snapshot: &Snapshot, target: &Spot) -> Role {
    let Some(part) = part(snapshot, target) else { return Role::Inner };
    let parsed = database::parsed(&snapshot.database, part.declaration);
    let at = target.start - part.start;
    for entry in index::index(&parsed.file).entries {
        if entry.span.start == at {
            return Role::Item(entry.kind);
        }
        let item = parsed.file.items.get(entry.item).map(|item| &item.kind);
        let parameters = match item {
            Some(ast::ItemKind::Function(item)) => item.parameters.as_slice(),
            Some(ast::ItemKind::Procedure(item)) => item.parameters.as_slice(),
            Some(ast::ItemKind::Collective(item)) => item.parameters.as_slice(),
            Some(ast::ItemKind::Topology(item)) => item.parameters.as_slice(),
            Some(ast::ItemKind::Program(item)) => item.parameters.as_slice(),
            Some(ast::ItemKind::Use(_) | ast::ItemKind::Let(_)) | None => &[],
        };
        if parameters.iter().any(|parameter| parameter.name.span.start == at) {
            return Role::Parameter(entry.kind);
        }
    }
    Role::Inner
}

/// The declaration around a place.
fn part<'s>(snapshot: &'s Snapshot, place: &Spot) -> Option<Part<'s>> {
    let document = snapshot.database.document(&place.name);
    let parts = analysis::parts(&snapshot.database, document);
    parts.into_iter().rfind(|part| part.start <= place.start)
}

fn text(snapshot: &Snapshot, spot: &Spot) -> String {
    let lines = snapshot.lines(&spot.name);
    let text = lines.as_ref().map_or("", |lines| lines.text());
    text.get(spot.start as usize..spot.end as usize).unwrap_or("").to_owned()
}

/// Where a name has a meaning in the declaration around a place, or is shared by the declarations of its file.
fn taken_nearby(snapshot: &Snapshot, place: &Spot, new: &str) -> Option<String> {
    let part = part(snapshot, place)?;
    mentions(snapshot, part, place, new).or_else(|| declares(snapshot, place, new))
}

/// Where a name has a meaning in the file around a place; nowhere if an import gives what is renamed another name there,
/// so that the new name is not visible.
fn taken_in_file(snapshot: &Snapshot, place: &Spot, new: &str) -> Option<String> {
    let database = &snapshot.database;
    if part(snapshot, place).is_some_and(|part| is_replaced(snapshot, part, place)) {
        return None;
    }
    let parts = analysis::parts(database, database.document(&place.name));
    let used = parts.into_iter().find_map(|part| mentions(snapshot, part, place, new));
    used.or_else(|| declares(snapshot, place, new))
}

/// Whether a place is the name before an `as` in an import.
fn is_replaced(snapshot: &Snapshot, part: Part<'_>, place: &Spot) -> bool {
    let parsed = database::parsed(&snapshot.database, part.declaration);
    let replaced = |name: &ast::UseName| {
        name.alias.is_some() && part.range(name.name.span).start == place.start
    };
    parsed.file.items.iter().any(|item| match &item.kind {
        ast::ItemKind::Use(used) => used.names.iter().any(replaced),
        ast::ItemKind::Let(_)
        | ast::ItemKind::Function(_)
        | ast::ItemKind::Procedure(_)
        | ast::ItemKind::Collective(_)
        | ast::ItemKind::Topology(_)
        | ast::ItemKind::Program(_) => false,
    })
}

/// The declaration, in words, if it mentions a name.
fn mentions(snapshot: &Snapshot, part: Part<'_>, place: &Spot, new: &str) -> Option<String> {
    let database = &snapshot.database;
    let named = database::names(database, part.declaration).mentions.contains(new);
    let title = part.declaration.title(database);
    named.then(|| match title.as_str() {
        // A declaration with errors may not begin with a word.
        "" => format!("`{}`", place.name),
        title => format!("`{title}`, in `{}`", place.name),
    })
}

/// The file around a place, in words, if its declarations share a name.
fn declares(snapshot: &Snapshot, place: &Spot, new: &str) -> Option<String> {
    let document = snapshot.database.document(&place.name);
    let directory = database::directory(&snapshot.database, document);
    directory.declaring.contains_key(new).then(|| format!("`{}`", place.name))
}

/// Whether a program in the file around a place has this name.
fn is_program_name(snapshot: &Snapshot, place: &Spot, name: &str) -> bool {
    let document = snapshot.database.document(&place.name);
    database::directory(&snapshot.database, document).programs.contains(name)
}

/// A new text for a range of a file.
pub(super) struct SpotEdit {
    pub(super) spot: Spot,
    pub(super) text: String,
}

/// Edits of several files; `versioned` makes them edits of the current versions of open files.
pub(super) fn make_edit(snapshot: &Snapshot, edits: &[SpotEdit], versioned: bool) -> WorkspaceEdit {
    let mut changes: BTreeMap<Url, Vec<TextEdit>> = BTreeMap::new();
    for SpotEdit { spot, text } in edits {
        if let Some(location) = snapshot.location(spot) {
            let edit = TextEdit::new(location.range, text.clone());
            changes.entry(location.uri).or_default().push(edit);
        }
    }
    if versioned {
        let edits = changes.into_iter().map(|(uri, edits)| of_version(snapshot, uri, edits));
        let document_changes = Some(DocumentChanges::Edits(edits.collect()));
        WorkspaceEdit { document_changes, ..WorkspaceEdit::default() }
    } else {
        let changes = Some(changes.into_iter().collect());
        WorkspaceEdit { changes, ..WorkspaceEdit::default() }
    }
}

/// Edits of the version of a file that was looked at.
fn of_version(snapshot: &Snapshot, uri: Url, edits: Vec<TextEdit>) -> TextDocumentEdit {
    let version = snapshot.version(&uri);
    TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    }
}
