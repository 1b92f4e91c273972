//! Reports as workflow commands of GitHub Actions, which shows them next to the changed lines of a pull request.
//!
//! One line per report; notes and helps are further lines of its text. The format is that of "Workflow commands for
//! GitHub Actions": properties and text have different escapes. Places in plans have no lines and go into the text.

use super::log::without_markers;
use super::render::{place_text, printable};
use super::{Diagnostic, Severity};
use crate::source::{Place, SourceMap, Span};

/// One line per report.
#[must_use]
pub fn lines(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|report| without_markers(&line(sources, report))).collect()
}

fn line(sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    let command = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let title = format!("{}: {}", diagnostic.code.id(), diagnostic.code.title());
    let mut properties = vec![("title", title)];
    let mut text = diagnostic.message.clone();
    match diagnostic.primary.as_ref().map(|label| label.place) {
        Some(Place::Source(span)) => properties.extend(place(sources, span)),
        Some(place @ Place::Plan(_)) => text = format!("{}: {text}", place_text(sources, place)),
        None => {}
    }
    for note in &diagnostic.notes {
        text += &format!("\nnote: {note}");
    }
    for help in &diagnostic.helps {
        text += &format!("\nhelp: {help}");
    }
    let properties: Vec<String> = properties
        .into_iter()
        .map(|(name, value)| format!("{name}={}", property(&value)))
        .collect();
    format!("::{command} {}::{}\n", properties.join(","), escaped(&text))
}

fn place(sources: &SourceMap, span: Span) -> Vec<(&'static str, String)> {
    let Some(file) = sources.files.lookup(span.file) else { return Vec::new() };
    let ((line, column), (end_line, end_column)) =
        (file.line_column(span.start), file.line_column(span.end));
    let mut place = vec![("file", file.name.to_string()), ("line", line.to_string())];
    if end_line == line {
        // GitHub takes columns into account only if a place is on one line.
        place.extend([("col", column.to_string()), ("endColumn", end_column.to_string())]);
    } else {
        place.push(("endLine", end_line.to_string()));
    }
    place
}

fn escaped(text: &str) -> String {
    printable(text).replace('%', "%25").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::source::FileId;

    fn said(report: Diagnostic) -> String {
        let mut sources = SourceMap::default();
        sources.add("a,b.ccl", "one\ntwo three\n");
        lines(&sources, &[report])
    }

    #[test]
    fn a_place_on_one_line_has_columns() {
        let span = Span { file: FileId(0), start: 8, end: 13 };
        let report = Diagnostic::new(Code::E0201, span, "100 % wrong").note("why").help("how");
        assert_eq!(
            said(report),
            "::error title=E0201%3A unknown name,file=a%2Cb.ccl,line=2,col=5,endColumn=10::100 %25 wrong%0Anote: why%0Ahelp: how\n"
        );
    }

    #[test]
    fn a_place_of_several_lines_has_lines_only() {
        let span = Span { file: FileId(0), start: 0, end: 6 };
        let report = Diagnostic::new(Code::W0201, span, "no one");
        assert!(said(report).contains("line=1,endLine=2::"));
    }
}
