//! Whether launches with messages of different sizes may follow each other.
//!
//! In: what was found of each class of message sizes. Out:
//! * W0503: a write to scratch that may hit what an earlier launch of another size still uses. It is a warning: the
//!   program is right if all launches have one size, or if whoever launches it synchronizes the ranks in between.

use super::race::{Across, Beyond, Use};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::Program;
use crate::source::Place;

/// What is known so far.
pub(super) enum Sizes {
    /// All launches have one size, or there is no scratch.
    One,
    /// Of the classes that were looked at, this is known.
    Several(Option<Across>),
    /// Different ranks were followed in different classes.
    Unclear,
}

impl Sizes {
    /// Of a program of which nothing is known yet.
    pub(super) fn of(program: &Program) -> Sizes {
        let options = &program.options;
        let (least, most) = (options.min_message_size, options.max_message_size);
        let is_one = least.is_some() && least == most;
        let has_scratch = program.ranks.iter().any(|rank| rank.scratch_chunks > 0);
        if is_one || !has_scratch { Sizes::One } else { Sizes::Several(None) }
    }

    /// What has to be looked for in each class.
    pub(super) fn beyond(&self) -> Beyond {
        match self {
            Sizes::One | Sizes::Unclear => Beyond::Nothing,
            Sizes::Several(_) => Beyond::Sizes,
        }
    }

    /// Adds what was found of a class, if anything.
    pub(super) fn add(&mut self, across: Option<Across>) {
        let Some(across) = across else { return };
        if let Sizes::Several(known) = self {
            let both = match known.take() {
                Some(known) => known.and(across),
                None => Some(across),
            };
            *self = both.map_or(Sizes::Unclear, |both| Sizes::Several(Some(both)));
        }
    }

    /// Whether every rank has to be followed to tell, or to say where: in a plan, every rank has places of its own.
    pub(super) fn needs_all_ranks(&self, program: &Program) -> bool {
        match self {
            Sizes::One | Sizes::Several(None) => false,
            Sizes::Unclear => true,
            Sizes::Several(Some(across)) => {
                let conflict = across.conflict().filter(|_| !across.is_of_all_ranks());
                conflict.is_some_and(|(_, second)| {
                    matches!(program.origins.place(second.origin), Place::Plan(_))
                })
            }
        }
    }

    /// Whether all classes that were looked at may follow each other.
    pub(super) fn may_change(&self) -> bool {
        match self {
            Sizes::One | Sizes::Unclear | Sizes::Several(None) => false,
            Sizes::Several(Some(across)) => across.conflict().is_none(),
        }
    }

    /// The report about a write that may come too early.
    pub(super) fn report(&self, program: &Program) -> Option<Diagnostic> {
        let Sizes::Several(Some(across)) = self else { return None };
        let (first, second) = across.conflict()?;
        Some(report(program, &first, &second))
    }
}

fn report(program: &Program, first: &Use, second: &Use) -> Diagnostic {
    let at = |one: &Use| program.origins.at(one.origin);
    let mixed = first.packet != second.packet;
    let message = if mixed { confused(second) } else { early(first, second) };
    let report = Diagnostic::new(Code::W0503, at(second), message)
        .label(label(second))
        .and(at(first), label(first))
        .note("when the size of the message changes, every chunk of scratch is elsewhere; launches of one size are in order");
    if matches!(program.origins.place(second.origin), Place::Plan(_)) {
        return report.help(ONE_SIZE);
    }
    let doubled = first.packet && !first.write && !program.options.double_scratch;
    let way = match (mixed, doubled) {
        (true, _) => "use scratch for packets only, or for plain chunks only".to_owned(),
        (false, true) => "set `double_scratch = true`".to_owned(),
        (false, false) => format!(
            "let rank {} wait for a signal of rank {} before it writes there; `relaxed` is enough",
            second.rank.0, first.rank.0
        ),
    };
    report.help(way).help(format!("or {ONE_SIZE}, and say so: `message_size = 64KiB..=64KiB;`"))
}

/// What whoever launches the program can do.
const ONE_SIZE: &str =
    "give the messages of all launches one size, or synchronize the ranks whenever it changes";

fn early(first: &Use, second: &Use) -> String {
    let (rank, other, owner) = (second.rank.0, first.rank.0, second.owner.0);
    let doing = if first.write { "writing" } else { "reading" };
    let scratch =
        if rank == owner { "its scratch".to_owned() } else { format!("scratch of rank {owner}") };
    format!(
        "rank {rank} may write to {scratch} while rank {other} is still {doing} there in an earlier launch, if that had another size"
    )
}

fn confused(second: &Use) -> String {
    format!(
        "scratch of rank {} holds packets and plain chunks: after a launch of another size, a plain chunk may be taken for a packet",
        second.owner.0
    )
}

fn label(one: &Use) -> String {
    let does = if one.write { "writes" } else { "reads" };
    format!("rank {} {does}{}", one.rank.0, if one.packet { " packets" } else { "" })
}
