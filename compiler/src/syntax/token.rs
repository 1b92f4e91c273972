//! Text to tokens; the only file that uses logos.
//!
//! In: the text of a file. Out: its tokens, its comments, kept separate from the tokens, and reports of what is no
//! token: characters that begin none, strings that do not end, numbers that do not fit. A faulty piece of text
//! becomes one token or none, so that the text around it is read as usual.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::fault::{Fault, Reach};
use super::unseen::visible;
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::{FileId, LINE_ENDS, Span};
use grammar::verb::Verb;
use logos::{Lexer, Logos};

/// A token with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// What it is.
    pub kind: Kind,
    /// Whether it is the first on its line.
    pub first: bool,
    /// How many bytes there are before the first token of its line.
    pub indent: u32,
    /// Where it is.
    pub span: Span,
    /// Its text; empty if it was inserted where the author left it out.
    pub text: &'t str,
}

/// What the text of a file consists of.
#[derive(Clone, Debug, Default)]
pub struct Tokens<'t> {
    /// Its tokens, including documentation.
    pub tokens: Vec<Token<'t>>,
    /// Its other comments, in order; their `indent` has no meaning.
    pub comments: Vec<Token<'t>>,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// How a word may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A mark or a literal.
    Mark,
    /// A reserved word, never a name.
    Reserved,
    /// A word with a meaning in some places, and a name elsewhere.
    Word,
    /// A word that begins an operation, and a name elsewhere.
    Verb,
}

/// Makes the enum and its texts from one row per class of words and marks.
macro_rules! kinds {
    ($($class:ident: $($kind:ident $text:tt)*;)*) => {
        /// The kinds of tokens.
        #[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
        #[logos(skip r"[ \t\r\n\f\u{feff}]+")]
        pub enum Kind {
            /// A name.
            #[regex("[A-Za-z_][A-Za-z0-9_]*")]
            Name,
            /// `1_024`, `512KiB`
            #[regex("[0-9][A-Za-z0-9_]*")]
            #[regex(r"[0-9][0-9_]*\.[0-9][A-Za-z0-9_]*")]
            Int,
            /// `"text"`
            #[regex(r#""([^"\\\n\r]|\\[^\n\r])*""#)]
            Str,
            /// A string without its end.
            #[regex(r#""([^"\\\n\r]|\\[^\n\r])*\\?"#)]
            OpenStr,
            /// A comment of any kind.
            #[regex(r"//[^\n\r]*", allow_greedy = true)]
            Comment,
            /// `/// text`
            Doc,
            /// `//! text`
            InnerDoc,
            /// A comment of another language.
            OtherComment,
            /// The mark of a program in a text.
            #[regex("```[A-Za-z0-9]*")]
            Fence,
            /// Something that was meant as a value and has been reported.
            Wrong,
            /// A verb that moves data. The lexer reads a name, which the table of verbs knows.
            Transfer(Verb),
            $($(#[doc = $text] #[token($text)] $kind,)*)*
        }

        impl Kind {
            /// The text of a word or mark, empty for the others.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self {
                    Kind::Name | Kind::Int | Kind::Str | Kind::OpenStr | Kind::Comment | Kind::Doc
                    | Kind::InnerDoc | Kind::OtherComment | Kind::Fence | Kind::Wrong => "",
                    Kind::Transfer(verb) => verb.word(),
                    $($(Kind::$kind => $text,)*)*
                }
            }

            /// How it may be used.
            #[must_use]
            pub fn class(self) -> Class {
                match self {
                    Kind::Name => Class::Word,
                    Kind::Int | Kind::Str | Kind::OpenStr | Kind::Comment | Kind::Doc
                    | Kind::InnerDoc | Kind::OtherComment | Kind::Fence | Kind::Wrong => Class::Mark,
                    Kind::Transfer(_) => Class::Verb,
                    $($(Kind::$kind)|* => Class::$class,)*
                }
            }

            /// Every word and mark but the verbs that move data.
            pub const ALL: &[Kind] = &[$($(Kind::$kind,)*)*];
        }
    };
}

