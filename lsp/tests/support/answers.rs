//! Answers as text, in a format for each feature.

use lsp_types::{
    CodeLens, DocumentSymbol, FoldingRange, HoverContents, InlayHint, InlayHintLabel,
    ParameterLabel, Position, Range, SelectionRange, SemanticToken, Url,
};
use server::actor::Snapshot;
use server::analysis::{Analysis, Part};
use server::features::lens::LensCommands;
use server::features::{
    calls, completion, folding, hints, hover, lens, links, navigation, rename, selection,
    signature, symbols, tokens,
};
use server::publisher::{Known, Stage};
use server::retained::Retained;
use server::verdict::verdict;

/// The answer of a feature, which is named after its folder.
pub(crate) fn answer(
    feature: &str,
    snapshot: &Snapshot,
    url: &Url,
    cursor: Option<u32>,
) -> Result<String, String> {
    let analysis = &snapshot.analysis(url);
    let at = || cursor.ok_or("there is no `^`".to_owned());
    let end = analysis.text().len() as u32;
    match feature {
        "calls" => Ok(called(snapshot, url, analysis.lines.position(at()?))),
        "completion" => Ok(completed(analysis, at()?)),
        "folding" => Ok(lines(folding::folds(analysis).iter().map(folded))),
        "hints" => Ok(hinted(analysis, &hints::hints(analysis, url, 0..end, &Retained::default()))),
        "hover" => Ok(hovered(analysis, at()?)),
        "implementation" => Ok(implemented(snapshot, url, analysis.lines.position(at()?))),
        "lens" => Ok(lensed(analysis)),
        "links" => Ok(linked(analysis)),
        "references" => Ok(referred(snapshot, url, analysis.lines.position(at()?))),
        "rename" => Ok(renamed(snapshot, url, analysis.lines.position(at()?))),
        "signature" => Ok(taken(analysis, at()?)),
        "symbols" => Ok(outlined(&symbols::document(analysis), 0)),
        "tokens" => Ok(painted(analysis, &tokens::tokens_in(analysis, 0..end))),
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

/// The lines that have hints, with the hints between `«` and `»`.
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

/// The text that is shown, or `nothing`.
fn hovered(analysis: &Analysis<'_>, at: u32) -> String {
    match hover::hover(analysis, at).map(|hover| hover.contents) {
        Some(HoverContents::Markup(markup)) => markup.value,
        Some(_) => "not markup".to_owned(),
        None => "nothing".to_owned(),
    }
}

/// The lenses with their lines, as they are once the checks have ended.
fn lensed(analysis: &Analysis<'_>) -> String {
    let verdict = |part: Part<'_>| verdict(analysis.database, part.declaration);
    let verdicts = analysis.parts().into_iter().filter_map(verdict).collect();
    let known = Known { version: 1, stage: Stage::Whole, problems: Vec::new(), verdicts };
    let url = Url::parse("file:///case.ccl").unwrap();
    let shown = |lens: &CodeLens| {
        let command = lens.command.as_ref().unwrap();
        let arguments = command.arguments.as_ref().unwrap();
        let line = lens.range.start.line + 1;
        format!("{line}: {} [{} {}]", command.title, command.command, arguments.last().unwrap())
    };
    let runs = LensCommands::new(|_| true);
    let lenses = lens::lenses(analysis, &url, Some(&known), &Retained::default(), runs);
    lines(lenses.iter().map(shown))
}

fn linked(analysis: &Analysis<'_>) -> String {
    let url = |name: &str| Url::parse(&format!("file:///{}", name.replace("::", "/"))).ok();
    let links = links::links(analysis, &url);
    lines(links.iter().map(|link| {
        let target = link.target.as_ref().map_or("", Url::path);
        format!("{} -> {target}", text(analysis, link.range))
    }))
}

/// The texts around the cursor, innermost first; texts of several lines are shown by their first
/// and last lines.
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

/// The callers and the callees, with the number of calls.
fn called(snapshot: &Snapshot, url: &Url, position: Position) -> String {
    let Some(items) = calls::prepare(snapshot, url, position) else { return "nothing".to_owned() };
    let mut shown = String::new();
    for item in &items {
        shown += &format!("{}\n", item.name);
        for call in calls::incoming(snapshot, item).unwrap_or_default() {
            shown += &format!("<- {} {}\n", call.from.name, call.from_ranges.len());
        }
        for call in calls::outgoing(snapshot, item).unwrap_or_default() {
            shown += &format!("-> {} {}\n", call.to.name, call.from_ranges.len());
        }
    }
    shown
}

/// The completions, with their details.
fn completed(analysis: &Analysis<'_>, at: u32) -> String {
    let items = completion::completions(analysis, at);
    lines(items.iter().map(|item| {
        let detail = item.detail.as_ref().map_or(String::new(), |detail| format!("  ({detail})"));
        let edits = item.additional_text_edits.iter().flatten().map(|edit| {
            let at = edit.range.start;
            format!("  {}:{} {:?}", at.line + 1, at.character + 1, edit.new_text)
        });
        format!("{}{detail}{}", item.label, edits.collect::<String>())
    }))
}

/// A place as its file, if it is another one than `here`, and its line and column, which count from 1.
fn located(here: &Url, url: &Url, range: Range) -> String {
    let file = url.path().rsplit('/').next().filter(|_| url != here);
    let file = file.map_or(String::new(), |file| format!("{file}:"));
    format!("{file}{}:{}", range.start.line + 1, range.start.character + 1)
}

/// The references, without the declaration.
fn referred(snapshot: &Snapshot, url: &Url, position: Position) -> String {
    match navigation::references(snapshot, url, position, false) {
        Some(found) => lines(found.iter().map(|one| located(url, &one.uri, one.range))),
        None => "nothing".to_owned(),
    }
}

/// The names of programs.
fn implemented(snapshot: &Snapshot, url: &Url, position: Position) -> String {
    match navigation::implementations(snapshot, url, position) {
        Some(found) => lines(found.iter().map(|one| located(url, &one.uri, one.range))),
        None => "nothing".to_owned(),
    }
}

/// The places that get the new name, which is on the first line, or why it is refused.
fn renamed(snapshot: &Snapshot, url: &Url, position: Position) -> String {
    let analysis = snapshot.analysis(url);
    let first = analysis.text().lines().next().unwrap();
    let new = first.strip_prefix("//@ to ").unwrap();
    match rename::rename(snapshot, url, position, new, false) {
        Ok(Some(edit)) => {
            let changes: std::collections::BTreeMap<_, _> =
                edit.changes.unwrap_or_default().into_iter().collect();
            lines(changes.iter().flat_map(|(file, edits)| {
                edits.iter().map(move |edit| located(url, file, edit.range))
            }))
        }
        Ok(None) => "nothing".to_owned(),
        Err(why) => why,
    }
}

/// The symbols, indented by their depth, with their lines and details.
fn outlined(symbols: &[DocumentSymbol], depth: usize) -> String {
    let mut shown = String::new();
    for symbol in symbols {
        let indent = "  ".repeat(depth);
        let line = symbol.selection_range.start.line + 1;
        let detail = symbol.detail.as_ref().map_or(String::new(), |text| format!(" {text}"));
        shown += &format!("{indent}{line}: {} {:?}{detail}\n", symbol.name, symbol.kind);
        shown += &outlined(symbol.children.as_deref().unwrap_or_default(), depth + 1);
    }
    shown
}

/// The signature, with the current argument between `«` and `»`.
fn taken(analysis: &Analysis<'_>, at: u32) -> String {
    let Some(help) = signature::help(analysis, at) else { return "nothing".to_owned() };
    let signature = help.signatures.first().unwrap();
    let parameters = signature.parameters.as_deref().unwrap_or_default();
    let active = parameters.get(signature.active_parameter.unwrap_or(0) as usize);
    match active.map(|parameter| &parameter.label) {
        Some(ParameterLabel::Simple(text)) => {
            signature.label.replacen(text.as_str(), &format!("«{text}»"), 1)
        }
        Some(_) | None => signature.label.clone(),
    }
}

/// One line for each token: its text, its type and its modifiers.
fn painted(analysis: &Analysis<'_>, all: &[SemanticToken]) -> String {
    let legend = tokens::legend();
    let (mut line, mut character) = (0, 0);
    lines(all.iter().map(|token| {
        if token.delta_line > 0 {
            character = 0;
        }
        line += token.delta_line;
        character += token.delta_start;
        let start = Position::new(line, character);
        let text = text(analysis, Range::new(start, Position::new(line, character + token.length)));
        let role = legend.token_types.get(token.token_type as usize).unwrap().as_str();
        let modifiers = legend.token_modifiers.iter().enumerate();
        let set = modifiers.filter(|(bit, _)| token.token_modifiers_bitset & (1 << bit) != 0);
        let names: Vec<&str> = set.map(|(_, name)| name.as_str()).collect();
        format!("{text}  {role} {}", names.join(" ")).trim_end().to_owned()
    }))
}
