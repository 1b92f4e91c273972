//! The ccl language server. Only a placeholder: the server comes after the compiler.

fn main() {}
