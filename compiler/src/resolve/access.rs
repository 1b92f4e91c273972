//! Indices and fields. In: `mem[p, *]`, `stage[n, ..]`, `p.output[c]`, `table[i]`. Out: channels, semaphores, blocks,
//! chunks and members of lists.
//!
//! Rules: a family and a region take as many indices as they were declared with (E0205); an index is a number or a
//! list of numbers (E0204); `..` is the whole extent of a buffer, `*` is each member; fields exist (E0208); only
//! whole buffers can be named on other ranks and behind switch channels.

mod report;

use super::body::{Body, Typed, builtin, builtin_type, speaks_of_nodes};
use super::family::Family;
use super::program::{BufferName, Expr, ExprKind, Index, Method};
use super::types::Ty;
use crate::diagnostic::{Diagnostic, Label};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::RangeKind;
use grammar::verb::ChannelKind;
pub(super) use report::wrong_arity;
use report::{all_members, extent_of_family, extent_of_list, one_dimension};

impl Body<'_> {
    /// `base[indices]`
    pub(super) fn index(
        &mut self,
        base: &ast::Expr,
        indices: &[ast::Index],
        want: Option<&Ty>,
        span: Span,
    ) -> Typed {
        if let Some((base, joined)) = self.joined(base, indices) {
            return self.index(base, &joined, want, span);
        }
        if let Some(family) = self.family_base(base) {
            self.use_family(family, base.span);
            return self.family_members(family, indices, span);
        }
        let hint = want.filter(|want| names_buffer(&self.types.known(want))).map(|_| Ty::Buffer);
        let hint =
            if matches!(base.kind, ast::ExprKind::Name(_)) { hint.as_ref().or(want) } else { None };
        let base = self.expr(base, hint);
        match self.types.known(&base.ty) {
            Ty::Buffer => self.slice(base, indices, span),
            Ty::List(member) => self.element(base, *member, indices, span),
            Ty::Var(_) => {
                let kind = self.guess(want);
                self.types.unify(&base.ty, &kind);
                if let Ty::List(member) = kind {
                    return self.element(base, *member, indices, span);
                }
                self.slice(base, indices, span)
            }
            Ty::Error => {
                self.unused_indices(indices);
                self.error(span)
            }
            Ty::Int
            | Ty::Rank
            | Ty::Bool
            | Ty::Str
            | Ty::Rate
            | Ty::Time
            | Ty::Chunk
            | Ty::Channel
            | Ty::Semaphore
            | Ty::Block => {
                self.unused_indices(indices);
                let report = self.not_indexable(&base);
                self.report(report);
                self.error(span)
            }
        }
    }

    /// `base.field`
    pub(super) fn field(&mut self, base: &ast::Expr, field: &ast::Name, span: Span) -> Typed {
        let base = self.expr(base, None);
        match self.types.known(&base.ty) {
            Ty::Error => {
                self.field_buffer(field);
                self.error(span)
            }
            Ty::Int | Ty::Rank => self.of_rank(base, field, span),
            Ty::Var(_) => {
                self.types.unify(&base.ty, &Ty::Int);
                self.of_rank(base, field, span)
            }
            Ty::Channel => self.behind_switch(base, field, span),
            Ty::Bool
            | Ty::Str
            | Ty::Rate
            | Ty::Time
            | Ty::Chunk
            | Ty::Buffer
            | Ty::Semaphore
            | Ty::Block
            | Ty::List(_) => {
                let report = self.no_field(&base, field);
                self.report(report);
                self.error(span)
            }
        }
    }

    /// Indices in two pairs of brackets, if the family or region takes that many in one pair: reported, and joined.
    fn joined<'e>(
        &mut self,
        base: &'e ast::Expr,
        indices: &[ast::Index],
    ) -> Option<(&'e ast::Expr, Vec<ast::Index>)> {
        let ast::ExprKind::Index(inner, first) = &base.kind else { return None };
        let (ast::ExprKind::Name(name) | ast::ExprKind::Field(_, ast::Name { text: name, .. })) =
            &inner.kind
        else {
            return None;
        };
        let families = self.families.as_ref()?;
        let declared = families.get(self.family(name)?);
        let both = first.iter().chain(indices).cloned().collect::<Vec<_>>();
        if declared.arity != both.len() || self.local(name).is_some() {
            return None;
        }
        let report = self.indices_apart(&declared.name, base.span);
        self.report(report);
        Some((inner, both))
    }

    /// The family of channels, semaphores or blocks that is indexed.
    fn family_base(&self, base: &ast::Expr) -> Option<Family> {
        let ast::ExprKind::Name(name) = &base.kind else { return None };
        if self.local(name).is_some() {
            return None;
        }
        self.family(name).filter(|family| !matches!(family, Family::Scratch(_)))
    }

    fn family_members(&mut self, family: Family, indices: &[ast::Index], span: Span) -> Typed {
        let mut several = false;
        let resolved: Vec<Index> = indices
            .iter()
            .map(|index| {
                let (index, list) = self.family_index(index);
                several |= list;
                index
            })
            .collect();
        self.check_arity(family, indices, span);
        let (kind, ty) = match family {
            Family::Channel(id) => (ExprKind::Channels(id, resolved), Ty::Channel),
            Family::Semaphore(id) => (ExprKind::Semaphores(id, resolved), Ty::Semaphore),
            Family::Block(id) => (ExprKind::Blocks(id, resolved), Ty::Block),
            Family::Scratch(id) => (ExprKind::Buffer(BufferName::Scratch(id)), Ty::Buffer),
        };
        self.typed(kind, span, if several { ty.list() } else { ty })
    }

    /// An index of a family, and whether it selects several members.
    fn family_index(&mut self, index: &ast::Index) -> (Index, bool) {
        match index {
            ast::Index::All(span) => (Index::All(*span), true),
            ast::Index::At(expr) => self.number_or_list(expr),
            ast::Index::Whole(span) => {
                self.report(extent_of_family(*span));
                (Index::All(*span), true)
            }
            ast::Index::To(expr, inclusive, _) => {
                (Index::To(self.expect(expr, &Ty::Int), *inclusive), true)
            }
            ast::Index::From(expr, _) => (Index::From(self.expect(expr, &Ty::Int)), true),
        }
    }

    /// A number or a list of numbers, and whether it is a list.
    fn number_or_list(&mut self, expr: &ast::Expr) -> (Index, bool) {
        let typed = self.expr(expr, None);
        let several = matches!(self.types.known(&typed.ty), Ty::List(_));
        let numbers = Ty::Int.list();
        let want = if several { &numbers } else { &Ty::Int };
        if !self.types.unify(&typed.ty, want) {
            let report = self.mismatch(&typed, want);
            self.report(report);
        }
        (Index::At(typed.expr), several)
    }

    fn check_arity(&mut self, family: Family, indices: &[ast::Index], span: Span) {
        let Some(families) = &self.families else { return };
        let declaration = families.get(family);
        // A region without extents is incomplete, which was reported at its declaration; so is a channel whose peer
        // was reported.
        let half = matches!(family, Family::Scratch(_)) || declaration.wrong;
        if declaration.arity != indices.len() && !(half && declaration.arity == 0) {
            let report = wrong_arity(
                &declaration.name,
                declaration.arity,
                indices.len(),
                span,
                declaration.span,
            );
            let all = all_members(&declaration.name, declaration.arity, indices);
            self.report_arity(match all {
                Some((title, edit)) => report.fix(title, vec![edit]),
                None => report,
            });
        }
    }

    /// Adds a report about a wrong number of indices. All uses with the same number are one mistake, since the
    /// declaration may be what is wrong.
    fn report_arity(&mut self, report: Diagnostic) {
        let is_same = |known: &&mut Diagnostic| {
            known.message == report.message && known.secondary.first() == report.secondary.first()
        };
        match self.reports.iter_mut().find(is_same) {
            Some(known) => {
                let again = report.primary.map(|at| Label { text: "and here".to_owned(), ..at });
                known.secondary.extend(again);
                known.fix = match (known.fix.take(), report.fix) {
                    (Some(mut fix), Some(more)) => {
                        fix.edits.extend(more.edits);
                        Some(fix)
                    }
                    // An edit of some of the uses would not be a fix.
                    (fix, _) => {
                        known.helps.extend(fix.map(|fix| fix.title));
                        None
                    }
                };
            }
            None => self.report(report),
        }
    }

    fn slice(&mut self, base: Typed, indices: &[ast::Index], span: Span) -> Typed {
        let mut several = false;
        let resolved: Vec<Index> = indices
            .iter()
            .map(|index| {
                several |= matches!(index, ast::Index::All(_));
                self.chunk_index(index)
            })
            .collect();
        self.check_extents(&base.expr, indices, span);
        let ty = if several { Ty::Chunk.list() } else { Ty::Chunk };
        self.typed(ExprKind::Slice(Box::new(base.expr), resolved), span, ty)
    }

    fn chunk_index(&mut self, index: &ast::Index) -> Index {
        match index {
            ast::Index::All(span) => Index::All(*span),
            ast::Index::Whole(span) => Index::Whole(*span),
            ast::Index::At(expr) => self.number_or_list(expr).0,
            ast::Index::To(expr, inclusive, _) => {
                Index::To(self.expect(expr, &Ty::Int), *inclusive)
            }
            ast::Index::From(expr, _) => Index::From(self.expect(expr, &Ty::Int)),
        }
    }

    fn check_extents(&mut self, buffer: &Expr, indices: &[ast::Index], span: Span) {
        match self.nature(buffer).buffer {
            Some(BufferName::Scratch(region)) => {
                self.check_arity(Family::Scratch(region), indices, span);
            }
            Some(name @ (BufferName::Input | BufferName::Output)) if indices.len() != 1 => {
                let name = if name == BufferName::Input { "input" } else { "output" };
                self.report(one_dimension(name, indices.len(), span));
            }
            Some(BufferName::Input | BufferName::Output) | None => {}
        }
    }

    fn element(&mut self, list: Typed, member: Ty, indices: &[ast::Index], span: Span) -> Typed {
        let [index] = indices else {
            self.unused_indices(indices);
            let report = self.list_indices(&list, indices, span);
            self.report(report);
            return self.error(span);
        };
        let at = match index {
            ast::Index::All(_) => return Typed { expr: Expr { span, ..list.expr }, ty: list.ty },
            ast::Index::Whole(place) => {
                self.report(extent_of_list(*place));
                return self.error(span);
            }
            ast::Index::At(expr) => {
                let (Index::At(at), several) = self.number_or_list(expr) else {
                    return self.error(span);
                };
                let ty = if several { member.list() } else { member };
                let kind = ExprKind::Element(Box::new(list.expr), Box::new(at));
                return self.typed(kind, span, ty);
            }
            ast::Index::To(expr, inclusive, place) => {
                let kind = if *inclusive { RangeKind::Inclusive } else { RangeKind::HalfOpen };
                let from = self.typed(ExprKind::Int(0), *place, Ty::Int).expr;
                let to = self.expect(expr, &Ty::Int);
                self.range(kind, from, to, *place)
            }
            ast::Index::From(expr, place) => {
                let from = self.expect(expr, &Ty::Int);
                let len = ExprKind::Method(Method::Len, Box::new(list.expr.clone()), Vec::new());
                let to = self.typed(len, *place, Ty::Int).expr;
                self.range(RangeKind::HalfOpen, from, to, *place)
            }
        };
        self.typed(ExprKind::Element(Box::new(list.expr), Box::new(at)), span, member.list())
    }

    fn range(&self, kind: RangeKind, from: Expr, to: Expr, span: Span) -> Expr {
        self.typed(ExprKind::Range(kind, Box::new(from), Box::new(to)), span, Ty::Int.list()).expr
    }

    /// The type of an indexed value of unknown type, guessed from the type that its use wants.
    fn guess(&mut self, want: Option<&Ty>) -> Ty {
        match want.map(|want| self.types.known(want)) {
            Some(Ty::Chunk) => Ty::Buffer,
            Some(Ty::List(member)) => self.types.known(&member).list(),
            Some(Ty::Var(_) | Ty::Error) | None => self.types.fresh().list(),
            Some(member) => member.list(),
        }
    }

    fn of_rank(&mut self, base: Typed, field: &ast::Name, span: Span) -> Typed {
        if let Some(builtin) = builtin(&field.text) {
            if !self.nodes && speaks_of_nodes(builtin) {
                self.without_nodes(&field.text, field.span);
                return self.error(span);
            }
            let needs = super::signature::Needs { rank: false, ranks: true };
            self.require(&field.text, needs, field.span);
            let kind = ExprKind::Builtin(builtin, Some(Box::new(base.expr)));
            return self.typed(kind, span, builtin_type(builtin));
        }
        match self.field_buffer(field) {
            Some(buffer) => {
                let kind = ExprKind::RemoteBuffer(Box::new(base.expr), Box::new(buffer));
                self.typed(kind, span, Ty::Buffer)
            }
            None => {
                if let Some(report) = self.unknown_field(&base, field) {
                    self.report(report);
                }
                self.error(span)
            }
        }
    }

    fn behind_switch(&mut self, base: Typed, field: &ast::Name, span: Span) -> Typed {
        let Some(buffer) = self.field_buffer(field) else {
            if let Some(report) = self.unknown_field(&base, field) {
                self.report(report);
            }
            return self.error(span);
        };
        let link = self.nature(&base.expr).link;
        if let Some(kind @ (ChannelKind::Memory | ChannelKind::Port)) = link {
            let report = self.no_switch(&base, kind, field);
            self.report(report);
            return self.error(span);
        }
        if let Some(report) = self.other_buffer(&base.expr, &buffer, field) {
            self.report(report);
            return self.error(span);
        }
        self.typed(ExprKind::SwitchBuffer(Box::new(base.expr), Box::new(buffer)), span, Ty::Buffer)
    }

    /// The buffer that a field names: `input`, `output`, a region, or a local of type `buffer`.
    fn field_buffer(&mut self, field: &ast::Name) -> Option<Expr> {
        if let Some(local) = self.local(&field.text) {
            if !matches!(self.types.known(&self.locals[local].ty), Ty::Buffer | Ty::Var(_)) {
                return None;
            }
            let typed = self.name(&field.text, field.span, None);
            self.types.unify(&typed.ty, &Ty::Buffer);
            return Some(self.typed(typed.expr.kind, field.span, Ty::Buffer).expr);
        }
        let known = match self.family(&field.text) {
            Some(family) => matches!(family, Family::Scratch(_)),
            None => self.buffer(&field.text).is_some(),
        };
        known.then(|| self.name(&field.text, field.span, None).expr)
    }

    fn unused_indices(&mut self, indices: &[ast::Index]) {
        for index in indices {
            match index {
                ast::Index::All(_) | ast::Index::Whole(_) => {}
                ast::Index::At(expr) | ast::Index::To(expr, _, _) | ast::Index::From(expr, _) => {
                    self.expr(expr, None);
                }
            }
        }
    }
}

/// Whether a buffer's name can be meant where this type is wanted.
fn names_buffer(ty: &Ty) -> bool {
    match ty {
        Ty::Chunk => true,
        Ty::List(member) => **member == Ty::Chunk,
        Ty::Int
        | Ty::Rank
        | Ty::Bool
        | Ty::Str
        | Ty::Rate
        | Ty::Time
        | Ty::Buffer
        | Ty::Channel
        | Ty::Semaphore
        | Ty::Block
        | Ty::Error
        | Ty::Var(_) => false,
    }
}
