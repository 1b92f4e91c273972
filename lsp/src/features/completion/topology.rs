//! What can stand in a topology, and in the machine of a program.

use super::scope::{Level, Scope};
use super::{depth, expression, is_open, is_operand, items, library};
use compiler::resolve::import;
use compiler::syntax::token::{Kind, Token};
use lsp_types::CompletionItem;

/// What can follow the tokens of a statement that only topologies and machines have; none if it is another one.
pub(super) fn complete_statement(
    scope: &Scope<'_>,
    statement: &[Token<'_>],
) -> Option<Vec<CompletionItem>> {
    let first = statement.first()?.kind;
    let counts = |word: &Token<'_>| matches!(word.text, "ranks" | "ranks_per_node");
    if scope.level() == Level::Topology && matches!(statement, [word] if counts(word)) {
        return Some(expression(scope, &[]));
    }
    match (first, scope.level()) {
        (Kind::Topology, Level::Program) => Some(complete_machine(scope, statement)),
        (Kind::Link, Level::Topology) | (Kind::Ports, Level::Switch) => {
            Some(complete_link(scope, statement))
        }
        (_, Level::Switch) => complete_setting(scope, statement),
        _ => None,
    }
}

/// The number that is being typed, with the units that it can have here; none where rates and times have no place.
pub(super) fn complete_number(
    scope: &Scope<'_>,
    statement: &[Token<'_>],
    typed: &str,
) -> Option<Vec<CompletionItem>> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let digits = typed.get(..typed.find(|c| !is_digit(c)).unwrap_or(typed.len()))?;
    let first = statement.first()?.kind;
    let has_rates = matches!(scope.level(), Level::Topology | Level::Switch)
        || first == Kind::Topology && scope.level() == Level::Program;
    if digits.is_empty() || !has_rates {
        return None;
    }
    let fits = |unit: &str| match property(statement) {
        Some("bandwidth") => is_of_rate(unit),
        Some("latency") => is_of_time(unit),
        Some(_) | None => true,
    };
    Some(items::with_units(digits, fits))
}

fn is_of_rate(unit: &str) -> bool {
    unit.ends_with("ps")
}

fn is_of_time(unit: &str) -> bool {
    matches!(unit, "ns" | "us" | "ms")
}

/// The property whose value is at the end of some tokens.
fn property<'t>(statement: &[Token<'t>]) -> Option<&'t str> {
    let equal = statement.iter().rposition(|token| token.kind == Kind::Equal)?;
    let name = equal.checked_sub(1).and_then(|name| statement.get(name))?;
    Some(name.text)
}

/// The machine of a program: a topology with its arguments, the ranks that are used, and the links that are missing.
fn complete_machine(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let [_, name, rest @ ..] = statement else {
        let own = scope.topologies().into_iter();
        return own.chain(library::names(scope, import::Wanted::Topology)).collect();
    };
    let has = |kind: Kind| rest.iter().any(|token| token.kind == kind);
    if is_open(statement) {
        let switches =
            if has(Kind::Without) { scope.switches(Some(name.text)) } else { Vec::new() };
        return list_vertices(switches, scope, statement);
    }
    match rest.last().map(|token| token.kind) {
        Some(Kind::On) => expression(scope, statement),
        Some(Kind::Without) => Vec::new(),
        _ if has(Kind::Without) || !is_operand(statement) => Vec::new(),
        _ if has(Kind::On) => vec![items::word("without")],
        _ => ["on", "without"].map(items::word).into(),
    }
}

/// A link, or ports of a switch.
fn complete_link(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    if let Some(items) = complete_setting(scope, statement) {
        return items;
    }
    let last = statement.last().map(|token| token.kind);
    let has = |kind: Kind| statement.iter().any(|token| token.kind == kind);
    let is_joined = match statement.first().map(|token| token.kind) {
        Some(Kind::Link) => has(Kind::Arrow) || has(Kind::BothArrow),
        _ => has(Kind::RightParen) && depth(statement) == 0,
    };
    let begins = matches!(last, Some(Kind::Link | Kind::Arrow | Kind::BothArrow | Kind::Colon))
        || matches!(statement, [ports, open] if ports.kind == Kind::Ports && open.kind == Kind::LeftParen);
    if begins {
        return list_vertices(scope.switches(None), scope, statement);
    }
    if last == Some(Kind::Comma) && is_joined && depth(statement) == 0 {
        let given = |item: &CompletionItem| statement.iter().any(|token| token.text == item.label);
        return items::properties().into_iter().filter(|item| !given(item)).collect();
    }
    if is_joined || !is_operand(statement) || depth(statement) > 0 {
        return expression(scope, statement);
    }
    let words: &[&str] = match (has(Kind::In), has(Kind::Colon)) {
        (false, false) => &["in", "->", "<->"],
        (true, false) => &["if"],
        (_, true) => &["->", "<->"],
    };
    words.iter().map(|word| items::word(word)).collect()
}

/// The value of a property; none if no property is at the end of a statement.
fn complete_setting(scope: &Scope<'_>, statement: &[Token<'_>]) -> Option<Vec<CompletionItem>> {
    let equal = statement.iter().rposition(|token| token.kind == Kind::Equal)?;
    let value = statement.get(equal + 1..).unwrap_or_default();
    if property(statement) != Some("abilities") {
        return None;
    }
    let (first, last) =
        (value.first().map(|token| token.kind), value.last().map(|token| token.kind));
    if first.is_none() {
        return Some(vec![items::word("[memory, port]")]);
    }
    if first != Some(Kind::LeftBracket) || depth(value) != 1 {
        return None;
    }
    if !matches!(last, Some(Kind::LeftBracket | Kind::Comma)) {
        return Some(Vec::new());
    }
    // Only a switch multicasts and reduces.
    let of_switch = scope.level() == Level::Switch && statement.len() == value.len() + 2;
    let but: &[&str] = if of_switch { &[] } else { &["multicast", "reduce"] };
    let given = |item: &CompletionItem| value.iter().any(|token| token.text == item.label);
    let words = items::kind_words(grammar::Kind::Ability, but);
    Some(words.into_iter().filter(|item| !given(item)).collect())
}

/// Switches, and the numbers of ranks.
fn list_vertices(
    mut switches: Vec<CompletionItem>,
    scope: &Scope<'_>,
    statement: &[Token<'_>],
) -> Vec<CompletionItem> {
    if !is_operand(statement) {
        switches.extend(expression(scope, statement));
        return switches;
    }
    expression(scope, statement)
}
