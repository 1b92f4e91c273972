//! The ranks of a plan before their blocks are read: their memory, channels and remote buffers.
//!
//! In: the plan's `gpus`. Out: a [`Frame`] for each, or none and a report where a number or name in it means nothing.
//! Channel ends have their partners, and groups that could not be set up are reported.

use super::{At, Reader, buffer, short};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::plan::{Gpu, RankGroup};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A rank before its blocks are read.
pub(super) struct Frame {
    /// Its memory and its channels.
    pub(super) rank: ir::Rank,
    /// Channels of each kind by the plan's ids: memory, port, switch.
    pub(super) by_kind: ByKind<Vec<ir::ChannelId>>,
    pub(super) remotes: Vec<Remote>,
}

/// A buffer of another rank.
#[derive(Clone)]
pub(super) struct Remote {
    pub(super) rank: ir::RankId,
    pub(super) buffer: ir::Buffer,
    /// The kinds of channel over which it is accessible.
    pub(super) kinds: Vec<ir::ChannelKind>,
}

impl Frame {
    /// The groups of its switch channels, by the plan's ids.
    fn groups(&self) -> Vec<&ir::SwitchGroup> {
        let links = self.by_kind.switch.iter().filter_map(|id| self.rank.channels.lookup(*id));
        links
            .filter_map(|channel| match &channel.link {
                ir::Link::Switch(group) => Some(&**group),
                ir::Link::Memory(_) | ir::Link::Port(_) => None,
            })
            .collect()
    }
}

/// One value for each kind of channel.
#[derive(Clone, Default)]
pub(super) struct ByKind<T> {
    pub(super) memory: T,
    pub(super) port: T,
    pub(super) switch: T,
}

impl<T> ByKind<T> {
    pub(super) fn get(&self, kind: ir::ChannelKind) -> &T {
        match kind {
            ir::ChannelKind::Memory => &self.memory,
            ir::ChannelKind::Port => &self.port,
            ir::ChannelKind::Switch => &self.switch,
        }
    }

    pub(super) fn get_mut(&mut self, kind: ir::ChannelKind) -> &mut T {
        match kind {
            ir::ChannelKind::Memory => &mut self.memory,
            ir::ChannelKind::Port => &mut self.port,
            ir::ChannelKind::Switch => &mut self.switch,
        }
    }
}

impl Reader<'_, '_> {
    /// A rank with its memory, channels and remote buffers.
    pub(super) fn frame(&mut self, rank: u32, gpu: &Gpu<'_>) -> Option<Frame> {
        let at = At::rank(rank);
        if gpu.id != i64::from(rank) {
            self.report(
                at,
                format!("`id` is {} in entry {rank} of `gpus`: ranks are listed in order", gpu.id),
            );
            return None;
        }
        let mut count = |key: &str, chunks: i64| {
            let count = u32::try_from(chunks).ok();
            if count.is_none() {
                self.report(at, format!("`{key}` is {chunks}, not a number of chunks"));
            }
            count
        };
        let row = ir::Rank {
            input_chunks: count("input_chunks", gpu.input_chunks)?,
            output_chunks: count("output_chunks", gpu.output_chunks)?,
            scratch_chunks: count("scratch_chunks", gpu.scratch_chunks)?,
            ..ir::Rank::default()
        };
        let mut frame = Frame { rank: row, by_kind: ByKind::default(), remotes: Vec::new() };
        let channels = self.channels(rank, gpu, &mut frame);
        self.remotes(rank, gpu, &mut frame)?;
        channels.map(|()| frame)
    }

    fn channels(&mut self, rank: u32, gpu: &Gpu<'_>, frame: &mut Frame) -> Option<()> {
        let at = At::rank(rank);
        for entry in &gpu.channels {
            let kind = self.channel_kind(at, &entry.channel_type)?;
            let links: Vec<ir::Link> = match kind {
                ir::ChannelKind::Memory | ir::ChannelKind::Port => {
                    let peers = entry.connected_to.iter();
                    peers.map(|peer| self.link(rank, kind, *peer)).collect::<Option<_>>()?
                }
                ir::ChannelKind::Switch => {
                    let Some(bound) = buffer(&entry.buffer_type) else {
                        self.report(
                            at,
                            match &*entry.buffer_type {
                                "" => "`buffer_type` of a switch channel is missing".to_owned(),
                                other => format!("`{}` is not a buffer type", short(other)),
                            },
                        );
                        return None;
                    };
                    let groups = entry.rank_groups.iter();
                    groups.map(|group| self.group(at, bound, group)).collect::<Option<_>>()?
                }
            };
            for link in links {
                let ids = frame.by_kind.get_mut(kind);
                let name = format!("{} channel {}", entry.channel_type, ids.len()).into();
                let origin = self.origin(at);
                ids.push(frame.rank.channels.push(ir::Channel {
                    name,
                    link,
                    partner: None,
                    origin,
                    shared: false,
                }));
            }
        }
        Some(())
    }

