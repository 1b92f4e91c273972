//! Words of other languages, and what to write in ccl instead: most authors of ccl programs have written other
//! languages before.

/// How to make a list from another one.
const EACH: &str = "a value for each of a list is `[p in list: value]`, and those that are wanted `[p in list if c]`";

/// How to write a body, which other languages put after `:`.
pub const BRACES: &str = "what belongs to it stands in braces: `for p in peers { .. }`";

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

/// What to write instead of a word after a value.
#[must_use]
pub fn behind_value(word: &str) -> Option<&'static str> {
    Some(match word {
        "if" => "a condition stands before what it is for: `if c { a } else { b }`",
        "strong" => "what is not `relaxed` is strong",
        "for" => EACH,
        "where" | "when" => "which of a list are wanted is said by `if`: `p in list if c`",
        "in" | "not" => "whether a list holds a value is `list.contains(value)`",
        "step" | "by" => "every n-th member of a list is `list.step(n)`: `(0..8).step(2)`",
        _ => return None,
    })
}

/// What to write instead of a statement or an item that begins with this word in other languages.
#[must_use]
pub fn statement(word: &str) -> Option<&'static str> {
    Some(match word {
        "while" | "loop" | "do" | "foreach" => {
            "a loop is `for i in 0..n { .. }`: how often it runs is known before the program does"
        }
        "break" | "continue" => {
            "no turn of a loop is left early: `for i in 0..n if c { .. }` leaves turns out"
        }
        "elif" | "elseif" | "elsif" => "write `else if`",
        "switch" | "match" | "case" => "write `if a { .. } else if b { .. } else { .. }`",
        "pass" => "an empty body is `{ }`",
        "assert" => "what must hold of parameters is `require condition, \"why\";`",
        "var" | "const" | "auto" | "mut" | "int" | "bool" => "a name is bound with `let a = ..;`",
        "def" | "func" | "function" | "void" | "lambda" => {
            "a function is `fn f(x: int) -> int = x + 1;`, and statements have a name by `proc f() { .. }`"
        }
        "return" => "a function is one value, without `return`: `fn f(x: int) -> int = x + 1;`",
        "import" | "from" | "include" | "using" => {
            "names of other files come by `use std::collectives::allreduce;` or `use \"file.ccl\"::name;`"
        }
        _ => return None,
    })
}

/// What to write instead of a function that other languages have.
#[must_use]
pub fn function(name: &str) -> Option<&'static str> {
    Some(match name {
        "range" => "the numbers from 0 up to `n`, without it, are `0..n`",
        "len" | "size" | "count" => "how many members a list has is `list.len()`",
        "list" | "filter" | "zip" | "enumerate" => EACH,
        "reversed" => "the other way round is `list.rev()`",
        _ => return None,
    })
}

/// What to write instead of a method that lists have in other languages.
#[must_use]
pub fn method(name: &str) -> Option<&'static str> {
    Some(match name {
        "filter" | "map" | "collect" | "iter" | "select" => EACH,
        "size" | "length" | "count" => "how many members a list has is `list.len()`",
        "index" | "find" | "index_of" => "where a list holds a value is `list.position(value)`",
        "has" | "includes" => "whether a list holds a value is `list.contains(value)`",
        "reverse" | "reversed" => "the other way round is `list.rev()`",
        "append" | "push" | "add" | "remove" | "pop" => {
            "no list changes; another one is `{p in list if c}` or `{p in list: value}`"
        }
        _ => return None,
    })
}

/// What to write instead of a null value of other languages.
#[must_use]
pub fn nothing(name: &str) -> Option<&'static str> {
    matches!(name, "None" | "null" | "NULL" | "nil" | "nullptr").then_some(
        "every value is one; what may be missing is a list with one member or none: `{p in [rank - 1] if rank > 0}`",
    )
}

/// The value that has another name in other languages.
#[must_use]
pub fn value(name: &str) -> Option<&'static str> {
    Some(match name {
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        _ => return None,
    })
}
