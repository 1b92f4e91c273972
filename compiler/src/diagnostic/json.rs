//! Reports for machines, one JSON object and one line per report; and a printed program with the places that its
//! lines come from, as one object.
//!
//! Every object has the version of the format, [`VERSION`]; it changes when a field is removed or changes its
//! meaning, not when one is added. `docs/diagnostics.md` describes the format. Offsets are bytes of UTF-8 from 0;
//! lines and columns count from 1, columns in characters; ends are exclusive.

mod witness;

use super::{Certainty, Diagnostic, Edit, Fix, Label, log, render};
use crate::source::{Place, SourceMap, Span};
use serde::Serialize;

/// The version of the format.
pub const VERSION: u32 = 1;

/// One line per report.
#[must_use]
pub fn lines(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|report| log::escape_json(&line(sources, report)) + "\n").collect()
}

fn line(sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    let report = Report {
        version: VERSION,
        code: diagnostic.code.id(),
        severity: render::severity_word(diagnostic.severity),
        message: &diagnostic.message,
        primary: diagnostic.primary.as_ref().map(|label| json_label(sources, label)),
        secondary: diagnostic.secondary.iter().map(|label| json_label(sources, label)).collect(),
        notes: &diagnostic.notes,
        helps: &diagnostic.helps,
        fix: diagnostic.fix.as_ref().map(|fix| json_fix(sources, fix)),
        witness: diagnostic.witness.as_ref().map(|shown| witness::object(sources, shown)),
    };
    // The report has only strings and numbers, and string keys, so it can always be written as JSON.
    serde_json::to_string(&report).unwrap_or_default()
}

/// A line of a printed program and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The line, from 1.
    pub line: u32,
    /// The place of its statement, then the calls that led there, innermost first.
    pub places: Vec<Place>,
}

/// A printed program and where its lines come from, as one JSON object.
#[must_use]
pub fn linked_text(sources: &SourceMap, text: &str, links: &[Link]) -> String {
    let link = |link: &Link| LinkedLine {
        line: link.line,
        places: link.places.iter().map(|place| self::place(sources, *place)).collect(),
    };
    let linked = LinkedText { version: VERSION, text, links: links.iter().map(link).collect() };
    log::escape_json(&serde_json::to_string(&linked).unwrap_or_default()) + "\n"
}

#[derive(Serialize)]
struct LinkedText<'a> {
    version: u32,
    text: &'a str,
    links: Vec<LinkedLine<'a>>,
}

#[derive(Serialize)]
struct LinkedLine<'a> {
    line: u32,
    places: Vec<JsonPlace<'a>>,
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    code: &'a str,
    severity: &'a str,
    message: &'a str,
    primary: Option<JsonLabel<'a>>,
    secondary: Vec<JsonLabel<'a>>,
    notes: &'a [String],
    helps: &'a [String],
    fix: Option<JsonFix<'a>>,
    witness: Option<serde_json::Value>,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    label: &'a str,
    #[serde(flatten)]
    place: JsonPlace<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JsonPlace<'a> {
    Source(JsonSpan<'a>),
    Plan { file: &'a str, rank: Option<u32>, block: Option<u32>, operation: Option<u32> },
}

#[derive(Serialize)]
struct JsonSpan<'a> {
    file: &'a str,
    start: u32,
    end: u32,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

#[derive(Serialize)]
struct JsonFix<'a> {
    title: &'a str,
    certainty: &'static str,
    edits: Vec<JsonEdit<'a>>,
}

#[derive(Serialize)]
struct JsonEdit<'a> {
    #[serde(flatten)]
    span: JsonSpan<'a>,
    text: &'a str,
}

fn json_label<'a>(sources: &'a SourceMap, label: &'a Label) -> JsonLabel<'a> {
    JsonLabel { label: &label.text, place: place(sources, label.place) }
}

fn place(sources: &SourceMap, place: Place) -> JsonPlace<'_> {
    match place {
        Place::Source(span) => JsonPlace::Source(json_span(sources, span)),
        Place::Plan(place) => JsonPlace::Plan {
            file: sources.files.lookup(place.file).map_or("", |file| &file.name),
            rank: place.rank,
            block: place.block,
            operation: place.op,
        },
    }
}

fn json_span(sources: &SourceMap, span: Span) -> JsonSpan<'_> {
    let file = sources.files.lookup(span.file);
    let (line, column) = file.map_or((1, 1), |file| file.line_column(span.start));
    let (end_line, end_column) = file.map_or((1, 1), |file| file.line_column(span.end));
    let file = file.map_or("", |file| &file.name);
    JsonSpan { file, start: span.start, end: span.end, line, column, end_line, end_column }
}

