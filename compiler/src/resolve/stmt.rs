//! Statements. In: a tree. Out: a resolved statement.
//!
//! Rules: conditions are Booleans, `for` runs over lists, blocks are opened with as many indices as their family
//! has (E0205), `group` and `barrier` take blocks, a pipeline gives `unit` and `chunks`, and a procedure is called
//! where its statements are allowed (E0108).

use super::access::wrong_arity;
use super::body::{Body, Bound, Inside, Nature};
use super::call::{Callee, given_twice};
use super::family::Family;
use super::global::Entity;
use super::import::Wanted;
use super::name::meant;
use super::program::{Binder, BlockFamilyId, BlockIndex, Expr, Operand, Stmt, StmtKind, Type};
use super::signature::Effects;
use super::types::{self, Ty};
use crate::diagnostic::{Code, Diagnostic, Edit, nearest};
use crate::source::Span;
use crate::syntax::{ast, foreign};

/// An operand, with its known properties.
#[derive(Debug)]
pub(super) struct Operated {
    /// The operand.
    pub(super) operand: Operand,
    /// The nature of its members.
    pub(super) nature: Nature,
    /// Where it is.
    pub(super) span: Span,
    /// Whether it was reported.
    pub(super) wrong: bool,
}

impl Body<'_> {
    /// The statements of a body, in a scope of their own.
    pub(super) fn statements(&mut self, body: &ast::Body) -> Vec<Stmt> {
        self.scoped(|this| this.open_statements(body))
    }

    /// The statements of a body, in the current scope.
    pub(super) fn open_statements(&mut self, body: &ast::Body) -> Vec<Stmt> {
        let statements = body.statements.iter();
        statements
            .filter_map(|stmt| self.statement(&stmt.attributes, &stmt.kind, stmt.span))
            .collect()
    }

    /// One statement; none if it could not be resolved.
    pub(super) fn statement(
        &mut self,
        attributes: &[ast::Attribute],
        kind: &ast::StmtKind,
        span: Span,
    ) -> Option<Stmt> {
        let around = self.allow(attributes, span);
        let kind = self.statement_kind(kind, span);
        if let (Some(StmtKind::Let(local, _)), []) = (&kind, attributes) {
            self.locals[*local].stands = Some(span);
        }
        let allowed = std::mem::replace(&mut self.allowed, around);
        kind.map(|kind| Stmt { kind, span, allowed })
    }

    fn statement_kind(&mut self, kind: &ast::StmtKind, span: Span) -> Option<StmtKind> {
        Some(match kind {
            ast::StmtKind::Let(let_) => self.let_(let_),
            ast::StmtKind::Require(require) => self.require_statement(require),
            ast::StmtKind::For(binders, body) => self.scoped(|this| {
                let binders = this.binders(binders);
                StmtKind::For(binders, this.statements(body))
            }),
            ast::StmtKind::If(condition) => self.if_(condition),
            ast::StmtKind::Block(block) => return self.block(block, span),
            ast::StmtKind::Group(operands, body) => {
                self.arranges(span);
                let operands = self.operands(operands, &Ty::Block);
                let body = self.within(Inside::Group, |this| this.statements(body));
                StmtKind::Group(operands.into_iter().map(|operand| operand.operand).collect(), body)
            }
            ast::StmtKind::Pipeline(settings, body) => self.pipeline(settings, body, span),
            ast::StmtKind::Barrier(operands) => {
                self.arranges(span);
                let operands = self.operands(operands, &Ty::Block);
                StmtKind::Barrier(operands.into_iter().map(|operand| operand.operand).collect())
            }
            ast::StmtKind::Sync => {
                self.operates(span, true);
                StmtKind::Sync
            }
            ast::StmtKind::Transfer(transfer) => {
                self.operates(span, false);
                StmtKind::Transfer(self.transfer(transfer))
            }
            ast::StmtKind::Synchronise(synchronise) => {
                self.operates(span, true);
                StmtKind::Synchronise(self.synchronise(synchronise))
            }
            ast::StmtKind::Call(name, arguments) => return self.call_statement(name, arguments),
        })
    }

    /// A `let`, which may also be a clause of a collective.
    pub(super) fn let_(&mut self, let_: &ast::Let) -> StmtKind {
        let before = std::mem::take(&mut self.needs);
        let (value, ty) = self.value_of(let_);
        let needs = std::mem::replace(&mut self.needs, before);
        self.needs = self.needs.and(needs);
        let nature = self.nature(&value);
        let local = self.bind(&let_.name, ty, Bound::Let);
        self.locals[local].needs = needs;
        self.locals[local].nature = nature;
        StmtKind::Let(local, value)
    }

    /// The value of a `let`, and its type: the written one, if there is one. Where something is wrong with the value, its
    /// type may be, too, so that uses of the name are not checked.
    pub(super) fn value_of(&mut self, let_: &ast::Let) -> (Expr, Ty) {
        match let_.ty.as_ref().map(|ty| (ty, self.written(ty))) {
            Some((written, ty)) => {
                let value = self.expect_for(&let_.value, &ty, Some((written.span, "its type")));
                let ty = if value.ty == Type::Error { Ty::Error } else { ty };
                (value, ty)
            }
            None => {
                let typed = self.expr(&let_.value, None);
                (typed.expr, typed.ty)
            }
        }
    }

    /// The type that is written; reports one that does not exist.
    pub(super) fn written(&mut self, ty: &ast::Type) -> Ty {
        types::written(ty).unwrap_or_else(|| {
            self.report(unknown_type(ty));
            Ty::Error
        })
    }

    /// `require condition, "why";`
    pub(super) fn require_statement(&mut self, require: &ast::Require) -> StmtKind {
        let condition = self.expect(&require.condition, &Ty::Bool);
        StmtKind::Require(condition, require.message.as_ref().map(|message| message.text.clone()))
    }

    /// Binders, each visible to those after it.
    pub(super) fn binders(&mut self, binders: &[ast::Binder]) -> Vec<Binder> {
        binders.iter().map(|binder| self.binder(binder)).collect()
    }

    /// Operands whose members have the type `want`.
    pub(super) fn operands(&mut self, operands: &[ast::Operand], want: &Ty) -> Vec<Operated> {
        operands.iter().map(|operand| self.operand(operand, want)).collect()
    }

    fn operand(&mut self, operand: &ast::Operand, want: &Ty) -> Operated {
        match operand {
            ast::Operand::One(expr) => {
                let (expr, wrong) = self.operated(expr, want);
                let (nature, span) = (self.nature(&expr), expr.span);
                Operated { operand: Operand::One(expr), nature, span, wrong }
            }
            ast::Operand::Each(binders, expr, span) => self.scoped(|this| {
                let binders = this.binders(binders);
                let (expr, wrong) = this.operated(expr, want);
                let nature = this.nature(&expr);
                Operated { operand: Operand::Each(binders, expr), nature, span: *span, wrong }
            }),
        }
    }

    /// A value of type `want` or a list of such values, and whether it has another type.
    fn operated(&mut self, expr: &ast::Expr, want: &Ty) -> (Expr, bool) {
        let typed = self.expr(expr, Some(want));
        let known = self.types.known(&typed.ty);
        let member = if let Ty::List(member) = &known { member } else { &known };
        let fits = self.types.unify(member, want);
        if !fits {
            let report = self.mismatch(&typed, want);
            self.report(report);
        }
        let wrong = !fits || typed.expr.ty == Type::Error;
        (typed.expr, wrong)
    }

    fn if_(&mut self, condition: &ast::If) -> StmtKind {
        // A chain of `else if` can have any length: it is handled in a loop, not by recursion.
        let mut arms = Vec::new();
        let mut next = condition;
        let mut last = loop {
            let test = self.expect(&next.condition, &Ty::Bool);
            arms.push((test, self.statements(&next.then), next));
            match &next.otherwise {
                Some(ast::Else::If(otherwise)) => next = otherwise,
                Some(ast::Else::Body(body)) => break self.statements(body),
                None => break Vec::new(),
            }
        };
        let mut result = None;
        while let Some((test, then, arm)) = arms.pop() {
            if let Some(kind) = result.take() {
                let span = arm.otherwise.as_ref().map_or(arm.then.span, else_span);
                last = vec![Stmt { kind, span, allowed: self.allowed.clone() }];
            }
            result = Some(StmtKind::If(test, then, std::mem::take(&mut last)));
        }
        result.unwrap_or(StmtKind::Sync)
    }

    fn block(&mut self, block: &ast::Block, span: Span) -> Option<StmtKind> {
        let Some(body) = &block.body else { return None };
        let id = self.block_family(&block.name);
        self.scoped(|this| {
            let indices: Vec<BlockIndex> =
                block.dimensions.iter().map(|dimension| this.block_index(dimension)).collect();
            if let Some(id) = id {
                this.check_block_arity(id, &block.name, indices.len());
            }
            let body = this.within(Inside::Block, |this| this.statements(body));
            let header = find_header(block, span);
            id.map(|family| StmtKind::Block { family, indices, body, header })
        })
    }

    /// The family that a block statement names.
    pub(super) fn block_family(&mut self, name: &ast::Name) -> Option<BlockFamilyId> {
        match self.family(&name.text) {
            Some(Family::Block(id)) => {
                self.use_family(Family::Block(id), name.span);
                Some(id)
            }
            Some(Family::Scratch(_) | Family::Channel(_) | Family::Semaphore(_)) => None,
            None => {
                if self.families.is_none() {
                    self.report(block_in_procedure(name));
                }
                None
            }
        }
    }

    fn check_block_arity(&mut self, id: BlockFamilyId, name: &ast::Name, given: usize) {
        let Some(families) = &self.families else { return };
        let declaration = &families.blocks[id];
        if declaration.arity != given {
            let report =
                wrong_arity(&name.text, declaration.arity, given, name.span, declaration.span);
            self.report(report);
        }
    }

    fn block_index(&mut self, dimension: &ast::Dimension) -> BlockIndex {
        match dimension {
            ast::Dimension::Binder(binder) => BlockIndex::Binder(self.number_binder(binder)),
            ast::Dimension::All(span) => BlockIndex::All(*span),
            ast::Dimension::Value(expr) => {
                let typed = self.expr(expr, Some(&Ty::Int));
                if matches!(self.types.known(&typed.ty), Ty::List(_)) {
                    let list = self.expect_numbers(typed);
                    let local = self.bind_hidden(expr.span, Ty::Int);
                    return BlockIndex::Binder(Binder { local, list, filter: None });
                }
                if !self.types.unify(&typed.ty, &Ty::Int) {
                    let report = self.mismatch(&typed, &Ty::Int);
                    self.report(report);
                }
                BlockIndex::At(typed.expr)
            }
        }
    }

    /// A binder of a family, which runs over numbers.
    pub(super) fn number_binder(&mut self, binder: &ast::Binder) -> Binder {
        let resolved = self.binder(binder);
        let ty = self.locals[resolved.local].ty.clone();
        if !self.types.unify(&ty, &Ty::Int) {
            let list = self.typed(resolved.list.kind.clone(), resolved.list.span, ty.list());
            let report = self.mismatch(&list, &Ty::Int.list());
            self.report(report);
        }
        resolved
    }

    fn expect_numbers(&mut self, list: super::body::Typed) -> Expr {
        if !self.types.unify(&list.ty, &Ty::Int.list()) {
            let report = self.mismatch(&list, &Ty::Int.list());
            self.report(report);
        }
        list.expr
    }

    fn pipeline(
        &mut self,
        settings: &[(ast::Name, ast::Expr)],
        body: &ast::Body,
        span: Span,
    ) -> StmtKind {
        let (mut unit, mut chunks) = (None, None);
        for (name, value) in settings {
            let value = self.expect(value, &Ty::Int);
            let slot = match name.text.as_str() {
                "unit" => &mut unit,
                "chunks" => &mut chunks,
                _ => {
                    self.report(unknown_setting(name));
                    continue;
                }
            };
            if let Some((_, first)) = slot.replace((value, name.span)) {
                self.report(given_twice(&name.text, name.span, first));
            }
        }
        let misspelt = settings.iter().any(|(name, _)| !SETTINGS.contains(&name.text.as_str()));
        if !misspelt && (unit.is_none() || chunks.is_none()) {
            let missing = if unit.is_none() { "unit" } else { "chunks" };
            let place = settings.first().map_or(span, |(name, _)| name.span);
            self.report(incomplete_pipeline(missing, place));
        }
        let body = self.statements(body);
        let value = |slot: Option<(Expr, Span)>| {
            slot.map_or_else(|| super::body::wrong(span), |(value, _)| value)
        };
        StmtKind::Pipeline { unit: value(unit), chunks: value(chunks), body }
    }

    fn call_statement(
        &mut self,
        name: &ast::Name,
        arguments: &[ast::Argument],
    ) -> Option<StmtKind> {
        let named = self.global(&name.text);
        if let Some(named) = named {
            self.use_global(&name.text, named, name.span);
        }
        if let Some(Entity::Procedure(id)) = named.map(|named| named.entity) {
            let signature = self.signatures.procedures[id].clone();
            self.needs = self.needs.and(signature.needs);
            let callee = Callee {
                name: &name.text,
                place: name.span,
                definition: signature.span,
                also: &[],
            };
            let arguments = self.arguments(callee, &signature.parameters, arguments);
            self.check_call(name, signature.effects);
            return Some(StmtKind::Call(id, arguments));
        }
        for argument in arguments {
            self.expr(&argument.value, None);
        }
        match named.map(|named| named.entity) {
            Some(Entity::Lost) => {}
            Some(Entity::Function(_)) => self.report(function_as_statement(name)),
            Some(_) => self.report(not_a_procedure(name)),
            None if self.is_lost(&name.text) => {}
            None if self.is_collective(&name.text) => self.report(collective_without_word(name)),
            None => {
                let report = self.unknown_procedure(name);
                self.reports.extend(report);
            }
        }
        None
    }

    /// Reports a call in a place where the statements of the procedure are not allowed.
    fn check_call(&mut self, name: &ast::Name, effects: Effects) {
        match self.inside {
            Inside::Procedure => self.effects = self.effects.and(effects),
            Inside::Nothing => {
                if let Some(place) = effects.operates {
                    self.report(call_outside_block(name, place));
                }
            }
            Inside::Block => {
                if let Some(place) = effects.arranges {
                    self.report(call_inside(name, place, "a block"));
                }
            }
            Inside::Group => {
                if let Some(place) = effects.synchronizes.or(effects.arranges) {
                    self.report(call_inside(name, place, "a group"));
                }
            }
        }
    }

    fn operates(&mut self, span: Span, synchronizes: bool) {
        if self.inside == Inside::Procedure {
            let synchronizes = synchronizes.then_some(span);
            self.effects =
                self.effects.and(Effects { operates: Some(span), synchronizes, arranges: None });
        }
    }

    fn arranges(&mut self, span: Span) {
        if self.inside == Inside::Procedure {
            self.effects = self.effects.and(Effects { arranges: Some(span), ..Effects::default() });
        }
    }

    fn within<T>(&mut self, inside: Inside, part: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.inside, inside);
        let result = part(self);
        self.inside = before;
        result
    }

    fn unknown_procedure(&mut self, name: &ast::Name) -> Option<Diagnostic> {
        if self.is_known_as_unknown(&name.text, name.span) {
            return None;
        }
        let message = format!("no procedure is called `{}`", name.text);
        let report = Diagnostic::new(Code::E0201, name.span, message);
        let declared =
            self.globals.names.lookup(self.module).into_iter().flat_map(|names| &names.values);
        let procedures = declared
            .filter(|(_, named)| matches!(named.entity, Entity::Procedure(_)))
            .map(|(name, _)| name.as_str());
        let near = self.globals.nearest(&name.text, procedures);
        match foreign::procedure(&name.text).filter(|_| near.is_none()) {
            Some(help) => Some(report.help(help)),
            None => Some(self.suggest_called(report, (name, Wanted::Procedure), near)),
        }
    }
}

