//! Programs of rules: what one rank does in each step, by how far other ranks are away from it. All ranks do the same.
//!
//! A *way* is how far a receiver is from its sender. Tables say, step by step and for each way, how far the owners are
//! away whose chunks are sent. Sums run backwards: who would send adds up what who would receive has. It reads that over
//! memory channels; where there are ports, which cannot read, it is put into its scratch memory.
//!
//! One thread block does everything, if it has room for the channels. Otherwise several blocks share the ways, and meet
//! after each step.

use super::channels::Channels;
use super::expressions::{is_involutory, write_by_way, write_difference, write_numbers, write_sum};
use super::shifted::{ShiftRules, StepRules, WayLoad, WaySteps};
use super::{MAX_BLOCK_CHANNELS, ProgramHead, write_declarations, write_head};
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use synth::collective::CollectiveKind;
use synth::graph::Vertex;

/// How many entries of a table one of several blocks takes in a step at most.
const MAX_STEP_ENTRIES: usize = 24;

/// How many columns a step takes at most that shares a line with others.
const MAX_SHORT_STEP: usize = 22;

/// Writes the offsets of receivers, the tables of all steps, and the functions that add offsets.
pub(super) fn write_tables(
    rules: &ShiftRules,
    names: &[TableNames],
    back: WayBack,
    text: &mut String,
) -> fmt::Result {
    writeln!(text, "/// The ways: how far receivers are away from a rank.")?;
    let ways = write_numbers(&rules.ways);
    // A single range needs no parentheses here.
    let range = ways.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let ways = range.filter(|range| !range.contains('(')).unwrap_or(&ways);
    writeln!(text, "let ways = {ways};\n")?;
    for (table, names) in rules.tables.iter().zip(names) {
        write_table(table, names, text)?;
    }
    let sum = write_sum(&rules.group, "r", "x");
    writeln!(text, "/// The rank that is `x` away from `r`.")?;
    writeln!(text, "fn at(r: int, x: int) -> int = {sum};\n")?;
    if is_involutory(&rules.group) {
        return Ok(());
    }
    match back {
        WayBack::Unused => Ok(()),
        WayBack::OfRanks => {
            let difference = write_difference(&rules.group, "r", "x");
            writeln!(text, "/// The rank from which `r` is `x` away.")?;
            writeln!(text, "fn before(r: int, x: int) -> int = {difference};\n")
        }
        WayBack::OfWays => {
            let difference = write_difference(&rules.group, "rank", "ways[w]");
            writeln!(text, "/// The rank from which the way `w` leads here.")?;
            writeln!(text, "fn sender(w: int) -> rank = {difference};\n")
        }
    }
}

/// What a program has to find the rank from which a way leads to another one, unless that is as far away in both
/// directions.
#[derive(Clone, Copy)]
pub(super) enum WayBack {
    /// Nothing: nobody asks for it.
    Unused,
    /// A function of a rank and how far it is away.
    OfRanks,
    /// A function of the way to the rank that runs.
    OfWays,
}

/// The rank from which a way leads here, where there is a function of ways for it.
pub(super) fn write_sender(rules: &ShiftRules, way: &str) -> String {
    if is_involutory(&rules.group) {
        format!("at(rank, ways[{way}])")
    } else {
        format!("sender({way})")
    }
}

/// The name of the function that leads back: where each way leads back, it is that which leads forth.
pub(super) fn name_before(rules: &ShiftRules) -> &'static str {
    if is_involutory(&rules.group) { "at" } else { "before" }
}

/// What the items of a table are called.
pub(super) struct TableNames {
    /// What the table says, as a comment.
    pub(super) comment: &'static str,
    pub(super) wholes: &'static str,
    pub(super) parts: &'static str,
}

impl TableNames {
    /// Of copies.
    pub(super) const SENDS: TableNames = TableNames {
        comment: "Step by step, for each way: how far the ranks are away whose chunks go there.",
        wholes: "sends",
        parts: "parts",
    };

    /// Of copies, and of sums that are these copies backwards.
    pub(super) const BOTH: TableNames = TableNames {
        comment: "Step by step, for each way: how far the ranks are away whose chunks go there; backwards, they are added up.",
        ..TableNames::SENDS
    };

