//! Decides where a space goes between two tokens.
//!
//! In: the tokens of a text without syntax errors. Out: for each token, whether a space comes before it, and whether it
//! opens a body.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::Piece;
use crate::syntax::lookahead::{ends_value, is_operator};
use crate::syntax::token::{Class, Kind, Token};

/// The tokens with their spaces. `bodies` are the offsets of the braces that open bodies, in order.
pub(super) fn pieces<'t>(tokens: &[Token<'t>], bodies: &[u32]) -> Vec<Piece<'t>> {
    let mut walk = Walk {
        tokens,
        open: Vec::new(),
        unary: false,
        head: true,
        machine: false,
        out: Vec::new(),
    };
    for (i, token) in tokens.iter().enumerate() {
        let opens_body =
            token.kind == Kind::LeftBrace && bodies.binary_search(&token.span.start).is_ok();
        walk.step(i, *token, opens_body);
    }
    walk.out
}

/// The kind of an open bracket, for the spaces inside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brace {
    /// A set, or imported names: no spaces inside.
    Tight,
    /// Everything else.
    Loose,
    /// A bracket that is not a brace.
    None,
}

struct Walk<'a, 't> {
    tokens: &'a [Token<'t>],
    open: Vec<Brace>,
    /// Whether the last token is a unary operator.
    unary: bool,
    /// Whether the last token is the verb that a statement begins with, or another word before an operand.
    head: bool,
    /// Whether the tokens are those of a program's machine, or of the head of a topology.
    machine: bool,
    out: Vec<Piece<'t>>,
}

impl<'t> Walk<'_, 't> {
    fn step(&mut self, i: usize, token: Token<'t>, opens_body: bool) {
        let last = i.checked_sub(1).and_then(|i| self.tokens.get(i));
        let Some(last) = last else {
            self.head = token.kind.class() == Class::Verb;
            self.machine = token.kind == Kind::Topology;
            return self.out.push(Piece { token, space: false, opens_body });
        };
        let space = !self.unary && self.space(i, *last, token);
        self.unary = matches!(token.kind, Kind::Minus | Kind::Not) && !ends_value(last.kind);
        let begins = token.kind.class() == Class::Verb || token.kind == Kind::Ports;
        let is_clause = self.machine && matches!(token.kind, Kind::On | Kind::Without);
        self.head = (begins && self.begins_statement(last.kind))
            || (is_clause && ends_value(last.kind) && !self.open.contains(&Brace::None));
        self.machine = token.kind == Kind::Topology
            || (self.machine && token.kind != Kind::Semicolon && !opens_body);
        match token.kind {
            Kind::LeftBrace => {
                let is_map = self.tokens.get(i + 2).is_some_and(|token| token.kind == Kind::Equal);
                let is_set =
                    !opens_body && !is_map && !ends_value(last.kind) && last.kind != Kind::Else;
                self.open.push(if is_set { Brace::Tight } else { Brace::Loose });
            }
            Kind::LeftParen | Kind::LeftBracket => self.open.push(Brace::None),
            Kind::RightParen | Kind::RightBracket | Kind::RightBrace => drop(self.open.pop()),
            _ => {}
        }
        self.out.push(Piece { token, space, opens_body });
    }

    /// Whether a token of this kind ends what comes before a statement.
    fn begins_statement(&self, last: Kind) -> bool {
        let in_body = self.open.last().is_none_or(|open| *open == Brace::Loose);
        in_body
            && matches!(
                last,
                Kind::Semicolon
                    | Kind::LeftBrace
                    | Kind::RightBrace
                    | Kind::RightBracket
                    | Kind::Doc
            )
    }

    /// Whether a space goes between two tokens.
    fn space(&self, i: usize, last: Token<'_>, token: Token<'_>) -> bool {
        let is_tight = self.open.last() == Some(&Brace::Tight);
        match (last.kind, token.kind) {
            (Kind::LeftBrace, Kind::RightBrace) => false,
            (Kind::LeftBrace, _) | (_, Kind::RightBrace) => !is_tight,
            (
                Kind::LeftParen | Kind::LeftBracket | Kind::Dot | Kind::PathSeparator | Kind::Hash,
                _,
            ) => false,
            (
                _,
                Kind::RightParen
                | Kind::RightBracket
                | Kind::Dot
                | Kind::PathSeparator
                | Kind::Comma
                | Kind::Semicolon
                | Kind::Colon,
            ) => false,
            (Kind::RangeHalfOpen | Kind::RangeInclusive | Kind::RangeLength, _) => {
                self.is_wide_range(i - 1)
            }
            (_, Kind::LeftParen | Kind::LeftBracket) => !self.takes_bracket(last),
            (_, Kind::RangeHalfOpen | Kind::RangeInclusive | Kind::RangeLength) => {
                if ends_value(last.kind) {
                    self.is_wide_range(i)
                } else {
                    last.kind != Kind::LeftBracket
                }
            }
            _ => true,
        }
    }

    /// Whether a bracket after this token is a call's or an index's.
    fn takes_bracket(&self, last: Token<'_>) -> bool {
        let is_type = matches!(last.kind, Kind::Channel | Kind::Block | Kind::Semaphore);
        is_type || (ends_value(last.kind) && !self.head)
    }

    /// Whether a range has values on both sides, and its author put a space on at least one side.
    fn is_wide_range(&self, i: usize) -> bool {
        let around = (
            i.checked_sub(1).and_then(|i| self.tokens.get(i)),
            self.tokens.get(i),
            self.tokens.get(i + 1),
        );
        let (Some(left), Some(range), Some(right)) = around else { return false };
        let ends = matches!(
            right.kind,
            Kind::RightBracket
                | Kind::RightParen
                | Kind::RightBrace
                | Kind::Comma
                | Kind::Semicolon
        );
        let is_wide = left.span.end < range.span.start || range.span.end < right.span.start;
        ends_value(left.kind) && !ends && is_wide && !is_operator(left.kind)
    }
}
