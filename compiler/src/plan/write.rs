//! Writing the concrete program as an execution plan's JSON.
//!
//! In: a program whose joins are explicit, rank by rank, so that not all ranks have to be in memory at once. Out:
//! bytes, the same for the same program: one operation on each line, otherwise compact, keys in the order in which
//! MSCCL++'s own tools write them. Numbers are assigned here: a channel's id is its position among those of its kind; a
//! block lists the channels and remote buffers that its operations use, by first use, and operations index into these
//! lists; a rank lists its remote buffers by first use in block order, one for each rank and buffer.
//!
//! Which operation of the plan an [`ir::Transfer`] becomes follows from its verb and the places of its operands. The
//! executor takes operands by position: plain local ones first, then local packets, then those of peers.
//!
//! Nothing is checked: `check::limits` says what the executor cannot run. If the options leave the
//! message sizes open, the plan says 0 and 2^64 - 1.

#[cfg(test)]
mod tests;

use super::message;
use super::names::{
    action_name, buffer_name, kind_name, lists_channels, local_first, protocol_name,
};
use crate::ir;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::io::{self, Write};

/// Writes a program that holds all its ranks.
///
/// # Errors
/// Those of `out`.
pub fn write(program: &ir::Program, out: &mut impl Write) -> io::Result<()> {
    head(program, out)?;
    for (id, row) in program.ranks.entries() {
        rank(id, row, out)?;
    }
    tail(program, out)
}

/// Writes what comes before the ranks.
///
/// # Errors
/// Those of `out`.
pub fn head(program: &ir::Program, out: &mut impl Write) -> io::Result<()> {
    let options = &program.options;
    let protocol = protocol_name(options.protocol);
    out.write_all(b"{\"name\":")?;
    serde_json::to_writer(&mut *out, &options.name)?;
    out.write_all(b",\"collective\":")?;
    serde_json::to_writer(&mut *out, &program.collective.name)?;
    writeln!(
        out,
        ",\"protocol\":\"{protocol}\",\"inplace\":{},\"reuse_resources\":{},\"gpus\":[",
        program.collective.in_place, options.reuse_resources
    )
}

/// Whether a file that begins like this is a plan that was written here: what [`head`] writes is its first line.
#[must_use]
pub fn is_written(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().and_then(|line| str::from_utf8(line).ok());
    let Some(line) = line else { return false };
    let keys =
        ["\",\"collective\":\"", "\",\"protocol\":\"", "\",\"inplace\":", ",\"reuse_resources\":"];
    let mut rest = line.strip_prefix("{\"name\":\"");
    for key in keys {
        rest = rest.and_then(|rest| rest.split_once(key)).map(|(_, behind)| behind);
    }
    rest.is_some_and(|rest| rest.ends_with(",\"gpus\":["))
}

/// Writes one rank. Ranks are written in order, from 0.
///
/// # Errors
/// Those of `out`.
pub fn rank(id: ir::RankId, rank: &ir::Rank, out: &mut impl Write) -> io::Result<()> {
    let mut writer = RankWriter::new(id, rank);
    if id.0 > 0 {
        writer.text(",\n");
    }
    writer.text("{\"id\":");
    writer.number(id.0.into());
    writer.text(",\"input_chunks\":");
    writer.number(rank.input_chunks.into());
    writer.text(",\"output_chunks\":");
    writer.number(rank.output_chunks.into());
    writer.text(",\"scratch_chunks\":");
    writer.number(rank.scratch_chunks.into());
    writer.text(",\"threadblocks\":[");
    for (id, block) in rank.blocks.entries() {
        writer.text(if id.0 > 0 { ",\n" } else { "\n" });
        writer.block(id, block);
    }
    writer.text("],\"channels\":[");
    writer.channels();
    writer.text("],\"remote_buffers\":[");
    writer.remote_buffers();
    writer.text("],\"semaphores\":[");
    for (id, semaphore) in rank.semaphores.entries() {
        writer.text(if id.0 > 0 { ",{\"init_value\":" } else { "{\"init_value\":" });
        writer.text(&semaphore.initial.to_string());
        writer.text("}");
    }
    writer.text("]}");
    out.write_all(&writer.out)
}

/// Writes what comes after the ranks.
///
/// # Errors
/// Those of `out`.
pub fn tail(program: &ir::Program, out: &mut impl Write) -> io::Result<()> {
    let options = &program.options;
    write!(
        out,
        "\n],\"num_threads_per_block\":{},\"use_double_scratch_buffer\":{},\"buffer_alignment\":{}",
        options.threads, options.double_scratch, options.alignment
    )?;
    writeln!(
        out,
        ",\"min_message_size\":{},\"max_message_size\":{}}}",
        options.min_message_size.unwrap_or(0),
        options.max_message_size.map_or(u64::MAX, |bytes| message::in_plan(program, bytes))
    )
}

