//! Suggests channels for an operation that names none. In: its verb and its remote operands. Out: what to write.

use super::body::Body;
use super::family::Declaration;
use super::program::{Expr, ExprKind, Operand};
use super::stmt::Operated;
use super::types::Ty;
use super::verb::list_links;
use crate::diagnostic::Certainty;
use grammar::verb::{ChannelKind, Verb};

/// What an operation that names no channel can write after its operands.
pub(super) enum Way {
    /// One of these, each with the channels of another family or parameter.
    Via(Vec<Channels>),
    /// First something has to be declared, as this text says.
    Declare(String),
}

/// Channels, as they are written after `via`.
pub(super) struct Channels {
    /// Their names and indices; no indices that could be meant may have been found.
    pub(super) text: String,
    /// Whether they can be written as they are, and whether they certainly lead to the operands; none if an index in
    /// the text only stands for the one that is needed.
    pub(super) certainty: Option<Certainty>,
}

impl Body<'_> {
    /// What to write after the operands: channels that exist, or how to declare one.
    pub(super) fn way_to(&self, verb: Verb, remote: &[&Operated]) -> Way {
        let Some(families) = &self.families else {
            let is_channel = |ty: &Ty| self.types.known(ty) == Ty::Channel;
            let own = self.visible_locals().filter(|(_, local)| {
                self.locals.lookup(*local).is_some_and(|known| is_channel(&known.ty))
            });
            let own = own.map(|(name, _)| guessed(name.clone()));
            return way(own.collect(), "take one as a parameter, `c: channel`", "c");
        };
        let found = families.channels.iter().filter(|row| carries(row, verb));
        let found = found.map(|row| self.leading(row, remote));
        let word = match list_links(verb) {
            [ChannelKind::Port, ..] => "port",
            _ => "memory",
        };
        let declaration = format!("declare one, `channel c[p in peers] = {word}(p);`");
        way(found.collect(), &declaration, "c[p]")
    }

    /// Counts the channels that [`Body::way_to`] suggests as used: without the mistake, one of them would be.
    pub(super) fn use_suggested_channels(&mut self, verb: Verb) {
        let Some(families) = &mut self.families else { return };
        for row in families.channels.iter_mut().filter(|row| carries(row, verb)) {
            row.used = true;
        }
    }

    /// The members of a family that probably lead to the ranks of operands.
    fn leading(&self, row: &Declaration, remote: &[&Operated]) -> Channels {
        let name = &row.name;
        let owners: Option<Vec<&Expr>> = remote.iter().map(|operand| one_owner(operand)).collect();
        match (row.arity, owners.as_deref()) {
            (0, _) => guessed(name.clone()),
            (1, Some([first, rest @ ..])) => {
                let mut members: Vec<String> = Vec::new();
                for owner in std::iter::once(first).chain(rest) {
                    let text = self.text(owner.span);
                    if text == "this" {
                        return Channels { text: format!("{name}[p]"), certainty: None };
                    }
                    let member = format!("{name}[{}]", text.trim_matches('`'));
                    if !members.contains(&member) {
                        members.push(member);
                    }
                }
                let certainty = if row.leads_to_index { Certainty::Sure } else { Certainty::Guess };
                Channels { text: members.join(", "), certainty: Some(certainty) }
            }
            (1, _) => guessed(format!("{name}[*]")),
            (arity, _) => {
                let text = format!("{name}[{}]", vec!["*"; arity].join(", "));
                Channels { text, certainty: None }
            }
        }
    }
}

/// Whether an operation can go over the channels of a family.
fn carries(row: &Declaration, verb: Verb) -> bool {
    row.link.is_some_and(|link| list_links(verb).contains(&link))
}

fn guessed(text: String) -> Channels {
    Channels { text, certainty: Some(Certainty::Guess) }
}

fn way(found: Vec<Channels>, declaration: &str, name: &str) -> Way {
    if found.is_empty() {
        Way::Declare(format!("{declaration}, and name it after the operands: `via {name}`"))
    } else {
        Way::Via(found)
    }
}

/// The rank whose memory an operand is in, if it is a single chunk.
fn one_owner(operand: &Operated) -> Option<&Expr> {
    let Operand::One(chunk) = &operand.operand else { return None };
    owner(chunk).map(|(rank, _)| rank)
}

/// The rank whose memory a chunk is in, as it is written, and the buffer.
pub(super) fn owner(chunk: &Expr) -> Option<(&Expr, &Expr)> {
    let mut expr = chunk;
    while let ExprKind::Slice(base, _) | ExprKind::Element(base, _) = &expr.kind {
        expr = base;
    }
    let ExprKind::RemoteBuffer(owner, buffer) = &expr.kind else { return None };
    Some((owner, buffer))
}
