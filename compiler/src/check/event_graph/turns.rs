//! Moments as the turns of a schedule: consecutive moments of an agent form one turn.

use super::{Chain, EventGraph, Moment};
use crate::diagnostic::witness::Turn;
use crate::ir::{ChannelId, RankId};
use std::collections::BTreeMap;

/// The requests to the proxies of each channel in a launch, in the order in which they were pushed.
type Queues = BTreeMap<(u32, RankId, ChannelId), Vec<Moment>>;

impl EventGraph<'_> {
    /// The turns that a sequence of moments makes up.
    pub(in crate::check) fn turns(&self, moments: &[Moment]) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        let mut last = None;
        let mut queues = Queues::new();
        for moment in moments {
            self.push(&mut queues, *moment);
            let Some(turn) = self.turn(&queues, *moment) else { continue };
            let goes_on = last == Some((moment.launch, moment.agent));
            match turns.last_mut().filter(|_| goes_on) {
                Some(before) => *before = turn,
                None => turns.push(turn),
            }
            last = Some((moment.launch, moment.agent));
        }
        turns
    }

    /// A turn; none for the end of a block, which is no operation.
    fn turn(&self, queues: &Queues, moment: Moment) -> Option<Turn> {
        let Moment { launch, agent, at } = moment;
        match self.chain(agent)? {
            Chain::Block { rank, block, lines, .. } => Some(Turn::Block {
                rank: rank.0,
                launch,
                block: block.0,
                through: lines.get(at as usize)?.step,
            }),
            Chain::Proxy { rank, channel, .. } => {
                // One proxy serves the channel, whoever pushes to it.
                let queue = queues.get(&(launch, *rank, *channel));
                let place = queue.and_then(|queue| queue.iter().position(|one| *one == moment));
                let served = place.map_or(at, |place| place as u32) + 1;
                Some(Turn::Proxy { rank: rank.0, launch, channel: channel.0, served })
            }
            Chain::User { rank } => Some(Turn::Launch { rank: rank.0, launch }),
        }
    }

    /// Notes the requests that a block's line makes.
    fn push(&self, queues: &mut Queues, moment: Moment) {
        let rank = self.rank(moment.agent);
        self.with_step(moment.agent, moment.at, |step| {
            for request in step.requests {
                let made = self.requests(rank, moment, &[request.channel]);
                queues.entry((moment.launch, rank, request.channel)).or_default().extend(made);
            }
        });
    }
}
