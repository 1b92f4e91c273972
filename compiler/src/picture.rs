//! A picture of a program: what its thread blocks do, and what orders them, as SVG.
//!
//! In: a concrete program, and marks for what a check has found. Out: one self-contained picture that also has its
//! content as text. A column is a thread block, or the proxy of a port channel; time runs downward. Arrows match by
//! number, in one of the schedules: on every channel the k-th wait gets the k-th signal, of a semaphore the k-th acquire
//! takes the k-th release.
//! Of pipelines, one window is drawn.

mod event;
mod label;
mod layout;
mod link;
mod schedule;
mod svg;

use crate::events::{Events, SizeClass};
use crate::ir::Program;

/// The most operations that are drawn; nobody can read more.
pub const MOST_OPERATIONS: usize = 1000;

/// Something in the picture that a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The rank.
    pub rank: u32,
    /// The agent that does it there.
    pub agent: Agent,
    /// The launch, if the report is about several.
    pub launch: Option<u32>,
}

/// An agent that does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// A thread block, by one of its operations, counted from 0.
    Block {
        /// The block.
        block: u32,
        /// The operation.
        operation: u32,
        /// If it is a pipeline: the operation in its body, counted from 0.
        inner: Option<u32>,
    },
    /// The proxy of a port channel, by the request that an operation of a block makes.
    Proxy {
        /// The channel, counted over all kinds.
        channel: u32,
        /// The block.
        block: u32,
        /// The operation.
        operation: u32,
        /// If it is a pipeline: the operation in its body, counted from 0.
        inner: Option<u32>,
    },
    /// Whoever launches the program, before the launch begins.
    Before,
    /// Whoever launches the program, after the launch has ended.
    After,
}

/// Whether a program is small enough to be drawn.
#[must_use]
pub fn fits(program: &Program) -> bool {
    program.all_ops().count() <= MOST_OPERATIONS
}

/// Draws a program, which must be small: see [`fits`].
#[must_use]
pub fn draw(program: &Program, marks: &[Mark]) -> String {
    let events = Events::new(program, SizeClass::Outline);
    let mut scene = event::scene(&events);
    link::link(&events, &mut scene);
    svg::write(program, &scene, &layout::layout(&scene), marks)
}
