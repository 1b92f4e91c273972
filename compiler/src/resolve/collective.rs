//! Collectives: what ranks begin with and must end with, and which collective a program implements.
//!
//! Rules: a collective gives the size of `input` and of `output`, each once (E0212, E0203); a promise is an equality
//! between an output chunk of this rank and an input chunk or a `reduce(..)` of input chunks, or `begun(rank)`, or
//! `same(chunk)` about an output chunk of this rank (E0214); `in_place`
//! makes one buffer a part of the other. `in_place` and `op` are not parameters: every program may give them.

use super::body::{Body, Level, wrong};
use super::call::{Callee, given_twice};
use super::declare::set_twice;
use super::global::{Declared, Entity};
use super::import::Wanted;
use super::option::word_in_quotes;
use super::program::{
    BufferName, Claim, Collective, CollectiveId, Ensures, Expr, Implements, InPlace, Op, Promised,
    Stmt, StmtKind,
};
use super::signature::Takes;
use super::transfer::unknown_word;
use super::types::Ty;
use super::verb::{OPS, op_word};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast;
use grammar::verb::OperandSide;

/// Resolves a collective whose signature is known.
pub(super) fn collective(
    body: &mut Body,
    declared: Declared<'_, ast::Collective>,
    takes: &[Takes],
) -> Collective {
    let ast = declared.ast;
    let parameters = body.parameters(&ast.parameters, takes, Level::Default);
    for parameter in &ast.parameters {
        if matches!(parameter.name.text.as_str(), "in_place" | "op") {
            body.report(implied_parameter(&parameter.name));
        }
    }
    let mut clauses = Clauses::default();
    for item in &ast.items {
        body.clause(item, &mut clauses);
    }
    let broken = body.globals.modules.modules[declared.module].is_broken();
    for (name, size) in [("input", &clauses.input), ("output", &clauses.output)] {
        if size.is_none() && !broken {
            body.report(missing_size(&ast.name, name));
        }
    }
    let size =
        |size: Option<(Expr, Span)>| size.map_or_else(|| wrong(ast.name.span), |(size, _)| size);
    Collective {
        name: ast.name.text.clone(),
        span: ast.name.span,
        parameters,
        body: clauses.body,
        input: size(clauses.input),
        output: size(clauses.output),
        in_place: clauses.in_place,
        ensures: clauses.ensures,
        frame: body.frame(),
    }
}

#[derive(Default)]
struct Clauses {
    body: Vec<Stmt>,
    input: Option<(Expr, Span)>,
    output: Option<(Expr, Span)>,
    in_place: Option<InPlace>,
    ensures: Vec<Ensures>,
}

