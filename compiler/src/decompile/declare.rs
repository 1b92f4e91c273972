//! The file around the bodies: the collective, options and declarations.

use super::Style;
use super::formula::Formulas;
use super::gather::{self, Index, Names, SwitchFamily, family};
use super::page::{Written, has_word, list};
use super::tree::{Domain, Kind, Number};
use super::world::World;
use crate::ir::{
    Action, Buffer, ChannelId, ChannelKind, Op, Options, Program, Protocol, Rank, SemaphoreId,
    Transfer, print,
};
use crate::syntax::token;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The whole file. `known` says whether the library has the collective.
pub(super) fn file(
    program: &Program,
    world: &World,
    names: &Names,
    (known, style): (bool, Style),
    written: &Written,
) -> String {
    let (plan, collective) = (&program.options.name, print::identifier(&program.collective.name));
    let ranks = world.ranks;
    let mut text = format!("//! `{plan}` for {ranks} ranks, from an execution plan.\n");
    if known {
        text.push_str(&format!("use std::collectives::{collective};\n"));
    }
    text.push('\n');
    if !known {
        text.push_str(&print::collective(program));
        text.push('\n');
    }
    let mut name = print::identifier(plan);
    let is_taken = token::is_reserved(&name) || USED_NAMES.contains(&name.as_str());
    if name == collective || is_taken {
        name.push_str("_plan");
    }
    let nodes = match world.has_nodes() {
        true => format!(", ranks_per_node: int = {}", world.per_node),
        false => String::new(),
    };
    text.push_str(&format!("program {name}(ranks: int = {ranks}{nodes}) {{\n"));
    text.push_str(&format!(
        "require ranks == {ranks}, \"this program was made from a plan for {ranks} ranks\";\n"
    ));
    text.push_str(&format!("collective {collective}({});\n", arguments(program, known)));
    text.push_str(&options(&program.options, &name, style));
    let formulas = Formulas::new(world, (0..ranks).collect());
    let declarer = Declarer { program, names, tables: RefCell::default(), formulas };
    let declarations = declarer.declarations();
    let declarations = declarer.tables.take() + &declarations;
    for (name, value) in [
        ("next", "(rank + 1) % ranks"),
        ("previous", "(rank - 1) % ranks"),
        ("peer", "(rank + 1) % ranks"),
    ] {
        if has_word(&declarations, name) || has_word(&written.text, name) {
            text.push_str(&format!("let {name} = {value};\n"));
        }
    }
    text + &written.tables + "\n" + &declarations + "\n" + &written.text + "}\n"
}

/// Names that decompiled programs use themselves.
const USED_NAMES: &[&str] = &[
    "rank", "ranks", "next", "previous", "peer", "peers", "node", "nodes", "tb", "mem", "far",
    "sem", "cells", "nvls",
];

/// The arguments of the library's collective, or of the one that the file declares.
fn arguments(program: &Program, known: bool) -> String {
    let mut list = Vec::new();
    if known {
        let of_ranks = chunks_of_all_ranks(program);
        list.extend(program.collective.arguments.iter().filter_map(|(name, value)| {
            match (name.as_str(), value.as_str()) {
                ("ranks", _) => Some("ranks".to_owned()),
                ("chunks", "1") | ("same_bits", "false") => None,
                ("total", total) if of_ranks.is_some_and(|all| all.to_string() == total) => None,
                _ => Some(format!("{name} = {value}")),
            }
        }));
    }
    if program.ranks.iter().any(|rank| rank.alias.is_some()) {
        list.push("in_place = true".to_owned());
    }
    list.join(", ")
}

/// The chunks of an AllReduce with as many for each rank as its arguments say: the default of `total`.
fn chunks_of_all_ranks(program: &Program) -> Option<u64> {
    let arguments = &program.collective.arguments;
    let (_, chunks) = arguments.iter().find(|(name, _)| name == "chunks")?;
    (program.ranks.len() as u64).checked_mul(chunks.parse().ok()?)
}

fn options(options: &Options, program: &str, style: Style) -> String {
    let standard = Options::default();
    let mut lines = Vec::new();
    let mut add = |differs: bool, name: &str, value: String| {
        if differs {
            lines.push(format!("{name} = {value};\n"));
        }
    };
    add(options.name != program, "name", print::quoted(&options.name));
    add(options.protocol == Protocol::Ll, "protocol", "LL".to_owned());
    add(options.instances > 1, "instances", options.instances.to_string());
    add(options.threads != standard.threads, "threads", options.threads.to_string());
    add(options.alignment != standard.alignment, "alignment", options.alignment.to_string());
    add(options.double_scratch, "double_scratch", "true".to_owned());
    add(options.reuse_resources, "reuse_resources", "true".to_owned());
    // The language has no larger numbers, and no message is larger.
    let most = options.max_message_size.filter(|bytes| i64::try_from(*bytes).is_ok());
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
    let (from, to) = (bytes(options.min_message_size), bytes(most));
    let open = if to.is_empty() { ".." } else { "..=" };
    add(!from.is_empty() || !to.is_empty(), "message_size", format!("{from}{open}{to}"));
    add(!style.fused, "fuse", "false".to_owned());
    add(!style.inferred, "auto_sync", "false".to_owned());
    if lines.is_empty() { String::new() } else { format!("options {{\n{}}}\n", lines.concat()) }
}

