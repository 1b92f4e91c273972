//! Completion in comments that set parameters of the program below them: `// ccl: ranks=16, chunks=2`.
//!
//! In: the text of a declaration, its tree, and an offset in one of its comments. Out: the parameters that no such
//! comment sets yet, or the values of one that is true or false; nothing in other comments.

use super::items::{name, word};
use crate::cut;
use crate::declared::program_of;
use crate::directive::{Assignment, Fate, assignments, comments};
use compiler::syntax::ast::{self, Parameter, Program};
use lsp_types::{CompletionItem, CompletionItemKind};

/// What a comment can set at an offset of a declaration's text.
pub(super) fn settings(text: &str, file: &ast::File, at: u32) -> Vec<CompletionItem> {
    // A file that is not cut has several programs in one declaration.
    let (start, piece) = cut::piece(text, at.saturating_sub(1));
    let (at, end) = ((at - start) as usize, start + piece.len() as u32);
    let inside = |program: &&Program| (start..end).contains(&program.name.span.start);
    let Some(program) = file.items.iter().filter_map(program_of).find(inside) else {
        return Vec::new();
    };
    let counting = comments(piece, true);
    let counting = counting.iter().filter(|comment| comment.fate == Fate::Counts);
    let goes_on = |body: usize| piece.get(body..at).filter(|typed| !typed.contains(['\n', '\r']));
    let Some(typed) = counting.clone().find_map(|comment| goes_on(comment.body)) else {
        return Vec::new();
    };
    let begun = assignments(typed).pop().filter(|_| !typed.trim_end().ends_with(','));
    if let Some(Assignment { name, value: Some(_), .. }) = begun {
        let is_bool = |ty: &ast::Type| ty.name.text == "bool" && ty.lists == 0;
        let set = program.parameters.iter().find(|parameter| parameter.name.text == name);
        if set.and_then(|parameter| parameter.ty.as_ref()).is_some_and(is_bool) {
            return ["true", "false"].map(word).into();
        }
        return Vec::new();
    }
    let others = counting.flat_map(|comment| comment.assignments());
    let others = others.filter(|(from, one)| at < *from || from + one.text.len() < at);
    let set: Vec<&str> = others.map(|(_, one)| one.name).collect();
    let missing = program.parameters.iter().filter(|one| !set.contains(&one.name.text.as_str()));
    missing.map(|parameter| assignment(parameter, text)).collect()
}

/// A parameter with the beginning of its assignment, and its declaration as the detail.
fn assignment(parameter: &Parameter, text: &str) -> CompletionItem {
    let ty = parameter.ty.as_ref().map(|ty| ty.span);
    let default = parameter.default.as_ref().map(|value| value.span);
    let declared = [ty, default].into_iter().flatten().reduce(|first, last| first.to(last));
    let declared = declared.and_then(|span| text.get(span.start as usize..span.end as usize));
    CompletionItem {
        kind: Some(CompletionItemKind::PROPERTY),
        detail: declared.map(str::to_owned),
        insert_text: Some(format!("{}=", parameter.name.text)),
        ..name(&parameter.name.text)
    }
}
