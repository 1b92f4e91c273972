//! What programs are checked with: the editor's settings, and the comment above a program.
//!
//! In: the settings as JSON, a comment such as `// ccl: ranks=16, chunks=2`. Out: the parameters of an elaboration, as
//! `cclc check -D` takes them. The comment overrules the settings, and both the program's defaults. A setting that a
//! program has no parameter for means other programs; a comment must mean this one.

use compiler::diagnostic::Severity;
use compiler::driver::Target;
use compiler::elaborate;
use compiler::resolve::program::{Expr, Program, Type};
use compiler::source::FileId;
use compiler::{resolve, syntax};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The section of the editor's settings that is about this language.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Settings {
    /// Parameters of programs, as texts or numbers: `{"ranks": 16}`.
    pub parameters: BTreeMap<String, Value>,
    /// Thread blocks that the GPU runs at once.
    pub sms: u32,
    /// The most operations that are made of a program.
    pub max_operations: u64,
    /// Bytes of the message at which sizes are shown.
    pub message_bytes: u64,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `16`
    Number(i64),
    /// `true`
    Truth(bool),
    /// `"[[1, 2], [0, 3]]"`
    Text(String),
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
    /// The settings that a client sends; what cannot be read is as if it were not set.
    #[must_use]
    pub fn read(value: serde_json::Value) -> Settings {
        serde_json::from_value(value).unwrap_or_default()
    }

    /// What the checks hold a program against.
    #[must_use]
    pub fn target(&self) -> Target {
        Target { sms: self.sms, worst: Severity::Error }
    }

    /// With what a program is elaborated, and what is wrong with the comment above it.
    #[must_use]
    pub fn elaboration(
        &self,
        program: &Program,
        directive: Option<&str>,
    ) -> (elaborate::Settings, Option<String>) {
        let mut given: BTreeMap<String, Expr> = BTreeMap::new();
        for (name, value) in &self.parameters {
            given.extend(parameter(program, name, &value.text()).ok());
        }
        let mut complaint = None;
        for setting in directive.map(top_level).unwrap_or_default() {
            match one(program, setting) {
                Ok((name, value)) => drop(given.insert(name, value)),
                Err(why) => complaint = complaint.or(Some(why)),
            }
        }
        let parameters = given.into_iter().collect();
        let max_operations = self.max_operations;
        (elaborate::Settings { parameters, max_operations, ..Default::default() }, complaint)
    }
}

impl Value {
    fn text(&self) -> String {
        match self {
            Value::Number(number) => number.to_string(),
            Value::Truth(truth) => truth.to_string(),
            Value::Text(text) => text.clone(),
        }
    }
}

/// What the comment `// ccl: ..` above a declaration says; the last one, if there are several.
#[must_use]
pub fn directive(declaration: &str) -> Option<&str> {
    let above = declaration.lines().take_while(|line| {
        line.is_empty() || line.starts_with("//") || line.starts_with(['#', ' ', '\t'])
    });
    above.filter_map(|line| line.strip_prefix("// ccl:")).last().map(str::trim)
}

fn one(program: &Program, setting: &str) -> Result<(String, Expr), String> {
    let (name, value) = setting
        .split_once('=')
        .ok_or_else(|| format!("`{setting}`: what is wanted is `name=value`"))?;
    parameter(program, name.trim(), value.trim())
}

fn parameter(program: &Program, name: &str, value: &str) -> Result<(String, Expr), String> {
    let known = program.parameters.iter().find(|parameter| parameter.name == name);
    let parameter =
        known.ok_or_else(|| format!("the program `{}` has no parameter `{name}`", program.name))?;
    let unusable = || format!("`{name}={value}` is no value that could be used");
    let (parsed, reports) = syntax::parse_expression(FileId(0), value);
    let parsed = parsed.filter(|_| reports.is_empty()).ok_or_else(unusable)?;
    let (resolved, _) = resolve::argument(&parsed);
    let value = resolved.filter(|value| fits(&value.ty, &parameter.ty)).ok_or_else(unusable)?;
    Ok((name.to_owned(), value))
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

/// The parts between commas that stand in no brackets.
fn top_level(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_above_a_program_is_found() {
        let text = "// ccl: ranks=4\n/// Doc.\n#[allow(x)]\nprogram p() {\n// ccl: ranks=9\n}";
        assert_eq!(directive(text), Some("ranks=4"));
        assert_eq!(directive("program p() {\n// ccl: ranks=9\n}"), None);
    }

    #[test]
    fn commas_in_brackets_part_nothing() {
        assert_eq!(top_level("a=1, b=[1, 2] ,"), ["a=1", "b=[1, 2]"]);
    }

    #[test]
    fn settings_that_make_no_sense_are_not_there() {
        let read = |text: &str| Settings::read(serde_json::from_str(text).unwrap());
        assert_eq!(read("null"), Settings::default());
        assert_eq!(read(r#"{"sms": 8}"#).sms, 8);
    }
}
