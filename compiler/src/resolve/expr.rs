//! Expressions: in comes a tree, out comes a resolved expression with its type.
//!
//! Rules (E0204): operators take numbers, `!`, `&&` and `||` truth values; `==` and `!=` compare numbers, truth values
//! and lists of them; the branches of an `if` and the members of a list are of one type; a condition is a truth value.

use super::body::{Body, Nature, Typed, wrong};
use super::program::{Expr, ExprKind, Type};
use super::types::{self, DEPTH, Ty};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::{BinaryOp, Gathered};

impl Body<'_> {
    /// Resolves an expression of the type that is wanted; reports any other.
    pub(super) fn expect(&mut self, expr: &ast::Expr, want: &Ty) -> Expr {
        self.expect_for(expr, want, None)
    }

    /// The same, with the place that wants it.
    pub(super) fn expect_for(
        &mut self,
        expr: &ast::Expr,
        want: &Ty,
        wanted_by: Option<(Span, &str)>,
    ) -> Expr {
        let typed = self.expr(expr, Some(want));
        if self.types.unify(&typed.ty, want) {
            return typed.expr;
        }
        let mut report = self.mismatch(&typed, want);
        if let Some((place, text)) = wanted_by {
            report = report.and(place, text);
        }
        self.report(report);
        wrong(expr.span)
    }

    /// Resolves an expression; `want` is a hint.
    pub(super) fn expr(&mut self, expr: &ast::Expr, want: Option<&Ty>) -> Typed {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Int(value) => self.typed(ExprKind::Int(*value), span, Ty::Int),
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

    /// The type of the members of a list; reports what is no list.
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

    /// What can be seen of a value without evaluating it.
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

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, span: Span) -> Typed {
        let (want, ty) = match op {
            BinaryOp::Or | BinaryOp::And => (Ty::Bool, Ty::Bool),
            BinaryOp::Equal | BinaryOp::NotEqual => return self.equality(op, left, right, span),
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
                (Ty::Int, Ty::Bool)
            }
            BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::BitAnd
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder => (Ty::Int, Ty::Int),
        };
        let owner = owner(right);
        let (left, right) = (self.expr(left, Some(&want)), self.expr(right, Some(&want)));
        if let Some((owner, field)) = owner
            && matches!(self.types.known(&left.ty), Ty::Int | Ty::Rank)
            && matches!(self.types.known(&right.ty), Ty::Chunk | Ty::Buffer)
        {
            let whole = left.expr.span.to(owner);
            self.report(field_of_a_part(field, whole, [self.text(whole), self.text(owner)]));
            return self.error(span);
        }
        if let Some(instead) = logical(op)
            && self.types.known(&left.ty) == Ty::Bool
            && self.types.known(&right.ty) == Ty::Bool
        {
            self.report(bits_of_truth_values(op, instead, &left, &right));
            return self.error(span);
        }
        let (left_span, right_span) = (left.expr.span, right.expr.span);
        let left = self.side(left, &want, op, right_span);
        let right = self.side(right, &want, op, left_span);
        self.typed(ExprKind::Binary(op, Box::new(left), Box::new(right)), span, ty)
    }

    /// One side of an operator.
    fn side(&mut self, typed: Typed, want: &Ty, op: BinaryOp, other: Span) -> Expr {
        if self.types.unify(&typed.ty, want) {
            return typed.expr;
        }
        let span = typed.expr.span;
        let what = types::describe(&self.types.close(&typed.ty));
        let wanted = if *want == Ty::Bool { "truth values" } else { "numbers" };
        let message = format!("{} is {what}; `{}` takes {wanted}", self.text(span), symbol(op));
        self.report(Diagnostic::new(Code::E0204, span, message).and(other, "the other side"));
        wrong(span)
    }

    fn equality(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, span: Span) -> Typed {
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

    /// Numbers, truth values, and lists of them.
    fn is_comparable(&self, ty: &Ty) -> bool {
        let mut ty = self.types.known(ty);
        while let Ty::List(member) = ty {
            ty = self.types.known(&member);
        }
        matches!(ty, Ty::Int | Ty::Rank | Ty::Bool | Ty::Error | Ty::Var(_))
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
                    let report =
                        self.different(&typed, &known, "the members of a list are of one type");
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

    /// The type of lists of these, unless that nests too deep.
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
                let report =
                    self.different(&otherwise, &then, "both branches of an `if` are of one type");
                self.report(report);
                Ty::Error
            }
        };
        let (then, otherwise) = (Box::new(then.expr), Box::new(otherwise.expr));
        self.typed(ExprKind::If(Box::new(condition), then, otherwise), span, ty)
    }

    /// Two things that should be of one type.
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
            "{} is {}; `{}` compares numbers, truth values and lists of them",
            self.text(left.expr.span),
            types::describe(&ty),
            symbol(op),
        );
        let report = Diagnostic::new(Code::E0204, span, message);
        if ty == Type::Chunk {
            return report.note("what chunks must hold is said in an `ensures` of a collective");
        }
        report
    }

    fn not_a_list(&self, list: &Typed, span: Span) -> Diagnostic {
        let ty = self.types.close(&list.ty);
        let text = self.text(span);
        let message = format!("{text} is {}; a list is wanted here", types::describe(&ty));
        let report = Diagnostic::new(Code::E0204, span, message);
        match text.strip_prefix('`') {
            Some(text) if matches!(ty, Type::Int | Type::Rank) => {
                report.help(format!("the numbers below it are `0..{text}"))
            }
            _ => report,
        }
    }
}

/// How an operator is written.
fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::BitAnd => "&",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
    }
}

/// The operator on truth values that was probably meant.
fn logical(op: BinaryOp) -> Option<&'static str> {
    match op {
        BinaryOp::BitOr => Some("||"),
        BinaryOp::BitAnd => Some("&&"),
        BinaryOp::BitXor => Some("!="),
        BinaryOp::Or
        | BinaryOp::And
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Remainder => None,
    }
}

/// What `p.output` or `p.output[0]` is a field of, and the field.
fn owner(expr: &ast::Expr) -> Option<(Span, &ast::Name)> {
    let buffer = if let ast::ExprKind::Index(buffer, _) = &expr.kind { buffer } else { expr };
    let ast::ExprKind::Field(owner, field) = &buffer.kind else { return None };
    Some((owner.span, field))
}

fn field_of_a_part(field: &ast::Name, whole: Span, [all, part]: [String; 2]) -> Diagnostic {
    let message = format!("`{}` is of {part} here, not of {all}", field.text);
    let edits = vec![
        Edit { span: Span { end: whole.start, ..whole }, text: "(".to_owned() },
        Edit { span: Span { start: whole.end, ..whole }, text: ")".to_owned() },
    ];
    let sum = if all == "this" { ".." } else { all.trim_matches('`') };
    let title = format!("write `({sum}).{}`", field.text);
    Diagnostic::new(Code::E0204, field.span, message).guess(title, edits)
}

fn bits_of_truth_values(op: BinaryOp, instead: &str, left: &Typed, right: &Typed) -> Diagnostic {
    let span = left.expr.span.to(right.expr.span);
    let message = format!("`{}` takes numbers, and these are truth values", symbol(op));
    Diagnostic::new(Code::E0204, span, message)
        .help(format!("truth values are combined with `{instead}`"))
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, format!("lists lie in lists more than {DEPTH} deep"))
}

fn several_without_value(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, "this does not say what it is a list of")
        .help("with several binders, write the members after a colon: `{a in x, b in y: a + b}`")
}
