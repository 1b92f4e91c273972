//! Parameter values that cannot be used, reported where the author can fix them.
//!
//! In: the settings, a declaration with its comments. Out: a complaint at each comment that sets nothing, or sets a
//! parameter that does not exist or a value that does not fit; and one at each parameter that cannot have the value of
//! a setting. Each says which value is used instead, or what to write.

use crate::directive::{self, Assignment, Comment, Fate};
use crate::settings::{self, Settings};
use compiler::diagnostic;
use compiler::resolve::program::{Parameter, Program};
use compiler::source::Span;
use std::collections::BTreeSet;
use std::ops::Range;

/// A comment or setting that is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where it is reported.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// An edit that the editor can make: its title, the range, and the new text.
    pub fix: Option<(String, Range<u32>, String)>,
}

/// The place of a complaint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a comment, in offsets from the beginning of the declaration's text.
    Comment(Range<u32>),
    /// At a parameter, in the compiler's offsets.
    Parameter(Span),
}

/// The settings for a program and the comments in a declaration that are ignored.
#[must_use]
pub fn complaints(settings: &Settings, program: Option<&Program>, text: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    let mut set = BTreeSet::new();
    for comment in directive::comments(text, program.is_some()) {
        match (comment.fate, program) {
            (Fate::Counts, Some(program)) => sets(program, &comment, &mut set, &mut found),
            (Fate::Misspelt, _) => found.push(misspelt(&comment)),
            (Fate::Misplaced | Fate::Counts, _) => found.push(misplaced(&comment)),
        }
    }
    let parameters = program.iter().flat_map(|program| &program.parameters);
    found.extend(parameters.filter_map(|parameter| unusable(settings, &set, parameter)));
    found
}

/// Checks what a comment above a program sets.
fn sets(
    program: &Program,
    comment: &Comment<'_>,
    set: &mut BTreeSet<String>,
    found: &mut Vec<Complaint>,
) {
    let assignments = comment.assignments();
    if assignments.is_empty() {
        found.push(Complaint {
            place: place(comment.place.clone()),
            message: "this comment sets nothing".to_owned(),
            help: FORM.to_owned(),
            fix: None,
        });
    }
    for (start, one) in assignments {
        found.extend(wrong(program, &one, start, set));
        set.insert(one.name.to_owned());
    }
}

/// How to write such a comment.
const FORM: &str = "`// ccl: name=value, ..` sets parameters of the program below it";

fn wrong(
    program: &Program,
    one: &Assignment<'_>,
    start: usize,
    set: &BTreeSet<String>,
) -> Option<Complaint> {
    let all = place(start..start + one.text.len());
    let Assignment { text, name, value } = *one;
    let Some(value) = value else {
        let message = format!("`{text}` sets nothing");
        return Some(Complaint { place: all, message, help: FORM.to_owned(), fix: None });
    };
    let Some(parameter) = settings::parameter(program, name) else {
        let word = start..start + name.len();
        let names = || program.parameters.iter().map(|parameter| parameter.name.as_str());
        let near = diagnostic::nearest(name, names());
        let listed = || names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if program.parameters.is_empty() => "it has none".to_owned(),
            None => format!("it has {}", listed()),
        };
        return Some(Complaint {
            place: place(word.clone()),
            message: format!("the program `{}` has no parameter `{name}`", program.name),
            help,
            fix: near.map(|near| (format!("write `{near}`"), short(word), near.to_owned())),
        });
    };
    if !settings::fits_in(parameter, value) {
        let message = format!("`{value}` is not a value of type `{}` for `{name}`", parameter.ty);
        let help = otherwise(parameter, "it is checked with its default");
        return Some(Complaint { place: all, message, help, fix: None });
    }
    set.contains(name).then(|| Complaint {
        place: all,
        message: format!("`{name}` is set again here"),
        help: "the last value is used".to_owned(),
        fix: None,
    })
}

fn misspelt(comment: &Comment<'_>) -> Complaint {
    let head = comment.place.start..comment.body;
    Complaint {
        place: place(comment.place.clone()),
        message: "this comment sets nothing: it must begin with `// ccl:`".to_owned(),
        help: "write `// ccl:`".to_owned(),
        fix: Some(("write `// ccl:`".to_owned(), short(head), "// ccl: ".to_owned())),
    }
}

fn misplaced(comment: &Comment<'_>) -> Complaint {
    Complaint {
        place: place(comment.place.clone()),
        message: "this comment sets nothing: there is no program below it".to_owned(),
        help: "put it directly above `program`, without an empty line in between".to_owned(),
        fix: None,
    }
}

/// A setting whose value a parameter cannot have; a comment that sets the parameter overrides it.
fn unusable(
    settings: &Settings,
    set: &BTreeSet<String>,
    parameter: &Parameter,
) -> Option<Complaint> {
    let Parameter { name, ty, .. } = parameter;
    let value = settings.parameters.get(name).filter(|_| !set.contains(name))?;
    (!settings::fits_in(parameter, value)).then(|| Complaint {
        place: Place::Parameter(parameter.span),
        message: format!(
            "the editor's setting `ccl.parameters` sets `{name}` to `{value}`, which is not a value of type `{ty}`"
        ),
        help: otherwise(parameter, "the default is used"),
        fix: None,
    })
}

fn otherwise(parameter: &Parameter, default: &str) -> String {
    match parameter.default {
        Some(_) => format!("{default}; write a value of this type as in a program"),
        None => "write a value of this type as in a program".to_owned(),
    }
}

fn place(range: Range<usize>) -> Place {
    Place::Comment(short(range))
}

fn short(range: Range<usize>) -> Range<u32> {
    range.start as u32..range.end as u32
}
