//! What a few tokens reveal about the place where they are: used by the parser, the bracket matching and the
//! formatter.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::token::{Class, Kind, Token};

/// Whether the token at the head of `tokens` most likely begins a statement or declaration. In a correct text it may
/// also be a value that begins a line, so ask this only where something is wrong already.
#[must_use]
pub fn begins_statement(tokens: &[Token<'_>]) -> bool {
    let (Some(token), Some(next)) = (tokens.first(), tokens.get(1)) else {
        return begins_surely(tokens);
    };
    let opens = matches!(next.kind, Kind::LeftParen | Kind::Arrow);
    let begins_line = token.kind == Kind::If
        || (token.kind == Kind::Sync && next.kind == Kind::Semicolon)
        || (token.kind.class() == Class::Verb && opens)
        || (token.kind.is_name() && (next.kind == Kind::LeftParen || next.kind.is_name()));
    begins_surely(tokens) || (token.first && begins_line)
}

/// Whether the token at the head of `tokens` certainly begins a statement or declaration: it is a word with no other
/// use, or a verb before a name, since a name never follows a name within a value.
#[must_use]
pub fn begins_surely(tokens: &[Token<'_>]) -> bool {
    let next = tokens.get(1).map(|token| token.kind);
    let Some(token) = tokens.first() else { return false };
    match token.kind {
        Kind::Use
        | Kind::Let
        | Kind::Fn
        | Kind::Proc
        | Kind::Collective
        | Kind::Topology
        | Kind::Link
        | Kind::Program
        | Kind::Options
        | Kind::Require
        | Kind::Scratch
        | Kind::Group
        | Kind::Pipeline
        | Kind::For => true,
        // These are types, too.
        Kind::Channel | Kind::Semaphore | Kind::Block => {
            next.is_some_and(|next| next.class() != Class::Mark)
        }
        kind => kind.class() == Class::Verb && next.is_some_and(begins_operand),
    }
}

/// Whether a brace encloses statements, judging by the tokens after it; the first word may be misspelled.
#[must_use]
pub fn holds_statements(after: &[Token<'_>]) -> bool {
    let names = after.first().is_some_and(|token| token.kind.is_name())
        && after.get(1).is_some_and(|next| next.kind == Kind::Arrow || begins_operand(next.kind));
    names || begins_surely(after)
}

/// Whether a token is a name that can be an operand, and not a word that follows operands.
fn begins_operand(kind: Kind) -> bool {
    kind.class() == Class::Verb
        || matches!(kind, Kind::Name | Kind::Input | Kind::Output | Kind::InPlace)
}

/// Operators between and before values.
#[must_use]
pub fn is_operator(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::EqualEqual
            | Kind::NotEqual
            | Kind::LessEqual
            | Kind::GreaterEqual
            | Kind::ShiftLeft
            | Kind::ShiftRight
            | Kind::AndAnd
            | Kind::OrOr
            | Kind::Less
            | Kind::Greater
            | Kind::Plus
            | Kind::Minus
            | Kind::Star
            | Kind::Slash
            | Kind::Percent
            | Kind::And
            | Kind::Or
            | Kind::Caret
            | Kind::Not
            | Kind::RangeLength
            | Kind::RangeInclusive
            | Kind::RangeHalfOpen
    )
}

/// Whether a value is expected after such a token, so that `{` begins a set.
#[must_use]
pub fn expects_value_after(last: Kind) -> bool {
    is_operator(last)
        || matches!(
            last,
            Kind::Equal
                | Kind::In
                | Kind::If
                | Kind::Via
                | Kind::Arrow
                | Kind::Require
                | Kind::LeftParen
                | Kind::LeftBracket
                | Kind::Comma
                | Kind::Colon
                | Kind::PathSeparator
        )
}

/// Whether a value can end with such a token.
#[must_use]
pub fn ends_value(last: Kind) -> bool {
    last.is_name()
        || matches!(
            last,
            Kind::Int
                | Kind::Str
                | Kind::Wrong
                | Kind::True
                | Kind::False
                | Kind::RightParen
                | Kind::RightBracket
                | Kind::RightBrace
        )
}

/// Whether a statement or declaration with this word has a body in braces.
#[must_use]
pub fn takes_body(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::For
            | Kind::If
            | Kind::Else
            | Kind::Block
            | Kind::Group
            | Kind::Pipeline
            | Kind::Proc
            | Kind::Program
            | Kind::Collective
            | Kind::Topology
            | Kind::Options
            | Kind::InPlace
            | Kind::Ensures
    )
}

/// Whether a token ends a list element or statement, or the bracket around it.
#[must_use]
pub fn ends_element(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::RightParen | Kind::RightBracket | Kind::RightBrace | Kind::Semicolon | Kind::Comma
    )
}

