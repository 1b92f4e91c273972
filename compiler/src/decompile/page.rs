//! Writing trees as text.

use super::formula::{Formulas, Found, variable};
use super::gather::{Index, Names};
use super::tree::{Domain, Form, Loop, Node, Number};
use super::world::World;
use crate::ir::ChannelKind;

/// The bodies of a program, and the lists of numbers that they need.
pub(super) struct Page<'a> {
    world: &'a World,
    names: &'a Names,
    text: String,
    tables: Vec<String>,
}

/// The content of a finished [`Page`].
pub(super) struct Written {
    /// Statements.
    pub(super) text: String,
    /// Declarations of lists.
    pub(super) tables: String,
}

impl<'a> Page<'a> {
    /// An empty page.
    pub(super) fn new(world: &'a World, names: &'a Names) -> Page<'a> {
        Page { world, names, text: String::new(), tables: Vec::new() }
    }

    /// Adds the body of some ranks, in braces after `head` if there is one.
    pub(super) fn role(&mut self, head: Option<&str>, body: &[Node], formulas: &Formulas) {
        match head {
            None => self.statements(body, formulas, &mut Vec::new()),
            Some(head) => {
                self.text.push_str(head);
                self.text.push_str("{\n");
                self.statements(body, formulas, &mut Vec::new());
                self.text.push('}');
            }
        }
    }

    /// The finished page.
    pub(super) fn finish(self) -> Written {
        let numbered = self.tables.iter().enumerate();
        let tables = numbered.map(|(at, list)| format!("let t{at} = {list};\n")).collect();
        Written { text: self.text, tables }
    }

    fn statements(
        &mut self,
        nodes: &[Node],
        formulas: &Formulas,
        loops: &mut Vec<(Domain, usize)>,
    ) {
        for node in nodes {
            self.node(node, formulas, loops);
            self.text.push('\n');
        }
    }

    fn node(&mut self, node: &Node, formulas: &Formulas, loops: &mut Vec<(Domain, usize)>) {
        match node {
            Node::Text(text) => self.text.push_str(text),
            Node::Number(number) => {
                let found = self.number(number, formulas, loops);
                self.text.push_str(&found.text);
            }
            Node::Owner(number) => {
                let found = self.number(number, formulas, loops);
                let plain = found.tight && !found.text.starts_with(|c: char| c.is_ascii_digit());
                let owner = if plain { found.text } else { format!("({})", found.text) };
                self.text.push_str(&format!("{owner}."));
            }
            Node::Parts(nodes) => nodes.iter().for_each(|node| self.node(node, formulas, loops)),
            Node::Sequence(Form::Statements, nodes) => {
                self.text.push_str("{\n");
                self.statements(nodes, formulas, loops);
                self.text.push('}');
            }
            Node::Sequence(Form::Members, nodes) => {
                for (at, node) in nodes.iter().enumerate() {
                    self.text.push_str(if at > 0 { ", " } else { "" });
                    self.node(node, formulas, loops);
                }
            }
            Node::Loop(repeat) => self.repeat(repeat, formulas, loops),
        }
    }

    fn repeat(&mut self, repeat: &Loop, formulas: &Formulas, loops: &mut Vec<(Domain, usize)>) {
        let domain = match repeat.domain {
            Domain::Count => format!("0..{}", repeat.turns),
            Domain::Peers(list) => list.name().to_owned(),
        };
        loops.push((repeat.domain, repeat.turns));
        let name = variable(loops, loops.len() - 1);
        match repeat.form {
            Form::Statements => {
                self.text.push_str(&format!("for {name} in {domain} {{\n"));
                self.statements(&repeat.body, formulas, loops);
                self.text.push('}');
            }
            Form::Members => {
                let start = self.text.len();
                self.text.push_str(&format!("({name} in {domain}: "));
                let body = self.text.len();
                repeat.body.iter().for_each(|node| self.node(node, formulas, loops));
                let member = self.text.split_off(body);
                match self.whole_family(repeat.domain, &member, &name) {
                    Some(all) => {
                        self.text.truncate(start);
                        self.text.push_str(&all);
                    }
                    None => self.text.push_str(&format!("{member})")),
                }
            }
        }
        loops.pop();
    }

    /// `mem[*]`, if a list consists of exactly that; with several channels to a peer, `mem[i, *]`.
    fn whole_family(&self, domain: Domain, member: &str, variable: &str) -> Option<String> {
        [("mem", ChannelKind::Memory), ("far", ChannelKind::Port)].iter().find_map(
            |(family, kind)| {
                let Index::Peer { peers, copies, together } = self.names.index(*kind) else {
                    return None;
                };
                let inside = member.strip_prefix(family)?.strip_prefix('[')?.strip_suffix(']')?;
                let (peer, nth) = match (copies, together) {
                    (1, _) => (inside, None),
                    (_, true) => inside.split_once(", ").map(|(peer, nth)| (peer, Some(nth)))?,
                    (_, false) => inside.rsplit_once(", ").map(|(nth, peer)| (peer, Some(nth)))?,
                };
                let fixed = nth.is_none_or(|nth| !has_word(nth, variable));
                let all = match (nth, together) {
                    (None, _) => format!("{family}[*]"),
                    (Some(nth), true) => format!("{family}[*, {nth}]"),
                    (Some(nth), false) => format!("{family}[{nth}, *]"),
                };
                (domain == Domain::Peers(peers) && peer == variable && fixed).then_some(all)
            },
        )
    }

    /// A number's expression or, if there is none, an element of a list by rank. In loops there always is one.
    fn number(&mut self, number: &Number, formulas: &Formulas, loops: &[(Domain, usize)]) -> Found {
        formulas.find(number, loops).unwrap_or_else(|| {
            let mut row = vec![0; self.world.ranks as usize];
            for (rank, value) in formulas.ranks.iter().zip(&number.values) {
                if let Some(slot) = row.get_mut(*rank as usize) {
                    *slot = *value;
                }
            }
            let row = list(&row);
            let at = self.tables.iter().position(|known| *known == row).unwrap_or_else(|| {
                self.tables.push(row);
                self.tables.len() - 1
            });
            Found { text: format!("t{at}[rank]"), tight: true, cost: 9 }
        })
    }
}

/// Whether a name occurs in a text.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == word)
}

/// A list of numbers.
pub(super) fn list(values: &[i64]) -> String {
    format!("[{}]", values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}
