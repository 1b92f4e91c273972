//! Writes certificates of bounds as text.

use super::known::{WrittenDemand, join_list};
use crate::bound::CutBound;
use crate::bound::allreduce::AllReduceBound;
use crate::bound::alltoall::LengthBound;
use crate::bound::collective::{BandwidthWitness, CollectiveBounds, StepWitness};
use crate::bound::flows::{FlowBound, Layering, MeasuredFlow, list_flows};
use crate::bound::layered::LayeredBound;
use crate::bound::steps::StepBound;
use crate::collective::{Collective, CollectiveKind, DemandList};
use crate::graph::text::write_topology;
use crate::graph::{Topology, Vertex};
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

impl Certificate {
    fn find_collective(&self) -> CertifiedCollective {
        match self {
            Certificate::Cut { collective, .. }
            | Certificate::Steps { collective, .. }
            | Certificate::Flows { collective, .. }
            | Certificate::AllReduce { collective, .. } => *collective,
            Certificate::Lengths { .. } => CollectiveKind::AllToAll.into(),
            Certificate::Layered { collective, .. } => (*collective).into(),
        }
    }
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
    let mut text = format!("ccl-proof 2\n{}", write_topology(topology));
    let is_same =
        |one: &Certificate, next: &Certificate| one.find_collective() == next.find_collective();
    for section in certificates.chunk_by(is_same) {
        let collective = section.first().map(Certificate::find_collective);
        let subject = ProofSubject::new(topology, collective, demands);
        text += "collective\n";
        for demand in &subject.written {
            // Texts take everything.
            let _ = writeln!(text, "{}", demand.write_line(topology.count_ranks()));
        }
        text.extend(section.iter().map(|certificate| subject.write_certificate(certificate)));
    }
    text + &format!("end {}\n", certificates.len())
}

/// What certificates are about.
struct ProofSubject<'a> {
    topology: &'a Topology,
    /// The collective, if it is known; for an AllToAll on many ranks its demands are too many to be listed.
    kind: Option<CollectiveKind>,
    demands: Option<&'a DemandList>,
    written: Vec<WrittenDemand>,
}

/// The potentials of all vertices at all times, one time after another.
type FlowPotentials = Vec<i64>;

