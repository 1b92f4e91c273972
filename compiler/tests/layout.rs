//! The formatter: it keeps what was written, formatting twice changes nothing, and good style is left alone.

#![expect(clippy::unwrap_used, reason = "a text that is not formatted fails the test")]

#[path = "support/files.rs"]
mod files;
#[path = "support/tree.rs"]
mod tree;

use compiler::source::FileId;
use compiler::syntax::format::WIDTH;
use compiler::syntax::{format, format_to_width, parse, token};
use fastrand::Rng;
use files::{all_ccl_files, manifest};
use std::fs;

const TEXTS: &[&str] = &[
    include_str!("texts/every_production.ccl"),
    include_str!("texts/topologies.ccl"),
    include_str!("texts/tree.ccl"),
];

/// The declarations of a text.
fn tree(text: &str) -> Vec<String> {
    let (tree, reports) = parse(FileId(0), text);
    assert_eq!(reports, [], "{text}");
    tree::declarations(&tree)
}

fn comments(text: &str) -> Vec<String> {
    let comments = token::tokens(FileId(0), text).comments;
    comments.iter().map(|comment| comment.text.to_owned()).collect()
}

fn check(text: &str) {
    check_at(text, WIDTH);
}

/// Checks what holds for every text, formatted for lines of a width.
fn check_at(text: &str, width: usize) {
    let once = format_to_width(text, width).unwrap();
    assert_eq!(tree(&once), tree(text), "{text}");
    assert_eq!(comments(&once), comments(text), "{text}");
    assert_eq!(format_to_width(&once, width).unwrap(), once, "it changed its mind at {width}");
    for line in once.lines().filter(|line| is_breakable(line)) {
        assert!(code_width(line) <= width, "{width}: {line}\n{once}");
    }
}

/// The columns of a line without the comment at its end.
fn code_width(line: &str) -> usize {
    let code = token::tokens(FileId(0), line).tokens;
    let end = code.last().map_or(0, |last| last.span.end as usize);
    line.get(..end).unwrap().chars().count()
}

/// Whether a line could go on in another one: at a space between two tokens. What closes a bracket keeps what follows it, and
/// what opens one stays.
fn is_breakable(line: &str) -> bool {
    let code = token::tokens(FileId(0), line).tokens;
    code.windows(2).any(|pair| {
        let [before, after] = pair else { return false };
        before.span.end < after.span.start && before.text != "}" && after.text != "{"
    })
}

/// The tokens of a text with other blanks, line ends and comments between them.
fn mangled(text: &str, random: &mut Rng) -> String {
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
    mangled
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
        }
        let pairs = text.replace('\n', "\r\n");
        assert_eq!(format(&pairs).unwrap(), pairs, "pairs stay");
        assert_eq!(format(&text.replace('\n', "\r")).unwrap(), *text, "single ones do not");
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
        check(&mangled(TEXTS[round % TEXTS.len()], &mut random));
    }
}

#[test]
fn lines_of_any_width_mean_the_same() {
    let folders = ["../stdlib/ccl", "../examples", "tests/texts"];
    let files: Vec<_> =
        folders.iter().flat_map(|folder| all_ccl_files(&manifest(folder))).collect();
    let mut random = Rng::with_seed(2);
    for path in files {
        let text = fs::read_to_string(path).unwrap();
        for width in [20, random.usize(20..120)] {
            check_at(&text, width);
            check_at(&mangled(&text, &mut random), width);
        }
    }
}

#[test]
fn imports_are_sorted_between_blank_lines_and_comments() {
    let before = "use std::b::{z, x as y, a};\nuse std::a::c;\nuse \"f.ccl\"::g;\n\nuse std::a::b;\n\
                  // Why.\nuse std::a::a;\nuse std::a::d; // Because.\nuse std::a::c;\n";
    let after = "use \"f.ccl\"::g;\nuse std::a::c;\nuse std::b::{a, x as y, z};\n\nuse std::a::b;\n\
                 // Why.\nuse std::a::a;\nuse std::a::d;  // Because.\nuse std::a::c;\n";
    assert_eq!(format(before).unwrap(), after);
    check(before);
}

#[test]
fn a_list_whose_lines_are_its_own_keeps_them() {
    let kept = [
        "let a = [\n    1, 2,\n    3, 4,\n];\n",
        "proc f(\n    a: int,\n    b: int\n) {\n    g(\n        1,\n        2\n    );\n}\n",
        "let a = if true {\n    1\n} else {\n    2\n};\n",
    ];
    for text in kept {
        assert_eq!(format(text).unwrap(), text);
    }
    assert_eq!(
        format("let a = [1,\n    2];\nlet b =\n    1;\n").unwrap(),
        "let a = [1, 2];\nlet b = 1;\n"
    );
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
