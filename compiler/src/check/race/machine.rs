//! Runs a program once, in one order that its waits allow, and records what every block knows on the way.
//!
//! A block is an agent, and so is the proxy behind each port channel: it carries out what was pushed to it, in order,
//! at some later time, knowing what the pushing thread knew. A thread of a block knows what all its threads knew when
//! they last met, and what it has heard since.

use super::Shared;
use super::access::{Element, list_elements};
use super::acts::{Acts, Touch};
use super::agents::{Agent, Agents};
use super::begun::Early;
use super::block::{Block, Blocks};
use super::cells::{Cells, Place};
use super::clock::{Clock, Lookup};
use super::fold::Fold;
use super::heard::Halves;
use super::history::{History, MomentId, NONE, Source};
use super::launches::{Across, Touched};
use super::memory::known;
use super::merged::Merged;
use super::overlay;
use super::packets::Packets;
use super::proxy::Pushed;
use super::sync::Counters;
use super::turn::Turn;
use super::value::{Inputs, Value, combined};
use super::writers::Slot;
use crate::check::budget::{ELEMENTS, Exceeded};
use crate::events::{Events, SizeClass, Step, StepBuffer};
use crate::interpreter::Stuck;
use crate::interrupt::Interrupt;
use crate::ir::grain::Grain;
use crate::ir::threads::Share;
use crate::ir::{Buffer, Op, Program, Rank, RankId, all_ops, memory};
use crate::table::Id;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Two conflicting accesses that nothing orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict<'p> {
    /// The kind of conflict.
    pub(super) kind: Kind,
    /// The one that came first in the run, or was in the previous launch.
    pub(super) first: Touch<'p>,
    /// The other one; the same one where a report shows only one.
    pub(super) second: Touch<'p>,
    /// Where they conflict.
    pub(super) place: Place,
    /// Whether their execution is ordered, but memory is not.
    pub(super) relaxed: bool,
}

impl Conflict<'_> {
    /// The buffer, and the cell in it, by which the author of the second access names the place, where memory has
    /// this grain. In place, a cell has two names.
    pub(super) fn said(&self, program: &Program, grain: Grain) -> (Buffer, u64) {
        let (place, buffer) = (self.place, self.second.buffer);
        let alias = program.ranks.lookup(place.rank).and_then(|rank| rank.alias);
        let (_, first) = memory::home(alias, buffer, 0);
        (buffer, place.cell.saturating_sub(grain.cells(first)))
    }
}

/// The kinds of conflict: see the codes of [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// E0501
    Race,
    /// E0503
    Threads,
    /// E0510
    Start,
    /// E0512
    End,
    /// E0520
    Unwritten,
    /// E0521
    Twice,
    /// E0515
    Launches,
}

/// The state after a launch.
pub(super) struct After<'p> {
    /// All that was done.
    pub(super) acts: Acts<'p>,
    pub(super) cells: Vec<Cells>,
    pub(super) packets: Packets,
    /// What the blocks of each followed rank know when they end.
    pub(super) ends: Vec<Clock>,
    /// What was passed on over channels and semaphores.
    pub(super) counters: Counters,
    /// The accesses to scratch, which may meet those of an earlier launch.
    pub(super) again: Touched,
    /// The conflicts within the launch.
    pub(super) conflicts: Vec<Conflict<'p>>,
    /// The ranks that may end too early.
    pub(super) early: Vec<Early>,
    /// What the launch has to do with launches of another size.
    pub(super) across: Option<Across>,
    /// The budgets because of which some conflicts may be none.
    pub(super) exceeded: BTreeSet<Exceeded>,
}

/// Why a run does not come to its end.
#[derive(Debug)]
pub(super) enum Cut {
    /// It is no longer wanted.
    Interrupted,
    /// It is too long.
    TooLong(Exceeded),
    /// In its schedule these blocks can never go on.
    Standing(Vec<Stuck>),
    /// A counterpart was looked up in vain, which may have hidden something.
    Lost,
}

