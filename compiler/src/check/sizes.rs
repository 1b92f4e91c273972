//! Whether launches with messages of different sizes may follow each other.
//!
//! In: what was found of each class of message sizes. Out:
//! * W0503: a write to scratch that may hit what an earlier launch of another size still uses. It is a warning: the
//!   program is right if all launches have one size, or if whoever launches it synchronizes the ranks in between.

use super::classes;
use super::race::{Across, Beyond, Use, Writes};
use crate::bytes;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::Program;
use crate::source::Place;

/// What is known so far.
pub(super) enum Sizes {
    /// There is no scratch.
    Any,
    /// All launches have one size.
    One,
    /// Of the classes that were looked at, this is known.
    Several(Writes, Option<Across>),
    /// Different ranks were followed in different classes.
    Unclear,
}

impl Sizes {
    /// Of a program of which nothing is known yet, and how its writes are looked at.
    pub(super) fn of(program: &Program, writes: Writes) -> Sizes {
        let has_scratch = program.ranks.iter().any(|rank| rank.scratch_chunks > 0);
        match (has_scratch, classes::is_of_one_size(program)) {
            (false, _) => Sizes::Any,
            (true, true) => Sizes::One,
            (true, false) => Sizes::Several(writes, None),
        }
    }

    /// What has to be looked for in each class.
    pub(super) fn beyond(&self) -> Beyond {
        match self {
            Sizes::Any | Sizes::One | Sizes::Unclear => Beyond::Nothing,
            Sizes::Several(writes, _) => Beyond::Sizes(*writes),
        }
    }

    /// Adds what was found of a class, if anything.
    pub(super) fn add(&mut self, across: Option<Across>) {
        let Some(across) = across else { return };
        if let Sizes::Several(writes, known) = self {
            let both = match known.take() {
                Some(known) => known.and(across),
                None => Some(across),
            };
            let writes = *writes;
            *self = both.map_or(Sizes::Unclear, |both| Sizes::Several(writes, Some(both)));
        }
    }

    /// Whether every rank has to be followed to tell, or to say where: in a plan, every rank has places of its own.
    pub(super) fn needs_all_ranks(&self, program: &Program) -> bool {
        match self {
            Sizes::Any | Sizes::One | Sizes::Several(_, None) => false,
            Sizes::Unclear => true,
            Sizes::Several(_, Some(across)) => {
                let mut conflicts = across.conflicts().filter(|_| !across.is_of_all_ranks());
                conflicts.any(|(_, second)| is_in_plan(program, &second))
            }
        }
    }

    /// Whether writes have to be looked at one by one to tell.
    pub(super) fn needs_each_write(&self) -> bool {
        matches!(self, Sizes::Several(_, Some(across)) if across.is_unclear())
    }

    /// Whether all classes that were looked at may follow each other.
    pub(super) fn may_change(&self) -> bool {
        match self {
            Sizes::Any => true,
            Sizes::One | Sizes::Unclear | Sizes::Several(_, None) => false,
            Sizes::Several(_, Some(across)) => across.conflicts().next().is_none(),
        }
    }

    /// The report about a write that may come too early and for which that is not accepted: of the first rank that has one.
    pub(super) fn report(&self, program: &Program, unit: u64) -> Option<Diagnostic> {
        let Sizes::Several(_, Some(across)) = self else { return None };
        let accepted = |second: &Use| program.origins.accepts(Code::W0503.id(), second.origin);
        let open = across.conflicts().filter(|(_, second)| !accepted(second));
        let place = |one: &Use| program.origins.place(one.origin);
        let order = |(first, second): &(Use, Use)| {
            let write = (second.rank, place(second), second.owner, second.packet);
            (write, first.rank, place(first), first.write)
        };
        let (first, second) = open.min_by_key(order)?;
        Some(report(program, (&first, &second), unit))
    }
}

fn is_in_plan(program: &Program, one: &Use) -> bool {
    matches!(program.origins.place(one.origin), Place::Plan(_))
}

/// The size that is suggested where the program serves it: about that of a small message.
const USUAL_BYTES: u64 = 64 << 10;

fn report(program: &Program, (first, second): (&Use, &Use), unit: u64) -> Diagnostic {
    let at = |one: &Use| program.origins.at(one.origin);
    let mixed = first.packet != second.packet;
    let message = if mixed { confused(second) } else { early(first, second) };
    let report = Diagnostic::new(Code::W0503, at(second), message)
        .label(label(second))
        .and(at(first), label(first))
        .note("when the size of the message changes, every chunk of scratch is elsewhere; launches of one size are in order");
    let doubled = first.packet && !first.write && !program.options.double_scratch;
    if is_in_plan(program, second) {
        // Whoever reads this has MSCCL++'s DSL, or a file, whose keys have the same names.
        let report = if !mixed && doubled {
            report.help("make the plan with `use_double_scratch_buffer=True`")
        } else {
            report
        };
        return report.help(
            "give all launches one size (`min_message_size` and `max_message_size` then are that size), or synchronize the ranks whenever it changes",
        );
    }
    let way = match (mixed, doubled) {
        (true, _) => "use scratch for packets only, or for plain chunks only".to_owned(),
        (false, true) => "set `double_scratch = true`".to_owned(),
        (false, false) => handshake(first, second),
    };
    let options = &program.options;
    let least = options.min_message_size.unwrap_or(0).max(USUAL_BYTES);
    let size = least.min(options.max_message_size.unwrap_or(u64::MAX));
    let size = bytes::text((size / unit).max(1).saturating_mul(unit));
    let size = size.trim_end_matches(" bytes");
    report
        .help(way)
        .help(format!("or give all launches one size: `message_size = {size}..={size};`"))
        .help("or synchronize the ranks whenever it changes, and accept this: `#[allow(W0503, \"why\")]`")
}

/// What the writer has to wait for: a rank that knows at its end that the access is done. Of what a proxy does, the rank to
/// which it leads knows first.
fn handshake(first: &Use, second: &Use) -> String {
    let knows = first.put_to.filter(|peer| *peer != second.rank).unwrap_or(first.rank);
    format!(
        "let rank {} wait for a signal of rank {} before it writes there; `relaxed` is enough",
        second.rank.0, knows.0
    )
}

fn early(first: &Use, second: &Use) -> String {
    let (rank, other, owner) = (second.rank.0, first.rank.0, second.owner.0);
    let doing = if first.write { "writing" } else { "reading" };
    let scratch =
        if rank == owner { "its scratch".to_owned() } else { format!("scratch of rank {owner}") };
    let who = match (first.put_to.is_some(), other == rank) {
        (true, true) => "its own proxy".to_owned(),
        (true, false) => format!("a proxy of rank {other}"),
        (false, _) => format!("rank {other}"),
    };
    format!(
        "rank {rank} may write to {scratch} while {who} is still {doing} there in an earlier launch, if that had another size"
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
