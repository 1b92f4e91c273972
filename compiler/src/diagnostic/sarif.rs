//! Reports as SARIF 2.1.0, for code scanning services: one run, one result per report, one rule per code.
//!
//! The catalogue gives the rules; the primary place is a result's location, the other places its related locations.
//! The format is OASIS's "Static Analysis Results Interchange Format", version 2.1.0.

mod flow;

use super::{Code, Diagnostic, Edit, Fix, Label, Severity};
use crate::source::{FileId, Place, SourceMap, Span};
use serde_json::{Value, json};

/// A whole SARIF log, with a newline at its end.
#[must_use]
pub fn log(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let rules: Vec<Value> = Code::ALL.iter().map(|code| rule(*code)).collect();
    let results: Vec<Value> =
        diagnostics.iter().map(|diagnostic| result(sources, diagnostic)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "cclc",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    super::log::escape_json(&format!("{log:#}\n"))
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.id(),
        "shortDescription": {"text": code.title()},
        "help": {"text": code.explain(), "markdown": code.explain()},
        "defaultConfiguration": {"level": level(code.severity())},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn result(sources: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let locations: Vec<Value> =
        diagnostic.primary.iter().map(|label| location(sources, label)).collect();
    let related: Vec<Value> =
        diagnostic.secondary.iter().map(|label| location(sources, label)).collect();
    let changes = diagnostic.fix.iter().chain(&diagnostic.alternatives);
    let fixes: Vec<Value> = changes.map(|change| fix(sources, change)).collect();
    let flows = diagnostic.witness.iter().flat_map(|shown| flow::code_flows(sources, shown));
    let flows: Vec<Value> = flows.collect();
    json!({
        "ruleId": diagnostic.code.id(),
        "ruleIndex": Code::ALL.iter().position(|code| *code == diagnostic.code),
        "level": level(diagnostic.severity),
        "message": {"text": message(diagnostic)},
        "locations": locations,
        "relatedLocations": related,
        "codeFlows": flows,
        "fixes": fixes,
    })
}

/// The message with its explanations: SARIF has no separate field for notes and helps.
fn message(diagnostic: &Diagnostic) -> String {
    let notes = diagnostic.notes.iter().map(|note| format!("\nnote: {note}"));
    let helps = diagnostic.helps.iter().map(|help| format!("\nhelp: {help}"));
    std::iter::once(diagnostic.message.clone()).chain(notes).chain(helps).collect()
}

fn location(sources: &SourceMap, label: &Label) -> Value {
    let mut location = match label.place {
        Place::Source(span) => json!({
            "physicalLocation": {"artifactLocation": artifact(sources, span.file), "region": region(sources, span)},
        }),
        Place::Plan(place) => {
            let physical = json!({"artifactLocation": artifact(sources, place.file)});
            match place.parts().join("/") {
                whole if whole.is_empty() => json!({"physicalLocation": physical}),
                name => json!({
                    "physicalLocation": physical,
                    "logicalLocations": [{"fullyQualifiedName": name}],
                }),
            }
        }
    };
    if let (false, Some(object)) = (label.text.is_empty(), location.as_object_mut()) {
        object.insert("message".to_owned(), json!({"text": label.text}));
    }
    location
}

fn region(sources: &SourceMap, span: Span) -> Value {
    let position =
        |offset| sources.files.lookup(span.file).map_or((1, 1), |file| file.line_column(offset));
    let (start_line, start_column) = position(span.start);
    let (end_line, end_column) = position(span.end);
    json!({
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": end_column,
        "byteOffset": span.start,
        "byteLength": span.end.saturating_sub(span.start),
    })
}

fn artifact(sources: &SourceMap, file: FileId) -> Value {
    json!({"uri": sources.files.lookup(file).map_or(String::new(), |file| uri(&file.name))})
}

fn fix(sources: &SourceMap, fix: &Fix) -> Value {
    let mut files: Vec<FileId> = fix.edits.iter().map(|edit| edit.span.file).collect();
    files.sort_unstable();
    files.dedup();
    let changes: Vec<Value> =
        files.into_iter().map(|file| change(sources, file, &fix.edits)).collect();
    json!({"description": {"text": fix.title}, "artifactChanges": changes})
}

fn change(sources: &SourceMap, file: FileId, edits: &[Edit]) -> Value {
    let replacement = |edit: &Edit| json!({"deletedRegion": region(sources, edit.span), "insertedContent": {"text": edit.text}});
    let replacements: Vec<Value> =
        edits.iter().filter(|edit| edit.span.file == file).map(replacement).collect();
    json!({"artifactLocation": artifact(sources, file), "replacements": replacements})
}

/// A path as a URI reference: relative paths stay relative; everything but unreserved characters and `/` is
/// escaped.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let escaped: String = path
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    if path.starts_with('/') { format!("file://{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::witness::{Agent, Event, Finding, Step, Wait, Witness};
    use crate::source::PlanPlace;

    fn parsed(sources: &SourceMap, diagnostic: Diagnostic) -> Value {
        serde_json::from_str(&log(sources, &[diagnostic])).unwrap()
    }

    #[test]
    fn results_have_rules_places_and_fixes() {
        let mut sources = SourceMap::default();
        let file = sources.add("/a b/c.ccl", "one\ntwo\n");
        let span = |start, end| Span { file, start, end };
        let report = Diagnostic::new(Code::E0201, span(4, 7), "no `two`")
            .label("here")
            .and(span(0, 3), "there")
            .help("say one")
            .fix("replace it", vec![Edit { span: span(4, 7), text: "one".to_owned() }]);
        let log = parsed(&sources, report);
        assert_eq!(log["version"], "2.1.0");
        let result = &log["runs"][0]["results"][0];
        let rule = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][rule]["id"], "E0201");
        assert_eq!(result["message"]["text"], "no `two`\nhelp: say one");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "file:///a%20b/c.ccl");
        assert_eq!(
            place["region"],
            json!({"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 4, "byteOffset": 4, "byteLength": 3})
        );
        assert_eq!(result["relatedLocations"][0]["message"]["text"], "there");
        let change = &result["fixes"][0]["artifactChanges"][0];
        assert_eq!(change["replacements"][0]["insertedContent"]["text"], "one");
        assert_eq!(change["replacements"][0]["deletedRegion"]["byteOffset"], 4);
    }

    #[test]
    fn a_place_in_a_plan_is_a_logical_location() {
        let mut sources = SourceMap::default();
        let file = sources.add("p.json", "{}");
        let place = Place::Plan(PlanPlace { file, rank: Some(2), block: Some(1), op: Some(7) });
        let log = parsed(&sources, Diagnostic::new(Code::E0801, place, "m"));
        let location = &log["runs"][0]["results"][0]["locations"][0];
        assert_eq!(
            location["logicalLocations"][0]["fullyQualifiedName"],
            "rank 2/block 1/operation 7"
        );
        assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "p.json");
    }

    #[test]
    fn no_reports_is_a_log_too() {
        let log: Value = serde_json::from_str(&log(&SourceMap::default(), &[])).unwrap();
        assert_eq!(log["runs"][0]["results"], json!([]));
        assert_eq!(
            log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().len(),
            Code::ALL.len()
        );
    }

    #[test]
    fn a_witness_is_a_code_flow() {
        let mut sources = SourceMap::default();
        let file = sources.add("a.ccl", "one\ntwo\n");
        let place = Place::Source(Span { file, start: 4, end: 7 });
        let event = Event {
            launch: 0,
            rank: 1,
            agent: Agent::Block(2),
            step: Some(Step { operation: 3, inner: None }),
            place: Some(place),
        };
        let cycle = vec![Wait { event, awaits: "a signal".to_owned(), given_by: None }];
        let mut report = Diagnostic::new(Code::E0601, place, "m");
        report.witness = Some(Box::new(Witness::new(Finding::Deadlock { cycle }, Vec::new())));
        let log = parsed(&sources, report);
        let thread = &log["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0];
        assert_eq!(thread["id"], "rank 1/block 2");
        let location = &thread["locations"][0]["location"];
        assert_eq!(location["message"]["text"], "waits for a signal");
        assert_eq!(location["physicalLocation"]["region"]["startLine"], 2);
    }
}
