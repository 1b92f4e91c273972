//! What can be written at the cursor, and only what is legal there: peers, channels that can carry the operation,
//! buffers that lie where it wants them, and verbs that the place allows.
//!
//! The text around the cursor is usually broken, so the place is judged by tokens; types come from what could be
//! resolved. Nothing is elaborated.
#![expect(clippy::wildcard_enum_match_arm, reason = "of the many kinds of tokens few matter here")]

mod items;
mod library;
mod scope;

use crate::analysis::Analysis;
use compiler::resolve::import::Wanted;
use compiler::source::FileId;
use compiler::syntax::token::{Class, Kind, Token, tokens};
use items::{field, kind_words, name, operation, snippet};
use lsp_types::{CompletionItem, CompletionItemKind, Documentation, MarkupContent};
use scope::{Level, Link, Scope};

/// What can be written at an offset.
#[must_use]
pub fn completions(analysis: &Analysis<'_>, offset: u32) -> Vec<CompletionItem> {
    let Some(part) = analysis.part_at(offset) else { return items::declarations() };
    let text = part.declaration.text(analysis.database);
    let at = offset - part.start;
    let mut cut = tokens(FileId(0), &text);
    let is_doc = |token: &Token<'_>| matches!(token.kind, Kind::Doc | Kind::InnerDoc);
    let docs = cut.tokens.iter().filter(|token| is_doc(token)).map(|token| token.span);
    let mut comments = docs.chain(cut.comments.iter().map(|comment| comment.span));
    if comments.any(|comment| comment.start < at && at <= comment.end) {
        return Vec::new();
    }
    cut.tokens.retain(|token| !is_doc(token));
    let is_word = |token: &Token<'_>| token.kind.class() != Class::Mark || token.kind == Kind::Int;
    let typed = |token: &&Token<'_>| token.span.end < at || token.span.end == at && !is_word(token);
    let before: Vec<Token<'_>> = cut.tokens.iter().filter(typed).copied().collect();
    let scope = Scope::new(analysis, part, &before, &cut.tokens);
    at_place(&scope, scope.statement(&before))
}

/// The same for a client that inserts texts as they are.
#[must_use]
pub fn plain(items: Vec<CompletionItem>) -> Vec<CompletionItem> {
    let plain = |item: CompletionItem| CompletionItem {
        insert_text: None,
        insert_text_format: None,
        ..item
    };
    items.into_iter().map(plain).collect()
}

/// The same for a client that shows documentation as it is.
#[must_use]
pub fn unmarked(mut items: Vec<CompletionItem>) -> Vec<CompletionItem> {
    for item in &mut items {
        if let Some(Documentation::MarkupContent(MarkupContent { value, .. })) = &item.documentation
        {
            item.documentation = Some(Documentation::String(value.clone()));
        }
    }
    items
}

/// `statement` is what was written of the statement, the word at the cursor aside.
fn at_place(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let last = statement.last().map(|token| token.text);
    let first = statement.first().map(|token| token.kind);
    match (first, last) {
        (_, Some(".")) => return after_dot(scope, statement),
        (Some(Kind::Hash), Some("[")) => {
            return vec![snippet("allow", "allow(${1:word}, \"${2:why}\")")];
        }
        (Some(Kind::Hash), Some("(")) => return kind_words(grammar::Kind::Attribute, &["allow"]),
        (Some(Kind::Use), _) => return items::imports(statement),
        (_, None) => return at_start(scope),
        (Some(_) | None, Some(_)) => {}
    }
    if scope.level() == Level::Options {
        return option_value(scope, statement);
    }
    if last == Some(":") && !scope.in_fold(statement) {
        return kind_words(grammar::Kind::Type, &[]);
    }
    match first {
        Some(kind) if items::is_transfer(kind) => transfer(scope, kind, statement),
        Some(Kind::Signal | Kind::Wait | Kind::Flush | Kind::Acquire | Kind::Release) => {
            synchronization(scope, statement)
        }
        Some(Kind::Barrier | Kind::Group) if is_open(statement) => expression(scope),
        Some(Kind::Barrier | Kind::Group) => scope.blocks().map(name).collect(),
        Some(Kind::Channel) if last == Some("=") => items::links(),
        Some(Kind::Collective) if statement.len() == 1 && scope.level() == Level::Program => {
            let own = scope.collectives().into_iter();
            own.chain(library::names(scope, Wanted::Collective)).collect()
        }
        Some(_) | None => expression(scope),
    }
}

