//! The map that is the value of an option, also as other languages write it: without `=`, with `:` and `;` in it. All of
//! that is reported at once, with the edits that make it right.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::bracket::listed_some;
use super::expression::Values;
use super::name::{name, required_name};
use super::recover::expect;
use super::{Extra, Input, Note, Rule, kind_at, look, mark, span};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::syntax::ast::{Expr, Name, OptionSetting, OptionValue};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{IterParser, Parser};

/// `{ name = value, name = value }`
pub(super) fn map<'t>(values: &Values<'t>) -> Rule<'t, OptionValue> {
    let entry = entry(values, expect(Kind::Equal, "and a value", &[Kind::Colon]).boxed());
    mark(Kind::LeftBrace)
        .ignore_then(listed_some(entry, Kind::RightBrace))
        .map_with(|entries, e| OptionValue::Map(entries.into_iter().flatten().collect(), span(e)))
        .boxed()
}

/// A name and its value; none if the name is missing.
fn entry<'t>(values: &Values<'t>, equal: Rule<'t, ()>) -> Rule<'t, Option<(Name, Expr)>> {
    required_name("a name")
        .then_ignore(equal)
        .then(values.required("a value"))
        .map(|(name, value)| Some((name?, value)))
        .boxed()
}

/// `tags { a = 1; }` or `tags: { a: 1 }`, up to the `;` behind it.
pub(super) fn map_without_equal<'t>(values: &Values<'t>) -> Rule<'t, OptionSetting> {
    let colon = mark(Kind::Colon).or_not();
    let entry = entry(values, mark(Kind::Equal).or(mark(Kind::Colon)).ignored().boxed());
    let between = mark(Kind::Comma).or(mark(Kind::Semicolon)).or_not();
    let entries = look(begins_entry)
        .ignore_then(entry)
        .then_ignore(between)
        .repeated()
        .at_least(1)
        .collect::<Vec<_>>();
    let map = mark(Kind::LeftBrace)
        .ignore_then(entries)
        .then_ignore(mark(Kind::RightBrace))
        .map_with(|entries, e| OptionValue::Map(entries.into_iter().flatten().collect(), span(e)));
    let setting = name()
        .then_ignore(colon)
        .then(map)
        .map_with(|(name, value), e| (OptionSetting { name, value, span: span(e) }, e.slice()));
    look(is_map)
        .ignore_then(setting)
        .then(end())
        .map_with(|((setting, tokens), end), e| {
            let fault = no_equal(tokens, end);
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            setting
        })
        .boxed()
}

/// The end of an option; whether it has one. A comma is reported together with those of other options.
fn end<'t>() -> impl Parser<'t, Input<'t>, bool, Extra> + Clone {
    let comma = look(|tokens| kind_at(tokens, 0) == Some(Kind::Comma)).map(|()| true);
    mark(Kind::Semicolon).map(|_| true).or(comma).or_not().map(Option::unwrap_or_default)
}

/// Whether a map comes behind a name and not `=`.
fn is_map(tokens: &[Token<'_>]) -> bool {
    let colon = usize::from(kind_at(tokens, 1) == Some(Kind::Colon));
    let inner = tokens.get(colon + 2..).unwrap_or_default();
    kind_at(tokens, colon + 1) == Some(Kind::LeftBrace) && begins_entry(inner)
}

fn begins_entry(tokens: &[Token<'_>]) -> bool {
    let sets = matches!(kind_at(tokens, 1), Some(Kind::Equal | Kind::Colon));
    sets && kind_at(tokens, 0).is_some_and(Kind::is_name)
}

/// The name of an option and its map, without `=` in between; `ends` is whether a `;` follows.
fn no_equal(tokens: &[Token<'_>], ends: bool) -> Option<Fault> {
    let (name, after) = tokens.split_first()?;
    let (first, close) = (after.first()?, after.last()?);
    let mut edits = edits_within(after);
    let report = if first.kind == Kind::Colon {
        Diagnostic::new(Code::E0101, first.span, "expected `=`, found `:`")
    } else {
        edits.push(Edit { span: name.after(), text: " =".to_owned() });
        Diagnostic::new(Code::E0105, name.after(), "expected `=` before the map")
            .label("`=` is missing here")
    };
    if !ends {
        edits.push(Edit { span: close.after(), text: ";".to_owned() });
    }
    let report = report.fix(format!("write `{} = {{ .. }};`", name.text), edits);
    Some(Fault::new(name.span.end, Reach::Before, report))
}

/// The edits that write `=` for the `:` of each entry, and `,` between entries.
fn edits_within(tokens: &[Token<'_>]) -> Vec<Edit> {
    let mut depth = 0_u32;
    let mut edits = Vec::new();
    let mut before: Option<&Token<'_>> = None;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        let rest = tokens.get(at..).unwrap_or_default();
        let marks = [Kind::LeftBrace, Kind::Comma, Kind::Semicolon];
        let joins = before.filter(|before| depth == 1 && !marks.contains(&before.kind));
        let edit = match token.kind {
            Kind::Colon if depth <= 1 => Some((token.span, " =")),
            Kind::Semicolon if kind_at(rest, 1) == Some(Kind::RightBrace) => Some((token.span, "")),
            Kind::Semicolon => Some((token.span, ",")),
            _ if begins_entry(rest) => joins.map(|before| (before.after(), ",")),
            _ => None,
        };
        edits.extend(edit.map(|(span, text)| Edit { span, text: text.to_owned() }));
        before = Some(token);
    }
    edits
}
