//! Changes to a program that must not matter to the checker, or must not make it find more.
//!
//! In: the corpus with its mutants, and random programs. More order never adds a finding: a signal from the beginning
//! of one block to anywhere in another, a join, a flush. Renumbered ranks, blocks and channels have the same findings;
//! for races, the name of the finding may depend on which of the two accesses is met first. Copies for instances have
//! the findings of the single program.

use crate::agreement::codes;
use crate::corpus::{Form, corpus};
use crate::lot::Lot;
use crate::mutants::{Count, mutants};
use crate::{is_full, random};
use compiler::ir::{
    Action, Block, BlockId, Channel, ChannelId, ChannelKind, Link, Op, OriginId, Program, Rank,
    RankId, Signal, Transfer, Verb, Where,
};
use compiler::optimize::{self, Stage, replicate};
use compiler::table::{Id as _, Table};

/// How many random programs are tried.
fn count() -> u64 {
    if is_full() { 20_000 } else { 1000 }
}

/// A random place in a program: rank, block, and the operation that it is before.
fn spot(program: &Program, lot: &mut Lot) -> Option<(RankId, BlockId, usize)> {
    let mut below = |end: usize| lot.below(end as u32);
    let rank = RankId(below(program.ranks.len()));
    let block = BlockId(below(program.ranks[rank].blocks.len()));
    let ops = &program.ranks[rank].blocks.lookup(block)?.ops;
    Some((rank, block, below(ops.len() + 1) as usize))
}

fn insert(program: &mut Program, (rank, block, at): (RankId, BlockId, usize), action: Action) {
    let ops = &mut program.ranks[rank].blocks[block].ops;
    ops.insert(at, Op { action, origin: OriginId(0), sync: None });
}

/// Adds a channel between two ranks; returns the ids of its two ends.
fn connect(program: &mut Program, from: RankId, to: RankId) -> (ChannelId, ChannelId) {
    let row = |rank: RankId| ChannelId(program.ranks[rank].channels.len() as u32);
    let (here, there) = (row(from), row(to));
    let mut add = |rank: RankId, peer, partner| {
        program.ranks[rank].channels.push(Channel {
            name: "more".into(),
            link: Link::Memory(peer),
            partner: Some(partner),
            origin: OriginId(0),
            shared: false,
        });
    };
    add(from, to, there);
    add(to, from, here);
    (here, there)
}

/// Adds a signal at the beginning of a block and its wait anywhere in another rank; this cannot make a cycle of waits.
fn tell(program: &mut Program, lot: &mut Lot) -> bool {
    let (Some((from, block, _)), Some((to, other, at))) = (spot(program, lot), spot(program, lot))
    else {
        return false;
    };
    if from == to {
        return false;
    }
    let (here, there) = connect(program, from, to);
    let over = |id| Signal { channels: [id].into_iter().collect(), relaxed: false };
    insert(program, (from, block, 0), Action::Signal(over(here)));
    insert(program, (to, other, at), Action::Wait(over(there)));
    true
}

fn join(program: &mut Program, lot: &mut Lot) -> bool {
    let spot = spot(program, lot);
    spot.map(|spot| insert(program, spot, Action::Sync)).is_some()
}

fn flush(program: &mut Program, lot: &mut Lot) -> bool {
    let weak = |op: &Op| matches!(&op.action, Action::Transfer(transfer) if transfer.verb == Verb::PutWithSignal);
    let blocks = program.ranks.iter_mut().flat_map(|rank| rank.blocks.iter_mut());
    let mut ops: Vec<&mut Op> =
        blocks.flat_map(|block| block.ops.iter_mut()).filter(|op| weak(op)).collect();
    let which = lot.below(ops.len() as u32) as usize;
    let Some(Action::Transfer(transfer)) = ops.get_mut(which).map(|op| &mut op.action) else {
        return false;
    };
    transfer.verb = Verb::PutWithSignalAndFlush;
    true
}

/// A flush, anywhere, of a channel of the rank.
fn flush_alone(program: &mut Program, lot: &mut Lot) -> bool {
    let Some((rank, block, at)) = spot(program, lot) else { return false };
    let ends = program.ranks[rank].channels.entries();
    let ports: Vec<_> = ends.filter(|(_, end)| end.kind() == ChannelKind::Port).collect();
    let which = lot.below(ports.len().max(1) as u32) as usize;
    let Some((id, _)) = ports.get(which).copied() else { return false };
    insert(program, (rank, block, at), Action::Flush([id].into_iter().collect()));
    true
}

/// Adds order somewhere; false if that cannot be done.
type Change = fn(&mut Program, &mut Lot) -> bool;

#[test]
fn more_order_adds_no_finding() {
    let changes: [(&str, Change); 4] =
        [("signal", tell), ("join", join), ("flush", flush), ("flush alone", flush_alone)];
    let (mut surprises, mut tried) = (Vec::new(), [0; 4]);
    let mut programs: Vec<(String, Program)> = (0..count())
        .map(|i| (format!("program {i}"), random::program((1 << 33) + i, i % 16 == 0)))
        .collect();
    for form in [Form::Written, Form::Passed(1), Form::Plan] {
        programs.extend(corpus(&[2, 3], form).into_iter().map(|entry| (entry.name, entry.program)));
    }
    for (i, (name, program)) in programs.iter().enumerate() {
        if !codes(program).is_empty() {
            continue;
        }
        let mut lot = Lot(i as u64);
        for (k, (what, change)) in changes.iter().enumerate() {
            let mut more = program.clone();
            if change(&mut more, &mut lot) {
                tried[k] += 1;
                let found = codes(&more);
                surprises.extend((!found.is_empty()).then(|| format!("{name}, {what}: {found:?}")));
            }
        }
    }
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    let enough = tried.iter().zip([100, 100, 3]).all(|(count, least)| *count > least);
    assert!(enough, "{tried:?}");
}

