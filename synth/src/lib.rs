//! What a machine allows, and how: topologies, exact bounds for collectives with proofs, and schedules that reach them.
//!
//! Plain data comes in and plain data goes out. Nothing here reads a file, a clock or the environment, and the
//! same input gives the same bytes on every machine.
//!
//! ```text
//! graph::Topology ───────┐    bound::collective ──> CollectiveBounds ──> proof::write ──> text
//! collective::Collective ┼──> bound::{steps, cut, cut_search, rooted, alltoall, layered, allreduce, flows}
//! sketch::Sketch ────────┤    flow, simplex, automorphism, shifts text ──> proof::read ──> proof::check
//!                        ├──> frontier ──> steps::{bfb, scatter, exchange, boxes, greedy, solve} ──> schedule::StepSchedule
//!                        └──> trees ──> trees::{TreeSet, AllReduceTrees}
//! ```
//!
//! `observer` watches the searches, and can stop them.
//!
//! A search for a bound may use floating-point numbers; what it returns is computed again from integers, and holds
//! whatever the search did. The checker of certificates shares no code with it, and neither do those of schedules and
//! of trees (`schedule::check_schedule`, `trees::{check_trees, check_allreduce_trees}`).
//!
//! The time of a collective is counted in *rounds per chunk*. A chunk is what one rank contributes (what a root
//! sends to one rank, for rooted collectives; what one rank sends to another one, for an AllToAll; the whole buffer,
//! for an AllReduce and a Reduce; what demands count, for others), and a link of rate `b` carries `b` chunks in a
//! round. If rates are bytes per second, a round is a second and a chunk is a byte: the bound is seconds per byte.

pub mod automorphism;
pub mod bound;
pub mod collective;
pub mod cost;
mod dense;
pub mod families;
mod flow;
pub mod frontier;
pub mod graph;
pub mod observer;
pub mod proof;
pub mod rational;
pub mod schedule;
pub mod shifts;
mod simplex;
pub mod sketch;
pub mod steps;
pub mod trees;
