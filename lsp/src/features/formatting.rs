//! Formatting: what `cclc fmt` would write, as edits of the lines that differ.
//!
//! A text with syntax errors is left alone.

use crate::analysis::Analysis;
use lsp_types::TextEdit;

/// Formats a file.
#[must_use]
pub fn document(analysis: &Analysis<'_>) -> Option<Vec<TextEdit>> {
    let new = compiler::syntax::format(analysis.text()).ok()?;
    let range = analysis.lines.range(0..analysis.text().len() as u32);
    Some(if new == analysis.text() { Vec::new() } else { vec![TextEdit::new(range, new)] })
}
