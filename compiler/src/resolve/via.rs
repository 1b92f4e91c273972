//! Suggests a channel for an operation that names none. In: its verb and its remote operand. Out: what to write.

use super::body::Body;
use super::family::{Declaration, LinkKind};
use super::program::{Expr, ExprKind, Operand};
use super::stmt::Operated;
use super::types::Ty;
use super::verb::links;
use crate::syntax::ast::TransferVerb;

impl Body<'_> {
    /// What to write after the operands: a channel that exists, or how to declare one.
    pub(super) fn way_to(&self, verb: TransferVerb, remote: Option<&Operated>) -> String {
        let Some(families) = &self.families else {
            let is_channel = |ty: &Ty| self.types.known(ty) == Ty::Channel;
            let mut own = self.visible_locals().filter(|(_, local)| {
                self.locals.lookup(*local).is_some_and(|known| is_channel(&known.ty))
            });
            return match own.next() {
                Some((name, _)) => format!("name it after the operands: `via {name}`"),
                None => {
                    "take one as a parameter, `c: channel`, and name it after the operands: `via c`"
                        .to_owned()
                }
            };
        };
        let fits = |row: &&Declaration| row.link.is_some_and(|link| links(verb).contains(&link));
        if let Some(row) = families.channels.iter().find(fits) {
            return format!("name it after the operands: `via {}`", self.leading(row, remote));
        }
        let word = match links(verb) {
            [LinkKind::Port, ..] => "port",
            _ => "memory",
        };
        format!(
            "declare one, `channel c[p in peers] = {word}(p);`, and name it after the operands: `via c[p]`"
        )
    }

    /// The member of a family that probably leads to the rank of an operand.
    fn leading(&self, row: &Declaration, remote: Option<&Operated>) -> String {
        let name = &row.name;
        match (row.arity, remote.map(|operand| &operand.operand)) {
            (0, _) => name.clone(),
            (1, Some(Operand::One(chunk))) => {
                match owner(chunk).map(|(rank, _)| self.text(rank.span)) {
                    Some(rank) if rank != "this" => format!("{name}[{}]", rank.trim_matches('`')),
                    _ => format!("{name}[p]"),
                }
            }
            (_, _) => format!("{name}[{}]", vec!["*"; row.arity].join(", ")),
        }
    }
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
