//! Answers as text, one form for each feature.

use lsp_types::{
    CodeLens, FoldingRange, HoverContents, InlayHint, InlayHintLabel, Range, SelectionRange, Url,
};
use server::analysis::Analysis;
use server::features::{folding, hints, hover, lens, links, selection};
use server::publisher::{Known, Stage};

/// What a feature, named as its folder is, says.
pub(crate) fn answer(
    feature: &str,
    analysis: &Analysis<'_>,
    cursor: Option<u32>,
) -> Result<String, String> {
    let at = || cursor.ok_or("there is no `^`".to_owned());
    let end = analysis.text().len() as u32;
    match feature {
        "folding" => Ok(lines(folding::folds(analysis).iter().map(folded))),
        "hints" => Ok(hinted(analysis, &hints::hints(analysis, 0..end))),
        "hover" => Ok(hovered(analysis, at()?)),
        "lens" => Ok(lensed(analysis)),
        "links" => Ok(linked(analysis)),
        "selection" => Ok(selected(analysis, &selection::around(analysis, at()?))),
        _ => Err(format!("`{feature}` is no feature")),
    }
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}

fn text(analysis: &Analysis<'_>, range: Range) -> String {
    let offsets = analysis.lines.offsets(range);
    analysis.text()[offsets.start as usize..offsets.end as usize].to_owned()
}

/// "3-7 comment"; lines count from 1.
fn folded(fold: &FoldingRange) -> String {
    let kind = fold.kind.as_ref().map_or(String::new(), |kind| format!(" {kind:?}").to_lowercase());
    format!("{}-{}{kind}", fold.start_line + 1, fold.end_line + 1)
}

/// The lines that have hints, with these between `«` and `»`.
fn hinted(analysis: &Analysis<'_>, hints: &[InlayHint]) -> String {
    let mut shown = String::new();
    for (number, line) in analysis.text().lines().enumerate() {
        let mut hints: Vec<&InlayHint> =
            hints.iter().filter(|hint| hint.position.line as usize == number).collect();
        if hints.is_empty() {
            continue;
        }
        let mut line = line.to_owned();
        hints.reverse();
        for hint in hints {
            let InlayHintLabel::String(label) = &hint.label else { continue };
            line.insert_str(hint.position.character as usize, &format!("«{label}»"));
        }
        shown += &format!("{line}\n");
    }
    shown
}

/// The text that is shown; `nothing` without one.
fn hovered(analysis: &Analysis<'_>, at: u32) -> String {
    match hover::hover(analysis, at).map(|hover| hover.contents) {
        Some(HoverContents::Markup(markup)) => markup.value,
        Some(_) => "not markup".to_owned(),
        None => "nothing".to_owned(),
    }
}

/// What stands above which line, once the checks have found nothing.
fn lensed(analysis: &Analysis<'_>) -> String {
    let known = Known { version: 1, stage: Stage::Whole, problems: Vec::new() };
    let url = Url::parse("file:///case.ccl").unwrap();
    let shown = |lens: &CodeLens| {
        let command = lens.command.as_ref().unwrap();
        let arguments = command.arguments.as_ref().unwrap();
        let line = lens.range.start.line + 1;
        format!("{line}: {} [{} {}]", command.title, command.command, arguments.last().unwrap())
    };
    lines(lens::lenses(analysis, &url, Some(&known)).iter().map(shown))
}

fn linked(analysis: &Analysis<'_>) -> String {
    let url = |name: &str| Url::parse(&format!("file:///{}", name.replace("::", "/"))).ok();
    let links = links::links(analysis, &url);
    lines(links.iter().map(|link| {
        let target = link.target.as_ref().map_or("", Url::path);
        format!("{} -> {target}", text(analysis, link.range))
    }))
}

/// The texts around the cursor, the innermost first, those of several lines by their ends.
fn selected(analysis: &Analysis<'_>, selection: &SelectionRange) -> String {
    let mut shown = String::new();
    let mut next = Some(selection);
    while let Some(selection) = next {
        let text = text(analysis, selection.range);
        let (first, last) = (text.lines().next(), text.lines().last());
        shown += &match (first, last) {
            (Some(first), Some(last)) if text.lines().count() > 1 => {
                format!("{first} .. {}\n", last.trim())
            }
            _ => format!("{text}\n"),
        };
        next = selection.parent.as_deref();
    }
    shown
}
