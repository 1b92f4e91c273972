//! Values: everything from `arguments` to `conditional` in the grammar, and the binders and dimensions that are made of
//! them.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::bracket::{close, listed, listed_some, open};
use super::name::{name, required_name, reserved_name};
use super::recover::{expect, hole, required};
use super::report::{Expected, brackets_apart};
use super::superfluous::word_before_binder;
use super::{Extra, Input, Reader, Rule, kind_at, last, look, mark, note, pick, rest, span};
use crate::syntax::ast::{
    Argument, BinaryOp, Binder, Dimension, Expr, ExprKind, Gathered, Index, Name, RangeKind,
    UnaryOp,
};
use crate::syntax::lookahead::{at_binder, begins_surely, holds_statements};
use crate::syntax::token::{Kind, Number, Token, number, string};
use chumsky::prelude::{EmptyErr, IterParser, Parser, choice, custom, recursive};

/// The rules for values, from which other rules are built.
#[derive(Clone)]
pub(super) struct Values<'t> {
    /// A value, which may be a range.
    pub(super) expression: Rule<'t, Expr>,
    /// A value that is not a range.
    disjunction: Rule<'t, Expr>,
    /// What follows `for`.
    pub(super) binders: Rule<'t, Vec<Binder>>,
}

impl<'t> Values<'t> {
    /// Builds the rules.
    pub(super) fn new() -> Values<'t> {
        Values::around(
            recursive(|whole| expression(Values::around(whole.boxed()).disjunction)).boxed(),
        )
    }

    /// The rules, given the one for expressions.
    fn around(expression: Rule<'t, Expr>) -> Values<'t> {
        let binders = binders(&expression);
        let disjunction = recursive(|rule| {
            disjunction(&Values {
                expression: expression.clone(),
                disjunction: rule.boxed(),
                binders: binders.clone(),
            })
        });
        Values { disjunction: disjunction.boxed(), expression, binders }
    }

    /// A value that must be here.
    pub(super) fn required(&self, what: &'static str) -> Rule<'t, Expr> {
        required(self.expression.clone(), what)
    }
}

/// `arguments`, with the parenthesis that ends them.
pub(super) fn arguments<'t>(values: &Values<'t>) -> Rule<'t, Vec<Argument>> {
    listed(argument(values), Kind::RightParen)
}

fn argument<'t>(values: &Values<'t>) -> Rule<'t, Argument> {
    let named = look(|tokens| matches!(kind_at(tokens, 1), Some(Kind::Equal | Kind::Colon)))
        .ignore_then(required_name("a parameter's name"))
        .then_ignore(expect(Kind::Equal, "and a value", &[Kind::Colon]));
    named
        .or_not()
        .then(values.required("an argument"))
        .map(|(name, value)| Argument { name: name.flatten(), value })
        .boxed()
}

/// An index in brackets after a value, or the value of an option.
pub(super) fn index<'t>(values: &Values<'t>) -> Rule<'t, Index> {
    let disjunction = &values.disjunction;
    let all = mark(Kind::Star).map(|token: &Token<'_>| Index::All(token.span));
    let to =
        mark(Kind::RangeHalfOpen).ignore_then(disjunction.clone().or_not()).map_with(|to, e| {
            let place = span(e);
            to.map_or(Index::Whole(place), |to| Index::To(to, false, place))
        });
    let to_last = mark(Kind::RangeInclusive)
        .ignore_then(required(disjunction.clone(), "the last index"))
        .map_with(|to, e| Index::To(to, true, span(e)));
    let open_range =
        mark(Kind::RangeHalfOpen).to(RangeKind::HalfOpen).then(disjunction.clone().or_not());
    let closed_range =
        range_kind().then(required(disjunction.clone(), "the end of the range").map(Some));
    let from = disjunction.clone().then(open_range.or(closed_range).or_not()).map_with(
        |(from, rest), e| match rest {
            None => Index::At(from),
            Some((kind, Some(to))) => Index::At(range(kind, from, to, span(e))),
            Some((_, None)) => Index::From(from, span(e)),
        },
    );
    choice((all, to, to_last, from, hole("an index").map(Index::At))).boxed()
}

fn range_kind<'t>() -> impl Parser<'t, Input<'t>, RangeKind, Extra> + Clone {
    pick(|token| match token.kind {
        Kind::RangeHalfOpen => Some(RangeKind::HalfOpen),
        Kind::RangeInclusive => Some(RangeKind::Inclusive),
        Kind::RangeLength => Some(RangeKind::Length),
        _ => None,
    })
}

