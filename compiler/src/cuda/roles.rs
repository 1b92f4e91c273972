//! Roles: one function for all blocks that differ only in numbers.
//!
//! In: the program. Out: its roles, ordered by their first block, each with its text. Numbers that differ become
//! formulas of the rank and the block (`formula`) or, if there is none, columns of a table with a row for each block.
//! Steps that repeat, with numbers that have one formula each, become a loop (`turns`).

use super::body::{self, Context};
use super::formula::{Member, Members};
use super::layout::Layout;
use super::names;
use super::peers::Peers;
use super::statement::{Kind, Piece, Statement};
use super::turns::{Turns, turns};
use crate::interrupt::Interrupt;
use crate::ir::{OriginId, Program, RankId, run};
use std::collections::BTreeMap;

/// A function body, and the blocks that share it.
pub(super) struct Role {
    /// Its function's name.
    pub(super) name: String,
    /// The blocks' name in the source, without indices.
    pub(super) family: String,
    /// The blocks that have the role.
    pub(super) members: Vec<Member>,
    /// The block number from which its blocks are counted.
    pub(super) base: u32,
    /// The lines of its body.
    pub(super) lines: Vec<Line>,
    /// Variables that the lines use.
    pub(super) variables: Vec<String>,
    /// The numbers for which there is no formula.
    pub(super) table: Table,
    /// Whether it is a template, over what the kernel is instantiated for.
    pub(super) generic: bool,
}

impl Role {
    /// Its length: a field of a table counts more than any text.
    fn length(&self) -> (usize, usize) {
        let lines = self.lines.iter().map(|line| &line.text);
        let text = lines.chain(&self.variables).map(String::len).sum();
        (self.table.fields.len(), text)
    }
}

/// A line of a body.
pub(super) struct Line {
    pub(super) depth: usize,
    pub(super) text: String,
    pub(super) origin: Option<OriginId>,
    /// The loop values with which all blocks reach it, in every turn.
    pub(super) values: Vec<String>,
}

/// A row of numbers for each block.
#[derive(Default)]
pub(super) struct Table {
    pub(super) fields: Vec<Field>,
}

/// A column of the table: a number, or a list.
pub(super) struct Field {
    pub(super) name: String,
    /// The length of a list; none for a number.
    pub(super) length: Option<usize>,
    /// The values for each member.
    pub(super) values: Vec<Vec<u32>>,
}

/// For how many numbers of a block's repeats formulas are looked for in vain. Without a limit, the time for a block
/// whose numbers follow no formula would grow with the square of its length.
const MOST_IN_VAIN: usize = 1 << 17;

/// The roles of a program in a file with this name; incomplete if it was interrupted.
pub(super) fn roles(
    (program, file): (&Program, &str),
    layout: &Layout,
    interrupt: &Interrupt,
) -> Vec<Role> {
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for (id, block) in row.blocks.entries() {
            let statements = body::body(Context { program, layout, rank }, &block.ops);
            let family = block.name.split('[').next().unwrap_or_default().to_owned();
            let mut shape = family.clone();
            statements.iter().for_each(|statement| statement.shape(&mut shape));
            let next = groups.len();
            let place = *order.entry(shape).or_insert(next);
            if place == next {
                groups.push(Group { family, blocks: Vec::new() });
            }
            if let Some(group) = groups.get_mut(place) {
                group.blocks.push((rank, id.0, statements));
            }
        }
    }
    let mut taken = names::Taken::by(file);
    let whole = Whole { program, groups: &groups, interrupt };
    groups.iter().map(|group| whole.role(group, &mut taken)).collect()
}

struct Group {
    family: String,
    blocks: Vec<(RankId, u32, Vec<Statement>)>,
}

impl Group {
    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().map(|(_, block, _)| *block)
    }
}

/// All groups of a program.
struct Whole<'a> {
    program: &'a Program,
    groups: &'a [Group],
    interrupt: &'a Interrupt,
}

impl Whole<'_> {
    /// The role of a group. Its blocks are counted from the first of them or from the first of
    /// their family, whichever gives the shorter text.
    fn role(&self, group: &Group, taken: &mut names::Taken) -> Role {
        let name = taken.role(&format!("block_{}", names::identifier(&group.family)));
        let family = self.groups.iter().filter(|other| other.family == group.family);
        let first = group.numbers().min().unwrap_or(0);
        let family_first = family.flat_map(Group::numbers).min().unwrap_or(first);
        let own = self.counted(group, first, &name);
        if first == family_first {
            return own;
        }
        let wide = self.counted(group, family_first, &name);
        if wide.length() < own.length() { wide } else { own }
    }

    /// The same, with blocks counted from `base`.
    fn counted(&self, group: &Group, base: u32, name: &str) -> Role {
        let members = members(self.program, group, base);
        let mut writer = Writer {
            program: self.program,
            interrupt: self.interrupt,
            members: &members,
            group,
            table: Table::default(),
            in_vain: 0,
        };
        let lines = writer.lines();
        let table = writer.table;
        let variables = variables(&members, base, &lines);
        let generic = lines.iter().any(|line| line.text.contains("<K"));
        Role {
            name: name.to_owned(),
            family: group.family.clone(),
            members: members.list,
            base,
            lines,
            variables,
            table,
            generic,
        }
    }
}

