//! Proofs of all bounds of a collective, also of described ones: what is written is accepted, and what was broken is
//! refused.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[path = "support/drawing.rs"]
mod drawing;

use drawing::draw_subset;
use synth::bound::collective::{BoundRequest, CollectiveBounds, bound_collective};
use synth::bound::cut_search::{count_leaving_values, search_cut};
use synth::bound::flows::{Layering, bound_flows};
use synth::bound::{BoundError, ProgramBudget};
use synth::collective::{Collective, CollectiveKind, Demand, DemandList, SummandGroup};
use synth::families::{RelativeGraph, build_dgx1, build_line};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::proof::read::check_proof;
use synth::proof::write::{
    Certificate, CertifiedCollective, collect_certificates, write_bounds_proof, write_demands_proof,
};
use synth::proof::{ProofError, ProofFlaw, ProvedQuantity};
use synth::rational::Rational;
use synth::sketch::Sketch;

/// Checks the proof of all bounds, and that it is about them.
fn prove(bounds: &CollectiveBounds) {
    let proof = check_proof(&write_bounds_proof(bounds)).unwrap();
    assert_eq!(proof.topology, bounds.topology);
    let [steps, bandwidth, by_steps @ ..] = proof.claims.as_slice() else { panic!() };
    assert_eq!(steps.quantity, ProvedQuantity::Steps);
    assert_eq!(steps.value, Rational::from_integer(u64::from(bounds.steps.steps)));
    assert_eq!(bandwidth.value, bounds.bandwidth.value);
    for claim in by_steps {
        let ProvedQuantity::TimePerChunkInSteps(steps) = claim.quantity else { panic!() };
        let mut own = bounds.by_steps.iter().filter(|bound| u64::from(bound.steps) == steps);
        assert!(own.all(|bound| claim.value <= bound.value));
    }
}

#[test]
fn all_bounds_of_known_collectives_are_proved() {
    let dgx1 = build_dgx1().unwrap();
    let root = Vertex(3);
    let hops = Sketch { max_hops: Some(2), ..Sketch::default() };
    for kind in [
        CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll,
        CollectiveKind::AllReduce,
        CollectiveKind::Broadcast(root),
        CollectiveKind::Reduce(root),
        CollectiveKind::Scatter(root),
        CollectiveKind::Gather(root),
    ] {
        for sketch in [Sketch::default(), hops.clone()] {
            let request = BoundRequest { max_steps: Some(4), ..BoundRequest::default() };
            prove(&bound_collective(&dgx1, &kind.into(), &sketch, &request).unwrap());
        }
    }
}

/// A graph of up to five ranks and two switches, whose edges need not go both ways.
fn draw_topology(random: &mut fastrand::Rng) -> Topology {
    let ranks = random.u32(2..6);
    let vertices = ranks + random.u32(0..3);
    let mut graph = RelativeGraph::new(ranks);
    for _ in ranks..vertices {
        graph.add_switch(SwitchAbilities::default());
    }
    for from in 0..vertices {
        for to in (0..vertices).filter(|to| *to != from) {
            if random.u8(0..10) < 6 {
                graph.add_edge(Vertex(from), Vertex(to), random.u64(1..10));
            }
        }
    }
    graph.build().unwrap()
}

fn draw_ranks(random: &mut fastrand::Rng, ranks: u32) -> Vec<Vertex> {
    let mut drawn = draw_subset(random, 0..ranks);
    drawn.push(Vertex(random.u32(0..ranks)));
    drawn
}

/// Copies, sums, single values, and sums with common summands.
fn draw_demands(random: &mut fastrand::Rng, ranks: u32) -> DemandList {
    let mut demands = Vec::new();
    for _ in 0..random.u32(1..4) {
        let summands = random.bool().then_some(SummandGroup(0));
        let origins = if random.bool() {
            draw_ranks(random, ranks)
        } else {
            vec![Vertex(random.u32(0..ranks))]
        };
        let receivers = draw_ranks(random, ranks);
        let count = if summands.is_some() { 3 } else { random.u64(1..7) };
        demands.push(Demand { origins, receivers, count, summands });
    }
    DemandList::new(demands).unwrap()
}

