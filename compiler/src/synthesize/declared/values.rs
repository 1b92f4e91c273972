//! What a collective promises, as values that pieces of a schedule can stand for.

use super::CommonSums;
use crate::ir;
use crate::synthesize::UnwrittenProgram;
use std::collections::BTreeMap;
use synth::graph::Vertex;
use synth::schedule::{Piece, Unit};

/// Who has parts of values, and who gets which of them. Values with the same signature can stand for each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Signature {
    origins: Vec<Vertex>,
    /// For each receiver the origins of what it gets, in order; a copy is not demanded by its origin.
    pub(super) receivers: BTreeMap<Vertex, Vec<Vertex>>,
}

impl Signature {
    pub(super) fn of_unit(unit: &Unit) -> Signature {
        let receivers = unit.receivers.iter().enumerate();
        Signature {
            origins: unit.origins.clone(),
            receivers: receivers
                .map(|(index, receiver)| (*receiver, unit.find_summands(index).to_vec()))
                .collect(),
        }
    }

    /// Whether somebody gets something that it does not have.
    pub(super) fn moves(&self) -> bool {
        !self.receivers.is_empty()
    }
}

/// A chunk of a buffer of a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BufferChunk {
    rank: Vertex,
    chunk: u32,
}

/// Values that are made of the same parts: a copy, a sum, or sums of some of the parts each.
pub(super) struct PromisedValue {
    pub(super) signature: Signature,
    /// The chunk of the input of each origin.
    pub(super) inputs: BTreeMap<Vertex, u32>,
    /// The chunks of the output of each rank that gets it, its origin included.
    pub(super) outputs: BTreeMap<Vertex, Vec<u32>>,
}

impl PromisedValue {
    /// Where what arrives at a rank stays; none if others get it from there.
    pub(super) fn find_output(&self, rank: Vertex) -> Option<u32> {
        self.signature.receivers.get(&rank)?;
        self.outputs.get(&rank)?.first().copied()
    }

    fn new() -> PromisedValue {
        PromisedValue {
            signature: Signature { origins: Vec::new(), receivers: BTreeMap::new() },
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
        }
    }
}

pub(super) struct ValueList {
    pub(super) values: Vec<PromisedValue>,
}

impl ValueList {
    /// What is promised, in order. Joined sums are one value, and so are promises of the same parts.
    pub(super) fn collect(promises: &[ir::Rank], sums: CommonSums) -> ValueList {
        let mut promised: Vec<PromisedParts> = Vec::new();
        for (rank, row) in (0..).map(Vertex).zip(promises) {
            for promise in row.promises.iter() {
                let sources = promise.terms.iter().flat_map(ir::Term::sources);
                let mut parts: Vec<BufferChunk> = sources
                    .map(|(rank, chunk)| BufferChunk { rank: Vertex(rank), chunk })
                    .collect();
                parts.sort_unstable();
                promised.push(PromisedParts {
                    place: BufferChunk { rank, chunk: promise.chunk },
                    parts,
                });
            }
        }
        promised.retain(|own| !own.parts.is_empty());
        let joined = match sums {
            CommonSums::Joined => join_parts(&promised),
            CommonSums::Separate => BTreeMap::new(),
        };
        let mut values: BTreeMap<Vec<BufferChunk>, PromisedValue> = BTreeMap::new();
        for PromisedParts { place, parts } in promised {
            let key = match (sums, parts.first()) {
                (CommonSums::Joined, Some(first)) => vec![find_first(&joined, *first)],
                (CommonSums::Joined | CommonSums::Separate, _) => parts.clone(),
            };
            let value = values.entry(key).or_insert_with(PromisedValue::new);
            let origins: Vec<Vertex> = parts.iter().map(|part| part.rank).collect();
            for part in &parts {
                value.inputs.insert(part.rank, part.chunk);
            }
            value.outputs.entry(place.rank).or_default().push(place.chunk);
            // Nobody has to send a rank what it contributes alone.
            if origins != [place.rank] {
                value.signature.receivers.insert(place.rank, origins);
            }
        }
        let mut values: Vec<PromisedValue> = values.into_values().collect();
        for value in &mut values {
            value.signature.origins = value.inputs.keys().copied().collect();
        }
        ValueList { values }
    }

    /// A value for each piece, and then those that nobody else gets.
    pub(super) fn assign(
        self,
        units: &[Unit],
        chunks: u32,
    ) -> Result<AssignedValues, UnwrittenProgram> {
        let mut of_signature: BTreeMap<Signature, Vec<PromisedValue>> = BTreeMap::new();
        let mut kept = Vec::new();
        for value in self.values.into_iter().rev() {
            if value.signature.moves() {
                of_signature.entry(value.signature.clone()).or_default().push(value);
            } else {
                kept.push(value);
            }
        }
        let mut of_pieces = BTreeMap::new();
        for (index, unit) in (0..).zip(units).filter(|(_, unit)| !unit.receivers.is_empty()) {
            let fitting = of_signature.get_mut(&Signature::of_unit(unit));
            let fitting = fitting.ok_or(UnwrittenProgram::UnfitPieces)?;
            for part in 0..chunks {
                let value = fitting.pop().ok_or(UnwrittenProgram::UnfitPieces)?;
                of_pieces.insert(Piece(index * chunks + part), value);
            }
        }
        if of_signature.values().any(|left| !left.is_empty()) {
            return Err(UnwrittenProgram::UnfitPieces);
        }
        Ok(AssignedValues { of_pieces, kept })
    }
}

/// What a chunk of an output is made of.
struct PromisedParts {
    place: BufferChunk,
    /// Chunks of inputs, in order.
    parts: Vec<BufferChunk>,
}

/// The parts that are joined with others, since a promise has both: each points to one that is not after it.
fn join_parts(promised: &[PromisedParts]) -> BTreeMap<BufferChunk, BufferChunk> {
    let mut joined: BTreeMap<BufferChunk, BufferChunk> = BTreeMap::new();
    for PromisedParts { parts, .. } in promised {
        let firsts: Vec<BufferChunk> =
            parts.iter().map(|part| find_first(&joined, *part)).collect();
        let Some(least) = firsts.iter().copied().min() else { continue };
        joined.extend(firsts.iter().chain(parts).map(|part| (*part, least)));
    }
    joined
}

/// The first part that a part is joined with.
fn find_first(joined: &BTreeMap<BufferChunk, BufferChunk>, mut part: BufferChunk) -> BufferChunk {
    while let Some(before) = joined.get(&part).copied().filter(|before| *before != part) {
        part = before;
    }
    part
}

pub(super) struct AssignedValues {
    pub(super) of_pieces: BTreeMap<Piece, PromisedValue>,
    /// What ranks get of their own.
    pub(super) kept: Vec<PromisedValue>,
}
