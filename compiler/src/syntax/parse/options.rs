//! The options of a program, also in the forms that other languages would give them: separated by commas, in
//! parentheses, or a single one without braces. These are reported with the edits that make them right.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::bracket::{Parenthesized, parenthesized};
use super::expression::{Values, index};
use super::first_word::{unknown, word};
use super::item::braced;
use super::map::{map, map_without_equal};
use super::name::name;
use super::recover::{expect, semicolon};
use super::{
    Extra, Input, Note, Reader, Rule, before, kind_at, last, look, mark, note, rest, span,
};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::{OptionSetting, OptionValue};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::lookahead::{MAX_LOOK, begins_surely, behind};
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{EmptyErr, IterParser, Parser, choice, custom};

/// `options { a = 1; b = 2; }`
pub(super) fn options<'t>(values: &Values<'t>) -> Rule<'t, Vec<OptionSetting>> {
    let setting = map_without_equal(values)
        .or(option_setting(values).then_ignore(semicolon()).boxed())
        .boxed();
    let garbage = braced(setting.clone().map(Some).boxed());
    let within = |setting: Rule<'t, OptionSetting>| {
        let any = setting.map(Some).or(unknown("an option", garbage.clone()).map(|()| None));
        braced(any.boxed()).map(|(settings, _)| settings)
    };
    let end = mark(Kind::Semicolon).or(mark(Kind::Comma)).or_not();
    let one = map_without_equal(values).or(option_setting(values)).then_ignore(end);
    let listed = commas().ignore_then(within(one.boxed()));
    let settings = within(setting.boxed());
    let assigned = look(|tokens| {
        kind_at(tokens, 0) == Some(Kind::Equal) && kind_at(tokens, 1) == Some(Kind::LeftBrace)
    });
    let assigned = assigned
        .ignore_then(mark(Kind::Equal))
        .then(settings.clone())
        .then(mark(Kind::Semicolon).or_not())
        .map_with(|((equal, settings), end), e| {
            let fault = assigned_options(equal.span, end.map(|end| end.span));
            e.state().log.push(Note::Fault(Box::new(fault)));
            settings
        });
    word(Kind::Options)
        .ignore_then(choice((bare(values), listed, in_parentheses(values), assigned, settings)))
        .boxed()
}

/// `options a = 1;`, or with a `:` before the options, which may be on lines of their own.
fn bare<'t>(values: &Values<'t>) -> Rule<'t, Vec<OptionSetting>> {
    let is_here = look(|tokens| {
        let colon = usize::from(matches!(kind_at(tokens, 0), Some(Kind::Colon | Kind::Dot)));
        kind_at(tokens, colon).is_some_and(Kind::is_name)
            && kind_at(tokens, colon + 1) == Some(Kind::Equal)
    });
    let another = another_option().ignore_then(option_setting(values));
    let head = custom(|input: &mut Reader<'t, '_>| Ok(last(input)));
    let behind_them = custom(|input: &mut Reader<'t, '_>| Ok(rest(input)));
    is_here
        .ignore_then(head)
        .then(mark(Kind::Colon).or(mark(Kind::Dot)).or_not())
        .then(option_setting(values).map(|one| vec![one]).foldl(
            another.repeated(),
            |mut all, one| {
                all.push(one);
                all
            },
        ))
        .then(mark(Kind::Semicolon).or(mark(Kind::Comma)).or_not())
        .then(behind_them)
        .map_with(|((((head, colon), settings), _), after), e| {
            let fault = bare_options(colon, e.slice(), are_all(head, after));
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            settings
        })
        .boxed()
}

/// Whether no more options can follow, judging by what is `after` them: another statement, or a line that is indented
/// no further than that of `options`. Otherwise there may be more of them behind a mistake.
fn are_all(head: Option<&Token<'_>>, after: &[Token<'_>]) -> bool {
    let indent = head.map_or(0, |head| head.indent);
    let ends = |next: &Token<'_>| next.kind.is_closer() || next.first && next.indent <= indent;
    after.first().is_none_or(ends) || begins_surely(after)
}

