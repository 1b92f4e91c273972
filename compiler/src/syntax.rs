//! Text to tree. `parse` never fails: any text gives a tree and the reports about it.
//!
//! ```text
//! text -> token::tokens -> balance::balance -> parse::file -> placement::check
//!         \______________ fault::settle: one report a mistake ______________/
//! ```

pub mod ast;
pub mod balance;
pub mod fault;
pub mod format;
pub mod parse;
pub mod placement;
pub mod token;

use crate::diagnostic::Diagnostic;
use crate::source::FileId;
use fault::Fault;
use token::{Kind, Token};

/// Parses a file.
#[must_use]
pub fn parse(file: FileId, text: &str) -> (ast::File, Vec<Diagnostic>) {
    let (tokens, mut faults) = read(file, text);
    let (tree, found) = parse::file(file, &tokens, text.len() as u32);
    faults.extend(found);
    faults.extend(placement::check(&tree));
    (tree, fault::settle(faults, &fences(&tokens)))
}

/// Parses an expression that stands alone, as a value on the command line does.
#[must_use]
pub fn parse_expression(file: FileId, text: &str) -> (Option<ast::Expr>, Vec<Diagnostic>) {
    let (tokens, mut faults) = read(file, text);
    let (tree, found) = parse::expression(file, &tokens);
    faults.extend(found);
    (tree, fault::settle(faults, &[]))
}

/// Parses `name=value`, as an option on the command line is set.
#[must_use]
pub fn parse_option(file: FileId, text: &str) -> (Option<ast::OptionSetting>, Vec<Diagnostic>) {
    let (tokens, mut faults) = read(file, text);
    let (tree, found) = parse::option(file, &tokens);
    faults.extend(found);
    (tree, fault::settle(faults, &[]))
}

/// The tokens of a text, with brackets that match.
fn read(file: FileId, text: &str) -> (Vec<Token<'_>>, Vec<Fault>) {
    let cut = token::tokens(file, text);
    let (tokens, unmatched) = balance::balance(&cut.tokens);
    let mut faults = cut.faults;
    faults.extend(unmatched);
    (tokens, faults)
}

/// The places where reading starts anew after a mistake.
fn fences(tokens: &[Token<'_>]) -> Vec<u32> {
    let ends = |kind| matches!(kind, Kind::Semicolon | Kind::LeftBrace | Kind::RightBrace);
    tokens.iter().filter(|token| ends(token.kind)).map(|token| token.span.start).collect()
}
