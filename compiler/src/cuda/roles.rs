//! Roles: one function for all blocks that differ only in numbers.
//!
//! In: the program. Out: its roles, ordered by their first block, each with its text. Numbers that differ become
//! formulas of the rank and the block (`formula`) or, if there is none, columns of a table with a row for each block.
//! Steps that repeat, with numbers that have one formula each, become a loop (`turns`).

use super::groups::{Group, groups};
use super::layout::Layout;
use super::members::{Member, Members, sample};
use super::names;
use super::peers::Peers;
use super::statement::{Kind, Piece};
use super::turns::{Turns, turns};
use crate::interrupt::Interrupt;
use crate::ir::grain::gcd;
use crate::ir::{OriginId, Program};

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
    let groups = groups(program, layout);
    let mut taken = names::Taken::by(file);
    let whole = Whole { program, groups: &groups, interrupt };
    groups.iter().map(|group| whole.role(group, &mut taken)).collect()
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
        let first = group.block_numbers().min().unwrap_or(0);
        let family_first = family.flat_map(Group::block_numbers).min().unwrap_or(first);
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
    let own = group.block_numbers().min() == Some(base);
    let places = group.block_numbers().map(place);
    let stride = if own { stride(places.map(|place| place / copies)) } else { 1 };
    let list = group.blocks.iter().map(|block| {
        let (index, copy) = (place(block.number) / copies / stride, place(block.number) % copies);
        Member { rank: block.rank.0, block: block.number, index, copy, step: 0 }
    });
    let list: Vec<Member> = list.collect();
    let ranks_per_node = i64::from(program.ranks_per_node);
    Members {
        sample: sample(&list, ranks_per_node),
        list,
        ranks: program.ranks.len() as i64,
        ranks_per_node,
        copies,
        stride,
        steps: 1,
    }
}

/// How far apart a role's blocks are, if always as far as that or a multiple of it.
fn stride(places: impl Iterator<Item = i64>) -> i64 {
    places.fold(0, |common, place| gcd(common, place as u64)).max(1) as i64
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
        let statements = &self.group.statements;
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
            let all: Vec<usize> = turns.of(index).collect();
            let pieces = self.group.statements.get(index)?.pieces.iter().enumerate();
            let formula = |(at, piece)| formula(&members, piece, &self.group.lists(&all, at));
            let pieces: Vec<String> = pieces.map(formula).collect::<Option<_>>()?;
            let mut line = self.said(&all, pieces.concat());
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
        let pieces = self.group.statements.get(index)?.pieces.iter().enumerate();
        let text: String =
            pieces.map(|(at, piece)| self.piece(piece, &self.group.lists(&[index], at))).collect();
        Some(self.said(&[index], text))
    }

    /// The line for these statements, with what they have in common.
    fn said(&self, all: &[usize], text: String) -> Line {
        let first = all.first().and_then(|at| self.group.statements.get(*at));
        let values = |origin: Option<OriginId>| {
            origin.map(|id| self.program.origins.values(id)).unwrap_or_default()
        };
        let mut origins = self.group.origins(all);
        let origin = origins.next().flatten();
        let mut common = values(origin);
        for other in origins {
            if common.is_empty() {
                break;
            }
            let other = values(other);
            common.retain(|value| other.contains(value));
        }
        Line { depth: first.map_or(0, |statement| statement.depth), text, origin, values: common }
    }

    /// The text of a piece with these numbers for the blocks.
    fn piece(&mut self, piece: &Piece, lists: &[&[u32]]) -> String {
        if let Some(text) = formula(self.members, piece, lists) {
            return text;
        }
        let rows = || lists.iter().map(|list| list.to_vec()).collect();
        match piece {
            Piece::Text(_) => String::new(),
            Piece::One(kind, _) => self.table.field(*kind, None, rows()),
            Piece::Even(kind, _) if lists.iter().all(is_even) => {
                let firsts = lists.iter().map(|list| list.iter().take(1).copied().collect());
                self.table.field(*kind, None, firsts.collect())
            }
            Piece::Many(kind, list) | Piece::Even(kind, list) => {
                self.table.field(*kind, Some(list.len()), rows())
            }
        }
    }
}

/// The text of a piece with these numbers for the blocks, if a formula gives them.
fn formula(members: &Members, piece: &Piece, lists: &[&[u32]]) -> Option<String> {
    let one = |kind: Kind| {
        let firsts = lists.iter().filter_map(|list| list.first());
        let values: Vec<i64> = firsts.map(|value| i64::from(*value)).collect();
        members.formula(kind, &values)
    };
    match piece {
        Piece::Text(text) => Some(text.clone()),
        Piece::One(kind, _) => one(*kind),
        Piece::Even(kind, _) if lists.iter().all(is_even) => one(*kind),
        Piece::Many(kind, _) | Piece::Even(kind, _) => members.list(*kind, lists),
    }
}

/// Whether one number can stand for all.
fn is_even(list: &&[u32]) -> bool {
    list.iter().all(|number| Some(number) == list.first())
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
