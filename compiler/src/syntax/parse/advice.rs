//! What to write instead of a token that is out of place, judging by the token, the one before it, and what is expected.

use super::report::{Expected, is_word};
use crate::syntax::foreign;
use crate::syntax::lookahead::{ends_value, is_operator};
use crate::syntax::token::{Kind, Token, integer, other_unit};

/// The advice about `token`, which comes after `before`, where `wanted` is expected.
pub(super) fn advice(
    before: Option<&Token<'_>>,
    token: &Token<'_>,
    wanted: Expected,
) -> Option<String> {
    let behind = before.map_or(Kind::Semicolon, |before| before.kind);
    let touches = before.is_some_and(|before| before.span.end == token.span.start);
    if token.kind == Kind::Name
        && behind == Kind::Int
        && !touches
        && let Some(help) = unit_apart(before, token)
    {
        return Some(help);
    }
    let joined = if touches { joined(behind, token.kind) } else { None };
    let help = joined
        .or_else(|| behind_word(before, token.kind))
        .or_else(|| in_place_of(token.kind, wanted, behind))
        .or_else(|| comparison(token.kind))
        .or_else(|| in_brackets(token.kind, wanted))
        .or_else(|| foreign::behind_value(token.text).filter(|_| ends_value(behind)));
    help.map(str::to_owned)
}

/// The message about a unit that is separated from its number.
fn unit_apart(number: Option<&Token<'_>>, unit: &Token<'_>) -> Option<String> {
    let whole = format!("{}{}", number?.text, unit.text);
    match integer(&whole) {
        Some(_) => Some(format!("write a unit right after its number: `{whole}`")),
        None => other_unit(unit.text).map(str::to_owned),
    }
}

/// Two marks that make one in other languages.
fn joined(first: Kind, second: Kind) -> Option<&'static str> {
    Some(match (first, second) {
        (Kind::Star, Kind::Star) => {
            "write a power of two as `1 << n`; there is no operator for other powers"
        }
        (Kind::EqualEqual, Kind::Equal) => "values are compared with `==`",
        (Kind::Less, Kind::Greater) => "to test whether two values differ, write `a != b`",
        (Kind::RangeHalfOpen, Kind::Dot | Kind::Less) => foreign::RANGES,
        _ => return None,
    })
}

/// What follows a word.
fn behind_word(word: Option<&Token<'_>>, found: Kind) -> Option<&'static str> {
    let word = word?;
    Some(match (word.kind, found) {
        (Kind::Ensures, Kind::If) => {
            "say which values it is for with `for`: `ensures for c in 0..n if rank == 0 { .. }`"
        }
        (Kind::For, Kind::LeftParen) => {
            "write a loop as `for i in 0..n { .. }`, without parentheses"
        }
        (Kind::Let, Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace) => foreign::ONE,
        (Kind::Block, Kind::LeftBrace) => "give it a name: `block main { .. }`",
        (Kind::Sync, Kind::LeftParen) => "`sync` is a statement of its own: `sync;`",
        (Kind::PathSeparator, Kind::Star) => {
            "name what you import: `use std::collectives::{allgather, allreduce};`"
        }
        (Kind::Name, Kind::Equal) => return foreign::behind_value(word.text),
        _ if is_word(Some(word), "lambda") => foreign::LAMBDA,
        _ => return None,
    })
}

/// A token where something of another kind is expected.
fn in_place_of(found: Kind, wanted: Expected, behind: Kind) -> Option<&'static str> {
    Some(match (found, wanted) {
        (Kind::PathSeparator, _) => foreign::PATH,
        (Kind::Or, Expected::Thing(_)) => foreign::LAMBDA,
        (Kind::Relaxed, Expected::Thing(_)) => {
            "`relaxed` comes after the operands: `signal c relaxed;`"
        }
        (Kind::Str, Expected::Thing("a name")) => "write the name without quotes",
        (_, Expected::Thing("a block")) => {
            "name the blocks: `barrier a, b[*];`, `group work[*] { .. }`"
        }
        (_, Expected::Thing("`unit` or `chunks`")) => {
            "write `pipeline unit = 1MiB, chunks = 1 { .. }`"
        }
        (Kind::Via, Expected::Semicolon) => "`via` comes right after the operands",
        (Kind::RangeHalfOpen | Kind::RangeInclusive, Expected::Body) => foreign::STEP,
        (Kind::To, _) if ends_value(behind) => foreign::RANGES,
        (Kind::Colon, Expected::Body) => foreign::BRACES,
        (Kind::Comma, Expected::Body) if ends_value(behind) => {
            "one `block` opens one block, or those of one family; blocks share work in `group a, b { .. }`"
        }
        (Kind::Slash, wanted) if wanted != Expected::Semicolon && !is_operator(behind) => {
            "a comment begins with `//`, and ends at the end of the line"
        }
        _ => return None,
    })
}

fn comparison(found: Kind) -> Option<&'static str> {
    let compares = matches!(
        found,
        Kind::EqualEqual
            | Kind::NotEqual
            | Kind::Less
            | Kind::LessEqual
            | Kind::Greater
            | Kind::GreaterEqual
    );
    compares.then_some("comparisons do not chain: join two of them with `&&`")
}

/// What does not end what it is in.
fn in_brackets(found: Kind, wanted: Expected) -> Option<&'static str> {
    Some(match (found, wanted) {
        (Kind::Comma, Expected::Semicolon) => foreign::ONE,
        (Kind::Comma, Expected::ClosingOne(_)) => {
            "parentheses go around a single value; operands have none: `copy a -> b;`"
        }
        (Kind::Colon, Expected::Closing(Kind::RightBracket)) => {
            "write a range as `0..2`, or with a length as `0 ..+ 2`"
        }
        (_, Expected::Choice) => "to choose between two values, write `if c { a } else { b }`",
        _ => return None,
    })
}
