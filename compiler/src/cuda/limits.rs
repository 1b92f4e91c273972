//! Limits of standalone kernels.
//!
//! In: the final program. Out: reports.
//!
//! - Blocks wait for each other, so all blocks of a rank must run at once: at most as many as the GPU has room for.
//! - NVSHMEM launches a kernel on all ranks, so each needs a block.
//! - The kernel's argument holds the addresses of every rank's memory, so the number of ranks is limited.
//! - Packets and switches move 8 or 16 bytes at once, so a block's share of an operation begins at a multiple of 16 bytes.
//! - A multicast address leads to one place on all ranks, whatever the size of a message, so a switch is not bound to a
//!   buffer that begins within another one.

use super::{Ports, layout};
use crate::diagnostic::{Code, Diagnostic, Label};
use crate::ir::{Buffer, Link, OriginId, Program, RankId};

/// The bytes of a kernel's arguments: 4 KiB before CUDA 12.1.
const ARGUMENTS: usize = 32_764;

/// What they hold: the addresses of a rank's memory, that of a group of a switch, and numbers.
const RANK: usize = 32;
const GROUP: usize = 8;
const NUMBERS: usize = 24;

/// The bytes that an access moves at most.
const WORD: u32 = 16;

/// Checks a program; `sms` is how many blocks the GPU runs at once.
#[must_use]
pub fn check(program: &Program, ports: Ports, sms: u32) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let most = program.ranks.iter().map(|rank| rank.blocks.len()).max().unwrap_or(0);
    if most > sms as usize {
        found.push(placed(program, too_many_blocks(most, sms)));
    }
    let mut ranks = program.ranks.entries();
    let idle = ranks.find(|(_, rank)| ports == Ports::Nvshmem && rank.blocks.is_empty());
    if let Some((rank, _)) = idle.filter(|_| most > 0) {
        found.push(placed(program, no_block(rank)));
    }
    let room = (ARGUMENTS - NUMBERS).saturating_sub(GROUP * layout::groups(program).max(1)) / RANK;
    if program.ranks.len() > room {
        found.push(placed(program, too_many_ranks(program.ranks.len(), room)));
    }
    if !program.options.alignment.is_multiple_of(WORD) {
        let mut report = bad_alignment(program.options.alignment);
        report.primary = program.options.alignment_place.map(|place| Label::new(place, ""));
        found.push(report);
    }
    if let Some((origin, inner, outer)) = moving_switch(program) {
        let mut report = no_such_address(inner, outer);
        report.primary = Some(Label::new(program.origins.place(origin), ""));
        found.push(report);
    }
    found
}

/// The first switch channel over a buffer that begins within another one on some rank, with the two buffers.
fn moving_switch(program: &Program) -> Option<(OriginId, Buffer, Buffer)> {
    let mut channels = program.ranks.iter().flat_map(|rank| {
        let used = rank.used_switches();
        rank.channels.entries().filter(move |(id, _)| used.contains(id))
    });
    channels.find_map(|(_, channel)| {
        let Link::Switch(group) = &channel.link else { return None };
        let members = program.ranks.entries().filter(|(id, _)| group.ranks.contains(id));
        let mut aliases = members.filter_map(|(_, rank)| rank.alias);
        let alias = aliases.find(|alias| alias.inner == group.buffer && alias.offset > 0)?;
        Some((channel.origin, alias.inner, alias.outer))
    })
}

fn placed(program: &Program, mut report: Diagnostic) -> Diagnostic {
    if let Some(place) = program.collective.place {
        report.primary = Some(Label::new(place, ""));
    }
    report
}

fn too_many_blocks(count: usize, most: u32) -> Diagnostic {
    let message = format!("a rank has {count} thread blocks; {most} run at once on its GPU");
    Diagnostic::without_place(Code::E0806, message)
        .note("blocks wait for each other, so one that has not started yet can keep all others waiting forever")
        .help("give each block more of the work, or use fewer `instances`")
        .help("for a GPU with more multiprocessors, say how many: `--sms`, in an editor the setting `sms`")
}

fn no_block(rank: RankId) -> Diagnostic {
    let message = format!("rank {} has no thread block", rank.0);
    Diagnostic::without_place(Code::E0811, message)
        .note("NVSHMEM launches a kernel on all ranks together")
        .help("build the program for the ranks that take part in it")
}

fn too_many_ranks(count: usize, room: usize) -> Diagnostic {
    let message =
        format!("the program has {count} ranks; a kernel's arguments have room for {room}");
    Diagnostic::without_place(Code::E0813, message)
        .note("a kernel receives the addresses of every rank's memory, and one for each group of a switch")
        .help("build an execution plan for MSCCL++'s executor instead")
}

fn bad_alignment(alignment: u32) -> Diagnostic {
    let message = format!("`alignment` is {alignment}; kernels move {WORD} bytes at a time");
    Diagnostic::without_place(Code::E0810, message)
        .note("blocks of a group would begin their shares where packets and switches cannot access memory, or within an element")
        .help("set `alignment` to a multiple of 16")
}

fn no_such_address(inner: Buffer, outer: Buffer) -> Diagnostic {
    let (inner, outer) = (inner.word(), outer.word());
    let message =
        format!("in place, `{inner}` begins within `{outer}`, where no multicast address leads");
    Diagnostic::without_place(Code::E0807, message)
        .note(
            "a multicast address leads to one place on all ranks, whatever the size of the message",
        )
        .help(format!("bind the switch to `{outer}`, and use the chunk of it"))
}
