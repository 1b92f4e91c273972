//! Lists: comprehensions, folds, methods, elements.

use super::eval::{COMPARED, Eval, Evaluated, MAX_LIST};
use super::value::{List, ListBuilder, Value};
use crate::diagnostic::{Code, Diagnostic};
use crate::resolve::program::{Binder, Expr, Fold, LocalId, Method};
use crate::source::Span;
use crate::syntax::ast::Gathered;
use std::ops::ControlFlow;

/// A list with more members is not gone through if there are not as many steps left.
const MANY_VALUES: i64 = 1 << 32;

impl<'a> Eval<'_, 'a> {
    /// Runs `body` for every combination of the binders' values, the last binder fastest.
    pub(super) fn for_each(
        &mut self,
        binders: &'a [Binder],
        body: &mut dyn FnMut(&mut Self) -> Evaluated<ControlFlow<()>>,
    ) -> Evaluated<ControlFlow<()>> {
        let Some((binder, rest)) = binders.split_first() else { return body(self) };
        let list = self.list(&binder.list)?;
        // A shorter loop may have too many operations before it has too many steps, which says more.
        if list.len() > MANY_VALUES && list.len().unsigned_abs() > self.shared.fuel {
            self.shared.fuel = 0;
            let report = too_many_values(binder.list.span, list.len());
            return Err(self.fail(&binder.list, report));
        }
        for value in list.iter() {
            self.spend(binder.list.span)?;
            self.bind(binder.local, value);
            if self.admits(binder)? && self.for_each(rest, body)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Sets the value of a local.
    pub(super) fn bind(&mut self, local: LocalId, value: Value) {
        self.note_local(local, &value);
        if let Some(slot) = self.frame.get_mut(local.0 as usize) {
            *slot = value;
        }
    }

    /// Whether the binder's filter accepts the value that is bound.
    pub(super) fn admits(&mut self, binder: &'a Binder) -> Evaluated<bool> {
        match &binder.filter {
            Some(filter) => self.boolean(filter),
            None => Ok(true),
        }
    }

    /// `{p in peers if ..: value}`, `[p in peers if ..: value]`
    pub(super) fn each(
        &mut self,
        into: Gathered,
        binders: &'a [Binder],
        value: &'a Expr,
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let mut made = ListBuilder::default();
        let _ = self.for_each(binders, &mut |eval| {
            let member = eval.value(value)?;
            eval.add_member(&mut made, member, expr)?;
            Ok(ControlFlow::Continue(()))
        })?;
        match into {
            Gathered::List => Ok(Value::List(made.list())),
            Gathered::Set => self.distinct(&made.list(), expr),
        }
    }

    /// `sum(p in peers: f(p))` and similar.
    pub(super) fn fold(
        &mut self,
        fold: Fold,
        binders: &'a [Binder],
        value: &'a Expr,
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        if matches!(fold, Fold::All | Fold::Any) {
            let stop = fold == Fold::Any;
            let outcome =
                self.for_each(binders, &mut |eval| match eval.boolean(value)? == stop {
                    true => Ok(ControlFlow::Break(())),
                    false => Ok(ControlFlow::Continue(())),
                })?;
            return Ok(Value::Bool(outcome.is_break() == stop));
        }
        let mut result = if fold == Fold::Sum { Some(0i64) } else { None };
        let outcome = self.for_each(binders, &mut |eval| {
            let next = eval.int(value)?;
            result = match (fold, result) {
                (Fold::Sum, Some(sum)) => match sum.checked_add(next) {
                    Some(sum) => Some(sum),
                    None => return Ok(ControlFlow::Break(())),
                },
                (Fold::Min, Some(least)) => Some(least.min(next)),
                (Fold::Max, Some(greatest)) => Some(greatest.max(next)),
                (Fold::Sum | Fold::Min | Fold::Max | Fold::All | Fold::Any, _) => Some(next),
            };
            Ok(ControlFlow::Continue(()))
        })?;
        match (result, outcome) {
            (Some(value), ControlFlow::Continue(())) => Ok(Value::Int(value)),
            _ => Err(self.fail(expr, no_fold(expr.span, fold))),
        }
    }

    /// `list[i]`
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    pub(super) fn element(
        &mut self,
        list: &'a Expr,
        index: &'a Expr,
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let members = self.list(list)?;
        match self.value(index)? {
            Value::Int(at) => members
                .get(at)
                .ok_or_else(|| self.fail(expr, no_element(expr.span, at, members.len()))),
            Value::List(places) => {
                let mut made = ListBuilder::default();
                for place in places.iter() {
                    self.spend(expr.span)?;
                    let Value::Int(at) = place else { continue };
                    let value = members
                        .get(at)
                        .ok_or_else(|| self.fail(expr, no_element(expr.span, at, members.len())))?;
                    self.add_member(&mut made, value, expr)?;
                }
                Ok(Value::List(made.list()))
            }
            _ => Err(self.fail(expr, no_element(expr.span, -1, members.len()))),
        }
    }

    /// `x.len()` and similar.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    pub(super) fn method(
        &mut self,
        method: Method,
        receiver: &'a Expr,
        arguments: &'a [Expr],
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let list = self.list(receiver)?;
        let argument = match arguments.first() {
            Some(argument) => self.value(argument)?,
            None => Value::Unset,
        };
        match method {
            Method::Len => Ok(Value::Int(list.len())),
            Method::Rev => {
                self.expect_room(list.bytes(), expr)?;
                self.spend_copy(&list, expr.span)?;
                Ok(Value::List(list.reversed()))
            }
            Method::Contains => Ok(Value::Bool(self.position(&list, &argument, expr)?.is_some())),
            Method::Position => match self.position(&list, &argument, expr)? {
                Some(position) => Ok(Value::Int(position)),
                None => Err(self.fail(expr, no_position(expr.span, &argument))),
            },
            Method::Step => match argument {
                Value::Int(step) if step > 0 => {
                    self.expect_room(list.bytes(), expr)?;
                    self.spend_copy(&list, expr.span)?;
                    Ok(Value::List(list.stepped(step)))
                }
                _ => Err(self.fail(expr, bad_step(expr.span))),
            },
        }
    }
}

