//! The formatter: it keeps what was written, formatting twice changes nothing, and good style is left alone.

#![expect(clippy::unwrap_used, reason = "a text that is not formatted fails the test")]

#[path = "support/files.rs"]
mod files;
#[path = "support/tree.rs"]
mod tree;

use compiler::source::FileId;
use compiler::syntax::{format, parse, token};
use fastrand::Rng;
use files::{all_ccl_files, manifest};
use std::fs;

const TEXTS: &[&str] =
    &[include_str!("texts/every_production.ccl"), include_str!("texts/tree.ccl")];

/// The tree of a text without its spans.
fn tree(text: &str) -> String {
    let (tree, reports) = parse(FileId(0), text);
    assert_eq!(reports, [], "{text}");
    tree::without_spans(&tree)
}

fn comments(text: &str) -> Vec<String> {
    let comments = token::tokens(FileId(0), text).comments;
    comments.iter().map(|comment| comment.text.to_owned()).collect()
}

fn check(text: &str) {
    let once = format(text).unwrap();
    assert_eq!(tree(&once), tree(text), "{text}");
    assert_eq!(comments(&once), comments(text));
    assert_eq!(format(&once).unwrap(), once, "it changed its mind");
}

#[test]
fn good_style_is_left_alone() {
    for text in TEXTS {
        assert_eq!(format(text).unwrap(), *text);
        check(text);
    }
}

#[test]
fn lines_end_with_carriage_returns_too() {
    for text in TEXTS {
        for end in ["\r", "\r\n"] {
            let other = text.replace('\n', end);
            assert_eq!(comments(&other), comments(text), "{end:?}");
            assert_eq!(tree(&other), tree(text), "{end:?}");
            assert_eq!(format(&other).unwrap(), *text, "{end:?}");
        }
    }
}

#[test]
fn the_library_and_the_examples_are_formatted() {
    let folders = ["../stdlib/ccl", "../examples", "../benches"];
    let files: Vec<_> =
        folders.iter().flat_map(|folder| all_ccl_files(&manifest(folder))).collect();
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        assert!(format(&text).unwrap() == text, "{}: run `cclc fmt` on it", path.display());
    }
    assert!(files.len() > 30, "only {} files", files.len());
}

#[test]
fn any_layout_of_the_same_tokens_means_the_same() {
    let mut random = Rng::with_seed(1);
    for round in 0..60 {
        let text = TEXTS[round % TEXTS.len()];
        let mut mangled = String::new();
        for token in token::tokens(FileId(0), text).tokens {
            mangled += token.text;
            mangled += match random.usize(..12) {
                _ if token.text.starts_with("//") => "\n",
                0 => "\n",
                1 => "\n\n\n\t",
                2 => " // a comment\n",
                3 => "\n   // another\n",
                _ => " ",
            };
        }
        check(&mangled);
    }
}

#[test]
fn layout_is_canonical() {
    let before = "//! Docs.\nuse a::{b,c as d} ;\nfn f( x:int=- 1 )->int=x*- x;\n\n\n\nprogram p(ranks:int=2){\n\n  \
                  collective c(ranks,in_place=true);   // one\n  block a{signal m[ * ]relaxed ;}\n  \
                  block b { put input[rank ..+ 2]->(p in peers:p.output[0..2])via m[*];\n  }\n\n}\n";
    let after = "//! Docs.\nuse a::{b, c as d};\nfn f(x: int = -1) -> int = x * -x;\n\nprogram p(ranks: int = 2) {\n    \
                 collective c(ranks, in_place = true);  // one\n    block a { signal m[*] relaxed; }\n    \
                 block b {\n        put input[rank ..+ 2] -> (p in peers: p.output[0..2]) via m[*];\n    }\n}\n";
    assert_eq!(format(before).unwrap(), after);
    check(before);
}

#[test]
fn a_long_line_is_broken_at_its_bodies() {
    let operation = "put_with_signal_and_flush output[rank] -> p.output[rank] via far[p];";
    let short =
        format!("program p(ranks: int = 2) {{\n    block a[p in peers] {{ {operation} }}\n}}\n");
    assert_eq!(format(&short).unwrap(), short);
    let long = short.replace("block a[", "block a_longer_name[");
    let broken = long.replace(" { put", " {\n        put").replace("; }", ";\n    }");
    assert_eq!(format(&long).unwrap(), broken);
}

#[test]
fn a_range_goes_on_in_lines_that_begin_anywhere() {
    let ranges = [
        "a\n..+if c {\n1 } else {\n2\n}",
        "a ..+if c { 1 }\nelse { 2 }",
        "a\n..+ // length\nif c { 1 } // one\n else\n{ 2 }",
        "(a\n..+if\nc { 1 } else { 2 }).len()",
        "[x in a\n..+if c { 1 } else {\n2 }: x]",
    ];
    for range in ranges {
        check(&format!("let a = 0;\nlet c = true;\nlet x = {range};\n"));
        check(&format!("let c = true;\nproc f(a: int) {{ for i in {range} {{ g(i);\n}} }}\n"));
    }
}

#[test]
fn errors_are_given_back() {
    assert!(format("let x = ;").is_err());
}
