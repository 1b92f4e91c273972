//! The state of a run, and the next step of each agent.
//!
//! The agents are: every thread of every block; for every port channel, one that reads sources, and one that writes
//! destinations and delivers signals, each in the order of requests; the user of each rank's stream; and, in runs with
//! weak memory, the stores and loads of each block that are held back.
//!
//! A run is of one of these kinds, which judge independently of each other:
//! - [`Kind::Views`]: memory is coherent and stores are visible at once, and every access is checked against what its
//!   agent can rely on ([`crate::memory`], [`crate::view`]). A wait learns what the signals up to the one that it needs
//!   have published, and never more, so that a lucky schedule hides nothing.
//! - [`Kind::Weak`]: nothing is checked except what the user finds. Stores are held back until something forces them
//!   out: a strong (not relaxed) signal, a release, a request to a proxy, a barrier, or the end of the launch. Loads
//!   may return the contents before the last write, unless the reader has synchronized since then. A relaxed signal or
//!   wait may overtake the thread's last data operation. The values at the end show the consequences.
//!
//! The launches of a rank follow each other; its user writes the buffers between them. Launches are not aligned from
//! rank to rank.

use crate::code::{Code, Instr, Push, Step};
use crate::lot::Lot;
use crate::memory::{Cell, Held, Loads, Site, Touched, Value};
use crate::proxy::Port;
use crate::user::Promised;
use crate::view::{Told, View};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a run looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Views,
    Weak,
    /// Neither: every store is visible to all at once.
    Plain,
}

/// Decides when weak memory takes effect.
#[derive(Clone, Debug)]
pub(crate) enum Dice {
    Never,
    Always,
    Random(Lot),
}

impl Dice {
    /// Whether it takes effect this time.
    pub(crate) fn roll(&mut self) -> bool {
        match self {
            Dice::Never => false,
            Dice::Always => true,
            Dice::Random(lot) => lot.next() & 3 == 0,
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ok,
    /// An output does not hold what is promised when the user reads it.
    WrongValue {
        rank: u32,
        cell: u32,
        launch: u32,
    },
    /// A rank has ended a launch before another one has begun it, which is promised to have.
    Early {
        rank: u32,
        begins: u32,
        launch: u32,
    },
    /// Two conflicting accesses to a cell that nothing orders.
    Race {
        first: Site,
        second: Site,
        cell: usize,
    },
    /// Blocks that can never go on, each with its step.
    Deadlock {
        launch: u32,
        blocked: Vec<(u32, u32)>,
    },
    /// A channel or semaphore does not end with the count that it began with.
    CounterLeft {
        what: &'static str,
        index: usize,
    },
    /// An operation accesses memory outside its buffer.
    OutOfBounds {
        rank: usize,
        block: usize,
        op: u32,
    },
    /// The run was abandoned after too many turns.
    TooLong,
}

/// What an agent that cannot go on is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Channel(usize),
    Semaphore(usize),
    Cell(usize),
    Block(usize),
    Launch(usize),
    Port(usize),
    Stores(usize),
}

/// The result of an agent's turn.
pub(crate) enum Turn {
    Ran,
    Waits(Key),
    Over,
}

/// The state of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) pc: usize,
    pub(crate) lane: usize,
    pub(crate) element: u32,
    pub(crate) ticket: Option<(i64, usize)>,
    pub(crate) joins: bool,
    pub(crate) met: u32,
    pub(crate) over: bool,
    /// Elements that relaxed signals and waits have overtaken: step, lane and element.
    pub(crate) late: Vec<(usize, usize, u32)>,
    pub(crate) view: View,
    pub(crate) count: u32,
    /// The time since when its reads cannot return older copies.
    pub(crate) fresh: u64,
    /// When the latest launch began that it knows of.
    pub(crate) entered: u64,
}

/// A store that others do not see yet: of one thread, or of a whole block whose threads have joined since.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) cell: usize,
    pub(crate) held: Held,
    pub(crate) thread: Option<usize>,
}

