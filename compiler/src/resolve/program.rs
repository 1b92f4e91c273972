//! The resolved, typed program: names are ids, every expression has a type; plain data.
//!
//! `resolve` makes it, and `elaborate` evaluates it. Expressions that were reported are [`ExprKind::Error`]; a
//! program with errors is not elaborated.

mod accepted;
mod expression;
mod statement;
mod topology;

use crate::source::{FileId, Span};
use crate::table::{Table, id};
pub use accepted::Accepted;
pub use expression::{Builtin, Expr, ExprKind, Fold, Index, Intrinsic, Method};
pub use statement::{BlockIndex, Operand, Stmt, StmtKind, Sync, Synchronise, Transfer};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
pub use topology::{
    Ability, AbilityList, CountWord, EndPair, LinkFamily, MachineUse, PortFamily, Properties,
    RankCount, SwitchFamily, Topology, TopologyItem, Vertex,
};

id! {
    /// A row of [`Unit::functions`].
    FunctionId
}
id! {
    /// A row of [`Unit::procedures`].
    ProcedureId
}
id! {
    /// A row of [`Unit::collectives`].
    CollectiveId
}
id! {
    /// A row of [`Unit::topologies`].
    TopologyId
}
id! {
    /// A row of [`Topology::switches`].
    SwitchId
}
id! {
    /// A row of [`Unit::constants`].
    ConstantId
}
id! {
    /// A row of [`Unit::programs`].
    ProgramId
}
id! {
    /// A row of a [`Frame`]: a parameter, a `let` or a binder.
    LocalId
}
id! {
    /// A row of [`Program::scratch`].
    RegionId
}
id! {
    /// A row of [`Program::channels`].
    ChannelFamilyId
}
id! {
    /// A row of [`Program::semaphores`].
    SemaphoreFamilyId
}
id! {
    /// A row of [`Program::blocks`].
    BlockFamilyId
}

/// All declarations of all files that one file needs, including the library's.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Functions.
    pub functions: Table<FunctionId, Function>,
    /// Procedures.
    pub procedures: Table<ProcedureId, Procedure>,
    /// Collectives.
    pub collectives: Table<CollectiveId, Collective>,
    /// Topologies.
    pub topologies: Table<TopologyId, Topology>,
    /// `let`s at the top of a file.
    pub constants: Table<ConstantId, Constant>,
    /// The programs of the main file (programs of imported files are not resolved).
    pub programs: Table<ProgramId, Program>,
    /// The files that belong to the library.
    pub library: Arc<BTreeSet<FileId>>,
    /// The warnings that attributes accept by their codes.
    pub accepted: Vec<Accepted>,
}

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A 64-bit integer.
    Int,
    /// An integer that names a rank. It is interchangeable with `int` and checked where a parameter is declared as
    /// `rank`.
    Rank,
    /// `true` or `false`.
    Bool,
    /// Text, for options only.
    Str,
    /// Bytes per second.
    Rate,
    /// Nanoseconds.
    Time,
    /// A slice of a buffer, of any rank.
    Chunk,
    /// A whole buffer: `input`, `output`, a scratch region.
    Buffer,
    /// One channel.
    Channel,
    /// One semaphore.
    Semaphore,
    /// One thread block.
    Block,
    /// A list. A family of channels, semaphores or blocks named without brackets is one too.
    List(Box<Type>),
    /// Unknown, because of a mistake that has been reported: agrees with every type.
    Error,
}

impl fmt::Display for Type {
    /// As it is written in source; `?` if it is unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Int => "int",
            Type::Rank => "rank",
            Type::Bool => "bool",
            Type::Str => "str",
            Type::Rate => "rate",
            Type::Time => "time",
            Type::Chunk => "chunk",
            Type::Buffer => "buffer",
            Type::Channel => "channel",
            Type::Semaphore => "semaphore",
            Type::Block => "block",
            Type::List(member) => return write!(f, "{member}[]"),
            Type::Error => "?",
        })
    }
}

/// The locals of a body.
pub type Frame = Table<LocalId, Local>;

/// A parameter, a `let` or a binder.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Where it is bound.
    pub span: Span,
    /// Its type.
    pub ty: Type,
}

/// A parameter; its local has the same number in the frame.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub span: Span,
    /// Its type.
    pub ty: Type,
    /// Its value without an argument; it may use the parameters before it.
    pub default: Option<Expr>,
}

/// A `let` at the top of a file: no `rank`, only constants and functions.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub span: Span,
    /// Its value.
    pub value: Expr,
    /// The locals that its value binds.
    pub frame: Frame,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub span: Span,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The type of its result.
    pub result: Type,
    /// Its value.
    pub body: Expr,
    /// Its locals, parameters first.
    pub frame: Frame,
}

/// A procedure.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub span: Span,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Its locals, parameters first.
    pub frame: Frame,
}

