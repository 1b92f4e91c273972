//! Reports for people; the only file that uses ariadne.
//!
//! In: reports and the files that they point to. Out: text, either `human` (drawn source with all places, notes and
//! helps) or `short` (one line per report, for editors and `grep`). Whatever the text and the spans are, the output is
//! readable: spans are clipped to their file, characters that would move a terminal's cursor are replaced before
//! they are drawn, and no line is a command to the service whose log it ends in.

mod excerpt;

use super::log::without_commands;
use super::{Certainty, Diagnostic, Label, Severity};
use crate::source::{FileId, Place, PlanPlace, SourceFile, SourceMap, Span, changes_direction};
use ariadne::{Color, Config, IndexType, Report, ReportKind};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::ops::Range;

/// Whether escape sequences may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Colors {
    /// Plain text.
    #[default]
    Off,
    /// With colors.
    On,
}

/// A severity as it is printed.
#[must_use]
pub fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Draws reports with the source text that they are about, a blank line after each.
#[must_use]
pub fn human(sources: &SourceMap, diagnostics: &[Diagnostic], colors: Colors) -> String {
    let mut canvas = Canvas { sources, drawn: BTreeMap::new(), colors };
    let mut out = String::new();
    for diagnostic in diagnostics {
        canvas.draw(&mut out, diagnostic);
        out.push('\n');
    }
    without_commands(&out)
}

/// One line per report: `path:line:column: error[E0201]: message`.
#[must_use]
pub fn short(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let lines: String = diagnostics.iter().map(|report| short_line(sources, report)).collect();
    without_commands(&lines)
}

fn short_line(sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    let place =
        diagnostic.primary.as_ref().map(|label| format!("{}: ", place_text(sources, label.place)));
    let message = one_line(&diagnostic.message);
    format!("{}{}: {message}\n", place.unwrap_or_default(), headline(diagnostic))
}

/// A place as text: `path:line:column`, or `plan.json: rank 3, block 0, operation 5`.
#[must_use]
pub fn place_text(sources: &SourceMap, place: Place) -> String {
    match place {
        Place::Source(span) => source_place(sources, span),
        Place::Plan(place) => plan_place(sources, place),
    }
}

fn source_place(sources: &SourceMap, span: Span) -> String {
    match sources.files.lookup(span.file) {
        Some(file) => {
            let (line, column) = file.line_column(clip(file, span).0 as u32);
            format!("{}:{line}:{column}", one_line(&file.name))
        }
        None => "<unknown>".to_owned(),
    }
}

fn plan_place(sources: &SourceMap, place: PlanPlace) -> String {
    let name = sources.files.lookup(place.file).map_or("<unknown>", |file| &file.name);
    let parts = place.parts().join(", ");
    let colon = if parts.is_empty() { "" } else { ": " };
    format!("{}{colon}{parts}", one_line(name))
}

fn headline(diagnostic: &Diagnostic) -> String {
    format!("{}[{}]", severity_word(diagnostic.severity), diagnostic.code.id())
}

/// What several reports share: the files as ariadne needs them, made on first use.
struct Canvas<'a> {
    sources: &'a SourceMap,
    drawn: BTreeMap<FileId, ariadne::Source<String>>,
    colors: Colors,
}

/// A label in source text, with offsets in characters of the drawn text.
struct Mark {
    file: FileId,
    start: usize,
    end: usize,
    primary: bool,
    text: String,
}

