//! What users and the library declare at the top of files: how it is introduced in a list.

use super::items;
use crate::analysis::Analysis;
use crate::database::Database;
use crate::declared::{Heading, heading};
use lsp_types::{CompletionItem, CompletionItemLabelDetails};
use serde_json::{Value, json};

/// A name that a file knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Named {
    /// The name in this file.
    pub(super) here: String,
    /// The compiler's name for the file that declares it.
    pub(super) file: String,
    /// The name in that file.
    pub(super) name: String,
}

impl Named {
    /// An item with how the declaration begins, and its documentation.
    pub(super) fn introduced(
        &self,
        analysis: &Analysis<'_>,
        item: CompletionItem,
    ) -> CompletionItem {
        let Some(Heading { text, documentation }) =
            heading(analysis.database, &self.file, &self.name)
        else {
            return item;
        };
        let details = text.split_once(&self.name).map(|(_, rest)| rest.trim_end().to_owned());
        CompletionItem {
            label_details: Some(CompletionItemLabelDetails {
                detail: details.filter(|details| details.starts_with('(')),
                description: None,
            }),
            detail: Some(text),
            data: documentation.is_some().then(|| json!({"file": self.file, "name": self.name})),
            documentation: documentation.map(items::markdown),
            ..item
        }
    }
}

/// An item with the documentation that was left out of a list.
#[must_use]
pub fn resolved(database: &Database, item: CompletionItem) -> CompletionItem {
    let text =
        |data: &Value, field: &str| data.get(field).and_then(Value::as_str).map(str::to_owned);
    let named =
        item.data.as_ref().and_then(|data| Some((text(data, "file")?, text(data, "name")?)));
    // A list that names a file has read it.
    let heading = named
        .filter(|(file, _)| database.known(file))
        .and_then(|(file, name)| heading(database, &file, &name));
    let documentation = heading.and_then(|heading| heading.documentation).map(items::markdown);
    CompletionItem { documentation, ..item }
}
