//! What packets with several writers tell, which all write the same value (E0521).
//!
//! In: a run through a program. Out: what each reader of such a packet has learned in every schedule: whatever all
//! writers tell that may have written what it found, which are all except those known to come after the reader.
//!
//! What the writers tell depends on what they have learned through such packets themselves. So the search starts with
//! what one schedule shows, which is at least what is certain, and derives it again from a run that assumes it, until
//! nothing changes. Then it is true: otherwise there would be a first read that did not learn it; but the writer of
//! what that read found wrote before it, and had learned everything that it is assumed to have learned.

use super::acts::{Acts, Footprint, Touch};
use super::agents::{Agent, Agents};
use super::clock::{Clock, Lookup, Run};
use super::history::{FlowId, History, MomentId, Source};
use super::machine::After;
use super::memory::past;
use super::packets::{Packet, Writer};
use super::reading::Reading;
use super::turn::TurnId;
use crate::ir::RankId;
use std::collections::{BTreeMap, BTreeSet};

/// The place of a packet: its rank and cell.
pub(super) type Slot = (RankId, u32);

/// A reader of a packet: the packet's slot, and the reader's agent, step and element.
type Reader = (Slot, Agent, u32, u32);

/// What packets with several writers tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Writers {
    slots: BTreeSet<Slot>,
    /// For each reader, a row of `told`.
    readers: BTreeMap<Reader, usize>,
    told: Vec<Told>,
}

/// What a packet tells in every schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// Everything that had run.
    run: Run,
    /// The elements that its value was made from, ascending.
    pub(super) made_from: Vec<(FlowId, TurnId)>,
}

impl Writers {
    /// The same packets, with nothing known about what they tell.
    pub(super) fn forgotten(&self) -> Writers {
        Writers { slots: self.slots.clone(), ..Writers::default() }
    }

    /// Whether a packet has several writers.
    pub(super) fn concern(&self, slot: Slot) -> bool {
        self.slots.contains(&slot)
    }

    /// What a run shows about the packets with several writers.
    pub(super) fn of(lookup: Lookup<'_>, After { packets, acts, .. }: &After<'_>) -> Writers {
        let several = packets.iter().filter(|(_, packet)| packet.writers.len() > 1);
        let slots: BTreeSet<Slot> = several.map(|(slot, _)| slot).collect();
        let mut next = Writers { slots, ..Writers::default() };
        for slot in &next.slots {
            let Some(packet) = packets.get(*slot) else { continue };
            let clocks = clocks(packet);
            let mut rows: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
            for reader in &packet.readers {
                let reader = acts.touch(lookup.agents, *reader);
                let early: Vec<usize> = early(lookup, &clocks, &reader).collect();
                let row = match rows.get(&early) {
                    Some(row) => *row,
                    None => {
                        let writers = (packet, clocks.as_slice());
                        let Some(told) = told_by_all(lookup, writers, &early) else { continue };
                        next.told.push(told);
                        rows.insert(early, next.told.len() - 1);
                        next.told.len() - 1
                    }
                };
                next.readers.insert(key(*slot, &reader), row);
            }
        }
        next
    }

    /// What a reader has learned, and the row that says so.
    pub(super) fn heard(&self, slot: Slot, reader: &Touch<'_>) -> Option<(usize, &Told)> {
        let row = *self.readers.get(&key(slot, reader))?;
        self.told.get(row).map(|told| (row, told))
    }
}

impl Told {
    /// What one writer tells, given what it tells about what has run.
    fn by(lookup: Lookup<'_>, (writer, clock): (&Writer, &Clock)) -> Told {
        let mut made_from = Reading::default();
        made_from.meet(lookup, writer.print.flow());
        Told { run: clock.run(lookup), made_from: made_from.all(lookup) }
    }

    /// What both tell.
    fn common(mut self, lookup: Lookup<'_>, other: &Told) -> Told {
        self.run = self.run.common(lookup, &other.run);
        self.made_from.retain(|one| other.made_from.binary_search(one).is_ok());
        self
    }

    /// A moment that tells all of it.
    pub(super) fn moment(&self, history: &mut History, agents: &Agents) -> MomentId {
        let mut sources: Vec<Source> = Vec::new();
        for known in &self.run.steps {
            let (moment, by) = history.steps_of(agents, *known);
            sources.push(Source::Run(moment, by));
        }
        let run = self.run.elements.iter().map(|(flow, by)| Source::Heard(*flow, *by));
        sources.extend(run);
        sources.extend(self.made_from.iter().map(|(flow, by)| Source::Read(*flow, *by)));
        history.meeting(sources)
    }
}

/// Whether it is unknown which of two packets in one place remains there, since their writes are not ordered, or which
/// of them a reader finds, since neither is known to come after the reader.
pub(super) fn are_open(lookup: Lookup<'_>, acts: &Acts<'_>, packet: &Packet) -> bool {
    let clocks = clocks(packet);
    let touch = |print: Footprint| acts.touch(lookup.agents, print);
    let before = |at| packet.writers.iter().take(at).map(|writer| touch(writer.print));
    let meet = clocks
        .iter()
        .enumerate()
        .any(|(at, clock)| before(at).any(|writer| !past(lookup, clock, &writer)));
    let mut readers = packet.readers.iter().map(|reader| touch(*reader));
    meet || readers.any(|reader| early(lookup, &clocks, &reader).nth(1).is_some())
}

/// What each writer tells about what has run. A write also comes after everything that it was made from.
fn clocks(packet: &Packet) -> Vec<Clock> {
    packet.writers.iter().map(|writer| Clock::told(sources(writer))).collect()
}

/// The writers that are not known to come after a reader.
fn early(lookup: Lookup<'_>, clocks: &[Clock], reader: &Touch<'_>) -> impl Iterator<Item = usize> {
    let early = clocks.iter().enumerate().filter(move |(_, clock)| !past(lookup, clock, reader));
    early.map(|(at, _)| at)
}

/// What each of some writers of a packet tells.
fn told_by_all(
    lookup: Lookup<'_>,
    (packet, clocks): (&Packet, &[Clock]),
    which: &[usize],
) -> Option<Told> {
    let writers = which.iter().filter_map(|at| packet.writers.get(*at).zip(clocks.get(*at)));
    let all = writers.map(|writer| Told::by(lookup, writer));
    all.reduce(|both, one| both.common(lookup, &one))
}

/// What a write tells about what has run.
fn sources(writer: &Writer) -> [Source; 2] {
    let ((run, by), (flow, turned)) = (writer.run(), writer.print.flow());
    [Source::Run(run, by), Source::Heard(flow, turned)]
}

fn key(slot: Slot, reader: &Touch<'_>) -> Reader {
    (slot, reader.agent, reader.step, reader.element)
}
