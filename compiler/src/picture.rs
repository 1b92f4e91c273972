//! A picture of a program: what its thread blocks do, and what orders them, as SVG.
//!
//! In: a concrete program, and marks for what a check has found. Out: one picture that stands alone, with its content as
//! text. A column is a thread block, or the proxy of a port channel; time runs down. Arrows follow the numbers: on every
//! channel the k-th wait hears the k-th signal, of a semaphore the k-th acquire takes the k-th release.

mod event;
mod label;
mod layout;
mod link;
mod svg;

use crate::ir::Program;

/// The most operations that are drawn; more than that nobody can read.
pub const MOST_OPERATIONS: usize = 1000;

/// Something in the picture that a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The rank.
    pub rank: u32,
    /// Who does it there.
    pub agent: Agent,
    /// In which launch, where the report tells of several.
    pub launch: Option<u32>,
}

/// Who does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// A thread block, by one of its operations, counted from 0.
    Block {
        /// The block.
        block: u32,
        /// The operation.
        operation: u32,
    },
    /// The proxy of a port channel, by what an operation of a block asks of it.
    Proxy {
        /// The channel, counted over all kinds.
        channel: u32,
        /// The block.
        block: u32,
        /// The operation.
        operation: u32,
    },
    /// Whoever launches the program, before it begins.
    Before,
    /// Whoever launches the program, when it has ended.
    After,
}

/// Whether a program is small enough to be drawn.
#[must_use]
pub fn fits(program: &Program) -> bool {
    program.all_ops().count() <= MOST_OPERATIONS
}

/// Draws a program, which is to be small: see [`fits`].
#[must_use]
pub fn draw(program: &Program, marks: &[Mark]) -> String {
    let mut scene = event::scene(program);
    link::link(program, &mut scene);
    svg::write(program, &scene, &layout::layout(&scene), marks)
}
