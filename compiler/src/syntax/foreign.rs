//! Words of other languages, and what to write in ccl instead: most authors of ccl programs have written other
//! languages before.

/// How to make a list from another one.
const EACH: &str = "to compute a value for each member of a list, write `[p in list: value]`; to filter a list, `[p in list if c]`";

/// How to write a function, whose body other languages put in braces.
pub const RETURN: &str =
    "a function is a single expression, without `return`: `fn f(x: int) -> int = x + 1;`";

/// How to write a function that other languages write as a value.
pub const LAMBDA: &str = "functions have names: declare `fn f(x: int) -> int = x + 1;` at the top level of the file, and call `f(1)`";

/// How the threads of a block synchronize.
const SYNC: &str = "the threads of a block synchronize wherever the program needs it; to request it at a place, write `sync;`";

/// How to write a list, which other languages put in parentheses, too.
pub const LIST: &str = "parentheses go around a single value; a list is in brackets: `[a, b]`";

/// How to declare several things.
pub const ONE: &str = "declare one thing at a time: end this declaration with `;`, and begin the next one with its keyword";

/// How to name something that is declared elsewhere.
pub const PATH: &str = "use names without their paths: import them at the top of the file, as in `use std::collectives::allgather;`";

/// How to write ranges.
pub const RANGES: &str = "`a..b` ends before `b`, `a..=b` with `b`, and `a..+n` has `n` values";

/// How to leave out members of a list.
pub const STEP: &str = "for every n-th member of a list, write `list.step(n)`: `(0..8).step(2)`";

/// How to write a loop over members with their places.
pub const PLACES: &str = "a loop binds one name; for the places of members, too, write `for i in 0..list.len() { let p = list[i]; .. }`";

/// How to test whether a list holds a value, which other languages write with `in`.
pub const CONTAINS: &str = "to test whether a list holds a value, write `list.contains(value)`; to combine values of all members, `all(p in list: value)`";

/// How to write a body, which other languages put after `:`.
pub const BRACES: &str = "a body goes in braces: `for p in peers { .. }`";

/// The operator that replaces a word between values.
#[must_use]
pub fn operator(word: &str) -> Option<&'static str> {
    Some(match word {
        "and" => "&&",
        "or" => "||",
        "is" => "==",
        "mod" => "%",
        "div" => "/",
        "xor" => "^",
        _ => return None,
    })
}

/// Whether a word is one that others put between what is moved and the channel that moves it.
#[must_use]
pub fn is_via(word: &str) -> bool {
    matches!(word, "on" | "over" | "through" | "using" | "with" | "from" | "by" | "at")
}

/// Whether a word stands for `else if` in other languages.
#[must_use]
pub fn is_else_if(word: &str) -> bool {
    matches!(word, "elif" | "elseif" | "elsif")
}

/// Whether a word stands for `for` before what a promise is for.
#[must_use]
pub fn is_for(word: &str) -> bool {
    matches!(word, "forall" | "foreach" | "all" | "each" | "every" | "any")
}

/// Whether a declaration with this word has braces around parts of a type, rather than around statements.
#[must_use]
pub fn declares_type(word: &str) -> bool {
    matches!(
        word,
        "struct" | "class" | "enum" | "union" | "typedef" | "trait" | "impl" | "interface"
    )
}

/// How to convert between types, which other languages do by name.
const CONVERSION: &str =
    "nothing has to be converted: a rank is a number, and numbers are integers";

/// How to declare a channel, which other languages make as an object.
const CHANNEL: &str =
    "declare channels at the top level of the program: `channel c[p in peers] = memory(p);`";

/// Whether a word adds nothing before what a statement is about, as in `signal all mem`.
#[must_use]
pub fn is_filler(word: &str) -> bool {
    matches!(
        word,
        "all"
            | "each"
            | "every"
            | "any"
            | "on"
            | "to"
            | "for"
            | "over"
            | "from"
            | "the"
            | "channel"
            | "channels"
            | "semaphore"
            | "block"
            | "blocks"
            | "data"
            | "chunk"
            | "buffer"
    )
}

