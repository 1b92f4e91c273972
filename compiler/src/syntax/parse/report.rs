//! Reports about tokens that do not belong where they are, or that are missing.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::advice::advice;
use super::bracket::Parenthesized;
use super::form::{form_of_statement, head};
use super::{Reader, before, here, kind_at, last, rest};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::OPTION_NAMES;
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::foreign;
use crate::syntax::habit::Habit;
use crate::syntax::lookahead::{MAX_LOOK, behind, continues_with_modifier, is_operator};
use crate::syntax::token::{Class, Kind, Token};
use std::fmt;

/// What is expected at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Something with this description.
    Thing(&'static str),
    /// A value of an `if` expression, in its braces.
    Choice,
    /// The end of a statement.
    Semicolon,
    /// The `{` of a body.
    Body,
    /// A closing bracket, or one more of what it encloses.
    Closing(Kind),
    /// A closing bracket, if it encloses one value.
    ClosingOne(Kind),
    /// The end of the text.
    End,
}

impl From<&'static str> for Expected {
    fn from(what: &'static str) -> Expected {
        Expected::Thing(what)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Thing(what) => f.write_str(what),
            Expected::Choice => f.write_str("a value in braces"),
            Expected::Semicolon => f.write_str("`;`"),
            Expected::Body => f.write_str("`{`"),
            Expected::Closing(Kind::RightBrace) => f.write_str("`}`"),
            Expected::Closing(kind) => write!(f, "`,` or `{}`", kind.text()),
            Expected::ClosingOne(kind) => write!(f, "`{}`", kind.text()),
            Expected::End => f.write_str("nothing more"),
        }
    }
}

/// What to write instead of a statement that begins with a name and this token.
fn instead_of_expression(next: Kind) -> Option<&'static str> {
    match next {
        Kind::Dot => {
            Some("a statement begins with its verb: `signal channel;`, `put a -> b via channel;`")
        }
        Kind::PathSeparator => Some(foreign::PATH),
        Kind::LeftBracket => {
            Some("to write memory, use `copy a -> b;`; to add to it, `reduce b, a -> b;`")
        }
        next if is_operator(next) => Some("a name keeps its value; bind another one with `let`"),
        _ => None,
    }
}

/// A token as it is shown in a message.
pub(super) fn shown(token: &Token<'_>) -> String {
    if token.kind == Kind::Doc || token.kind == Kind::InnerDoc {
        return "a documentation comment".to_owned();
    }
    let text = if token.text.is_empty() { token.kind.text() } else { token.text };
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or(text)),
        None => format!("`{text}`"),
    }
}

/// Something is missing: reported at the next token if it is on this line, or after the last one.
pub(super) fn expected(input: &mut Reader<'_, '_>, wanted: Expected) -> Fault {
    let before = last(input);
    let after = here(input);
    match (rest(input).first(), before) {
        (Some(token), _) if !token.text.is_empty() && !token.first => {
            unexpected(before, token, wanted)
        }
        (_, Some(before)) => {
            let message = format!("expected {wanted} after {}", shown(before));
            let report = Diagnostic::new(Code::E0101, after, message);
            Fault::new(after.start, Reach::Statement, report)
        }
        (_, None) => {
            let report = Diagnostic::new(Code::E0101, after, format!("expected {wanted}"));
            Fault::new(after.start, Reach::Statement, report)
        }
    }
}

/// A token where something else is expected, after another one.
pub(super) fn unexpected(before: Option<&Token<'_>>, token: &Token<'_>, wanted: Expected) -> Fault {
    if let Some(word) = before.filter(|_| is_word(before, "not")) {
        return negation(word);
    }
    if let Some(mark) = foreign::operator(token.text).filter(|_| token.kind == Kind::Name) {
        return misspelt(token, mark);
    }
    let report = Diagnostic::new(
        Code::E0101,
        token.span,
        format!("expected {wanted}, found {}", shown(token)),
    );
    let report = match advice(before, token, wanted) {
        Some(help) => report.help(help),
        None => report,
    };
    let unopened = wanted == Expected::Body;
    Fault { unopened, ..Fault::new(token.span.start, Reach::Statement, report) }
}

