//! The normative grammar and the parser agree on productions and tokens.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the grammar fails")]

use compiler::source::FileId;
use compiler::syntax::token::{Class, Kind, tokens};
use grammar::verb::Verb;
use std::collections::BTreeSet;

const GRAMMAR: &str = include_str!("../../grammar/ccl.ebnf");
const PARSER: &[&str] = &[
    include_str!("../src/syntax/parse.rs"),
    include_str!("../src/syntax/parse/collective.rs"),
    include_str!("../src/syntax/parse/declaration.rs"),
    include_str!("../src/syntax/parse/expression.rs"),
    include_str!("../src/syntax/parse/function.rs"),
    include_str!("../src/syntax/parse/item.rs"),
    include_str!("../src/syntax/parse/map.rs"),
    include_str!("../src/syntax/parse/name.rs"),
    include_str!("../src/syntax/parse/operation.rs"),
    include_str!("../src/syntax/parse/options.rs"),
    include_str!("../src/syntax/parse/statement.rs"),
    include_str!("../src/syntax/parse/topology.rs"),
];

/// The words that the grammar quotes and the lexer reads as names: what they mean, the parser or resolution says.
const NAMES: [&str; 2] = ["ranks", "ranks_per_node"];

/// The grammar without its comments.
fn productions() -> String {
    let mut out = String::new();
    let mut rest = GRAMMAR;
    while let Some(start) = rest.find("(*") {
        out += &rest[..start];
        rest = rest[start..].split_once("*)").unwrap().1;
    }
    out + rest
}

/// The name of a production, and its definition.
fn split(production: &str) -> (&str, &str) {
    let (name, rest) = production.split_once('=').unwrap();
    (name.trim(), rest)
}

fn each_production() -> Vec<(String, String)> {
    // A `;` ends a production unless it is quoted.
    productions()
        .replace("\";\"", "SEMICOLON")
        .split(';')
        .filter(|production| !production.trim().is_empty())
        .map(split)
        .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
        .collect()
}

#[test]
fn every_production_has_a_function_of_its_name() {
    let productions = each_production();
    assert!(productions.len() > 60, "only {} productions", productions.len());
    for (name, _) in productions {
        let found = PARSER.iter().any(|text| {
            text.contains(&format!("fn {name}<")) || text.contains(&format!("fn r#{name}<"))
        });
        assert!(found, "no function for the production {name}");
    }
}

#[test]
fn productions_consist_of_productions() {
    let names: BTreeSet<String> = each_production().into_iter().map(|(name, _)| name).collect();
    for (name, rest) in each_production() {
        let bare: String = rest.split('"').step_by(2).collect();
        for word in bare.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let is_lexical = word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            assert!(is_lexical || names.contains(word), "{name} speaks of {word}");
        }
    }
}

#[test]
fn quoted_words_are_the_words_of_the_language() {
    let text = productions();
    let quoted: BTreeSet<&str> = text.split('"').skip(1).step_by(2).collect();
    let for_later = [Kind::Flow, Kind::Synthesize];
    let kinds = Kind::ALL.iter().filter(|kind| !for_later.contains(kind)).map(|kind| kind.text());
    let transfers = Verb::ALL.iter().map(|verb| verb.word());
    assert_eq!(quoted, kinds.chain(transfers).chain(NAMES).collect());
}

#[test]
fn words_that_are_read_as_names_are_names() {
    for name in NAMES {
        let found = tokens(FileId(0), name).tokens;
        assert!(found.iter().all(|token| token.kind == Kind::Name), "{name}");
        let said = GRAMMAR.split("*)").next().unwrap();
        assert!(said.contains(&format!("\"{name}\"")), "{name}");
    }
}

#[test]
fn reserved_words_are_listed() {
    let (_, listed) = GRAMMAR.split_once("Never names:").unwrap();
    let (listed, _) = listed.split_once('.').unwrap();
    let listed: BTreeSet<&str> = listed.split_whitespace().collect();
    let reserved = Kind::ALL.iter().filter(|kind| kind.class() == Class::Reserved);
    assert_eq!(listed, reserved.map(|kind| kind.text()).collect());
}
