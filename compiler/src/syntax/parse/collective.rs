//! Collectives: everything from `collective` to `ensures` in the grammar, also in the forms that come from other
//! languages. These are reported with the edits that make them right.

use super::bracket::{close, no_body, open, size_without_brackets};
use super::declaration::{declaration, opens_body};
use super::expression::{Values, condition, promise};
use super::family::{Behind, behind};
use super::first_word::{misspelt_head, unknown, word};
use super::item::{braced, misplaced, parameters, with_prefix};
use super::name::required_name;
use super::prose::prose;
use super::recover::{expect, semicolon};
use super::report::{Braces, in_no_braces, is_word, missing, other_word, written};
use super::statement::{r#let, require, statement};
use super::{Extra, Input, Note, Reader, Rule, head, here, kind_at, look, mark, note, rest, span};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::{
    Binder, Body, Collective, CollectiveItem, CollectiveItemKind, Ensures, Expr, InPlace, Name,
    Size,
};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::foreign;
use crate::syntax::lookahead::at_binder;
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{EmptyErr, IterParser, Parser, choice, custom};

/// The words that can begin an item of a collective.
const WORDS: &[Kind] =
    &[Kind::Let, Kind::Require, Kind::Input, Kind::Output, Kind::InPlace, Kind::Ensures];

pub(super) fn collective<'t>(
    values: &Values<'t>,
    body: Rule<'t, Body>,
) -> Rule<'t, Option<Collective>> {
    let known = collective_item(values).or(stray(values, body.clone())).boxed();
    let any = choice((
        known.clone(),
        prose().map(|()| None),
        misspelt_head(WORDS, known),
        unknown("a clause of the collective", body).map(|()| None),
    ));
    let items = with_prefix(any).map(|((docs, attributes), found)| {
        found.map(|(kind, span)| CollectiveItem { docs, attributes, kind, span })
    });
    word(Kind::Collective)
        .then_ignore(look(opens_body))
        .ignore_then(required_name("a name for the collective"))
        .then(parameters(values, "(ranks: int)"))
        .then(braced(items.boxed()))
        .map(|((name, parameters), (items, _))| Some(Collective { name: name?, parameters, items }))
        .boxed()
}

fn collective_item<'t>(values: &Values<'t>) -> Rule<'t, Option<CollectiveItemKind>> {
    choice((
        r#let(values).map(|binding| binding.map(CollectiveItemKind::Let)),
        require(values).map(|require| Some(CollectiveItemKind::Require(require))),
        size(values).map(|size| Some(CollectiveItemKind::Size(size))),
        in_place(values).map(|in_place| in_place.map(CollectiveItemKind::InPlace)),
        ensures(values).map(|ensures| Some(CollectiveItemKind::Ensures(ensures))),
    ))
    .boxed()
}

fn size<'t>(values: &Values<'t>) -> Rule<'t, Size> {
    let count = mark(Kind::LeftBracket)
        .ignore_then(values.required("the number of chunks"))
        .then_ignore(close(Kind::RightBracket))
        .or(size_without_brackets(values, "the number of chunks belongs in brackets"))
        .or(expect(Kind::LeftBracket, "and the number of chunks", &[])
            .ignore_then(values.required("the number of chunks")));
    head(Kind::Input)
        .or(head(Kind::Output))
        .then(count)
        .then_ignore(clause_end_before(|next| WORDS.contains(&next.kind)))
        .map(|(token, chunks)| Size { buffer: buffer(token), chunks })
        .boxed()
}

/// The `;` after a clause; if another one follows it on the same line, it is missing.
pub(super) fn clause_end_before<'t>(begins: fn(&Token<'_>) -> bool) -> Rule<'t, ()> {
    let missing = custom(move |input: &mut Reader<'t, '_>| {
        let next = rest(input).first().filter(|next| begins(next));
        next.ok_or_else(EmptyErr::default)?;
        let fault = missing(input, ";", "after this statement");
        note(input, Fault { reach: Reach::Before, ..fault });
        Ok(())
    });
    missing.or(semicolon()).boxed()
}

/// `input` or `output`, with its spelling corrected.
fn buffer(token: &Token<'_>) -> Name {
    let text = match token.text {
        text @ ("input" | "output") => text,
        text if text.starts_with('i') => "input",
        _ => "output",
    };
    Name { text: text.to_owned(), span: token.span }
}

