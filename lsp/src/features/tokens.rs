//! Semantic tokens: what each word is, according to the compiler's name resolution.
#![expect(clippy::wildcard_enum_match_arm, reason = "only few of the many token kinds matter here")]

use crate::analysis::{Analysis, Own};
use crate::database::{self, Db, Declaration};
use crate::declared::{Declared, declared};
use compiler::diagnostic::Code;
use compiler::source::{FileId, Span};
use compiler::syntax::token::{Class, Kind, Token, tokens};
use lsp_types::{
    Position, SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokensEdit,
    SemanticTokensLegend,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The kind of a token; the order is that of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Keyword,
    Verb,
    Function,
    Procedure,
    Collective,
    Program,
    Variable,
    Parameter,
    Property,
    Type,
    Word,
    Module,
    Number,
    Text,
    Comment,
    Operator,
    Scratch,
    Semaphore,
}

/// The name is declared here.
const DECLARATION: u32 = 1;
/// Cannot change: constants of a file.
const READONLY: u32 = 1 << 1;
/// Part of the language.
const BUILTIN: u32 = 1 << 2;

/// The names of the token types and modifiers that the numbers in tokens stand for.
#[must_use]
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: vec![
            SemanticTokenType::KEYWORD,
            SemanticTokenType::MACRO,
            SemanticTokenType::FUNCTION,
            SemanticTokenType::METHOD,
            SemanticTokenType::INTERFACE,
            SemanticTokenType::CLASS,
            SemanticTokenType::VARIABLE,
            SemanticTokenType::PARAMETER,
            SemanticTokenType::PROPERTY,
            SemanticTokenType::TYPE,
            SemanticTokenType::ENUM_MEMBER,
            SemanticTokenType::NAMESPACE,
            SemanticTokenType::NUMBER,
            SemanticTokenType::STRING,
            SemanticTokenType::COMMENT,
            SemanticTokenType::OPERATOR,
            SemanticTokenType::STRUCT,
            SemanticTokenType::EVENT,
        ],
        token_modifiers: vec![
            SemanticTokenModifier::DECLARATION,
            SemanticTokenModifier::READONLY,
            SemanticTokenModifier::DEFAULT_LIBRARY,
        ],
    }
}

/// The tokens of a file.
#[must_use]
pub fn all(analysis: &Analysis<'_>) -> Vec<SemanticToken> {
    tokens_in(analysis, 0..analysis.text().len() as u32)
}

/// The tokens of the declarations that a range of a file overlaps.
#[must_use]
pub fn tokens_in(analysis: &Analysis<'_>, range: Range<u32>) -> Vec<SemanticToken> {
    let lines = &analysis.lines;
    let mut last = Position::default();
    let mut encoded = Vec::new();
    for part in analysis.parts() {
        if part.end < range.start || range.end < part.start {
            continue;
        }
        for token in &*of_declaration(analysis.database, part.declaration) {
            let start = lines.position(part.start + token.start);
            // A comment can continue after a lone `\r`, but a semantic token ends with its line.
            let line_end = lines.start(start.line) + lines.line(start.line).len() as u32;
            let end = lines.position((part.start + token.end).min(line_end));
            let before = if start.line == last.line { last.character } else { 0 };
            encoded.push(SemanticToken {
                delta_line: start.line - last.line,
                delta_start: start.character - before,
                length: end.character.saturating_sub(start.character),
                token_type: token.role as u32,
                token_modifiers_bitset: token.modifiers,
            });
            last = start;
        }
    }
    encoded
}

/// The edits that turn one list of tokens into another; offsets count numbers, of which each token
/// has five.
#[must_use]
pub fn delta(old: &[SemanticToken], new: &[SemanticToken]) -> Vec<SemanticTokensEdit> {
    let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(rest);
    let after = after.take_while(|(old, new)| old == new).count();
    if before == old.len() && before == new.len() {
        return Vec::new();
    }
    let data = new.get(before..new.len() - after).unwrap_or_default().to_vec();
    vec![SemanticTokensEdit {
        start: 5 * before as u32,
        delete_count: 5 * (old.len() - before - after) as u32,
        data: Some(data),
    }]
}

