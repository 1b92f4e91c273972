//! Operations that MSCCL++'s executor lacks, or runs differently from what the program means.
//!
//! In: a rank. Out: findings; of the conditions on a transfer's operands and channel, only the first that fails is
//! reported. The conditions, each from the executor's kernel, on the operations as the plan writer lays them out:
//!
//! * it sums, whatever reduction is requested; `flush` waits for nothing; a load-reduce must store through a switch;
//! * `get` adds each side's offset to the other side, and reads over memory channels only;
//! * a port takes `put`, `put_with_signal`, `put_with_signal_and_flush` and `read_put_packets`; of all transfers, only
//!   those with `signal` in their name signal, and only over a port;
//! * a copy has one source and one destination; all sources of a put over memory are in one buffer;
//! * a reduction has one plain local destination, and one local source where it has remote ones;
//! * packets need twice the scratch, which `LL` sets aside; they ignore a pipeline's windows;
//! * every operation of a pipeline must cover all of its chunks, or the last windows lie beyond the operation;
//! * a part of another buffer is found by ports, peers and switches only where it begins with that buffer;
//! * under `double_scratch`, only packets reach the half of a peer's scratch that is in use;
//! * under `reuse_resources`, the executor keeps the first call's input and output for access from outside the rank.

use super::findings::{Findings, Group, Site};
use super::terms::Terms;
use crate::diagnostic::{Change, Code, Diagnostic, Severity};
use crate::ir;
use crate::source::Place;

pub(super) fn rank(findings: &mut Findings<'_>, id: ir::RankId, rank: &ir::Rank) {
    for block in &rank.blocks {
        let site = Site { rank: id, block: Some(block), origin: block.origin };
        ops(findings, site, &block.ops, None);
    }
}

fn ops(
    findings: &mut Findings<'_>,
    site: Site<'_>,
    ops_: &[ir::Op],
    within: Option<(&ir::Pipeline, ir::OriginId)>,
) {
    for op in ops_ {
        let site = Site { origin: op.origin, ..site };
        match &op.action {
            ir::Action::Flush(_) => flush(findings, site),
            ir::Action::Transfer(transfer) => {
                self::transfer(findings, site, transfer);
                if let Some(within) = within {
                    windowed(findings, site, transfer, within);
                }
            }
            ir::Action::Pipeline(pipeline) => {
                if !pipeline.unit.is_multiple_of(16) || !(1..1 << 32).contains(&pipeline.unit) {
                    let rule = (Code::E0809, "unit", Group::Place);
                    let unit = findings.terms.unit();
                    findings.add(rule, site, 0, || bad_unit(unit, pipeline.unit));
                }
                if within.is_some() {
                    let rule = (Code::E0809, "nested", Group::Place);
                    findings.add(rule, site, 0, nested_pipeline);
                }
                // Deeper nesting cannot be written into a plan; it is reported, not followed.
                if within.is_none() {
                    ops(findings, site, &pipeline.body, Some((pipeline, op.origin)));
                }
            }
            ir::Action::Sync
            | ir::Action::Barrier { .. }
            | ir::Action::Signal(_)
            | ir::Action::Wait(_)
            | ir::Action::Acquire(_)
            | ir::Action::Release(_) => {}
        }
    }
}

fn transfer(findings: &mut Findings<'_>, site: Site<'_>, transfer: &ir::Transfer) {
    let options = &findings.program.options;
    let (protocol, double, reuse) =
        (options.protocol, options.double_scratch, options.reuse_resources);
    let packets = transfer.verb.moves_packets();
    if transfer.verb.reduces() && transfer.reduce != ir::ReduceOp::Sum {
        let rule = (Code::E0807, "reduction", Group::Place);
        let everywhere = findings.program.collective.op == transfer.reduce;
        findings.add(rule, site, 0, || not_a_sum(transfer.reduce, everywhere));
    }
    if packets && protocol == ir::Protocol::Simple {
        let rule = (Code::E0807, "protocol", Group::Program);
        findings.add(rule, site, 0, packets_without_ll);
    }
    if let Some(fault) = fault(transfer) {
        // Packets that are sent on as they are do arrive, as long as the executor has run no other plan before.
        let over_port = transfer.via == Some(ir::ChannelKind::Port);
        let sound =
            transfer.verb == ir::Verb::PutPackets && over_port && findings.terms == Terms::Plan;
        let told = || if sound { warning(lacking(&fault)) } else { lacking(&fault) };
        findings.add((Code::E0807, fault.message, Group::Place), site, 0, told);
    }
    if let Some(inner) = misplaced(findings.program, site.rank, transfer) {
        let rule = (Code::E0807, "part", Group::Place);
        findings.add(rule, site, 0, || elsewhere(inner));
    }
    if double && !packets && misses_the_half(transfer) {
        let rule = (Code::E0810, "double_scratch", Group::Place);
        let name = findings.terms.double_scratch();
        findings.add(rule, site, 0, || wrong_half(name));
    }
    if reuse && let Some(buffer) = kept_buffer(transfer) {
        let rule = (Code::E0810, "reuse_resources", Group::Place);
        findings.add(rule, site, 0, || kept_from_first_call(buffer));
    }
}

