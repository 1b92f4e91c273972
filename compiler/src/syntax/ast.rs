//! The syntax tree: what the author wrote, with a span on every node; plain data.
//!
//! One type per production of `grammar/ccl.ebnf`. The tree of a faulty text holds whatever could be understood:
//! statements and items that make no sense are left out, and an expression that makes none becomes
//! [`ExprKind::Error`]. Later phases report nothing about it, since it has been reported already.

mod topology;

use crate::source::Span;
use grammar::verb::Verb;
pub use topology::{
    Direction, Link, LinkEnds, Machine, Ports, Property, PropertyValue, RankCount, Switch,
    Topology, TopologyItem, TopologyItemKind,
};

/// A name where it is declared or used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name itself.
    pub text: String,
    /// Where it is.
    pub span: Span,
}

/// A line of documentation, `///` or `//!`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// The text after the slashes, without the space after them.
    pub text: String,
    /// The whole comment.
    pub span: Span,
}

/// `#[allow(shared, "why")]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The word before the parenthesis: `allow`.
    pub name: Name,
    /// Its arguments: `shared`.
    pub arguments: Vec<Name>,
    /// The reason, if one is given.
    pub reason: Option<String>,
    /// From `#` to `]`.
    pub span: Span,
}

/// A file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The `//!` lines.
    pub docs: Vec<Doc>,
    /// Its items, in order.
    pub items: Vec<Item>,
    /// The whole file.
    pub span: Span,
}

/// A declaration at the top of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The `///` lines above it.
    pub docs: Vec<Doc>,
    /// The attributes above it.
    pub attributes: Vec<Attribute>,
    /// Its kind, with its content.
    pub kind: ItemKind,
    /// From its first word to its end, without docs and attributes.
    pub span: Span,
}

/// The kinds of [`Item`].
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `use std::patterns::handshake;`
    Use(Use),
    /// `let table = [[1, 2], [0, 1]];`
    Let(Let),
    /// `fn next(r: rank, n: int) -> rank = (r + 1) % n;`
    Function(Function),
    /// `proc handshake(c: channel[]) { .. }`
    Procedure(Procedure),
    /// `collective allgather(ranks: int, chunks: int = 1) { .. }`
    Collective(Collective),
    /// `topology ring(ranks: int) { .. }`
    Topology(Topology),
    /// `program ring(ranks: int = 8) { .. }`
    Program(Program),
}

impl ItemKind {
    /// What it declares; none for imports.
    #[must_use]
    pub fn declared_name(&self) -> Option<&Name> {
        match self {
            ItemKind::Use(_) => None,
            ItemKind::Let(item) => Some(&item.name),
            ItemKind::Function(item) => Some(&item.name),
            ItemKind::Procedure(item) => Some(&item.name),
            ItemKind::Collective(item) => Some(&item.name),
            ItemKind::Topology(item) => Some(&item.name),
            ItemKind::Program(item) => Some(&item.name),
        }
    }
}

/// `use std::collectives::{allgather, allreduce as sum};`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Where the path begins: `std`, or a file.
    pub root: UseRoot,
    /// The names after it, up to the braces.
    pub path: Vec<Name>,
    /// The names in braces; without braces, the last name of the path with its `as`.
    pub names: Vec<UseName>,
    /// Whether there are braces.
    pub braced: bool,
}

/// The first part of a `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseRoot {
    /// A library: `std`.
    Name(Name),
    /// A file, relative to this one.
    File(Str),
}

/// A string literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Str {
    /// Its text, escapes resolved.
    pub text: String,
    /// With its quotes.
    pub span: Span,
}

/// One imported name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseName {
    /// The name in the other file.
    pub name: Name,
    /// Its name here, if that differs.
    pub alias: Option<Name>,
}

impl UseName {
    /// Its name in this file.
    #[must_use]
    pub fn known_as(&self) -> &Name {
        self.alias.as_ref().unwrap_or(&self.name)
    }
}

/// `let name: type = value;`
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// What is bound.
    pub name: Name,
    /// Its type, if it is given.
    pub ty: Option<Type>,
    /// Its value.
    pub value: Expr,
}

