//! Expressions of the resolved program.

use super::{
    Binder, BlockFamilyId, BufferName, ChannelFamilyId, ConstantId, FunctionId, LocalId,
    SemaphoreFamilyId, Type,
};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Gathered, RangeKind, UnaryOp};

/// The names that every body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// This rank. Of `p`: `p` itself.
    Rank,
    /// The number of ranks.
    Ranks,
    /// All ranks but this one, ascending.
    Peers,
    /// The number of the rank's node.
    Node,
    /// The number of nodes.
    Nodes,
    /// The rank's number in its node.
    LocalRank,
    /// The number of ranks in a node.
    RanksPerNode,
    /// The other ranks of its node.
    NodePeers,
    /// The ranks of other nodes with its local rank.
    RailPeers,
}

/// An expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its kind, with its content.
    pub kind: ExprKind,
    /// Where it is.
    pub span: Span,
    /// Its type.
    pub ty: Type,
}

/// The kinds of [`Expr`].
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number.
    Int(i64),
    /// A rate, in bytes per second.
    Rate(i64),
    /// A time, in nanoseconds.
    Time(i64),
    /// A Boolean.
    Bool(bool),
    /// Text.
    Str(String),
    /// A parameter, `let` or binder of this body.
    Local(LocalId),
    /// A `let` of a file.
    Constant(ConstantId),
    /// `rank`, `peers`; with an expression, those of that rank: `p.node`.
    Builtin(Builtin, Option<Box<Expr>>),
    /// `rank_at(node, local_rank)`
    RankAt(Box<Expr>, Box<Expr>),
    /// `input`, `inbox`: this rank's whole buffer.
    Buffer(BufferName),
    /// `p.inbox`: rank `p`'s whole buffer.
    RemoteBuffer(Box<Expr>, Box<Expr>),
    /// `nvls.input`: the group's buffer behind a switch channel.
    SwitchBuffer(Box<Expr>, Box<Expr>),
    /// `mem` or `mem[p, *]`: a channel family with its indices. Without indices (and with dimensions) it is the list
    /// of all members.
    Channels(ChannelFamilyId, Vec<Index>),
    /// `ready[p]`
    Semaphores(SemaphoreFamilyId, Vec<Index>),
    /// `work[p, *]`
    Blocks(BlockFamilyId, Vec<Index>),
    /// `inbox[p, ..]`, `p.output[c]`, `nvls.input[i]`: chunks of a buffer. The type is `chunk`, or `chunk[]` where an
    /// index is `*`.
    Slice(Box<Expr>, Vec<Index>),
    /// `list[i]`
    Element(Box<Expr>, Box<Expr>),
    /// `-x`, `!x`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`; `||` and `&&` evaluate their second side only if it matters.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a..b`
    Range(RangeKind, Box<Expr>, Box<Expr>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{a, b}`: the values in order, without duplicates.
    Set(Vec<Expr>),
    /// `{p in peers if .. : value}`, `[p in peers if .. : value]`; the value may be the binder itself.
    Each(Gathered, Vec<Binder>, Box<Expr>),
    /// `if c { a } else { b }`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `f(a, b)`: the parameter's position, and its value.
    Call(FunctionId, Vec<(usize, Expr)>),
    /// `min(a, b)`, `max(a, b, c)`, `abs(a)`
    Intrinsic(Intrinsic, Vec<Expr>),
    /// `sum(p in peers: f(p))`
    Fold(Fold, Vec<Binder>, Box<Expr>),
    /// `x.len()` and so on.
    Method(Method, Box<Expr>, Vec<Expr>),
    /// An expression that was reported.
    Error,
}

/// What is in brackets.
#[derive(Clone, Debug)]
pub enum Index {
    /// `*`: each member.
    All(Span),
    /// `..`: the whole extent.
    Whole(Span),
    /// An integer, or a list of integers: a contiguous range of chunks, or several members of a family.
    At(Expr),
    /// `..b`, `..=b`
    To(Expr, bool),
    /// `a..`
    From(Expr),
}

impl Index {
    /// Where it is written.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Index::All(span) | Index::Whole(span) => *span,
            Index::At(expr) | Index::To(expr, _) | Index::From(expr) => expr.span,
        }
    }
}

/// Builtin functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intrinsic {
    /// `min`, of one argument or more, or of a list.
    Min,
    /// `max`, likewise.
    Max,
    /// `abs`
    Abs,
}

/// Functions over binders. `min` and `max` may be folds too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// `sum`
    Sum,
    /// `all`
    All,
    /// `any`
    Any,
    /// `min`
    Min,
    /// `max`
    Max,
}

/// Methods of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `x.len()`
    Len,
    /// `x.position(v)`
    Position,
    /// `x.contains(v)`
    Contains,
    /// `x.step(n)`: every n-th.
    Step,
    /// `x.rev()`
    Rev,
}
