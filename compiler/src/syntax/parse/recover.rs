//! The rules for what is missing or superfluous: each reports it, and continues where the author most likely meant
//! to.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::expression::Values;
use super::form::{self, form_of_statement};
use super::report::{
    Expected, arrow_for_equal, body_of_function, call_without_parentheses, expected,
    in_no_brackets, is_opening_mark, missing, missing_word, misspelt, needless_comma,
    no_parameters, no_scratch, no_statement, no_such_word, reserved, several_names, unexpected,
    wrong_mark,
};
use super::superfluous::before_brace;
use super::{
    Extra, Input, Note, Reader, Rule, before, head, here, kind_at, last, look, mark, note, pick,
    rest,
};
use crate::diagnostic::nearest;
use crate::syntax::ast::{Expr, ExprKind, Name};
use crate::syntax::fault::{Fault, Reach, colon_for_brace};
use crate::syntax::foreign;
use crate::syntax::habit::Habit;
use crate::syntax::lookahead::{
    MAX_LOOK, begins_statement, behind, continues_with_modifier, first_line, is_operator, left_out,
};
use crate::syntax::token::{Class, Kind, Token};
use chumsky::prelude::{EmptyErr, IterParser, Parser, custom};

/// A rule after which the text must end.
pub(super) fn alone<'t, O: 't>(rule: Rule<'t, O>) -> Rule<'t, O> {
    let end = custom(|input: &mut Reader<'t, '_>| {
        if let Some(token) = rest(input).first() {
            let before = last(input);
            note(input, unexpected(before, token, Expected::End));
        }
        while input.next_ref().is_some() {}
        Ok(())
    });
    rule.then_ignore(end).boxed()
}

/// A name that is used.
pub(super) fn name<'t>() -> impl Parser<'t, Input<'t>, Name, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| match input.peek_ref() {
        Some(token) if token.kind.is_name() => {
            input.next_ref();
            Ok(named(token))
        }
        _ => Err(EmptyErr::default()),
    })
}

/// A name that must be here; `what` describes it. None if there is none; a reserved word is taken as the name.
pub(super) fn required_name<'t>(
    what: &'static str,
) -> impl Parser<'t, Input<'t>, Option<Name>, Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let before = last(input);
        let tokens = rest(input);
        match tokens.first() {
            Some(token) if token.kind.is_name() => {
                input.next_ref();
                Ok(Some(named(token)))
            }
            Some(token) if is_reserved_name(before, tokens) => {
                let is_field = before.is_some_and(|before| before.kind == Kind::Dot);
                note(
                    input,
                    match token.kind {
                        Kind::Scratch if is_field => no_scratch(token),
                        _ => reserved(token),
                    },
                );
                input.next_ref();
                Ok(Some(named(token)))
            }
            _ => {
                let fault = expected(input, what.into());
                note(input, fault);
                Ok(None)
            }
        }
    })
}

/// A reserved word where a value is expected.
pub(super) fn reserved_name<'t>() -> impl Parser<'t, Input<'t>, Name, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let before = last(input);
        let tokens = rest(input);
        let token = tokens.first().ok_or_else(EmptyErr::default)?;
        let for_later =
            matches!(token.kind, Kind::Topology | Kind::Link | Kind::Flow | Kind::Synthesize);
        let is_word = !matches!(token.kind, Kind::Via | Kind::Relaxed | Kind::Else | Kind::As);
        let is_value =
            !kind_at(tokens, 1).is_some_and(Kind::is_name) && !begins_declaration(tokens);
        if !is_reserved_name(before, tokens) || !(for_later || (is_word && is_value)) {
            return Err(EmptyErr::default());
        }
        let fault = match token.kind {
            Kind::Scratch => no_scratch(token),
            _ => reserved(token),
        };
        note(input, Fault { reach: Reach::Use, ..fault });
        input.next_ref();
        Ok(named(token))
    })
}