impl Canvas<'_> {
    fn draw(&mut self, out: &mut String, diagnostic: &Diagnostic) {
        let head = self.paint(&format!("{}:", headline(diagnostic)), diagnostic.severity);
        let _ = writeln!(out, "{head} {}", printable(&diagnostic.message));
        if self.has_long_lines(diagnostic) {
            self.excerpts(out, diagnostic);
            self.plan_places(out, diagnostic);
            return footer(out, diagnostic);
        }
        let marks = self.marks(diagnostic);
        if let Some(first) = marks.iter().find(|mark| mark.primary).or(marks.first()) {
            let report =
                self.report(diagnostic.severity, (first.file, first.start..first.end), &marks);
            let mut bytes = Vec::new();
            // A `Vec` takes every byte and `Canvas` holds every marked file, so this cannot fail. The first line is
            // ariadne's own headline, which does not show codes.
            let _ = report.write(&mut *self, &mut bytes);
            let drawn = String::from_utf8_lossy(&bytes);
            out.extend(drawn.lines().skip(1).flat_map(|line| [line.trim_end(), "\n"]));
        }
        self.plan_places(out, diagnostic);
        footer(out, diagnostic);
    }

    fn has_long_lines(&self, diagnostic: &Diagnostic) -> bool {
        let mut labels = diagnostic.primary.iter().chain(&diagnostic.secondary);
        labels.any(|label| {
            let found = self.source_range(label);
            found.is_some_and(|(file, range)| excerpt::is_needed(file, range))
        })
    }

    fn source_range(&self, label: &Label) -> Option<(&SourceFile, (usize, usize))> {
        let Place::Source(span) = label.place else { return None };
        let file = self.sources.files.lookup(span.file)?;
        Some((file, clip(file, span)))
    }

    /// The places, each with the text around it.
    fn excerpts(&self, out: &mut String, diagnostic: &Diagnostic) {
        for label in diagnostic.primary.iter().chain(&diagnostic.secondary) {
            let Some((file, range)) = self.source_range(label) else { continue };
            let text = if label.text.is_empty() { "" } else { ": " };
            let _ = write!(out, "  --> {}{text}", place_text(self.sources, label.place));
            let _ = writeln!(out, "{}", printable(&label.text));
            for line in excerpt::around(file, range) {
                let _ = writeln!(out, "   | {line}");
            }
        }
    }

    fn report(
        &self,
        severity: Severity,
        anchor: (FileId, Range<usize>),
        marks: &[Mark],
    ) -> Report<'static, (FileId, Range<usize>)> {
        let config = Config::default()
            .with_index_type(IndexType::Char)
            .with_color(self.colors == Colors::On);
        let labels = marks.iter().map(|mark| {
            let color = if mark.primary { severity_color(severity) } else { Color::Blue };
            let label = ariadne::Label::new((mark.file, mark.start..mark.end)).with_color(color);
            label.with_message(printable(&mark.text))
        });
        Report::build(ReportKind::Error, anchor)
            .with_config(config)
            .with_labels(labels.collect::<Vec<_>>())
            .finish()
    }

    /// The labels that are in source text: those of the primary file first, and those of each file by line, since
    /// ariadne opens a new frame wherever a label goes back.
    fn marks(&mut self, diagnostic: &Diagnostic) -> Vec<Mark> {
        let primary = diagnostic.primary.iter().map(|label| (true, label));
        let secondary = diagnostic.secondary.iter().map(|label| (false, label));
        let mut marks: Vec<Mark> = primary
            .chain(secondary)
            .filter_map(|(primary, label)| self.mark(primary, label))
            .collect();
        let home = marks.iter().find(|mark| mark.primary).map(|mark| mark.file);
        marks.sort_by_key(|mark| (Some(mark.file) != home, mark.file, mark.end, mark.start));
        marks
    }

    fn mark(&mut self, primary: bool, label: &Label) -> Option<Mark> {
        let Place::Source(span) = label.place else { return None };
        let file = self.sources.files.lookup(span.file)?;
        let (start, end) = clip(file, span);
        let before = file.text.get(..start)?.chars().count();
        let inside = file.text.get(start..end)?.chars().count();
        self.drawn.entry(span.file).or_insert_with(|| ariadne::Source::from(drawable(&file.text)));
        // An empty place between two characters is drawn under the character that follows.
        Some(Mark {
            file: span.file,
            start: before,
            end: before + inside.max(1),
            primary,
            text: label.text.clone(),
        })
    }

    fn plan_places(&self, out: &mut String, diagnostic: &Diagnostic) {
        for label in diagnostic.primary.iter().chain(&diagnostic.secondary) {
            if let Place::Plan(place) = label.place {
                let text = if label.text.is_empty() {
                    String::new()
                } else {
                    format!(": {}", printable(&label.text))
                };
                let _ = writeln!(out, "  --> {}{text}", plan_place(self.sources, place));
            }
        }
    }

    fn paint(&self, text: &str, severity: Severity) -> String {
        use ariadne::Fmt as _;
        match self.colors {
            Colors::On => text.fg(severity_color(severity)).to_string(),
            Colors::Off => text.to_owned(),
        }
    }
}

