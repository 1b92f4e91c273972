//! Prints a program as straight-line `.ccl` that compiles to the same program.
//!
//! In: a program, before or after any pass. Out: one file that stands alone: the collective with this program's sizes,
//! tables of what differs from rank to rank, declarations, and for each rank its operations as they are. What a pass
//! has done already is turned off in the options.
//!
//! - Channels are families by kind (`mem`, `far`), in order; each end names the other by its number.
//! - Scratch is one region, `cells`; semaphores and blocks are one family each, blocks pinned to their ids.
//! - Blocks are opened again after each barrier, so that a `barrier` can stand where all its blocks have come to it.
//! - A comment at each operation gives the loop values that it was reached with.

mod header;
mod names;
mod ops;
mod segments;
mod tables;

use super::Program;

/// The program as text.
#[must_use]
pub fn print(program: &Program) -> String {
    let mut tables = tables::Tables::default();
    let names = names::names(program);
    let collective = header::collective(program, &mut tables);
    let declarations = header::declarations(program, &names, &mut tables);
    let mut text = header::title(program);
    if !tables.text.is_empty() {
        text.push_str(&tables.text);
        text.push('\n');
    }
    text.push_str(&collective);
    text.push_str(&header::opening(program));
    text.push_str(&declarations);
    for (id, rank) in program.ranks.entries() {
        segments::rank(program, &names, id, rank, &mut text);
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests;
