//! Which two data operations become one, and what the result looks like.
//!
//! - `put`, `put_with_signal`, `put_with_signal_and_flush`, `put_packets`, `get`: same kind of channel and size, at most 10
//!   pairs (8 of a `get`; 8 over port channels, each with a channel of its own), destinations disjoint. The executor takes
//!   the buffer of the first source for all, so the sources of `put` and `put_packets` must be in one buffer; it swaps the
//!   offsets of a `get`, so these must be equal.
//! - `put_with_signal_and_flush` waits until it is done, and whoever gets the signal of the second may rely on that for the
//!   first. So no other block may write the source of the first, and each that accesses its destination must have waited
//!   for its own signal before.
//! - `read_put_packets` of one and the same source.
//! - `d = a + b; d = d + c` becomes `d = a + b + c`, where the second reads `d` nowhere else. Both add local operands,
//!   or both read from peers, or both read packets; both are the same reduction; at most 10 sources. Not where ranks must
//!   end with the same bits: the first result is rounded, so all of them would have to be fused alike.
//! - A reduction whose result is put: the result goes to the peer as well. With packets: `put_packets` and
//!   `copy_packets` of the result, and after a `copy_packets` also `read_put_packets` of that copy.
//! - A load-reduce over a switch channel whose result is broadcast to the same cells of the group. The executor then
//!   writes no local destination, so this must be that cell on this rank, or scratch that nobody else reads.
//!
//! What one of the two writes, the other may read only element by element: the same cells, from the same start.

use crate::check::limits::BUFFERS_OF_OPERATION;
use crate::ir::memory::{self, Extent};
use crate::ir::{
    Action, BlockId, Buffer, Channel, ChannelId, ChannelKind, Op, Operand, Program, RankId,
    Transfer, Verb, Where, all_ops,
};
use crate::optimize::operands::{self, Parts, Placed};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// What a decision needs to know in addition to the two operations.
pub(super) struct Context<'a> {
    /// The program as far as it is fused.
    pub(super) program: &'a Program,
    /// Which scratch is read, and how often.
    pub(super) reads: &'a ScratchReads,
    /// Whether results must have the same bits on several ranks.
    pub(super) keeps_bits: bool,
    /// Who else accesses what flushed puts read and write.
    pub(super) flushed: &'a FlushedPuts,
    /// Where both operations are.
    pub(super) here: BlockSite,
}

/// A block of a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockSite {
    pub(super) rank: RankId,
    pub(super) block: BlockId,
}

/// One operation for two neighbors, if the executor has one that does the same.
pub(super) fn join(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    if a.slice != b.slice {
        return None;
    }
    match b.verb {
        Verb::Put => pairs(context, a, b).or_else(|| send(context, a, b)),
        Verb::PutPackets => pairs(context, a, b).or_else(|| send_packets(context, a, b)),
        Verb::Get | Verb::PutWithSignal => pairs(context, a, b),
        Verb::PutWithSignalAndFlush if context.may_be_flushed_together(a) => pairs(context, a, b),
        Verb::ReadPutPackets => fan_out(context, a, b).or_else(|| send_copy(context, a, b)),
        Verb::Reduce | Verb::ReducePackets => chain(context, a, b),
        Verb::CopyPackets => keep_packets(context, a, b),
        Verb::Broadcast => load_reduce_store(context, a, b),
        Verb::Copy | Verb::PutWithSignalAndFlush | Verb::UnpackPackets | Verb::BroadcastPackets => {
            None
        }
    }
}

fn pairs(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    let (first, second) = (operands::parts(a), operands::parts(b));
    let all: SmallVec<[(Placed, Placed); 4]> =
        operands::pairs(&first).chain(operands::pairs(&second)).collect();
    let size = all.first()?.0.operand.size;
    let fit =
        a.verb == b.verb && a.via == b.via && all.len() <= operands::pair_limit(a.verb, a.via);
    let even = all.iter().all(|(source, destination)| {
        source.operand.size == size && destination.operand.size == size
    });
    let readable = match b.verb == Verb::Get {
        true => all
            .iter()
            .all(|(source, destination)| source.operand.index == destination.operand.index),
        false => operands::same_buffer(all.iter().map(|(source, _)| source)),
    };
    let lanes = a.via != Some(ChannelKind::Port) || own_channels(&first, &second);
    if fit
        && even
        && readable
        && lanes
        && context.apart(&first.destinations, &second.destinations, b.verb)
    {
        return Some(operands::assemble(a, a.verb, &operands::unpaired(all)));
    }
    None
}

