//! "Organize imports": in each group the imports are sorted, those from one module are joined, and unused ones go.
//!
//! In: a text without syntax errors, and the offsets of the imported names that nothing uses. Out: edits. Groups and
//! their order are those of the formatter; an import that belongs to none stays as it is, except for unused names.

use compiler::diagnostic::Edit;
use compiler::resolve::usage;
use compiler::source::{FileId, Span, next_line};
use compiler::syntax;
use compiler::syntax::ast::UseName;
use compiler::syntax::imports::{Import, find_imports, line_end, module, written};
use std::collections::{BTreeMap, BTreeSet};

/// The edits; none where nothing changes.
pub(super) fn organize(text: &str, unused: &BTreeSet<u32>) -> Vec<Edit> {
    let (file, reports) = syntax::parse(FileId(0), text);
    if !reports.is_empty() {
        return Vec::new();
    }
    let found = find_imports(&file, text);
    let groups = found.groups.iter().filter_map(|group| organized(group, text, unused));
    let mut edits: Vec<Edit> = groups.collect();
    for import in found.fixed {
        add_removals(import, text, unused, &mut edits);
    }
    edits.sort_by_key(|edit| edit.span.start);
    edits
}

/// The edit that organizes a group; none if it is in order.
fn organized(group: &[Import<'_>], text: &str, unused: &BTreeSet<u32>) -> Option<Edit> {
    let (first, last) = (group.first()?, group.last()?);
    let span = first.item.span.to(last.item.span);
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Import { content, .. } in group {
        let used = content.names.iter().filter(|name| is_used(name, unused)).map(written);
        for name in used {
            modules.entry(module(content, text)).or_default().insert(name);
        }
    }
    let lines: Vec<String> = modules.iter().map(|(module, names)| line(module, names)).collect();
    let before = text.get(span.start as usize..span.end as usize)?;
    let formatted = syntax::format(&lines.join("\n")).ok()?;
    let after = formatted.trim_end().replace('\n', line_end(text));
    if bare(before) == bare(&after) {
        return None;
    }
    let span = if after.is_empty() { with_line(span, text) } else { span };
    Some(Edit { span, text: after })
}

fn is_used(name: &UseName, unused: &BTreeSet<u32>) -> bool {
    !unused.contains(&name.known_as().span.start)
}

/// An import of some names.
fn line(module: &str, names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.as_slice() {
        [name] => format!("use {module}::{name};"),
        _ => format!("use {module}::{{{}}};", names.join(", ")),
    }
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
fn add_removals(import: Import<'_>, text: &str, unused: &BTreeSet<u32>, edits: &mut Vec<Edit>) {
    let Import { item, content } = import;
    let unused: Vec<bool> = content.names.iter().map(|name| !is_used(name, unused)).collect();
    let reports = usage::unused_imports(item, content, &unused, text);
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
    use compiler::syntax;
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
    fn what_is_too_long_is_broken_as_the_formatter_breaks_it() {
        let names: Vec<String> = (10..30).map(|i| format!("name_{i}")).collect();
        let text = format!("use std::a::{{name_30, {}}};\n", names.join(", "));
        let new = organized(&text);
        assert_eq!(syntax::format(&new).as_ref(), Ok(&new));
        assert_eq!(syntax::format(&text), Ok(new.clone()));
        assert!(new.lines().count() > 3 && new.lines().all(|line| line.len() <= 100), "{new}");
    }

    #[test]
    fn lines_end_as_those_of_the_file_do() {
        let text = "use std::b::x;\r\nuse std::a::x;\r\n";
        assert_eq!(organized(text), "use std::a::x;\r\nuse std::b::x;\r\n");
    }

    #[test]
    fn nothing_is_moved_in_a_text_with_syntax_errors() {
        let text = "use std::b::x;\nuse std::a::x\nfn f( = 1;\n";
        assert_eq!(organized(text), text);
    }
}
