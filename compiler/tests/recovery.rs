//! Recovery: mistakes put into correct programs, none inside another, are each reported once and on their lines.
//!
//! Robustness: every prefix of these programs, and thousands of texts with tokens removed, doubled or swapped, give
//! a tree and reports, and never a panic.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that looks beyond its texts fails"
)]

use compiler::diagnostic::{Code, Diagnostic, Severity};
use compiler::driver;
use compiler::source::{FileId, Place, SourceMap};
use compiler::syntax::{parse, token};
use fastrand::Rng;
use std::time::{Duration, Instant};

const TOPOLOGIES: &str = include_str!("texts/topologies.ccl");
const TEXTS: &[&str] =
    &[include_str!("texts/every_production.ccl"), TOPOLOGIES, include_str!("texts/tree.ccl")];

/// How many texts are spoiled; the environment variable `ROUNDS` sets another number.
fn rounds() -> u64 {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(200)
}

/// A way to spoil a line; none if the line has nothing to spoil.
type Spoil = fn(&str, &mut Rng) -> Option<String>;

const SPOILS: &[(&str, Spoil, Code)] = &[
    ("no semicolon", no_semicolon, Code::E0105),
    ("misspelt first word", misspelt_word, Code::E0106),
    ("no arrow", |line, _| without(line, "->"), Code::E0105),
    ("no bracket", |line, _| without(line, "]"), Code::E0105),
    ("no parenthesis", |line, _| without(line, ")"), Code::E0105),
    ("stray character", stray_character, Code::E0102),
    ("open string", open_string, Code::E0103),
    ("no source", no_source, Code::E0101),
    ("no destination", no_destination, Code::E0101),
    ("no value", no_value, Code::E0101),
    ("no equals sign", no_equals, Code::E0105),
    ("no in", |line, _| in_word(line, "for ", " in ", " "), Code::E0105),
    ("no operand", |line, _| in_word(line, "let ", " + 1", " +"), Code::E0101),
    ("reserved name", reserved_name, Code::E0107),
    ("number too large", |line, _| in_word(line, "", " = 0;", " = 99999999999GiB;"), Code::E0104),
    ("no comma", |line, _| in_word(line, "let ", ", ", " "), Code::E0101),
    ("two semicolons", |line, _| in_word(line, "    ", ";", ";;"), Code::E0101),
    ("misspelt via", |line, _| in_word(line, "", " via ", " vai "), Code::E0101),
    ("misspelt relaxed", |line, _| in_word(line, "", " relaxed;", " relaxd;"), Code::E0101),
    (NO_OPENING_BRACE, |line, _| brace(line), Code::E0105),
    (NO_CLOSING_BRACE, |line, _| (line.trim() == "}").then(String::new), Code::E0105),
];

const NO_OPENING_BRACE: &str = "no opening brace";
/// Reported at the end of the previous line.
const NO_CLOSING_BRACE: &str = "no closing brace";

fn without(line: &str, mark: &str) -> Option<String> {
    (!line.contains("fn ")).then_some(())?;
    let at = line.rfind(mark)?;
    Some(format!("{}{}", &line[..at], &line[at + mark.len()..]))
}

fn in_word(line: &str, head: &str, old: &str, new: &str) -> Option<String> {
    let body = line.trim_start();
    (body.starts_with(head.trim_start()) && line.starts_with("    ")).then_some(())?;
    let at = line.rfind(old)?;
    Some(format!("{}{new}{}", &line[..at], &line[at + old.len()..]))
}

fn no_semicolon(line: &str, _: &mut Rng) -> Option<String> {
    line.strip_suffix(';').map(str::to_owned)
}

fn misspelt_word(line: &str, dice: &mut Rng) -> Option<String> {
    let body = line.trim_start();
    let indent = line.len() - body.len();
    let end = body.find(|c: char| !c.is_ascii_alphabetic() && c != '_')?;
    if end < 4 || indent == 0 || body[end..].starts_with(" =") || body[end..].starts_with('(') {
        return None;
    }
    let at = indent + 1 + dice.usize(..end - 2);
    let (a, b) = (&line[at..=at], &line[at + 1..at + 2]);
    (a != b).then(|| format!("{}{b}{a}{}", &line[..at], &line[at + 2..]))
}