fn in_place<'t>(values: &Values<'t>) -> Rule<'t, Option<InPlace>> {
    let clause = required_name("`input` or `output`")
        .then_ignore(expect(Kind::Equal, "and a slice of the other buffer", &[Kind::EqualEqual]))
        .then(values.required("a slice"))
        .then_ignore(semicolon())
        .boxed();
    let inner = open().ignore_then(clause.clone()).then_ignore(close(Kind::RightBrace));
    let bare = look(|tokens| {
        let tokens = behind_colon(tokens);
        let is_buffer = matches!(kind_at(tokens, 0), Some(Kind::Input | Kind::Output));
        is_buffer && kind_at(tokens, 1) == Some(Kind::Equal)
    });
    let bare = bare
        .ignore_then(mark(Kind::Colon).or_not())
        .then(clause.map_with(|clause, e| (clause, span(e))))
        .map_with(|(colon, (clause, place)), e| {
            let braces = Braces { mark: colon.map(|token| (token.span, token.kind)), end: None };
            let fault = in_no_braces(&braces, place, "in_place");
            e.state().log.push(Note::Fault(Box::new(fault)));
            clause
        });
    let asked = look(|tokens| kind_at(tokens, 0) == Some(Kind::Equal))
        .ignore_then(mark(Kind::Equal))
        .then(values.required("a slice"))
        .then_ignore(semicolon())
        .map_with(|_, e| {
            let fault = asked_for_in_place(span(e));
            e.state().log.push(Note::Fault(Box::new(fault)));
        });
    head(Kind::InPlace)
        .ignore_then(choice((
            inner.map(Some),
            bare.map(Some),
            asked.map(|()| None),
            no_body().map(|()| None),
        )))
        .map(|inner| {
            let (name, value) = inner?;
            Some(InPlace { buffer: name?, value })
        })
        .boxed()
}

/// What follows a `:` that is used in place of a brace.
fn behind_colon<'t>(tokens: Input<'t>) -> Input<'t> {
    match tokens.split_first() {
        Some((colon, after)) if colon.kind == Kind::Colon => after,
        _ => tokens,
    }
}

/// A promise in braces; of several, the first.
struct Promised<'t> {
    binders: Vec<Binder>,
    promise: Expr,
    /// What is between it, other promises and the closing brace.
    between: Vec<Separator>,
    /// If it is in a loop in these braces, all of that.
    looped: Option<Input<'t>>,
    /// What it is for, if that is behind it, and the `;` after that.
    behind: Option<(Behind<'t>, Option<&'t Token<'t>>)>,
}

impl<'t> Promised<'t> {
    fn new(promise: Expr) -> Promised<'t> {
        Promised { binders: Vec::new(), promise, between: Vec::new(), looped: None, behind: None }
    }
}

/// What is after a promise, and should not be there.
struct Separator {
    /// Its place; empty if another promise follows without anything in between.
    place: Span,
    /// Whether another promise follows it, and if so, whether on a line of its own.
    another: Option<bool>,
}

fn ensures<'t>(values: &Values<'t>) -> Rule<'t, Ensures> {
    let through = mark(Kind::For)
        .ignored()
        .or(other_for())
        .ignore_then(values.binders.clone())
        .map_with(|binders, e| (binders, e.slice()))
        .or_not()
        .boxed();
    let promised = choice((
        loop_in_braces(values).boxed(),
        promises(values).boxed(),
        bare_promise(values).map(Promised::new).boxed(),
        no_body().ignore_then(promise(values)).map(Promised::new).boxed(),
    ));
    head(Kind::Ensures)
        .then(through)
        .then(promised)
        .map_with(|((word, through), promised), e| {
            let header = through.as_ref().map(|(_, tokens)| *tokens);
            let several = separated(word, header, &promised.between);
            let looped = promised.looped.and_then(|tokens| loop_within(header, tokens));
            let behind =
                promised.behind.map(|(behind, end)| loop_behind(word, header, behind, end));
            let (more, behind) = behind.unzip();
            for fault in several.into_iter().chain(looped).chain(behind) {
                e.state().log.push(Note::Fault(Box::new(fault)));
            }
            let mut binders = through.map(|(binders, _)| binders).unwrap_or_default();
            binders.extend(promised.binders);
            binders.extend(more.unwrap_or_default());
            Ensures { binders, promise: promised.promise }
        })
        .boxed()
}

/// A word of another language for the `for` before what a promise is for.
fn other_for<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let (word, after) = rest(input).split_first().ok_or_else(EmptyErr::default)?;
        if !foreign::is_for(word.text) || !at_binder(after) {
            return Err(EmptyErr::default());
        }
        note(input, other_word(word, Kind::For.text(), Reach::Statement));
        input.next_ref();
        Ok(())
    })
}

