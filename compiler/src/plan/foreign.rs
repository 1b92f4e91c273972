//! Files that are taken for plans, and what they are.
//!
//! In: a text that is no plan. Out: the report that names what it is, if that is known.
//! * E0902: a plan of MSCCL++ before 0.8. Up to then, keys were written like `inputChunks`; since, like `input_chunks`.
//! * E0902: an algorithm of MSCCL, which is XML.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{FileId, Span};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The key by which a plan of MSCCL++ before 0.8 is known: each of its ranks has it, and no later plan does.
const OLD_KEY: &str = "\"inputChunks\"";

/// How MSCCL's XML begins, after a declaration and comments.
const MSCCL: &str = "<algo";

/// What is looked at of an old plan.
#[derive(Deserialize)]
struct OldPlan {
    #[serde(rename = "gpus")]
    ranks: Vec<OldRank>,
}

/// A rank of an old plan.
#[derive(Deserialize)]
struct OldRank {
    #[serde(rename = "inputChunks")]
    _input_chunks: IgnoredAny,
}

/// The report that names what the text is, at the place that shows it.
pub(super) fn recognized(file: FileId, text: &str) -> Option<Diagnostic> {
    let json = text.trim_start_matches('\u{feff}');
    if json.trim_start().starts_with('<') {
        return text.find(MSCCL).map(|at| msccl(span(file, at, MSCCL)));
    }
    let plan: OldPlan = serde_json::from_str(json).ok()?;
    if plan.ranks.is_empty() {
        return None;
    }
    let at = text.find(OLD_KEY)?;
    Some(old(span(file, at, OLD_KEY)))
}

fn span(file: FileId, at: usize, word: &str) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { file, start: offset(at), end: offset(at + word.len()) }
}

fn old(span: Span) -> Diagnostic {
    let message = "this is an execution plan of MSCCL++ before 0.8, which neither later versions nor `cclc` read";
    Diagnostic::new(Code::E0902, span, message)
        .label("now written `input_chunks`; operations and channels have changed, too")
        .help("make the plan again from its Python program, with MSCCL++ 0.8 or later, or write the program as .ccl")
}

fn msccl(span: Span) -> Diagnostic {
    let message = "this is an algorithm of MSCCL, in XML, and not an execution plan of MSCCL++";
    Diagnostic::new(Code::E0902, span, message)
        .label("where the algorithm begins")
        .note("MSCCL's `send` and `recv` go through NCCL's buffers and wait for each other; in MSCCL++, a program signals and waits itself")
        .help("write the algorithm as a .ccl program, or with MSCCL++'s DSL, whose plans `cclc` reads")
}

#[cfg(test)]
mod tests {
    use super::recognized;
    use crate::source::FileId;

    fn message(text: &str) -> Option<String> {
        recognized(FileId(0), text).map(|report| report.message)
    }

    #[test]
    fn what_is_in_a_file_says_what_it_is() {
        let old = r#"{"name": "x", "gpus": [{"id": 0, "inputChunks": 1}]}"#;
        assert!(message(old).is_some_and(|said| said.contains("before 0.8")));
        let xml = "<?xml version=\"1.0\"?>\n<!-- ring -->\n<algo name=\"x\">";
        assert!(message(xml).is_some_and(|said| said.contains("MSCCL, in XML")));
        for other in [
            "<html>",
            "{}",
            r#"{"gpus": []}"#,
            r#"{"gpus": [{"input_chunks": 1}], "note": "inputChunks"}"#,
        ] {
            assert_eq!(message(other), None, "{other}");
        }
    }
}
