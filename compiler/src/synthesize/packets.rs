//! Programs of packets, for the shortest messages: a packet carries its own signal, so that ranks need no others.
//!
//! What is written arrives in scratch memory, which has two halves for launches that follow each other. So only schedules of
//! one or two steps have such a program, on machines whose channels are memory: an AllGather, also one whose chunks go
//! over other ranks, and a ReduceScatter or an AllReduce in which each rank sends to all others.

use super::channels::Channels;
use super::rows::TableSteps;
use super::rules::{
    EntryTexts, TableNames, WayBack, count_blocks, find_entries, write_list_function,
    write_neighbors, write_tables,
};
use super::shifted::{StepRules, WaySteps};
use super::{MAX_BLOCK_CHANNELS, MAX_TABLE_MOVES, ProgramHead, write_head, write_opening};
use std::fmt::{self, Write as _};
use synth::collective::CollectiveKind;
use synth::schedule::{MoveAction, StepSchedule};

/// How many steps a schedule of packets has at most: with more, bandwidth counts, of which packets take twice as much.
pub(super) const MAX_STEPS: usize = 2;

/// The largest message. Scratch memory for packets is four times as large; longer messages are faster without them.
const MAX_MESSAGE: &str = "1MiB";

/// Writes the program of packets of a schedule. Returns whether there is one.
pub(super) fn write_program(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
    rules: Option<&StepRules>,
    channels: &Channels,
    text: &mut String,
) -> Result<bool, fmt::Error> {
    if !channels.can_read() {
        return Ok(false);
    }
    let ranks = head.machine.graph.count_ranks();
    match (head.kind, rules) {
        (CollectiveKind::AllGather, Some(rules)) => {
            write_ruled_gather(head, rules, channels, text)?;
        }
        (CollectiveKind::AllGather, None) if schedule.moves.len() <= MAX_TABLE_MOVES => {
            write_listed_gather(head, schedule, channels, text)?;
        }
        (CollectiveKind::ReduceScatter | CollectiveKind::AllReduce, Some(rules))
            if sends_to_all(rules, ranks) && schedule.chunks == 1 =>
        {
            write_sums(head, channels, text)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Whether each rank has a channel to each other one in its block, and what is added up, and what is copied then, goes
/// there at once.
fn sends_to_all(rules: &StepRules, ranks: u32) -> bool {
    let is_direct = |table: &WaySteps| {
        table.0.len() == 1
            && table.0.iter().flatten().all(|load| load.wholes == [0] && load.parts.is_empty())
    };
    let ways = rules.rules.ways.len();
    ways + 1 == ranks as usize
        && ways <= MAX_BLOCK_CHANNELS
        && rules.rules.tables.iter().all(is_direct)
}

/// The items of the program up to its options.
fn write_declarations(head: &ProgramHead<'_>, text: &mut String) -> fmt::Result {
    write_opening(head, true, None, text)?;
    writeln!(
        text,
        "options {{ protocol = LL; instances = instances; double_scratch = true; message_size = ..={MAX_MESSAGE}; }}"
    )
}

fn write_ruled_gather(
    head: &ProgramHead<'_>,
    steps: &StepRules,
    channels: &Channels,
    text: &mut String,
) -> fmt::Result {
    let Some((rules, table)) = steps.copies.and_then(|index| {
        let table = steps.rules.tables.get(index)?;
        Some((&steps.rules, table))
    }) else {
        return Ok(());
    };
    let names = [TableNames::SENDS];
    let blocks = count_blocks(rules, channels, MAX_BLOCK_CHANNELS);
    let back = if rules.is_symmetric() { WayBack::Unused } else { WayBack::OfRanks };
    write_head(head, text)?;
    write_tables(rules, &names, back, text)?;
    write_list_function(table, &TableNames::SENDS, head.chunks, text)?;
    write_neighbors(rules, text)?;
    write_declarations(head, text)?;
    let ranks = head.machine.graph.count_ranks();
    let (ways, chunks) = (rules.ways.len(), head.chunks);
    writeln!(text, "scratch inbox[{}];", u64::from(ranks) * chunks)?;
    channels.write_declaration(text)?;
    let (open, own_ways) = if blocks == 1 {
        ("\nblock main {".to_owned(), format!("0..{ways}"))
    } else {
        (format!("\nblock part[g in 0..{blocks}] {{"), format!("(g..{ways}).step({blocks})"))
    };
    let EntryTexts { list, binder, owner, offset, span, .. } =
        find_entries(table, &TableNames::SENDS, chunks);
    let steps =
        if table.is_single() { String::new() } else { format!("t in 0..{}, ", table.0.len()) };
    writeln!(
        text,
        "{open}
        for {steps}w in {own_ways}, p in [at(rank, ways[w])], {binder} in {list} {{
            let c = at(rank, {owner}){offset};"
    )?;
    let own = format!("put_packets output{span} -> p.inbox{span} via mem[p];");
    if table.is_single() {
        writeln!(text, "{own}\n}}")?;
    } else {
        writeln!(
            text,
            "if {owner} == 0 {{ {own} }} else {{ read_put_packets inbox{span} -> p.inbox{span} via mem[p]; }}\n}}"
        )?;
    }
    if blocks > 1 {
        let all =
            if chunks == 1 { "[p]".to_owned() } else { format!("[p * {chunks} ..+ {chunks}]") };
        return writeln!(
            text,
            "for x in (g + 1..{ranks}).step({blocks}), p in [at(rank, x)] {{ unpack_packets inbox{all} -> output{all}; }}\n}}\n}}"
        );
    }
    write_unpacking(head, text)
}

/// Unpacks all chunks but the rank's own, and ends the program.
fn write_unpacking(head: &ProgramHead<'_>, text: &mut String) -> fmt::Result {
    let last = head.machine.graph.count_ranks() - 1;
    let [own, next] = match head.chunks {
        1 => ["rank".to_owned(), "rank + 1".to_owned()],
        chunks => [format!("rank * {chunks}"), format!("(rank + 1) * {chunks}")],
    };
    writeln!(
        text,
        "if rank > 0 {{ unpack_packets inbox[..{own}] -> output[..{own}]; }}
        if rank < {last} {{ unpack_packets inbox[{next}..] -> output[{next}..]; }}\n}}\n}}"
    )
}

fn write_listed_gather(
    head: &ProgramHead<'_>,
    schedule: &StepSchedule,
    channels: &Channels,
    text: &mut String,
) -> fmt::Result {
    let copies = TableSteps::select(schedule, MoveAction::Copy);
    write_head(head, text)?;
    writeln!(
        text,
        "/// Step by step: [piece, from, to]. A piece has the same place on all ranks."
    )?;
    let row = |own: &synth::schedule::Move| format!("[{}, {}, {}]", own.piece.0, own.from, own.to);
    copies.write_table("copies", row, text)?;
    super::table::write_neighbors(&["copies"], text)?;
    write_declarations(head, text)?;
    let chunks = head.chunks;
    writeln!(text, "scratch inbox[{}];", u64::from(head.machine.graph.count_ranks()) * chunks)?;
    channels.write_declaration(text)?;
    let owner = if chunks == 1 { "s[0]".to_owned() } else { format!("s[0] / {chunks}") };
    writeln!(
        text,
        "\nblock main {{
        for step in copies, s in step if s[1] == rank {{
            let p = s[2];
            if {owner} == rank {{ put_packets output[s[0]] -> p.inbox[s[0]] via mem[p]; }} else {{ read_put_packets inbox[s[0]] -> p.inbox[s[0]] via mem[p]; }}
        }}"
    )?;
    write_unpacking(head, text)
}

/// Each rank adds up its part of all inputs, and sends the sum to all for an AllReduce.
fn write_sums(head: &ProgramHead<'_>, channels: &Channels, text: &mut String) -> fmt::Result {
    let ranks = head.machine.graph.count_ranks();
    let buffer = if head.kind == CollectiveKind::ReduceScatter { "input" } else { "output" };
    let sends_sums = head.kind == CollectiveKind::AllReduce;
    write_head(head, text)?;
    writeln!(text, "/// All other ranks, the next one first.")?;
    writeln!(text, "fn neighbors(r: rank) -> int[] = [x in 1..{ranks}: (r + x) % {ranks}];\n")?;
    write_declarations(head, text)?;
    writeln!(text, "scratch parts[p in peers];")?;
    if sends_sums {
        writeln!(text, "scratch sums[p in peers];")?;
    }
    channels.write_declaration(text)?;
    writeln!(
        text,
        "\nblock main {{
        for p in neighbors(rank) {{ put_packets {buffer}[p] -> p.parts[rank] via mem[p]; }}
        reduce_packets {buffer}[rank], parts[*] -> {buffer}[rank];"
    )?;
    if sends_sums {
        writeln!(
            text,
            "for p in neighbors(rank) {{ put_packets {buffer}[rank] -> p.sums[rank] via mem[p]; }}
            for p in neighbors(rank) {{ unpack_packets sums[p] -> {buffer}[p]; }}"
        )?;
    }
    writeln!(text, "}}\n}}")
}