/// `not`, which has a weaker hold than `!` in other languages.
fn negation(word: &Token<'_>) -> Fault {
    let mut fault = misspelt(word, Kind::Not.text());
    fault.report.fix = None;
    fault.report.helps.extend(foreign::function(word.text).map(str::to_owned));
    fault
}

/// Whether a token is this word, which is no word of the language.
pub(super) fn is_word(token: Option<&Token<'_>>, word: &str) -> bool {
    token.is_some_and(|token| token.kind == Kind::Name && token.text == word)
}

/// `text` is missing after the last token.
pub(super) fn missing(input: &mut Reader<'_, '_>, text: &str, place: &str) -> Fault {
    let after = here(input);
    let inserted = if matches!(text, ";" | ":") { text.to_owned() } else { format!(" {text}") };
    let (title, edits) = (format!("insert `{text}`"), vec![Edit { span: after, text: inserted }]);
    let report = Diagnostic::new(Code::E0105, after, format!("expected `{text}` {place}"))
        .label(format!("`{text}` is missing here"));
    let report = match (text, last(input).map(|before| before.kind)) {
        (";", _) => report.fix(title, edits),
        (_, Some(Kind::Hash)) => after_hash(input, report),
        ("=", _) if rest(input).first().is_some_and(|next| next.kind == Kind::Comma) => {
            report.help(foreign::ONE)
        }
        ("[", _) => {
            let one = vec![Edit { span: after, text: "[1]".to_owned() }];
            report.guess("for one chunk, insert `[1]`", one)
        }
        ("(", Some(Kind::Ports)) => report
            .help("for instance `ports (r in 0..8: r), bandwidth = 450GBps;`, or `ports (0);`"),
        ("(", _) => report.help("for instance `#[allow(unused, \"why\")]`"),
        (":", _) if rest(input).first().is_some_and(|next| next.kind == Kind::RightParen) => {
            report.help(foreign::CONTAINS)
        }
        ("{", _) if rest(input).first().is_some_and(|next| next.kind == Kind::Semicolon) => report,
        ("in", _) if rest(input).first().is_some_and(|next| is_operator(next.kind)) => {
            report.help("a value for each member comes after `:`, as in `all(p in list: p > 0)`")
        }
        ("in", _) if rest(input).first().is_some_and(|next| next.kind == Kind::LeftBrace) => {
            report.help("say what the loop runs through: `for p in peers { .. }`")
        }
        ("=", Some(Kind::Name)) if is_function(input) => report.help(foreign::LAMBDA),
        ("=" | "->" | "in", _) if !rest(input).first().is_some_and(begins_value) => {
            match form_of_statement(input) {
                Some(form) => report.help(form),
                None => report,
            }
        }
        _ => report.guess(title, edits),
    };
    let is_comment = report.fix.as_ref().is_some_and(|fix| fix.title == HASH_COMMENT);
    let habit = is_comment.then_some(Habit::OtherComment);
    Fault { habit, ..Fault::new(after.start, Reach::Statement, report) }
}

/// Whether parentheses follow the name that a `let` binds.
fn is_function(input: &mut Reader<'_, '_>) -> bool {
    let opens = rest(input).first().is_some_and(|next| next.kind == Kind::LeftParen);
    opens && head(before(input)).is_some_and(|head| head.kind == Kind::Let)
}

/// What a `#` begins in other languages.
const HASH_COMMENT: &str = "begin a comment with `//`";

/// Whether a value can begin with a token, on the same line.
fn begins_value(token: &Token<'_>) -> bool {
    let begins = token.kind.is_name()
        || token.kind.is_opener()
        || matches!(
            token.kind,
            Kind::Int | Kind::Str | Kind::Wrong | Kind::True | Kind::False | Kind::If
        )
        || matches!(token.kind, Kind::Minus | Kind::Not);
    begins && !token.first
}

