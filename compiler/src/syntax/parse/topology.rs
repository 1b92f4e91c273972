//! Topologies: everything from `topology` to `property` in the grammar, and the machine that a program is for.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::bracket::{close, listed, listed_some};
use super::collective::clause_end_before;
use super::declaration::{declaration, opens_body};
use super::expression::{Values, arguments, dimensions};
use super::first_word::{misspelt_head, unknown};
use super::item::{braced, misplaced, parameter, with_prefix};
use super::name::required_name;
use super::prose::prose;
use super::recover::{expect, hole, semicolon};
use super::skip::skip_one;
use super::statement::{r#let, require, statement};
use super::{Extra, Input, Reader, Rule, head, kind_at, look, mark, note, pick, rest, span};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::syntax::ast::{
    Body, Dimension, Direction, Link, LinkEnds, Machine, Ports, Property, PropertyValue, RankCount,
    Switch, Topology, TopologyItem, TopologyItemKind,
};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::lookahead::at_binder;
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{EmptyErr, IterParser, Parser, choice, custom};
use std::cell::OnceCell;

/// The words that can begin a clause of a topology.
const WORDS: &[Kind] = &[Kind::Let, Kind::Require, Kind::Link, Kind::Switch];

/// A declaration of a topology. Few files have one, and making rules takes longer than to use them once: these are made
/// when the first one is found.
pub(super) fn topology<'t>(
    values: &Values<'t>,
    body: Rule<'t, Body>,
) -> Rule<'t, Option<Topology>> {
    let made: OnceCell<Rule<'t, Option<Topology>>> = OnceCell::new();
    let values = values.clone();
    let whole = custom(move |input: &mut Reader<'t, '_>| {
        input.parse(made.get_or_init(|| whole_topology(&values, body.clone())))
    });
    head(Kind::Topology).rewind().ignore_then(whole).boxed()
}

fn whole_topology<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, Option<Topology>> {
    let known = topology_item(values).or(stray(values, body.clone())).boxed();
    let any = choice((
        known.clone(),
        prose().map(|()| None),
        misspelt_head(WORDS, known),
        unknown("a clause of the topology", body).map(|()| None),
    ));
    let items = with_prefix(any).map(|((docs, attributes), found)| {
        found.map(|(kind, span)| TopologyItem { docs, attributes, kind, span })
    });
    let parameters = mark(Kind::LeftParen)
        .ignore_then(listed(parameter(values), Kind::RightParen))
        .or_not()
        .map(|parameters| parameters.unwrap_or_default().into_iter().flatten().collect());
    head(Kind::Topology)
        .then_ignore(look(opens_body))
        .ignore_then(required_name("a name for the topology"))
        .then(parameters)
        .then(braced(items.boxed()))
        .map(|((name, parameters), (items, _))| Some(Topology { name: name?, parameters, items }))
        .boxed()
}

fn topology_item<'t>(values: &Values<'t>) -> Rule<'t, Option<TopologyItemKind>> {
    choice((
        r#let(values).map(|binding| binding.map(TopologyItemKind::Let)),
        require(values).map(|require| Some(TopologyItemKind::Require(require))),
        rank_count(values).map(|count| Some(TopologyItemKind::Count(count))),
        link(values).map(|link| Some(TopologyItemKind::Link(link))),
        switch(values).map(|switch| switch.map(TopologyItemKind::Switch)),
    ))
    .boxed()
}

/// `ranks 8;` or `ranks_per_node 8;`. These words are names elsewhere.
fn rank_count<'t>(values: &Values<'t>) -> Rule<'t, RankCount> {
    let superfluous = custom(|input: &mut Reader<'t, '_>| {
        let sign = rest(input).first();
        let sign = sign.filter(|sign| matches!(sign.kind, Kind::Equal | Kind::Colon));
        let sign = sign.ok_or_else(EmptyErr::default)?;
        note(input, sign_before_count(sign));
        input.next_ref();
        Ok(())
    });
    let word = pick(|token| is_count(token).then_some(token));
    word.then_ignore(superfluous.or_not())
        .then(values.required("a number"))
        .then_ignore(clause_end_before(begins_clause))
        .map(|(word, count)| RankCount { word: super::name::named(word), count })
        .boxed()
}

fn is_count(token: &Token<'_>) -> bool {
    matches!(token.text, "ranks" | "ranks_per_node")
}