fn range(kind: RangeKind, from: Expr, to: Expr, span: crate::source::Span) -> Expr {
    Expr { kind: ExprKind::Range(kind, Box::new(from), Box::new(to)), span }
}

/// A value, which may be a range.
fn expression<'t>(disjunction: Rule<'t, Expr>) -> Rule<'t, Expr> {
    let end = range_kind().then(required(disjunction.clone(), "the end of the range"));
    disjunction
        .then(end.or_not())
        .map_with(|(from, end), e| match end {
            Some((kind, to)) => range(kind, from, to, span(e)),
            None => from,
        })
        .boxed()
}

/// Binary operators of one level, left-associative.
fn level<'t>(
    operand: Rule<'t, Expr>,
    operators: &'static [(Kind, BinaryOp)],
    most: usize,
) -> Rule<'t, Expr> {
    let operator = pick(move |token| {
        operators.iter().find(|(kind, _)| *kind == token.kind).map(|(_, op)| *op)
    });
    let right = required(operand.clone(), "a value");
    operand
        .foldl_with(operator.then(right).repeated().at_most(most), |left, (op, right), e| Expr {
            kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
            span: span(e),
        })
        .boxed()
}

fn disjunction<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    level(conjunction(values), &[(Kind::OrOr, BinaryOp::Or)], usize::MAX)
}

fn conjunction<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    level(comparison(values), &[(Kind::AndAnd, BinaryOp::And)], usize::MAX)
}

/// Comparisons do not chain.
fn comparison<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    const OPERATORS: &[(Kind, BinaryOp)] = &[
        (Kind::EqualEqual, BinaryOp::Equal),
        (Kind::NotEqual, BinaryOp::NotEqual),
        (Kind::Less, BinaryOp::Less),
        (Kind::LessEqual, BinaryOp::LessEqual),
        (Kind::Greater, BinaryOp::Greater),
        (Kind::GreaterEqual, BinaryOp::GreaterEqual),
    ];
    level(bit_or(values), OPERATORS, 1)
}

fn bit_or<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    level(bit_xor(values), &[(Kind::Or, BinaryOp::BitOr)], usize::MAX)
}

fn bit_xor<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    level(bit_and(values), &[(Kind::Caret, BinaryOp::BitXor)], usize::MAX)
}

fn bit_and<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    level(shift(values), &[(Kind::And, BinaryOp::BitAnd)], usize::MAX)
}

fn shift<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    const OPERATORS: &[(Kind, BinaryOp)] =
        &[(Kind::ShiftLeft, BinaryOp::ShiftLeft), (Kind::ShiftRight, BinaryOp::ShiftRight)];
    level(additive(values), OPERATORS, usize::MAX)
}

fn additive<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    const OPERATORS: &[(Kind, BinaryOp)] =
        &[(Kind::Plus, BinaryOp::Add), (Kind::Minus, BinaryOp::Subtract)];
    level(multiplicative(values), OPERATORS, usize::MAX)
}

fn multiplicative<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    const OPERATORS: &[(Kind, BinaryOp)] = &[
        (Kind::Star, BinaryOp::Multiply),
        (Kind::Slash, BinaryOp::Divide),
        (Kind::Percent, BinaryOp::Remainder),
    ];
    level(unary(values), OPERATORS, usize::MAX)
}

fn unary<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    let postfix = postfix(values);
    recursive(|unary| {
        let operator = pick(|token| match token.kind {
            Kind::Minus => Some(UnaryOp::Negate),
            Kind::Not => Some(UnaryOp::Not),
            _ => None,
        });
        let applied =
            operator.then(required(unary.boxed(), "a value")).map_with(|(op, value), e| Expr {
                kind: ExprKind::Unary(op, Box::new(value)),
                span: span(e),
            });
        postfix.or(applied)
    })
    .boxed()
}

/// What follows a value.
enum Suffix {
    Field(Option<Name>),
    Method(Option<Name>, CallArguments),
    Index(Vec<Index>),
}

fn postfix<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    let field = mark(Kind::Dot)
        .ignore_then(required_name("a name"))
        .then(call_arguments(values).or_not())
        .map(|(name, arguments)| match arguments {
            Some(arguments) => Suffix::Method(name, arguments),
            None => Suffix::Field(name),
        });
    let index = mark(Kind::LeftBracket)
        .ignore_then(listed_some(index(values), Kind::RightBracket))
        .map(Suffix::Index);
    primary(values)
        .foldl_with(field.or(index).boxed().repeated(), |value, suffix, e| {
            let value = Box::new(value);
            let kind = match suffix {
                Suffix::Field(Some(name)) => ExprKind::Field(value, name),
                Suffix::Method(Some(name), CallArguments::List(arguments)) => {
                    ExprKind::Method(value, name, arguments)
                }
                Suffix::Index(indices) => ExprKind::Index(value, indices),
                Suffix::Method(_, _) | Suffix::Field(None) => ExprKind::Error,
            };
            Expr { kind, span: span(e) }
        })
        .boxed()
}

