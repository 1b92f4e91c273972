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
    let compared = ends_value(behind) && !matches!(wanted, Expected::Thing(_));
    let joined = if touches { joined(behind, token.kind) } else { None };
    let help = joined
        .or_else(|| behind_word(before, token.kind))
        .or_else(|| in_place_of(token.kind, wanted, behind))
        .or_else(|| comparison(token.kind).filter(|_| compared))
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
        (Kind::Plus, Kind::Equal) => "to add to memory, use `reduce b, a -> b;`",
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
        (Kind::Scratch, Kind::LeftBracket) => "give the region a name: `scratch inbox[4];`",
        (Kind::Channel, Kind::LeftBracket | Kind::Equal) => {
            "give the channel a name: `channel c[p in peers] = memory(p);`"
        }
        (Kind::Semaphore, Kind::LeftBracket | Kind::Equal) => {
            "give the semaphore a name: `semaphore ready[p in peers];`"
        }
        (Kind::Block, Kind::Int | Kind::Str | Kind::LeftParen | Kind::LeftBracket) => {
            "give it a name: `block main { .. }`, or `block work[0] { .. }` in a family"
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
        (Kind::Str, Expected::Thing("`sum`, `min` or `max`")) => "write the word without quotes",
        (Kind::Colon, Expected::Thing("an index")) => foreign::RANGES,
        (Kind::Minus, Expected::Thing("`(`")) => "a name consists of letters, digits and `_`",
        (Kind::And | Kind::Star, Expected::Thing("a source" | "a destination")) => {
            "there are no pointers: `output[0]` is a chunk, and `output[0..4]` are four"
        }
        (Kind::LeftParen, Expected::Body) if behind == Kind::Name => {
            "a block has no arguments; how many threads it has is an option: `options { threads = 512; }`"
        }
        (Kind::Str, Expected::Thing("a name")) => "write the name without quotes",
        (_, Expected::Thing("a block")) => {
            "name the blocks: `barrier a, b[*];`, `group work[*] { .. }`"
        }
        (_, Expected::Thing("`unit` or `chunks`")) => {
            "write `pipeline unit = 1MiB, chunks = 1 { .. }`"
        }
        (Kind::Str, Expected::Thing("an option")) => {
            "names have no quotes, and `;` ends an option: `options { threads = 512; }`"
        }
        (Kind::RightBracket, Expected::Thing("an index")) => {
            "`x[..]` is the whole of `x`, and `x[*]` each member"
        }
        (Kind::Star, Expected::Thing("a dimension")) => {
            "say what the family is indexed by: `[p in peers]`, or `[4]` for 0 to 3"
        }
        (Kind::LeftBracket, Expected::Thing("a type")) => {
            "a list's type is that of its members, and `[]`: `int[]`"
        }
        (Kind::Arrow, Expected::Body) => {
            "only functions have results: `fn f(x: int) -> int = x + 1;`"
        }
        (Kind::Arrow, Expected::Semicolon) => {
            "a field comes after a dot: `p.output[0]` is the chunk of rank `p`"
        }
        (Kind::Less, Expected::Thing("a declaration")) => {
            "a program is no XML: it begins with `program name(ranks: int = 8) { .. }`"
        }
        (Kind::LeftBrace, Expected::Thing("a declaration")) => {
            "a program is no JSON; if this is a plan, `cclc decompile` makes a program of it"
        }
        (Kind::Via, Expected::Semicolon | Expected::Thing("a source")) => {
            "`via` comes right after the operands"
        }
        (Kind::RangeHalfOpen | Kind::RangeInclusive, Expected::Body) => foreign::STEP,
        (Kind::To, _) if ends_value(behind) && behind != Kind::RightBracket => foreign::RANGES,
        (Kind::Colon, Expected::Body) => foreign::RANGES,
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