/// Whether a token begins a clause of a topology.
fn begins_clause(token: &Token<'_>) -> bool {
    WORDS.contains(&token.kind) || is_count(token)
}

fn sign_before_count(sign: &Token<'_>) -> Fault {
    let message = format!("expected a number, found `{}`", sign.text);
    let report =
        Diagnostic::new(Code::E0101, sign.span, message).help("it is written as `ranks 8;`").fix(
            format!("remove `{}`", sign.text),
            vec![Edit { span: sign.span, text: String::new() }],
        );
    Fault::new(sign.span.start, Reach::Before, report)
}

fn link<'t>(values: &Values<'t>) -> Rule<'t, Link> {
    let binders = look(at_binder).ignore_then(values.binders.clone()).then_ignore(expect(
        Kind::Colon,
        "and the vertices that it joins",
        &[Kind::Comma],
    ));
    head(Kind::Link)
        .ignore_then(binders.or_not())
        .then(link_ends(values))
        .then(properties(values))
        .then_ignore(clause_end_before(begins_clause))
        .map(|((binders, ends), properties)| Link {
            binders: binders.unwrap_or_default(),
            ends,
            properties,
        })
        .boxed()
}

/// Two vertices with an arrow between them.
fn link_ends<'t>(values: &Values<'t>) -> Rule<'t, LinkEnds> {
    let arrow = pick(|token| match token.kind {
        Kind::Arrow => Some(Direction::Forward),
        Kind::BothArrow => Some(Direction::Both),
        _ => None,
    });
    let missing = hole("`->` or `<->`, and where it leads").map(|_| Direction::Forward);
    values
        .required("a rank or a switch")
        .then(arrow.or(missing))
        .then(values.required("a rank or a switch"))
        .map_with(|((from, direction), to), e| LinkEnds { from, to, direction, span: span(e) })
        .boxed()
}

/// What follows a link or ports, each after a comma.
fn properties<'t>(values: &Values<'t>) -> Rule<'t, Vec<Property>> {
    mark(Kind::Comma)
        .ignore_then(property(values).or(no_property().map(|()| None)))
        .repeated()
        .collect::<Vec<_>>()
        .map(|properties| properties.into_iter().flatten().collect())
        .boxed()
}

/// A comma without a property behind it.
fn no_property<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    hole("a property, such as `bandwidth = 25GBps`").ignored()
}

/// `name = value`; which names there are is known later.
fn property<'t>(values: &Values<'t>) -> Rule<'t, Option<Property>> {
    let abilities = mark(Kind::LeftBracket)
        .ignore_then(listed(required_name("an ability").boxed(), Kind::RightBracket))
        .map(|names| PropertyValue::Abilities(names.into_iter().flatten().collect()));
    let abilities = look(|tokens| {
        kind_at(tokens, 0) == Some(Kind::LeftBracket)
            && kind_at(tokens, 1).is_some_and(|next| next.is_name() || next == Kind::RightBracket)
    })
    .ignore_then(abilities);
    look(at_property)
        .ignore_then(required_name("a property"))
        .then_ignore(expect(Kind::Equal, "and its value", &[Kind::Colon]))
        .then(abilities.or(values.required("a value").map(PropertyValue::Value)))
        .map_with(|(name, value), e| Some(Property { name: name?, value, span: span(e) }))
        .boxed()
}

fn at_property(tokens: &[Token<'_>]) -> bool {
    kind_at(tokens, 0).is_some_and(Kind::is_name)
        && matches!(kind_at(tokens, 1), Some(Kind::Equal | Kind::Colon))
}

/// A part of a switch.
enum SwitchPart {
    Ports(Ports),
    Property(Property),
}

fn switch<'t>(values: &Values<'t>) -> Rule<'t, Option<Switch>> {
    let own = property(values)
        .then_ignore(semicolon())
        .map(|property| property.map(SwitchPart::Property));
    let known = choice((
        ports(values).map(|ports| Some(SwitchPart::Ports(ports))),
        own,
        stray_in_switch(values).map(|()| None),
    ))
    .boxed();
    let any = choice((
        known.clone(),
        prose().map(|()| None),
        misspelt_head(&[Kind::Ports], known),
        unknown("ports or a property of the switch", skipped_body()).map(|()| None),
    ));
    head(Kind::Switch)
        .ignore_then(required_name("a name for the switch"))
        .then(dimensions(values).or_not())
        .then(braced(any.boxed()))
        .map(|((name, dimensions), (parts, _))| {
            let dimensions: Vec<Dimension> = dimensions.unwrap_or_default();
            let (mut ports, mut properties) = (Vec::new(), Vec::new());
            for part in parts {
                match part {
                    SwitchPart::Ports(part) => ports.push(part),
                    SwitchPart::Property(part) => properties.push(part),
                }
            }
            Some(Switch { name: name?, dimensions, ports, properties })
        })
        .boxed()
}

