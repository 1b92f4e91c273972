//! Which names are used. In: a resolved body. Out: warnings about names that nothing uses and, for tools, the
//! definition of each use.
//!
//! Rules (W0201 to W0205): these depend on the names in the source, never on what is left of the program for given
//! parameters. Names that begin with `_`, binders, and the parameters `ranks`, `ranks_per_node` and `ranks_per_domain`
//! need no use. Neither does anything after `#[allow(unused)]` or `#[allow(..)]` with the warning's code.

use super::body::{Body, Bound, Known};
use super::family::{Declaration, Families};
use super::program::ChannelFamilyId;
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::{LINE_ENDS, Span, next_line};
use crate::syntax::ast;
use std::collections::BTreeSet;

/// Uses of names and what they name, in the order in which they were resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// For each use, its place and the place of the declaration.
    pub definitions: Vec<(Span, Span)>,
}

impl Uses {
    /// Records a use.
    pub(super) fn add(&mut self, place: Span, definition: Span) {
        self.definitions.push((place, definition));
    }
}

/// The warnings about one body in a text.
pub(super) fn unused(body: &Body, text: &str) -> Vec<Diagnostic> {
    let mut reports = Vec::new();
    if let Some(families) = &body.families {
        let groups = [
            (Code::W0203, "scratch region", families.scratch.iter().collect::<Vec<_>>()),
            (Code::W0202, "channel", channels_at_no_end(families)),
            (Code::W0204, "semaphore", families.semaphores.iter().collect()),
        ];
        for (code, noun, declarations) in groups {
            let idle = declarations.into_iter().filter(|row| is_idle(row));
            reports.extend(idle.map(|row| unused_declaration(code, noun, row, text)));
        }
    }
    for local in body.locals.iter().filter(|local| !local.used && !local.quiet) {
        reports.push(unused_local(local, text));
    }
    reports
}

/// The channels that are not the other end of one that is used.
fn channels_at_no_end(families: &Families) -> Vec<&Declaration> {
    let used = families.channels.iter().filter(|row| row.used);
    let ends: BTreeSet<ChannelFamilyId> = used.filter_map(|row| row.end).collect();
    let rest = families.channels.entries().filter(|(id, _)| !ends.contains(id));
    rest.map(|(_, row)| row).collect()
}

fn is_idle(declaration: &Declaration) -> bool {
    !declaration.used && !declaration.quiet && !declaration.name.starts_with('_')
}

fn unused_declaration(code: Code, noun: &str, declaration: &Declaration, text: &str) -> Diagnostic {
    let Declaration { name, span, stands, .. } = declaration;
    let report = Diagnostic::new(code, *span, format!("the {noun} `{name}` is never used"));
    match stands {
        Some(stands) => report
            .help("to keep it, write `#[allow(unused, \"why\")]` before it")
            .guess(format!("remove the {noun} `{name}`"), vec![removal(*stands, text)]),
        None => report.help("remove it, or write `#[allow(unused, \"why\")]` before it"),
    }
}

/// The edit is a guess, since the mistake may be a missing use of the value.
fn unused_local(local: &Known, text: &str) -> Diagnostic {
    let Known { name, span, stands, bound, .. } = local;
    let noun = match bound {
        Bound::Parameter => "parameter",
        Bound::Let | Bound::Binder => "value",
    };
    let report = Diagnostic::new(Code::W0205, *span, format!("the {noun} `{name}` is never used"));
    match stands {
        Some(stands) => report
            .help(format!("to keep it, call it `_{name}`"))
            .guess(format!("remove the {noun} `{name}`"), vec![removal(*stands, text)]),
        None => report.help(format!("remove it, or call it `_{name}`")),
    }
}

/// The removal of a statement of a text, with its line if nothing else is on it.
#[must_use]
pub fn removal(statement: Span, text: &str) -> Edit {
    let (start, end) = (statement.start as usize, statement.end as usize);
    let blank = |c: char| matches!(c, ' ' | '\t');
    let before = text.get(..start).unwrap_or("").trim_end_matches(blank);
    let rest = text.get(end..).unwrap_or("");
    let after = rest.trim_start_matches(blank);
    let alone = before.is_empty() || before.ends_with(LINE_ENDS);
    let span = match next_line(after).filter(|_| alone) {
        Some(next) => {
            Span { start: before.len() as u32, end: (text.len() - next.len()) as u32, ..statement }
        }
        None => Span { end: (end + rest.len() - after.len()) as u32, ..statement },
    };
    Edit { span, text: String::new() }
}

/// Reports the names of an import that nothing uses; `unused` says so for each name, and `text` is the one that the
/// import's spans are in. The edit is a guess, since the mistake may be a missing use.
#[must_use]
pub fn unused_imports(
    item: &ast::Item,
    import: &ast::Use,
    unused: &[bool],
    text: &str,
) -> Vec<Diagnostic> {
    let names = || import.names.iter().enumerate().zip(unused);
    let all = names().all(|(_, unused)| *unused);
    let found = names().filter(|(_, unused)| **unused).map(|((index, name), _)| {
        let here = name.known_as();
        let message = format!("the import `{}` is never used", here.text);
        let report = Diagnostic::new(Code::W0201, here.span, message);
        let edit = if all { whole_import(item, text) } else { one_import(&import.names, index) };
        match edit {
            Some(edit) => report.guess(format!("remove the import `{}`", here.text), vec![edit]),
            None => report,
        }
    });
    found.collect()
}

/// Removes a whole import; none if it has documentation or attributes.
fn whole_import(item: &ast::Item, text: &str) -> Option<Edit> {
    let bare = item.docs.is_empty() && item.attributes.is_empty();
    bare.then(|| removal(item.span, text))
}

/// Removes one of several names, with the comma before it or, for the first name, after it.
fn one_import(names: &[ast::UseName], index: usize) -> Option<Edit> {
    let (own, end) = (extent(names.get(index)?), |at: usize| Some(extent(names.get(at)?)));
    let span = match index.checked_sub(1) {
        Some(before) => Span { start: end(before)?.end, ..own },
        None => Span { end: end(1)?.start, ..own },
    };
    Some(Edit { span, text: String::new() })
}

/// The span of a name and its alias.
fn extent(name: &ast::UseName) -> Span {
    name.name.span.to(name.known_as().span)
}
