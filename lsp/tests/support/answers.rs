//! Answers as text, one form for each feature.

use lsp_types::HoverContents;
use server::analysis::Analysis;
use server::features::hover;

/// What a feature, named as its folder is, says.
pub(crate) fn answer(
    feature: &str,
    analysis: &Analysis<'_>,
    cursor: Option<u32>,
) -> Result<String, String> {
    let at = || cursor.ok_or("there is no `^`".to_owned());
    match feature {
        "hover" => Ok(hovered(analysis, at()?)),
        _ => Err(format!("`{feature}` is no feature")),
    }
}

/// The text that is shown; `nothing` without one.
fn hovered(analysis: &Analysis<'_>, at: u32) -> String {
    match hover::hover(analysis, at).map(|hover| hover.contents) {
        Some(HoverContents::Markup(markup)) => markup.value,
        Some(_) => "not markup".to_owned(),
        None => "nothing".to_owned(),
    }
}
