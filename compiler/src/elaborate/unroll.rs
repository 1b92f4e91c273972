//! The second pass over a program, for one rank: turns loops, conditions and calls into operations of thread
//! blocks.

use super::declare::Indices;
use super::eval::{Eval, Evaluated, MAX_LIST};
use super::lists::too_long;
use super::value::Value;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{
    Allowed, BlockFamilyId, BlockIndex, Expr, LocalId, Operand, ProcedureId, Stmt, StmtKind, Sync,
};
use crate::source::Span;
use crate::table::Id;
use std::ops::ControlFlow;

/// The most bytes in a pipeline's window: the plan has 32 bits for it.
const MAX_UNIT: i64 = u32::MAX as i64;

/// The most chunks of a pipeline.
const MAX_CHUNKS: i64 = ir::MOST_WINDOWS as i64;

/// The context of a statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// The blocks that are open: one, or those of a group.
    pub(super) blocks: Vec<u32>,
    /// Whether they are a group.
    pub(super) group: bool,
    /// The pipeline that is open.
    pub(super) pipeline: Option<Window>,
    /// The innermost loop value or call.
    pub(super) binding: Option<ir::BindingId>,
    /// Whether writing to the input is allowed.
    pub(super) clobber: bool,
}

/// A statement that opens blocks of a family.
#[derive(Clone, Copy, Debug)]
struct OpenedFamily {
    family: BlockFamilyId,
    span: Span,
    /// The statement without its body: the place of the blocks.
    header: Span,
}

/// A pipeline that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Its number among the pipelines of the rank.
    instance: u32,
    unit: u64,
    chunks: u32,
    /// The origin of the pipeline statement, which gives the size of its windows.
    origin: ir::OriginId,
}

/// What unrolling a rank adds to.
pub(super) struct Output<'o> {
    /// The origins of operations.
    pub(super) origins: &'o mut ir::Origins,
    /// The number of operations on all ranks so far.
    pub(super) operations: u64,
    /// The most operations that are allowed.
    pub(super) max_operations: u64,
    /// Whether operations are only counted.
    pub(super) counting: bool,
    /// The number of pipelines opened on this rank.
    pub(super) pipelines: u32,
    /// The collective's reduction.
    pub(super) op: ir::ReduceOp,
    /// The names of the locals in the current body.
    pub(super) names: std::rc::Rc<[std::sync::Arc<str>]>,
}

