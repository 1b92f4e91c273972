//! How much one operation, one block and one rank contain.
//!
//! In: a rank. Out: findings where MSCCL++'s executor has less room. Its loader checks only the 64 operations; beyond
//! the other bounds, the executor writes past its arrays. An operation with a list gives each entry to a thread of its
//! own, so entries beyond the block's threads are not processed. Channels and remote buffers are counted as the plan
//! writer lists them: each one that an operation of the block uses, once.

use super::Limits;
use super::findings::{Findings, Group, Site};
use super::terms::Terms;
use crate::diagnostic::{Change, Code, Diagnostic};
use crate::ir::parts::ObstacleKind;
use crate::ir::{self, MOST_OPS};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Channels of a kind that a block has room for.
pub const CHANNELS_OF_BLOCK: usize = 16;
/// Buffers of other ranks that a block has room for, for each kind of channel.
pub const REMOTE_BUFFERS: usize = 16;
/// Channels that one operation can name (MSCCL++'s `MAX_CHANNEL_PER_OPERATION`).
pub const CHANNELS_OF_OPERATION: usize = 8;
/// Buffers that one operation can read, and that it can write.
pub const BUFFERS_OF_OPERATION: usize = 10;
/// Semaphores that one operation can name.
pub const SEMAPHORES_OF_OPERATION: usize = 16;
const BARRIERS: usize = 16;
/// Buffers of other ranks that the ports of a rank reach: a proxy's request has 9 bits for a memory (MSCCL++'s
/// `TriggerBitsMemoryId`), and the rank's own buffers take three of the numbers.
const REMOTE_BUFFERS_OF_PORTS: usize = (1 << 9) - 3;
/// Port channels of a rank: a request has 10 bits for a semaphore (MSCCL++'s `TriggerBitsSemaphoreId`).
const PORTS: usize = 1 << 10;

pub(super) fn rank(
    findings: &mut Findings<'_>,
    settings: &Limits,
    id: ir::RankId,
    rank: &ir::Rank,
) {
    if rank.blocks.len() > settings.max_blocks as usize {
        let last = rank.blocks.iter().nth(settings.max_blocks as usize);
        let origin = last.map_or(ir::OriginId(u32::MAX), |block| block.origin);
        let site = Site { rank: id, block: last, origin };
        let count = rank.blocks.len();
        let rule = (Code::E0806, "blocks", Group::Program);
        let terms = findings.terms;
        let told = || too_many_blocks(terms, count, settings.max_blocks);
        findings.add(rule, site, count as u64, told);
    }
    let mut uses = Uses { seen: vec![0; rank.channels.len()], ..Uses::default() };
    let mut over_ports: BTreeSet<(ir::RankId, ir::Buffer)> = BTreeSet::new();
    for (block_id, block) in rank.blocks.entries() {
        uses.begin(block_id);
        let count = ir::count_ops(&block.ops);
        let site = Site { rank: id, block: Some(block), origin: block.origin };
        if count > MOST_OPS {
            let rule = (Code::E0801, "operations", Group::Place);
            let terms = findings.terms;
            let obstacle = match terms {
                Terms::Plan => None,
                Terms::Source => ir::parts::parts(&block.ops).err(),
            };
            let pipeline = obstacle.and_then(|found| block.ops.get(found.at));
            let pipeline = pipeline.filter(|op| op.pipeline().is_some());
            let site = pipeline.map_or(site, |op| Site { origin: op.origin, ..site });
            let kind = obstacle.map(|found| found.kind);
            findings.add(rule, site, count as u64, || {
                let report = too_many_operations(&block.name, count);
                continued(report, terms, kind)
            });
        }
        ops(findings, site, rank, &block.ops, &mut uses);
        uses.report(findings, site, rank);
        let [_, ports] = &uses.remotes;
        over_ports.extend(ports);
    }
    ports(findings, id, rank, over_ports.len());
}

/// What the proxy's requests can name, over all blocks of a rank.
fn ports(findings: &mut Findings<'_>, id: ir::RankId, rank: &ir::Rank, buffers: usize) {
    let is_port = |channel: &&ir::Channel| channel.kind() == ir::ChannelKind::Port;
    let Some(first) = rank.channels.iter().find(is_port) else { return };
    let site = Site { rank: id, block: None, origin: first.origin };
    if buffers > REMOTE_BUFFERS_OF_PORTS {
        let rule = (Code::E0803, "of ports", Group::Program);
        findings.add(rule, site, buffers as u64, || too_many_buffers_of_ports(buffers));
    }
    let count = rank.channels.iter().filter(is_port).count();
    if count > PORTS {
        let rule = (Code::E0802, "ports", Group::Program);
        findings.add(rule, site, count as u64, || too_many_ports(count));
    }
}

