//! Files and their items: everything from `file` to `program_item` in the grammar, except `type`, functions and
//! procedures.

use super::bracket::{close, listed, listed_some, no_body, open, parentheses};
use super::collective::collective;
use super::declaration::declaration;
use super::expression::Values;
use super::first_word::{misspelt_head, other_head, unknown, unless_called, word};
use super::function::{function, procedure};
use super::name::required_name;
use super::prose::prose;
use super::recover::{expect, inner_word, semicolon};
use super::report::{other_path, type_first, written};
use super::statement::{assignment, body, dangling, r#let, lone_else, statement, text, r#type};
use super::topology::{stray_link, topology};
use super::{Extra, Input, Note, Reader, Rule, kind_at, look, mark, note, pick, rest, span};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::{
    Attribute, Body, Doc, Item, ItemKind, Name, Parameter, Program, ProgramItem, ProgramItemKind,
    Use, UseName, UseRoot,
};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::lookahead::behind;
use crate::syntax::token::{Class, Kind, Token};
use chumsky::input::MapExtra;
use chumsky::prelude::{EmptyErr, IterParser, Parser, any, choice, custom, recursive};
use grammar::verb::Verb;

/// The words that can begin an item of a file.
const ITEM_WORDS: &[Kind] =
    &[Kind::Use, Kind::Let, Kind::Fn, Kind::Proc, Kind::Collective, Kind::Topology, Kind::Program];

/// The words that can begin an item of a program, including statements.
const PROGRAM_WORDS: &[Kind] = &[
    Kind::Let,
    Kind::Require,
    Kind::For,
    Kind::If,
    Kind::Block,
    Kind::Group,
    Kind::Pipeline,
    Kind::Barrier,
    Kind::Collective,
    Kind::Topology,
    Kind::Options,
    Kind::Scratch,
    Kind::Channel,
    Kind::Semaphore,
    Kind::Signal,
    Kind::Wait,
    Kind::Transfer(Verb::Copy),
    Kind::Transfer(Verb::Put),
];

/// A file's documentation and items.
pub(super) fn file<'t>() -> Rule<'t, (Vec<Doc>, Vec<Item>)> {
    let values = Values::new();
    let body = body(&values, stray_declaration(&values));
    let constant = assignment(&values).map(|constant| Some(ItemKind::Let(constant)));
    let known = choice((item(&values), constant, stray_in_file(&values, body.clone()))).boxed();
    let any = choice((
        known.clone(),
        prose().map(|()| None),
        lone_else(&values, body.clone()).map(|()| None),
        other_head(known.clone()),
        misspelt_head(ITEM_WORDS, known),
        unknown("a declaration", unless_called(body)).map(|()| None),
        any().map(|_| None),
    ));
    let items = with_prefix(any).map(|((docs, attributes), found)| {
        found.map(|(kind, span)| Item { docs, attributes, kind, span })
    });
    inner_doc()
        .repeated()
        .collect::<Vec<_>>()
        .then(items.repeated().collect::<Vec<_>>())
        .map(|(docs, items)| (docs, items.into_iter().flatten().collect()))
        .boxed()
}

/// An item, without documentation and attributes; none if it makes no sense.
fn item<'t>(values: &Values<'t>) -> Rule<'t, Option<ItemKind>> {
    recursive(|nested| {
        let stray = nested.map_with(lose_item).boxed();
        let strays = stray_declaration(values).or(stray.clone()).boxed();
        let body = body(values, strays);
        choice((
            r#use().map(|item| item.map(ItemKind::Use)),
            r#let(values).map(|item| item.map(ItemKind::Let)),
            function(values).map(|item| item.map(ItemKind::Function)),
            procedure(values, body.clone()).map(|item| item.map(ItemKind::Procedure)),
            collective(values, body.clone()).map(|item| item.map(ItemKind::Collective)),
            topology(values, body.clone()).map(|item| item.map(ItemKind::Topology)),
            program(values, body, stray).map(|item| Some(ItemKind::Program(item))),
        ))
    })
    .boxed()
}