    fn link(&mut self, rank: u32, kind: ir::ChannelKind, peer: i64) -> Option<ir::Link> {
        let id = self.peer(At::rank(rank), peer)?;
        if id.0 == rank {
            self.report(At::rank(rank), "a channel leads from a rank to itself");
            return None;
        }
        Some(match kind {
            ir::ChannelKind::Port => ir::Link::Port(id),
            ir::ChannelKind::Memory | ir::ChannelKind::Switch => ir::Link::Memory(id),
        })
    }

    fn group(&mut self, at: At, bound: ir::Buffer, group: &RankGroup) -> Option<ir::Link> {
        let peers = group.ranks.iter().map(|peer| self.peer(at, *peer));
        let mut ranks = peers.collect::<Option<Vec<_>>>()?;
        // The executor does not depend on their order.
        ranks.sort_unstable();
        if let Some((twice, _)) = ranks.iter().zip(ranks.iter().skip(1)).find(|(a, b)| a == b) {
            self.report(at, format!("a switch channel has rank {} in its group twice", twice.0));
            return None;
        }
        let Ok(size) = u32::try_from(group.size) else {
            self.report(at, format!("{} is not a size of a rank group", group.size));
            return None;
        };
        Some(ir::Link::Switch(Arc::new(ir::SwitchGroup { buffer: bound, ranks, size })))
    }

    /// Checks that every member of a switch group lists it, and all members in an
    /// order in which the groups can be set up.
    pub(super) fn meet(&mut self, frames: &[Frame]) {
        let groups: Vec<Vec<&ir::SwitchGroup>> = frames.iter().map(Frame::groups).collect();
        let Some(ir::Unmet { rank, position, absent }) = ir::unmet(&groups) else { return };
        let message = match rank == absent {
            true => format!(
                "rank {}'s switch channel {position} is a group without rank {}",
                rank.0, rank.0
            ),
            false => format!(
                "rank {}'s switch channel {position} has rank {} in its group, which does not join the same group",
                rank.0, absent.0
            ),
        };
        let report = Diagnostic::new(Code::E0307, self.place(At::rank(rank.0)), message)
            .note("the executor sets up groups one after the other, each when all of its members have joined")
            .help("every member of a switch group must list the same group: its ranks, its buffer, its place in the order");
        self.reports.add(report);
    }

    pub(super) fn peer(&mut self, at: At, peer: i64) -> Option<ir::RankId> {
        let ranks = self.plan.gpus.len();
        let id = u32::try_from(peer).ok().filter(|id| (*id as usize) < ranks).map(ir::RankId);
        if id.is_none() {
            self.report(at, format!("there is no rank {peer}: the plan has {ranks} ranks"));
        }
        id
    }

    fn remotes(&mut self, rank: u32, gpu: &Gpu<'_>, frame: &mut Frame) -> Option<()> {
        let at = At::rank(rank);
        for remote in &gpu.remote_buffers {
            let peer = self.peer(at, remote.rank)?;
            let Some(theirs) = buffer(&remote.buffer) else {
                self.report(at, format!("`{}` is not a buffer type", short(&remote.buffer)));
                return None;
            };
            let types = remote.access_channel_types.iter();
            let kinds = types.map(|kind| self.channel_kind(at, kind)).collect::<Option<_>>()?;
            frame.remotes.push(Remote { rank: peer, buffer: theirs, kinds });
        }
        Some(())
    }
}

/// Gives every channel end its partner: the k-th channel of a kind from a to b meets the k-th from b to a.
pub(super) fn pair(frames: &mut [Frame]) {
    type Key = (ir::RankId, ir::RankId, ir::ChannelKind);
    let mut ends: BTreeMap<Key, SmallVec<[ir::ChannelId; 2]>> = BTreeMap::new();
    for (rank, frame) in (0..).map(ir::RankId).zip(&*frames) {
        for (id, channel) in frame.rank.channels.entries() {
            if let Some(peer) = channel.peer() {
                ends.entry((rank, peer, channel.kind())).or_default().push(id);
            }
        }
    }
    for ((from, to, kind), ids) in &ends {
        let Some(partners) = ends.get(&(*to, *from, *kind)) else { continue };
        let Some(frame) = frames.get_mut(from.0 as usize) else { continue };
        for (id, partner) in ids.iter().zip(partners) {
            if let Some(channel) = frame.rank.channels.iter_mut().nth(id.0 as usize) {
                channel.partner = Some(*partner);
            }
        }
    }
}