kinds! {
    Reserved:
        Use "use" As "as" Let "let" Fn "fn" Proc "proc" Collective "collective" Program "program"
        Options "options" Require "require" Scratch "scratch" Channel "channel" Semaphore "semaphore"
        Block "block" Group "group" Pipeline "pipeline" For "for" In "in" If "if" Else "else" Via "via"
        Relaxed "relaxed" True "true" False "false"
        Topology "topology" Link "link" Flow "flow" Synthesize "synthesize";
    Verb:
        Signal "signal" Wait "wait" Flush "flush" Acquire "acquire" Release "release" Barrier "barrier";
    Word:
        Input "input" Output "output" InPlace "in_place" Ensures "ensures" Op "op" Sync "sync" To "to"
        Slice "slice" Of "of" Switch "switch" Ports "ports" On "on" Without "without";
    Mark:
        LeftParen "(" RightParen ")" LeftBracket "[" RightBracket "]" LeftBrace "{" RightBrace "}"
        Semicolon ";" Comma "," PathSeparator "::" Colon ":" Hash "#" Arrow "->"
        BothArrow "<->"
        RangeLength "..+" RangeInclusive "..=" RangeHalfOpen ".." Dot "."
        EqualEqual "==" NotEqual "!=" LessEqual "<=" GreaterEqual ">=" ShiftLeft "<<" ShiftRight ">>"
        AndAnd "&&" OrOr "||" Equal "=" Less "<" Greater ">" Plus "+" Minus "-" Star "*" Slash "/"
        Percent "%" And "&" Or "|" Caret "^" Not "!";
}

impl Kind {
    /// Whether it can be a name.
    #[must_use]
    pub fn is_name(self) -> bool {
        matches!(self.class(), Class::Word | Class::Verb)
    }

    /// Whether it opens a bracket.
    #[must_use]
    pub fn is_opener(self) -> bool {
        matches!(self, Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace)
    }

    /// Whether it closes a bracket.
    #[must_use]
    pub fn is_closer(self) -> bool {
        matches!(self, Kind::RightParen | Kind::RightBracket | Kind::RightBrace)
    }
}

impl Token<'_> {
    /// The empty span after it.
    #[must_use]
    pub fn after(&self) -> Span {
        Span { start: self.span.end, ..self.span }
    }
}

/// Cuts a text into tokens.
#[must_use]
pub fn tokens(file: FileId, text: &str) -> Tokens<'_> {
    let mut lines = Lines { text, seen: 0, first: true, indent: 0 };
    let mut out = Tokens::default();
    let mut strange: Option<Token<'_>> = None;
    let mut lexer = Kind::lexer(text);
    let mut comments = OtherComments::default();
    while let Some(found) = lexer.next() {
        let (first, indent) = lines.place(lexer.span().start);
        let found = found.map(|kind| comments.extend(kind, first, &mut lexer));
        let range = lexer.span();
        let span = Span { file, start: range.start as u32, end: range.end as u32 };
        let kind = found.unwrap_or(Kind::Wrong);
        let mut token = Token { kind, first, indent, span, text: lexer.slice() };
        if let Some(run) = strange.take() {
            let goes_on = found.is_err() && run.kind == Kind::Wrong;
            if goes_on && run.span.end == span.start {
                let span = run.span.to(span);
                strange = Some(Token { span, text: slice(text, span), ..run });
                continue;
            }
            token.first |= push_strange(run, text, &mut out) && run.first;
        }
        match found {
            Ok(Kind::OtherComment | Kind::Fence) | Err(()) => strange = Some(token),
            Ok(_) => push(token, text, &mut out),
        }
    }
    if let Some(run) = strange {
        push_strange(run, text, &mut out);
    }
    out
}

/// The value of a number in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// `512KiB`
    Int(i64),
    /// `25GBps`, in bytes per second
    Rate(i64),
    /// `1.5us`, in nanoseconds
    Time(i64),
}

/// A unit behind a number.
struct Unit {
    /// How much one of it is.
    size: i64,
    /// The number for an amount.
    number: fn(i64) -> Number,
    /// Whether parts of it can be written.
    has_parts: bool,
}

impl Unit {
    fn find(text: &str) -> Option<Unit> {
        let (size, number): (i64, fn(i64) -> Number) = match text {
            "" => (1, Number::Int),
            "KiB" => (1 << 10, Number::Int),
            "MiB" => (1 << 20, Number::Int),
            "GiB" => (1 << 30, Number::Int),
            "Bps" => (1, Number::Rate),
            "KBps" => (1_000, Number::Rate),
            "MBps" => (1_000_000, Number::Rate),
            "GBps" => (1_000_000_000, Number::Rate),
            "TBps" => (1_000_000_000_000, Number::Rate),
            "Kbps" => (1_000 / 8, Number::Rate),
            "Mbps" => (1_000_000 / 8, Number::Rate),
            "Gbps" => (1_000_000_000 / 8, Number::Rate),
            "Tbps" => (1_000_000_000_000 / 8, Number::Rate),
            "ns" => (1, Number::Time),
            "us" => (1_000, Number::Time),
            "ms" => (1_000_000, Number::Time),
            _ => return None,
        };
        let has_parts = !matches!(number(0), Number::Int(_));
        Some(Unit { size, number, has_parts })
    }
}

