//! Small changes to a program, most of which make it wrong.
//!
//! In: a program, a count and a seed. Out: for each kind of change, up to that many changed programs, chosen at random
//! among all places where the change can be made. Operands stay inside their buffers.

use crate::lot::Lot;
use compiler::ir::{
    Action, Block, BlockId, Buffer, ChannelId, ChannelKind, Joins, List, Op, Program, Rank, RankId,
    ReduceOp, SyncOverride, Transfer, Verb, Where,
};
use compiler::table::Id as _;
use std::rc::Rc;

/// A changed program.
pub(crate) struct Mutant {
    pub(crate) kind: &'static str,
    /// Where it was changed: rank, block, operation, and operation of a pipeline's body.
    pub(crate) place: String,
    pub(crate) program: Program,
}

/// The place of an operation.
#[derive(Clone, Copy, Debug)]
struct Spot {
    rank: RankId,
    block: BlockId,
    op: usize,
    inner: Option<usize>,
}

/// Makes a change at a spot; false if it cannot be made there.
type Change = dyn Fn(&mut Program, Spot) -> bool;

/// The kinds of change.
fn kinds() -> Vec<(&'static str, Rc<Change>)> {
    let mut kinds: Vec<(&'static str, Rc<Change>)> = Vec::new();
    let mut add = |name, change: Rc<Change>| kinds.push((name, change));
    for (name, verb) in [
        ("drop signal", Sort::Signal),
        ("drop wait", Sort::Wait),
        ("drop acquire", Sort::Acquire),
        ("drop release", Sort::Release),
        ("drop barrier", Sort::Barrier),
        ("drop sync", Sort::Sync),
        ("drop transfer", Sort::Transfer),
    ] {
        add(name, Rc::new(move |p, s| is(p, s, verb) && remove(p, s).is_some()));
    }
    for (name, verb) in [
        ("duplicate signal", Sort::Signal),
        ("duplicate wait", Sort::Wait),
        ("duplicate acquire", Sort::Acquire),
        ("duplicate release", Sort::Release),
        ("duplicate barrier", Sort::Barrier),
        ("duplicate transfer", Sort::Transfer),
    ] {
        add(name, Rc::new(move |p, s| is(p, s, verb) && duplicate(p, s)));
    }
    for (name, verb) in [
        ("move signal up", Sort::Signal),
        ("move wait up", Sort::Wait),
        ("move acquire up", Sort::Acquire),
        ("move release up", Sort::Release),
        ("move barrier up", Sort::Barrier),
        ("move sync up", Sort::Sync),
    ] {
        add(name, Rc::new(move |p, s| is(p, s, verb) && up(p, s)));
    }
    for (name, verb) in [
        ("move signal down", Sort::Signal),
        ("move wait down", Sort::Wait),
        ("move acquire down", Sort::Acquire),
        ("move release down", Sort::Release),
        ("move barrier down", Sort::Barrier),
        ("move sync down", Sort::Sync),
    ] {
        add(name, Rc::new(move |p, s| is(p, s, verb) && down(p, s)));
    }
    add("relax signal", Rc::new(|p, s| relax(p, s, Sort::Signal)));
    add("relax wait", Rc::new(|p, s| relax(p, s, Sort::Wait)));
    add("swap channel", Rc::new(swap_channel));
    add("drop an end", Rc::new(drop_end));
    add("no join", Rc::new(no_join));
    add("shift source", Rc::new(|p, s| shift(p, s, false)));
    add("shift destination", Rc::new(|p, s| shift(p, s, true)));
    add("widen", Rc::new(widen));
    add("other block", Rc::new(other_block));
    add("retarget", Rc::new(retarget));
    add("other operator", Rc::new(other_operator));
    add(
        "no flush",
        Rc::new(|p, s| {
            weaker(p, s, Verb::PutWithSignalAndFlush, Verb::PutWithSignal)
                || is(p, s, Sort::Flush) && remove(p, s).is_some()
        }),
    );
    add(
        "no signal",
        Rc::new(|p, s| {
            weaker(p, s, Verb::PutWithSignal, Verb::Put)
                || weaker(p, s, Verb::PutWithSignalAndFlush, Verb::Put)
        }),
    );
    add("no handshake", Rc::new(no_handshake));
    add("no handshake of a pair", Rc::new(no_handshake_of_a_pair));
    add("single scratch", Rc::new(single_scratch));
    add("half the scratch", Rc::new(half_scratch));
    add("miscount barrier", Rc::new(miscount));
    kinds
}

/// Kinds for which few programs have a place, or few mutants are wrong.
const RARE: [&str; 20] = [
    "drop acquire",
    "drop barrier",
    "drop release",
    "duplicate acquire",
    "duplicate barrier",
    "duplicate release",
    "half the scratch",
    "miscount barrier",
    "move acquire down",
    "move acquire up",
    "move barrier down",
    "move barrier up",
    "move release down",
    "move release up",
    "move signal down",
    "move wait up",
    "no flush",
    "no join",
    "no signal",
    "single scratch",
];

/// How many mutants are made of each kind.
#[derive(Clone, Copy)]
pub(crate) struct Count {
    pub(crate) most: usize,
    /// For the kinds in [`RARE`].
    pub(crate) rare: usize,
}

/// Makes the given number of mutants of each kind, or as many as there are places for.
pub(crate) fn mutants(program: &Program, count: Count, seed: u64) -> Vec<Mutant> {
    let spots = spots(program);
    let mut lot = Lot(seed);
    let mut mutants = Vec::new();
    for (kind, change) in kinds() {
        let count = if RARE.contains(&kind) { count.rare } else { count.most };
        let mut left = spots.clone();
        let mut made = 0;
        while made < count && !left.is_empty() {
            let spot = left.swap_remove(lot.next() as usize % left.len());
            let mut changed = program.clone();
            if change(&mut changed, spot) {
                made += 1;
                mutants.push(Mutant { kind, place: place(spot), program: changed });
            }
        }
    }
    mutants
}

fn place(spot: Spot) -> String {
    let inner = spot.inner.map(|inner| format!(".{inner}")).unwrap_or_default();
    format!("rank {} block {} op {}{inner}", spot.rank.0, spot.block.0, spot.op)
}

fn spots(program: &Program) -> Vec<Spot> {
    let mut spots = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for (block, body) in row.blocks.entries() {
            for (op, row) in body.ops.iter().enumerate() {
                spots.push(Spot { rank, block, op, inner: None });
                if let Action::Pipeline(pipeline) = &row.action {
                    let inner = 0..pipeline.body.len();
                    spots.extend(inner.map(|i| Spot { rank, block, op, inner: Some(i) }));
                }
            }
        }
    }
    spots
}