/// A value that must be here; a hole if there is none.
pub(super) fn required<'t>(value: Rule<'t, Expr>, what: &'static str) -> Rule<'t, Expr> {
    value.or(hole(what)).boxed()
}

/// Reports that `wanted` is missing.
pub(super) fn hole<'t>(
    wanted: impl Into<Expected>,
) -> impl Parser<'t, Input<'t>, Expr, Extra> + Clone {
    let wanted = wanted.into();
    custom(move |input: &mut Reader<'t, '_>| {
        let fault = expected(input, wanted);
        note(input, fault);
        Ok(Expr { kind: ExprKind::Error, span: here(input) })
    })
}

/// A mark that must be here; `place` says where that is. A token of `instead`, written by mistake, is skipped.
pub(super) fn expect<'t>(
    kind: Kind,
    place: &'static str,
    instead: &'static [Kind],
) -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        match tokens.first() {
            Some(token) if token.kind == kind => {
                input.next_ref();
                return Ok(());
            }
            Some(token) if instead.contains(&token.kind) && !token.first => {
                note(input, wrong_mark(token, kind));
                input.next_ref();
                return Ok(());
            }
            Some(token) if is_misspelt(token, kind) => {
                note(input, misspelt(token, kind.text()));
                input.next_ref();
                return Ok(());
            }
            Some(token) if kind == Kind::In && token.kind == Kind::Comma => {
                note(input, several_names(token));
                return Ok(());
            }
            _ => {}
        }
        let fault = missing(input, kind.text(), place);
        note(input, fault);
        Ok(())
    })
}

/// A word within a statement, even if it is misspelled.
pub(super) fn inner_word<'t>(
    kind: Kind,
) -> impl Parser<'t, Input<'t>, &'t Token<'t>, Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let token = rest(input).first().ok_or_else(EmptyErr::default)?;
        if token.kind != kind {
            let next = kind_at(rest(input), 1);
            let fits = kind != Kind::Else || matches!(next, Some(Kind::LeftBrace | Kind::If));
            if !fits || !is_misspelt(token, kind) {
                return Err(EmptyErr::default());
            }
            note(input, misspelt(token, kind.text()));
        }
        input.next_ref();
        Ok(token)
    })
}

/// `via`, even if another word is here instead.
pub(super) fn via<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    let instead = custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let is_channel =
            kind_at(tokens, 1).is_some_and(|next| next.is_name() && next.class() != Class::Verb);
        let word = tokens.first().filter(|word| !word.first && foreign::is_via(word.text));
        let word = word.filter(|_| is_channel).ok_or_else(EmptyErr::default)?;
        note(input, misspelt(word, Kind::Via.text()));
        input.next_ref();
        Ok(())
    });
    inner_word(Kind::Via).ignored().or(instead)
}

/// A comma before a word that follows the operands.
pub(super) fn comma_before_modifier<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let comma = tokens.first().filter(|_| continues_with_modifier(tokens));
        note(input, needless_comma(comma.ok_or_else(EmptyErr::default)?));
        input.next_ref();
        Ok(())
    })
}

/// The `;` after a statement. Tokens before it that do not belong there are skipped.
pub(super) fn semicolon<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        match tokens.first() {
            Some(token) if token.kind == Kind::Semicolon => {
                input.next_ref();
            }
            Some(token) if is_stray(tokens) => {
                let mut fault = unexpected(last(input), token, Expected::Semicolon);
                if is_lone_for(tokens) {
                    fault.report.helps.clear();
                }
                if fault.report.helps.is_empty() && fault.report.fix.is_none() {
                    let is_let =
                        form::head(before(input)).is_some_and(|head| head.kind == Kind::Let);
                    fault.report.helps.extend(form_of_statement(input).filter(|_| !is_let));
                }
                note(input, fault);
                skip_one(input);
                skip_statement(input);
            }
            _ => {
                let mut fault = missing(input, ";", "after this statement");
                fault.reach = Reach::Before;
                fault.habit = Some(Habit::NoSemicolon);
                note(input, fault);
            }
        }
        Ok(())
    })
}