fn collective_without_word(name: &ast::Name) -> Diagnostic {
    let message = format!("`{}` is a collective, not a statement", name.text);
    let before = Span { end: name.span.start, ..name.span };
    Diagnostic::new(Code::E0212, name.span, message).fix(
        "to say that the program implements it, write `collective`",
        vec![Edit { span: before, text: "collective ".to_owned() }],
    )
}

/// The settings of a pipeline.
const SETTINGS: [&str; 2] = ["unit", "chunks"];

fn else_span(otherwise: &ast::Else) -> Span {
    match otherwise {
        ast::Else::If(next) => next.condition.span.to(next.then.span),
        ast::Else::Body(body) => body.span,
    }
}

fn unknown_type(ty: &ast::Type) -> Diagnostic {
    if types::word(&ty.name.text).is_some() {
        let message = format!("lists are nested more than {} deep", types::DEPTH);
        return Diagnostic::new(Code::E0204, ty.span, message);
    }
    let message = format!("no type is called `{}`", ty.name.text);
    let report = Diagnostic::new(Code::E0201, ty.name.span, message);
    let other = foreign::r#type(&ty.name.text);
    match other.or_else(|| nearest(&ty.name.text, types::WORDS.iter().copied())) {
        Some(near) => meant(report, ty.name.span, near),
        None => report.note(format!("the types are {}", types::WORDS.join(", "))),
    }
}

