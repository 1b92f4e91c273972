//! A program as the executor's kernel sees it: each thread block is a list of instructions, and each thread has its
//! elements.
//!
//! In: an `ir::Program` and a [`Size`]. Out: [`Code`], or the operation that leaves its buffer.
//!
//! - Memory consists of cells of 8 bytes, the payload of one packet; a packet takes two cells. An element of a plain
//!   operation is 16 bytes. Element i of an operation, a slice or a window belongs to thread `i % threads`.
//! - Entry k of a synchronizing operation and pair k of a put over ports belong to thread k.
//! - Pipelines are unrolled. Every operation is first restricted to its slice, then to its window.
//! - With two halves of scratch, launches alternate between them, but plain accesses to a peer's scratch and plain
//!   puts over ports use only the first half, as in the kernel.
//! - `flush` is left out: the executor does nothing for it.

use compiler::ir::{
    Action, Alias, Buffer, ChannelId, ChannelKind, Joins, Link, Op, Operand, Pipeline, Program,
    Protocol, Rank, RankId, ReduceOp, Signal, Slice, SyncOverride, Transfer, Verb, Where,
};
use compiler::table::Id as _;

/// The size of the message, and the number of threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// The smallest number of threads of a block; there are at least as many as the longest list of channels or
    /// semaphores needs.
    pub(crate) threads: usize,
    /// Elements in the smallest window, or in a chunk if there are no pipelines.
    pub(crate) unit: u32,
    /// Further elements in a chunk.
    pub(crate) odd: u32,
    /// How many windows a chunk has in the pipelines with the largest unit; with 1, a message goes through every
    /// pipeline in a single turn.
    pub(crate) windows: u32,
}

/// The instructions of all ranks.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) threads: usize,
    /// Cells in a chunk.
    pub(crate) chunk: u32,
    pub(crate) cells: usize,
    pub(crate) ranks: Vec<RankCode>,
    pub(crate) blocks: Vec<BlockCode>,
    /// All ends of channels, of all ranks.
    pub(crate) channels: Vec<End>,
    /// The initial values of all semaphores, of all ranks.
    pub(crate) semaphores: Vec<i64>,
    pub(crate) barriers: usize,
    pub(crate) doubled: bool,
    /// Whether any packet is written or read.
    pub(crate) packets: bool,
}

/// Where a rank's rows begin in the tables of all ranks.
#[derive(Debug)]
pub(crate) struct RankCode {
    pub(crate) blocks: std::ops::Range<usize>,
    pub(crate) channels: usize,
    pub(crate) semaphores: usize,
    pub(crate) barriers: usize,
    pub(crate) memory: Layout,
}

/// One end of a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) rank: usize,
    pub(crate) partner: Option<usize>,
    pub(crate) port: bool,
}

/// A thread block.
#[derive(Debug)]
pub(crate) struct BlockCode {
    pub(crate) rank: usize,
    pub(crate) steps: Vec<Step>,
}

/// An instruction, and the operation that it comes from.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) instr: Instr,
    pub(crate) at: At,
}

/// An operation's place in its block: its index and, in a pipeline, its index in the body and the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct At {
    pub(crate) op: u32,
    pub(crate) inner: Option<(u32, u32)>,
}

/// What the threads of a block do.
#[derive(Debug)]
pub(crate) enum Instr {
    Join,
    Barrier { id: usize, arrivals: u32 },
    Signal { channels: Vec<usize>, relaxed: bool },
    Wait { channels: Vec<usize>, relaxed: bool },
    Acquire(Vec<usize>),
    Release(Vec<usize>),
    Move(Vec<Lane>),
    Push(Vec<Push>),
}

/// Elements that are read, combined and written, one after the other.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) elements: u32,
    /// Cells of an element: two, or one if the operation uses packets or a switch.
    pub(crate) width: u32,
    pub(crate) reads: Vec<Place>,
    pub(crate) writes: Vec<Place>,
    pub(crate) reduce: ReduceOp,
}

