//! The user of a rank's stream: checks the output of a launch, spoils it, writes new input and launches again.

use super::Outcome;
use super::machine::Machine;
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
        let output = self.memory.whole(self.program, id, Buffer::Output);
        if let Some(mut wrong) = self.data.wrong(self.program, id, launch, output) {
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
        self.memory.spoil(self.program, id, Buffer::Output);
        let input = self.memory.whole_mut(self.program, id, Buffer::Input);
        self.data.fill(id.0, launch, 0, input);
        self.memory.launched(id, launch, true);
        self.begin(id);
    }
}
