//! Whether blocks that share a counter can come to a stop: a search through all schedules of a small program.
//!
//! In: a program in which several blocks wait on one end of a channel, or acquire one semaphore, as its author accepts
//! (`#[allow(shared, "why")]`), and which one schedule brings to its end. Out: that every schedule does; or E0601, for
//! one that does not; or that the program is too large to tell.
//!
//! Only what depends on the order is tried in every order: who draws which ticket of a channel; and of a semaphore each
//! acquisition, release and look. An acquisition takes one away first and then looks until the value is back to what it
//! was, if that was not positive, as MSCCL++'s device code does: what another takes in between is not seen. All else is
//! done as soon as it can be, since it takes nothing from anyone.

use super::race::step::{Step, steps};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::memory::{accesses, cells};
use crate::ir::{
    self, Action, BlockId, ChannelId, Op, Program, RankId, SemaphoreId, Transfer, Verb, run,
};
use crate::table::Id;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most states that are looked at.
const MOST_STATES: usize = 50_000;

/// The most operations of a program that is searched.
const MOST_STEPS: usize = 4_000;

/// What a search found.
pub(super) enum Explored {
    /// Every schedule comes to its end.
    Free,
    /// One does not.
    Stuck(Box<Diagnostic>),
    /// That cannot be said.
    Unknown,
}

/// Searches a program in which these counters are shared.
pub(super) fn explore(program: &Program) -> Explored {
    let Some(scene) = Scene::new(program) else { return Explored::Unknown };
    let mut met = FxHashSet::default();
    let mut open = vec![scene.start()];
    while let Some(mut state) = open.pop() {
        scene.settle(&mut state);
        if !met.insert(state.clone()) {
            continue;
        }
        if met.len() > MOST_STATES {
            return Explored::Unknown;
        }
        let next: Vec<State> =
            (0..scene.blocks.len()).filter_map(|block| scene.turn(&state, block)).collect();
        let stuck = next.is_empty().then(|| scene.unfinished(&state)).flatten();
        if let Some(block) = stuck {
            return scene.stuck(&state, block);
        }
        open.extend(next);
    }
    Explored::Free
}

/// A thread block.
struct Block<'p> {
    rank: RankId,
    id: BlockId,
    steps: Vec<Step<'p>>,
}

/// What does not change.
struct Scene<'p> {
    program: &'p Program,
    blocks: Vec<Block<'p>>,
    /// Channels with several waiters, and semaphores with several takers.
    tickets: FxHashSet<(RankId, ChannelId)>,
    semaphores: FxHashSet<(RankId, SemaphoreId)>,
    /// Who writes each packet: block and step.
    packets: FxHashMap<(RankId, u64), Vec<(usize, usize)>>,
}

/// How far everyone has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    at: Vec<u32>,
    /// What each block has drawn and waits with: a ticket, or the value before it took one.
    drawn: Vec<Option<i64>>,
    /// Signals that came, and waits begun, by rank and channel.
    signals: Vec<Vec<(u32, u32)>>,
    semaphores: Vec<Vec<i64>>,
}

