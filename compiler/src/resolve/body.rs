//! The state in which one body is resolved: its names, its types, and what has been found so far.
//!
//! In: the names around the body. Out: a frame, reports, and facts about its use of names. Rules: no name hides
//! another (E0202), none is bound twice in one scope (E0203). `_` binds nothing.

use super::attribute;
use super::family::Families;
use super::global::{Entity, Globals, Named, declared_twice};
use super::load::{Module, ModuleId};
use super::name::Unknown;
use super::program::{
    Accepted, Allowed, Binder, BufferName, Builtin, Expr, ExprKind, Frame, Local, LocalId,
    Parameter, Type,
};
use super::signature::{Effects, Needs, Signatures, Takes};
use super::types::{Ty, Types};
use super::usage::Uses;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{LINE_ENDS, Span, line_ends};
use crate::syntax::ast;
use crate::table::Table;
use grammar::verb::{ChannelKind, OperandSide};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Which names there are, in addition to those that are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The value of a `let` at the top of a file: evaluated once for all programs.
    Constant,
    /// The default of a program's parameter: evaluated before anything else.
    ProgramDefault,
    /// The default of another parameter.
    Default,
    /// The options of a program: evaluated once for all ranks.
    Options,
    /// The machine of a program: likewise.
    Machine,
    /// A function or procedure.
    Function,
    /// A collective's sizes.
    Collective,
    /// A topology.
    Topology,
    /// The clauses of a collective that refer to its buffers.
    Clauses,
    /// A program.
    Program,
    /// A value on the command line.
    Argument,
}

/// Where a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// In no block.
    Nothing,
    /// In a procedure: its caller decides.
    Procedure,
    /// In a block.
    Block,
    /// In a group.
    Group,
}

/// How a local came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// A parameter.
    Parameter,
    /// A `let`.
    Let,
    /// A binder.
    Binder,
}

/// The properties of a value that are known without evaluating it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Nature {
    /// For a chunk or buffer: whose memory it is in.
    pub(super) side: Option<OperandSide>,
    /// For a chunk or buffer: which buffer.
    pub(super) buffer: Option<BufferName>,
    /// For a channel: its kind.
    pub(super) link: Option<ChannelKind>,
}

/// A local, while its body is resolved.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Its name.
    pub(super) name: String,
    /// Where it is bound.
    pub(super) span: Span,
    /// Its type.
    pub(super) ty: Ty,
    /// How it came to be.
    pub(super) bound: Bound,
    /// Whether anything names it.
    pub(super) used: bool,
    /// Whether it needs no use.
    pub(super) quiet: bool,
    /// The statement that binds it, if it can be removed.
    pub(super) stands: Option<Span>,
    /// What its value depends on.
    pub(super) needs: Needs,
    /// The properties of its value that are known.
    pub(super) nature: Nature,
}

/// An expression, with its type as far as that is known.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    /// The expression.
    pub(super) expr: Expr,
    /// Its type.
    pub(super) ty: Ty,
}

/// The state of one body.
#[derive(Debug)]
pub(super) struct Body<'a> {
    /// What files declare.
    pub(super) globals: &'a Globals<'a>,
    /// What is known about these declarations.
    pub(super) signatures: &'a Signatures,
    /// The file of this body.
    pub(super) module: ModuleId,
    /// Which names there are at the current place.
    pub(super) level: Level,
    /// Where the current statement is.
    pub(super) inside: Inside,
    /// The words that are accepted for the current statement.
    pub(super) allowed: Allowed,
    /// What is known about types.
    pub(super) types: Types,
    /// Everything that was bound.
    pub(super) locals: Table<LocalId, Known>,
    /// The declarations of a program; none in other bodies.
    pub(super) families: Option<Families>,
    /// Whether names about nodes have a meaning: everywhere but in a program without `ranks_per_node`.
    pub(super) nodes: bool,
    /// Whether the use of such a name without `ranks_per_node` has been reported.
    pub(super) lacks_nodes: bool,
    /// The names that nothing declares and that have been reported.
    pub(super) unknown: BTreeMap<String, Unknown>,
    /// What the expressions so far depend on.
    pub(super) needs: Needs,
    /// What the statements so far require of a caller.
    pub(super) effects: Effects,
    /// The names of the file that were used.
    pub(super) mentioned: BTreeSet<(String, Entity)>,
    /// The definition that each use of a name refers to.
    pub(super) uses: Uses,
    /// What is wrong.
    pub(super) reports: Vec<Diagnostic>,
    /// The warnings that attributes accept by their codes.
    pub(super) accepted: Vec<Accepted>,
    visible: FxHashMap<String, Vec<(LocalId, usize)>>,
    scopes: Vec<Vec<String>>,
}

