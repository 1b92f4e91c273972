//! "Organize imports": in each group the imports are sorted, those from one module are joined, and unused ones go.
//!
//! In: a text without syntax errors, and the offsets of the imported names that nothing uses. Out: edits. A group is a
//! run of imports on consecutive lines; blank lines, comments, documentation and attributes end it, and an import with
//! one of these inside or beside it stays as it is, except for unused names.

use compiler::diagnostic::Edit;
use compiler::resolve::usage;
use compiler::source::{FileId, LINE_ENDS, Span, next_line};
use compiler::syntax;
use compiler::syntax::ast::{Item, ItemKind, Use, UseName, UseRoot};
use compiler::syntax::token::{Token, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// Imports with more characters have a line for each name.
const WIDTH: usize = 100;

/// The edits; none where nothing changes.
pub(super) fn organize(text: &str, unused: &BTreeSet<u32>) -> Vec<Edit> {
    let (file, reports) = syntax::parse(FileId(0), text);
    if !reports.is_empty() {
        return Vec::new();
    }
    let comments = tokens(FileId(0), text).comments;
    let mut edits: Vec<Edit> = Vec::new();
    let mut group: Vec<Import<'_>> = Vec::new();
    for item in &file.items {
        let ItemKind::Use(use_) = &item.kind else { continue };
        let import = Import { span: item.span, use_ };
        let is_bare = item.docs.is_empty() && item.attributes.is_empty();
        let is_plain = is_bare && !has_comment(item.span, text, &comments);
        let joins =
            is_plain && group.last().is_some_and(|last| follows(text, last.span, item.span));
        if !joins {
            edits.extend(organized(&std::mem::take(&mut group), text, unused));
        }
        if is_plain {
            group.push(import);
        } else {
            add_removals(item, use_, text, unused, &mut edits);
        }
    }
    edits.extend(organized(&group, text, unused));
    edits
}

/// An import and where it is.
struct Import<'t> {
    span: Span,
    use_: &'t Use,
}

