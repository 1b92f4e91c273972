//! The part of a search that does not change: the blocks, what they share, and who writes which packet.

use super::Unsearched;
use super::counter::{Counter, gives, packets, takes};
use super::state::State;
use crate::check::race::step::{Step, Steps};
use crate::ir::{
    self, Action, BlockId, ChannelId, ChannelKind, Op, Program, RankId, SemaphoreId, run,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most operations of a program that is searched.
const MOST_STEPS: usize = 4_000;

/// A thread block.
pub(super) struct Block<'p> {
    pub(super) rank: RankId,
    pub(super) id: BlockId,
    pub(super) steps: Vec<Step<'p>>,
}

/// The part of a search that does not change.
pub(super) struct Scene<'p> {
    pub(super) program: &'p Program,
    pub(super) blocks: Vec<Block<'p>>,
    /// Channels with several waiters, and semaphores with several takers.
    tickets: FxHashSet<(RankId, ChannelId)>,
    semaphores: FxHashSet<(RankId, SemaphoreId)>,
    /// Who writes each packet: block and step.
    packets: FxHashMap<(RankId, u64), Vec<(usize, usize)>>,
    /// Who does anything with a shared counter whose order matters, and at which step for the last time.
    pub(super) users: FxHashMap<Drawn, Vec<(usize, usize)>>,
}

/// A counter of a rank that several blocks take from.
pub(super) type Drawn = (RankId, Counter);

/// All blocks of a program.
pub(super) fn blocks(program: &Program) -> Vec<Block<'_>> {
    let windows = run::windows(program);
    let mut blocks = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for (id, block) in row.blocks.entries() {
            let steps = Steps::new(program, &windows, &block.ops, 1).iter(program).collect();
            blocks.push(Block { rank, id, steps });
        }
    }
    blocks
}