/// Whether a text is a reserved word, which can name nothing.
#[must_use]
pub fn is_reserved(text: &str) -> bool {
    Kind::ALL.iter().any(|kind| kind.class() == Class::Reserved && kind.text() == text)
}

/// The value of a number; none if it is not one, does not fit, or is no whole number of bytes, bytes per second or
/// nanoseconds.
#[must_use]
pub fn number(text: &str) -> Option<Number> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '_' || c == '.';
    let digits_end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let unit = Unit::find(unit)?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if !part.is_empty() && !unit.has_parts {
        return None;
    }
    let (whole, part) = (whole.replace('_', ""), part.replace('_', ""));
    let scale = 10_i64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let amount: i64 = format!("{whole}{part}").parse().ok()?;
    let amount = amount.checked_mul(unit.size)?;
    (amount % scale == 0).then(|| (unit.number)(amount / scale))
}

/// The value of a number without the unit of a rate or a time; none if it is not one or does not fit.
#[must_use]
pub fn integer(text: &str) -> Option<i64> {
    match number(text)? {
        Number::Int(value) => Some(value),
        Number::Rate(_) | Number::Time(_) => None,
    }
}

/// The text between the quotes of a string literal, escapes resolved.
#[must_use]
pub fn string(text: &str) -> String {
    let inner = text.strip_prefix('"').unwrap_or(text);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

/// Comments of other languages: `/* .. */`, and quotes in threes that begin a line. What does not end is none.
#[derive(Default)]
struct OtherComments {
    /// The marks that do not come any more: no text is searched twice for them.
    absent: Vec<&'static str>,
}

impl OtherComments {
    /// Takes the rest of such a comment to the token that it begins with; the kind of the token after that.
    fn extend(&mut self, kind: Kind, first: bool, lexer: &mut Lexer<'_, Kind>) -> Kind {
        let (mark, end) = match lexer.slice() {
            "/" => ("*", "*/"),
            "\"\"" if first => ("\"", "\"\"\""),
            _ => return kind,
        };
        let inner = lexer.remainder().strip_prefix(mark).filter(|_| !self.absent.contains(&end));
        let Some(inner) = inner else { return kind };
        if let Some(at) = inner.find(end) {
            lexer.bump(mark.len() + at + end.len());
            return Kind::OtherComment;
        }
        self.absent.push(end);
        kind
    }
}

/// Where lines begin, as the tokens are walked through.
struct Lines<'t> {
    text: &'t str,
    seen: usize,
    first: bool,
    indent: u32,
}

impl Lines<'_> {
    /// Whether a token that begins at `start` is the first on its line, and how far its line is indented.
    fn place(&mut self, start: usize) -> (bool, u32) {
        let between = self.text.get(self.seen..start).unwrap_or("");
        if let Some(newline) = between.rfind(LINE_ENDS) {
            self.first = true;
            self.indent = (between.len() - newline - 1) as u32;
        } else if self.first && self.seen == 0 {
            self.indent = start as u32;
        }
        self.seen = start;
        (std::mem::replace(&mut self.first, false), self.indent)
    }
}

/// Reports a run of strange characters, which is one mistake, and returns whether it was left out. Strange letters
/// become part of a name, and a character that looks like a mark is taken as that mark.
fn push_strange<'t>(run: Token<'t>, text: &'t str, out: &mut Tokens<'t>) -> bool {
    match run.kind {
        Kind::OtherComment => {
            note(run, other_comment(run, text), out);
            return true;
        }
        Kind::Fence => {
            note(run, fence(run), out);
            return true;
        }
        _ => note(run, strange_characters(run), out),
    }
    if let Some(kind) = lookalike(run.text) {
        out.tokens.push(Token { kind, ..run });
    } else if run.text.chars().all(char::is_alphanumeric) {
        push(Token { kind: Kind::Name, ..run }, text, out);
    } else {
        return true;
    }
    false
}

/// The mark that a strange character looks like.
fn lookalike(text: &str) -> Option<Kind> {
    match text {
        "→" => Some(Kind::Arrow),
        "≤" => Some(Kind::LessEqual),
        "≥" => Some(Kind::GreaterEqual),
        "≠" => Some(Kind::NotEqual),
        "–" | "−" => Some(Kind::Minus),
        _ => None,
    }
}

