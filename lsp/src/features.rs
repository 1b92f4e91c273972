//! The features that an editor can request, one file each: functions from an analysis and a position to
//! types of the protocol.

pub mod actions;
pub mod calls;
pub mod completion;
pub mod elaborated;
pub mod file_renames;
pub mod folding;
pub mod formatting;
pub mod hints;
pub mod hover;
pub mod lens;
pub mod links;
pub mod navigation;
pub mod occurrences;
pub mod partners;
pub mod plain;
pub mod problems;
pub mod pull;
pub mod rename;
pub mod selection;
pub mod signature;
pub mod symbols;
pub mod tokens;