fn fan_out(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    let (mut first, second) = (operands::parts(a), operands::parts(b));
    let single = a.verb == Verb::ReadPutPackets && a.via == b.via && first.sources.len() == 1;
    let lanes = a.via != Some(ChannelKind::Port) || own_channels(&first, &second);
    let fit =
        first.destinations.len() + second.destinations.len() <= operands::pair_limit(a.verb, a.via);
    let same =
        context.same(first.sources.first()?, second.sources.first()?) && second.sources.len() == 1;
    if single
        && lanes
        && fit
        && same
        && context.apart(&first.destinations, &second.destinations, b.verb)
    {
        first.destinations.extend(second.destinations);
        return Some(operands::assemble(a, a.verb, &first));
    }
    None
}

fn chain(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    let (mut first, second) = (operands::parts(a), operands::parts(b));
    let (result, accumulator) = (only(&first.destinations)?, second.sources.first()?);
    let added = second.sources.get(1..)?;
    let alike = a.verb == b.verb && a.reduce == b.reduce && shape(&first)? == shape(&second)?;
    let accumulates =
        context.same(result, accumulator) && context.same(result, second.destinations.first()?);
    let fit = first.sources.len() + added.len() <= BUFFERS_OF_OPERATION
        && second.destinations.len() <= BUFFERS_OF_OPERATION;
    let packets = b.verb == Verb::ReducePackets;
    let unread = added.iter().all(|source| !context.touch((result, false), (source, packets)));
    if alike
        && !context.keeps_bits
        && accumulates
        && fit
        && unread
        && context.element_wise(&first, second.destinations.get(1..)?, b.verb)
    {
        first.sources.extend_from_slice(added);
        first.destinations = second.destinations;
        return Some(operands::assemble(a, a.verb, &first));
    }
    None
}

/// `reduce a, b -> d; put d -> p.x` is `reduce a, b -> d, p.x`.
fn send(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    let first = operands::parts(a);
    shape(&first)?;
    let remote = first.destinations.get(1..)?.iter().all(|placed| placed.operand.is_remote());
    if a.verb != Verb::Reduce || !remote {
        return None;
    }
    sent(context, a, b, &first, first.destinations.first()?)
}

/// `reduce_packets a, s -> d; put_packets d -> p.s` is `reduce_packets a, s -> d, p.s`.
fn send_packets(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    let first = operands::parts(a);
    if a.verb != Verb::ReducePackets {
        return None;
    }
    sent(context, a, b, &first, first.destinations.first()?)
}

/// `reduce_packets a, s -> d, t; read_put_packets t -> p.s` is `reduce_packets a, s -> d, t, p.s`.
fn send_copy(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    let first = operands::parts(a);
    let copy = first.destinations.get(1).filter(|placed| placed.operand.is_local())?;
    if a.verb != Verb::ReducePackets {
        return None;
    }
    sent(context, a, b, &first, copy)
}

/// The first operation with the second's destinations, if all that the second reads is `result`.
fn sent(
    context: &Context,
    a: &Transfer,
    b: &Transfer,
    first: &Parts,
    result: &Placed,
) -> Option<Transfer> {
    let second = operands::parts(b);
    let fit = first.destinations.len() + second.destinations.len() <= BUFFERS_OF_OPERATION;
    let reads = second.sources.iter().all(|source| context.same(source, result));
    let apart = context.apart(&first.destinations, &second.destinations, a.verb);
    if b.via != Some(ChannelKind::Memory) || first.sources.len() < 2 || !fit || !reads || !apart {
        return None;
    }
    if !context.element_wise(first, &second.destinations, a.verb) {
        return None;
    }
    let mut joined = first.clone();
    joined.destinations.extend(second.destinations);
    Some(operands::assemble(&Transfer { via: b.via, ..a.clone() }, a.verb, &joined))
}

/// `reduce_packets a, s -> d; copy_packets d -> t` is `reduce_packets a, s -> d, t`.
fn keep_packets(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    let (mut first, second) = (operands::parts(a), operands::parts(b));
    let (result, source, copy) =
        (*only(&first.destinations)?, only(&second.sources)?, *only(&second.destinations)?);
    let fresh = first
        .sources
        .iter()
        .enumerate()
        .all(|(i, read)| !context.touch((read, i > 0), (&copy, true)));
    if a.verb != Verb::ReducePackets || !context.same(&result, source) || !fresh {
        return None;
    }
    if context.touch((&result, false), (&copy, true)) {
        return None;
    }
    first.destinations.push(copy);
    Some(operands::assemble(a, a.verb, &first))
}

