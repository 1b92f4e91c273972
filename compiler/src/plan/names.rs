//! Which operation of a plan a transfer becomes, and the names of things in plans.

use crate::ir;
use crate::ir::OperandSide;
use grammar::verb::PlanForm;
use smallvec::SmallVec;

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
    let forms = transfer.verb.row().plan;
    // Operands of a plan that was read may be where no form has them: reading compares the name with the plan's.
    let form = forms.iter().find(|form| is_form_of(form, transfer)).or(forms.first());
    form.map_or("", |form| form.name)
}

/// Whether a transfer has its operands where a form has them. Where a source is behind a switch, only that counts.
fn is_form_of(form: &PlanForm, transfer: &ir::Transfer) -> bool {
    let sources = Reach::collect(form.sources.iter().copied());
    let destinations = Reach::collect(form.destinations.iter().copied());
    let own_sources = Reach::collect(transfer.sources.iter().map(|operand| operand.place.side()));
    let own_destinations =
        Reach::collect(transfer.destinations.iter().map(|operand| operand.place.side()));
    if sources.switch || own_sources.switch {
        return sources.switch == own_sources.switch
            && destinations.switch == own_destinations.switch;
    }
    // Further results of this rank are an operand of their own only if they are not written like the first.
    let row = &transfer.verb.row().destinations;
    let counts_further = row.first.form != row.others.form;
    sources.remote == own_sources.remote
        && destinations.remote == own_destinations.remote
        && (!counts_further || destinations.several_local == own_destinations.several_local)
}

/// Where the operands of one side are.
struct Reach {
    /// Whether several are of this rank.
    several_local: bool,
    /// Whether one is of another rank.
    remote: bool,
    /// Whether one is behind a switch.
    switch: bool,
}

impl Reach {
    fn collect(sides: impl Iterator<Item = OperandSide> + Clone) -> Reach {
        let count = |side| sides.clone().filter(|one| *one == side).count();
        Reach {
            several_local: count(OperandSide::Local) > 1,
            remote: count(OperandSide::Remote) > 0,
            switch: count(OperandSide::Switch) > 0,
        }
    }
}

pub(super) fn local_first(operands: &[ir::Operand]) -> SmallVec<[ir::Operand; 2]> {
    let local = |operand: &&ir::Operand| operand.is_local();
    let others = operands.iter().filter(|operand| !local(operand));
    operands.iter().filter(local).chain(others).copied().collect()
}

/// Whether the plan's operation names its channels: for what the executor reaches through memory, the buffer is enough.
pub(super) fn lists_channels(transfer: &ir::Transfer) -> bool {
    let row = transfer.verb.row();
    let writes_peer = row.destinations.first.sides == [OperandSide::Remote];
    row.sources.is_away() || writes_peer && transfer.via == Some(ir::ChannelKind::Port)
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