/// The tokens of the first line, and those after it.
#[must_use]
pub fn first_line<'a, 't>(tokens: &'a [Token<'t>]) -> (&'a [Token<'t>], &'a [Token<'t>]) {
    let end = tokens.iter().enumerate().position(|(at, token)| at > 0 && token.first);
    tokens.split_at(end.unwrap_or(tokens.len()))
}

/// Whether the tokens begin with `name in`.
#[must_use]
pub fn at_binder(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [name, next, ..] if name.kind.class() != Class::Mark && next.kind == Kind::In)
}

/// Whether a parenthesis encloses all that follows the first word of a statement, and more than a single value. The
/// parentheses of an operand for each value of a list belong to it: `(p in peers, k in 0..2: mem[p, k])`.
#[must_use]
pub fn encloses_statement(tokens: &[Token<'_>]) -> bool {
    let Some((open, after)) = tokens.split_first() else { return false };
    let Some(end) = behind(after.iter(), Kind::RightParen) else { return false };
    let ends = after.get(end).is_some_and(|next| next.kind == Kind::Semicolon);
    let mut depth = 0_u32;
    let several = after.iter().take(end).any(|token| {
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && matches!(token.kind, Kind::Comma | Kind::Relaxed)
    });
    open.kind == Kind::LeftParen && ends && several && !at_binder(after)
}

/// Whether a comma is followed by a word that follows operands, rather than by another operand.
#[must_use]
pub fn continues_with_modifier(tokens: &[Token<'_>]) -> bool {
    let kind_at = |at: usize| tokens.get(at).map(|token| token.kind);
    kind_at(0) == Some(Kind::Comma)
        && match kind_at(1) {
            Some(Kind::Relaxed | Kind::Via) => true,
            Some(Kind::Op | Kind::Sync | Kind::Slice) => kind_at(2) == Some(Kind::Equal),
            _ => false,
        }
}

/// How many tokens to look at from a mistake.
pub const MAX_LOOK: usize = 1000;

/// Whether the statement that continues here soon closes a bracket that was open before.
#[must_use]
pub fn closes(rest: &[Token<'_>], closer: Kind) -> bool {
    behind(rest.iter().take_while(|token| token.kind != Kind::Semicolon), closer).is_some()
}

/// How many tokens there are up to and including the closer of a bracket that was open before; none if it does not
/// come soon.
#[must_use]
pub fn behind<'t>(rest: impl Iterator<Item = &'t Token<'t>>, closer: Kind) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, token) in rest.take(MAX_LOOK).enumerate() {
        match token.kind {
            Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace => depth += 1,
            Kind::RightParen | Kind::RightBracket | Kind::RightBrace if depth > 0 => depth -= 1,
            kind if kind == closer => return Some(at + 1),
            Kind::RightParen | Kind::RightBracket | Kind::RightBrace => return None,
            _ => {}
        }
    }
    None
}

/// The word that was left out before tokens that can follow no other word; none if there are no such tokens here.
#[must_use]
pub fn left_out(tokens: &[Token<'_>]) -> Option<Kind> {
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    let is_name = |at| kind(at).is_some_and(Kind::is_name);
    match (kind(0)?, kind(1)?) {
        (_, Kind::PathSeparator) if is_name(0) => {
            let in_path =
                |token: &&Token<'_>| token.kind.is_name() || token.kind == Kind::PathSeparator;
            let end = tokens.iter().take_while(in_path).count();
            (kind(end) != Some(Kind::LeftParen)).then_some(Kind::Use)
        }
        (Kind::LeftBrace, _) if is_name(1) && kind(2) == Some(Kind::Equal) => Some(Kind::Options),
        (Kind::Name, Kind::LeftParen) => {
            let parameters = tokens.get(2..)?;
            let rest = parameters.get(behind(parameters.iter(), Kind::RightParen)?..)?;
            let (_, body) =
                rest.split_first().filter(|(brace, _)| brace.kind == Kind::LeftBrace)?;
            Some(holder(body))
        }
        _ => None,
    }
}

/// The declaration that a body belongs to, judging by the words that only one kind of declaration has.
#[must_use]
pub fn holder(body: &[Token<'_>]) -> Kind {
    let end = behind(body.iter(), Kind::RightBrace).unwrap_or(MAX_LOOK);
    let first = body.iter().take(end).find_map(|token| match token.kind {
        Kind::Collective | Kind::Block => Some(Kind::Program),
        Kind::Ensures => Some(Kind::Collective),
        _ => None,
    });
    first.unwrap_or(Kind::Proc)
}
