//! The lines of a rank's thread blocks and their operations.
//!
//! In: a block, the lists into which its operations index, and the names of the rank's channels. Out: a line for the
//! block and one for each operation. Indexes out of range are shown as such.

use super::channels::{Identities, Kind, buffer_type};
use super::sizes::Sizes;
use super::{Form, Refusal, refuse};
use crate::check::limits::{BUFFERS_OF_OPERATION, CHANNELS_OF_OPERATION, SEMAPHORES_OF_OPERATION};
use crate::plan::{Buff, Gpu, OPERATIONS, Op};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// The lists of a block into which its operations index.
#[derive(Default)]
pub(super) struct Tables {
    memory: Vec<i64>,
    port: Vec<i64>,
    switch: Vec<i64>,
    /// Rank and buffer of each remote buffer over memory channels; none for a bad id.
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

/// The tables of all blocks. As in the loader, a block's id says which table is its.
pub(super) fn block_tables(gpu: &Gpu<'_>) -> Result<Vec<Tables>, Refusal> {
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

/// Numbers as they are, or in the normal form by first use.
#[derive(Default)]
pub(super) struct Renumbering {
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
pub(super) struct Blocks<'a> {
    pub(super) rank: u32,
    pub(super) form: Form,
    pub(super) sizes: &'a Sizes,
    pub(super) identities: &'a Identities,
    pub(super) barriers: Renumbering,
    pub(super) semaphores: Renumbering,
}

impl Blocks<'_> {
    pub(super) fn list(
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
            for kind in [Kind::Memory, Kind::Port, Kind::Switch] {
                let names: Vec<String> =
                    table.of_kind(kind).iter().map(|id| self.identities.name(kind, *id)).collect();
                write!(out, " {}[{}]", kind.name(), names.join(" "))?;
            }
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
            return refuse(format!("Invalid operation type: {}", super::quoted(&op.name)));
        };
        // The channel type is parsed before anything is printed, since a bad one makes the loader refuse even a `nop`.
        let kind = op.channel_type.as_deref().map_or(Ok(Kind::None), Kind::parse)?;
        if self.form == Form::Normal && ["nop", "flush"].contains(&&*op.name) {
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
            for (position, buff) in buffs.iter().take(BUFFERS_OF_OPERATION).enumerate() {
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
            .take(CHANNELS_OF_OPERATION)
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
                .take(SEMAPHORES_OF_OPERATION)
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
