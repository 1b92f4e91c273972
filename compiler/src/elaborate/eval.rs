//! Evaluates expressions for one rank.
//!
//! Integers have 64 bits, and overflow is checked. A mistake is reported once and ends the evaluation of its
//! statement; [`Failed`] carries no more information than that.

use super::arithmetic::{arithmetic, bad_arithmetic, is_quantity, overflow};
use super::memo::{self, Memo};
use super::observe::Notes;
use super::reports::{PastEnd, Reports};
use super::value::{BufferValue, List, ListBuilder, Value, list_of, stored_bytes};
use super::world::{Declared, World};
use crate::diagnostic::{Code, Diagnostic};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::resolve::program::{
    Builtin, Constant, ConstantId, Expr, ExprKind, Frame, FunctionId, Intrinsic, LocalId,
    Parameter, Type,
};
use crate::source::{Place, Span};
use crate::syntax::ast::{BinaryOp, RangeKind, UnaryOp};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The statement cannot be evaluated; the reason has been reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed;

/// The outcome of an evaluation.
pub(super) type Evaluated<T> = Result<T, Failed>;

/// How deep functions may call each other.
const MAX_CALLS: usize = 1000;
/// How many of the calls that led to a mistake are shown.
const SHOWN_CALLS: usize = 3;
/// How many steps a call counts for: it takes as long.
const CALL: u64 = 4;
/// How many members a list may have that is not a range.
pub(super) const MAX_LIST: i64 = 1 << 20;
/// How many bytes the members of all lists may take at one time: so many, and some for each rank, up to a bound.
const LIST_BYTES: (u64, u64) = (32 << 20, 128 << 10);
const MOST_LIST_BYTES: u64 = 1 << 30;
/// How many parts of expressions are evaluated in one step, at most.
const PARTS: u32 = 64;
/// How many members a list must have that is shared by all who evaluate it.
const TABLE: usize = 32;
/// After how many members of a list that is being made it is looked whether there is room.
const LOOK: usize = 4096;
/// How many integers are compared in one step.
pub(super) const COMPARED: u64 = 64;
/// How much stack must be left before a call, and how much more is allocated if it is not.
const STACK: (usize, usize) = (512 * 1024, 4 * 1024 * 1024);

/// The state that all evaluations of one elaboration share.
pub(super) struct Shared<'a> {
    /// The mistakes that were found.
    pub(super) reports: Reports,
    /// How many expressions and statements may still be evaluated.
    pub(super) fuel: u64,
    /// Set when the result is no longer wanted.
    pub(super) interrupt: &'a Interrupt,
    /// Results of functions.
    memo: Memo,
    /// Lists of numbers that are written out, by their places.
    pub(super) tables: FxHashMap<Span, List>,
    /// How many parts of expressions have been evaluated since a step was spent for them.
    parts: u32,
    /// Constants that have been evaluated.
    pub(super) constants: FxHashMap<ConstantId, Value>,
    /// Values that were recorded, if somebody wants to see them.
    pub(super) notes: Option<Notes>,
}

