//! Random programs whose blocks share counters: whether the checker finds a deadlock exactly where some schedule has one.
//!
//! One to three ranks; one or two parts, whose blocks have nothing to do with each other: each part has blocks of its
//! own on every rank, a memory channel between any two ranks, a semaphore and a barrier on each rank. Signals, releases,
//! barriers and packets are inserted at random places together with what takes them, so that counters are balanced and
//! many programs deadlock. Programs of one part may name two channels in an operation. Each chunk is written once.
//!
//! The interpreter runs every schedule of one launch, and some schedules of three launches with more threads; the
//! emulator behind `cclc run` runs a few, too. `ORACLE_SHARED` sets the number of programs, and `ORACLE_STATES` the most
//! states of a program that are visited.

use crate::agreement::{Tally, codes, compare, is_unproved, number, part, report};
use crate::lot::Lot;
use crate::machine::Verdict;
use crate::random::{empty, end, transfer};
use crate::schedule::exhaust_threads;
use compiler::emulate::{Element, Outcome, Settings, Trial};
use compiler::interrupt::Interrupt;
use compiler::ir::{
    Action, BarrierId, BlockId, Buffer, ChannelId, Joins, Op, Operand, OriginId, Program, RankId,
    SemaphoreId, Signal, Verb, Where,
};
use compiler::optimize::{self, Stage};
use std::collections::BTreeMap;

/// Chunks of the input and the output, and packets that scratch has room for.
const SLOTS: u32 = 6;

/// Schedules of each program that the emulator runs.
const EMULATED: u64 = 3;

/// A program under construction.
struct Maker {
    lot: Lot,
    program: Program,
    ranks: u32,
    /// Blocks of a part on each rank.
    blocks: u32,
    /// Whether operations name several channels.
    listed: bool,
    /// How many packets each rank receives.
    packets: Vec<u32>,
}

/// Makes a program.
fn program(seed: u64) -> Program {
    let mut lot = Lot(seed);
    let ranks = 1 + lot.below(2) + lot.below(2);
    let parts = 1 + lot.below(2);
    let blocks = if parts * ranks > 2 { 2 } else { 2 + lot.below(2) };
    let mut program = empty(ranks, parts * blocks, &mut lot);
    let initial = i64::from(lot.below(2));
    for rank in program.ranks.iter_mut() {
        (rank.input_chunks, rank.output_chunks, rank.scratch_chunks) = (SLOTS, SLOTS, 2 * SLOTS);
        rank.channels.iter_mut().for_each(|channel| channel.shared = true);
        rank.semaphores.iter_mut().for_each(|one| (one.initial, one.shared) = (initial, true));
        let members = |part| (part * blocks..(part + 1) * blocks).map(BlockId).collect();
        rank.barriers = (0..parts).map(members).collect();
    }
    let packets = vec![0; ranks as usize];
    let listed = parts == 1 && lot.once_in(2);
    let mut maker = Maker { lot, program, ranks, blocks, listed, packets };
    for part in 0..parts {
        for _ in 0..2 + maker.lot.below(4) {
            maker.item(part);
        }
    }
    maker.program
}

impl Maker {
    fn item(&mut self, part: u32) {
        let rank = self.lot.below(self.ranks);
        let away = self.lot.below(self.ranks - 1);
        let peer = (self.ranks > 1).then_some((rank + 1 + away) % self.ranks);
        match (self.lot.below(8), peer) {
            (0, Some(peer)) if self.listed => self.lists(rank, peer),
            (0..=2, Some(peer)) => self.signal(part, rank, peer),
            (3, Some(peer)) => self.packet(part, rank, peer),
            (4, _) => self.meet(part, rank),
            _ => self.release(part, rank),
        }
    }

    fn signal(&mut self, part: u32, rank: u32, peer: u32) {
        let relaxed = self.lot.once_in(3);
        let over = |id| Signal { channels: [id].into_iter().collect(), relaxed };
        self.insert(part, rank, Action::Signal(over(end(rank, peer, part))));
        self.insert(part, peer, Action::Wait(over(end(peer, rank, part))));
    }

    /// Signals over two channels, each as an operation of its own or both in one, and a wait for both.
    fn lists(&mut self, rank: u32, peer: u32) {
        let over = |channels: &[ChannelId]| Signal { channels: channels.into(), relaxed: false };
        let both = [end(rank, peer, 0), end(rank, peer, 1)];
        match self.lot.once_in(2) {
            true => self.insert(0, rank, Action::Signal(over(&both))),
            false => both.iter().for_each(|id| self.insert(0, rank, Action::Signal(over(&[*id])))),
        }
        let ends = [end(peer, rank, 0), end(peer, rank, 1)];
        self.insert(0, peer, Action::Wait(over(&ends)));
    }

    fn release(&mut self, part: u32, rank: u32) {
        let list = || [SemaphoreId(part)].into_iter().collect();
        self.insert(part, rank, Action::Release(list()));
        self.insert(part, rank, Action::Acquire(list()));
    }

