//! What an editor can ask for, one file each: from an analysis and a position to types of the protocol.

pub mod formatting;
pub mod problems;
pub mod symbols;
