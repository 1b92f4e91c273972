//! Completion in imports: modules of the library, files next to this one, and the names in either.

use super::items::{name, snippet, word};
use super::named::Named;
use crate::analysis::Analysis;
use crate::database::Db as _;
use compiler::resolve::index::{Entry, index};
use compiler::source::FileId;
use compiler::syntax::token::{Kind, Token};
use compiler::syntax::{self, ast};
use lsp_types::{CompletionItem, CompletionItemKind};
use std::fs;

/// What can follow `use` and the words after it.
pub(super) fn imports(analysis: &Analysis<'_>, statement: &[Token<'_>]) -> Vec<CompletionItem> {
    let words: Vec<&str> = statement.iter().skip(1).map(|token| token.text).collect();
    match (words.as_slice(), statement.last().map(|token| token.kind)) {
        ([], _) => vec![snippet("std", "std::")],
        (["std", "::"], _) => library().into_iter().map(|module| name(&module)).collect(),
        // After `as` comes a new name.
        (_, Some(Kind::As)) | (["std"], _) => Vec::new(),
        (["std", "::", _, "::", ..], Some(last)) if last.is_name() => renamed(&words),
        (["std", "::", _, "::", rest @ ..], _) => declared(analysis, &words, rest),
        ([_, "::", ..], Some(last)) if last.is_name() => renamed(&words),
        ([path, "::", rest @ ..], _) if path.starts_with('"') => declared(analysis, &words, rest),
        _ => Vec::new(),
    }
}

/// `as`, after a complete name that has not been renamed yet.
fn renamed(words: &[&str]) -> Vec<CompletionItem> {
    match words {
        [.., "as", _] => Vec::new(),
        _ => vec![word("as")],
    }
}

/// The names that the module declares and the import does not list yet.
fn declared(analysis: &Analysis<'_>, words: &[&str], named: &[&str]) -> Vec<CompletionItem> {
    let module = words.iter().position(|word| *word == "{").unwrap_or(words.len());
    let module = words.get(..module).unwrap_or_default().concat();
    let module = module.trim_end_matches("::");
    let (file, _) = syntax::parse(FileId(0), &format!("use {module}::it;"));
    let Some(ast::ItemKind::Use(used)) = file.items.into_iter().next().map(|item| item.kind) else {
        return Vec::new();
    };
    let Some(name_of) = analysis.imported(&used) else { return Vec::new() };
    let Ok(text) = analysis.database.document(&name_of).text(analysis.database) else {
        return Vec::new();
    };
    let entries = index(&syntax::parse(FileId(0), &text).0).entries.into_iter();
    let entries = entries.filter(|entry| !named.contains(&entry.name.as_str()));
    let item = |Entry { kind, name: text, .. }: Entry| {
        let item = CompletionItem { detail: Some(kind.noun().to_owned()), ..name(&text) };
        let named = Named { here: text.clone(), file: name_of.clone(), name: text };
        named.introduced(analysis, item)
    };
    entries.map(item).collect()
}

/// The modules of the library that can be imported from.
fn library() -> Vec<String> {
    let modules = stdlib::FILES.iter().map(|(name, _)| *name);
    modules.filter(|name| !name.contains('/')).map(str::to_owned).collect()
}

/// The source files and folders with which a path can continue; `written` is the part of it before the
/// cursor.
pub(super) fn paths(analysis: &Analysis<'_>, written: &str) -> Vec<CompletionItem> {
    let folder = written.rfind('/').map_or("", |last| written.get(..=last).unwrap_or(written));
    let Some(place) = analysis.workspace.folder(&analysis.name(), folder) else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir(&place) else { return Vec::new() };
    let item = |label: String, kind: CompletionItemKind| CompletionItem {
        kind: Some(kind),
        ..name(&label)
    };
    let mut found: Vec<CompletionItem> = Vec::new();
    for entry in entries.flatten() {
        let (Ok(label), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
            continue;
        };
        let own =
            matches!(folder, "" | "./") && analysis.name().rsplit('/').next() == Some(&*label);
        let hidden = label.starts_with('.') || label == "target";
        if kind.is_dir() && !hidden {
            found.push(item(label + "/", CompletionItemKind::FOLDER));
        } else if kind.is_file() && label.ends_with(".ccl") && !own {
            found.push(item(label, CompletionItemKind::FILE));
        }
    }
    found.sort_by(|a, b| a.label.cmp(&b.label));
    found
}
