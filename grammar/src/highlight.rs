//! Renders the language definition for highlight.js, which colors programs in the manual, from the table of words.
//!
//! It covers the same as the TextMate grammar, but without lookbehind: if a rule depends on what precedes a word, it is
//! a rule that begins there, with the words as its keywords.

use crate::pattern::{number, words};
use crate::{Kind, of_kind};
use serde_json::{Value, json};

/// A script for highlight.js 10, with a newline at the end.
#[must_use]
pub fn render() -> String {
    let name = r"[A-Za-z_][A-Za-z0-9_]*";
    let language = json!({
        "name": "ccl",
        "keywords": {
            "keyword": list(&[Kind::Declaration, Kind::Control, Kind::Future]),
            "literal": list(&[Kind::Constant, Kind::Value]),
            "variable": list(&[Kind::Builtin, Kind::Clause]),
        },
        "contains": [
            { "className": "comment", "begin": "//", "end": "$" },
            string(),
            { "className": "meta", "begin": r"#\[", "end": r"\]", "contains": [string()],
              "keywords": { "meta-keyword": list(&[Kind::Attribute]) } },
            { "begin": r"\babilities\s*=\s*\[", "end": r"\]",
              "keywords": { "variable": "abilities", "literal": list(&[Kind::Ability]) } },
            { "className": "number", "begin": number() },
            { "beginKeywords": "fn proc collective topology program", "end": r"(?=[({;]|\b(?:on|without)\b)",
              "contains": [{ "className": "title", "begin": name }] },
            after(r"(?:^|[;{}\]])\s*", "built_in", &[Kind::Transfer, Kind::Synchronise], r"\b"),
            after(r":\s*", "type", &[Kind::Type], r"\b"),
            after(r"->\s*", "type", &[Kind::Type], r"(?:\[\])*\s*="),
            after(r"\.", "built_in", &[Kind::Method], r"\s*\("),
            after(r"\.", "variable", &[Kind::Field], r"\b"),
            { "className": "built_in",
              "begin": format!(r"\b(?:{})(?=\s*\()", words(&[Kind::Function, Kind::Link])) },
            { "className": "attr", "begin": format!(r"\b(?:{})(?=\s*=[^=])", words(&[Kind::Option])) },
        ],
    });
    format!(
        "// Made from the table of words by: BLESS=1 cargo test -p ccl-grammar\n\
         hljs.registerLanguage('ccl', () => ({language:#}));\n"
    )
}

fn string() -> Value {
    json!({ "className": "string", "begin": "\"", "end": "\"|$", "contains": [{ "begin": r"\\." }] })
}

/// A rule for words of some kinds that come right after one thing and before another.
fn after(before: &str, class: &str, kinds: &[Kind], behind: &str) -> Value {
    let words = words(kinds);
    json!({
        "begin": format!("{before}(?=(?:{words})(?:{behind}))"),
        "end": format!(r"\b(?:{words})\b"),
        "keywords": { class: list(kinds) },
    })
}

/// The words of some kinds, separated by blanks.
fn list(kinds: &[Kind]) -> String {
    kinds.iter().flat_map(|kind| of_kind(*kind)).map(|word| word.text).collect::<Vec<_>>().join(" ")
}
