//! A statement in one of the author's files, and edits of it and next to it.

use super::LIBRARY;
use crate::diagnostic::Edit;
use crate::diagnostic::change::Side;
use crate::source::{LINE_ENDS, Place, SourceFile, SourceMap, Span, next_line};
use crate::syntax::token::{self, Kind, Token};
use grammar::verb::Verb;

/// A statement in one of the author's files.
pub(super) struct Statement<'a> {
    pub(super) file: &'a SourceFile,
    pub(super) span: Span,
    text: &'a str,
}

impl<'a> Statement<'a> {
    pub(super) fn new(sources: &'a SourceMap, place: Place) -> Option<Statement<'a>> {
        Statement::or_block(sources, place).filter(|statement| statement.text.ends_with(';'))
    }

    /// The statement or the block at a place of a file that is not the library's.
    pub(super) fn or_block(sources: &'a SourceMap, place: Place) -> Option<Statement<'a>> {
        let Place::Source(span) = place else { return None };
        let file = sources.files.lookup(span.file)?;
        let own = !file.name.starts_with(LIBRARY);
        own.then(|| Statement { file, span, text: file.slice(span) })
    }

    /// The blanks at the beginning of its line, if it is the first on its line.
    fn indent(&self) -> Option<&'a str> {
        indent(self.file, self.span.start)
    }

    /// The text between this and another statement next to it.
    fn gap(&self) -> String {
        gap(self.file, self.span.start)
    }

    pub(super) fn before(&self, text: &str) -> Edit {
        Edit { span: self.at(self.span.start), text: format!("{text}{}", self.gap()) }
    }

    pub(super) fn after(&self, text: &str) -> Edit {
        Edit { span: self.at(self.span.end), text: format!("{}{text}", self.gap()) }
    }

    /// Removes it.
    pub(super) fn removed(&self) -> Edit {
        Edit { span: self.with_blanks(0), text: String::new() }
    }

    /// Removes it, and the comment behind it on its line.
    pub(super) fn removed_with_comment(&self) -> Edit {
        let rest = self.rest();
        let comment = rest.trim_start_matches([' ', '\t']);
        let line = comment.split(LINE_ENDS).next().filter(|line| line.starts_with("//"));
        let behind = line.map_or(0, |line| rest.len() - comment.len() + line.len());
        Edit { span: self.with_blanks(behind), text: String::new() }
    }

    /// Repeats it `more` times.
    pub(super) fn repeated(&self, more: u32) -> Edit {
        self.after(&vec![self.text; more as usize].join(&self.gap()))
    }

    /// Adds a name to the end of its list.
    pub(super) fn with_another(&self, name: &str) -> Option<Edit> {
        let end = self.text.strip_suffix(';')?.trim_end().len() as u32;
        Some(Edit { span: self.at(self.span.start + end), text: format!(", {name}") })
    }

    /// Adds an argument to the end of its list.
    pub(super) fn with_argument(&self, argument: &str) -> Option<Edit> {
        let before = self.text.strip_suffix(';')?.trim_end().strip_suffix(')')?.trim_end();
        let text = match before.chars().last()? {
            '(' => argument.to_owned(),
            ',' => format!(" {argument}"),
            _ => format!(", {argument}"),
        };
        Some(Edit { span: self.at(self.span.start + before.len() as u32), text })
    }

    /// A declaration with another number after `=`.
    pub(super) fn with_value(&self, value: i64) -> Option<Edit> {
        let (before, number) = self.text.strip_suffix(';')?.rsplit_once('=')?;
        number.trim().parse::<i64>().ok()?;
        let start = self.span.start + before.len() as u32 + 1;
        let span = Span { start, end: start + number.len() as u32, ..self.span };
        Some(Edit { span, text: format!(" {value}") })
    }

    /// A signal or wait over the channels of this statement, next to it.
    pub(super) fn answer(&self, verb: &str, side: Side) -> Option<Edit> {
        let answer = format!("{verb} {};", self.via()?);
        Some(match side {
            Side::Before => self.before(&answer),
            Side::After => self.after(&answer),
        })
    }

    fn at(&self, offset: u32) -> Span {
        Span { start: offset, end: offset, ..self.span }
    }

    /// Its tokens, with spans in the file.
    fn tokens(&self) -> Vec<Token<'a>> {
        let tokens = token::tokens(self.span.file, self.text).tokens;
        let start = self.span.start;
        let moved = |span: Span| Span { start: span.start + start, end: span.end + start, ..span };
        tokens.into_iter().map(|token| Token { span: moved(token.span), ..token }).collect()
    }