impl<'a> Shared<'a> {
    /// A new state with this many steps to spend.
    pub(super) fn new(fuel: u64, interrupt: &'a Interrupt) -> Shared<'a> {
        let (reports, memo) = (Reports::default(), Memo::default());
        Shared {
            reports,
            fuel,
            interrupt,
            memo,
            tables: FxHashMap::default(),
            parts: 0,
            constants: FxHashMap::default(),
            notes: None,
        }
    }

    /// Forgets what functions returned: they may mention the number of ranks, which has changed.
    pub(super) fn forget_results(&mut self) {
        self.memo = Memo::default();
    }
}

/// The evaluation of one body on one rank.
pub(super) struct Eval<'e, 'a> {
    /// The program and the shape of the machine.
    pub(super) world: World<'a>,
    /// The state that all evaluations share.
    pub(super) shared: &'e mut Shared<'a>,
    /// The rank; none if `rank` must not be mentioned.
    pub(super) rank: Option<i64>,
    /// What this rank has declared so far.
    pub(super) own: Rc<Declared>,
    /// What every rank has declared; empty until all of them have.
    pub(super) all: &'e [Rc<Declared>],
    /// The values of the locals of the current body.
    pub(super) frame: Vec<Value>,
    /// The names of those locals.
    pub(super) names: &'a Frame,
    /// Where the current statement comes from.
    pub(super) origin: ir::OriginId,
    /// The blocks that were mentioned.
    pub(super) blocks: super::blocks::Blocks,
    /// The calls in progress, innermost last.
    pub(super) calls: Vec<Span>,
}

impl<'a> Eval<'_, 'a> {
    /// Evaluates an expression.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Evaluated<Value> {
        self.shared.parts += 1;
        if self.shared.parts == PARTS {
            self.shared.parts = 0;
            self.spend(expr.span)?;
        }
        let value = self.evaluate(expr)?;
        self.note(expr.span, &value);
        Ok(value)
    }

    fn evaluate(&mut self, expr: &'a Expr) -> Evaluated<Value> {
        match &expr.kind {
            ExprKind::Int(value) => Ok(Value::Int(*value)),
            ExprKind::Rate(value) => Ok(Value::Rate(*value)),
            ExprKind::Time(value) => Ok(Value::Time(*value)),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Str(text) => Ok(Value::Str(text.as_str().into())),
            ExprKind::Local(local) => self.local(*local, expr),
            ExprKind::Constant(id) => self.constant(*id, expr),
            ExprKind::Builtin(builtin, None) => self.builtin(*builtin, expr),
            ExprKind::Builtin(builtin, Some(of)) => {
                let rank = self.rank_value(of)?;
                Ok(self.world.builtin(*builtin, rank))
            }
            ExprKind::RankAt(node, local) => self.rank_at(node, local, expr),
            ExprKind::Buffer(name) => {
                Ok(Value::Buffer(BufferValue { place: ir::Where::Local, name: *name }))
            }
            ExprKind::RemoteBuffer(rank, buffer) => self.remote_buffer(rank, buffer),
            ExprKind::SwitchBuffer(channel, buffer) => self.switch_buffer(channel, buffer),
            ExprKind::Channels(family, indices) => self.channels(*family, indices, expr.span),
            ExprKind::Semaphores(family, indices) => self.semaphores(*family, indices, expr.span),
            ExprKind::Blocks(family, indices) => self.block_members(*family, indices, expr.span),
            ExprKind::Slice(buffer, indices) => self.slice(buffer, indices, expr),
            ExprKind::Element(list, index) => self.element(list, index, expr),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, expr),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, expr),
            ExprKind::Range(kind, start, end) => self.range(*kind, start, end, expr),
            ExprKind::List(items) => self.listed(items, expr).map(Value::List),
            ExprKind::Set(items) => {
                let list = self.listed(items, expr)?;
                self.distinct(&list, expr)
            }
            ExprKind::Each(into, binders, value) => self.each(*into, binders, value, expr),
            ExprKind::If(condition, then, otherwise) => {
                if self.boolean(condition)? {
                    self.value(then)
                } else {
                    self.value(otherwise)
                }
            }
            ExprKind::Call(function, arguments) => self.call(*function, arguments, expr),
            ExprKind::Intrinsic(intrinsic, arguments) => {
                self.intrinsic(*intrinsic, arguments, expr)
            }
            ExprKind::Fold(fold, binders, value) => self.fold(*fold, binders, value, expr),
            ExprKind::Method(method, receiver, arguments) => {
                self.method(*method, receiver, arguments, expr)
            }
            ExprKind::Error => Err(Failed),
        }
    }

    /// Evaluates an integer.
    pub(super) fn int(&mut self, expr: &'a Expr) -> Evaluated<i64> {
        let Value::Int(value) = self.value(expr)? else {
            return Err(self.fail(expr, wrong_kind(expr.span, "an integer")));
        };
        Ok(value)
    }

    /// Evaluates a Boolean.
    pub(super) fn boolean(&mut self, expr: &'a Expr) -> Evaluated<bool> {
        let Value::Bool(value) = self.value(expr)? else {
            return Err(self.fail(expr, wrong_kind(expr.span, "a Boolean")));
        };
        Ok(value)
    }

    /// Evaluates a list.
    pub(super) fn list(&mut self, expr: &'a Expr) -> Evaluated<List> {
        let Value::List(list) = self.value(expr)? else {
            return Err(self.fail(expr, wrong_kind(expr.span, "a list")));
        };
        Ok(list)
    }

    /// Evaluates the number of a rank, which must exist.
    pub(super) fn rank_value(&mut self, expr: &'a Expr) -> Evaluated<i64> {
        let rank = self.int(expr)?;
        match (0..self.world.ranks).contains(&rank) {
            true => Ok(rank),
            false => Err(self.fail(expr, not_a_rank(expr.span, rank, self.world.ranks))),
        }
    }

    /// Spends one step.
    pub(super) fn spend(&mut self, span: Span) -> Evaluated<()> {
        self.spend_steps(1, span)
    }

    /// Spends several steps, for something that takes as long as several.
    pub(super) fn spend_steps(&mut self, steps: u64, span: Span) -> Evaluated<()> {
        let before = self.shared.fuel;
        self.shared.fuel = before.saturating_sub(steps);
        if self.shared.fuel == 0 {
            return Err(self.fail_at(String::new(), endless(span)));
        }
        let looks = before / 4096 != self.shared.fuel / 4096;
        match looks && self.shared.interrupt.is_set() {
            true => Err(Failed),
            false => Ok(()),
        }
    }

    /// Reports a mistake, with the values of the locals that `expr` mentions.
    pub(super) fn fail(&mut self, expr: &'a Expr, diagnostic: Diagnostic) -> Failed {
        let values = super::situation::of(self, expr);
        self.fail_at(values, diagnostic)
    }

    /// Reports a mistake, with these values.
    pub(super) fn fail_at(&mut self, values: String, diagnostic: Diagnostic) -> Failed {
        let diagnostic = self.called(diagnostic);
        self.shared.reports.add(self.rank, values, diagnostic);
        Failed
    }

    /// Reports a slice that reaches past the end of its buffer.
    pub(super) fn fail_past_end(
        &mut self,
        expr: &'a Expr,
        diagnostic: Diagnostic,
        slice: PastEnd,
    ) -> Failed {
        let values = super::situation::of(self, expr);
        let diagnostic = self.called(diagnostic);
        self.shared.reports.add_past_end(self.rank, values, diagnostic, slice);
        Failed
    }

    /// Points to the calls that led here. A mistake in the library is reported where the author calls the
    /// library.
    fn called(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let library = &self.world.unit.library;
        let mut calls = self.calls.clone();
        calls.dedup();
        let place = diagnostic.primary.as_ref().map(|label| label.place);
        let inside = matches!(place, Some(Place::Source(span)) if library.contains(&span.file));
        let own = |call: &Span| !library.contains(&call.file);
        if let (true, Some(at), Some(primary)) =
            (inside, calls.iter().rposition(own), &mut diagnostic.primary)
            && let Some(call) = calls.drain(at..).next()
        {
            let statement = std::mem::replace(&mut primary.place, call.into());
            diagnostic = diagnostic.and(statement, "in the library");
        }
        for call in calls.into_iter().rev().take(SHOWN_CALLS) {
            diagnostic = diagnostic.and(call, "called here");
        }
        diagnostic
    }

    /// Evaluates arguments and defaults into a new frame; defaults may use the parameters before them.
    pub(super) fn arguments(
        &mut self,
        parameters: &'a [Parameter],
        arguments: &'a [(usize, Expr)],
        locals: usize,
        span: Span,
    ) -> Evaluated<Vec<Value>> {
        let mut frame = vec![Value::Unset; locals];
        for (position, value) in arguments {
            let value = self.checked_argument(parameters.get(*position), value)?;
            if let Some(slot) = frame.get_mut(*position) {
                *slot = value;
            }
        }
        let caller = std::mem::replace(&mut self.frame, frame);
        let filled = self.defaults(parameters, span);
        let frame = std::mem::replace(&mut self.frame, caller);
        filled.map(|()| frame)
    }

    fn checked_argument(
        &mut self,
        parameter: Option<&Parameter>,
        value: &'a Expr,
    ) -> Evaluated<Value> {
        match parameter {
            Some(Parameter { ty: Type::Rank, .. }) => self.rank_value(value).map(Value::Int),
            _ => self.value(value),
        }
    }

    fn defaults(&mut self, parameters: &'a [Parameter], span: Span) -> Evaluated<()> {
        for (position, parameter) in parameters.iter().enumerate() {
            if self.frame.get(position) != Some(&Value::Unset) {
                continue;
            }
            let Some(default) = &parameter.default else {
                return Err(self.fail_at(String::new(), missing_argument(span, &parameter.name)));
            };
            let value = self.checked_argument(Some(parameter), default)?;
            if let Some(slot) = self.frame.get_mut(position) {
                *slot = value;
            }
        }
        Ok(())
    }

    fn local(&mut self, local: LocalId, expr: &'a Expr) -> Evaluated<Value> {
        match self.frame.get(local.0 as usize) {
            // The reason why it has no value has been reported.
            Some(Value::Unset) | None if self.shared.reports.has_errors() => Err(Failed),
            Some(Value::Unset) | None => Err(self.fail_at(String::new(), not_yet(expr.span))),
            Some(value) => Ok(value.clone()),
        }
    }

    fn builtin(&mut self, builtin: Builtin, expr: &'a Expr) -> Evaluated<Value> {
        match (builtin, self.rank) {
            (Builtin::Ranks | Builtin::Nodes | Builtin::RanksPerNode, _) => {
                Ok(self.world.builtin(builtin, 0))
            }
            (_, Some(rank)) => {
                self.shared.memo.mention_rank();
                Ok(self.world.builtin(builtin, rank))
            }
            (_, None) => Err(self.fail_at(String::new(), no_rank_here(expr.span))),
        }
    }

    fn constant(&mut self, id: ConstantId, expr: &'a Expr) -> Evaluated<Value> {
        if let Some(value) = self.shared.constants.get(&id) {
            return Ok(value.clone());
        }
        let rank = self.rank.take();
        let world = self.world;
        let Constant { value, frame, .. } = &world.unit.constants[id];
        let locals = vec![Value::Unset; frame.len()];
        let value = self.nested(locals, frame, expr.span, |eval| eval.value(value));
        self.rank = rank;
        let value = value?;
        self.shared.constants.insert(id, value.clone());
        Ok(value)
    }

    fn rank_at(&mut self, node: &'a Expr, local: &'a Expr, expr: &'a Expr) -> Evaluated<Value> {
        let (node_value, local_value) = (self.int(node)?, self.int(local)?);
        let fits = (0..self.world.nodes()).contains(&node_value)
            && (0..self.world.ranks_per_node).contains(&local_value);
        match fits {
            true => Ok(Value::Int(node_value * self.world.ranks_per_node + local_value)),
            false => {
                Err(self.fail(expr, no_such_place(expr.span, node_value, local_value, &self.world)))
            }
        }
    }

    fn values(&mut self, items: &'a [Expr]) -> Evaluated<Vec<Value>> {
        items.iter().map(|item| self.value(item)).collect()
    }

    /// A list whose members are written out. All ranks and turns of loops share one that has numbers only.
    fn listed(&mut self, items: &'a [Expr], expr: &'a Expr) -> Evaluated<List> {
        // Where values are recorded, those of the members are, too.
        let is_table = items.len() >= TABLE && self.shared.notes.is_none();
        if is_table && let Some(known) = self.shared.tables.get(&expr.span) {
            return Ok(known.clone());
        }
        let list = list_of(self.values(items)?);
        self.expect_room(0, expr)?;
        if is_table && items.iter().all(is_number) {
            self.shared.tables.insert(expr.span, list.clone());
        }
        Ok(list)
    }

    fn unary(&mut self, op: UnaryOp, operand: &'a Expr, expr: &'a Expr) -> Evaluated<Value> {
        match op {
            UnaryOp::Not => self.boolean(operand).map(|value| Value::Bool(!value)),
            UnaryOp::Negate => match self.int(operand)?.checked_neg() {
                Some(value) => Ok(Value::Int(value)),
                None => Err(self.fail(expr, overflow(expr.span))),
            },
        }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        match op {
            BinaryOp::Add if matches!(expr.ty, Type::List(_)) => {
                self.concatenated(left, right, expr)
            }
            _ if is_quantity(&left.ty) || is_quantity(&right.ty) => {
                self.of_quantities(op, left, right, expr)
            }
            BinaryOp::Or => Ok(Value::Bool(self.boolean(left)? || self.boolean(right)?)),
            BinaryOp::And => Ok(Value::Bool(self.boolean(left)? && self.boolean(right)?)),
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let (one, other) = (self.value(left)?, self.value(right)?);
                let equal = self.are_equal(&one, &other, expr.span)?;
                Ok(Value::Bool(equal == (op == BinaryOp::Equal)))
            }
            BinaryOp::Less => Ok(Value::Bool(self.int(left)? < self.int(right)?)),
            BinaryOp::LessEqual => Ok(Value::Bool(self.int(left)? <= self.int(right)?)),
            BinaryOp::Greater => Ok(Value::Bool(self.int(left)? > self.int(right)?)),
            BinaryOp::GreaterEqual => Ok(Value::Bool(self.int(left)? >= self.int(right)?)),
            BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::BitAnd
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder => {
                let (a, b) = (self.int(left)?, self.int(right)?);
                arithmetic(op, a, b)
                    .map(Value::Int)
                    .ok_or_else(|| self.fail(expr, bad_arithmetic(expr.span, op, a, b)))
            }
        }
    }

    /// The members of one list, and then those of another.
    fn concatenated(
        &mut self,
        left: &'a Expr,
        right: &'a Expr,
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let (one, other) = (self.list(left)?, self.list(right)?);
        let len = one.len().saturating_add(other.len());
        if len > MAX_LIST {
            return Err(self.fail(expr, super::lists::too_long(expr.span)));
        }
        self.spend_steps(len.unsigned_abs(), expr.span)?;
        let mut list = ListBuilder::default();
        for member in one.iter().chain(other.iter()) {
            self.add_member(&mut list, member, expr)?;
        }
        Ok(Value::List(list.list()))
    }

    /// Adds a member to a list that is being made.
    pub(super) fn add_member(
        &mut self,
        list: &mut ListBuilder,
        member: Value,
        expr: &'a Expr,
    ) -> Evaluated<()> {
        list.push(member);
        if list.len() as i64 > MAX_LIST {
            return Err(self.fail(expr, super::lists::too_long(expr.span)));
        }
        match list.len().is_multiple_of(LOOK) {
            true => self.expect_room(list.bytes(), expr),
            false => Ok(()),
        }
    }

    /// Reports lists that take too much memory together, with so many bytes more.
    pub(super) fn expect_room(&mut self, more: u64, expr: &'a Expr) -> Evaluated<()> {
        let (base, each) = LIST_BYTES;
        let of_ranks = each.saturating_mul(self.world.ranks.unsigned_abs());
        let most = MOST_LIST_BYTES.min(base + of_ranks);
        match stored_bytes().saturating_add(more) > most {
            true => Err(self.fail(expr, too_much(expr.span, most))),
            false => Ok(()),
        }
    }

    /// Whether two values are equal.
    pub(super) fn are_equal(&mut self, one: &Value, other: &Value, span: Span) -> Evaluated<bool> {
        let (Value::List(ours), Value::List(theirs)) = (one, other) else {
            return Ok(one == other);
        };
        match (ours, theirs) {
            _ if ours.len() != theirs.len() => Ok(false),
            (List::Values(a), List::Values(b)) if !Rc::ptr_eq(a, b) => {
                for (a, b) in a.iter().zip(b.iter()) {
                    self.spend(span)?;
                    if !self.are_equal(a, b, span)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (List::Range { .. }, List::Range { .. }) | (List::Values(_), List::Values(_)) => {
                Ok(ours == theirs)
            }
            _ => {
                self.spend_steps(ours.len().unsigned_abs() / COMPARED, span)?;
                Ok(ours == theirs)
            }
        }
    }

    fn range(
        &mut self,
        kind: RangeKind,
        start: &'a Expr,
        end: &'a Expr,
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let (from, to) = (self.int(start)?, self.int(end)?);
        let len = match kind {
            RangeKind::HalfOpen => to.checked_sub(from),
            RangeKind::Inclusive => to.checked_sub(from).and_then(|len| len.checked_add(1)),
            RangeKind::Length => Some(to),
        };
        let reached = len.and_then(|len| from.checked_add(len.max(0)));
        match (len, reached) {
            (Some(len), Some(_)) => {
                Ok(Value::List(List::Range { start: from, step: 1, len: len.max(0) }))
            }
            _ => Err(self.fail(expr, overflow(expr.span))),
        }
    }

    fn call(
        &mut self,
        id: FunctionId,
        arguments: &'a [(usize, Expr)],
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let locals = self.world.unit.functions[id].frame.len() as u64;
        self.spend_steps(CALL + locals / u64::from(PARTS), expr.span)?;
        let world = self.world;
        let function = &world.unit.functions[id];
        let frame =
            self.arguments(&function.parameters, arguments, function.frame.len(), expr.span)?;
        // Where values are recorded, those inside the function are, too.
        let arguments = frame.get(..function.parameters.len()).unwrap_or_default();
        let key = memo::key(id, arguments).filter(|_| self.shared.notes.is_none());
        if let Some(known) = key.as_ref().and_then(|key| self.shared.memo.result(key)) {
            return Ok(known);
        }
        let before = self.shared.memo.before(self.shared.fuel);
        let value =
            self.nested(frame, &function.frame, expr.span, |eval| eval.value(&function.body))?;
        match (&function.result, &value) {
            (Type::Rank, Value::Int(rank)) if !(0..self.world.ranks).contains(rank) => {
                return Err(self.fail(expr, not_a_rank(expr.span, *rank, self.world.ranks)));
            }
            _ => {}
        }
        if let Some(key) = key {
            self.shared.memo.remember(key, &value, before, self.shared.fuel);
        }
        Ok(value)
    }

    /// Evaluates `body` in another frame, one call deeper.
    pub(super) fn nested<T>(
        &mut self,
        frame: Vec<Value>,
        names: &'a Frame,
        call: Span,
        body: impl FnOnce(&mut Self) -> Evaluated<T>,
    ) -> Evaluated<T> {
        if self.calls.len() >= MAX_CALLS {
            return Err(self.fail_at(String::new(), too_deep(call)));
        }
        self.calls.push(call);
        let caller = std::mem::replace(&mut self.frame, frame);
        let caller_names = std::mem::replace(&mut self.names, names);
        let value = stacker::maybe_grow(STACK.0, STACK.1, || body(self));
        self.frame = caller;
        self.names = caller_names;
        self.calls.pop();
        value
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &'a [Expr],
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let mut numbers = Vec::new();
        for argument in arguments {
            match self.value(argument)? {
                Value::Int(value) => numbers.push(value),
                // The ends of a range are its least and its greatest member.
                Value::List(List::Range { start, step, len }) => {
                    let ends = if len > 0 { [Some(0), Some(len - 1)] } else { [None, None] };
                    numbers.extend(ends.into_iter().flatten().map(|index| start + step * index));
                }
                Value::List(list) => {
                    self.spend_steps(list.len().unsigned_abs() / COMPARED, argument.span)?;
                    numbers.extend(
                        list.iter()
                            .filter_map(|v| if let Value::Int(n) = v { Some(n) } else { None }),
                    );
                }
                _ => return Err(self.fail(argument, wrong_kind(argument.span, "an integer"))),
            }
        }
        let result = match intrinsic {
            Intrinsic::Min => numbers.into_iter().min(),
            Intrinsic::Max => numbers.into_iter().max(),
            Intrinsic::Abs => numbers.first().and_then(|value| value.checked_abs()),
        };
        result.map(Value::Int).ok_or_else(|| self.fail(expr, no_value(expr.span)))
    }
}

fn no_value(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0301, span, "an empty list has no minimum or maximum")
}