/// A block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) joined: usize,
    /// How many barriers it has passed, and what it learned at the last one.
    pub(crate) passed: u32,
    learned: Rc<Post>,
    pub(crate) stores: Vec<Store>,
}

/// A rank's launches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rank {
    /// How many have begun.
    pub(crate) begun: u32,
    /// Threads that have not reached the end of the current one.
    pub(crate) left: usize,
}

/// What the signals, releases or arrivals up to a certain one have published together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Post {
    pub(crate) view: View,
    pub(crate) time: u64,
    pub(crate) entered: u64,
}

/// One end of a channel: the signals that have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    pub(crate) posts: Vec<Rc<Post>>,
    pub(crate) expected: usize,
    /// Signals sent from this end that nobody can wait for.
    pub(crate) lost: usize,
}

/// A semaphore.
#[derive(Clone, Debug, Default)]
pub(crate) struct Semaphore {
    pub(crate) value: i64,
    pub(crate) taken: usize,
    pub(crate) posts: Vec<Rc<Post>>,
}

/// The whole state.
#[derive(Clone, Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) code: &'a Code,
    pub(crate) promised: &'a Promised,
    /// The same for messages of another size, if there are any: two launches of one size are followed by two of the other.
    pub(crate) other: Option<(&'a Code, &'a Promised)>,
    pub(crate) kind: Kind,
    pub(crate) dice: Dice,
    pub(crate) launches: u32,
    /// The quarter of their data at which proxies begin to move it.
    pub(crate) quarter: u32,
    pub(crate) now: u64,
    pub(crate) cells: Vec<Cell>,
    pub(crate) loads: Loads,
    pub(crate) threads: Vec<Thread>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) ranks: Vec<Rank>,
    pub(crate) inboxes: Vec<Inbox>,
    pub(crate) semaphores: Vec<Semaphore>,
    pub(crate) arrived: Vec<Vec<(usize, Rc<Post>, u32)>>,
    pub(crate) ports: Vec<Port>,
    pub(crate) users: Vec<View>,
    /// The first agent number in views that is not in use yet.
    pub(crate) new_agent: u32,
    /// Whether memory was read that nobody had written in that launch.
    pub(crate) stale: bool,
    /// Whether an input that is not the output was written.
    pub(crate) clobbers: bool,
    /// If requested, every access in the order in which it was made: by whom, to which cell, whether it is a write.
    pub(crate) trace: Option<Vec<(Site, usize, bool)>>,
    /// The cells in which races are looked for; none means all.
    pub(crate) watched: Option<BTreeSet<usize>>,
    /// Agents that can go on, in the order in which they became ready, and the others by what they wait for.
    pub(crate) ready: Vec<usize>,
    parked: BTreeMap<Key, Vec<usize>>,
}

