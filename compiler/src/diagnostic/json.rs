//! Reports for machines.
