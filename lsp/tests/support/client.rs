//! A test client: it talks to a server in this process, and requires that every message of the server is read.

#![allow(dead_code, reason = "each test crate that includes this file uses a part of it")]

use serde_json::{Value, json};
use server::features::lens;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::runtime::Runtime;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of a server that runs in this process.
pub(crate) struct Client {
    runtime: Runtime,
    writer: tokio::io::DuplexStream,
    messages: mpsc::Receiver<Value>,
    /// Messages that came while the client waited for another one.
    heard: Vec<Value>,
    next: i64,
    /// The exit status with which the server would have ended its process.
    pub(crate) exited: Arc<AtomicI32>,
}

/// The capabilities of a client that accepts actions as edits.
pub(crate) fn accepting_edits() -> Value {
    let kinds = json!({"codeActionKind": {"valueSet": ["quickfix"]}});
    json!({"textDocument": {"codeAction": {"codeActionLiteralSupport": kinds}}})
}

/// The server has not exited.
pub(crate) const RUNNING: i32 = -1;

impl Client {
    /// A client and its server, before `initialize`.
    pub(crate) fn bare() -> Client {
        let runtime = Runtime::new().unwrap();
        let (writer, input) = tokio::io::duplex(1 << 20);
        let (output, reader) = tokio::io::duplex(1 << 20);
        let exited = Arc::new(AtomicI32::new(RUNNING));
        let status = exited.clone();
        let exit = Arc::new(move |code| status.store(code, Ordering::SeqCst));
        runtime.spawn(server::server::serve(input, output, exit));
        let (sender, messages) = mpsc::channel();
        runtime.spawn(async move {
            let mut reader = BufReader::new(reader);
            while let Some(message) = read(&mut reader).await {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Client { runtime, writer, messages, heard: Vec::new(), next: 0, exited }
    }

    /// A client that has sent `initialize`.
    pub(crate) fn new(root: Option<&Path>, capabilities: Value) -> Client {
        let mut client = Client::bare();
        client.initialize(root, capabilities);
        client
    }

    /// Sends `initialize`; returns the server's answer.
    pub(crate) fn initialize(&mut self, root: Option<&Path>, capabilities: Value) -> Value {
        self.initialize_with(root, capabilities, Value::Null)
    }

    /// Like `initialize`, with initialization options for this server. A client that says nothing about commands runs
    /// those of lenses.
    pub(crate) fn initialize_with(
        &mut self,
        root: Option<&Path>,
        mut capabilities: Value,
        options: Value,
    ) -> Value {
        if capabilities.get("experimental").is_none() {
            capabilities["experimental"] = json!({"commands": {"commands": lens::COMMANDS}});
        }
        let root = root.map(|root| lsp_types::Url::from_file_path(root).unwrap().to_string());
        let params = json!({"processId": null, "rootUri": root, "capabilities": capabilities,
            "initializationOptions": options});
        let answer = self.request("initialize", params);
        self.notify("initialized", json!({}));
        answer
    }

    /// Sends a message unchanged.
    pub(crate) fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let text = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.runtime.block_on(self.writer.write_all(text.as_bytes())).unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request without waiting for the response.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The response to a request, unchanged.
    pub(crate) fn response(&mut self, id: i64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Whether the response to a request has been heard while the client waited for another message.
    pub(crate) fn has_heard(&self, id: i64) -> bool {
        self.heard.iter().any(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Sends a request and returns the result, which must not be an error.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let response = self.response(id);
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].clone()
    }

    pub(crate) fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "ccl", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces the whole text.
    pub(crate) fn replace(&mut self, uri: &str, version: i32, text: &str) {
        self.change(uri, version, json!([{"text": text}]));
    }

    pub(crate) fn change(&mut self, uri: &str, version: i32, changes: Value) {
        let document = json!({"uri": uri, "version": version});
        let params = json!({"textDocument": document, "contentChanges": changes});
        self.notify("textDocument/didChange", params);
    }

    /// The diagnostics that the server settles on for a version of a file: the last ones before it has been silent
    /// for a while.
    pub(crate) fn settled(&mut self, uri: &str, version: i32) -> Vec<Value> {
        let mut last = None;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let quiet = if last.is_some() { Duration::from_millis(400) } else { PATIENCE };
            let published = |message: &Value| {
                message["method"] == "textDocument/publishDiagnostics"
                    && message["params"]["uri"] == uri
            };
            match self.find(published, quiet) {
                Some(message) if message["params"]["version"] == version => {
                    last = message["params"]["diagnostics"].as_array().cloned();
                }
                Some(message) => {
                    assert!(last.is_none(), "an old version after a newer one: {message}");
                }
                None => {
                    return last.unwrap_or_else(|| panic!("no diagnostics for version {version}"));
                }
            }
            assert!(Instant::now() < deadline, "the server does not settle");
        }
    }

    /// The last diagnostics of a version of a file, once the server has been silent for a while; none if nothing more
    /// was published for it.
    pub(crate) fn newest(&mut self, uri: &str, version: i32) -> Vec<Value> {
        let mut last = Vec::new();
        let published = |message: &Value| message["params"]["uri"] == uri;
        let mut newest = i64::MIN;
        while let Some(message) = self.find(published, Duration::from_millis(1000)) {
            let this = message["params"]["version"].as_i64().unwrap();
            assert!(this >= newest, "an old version after a newer one: {message}");
            newest = this;
            if this == i64::from(version) {
                last = message["params"]["diagnostics"].as_array().cloned().unwrap_or_default();
            }
        }
        last
    }

    /// Reads all messages until the server has been silent for a while; returns how many there were.
    pub(crate) fn settled_silently(&mut self) -> usize {
        let mut heard = 0;
        while self.find(|_| true, Duration::from_millis(400)).is_some() {
            heard += 1;
        }
        heard
    }

    /// The codes of diagnostics, in order.
    pub(crate) fn codes(diagnostics: &[Value]) -> Vec<&str> {
        diagnostics.iter().map(|one| one["code"].as_str().unwrap_or("none")).collect()
    }

    /// Waits for a message.
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.find(wanted, PATIENCE)
            .unwrap_or_else(|| panic!("the server does not answer; it said {:?}", self.heard))
    }

    fn find(&mut self, wanted: impl Fn(&Value) -> bool, patience: Duration) -> Option<Value> {
        if let Some(at) = self.heard.iter().position(&wanted) {
            return Some(self.heard.remove(at));
        }
        let deadline = Instant::now() + patience;
        while let Ok(message) =
            self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if wanted(&message) {
                return Some(message);
            }
            self.heard.push(message);
        }
        None
    }

    /// Ends the conversation as the protocol requires; a message that was sent but never read is an error.
    pub(crate) fn finish(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        let deadline = Instant::now() + PATIENCE;
        while self.exited.load(Ordering::SeqCst) == RUNNING {
            assert!(Instant::now() < deadline, "the server does not exit");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.exited.load(Ordering::SeqCst), 0);
        self.heard.extend(self.messages.try_iter());
        assert!(self.heard.is_empty(), "nobody listened to {:#?}", self.heard);
        self.runtime.shutdown_background();
    }
}

async fn read(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.ok()?;
    serde_json::from_slice(&body).ok()
}