/// Where a statement or declaration begins.
fn at_start(scope: &Scope<'_>) -> Vec<CompletionItem> {
    let level = scope.level();
    let mut found = match level {
        Level::File => return items::declarations(),
        Level::Options => return items::options(),
        Level::Collective => return items::clauses(),
        Level::Program => items::program_words(),
        Level::Block | Level::Group | Level::Procedure | Level::Window => Vec::new(),
    };
    found.extend(items::statements(level));
    if matches!(level, Level::Block | Level::Group | Level::Procedure) {
        found.extend(operation(grammar::Kind::Transfer));
    }
    if matches!(level, Level::Block | Level::Procedure) {
        found.extend(operation(grammar::Kind::Synchronise));
    }
    found.extend(scope.procedures());
    if level != Level::Program {
        found.extend(library::names(scope, Wanted::Procedure));
    }
    found
}

/// Fields, buffers and methods of what stands before a dot.
fn after_dot(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let receiver = statement.len().checked_sub(2).and_then(|i| statement.get(i));
    let named = receiver.filter(|token| token.kind.is_name()).map(|token| token.text);
    let ty = named.and_then(|name| scope.type_of(name));
    let buffers = || scope.buffers().map(|(buffer, detail)| field(buffer, detail));
    match ty.as_deref() {
        Some(ty) if ty.ends_with("[]") => kind_words(grammar::Kind::Method, &[]),
        Some("channel") => buffers().collect(),
        Some("rank" | "int") | None => {
            let fields = kind_words(grammar::Kind::Field, &[]);
            let methods = match ty {
                Some(_) => Vec::new(),
                None => kind_words(grammar::Kind::Method, &[]),
            };
            buffers().chain(fields).chain(methods).collect()
        }
        Some(_) => Vec::new(),
    }
}

/// An operation that moves data: sources, destinations, channels, and what can follow.
fn transfer(scope: &Scope<'_>, verb: Kind, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    if let Some(values) = setting(statement) {
        return values;
    }
    if is_open(statement) {
        return expression(scope);
    }
    let has = |text: &str| statement.iter().any(|token| token.text == text);
    let finished = is_finished(statement);
    let form = grammar::verbs::forms(verb.text()).collect::<Vec<_>>();
    let goes = |link: &str| form.iter().any(|form| form.channels.contains(link));
    if has("via") {
        let fits = move |kind: Link| match kind {
            Link::Memory => goes("memory"),
            Link::Port => goes("port"),
            Link::Switch => false,
        };
        return match finished {
            true => items::modifiers(verb),
            false => scope.channels(&fits).collect(),
        };
    }
    if finished {
        let mut found = if has("->") { items::modifiers(verb) } else { vec![items::word("->")] };
        if has("->") && (goes("memory") || goes("port")) {
            found.insert(0, items::word("via"));
        }
        return found;
    }
    let sides = form.iter().map(|form| if has("->") { form.destinations } else { form.sources });
    let sides: Vec<&str> = sides.collect();
    operands(scope, &sides)
}

