//! The canonical listing of a plan: what MSCCL++'s loader makes of it at a given number of bytes a chunk.
//!
//! In: a [`Plan`], never the concrete program, so that faulty plans can be shown as they are. Out: one line an item.
//! All arithmetic is the loader's, 32-bit truncation included; offsets and sizes are printed as it stores them. A
//! rank that the loader refuses (or on which it would divide by zero) is one line that begins with `REJECT`.

use super::{Buff, Gpu, OPERATIONS, Op, Plan};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// What to list.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// One rank; all of them, in order, where there is none.
    pub rank: Option<u32>,
    /// Bytes a chunk; a multiple of the plan's alignment, or every rank is refused.
    pub chunk_bytes: u64,
    /// In which form.
    pub form: Form,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { rank: None, chunk_bytes: 4096, form: Form::Plain }
    }
}

/// The forms of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As the loader has it.
    Plain,
    /// The channels of signals and waits sorted.
    Canon,
    /// Canonical, without what may differ between two equal programs: `nop`s, counts, indexes, message sizes, and the
    /// numbers of barriers and semaphores.
    Normal,
}

/// Writes the listing of a plan.
///
/// # Errors
/// Those of `out`.
pub fn listing(plan: &Plan<'_>, settings: &Settings, out: &mut impl Write) -> fmt::Result {
    let world = World::new(plan);
    let ranks = match settings.rank {
        Some(rank) => rank..rank.saturating_add(1),
        None => 0..plan.gpus.len() as u32,
    };
    for rank in ranks {
        match list_rank(plan, &world, settings, rank) {
            Ok(text) => out.write_str(&text)?,
            Err(Refusal(reason)) => {
                writeln!(out, "REJECT rank {rank}: {reason} (mscclpp failure: ExecutorError)")?;
            }
        }
    }
    Ok(())
}

/// Why the loader refuses a rank.
#[derive(Clone, Debug)]
struct Refusal(String);

fn refuse<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(reason.into()))
}

impl From<fmt::Error> for Refusal {
    fn from(_: fmt::Error) -> Refusal {
        Refusal("the listing could not be written".into())
    }
}

/// The kinds of channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    None,
    Memory,
    Port,
    Switch,
}

impl Kind {
    fn parse(text: &str) -> Result<Kind, Refusal> {
        match text {
            "memory" => Ok(Kind::Memory),
            "port" => Ok(Kind::Port),
            "none" => Ok(Kind::None),
            "switch" => Ok(Kind::Switch),
            _ => refuse("Invalid channel type"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::None => "none",
            Kind::Memory => "mem",
            Kind::Port => "port",
            Kind::Switch => "switch",
        }
    }
}

/// "i", "o" or "s", or the loader's refusal.
fn buffer_type(text: &str) -> Result<&'static str, Refusal> {
    match text {
        "i" => Ok("i"),
        "o" => Ok("o"),
        "s" => Ok("s"),
        _ => refuse("Invalid buffer type"),
    }
}

/// What the loader gathers from all ranks before it looks at one.
struct World {
    /// For a rank and a kind, how many channels it has to each peer.
    channels: BTreeMap<(i64, Kind), BTreeMap<i64, u64>>,
    /// For a rank, which of its buffers which ranks reach, as "r1.o", sorted.
    exported: BTreeMap<i64, Vec<String>>,
    /// The first thing in any rank that makes the loader refuse all of them.
    refusal: Option<Refusal>,
}

impl World {
    fn new(plan: &Plan<'_>) -> World {
        let mut world =
            World { channels: BTreeMap::new(), exported: BTreeMap::new(), refusal: None };
        world.refusal = world.gather(plan).err();
        for buffers in world.exported.values_mut() {
            buffers.sort();
        }
        world
    }

    fn gather(&mut self, plan: &Plan<'_>) -> Result<(), Refusal> {
        for gpu in &plan.gpus {
            for channel in &gpu.channels {
                let kind = Kind::parse(&channel.channel_type)?;
                if kind == Kind::Switch {
                    buffer_type(&channel.buffer_type)?;
                    continue;
                }
                let peers = self.channels.entry((gpu.id, kind)).or_default();
                for peer in &channel.connected_to {
                    *peers.entry(*peer).or_default() += 1;
                }
            }
        }
        for gpu in &plan.gpus {
            for remote in &gpu.remote_buffers {
                let buffer = buffer_type(&remote.buffer)?;
                for kind in &remote.access_channel_types {
                    Kind::parse(kind)?;
                }
                self.exported.entry(remote.rank).or_default().push(format!("r{}.{buffer}", gpu.id));
            }
        }
        Ok(())
    }

