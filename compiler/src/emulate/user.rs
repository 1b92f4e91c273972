//! The user of a rank's stream: checks the output of a launch, spoils it, writes new input and launches again.

use super::Outcome;
use super::machine::Machine;
use super::memory::POISON;
use crate::ir::{Buffer, RankId};

impl Machine<'_, '_> {
    /// What the user of a rank does next.
    pub(super) fn user(&mut self, id: RankId) {
        let Some((launch, ran)) = self.ranks.get(id.0 as usize).map(|r| (r.launch, r.ran)) else {
            return;
        };
        if ran { self.look(id, launch) } else { self.launch(id, launch) }
    }

    fn look(&mut self, id: RankId, launch: u32) {
        let Some(rank) = self.program.ranks.lookup(id) else { return };
        let output = (self.memory.output(id, rank, launch), self.sizes.chunk_bytes(launch));
        if let Some(mut wrong) = self.data.wrong((id, rank), launch, output) {
            wrong.writers = self.memory.writers();
            self.end = Some(Outcome::Wrong(Box::new(wrong)));
            return;
        }
        self.memory.launched(id, launch, false);
        if let Some(rank) = self.ranks.get_mut(id.0 as usize) {
            (rank.launch, rank.ran) = (launch + 1, false);
        }
        if launch + 1 < self.launches {
            self.ready.add(self.user_of(id));
        }
    }

    fn launch(&mut self, id: RankId, launch: u32) {
        let Some(rank) = self.program.ranks.lookup(id) else { return };
        self.memory.for_user((id, Buffer::Output), rank, launch).fill(POISON);
        let input = self.memory.for_user((id, Buffer::Input), rank, launch);
        self.data.fill(id.0, launch, 0, input);
        self.memory.launched(id, launch, true);
        self.begin(id);
    }
}
