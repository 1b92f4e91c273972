//! Options and shapes of the whole program that MSCCL++'s executor does not accept.
//!
//! In: the program's options, each rank's buffers and ports. Out: findings for an alignment that is no multiple of 16
//! bytes, for amounts of scratch that must not differ, or with which packets may not be aligned, for a rank without
//! input, output or thread blocks, and for ports from the ninth rank of a node to another node.

use super::findings::{Findings, Group, Site, place_at};
use super::terms::Terms;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::ir;
use crate::ir::scratch::ScratchChunks;

/// The executor moves data 16 bytes at a time.
const WORD: u32 = 16;

/// The number of network devices in the executor's table, one for each rank of a node.
const DEVICES: u32 = 8;

pub(super) fn program(findings: &mut Findings<'_>) {
    let options = &findings.program.options;
    if options.alignment == 0 || !options.alignment.is_multiple_of(WORD) {
        let report = bad_alignment(findings.terms.alignment(), options.alignment);
        findings.add_plain("alignment", place_at(report, options.alignment_place, String::new()));
    }
    let mut sizes = findings.program.ranks.iter().map(|rank| rank.scratch_chunks);
    let first = sizes.next().unwrap_or_default();
    let other = sizes.find(|size| *size != first);
    if let Some(other) = other.filter(|_| ir::memory::needs_equal_scratch(findings.program)) {
        findings.add_plain("scratch", uneven_scratch(first, other));
    }
    let multiple = ir::scratch::scratch_multiple(findings.program, 1);
    if !first.is_multiple_of(multiple) || !largest_is_even(findings) {
        let multiple = multiple.max(options.alignment / 2);
        findings.add_plain("halves", odd_halves(first, multiple));
    }
}

/// Whether the second half of scratch is aligned if the largest message of a plan decides on its size: a plan that was made
/// elsewhere may state any.
fn largest_is_even(findings: &Findings<'_>) -> bool {
    let options = &findings.program.options;
    let Some(largest) = options.max_message_size else { return true };
    let packets = options.protocol == ir::Protocol::Ll && !options.reuse_resources;
    if !packets || findings.terms == Terms::Source {
        return true;
    }
    let mut ranks = findings.program.ranks.iter();
    ranks.all(|rank| ScratchChunks::of(rank).half_is_aligned(options, largest))
}

pub(super) fn rank(findings: &mut Findings<'_>, id: ir::RankId, rank: &ir::Rank) {
    let site = |origin: Option<ir::OriginId>| Site {
        rank: id,
        block: None,
        origin: origin.unwrap_or(ir::OriginId(u32::MAX)),
    };
    for (name, chunks) in [("input", rank.input_chunks), ("output", rank.output_chunks)] {
        if chunks == 0 {
            let place = findings.program.collective.place;
            let rule = (Code::E0811, name, Group::Program);
            let from_source = findings.terms == Terms::Source;
            let told = || place_at(no_chunks(id, name, from_source), place, String::new());
            findings.add(rule, site(None), 0, told);
        }
    }
    if rank.blocks.is_empty() {
        findings.add((Code::E0811, "blocks", Group::Program), site(None), 0, || no_blocks(id));
    }
    let per_node = findings.program.ranks_per_node.max(1);
    if id.0 % per_node < DEVICES {
        return;
    }
    for channel in &rank.channels {
        let ir::Link::Port(peer) = channel.link else { continue };
        if peer.0 / per_node != id.0 / per_node {
            let rule = (Code::E0812, "port", Group::Program);
            findings
                .add(rule, site(Some(channel.origin)), 0, || no_device(id.0 % per_node, per_node));
        }
    }
}

fn bad_alignment(name: &str, alignment: u32) -> Diagnostic {
    Diagnostic::without_place(
        Code::E0810,
        format!("{name} is {alignment}; MSCCL++'s executor moves {WORD} bytes at a time"),
    )
    .note("with chunks that are not a multiple of that, it loses or overwrites the bytes at their ends")
    .help(format!("set {name} to a multiple of 16"))
}

fn uneven_scratch(one: u32, other: u32) -> Diagnostic {
    let message = format!("ranks have different amounts of scratch: {one} chunks and {other}");
    Diagnostic::without_place(Code::E0810, message)
        .note("with two halves, slots or a switch, MSCCL++'s executor computes places on other ranks from its own amount")
        .help("give all ranks the largest `scratch_chunks`")
}

fn odd_halves(chunks: u32, multiple: u32) -> Diagnostic {
    let s = if chunks == 1 { "" } else { "s" };
    let message = format!(
        "with {chunks} chunk{s}, the second half of scratch may begin in the middle of a packet"
    );
    let report = Diagnostic::without_place(Code::E0810, message)
        .note("MSCCL++'s executor divides the allocation of the input by its chunks, and does not round to the 16 bytes of a packet")
        .help(format!("let `scratch_chunks` be a multiple of {multiple}"));
    Diagnostic { severity: Severity::Warning, ..report }
}

fn no_chunks(rank: ir::RankId, buffer: &str, from_source: bool) -> Diagnostic {
    let report = Diagnostic::without_place(Code::E0811, format!("rank {} has no {buffer}", rank.0))
        .note("MSCCL++'s executor divides by the number of chunks of both buffers, whatever the plan does with them")
        .help(format!(
            "give every rank at least one chunk of `{buffer}`: the program need not use it, and the collective need promise nothing of it"
        ));
    match from_source {
        true => report.help("or write kernels, which have no such limit: `--emit cuda`"),
        false => report,
    }
}

fn no_blocks(rank: ir::RankId) -> Diagnostic {
    Diagnostic::without_place(Code::E0811, format!("rank {} has no thread block", rank.0))
        .note("MSCCL++'s executor launches a kernel on every rank, and without a block there is none to launch")
        .help("give the rank a block without operations")
}

fn no_device(local: u32, per_node: u32) -> Diagnostic {
    Diagnostic::without_place(
        Code::E0812,
        format!("a port leads to another node from local rank {local} of a node of {per_node} ranks"),
    )
    .note(format!("MSCCL++'s executor supports {DEVICES} network devices, one for each rank of a node"))
    .help("send over the ports of the first eight ranks of the node, or set `ranks_per_node` to its real value")
}