/// A list of lists. An empty list would have no type, so another one, which is never read, takes its place.
fn lists(rows: &[Vec<i64>]) -> String {
    let row = |row: &Vec<i64>| if row.is_empty() { "[0]".to_owned() } else { list(row) };
    format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join(", "))
}

struct Declarer<'a> {
    program: &'a Program,
    names: &'a Names,
    /// The lists that declarations need.
    tables: RefCell<String>,
    formulas: Formulas<'a>,
}

impl Declarer<'_> {
    fn declarations(&self) -> String {
        let mut text = self.scratch();
        for kind in [ChannelKind::Memory, ChannelKind::Port] {
            text.push_str(&self.channels(kind));
        }
        match self.switches() {
            Some(family) => text.push_str(&family),
            None => {
                for (key, members) in &self.names.switches {
                    text.push_str(&self.switch(&self.names.switch(*key), key.1, members));
                }
            }
        }
        text + &self.semaphores() + &self.blocks()
    }

    fn formula(&self, kind: Kind, values: Vec<i64>, loops: &[(Domain, usize)]) -> Option<String> {
        self.formulas.find(&Number { kind, values }, loops).map(|found| found.text)
    }

    fn ends(&self, kind: ChannelKind) -> Vec<Vec<i64>> {
        let ranks = self.program.ranks.iter();
        ranks.map(|rank| gather::ends(self.program, rank, kind)).collect()
    }

    /// A list that a declaration needs.
    fn table(&self, name: &str, list: &str) {
        self.tables.borrow_mut().push_str(&format!("let {name} = {list};\n"));
    }

    /// An expression for a number of each rank, or an element of a list with that name.
    fn by_rank(&self, name: &str, of: impl Fn(&Rank) -> i64) -> String {
        let values: Vec<i64> = self.program.ranks.iter().map(of).collect();
        self.formula(Kind::Number, values.clone(), &[]).unwrap_or_else(|| {
            self.table(name, &list(&values));
            format!("{name}[rank]")
        })
    }

    /// An expression for the numbers of each rank, by an index `i`.
    fn by_row(&self, name: &str, kind: Kind, rows: &[Vec<i64>]) -> String {
        let length = rows.first().map_or(0, Vec::len);
        let even = rows.iter().all(|row| row.len() == length);
        let formula = || self.formula(kind, rows.concat(), &[(Domain::Count, length)]);
        if let Some(formula) = even.then(formula).flatten() {
            return formula;
        }
        self.table(name, &lists(rows));
        format!("{name}[rank][i]")
    }

    fn scratch(&self) -> String {
        if self.program.ranks.iter().all(|rank| rank.scratch_chunks == 0) {
            return String::new();
        }
        let chunks = self.by_rank("chunks", |rank| i64::from(rank.scratch_chunks));
        let used = |operand: &crate::ir::Operand| operand.buffer == Buffer::Scratch;
        let uses = |rank: &Rank| {
            rank.all_ops().filter_map(Op::transfer).flat_map(Transfer::operands).any(used)
        };
        let all_use = self.program.ranks.iter().all(uses);
        let allow = if all_use { "" } else { "#[allow(W0203)]\n" };
        format!("{allow}scratch cells[{chunks}];\n")
    }

    fn channels(&self, kind: ChannelKind) -> String {
        let ranks = &self.program.ranks;
        let peers: Vec<Vec<i64>> = ranks.iter().map(|rank| gather::peers(rank, kind)).collect();
        if peers.iter().all(Vec::is_empty) {
            return String::new();
        }
        let (name, word) =
            (family(kind), if kind == ChannelKind::Port { "port" } else { "memory" });
        let allow = self.allowed(kind);
        let channel = match self.names.index(kind) {
            Index::Peer { peers, copies: 1, .. } => {
                format!("channel {name}[p in {}] = {word}(p);\n", peers.name())
            }
            Index::Peer { peers, copies, together: true } => {
                format!("channel {name}[p in {}, i in 0..{copies}] = {word}(p);\n", peers.name())
            }
            Index::Peer { peers, copies, together: false } => {
                format!("channel {name}[i in 0..{copies}, p in {}] = {word}(p);\n", peers.name())
            }
            Index::Number => {
                let counts = |rank: &Rank| gather::peers(rank, kind).len() as i64;
                let counts = self.by_rank(&format!("{name}_count"), counts);
                let peer = self.by_row(&format!("{name}_peer"), Kind::Rank, &peers);
                let end = self.by_row(&format!("{name}_end"), Kind::Number, &self.ends(kind));
                format!("channel {name}[i in 0..{counts}] = {word}({peer}) to {name}[{end}];\n")
            }
            Index::Named => {
                let ends = self.ends(kind).into_iter().next().unwrap_or_default();
                let each = |(at, end): (usize, i64)| {
                    let values = peers.iter().filter_map(|row| row.get(at).copied()).collect();
                    let peer = self.formula(Kind::Rank, values, &[])?;
                    Some(format!("{allow}channel {name}{at} = {word}({peer}) to {name}{end};\n"))
                };
                return ends.into_iter().enumerate().filter_map(each).collect();
            }
        };
        format!("{allow}{channel}")
    }

    /// The attribute that the channels of a kind need if nobody uses one of them.
    fn allowed(&self, kind: ChannelKind) -> &'static str {
        let all_used = self.program.ranks.iter().all(|rank| {
            let used: BTreeSet<ChannelId> = rank.all_ops().flat_map(|op| used(rank, op)).collect();
            let mut channels = rank.channels.entries().filter(|(_, one)| one.kind() == kind);
            channels.all(|(id, _)| used.contains(&id))
        });
        if all_used { "" } else { "#[allow(W0202)]\n" }
    }

    /// One family by number, if all ranks have the same number of switch channels over the same ranks.
    fn switches(&self) -> Option<String> {
        let (buffer, count) = self.names.nvls?;
        let group = self.names.switches.values().next()?.iter().flatten().next()?;
        let (first, length) = (group.ranks.first()?.0, group.ranks.len());
        let allow = self.allowed(ChannelKind::Switch);
        let name = print::buffer_name(buffer);
        let ranks = format!("{first}..{}", first as usize + length);
        Some(format!("{allow}channel nvls[i in 0..{count}] = switch({ranks}, {name});\n"))
    }

    fn switch(&self, name: &str, buffer: Buffer, members: &SwitchFamily) -> String {
        let rows: Vec<Vec<i64>> = members
            .iter()
            .map(|group| {
                let ranks = group.iter().flat_map(|group| &group.ranks);
                ranks.map(|rank| i64::from(rank.0)).collect()
            })
            .collect();
        let everywhere = members.iter().all(Option::is_some);
        let length = rows.first().map_or(0, Vec::len);
        let side_by_side = |row: &Vec<i64>| {
            let first = row.first().copied().unwrap_or(0);
            row.len() == length && row.iter().copied().eq(first..first + length as i64)
        };
        let ranks = if everywhere && rows.iter().all(side_by_side) {
            let values = rows.iter().filter_map(|row| row.first().copied()).collect();
            let first = self.formulas.find(&Number { kind: Kind::Number, values }, &[]);
            first.map(|first| match first.text.as_str() {
                "0" => format!("0..{length}"),
                _ => format!("{}..+{length}", first.operand()),
            })
        } else {
            None
        };
        let ranks = ranks.unwrap_or_else(|| {
            self.table(&format!("{name}_ranks"), &lists(&rows));
            format!("{name}_ranks[rank]")
        });
        let index = if everywhere {
            String::new()
        } else {
            let has: Vec<i64> = members.iter().map(|group| i64::from(group.is_some())).collect();
            self.table(&format!("{name}_count"), &list(&has));
            format!("[i in 0..{name}_count[rank]]")
        };
        let allow = self.allowed(ChannelKind::Switch);
        format!("{allow}channel {name}{index} = switch({ranks}, {});\n", print::buffer_name(buffer))
    }

    fn semaphores(&self) -> String {
        let ranks = &self.program.ranks;
        if ranks.iter().all(|rank| rank.semaphores.is_empty()) {
            return String::new();
        }
        let count = self.by_rank("sem_count", |rank| rank.semaphores.len() as i64);
        let rows: Vec<Vec<i64>> =
            ranks.iter().map(|rank| rank.semaphores.iter().map(|s| s.initial).collect()).collect();
        let initial = match self.by_row("sem_initial", Kind::Number, &rows) {
            zero if zero == "0" => String::new(),
            value => format!(" = {value}"),
        };
        let all_used = ranks.iter().all(|rank| {
            let used: BTreeSet<SemaphoreId> =
                rank.all_ops().flat_map(semaphores).copied().collect();
            rank.semaphores.ids().all(|id| used.contains(&id))
        });
        let allow = if all_used { "" } else { "#[allow(W0204)]\n" };
        format!("{allow}semaphore sem[i in 0..{count}]{initial};\n")
    }

    fn blocks(&self) -> String {
        if self.program.ranks.iter().all(|rank| rank.blocks.is_empty()) {
            return String::new();
        }
        let count = self.by_rank("tb_count", |rank| rank.blocks.len() as i64);
        format!("block tb[{count}];\n")
    }
}

/// The channels that an operation uses. What is flushed does not count: a `flush` is left out.
fn used(rank: &Rank, op: &Op) -> Vec<ChannelId> {
    match &op.action {
        Action::Signal(signal) | Action::Wait(signal) => signal.channels.to_vec(),
        Action::Transfer(transfer) => {
            transfer.channels.iter().copied().chain(transfer.routes(rank)).collect()
        }
        Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => Vec::new(),
    }
}

/// The semaphores that an operation acquires or releases.
fn semaphores(op: &Op) -> &[SemaphoreId] {
    match &op.action {
        Action::Acquire(list) | Action::Release(list) => list,
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => &[],
    }
}
