//! The budgets of the checks: how much work a step may do before it gives up.
//!
//! In: what a step needs. Out: whether it may go on; if not, an [`Exceeded`], from which the report is made that says what
//! was left out. Rules: no other file of the checks bounds a step by a constant of its own; every budget is in
//! [`Budget::ALL`]; `docs/proof.md` has the same list.

use crate::diagnostic::{Code, Diagnostic};
use crate::ir::grain::MOST_PARTS;
use crate::source::At;
use std::cell::RefCell;
use std::fmt;

/// The most of something that a step of the checks may use.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    name: &'static str,
    amount: u64,
    unit: &'static str,
    effect: Effect,
    reason: &'static str,
}

/// What happens when a budget is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Something is not proved, and a warning says what: that the program is right may not follow from its being accepted.
    Unproved(Code),
    /// Less is taken for certain: a program that is right may be refused, and its reports say why. None that is wrong is
    /// accepted.
    Refused,
    /// Another way is taken that costs more and finds the same. It has budgets of its own.
    Slower,
    /// An explanation or a suggested change is missing. No verdict depends on it.
    Unexplained,
}

/// That a budget was exceeded. Whoever has one owes the report.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exceeded(&'static Budget);

thread_local! {
    /// The budgets that a test has lowered.
    static LOWERED: RefCell<Vec<(&'static str, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Makes the budgets and their list from one row per budget.
macro_rules! budgets {
    ($($id:ident: $name:literal, $amount:expr, $unit:literal, $effect:expr, $reason:literal;)*) => {
        $(
            #[doc = $name]
            pub(crate) static $id: Budget =
                Budget { name: $name, amount: $amount, unit: $unit, effect: $effect, reason: $reason };
        )*

        impl Budget {
            /// Every budget, in the order of the page about proofs.
            pub const ALL: &[&'static Budget] = &[$(&$id),*];
        }
    };
}

const NOT_RUN: Effect = Effect::Unproved(Code::W0501);
const NOT_TRIED: Effect = Effect::Unproved(Code::W0502);

budgets! {
    RUN: "the run on symbols", 30_000_000, "operations, elements and cells", NOT_RUN,
        "a minute, and 1.5 GB for as many cells";
    UNROLLED: "unrolled windows", 10_000_000, "operations in all windows of all pipelines", NOT_RUN,
        "each takes a hundred bytes";
    CELLS: "memory in the search for races", 20_000_000, "cells of the ranks that are followed", NOT_RUN,
        "the accesses to a cell take up to a hundred bytes";
    ELEMENTS: "the search for races", 30_000_000, "elements of operations", NOT_RUN,
        "a few seconds";
    ENDS: "patterns of slices", 20_000_000, "ends of slices that are compared", NOT_RUN,
        "ten seconds; groups of up to sixteen blocks need a thousandth of it";
    ORDERS: "orders of slices that packets tell of", 4, "times the cells of even slices", NOT_RUN,
        "each order is a check of its own; groups that all have as many blocks have two";
    SIZES: "sizes with uneven slices", 60_000_000, "cells of the ranks that are followed, over all sizes", NOT_RUN,
        "as long as the other checks of the largest programs";
    PARTS: "windows of pipelines", MOST_PARTS as u64, "parts of a chunk", NOT_RUN,
        "units with no common divisor would cut chunks into as many parts as their product";
    SIZES_OF_WINDOWS: "sizes with few windows", 32, "sizes", NOT_RUN,
        "each is a check of its own; pipelines over as many chunks each, in windows of one size, have few";
    BREAKPOINTS: "places where windows and chunks end together", 100_000, "numbers of chunks and of windows", NOT_RUN,
        "far more than there are sizes that are checked; which of them make a difference is found only then";
    TOLD_APART: "sizes that are told apart", 20_000_000, "windows at all sizes", NOT_RUN,
        "a second";
    STATES: "schedules of shared counters", 50_000, "states", NOT_TRIED,
        "their number grows exponentially with the blocks that share";
    PLACES: "memory of schedules", 5_000_000, "places of blocks in all states", NOT_TRIED,
        "each takes a few bytes";
    SCHEDULED: "operations of shared counters", 4_000, "operations of blocks that have to do with each other", NOT_TRIED,
        "each state holds all of their places";
    ROUNDS: "rounds of guarantees", 3, "rounds", Effect::Refused,
        "each is a search for races; no program is known that needs more than two";
    SETTLING: "packets with several writers", 10, "rounds", Effect::Refused,
        "each is a search for races; what is certain grows from round to round";
    COMPARED: "uses of a shared counter", 256, "signals, or waits", Effect::Refused,
        "each is compared with each";
    AGENTS: "what all signals of a counter know", 1 << 18, "blocks and proxies, times signals", Effect::Refused,
        "the knowledge of each signal is as long as there are blocks and proxies";
    IN_TURN: "semaphores that are used in turn", 16, "rounds", Effect::Refused,
        "each is a run of a rank; rounds beyond the number of dependent semaphores find nothing";
    KNOWN_IN_TURN: "what uses in turn tell each other", 20_000_000, "entries of vector clocks of all ranks", Effect::Refused,
        "a few seconds, and up to a gigabyte";
    WRAPPED: "windows of reused scratch", 1 << 21, "operations and cells of unrolled windows", Effect::Refused,
        "ring after ring is unrolled; without the proof the plan gets a smaller largest message";
    FOLDED: "representatives of ranks", 50_000_000, "chunks of all ranks", Effect::Slower,
        "the counterpart of each chunk is stored; without representatives every rank is followed";
    MARKED: "marks by which ranks are compared", 3, "rounds", Effect::Slower,
        "each goes through all operations; no program is known that needs more";
    MOMENTS: "schedules in reports", 200_000, "moments", Effect::Unexplained,
        "nobody reads a longer one";
    LINES: "the order of events in reports", 2_000_000, "lines of blocks and packets", Effect::Unexplained,
        "it is built again for each report";
    TRACED: "where wrong contents come from", 1_000_000, "elements", Effect::Unexplained,
        "each takes fifty bytes";
    CONFLICTS: "conflicts in reports", 100_000, "conflicts", Effect::Unexplained,
        "they are merged into a few reports";
    WITNESSES: "reports with a witness", 16, "reports", Effect::Unexplained,
        "later ones usually have the causes of the first";
    TRIALS: "changes that are tried", 1_000_000, "operations and cells of all trials", Effect::Unexplained,
        "each trial is a check of the whole program";
    RELAXED_PAIRS: "signals and waits that a change makes strong", 8, "pairs", Effect::Unexplained,
        "the nearest ones come first";
    INITIAL_VALUES: "initial values that a change lowers", 8, "semaphores", Effect::Unexplained,
        "the nearest ones come first";
    MISCOUNTED: "places where a change counts otherwise", 4, "places of each kind", Effect::Unexplained,
        "the last ones come first";
    RELEASES: "places for one more release", 24, "statements", Effect::Unexplained,
        "the last ones come first";
    REPEATS: "repetitions that a change adds", 8, "times", Effect::Unexplained,
        "more are hardly meant";
    REMOVED: "statements that a change removes", 6, "statements", Effect::Unexplained,
        "the last ones come first";
    USERS: "users of a counter in a report", 4, "users", Effect::Unexplained,
        "the others are like them";
}

impl Budget {
    /// The step that it bounds.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Of what it is an amount.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        self.unit
    }

    /// What happens when it is exceeded.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Why there is a bound, and this one.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// The most that a step may use.
    #[must_use]
    pub fn amount(&self) -> u64 {
        LOWERED.with_borrow(|lowered| {
            let mine = lowered.iter().rev().find(|(name, _)| *name == self.name);
            mine.map_or(self.amount, |(_, amount)| self.amount.min(*amount))
        })
    }

    /// The same, as a length.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.amount()).unwrap_or(usize::MAX)
    }

    /// That it was exceeded.
    pub(crate) fn exceeded(&'static self) -> Exceeded {
        Exceeded(self)
    }

    /// Whether a step may use so much.
    pub(crate) fn allow(&'static self, amount: u64) -> Result<(), Exceeded> {
        if amount <= self.amount() { Ok(()) } else { Err(self.exceeded()) }
    }

    /// Runs something with a lower budget: tests show with it what exceeding the budget does.
    pub fn lowered<T>(&self, amount: u64, run: impl FnOnce() -> T) -> T {
        LOWERED.with_borrow_mut(|lowered| lowered.push((self.name, amount)));
        let result = run();
        LOWERED.with_borrow_mut(|lowered| lowered.pop());
        result
    }
}

/// As a row of the page about proofs.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match self.effect {
            Effect::Unproved(code) => code.id(),
            Effect::Refused => "less is certain",
            Effect::Slower => "slower",
            Effect::Unexplained => "less is explained",
        };
        let amount = grouped(self.amount);
        write!(f, "| {} | {amount} {} | {effect} | {} |", self.name, self.unit, self.reason)
    }
}