fn stray_character(line: &str, dice: &mut Rng) -> Option<String> {
    let indent = line.len() - line.trim_start().len();
    let spaces: Vec<usize> =
        line.match_indices(' ').map(|(at, _)| at + 1).filter(|at| *at >= indent).collect();
    if line.contains('"') || line.contains("//") {
        return None;
    }
    let at = *dice.choice(&spaces)?;
    let stray = dice.choice(["$", "@", "?", "`", "§§", "\\"])?;
    Some(format!("{}{stray} {}", &line[..at], &line[at..]))
}

fn open_string(line: &str, _: &mut Rng) -> Option<String> {
    let at = line.rfind('"')?;
    Some(format!("{}{}", &line[..at], &line[at + 1..]))
}

/// Where the verb ends in a line that has an arrow.
fn verb_end(line: &str) -> Option<usize> {
    let body = line.trim_start();
    let is_transfer = line.contains("->") && !body.starts_with("fn") && !body.contains('{');
    is_transfer.then(|| line.len() - body.len() + body.find(' ').unwrap_or(0))
}

fn no_source(line: &str, _: &mut Rng) -> Option<String> {
    let end = verb_end(line)?;
    Some(format!("{} {}", &line[..end], &line[line.find("->")?..]))
}

fn no_destination(line: &str, _: &mut Rng) -> Option<String> {
    verb_end(line)?;
    let arrow = line.find("->")? + 2;
    let end = line.find(" via ").or(line.find(';'))?;
    Some(format!("{}{}", &line[..arrow], &line[end..]))
}

fn no_value(line: &str, _: &mut Rng) -> Option<String> {
    line.trim_start().starts_with("let ").then_some(())?;
    Some(format!("{}= ;", &line[..line.find('=')?])).filter(|_| line.ends_with(';'))
}

fn no_equals(line: &str, _: &mut Rng) -> Option<String> {
    let body = line.trim_start();
    (body.starts_with("let ") || body.starts_with("channel ")).then_some(())?;
    line.contains(" = ").then(|| line.replacen(" = ", " ", 1))
}

fn reserved_name(line: &str, dice: &mut Rng) -> Option<String> {
    let body = line.trim_start();
    body.starts_with("let ").then_some(())?;
    let end = body[4..].find(|c: char| !c.is_ascii_alphabetic() && c != '_')?;
    let word = dice.choice(["block", "channel", "flow", "link", "in", "program", "via"])?;
    Some(line.replacen(&body[4..4 + end], word, 1))
}

fn brace(line: &str) -> Option<String> {
    let body = line.trim_start();
    (body.starts_with("for ") || body.starts_with("block ") || body.starts_with("if "))
        .then_some(())?;
    line.strip_suffix(" {").map(str::to_owned)
}

/// The line of the other brace: if both were missing, that would not be one mistake but none that can be noticed.
fn partner(lines: &[String], at: usize) -> Option<usize> {
    let indent = |line: &String| line.len() - line.trim_start().len();
    let same = |i: &usize| !lines[*i].is_empty() && indent(&lines[*i]) == indent(&lines[at]);
    if lines[at].trim() == "}" {
        (0..at).rev().find(same)
    } else {
        (at + 1..lines.len()).find(same)
    }
}

