//! Counters that several blocks of a rank use.
//!
//! In: a program. Out: the ends of channels on which several blocks wait, the semaphores that several blocks acquire, and
//! the channels over which several blocks signal. If the blocks do not do so in turn, the schedule decides which of them
//! comes first, so the order of the operations on such a counter and of other waits is part of the program: if two blocks
//! hold the lock `x` before they ask for `y`, asking for both at once instead may make both wait forever.

use super::counter::{CounterKind, gives, sends, takes};
use super::{Action, BlockId, ChannelId, Program, Rank, RankId, SemaphoreId, all_ops};
use rustc_hash::FxHashSet;

/// The counters that several blocks use, on every rank; empty in most programs.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    taken: FxHashSet<(RankId, CounterKind)>,
    /// The other ends of the channels among them.
    signalled: FxHashSet<(RankId, ChannelId)>,
    /// The channels over which several blocks signal.
    sent: FxHashSet<(RankId, ChannelId)>,
    /// The channels over which several blocks signal or put over a port.
    pushed: FxHashSet<(RankId, ChannelId)>,
}

impl Sharing {
    /// The counters that several blocks use.
    #[must_use]
    pub fn of(program: &Program) -> Sharing {
        Sharing::among(program, |_| true)
    }

    /// Those on ranks on which the author accepts that the schedule decides.
    #[must_use]
    pub fn accepted(program: &Program) -> Sharing {
        Sharing::among(program, Rank::may_share)
    }

    fn among(program: &Program, on: impl Fn(&Rank) -> bool) -> Sharing {
        let mut sharing = Sharing::default();
        for (id, rank) in program.ranks.entries().filter(|(_, rank)| on(rank)) {
            let users = Users::of(rank);
            sharing.taken.extend(users.takers_of_several().map(|counter| (id, counter)));
            let signalled = |at: &u32| users.signalled.get(*at as usize) == Some(&true);
            let senders = || several(&users.senders);
            sharing.sent.extend(senders().filter(signalled).map(|at| (id, ChannelId(at))));
            sharing.pushed.extend(senders().map(|at| (id, ChannelId(at))));
        }
        let other = |(rank, counter): &(RankId, CounterKind)| {
            let CounterKind::Channel(id) = counter else { return None };
            let channel = program.ranks.lookup(*rank)?.channels.lookup(*id)?;
            channel.peer().zip(channel.partner)
        };
        sharing.signalled = sharing.taken.iter().filter_map(other).collect();
        sharing
    }

    /// Whether several blocks of a rank signal over a channel, or put over a port over which one of them signals.
    #[must_use]
    pub fn is_sent(&self, rank: RankId, channel: ChannelId) -> bool {
        self.sent.contains(&(rank, channel))
    }

    /// Whether several blocks of a rank signal over a channel, or put over a port.
    #[must_use]
    pub fn is_pushed(&self, rank: RankId, channel: ChannelId) -> bool {
        self.pushed.contains(&(rank, channel))
    }

    /// Whether no counter is taken from by several blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Whether several blocks of a rank take from a counter.
    #[must_use]
    pub fn is_shared(&self, rank: RankId, counter: CounterKind) -> bool {
        self.taken.contains(&(rank, counter))
    }

    /// Whether an operation of a rank takes from a counter that other blocks take from, too.
    #[must_use]
    pub fn is_drawn(&self, rank: RankId, action: &Action) -> bool {
        takes(action).any(|counter| self.is_shared(rank, counter))
    }

    /// Whether an operation of a rank takes from a shared counter, or gives to it.
    #[must_use]
    pub fn is_named(&self, rank: RankId, action: &Action) -> bool {
        match action {
            Action::Wait(_) | Action::Acquire(_) => self.is_drawn(rank, action),
            Action::Signal(signal) => {
                signal.channels.iter().any(|id| self.signalled.contains(&(rank, *id)))
            }
            Action::Release(list) => {
                list.iter().any(|id| self.is_shared(rank, CounterKind::Semaphore(*id)))
            }
            Action::Sync
            | Action::Barrier { .. }
            | Action::Flush(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => false,
        }
    }
}

/// Who uses something: a block, or several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    Nobody,
    One(BlockId),
    Several,
}

/// Who uses each channel and semaphore of a rank.
struct Users {
    waiters: Vec<User>,
    senders: Vec<User>,
    /// Whether anybody signals over a channel.
    signalled: Vec<bool>,
    acquirers: Vec<User>,
}

impl Users {
    fn of(rank: &Rank) -> Users {
        let nobody = |count| vec![User::Nobody; count];
        let channels = rank.channels.len();
        let mut users = Users {
            waiters: nobody(channels),
            senders: nobody(channels),
            signalled: vec![false; channels],
            acquirers: nobody(rank.semaphores.len()),
        };
        for (block, row) in rank.blocks.entries() {
            for op in all_ops(&row.ops) {
                for counter in takes(&op.action) {
                    let user = match counter {
                        CounterKind::Channel(id) => users.waiters.get_mut(id.0 as usize),
                        CounterKind::Semaphore(id) => users.acquirers.get_mut(id.0 as usize),
                    };
                    user.into_iter().for_each(|user| user.add(block));
                }
                let signals = gives(&op.action).next().is_some();
                for id in sends(&op.action) {
                    users.send(block, *id, signals);
                }
            }
        }
        users
    }

    fn send(&mut self, block: BlockId, channel: ChannelId, signals: bool) {
        let at = channel.0 as usize;
        if let Some((user, signalled)) = self.senders.get_mut(at).zip(self.signalled.get_mut(at)) {
            user.add(block);
            *signalled |= signals;
        }
    }

    fn takers_of_several(&self) -> impl Iterator<Item = CounterKind> {
        let channels = several(&self.waiters).map(|at| CounterKind::Channel(ChannelId(at)));
        channels.chain(several(&self.acquirers).map(|at| CounterKind::Semaphore(SemaphoreId(at))))
    }
}

impl User {
    fn add(&mut self, block: BlockId) {
        *self = match *self {
            User::Nobody => User::One(block),
            User::One(known) if known == block => User::One(block),
            User::One(_) | User::Several => User::Several,
        };
    }
}

/// Which of these have several users.
fn several(users: &[User]) -> impl Iterator<Item = u32> {
    let numbered = (0..).zip(users);
    numbered.filter(|(_, user)| **user == User::Several).map(|(at, _)| at)
}
