//! Reports about tokens that do not belong where they are, or that are missing.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::recover::Parenthesized;
use super::{Reader, here, last, rest};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::foreign;
use crate::syntax::lookahead::{begins_surely, ends_value, is_operator};
use crate::syntax::token::{Class, Kind, Token, integer, other_unit};
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
        Kind::LeftBracket => {
            Some("to write memory, use `copy a -> b;`; to add to it, `reduce b, a -> b;`")
        }
        next if is_operator(next) => Some("a name keeps its value; bind another one with `let`"),
        _ => None,
    }
}

/// A token as it is shown in a message.
fn shown(token: &Token<'_>) -> String {
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
        return instead(word, "!");
    }
    if let Some(mark) = foreign::operator(token.text).filter(|_| token.kind == Kind::Name) {
        return instead(token, mark);
    }
    let report = Diagnostic::new(
        Code::E0101,
        token.span,
        format!("expected {wanted}, found {}", shown(token)),
    );
    let compares = matches!(
        token.kind,
        Kind::EqualEqual
            | Kind::NotEqual
            | Kind::Less
            | Kind::LessEqual
            | Kind::Greater
            | Kind::GreaterEqual
    );
    let behind = before.map_or(Kind::Semicolon, |before| before.kind);
    let touches = before.is_some_and(|before| before.span.end == token.span.start);
    let report = match (token.kind, wanted) {
        (Kind::If, _) if behind == Kind::Ensures => report
            .help("say which values it is for with `for`: `ensures for c in 0..n if rank == 0 { .. }`"),
        (Kind::Star, _) if behind == Kind::Star && touches => {
            report.help("write a power of two as `1 << n`; there is no operator for other powers")
        }
        (Kind::Name, _) if behind == Kind::Int && !touches => match unit_apart(before, token) {
            Some(help) => report.help(help),
            None => report,
        },
        (Kind::Or, Expected::Thing(_)) => report.help(foreign::LAMBDA),
        _ if is_word(before, "lambda") => report.help(foreign::LAMBDA),
        (Kind::Equal, _) if behind == Kind::Name => {
            match before.and_then(|before| foreign::behind_value(before.text)) {
                Some(help) => report.help(help),
                None => report,
            }
        }
        (Kind::LeftParen, _) if behind == Kind::For => report.help("write a loop as `for i in 0..n { .. }`, without parentheses"),
        (Kind::Colon, Expected::Body) => report.help(foreign::BRACES),
        _ if compares => report.help("comparisons do not chain: join two of them with `&&`"),
        (Kind::Comma, Expected::Semicolon) => {
            report.help("declare one thing at a time: end this declaration with `;`, and begin the next one with its keyword")
        }
        (Kind::Comma, Expected::ClosingOne(_)) => report
            .help("parentheses go around a single value; operands have none: `copy a -> b;`"),
        (Kind::Colon, Expected::Closing(Kind::RightBracket)) => {
            report.help("write a range as `0..2`, or with a length as `0 ..+ 2`")
        }
        (_, Expected::Choice) => report.help("to choose between two values, write `if c { a } else { b }`"),
        (Kind::LeftParen, _) if before.is_some_and(|before| before.kind == Kind::Sync) => {
            report.help("`sync` is a statement of its own: `sync;`")
        }
        (Kind::Slash, wanted)
            if wanted != Expected::Semicolon
                && before.is_none_or(|before| !is_operator(before.kind)) =>
        {
            report.help("a comment begins with `//`, and ends at the end of the line")
        }
        _ => match foreign::behind_value(token.text).filter(|_| ends_value(behind)) {
            Some(help) => report.help(help),
            None => report,
        },
    };
    let unopened = wanted == Expected::Body;
    Fault { unopened, ..Fault::new(token.span.start, Reach::Statement, report) }
}

/// Whether a token is this word, which is no word of the language.
fn is_word(token: Option<&Token<'_>>, word: &str) -> bool {
    token.is_some_and(|token| token.kind == Kind::Name && token.text == word)
}