impl<'a> Body<'a> {
    /// A body without any local.
    pub(super) fn new(
        globals: &'a Globals<'a>,
        signatures: &'a Signatures,
        module: ModuleId,
        level: Level,
    ) -> Body<'a> {
        Body {
            globals,
            signatures,
            module,
            level,
            inside: Inside::Nothing,
            allowed: Allowed::default(),
            types: Types::default(),
            locals: Table::default(),
            families: None,
            nodes: true,
            lacks_nodes: false,
            unknown: BTreeMap::new(),
            needs: Needs::default(),
            effects: Effects::default(),
            mentioned: BTreeSet::new(),
            uses: Uses::default(),
            reports: Vec::new(),
            accepted: Vec::new(),
            visible: FxHashMap::default(),
            scopes: vec![Vec::new()],
        }
    }

    /// Adds a report.
    pub(super) fn report(&mut self, report: Diagnostic) {
        self.reports.push(report);
    }

    /// Accepts what attributes say, for a declaration or statement; returns what was accepted before.
    pub(super) fn allow(&mut self, attributes: &[ast::Attribute], span: Span) -> Allowed {
        let allowed = attribute::allowed(attributes, &self.allowed, &mut self.reports);
        let codes = attribute::codes(attributes);
        self.accepted.extend(codes.map(|code| Accepted { code, span }));
        std::mem::replace(&mut self.allowed, allowed)
    }

    /// The frame of all locals, when the body is done.
    pub(super) fn frame(&self) -> Frame {
        let close = |known: &Known| Local {
            name: known.name.clone(),
            span: known.span,
            ty: self.types.close(&known.ty),
        };
        self.locals.iter().map(close).collect()
    }

    /// Runs a part of the body in a scope of its own.
    pub(super) fn scoped<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Vec::new());
        let result = part(self);
        for name in self.scopes.pop().unwrap_or_default() {
            if let Some(locals) = self.visible.get_mut(&name) {
                locals.pop();
            }
        }
        result
    }

    /// Runs a part of the body at another level, where other names are known.
    pub(super) fn at_level<T>(&mut self, level: Level, part: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.level, level);
        let result = part(self);
        self.level = before;
        result
    }

    /// The visible local of that name.
    pub(super) fn local(&self, name: &str) -> Option<LocalId> {
        self.visible.get(name).and_then(|locals| locals.last()).map(|(local, _)| *local)
    }

    /// All visible locals, outermost first.
    pub(super) fn visible_locals(&self) -> impl Iterator<Item = (&String, LocalId)> {
        let names = self.scopes.iter().flatten();
        names.filter_map(|name| self.local(name).map(|local| (name, local)))
    }

    /// Binds a name in the innermost scope.
    pub(super) fn bind(&mut self, name: &ast::Name, ty: Ty, bound: Bound) -> LocalId {
        let local = self.row(name, ty, bound);
        self.show(name, local, bound);
        local
    }

    /// Adds a row to the frame; its name is not visible yet.
    fn row(&mut self, name: &ast::Name, ty: Ty, bound: Bound) -> LocalId {
        let quiet = name.text.starts_with('_')
            || attribute::accepts_unused(&self.allowed, Code::W0205)
            || bound == Bound::Binder
            || is_interface(&name.text, bound);
        self.locals.push(Known {
            name: name.text.clone(),
            span: name.span,
            ty,
            bound,
            used: false,
            quiet,
            stands: None,
            needs: Needs::default(),
            nature: Nature::default(),
        })
    }

    fn show(&mut self, name: &ast::Name, local: LocalId, bound: Bound) {
        if name.text == "_" {
            return;
        }
        self.check_hiding(name, bound);
        let depth = self.scopes.len();
        self.visible.entry(name.text.clone()).or_default().push((local, depth));
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(name.text.clone());
        }
    }

    /// Binds a local that no name refers to.
    pub(super) fn bind_hidden(&mut self, span: Span, ty: Ty) -> LocalId {
        let name = ast::Name { text: "_".to_owned(), span };
        self.bind(&name, ty, Bound::Binder)
    }

    /// Resolves `p in list if filter`; the binder is visible from its filter on.
    pub(super) fn binder(&mut self, binder: &ast::Binder) -> Binder {
        let list = self.expr(&binder.list, None);
        let member = self.member(&list, &binder.list);
        let nature = self.nature(&list.expr);
        let local = self.bind(&binder.name, member, Bound::Binder);
        self.locals[local].nature = nature;
        let filter = binder.filter.as_deref().map(|filter| self.expect(filter, &Ty::Bool));
        Binder { local, list: list.expr, filter }
    }

    /// Resolves parameters and binds them: each default may use those before it.
    pub(super) fn parameters(
        &mut self,
        parameters: &[ast::Parameter],
        takes: &[Takes],
        defaults: Level,
    ) -> Vec<Parameter> {
        let rows: Vec<LocalId> = parameters
            .iter()
            .zip(takes)
            .map(|(parameter, takes)| self.row(&parameter.name, takes.ty.clone(), Bound::Parameter))
            .collect();
        let mut resolved = Vec::new();
        for ((parameter, takes), local) in parameters.iter().zip(takes).zip(rows) {
            let because = parameter.ty.as_ref().map(|ty| (ty.span, "its type"));
            let default = parameter.default.as_ref().map(|default| {
                self.at_level(defaults, |body| body.expect_for(default, &takes.ty, because))
            });
            // If the type and the default contradict each other, either may be wrong.
            if default.as_ref().is_some_and(|default| default.ty == Type::Error) {
                self.locals[local].ty = Ty::Error;
            }
            self.show(&parameter.name, local, Bound::Parameter);
            let ty = self.types.close(&takes.ty);
            let (name, span) = (parameter.name.text.clone(), parameter.name.span);
            resolved.push(Parameter { name, span, ty, default });
        }
        resolved
    }

    /// The file of this body; none if it is a value on its own.
    pub(super) fn file(&self) -> Option<&'a Module> {
        self.globals.modules.modules.lookup(self.module)
    }

    /// The text of a span, or `this` if it is long.
    pub(super) fn text(&self, span: Span) -> String {
        let text = self.file().map_or("", |file| &file.text);
        match text.get(span.start as usize..span.end as usize) {
            Some(text) if !text.is_empty() && text.len() <= 48 && !text.contains(LINE_ENDS) => {
                format!("`{text}`")
            }
            _ => "this".to_owned(),
        }
    }

    /// ` (line 8)`, for a place in this file.
    pub(super) fn line(&self, span: Span) -> String {
        match self.file().filter(|file| file.file == span.file) {
            Some(file) => {
                let before = file.text.get(..span.start as usize).unwrap_or("");
                format!(" (line {})", line_ends(before).count() + 1)
            }
            None => String::new(),
        }
    }

    /// What the name stands for in the file, if it is a function, procedure or constant.
    pub(super) fn global(&self, name: &str) -> Option<Named> {
        self.globals.names.lookup(self.module)?.values.get(name).copied()
    }

    /// Whether a syntax error may have swallowed the declaration of the name.
    pub(super) fn is_lost(&self, name: &str) -> bool {
        self.file().is_some_and(|file| file.lost.contains(name))
    }

    /// An expression with its type.
    pub(super) fn typed(&self, kind: ExprKind, span: Span, ty: Ty) -> Typed {
        let closed = self.types.close(&ty);
        Typed { expr: Expr { kind, span, ty: closed }, ty }
    }

    /// An expression whose mistake has been reported.
    pub(super) fn error(&self, span: Span) -> Typed {
        Typed { expr: wrong(span), ty: Ty::Error }
    }

    /// Reports a name that already means something else.
    pub(super) fn check_hiding(&mut self, name: &ast::Name, bound: Bound) {
        let text = name.text.as_str();
        let own = is_interface(text, bound);
        let depth = self.scopes.len();
        let hidden = self.visible.get(text).and_then(|locals| locals.last().copied());
        if let Some((local, bound_at)) = hidden {
            // It is unclear which of the two a use means, so neither is reported as unused.
            self.locals[local].used = true;
            let first = self.locals[local].span;
            let report = if bound_at == depth {
                declared_twice(text, name.span, first)
            } else {
                hides(name, first)
            };
            self.report(match bound {
                Bound::Let => report.note("a name keeps its value: `let` cannot bind it again"),
                Bound::Parameter | Bound::Binder => report,
            });
        } else if let Some(first) = self.family_span(text) {
            self.report(if depth == 1 && bound != Bound::Binder {
                declared_twice(text, name.span, first)
            } else {
                hides(name, first)
            });
        } else if let Some(what) = self.reserved(text).filter(|_| !own) {
            self.report(hides_builtin(name, what));
        } else if let Some(named) = self.global(text) {
            self.report(hides(name, named.span));
        }
    }

    fn family_span(&self, name: &str) -> Option<Span> {
        let families = self.families.as_ref()?;
        families.names.get(name).map(|family| families.get(*family).span)
    }

    /// What a builtin name means here.
    fn reserved(&self, name: &str) -> Option<&'static str> {
        if matches!(name, "input" | "output")
            && matches!(self.level, Level::Program | Level::Clauses)
        {
            return Some("a buffer of every program");
        }
        if self.level == Level::Topology {
            return None;
        }
        let builtin = builtin(name)?;
        (self.nodes || !speaks_of_nodes(builtin)).then(|| meaning(builtin))
    }
}