/// Chunks that lie where one of the sides says.
fn operands(scope: &Scope<'_>, sides: &[&str]) -> Vec<CompletionItem> {
    let says =
        |words: &[&str]| sides.iter().any(|side| words.iter().any(|word| side.contains(word)));
    let mut found = Vec::new();
    let packed = !says(&["here"]) && says(&["scratch"]);
    if says(&["here"]) || sides.contains(&"scratch") || says(&["then scratch"]) {
        let buffers = scope.buffers().filter(|(buffer, _)| !packed || !is_plain(buffer));
        found.extend(buffers.map(|(buffer, detail)| items::slice(buffer, detail)));
    }
    if says(&["peer"]) {
        let scratch = sides.iter().all(|side| side.contains("scratch"));
        for peer in scope.ranks() {
            let buffers = scope.buffers().filter(|(buffer, _)| !scratch || !is_plain(buffer));
            found.extend(
                buffers.map(|(buffer, detail)| items::slice(&format!("{peer}.{buffer}"), detail)),
            );
        }
    }
    if says(&["switch"]) {
        for (channel, _) in scope.links().filter(|(_, link)| *link == Link::Switch) {
            found.push(items::dotted(channel));
        }
    }
    found
}

fn is_plain(buffer: &str) -> bool {
    matches!(buffer, "input" | "output")
}

/// An operation on channels or semaphores.
fn synchronization(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    if let Some(values) = setting(statement) {
        return values;
    }
    if is_open(statement) {
        return expression(scope);
    }
    let verb = statement.first().map_or(Kind::Signal, |token| token.kind);
    if is_finished(statement) {
        return items::modifiers(verb);
    }
    match verb {
        Kind::Acquire | Kind::Release => scope.semaphores().collect(),
        Kind::Flush => scope.channels(&|kind| kind == Link::Port).collect(),
        _ => scope.channels(&|kind| kind != Link::Switch).collect(),
    }
}

/// The words behind `sync =` and `op =`.
fn setting(statement: &[Token<'_>]) -> Option<Vec<CompletionItem>> {
    let [.., name, equal] = statement else { return None };
    match (name.text, equal.kind) {
        ("sync", Kind::Equal) => Some(["before", "after", "both", "none"].map(items::word).into()),
        ("op", Kind::Equal) => Some(["sum", "min", "max"].map(items::word).into()),
        _ => None,
    }
}

fn option_value(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let name = statement.first().map_or("", |token| token.text);
    match name {
        "protocol" => ["Simple", "LL"].map(items::word).into(),
        "replication" => ["interleaved", "none"].map(items::word).into(),
        "fuse" | "auto_sync" | "double_scratch" | "reuse_resources" => {
            ["true", "false"].map(items::word).into()
        }
        _ => expression(scope),
    }
}

/// Values: names in scope, names of the language, functions.
fn expression(scope: &Scope<'_>) -> Vec<CompletionItem> {
    let mut found: Vec<CompletionItem> = scope.values().collect();
    found.extend(scope.functions());
    let builtin = kind_words(grammar::Kind::Builtin, &[]).into_iter();
    found.extend(builtin.filter(|item| !scope.binds(&item.label)));
    let functions = kind_words(grammar::Kind::Function, &[]).into_iter();
    found.extend(
        functions.map(|item| CompletionItem { kind: Some(CompletionItemKind::FUNCTION), ..item }),
    );
    found.extend(library::names(scope, Wanted::Function));
    found
}

/// Whether a bracket is open in a statement.
fn is_open(statement: &[Token<'_>]) -> bool {
    let depth = statement.iter().fold(0_i32, |depth, token| match token.kind {
        Kind::LeftBracket | Kind::LeftParen | Kind::LeftBrace => depth + 1,
        Kind::RightBracket | Kind::RightParen | Kind::RightBrace => depth - 1,
        _ => depth,
    });
    depth > 0
}

/// Whether an operand is complete: it ends with a name or a bracket.
fn is_finished(statement: &[Token<'_>]) -> bool {
    statement.len() > 1
        && statement.last().is_some_and(|token| {
            token.kind.is_name()
                || matches!(token.kind, Kind::RightBracket | Kind::RightParen | Kind::Relaxed)
        })
}