/// A collective. `in_place: bool` and `op` are understood by every `Implements` and are not among the parameters.
#[derive(Clone, Debug)]
pub struct Collective {
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub span: Span,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// `let`s and `require`s, in order.
    pub body: Vec<Stmt>,
    /// Chunks of the input buffer.
    pub input: Expr,
    /// Chunks of the output buffer.
    pub output: Expr,
    /// The `in_place` clause, if it has one.
    pub in_place: Option<InPlace>,
    /// Its promises.
    pub ensures: Vec<Ensures>,
    /// Its locals, parameters first.
    pub frame: Frame,
}

/// `in_place { input = output[..]; }`
#[derive(Clone, Debug)]
pub struct InPlace {
    /// The buffer that is a part of the other one.
    pub inner: BufferName,
    /// Which part it is: a slice of the other buffer, or that whole buffer.
    pub value: Expr,
    /// All of the clause.
    pub span: Span,
}

/// A promise, for all values of `binders`.
#[derive(Clone, Debug)]
pub struct Ensures {
    /// The values for which it is made.
    pub binders: Vec<Binder>,
    /// What holds when a rank has ended.
    pub claim: Claim,
    /// All of it.
    pub span: Span,
    /// Whether it mentions `rank` (or anything that depends on it); if not, it is the same for all ranks.
    pub mentions_rank: bool,
}

/// What a collective promises of a rank that has ended.
#[derive(Clone, Debug)]
pub enum Claim {
    /// A chunk of its output holds these contributions: `output == value`.
    Holds {
        /// The output chunk.
        output: Expr,
        /// The contributions.
        value: Promised,
    },
    /// That rank has begun: `begun(r)`.
    Begun(Expr),
    /// A chunk of its output has the same bits on all ranks that promise this: `same(output[i])`.
    Same(Expr),
}

/// The promised content of an output chunk.
#[derive(Clone, Debug)]
pub enum Promised {
    /// One input chunk.
    Chunk(Expr),
    /// The reduction of several: `reduce(r in 0..ranks: r.input[c])`.
    Reduce(Vec<Binder>, Expr),
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub span: Span,
    /// Its parameters, which `-D` sets; `ranks` is one of them.
    pub parameters: Vec<Parameter>,
    /// The local of the parameter `ranks`.
    pub ranks: Option<LocalId>,
    /// The local of the parameter `ranks_per_node`, if it has one.
    pub ranks_per_node: Option<LocalId>,
    /// The local of the parameter `ranks_per_domain`, if it has one.
    pub ranks_per_domain: Option<LocalId>,
    /// The collective that it implements.
    pub collective: Option<Implements>,
    /// The machine that it is for, if it says so.
    pub machine: Option<MachineUse>,
    /// Its options, in order; each at most once.
    pub options: Vec<OptionSetting>,
    /// Scratch regions, in order.
    pub scratch: Table<RegionId, Region>,
    /// Channel families, in order.
    pub channels: Table<ChannelFamilyId, ChannelFamily>,
    /// Semaphore families, in order.
    pub semaphores: Table<SemaphoreFamilyId, SemaphoreFamily>,
    /// Block families, in order of their first mention: those that are declared, and those that are only opened.
    pub blocks: Table<BlockFamilyId, BlockFamily>,
    /// Everything at the top level, in order: statements, and the position of each declaration among them.
    pub body: Vec<ProgramItem>,
    /// Its locals, parameters first.
    pub frame: Frame,
}

impl Program {
    /// A program without parameters and items, which is enough to evaluate what needs no program.
    #[must_use]
    pub fn without_items(span: Span) -> Program {
        Program {
            name: String::new(),
            span,
            parameters: Vec::new(),
            ranks: None,
            ranks_per_node: None,
            ranks_per_domain: None,
            collective: None,
            machine: None,
            options: Vec::new(),
            scratch: Table::default(),
            channels: Table::default(),
            semaphores: Table::default(),
            blocks: Table::default(),
            body: Vec::new(),
            frame: Frame::default(),
        }
    }
}

/// A part of a program's top level.
#[derive(Clone, Debug)]
pub enum ProgramItem {
    /// The region is declared here.
    Scratch(RegionId),
    /// The channels are declared here.
    Channel(ChannelFamilyId),
    /// The semaphores are declared here.
    Semaphore(SemaphoreFamilyId),
    /// The blocks are declared here.
    Block(BlockFamilyId),
    /// A statement.
    Statement(Box<Stmt>),
}

/// The collective of a program.
#[derive(Clone, Debug)]
pub struct Implements {
    /// The collective.
    pub collective: CollectiveId,
    /// The arguments: the parameter's position, and its value.
    pub arguments: Vec<(usize, Expr)>,
    /// `in_place = ..`, if it is given.
    pub in_place: Option<Expr>,
    /// `op = ..`, if it is given.
    pub op: Option<(Op, Span)>,
    /// All of it.
    pub span: Span,
}

/// A reduction, as the source names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `sum`
    Sum,
    /// `min`
    Min,
    /// `max`
    Max,
}

/// One option.
#[derive(Clone, Debug)]
pub struct OptionSetting {
    /// Its name.
    pub name: OptionName,
    /// Its value.
    pub value: OptionValue,
    /// All of it.
    pub span: Span,
}

