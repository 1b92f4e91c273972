//! The words of the ccl language: a single table from which editor grammars, completion and documentation are
//! made.
//!
//! The table is data and does not depend on the compiler. The verbs that move data have rows of their own ([`verb`]), which
//! the compiler reads; its tests compare the other words with its own.

pub mod forms;
pub mod highlight;
mod pattern;
pub mod textmate;
pub mod verb;

use verb::Verb;

/// A word or sign of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its spelling.
    pub text: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its meaning, in one line.
    pub doc: &'static str,
}

/// The kind of a [`Word`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Begins an item, a declaration or a statement; reserved.
    Declaration,
    /// Occurs inside one of these, or controls evaluation; reserved.
    Control,
    /// `true` and `false`; reserved.
    Constant,
    /// Has no meaning yet, but cannot be a name; reserved.
    Future,
    /// Begins an operation that moves data; a name elsewhere.
    Transfer,
    /// Begins an operation that synchronizes; a name elsewhere.
    Synchronise,
    /// Has a meaning in certain places; a name elsewhere.
    Clause,
    /// A type.
    Type,
    /// A name that is defined in every body.
    Builtin,
    /// A field of a rank.
    Field,
    /// A builtin function.
    Function,
    /// A method of lists.
    Method,
    /// Makes a channel.
    Link,
    /// An option of a program.
    Option,
    /// A possible value of an option or modifier.
    Value,
    /// What a link, port or switch of a topology can be used for.
    Ability,
    /// An argument of an attribute.
    Attribute,
    /// Follows a number.
    Unit,
    /// A sign between or before expressions.
    Operator,
    /// Any other sign.
    Punctuation,
}

impl Kind {
    /// Whether words of this kind cannot be names.
    #[must_use]
    pub fn is_reserved(self) -> bool {
        matches!(self, Kind::Declaration | Kind::Control | Kind::Constant | Kind::Future)
    }
}

/// The words of one kind, in the table's order.
pub fn of_kind(kind: Kind) -> impl Iterator<Item = &'static Word> {
    WORDS.iter().filter(move |word| word.kind == kind)
}

const fn word(kind: Kind, text: &'static str, doc: &'static str) -> Word {
    Word { text, kind, doc }
}

/// Every word and sign of the language.
pub const WORDS: &[Word] = &join_words();

const COUNT: usize = BEFORE_TRANSFERS.len() + Verb::ALL.len() + AFTER_TRANSFERS.len();

/// The words and signs in the table's order, with those of [`verb`] in their place.
#[expect(clippy::indexing_slicing, reason = "what is outside of a table ends the compilation")]
const fn join_words() -> [Word; COUNT] {
    let mut words = [BEFORE_TRANSFERS[0]; COUNT];
    let mut at = 0;
    while at < COUNT {
        words[at] = if at < BEFORE_TRANSFERS.len() {
            BEFORE_TRANSFERS[at]
        } else if at < BEFORE_TRANSFERS.len() + Verb::ALL.len() {
            let row = Verb::ALL[at - BEFORE_TRANSFERS.len()].row();
            word(Kind::Transfer, row.word, row.doc)
        } else {
            AFTER_TRANSFERS[at - BEFORE_TRANSFERS.len() - Verb::ALL.len()]
        };
        at += 1;
    }
    words
}