pub(super) struct Machine<'p, 'b> {
    pub(super) program: &'p Program,
    pub(super) events: &'b Events<'p>,
    pub(super) fold: &'b Fold,
    pub(super) agents: &'b Agents,
    pub(super) shared: &'b Shared,
    pub(super) grain: Grain,
    pub(super) history: History,
    pub(super) acts: Acts<'p>,
    pub(super) cells: Vec<Cells>,
    pub(super) packets: Packets,
    /// The last moments of the blocks that have ended.
    ended: Vec<(RankId, MomentId)>,
    pub(super) counters: Counters,
    /// The transfers that each proxy was pushed.
    pub(super) pushed: FxHashMap<Agent, Pushed>,
    /// Whether to record what values were made from: only packets pass this on.
    pub(super) follows: bool,
    /// Whether packets and plain chunks overlap in scratch.
    pub(super) mixed: bool,
    /// Whether only representatives are followed, and with them the values that memory holds.
    pub(super) few: bool,
    /// How many more elements may be processed.
    left: u64,
    /// Agents that have touched a rank before it is known to have started: their next accesses there would only be
    /// consequences.
    pub(super) early: FxHashSet<(Agent, RankId)>,
    /// The moments that stand for what packets with several writers tell, by row of [`super::writers::Writers`].
    pub(super) heard: FxHashMap<usize, MomentId>,
    pub(super) again: Touched,
    pub(super) conflicts: Vec<Conflict<'p>>,
}

/// The agent that makes an access, and what it knows at that time.
pub(super) struct Actor<'c, 'p> {
    pub(super) agent: Agent,
    pub(super) rank: RankId,
    pub(super) step: u32,
    pub(super) clock: &'c Clock,
    /// A clock that knows of the same starts of ranks, and may have searched back for them before.
    pub(super) starts: &'c Clock,
    /// What its own packets have told it in addition.
    pub(super) heard: Option<&'c Clock>,
    /// The same, as sources.
    pub(super) told: &'c [Source],
    /// The moment of this step, where it is passed on to others or the step touches scratch.
    pub(super) moment: MomentId,
    pub(super) op: &'p Op,
}

/// Runs a program; none if it gets stuck, is too large or is interrupted.
pub(super) fn run<'p>(
    merged: &'p Merged<'p>,
    (fold, agents, shared): (&Fold, &Agents, &Shared),
    grain: Grain,
    interrupt: &Interrupt,
) -> Result<(After<'p>, History), Cut> {
    let program = merged.program();
    let history = History::new(agents.count());
    let windows = merged.windows().at(grain);
    let events = Events::new(program, SizeClass::Symbolic { grain, windows });
    let mut machine = Machine::new(&events, (fold, agents, shared), grain, history);
    let mut blocks = Blocks::new();
    let mut buffer = StepBuffer::default();
    for rank in fold.followed(program) {
        if interrupt.is_set() {
            return Err(Cut::Interrupted);
        }
        for ops in merged.blocks(rank) {
            let agent = blocks.start(rank, events.steps_of(rank, ops));
            machine.lead(&mut blocks, agent, &mut buffer);
        }
    }
    let mut moved = true;
    while moved {
        moved = false;
        if interrupt.is_set() {
            return Err(Cut::Interrupted);
        }
        for agent in 0..blocks.started() {
            moved |= machine.lead(&mut blocks, agent, &mut buffer);
        }
    }
    if machine.left == 0 {
        return Err(Cut::TooLong(ELEMENTS.exceeded()));
    }
    if blocks.have_ended() {
        Ok(machine.finish())
    } else {
        Err(Cut::Standing(machine.list_stuck(&blocks)))
    }
}

impl<'c> Actor<'c, '_> {
    /// Everything that it knows. The block's knowledge comes first: it has usually been searched before, unlike what a
    /// single element has heard.
    pub(super) fn clocks(&self) -> impl Iterator<Item = &'c Clock> + use<'c> {
        std::iter::once(self.clock).chain(self.heard)
    }

    /// Whether it knows that a rank has started this launch.
    pub(super) fn has_started(&self, lookup: Lookup<'_>, rank: RankId) -> bool {
        let mut clocks = std::iter::once(self.starts).chain(self.heard);
        clocks.any(|clock| clock.has_started(lookup, rank))
    }
}

impl<'p, 'b> Machine<'p, 'b> {
    fn new(
        events: &'b Events<'p>,
        (fold, agents, shared): (&'b Fold, &'b Agents, &'b Shared),
        grain: Grain,
        history: History,
    ) -> Self {
        let program = events.program();
        let followed = || fold.followed(program).map(|rank| &program.ranks[rank]);
        Machine {
            program,
            events,
            fold,
            agents,
            shared,
            grain,
            history,
            acts: Acts::default(),
            again: Touched::default(),
            cells: followed().map(|_| Cells::default()).collect(),
            packets: Packets::default(),
            ended: Vec::new(),
            counters: Counters::new(followed()),
            pushed: FxHashMap::default(),
            follows: followed().any(has_packets),
            // Where they overlap, no rank represents another.
            mixed: fold.turn() == Turn::Still && overlay::mixed(program),
            few: fold.turn() != Turn::Still,
            left: ELEMENTS.amount(),
            early: FxHashSet::default(),
            heard: FxHashMap::default(),
            conflicts: Vec::new(),
        }
    }

    /// What clocks need to look things up.
    pub(super) fn lookup(&self) -> Lookup<'_> {
        Lookup { history: &self.history, agents: self.agents }
    }