impl Exceeded {
    /// The warning about what was left out.
    pub(crate) fn warning(self, at: Option<At>, message: impl Into<String>) -> Diagnostic {
        let code = match self.0.effect {
            Effect::Unproved(code) => code,
            Effect::Refused | Effect::Slower | Effect::Unexplained => Code::W0501,
        };
        let report = match at {
            Some(at) => Diagnostic::new(code, at, message),
            None => Diagnostic::without_place(code, message),
        };
        report.note(self.limit())
    }

    /// The budget in words, as a note.
    pub(crate) fn limit(self) -> String {
        format!("{} may take {} {}", self.0.name, grouped(self.0.amount()), self.0.unit)
    }

    /// Why less is taken for certain: a note for a report that may follow from that.
    pub(crate) fn note(self) -> String {
        format!(
            "{}, and this program needs more: that may be the only reason for this report",
            self.limit()
        )
    }
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Budget, grouped};
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_amounts_can_only_be_lowered() {
        let names: BTreeSet<&str> = Budget::ALL.iter().map(|budget| budget.name).collect();
        assert_eq!(names.len(), Budget::ALL.len());
        for budget in Budget::ALL {
            assert_eq!(budget.lowered(0, || budget.amount()), 0);
            assert_eq!(budget.lowered(u64::MAX, || budget.amount()), budget.amount);
            assert_eq!(budget.amount(), budget.amount);
        }
    }

    #[test]
    fn digits_are_in_groups() {
        assert_eq!(grouped(16), "16");
        assert_eq!(grouped(2_000), "2,000");
        assert_eq!(grouped(30_000_000), "30,000,000");
    }
}
