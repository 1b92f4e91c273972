//! Tokens to tree: the rules of `grammar/ccl.ebnf`, one function per production, with the same name. This file and
//! those of `parse/` are the only ones that use chumsky.
//!
//! In: tokens whose brackets match. Out: a tree, whatever the tokens are, and the reports about them. The rules:
//!
//! - A production fails only at its first token, without having consumed it. From then on it continues to its end:
//!   what is missing is reported and taken as if it were there, what is superfluous is reported and skipped.
//! - Reports are kept in the parser's state and not in chumsky's errors, which are empty and cost nothing.

mod advice;
mod arrow;
mod bracket;
mod collective;
mod declaration;
mod expression;
mod family;
mod first_word;
mod form;
mod function;
mod item;
mod map;
mod name;
mod operation;
mod options;
mod prose;
mod recover;
mod report;
mod skip;
mod statement;
mod superfluous;
mod topology;

use super::ast;
use super::fault::{Fault, Reach};
use super::token::{Kind, Token};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{FileId, Span};
use chumsky::input::{Checkpoint, Cursor, InputRef, MapExtra};
use chumsky::inspector::Inspector;
use chumsky::prelude::{Boxed, EmptyErr, Parser, custom, extra};

/// The parser's input.
type Input<'t> = &'t [Token<'t>];
type Extra = extra::Full<EmptyErr, Notes, ()>;
/// A production.
type Rule<'t, O> = Boxed<'t, 't, Input<'t>, O, Extra>;
/// The tokens, as a rule written by hand sees them.
type Reader<'t, 'p> = InputRef<'t, 'p, Input<'t>, Extra>;

/// The tree of a file.
#[must_use]
pub fn file(file: FileId, tokens: &[Token<'_>], length: u32) -> (ast::File, Vec<Fault>) {
    let mut notes = Notes::new(file);
    let tree = item::file().parse_with_state(tokens, &mut notes).into_output();
    let (docs, mut items) = tree.unwrap_or_default();
    let (faults, lost) = notes.into_parts();
    items.extend(lost);
    items.sort_by_key(|item| item.span.start);
    (ast::File { docs, items, span: Span { file, start: 0, end: length } }, faults)
}

/// The tree of an expression on its own.
#[must_use]
pub fn expression(file: FileId, tokens: &[Token<'_>]) -> (Option<ast::Expr>, Vec<Fault>) {
    let rule = recover::alone(expression::Values::new().required("a value"));
    let mut notes = Notes::new(file);
    let tree = rule.parse_with_state(tokens, &mut notes).into_output();
    (tree, notes.into_parts().0)
}

/// The tree of `name = value`.
#[must_use]
pub fn option(file: FileId, tokens: &[Token<'_>]) -> (Option<ast::OptionSetting>, Vec<Fault>) {
    let rule = recover::alone(options::option_setting(&expression::Values::new()));
    let mut notes = Notes::new(file);
    let tree = rule.parse_with_state(tokens, &mut notes).into_output();
    let (tree, mut faults) = (tree, notes.into_parts().0);
    if tree.is_none() && faults.is_empty() {
        faults.push(no_option(tokens.first().map_or(Span { file, start: 0, end: 0 }, |t| t.span)));
    }
    (tree, faults)
}

/// What the parser records in addition to the tree.
#[derive(Debug)]
struct Notes {
    file: FileId,
    log: Vec<Note>,
    /// The index of a misspelled word, and the kind that it was meant to be.
    meant: Option<(usize, Kind)>,
}

/// A line of the log.
#[derive(Debug)]
enum Note {
    /// A mistake.
    Fault(Box<Fault>),
    /// A declaration where none is allowed; it is added to its program.
    Declaration(Box<ast::ProgramItem>),
    /// An item where none is allowed; it is added to the file.
    Item(Box<ast::Item>),
}

impl Notes {
    fn new(file: FileId) -> Notes {
        Notes { file, log: Vec::new(), meant: None }
    }

    /// The faults, and the items that were in wrong places.
    fn into_parts(self) -> (Vec<Fault>, Vec<ast::Item>) {
        let (mut faults, mut items) = (Vec::new(), Vec::new());
        for note in self.log {
            match note {
                Note::Fault(fault) => faults.push(*fault),
                Note::Item(item) => items.push(*item),
                Note::Declaration(_) => {}
            }
        }
        (faults, items)
    }

    /// Takes out the declarations that were in wrong places, of the notes from the given one on.
    fn take_declarations(&mut self, first: usize) -> Vec<ast::ProgramItem> {
        let mut taken = Vec::new();
        for note in self.log.split_off(first.min(self.log.len())) {
            match note {
                Note::Declaration(item) => taken.push(*item),
                note @ (Note::Fault(_) | Note::Item(_)) => self.log.push(note),
            }
        }
        taken
    }
}

/// Notes from an alternative that fails are forgotten.
impl<'t> Inspector<'t, Input<'t>> for Notes {
    type Checkpoint = usize;

    fn on_token(&mut self, _: &Token<'t>) {}

    fn on_save<'p>(&self, _: &Cursor<'t, 'p, Input<'t>>) -> usize {
        self.log.len()
    }

    fn on_rewind<'p>(&mut self, marker: &Checkpoint<'t, 'p, Input<'t>, usize>) {
        self.log.truncate(*marker.inspector());
    }
}

/// The tokens from here on.
fn rest<'t>(input: &mut Reader<'t, '_>) -> Input<'t> {
    let here = *input.cursor().inner();
    input.full_slice().get(here..).unwrap_or_default()
}

/// The tokens before this place.
fn before<'t>(input: &mut Reader<'t, '_>) -> Input<'t> {
    let here = *input.cursor().inner();
    input.full_slice().get(..here).unwrap_or_default()
}

/// The token before this place.
fn last<'t>(input: &mut Reader<'t, '_>) -> Option<&'t Token<'t>> {
    before(input).last()
}

/// The empty span after the token before this place.
fn here(input: &mut Reader<'_, '_>) -> Span {
    let file = input.state().file;
    last(input).map_or(Span { file, start: 0, end: 0 }, Token::after)
}

/// Notes a mistake.
fn note(input: &mut Reader<'_, '_>, fault: Fault) {
    let fault = Fault { read: here(input).start, ..fault };
    input.state().log.push(Note::Fault(Box::new(fault)));
}

/// The span of all tokens of a production.
fn span<'t>(extra: &mut MapExtra<'t, '_, Input<'t>, Extra>) -> Span {
    let tokens = extra.slice();
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => Span { file: extra.state().file, start: 0, end: 0 },
    }
}

