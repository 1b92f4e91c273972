//! Kernels as a native algorithm of MSCCL++.
//!
//! In: a program without switch channels, since the library gives algorithms no addresses for
//! these. Out: a `.cu` file for the interface of MSCCL++ 0.9, which includes the kernels' own file
//! and registers their memory with a communicator.

use super::{Files, names};
use crate::ir::{Buffer, Link, Program};

/// The text of every such file, with holes.
const TEMPLATE: &str = include_str!("runtime/mscclpp_0_9.cu");

/// The name of the file and of the Python module that it is compiled to, without an extension.
#[must_use]
pub fn module(file: &str) -> String {
    format!("{}_mscclpp", names::identifier(file))
}

/// Whether a program can be a native algorithm.
#[must_use]
pub fn fits(program: &Program) -> bool {
    let mut channels = program.ranks.iter().flat_map(|rank| rank.channels.iter());
    !channels.any(|channel| matches!(channel.link, Link::Switch(_)))
}

/// The text of the file. `files` are the kernels' own, and `file` is their name, without an extension.
///
/// The library caches what it has compiled by the text of this file alone, so the
/// text contains a hash of the other files.
#[must_use]
pub fn write(program: &Program, files: &Files, file: &str) -> String {
    let name = &*names::identifier(file);
    let message = program.collective.message();
    let inner = |buffer| {
        program.ranks.iter().any(|rank| rank.alias.is_some_and(|alias| alias.inner == buffer))
    };
    let input = if inner(Buffer::Input) { "nullptr" } else { "const_cast<void *>(input)" };
    let output = if inner(Buffer::Output) { "nullptr" } else { "output" };
    // The library counts the bytes of a rank's input.
    let share = if message == Buffer::Output { program.ranks.len() as u64 } else { 1 };
    let options = &program.options;
    let least = options.min_message_size.unwrap_or(0).div_ceil(share);
    let most = options.max_message_size.unwrap_or(u64::MAX) / share;
    let tags: Vec<String> =
        options.tags.iter().map(|(name, value)| format!("{{\"{name}\", {value}}}")).collect();
    let placement = if program.collective.in_place { "InPlace" } else { "OutOfPlace" };
    let head = format!(
        "// {name} as a native algorithm of MSCCL++ 0.9. Made by cclc {}; to be changed in the .ccl file.\n\
         // mscclpp.compile_native(\"{}\", \"{}.cu\") makes a module of it, whose `create` gives the algorithm.\n\
         // It is compiled again when this changes, which is made of all that it includes: {}\n",
        env!("CARGO_PKG_VERSION"),
        module(file),
        module(file),
        hash(files),
    );
    let holes = [
        ("@file@", file),
        ("@program@", name),
        ("@module@", &module(file)),
        ("@collective@", &program.collective.name),
        ("@message@", message.word()),
        ("@input@", input),
        ("@output@", output),
        ("@least_bytes@", &format!("{least}u")),
        ("@most_bytes@", &format!("{most}u")),
        ("@placement@", placement),
        ("@tags@", &format!("{{{}}}", tags.join(", "))),
        ("@ranks_per_node@", &program.ranks_per_node.to_string()),
    ];
    holes.iter().fold(head + TEMPLATE, |text, (hole, value)| text.replace(hole, value))
}

/// A hash of the kernels' own files.
fn hash(files: &Files) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for text in [&files.source, &files.header, &files.device] {
        hasher.update(text.as_bytes());
    }
    hasher.finalize()
}
