//! Reading any MSCCL++ plan's JSON into the concrete program.
//!
//! In: a file's text. Out: the program, with explicit joins and places in the plan, and what is wrong with the file as
//! a plan. What MSCCL++'s loader refuses is an error here, and so is what it accepts but then fails on: ids that name
//! nothing, operands that do not fit their operation, chunks beyond their buffer. Such an operation is left out of the
//! program. A plan says neither what its collective promises nor how its buffers share memory in place: the caller adds
//! both. Whether a well-formed plan runs correctly is for `check` to say.
//!
//! A plan does not say which memory channel a `put` uses, only which buffer it writes to;
//! `operations` infers the channel.

mod frames;
mod operands;
mod operations;
mod unnamed;

use super::message;
use super::names::kind_name;
use super::{Block, Gpu, Plan};
use crate::check::limits::{CHANNELS_OF_BLOCK, REMOTE_BUFFERS};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::source::{FileId, Place, PlanPlace};
use crate::table::Table;
use frames::{ByKind, Frame, pair};
use operations::Operations;
use std::collections::BTreeMap;
use std::sync::Arc;
use unnamed::Unnamed;

/// Reads a plan. There is no program if the file's frame is wrong: its JSON, its ranks, channels or remote buffers.
#[must_use]
pub fn read(file: FileId, text: &str) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let whole = read_with_lists(file, text);
    (whole.program, whole.diagnostics)
}

/// A plan that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its program.
    pub program: Option<ir::Program>,
    /// What is wrong with the file as a plan.
    pub diagnostics: Vec<Diagnostic>,
    /// Blocks whose lists are longer than the loader has room for: it copies what is
    /// listed, used or not. `check` counts what is used.
    pub lists: Vec<Diagnostic>,
}

/// The same, and reports lists that are too long.
#[must_use]
pub fn read_with_lists(file: FileId, text: &str) -> Read {
    let plan = match super::parse(file, text) {
        Ok(plan) => plan,
        Err(diagnostic) => {
            return Read { program: None, diagnostics: vec![*diagnostic], lists: Vec::new() };
        }
    };
    let mut reader = Reader {
        plan: &plan,
        file,
        origins: ir::Origins::default(),
        reports: Reports::default(),
        lists: Reports::default(),
    };
    if plan.gpus.is_empty() {
        reader.reports.add(no_ranks());
    }
    let options = reader.options();
    let frames: Vec<Option<Frame>> =
        (0..).zip(&plan.gpus).map(|(rank, gpu)| reader.frame(rank, gpu)).collect();
    let frames: Option<Vec<Frame>> = frames.into_iter().collect();
    let (Some(options), Some(mut frames), false) = (options, frames, plan.gpus.is_empty()) else {
        let diagnostics = reader.reports.finish(file);
        return Read { program: None, diagnostics, lists: Vec::new() };
    };
    pair(&mut frames);
    reader.meet(&frames);
    let ranks: Table<ir::RankId, ir::Rank> = (0..)
        .zip(&plan.gpus)
        .zip(frames)
        .map(|((rank, gpu), frame)| reader.rank(rank, gpu, frame))
        .collect();
    let mut program = ir::Program {
        collective: ir::Collective {
            name: plan.collective.to_string(),
            arguments: Vec::new(),
            in_place: plan.inplace,
            op: common_reduction(&ranks),
            place: None,
        },
        options,
        ranks,
        ranks_per_node: plan.gpus.len() as u32,
        ranks_per_domain: plan.gpus.len() as u32,
        machine: None,
        origins: reader.origins,
        joins: ir::Joins::Explicit,
        flush_waits: false,
        instances_done: 1,
        chunk_size: None,
    };
    let most = program.options.max_message_size;
    program.options.max_message_size = most.map(|bytes| message::in_program(&program, bytes));
    let (diagnostics, lists) = (reader.reports.finish(file), reader.lists.finish(file));
    Read { program: Some(program), diagnostics, lists }
}