/// Sorts of operations.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Signal,
    Wait,
    Acquire,
    Release,
    Barrier,
    Sync,
    Transfer,
    Flush,
    Other,
}

fn sort(action: &Action) -> Sort {
    match action {
        Action::Sync => Sort::Sync,
        Action::Barrier { .. } => Sort::Barrier,
        Action::Signal(_) => Sort::Signal,
        Action::Wait(_) => Sort::Wait,
        Action::Acquire(_) => Sort::Acquire,
        Action::Release(_) => Sort::Release,
        Action::Transfer(_) => Sort::Transfer,
        Action::Flush(_) => Sort::Flush,
        Action::Pipeline(_) => Sort::Other,
    }
}

/// The list of operations that contains a spot, and the index in it.
fn list(program: &mut Program, spot: Spot) -> Option<(&mut Vec<Op>, usize)> {
    let ops = &mut program.ranks[spot.rank].blocks[spot.block].ops;
    match spot.inner {
        None => Some((ops, spot.op)),
        Some(inner) => match &mut ops[spot.op].action {
            Action::Pipeline(pipeline) => Some((&mut pipeline.body, inner)),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_) => None,
        },
    }
}

fn at(program: &mut Program, spot: Spot) -> Option<&mut Op> {
    let (ops, index) = list(program, spot)?;
    ops.get_mut(index)
}

fn transfer(program: &mut Program, spot: Spot) -> Option<&mut Transfer> {
    match &mut at(program, spot)?.action {
        Action::Transfer(transfer) => Some(transfer),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => None,
    }
}

/// The channels of a signal, a wait or a put over ports.
fn channels(program: &mut Program, spot: Spot) -> Option<&mut List<ChannelId>> {
    match &mut at(program, spot)?.action {
        Action::Signal(signal) | Action::Wait(signal) => Some(&mut signal.channels),
        Action::Transfer(transfer) => {
            Some(&mut transfer.channels).filter(|_| transfer.via == Some(ChannelKind::Port))
        }
        Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => None,
    }
}

