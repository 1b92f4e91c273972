//! Diagnostics that a client requests, for one file or for all.
//!
//! In: a file, and the id of the result that the client has. Out: all diagnostics of the file, or that they
//! have not changed.

use super::problems::{self, Context, Problem};
use crate::actor::Snapshot;
use crate::database::{Configuration, Db as _};
use crate::diagnostics;
use lsp_types::{
    DocumentDiagnosticReport, FullDocumentDiagnosticReport, PreviousResultId,
    RelatedFullDocumentDiagnosticReport, RelatedUnchangedDocumentDiagnosticReport,
    UnchangedDocumentDiagnosticReport, Url, WorkspaceDiagnosticReport,
    WorkspaceDocumentDiagnosticReport, WorkspaceFullDocumentDiagnosticReport,
    WorkspaceUnchangedDocumentDiagnosticReport,
};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// All problems of a file.
#[must_use]
pub fn all(snapshot: &Snapshot, url: &Url) -> Vec<Problem> {
    let database = &snapshot.database;
    let name = snapshot.open.get(url).map(|open| open.name.clone());
    let name = name.unwrap_or_else(|| snapshot.workspace.name(url));
    let mut found = diagnostics::parts(database, database.document(&name));
    if found.doubtful {
        let settings = Configuration::get(database).settings(database);
        let interrupt = database.interrupt();
        let texts = database.texts();
        found.findings =
            diagnostics::whole(&name, &texts, &*snapshot.workspace, &settings, interrupt).findings;
        database.give_way();
    }
    let lines = |name: &str| snapshot.lines(name);
    let url = |name: &str| snapshot.url(name);
    problems::problems(&Context::new(&lines, &url), &name, &found.findings)
}

/// The report of one file.
#[must_use]
pub fn document(snapshot: &Snapshot, url: &Url, known: Option<&str>) -> DocumentDiagnosticReport {
    let full = full(&all(snapshot, url));
    match full.result_id.clone().filter(|id| Some(id.as_str()) == known) {
        Some(result_id) => {
            let unchanged = UnchangedDocumentDiagnosticReport { result_id };
            RelatedUnchangedDocumentDiagnosticReport {
                related_documents: None,
                unchanged_document_diagnostic_report: unchanged,
            }
            .into()
        }
        None => RelatedFullDocumentDiagnosticReport {
            related_documents: None,
            full_document_diagnostic_report: full,
        }
        .into(),
    }
}

/// The reports of all files: open ones, and those in the folders.
#[must_use]
pub fn workspace(snapshot: &Snapshot, known: &[PreviousResultId]) -> WorkspaceDiagnosticReport {
    let mut items = Vec::new();
    for name in snapshot.files() {
        let Some(uri) = snapshot.url(&name) else { continue };
        let version = snapshot.open.get(&uri).map(|open| i64::from(open.version));
        let full = full(&all(snapshot, &uri));
        let known = known.iter().find(|known| known.uri == uri).map(|known| known.value.clone());
        items.push(match full.result_id.clone().filter(|id| Some(id) == known.as_ref()) {
            Some(result_id) => WorkspaceDocumentDiagnosticReport::Unchanged(
                WorkspaceUnchangedDocumentDiagnosticReport {
                    uri,
                    version,
                    unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport {
                        result_id,
                    },
                },
            ),
            None => {
                WorkspaceDocumentDiagnosticReport::Full(WorkspaceFullDocumentDiagnosticReport {
                    uri,
                    version,
                    full_document_diagnostic_report: full,
                })
            }
        });
    }
    WorkspaceDiagnosticReport { items }
}

fn full(problems: &[Problem]) -> FullDocumentDiagnosticReport {
    let items: Vec<_> = problems.iter().map(|problem| problem.diagnostic.clone()).collect();
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&items).unwrap_or_default().hash(&mut hasher);
    FullDocumentDiagnosticReport { result_id: Some(format!("{:016x}", hasher.finish())), items }
}
