//! The expected reports of a case, written into its text below the places that they are about.
//!
//! ```text
//!     copy inptu[0] -> output[0];
//!       // ^^^^^ error[E0201]: unknown name `inptu`       the primary place, and the message
//!       // = help: did you mean `input`?                  optional: a note or help of the report above
//!     copy input[0] -> output[9];
//!                   // ------ declared here               a secondary place, and its label
//! ```
//!
//! Marks are exactly below the place, on lines of their own. `|` is a primary place without extent, `:` a secondary
//! one; three dots right after the marks mean that the place continues in later lines. Places in the first two columns
//! cannot be marked this way: `//~ error[E0101]: ..` at the end of the line, or `//~^ ..` on the next one, stands for
//! the whole line (`//~ --- label` for a secondary place). `//~* ..` on a line of its own is a report without a place
//! in this file. A text that ends with `..` is only the beginning of the expected text.

#![allow(unreachable_pub, reason = "a part of a test crate")]

use super::cclc::{Place, Report};
use std::fmt;

/// One expected or actual place of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its range.
    pub range: Range,
    /// Primary or secondary.
    pub primary: bool,
    /// `error[E0201]: message` for a primary place, the label for a secondary one.
    pub text: String,
    /// Notes and helps.
    pub footers: Vec<String>,
}

/// The range of an annotation; lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Range {
    /// Nowhere in this file.
    Elsewhere,
    /// Anywhere in the line.
    Line(usize),
    /// Columns of a line, the last one excluded.
    Columns(usize, usize, usize),
    /// From a column of a line into a later line.
    Open(usize, usize),
}

impl fmt::Display for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range {
            Range::Elsewhere => write!(f, "not in this file: ")?,
            Range::Line(line) => write!(f, "line {line}: ")?,
            Range::Columns(line, from, to) => {
                write!(f, "line {line}, columns {from} to {}: ", to - 1)?
            }
            Range::Open(line, from) => write!(f, "line {line}, from column {from} on: ")?,
        }
        write!(f, "{}{}", if self.primary { "" } else { "(secondary) " }, self.text)?;
        self.footers.iter().try_for_each(|footer| write!(f, "\n      = {footer}"))
    }
}

/// A case's text: its own lines, and the annotations.
pub struct Annotated<'a> {
    /// The lines that are not annotations, with their numbers in the file.
    pub lines: Vec<(usize, &'a str)>,
    /// The annotations, in order.
    pub annotations: Vec<Annotation>,
}

/// Reads the annotations of a text.
pub fn parse(text: &str) -> Annotated<'_> {
    let mut read = Annotated { lines: Vec::new(), annotations: Vec::new() };
    for (number, line) in (1..).zip(text.lines()) {
        let above = read.lines.last().map_or(0, |(number, _)| *number);
        if let Some(footer) = footer(line).filter(|_| !read.annotations.is_empty()) {
            if let Some(last) = read.annotations.last_mut() {
                last.footers.push(footer.to_owned());
            }
        } else if let Some(annotation) = whole_line(line, above) {
            read.annotations.push(annotation);
        } else {
            let (own, end) = split_end(line);
            read.annotations.extend(end.map(|text| unmarked(Range::Line(number), text)));
            read.lines.push((number, own));
        }
    }
    read
}

fn primary(range: Range, text: &str) -> Annotation {
    Annotation { range, primary: true, text: text.trim().to_owned(), footers: Vec::new() }
}

/// The annotation in a `//~`; three dashes make it a secondary place.
fn unmarked(range: Range, text: &str) -> Annotation {
    match text.trim().strip_prefix("---") {
        Some(label) => Annotation { primary: false, ..primary(range, label) },
        None => primary(range, text),
    }
}

fn footer(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?.trim_start().strip_prefix("= ")?;
    Some(text.trim()).filter(|text| text.starts_with("note: ") || text.starts_with("help: "))
}

fn whole_line(line: &str, above: usize) -> Option<Annotation> {
    let comment = line.trim_start().strip_prefix("//")?;
    if let Some(text) = comment.strip_prefix("~*") {
        return Some(unmarked(Range::Elsewhere, text));
    }
    if let Some(text) = comment.strip_prefix("~^") {
        return Some(unmarked(Range::Line(above), text));
    }
    marks(line, above)
}

fn marks(line: &str, above: usize) -> Option<Annotation> {
    let slashes = line.find("//")?;
    let after = line.get(slashes + 2..)?;
    let begin = slashes + 2 + (after.len() - after.trim_start().len());
    let rest = line.get(begin..)?;
    let mark = rest.chars().next().filter(|c| "^-|:".contains(*c))?;
    let width = rest.chars().take_while(|c| *c == mark).count();
    let column = line.get(..begin)?.chars().count() + 1;
    let text = rest.get(width..)?;
    let zero = "|:".contains(mark);
    let range = match (text.strip_prefix("..."), zero) {
        (Some(_), _) => Range::Open(above, column),
        (None, true) => Range::Columns(above, column, column),
        (None, false) => Range::Columns(above, column, column + width),
    };
    let text = text.strip_prefix("...").unwrap_or(text);
    let well_formed = (!zero || width == 1) && (text.is_empty() || text.starts_with(' '));
    let annotation = Annotation { primary: "^|".contains(mark), ..primary(range, text) };
    Some(annotation).filter(|_| well_formed)
}

/// A line without the `//~` at its end, and the text after `//~`.
fn split_end(line: &str) -> (&str, Option<&str>) {
    match line.rfind("//~").and_then(|at| line.split_at_checked(at)) {
        Some((own, end)) => (own, end.strip_prefix("//~")),
        None => (line, None),
    }
}