    /// Channels of `kind` from `from` to `to`.
    fn count(&self, from: i64, kind: Kind, to: i64) -> u64 {
        self.channels.get(&(from, kind)).and_then(|peers| peers.get(&to)).copied().unwrap_or(0)
    }
}

/// Sizes of one rank, as the loader computes them.
struct Sizes {
    alignment: u64,
    input_chunks: u32,
    scratch_chunks: u32,
    input: u64,
    output: u64,
    scratch_alloc: u64,
    scratch_chunk: u32,
    /// The distance of scratch chunks under `reuse_resources`, where it takes the place of the grid.
    reused: Option<u64>,
}

/// The scratch that the executor sets aside under `reuse_resources`.
const REUSED_SCRATCH: u64 = 1 << 26;

impl Sizes {
    fn new(plan: &Plan<'_>, gpu: &Gpu<'_>, chunk_bytes: u64) -> Result<Sizes, Refusal> {
        let alignment = u64::from(plan.buffer_alignment as u32);
        let (input_chunks, output_chunks, scratch_chunks) =
            (gpu.input_chunks as u32, gpu.output_chunks as u32, gpu.scratch_chunks as u32);
        if input_chunks == 0 || output_chunks == 0 {
            return refuse("Output or Input chunks must be greater than 0");
        }
        if alignment == 0 {
            return refuse("Buffer alignment must be greater than 0");
        }
        let input = chunk_bytes.wrapping_mul(u64::from(input_chunks));
        let output = chunk_bytes.wrapping_mul(u64::from(output_chunks));
        let legal = |bytes: u64, chunks: u32| {
            bytes.is_multiple_of(alignment) && (bytes / alignment).is_multiple_of(u64::from(chunks))
        };
        if !legal(input, input_chunks) || !legal(output, output_chunks) {
            return refuse("Input or output size is not aligned with buffer alignment or chunks");
        }
        let size = if plan.collective == "allgather" { output } else { input };
        if size < plan.min_message_size || size > plan.max_message_size {
            return refuse("Input or output size is not within the valid range");
        }
        let mut sizes = Sizes {
            alignment,
            input_chunks,
            scratch_chunks,
            input,
            output,
            scratch_alloc: 0,
            scratch_chunk: 0,
            reused: None,
        };
        sizes.scratch_alloc = sizes.allocated(plan);
        sizes.scratch_chunk = sizes.chunk_of_scratch(plan, sizes.scratch_alloc) as u32;
        let fixed = sizes.chunk_of_scratch(plan, REUSED_SCRATCH);
        let chunk = input.div_ceil(u64::from(input_chunks)) as u32;
        sizes.reused = (plan.reuse_resources && (fixed as u32) < chunk).then_some(fixed);
        Ok(sizes)
    }

    fn allocated(&self, plan: &Plan<'_>) -> u64 {
        if plan.reuse_resources && self.scratch_chunks > 0 {
            return REUSED_SCRATCH;
        }
        let chunk = self.input.min(plan.max_message_size).div_ceil(u64::from(self.input_chunks));
        let packets = if plan.protocol == "LL" { 2 } else { 1 };
        let halves = if plan.use_double_scratch_buffer { 2 } else { 1 };
        self.aligned(
            chunk.wrapping_mul(u64::from(self.scratch_chunks)).wrapping_mul(packets * halves),
        )
    }

    fn chunk_of_scratch(&self, plan: &Plan<'_>, scratch: u64) -> u64 {
        if self.scratch_chunks == 0 {
            return 0;
        }
        let half = if plan.use_double_scratch_buffer { scratch / 2 } else { scratch };
        self.aligned(half.div_ceil(u64::from(self.scratch_chunks)))
    }