/// Documentation and attributes.
pub(super) type Prefix = (Vec<Doc>, Vec<Attribute>);

/// Something with the documentation and attributes before it, and its span without them.
pub(super) fn with_prefix<'t, K: 't>(
    any: impl Parser<'t, Input<'t>, Option<K>, Extra> + Clone + 't,
) -> Rule<'t, (Prefix, Option<(K, Span)>)> {
    let any = any.map_with(|kind, e| kind.map(|kind| (kind, span(e)))).boxed();
    prefix()
        .then(any.clone().or(dangling().map(|()| None)))
        .or(any.map(|found| (Prefix::default(), found)))
        .boxed()
}

/// The documentation and attributes before an item. A `//!` comment, which documents a file, is out of
/// place here.
fn prefix<'t>() -> Rule<'t, Prefix> {
    let late = mark(Kind::InnerDoc).map_with(|token, e| {
        let fault = late_inner_doc(token);
        e.state().log.push(Note::Fault(Box::new(fault)));
        Part::Late
    });
    let part = choice((doc().map(Part::Doc), attribute().map(Part::Attribute), late));
    part.repeated()
        .at_least(1)
        .fold((Vec::new(), Vec::new()), |(mut docs, mut attributes), part| {
            match part {
                Part::Doc(doc) => docs.push(doc),
                Part::Attribute(attribute) => attributes.extend(attribute),
                Part::Late => {}
            }
            (docs, attributes)
        })
        .boxed()
}

/// A part of what comes before an item.
enum Part {
    Doc(Doc),
    Attribute(Option<Attribute>),
    Late,
}

fn doc<'t>() -> impl Parser<'t, Input<'t>, Doc, Extra> + Clone {
    mark(Kind::Doc).map(|token| comment(token, "///"))
}

fn inner_doc<'t>() -> impl Parser<'t, Input<'t>, Doc, Extra> + Clone {
    mark(Kind::InnerDoc).map(|token| comment(token, "//!"))
}

fn comment(token: &Token<'_>, slashes: &str) -> Doc {
    let text = token.text.strip_prefix(slashes).unwrap_or(token.text);
    Doc { text: text.strip_prefix(' ').unwrap_or(text).to_owned(), span: token.span }
}

fn attribute<'t>() -> Rule<'t, Option<Attribute>> {
    let argument = text().map(|text| Err(text.text)).or(required_name("a name").map(Ok)).boxed();
    let inner = required_name("the attribute's name")
        .then_ignore(expect(Kind::LeftParen, "and what the attribute takes", &[]))
        .then(listed_some(argument, Kind::RightParen))
        .then_ignore(close(Kind::RightBracket));
    mark(Kind::Hash)
        .ignore_then(mark(Kind::LeftBracket).ignore_then(inner).map(Some).or(lone_hash()))
        .map_with(|parts, e| {
            let (name, parts) = parts?;
            let mut reason = None;
            let mut arguments = Vec::new();
            for part in parts {
                match part {
                    Ok(argument) => arguments.extend(argument),
                    Err(text) => reason = Some(text),
                }
            }
            Some(Attribute { name: name?, arguments, reason, span: span(e) })
        })
        .boxed()
}

/// The parts of an attribute.
type AttributeParts = (Option<Name>, Vec<Result<Option<Name>, String>>);

/// A `#` with no `[` after it.
fn lone_hash<'t>() -> impl Parser<'t, Input<'t>, Option<AttributeParts>, Extra> + Clone {
    expect(Kind::LeftBracket, "and an attribute", &[]).map(|()| None)
}

