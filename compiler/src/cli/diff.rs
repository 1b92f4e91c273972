//! `cclc diff`: how two plans differ in what they do.

use super::args::Diff;
use super::report::Reporter;
use super::{Failure, Status, files};
use compiler::diagnostic::Severity;
use compiler::driver::{self, Target};
use std::path::Path;

/// Compares two plans.
pub(crate) fn run(diff: &Diff, reporter: &mut Reporter) -> Result<Status, Failure> {
    if [&diff.first, &diff.second].iter().all(|path| **path == Path::new("-")) {
        return Err(Failure::Usage("only one plan can come from standard input".to_owned()));
    }
    let mut plans = Vec::new();
    for path in [&diff.first, &diff.second] {
        match files::open(&mut reporter.sources, path, reporter.limits.plan_bytes()) {
            Ok(file) => plans.push((file, reporter.sources.files[file].text.clone())),
            Err(why) => reporter.unreadable(path, &why),
        }
    }
    let [(left, a), (right, b)] = plans.as_slice() else { return Ok(reporter.finish()) };
    let target = Target { sms: diff.sms, worst: Severity::Error };
    let (same, found) = driver::diff((*left, a), (*right, b), target, &reporter.interrupt);
    if reporter.is_stopped() {
        return Ok(reporter.finish());
    }
    reporter.add(found);
    if same == Some(true) {
        reporter.remark("the plans are the same");
    }
    Ok(reporter.finish())
}
