//! Programs. In: a tree. Out: a resolved program.
//!
//! Rules: a program has a parameter `ranks` and implements one collective (E0212, E0203); extents are numbers or
//! binders; a channel is made by `memory`, `port` or `switch`; `to` names a channel of this program.

use super::attribute;
use super::body::{Body, Bound, Level, SHAPE};
use super::call::given_twice;
use super::channel::{behind, is_wrong, leads_to_index, member};
use super::family::{Families, Family};
use super::global::{Declared, Globals};
use super::option;
use super::program::{
    BlockFamily, ChannelFamily, Dimension, Implements, LocalId, MachineUse, OptionSetting,
    Parameter, Program, ProgramItem, Region, SemaphoreFamily, Stmt, StmtKind, Type,
};
use super::signature::{Signatures, Takes};
use super::types::Ty;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;
use crate::table::Id;
use std::collections::BTreeMap;

/// Resolves a program; the returned body holds what was found while doing so.
pub(super) fn program<'a>(
    globals: &'a Globals<'a>,
    signatures: &'a Signatures,
    declared: Declared<'_, ast::Program>,
) -> (Program, Body<'a>) {
    let ast = declared.ast;
    let mut body = Body::new(globals, signatures, declared.module, Level::Program);
    body.allow(&declared.item.attributes, declared.item.span);
    body.nodes = ast.parameters.iter().any(|parameter| parameter.name.text == "ranks_per_node");

    let takes = takes(&mut body, &ast.parameters, Level::ProgramDefault);
    let parameters = body.parameters(&ast.parameters, &takes, Level::ProgramDefault);
    body.check_parameters(&parameters);
    let local = |name: &str| {
        let position = parameters.iter().position(|parameter| parameter.name == name);
        position.map(LocalId::from_index)
    };
    let (ranks, ranks_per_node) = (local("ranks"), local("ranks_per_node"));
    let ranks_per_domain = local("ranks_per_domain");

    let mut reports = Vec::new();
    let families = Families::collect(ast, &mut reports);
    body.reports.append(&mut reports);
    let mut parts = Parts::new(&families, &body);
    body.families = Some(families);
    body.check_families();
    for item in &ast.items {
        body.item(item, &mut parts);
    }
    body.check_complete(declared, ranks, parts.implements.is_some());
    let program = Program {
        name: ast.name.text.clone(),
        span: ast.name.span,
        parameters,
        ranks,
        ranks_per_node,
        ranks_per_domain,
        collective: parts.implements.and_then(|(_, implements)| implements),
        machine: parts.machine.and_then(|(_, machine)| machine),
        options: parts.options,
        scratch: parts.scratch.into(),
        channels: parts.channels.into(),
        semaphores: parts.semaphores.into(),
        blocks: parts.blocks.into(),
        body: parts.body,
        frame: body.frame(),
    };
    (program, body)
}

/// What callers have to know about parameters: the types that are given, or those of the defaults.
pub(super) fn takes(body: &mut Body, parameters: &[ast::Parameter], defaults: Level) -> Vec<Takes> {
    let mut takes = Vec::new();
    for parameter in parameters {
        let ty = match (&parameter.ty, &parameter.default) {
            (Some(ty), _) => body.written(ty),
            (None, Some(default)) => body.type_of(default, defaults),
            (None, None) => body.types.fresh(),
        };
        takes.push(Takes {
            name: parameter.name.text.clone(),
            span: parameter.name.span,
            ty,
            optional: parameter.default.is_some(),
        });
    }
    takes
}

/// The parts of a program, as its items give them.
struct Parts {
    implements: Option<(Span, Option<Implements>)>,
    machine: Option<(Span, Option<MachineUse>)>,
    options: Vec<OptionSetting>,
    set: BTreeMap<String, Span>,
    scratch: Vec<Region>,
    channels: Vec<ChannelFamily>,
    semaphores: Vec<SemaphoreFamily>,
    blocks: Vec<BlockFamily>,
    body: Vec<ProgramItem>,
}

impl Parts {
    fn new(families: &Families, body: &Body) -> Parts {
        let blocks = families.blocks.iter().map(|declaration| BlockFamily {
            name: declaration.name.clone(),
            span: declaration.span,
            arity: declaration.arity,
            dimensions: None,
            id: None,
            allowed: body.allowed.clone(),
        });
        Parts {
            implements: None,
            machine: None,
            options: Vec::new(),
            set: BTreeMap::new(),
            scratch: Vec::new(),
            channels: Vec::new(),
            semaphores: Vec::new(),
            blocks: blocks.collect(),
            body: Vec::new(),
        }
    }
}