/// The options of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptionName {
    /// `name`
    Name,
    /// `protocol`
    Protocol,
    /// `threads`
    Threads,
    /// `instances`
    Instances,
    /// `replication`
    Replication,
    /// `message_size`
    MessageSize,
    /// `alignment`
    Alignment,
    /// `double_scratch`
    DoubleScratch,
    /// `reuse_resources`
    ReuseResources,
    /// `tags`
    Tags,
    /// `fuse`
    Fuse,
    /// `auto_sync`
    AutoSync,
    /// `split_blocks`
    SplitBlocks,
}

/// The value of an option.
#[derive(Clone, Debug)]
pub enum OptionValue {
    /// An `int`, `bool` or `str`.
    Value(Expr),
    /// A word: `Simple`, `LL`, `interleaved`, `none`.
    Word(String),
    /// A range of bytes, from `from` to `to`.
    Bytes {
        /// The first end, if it is given.
        from: Option<Expr>,
        /// The other end, if it is given.
        to: Option<Expr>,
        /// Whether the other end is included (`..=`).
        inclusive: bool,
    },
    /// `{ nvls = 1 }`
    Map(Vec<(String, Expr)>),
}

/// A dimension of a family: the values that it runs over.
#[derive(Clone, Debug)]
pub enum Dimension {
    /// `p in peers if ..`: the binder's local is visible in later dimensions and in the declaration's value.
    Binder(Binder),
    /// `n`: means `0..n`.
    Count(Expr),
}

/// `p in peers if p > rank`
#[derive(Clone, Debug)]
pub struct Binder {
    /// The local that is bound to each value in turn.
    pub local: LocalId,
    /// A list of integers (or of anything else, in operands and loops).
    pub list: Expr,
    /// A condition that may use the local.
    pub filter: Option<Expr>,
}

/// Warnings that an attribute accepts: `#[allow(shared, "why")]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The words: `shared`, `clobber`, or a code such as `W0201`.
    pub words: Vec<String>,
}

/// A scratch region.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// The declaration, without `scratch`.
    pub span: Span,
    /// Its extents, at least one.
    pub dimensions: Vec<Dimension>,
    /// The words that are accepted for it.
    pub allowed: Allowed,
}

/// A channel, or a family of them.
#[derive(Clone, Debug)]
pub struct ChannelFamily {
    /// Its name.
    pub name: String,
    /// The declaration.
    pub span: Span,
    /// The dimensions of the family; empty for a single channel.
    pub dimensions: Vec<Dimension>,
    /// What it connects to.
    pub link: Link,
    /// The other end, if it is named; otherwise it is of the same name, with this rank in place of the peer.
    pub to: Option<ChannelEnd>,
    /// The words that are accepted for it.
    pub allowed: Allowed,
}

/// What a channel connects to.
#[derive(Clone, Debug)]
pub enum Link {
    /// `memory(p)`
    Memory(Peer),
    /// `port(p)`
    Port(Peer),
    /// `switch(ranks, buffer)`: the members, and a whole buffer.
    Switch(Expr, BufferName),
    /// `if near(p) { memory(p) } else { port(p) }`
    If(Expr, Box<Link>, Box<Link>),
}

impl Link {
    /// What it may be, by its conditions: never [`Link::If`].
    #[must_use]
    pub fn cases(&self) -> Vec<&Link> {
        match self {
            Link::Memory(_) | Link::Port(_) | Link::Switch(..) => vec![self],
            Link::If(_, then, otherwise) => [then.cases(), otherwise.cases()].concat(),
        }
    }
}

/// The rank to which a channel leads.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The rank.
    pub rank: Expr,
    /// The dimension of the family whose binder is the rank, if there is one.
    pub dimension: Option<usize>,
}

/// `to behind[p]`
#[derive(Clone, Debug)]
pub struct ChannelEnd {
    /// The family.
    pub family: ChannelFamilyId,
    /// The indices.
    pub indices: Vec<Expr>,
    /// Where it is.
    pub span: Span,
}

/// A semaphore, or a family of them.
#[derive(Clone, Debug)]
pub struct SemaphoreFamily {
    /// Its name.
    pub name: String,
    /// The declaration.
    pub span: Span,
    /// The dimensions of the family; empty for a single semaphore.
    pub dimensions: Vec<Dimension>,
    /// The value it starts with; 0 if left out.
    pub initial: Option<Expr>,
    /// The words that are accepted for it.
    pub allowed: Allowed,
}

/// A block, or a family of them.
#[derive(Clone, Debug)]
pub struct BlockFamily {
    /// Its name.
    pub name: String,
    /// The declaration, or the first opening.
    pub span: Span,
    /// Its number of indices.
    pub arity: usize,
    /// The declaration's dimensions; none if it is only opened.
    pub dimensions: Option<Vec<Dimension>>,
    /// The pinned id, which may use the dimensions' locals.
    pub id: Option<Expr>,
    /// The words that are accepted for it.
    pub allowed: Allowed,
}

/// `input`, `output` or a scratch region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferName {
    /// `input`
    Input,
    /// `output`
    Output,
    /// A region.
    Scratch(RegionId),
}