fn primary<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    let literal = pick(|token| literal(token).map(|kind| Expr { kind, span: token.span }));
    let call = look(|tokens| !begins_surely(tokens))
        .ignore_then(name())
        .then(call_arguments(values).or_not())
        .map_with(|(name, arguments), e| {
            let place = span(e);
            let kind = match arguments {
                None => ExprKind::Name(name.text),
                Some(CallArguments::List(arguments)) => ExprKind::Call(name, arguments),
                Some(CallArguments::Fold(binders, value)) => {
                    ExprKind::Fold(name, binders, Box::new(value))
                }
            };
            Expr { kind, span: place }
        });
    let group = mark(Kind::LeftParen)
        .ignore_then(compared(&values.expression, "a value"))
        .then_ignore(close(Kind::RightParen));
    let reserved =
        reserved_name().map(|name| Expr { span: name.span, kind: ExprKind::Name(name.text) });
    choice((call, literal, group, set(values), list(values), conditional(values), reserved)).boxed()
}

/// A token that is a value.
fn literal(token: &Token<'_>) -> Option<ExprKind> {
    if token.kind == Kind::Int {
        return Some(match number(token.text) {
            Some(Number::Int(value)) => ExprKind::Int(value),
            Some(Number::Rate(value)) => ExprKind::Rate(value),
            Some(Number::Time(value)) => ExprKind::Time(value),
            None => ExprKind::Error,
        });
    }
    if token.kind == Kind::Str {
        return Some(ExprKind::Str(string(token.text)));
    }
    match token.kind {
        Kind::Wrong => Some(ExprKind::Error),
        Kind::True => Some(ExprKind::Bool(true)),
        Kind::False => Some(ExprKind::Bool(false)),
        _ => None,
    }
}

/// `{a, b}` or `{p in peers: p.node}`
fn set<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    let set = listed(values.required("an element"), Kind::RightBrace).map(ExprKind::Set);
    look(|tokens| !holds_statements(tokens.get(1..).unwrap_or_default()))
        .ignore_then(mark(Kind::LeftBrace))
        .ignore_then(gathered(values, Gathered::Set, Kind::RightBrace).or(set))
        .map_with(|kind, e| Expr { kind, span: span(e) })
        .boxed()
}

/// `[a, b]` or `[p in peers: p.node]`
fn list<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    let list = listed(values.required("an element"), Kind::RightBracket).map(ExprKind::List);
    mark(Kind::LeftBracket)
        .ignore_then(gathered(values, Gathered::List, Kind::RightBracket).or(list))
        .map_with(|kind, e| Expr { kind, span: span(e) })
        .boxed()
}

/// `p in peers: p.node`, up to the bracket that closes it.
fn gathered<'t>(values: &Values<'t>, into: Gathered, closing: Kind) -> Rule<'t, ExprKind> {
    look(at_binder)
        .ignore_then(values.binders.clone())
        .then(mark(Kind::Colon).ignore_then(values.required("a value")).or_not())
        .then_ignore(close(closing))
        .map(move |(binders, value)| ExprKind::Each(into, binders, value.map(Box::new)))
        .boxed()
}

/// The content of the parentheses of a call.
enum CallArguments {
    /// `f(a, b = 1)`
    List(Vec<Argument>),
    /// `sum(p in peers: x[p])`
    Fold(Vec<Binder>, Expr),
}

fn call_arguments<'t>(values: &Values<'t>) -> Rule<'t, CallArguments> {
    let fold = look(at_binder)
        .ignore_then(values.binders.clone())
        .then_ignore(expect(Kind::Colon, "and a value after what it runs through", &[Kind::Arrow]))
        .then(values.required("a value"))
        .then_ignore(close(Kind::RightParen))
        .map(|(binders, value)| CallArguments::Fold(binders, value));
    let list = arguments(values).map(CallArguments::List);
    mark(Kind::LeftParen).ignore_then(fold.or(list)).boxed()
}

/// What a collective promises.
pub(super) fn promise<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    compared(&values.expression, "a promise")
}