fn too_many_buffers_of_ports(count: usize) -> Diagnostic {
    let message = format!(
        "a rank reaches {count} buffers of other ranks over ports; MSCCL++'s proxy can name {REMOTE_BUFFERS_OF_PORTS}"
    );
    Diagnostic::without_place(Code::E0803, message)
        .note("a request has 9 bits for a memory, and the rank's own buffers take three numbers; beyond that it names another one")
        .help("let fewer ranks exchange data over ports: in two levels, or in steps over neighbors")
}

fn too_many_ports(count: usize) -> Diagnostic {
    let message =
        format!("a rank has {count} port channels; MSCCL++'s proxy can name {PORTS} semaphores");
    Diagnostic::without_place(Code::E0802, message)
        .note("a request has 10 bits for a semaphore; beyond that it names another one")
        .help("let fewer ranks exchange data over ports, or with fewer instances")
}

/// The channels and remote buffers that one block uses.
#[derive(Default)]
struct Uses {
    /// For each channel, the last block that used it, plus one.
    seen: Vec<u32>,
    block: u32,
    channels: [usize; 3],
    remotes: [SmallVec<[(ir::RankId, ir::Buffer); REMOTE_BUFFERS]>; 2],
}

const KINDS: [(ir::ChannelKind, &str); 3] = [
    (ir::ChannelKind::Memory, "memory"),
    (ir::ChannelKind::Port, "port"),
    (ir::ChannelKind::Switch, "switch"),
];

/// Channels of one family that a block uses.
struct Used<'r> {
    name: &'r str,
    count: usize,
    origin: ir::OriginId,
}

impl Uses {
    fn begin(&mut self, block: ir::BlockId) {
        self.block = block.0.saturating_add(1);
        self.channels = [0; 3];
        self.remotes.iter_mut().for_each(SmallVec::clear);
    }

    fn channel(&mut self, rank: &ir::Rank, id: ir::ChannelId) {
        let (Some(seen), Some(channel)) =
            (self.seen.get_mut(id.0 as usize), rank.channels.lookup(id))
        else {
            return;
        };
        if *seen != self.block {
            *seen = self.block;
            let [memory, port, switch] = &mut self.channels;
            match channel.kind() {
                ir::ChannelKind::Memory => *memory += 1,
                ir::ChannelKind::Port => *port += 1,
                ir::ChannelKind::Switch => *switch += 1,
            }
        }
    }

    fn operand(&mut self, via: Option<ir::ChannelKind>, operand: &ir::Operand) {
        let ir::Where::Remote(rank) = operand.place else { return };
        let [memory, port] = &mut self.remotes;
        let list = if via == Some(ir::ChannelKind::Port) { port } else { memory };
        if !list.contains(&(rank, operand.buffer)) {
            list.push((rank, operand.buffer));
        }
    }

    /// The families of the channels of one kind that the block uses, in order, with the number used of each.
    fn families<'r>(&self, rank: &'r ir::Rank, kind: ir::ChannelKind) -> Vec<Used<'r>> {
        let mut families: Vec<Used<'r>> = Vec::new();
        for (seen, channel) in self.seen.iter().zip(rank.channels.iter()) {
            if *seen != self.block || channel.kind() != kind {
                continue;
            }
            let name = channel.name.split('[').next().unwrap_or_default();
            match families.iter_mut().find(|family| family.name == name) {
                Some(family) => family.count += 1,
                None => families.push(Used { name, count: 1, origin: channel.origin }),
            }
        }
        families
    }

    fn report(&self, findings: &mut Findings<'_>, site: Site<'_>, rank: &ir::Rank) {
        let name = site.block.map_or("", |block| &*block.name);
        for ((kind, word), count) in KINDS.into_iter().zip(self.channels) {
            if count > CHANNELS_OF_BLOCK {
                let rule = (Code::E0802, word, Group::Place);
                let program = findings.program;
                findings.add(rule, site, count as u64, || {
                    too_many_channels(program, name, (word, count), &self.families(rank, kind))
                });
            }
        }
        for (kind, list) in ["memory", "port"].into_iter().zip(&self.remotes) {
            if list.len() > REMOTE_BUFFERS {
                let rule = (Code::E0803, kind, Group::Place);
                let count = list.len();
                findings.add(rule, site, count as u64, || too_many_remotes(name, kind, count));
            }
        }
    }
}

