//! The names of channels in a dump.

use crate::ir::{Buffer, Channel, ChannelId, ChannelKind, Link, Program, RankId, SwitchGroup};
use crate::table::{Id, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The names of every rank's channels, and the families that they are in.
pub(super) struct Names {
    /// For each rank, each channel's name with its index.
    channels: Table<RankId, Vec<String>>,
    /// For each rank, each channel's number among those of its kind.
    pub(super) numbers: Table<RankId, Vec<usize>>,
    /// Families of switch channels, by name.
    pub(super) switches: BTreeMap<String, SwitchFamily>,
}

/// One switch channel on each of some ranks.
pub(super) struct SwitchFamily {
    /// The buffer that it binds.
    pub(super) buffer: Buffer,
    /// For each rank, the members of its group; none where it has no such channel.
    pub(super) groups: Vec<Option<Arc<SwitchGroup>>>,
}

impl SwitchFamily {
    /// Whether all ranks have the same group.
    pub(super) fn is_single(&self) -> bool {
        let first = self.groups.first();
        first.is_some_and(Option::is_some) && self.groups.iter().all(|group| Some(group) == first)
    }
}

impl Names {
    /// A channel as statements name it.
    pub(super) fn channel(&self, rank: RankId, channel: ChannelId) -> &str {
        let names = self.channels.lookup(rank);
        names.and_then(|names| names.get(channel.index())).map_or("mem[0]", String::as_str)
    }
}

/// The family of memory or port channels.
pub(super) fn family(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Memory => "mem",
        ChannelKind::Port => "far",
        ChannelKind::Switch => "nvls",
    }
}

/// Names all channels.
pub(super) fn names(program: &Program) -> Names {
    let numbers: Table<RankId, Vec<usize>> =
        program.ranks.iter().map(|rank| numbers(&rank.channels)).collect();
    let switches = switches(program, &numbers);
    let channels = program.ranks.iter().zip(&numbers).map(|(rank, numbers)| {
        let row = |(channel, number): (&Channel, &usize)| match &channel.link {
            Link::Memory(_) | Link::Port(_) => format!("{}[{number}]", family(channel.kind())),
            Link::Switch(group) => {
                let name = switch_name(*number, group.buffer);
                let single = switches.get(&name).is_some_and(SwitchFamily::is_single);
                if single { name } else { format!("{name}[0]") }
            }
        };
        rank.channels.iter().zip(numbers).map(row).collect()
    });
    let channels = channels.collect();
    Names { channels, numbers, switches }
}

fn numbers(channels: &Table<ChannelId, Channel>) -> Vec<usize> {
    let mut counts: BTreeMap<ChannelKind, usize> = BTreeMap::new();
    let mut next = |channel: &Channel| {
        let count = counts.entry(channel.kind()).or_insert(0);
        *count += 1;
        *count - 1
    };
    channels.iter().map(&mut next).collect()
}

/// The families of switch channels: the n-th ones of all ranks, separately for each buffer, since a family binds one.
/// Their names keep them in order.
fn switches(
    program: &Program,
    numbers: &Table<RankId, Vec<usize>>,
) -> BTreeMap<String, SwitchFamily> {
    let mut families: BTreeMap<String, SwitchFamily> = BTreeMap::new();
    for (at, (rank, numbers)) in program.ranks.iter().zip(numbers).enumerate() {
        for (channel, number) in rank.channels.iter().zip(numbers) {
            if let Link::Switch(group) = &channel.link {
                let family =
                    families.entry(switch_name(*number, group.buffer)).or_insert_with(|| {
                        SwitchFamily {
                            buffer: group.buffer,
                            groups: vec![None; program.ranks.len()],
                        }
                    });
                if let Some(slot) = family.groups.get_mut(at) {
                    *slot = Some(Arc::clone(group));
                }
            }
        }
    }
    families
}

fn switch_name(number: usize, buffer: Buffer) -> String {
    format!("nvls_{number:04}_{}", buffer_name(buffer))
}

/// A buffer as a dump names it: all of scratch is one region.
pub(crate) fn buffer_name(buffer: Buffer) -> &'static str {
    if buffer == Buffer::Scratch { "cells" } else { buffer.word() }
}
