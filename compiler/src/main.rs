//! `cclc`: the command line of the ccl compiler.
//!
//! This binary is the only part of the crate that reads files, writes them, prints, or looks at the clock and the
//! environment; `cli` below holds it all, and the library does the rest.

mod cli;

use std::process::ExitCode;

/// Stack of the worker thread. Elaboration recurses as deep as a program nests; this is enough for the deepest
/// program that is accepted.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    cli::crash::install();
    cli::output::survive_size_limits();
    let run = || cli::run(std::env::args_os());
    let worker =
        std::thread::Builder::new().name("cclc".to_owned()).stack_size(STACK_BYTES).spawn(run);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => ExitCode::from(status as u8),
        // The panic hook has already reported what happened.
        Ok(Err(_)) => ExitCode::from(cli::crash::STATUS),
        Err(_) => ExitCode::from(cli::run(std::env::args_os()) as u8),
    }
}
