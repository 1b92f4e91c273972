//! Text to tree. `parse` never fails: any text gives a tree and the reports about it.
//!
//! ```text
//! text -> token::tokens -> balance::balance -> parse::file -> placement::check, unseen::check
//!         \_____________ fault::settle: one report a mistake _____________/
//! ```

pub mod ast;
pub mod balance;
mod behind_comment;
pub mod fault;
pub mod foreign;
pub mod format;
mod habit;
pub mod imports;
pub mod lookahead;
pub mod parse;
pub mod placement;
mod swallowed;
pub mod token;
pub mod unseen;

use crate::diagnostic::Diagnostic;
use crate::phase::phase;
use crate::source::{FileId, LINE_ENDS};
use balance::{Balanced, balance};
use fault::Fault;
use lookahead::begins_statement;
use token::{Kind, Token};

/// Parses a file.
#[must_use]
pub fn parse(file: FileId, text: &str) -> (ast::File, Vec<Diagnostic>) {
    let cut = lexed(file, text);
    let mut parsing = phase("parse", "");
    parsing.count("tokens", || cut.tokens.len() as u64);
    let (tree, mut reports) = parse_tokens(file, text, &cut);
    swallowed::tell(&cut, &mut reports);
    behind_comment::insert(text, &cut, &mut reports);
    reports.extend(unseen::check(&cut));
    (tree, reports)
}

fn lexed(file: FileId, text: &str) -> token::Tokens<'_> {
    let mut lexing = phase("lex", "");
    lexing.count("bytes", || text.len() as u64);
    token::tokens(file, text)
}

fn parse_tokens(file: FileId, text: &str, cut: &token::Tokens<'_>) -> (ast::File, Vec<Diagnostic>) {
    let plain = balance(&cut.tokens, false);
    let told = |(tree, mut faults)| {
        habit::gather(&mut faults, cut);
        (tree, fault::reports(faults))
    };
    let attempt = |balanced: Balanced<'_>| {
        let (tree, found) = parse::file(file, &balanced.tokens, text.len() as u32);
        let mut faults = cut.faults.clone();
        faults.extend(balanced.faults);
        faults.extend(found);
        faults.extend(placement::check(&tree));
        (tree, fault::settle(faults, &starts(text, &balanced.tokens)))
    };
    let (lone, is_aligned) = (plain.lone_braces, plain.is_aligned);
    let first = attempt(plain);
    let unopened = first.1.iter().filter(|fault| fault.unopened).count();
    if first.1.is_empty() || (lone == 0 && unopened == 0 && is_aligned) {
        return told(first);
    }
    // Braces are missing, or there are as many too many as too few. The reading with fewer mistakes is probably the
    // intended one. The first reading takes the braces as they come: it reports several missing `}` in one place as one
    // mistake, and misses the `}` that belongs to a missing `{`.
    let second = attempt(balance(&cut.tokens, true));
    let hidden = lone + unopened.max(usize::from(!is_aligned));
    told(if second.1.len() <= first.1.len() + hidden { second } else { first })
}

/// Parses an expression on its own, such as a value on the command line.
#[must_use]
pub fn parse_expression(file: FileId, text: &str) -> (Option<ast::Expr>, Vec<Diagnostic>) {
    let (tokens, mut faults) = read(file, text);
    let (tree, found) = parse::expression(file, &tokens);
    faults.extend(found);
    (tree, fault::reports(fault::settle(faults, &[])))
}

/// Parses `name=value`, the way an option is set on the command line.
#[must_use]
pub fn parse_option(file: FileId, text: &str) -> (Option<ast::OptionSetting>, Vec<Diagnostic>) {
    let (tokens, mut faults) = read(file, text);
    let (tree, found) = parse::option(file, &tokens);
    faults.extend(found);
    (tree, fault::reports(fault::settle(faults, &[])))
}

/// Formats a text; if it has errors, returns the reports about them.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    format_to_width(text, format::WIDTH)
}

/// Formats a text for lines of a width; if it has errors, returns the reports about them.
pub fn format_to_width(text: &str, width: usize) -> Result<String, Vec<Diagnostic>> {
    let (file, reports) = parse(FileId(0), text);
    if reports.is_empty() { Ok(format::layout(&file, text, width)) } else { Err(reports) }
}

/// The tokens of a text, with balanced brackets.
fn read(file: FileId, text: &str) -> (Vec<Token<'_>>, Vec<Fault>) {
    let cut = token::tokens(file, text);
    let balanced = balance(&cut.tokens, false);
    let mut faults = cut.faults;
    faults.extend(balanced.faults);
    (balanced.tokens, faults)
}

/// The places where reading starts afresh after a mistake, in order: the ends of statements and bodies, and lines that
/// begin with the first word of a statement.
#[must_use]
pub fn fences(file: FileId, text: &str) -> Vec<u32> {
    starts(text, &token::tokens(file, text).tokens)
}

fn starts(text: &str, tokens: &[Token<'_>]) -> Vec<u32> {
    let fence = |(i, token): (usize, &Token<'_>)| {
        if matches!(token.kind, Kind::Semicolon | Kind::LeftBrace | Kind::RightBrace) {
            return Some(token.span.start);
        }
        let begins = token.first
            && (matches!(token.kind, Kind::Doc | Kind::Hash)
                || begins_statement(tokens.get(i..).unwrap_or_default()));
        let before = text.get(..token.span.start as usize).filter(|_| begins)?;
        before.rfind(LINE_ENDS).map(|end| end as u32)
    };
    tokens.iter().enumerate().filter_map(fence).collect()
}
