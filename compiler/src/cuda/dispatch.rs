//! How a block of the kernel selects its role.
//!
//! In: the roles, each with its blocks. Out: the statements with which a block of the kernel calls its role's function:
//! by the block's number, by where its rank is (`places`), or by both; by a table only if these are not enough.

use super::names;
use super::places::{Place, height, places};
use super::roles::Role;
use super::source::Context;
use std::collections::BTreeSet;

/// The table, if one is needed, and the statements; both empty if there are no blocks.
pub(super) fn body(context: &Context) -> (String, String) {
    if context.roles.is_empty() {
        return (String::new(), String::new());
    }
    let ranks = of_ranks(context);
    match by_rank(context, &ranks).or_else(|| by_block(context, &ranks)) {
        Some(choice) => (String::new(), choice.text("    ")),
        None => (table(&ranks), by_table(context)),
    }
}

/// What a block does, depending on conditions.
#[derive(Clone, PartialEq)]
enum Choice {
    Always(String),
    /// The first one whose condition holds; the condition of the last one is not tested.
    First(Vec<(String, Choice)>),
}

impl Choice {
    /// A choice by a number, whose values from 0 on have these choices.
    fn by_number(number: &str, choices: &[Choice]) -> Option<Choice> {
        let mut end = 0;
        let runs = choices.chunk_by(|a, b| a == b).filter_map(|run| {
            let begin = end;
            end += run.len();
            let when = if run.len() == 1 {
                format!("{number} == {begin}")
            } else {
                format!("{number} < {end}")
            };
            Some((when, run.first()?.clone()))
        });
        let runs: Vec<(String, Choice)> = runs.collect();
        match runs.as_slice() {
            [] => None,
            [(_, only)] => Some(only.clone()),
            [..] => Some(Choice::First(runs)),
        }
    }

    fn text(&self, margin: &str) -> String {
        let cases = match self {
            Choice::Always(statement) => return format!("{margin}{statement}\n"),
            Choice::First(cases) => cases,
        };
        let mut text = String::new();
        for (index, (when, choice)) in cases.iter().enumerate() {
            let is_last = index + 1 == cases.len();
            let when = if is_last { String::new() } else { format!("if ({when}) ") };
            let otherwise = if index == 0 { "" } else { "else " };
            let inner = choice.text(&format!("{margin}    "));
            text.push_str(&match choice {
                Choice::Always(statement) => format!("{margin}{otherwise}{when}{statement}\n"),
                Choice::First(_) => format!("{margin}{otherwise}{when}{{\n{inner}{margin}}}\n"),
            });
        }
        text.replace(&format!("}}\n{margin}else"), "} else")
    }
}

/// For each rank, the role of each of its blocks; none where the rank has no such block.
fn of_ranks(context: &Context) -> Vec<Vec<Option<usize>>> {
    let ranks = context.program.ranks.len();
    let mut rows = vec![vec![None; context.layout.blocks as usize]; ranks];
    for (index, role) in context.roles.iter().enumerate() {
        for member in &role.members {
            let row = rows.get_mut(member.rank as usize);
            if let Some(place) = row.and_then(|row| row.get_mut(member.block as usize)) {
                *place = Some(index);
            }
        }
    }
    rows
}

/// By rank, if all blocks of a rank have one role, and the ranks of a role follow each other.
fn by_rank(context: &Context, ranks: &[Vec<Option<usize>>]) -> Option<Choice> {
    let roles: Vec<usize> =
        ranks.iter().map(|row| only(row.iter().flatten())).collect::<Option<_>>()?;
    let choices: Vec<Choice> =
        roles.iter().map(|role| always(context, *role)).collect::<Option<_>>()?;
    if roles.is_sorted() { Choice::by_number("b.rank", &choices) } else { None }
}

/// By the block's number and, where necessary, by the place of its rank.
fn by_block(context: &Context, ranks: &[Vec<Option<usize>>]) -> Option<Choice> {
    let places = places(context.program);
    let does = |number: usize| {
        let roles = ranks.iter().enumerate();
        let roles = roles.filter_map(|(rank, row)| Some((rank, (*row.get(number)?)?))).collect();
        Block { context, places: &places, number, roles }.choice()
    };
    let choices: Vec<Choice> =
        (0..context.layout.blocks as usize).map(does).collect::<Option<_>>()?;
    Choice::by_number("b.block", &choices)
}

/// The block with one number, on some ranks.
struct Block<'a> {
    context: &'a Context<'a>,
    places: &'a [Place],
    number: usize,
    /// The ranks that have it, with its role on each.
    roles: Vec<(usize, usize)>,
}

impl<'a> Block<'a> {
    /// What it does, by the first of these ways that works.
    fn choice(&self) -> Option<Choice> {
        self.by_place()
            .or_else(|| self.by_own(Block::always))
            .or_else(|| self.by_own(Block::choice))
            .or_else(|| self.by_node())
            .or_else(|| self.by_number(&height()))
            .or_else(|| self.by_part())
    }