impl<'a> Eval<'_, 'a> {
    /// Spends the steps that it takes to go through what is stored of a list.
    fn spend_copy(&mut self, list: &List, span: Span) -> Evaluated<()> {
        let numbers = list.bytes() / size_of::<i64>() as u64;
        self.spend_steps(numbers / COMPARED, span)
    }

    /// The first position of a value in a list.
    fn position(&mut self, list: &List, value: &Value, expr: &'a Expr) -> Evaluated<Option<i64>> {
        let List::Values(members) = list else {
            let steps = if let List::Ints(ints) = list { ints.len() as u64 / COMPARED } else { 0 };
            self.spend_steps(steps, expr.span)?;
            return Ok(list.position(value));
        };
        for (index, member) in members.iter().enumerate() {
            self.spend(expr.span)?;
            if self.are_equal(member, value, expr.span)? {
                return Ok(Some(index as i64));
            }
        }
        Ok(None)
    }

    /// The members of a list without duplicates, each at its first position.
    pub(super) fn distinct(&mut self, list: &List, expr: &'a Expr) -> Evaluated<Value> {
        let mut kept = ListBuilder::default();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut others: Vec<Value> = Vec::new();
        for member in list.iter() {
            if let Value::Int(int) = member {
                if seen.insert(int) {
                    self.add_member(&mut kept, member, expr)?;
                }
                continue;
            }
            let mut is_new = true;
            for known in &others {
                self.spend(expr.span)?;
                is_new = is_new && !self.are_equal(known, &member, expr.span)?;
            }
            if is_new {
                others.push(member.clone());
                self.add_member(&mut kept, member, expr)?;
            }
        }
        Ok(Value::List(kept.list()))
    }
}

/// These integers, each at its first position.
pub(super) fn without_duplicates(ints: Vec<i64>) -> impl Iterator<Item = i64> {
    let mut seen = rustc_hash::FxHashSet::default();
    ints.into_iter().filter(move |value| seen.insert(*value))
}

pub(super) fn too_long(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0306, span, format!("this list has more than {MAX_LIST} members"))
        .help("only a range (`a..b`) may have more")
}

fn too_many_values(span: Span, values: i64) -> Diagnostic {
    let message = format!(
        "this program takes too many steps to elaborate: {values} more values are too many"
    );
    Diagnostic::new(Code::E0306, span, message)
        .note("loops and lists are gone through when a program is compiled")
        .help("--max-operations raises the limit, which is 4 steps for each operation")
}

fn no_fold(span: Span, fold: Fold) -> Diagnostic {
    let what = match fold {
        Fold::Sum => "the sum does not fit a 64-bit integer",
        Fold::Min | Fold::Max | Fold::All | Fold::Any => "an empty list has no minimum or maximum",
    };
    Diagnostic::new(Code::E0301, span, what)
}

fn no_element(span: Span, index: i64, len: i64) -> Diagnostic {
    let has = match len {
        0 => "it is empty".to_string(),
        1 => "its only index is 0".to_string(),
        _ => format!("its indices are 0 to {}", len - 1),
    };
    Diagnostic::new(Code::E0403, span, format!("the list has no index {index}: {has}"))
}

fn no_position(span: Span, value: &Value) -> Diagnostic {
    let value =
        if let Value::Int(value) = value { value.to_string() } else { "the value".to_string() };
    Diagnostic::new(Code::E0403, span, format!("{value} is not in the list"))
        .help("check `.contains(..)` first, or filter with `if`")
}

fn bad_step(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0403, span, "a step must be positive").help("`.rev()` reverses a list")
}
