//! What the client is told without having asked.

use super::capabilities::{Abilities, watching};
use crate::publisher::{Notice, Tell, View};
use std::sync::Arc;
use tower_lsp::Client;

/// The way from the publisher to a client, which is told no more than it understands.
pub(super) fn teller(client: Client, abilities: Abilities) -> Arc<Tell> {
    Arc::new(move |notice| {
        let client = client.clone();
        Box::pin(async move {
            match notice {
                Notice::Diagnostics(url, version, diagnostics) => {
                    client.publish_diagnostics(url, diagnostics, version).await;
                }
                // Its answer says nothing; publications must not wait for it.
                Notice::Refresh(view) => drop(tokio::spawn(refresh(client, abilities, view))),
            }
        })
    })
}

async fn refresh(client: Client, abilities: Abilities, view: View) {
    let can = abilities.refreshes;
    let _ = match view {
        View::Diagnostics if can.diagnostics => client.workspace_diagnostic_refresh().await,
        View::Lenses if can.lenses => client.code_lens_refresh().await,
        View::Hints if can.hints => client.inlay_hint_refresh().await,
        View::Tokens if can.tokens => client.semantic_tokens_refresh().await,
        View::Diagnostics | View::Lenses | View::Hints | View::Tokens => Ok(()),
    };
}

/// Asks the client to tell of files that change on the disk, if it can.
pub(super) fn watch(client: &Client, abilities: Abilities) {
    let client = client.clone();
    if abilities.watches {
        // A handler that waits for the client would keep it from being read.
        tokio::spawn(async move { client.register_capability(vec![watching()]).await });
    }
}