/// The parameters that say how ranks are grouped, which the compiler reads by their names.
pub(super) const SHAPE: [&str; 3] = ["ranks", "ranks_per_node", "ranks_per_domain"];

/// Whether it is a parameter that may have the name of a builtin, and needs no use.
fn is_interface(name: &str, bound: Bound) -> bool {
    bound == Bound::Parameter && SHAPE.contains(&name)
}

/// An expression that was reported.
pub(super) fn wrong(span: Span) -> Expr {
    Expr { kind: ExprKind::Error, span, ty: Type::Error }
}

/// The builtin names.
pub(super) const BUILTINS: &[(&str, Builtin)] = &[
    ("rank", Builtin::Rank),
    ("ranks", Builtin::Ranks),
    ("peers", Builtin::Peers),
    ("node", Builtin::Node),
    ("nodes", Builtin::Nodes),
    ("local_rank", Builtin::LocalRank),
    ("ranks_per_node", Builtin::RanksPerNode),
    ("node_peers", Builtin::NodePeers),
    ("rail_peers", Builtin::RailPeers),
];

/// The builtin with that name, if there is one.
pub(super) fn builtin(name: &str) -> Option<Builtin> {
    BUILTINS.iter().find(|(known, _)| *known == name).map(|(_, builtin)| *builtin)
}