fn r#use<'t>() -> Rule<'t, Option<Use>> {
    let file = text().map(UseRoot::File).map(Some);
    let root = file.or(required_name("a library or a file").map(|name| name.map(UseRoot::Name)));
    let other_marks = custom(|input: &mut Reader<'t, '_>| {
        let path = rest(input).iter().take_while(|token| is_in_path(token));
        let marks: Vec<_> = path.filter(|token| is_other_mark(token.kind)).copied().collect();
        note(input, other_path(&marks).ok_or_else(EmptyErr::default)?);
        Ok(())
    });
    let step = look(|tokens| kind_at(tokens, 1) != Some(Kind::LeftBrace))
        .ignore_then(
            mark(Kind::PathSeparator).or(pick(|token| is_other_mark(token.kind).then_some(token))),
        )
        .ignore_then(required_name("a name"));
    let braces = mark(Kind::PathSeparator)
        .ignore_then(mark(Kind::LeftBrace))
        .ignore_then(listed_some(use_name(), Kind::RightBrace))
        .map(UseTail::Names);
    let alias = inner_word(Kind::As).ignore_then(required_name("a name")).map(UseTail::Alias);
    word(Kind::Use)
        .ignore_then(root)
        .then_ignore(other_marks.or_not())
        .then(step.repeated().collect::<Vec<_>>())
        .then(braces.or(alias).or_not())
        .then_ignore(semicolon())
        .map(|((root, path), tail)| Some(import(root?, path.into_iter().flatten().collect(), tail)))
        .boxed()
}

/// Whether a token can be part of a path, also as other languages write paths.
fn is_in_path(token: &Token<'_>) -> bool {
    !token.first
        && (token.kind.is_name() || token.kind == Kind::PathSeparator || is_other_mark(token.kind))
}

/// Marks of paths in other languages.
fn is_other_mark(kind: Kind) -> bool {
    matches!(kind, Kind::Dot | Kind::Slash)
}

/// How a `use` ends.
enum UseTail {
    Names(Vec<Option<UseName>>),
    Alias(Option<Name>),
}

/// Builds a `use`. Without braces, the last name of the path is what is imported.
fn import(root: UseRoot, mut path: Vec<Name>, tail: Option<UseTail>) -> Use {
    match tail {
        Some(UseTail::Names(names)) => {
            Use { root, path, names: names.into_iter().flatten().collect(), braced: true }
        }
        Some(UseTail::Alias(alias)) => {
            let names = path.pop().map(|name| UseName { name, alias });
            Use { root, path, names: names.into_iter().collect(), braced: false }
        }
        None => {
            let names = path.pop().map(|name| UseName { name, alias: None });
            Use { root, path, names: names.into_iter().collect(), braced: false }
        }
    }
}

fn use_name<'t>() -> Rule<'t, Option<UseName>> {
    let alias = mark(Kind::As).ignore_then(required_name("a name"));
    required_name("a name")
        .then(alias.or_not())
        .map(|(name, alias)| Some(UseName { name: name?, alias: alias.flatten() }))
        .boxed()
}

/// `(` parameters `)`; `example` is what to write if they are missing.
pub(super) fn parameters<'t>(
    values: &Values<'t>,
    example: &'static str,
) -> Rule<'t, Vec<Parameter>> {
    let listed = listed(parameter(values), Kind::RightParen)
        .map(|parameters| parameters.into_iter().flatten().collect())
        .boxed();
    parentheses(listed, "and the parameters", example)
}