/// The actual reports, as annotations of the file called `file`.
pub fn found(reports: &[Report], file: &str) -> Vec<Annotation> {
    let mut found = Vec::new();
    for report in reports {
        let text = format!("{}[{}]: {}", report.severity, report.code, report.message);
        let here = report.primary.as_ref().filter(|place| place.file == file);
        let range = here.map_or(Range::Elsewhere, range_of);
        found.push(Annotation { footers: report.footers.clone(), ..primary(range, &text) });
        for place in report.secondary.iter().filter(|place| place.file == file) {
            found.push(Annotation { primary: false, ..primary(range_of(place), &place.label) });
        }
    }
    found
}

fn range_of(place: &Place) -> Range {
    let ((line, column), (end_line, end_column)) = (place.start, place.end);
    if end_line > line {
        Range::Open(line, column)
    } else {
        Range::Columns(line, column, end_column)
    }
}

/// Compares annotations; the error lists what is missing and what is unexpected.
pub fn compare(expected: &[Annotation], found: &[Annotation]) -> Result<(), String> {
    let mut left: Vec<&Annotation> = found.iter().collect();
    let mut missing = Vec::new();
    for annotation in expected {
        match left.iter().position(|found| annotation.matches(found)) {
            Some(at) => drop(left.remove(at)),
            None => missing.push(annotation),
        }
    }
    if missing.is_empty() && left.is_empty() {
        return Ok(());
    }
    let missing = missing.iter().map(|annotation| format!("  missing     {annotation}\n"));
    let unexpected = left.iter().map(|annotation| format!("  unexpected  {annotation}\n"));
    Err(missing.chain(unexpected).collect())
}

impl Annotation {
    fn matches(&self, found: &Annotation) -> bool {
        let footer =
            |wanted: &String| found.footers.iter().any(|footer| text_matches(wanted, footer));
        self.primary == found.primary
            && self.range.matches(found.range)
            && text_matches(&self.text, &found.text)
            && self.footers.iter().all(footer)
    }
}

impl Range {
    fn matches(self, found: Range) -> bool {
        match (self, found) {
            (Range::Line(line), Range::Columns(at, ..) | Range::Open(at, _)) => line == at,
            (expected, found) => expected == found,
        }
    }
}

fn text_matches(wanted: &str, found: &str) -> bool {
    match wanted.strip_suffix("..") {
        Some(beginning) => found.starts_with(beginning.trim_end()),
        None => wanted == found,
    }
}

/// The text with the actual annotations in place of its own. Notes and helps are written where the old annotation of
/// the same place had some.
pub fn bless(text: &str, found: &[Annotation]) -> String {
    let old = parse(text);
    let mut blessed = String::new();
    for (number, line) in &old.lines {
        let mut here: Vec<&Annotation> =
            found.iter().filter(|annotation| annotation.line() == *number).collect();
        here.sort_by_key(|annotation| annotation.range);
        let (at_end, below): (Vec<&Annotation>, Vec<&Annotation>) =
            here.into_iter().partition(|annotation| annotation.column() < 3);
        blessed += line.trim_end();
        let mut at_end = at_end.into_iter();
        let first = at_end.next();
        blessed +=
            &first.map(|annotation| format!(" //~ {}", annotation.said())).unwrap_or_default();
        blessed.push('\n');
        blessed.extend(first.map(|annotation| annotation.footed("", &old.annotations)));
        for annotation in at_end {
            blessed += &format!("//~^ {}\n", annotation.said());
            blessed += &annotation.footed("", &old.annotations);
        }
        blessed.extend(below.iter().map(|annotation| annotation.drawn(&old.annotations)));
        if *number == 1 {
            let elsewhere = found.iter().filter(|annotation| annotation.range == Range::Elsewhere);
            blessed.extend(elsewhere.map(|annotation| format!("//~* {}\n", annotation.said())));
        }
    }
    blessed
}

impl Annotation {
    fn line(&self) -> usize {
        match self.range {
            Range::Elsewhere => 0,
            Range::Line(line) | Range::Columns(line, ..) | Range::Open(line, _) => line,
        }
    }

    fn column(&self) -> usize {
        match self.range {
            Range::Elsewhere | Range::Line(_) => 0,
            Range::Columns(_, column, _) | Range::Open(_, column) => column,
        }
    }

    fn drawn(&self, old: &[Annotation]) -> String {
        let (mark, point) = if self.primary { ("^", "|") } else { ("-", ":") };
        let marks = match self.range {
            Range::Columns(_, from, to) if from == to => point.to_owned(),
            Range::Columns(_, from, to) => mark.repeat(to - from),
            Range::Elsewhere | Range::Line(_) | Range::Open(..) => mark.repeat(3) + "...",
        };
        let room = self.column() - 1;
        let margin =
            if room > 2 { format!("{}// ", " ".repeat(room - 3)) } else { "//".to_owned() };
        let said = format!("{margin}{marks} {}", self.text);
        format!("{}\n{}", said.trim_end(), self.footed(&margin, old))
    }

    /// The text after `//~`.
    fn said(&self) -> String {
        if self.primary {
            self.text.clone()
        } else {
            format!("--- {}", self.text).trim_end().to_owned()
        }
    }

    /// Notes and helps, if the old annotation of the same line and code had some.
    fn footed(&self, margin: &str, old: &[Annotation]) -> String {
        let code = |text: &str| text.split(']').next().map(str::to_owned);
        let same =
            |old: &&Annotation| old.line() == self.line() && code(&old.text) == code(&self.text);
        let wanted = old.iter().find(same).is_some_and(|old| !old.footers.is_empty());
        let margin = if margin.is_empty() { "// " } else { margin };
        self.footers
            .iter()
            .filter(|_| wanted)
            .map(|footer| format!("{margin}= {footer}\n"))
            .collect()
    }
}
