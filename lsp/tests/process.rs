//! The executable: it ends when asked to, and when its client is gone.

#![expect(clippy::unwrap_used, reason = "a test that cannot speak to the server fails")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn server() -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccl-lsp"));
    command.arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn send(server: &mut Child, body: &str) {
    let input = server.stdin.as_mut().unwrap();
    write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    input.flush().unwrap();
}

/// Reads a message, so that the server is known to be running.
fn hear(server: &mut Child) -> String {
    let mut output = BufReader::new(server.stdout.as_mut().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let length: usize = line.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
    let mut rest = vec![0; length + 2];
    output.read_exact(&mut rest).unwrap();
    String::from_utf8(rest).unwrap()
}

fn initialize(server: &mut Child, process: u32) {
    let params = format!("{{\"processId\":{process},\"capabilities\":{{}},\"rootUri\":null}}");
    send(
        server,
        &format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{params}}}"),
    );
    hear(server);
}

fn status(server: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(status) = server.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    server.kill().unwrap();
    panic!("the server does not end");
}

#[test]
fn it_ends_at_exit_though_its_input_stays_open() {
    let mut server = server();
    initialize(&mut server, std::process::id());
    send(&mut server, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"shutdown\",\"params\":null}");
    hear(&mut server);
    send(&mut server, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\",\"params\":null}");
    assert_eq!(status(&mut server), Some(0));
}

#[test]
fn it_answers_what_is_no_message_and_goes_on() {
    let mut server = server();
    initialize(&mut server, std::process::id());
    for (body, code) in [
        ("", -32700),
        ("[]", -32600),
        ("{}", -32600),
        ("nonsense", -32700),
        ("{\"jsonrpc\":\"2.0\",", -32700),
        ("{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\"}", -32600),
        ("\"\u{0}\"", -32700),
    ] {
        send(&mut server, body);
        let answer = hear(&mut server);
        assert!(answer.contains("\"id\":null") && answer.contains(&code.to_string()), "{answer}");
    }
    // A header without a length, one with a length that is not a number, and an empty one.
    for header in ["Nonsense: 1\r\n\r\n", "Content-Length: many\r\n\r\n", "\r\n"] {
        server.stdin.as_mut().unwrap().write_all(header.as_bytes()).unwrap();
        assert!(hear(&mut server).contains("error"), "{header}");
    }
    // The name of a header has any case, and blanks around its value.
    let body = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"shutdown\",\"params\":null}";
    let message = format!("content-TYPE: x\r\ncontent-length:{} \r\n\r\n{body}", body.len());
    server.stdin.as_mut().unwrap().write_all(message.as_bytes()).unwrap();
    assert!(hear(&mut server).contains("\"id\":2"));
}

#[test]
fn it_ends_when_its_input_ends() {
    let mut server = server();
    initialize(&mut server, std::process::id());
    drop(server.stdin.take());
    assert_eq!(status(&mut server), Some(1));
}

#[test]
#[cfg(target_os = "linux")]
fn it_ends_when_the_editor_is_killed_though_its_input_stays_open() {
    let mut server = server();
    let mut editor = Command::new("sleep").arg("600").spawn().unwrap();
    initialize(&mut server, editor.id());
    editor.kill().unwrap();
    editor.wait().unwrap();
    assert_eq!(status(&mut server), Some(1));
}