    /// Advances a block as far as possible; says whether it advanced.
    fn lead(&mut self, blocks: &mut Blocks<'p>, agent: usize, buffer: &mut StepBuffer) -> bool {
        let mut moved = false;
        while self.do_step(blocks, agent, buffer) {
            moved = true;
        }
        if let Some(block) = blocks.take_done(agent) {
            self.end(*block);
        }
        moved
    }

    /// Takes a block's next step, if it can.
    fn do_step(&mut self, blocks: &mut Blocks<'p>, agent: usize, buffer: &mut StepBuffer) -> bool {
        let Some(block) = blocks.get_mut(agent) else { return false };
        let Some(step) = block.lower_step(self.events, buffer) else { return false };
        // Threads that wait for packets halfway through a step have met before it.
        if step.joined && block.heard().is_none_or(|heard| heard.done == 0) {
            block.meet(self.lookup());
        }
        if step.is_join {
            block.meet(self.lookup());
        }
        if let Some(arrival) = step.arrival {
            block.arrived = true;
            return self.barrier(blocks, agent, arrival.meeting);
        }
        if !step.moves.is_empty() {
            return self.transfer(block, &step);
        }
        if self.find_missing(step.takes).is_some() {
            return false;
        }
        self.take_all(block, step.takes);
        for request in step.requests {
            self.push(block, &step, request, &[]);
        }
        for give in step.gives {
            self.give_over(block, give, None);
        }
        block.at += 1;
        true
    }

    /// Does as much of a transfer as its packets allow; false if that is nothing. Where only representatives are
    /// followed, it is all or nothing: if merged operations come to their end this way, so do the original ones.
    fn transfer(&mut self, block: &mut Block<'p>, step: &Step) -> bool {
        let missing = block.heard().and_then(|heard| heard.missing);
        if missing.is_some_and(|slot| self.packets.get(slot).is_none()) {
            return false;
        }
        let elements = list_elements(step);
        self.left = self.left.saturating_sub(elements.len() as u64);
        if self.left == 0 {
            return false;
        }
        let done = block.heard().map_or(0, |heard| heard.done);
        debug_assert!(done <= elements.len(), "no more is done than there is");
        let left = elements.get(done..).unwrap_or_default();
        let (ready, missing) = self.ready(left);
        let is_pushed = step.is_pushed();
        if missing.is_some() && (self.few || is_pushed) {
            block.progress(done, missing);
            return false;
        }
        if is_pushed {
            for request in step.requests {
                self.push(block, step, request, &elements);
            }
        } else {
            self.act(block, step, left.iter().take(ready));
        }
        block.progress(done + ready, missing);
        missing.is_none() || ready > 0
    }

    /// How many of these elements can be processed, and the packet that the next one waits for. A thread goes through its
    /// elements in order and waits for the packets of each; where chunks are large, one thread has parts of all of them.
    fn ready(&self, elements: &[Element]) -> (usize, Option<Slot>) {
        let missing = |element: &Element| {
            let packets = element.reads.iter().filter(|read| read.packet);
            let mut slots = packets.map(|read| self.packet_home(read.place).0);
            slots.find(|slot| self.packets.get(*slot).is_none())
        };
        let stuck = (0..).zip(elements).find_map(|(at, element)| Some((at, missing(element)?)));
        stuck.map_or((elements.len(), None), |(at, slot)| (at, Some(slot)))
    }

