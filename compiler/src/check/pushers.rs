//! Who pushes requests to the proxies of port channels. A flush that waits is one: it comes behind those that were pushed
//! before.

use crate::events::{Events, ProxyRequest, StepSink};
use crate::ir::{BlockId, ChannelId, ChannelKind, RankId};
use std::collections::{BTreeMap, BTreeSet};

/// The port channels of a rank that several blocks push to, with these blocks, ascending.
pub(super) fn list_shared_ports(
    events: &Events,
    id: RankId,
) -> BTreeMap<(RankId, ChannelId), Vec<BlockId>> {
    let Some(rank) = events.program().ranks.lookup(id) else { return BTreeMap::new() };
    if !rank.channels.iter().any(|row| row.kind() == ChannelKind::Port) {
        return BTreeMap::new();
    }
    let mut pushers = Pushers::default();
    for block in rank.blocks.ids() {
        pushers.block = block;
        events.visit_block(id, block, &mut pushers);
    }
    let several = pushers.of_channel.into_iter().filter(|(_, blocks)| blocks.len() > 1);
    several.map(|(channel, blocks)| ((id, channel), blocks.into_iter().collect())).collect()
}

/// The blocks that push to each channel.
#[derive(Default)]
struct Pushers {
    block: BlockId,
    of_channel: BTreeMap<ChannelId, BTreeSet<BlockId>>,
}

impl StepSink for Pushers {
    const ASKS_FOR_MEMORY: bool = false;

    fn request(&mut self, request: ProxyRequest) {
        self.of_channel.entry(request.channel).or_default().insert(self.block);
    }
}