/// The message about a unit that is separated from its number.
fn unit_apart(number: Option<&Token<'_>>, unit: &Token<'_>) -> Option<String> {
    let whole = format!("{}{}", number?.text, unit.text);
    match integer(&whole) {
        Some(_) => Some(format!("write a unit right after its number: `{whole}`")),
        None => other_unit(unit.text).map(str::to_owned),
    }
}

/// `text` is missing after the last token.
pub(super) fn missing(input: &mut Reader<'_, '_>, text: &str, place: &str) -> Fault {
    let after = here(input);
    let inserted = if text == ";" { text.to_owned() } else { format!(" {text}") };
    let (title, edits) = (format!("insert `{text}`"), vec![Edit { span: after, text: inserted }]);
    let report = Diagnostic::new(Code::E0105, after, format!("expected `{text}` {place}"))
        .label(format!("`{text}` is missing here"));
    let report = match (text, last(input).map(|before| before.kind)) {
        (";", _) => report.fix(title, edits),
        (_, Some(Kind::Hash)) => report.help("a comment begins with `//`"),
        (":", _) if rest(input).first().is_some_and(|next| next.kind == Kind::RightParen) => {
            report.help(foreign::CONTAINS)
        }
        _ => report.guess(title, edits),
    };
    Fault::new(after.start, Reach::Statement, report)
}

/// A `,` after the name that a loop binds.
pub(super) fn several_names(comma: &Token<'_>) -> Fault {
    let report =
        Diagnostic::new(Code::E0101, comma.span, "expected `in`, found `,`").help(foreign::PLACES);
    Fault::new(comma.span.start, Reach::Statement, report)
}

pub(super) fn wrong_mark(token: &Token<'_>, kind: Kind) -> Fault {
    let mark = kind.text();
    let edit = Edit { span: token.span, text: mark.to_owned() };
    let report = Diagnostic::new(
        Code::E0101,
        token.span,
        format!("expected `{mark}`, found {}", shown(token)),
    )
    .guess(format!("write `{mark}`"), vec![edit]);
    Fault::new(token.span.start, Reach::Statement, report)
}

/// A word that is almost another one.
pub(super) fn misspelt(token: &Token<'_>, kind: Kind) -> Fault {
    instead(token, kind.text())
}

/// A token in place of the one that was meant.
fn instead(token: &Token<'_>, word: &str) -> Fault {
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
    } else if let Some(word) = meant.map(Kind::text) {
        let edit = Edit { span: token.span, text: word.to_owned() };
        report = report
            .label(format!("did you mean `{word}`?"))
            .guess(format!("write `{word}`"), vec![edit]);
    }
    Fault::new(token.span.start, Reach::Statement, report)
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

/// A setting after `options` that is not in braces.
pub(super) fn bare_option(setting: Span) -> Fault {
    let (before, after) =
        (Span { end: setting.start, ..setting }, Span { start: setting.end, ..setting });
    let edits = vec![
        Edit { span: before, text: "{ ".to_owned() },
        Edit { span: after, text: " }".to_owned() },
    ];
    let report = Diagnostic::new(Code::E0105, setting, "options belong in braces")
        .fix("write `options { .. }`", edits);
    Fault::new(setting.start, Reach::Statement, report)
}

/// Commas after options, of which `first` is the first. `places` are those of all of them and the end of the last option
/// if nothing ends it.
pub(super) fn commas_for_semicolons(first: Span, places: impl Iterator<Item = Span>) -> Fault {
    let edits = places.map(|span| Edit { span, text: ";".to_owned() }).collect();
    let report = Diagnostic::new(Code::E0101, first, "expected `;` after an option, found `,`")
        .fix("write `;` after each option", edits);
    Fault::new(first.start, Reach::Statement, report)
}