/// A text with `count` mistakes on different lines, and the lines with their mistakes.
fn spoilt(text: &str, count: usize, dice: &mut Rng) -> (String, Vec<(usize, &'static str, Code)>) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut done: Vec<(usize, &'static str, Code)> = Vec::new();
    let mut taken: Vec<usize> = Vec::new();
    let mut tries = 0;
    while done.len() < count && tries < 100_000 {
        tries += 1;
        let at = dice.usize(..lines.len());
        let (name, spoil, code) = SPOILS[dice.usize(..SPOILS.len())];
        if taken.contains(&at) || lines[at].trim_start().starts_with("//") {
            continue;
        }
        if let Some(line) = spoil(&lines[at], dice) {
            if name == NO_OPENING_BRACE || name == NO_CLOSING_BRACE {
                taken.extend(partner(&lines, at));
            }
            taken.push(at);
            lines[at] = line;
            done.push((at + 1, name, code));
        }
    }
    assert_eq!(done.len(), count, "this text has not enough to spoil");
    for (line, name, _) in &mut done {
        while *name == NO_CLOSING_BRACE && lines[*line - 1].is_empty() {
            *line -= 1;
        }
    }
    done.sort_unstable_by_key(|(line, _, _)| *line);
    (lines.join("\n") + "\n", done)
}

fn line_of(text: &str, report: &Diagnostic) -> usize {
    match report.primary.as_ref().unwrap().place {
        Place::Source(span) => text[..span.start as usize].matches('\n').count() + 1,
        Place::Plan(_) => panic!("a place in a plan"),
    }
}