    /// The same block, on some of its ranks.
    fn on(&self, is_on: impl Fn(usize) -> bool) -> Block<'a> {
        let roles = self.roles.iter().copied().filter(|(rank, _)| is_on(*rank)).collect();
        Block { roles, ..*self }
    }

    /// If it has one role on all its ranks.
    fn always(&self) -> Option<Choice> {
        always(self.context, only(self.roles.iter().map(|(_, role)| role))?)
    }

    /// The values of a place on its ranks.
    fn values(&self, place: &Place) -> BTreeSet<usize> {
        self.roles.iter().map(|(rank, _)| (place.of)(*rank)).collect()
    }

    /// What it does for each value of a place, up to the largest on any of its
    /// ranks. Values that no rank has may do anything.
    fn at(&self, place: &Place, choice: fn(&Block<'a>) -> Option<Choice>) -> Option<Vec<Choice>> {
        let mut found: Vec<Choice> = Vec::new();
        for value in self.values(place) {
            let there = choice(&self.on(|rank| (place.of)(rank) == value))?;
            let before = found.last().unwrap_or(&there).clone();
            found.resize(value, before);
            found.push(there);
        }
        Some(found)
    }

    /// By a number that says where its rank is, if the numbers of each role are consecutive.
    fn by_number(&self, place: &Place) -> Option<Choice> {
        let choices = self.at(place, Block::always)?;
        Choice::by_number(place.text, &in_stretches(choices)?)
    }

    fn by_place(&self) -> Option<Choice> {
        self.places.iter().find_map(|place| self.by_number(place))
    }

    /// One way if the block's number is its rank's place, or that place plus a constant, and another way otherwise.
    fn by_own(&self, inner: fn(&Block<'a>) -> Option<Choice>) -> Option<Choice> {
        self.places.iter().find_map(|place| {
            self.values(place).into_iter().find_map(|value| {
                let other = self.on(|rank| (place.of)(rank) != value).always()?;
                let own = inner(&self.on(|rank| (place.of)(rank) == value))?;
                let when = match self.number.checked_sub(value)? {
                    0 => format!("b.block == {}", place.text),
                    further => format!("b.block == {} + {further}", place.text),
                };
                Some(Choice::First(vec![(when, own), (String::new(), other)]))
            })
        })
    }

    /// By the node, and within a node by the rank's place there.
    fn by_node(&self) -> Option<Choice> {
        let [_, node, _] = self.places else { return None };
        let choices = self.at(node, Block::by_place)?;
        Choice::by_number(node.text, &in_stretches(choices)?)
    }

    /// One way for the ranks before some rank, and another way from that rank on.
    fn by_part(&self) -> Option<Choice> {
        let mut begins = self.roles.iter().map(|(rank, _)| *rank).skip(1).rev();
        begins.find_map(|begin| {
            let [before, from] = [self.on(|rank| rank < begin), self.on(|rank| rank >= begin)];
            let either = |block: &Block| block.by_place().or_else(|| block.by_number(&height()));
            let (before, from) = either(&before).zip(either(&from))?;
            let when = format!("b.rank < {begin}");
            Some(Choice::First(vec![(when, before), (String::new(), from)]))
        })
    }
}

fn always(context: &Context, role: usize) -> Option<Choice> {
    context.roles.get(role).map(|role| Choice::Always(format!("{};", call(role))))
}

fn call(role: &Role) -> String {
    let kind = if role.generic { "<K>" } else { "" };
    if role.table.fields.is_empty() {
        return format!("{}{kind}(b)", role.name);
    }
    let shift = if role.base > 0 { format!(" - {}", role.base) } else { String::new() };
    format!("{}{kind}(b, {}[b.rank][b.block{shift}])", role.name, names::rows(&role.name))
}

/// The value that all of these have.
fn only<'a>(mut roles: impl Iterator<Item = &'a usize>) -> Option<usize> {
    let first = roles.next()?;
    roles.all(|other| other == first).then_some(*first)
}

/// The choices, if equal ones all follow each other.
fn in_stretches(choices: Vec<Choice>) -> Option<Vec<Choice>> {
    let mut stretches = choices.clone();
    stretches.dedup();
    let again = |(at, choice)| stretches.iter().skip(at + 1).any(|other| other == choice);
    (!stretches.iter().enumerate().any(again)).then_some(choices)
}

fn table(rows: &[Vec<Option<usize>>]) -> String {
    let (ranks, blocks) = (rows.len(), rows.first().map_or(0, Vec::len));
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<String> = row.iter().map(|role| role.unwrap_or(0).to_string()).collect();
            format!("    {{{}}},\n", cells.join(", "))
        })
        .collect();
    format!(
        "\n// The role of each block of each rank.\nCCL_TABLE uint16_t roles[{ranks}][{blocks}] = {{\n{}}};\n",
        lines.concat()
    )
}

fn by_table(context: &Context) -> String {
    let mut text = "    switch (roles[b.rank][b.block]) {\n".to_owned();
    for (index, role) in context.roles.iter().enumerate() {
        text.push_str(&format!("    case {index}: {}; break;\n", call(role)));
    }
    text.push_str("    }\n");
    text
}