#[test]
fn all_bounds_of_drawn_collectives_are_proved() {
    let mut random = fastrand::Rng::with_seed(47);
    let [mut proved, mut grouped] = [0, 0];
    for _ in 0..120 {
        let topology = draw_topology(&mut random);
        let demands = draw_demands(&mut random, topology.count_ranks());
        grouped += u32::from(demands.as_slice().iter().any(|demand| demand.summands.is_some()));
        let request = BoundRequest { max_steps: Some(4), ..BoundRequest::default() };
        let hops = if random.bool() { None } else { Some(3) };
        let sketch = Sketch { max_hops: hops, ..Sketch::default() };
        match bound_collective(&topology, &Collective::Demands(demands), &sketch, &request) {
            Ok(bounds) => {
                prove(&bounds);
                proved += 1;
            }
            Err(
                BoundError::Unreachable { .. }
                | BoundError::SingleRank
                | BoundError::TooFewHops { .. },
            ) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(proved > 60 && grouped > 20, "{proved} {grouped}");
}

/// How many sums are independent, by Gauss over the fractions: an own computation.
#[expect(clippy::indexing_slicing, reason = "by rows and columns")]
fn count_independent(mut rows: Vec<Vec<Rational>>) -> u64 {
    let mut rank = 0;
    let columns = rows.first().map_or(0, Vec::len);
    for column in 0..columns {
        let Some(pivot) = (rank..rows.len()).find(|row| rows[*row][column] != Rational::ZERO)
        else {
            continue;
        };
        rows.swap(rank, pivot);
        let solved = rows[rank].clone();
        for row in rows.iter_mut().skip(rank + 1) {
            let factor = row[column].checked_div(solved[column]).unwrap();
            for (own, other) in row.iter_mut().zip(&solved) {
                *own = own.checked_sub(factor.checked_mul(*other).unwrap()).unwrap();
            }
        }
        rank += 1;
    }
    rank as u64
}

#[test]
fn cuts_count_what_is_independent() {
    let mut random = fastrand::Rng::with_seed(48);
    for _ in 0..500 {
        let ranks = random.u32(2..7);
        let demands = draw_demands(&mut random, ranks);
        let side = random.u32(0..1 << ranks);
        let is_inside = |vertex: Vertex| side >> vertex.0 & 1 == 1;
        let mut expected = 0;
        let mut rows = Vec::new();
        for demand in demands.as_slice() {
            let part = (0..ranks).map(|rank| {
                let vertex = Vertex(rank);
                let is_part = is_inside(vertex) && demand.origins.contains(&vertex);
                if is_part { Rational::ONE } else { Rational::ZERO }
            });
            let part: Vec<Rational> = part.collect();
            if demand.receivers.iter().all(|receiver| is_inside(*receiver)) {
                continue;
            }
            match demand.summands {
                Some(_) => rows.push(part),
                None if part.contains(&Rational::ONE) => expected += demand.count,
                None => {}
            }
        }
        // Modulo 2 there may be fewer.
        let most = expected + 3 * count_independent(rows);
        let found = count_leaving_values(&demands, is_inside);
        assert!(found <= most && found + 3 >= most, "{demands:?} {side}");
    }
}

#[test]
fn no_cut_is_above_the_program() {
    let mut random = fastrand::Rng::with_seed(49);
    let mut equal = 0;
    let mut compared = 0;
    for _ in 0..60 {
        let topology = draw_topology(&mut random);
        let demands = draw_demands(&mut random, topology.count_ranks());
        let has_groups = demands.as_slice().iter().any(|demand| demand.summands.is_some());
        let budget = ProgramBudget::default();
        let flows = bound_flows(&topology, &demands, Layering::Unlimited, &budget);
        let (Ok(cut), Ok(flows)) = (search_cut(&topology, &demands), flows) else { continue };
        // Sums with common summands may have more independent parts than the program knows.
        assert!(cut.value <= flows.value || has_groups);
        compared += 1;
        equal += u32::from(cut.value == flows.value);
    }
    assert!(compared > 30 && 2 * equal > compared, "{compared} {equal}");
}

/// Prefix sums on a line of three ranks, twice: what is written.
#[test]
fn proofs_of_demands_can_be_read() {
    let line = build_line(3).unwrap();
    let ranks = |ranks: std::ops::Range<u32>| ranks.map(Vertex).collect::<Vec<Vertex>>();
    let prefix = |rank| Demand {
        summands: Some(SummandGroup(4)),
        ..Demand::sum(ranks(0..rank + 1), ranks(rank..rank + 1), 1)
    };
    let demands = DemandList::new((0..3).map(prefix).collect()).unwrap();
    let request = BoundRequest { max_steps: Some(0), ..BoundRequest::default() };
    let collective = Collective::Demands(demands);
    let bounds = bound_collective(&line, &collective, &Sketch::default(), &request).unwrap();
    let text = write_bounds_proof(&bounds);
    let (_, text) = text.split_once("demand").unwrap();
    assert_eq!(
        text,
        " 1 : 0 1 : 1 : all : 2\nbound 2 steps\nflow 0 : 0 1 2\nbound 1 time\nflow all : 0 1 1\nend 2\n"
    );
}

/// Two chunks for rank 1, and three for both others, from rank 0, on a line; and a sum for rank 0.
const LINE: &str = "\
ccl-proof 2
rates relative
ranks 3
edge 0 1 1 0 memory port
edge 1 0 1 0 memory port
edge 1 2 1 0 memory port
edge 2 1 1 0 memory port
collective
demand 2 : 0 : 1
demand 3 : 0 : 1 2
demand 1 : 0 1 2 : 0 : 1 2 : 0
bound 5 time
flow 0 1 : 0 1 1
bound 3 time
flow 1 : 0 0 1
bound 1 time
flow 2 : 1 1 0
bound 5 time
flow 0 : 0 1 1
flow 1 : 0 3 3 0 0 0
end 4
";

#[test]
fn broken_demands_are_refused() {
    let claims = check_proof(LINE).unwrap().claims;
    let values: Vec<String> = claims.iter().map(|claim| claim.value.to_string()).collect();
    assert_eq!(values, ["5", "3", "1", "5"]);
    let other = ProofFlaw::OtherValue(Rational::ZERO);
    let refuse = |old: &str, new: &str, line: usize, flaw: ProofFlaw| {
        let broken = LINE.replacen(old, new, 1);
        assert_ne!(broken, LINE);
        let error = check_proof(&broken).map_err(|mut error| {
            if matches!(error.flaw, ProofFlaw::OtherValue(_)) {
                error.flaw = ProofFlaw::OtherValue(Rational::ZERO);
            }
            error
        });
        assert_eq!(error, Err(ProofError { line, flaw }), "{old} to {new}");
    };
    refuse("demand 2 : 0 : 1", "demand 2 : 0 : 3", 9, ProofFlaw::WrongVertex);
    refuse("demand 2 : 0 : 1", "demand 2 : 0 :", 9, ProofFlaw::Malformed);
    refuse("demand 3 : 0 : 1 2", "demand 3 : 0 : 2 1", 10, ProofFlaw::Malformed);
    refuse("0 1 2 : 0 : 1 2 : 0", "0 1 2 : 0 : 1 2", 11, ProofFlaw::Malformed);
    refuse("demand 1 : 0 1 2", "apart 1 : 0 1 2", 11, ProofFlaw::Malformed);
    // Fewer values than the cuts and the flows are for.
    refuse("demand 2 : 0 : 1", "demand 1 : 0 : 1", 12, other.clone());
    refuse("demand 3 : 0 : 1 2", "demand 2 : 0 : 1 2", 12, other.clone());
    refuse("flow 1 : 0 0 1", "flow 1 : 1 0 1", 14, other.clone());
    // Of two sums with the same part from rank 2, one must leave it; of unrelated ones, both.
    refuse("bound 1 time", "bound 2 time", 16, other.clone());
    let unrelated = LINE.replace(" : 1 2 : 0\nbound", "\ndemand 1 : 1 2 : 0\nbound");
    let unrelated = unrelated.replace("bound 1 time\nflow 2", "bound 2 time\nflow 2 3");
    assert_eq!(check_proof(&unrelated).unwrap().claims[2].value, Rational::from_integer(2));
    refuse("bound 5 time\nflow 0 :", "bound 6 time\nflow 0 :", 18, other.clone());
    refuse("0 3 3 0 0 0", "0 4 4 0 0 0", 18, other.clone());
    // A flow that is alone is one of each value.
    refuse("0 3 3 0 0 0", "0 3 3", 18, other.clone());
    refuse(" 0 0 0\nend", "\nend", 18, other);
    refuse(" 0 0 0\nend", " 0 0\nend", 18, ProofFlaw::Malformed);
    refuse("flow 0 : 0 1 1\nflow 1", "flow 1 : 0 1 1\nflow 0", 18, ProofFlaw::Malformed);
    // Several hops of sums with common summands are not bound.
    let (before, _) = LINE.split_once("bound").unwrap();
    let file = |hops: u32, demand: u32| {
        let zeros = " 0".repeat(3 * (hops as usize + 1));
        check_proof(&format!("{before}bound 0 time hops {hops}\nflow {demand} :{zeros}\nend 1\n"))
            .unwrap_err()
            .flaw
    };
    assert_eq!(file(2, 2), ProofFlaw::WrongVertex);
    assert_ne!(file(2, 1), ProofFlaw::WrongVertex);
    assert_ne!(file(1, 2), ProofFlaw::WrongVertex);
}

/// Sums of which none is a sum of others, but no two: of four with common summands three must leave.
#[test]
fn independent_sums_are_counted() {
    let file = |demands: &str, value: u32, numbers: &str| {
        check_proof(&format!(
            "ccl-proof 2\nrates relative\nranks 4\nedge 0 3 1 0 port\nedge 1 3 1 0 port\n\
            edge 2 3 1 0 port\ncollective\n{demands}\nbound {value}/3 time\nflow 0 : {numbers}\nend 1\n"
        ))
        .is_ok()
    };
    let cut = "0 0 0 1";
    let three = "demand 5 : 0 1 : 3 : 1 2 : 3 : 0 1 2 : 3";
    assert!(file(three, 15, cut) && !file(three, 20, cut) && !file(three, 10, cut));
    let dependent = "demand 5 : 0 1 : 3 : 1 2 : 3 : 0 2 : 3";
    assert!(file(dependent, 10, cut) && !file(dependent, 15, cut));
    let four = "demand 5 : 0 1 : 3 : 1 2 : 3 : 0 1 2 : 3 : 0 2 : 3";
    assert!(file(four, 15, cut) && !file(four, 20, cut));
    // Several flows share what is sent, and a sum that rises above 0 only where another one does not is no further one.
    assert!(!file(three, 15, "0 0 0 1 0 0 0 0") && file(three, 1, "0 0 0 1 0 0 0 0"));
    // Higher up, only the farthest sum counts.
    let high = "-1 -1 -1 0";
    assert!(file(three, 5, high) && !file(three, 15, high));
}

#[test]
fn hops_are_claimed() {
    let dgx1 = build_dgx1().unwrap();
    let demands = CollectiveKind::Broadcast(Vertex(0)).list_demands(8);
    let budget = ProgramBudget::default();
    let bound = bound_flows(&dgx1, &demands, Layering::Hops(2), &budget).unwrap();
    let collective = CertifiedCollective::Demands;
    let text = write_demands_proof(
        &dgx1,
        Some(&demands),
        &[Certificate::Flows { collective, bound: bound.clone() }],
    );
    let claims = check_proof(&text).unwrap().claims;
    assert_eq!(claims[0].quantity, ProvedQuantity::TimePerChunkInHops(2));
    assert_eq!(claims[0].value, bound.value);
    // Without the limit it does not hold.
    let unlimited = text.replace(" time hops 2\n", " time\n");
    assert!(check_proof(&unlimited).is_err());
}

#[test]
fn certificates_are_collected() {
    let dgx1 = build_dgx1().unwrap();
    let request = BoundRequest::default();
    let kind = CollectiveKind::AllGather;
    let bounds = bound_collective(&dgx1, &kind.into(), &Sketch::default(), &request).unwrap();
    let certificates = collect_certificates(&bounds);
    let collective = CertifiedCollective::Known(kind);
    assert!(matches!(&certificates[..], [
            Certificate::Steps { collective: first, .. },
            Certificate::Cut { collective: second, .. },
            Certificate::Layered { collective: CollectiveKind::AllGather, .. },
        ] if [*first, *second] == [collective; 2]));
}