/// What to write for a `#` with no `[` after it.
fn after_hash(input: &mut Reader<'_, '_>, report: Diagnostic) -> Diagnostic {
    let Some(hash) = last(input) else { return report };
    let tokens = rest(input);
    if tokens.first().is_some_and(|next| next.kind == Kind::Not) {
        return report.help(
            "an attribute is above the declaration or statement that it is about: `#[allow(unused, \"why\")]`",
        );
    }
    let attribute =
        tokens.first().filter(|next| next.kind == Kind::Name && next.span.start == hash.span.end);
    let opens = tokens.get(1).is_some_and(|next| next.kind == Kind::LeftParen);
    let directive = attribute.filter(|_| !opens).and_then(|word| foreign::statement(word.text));
    if let Some(help) = directive {
        return report.help(help);
    }
    match attribute.filter(|_| opens) {
        Some(_) => report.help("an attribute is in brackets: `#[allow(unused, \"why\")]`"),
        None => Diagnostic { message: "`#` begins no comment".to_owned(), ..report }
            .label("")
            .guess(HASH_COMMENT, vec![Edit { span: hash.span, text: "//".to_owned() }]),
    }
}

/// A `,` after the name that a loop binds.
pub(super) fn several_names(comma: &Token<'_>) -> Fault {
    let report =
        Diagnostic::new(Code::E0101, comma.span, "expected `in`, found `,`").help(foreign::PLACES);
    Fault::new(comma.span.start, Reach::Statement, report)
}

pub(super) fn wrong_mark(token: &Token<'_>, kind: Kind) -> Fault {
    instead_of_mark(token.span, &shown(token), kind)
}

/// Several tokens in place of a mark, the first of which is given.
pub(super) fn wrong_marks(first: &Token<'_>, tokens: &[Token<'_>], kind: Kind) -> Fault {
    let place = tokens.last().map_or(first.span, |last| first.span.to(last.span));
    instead_of_mark(place, &format!("`{}`", written(tokens)), kind)
}

fn instead_of_mark(place: Span, found: &str, kind: Kind) -> Fault {
    let mark = kind.text();
    let edit = Edit { span: place, text: mark.to_owned() };
    let report = Diagnostic::new(Code::E0101, place, format!("expected `{mark}`, found {found}"))
        .guess(format!("write `{mark}`"), vec![edit]);
    Fault::new(place.start, Reach::Statement, report)
}

/// A comma between the operands and a word that follows them.
pub(super) fn needless_comma(comma: &Token<'_>) -> Fault {
    let report = Diagnostic::new(Code::E0101, comma.span, "only operands are separated by commas")
        .fix("remove `,`", vec![Edit { span: comma.span, text: String::new() }]);
    Fault::new(comma.span.start, Reach::Before, report)
}

/// `mut`, where other languages distinguish names that change from others.
pub(super) fn never_changes(word: &Token<'_>, name: &Token<'_>) -> Fault {
    let edit = Edit { span: Span { end: name.span.start, ..word.span }, text: String::new() };
    let message = format!("a name keeps its value, so nothing is `{}`", word.text);
    let report = Diagnostic::new(Code::E0101, word.span, message)
        .fix(format!("remove `{}`", word.text), vec![edit]);
    Fault::new(word.span.start, Reach::Before, report)
}

