//! Names by which the executor finds a buffer that is a part of another one.
//!
//! In: a program. Out: the same program; where, in place, one buffer is a later part of the other, ports and peers
//! use the name of the other. The executor registers the allocation that a buffer lies in, and adds where the buffer
//! begins in its own allocation, or nothing for what a port reads: both are wrong for a part that begins elsewhere on
//! each rank. What a block does with its own rank's memory goes through the pointers that it is given.

use crate::ir::{
    Action, Alias, ChannelKind, Op, Operand, Program, RankId, Transfer, Where, memory,
};

/// Renames every such operand.
#[must_use]
pub(super) fn outer(mut program: Program) -> Program {
    let aliases: Vec<Option<Alias>> = program.ranks.iter().map(|rank| rank.alias).collect();
    if aliases.iter().flatten().all(|alias| alias.offset == 0) {
        return program;
    }
    let ids: Vec<RankId> = program.ranks.ids().collect();
    for (here, rank) in ids.into_iter().zip(program.ranks.iter_mut()) {
        for block in rank.blocks.iter_mut() {
            ops(&mut block.ops, &aliases, here);
        }
    }
    program
}

fn ops(list: &mut [Op], aliases: &[Option<Alias>], here: RankId) {
    for op in list {
        match &mut op.action {
            Action::Transfer(one) => transfer(one, aliases, here),
            Action::Pipeline(pipeline) => ops(&mut pipeline.body, aliases, here),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_) => {}
        }
    }
}

fn transfer(transfer: &mut Transfer, aliases: &[Option<Alias>], here: RankId) {
    let through_port = transfer.via == Some(ChannelKind::Port);
    for operand in transfer.sources.iter_mut().chain(&mut transfer.destinations) {
        let owner = match operand.place {
            Where::Local if through_port => here,
            Where::Remote(peer) => peer,
            Where::Local | Where::Switch(_) => continue,
        };
        let alias = aliases.get(owner.0 as usize).copied().flatten();
        let (buffer, index) = memory::home(alias, operand.buffer, operand.index);
        *operand = Operand { buffer, index: index as u32, ..*operand };
    }
}