impl<'a> Machine<'a> {
    /// The state before the first launch.
    pub(crate) fn new(
        code: &'a Code,
        promised: &'a Promised,
        kind: Kind,
        dice: Dice,
        launches: u32,
    ) -> Machine<'a> {
        let nothing = || Held::Plain(Value::of(crate::memory::NOBODY, 0, u32::MAX));
        let cell = || Cell {
            held: nothing(),
            before: nothing(),
            written: 0,
            writer: u32::MAX,
            touched: Touched::default(),
        };
        let threads = code.blocks.len() * code.threads;
        let mut machine = Machine {
            code,
            promised,
            other: None,
            kind,
            dice,
            launches,
            quarter: 0,
            now: 1,
            cells: (0..code.cells).map(|_| cell()).collect(),
            loads: Loads::default(),
            threads: vec![Thread::default(); threads],
            blocks: vec![Block::default(); code.blocks.len()],
            ranks: vec![Rank::default(); code.ranks.len()],
            inboxes: vec![Inbox::default(); code.channels.len()],
            semaphores: Vec::new(),
            arrived: vec![Vec::new(); code.barriers],
            ports: vec![Port::default(); code.channels.len()],
            users: vec![View::default(); code.ranks.len()],
            new_agent: 0,
            stale: false,
            clobbers: false,
            trace: None,
            watched: None,
            ready: Vec::new(),
            parked: BTreeMap::new(),
        };
        let semaphore = |value: &i64| Semaphore { value: *value, ..Semaphore::default() };
        machine.semaphores = code.semaphores.iter().map(semaphore).collect();
        machine.ready = (0..machine.agents()).collect();
        machine.new_agent = machine.agents() as u32;
        machine
    }

    /// The number of agents: threads, two for each end of a channel, users, and the stores of each block.
    pub(crate) fn agents(&self) -> usize {
        self.first_store_agent() + self.blocks.len()
    }

    pub(crate) fn first_port_agent(&self) -> usize {
        self.threads.len()
    }

    pub(crate) fn first_user_agent(&self) -> usize {
        self.first_port_agent() + 2 * self.code.channels.len()
    }

    pub(crate) fn first_store_agent(&self) -> usize {
        self.first_user_agent() + self.ranks.len()
    }

    /// Lets an agent take its smallest step that others can observe; an agent that cannot go on is parked.
    pub(crate) fn turn(&mut self, agent: usize) -> Result<bool, Verdict> {
        self.now += 1;
        let turn = if agent < self.first_port_agent() {
            self.thread(agent)?
        } else if agent < self.first_user_agent() {
            self.proxy(agent - self.first_port_agent())?
        } else if agent < self.first_store_agent() {
            self.user(agent - self.first_user_agent())?
        } else {
            self.store(agent - self.first_store_agent())?
        };
        let key = match turn {
            Turn::Ran => return Ok(true),
            Turn::Waits(key) => Some(key),
            Turn::Over => None,
        };
        self.ready.retain(|other| *other != agent);
        if let Some(key) = key {
            self.parked.entry(key).or_default().push(agent);
        }
        Ok(false)
    }

    /// Makes the agents ready that waited for `key`.
    pub(crate) fn wake(&mut self, key: Key) {
        self.ready.extend(self.parked.remove(&key).into_iter().flatten());
    }

    /// When no agent can go on: the verdict on the run.
    pub(crate) fn end(&self) -> Verdict {
        let unfinished = |rank: &Rank| rank.begun < self.launches || rank.left > 0;
        if let Some(rank) = self.ranks.iter().find(|rank| unfinished(rank)) {
            let stuck = self.threads.iter().enumerate().filter(|(_, thread)| !thread.over);
            let mut blocked: Vec<(u32, u32)> =
                stuck.map(|(i, t)| ((i / self.code.threads) as u32, t.pc as u32)).collect();
            blocked.dedup();
            return Verdict::Deadlock { launch: rank.begun, blocked };
        }
        let balanced = |inbox: &Inbox| inbox.posts.len() == inbox.expected && inbox.lost == 0;
        if let Some(index) = self.inboxes.iter().position(|inbox| !balanced(inbox)) {
            return Verdict::CounterLeft { what: "channel", index };
        }
        let values = self.semaphores.iter().zip(&self.code.semaphores);
        let left = { values }.position(|(semaphore, initial)| semaphore.value != *initial);
        left.map_or(Verdict::Ok, |index| Verdict::CounterLeft { what: "semaphore", index })
    }

    pub(crate) fn rank_of(&self, block: usize) -> usize {
        self.code.blocks[block].rank
    }

    /// The launch that a block is in.
    pub(crate) fn launch(&self, block: usize) -> u32 {
        self.ranks[self.rank_of(block)].begun - 1
    }

    /// What the ranks do in a launch, and what they promise.
    pub(crate) fn in_launch(&self, launch: u32) -> (&'a Code, &'a Promised) {
        let own = (self.code, self.promised);
        if (launch / 2).is_multiple_of(2) { own } else { self.other.unwrap_or(own) }
    }

    /// The steps of a block in its launch.
    pub(crate) fn steps(&self, block: usize) -> &'a [Step] {
        let begun = self.ranks[self.rank_of(block)].begun;
        &self.in_launch(begun.saturating_sub(1)).0.blocks[block].steps
    }

    /// Whether the next step of an agent concerns nobody else: the only thread of a block joins itself.
    pub(crate) fn is_alone(&self, agent: usize) -> bool {
        let Some(thread) = self.threads.get(agent).filter(|_| self.code.threads == 1) else {
            return false;
        };
        let runs = !thread.over && self.ranks[self.rank_of(agent)].begun > 0;
        let step = self.steps(agent).get(thread.pc);
        runs && step.is_some_and(|step| matches!(step.instr, Instr::Join))
    }

    fn thread(&mut self, i: usize) -> Result<Turn, Verdict> {
        let (block, k) = (i / self.code.threads, i % self.code.threads);
        let rank = self.rank_of(block);
        if self.threads[i].over || self.ranks[rank].begun == 0 {
            return Ok(Turn::Waits(Key::Launch(rank)));
        }
        self.settle(i);
        match self.steps(block).get(self.threads[i].pc) {
            Some(step) => self.instruction(i, block, k, &step.instr),
            None => self.finish(i, rank),
        }
    }

    /// Moves a thread past the instructions in which it takes no part.
    pub(crate) fn settle(&mut self, i: usize) {
        let (block, k) = (i / self.code.threads, i % self.code.threads);
        let steps = self.steps(block);
        while let Some(step) = steps.get(self.threads[i].pc) {
            let skipped = match &step.instr {
                Instr::Join | Instr::Barrier { .. } => false,
                Instr::Signal { channels, .. } | Instr::Wait { channels, .. } => {
                    k >= channels.len()
                }
                Instr::Acquire(list) | Instr::Release(list) => k >= list.len(),
                Instr::Push(pushes) => k >= pushes.len(),
                Instr::Move(lanes) => !self.seek(i, k as u32, lanes),
            };
            if !skipped {
                return;
            }
            self.pass(i);
        }
    }

    /// Records an access, if that is requested.
    pub(crate) fn note(&mut self, site: Site, cell: usize, write: bool) {
        if let Some(trace) = &mut self.trace {
            trace.push((site, cell, write));
        }
    }

    /// Moves the thread to its next instruction.
    pub(crate) fn pass(&mut self, i: usize) {
        let thread = &mut self.threads[i];
        thread.pc += 1;
        (thread.lane, thread.element, thread.ticket) = (0, 0, None);
    }

    fn finish(&mut self, i: usize, rank: usize) -> Result<Turn, Verdict> {
        self.catch_up(i)?;
        self.threads[i].over = true;
        self.ranks[rank].left -= 1;
        if self.ranks[rank].left == 0 {
            self.wake(Key::Launch(rank));
        }
        Ok(Turn::Waits(Key::Launch(rank)))
    }

    fn instruction(
        &mut self,
        i: usize,
        block: usize,
        k: usize,
        instr: &Instr,
    ) -> Result<Turn, Verdict> {
        match instr {
            Instr::Join => self.meet(i, block),
            Instr::Barrier { id, arrivals } => self.barrier(i, block, k, *id, *arrivals),
            Instr::Signal { channels, relaxed } => {
                if !relaxed {
                    self.publish(i)?;
                }
                let told = self.told(i);
                self.post(channels[k], &told, self.threads[i].entered, !relaxed);
                self.pass(i);
                Ok(Turn::Ran)
            }
            Instr::Wait { channels, relaxed } => self.wait(i, channels[k], *relaxed),
            Instr::Acquire(list) => self.acquire(i, list[k]),
            Instr::Release(list) => self.release(i, list[k]),
            Instr::Move(lanes) => self.element(i, lanes),
            Instr::Push(pushes) => self.push(i, &pushes[k]),
        }
    }

    /// What a message of this thread carries now.
    pub(crate) fn told(&self, i: usize) -> Told {
        let thread = &self.threads[i];
        Told { view: thread.view.clone(), agent: i as u32, count: thread.count }
    }

    /// Joins the threads of a block: afterwards each can rely on what any could before, and sees what any stored.
    fn meet(&mut self, i: usize, block: usize) -> Result<Turn, Verdict> {
        self.catch_up(i)?;
        if !std::mem::replace(&mut self.threads[i].joins, true) {
            self.blocks[block].joined += 1;
        }
        let count = self.code.threads;
        if self.blocks[block].joined < count {
            return Ok(Turn::Waits(Key::Block(block)));
        }
        let all = block * count..(block + 1) * count;
        let (view, fresh, entered) = self.common(all.clone());
        for i in all {
            let thread = &mut self.threads[i];
            (thread.fresh, thread.entered, thread.joins) = (fresh, entered, false);
            thread.view = View { me: i as u32, ..view.clone() };
            self.pass(i);
        }
        self.blocks[block].stores.iter_mut().for_each(|store| store.thread = None);
        self.blocks[block].joined = 0;
        self.wake(Key::Block(block));
        Ok(Turn::Ran)
    }

    /// What several threads know together.
    pub(crate) fn common(&self, threads: std::ops::Range<usize>) -> (View, u64, u64) {
        let mut view = View { me: u32::MAX, ..View::default() };
        let (mut fresh, mut entered) = (0, 0);
        for thread in &self.threads[threads.clone()] {
            view.join(&thread.view);
            (fresh, entered) = (fresh.max(thread.fresh), entered.max(thread.entered));
        }
        for i in threads.filter(|_| self.kind == Kind::Views) {
            crate::view::advance(&mut view.seen, i as u32, self.threads[i].count);
            crate::view::advance(&mut view.past, i as u32, self.threads[i].count);
        }
        (view, fresh, entered)
    }

    /// A barrier of blocks. Thread 0 acts for its block, whose threads have just joined.
    fn barrier(
        &mut self,
        i: usize,
        block: usize,
        k: usize,
        id: usize,
        arrivals: u32,
    ) -> Result<Turn, Verdict> {
        if self.blocks[block].passed > self.threads[i].met {
            let learned = Rc::clone(&self.blocks[block].learned);
            self.threads[i].met += 1;
            self.learn(i, &learned, true);
            self.pass(i);
            return Ok(Turn::Ran);
        }
        let waits = Ok(Turn::Waits(Key::Block(block)));
        if k > 0 || self.arrived[id].iter().any(|(other, _, _)| *other == block) {
            return waits;
        }
        self.publish(i)?;
        let mut post = Post { time: self.now, entered: self.threads[i].entered, ..Post::default() };
        post.view.gather(&self.told(i), true);
        self.arrived[id].push((block, Rc::new(post), arrivals));
        let here = self.arrived[id].len() as u32;
        if self.arrived[id].iter().any(|(_, _, wanted)| *wanted != here) {
            return waits;
        }
        let arrived = std::mem::take(&mut self.arrived[id]);
        let mut all = Post { time: self.now, ..Post::default() };
        for (_, post, _) in &arrived {
            all.view.join(&post.view);
            all.entered = all.entered.max(post.entered);
        }
        let all = Rc::new(all);
        for (other, _, _) in arrived {
            self.blocks[other].passed += 1;
            self.blocks[other].learned = Rc::clone(&all);
            self.wake(Key::Block(other));
        }
        Ok(Turn::Ran)
    }

    /// Delivers a signal to the other end of a channel.
    pub(crate) fn post(&mut self, channel: usize, told: &Told, entered: u64, strong: bool) {
        let Some(partner) = self.code.channels[channel].partner else {
            self.inboxes[channel].lost += 1;
            return;
        };
        let now = self.now;
        let views = self.kind == Kind::Views;
        add(&mut self.inboxes[partner].posts, told, (now, entered), strong, views);
        self.wake(Key::Channel(partner));
    }

    fn wait(&mut self, i: usize, channel: usize, relaxed: bool) -> Result<Turn, Verdict> {
        let inbox = &mut self.inboxes[channel];
        let ticket = self.threads[i].ticket.get_or_insert_with(|| {
            inbox.expected += 1;
            (0, inbox.expected)
        });
        let Some(post) = inbox.posts.get(ticket.1 - 1).cloned() else {
            return Ok(Turn::Waits(Key::Channel(channel)));
        };
        self.learn(i, &post, !relaxed);
        self.pass(i);
        Ok(Turn::Ran)
    }

    /// A thread receives what was published.
    pub(crate) fn learn(&mut self, i: usize, post: &Post, strong: bool) {
        let thread = &mut self.threads[i];
        thread.view.receive(&post.view, strong);
        thread.entered = thread.entered.max(post.entered);
        thread.fresh = thread.fresh.max(post.entered);
        if strong {
            thread.fresh = thread.fresh.max(post.time);
        }
    }

    fn release(&mut self, i: usize, semaphore: usize) -> Result<Turn, Verdict> {
        self.publish(i)?;
        let told = self.told(i);
        let entered = self.threads[i].entered;
        let (now, views) = (self.now, self.kind == Kind::Views);
        let semaphore_ = &mut self.semaphores[semaphore];
        semaphore_.value += 1;
        add(&mut semaphore_.posts, &told, (now, entered), true, views);
        self.wake(Key::Semaphore(semaphore));
        self.pass(i);
        Ok(Turn::Ran)
    }

    /// Acquires a semaphore as the device does: decrements it and, if it was not positive before, waits until it is
    /// back at its old value.
    fn acquire(&mut self, i: usize, semaphore: usize) -> Result<Turn, Verdict> {
        let state = &mut self.semaphores[semaphore];
        let (old, ticket) = *self.threads[i].ticket.get_or_insert_with(|| {
            state.value -= 1;
            state.taken += 1;
            (state.value + 1, state.taken)
        });
        if old <= 0 && state.value < old {
            return Ok(Turn::Waits(Key::Semaphore(semaphore)));
        }
        let needed = ticket as i64 - self.code.semaphores[semaphore];
        let needed = (needed.max(0) as usize).min(state.posts.len());
        if let Some(post) = needed.checked_sub(1).map(|last| Rc::clone(&state.posts[last])) {
            self.learn(i, &post, true);
        }
        self.pass(i);
        Ok(Turn::Ran)
    }

    /// Before a thread publishes what it did, its delayed operations are executed and its stores become visible.
    pub(crate) fn publish(&mut self, i: usize) -> Result<(), Verdict> {
        self.catch_up(i)?;
        self.drain(i / self.code.threads, |store| store.thread.is_none_or(|thread| thread == i));
        Ok(())
    }

    fn push(&mut self, i: usize, push: &Push) -> Result<Turn, Verdict> {
        if self.threads[i].ticket.is_none() {
            self.publish(i)?;
            let ticket = self.request(i, push);
            self.wake(Key::Port(push.channel));
            if push.flush {
                self.threads[i].ticket = Some((0, ticket));
            } else {
                self.pass(i);
            }
            return Ok(Turn::Ran);
        }
        let ticket = self.threads[i].ticket.map_or(0, |(_, ticket)| ticket);
        let Some(post) = self.flushed(push.channel, ticket) else {
            return Ok(Turn::Waits(Key::Port(push.channel)));
        };
        self.learn(i, &post, true);
        self.pass(i);
        Ok(Turn::Ran)
    }
}

/// Adds a message to those that came before it.
fn add(posts: &mut Vec<Rc<Post>>, told: &Told, at: (u64, u64), strong: bool, views: bool) {
    let mut post = posts.last().map_or_else(Post::default, |post| Post::clone(post));
    if views {
        post.view.gather(told, strong);
    }
    if strong {
        post.time = post.time.max(at.0);
    }
    post.entered = post.entered.max(at.1);
    posts.push(Rc::new(post));
}