/// `{ promise }`
fn promises<'t>(values: &Values<'t>) -> Rule<'t, Promised<'t>> {
    let another = separator().then_ignore(promise(values));
    let last = custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let end = tokens.first().filter(|end| matches!(end.kind, Kind::Semicolon | Kind::Comma));
        let ends = kind_at(tokens, 1) == Some(Kind::RightBrace);
        let place = end.filter(|_| ends).ok_or_else(EmptyErr::default)?.span;
        input.next_ref();
        Ok(Separator { place, another: None })
    });
    let within = behind(values).map(|behind| (behind, None));
    let after = behind(values).then(mark(Kind::Semicolon).or_not());
    open()
        .ignore_then(promise(values).then(within.or_not()))
        .then(another.repeated().collect::<Vec<_>>())
        .then(last.or_not())
        .then_ignore(close(Kind::RightBrace))
        .then(after.or_not())
        .map(|((((promise, within), mut between), last), after)| {
            between.extend(last);
            Promised { between, behind: within.or(after), ..Promised::new(promise) }
        })
        .boxed()
}

/// What is between two promises, if another one follows.
fn separator<'t>() -> impl Parser<'t, Input<'t>, Separator, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let (tokens, after) = (rest(input), here(input));
        let mark = tokens.first().filter(|mark| matches!(mark.kind, Kind::Semicolon | Kind::Comma));
        let next = tokens.get(usize::from(mark.is_some()));
        let next = next.filter(|next| begins_promise(next)).ok_or_else(EmptyErr::default)?;
        if mark.is_some() {
            input.next_ref();
        }
        Ok(Separator { place: mark.map_or(after, |mark| mark.span), another: Some(next.first) })
    })
}

/// Whether a token is the first one of a promise.
fn begins_promise(token: &Token<'_>) -> bool {
    token.kind == Kind::Output || is_word(Some(token), "begun") || is_word(Some(token), "same")
}

/// `{ for r in xs { promise } }`
fn loop_in_braces<'t>(values: &Values<'t>) -> Rule<'t, Promised<'t>> {
    look(|tokens| {
        kind_at(tokens, 0) == Some(Kind::LeftBrace) && kind_at(tokens, 1) == Some(Kind::For)
    })
    .ignore_then(mark(Kind::LeftBrace).then(mark(Kind::For)))
    .ignore_then(values.binders.clone())
    .then(promises(values))
    .then_ignore(close(Kind::RightBrace))
    .map_with(|(binders, promised), e| Promised {
        binders,
        looped: Some(e.slice()),
        ..Promised::new(promised.promise)
    })
    .boxed()
}

/// A promise without braces, up to its `;`.
fn bare_promise<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    let begins = |token: &Token<'_>| begins_promise(token) && !token.first;
    look(move |tokens| behind_colon(tokens).first().is_some_and(begins))
        .ignore_then(mark(Kind::Colon).or_not())
        .then(promise(values))
        .then(mark(Kind::Semicolon).or_not())
        .map_with(|((colon, promise), end), e| {
            let place = |token: &Token<'_>| token.span;
            let end = Some(end.map_or(Span { start: promise.span.end, ..promise.span }, place));
            let mark = colon.map(|token| (token.span, token.kind));
            let braces = Braces { mark, end };
            let fault = in_no_braces(&braces, promise.span, "ensures");
            e.state().log.push(Note::Fault(Box::new(fault)));
            promise
        })
        .boxed()
}

/// Declarations and statements in a collective.
fn stray<'t>(values: &Values<'t>, body: Rule<'t, Body>) -> Rule<'t, Option<CollectiveItemKind>> {
    let promises = ensures(values)
        .map_with(|_, e| e.slice())
        .repeated()
        .at_least(1)
        .collect::<Vec<_>>()
        .then_ignore(close(Kind::RightBrace))
        .boxed();
    let guarded = mark(Kind::If)
        .ignore_then(condition(&values.expression))
        .then_ignore(mark(Kind::LeftBrace))
        .then(promises.clone())
        .map_with(|_, e| {
            misplaced(
                e,
                "is not allowed in a collective",
                "say in the promise which values it is for: `ensures for c in 0..n if rank == 0 { .. }`",
            );
            None
        });
    let repeated = mark(Kind::For)
        .ignore_then(values.binders.clone().map_with(|_, e| e.slice()))
        .then_ignore(mark(Kind::LeftBrace))
        .then(promises)
        .map_with(|(through, promises), e| {
            let fault = loop_around(e.slice(), through, &promises);
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            None
        });
    guarded.or(repeated).or(stray_statement(values, body)).boxed()
}

fn stray_statement<'t>(
    values: &Values<'t>,
    body: Rule<'t, Body>,
) -> Rule<'t, Option<CollectiveItemKind>> {
    declaration(values)
        .ignored()
        .or(statement(values, body).ignored())
        .map_with(|(), e| {
            misplaced(
                e,
                "is not allowed in a collective",
                "a collective says what must hold; a program says how",
            );
            None
        })
        .boxed()
}

/// `in_place = true` in a collective.
fn asked_for_in_place(place: Span) -> Fault {
    let report = Diagnostic::new(Code::E0101, place, "expected `{`, found `=`")
        .note("a program asks for it: `collective name(ranks, in_place = true);`")
        .help("say which chunks are the same: `in_place { input = output[rank..+1]; }`");
    Fault::new(place.start, Reach::Before, report)
}

