//! What a plan can do and source text cannot express.
//!
//! In: a program that was read from a plan. Out: the first thing in it that no statement expresses, and where it is.

use crate::ir::{Action, BarrierId, ChannelKind, Op, OriginId, Program, Rank, Verb};

/// The first thing that cannot be expressed, with its origin.
#[must_use]
pub fn unsayable(program: &Program) -> Option<(OriginId, String)> {
    program.ranks.entries().find_map(|(id, rank)| {
        let lonely = rank
            .channels
            .iter()
            .find(|channel| channel.partner.is_none() && channel.kind() != ChannelKind::Switch);
        if let Some(channel) = lonely {
            let peer = channel.peer()?.0;
            let what = format!(
                "rank {}'s {} leads to rank {peer}, which has none to pair with it",
                id.0, channel.name
            );
            return Some((channel.origin, what));
        }
        rank.all_ops().find_map(|op| operation(rank, op))
    })
}

fn operation(rank: &Rank, op: &Op) -> Option<(OriginId, String)> {
    match &op.action {
        Action::Transfer(transfer)
            if transfer.via == Some(ChannelKind::Port) && transfer.verb == Verb::PutPackets =>
        {
            Some((op.origin, "`put_packets` goes over a port channel".to_owned()))
        }
        Action::Barrier { id, arrivals } => {
            let blocks = blocks(rank, *id);
            (*arrivals as usize != blocks).then(|| {
                let what = format!(
                    "a barrier waits for {arrivals} arrivals, and {blocks} blocks reach it"
                );
                (op.origin, what)
            })
        }
        Action::Pipeline(pipeline) if pipeline.body.is_empty() => {
            Some((op.origin, "a pipeline does nothing".to_owned()))
        }
        Action::Transfer(_)
        | Action::Pipeline(_)
        | Action::Sync
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_) => None,
    }
}

fn blocks(rank: &Rank, id: BarrierId) -> usize {
    rank.barriers.lookup(id).map_or(0, Vec::len)
}