/// A type before the name that has it: `ty` and `name` are their places.
pub(super) fn type_first(ty: Span, tokens: &[Token<'_>]) -> Option<Fault> {
    let (name, words) = tokens.split_last()?;
    let text = format!("{}: {}", name.text, written(words));
    let edit = Edit { span: ty.to(name.span), text: text.clone() };
    let report = Diagnostic::new(Code::E0101, ty, "a type comes after its name")
        .fix(format!("write `{text}`"), vec![edit]);
    Some(Fault::new(ty.start, Reach::Before, report))
}

/// Marks of a path, as other languages write them.
pub(super) fn other_path(marks: &[Token<'_>]) -> Option<Fault> {
    let first = marks.first()?;
    let edit = |mark: &Token<'_>| Edit { span: mark.span, text: "::".to_owned() };
    let message = format!("expected `::`, found `{}`", first.text);
    let report = Diagnostic::new(Code::E0101, first.span, message)
        .fix("write `::`", marks.iter().map(edit).collect());
    Some(Fault::new(first.span.start, Reach::Before, report))
}

/// Parentheses around all that follows the first word of a statement.
pub(super) fn statement_in_parentheses(found: &Parenthesized<'_>) -> Option<Fault> {
    let (close, inner) = found.inner.split_last()?;
    let (first, place) = (inner.first()?, found.open.span.to(close.span));
    found.next.filter(|next| next.kind == Kind::Semicolon)?;
    let touches = found.before.is_some_and(|before| before.span.end == found.open.span.start);
    let space = if touches { " ".to_owned() } else { String::new() };
    let commas = inner.iter().enumerate().filter_map(|(at, comma)| {
        let ends = continues_with_modifier(inner.get(at..)?);
        ends.then(|| Edit { span: comma.span, text: String::new() })
    });
    let mut edits =
        vec![Edit { span: Span { end: first.span.start, ..found.open.span }, text: space }];
    edits.extend(commas);
    edits.push(Edit { span: close.span, text: String::new() });
    let message = "what follows the first word of a statement is not in parentheses";
    let report = Diagnostic::new(Code::E0101, place, message);
    let report = match found.is_certain() && !first.first {
        true => report.fix("remove the parentheses", edits),
        false => report.help("remove the parentheses"),
    };
    Some(Fault::new(place.start, Reach::Statement, report))
}

/// The value of a semaphore in parentheses.
pub(super) fn value_in_parentheses(before: Span, value: &[Token<'_>]) -> Option<Fault> {
    let (open, close) = (value.first()?, value.last()?);
    let edits = vec![
        Edit { span: before.to(open.span), text: " = ".to_owned() },
        Edit { span: close.span, text: String::new() },
    ];
    let report = Diagnostic::new(Code::E0101, open.span, "expected `=` and a value, found `(`")
        .fix("write `= ..`", edits);
    Some(Fault::new(open.span.start, Reach::Before, report))
}

/// Empty parentheses after `what`, which takes no arguments.
pub(super) fn needless_parentheses(what: &str, open: &Token<'_>, close: &Token<'_>) -> Fault {
    let place = open.span.to(close.span);
    let report = Diagnostic::new(Code::E0101, place, format!("{what} takes no arguments"))
        .fix("remove `()`", vec![Edit { span: place, text: String::new() }]);
    Fault::new(place.start, Reach::Before, report)
}

/// A mark, or nothing, in place of the `,` before another setting.
pub(super) fn not_a_comma(place: Span, found: Option<&Token<'_>>) -> Fault {
    let message = match found {
        Some(found) => format!("expected `,` before the next setting, found `{}`", found.text),
        None => "expected `,` before the next setting".to_owned(),
    };
    let report = Diagnostic::new(Code::E0101, place, message)
        .fix("write `,`", vec![Edit { span: place, text: ",".to_owned() }]);
    Fault::new(place.start, Reach::Before, report)
}

/// A word of another language for `meant`.
pub(super) fn other_word(word: &Token<'_>, meant: &str, reach: Reach) -> Fault {
    let report =
        Diagnostic::new(Code::E0101, word.span, format!("`{}` has no meaning here", word.text))
            .fix(
                format!("write `{meant}`"),
                vec![Edit { span: word.span, text: meant.to_owned() }],
            );
    Fault::new(word.span.start, reach, report)
}

/// A condition right after `else`.
pub(super) fn else_without_if(condition: &Token<'_>) -> Fault {
    let before = Span { end: condition.span.start, ..condition.span };
    let message = format!("expected `if` or `{{` after `else`, found {}", shown(condition));
    let report = Diagnostic::new(Code::E0101, condition.span, message)
        .guess("insert `if`", vec![Edit { span: before, text: "if ".to_owned() }]);
    Fault::new(condition.span.start, Reach::Before, report)
}

/// A word that is almost another one.
pub(super) fn misspelt(token: &Token<'_>, word: &str) -> Fault {
    let edit = Edit { span: token.span, text: word.to_owned() };
    let report =
        Diagnostic::new(Code::E0101, token.span, format!("`{}` has no meaning here", token.text))
            .label(format!("did you mean `{word}`?"))
            .guess(format!("write `{word}`"), vec![edit]);
    Fault::new(token.span.start, Reach::Statement, report)
}

pub(super) fn no_such_word(token: &Token<'_>, meant: Option<Kind>) -> Fault {
    let message = format!("no statement or declaration begins with `{}`", token.text);
    let mut report = Diagnostic::new(Code::E0106, token.span, message);
    if let Some(help) = foreign::statement(token.text) {
        report = report.help(help);
    } else if OPTION_NAMES.contains(&token.text) {
        report = report.help(option_alone(token.text));
    } else if let Some(word) = meant.map(Kind::text) {
        let edit = Edit { span: token.span, text: word.to_owned() };
        report = report
            .label(format!("did you mean `{word}`?"))
            .guess(format!("write `{word}`"), vec![edit]);
    }
    Fault::new(token.span.start, Reach::Statement, report)
}

/// How to write an option that is not among others.
pub(super) fn option_alone(name: &str) -> String {
    format!("it is an option: `options {{ {name} = ..; }}`")
}

/// A token that can begin something only after the word `word`, which is missing.
pub(super) fn missing_word(token: &Token<'_>, word: &str) -> Fault {
    let before = Span { end: token.span.start, ..token.span };
    let message = format!("no statement or declaration begins with `{}`", token.text);
    let report = Diagnostic::new(Code::E0106, token.span, message)
        .guess(format!("insert `{word}`"), vec![Edit { span: before, text: format!("{word} ") }]);
    Fault::new(token.span.start, Reach::Statement, report)
}

/// Dimensions in a separate pair of brackets, after others.
pub(super) fn brackets_apart(closer: &Token<'_>, opener: &Token<'_>) -> Fault {
    let between = closer.span.to(opener.span);
    let report = Diagnostic::new(Code::E0101, between, "dimensions belong in one pair of brackets")
        .guess("write `, `", vec![Edit { span: between, text: ", ".to_owned() }]);
    Fault::new(between.start, Reach::Statement, report)
}

/// A region of scratch that ends with its name, at `after`.
pub(super) fn no_extent(after: Span) -> Fault {
    let one = vec![Edit { span: after, text: "[1]".to_owned() }];
    let report = Diagnostic::new(Code::E0105, after, "a region must say how many chunks it holds")
        .label("`[..]` is missing here")
        .guess("for one chunk, insert `[1]`", one);
    Fault::new(after.start, Reach::Statement, report)
}

/// What a loop runs through in parentheses.
pub(super) fn loop_in_parentheses(found: &Parenthesized<'_>) -> Option<Fault> {
    let (close, inner) = found.inner.split_last()?;
    let touches = found.before.is_some_and(|before| before.span.end == found.open.span.start);
    let space = if touches { " ".to_owned() } else { String::new() };
    let edits = vec![
        Edit { span: found.open.span, text: space },
        Edit { span: close.span, text: String::new() },
    ];
    let place = found.open.span.to(close.span);
    let report = Diagnostic::new(Code::E0101, place, "what a loop runs through has no parentheses");
    let report = match found.is_certain() && !inner.is_empty() {
        true => report.fix("remove the parentheses", edits),
        false => report.help("write a loop as `for i in 0..n { .. }`"),
    };
    Some(Fault::new(place.start, Reach::Before, report))
}

/// The settings of a pipeline in parentheses.
pub(super) fn pipeline_in_parentheses(found: &Parenthesized<'_>) -> Option<Fault> {
    let (close, settings) = found.inner.split_last()?;
    let place = found.open.span.to(close.span);
    let comma = settings.last().filter(|last| last.kind == Kind::Comma);
    let removed = [Some(found.open), comma, Some(close)].into_iter().flatten();
    let edits = removed.map(|token| Edit { span: token.span, text: String::new() }).collect();
    let message = "the settings of a pipeline have no parentheses";
    let report = Diagnostic::new(Code::E0101, place, message);
    let report = match found.is_certain() {
        true => report.fix("remove the parentheses", edits),
        false => report.help("remove the parentheses"),
    };
    Some(Fault::new(place.start, Reach::Statement, report))
}

/// What is in the place of the braces of a body.
pub(super) struct Braces {
    /// A `:` or `=` in place of `{`.
    pub(super) mark: Option<(Span, Kind)>,
    /// What to write `}` for; none if it comes after the body.
    pub(super) end: Option<Span>,
}

/// The body of `word`, at `body`, that is not in braces.
pub(super) fn in_no_braces(braces: &Braces, body: Span, word: &str) -> Fault {
    let message = format!("the body of `{word}` belongs in braces");
    braced(braces, body, message, format!("write `{word} {{ .. }}`"))
}

/// A statement in place of a body.
pub(super) fn statement_for_body(mark: Option<(Span, Kind)>, statement: Span) -> Fault {
    let braces = Braces { mark, end: None };
    braced(&braces, statement, "a body belongs in braces".to_owned(), "write `{ .. }`".to_owned())
}

fn braced(braces: &Braces, body: Span, message: String, title: String) -> Fault {
    let (before, after) = (Span { end: body.start, ..body }, Span { start: body.end, ..body });
    let opened = match braces.mark {
        // There is usually a blank before `=`, and none before `:`.
        Some((mark, Kind::Equal)) => Edit { span: mark, text: "{".to_owned() },
        Some((mark, _)) => Edit { span: mark, text: " {".to_owned() },
        None => Edit { span: before, text: "{ ".to_owned() },
    };
    let closed = Edit { span: braces.end.unwrap_or(after), text: " }".to_owned() };
    let report = Diagnostic::new(Code::E0105, body, message).fix(title, vec![opened, closed]);
    Fault::new(body.start, Reach::Before, report)
}

/// A size that is not in brackets: its place, with the mark before it, and what follows the word or name that it
/// belongs to.
pub(super) fn in_no_brackets(
    message: &'static str,
    size: &[Token<'_>],
    after: Span,
) -> Option<Fault> {
    let (first, last) = (size.first()?, size.last()?);
    let inner = if is_opening_mark(first) { size.get(1..)? } else { size };
    let in_parentheses = first.kind == Kind::LeftParen
        && behind(size.iter().skip(1), Kind::RightParen) == Some(size.len() - 1);
    let (begin, end) = match in_parentheses {
        true => (first.span.end, last.span),
        false => (inner.first()?.span.start, last.after()),
    };
    let edits = vec![
        Edit { span: Span { end: begin, ..after }, text: "[".to_owned() },
        Edit { span: end, text: "]".to_owned() },
    ];
    let place = first.span.to(last.span);
    let report = Diagnostic::new(Code::E0105, place, message).fix("write `[..]`", edits);
    Some(Fault::new(place.start, Reach::Before, report))
}

/// Whether a mark in front of a size is one that other languages write there.
pub(super) fn is_opening_mark(token: &Token<'_>) -> bool {
    matches!(token.kind, Kind::Colon | Kind::Equal | Kind::EqualEqual)
}

/// Tokens as they are written, in one line.
pub(super) fn written(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    let mut end = tokens.first().map_or(0, |token| token.span.start);
    for token in tokens {
        text.push_str(if token.span.start > end { " " } else { "" });
        text.push_str(token.text);
        end = token.span.end;
    }
    text
}

/// The parameters of a declaration, or the arguments of a collective, are missing; `example` has them.
pub(super) fn no_parameters(input: &mut Reader<'_, '_>, what: &str, example: &str) -> Fault {
    let after = here(input);
    let report = Diagnostic::new(Code::E0105, after, format!("expected `(` {what}"))
        .label(format!("`{example}` is missing here"))
        .guess(format!("insert `{example}`"), vec![Edit { span: after, text: example.to_owned() }]);
    Fault::new(after.start, Reach::Statement, report)
}

/// A token that begins no statement, with the one after it.
pub(super) fn no_statement(token: &Token<'_>, next: Option<Kind>, wanted: Expected) -> Fault {
    if token.kind == Kind::Semicolon {
        return lone_semicolon(token);
    }
    match token.kind.class() {
        Class::Mark => unexpected(None, token, wanted),
        Class::Word | Class::Verb | Class::Reserved => {
            let mut fault = no_such_word(token, None);
            let help = of_collectives(token.kind).or_else(|| next.and_then(instead_of_expression));
            if let Some(help) = help {
                fault.report = fault.report.help(help);
            }
            fault
        }
    }
}

/// Where a word belongs that only collectives have.
fn of_collectives(word: Kind) -> Option<&'static str> {
    Some(match word {
        Kind::Ensures => {
            "a promise is part of a `collective` declaration, which the program names: `collective allreduce(ranks);`"
        }
        Kind::InPlace => {
            "a collective says which buffers may share memory; a program chooses: `collective allreduce(ranks, in_place = true);`"
        }
        _ => return None,
    })
}

/// A name, and behind it what looks like the arguments of a call.
pub(super) fn call_without_parentheses(tokens: &[Token<'_>]) -> Option<Fault> {
    let (name, after) = tokens.split_first().filter(|(name, _)| name.kind == Kind::Name)?;
    // Only up to the end of the line, since this is asked for each line of a text that is no program.
    let ends = |token: &Token<'_>| token.kind == Kind::Semicolon || token.first;
    let end = after.iter().take(MAX_LOOK).position(ends)?;
    let arguments = after.get(..end).filter(|_| kind_at(after, end) == Some(Kind::Semicolon))?;
    let (first, last) = (arguments.first()?, arguments.last()?);
    let is_other =
        |token: &Token<'_>| matches!(token.kind, Kind::Arrow | Kind::Equal | Kind::LeftBrace);
    let is_value = first.kind.is_name() || matches!(first.kind, Kind::Int | Kind::Str);
    if !is_value
        || arguments.iter().any(is_other)
        || arguments.windows(2).any(|pair| pair.iter().all(|token| token.kind.is_name()))
        || foreign::statement(name.text).is_some()
        || OPTION_NAMES.contains(&name.text)
    {
        return None;
    }
    let edits = vec![
        Edit { span: Span { end: first.span.start, ..name.after() }, text: "(".to_owned() },
        Edit { span: last.after(), text: ")".to_owned() },
    ];
    let mut fault = no_such_word(name, None);
    let title = format!("to call a procedure, write `{}(..);`", name.text);
    fault.report = fault.report.guess(title, edits);
    Some(fault)
}

/// A `;` that ends no statement.
pub(super) fn lone_semicolon(token: &Token<'_>) -> Fault {
    let edit = Edit { span: token.span, text: String::new() };
    let report = Diagnostic::new(Code::E0101, token.span, "this `;` ends nothing")
        .fix("remove `;`", vec![edit]);
    Fault::new(token.span.start, Reach::Before, report)
}

/// `scratch` where memory is meant.
pub(super) fn no_scratch(token: &Token<'_>) -> Fault {
    let report = Diagnostic::new(
        Code::E0107,
        token.span,
        "`scratch` declares memory, and is not memory itself",
    )
    .help("declare it with a name, `scratch inbox[4];`, and write that: `inbox[0]`");
    Fault::new(token.span.start, Reach::Statement, report)
}

pub(super) fn reserved(token: &Token<'_>) -> Fault {
    let report = Diagnostic::new(
        Code::E0107,
        token.span,
        format!("`{}` is reserved and cannot be a name", token.text),
    )
    .help(format!("call it `{}_`, for example", token.text));
    Fault::new(token.span.start, Reach::Statement, report)
}
