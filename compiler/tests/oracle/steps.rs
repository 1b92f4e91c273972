//! Whether the compiler's steps (`compiler::events`) are what the interpreter here makes of the same program.
//!
//! Checks, `cclc run` and pictures read steps, so a mistake in how operations become steps is invisible to all of them.
//! The interpreter has its own way from operations to instructions ([`crate::code`]), ports, packets, switches and pipelines
//! included. Both are written out line by line here and compared: joins of threads, barriers, what is given and taken and how
//! strongly, every cell that is read or written and in which form, requests to proxies, halves of scratch, slices and windows.

use crate::code::{self, Code, Instr, Lane, Push, Size, Start};
use crate::corpus::{self, Form, corpus};
use crate::lot::Lot;
use crate::random;
use compiler::events::{
    CellForm, CounterId, EndOfRank, Events, MemoryExtent, MemoryReach, Move, ProxyRequest,
    SizeClass, Step, StepBuffer, Strength,
};
use compiler::ir::counter::CounterKind;
use compiler::ir::threads::Share;
use compiler::ir::{Action, BlockId, Buffer, Op, Operand, OriginId, Program, RankId, Verb, Where};
use compiler::table::Id as _;

/// The sizes at which programs are compared: with uneven slices and windows, and in a single window.
const SIZES: [Size; 3] = [
    Size { threads: 2, unit: 2, odd: 0, windows: 2 },
    Size { threads: 3, unit: 3, odd: 1, windows: 3 },
    Size { threads: 2, unit: 5, odd: 2, windows: 1 },
];

/// Bytes in a cell of the interpreter, and in one of its elements.
const CELL_BYTES: u64 = 8;
const ELEMENT_BYTES: u64 = 16;

#[test]
fn steps_are_the_instructions_of_the_interpreter() {
    let ranks: &[u32] = if crate::is_full() { &[2, 3, 4, 5, 6, 8] } else { &[2, 3, 4] };
    let (mut compared, mut wrong) = (Compared::default(), Vec::new());
    for form in [Form::Written, Form::Passed(1), Form::Passed(2), Form::Plan] {
        for entry in corpus(ranks, form) {
            compared.add(&entry.name, &entry.program, &mut wrong);
        }
    }
    for entry in corpus::defective(ranks) {
        compared.add(&entry.name, &entry.program, &mut wrong);
    }
    for (name, program) in list_lacking_programs() {
        compared.add(name, &program, &mut wrong);
    }
    let seeds = if crate::is_full() { 3000 } else { 300 };
    for seed in 0..seeds {
        let program = random::program(seed, seed % 2 == 0);
        compared.add(&format!("random {seed}"), &program, &mut wrong);
    }
    eprintln!("{compared:?}");
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(8)].join("\n")
    );
    assert!(compared.programs > 700 && compared.lines > 100_000, "only {compared:?}");
    assert!(compared.outside < compared.programs / 10, "too many leave a buffer: {compared:?}");
}

