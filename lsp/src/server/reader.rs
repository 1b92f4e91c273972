//! Reads the input message by message, before the library does.
//!
//! In: the bytes of the base protocol. Out: the same bytes, in which every message is JSON-RPC. The library stops
//! reading for good at the first message that is not; here such a message is replaced by a request without an id for
//! [`NO_JSON`] or [`NO_MESSAGE`], which is answered with an error, and reading goes on.

use serde::de::IgnoredAny;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader,
};
use tower_lsp::jsonrpc::{Request, Response};

/// The method that stands for a message that is not JSON.
pub(crate) const NO_JSON: &str = "ccl/noJson";

/// The method that stands for JSON that is no message, and for what has no length or is too long.
pub(crate) const NO_MESSAGE: &str = "ccl/noMessage";

/// The longest message, in bytes; longer ones are skipped.
const LONGEST: u64 = 256 << 20;

/// The longest header line, in bytes.
const LONGEST_LINE: u64 = 4096;

/// Forwards messages until one side is closed.
pub(crate) async fn hand_on(input: impl AsyncRead + Unpin, mut output: impl AsyncWrite + Unpin) {
    let mut input = BufReader::new(input);
    while let Some(body) = next(&mut input).await {
        let body = readable(body);
        let header = format!("Content-Length: {}\r\n\r\n", body.len());
        if output.write_all(header.as_bytes()).await.is_err()
            || output.write_all(&body).await.is_err()
            || output.flush().await.is_err()
        {
            return;
        }
    }
}

/// The body of the next message: `Some(None)` for one without a length or too long, `None` at the end of the input.
async fn next(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let read = input.take(LONGEST_LINE).read_until(b'\n', &mut line).await.ok()?;
        if read == 0 {
            return None;
        }
        let line = line.trim_ascii();
        if !line.is_empty() {
            length = content_length(line).or(length);
            continue;
        }
        let Some(length) = length else { return Some(None) };
        if length > LONGEST {
            tokio::io::copy(&mut input.take(length), &mut tokio::io::sink()).await.ok()?;
            return Some(None);
        }
        let mut body = Vec::new();
        let read = input.take(length).read_to_end(&mut body).await.ok()?;
        return (read as u64 == length).then_some(Some(body));
    }
}

/// The length in a header line, if it has one.
fn content_length(line: &[u8]) -> Option<u64> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    let is_length = name.eq_ignore_ascii_case("content-length");
    is_length.then(|| value.trim().parse().ok()).flatten()
}

/// A message, or a request that stands for it.
fn readable(body: Option<Vec<u8>>) -> Vec<u8> {
    match body {
        Some(body) if is_message(&body) => body,
        Some(body) if serde_json::from_slice::<IgnoredAny>(&body).is_err() => stand_in(NO_JSON),
        Some(_) | None => stand_in(NO_MESSAGE),
    }
}

fn is_message(body: &[u8]) -> bool {
    serde_json::from_slice::<Request>(body).is_ok()
        || serde_json::from_slice::<Response>(body).is_ok()
}

fn stand_in(method: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"{method}\"}}").into_bytes()
}