/// The variables that the lines use, each with its value.
fn variables(members: &Members, base: u32, lines: &[Line]) -> Vec<String> {
    let uses = |name: &str| lines.iter().any(|line| names::has_variable(&line.text, name));
    let copies = members.copies;
    let is_alone = members.list.iter().all(|member| member.index == 0);
    let shift = if base > 0 { format!("(b.block - {base})") } else { "b.block".to_owned() };
    let (index, copy) = match (is_alone, copies * members.stride) {
        (true, _) => ("0".to_owned(), shift),
        (false, 1) => (shift, "0".to_owned()),
        (false, each) => (format!("{shift} / {each}"), format!("{shift} % {copies}")),
    };
    let constant = |name: &str, value: &str| format!("const uint32_t {name} = {};", plain(value));
    let mut variables = Vec::new();
    if uses("index") {
        variables.push(constant("index", &index));
    }
    let index = if uses("index") { "index" } else { plain(&index) };
    for peers in Peers::of(members.ranks, members.ranks_per_node) {
        let name = peers.name();
        if uses(name) {
            variables.push(constant(name, &format!("b.{name}({index})")));
        }
    }
    if uses("copy") {
        variables.push(constant("copy", &copy));
    }
    variables
}

/// The text without parentheses around all of it.
fn plain(text: &str) -> &str {
    text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text)
}

fn members(program: &Program, group: &Group, base: u32) -> Members {
    let copies = i64::from(program.instances_done.max(1));
    let place = |block: u32| i64::from(block - base);
    let own = group.numbers().min() == Some(base);
    let stride = if own { stride(group.numbers().map(|block| place(block) / copies)) } else { 1 };
    let list = group.blocks.iter().map(|(rank, block, _)| {
        let (index, copy) = (place(*block) / copies / stride, place(*block) % copies);
        Member { rank: rank.0, block: *block, index, copy, step: 0 }
    });
    Members {
        list: list.collect(),
        ranks: program.ranks.len() as i64,
        ranks_per_node: i64::from(program.ranks_per_node),
        copies,
        stride,
        steps: 1,
    }
}

/// How far apart a role's blocks are, if always as far as that or a multiple of it.
fn stride(places: impl Iterator<Item = i64>) -> i64 {
    places.fold(0, |common, place| run::gcd(common, place as u64)).max(1) as i64
}

struct Writer<'a> {
    program: &'a Program,
    interrupt: &'a Interrupt,
    members: &'a Members,
    group: &'a Group,
    table: Table,
    /// For how many numbers of repeats no formula was found.
    in_vain: usize,
}