/// Where the elements of an operand are: on one rank, or on every rank of a switch's group.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) starts: Vec<Start>,
    pub(crate) packet: bool,
}

/// The first cell, and its distance to the one used in launches that use the second half of scratch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) cell: usize,
    pub(crate) half: usize,
}

/// A request to a port channel's proxy.
#[derive(Clone, Debug)]
pub(crate) struct Push {
    pub(crate) channel: usize,
    /// Source, destination and number of cells; none for a signal alone.
    pub(crate) put: Option<(Start, Start, usize)>,
    /// Whether packets are moved unchanged.
    pub(crate) raw: bool,
    /// Whether the block has seen the packets before.
    pub(crate) observed: bool,
    pub(crate) signal: bool,
    pub(crate) flush: bool,
}

/// A rank's cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) input: (usize, usize),
    pub(crate) output: (usize, usize),
    /// Both halves.
    pub(crate) scratch: (usize, usize),
    /// Cells of one half; 0 if there is only one.
    pub(crate) half: usize,
    alias: Option<Alias>,
    chunk: usize,
}

/// The most elements in a chunk.
const MOST_ELEMENTS: u64 = 96;

/// An operation that leaves its buffer, so that there is no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutOfBounds {
    pub(crate) rank: usize,
    pub(crate) block: usize,
    pub(crate) at: At,
}

/// Translates a program.
pub(crate) fn code(program: &Program, size: Size) -> Result<Code, OutOfBounds> {
    let mut maker = Maker::new(program, size);
    for (id, rank) in program.ranks.entries() {
        maker.rank(id, rank)?;
    }
    Ok(maker.code)
}

/// Visits every operation with its place, including those in pipelines (for the first turn).
pub(crate) fn each_op(ops: &[Op], visit: &mut dyn FnMut(At, &Op)) {
    for (i, op) in ops.iter().enumerate() {
        visit(At { op: i as u32, inner: None }, op);
        if let Action::Pipeline(pipeline) = &op.action {
            for (k, inner) in pipeline.body.iter().enumerate() {
                visit(At { op: i as u32, inner: Some((k as u32, 0)) }, inner);
            }
        }
    }
}

fn each_program_op(program: &Program, visit: &mut dyn FnMut(&Op)) {
    for rank in &program.ranks {
        for block in &rank.blocks {
            each_op(&block.ops, &mut |_, op| visit(op));
        }
    }
}

struct Maker<'a> {
    program: &'a Program,
    code: Code,
    /// Elements in a chunk.
    chunk: u32,
    /// How many bytes of a pipeline's unit correspond to one `unit` of the size, and that `unit` in elements.
    window: (u64, u32),
}

/// The part of its operands that an operation covers.
#[derive(Clone, Copy)]
struct Cut {
    slice: Option<Slice>,
    /// The first element, and the most elements.
    window: Option<(u64, u64)>,
}