fn load_reduce_store(context: &Context, a: &Transfer, b: &Transfer) -> Option<Transfer> {
    let (first, second) = (operands::parts(a), operands::parts(b));
    let (loaded, result) = (only(&first.sources)?, only(&first.destinations)?);
    let (source, stored) = (only(&second.sources)?, only(&second.destinations)?);
    let switch = |placed: &Placed| placed.operand.is_switch();
    if a.verb != Verb::Reduce || !switch(loaded) || !switch(stored) || !context.same(result, source)
    {
        return None;
    }
    let same_cells = loaded.operand == stored.operand && loaded.channel == stored.channel;
    let own_cell =
        Placed { operand: Operand { place: Where::Local, ..stored.operand }, channel: None };
    if same_cells
        && (context.same(result, &own_cell) || context.reads.once(context, &result.operand))
    {
        return Some(operands::assemble(
            a,
            Verb::Reduce,
            &Parts { sources: first.sources, ..second },
        ));
    }
    None
}

/// Where the operands are that a reduction adds to its first, local source.
#[derive(PartialEq)]
enum Addends {
    Local,
    Remote,
}

fn shape(parts: &Parts) -> Option<Addends> {
    let (first, rest) = parts.sources.split_first()?;
    if !first.operand.is_local() || rest.is_empty() {
        return None;
    }
    if rest.iter().all(|placed| placed.operand.is_local()) {
        return Some(Addends::Local);
    }
    rest.iter().all(|placed| placed.operand.is_remote()).then_some(Addends::Remote)
}

fn only(list: &[Placed]) -> Option<&Placed> {
    if list.len() == 1 { list.first() } else { None }
}

fn own_channels(first: &Parts, second: &Parts) -> bool {
    let used =
        |placed: &Placed| first.destinations.iter().any(|other| other.channel == placed.channel);
    !second.destinations.iter().any(used)
}

impl Context<'_> {
    fn extents(&self, placed: &Placed, packets: bool) -> SmallVec<[Extent; 2]> {
        memory::cells(&self.program.ranks, self.here.rank, placed.operand, packets).collect()
    }

    /// Whether both are the same cells of this rank.
    fn same(&self, a: &Placed, b: &Placed) -> bool {
        let local = a.operand.is_local() && b.operand.is_local();
        local && self.extents(a, false) == self.extents(b, false)
    }

    /// Whether the two have a cell in common; the flags say whether they are packets.
    fn touch(&self, (a, a_packets): (&Placed, bool), (b, b_packets): (&Placed, bool)) -> bool {
        let others = self.extents(b, b_packets);
        self.extents(a, a_packets)
            .iter()
            .any(|extent| others.iter().any(|other| extent.overlaps(other)))
    }

    /// Whether no destination of one touches one of the other.
    fn apart(&self, a: &[Placed], b: &[Placed], verb: Verb) -> bool {
        let packets = memory::writes_packets(verb, 1);
        b.iter().all(|new| {
            a.iter()
                .enumerate()
                .all(|(i, old)| !self.touch((old, memory::writes_packets(verb, i)), (new, packets)))
        })
    }

    /// Whether nobody relies on that the next put waits until this one is done: no other block writes what it reads, and each
    /// that accesses what it writes has waited for its own signal before.
    fn may_be_flushed_together(&self, transfer: &Transfer) -> bool {
        let here = KnownWriters::One(self.here);
        memory::accesses(transfer).all(|access| {
            chunks(self.program, self.here.rank, access.operand).all(|cell| {
                if access.write {
                    !self.flushed.accessed_without_wait.contains(&cell)
                } else {
                    self.flushed.writers.get(&cell).is_none_or(|known| *known == here)
                }
            })
        })
    }

    /// Whether `written` overlaps the reduction's sources, if at all, only element by element.
    fn element_wise(&self, reduction: &Parts, written: &[Placed], verb: Verb) -> bool {
        let packets = memory::writes_packets(verb, 1);
        written.iter().all(|new| {
            reduction.sources.iter().enumerate().all(|(i, read)| {
                let read_packets = memory::reads_packets(verb, i);
                !self.touch((read, read_packets), (new, packets))
                    || (read_packets == packets
                        && self.extents(read, packets) == self.extents(new, packets))
            })
        })
    }
}

/// Who else accesses what puts read and write that wait until they are done. Empty where there are no such puts.
#[derive(Default)]
pub(super) struct FlushedPuts {
    writers: FxHashMap<Cell, KnownWriters>,
    /// What such a put writes and another block accesses that has not waited for its signal before.
    accessed_without_wait: FxHashSet<Cell>,
}

/// A chunk of a rank's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Cell {
    rank: RankId,
    buffer: Buffer,
    at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownWriters {
    One(BlockSite),
    Several,
}

/// A put that waits until it is done: where it is, and the end of its channel where its signal arrives.
#[derive(Clone, Copy)]
struct FlushedPut {
    from: BlockSite,
    signal: Option<ChannelId>,
}

