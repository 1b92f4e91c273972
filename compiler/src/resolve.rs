//! Trees to a resolved, typed program.

pub mod program;
