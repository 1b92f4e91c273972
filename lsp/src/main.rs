//! `ccl-lsp`: the language server on standard input and output.
//!
//! `--stdio` is accepted because some clients always pass it; it changes nothing.

mod arena;

use server::sequencer::Exit;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--stdio" => {}
            "--version" | "-V" => return say(&format!("ccl-lsp {}", env!("CARGO_PKG_VERSION"))),
            "--help" | "-h" => return say(HELP),
            _ => {
                let _ =
                    writeln!(std::io::stderr(), "ccl-lsp: unknown argument `{argument}`\n{HELP}");
                return ExitCode::from(2);
            }
        }
    }
    arena::share();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .enable_io()
        .build()
    {
        Ok(runtime) => runtime,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "ccl-lsp: {why}");
            return ExitCode::FAILURE;
        }
    };
    let exit: Exit = Arc::new(|status| std::process::exit(status));
    runtime.block_on(server::server::serve(tokio::io::stdin(), tokio::io::stdout(), exit));
    // The client closed the connection without `exit`; threads that still compute must not keep the
    // process alive.
    std::process::exit(1)
}

const HELP: &str =
    "Usage: ccl-lsp [--stdio]\n\nThe language server of ccl, on standard input and output.";

fn say(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
