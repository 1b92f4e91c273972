//! A concrete program as source text that its author could continue with.
//!
//! In: a program whose blocks, channels and buffers have numbers for names, as a plan leaves it. Out: a `.ccl` file.
//! Unlike a dump, which spells everything out, this looks for what an author would have written: one body for all ranks
//! in terms of `rank`, loops over peers and steps, families of channels by peer.
//!
//! - `gather` makes a tree of each rank's operations, with the numbers separate from the text.
//! - `roles` merges the trees of ranks that differ only in numbers: a number then has a value for each rank.
//! - `fold` turns runs of equal pieces into loops: a number then has a value for each rank and turn.
//! - `formula` finds an expression of the rank and the loops' variables that has exactly these values.
//! - `declare` and `page` write the program's declarations and its bodies.
//!
//! Nothing here is taken on trust: the caller compiles the text and compares the plans.

mod declare;
mod fold;
mod formula;
mod gather;
mod page;
mod roles;
mod tree;
mod unsayable;
mod world;

use crate::interrupt::Interrupt;
use crate::ir::Program;
pub use unsayable::unsayable;
use world::World;

/// How a program is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to look for roles and loops, or to write every operation of every rank separately.
    pub regular: bool,
    /// Whether the compiler decides where the threads of a block meet, or each such place is written.
    pub inferred: bool,
    /// Whether the compiler may fuse operations.
    pub fused: bool,
    /// Whether operations that the compiler can fuse are written separately.
    pub split: bool,
}

/// A program as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decompiled {
    /// The text, not formatted.
    pub text: String,
    /// How many bodies it has for the ranks that do something: one if all have the same role.
    pub roles: usize,
}

/// Writes a program; part of it, if it is interrupted. `known` says whether the library has its collective, with the
/// arguments that the program carries.
#[must_use]
pub fn decompile(
    program: &Program,
    known: bool,
    style: Style,
    interrupt: &Interrupt,
) -> Decompiled {
    let world = World::new(program);
    let names = gather::Names::new(program, &world, style.regular);
    let trees = gather::ranks(program, &names, style);
    let mut page = page::Page::new(&world, &names);
    let roles = roles::write(&world, trees, style.regular, interrupt, &mut page);
    let text = declare::file(program, &world, &names, (known, style), &page.finish());
    Decompiled { text, roles }
}
