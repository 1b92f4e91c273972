//! Operations: those that move data and those that synchronize, from `transfer` to `operand` in the grammar.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::arrow::{arrow, backwards, called};
use super::bracket::close;
use super::expression::Values;
use super::name::required_name;
use super::recover::{expect, inner_word, semicolon};
use super::report::{misspelt, needless_comma};
use super::statement::enclosed;
use super::superfluous::filler;
use super::{Extra, Input, Reader, Rule, head_of, kind_at, look, mark, note, rest, span};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::{
    Expr, Modifier, Operand, StmtKind, Synchronise, SynchroniseVerb, Transfer,
};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::foreign;
use crate::syntax::lookahead::{at_binder, continues_with_modifier};
use crate::syntax::token::{Class, Kind, Token};
use chumsky::prelude::{EmptyErr, IterParser, Parser, choice, custom};
use grammar::verb::Verb;

/// An operation that moves data, without its `;`.
pub(super) fn transfer<'t>(values: &Values<'t>) -> Rule<'t, Transfer> {
    let via = comma_before_modifier()
        .or_not()
        .ignore_then(via())
        .ignore_then(operands(values, "a channel"));
    let sides = filler()
        .or_not()
        .ignore_then(operands(values, "a source"))
        .then_ignore(arrow())
        .then(operands(values, "a destination"));
    transfer_verb()
        .then(backwards().or(called()).or(sides))
        .then(via.or_not())
        .then(modifier(values).repeated().collect::<Vec<_>>())
        .map(|((((token, verb), (sources, destinations)), via), modifiers)| Transfer {
            verb,
            verb_span: token.span,
            sources,
            destinations,
            via: via.unwrap_or_default(),
            modifiers: modifiers.into_iter().flatten().collect(),
        })
        .boxed()
}

/// An operation on channels or semaphores, without its `;`.
pub(super) fn synchronise<'t>(values: &Values<'t>) -> Rule<'t, Synchronise> {
    let content = filler()
        .or_not()
        .ignore_then(operands(values, "a channel or semaphore"))
        .then(modifier(values).repeated().collect::<Vec<_>>())
        .boxed();
    synchronise_verb()
        .then(enclosed(content.clone()).or(content))
        .map(|((token, verb), (operands, modifiers))| Synchronise {
            verb,
            verb_span: token.span,
            operands,
            modifiers: modifiers.into_iter().flatten().collect(),
        })
        .boxed()
}

/// `relaxed signal c;`: the modifier comes last.
pub(super) fn relaxed_first<'t>(values: &Values<'t>) -> Rule<'t, StmtKind> {
    let before_verb = |tokens: Input<'t>| {
        let verb = matches!(kind_at(tokens, 1), Some(Kind::Signal | Kind::Wait));
        kind_at(tokens, 0) == Some(Kind::Relaxed) && verb
    };
    look(before_verb)
        .ignore_then(mark(Kind::Relaxed))
        .then(synchronise(values).map_with(|statement, e| (statement, span(e))))
        .then_ignore(semicolon())
        .map_with(|(relaxed, (mut statement, place)), e| {
            let fault = relaxed_before(relaxed.span, place);
            e.state().log.push(super::Note::Fault(Box::new(fault)));
            statement.modifiers.push(Modifier::Relaxed(relaxed.span));
            StmtKind::Synchronise(statement)
        })
        .boxed()
}

fn transfer_verb<'t>() -> impl Parser<'t, Input<'t>, (&'t Token<'t>, Verb), Extra> + Clone {
    head_of(|kind| match kind {
        Kind::Transfer(verb) => Some(verb),
        _ => None,
    })
}

fn synchronise_verb<'t>()
-> impl Parser<'t, Input<'t>, (&'t Token<'t>, SynchroniseVerb), Extra> + Clone {
    head_of(|kind| match kind {
        Kind::Signal => Some(SynchroniseVerb::Signal),
        Kind::Wait => Some(SynchroniseVerb::Wait),
        Kind::Flush => Some(SynchroniseVerb::Flush),
        Kind::Acquire => Some(SynchroniseVerb::Acquire),
        Kind::Release => Some(SynchroniseVerb::Release),
        _ => None,
    })
}

/// A word after the operands; none if its value is missing.
fn modifier<'t>(values: &Values<'t>) -> Rule<'t, Option<Modifier>> {
    let setting = |kind| {
        look(move |tokens| {
            let next = kind_at(tokens, 1);
            let lacks_equal = matches!(next, Some(Kind::Colon | Kind::Name | Kind::Int))
                && !tokens.iter().take(2).any(|token| token.first);
            kind_at(tokens, 0) == Some(kind) && (next == Some(Kind::Equal) || lacks_equal)
        })
        .ignore_then(mark(kind))
        .then_ignore(expect(Kind::Equal, "and a value", &[Kind::Colon]))
    };
    let relaxed = inner_word(Kind::Relaxed).map(|token| Some(Modifier::Relaxed(token.span)));
    let op = setting(Kind::Op).ignore_then(required_name("`sum`, `min` or `max`"));
    let sync =
        setting(Kind::Sync).ignore_then(required_name("`before`, `after`, `both` or `none`"));
    let slice = setting(Kind::Slice)
        .ignore_then(values.required("a number"))
        .then_ignore(expect(Kind::Of, "and the number of slices", &[Kind::Slash]))
        .then(values.required("a number"));
    comma_before_modifier()
        .or_not()
        .ignore_then(choice((
            relaxed,
            op.map(|name| name.map(Modifier::Op)),
            sync.map(|name| name.map(Modifier::Sync)),
            slice.map(|(number, of)| Some(Modifier::Slice(number, of))),
        )))
        .boxed()
}

/// Operands, each of which is `what`.
pub(super) fn operands<'t>(values: &Values<'t>, what: &'static str) -> Rule<'t, Vec<Operand>> {
    let comma = look(|tokens| !continues_with_modifier(tokens)).ignore_then(mark(Kind::Comma));
    operand(values, what).separated_by(comma).at_least(1).collect().boxed()
}

fn operand<'t>(values: &Values<'t>, what: &'static str) -> Rule<'t, Operand> {
    let each = look(|tokens| {
        kind_at(tokens, 0) == Some(Kind::LeftParen)
            && at_binder(tokens.get(1..).unwrap_or_default())
    });
    let each = each
        .ignore_then(mark(Kind::LeftParen))
        .ignore_then(values.binders.clone())
        .then_ignore(expect(Kind::Colon, "and an operand", &[Kind::Arrow]))
        .then(values.required("an operand"))
        .then_ignore(close(Kind::RightParen))
        .map_with(|(binders, value), e| Operand::Each(binders, value, span(e)));
    let one = values.required(what).map(|value: Expr| Operand::One(value));
    each.or(one).boxed()
}

/// `relaxed` before an operation that takes up `statement`.
fn relaxed_before(relaxed: Span, statement: Span) -> Fault {
    let edits = vec![
        Edit { span: Span { end: statement.start, ..relaxed }, text: String::new() },
        Edit { span: Span { start: statement.end, ..statement }, text: " relaxed".to_owned() },
    ];
    let report = Diagnostic::new(Code::E0101, relaxed, "`relaxed` comes after the operands")
        .fix("write it at the end: `signal c relaxed;`", edits);
    Fault::new(relaxed.start, Reach::Statement, report)
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