/// Adds a token, after checking what its pattern does not check.
fn push<'t>(token: Token<'t>, text: &'t str, out: &mut Tokens<'t>) {
    let kind = match token.kind {
        Kind::Comment if token.text.starts_with("//!") => Kind::InnerDoc,
        Kind::Comment if is_documentation(token.text) => Kind::Doc,
        Kind::Comment => return out.comments.push(trimmed(token)),
        Kind::Name => Verb::find(token.text).map_or(Kind::Name, Kind::Transfer),
        Kind::Int if number(token.text).is_none() => {
            note(token, bad_number(token), out);
            Kind::Wrong
        }
        Kind::OpenStr => {
            let token = trimmed(token);
            note(token, open_string(token), out);
            return out.tokens.push(Token { kind: Kind::Str, ..token });
        }
        Kind::Str => {
            if let Some(fault) = bad_escape(token) {
                note(token, fault, out);
            }
            Kind::Str
        }
        kind => kind,
    };
    let token = if matches!(kind, Kind::Doc | Kind::InnerDoc) { trimmed(token) } else { token };
    match out.tokens.last_mut() {
        Some(last) if is_prefix(*last, token) => {
            let prefix = *last;
            let (first, indent) = (prefix.first, prefix.indent);
            *last = Token { kind, first, indent, ..token };
            note(prefix, prefixed_string(prefix), out);
        }
        Some(last) if last.span.end == token.span.start && splits_a_name(*last, token) => {
            last.kind = Kind::Name;
            last.span = last.span.to(token.span);
            last.text = slice(text, last.span);
        }
        _ => out.tokens.push(Token { kind, ..token }),
    }
}

/// Whether a name is right before a string, as `f` in `f"{n}"`.
fn is_prefix(name: Token<'_>, string: Token<'_>) -> bool {
    name.kind == Kind::Name && string.kind == Kind::Str && name.span.end == string.span.start
}

/// Whether two tokens are parts of one name with a strange letter in it.
fn splits_a_name(left: Token<'_>, right: Token<'_>) -> bool {
    let is_word =
        |token: Token<'_>| token.text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    is_word(left) && is_word(right) && !(left.text.is_ascii() && right.text.is_ascii())
}

/// `///`, but not a row of slashes.
fn is_documentation(text: &str) -> bool {
    text.starts_with("///") && !text.starts_with("////")
}

/// A token without the space at its end.
fn trimmed(token: Token<'_>) -> Token<'_> {
    let text = token.text.trim_end();
    let end = token.span.start + text.len() as u32;
    Token { text, span: Span { end, ..token.span }, ..token }
}

/// The text of a span.
fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or("")
}

/// A fault at the place that its report points to.
fn fault(at: Span, report: Diagnostic) -> Fault {
    Fault::new(at.start, Reach::Statement, report)
}

/// Notes a fault. What is before it on its line, and all lines before, have been read.
fn note(token: Token<'_>, fault: Fault, out: &mut Tokens<'_>) {
    let before = out.tokens.last().map_or(0, |last| last.span.end);
    let read = if token.first { token.span.start } else { before };
    out.faults.push(Fault { read, ..fault });
}

fn strange_characters(run: Token<'_>) -> Fault {
    let shown: String = run.text.chars().map(visible).collect();
    let what = if run.text.chars().count() == 1 { "this character" } else { "these characters" };
    let report = Diagnostic::new(Code::E0102, run.span, format!("`{shown}` has no meaning here"))
        .label(format!("{what} can be used only in comments and strings"));
    let report = match run.text {
        "?" => report.help("to choose between two values, write `if c { a } else { b }`"),
        "'" | "“" | "”" | "‘" | "’" | "`" => report.help("strings are enclosed in `\"`"),
        "$" => report.help("a name is used as it is declared, without a mark before it"),
        "\\" => report.help("a statement goes on over the ends of lines, up to its `;`"),
        "@" => report.help("the memory of rank `p` has `p` in front: `p.output[0]`"),
        _ => report,
    };
    let Some(meant) = lookalike(run.text).map(Kind::text) else {
        return fault(run.span, report);
    };
    let edit = Edit { span: run.span, text: meant.to_owned() };
    let report = report.help(format!("write `{meant}`"));
    fault(run.span, report.fix(format!("write `{meant}`"), vec![edit]))
}

