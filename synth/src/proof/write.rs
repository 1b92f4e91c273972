//! Writes certificates of bounds as text.

use crate::bound::CutBound;
use crate::bound::allreduce::AllReduceBound;
use crate::bound::alltoall::LengthBound;
use crate::bound::layered::LayeredBound;
use crate::bound::steps::StepBound;
use crate::collective::CollectiveKind;
use crate::graph::Topology;
use crate::graph::text::write_topology;
use std::fmt::{Display, Write};

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
    /// A bound on the time per chunk of an AllToAll, by distances from each rank.
    Lengths {
        /// The bound.
        bound: LengthBound,
    },
    /// A bound on the time per buffer of an AllReduce, by distances from and to each rank.
    AllReduce {
        /// The bound.
        bound: AllReduceBound,
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
    let lines: String =
        certificates.iter().map(|certificate| write_certificate(topology, certificate)).collect();
    format!("ccl-proof 1\n{}{lines}end {}\n", write_topology(topology), certificates.len())
}

fn write_certificate(topology: &Topology, certificate: &Certificate) -> String {
    match certificate {
        Certificate::Cut { collective, bound } => {
            let CutBound { value, side, outside } = bound;
            format!("cut {collective} {outside} {value} :{}\n", join_numbers(side))
        }
        Certificate::Lengths { bound } => {
            let potentials = bound.list_potentials(topology).concat();
            let collective = CollectiveKind::AllToAll;
            format!("lp {collective} {} :{}\n", bound.value, join_numbers(&potentials))
        }
        Certificate::AllReduce { bound } => {
            let potentials = bound.list_potentials(topology).concat();
            let collective = CollectiveKind::AllReduce;
            format!("lp {collective} {} :{}\n", bound.value, join_numbers(&potentials))
        }
        Certificate::Layered { collective, bound } => {
            let potentials = match collective.reverse() {
                Some(_) => bound.list_potentials(&topology.reverse()),
                None => bound.list_potentials(topology),
            };
            let numbers = join_numbers(&potentials.concat());
            format!("layered {collective} {} {} :{numbers}\n", bound.steps, bound.value)
        }
        Certificate::Steps { collective, bound } => {
            let StepBound { steps, from, to, distances } = bound;
            format!("steps {collective} {from} {to} {steps} :{}\n", join_numbers(distances))
        }
    }
}

/// Each number after a space.
fn join_numbers<T: Display>(numbers: &[T]) -> String {
    let mut text = String::with_capacity(2 * numbers.len());
    for number in numbers {
        text.push(' ');
        // Texts take everything.
        let _ = write!(text, "{number}");
    }
    text
}