    fn meet(&mut self, part: u32, rank: u32) {
        for block in 0..self.blocks {
            let action = Action::Barrier { id: BarrierId(part), arrivals: self.blocks };
            self.insert_in(rank, part * self.blocks + block, action);
        }
    }

    fn packet(&mut self, part: u32, rank: u32, peer: u32) {
        let used = &mut self.packets[peer as usize];
        let index = *used;
        if index == SLOTS {
            return;
        }
        *used += 1;
        let at = |place, buffer| [Operand { place, buffer, index, size: 1 }];
        let there = at(Where::Remote(RankId(peer)), Buffer::Scratch);
        let channel = Some(end(rank, peer, part));
        let source = at(Where::Local, Buffer::Input);
        self.insert(part, rank, transfer(Verb::PutPackets, &source, &there, channel));
        let (here, into) = (at(Where::Local, Buffer::Scratch), at(Where::Local, Buffer::Output));
        self.insert(part, peer, transfer(Verb::UnpackPackets, &here, &into, None));
    }

    /// Adds an operation to some block of a part.
    fn insert(&mut self, part: u32, rank: u32, action: Action) {
        let block = part * self.blocks + self.lot.below(self.blocks);
        self.insert_in(rank, block, action);
    }

    /// Adds an operation at a random place of a block, mostly with joins around it where they are not implied.
    fn insert_in(&mut self, rank: u32, block: u32, action: Action) {
        let joined = self.program.joins == Joins::Explicit && !self.lot.once_in(6);
        let ops = &mut self.program.ranks[RankId(rank)].blocks[BlockId(block)].ops;
        let at = self.lot.below(ops.len() as u32 + 1) as usize;
        let op = |action| Op { action, origin: OriginId(0), sync: None };
        let sync = || joined.then(|| op(Action::Sync));
        ops.splice(at..at, sync().into_iter().chain([op(action)]).chain(sync()));
    }
}

/// How many programs there were of each kind.
#[derive(Debug, Default)]
struct Kinds {
    /// Some schedule deadlocks; none does.
    stuck: u32,
    free: u32,
    /// The checker does not decide.
    unproved: u32,
    /// There are too many schedules for the interpreter.
    large: u32,
}

#[test]
fn deadlocks_are_found_where_counters_are_shared() {
    let seed = number("ORACLE_SEED", 1, 1);
    let count = number("ORACLE_SHARED", 150, 3000);
    let (part, parts) = part();
    let (mut kinds, mut surprises) = (Kinds::default(), Vec::new());
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for i in (0..count).filter(|i| i % parts == part) {
        let program = program(seed.wrapping_mul(1 << 32) + i);
        let what = format!("shared program {i} of seed {seed}");
        let tally = tallies.entry("shared counters").or_default();
        surprises.extend(compare(&what, &program, seed, tally));
        surprises.extend(judge(&program, &mut kinds).map(|why| format!("{what}: {why}")));
    }
    report(&tallies);
    eprintln!("{kinds:?}");
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    let least = (count / parts / 20) as u32;
    assert!(kinds.stuck > least && kinds.free > least, "both kinds are common: {kinds:?}");
}

/// What the checker says about deadlocks of a program, against all its schedules.
fn judge(program: &Program, kinds: &mut Kinds) -> Option<String> {
    let codes = codes(program);
    let said = codes.iter().any(|code| code.starts_with("E06"));
    let proved = !said && !is_unproved(program);
    // In a later launch, a race may make packets disappear.
    let launches = if codes.is_empty() { 3 } else { 1 };
    if proved && hangs_emulated(program, launches) {
        return Some("proved, but the emulator hangs".to_owned());
    }
    // Where joins are implied, there is one after each operation, and the threads of a block do the same.
    let threads = if program.joins == Joins::Explicit { 2 } else { 1 };
    let most = number("ORACLE_STATES", 1500, 20_000) as usize;
    let verdict = exhaust_threads(program, threads, 1, most);
    match &verdict {
        _ if !said && !proved => kinds.unproved += 1,
        None => kinds.large += 1,
        Some(Verdict::Deadlock { .. }) => kinds.stuck += 1,
        Some(_) => kinds.free += 1,
    }
    let stuck = matches!(verdict.as_ref()?, Verdict::Deadlock { .. });
    (stuck && proved || said && !stuck).then(|| format!("{codes:?}, in all schedules: {verdict:?}"))
}

/// Whether the emulator finds a schedule in which blocks wait forever.
fn hangs_emulated(program: &Program, launches: u32) -> bool {
    let explicit = match program.joins {
        Joins::Implied => optimize::optimize(program.clone(), Stage::Sync),
        Joins::Explicit => program.clone(),
    };
    let settings = Settings {
        chunk_bytes: [64].into(),
        element: Element::F32,
        launches,
        max_bytes: 1 << 20,
        entries: usize::MAX,
        inexact: false,
    };
    let Ok(mut trial) = Trial::new(&explicit, settings) else { panic!("it is small") };
    let mut hangs = |seed| matches!(trial.run(seed, &Interrupt::default()), Outcome::Stuck(_));
    (0..EMULATED).any(&mut hangs)
}