impl<'p> Scene<'p> {
    /// These blocks of a program, which have nothing to do with the others; or why they are not searched.
    pub(super) fn new(
        program: &'p Program,
        blocks: Vec<Block<'p>>,
    ) -> Result<Scene<'p>, Unsearched> {
        let mut scene = Scene {
            program,
            blocks,
            tickets: FxHashSet::default(),
            semaphores: FxHashSet::default(),
            packets: FxHashMap::default(),
            users: FxHashMap::default(),
        };
        scene.find_shared();
        if !scene.shares() {
            return Ok(scene);
        }
        if scene.blocks.iter().map(|block| block.steps.len()).sum::<usize>() > MOST_STEPS {
            return Err(Unsearched::TooMany);
        }
        let is_unsure =
            |block| scene.is_mixed(block) || scene.is_hasty(block) || scene.is_loose(block);
        if scene.blocks.iter().any(is_unsure) {
            return Err(Unsearched::Threads);
        }
        scene.find_packets();
        scene.find_users();
        Ok(scene)
    }

    /// Whether several of the blocks take from one counter. Otherwise all schedules end in the same state.
    pub(super) fn shares(&self) -> bool {
        !self.tickets.is_empty() || !self.semaphores.is_empty()
    }

    /// Finds the counters that several blocks take from.
    fn find_shared(&mut self) {
        let mut users: FxHashMap<(RankId, Counter), FxHashSet<usize>> = FxHashMap::default();
        for (at, block) in self.blocks.iter().enumerate() {
            for step in &block.steps {
                for counter in takes(step.op) {
                    users.entry((block.rank, counter)).or_default().insert(at);
                }
            }
        }
        for ((rank, counter), _) in users.iter().filter(|(_, blocks)| blocks.len() > 1) {
            match counter {
                Counter::Channel(id) => self.tickets.insert((*rank, *id)),
                Counter::Semaphore(id) => self.semaphores.insert((*rank, *id)),
            };
        }
    }

    /// Whether a block names a shared counter in a list with others: its threads would have to be modeled separately.
    fn is_mixed(&self, block: &Block) -> bool {
        block.steps.iter().any(|step| {
            let all = takes(step.op).chain(gives(step.op));
            let shared = all.clone().filter(|counter| self.is_shared(block.rank, *counter));
            shared.count() > 0 && all.count() > 1
        })
    }

    /// Whether a thread of a block takes from a shared counter, gives to any counter, or writes packets before it has
    /// met other threads that waited earlier: it may do so before these have finished waiting, and threads are not
    /// modeled separately here.
    fn is_hasty(&self, block: &Block) -> bool {
        // Whether, since the threads last met, the first one has waited, and whether others have.
        let (mut first, mut others) = (false, false);
        block.steps.iter().any(|step| {
            let op = step.op;
            if step.joined || matches!(op.action, Action::Sync | Action::Barrier { .. }) {
                (first, others) = (false, false);
            }
            let reads = self.moves_packets(block.rank, op, false);
            let (taken, given) = (takes(op).count(), gives(op).count());
            let by_first = given > 0 || takes(op).any(|one| self.is_shared(block.rank, one));
            let by_others = given > 1 || self.moves_packets(block.rank, op, true);
            let hasty = others && (by_first || by_others) || first && by_others;
            first |= reads || taken > 0;
            others |= reads || taken > 1;
            hasty
        })
    }

    /// Whether an operation of a block forwards some packets before others have arrived, or handles packets that several
    /// blocks share out among themselves: here, an operation reads and writes all its packets at once.
    fn is_loose(&self, block: &Block) -> bool {
        block.steps.iter().any(|step| {
            let Some(transfer) = step.op.transfer() else { return false };
            let read = self.count_packets(block.rank, step.op, false);
            let written = self.count_packets(block.rank, step.op, true);
            let in_pieces = transfer.via != Some(ChannelKind::Port) && read > 1 && written > 1;
            in_pieces || transfer.slice.is_some() && read + written > 0
        })
    }

    fn moves_packets(&self, rank: RankId, op: &Op, write: bool) -> bool {
        self.count_packets(rank, op, write) > 0
    }

    /// How many chunks of packets an operation reads, or writes.
    fn count_packets(&self, rank: RankId, op: &Op, write: bool) -> usize {
        let mut count = 0;
        packets(self.program, rank, op, write, &mut |_| count += 1);
        count
    }

    /// How many numbers a state holds.
    pub(super) fn size(&self) -> usize {
        let counters = |rank: &ir::Rank| rank.channels.len() + rank.semaphores.len();
        self.program.ranks.iter().map(counters).sum::<usize>() + 2 * self.blocks.len()
    }

    pub(super) fn is_shared(&self, rank: RankId, counter: Counter) -> bool {
        match counter {
            Counter::Channel(id) => self.tickets.contains(&(rank, id)),
            Counter::Semaphore(id) => self.semaphores.contains(&(rank, id)),
        }
    }

    fn find_users(&mut self) {
        for (at, block) in self.blocks.iter().enumerate() {
            let mut last: FxHashMap<Drawn, usize> = FxHashMap::default();
            for (number, step) in block.steps.iter().enumerate() {
                last.extend(self.drawn_from(block.rank, step.op).map(|drawn| (drawn, number)));
            }
            for (drawn, number) in last {
                self.users.entry(drawn).or_default().push((at, number));
            }
        }
    }

    /// The shared counter with which an operation does something whose order matters.
    pub(super) fn drawn_from(&self, rank: RankId, op: &Op) -> Option<Drawn> {
        let counter = match &op.action {
            Action::Wait(signal) => Counter::Channel(*signal.channels.first()?),
            Action::Acquire(list) | Action::Release(list) => Counter::Semaphore(*list.first()?),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Flush(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => return None,
        };
        self.is_shared(rank, counter).then_some((rank, counter))
    }

    fn find_packets(&mut self) {
        for (at, block) in self.blocks.iter().enumerate() {
            for (number, step) in block.steps.iter().enumerate() {
                packets(self.program, block.rank, step.op, true, &mut |packet| {
                    self.packets.entry(packet).or_default().push((at, number));
                });
            }
        }
    }

    pub(super) fn start(&self) -> State {
        let ranks = &self.program.ranks;
        State {
            at: vec![0; self.blocks.len()],
            drawn: vec![None; self.blocks.len()],
            signals: ranks.iter().map(|rank| vec![(0, 0); rank.channels.len()]).collect(),
            semaphores: ranks
                .iter()
                .map(|rank| rank.semaphores.iter().map(|one| one.initial).collect())
                .collect(),
        }
    }

    /// The operation that a block is at.
    pub(super) fn op(&self, state: &State, block: usize) -> Option<(RankId, &'p Op)> {
        let row = self.blocks.get(block)?;
        let at = *state.at.get(block)? as usize;
        row.steps.get(at).map(|step| (row.rank, step.op))
    }

    pub(super) fn barrier(&self, rank: RankId, id: ir::BarrierId) -> Vec<usize> {
        let members = self.program.ranks.lookup(rank).and_then(|rank| rank.barriers.lookup(id));
        let is_member = |block: &Block| {
            block.rank == rank && members.is_some_and(|members| members.contains(&block.id))
        };
        let blocks = self.blocks.iter().enumerate();
        blocks.filter(|(_, block)| is_member(block)).map(|(at, _)| at).collect()
    }

    pub(super) fn has_packets(&self, state: &State, rank: RankId, op: &Op) -> bool {
        let mut all = true;
        packets(self.program, rank, op, false, &mut |packet| {
            let written = |(block, step): &(usize, usize)| {
                state.at.get(*block).is_some_and(|at| *at as usize > *step)
            };
            all &= self.packets.get(&packet).is_some_and(|list| list.iter().any(written));
        });
        all
    }

    /// A block that has not reached its end: preferably one that has drawn something.
    pub(super) fn unfinished(&self, state: &State) -> Option<usize> {
        let open = || (0..self.blocks.len()).filter(|block| self.op(state, *block).is_some());
        let drawn = |block: &usize| state.drawn.get(*block).is_some_and(Option::is_some);
        open().find(drawn).or_else(|| open().next())
    }
}
