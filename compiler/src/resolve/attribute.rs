//! Attributes. In: `#[allow(shared, "why")]`. Out: the words that are accepted.
//!
//! The only attribute is `allow`; its words are `shared`, `clobber`, `unused` and the codes of warnings and notes
//! (E0213). An attribute of a declaration or statement applies to everything inside it.

use super::name::meant;
use super::program::Allowed;
use crate::diagnostic::{Code, Diagnostic, Severity, nearest};
use crate::syntax::ast;

/// The words of `allow`.
const WORDS: &[&str] = &["shared", "clobber", "unused"];

/// The words that attributes accept, added to those that are accepted around them.
pub(super) fn allowed(
    attributes: &[ast::Attribute],
    around: &Allowed,
    reports: &mut Vec<Diagnostic>,
) -> Allowed {
    let mut words = around.words.clone();
    for attribute in attributes {
        if attribute.name.text != "allow" {
            reports.push(unknown_attribute(&attribute.name));
            continue;
        }
        for argument in &attribute.arguments {
            match accepted(argument) {
                Ok(word) if !words.contains(&word) => words.push(word),
                Ok(_) => {}
                Err(report) => {
                    reports.push(*report);
                    // Whatever was meant, another warning about the same place would not help.
                    words.push("unused".to_owned());
                }
            }
        }
    }
    Allowed { words }
}

/// The codes of the warnings that attributes accept.
pub(super) fn codes(attributes: &[ast::Attribute]) -> impl Iterator<Item = Code> {
    let arguments = attributes.iter().flat_map(|attribute| &attribute.arguments);
    arguments.filter_map(|argument| Code::parse(&argument.text))
}

/// Whether unused names that `code` warns about are accepted.
pub(super) fn accepts_unused(allowed: &Allowed, code: Code) -> bool {
    allowed.words.iter().any(|word| word == "unused" || word == code.id())
}

fn accepted(argument: &ast::Name) -> Result<String, Box<Diagnostic>> {
    if WORDS.contains(&argument.text.as_str()) {
        return Ok(argument.text.clone());
    }
    match Code::parse(&argument.text) {
        Some(code) if code.severity() == Severity::Error => {
            Err(Box::new(allowed_error(argument, code)))
        }
        Some(code) => Ok(code.id().to_owned()),
        None => Err(Box::new(unknown_word(argument))),
    }
}

fn unknown_attribute(name: &ast::Name) -> Diagnostic {
    let message = format!("there is no attribute `{}`", name.text);
    Diagnostic::new(Code::E0213, name.span, message).help("the only one is `#[allow(..)]`")
}

fn allowed_error(argument: &ast::Name, code: Code) -> Diagnostic {
    let message = format!("{} is an error, but only warnings can be allowed", code.id());
    Diagnostic::new(Code::E0213, argument.span, message)
        .label(code.title())
        .help("`shared` and `clobber` accept what they name, where that is intended")
}

fn unknown_word(argument: &ast::Name) -> Diagnostic {
    let message = format!("`allow` does not take `{}`", argument.text);
    let report = Diagnostic::new(Code::E0213, argument.span, message);
    match nearest(&argument.text, WORDS.iter().copied()) {
        Some(near) => meant(report, argument.span, near),
        None => report
            .help("it takes `shared`, `clobber`, `unused`, or a warning's code, such as `W0202`"),
    }
}
