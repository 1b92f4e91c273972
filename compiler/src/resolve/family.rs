//! The declarations of a program that every statement can name: scratch, channels, semaphores and blocks.
//!
//! In: a program's items. Out: their names, before any expression is resolved, since a channel's `to` and the blocks
//! of a barrier may name something that is declared later. Two declarations of one name are E0203.

use super::channel;
use super::global::declared_twice;
use super::program::{BlockFamilyId, BufferName, ChannelFamilyId, RegionId, SemaphoreFamilyId};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::table::Table;
use grammar::verb::ChannelKind;
use std::collections::{BTreeMap, BTreeSet};

/// The declaration that a name of a program stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Scratch.
    Scratch(RegionId),
    /// Channels.
    Channel(ChannelFamilyId),
    /// Semaphores.
    Semaphore(SemaphoreFamilyId),
    /// Blocks.
    Block(BlockFamilyId),
}

/// One declaration.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    /// Its name.
    pub(super) name: String,
    /// Where its name is: in the declaration, or where the blocks are first mentioned.
    pub(super) span: Span,
    /// The declaration, if it can be removed.
    pub(super) stands: Option<Span>,
    /// How many indices it has.
    pub(super) arity: usize,
    /// The kind of a channel, if it is known.
    pub(super) link: Option<ChannelKind>,
    /// The buffer behind a switch channel, once that has been resolved.
    pub(super) behind: Option<BufferName>,
    /// Whether a channel leads to the rank that is its only index; known once its declaration has been resolved.
    pub(super) leads_to_index: bool,
    /// The channel that a channel's `to` names, once that has been resolved.
    pub(super) end: Option<ChannelFamilyId>,
    /// Whether a channel's link was reported: then its number of indices is not known for certain.
    pub(super) wrong: bool,
    /// Whether resolving has reached its declaration.
    pub(super) reached: bool,
    /// Whether anything names it.
    pub(super) used: bool,
    /// Whether it needs no use.
    pub(super) quiet: bool,
}

/// All declarations of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Families {
    /// By name.
    pub(super) names: BTreeMap<String, Family>,
    /// Regions, in order of declaration.
    pub(super) scratch: Table<RegionId, Declaration>,
    /// Channels, in order of declaration.
    pub(super) channels: Table<ChannelFamilyId, Declaration>,
    /// Semaphores, in order of declaration.
    pub(super) semaphores: Table<SemaphoreFamilyId, Declaration>,
    /// Blocks, in order of their first mention.
    pub(super) blocks: Table<BlockFamilyId, Declaration>,
}

impl Families {
    /// The declarations of a program, and reports about duplicates.
    pub(super) fn collect(program: &ast::Program, reports: &mut Vec<Diagnostic>) -> Families {
        let mut families = Families::default();
        let mut mentions = Mentions::default();
        for item in &program.items {
            families.declare(item, reports);
            if let ast::ProgramItemKind::Statement(statement) = &item.kind {
                mentions.statement(statement, reports);
            }
        }
        for (name, span) in std::mem::take(&mut mentions.order) {
            let Some((arity, declared)) = mentions.blocks.remove(name) else { continue };
            let span = declared.unwrap_or(span);
            let mut declaration = declaration(name, span, arity);
            declaration.reached = true;
            if families.is_new(name, span, reports) {
                let id = families.blocks.push(declaration);
                families.names.insert(name.to_owned(), Family::Block(id));
            }
        }
        families
    }

    /// The declaration of a family.
    pub(super) fn get(&self, family: Family) -> &Declaration {
        match family {
            Family::Scratch(id) => &self.scratch[id],
            Family::Channel(id) => &self.channels[id],
            Family::Semaphore(id) => &self.semaphores[id],
            Family::Block(id) => &self.blocks[id],
        }
    }

    /// The declaration of a family, mutable.
    pub(super) fn get_mut(&mut self, family: Family) -> &mut Declaration {
        match family {
            Family::Scratch(id) => &mut self.scratch[id],
            Family::Channel(id) => &mut self.channels[id],
            Family::Semaphore(id) => &mut self.semaphores[id],
            Family::Block(id) => &mut self.blocks[id],
        }
    }

