//! The parts of a program: blocks that have to do with each other.
//!
//! In: a program. Out: its blocks in parts, where no block waits for anything that a block of another part gives. So a
//! program has a schedule that stops where one of its parts has, and each is searched for itself: the copies of
//! `instances`, for one, and the ranks where only blocks of one rank share.

use crate::events::{
    CellForm, CounterId, Events, InnerSite, MeetingId, Site, SizeClass, Step, StepBuffer,
};
use crate::ir::{BlockId, Program, RankId};
use crate::table::Sets;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A thread block.
pub(super) struct Block {
    pub(super) rank: RankId,
    pub(super) id: BlockId,
    pub(super) steps: Vec<PartStep>,
}

/// A step of a block.
#[derive(Clone)]
pub(super) struct PartStep {
    /// Its effects on whole chunks: neither slices nor windows are told apart here.
    effects: Rc<StepBuffer>,
    /// Whether the threads meet before it or in it.
    pub(super) meets: bool,
}

impl PartStep {
    /// What is taken.
    pub(super) fn takes(&self) -> impl Iterator<Item = CounterId> {
        self.step().into_iter().flat_map(|step| step.takes).map(|take| take.counter)
    }

    /// What is given, by the block or by proxies that it asks.
    pub(super) fn gives(&self) -> impl Iterator<Item = CounterId> {
        let step = self.step();
        let requests = step.into_iter().flat_map(|step| step.requests);
        let signals = requests.filter_map(|request| request.signal.as_ref());
        let gives = step.into_iter().flat_map(|step| step.gives);
        signals.chain(gives).filter_map(|give| give.counter)
    }

    /// Visits the chunks of packets that are read, or written.
    pub(super) fn visit_packets(&self, write: bool, visit: &mut dyn FnMut(Packet)) {
        let Some(step) = self.step() else { return };
        for one in step.moves {
            let extents = if write { step.writes(one) } else { step.reads(one) };
            // What the block has seen before, its proxy does not wait for.
            let is_awaited = |form| form != CellForm::Plain && form != CellForm::SeenPackets;
            for extent in extents.iter().filter(|extent| is_awaited(extent.form)) {
                let chunks = extent.start..extent.start.saturating_add(one.elements);
                chunks.for_each(|chunk| visit((extent.rank, chunk)));
            }
        }
    }

    /// How many chunks of packets are read, or written.
    pub(super) fn count_packets(&self, write: bool) -> usize {
        let mut count = 0;
        self.visit_packets(write, &mut |_| count += 1);
        count
    }

    /// The effects.
    pub(super) fn step(&self) -> Option<Step<'_>> {
        self.effects.step()
    }
}

/// A chunk of scratch that holds packets, and the rank that it is on.
pub(super) type Packet = (RankId, u64);

/// What blocks have to do with each other through.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Tie {
    /// A semaphore, or the end of a channel that is waited on.
    Counter(CounterId),
    Barrier(MeetingId),
    Packet(Packet),
}

/// The parts of a program, in the order of their first blocks.
pub(super) fn parts(program: &Program) -> Vec<Vec<Block>> {
    let blocks = list_blocks(program);
    let mut sets = Sets::new(blocks.len());
    let mut first: FxHashMap<Tie, usize> = FxHashMap::default();
    for (at, block) in blocks.iter().enumerate() {
        for step in &block.steps {
            visit_ties(step, &mut |tie| sets.unite(at, *first.entry(tie).or_insert(at)));
        }
    }
    let mut parts: BTreeMap<usize, Vec<Block>> = BTreeMap::new();
    for (at, block) in blocks.into_iter().enumerate() {
        parts.entry(sets.find(at)).or_default().push(block);
    }
    parts.into_values().collect()
}

/// All blocks of a program, with their steps in all windows.
pub(super) fn list_blocks(program: &Program) -> Vec<Block> {
    let unrolled = Events::new(program, SizeClass::whole_chunks(program));
    let outline = Events::new(program, SizeClass::Outline);
    let mut blocks = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for id in row.blocks.ids() {
            let known = lower_outline(&outline, rank, id);
            let steps = unrolled.block_steps(rank, id);
            let step = |at| {
                let site = unrolled.site(&steps, at)?;
                let effects = Rc::clone(known.get(&first_turn(site))?);
                Some(PartStep { effects, meets: unrolled.meets_at(&steps, at) })
            };
            blocks.push(Block { rank, id, steps: (0..steps.len()).filter_map(step).collect() });
        }
    }
    blocks
}

/// The effects of each step of a block, in pipelines those of the first turn.
fn lower_outline(
    outline: &Events,
    rank: RankId,
    block: BlockId,
) -> FxHashMap<Site, Rc<StepBuffer>> {
    let steps = outline.block_steps(rank, block);
    let mut known = FxHashMap::default();
    for at in 0..steps.len() {
        let mut buffer = StepBuffer::default();
        let site = outline.lower_step(&steps, at, &mut buffer).map(|step| step.site);
        known.extend(site.map(|site| (site, Rc::new(buffer))));
    }
    known
}

/// The same step in the first turn of its pipeline.
fn first_turn(site: Site) -> Site {
    Site { inner: site.inner.map(|inner| InnerSite { turn: 0, ..inner }), ..site }
}

fn visit_ties(step: &PartStep, visit: &mut dyn FnMut(Tie)) {
    step.takes().chain(step.gives()).for_each(|counter| visit(Tie::Counter(counter)));
    let arrival = step.step().and_then(|step| step.arrival);
    arrival.into_iter().for_each(|arrival| visit(Tie::Barrier(arrival.meeting)));
    for write in [false, true] {
        step.visit_packets(write, &mut |packet| visit(Tie::Packet(packet)));
    }
}