impl Writer<'_> {
    fn lines(&mut self) -> Vec<Line> {
        let Some((.., statements)) = self.group.blocks.first() else { return Vec::new() };
        let mut lines = Vec::new();
        let mut at = 0;
        while at < statements.len() && !self.interrupt.is_set() {
            let found = turns(statements, at).into_iter();
            let mut repeated = found.filter_map(|turns| Some((self.tried(turns)?, turns)));
            if let Some((body, turns)) = repeated.next() {
                lines.extend(body);
                at = turns.end();
            } else {
                lines.extend(self.line(at));
                at += 1;
            }
        }
        lines
    }

    /// A loop, if that is not too much to find out.
    fn tried(&mut self, turns: Turns) -> Option<Vec<Line>> {
        if self.in_vain > MOST_IN_VAIN || self.interrupt.is_set() {
            return None;
        }
        let found = self.repeated(turns);
        if found.is_none() {
            self.in_vain += self.members.list.len() * turns.count;
        }
        found
    }

    /// A loop, if each of its numbers has a formula for all turns.
    fn repeated(&self, turns: Turns) -> Option<Vec<Line>> {
        let members = self.members.in_loop(turns.count);
        let line = |index: usize| {
            let blocks = self.group.blocks.iter();
            let all: Vec<&Statement> =
                blocks.flat_map(|(.., list)| turns.of(list, index)).collect();
            let first = *all.first()?;
            let pieces: Option<Vec<String>> =
                (0..first.pieces.len()).map(|piece| formula(&members, &all, piece)).collect();
            let mut line = self.said(&all, pieces?.concat());
            line.depth += 1;
            Some(line)
        };
        let around = |text: String| Line { depth: 0, text, origin: None, values: Vec::new() };
        let head = format!("for (uint32_t step = 0; step < {}; ++step) {{", turns.count);
        let body: Vec<Line> = turns.period().map(line).collect::<Option<_>>()?;
        let lines = [around(head)].into_iter().chain(body).chain([around("}".to_owned())]);
        Some(lines.collect())
    }

    fn line(&mut self, index: usize) -> Option<Line> {
        let blocks = self.group.blocks.iter();
        let all: Vec<&Statement> = blocks.filter_map(|(.., list)| list.get(index)).collect();
        let count = all.first()?.pieces.len();
        let text: String = (0..count).map(|piece| self.piece(&all, piece)).collect();
        Some(self.said(&all, text))
    }

    /// The line for these statements, with what they have in common.
    fn said(&self, all: &[&Statement], text: String) -> Line {
        let first = all.first();
        let origin = first.and_then(|statement| statement.origin);
        let values = |statement: &&Statement| {
            statement.origin.map(|id| self.program.origins.values(id)).unwrap_or_default()
        };
        let mut common = first.map(values).unwrap_or_default();
        for other in all.iter().skip(1).map(values) {
            common.retain(|value| other.contains(value));
        }
        Line { depth: first.map_or(0, |statement| statement.depth), text, origin, values: common }
    }

    fn piece(&mut self, all: &[&Statement], index: usize) -> String {
        if let Some(text) = formula(self.members, all, index) {
            return text;
        }
        let pieces = all.iter().filter_map(|statement| statement.pieces.get(index));
        let rows: Vec<Vec<u32>> = pieces.clone().map(|piece| numbers(piece).to_vec()).collect();
        match pieces.clone().next() {
            None | Some(Piece::Text(_)) => String::new(),
            Some(Piece::One(kind, _)) => self.table.field(*kind, None, rows),
            Some(Piece::Many(kind, list)) => self.table.field(*kind, Some(list.len()), rows),
            Some(Piece::Even(kind, list)) => {
                if pieces.clone().all(is_even) {
                    let firsts = rows.into_iter().map(|row| row.into_iter().take(1).collect());
                    return self.table.field(*kind, None, firsts.collect());
                }
                self.table.field(*kind, Some(list.len()), rows)
            }
        }
    }
}

/// The text of one piece of statements that differ only in numbers, if a formula gives these.
fn formula(members: &Members, all: &[&Statement], index: usize) -> Option<String> {
    let pieces: Vec<&Piece> =
        all.iter().filter_map(|statement| statement.pieces.get(index)).collect();
    let one = |kind: Kind| {
        let firsts = pieces.iter().filter_map(|piece| numbers(piece).first());
        let values: Vec<i64> = firsts.map(|value| i64::from(*value)).collect();
        members.formula(kind, &values)
    };
    let many = |kind: Kind| {
        let lists: Vec<&[u32]> = pieces.iter().map(|piece| numbers(piece)).collect();
        members.list(kind, &lists)
    };
    match pieces.first()? {
        Piece::Text(text) => Some(text.clone()),
        Piece::One(kind, _) => one(*kind),
        Piece::Many(kind, _) => many(*kind),
        Piece::Even(kind, _) if pieces.iter().all(|piece| is_even(piece)) => one(*kind),
        Piece::Even(kind, _) => many(*kind),
    }
}

/// Whether one number can stand for all.
fn is_even(piece: &Piece) -> bool {
    let numbers = numbers(piece);
    numbers.iter().all(|number| Some(number) == numbers.first())
}

fn numbers(piece: &Piece) -> &[u32] {
    match piece {
        Piece::Text(_) => &[],
        Piece::One(_, number) => std::slice::from_ref(number),
        Piece::Many(_, numbers) | Piece::Even(_, numbers) => numbers,
    }
}

impl Table {
    /// The name of the field with these values; it is added if there is none.
    fn field(&mut self, kind: Kind, length: Option<usize>, values: Vec<Vec<u32>>) -> String {
        let known =
            self.fields.iter().find(|field| field.length == length && field.values == values);
        if let Some(field) = known {
            return format!("n.{}", field.name);
        }
        let stem = match length {
            Some(_) => format!("{}s", kind.name()),
            None => kind.name().to_owned(),
        };
        let like = self.fields.iter().filter(|field| field.name.starts_with(&stem)).count();
        let name = if like == 0 { stem } else { format!("{stem}{}", like + 1) };
        let text = format!("n.{name}");
        self.fields.push(Field { name, length, values });
        text
    }
}