impl Body<'_> {
    /// The type of a default. The default is resolved again when the parameter is bound.
    fn type_of(&mut self, default: &ast::Expr, level: Level) -> Ty {
        let before = (self.reports.len(), self.uses.definitions.len());
        // The rows of the frame begin with the parameters, so the locals of the default must not stay.
        let locals = self.locals.clone();
        let ty = self.at_level(level, |body| body.scoped(|body| body.expr(default, None).ty));
        self.locals = locals;
        self.reports.truncate(before.0);
        self.uses.definitions.truncate(before.1);
        let ty = self.types.known(&ty);
        // A default may use the parameters before it, which are not bound yet: these are usually numbers.
        if matches!(ty, Ty::Error | Ty::Rank) { Ty::Int } else { ty }
    }

    fn check_parameters(&mut self, parameters: &[Parameter]) {
        for parameter in parameters {
            let mut ty = &parameter.ty;
            let is_list = matches!(ty, Type::List(_));
            while let Type::List(member) = ty {
                ty = member;
            }
            let number = SHAPE.contains(&parameter.name.as_str());
            match ty {
                Type::Int | Type::Rank | Type::Error if !(number && is_list) => {}
                Type::Bool if !number => {}
                Type::Int
                | Type::Rank
                | Type::Error
                | Type::Bool
                | Type::Str
                | Type::Rate
                | Type::Time
                | Type::Chunk
                | Type::Buffer
                | Type::Channel
                | Type::Semaphore
                | Type::Block
                | Type::List(_) => self.report(wrong_parameter(parameter, number)),
            }
        }
    }

    /// Reports families whose names are taken by parameters, builtins or the file.
    fn check_families(&mut self) {
        let Some(families) = self.families.take() else { return };
        let mut names: Vec<(Span, &String)> = families
            .names
            .iter()
            .map(|(name, family)| (families.get(*family).span, name))
            .collect();
        names.sort();
        for (span, name) in names {
            self.check_hiding(&ast::Name { text: name.clone(), span }, Bound::Let);
        }
        self.families = Some(families);
    }

    fn check_complete(
        &mut self,
        declared: Declared<'_, ast::Program>,
        ranks: Option<LocalId>,
        implements: bool,
    ) {
        let module = &self.globals.modules.modules[declared.module];
        let span = declared.item.span;
        let text = module.text.get(span.start as usize..span.end as usize).unwrap_or("");
        let swallowed = |word: &str| module.is_broken() && text.contains(word);
        let name = &declared.ast.name;
        let is_named = !name.text.is_empty();
        if ranks.is_none() && is_named && !swallowed("ranks:") && !swallowed("ranks ") {
            self.report(without_ranks(name));
        }
        let said = self.reports.iter().any(|report| report.code == Code::E0212);
        if !implements && !said && is_named && !swallowed("collective") {
            self.report(without_collective(name));
        }
    }

    fn item(&mut self, item: &ast::ProgramItem, parts: &mut Parts) {
        let around = self.allow(&item.attributes, item.span);
        match &item.kind {
            ast::ProgramItemKind::Implements(ast) => {
                let implements = self.implements(ast, item.span);
                match &parts.implements {
                    Some((first, _)) => self.report(second_collective(item.span, *first)),
                    None => parts.implements = Some((item.span, implements)),
                }
            }
            ast::ProgramItemKind::Machine(ast) => {
                let machine = self.machine(ast, item.span);
                match &parts.machine {
                    Some((first, _)) => self.report(second_machine(item.span, *first)),
                    None => parts.machine = Some((item.span, machine)),
                }
            }
            ast::ProgramItemKind::Options(settings) => {
                let resolved = option::options(self, settings, &mut parts.set);
                parts.options.extend(resolved);
            }
            ast::ProgramItemKind::Scratch(ast) => self.scratch(ast, item.span, parts),
            ast::ProgramItemKind::Channel(ast) => self.channel(ast, item.span, parts),
            ast::ProgramItemKind::Semaphore(ast) => self.semaphore(ast, item.span, parts),
            ast::ProgramItemKind::Statement(ast::StmtKind::Block(block))
                if block.body.is_none() =>
            {
                self.block_declaration(block, parts);
            }
            ast::ProgramItemKind::Statement(statement) => {
                let statement = self.statement(&[], statement, item.span);
                if let Some(Stmt { kind: StmtKind::Let(local, _), .. }) = &statement
                    && !(item.docs.is_empty() && item.attributes.is_empty())
                {
                    self.locals[*local].stands = None;
                }
                parts.body.extend(statement.map(|stmt| ProgramItem::Statement(Box::new(stmt))));
            }
        }
        self.allowed = around;
    }

    /// Marks the next declaration of its kind as reached.
    fn reach(&mut self, family: Family, code: Code) {
        let quiet = attribute::accepts_unused(&self.allowed, code);
        if let Some(families) = &mut self.families {
            let declaration = families.get_mut(family);
            declaration.reached = true;
            declaration.quiet = quiet;
        }
    }

    fn scratch(&mut self, ast: &ast::Scratch, span: Span, parts: &mut Parts) {
        let id = super::program::RegionId::from_index(parts.scratch.len());
        for dimension in &ast.dimensions {
            if let ast::Dimension::Value(size) = dimension {
                self.refuse_bytes(size);
            }
        }
        let dimensions = self.scoped(|body| body.dimensions(&ast.dimensions, "i"));
        self.reach(Family::Scratch(id), Code::W0203);
        parts.scratch.push(Region {
            name: ast.name.text.clone(),
            span: ast.name.span.to(span),
            dimensions,
            allowed: self.allowed.clone(),
        });
        parts.body.push(ProgramItem::Scratch(id));
    }

    fn semaphore(&mut self, ast: &ast::Semaphore, span: Span, parts: &mut Parts) {
        let id = super::program::SemaphoreFamilyId::from_index(parts.semaphores.len());
        let (dimensions, initial) = self.scoped(|body| {
            let dimensions = body.dimensions(&ast.dimensions, "i");
            (dimensions, ast.initial.as_ref().map(|initial| body.expect(initial, &Ty::Int)))
        });
        self.reach(Family::Semaphore(id), Code::W0204);
        parts.semaphores.push(SemaphoreFamily {
            name: ast.name.text.clone(),
            span,
            dimensions,
            initial,
            allowed: self.allowed.clone(),
        });
        parts.body.push(ProgramItem::Semaphore(id));
    }

    fn channel(&mut self, ast: &ast::Channel, span: Span, parts: &mut Parts) {
        let id = super::program::ChannelFamilyId::from_index(parts.channels.len());
        let (dimensions, link, to) = self.scoped(|body| {
            let dimensions = body.dimensions(&ast.dimensions, member(&ast.value));
            let said = body.reports.len();
            let link = body.link(&ast.value, &dimensions);
            let to = ast.to.as_ref().and_then(|end| body.channel_end(end, &link));
            // The member of a dimension has no name yet, which was reported; the link and the end name it all the
            // same.
            if dimensions.iter().any(is_nameless) {
                body.reports.truncate(said);
            }
            (dimensions, link, to)
        });
        self.reach(Family::Channel(id), Code::W0202);
        if is_wrong(&link)
            && let Some(families) = &mut self.families
        {
            families.channels[id].used = true;
            families.channels[id].wrong = true;
        }
        if let Some(families) = &mut self.families {
            families.channels[id].behind = behind(&link);
            families.channels[id].leads_to_index = dimensions.len() == 1 && leads_to_index(&link);
            families.channels[id].end = to.as_ref().map(|end| end.family);
        }
        parts.channels.push(ChannelFamily {
            name: ast.name.text.clone(),
            span,
            dimensions,
            link,
            to,
            allowed: self.allowed.clone(),
        });
        parts.body.push(ProgramItem::Channel(id));
    }

    fn block_declaration(&mut self, ast: &ast::Block, parts: &mut Parts) {
        let (dimensions, id) = self.scoped(|body| {
            let dimensions = body.dimensions(&ast.dimensions, "i");
            (dimensions, ast.id.as_ref().map(|id| body.expect(id, &Ty::Int)))
        });
        let Some(Family::Block(family)) = self.family(&ast.name.text) else { return };
        if let Some(row) = parts.blocks.get_mut(family.index())
            && row.dimensions.is_none()
        {
            row.dimensions = Some(dimensions);
            row.id = id;
            row.allowed = self.allowed.clone();
            parts.body.push(ProgramItem::Block(family));
        }
    }

    /// The dimensions of a family. `member` is the suggested name for the member of a list.
    /// Resolves the dimensions of a family; `member` is what a member of a list is called in help.
    pub(super) fn dimensions(
        &mut self,
        dimensions: &[ast::Dimension],
        member: &str,
    ) -> Vec<Dimension> {
        dimensions.iter().map(|dimension| self.dimension(dimension, member)).collect()
    }

    /// Reports a number of bytes where a number of chunks is wanted.
    pub(super) fn refuse_bytes(&mut self, size: &ast::Expr) {
        let text = self.text(size.span);
        let is_in_bytes = ["KiB`", "MiB`", "GiB`"].iter().any(|unit| text.ends_with(unit));
        if is_in_bytes && matches!(size.kind, ast::ExprKind::Int(_)) {
            self.report(bytes_for_chunks(size.span, &text));
        }
    }

    fn dimension(&mut self, dimension: &ast::Dimension, member: &str) -> Dimension {
        match dimension {
            ast::Dimension::Binder(binder) => Dimension::Binder(self.number_binder(binder)),
            ast::Dimension::All(span) => {
                self.report(star_declared(*span));
                Dimension::Count(super::body::wrong(*span))
            }
            ast::Dimension::Value(expr) => {
                let typed = self.expr(expr, Some(&Ty::Int));
                if !self.types.unify(&typed.ty, &Ty::Int) {
                    let report = self.mismatch(&typed, &Ty::Int);
                    let is_list = matches!(typed.expr.ty, Type::List(_));
                    let text = self.text(expr.span);
                    self.report(match text.strip_prefix('`') {
                        Some(text) if is_list => report.help(format!(
                            "a family over a list names its member: write `{member} in {}`",
                            text.trim_end_matches('`')
                        )),
                        _ => report,
                    });
                }
                Dimension::Count(typed.expr)
            }
        }
    }

    /// `collective allgather(ranks, in_place = true);`
    fn implements(&mut self, ast: &ast::Implements, span: Span) -> Option<Implements> {
        super::collective::implements(self, ast, span)
    }
}