/// What no other program here has: packets that a port carries from one place to two peers, and plain accesses to a peer's
/// scratch where scratch has two halves.
fn list_lacking_programs() -> [(&'static str, Program); 2] {
    let operand = |place, buffer, index| Operand { place, buffer, index, size: 1 };
    let add = |program: &mut Program, action| {
        let op = Op { action, origin: OriginId(0), sync: None };
        program.ranks[RankId(0)].blocks[BlockId(0)].ops.push(op);
    };
    let (port, memory) = (2, 0);
    let mut spread = random::empty(3, 1, &mut Lot(1));
    let seen = operand(Where::Local, Buffer::Scratch, 0);
    let to = [1, 2].map(|peer| operand(Where::Remote(RankId(peer)), Buffer::Scratch, 1));
    let first = Some(random::end(0, 1, port));
    let mut action = random::transfer(Verb::ReadPutPackets, &[seen], &to, first);
    if let Action::Transfer(transfer) = &mut action {
        transfer.channels.push(random::end(0, 2, port));
    }
    add(&mut spread, action);
    let mut halves = random::empty(2, 1, &mut Lot(1));
    halves.options.double_scratch = true;
    let from = operand(Where::Local, Buffer::Input, 0);
    let there = operand(Where::Remote(RankId(1)), Buffer::Scratch, 2);
    let over = Some(random::end(0, 1, memory));
    add(&mut halves, random::transfer(Verb::Put, &[from], &[there], over));
    [("one place to two peers", spread), ("a peer's half", halves)]
}

/// What was compared.
#[derive(Debug, Default)]
struct Compared {
    programs: usize,
    lines: usize,
    /// Programs for which the interpreter has no code at a size, because an operation leaves its buffer.
    outside: usize,
}

impl Compared {
    fn add(&mut self, name: &str, program: &Program, wrong: &mut Vec<String>) {
        self.programs += 1;
        for size in SIZES {
            let Ok(code) = code::code(program, size) else {
                self.outside += 1;
                return;
            };
            match compare(program, size, &code) {
                Ok(lines) => self.lines += lines,
                Err(difference) => {
                    wrong.push(format!("{name} at {size:?}: {difference}"));
                    return;
                }
            }
        }
    }
}

/// Compares all blocks of a program; returns how many lines they have.
fn compare(program: &Program, size: Size, code: &Code) -> Result<usize, String> {
    let program = scale_windows(program, size);
    let chunk = u64::from(code.chunk) * CELL_BYTES;
    let class = SizeClass::Bytes { chunk, slice_unit: ELEMENT_BYTES };
    let events = Events::new(&program, class);
    let mut lines = 0;
    let mut blocks = code.blocks.iter();
    for (rank, row) in program.ranks.entries() {
        let writer = Writer { rank, events: &events, code };
        for block in row.blocks.ids() {
            let theirs = blocks.next().expect("as many blocks");
            let theirs: Vec<String> =
                theirs.steps.iter().flat_map(|step| write_instruction(&step.instr)).collect();
            let steps = events.block_steps(rank, block);
            let mut buffer = StepBuffer::default();
            let mut ours = Vec::new();
            for at in 0..steps.len() {
                let step = events.lower_step(&steps, at, &mut buffer).expect("a step");
                ours.extend(writer.write_step(&step, at)?);
            }
            let (ours, theirs) = (trim_joins(&ours), trim_joins(&theirs));
            let pairs = ours.iter().zip(theirs);
            if let Some((at, (one, other))) = pairs.enumerate().find(|(_, (a, b))| a != b) {
                let place = format!("rank {} block {} line {at}", rank.0, block.0);
                return Err(format!("{place}: the step is `{one}`, the instruction `{other}`"));
            }
            if ours.len() != theirs.len() {
                return Err(format!("{} lines instead of {}", ours.len(), theirs.len()));
            }
            lines += ours.len();
        }
    }
    Ok(lines)
}

/// The program with the windows that pipelines have at a size here, in bytes.
fn scale_windows(program: &Program, size: Size) -> Program {
    let mut scaled = program.clone();
    for block in scaled.ranks.iter_mut().flat_map(|rank| rank.blocks.iter_mut()) {
        for op in &mut block.ops {
            if let Action::Pipeline(pipeline) = &mut op.action {
                pipeline.unit = ELEMENT_BYTES * code::window_elements(program, size, pipeline.unit);
            }
        }
    }
    scaled
}

/// Before the first step and after the last one the threads are together anyway.
fn trim_joins(lines: &[String]) -> &[String] {
    let is_join = |line: &String| line == "join";
    let first = lines.iter().position(|line| !is_join(line)).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !is_join(line)).map_or(first, |last| last + 1);
    &lines[first..last]
}

/// What a cell is, in a line: the cell, its distance to the other half of scratch, and whether it is a packet.
fn write_cell(cell: usize, half: usize, packet: bool) -> String {
    let packet = if packet { "p" } else { "" };
    if half > 0 { format!("{packet}{cell}/{half}") } else { format!("{packet}{cell}") }
}

fn write_start(start: &Start, packet: bool) -> String {
    write_cell(start.cell, start.half, packet)
}

/// Cells in any order: whether packets are read before plain cells is the executing side's business.
fn write_cells(mut cells: Vec<String>) -> String {
    cells.sort();
    cells.join(" ")
}

fn write_instruction(instr: &Instr) -> Vec<String> {
    match instr {
        Instr::Join => vec!["join".to_owned()],
        Instr::Barrier { id, arrivals } => vec![format!("barrier {id} of {arrivals}")],
        Instr::Signal { channels, relaxed } => vec![write_list("signal", channels, *relaxed)],
        Instr::Wait { channels, relaxed } => vec![write_list("wait", channels, *relaxed)],
        Instr::Acquire(list) => vec![write_list("acquire", list, false)],
        Instr::Release(list) => vec![write_list("release", list, false)],
        Instr::Move(lanes) => lanes.iter().flat_map(write_lane).collect(),
        Instr::Push(pushes) => pushes.iter().map(write_push).collect(),
    }
}

fn write_list(word: &str, list: &[usize], relaxed: bool) -> String {
    format!("{word} {list:?}{}", if relaxed { " relaxed" } else { "" })
}

