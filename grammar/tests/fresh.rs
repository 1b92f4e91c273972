//! The committed grammars are those that the table of words gives; `BLESS=1` rewrites them. The table itself has
//! every word once, and the words of `ccl.ebnf` are the table's.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

use grammar::{Kind, WORDS};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn the_grammars_made_of_the_table_are_fresh() {
    fresh("ccl.tmLanguage.json", &grammar::textmate::render());
    fresh("ccl.highlight.js", &grammar::highlight::render());
}

fn fresh(name: &str, rendered: &str) {
    let path = folder().join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, rendered).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == rendered,
        "{name}: run BLESS=1 cargo test -p ccl-grammar, and commit the result"
    );
}

#[test]
fn no_word_stands_twice_in_its_kind() {
    let mut seen = BTreeSet::new();
    for word in WORDS {
        assert!(seen.insert((word.kind, word.text)), "{word:?}");
        assert!(
            !word.doc.is_empty() && !word.doc.ends_with('.') && !word.doc.contains('\n'),
            "{word:?}"
        );
    }
}

#[test]
fn a_reserved_word_is_nothing_else() {
    for reserved in WORDS.iter().filter(|word| word.kind.is_reserved()) {
        let others = WORDS.iter().filter(|word| word.text == reserved.text).count();
        assert_eq!(others, 1, "{reserved:?}");
    }
}

#[test]
fn the_grammar_says_the_same_words() {
    // `lists.rs` is about to rewrite it.
    if std::env::var_os("BLESS").is_some() {
        return;
    }
    let text = std::fs::read_to_string(folder().join("ccl.ebnf")).unwrap();
    let quoted = quoted(&text);
    let known: BTreeSet<&str> = WORDS.iter().map(|word| word.text).collect();
    for word in &quoted {
        assert!(known.contains(word.as_str()), "`{word}` is not in the table");
    }
    let kinds = [
        Kind::Declaration,
        Kind::Control,
        Kind::Constant,
        Kind::Transfer,
        Kind::Synchronise,
        Kind::Operator,
    ];
    for word in WORDS.iter().filter(|word| kinds.contains(&word.kind)) {
        assert!(quoted.contains(word.text), "`{}` is not in the grammar", word.text);
    }
    let head = text.split("*)").next().unwrap();
    let reserved = head.split("Never names:").nth(1).unwrap().split('.').next().unwrap();
    let listed: BTreeSet<&str> = reserved.split_whitespace().collect();
    let expected: BTreeSet<&str> =
        WORDS.iter().filter(|word| word.kind.is_reserved()).map(|word| word.text).collect();
    assert_eq!(listed, expected);
}

#[test]
fn every_production_is_defined_once_and_used() {
    let text = std::fs::read_to_string(folder().join("ccl.ebnf")).unwrap();
    let rules = text.split("*)").nth(1).unwrap();
    let plain = without_quotes(rules);
    let mut defined = BTreeSet::new();
    let mut used = BTreeSet::new();
    for rule in plain.split(';').filter(|rule| !rule.trim().is_empty()) {
        let (head, body) = rule.split_once('=').unwrap();
        assert!(defined.insert(head.trim().to_owned()), "{head} is defined twice");
        let names = body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        used.extend(
            names
                .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
                .map(str::to_owned),
        );
    }
    used.insert("file".to_owned());
    assert_eq!(defined, used);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The tokens in quotes, after the opening comment.
fn quoted(text: &str) -> BTreeSet<String> {
    let rules = text.split("*)").nth(1).unwrap();
    rules.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The text with everything in quotes left out.
fn without_quotes(text: &str) -> String {
    text.split('"').step_by(2).collect::<Vec<_>>().join(" ")
}
