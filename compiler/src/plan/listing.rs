//! The canonical listing of a plan: what MSCCL++'s loader makes of it for a given number of bytes in a chunk.
//!
//! In: a [`Plan`], never the concrete program, so that faulty plans can be shown as they are. Out: one line for each
//! item. A name that is not a word is in quotes, with escapes. All arithmetic is the loader's, 32-bit truncation included; offsets and sizes are printed as it stores them. A
//! rank that the loader refuses, or on which it would divide by zero, becomes one line that begins with `REJECT`.

mod blocks;
mod channels;
mod sizes;

use super::{Gpu, Plan};
use blocks::{Blocks, Renumbering};
use channels::{Identities, Kind, World};
use sizes::Sizes;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// What to list.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The rank to list; none for all of them, in order.
    pub rank: Option<u32>,
    /// Bytes in a chunk; unless it is a multiple of the plan's alignment, every rank is refused.
    pub chunk_bytes: u64,
    /// The form of the listing.
    pub form: Form,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { rank: None, chunk_bytes: CHUNK_BYTES, form: Form::Plain }
    }
}

/// Bytes in a chunk if nothing else is known.
const CHUNK_BYTES: u64 = 4096;

/// Bytes in a chunk with which the loader takes a plan: 4096, or what is nearest among the sizes that the plan serves.
#[must_use]
pub fn chunk_bytes(plan: &Plan<'_>) -> u64 {
    let chunks = plan.gpus.iter().map(|gpu| u64::from(sizes::message_chunks(plan, gpu)).max(1));
    let (fewest, most) = (chunks.clone().min().unwrap_or(1), chunks.max().unwrap_or(1));
    let alignment = u64::from(plan.buffer_alignment as u32).max(1);
    let least = plan.min_message_size.div_ceil(fewest).max(1).checked_next_multiple_of(alignment);
    let largest = plan.max_message_size / most / alignment * alignment;
    let usual = (CHUNK_BYTES + alignment / 2) / alignment * alignment;
    match least {
        Some(least) if least <= largest => usual.clamp(least, largest),
        _ => CHUNK_BYTES,
    }
}

/// The forms of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As the loader has it.
    Plain,
    /// The channels of signals and waits sorted.
    Canon,
    /// Like `Canon`, without what may differ between two equal programs: `nop`s, `flush`es (which the executor ignores),
    /// counts, indexes, the lists from which a block's operations choose their channels, message sizes, and the numbers
    /// of barriers and semaphores.
    Normal,
}

/// Writes the listing of a plan.
///
/// # Errors
/// Those of `out`.
pub fn listing(plan: &Plan<'_>, settings: &Settings, out: &mut impl Write) -> fmt::Result {
    let world = World::new(plan);
    let ranks = match settings.rank {
        Some(rank) => rank..rank.saturating_add(1),
        None => 0..plan.gpus.len() as u32,
    };
    for rank in ranks {
        match list_rank(plan, &world, settings, rank) {
            Ok(text) => out.write_str(&text)?,
            Err(Refusal(reason)) => {
                writeln!(out, "REJECT rank {rank}: {reason} (mscclpp failure: ExecutorError)")?;
            }
        }
    }
    Ok(())
}

/// Why the loader refuses a rank.
#[derive(Clone, Debug)]
struct Refusal(String);

fn refuse<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(reason.into()))
}

impl From<fmt::Error> for Refusal {
    fn from(_: fmt::Error) -> Refusal {
        Refusal("the listing could not be written".into())
    }
}

fn list_rank(
    plan: &Plan<'_>,
    world: &World,
    settings: &Settings,
    rank: u32,
) -> Result<String, Refusal> {
    let gpu = match plan.gpus.get(rank as usize) {
        Some(gpu) if gpu.id == i64::from(rank) => gpu,
        Some(_) | None => return refuse("GPU rank does not match"),
    };
    let sizes = Sizes::new(plan, gpu, settings.chunk_bytes)?;
    if let Some(refusal) = &world.refusal {
        return Err(refusal.clone());
    }
    let identities = Identities::new(gpu)?;
    let mut text = String::new();
    list_head(plan, gpu, &sizes, settings.form, &mut text)?;
    list_connections(gpu, world, &identities, settings.form, &mut text)?;
    let tables = blocks::block_tables(gpu)?;
    let mut blocks = Blocks {
        rank,
        form: settings.form,
        sizes: &sizes,
        identities: &identities,
        barriers: Renumbering::default(),
        semaphores: Renumbering::default(),
    };
    for (position, (block, table)) in gpu.threadblocks.iter().zip(&tables).enumerate() {
        blocks.list(position, &block.ops, table, &mut text)?;
    }
    Ok(text)
}