/// Whether the next token neither belongs to the statement before it nor begins another one.
fn is_stray(tokens: Input<'_>) -> bool {
    tokens.first().is_some_and(|token| {
        !matches!(token.kind, Kind::Semicolon | Kind::RightBrace)
            && !token.first
            && (!begins_statement(tokens) || is_lone_for(tokens))
    })
}

/// A `for` that begins no loop, as in `wait c for data;`.
fn is_lone_for(tokens: Input<'_>) -> bool {
    let binds = matches!(kind_at(tokens, 2), Some(Kind::In | Kind::Comma | Kind::Equal));
    kind_at(tokens, 0) == Some(Kind::For) && kind_at(tokens, 1) != Some(Kind::LeftParen) && !binds
}

/// A value that must not be followed by something that does not belong there; a hole if it is.
pub(super) fn whole<'t>(value: Rule<'t, Expr>) -> Rule<'t, Expr> {
    let stray = custom(|input: &mut Reader<'t, '_>| Ok(is_stray(rest(input))));
    value
        .then(stray)
        .map(|(value, stray)| match stray {
            true => Expr { kind: ExprKind::Error, ..value },
            false => value,
        })
        .boxed()
}

/// A closing bracket, whose presence the bracket matching has ensured. Tokens before it that do not belong there are
/// skipped.
pub(super) fn close<'t>(kind: Kind) -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        if let Some(token) = rest(input).first().filter(|token| token.kind != kind) {
            let before = last(input);
            let is_one = kind == Kind::RightParen && token.kind == Kind::Comma;
            let wanted = if is_one { Expected::ClosingOne(kind) } else { Expected::Closing(kind) };
            note(input, unexpected(before, token, wanted));
        }
        while input.peek_ref().is_some_and(|token| !token.kind.is_closer()) {
            skip_one(input);
        }
        if input.peek_ref().is_some_and(|token| token.kind == kind) {
            input.next_ref();
        }
        Ok(())
    })
}

/// Parentheses around settings, where the language has none.
pub(super) struct Parenthesized<'t> {
    /// The token before them.
    pub(super) before: Option<&'t Token<'t>>,
    pub(super) open: &'t Token<'t>,
    /// What is in them, and the closing one.
    pub(super) inner: Input<'t>,
    /// The token behind them.
    pub(super) next: Option<&'t Token<'t>>,
}

impl Parenthesized<'_> {
    /// Whether no bracket was added to what the author wrote: otherwise these may not be the parentheses that belong
    /// together.
    pub(super) fn is_certain(&self) -> bool {
        self.inner.iter().all(|token| !token.text.is_empty())
    }
}

/// What is in parentheses that do not belong here, which `fault` reports; fails if none begin here.
pub(super) fn parenthesized<'t, O: 't>(
    content: Rule<'t, O>,
    fault: fn(&Parenthesized<'t>) -> Option<Fault>,
) -> Rule<'t, O> {
    let open = custom(move |input: &mut Reader<'t, '_>| {
        let (open, after) = rest(input).split_first().ok_or_else(EmptyErr::default)?;
        let end = behind(after.iter(), Kind::RightParen).filter(|_| open.kind == Kind::LeftParen);
        let (inner, next) =
            end.and_then(|end| after.split_at_checked(end)).ok_or_else(EmptyErr::default)?;
        let before = last(input);
        let fault = fault(&Parenthesized { before, open, inner, next: next.first() });
        note(input, fault.ok_or_else(EmptyErr::default)?);
        input.next_ref();
        Ok(())
    });
    open.ignore_then(content).then_ignore(close(Kind::RightParen)).boxed()
}

