//! Arithmetic: integers of 64 bits, whose overflow is checked, rates and times.

use super::eval::{Eval, Evaluated, Failed};
use super::value::Value;
use crate::diagnostic::{Code, Diagnostic};
use crate::resolve::program::{Expr, Type};
use crate::source::Span;
use crate::syntax::ast::BinaryOp;

impl<'a> Eval<'_, 'a> {
    /// An operator with a rate or a time on a side, or one on each.
    pub(super) fn of_quantities(
        &mut self,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let (one, other) = (self.value(left)?, self.value(right)?);
        let (Some(a), Some(b)) = (amount(&one), amount(&other)) else { return Err(Failed) };
        let result = match op {
            BinaryOp::Equal => return Ok(Value::Bool(one == other)),
            BinaryOp::NotEqual => return Ok(Value::Bool(one != other)),
            BinaryOp::Less => return Ok(Value::Bool(a < b)),
            BinaryOp::LessEqual => return Ok(Value::Bool(a <= b)),
            BinaryOp::Greater => return Ok(Value::Bool(a > b)),
            BinaryOp::GreaterEqual => return Ok(Value::Bool(a >= b)),
            BinaryOp::Divide if b != 0 && a % b != 0 => {
                return Err(self.fail(expr, inexact(expr.span, &expr.ty)));
            }
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::BitAnd
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::Or
            | BinaryOp::And => arithmetic(op, a, b),
        };
        let result = result.ok_or_else(|| self.fail(expr, bad_arithmetic(expr.span, op, a, b)))?;
        Ok(if expr.ty == Type::Rate { Value::Rate(result) } else { Value::Time(result) })
    }
}

pub(super) fn is_quantity(ty: &Type) -> bool {
    matches!(ty, Type::Rate | Type::Time)
}

/// The number that a number, a rate or a time is.
pub(super) fn amount(value: &Value) -> Option<i64> {
    match value {
        Value::Int(amount) | Value::Rate(amount) | Value::Time(amount) => Some(*amount),
        Value::Unset
        | Value::Bool(_)
        | Value::Str(_)
        | Value::Chunk(_)
        | Value::Buffer(_)
        | Value::Channel(_)
        | Value::Semaphore(_)
        | Value::Block(_)
        | Value::List(_) => None,
    }
}

fn inexact(span: Span, ty: &Type) -> Diagnostic {
    let unit = if *ty == Type::Rate { "bytes per second" } else { "nanoseconds" };
    let message =
        format!("this division leaves a part of a {ty}, which is a whole number of {unit}");
    Diagnostic::new(Code::E1103, span, message)
}

/// `a op b`; none if the result does not fit in 64 bits or does not exist.
pub(super) fn arithmetic(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    let shift = u32::try_from(b).ok().filter(|bits| *bits < 64);
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Divide => floor_division(a, b),
        BinaryOp::Remainder => floor_remainder(a, b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::ShiftLeft => shift.and_then(|bits| i64::try_from(i128::from(a) << bits).ok()),
        BinaryOp::ShiftRight => shift.map(|bits| a >> bits),
        BinaryOp::Or
        | BinaryOp::And
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => None,
    }
}

/// Division that rounds down, for divisors of either sign.
fn floor_division(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// What that division leaves: `(a / b) * b + a % b` is `a`, so it has the sign of the divisor.
fn floor_remainder(a: i64, b: i64) -> Option<i64> {
    let remainder = (b != 0).then(|| a.wrapping_rem(b))?;
    Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
}

pub(super) fn bad_arithmetic(span: Span, op: BinaryOp, a: i64, b: i64) -> Diagnostic {
    if b == 0 && matches!(op, BinaryOp::Divide | BinaryOp::Remainder) {
        return Diagnostic::new(Code::E0301, span, format!("{a} is divided by zero"));
    }
    let shifts = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
    if shifts && !(0..64).contains(&b) {
        let message = format!("{a} is shifted by {b} bits; 0 to 63 are possible");
        return Diagnostic::new(Code::E0301, span, message);
    }
    overflow(span)
}

pub(super) fn overflow(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0301, span, "the result does not fit a 64-bit integer")
}