/// One of a barrier's blocks waits for one arrival too many.
fn miscount(program: &mut Program, spot: Spot) -> bool {
    let Some(Op { action: Action::Barrier { arrivals, .. }, .. }) = at(program, spot) else {
        return false;
    };
    *arrivals += 1;
    true
}

fn is(program: &mut Program, spot: Spot, wanted: Sort) -> bool {
    at(program, spot).is_some_and(|op| sort(&op.action) == wanted)
}

fn remove(program: &mut Program, spot: Spot) -> Option<Op> {
    let (ops, index) = list(program, spot)?;
    Some(ops.remove(index))
}

/// Whether an operation goes through the switch. There, the assignment of elements to threads depends on the data type.
/// The checker does not assume a type, while this machine has one: it may say less than the checker about threads that
/// do not meet.
fn is_switch(op: &Op) -> bool {
    matches!(op.action, Action::Transfer(Transfer { via: Some(ChannelKind::Switch), .. }))
}

/// Not for operations through the switch.
fn duplicate(program: &mut Program, spot: Spot) -> bool {
    let Some((ops, index)) = list(program, spot) else { return false };
    let copy = ops[index].clone();
    if is_switch(&copy) {
        return false;
    }
    ops.insert(index, copy);
    true
}

/// Moves an operation above the one before it; a join next to it is crossed as well, because otherwise nothing would
/// change.
fn up(program: &mut Program, spot: Spot) -> bool {
    let Some((ops, mut index)) = list(program, spot) else { return false };
    let free = |op: &Op| sort(&op.action) == Sort::Sync;
    let mut crossed = false;
    while index > 0 && (!crossed || free(&ops[index - 1])) {
        crossed |= !free(&ops[index - 1]) || free(&ops[index]);
        ops.swap(index - 1, index);
        index -= 1;
    }
    crossed
}

fn down(program: &mut Program, spot: Spot) -> bool {
    let Some((ops, mut index)) = list(program, spot) else { return false };
    let free = |op: &Op| sort(&op.action) == Sort::Sync;
    let mut crossed = false;
    while index + 1 < ops.len() && (!crossed || free(&ops[index + 1])) {
        crossed |= !free(&ops[index + 1]) || free(&ops[index]);
        ops.swap(index, index + 1);
        index += 1;
    }
    crossed
}

fn relax(program: &mut Program, spot: Spot, wanted: Sort) -> bool {
    let Some(op) = at(program, spot) else { return false };
    if sort(&op.action) != wanted {
        return false;
    }
    match &mut op.action {
        Action::Signal(signal) | Action::Wait(signal) => {
            !std::mem::replace(&mut signal.relaxed, true)
        }
        Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => false,
    }
}

/// Replaces a channel by another one of the same kind that the operation does not use yet.
fn swap_channel(program: &mut Program, spot: Spot) -> bool {
    let ends = program.ranks[spot.rank].channels.clone();
    let Some(used) = channels(program, spot) else { return false };
    let turn = spot.op % used.len().max(1);
    let Some(old) = used.get(turn).copied() else { return false };
    let other = ends
        .entries()
        .map(|(id, end)| (id, end.kind()))
        .find(|(id, kind)| *kind == ends[old].kind() && !used.contains(id));
    other.is_some_and(|(id, _)| {
        used[turn] = id;
        true
    })
}

/// Removes one channel or semaphore from a list of several.
fn drop_end(program: &mut Program, spot: Spot) -> bool {
    let Some(op) = at(program, spot) else { return false };
    let turn = spot.op;
    match &mut op.action {
        Action::Signal(signal) | Action::Wait(signal) => shorten(&mut signal.channels, turn),
        Action::Acquire(list) | Action::Release(list) => shorten(list, turn),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => false,
    }
}

fn shorten<T>(list: &mut List<T>, turn: usize) -> bool {
    let long = list.len() > 1;
    if long {
        list.remove(turn % list.len());
    }
    long
}