impl FlushedPuts {
    pub(super) fn of(program: &Program) -> FlushedPuts {
        let mut found = FlushedPuts::default();
        let puts = flushed_puts(program);
        if puts.is_empty() {
            return found;
        }
        for (rank, here) in program.ranks.entries() {
            for (block, ops) in here.blocks.entries() {
                let mut waited: FxHashSet<ChannelId> = FxHashSet::default();
                for op in all_ops(&ops.ops) {
                    if let Action::Wait(wait) = &op.action {
                        waited.extend(wait.channels.iter().copied());
                    }
                    let site = BlockSite { rank, block };
                    for access in op.transfer().into_iter().flat_map(memory::accesses) {
                        for cell in chunks(program, rank, access.operand) {
                            if access.write {
                                found.add_writer(cell, site);
                            }
                            let mut puts = puts.get(&cell).into_iter().flatten();
                            let is_unheard = |put: &FlushedPut| {
                                put.from != site
                                    && put.signal.is_none_or(|end| !waited.contains(&end))
                            };
                            if puts.any(is_unheard) {
                                found.accessed_without_wait.insert(cell);
                            }
                        }
                    }
                }
            }
        }
        found
    }

    fn add_writer(&mut self, cell: Cell, site: BlockSite) {
        let one = KnownWriters::One(site);
        let known = self.writers.entry(cell).or_insert(one);
        if *known != one {
            *known = KnownWriters::Several;
        }
    }
}

/// The puts that wait until they are done, by what they write.
fn flushed_puts(program: &Program) -> FxHashMap<Cell, SmallVec<[FlushedPut; 1]>> {
    let mut puts: FxHashMap<Cell, SmallVec<[FlushedPut; 1]>> = FxHashMap::default();
    for (rank, here) in program.ranks.entries() {
        for (block, ops) in here.blocks.entries() {
            let transfers = all_ops(&ops.ops).filter_map(Op::transfer);
            for transfer in transfers.filter(|one| one.verb.flushes()) {
                for placed in operands::parts(transfer).destinations {
                    let channel = placed.channel.and_then(|id| here.channels.lookup(id));
                    let signal = channel.and_then(|channel| channel.partner);
                    let put = FlushedPut { from: BlockSite { rank, block }, signal };
                    for cell in chunks(program, rank, placed.operand) {
                        puts.entry(cell).or_default().push(put);
                    }
                }
            }
        }
    }
    puts
}

/// The chunks of an operand, whether these are packets or not.
fn chunks(program: &Program, rank: RankId, operand: Operand) -> impl Iterator<Item = Cell> {
    memory::cells(&program.ranks, rank, operand, false).flat_map(|extent| {
        let Extent { rank, buffer, .. } = extent;
        (extent.start..extent.end).map(move |at| Cell { rank, buffer, at })
    })
}

/// Which scratch is read, and how often: enough to know what is read once only.
#[derive(Default)]
pub(super) struct ScratchReads {
    starts: Vec<(RankId, u64)>,
    ends: Vec<(RankId, u64)>,
}

impl ScratchReads {
    /// Collects them, where the program has switch channels at all.
    pub(super) fn of(program: &Program) -> ScratchReads {
        let mut reads = ScratchReads::default();
        let switch = |channel: &Channel| channel.kind() == ChannelKind::Switch;
        if !program.ranks.iter().any(|rank| rank.channels.iter().any(switch)) {
            return reads;
        }
        for (id, rank) in program.ranks.entries() {
            let transfers = rank.all_ops().filter_map(Op::transfer);
            transfers.for_each(|transfer| reads.add(program, id, transfer));
        }
        reads.starts.sort_unstable();
        reads.ends.sort_unstable();
        reads
    }

    fn add(&mut self, program: &Program, rank: RankId, transfer: &Transfer) {
        for access in
            memory::accesses(transfer).filter(|a| !a.write && a.operand.buffer == Buffer::Scratch)
        {
            for extent in memory::cells(&program.ranks, rank, access.operand, access.packets) {
                self.starts.push((extent.rank, extent.start));
                self.ends.push((extent.rank, extent.end));
            }
        }
    }

    /// Whether this is scratch that is read exactly once: of all reads, one begins before the range's
    /// end and does not end before the range starts.
    fn once(&self, context: &Context, operand: &Operand) -> bool {
        let (rank, start) = (context.here.rank, u64::from(operand.index));
        let end = start + u64::from(operand.size);
        let before =
            |list: &[(RankId, u64)], at: u64| list.partition_point(|entry| *entry < (rank, at));
        let ended = self.ends.partition_point(|entry| *entry <= (rank, start));
        operand.buffer == Buffer::Scratch && before(&self.starts, end) - ended == 1
    }
}
