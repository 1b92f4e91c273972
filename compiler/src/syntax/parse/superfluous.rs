//! Words and marks that other languages have before a name, before a brace or after a name, and that mean nothing here:
//! each is reported with the edit that removes it.

use super::report::shown;
use super::{Extra, Input, Reader, kind_at, note, rest};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::foreign;
use crate::syntax::lookahead::MAX_LOOK;
use crate::syntax::token::{Class, Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, custom};

/// A word before the channels or operands of an operation, as in `signal all mem;`.
pub(super) fn filler<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let is_operand =
            matches!(kind_at(tokens, 1), Some(Kind::Name | Kind::Input | Kind::Output))
                && !tokens.get(1).is_some_and(|next| next.first);
        let word = tokens.first().filter(|word| !word.first && foreign::is_filler(word.text));
        let word = word.filter(|_| is_operand).ok_or_else(EmptyErr::default)?;
        let fault = match word.text {
            "any" => chosen(word),
            _ => removable(word, tokens.get(1), "has no meaning here"),
        };
        let fault = match word.text {
            "all" | "each" | "every" => {
                let report = fault.report.help("`c[*]` is each member of the family `c`");
                Fault { report, ..fault }
            }
            _ => fault,
        };
        note(input, fault);
        input.next_ref();
        Ok(())
    })
}

/// A word that asks for one operand of several. Without it the operation would be about all of them, so it is not
/// removed.
fn chosen(word: &Token<'_>) -> Fault {
    let report =
        Diagnostic::new(Code::E0101, word.span, format!("{} has no meaning here", shown(word)))
            .help(
                "an operation is about each of its operands; to mean a single one, name it: `c[0]`",
            );
    Fault::new(word.span.start, Reach::Before, report)
}

/// A word before the name that a loop binds: `for let i in xs`, `for int i in xs`.
pub(super) fn word_before_binder<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let binds =
            kind_at(tokens, 1).is_some_and(Kind::is_name) && kind_at(tokens, 2) == Some(Kind::In);
        let word = tokens.first().filter(|word| !word.first && word.kind.class() != Class::Mark);
        let word = word.filter(|_| binds).ok_or_else(EmptyErr::default)?;
        note(input, removable(word, tokens.get(1), "has no meaning here"));
        input.next_ref();
        Ok(())
    })
}

/// The type of what is declared, before its name.
pub(super) fn type_before_name<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let names = tokens.get(1).is_some_and(|next| next.kind.is_name() && !next.first);
        let word = tokens.first().filter(|word| !word.first && names && is_type(word));
        let word = word.ok_or_else(EmptyErr::default)?;
        note(input, removable(word, tokens.get(1), "is not part of this declaration"));
        input.next_ref();
        Ok(())
    })
}

/// The type of what is declared, after its name: `: int`.
pub(super) fn type_behind_name<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let [colon, word, ..] = rest(input) else { return Err(EmptyErr::default()) };
        if colon.kind != Kind::Colon || !is_type(word) {
            return Err(EmptyErr::default());
        }
        let place = colon.span.to(word.span);
        let report = Diagnostic::new(Code::E0101, place, "only parameters and `let` have types")
            .fix("remove the type", vec![Edit { span: place, text: String::new() }]);
        note(input, Fault::new(place.start, Reach::Before, report));
        input.next_ref();
        input.next_ref();
        Ok(())
    })
}

/// Whether a word is a type, here or in other languages, or what makes a channel.
fn is_type(word: &Token<'_>) -> bool {
    matches!(
        word.text,
        "int" | "rank" | "bool" | "chunk" | "buffer" | "float" | "half" | "memory" | "port"
    ) || foreign::r#type(word.text).is_some()
}

/// The colon of `:=`.
pub(super) fn colon_before_equal<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let [colon, equal, ..] = rest(input) else { return Err(EmptyErr::default()) };
        if (colon.kind, equal.kind) != (Kind::Colon, Kind::Equal) {
            return Err(EmptyErr::default());
        }
        note(input, removable(colon, None, "has no meaning before `=`"));
        input.next_ref();
        Ok(())
    })
}

/// The value that other languages give to memory where they declare it: `= 0`.
pub(super) fn initial_value<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let equal = tokens.first().filter(|equal| equal.kind == Kind::Equal && !equal.first);
        let equal = equal.ok_or_else(EmptyErr::default)?;
        let (value, after) =
            tokens.split_at_checked(length_of_value(tokens)).ok_or_else(EmptyErr::default)?;
        // Between several lines there may be comments, and without `;` this may not be all of it.
        let is_whole = after.first().is_some_and(|end| end.kind == Kind::Semicolon && !end.first)
            && !value.iter().any(|token| token.first);
        let place = equal.span.to(value.last().map_or(equal.span, |last| last.span));
        let report =
            Diagnostic::new(Code::E0101, place, "a region of scratch has no initial value")
                .note("it keeps what the launch before has left in it");
        let report = match is_whole {
            true => report.fix("remove it", vec![Edit { span: place, text: String::new() }]),
            false => report.help("remove it"),
        };
        note(input, Fault::new(place.start, Reach::Statement, report));
        for _ in value {
            input.next_ref();
        }
        Ok(())
    })
}

/// How many tokens of a value there are: up to `;` or the end of a line, outside of brackets.
fn length_of_value(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_u32;
    let goes_on = |token: &&Token<'_>| {
        let inside = depth > 0;
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        inside || !(token.first || token.kind == Kind::Semicolon || token.kind.is_closer())
    };
    tokens.iter().take(MAX_LOOK).take_while(goes_on).count()
}

/// A `:` or `=` between the word of a declaration and the name that follows it.
pub(super) fn mark_before_name<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let is_mark = matches!(kind_at(tokens, 0), Some(Kind::Colon | Kind::Equal));
        let next = tokens.get(1).filter(|next| is_mark && next.kind.is_name() && !next.first);
        let mark = tokens.first().filter(|mark| next.is_some() && !mark.first);
        let mark = mark.ok_or_else(EmptyErr::default)?;
        note(input, removable(mark, None, "has no meaning before a name"));
        input.next_ref();
        Ok(())
    })
}

/// What other languages have before the `{` of a body: `:`, `=`, `then`, `do`.
pub(super) fn before_brace<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let is_word =
            |word: &Token<'_>| matches!(word.text, "then" | "do" | "begin" | "=>" | ":" | "=");
        let found = tokens.first().filter(|word| !word.first && is_word(word));
        let opens = kind_at(tokens, 1) == Some(Kind::LeftBrace);
        let found = found.filter(|_| opens).ok_or_else(EmptyErr::default)?;
        // A colon touches what is before it, so the blank behind it stays.
        let brace = tokens.get(1).filter(|_| found.kind != Kind::Colon);
        note(input, removable(found, brace, "has no meaning before `{`"));
        input.next_ref();
        Ok(())
    })
}

/// A token that is removed, with the blank before the `next` one; anything else between them, as a comment, stays.
fn removable(token: &Token<'_>, next: Option<&Token<'_>>, why: &str) -> Fault {
    let is_near = |next: &&Token<'_>| !next.first && next.span.start <= token.span.end + 1;
    let end = next.filter(is_near).map_or(token.span.end, |next| next.span.start);
    let edit = Edit { span: Span { end, ..token.span }, text: String::new() };
    let report = Diagnostic::new(Code::E0101, token.span, format!("{} {why}", shown(token)))
        .fix(format!("remove {}", shown(token)), vec![edit]);
    Fault::new(token.span.start, Reach::Before, report)
}