fn wrong_kind(span: Span, wanted: &str) -> Diagnostic {
    Diagnostic::new(Code::E0314, span, format!("{wanted} is expected here"))
}

fn missing_argument(span: Span, name: &str) -> Diagnostic {
    Diagnostic::new(
        Code::E0314,
        span,
        format!("the parameter `{name}` has no value and no default"),
    )
}

fn not_yet(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0314, span, "this is not known yet when declarations are evaluated")
        .help("declarations may use numbers and lists of numbers; slices, channels and blocks come after them")
}

fn no_rank_here(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0314,
        span,
        "this depends on `rank`, and is evaluated once for all ranks",
    )
}

pub(super) fn not_a_rank(span: Span, rank: i64, ranks: i64) -> Diagnostic {
    Diagnostic::new(
        Code::E0303,
        span,
        format!("{rank} is not a rank: the ranks are 0 to {}", ranks - 1),
    )
}

fn no_such_place(span: Span, node: i64, local: i64, world: &World) -> Diagnostic {
    let (nodes, width) = (world.nodes(), world.ranks_per_node);
    Diagnostic::new(
        Code::E0303,
        span,
        format!(
            "there is no local rank {local} on node {node}: {nodes} nodes have {width} ranks each"
        ),
    )
}

/// Whether an expression is a number, or a list of numbers, as it is written.
fn is_number(expr: &Expr) -> bool {
    if let ExprKind::List(items) = &expr.kind {
        return items.iter().all(is_number);
    }
    let negated = if let ExprKind::Unary(UnaryOp::Negate, operand) = &expr.kind {
        operand.as_ref()
    } else {
        expr
    };
    matches!(negated.kind, ExprKind::Int(_))
}

fn endless(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0306, span, "this program takes too many steps to elaborate")
        .help("--max-operations raises the limit, which is 4 steps for each operation")
}

fn too_much(span: Span, most: u64) -> Diagnostic {
    let message = format!("the lists of this program need more than {}KiB of memory", most >> 10);
    Diagnostic::new(Code::E0306, span, message).help(
        "use a range (`a..b`) or a function of the index where a list is not needed as a whole",
    )
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0306, span, format!("calls are nested more than {MAX_CALLS} deep here"))
        .help("let the recursion end: `if n == 0 { .. } else { .. }`")
}
