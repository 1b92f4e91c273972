//! Statements: everything from `body` on in the grammar, except operations.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::bracket::{close, no_body, open, parenthesized};
use super::expression::{Values, arguments, condition, opened_dimensions};
use super::family::unbracketed;
use super::first_word::{misspelt_head, unknown};
use super::item::{Prefix, with_prefix};
use super::name::{name, required_name};
use super::operation::{operands, relaxed_first, synchronise, transfer};
use super::prose::prose;
use super::recover::{expect, hole, inner_word, no_semicolon, semicolon, whole};
use super::report::{
    else_without_if, lone_semicolon, loop_in_parentheses, misspelt, needless_parentheses,
    never_changes, not_a_comma, option_alone, other_word, pipeline_in_parentheses,
    statement_for_body, statement_in_parentheses, written,
};
use super::skip::has_body;
use super::superfluous::{colon_before_equal, filler, mark_before_name, type_before_name};
use super::{Extra, Input, Reader, Rule, head, here, kind_at, look, mark, note, pick, rest, span};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::{
    Binder, Block, Body, Doc, Else, If, Let, Name, OPTION_NAMES, Require, Stmt, StmtKind, Str, Type,
};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::foreign;
use crate::syntax::lookahead::{
    MAX_LOOK, at_binder, begins_surely, behind, encloses_statement, takes_body,
};
use crate::syntax::token::{Class, Kind, Token, string};
use chumsky::prelude::{EmptyErr, IterParser, Parser, choice, custom, recursive};
use grammar::verb::Verb;
use std::sync::LazyLock;

/// The words that can begin a statement.
static WORDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let others = [
        Kind::Let,
        Kind::Require,
        Kind::For,
        Kind::If,
        Kind::Block,
        Kind::Group,
        Kind::Pipeline,
        Kind::Barrier,
        Kind::Sync,
    ];
    let synchronise = [Kind::Signal, Kind::Wait, Kind::Flush, Kind::Acquire, Kind::Release];
    let transfers = Verb::ALL.iter().copied().map(Kind::Transfer);
    others.into_iter().chain(transfers).chain(synchronise).collect()
});

/// Statements in braces. `strays` are the declarations and items that are not allowed there.
pub(super) fn body<'t>(values: &Values<'t>, strays: Rule<'t, ()>) -> Rule<'t, Body> {
    recursive(|body| {
        let body = body.boxed();
        let known = statement(values, body.clone()).or(strays.map(|()| None)).boxed();
        let any = choice((
            known.clone(),
            prose().map(|()| None),
            lone_else(values, body.clone()).map(|()| None),
            misspelt_head(&WORDS, known.clone()),
            unknown("a statement", body).map(|()| None),
        ));
        open()
            .ignore_then(with_prefix(any).repeated().collect::<Vec<_>>())
            .then_ignore(close(Kind::RightBrace))
            .or(bare_statement(known))
            .or(foreign_statement().map(|()| Vec::new()))
            .or(no_body().map(|()| Vec::new()))
            .map_with(|elements, e| Body {
                statements: statements(elements, e.state()),
                span: span(e),
            })
    })
    .boxed()
}

/// A statement with the documentation and attributes before it.
type Element = (Prefix, Option<(StmtKind, Span)>);

fn statements(elements: Vec<Element>, notes: &mut super::Notes) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(elements.len());
    for ((docs, attributes), element) in elements {
        if let Some(doc) = docs.first() {
            notes.log.push(super::Note::Fault(Box::new(doc_of_statement(doc))));
        }
        out.extend(element.map(|(kind, span)| Stmt { attributes, kind, span }));
    }
    out
}

/// A statement on the same line in place of a body. Statements that have bodies themselves are not taken for one, so
/// that what has no braces does not nest.
fn bare_statement<'t>(known: Rule<'t, Option<StmtKind>>) -> Rule<'t, Vec<Element>> {
    let begins = |tokens: Input<'t>| {
        let mark = usize::from(matches!(kind_at(tokens, 0), Some(Kind::Colon | Kind::Equal)));
        let tokens = tokens.get(mark..).unwrap_or_default();
        let operation = tokens.first().filter(|token| !token.first && !takes_body(token.kind));
        let syncs =
            kind_at(tokens, 0) == Some(Kind::Sync) && kind_at(tokens, 1) == Some(Kind::Semicolon);
        operation.is_some() && (begins_surely(tokens) || is_call(tokens) || syncs)
    };
    look(begins)
        .ignore_then(mark(Kind::Colon).or(mark(Kind::Equal)).or_not())
        .then(known.map_with(|kind, e| (kind, span(e))))
        .map_with(|(mark, (kind, place)), e| {
            let fault = statement_for_body(mark.map(|mark| (mark.span, mark.kind)), place);
            e.state().log.push(super::Note::Fault(Box::new(fault)));
            vec![(Prefix::default(), kind.map(|kind| (kind, place)))]
        })
        .boxed()
}

