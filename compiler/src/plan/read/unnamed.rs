//! The memory channel of an operand whose transfer names none.
//!
//! In: a block's operations, and the ranks of its memory channels and remote buffers. Out: the position in the block's
//! list of the channel that an operand goes over.
//!
//! A transfer over memory names no channel in a plan, only a remote buffer. MSCCL++'s tools list a block's channels by
//! first use, including these uses. So such an operand takes the next channel of the list that no operation has used
//! yet, if that channel leads to the operand's rank; otherwise the first channel of the list that leads there.
//!
//! A channel that some operation of the block names is left to that operation: often there is one channel to a rank
//! for signals and another for data. But this must agree with the order of the list. If it does not, an operand was the
//! first to use a channel that is named later.

use crate::ir::{Buffer, RankId};
use crate::plan::Op;
use std::collections::BTreeSet;

/// Which memory channels of a block's list are left, and which have been used by the operations so far.
pub(super) struct Unnamed {
    /// The ranks to which the channels lead.
    peers: Vec<Option<RankId>>,
    /// Positions in the list that are left to the operations that name them.
    left: BTreeSet<usize>,
    /// The first position that is not used yet.
    next: usize,
}

/// A use of a memory channel.
enum Use {
    /// By its position in the list.
    Named(usize),
    /// By an operand at this rank.
    Toward(RankId),
}

impl Unnamed {
    /// None of the channels are used. `peers` are the ranks to which they lead, and `remotes` are the block's remote
    /// buffers for memory channels.
    pub(super) fn new(
        ops: &[Op<'_>],
        peers: Vec<Option<RankId>>,
        remotes: &[(RankId, Buffer)],
    ) -> Unnamed {
        let named = uses(ops, remotes).filter_map(|one| match one {
            Use::Named(position) => Some(position),
            Use::Toward(_) => None,
        });
        let mut unnamed = Unnamed { peers, left: named.collect(), next: 0 };
        if !unnamed.keeps_order(uses(ops, remotes)) {
            unnamed.left.clear();
        }
        unnamed
    }

    /// The position of the channel for the next operand at this rank, which is used from now on.
    pub(super) fn take(&mut self, peer: RankId) -> Option<usize> {
        let position = self.toward(self.next, peer)?;
        self.uses(position);
        Some(position)
    }

    /// An operation uses the channel at this position.
    pub(super) fn uses(&mut self, position: usize) {
        self.next = self.next.max(position.saturating_add(1));
    }

    /// The position of a channel to a rank, if those before `next` are used.
    fn toward(&self, next: usize, peer: RankId) -> Option<usize> {
        let leads = |to: &Option<RankId>| *to == Some(peer);
        let is_free = self.peers.get(next).is_some_and(leads) && !self.left.contains(&next);
        if is_free { Some(next) } else { self.peers.iter().position(leads) }
    }

    /// Whether the list is in the order in which its channels are first used.
    fn keeps_order(&self, mut uses: impl Iterator<Item = Use>) -> bool {
        let mut next = 0;
        let in_order = uses.all(|one| {
            let position = match one {
                Use::Named(position) => Some(position),
                Use::Toward(peer) => self.toward(next, peer),
            };
            let is_new = position == Some(next);
            next += usize::from(is_new);
            position.is_none_or(|position| position < next)
        });
        in_order && next == self.peers.len()
    }
}

/// The uses of memory channels, in the order of the operations. An operation whose list of channels fits its remote
/// operands names them all.
fn uses<'o>(
    ops: &'o [Op<'_>],
    remotes: &'o [(RankId, Buffer)],
) -> impl Iterator<Item = Use> + use<'o> {
    let all = ops.iter().flat_map(|op| std::iter::once(op).chain(&op.ops));
    all.filter(|op| op.channel_type.as_deref() == Some("memory")).flat_map(move |op| {
        let positions = op.channel_ids.iter().filter_map(|local| usize::try_from(*local).ok());
        let row = |local: i64| usize::try_from(local).ok().and_then(|local| remotes.get(local));
        let operands = op.src_buff.iter().chain(&op.dst_buff);
        let peers = operands.filter_map(move |buff| row(buff.buffer_id?)).map(|(rank, _)| *rank);
        let names_all = op.channel_ids.len() == peers.clone().count();
        let toward = peers.filter(move |_| !names_all).map(Use::Toward);
        positions.map(Use::Named).chain(toward)
    })
}
