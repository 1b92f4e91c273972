//! The checks of a concrete program, and the list of them.
//!
//! In: a program, joins implied or explicit. Out: what is wrong with it, whatever it runs on; what a target cannot run
//! is [`limits`]' business. A check that finds something ends the list: what follows would only echo it.

pub mod limits;

mod deadlock;
mod found;
mod matching;
mod promise;
mod race;

use crate::diagnostic::Diagnostic;
use crate::interrupt::Interrupt;
use crate::ir;
use crate::ir::run::{self, Outcome};
use race::Races;

/// Operations and elements that the run may look at: a few seconds' worth.
const STEPS: u64 = 50_000_000;

/// Checks a program.
#[must_use]
pub fn check(program: &ir::Program, interrupt: &Interrupt) -> Vec<Diagnostic> {
    let unbalanced = matching::check(program);
    if !unbalanced.is_empty() || interrupt.is_set() {
        return unbalanced;
    }
    match run::run(program, STEPS) {
        Outcome::Stuck(stuck) => deadlock::explain(program, &stuck),
        Outcome::Finished(memory) => match race::check(program, interrupt) {
            Races::Found(races) if !races.is_empty() => races,
            Races::Found(_) | Races::Unknown => promise::check(program, &memory),
        },
        Outcome::TooLong => Vec::new(),
    }
}