/// What is between promises in one `ensures`, whose word is given; none if there is nothing.
fn separated(word: &Token<'_>, through: Option<Input<'_>>, between: &[Separator]) -> Option<Fault> {
    let first = between.first()?.place;
    let several = between.iter().any(|separator| separator.another.is_some());
    let header = match through {
        Some(tokens) => format!("ensures {} {{", written(tokens)),
        None => "ensures {".to_owned(),
    };
    let indent = " ".repeat(word.indent as usize);
    let edits = between.iter().map(|separator| {
        let text = match separator.another {
            None => String::new(),
            Some(true) => format!("\n{indent}}}\n{indent}{header}"),
            Some(false) => format!(" }} {header}"),
        };
        Edit { span: separator.place, text }
    });
    let report = Diagnostic::new(Code::E0101, first, "an `ensures` holds one promise");
    let report = match several {
        true => report.fix("write an `ensures` for each promise", edits.collect()),
        false => report.label("so nothing ends it").fix("remove it", edits.collect()),
    };
    Some(Fault::new(first.start, Reach::Before, report))
}

/// A loop in the braces of a promise, whose tokens are given: `through` are those of what the promise is for so far.
fn loop_within(through: Option<Input<'_>>, tokens: &[Token<'_>]) -> Option<Fault> {
    let (open, word) = (tokens.first()?, tokens.get(1)?);
    let (close, rest) = tokens.split_last()?;
    let mut edits = vec![closing(rest.last()?, close)];
    match through.and_then(|through| through.last()) {
        Some(header) => {
            edits.push(Edit { span: header.after().to(open.span), text: ",".to_owned() });
            edits.push(Edit { span: word.span, text: String::new() });
        }
        // Up to the loop, unless a comment may be in between.
        None if word.first => edits.push(Edit { span: open.span, text: String::new() }),
        None => {
            let span = Span { end: word.span.start, ..open.span };
            edits.push(Edit { span, text: String::new() });
        }
    }
    let message = "what a promise is for comes before its braces";
    let report = Diagnostic::new(Code::E0101, word.span, message)
        .fix("write `ensures for .. { .. }`", edits);
    Some(Fault::new(word.span.start, Reach::Before, report))
}

/// What a promise is for, behind it; `through` are the tokens of what it is for so far.
fn loop_behind(
    word: &Token<'_>,
    through: Option<Input<'_>>,
    behind: Behind<'_>,
    end: Option<&Token<'_>>,
) -> (Vec<Binder>, Fault) {
    let (binders, tokens, place) = behind.into_parts();
    let text = written(tokens);
    let header = match through.and_then(|through| through.last()) {
        Some(last) => Edit { span: last.after(), text: format!(", {text}") },
        None => Edit { span: word.after(), text: format!(" for {text}") },
    };
    let place = end.map_or(place, |end| place.to(end.span));
    let edits = vec![header, Edit { span: place, text: String::new() }];
    let message = "what a promise is for comes before its braces";
    let report =
        Diagnostic::new(Code::E0101, place, message).fix("write `ensures for .. { .. }`", edits);
    (binders, Fault::new(place.start, Reach::Before, report))
}

/// A loop around promises, each of which has to say itself what it is for.
fn loop_around(
    tokens: &[Token<'_>],
    through: &[Token<'_>],
    promises: &[&[Token<'_>]],
) -> Option<Fault> {
    let (word, open) = (tokens.first()?, tokens.get(through.len() + 1)?);
    let (first, last) = (promises.first()?.first()?, promises.last()?.last()?);
    let text = written(through);
    let opening = match first.first {
        true => word.span.to(open.span),
        false => Span { end: first.span.start, ..word.span },
    };
    let mut edits = vec![Edit { span: opening, text: String::new() }];
    for promise in promises {
        let (head, next) = (promise.first()?, promise.get(1)?);
        edits.push(match next.kind == Kind::For {
            true => Edit { span: next.span, text: format!("for {text},") },
            false => Edit { span: head.after(), text: format!(" for {text}") },
        });
    }
    edits.push(closing(last, tokens.last()?));
    let report = Diagnostic::new(Code::E0108, word.span, "`for` is not allowed in a collective")
        .fix(format!("write `ensures for {text} {{ .. }}`"), edits);
    Some(Fault::new(word.span.start, Reach::Before, report))
}

/// The removal of a brace after `last`, with the space before it if they are on one line.
fn closing(last: &Token<'_>, brace: &Token<'_>) -> Edit {
    let start = if brace.first { brace.span.start } else { last.span.end };
    Edit { span: Span { start, ..brace.span }, text: String::new() }
}