/// A token of a declaration, with offsets relative to the declaration.
#[derive(Clone, Copy, Debug)]
struct RelativeToken {
    start: u32,
    end: u32,
    role: Role,
    modifiers: u32,
}

/// The tokens of a declaration, in order.
#[salsa::tracked(returns(clone), no_eq)]
fn of_declaration<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Vec<RelativeToken>> {
    let text = declaration.text(db);
    let cut = tokens(FileId(0), &text);
    let own = Own::new(db, declaration);
    let resolved = database::resolved(db, declaration);
    let definitions: BTreeMap<Span, Span> = resolved.uses.definitions.iter().copied().collect();
    let mut found = Vec::new();
    let mut add = |span: Span, role, modifiers| {
        found.push(RelativeToken { start: span.start, end: span.end, role, modifiers });
    };
    for (i, token) in cut.tokens.iter().enumerate() {
        let near = Near {
            before: i.checked_sub(1).and_then(|i| cut.tokens.get(i)),
            after: cut.tokens.get(i + 1),
            beyond: cut.tokens.get(i + 2),
        };
        let named = || {
            let place = own.place(token.span);
            let definition = definitions.get(&place).copied();
            let declares = definition.is_none_or(|definition| definition == place);
            let declared = declared(&resolved.unit, definition.unwrap_or(place))?;
            Some(named(&declared, declares))
        };
        let role = if token.kind.is_name() { named() } else { None };
        if let Some((role, modifiers)) = role.or_else(|| plain(token, near)) {
            add(token.span, role, modifiers);
        }
    }
    cut.comments.iter().for_each(|comment| add(comment.span, Role::Comment, 0));
    found.sort_by_key(|token| token.start);
    Arc::new(found)
}

/// The tokens before and after one, and the one after that.
#[derive(Clone, Copy)]
struct Near<'t> {
    before: Option<&'t Token<'t>>,
    after: Option<&'t Token<'t>>,
    beyond: Option<&'t Token<'t>>,
}

fn named(declared: &Declared<'_>, declares: bool) -> (Role, u32) {
    let here = if declares { DECLARATION } else { 0 };
    match declared {
        Declared::Parameter(..) => (Role::Parameter, here),
        Declared::Local(..) => (Role::Variable, here),
        Declared::Constant(..) => (Role::Variable, here | READONLY),
        Declared::Function(..) => (Role::Function, here),
        Declared::Procedure(..) => (Role::Procedure, here),
        Declared::Collective(..) => (Role::Collective, here),
        Declared::Topology(..) | Declared::Switch(_) => (Role::Scratch, here),
        Declared::Program(_) | Declared::Block(_) => (Role::Program, here),
        Declared::Scratch(..) => (Role::Scratch, here),
        Declared::Channel(..) => (Role::Property, here),
        Declared::Semaphore(..) => (Role::Semaphore, here),
    }
}

/// The role of a token that does not refer to a declaration.
fn plain(token: &Token<'_>, near: Near<'_>) -> Option<(Role, u32)> {
    match token.kind {
        Kind::Int => return Some((Role::Number, 0)),
        Kind::Str | Kind::OpenStr => return Some((Role::Text, 0)),
        Kind::Doc | Kind::InnerDoc | Kind::Comment => return Some((Role::Comment, 0)),
        Kind::Name => return word(token, near),
        Kind::Wrong => return None,
        _ if token.text.is_empty() => return None,
        _ => {}
    }
    match token.kind.class() {
        Class::Reserved => Some((Role::Keyword, 0)),
        Class::Verb => {
            Some(if is_ability(token, near) { (Role::Word, BUILTIN) } else { (Role::Verb, 0) })
        }
        Class::Word => word(token, near),
        Class::Mark => {
            let sign = grammar::of_kind(grammar::Kind::Operator);
            sign.into_iter().any(|word| word.text == token.text).then_some((Role::Operator, 0))
        }
    }
}

