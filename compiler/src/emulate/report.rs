//! Reports about schedules that went wrong.
//!
//! * E0904: a rank ended with something other than what is promised, or too early;
//! * E0905: blocks wait forever;
//! * E0401: an operation leaves its buffer.

use super::sizes::Sizes;
use super::{Awaits, Outcome, Stuck, Writer, Wrong};
use crate::bytes;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{Buffer, Channel, OriginId, Program, RankId};
use crate::source::Place;

/// The most places that are shown in addition to the first.
const SHOWN: usize = 3;

/// What reports about one schedule are made from.
pub(super) struct Reports<'p> {
    pub(super) program: &'p Program,
    pub(super) sizes: Sizes,
}

impl Reports<'_> {
    /// The report about how the schedule went wrong; none if it did not.
    pub(super) fn of(&self, outcome: &Outcome) -> Option<Diagnostic> {
        let program = self.program;
        let (report, launch) = match outcome {
            Outcome::Wrong(wrong) => (wrong_value(program, wrong), Some(wrong.launch)),
            Outcome::Early { ended, begins, launch } => {
                (too_early(program, (*ended, *begins)), Some(*launch))
            }
            Outcome::Stuck(stuck) => {
                (waits(program, stuck), stuck.first().map(|stuck| stuck.launch))
            }
            Outcome::Outside(writer, buffer, rank) => {
                (outside(program, *writer, *buffer, *rank), None)
            }
            Outcome::Right | Outcome::Interrupted => return None,
        };
        Some(match launch {
            Some(launch) => report.note(self.when(launch)),
            None => report,
        })
    }

    /// "in the third launch; the messages of the last launches: 1KiB, 64KiB"
    fn when(&self, launch: u32) -> String {
        let which = format!("{} launch", ordinal(launch));
        if self.sizes.are_equal() {
            return which;
        }
        let chunks = u64::from(self.program.message_chunks());
        let message = |launch| bytes::text(chunks * self.sizes.chunk_bytes(launch));
        let last: Vec<String> =
            (launch.saturating_sub(SHOWN as u32 - 1)..=launch).map(message).collect();
        format!("{which}; the messages up to then: {}", last.join(", "))
    }
}

fn wrong_value(program: &Program, wrong: &Wrong) -> Diagnostic {
    let Wrong { rank, chunk, element, found, expected, writers, launch: _, like } = wrong;
    let rank = rank.0;
    let message = match like {
        Some(other) => format!(
            "`output[{chunk}]` has other bits on rank {rank} than on rank {}: element {element} of `output` is {found} and {expected}",
            other.0
        ),
        None => format!(
            "`output[{chunk}]` of rank {rank} is wrong: element {element} of `output` is {found}, not {expected}"
        ),
    };
    let place = writers.last().map(|writer| program.origins.place(writer.origin));
    let mut report = at(Code::E0904, place.or(program.collective.place), message);
    report = match writers.split_last() {
        Some((last, before)) => {
            let labeled = report.label(format!("{} wrote it last", who(program, *last)));
            earlier(program, labeled, *last, before)
        }
        None => report.label("nothing had written it by then"),
    };
    report
}

fn too_early(program: &Program, (ended, begins): (RankId, RankId)) -> Diagnostic {
    let message = format!("rank {} ended before rank {} had begun", ended.0, begins.0);
    at(Code::E0904, program.collective.place, message)
        .label(format!("{} promises that it had", program.collective.name))
}

/// Adds the writers before the last, latest first, each statement once.
fn earlier(
    program: &Program,
    mut report: Diagnostic,
    last: Writer,
    before: &[Writer],
) -> Diagnostic {
    let mut shown = vec![last];
    for writer in before.iter().rev() {
        if shown.contains(writer) {
            continue;
        }
        if shown.len() > SHOWN {
            return report.note("others wrote it before");
        }
        shown.push(*writer);
        let text = format!("{} wrote it before", who(program, *writer));
        report = report.and(program.origins.place(writer.origin), text);
    }
    report
}

fn waits(program: &Program, stuck: &[Stuck]) -> Diagnostic {
    let message = match stuck {
        [one] => format!("{} waits forever", name(program, one.at)),
        [first, _] => format!("{} and another wait forever", name(program, first.at)),
        [first, ..] => {
            format!("{} and {} others wait forever", name(program, first.at), stuck.len() - 1)
        }
        [] => "nothing makes progress".to_owned(),
    };
    let place = |one: &Stuck| program.origins.place(one.at.origin);
    let mut report = at(Code::E0905, stuck.first().map(place), message);
    if let Some(first) = stuck.first() {
        let text = format!("{} waits for {}", who(program, first.at), what(program, first));
        report = report.label(text);
    }
    for one in stuck.iter().skip(1).take(SHOWN) {
        let text = format!("{} waits for {}", who(program, one.at), what(program, one));
        report = report.and(place(one), text);
    }
    report
}

fn outside(program: &Program, writer: Writer, buffer: Buffer, rank: RankId) -> Diagnostic {
    let (who, buffer) = (name(program, writer), buffer.word());
    let message = format!("{who} reaches outside `{buffer}` of rank {}", rank.0);
    at(Code::E0401, Some(program.origins.place(writer.origin)), message)
        .label(values(program, writer.origin))
}

fn at(code: Code, place: Option<Place>, message: String) -> Diagnostic {
    match place {
        Some(place) => Diagnostic::new(code, place, message),
        None => Diagnostic::without_place(code, message),
    }
}

/// "rank 1's signal on `mem[1]`"
fn what(program: &Program, stuck: &Stuck) -> String {
    let rank = program.ranks.lookup(stuck.at.rank);
    let channel = |id| rank.and_then(|rank| rank.channels.lookup(id));
    let name = |id| channel(id).map_or("", |channel| &*channel.name);
    match stuck.awaits {
        Awaits::Signal(id) => {
            let peer = channel(id).and_then(Channel::peer).unwrap_or_default();
            format!("rank {}'s signal on `{}`", peer.0, name(id))
        }
        Awaits::Semaphore(id) => {
            let semaphore = rank.and_then(|rank| rank.semaphores.lookup(id));
            format!("a release of `{}`", semaphore.map_or("", |semaphore| &*semaphore.name))
        }
        Awaits::Barrier(_) => "the other blocks of a barrier".to_owned(),
        Awaits::Packets => "packets".to_owned(),
        Awaits::Proxy(id) => format!("the proxy of `{}`", name(id)),
    }
}

/// "block `main` of rank 0"
fn name(program: &Program, writer: Writer) -> String {
    let rank = program.ranks.lookup(writer.rank);
    let block = rank.and_then(|rank| rank.blocks.lookup(writer.block));
    format!("block `{}` of rank {}", block.map_or("", |block| &*block.name), writer.rank.0)
}

/// The same, with the loop values of its operation.
fn who(program: &Program, writer: Writer) -> String {
    let values = values(program, writer.origin);
    let name = name(program, writer);
    if values.is_empty() { name } else { format!("{name} ({values})") }
}

fn values(program: &Program, origin: OriginId) -> String {
    program.origins.values(origin).join(", ")
}

fn ordinal(launch: u32) -> String {
    match launch {
        0 => "in the first".to_owned(),
        1 => "in the second".to_owned(),
        2 => "in the third".to_owned(),
        more => format!("in the {}th", more + 1),
    }
}
