//! The part before the operations: the collective, the options and the declarations.

use super::names::{self, Names, SwitchFamily, buffer_name};
use super::tables::Tables;
use crate::ir::{
    Buffer, ChannelKind, Joins, Program, Promise, Protocol, Rank, RankId, Replication,
};
use crate::table::Id;
use std::sync::Arc;

/// The number of promises above which they are left out.
const MOST_PROMISES: usize = 1 << 16;

/// The title comment.
pub(super) fn title(program: &Program) -> String {
    let ranks = program.ranks.len();
    format!(
        "//! `{}` for {ranks} ranks, operation by operation: a dump, not meant to be edited.\n\n",
        program.options.name
    )
}

/// The collective that the program implements, with the sizes that it has here.
pub(super) fn collective(program: &Program, tables: &mut Tables) -> String {
    let mut size = |name: &str, chunks: fn(&Rank) -> u32| {
        let values: Vec<i64> = program.ranks.iter().map(|rank| i64::from(chunks(rank))).collect();
        tables.list(&format!("{name}_chunks"), &values, "rank")
    };
    let input = size("input", |rank| rank.input_chunks);
    let output = size("output", |rank| rank.output_chunks);
    let mut text = format!(
        "/// What a rank has, and what it must end with.\ncollective {}() {{\n",
        collective_name(program)
    );
    text.push_str(&format!("    input[{input}];\n    output[{output}];\n"));
    text.push_str(&in_place(program, tables));
    text.push_str(&ensures(program, tables));
    text.push_str(&begun(program, tables));
    text.push_str(&same(program, tables));
    text.push_str("}\n");
    text
}

fn in_place(program: &Program, tables: &mut Tables) -> String {
    let aliases = || program.ranks.iter().filter_map(|rank| Some((rank, rank.alias?)));
    let Some((_, first)) = aliases().next() else { return String::new() };
    let (inner, outer) = (buffer_name(first.inner), buffer_name(first.outer));
    let offsets: Vec<i64> = aliases().map(|(_, alias)| i64::from(alias.offset)).collect();
    let inner_chunks = |rank: &Rank| {
        i64::from(if first.inner == Buffer::Input { rank.input_chunks } else { rank.output_chunks })
    };
    let outer_chunks = |rank: &Rank| {
        i64::from(if first.outer == Buffer::Input { rank.input_chunks } else { rank.output_chunks })
    };
    if program.ranks.iter().all(|rank| inner_chunks(rank) == outer_chunks(rank)) {
        return format!("    in_place {{ {inner} = {outer}; }}\n");
    }
    let sizes: Vec<i64> = program.ranks.iter().map(inner_chunks).collect();
    let offset = tables.list("in_place_offset", &offsets, "rank");
    let size = tables.list("in_place_size", &sizes, "rank");
    format!("    in_place {{ {inner} = {outer}[{offset} ..+ {size}]; }}\n")
}

/// The promises, if each is a single run of contributions; otherwise nothing but a comment.
fn ensures(program: &Program, tables: &mut Tables) -> String {
    let all: Vec<&[Promise]> = program.ranks.iter().map(|rank| &*rank.promises).collect();
    let shared = program
        .ranks
        .iter()
        .zip(program.ranks.iter().skip(1))
        .all(|(a, b)| Arc::ptr_eq(&a.promises, &b.promises));
    let distinct: &[&[Promise]] = if shared { all.get(..1).unwrap_or_default() } else { &all };
    let count: usize = distinct.iter().map(|promises| promises.len()).sum();
    if count == 0 {
        return String::new();
    }
    let simple =
        distinct.iter().all(|promises| promises.iter().all(|promise| promise.terms.len() == 1));
    if !simple || count > MOST_PROMISES {
        return "    // What it ensures is left out: it is not a simple list.\n".to_owned();
    }
    let mut column = |name: &str, value: fn(&Promise) -> Option<i64>| {
        let row = |promises: &&[Promise]| promises.iter().filter_map(value).collect();
        let rows: Vec<Vec<i64>> = distinct.iter().map(row).collect();
        tables.rows(&format!("promise_{name}"), &rows, "i")
    };
    let chunk = column("chunk", |p| Some(i64::from(p.chunk)));
    let rank = column("rank", |p| Some(i64::from(p.terms.first()?.rank)));
    let source = column("source", |p| Some(i64::from(p.terms.first()?.chunk)));
    let terms = column("terms", |p| Some(i64::from(p.terms.first()?.count)));
    let rank_step = column("rank_step", |p| Some(i64::from(p.terms.first()?.rank_step)));
    let source_step = column("source_step", |p| Some(i64::from(p.terms.first()?.chunk_step)));
    let counts: Vec<i64> = all.iter().map(|promises| promises.len() as i64).collect();
    let count = tables.list("promises", &counts, "rank");
    let value = match terms.as_str() {
        "1" => format!("({rank}).input[{source}]"),
        _ => format!(
            "reduce(t in 0..{terms}: ({rank} + t * ({rank_step})).input[{source} + t * ({source_step})])"
        ),
    };
    format!("    ensures for i in 0..{count} {{ output[{chunk}] == {value} }}\n")
}

