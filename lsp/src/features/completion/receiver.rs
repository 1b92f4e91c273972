//! The type of the expression before a dot, as far as tokens show it.
#![expect(clippy::wildcard_enum_match_arm, reason = "only few of the many token kinds matter here")]

use super::scope::Scope;
use compiler::syntax::token::{Kind, Token};

/// The type of the expression that some tokens end with; none if they do not show it.
pub(super) fn type_of(scope: &Scope<'_>, tokens: &[Token<'_>]) -> Option<String> {
    let (last, rest) = tokens.split_last()?;
    let after_dot = rest.last().is_some_and(|token| token.kind == Kind::Dot);
    match last.kind {
        Kind::Int => Some("int".to_owned()),
        Kind::RightParen => in_parentheses(scope, tokens),
        Kind::RightBracket => indexed(scope, tokens),
        Kind::RightBrace => Some("int[]".to_owned()),
        kind if kind.is_name() && after_dot => field(last.text).map(str::to_owned),
        kind if kind.is_name() => scope.type_of(last.text),
        _ => None,
    }
}

fn field(name: &str) -> Option<&'static str> {
    match name {
        "peers" | "node_peers" | "rail_peers" => Some("rank[]"),
        "node" | "local_rank" => Some("int"),
        _ => None,
    }
}

/// The type of a call, or of an expression in parentheses.
fn in_parentheses(scope: &Scope<'_>, tokens: &[Token<'_>]) -> Option<String> {
    let open = opening(tokens)?;
    let (before, inside) = (tokens.get(..open)?, tokens.get(open..)?);
    let Some((called, rest)) = before.split_last().filter(|(token, _)| token.kind.is_name()) else {
        let list = inside.iter().any(|token| is_range(token.kind));
        return Some(if list { "int[]" } else { "int" }.to_owned());
    };
    match (rest.split_last(), called.text) {
        (Some((dot, list)), "rev" | "step") if dot.kind == Kind::Dot => type_of(scope, list),
        (Some((dot, _)), "contains") if dot.kind == Kind::Dot => Some("bool".to_owned()),
        (Some((dot, _)), _) if dot.kind == Kind::Dot => Some("int".to_owned()),
        (_, "min" | "max" | "abs" | "sum" | "rank_at") => Some("int".to_owned()),
        (_, "all" | "any") => Some("bool".to_owned()),
        (_, name) => scope.result_of(name),
    }
}

/// The type of a member of a list or family, of a sublist, or of a list in brackets.
fn indexed(scope: &Scope<'_>, tokens: &[Token<'_>]) -> Option<String> {
    let open = opening(tokens)?;
    let (before, inside) = (tokens.get(..open)?, tokens.get(open..)?);
    let named = before.last().filter(|token| token.kind.is_name() || closes(token.kind));
    if named.is_none() {
        return Some("int[]".to_owned());
    }
    let ty = type_of(scope, before)?;
    let several = inside.iter().any(|token| is_range(token.kind));
    Some(match ty.strip_suffix("[]") {
        Some(member) if !several => member.to_owned(),
        Some(_) | None => ty,
    })
}

/// The index of the bracket that the last token closes.
fn opening(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate().rev() {
        match token.kind {
            kind if closes(kind) => depth += 1,
            Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

fn closes(kind: Kind) -> bool {
    matches!(kind, Kind::RightParen | Kind::RightBracket | Kind::RightBrace)
}

fn is_range(kind: Kind) -> bool {
    matches!(kind, Kind::RangeHalfOpen | Kind::RangeInclusive | Kind::RangeLength)
}