/// A compile-time function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The type of its result, if it is given.
    pub result: Option<Type>,
    /// Its value.
    pub body: Expr,
}

/// A compile-time procedure: statements with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its statements.
    pub body: Body,
}

/// `name: type = default`
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: Name,
    /// Its type, if it is given.
    pub ty: Option<Type>,
    /// Its value if no argument is given.
    pub default: Option<Expr>,
}

/// `channel[]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The word: `int`, `rank`, `channel`.
    pub name: Name,
    /// How many `[]` follow.
    pub lists: u32,
    /// All of it.
    pub span: Span,
}

/// A collective: what ranks begin with, and what they must end with.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its clauses, in order.
    pub items: Vec<CollectiveItem>,
}

/// A clause of a collective.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveItem {
    /// The `///` lines above it.
    pub docs: Vec<Doc>,
    /// The attributes above it.
    pub attributes: Vec<Attribute>,
    /// Its kind, with its content.
    pub kind: CollectiveItemKind,
    /// From its first word to its end.
    pub span: Span,
}

/// The kinds of [`CollectiveItem`].
#[derive(Clone, Debug, PartialEq)]
pub enum CollectiveItemKind {
    /// A constant.
    Let(Let),
    /// A condition on the parameters.
    Require(Require),
    /// `input[chunks];`
    Size(Size),
    /// `in_place { input = output[rank]; }`
    InPlace(InPlace),
    /// `ensures for c in 0..n { output[c] == input[c] }`
    Ensures(Ensures),
}

/// How many chunks a buffer has.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// `input` or `output`.
    pub buffer: Name,
    /// The number of chunks.
    pub chunks: Expr,
}

/// One buffer as a part of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct InPlace {
    /// `input` or `output`: the one that is a part of the other.
    pub buffer: Name,
    /// The slice that it is.
    pub value: Expr,
}

/// A promise about output chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensures {
    /// The values for which it is made.
    pub binders: Vec<Binder>,
    /// The promise, an equality.
    pub promise: Expr,
}

/// A program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: Name,
    /// Its parameters, which `-D` sets.
    pub parameters: Vec<Parameter>,
    /// Its declarations and statements, in order.
    pub items: Vec<ProgramItem>,
    /// The brace that ends it, for reports about something missing.
    pub end: Span,
}

/// A declaration or statement at a program's top level.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramItem {
    /// The `///` lines above it.
    pub docs: Vec<Doc>,
    /// The attributes above it.
    pub attributes: Vec<Attribute>,
    /// Its kind, with its content.
    pub kind: ProgramItemKind,
    /// From its first word to its end.
    pub span: Span,
}

/// The kinds of [`ProgramItem`].
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramItemKind {
    /// `collective allgather(ranks, in_place = true);`
    Implements(Implements),
    /// `topology dgx1;`
    Machine(Machine),
    /// `options { protocol = LL; }`
    Options(Vec<OptionSetting>),
    /// `scratch inbox[p in peers];`
    Scratch(Scratch),
    /// `channel mem[p in peers] = memory(p);`
    Channel(Channel),
    /// `semaphore ready[p in peers] = 0;`
    Semaphore(Semaphore),
    /// Anything else.
    Statement(StmtKind),
}

/// The collective that a program implements.
#[derive(Clone, Debug, PartialEq)]
pub struct Implements {
    /// The collective's name.
    pub name: Name,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// The names of all options.
pub const OPTION_NAMES: &[&str] = &[
    "name",
    "protocol",
    "threads",
    "instances",
    "replication",
    "message_size",
    "alignment",
    "double_scratch",
    "reuse_resources",
    "tags",
    "fuse",
    "auto_sync",
    "split_blocks",
];

/// `name = value;` in an `options` block.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSetting {
    /// The option.
    pub name: Name,
    /// The value that it is set to.
    pub value: OptionValue,
    /// All of it.
    pub span: Span,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// An expression or an open range.
    Index(Index),
    /// `{ nvls = 1, level = 2 }`, not empty.
    Map(Vec<(Name, Expr)>, Span),
}