impl Body<'_> {
    fn clause(&mut self, item: &ast::CollectiveItem, clauses: &mut Clauses) {
        let around = self.allow(&item.attributes, item.span);
        match &item.kind {
            ast::CollectiveItemKind::Let(let_) => {
                let kind = self.let_(let_);
                clauses.body.push(self.clause_statement(kind, item.span));
            }
            ast::CollectiveItemKind::Require(require) => {
                let kind = self.require_statement(require);
                clauses.body.push(self.clause_statement(kind, item.span));
            }
            ast::CollectiveItemKind::Size(size) => {
                self.refuse_bytes(&size.chunks);
                let chunks = self.expect(&size.chunks, &Ty::Int);
                let slot = match size.buffer.text.as_str() {
                    "input" => &mut clauses.input,
                    _ => &mut clauses.output,
                };
                match slot {
                    Some((_, first)) => {
                        let first = *first;
                        self.report(set_twice(&size.buffer, first));
                    }
                    None => *slot = Some((chunks, size.buffer.span)),
                }
            }
            ast::CollectiveItemKind::InPlace(in_place) => {
                let resolved = self.in_place(in_place, item.span);
                match (&clauses.in_place, resolved) {
                    (Some(first), _) => {
                        let first = first.span;
                        self.report(given_twice("in_place", item.span, first));
                    }
                    (None, resolved) => clauses.in_place = resolved,
                }
            }
            ast::CollectiveItemKind::Ensures(ensures) => {
                let resolved =
                    self.at_level(Level::Clauses, |body| body.ensures(ensures, item.span));
                clauses.ensures.extend(resolved);
            }
        }
        self.allowed = around;
    }

    fn clause_statement(&self, kind: StmtKind, span: Span) -> Stmt {
        Stmt { kind, span, allowed: self.allowed.clone() }
    }

    fn in_place(&mut self, in_place: &ast::InPlace, span: Span) -> Option<InPlace> {
        let inner = match in_place.buffer.text.as_str() {
            "input" => BufferName::Input,
            _ => BufferName::Output,
        };
        let typed =
            self.at_level(Level::Clauses, |body| body.expr(&in_place.value, Some(&Ty::Chunk)));
        match self.types.known(&typed.ty) {
            Ty::Chunk | Ty::Buffer => {}
            Ty::Error => return None,
            Ty::Int
            | Ty::Rank
            | Ty::Bool
            | Ty::Str
            | Ty::Rate
            | Ty::Time
            | Ty::Channel
            | Ty::Semaphore
            | Ty::Block
            | Ty::List(_)
            | Ty::Var(_) => {
                let report = self.mismatch(&typed, &Ty::Chunk);
                self.report(report);
                return None;
            }
        }
        let nature = self.nature(&typed.expr);
        if nature.side != Some(OperandSide::Local) || nature.buffer == Some(inner) {
            self.report(wrong_in_place(&in_place.buffer, typed.expr.span));
            return None;
        }
        Some(InPlace { inner, value: typed.expr, span })
    }

    fn ensures(&mut self, ensures: &ast::Ensures, span: Span) -> Option<Ensures> {
        let around = std::mem::take(&mut self.needs);
        let resolved = self.scoped(|body| body.promise(ensures, span));
        let needs = std::mem::replace(&mut self.needs, around);
        self.needs = self.needs.and(needs);
        resolved.map(|(resolved, bare)| Ensures { mentions_rank: needs.rank || bare, ..resolved })
    }

    /// A promise, and whether it names this rank's own input.
    fn promise(&mut self, ensures: &ast::Ensures, span: Span) -> Option<(Ensures, bool)> {
        let binders = self.binders(&ensures.binders);
        if let Some(rank) = begun(&ensures.promise) {
            let claim = Claim::Begun(self.expect(rank, &Ty::Rank));
            return Some((Ensures { binders, claim, span, mentions_rank: false }, false));
        }
        if let Some(output) = same(&ensures.promise) {
            let output = self.expect(output, &Ty::Chunk);
            if self.is_elsewhere(&output) {
                self.report(same_of_something_else(output.span));
                return None;
            }
            let claim = Claim::Same(output);
            return Some((Ensures { binders, claim, span, mentions_rank: false }, false));
        }
        let ast::ExprKind::Binary(ast::BinaryOp::Equal, left, right) = &ensures.promise.kind else {
            if joins_promises(&ensures.promise) {
                self.report(several_promises(ensures.promise.span));
                return None;
            }
            let before = self.reports.len();
            self.expr(&ensures.promise, Some(&Ty::Bool));
            let known = self.reports.len() > before;
            if !known && !matches!(ensures.promise.kind, ast::ExprKind::Error) {
                self.report(no_promise(ensures.promise.span));
            }
            return None;
        };
        let output = self.expect(left, &Ty::Chunk);
        let (value, source) = self.promised(right);
        let before = self.reports.len();
        if self.is_elsewhere(&output) {
            self.report(promise_of_something_else(output.span));
        }
        let nature = self.nature(source.as_ref()?);
        if nature.side.is_some() && nature.buffer != Some(BufferName::Input) {
            self.report(promised_output(right.span));
        }
        (self.reports.len() == before).then(|| {
            let claim = Claim::Holds { output, value };
            (
                Ensures { binders, claim, span, mentions_rank: false },
                nature.side == Some(OperandSide::Local),
            )
        })
    }

    /// Whether a chunk is known to be anything but one of this rank's output.
    fn is_elsewhere(&self, chunk: &Expr) -> bool {
        let nature = self.nature(chunk);
        nature.side.is_some()
            && (nature.side != Some(OperandSide::Local)
                || nature.buffer != Some(BufferName::Output))
    }

    /// The right side of a promise, and the chunk in it.
    fn promised(&mut self, expr: &ast::Expr) -> (Promised, Option<Expr>) {
        let ast::ExprKind::Fold(name, binders, value) = &expr.kind else {
            let chunk = self.expect(expr, &Ty::Chunk);
            return (Promised::Chunk(chunk.clone()), Some(chunk));
        };
        if name.text == "sum" && matches!(value.kind, ast::ExprKind::Index(..)) {
            self.report(sum_of_chunks(name.span));
            return (Promised::Chunk(wrong(expr.span)), None);
        }
        if name.text != "reduce" {
            let typed = self.expr(expr, Some(&Ty::Chunk));
            let report = self.mismatch(&typed, &Ty::Chunk);
            if typed.ty != Ty::Error {
                self.report(report);
            }
            return (Promised::Chunk(typed.expr), None);
        }
        self.scoped(|body| {
            let binders = body.binders(binders);
            let chunk = body.expect(value, &Ty::Chunk);
            (Promised::Reduce(binders, chunk.clone()), Some(chunk))
        })
    }
}

