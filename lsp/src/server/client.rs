//! Messages that the server sends to the client without being asked.

use super::capabilities::{Abilities, watching};
use crate::publisher::{Notice, Notify, Progress, View};
use crate::verdict::FileVerdicts;
use lsp_types::notification::{Notification, Progress as ProgressNotice};
use lsp_types::request::WorkDoneProgressCreate;
use lsp_types::{
    MessageType, NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress,
    WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkDoneProgressEnd,
    WorkDoneProgressReport,
};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tower_lsp::Client;

/// The function with which the publisher sends notices to a client; it sends only what the client
/// supports.
pub(super) fn notifier(client: Client, abilities: Abilities) -> Arc<Notify> {
    let (progress, news) = unbounded_channel();
    if abilities.progress {
        tokio::spawn(show_progress(client.clone(), news));
    }
    Arc::new(move |notice| {
        let client = client.clone();
        let progress = progress.clone();
        Box::pin(async move {
            match notice {
                Notice::Diagnostics(url, version, diagnostics) => {
                    client.publish_diagnostics(url, diagnostics, version).await;
                }
                Notice::Verdicts(verdicts) => {
                    if abilities.verdicts {
                        client.send_notification::<VerdictsNotice>(verdicts).await;
                    }
                }
                Notice::Message(text) => client.show_message(MessageType::WARNING, text).await,
                Notice::Progress(news) => drop(progress.send(news)),
                // The response carries no information, and publications must not wait for it.
                Notice::Refresh(view) => drop(tokio::spawn(refresh(client, abilities, view))),
            }
        })
    })
}

/// The notification about the programs of a file; it is not part of the protocol.
enum VerdictsNotice {}

impl Notification for VerdictsNotice {
    type Params = FileVerdicts;
    const METHOD: &'static str = "ccl/verdicts";
}

/// A message about settings, for users who may not have this server in mind.
pub(super) fn of_settings(why: &str) -> String {
    format!("ccl settings: {why}")
}

/// Shows the progress of the checks. Each run of checks has a token of its own, which the client must
/// first accept.
async fn show_progress(client: Client, mut news: UnboundedReceiver<Progress>) {
    let (mut stretches, mut shown) = (0, None);
    while let Some(progress) = news.recv().await {
        let value = match progress {
            Progress::Begin(text) => {
                stretches += 1;
                let token = NumberOrString::String(format!("ccl/checks/{stretches}"));
                let params = WorkDoneProgressCreateParams { token: token.clone() };
                let asked = client.send_request::<WorkDoneProgressCreate>(params).await;
                shown = asked.is_ok().then_some(token);
                WorkDoneProgress::Begin(WorkDoneProgressBegin {
                    title: "ccl: checking".to_owned(),
                    cancellable: Some(false),
                    message: Some(text),
                    percentage: None,
                })
            }
            Progress::Report(text) => WorkDoneProgress::Report(WorkDoneProgressReport {
                cancellable: Some(false),
                message: Some(text),
                percentage: None,
            }),
            Progress::End => WorkDoneProgress::End(WorkDoneProgressEnd { message: None }),
        };
        let ends = matches!(value, WorkDoneProgress::End(_));
        if let Some(token) = &shown {
            let value = ProgressParamsValue::WorkDone(value);
            let params = ProgressParams { token: token.clone(), value };
            client.send_notification::<ProgressNotice>(params).await;
        }
        shown = shown.filter(|_| !ends);
    }
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

/// Asks the client to report files that change on the disk, if it can.
pub(super) fn watch(client: &Client, abilities: Abilities) {
    let client = client.clone();
    if abilities.watches {
        // A handler that waited for the client would keep the client's messages from being read.
        tokio::spawn(async move { client.register_capability(vec![watching()]).await });
    }
}