fn json_fix<'a>(sources: &'a SourceMap, fix: &'a Fix) -> JsonFix<'a> {
    let edit = |edit: &'a Edit| JsonEdit { span: json_span(sources, edit.span), text: &edit.text };
    let certainty = match fix.certainty {
        Certainty::Sure => "sure",
        Certainty::Guess => "guess",
    };
    JsonFix { title: &fix.title, certainty, edits: fix.edits.iter().map(edit).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::diagnostic::witness::{
        Access, Agent, Cells, Event, Finding, Race, Step, Turn, Witness,
    };
    use crate::source::PlanPlace;
    use serde_json::json;

    fn parsed(sources: &SourceMap, diagnostic: Diagnostic) -> serde_json::Value {
        let text = lines(sources, &[diagnostic]);
        assert_eq!(text.matches('\n').count(), 1);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_report_with_everything() {
        let mut sources = SourceMap::default();
        let file = sources.add("a.ccl", "ä b\nc \"d\"\n");
        let span = |start, end| Span { file, start, end };
        let report = Diagnostic::new(Code::E0201, span(3, 4), "no \"b\"")
            .label("here")
            .and(span(5, 10), "there")
            .note("because")
            .help("do this")
            .fix("remove it", vec![Edit { span: span(3, 3), text: "x".to_owned() }]);
        let place = |start, end, line, column, end_line, end_column| {
            json!({"file": "a.ccl", "start": start, "end": end, "line": line, "column": column,
                   "end_line": end_line, "end_column": end_column})
        };
        let with = |mut object: serde_json::Value, key: &str, value: &str| {
            object[key] = json!(value);
            object
        };
        assert_eq!(
            parsed(&sources, report),
            json!({
                "version": 1, "code": "E0201", "severity": "error", "message": "no \"b\"",
                "primary": with(place(3, 4, 1, 3, 1, 4), "label", "here"),
                "secondary": [with(place(5, 10, 2, 1, 2, 6), "label", "there")],
                "notes": ["because"], "helps": ["do this"],
                "fix": {"title": "remove it", "certainty": "sure",
                        "edits": [with(place(3, 3, 1, 3, 1, 3), "text", "x")]},
                "witness": null,
            })
        );
    }

    #[test]
    fn a_place_in_a_plan_and_none() {
        let mut sources = SourceMap::default();
        let file = sources.add("p.json", "{}");
        let place = Place::Plan(PlanPlace { file, rank: Some(2), block: Some(1), op: None });
        let report = parsed(&sources, Diagnostic::new(Code::W0301, place, "m"));
        assert_eq!(report["severity"], "warning");
        assert_eq!(
            report["primary"],
            json!({"label": "", "file": "p.json", "rank": 2, "block": 1, "operation": null})
        );
        assert_eq!(
            parsed(&sources, Diagnostic::without_place(Code::E0901, "m"))["primary"],
            json!(null)
        );
    }

    #[test]
    fn a_witness_has_who_where_and_in_which_order() {
        let mut sources = SourceMap::default();
        let file = sources.add("p.json", "{}");
        let place = Place::Plan(PlanPlace { file, rank: Some(1), block: Some(2), op: Some(3) });
        let step = Step { operation: 3, inner: Some((0, 1)) };
        let event = |agent, step| Event { launch: 0, rank: 1, agent, step, place: Some(place) };
        let race = Race {
            memory: Cells { rank: 1, buffer: "scratch", start: 4, end: 6, parts: 2 },
            first: Some(Access { event: event(Agent::Block(2), Some(step)), write: true }),
            second: Access { event: event(Agent::User, None), write: false },
            ordered: false,
            after_first: None,
            before_second: Some(event(Agent::Proxy { channel: 7, block: 2 }, Some(step))),
        };
        let schedule = vec![
            Turn::Launch { rank: 1, launch: 0 },
            Turn::Block { rank: 1, launch: 0, block: 2, through: step },
            Turn::Proxy { rank: 1, launch: 0, channel: 7, served: 1 },
        ];
        let mut report = Diagnostic::new(Code::E0501, place, "m");
        report.witness = Some(Box::new(Witness::new(Finding::Race(Box::new(race)), schedule)));
        let at = json!({"file": "p.json", "rank": 1, "block": 2, "operation": 3});
        let inner = json!({"operation": 0, "turn": 1});
        assert_eq!(
            parsed(&sources, report)["witness"],
            json!({
                "kind": "race",
                "message_size": null,
                "memory": {"rank": 1, "buffer": "scratch", "start": 4, "end": 6, "parts": 2},
                "first": {"launch": 0, "rank": 1, "agent": "block", "block": 2, "operation": 3,
                          "inner": inner, "place": at, "write": true},
                "second": {"launch": 0, "rank": 1, "agent": "user", "place": at, "write": false},
                "ordered": false,
                "after_first": null,
                "before_second": {"launch": 0, "rank": 1, "agent": "proxy", "channel": 7, "block": 2,
                                  "operation": 3, "inner": inner, "place": at},
                "schedule": [
                    {"agent": "user", "rank": 1, "launch": 0},
                    {"agent": "block", "rank": 1, "launch": 0, "block": 2, "operation": 3, "inner": inner},
                    {"agent": "proxy", "rank": 1, "launch": 0, "channel": 7, "served": 1},
                ],
            })
        );
    }
}
