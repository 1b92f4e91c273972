//! Which role a block has.
//!
//! In: the roles, each with its blocks. Out: the statements by which a block of the kernel comes to its own: by its number,
//! or by where its rank is, or by both, and only where these do not say it by a table.

use super::roles::Role;
use super::source::Scene;

/// A table, where one is needed, and the statements.
pub(super) fn body(scene: &Scene) -> (String, String) {
    let ranks = of_ranks(scene);
    let of_block =
        |block: usize| ranks.iter().map(|row| row.get(block).copied().flatten()).collect();
    let blocks: Vec<Vec<Option<usize>>> = (0..scene.layout.blocks as usize).map(of_block).collect();
    let statements = by_block(scene, &blocks)
        .or_else(|| by_rank(scene, &ranks))
        .or_else(|| by_both(scene, &blocks));
    match statements {
        Some(statements) => (String::new(), statements),
        None => (table(&ranks), by_table(scene)),
    }
}

/// For each rank, the role of each of its blocks, where there is such a block.
fn of_ranks(scene: &Scene) -> Vec<Vec<Option<usize>>> {
    let ranks = scene.program.ranks.len();
    let mut rows = vec![vec![None; scene.layout.blocks as usize]; ranks];
    for (index, role) in scene.roles.iter().enumerate() {
        for member in &role.members {
            let row = rows.get_mut(member.rank as usize);
            if let Some(place) = row.and_then(|row| row.get_mut(member.block as usize)) {
                *place = Some(index);
            }
        }
    }
    rows
}

/// Where every block does the same on all ranks.
fn by_block(scene: &Scene, blocks: &[Vec<Option<usize>>]) -> Option<String> {
    let does = |block: &Vec<Option<usize>>| statement(scene, only(block)?);
    let statements: Vec<String> = blocks.iter().map(does).collect::<Option<_>>()?;
    Some(by_number("    ", "b.block", &statements))
}

/// Where all blocks of a rank do the same, and ranks that do so follow each other.
fn by_rank(scene: &Scene, ranks: &[Vec<Option<usize>>]) -> Option<String> {
    let roles: Vec<usize> = ranks.iter().map(|rank| only(rank)).collect::<Option<_>>()?;
    let does = |role: &usize| statement(scene, *role);
    let statements: Vec<String> = roles.iter().map(does).collect::<Option<_>>()?;
    roles.is_sorted().then(|| by_number("    ", "b.rank", &statements))
}

/// Where what a block does depends on the place of its rank.
fn by_both(scene: &Scene, blocks: &[Vec<Option<usize>>]) -> Option<String> {
    let does = |(number, block): (usize, &Vec<Option<usize>>)| match only(block) {
        Some(role) => statement(scene, role),
        None => by_place(scene, block).or_else(|| by_own(scene, (number, block))),
    };
    let statements: Vec<String> = blocks.iter().enumerate().map(does).collect::<Option<_>>()?;
    Some(by_number("    ", "b.block", &statements))
}

/// What a block does that has one of these roles, by the place of its rank.
fn by_place(scene: &Scene, block: &[Option<usize>]) -> Option<String> {
    places(scene).iter().find_map(|place| {
        let roles = in_stretches(roles_by(block, place)?)?.into_iter();
        let statements: Vec<String> =
            roles.map(|role| statement(scene, role)).collect::<Option<_>>()?;
        Some(format!("{{\n{}    }}", by_number("        ", place.text, &statements)))
    })
}

/// What a block does that has a role of its own on the rank whose place is the block's number, or so far from it.
fn by_own(scene: &Scene, (number, block): (usize, &[Option<usize>])) -> Option<String> {
    places(scene).iter().find_map(|place| {
        let roles = roles_by(block, place)?;
        let times = |role: &usize| roles.iter().filter(|other| *other == role).count();
        let own = roles.iter().position(|role| times(role) == 1)?;
        let other = roles.iter().filter(|role| Some(*role) != roles.get(own));
        let other = { other }.find(|role| times(role) + 1 == roles.len())?;
        let of_own = match number.checked_sub(own)? {
            0 => place.text.to_owned(),
            further => format!("{} + {further}", place.text),
        };
        let [own, other] = [roles.get(own)?, other].map(|role| statement(scene, *role));
        let (own, other) = own.zip(other)?;
        Some(format!("{{\n        if (b.block == {of_own}) {own}\n        else {other}\n    }}"))
    })
}