/// The buffer that a port, a peer or a switch looks for at the beginning of the one that it is a later part of.
fn misplaced(
    program: &ir::Program,
    here: ir::RankId,
    transfer: &ir::Transfer,
) -> Option<ir::Buffer> {
    let through_port = transfer.via == Some(ir::ChannelKind::Port);
    let inner = |operand: &ir::Operand| {
        let reached = !operand.is_local() || through_port;
        let mut owners = ir::memory::ranks_of(&program.ranks, here, operand.place);
        let part = |id| {
            let alias = program.ranks.lookup(id).and_then(|rank: &ir::Rank| rank.alias);
            alias.is_some_and(|alias| alias.inner == operand.buffer && alias.offset > 0)
        };
        (reached && owners.any(part)).then_some(operand.buffer)
    };
    transfer.operands().find_map(inner)
}

fn flush(findings: &mut Findings<'_>, site: Site<'_>) {
    // In a plan that was read, a flush does nothing, and the checks do not rely on it.
    let read = findings.terms == Terms::Plan;
    let at = findings.program.origins.place(site.origin);
    let told = || if read { warning(useless_flush()) } else { removable(useless_flush(), at) };
    findings.add((Code::E0807, "flush", Group::Place), site, 0, told);
}

/// Without its flush, a program does the same in the executor, and the checks say where it was needed.
fn removable(report: Diagnostic, at: Place) -> Diagnostic {
    let change = Change::Remove { verb: "flush", at };
    let report = report.help(change.title());
    Diagnostic { change: Some(change), ..report }
}

fn warning(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.severity = Severity::Warning;
    diagnostic
}

fn windowed(
    findings: &mut Findings<'_>,
    site: Site<'_>,
    transfer: &ir::Transfer,
    (pipeline, origin): (&ir::Pipeline, ir::OriginId),
) {
    if transfer.verb.moves_packets() {
        findings.add((Code::E0809, "packets", Group::Place), site, 0, packets_in_pipeline);
        return;
    }
    covers(findings, site, transfer, (pipeline, origin));
    if transfer.slice.is_some_and(|slice| slice.count > 1) {
        findings.add((Code::E0809, "group", Group::Place), site, 0, group_in_pipeline);
    }
}

/// Reports an operation of a pipeline that does not cover all of its chunks, or more.
fn covers(
    findings: &mut Findings<'_>,
    site: Site<'_>,
    transfer: &ir::Transfer,
    (pipeline, origin): (&ir::Pipeline, ir::OriginId),
) {
    let mut sizes = transfer.operands().map(|operand| operand.size);
    if let Some(size) = sizes.find(|size| *size != pipeline.chunks) {
        let rule = (Code::E0809, "chunks", Group::Of(origin));
        let name = findings.terms.chunks();
        findings.add(rule, site, 0, || other_chunks(name, size, pipeline.chunks));
    }
}

/// Of all conditions only this one: every operation of a pipeline covers all of its chunks.
pub(super) fn in_pipelines(findings: &mut Findings<'_>, id: ir::RankId, rank: &ir::Rank) {
    for block in &rank.blocks {
        for op in &block.ops {
            let Some(pipeline) = op.pipeline() else { continue };
            for inner in &pipeline.body {
                let site = Site { rank: id, block: Some(block), origin: inner.origin };
                if let Some(transfer) = inner.transfer() {
                    covers(findings, site, transfer, (pipeline, op.origin));
                }
            }
        }
    }
}

