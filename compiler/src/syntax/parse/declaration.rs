//! The declarations of a program: everything from `declaration` to `semaphore` in the grammar.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::expression::{Values, arguments, dimensions, index};
use super::item::braced;
use super::recover::{
    expect, inner_word, listed_some, name, required_name, semicolon, unknown, word,
};
use super::report::{bare_option, commas_for_semicolons, no_extent};
use super::{Extra, Input, Note, Reader, Rule, head, here, kind_at, look, mark, note, rest, span};
use crate::source::Span;
use crate::syntax::ast::{
    Channel, ChannelEnd, Dimension, Implements, OptionSetting, OptionValue, ProgramItemKind,
    Scratch, Semaphore,
};
use crate::syntax::lookahead::behind;
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, choice, custom};

/// The declarations that are allowed only at a program's top level.
pub(super) fn declaration<'t>(values: &Values<'t>) -> Rule<'t, Option<ProgramItemKind>> {
    choice((
        implements(values).map(|implements| implements.map(ProgramItemKind::Implements)),
        options(values).map(|settings| Some(ProgramItemKind::Options(settings))),
        scratch(values).map(|scratch| scratch.map(ProgramItemKind::Scratch)),
        channel(values).map(|channel| channel.map(ProgramItemKind::Channel)),
        semaphore(values).map(|semaphore| semaphore.map(ProgramItemKind::Semaphore)),
    ))
    .boxed()
}

fn implements<'t>(values: &Values<'t>) -> Rule<'t, Option<Implements>> {
    let given = mark(Kind::LeftParen).ignore_then(arguments(values)).or(expect(
        Kind::LeftParen,
        "and its arguments",
        &[],
    )
    .map(|()| Vec::new()));
    head(Kind::Collective)
        .then_ignore(look(|tokens| !opens_body(tokens)))
        .ignore_then(required_name("a collective"))
        .then(given)
        .then_ignore(semicolon())
        .map(|(name, arguments)| Some(Implements { name: name?, arguments }))
        .boxed()
}

/// Whether a body follows the parentheses, rather than `;`.
pub(super) fn opens_body(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0u32;
    for (i, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::LeftParen => depth += 1,
            Kind::RightParen if depth <= 1 => {
                return kind_at(tokens, i + 1) == Some(Kind::LeftBrace);
            }
            Kind::RightParen => depth -= 1,
            Kind::LeftBrace if depth == 0 => return true,
            Kind::Semicolon | Kind::RightBrace if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

fn options<'t>(values: &Values<'t>) -> Rule<'t, Vec<OptionSetting>> {
    let setting = option_setting(values).then_ignore(semicolon());
    let garbage = braced(setting.clone().map(Some).boxed());
    let bare = look(|tokens| kind_at(tokens, 1) == Some(Kind::Equal));
    let bare = bare.ignore_then(setting.clone()).map_with(|setting, e| {
        let fault = bare_option(span(e));
        e.state().log.push(Note::Fault(Box::new(fault)));
        vec![setting]
    });
    let within = |setting: Rule<'t, OptionSetting>| {
        let any = setting.map(Some).or(unknown("an option", garbage.clone()).map(|()| None));
        braced(any.boxed()).map(|(settings, _)| settings)
    };
    let end = mark(Kind::Semicolon).or(mark(Kind::Comma)).or_not();
    let listed = commas().ignore_then(within(option_setting(values).then_ignore(end).boxed()));
    let settings = within(setting.boxed());
    word(Kind::Options).ignore_then(choice((bare, listed, settings))).boxed()
}

