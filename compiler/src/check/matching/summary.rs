//! Whether every counter is used as it should be: a quick look, without saying what is wrong.
//!
//! Most programs have no such mistake, and there are as many counters as operations; so only what decides this is kept
//! for each counter.

use crate::ir::{Action, BlockId, ChannelKind, Op, Program, Rank};
use crate::table::{Id, Table};

/// Which blocks do something: none, one, or several.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Who(u32);

const NOBODY: Who = Who(u32::MAX);
const SEVERAL: Who = Who(u32::MAX - 1);

impl Who {
    fn add(&mut self, block: BlockId) {
        *self = match *self {
            NOBODY => Who(block.0),
            Who(known) if known == block.0 => *self,
            Who(_) => SEVERAL,
        };
    }
}

/// How often something is done, and by which blocks.
#[derive(Clone, Copy)]
struct Times {
    count: u32,
    who: Who,
}

const NEVER: Times = Times { count: 0, who: NOBODY };

impl Times {
    fn add(&mut self, block: BlockId) {
        self.count += 1;
        self.who.add(block);
    }
}

/// An end of a channel.
#[derive(Clone, Copy)]
struct End {
    signals: Times,
    waits: Times,
    pushers: Who,
}

/// A semaphore.
#[derive(Clone, Copy)]
struct Semaphore {
    acquires: Times,
    releases: u32,
}

struct Uses {
    ends: Vec<End>,
    semaphores: Vec<Semaphore>,
}

/// Whether every counter balances and has one user at each end, or may have several. False for programs that use
/// counters in pipelines: these need the full check.
pub(super) fn is_sound(program: &Program) -> bool {
    let mut uses = Table::default();
    for rank in &program.ranks {
        let Some(of_rank) = uses_of(rank) else { return false };
        uses.push(of_rank);
    }
    program.ranks.entries().all(|(id, rank)| {
        let Some(own) = uses.lookup(id) else { return false };
        let ends = rank.channels.iter().zip(&own.ends).all(|(channel, end)| {
            let there = channel.peer().zip(channel.partner);
            let there = there.and_then(|(peer, there)| uses.lookup(peer)?.ends.get(there.index()));
            let alone = channel.partner.is_some() || end.waits.count == 0;
            let waits = there.map_or(0, |there: &End| there.waits.count);
            alone && end.signals.count == waits && (channel.shared || !is_shared(end))
        });
        let mut semaphores = rank.semaphores.iter().zip(&own.semaphores);
        ends && semaphores.all(|(semaphore, uses)| {
            uses.acquires.count == uses.releases
                && (semaphore.shared || uses.acquires.who != SEVERAL)
        })
    })
}

fn is_shared(end: &End) -> bool {
    let pushed = end.signals.count > 0 && end.pushers == SEVERAL;
    pushed || end.signals.who == SEVERAL || end.waits.who == SEVERAL
}

/// How a rank uses its counters; none where it has pipelines.
fn uses_of(rank: &Rank) -> Option<Uses> {
    let end = End { signals: NEVER, waits: NEVER, pushers: NOBODY };
    let semaphore = Semaphore { acquires: NEVER, releases: 0 };
    let mut uses = Uses {
        ends: vec![end; rank.channels.len()],
        semaphores: vec![semaphore; rank.semaphores.len()],
    };
    for (id, block) in rank.blocks.entries() {
        for op in &block.ops {
            uses.add(id, op)?;
        }
    }
    Some(uses)
}

impl Uses {
    fn add(&mut self, block: BlockId, op: &Op) -> Option<()> {
        match &op.action {
            Action::Signal(signal) => {
                for id in &signal.channels {
                    self.ends.get_mut(id.index())?.signals.add(block);
                }
            }
            Action::Wait(signal) => {
                for id in &signal.channels {
                    self.ends.get_mut(id.index())?.waits.add(block);
                }
            }
            Action::Acquire(list) => {
                for id in list {
                    self.semaphores.get_mut(id.index())?.acquires.add(block);
                }
            }
            Action::Release(list) => {
                for id in list {
                    self.semaphores.get_mut(id.index())?.releases += 1;
                }
            }
            Action::Transfer(transfer) if transfer.via == Some(ChannelKind::Port) => {
                let signals = transfer.verb.signals();
                for id in &transfer.channels {
                    let end = self.ends.get_mut(id.index())?;
                    end.pushers.add(block);
                    if signals {
                        end.signals.add(block);
                    }
                }
            }
            Action::Pipeline(_) => return None,
            Action::Transfer(_) | Action::Flush(_) | Action::Sync | Action::Barrier { .. } => {}
        }
        Some(())
    }
}