/// Of all conditions only those on a transfer's operands and channel.
pub(super) fn in_transfers(findings: &mut Findings<'_>, id: ir::RankId, rank: &ir::Rank) {
    for block in &rank.blocks {
        let bodies = block.ops.iter().filter_map(ir::Op::pipeline).flat_map(|within| &within.body);
        for op in block.ops.iter().chain(bodies) {
            if let Some(transfer) = op.transfer() {
                let site = Site { rank: id, block: Some(block), origin: op.origin };
                self::transfer(findings, site, transfer);
            }
        }
    }
}

fn count(operands: &[ir::Operand], of: fn(&ir::Operand) -> bool) -> usize {
    operands.iter().filter(|operand| of(operand)).count()
}

/// What the executor cannot do, why, and what has the same effect.
struct Fault {
    message: &'static str,
    note: &'static str,
    help: &'static str,
}

/// The part of a transfer that the executor cannot do, if any.
fn fault(transfer: &ir::Transfer) -> Option<Fault> {
    let port = transfer.via == Some(ir::ChannelKind::Port);
    let (sources, destinations) = (&*transfer.sources, &*transfer.destinations);
    match transfer.verb {
        ir::Verb::Copy | ir::Verb::CopyPackets | ir::Verb::UnpackPackets => {
            (sources.len() != 1 || destinations.len() != 1).then_some(SEVERAL_COPIES)
        }
        ir::Verb::Put => (!port && mixed(sources)).then_some(MIXED_SOURCES),
        ir::Verb::PutWithSignal | ir::Verb::PutWithSignalAndFlush => {
            (!port).then_some(SIGNAL_OVER_MEMORY)
        }
        ir::Verb::PutPackets if port => Some(PACKETS_OVER_PORT),
        ir::Verb::PutPackets => mixed(sources).then_some(MIXED_SOURCES),
        ir::Verb::ReadPutPackets => (sources.len() != 1).then_some(SEVERAL_READS),
        ir::Verb::Get if transfer.via != Some(ir::ChannelKind::Memory) => Some(GET_OVER_PORT),
        ir::Verb::Get => {
            let mut pairs = sources.iter().zip(destinations);
            pairs.any(|(from, to)| from.index != to.index).then_some(SHIFTED_GET)
        }
        ir::Verb::Reduce => reduction_fault(sources, destinations, port),
        ir::Verb::ReducePackets => {
            let locals = count(destinations, ir::Operand::is_local);
            if port {
                Some(REDUCTION_OVER_PORT)
            } else if count(sources, ir::Operand::is_local) < sources.len() {
                Some(REMOTE_PACKETS)
            } else {
                (locals == 0 || locals > 2).then_some(PACKET_DESTINATIONS)
            }
        }
        ir::Verb::Broadcast | ir::Verb::BroadcastPackets => {
            (sources.len() != 1 || destinations.len() != 1).then_some(SEVERAL_BROADCASTS)
        }
    }
}

fn reduction_fault(
    sources: &[ir::Operand],
    destinations: &[ir::Operand],
    port: bool,
) -> Option<Fault> {
    let through =
        (count(sources, ir::Operand::is_switch), count(destinations, ir::Operand::is_switch));
    match through {
        (0, 0) => {}
        (0, _) => return Some(STORE_WITHOUT_LOAD),
        (_, 0) => return Some(LOAD_WITHOUT_STORE),
        (1, 1) if sources.len() == 1 && destinations.len() == 1 => return None,
        _ => return Some(LOAD_AND_MORE),
    }
    let locals = count(sources, ir::Operand::is_local);
    if port {
        Some(REDUCTION_OVER_PORT)
    } else if locals == 0 || (locals > 1 && count(sources, ir::Operand::is_remote) > 0) {
        Some(LOCAL_SOURCES)
    } else {
        (count(destinations, ir::Operand::is_local) != 1).then_some(LOCAL_DESTINATIONS)
    }
}

/// Whether operands lie in different buffers.
fn mixed(operands: &[ir::Operand]) -> bool {
    let first = operands.first().map(|operand| operand.buffer);
    operands.iter().any(|operand| Some(operand.buffer) != first)
}

/// Whether a plain transfer reaches scratch from outside: a peer's, that of a group, or this rank's by its proxy.
fn misses_the_half(transfer: &ir::Transfer) -> bool {
    let port = transfer.via == Some(ir::ChannelKind::Port);
    let scratch = |operand: &ir::Operand| {
        operand.buffer == ir::Buffer::Scratch && (port || !operand.is_local())
    };
    transfer.operands().any(scratch)
}