    pub(super) fn without_relaxed(&self) -> Option<Edit> {
        let tokens = self.tokens();
        let at = tokens.iter().position(|token| token.kind == Kind::Relaxed)?;
        let word = tokens.get(at)?.span;
        let blanks = self.file.text.get(..word.start as usize)?;
        let start = blanks.trim_end_matches([' ', '\t']).len() as u32;
        Some(Edit { span: Span { start, ..word }, text: String::new() })
    }

    /// Adds `relaxed`; none if that is not a signal or a wait, or has the word already.
    pub(super) fn relaxed(&self) -> Option<Edit> {
        let tokens = self.tokens();
        let verb = tokens.first()?.kind;
        let has_it = tokens.iter().any(|token| token.kind == Kind::Relaxed);
        let last = tokens.iter().rev().find(|token| token.kind != Kind::Semicolon)?;
        (matches!(verb, Kind::Signal | Kind::Wait) && !has_it)
            .then(|| Edit { span: last.after(), text: " relaxed".to_owned() })
    }

    pub(super) fn flushed(&self) -> Option<Edit> {
        let verb = self.tokens().into_iter().next()?;
        let Kind::Transfer(Verb::Put | Verb::PutWithSignal) = verb.kind else { return None };
        let rest = Verb::PutWithSignalAndFlush.word().strip_prefix(verb.kind.text())?;
        Some(Edit { span: verb.after(), text: rest.to_owned() })
    }

    pub(super) fn handshake(&self, side: Side, relaxed: bool) -> Option<Edit> {
        let via = self.via()?;
        let word = if relaxed { " relaxed" } else { "" };
        let both = format!("signal {via}{word};{}wait {via}{word};", self.gap());
        Some(match side {
            Side::Before => self.before(&both),
            Side::After => self.after(&both),
        })
    }

    /// The channels that it names: after `via`, or after the verb of a signal or a wait.
    pub(super) fn via(&self) -> Option<&'a str> {
        let tokens = self.tokens();
        let names = |token: &Token| matches!(token.kind, Kind::Via | Kind::Signal | Kind::Wait);
        let via = tokens.iter().position(names)?;
        let operands = tokens.get(via + 1..)?;
        let mut depth = 0_u32;
        let mut end = None;
        for (token, next) in operands.iter().zip(operands.iter().skip(1)) {
            match token.kind.text() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let modifies = token.kind == Kind::Relaxed || next.kind == Kind::Equal;
            if depth == 0 && modifies {
                break;
            }
            end = Some(token.span.end);
        }
        let start = operands.first()?.span.start;
        self.file.text.get(start as usize..end? as usize)
    }

    /// The text behind it.
    fn rest(&self) -> &'a str {
        self.file.text.get(self.span.end as usize..).unwrap_or("")
    }

    /// The span to remove if the statement goes, and so many bytes behind it: its line, or its part of the line.
    fn with_blanks(&self, behind: usize) -> Span {
        let rest = self.rest().get(behind..).unwrap_or("");
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let end = self.span.end + (behind + blanks) as u32;
        match self.indent().zip(rest.get(blanks..).and_then(next_line)) {
            Some((indent, next)) => {
                let start = self.span.start - indent.len() as u32;
                let whole = behind + rest.len() - next.len();
                Span { start, end: self.span.end + whole as u32, ..self.span }
            }
            None => Span { end, ..self.span },
        }
    }
}

/// Moves a statement to the other side of another one next to it.
pub(super) fn moved(what: &Statement<'_>, past: &Statement<'_>, side: Side) -> Option<Vec<Edit>> {
    let (first, last) = match side {
        Side::After => (what, past),
        Side::Before => (past, what),
    };
    if what.span.file != past.span.file || first.span.end > last.span.start {
        return None;
    }
    let between = Span { start: first.span.end, end: last.span.start, ..what.span };
    let braces = token::tokens(between.file, what.file.slice(between)).tokens;
    if braces.iter().any(|token| matches!(token.kind, Kind::LeftBrace | Kind::RightBrace)) {
        return None;
    }
    let inserted = match side {
        Side::After => past.after(what.text),
        Side::Before => past.before(what.text),
    };
    Some(vec![what.removed(), inserted])
}

/// The blanks at the beginning of an offset's line, if there is nothing else before the offset.
fn indent(file: &SourceFile, offset: u32) -> Option<&str> {
    let before = file.text.get(..offset as usize)?;
    let line = before.rsplit(LINE_ENDS).next()?;
    line.trim().is_empty().then_some(line)
}

/// The text between what begins at an offset and something new next to it.
pub(super) fn gap(file: &SourceFile, offset: u32) -> String {
    indent(file, offset).map_or_else(|| " ".to_owned(), |indent| format!("\n{indent}"))
}