/// A lane; what is copied to several places is a line for each.
fn write_lane(lane: &Lane) -> Vec<String> {
    let cells = |places: &[code::Place]| -> Vec<String> {
        let starts = |place: &code::Place| {
            let packet = place.packet;
            place.starts.iter().map(move |start| write_start(start, packet)).collect::<Vec<_>>()
        };
        places.iter().flat_map(starts).collect()
    };
    let count = lane.elements * lane.width;
    let reads = write_cells(cells(&lane.reads));
    let reduce =
        if lane.reads.len() > 1 { format!(" {}", lane.reduce.word()) } else { String::new() };
    let line = |writes: String| format!("move {count}{reduce}: {reads} -> {writes}");
    if lane.reads.len() > 1 || lane.writes.is_empty() {
        return vec![line(write_cells(cells(&lane.writes)))];
    }
    let writes = lane.writes.iter().map(|place| write_cells(cells(std::slice::from_ref(place))));
    writes.map(line).collect()
}

fn write_push(push: &Push) -> String {
    let put = push.put.map(|(from, to, cells)| {
        let (from, to) = (write_start(&from, push.raw), write_start(&to, push.raw));
        format!(" {cells} cells {from} -> {to}")
    });
    write_request(push.channel, put, push.observed, push.signal, push.flush)
}

fn write_request(
    channel: usize,
    put: Option<String>,
    observed: bool,
    signal: bool,
    flush: bool,
) -> String {
    let mut line = format!("push {channel}{}", put.unwrap_or_default());
    for (word, is_there) in [("observed", observed), ("signal", signal), ("flush", flush)] {
        if is_there {
            line.push(' ');
            line.push_str(word);
        }
    }
    line
}

/// Writes steps in the interpreter's numbers.
struct Writer<'a, 'p> {
    rank: RankId,
    events: &'a Events<'p>,
    code: &'a Code,
}

impl Writer<'_, '_> {
    fn write_step(&self, step: &Step, at: u64) -> Result<Vec<String>, String> {
        let mut lines = Vec::new();
        if step.joined && at > 0 || step.is_join {
            lines.extend(std::iter::repeat_n(
                "join".to_owned(),
                usize::from(step.joined && at > 0) + usize::from(step.is_join),
            ));
        }
        if let Some(arrival) = step.arrival {
            lines.push(format!("barrier {} of {}", arrival.meeting.0, arrival.arrivals));
        }
        self.write_takes(step, &mut lines)?;
        if !step.is_pushed() {
            self.write_moves(step, &mut lines)?;
        }
        for (thread, request) in (0..).zip(step.requests) {
            if request.thread != thread {
                return Err(format!("request {thread} is of thread {}", request.thread));
            }
            if let Some(signal) = &request.signal {
                let end = self.code.ranks[self.rank.index()].channels + request.channel.index();
                self.check_arrival(end, signal.counter)?;
                if signal.strength != Strength::Strong {
                    return Err(format!("the signal of {request:?} is not strong"));
                }
            }
            lines.push(self.write_request_of(step, request));
        }
        self.write_gives(step, &mut lines)?;
        Ok(lines)
    }

    fn write_takes(&self, step: &Step, lines: &mut Vec<String>) -> Result<(), String> {
        let Some(first) = step.takes.first() else { return Ok(()) };
        let mut list = Vec::new();
        for (thread, take) in (0..).zip(step.takes) {
            if (take.thread, take.strength) != (thread, first.strength) {
                return Err(format!("{take:?} is entry {thread}"));
            }
            list.push(self.number(take.counter));
        }
        let word = if self.is_channel(first.counter) { "wait" } else { "acquire" };
        lines.push(write_list(word, &list, first.strength == Strength::Relaxed));
        Ok(())
    }

    fn write_gives(&self, step: &Step, lines: &mut Vec<String>) -> Result<(), String> {
        let Some(first) = step.gives.first() else { return Ok(()) };
        let mut list = Vec::new();
        for (thread, give) in (0..).zip(step.gives) {
            if (give.thread, give.strength) != (thread, first.strength) {
                return Err(format!("{give:?} is entry {thread}"));
            }
            list.push(match give.channel {
                Some(channel) => {
                    let end = self.code.ranks[self.rank.index()].channels + channel.index();
                    self.check_arrival(end, give.counter)?;
                    end
                }
                None => self.number(give.counter.ok_or("a release of nothing")?),
            });
        }
        let word = if first.channel.is_some() { "signal" } else { "release" };
        lines.push(write_list(word, &list, first.strength == Strength::Relaxed));
        Ok(())
    }