/// The ranks that have begun before a rank ends.
fn begun(program: &Program, tables: &mut Tables) -> String {
    let all = (0..program.ranks.len() as u32).map(RankId);
    if program.ranks.iter().all(|rank| rank.begun.iter().copied().eq(all.clone())) {
        return format!("    ensures for r in 0..{} {{ begun(r) }}\n", all.len());
    }
    let row = |rank: &Rank| rank.begun.iter().map(|id| i64::from(id.0)).collect();
    let rows: Vec<Vec<i64>> = program.ranks.iter().map(row).collect();
    if rows.iter().all(Vec::is_empty) {
        return String::new();
    }
    let counts: Vec<i64> = rows.iter().map(|row| row.len() as i64).collect();
    let (count, rank) =
        (tables.list("begun", &counts, "rank"), tables.rows("begun_rank", &rows, "i"));
    format!("    ensures for i in 0..{count} {{ begun({rank}) }}\n")
}

/// The output chunks with the same bits as on other ranks.
fn same(program: &Program, tables: &mut Tables) -> String {
    let row = |rank: &Rank| rank.same.iter().map(|chunk| i64::from(*chunk)).collect();
    let rows: Vec<Vec<i64>> = program.ranks.iter().map(row).collect();
    if rows.iter().all(Vec::is_empty) {
        return String::new();
    }
    let counts: Vec<i64> = rows.iter().map(|row| row.len() as i64).collect();
    let (count, chunk) =
        (tables.list("same", &counts, "rank"), tables.rows("same_chunk", &rows, "i"));
    format!("    ensures for i in 0..{count} {{ same(output[{chunk}]) }}\n")
}

/// The program's text from its first line to the end of its options.
pub(super) fn opening(program: &Program) -> String {
    let ranks = program.ranks.len();
    let mut nodes = if program.ranks_per_node as usize == ranks {
        String::new()
    } else {
        format!(", ranks_per_node: int = {}", program.ranks_per_node)
    };
    if program.ranks_per_domain != program.ranks_per_node {
        nodes += &format!(", ranks_per_domain: int = {}", program.ranks_per_domain);
    }
    let in_place = if program.ranks.iter().any(|rank| rank.alias.is_some()) {
        "in_place = true, "
    } else {
        ""
    };
    let op = program.collective.op.word();
    let program_name = identifier(&program.options.name);
    let collective = collective_name(program);
    let mut text = format!(
        "\n/// Made for {ranks} ranks.\nprogram {program_name}_dump(ranks: int = {ranks}{nodes}) {{\n"
    );
    text.push_str(&format!(
        "    require ranks == {ranks}, \"a dump is made for one number of ranks\";\n"
    ));
    text.push_str(&format!("    collective {collective}({in_place}op = {op});\n    options {{\n"));
    options(program)
        .iter()
        .for_each(|(name, value)| text.push_str(&format!("        {name} = {value};\n")));
    text.push_str("    }\n");
    text
}

fn options(program: &Program) -> Vec<(&'static str, String)> {
    let options = &program.options;
    let protocol = match options.protocol {
        Protocol::Simple => "Simple",
        Protocol::Ll => "LL",
    };
    let replication = match options.replication {
        Replication::Interleaved => "interleaved",
        Replication::None => "none",
    };
    let instances = if program.instances_done == 1 { options.instances } else { 1 };
    let mut list = vec![
        ("name", quoted(&options.name)),
        ("protocol", protocol.to_owned()),
        ("threads", options.threads.to_string()),
        ("instances", instances.to_string()),
        ("replication", replication.to_owned()),
        ("alignment", options.alignment.to_string()),
        ("double_scratch", options.double_scratch.to_string()),
        ("reuse_resources", options.reuse_resources.to_string()),
        ("fuse", options.fuse.to_string()),
        ("auto_sync", (options.auto_sync && program.joins == Joins::Implied).to_string()),
    ];
    if !options.split_blocks {
        list.push(("split_blocks", false.to_string()));
    }
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
    match (options.min_message_size, options.max_message_size) {
        (None, None) => {}
        (from, None) => list.push(("message_size", format!("{}..", bytes(from)))),
        (from, to) => list.push(("message_size", format!("{}..={}", bytes(from), bytes(to)))),
    }
    if !options.tags.is_empty() {
        let tags: Vec<String> =
            options.tags.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        list.push(("tags", format!("{{ {} }}", tags.join(", "))));
    }
    list
}

