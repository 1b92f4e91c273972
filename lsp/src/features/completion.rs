//! Completion: only what is legal at the cursor, such as peers, channels that can carry the operation, buffers
//! that it can use, and verbs that are allowed there.
//!
//! The text around the cursor is usually incomplete, so the context is determined from tokens; types come from
//! whatever could be resolved. Nothing is elaborated.
#![expect(clippy::wildcard_enum_match_arm, reason = "only few of the many token kinds matter here")]

mod directive;
mod imports;
mod insertion;
mod items;
mod library;
mod named;
mod procedures;
mod receiver;
mod scope;
mod support;
mod topology;
mod wanted;

use crate::analysis::Analysis;
use crate::features::signature;
use compiler::resolve::import;
use compiler::source::{FileId, LINE_ENDS};
use compiler::syntax::token::{Class, Kind, Token, tokens};
use grammar::verb::{ChannelKind, ChannelNeed, OperandForm, OperandRule, OperandSide, Verb};
use insertion::{Word, inserted, is_of_name};
use items::{field, kind_words, name, operation, snippet};
use lsp_types::{CompletionItem, CompletionItemKind};
pub use named::resolved;
use scope::{Level, Link, Scope};
pub use support::Support;
use wanted::{Wanted, builtin_result, int, result};

/// The completions at an offset, the most likely first.
#[must_use]
pub fn completions(analysis: &Analysis<'_>, offset: u32) -> Vec<CompletionItem> {
    let word = Word::around(analysis.text(), offset, is_of_name);
    let Some(part) = analysis.part_at(offset) else {
        return inserted(analysis, word, items::declarations());
    };
    let text = part.declaration.text(analysis.database);
    let at = offset - part.start;
    let mut cut = tokens(FileId(0), &text);
    let is_doc = |token: &Token<'_>| matches!(token.kind, Kind::Doc | Kind::InnerDoc);
    let docs = cut.tokens.iter().filter(|token| is_doc(token));
    if docs.chain(&cut.comments).any(|comment| goes_on(comment, &text, at)) {
        let settings = directive::settings(&text, &analysis.parsed(part).file, at);
        return inserted(analysis, word, settings);
    }
    cut.tokens.retain(|token| !is_doc(token));
    if is_in_other_comment(&cut.tokens, &text, at) {
        return Vec::new();
    }
    if let Some(string) = cut.tokens.iter().position(|token| is_within(token, &text, at)) {
        return in_string(analysis, &cut.tokens, string, offset);
    }
    let is_word = |token: &Token<'_>| token.kind.class() != Class::Mark || token.kind == Kind::Int;
    let typed = |token: &&Token<'_>| token.span.end < at || token.span.end == at && !is_word(token);
    let before: Vec<Token<'_>> = cut.tokens.iter().filter(typed).copied().collect();
    let scope = Scope::new(analysis, part, &before, &cut.tokens);
    let statement = scope.statement(&before);
    let typed = analysis.text().get(word.start as usize..word.cursor as usize).unwrap_or_default();
    let units = topology::complete_number(&scope, statement, typed);
    inserted(analysis, word, units.unwrap_or_else(|| at_place(&scope, statement)))
}

/// Whether a token that reaches to the end of its line, blanks included, reaches to an offset.
fn goes_on(token: &Token<'_>, text: &str, at: u32) -> bool {
    let until = text.get(token.span.start as usize..at as usize);
    token.span.start < at && until.is_some_and(|until| !until.contains(LINE_ENDS))
}

