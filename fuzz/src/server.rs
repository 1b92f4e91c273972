//! A conversation with a language server in this process.
//!
//! In: JSON-RPC messages, one on each line, with any content, and lines that are not messages. The server must keep
//! answering. It is started once and serves all inputs, just as it serves all messages of a long session; whatever an
//! input opens is closed after it.

use serde_json::{Value, json};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, mpsc};
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::runtime::Runtime;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many bytes can be buffered between the two sides.
const PIPE: usize = 1 << 20;

/// A request about this file shows whether the server still answers.
const PROBE: &str = "file:///probe.ccl";

static CLIENT: LazyLock<Mutex<Client>> = LazyLock::new(|| Mutex::new(Client::new()));

/// Sends the lines of a text as messages.
pub fn converse(messages: &str) {
    let mut client = CLIENT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut opened = Vec::new();
    for line in messages.lines() {
        let message = serde_json::from_str::<Value>(line).unwrap_or_default();
        // These end the server, as they should.
        if !matches!(message["method"].as_str(), Some("shutdown" | "exit")) {
            client.send(line);
        }
        let document = &message["params"]["textDocument"]["uri"];
        opened.extend(document.as_str().map(str::to_owned));
    }
    client.hover();
    for uri in opened {
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }
}

struct Client {
    runtime: Runtime,
    writer: DuplexStream,
    messages: mpsc::Receiver<Value>,
    asked: u64,
}

impl Client {
    /// A client that has sent `initialize`.
    fn new() -> Client {
        let runtime = Runtime::new().expect("threads can be started");
        let (writer, input) = tokio::io::duplex(PIPE);
        let (output, reader) = tokio::io::duplex(PIPE);
        let exit = Arc::new(|status| panic!("the server ends with {status}"));
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
        let mut client = Client { runtime, writer, messages, asked: 0 };
        client.ask("initialize", json!({"processId": null, "rootUri": null, "capabilities": {}}));
        client.notify("initialized", json!({}));
        let document =
            json!({"uri": PROBE, "languageId": "ccl", "version": 1, "text": "let a = 1;"});
        client.notify("textDocument/didOpen", json!({"textDocument": document}));
        client
    }

    fn hover(&mut self) {
        let place = json!({"line": 0, "character": 5});
        self.ask("textDocument/hover", json!({"textDocument": {"uri": PROBE}, "position": place}));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request, and reads all messages up to the response.
    fn ask(&mut self, method: &str, params: Value) {
        self.asked += 1;
        let id = format!("fuzz-{}", self.asked);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&message.to_string());
        while let Ok(message) = self.messages.recv_timeout(PATIENCE) {
            if message["id"] == id.as_str() {
                return;
            }
        }
        panic!("the server does not answer");
    }

    fn send(&mut self, body: &str) {
        let text = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let sent = self.runtime.block_on(self.writer.write_all(text.as_bytes()));
        assert!(sent.is_ok(), "the server is gone");
    }
}

/// The next message; none if the server is gone.
async fn read(reader: &mut BufReader<DuplexStream>) -> Option<Value> {
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
