//! What is known about all ranks during an elaboration: how many there are, and what each has declared.

use super::domain::Domain;
use super::value::{List, Value};
use crate::ir;
use crate::resolve::program::{Builtin, Program, Unit};
use std::rc::Rc;

/// What does not change: the program and the shape of the machine.
#[derive(Clone, Copy)]
pub(super) struct World<'a> {
    /// Every declaration.
    pub(super) unit: &'a Unit,
    /// The program that is elaborated.
    pub(super) program: &'a Program,
    /// The number of ranks.
    pub(super) ranks: i64,
    /// The number of ranks per node.
    pub(super) ranks_per_node: i64,
}

/// A family as declared on one rank.
#[derive(Clone, Debug)]
pub(super) struct Family {
    /// Its members.
    pub(super) domain: Domain,
    /// The row of its first member: a chunk of scratch, a channel, or a semaphore.
    pub(super) first: u64,
}

/// The declarations of one rank. Rows are those of `resolve::program::Program`; a row is none until its
/// declaration has been reached.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// The program's locals after all declarations.
    pub(super) frame: Vec<Value>,
    /// Scratch regions.
    pub(super) regions: Vec<Option<Family>>,
    /// Channel families; the members are numbered in order of declaration.
    pub(super) channels: Vec<Option<Family>>,
    /// The final row of each channel, by order of declaration.
    pub(super) channel_rows: Vec<ir::ChannelId>,
    /// What each channel connects to, by final row.
    pub(super) links: Vec<ir::Link>,
    /// Semaphore families.
    pub(super) semaphores: Vec<Option<Family>>,
    /// The block families that are declared.
    pub(super) blocks: Vec<Option<Family>>,
    /// Chunks of the input buffer.
    pub(super) input_chunks: i64,
    /// Chunks of the output buffer.
    pub(super) output_chunks: i64,
    /// Chunks of scratch.
    pub(super) scratch_chunks: u64,
    /// How input and output share memory.
    pub(super) alias: Option<ir::Alias>,
}

impl Declared {
    /// A rank that has declared nothing yet.
    pub(super) fn new(program: &Program) -> Declared {
        Declared {
            frame: vec![Value::Unset; program.frame.len()],
            regions: vec![None; program.scratch.len()],
            channels: vec![None; program.channels.len()],
            semaphores: vec![None; program.semaphores.len()],
            blocks: vec![None; program.blocks.len()],
            ..Declared::default()
        }
    }
}

impl World<'_> {
    /// The number of nodes.
    pub(super) fn nodes(&self) -> i64 {
        self.ranks / self.ranks_per_node
    }

    /// The value of `builtin` for `rank`.
    pub(super) fn builtin(&self, builtin: Builtin, rank: i64) -> Value {
        let (width, node) = (self.ranks_per_node, rank / self.ranks_per_node);
        match builtin {
            Builtin::Rank => Value::Int(rank),
            Builtin::Ranks => Value::Int(self.ranks),
            Builtin::Node => Value::Int(node),
            Builtin::Nodes => Value::Int(self.nodes()),
            Builtin::LocalRank => Value::Int(rank % width),
            Builtin::RanksPerNode => Value::Int(width),
            Builtin::Peers => ints((0..self.ranks).filter(|p| *p != rank)),
            Builtin::NodePeers => ints((node * width..(node + 1) * width).filter(|p| *p != rank)),
            Builtin::RailPeers => {
                ints((rank % width..self.ranks).step_by(width as usize).filter(|p| *p != rank))
            }
        }
    }
}

/// `mem[3]`, or `mem` if there are no indices.
pub(super) fn indexed(name: &str, indices: &[i64]) -> String {
    if indices.is_empty() {
        return name.to_string();
    }
    let indices: Vec<String> = indices.iter().map(ToString::to_string).collect();
    format!("{name}[{}]", indices.join(", "))
}

fn ints(list: impl Iterator<Item = i64>) -> Value {
    Value::List(List::Ints(Rc::new(list.collect())))
}