/// What to write instead of a word after a value.
#[must_use]
pub fn behind_value(word: &str) -> Option<&'static str> {
    Some(match word {
        "if" => "the condition comes first: `if c { a } else { b }`",
        "signal" | "with" => {
            "to signal behind the data, write `put_with_signal` over a port channel, or `signal c;` as a statement of its own"
        }
        "then" => "to choose between two values, write `if c { a } else { b }`",
        "implements" => "begin the program with what it implements: `collective allgather(ranks);`",
        "strong" => "signals and waits that are not `relaxed` are strong",
        "for" => EACH,
        "where" | "when" => "filter a list with `if`: `p in list if c`",
        "in" => {
            "`in` binds a name in `for`, in a list, and where channels and blocks are declared or opened; to test whether a list holds a value, write `list.contains(value)`"
        }
        "not" => "to test whether a list holds a value, write `list.contains(value)`",
        "tb" | "sendtb" | "recvtb" | "threadblock" | "thread_block" => {
            "an operation runs in the thread block that it is written in: `block name { .. }`"
        }
        "step" | "by" => STEP,
        "as" => CONVERSION,
        _ => return None,
    })
}

/// What to write instead of a statement or an item that begins with this word in other languages.
#[must_use]
pub fn statement(word: &str) -> Option<&'static str> {
    control(word).or_else(|| operation(word)).or_else(|| declaration(word))
}

/// What to write instead of a word that decides which statements run in other languages.
fn control(word: &str) -> Option<&'static str> {
    Some(match word {
        "unless" => "write `if !(c) { .. }`",
        "parallel" | "parfor" | "concurrent" => {
            "thread blocks run at the same time, and the statements of each one after the other: `block work[t in 0..4] { .. }`"
        }
        "while" | "loop" | "do" | "foreach" | "repeat" | "forall" => {
            "write a loop as `for i in 0..n { .. }`: how often it runs is known before the program runs"
        }
        "break" | "continue" => {
            "a loop cannot be left early: `for i in 0..n if c { .. }` skips iterations"
        }
        "elif" | "elseif" | "elsif" => "write `else if`",
        "switch" | "match" | "case" | "when" => "write `if a { .. } else if b { .. } else { .. }`",
        "pass" => "write an empty body as `{ }`",
        "assert" | "check" | "verify" => "to check parameters, write `require condition, \"why\";`",
        "end" | "endif" | "endfor" | "done" => "a body is in braces: it ends with `}`",
        "try" | "catch" | "except" | "raise" | "throw" => {
            "nothing fails while a program runs; to check parameters, write `require condition, \"why\";`"
        }
        _ => return None,
    })
}

/// What to write instead of an operation of other languages.
fn operation(word: &str) -> Option<&'static str> {
    Some(match word {
        "call" | "invoke" => "a call is the name of a procedure with its arguments: `name(a, b);`",
        "nop" | "syncthreads" => SYNC,
        "put_with_flush" | "put_and_flush" | "put_flush" => {
            "only a put with a signal waits until the source may be reused: `put_with_signal_and_flush`"
        }
        "send" | "write" | "store" | "isend" => {
            "to write a peer's memory, use `put a -> p.b via channel;`, and `signal` it"
        }
        "recv" | "receive" | "irecv" => {
            "a peer puts data into this rank's memory; `wait channel;` waits until it has"
        }
        "read" | "load" | "fetch" => "to read a peer's memory, use `get p.a -> b via channel;`",
        "move" | "memcpy" => {
            "to copy within a rank, use `copy a -> b;`; to a peer, `put a -> p.b via channel;`"
        }
        "add" | "accumulate" => "to add `a` to `b`, use `reduce b, a -> b;`",
        "notify" => {
            "to signal a peer, use `signal channel;`; another block of this rank, `release semaphore;`"
        }
        "relaxed_signal" | "signal_relaxed" => "write `signal channel relaxed;`",
        "relaxed_wait" | "wait_relaxed" => "write `wait channel relaxed;`",
        _ => return None,
    })
}