/// The operator of all reductions of a plan, which does not say what its collective's is. Where they differ, it is the
/// only one that the executor has.
fn common_reduction(ranks: &Table<ir::RankId, ir::Rank>) -> ir::ReduceOp {
    let transfers = ranks.iter().flat_map(ir::Rank::all_ops).filter_map(ir::Op::transfer);
    let mut all = transfers.filter(|one| one.verb.reduces()).map(|one| one.reduce);
    let first = all.next().unwrap_or_default();
    if all.all(|other| other == first) { first } else { ir::ReduceOp::Sum }
}

/// How many characters of an unknown word are shown.
const MOST_SHOWN: usize = 40;

/// The part of the plan that a report is about.
#[derive(Clone, Copy)]
struct At {
    rank: u32,
    block: Option<u32>,
    op: Option<u32>,
}

impl At {
    fn rank(rank: u32) -> At {
        At { rank, block: None, op: None }
    }
}

/// The mistakes found, each once: a generated file repeats a mistake on every rank.
#[derive(Default)]
struct Reports {
    found: Vec<(Diagnostic, u32)>,
    rows: BTreeMap<String, usize>,
}

impl Reports {
    fn add(&mut self, diagnostic: Diagnostic) {
        let next = self.found.len();
        let row = *self.rows.entry(diagnostic.message.clone()).or_insert(next);
        match self.found.get_mut(row) {
            Some((_, others)) => *others += 1,
            None => self.found.push((diagnostic, 0)),
        }
    }

    fn finish(self, file: FileId) -> Vec<Diagnostic> {
        let all = self.found.into_iter().map(|(diagnostic, others)| match others {
            0 => diagnostic,
            1 => diagnostic.note("the same in 1 other place"),
            _ => diagnostic.note(format!("the same in {others} other places")),
        });
        all.map(|diagnostic| diagnostic.in_plan(file)).collect()
    }
}

/// The kind of channel that "memory", "port" or "switch" names; the loader's "none" is not a kind of channel.
fn channel_kind(text: &str) -> Option<ir::ChannelKind> {
    match text {
        "memory" => Some(ir::ChannelKind::Memory),
        "port" => Some(ir::ChannelKind::Port),
        "switch" => Some(ir::ChannelKind::Switch),
        _ => None,
    }
}

fn buffer(text: &str) -> Option<ir::Buffer> {
    match text {
        "i" => Some(ir::Buffer::Input),
        "o" => Some(ir::Buffer::Output),
        "s" => Some(ir::Buffer::Scratch),
        _ => None,
    }
}