/// Where a rank is: a number, and what gives it.
struct Place {
    text: &'static str,
    of: Box<dyn Fn(usize) -> usize>,
}

/// Where ranks are: in their nodes, among the nodes, among all.
fn places(scene: &Scene) -> Vec<Place> {
    let each = scene.program.ranks_per_node as usize;
    let in_node = [
        Place { text: "b.local()", of: Box::new(move |rank| rank % each) },
        Place { text: "b.node()", of: Box::new(move |rank| rank / each) },
    ];
    let has_nodes = each > 1 && each < scene.program.ranks.len();
    let among_all = Place { text: "b.rank", of: Box::new(|rank| rank) };
    in_node.into_iter().filter(|_| has_nodes).chain([among_all]).collect()
}

fn statement(scene: &Scene, role: usize) -> Option<String> {
    scene.roles.get(role).map(|role| format!("{};", call(role)))
}

fn call(role: &Role) -> String {
    let kind = if role.generic { "<K>" } else { "" };
    if role.table.fields.is_empty() {
        return format!("{}{kind}(b)", role.name);
    }
    let shift = if role.base > 0 { format!(" - {}", role.base) } else { String::new() };
    format!("{}{kind}(b, {}_rows[b.rank][b.block{shift}])", role.name, role.name)
}

/// What all of these are that are there.
fn only(roles: &[Option<usize>]) -> Option<usize> {
    let mut there = roles.iter().flatten();
    let first = there.next()?;
    there.all(|other| other == first).then_some(*first)
}

/// The role for each place of a rank, if that says it.
fn roles_by(block: &[Option<usize>], place: &Place) -> Option<Vec<usize>> {
    let mut found = vec![None; (0..block.len()).map(&place.of).max()? + 1];
    for (rank, role) in block.iter().enumerate() {
        let Some(role) = role else { continue };
        let known = found.get_mut((place.of)(rank))?;
        if known.is_some_and(|other| other != *role) {
            return None;
        }
        *known = Some(*role);
    }
    // What nobody has may be done by anybody.
    let mut last = *found.iter().flatten().next()?;
    let known = found.into_iter().map(|role| {
        last = role.unwrap_or(last);
        last
    });
    Some(known.collect())
}

/// The same, if each role has one stretch of them.
fn in_stretches(roles: Vec<usize>) -> Option<Vec<usize>> {
    let mut stretches = roles.clone();
    stretches.dedup();
    let mut distinct = stretches.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (stretches.len() == distinct.len()).then_some(roles)
}

/// What is done for each value of a number.
fn by_number(margin: &str, number: &str, statements: &[String]) -> String {
    let mut text = String::new();
    let mut end = 0;
    for run in statements.chunk_by(|a, b| a == b) {
        let begin = end;
        end += run.len();
        let otherwise = if begin == 0 { "" } else { "else " };
        let when = match run.len() {
            _ if end == statements.len() => String::new(),
            1 => format!("if ({number} == {begin}) "),
            _ => format!("if ({number} < {end}) "),
        };
        let statement = run.first().map(String::as_str).unwrap_or_default();
        text.push_str(&format!("{margin}{otherwise}{when}{statement}\n"));
    }
    text.replace(&format!("}}\n{margin}else"), "} else")
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

fn by_table(scene: &Scene) -> String {
    let mut text = "    switch (roles[b.rank][b.block]) {\n".to_owned();
    for (index, role) in scene.roles.iter().enumerate() {
        text.push_str(&format!("    case {index}: {}; break;\n", call(role)));
    }
    text.push_str("    }\n");
    text
}