/// What to write instead of a declaration of other languages.
fn declaration(word: &str) -> Option<&'static str> {
    Some(match word {
        "memory" | "port" => {
            "a channel is declared with its kind after `=`: `channel c[p in peers] = memory(p);`"
        }
        "buffer" | "array" | "shared" => "declare memory of a rank with `scratch name[n];`",
        "thread" | "threads" => "open a thread block with `block name { .. }`",
        "implements" => "say what a program implements with `collective allgather(ranks);`",
        "var" | "const" | "constexpr" | "static" | "auto" | "mut" | "int" | "bool" | "size_t"
        | "uint32_t" | "define" => "bind a name with `let a = ..;`",
        "float" | "double" | "half" | "char" | "string" => {
            "data has no type here: a chunk is a share of the message; numbers are integers: `let n = 4;`"
        }
        "struct" | "class" | "enum" | "union" | "typedef" | "type" | "trait" | "impl"
        | "interface" => {
            "there are no types to declare: what belongs together goes into a procedure, `proc f(c: channel[]) { .. }`"
        }
        "__shared__" | "__device__" | "__constant__" => {
            "declare memory of a rank with `scratch name[n];`"
        }
        "__global__" => "begin a program with `program name(ranks: int = 8) { .. }`",
        "with" => "a program, and each of its blocks, has a body in braces: `block main { .. }`",
        "gpu" | "device" | "rank" | "node" | "on" => {
            "a program says what each rank does; what only one does is in `if rank == 0 { .. }`"
        }
        "package" | "module" | "mod" | "namespace" | "export" | "pub" => {
            "a file is a module of its own: others import its names with `use \"file.ccl\"::name;`"
        }
        "def" | "func" | "function" | "void" | "lambda" => {
            "write a function as `fn f(x: int) -> int = x + 1;`, and a procedure as `proc f() { .. }`"
        }
        "return" => RETURN,
        "tb" | "threadblock" | "thread_block" => {
            "open a thread block with `block name { .. }`; what is in the braces runs in it"
        }
        "import" | "from" | "include" | "using" => {
            "import names with `use std::collectives::allreduce;` or `use \"file.ccl\"::name;`"
        }
        _ => return None,
    })
}

/// What to write instead of a function that other languages have.
#[must_use]
pub fn function(name: &str) -> Option<&'static str> {
    Some(match name {
        "range" => "for the numbers from 0 to `n - 1`, write `0..n`",
        "len" | "size" | "count" => "for the number of members of a list, write `list.len()`",
        "list" | "filter" | "zip" | "enumerate" | "map" => EACH,
        "reversed" => "to reverse a list, write `list.rev()`",
        "not" => "the opposite of a condition is written with `!`: `!(a || b)`",
        "int" | "float" | "bool" | "Rank" => CONVERSION,
        "mod" => "the remainder is `a % b`, which is never negative for a positive `b`",
        "pow" => {
            "write a power of two as `1 << n`, and others with `power(base, n)` of `std::math`"
        }
        "floor" | "div" | "floordiv" => "`a / b` rounds down",
        "ceil" => "`a / b` rounds down; `ceil_div(a, b)` of `std::math` rounds up",
        "MemoryChannel" | "PortChannel" | "SwitchChannel" | "Channel" | "channel" => CHANNEL,
        "Semaphore" => "declare semaphores at the top level of the program: `semaphore s = 0;`",
        "Buffer" | "alloc" | "malloc" | "zeros" | "empty" => {
            "declare memory of a rank with `scratch name[n];`; `input` and `output` are the collective's"
        }
        "get_rank" | "my_rank" | "rank_id" => "the rank that the program runs on is `rank`",
        "num_ranks" | "get_world_size" | "world_size" => "the number of ranks is `ranks`",
        _ => return None,
    })
}

/// What to do instead of calling a procedure that other languages have.
#[must_use]
pub fn procedure(name: &str) -> Option<&'static str> {
    Some(match name {
        "print" | "printf" | "println" | "log" | "echo" => {
            "a program prints nothing; `cclc dump` shows its operations, with all values filled in"
        }
        "__syncthreads" | "syncthreads" | "__syncwarp" => SYNC,
        _ => return statement(name),
    })
}

