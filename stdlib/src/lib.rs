//! The ccl standard library, as text: what `use std::...` finds.

/// Every module of the library: its path below `std`, and its text.
pub const FILES: &[(&str, &str)] = &[];