/// A token of one kind.
fn mark<'t>(kind: Kind) -> impl Parser<'t, Input<'t>, &'t Token<'t>, Extra> + Clone {
    pick(move |token| (token.kind == kind).then_some(token))
}

/// A token that stands for something: `of` says for what.
fn pick<'t, O>(
    of: impl Fn(&'t Token<'t>) -> Option<O> + Clone,
) -> impl Parser<'t, Input<'t>, O, Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let out = input.peek_ref().and_then(&of).ok_or_else(EmptyErr::default)?;
        input.next_ref();
        Ok(out)
    })
}

/// The word that begins a production, even if it was misspelled and reported.
fn head<'t>(kind: Kind) -> impl Parser<'t, Input<'t>, &'t Token<'t>, Extra> + Clone {
    head_of(move |found| (found == kind).then_some(())).map(|(token, ())| token)
}

/// A word that begins a production, and what it stands for.
fn head_of<'t, O>(
    of: impl Fn(Kind) -> Option<O> + Clone,
) -> impl Parser<'t, Input<'t>, (&'t Token<'t>, O), Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let token = input.peek_ref().ok_or_else(EmptyErr::default)?;
        let place = *input.cursor().inner();
        let meant = match input.state().meant {
            Some((at, kind)) if at == place => kind,
            _ => token.kind,
        };
        let out = of(meant).ok_or_else(EmptyErr::default)?;
        input.next_ref();
        Ok((token, out))
    })
}

/// Succeeds, without consuming anything, if `ask` accepts the tokens from here on.
fn look<'t>(
    ask: impl Fn(Input<'t>) -> bool + Clone,
) -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(
        move |input: &mut Reader<'t, '_>| {
            if ask(rest(input)) { Ok(()) } else { Err(EmptyErr::default()) }
        },
    )
}

/// The kind of the token that is `n` further on.
fn kind_at(tokens: &[Token<'_>], n: usize) -> Option<Kind> {
    tokens.get(n).map(|token| token.kind)
}

fn no_option(place: Span) -> Fault {
    let report = Diagnostic::new(Code::E0101, place, "expected `name=value`");
    Fault::new(place.start, Reach::Statement, report)
}
