//! Channels as the loader sees them: those of all ranks, which it gathers before it processes one, and those of one
//! rank, named by where they lead.

use super::{Refusal, refuse};
use crate::plan::{Gpu, Plan};
use std::collections::BTreeMap;

/// The kinds of channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    None,
    Memory,
    Port,
    Switch,
}

impl Kind {
    pub(super) fn parse(text: &str) -> Result<Kind, Refusal> {
        match text {
            "memory" => Ok(Kind::Memory),
            "port" => Ok(Kind::Port),
            "none" => Ok(Kind::None),
            "switch" => Ok(Kind::Switch),
            _ => refuse("Invalid channel type"),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::None => "none",
            Kind::Memory => "mem",
            Kind::Port => "port",
            Kind::Switch => "switch",
        }
    }
}

/// "i", "o" or "s", or the loader's refusal.
pub(super) fn buffer_type(text: &str) -> Result<&'static str, Refusal> {
    match text {
        "i" => Ok("i"),
        "o" => Ok("o"),
        "s" => Ok("s"),
        _ => refuse("Invalid buffer type"),
    }
}

/// What the loader gathers from all ranks before it processes one.
pub(super) struct World {
    /// For a rank and a kind of channel, how many channels each peer has to that rank.
    pub(super) incoming: BTreeMap<(i64, Kind), BTreeMap<i64, u64>>,
    /// For a rank, which of its buffers are reached by which ranks, as "r1.o", sorted.
    pub(super) exported: BTreeMap<i64, Vec<String>>,
    /// The first thing on any rank that makes the loader refuse all ranks.
    pub(super) refusal: Option<Refusal>,
}

impl World {
    pub(super) fn new(plan: &Plan<'_>) -> World {
        let mut world =
            World { incoming: BTreeMap::new(), exported: BTreeMap::new(), refusal: None };
        world.refusal = world.gather(plan).err();
        for buffers in world.exported.values_mut() {
            buffers.sort();
        }
        world
    }

    fn gather(&mut self, plan: &Plan<'_>) -> Result<(), Refusal> {
        for gpu in &plan.gpus {
            for channel in &gpu.channels {
                let kind = Kind::parse(&channel.channel_type)?;
                if kind == Kind::Switch {
                    buffer_type(&channel.buffer_type)?;
                    continue;
                }
                for peer in &channel.connected_to {
                    *self.incoming.entry((*peer, kind)).or_default().entry(gpu.id).or_default() +=
                        1;
                }
            }
        }
        for gpu in &plan.gpus {
            for remote in &gpu.remote_buffers {
                let buffer = buffer_type(&remote.buffer)?;
                for kind in &remote.access_channel_types {
                    Kind::parse(kind)?;
                }
                self.exported.entry(remote.rank).or_default().push(format!("r{}.{buffer}", gpu.id));
            }
        }
        Ok(())
    }
}

/// The channels of one rank, named by where they lead.
pub(super) struct Identities {
    /// Memory and port channels: the peer of each, in id order, and a name such as "mem:r1#0".
    channels: [Vec<(i64, String)>; 2],
    /// The bound buffer of each switch channel.
    pub(super) switches: Vec<&'static str>,
}

impl Identities {
    pub(super) fn new(gpu: &Gpu<'_>) -> Result<Identities, Refusal> {
        let mut identities =
            Identities { channels: [Vec::new(), Vec::new()], switches: Vec::new() };
        let mut ordinals = BTreeMap::new();
        for channel in &gpu.channels {
            let kind = Kind::parse(&channel.channel_type)?;
            let [memory, port] = &mut identities.channels;
            let rows = match kind {
                Kind::Memory => memory,
                Kind::Port => port,
                Kind::Switch => {
                    let buffer = buffer_type(&channel.buffer_type)?;
                    identities.switches.extend(channel.rank_groups.iter().map(|_| buffer));
                    continue;
                }
                Kind::None => continue,
            };
            for peer in &channel.connected_to {
                let ordinal = ordinals.entry((kind, *peer)).or_insert(0_u32);
                rows.push((*peer, format!("{}:r{peer}#{ordinal}", kind.name())));
                *ordinal += 1;
            }
        }
        Ok(identities)
    }

    pub(super) fn of_kind(&self, kind: Kind) -> &[(i64, String)] {
        let [memory, port] = &self.channels;
        match kind {
            Kind::Memory => memory,
            Kind::Port => port,
            Kind::Switch | Kind::None => &[],
        }
    }

    pub(super) fn name(&self, kind: Kind, id: i64) -> String {
        let bad = || format!("{}:OUT_OF_RANGE({id})", kind.name());
        let Ok(row) = usize::try_from(id) else { return bad() };
        match kind {
            Kind::Switch => match self.switches.get(row) {
                Some(_) => format!("switch#{id}"),
                None => bad(),
            },
            Kind::Memory | Kind::Port | Kind::None => {
                self.of_kind(kind).get(row).map_or_else(bad, |(_, name)| name.clone())
            }
        }
    }
}
