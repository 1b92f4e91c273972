//! The `.h` file: the C interface of a program.
//!
//! In: the program and its layout. Out: the text, which is self-contained: the part of the interface that all
//! programs share is in every header, behind a guard.

use super::Network;
use super::layout::Layout;
use super::traffic::Traffic;
use crate::ir::{Buffer, Program};

/// The text of the header. `name` is a C identifier.
pub(super) fn text(program: &Program, network: Network, layout: &Layout, name: &str) -> String {
    let message = program.collective.message().word();
    let guard = format!("{}_H", name.to_uppercase());
    let memory = memory(program);
    let scratch = if layout.scratch_chunks > 0
        && (layout.traits.plain_scratch || !program.options.double_scratch)
    {
        "All launches must have the size that it was made for."
    } else {
        "Launches may be smaller."
    };
    let types = types(program, layout);
    let size = size(program, layout);
    let exchange = match network {
        Network::Mapped => String::new(),
        Network::Nvshmem => format!(
            "\n/* An exchange for memory from nvshmem_malloc, of which every processing element has as much: rank r is\n   \
             processing element r. */\n\
             int {name}_nvshmem_exchange(void *context, const ccl_memory *mine, ccl_memory *all);\n"
        ),
    };
    let (constants, groups) = (constants(program, layout, name), groups(layout, name));
    format!(
        "/* {name}: {} of {} ranks. Made by cclc {}. */\n#ifndef {guard}\n#define {guard}\n\n{}\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{constants}\n{groups}\
         /* The program on one rank. */\ntypedef struct {name}_program {name}_program;\n\n\
         /* A message is the {message}: {size}.\n   {memory} */\n\n\
         /* How much scratch and sync memory a rank needs, on its device, within reach of its peers. */\n\
         size_t {name}_scratch_bytes(size_t message_bytes);\nsize_t {name}_sync_bytes(void);\n\n\
         /* Makes a program for messages of so many bytes; all ranks do so together. {scratch} */\n\
         ccl_status {name}_create({name}_program **made, const ccl_setup *setup);\n\n\
         /* Runs it once on a stream (a cudaStream_t), on all ranks in the same order.\n   {types} */\n\
         ccl_status {name}_launch({name}_program *program, size_t message_bytes, ccl_type type, ccl_op op, void *stream);\n\n\
         /* Ends it, when all launches of all ranks are over. The memory stays its owner's. */\n\
         void {name}_destroy({name}_program *program);\n{exchange}\n\
         #ifdef __cplusplus\n}}\n#endif\n#endif\n",
        program.collective.name,
        program.ranks.len(),
        env!("CARGO_PKG_VERSION"),
        super::INTERFACE,
    )
}

/// The sizes that a message may have, in words.
fn size(program: &Program, layout: &Layout) -> String {
    let options = &program.options;
    let each = match (layout.groups.is_empty(), layout.traits.packets) {
        (false, _) => ", each a multiple of 16 bytes",
        (true, true) => ", each a multiple of 8 bytes, or with CCL_LL8 of 4",
        (true, false) => "",
    };
    let least = options.min_message_size.map(|bytes| format!("; {bytes} bytes or more"));
    let most = options.max_message_size.map(|bytes| format!("; {bytes} bytes at most"));
    let (least, most) = (least.unwrap_or_default(), most.unwrap_or_default());
    format!("{} chunks of equal size{each}{least}{most}", layout.message_chunks)
}

/// What the type and the operation of a launch mean, in words.
fn types(program: &Program, layout: &Layout) -> String {
    let traits = &layout.traits;
    match (traits.reduces, traits.fixed_op) {
        (false, _) => "Nothing is combined: any operation will do, and any type of which a chunk holds a whole number.".to_owned(),
        (true, false) => "Elements of that type are combined by that operation.".to_owned(),
        (true, true) => format!(
            "Elements of that type are combined in several ways; the operation has to be {}, the collective's.",
            super::op(program.collective.op)
        ),
    }
}

fn constants(program: &Program, layout: &Layout, name: &str) -> String {
    let traffic = Traffic::of(program);
    let rows = [
        ("ranks", program.ranks.len() as u64),
        ("blocks", layout.blocks.into()),
        ("threads", program.options.threads.into()),
        ("message_chunks", layout.message_chunks.into()),
        ("group_count", layout.groups.len() as u64),
    ];
    let touched = [("read_chunks", traffic.read), ("written_chunks", traffic.written)];
    let [rows, touched] = [rows.as_slice(), &touched].map(|rows| {
        let row = |(what, number): &(&str, u64)| format!("    {name}_{what} = {number}");
        rows.iter().map(row).collect::<Vec<_>>().join(",\n")
    });
    format!(
        "enum {{\n{rows},\n    /* What a launch touches of all ranks' memory: what is touched again counts once, packets twice. */\n{touched}\n}};\n"
    )
}

/// How input and output are related, in words.
fn memory(program: &Program) -> &'static str {
    let inner = program.ranks.iter().find_map(|rank| rank.alias).map(|alias| alias.inner);
    match inner {
        Some(Buffer::Input) => {
            "In place: the input is a part of the output. Give the output; the input may be null."
        }
        Some(Buffer::Output) => {
            "In place: the output is a part of the input. Give the input; the output may be null."
        }
        Some(Buffer::Scratch) | None => "Out of place: input and output do not overlap.",
    }
}

fn groups(layout: &Layout, name: &str) -> String {
    let most = layout.groups.iter().map(|group| group.ranks.len()).max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    format!(
        "/* The ranks whose buffers a multicast address leads to: 0 is the input, 1 the output, 2 scratch. */\n\
         typedef struct {name}_group {{\n    int buffer;\n    int count;\n    int ranks[{most}];\n}} {name}_group;\n\
         extern const {name}_group {name}_groups[{}];\n\n",
        layout.groups.len()
    )
}