    /// Of sums.
    pub(super) const SUMS: TableNames = TableNames {
        comment: "From the last step back, for each way: how far the ranks are away whose chunks are added from there.",
        wholes: "sums",
        parts: "sum_parts",
    };

    /// Of trees: a step is a level.
    pub(super) const LEVELS: TableNames = TableNames {
        comment: "By the distance from the root of a tree, for each way: how far the roots are away whose chunks go there.",
        ..TableNames::SENDS
    };
}

fn write_table(table: &WaySteps, names: &TableNames, text: &mut String) -> fmt::Result {
    let TableNames { comment, wholes, parts } = names;
    writeln!(text, "/// {comment}")?;
    let steps: Vec<String> = table
        .0
        .iter()
        .map(|step| {
            let lists: Vec<String> = step.iter().map(|load| write_numbers(&load.wholes)).collect();
            write_by_way(&lists)
        })
        .collect();
    // Lists that are all empty have no type.
    let is_typed = table.0.iter().flatten().all(|load| load.wholes.is_empty());
    let kind = if is_typed { ": int[][][]" } else { "" };
    // The formatter breaks lines where they are broken here; short steps share lines.
    let is_short = steps.iter().all(|step| step.len() <= MAX_SHORT_STEP);
    let between = if is_short { ", " } else { ",\n" };
    writeln!(text, "let {wholes}{kind} = [\n{},\n];\n", steps.join(between))?;
    if table.has_parts() {
        writeln!(
            text,
            "/// Those that go in parts: [step, number of the way, how far the owner is, first piece, pieces]."
        )?;
        let mut rows = Vec::new();
        for (step, loads) in table.0.iter().enumerate() {
            for (way, load) in loads.iter().enumerate() {
                let row = |part: &super::shifted::OwnerPart| {
                    format!("[{step}, {way}, {}, {}, {}]", part.owner, part.first, part.count)
                };
                rows.extend(load.parts.iter().map(row));
            }
        }
        writeln!(text, "let {parts} = [\n{},\n];\n", rows.join(", "))?;
    }
    Ok(())
}

/// Writes the function that lists what goes over a way in a step, if some chunks go in parts.
pub(super) fn write_list_function(
    table: &WaySteps,
    names: &TableNames,
    chunks: u64,
    text: &mut String,
) -> fmt::Result {
    if !table.has_parts() {
        return Ok(());
    }
    let TableNames { wholes, parts, .. } = names;
    writeln!(
        text,
        "/// What goes over a way in a step: [how far the owner is, first piece, pieces].
        fn list_{wholes}(t: int, w: int) -> int[][] = [x in {wholes}[t][w]: [x, 0, {chunks}]] + [s in {parts} if s[0] == t && s[1] == w: [s[2], s[3], s[4]]];\n"
    )
}

/// Writes the function that lists the neighbors of a rank.
pub(super) fn write_neighbors(rules: &ShiftRules, text: &mut String) -> fmt::Result {
    writeln!(text, "/// The ranks that `r` sends to or receives from.")?;
    if rules.is_symmetric() {
        return writeln!(text, "fn neighbors(r: rank) -> int[] = [w in ways: at(r, w)];\n");
    }
    let before = name_before(rules);
    writeln!(
        text,
        "fn neighbors(r: rank) -> int[] = {{p in [w in ways: at(r, w)] + [w in ways: {before}(r, w)]: p}};\n"
    )
}

/// How the entries of a table are bound and read, for the step `t` and the way `w`.
pub(super) fn find_entries(table: &WaySteps, names: &TableNames, chunks: u64) -> EntryTexts {
    let name = names.wholes;
    let [step, slot] = if table.is_single() { ["0", ""] } else { ["t", "t, "] };
    let scale = if chunks == 1 { String::new() } else { format!(" * {chunks}") };
    if table.has_parts() {
        return EntryTexts {
            list: format!("list_{name}({step}, w)"),
            binder: "s",
            owner: "s[0]",
            offset: format!("{scale} + s[1]"),
            span: "[c ..+ s[2]]".to_owned(),
            slot: format!("{slot}w, s[0], s[1] ..+ s[2]"),
        };
    }
    let span = if chunks == 1 { "[c]".to_owned() } else { format!("[c ..+ {chunks}]") };
    let pieces = if chunks == 1 { "" } else { ", .." };
    let slot = format!("{slot}w, x{pieces}");
    let list = format!("{name}[{step}][w]");
    EntryTexts { list, binder: "x", owner: "x", offset: scale, span, slot }
}