impl ariadne::Cache<FileId> for &mut Canvas<'_> {
    type Storage = String;

    fn fetch(&mut self, id: &FileId) -> Result<&ariadne::Source<String>, impl fmt::Debug> {
        self.drawn.get(id).ok_or("a file that no label lies in")
    }

    fn display<'a>(&self, id: &'a FileId) -> Option<impl fmt::Display + 'a> {
        self.sources.files.lookup(*id).map(|file| printable(&file.name))
    }
}

fn footer(out: &mut String, diagnostic: &Diagnostic) {
    let fix = diagnostic.fix.iter().map(|fix| match fix.certainty {
        Certainty::Sure => format!("{} (fix available)", fix.title),
        Certainty::Guess => fix.title.clone(),
    });
    let notes = diagnostic.notes.iter().map(|note| ("note", note.clone()));
    let helps = diagnostic.helps.iter().cloned().chain(fix).map(|help| ("help", help));
    for (word, text) in notes.chain(helps) {
        let text = printable(&text).replace('\n', "\n          ");
        let _ = writeln!(out, "  = {word}: {text}");
    }
}

fn severity_color(severity: Severity) -> Color {
    match severity {
        Severity::Note => Color::Cyan,
        Severity::Warning => Color::Yellow,
        Severity::Error => Color::Red,
    }
}

/// A span's two offsets, moved into the file and to character boundaries.
fn clip(file: &SourceFile, span: Span) -> (usize, usize) {
    let boundary = |offset: u32| {
        let offset = (offset as usize).min(file.text.len());
        (0..=offset).rev().find(|i| file.text.is_char_boundary(*i)).unwrap_or(0)
    };
    let start = boundary(span.start);
    (start, boundary(span.end).max(start))
}

/// The text with the same number of characters, in which only `\n` ends a line and nothing moves the cursor. A blank is
/// added, so that the end of the file can be pointed at.
fn drawable(text: &str) -> String {
    let mut chars = text.chars().peekable();
    let mut drawn = String::with_capacity(text.len() + 1);
    while let Some(c) = chars.next() {
        let ends_line = c == '\r' && chars.peek() != Some(&'\n');
        drawn.push(if ends_line { '\n' } else { drawable_char(c) });
    }
    drawn.push(' ');
    drawn
}

fn drawable_char(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\r' => ' ',
        // The two direction marks, and Unicode's line and paragraph separators.
        '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' => '\u{fffd}',
        c if c.is_control() || changes_direction(c) => '\u{fffd}',
        c => c,
    }
}

/// A text without characters that move a terminal's cursor or change the direction of text. Line ends stay, and a tab
/// becomes a blank.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { ' ' } else { drawable_char(c) }).collect()
}

