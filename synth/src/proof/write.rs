//! Writes certificates of bounds as text.

use crate::bound::CutBound;
use crate::bound::alltoall::LengthBound;
use crate::bound::layered::{LayeredBound, LayeredLength};
use crate::bound::steps::StepBound;
use crate::collective::CollectiveKind;
use crate::graph::Topology;
use crate::graph::text::write_topology;
use std::fmt::Display;

/// A bound of a collective, with what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// A bound on the time per chunk, by a cut.
    Cut {
        /// The collective.
        collective: CollectiveKind,
        /// The bound.
        bound: CutBound,
    },
    /// A bound on the number of steps, by distances.
    Steps {
        /// The collective.
        collective: CollectiveKind,
        /// The bound.
        bound: StepBound,
    },
    /// A bound on the time per chunk of an AllToAll, by lengths of edges.
    Lengths {
        /// The bound.
        bound: LengthBound,
    },
    /// A bound on the time per chunk of an AllGather or a ReduceScatter in so many steps.
    Layered {
        /// The collective.
        collective: CollectiveKind,
        /// The bound.
        bound: LayeredBound,
    },
}

/// The proof file of certificates that hold on a topology. The format is that of [`crate::proof`].
#[must_use]
pub fn write_proof(topology: &Topology, certificates: &[Certificate]) -> String {
    let lines: String = certificates.iter().map(write_certificate).collect();
    format!("ccl-proof 1\n{}{lines}end {}\n", write_topology(topology), certificates.len())
}

fn write_certificate(certificate: &Certificate) -> String {
    match certificate {
        Certificate::Cut { collective, bound } => {
            let CutBound { value, side, outside } = bound;
            format!("cut {collective} {outside} {value} :{}\n", join_numbers(side))
        }
        Certificate::Lengths { bound } => {
            let collective = CollectiveKind::AllToAll;
            format!("lp {collective} {} :{}\n", bound.value, join_numbers(&bound.lengths))
        }
        Certificate::Layered { collective, bound } => {
            let place = |place: &LayeredLength| {
                let LayeredLength { origin, destination, step, edge, length } = place;
                format!(" {origin} {destination} {step} {edge} {length}")
            };
            let places: String = bound.lengths.iter().map(place).collect();
            format!("layered {collective} {} {} :{places}\n", bound.steps, bound.value)
        }
        Certificate::Steps { collective, bound } => {
            let StepBound { steps, from, to, distances } = bound;
            format!("steps {collective} {from} {to} {steps} :{}\n", join_numbers(distances))
        }
    }
}

/// Each number after a space.
fn join_numbers<T: Display>(numbers: &[T]) -> String {
    numbers.iter().map(|number| format!(" {number}")).collect()
}