impl<'a> ProofSubject<'a> {
    fn new(
        topology: &'a Topology,
        collective: Option<CertifiedCollective>,
        demands: Option<&'a DemandList>,
    ) -> ProofSubject<'a> {
        let kind = match collective {
            Some(CertifiedCollective::Known(kind)) => Some(kind),
            Some(CertifiedCollective::Demands) | None => None,
        };
        let written = match (kind, demands) {
            (Some(kind), _) => WrittenDemand::list_known(topology.count_ranks(), kind),
            (None, Some(demands)) => WrittenDemand::list_described(demands),
            (None, None) => Vec::new(),
        };
        ProofSubject { topology, kind, demands, written }
    }

    fn write_certificate(&self, certificate: &Certificate) -> String {
        let topology = self.topology;
        match certificate {
            Certificate::Cut { bound, .. } => {
                let CutBound { value, side, .. } = bound;
                let mut potentials = vec![1; topology.count_vertices()];
                for vertex in side {
                    potentials.get_mut(vertex.0 as usize).into_iter().for_each(|own| *own = 0);
                }
                let is_inside = |vertex: &Vertex| potentials.get(vertex.0 as usize) == Some(&0);
                let leaves = |demand: &WrittenDemand| {
                    let mut sums = demand.sums.iter();
                    sums.any(|sum| {
                        sum.origins.iter().any(is_inside) && !sum.receivers.iter().all(is_inside)
                    })
                };
                let leaving = (0..).zip(&self.written).filter(|(_, demand)| leaves(demand));
                let leaving: Vec<Vertex> = leaving.map(|(index, _)| Vertex(index)).collect();
                let list = join_list(&leaving, self.written.len());
                format!("bound {value} time\nflow {list} :{}\n", join_numbers(&potentials))
            }
            Certificate::Steps { bound, .. } => {
                let StepBound { steps, from, to, distances } = bound;
                let has_both = |demand: &WrittenDemand| {
                    let mut sums = demand.sums.iter();
                    sums.any(|sum| sum.origins.contains(from) && sum.receivers.contains(to))
                };
                let demand = self.written.iter().position(has_both).unwrap_or(0);
                format!("bound {steps} steps\nflow {demand} :{}\n", join_numbers(distances))
            }
            Certificate::Flows { bound, .. } => {
                let limit = match bound.layering {
                    Layering::Unlimited => String::new(),
                    Layering::Steps(steps) => format!(" steps {steps}"),
                    Layering::Hops(hops) => format!(" hops {hops}"),
                };
                let flows = self.list_flows().into_iter().map(|flows| {
                    let potentials = bound.list_potentials(topology, &flows).concat();
                    let size = (potentials.len() / flows.len().max(1)).max(1);
                    potentials.chunks(size).map(<[i64]>::to_vec).collect()
                });
                format!("bound {} time{limit}\n{}", bound.value, self.write_flows(flows))
            }
            Certificate::Lengths { bound } => {
                let potentials = bound.list_potentials(topology).into_iter();
                let flows = potentials.map(|own| vec![own]);
                format!("bound {} time\n{}", bound.value, self.write_flows(flows))
            }
            Certificate::AllReduce { bound, .. } => {
                let flows = bound.list_flows(topology).into_iter();
                format!("bound {} time roots\n{}", bound.value, self.write_flows(flows))
            }
            Certificate::Layered { collective, bound } => {
                let potentials = match collective.reverse() {
                    Some(_) => bound.list_reversed_potentials(topology),
                    None => bound.list_potentials(topology),
                };
                let times = bound.steps as usize + 1;
                let flows: Vec<FlowPotentials> =
                    potentials.chunks(times).map(<[Vec<i64>]>::concat).collect();
                // From each rank, or to each rank, there is a flow for each other one.
                let others = topology.ranks().len().saturating_sub(1).max(1);
                let flows = flows.chunks(others).map(<[FlowPotentials]>::to_vec);
                let steps = bound.steps;
                format!("bound {} time steps {steps}\n{}", bound.value, self.write_flows(flows))
            }
        }
    }

    /// The lines of the flows of each demand, without those whose potentials are all zero.
    fn write_flows(&self, flows: impl Iterator<Item = Vec<FlowPotentials>>) -> String {
        let mut text = String::new();
        for ((index, demand), mut flows) in self.written.iter().enumerate().zip(flows) {
            let size = flows.first().map_or(0, Vec::len);
            flows.retain(|flow| flow.iter().any(|potential| *potential != 0));
            if flows.is_empty() {
                continue;
            }
            // A flow that is alone would count for each value.
            if flows.len() == 1 && demand.is_shared() {
                flows.push(vec![0; size]);
            }
            let numbers: String = flows.iter().map(|flow| join_numbers(flow)).collect();
            // Texts take everything.
            let _ = writeln!(text, "flow {index} :{numbers}");
        }
        text
    }

    /// The flows of each demand.
    fn list_flows(&self) -> Vec<Vec<MeasuredFlow>> {
        let ranks = self.topology.count_ranks();
        let spread = |origin| {
            let receivers = self.topology.ranks().collect();
            vec![MeasuredFlow { demand: None, origin, receivers }]
        };
        match (self.kind, self.demands) {
            (Some(CollectiveKind::Scatter(root)), _) => vec![spread(root)],
            (Some(CollectiveKind::AllToAll), _) => self.topology.ranks().map(spread).collect(),
            (Some(kind), _) => list_flows(&kind.list_demands(ranks)),
            (None, Some(demands)) => list_flows(demands),
            (None, None) => Vec::new(),
        }
    }
}

/// Each number after a space.
fn join_numbers<T: fmt::Display>(numbers: &[T]) -> String {
    let mut text = String::with_capacity(2 * numbers.len());
    for number in numbers {
        // Texts take everything.
        let _ = write!(text, " {number}");
    }
    text
}
