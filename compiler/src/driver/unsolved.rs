//! Input and output of a plan in place whose collective cannot be solved.
//!
//! In: such a plan's program. Out: the same program, in which buffers of equal size are the same memory, since each of the
//! two is a part of the other; a note that says so; and the findings of its checks. Where the sizes differ, nobody says
//! where the smaller buffer lies. The two are then separate for the checks, and an output that is read before it is
//! written is a warning only: it may be what the input holds. Races between the two may be overlooked, as the note says.

use crate::diagnostic::witness::Finding;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::ir::{self, Alias, Buffer};

/// The note on a read that may be right.
const UNCERTAIN: &str = "if the input lies there, this is no mistake, and there may be others";

/// What is known about how input and output share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// They do not.
    Nothing,
    /// They are the same memory on every rank that has both.
    Everything,
    /// They do, and on some ranks it is not known where.
    Somewhere,
}

/// Makes input and output the same memory where they must be, and says in the report on the collective what is known.
pub(super) fn share(program: &mut ir::Program, why: &mut Diagnostic) -> Sharing {
    let is_known = program.ranks.iter().any(|rank| rank.alias.is_some());
    if !program.collective.in_place || is_known {
        return Sharing::Nothing;
    }
    let mut sharing = Sharing::Everything;
    for rank in program.ranks.iter_mut() {
        match (rank.input_chunks, rank.output_chunks) {
            (0, _) | (_, 0) => {}
            (input, output) if input == output => {
                let (inner, outer) = (Buffer::Input, Buffer::Output);
                rank.alias = Some(Alias { inner, outer, offset: 0 });
            }
            (_, _) => sharing = Sharing::Somewhere,
        }
    }
    if matches!(why.code, Code::N0901 | Code::W0802) {
        why.notes.extend(sharing.told().map(str::to_owned));
    }
    sharing
}

impl Sharing {
    fn told(self) -> Option<&'static str> {
        match self {
            Sharing::Nothing => None,
            Sharing::Everything => Some(
                "the plan is in place, and input and output have one size: they are the same memory",
            ),
            Sharing::Somewhere => Some(
                "the plan is in place, but nothing says where in the larger buffer the smaller one lies: they are checked as if they were separate, and races between them are not found",
            ),
        }
    }

    /// The findings of the checks, as far as they are certain.
    pub(super) fn graded(self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let uncertain = |report: &&mut Diagnostic| {
            self == Sharing::Somewhere && report.code == Code::E0520 && is_about_output(report)
        };
        for report in found.iter_mut().filter(uncertain) {
            report.severity = Severity::Warning;
            report.notes.push(UNCERTAIN.to_owned());
        }
        found
    }
}

/// Whether a race is about memory of the output buffer.
fn is_about_output(report: &Diagnostic) -> bool {
    let finding = report.witness.as_ref().map(|witness| &witness.finding);
    matches!(finding, Some(Finding::Race(race)) if race.memory.buffer == Buffer::Output.word())
}