/// The `{` of a body, even if tokens that do not belong there come before it. Fails if there is none in this
/// statement.
pub(super) fn open<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        if input.parse(before_brace()).is_ok() {
            input.next_ref();
            return Ok(());
        }
        let tokens = rest(input);
        let token = tokens.first().ok_or_else(EmptyErr::default)?;
        if token.kind != Kind::LeftBrace {
            if !has_body(tokens) {
                return Err(EmptyErr::default());
            }
            let before = last(input);
            note(input, unexpected(before, token, Expected::Body));
            while input.peek_ref().is_some_and(|token| token.kind != Kind::LeftBrace) {
                skip_one(input);
            }
        }
        input.next_ref();
        Ok(())
    })
}

/// The word that begins a production; if it was left out but what follows it is there, that is reported.
pub(super) fn word<'t>(kind: Kind) -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    let missing = custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let token = tokens.first().filter(|_| left_out(tokens) == Some(kind));
        let fault = missing_word(token.ok_or_else(EmptyErr::default)?, kind.text());
        note(input, fault);
        Ok(())
    });
    head(kind).ignored().or(missing)
}

/// The `>` of `=>` between a function and its value, as in other languages.
pub(super) fn fat_arrow<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let equal = last(input).filter(|equal| equal.kind == Kind::Equal);
        let head = rest(input).first().filter(|head| head.kind == Kind::Greater);
        let (equal, head) = equal.zip(head).ok_or_else(EmptyErr::default)?;
        note(input, arrow_for_equal(equal, head));
        input.next_ref();
        Ok(())
    })
}

/// The value of a function in braces, as in other languages; it is skipped.
pub(super) fn function_in_braces<'t>() -> impl Parser<'t, Input<'t>, Expr, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let (open, inner) = tokens.split_first().ok_or_else(EmptyErr::default)?;
        if open.kind != Kind::LeftBrace {
            return Err(EmptyErr::default());
        }
        let end = behind(inner.iter(), Kind::RightBrace).unwrap_or(inner.len());
        note(input, body_of_function(open, inner.get(..end).unwrap_or_default()));
        skip_one(input);
        if input.peek_ref().is_some_and(|token| token.kind == Kind::Semicolon) {
            input.next_ref();
        }
        Ok(Expr { kind: ExprKind::Error, span: here(input) })
    })
}

/// A size that should be in brackets and is not, as in other languages: after `:` or `=`, in parentheses, or bare.
pub(super) fn size_without_brackets<'t>(
    values: &Values<'t>,
    message: &'static str,
) -> Rule<'t, Expr> {
    let instead = pick(|token| is_opening_mark(token).then_some(()));
    let on_this_line = look(|tokens| {
        let is_word = |at: usize| kind_at(tokens, at).is_some_and(Kind::is_name);
        let is_value = is_word(1) || kind_at(tokens, 1) == Some(Kind::Int);
        tokens.first().is_some_and(|token| !token.first) && !(is_word(0) && is_value)
    });
    let size = instead
        .or_not()
        .ignore_then(on_this_line.clone())
        .ignore_then(values.expression.clone())
        .map_with(|value, e| (value, e.slice()));
    let after = custom(|input: &mut Reader<'t, '_>| Ok(here(input)));
    on_this_line
        .ignore_then(after)
        .then(size.boxed())
        .map_with(move |(after, (value, size)), e| {
            let fault = in_no_brackets(message, size, after);
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            value
        })
        .boxed()
}

/// The parentheses of a declaration; if there are none, that is reported, and they are empty.
pub(super) fn parentheses<'t, O: 't>(
    content: Rule<'t, Vec<O>>,
    what: &'static str,
    example: &'static str,
) -> Rule<'t, Vec<O>> {
    let missing = custom(move |input: &mut Reader<'t, '_>| {
        let other = rest(input).first().filter(|next| {
            let goes_on = matches!(next.kind, Kind::LeftBrace | Kind::Colon | Kind::Semicolon);
            next.kind.class() == Class::Mark && !goes_on && !next.first
        });
        let before = last(input);
        let fault = match other {
            Some(other) => unexpected(before, other, Expected::Thing("`(`")),
            None => no_parameters(input, what, example),
        };
        note(input, fault);
        Ok(Vec::new())
    });
    mark(Kind::LeftParen).ignore_then(content).or(missing).boxed()
}

