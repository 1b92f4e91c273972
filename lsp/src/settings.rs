//! What programs are checked with: the editor's settings, and the comment above a program.
//!
//! In: settings, comments such as `// ccl: ranks=16, chunks=2`. Out: the parameters of an elaboration, as `cclc check -D`
//! takes them. The comment overrules the settings, and both the program's defaults. A setting that a program has no
//! parameter for means other programs; a comment must mean this one. What cannot be used is left out, and the rest counts;
//! [`crate::complaints`] says what was left out.

use crate::directive::{self, Assignment};
use compiler::diagnostic::{Diagnostic, Severity};
use compiler::driver::Target;
use compiler::elaborate;
use compiler::resolve::program::{Expr, Parameter, Program, Type};
use compiler::source::{FileId, Place};
use compiler::{resolve, syntax};
use std::collections::BTreeMap;

/// The section of the editor's settings that is about this language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Parameters of programs, as the language writes them: `ranks` is `16`.
    pub parameters: BTreeMap<String, String>,
    /// Thread blocks that the GPU runs at once.
    pub sms: u32,
    /// The most operations that are made of a program.
    pub max_operations: u64,
    /// Bytes of the message at which sizes are shown.
    pub message_bytes: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            parameters: BTreeMap::new(),
            sms: 132,
            max_operations: elaborate::Settings::default().max_operations,
            message_bytes: 1 << 20,
        }
    }
}

impl Settings {
    /// What the checks hold a program against.
    #[must_use]
    pub fn target(&self) -> Target {
        Target { sms: self.sms, worst: Severity::Error }
    }

    /// With what a program is elaborated. `directive` is what the comments above it say.
    #[must_use]
    pub fn elaboration(&self, program: &Program, directive: &str) -> elaborate::Settings {
        let mut given: BTreeMap<String, Expr> = BTreeMap::new();
        for (name, value) in &self.parameters {
            let parameter = parameter(program, name);
            let value = parameter.and_then(|parameter| usable(parameter, value));
            given.extend(value.map(|value| (name.clone(), value)));
        }
        for Assignment { name, value, .. } in directive::assignments(directive) {
            let value = value.zip(parameter(program, name));
            let value = value.and_then(|(value, parameter)| usable(parameter, value));
            given.extend(value.map(|value| (name.to_owned(), value)));
        }
        let parameters = given.into_iter().collect();
        let max_operations = self.max_operations;
        elaborate::Settings { parameters, max_operations, ..Default::default() }
    }

    /// Says in reports about the values of a program's parameters where these come from.
    pub fn attribute(&self, program: &Program, directive: &str, reports: &mut [Diagnostic]) {
        let mut given: Vec<(&Parameter, String)> = Vec::new();
        for parameter in &program.parameters {
            let (name, comments) = (&parameter.name, directive::assignments(directive));
            let comment = comments.into_iter().rev().find(|one| one.name == name);
            let comment = comment.and_then(|one| one.value).filter(|v| fits_in(parameter, v));
            let setting = self.parameters.get(name).filter(|value| fits_in(parameter, value));
            let said = match (comment, setting) {
                (Some(value), _) => format!("the comment above the program sets `{name}={value}`"),
                (None, Some(value)) => {
                    format!("the editor's setting `ccl.parameters` sets `{name}={value}`")
                }
                (None, None) => continue,
            };
            given.push((parameter, said));
        }
        for report in reports.iter_mut().filter(|report| report.code.id().starts_with("E03")) {
            let Some(Place::Source(span)) = report.primary.as_ref().map(|label| label.place) else {
                continue;
            };
            let about = |parameter: &Parameter| {
                let place = parameter.span;
                place.file == span.file && place.start <= span.start && span.end <= place.end
            };
            let one = given.iter().any(|(parameter, _)| about(parameter));
            let said = given.iter().filter(|(parameter, _)| !one || about(parameter));
            report.notes.extend(said.map(|(_, said)| said.clone()));
        }
    }
}

/// A program's parameter of a name.
#[must_use]
pub fn parameter<'p>(program: &'p Program, name: &str) -> Option<&'p Parameter> {
    program.parameters.iter().find(|parameter| parameter.name == name)
}

/// Whether a parameter may have a value.
#[must_use]
pub fn fits_in(parameter: &Parameter, value: &str) -> bool {
    usable(parameter, value).is_some()
}

/// A value for a parameter, if it is one.
fn usable(parameter: &Parameter, value: &str) -> Option<Expr> {
    let (parsed, reports) = syntax::parse_expression(FileId(0), value);
    let (resolved, _) = resolve::argument(&parsed.filter(|_| reports.is_empty())?);
    resolved.filter(|value| fits(&value.ty, &parameter.ty))
}

/// Whether a value is of a parameter's type; a number is a rank too.
fn fits(value: &Type, parameter: &Type) -> bool {
    match (value, parameter) {
        (Type::Error, _) | (_, Type::Error) => true,
        (Type::Int | Type::Rank, Type::Int | Type::Rank) => true,
        (Type::List(value), Type::List(parameter)) => fits(value, parameter),
        (value, parameter) => value == parameter,
    }
}