/// A number that a block assigned to something, and which block did: numbers of other blocks count as absent.
#[derive(Clone, Copy, Default)]
struct Local {
    /// The block's id plus one.
    block: u32,
    number: u32,
}

/// A remote buffer of the rank.
struct Remote {
    rank: ir::RankId,
    buffer: ir::Buffer,
    kinds: SmallVec<[ir::ChannelKind; 2]>,
    /// Its number in the current block, over memory and over port channels.
    locals: [Local; 2],
}

/// The text of one rank, and the numbers assigned so far.
struct RankWriter<'a> {
    id: ir::RankId,
    rank: &'a ir::Rank,
    out: Vec<u8>,
    /// For each channel, its id among those of its kind, and its number in the current block.
    channels: Vec<(u32, Local)>,
    remotes: Vec<Remote>,
    remote_ids: FxHashMap<(ir::RankId, ir::Buffer), u32>,
    /// The current block's id plus one.
    block: u32,
    /// The current block's channels: the kinds by first use, and the ids of each.
    block_channels: SmallVec<[(ir::ChannelKind, Vec<u32>); 3]>,
    /// The current block's remote buffers, in the same form.
    block_remotes: SmallVec<[(ir::ChannelKind, Vec<u32>); 2]>,
}

impl<'a> RankWriter<'a> {
    fn new(id: ir::RankId, rank: &'a ir::Rank) -> RankWriter<'a> {
        let (mut memory, mut port, mut switch) = (0_u32, 0_u32, 0_u32);
        let channels = rank
            .channels
            .iter()
            .map(|channel| {
                let next = match channel.link {
                    ir::Link::Memory(_) => &mut memory,
                    ir::Link::Port(_) => &mut port,
                    ir::Link::Switch(_) => &mut switch,
                };
                *next += 1;
                (*next - 1, Local::default())
            })
            .collect();
        let ops: usize = rank.blocks.iter().map(|block| block.ops.len()).sum();
        RankWriter {
            id,
            rank,
            out: Vec::with_capacity(1024 + 128 * ops),
            channels,
            remotes: Vec::new(),
            remote_ids: FxHashMap::default(),
            block: 0,
            block_channels: SmallVec::new(),
            block_remotes: SmallVec::new(),
        }
    }

    #[inline]
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    #[inline]
    fn number(&mut self, number: u64) {
        if let digit @ 0..10 = number {
            self.out.push(b'0' + digit as u8);
            return;
        }
        let (start, mut rest) = (self.out.len(), number);
        while rest > 0 {
            self.out.push(b'0' + (rest % 10) as u8);
            rest /= 10;
        }
        if let Some(digits) = self.out.get_mut(start..) {
            digits.reverse();
        }
    }

    fn numbers(&mut self, numbers: &[u32]) {
        for (position, number) in numbers.iter().enumerate() {
            if position > 0 {
                self.out.push(b',');
            }
            self.number((*number).into());
        }
    }

    fn block(&mut self, id: ir::BlockId, block: &ir::Block) {
        self.block = id.0 + 1;
        self.block_channels.clear();
        self.block_remotes.clear();
        self.text("{\"id\":");
        self.number(id.0.into());
        self.text(",\"ops\":[");
        self.ops(&block.ops);
        self.text("],\"channels\":[");
        let channels = std::mem::take(&mut self.block_channels);
        self.lists(&channels, "channel_type", "channel_ids");
        self.text("],\"remote_buffer_refs\":[");
        let remotes = std::mem::take(&mut self.block_remotes);
        self.lists(&remotes, "access_channel_type", "remote_buffer_ids");
        self.text("]}");
    }

    fn lists(&mut self, lists: &[(ir::ChannelKind, Vec<u32>)], kind_key: &str, ids_key: &str) {
        for (position, (kind, ids)) in lists.iter().enumerate() {
            self.text(if position > 0 { ",{\"" } else { "{\"" });
            self.text(kind_key);
            self.text("\":\"");
            self.text(kind_name(*kind));
            self.text("\",\"");
            self.text(ids_key);
            self.text("\":[");
            self.numbers(ids);
            self.text("]}");
        }
    }

    fn ops(&mut self, ops: &[ir::Op]) {
        for (position, op) in ops.iter().enumerate() {
            self.text(if position > 0 { ",\n" } else { "\n" });
            self.op(op);
        }
        if !ops.is_empty() {
            self.text("\n");
        }
    }

    fn op(&mut self, op: &ir::Op) {
        self.text("{\"name\":\"");
        self.text(action_name(&op.action));
        self.text("\"");
        match &op.action {
            ir::Action::Sync => self.text("}"),
            ir::Action::Barrier { id, arrivals } => {
                self.text(",\"barrier_id\":");
                self.number(id.0.into());
                self.text(",\"num_threadblocks\":");
                self.number((*arrivals).into());
                self.text("}");
            }
            ir::Action::Signal(signal) | ir::Action::Wait(signal) => {
                self.synchronize(&signal.channels);
            }
            ir::Action::Flush(channels) => self.synchronize(channels),
            ir::Action::Acquire(semaphores) | ir::Action::Release(semaphores) => {
                self.semaphores(semaphores);
            }
            ir::Action::Transfer(transfer) => self.transfer(transfer),
            ir::Action::Pipeline(pipeline) => {
                self.text(",\"iter_context\":{\"unit_size\":");
                self.number(pipeline.unit);
                self.text(",\"num_chunks\":");
                self.number(pipeline.chunks.into());
                self.text("},\"ops\":[");
                self.ops(&pipeline.body);
                self.text("]}");
            }
        }
    }

    fn synchronize(&mut self, channels: &[ir::ChannelId]) {
        self.channel_ids(channels);
        let kind = channels
            .first()
            .and_then(|id| self.rank.channels.lookup(*id))
            .map_or(ir::ChannelKind::Memory, ir::Channel::kind);
        self.text(",\"channel_type\":\"");
        self.text(kind_name(kind));
        self.text("\"}");
    }

    fn semaphores(&mut self, semaphores: &[ir::SemaphoreId]) {
        self.text(",\"semaphore_ids\":[");
        for (position, id) in semaphores.iter().enumerate() {
            self.text(if position > 0 { "," } else { "" });
            self.number(id.0.into());
        }
        self.text("]}");
    }

    fn transfer(&mut self, transfer: &ir::Transfer) {
        let pairing = transfer.verb.row().pairing;
        // Reductions take local operands first, whatever the author's order.
        let (sources, destinations) = match pairing {
            ir::Pairing::Combine => {
                (local_first(&transfer.sources), local_first(&transfer.destinations))
            }
            ir::Pairing::Pairs | ir::Pairing::OneToAll => (
                SmallVec::from_slice(&transfer.sources),
                SmallVec::from_slice(&transfer.destinations),
            ),
        };
        self.text(",\"src_buff\":[");
        let repeats = match (pairing, &*sources) {
            (ir::Pairing::Pairs, [_]) => destinations.len().max(1),
            (ir::Pairing::Pairs | ir::Pairing::OneToAll | ir::Pairing::Combine, _) => 1,
        };
        for repeat in 0..repeats {
            self.text(if repeat > 0 { "," } else { "" });
            self.operands(transfer, &sources);
        }
        self.text("],\"dst_buff\":[");
        self.operands(transfer, &destinations);
        self.text("]");
        if lists_channels(transfer) {
            self.channel_ids(&transfer.channels);
        } else {
            for channel in &transfer.channels {
                self.channel(*channel);
            }
        }
        self.text_of_kind(transfer.via);
        if transfer.verb.reduces() {
            self.text(match transfer.reduce {
                ir::ReduceOp::Sum => ",\"reduce_op\":\"sum\"",
                ir::ReduceOp::Min => ",\"reduce_op\":\"min\"",
                ir::ReduceOp::Max => ",\"reduce_op\":\"max\"",
            });
        }
        if let Some(slice) = transfer.slice {
            self.text(",\"tbg_info\":{\"tb_id\":");
            self.number(slice.index.into());
            self.text(",\"tbg_size\":");
            self.number(slice.count.into());
            self.text("}");
        }
        self.text("}");
    }

    fn text_of_kind(&mut self, kind: Option<ir::ChannelKind>) {
        self.text(match kind {
            Some(ir::ChannelKind::Memory) => ",\"channel_type\":\"memory\"",
            Some(ir::ChannelKind::Port) => ",\"channel_type\":\"port\"",
            Some(ir::ChannelKind::Switch) => ",\"channel_type\":\"switch\"",
            None => "",
        });
    }

    fn channel_ids(&mut self, channels: &[ir::ChannelId]) {
        self.text(",\"channel_ids\":[");
        for (position, channel) in channels.iter().enumerate() {
            self.text(if position > 0 { "," } else { "" });
            let local = self.channel(*channel);
            self.number(local.into());
        }
        self.text("]");
    }

    /// The channel's number in the current block; adds it to the block's list if it is not there.
    fn channel(&mut self, id: ir::ChannelId) -> u32 {
        let block = self.block;
        let kind = self.rank.channels.lookup(id).map_or(ir::ChannelKind::Memory, ir::Channel::kind);
        let Some((ordinal, local)) = self.channels.get_mut(id.0 as usize) else { return 0 };
        if local.block != block {
            *local = Local { block, number: append(&mut self.block_channels, kind, *ordinal) };
        }
        local.number
    }

    /// The remote buffer's number in the current block; adds it to the block's list if it is not there.
    fn remote(&mut self, rank: ir::RankId, buffer: ir::Buffer, kind: ir::ChannelKind) -> u32 {
        let next = self.remotes.len() as u32;
        let id = *self.remote_ids.entry((rank, buffer)).or_insert(next);
        if id == next {
            let (kinds, locals) = (SmallVec::new(), [Local::default(); 2]);
            self.remotes.push(Remote { rank, buffer, kinds, locals });
        }
        let block = self.block;
        let Some(remote) = self.remotes.get_mut(id as usize) else { return 0 };
        if !remote.kinds.contains(&kind) {
            remote.kinds.push(kind);
        }
        let [memory, port] = &mut remote.locals;
        let local = if kind == ir::ChannelKind::Port { port } else { memory };
        if local.block != block {
            *local = Local { block, number: append(&mut self.block_remotes, kind, id) };
        }
        local.number
    }

    fn operands(&mut self, transfer: &ir::Transfer, operands: &[ir::Operand]) {
        for (position, operand) in operands.iter().enumerate() {
            self.text(if position > 0 { "," } else { "" });
            match operand.place {
                ir::Where::Local => {
                    self.text("{");
                    if transfer.via == Some(ir::ChannelKind::Switch) {
                        self.text("\"rank\":");
                        self.number(self.id.0.into());
                        self.text(",");
                    }
                    self.text("\"type\":\"");
                    self.text(buffer_name(operand.buffer));
                    self.text("\"");
                }
                ir::Where::Remote(rank) => {
                    let kind = transfer.via.unwrap_or(ir::ChannelKind::Memory);
                    let local = self.remote(rank, operand.buffer, kind);
                    self.text("{\"buffer_id\":");
                    self.number(local.into());
                }
                ir::Where::Switch(channel) => {
                    let local = self.channel(channel);
                    self.text("{\"switch_channel_id\":");
                    self.number(local.into());
                }
            }
            self.text(",\"index\":");
            self.number(operand.index.into());
            self.text(",\"size\":");
            self.number(operand.size.into());
            self.text("}");
        }
    }

    fn channels(&mut self) {
        let rank = self.rank;
        let mut first = true;
        for kind in [ir::ChannelKind::Memory, ir::ChannelKind::Port] {
            let peers: Vec<u32> = rank
                .channels
                .iter()
                .filter(|channel| channel.kind() == kind)
                .filter_map(|channel| channel.peer().map(|peer| peer.0))
                .collect();
            if peers.is_empty() {
                continue;
            }
            self.text(if first { "\n{\"channel_type\":\"" } else { ",\n{\"channel_type\":\"" });
            self.text(kind_name(kind));
            self.text("\",\"connected_to\":[");
            self.numbers(&peers);
            self.text("]}");
            first = false;
        }
        for channel in &rank.channels {
            let ir::Link::Switch(group) = &channel.link else { continue };
            self.text(if first {
                "\n{\"channel_type\":\"switch\""
            } else {
                ",\n{\"channel_type\":\"switch\""
            });
            self.text(",\"buffer_type\":\"");
            self.text(buffer_name(group.buffer));
            self.text("\",\"rank_groups\":[{\"size\":");
            self.number(group.size.into());
            self.text(",\"ranks\":[");
            let ranks: Vec<u32> = group.ranks.iter().map(|rank| rank.0).collect();
            self.numbers(&ranks);
            self.text("]}]}");
            first = false;
        }
    }

    fn remote_buffers(&mut self) {
        for (position, remote) in std::mem::take(&mut self.remotes).iter().enumerate() {
            self.text(if position > 0 { ",\n{\"rank\":" } else { "\n{\"rank\":" });
            self.number(remote.rank.0.into());
            self.text(",\"type\":\"");
            self.text(buffer_name(remote.buffer));
            self.text("\",\"access_channel_types\":[");
            for (position, kind) in remote.kinds.iter().enumerate() {
                self.text(if position > 0 { ",\"" } else { "\"" });
                self.text(kind_name(*kind));
                self.text("\"");
            }
            self.text("]}");
        }
    }
}

/// Adds an id to the list of its kind and returns its position there.
fn append<const N: usize>(
    lists: &mut SmallVec<[(ir::ChannelKind, Vec<u32>); N]>,
    kind: ir::ChannelKind,
    id: u32,
) -> u32
where
    [(ir::ChannelKind, Vec<u32>); N]: smallvec::Array<Item = (ir::ChannelKind, Vec<u32>)>,
{
    if let Some((_, ids)) = lists.iter_mut().find(|(of_kind, _)| *of_kind == kind) {
        ids.push(id);
        return ids.len() as u32 - 1;
    }
    lists.push((kind, vec![id]));
    0
}