/// The input or output that a transfer reaches from outside, if it does.
fn kept_buffer(transfer: &ir::Transfer) -> Option<ir::Buffer> {
    let port = transfer.via == Some(ir::ChannelKind::Port);
    let kept = |operand: &&ir::Operand| {
        operand.buffer != ir::Buffer::Scratch && (port || !operand.is_local())
    };
    transfer.operands().find(kept).map(|operand| operand.buffer)
}

const SEVERAL_COPIES: Fault = Fault {
    message: "MSCCL++'s executor copies one slice in one operation",
    note: "it moves the first and ignores the others",
    help: "write one statement for each slice",
};
const MIXED_SOURCES: Fault = Fault {
    message: "the sources of this put are in different buffers",
    note: "MSCCL++'s executor reads all of them from the first one's buffer",
    help: "write one statement for each buffer",
};
const SIGNAL_OVER_MEMORY: Fault = Fault {
    message: "a put over a memory channel signals nothing",
    note: "MSCCL++'s executor signals with a put on port channels only",
    help: "write `put`, then `signal`",
};
const PACKETS_OVER_PORT: Fault = Fault {
    message: "MSCCL++'s executor does not make packets on the way through a port",
    note: "it sends the bytes of the source as they are, from the memory of another plan if there is one",
    help: "`copy_packets` into scratch, then `read_put_packets` from there",
};
const SEVERAL_READS: Fault = Fault {
    message: "MSCCL++'s executor reads packets from one slice in one operation",
    note: "it sends the first source to every destination",
    help: "write one `read_put_packets` for each source",
};
const GET_OVER_PORT: Fault = Fault {
    message: "MSCCL++'s executor reads a peer's memory over memory channels only",
    note: "over another channel it uses an unrelated buffer",
    help: "let the peer `put`",
};
const SHIFTED_GET: Fault = Fault {
    message: "a `get` between different chunks",
    note: "MSCCL++'s executor adds the source's offset to the destination and the destination's to the source",
    help: "let the peer `put`, or get into the chunk of the same number",
};
const REDUCTION_OVER_PORT: Fault = Fault {
    message: "MSCCL++'s executor reduces over memory channels only",
    note: "a port's memory is not mapped",
    help: "reduce into a local buffer and `put` it",
};
const REMOTE_PACKETS: Fault = Fault {
    message: "MSCCL++'s executor reads packets from this rank's scratch only",
    note: "packets are sent, not fetched",
    help: "let the peer `put_packets`",
};
const PACKET_DESTINATIONS: Fault = Fault {
    message: "a `reduce_packets` takes one plain destination and one slice of local packets at most",
    note: "MSCCL++'s executor writes the first destination plain and, of the local ones, the second as packets",
    help: "add a `copy_packets` for each further slice",
};
const SEVERAL_BROADCASTS: Fault = Fault {
    message: "MSCCL++'s executor broadcasts one slice in one operation",
    note: "it moves the first and ignores the others",
    help: "write one statement for each slice",
};
const LOAD_WITHOUT_STORE: Fault = Fault {
    message: "MSCCL++'s executor has no load-reduce that keeps its result on one rank",
    note: "it has the load-reduce that stores the result through the switch, to every rank of the group",
    help: "`broadcast` the same chunks next, from where the result goes: the two become one operation, unless `fuse = false` or a `sync = ..` keeps them apart",
};
const STORE_WITHOUT_LOAD: Fault = Fault {
    message: "MSCCL++'s executor stores through the switch what it has read through the switch, or one local slice",
    note: "a reduction of local or remote sources does not go to a group",
    help: "reduce into a local buffer and `broadcast` that",
};
const LOAD_AND_MORE: Fault = Fault {
    message: "a load-reduce through the switch has one source and one destination",
    note: "MSCCL++'s executor ignores all others, and does not write the local destination",
    help: "write the other steps as statements of their own",
};
const LOCAL_SOURCES: Fault = Fault {
    message: "a reduction from other ranks takes exactly one source of this rank",
    note: "MSCCL++'s executor takes the first source as local and all others as remote",
    help: "reduce the local sources first, then add the remote ones",
};
const LOCAL_DESTINATIONS: Fault = Fault {
    message: "a reduction takes exactly one destination of this rank",
    note: "MSCCL++'s executor takes the first destination as local and all others as remote",
    help: "reduce into one slice and `copy` it from there",
};

