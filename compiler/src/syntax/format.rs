//! Canonical layout.