/// `collective allgather(ranks, in_place = true);`
pub(super) fn implements(body: &mut Body, ast: &ast::Implements, span: Span) -> Option<Implements> {
    let found = find(body, &ast.name);
    let mut rest: Vec<ast::Argument> = Vec::new();
    let mut in_place: Option<(Expr, Span)> = None;
    let mut op: Option<(Op, Span)> = None;
    for argument in &ast.arguments {
        match argument.name.as_ref().map(|name| (name, name.text.as_str())) {
            Some((name, "in_place")) => {
                let value = body.expect(&argument.value, &Ty::Bool);
                if let Some((_, first)) = in_place.replace((value, name.span)) {
                    body.report(set_twice(name, first));
                }
            }
            Some((name, "op")) => {
                if let Some(value) = reduction(body, &argument.value)
                    && let Some((_, first)) = op.replace((value, name.span))
                {
                    body.report(set_twice(name, first));
                }
            }
            _ => rest.push(argument.clone()),
        }
    }
    let Some((id, definition)) = found else {
        for argument in &rest {
            body.expr(&argument.value, None);
        }
        return None;
    };
    let takes = body.signatures.collectives[id].parameters.clone();
    let (name, place) = (&*ast.name.text, ast.name.span);
    let callee = Callee { name, place, definition, also: &["in_place", "op"] };
    let arguments = body.arguments(callee, &takes, &rest);
    let clauses = &body.globals.collectives[id].ast.items;
    let has_clause =
        clauses.iter().any(|item| matches!(item.kind, ast::CollectiveItemKind::InPlace(_)));
    if let Some((_, place)) = in_place.as_ref().filter(|_| !has_clause) {
        let broken = body.globals.modules.modules[body.globals.collectives[id].module].is_broken();
        if !broken {
            body.report(no_in_place(&ast.name, *place, definition));
        }
        return None;
    }
    let in_place = in_place.map(|(value, _)| value);
    Some(Implements { collective: id, arguments, in_place, op, span })
}

/// The collective of that name.
fn find(body: &mut Body, name: &ast::Name) -> Option<(CollectiveId, Span)> {
    let names = body.globals.names.lookup(body.module)?;
    match names.collectives.get(&name.text).copied() {
        Some(named) => {
            body.use_global(&name.text, named, name.span);
            match named.entity {
                Entity::Collective(id) => Some((id, named.definition)),
                Entity::Function(_)
                | Entity::Procedure(_)
                | Entity::Constant(_)
                | Entity::Topology(_)
                | Entity::Program(_)
                | Entity::Lost => None,
            }
        }
        None => {
            if !body.is_lost(&name.text) {
                let known = names.collectives.keys().map(String::as_str);
                let near = body.globals.nearest(&name.text, known);
                let other = names.values.get(&name.text).copied();
                if let Some((near, named)) =
                    near.iter().find_map(|n| names.collectives.get_key_value(n))
                {
                    body.mentioned.insert((near.clone(), named.entity));
                }
                if let Some(named) = other {
                    body.mentioned.insert((name.text.clone(), named.entity));
                }
                let report = unknown_collective(name, other.map(|n| n.span));
                let report = match other {
                    Some(_) => Some(report),
                    None => Some(body.suggest_called(report, (name, Wanted::Collective), near)),
                };
                body.reports.extend(report);
            }
            None
        }
    }
}

fn reduction(body: &mut Body, value: &ast::Expr) -> Option<Op> {
    if let ast::ExprKind::Str(text) = &value.kind {
        let near = OPS.iter().find(|op| op.eq_ignore_ascii_case(text));
        let setting = ast::Name { text: "op".to_owned(), span: value.span };
        body.report(word_in_quotes(&setting, &OPS, near.copied(), value.span));
        return None;
    }
    let ast::ExprKind::Name(text) = &value.kind else {
        let typed = body.expr(value, None);
        body.reports.extend((typed.ty != Ty::Error).then(|| no_reduction(value.span)));
        return None;
    };
    let op = op_word(text);
    if op.is_none() {
        let name = ast::Name { text: text.clone(), span: value.span };
        body.report(unknown_word("op", &name, &OPS));
    }
    op
}

