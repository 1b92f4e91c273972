//! What an editor can ask for, one file each: from an analysis and a position to types of the protocol.

pub mod actions;
pub mod formatting;
pub mod hover;
pub mod navigation;
pub mod occurrences;
pub mod problems;
pub mod pull;
pub mod symbols;