/// The words before the verbs that move data.
const BEFORE_TRANSFERS: &[Word] = &[
    word(Kind::Declaration, "use", "imports names from the library or from another file"),
    word(Kind::Declaration, "let", "binds a name to a value that is known at compile time"),
    word(Kind::Declaration, "fn", "declares a function that computes a value from values"),
    word(Kind::Declaration, "proc", "declares a procedure: a named sequence of statements"),
    word(
        Kind::Declaration,
        "collective",
        "declares a collective, or says which one a program implements",
    ),
    word(Kind::Declaration, "program", "declares a program"),
    word(
        Kind::Declaration,
        "topology",
        "declares a machine: its ranks and what joins them; in a program, the machine that it is for",
    ),
    word(Kind::Declaration, "link", "declares a link of a topology, or a family of links"),
    word(Kind::Declaration, "options", "sets the options of a program"),
    word(Kind::Declaration, "require", "stops compilation with a message if a condition is false"),
    word(Kind::Declaration, "scratch", "declares a region of scratch memory, measured in chunks"),
    word(Kind::Declaration, "channel", "declares an end of a channel, or a family of ends"),
    word(
        Kind::Declaration,
        "semaphore",
        "declares a semaphore between thread blocks of one rank, or a family of them",
    ),
    word(Kind::Declaration, "block", "declares thread blocks, or gives them statements to run"),
    word(Kind::Declaration, "group", "makes several thread blocks share each operation"),
    word(
        Kind::Declaration,
        "pipeline",
        "repeats operations over windows of a fixed number of bytes",
    ),
    word(Kind::Control, "for", "repeats statements for each value of a list"),
    word(Kind::Control, "in", "separates a bound variable from its list"),
    word(Kind::Control, "if", "chooses by a condition, or filters a list"),
    word(Kind::Control, "else", "begins the alternative of an `if`"),
    word(Kind::Control, "as", "renames an import"),
    word(Kind::Control, "via", "names the channels of an operation"),
    word(Kind::Control, "relaxed", "orders execution only, not data"),
    word(Kind::Constant, "true", "the Boolean value true"),
    word(Kind::Constant, "false", "the Boolean value false"),
    word(Kind::Future, "flow", "reserved for later versions"),
    word(Kind::Future, "synthesize", "reserved for later versions"),
];

