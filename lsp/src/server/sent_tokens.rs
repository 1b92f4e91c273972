//! The semantic tokens that were sent last for each file, for clients that request only the changes.

use crate::features::tokens;
use lsp_types::{
    SemanticToken, SemanticTokens, SemanticTokensDelta, SemanticTokensFullDeltaResult, Url,
};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The tokens of files, each list with the id under which it was sent.
#[derive(Default)]
pub(super) struct SentTokens(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    /// How many lists were sent.
    sent: u64,
    last: BTreeMap<Url, (String, Vec<SemanticToken>)>,
}

impl SentTokens {
    /// All tokens of a file.
    pub(super) fn whole(&self, url: Url, data: Vec<SemanticToken>) -> SemanticTokens {
        let (id, _) = self.replace(url, data.clone());
        SemanticTokens { result_id: Some(id), data }
    }

    /// The changes since the list `known` was sent; all tokens if that was not the last one.
    pub(super) fn changed(
        &self,
        url: Url,
        known: &str,
        data: Vec<SemanticToken>,
    ) -> SemanticTokensFullDeltaResult {
        let (id, before) = self.replace(url, data.clone());
        let result_id = Some(id);
        match before.filter(|(id, _)| id == known) {
            Some((_, old)) => SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta {
                result_id,
                edits: tokens::delta(&old, &data),
            }),
            None => SemanticTokensFullDeltaResult::Tokens(SemanticTokens { result_id, data }),
        }
    }

    /// Notes that a file is no longer open.
    pub(super) fn forget(&self, url: &Url) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last.remove(url);
    }

    /// Stores the tokens that are sent; returns their new id, and the list before with its id.
    fn replace(
        &self,
        url: Url,
        data: Vec<SemanticToken>,
    ) -> (String, Option<(String, Vec<SemanticToken>)>) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.sent += 1;
        let id = lists.sent.to_string();
        let before = lists.last.insert(url, (id.clone(), data));
        (id, before)
    }
}
