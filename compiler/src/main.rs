//! `cclc`.
fn main() {}