    /// Lets the threads of a block process their elements.
    fn act<'e>(
        &mut self,
        block: &mut Block<'p>,
        step: &Step,
        elements: impl Iterator<Item = &'e Element> + Clone,
    ) {
        let Some(op) = block.operation(self.events) else { return };
        let several = step.moves.len() > 1;
        let goes_on = several || block.goes_on(self.events);
        let all = step.moves.iter().all(|one| one.is_all);
        let whole = all && self.program.options.alignment.is_multiple_of(16);
        let mut accesses =
            elements.clone().flat_map(|element| element.writes.iter().chain(&element.reads));
        let lasts = accesses.any(|access| access.place.buffer == Buffer::Scratch);
        let moment = if lasts { block.base.moment(&mut self.history) } else { NONE };
        let is_sliced = step.moves.iter().any(|one| one.slice.is_some());
        let mut halves = Halves::default();
        for element in elements {
            let known = match element.lane.share {
                Share::Wide if whole => halves.told(block, element.lane.at),
                Share::Wide | Share::Payload | Share::Other => {
                    block.heard().map_or(&[] as &[Source], |heard| heard.by(element.lane))
                }
            };
            let heard = (!known.is_empty()).then(|| Clock::told(known.iter().copied()));
            let actor = Actor {
                agent: block.agent,
                rank: block.rank,
                step: block.at,
                clock: &block.base,
                starts: &block.base,
                heard: heard.as_ref(),
                told: known,
                moment,
                op,
            };
            let told = self.element(&actor, element, (known, goes_on));
            if all {
                self.tell_first(block, element);
            }
            for source in self.told_first(element) {
                block.heard_mut().learnt.push(source);
            }
            if told.is_empty() {
                continue;
            }
            let heard = block.heard_mut();
            heard.learnt.extend_from_slice(&told);
            if !goes_on {
                continue;
            }
            // A chunk has packets for at least two threads; a slice may have none.
            if element.lane.at == 0 && !is_sliced {
                heard.first.extend(told.iter().filter_map(|source| source.steps()));
            }
            heard.partly |= !whole;
            heard.lanes.insert(element.lane, told.into_vec());
        }
    }

    /// Access to the values that memory holds.
    pub(super) fn inputs(&self) -> Inputs<'_> {
        Inputs { program: self.program, fold: self.fold, grain: self.grain }
    }

    /// The value that an element makes of what it reads, where values are followed.
    pub(super) fn value(&self, element: &Element) -> Value {
        if !self.few || element.writes.is_empty() {
            return Value::Nothing;
        }
        let mut values: SmallVec<[Value; 2]> = SmallVec::new();
        for read in &element.reads {
            values.push(match read.packet {
                false => self.inputs().held(&self.cells, read.place),
                true => {
                    let (home, by) = self.packet_home(read.place);
                    let packet = self.packets.get(home).map(|packet| &packet.value);
                    packet.map_or(Value::Nothing, |value| value.turned(self.agents.turn(), by))
                }
            });
        }
        combined(self.agents.turn(), element.reduce, &values)
    }

    /// A block has ended. From here on, only what it knew is needed.
    fn end(&mut self, mut block: Block<'p>) {
        block.meet(self.lookup());
        self.ended.push((block.rank, block.base.moment(&mut self.history)));
    }

    /// The state when all blocks have ended, with the conflicts with the ranks' users after that.
    fn finish(mut self) -> (After<'p>, History) {
        let mut ends: Vec<Clock> = self.cells.iter().map(|_| Clock::default()).collect();
        for (rank, moment) in &self.ended {
            if let Some(end) = ends.get_mut(rank.index()) {
                end.hear(self.lookup(), Source::All(*moment, 0));
            }
        }
        for (index, (cells, end)) in self.cells.iter().zip(&mut ends).enumerate() {
            for buffer in [Buffer::Input, Buffer::Output] {
                for (number, cell) in cells.buffer(buffer).iter().enumerate() {
                    for print in cell.prints(true) {
                        let touch = self.touch(print);
                        if known(self.lookup(), end, &touch) {
                            continue;
                        }
                        let rank = RankId::from_index(index);
                        let place = Place { rank, buffer, cell: number as u64 };
                        let relaxed = end.has_run(self.lookup(), touch.agent, touch.step);
                        let conflict = Conflict {
                            kind: Kind::End,
                            first: touch,
                            second: touch,
                            place,
                            relaxed,
                        };
                        self.conflicts.push(conflict);
                    }
                }
            }
            end.forget();
        }
        let Machine { acts, cells, packets, counters, again, conflicts, history, .. } = self;
        let (early, across, exceeded) = (Vec::new(), None, BTreeSet::new());
        let after = After {
            acts,
            cells,
            packets,
            ends,
            counters,
            again,
            conflicts,
            early,
            across,
            exceeded,
        };
        (after, history)
    }
}

/// Whether any operation of a rank reads or writes packets.
fn has_packets(rank: &Rank) -> bool {
    let mut found = false;
    for block in &rank.blocks {
        let mut transfers = all_ops(&block.ops).filter_map(Op::transfer);
        found |= transfers.any(|transfer| memory::accesses(transfer).any(|access| access.packets));
    }
    found
}