/// Whether a type is followed by the name of the parameter that has it.
fn is_type_first(tokens: &[Token<'_>]) -> bool {
    let is_list = |token: &&Token<'_>| matches!(token.kind, Kind::LeftBracket | Kind::RightBracket);
    let lists = tokens.iter().skip(1).take_while(is_list).count();
    let name = tokens.get(lists + 1).filter(|name| name.kind.is_name() && !name.first);
    tokens.first().is_some_and(is_type) && name.is_some()
}

/// Whether a word is a type.
pub(super) fn is_type(token: &Token<'_>) -> bool {
    matches!(token.kind, Kind::Channel | Kind::Semaphore | Kind::Block)
        || matches!(token.text, "int" | "rank" | "bool" | "rate" | "time" | "chunk" | "buffer")
}

/// One parameter of a declaration; none if it has no name.
pub(super) fn parameter<'t>(values: &Values<'t>) -> Rule<'t, Option<Parameter>> {
    let type_first = look(is_type_first)
        .ignore_then(r#type().map_with(|ty, e| (ty, span(e))))
        .then(required_name("a name for the parameter"))
        .map_with(|((ty, place), name), e| {
            let fault = type_first(place, e.slice());
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            (name, Some(ty))
        });
    let colon = look(|tokens| {
        let touches = tokens.first().is_some_and(|token| !token.first && is_type(token));
        kind_at(tokens, 0) == Some(Kind::Colon) || touches
    });
    let colon = colon.ignore_then(expect(Kind::Colon, "before the type", &[]));
    let named =
        required_name("a name for the parameter").then(colon.ignore_then(r#type()).or_not());
    type_first
        .or(named)
        .then(mark(Kind::Equal).ignore_then(values.required("a value")).or_not())
        .map(|((name, ty), default)| Some(Parameter { name: name?, ty: ty.flatten(), default }))
        .boxed()
}

fn program<'t>(
    values: &Values<'t>,
    body: Rule<'t, Body>,
    stray: Rule<'t, ()>,
) -> Rule<'t, Program> {
    let known = program_item(values, body.clone()).or(stray.map(|()| None)).boxed();
    let any = choice((
        known.clone(),
        prose().map(|()| None),
        lone_else(values, body.clone()).map(|()| None),
        misspelt_head(PROGRAM_WORDS, known),
        unknown("a declaration or statement", body).map(|()| None),
    ));
    let items = with_prefix(any).map(|((docs, attributes), found)| {
        found.map(|(kind, span)| ProgramItem { docs, attributes, kind, span })
    });
    let noted = custom(|input: &mut Reader<'t, '_>| Ok(input.state().log.len()));
    noted
        .then_ignore(word(Kind::Program))
        .then(required_name("a name for the program"))
        .then(parameters(values, "(ranks: int = 8)"))
        .then_ignore(early_collective().or_not())
        .then(braced(items.boxed()))
        .map_with(|(((noted, name), parameters), (mut items, end)), e| {
            let name = name.unwrap_or(Name { text: String::new(), span: end });
            for lost in e.state().take_declarations(noted) {
                // Before the statement that it was in, so that it is declared where it is used.
                let after = items.iter().position(|item| item.span.end > lost.span.start);
                items.insert(after.unwrap_or(items.len()), lost);
            }
            Program { name, parameters, items, end }
        })
        .boxed()
}

/// What a program implements, between its parameters and its body: `: allgather(ranks)`. It is skipped.
fn early_collective<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let begins = tokens.first().filter(|word| {
            matches!(word.kind, Kind::Colon | Kind::Arrow | Kind::For | Kind::Collective)
                || matches!(word.text, "implements" | "is" | "extends")
        });
        let called = begins.and(tokens.get(2)).is_some_and(|open| open.kind == Kind::LeftParen);
        let arguments = tokens.get(3..).filter(|_| called).unwrap_or_default();
        let end = behind(arguments.iter(), Kind::RightParen).ok_or_else(EmptyErr::default)?;
        let (header, body) = tokens.split_at_checked(end + 3).ok_or_else(EmptyErr::default)?;
        let open = body.first().filter(|open| open.kind == Kind::LeftBrace);
        let fault = open.and_then(|open| collective_in_header(header, open));
        note(input, fault.ok_or_else(EmptyErr::default)?);
        for _ in header {
            input.next_ref();
        }
        Ok(())
    })
}

/// The elements between braces, and the brace that ends them.
pub(super) fn braced<'t, O: 't>(element: Rule<'t, Option<O>>) -> Rule<'t, (Vec<O>, Span)> {
    open()
        .ignore_then(element.repeated().collect::<Vec<_>>())
        .then_ignore(close(Kind::RightBrace))
        .or(no_body().map(|()| Vec::new()))
        .map_with(|elements, e| {
            let all = span(e);
            let end = e.slice().last().map_or(all, |token| token.span);
            (elements.into_iter().flatten().collect(), end)
        })
        .boxed()
}

fn program_item<'t>(
    values: &Values<'t>,
    body: Rule<'t, Body>,
) -> Rule<'t, Option<ProgramItemKind>> {
    declaration(values)
        .or(statement(values, body).map(|kind| kind.map(ProgramItemKind::Statement)))
        .or(stray_link(values).map(|()| None))
        .boxed()
}