/// A statement of another language on the same line in place of a body; it is reported as what it is when it is read.
fn foreign_statement<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    look(|tokens| {
        let word = tokens.first().filter(|word| word.kind == Kind::Name && !word.first);
        word.is_some_and(|word| foreign::statement(word.text).is_some())
    })
}

/// Documentation or attributes with nothing after them.
pub(super) fn dangling<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let last = super::last(input).copied().ok_or_else(EmptyErr::default)?;
        if !matches!(kind_at(rest(input), 0), None | Some(Kind::RightBrace)) {
            return Err(EmptyErr::default());
        }
        // Anything else has been reported as what it is.
        if matches!(last.kind, Kind::Doc | Kind::RightBracket) {
            let before = super::before(input);
            note(input, belongs_to_nothing(&last, before));
        }
        Ok(())
    })
}

/// One statement, without attributes; none if it makes no sense.
pub(super) fn statement<'t>(
    values: &Values<'t>,
    body: Rule<'t, Body>,
) -> Rule<'t, Option<StmtKind>> {
    choice((
        assignment(values).map(|binding| Some(StmtKind::Let(binding))),
        ended(transfer(values).map(StmtKind::Transfer), values).map(Some),
        ended(synchronise(values).map(StmtKind::Synchronise), values).map(Some),
        relaxed_first(values).map(Some),
        r#let(values).map(|binding| binding.map(StmtKind::Let)),
        require(values).map(|require| Some(StmtKind::Require(require))),
        r#for(values, body.clone()).map(Some),
        r#if(values, body.clone()).map(|conditional| Some(StmtKind::If(conditional))),
        block(values, body.clone()).map(|block| block.map(StmtKind::Block)),
        group(values, body.clone()).map(Some),
        pipeline(values, body).map(Some),
        barrier(values).map(Some),
        sync().map(Some),
        ended(call(values), values).map(Some),
    ))
    .boxed()
}

/// An operation or a call, up to its `;`. A `for` after it, as in Python's comprehensions, is taken as a
/// loop around it.
fn ended<'t>(
    operation: impl Parser<'t, Input<'t>, StmtKind, Extra> + Clone + 't,
    values: &Values<'t>,
) -> Rule<'t, StmtKind> {
    let binders = values.binders.clone();
    let behind = look(|tokens| {
        kind_at(tokens, 0) == Some(Kind::For) && at_binder(tokens.get(1..).unwrap_or_default())
    });
    let behind = behind
        .ignore_then(mark(Kind::For))
        .ignore_then(binders.map_with(|binders, e| (binders, span(e), written(e.slice()))))
        .then(mark(Kind::Semicolon))
        .map(Some);
    operation
        .map_with(|kind, e| (kind, span(e)))
        .then(behind.or(semicolon().map(|()| None)))
        .map_with(|((kind, place), behind), e| {
            let Some(((binders, through, text), end)) = behind else { return kind };
            let fault = loop_behind(place, through, end.span, &text);
            e.state().log.push(super::Note::Fault(Box::new(fault)));
            let repeated = Stmt { attributes: Vec::new(), kind, span: place };
            StmtKind::For(binders, Body { statements: vec![repeated], span: place })
        })
        .boxed()
}

/// Whether a statement begins with `x =`, `x :=` or `x: int =`.
fn is_assignment(tokens: &[Token<'_>]) -> bool {
    match kind_at(tokens, 1) {
        Some(Kind::Equal) => true,
        Some(Kind::Colon) => {
            let typed = usize::from(kind_at(tokens, 2).is_some_and(Kind::is_name));
            kind_at(tokens, 2 + typed) == Some(Kind::Equal)
        }
        _ => false,
    }
}

/// `x = 1;` is not a statement; it is taken for `let x = 1;`.
pub(super) fn assignment<'t>(values: &Values<'t>) -> Rule<'t, Let> {
    let ty = look(|tokens| kind_at(tokens, 0).is_some_and(Kind::is_name)).ignore_then(r#type());
    look(is_assignment)
        .ignore_then(name())
        .then(mark(Kind::Colon).then(ty.or_not()).or_not())
        .map_with(|(name, colon), e| {
            // `:=` is one mark in other languages.
            let colon = colon.filter(|(_, ty)| ty.is_none()).map(|(colon, _)| colon.span);
            let fault = no_assignment(&name, colon);
            e.state().log.push(super::Note::Fault(Box::new(fault)));
            name
        })
        .then_ignore(mark(Kind::Equal))
        .then(values.required("a value"))
        .then_ignore(semicolon())
        .map(|(name, value)| Let { name, ty: None, value })
        .boxed()
}