/// Options in parentheses, and the commas that end them.
pub(super) fn options_in_parentheses<'t>(
    found: &Parenthesized<'t>,
    commas: impl Iterator<Item = &'t Token<'t>>,
) -> Option<Fault> {
    let (close, settings) = found.inner.split_last()?;
    let replace = |token: &Token<'_>, text: &str| Edit { span: token.span, text: text.to_owned() };
    // A space where the bracket and an option are on the same line.
    let open = if found.inner.first()?.first { "{" } else { "{ " };
    let end = if close.first { "}" } else { " }" };
    let last = settings.last()?;
    let mut edits = vec![replace(found.open, open)];
    edits.extend(commas.map(|comma| replace(comma, ";")));
    if last.kind != Kind::Semicolon && last.kind != Kind::Comma {
        edits.push(Edit { span: last.after(), text: ";".to_owned() });
    }
    edits.push(replace(close, end));
    let ended = found.next.filter(|next| next.kind == Kind::Semicolon);
    edits.extend(ended.map(|end| replace(end, "")));
    let place = found.open.span.to(close.span);
    let report = Diagnostic::new(Code::E0105, place, "options belong in braces");
    let report = match found.is_certain() {
        true => report.fix("write `options { .. }`", edits),
        false => report.help("write `options { .. }`, with `;` after each option"),
    };
    Some(Fault::new(place.start, Reach::Statement, report))
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

/// `=>` in place of the `=` between a function and its value.
pub(super) fn arrow_for_equal(equal: &Token<'_>, head: &Token<'_>) -> Fault {
    let place = equal.span.to(head.span);
    let report = Diagnostic::new(Code::E0101, place, "expected `=` and a value, found `=>`")
        .fix("write `=`", vec![Edit { span: place, text: "=".to_owned() }]);
    Fault::new(place.start, Reach::Statement, report)
}

/// The braces of a function's value, as other languages write it: `{ return x; }`.
pub(super) fn body_of_function(open: &Token<'_>, body: &[Token<'_>]) -> Fault {
    let place = open.span;
    let report = Diagnostic::new(Code::E0101, place, "expected `=` and a value, found `{`");
    let report = match unbraced(open, body) {
        Some(edits) => report.help(foreign::RETURN).guess("write `= ..;`", edits),
        None => report.help(foreign::RETURN),
    };
    Fault::new(place.start, Reach::Statement, report)
}

/// The edits that turn `{ return x; }` or `{ x }` into `= x;`; none if there is more than one statement in the braces.
/// Comments are kept.
fn unbraced(open: &Token<'_>, body: &[Token<'_>]) -> Option<Vec<Edit>> {
    let (close, inner) = body.split_last()?;
    let word = inner.first().filter(|_| is_word(inner.first(), "return"));
    let inner = if word.is_some() { inner.get(1..)? } else { inner };
    let (value, end) = match inner.split_last()? {
        (end, value) if end.kind == Kind::Semicolon => (value, Some(end)),
        _ => (inner, None),
    };
    let (first, last) = (value.first()?, value.last()?);
    if begins_surely(value) || value.iter().any(|token| token.kind == Kind::Semicolon) {
        return None;
    }
    // Up to the next token if that is on the same line, so that no comment is in between.
    let until = |from: &Token<'_>, next: &Token<'_>| match next.first {
        true => from.span,
        false => Span { end: next.span.start, ..from.span },
    };
    let mut edits = vec![Edit { span: open.span, text: "=".to_owned() }];
    edits.extend(word.map(|word| Edit { span: until(word, first), text: String::new() }));
    let before = end.unwrap_or(last);
    let start = if close.first { close.span.start } else { before.span.end };
    if end.is_none() {
        edits.push(Edit { span: last.after(), text: ";".to_owned() });
    }
    edits.push(Edit { span: Span { start, ..close.span }, text: String::new() });
    Some(edits)
}

/// A promise that is not in braces, and the `;` after it.
pub(super) fn in_no_braces(promise: Span, end: Option<Span>) -> Fault {
    let after = end.unwrap_or(Span { start: promise.end, ..promise });
    let edits = vec![
        Edit { span: Span { end: promise.start, ..promise }, text: "{ ".to_owned() },
        Edit { span: after, text: " }".to_owned() },
    ];
    let report = Diagnostic::new(Code::E0105, promise, "the body of `ensures` belongs in braces")
        .fix("write `ensures { .. }`", edits);
    Fault::new(promise.start, Reach::Before, report)
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
            if let Some(help) = next.and_then(instead_of_expression) {
                fault.report = fault.report.help(help);
            }
            fault
        }
    }
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