/// A random permutation of `count` things: the new position of each.
fn order(count: usize, lot: &mut Lot) -> Vec<u32> {
    let mut left: Vec<u32> = (0..count as u32).collect();
    (0..count).map(|_| left.swap_remove(lot.below(left.len() as u32) as usize)).collect()
}

/// The rows of a table, moved to the positions that `order` gives.
fn shuffled<I: compiler::table::Id, T: Clone>(table: &Table<I, T>, order: &[u32]) -> Table<I, T> {
    let mut rows: Vec<(u32, T)> = order.iter().copied().zip(table.iter().cloned()).collect();
    rows.sort_by_key(|(to, _)| *to);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The new numbers.
struct Names {
    ranks: Vec<u32>,
    blocks: Vec<Vec<u32>>,
    channels: Vec<Vec<u32>>,
}

/// The same program with other numbers; for programs without switches and promises.
fn renamed(program: &Program, lot: &mut Lot) -> Program {
    let names = Names {
        ranks: order(program.ranks.len(), lot),
        blocks: program.ranks.iter().map(|rank| order(rank.blocks.len(), lot)).collect(),
        channels: program.ranks.iter().map(|rank| order(rank.channels.len(), lot)).collect(),
    };
    let mut program = program.clone();
    for (id, rank) in (0..).zip(program.ranks.iter_mut()) {
        names.rank(id, rank);
    }
    program.ranks = shuffled(&program.ranks, &names.ranks);
    program
}

impl Names {
    fn rank(&self, id: usize, rank: &mut Rank) {
        for channel in rank.channels.iter_mut() {
            if let (Link::Memory(peer) | Link::Port(peer), Some(partner)) =
                (&mut channel.link, &mut channel.partner)
            {
                *partner = ChannelId(self.channels[peer.index()][partner.index()]);
                *peer = RankId(self.ranks[peer.index()]);
            }
        }
        for members in rank.barriers.iter_mut() {
            for block in members.iter_mut() {
                *block = BlockId(self.blocks[id][block.index()]);
            }
            members.sort_unstable();
        }
        for block in rank.blocks.iter_mut() {
            self.block(id, block);
        }
        rank.channels = shuffled(&rank.channels, &self.channels[id]);
        rank.blocks = shuffled(&rank.blocks, &self.blocks[id]);
    }

    fn block(&self, id: usize, block: &mut Block) {
        for op in &mut block.ops {
            match &mut op.action {
                Action::Signal(Signal { channels, .. })
                | Action::Wait(Signal { channels, .. })
                | Action::Flush(channels) => self.channels(id, channels),
                Action::Transfer(transfer) => self.transfer(id, transfer),
                Action::Sync
                | Action::Barrier { .. }
                | Action::Acquire(_)
                | Action::Release(_)
                | Action::Pipeline(_) => {}
            }
        }
    }

    fn transfer(&self, id: usize, transfer: &mut Transfer) {
        self.channels(id, &mut transfer.channels);
        for operand in transfer.sources.iter_mut().chain(transfer.destinations.iter_mut()) {
            if let Where::Remote(peer) = &mut operand.place {
                *peer = RankId(self.ranks[peer.index()]);
            }
        }
    }

    fn channels(&self, id: usize, list: &mut [ChannelId]) {
        for channel in list {
            *channel = ChannelId(self.channels[id][channel.index()]);
        }
    }
}

#[test]
fn numbers_are_only_names() {
    let mut surprises = Vec::new();
    for i in 0..count() {
        let program = random::program((1 << 34) + i, i % 16 == 0);
        let other = renamed(&program, &mut Lot(i));
        let (one, two) = (codes(&program), codes(&other));
        let races = one.iter().chain(&two).any(|code| code.starts_with("E05"));
        let same = if races { one.is_empty() == two.is_empty() } else { one == two };
        surprises.extend((!same).then(|| format!("program {i}: {one:?}, {two:?}")));
    }
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
}

#[test]
fn copies_for_instances_keep_findings() {
    let passed = |program: &Program, instances: u32| {
        let mut program = program.clone();
        program.options.instances = instances;
        replicate::replicable(&program).ok()?;
        Some(optimize::optimize(program, Stage::Replicate))
    };
    let (mut surprises, mut clean, mut tried) = (Vec::new(), 0, 0);
    let stride = if is_full() { 1 } else { 7 };
    for entry in corpus(&[2, 3], Form::Written).into_iter().step_by(stride) {
        for mutant in mutants(&entry.program, Count { most: 1, rare: 1 }, 1) {
            let one = passed(&mutant.program, 1).map(|program| codes(&program));
            for instances in [2, 3] {
                let more = passed(&mutant.program, instances).map(|program| codes(&program));
                let (Some(one), Some(more)) = (&one, more) else { continue };
                tried += 1;
                clean += u32::from(one.is_empty());
                if *one != more {
                    let (name, kind, place) = (&entry.name, mutant.kind, &mutant.place);
                    surprises.push(format!(
                        "{name}, {kind} at {place}, {instances} instances: {one:?}, {more:?}"
                    ));
                }
            }
        }
    }
    assert!(surprises.is_empty(), "{} of {tried}:\n{}", surprises.len(), surprises.join("\n"));
    assert!(tried > 200 && clean > 20, "only {tried}, {clean} of them clean");
}