fn ports<'t>(values: &Values<'t>) -> Rule<'t, Ports> {
    let binders = look(at_binder).ignore_then(values.binders.clone()).then_ignore(expect(
        Kind::Colon,
        "and the vertex at the port",
        &[Kind::Comma],
    ));
    let inner = binders.or_not().then(values.required("a rank or a switch")).boxed();
    let opened =
        mark(Kind::LeftParen).ignore_then(inner.clone()).then_ignore(close(Kind::RightParen));
    let unopened = expect(Kind::LeftParen, "and what the ports lead to", &[]).ignore_then(inner);
    head(Kind::Ports)
        .ignore_then(opened.or(unopened))
        .then(properties(values))
        .then_ignore(semicolon())
        .map_with(|((binders, vertex), properties), e| Ports {
            binders: binders.unwrap_or_default(),
            vertex,
            properties,
            span: span(e),
        })
        .boxed()
}

/// The machine that a program is for.
pub(super) fn machine<'t>(values: &Values<'t>) -> Rule<'t, Option<Machine>> {
    let given = mark(Kind::LeftParen).ignore_then(arguments(values)).or_not();
    let on = mark(Kind::On).ignore_then(values.required("a list of ranks")).or_not();
    let ends = link_ends(values);
    let opened = mark(Kind::LeftBracket).ignore_then(listed_some(ends.clone(), Kind::RightBracket));
    let unopened = expect(Kind::LeftBracket, "and the links that are missing", &[])
        .ignore_then(ends.separated_by(mark(Kind::Comma)).collect::<Vec<_>>());
    let without = mark(Kind::Without).ignore_then(opened.or(unopened)).or_not();
    head(Kind::Topology)
        .then_ignore(look(|tokens| !opens_body(tokens)))
        .ignore_then(required_name("a topology"))
        .then(given)
        .then(on)
        .then(without)
        .then_ignore(semicolon())
        .map(|(((name, arguments), on), without)| {
            Some(Machine {
                name: name?,
                arguments: arguments.unwrap_or_default(),
                on,
                without: without.unwrap_or_default(),
            })
        })
        .boxed()
}

/// Declarations and statements in a topology.
fn stray<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, Option<TopologyItemKind>> {
    declaration(values)
        .ignored()
        .or(statement(values, body).ignored())
        .map_with(|(), e| {
            misplaced(
                e,
                "is not allowed in a topology",
                "a topology says what a machine has: `ranks`, `link` and `switch`",
            );
            None
        })
        .boxed()
}

/// A body where none belongs, without what is in it.
fn skipped_body<'t>() -> Rule<'t, ()> {
    custom(|input: &mut Reader<'t, '_>| {
        skip_one(input);
        Ok(())
    })
    .boxed()
}

/// What belongs in the topology around a switch.
fn stray_in_switch<'t>(values: &Values<'t>) -> Rule<'t, ()> {
    choice((
        r#let(values).ignored(),
        require(values).ignored(),
        rank_count(values).ignored(),
        link(values).ignored(),
    ))
    .map_with(|(), e| {
        misplaced(
            e,
            "is not allowed in a switch",
            "declare it in the topology: a switch has `ports` and properties",
        );
    })
    .boxed()
}

/// Links and switches outside any topology.
pub(super) fn stray_link<'t>(values: &Values<'t>) -> Rule<'t, ()> {
    let named = look(|tokens| {
        kind_at(tokens, 0) == Some(Kind::Switch) && kind_at(tokens, 1).is_some_and(Kind::is_name)
    });
    link(values)
        .ignored()
        .or(named.ignore_then(switch(values)).ignored())
        .map_with(|(), e| {
            misplaced(
                e,
                "is not allowed outside a topology",
                "declare a topology around it: `topology name(n: int) { ranks n; .. }`",
            );
        })
        .boxed()
}
