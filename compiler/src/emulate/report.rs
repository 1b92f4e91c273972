//! Reports about schedules that went wrong.
//!
//! * E0904: a rank ended with something other than what is promised, or too early;
//! * E0905: blocks wait forever;
//! * E0401: an operation leaves its buffer.

use super::{Awaits, Outcome, Stuck, Writer, Wrong};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{Buffer, Channel, OriginId, Program, RankId};
use crate::source::Place;

/// The most places that are shown in addition to the first.
const SHOWN: usize = 3;

/// The report about a schedule that went wrong; none if it did not.
#[must_use]
pub fn report(program: &Program, outcome: &Outcome) -> Option<Diagnostic> {
    match outcome {
        Outcome::Wrong(wrong) => Some(wrong_value(program, wrong)),
        Outcome::Early { ended, begins, launch } => {
            Some(too_early(program, (*ended, *begins), *launch))
        }
        Outcome::Stuck(stuck) => Some(waits(program, stuck)),
        Outcome::Outside(writer, buffer, rank) => Some(outside(program, *writer, *buffer, *rank)),
        Outcome::Right | Outcome::Interrupted => None,
    }
}

fn wrong_value(program: &Program, wrong: &Wrong) -> Diagnostic {
    let Wrong { rank, launch, chunk, element, found, expected, writers } = wrong;
    let message = format!(
        "`output[{chunk}]` of rank {} is wrong: element {element} of `output` is {found}, not {expected}",
        rank.0
    );
    let place = writers.last().map(|writer| program.origins.place(writer.origin));
    let mut report = at(Code::E0904, place.or(program.collective.place), message);
    report = match writers.split_last() {
        Some((last, before)) => {
            let labeled = report.label(format!("{} wrote it last", who(program, *last)));
            earlier(program, labeled, *last, before)
        }
        None => report.label("nothing had written it by then"),
    };
    report.note(format!("{} launch", ordinal(*launch)))
}

fn too_early(program: &Program, (ended, begins): (RankId, RankId), launch: u32) -> Diagnostic {
    let message = format!("rank {} ended before rank {} had begun", ended.0, begins.0);
    at(Code::E0904, program.collective.place, message)
        .label(format!("{} promises that it had", program.collective.name))
        .note(format!("{} launch", ordinal(launch)))
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
        report = report.label(text).note(format!("{} launch", ordinal(first.launch)));
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
