//! The declarations of a program: everything from `declaration` to `semaphore` in the grammar.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::bracket::{listed_some, parentheses, size_without_brackets};
use super::expression::{Values, arguments, dimensions};
use super::family::{behind, family, unbracketed};
use super::name::required_name;
use super::options::options;
use super::recover::{expect, inner_word, semicolon};
use super::report::{no_extent, value_in_parentheses};
use super::superfluous::{initial_value, mark_before_name, type_before_name, type_behind_name};
use super::topology::machine;
use super::{Extra, Input, Note, Reader, Rule, head, here, kind_at, look, mark, note, rest, span};
use crate::diagnostic::{Code, Diagnostic};
use crate::syntax::ast::{
    Channel, ChannelEnd, Dimension, Implements, ProgramItemKind, Scratch, Semaphore,
};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::lookahead::{MAX_LOOK, begins_surely};
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, choice, custom};

/// The declarations that are allowed only at a program's top level.
pub(super) fn declaration<'t>(values: &Values<'t>) -> Rule<'t, Option<ProgramItemKind>> {
    choice((
        implements(values).map(|implements| implements.map(ProgramItemKind::Implements)),
        machine(values).map(|machine| machine.map(ProgramItemKind::Machine)),
        options(values).map(|settings| Some(ProgramItemKind::Options(settings))),
        scratch(values).map(|scratch| scratch.map(ProgramItemKind::Scratch)),
        channel(values).map(|channel| channel.map(ProgramItemKind::Channel)),
        semaphore(values).map(|semaphore| semaphore.map(ProgramItemKind::Semaphore)),
    ))
    .boxed()
}

fn implements<'t>(values: &Values<'t>) -> Rule<'t, Option<Implements>> {
    let given = parentheses(arguments(values), "and its arguments", "(ranks)");
    head(Kind::Collective)
        .then_ignore(look(|tokens| !opens_body(tokens)))
        .then_ignore(mark_before_name().or_not())
        .ignore_then(required_name("a collective"))
        .then(given)
        .then_ignore(semicolon())
        .map(|(name, arguments)| Some(Implements { name: name?, arguments }))
        .boxed()
}

/// Whether a body follows the parentheses, rather than `;`.
pub(super) fn opens_body(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0u32;
    for (i, token) in tokens.iter().enumerate().take(MAX_LOOK) {
        match token.kind {
            Kind::LeftParen => depth += 1,
            Kind::RightParen if depth <= 1 => {
                return kind_at(tokens, i + 1) == Some(Kind::LeftBrace);
            }
            Kind::RightParen => depth -= 1,
            Kind::LeftBrace if depth == 0 => return true,
            Kind::Semicolon | Kind::RightBrace if depth == 0 => return false,
            // The `;` is missing, and the brace is that of the next declaration.
            _ if depth == 0
                && token.first
                && begins_surely(tokens.get(i..).unwrap_or_default()) =>
            {
                return false;
            }
            _ => {}
        }
    }
    false
}

fn scratch<'t>(values: &Values<'t>) -> Rule<'t, Option<Scratch>> {
    let bare = size_without_brackets(values, "the extent of a region belongs in brackets")
        .map(|extent| vec![Dimension::Value(extent)]);
    let extents = dimensions(values)
        .or(unbracketed(values))
        .or(no_dimensions())
        .or(bare)
        .or(expect(Kind::LeftBracket, "and its extent", &[]).map(|()| Vec::new()));
    head(Kind::Scratch)
        .ignore_then(type_before_name().or_not())
        .ignore_then(required_name("a name for the region"))
        .then_ignore(type_behind_name().or_not())
        .then(extents)
        .then_ignore(type_behind_name().or_not())
        .then_ignore(initial_value().or_not())
        .then_ignore(semicolon())
        .map(|(name, dimensions)| Some(Scratch { name: name?, dimensions }))
        .boxed()
}

