//! The properties of a value that are known before it is evaluated. In: a resolved expression. Out: whose memory a
//! chunk is in, in which buffer, and which kind a channel has; none where that is not certain.

use super::body::{Body, Nature};
use super::program::{BufferName, Expr, ExprKind};
use crate::syntax::ast::BinaryOp;
use grammar::verb::OperandSide;

/// The nature of a value; for a list, that of its members.
pub(super) fn nature(body: &Body, expr: &Expr) -> Nature {
    let none = Nature::default();
    match &expr.kind {
        ExprKind::Local(local) => body.locals.lookup(*local).map_or(none, |known| known.nature),
        ExprKind::Buffer(buffer) => of_buffer(OperandSide::Local, *buffer),
        ExprKind::RemoteBuffer(_, buffer) => {
            Nature { side: Some(OperandSide::Remote), ..nature(body, buffer) }
        }
        ExprKind::SwitchBuffer(_, buffer) => {
            Nature { side: Some(OperandSide::Switch), ..nature(body, buffer) }
        }
        ExprKind::Channels(family, _) => {
            let families = body.families.as_ref();
            let row = families.and_then(|families| families.channels.lookup(*family));
            Nature { link: row.and_then(|row| row.link), ..none }
        }
        ExprKind::Slice(base, _) | ExprKind::Element(base, _) => nature(body, base),
        ExprKind::If(_, then, otherwise) => both(nature(body, then), nature(body, otherwise)),
        ExprKind::List(members) | ExprKind::Set(members) => {
            members.iter().map(|member| nature(body, member)).reduce(both).unwrap_or(none)
        }
        ExprKind::Each(_, _, value) => nature(body, value),
        ExprKind::Binary(BinaryOp::Add, left, right) => {
            both(nature(body, left), nature(body, right))
        }
        ExprKind::Method(_, base, _) => nature(body, base),
        ExprKind::Int(_)
        | ExprKind::Rate(_)
        | ExprKind::Time(_)
        | ExprKind::Bool(_)
        | ExprKind::Str(_)
        | ExprKind::Constant(_)
        | ExprKind::Builtin(..)
        | ExprKind::RankAt(..)
        | ExprKind::Semaphores(..)
        | ExprKind::Blocks(..)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Range(..)
        | ExprKind::Call(..)
        | ExprKind::Intrinsic(..)
        | ExprKind::Fold(..)
        | ExprKind::Error => none,
    }
}

fn of_buffer(side: OperandSide, buffer: BufferName) -> Nature {
    Nature { side: Some(side), buffer: Some(buffer), link: None }
}

/// The properties that both have in common.
fn both(one: Nature, other: Nature) -> Nature {
    fn same<T: PartialEq>(one: Option<T>, other: Option<T>) -> Option<T> {
        if one == other { one } else { None }
    }
    Nature {
        side: same(one.side, other.side),
        buffer: same(one.buffer, other.buffer),
        link: same(one.link, other.link),
    }
}
