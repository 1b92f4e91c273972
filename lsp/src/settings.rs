//! The parameters and limits that programs are checked with: the editor's settings, and the comment above a program.
//!
//! In: settings, comments such as `// ccl: ranks=16, chunks=2`. Out: the settings of an elaboration, like those that
//! `cclc check -D` gives. The comment overrides the editor's settings, and both override the program's defaults. A
//! setting for a parameter that a program does not have is meant for other programs; a comment must fit the program
//! below it. Values that cannot be used are left out and the others apply; [`crate::complaints`] reports those that
//! were left out.

use crate::directive::{self, Assignment};
use compiler::diagnostic::{Diagnostic, Severity};
use compiler::elaborate;
use compiler::resolve::program::{Expr, Parameter, Program, Type};
use compiler::source::{FileId, Place};
use compiler::target::{Capacity, PLAN, Target};
use compiler::{resolve, syntax};
use std::collections::BTreeMap;

/// The section of the editor's settings for this language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Parameters of programs, with values in ccl syntax: `ranks` is `16`.
    pub parameters: BTreeMap<String, String>,
    /// Thread blocks that the GPU can run at once.
    pub sms: u32,
    /// What programs are checked for.
    pub target: &'static Target,
    /// Programs with more operations are refused.
    pub max_operations: u64,
    /// The message size, in bytes, for which the sizes of slices are shown.
    pub message_bytes: u64,
    /// The kinds of inlay hints that are shown.
    pub hints: HintSettings,
}

/// Which kinds of inlay hints are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintSettings {
    /// Values of names and lists.
    pub values: bool,
    /// Types of names.
    pub types: bool,
    /// The parameters to which arguments belong.
    pub parameters: bool,
    /// Ids of thread blocks.
    pub blocks: bool,
    /// Where the compiler makes threads synchronize.
    pub synchronization: bool,
}

impl Default for HintSettings {
    fn default() -> HintSettings {
        HintSettings {
            values: true,
            types: true,
            parameters: true,
            blocks: true,
            synchronization: true,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            parameters: BTreeMap::new(),
            sms: 132,
            target: &PLAN,
            max_operations: elaborate::Settings::default().max_operations,
            message_bytes: 1 << 20,
            hints: HintSettings::default(),
        }
    }
}

impl Settings {
    /// How much the target has room for.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        Capacity { sms: self.sms, worst: Severity::Error }
    }

    /// The settings for elaborating a program. `directive` is the text of the comments above it.
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

    /// Adds a note to reports about parameter values that says where the values come from.
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

/// The parameter of a program with this name.
#[must_use]
pub fn parameter<'p>(program: &'p Program, name: &str) -> Option<&'p Parameter> {
    program.parameters.iter().find(|parameter| parameter.name == name)
}

/// Whether a parameter can have this value.
#[must_use]
pub fn fits_in(parameter: &Parameter, value: &str) -> bool {
    usable(parameter, value).is_some()
}

/// The parsed value, if the parameter can have it.
fn usable(parameter: &Parameter, value: &str) -> Option<Expr> {
    let (parsed, reports) = syntax::parse_expression(FileId(0), value);
    let (resolved, _) = resolve::argument(&parsed.filter(|_| reports.is_empty())?);
    resolved.filter(|value| fits(&value.ty, &parameter.ty))
}

/// Whether a value has a parameter's type; a number also counts as a rank.
fn fits(value: &Type, parameter: &Type) -> bool {
    match (value, parameter) {
        (Type::Error, _) | (_, Type::Error) => true,
        (Type::Int | Type::Rank, Type::Int | Type::Rank) => true,
        (Type::List(value), Type::List(parameter)) => fits(value, parameter),
        (value, parameter) => value == parameter,
    }
}