    fn aligned(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.alignment).wrapping_mul(self.alignment)
    }

    /// Where part `index` of `parts` of `bytes` begins.
    fn slice(&self, bytes: u64, index: u32, parts: u32) -> u64 {
        let units = bytes / self.alignment;
        let (index, parts) = (u64::from(index), u64::from(parts));
        let begin = index.wrapping_mul(units / parts).wrapping_add(index.min(units % parts));
        begin.wrapping_mul(self.alignment)
    }

    /// Where chunk `index` begins, in any buffer but reused scratch.
    fn grid(&self, index: u32) -> u64 {
        self.slice(self.input, index, self.input_chunks)
    }

    /// Offset and size of chunks, or of a group's part of them, as 32-bit numbers.
    fn extent(&self, buff: &Buff<'_>, buffer: &str, group: (u32, u32)) -> (u32, u32) {
        let (index, count) = (buff.index as u32, buff.size as u32);
        let begin = match self.reused {
            Some(distance) if buffer == "s" => u64::from(index).wrapping_mul(distance),
            _ => self.grid(index),
        };
        let end = self.grid(index.wrapping_add(count)) as u32;
        let bytes = u64::from(end.wrapping_sub(self.grid(index) as u32));
        let (part, parts) = group;
        let first = self.slice(bytes, part, parts);
        let last = self.slice(bytes, part.wrapping_add(1), parts);
        (begin.wrapping_add(first) as u32, (last as u32).wrapping_sub(first as u32))
    }
}

/// One rank's channels by identity.
struct Identities {
    /// For memory and port: peers in id order, and "mem:r1#0" for each.
    channels: [Vec<(i64, String)>; 2],
    /// The bound buffer of each switch channel.
    switches: Vec<&'static str>,
}

impl Identities {
    fn new(gpu: &Gpu<'_>) -> Result<Identities, Refusal> {
        let mut identities =
            Identities { channels: [Vec::new(), Vec::new()], switches: Vec::new() };
        let mut ordinals = BTreeMap::new();
        for channel in &gpu.channels {
            let kind = Kind::parse(&channel.channel_type)?;
            let [memory, port] = &mut identities.channels;
            let rows = match kind {
                Kind::Memory => memory,
                Kind::Port => port,
                Kind::Switch => {
                    let buffer = buffer_type(&channel.buffer_type)?;
                    identities.switches.extend(channel.rank_groups.iter().map(|_| buffer));
                    continue;
                }
                Kind::None => continue,
            };
            for peer in &channel.connected_to {
                let ordinal = ordinals.entry((kind, *peer)).or_insert(0_u32);
                rows.push((*peer, format!("{}:r{peer}#{ordinal}", kind.name())));
                *ordinal += 1;
            }
        }
        Ok(identities)
    }

    fn of_kind(&self, kind: Kind) -> &[(i64, String)] {
        let [memory, port] = &self.channels;
        match kind {
            Kind::Memory => memory,
            Kind::Port => port,
            Kind::Switch | Kind::None => &[],
        }
    }

    fn name(&self, kind: Kind, id: i64) -> String {
        let bad = || format!("{}:OUT_OF_RANGE({id})", kind.name());
        let Ok(row) = usize::try_from(id) else { return bad() };
        match kind {
            Kind::Switch => match self.switches.get(row) {
                Some(_) => format!("switch#{id}"),
                None => bad(),
            },
            Kind::Memory | Kind::Port | Kind::None => {
                self.of_kind(kind).get(row).map_or_else(bad, |(_, name)| name.clone())
            }
        }
    }
}