/// If joins are implied: an annotation that suppresses the join after an operation. Not between two operations through
/// the switch.
fn no_join(program: &mut Program, spot: Spot) -> bool {
    if program.joins == Joins::Explicit {
        return false;
    }
    let Some((ops, index)) = list(program, spot) else { return false };
    let last = index + 1 == ops.len();
    let fixed = ops[index].sync.is_some() || sort(&ops[index].action) == Sort::Sync;
    if last || fixed || matches!(ops[index].action, Action::Pipeline(_)) {
        return false;
    }
    if is_switch(&ops[index]) && is_switch(&ops[index + 1]) {
        return false;
    }
    ops[index].sync = Some(SyncOverride::Before);
    true
}

fn shift(program: &mut Program, spot: Spot, destination: bool) -> bool {
    let ranks = program.ranks.clone();
    let Some(transfer) = transfer(program, spot) else { return false };
    let turn = spot.op;
    let operands = if destination { &mut transfer.destinations } else { &mut transfer.sources };
    let turn = turn % operands.len().max(1);
    let Some(operand) = operands.get_mut(turn) else { return false };
    let room = room(&ranks, spot.rank, operand.place, operand.buffer);
    if operand.index + operand.size < room {
        operand.index += 1;
    } else if operand.index > 0 {
        operand.index -= 1;
    } else {
        return false;
    }
    true
}

/// Makes all operands one chunk longer; those at the end of their buffer grow at the front.
fn widen(program: &mut Program, spot: Spot) -> bool {
    let ranks = program.ranks.clone();
    let Some(transfer) = transfer(program, spot) else { return false };
    for operand in transfer.sources.iter_mut().chain(transfer.destinations.iter_mut()) {
        let room = room(&ranks, spot.rank, operand.place, operand.buffer);
        if operand.index + operand.size < room {
            operand.size += 1;
        } else if operand.index > 0 {
            (operand.index, operand.size) = (operand.index - 1, operand.size + 1);
        } else {
            return false;
        }
    }
    true
}

/// The chunks that a buffer has on every rank of an operand.
fn room(
    ranks: &compiler::table::Table<RankId, Rank>,
    here: RankId,
    place: Where,
    buffer: Buffer,
) -> u32 {
    let of = |rank: &Rank| match buffer {
        Buffer::Input => rank.input_chunks,
        Buffer::Output => rank.output_chunks,
        Buffer::Scratch => rank.scratch_chunks,
    };
    match place {
        Where::Local => of(&ranks[here]),
        Where::Remote(peer) => of(&ranks[peer]),
        Where::Switch(_) => ranks.iter().map(of).min().unwrap_or(0),
    }
}

/// Moves an operation to the same relative position in the rank's next block; if the rank has only one block, to a new
/// one.
fn other_block(program: &mut Program, spot: Spot) -> bool {
    let plain = at(program, spot)
        .is_some_and(|op| !matches!(sort(&op.action), Sort::Barrier | Sort::Sync | Sort::Other));
    if spot.inner.is_some() || !plain {
        return false;
    }
    let before = program.ranks[spot.rank].blocks[spot.block].ops.len();
    let Some(mut op) = remove(program, spot) else { return false };
    op.sync = None;
    let blocks = &mut program.ranks[spot.rank].blocks;
    let next = BlockId((spot.block.0 + 1) % blocks.len().max(2) as u32);
    if next.index() >= blocks.len() {
        blocks.push(Block { name: "other".into(), ops: Vec::new(), origin: op.origin });
    }
    let ops = &mut blocks[next].ops;
    let place = spot.op * (ops.len() + 1) / before;
    ops.insert(place.min(ops.len()), op);
    true
}

/// Changes the peer and, if the operation names one, the channel; operands stay within the new peer's memory.
fn retarget(program: &mut Program, spot: Spot) -> bool {
    let ranks = program.ranks.clone();
    let rank = &ranks[spot.rank];
    let count = ranks.len() as u32;
    let Some(transfer) = transfer(program, spot) else { return false };
    let kind = transfer.via;
    let remote = |operand: &compiler::ir::Operand| matches!(operand.place, Where::Remote(_));
    let (sources, destinations) = (&mut transfer.sources, &mut transfer.destinations);
    let mut all = sources.iter_mut().chain(destinations.iter_mut()).filter(|o| remote(o));
    let Some(operand) = all.next() else { return false };
    let Where::Remote(old) = operand.place else { return false };
    let new = (1..count)
        .map(|step| RankId((old.0 + step) % count))
        .find(|id| *id != spot.rank && *id != old);
    let Some(new) = new else { return false };
    let channel = rank
        .channels
        .entries()
        .find(|(_, end)| Some(end.kind()) == kind && end.peer() == Some(new));
    let Some((channel, _)) = channel else { return false };
    if operand.index + operand.size > room(&ranks, spot.rank, Where::Remote(new), operand.buffer) {
        return false;
    }
    operand.place = Where::Remote(new);
    if let Some(first) = transfer.channels.first_mut() {
        *first = channel;
    }
    true
}