/// Scratch, channels, semaphores and blocks. The `#[allow]`s suppress warnings about declarations that no operation
/// uses.
pub(super) fn declarations(program: &Program, names: &Names, tables: &mut Tables) -> String {
    let mut text = String::new();
    let column = |value: fn(&Rank) -> usize| -> Vec<i64> {
        program.ranks.iter().map(|rank| value(rank) as i64).collect()
    };
    let scratch = column(|rank| rank.scratch_chunks as usize);
    if scratch.iter().any(|chunks| *chunks > 0) {
        let count = tables.list("scratch_chunks", &scratch, "rank");
        text.push_str(&format!("    #[allow(W0203)]\n    scratch cells[{count}];\n"));
    }
    for kind in [ChannelKind::Memory, ChannelKind::Port] {
        text.push_str(&channels(program, names, kind, tables));
    }
    for (name, family) in &names.switches {
        text.push_str(&switch(name, family, tables));
    }
    let semaphores = column(|rank| rank.semaphores.len());
    if semaphores.iter().any(|count| *count > 0) {
        let initial =
            |rank: &Rank| rank.semaphores.iter().map(|semaphore| semaphore.initial).collect();
        let rows: Vec<Vec<i64>> = program.ranks.iter().map(initial).collect();
        let (count, value) = (
            tables.list("semaphores", &semaphores, "rank"),
            tables.rows("semaphore_initial", &rows, "i"),
        );
        let shared = program.ranks.iter().flat_map(|rank| &rank.semaphores).any(|sem| sem.shared);
        let shared = if shared { ", shared" } else { "" };
        text.push_str(&format!(
            "    #[allow(W0204{shared})]\n    semaphore sem[i in 0..{count}] = {value};\n"
        ));
    }
    let blocks = column(|rank| rank.blocks.len());
    if blocks.iter().any(|count| *count > 0) {
        let count = tables.list("blocks", &blocks, "rank");
        text.push_str(&format!("    #[allow(W0301)]\n    block b[i in 0..{count}] = i;\n"));
    }
    text
}

fn channels(program: &Program, names: &Names, kind: ChannelKind, tables: &mut Tables) -> String {
    let family = names::family(kind);
    let (mut peers, mut ends) = (Vec::new(), Vec::new());
    for rank in &program.ranks {
        let of_kind = || rank.channels.iter().filter(|channel| channel.kind() == kind);
        peers.push(
            of_kind()
                .map(|channel| channel.peer().map_or(0, |peer| i64::from(peer.0)))
                .collect::<Vec<i64>>(),
        );
        let end = |channel: &crate::ir::Channel| {
            let numbers = channel.peer().and_then(|peer| names.numbers.lookup(peer));
            let partner = channel.partner.and_then(|partner| numbers?.get(partner.index()));
            partner.map_or(0, |number| *number as i64)
        };
        ends.push(of_kind().map(end).collect::<Vec<i64>>());
    }
    let counts: Vec<i64> = peers.iter().map(|row| row.len() as i64).collect();
    if counts.iter().all(|count| *count == 0) {
        return String::new();
    }
    let word = if kind == ChannelKind::Port { "port" } else { "memory" };
    let count = tables.list(&format!("{family}_count"), &counts, "rank");
    let peer = tables.rows(&format!("{family}_peer"), &peers, "i");
    let end = tables.rows(&format!("{family}_end"), &ends, "i");
    format!(
        "    #[allow(W0202, shared)]\n    channel {family}[i in 0..{count}] = {word}({peer}) to {family}[{end}];\n"
    )
}

fn switch(name: &str, family: &SwitchFamily, tables: &mut Tables) -> String {
    let members = |group: &Option<Arc<crate::ir::SwitchGroup>>| {
        group
            .as_ref()
            .map(|group| group.ranks.iter().map(|rank| i64::from(rank.0)).collect())
            .unwrap_or_default()
    };
    let groups: Vec<Vec<i64>> = family.groups.iter().map(members).collect();
    let ranks = tables.whole(&format!("{name}_ranks"), &groups);
    let buffer = buffer_name(family.buffer);
    if family.is_single() {
        return format!("    #[allow(W0202)]\n    channel {name} = switch({ranks}, {buffer});\n");
    }
    let counts: Vec<i64> = family.groups.iter().map(|group| i64::from(group.is_some())).collect();
    let count = tables.list(&format!("{name}_count"), &counts, "rank");
    format!(
        "    #[allow(W0202)]\n    channel {name}[i in 0..{count}] = switch({ranks}, {buffer});\n"
    )
}

fn collective_name(program: &Program) -> String {
    identifier(&program.collective.name)
}

/// A name that is valid in source: unchanged if it is already.
pub(crate) fn identifier(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut text: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        text.insert(0, '_');
    }
    text
}

/// A string literal as in source.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
