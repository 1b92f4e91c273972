//! Statements of the resolved program.

use super::expression::Expr;
use super::{Allowed, Binder, BlockFamilyId, LocalId, Op, ProcedureId};
use crate::source::Span;
use crate::syntax::ast::SynchroniseVerb;
use grammar::verb::Verb;

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Its kind, with its content.
    pub kind: StmtKind,
    /// All of it.
    pub span: Span,
    /// The words that are accepted for it.
    pub allowed: Allowed,
}

/// The kinds of [`Stmt`]. Their placement has been checked: operations are in blocks, groups or procedures.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Binds a local.
    Let(LocalId, Expr),
    /// Fails if the condition does not hold.
    Require(Expr, Option<String>),
    /// A loop.
    For(Vec<Binder>, Vec<Stmt>),
    /// A conditional.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Opens one block, or each of several.
    Block {
        /// The family.
        family: BlockFamilyId,
        /// Which of its blocks.
        indices: Vec<BlockIndex>,
        /// What they do.
        body: Vec<Stmt>,
        /// The statement without its body.
        header: Span,
    },
    /// Opens several blocks that share each operation.
    Group(Vec<Operand>, Vec<Stmt>),
    /// Repeats its body over windows of a message.
    Pipeline {
        /// The bytes of a window.
        unit: Expr,
        /// The chunks that each operation covers.
        chunks: Expr,
        /// What is repeated: openings of blocks or, inside a block, operations.
        body: Vec<Stmt>,
    },
    /// The blocks meet.
    Barrier(Vec<Operand>),
    /// The threads of the block meet.
    Sync,
    /// Moves data.
    Transfer(Transfer),
    /// Synchronizes.
    Synchronise(Synchronise),
    /// Calls a procedure: each argument with its parameter's position. `elaborate` fills in the defaults.
    Call(ProcedureId, Vec<(usize, Expr)>),
}

/// How one index of a block family is opened.
#[derive(Clone, Debug)]
pub enum BlockIndex {
    /// Each value of a list: `block send[p in peers] {`.
    Binder(Binder),
    /// One value: `block recv[p] {`.
    At(Expr),
    /// Each of the declared values: `block pump[*] {`.
    All(Span),
}

/// An operation that moves data.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The verb.
    pub verb: Verb,
    /// Where the verb is.
    pub verb_span: Span,
    /// What is read; each a chunk or a list of chunks.
    pub sources: Vec<Operand>,
    /// What is written; likewise.
    pub destinations: Vec<Operand>,
    /// The channels; each a channel or a list of channels.
    pub via: Vec<Operand>,
    /// `op = ..`
    pub op: Option<(Op, Span)>,
    /// `sync = ..`
    pub sync: Option<Sync>,
    /// `slice = i of n`
    pub slice: Option<(Expr, Expr)>,
}

/// An operation on channels or semaphores.
#[derive(Clone, Debug)]
pub struct Synchronise {
    /// The verb.
    pub verb: SynchroniseVerb,
    /// Where the verb is.
    pub verb_span: Span,
    /// Channels, or semaphores; or lists of them.
    pub operands: Vec<Operand>,
    /// Where the word `relaxed` is, if it is there.
    pub relaxed: Option<Span>,
    /// `sync = ..`
    pub sync: Option<Sync>,
}

/// `sync = before | after | both | none`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// `before`
    Before,
    /// `after`
    After,
    /// `both`
    Both,
    /// `none`
    None,
}

/// One operand, or one for each value of binders. An expression of list type stands for each of its members.
#[derive(Clone, Debug)]
pub enum Operand {
    /// `mem[*]`
    One(Expr),
    /// `(p in peers: p.output[rank])`
    Each(Vec<Binder>, Expr),
}
