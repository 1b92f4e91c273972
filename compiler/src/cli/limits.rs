//! The limits on a run's time and input: those of `--time-limit` and `--max-input`, and the defaults.

use super::args::Limits;
use super::progress;
use compiler::bytes;
use compiler::interrupt::Interrupt;
use std::io::{self, Write as _};
use std::time::Duration;

/// The most bytes of a source file, with all that it imports.
const SOURCE_BYTES: u64 = 16 << 20;

/// The most bytes of a plan: plans for a thousand ranks have some hundred million.
const PLAN_BYTES: u64 = 1 << 30;

/// The most bytes of any file, since offsets are 32-bit numbers.
const MOST_BYTES: u64 = 4095 << 20;

impl Limits {
    /// The most bytes of a source file with what it imports.
    pub(crate) fn source_bytes(self) -> u64 {
        self.max_input.unwrap_or(SOURCE_BYTES).min(MOST_BYTES)
    }

    /// The most bytes of a plan, a map or a manifest.
    pub(crate) fn plan_bytes(self) -> u64 {
        self.max_input.unwrap_or(PLAN_BYTES).min(MOST_BYTES)
    }
}

/// How much longer than the limit a command may take to stop by itself, if the limit is shorter than that.
const GRACE: Duration = Duration::from_secs(10);

/// A flag that is set when the time is up; without a limit, never. If the command has not ended after as much time again, or
/// after [`GRACE`], some loop does not look at the flag: the process is ended then. Files are replaced in one step, so none is
/// left half written.
pub(crate) fn interrupt(limit: Option<Duration>) -> Interrupt {
    let interrupt = Interrupt::default();
    if let Some(limit) = limit {
        let flag = interrupt.clone();
        std::thread::spawn(move || {
            std::thread::sleep(limit);
            flag.set();
            std::thread::sleep(limit.max(GRACE));
            end(limit);
        });
    }
    interrupt
}

/// Ends the process, and says why.
fn end(limit: Duration) -> ! {
    progress::clear();
    let seconds = limit.as_secs_f64();
    // There is nobody to tell if standard error is closed.
    let _ = writeln!(
        io::stderr(),
        "error[E0903]: stopped after {seconds} s, without a result\n  = help: give it more time with `--time-limit`, or try \
         fewer ranks, chunks or bytes"
    );
    std::process::exit(1)
}

/// The reason why something is not read, if `most` bytes may be.
pub(crate) fn too_large(bytes: u64, most: u64) -> String {
    let raise = match most < MOST_BYTES {
        true => "; `--max-input BYTES` sets another limit",
        false => "",
    };
    format!("it has {}, and at most {} may be read{raise}", bytes::text(bytes), bytes::text(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named_where_it_can_be_raised() {
        let said = "it has 16896KiB, and at most 16MiB may be read; `--max-input BYTES` sets another limit";
        assert_eq!(too_large(33 << 19, 16 << 20), said);
        assert_eq!(too_large(5 << 30, MOST_BYTES), "it has 5GiB, and at most 4095MiB may be read");
    }

    #[test]
    fn no_limit_is_above_what_offsets_can_count() {
        let limits = Limits { time_limit: None, max_input: Some(u64::MAX) };
        assert_eq!((limits.source_bytes(), limits.plan_bytes()), (MOST_BYTES, MOST_BYTES));
    }
}
