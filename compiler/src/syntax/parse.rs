//! The parser; the only file that knows chumsky.