/// A comment of another language, which may have several lines.
fn other_comment(run: Token<'_>, text: &str) -> Fault {
    let mark = if run.text.starts_with('"') { "\"\"\"" } else { "/*" };
    let mut lines = Vec::new();
    for line in run.text.lines() {
        let line = line.trim().trim_start_matches(['/', '*', '"']);
        let line = line.strip_suffix("*/").or(line.strip_suffix("\"\"\"")).unwrap_or(line);
        if !line.trim().is_empty() {
            lines.push(format!("// {}", line.trim()));
        }
    }
    let begin = Span { end: run.span.start + mark.len() as u32, ..run.span };
    let report = Diagnostic::new(Code::E0102, begin, format!("`{mark}` has no meaning here"))
        .help("a comment begins with `//`, and ends at the end of the line");
    let after = text.get(run.span.end as usize..).unwrap_or_default();
    let after = after.trim_start_matches([' ', '\t']);
    // A comment with `//` would also hide what follows on the line.
    let report = match after.is_empty() || after.starts_with(LINE_ENDS) {
        true => {
            let indent =
                format!("\n{}", " ".repeat(if run.first { run.indent } else { 0 } as usize));
            let comment = Edit { span: run.span, text: lines.join(&indent) };
            report.fix("write it as a comment with `//`", vec![comment])
        }
        false => report,
    };
    Fault::new(run.span.start, Reach::Alone, report)
}

/// The mark of a program in a text.
fn fence(run: Token<'_>) -> Fault {
    let report = Diagnostic::new(Code::E0102, run.span, "this is not part of a program")
        .note("it marks a program inside a text; a file holds the program alone")
        .guess("remove it", vec![Edit { span: run.span, text: String::new() }]);
    Fault::new(run.span.start, Reach::Alone, report)
}

fn open_string(token: Token<'_>) -> Fault {
    let report = Diagnostic::new(Code::E0103, token.span, "this string does not end on its line")
        .label("a string begins here")
        .help("end it with `\"`; a quote inside is written `\\\"`");
    fault(token.span, report)
}

fn prefixed_string(prefix: Token<'_>) -> Fault {
    let message = format!("`{}` has no meaning before a string", prefix.text);
    let report = Diagnostic::new(Code::E0101, prefix.span, message)
        .note("a string is always taken as it is written: no values are filled in")
        .guess(
            format!("remove `{}`", prefix.text),
            vec![Edit { span: prefix.span, text: String::new() }],
        );
    fault(prefix.span, report)
}

fn bad_escape(token: Token<'_>) -> Option<Fault> {
    let mut chars = token.text.char_indices();
    while let Some((at, c)) = chars.next() {
        let Some((_, escaped)) = (c == '\\').then(|| chars.next()).flatten() else { continue };
        if escaped == '"' || escaped == '\\' {
            continue;
        }
        let start = token.span.start + at as u32;
        let span = Span { start, end: start + 1 + escaped.len_utf8() as u32, ..token.span };
        let report =
            Diagnostic::new(Code::E0102, span, format!("`\\{escaped}` has no meaning in a string"))
                .help("the only escapes in a string are `\\\"` and `\\\\`");
        return Some(fault(span, report));
    }
    None
}

fn bad_number(token: Token<'_>) -> Fault {
    let unit = token.text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    let scaled = unit.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_' || c == '.');
    let report =
        Diagnostic::new(Code::E0104, token.span, format!("`{}` is not a valid number", token.text));
    let report = match (unit, other_unit(unit)) {
        ("" | "KiB" | "MiB" | "GiB", _) => Diagnostic::new(
            Code::E0104,
            token.span,
            format!("`{}` is too large: integers have 64 bits", token.text),
        )
        .note("the largest is 9223372036854775807, just below 8589934592GiB"),
        (_, Some(help)) => report.help(help),
        (_, None) if Unit::find(scaled).is_some_and(|unit| unit.has_parts) => report
            .note("a rate is a whole number of bytes per second, a time one of nanoseconds; both have 64 bits"),
        (unit, None) if unit.starts_with('.') => report.help("all numbers are integers"),
        (_, None) => report.help(
            "a number is decimal, with `_` between digits and `KiB`, `MiB` or `GiB` after them; a rate has `GBps` or `Gbps` there, a time `ns` or `us`",
        ),
    };
    fault(token.span, report)
}

/// What to write instead of a unit that does not exist in ccl.
#[must_use]
pub fn other_unit(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "K" | "k" | "KB" | "kB" | "kb" | "Kb" | "kib" | "KIB" => "for 1024 bytes, write `1KiB`",
        "M" | "m" | "MB" | "mb" | "Mb" | "mib" | "MIB" => "for 1024 KiB, write `1MiB`",
        "G" | "g" | "GB" | "gb" | "Gb" | "gib" | "GIB" => {
            "for 1024 MiB, write `1GiB`; for a rate, `1GBps` or `1Gbps`"
        }
        _ => return None,
    })
}