/// Whether a word is in a list of abilities, where it is the name of nothing else.
fn is_ability(token: &Token<'_>, near: Near<'_>) -> bool {
    let is_word = grammar::of_kind(grammar::Kind::Ability).any(|word| word.text == token.text);
    let before = near.before.is_some_and(|before| matches!(before.text, "[" | ","));
    is_word && before && near.after.is_some_and(|after| matches!(after.text, "]" | ","))
}

/// Whether a word is given a value.
fn is_set(near: Near<'_>) -> bool {
    near.after.is_some_and(|token| token.kind == Kind::Equal)
}

/// The role of a word that has a special meaning in its context.
fn word(token: &Token<'_>, near: Near<'_>) -> Option<(Role, u32)> {
    use grammar::Kind as Words;
    let before = near.before.map(|token| token.text);
    let after = near.after.map(|token| token.text);
    // `-> int[]` is a type, `-> chunk[0]` is an operand.
    let indexed = after == Some("[") && near.beyond.is_none_or(|token| token.text != "]");
    let is = |kind: Words| grammar::of_kind(kind).any(|word| word.text == token.text);
    if token.kind == Kind::Sync {
        return Some(if is_set(near) { (Role::Property, BUILTIN) } else { (Role::Verb, 0) });
    }
    if before == Some("::") || after == Some("::") {
        return Some((Role::Module, BUILTIN));
    }
    if before == Some(".") {
        return Some((if is(Words::Method) { Role::Function } else { Role::Property }, BUILTIN));
    }
    if is(Words::Type) && (before == Some(":") || before == Some("->") && !indexed) {
        return Some((Role::Type, BUILTIN));
    }
    if after == Some("(") && (is(Words::Function) || is(Words::Link)) {
        return Some((Role::Function, BUILTIN));
    }
    if after == Some("=") && (is(Words::Option) || is(Words::Clause)) {
        return Some((Role::Property, BUILTIN));
    }
    if is(Words::Builtin) {
        return Some((Role::Variable, READONLY | BUILTIN));
    }
    if is_ability(token, near) {
        return Some((Role::Word, BUILTIN));
    }
    if matches!(before, Some("{" | ",")) && is_set(near) {
        // A tag.
        return Some((Role::Property, 0));
    }
    let value = before == Some("=") && (is(Words::Value) || is(Words::Function));
    let accepted =
        is(Words::Attribute) || token.text == "unused" || Code::parse(token.text).is_some();
    if value || accepted {
        return Some((Role::Word, BUILTIN));
    }
    if matches!(token.kind, Kind::Input | Kind::Output) {
        return Some((Role::Property, BUILTIN));
    }
    is(Words::Clause).then_some((Role::Keyword, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(length: u32) -> SemanticToken {
        SemanticToken { length, ..SemanticToken::default() }
    }

    #[test]
    fn a_delta_is_what_lies_between_what_is_the_same() {
        let list = |lengths: &[u32]| lengths.iter().map(|n| token(*n)).collect::<Vec<_>>();
        let edit = |old: &[u32], new: &[u32]| {
            delta(&list(old), &list(new)).first().map(|edit| {
                let data = edit.data.clone().unwrap_or_default();
                (edit.start, edit.delete_count, data.iter().map(|t| t.length).collect::<Vec<_>>())
            })
        };
        assert_eq!(edit(&[1, 2, 3], &[1, 2, 3]), None);
        assert_eq!(edit(&[1, 2, 3], &[1, 9, 9, 3]), Some((5, 5, vec![9, 9])));
        assert_eq!(edit(&[1, 1], &[1]), Some((5, 5, vec![])));
        assert_eq!(edit(&[], &[4]), Some((0, 0, vec![4])));
    }
}
