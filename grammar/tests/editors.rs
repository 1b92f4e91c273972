//! The files that editors and the manual color programs with know every word of the language.

use grammar::{Kind, WORDS};
use std::path::Path;

/// The files, and which kinds of words are of no matter to each.
const FILES: &[(&[&str], &[Kind])] = &[
    (&["../grammar/ccl.highlight.js"], &[]),
    (&["neovim/syntax/ccl.vim"], &[]),
    (&["emacs/ccl-mode.el"], &[Kind::Field]),
    (&["sublime/ccl.sublime-syntax"], &[]),
    (&["tree-sitter-ccl/grammar.js", "tree-sitter-ccl/queries/highlights.scm"], PLAIN),
    (&["tree-sitter-ccl/grammar.js", "helix/queries/ccl/highlights.scm"], PLAIN),
    (&["tree-sitter-ccl/grammar.js", "zed/languages/ccl/highlights.scm"], PLAIN),
];

/// Words that a tree shows by where they stand, and what means nothing yet.
const PLAIN: &[Kind] = &[
    Kind::Type,
    Kind::Field,
    Kind::Method,
    Kind::Option,
    Kind::Value,
    Kind::Ability,
    Kind::Attribute,
    Kind::Future,
    Kind::Clause,
];

#[test]
fn files_for_editors_know_every_word() {
    // `lists.rs` is about to rewrite them.
    if std::env::var_os("BLESS").is_some() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors");
    let mut missing = Vec::new();
    for (files, unknown) in FILES {
        let text: String =
            files.iter().map(|file| std::fs::read_to_string(folder.join(file)).unwrap()).collect();
        let words = words(&text);
        for word in WORDS {
            let signs = matches!(word.kind, Kind::Operator | Kind::Punctuation);
            if !signs && !unknown.contains(&word.kind) && !words.contains(&word.text) {
                missing.push(format!("{}: `{}`", files.join(" and "), word.text));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect()
}
