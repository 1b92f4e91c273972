//! `cclc verify`: checks plans, whoever made them.

use super::args::Verify;
use super::report::Reporter;
use super::{Failure, Status, files};
use compiler::diagnostic::Severity;
use compiler::driver::{self, Target};
use compiler::interrupt::Interrupt;

/// Checks each plan.
pub(crate) fn run(verify: &Verify, reporter: &mut Reporter) -> Result<Status, Failure> {
    let target = Target { sms: verify.sms, worst: Severity::Error };
    for path in &verify.plans {
        match files::open(&mut reporter.sources, path) {
            Ok(file) => {
                let text = reporter.sources.files[file].text.clone();
                reporter.add(driver::verify(file, &text, target, &Interrupt::default()));
            }
            Err(why) => reporter.unreadable(path, &why),
        }
    }
    Ok(reporter.finish())
}
