//! Chooses whose packet is waited for where several agents write it: one that does not come from a given moment, if
//! there is one.

use super::{Agent, Chain, EventGraph, Moment};
use crate::check::budget::MOMENTS;
use rustc_hash::FxHashMap;

/// An order of moments in which a given one runs as late as possible, and whatever waits for its packets later still.
pub(in crate::check) struct Late {
    moment: Option<Moment>,
    /// The position of each moment in the order.
    at: FxHashMap<Moment, u32>,
    /// Whether its packets may be waited for.
    gives: bool,
}

impl Late {
    /// Which of a packet's writers a reader waits for; none where it can wait for none of them.
    pub(super) fn choose(
        &self,
        reader: Moment,
        writers: impl Iterator<Item = Moment>,
    ) -> Option<Moment> {
        let is_it = |writer: &Moment| self.moment == Some(*writer);
        let now = self.at.get(&reader).copied().unwrap_or(u32::MAX);
        let before = |writer: &Moment| self.at.get(writer).is_some_and(|at| *at < now);
        writers
            .filter(|writer| before(writer) && (self.gives || !is_it(writer)))
            .min_by_key(|writer| (is_it(writer), self.at.get(writer).copied()))
    }
}

impl EventGraph<'_> {
    /// The order in which `moment` comes as late as possible, until both it and `target` are reached; none where they
    /// are not reached, or where no packet has several writers.
    pub(in crate::check) fn late(&self, moment: Option<Moment>, target: Moment) -> Option<Late> {
        if self.packets.values().all(|writers| writers.len() < 2) {
            return None;
        }
        let mut late = Late { moment, at: FxHashMap::default(), gives: false };
        let launches = moment.map_or(0, |moment| moment.launch).max(target.launch);
        let agents = 0..self.chains.len() as Agent;
        let mut next: Vec<Moment> =
            agents.map(|agent| Moment { launch: 0, agent, at: 0 }).collect();
        let mut held = moment;
        loop {
            let mut moved = false;
            for next in &mut next {
                moved |= self.go_on(&mut late, next, (held, launches));
            }
            let reached = late.at.contains_key(&target);
            if reached && moment.is_none_or(|moment| late.at.contains_key(&moment)) {
                late.gives = true;
                return Some(late);
            }
            match (moved && !reached, held, late.gives) {
                (true, ..) => {}
                (false, Some(_), _) => held = None,
                (false, None, false) => late.gives = true,
                (false, None, true) if moved => {}
                (false, None, true) => return None,
            }
        }
    }

    /// Advances an agent from a moment as far as possible; says whether it advanced.
    fn go_on(
        &self,
        late: &mut Late,
        next: &mut Moment,
        (held, launches): (Option<Moment>, u32),
    ) -> bool {
        let before = *next;
        while next.launch <= launches
            && next.at < self.length(next.agent)
            && held != Some(*next)
            && late.at.len() < MOMENTS.count()
        {
            let needs = self.needs(*next, Some(late));
            if !needs.is_some_and(|needs| needs.iter().all(|one| late.at.contains_key(one))) {
                break;
            }
            late.at.insert(*next, late.at.len() as u32);
            *next = match next.at + 1 < self.length(next.agent) {
                true => Moment { at: next.at + 1, ..*next },
                false => Moment { launch: next.launch + 1, at: 0, ..*next },
            };
        }
        *next != before
    }

    /// How many moments an agent has in a launch.
    fn length(&self, agent: Agent) -> u32 {
        match self.chain(agent) {
            Some(Chain::Block { lines, .. }) => lines.len() as u32 + 1,
            Some(Chain::Proxy { requests, .. }) => requests.len() as u32,
            Some(Chain::User { .. }) => 1,
            None => 0,
        }
    }
}