fn unknown_setting(name: &ast::Name) -> Diagnostic {
    let message = format!("a pipeline has no `{}`", name.text);
    let report = Diagnostic::new(Code::E0211, name.span, message);
    match nearest(&name.text, SETTINGS) {
        Some(near) => meant(report, name.span, near),
        None => report.help("it takes `unit`, in bytes, and `chunks`"),
    }
}

fn incomplete_pipeline(missing: &str, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0205, place, format!("this pipeline does not set `{missing}`"))
        .help("write `pipeline unit = 1MiB, chunks = 1 { .. }`")
}

/// The part of the statement at `span` that says which blocks it opens.
fn find_header(block: &ast::Block, span: Span) -> Span {
    let last = block.dimensions.last().map(|dimension| match dimension {
        ast::Dimension::Binder(binder) => binder.span,
        ast::Dimension::Value(value) => value.span,
        ast::Dimension::All(star) => *star,
    });
    // The bracket closes right behind the last index.
    let end = last.map_or(block.name.span.end, |last| last.end + 1);
    Span { end: end.min(span.end), ..span }
}

fn block_in_procedure(name: &ast::Name) -> Diagnostic {
    let message = format!("a procedure cannot open `{}`", name.text);
    Diagnostic::new(Code::E0108, name.span, message)
        .label("blocks belong to a program")
        .help("open the block in the program and call the procedure in it")
}

fn function_as_statement(name: &ast::Name) -> Diagnostic {
    let message = format!("`{}` is a function; its value would be lost", name.text);
    Diagnostic::new(Code::E0204, name.span, message)
        .help(format!("bind the value: `let value = {}(..);`", name.text))
}

fn not_a_procedure(name: &ast::Name) -> Diagnostic {
    let message = format!("`{}` is not a procedure", name.text);
    Diagnostic::new(Code::E0204, name.span, message)
}

fn call_outside_block(name: &ast::Name, place: Span) -> Diagnostic {
    let message = format!("`{}` has operations and must be called in a block", name.text);
    Diagnostic::new(Code::E0108, name.span, message)
        .and(place, "this is an operation")
        .help(format!("write `block main {{ {}(..); }}`", name.text))
}

fn call_inside(name: &ast::Name, place: Span, where_: &str) -> Diagnostic {
    let message = format!("`{}` cannot be called in {where_}", name.text);
    Diagnostic::new(Code::E0108, name.span, message)
        .and(place, format!("this is not allowed in {where_}"))
}
