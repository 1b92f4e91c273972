//! Checks certificates of sums that are each summed up at one rank and sent from there.

use super::super::demand::{Checked, require};
use super::super::{ProofFlaw, ProvedQuantity};
use super::{Evidence, combine, combine_shares};

#[expect(clippy::indexing_slicing, reason = "by vertices and edges, of which each has a number")]
impl Evidence<'_> {
    pub(super) fn check_roots(&self) -> Checked<ProvedQuantity> {
        let potentials = self.parse_potentials()?;
        let parts = potentials.chunks_exact(2 + 2 * self.ranks);
        let is_whole = parts.len() == self.demands.len() && parts.remainder().is_empty();
        require(is_whole, ProofFlaw::Malformed)?;
        let mut needed: i128 = 0;
        let mut uses = vec![0; self.topology.edges().len()];
        for (demand, potentials) in self.demands.iter().zip(parts) {
            let count = demand.count_roots().ok_or(ProofFlaw::Malformed)?;
            let mut paths = vec![0; self.ranks];
            for (half, ranks) in [&demand.receivers, &demand.origins].into_iter().enumerate() {
                // As much enters a switch as leaves it, if it has no ability; others have no potential.
                let own = &potentials[half];
                let switches = self.topology.switches().iter().zip(&own[self.ranks..]);
                let able = switches.filter(|(switch, _)| [switch.multicast, switch.reduce][half]);
                let mut others = able.map(|(_, own)| own).chain(&own[..self.ranks]);
                require(others.all(|own| *own == 0), ProofFlaw::WrongVertex)?;
                let mut sums = self.measure_rises([own; 2], i128::MIN);
                for rank in ranks.iter() {
                    let own = &potentials[2 + half * self.ranks + rank];
                    let lengths =
                        own.iter().map(|root| [own[*rank] - root, root - own[*rank]][half]);
                    combine(&mut paths, lengths, i128::saturating_add);
                    combine(&mut sums, self.measure_rises([own; 2], 0), i128::saturating_add);
                }
                combine_shares(&mut uses, &sums, count);
            }
            needed += paths.into_iter().min().unwrap_or(0);
        }
        self.require_ratio(needed, &uses)?;
        Ok(ProvedQuantity::TimePerChunkByRoots)
    }
}
