//! The verbs that move data, listed inside files that people write: the reference, the grammar, what colors programs in
//! editors. Each list is made of the rows of the verbs; `BLESS=1` rewrites it.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

use grammar::forms::{Form, HEAD, all_forms};
use grammar::verb::Verb;
use grammar::{Kind, of_kind};
use std::path::Path;

/// The longest line of a list.
const WIDTH: usize = 120;

/// A list inside a file.
struct List {
    /// The file, from the root of the repository.
    file: &'static str,
    /// What is before it.
    begin: &'static str,
    /// What is behind it.
    end: &'static str,
    /// What it is.
    text: String,
}

#[test]
fn the_reference_shows_the_forms() {
    let rows: Vec<String> = all_forms().map(|form| Form::row(&form)).collect();
    let text = format!("\n{}\n", rows.join("\n"));
    check_list(&List { file: "docs/reference.md", begin: HEAD, end: "\n*Here*", text });
}

#[test]
fn the_grammar_lists_the_verbs() {
    let quoted = Verb::ALL.iter().map(|verb| format!("\"{}\"", verb.word()));
    let text = wrap_list(quoted, Layout { first: 20, indent: 18, before: "| ", between: " " });
    check_list(&List {
        file: "grammar/ccl.ebnf",
        begin: "\ntransfer_verb     = ",
        end: " ;\n",
        text: text.strip_prefix("| ").unwrap().to_owned(),
    });
}

#[test]
fn the_grammar_for_trees_lists_the_verbs() {
    let quoted = Verb::ALL.iter().map(|verb| format!("'{}',", verb.word()));
    let text = wrap_list(quoted, Layout { first: 2, indent: 2, before: "", between: " " });
    let text = format!("  {text}");
    let (file, begin) = ("editors/tree-sitter-ccl/grammar.js", "const TRANSFER = [\n");
    check_list(&List { file, begin, end: "\n];", text });
}

#[test]
fn emacs_knows_the_verbs() {
    let synchronise = of_kind(Kind::Synchronise).map(|word| word.text);
    let words = Verb::ALL.iter().map(|verb| verb.word()).chain(synchronise);
    let quoted = words.map(|word| format!("\"{word}\""));
    let text = wrap_list(quoted, Layout { first: 4, indent: 4, before: "", between: " " });
    let (file, begin) = ("editors/emacs/ccl-mode.el", "(defconst ccl-mode--verbs\n  '(");
    check_list(&List { file, begin, end: "))\n", text });
}

#[test]
fn sublime_text_knows_the_verbs() {
    let (long, short): (Vec<&str>, Vec<&str>) =
        Verb::ALL.iter().map(|verb| verb.word()).partition(|word| word.contains('_'));
    let synchronise = of_kind(Kind::Synchronise).map(|word| word.text);
    let words = long.into_iter().chain(short).chain(synchronise).map(|word| format!("{word}|"));
    let text = wrap_list(words, Layout { first: 10, indent: 10, before: "", between: "" });
    let text = format!("          {}", text.strip_suffix('|').unwrap());
    let (file, begin) = ("editors/sublime/ccl.sublime-syntax", "(?x){{begins}}(\n");
    check_list(&List { file, begin, end: "\n        )\\b", text });
}

#[test]
fn vim_knows_the_verbs() {
    // A word without `_` is likely to be a name, too.
    let (long, short): (Vec<&str>, Vec<&str>) =
        Verb::ALL.iter().map(|verb| verb.word()).partition(|word| word.contains('_'));
    let head = r"syntax match cclVerb '\(^\|[;{}\]]\)\s*\zs\(";
    let mut text =
        format!("{}\\|signal\\|wait\\|flush\\)\\>\\ze\\(\\s*[;(]\\)\\@!'\n", short.join("\\|"));
    for words in long.chunks(4) {
        text += &format!("{head}{}\\)\\>'\n", words.join("\\|"));
    }
    check_list(&List {
        file: "editors/neovim/syntax/ccl.vim",
        begin: "\" Verbs are verbs where a statement begins, and names elsewhere.\nsyntax match cclVerb '\\(^\\|[;{}\\]]\\)\\s*\\zs\\(",
        end: "syntax match cclVerb '\\(^\\|[;{}\\]]\\)\\s*\\zs\\(acquire",
        text,
    });
}

/// How a list is laid out.
struct Layout {
    /// The column of its first item.
    first: usize,
    /// The column at which further lines begin.
    indent: usize,
    /// What is before each item.
    before: &'static str,
    /// What is between two items of a line.
    between: &'static str,
}

/// Items in lines that are as long as they may be, with one column to spare.
fn wrap_list(items: impl Iterator<Item = String>, layout: Layout) -> String {
    let mut text = String::new();
    let mut column = layout.first;
    for item in items {
        let item = format!("{}{item}", layout.before);
        if text.is_empty() {
            column -= layout.before.len();
        } else if column + layout.between.len() + item.len() >= WIDTH {
            text += &format!("\n{}", " ".repeat(layout.indent));
            column = layout.indent;
        } else {
            text += layout.between;
            column += layout.between.len();
        }
        column += item.len();
        text += &item;
    }
    text
}

fn check_list(list: &List) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(list.file);
    let committed = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = committed.split_once(list.begin).unwrap();
    let (_, behind) = rest.split_once(list.end).unwrap();
    let fresh = [before, list.begin, &list.text, list.end, behind].concat();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
        return;
    }
    assert!(
        committed == fresh,
        "{}: run BLESS=1 cargo test -p ccl-grammar, and commit the result:\n{}",
        list.file,
        list.text
    );
}
