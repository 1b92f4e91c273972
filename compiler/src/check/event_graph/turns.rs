//! Moments as the turns of a schedule: consecutive moments of an agent form one turn.

use super::{Chain, EventGraph, Moment};
use crate::diagnostic::witness::Turn;

impl EventGraph<'_> {
    /// The turns that a sequence of moments makes up.
    pub(in crate::check) fn turns(&self, moments: &[Moment]) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        let mut last = None;
        for moment in moments {
            let Some(turn) = self.turn(*moment) else { continue };
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
    fn turn(&self, moment: Moment) -> Option<Turn> {
        let Moment { launch, agent, at } = moment;
        match self.chain(agent)? {
            Chain::Block { rank, block, lines } => Some(Turn::Block {
                rank: rank.0,
                launch,
                block: block.0,
                through: lines.get(at as usize)?.step,
            }),
            Chain::Proxy { rank, channel, .. } => {
                Some(Turn::Proxy { rank: rank.0, launch, channel: channel.0, served: at + 1 })
            }
            Chain::User { rank } => Some(Turn::Launch { rank: rank.0, launch }),
        }
    }
}