/// Changes the operator of a reduction.
fn other_operator(program: &mut Program, spot: Spot) -> bool {
    let Some(transfer) = transfer(program, spot) else { return false };
    let reduces = transfer.verb.reduces();
    if reduces {
        transfer.reduce = match transfer.reduce {
            ReduceOp::Sum => ReduceOp::Max,
            ReduceOp::Min => ReduceOp::Sum,
            ReduceOp::Max => ReduceOp::Min,
        };
    }
    reduces
}

fn weaker(program: &mut Program, spot: Spot, from: Verb, into: Verb) -> bool {
    let Some(transfer) = transfer(program, spot) else { return false };
    let fits = transfer.verb == from;
    if fits {
        transfer.verb = into;
    }
    fits
}

/// Removes the first signal and the first wait of a block; those of its peers stay.
fn no_handshake(program: &mut Program, spot: Spot) -> bool {
    if spot.op > 0 || spot.inner.is_some() {
        return false;
    }
    let ops = &mut program.ranks[spot.rank].blocks[spot.block].ops;
    let first = |ops: &[Op], wanted| ops.iter().position(|op| sort(&op.action) == wanted);
    let (Some(signal), Some(wait)) = (first(ops, Sort::Signal), first(ops, Sort::Wait)) else {
        return false;
    };
    ops.remove(signal.max(wait));
    ops.remove(signal.min(wait));
    true
}

/// Removes the first signals that two ranks send each other over a channel, with their waits: counts stay balanced.
fn no_handshake_of_a_pair(program: &mut Program, spot: Spot) -> bool {
    if !is(program, spot, Sort::Signal) || spot.inner.is_some() {
        return false;
    }
    let Some(channel) = channels(program, spot).and_then(|list| list.first().copied()) else {
        return false;
    };
    let end = program.ranks[spot.rank].channels[channel].clone();
    let (Some(peer), Some(partner)) = (end.peer(), end.partner) else { return false };
    strike(program, spot.rank, Sort::Signal, channel) && strike(program, peer, Sort::Wait, partner)
}

/// Removes a channel from the first operation of a sort that has it.
fn strike(program: &mut Program, rank: RankId, wanted: Sort, channel: ChannelId) -> bool {
    for block in program.ranks[rank].blocks.iter_mut() {
        for index in 0..block.ops.len() {
            let op = &mut block.ops[index];
            if sort(&op.action) != wanted {
                continue;
            }
            let (Action::Signal(signal) | Action::Wait(signal)) = &mut op.action else { continue };
            let Some(at) = signal.channels.iter().position(|id| *id == channel) else { continue };
            signal.channels.remove(at);
            if signal.channels.is_empty() {
                block.ops.remove(index);
            }
            return true;
        }
    }
    false
}

fn single_scratch(program: &mut Program, spot: Spot) -> bool {
    let first = spot.rank.0 == 0 && spot.block.0 == 0 && spot.op == 0 && spot.inner.is_none();
    first && std::mem::replace(&mut program.options.double_scratch, false)
}

/// Halves every rank's scratch: its second half becomes the first.
fn half_scratch(program: &mut Program, spot: Spot) -> bool {
    let first = spot.rank.0 == 0 && spot.block.0 == 0 && spot.op == 0 && spot.inner.is_none();
    let half = program.ranks.iter().map(|rank| rank.scratch_chunks / 2).max().unwrap_or(0);
    if !first || half == 0 {
        return false;
    }
    let mut fits = true;
    for spot in spots(program) {
        let Some(transfer) = transfer(program, spot) else { continue };
        let operands = transfer.sources.iter_mut().chain(transfer.destinations.iter_mut());
        for operand in operands.filter(|operand| operand.buffer == Buffer::Scratch) {
            operand.index %= half;
            fits &= operand.index + operand.size <= 2 * half;
        }
    }
    fits
}