fn ops(
    findings: &mut Findings<'_>,
    site: Site<'_>,
    rank: &ir::Rank,
    ops_: &[ir::Op],
    uses: &mut Uses,
) {
    for op in ops_ {
        let site = Site { origin: op.origin, ..site };
        match &op.action {
            ir::Action::Sync => {}
            ir::Action::Barrier { id, .. } => {
                if id.0 as usize >= BARRIERS {
                    let count = rank.barriers.len();
                    let rule = (Code::E0804, "barriers", Group::Program);
                    findings.add(rule, site, count as u64, || too_many_barriers(count));
                }
            }
            ir::Action::Signal(ir::Signal { channels, .. })
            | ir::Action::Wait(ir::Signal { channels, .. })
            | ir::Action::Flush(channels) => {
                channels.iter().for_each(|channel| uses.channel(rank, *channel));
                channels_of_operation(findings, site, channels.len());
            }
            ir::Action::Acquire(semaphores) | ir::Action::Release(semaphores) => {
                semaphores_of_operation(findings, site, semaphores.len());
            }
            ir::Action::Transfer(transfer) => {
                transfer.channels.iter().for_each(|channel| uses.channel(rank, *channel));
                let operands = transfer.operands();
                operands.for_each(|operand| uses.operand(transfer.via, operand));
                buffers_of_operation(findings, site, transfer);
            }
            ir::Action::Pipeline(pipeline) => ops(findings, site, rank, &pipeline.body, uses),
        }
    }
}

fn channels_of_operation(findings: &mut Findings<'_>, site: Site<'_>, count: usize) {
    if count > CHANNELS_OF_OPERATION {
        let rule = (Code::E0802, "one operation", Group::Place);
        findings.add(rule, site, count as u64, || too_many_channels_at_once(count));
    } else {
        threads_of_operation(findings, site, count, (Code::E0802, "channel"));
    }
}

fn semaphores_of_operation(findings: &mut Findings<'_>, site: Site<'_>, count: usize) {
    if count > SEMAPHORES_OF_OPERATION {
        let rule = (Code::E0804, "semaphores", Group::Place);
        findings.add(rule, site, count as u64, || too_many_semaphores(count));
    } else {
        threads_of_operation(findings, site, count, (Code::E0804, "semaphore"));
    }
}

/// Each entry of a list is for a thread of its own.
fn threads_of_operation(
    findings: &mut Findings<'_>,
    site: Site<'_>,
    count: usize,
    (code, what): (Code, &str),
) {
    let threads = findings.program.options.threads;
    if count > threads as usize {
        let rule = (code, "threads", Group::Program);
        findings.add(rule, site, count as u64, || too_few_threads(code, count, what, threads));
    }
}

fn buffers_of_operation(findings: &mut Findings<'_>, site: Site<'_>, transfer: &ir::Transfer) {
    if transfer.via == Some(ir::ChannelKind::Port) {
        channels_of_operation(findings, site, transfer.channels.len());
    } else if transfer.verb == ir::Verb::Get && transfer.channels.len() > CHANNELS_OF_OPERATION {
        // All threads move each part of a `get`, however few they are.
        let count = transfer.channels.len();
        let rule = (Code::E0802, "one operation", Group::Place);
        findings.add(rule, site, count as u64, || too_many_channels_at_once(count));
    }
    let count = transfer.sources.len().max(transfer.destinations.len());
    if count > BUFFERS_OF_OPERATION {
        let rule = (Code::E0803, "one operation", Group::Place);
        findings.add(rule, site, count as u64, || too_many_buffers_at_once(count));
    }
}

fn too_many_blocks(terms: Terms, count: usize, most: u32) -> Diagnostic {
    let blocks = if count == 1 { "thread block" } else { "thread blocks" };
    let message = format!("a rank has {count} {blocks}; {most} run at once on its GPU");
    Diagnostic::without_place(Code::E0806, message)
        .note("blocks wait for each other, so one that has not started yet can keep all others waiting forever")
        .help(terms.fewer_blocks())
        .help("for a GPU with more multiprocessors, say how many: `--sms`, in an editor the setting `sms`")
}

fn too_many_operations(name: &str, count: usize) -> Diagnostic {
    let message = format!(
        "block `{name}` has {count} operations; MSCCL++'s executor runs at most {MOST_OPS} in one block"
    );
    Diagnostic::without_place(Code::E0801, message)
        .note("the synchronization of its threads and the bodies of its pipelines count too")
}

