//! Roles: one body for all blocks that differ in numbers only.
//!
//! In: the program. Out: its roles, by their first block, each with its text. Numbers that differ become formulas of
//! the rank and the block (`formula`), or where there is none a row of a table for each block.

use super::body::{self, Scene};
use super::formula::{Member, Members};
use super::layout::Layout;
use super::names;
use super::statement::{Kind, Piece, Statement};
use crate::ir::{OriginId, Program, RankId};
use std::collections::BTreeMap;

/// A body, and the blocks that share it.
pub(super) struct Role {
    /// Its function's name.
    pub(super) name: String,
    /// The blocks' name in the source, without indices.
    pub(super) family: String,
    /// Which blocks of which ranks.
    pub(super) members: Vec<Member>,
    /// The first block's number.
    pub(super) base: u32,
    /// What it does.
    pub(super) lines: Vec<Line>,
    /// Variables that the lines use.
    pub(super) variables: Vec<String>,
    /// The numbers that no formula gives.
    pub(super) table: Table,
    /// Whether it depends on what the kernel is made for.
    pub(super) generic: bool,
}

/// A line of a body.
pub(super) struct Line {
    pub(super) depth: usize,
    pub(super) text: String,
    pub(super) origin: Option<OriginId>,
    /// Whether all blocks reach it with the loop values of the first.
    pub(super) same_values: bool,
}

/// A row of numbers for each block.
#[derive(Default)]
pub(super) struct Table {
    pub(super) fields: Vec<Field>,
}

/// One of them.
pub(super) struct Field {
    pub(super) name: String,
    /// The length of a list; none for a number.
    pub(super) length: Option<usize>,
    /// For each member.
    pub(super) values: Vec<Vec<u32>>,
}

/// The roles of a program.
pub(super) fn roles(program: &Program, layout: &Layout) -> Vec<Role> {
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for (id, block) in row.blocks.entries() {
            let statements = body::body(Scene { program, layout, rank }, &block.ops);
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
    let mut taken = names::Taken::default();
    groups.into_iter().map(|group| role(program, group, &mut taken)).collect()
}

struct Group {
    family: String,
    blocks: Vec<(RankId, u32, Vec<Statement>)>,
}

fn role(program: &Program, group: Group, taken: &mut names::Taken) -> Role {
    let members = members(program, &group);
    let base = group.blocks.iter().map(|(_, block, _)| *block).min().unwrap_or(0);
    let mut writer = Writer { members: &members, group: &group, table: Table::default() };
    let count = group.blocks.first().map_or(0, |(.., statements)| statements.len());
    let lines: Vec<Line> = (0..count).filter_map(|index| writer.line(program, index)).collect();
    let table = writer.table;
    let uses = |word: &str| lines.iter().any(|line| line.text.contains(word));
    let mut variables = Vec::new();
    let (peer, copies) = (uses("peer)") || uses("peer,") || uses("peer "), members.copies);
    let shift = if base > 0 { format!("(b.block - {base})") } else { "b.block".to_owned() };
    let index = if copies > 1 { format!("{shift} / {copies}") } else { shift.clone() };
    if peer {
        variables.push(format!("const uint32_t peer = b.peer({});", plain(&index)));
    }
    if uses("index") {
        variables.push(format!("const uint32_t index = {};", plain(&index)));
    }
    if uses("copy)") || uses("copy,") || uses("copy ") {
        variables.push(format!("const uint32_t copy = {shift} % {copies};"));
    }
    let generic = uses("<K");
    let name = taken.name(&format!("block_{}", names::identifier(&group.family)));
    Role {
        name,
        family: group.family,
        members: members.list,
        base,
        lines,
        variables,
        table,
        generic,
    }
}

/// Without brackets around all of it.
fn plain(text: &str) -> &str {
    text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text)
}

fn members(program: &Program, group: &Group) -> Members {
    let copies = i64::from(program.instances_done.max(1));
    let base = group.blocks.iter().map(|(_, block, _)| i64::from(*block)).min().unwrap_or(0);
    let list = group.blocks.iter().map(|(rank, block, _)| {
        let place = i64::from(*block) - base;
        Member { rank: rank.0, block: *block, index: place / copies, copy: place % copies }
    });
    Members {
        list: list.collect(),
        ranks: program.ranks.len() as i64,
        ranks_per_node: i64::from(program.ranks_per_node),
        copies,
    }
}

struct Writer<'a> {
    members: &'a Members,
    group: &'a Group,
    table: Table,
}

impl Writer<'_> {
    fn line(&mut self, program: &Program, index: usize) -> Option<Line> {
        let all: Vec<&Statement> =
            self.group.blocks.iter().filter_map(|(.., list)| list.get(index)).collect();
        let first = *all.first()?;
        let text = (0..first.pieces.len()).map(|piece| self.piece(&all, piece)).collect();
        let last = all.last().and_then(|statement| statement.origin);
        let values = |origin: Option<OriginId>| origin.map(|id| program.origins.values(id));
        Some(Line {
            depth: first.depth,
            text,
            origin: first.origin,
            same_values: values(first.origin) == values(last),
        })
    }

    fn piece(&mut self, all: &[&Statement], index: usize) -> String {
        let pieces: Vec<&Piece> =
            all.iter().filter_map(|statement| statement.pieces.get(index)).collect();
        match pieces.first() {
            None => String::new(),
            Some(Piece::Text(text)) => text.clone(),
            Some(Piece::One(kind, _)) => self.one(*kind, &pieces),
            Some(Piece::Many(kind, list)) => self.many(*kind, list.len(), &pieces),
            Some(Piece::Even(kind, list)) => {
                let even = |piece: &&Piece| {
                    let numbers = numbers(piece);
                    numbers.iter().all(|number| Some(number) == numbers.first())
                };
                if pieces.iter().all(even) {
                    return self.one(*kind, &pieces);
                }
                self.many(*kind, list.len(), &pieces)
            }
        }
    }

    fn one(&mut self, kind: Kind, pieces: &[&Piece]) -> String {
        let values: Vec<u32> =
            pieces.iter().filter_map(|piece| numbers(piece).first()).copied().collect();
        let wide: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
        let formula = self.members.formula(kind, &wide);
        formula.unwrap_or_else(|| {
            self.table.field(kind, None, values.into_iter().map(|value| vec![value]).collect())
        })
    }

    fn many(&mut self, kind: Kind, length: usize, pieces: &[&Piece]) -> String {
        let lists: Vec<&[u32]> = pieces.iter().map(|piece| numbers(piece)).collect();
        let formula = self.members.list(kind, &lists);
        formula.unwrap_or_else(|| {
            let values = lists.iter().map(|list| list.to_vec()).collect();
            self.table.field(kind, Some(length), values)
        })
    }
}

fn numbers(piece: &Piece) -> &[u32] {
    match piece {
        Piece::Text(_) => &[],
        Piece::One(_, number) => std::slice::from_ref(number),
        Piece::Many(_, numbers) | Piece::Even(_, numbers) => numbers,
    }
}

impl Table {
    /// The name under which a row holds such numbers.
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
