//! What a family is declared over, in the forms that come from other languages: without brackets, in parentheses, or
//! behind the declaration. These are reported with the edits that make them right.

use super::expression::Values;
use super::report::written;
use super::{Extra, Input, Note, Reader, Rule, here, kind_at, look, mark, rest, span};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::{Binder, Dimension};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::lookahead::at_binder;
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, custom};

/// How a family is written.
const MESSAGE: &str = "what a family is declared over is in brackets after its name";

/// `p in peers`, `for p in peers` or `(p in peers)` after a name, in place of dimensions.
pub(super) fn unbracketed<'t>(values: &Values<'t>) -> Rule<'t, Vec<Dimension>> {
    let binders = values.binders.clone().map_with(|binders, e| (binders, e.slice())).boxed();
    let in_parentheses = look(|tokens| binds_behind(tokens, Kind::LeftParen))
        .ignore_then(mark(Kind::LeftParen))
        .ignore_then(binders.clone())
        .then_ignore(mark(Kind::RightParen));
    let bare = look(|tokens| at_binder(tokens) && !tokens.first().is_some_and(|word| word.first))
        .ignore_then(binders.clone());
    after()
        .then(in_parentheses.or(bare).or(through(binders)))
        .map_with(|(after, (binders, tokens)), e| {
            let place = e.slice().first().zip(e.slice().last());
            let fault = place.map(|(first, last)| {
                let edit = Edit { span: after.to(last.span), text: bracketed(tokens) };
                not_in_brackets(first.span.to(last.span), vec![edit])
            });
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            dimensions(binders)
        })
        .boxed()
}

/// The name of a family is followed by this, if anything.
pub(super) struct Family<'t> {
    dimensions: Vec<Dimension>,
    /// The place of the brackets, or where they would be.
    brackets: Span,
    behind: Option<Behind<'t>>,
}

/// `for p in peers`, and its place with the space before it.
pub(super) struct Behind<'t> {
    through: Through<'t>,
    place: Span,
}

/// The dimensions after a name, also if there is a `for` behind them.
pub(super) fn family<'t>(values: &Values<'t>) -> Rule<'t, Family<'t>> {
    let indices = super::expression::dimensions(values).or(unbracketed(values)).or_not();
    let indices = indices.map_with(|dimensions, e| {
        let tokens: Input<'_> = e.slice();
        let last = tokens.last().map(|last| last.span);
        (dimensions.unwrap_or_default(), last)
    });
    after()
        .then(indices)
        .then(behind(values).or_not())
        .map(|((after, (dimensions, last)), behind)| {
            let brackets = last.map_or(after, |last| after.to(last));
            Family { dimensions, brackets, behind }
        })
        .boxed()
}

/// A `for` behind a declaration, as in `channel c = memory(p) for p in peers`.
pub(super) fn behind<'t>(values: &Values<'t>) -> Rule<'t, Behind<'t>> {
    let binders = values.binders.clone().map_with(|binders, e| (binders, e.slice())).boxed();
    after()
        .then(through(binders).map_with(|through, e| (through, span(e))))
        .map(|(after, (through, place))| Behind { through, place: after.to(place) })
        .boxed()
}

impl<'t> Behind<'t> {
    /// The binders, their tokens, and the place of all of it.
    pub(super) fn into_parts(self) -> (Vec<Binder>, Input<'t>, Span) {
        let (binders, tokens) = self.through;
        (binders, tokens, self.place)
    }
}

impl<'t> Family<'t> {
    /// The dimensions, given the `for` behind the whole declaration; a `for` is reported.
    pub(super) fn dimensions(self, behind: Option<Behind<'t>>) -> (Vec<Dimension>, Option<Fault>) {
        let Some(behind) = self.behind.or(behind) else { return (self.dimensions, None) };
        let (binders, tokens) = behind.through;
        let edits = vec![
            Edit { span: self.brackets, text: bracketed(tokens) },
            Edit { span: behind.place, text: String::new() },
        ];
        (dimensions(binders), Some(not_in_brackets(behind.place, edits)))
    }
}

/// The binders after a `for` on the same line, with their tokens.
type Through<'t> = (Vec<Binder>, Input<'t>);

fn through<'t>(binders: Rule<'t, Through<'t>>) -> Rule<'t, Through<'t>> {
    look(|tokens| binds_behind(tokens, Kind::For))
        .ignore_then(mark(Kind::For))
        .ignore_then(binders)
        .boxed()
}

/// Whether a token of this kind, on the same line, is followed by `name in`.
fn binds_behind(tokens: Input<'_>, kind: Kind) -> bool {
    let is_here =
        kind_at(tokens, 0) == Some(kind) && !tokens.first().is_some_and(|word| word.first);
    is_here && at_binder(tokens.get(1..).unwrap_or_default())
}

/// The place after the last token.
fn after<'t>() -> impl Parser<'t, Input<'t>, Span, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        rest(input).first().ok_or_else(EmptyErr::default)?;
        Ok(here(input))
    })
}

fn dimensions(binders: Vec<Binder>) -> Vec<Dimension> {
    binders.into_iter().map(Dimension::Binder).collect()
}

fn bracketed(tokens: &[Token<'_>]) -> String {
    format!("[{}]", written(tokens))
}

fn not_in_brackets(place: Span, edits: Vec<Edit>) -> Fault {
    let report = Diagnostic::new(Code::E0105, place, MESSAGE).fix("write `[..]`", edits);
    Fault::new(place.start, Reach::Before, report)
}