/// Says how a block that is too long is continued in further ones, or why it is not.
fn continued(report: Diagnostic, terms: Terms, obstacle: Option<ObstacleKind>) -> Diagnostic {
    let by_hand = "spread the steps over several blocks, and order them with semaphores";
    let why = match (terms, obstacle) {
        (Terms::Plan, _) => return report.help(by_hand),
        (Terms::Source, None) => {
            let change = Change::Option { name: "split_blocks", value: "true" };
            let report = report
                .note("with `split_blocks` it is continued in further blocks, one after the other")
                .help(change.title());
            return Diagnostic { change: Some(change), ..report };
        }
        (Terms::Source, Some(ObstacleKind::LongPipeline)) => {
            return report
                .note("longer blocks are continued in further ones, but a pipeline runs in one block, and this one alone is too long")
                .help("let the pipeline have fewer statements, or spread them over pipelines in several blocks");
        }
        (Terms::Source, Some(ObstacleKind::Counter)) => {
            "longer blocks are continued in further ones, but a channel or semaphore of this pipeline is also used elsewhere in the block, and all these uses stay in one block"
        }
        (Terms::Source, Some(ObstacleKind::Barrier)) => {
            "longer blocks are continued in further ones, but all that lies between two meetings at one barrier stays in one block"
        }
    };
    report.note(why).help(by_hand)
}

fn too_many_channels(
    program: &ir::Program,
    name: &str,
    (kind, count): (&str, usize),
    families: &[Used<'_>],
) -> Diagnostic {
    let message = format!(
        "block `{name}` uses {count} {kind} channels; MSCCL++'s executor has room for {CHANNELS_OF_BLOCK} in one block"
    );
    let parts = count.div_ceil(CHANNELS_OF_BLOCK);
    let report = Diagnostic::without_place(Code::E0802, message);
    // Channels of a plan have numbers only.
    let named = families.iter().filter(|family| family.name.parse::<u32>().is_err());
    let Some(most) = named.max_by_key(|family| family.count) else {
        return report.help(format!("spread them over {parts} blocks"));
    };
    let of = if most.count == count { "all".to_owned() } else { most.count.to_string() };
    let block = match name.split_once('[') {
        None => format!("block {name}[t in 0..{parts}]"),
        Some((family, _)) => format!("block {family}[.., t in 0..{parts}]"),
    };
    report.and(program.origins.at(most.origin), format!("{of} of them are `{}`", most.name)).help(format!(
        "let {parts} blocks share `{}`, as `{block}`: `share(list, t, {parts})` of `std::patterns` gives block t its part of the list \
         that it runs over",
        most.name
    ))
}

fn too_many_remotes(name: &str, kind: &str, count: usize) -> Diagnostic {
    let message = format!(
        "block `{name}` reaches {count} buffers of other ranks over {kind} channels; MSCCL++'s executor has room for {REMOTE_BUFFERS} in one block"
    );
    Diagnostic::without_place(Code::E0803, message)
        .help("spread the peers over several blocks, each with its part of them")
}

fn too_many_barriers(count: usize) -> Diagnostic {
    let message =
        format!("a rank has {count} barriers; MSCCL++'s executor has room for {BARRIERS}");
    Diagnostic::without_place(Code::E0804, message)
        .note("each set of blocks that synchronize needs a barrier of its own, once for each instance")
        .help("order blocks with semaphores, whose number is not limited")
}

fn too_many_semaphores(count: usize) -> Diagnostic {
    let message = format!(
        "this names {count} semaphores; MSCCL++'s executor takes at most {SEMAPHORES_OF_OPERATION} in one operation"
    );
    Diagnostic::without_place(Code::E0804, message).help("split the statement in two")
}

fn too_many_channels_at_once(count: usize) -> Diagnostic {
    let message = format!(
        "this names {count} channels; MSCCL++'s executor takes at most {CHANNELS_OF_OPERATION} in one operation"
    );
    Diagnostic::without_place(Code::E0802, message).help("split the statement in two")
}

fn too_few_threads(code: Code, count: usize, what: &str, threads: u32) -> Diagnostic {
    let s = if threads == 1 { "" } else { "s" };
    let left = if count - threads as usize == 1 { "the last is" } else { "the others are" };
    let message = format!(
        "this names {count} {what}s, and a block has {threads} thread{s}; MSCCL++'s executor gives each {what} to a thread \
         of its own, so {left} left out"
    );
    Diagnostic::without_place(code, message)
        .help(format!("let a block have {count} threads or more, or split the operation"))
}

fn too_many_buffers_at_once(count: usize) -> Diagnostic {
    let message = format!(
        "this has {count} operands on one side; MSCCL++'s executor takes at most {BUFFERS_OF_OPERATION} in one operation"
    );
    Diagnostic::without_place(Code::E0803, message).help("split the statement in two")
}
