//! Carries out the commands that take long, beside the requests.

use crate::commands::{
    CompileCommand, CompletionEdit, SourceSnapshot, SynthesizeCommand, TIME_LIMIT,
};
use crate::text::Encoding;
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

/// Carries out a command about a program.
pub(super) async fn carry_out(
    command: CompileCommand,
    source: SourceSnapshot,
) -> Result<Value, String> {
    work(move |interrupt| command.carry_out(&source, interrupt)).await
}

/// Completes a program.
pub(super) async fn synthesize(
    command: SynthesizeCommand,
    source: SourceSnapshot,
    encoding: Encoding,
) -> Result<CompletionEdit, String> {
    work(move |interrupt| command.carry_out(&source, encoding, interrupt)).await
}

/// Does something on a thread of its own, until its time is up or nobody waits for the answer any more.
async fn work<T: Send + 'static>(
    task: impl FnOnce(&Interrupt) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let guard = InterruptOnDrop::default();
    let interrupt = guard.0.clone();
    let mut work = tokio::task::spawn_blocking(move || task(&interrupt));
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
