//! Inlay hints: types and values of names, names of arguments, ids of thread blocks, and the statements at which the
//! passes make the threads of a block meet. The settings say which kinds are shown.
//!
//! A value is shown once if all ranks agree, else once for each rank, in order. While a declaration has errors, its hints
//! stay where they were.

use crate::analysis::{Analysis, Part, Semantics};
use crate::concrete::{self, Concrete};
use crate::declared::{self, Declared};
use crate::nodes::Node;
use crate::operations;
use crate::retained::{Retainable, Retained};
use crate::settings::HintSettings;
use crate::text::TextChange;
use crate::typed;
use crate::values;
use compiler::ir::{Action, Op, Program};
use compiler::resolve::program::{Parameter, Type};
use compiler::source::{Place, Span};
use compiler::syntax::ast::{
    Argument, Binder, Block, Expr, ExprKind, Let, Name, ProgramItemKind, Stmt, StmtKind,
};
use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip, Url};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The most bytes of a value in a hint: of longer ones, the beginning is shown, and the rest when the mouse is over it.
const LONGEST: usize = 40;

/// The hints in a range of a file, in the order of the text. `retained` has those that were shown before.
#[must_use]
pub fn hints(
    analysis: &Analysis<'_>,
    url: &Url,
    range: Range<u32>,
    retained: &Retained<Hint>,
) -> Vec<InlayHint> {
    let mut hints = Vec::new();
    let settings = analysis.settings().hints;
    let text = analysis.document.text(analysis.database).unwrap_or_default();
    for part in analysis.parts() {
        if part.end < range.start || range.end < part.start {
            continue;
        }
        let semantics = analysis.semantics(part);
        let concrete = concrete::concrete(analysis.database, part.declaration);
        let mut context = Context { analysis, part, semantics, concrete, found: Vec::new() };
        for item in &analysis.parsed(part).file.items {
            Node::Item(item).walk(&mut |node| context.node(node));
        }
        context.meetings();
        let mut found = context.found;
        let title = part.declaration.title(analysis.database);
        if analysis.is_sound(part) {
            retained.keep(url, &text, &title, found.clone());
        } else {
            let known: BTreeSet<(u32, HintKind)> = found.iter().map(Hint::place).collect();
            let before = retained.recall(url, &text, &title).into_iter();
            found.extend(before.filter(|hint| !known.contains(&hint.place())));
        }
        found.retain(|hint| {
            range.start <= hint.at && hint.at <= range.end && settings.shows(hint.kind)
        });
        found.sort_by_key(|hint| hint.at);
        hints.extend(found.into_iter().map(|hint| hint.made(analysis)));
    }
    hints
}

/// What a hint says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintKind {
    /// The value of an expression.
    Value,
    /// The type of a name.
    Type,
    /// The parameter to which an argument belongs.
    Parameter,
    /// The ids of thread blocks.
    Block,
    /// That the threads of a block synchronize before or after a statement.
    Synchronization,
}

impl HintSettings {
    fn shows(&self, kind: HintKind) -> bool {
        match kind {
            HintKind::Value => self.values,
            HintKind::Type => self.types,
            HintKind::Parameter => self.parameters,
            HintKind::Block => self.blocks,
            HintKind::Synchronization => self.synchronization,
        }
    }
}

/// A hint with its offset in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    at: u32,
    label: String,
    kind: HintKind,
    tooltip: Option<String>,
}

impl Hint {
    /// Where it is and what it says: no two hints have both in common.
    fn place(&self) -> (u32, HintKind) {
        (self.at, self.kind)
    }

    fn made(self, analysis: &Analysis<'_>) -> InlayHint {
        // The name of a parameter stands before its argument, with a blank between them; a type follows its name at once.
        let before = self.kind == HintKind::Parameter;
        InlayHint {
            position: analysis.lines.position(self.at),
            label: InlayHintLabel::String(self.label),
            kind: match self.kind {
                HintKind::Type => Some(InlayHintKind::TYPE),
                HintKind::Parameter => Some(InlayHintKind::PARAMETER),
                HintKind::Value | HintKind::Block | HintKind::Synchronization => None,
            },
            text_edits: None,
            tooltip: self.tooltip.map(InlayHintTooltip::String),
            padding_left: Some(!before && self.kind != HintKind::Type),
            padding_right: Some(before),
            data: None,
        }
    }
}

