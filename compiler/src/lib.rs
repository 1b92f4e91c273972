//! The ccl compiler.
//!
//! ```text
//! text -> tokens -> ast::File -> program::Unit -> ir::Program -> ir::Program -> plan
//!         \__ syntax __/         resolve          elaborate      optimize       plan::write
//!                                        plan -> ir::Program -> reports          (cclc verify)
//!                                                plan::read     check
//! ```
//!
//! Every phase is a function from plain data to plain data and its diagnostics; nothing here reads a file, a clock or
//! the environment, and nothing prints.

pub mod table;
pub mod source;
pub mod bytes;
pub mod interrupt;
pub mod phase;
pub mod diagnostic;
pub mod machine;
pub mod syntax;
pub mod resolve;
pub mod ir;
pub mod events;
pub mod interpreter;
pub mod elaborate;
pub mod check;
pub mod optimize;
pub mod picture;
pub mod plan;
pub mod repair;
pub mod cuda;
pub mod target;
pub mod emulate;
pub mod demand;
pub mod decompile;
pub mod import;
pub mod driver;
pub mod onset;
pub mod synthesize;
pub mod trial;
