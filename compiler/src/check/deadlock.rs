//! Blocks that can never go on.
//!
//! In: the blocks that a run left waiting. In a program whose channel ends and semaphores have one user each, every
//! schedule stops at the same places, so one run decides.
//! * E0601: blocks that wait for each other in a circle;
//! * E0602: a wait or acquire that nothing answers;
//! * E0604: packets that nobody writes.
//!
//! What waits for a block in a circle is no mistake of its own, and is not reported.

use super::past::{Moment, Past, Run};
use crate::diagnostic::witness::{Finding, Step, Wait, Witness};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::run::{self, Awaits, Outcome, Stuck};
use crate::ir::{
    self, Action, BlockId, ChannelId, ChannelKind, Op, RankId, SemaphoreId, Transfer, Verb, Where,
};

/// Says why the blocks that are stuck are.
pub(super) fn explain(program: &ir::Program, parts: u32, stuck: &[Stuck]) -> Vec<Diagnostic> {
    let waits_for: Vec<Option<usize>> =
        stuck.iter().map(|one| provider(program, stuck, one)).collect();
    if let Some(unanswered) = waits_for.iter().position(Option::is_none) {
        let one = stuck.get(unanswered);
        let report = one.map(|one| shown(program, parts, &[one], never_answered(program, one)));
        return report.into_iter().collect();
    }
    // Everyone waits for someone: following the arcs leads into a circle.
    let mut at = 0;
    for _ in stuck {
        at = waits_for.get(at).copied().flatten().unwrap_or(at);
    }
    let mut circle = vec![at];
    while let Some(Some(next)) = circle.last().and_then(|last| waits_for.get(*last)) {
        if circle.contains(next) {
            break;
        }
        circle.push(*next);
    }
    let circle: Vec<&Stuck> = circle.iter().filter_map(|index| stuck.get(*index)).collect();
    let report = circle_report(program, &circle);
    report.map(|report| shown(program, parts, &circle, report)).into_iter().collect()
}

fn shown(program: &ir::Program, parts: u32, circle: &[&Stuck], report: Diagnostic) -> Diagnostic {
    match Past::new(program, parts) {
        Some(past) => show(&past, circle, report),
        None => report,
    }
}

/// Adds to a report some block that stands still in the end, where the one that is told of does not come as far. Without
/// one, `finding` is added, and no way there.
pub(super) fn show_any(past: &Past, mut report: Diagnostic, finding: Finding) -> Diagnostic {
    if let Outcome::Stuck(stuck) = run::run(past.program, super::STEPS) {
        for one in &stuck {
            report = show(past, &[one], report);
            if report.witness.as_ref().is_some_and(|witness| !witness.schedule.is_empty()) {
                return report;
            }
        }
    }
    report.witness = Some(Box::new(Witness { finding, schedule: Vec::new() }));
    report
}

/// Adds to a report who waits for whom, and a schedule that leads there.
fn show(past: &Past, circle: &[&Stuck], mut report: Diagnostic) -> Diagnostic {
    let program = past.program;
    let moment = |stuck: &&Stuck| {
        let step = Step { operation: stuck.operation, inner: stuck.inner };
        past.at_step(stuck.rank, stuck.block, step)
    };
    let Some(moments) = circle.iter().map(moment).collect::<Option<Vec<Moment>>>() else {
        return report;
    };
    let mut run = Run::new(past);
    let reached = moments.iter().all(|moment| run.stand_at(*moment));
    let schedule = if reached { past.turns(run.moments()) } else { Vec::new() };
    let waits = moments
        .iter()
        .zip(circle)
        .map(|(moment, stuck)| Wait { event: past.event(*moment), awaits: what(program, stuck) });
    let finding = Finding::Deadlock { circle: waits.collect() };
    report.witness = Some(Box::new(Witness { finding, schedule }));
    report
}

/// Who would have to go on first: a stuck block that could give what is waited for.
fn provider(program: &ir::Program, stuck: &[Stuck], one: &Stuck) -> Option<usize> {
    let rank = program.ranks.lookup(one.rank)?;
    let gives = |other: &Stuck| -> bool {
        if (other.rank, other.block) == (one.rank, one.block) {
            return false;
        }
        match one.awaits {
            Awaits::Signal(channel) => {
                let end = rank.channels.lookup(channel);
                end.is_some_and(|end| {
                    end.peer() == Some(other.rank)
                        && end
                            .partner
                            .is_some_and(|there| has(program, other, &|op| signals(op, there)))
                })
            }
            Awaits::Semaphore(id) => {
                other.rank == one.rank && has(program, other, &|op| releases(op, id))
            }
            Awaits::Barrier(id) => {
                let members = rank.barriers.lookup(id);
                other.rank == one.rank
                    && other.awaits != Awaits::Barrier(id)
                    && members.is_some_and(|members| members.contains(&other.block))
            }
            Awaits::Packets => {
                has(program, other, &|op| writes_packets_to(op, other.rank, one.rank))
            }
        }
    };
    stuck.iter().position(gives)
}