impl<'a> Maker<'a> {
    fn new(program: &'a Program, size: Size) -> Maker<'a> {
        let (least, common) = units(program);
        let (window, turns) = match common {
            0 => ((1, size.unit), 1),
            _ => ((least, size.unit), u64::from(size.windows.max(2)) * common / least),
        };
        let mut threads = size.threads;
        let mut packets = program.options.protocol == Protocol::Ll;
        let mut slices = 0;
        each_program_op(program, &mut |op| {
            threads = threads.max(entries(&op.action));
            packets |= uses_packets(&op.action);
            slices = slices.max(count(&op.action));
        });
        // Each block of a group gets elements for two threads.
        let chunk = (turns * u64::from(size.unit)).min(MOST_ELEMENTS) as u32;
        let mut chunk = chunk.max(2 * slices) + size.odd;
        if size.threads > 2 {
            threads = prime(threads + 1);
        }
        // The same element of neighboring chunks belongs to different threads.
        while (common == 0 || size.windows == 1) && gcd(u64::from(chunk), threads as u64) != 1 {
            chunk += 1;
        }
        let code = Code {
            threads,
            chunk: 2 * chunk,
            cells: 0,
            ranks: Vec::new(),
            blocks: Vec::new(),
            channels: Vec::new(),
            semaphores: Vec::new(),
            barriers: 0,
            doubled: program.options.double_scratch,
            packets,
        };
        let window = if size.windows == 1 { (least.max(1), u32::MAX) } else { window };
        let mut maker = Maker { program, code, chunk, window };
        maker.tables();
        maker
    }

    fn tables(&mut self) {
        let firsts: Vec<usize> = self
            .program
            .ranks
            .iter()
            .scan(0, |sum, rank| {
                *sum += rank.channels.len();
                Some(*sum - rank.channels.len())
            })
            .collect();
        for (id, rank) in self.program.ranks.entries() {
            let ends = rank.channels.iter().map(|channel| End {
                rank: id.index(),
                partner: match (channel.peer(), channel.partner) {
                    (Some(peer), Some(partner)) => {
                        firsts.get(peer.index()).map(|first| first + partner.index())
                    }
                    (_, _) => None,
                },
                port: channel.kind() == ChannelKind::Port,
            });
            let ends: Vec<End> = ends.collect();
            let memory = self.layout(rank);
            let code = &mut self.code;
            code.ranks.push(RankCode {
                blocks: 0..0,
                channels: code.channels.len(),
                semaphores: code.semaphores.len(),
                barriers: code.barriers,
                memory,
            });
            code.channels.extend(ends);
            code.semaphores.extend(rank.semaphores.iter().map(|semaphore| semaphore.initial));
            code.barriers += rank.barriers.len();
        }
    }

    fn layout(&mut self, rank: &Rank) -> Layout {
        let chunk = self.code.chunk as usize;
        let mut take = |cells: usize| {
            self.code.cells += cells;
            (self.code.cells - cells, cells)
        };
        let held = |buffer| rank.alias.is_none_or(|alias| alias.inner != buffer);
        let room = |buffer, chunks: u32| if held(buffer) { chunks as usize * chunk } else { 0 };
        let input = take(room(Buffer::Input, rank.input_chunks));
        let output = take(room(Buffer::Output, rank.output_chunks));
        let packets = if self.code.packets { 2 } else { 1 };
        let half = rank.scratch_chunks as usize * chunk * packets;
        let scratch = take(if self.code.doubled { 2 * half } else { half });
        let half = if self.code.doubled { half } else { 0 };
        Layout { input, output, scratch, half, alias: rank.alias, chunk }
    }

    fn rank(&mut self, id: RankId, rank: &Rank) -> Result<(), OutOfBounds> {
        let first = self.code.blocks.len();
        for block in &rank.blocks {
            let mut steps = Vec::new();
            self.ops(id, &block.ops, &mut steps).map_err(|at| OutOfBounds {
                rank: id.index(),
                block: self.code.blocks.len() - first,
                at,
            })?;
            self.code.blocks.push(BlockCode { rank: id.index(), steps });
        }
        self.code.ranks[id.index()].blocks = first..self.code.blocks.len();
        Ok(())
    }

    fn ops(&self, rank: RankId, ops: &[Op], steps: &mut Vec<Step>) -> Result<(), At> {
        let mut before = None;
        for (i, op) in ops.iter().enumerate() {
            let at = At { op: i as u32, inner: None };
            if let Action::Pipeline(pipeline) = &op.action {
                self.pipeline(rank, (pipeline, before), at, steps)?;
                before = pipeline.body.last().or(before);
                continue;
            }
            self.join(before, Some(op), at, steps);
            before = Some(op);
            match &op.action {
                Action::Pipeline(_)
                | Action::Sync
                | Action::Barrier { .. }
                | Action::Signal(_)
                | Action::Wait(_)
                | Action::Flush(_)
                | Action::Acquire(_)
                | Action::Release(_)
                | Action::Transfer(_) => self.op(rank, &op.action, at, None, steps)?,
            }
        }
        if self.program.joins == Joins::Implied && asks(before, SyncOverride::After) {
            let at = At { op: ops.len() as u32 - 1, inner: None };
            steps.push(Step { instr: Instr::Join, at });
        }
        Ok(())
    }

    fn pipeline(
        &self,
        rank: RankId,
        (pipeline, outside): (&Pipeline, Option<&Op>),
        at: At,
        steps: &mut Vec<Step>,
    ) -> Result<(), At> {
        let width = u64::from(self.window.1) * pipeline.unit / self.window.0;
        let covered = u64::from(pipeline.chunks) * u64::from(self.chunk);
        let turns = covered.div_ceil(width.max(1));
        for turn in 0..turns {
            for (k, op) in pipeline.body.iter().enumerate() {
                let at = At { inner: Some((k as u32, turn as u32)), ..at };
                let before = match k.checked_sub(1) {
                    Some(k) => pipeline.body.get(k),
                    None if turn > 0 => pipeline.body.last(),
                    None => outside,
                };
                self.join(before, Some(op), at, steps);
                self.op(rank, &op.action, at, Some((turn * width, width)), steps)?;
            }
        }
        Ok(())
    }

    /// If joins are implied, adds the one between two operations.
    fn join(&self, before: Option<&Op>, after: Option<&Op>, at: At, steps: &mut Vec<Step>) {
        if self.program.joins == Joins::Explicit {
            return;
        }
        let asked = asks(before, SyncOverride::After) || asks(after, SyncOverride::Before);
        let closed = |op: Option<&Op>, not: SyncOverride| {
            op.and_then(|op| op.sync).is_some_and(|sync| sync == not || sync == SyncOverride::None)
        };
        let open = before.is_some()
            && self.program.options.auto_sync
            && !closed(before, SyncOverride::Before)
            && !closed(after, SyncOverride::After);
        if asked || open {
            steps.push(Step { instr: Instr::Join, at });
        }
    }

    fn op(
        &self,
        rank: RankId,
        action: &Action,
        at: At,
        window: Option<(u64, u64)>,
        steps: &mut Vec<Step>,
    ) -> Result<(), At> {
        let tables = &self.code.ranks[rank.index()];
        let channel = |id: &ChannelId| tables.channels + id.index();
        let mut push = |instr| steps.push(Step { instr, at });
        match action {
            Action::Sync => push(Instr::Join),
            Action::Barrier { id, arrivals } => {
                push(Instr::Join);
                push(Instr::Barrier { id: tables.barriers + id.index(), arrivals: *arrivals });
            }
            Action::Signal(signal) => push(self.signal(rank, signal)),
            Action::Wait(signal) => push(Instr::Wait {
                channels: signal.channels.iter().map(channel).collect(),
                relaxed: signal.relaxed && !self.over_port(rank, signal),
            }),
            Action::Flush(_) | Action::Pipeline(_) => {}
            Action::Acquire(list) => {
                push(Instr::Acquire(list.iter().map(|id| tables.semaphores + id.index()).collect()))
            }
            Action::Release(list) => {
                push(Instr::Release(list.iter().map(|id| tables.semaphores + id.index()).collect()))
            }
            Action::Transfer(transfer) => {
                let cut = Cut { slice: transfer.slice, window };
                for instr in self.transfer(rank, transfer, cut).ok_or(at)? {
                    push(instr);
                }
            }
        }
        Ok(())
    }

    fn over_port(&self, rank: RankId, signal: &Signal) -> bool {
        let first = signal.channels.first().and_then(|id| {
            self.program.ranks.lookup(rank).and_then(|rank| rank.channels.lookup(*id))
        });
        first.is_some_and(|channel| channel.kind() == ChannelKind::Port)
    }

    fn signal(&self, rank: RankId, signal: &Signal) -> Instr {
        let first = self.code.ranks[rank.index()].channels;
        let channels = signal.channels.iter().map(|id| first + id.index());
        if !self.over_port(rank, signal) {
            return Instr::Signal { channels: channels.collect(), relaxed: signal.relaxed };
        }
        let push = |channel| Push {
            channel,
            put: None,
            raw: false,
            observed: false,
            signal: true,
            flush: false,
        };
        Instr::Push(channels.map(push).collect())
    }

    fn transfer(&self, rank: RankId, t: &Transfer, cut: Cut) -> Option<Vec<Instr>> {
        if t.via == Some(ChannelKind::Port) {
            return self.pushes(rank, t, cut);
        }
        let combine = matches!(t.verb, Verb::Reduce | Verb::ReducePackets);
        let mut lanes = Vec::new();
        match t.verb {
            Verb::Reduce | Verb::ReducePackets => lanes.push(self.reduction(rank, t, cut)?),
            Verb::ReadPutPackets | Verb::BroadcastPackets if t.sources.len() == 1 => {
                lanes.push(self.reduction(rank, t, cut)?);
            }
            Verb::Copy
            | Verb::Put
            | Verb::PutWithSignal
            | Verb::PutWithSignalAndFlush
            | Verb::Get
            | Verb::Broadcast
            | Verb::PutPackets
            | Verb::ReadPutPackets
            | Verb::CopyPackets
            | Verb::UnpackPackets
            | Verb::BroadcastPackets => {
                for (k, destination) in t.destinations.iter().enumerate() {
                    let source = t.sources.get(k).or(t.sources.first())?;
                    lanes.push(self.lane(rank, t, cut, &[*source], &[*destination])?);
                }
            }
        }
        debug_assert!(!combine || lanes.len() == 1);
        Some(vec![Instr::Move(lanes)])
    }

    fn reduction(&self, rank: RankId, t: &Transfer, cut: Cut) -> Option<Lane> {
        self.lane(rank, t, cut, &t.sources, &t.destinations)
    }

    fn lane(
        &self,
        rank: RankId,
        t: &Transfer,
        cut: Cut,
        sources: &[Operand],
        destinations: &[Operand],
    ) -> Option<Lane> {
        let payloads = has_payloads(t.verb);
        // Through the switch, integers have elements of 4 bytes, which belong to other threads than elements of 16.
        let mut all = sources.iter().chain(destinations);
        let switch = all.any(|operand| matches!(operand.place, Where::Switch(_)));
        let width = if payloads || switch { 1 } else { 2 };
        let whole = destinations.first()?.size;
        let range = self.range(whole, payloads, cut)?;
        let place = |operand: &Operand, packet: bool| {
            self.place(rank, operand, packet, &range, operand.size == whole)
        };
        let mut reads: Vec<(bool, Place)> = Vec::new();
        for (i, operand) in sources.iter().enumerate() {
            let packet = reads_packets(t.verb, i);
            reads.push((packet, place(operand, packet)?));
        }
        // The kernel waits for an element's packets before it reads plain memory.
        reads.sort_by_key(|(packet, _)| !packet);
        let mut writes = Vec::new();
        for (i, operand) in destinations.iter().enumerate() {
            writes.push(place(operand, writes_packets(t.verb, i))?);
        }
        Some(Lane {
            elements: ((range.end - range.start) / u64::from(width)) as u32,
            width,
            reads: reads.into_iter().map(|(_, place)| place).collect(),
            writes,
            reduce: t.reduce,
        })
    }

    fn pushes(&self, rank: RankId, t: &Transfer, cut: Cut) -> Option<Vec<Instr>> {
        let raw = has_payloads(t.verb);
        let first = self.code.ranks[rank.index()].channels;
        let mut pushes = Vec::new();
        let mut reads = Vec::new();
        for (k, destination) in t.destinations.iter().enumerate() {
            let source = t.sources.get(k).or(t.sources.first())?;
            let range = self.range(destination.size, raw, cut)?;
            let same = source.size == destination.size;
            let from = self.place(rank, source, raw, &range, same)?;
            let into = self.place(rank, destination, raw, &range, true)?;
            let cells = (range.end - range.start) as usize * if raw { 2 } else { 1 };
            let mut put = (*from.starts.first()?, *into.starts.first()?, cells);
            if !raw {
                // A plain put always addresses the first half of scratch.
                (put.0.half, put.1.half) = (0, 0);
            }
            pushes.push(Push {
                channel: first + t.channels.get(k)?.index(),
                put: Some(put),
                raw,
                observed: t.verb == Verb::ReadPutPackets,
                signal: matches!(t.verb, Verb::PutWithSignal | Verb::PutWithSignalAndFlush),
                flush: t.verb == Verb::PutWithSignalAndFlush,
            });
            if t.verb == Verb::ReadPutPackets && (k == 0 || t.sources.len() > 1) {
                reads.push(Lane {
                    elements: (range.end - range.start) as u32,
                    width: 1,
                    reads: vec![from],
                    writes: Vec::new(),
                    reduce: t.reduce,
                });
            }
        }
        if reads.is_empty() {
            return Some(vec![Instr::Push(pushes)]);
        }
        Some(vec![Instr::Move(reads), Instr::Join, Instr::Push(pushes)])
    }

    /// The cells of an operand of `size` chunks that an operation covers, relative to the operand's first cell. None
    /// if the window begins after its end.
    fn range(&self, size: u32, payloads: bool, cut: Cut) -> Option<std::ops::Range<u64>> {
        let all = u64::from(size) * u64::from(self.chunk);
        let mut range = 0..all;
        if let Some(slice) = cut.slice {
            let (i, n) = (u64::from(slice.index), u64::from(slice.count.max(1)));
            let begin = |i: u64| i * (all / n) + i.min(all % n);
            range = begin(i)..begin(i + 1);
        }
        if let Some((start, length)) = cut.window.filter(|_| !payloads) {
            if start > range.end - range.start {
                return None;
            }
            let start = range.start + start;
            range = start..range.end.min(start + length);
        }
        Some(2 * range.start..2 * range.end)
    }

    fn place(
        &self,
        here: RankId,
        operand: &Operand,
        packet: bool,
        range: &std::ops::Range<u64>,
        sized: bool,
    ) -> Option<Place> {
        if !sized {
            return None;
        }
        let mut starts = Vec::new();
        for rank in self.ranks(here, operand)? {
            let local = matches!(operand.place, Where::Local);
            let layout = &self.code.ranks.get(rank)?.memory;
            let factor = if packet { 2 } else { 1 };
            let (buffer, from) = layout.home(operand.buffer, operand.index as usize);
            let (base, room) = layout.room(buffer);
            let (start, end) = (from + range.start as usize, from + range.end as usize);
            if end * factor > room {
                return None;
            }
            let half = if buffer == Buffer::Scratch && (local || packet) { layout.half } else { 0 };
            starts.push(Start { cell: base + start * factor, half });
        }
        Some(Place { starts, packet })
    }

    fn ranks(&self, here: RankId, operand: &Operand) -> Option<Vec<usize>> {
        match operand.place {
            Where::Local => Some(vec![here.index()]),
            Where::Remote(peer) => Some(vec![peer.index()]),
            Where::Switch(channel) => {
                match &self.program.ranks.lookup(here)?.channels.lookup(channel)?.link {
                    Link::Switch(group) => Some(group.ranks.iter().map(|id| id.index()).collect()),
                    Link::Memory(_) | Link::Port(_) => None,
                }
            }
        }
    }
}

impl Layout {
    /// The buffer that holds a chunk, and the chunk's first cell there.
    pub(crate) fn home(&self, buffer: Buffer, chunk: usize) -> (Buffer, usize) {
        match self.alias {
            Some(alias) if alias.inner == buffer => {
                (alias.outer, (alias.offset as usize + chunk) * self.chunk)
            }
            Some(_) | None => (buffer, chunk * self.chunk),
        }
    }

