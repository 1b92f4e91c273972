//! Who pushes requests to the proxies of port channels. A flush is one: it comes behind those that were pushed before.

use crate::ir::counter::asks;
use crate::ir::{BlockId, ChannelId, ChannelKind, Rank, RankId, all_ops};
use std::collections::{BTreeMap, BTreeSet};

/// The port channels of a rank that several blocks push to, with these blocks.
pub(super) fn several(id: RankId, rank: &Rank) -> Vec<((RankId, ChannelId), Vec<BlockId>)> {
    let is_port = |channel: &ChannelId| {
        rank.channels.lookup(*channel).is_some_and(|row| row.kind() == ChannelKind::Port)
    };
    let mut pushers: BTreeMap<ChannelId, BTreeSet<BlockId>> = BTreeMap::new();
    if !rank.channels.iter().any(|row| row.kind() == ChannelKind::Port) {
        return Vec::new();
    }
    for (block, row) in rank.blocks.entries() {
        for channel in all_ops(&row.ops).flat_map(|op| asks(&op.action)).filter(|one| is_port(one))
        {
            pushers.entry(*channel).or_default().insert(block);
        }
    }
    let several = pushers.into_iter().filter(|(_, blocks)| blocks.len() > 1);
    several.map(|(channel, blocks)| ((id, channel), blocks.into_iter().collect())).collect()
}