/// What to write instead of a method that lists have in other languages.
#[must_use]
pub fn method(name: &str) -> Option<&'static str> {
    Some(match name {
        "filter" | "map" | "collect" | "iter" | "select" => EACH,
        "size" | "length" | "count" => "for the number of members of a list, write `list.len()`",
        "index" | "find" | "index_of" => "to find a value in a list, write `list.position(value)`",
        "has" | "includes" => "to test whether a list holds a value, write `list.contains(value)`",
        "reverse" | "reversed" => "to reverse a list, write `list.rev()`",
        "append" | "push" | "add" | "remove" | "pop" => {
            "lists do not change; make another one: `{p in list if c}` or `{p in list: value}`"
        }
        _ => return None,
    })
}

/// What to write instead of an option that other libraries have.
#[must_use]
pub fn option_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "min_message_size" | "max_message_size" | "min_bytes" | "max_bytes" => {
            "both ends are one option, a range of bytes: `message_size = 1KiB..=1GiB;`"
        }
        "in_place" | "inplace" => {
            "the collective takes it: `collective allgather(ranks, in_place = true);`"
        }
        "ranks" | "num_ranks" | "nranks" | "gpu_size" | "num_gpus" | "ngpus" => {
            "the number of ranks is a parameter: `program name(ranks: int = 8) { .. }`"
        }
        "op" | "reduce_op" => "the collective takes it: `collective allreduce(ranks, op = max);`",
        "chunks" | "num_chunks" | "chunk_factor" | "nchunksperloop" => {
            "the collective takes it: `collective allgather(ranks, chunks = 4);`"
        }
        "blocks" | "num_blocks" | "nthreadblocks" | "num_thread_blocks" => {
            "a program opens its thread blocks itself: `block work[t in 0..4] { .. }`"
        }
        _ => return None,
    })
}

/// The option that has another name in other libraries.
#[must_use]
pub fn option(name: &str) -> Option<&'static str> {
    Some(match name {
        "proto" => "protocol",
        "num_threads" | "num_threads_per_block" | "threads_per_block" | "block_size" => "threads",
        "nchannels" | "num_instances" | "copies" => "instances",
        "use_double_scratch_buffer" | "double_scratch_buffer" => "double_scratch",
        "instr_fusion" | "fusion" => "fuse",
        "replication_policy" => "replication",
        "buffer_alignment" => "alignment",
        _ => return None,
    })
}

/// The kind of channel that has another name in other libraries.
#[must_use]
pub fn link(name: &str) -> Option<&'static str> {
    Some(match name {
        "mem" | "nvlink" | "p2p" | "ipc" | "shm" | "peer" | "MemoryChannel" => "memory",
        "proxy" | "network" | "net" | "ib" | "rdma" | "infiniband" | "PortChannel" => "port",
        "nvls" | "multimem" | "multicast" | "SwitchChannel" => "switch",
        _ => return None,
    })
}

/// What to write instead of a word that an option takes in other libraries.
#[must_use]
pub fn option_word(word: &str) -> Option<&'static str> {
    matches!(word, "LL128")
        .then_some("there is no `LL128`: programs with packets use `LL`, all others `Simple`")
}

/// The type that has another name in other languages.
#[must_use]
pub fn r#type(name: &str) -> Option<&'static str> {
    Some(match name {
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "isize" | "usize"
        | "integer" | "uint" | "size_t" | "long" | "unsigned" => "int",
        "boolean" | "Boolean" | "Bool" => "bool",
        "scratch" => "buffer",
        _ => return None,
    })
}

/// What to write instead of a null value of other languages.
#[must_use]
pub fn nothing(name: &str) -> Option<&'static str> {
    matches!(name, "None" | "null" | "NULL" | "nil" | "nullptr").then_some(
        "there is no null value; write a list with one member or none: `{p in [rank - 1] if rank > 0}`",
    )
}

/// The value that has another name in other languages.
#[must_use]
pub fn value(name: &str) -> Option<&'static str> {
    Some(match name {
        "True" | "TRUE" | "yes" => "true",
        "False" | "FALSE" | "no" => "false",
        "me" | "self" | "my_rank" | "myrank" | "rank_id" | "this_rank" | "world_rank" => "rank",
        "nranks" | "nRanks" | "n_ranks" | "num_ranks" | "world_size" | "comm_size" | "npes" => {
            "ranks"
        }
        "other_ranks" | "others" => "peers",
        _ => return None,
    })
}