#[test]
fn each_mistake_is_reported_once_and_on_its_line() {
    let mut wrong = String::new();
    for round in 0..rounds() {
        let mut dice = Rng::with_seed(0x9E37_79B9_7F4A_7C15 ^ (round + 1));
        let text = TEXTS[round as usize % TEXTS.len()];
        // Of what a link lacks, some is reported as what is there instead.
        let alike = |code: Code| {
            let is_alike = code == Code::E0105 && text == TOPOLOGIES;
            if is_alike { Code::E0101 } else { code }
        };
        let (text, mistakes) = spoilt(text, 1 + round as usize % 20, &mut dice);
        let (_, reports) = parse(FileId(0), &text);
        let mut found: Vec<(usize, Code)> =
            reports.iter().map(|r| (line_of(&text, r), alike(r.code))).collect();
        let mut expected: Vec<(usize, Code)> =
            mistakes.iter().map(|(line, _, code)| (*line, alike(*code))).collect();
        found.sort_unstable();
        expected.sort_unstable();
        if found == expected {
            continue;
        }
        wrong += &format!("round {round}:\n");
        let lines: Vec<&str> = text.lines().collect();
        for (line, name, code) in &mistakes {
            let sign =
                if found.contains(&(*line, alike(*code))) { "reported" } else { "NOT REPORTED" };
            wrong += &format!("  {sign}: {} {name}, line {line}: {}\n", code.id(), lines[line - 1]);
        }
        for report in &reports {
            let line = line_of(&text, report);
            if !expected.contains(&(line, alike(report.code))) {
                wrong += &format!(
                    "  TOO MUCH: {}, line {line}: {}: {}\n",
                    report.code.id(),
                    lines[line - 1],
                    report.message
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn sound_texts_have_no_reports() {
    for text in TEXTS {
        let (_, reports) = parse(FileId(0), text);
        assert_eq!(reports, []);
    }
}

#[test]
fn every_beginning_of_a_text_parses() {
    for text in TEXTS {
        for (end, _) in text.char_indices().filter(|(end, _)| end % 3 == 0) {
            let _ = parse(FileId(0), &text[..end]);
        }
    }
}

#[test]
fn texts_with_tokens_left_out_doubled_and_exchanged_parse() {
    let mut dice = Rng::with_seed(0x2545_F491_4F6C_DD1D);
    for round in 0..2000 {
        let text = TEXTS[round % TEXTS.len()];
        let tokens = token::tokens(FileId(0), text).tokens;
        let mut words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        for _ in 0..=dice.usize(..4) {
            let (a, b) = (dice.usize(..words.len()), dice.usize(..words.len()));
            match dice.usize(..3) {
                0 => drop(words.remove(a)),
                1 => words.insert(a, words[b]),
                _ => words.swap(a, b),
            }
        }
        // A documentation comment ends with its line.
        let text: String = words
            .iter()
            .map(|word| format!("{word}{}", if word.starts_with("//") { "\n" } else { " " }))
            .collect();
        let _ = parse(FileId(0), &text);
    }
}

/// If the name of a declaration or the bracket of a list is missing, this is not reported again wherever the name
/// is used.
#[test]
fn a_token_that_is_left_out_is_one_mistake() {
    let text = include_str!("../../stdlib/ccl/algorithms/allreduce_ring.ccl");
    let tokens = token::tokens(FileId(0), text).tokens;
    let code = tokens.iter().filter(|token| !token.text.starts_with("//"));
    let (mut left_out, mut once, mut most) = (0, 0, 0);
    for token in code {
        let span = token.span.start as usize..token.span.end as usize;
        let mut spoilt = text.to_owned();
        spoilt.replace_range(span, "");
        let mut sources = SourceMap::default();
        let main = sources.add("spoilt.ccl", &*spoilt);
        let (_, reports) = driver::load(main, &mut sources, &mut |_| Err("no file".to_owned()));
        let errors = reports.iter().filter(|report| report.severity == Severity::Error).count();
        left_out += 1;
        once += usize::from(errors <= 1);
        most = most.max(errors);
    }
    // Without the token, the text may be correct as well, or a line may be read in two ways.
    assert!(once * 100 >= left_out * 93, "{once} of {left_out}");
    assert!(most <= 8, "{most} reports of one token");
}

/// Texts whose reading once took time that grew with the square of their length. The bound is far from what it takes now,
/// and far below what it took.
#[test]
fn long_wrong_texts_are_read_in_time() {
    const LENGTH: usize = 100_000;
    let units =
        ["# ", "#\n", "//! a\n", "}", "collective\n", "program p(..) : a(b)\n", "let int x int "];
    let start = Instant::now();
    for unit in units {
        let text = format!("let a = 1;\n{}", unit.repeat(LENGTH / unit.len()));
        let (_, reports) = parse(FileId(0), &text);
        assert!(!reports.is_empty(), "{unit:?}");
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn what_nests_too_deep_is_refused() {
    let chains: [fn(usize) -> String; 12] = [
        |n| format!("let x = {}1{};", "(".repeat(n), ")".repeat(n)),
        |n| format!("let x = {}1{};", "[".repeat(n), "]".repeat(n)),
        |n| format!("let x = {}1{};", "{".repeat(n), "}".repeat(n)),
        |n| format!("let x = {}1{};", "f(".repeat(n), ")".repeat(n)),
        |n| format!("let x = {}1{};", "a[".repeat(n), "]".repeat(n)),
        |n| format!("let x = {}1;", "-".repeat(n)),
        |n| format!("let x = {}1;", "!-".repeat(n)),
        |n| format!("let x = a{};", ".a".repeat(n)),
        |n| format!("let x = a{};", "[0]".repeat(n)),
        |n| format!("let x = a{};", " + a".repeat(n)),
        |n| format!("let x = {}{{ c }};", "if a { b } else ".repeat(n)),
        |n| {
            let body = "for p in peers { ".repeat(n) + &"}".repeat(n);
            format!(
                "program p(ranks: int = 2) {{ if a {{ }} {} {body} }}",
                "else if a { }".repeat(n)
            )
        },
    ];
    for (i, chain) in chains.iter().enumerate() {
        for n in [100, 300, 20_000] {
            let (tree, reports) = parse(FileId(0), &chain(n));
            let codes: Vec<Code> = reports.iter().map(|report| report.code).collect();
            if n == 100 && i != 6 {
                assert_eq!(codes, [], "chain {i}");
            } else if n > 200 {
                assert!(codes.contains(&Code::E0109), "chain {i} of {n}: {codes:?}");
            }
            drop(tree.clone());
        }
        // Without their ends, and repeated.
        let text = chain(5_000);
        let _ = parse(FileId(0), &text[..text.len() / 2]);
        let _ = parse(FileId(0), &text.repeat(2));
    }
}
