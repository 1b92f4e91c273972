//! The passes over a checked program, in order.
