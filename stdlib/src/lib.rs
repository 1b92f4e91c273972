//! The ccl standard library, as text: what `use std::...` finds.

/// Every module of the library: its path below `std`, with `/` for `::`, and its text.
pub const FILES: &[(&str, &str)] = &[
    ("collectives", include_str!("../ccl/collectives.ccl")),
    ("math", include_str!("../ccl/math.ccl")),
    ("patterns", include_str!("../ccl/patterns.ccl")),
];