/// A region whose name is followed by no dimensions.
fn no_dimensions<'t>() -> impl Parser<'t, Input<'t>, Vec<Dimension>, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let ends =
            rest(input).first().is_none_or(|next| next.first || next.kind == Kind::Semicolon);
        if !ends {
            return Err(EmptyErr::default());
        }
        let fault = no_extent(here(input));
        note(input, fault);
        Ok(Vec::new())
    })
}

fn channel<'t>(values: &Values<'t>) -> Rule<'t, Option<Channel>> {
    const INSTEAD: &[Kind] = &[Kind::Arrow, Kind::EqualEqual, Kind::Colon];
    head(Kind::Channel)
        .ignore_then(type_before_name().or_not())
        .ignore_then(required_name("a name for the channel"))
        .then(family(values))
        .then_ignore(rank_without_kind().or(expect(
            Kind::Equal,
            "and `memory(..)`, `port(..)` or `switch(..)`",
            INSTEAD,
        )))
        .then(values.required("`memory(..)`, `port(..)` or `switch(..)`"))
        .then(channel_end(values).or_not())
        .then(behind(values).or_not())
        .then_ignore(semicolon())
        .map_with(|((((name, family), value), to), behind), e| {
            let (dimensions, fault) = family.dimensions(behind);
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            Some(Channel { name: name?, dimensions, value, to: to.flatten() })
        })
        .boxed()
}

/// An arrow or a colon between a channel and the rank that it leads to: what kind of channel it is remains open.
fn rank_without_kind<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let mark = tokens.first().filter(|mark| matches!(mark.kind, Kind::Arrow | Kind::Colon));
        let is_call = kind_at(tokens, 2) == Some(Kind::LeftParen);
        let mark = mark.filter(|mark| !mark.first && !is_call).ok_or_else(EmptyErr::default)?;
        note(input, no_kind(mark));
        input.next_ref();
        Ok(())
    })
}

/// `to` and the other end.
fn channel_end<'t>(values: &Values<'t>) -> Rule<'t, Option<ChannelEnd>> {
    let indices = mark(Kind::LeftBracket)
        .ignore_then(listed_some(values.required("an index"), Kind::RightBracket));
    let end = required_name("the other end's name").then(indices.or_not()).map_with(
        |(name, indices), e| {
            Some(ChannelEnd { name: name?, indices: indices.unwrap_or_default(), span: span(e) })
        },
    );
    inner_word(Kind::To).ignore_then(end).boxed()
}

fn semaphore<'t>(values: &Values<'t>) -> Rule<'t, Option<Semaphore>> {
    let equal = look(|tokens| matches!(kind_at(tokens, 0), Some(Kind::Equal | Kind::Colon)))
        .ignore_then(expect(Kind::Equal, "and a value", &[Kind::Colon]))
        .ignore_then(values.required("a value"));
    let opens = |token: &Token<'_>| token.kind == Kind::LeftParen && !token.first;
    let called = look(move |tokens| tokens.first().is_some_and(opens))
        .ignore_then(custom(|input: &mut Reader<'t, '_>| Ok(here(input))))
        .then(values.expression.clone().map_with(|value, e| (value, e.slice())))
        .map_with(|(before, (value, tokens)), e| {
            let fault = value_in_parentheses(before, tokens);
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            value
        });
    head(Kind::Semaphore)
        .ignore_then(type_before_name().or_not())
        .ignore_then(required_name("a name for the semaphore"))
        .then(dimensions(values).or(unbracketed(values)).or_not())
        .then_ignore(type_behind_name().or_not())
        .then(equal.or(called).or_not())
        .then_ignore(semicolon())
        .map(|((name, dimensions), initial)| {
            Some(Semaphore { name: name?, dimensions: dimensions.unwrap_or_default(), initial })
        })
        .boxed()
}

/// A channel with `mark` in place of `=` and of what makes the channel.
fn no_kind(mark: &Token<'_>) -> Fault {
    let message = format!("expected `=` and the kind of the channel, found `{}`", mark.text);
    let report = Diagnostic::new(Code::E0101, mark.span, message)
        .help("a channel is made by `memory(p)`, `port(p)` or `switch(ranks, buffer)`");
    Fault::new(mark.span.start, Reach::Statement, report)
}