fn block(program: &ir::Program, rank: RankId, block: BlockId) -> Option<&ir::Block> {
    program.ranks.lookup(rank)?.blocks.lookup(block)
}

fn has(program: &ir::Program, stuck: &Stuck, wanted: &dyn Fn(&Op) -> bool) -> bool {
    fn any(ops: &[Op], wanted: &dyn Fn(&Op) -> bool) -> bool {
        ops.iter().any(|op| match &op.action {
            Action::Pipeline(pipeline) => any(&pipeline.body, wanted),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_) => wanted(op),
        })
    }
    block(program, stuck.rank, stuck.block).is_some_and(|block| any(&block.ops, wanted))
}

fn signals(op: &Op, channel: ChannelId) -> bool {
    match &op.action {
        Action::Signal(signal) => signal.channels.contains(&channel),
        Action::Transfer(transfer) => {
            let signalling =
                matches!(transfer.verb, Verb::PutWithSignal | Verb::PutWithSignalAndFlush);
            signalling
                && transfer.via == Some(ChannelKind::Port)
                && transfer.channels.contains(&channel)
        }
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => false,
    }
}

fn releases(op: &Op, semaphore: SemaphoreId) -> bool {
    matches!(&op.action, Action::Release(list) if list.contains(&semaphore))
}

fn writes_packets_to(op: &Op, from: RankId, to: RankId) -> bool {
    let Action::Transfer(transfer) = &op.action else { return false };
    let reaches = |transfer: &Transfer| {
        transfer.destinations.iter().enumerate().any(|(index, operand)| {
            ir::memory::writes_packets(transfer.verb, index)
                && match operand.place {
                    Where::Local => from == to,
                    Where::Remote(peer) => peer == to,
                    Where::Switch(_) => true,
                }
        })
    };
    reaches(transfer)
}

/// "block `main` of rank 0"
fn who(program: &ir::Program, stuck: &Stuck) -> String {
    let name = block(program, stuck.rank, stuck.block).map_or("", |block| &block.name);
    format!("block `{name}` of rank {}", stuck.rank.0)
}

/// "a signal of rank 1"
fn what(program: &ir::Program, stuck: &Stuck) -> String {
    let rank = program.ranks.lookup(stuck.rank);
    match stuck.awaits {
        Awaits::Signal(id) => {
            let channel = rank.and_then(|rank| rank.channels.lookup(id));
            let peer = channel.and_then(ir::Channel::peer).map_or(0, |peer| peer.0);
            let name = channel.map_or("", |channel| &channel.name);
            format!("rank {peer}'s signal on `{name}`")
        }
        Awaits::Semaphore(id) => {
            let name = rank
                .and_then(|rank| rank.semaphores.lookup(id))
                .map_or("", |semaphore| &semaphore.name);
            format!("a release of `{name}`")
        }
        Awaits::Barrier(_) => "the other blocks of a barrier".to_string(),
        Awaits::Packets => "packets in its scratch".to_string(),
    }
}

fn situation(program: &ir::Program, stuck: &Stuck) -> String {
    let values = program.origins.values(stuck.origin);
    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) }
}

fn never_answered(program: &ir::Program, stuck: &Stuck) -> Diagnostic {
    let (who, what) = (who(program, stuck), what(program, stuck));
    let code = if stuck.awaits == Awaits::Packets { Code::E0604 } else { Code::E0602 };
    Diagnostic::new(
        code,
        program.origins.place(stuck.origin),
        format!("{who} waits for {what}, and nobody gives it"),
    )
    .label(format!("stands here for ever{}", situation(program, stuck)))
}

fn circle_report(program: &ir::Program, circle: &[&Stuck]) -> Option<Diagnostic> {
    let first = circle.first()?;
    let chain: Vec<String> = circle.iter().skip(1).map(|stuck| who(program, stuck)).collect();
    let through =
        if chain.is_empty() { "itself".to_string() } else { chain.join(", and that one for ") };
    let mut report = Diagnostic::new(
        Code::E0601,
        program.origins.place(first.origin),
        format!("deadlock: {} waits for {through}", who(program, first)),
    )
    .label(format!("waits for {}{}", what(program, first), situation(program, first)));
    for stuck in circle.iter().skip(1) {
        let text = format!(
            "{} waits for {}{}",
            who(program, stuck),
            what(program, stuck),
            situation(program, stuck)
        );
        report = report.and(program.origins.place(stuck.origin), text);
    }
    Some(report.help("signal before waiting, on one side at least"))
}