pub(super) fn r#let<'t>(values: &Values<'t>) -> Rule<'t, Option<Let>> {
    let mutable = custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let word = tokens.first().filter(|word| word.kind == Kind::Name && word.text == "mut");
        let name = tokens.get(1).filter(|name| name.kind.is_name() && !name.first);
        let (word, name) = word.zip(name).ok_or_else(EmptyErr::default)?;
        note(input, never_changes(word, name));
        input.next_ref();
        Ok(())
    });
    head(Kind::Let)
        .ignore_then(mutable.or_not())
        .ignore_then(type_before_name().or_not())
        .ignore_then(required_name("a name"))
        .then_ignore(colon_before_equal().or_not())
        .then(mark(Kind::Colon).ignore_then(r#type()).or_not())
        .then_ignore(expect(Kind::Equal, "and a value", &[Kind::EqualEqual, Kind::Arrow]))
        .then(whole(values.required("a value")))
        .then_ignore(semicolon())
        .map(|((name, ty), value)| Some(Let { name: name?, ty: ty.flatten(), value }))
        .boxed()
}

/// A type; none if its word is missing.
pub(super) fn r#type<'t>() -> Rule<'t, Option<Type>> {
    let kind_of_thing = pick(|token| {
        matches!(token.kind, Kind::Block | Kind::Channel | Kind::Semaphore)
            .then(|| Some(Name { text: token.text.to_owned(), span: token.span }))
    });
    let other = custom(|input: &mut Reader<'t, '_>| {
        let token = rest(input).first().filter(|token| token.kind == Kind::Scratch);
        let token = token.ok_or_else(EmptyErr::default)?;
        note(input, misspelt(token, "buffer"));
        input.next_ref();
        Ok(Some(Name { text: "buffer".to_owned(), span: token.span }))
    });
    let lists = mark(Kind::LeftBracket).then(mark(Kind::RightBracket)).repeated().count();
    kind_of_thing
        .or(other)
        .or(required_name("a type"))
        .then(lists)
        .map_with(|(name, lists), e| Some(Type { name: name?, lists: lists as u32, span: span(e) }))
        .boxed()
}

pub(super) fn require<'t>(values: &Values<'t>) -> Rule<'t, Require> {
    let comma = look(|tokens| matches!(kind_at(tokens, 0), Some(Kind::Comma | Kind::Colon)))
        .ignore_then(expect(Kind::Comma, "before the text", &[Kind::Colon]));
    let message = comma.ignore_then(text().map(Some).or(no_text()));
    let without_comma = look(|tokens| kind_at(tokens, 0) == Some(Kind::Str))
        .ignore_then(expect(Kind::Comma, "before the text", &[]))
        .ignore_then(text().map(Some));
    let content = condition(&values.expression).then(message.or(without_comma).or_not()).boxed();
    head(Kind::Require)
        .ignore_then(enclosed(content.clone()).or(content))
        .then_ignore(semicolon())
        .map(|(condition, message)| Require { condition, message: message.flatten() })
        .boxed()
}

/// The rest of a statement in parentheses, as other languages write calls. A value in parentheses is not meant.
pub(super) fn enclosed<'t, O: 't>(content: Rule<'t, O>) -> Rule<'t, O> {
    look(encloses_statement).ignore_then(parenthesized(content, statement_in_parentheses)).boxed()
}

/// A string.
pub(super) fn text<'t>() -> impl Parser<'t, Input<'t>, Str, Extra> + Clone {
    mark(Kind::Str).map(|token| Str { text: string(token.text), span: token.span })
}

/// Reports that a text is missing.
pub(super) fn no_text<'t>() -> impl Parser<'t, Input<'t>, Option<Str>, Extra> + Clone {
    hole("a string in quotes").map(|_| None)
}