/// Writes the program of rules.
pub(super) fn write_program(
    head: &ProgramHead<'_>,
    steps: &StepRules,
    channels: &Channels,
    text: &mut String,
) -> fmt::Result {
    let writer = RuleWriter::new(head, steps, channels);
    write_head(head, text)?;
    if writer.is_split() {
        // One more import follows those of the head.
        text.truncate(text.trim_end().len());
        let patterns = if writer.needs_farewell() { "{handshake, meet}" } else { "handshake" };
        writeln!(text, "\nuse std::patterns::{patterns};\n")?;
    }
    let names = writer.list_names();
    write_tables(&steps.rules, &names, writer.find_way_back(), text)?;
    writer.write_functions(&names, text)?;
    channels.write_functions(text)?;
    write_declarations(head, true, text)?;
    writer.write_channels(text)?;
    writeln!(text)?;
    writer.write_body(text)?;
    writeln!(text, "}}")
}

struct RuleWriter<'a> {
    head: &'a ProgramHead<'a>,
    steps: &'a StepRules,
    channels: &'a Channels,
    /// How many blocks share the ways.
    blocks: usize,
}

impl<'a> RuleWriter<'a> {
    fn new(
        head: &'a ProgramHead<'a>,
        steps: &'a StepRules,
        channels: &'a Channels,
    ) -> RuleWriter<'a> {
        // Sums go into scratch memory, and copies into the output: two buffers behind each channel.
        let has_both = steps.sums.is_some() && steps.copies.is_some() && !channels.can_read();
        let room = if has_both { MAX_BLOCK_CHANNELS / 2 } else { MAX_BLOCK_CHANNELS };
        RuleWriter { head, steps, channels, blocks: count_blocks(&steps.rules, channels, room) }
    }

    fn rules(&self) -> &'a ShiftRules {
        &self.steps.rules
    }

    fn table(&self, index: usize) -> Option<&'a WaySteps> {
        self.rules().tables.get(index)
    }

    /// The tables, in their order.
    fn list_names(&self) -> Vec<TableNames> {
        match (self.steps.sums, self.steps.copies) {
            (Some(sums), Some(copies)) if sums != copies => {
                vec![TableNames::SUMS, TableNames::SENDS]
            }
            (Some(_), None) => vec![TableNames::SUMS],
            (Some(_), Some(_)) => vec![TableNames::BOTH],
            (None, _) => vec![TableNames::SENDS],
        }
    }

    fn is_split(&self) -> bool {
        self.blocks > 1
    }

    /// Whether each block signals to all its neighbors, and waits for all, in each step of all tables.
    fn meets_all(&self) -> bool {
        !self.is_split()
            && self.rules().is_symmetric()
            && self.rules().tables.iter().all(WaySteps::uses_all)
    }

    fn find_way_back(&self) -> WayBack {
        let pushes_sums = self.steps.sums.is_some() && !self.channels.can_read();
        if self.is_split() {
            WayBack::OfWays
        } else if !self.meets_all() || pushes_sums {
            WayBack::OfRanks
        } else {
            WayBack::Unused
        }
    }

    /// The rank from which the way `w` leads here.
    fn write_sender(&self, way: &str) -> String {
        if self.is_split() {
            write_sender(self.rules(), way)
        } else {
            format!("{}(rank, ways[{way}])", name_before(self.rules()))
        }
    }

    fn write_functions(&self, names: &[TableNames], text: &mut String) -> fmt::Result {
        for (table, names) in self.rules().tables.iter().zip(names) {
            write_list_function(table, names, self.head.chunks, text)?;
        }
        if self.is_split() { Ok(()) } else { write_neighbors(self.rules(), text) }
    }

    fn write_channels(&self, text: &mut String) -> fmt::Result {
        if self.is_split() {
            let binders = format!("w in 0..{}", self.rules().ways.len());
            let binders = WayBinders { binders: &binders, names: "w" };
            write_pairs(self.channels, self.rules(), &binders, text)?;
        } else {
            self.channels.write_declaration(text)?;
        }
        if let Some(sums) = self.steps.sums
            && !self.channels.can_read()
            && let Some(table) = self.table(sums)
        {
            let entries = self.find_entries(sums);
            let (depth, ways, chunks) = (table.0.len(), self.rules().ways.len(), self.head.chunks);
            let owners = if table.has_parts() {
                format!("{{s in {}: s[0]}}", entries.list)
            } else {
                entries.list
            };
            let pieces = if chunks == 1 { String::new() } else { format!(", {chunks}") };
            let step = if table.is_single() { String::new() } else { format!("t in 0..{depth}, ") };
            writeln!(text, "scratch got[{step}w in 0..{ways}, x in {owners}{pieces}];")?;
        }
        Ok(())
    }

    fn find_entries(&self, index: usize) -> EntryTexts {
        let names = self.list_names();
        let empty = WaySteps(Vec::new());
        let names = names.get(index).unwrap_or(&TableNames::SENDS);
        find_entries(self.table(index).unwrap_or(&empty), names, self.head.chunks)
    }

    /// The ways that a block serves.
    fn list_ways(&self) -> String {
        let ways = self.rules().ways.len();
        if self.is_split() {
            format!("(g..{ways}).step({})", self.blocks)
        } else {
            format!("0..{ways}")
        }
    }

    /// The channels over which a way, or several, lead away, and those over which they lead to this rank.
    fn find_ends(&self, way: &str) -> WayEnds {
        if self.is_split() {
            let all = self.channels.write_way_index("*");
            WayEnds { away: format!("out[{way}{all}]"), here: format!("into[{way}{all}]") }
        } else {
            let name = self.channels.name();
            WayEnds {
                away: format!("{name}[at(rank, ways[{way}])]"),
                here: format!("{name}[{}]", self.write_sender(way)),
            }
        }
    }

    /// A signal over each way of a step, in one direction, and a wait for those that come.
    fn write_exchange(&self, index: usize, exchange: Exchange, text: &mut String) -> fmt::Result {
        let name = self.channels.name();
        if self.meets_all() {
            return writeln!(text, "signal {name}[*];\nwait {name}[*];");
        }
        let list = self.find_entries(index).list;
        let uses_all = self.table(index).is_some_and(WaySteps::uses_all);
        let ways = self.list_ways();
        let is_joined = self.is_split() && uses_all;
        let ends = self.find_ends(if is_joined { &ways } else { "w" });
        let [signaled, awaited] = match exchange {
            Exchange::Away => [&ends.away, &ends.here],
            Exchange::Back => [&ends.here, &ends.away],
        };
        if is_joined {
            return writeln!(text, "signal {signaled};\nwait {awaited};");
        }
        let filter = if uses_all { String::new() } else { format!(" if {list}.len() > 0") };
        writeln!(text, "for w in {ways}{filter} {{ signal {signaled}; }}")?;
        writeln!(text, "for w in {ways}{filter} {{ wait {awaited}; }}")
    }

    /// An exchange with all neighbors before anything is sent.
    fn write_greeting(&self, text: &mut String) -> fmt::Result {
        if !self.is_split() {
            return self.channels.write_greeting(text);
        }
        let ends = self.find_ends(&self.list_ways());
        writeln!(text, "handshake({} + {});", ends.away, ends.here)
    }

    /// An exchange with all neighbors before the end.
    fn write_farewell(&self, text: &mut String) -> fmt::Result {
        if !self.is_split() {
            return self.channels.write_farewell(text);
        }
        let ends = self.find_ends(&self.list_ways());
        writeln!(text, "meet({} + {});    // what I got has arrived", ends.away, ends.here)
    }

    /// Whether ranks read from others until the end, or proxies do for them.
    fn needs_farewell(&self) -> bool {
        self.steps.copies.is_none() || !self.channels.can_read()
    }

    fn write_body(&self, text: &mut String) -> fmt::Result {
        self.open_block(text)?;
        self.write_greeting(text)?;
        self.close_part(text)?;
        if let Some(index) = self.steps.sums {
            let steps = self.open_steps(index, ".rev()", text)?;
            self.write_sums(index, text)?;
            text.push_str(steps);
        }
        if let Some(index) = self.steps.copies {
            let steps = self.open_steps(index, "", text)?;
            self.open_part(text)?;
            self.write_copies(index, text)?;
            self.close_part(text)?;
            if self.is_split() && !steps.is_empty() {
                writeln!(text, "barrier part[*];")?;
            }
            text.push_str(steps);
        }
        if self.needs_farewell() {
            self.open_part(text)?;
            self.write_farewell(text)?;
            self.close_part(text)?;
        }
        if self.is_split() { Ok(()) } else { writeln!(text, "}}") }
    }

    /// Opens the loop over the steps of a table, if there are several. What closes it is returned.
    fn open_steps(
        &self,
        index: usize,
        order: &str,
        text: &mut String,
    ) -> Result<&'static str, fmt::Error> {
        let Some(table) = self.table(index).filter(|table| !table.is_single()) else {
            return Ok("");
        };
        let steps = format!("0..{}", table.0.len());
        let steps = if order.is_empty() { steps } else { format!("({steps}){order}") };
        writeln!(text, "for t in {steps} {{")?;
        Ok("}\n")
    }

    /// Opens the block, or each of several.
    fn open_block(&self, text: &mut String) -> fmt::Result {
        if self.is_split() { self.open_part(text) } else { writeln!(text, "block main {{") }
    }

    /// Opens each of several blocks again.
    fn open_part(&self, text: &mut String) -> fmt::Result {
        if self.is_split() {
            writeln!(text, "block part[g in 0..{}] {{", self.blocks)?;
        }
        Ok(())
    }

    fn close_part(&self, text: &mut String) -> fmt::Result {
        if self.is_split() { writeln!(text, "}}") } else { Ok(()) }
    }

    fn write_copies(&self, index: usize, text: &mut String) -> fmt::Result {
        let buffer = self.find_buffer();
        let EntryTexts { list, binder, owner, offset, span, .. } = self.find_entries(index);
        let (ways, via) = (self.list_ways(), self.find_via());
        writeln!(
            text,
            "for w in {ways}, p in [at(rank, ways[w])], {binder} in {list} {{
                let c = at(rank, {owner}){offset};
                put {buffer}{span} -> p.{buffer}{span} via {};
            }}",
            via.away
        )?;
        self.write_exchange(index, Exchange::Away, text)
    }

    /// The sums of a step. Several blocks add one after another: they may add to the same chunk.
    fn write_sums(&self, index: usize, text: &mut String) -> fmt::Result {
        let buffer = self.find_buffer();
        let EntryTexts { list, binder, owner, offset, span, slot } = self.find_entries(index);
        let (ways, via) = (self.list_ways(), self.find_via());
        let sender = self.write_sender("w");
        self.open_part(text)?;
        if self.channels.can_read() {
            self.write_exchange(index, Exchange::Back, text)?;
        } else {
            writeln!(
                text,
                "for w in {ways}, p in [{sender}], {binder} in {list} {{
                    let c = at(p, {owner}){offset};
                    put {buffer}{span} -> p.got[{slot}] via {};
                }}",
                via.here
            )?;
            self.write_exchange(index, Exchange::Back, text)?;
        }
        self.close_part(text)?;
        let sum = if self.channels.can_read() {
            format!(
                "for w in {ways}, p in [at(rank, ways[w])], {binder} in {list} {{
                    let c = at(rank, {owner}){offset};
                    reduce {buffer}{span}, p.{buffer}{span} -> {buffer}{span} via {};
                }}",
                via.away
            )
        } else {
            format!(
                "for w in {ways}, {binder} in {list} {{
                    let c = at(rank, {owner}){offset};
                    reduce {buffer}{span}, got[{slot}] -> {buffer}{span};
                }}"
            )
        };
        if self.is_split() {
            let blocks = self.blocks;
            writeln!(text, "for g in 0..{blocks} {{ block part[g] {{ {sum} }} barrier part[*]; }}")
        } else {
            writeln!(text, "{sum}")
        }
    }

    /// The channels of the way `w` to the rank `p`.
    fn find_via(&self) -> WayEnds {
        if self.is_split() {
            let peer = self.channels.write_way_index("p");
            WayEnds { away: format!("out[w{peer}]"), here: format!("into[w{peer}]") }
        } else {
            let via = format!("{}[p]", self.channels.name());
            WayEnds { away: via.clone(), here: via }
        }
    }

    fn find_buffer(&self) -> &'static str {
        if self.head.kind == CollectiveKind::ReduceScatter { "input" } else { "output" }
    }
}