    fn declare(&mut self, item: &ast::ProgramItem, reports: &mut Vec<Diagnostic>) {
        let (name, family) = match &item.kind {
            ast::ProgramItemKind::Implements(_)
            | ast::ProgramItemKind::Machine(_)
            | ast::ProgramItemKind::Options(_)
            | ast::ProgramItemKind::Statement(_) => return,
            ast::ProgramItemKind::Scratch(ast) => {
                let row = declaration(&ast.name.text, ast.name.span, ast.dimensions.len());
                (&ast.name, Family::Scratch(self.scratch.push(row)))
            }
            ast::ProgramItemKind::Channel(ast) => {
                let mut row = declaration(&ast.name.text, ast.name.span, ast.dimensions.len());
                row.link = channel::kind(&ast.value);
                (&ast.name, Family::Channel(self.channels.push(row)))
            }
            ast::ProgramItemKind::Semaphore(ast) => {
                let row = declaration(&ast.name.text, ast.name.span, ast.dimensions.len());
                (&ast.name, Family::Semaphore(self.semaphores.push(row)))
            }
        };
        let bare = item.docs.is_empty() && item.attributes.is_empty();
        self.get_mut(family).stands = bare.then_some(item.span);
        if self.is_new(&name.text, name.span, reports) {
            self.names.insert(name.text.clone(), family);
        } else {
            self.get_mut(family).used = true;
        }
    }

    /// Whether the name is not taken yet. If it is, neither of the two is reported as unused.
    fn is_new(&mut self, name: &str, span: Span, reports: &mut Vec<Diagnostic>) -> bool {
        let Some(&first) = self.names.get(name) else { return true };
        self.get_mut(first).used = true;
        reports.push(declared_twice(name, span, self.get(first).span));
        false
    }
}

fn declaration(name: &str, span: Span, arity: usize) -> Declaration {
    Declaration {
        name: name.to_owned(),
        span,
        stands: None,
        arity,
        link: None,
        behind: None,
        leads_to_index: false,
        end: None,
        wrong: false,
        reached: false,
        used: false,
        quiet: false,
    }
}

/// Block families, as a walk over statements finds them.
#[derive(Default)]
struct Mentions<'a> {
    /// Every name that may be a block's, in order of its first mention.
    order: Vec<(&'a str, Span)>,
    seen: BTreeSet<&'a str>,
    /// Those that are opened or declared: their number of indices, and the declaration if there is one.
    blocks: BTreeMap<&'a str, (usize, Option<Span>)>,
}

impl<'a> Mentions<'a> {
    fn mention(&mut self, name: &'a str, span: Span) {
        if self.seen.insert(name) {
            self.order.push((name, span));
        }
    }

    fn statement(&mut self, statement: &'a ast::StmtKind, reports: &mut Vec<Diagnostic>) {
        match statement {
            ast::StmtKind::Block(block) => {
                self.block(block, reports);
                block.body.iter().for_each(|body| self.body(body, reports));
            }
            ast::StmtKind::Group(operands, body) => {
                self.operands(operands);
                self.body(body, reports);
            }
            ast::StmtKind::Barrier(operands) => self.operands(operands),
            ast::StmtKind::For(_, body) | ast::StmtKind::Pipeline(_, body) => {
                self.body(body, reports);
            }
            ast::StmtKind::If(condition) => self.branches(condition, reports),
            ast::StmtKind::Let(_)
            | ast::StmtKind::Require(_)
            | ast::StmtKind::Sync
            | ast::StmtKind::Transfer(_)
            | ast::StmtKind::Synchronise(_)
            | ast::StmtKind::Call(..) => {}
        }
    }

    fn body(&mut self, body: &'a ast::Body, reports: &mut Vec<Diagnostic>) {
        body.statements.iter().for_each(|statement| self.statement(&statement.kind, reports));
    }

    fn branches(&mut self, mut condition: &'a ast::If, reports: &mut Vec<Diagnostic>) {
        loop {
            self.body(&condition.then, reports);
            match &condition.otherwise {
                Some(ast::Else::If(next)) => condition = next,
                Some(ast::Else::Body(body)) => return self.body(body, reports),
                None => return,
            }
        }
    }

    fn block(&mut self, block: &'a ast::Block, reports: &mut Vec<Diagnostic>) {
        let name = block.name.text.as_str();
        self.mention(name, block.name.span);
        let arity = block.dimensions.len();
        let declares = block.body.is_none();
        match self.blocks.get_mut(name) {
            Some((_, Some(first))) if declares => {
                reports.push(declared_twice(name, block.name.span, *first));
            }
            Some(known) if declares => *known = (arity, Some(block.name.span)),
            Some(_) => {}
            None => {
                let declared = declares.then_some(block.name.span);
                self.blocks.insert(name, (arity, declared));
            }
        }
    }

    fn operands(&mut self, operands: &'a [ast::Operand]) {
        for operand in operands {
            let (ast::Operand::One(expr) | ast::Operand::Each(_, expr, _)) = operand;
            let mut expr = expr;
            while let ast::ExprKind::Index(base, _) = &expr.kind {
                expr = base;
            }
            if let ast::ExprKind::Name(name) = &expr.kind {
                self.mention(name, expr.span);
            }
        }
    }
}