/// A word of the file as a message shows it, shortened if it is long.
fn short(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// The state of reading one plan.
struct Reader<'p, 'a> {
    plan: &'p Plan<'a>,
    file: FileId,
    origins: ir::Origins,
    reports: Reports,
    lists: Reports,
}

impl Reader<'_, '_> {
    fn place(&self, at: At) -> Place {
        let rank = Some(at.rank);
        Place::Plan(PlanPlace { file: self.file, rank, block: at.block, op: at.op })
    }

    fn origin(&mut self, at: At) -> ir::OriginId {
        let place = self.place(at);
        self.origins.rows.push(ir::Origin { place, binding: None })
    }

    fn report(&mut self, at: At, message: impl Into<String>) {
        let diagnostic = Diagnostic::new(Code::E0902, self.place(at), message);
        self.reports.add(diagnostic);
    }

    fn channel_kind(&mut self, at: At, text: &str) -> Option<ir::ChannelKind> {
        let kind = channel_kind(text);
        if kind.is_none() {
            self.report(at, format!("`{}` is not a channel type", short(text)));
        }
        kind
    }

    fn options(&mut self) -> Option<ir::Options> {
        let plan = self.plan;
        let threads = u32::try_from(plan.num_threads_per_block).ok().filter(|threads| *threads > 0);
        let alignment = u32::try_from(plan.buffer_alignment).ok().filter(|bytes| *bytes > 0);
        if threads.is_none() {
            self.reports.add(bad_option("num_threads_per_block", plan.num_threads_per_block));
        }
        if let Some(threads) = threads.filter(|threads| *threads > ir::MOST_THREADS) {
            self.reports.add(too_many_threads(threads));
        }
        if alignment.is_none() {
            self.reports.add(bad_option("buffer_alignment", plan.buffer_alignment));
        }
        Some(ir::Options {
            name: plan.name.to_string(),
            protocol: if plan.protocol == "LL" { ir::Protocol::Ll } else { ir::Protocol::Simple },
            threads: threads?,
            // A plan whose author set no limits has the smallest and the largest number here.
            min_message_size: Some(plan.min_message_size).filter(|bytes| *bytes > 0),
            max_message_size: Some(plan.max_message_size).filter(|bytes| *bytes < u64::MAX),
            alignment: alignment?,
            double_scratch: plan.use_double_scratch_buffer,
            reuse_resources: plan.reuse_resources,
            fuse: false,
            auto_sync: false,
            ..ir::Options::default()
        })
    }

    fn rank(&mut self, rank: u32, gpu: &Gpu<'_>, frame: Frame) -> ir::Rank {
        for semaphore in &gpu.semaphores {
            if i32::try_from(semaphore.init_value).is_err() {
                self.reports.add(bad_start(semaphore.init_value));
            }
        }
        let semaphores = (0..)
            .zip(&gpu.semaphores)
            .map(|(id, semaphore): (u32, _)| ir::Semaphore {
                name: format!("semaphore {id}").into(),
                initial: semaphore.init_value,
                origin: self.origin(At::rank(rank)),
                shared: false,
            })
            .collect();
        let mut barriers = BTreeMap::new();
        let mut blocks = Table::default();
        for (id, block) in (0..).zip(&gpu.threadblocks) {
            let row = self.block(
                At { rank, block: Some(id), op: None },
                block,
                gpu,
                &frame,
                &mut barriers,
            );
            blocks.push(row);
        }
        let barrier_count = barriers.keys().next_back().map_or(0, |id: &u32| id + 1);
        let barriers =
            (0..barrier_count).map(|id| barriers.remove(&id).unwrap_or_default()).collect();
        ir::Rank { semaphores, barriers, blocks, ..frame.rank }
    }

    fn block(
        &mut self,
        at: At,
        block: &Block<'_>,
        gpu: &Gpu<'_>,
        frame: &Frame,
        barriers: &mut BTreeMap<u32, Vec<ir::BlockId>>,
    ) -> ir::Block {
        let position = at.block.unwrap_or(0);
        if block.id != i64::from(position) {
            let message = format!(
                "`id` is {} in entry {position} of `threadblocks`: blocks are listed in order",
                block.id
            );
            self.report(at, message);
        }
        let origin = self.origin(at);
        let lists = self.block_lists(at, block, frame);
        let read = |lists: operations::Lists| {
            let channels = lists.channels.memory.iter();
            let peer =
                |id: &ir::ChannelId| frame.rank.channels.lookup(*id).and_then(ir::Channel::peer);
            let remotes = &lists.remotes.memory;
            let mut operations = Operations {
                unnamed: Unnamed::new(&block.ops, channels.map(peer).collect(), remotes),
                lists,
                reader: self,
                frame,
                semaphores: gpu.semaphores.len(),
                barriers,
                at,
                next: 0,
            };
            operations.read(&block.ops)
        };
        let ops = lists.map_or_else(Vec::new, read);
        ir::Block { name: Arc::from(position.to_string()), ops, origin }
    }

    /// The lists into which a block's operations index; none if a list names something that does not exist,
    /// since the operations would only report it again.
    fn block_lists(
        &mut self,
        at: At,
        block: &Block<'_>,
        frame: &Frame,
    ) -> Option<operations::Lists> {
        let mut lists = operations::Lists::default();
        let mut whole = true;
        for entry in &block.channels {
            let Some(kind) = self.channel_kind(at, &entry.channel_type) else { continue };
            let known = frame.by_kind.get(kind);
            let row = |id: &i64| usize::try_from(*id).ok().and_then(|id| known.get(id)).copied();
            if let Some(id) = entry.channel_ids.iter().find(|id| row(id).is_none()) {
                let (kind, count) = (&entry.channel_type, known.len());
                self.report(at, format!("there is no {kind} channel {id}: the rank has {count}"));
                whole = false;
            }
            lists.channels.get_mut(kind).extend(entry.channel_ids.iter().filter_map(row));
        }
        for entry in &block.remote_buffer_refs {
            let Some(kind) = self.channel_kind(at, &entry.access_channel_type) else { continue };
            let row = |id: &i64| usize::try_from(*id).ok().and_then(|id| frame.remotes.get(id));
            if let Some(id) = entry.remote_buffer_ids.iter().find(|id| row(id).is_none()) {
                let count = frame.remotes.len();
                self.report(at, format!("there is no remote buffer {id}: the rank has {count}"));
                whole = false;
            }
            let lacks = |id: &&i64| row(id).is_some_and(|remote| !remote.kinds.contains(&kind));
            if let Some(id) = entry.remote_buffer_ids.iter().find(lacks) {
                let name = &entry.access_channel_type;
                self.report(at, format!("remote buffer {id} is not there for {name} channels: its `access_channel_types` lack \"{name}\""));
            }
            let remotes = entry.remote_buffer_ids.iter().filter_map(row);
            lists.remotes.get_mut(kind).extend(remotes.map(|remote| (remote.rank, remote.buffer)));
        }
        for kind in [ir::ChannelKind::Memory, ir::ChannelKind::Port, ir::ChannelKind::Switch] {
            let (channels, remotes) =
                (lists.channels.get(kind).len(), lists.remotes.get(kind).len());
            if channels > CHANNELS_OF_BLOCK {
                let what = format!("{channels} {} channels", kind_name(kind));
                self.lists.add(long_list(Code::E0802, self.place(at), &what, CHANNELS_OF_BLOCK));
            }
            if remotes > REMOTE_BUFFERS {
                let what = format!("{remotes} remote buffers for {} channels", kind_name(kind));
                self.lists.add(long_list(Code::E0803, self.place(at), &what, REMOTE_BUFFERS));
            }
        }
        whole.then_some(lists)
    }
}

fn no_ranks() -> Diagnostic {
    Diagnostic::without_place(Code::E0902, "`gpus` is empty: the plan is for no rank")
        .note("the executor looks for its own rank there")
}

fn bad_option(key: &str, value: i64) -> Diagnostic {
    Diagnostic::without_place(
        Code::E0902,
        format!("`{key}` is {value}; it must be a positive 32-bit number"),
    )
}

fn bad_start(value: i64) -> Diagnostic {
    let message = format!("`init_value` is {value}; it must be a 32-bit number");
    Diagnostic::without_place(Code::E0902, message)
}

fn long_list(code: Code, place: Place, what: &str, most: usize) -> Diagnostic {
    let message =
        format!("this block lists {what}; MSCCL++'s executor has room for {most} in one block");
    Diagnostic::new(code, place, message)
        .note("its loader copies every entry, used or not, and does not check how many there are")
        .help("list only what the block's operations use, and spread it over several blocks if it is still too much")
}

fn too_many_threads(threads: u32) -> Diagnostic {
    Diagnostic::without_place(
        Code::E0312,
        format!(
            "`num_threads_per_block` is {threads}; a GPU runs 1 to {} in a block",
            ir::MOST_THREADS
        ),
    )
    .note("a kernel with more of them cannot be launched")
}

#[cfg(test)]
mod tests;