/// A block's own lists.
#[derive(Default)]
struct Tables {
    memory: Vec<i64>,
    port: Vec<i64>,
    switch: Vec<i64>,
    /// Rank and buffer of each remote buffer over memory channels, none for a bad id.
    memory_buffers: Vec<Option<(i64, &'static str)>>,
    /// The same over port channels.
    port_buffers: Vec<Option<(i64, &'static str)>>,
}

impl Tables {
    fn of_kind(&self, kind: Kind) -> &[i64] {
        match kind {
            Kind::Memory => &self.memory,
            Kind::Port => &self.port,
            Kind::Switch => &self.switch,
            Kind::None => &[],
        }
    }
}

/// The tables of all blocks: the loader files them by the blocks' ids.
fn block_tables(gpu: &Gpu<'_>) -> Result<Vec<Tables>, Refusal> {
    let mut tables: Vec<Tables> = gpu.threadblocks.iter().map(|_| Tables::default()).collect();
    for block in &gpu.threadblocks {
        let Some(table) = usize::try_from(block.id).ok().and_then(|id| tables.get_mut(id)) else {
            return refuse(format!("Thread block id {} is out of range", block.id));
        };
        for channels in &block.channels {
            match Kind::parse(&channels.channel_type)? {
                Kind::Memory => table.memory.extend(&channels.channel_ids),
                Kind::Port => table.port.extend(&channels.channel_ids),
                Kind::Switch => table.switch.extend(&channels.channel_ids),
                Kind::None => {}
            }
        }
        for refs in &block.remote_buffer_refs {
            let rows = match Kind::parse(&refs.access_channel_type)? {
                Kind::Memory => &mut table.memory_buffers,
                Kind::Port => &mut table.port_buffers,
                Kind::Switch | Kind::None => continue,
            };
            for id in &refs.remote_buffer_ids {
                let remote = usize::try_from(*id).ok().and_then(|id| gpu.remote_buffers.get(id));
                rows.push(match remote {
                    Some(remote) => Some((remote.rank, buffer_type(&remote.buffer)?)),
                    None => None,
                });
            }
        }
    }
    Ok(tables)
}

fn list_rank(
    plan: &Plan<'_>,
    world: &World,
    settings: &Settings,
    rank: u32,
) -> Result<String, Refusal> {
    let gpu = match plan.gpus.get(rank as usize) {
        Some(gpu) if gpu.id == i64::from(rank) => gpu,
        Some(_) | None => return refuse("GPU rank does not match"),
    };
    let sizes = Sizes::new(plan, gpu, settings.chunk_bytes)?;
    if let Some(refusal) = &world.refusal {
        return Err(refusal.clone());
    }
    let identities = Identities::new(gpu)?;
    let mut text = String::new();
    list_head(plan, gpu, &sizes, settings.form, &mut text)?;
    list_connections(gpu, world, &identities, settings.form, &mut text)?;
    let tables = block_tables(gpu)?;
    let mut blocks = Blocks {
        rank,
        form: settings.form,
        sizes: &sizes,
        identities: &identities,
        barriers: Renumbering::default(),
        semaphores: Renumbering::default(),
    };
    for (position, (block, table)) in gpu.threadblocks.iter().zip(&tables).enumerate() {
        blocks.list(position, &block.ops, table, &mut text)?;
    }
    Ok(text)
}

fn list_head(
    plan: &Plan<'_>,
    gpu: &Gpu<'_>,
    sizes: &Sizes,
    form: Form,
    out: &mut String,
) -> fmt::Result {
    write!(
        out,
        "plan {} collective {} inplace {} packet {} reuse {} double {} threads {} align {}",
        plan.name,
        plan.collective,
        u8::from(plan.inplace),
        u8::from(plan.protocol == "LL"),
        u8::from(plan.reuse_resources),
        u8::from(plan.use_double_scratch_buffer),
        plan.num_threads_per_block as i32,
        sizes.alignment,
    )?;
    if form != Form::Normal {
        write!(out, " min {} max {}", plan.min_message_size, plan.max_message_size)?;
    }
    write!(
        out,
        "\nrank {} chunks in {} out {} scratch {} bytes in {} out {}",
        gpu.id,
        sizes.input_chunks,
        gpu.output_chunks as u32,
        sizes.scratch_chunks,
        sizes.input,
        sizes.output,
    )?;
    if form != Form::Normal {
        write!(
            out,
            " scratch_alloc {} scratch_chunk {}",
            sizes.scratch_alloc, sizes.scratch_chunk
        )?;
    }
    out.write_char('\n')
}

fn list_connections(
    gpu: &Gpu<'_>,
    world: &World,
    identities: &Identities,
    form: Form,
    out: &mut String,
) -> Result<(), Refusal> {
    for kind in [Kind::Memory, Kind::Port] {
        let rows = identities.of_kind(kind);
        write!(out, "channels {} {}", kind.name(), rows.len())?;
        for (id, (peer, _)) in rows.iter().enumerate() {
            write!(out, " {id}:r{peer}")?;
        }
        out.write_char('\n')?;
        list_unpaired(gpu, world, kind, out)?;
    }
    let mut switches = 0;
    for channel in &gpu.channels {
        if Kind::parse(&channel.channel_type)? != Kind::Switch {
            continue;
        }
        for group in &channel.rank_groups {
            write!(out, "nvls {switches} buf {} nranks {} ranks", channel.buffer_type, group.size)?;
            for rank in &group.ranks {
                write!(out, " {rank}")?;
            }
            out.write_char('\n')?;
            switches += 1;
        }
    }
    list_remote_buffers(gpu, form, out)?;
    out.write_str("exported")?;
    for buffer in world.exported.get(&gpu.id).into_iter().flatten() {
        write!(out, " {buffer}")?;
    }
    out.write_str("\nsemaphores")?;
    for semaphore in &gpu.semaphores {
        write!(out, " {}", semaphore.init_value as i32)?;
    }
    out.write_char('\n')?;
    Ok(())
}

fn list_unpaired(gpu: &Gpu<'_>, world: &World, kind: Kind, out: &mut String) -> fmt::Result {
    let mut missing = Vec::new();
    for ((peer, _), to) in world.channels.iter().filter(|((_, of_kind), _)| *of_kind == kind) {
        let theirs = to.get(&gpu.id).copied().unwrap_or(0);
        let ours = world.count(gpu.id, kind, *peer);
        if *peer != gpu.id {
            missing.extend((ours..theirs).map(|_| *peer));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    write!(out, "unpaired {} {}", kind.name(), missing.len())?;
    for peer in missing {
        write!(out, " r{peer}")?;
    }
    out.write_char('\n')
}

fn list_remote_buffers(gpu: &Gpu<'_>, form: Form, out: &mut String) -> Result<(), Refusal> {
    let mut lines = Vec::with_capacity(gpu.remote_buffers.len());
    for (id, remote) in gpu.remote_buffers.iter().enumerate() {
        let mut kinds = Vec::new();
        for kind in &remote.access_channel_types {
            kinds.push(Kind::parse(kind)?.name());
        }
        kinds.sort_unstable();
        kinds.dedup();
        let number = if form == Form::Normal { String::new() } else { format!(" {id}") };
        lines.push(format!(
            "remote{number} r{}.{} via {}\n",
            remote.rank,
            remote.buffer,
            kinds.join(" ")
        ));
    }
    if form == Form::Normal {
        lines.sort();
    }
    out.extend(lines);
    Ok(())
}

/// Numbers as they are, or by first use.
#[derive(Default)]
struct Renumbering {
    seen: BTreeMap<i64, i64>,
}

impl Renumbering {
    fn number(&mut self, form: Form, id: i64) -> i64 {
        if form != Form::Normal {
            return id;
        }
        let next = self.seen.len() as i64;
        *self.seen.entry(id).or_insert(next)
    }
}

/// The blocks of one rank.
struct Blocks<'a> {
    rank: u32,
    form: Form,
    sizes: &'a Sizes,
    identities: &'a Identities,
    barriers: Renumbering,
    semaphores: Renumbering,
}

impl Blocks<'_> {
    fn list(
        &mut self,
        position: usize,
        ops: &[Op<'_>],
        table: &Tables,
        out: &mut String,
    ) -> Result<(), Refusal> {
        write!(out, "tb {position}")?;
        if self.form != Form::Normal {
            let count: usize =
                ops.iter().map(|op| 1 + if op.name == "pipeline" { op.ops.len() } else { 0 }).sum();
            write!(out, " ops {count}")?;
        }
        for kind in [Kind::Memory, Kind::Port, Kind::Switch] {
            let names: Vec<String> =
                table.of_kind(kind).iter().map(|id| self.identities.name(kind, *id)).collect();
            write!(out, " {}[{}]", kind.name(), names.join(" "))?;
        }
        out.write_char('\n')?;
        let mut index = 0;
        for op in ops {
            self.line("  ", index, op, table, out)?;
            index += 1;
            if op.name == "pipeline" {
                for inner in &op.ops {
                    self.line("    .", index, inner, table, out)?;
                    index += 1;
                }
            }
        }
        Ok(())
    }

    fn line(
        &mut self,
        indent: &str,
        index: usize,
        op: &Op<'_>,
        table: &Tables,
        out: &mut String,
    ) -> Result<(), Refusal> {
        let Some(number) = OPERATIONS.iter().position(|name| *name == op.name) else {
            return refuse(format!("Invalid operation type: {}", op.name));
        };
        // The channel type is looked at before anything is printed: a bad one refuses a `nop` too.
        let kind = op.channel_type.as_deref().map_or(Ok(Kind::None), Kind::parse)?;
        if self.form == Form::Normal && op.name == "nop" {
            return Ok(());
        }
        out.write_str(indent)?;
        if self.form != Form::Normal {
            write!(out, "{index} ")?;
        }
        write!(out, "{}({number})", op.name)?;
        if kind != Kind::None {
            write!(out, " via {}", kind.name())?;
        }
        self.channels(op, kind, table, out)?;
        let group = match op.tbg_info {
            Some(group) => (group.tb_id as u32, group.tbg_size as u32),
            None => (0, 1),
        };
        if group.1 == 0 {
            return refuse("Thread block group size must be greater than 0");
        }
        for (word, buffs) in [("in", &op.src_buff), ("out", &op.dst_buff)] {
            if buffs.is_empty() {
                continue;
            }
            write!(out, " {word}[")?;
            for (position, buff) in buffs.iter().take(10).enumerate() {
                out.push_str(if position == 0 { "" } else { " " });
                self.buffer(buff, kind, group, table, out)?;
            }
            out.push(']');
        }
        self.rest(op, out)?;
        out.push('\n');
        Ok(())
    }

    fn channels(&self, op: &Op<'_>, kind: Kind, table: &Tables, out: &mut String) -> fmt::Result {
        if op.channel_ids.is_empty() {
            return Ok(());
        }
        let list = table.of_kind(kind);
        let mut names: Vec<String> = op
            .channel_ids
            .iter()
            .take(8)
            .map(|local| match usize::try_from(*local).ok().and_then(|local| list.get(local)) {
                Some(id) => self.identities.name(kind, *id),
                None => format!("LOCAL_OUT_OF_RANGE({local})"),
            })
            .collect();
        let unordered = matches!(&*op.name, "signal" | "wait" | "rlxsignal" | "rlxwait" | "flush");
        if self.form != Form::Plain && unordered {
            names.sort();
        }
        write!(out, " ch[{}]", names.join(" "))
    }

    fn buffer(
        &self,
        buff: &Buff<'_>,
        kind: Kind,
        group: (u32, u32),
        table: &Tables,
        out: &mut String,
    ) -> Result<(), Refusal> {
        let mut buffer = "none";
        let mut place = format!("r{}.none", self.rank);
        if let Some(own) = &buff.buffer {
            buffer = buffer_type(own)?;
            place = format!("r{}.{buffer}", self.rank);
        }
        if let Some(local) = buff.buffer_id {
            let list = match kind {
                Kind::Memory => &table.memory_buffers,
                Kind::Port => &table.port_buffers,
                Kind::Switch | Kind::None => return refuse("Invalid channel type"),
            };
            match usize::try_from(local).ok().and_then(|local| list.get(local)) {
                Some(Some((peer, their))) => {
                    buffer = *their;
                    place = format!("r{peer}.{their}");
                }
                Some(None) => place = format!("{}:OUT_OF_RANGE({local})", kind.name()),
                None => place = format!("LOCAL_OUT_OF_RANGE({local})"),
            }
        }
        if let Some(local) = buff.switch_channel_id {
            let id = usize::try_from(local).ok().and_then(|local| table.switch.get(local));
            let bound = id.and_then(|id| self.identities.switches.get(usize::try_from(*id).ok()?));
            match (id, bound) {
                (Some(id), Some(bound)) => {
                    buffer = *bound;
                    place = format!("switch#{id}.{bound}");
                }
                (Some(id), None) => place = self.identities.name(Kind::Switch, *id),
                (None, _) => place = format!("LOCAL_OUT_OF_RANGE({local})"),
            }
        }
        let (offset, size) = self.sizes.extent(buff, buffer, group);
        write!(out, "{place}+{offset}:{size}")?;
        Ok(())
    }

    fn rest(&mut self, op: &Op<'_>, out: &mut String) -> Result<(), Refusal> {
        if op.name == "barrier" {
            let id = self.barriers.number(self.form, op.barrier_id.unwrap_or(0));
            write!(out, " barrier {id} n {}", op.num_threadblocks.unwrap_or(0))?;
        }
        if matches!(&*op.name, "sem_acquire" | "sem_release") {
            let ids: Vec<String> = op
                .semaphore_ids
                .iter()
                .take(16)
                .map(|id| self.semaphores.number(self.form, *id).to_string())
                .collect();
            write!(out, " sem[{}]", ids.join(" "))?;
        }
        if let Some(window) = &op.iter_context {
            let unit = u64::from(window.unit_size as u32);
            if unit == 0 {
                return refuse("Pipeline unit size must be greater than 0");
            }
            let units = self.sizes.input / self.sizes.alignment;
            let chunk = units.div_ceil(u64::from(self.sizes.input_chunks)) * self.sizes.alignment;
            let bytes = (window.num_chunks as u64).wrapping_mul(chunk);
            write!(out, " unit {unit} iters {}", bytes.div_ceil(unit) as u32)?;
            if self.form != Form::Normal {
                write!(out, " nops {}", op.ops.len())?;
            }
        }
        if let Some(reduce) = &op.reduce_op {
            write!(out, " {reduce}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    fn list(text: &str, settings: Settings) -> String {
        let plan = super::super::parse(FileId(0), text).expect("a plan");
        let mut out = String::new();
        listing(&plan, &settings, &mut out).expect("a string takes all");
        out
    }

    fn golden(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens");
        std::fs::read_to_string(format!("{folder}/{name}")).expect("a golden")
    }

    #[test]
    fn one_rank_only() {
        let text = golden("single_node_allgather__default.json");
        let both = golden("single_node_allgather__default.listing");
        let second = both.find("plan").and_then(|_| both.rfind("plan ")).unwrap();
        assert_eq!(list(&text, Settings { rank: Some(1), ..Settings::default() }), both[second..]);
    }

    #[test]
    fn a_rank_that_is_not_there_is_refused() {
        let text = golden("single_node_allgather__default.json");
        assert_eq!(
            list(&text, Settings { rank: Some(7), ..Settings::default() }),
            "REJECT rank 7: GPU rank does not match (mscclpp failure: ExecutorError)\n"
        );
    }

    #[test]
    fn bytes_a_chunk_scale_offsets() {
        let text = golden("single_node_allgather__default.json");
        let settings = Settings { rank: Some(1), chunk_bytes: 1 << 31, form: Form::Plain };
        let listed = list(&text, settings);
        assert!(listed.contains("bytes in 2147483648 out 4294967296"), "{listed}");
        assert!(listed.contains("in[r1.o+2147483648:2147483648]"), "{listed}");
    }

    #[test]
    fn bytes_that_are_no_multiple_of_the_alignment_are_refused() {
        let text = golden("single_node_allgather__default.json");
        let listed = list(&text, Settings { chunk_bytes: 24, ..Settings::default() });
        assert_eq!(listed.lines().filter(|line| line.starts_with("REJECT rank")).count(), 2);
        assert!(listed.contains("is not aligned"), "{listed}");
    }

    #[test]
    fn the_normal_form_drops_what_may_differ() {
        let text = golden("unit_tests_tbg_tbg_reduce_fuse_test__default.json");
        let listed = list(&text, Settings { form: Form::Normal, ..Settings::default() });
        assert!(!listed.contains("nop(0)") && !listed.contains(" ops "), "{listed}");
        assert!(!listed.contains(" min ") && !listed.contains("scratch_alloc"), "{listed}");
        let signals = golden("single_node_allgather__default.json");
        let listed =
            list(&signals, Settings { form: Form::Normal, rank: Some(0), ..Settings::default() });
        assert!(listed.contains("\n  rlxsignal(23) via mem ch[mem:r1#0]\n"), "{listed}");
        assert!(listed.contains("\nremote r1.o via mem\n"), "{listed}");
    }

    #[test]
    fn faulty_plans_are_shown() {
        let text = golden("single_node_allgather__default.json")
            .replacen("\"buffer_id\": 0", "\"buffer_id\": 9", 1)
            .replacen(
                "\"connected_to\": [\n            1\n",
                "\"connected_to\": [\n            1, 1\n",
                1,
            );
        let listed = list(&text, Settings::default());
        assert!(listed.contains("out[LOCAL_OUT_OF_RANGE(9)+0:4096]"), "{listed}");
        assert!(listed.contains("channels mem 2 0:r1 1:r1\n"), "{listed}");
        assert!(listed.contains("unpaired mem 1 r0\n"), "{listed}");
    }

    #[test]
    fn a_bad_channel_type_anywhere_refuses_every_rank() {
        let text = golden("single_node_allgather__default.json").replacen(
            "\"channel_type\": \"memory\",\n          \"connected_to\"",
            "\"channel_type\": \"mem\",\n          \"connected_to\"",
            1,
        );
        let listed = list(&text, Settings::default());
        assert_eq!(listed.matches("Invalid channel type (mscclpp failure").count(), 2, "{listed}");
    }
}
