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
//! - A `flush` is a request that moves nothing. In plans that were read, it is left out: the executor does nothing for it.

#[path = "code/size.rs"]
mod size;
#[path = "code/transfer.rs"]
mod transfer;

use compiler::ir::{
    Action, Alias, Buffer, ChannelId, ChannelKind, Joins, Op, Pipeline, Program, Protocol, Rank,
    RankId, ReduceOp, Signal, SyncOverride,
};
use compiler::table::Id as _;
use size::Shape;
pub(crate) use size::{Size, has_pipelines};
use transfer::{Cut, Motion};

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

impl Push {
    /// A request that does nothing.
    fn nothing(channel: usize) -> Push {
        Push { channel, put: None, raw: false, observed: false, signal: false, flush: false }
    }
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

/// An operation that leaves its buffer, so that there is no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutOfBounds {
    pub(crate) rank: usize,
    pub(crate) block: usize,
    pub(crate) at: At,
}

/// Translates a program.
pub(crate) fn code(program: &Program, size: Size) -> Result<Code, OutOfBounds> {
    in_room(program, size, size.shape(program).chunk)
}

/// Translates a program for messages of two sizes, which share their memory: scratch is large enough for both.
pub(crate) fn pair(program: &Program, sizes: [Size; 2]) -> Result<[Code; 2], OutOfBounds> {
    let [one, other] = sizes.map(|size| size.shape(program).chunk);
    let room = one.max(other);
    Ok([in_room(program, sizes[0], room)?, in_room(program, sizes[1], room)?])
}

/// Translates a program. Its memory has room for chunks of `room` elements.
fn in_room(program: &Program, size: Size, room: u32) -> Result<Code, OutOfBounds> {
    let mut maker = Maker::new(program, size, room);
    for (id, rank) in program.ranks.entries() {
        maker.rank(id, rank)?;
    }
    Ok(maker.code)
}

/// How many elements a window of a pipeline with this unit has at a size.
pub(crate) fn window_elements(program: &Program, size: Size, unit: u64) -> u64 {
    let (bytes, elements) = size.shape(program).window;
    u64::from(elements) * unit / bytes
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
    /// Elements in a chunk, and for how many of them there is room.
    chunk: u32,
    room: u32,
    /// How many bytes of a pipeline's unit correspond to one `unit` of the size, and that `unit` in elements.
    window: (u64, u32),
}

impl<'a> Maker<'a> {
    fn new(program: &'a Program, size: Size, room: u32) -> Maker<'a> {
        let Shape { threads, chunk, window } = size.shape(program);
        let mut packets = program.options.protocol == Protocol::Ll;
        each_program_op(program, &mut |op| packets |= uses_packets(&op.action));
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
        let mut maker = Maker { program, code, chunk, room, window };
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
        let chunk = 2 * self.room as usize;
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
        let chunk = self.code.chunk as usize;
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
            Action::Flush(list) if self.program.flush_waits => {
                let flush = |id| Push { flush: true, ..Push::nothing(channel(id)) };
                push(Instr::Push(list.iter().map(flush).collect()));
            }
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
        let push = |channel| Push { signal: true, ..Push::nothing(channel) };
        Instr::Push(channels.map(push).collect())
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

fn uses_packets(action: &Action) -> bool {
    matches!(action, Action::Transfer(t) if Motion::find(t.verb).has_payloads())
}