/// Texts for the entries of a table.
pub(super) struct EntryTexts {
    /// The entries of the step `t` and the way `w`.
    pub(super) list: String,
    pub(super) binder: &'static str,
    /// How far the owner is away.
    pub(super) owner: &'static str,
    /// What leads from the owner to the first piece.
    pub(super) offset: String,
    /// The brackets of the pieces from `c` on.
    pub(super) span: String,
    /// Where they arrive in scratch memory.
    pub(super) slot: String,
}

/// Texts for the two ends of a way.
struct WayEnds {
    /// Where this rank sends.
    away: String,
    /// Where this rank receives.
    here: String,
}

/// Which way signals go: with the copies, or with the sums.
#[derive(Clone, Copy)]
enum Exchange {
    Away,
    Back,
}

/// What is bound before the way in a family of channels.
pub(super) struct WayBinders<'t> {
    /// The binders, and that of the way.
    pub(super) binders: &'t str,
    /// The names.
    pub(super) names: &'t str,
}

/// The channels of each way: one leads away, and another one here, so that who sends is not who receives.
pub(super) fn write_pairs(
    channels: &Channels,
    rules: &ShiftRules,
    binders: &WayBinders<'_>,
    text: &mut String,
) -> fmt::Result {
    let WayBinders { binders, names } = binders;
    let peers = ["at(rank, ways[w])".to_owned(), write_sender(rules, "w")];
    let [away, here] = peers.map(|peer| match channels {
        Channels::Memory => {
            WayItem { binder: String::new(), constructor: format!("memory({peer})") }
        }
        Channels::Ports => WayItem { binder: String::new(), constructor: format!("port({peer})") },
        Channels::Nodes { .. } => WayItem {
            binder: format!(", p in [{peer}]"),
            constructor: channels.write_constructor().to_owned(),
        },
    });
    let own = channels.write_way_index("rank");
    writeln!(
        text,
        "channel out[{binders}{}] = {} to into[{names}{own}];
        channel into[{binders}{}] = {} to out[{names}{own}];",
        away.binder, away.constructor, here.binder, here.constructor
    )
}