fn lacking(fault: &Fault) -> Diagnostic {
    Diagnostic::without_place(Code::E0807, fault.message).note(fault.note).help(fault.help)
}

fn useless_flush() -> Diagnostic {
    Diagnostic::without_place(Code::E0807, "MSCCL++'s executor does not wait at a `flush`")
        .help("use `put_with_signal_and_flush`, or wait for a signal in reply from the peer")
}

/// `everywhere`: whether the collective has this `op`, too, which is that of all statements without one of their own.
fn not_a_sum(op: ir::ReduceOp, everywhere: bool) -> Diagnostic {
    let name = op.word();
    Diagnostic::without_place(Code::E0807, format!("MSCCL++'s executor has no reduction `{name}`"))
        .note("it ignores `op` and computes a sum")
        .help(match everywhere {
            true => "let the collective's `op` be `sum`, or write kernels, which have all reductions: `--emit cuda`",
            false => "remove `op`, or write kernels, which have all reductions: `--emit cuda`",
        })
}

fn packets_without_ll() -> Diagnostic {
    let change = Change::Option { name: "protocol", value: "LL" };
    let report = Diagnostic::without_place(Code::E0807, "packets need `protocol = LL`")
        .note("packets take twice the scratch, which MSCCL++'s executor sets aside for that protocol only")
        .help(change.title());
    Diagnostic { change: Some(change), ..report }
}

fn wrong_half(name: &str) -> Diagnostic {
    Diagnostic::without_place(
        Code::E0810,
        format!("under {name} this reaches the first half of scratch in every launch"),
    )
    .note("MSCCL++'s executor selects the half in use on the local side and for packets only")
    .help(format!("remove {name}, or send packets"))
}

fn elsewhere(inner: ir::Buffer) -> Diagnostic {
    let (inner, outer) = match inner {
        ir::Buffer::Output => ("output", "input"),
        ir::Buffer::Input | ir::Buffer::Scratch => ("input", "output"),
    };
    let message = format!("in place, this reaches the beginning of `{outer}`, and not `{inner}`");
    Diagnostic::without_place(Code::E0807, message)
        .note(format!(
            "MSCCL++'s executor registers whole allocations, and `{inner}` is elsewhere in them on each rank"
        ))
        .help(format!("use the chunk of `{outer}` that it is; a switch must be bound to `{outer}`"))
}

fn kept_from_first_call(buffer: ir::Buffer) -> Diagnostic {
    let name = buffer.word();
    Diagnostic::without_place(
        Code::E0810,
        format!(
            "under `reuse_resources` this reaches the `{name}` of the first call in every call"
        ),
    )
    .note("MSCCL++'s executor registers buffers once for all calls; only scratch stays where it is")
    .help("remove `reuse_resources`, or go through scratch")
}

fn bad_unit(name: &str, unit: u64) -> Diagnostic {
    Diagnostic::without_place(
        Code::E0809,
        format!("a pipeline cannot use windows of {unit} byte{}", if unit == 1 { "" } else { "s" }),
    )
    .note("MSCCL++'s executor moves 16 bytes at a time and counts a window's bytes in 32 bits")
    .help(format!("set {name} to a multiple of 16 below 4GiB"))
}

fn nested_pipeline() -> Diagnostic {
    Diagnostic::without_place(Code::E0809, "a pipeline cannot be nested in another")
        .help("write one after the other, or one with the larger body")
}

fn packets_in_pipeline() -> Diagnostic {
    Diagnostic::without_place(Code::E0809, "packets cannot be moved in a pipeline")
        .note("MSCCL++'s executor would move all of the operation's packets in every window")
        .help("take the statement out of the pipeline")
}

fn other_chunks(name: &str, size: u32, chunks: u32) -> Diagnostic {
    Diagnostic::without_place(
        Code::E0809,
        format!("this covers {size} chunk{} in a pipeline over {chunks}", if size == 1 { "" } else { "s" }),
    )
    .note("MSCCL++'s executor gives every operation the pipeline's windows: a shorter one would run past its end, a longer one would stop early")
    .help(format!("set {name} to what every statement of the pipeline covers"))
}

fn group_in_pipeline() -> Diagnostic {
    Diagnostic::without_place(
        Code::E0809,
        "a group's part of an operation is shorter than the pipeline",
    )
    .note("MSCCL++'s executor gives every part the whole pipeline's windows")
    .help("give each block a pipeline over chunks of its own")
}
