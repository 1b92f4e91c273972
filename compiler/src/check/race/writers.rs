//! What a packet tells that has several writers, which all write the same value (E0521).
//!
//! In: a run through a program. Out: what each reader of such a packet has heard in every schedule: what all of those
//! told that may have written what it found, which are all but those that are known to come after it.
//!
//! What they told depends on what they have heard through such packets themselves. It begins with what one schedule
//! shows, which is no less than what is certain, and is found again from a run that takes it as certain, until nothing
//! changes. Then it is true: were it not, there would be a first read that did not hear it; but whoever wrote what that
//! read found wrote it before, and heard all that it is taken to have heard.

use super::acts::{Acts, Footprint, Touch};
use super::agents::{Agent, Agents};
use super::clock::{Clock, Lookup, Run};
use super::history::{FlowId, History, MomentId, NONE, Source};
use super::machine::After;
use super::memory::past;
use super::packets::{Packet, Writer};
use super::turn::By;
use crate::ir::RankId;
use std::collections::{BTreeMap, BTreeSet};

/// A packet: where it lies.
pub(super) type Slot = (RankId, u32);

/// A reader of a packet: where this lies, who, in which step, which element of it.
type Reader = (Slot, Agent, u32, u32);

/// What packets with several writers tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Writers {
    slots: BTreeSet<Slot>,
    /// Of each reader, a row of `told`.
    readers: BTreeMap<Reader, usize>,
    told: Vec<Told>,
}

/// What a packet tells in every schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// All that had been run.
    run: Run,
    /// The elements that its value was made from, ascending.
    pub(super) made_from: Vec<(FlowId, By)>,
}

impl Writers {
    /// The same packets, if nothing is known of them.
    pub(super) fn forgotten(&self) -> Writers {
        Writers { slots: self.slots.clone(), ..Writers::default() }
    }

    /// Whether a packet has several writers.
    pub(super) fn concern(&self, slot: Slot) -> bool {
        self.slots.contains(&slot)
    }

    /// What a run says of the packets with several writers.
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
                        let Some(told) = told_by_all(lookup, packet, &early) else { continue };
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

    /// What a reader has heard, and the row that says so.
    pub(super) fn heard(&self, slot: Slot, reader: &Touch<'_>) -> Option<(usize, &Told)> {
        let row = *self.readers.get(&key(slot, reader))?;
        self.told.get(row).map(|told| (row, told))
    }
}

impl Told {
    /// What one writer tells.
    fn by(lookup: Lookup<'_>, writer: &Writer) -> Told {
        let (flow, by) = writer.print.flow();
        Told {
            run: Clock::told(sources(writer)).run(lookup),
            made_from: Clock::told([Source::Read(flow, by)]).run(lookup).elements,
        }
    }

    /// What both tell.
    fn common(mut self, lookup: Lookup<'_>, other: &Told) -> Told {
        self.run = self.run.common(lookup, &other.run);
        self.made_from.retain(|one| other.made_from.binary_search(one).is_ok());
        self
    }

    /// The moment that tells all of it.
    pub(super) fn moment(&self, history: &mut History, agents: &Agents) -> MomentId {
        let mut sources: Vec<Source> = Vec::new();
        for (agent, before) in &self.run.steps {
            let (home, by) = agents.home(*agent);
            let chain = history.chain();
            let moment = history.add((home, chain), *before, NONE, []);
            sources.push(Source::Run(moment, by));
        }
        let run = self.run.elements.iter().map(|(flow, by)| Source::Heard(*flow, *by));
        sources.extend(run);
        sources.extend(self.made_from.iter().map(|(flow, by)| Source::Read(*flow, *by)));
        history.meeting(sources)
    }
}

/// Whether it is open which of two packets in one place is there last, or which of them a reader finds: it is where
/// neither is known to come after the reader.
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

/// What each writer tells of what was run. A write comes after what it was made from, too.
fn clocks(packet: &Packet) -> Vec<Clock> {
    packet.writers.iter().map(|writer| Clock::told(sources(writer))).collect()
}

/// The writers that are not known to come after a reader.
fn early(lookup: Lookup<'_>, clocks: &[Clock], reader: &Touch<'_>) -> impl Iterator<Item = usize> {
    let early = clocks.iter().enumerate().filter(move |(_, clock)| !past(lookup, clock, reader));
    early.map(|(at, _)| at)
}

/// What each of some writers tells.
fn told_by_all(lookup: Lookup<'_>, packet: &Packet, which: &[usize]) -> Option<Told> {
    let writers = which.iter().filter_map(|at| packet.writers.get(*at));
    let all = writers.map(|writer| Told::by(lookup, writer));
    all.reduce(|both, one| both.common(lookup, &one))
}

/// What a write tells of what was run.
fn sources(writer: &Writer) -> [Source; 2] {
    let ((run, by), (flow, turned)) = (writer.run(), writer.print.flow());
    [Source::Run(run, by), Source::Heard(flow, turned)]
}

fn key(slot: Slot, reader: &Touch<'_>) -> Reader {
    (slot, reader.agent, reader.step, reader.element)
}
