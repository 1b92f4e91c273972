//! Carries out the commands that take long, beside the requests.

use crate::commands::{CompileCommand, SourceSnapshot, TIME_LIMIT};
use compiler::interrupt::Interrupt;
use serde_json::Value;

/// Sets its flag when it is dropped, as it is when the client cancels a request.
#[derive(Default)]
struct InterruptOnDrop(Interrupt);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Carries out a command on a thread of its own, until its time is up or nobody waits for the answer any more.
pub(super) async fn carry_out(
    command: CompileCommand,
    source: SourceSnapshot,
) -> Result<Value, String> {
    let guard = InterruptOnDrop::default();
    let interrupt = guard.0.clone();
    let mut work = tokio::task::spawn_blocking(move || command.carry_out(&source, &interrupt));
    let done = match tokio::time::timeout(TIME_LIMIT, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            guard.0.set();
            work.await
        }
    };
    // If the command panics, only its answer is lost.
    done.unwrap_or_else(|_| Err("the command failed: please report this".to_owned()))
}