/// A region of scratch memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Scratch {
    /// Its name.
    pub name: Name,
    /// Its dimensions.
    pub dimensions: Vec<Dimension>,
}

/// A channel or a family of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Its name.
    pub name: Name,
    /// The dimensions of the family; empty for a single channel.
    pub dimensions: Vec<Dimension>,
    /// `memory(p)`, `port(p)` or `switch(ranks, buffer)`.
    pub value: Expr,
    /// The other end, if it is named.
    pub to: Option<ChannelEnd>,
}

/// `to behind[far, 0]`
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelEnd {
    /// The other end's name.
    pub name: Name,
    /// Its indices there.
    pub indices: Vec<Expr>,
    /// All of it, `to` aside.
    pub span: Span,
}

/// A semaphore or a family of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Semaphore {
    /// Its name.
    pub name: Name,
    /// The dimensions of the family; empty for a single semaphore.
    pub dimensions: Vec<Dimension>,
    /// The value that it starts with.
    pub initial: Option<Expr>,
}

/// One dimension of a family: `p in peers`, a number, or an index.
#[derive(Clone, Debug, PartialEq)]
pub enum Dimension {
    /// `p in peers if p > rank`
    Binder(Binder),
    /// `ranks`, meaning `0..ranks`; where a block is opened, an index.
    Value(Expr),
    /// `*`, if a family of blocks is opened.
    All(Span),
}

/// `p in peers if p > rank`
#[derive(Clone, Debug, PartialEq)]
pub struct Binder {
    /// What is bound.
    pub name: Name,
    /// The list whose values it takes.
    pub list: Expr,
    /// The condition on these values.
    pub filter: Option<Box<Expr>>,
    /// All of it.
    pub span: Span,
}

/// Statements in braces.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The statements, in order.
    pub statements: Vec<Stmt>,
    /// With its braces.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// The attributes above it.
    pub attributes: Vec<Attribute>,
    /// Its kind, with its content.
    pub kind: StmtKind,
    /// From its first word to its `;` or `}`.
    pub span: Span,
}

/// The kinds of [`Stmt`].
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `let c = (rank - step) % ranks;`
    Let(Let),
    /// `require ranks > 1, "a ring needs two";`
    Require(Require),
    /// `for p in peers { .. }`
    For(Vec<Binder>, Body),
    /// `if rank == 0 { .. } else { .. }`
    If(If),
    /// `block send[p in peers] { .. }`, or a declaration of blocks
    Block(Block),
    /// `group pump[*] { .. }`
    Group(Vec<Operand>, Body),
    /// `pipeline unit = 1MiB, chunks = 1 { .. }`
    Pipeline(Vec<(Name, Expr)>, Body),
    /// `barrier send[*], pump[*];`
    Barrier(Vec<Operand>),
    /// `sync;`
    Sync,
    /// `put output[rank] -> p.output[rank] via mem[p];`
    Transfer(Transfer),
    /// `signal mem[*] relaxed;`
    Synchronise(Synchronise),
    /// `handshake(near);`
    Call(Name, Vec<Argument>),
}

/// A condition, and the message if it does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Require {
    /// The condition that must hold.
    pub condition: Expr,
    /// The message if it does not.
    pub message: Option<Str>,
}

/// `if .. { .. } else if .. { .. } else { .. }`
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// The condition.
    pub condition: Expr,
    /// The body that runs if the condition holds.
    pub then: Body,
    /// What follows `else`.
    pub otherwise: Option<Else>,
}

/// What follows `else`.
#[derive(Clone, Debug, PartialEq)]
pub enum Else {
    /// Another `if`.
    If(Box<If>),
    /// A body.
    Body(Body),
}

/// A block that is opened or declared.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name.
    pub name: Name,
    /// Binders (all of these) or indices (this one).
    pub dimensions: Vec<Dimension>,
    /// Its statements; none in a declaration.
    pub body: Option<Body>,
    /// The pinned id, in a declaration.
    pub id: Option<Expr>,
}