    /// A buffer's first cell, and how many cells an access may reach.
    fn room(&self, buffer: Buffer) -> (usize, usize) {
        match buffer {
            Buffer::Input => self.input,
            Buffer::Output => self.output,
            Buffer::Scratch if self.half > 0 => (self.scratch.0, self.half),
            Buffer::Scratch => self.scratch,
        }
    }

    /// Where cell `at` of chunk `chunk` is.
    pub(crate) fn cell(&self, buffer: Buffer, chunk: u32, at: u32) -> usize {
        let (buffer, from) = self.home(buffer, chunk as usize);
        self.room(buffer).0 + from + at as usize
    }
}

fn asks(op: Option<&Op>, side: SyncOverride) -> bool {
    op.and_then(|op| op.sync).is_some_and(|sync| sync == side || sync == SyncOverride::Both)
}

/// Whether a program has pipelines, so that messages of a single window matter.
pub(crate) fn has_pipelines(program: &Program) -> bool {
    units(program).1 > 0
}

/// The greatest common divisor of all pipelines' units, and their least common multiple; 0 if there are none.
fn units(program: &Program) -> (u64, u64) {
    let (mut least, mut common) = (0, 0);
    each_program_op(program, &mut |op| {
        if let Action::Pipeline(pipeline) = &op.action {
            let unit = pipeline.unit.max(1);
            least = gcd(least, unit);
            common = if common == 0 { unit } else { common / gcd(common, unit) * unit };
        }
    });
    (least, common)
}

/// The smallest prime that is at least `least`.
fn prime(least: usize) -> usize {
    let mut number = least.max(2);
    while (2..number).any(|factor| number.is_multiple_of(factor)) {
        number += 1;
    }
    number
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn entries(action: &Action) -> usize {
    match action {
        Action::Signal(signal) | Action::Wait(signal) => signal.channels.len(),
        Action::Flush(list) => list.len(),
        Action::Acquire(list) | Action::Release(list) => list.len(),
        Action::Transfer(t) if t.via == Some(ChannelKind::Port) => t.destinations.len(),
        Action::Transfer(_) | Action::Sync | Action::Barrier { .. } | Action::Pipeline(_) => 1,
    }
}

/// How many blocks share an operation.
fn count(action: &Action) -> u32 {
    match action {
        Action::Transfer(t) => t.slice.map_or(0, |slice| slice.count),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => 0,
    }
}

fn uses_packets(action: &Action) -> bool {
    matches!(action, Action::Transfer(t) if has_payloads(t.verb))
}

fn has_payloads(verb: Verb) -> bool {
    match verb {
        Verb::PutPackets
        | Verb::ReadPutPackets
        | Verb::CopyPackets
        | Verb::UnpackPackets
        | Verb::ReducePackets
        | Verb::BroadcastPackets => true,
        Verb::Copy
        | Verb::Put
        | Verb::PutWithSignal
        | Verb::PutWithSignalAndFlush
        | Verb::Get
        | Verb::Reduce
        | Verb::Broadcast => false,
    }
}

fn reads_packets(verb: Verb, index: usize) -> bool {
    match verb {
        Verb::ReadPutPackets | Verb::UnpackPackets | Verb::BroadcastPackets => true,
        Verb::ReducePackets => index > 0,
        Verb::PutPackets
        | Verb::CopyPackets
        | Verb::Copy
        | Verb::Put
        | Verb::PutWithSignal
        | Verb::PutWithSignalAndFlush
        | Verb::Get
        | Verb::Reduce
        | Verb::Broadcast => false,
    }
}

fn writes_packets(verb: Verb, index: usize) -> bool {
    match verb {
        Verb::PutPackets | Verb::ReadPutPackets | Verb::CopyPackets | Verb::BroadcastPackets => {
            true
        }
        Verb::ReducePackets => index > 0,
        Verb::UnpackPackets
        | Verb::Copy
        | Verb::Put
        | Verb::PutWithSignal
        | Verb::PutWithSignalAndFlush
        | Verb::Get
        | Verb::Reduce
        | Verb::Broadcast => false,
    }
}