fn r#for<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, StmtKind> {
    let in_parentheses = look(|tokens| {
        kind_at(tokens, 0) == Some(Kind::LeftParen)
            && at_binder(tokens.get(1..).unwrap_or_default())
    })
    .ignore_then(parenthesized(values.binders.clone(), loop_in_parentheses));
    head(Kind::For)
        .ignore_then(choice((turns(), in_parentheses, values.binders.clone())))
        .then(body)
        .map(|(binders, body)| StmtKind::For(binders, body))
        .boxed()
}

/// `i := 0; i < n; i++` before the body of a loop; it is skipped.
fn turns<'t>() -> impl Parser<'t, Input<'t>, Vec<Binder>, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let ends = |token: &Token<'_>| token.first || token.kind == Kind::LeftBrace;
        let length = tokens.iter().take(MAX_LOOK).take_while(|token| !ends(token)).count();
        let header = tokens.get(..length).unwrap_or_default();
        let count = header.iter().filter(|token| token.kind == Kind::Semicolon).count();
        let (first, last) = header.first().zip(header.last()).ok_or_else(EmptyErr::default)?;
        if count != 2 || first.kind == Kind::LeftParen {
            return Err(EmptyErr::default());
        }
        note(input, loop_in_turns(first.span.to(last.span)));
        for _ in header {
            input.next_ref();
        }
        Ok(Vec::new())
    })
}

fn r#if<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, If> {
    let behind_if = recursive(|behind_if| {
        let behind_if = behind_if.boxed();
        let nested = behind_if.clone().map(|nested| Else::If(Box::new(nested)));
        let otherwise = inner_word(Kind::Else)
            .ignore_then(otherwise(behind_if, body.clone()))
            .or(else_if().ignore_then(nested));
        condition(&values.expression)
            .then(body)
            .then_ignore(semicolon_before_else().or_not())
            .then(otherwise.or_not())
            .map(|((condition, then), otherwise)| If { condition, then, otherwise })
    });
    head(Kind::If).ignore_then(behind_if).boxed()
}

/// A word of another language for `else if`.
fn else_if<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let word = tokens.first().filter(|word| foreign::is_else_if(word.text));
        let word = word.filter(|_| !is_whole_call(tokens)).ok_or_else(EmptyErr::default)?;
        note(input, other_word(word, "else if", Reach::Before));
        input.next_ref();
        Ok(())
    })
}

/// Whether the tokens begin with the call of a procedure, which may have any name.
fn is_whole_call(tokens: &[Token<'_>]) -> bool {
    let inner = tokens.get(2..).filter(|_| kind_at(tokens, 1) == Some(Kind::LeftParen));
    let inner = inner.unwrap_or_default();
    let end = behind(inner.iter(), Kind::RightParen);
    end.is_some_and(|end| kind_at(inner, end) == Some(Kind::Semicolon))
}

/// What follows `else`; `behind_if` is what follows an `if`.
fn otherwise<'t>(behind_if: Rule<'t, If>, body: Rule<'t, Body>) -> Rule<'t, Else> {
    let no_if = custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let is_condition =
            |token: &&Token<'_>| !token.first && begins_condition(token.kind) && has_body(tokens);
        let condition = tokens.first().filter(is_condition).ok_or_else(EmptyErr::default)?;
        note(input, else_without_if(condition));
        Ok(())
    });
    mark(Kind::If)
        .ignored()
        .or(no_if)
        .ignore_then(behind_if)
        .map(|nested| Else::If(Box::new(nested)))
        .or(body.map(Else::Body))
        .boxed()
}

/// A `;` between an `if` and its `else`.
fn semicolon_before_else<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let token = tokens.first().filter(|_| {
            kind_at(tokens, 0) == Some(Kind::Semicolon) && kind_at(tokens, 1) == Some(Kind::Else)
        });
        note(input, lone_semicolon(token.ok_or_else(EmptyErr::default)?));
        input.next_ref();
        Ok(())
    })
}

/// An `else` that no `if` comes right before, with everything that would belong to that `if`.
pub(super) fn lone_else<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, ()> {
    let nested = r#if(values, body.clone());
    let nested = look(|tokens| kind_at(tokens, 0) == Some(Kind::If)).ignore_then(nested);
    let otherwise = nested.ignored().or(body.ignored());
    custom(|input: &mut Reader<'t, '_>| {
        let token = rest(input).first().filter(|token| token.kind == Kind::Else);
        note(input, no_if(token.ok_or_else(EmptyErr::default)?));
        input.next_ref();
        Ok(())
    })
    .ignore_then(otherwise)
    .ignored()
    .boxed()
}