/// Whether an offset is in a comment of another language, which may not have ended yet.
fn is_in_other_comment(tokens: &[Token<'_>], text: &str, at: u32) -> bool {
    let begins = |pair: &[Token<'_>]| match pair {
        [slash, star] => slash.text == "/" && star.text == "*" && slash.span.end == star.span.start,
        _ => false,
    };
    let before = tokens.partition_point(|token| token.span.end <= at);
    let before = tokens.get(..before).unwrap_or_default();
    let end = before.last().map_or(0, |token| token.span.end);
    // One that ends is no token, so that it lies between two; of one that does not end, the marks are tokens.
    let gap = text.get(end as usize..).unwrap_or_default();
    let ended = gap.find("/*").and_then(|from| Some((from, gap.get(from..)?.find("*/")? + from)));
    before.windows(2).any(begins)
        || ended.is_some_and(|(from, to)| (from + 1..=to + 1).contains(&((at - end) as usize)))
}

/// Whether an offset is between the quotes of a string, or after the only quote of an unterminated one.
fn is_within(token: &Token<'_>, text: &str, at: u32) -> bool {
    let inner = token.text.get(1..).unwrap_or_default();
    let slashes =
        inner.trim_end_matches('"').bytes().rev().take_while(|byte| *byte == b'\\').count();
    let closed = inner.ends_with('"') && slashes % 2 == 0;
    let within = token.span.start < at && at < token.span.end;
    token.kind == Kind::Str && (within || !closed && goes_on(token, text, at))
}

/// Completions for the path of an import; other strings have none.
fn in_string(
    analysis: &Analysis<'_>,
    tokens: &[Token<'_>],
    string: usize,
    offset: u32,
) -> Vec<CompletionItem> {
    let before = string.checked_sub(1).and_then(|i| tokens.get(i)).map(|token| token.kind);
    if before != Some(Kind::Use) {
        return Vec::new();
    }
    let text = analysis.text();
    let is_of_path = |character: char| character != '"' && !LINE_ENDS.contains(&character);
    let path = Word::around(text, offset, is_of_path);
    let written = text.get(path.start as usize..offset as usize).unwrap_or_default();
    // An item is one step of the path.
    let step = Word::around(text, offset, |character| is_of_path(character) && character != '/');
    inserted(analysis, step, imports::paths(analysis, written))
}

/// `statement` is the statement before the cursor, without the word at the cursor.
fn at_place(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let Some(last) = statement.last() else { return at_start(scope) };
    let first = statement.first().map(|token| token.kind);
    match (first, last.kind) {
        (_, Kind::Dot) => return after_dot(scope, statement),
        (Some(Kind::Hash), _) => return attribute(statement),
        (Some(Kind::Use), _) => return imports::imports(scope.analysis(), statement),
        _ if is_new_name(scope, statement) => return Vec::new(),
        _ => {}
    }
    if scope.level() == Level::Options {
        return option_value(scope, statement);
    }
    let result = first == Some(Kind::Fn) && last.kind == Kind::Arrow;
    if last.kind == Kind::Colon && !scope.in_fold(statement) || result {
        return items::types(first);
    }
    if let Some(items) =
        dimension(scope, statement).or_else(|| topology::complete_statement(scope, statement))
    {
        return items;
    }
    match first {
        Some(Kind::Transfer(verb)) => transfer(scope, verb, statement),
        Some(Kind::Signal | Kind::Wait | Kind::Flush | Kind::Acquire | Kind::Release) => {
            synchronization(scope, statement)
        }
        Some(Kind::Barrier | Kind::Group) if is_open(statement) => expression(scope, statement),
        Some(Kind::Barrier | Kind::Group) => scope.blocks().map(name).collect(),
        Some(Kind::Block) if !is_open(statement) => match statement.len() {
            1 => scope.blocks().map(name).collect(),
            _ => Vec::new(),
        },
        Some(Kind::Channel) => channel(scope, statement),
        Some(Kind::Pipeline) => pipeline(scope, statement),
        Some(Kind::Collective) if scope.level() == Level::Program => implements(scope, statement),
        Some(Kind::Input | Kind::Output) if scope.level() == Level::InPlace => {
            shared(scope, statement)
        }
        Some(Kind::Ensures) if statement.len() == 1 => vec![items::word("for")],
        Some(_) if scope.level() == Level::Ensures => promised(scope, statement),
        Some(_) | None => expression(scope, statement),
    }
}

/// What an attribute can contain.
fn attribute(statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let given = |item: &CompletionItem| statement.iter().any(|token| token.text == item.label);
    match statement.last().map(|token| token.kind) {
        Some(Kind::LeftBracket) => vec![snippet("allow", "allow(${1:word}, \"${2:why}\")")],
        Some(Kind::LeftParen | Kind::Comma) => {
            items::accepted().into_iter().filter(|item| !given(item)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a name is being declared at the cursor: a parameter, a binder, or the name after the first word.
fn is_new_name(scope: &Scope<'_>, statement: &[Token<'_>]) -> bool {
    let (Some(first), Some(last)) = (statement.first(), statement.last()) else { return false };
    let declares = match first.kind {
        Kind::Fn | Kind::Proc | Kind::Program => true,
        Kind::Collective | Kind::Topology => scope.level() == Level::File,
        _ => false,
    };
    let named = matches!(first.kind, Kind::Let | Kind::Channel | Kind::Scratch | Kind::Semaphore);
    let named = named || first.kind == Kind::Switch && scope.level() == Level::Topology;
    if statement.len() == 1 && (declares || named) {
        return true;
    }
    let binders = matches!(first.kind, Kind::For | Kind::Ensures) && !is_open(statement);
    if binders && matches!(last.kind, Kind::For | Kind::Comma) {
        return true;
    }
    declares
        && in_parameters(statement)
        && depth(statement) == 1
        && match last.kind {
            Kind::LeftParen | Kind::Comma => true,
            // A name that is complete.
            kind => kind.is_name() && is_after_separator(statement),
        }
}

/// Whether the bracket after the name of a declaration is still open.
fn in_parameters(statement: &[Token<'_>]) -> bool {
    let begins = statement.get(2).is_some_and(|token| token.kind == Kind::LeftParen);
    let mut depths = statement.iter().skip(2).scan(0, |depth, token| {
        *depth += opens(token);
        Some(*depth)
    });
    begins && depths.all(|depth| depth > 0)
}

/// Whether the last token begins an argument or parameter.
fn is_after_separator(statement: &[Token<'_>]) -> bool {
    let [.., separator, _] = statement else { return false };
    matches!(separator.kind, Kind::LeftParen | Kind::Comma)
}

/// Inside the brackets of a declaration: a new name and its list, or the number of members.
fn dimension(scope: &Scope<'_>, statement: &[Token<'_>]) -> Option<Vec<CompletionItem>> {
    let [word, _, bracket, ..] = statement else { return None };
    let declares =
        matches!(word.kind, Kind::Channel | Kind::Scratch | Kind::Semaphore | Kind::Switch);
    if !declares || bracket.kind != Kind::LeftBracket || depth(statement) != 1 {
        return None;
    }
    let linked = statement.iter().any(|token| token.kind == Kind::Equal);
    let [.., before, last] = statement else { return None };
    let begins = |token: &Token<'_>| matches!(token.kind, Kind::LeftBracket | Kind::Comma);
    if linked {
        None
    } else if begins(last) {
        Some(std::iter::once(items::binder()).chain(scope.counts()).collect())
    } else if begins(before) && last.kind.is_name() {
        Some(vec![items::word("in")])
    } else {
        None
    }
}

/// A channel's peer and, after `to`, its other end.
fn channel(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let last = statement.last().map(|token| token.kind);
    let linked = statement.iter().any(|token| token.kind == Kind::Equal);
    if is_open(statement) {
        return match signature::called(statement) {
            Some(("switch", 1)) if last == Some(Kind::Comma) => {
                scope.buffers().map(|(buffer, detail)| items::buffer(buffer, detail)).collect()
            }
            _ => expression(scope, statement),
        };
    }
    match last {
        Some(Kind::Equal) => items::links(),
        Some(Kind::To) if linked => scope.ends().collect(),
        Some(Kind::RightParen | Kind::Name) if linked && !statement.iter().any(is_to) => {
            vec![items::word("to")]
        }
        _ => Vec::new(),
    }
}

fn is_to(token: &Token<'_>) -> bool {
    token.kind == Kind::To
}

/// The settings of a pipeline.
fn pipeline(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let last = statement.last().map(|token| token.kind);
    let given = |item: &CompletionItem| statement.iter().any(|token| token.text == item.label);
    match last {
        _ if is_open(statement) => expression(scope, statement),
        Some(Kind::Pipeline | Kind::Comma) => {
            items::windows().into_iter().filter(|item| !given(item)).collect()
        }
        Some(Kind::Int | Kind::RightParen | Kind::RightBracket) => Vec::new(),
        Some(kind) if kind.is_name() => Vec::new(),
        _ => expression(scope, statement),
    }
}

/// The collective of a program, with its arguments.
fn implements(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    if statement.len() == 1 {
        let own = scope.collectives().into_iter();
        return own.chain(library::names(scope, import::Wanted::Collective)).collect();
    }
    setting(statement).unwrap_or_else(|| expression(scope, statement))
}

/// The buffer that this one is a part of.
fn shared(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    match statement {
        [one, equal] if equal.kind == Kind::Equal => {
            let other = if one.kind == Kind::Input { "output" } else { "input" };
            vec![items::slice(other, "buffer")]
        }
        [_] => vec![items::word("=")],
        _ if is_open(statement) => expression(scope, statement),
        _ => Vec::new(),
    }
}

/// A promise: a chunk of this rank's output equals one of some rank's input, or a reduction of several.
fn promised(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let mut found = expression(scope, statement);
    if statement.last().is_some_and(|token| token.kind == Kind::EqualEqual) && !is_open(statement) {
        found.insert(0, items::reduction());
    }
    found
}

/// Where a statement or declaration begins.
fn at_start(scope: &Scope<'_>) -> Vec<CompletionItem> {
    let level = scope.level();
    let mut found = match level {
        Level::File => return items::declarations(),
        Level::Options => {
            let options = items::options().into_iter();
            return options.filter(|item| !scope.is_set(&item.label)).collect();
        }
        Level::Collective => return items::clauses(),
        Level::InPlace => return items::shared(),
        Level::Ensures => return items::promises(),
        Level::Topology => return items::topology_clauses(),
        Level::Switch => return items::switch_parts(),
        Level::Program => items::program_words(),
        Level::Block | Level::Round | Level::Group | Level::Procedure | Level::Window => Vec::new(),
    };
    if scope.follows_if() {
        found.push(items::otherwise());
    }
    found.extend(items::statements(level));
    if matches!(level, Level::Block | Level::Round | Level::Group | Level::Procedure) {
        let packets =
            |item: &CompletionItem| Verb::find(&item.label).is_some_and(Verb::moves_packets);
        let verbs = operation(grammar::Kind::Transfer).into_iter();
        found.extend(verbs.filter(|item| level != Level::Round || !packets(item)));
    }
    if matches!(level, Level::Block | Level::Round | Level::Procedure) {
        found.extend(operation(grammar::Kind::Synchronise));
    }
    found.extend(scope.procedures());
    found.extend(library::names(scope, import::Wanted::Procedure));
    found
}

/// Fields, buffers and methods of the expression before a dot.
fn after_dot(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let ty = statement.split_last().and_then(|(_, before)| receiver::type_of(scope, before));
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

/// An operation that moves data: sources, destinations, channels, and what can come next.
fn transfer(scope: &Scope<'_>, verb: Verb, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    if let Some(values) = setting(statement) {
        return values;
    }
    if is_open(statement) {
        return expression(scope, statement);
    }
    let has = |text: &str| statement.iter().any(|token| token.text == text);
    let finished = is_finished(statement);
    let row = verb.row();
    let needs_channels = row.channel_need() != ChannelNeed::Never;
    let goes = |kind: ChannelKind| needs_channels && row.channels.contains(&kind);
    if has("via") {
        let fits = move |kind: Link| match kind {
            Link::Memory => goes(ChannelKind::Memory),
            Link::Port => goes(ChannelKind::Port),
            Link::Switch => false,
        };
        return match finished {
            true => items::modifiers(Kind::Transfer(verb)),
            false => scope.channels(&fits).collect(),
        };
    }
    if finished {
        let modifiers = || items::modifiers(Kind::Transfer(verb));
        let mut found = if has("->") { modifiers() } else { vec![items::word("->")] };
        if has("->") && needs_channels {
            found.insert(0, items::word("via"));
        }
        return found;
    }
    operands(scope, if has("->") { &row.destinations } else { &row.sources })
}

/// Chunks in the places where a rule has operands.
fn operands(scope: &Scope<'_>, rule: &OperandRule) -> Vec<CompletionItem> {
    let kinds = || [rule.first, rule.others].into_iter();
    let on = |side: OperandSide| kinds().filter(move |kind| kind.sides.contains(&side));
    // Packets are in scratch only.
    let only_packets = |side| on(side).all(|kind| kind.form == OperandForm::Packets);
    let mut found = Vec::new();
    if on(OperandSide::Local).next().is_some() {
        let packed = only_packets(OperandSide::Local);
        let buffers = scope.buffers().filter(|(buffer, _)| !packed || !is_plain(buffer));
        found.extend(buffers.map(|(buffer, detail)| items::slice(buffer, detail)));
    }
    if on(OperandSide::Remote).next().is_some() {
        let packed = only_packets(OperandSide::Remote);
        for peer in scope.ranks() {
            let buffers = scope.buffers().filter(|(buffer, _)| !packed || !is_plain(buffer));
            found.extend(
                buffers.map(|(buffer, detail)| items::slice(&format!("{peer}.{buffer}"), detail)),
            );
        }
    }
    let is_switched = on(OperandSide::Switch).next().is_some();
    if is_switched || rule.with_group.contains(&OperandSide::Switch) {
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
        return expression(scope, statement);
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

/// The words after `sync =`, `op =` and `in_place =`.
fn setting(statement: &[Token<'_>]) -> Option<Vec<CompletionItem>> {
    let [.., name, equal] = statement else { return None };
    match (name.text, equal.kind) {
        ("sync", Kind::Equal) => Some(["before", "after", "both", "none"].map(items::word).into()),
        ("op", Kind::Equal) => Some(["sum", "min", "max"].map(items::word).into()),
        ("in_place", Kind::Equal) => Some(["true", "false"].map(items::word).into()),
        _ => None,
    }
}

fn option_value(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let name = statement.first().map_or("", |token| token.text);
    match name {
        "protocol" => ["Simple", "LL"].map(items::word).into(),
        "replication" => ["interleaved", "none"].map(items::word).into(),
        "fuse" | "auto_sync" | "split_blocks" | "double_scratch" | "reuse_resources" => {
            ["true", "false"].map(items::word).into()
        }
        _ => expression(scope, statement),
    }
}

/// Values, those of the wanted type first: names in scope, builtin names, at the start of an argument the parameter names
/// that it can be given by, and functions. Where a rank is wanted, there is nothing of another type.
fn expression(scope: &Scope<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    if is_operand(statement) {
        return after_operand(statement);
    }
    let wanted = Wanted::at(scope, statement);
    let argument =
        statement.last().is_some_and(|token| matches!(token.kind, Kind::LeftParen | Kind::Comma));
    let values = wanted.sorted(scope.values().collect(), |item| item.detail.clone());
    let (mut found, others) = wanted.parted(values);
    match wanted.ty() {
        Some("channel[]") => found.extend(scope.lists(Kind::Channel)),
        Some("semaphore[]") => found.extend(scope.lists(Kind::Semaphore)),
        Some("channel") => found.extend(scope.members(Kind::Channel)),
        Some("semaphore") => found.extend(scope.members(Kind::Semaphore)),
        Some(_) | None => {}
    }
    found.extend(others);
    if wanted.is_index_of_family {
        found.push(items::word("*"));
    }
    // A topology is of no rank.
    let in_topology = matches!(scope.level(), Level::Topology | Level::Switch);
    let builtin = kind_words(grammar::Kind::Builtin, &[]).into_iter();
    let builtin = builtin.filter(|item| !in_topology && !scope.binds(&item.label)).collect();
    found.extend(wanted.sorted(builtin, |item| scope.type_of(&item.label).or_else(int)));
    if argument {
        let names = signature::names(scope.analysis(), scope.part(), statement);
        found.extend(names.iter().map(|name| items::argument(name)));
    }
    found.extend(wanted.sorted(scope.functions().collect(), result));
    // Only a promise as a whole can be `begun(..)` or `same(..)`.
    let others: &[&str] =
        if in_topology { &["begun", "same", "rank_at"] } else { &["begun", "same"] };
    let functions = kind_words(grammar::Kind::Function, others).into_iter();
    let functions =
        functions.map(|item| CompletionItem { kind: Some(CompletionItemKind::FUNCTION), ..item });
    found.extend(wanted.sorted(functions.collect(), builtin_result));
    found.extend(wanted.sorted(library::names(scope, import::Wanted::Function), result));
    found
}

/// Whether a bracket is open in a statement.
fn is_open(statement: &[Token<'_>]) -> bool {
    depth(statement) > 0
}

/// How many brackets are open in a statement.
fn depth(statement: &[Token<'_>]) -> i32 {
    statement.iter().map(opens).sum()
}

/// One for a bracket that opens, and minus one for a bracket that closes.
fn opens(token: &Token<'_>) -> i32 {
    match token.kind {
        Kind::LeftBracket | Kind::LeftParen | Kind::LeftBrace => 1,
        Kind::RightBracket | Kind::RightParen | Kind::RightBrace => -1,
        _ => 0,
    }
}

/// Whether an expression ends with something that no other operand can follow.
fn is_operand(statement: &[Token<'_>]) -> bool {
    statement.last().is_some_and(|token| {
        token.kind.is_name()
            || matches!(token.kind, Kind::Int | Kind::Str | Kind::RightBracket | Kind::RightParen)
    })
}

/// What follows a complete operand: `in` after the name of a binder, and `if` after the list of a loop.
fn after_operand(statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let before = |back: usize| statement.len().checked_sub(back).and_then(|at| statement.get(at));
    let named = before(1).is_some_and(|token| token.kind.is_name());
    let folds =
        |token: &Token<'_>| matches!(token.text, "sum" | "min" | "max" | "all" | "any" | "reduce");
    let is_binder = named
        && match before(2).map(|token| token.kind) {
            Some(Kind::For | Kind::LeftBrace) => true,
            Some(Kind::Comma) => !is_open(statement) && is_loop(statement),
            Some(Kind::LeftBracket) => before(3).is_none_or(|token| !token.kind.is_name()),
            Some(Kind::LeftParen) => {
                before(3).is_none_or(|token| folds(token) || !token.kind.is_name())
            }
            _ => false,
        };
    let has = |kind: Kind| statement.iter().any(|token| token.kind == kind);
    if is_binder {
        vec![items::word("in")]
    } else if is_loop(statement) && !is_open(statement) && has(Kind::In) && !has(Kind::If) {
        vec![items::word("if")]
    } else {
        Vec::new()
    }
}

fn is_loop(statement: &[Token<'_>]) -> bool {
    statement.iter().any(|token| token.kind == Kind::For)
}

/// Whether an operand is complete: it ends with a name or a bracket.
fn is_finished(statement: &[Token<'_>]) -> bool {
    statement.len() > 1
        && statement.last().is_some_and(|token| {
            token.kind.is_name()
                || matches!(token.kind, Kind::RightBracket | Kind::RightParen | Kind::Relaxed)
        })
}