/// Reports that a body is missing.
pub(super) fn no_body<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let colon = rest(input).first().filter(|token| token.kind == Kind::Colon && !token.first);
        let fault = match colon {
            Some(colon) => {
                input.next_ref();
                colon_for_brace(colon.span)
            }
            None => Fault {
                reach: Reach::Before,
                unopened: true,
                ..missing(input, "{", "to open a body")
            },
        };
        note(input, fault);
        if input.peek_ref().is_some_and(|token| token.kind == Kind::Semicolon) {
            input.next_ref();
        }
        Ok(())
    })
}

/// Reports a `;` that is missing at the end of a line; fails if the next line is indented further.
pub(super) fn no_semicolon<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let indent = last(input).map_or(0, |last| last.indent);
        let next = rest(input).first();
        let goes_on = |next: &Token<'_>| {
            next.kind == Kind::LeftBrace
                || !next.kind.is_closer() && (!next.first || next.indent > indent)
        };
        if next.is_some_and(goes_on) {
            return Err(EmptyErr::default());
        }
        let mut fault = missing(input, ";", "after this declaration");
        fault.reach = Reach::Before;
        fault.habit = Some(Habit::NoSemicolon);
        note(input, fault);
        Ok(())
    })
}

/// The elements of a list up to its closing bracket, a comma after the last one allowed.
pub(super) fn listed<'t, O: 't>(element: Rule<'t, O>, closer: Kind) -> Rule<'t, Vec<O>> {
    look(move |tokens| kind_at(tokens, 0).is_some_and(|kind| !kind.is_closer()))
        .ignore_then(element)
        .separated_by(mark(Kind::Comma))
        .allow_trailing()
        .collect()
        .then_ignore(close(closer))
        .boxed()
}

/// Like [`listed`], with at least one element: `element` reports that it is missing.
pub(super) fn listed_some<'t, O: 't>(element: Rule<'t, O>, closer: Kind) -> Rule<'t, Vec<O>> {
    let missing = look(move |tokens| kind_at(tokens, 0) == Some(closer))
        .ignore_then(element.clone())
        .map(|element| vec![element])
        .then_ignore(close(closer));
    missing.or(listed(element, closer)).boxed()
}

/// A statement whose first word is misspelled: `own` reads it again with the word of `words` that was meant. Fails if
/// no word is near enough.
pub(super) fn misspelt_head<'t, O: 't>(words: &'static [Kind], own: Rule<'t, O>) -> Rule<'t, O> {
    custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let token = tokens.first().ok_or_else(EmptyErr::default)?;
        let next = kind_at(tokens, 1);
        let follows = next.is_some_and(|next| {
            !matches!(next, Kind::Equal | Kind::Dot | Kind::RightBrace) && !is_operator(next)
        });
        if token.kind != Kind::Name || !follows || foreign::statement(token.text).is_some() {
            return Err(EmptyErr::default());
        }
        let meant = meant_word(token.text, words, next).ok_or_else(EmptyErr::default)?;
        note(input, no_such_word(token, Some(meant)));
        let at = *input.cursor().inner();
        input.state().meant = Some((at, meant));
        input.parse(&own)
    })
    .boxed()
}

/// A declaration that begins with a word of another language, judging by its body: `algorithm f(..) { collective ..;
/// }`. `own` reads it again as what it is.
pub(super) fn other_head<'t, O: 't>(own: Rule<'t, O>) -> Rule<'t, O> {
    custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let word = tokens.first().filter(|word| word.kind == Kind::Name);
        let word = word.ok_or_else(EmptyErr::default)?;
        let meant = left_out(tokens.get(1..).unwrap_or_default());
        let meant = meant.filter(|meant| matches!(meant, Kind::Program | Kind::Collective));
        let meant = meant.ok_or_else(EmptyErr::default)?;
        note(input, no_such_word(word, Some(meant)));
        let at = *input.cursor().inner();
        input.state().meant = Some((at, meant));
        input.parse(&own)
    })
    .boxed()
}