impl Retainable for Hint {
    fn carry(&mut self, change: &TextChange) -> bool {
        change.carry_offset(&mut self.at)
    }
}

struct Context<'a, 'db> {
    analysis: &'a Analysis<'db>,
    part: Part<'db>,
    semantics: Semantics<'db>,
    concrete: Arc<Concrete>,
    found: Vec<Hint>,
}

impl Context<'_, '_> {
    fn node(&mut self, node: Node<'_>) {
        match node {
            Node::Stmt(Stmt { kind, .. }) => self.statement(kind),
            Node::ProgramItem(item) => match &item.kind {
                ProgramItemKind::Statement(kind) => self.statement(kind),
                ProgramItemKind::Implements(item) => self.arguments(&item.name, &item.arguments),
                ProgramItemKind::Machine(item) => self.arguments(&item.name, &item.arguments),
                ProgramItemKind::Options(_)
                | ProgramItemKind::Scratch(_)
                | ProgramItemKind::Channel(_)
                | ProgramItemKind::Semaphore(_) => {}
            },
            Node::Binder(binder) => self.binder(binder),
            Node::Expr(Expr { kind: ExprKind::Call(name, arguments), .. }) => {
                self.arguments(name, arguments);
            }
            Node::Item(_)
            | Node::Clause(_)
            | Node::TopologyItem(_)
            | Node::Body(_)
            | Node::Parameter(_)
            | Node::Type(_)
            | Node::Option(_)
            | Node::Operand(_)
            | Node::Argument(_)
            | Node::Expr(_)
            | Node::Index(_)
            | Node::Name(_) => {}
        }
    }