fn block<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, Option<Block>> {
    let pinned = mark(Kind::Equal)
        .ignore_then(values.required("an id"))
        .then_ignore(semicolon())
        .map(|id| (None, Some(id)));
    let declared = mark(Kind::Semicolon).ignored();
    let opened = body.map(|body| (Some(body), None));
    head(Kind::Block)
        .then_ignore(mark_before_name().or_not())
        .ignore_then(required_name("a name for the block"))
        .then(opened_dimensions(values).or(unbracketed(values)).or_not())
        .then_ignore(no_parentheses("a block").or_not())
        .then(choice((
            declared.map(|()| (None, None)),
            pinned,
            no_semicolon().map(|()| (None, None)),
            opened,
        )))
        .map(|((name, dimensions), (body, id))| {
            Some(Block { name: name?, dimensions: dimensions.unwrap_or_default(), body, id })
        })
        .boxed()
}

/// `()` after `what`, which takes no arguments.
fn no_parentheses<'t>(what: &'static str) -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let [open, close, ..] = rest(input) else { return Err(EmptyErr::default()) };
        if (open.kind, close.kind) != (Kind::LeftParen, Kind::RightParen) {
            return Err(EmptyErr::default());
        }
        note(input, needless_parentheses(what, open, close));
        input.next_ref();
        input.next_ref();
        Ok(())
    })
}

fn group<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, StmtKind> {
    head(Kind::Group)
        .ignore_then(filler().or_not())
        .ignore_then(operands(values, "a block"))
        .then(body)
        .map(|(blocks, body)| StmtKind::Group(blocks, body))
        .boxed()
}

fn pipeline<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, StmtKind> {
    let setting = required_name("`unit` or `chunks`")
        .then_ignore(expect(Kind::Equal, "and a value", &[Kind::Colon]))
        .then(values.required("a value"))
        .map(|(name, value)| Some((name?, value)));
    let settings = setting.separated_by(between_settings()).at_least(1);
    let in_parentheses = settings.clone().allow_trailing().collect::<Vec<_>>().boxed();
    let settings =
        look(|tokens| kind_at(tokens, 0).is_some_and(|kind| kind.class() != Class::Mark))
            .ignore_then(settings.collect::<Vec<_>>())
            .or(parenthesized(in_parentheses, pipeline_in_parentheses))
            .or(hole("`unit` or `chunks`").map(|_| Vec::new()));
    head(Kind::Pipeline)
        .ignore_then(settings)
        .then(body)
        .map(|(settings, body)| StmtKind::Pipeline(settings.into_iter().flatten().collect(), body))
        .boxed()
}

/// The `,` between two settings of a pipeline, even if something else is there, or nothing.
fn between_settings<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    let instead = custom(|input: &mut Reader<'t, '_>| {
        let (tokens, after) = (rest(input), here(input));
        let mark = tokens.first().filter(|mark| mark.kind == Kind::Semicolon);
        let next = tokens.get(usize::from(mark.is_some())..).unwrap_or_default();
        let is_setting = kind_at(next, 0).is_some_and(Kind::is_name);
        if !is_setting || kind_at(next, 1) != Some(Kind::Equal) {
            return Err(EmptyErr::default());
        }
        note(input, not_a_comma(mark.map_or(after, |mark| mark.span), mark));
        if mark.is_some() {
            input.next_ref();
        }
        Ok(())
    });
    mark(Kind::Comma).ignored().or(instead)
}

fn barrier<'t>(values: &Values<'t>) -> Rule<'t, StmtKind> {
    let blocks = operands(values, "a block");
    head(Kind::Barrier)
        .ignore_then(enclosed(blocks.clone()).or(blocks))
        .then_ignore(semicolon())
        .map(StmtKind::Barrier)
        .boxed()
}

fn sync<'t>() -> Rule<'t, StmtKind> {
    head(Kind::Sync)
        .ignore_then(no_parentheses("`sync`").or_not())
        .ignore_then(semicolon())
        .map(|()| StmtKind::Sync)
        .boxed()
}

fn call<'t>(values: &Values<'t>) -> Rule<'t, StmtKind> {
    look(is_call)
        .ignore_then(name())
        .then_ignore(mark(Kind::LeftParen))
        .then(arguments(values))
        .map(|(name, arguments)| StmtKind::Call(name, arguments))
        .boxed()
}