fn no_reduction(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0211, span, format!("`op` must be one of {}", OPS.join(", ")))
}

fn implied_parameter(name: &ast::Name) -> Diagnostic {
    let message = format!("every collective already takes `{}`", name.text);
    Diagnostic::new(Code::E0203, name.span, message).label("so it cannot be a parameter too")
}

fn missing_size(name: &ast::Name, buffer: &str) -> Diagnostic {
    let message = format!("the collective `{}` does not say how large `{buffer}` is", name.text);
    Diagnostic::new(Code::E0212, name.span, message)
        .help(format!("add its number of chunks: `{buffer}[ranks];`"))
}

fn wrong_in_place(inner: &ast::Name, span: Span) -> Diagnostic {
    let other = if inner.text == "input" { "output" } else { "input" };
    let message = format!("`{}` can only be part of `{other}` of the same rank", inner.text);
    Diagnostic::new(Code::E0214, span, message)
        .help(format!("write the slice that it is: `{} = {other}[rank];`", inner.text))
}

/// The rank in `begun(rank)`. The word means this only where something is promised; elsewhere it is a name like others.
fn begun(promise: &ast::Expr) -> Option<&ast::Expr> {
    let ast::ExprKind::Call(name, arguments) = &promise.kind else { return None };
    match arguments.as_slice() {
        [one] if name.text == "begun" && one.name.is_none() => Some(&one.value),
        _ => None,
    }
}

/// The chunk in `same(chunk)`, which means this only where something is promised, too.
fn same(promise: &ast::Expr) -> Option<&ast::Expr> {
    let ast::ExprKind::Call(name, arguments) = &promise.kind else { return None };
    match arguments.as_slice() {
        [one] if name.text == "same" && one.name.is_none() => Some(&one.value),
        _ => None,
    }
}

fn same_of_something_else(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0214, span, "`same` is about a chunk of this rank's `output`")
        .help("name the output chunk, without a rank in front: `same(output[0])`")
}

/// Whether `&&` joins what looks like promises.
fn joins_promises(promise: &ast::Expr) -> bool {
    let ast::ExprKind::Binary(op, left, right) = &promise.kind else {
        return begun(promise).is_some() || same(promise).is_some();
    };
    let joins = *op == ast::BinaryOp::And && joins_promises(left) && joins_promises(right);
    joins || (*op == ast::BinaryOp::Equal && matches!(left.kind, ast::ExprKind::Index(..)))
}

fn several_promises(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0214, span, "an `ensures` holds one promise")
        .help("write an `ensures` for each: `ensures { .. } ensures { .. }`")
}

fn sum_of_chunks(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0214, span, "chunks are combined by `reduce`; `sum` adds numbers")
        .note("the program's `op` says how, and is `sum` by default")
        .fix("write `reduce`", vec![Edit { span, text: "reduce".to_owned() }])
}

fn no_promise(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0214, span, "a promise says what an output chunk equals, or who has begun").help(
        "write `output[c] == r.input[c]`, `output[c] == reduce(r in 0..ranks: r.input[c])` or `begun(r)`",
    )
}

fn promise_of_something_else(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0214, span, "a promise is about this rank's `output`")
        .help("put the output chunk to the left of `==`, without a rank in front")
}

fn promised_output(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0214,
        span,
        "an output can only be promised to hold what ranks had as `input`",
    )
    .help("put an input chunk to the right of `==`, such as `r.input[c]`")
}

fn no_in_place(name: &ast::Name, place: Span, definition: Span) -> Diagnostic {
    let message = format!("`{}` has no `in_place` clause", name.text);
    Diagnostic::new(Code::E0205, place, message)
        .and(definition, "its buffers cannot share memory")
        .help("remove `in_place`")
}

fn unknown_collective(name: &ast::Name, other: Option<Span>) -> Diagnostic {
    if let Some(other) = other {
        let message = format!("`{}` is not a collective", name.text);
        return Diagnostic::new(Code::E0204, name.span, message).and(other, "declared here");
    }
    let message = format!("no collective is called `{}`", name.text);
    Diagnostic::new(Code::E0201, name.span, message)
}