/// Something that can be given only once is given again.
pub(super) fn set_twice(name: &ast::Name, first: Span) -> Diagnostic {
    given_twice(&name.text, name.span, first)
}

fn wrong_parameter(parameter: &Parameter, number: bool) -> Diagnostic {
    let what = super::types::describe(&parameter.ty);
    if number {
        let message = format!("`{}` is {what}; it must be a number", parameter.name);
        return Diagnostic::new(Code::E0204, parameter.span, message);
    }
    let message = format!("`{}` is {what}, which cannot be a program's parameter", parameter.name);
    Diagnostic::new(Code::E0204, parameter.span, message)
        .note("a program's parameters are numbers, Booleans, and lists of them")
}

fn without_ranks(name: &ast::Name) -> Diagnostic {
    let message = format!("the program `{}` does not say how many ranks it has", name.text);
    Diagnostic::new(Code::E0212, name.span, message)
        .help("give it the parameter `ranks`: `program name(ranks: int = 8) {`")
}

fn without_collective(name: &ast::Name) -> Diagnostic {
    let message = format!("the program `{}` does not say what it implements", name.text);
    Diagnostic::new(Code::E0212, name.span, message)
        .help("begin it with `collective allgather(ranks);`, or another collective")
}

fn second_machine(span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0203, span, "a program is for one machine")
        .and(first, "this one was named first")
}

fn second_collective(second: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0203, second, "a program implements one collective")
        .label("this is a second one")
        .and(first, "the first")
}

fn bytes_for_chunks(span: Span, text: &str) -> Diagnostic {
    let message = format!("{text} is a number of bytes, and a buffer has a number of chunks");
    Diagnostic::new(Code::E0204, span, message)
        .note("how many bytes a chunk has is known only when a message is sent")
        .help("count in chunks of the message: `scratch tmp[2]` has room for two of them")
}

/// Whether a dimension is a list whose member has no name.
fn is_nameless(dimension: &Dimension) -> bool {
    matches!(dimension, Dimension::Count(count) if matches!(count.ty, Type::List(_)))
}

fn star_declared(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0204,
        span,
        "`*` stands for each member of a family that is already declared; this declares one",
    )
    .help("write an extent, such as `4`, or a binder, such as `p in peers`")
}