/// The channels of all ways in one direction.
struct WayItem {
    /// What binds their ranks, if these are named.
    binder: String,
    constructor: String,
}

/// How many blocks share the ways, so that each has room for its channels and for the buffers behind them.
pub(super) fn count_blocks(rules: &ShiftRules, channels: &Channels, room: usize) -> usize {
    let ranks = || (0..rules.group.count_ranks()).map(Vertex);
    let away = |rank: Vertex, way: u32| rules.group.add(rank, Vertex(way));
    let here = |rank: Vertex, way: u32| rules.group.subtract(rank, Vertex(way));
    let neighbors = |rank: Vertex| -> BTreeSet<Vertex> {
        rules.ways.iter().flat_map(|way| [away(rank, *way), here(rank, *way)]).collect()
    };
    let fits = |rank: Vertex| {
        let all = neighbors(rank);
        let near = all.iter().filter(|peer| channels.is_memory(rank, **peer)).count();
        near.max(all.len() - near) <= room
    };
    if ranks().all(fits) {
        return 1;
    }
    // All that lies between two meetings stays in one block, which has 64 operations.
    let has_few = |blocks: usize| {
        rules.tables.iter().flat_map(|table| &table.0).all(|loads| {
            (0..blocks).all(|block| {
                let own = loads.iter().skip(block).step_by(blocks);
                own.map(WayLoad::count).sum::<usize>() <= MAX_STEP_ENTRIES
            })
        })
    };
    let fits_shared = |blocks: &usize| {
        has_few(*blocks)
            && ranks().all(|rank| {
                (0..*blocks).all(|block| {
                    let mut counts = [0; 2];
                    for way in rules.ways.iter().skip(block).step_by(*blocks) {
                        for peer in [away(rank, *way), here(rank, *way)] {
                            if let Some(count) =
                                counts.get_mut(usize::from(channels.is_memory(rank, peer)))
                            {
                                *count += 1;
                            }
                        }
                    }
                    counts.iter().all(|count| *count <= room)
                })
            })
    };
    (2..=rules.ways.len()).find(fits_shared).unwrap_or(rules.ways.len()).max(2)
}