/// An operation that moves data.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The verb.
    pub verb: Verb,
    /// Where the verb is.
    pub verb_span: Span,
    /// The operands to the left of the arrow.
    pub sources: Vec<Operand>,
    /// The operands to the right of the arrow.
    pub destinations: Vec<Operand>,
    /// The channels, or none.
    pub via: Vec<Operand>,
    /// The words after the operands.
    pub modifiers: Vec<Modifier>,
}

/// An operation on channels or semaphores.
#[derive(Clone, Debug, PartialEq)]
pub struct Synchronise {
    /// The verb.
    pub verb: SynchroniseVerb,
    /// Where the verb is.
    pub verb_span: Span,
    /// The channels or semaphores.
    pub operands: Vec<Operand>,
    /// The words after the operands.
    pub modifiers: Vec<Modifier>,
}

/// The verbs that synchronize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SynchroniseVerb {
    /// `signal`
    Signal,
    /// `wait`
    Wait,
    /// `flush`
    Flush,
    /// `acquire`
    Acquire,
    /// `release`
    Release,
}

/// A word after an operation's operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Modifier {
    /// `relaxed`
    Relaxed(Span),
    /// `op = max`
    Op(Name),
    /// `sync = before`
    Sync(Name),
    /// `slice = 1 of 4`: this block's part of a group's operation, as `dump` prints it.
    Slice(Expr, Expr),
}

/// One operand, or one for each value of binders.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// `output[rank]`
    One(Expr),
    /// `(p in peers: p.output[rank])`
    Each(Vec<Binder>, Expr, Span),
}

/// `value` or `name = value`
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The parameter's name, if it is given.
    pub name: Option<Name>,
    /// The value.
    pub value: Expr,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Its kind, with its content.
    pub kind: ExprKind,
    /// Where it is, without parentheses around it.
    pub span: Span,
}

/// The kinds of [`Expr`].
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `512KiB`. A number that does not fit in 64 bits has been reported and is an [`ExprKind::Error`].
    Int(i64),
    /// `25GBps`, in bytes per second
    Rate(i64),
    /// `350ns`, in nanoseconds
    Time(i64),
    /// `"text"`
    Str(String),
    /// `true`
    Bool(bool),
    /// `peers`
    Name(String),
    /// `-x`, `!x`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a..b`, `a..=b`, `a..+n`
    Range(RangeKind, Box<Expr>, Box<Expr>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{a, b}`
    Set(Vec<Expr>),
    /// `{p in peers if p > rank: p.node}`, `[p in peers: p.node]`
    Each(Gathered, Vec<Binder>, Option<Box<Expr>>),
    /// `if a { b } else { c }`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `f(a, b)`
    Call(Name, Vec<Argument>),
    /// `sum(p in peers: f(p))`
    Fold(Name, Vec<Binder>, Box<Expr>),
    /// `p.node`, `nvls.input`
    Field(Box<Expr>, Name),
    /// `list.step(2)`
    Method(Box<Expr>, Name, Vec<Argument>),
    /// `inbox[p, ..]`
    Index(Box<Expr>, Vec<Index>),
    /// An expression that could not be understood; it has been reported.
    Error,
}

/// Whether values that are gathered one after the other make a list or a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// `[..]`: all of them.
    List,
    /// `{..}`: each once.
    Set,
}

/// What is in brackets after a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `*`: each member.
    All(Span),
    /// `..`: the whole extent.
    Whole(Span),
    /// An expression, which may be a range.
    At(Expr),
    /// `..b`, or `..=b` if the flag is true.
    To(Expr, bool, Span),
    /// `a..`
    From(Expr, Span),
}

/// Operators before an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `!`
    Not,
}

/// Operators between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, rounding down
    Divide,
    /// `%`, Euclidean
    Remainder,
}

/// The three ways to write a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RangeKind {
    /// `a..b`
    HalfOpen,
    /// `a..=b`
    Inclusive,
    /// `a..+n`
    Length,
}