/// Whether the comma at the head of `tokens` is where an option ends, rather than inside its value.
fn ends_with_comma(tokens: &[Token<'_>]) -> bool {
    let next = kind_at(tokens, 1);
    let another = next.is_some_and(Kind::is_name) && kind_at(tokens, 2) == Some(Kind::Equal);
    kind_at(tokens, 0) == Some(Kind::Comma) && (another || next == Some(Kind::RightBrace))
}

/// Reports the commas between options, all of them at once; fails if there are none. Consumes nothing.
fn commas<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let (brace, inner) = rest(input).split_first().ok_or_else(EmptyErr::default)?;
        let end = behind(inner.iter(), Kind::RightBrace).filter(|_| brace.kind == Kind::LeftBrace);
        let inner = end.and_then(|end| inner.get(..end)).ok_or_else(EmptyErr::default)?;
        let mut depth = 0u32;
        let mut found: Vec<Span> = Vec::new();
        for (at, token) in inner.iter().enumerate() {
            match token.kind {
                Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace => depth += 1,
                Kind::RightParen | Kind::RightBracket | Kind::RightBrace => {
                    depth = depth.saturating_sub(1);
                }
                Kind::Comma if depth == 0 => {
                    let ends = inner.get(at..).is_some_and(ends_with_comma);
                    found.extend(ends.then_some(token.span));
                }
                _ => {}
            }
        }
        let last = inner.iter().rev().nth(1);
        let open = last.filter(|last| !matches!(last.kind, Kind::Semicolon | Kind::Comma));
        let first = found.first().copied().ok_or_else(EmptyErr::default)?;
        let places = found.into_iter().chain(open.map(Token::after));
        note(input, commas_for_semicolons(first, places));
        Ok(())
    })
}

/// `name = value`
pub(super) fn option_setting<'t>(values: &Values<'t>) -> Rule<'t, OptionSetting> {
    name()
        .then_ignore(expect(Kind::Equal, "and a value", &[Kind::Colon, Kind::EqualEqual]))
        .then(option_value(values))
        .map_with(|(name, value), e| OptionSetting { name, value, span: span(e) })
        .boxed()
}

fn option_value<'t>(values: &Values<'t>) -> Rule<'t, OptionValue> {
    let is_map = |tokens: Input<'t>| {
        kind_at(tokens, 0) == Some(Kind::LeftBrace) && kind_at(tokens, 2) == Some(Kind::Equal)
    };
    look(is_map).ignore_then(map(values)).or(index(values).map(OptionValue::Index)).boxed()
}

fn map<'t>(values: &Values<'t>) -> Rule<'t, OptionValue> {
    let entry = required_name("a name")
        .then_ignore(expect(Kind::Equal, "and a value", &[Kind::Colon]))
        .then(values.required("a value"))
        .map(|(name, value)| Some((name?, value)));
    mark(Kind::LeftBrace)
        .ignore_then(listed_some(entry.boxed(), Kind::RightBrace))
        .map_with(|entries, e| OptionValue::Map(entries.into_iter().flatten().collect(), span(e)))
        .boxed()
}

fn scratch<'t>(values: &Values<'t>) -> Rule<'t, Option<Scratch>> {
    let extents =
        dimensions(values)
            .or(no_dimensions())
            .or(expect(Kind::LeftBracket, "and its extent", &[]).map(|()| Vec::new()));
    head(Kind::Scratch)
        .ignore_then(required_name("a name for the region"))
        .then(extents)
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
    head(Kind::Channel)
        .ignore_then(required_name("a name for the channel"))
        .then(dimensions(values).or_not())
        .then_ignore(expect(
            Kind::Equal,
            "and `memory(..)`, `port(..)` or `switch(..)`",
            &[Kind::Arrow, Kind::EqualEqual],
        ))
        .then(values.required("`memory(..)`, `port(..)` or `switch(..)`"))
        .then(channel_end(values).or_not())
        .then_ignore(semicolon())
        .map(|(((name, dimensions), value), to)| {
            let dimensions = dimensions.unwrap_or_default();
            Some(Channel { name: name?, dimensions, value, to: to.flatten() })
        })
        .boxed()
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
    head(Kind::Semaphore)
        .ignore_then(required_name("a name for the semaphore"))
        .then(dimensions(values).or_not())
        .then(mark(Kind::Equal).ignore_then(values.required("a value")).or_not())
        .then_ignore(semicolon())
        .map(|((name, dimensions), initial)| {
            Some(Semaphore { name: name?, dimensions: dimensions.unwrap_or_default(), initial })
        })
        .boxed()
}