fn list_head(
    plan: &Plan<'_>,
    gpu: &Gpu<'_>,
    sizes: &Sizes,
    form: Form,
    out: &mut String,
) -> fmt::Result {
    write!(
        out,
        "plan {} collective {} inplace {} packet {} reuse {} double {} threads {} align {}",
        quoted(&plan.name),
        quoted(&plan.collective),
        u8::from(plan.inplace),
        u8::from(plan.protocol == "LL"),
        u8::from(plan.reuse_resources),
        u8::from(plan.use_double_scratch_buffer),
        plan.num_threads_per_block as i32,
        sizes.alignment,
    )?;
    if form != Form::Normal {
        write!(out, " min {} max {}", plan.min_message_size, plan.max_message_size)?;
    }
    write!(
        out,
        "\nrank {} chunks in {} out {} scratch {} bytes in {} out {}",
        gpu.id,
        sizes.input_chunks,
        gpu.output_chunks as u32,
        sizes.scratch_chunks,
        sizes.input,
        sizes.output,
    )?;
    if form != Form::Normal {
        write!(
            out,
            " scratch_alloc {} scratch_chunk {}",
            sizes.scratch_alloc, sizes.scratch_chunk
        )?;
    }
    out.write_char('\n')
}

/// A name that a plan gives: as it is if it is a word, and otherwise in quotes, so that it cannot be taken for other words
/// or lines of the listing.
fn quoted(name: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || "_-.+=,@/".contains(c);
    if !name.is_empty() && name.chars().all(is_word) {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}

fn list_connections(
    gpu: &Gpu<'_>,
    world: &World,
    identities: &Identities,
    form: Form,
    out: &mut String,
) -> Result<(), Refusal> {
    for kind in [Kind::Memory, Kind::Port] {
        let rows = identities.of_kind(kind);
        write!(out, "channels {} {}", kind.name(), rows.len())?;
        for (id, (peer, _)) in rows.iter().enumerate() {
            write!(out, " {id}:r{peer}")?;
        }
        out.write_char('\n')?;
        list_unpaired(gpu, world, kind, rows, out)?;
    }
    let mut switches = 0;
    for channel in &gpu.channels {
        if Kind::parse(&channel.channel_type)? != Kind::Switch {
            continue;
        }
        for group in &channel.rank_groups {
            write!(out, "nvls {switches} buf {} nranks {} ranks", channel.buffer_type, group.size)?;
            for rank in &group.ranks {
                write!(out, " {rank}")?;
            }
            out.write_char('\n')?;
            switches += 1;
        }
    }
    list_remote_buffers(gpu, form, out)?;
    out.write_str("exported")?;
    for buffer in world.exported.get(&gpu.id).into_iter().flatten() {
        write!(out, " {buffer}")?;
    }
    out.write_str("\nsemaphores")?;
    for semaphore in &gpu.semaphores {
        write!(out, " {}", semaphore.init_value as i32)?;
    }
    out.write_char('\n')?;
    Ok(())
}

fn list_unpaired(
    gpu: &Gpu<'_>,
    world: &World,
    kind: Kind,
    rows: &[(i64, String)],
    out: &mut String,
) -> fmt::Result {
    let mut ours = BTreeMap::new();
    for (peer, _) in rows {
        *ours.entry(*peer).or_insert(0_u64) += 1;
    }
    let mut missing = Vec::new();
    for (peer, theirs) in world.incoming.get(&(gpu.id, kind)).into_iter().flatten() {
        if *peer != gpu.id {
            let ours = ours.get(peer).copied().unwrap_or(0);
            missing.extend((ours..*theirs).map(|_| *peer));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    write!(out, "unpaired {} {}", kind.name(), missing.len())?;
    for peer in missing {
        write!(out, " r{peer}")?;
    }
    out.write_char('\n')
}

fn list_remote_buffers(gpu: &Gpu<'_>, form: Form, out: &mut String) -> Result<(), Refusal> {
    let mut lines = Vec::with_capacity(gpu.remote_buffers.len());
    for (id, remote) in gpu.remote_buffers.iter().enumerate() {
        let mut kinds = Vec::new();
        for kind in &remote.access_channel_types {
            kinds.push(Kind::parse(kind)?.name());
        }
        kinds.sort_unstable();
        kinds.dedup();
        let number = if form == Form::Normal { String::new() } else { format!(" {id}") };
        lines.push(format!(
            "remote{number} r{}.{} via {}\n",
            remote.rank,
            remote.buffer,
            kinds.join(" ")
        ));
    }
    if form == Form::Normal {
        lines.sort();
    }
    out.extend(lines);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    fn list(text: &str, settings: Settings) -> String {
        let plan = super::super::parse(FileId(0), text).expect("a plan");
        let mut out = String::new();
        listing(&plan, &settings, &mut out).expect("a string takes all");
        out
    }

    fn golden(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens");
        std::fs::read_to_string(format!("{folder}/{name}")).expect("a golden")
    }

    #[test]
    fn one_rank_only() {
        let text = golden("single_node_allgather__default.json");
        let both = golden("single_node_allgather__default.listing");
        let second = both.find("plan").and_then(|_| both.rfind("plan ")).unwrap();
        assert_eq!(list(&text, Settings { rank: Some(1), ..Settings::default() }), both[second..]);
    }

    #[test]
    fn a_rank_that_is_not_there_is_refused() {
        let text = golden("single_node_allgather__default.json");
        assert_eq!(
            list(&text, Settings { rank: Some(7), ..Settings::default() }),
            "REJECT rank 7: GPU rank does not match (mscclpp failure: ExecutorError)\n"
        );
    }

    #[test]
    fn bytes_a_chunk_scale_offsets() {
        let text = golden("single_node_allgather__default.json");
        let settings = Settings { rank: Some(1), chunk_bytes: 1 << 31, form: Form::Plain };
        let listed = list(&text, settings);
        assert!(listed.contains("bytes in 2147483648 out 4294967296"), "{listed}");
        assert!(listed.contains("in[r1.o+2147483648:2147483648]"), "{listed}");
    }

    #[test]
    fn bytes_that_are_no_multiple_of_the_alignment_are_refused() {
        let text = golden("single_node_allgather__default.json");
        let listed = list(&text, Settings { chunk_bytes: 24, ..Settings::default() });
        assert_eq!(listed.lines().filter(|line| line.starts_with("REJECT rank")).count(), 2);
        assert!(listed.contains("is not aligned"), "{listed}");
    }

    #[test]
    fn the_normal_form_drops_what_may_differ() {
        let text = golden("unit_tests_tbg_tbg_reduce_fuse_test__default.json");
        let listed = list(&text, Settings { form: Form::Normal, ..Settings::default() });
        assert!(!listed.contains("nop(0)") && !listed.contains(" ops "), "{listed}");
        assert!(!listed.contains(" min ") && !listed.contains("scratch_alloc"), "{listed}");
        let signals = golden("single_node_allgather__default.json");
        let listed =
            list(&signals, Settings { form: Form::Normal, rank: Some(0), ..Settings::default() });
        assert!(listed.contains("\n  rlxsignal(23) via mem ch[mem:r1#0]\n"), "{listed}");
        assert!(listed.contains("\nremote r1.o via mem\n"), "{listed}");
    }

    #[test]
    fn faulty_plans_are_shown() {
        let text = golden("single_node_allgather__default.json")
            .replacen("\"buffer_id\": 0", "\"buffer_id\": 9", 1)
            .replacen(
                "\"connected_to\": [\n            1\n",
                "\"connected_to\": [\n            1, 1\n",
                1,
            );
        let listed = list(&text, Settings::default());
        assert!(listed.contains("out[LOCAL_OUT_OF_RANGE(9)+0:4096]"), "{listed}");
        assert!(listed.contains("channels mem 2 0:r1 1:r1\n"), "{listed}");
        assert!(listed.contains("unpaired mem 1 r0\n"), "{listed}");
    }

    #[test]
    fn a_bad_channel_type_anywhere_refuses_every_rank() {
        let text = golden("single_node_allgather__default.json").replacen(
            "\"channel_type\": \"memory\",\n          \"connected_to\"",
            "\"channel_type\": \"mem\",\n          \"connected_to\"",
            1,
        );
        let listed = list(&text, Settings::default());
        assert_eq!(listed.matches("Invalid channel type (mscclpp failure").count(), 2, "{listed}");
    }
}
