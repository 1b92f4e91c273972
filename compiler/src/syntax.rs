//! Text to tree. `parse` never fails: any text gives a tree and the reports about it.

pub mod ast;
pub mod format;
pub mod parse;
pub mod token;