/// The words and signs after the verbs that move data.
const AFTER_TRANSFERS: &[Word] = &[
    word(Kind::Synchronise, "signal", "sends a signal to the other end of each channel"),
    word(Kind::Synchronise, "wait", "waits for one more signal on each channel"),
    word(Kind::Synchronise, "flush", "waits until a port channel has completed all its requests"),
    word(Kind::Synchronise, "acquire", "waits until each semaphore is positive, and decrements it"),
    word(Kind::Synchronise, "release", "increments each semaphore"),
    word(Kind::Synchronise, "barrier", "synchronizes the named thread blocks of this rank"),
    word(
        Kind::Synchronise,
        "sync",
        "synchronizes the threads of this block; before `=`, says where an operation does so",
    ),
    word(Kind::Clause, "input", "the buffer with the user's data; in a collective, its size"),
    word(Kind::Clause, "output", "the buffer for the result; in a collective, its size"),
    word(Kind::Clause, "in_place", "says how input and output share memory"),
    word(Kind::Clause, "ensures", "states what a collective promises about output chunks"),
    word(Kind::Clause, "op", "the reduction of an operation or a collective"),
    word(Kind::Clause, "to", "names the other end of a channel"),
    word(Kind::Clause, "std", "the standard library"),
    word(Kind::Clause, "unit", "the number of bytes in a pipeline's window"),
    word(
        Kind::Clause,
        "slice",
        "the part of a group's operation that a block executes, as `cclc dump` writes it",
    ),
    word(Kind::Clause, "of", "separates the number of a part from the number of parts"),
    word(Kind::Clause, "chunks", "the number of chunks that every operation of a pipeline covers"),
    word(Kind::Type, "int", "a 64-bit integer"),
    word(Kind::Type, "bool", "a Boolean"),
    word(Kind::Type, "rank", "the number of a rank"),
    word(Kind::Type, "rate", "a number of bytes per second, such as `25GBps` or `400Gbps`"),
    word(Kind::Type, "time", "a time in nanoseconds, such as `350ns` or `1.5us`"),
    word(Kind::Type, "chunk", "a slice of a buffer, of any rank"),
    word(Kind::Type, "buffer", "a whole buffer"),
    word(Kind::Builtin, "rank", "this rank"),
    word(Kind::Builtin, "ranks", "the number of ranks"),
    word(Kind::Builtin, "peers", "all ranks but this one, ascending"),
    word(Kind::Builtin, "node", "the number of this rank's node"),
    word(Kind::Builtin, "nodes", "the number of nodes"),
    word(Kind::Builtin, "local_rank", "this rank's number in its node"),
    word(Kind::Builtin, "ranks_per_node", "the number of ranks in each node"),
    word(Kind::Builtin, "node_peers", "the other ranks of this rank's node, ascending"),
    word(
        Kind::Builtin,
        "rail_peers",
        "the ranks of other nodes with this rank's local rank, ascending",
    ),
    word(Kind::Field, "peers", "all ranks but that one, ascending"),
    word(Kind::Field, "node", "the number of that rank's node"),
    word(Kind::Field, "local_rank", "that rank's number in its node"),
    word(Kind::Field, "node_peers", "the other ranks of that rank's node, ascending"),
    word(
        Kind::Field,
        "rail_peers",
        "the ranks of other nodes with that rank's local rank, ascending",
    ),
    word(Kind::Function, "rank_at", "the rank of a node and a local rank"),
    word(Kind::Function, "min", "the minimum of its arguments, of a list, or over bound variables"),
    word(Kind::Function, "max", "the maximum of its arguments, of a list, or over bound variables"),
    word(Kind::Function, "abs", "the absolute value"),
    word(Kind::Function, "sum", "the sum over bound variables"),
    word(Kind::Function, "all", "whether a condition holds for all values of bound variables"),
    word(Kind::Function, "any", "whether a condition holds for some values of bound variables"),
    word(Kind::Function, "begun", "in an `ensures`, whether that rank has begun"),
    word(
        Kind::Function,
        "same",
        "in an `ensures`, whether an output chunk has the same bits on all ranks that promise it",
    ),
    word(Kind::Method, "len", "the number of values"),
    word(Kind::Method, "position", "the first position of a value, counted from 0"),
    word(Kind::Method, "contains", "whether a value is in the list"),
    word(Kind::Method, "step", "every n-th value, beginning with the first"),
    word(Kind::Method, "rev", "the values in reverse order"),
    word(Kind::Link, "memory", "a channel to a peer whose memory is mapped"),
    word(Kind::Link, "port", "a channel to a peer through a proxy on the host"),
    word(Kind::Link, "switch", "a channel to a buffer of many ranks through the switch"),
    word(Kind::Option, "name", "the plan's name"),
    word(Kind::Option, "protocol", "whether packets are used"),
    word(Kind::Option, "threads", "the number of threads in a block"),
    word(
        Kind::Option,
        "instances",
        "the number of copies of the program that run side by side, each on its slice",
    ),
    word(Kind::Option, "replication", "how the copies are laid out"),
    word(Kind::Option, "message_size", "the sizes that the plan serves, in bytes"),
    word(Kind::Option, "alignment", "the size, in bytes, of which every chunk is a multiple"),
    word(
        Kind::Option,
        "double_scratch",
        "whether launches alternate between two halves of scratch",
    ),
    word(
        Kind::Option,
        "reuse_resources",
        "whether the executor keeps one set of resources for all messages",
    ),
    word(Kind::Option, "tags", "numbers with names, for the manifest"),
    word(Kind::Option, "fuse", "whether operations are joined if that saves work"),
    word(Kind::Option, "auto_sync", "whether synchronization inside thread blocks is inferred"),
    word(Kind::Option, "split_blocks", "whether long thread blocks are continued in further ones"),
    word(Kind::Value, "Simple", "no packets"),
    word(Kind::Value, "LL", "packets in scratch, which carry their own signal"),
    word(Kind::Value, "interleaved", "the copies of each item are next to each other"),
    word(Kind::Value, "none", "no copies; for `sync`, no synchronization"),
    word(Kind::Value, "before", "the threads of the block synchronize before the operation"),
    word(Kind::Value, "after", "the threads of the block synchronize after the operation"),
    word(
        Kind::Value,
        "both",
        "the threads of the block synchronize before and after the operation",
    ),
    word(Kind::Clause, "switch", "declares a switch of a topology, or a family of switches"),
    word(Kind::Clause, "ports", "what a switch of a topology joins"),
    word(Kind::Clause, "on", "the ranks of a topology that a program uses"),
    word(Kind::Clause, "without", "the links that a program's machine lacks"),
    word(
        Kind::Clause,
        "bandwidth",
        "what a link or port carries in each direction: a rate, or a number where only ratios matter",
    ),
    word(Kind::Clause, "latency", "the time that a link or port takes for the first byte"),
    word(Kind::Clause, "abilities", "what a link, port or switch can be used for"),
    word(Kind::Ability, "memory", "memory channels lead over it"),
    word(Kind::Ability, "port", "port channels lead over it"),
    word(Kind::Ability, "multicast", "the switch stores to several ranks at once"),
    word(Kind::Ability, "reduce", "the switch combines what several ranks hold"),
    word(Kind::Attribute, "allow", "accepts a warning or requests a weaker check"),
    word(Kind::Attribute, "shared", "several blocks may use one end of a channel or semaphore"),
    word(Kind::Attribute, "clobber", "the input may be written"),
    word(Kind::Unit, "KiB", "times 1024"),
    word(Kind::Unit, "MiB", "times 1024 * 1024"),
    word(Kind::Unit, "GiB", "times 1024 * 1024 * 1024"),
    word(Kind::Unit, "Bps", "bytes per second"),
    word(Kind::Unit, "KBps", "1000 bytes per second"),
    word(Kind::Unit, "MBps", "1000 * 1000 bytes per second"),
    word(Kind::Unit, "GBps", "1000 * 1000 * 1000 bytes per second"),
    word(Kind::Unit, "TBps", "1000 * 1000 * 1000 * 1000 bytes per second"),
    word(Kind::Unit, "Kbps", "1000 bits per second"),
    word(Kind::Unit, "Mbps", "1000 * 1000 bits per second"),
    word(Kind::Unit, "Gbps", "1000 * 1000 * 1000 bits per second"),
    word(Kind::Unit, "Tbps", "1000 * 1000 * 1000 * 1000 bits per second"),
    word(Kind::Unit, "ns", "nanoseconds"),
    word(Kind::Unit, "us", "1000 nanoseconds"),
    word(Kind::Unit, "ms", "1000 * 1000 nanoseconds"),
    word(Kind::Operator, "||", "or; the right side is evaluated only if the left side is false"),
    word(Kind::Operator, "&&", "and; the right side is evaluated only if the left side is true"),
    word(Kind::Operator, "==", "equal; in an `ensures`, states what a chunk holds"),
    word(Kind::Operator, "!=", "not equal"),
    word(Kind::Operator, "<", "less than"),
    word(Kind::Operator, "<=", "less than or equal to"),
    word(Kind::Operator, ">", "greater than"),
    word(Kind::Operator, ">=", "greater than or equal to"),
    word(Kind::Operator, "|", "bitwise or"),
    word(Kind::Operator, "^", "bitwise exclusive or"),
    word(Kind::Operator, "&", "bitwise and"),
    word(Kind::Operator, "<<", "shifts bits left"),
    word(Kind::Operator, ">>", "shifts bits right"),
    word(Kind::Operator, "+", "sum"),
    word(Kind::Operator, "-", "difference, or negation"),
    word(Kind::Operator, "*", "product; in brackets, every member"),
    word(Kind::Operator, "/", "quotient, rounded down"),
    word(Kind::Operator, "%", "remainder, never negative for a positive divisor"),
    word(Kind::Operator, "!", "not"),
    word(Kind::Operator, "..", "a range without its end; in brackets alone, the whole extent"),
    word(Kind::Operator, "..=", "a range including its end"),
    word(Kind::Operator, "..+", "a range given by its start and length"),
    word(
        Kind::Punctuation,
        "->",
        "separates sources from destinations, and the ends of a link; in a function, precedes the result type",
    ),
    word(
        Kind::Punctuation,
        "<->",
        "joins two vertices of a topology, with a link for each direction",
    ),
    word(Kind::Punctuation, "=", "precedes a value"),
    word(Kind::Punctuation, "::", "separates the names of a path"),
    word(Kind::Punctuation, ":", "precedes a type or a value"),
    word(Kind::Punctuation, ";", "ends a declaration or an operation"),
    word(Kind::Punctuation, ",", "separates members"),
    word(Kind::Punctuation, ".", "precedes a field, a method or a buffer of a rank"),
    word(Kind::Punctuation, "#", "begins an attribute"),
    word(Kind::Punctuation, "(", "opens arguments, operands or an expression"),
    word(Kind::Punctuation, ")", "closes them"),
    word(Kind::Punctuation, "[", "opens indices or a list"),
    word(Kind::Punctuation, "]", "closes them"),
    word(Kind::Punctuation, "{", "opens a body or a set"),
    word(Kind::Punctuation, "}", "closes it"),
    word(Kind::Punctuation, "//", "begins a comment, to the end of the line"),
    word(Kind::Punctuation, "///", "documents the declaration below"),
    word(Kind::Punctuation, "//!", "documents the file"),
];
