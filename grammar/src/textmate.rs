//! Renders the TextMate grammar with which editors color `.ccl` files, from the table of words.
//!
//! It recognizes words and their surroundings, not productions: a verb is highlighted where a statement can begin and
//! is a plain name elsewhere, as in the language.

use crate::Kind;
use crate::pattern::{number, whole, words};
use serde_json::{Value, json};

/// The grammar as JSON text: keys in alphabetical order, indented by two spaces, with a newline at the end.
#[must_use]
pub fn render() -> String {
    let grammar = json!({
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "ccl",
        "scopeName": "source.ccl",
        "fileTypes": ["ccl"],
        "patterns": patterns(),
    });
    format!("{grammar:#}\n")
}

/// The rules, in the order in which an editor tries them at each place.
fn patterns() -> Vec<Value> {
    let begins = r"(?:^|(?<=[;{}\]]))\s*";
    let name = r"[A-Za-z_][A-Za-z0-9_]*";
    vec![
        rule("comment.line.documentation.ccl", "//[/!].*$"),
        rule("comment.line.double-slash.ccl", "//.*$"),
        string(),
        attribute(),
        abilities(),
        rule("constant.numeric.ccl", &number()),
        json!({
            "match": format!(r"\b(fn|proc|collective|topology|program)\s+({name})"),
            "captures": {
                "1": { "name": "keyword.declaration.ccl" },
                "2": { "name": "entity.name.function.ccl" },
            },
        }),
        json!({
            "match": format!(r"\b(scratch|channel|semaphore|switch|block|let)\s+({name})"),
            "captures": {
                "1": { "name": "keyword.declaration.ccl" },
                "2": { "name": "variable.other.declaration.ccl" },
            },
        }),
        json!({
            "match": format!(r"{begins}({})\b", words(&[Kind::Transfer, Kind::Synchronise])),
            "captures": { "1": { "name": "support.function.verb.ccl" } },
        }),
        rule("keyword.declaration.ccl", &whole(&[Kind::Declaration])),
        rule("keyword.control.ccl", &whole(&[Kind::Control])),
        rule("constant.language.ccl", &whole(&[Kind::Constant, Kind::Value])),
        rule("invalid.illegal.reserved.ccl", &whole(&[Kind::Future])),
        rule(
            "support.function.ccl",
            &format!(r"\b(?:{})\b(?=\s*\()", words(&[Kind::Function, Kind::Link])),
        ),
        rule(
            "support.function.method.ccl",
            &format!(r"(?<=\.)(?:{})\b(?=\s*\()", words(&[Kind::Method])),
        ),
        rule("support.type.ccl", &format!(r"(?<=:)\s*(?:{})\b", words(&[Kind::Type]))),
        rule(
            "support.type.ccl",
            &format!(r"(?<=->)\s*(?:{})\b(?=(?:\[\])*\s*=)", words(&[Kind::Type])),
        ),
        rule(
            "support.variable.option.ccl",
            &format!(r"\b(?:{})\b(?=\s*=[^=])", words(&[Kind::Option])),
        ),
        rule("variable.language.ccl", &whole(&[Kind::Builtin])),
        rule("variable.language.ccl", &format!(r"\b(?:{})\b", words(&[Kind::Clause]))),
        rule("keyword.operator.ccl", &format!("<->|->|{}", words(&[Kind::Operator]))),
        rule("variable.other.ccl", &format!(r"\b{name}\b")),
    ]
}

fn string() -> Value {
    json!({
        "name": "string.quoted.double.ccl",
        "begin": "\"",
        "end": "\"|$",
        "patterns": [{ "name": "constant.character.escape.ccl", "match": r#"\\["\\]"# }],
    })
}

fn attribute() -> Value {
    json!({
        "name": "meta.attribute.ccl",
        "begin": r"#\[",
        "end": r"\]",
        "patterns": [string(), rule("keyword.other.attribute.ccl", &whole(&[Kind::Attribute]))],
    })
}

/// The list of what a link, port or switch can be used for, whose words are names elsewhere.
fn abilities() -> Value {
    json!({
        "begin": r"\b(abilities)\s*=\s*\[",
        "beginCaptures": { "1": { "name": "variable.language.ccl" } },
        "end": r"\]",
        "patterns": [
            rule("comment.line.double-slash.ccl", "//.*$"),
            rule("constant.language.ccl", &whole(&[Kind::Ability])),
        ],
    })
}

fn rule(scope: &str, pattern: &str) -> Value {
    json!({ "name": scope, "match": pattern })
}