impl<'p> Scene<'p> {
    fn new(program: &'p Program) -> Option<Scene<'p>> {
        let windows = run::windows(program);
        let mut blocks = Vec::new();
        for (rank, row) in program.ranks.entries() {
            for (id, block) in row.blocks.entries() {
                blocks.push(Block { rank, id, steps: steps(program, &windows, &block.ops, 1) });
            }
        }
        if blocks.iter().map(|block| block.steps.len()).sum::<usize>() > MOST_STEPS {
            return None;
        }
        let mut scene = Scene {
            program,
            blocks,
            tickets: FxHashSet::default(),
            semaphores: FxHashSet::default(),
            packets: FxHashMap::default(),
        };
        scene.find_shared()?;
        scene.find_packets();
        Some(scene)
    }

    /// Which counters several blocks take from. None where one of them stands in a list with others: its threads would
    /// have to be told apart.
    fn find_shared(&mut self) -> Option<()> {
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
        let mixed = self.blocks.iter().any(|block| {
            block.steps.iter().any(|step| {
                let all = takes(step.op).chain(gives(step.op));
                let shared = all.clone().filter(|counter| self.is_shared(block.rank, *counter));
                shared.count() > 0 && all.count() > 1
            })
        });
        (!mixed).then_some(())
    }

    fn is_shared(&self, rank: RankId, counter: Counter) -> bool {
        match counter {
            Counter::Channel(id) => self.tickets.contains(&(rank, id)),
            Counter::Semaphore(id) => self.semaphores.contains(&(rank, id)),
        }
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

    fn start(&self) -> State {
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
    fn op(&self, state: &State, block: usize) -> Option<(RankId, &'p Op)> {
        let row = self.blocks.get(block)?;
        let at = *state.at.get(block)? as usize;
        row.steps.get(at).map(|step| (row.rank, step.op))
    }

    /// Does what takes nothing from anyone, as far as that goes.
    fn settle(&self, state: &mut State) {
        let mut moved = true;
        while moved {
            moved = false;
            for block in 0..self.blocks.len() {
                while self.free(state, block) {
                    moved = true;
                }
            }
        }
    }

    /// Does a block's next operation, if its order does not matter and it can.
    fn free(&self, state: &mut State, block: usize) -> bool {
        let Some((rank, op)) = self.op(state, block) else { return false };
        let semaphore = |counter| matches!(counter, Counter::Semaphore(_));
        let ordered = takes(op).any(|counter| self.is_shared(rank, counter))
            || gives(op).any(|counter| semaphore(counter) && self.is_shared(rank, counter));
        if ordered {
            return self.served(state, block);
        }
        let members = match &op.action {
            Action::Barrier { id, .. } => {
                let there = self.barrier(rank, *id);
                let at_it = |other: &usize| {
                    self.op(state, *other).is_some_and(|(_, other)| match &other.action {
                        Action::Barrier { id: same, .. } => same == id,
                        Action::Sync
                        | Action::Signal(_)
                        | Action::Wait(_)
                        | Action::Flush(_)
                        | Action::Acquire(_)
                        | Action::Release(_)
                        | Action::Transfer(_)
                        | Action::Pipeline(_) => false,
                    })
                };
                if !there.iter().all(at_it) {
                    return false;
                }
                there
            }
            Action::Sync
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => vec![block],
        };
        if !takes(op).all(|counter| state.take(rank, counter, true))
            || !self.has_packets(state, rank, op)
        {
            return false;
        }
        takes(op).for_each(|counter| {
            state.take(rank, counter, false);
        });
        gives(op).for_each(|counter| self.give(state, rank, counter));
        members.iter().for_each(|member| state.pass(*member));
        true
    }

    /// Lets a block go on that has drawn a ticket, if it is its turn.
    fn served(&self, state: &mut State, block: usize) -> bool {
        let drawn = state.drawn.get(block).copied().flatten();
        let (Some(ticket), Some((rank, op))) = (drawn, self.op(state, block)) else { return false };
        let Action::Wait(signal) = &op.action else { return false };
        let came = signal.channels.first().and_then(|id| state.channel(rank, *id));
        let served = came.is_some_and(|(came, _)| i64::from(*came) >= ticket);
        if served {
            state.pass(block);
        }
        served
    }

    /// What comes of a block doing the next thing whose order matters; none if it is at none, or cannot.
    fn turn(&self, state: &State, block: usize) -> Option<State> {
        let (rank, op) = self.op(state, block)?;
        let mut after = state.clone();
        let drawn = state.drawn.get(block).copied().flatten();
        match &op.action {
            Action::Wait(signal) => {
                let (_, begun) = after.channel(rank, *signal.channels.first()?)?;
                if drawn.is_some() {
                    return None;
                }
                *begun += 1;
                let ticket = i64::from(*begun);
                *after.drawn.get_mut(block)? = Some(ticket);
            }
            Action::Acquire(list) => {
                let value = after.semaphore(rank, *list.first()?)?;
                match drawn {
                    Some(old) if *value >= old => after.pass(block),
                    Some(_) => return None,
                    None => {
                        let old = *value;
                        *value -= 1;
                        match old > 0 {
                            true => after.pass(block),
                            false => *after.drawn.get_mut(block)? = Some(old),
                        }
                    }
                }
            }
            Action::Release(list) => {
                *after.semaphore(rank, *list.first()?)? += 1;
                after.pass(block);
            }
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Flush(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => return None,
        }
        let counters = takes(op).chain(gives(op));
        counters.into_iter().any(|one| self.is_shared(rank, one)).then_some(after)
    }

    fn barrier(&self, rank: RankId, id: ir::BarrierId) -> Vec<usize> {
        let members = self.program.ranks.lookup(rank).and_then(|rank| rank.barriers.lookup(id));
        let is_member = |block: &Block| {
            block.rank == rank && members.is_some_and(|members| members.contains(&block.id))
        };
        let blocks = self.blocks.iter().enumerate();
        blocks.filter(|(_, block)| is_member(block)).map(|(at, _)| at).collect()
    }

    fn has_packets(&self, state: &State, rank: RankId, op: &Op) -> bool {
        let mut all = true;
        packets(self.program, rank, op, false, &mut |packet| {
            let written = |(block, step): &(usize, usize)| {
                state.at.get(*block).is_some_and(|at| *at as usize > *step)
            };
            all &= self.packets.get(&packet).is_some_and(|list| list.iter().any(written));
        });
        all
    }

    fn give(&self, state: &mut State, rank: RankId, counter: Counter) {
        match counter {
            Counter::Semaphore(id) => {
                state.semaphore(rank, id).into_iter().for_each(|value| *value += 1);
            }
            Counter::Channel(id) => {
                let end = self.program.ranks.lookup(rank).and_then(|rank| rank.channels.lookup(id));
                let other = end.and_then(|end| end.peer().zip(end.partner));
                let came = other.and_then(|(peer, there)| state.channel(peer, there));
                came.into_iter().for_each(|(came, _)| *came += 1);
            }
        }
    }

    /// A block that has not come to its end: one that has drawn something, if there is one.
    fn unfinished(&self, state: &State) -> Option<usize> {
        let open = || (0..self.blocks.len()).filter(|block| self.op(state, *block).is_some());
        let drawn = |block: &usize| state.drawn.get(*block).is_some_and(Option::is_some);
        open().find(drawn).or_else(|| open().next())
    }

    fn stuck(&self, state: &State, block: usize) -> Explored {
        let row = self.blocks.get(block).zip(self.op(state, block));
        let Some((row, (rank, op))) = row else { return Explored::Unknown };
        let shared = takes(op).find(|counter| self.is_shared(rank, *counter));
        // Operations whose packets come in pieces are not told apart here.
        let Some(counter) = shared else { return Explored::Unknown };
        let rank_row = self.program.ranks.lookup(rank);
        let name =
            rank_row.and_then(|rank| rank.blocks.lookup(row.id)).map_or("", |row| &*row.name);
        let of = rank_row.and_then(|rank| match counter {
            Counter::Channel(id) => rank.channels.lookup(id).map(|one| &*one.name),
            Counter::Semaphore(id) => rank.semaphores.lookup(id).map(|one| &*one.name),
        });
        let of = of.unwrap_or("");
        let message =
            format!("in some schedule block `{name}` of rank {} waits for `{of}` for ever", rank.0);
        let report = Diagnostic::new(Code::E0601, self.program.origins.place(op.origin), message);
        Explored::Stuck(Box::new(match counter {
            Counter::Channel(_) => report
                .note("several blocks wait on it: who comes first takes the first signal")
                .help("give each block one of its own: a family with one more index"),
            Counter::Semaphore(_) => report
                .note("several blocks acquire it: one that waits does not see a value that another takes away at once")
                .help("let one block acquire it, or give each block one of its own"),
        }))
    }
}

impl State {
    fn pass(&mut self, block: usize) {
        if let Some(at) = self.at.get_mut(block) {
            *at += 1;
        }
        if let Some(drawn) = self.drawn.get_mut(block) {
            *drawn = None;
        }
    }

    fn channel(&mut self, rank: RankId, id: ChannelId) -> Option<&mut (u32, u32)> {
        self.signals.get_mut(rank.index())?.get_mut(id.index())
    }

    fn semaphore(&mut self, rank: RankId, id: SemaphoreId) -> Option<&mut i64> {
        self.semaphores.get_mut(rank.index())?.get_mut(id.index())
    }

    /// Takes one of a counter that nobody shares, if there is one; or only looks.
    fn take(&mut self, rank: RankId, counter: Counter, look: bool) -> bool {
        match counter {
            Counter::Channel(id) => self.channel(rank, id).is_some_and(|(came, begun)| {
                let there = *came > *begun;
                *begun += u32::from(there && !look);
                there
            }),
            Counter::Semaphore(id) => self.semaphore(rank, id).is_some_and(|value| {
                let there = *value > 0;
                *value -= i64::from(there && !look);
                there
            }),
        }
    }
}

/// An end of a channel, or a semaphore, of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Counter {
    Channel(ChannelId),
    Semaphore(SemaphoreId),
}

/// What an operation waits for.
fn takes(op: &Op) -> impl Iterator<Item = Counter> + Clone + '_ {
    let (channels, semaphores): (&[ChannelId], &[SemaphoreId]) = match &op.action {
        Action::Wait(signal) => (&signal.channels, &[]),
        Action::Acquire(list) => (&[], list),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Flush(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => (&[], &[]),
    };
    let channels = channels.iter().map(|id| Counter::Channel(*id));
    channels.chain(semaphores.iter().map(|id| Counter::Semaphore(*id)))
}

/// What an operation tells, by the end of the channel that it has.
fn gives(op: &Op) -> impl Iterator<Item = Counter> + Clone + '_ {
    let (channels, semaphores): (&[ChannelId], &[SemaphoreId]) = match &op.action {
        Action::Signal(signal) => (&signal.channels, &[]),
        Action::Transfer(Transfer {
            verb: Verb::PutWithSignal | Verb::PutWithSignalAndFlush,
            channels,
            ..
        }) => (channels, &[]),
        Action::Release(list) => (&[], list),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => (&[], &[]),
    };
    let channels = channels.iter().map(|id| Counter::Channel(*id));
    channels.chain(semaphores.iter().map(|id| Counter::Semaphore(*id)))
}

/// The packets that an operation writes, or reads.
fn packets(
    program: &Program,
    rank: RankId,
    op: &Op,
    write: bool,
    visit: &mut dyn FnMut((RankId, u64)),
) {
    let Action::Transfer(transfer) = &op.action else { return };
    for access in accesses(transfer).filter(|one| one.packets && one.write == write) {
        cells(&program.ranks, rank, &access.operand, false, &mut |extent| {
            (extent.start..extent.end).for_each(|cell| visit((extent.rank, cell)));
        });
    }
}
