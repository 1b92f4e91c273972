//! The operations of one block of a plan.
//!
//! In: the block's operations and the lists into which they index. Out: operations of the concrete
//! program. One whose operands do not fit its name is reported and left out. Operations are numbered
//! as in the executor: a pipeline, then its body.
//!
//! A transfer over memory names no channel in a plan: [`super::unnamed`] finds it. If the block lists none, the operation
//! names no channels.

use super::operands::{self, are_in_place, find_verb, have_partners};
use super::unnamed::Unnamed;
use super::{At, Frame, Reader, short};
use crate::ir;
use crate::plan::names::operation_name;
use crate::plan::{Buff, OPERATIONS, Op};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The lists into which a block's operations index.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) channels: super::ByKind<Vec<ir::ChannelId>>,
    pub(super) remotes: super::ByKind<Vec<(ir::RankId, ir::Buffer)>>,
}

/// The state of reading one block.
pub(super) struct Operations<'r, 'p, 'a> {
    pub(super) reader: &'r mut Reader<'p, 'a>,
    pub(super) frame: &'r Frame,
    /// How many semaphores the rank has.
    pub(super) semaphores: usize,
    pub(super) lists: Lists,
    pub(super) unnamed: Unnamed,
    pub(super) barriers: &'r mut BTreeMap<u32, Vec<ir::BlockId>>,
    pub(super) at: At,
    /// The number of the next operation.
    pub(super) next: u32,
}

/// Barrier ids are rows of a table, so they are bounded. The executor has 16
/// barriers; a larger number than this is a mistake.
const MOST_BARRIERS: i64 = 4096;

/// What is wrong with an operation.
type Wrong = String;