/// Whether the name has a meaning only in a program with `ranks_per_node`.
pub(super) fn speaks_of_nodes(builtin: Builtin) -> bool {
    match builtin {
        Builtin::Rank | Builtin::Ranks | Builtin::Peers => false,
        Builtin::Node
        | Builtin::Nodes
        | Builtin::LocalRank
        | Builtin::RanksPerNode
        | Builtin::NodePeers
        | Builtin::RailPeers => true,
    }
}

/// The type of a builtin name.
pub(super) fn builtin_type(builtin: Builtin) -> Ty {
    match builtin {
        Builtin::Rank => Ty::Rank,
        Builtin::Ranks
        | Builtin::Node
        | Builtin::Nodes
        | Builtin::LocalRank
        | Builtin::RanksPerNode => Ty::Int,
        Builtin::Peers | Builtin::NodePeers | Builtin::RailPeers => Ty::Rank.list(),
    }
}

fn meaning(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Rank => "the rank that the program runs on",
        Builtin::Ranks => "the number of ranks",
        Builtin::Peers => "the other ranks",
        Builtin::Node => "the node of this rank",
        Builtin::Nodes => "the number of nodes",
        Builtin::LocalRank => "this rank's number in its node",
        Builtin::RanksPerNode => "the number of ranks in a node",
        Builtin::NodePeers => "the other ranks of this node",
        Builtin::RailPeers => "the ranks of other nodes with this local rank",
    }
}

fn hides(name: &ast::Name, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, name.span, format!("`{}` already has a meaning here", name.text))
        .label("this would hide it")
        .and(first, "it is declared here")
        .help("choose another name for one of them")
}

fn hides_builtin(name: &ast::Name, what: &str) -> Diagnostic {
    Diagnostic::new(Code::E0202, name.span, format!("`{}` already has a meaning here", name.text))
        .label(format!("it is {what}"))
        .help("choose another name")
}
