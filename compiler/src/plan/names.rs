//! Which operation of a plan a transfer becomes, and the names of things in plans.

use crate::ir;
use smallvec::SmallVec;

/// How an operation's operands are combined in a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Source k goes to destination k: a single source is written once for each destination.
    Pairs,
    /// One source, read once, goes to every destination.
    OneToAll,
    /// All sources go into every destination.
    Combine,
}

impl Shape {
    pub(super) fn of(verb: ir::Verb) -> Shape {
        match verb {
            ir::Verb::Copy
            | ir::Verb::Put
            | ir::Verb::PutWithSignal
            | ir::Verb::PutWithSignalAndFlush
            | ir::Verb::Get
            | ir::Verb::PutPackets
            | ir::Verb::CopyPackets
            | ir::Verb::UnpackPackets => Shape::Pairs,
            ir::Verb::ReadPutPackets | ir::Verb::Broadcast | ir::Verb::BroadcastPackets => {
                Shape::OneToAll
            }
            ir::Verb::Reduce | ir::Verb::ReducePackets => Shape::Combine,
        }
    }
}

/// The name of an operation in a plan.
#[must_use]
pub fn action_name(action: &ir::Action) -> &'static str {
    match action {
        ir::Action::Sync => "nop",
        ir::Action::Barrier { .. } => "barrier",
        ir::Action::Signal(ir::Signal { relaxed: true, .. }) => "rlxsignal",
        ir::Action::Signal(_) => "signal",
        ir::Action::Wait(ir::Signal { relaxed: true, .. }) => "rlxwait",
        ir::Action::Wait(_) => "wait",
        ir::Action::Flush(_) => "flush",
        ir::Action::Acquire(_) => "sem_acquire",
        ir::Action::Release(_) => "sem_release",
        ir::Action::Transfer(transfer) => operation_name(transfer),
        ir::Action::Pipeline(_) => "pipeline",
    }
}

/// The name of a transfer in a plan. A load-reduce that does not store is `glre`, as in MSCCL++'s own
/// tools, although its executor has no such operation.
pub(super) fn operation_name(transfer: &ir::Transfer) -> &'static str {
    match transfer.verb {
        ir::Verb::Copy => "copy",
        ir::Verb::Put => "put",
        ir::Verb::PutWithSignal => "pws",
        ir::Verb::PutWithSignalAndFlush => "pwsf",
        ir::Verb::Get => "get",
        ir::Verb::Broadcast => "gstore",
        ir::Verb::PutPackets => "ppkt",
        ir::Verb::ReadPutPackets => "rppkt",
        ir::Verb::CopyPackets => "cpkt",
        ir::Verb::UnpackPackets => "upkt",
        ir::Verb::BroadcastPackets => "gstorepkt",
        ir::Verb::Reduce => reduction_name(transfer),
        ir::Verb::ReducePackets => packet_reduction_name(transfer),
    }
}

fn reduction_name(transfer: &ir::Transfer) -> &'static str {
    if transfer.sources.iter().any(ir::Operand::is_switch) {
        return if transfer.destinations.iter().any(ir::Operand::is_switch) {
            "glres"
        } else {
            "glre"
        };
    }
    match (any_remote(&transfer.sources), any_remote(&transfer.destinations)) {
        (false, false) => "re",
        (false, true) => "res",
        (true, false) => "rre",
        (true, true) => "rres",
    }
}

fn packet_reduction_name(transfer: &ir::Transfer) -> &'static str {
    let local = |operand: &&ir::Operand| operand.is_local();
    let copies = transfer.destinations.iter().filter(local).count() > 1;
    match (copies, any_remote(&transfer.destinations)) {
        (false, false) => "repkt",
        (true, false) => "recpkt",
        (false, true) => "respkt",
        (true, true) => "recspkt",
    }
}

fn any_remote(operands: &[ir::Operand]) -> bool {
    operands.iter().any(ir::Operand::is_remote)
}

pub(super) fn local_first(operands: &[ir::Operand]) -> SmallVec<[ir::Operand; 2]> {
    let local = |operand: &&ir::Operand| operand.is_local();
    let others = operands.iter().filter(|operand| !local(operand));
    operands.iter().filter(local).chain(others).copied().collect()
}

/// Whether the plan's operation names its channels: for what the executor reaches through memory, the buffer is enough.
pub(super) fn lists_channels(transfer: &ir::Transfer) -> bool {
    match transfer.verb {
        ir::Verb::Get => true,
        ir::Verb::Put
        | ir::Verb::PutWithSignal
        | ir::Verb::PutWithSignalAndFlush
        | ir::Verb::PutPackets
        | ir::Verb::ReadPutPackets => transfer.via == Some(ir::ChannelKind::Port),
        ir::Verb::Copy
        | ir::Verb::Reduce
        | ir::Verb::Broadcast
        | ir::Verb::CopyPackets
        | ir::Verb::UnpackPackets
        | ir::Verb::ReducePackets
        | ir::Verb::BroadcastPackets => false,
    }
}

pub(super) fn kind_name(kind: ir::ChannelKind) -> &'static str {
    match kind {
        ir::ChannelKind::Memory => "memory",
        ir::ChannelKind::Port => "port",
        ir::ChannelKind::Switch => "switch",
    }
}

pub(super) fn protocol_name(protocol: ir::Protocol) -> &'static str {
    match protocol {
        ir::Protocol::Simple => "Simple",
        ir::Protocol::Ll => "LL",
    }
}

pub(super) fn buffer_name(buffer: ir::Buffer) -> &'static str {
    match buffer {
        ir::Buffer::Input => "i",
        ir::Buffer::Output => "o",
        ir::Buffer::Scratch => "s",
    }
}