/// What is between two options that are not in braces, if another one follows: on the same line, or on a line of its
/// own like the one before it.
fn another_option<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let line = before(input).iter().rev().take(MAX_LOOK).find(|token| token.first);
        let line = line.filter(|head| head.kind != Kind::Options).map(|head| head.indent);
        let tokens = rest(input);
        let mark = matches!(kind_at(tokens, 0), Some(Kind::Comma | Kind::Semicolon));
        let next = tokens.get(usize::from(mark)..).unwrap_or_default();
        let sets = kind_at(next, 1) == Some(Kind::Equal);
        let name = next.first().filter(|name| sets && name.kind.is_name());
        let name = name.ok_or_else(EmptyErr::default)?;
        let goes_on = if name.first { line == Some(name.indent) } else { mark };
        if !goes_on {
            return Err(EmptyErr::default());
        }
        if mark {
            input.next_ref();
        }
        Ok(())
    })
}

/// `options (a = 1, b = 2);`
fn in_parentheses<'t>(values: &Values<'t>) -> Rule<'t, Vec<OptionSetting>> {
    let between = mark(Kind::Comma).or(mark(Kind::Semicolon));
    let settings = option_setting(values).separated_by(between).allow_trailing().collect();
    parenthesized(settings.boxed(), |found| {
        options_in_parentheses(found, ending_commas(found.inner))
    })
    .then_ignore(mark(Kind::Semicolon).or_not())
    .boxed()
}

/// Reports the commas between options, all of them at once; fails if there are none. Consumes nothing.
fn commas<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let (brace, inner) = rest(input).split_first().ok_or_else(EmptyErr::default)?;
        let end = behind(inner.iter(), Kind::RightBrace).filter(|_| brace.kind == Kind::LeftBrace);
        let inner = end.and_then(|end| inner.get(..end)).ok_or_else(EmptyErr::default)?;
        let mut found = ending_commas(inner).map(|comma| comma.span).peekable();
        let first = *found.peek().ok_or_else(EmptyErr::default)?;
        let last = inner.iter().rev().nth(1);
        let open = last.filter(|last| !matches!(last.kind, Kind::Semicolon | Kind::Comma));
        let places = found.chain(open.map(Token::after));
        note(input, commas_for_semicolons(first, places));
        Ok(())
    })
}

/// The commas of `inner`, which ends with a closing bracket, that end an option: those inside a value do not.
fn ending_commas<'t>(inner: &'t [Token<'t>]) -> impl Iterator<Item = &'t Token<'t>> {
    let mut depth = 0u32;
    inner.iter().enumerate().filter_map(move |(at, token)| {
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        let ends = depth == 0 && inner.get(at..).is_some_and(ends_with_comma);
        ends.then_some(token)
    })
}

/// Whether the comma at the head of `tokens` is where an option ends, rather than inside its value.
fn ends_with_comma(tokens: &[Token<'_>]) -> bool {
    let next = kind_at(tokens, 1);
    let another = next.is_some_and(Kind::is_name) && kind_at(tokens, 2) == Some(Kind::Equal);
    kind_at(tokens, 0) == Some(Kind::Comma) && (another || next.is_some_and(Kind::is_closer))
}

/// `name = value`
pub(super) fn option_setting<'t>(values: &Values<'t>) -> Rule<'t, OptionSetting> {
    name()
        .then_ignore(expect(Kind::Equal, "and a value", &[Kind::Colon, Kind::EqualEqual]))
        .then(option_value(values))
        .map_with(|(name, value), e| OptionSetting { name, value, span: span(e) })
        .boxed()
}

fn option_value<'t>(values: &Values<'t>) -> Rule<'t, OptionValue> {
    let is_map = |tokens: Input<'t>| {
        let sets = matches!(kind_at(tokens, 2), Some(Kind::Equal | Kind::Colon));
        kind_at(tokens, 0) == Some(Kind::LeftBrace) && sets
    };
    look(is_map).ignore_then(map(values)).or(index(values).map(OptionValue::Index)).boxed()
}

