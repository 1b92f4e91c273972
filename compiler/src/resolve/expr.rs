//! Expressions. In: a tree. Out: a resolved expression with its type.
//!
//! Rules (E0204): `-` takes a number, `!` a Boolean; `==` and `!=` compare numbers, Booleans and lists of
//! these; the branches of an `if` and the members of a list have one type; a condition is a Boolean.

use super::body::{Body, Nature, Typed, wrong};
use super::operator::symbol;
use super::program::{Expr, ExprKind, Type};
use super::types::{self, DEPTH, Ty};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::{BinaryOp, Gathered};

impl Body<'_> {
    /// Resolves an expression, and reports it if it does not have the type `want`.
    pub(super) fn expect(&mut self, expr: &ast::Expr, want: &Ty) -> Expr {
        self.expect_for(expr, want, None)
    }

    /// The same; `wanted_by` is the place that requires the type.
    pub(super) fn expect_for(
        &mut self,
        expr: &ast::Expr,
        want: &Ty,
        wanted_by: Option<(Span, &str)>,
    ) -> Expr {
        self.fitting(expr, want, wanted_by).unwrap_or_else(|| wrong(expr.span))
    }

    /// Resolves the value of a declaration that gives its type. Returns the value with that type; if the value has
    /// another type, either may be wrong, so that uses of what is declared are not checked.
    pub(super) fn expect_written(
        &mut self,
        expr: &ast::Expr,
        written: Ty,
        place: (Span, &str),
    ) -> (Expr, Ty) {
        match self.fitting(expr, &written, Some(place)) {
            Some(value) => (value, written),
            None => (wrong(expr.span), Ty::Error),
        }
    }

    /// Resolves an expression of type `want`; none if it has another type, which is reported.
    fn fitting(
        &mut self,
        expr: &ast::Expr,
        want: &Ty,
        wanted_by: Option<(Span, &str)>,
    ) -> Option<Expr> {
        let typed = self.expr(expr, Some(want));
        if self.types.unify(&typed.ty, want) {
            return Some(typed.expr);
        }
        let mut report = self.mismatch(&typed, want);
        if let Some((place, text)) = wanted_by {
            report = report.and(place, text);
        }
        self.report(report);
        None
    }

    /// Resolves an expression; `want` is a hint.
    pub(super) fn expr(&mut self, expr: &ast::Expr, want: Option<&Ty>) -> Typed {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Int(value) => self.typed(ExprKind::Int(*value), span, Ty::Int),
            ast::ExprKind::Rate(value) => self.typed(ExprKind::Rate(*value), span, Ty::Rate),
            ast::ExprKind::Time(value) => self.typed(ExprKind::Time(*value), span, Ty::Time),
            ast::ExprKind::Str(text) => self.typed(ExprKind::Str(text.clone()), span, Ty::Str),
            ast::ExprKind::Bool(value) => self.typed(ExprKind::Bool(*value), span, Ty::Bool),
            ast::ExprKind::Name(name) => self.name(name, span, want),
            ast::ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ast::ExprKind::Binary(op, left, right) => self.binary(*op, left, right, span),
            ast::ExprKind::Range(kind, from, to) => {
                let (from, to) = (self.expect(from, &Ty::Int), self.expect(to, &Ty::Int));
                let kind = ExprKind::Range(*kind, Box::new(from), Box::new(to));
                self.typed(kind, span, Ty::Int.list())
            }
            ast::ExprKind::List(members) => {
                let (members, ty) = self.members(members, want, span);
                self.typed(ExprKind::List(members), span, ty)
            }
            ast::ExprKind::Set(members) => {
                let (members, ty) = self.members(members, want, span);
                self.typed(ExprKind::Set(members), span, ty)
            }
            ast::ExprKind::Each(into, binders, value) => {
                self.each(*into, binders, value.as_deref(), span)
            }
            ast::ExprKind::If(condition, then, otherwise) => {
                self.conditional(condition, then, otherwise, want, span)
            }
            ast::ExprKind::Call(name, arguments) => self.call(name, arguments, span),
            ast::ExprKind::Fold(name, binders, value) => self.fold(name, binders, value, span),
            ast::ExprKind::Field(base, field) => self.field(base, field, span),
            ast::ExprKind::Method(base, method, arguments) => {
                self.method(base, method, arguments, span)
            }
            ast::ExprKind::Index(base, indices) => self.index(base, indices, want, span),
            ast::ExprKind::Error => self.error(span),
        }
    }

    /// The type of a list's members; reports a value that is not a list.
    pub(super) fn member(&mut self, list: &Typed, ast: &ast::Expr) -> Ty {
        match self.types.known(&list.ty) {
            Ty::List(member) => *member,
            Ty::Error => Ty::Error,
            Ty::Var(_) => {
                let member = self.types.fresh();
                self.types.unify(&list.ty, &member.clone().list());
                member
            }
            Ty::Int
            | Ty::Rank
            | Ty::Bool
            | Ty::Str
            | Ty::Rate
            | Ty::Time
            | Ty::Chunk
            | Ty::Buffer
            | Ty::Channel
            | Ty::Semaphore
            | Ty::Block => {
                let report = self.not_a_list(list, ast.span);
                self.report(report);
                Ty::Error
            }
        }
    }

    /// The properties of a value that are known without evaluating it.
    pub(super) fn nature(&self, expr: &Expr) -> Nature {
        super::nature::nature(self, expr)
    }

    fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> Typed {
        let ty = match op {
            ast::UnaryOp::Negate => Ty::Int,
            ast::UnaryOp::Not => Ty::Bool,
        };
        let operand = self.expect(operand, &ty);
        self.typed(ExprKind::Unary(op, Box::new(operand)), span, ty)
    }

    pub(super) fn equality(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Typed {
        let left = self.expr(left, None);
        let right = self.expr(right, Some(&left.ty));
        if !self.types.unify(&left.ty, &right.ty) {
            let report = self.different(&left, &right, "they cannot be compared");
            self.report(report);
        } else if !self.is_comparable(&left.ty) {
            let report = self.incomparable(&left, op, span);
            self.report(report);
        }
        let kind = ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr));
        self.typed(kind, span, Ty::Bool)
    }

    /// Whether the type is a number, a Boolean, or a list of these.
    fn is_comparable(&self, ty: &Ty) -> bool {
        let mut ty = self.types.known(ty);
        while let Ty::List(member) = ty {
            ty = self.types.known(&member);
        }
        matches!(ty, Ty::Int | Ty::Rank | Ty::Bool | Ty::Rate | Ty::Time | Ty::Error | Ty::Var(_))
    }

    /// The members of a list or set, and the type of the whole.
    fn members(&mut self, members: &[ast::Expr], want: Option<&Ty>, span: Span) -> (Vec<Expr>, Ty) {
        let hint = match want.map(|want| self.types.known(want)) {
            Some(Ty::List(member)) => Some(*member),
            _ => None,
        };
        let mut resolved: Vec<Expr> = Vec::new();
        let mut first: Option<Typed> = None;
        for member in members {
            let hint = first.as_ref().map(|first| first.ty.clone()).or_else(|| hint.clone());
            let typed = self.expr(member, hint.as_ref());
            resolved.push(typed.expr.clone());
            let Some(known) = &mut first else {
                first = Some(typed);
                continue;
            };
            match self.types.join(&known.ty, &typed.ty) {
                Some(joined) => known.ty = joined,
                None => {
                    let known = known.clone();
                    let report = self.different(
                        &typed,
                        &known,
                        "the members of a list must have the same type",
                    );
                    self.report(report);
                }
            }
        }
        let member = match first {
            Some(first) => first.ty,
            None => self.types.fresh(),
        };
        (resolved, self.list_of(member, span))
    }

    /// The type of lists of this type, unless lists would nest too deep.
    fn list_of(&mut self, member: Ty, span: Span) -> Ty {
        if self.types.depth(&member) < DEPTH {
            return member.list();
        }
        self.report(too_deep(span));
        Ty::Error
    }

    fn each(
        &mut self,
        into: Gathered,
        binders: &[ast::Binder],
        value: Option<&ast::Expr>,
        span: Span,
    ) -> Typed {
        self.scoped(|body| {
            let resolved: Vec<_> = binders.iter().map(|binder| body.binder(binder)).collect();
            let value = match (value, resolved.as_slice()) {
                (Some(value), _) => body.expr(value, None),
                (None, [one]) => {
                    let ty = body.locals[one.local].ty.clone();
                    body.typed(ExprKind::Local(one.local), body.locals[one.local].span, ty)
                }
                (None, _) => {
                    body.report(several_without_value(span));
                    body.error(span)
                }
            };
            let ty = body.list_of(value.ty, span);
            body.typed(ExprKind::Each(into, resolved, Box::new(value.expr)), span, ty)
        })
    }

    fn conditional(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Expr,
        otherwise: &ast::Expr,
        want: Option<&Ty>,
        span: Span,
    ) -> Typed {
        let condition = self.expect(condition, &Ty::Bool);
        let then = self.expr(then, want);
        let hint = then.ty.clone();
        let otherwise = self.expr(otherwise, want.or(Some(&hint)));
        let ty = match self.types.join(&then.ty, &otherwise.ty) {
            Some(ty) => ty,
            None => {
                let report = self.different(
                    &otherwise,
                    &then,
                    "both branches of an `if` must have the same type",
                );
                self.report(report);
                Ty::Error
            }
        };
        let (then, otherwise) = (Box::new(then.expr), Box::new(otherwise.expr));
        self.typed(ExprKind::If(Box::new(condition), then, otherwise), span, ty)
    }

    /// Two values that should have the same type.
    fn different(&self, one: &Typed, other: &Typed, why: &str) -> Diagnostic {
        let describe = |typed: &Typed| types::describe(&self.types.close(&typed.ty));
        let (one_text, other_text) = (self.text(one.expr.span), self.text(other.expr.span));
        let message = match (one_text.as_str(), other_text.as_str()) {
            ("this", "this") => "these differ in type".to_owned(),
            _ => {
                format!("{one_text} is {}, and {other_text} is {}", describe(one), describe(other))
            }
        };
        Diagnostic::new(Code::E0204, one.expr.span, message)
            .label(describe(one))
            .and(other.expr.span, describe(other))
            .note(why)
    }

    fn incomparable(&self, left: &Typed, op: BinaryOp, span: Span) -> Diagnostic {
        let ty = self.types.close(&left.ty);
        let message = format!(
            "{} is {}; `{}` compares numbers, Booleans and lists of them",
            self.text(left.expr.span),
            types::describe(&ty),
            symbol(op),
        );
        let report = Diagnostic::new(Code::E0204, span, message);
        if ty == Type::Chunk {
            return report.note("what chunks must hold belongs in an `ensures` of a collective");
        }
        report
    }

    fn not_a_list(&self, list: &Typed, span: Span) -> Diagnostic {
        let ty = self.types.close(&list.ty);
        let text = self.text(span);
        let message = format!("{text} is {}; a list is expected here", types::describe(&ty));
        let report = Diagnostic::new(Code::E0204, span, message);
        match text.strip_prefix('`') {
            Some(text) if matches!(ty, Type::Int | Type::Rank) => {
                report.help(format!("the numbers below it are `0..{text}"))
            }
            _ => report,
        }
    }
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, format!("lists are nested more than {DEPTH} deep"))
}

fn several_without_value(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, "this does not say what it is a list of")
        .help("with several binders, write the members after a colon: `{a in x, b in y: a + b}`")
}