impl Operations<'_, '_, '_> {
    pub(super) fn read(&mut self, ops: &[Op<'_>]) -> Vec<ir::Op> {
        self.body(ops, true)
    }

    fn body(&mut self, ops: &[Op<'_>], outermost: bool) -> Vec<ir::Op> {
        let mut rows = Vec::with_capacity(ops.len());
        for op in ops {
            let at = At { op: Some(self.next), ..self.at };
            self.next += 1;
            match self.action(op, outermost) {
                Ok(action) => {
                    if let ir::Action::Transfer(transfer) = &action {
                        let place = self.reader.place(at);
                        let found = operands::mistake(&op.name, transfer, place);
                        found.into_iter().for_each(|report| self.reader.reports.add(report));
                    }
                    let origin = self.reader.origin(at);
                    rows.push(ir::Op { action, origin, sync: None });
                }
                Err(wrong) => self.reader.report(at, wrong),
            }
        }
        rows
    }

    fn action(&mut self, op: &Op<'_>, outermost: bool) -> Result<ir::Action, Wrong> {
        if !OPERATIONS.contains(&&*op.name) {
            return Err(format!("MSCCL++'s executor has no operation `{}`", short(&op.name)));
        }
        Ok(match &*op.name {
            "nop" => ir::Action::Sync,
            "barrier" => self.barrier(op)?,
            "signal" => ir::Action::Signal(self.signal(op, false)?),
            "rlxsignal" => ir::Action::Signal(self.signal(op, true)?),
            "wait" => ir::Action::Wait(self.signal(op, false)?),
            "rlxwait" => ir::Action::Wait(self.signal(op, true)?),
            "flush" => ir::Action::Flush(self.signal(op, false)?.channels),
            "sem_acquire" => ir::Action::Acquire(self.semaphores(op)?),
            "sem_release" => ir::Action::Release(self.semaphores(op)?),
            "pipeline" if outermost => self.pipeline(op)?,
            "pipeline" => return Err("a `pipeline` is nested in another".into()),
            _ => ir::Action::Transfer(self.transfer(op)?),
        })
    }

    fn barrier(&mut self, op: &Op<'_>) -> Result<ir::Action, Wrong> {
        let id = op.barrier_id.ok_or("`barrier_id` is missing")?;
        let arrivals = op.num_threadblocks.ok_or("`num_threadblocks` is missing")?;
        if !(0..MOST_BARRIERS).contains(&id) {
            return Err(format!("{id} is not a barrier id"));
        }
        let arrivals = u32::try_from(arrivals)
            .map_err(|_| format!("{arrivals} is not a number of thread blocks"))?;
        let (id, block) = (id as u32, ir::BlockId(self.at.block.unwrap_or(0)));
        let blocks = self.barriers.entry(id).or_default();
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
        Ok(ir::Action::Barrier { id: ir::BarrierId(id), arrivals })
    }

    fn signal(&mut self, op: &Op<'_>, relaxed: bool) -> Result<ir::Signal, Wrong> {
        match self.kind(op)? {
            Some(ir::ChannelKind::Memory | ir::ChannelKind::Port) => {}
            Some(ir::ChannelKind::Switch) | None => {
                return Err(format!("`{}` needs memory or port channels", op.name));
            }
        }
        let channels = self.channels(op)?;
        if channels.is_empty() {
            return Err(format!("`{}` names no channels", op.name));
        }
        Ok(ir::Signal { channels, relaxed })
    }

    fn semaphores(&self, op: &Op<'_>) -> Result<ir::List<ir::SemaphoreId>, Wrong> {
        let count = self.semaphores;
        let row = |id: &i64| {
            let known = u32::try_from(*id).ok().filter(|id| (*id as usize) < count);
            known
                .map(ir::SemaphoreId)
                .ok_or(format!("there is no semaphore {id}: the rank has {count}"))
        };
        if op.semaphore_ids.is_empty() {
            return Err(format!("`{}` names no semaphores", op.name));
        }
        op.semaphore_ids.iter().map(row).collect()
    }

    fn pipeline(&mut self, op: &Op<'_>) -> Result<ir::Action, Wrong> {
        let window = op.iter_context.ok_or("`iter_context` is missing")?;
        let unit = u64::try_from(window.unit_size).ok().filter(|unit| *unit > 0);
        let chunks = u32::try_from(window.num_chunks).ok();
        let chunks = chunks.filter(|chunks| (1..=ir::MOST_WINDOWS).contains(chunks));
        let body = self.body(&op.ops, false);
        Ok(ir::Action::Pipeline(ir::Pipeline {
            unit: unit.ok_or(format!("{} is not a `unit_size`", window.unit_size))?,
            chunks: chunks.ok_or(format!(
                "{} is not a `num_chunks`: a pipeline has 1 to {} chunks",
                window.num_chunks,
                ir::MOST_WINDOWS
            ))?,
            body,
        }))
    }

    fn transfer(&mut self, op: &Op<'_>) -> Result<ir::Transfer, Wrong> {
        let verb = find_verb(&op.name).ok_or(format!("`{}` moves no data", op.name))?;
        let via = self.kind(op)?;
        let sources: SmallVec<[_; 1]> =
            op.src_buff.iter().map(|buff| self.operand(buff, via)).collect::<Result<_, _>>()?;
        let destinations: SmallVec<[_; 1]> =
            op.dst_buff.iter().map(|buff| self.operand(buff, via)).collect::<Result<_, _>>()?;
        if sources.is_empty() || destinations.is_empty() {
            return Err(format!("`{}` lacks a source or a destination", op.name));
        }
        if !are_in_place(verb, &sources, &destinations) {
            return Err(format!("the operands of a `{}` are not where it expects them", op.name));
        }
        if !have_partners(verb, &sources, &destinations) {
            let (from, to) = (sources.len(), destinations.len());
            return Err(format!("`{}` has {from} sources for {to} destinations", op.name));
        }
        // The executor ignores a port that an operation within one rank names.
        let within = sources.iter().chain(&destinations).all(ir::Operand::is_local);
        let via = via.filter(|kind| !within || *kind != ir::ChannelKind::Port);
        let reduce = match op.reduce_op.as_deref() {
            None | Some("sum") => ir::ReduceOp::Sum,
            Some("min") => ir::ReduceOp::Min,
            Some("max") => ir::ReduceOp::Max,
            Some(other) => return Err(format!("there is no reduction `{}`", short(other))),
        };
        let mut transfer = ir::Transfer {
            verb,
            sources,
            destinations,
            via,
            channels: ir::List::new(),
            slice: slice(op)?,
            reduce,
        };
        transfer.channels = self.transfer_channels(op, &transfer)?;
        let name = operation_name(&transfer);
        if name != op.name {
            return Err(format!("the operands of a `{}` are those of a `{name}`", op.name));
        }
        Ok(transfer)
    }

    fn transfer_channels(
        &mut self,
        op: &Op<'_>,
        transfer: &ir::Transfer,
    ) -> Result<ir::List<ir::ChannelId>, Wrong> {
        let operands = || transfer.operands();
        let peers = operands().filter_map(|operand| operand.place.peer());
        match transfer.via {
            Some(ir::ChannelKind::Port) => {
                let channels = self.channels(op)?;
                if channels.len() != peers.clone().count() {
                    return Err(format!(
                        "`{}` does not name a port channel for each destination",
                        op.name
                    ));
                }
                let strays = |(id, peer): (&ir::ChannelId, ir::RankId)| {
                    self.frame.rank.channels.lookup(*id).and_then(ir::Channel::peer) != Some(peer)
                };
                if channels.iter().zip(peers).any(strays) {
                    return Err(format!(
                        "`{}` writes to a rank that the channel it names does not lead to",
                        op.name
                    ));
                }
                Ok(channels)
            }
            Some(ir::ChannelKind::Memory) => {
                let named =
                    if op.channel_ids.is_empty() { ir::List::new() } else { self.channels(op)? };
                if !named.is_empty() && named.len() == peers.clone().count() {
                    return Ok(named);
                }
                let peers: SmallVec<[ir::RankId; 8]> = peers.collect();
                Ok(peers
                    .iter()
                    .map(|peer| self.memory_channel(*peer))
                    .collect::<Option<_>>()
                    .unwrap_or_default())
            }
            Some(ir::ChannelKind::Switch) => Ok(operands()
                .filter_map(|operand| match operand.place {
                    ir::Where::Switch(channel) => Some(channel),
                    ir::Where::Local | ir::Where::Remote(_) => None,
                })
                .collect()),
            None => Ok(ir::List::new()),
        }
    }

    /// The memory channel for an operand of `peer`.
    fn memory_channel(&mut self, peer: ir::RankId) -> Option<ir::ChannelId> {
        let position = self.unnamed.take(peer)?;
        self.lists.channels.memory.get(position).copied()
    }

    /// The kind of channel that the operation goes over.
    fn kind(&self, op: &Op<'_>) -> Result<Option<ir::ChannelKind>, Wrong> {
        match op.channel_type.as_deref() {
            None | Some("none") => Ok(None),
            Some(text) => super::channel_kind(text)
                .map(Some)
                .ok_or_else(|| format!("`{}` is not a channel type", short(text))),
        }
    }

    /// The channels that the operation names.
    fn channels(&mut self, op: &Op<'_>) -> Result<ir::List<ir::ChannelId>, Wrong> {
        let Some(kind) = self.kind(op)? else { return Err("`channel_type` is missing".into()) };
        if kind == ir::ChannelKind::Memory {
            let positions = op.channel_ids.iter().filter_map(|local| usize::try_from(*local).ok());
            positions.for_each(|position| self.unnamed.uses(position));
        }
        let list = self.lists.channels.get(kind);
        let row = |local: &i64| {
            let row = usize::try_from(*local).ok().and_then(|local| list.get(local));
            row.copied().ok_or_else(|| beyond("channel", kind, list.len()))
        };
        op.channel_ids.iter().map(row).collect()
    }

    fn operand(&self, buff: &Buff<'_>, via: Option<ir::ChannelKind>) -> Result<ir::Operand, Wrong> {
        let (place, buffer) = self.buffer(buff, via)?;
        let owner = place.peer().map_or(self.at.rank, |peer| peer.0);
        let (Ok(index), Ok(size)) = (u32::try_from(buff.index), u32::try_from(buff.size)) else {
            return Err(format!(
                "`index` {} and `size` {} are not a range of chunks",
                buff.index, buff.size
            ));
        };
        let chunks = self.reader.plan.gpus.get(owner as usize).map_or(0, |gpu| match buffer {
            ir::Buffer::Input => gpu.input_chunks,
            ir::Buffer::Output => gpu.output_chunks,
            ir::Buffer::Scratch => gpu.scratch_chunks,
        });
        let last = i64::from(index) + i64::from(size) - 1;
        if size == 0 || last >= chunks {
            let name = buffer.word();
            return Err(match size {
                0 => format!("`size` 0 at chunk {index} of `{name}` moves nothing"),
                1 => format!("chunk {index} is outside `{name}`, which has {chunks}"),
                _ => format!(
                    "chunks {index} to {last} are not all inside `{name}`, which has {chunks}"
                ),
            });
        }
        Ok(ir::Operand { place, buffer, index, size })
    }

    fn buffer(
        &self,
        buff: &Buff<'_>,
        via: Option<ir::ChannelKind>,
    ) -> Result<(ir::Where, ir::Buffer), Wrong> {
        if let Some(local) = buff.switch_channel_id {
            let row =
                usize::try_from(local).ok().and_then(|local| self.lists.channels.switch.get(local));
            let count = self.lists.channels.switch.len();
            let id =
                row.copied().ok_or_else(|| beyond("channel", ir::ChannelKind::Switch, count))?;
            return match self.frame.rank.channels.lookup(id).map(|channel| &channel.link) {
                Some(ir::Link::Switch(group)) => Ok((ir::Where::Switch(id), group.buffer)),
                Some(ir::Link::Memory(_) | ir::Link::Port(_)) | None => {
                    Err(format!("the block has no switch channel {local}"))
                }
            };
        }
        if let Some(local) = buff.buffer_id {
            let kind = match via {
                Some(kind @ (ir::ChannelKind::Memory | ir::ChannelKind::Port)) => kind,
                Some(ir::ChannelKind::Switch) | None => {
                    return Err("a remote buffer needs a memory or port channel".into());
                }
            };
            let list = self.lists.remotes.get(kind);
            let row = usize::try_from(local).ok().and_then(|local| list.get(local));
            let (rank, buffer) =
                row.copied().ok_or_else(|| beyond("remote buffer", kind, list.len()))?;
            return Ok((ir::Where::Remote(rank), buffer));
        }
        let text = buff
            .buffer
            .as_deref()
            .ok_or("a buffer has no `type`, `buffer_id` or `switch_channel_id`")?;
        let buffer =
            super::buffer(text).ok_or_else(|| format!("`{}` is not a buffer type", short(text)))?;
        Ok((ir::Where::Local, buffer))
    }
}

/// An index beyond a block's list. The message does not name the index, so that a list that is too short is one
/// mistake, however many operations index into it.
fn beyond(what: &str, kind: ir::ChannelKind, count: usize) -> Wrong {
    let list = match kind {
        ir::ChannelKind::Memory => "memory",
        ir::ChannelKind::Port => "port",
        ir::ChannelKind::Switch => "switch",
    };
    match count {
        0 => format!("the block lists no {what} for `{list}`, and this uses one"),
        1 => format!("the block lists 1 {what} for `{list}`, and this uses one beyond it"),
        _ => {
            format!("the block lists {count} {what}s for `{list}`, and this uses one beyond them")
        }
    }
}

fn slice(op: &Op<'_>) -> Result<Option<ir::Slice>, Wrong> {
    let Some(group) = op.tbg_info else { return Ok(None) };
    let (index, count) = (u32::try_from(group.tb_id), u32::try_from(group.tbg_size));
    match (index, count) {
        (Ok(index), Ok(count)) if index < count && count <= ir::MOST_SLICES => {
            Ok(Some(ir::Slice { index, count }))
        }
        (Ok(index), Ok(count)) if index < count => {
            Err(format!("{count} blocks share an operation: at most {} can", ir::MOST_SLICES))
        }
        _ => Err(format!("there is no part {} of {}", group.tb_id, group.tbg_size)),
    }
}
