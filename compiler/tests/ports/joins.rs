//! Finds the `nop`s of a plan that the checker does not need.

use compiler::diagnostic::{Code, Severity};
use compiler::driver::{self, Known};
use compiler::interrupt::Interrupt;
use compiler::source::FileId;
use compiler::target::Capacity;

/// A `nop` as it is written in plans.
const NOP: &str = r#"{"name":"nop"}"#;

/// The numbers of the `nop`s that can be removed, one at a time, without making the plan wrong.
pub(crate) fn needless(plan: &str) -> Vec<usize> {
    assert_eq!(errors(plan), Vec::<String>::new(), "it must be right as it is");
    let places: Vec<usize> = plan.match_indices(NOP).map(|(at, _)| at).collect();
    let without = |at: &usize| {
        let (before, after) = (&plan[..*at], &plan[at + NOP.len()..]);
        match after.strip_prefix(',') {
            Some(after) => [before, after].concat(),
            None => [before.strip_suffix(',').unwrap_or(before), after].concat(),
        }
    };
    let fine = places.iter().map(without).enumerate().filter(|(_, plan)| errors(plan).is_empty());
    fine.map(|(which, _)| which).collect()
}

fn errors(plan: &str) -> Vec<String> {
    let capacity = Capacity { sms: 132, worst: Severity::Error };
    let found = driver::verify(FileId(0), plan, &Known::default(), capacity, &Interrupt::default());
    // A plan cannot declare that it writes its input on purpose.
    let errors = found
        .into_iter()
        .filter(|report| report.severity == Severity::Error && report.code != Code::E0504);
    errors.map(|report| format!("{:?}: {}", report.code, report.message)).collect()
}