    /// Whether a signal over an end arrives where the interpreter says so.
    fn check_arrival(&self, end: usize, counter: Option<CounterId>) -> Result<(), String> {
        let arrives = counter.map(|counter| self.number(counter));
        if arrives == self.code.channels[end].partner {
            return Ok(());
        }
        Err(format!("a signal over end {end} arrives at {arrives:?}"))
    }

    /// The interpreter's number of an end of a channel, or of a semaphore.
    fn number(&self, counter: CounterId) -> usize {
        let counter = self.events.counter(counter).expect("a counter");
        let tables = &self.code.ranks[counter.rank.index()];
        match counter.kind {
            CounterKind::Channel(channel) => {
                let end = EndOfRank { rank: counter.rank, channel };
                assert_eq!(self.events.end(self.events.end_id(end)), Some(end), "ids are inverse");
                tables.channels + channel.index()
            }
            CounterKind::Semaphore(semaphore) => tables.semaphores + semaphore.index(),
        }
    }

    fn is_channel(&self, counter: CounterId) -> bool {
        let kind = self.events.counter(counter).map(|counter| counter.kind);
        matches!(kind, Some(CounterKind::Channel(_)))
    }

    fn write_moves(&self, step: &Step, lines: &mut Vec<String>) -> Result<(), String> {
        for one in step.moves {
            self.check_share(step, one)?;
            let (reads, writes) = (step.reads(one), step.writes(one));
            // An extent of a group has one operand on all ranks.
            let operands: std::collections::BTreeSet<u16> =
                reads.iter().map(|r| r.operand).collect();
            let count = one.elements / CELL_BYTES;
            let reduce =
                if operands.len() > 1 { format!(" {}", one.reduce.word()) } else { String::new() };
            let cells = |extents: &[MemoryExtent]| {
                write_cells(extents.iter().map(|extent| self.write_extent(extent, false)).collect())
            };
            let line = |writes: &[MemoryExtent]| {
                format!("move {count}{reduce}: {} -> {}", cells(reads), cells(writes))
            };
            if operands.len() > 1 || writes.is_empty() {
                lines.push(line(writes));
                continue;
            }
            lines.extend(writes.chunk_by(|a, b| a.operand == b.operand).map(line));
        }
        Ok(())
    }

    fn check_share(&self, step: &Step, one: &Move) -> Result<(), String> {
        let mut extents = step.reads(one).iter().chain(step.writes(one));
        let has_packets = extents.clone().any(|extent| extent.form.is_packets());
        let has_group = extents.any(|extent| extent.reach == MemoryReach::Group);
        let is_right = match one.share {
            Share::Wide => !has_packets && !has_group,
            Share::Payload => has_packets,
            Share::Other => !has_packets,
        };
        if is_right { Ok(()) } else { Err(format!("{:?} for {one:?}", one.share)) }
    }

    fn write_request_of(&self, step: &Step, request: &ProxyRequest) -> String {
        let mut observed = false;
        let put = request.put.map(|put| {
            let one = &step.moves[put as usize];
            let (from, to) = (&step.reads(one)[0], &step.writes(one)[0]);
            observed = from.form == CellForm::SeenPackets;
            let factor = if to.form.is_packets() { 2 } else { 1 };
            let cells = one.elements / CELL_BYTES * factor;
            format!(
                " {cells} cells {} -> {}",
                self.write_extent(from, true),
                self.write_extent(to, true)
            )
        });
        let end = self.events.end_id(EndOfRank {
            rank: self.events.end(request.end).expect("an end").rank,
            channel: request.channel,
        });
        write_request(end.0 as usize, put, observed, request.signal.is_some(), request.awaited)
    }

    fn write_extent(&self, extent: &MemoryExtent, is_port: bool) -> String {
        let layout = &self.code.ranks[extent.rank.index()].memory;
        let base = match extent.buffer {
            Buffer::Input => layout.input.0,
            Buffer::Output => layout.output.0,
            Buffer::Scratch => layout.scratch.0,
        };
        let packet = extent.form.is_packets();
        let factor = if packet { 2 } else { 1 };
        let cell = base + (extent.start / CELL_BYTES) as usize * factor;
        // Plain accesses to a peer's scratch use the first half only, and so do plain puts over ports.
        let is_halved = packet || extent.reach == MemoryReach::Own && !is_port;
        let half = if extent.buffer == Buffer::Scratch && is_halved { layout.half } else { 0 };
        write_cell(cell, half, packet)
    }
}
