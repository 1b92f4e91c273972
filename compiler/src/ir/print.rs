//! Prints a program as straight-line `.ccl` that compiles to the same program.
//!
//! In: a program, before or after any pass. Out: one self-contained file, and the origin of each of its lines that is
//! an operation. The file has the collective with this program's sizes, tables of values that differ from rank to rank,
//! declarations, and for each rank its operations as they are. Passes that have already run are turned off in the
//! options.
//!
//! - Channels are one family for each kind (`mem`, `far`), in order; each end names the other end by its number.
//! - Scratch is one region, `cells`; semaphores and blocks are one family each, and blocks are pinned to their ids.
//! - Blocks are reopened after each barrier, so that a `barrier` can come where all its blocks have reached it.
//! - A comment at each operation gives the loop values that it was reached with.

mod header;
mod names;
mod ops;
mod page;
mod segments;
mod tables;

pub(crate) use header::{identifier, quoted};
pub(crate) use names::buffer_name;

use super::{OriginId, Program};

/// A program as text, with the origins of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// The numbers of the lines with an operation, ascending, from 1, and the origin of each.
    pub lines: Vec<(u32, OriginId)>,
}

/// The program as text.
#[must_use]
pub fn print(program: &Program) -> Printed {
    let mut tables = tables::Tables::default();
    let names = names::names(program);
    let collective = header::collective(program, &mut tables);
    let declarations = header::declarations(program, &names, &mut tables);
    let mut page = page::Page::default();
    page.push(&header::title(program));
    if !tables.text.is_empty() {
        page.push(&tables.text);
        page.push("\n");
    }
    page.push(&collective);
    page.push(&header::opening(program));
    page.push(&declarations);
    for (id, rank) in program.ranks.entries() {
        segments::rank(program, &names, id, rank, &mut page);
    }
    page.push("}\n");
    page.done()
}

/// The declaration of the program's collective, with the sizes that it has here, preceded by the tables that it needs.
pub(crate) fn collective(program: &Program) -> String {
    let mut tables = tables::Tables::default();
    let collective = header::collective(program, &mut tables);
    tables.text + &collective
}

#[cfg(test)]
mod tests;
