//! Writes certificates of bounds as text.

use crate::bound::CutBound;
use crate::bound::allreduce::AllReduceBound;
use crate::bound::alltoall::LengthBound;
use crate::bound::collective::{BandwidthWitness, CollectiveBounds, StepWitness};
use crate::bound::flows::{FlowBound, Layering, MeasuredFlow, list_flows};
use crate::bound::layered::LayeredBound;
use crate::bound::steps::StepBound;
use crate::collective::{Collective, CollectiveKind, Demand, DemandList};
use crate::graph::Topology;
use crate::graph::text::write_topology;
use std::fmt::{self, Write};

/// The collective that a certificate is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertifiedCollective {
    /// A known one.
    Known(CollectiveKind),
    /// The demands that the file lists.
    Demands,
}

impl From<CollectiveKind> for CertifiedCollective {
    fn from(kind: CollectiveKind) -> Self {
        CertifiedCollective::Known(kind)
    }
}

impl fmt::Display for CertifiedCollective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertifiedCollective::Known(kind) => kind.fmt(f),
            CertifiedCollective::Demands => f.write_str("demands"),
        }
    }
}

/// A bound of a collective, with what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// A bound on the time, by a cut.
    Cut {
        /// The collective.
        collective: CertifiedCollective,
        /// The bound.
        bound: CutBound,
    },
    /// A bound on the number of steps, by distances.
    Steps {
        /// The collective.
        collective: CertifiedCollective,
        /// The bound.
        bound: StepBound,
    },
    /// A bound on the time, by flows.
    Flows {
        /// The collective.
        collective: CertifiedCollective,
        /// The bound.
        bound: FlowBound,
    },
    /// A bound on the time per chunk of an AllToAll, by distances from each rank.
    Lengths {
        /// The bound.
        bound: LengthBound,
    },
    /// A bound on the time of sums, by distances from and to each rank.
    AllReduce {
        /// The collective.
        collective: CertifiedCollective,
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

/// What shows the bounds of a collective.
#[must_use]
pub fn collect_certificates(bounds: &CollectiveBounds) -> Vec<Certificate> {
    let collective = match &bounds.collective {
        Collective::Known(kind) => CertifiedCollective::Known(*kind),
        Collective::Demands(_) => CertifiedCollective::Demands,
    };
    let mut certificates = vec![Certificate::Steps { collective, bound: bounds.steps.clone() }];
    certificates.push(match bounds.bandwidth.witness.clone() {
        BandwidthWitness::Cut(bound) => Certificate::Cut { collective, bound },
        BandwidthWitness::Lengths(bound) => Certificate::Lengths { bound },
        BandwidthWitness::Flows(bound) => Certificate::Flows { collective, bound },
        BandwidthWitness::AllReduce(bound) => Certificate::AllReduce { collective, bound: *bound },
    });
    for step in &bounds.by_steps {
        match (&step.witness, &bounds.collective) {
            (StepWitness::Layered(bound), Collective::Known(kind)) => {
                certificates.push(Certificate::Layered { collective: *kind, bound: bound.clone() });
            }
            (StepWitness::Flows(bound), _) => {
                certificates.push(Certificate::Flows { collective, bound: bound.clone() });
            }
            (StepWitness::Layered(_), Collective::Demands(_))
            | (StepWitness::Bandwidth | StepWitness::OneMoreStep, _) => {}
        }
    }
    certificates
}

/// The proof file of the bounds of a collective. The format is that of [`crate::proof`].
#[must_use]
pub fn write_bounds_proof(bounds: &CollectiveBounds) -> String {
    let demands = match &bounds.collective {
        Collective::Known(_) => None,
        Collective::Demands(demands) => Some(demands),
    };
    write_demands_proof(&bounds.topology, demands, &collect_certificates(bounds))
}

/// The proof file of certificates of known collectives that hold on a topology. The format is that of
/// [`crate::proof`].
#[must_use]
pub fn write_proof(topology: &Topology, certificates: &[Certificate]) -> String {
    write_demands_proof(topology, None, certificates)
}

/// The proof file of certificates that hold on a topology, some of them for demands.
#[must_use]
pub fn write_demands_proof(
    topology: &Topology,
    demands: Option<&DemandList>,
    certificates: &[Certificate],
) -> String {
    let subject = ProofSubject { topology, demands };
    let listed = demands.map_or(&[][..], DemandList::as_slice);
    let demands: String = listed.iter().map(write_demand).collect();
    let lines: String =
        certificates.iter().map(|certificate| subject.write_certificate(certificate)).collect();
    let topology = write_topology(topology);
    format!("ccl-proof 1\n{topology}{demands}{lines}end {}\n", certificates.len())
}

fn write_demand(demand: &Demand) -> String {
    let Demand { origins, receivers, count, summands } = demand;
    let group = summands.map_or("-".to_owned(), |group| group.0.to_string());
    let [origins, receivers] = [origins, receivers].map(|ranks| join_numbers(ranks));
    format!("demand {count} {group} :{origins} :{receivers}\n")
}

/// What certificates are about.
struct ProofSubject<'a> {
    topology: &'a Topology,
    demands: Option<&'a DemandList>,
}

