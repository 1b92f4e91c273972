//! One operation as a statement.

use super::names::{Names, buffer_name};
use super::page::Page;
use crate::ir::{
    Action, Buffer, ChannelId, List, Op, Operand, Program, RankId, ReduceOp, Signal, SyncOverride,
    Transfer, Where,
};

/// What a statement's text depends on.
pub(super) struct Context<'a> {
    pub(super) program: &'a Program,
    pub(super) names: &'a Names,
    pub(super) rank: RankId,
}

/// Adds an operation on a line of its own, and those of a pipeline, too; barriers are not written
/// inside blocks.
pub(super) fn op(context: &Context, op: &Op, indent: usize, page: &mut Page) {
    let margin = " ".repeat(indent);
    if let Action::Pipeline(pipeline) = &op.action {
        page.mark(op.origin);
        page.push(&format!(
            "{margin}pipeline unit = {}, chunks = {} {{\n",
            pipeline.unit, pipeline.chunks
        ));
        pipeline.body.iter().for_each(|inner| self::op(context, inner, indent + 4, page));
        page.push(&format!("{margin}}}\n"));
        return;
    }
    let Some(statement) = statement(context, &op.action) else { return };
    if clobbers(context, &op.action) {
        page.push(&format!("{margin}#[allow(clobber)]\n"));
    }
    page.mark(op.origin);
    page.push(&format!("{margin}{statement}{};{}\n", sync(op.sync), values(context, op)));
}

fn sync(sync: Option<SyncOverride>) -> &'static str {
    match sync {
        None => "",
        Some(SyncOverride::Before) => " sync = before",
        Some(SyncOverride::After) => " sync = after",
        Some(SyncOverride::Both) => " sync = both",
        Some(SyncOverride::None) => " sync = none",
    }
}

fn values(context: &Context, op: &Op) -> String {
    let values = context.program.origins.values(op.origin);
    if values.is_empty() { String::new() } else { format!("    // {}", values.join(", ")) }
}

fn statement(context: &Context, action: &Action) -> Option<String> {
    Some(match action {
        Action::Sync => "sync".to_owned(),
        Action::Signal(signal) => signals(context, "signal", signal),
        Action::Wait(signal) => signals(context, "wait", signal),
        Action::Flush(list) => format!("flush {}", channels(context, list)),
        Action::Acquire(list) => format!("acquire {}", numbered("sem", list.iter().map(|id| id.0))),
        Action::Release(list) => format!("release {}", numbered("sem", list.iter().map(|id| id.0))),
        Action::Transfer(transfer) => moved(context, transfer),
        Action::Barrier { .. } | Action::Pipeline(_) => return None,
    })
}

fn signals(context: &Context, word: &str, signal: &Signal) -> String {
    let relaxed = if signal.relaxed { " relaxed" } else { "" };
    format!("{word} {}{relaxed}", channels(context, &signal.channels))
}

fn channels(context: &Context, list: &List<ChannelId>) -> String {
    let names: Vec<&str> = list.iter().map(|id| context.names.channel(context.rank, *id)).collect();
    names.join(", ")
}

/// Members of a family, as `sem[0], sem[2]`.
pub(super) fn numbered(family: &str, ids: impl Iterator<Item = u32>) -> String {
    ids.map(|id| format!("{family}[{id}]")).collect::<Vec<_>>().join(", ")
}

fn moved(context: &Context, transfer: &Transfer) -> String {
    let list = |operands: &[Operand]| {
        operands.iter().map(|operand| operand_text(context, operand)).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "{} {} -> {}",
        transfer.verb.word(),
        list(&transfer.sources),
        list(&transfer.destinations)
    );
    let rank = context.program.ranks.lookup(context.rank);
    let via = rank.map(|rank| transfer.routes(rank)).unwrap_or_default();
    if !via.is_empty() {
        text.push_str(&format!(" via {}", channels(context, &via)));
    }
    if transfer.verb.reduces() && transfer.reduce != context.program.collective.op {
        text.push_str(match transfer.reduce {
            ReduceOp::Sum => " op = sum",
            ReduceOp::Min => " op = min",
            ReduceOp::Max => " op = max",
        });
    }
    if let Some(slice) = transfer.slice {
        text.push_str(&format!(" slice = {} of {}", slice.index, slice.count));
    }
    text
}

fn operand_text(context: &Context, operand: &Operand) -> String {
    let buffer = buffer_name(operand.buffer);
    let chunks = match operand.size {
        1 => format!("{buffer}[{}]", operand.index),
        size => format!("{buffer}[{}..+{size}]", operand.index),
    };
    match operand.place {
        Where::Local => chunks,
        Where::Remote(peer) => format!("({}).{chunks}", peer.0),
        Where::Switch(channel) => {
            format!("{}.{chunks}", context.names.channel(context.rank, channel))
        }
    }
}

/// Whether an operation writes an input that belongs to the user, which the source must have
/// allowed.
fn clobbers(context: &Context, action: &Action) -> bool {
    let shared =
        context.program.ranks.lookup(context.rank).is_some_and(|rank| rank.alias.is_some());
    let written = |transfer: &Transfer| {
        transfer.destinations.iter().any(|operand| operand.buffer == Buffer::Input)
    };
    !shared && matches!(action, Action::Transfer(transfer) if written(transfer))
}