fn one_line(text: &str) -> String {
    printable(text).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

    fn span(file: FileId, start: u32, end: u32) -> Span {
        Span { file, start, end }
    }

    #[test]
    fn human_shows_both_places_and_the_way_out() {
        let mut sources = SourceMap::default();
        let file = sources.add("ring.ccl", "wait ring[previous];\nsignal ring[next];\n");
        let report = Diagnostic::new(Code::E0201, span(file, 5, 9), "no channel is called `ring`")
            .label("did you mean `rung`?")
            .and(span(file, 28, 32), "here too")
            .note("channels are declared at the top")
            .help("declare it");
        let text = human(&sources, &[report], Colors::Off);
        println!("{text}");
        for part in [
            "error[E0201]: no channel is called `ring`\n",
            "ring.ccl:1:6",
            "wait ring[previous];",
            "did you mean `rung`?",
            "signal ring[next];",
            "here too",
            "  = note: channels are declared at the top\n",
            "  = help: declare it\n",
        ] {
            assert!(text.contains(part), "{part:?} is missing from\n{text}");
        }
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn colors_only_where_asked() {
        let mut sources = SourceMap::default();
        let file = sources.add("a.ccl", "x");
        let report = [Diagnostic::new(Code::E0201, span(file, 0, 1), "m").label("l")];
        assert!(!human(&sources, &report, Colors::Off).contains('\x1b'));
        assert!(human(&sources, &report, Colors::On).contains("\x1b["));
    }

    #[test]
    fn short_is_one_line_a_report() {
        let mut sources = SourceMap::default();
        let file = sources.add("dir/a.ccl", "one\n  zwei\n");
        let plan = PlanPlace { file, rank: Some(3), block: Some(0), op: Some(5) };
        let reports = [
            Diagnostic::new(Code::E0201, span(file, 6, 10), "first\nsecond"),
            Diagnostic::new(Code::E0801, Place::Plan(plan), "too long"),
            Diagnostic::without_place(Code::W0301, "a hole"),
        ];
        assert_eq!(
            short(&sources, &reports),
            "dir/a.ccl:2:3: error[E0201]: first second\n\
             dir/a.ccl: rank 3, block 0, operation 5: error[E0801]: too long\n\
             warning[W0301]: a hole\n"
        );
    }

    #[test]
    fn plan_places_are_listed() {
        let mut sources = SourceMap::default();
        let file = sources.add("plan.json", "{}");
        let plan = PlanPlace { file, rank: Some(3), block: Some(0), op: None };
        let report = Diagnostic::new(Code::E0801, Place::Plan(plan), "too long").label("67 of 64");
        let text = human(&sources, &[report], Colors::Off);
        assert_eq!(text, "error[E0801]: too long\n  --> plan.json: rank 3, block 0: 67 of 64\n\n");
    }

    #[test]
    fn the_end_of_a_file_is_a_place() {
        let mut sources = SourceMap::default();
        let file = sources.add("a.ccl", "one\n");
        let report = Diagnostic::new(Code::E0105, span(file, 4, 4), "missing `}`").label("here");
        let text = human(&sources, &[report], Colors::Off);
        assert!(text.contains("a.ccl:2:1"), "{text}");
        assert!(text.contains("here"), "{text}");
    }

    #[test]
    fn of_a_long_line_a_part_is_shown() {
        let mut sources = SourceMap::default();
        let text = format!("one\n{}here{}\n", "a".repeat(5000), "b".repeat(5000));
        let file = sources.add("long.ccl", text);
        let report = Diagnostic::new(Code::E0101, span(file, 5004, 5008), "m").label("this");
        let text = human(&sources, &[report], Colors::Off);
        let (left, right) = ("a".repeat(60), "b".repeat(56));
        let expected = format!(
            "error[E0101]: m\n  --> long.ccl:2:5001: this\n   | ..{left}here{right}..\n   | {}^^^^\n\n",
            " ".repeat(62)
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn every_span_of_odd_texts_can_be_drawn() {
        let texts = [
            "",
            "\n",
            "\t\tab\tc",
            "漢字 ab\n字",
            "a\r\nb\rc\u{2028}d\u{85}e",
            "e\u{301}\u{202e}x\x1b[31my",
            "a\n\n\nb",
        ];
        let mut sources = SourceMap::default();
        let files: Vec<FileId> =
            texts.iter().map(|text| sources.add("odd\x1b.ccl", *text)).collect();
        for (file, text) in files.iter().zip(texts) {
            for start in 0..text.len() as u32 + 3 {
                for end in 0..text.len() as u32 + 3 {
                    let report = Diagnostic::new(Code::E0101, span(*file, start, end), "m\x1b")
                        .label("here")
                        .and(span(files[3], end, start), "")
                        .and(span(*file, end, end), "there");
                    let text = human(&sources, std::slice::from_ref(&report), Colors::Off);
                    assert!(text.contains("here") && text.contains("there"), "{text}");
                    assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text}");
                    assert!(short(&sources, &[report]).lines().count() == 1);
                }
            }
        }
    }
}
