//! The values with which an error occurred: "start = 256, n = 128".

use super::eval::Eval;
use super::value::Value;
use crate::resolve::program::{Binder, Expr, ExprKind, Index, LocalId};
use crate::table::Id;

/// How many values are shown at most.
const SHOWN: usize = 6;
/// How many members a list may have to be shown.
const MEMBERS: i64 = 16;

/// The integer locals that `expr` mentions, in order of appearance: "p = 0, step = 2".
pub(super) fn of(eval: &Eval, expr: &Expr) -> String {
    let mut locals = Vec::new();
    mentioned(expr, &mut locals);
    show(eval, &locals)
}

/// The same, with the lists that are short enough to be shown.
pub(super) fn with_lists(eval: &Eval, expr: &Expr) -> String {
    let mut locals = Vec::new();
    mentioned(expr, &mut locals);
    let lists = locals.iter().filter_map(|local| {
        let value = eval.frame.get(local.index())?;
        let Value::List(list) = value else { return None };
        if list.len() > MEMBERS || value.is_longer_than(MEMBERS * MEMBERS) {
            return None;
        }
        let text = super::contract::written(value)?;
        Some(format!("{} = {text}", eval.names.lookup(*local)?.name))
    });
    let mut shown: Vec<String> = lists.collect();
    shown.dedup();
    shown.extend(Some(show(eval, &locals)).filter(|values| !values.is_empty()));
    shown.join(", ")
}

/// The integer locals that indices mention.
pub(super) fn of_indices(eval: &Eval, indices: &[Index]) -> String {
    let mut locals = Vec::new();
    indices.iter().filter_map(indexed).for_each(|index| mentioned(index, &mut locals));
    show(eval, &locals)
}

/// The values of these locals: "p = 0, step = 2".
pub(super) fn show(eval: &Eval, locals: &[LocalId]) -> String {
    let mut shown: Vec<String> = Vec::new();
    for local in locals {
        let (Some(Value::Int(value)), Some(name)) =
            (eval.frame.get(local.index()), eval.names.lookup(*local))
        else {
            continue;
        };
        let text = format!("{} = {value}", name.name);
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    shown.truncate(SHOWN);
    shown.join(", ")
}

/// The locals that an expression mentions, in order of appearance.
pub(super) fn mentioned(expr: &Expr, into: &mut Vec<LocalId>) {
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        let first = pending.len();
        match &expr.kind {
            ExprKind::Local(local) => into.push(*local),
            ExprKind::Int(_)
            | ExprKind::Rate(_)
            | ExprKind::Time(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Constant(_)
            | ExprKind::Builtin(_, None)
            | ExprKind::Buffer(_)
            | ExprKind::Error => {}
            ExprKind::Builtin(_, Some(a)) | ExprKind::Unary(_, a) => pending.push(a),
            ExprKind::RankAt(a, b)
            | ExprKind::RemoteBuffer(a, b)
            | ExprKind::SwitchBuffer(a, b)
            | ExprKind::Element(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Range(_, a, b) => pending.extend([&**a, &**b]),
            ExprKind::If(a, b, c) => pending.extend([&**a, &**b, &**c]),
            ExprKind::Channels(_, indices)
            | ExprKind::Semaphores(_, indices)
            | ExprKind::Blocks(_, indices) => {
                pending.extend(indices.iter().filter_map(indexed));
            }
            ExprKind::Slice(base, indices) => {
                pending.push(base);
                pending.extend(indices.iter().filter_map(indexed));
            }
            ExprKind::List(items) | ExprKind::Set(items) | ExprKind::Intrinsic(_, items) => {
                pending.extend(items)
            }
            ExprKind::Each(_, binders, value) | ExprKind::Fold(_, binders, value) => {
                pending.extend(binders.iter().flat_map(parts));
                pending.push(value);
            }
            ExprKind::Call(_, arguments) => {
                pending.extend(arguments.iter().map(|(_, value)| value))
            }
            ExprKind::Method(_, receiver, arguments) => {
                pending.push(receiver);
                pending.extend(arguments);
            }
        }
        // The parts were appended in order but are popped from the end.
        if let Some(parts) = pending.get_mut(first..) {
            parts.reverse();
        }
    }
}

fn indexed(index: &Index) -> Option<&Expr> {
    match index {
        Index::At(expr) | Index::To(expr, _) | Index::From(expr) => Some(expr),
        Index::All(_) | Index::Whole(_) => None,
    }
}

fn parts(binder: &Binder) -> impl Iterator<Item = &Expr> {
    std::iter::once(&binder.list).chain(binder.filter.as_ref())
}
