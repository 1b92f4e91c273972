//! The checks of a concrete program, and the list of them.

pub mod limits;