/// Whether a value can begin with such a token: a name, a number, or an operator before one.
fn begins_condition(kind: Kind) -> bool {
    kind.is_name()
        || matches!(kind, Kind::Int | Kind::True | Kind::False | Kind::Not | Kind::LeftParen)
}

/// `f(..)`, unless it is a misspelled verb with an operand in parentheses.
fn is_call(tokens: &[Token<'_>]) -> bool {
    if kind_at(tokens, 0) != Some(Kind::Name) || kind_at(tokens, 1) != Some(Kind::LeftParen) {
        return false;
    }
    let mut depth = 0u32;
    for (i, token) in tokens.iter().enumerate().take(MAX_LOOK) {
        match token.kind {
            Kind::LeftParen => depth += 1,
            Kind::RightParen if depth <= 1 => {
                return !matches!(kind_at(tokens, i + 1), Some(Kind::Arrow | Kind::Comma));
            }
            Kind::RightParen => depth -= 1,
            _ => {}
        }
    }
    true
}

fn doc_of_statement(doc: &Doc) -> Fault {
    let slashes = Span { end: doc.span.start + 3, ..doc.span };
    let report = Diagnostic::new(Code::E0101, doc.span, "only declarations can be documented")
        .help("begin a comment with `//`")
        .fix("write `//`", vec![Edit { span: slashes, text: "//".to_owned() }]);
    Fault::new(doc.span.start, Reach::Before, report)
}

fn no_if(token: &Token<'_>) -> Fault {
    let report = Diagnostic::new(Code::E0106, token.span, "this `else` belongs to no `if`")
        .help("`else` comes right after the body of its `if`: `if c { .. } else { .. }`");
    Fault::new(token.span.start, Reach::Statement, report)
}

/// Documentation or an attribute above a closing brace or the end; `before` is everything up to there.
fn belongs_to_nothing(last: &Token<'_>, before: &[Token<'_>]) -> Fault {
    let report = if last.kind == Kind::Doc {
        let docs = before.iter().rev().take_while(|token| token.kind == Kind::Doc);
        let slashes = docs.map(|doc| Edit {
            span: Span { end: doc.span.start + 3, ..doc.span },
            text: "//".to_owned(),
        });
        Diagnostic::new(Code::E0101, last.span, "no declaration follows this documentation")
            .help("write the declaration below it, or begin a comment with `//`")
            .fix("write `//`", slashes.collect())
    } else {
        Diagnostic::new(
            Code::E0101,
            last.span,
            "no declaration or statement follows this attribute",
        )
    };
    Fault::new(last.span.start, Reach::Before, report)
}

fn loop_behind(statement: Span, through: Span, end: Span, text: &str) -> Fault {
    let before = Span { end: statement.start, ..statement };
    let edits = vec![
        Edit { span: before, text: format!("for {text} {{ ") },
        Edit { span: Span { start: statement.end, ..end }, text: "; }".to_owned() },
    ];
    let report = Diagnostic::new(Code::E0101, through, "a loop comes before what it repeats")
        .fix(format!("write `for {text} {{ ..; }}`"), edits);
    Fault::new(through.start, Reach::Statement, report)
}

fn loop_in_turns(header: Span) -> Fault {
    let report = Diagnostic::new(Code::E0101, header, "a loop runs through a list")
        .help("write a loop as `for i in 0..n { .. }`");
    Fault::new(header.start, Reach::Before, report)
}

/// `x = 1;`, or `x := 1;` with its colon at `colon`.
fn no_assignment(name: &Name, colon: Option<Span>) -> Fault {
    let insertion = Span { end: name.span.start, ..name.span };
    let mut edits = vec![Edit { span: insertion, text: "let ".to_owned() }];
    edits.extend(colon.map(|span| Edit { span, text: String::new() }));
    let message = format!("no statement or declaration begins with `{}`", name.text);
    let report = Diagnostic::new(Code::E0106, name.span, message);
    let is_option = OPTION_NAMES.contains(&name.text.as_str());
    let help = foreign::statement(&name.text).filter(|_| !is_option);
    let report = match help.or_else(|| foreign::option_name(&name.text)) {
        Some(help) => report.help(help),
        None if is_option => report.help(option_alone(&name.text)),
        None => report
            .help(format!("bind a name with `let {} = ..;`; it keeps its value", name.text))
            .guess("insert `let`", edits),
    };
    Fault::new(name.span.start, Reach::Statement, report)
}