/// A declaration among statements; it is added to its program.
fn stray_declaration<'t>(values: &Values<'t>) -> Rule<'t, ()> {
    declaration(values)
        .map_with(|kind, e| {
            let help = where_declared(e.slice());
            misplaced(e, "is not allowed in a body", help);
            if let Some(kind) = kind {
                let span = span(e);
                let item = ProgramItem { docs: Vec::new(), attributes: Vec::new(), kind, span };
                e.state().log.push(Note::Declaration(Box::new(item)));
            }
        })
        .boxed()
}

/// Where to declare what is declared in a body, and how several of it.
fn where_declared(declaration: &[Token<'_>]) -> &'static str {
    match kind_at(declaration, 0) {
        Some(Kind::Channel) => {
            "declare it at the top level of the program; several are a family: `channel c[p in peers] = memory(p);`"
        }
        Some(Kind::Scratch) => {
            "declare it at the top level of the program, for all that needs it: `scratch s[p in peers];`"
        }
        Some(Kind::Semaphore) => {
            "declare it at the top level of the program; several are a family: `semaphore s[p in peers];`"
        }
        _ => "declare it at the top level of the program",
    }
}

/// Declarations and statements outside any program.
fn stray_in_file<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, Option<ItemKind>> {
    declaration(values)
        .ignored()
        .or(statement(values, body).ignored())
        .map_with(|(), e| {
            misplaced(
                e,
                "is not allowed outside a program",
                "open a program around it: `program name(ranks: int = 8) { .. }`",
            );
            None
        })
        .or(stray_link(values).map(|()| None))
        .boxed()
}

/// Keeps an item that is inside another one, and reports it.
fn lose_item<'t>(kind: Option<ItemKind>, e: &mut MapExtra<'t, '_, Input<'t>, Extra>) {
    misplaced(e, "is not allowed in another declaration", "move it to the top level of the file");
    if let Some(kind) = kind {
        let span = span(e);
        let item = Item { docs: Vec::new(), attributes: Vec::new(), kind, span };
        e.state().log.push(Note::Item(Box::new(item)));
    }
}

/// Reports that what a rule has read is in the wrong place.
pub(super) fn misplaced<'t>(e: &mut MapExtra<'t, '_, Input<'t>, Extra>, rule: &str, help: &str) {
    let Some(first) = e.slice().first() else { return };
    let word = if first.kind.class() == Class::Mark { "this" } else { first.text };
    let report = Diagnostic::new(Code::E0108, first.span, format!("`{word}` {rule}")).help(help);
    let fault = Fault::new(first.span.start, Reach::Before, report);
    e.state().log.push(Note::Fault(Box::new(fault)));
}

/// What a program implements, before the `{` of its body.
fn collective_in_header(header: &[Token<'_>], open: &Token<'_>) -> Option<Fault> {
    let (first, collective) = header.split_first()?;
    let place = first.span.to(collective.last()?.span);
    let inside = format!("\n    collective {};", written(collective));
    let edits = vec![
        Edit { span: Span { end: open.span.start, ..place }, text: String::new() },
        Edit { span: open.after(), text: inside },
    ];
    let report =
        Diagnostic::new(Code::E0101, place, "what a program implements is said in its body")
            .fix("write `collective ..;` in the body", edits);
    Some(Fault::new(place.start, Reach::Before, report))
}

fn late_inner_doc(token: &Token<'_>) -> Fault {
    let slashes = Span { end: token.span.start + 3, ..token.span };
    let report = Diagnostic::new(
        Code::E0101,
        token.span,
        "`//!` documents the file and belongs at its beginning",
    )
    .help("`///` documents the declaration below")
    .fix("write `//`", vec![Edit { span: slashes, text: "//".to_owned() }]);
    Fault::new(token.span.start, Reach::Before, report)
}