    fn statement(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Let(item) => self.binding(item),
            StmtKind::Block(block) => self.block(block),
            StmtKind::Call(name, arguments) => self.arguments(name, arguments),
            StmtKind::Require(_)
            | StmtKind::For(..)
            | StmtKind::If(_)
            | StmtKind::Group(..)
            | StmtKind::Pipeline(..)
            | StmtKind::Barrier(_)
            | StmtKind::Sync
            | StmtKind::Transfer(_)
            | StmtKind::Synchronise(_) => {}
        }
    }

    /// `let next: rank = 1 | 2 | 0`
    fn binding(&mut self, item: &Let) {
        let place = self.semantics.place(item.value.span);
        let ty = typed::type_of(&self.semantics.resolved.unit, place);
        if let (Some(ty), None) = (ty, &item.ty) {
            self.add(item.name.span.end, format!(": {ty}"), HintKind::Type);
        }
        self.value(&item.value);
    }

    /// Shows the values of the list that a binder iterates over.
    fn binder(&mut self, binder: &Binder) {
        self.value(&binder.list);
    }

    fn value(&mut self, expr: &Expr) {
        if let ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Str(_) = expr.kind {
            return;
        }
        let place = self.semantics.place(expr.span);
        let program = self.concrete.program.as_deref();
        let Some(found) = values::values(&self.concrete.observed, place, program) else { return };
        let line = found.line();
        if line == declared::written(self.analysis, &self.semantics, place) {
            return;
        }
        let short = values::shorten(&line, LONGEST);
        let whole = (short != line).then(|| found.lines().join("\n"));
        self.add(expr.span.end, format!("= {short}"), HintKind::Value);
        if let Some(hint) = self.found.last_mut() {
            hint.tooltip = whole;
        }
    }

    /// Shows names of parameters before arguments that do not already tell them.
    fn arguments(&mut self, name: &Name, arguments: &[Argument]) {
        let place = self.semantics.place(name.span);
        let definition = declared::definition(&self.semantics, place);
        let unit = self.semantics.resolved.clone();
        let declared = definition.and_then(|at| declared::declared(&unit.unit, at));
        let parameters: &[Parameter] = match declared {
            Some(
                Declared::Function(_, parameters, _)
                | Declared::Procedure(_, parameters)
                | Declared::Collective(_, parameters)
                | Declared::Topology(_, parameters),
            ) => parameters,
            Some(
                Declared::Parameter(..)
                | Declared::Local(..)
                | Declared::Constant(..)
                | Declared::Program(_)
                | Declared::Switch(_)
                | Declared::Scratch(..)
                | Declared::Channel(..)
                | Declared::Semaphore(..)
                | Declared::Block(_),
            )
            | None => return,
        };
        for (argument, parameter) in arguments.iter().zip(parameters) {
            let says_it =
                matches!(&argument.value.kind, ExprKind::Name(name) if *name == parameter.name);
            // A single list of channels needs no name: there is nothing to confuse it with.
            let alone = parameters.len() == 1 && matches!(parameter.ty, Type::List(_));
            if argument.name.is_none() && !says_it && !alone {
                let at = self.part.start + argument.value.span.start;
                let label = format!("{}:", parameter.name);
                self.found.push(Hint { at, label, kind: HintKind::Parameter, tooltip: None });
            }
        }
    }

    /// Shows the ids of a family of blocks, on the first rank that has them.
    fn block(&mut self, block: &Block) {
        let Some(program) = &self.concrete.program else { return };
        let has = program.ranks.entries().find_map(|(rank, row)| {
            let ids: Vec<u32> =
                operations::blocks_of(row, &block.name.text).map(|(id, _)| id.0).collect();
            (!ids.is_empty()).then_some((rank, ids))
        });
        let Some((rank, ids)) = has else { return };
        let range = match ids.as_slice() {
            [one] => format!("thread block {one}"),
            [first, .., last] if (last - first) as usize + 1 == ids.len() => {
                format!("thread blocks {first}..={last}")
            }
            _ => return,
        };
        let place = if rank.0 == 0 { String::new() } else { format!(" on rank {}", rank.0) };
        let Some(body) = &block.body else {
            self.add(block.name.span.end, format!("{range}{place}"), HintKind::Block);
            return;
        };
        self.add(body.span.start + 1, format!("{range}{place}"), HintKind::Block);
    }

    /// Shows behind statements that the passes make the threads of a block meet before or after them.
    fn meetings(&mut self) {
        let lowered = concrete::lowered(self.analysis.database, self.part.declaration);
        let Some(program) = lowered else { return };
        let explicit = explicit(&self.concrete);
        let mut places = BTreeSet::new();
        for rank in program.ranks.iter() {
            for block in rank.blocks.iter() {
                self.in_list(&program, &block.ops, &mut places);
            }
        }
        let mut sides: BTreeMap<Span, Vec<&str>> = BTreeMap::new();
        for (span, before) in places.into_iter().filter(|(span, _)| !explicit.contains(span)) {
            sides.entry(span).or_default().push(if before { "before" } else { "after" });
        }
        for (span, sides) in sides {
            let side = sides.join(" and ");
            self.found.push(Hint {
                at: self.semantics.spot(span).end,
                label: format!("(threads synchronize {side})"),
                kind: HintKind::Synchronization,
                tooltip: Some(format!(
                    "the compiler makes the threads of the block synchronize {side} this statement"
                )),
            });
        }
    }

    fn in_list(&self, program: &Program, ops: &[Op], places: &mut BTreeSet<(Span, bool)>) {
        for (i, op) in ops.iter().enumerate() {
            match &op.action {
                Action::Pipeline(pipeline) => self.in_list(program, &pipeline.body, places),
                Action::Sync => {
                    let Some(span) = self.own(program, op) else { continue };
                    let next = ops.get(i + 1).and_then(|next| self.own(program, next));
                    places.insert((span, next == Some(span)));
                }
                Action::Barrier { .. }
                | Action::Signal(_)
                | Action::Wait(_)
                | Action::Flush(_)
                | Action::Acquire(_)
                | Action::Release(_)
                | Action::Transfer(_) => {}
            }
        }
    }

    /// The statement of this declaration that an operation comes from.
    fn own(&self, program: &Program, op: &Op) -> Option<Span> {
        program.origins.places(op.origin).into_iter().find_map(|place| match place {
            Place::Source(span) if self.semantics.is_own(span) => Some(span),
            Place::Source(_) | Place::Plan(_) => None,
        })
    }

    fn add(&mut self, at: u32, label: String, kind: HintKind) {
        let at = self.part.start + at;
        self.found.push(Hint { at, label, kind, tooltip: None });
    }
}

/// The statements that are barriers or `sync` in the source.
fn explicit(concrete: &Concrete) -> BTreeSet<Span> {
    let mut places = BTreeSet::new();
    if let Some(program) = &concrete.program {
        operations::each(program, &mut |done| {
            if let (Action::Sync | Action::Barrier { .. }, Place::Source(span)) =
                (&done.op.action, program.origins.place(done.op.origin))
            {
                places.insert(span);
            }
        });
    }
    places
}