/// Options that are not in braces, and the mark before them. Where they may not be `all` of them, they are not put in
/// braces.
fn bare_options(colon: Option<&Token<'_>>, tokens: &[Token<'_>], all: bool) -> Option<Fault> {
    let settings = tokens.get(usize::from(colon.is_some())..)?;
    let (first, last) = (settings.first()?, settings.last()?);
    let place = first.span.to(last.span);
    let report = Diagnostic::new(Code::E0105, place, "options belong in braces");
    let report = match all {
        true => {
            let open = match colon {
                Some(dot) if dot.kind == Kind::Dot => {
                    Edit { span: dot.span, text: " { ".to_owned() }
                }
                Some(colon) => Edit { span: colon.span, text: " {".to_owned() },
                None => Edit {
                    span: Span { end: first.span.start, ..first.span },
                    text: "{ ".to_owned(),
                },
            };
            let end = match colon.filter(|_| first.first) {
                Some(colon) => format!("\n{}}}", " ".repeat(colon.indent as usize)),
                None => " }".to_owned(),
            };
            let close = match last.kind {
                Kind::Semicolon => Edit { span: last.after(), text: end },
                Kind::Comma => Edit { span: last.span, text: format!(";{end}") },
                _ => Edit { span: last.after(), text: format!(";{end}") },
            };
            let edits = std::iter::once(open).chain(between(settings)).chain([close]);
            report.fix("write `options { .. }`", edits.collect())
        }
        false => report.help("write `options { .. }`"),
    };
    Some(Fault::new(place.start, Reach::Before, report))
}

/// The edits that end each option with `;` but the last one.
fn between(settings: &[Token<'_>]) -> impl Iterator<Item = Edit> {
    let mut depth = 0_u32;
    settings.windows(3).filter_map(move |three| {
        let [before, name, equal] = three else { return None };
        if before.kind.is_opener() {
            depth += 1;
        } else if before.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        let begins = depth == 0 && name.kind.is_name() && equal.kind == Kind::Equal;
        let place = match before.kind {
            Kind::Semicolon => None,
            Kind::Comma => Some(before.span),
            _ => Some(before.after()),
        };
        place.filter(|_| begins).map(|span| Edit { span, text: ";".to_owned() })
    })
}

/// A `=` between `options` and their braces, and the `;` behind them.
fn assigned_options(equal: Span, end: Option<Span>) -> Fault {
    let removed = std::iter::once(equal).chain(end);
    let edits = removed.map(|span| Edit { span, text: String::new() }).collect();
    let report = Diagnostic::new(Code::E0101, equal, "expected `{`, found `=`")
        .fix("write `options { .. }`", edits);
    Fault::new(equal.start, Reach::Before, report)
}

/// Commas after options, of which `first` is the first. `places` are those of all of them and the end of the last
/// option if nothing ends it.
fn commas_for_semicolons(first: Span, places: impl Iterator<Item = Span>) -> Fault {
    let edits = places.map(|span| Edit { span, text: ";".to_owned() }).collect();
    let report = Diagnostic::new(Code::E0101, first, "expected `;` after an option, found `,`")
        .fix("write `;` after each option", edits);
    Fault::new(first.start, Reach::Statement, report)
}

/// Options in parentheses, and the commas that end them.
fn options_in_parentheses<'t>(
    found: &Parenthesized<'t>,
    commas: impl Iterator<Item = &'t Token<'t>>,
) -> Option<Fault> {
    let (close, settings) = found.inner.split_last()?;
    let replace = |token: &Token<'_>, text: &str| Edit { span: token.span, text: text.to_owned() };
    // A space where the bracket and an option are on the same line.
    let open = if found.inner.first()?.first { "{" } else { "{ " };
    let end = if close.first { "}" } else { " }" };
    let last = settings.last()?;
    let mut edits = vec![replace(found.open, open)];
    edits.extend(commas.map(|comma| replace(comma, ";")));
    if last.kind != Kind::Semicolon && last.kind != Kind::Comma {
        edits.push(Edit { span: last.after(), text: ";".to_owned() });
    }
    edits.push(replace(close, end));
    let ended = found.next.filter(|next| next.kind == Kind::Semicolon);
    edits.extend(ended.map(|end| replace(end, "")));
    let place = found.open.span.to(close.span);
    let report = Diagnostic::new(Code::E0105, place, "options belong in braces");
    let report = match found.is_certain() {
        true => report.fix("write `options { .. }`", edits),
        false => report.help("write `options { .. }`, with `;` after each option"),
    };
    Some(Fault::new(place.start, Reach::Statement, report))
}