/// The condition of an `if`.
pub(super) fn condition<'t>(value: &Rule<'t, Expr>) -> Rule<'t, Expr> {
    compared(value, "a condition")
}

/// A value that must be here, in a place where nothing can be assigned. If `=` is used in place of `==`, the result is
/// a hole, since it is unclear how far each side extends.
fn compared<'t>(value: &Rule<'t, Expr>, what: &'static str) -> Rule<'t, Expr> {
    let compared = look(|tokens| kind_at(tokens, 0) == Some(Kind::Equal))
        .ignore_then(expect(Kind::EqualEqual, "between two values", &[Kind::Equal]))
        .ignore_then(required(value.clone(), "a value"));
    required(value.clone(), what)
        .then(compared.or_not())
        .map_with(|(one, other), e| match other {
            None => one,
            Some(_) => Expr { kind: ExprKind::Error, span: span(e) },
        })
        .boxed()
}

fn conditional<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    let branch = braced(values);
    recursive(|conditional| {
        let otherwise = expect(Kind::Else, "and another value", &[])
            .ignore_then(conditional.boxed().or(branch.clone()));
        mark(Kind::If)
            .ignore_then(condition(&values.expression))
            .then(branch)
            .then(otherwise)
            .map_with(|((condition, then), otherwise), e| Expr {
                kind: ExprKind::If(Box::new(condition), Box::new(then), Box::new(otherwise)),
                span: span(e),
            })
    })
    .boxed()
}

/// A value in braces; a hole if there is no value, or one without braces.
fn braced<'t>(values: &Values<'t>) -> Rule<'t, Expr> {
    let bare = hole(Expected::Choice).then_ignore(values.expression.clone().or_not());
    open()
        .ignore_then(values.required("a value"))
        .then_ignore(close(Kind::RightBrace))
        .or(bare)
        .boxed()
}

fn binders<'t>(expression: &Rule<'t, Expr>) -> Rule<'t, Vec<Binder>> {
    binder(expression)
        .separated_by(mark(Kind::Comma))
        .at_least(1)
        .collect::<Vec<Option<Binder>>>()
        .map(|binders| binders.into_iter().flatten().collect())
        .boxed()
}

/// A binder; none if it has no name.
fn binder<'t>(expression: &Rule<'t, Expr>) -> Rule<'t, Option<Binder>> {
    let filter = mark(Kind::If).ignore_then(condition(expression));
    word_before_binder()
        .or_not()
        .ignore_then(required_name("a name"))
        .then_ignore(expect(
            Kind::In,
            "and what it runs through",
            &[Kind::Of, Kind::Equal, Kind::Colon],
        ))
        .then(required(expression.clone(), "a list to run through"))
        .then(filter.or_not())
        .map_with(|((name, list), filter), e| {
            let span = span(e);
            name.map(|name| Binder { name, list, filter: filter.map(Box::new), span })
        })
        .boxed()
}

/// `[` dimensions `]`
pub(super) fn dimensions<'t>(values: &Values<'t>) -> Rule<'t, Vec<Dimension>> {
    let some = mark(Kind::LeftBracket)
        .ignore_then(listed_some(dimension(values), Kind::RightBracket))
        .boxed();
    let apart = custom(|input: &mut Reader<'t, '_>| {
        let opener = rest(input).first().filter(|token| token.kind == Kind::LeftBracket);
        let (closer, opener) = last(input).zip(opener).ok_or_else(EmptyErr::default)?;
        note(input, brackets_apart(closer, opener));
        Ok(())
    });
    some.clone()
        .foldl(apart.ignore_then(some).repeated(), |mut all, more| {
            all.extend(more);
            all
        })
        .boxed()
}

/// `[` dimensions `]` where a block is opened: `*` means the whole family.
pub(super) fn opened_dimensions<'t>(values: &Values<'t>) -> Rule<'t, Vec<Dimension>> {
    let all = mark(Kind::Star).map(|token: &Token<'_>| Dimension::All(token.span));
    mark(Kind::LeftBracket)
        .ignore_then(listed_some(all.or(dimension(values)).boxed(), Kind::RightBracket))
        .boxed()
}

fn dimension<'t>(values: &Values<'t>) -> Rule<'t, Dimension> {
    let binder = look(at_binder).ignore_then(binder(&values.expression)).map_with(|binder, e| {
        let hole = Expr { kind: ExprKind::Error, span: span(e) };
        binder.map_or(Dimension::Value(hole), Dimension::Binder)
    });
    binder.or(values.required("a dimension").map(Dimension::Value)).boxed()
}