impl ProofSubject<'_> {
    fn write_certificate(&self, certificate: &Certificate) -> String {
        let topology = self.topology;
        match certificate {
            Certificate::Cut { collective, bound } => {
                format!("cut {collective} {} :{}\n", bound.value, join_numbers(&bound.side))
            }
            Certificate::Flows { collective, bound } => {
                let potentials = bound.list_potentials(topology, &self.list_flows(*collective));
                let limit = match bound.layering {
                    Layering::Unlimited => String::new(),
                    Layering::Steps(steps) => format!(" steps {steps}"),
                    Layering::Hops(hops) => format!(" hops {hops}"),
                };
                let numbers = join_numbers(&potentials.concat());
                format!("flow {collective}{limit} {} :{numbers}\n", bound.value)
            }
            Certificate::Lengths { bound } => {
                let potentials = bound.list_potentials(topology).concat();
                let collective = CollectiveKind::AllToAll;
                format!("flow {collective} {} :{}\n", bound.value, join_numbers(&potentials))
            }
            Certificate::AllReduce { collective, bound } => {
                let potentials = bound.list_potentials(topology).concat();
                format!("roots {collective} {} :{}\n", bound.value, join_numbers(&potentials))
            }
            Certificate::Layered { collective, bound } => {
                let potentials = match collective.reverse() {
                    Some(_) => bound.list_reversed_potentials(topology),
                    None => bound.list_potentials(topology),
                };
                let numbers = join_numbers(&potentials.concat());
                format!("flow {collective} steps {} {} :{numbers}\n", bound.steps, bound.value)
            }
            Certificate::Steps { collective, bound } => {
                let StepBound { steps, from, to, distances } = bound;
                format!("steps {collective} {from} {to} {steps} :{}\n", join_numbers(distances))
            }
        }
    }

    /// The flows of a collective, in the order of the checker.
    fn list_flows(&self, collective: CertifiedCollective) -> Vec<MeasuredFlow> {
        let ranks = self.topology.count_ranks();
        let spread = |origin| {
            let receivers = self.topology.ranks().collect();
            MeasuredFlow { demand: None, origin, receivers }
        };
        match collective {
            CertifiedCollective::Demands => self.demands.map(list_flows).unwrap_or_default(),
            CertifiedCollective::Known(CollectiveKind::Scatter(root)) => vec![spread(root)],
            CertifiedCollective::Known(CollectiveKind::AllToAll) => {
                self.topology.ranks().map(spread).collect()
            }
            CertifiedCollective::Known(CollectiveKind::Gather(root)) => {
                let origins = self.topology.ranks().filter(|rank| *rank != root);
                let receivers = vec![root];
                let gather =
                    |origin| MeasuredFlow { demand: None, origin, receivers: receivers.clone() };
                origins.map(gather).collect()
            }
            CertifiedCollective::Known(kind) => list_flows(&kind.list_demands(ranks)),
        }
    }
}

/// Each number after a space.
fn join_numbers<T: fmt::Display>(numbers: &[T]) -> String {
    let mut text = String::with_capacity(2 * numbers.len());
    for number in numbers {
        text.push(' ');
        // Texts take everything.
        let _ = write!(text, "{number}");
    }
    text
}
