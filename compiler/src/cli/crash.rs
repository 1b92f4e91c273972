//! The message for bugs of the compiler itself.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

/// The exit status of a run that ended in a bug of the compiler.
pub(crate) const STATUS: u8 = 101;

/// Makes a panic say that it is a bug of the compiler, and what to send in a report.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|panic| super::report::say(&text(panic))));
}

fn text(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let what = owned.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let backtrace = Backtrace::capture();
    let captured = backtrace.status() == BacktraceStatus::Captured;
    let hint = "RUST_BACKTRACE=1 shows where it came from.".to_owned();
    let trace = if captured { backtrace.to_string() } else { hint };
    format!(
        "error: this is a bug in cclc {}, not a mistake in your program\n\
         {what}{place}\n\
         Please report it at {}/issues with the command line, the source files and these lines.\n{trace}",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_REPOSITORY"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_panic_asks_for_a_report() {
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        std::panic::set_hook(Box::new(move |panic| *heard.lock().unwrap() = text(panic)));
        let result = std::panic::catch_unwind(|| panic!("lost count at {}", 7));
        let _ = std::panic::take_hook();
        assert!(result.is_err());
        let said = said.lock().unwrap();
        for part in ["this is a bug in cclc", "lost count at 7", "crash.rs", "/issues"] {
            assert!(said.contains(part), "{part:?} is missing from\n{said}");
        }
    }
}
