//! What a client says about itself in `initialize`, and what it is therefore sent: conversations with a server in this
//! process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::Client;
use serde_json::json;

#[test]
fn words_that_are_newer_than_the_server_are_accepted() {
    let newer = [
        json!({"trace": "compact"}),
        json!({"rootUri": ""}),
        json!({"processId": -1.0}),
        json!({"workspaceFolders": [{"uri": "", "name": ""}]}),
        json!({"capabilities": {"textDocument": {"foldingRange": {"foldingRangeKind": {"valueSet": ["functions"]}}}}}),
        json!({"capabilities": {"textDocument": {"hover": {"contentFormat": ["html", "markdown"]}}}}),
        json!({"capabilities": {"textDocument": {"publishDiagnostics": {"tagSupport": true}}}}),
        json!({"capabilities": {"workspace": {"workspaceEdit": {"failureHandling": "retry"}}}}),
        json!({"capabilities": null}),
    ];
    for sent in newer {
        let mut params = json!({"processId": null, "rootUri": null, "capabilities": {}});
        for (name, value) in sent.as_object().unwrap() {
            params[name.as_str()] = value.clone();
        }
        let mut client = Client::bare();
        let answer = client.request("initialize", params);
        assert_eq!(answer["serverInfo"]["name"], "ccl-lsp", "{sent}");
        client.finish();
    }
}