/// Whether there is a comment in an import, or behind it on its line.
fn has_comment(span: Span, text: &str, comments: &[Token<'_>]) -> bool {
    let behind = text.get(span.end as usize..).unwrap_or_default();
    let line = span.end + behind.find(LINE_ENDS).unwrap_or(behind.len()) as u32;
    comments.iter().any(|comment| span.start <= comment.span.start && comment.span.start < line)
}

/// Whether there is nothing between two imports, blank lines included.
fn follows(text: &str, before: Span, after: Span) -> bool {
    let between = text.get(before.end as usize..after.start as usize).unwrap_or_default();
    let rest = between.trim_start_matches([' ', '\t']);
    let rest = next_line(rest).unwrap_or(rest);
    rest.chars().all(|c| matches!(c, ' ' | '\t'))
}

/// The edit that organizes a group; none if it is in order.
fn organized(group: &[Import<'_>], text: &str, unused: &BTreeSet<u32>) -> Option<Edit> {
    let (first, last) = (group.first()?, group.last()?);
    let span = first.span.to(last.span);
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for import in group {
        let used = import.use_.names.iter().filter(|name| is_used(name, unused)).map(written);
        for name in used {
            modules.entry(module(import.use_, text)).or_default().insert(name);
        }
    }
    let lines: Vec<String> = modules.iter().map(|(module, names)| line(module, names)).collect();
    let before = text.get(span.start as usize..span.end as usize)?;
    let after = lines.join(if text.contains("\r\n") { "\r\n" } else { "\n" });
    if bare(before) == bare(&after) {
        return None;
    }
    let span = if after.is_empty() { with_line(span, text) } else { span };
    Some(Edit { span, text: after })
}

fn is_used(name: &UseName, unused: &BTreeSet<u32>) -> bool {
    !unused.contains(&name.known_as().span.start)
}

/// A name and its alias.
fn written(name: &UseName) -> String {
    match &name.alias {
        Some(alias) => format!("{} as {}", name.name.text, alias.text),
        None => name.name.text.clone(),
    }
}

/// What is before the names: `std::patterns`.
fn module(use_: &Use, text: &str) -> String {
    let root = match &use_.root {
        UseRoot::Name(name) => name.span,
        UseRoot::File(path) => path.span,
    };
    let root = text.get(root.start as usize..root.end as usize).unwrap_or_default();
    let path = use_.path.iter().map(|part| part.text.as_str());
    std::iter::once(root).chain(path).collect::<Vec<_>>().join("::")
}

/// An import of some names.
fn line(module: &str, names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let [name] = names.as_slice() {
        return format!("use {module}::{name};");
    }
    let line = format!("use {module}::{{{}}};", names.join(", "));
    if line.chars().count() <= WIDTH {
        return line;
    }
    format!("use {module}::{{\n    {},\n}};", names.join(",\n    "))
}

/// A text without what does not matter: blanks, and commas before braces.
fn bare(text: &str) -> String {
    text.split_whitespace().collect::<String>().replace(",}", "}")
}

/// A span with the rest of its line, and the blank line after it if one is before it, too.
fn with_line(span: Span, text: &str) -> Span {
    let before = text.get(..span.start as usize).unwrap_or_default();
    let rest = text.get(span.end as usize..).unwrap_or_default();
    let mut behind = rest;
    if let Some(next) = next_line(behind.trim_start_matches([' ', '\t'])) {
        behind = next;
    }
    let above = before.strip_suffix('\n').unwrap_or(before);
    if above.is_empty() || above.ends_with('\n') || above.ends_with("\n\r") {
        behind = next_line(behind).unwrap_or(behind);
    }
    Span { end: span.end + (rest.len() - behind.len()) as u32, ..span }
}

/// Adds the edits that remove the unused names of an import, each apart from the others.
fn add_removals(
    item: &Item,
    import: &Use,
    text: &str,
    unused: &BTreeSet<u32>,
    edits: &mut Vec<Edit>,
) {
    let unused: Vec<bool> = import.names.iter().map(|name| !is_used(name, unused)).collect();
    let reports = usage::unused_imports(item, import, &unused, text);
    for edit in reports.into_iter().filter_map(|report| report.fix).flat_map(|fix| fix.edits) {
        if edits.iter().all(|known| known.span.end <= edit.span.start) {
            edits.push(edit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::organize;
    use compiler::repair;
    use std::collections::BTreeSet;

    /// The text after its imports are organized; names that begin with `un` are unused.
    fn organized(text: &str) -> String {
        let unused = text.match_indices("un").map(|(at, _)| at as u32);
        let edits = organize(text, &unused.collect::<BTreeSet<u32>>());
        repair::apply(text, &edits).unwrap_or_default()
    }

    #[test]
    fn a_group_is_sorted_and_joined() {
        let text = "use std::patterns::{share, meet as met};\nuse std::math::log2;\n\
                    use \"a.ccl\"::g;\nuse std::patterns::handshake;\nuse std::math::log2;\n";
        let expected = "use \"a.ccl\"::g;\nuse std::math::log2;\n\
                        use std::patterns::{handshake, meet as met, share};\n";
        assert_eq!(organized(text), expected);
        assert_eq!(organized(expected), expected);
    }

    #[test]
    fn blank_lines_and_comments_separate_groups() {
        let text = "use std::b::x;\n\nuse std::a::x;\nuse std::a::b; // Why.\nuse std::a::c;\n\
                    // Two.\nuse std::a::y;\nuse std::a::d;\n#[allow(unused)]\nuse std::a::a;\n";
        let expected = "use std::b::x;\n\nuse std::a::x;\nuse std::a::b; // Why.\nuse std::a::c;\n\
                        // Two.\nuse std::a::{d, y};\n#[allow(unused)]\nuse std::a::a;\n";
        assert_eq!(organized(text), expected);
    }

    #[test]
    fn unused_names_are_removed() {
        let text = "use std::b::{unb, x};\nuse std::a::una;\n\nfn f() = 1;\n";
        assert_eq!(organized(text), "use std::b::x;\n\nfn f() = 1;\n");
        assert_eq!(organized("use std::a::{una, unb};\n\nfn f() = 1;\n"), "fn f() = 1;\n");
        assert_eq!(organized("use std::a::una; use std::b::x;\n"), "use std::b::x;\n");
        assert_eq!(
            organized("use std::b::{unb, x}; // Why.\n"),
            "use std::b::x; // Why.\n".replace("x", "{x}")
        );
    }

    #[test]
    fn the_lines_of_an_import_in_order_stay() {
        let text = "use std::a::{\n    b,\n    c,\n};\n";
        assert_eq!(organized(text), text);
    }

    #[test]
    fn what_is_too_long_has_a_line_for_each_name() {
        let names: Vec<String> = (10..30).map(|i| format!("name_{i}")).collect();
        let text = format!("use std::a::{{name_30, {}}};\n", names.join(", "));
        let expected =
            format!("use std::a::{{\n    {},\n    name_30,\n}};\n", names.join(",\n    "));
        assert_eq!(organized(&text), expected);
    }

    #[test]
    fn nothing_is_moved_in_a_text_with_syntax_errors() {
        let text = "use std::b::x;\nuse std::a::x\nfn f( = 1;\n";
        assert_eq!(organized(text), text);
    }
}