impl<'a> Eval<'_, 'a> {
    /// Unrolls statements, each on its own: if one fails, the next is unrolled all the same.
    pub(super) fn statements(&mut self, out: &mut Output, around: &Around, statements: &'a [Stmt]) {
        for statement in statements {
            // A failure has been reported.
            let _ = self.statement(out, around, statement);
            if self.stopped(out) {
                return;
            }
        }
    }

    /// Whether to skip the rest of the rank.
    fn stopped(&self, out: &Output) -> bool {
        self.given_up(out) || self.shared.reports.are_enough(self.rank)
    }

    /// Whether to give up: out of steps, too many operations, or interrupted.
    pub(super) fn given_up(&self, out: &Output) -> bool {
        self.shared.fuel == 0
            || out.operations > out.max_operations
            || self.shared.interrupt.is_set()
    }

    /// Unrolls one statement.
    pub(super) fn statement(
        &mut self,
        out: &mut Output,
        around: &Around,
        statement: &'a Stmt,
    ) -> Evaluated<()> {
        self.spend(statement.span)?;
        if accepts(&statement.allowed, "clobber") && !around.clobber {
            let around = Around { clobber: true, ..around.clone() };
            return self.unroll(out, &around, statement);
        }
        self.unroll(out, around, statement)
    }

    fn unroll(&mut self, out: &mut Output, around: &Around, statement: &'a Stmt) -> Evaluated<()> {
        match &statement.kind {
            StmtKind::Let(local, value) => {
                let value = self.value(value).unwrap_or(Value::Unset);
                self.bind(*local, value);
                Ok(())
            }
            StmtKind::Require(condition, message) => {
                self.require(condition, message.as_deref(), statement.span)
            }
            StmtKind::For(binders, body) => self.repeat(out, around, binders, body),
            StmtKind::If(condition, then, otherwise) => {
                let taken = if self.boolean(condition)? { then } else { otherwise };
                self.statements(out, around, taken);
                Ok(())
            }
            StmtKind::Block { family, indices, body, header } => {
                let opened =
                    OpenedFamily { family: *family, span: statement.span, header: *header };
                self.open_each(out, around, opened, indices, &mut Indices::new(), body)
            }
            StmtKind::Group(members, body) => {
                let blocks = self.block_rows(out, around, members, statement.span)?;
                let around = Around { blocks, group: true, ..around.clone() };
                self.statements(out, &around, body);
                Ok(())
            }
            StmtKind::Pipeline { unit, chunks, body } => {
                self.pipeline(out, around, unit, chunks, body)
            }
            StmtKind::Barrier(members) => self.barrier(out, around, members, statement.span),
            StmtKind::Sync => {
                let origin = self.new_origin(out, around, statement.span);
                self.emit(
                    out,
                    around,
                    ir::Op { action: ir::Action::Sync, origin, sync: None },
                    statement.span,
                )
            }
            StmtKind::Transfer(transfer) => self.transfer(out, around, transfer, statement.span),
            StmtKind::Synchronise(synchronise) => {
                self.synchronise(out, around, synchronise, statement.span)
            }
            StmtKind::Call(procedure, arguments) => {
                self.procedure(out, around, *procedure, arguments, statement.span)
            }
        }
    }

    fn repeat(
        &mut self,
        out: &mut Output,
        around: &Around,
        binders: &'a [crate::resolve::program::Binder],
        body: &'a [Stmt],
    ) -> Evaluated<()> {
        let mut inner = around.clone();
        let _ = self.for_each(binders, &mut |eval| {
            inner.binding = around.binding;
            let before = out.origins.recorded();
            for binder in binders {
                inner.binding = eval.bound(out, binder.local, inner.binding);
            }
            eval.statements(out, &inner, body);
            out.origins.forget_unused(before);
            Ok(if eval.stopped(out) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(())
    }

    /// Records the value of a binder for the operations inside.
    fn bound(
        &self,
        out: &mut Output,
        local: LocalId,
        outer: Option<ir::BindingId>,
    ) -> Option<ir::BindingId> {
        let (Some(Value::Int(value)), Some(name)) =
            (self.frame.get(local.index()), out.names.get(local.index()))
        else {
            return outer;
        };
        let (name, value) = (name.clone(), *value);
        Some(out.origins.bindings.push(ir::Binding::Value { name, value, outer }))
    }

    fn open_each(
        &mut self,
        out: &mut Output,
        around: &Around,
        opened: OpenedFamily,
        indices: &'a [BlockIndex],
        chosen: &mut Indices,
        body: &'a [Stmt],
    ) -> Evaluated<()> {
        let Some((index, rest)) = indices.split_first() else {
            self.origin = self.new_origin(out, around, opened.header);
            let row = self.block_row(opened.family, chosen, opened.span)?;
            let around = Around { blocks: vec![row], group: false, ..around.clone() };
            self.statements(out, &around, body);
            return Ok(());
        };
        match index {
            BlockIndex::At(expr) => {
                let value = self.int(expr)?;
                chosen.push(value);
                self.open_each(out, around, opened, rest, chosen, body)?;
                chosen.pop();
            }
            BlockIndex::All(_) => {
                let below = self.block_domain(opened.family);
                let below = below
                    .as_ref()
                    .and_then(|all| chosen.iter().try_fold(all, |all, v| all.below(*v)));
                for value in below.map(super::domain::Domain::values).unwrap_or_default() {
                    chosen.push(value);
                    self.open_each(out, around, opened, rest, chosen, body)?;
                    chosen.pop();
                }
            }
            BlockIndex::Binder(binder) => {
                let mut inner = around.clone();
                let _ = self.for_each(std::slice::from_ref(binder), &mut |eval| {
                    let Some(Value::Int(value)) = eval.frame.get(binder.local.index()) else {
                        return Ok(ControlFlow::Continue(()));
                    };
                    chosen.push(*value);
                    inner.binding = eval.bound(out, binder.local, around.binding);
                    let opened = eval.open_each(out, &inner, opened, rest, chosen, body);
                    chosen.pop();
                    opened.map(|()| ControlFlow::Continue(()))
                })?;
            }
        }
        Ok(())
    }

    fn block_rows(
        &mut self,
        out: &mut Output,
        around: &Around,
        members: &'a [Operand],
        span: Span,
    ) -> Evaluated<Vec<u32>> {
        self.origin = self.new_origin(out, around, span);
        let mut rows = Vec::new();
        for (value, place) in self.operands(members)? {
            let Value::Block(row) = value else { continue };
            if rows.contains(&row) {
                return Err(self.fail_at(String::new(), named_twice(place)));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn pipeline(
        &mut self,
        out: &mut Output,
        around: &Around,
        unit: &'a Expr,
        chunks: &'a Expr,
        body: &'a [Stmt],
    ) -> Evaluated<()> {
        let (bytes, count) = (self.int(unit)?, self.int(chunks)?);
        if !(1..=MAX_UNIT).contains(&bytes) {
            return Err(self.fail(unit, bad_window(unit.span, "bytes", MAX_UNIT, bytes)));
        }
        if !(1..=MAX_CHUNKS).contains(&count) {
            return Err(self.fail(chunks, bad_window(chunks.span, "chunks", MAX_CHUNKS, count)));
        }
        out.pipelines += 1;
        let (instance, unit) = (out.pipelines, unit.span);
        let origin = self.new_origin(out, around, unit);
        let window = Window { instance, unit: bytes as u64, chunks: count as u32, origin };
        self.statements(out, &Around { pipeline: Some(window), ..around.clone() }, body);
        Ok(())
    }

    fn barrier(
        &mut self,
        out: &mut Output,
        around: &Around,
        members: &'a [Operand],
        span: Span,
    ) -> Evaluated<()> {
        let mut blocks = self.block_rows(out, around, members, span)?;
        let origin = self.new_origin(out, around, span);
        let action = match blocks.len() {
            0 => return Ok(()),
            // In a barrier of one block, the threads of the block meet.
            1 => ir::Action::Sync,
            arrivals => {
                let mut set = blocks.clone();
                set.sort_unstable();
                let id = ir::BarrierId(self.blocks.barrier(set));
                ir::Action::Barrier { id, arrivals: arrivals as u32 }
            }
        };
        blocks.sort_unstable();
        let around = Around { blocks, group: false, ..around.clone() };
        self.emit(out, &around, ir::Op { action, origin, sync: None }, span)
    }

    fn procedure(
        &mut self,
        out: &mut Output,
        around: &Around,
        id: ProcedureId,
        arguments: &'a [(usize, Expr)],
        span: Span,
    ) -> Evaluated<()> {
        let world = self.world;
        let procedure = &world.unit.procedures[id];
        let frame =
            self.arguments(&procedure.parameters, arguments, procedure.frame.len(), span)?;
        let before = out.origins.recorded();
        let binding = Some(out.origins.bindings.push(ir::Binding::Call {
            span,
            procedure: id.0,
            outer: around.binding,
        }));
        let names = super::local_names(&procedure.frame);
        let caller_names = std::mem::replace(&mut out.names, names);
        let called = self.nested(frame, &procedure.frame, span, |eval| {
            eval.statements(out, &Around { binding, ..around.clone() }, &procedure.body);
            Ok(())
        });
        out.names = caller_names;
        out.origins.forget_unused(before);
        called
    }

    /// Adds a value to operands, a list member by member.
    fn flatten(
        &mut self,
        value: Value,
        expr: &'a Expr,
        into: &mut Vec<(Value, Span)>,
    ) -> Evaluated<()> {
        if into.len() as i64 >= MAX_LIST {
            return Err(self.fail(expr, too_long(expr.span)));
        }
        let Value::List(list) = value else {
            into.push((value, expr.span));
            return Ok(());
        };
        for member in list.iter() {
            self.flatten(member, expr, into)?;
        }
        Ok(())
    }

    /// The values of operands; a list stands for each of its members.
    pub(super) fn operands(&mut self, operands: &'a [Operand]) -> Evaluated<Vec<(Value, Span)>> {
        let mut values = Vec::with_capacity(operands.len());
        for operand in operands {
            match operand {
                Operand::One(expr) => {
                    let value = self.value(expr)?;
                    self.flatten(value, expr, &mut values)?;
                }
                Operand::Each(binders, expr) => {
                    let _ = self.for_each(binders, &mut |eval| {
                        let value = eval.value(expr)?;
                        eval.flatten(value, expr, &mut values)?;
                        Ok(ControlFlow::Continue(()))
                    })?;
                }
            }
        }
        Ok(values)
    }

    /// The origin of a statement's operations.
    pub(super) fn new_origin(&self, out: &mut Output, around: &Around, span: Span) -> ir::OriginId {
        match out.counting {
            true => ir::OriginId(0),
            false => {
                out.origins.rows.push(ir::Origin { place: span.into(), binding: around.binding })
            }
        }
    }

    /// Appends an operation to every open block; in a group, each block's slice of it.
    pub(super) fn emit(
        &mut self,
        out: &mut Output,
        around: &Around,
        op: ir::Op,
        span: Span,
    ) -> Evaluated<()> {
        out.operations += around.blocks.len() as u64;
        if out.operations > out.max_operations {
            return Err(self.fail_at(String::new(), too_many(span, out.max_operations)));
        }
        if out.counting {
            return Ok(());
        }
        let count = around.blocks.len() as u32;
        for (index, row) in around.blocks.iter().enumerate() {
            let mut op = op.clone();
            if let (true, true, ir::Action::Transfer(transfer)) =
                (around.group, count > 1, &mut op.action)
            {
                transfer.slice = Some(ir::Slice { index: index as u32, count });
            }
            if let Some(row) = self.blocks.rows.get_mut(*row as usize) {
                append(&mut row.ops, &mut row.pipeline, around.pipeline, op);
            }
        }
        Ok(())
    }
}

/// Appends an operation to a block, inside the pipeline that is open.
fn append(ops: &mut Vec<ir::Op>, last: &mut Option<u32>, window: Option<Window>, op: ir::Op) {
    let Some(window) = window else {
        *last = None;
        ops.push(op);
        return;
    };
    if *last == Some(window.instance)
        && let Some(ir::Op { action: ir::Action::Pipeline(pipeline), .. }) = ops.last_mut()
    {
        pipeline.body.push(op);
        return;
    }
    *last = Some(window.instance);
    let pipeline = ir::Pipeline { unit: window.unit, chunks: window.chunks, body: vec![op] };
    let action = ir::Action::Pipeline(pipeline);
    ops.push(ir::Op { action, origin: window.origin, sync: None });
}

/// Whether an attribute accepts `word`.
pub(super) fn accepts(allowed: &Allowed, word: &str) -> bool {
    allowed.words.iter().any(|allowed| allowed == word)
}

/// The IR's form of `sync = ..`.
pub(super) fn sync_override(sync: Option<Sync>) -> Option<ir::SyncOverride> {
    sync.map(|sync| match sync {
        Sync::Before => ir::SyncOverride::Before,
        Sync::After => ir::SyncOverride::After,
        Sync::Both => ir::SyncOverride::Both,
        Sync::None => ir::SyncOverride::None,
    })
}

fn named_twice(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, span, "this names a block twice")
}

fn bad_window(span: Span, what: &str, most: i64, value: i64) -> Diagnostic {
    Diagnostic::new(
        Code::E0312,
        span,
        format!("the number of {what} in a pipeline must be 1 to {most}, not {value}"),
    )
}

fn too_many(span: Span, most: u64) -> Diagnostic {
    Diagnostic::new(Code::E0305, span, format!("the program has more than {most} operations"))
        .help("--max-operations raises the limit")
}
