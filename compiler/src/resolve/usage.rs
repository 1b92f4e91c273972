//! What names are used: in comes a resolved body, out come warnings about names that nothing uses, and for tools the
//! definition of each use.
//!
//! Rules (W0201 to W0205): judged on names in the source, never on what is left at given parameters. Names that
//! begin with `_`, binders, and the parameters `ranks` and `ranks_per_node` need no use; nor does anything before
//! which `#[allow(unused)]` or the warning's code stands.

use super::body::{Body, Bound, Known};
use super::family::Declaration;
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::{LINE_ENDS, Span, line_ends, next_line};
use crate::syntax::ast;

/// Uses of names and what they name, in the order in which they were resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Where a name is used, and where what it names is declared.
    pub definitions: Vec<(Span, Span)>,
}

impl Uses {
    /// Notes a use.
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
            (Code::W0202, "channel", families.channels.iter().collect()),
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

fn is_idle(declaration: &Declaration) -> bool {
    !declaration.used && !declaration.quiet && !declaration.name.starts_with('_')
}

fn unused_declaration(code: Code, noun: &str, declaration: &Declaration, text: &str) -> Diagnostic {
    let Declaration { name, span, stands, .. } = declaration;
    let report = Diagnostic::new(code, *span, format!("the {noun} `{name}` is never used"));
    // Of a channel the other end may be one that is used.
    match stands.filter(|_| code != Code::W0202) {
        Some(stands) => report
            .help("if it is to stay, say `#[allow(unused, \"why\")]` before it")
            .guess(format!("remove the {noun} `{name}`"), vec![removal(stands, text)]),
        None => report.help("remove it, or say `#[allow(unused, \"why\")]` before it"),
    }
}

/// What is missing may be the use of a value and not its removal.
fn unused_local(local: &Known, text: &str) -> Diagnostic {
    let Known { name, span, stands, bound, .. } = local;
    let noun = match bound {
        Bound::Parameter => "parameter",
        Bound::Let | Bound::Binder => "value",
    };
    let report = Diagnostic::new(Code::W0205, *span, format!("the {noun} `{name}` is never used"));
    match stands {
        Some(stands) => report
            .help(format!("if it is to stay, call it `_{name}`"))
            .guess(format!("remove the {noun} `{name}`"), vec![removal(*stands, text)]),
        None => report.help(format!("remove it, or call it `_{name}`")),
    }
}

/// Takes a statement out: with its line where nothing else stands on it.
fn removal(statement: Span, text: &str) -> Edit {
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

/// The names of an import that nothing uses, as `unused` says of each. What is missing may be the use and not the removal.
pub(super) fn unused_imports(
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
        match if all { whole_line(item, text) } else { with_comma(&import.names, index) } {
            Some(span) => report.guess(
                format!("remove the import `{}`", here.text),
                vec![Edit { span, text: String::new() }],
            ),
            None => report,
        }
    });
    found.collect()
}

/// An import with the line that it stands on alone; none where something is said of it.
fn whole_line(item: &ast::Item, text: &str) -> Option<Span> {
    if !item.docs.is_empty() || !item.attributes.is_empty() {
        return None;
    }
    let behind = text.get(item.span.end as usize..).unwrap_or_default();
    let line = behind.get(..line_ends(behind).next().unwrap_or(behind.len()));
    let line = line.filter(|rest| rest.trim().is_empty());
    Some(Span { end: item.span.end + line.map_or(0, str::len) as u32, ..item.span })
}

/// A name of several, with the comma between it and the one before it or, of the first, after it.
fn with_comma(names: &[ast::UseName], index: usize) -> Option<Span> {
    let (own, end) = (extent(names.get(index)?), |at: usize| Some(extent(names.get(at)?)));
    match index.checked_sub(1) {
        Some(before) => Some(Span { start: end(before)?.end, ..own }),
        None => Some(Span { end: end(1)?.start, ..own }),
    }
}

/// Where a name stands, with what it is called here.
fn extent(name: &ast::UseName) -> Span {
    name.name.span.to(name.known_as().span)
}