/// A body, which is skipped if parentheses are before it: then it is that of a function in another language.
pub(super) fn unless_called<'t, O: 't>(body: Rule<'t, O>) -> Rule<'t, ()> {
    custom(move |input: &mut Reader<'t, '_>| {
        if last(input).is_some_and(|last| last.kind == Kind::RightParen) {
            skip_one(input);
        } else {
            input.parse(&body)?;
        }
        Ok(())
    })
    .boxed()
}

/// A statement whose first token begins no statement: it is skipped, except for the bodies in it, which are read with
/// `body`.
pub(super) fn unknown<'t, O: 't>(what: &'static str, body: Rule<'t, O>) -> Rule<'t, ()> {
    custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let token = tokens.first().filter(|token| !token.kind.is_closer());
        let token = token.ok_or_else(EmptyErr::default)?;
        let fault = call_without_parentheses(tokens);
        let fault =
            fault.unwrap_or_else(|| no_statement(token, behind_indices(tokens), what.into()));
        note(input, fault);
        if skip_indented(input) {
            return Ok(());
        }
        if token.kind == Kind::Semicolon {
            input.next_ref();
            return Ok(());
        }
        if token.kind != Kind::LeftBrace {
            skip_one(input);
        }
        while let Some(token) = rest(input).first() {
            if token.kind == Kind::LeftBrace && may_hold_statements(rest(input)) {
                input.parse(&body)?;
                break;
            }
            if skip_in_statement(input) {
                break;
            }
        }
        Ok(())
    })
    .boxed()
}

/// Whether a brace may enclose statements: not if it begins with what begins none, as in `match x { 1 => .. }`.
fn may_hold_statements(tokens: Input<'_>) -> bool {
    let begins = kind_at(tokens, 1).is_some_and(|first| match first.class() {
        Class::Mark => matches!(first, Kind::RightBrace | Kind::Doc | Kind::Hash),
        Class::Word | Class::Verb | Class::Reserved => true,
    });
    let goes_on = kind_at(tokens, 2).is_none_or(|next| {
        !matches!(
            next,
            Kind::Equal | Kind::EqualEqual | Kind::Comma | Kind::Colon | Kind::RightBrace
        )
    });
    begins && goes_on
}

/// Skips a body of another language: a line that ends with `:`, and the lines below it that are indented further. False
/// if this is none.
fn skip_indented(input: &mut Reader<'_, '_>) -> bool {
    let tokens = rest(input);
    let Some(head) = tokens.first().filter(|head| head.first) else { return false };
    let (line, _) = first_line(tokens);
    let ends = line.last().is_some_and(|last| last.kind == Kind::Colon);
    let inside = |token: &&Token<'_>| {
        !token.kind.is_closer() && (!token.first || token.indent > head.indent)
    };
    if !ends {
        return false;
    }
    for _ in line {
        input.next_ref();
    }
    while rest(input).first().filter(inside).is_some() {
        skip_one(input);
    }
    true
}

