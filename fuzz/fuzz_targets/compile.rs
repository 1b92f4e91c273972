//! Any text goes through the whole compiler: it may report what it likes, but must come back.
//!
//! `cargo fuzz run compile` (nightly toolchain, from this folder's parent). What it finds becomes a case in
//! `compiler/tests/cases`.

#![no_main]

use compiler::diagnostic::Severity;
use compiler::diagnostic::render::{self, Colors};
use compiler::driver::{self, Proof, Target};
use compiler::elaborate::Settings;
use compiler::interrupt::Interrupt;
use compiler::source::SourceMap;

/// Enough for every construct, few enough to be quick.
const MAX_OPERATIONS: u64 = 10_000;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut sources = SourceMap::default();
    let main = sources.add("fuzz.ccl", text);
    let mut read = |_: &str| Err("there are no files here".to_owned());
    let (unit, diagnostics) = driver::load(main, &mut sources, &mut read);
    let _ = render::human(&sources, &diagnostics, Colors::Off);
    if driver::has_errors(&diagnostics) {
        return;
    }
    let settings = Settings { max_operations: MAX_OPERATIONS, ..Settings::default() };
    let target = Target { sms: 132, worst: Severity::Error };
    for program in unit.programs.ids() {
        let (lowered, diagnostics) =
            driver::lower(&unit, program, &settings, Proof::Reported, &Interrupt::default());
        let _ = render::human(&sources, &diagnostics, Colors::Off);
        if let Some(lowered) = lowered {
            let _ = driver::write_plan(lowered, target, &mut std::io::sink());
        }
    }
});