/// The token after the first one; if the first one is indexed and a field follows, the `.`.
fn behind_indices(tokens: &[Token<'_>]) -> Option<Kind> {
    let next = kind_at(tokens, 1)?;
    let inner = tokens.get(2..).filter(|_| next == Kind::LeftBracket).unwrap_or_default();
    let end = behind(inner.iter(), Kind::RightBracket);
    let dot = end.and_then(|end| kind_at(inner, end)).filter(|kind| *kind == Kind::Dot);
    dot.or(Some(next))
}

/// Skips to the end of a statement.
fn skip_statement(input: &mut Reader<'_, '_>) {
    while !skip_in_statement(input) {}
}

/// Skips one token or bracket of a statement; true if that was its end.
fn skip_in_statement(input: &mut Reader<'_, '_>) -> bool {
    let tokens = rest(input);
    match tokens.first() {
        None => true,
        Some(token) if token.kind == Kind::Semicolon => {
            input.next_ref();
            true
        }
        Some(token) => {
            token.kind.is_closer()
                || begins_statement(tokens)
                || matches!(token.kind, Kind::Doc | Kind::Hash)
                || {
                    let is_body = token.kind == Kind::LeftBrace;
                    skip_one(input);
                    is_body && input.peek_ref().is_none_or(|next| next.first)
                }
        }
    }
}

/// Skips a token, or a bracket with its content.
fn skip_one(input: &mut Reader<'_, '_>) {
    let mut depth = 0u32;
    while let Some(token) = input.peek_ref() {
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        input.next_ref();
        if depth == 0 {
            break;
        }
    }
}

/// Whether a body opens before this statement ends.
pub(super) fn has_body(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0u32;
    for (i, token) in tokens.iter().enumerate().take(MAX_LOOK) {
        if depth == 0 {
            match token.kind {
                Kind::LeftBrace => return true,
                Kind::Semicolon | Kind::Else => return false,
                _ if token.first || begins_statement(tokens.get(i..).unwrap_or_default()) => {
                    return false;
                }
                _ => {}
            }
        }
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            let Some(less) = depth.checked_sub(1) else { return false };
            depth = less;
        }
    }
    false
}

/// The word of `words` that a misspelled one was meant to be.
fn meant_word(text: &str, words: &'static [Kind], next: Option<Kind>) -> Option<Kind> {
    // A single letter is a name rather than a misspelled word.
    if text.len() == 1 {
        return None;
    }
    let ends = next == Some(Kind::Semicolon);
    let fitting = words.iter().copied().filter(|word| !ends || *word == Kind::Sync);
    let text = nearest(text, fitting.map(Kind::text))?;
    words.iter().copied().find(|word| word.text() == text)
}

/// Whether a word within a statement is almost the one that is allowed there.
fn is_misspelt(token: &Token<'_>, kind: Kind) -> bool {
    token.kind == Kind::Name
        && !token.first
        && kind.class() != Class::Mark
        && nearest(token.text, [kind.text()]).is_some()
}

/// Whether a reserved word is where a name is expected: on the same line as what comes before, and not a word that
/// can follow a name.
fn is_reserved_name(before: Option<&Token<'_>>, tokens: &[Token<'_>]) -> bool {
    tokens.first().is_some_and(|token| {
        token.kind.class() == Class::Reserved
            && !token.first
            && (token.kind != Kind::In || is_in_as_name(before, kind_at(tokens, 1)))
    })
}

/// Whether `in` is meant as a name: as in `let in = 1` or `wait in[p]`, and not where a binder has lost its name, as in
/// `for in [1, 2]`.
fn is_in_as_name(before: Option<&Token<'_>>, next: Option<Kind>) -> bool {
    let Some(next) = next else { return true };
    let binds = |before: Kind| before == Kind::For || before == Kind::Comma || before.is_opener();
    let indexed = next == Kind::LeftBracket && !before.is_some_and(|before| binds(before.kind));
    indexed || next == Kind::In || (next.class() == Class::Mark && !begins_value(next))
}

/// Whether a declaration with a name begins here.
fn begins_declaration(tokens: &[Token<'_>]) -> bool {
    matches!(kind_at(tokens, 0), Some(Kind::If | Kind::Let | Kind::For | Kind::True | Kind::False))
}

/// Marks and literals that a value begins with.
fn begins_value(kind: Kind) -> bool {
    kind.is_opener() || matches!(kind, Kind::Int | Kind::Str | Kind::Wrong)
}

fn named(token: &Token<'_>) -> Name {
    Name { text: token.text.to_owned(), span: token.span }
}
