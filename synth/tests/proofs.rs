//! Proof files: what is written is accepted, and what was broken is refused.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::bound::allreduce::bound_allreduce;
use synth::bound::alltoall::bound_alltoall;
use synth::bound::cut::{bound_allgather, bound_reduce_scatter};
use synth::bound::flows::Layering;
use synth::bound::layered::{bound_allgather_in_steps, bound_reduce_scatter_in_steps};
use synth::bound::rooted::{bound_broadcast, bound_gather, bound_reduce, bound_scatter};
use synth::bound::steps::bound_steps;
use synth::collective::CollectiveKind;
use synth::families::{
    BoxShape, RelativeGraph, build_boxes, build_dgx1, build_full, build_hub, build_line,
    build_mi250, build_ring,
};
use synth::graph::{SwitchAbilities, Topology, TopologyError, Vertex};
use synth::proof::read::check_proof;
use synth::proof::write::{Certificate, write_proof};
use synth::proof::{
    MAX_CERTIFICATES, MAX_EDGE_WORK, MAX_PROOF_BYTES, MAX_PROOF_LINES, ProofError, ProofFlaw,
    ProvedClaim, ProvedQuantity,
};
use synth::rational::{ArithmeticError, Rational};

fn collect_certificates(topology: &Topology) -> Vec<Certificate> {
    let root = Vertex(topology.count_ranks() - 1);
    let cuts = [
        (CollectiveKind::AllGather, bound_allgather(topology)),
        (CollectiveKind::ReduceScatter, bound_reduce_scatter(topology)),
        (CollectiveKind::Broadcast(root), bound_broadcast(topology, root)),
        (CollectiveKind::Reduce(root), bound_reduce(topology, root)),
        (CollectiveKind::Scatter(root), bound_scatter(topology, root)),
        (CollectiveKind::Gather(root), bound_gather(topology, root)),
    ];
    let mut certificates = Vec::new();
    for (collective, bound) in cuts {
        certificates
            .push(Certificate::Cut { collective: collective.into(), bound: bound.unwrap() });
        let bound = bound_steps(topology, collective).unwrap();
        certificates.push(Certificate::Steps { collective: collective.into(), bound });
    }
    for collective in [CollectiveKind::AllToAll, CollectiveKind::AllReduce] {
        let bound = bound_steps(topology, collective).unwrap();
        certificates.push(Certificate::Steps { collective: collective.into(), bound });
    }
    certificates.push(Certificate::Lengths { bound: bound_alltoall(topology).unwrap() });
    certificates.push(Certificate::AllReduce {
        collective: CollectiveKind::AllReduce.into(),
        bound: bound_allreduce(topology).unwrap(),
    });
    certificates
}

/// The claims that certificates make.
fn expect_claims(certificates: &[Certificate]) -> Vec<ProvedClaim> {
    let claim = |certificate: &Certificate| match certificate {
        Certificate::Cut { collective, bound } => ProvedClaim {
            collective: collective.to_string(),
            quantity: ProvedQuantity::TimePerChunk,
            value: bound.value,
        },
        Certificate::Layered { collective, bound } => ProvedClaim {
            collective: collective.to_string(),
            quantity: ProvedQuantity::TimePerChunkInSteps(u64::from(bound.steps)),
            value: bound.value,
        },
        Certificate::Lengths { bound } => ProvedClaim {
            collective: "alltoall".to_owned(),
            quantity: ProvedQuantity::TimePerChunk,
            value: bound.value,
        },
        Certificate::AllReduce { bound, .. } => ProvedClaim {
            collective: "allreduce".to_owned(),
            quantity: ProvedQuantity::TimePerChunkByRoots,
            value: bound.value,
        },
        Certificate::Flows { collective, bound } => ProvedClaim {
            collective: collective.to_string(),
            quantity: match bound.layering {
                Layering::Unlimited => ProvedQuantity::TimePerChunk,
                Layering::Steps(steps) => ProvedQuantity::TimePerChunkInSteps(u64::from(steps)),
                Layering::Hops(hops) => ProvedQuantity::TimePerChunkInHops(u64::from(hops)),
            },
            value: bound.value,
        },
        Certificate::Steps { collective, bound } => ProvedClaim {
            collective: collective.to_string(),
            quantity: ProvedQuantity::Steps,
            value: Rational::from_integer(u64::from(bound.steps)),
        },
    };
    certificates.iter().map(claim).collect()
}

#[test]
fn bounds_are_proved() {
    let abilities = SwitchAbilities { multicast: true, reduce: false };
    let shape = BoxShape { boxes: 3, ranks: 4, port_rate: 3, card_rate: 1, rails: 2, abilities };
    let topologies =
        [build_dgx1(), build_hub(8, abilities), build_boxes(shape), build_mi250(2, 50, 16)];
    for topology in topologies.map(Result::unwrap) {
        let mut certificates = collect_certificates(&topology);
        let collective = CollectiveKind::AllGather;
        // The last one is too large for the linear program.
        if let Ok(bound) = bound_allgather_in_steps(&topology, 2) {
            certificates.push(Certificate::Layered { collective, bound });
            let collective = CollectiveKind::ReduceScatter;
            let bound = bound_reduce_scatter_in_steps(&topology, 2).unwrap();
            certificates.push(Certificate::Layered { collective, bound });
        } else {
            assert_eq!(topology.count_ranks(), 32);
        }
        let proof = check_proof(&write_proof(&topology, &certificates)).unwrap();
        assert_eq!(proof.topology, topology);
        assert_eq!(proof.claims, expect_claims(&certificates));
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

#[test]
fn bounds_of_random_graphs_are_proved() {
    let mut random = fastrand::Rng::with_seed(45);
    let mut proved = 0;
    for _ in 0..40 {
        let topology = draw_topology(&mut random);
        if topology.check_reachability().is_err() {
            continue;
        }
        let mut certificates = collect_certificates(&topology);
        let bandwidth = bound_allgather(&topology).unwrap().value;
        let reversed_bandwidth = bound_reduce_scatter(&topology).unwrap().value;
        let least = bound_steps(&topology, CollectiveKind::AllGather).unwrap().steps;
        let mut last: Option<[Rational; 2]> = None;
        for steps in least..least + 3 {
            let bound = bound_allgather_in_steps(&topology, steps).unwrap();
            let reversed = bound_reduce_scatter_in_steps(&topology, steps).unwrap();
            // More steps need no more time, and never less than any number of them.
            assert!(bound.value >= bandwidth && reversed.value >= reversed_bandwidth);
            if let Some([last, last_reversed]) = last {
                assert!(bound.value <= last && reversed.value <= last_reversed);
            }
            last = Some([bound.value, reversed.value]);
            for (collective, bound) in
                [(CollectiveKind::AllGather, bound), (CollectiveKind::ReduceScatter, reversed)]
            {
                certificates.push(Certificate::Layered { collective, bound });
            }
        }
        let proof = check_proof(&write_proof(&topology, &certificates)).unwrap();
        assert_eq!(proof.topology, topology);
        assert_eq!(proof.claims, expect_claims(&certificates));
        proved += 1;
    }
    assert!(proved > 20, "{proved}");
}

/// A ring of four ranks, with a certificate of each kind; the values are those of the closed forms.
const RING: &str = "\
ccl-proof 2
rates relative
ranks 4
edge 0 1 1 0 memory port
edge 0 3 1 0 memory port
edge 1 0 1 0 memory port
edge 1 2 1 0 memory port
edge 2 1 1 0 memory port
edge 2 3 1 0 memory port
edge 3 0 1 0 memory port
edge 3 2 1 0 memory port
collective
demand 1 : 0 : all
demand 1 : 1 : all
demand 1 : 2 : all
demand 1 : 3 : all
bound 3/2 time
flow 0 1 2 : 0 0 0 1
bound 2 steps
flow 0 : 0 1 2 1
bound 3/2 time steps 2
flow 0 : 0 1 1 1 0 0 1 1 0 0 0 1
flow 1 : 1 0 1 1 0 0 0 1 0 0 0 1
flow 2 : 1 1 0 1 1 0 0 1 0 0 0 1
collective
demand 1 : 0 : all
bound 1/2 time
flow 0 : 0 0 1 1
collective
demand 1 : 0 : 1
demand 1 : 2 : 1
demand 1 : 3 : 1
bound 2 steps
flow 2 : 1 2 1 0
collective
apart 1 : 0 : all
apart 1 : 1 : all
apart 1 : 2 : all
apart 1 : 3 : all
bound 2/1 time
flow 0 1 : 0 0 1 1
bound 2 time
flow 0 : 0 1 2 1
flow 1 : 1 0 1 2
flow 2 : 2 1 0 1
flow 3 : 1 2 1 0
collective
demand 1 : all : all
bound 3/4 time roots
flow 0 : 0 1 1 1 0 -1 -1 -1 1 0 1 1 -1 0 -1 -1 1 1 0 1 -1 -1 0 -1 -5 -5 -5 -6 -1 -1 -1 0
end 8
";

#[test]
fn proofs_can_be_written_by_hand() {
    let proof = check_proof(RING).unwrap();
    assert_eq!(proof.topology, build_ring(4).unwrap());
    let claims: Vec<String> = proof
        .claims
        .iter()
        .map(|claim| format!("{} {:?} {}", claim.collective, claim.quantity, claim.value))
        .collect();
    assert_eq!(
        claims,
        [
            "allgather TimePerChunk 3/2",
            "allgather Steps 2",
            // The edges into rank 3, in those steps in which a chunk can pass them.
            "allgather TimePerChunkInSteps(2) 3/2",
            "broadcast(0) TimePerChunk 1/2",
            "gather(1) Steps 2",
            "alltoall TimePerChunk 2",
            "alltoall TimePerChunk 2",
            // Each buffer must enter each rank, and each sum leave it.
            "allreduce TimePerChunkByRoots 3/4",
        ]
    );
}

#[test]
fn other_demands_have_no_name() {
    let name = |old: &str, new: &str| {
        let file = RING.replacen(old, new, 1);
        assert_ne!(file, RING);
        check_proof(&file).unwrap().claims[3].collective.clone()
    };
    assert_eq!(
        name("demand 1 : 0 : all\nbound 1/2", "demand 1 : 1 : all\nbound 1/2"),
        "broadcast(1)"
    );
    assert_eq!(name("demand 1 : 0 : all\nbound 1/2", "demand 1 : 0 1 : 3\nbound 1/2"), "demands");
    let twice = "demand 1 : 0 : all\ndemand 1 : 0 : all\nbound 1/2";
    assert_eq!(name("demand 1 : 0 : all\nbound 1/2", twice), "demands");
    // Two values of which there is one bound each.
    assert_eq!(name("demand 1 : 0 : all\nbound 1/2", "demand 2 : 0 : all\nbound 1"), "demands");
}

/// A text that is replaced, and how the file is refused then.
struct Break {
    old: &'static str,
    new: &'static str,
    line: usize,
    flaw: ProofFlaw,
}

/// That the numbers show another value, whatever it is.
const OTHER: ProofFlaw = ProofFlaw::OtherValue(Rational::ZERO);

/// The flaw of a bound that is infinite.
const NOTHING_OFFERED: ProofFlaw = ProofFlaw::Arithmetic(ArithmeticError::DivisionByZero);

#[test]
fn broken_cuts_are_refused() {
    let wrong = |old, new, flaw| Break { old, new, line: 17, flaw };
    let breaks = [
        // All ranks are inside, or none is.
        wrong(": 0 0 0 1", ": 0 0 0 0", NOTHING_OFFERED),
        wrong(": 0 0 0 1", ": 1 1 1 1", NOTHING_OFFERED),
        // Too many vertices, or too few.
        wrong(": 0 0 0 1\n", ": 0 0 0 1 1\n", ProofFlaw::Malformed),
        wrong(": 0 0 0 1\n", ": 0 0 1\n", ProofFlaw::Malformed),
        wrong(": 0 0 0 1\n", ":\n", ProofFlaw::Malformed),
        // Another side, other demands, and values that are too large or too small.
        wrong(": 0 0 0 1", ": 0 0 1 1", OTHER),
        wrong(": 0 0 0 1", ": 1 1 1 0", OTHER),
        wrong("flow 0 1 2", "flow 0 1", OTHER),
        wrong("bound 3/2 time\n", "bound 1501/1000 time\n", OTHER),
        wrong("bound 3/2 time\n", "bound 1499/1000 time\n", OTHER),
        wrong("bound 3/2 time\n", "bound -3/2 time\n", OTHER),
        // Demands that are not there, or twice.
        wrong("flow 0 1 2", "flow 0 1 4", ProofFlaw::WrongVertex),
        wrong("flow 0 1 2", "flow 0 2 1", ProofFlaw::Malformed),
        wrong("flow 0 1 2", "flow 0 1 1 2", ProofFlaw::Malformed),
        wrong("flow 0 1 2 :", "flow 0 1 2 : 0 0 0 1\nflow 2 :", ProofFlaw::Malformed),
        wrong("flow 0 1 2 :", "flow all : 0 0 0 1\nflow 3 :", ProofFlaw::Malformed),
        // No demand comes after a bound.
        wrong("bound 2 steps", "demand 1 : 0 : all\nbound 2 steps", ProofFlaw::Malformed),
        wrong("bound 3/2 time\n", "bound 3/2 times\n", ProofFlaw::Malformed),
        wrong("bound 3/2 time\n", "bound 3/2\n", ProofFlaw::Malformed),
        wrong("bound 3/2 time\n", "bounds 3/2 time\n", ProofFlaw::Malformed),
        wrong("bound 3/2 time\n", "bound 3/0 time\n", ProofFlaw::Malformed),
        wrong(": 0 0 0 1", ": 0 0 0 1x", ProofFlaw::Malformed),
        wrong("2 : 0 0 0 1", "2 0 0 0 1", ProofFlaw::Malformed),
        wrong("flow 0 1 2", "flows 0 1 2", ProofFlaw::Malformed),
    ];
    let root = |old, new, flaw| Break { old, new, line: 27, flaw };
    let roots = [
        // A root that is not on the side, and values for each rank.
        root(": 0 0 1 1\ncoll", ": 1 1 0 0\ncoll", OTHER),
        root("demand 1 : 0 : all\nbound 1/2", "demand 1 : 3 : all\nbound 1/2", OTHER),
        root("demand 1 : 0 : all\nbound 1/2", "apart 1 : 0 : all\nbound 1/2", OTHER),
        root("demand 1 : 0 : all\nbound 1/2", "demand 2 : 0 : all\nbound 1/2", OTHER),
        root("demand 1 : 0 : all\nbound 1/2", "demand 1 : 0 : 1\nbound 1/2", OTHER),
    ];
    refuse_all(breaks.into_iter().chain(roots));
}

#[test]
fn broken_demands_are_refused() {
    let wrong = |new, flaw| Break { old: "demand 1 : 0 : all", new, line: 13, flaw };
    let breaks = [
        wrong("demand 1 : 4 : all", ProofFlaw::WrongVertex),
        wrong("demand 1 : 0 : 1 4", ProofFlaw::WrongVertex),
        wrong("demand 1 : 0 :", ProofFlaw::Malformed),
        wrong("demand 1 : 0", ProofFlaw::Malformed),
        wrong("demand 1", ProofFlaw::Malformed),
        wrong("demand : 0 : all", ProofFlaw::Malformed),
        wrong("demand 0 : 0 : all", ProofFlaw::Malformed),
        wrong("demand -1 : 0 : all", ProofFlaw::Malformed),
        wrong("demand 4294967296 : 0 : all", ProofFlaw::Malformed),
        wrong("demand 1 : 1 0 : all", ProofFlaw::Malformed),
        wrong("demand 1 : 0 : 1 1", ProofFlaw::Malformed),
        wrong("demand 1 : 0 : all : 1", ProofFlaw::Malformed),
        wrong("apart 1 : 0 : all : 1 : all", ProofFlaw::Malformed),
        wrong("each 1 : 0 : all", ProofFlaw::Malformed),
        wrong("demand 1 : 0 : every", ProofFlaw::Malformed),
        wrong("demand 1 1 : 0 : all", ProofFlaw::Malformed),
    ];
    refuse_all(breaks);
    let fewer = Break { old: "demand 1 : 3 : all\n", new: "", line: 16, flaw: OTHER };
    // Without its values, nothing is known of rank 2.
    let fewer = Break {
        old: "demand 1 : 2 : all\ndemand 1 : 3 : all\n",
        flaw: ProofFlaw::WrongVertex,
        line: 15,
        ..fewer
    };
    refuse_all([fewer]);
}

#[test]
fn broken_steps_are_refused() {
    let wrong = |old, new, flaw| Break { old, new, line: 19, flaw };
    let breaks = [
        // A distance or a number of steps that is off by one, in each way.
        wrong("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 1 1 2 1", OTHER),
        wrong("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 0 0 2 1", OTHER),
        wrong("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 0 1 3 1", OTHER),
        wrong("bound 2 steps\nflow 0 : 0 1 2 1", "bound 3 steps\nflow 0 : 0 1 3 1", OTHER),
        wrong("bound 2 steps", "bound 3 steps", OTHER),
        wrong("bound 2 steps", "bound 1 steps", OTHER),
        wrong("bound 2 steps", "bound 5/2 steps", OTHER),
        wrong("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 0 1 1 1", OTHER),
        wrong("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 0 1 2 -1", OTHER),
        // Not as many distances as vertices.
        wrong("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 0 1 2", ProofFlaw::Malformed),
        wrong("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 0 1 2 1 1", ProofFlaw::Malformed),
        // Ranks that need nothing from each other, and demands that are not there.
        wrong("steps\nflow 0", "steps\nflow 1", OTHER),
        wrong("steps\nflow 0", "steps\nflow 4", ProofFlaw::WrongVertex),
        wrong("steps\nflow 0", "steps\nflow", ProofFlaw::Malformed),
        wrong("bound 2 steps", "bound 2 steps 2", ProofFlaw::Malformed),
        // Two flows are not added up, and neither are the ways beyond their lengths divided.
        wrong("bound 2 steps\nflow 0 : 0 1 2 1", "bound 4 steps\nflow 0 : 0 1 2 1 0 1 2 1", OTHER),
        wrong("bound 2 steps\nflow 0 :", "bound 4 steps\nflow 0 : 0 1 2 1\nflow 1 :", OTHER),
        wrong("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 0 9 18 9 0 0 0 0", OTHER),
    ];
    refuse_all(breaks);
    let many = RING.replacen("demand 1 : 0", "demand 9 : 0", 1);
    let far = many.replace("steps\nflow 0 : 0 1 2 1", "steps\nflow 0 : 0 9 18 9 0 0 0 0");
    let shown = |file: &str, line: usize| match check_proof(file) {
        Err(ProofError { line: own, flaw: ProofFlaw::OtherValue(value) }) if own == line => value,
        result => panic!("{result:?}"),
    };
    // Nine values that need nine times the time, and as many steps.
    let time = Rational::new(11, 2).unwrap();
    assert_eq!(shown(&many, 17), time);
    let many = many.replacen("bound 3/2", "bound 11/2", 1);
    assert_eq!(shown(&many, 21), time);
    assert!(shown(&far.replacen("bound 3/2", "bound 11/2", 1), 19) <= Rational::from_integer(2));
}

#[test]
fn broken_layers_are_refused() {
    let wrong = |old, new, flaw| Break { old, new, line: 21, flaw };
    let breaks = [
        // Other steps than the potentials are for, and another value.
        wrong("steps 2", "steps 3", ProofFlaw::Malformed),
        wrong("steps 2", "steps 1", ProofFlaw::Malformed),
        wrong("steps 2", "steps 0", NOTHING_OFFERED),
        wrong("steps 2", "steps 18446744073709551615", ProofFlaw::Malformed),
        wrong("steps 2", "steps 18446744073709551616", ProofFlaw::Malformed),
        wrong("steps 2", "steps -1", ProofFlaw::Malformed),
        wrong("steps 2", "steps", ProofFlaw::Malformed),
        wrong("time steps 2", "time roots", ProofFlaw::Malformed),
        wrong("bound 3/2 time steps 2", "bound 3/2 time", OTHER),
        wrong("bound 3/2 time steps", "bound 1501/1000 time steps", OTHER),
        // What one pair needs is doubled, what it needs at the begin or at the end is changed.
        wrong("0 1 1 1 0 0 1 1 0 0 0 1", "0 2 2 2 0 0 2 2 0 0 0 2", OTHER),
        wrong("0 1 1 1 0 0 1 1 0 0 0 1", "1 1 1 1 0 0 1 1 0 0 0 1", OTHER),
        wrong("0 1 1 1 0 0 1 1 0 0 0 1", "0 1 1 1 0 0 1 1 0 0 0 0", OTHER),
        // Waiting at rank 3 takes nothing away.
        wrong("1 0 1 1 0 0 0 1 0 0 0 1", "1 0 1 1 0 0 0 0 0 0 0 1", ProofFlaw::WrongValue),
        // Neither does it at rank 1, where another flow falls.
        wrong(
            "1 0 1 1 0 0 0 1 0 0 0 1",
            "1 0 1 1 0 0 0 1 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 0",
            ProofFlaw::WrongValue,
        ),
        // A number is missing, or is none.
        wrong("1 0 1 1 0 0 0 1 0 0 0 1", "1 0 1 1 0 0 0 1 0 0 0", ProofFlaw::Malformed),
        wrong("1 0 1 1 0 0 0 1 0 0 0 1", "1 0 1 1 0 0 0 1 0 0 0 1/1", ProofFlaw::Malformed),
    ];
    refuse_all(breaks);
}

#[test]
fn nothing_waits_in_switches() {
    // Into the switch for nothing in step 1, and out of it for nothing in step 2: that is no path.
    let file = "ccl-proof 2\nrates relative\nranks 2\nswitch\n\
        edge 0 2 1 0 port\nedge 1 2 1 0 port\nedge 2 0 1 0 port\nedge 2 1 1 0 port\n\
        collective\ndemand 1 : 0 : all\ndemand 1 : 1 : all\n\
        bound 1 time steps 2\nflow 0 : 0 1 0 0 1 0 0 1 1\nend 1\n";
    let proof = check_proof(file).unwrap();
    let quantity = ProvedQuantity::TimePerChunkInSteps(2);
    let collective = "allgather".to_owned();
    assert_eq!(proof.claims, [ProvedClaim { collective, quantity, value: Rational::ONE }]);
}

#[test]
fn broken_distances_are_refused() {
    let wrong = |old, new, flaw| Break { old, new, line: 42, flaw };
    let breaks = [
        wrong("bound 2 time", "bound 2001/1000 time", OTHER),
        // One distance that is larger or smaller by one, or by a thousandth.
        wrong("flow 1 : 1 0 1 2", "flow 1 : 1 0 1 3", OTHER),
        wrong("flow 1 : 1 0 1 2", "flow 1 : 1 0 1 1", OTHER),
        wrong("flow 1 : 1 0 1 2", "flow 1 : 1000 0 1001 2000", OTHER),
        wrong("flow 1 : 1 0 1 2", "flow 1 : 1 0 1/2 2", ProofFlaw::Malformed),
        wrong(
            "flow 0 : 0 1 2 1\nflow 1 : 1 0 1 2\nflow 2 : 2 1 0 1\nflow 3 : 1 2 1 0",
            "flow all : 0 0 0 0",
            NOTHING_OFFERED,
        ),
        wrong("flow 1 : 1 0 1 2", "flow 1 : 1 0 1", ProofFlaw::Malformed),
        wrong("flow 1 : 1 0 1 2", "flow 1 : 1 0 1 2 2", ProofFlaw::Malformed),
        wrong("flow 1 : 1 0 1 2\n", "", OTHER),
        wrong("flow 1 : 1 0 1 2", "flow 0 : 1 0 1 2", ProofFlaw::Malformed),
        // Each flow of several is to the farthest receiver only.
        wrong("flow 1 : 1 0 1 2", "flow 1 : 1 0 1 2 0 0 0 0", OTHER),
        wrong("bound 2 time", "bound 2 time roots", ProofFlaw::Malformed),
        wrong("bound 2 time", "bound 2 time hops 1", ProofFlaw::Malformed),
    ];
    refuse_all(breaks);
    let joint = Break { old: "apart 1 : 0", new: "demand 1 : 0", line: 40, flaw: OTHER };
    refuse_all([joint]);
}

#[test]
fn broken_halves_are_refused() {
    let wrong = |old, new, flaw| Break { old, new, line: 49, flaw };
    let breaks = [
        wrong("bound 3/4 time roots", "bound 751/1000 time roots", OTHER),
        wrong("bound 3/4 time roots", "bound 749/1000 time roots", OTHER),
        // Ranks hold back what they get: they have no potential, neither for the copies nor for the sums.
        wrong("flow 0 : 0 1 1 1 0 -1", "flow 0 : 1 0 0 0 0 0 0 0 0 1 1 1 0 -1", OTHER),
        wrong("flow 0 : 0 1 1 1 0 -1", "flow 0 : 0 0 0 0 0 0 0 -1 0 1 1 1 0 -1", OTHER),
        // One distance that is larger or smaller.
        wrong("0 1 1 1 0 -1 -1 -1 1 0", "0 1 1 1 0 -2 -1 -1 1 0", OTHER),
        wrong("0 1 1 1 0 -1 -1 -1 1 0", "0 1 1 1 0 0 -1 -1 1 0", ProofFlaw::WrongValue),
        wrong("0 1 1 1 0 -1 -1 -1 1 0", "0 2 1 1 0 -1 -1 -1 1 0", OTHER),
        wrong("0 1 1 1 0 -1 -1 -1 1 0", "0 0 1 1 0 -1 -1 -1 1 0", ProofFlaw::WrongValue),
        // What all need together.
        wrong("-5 -5 -5 -6", "-6 -6 -6 -7", ProofFlaw::WrongValue),
        wrong("-5 -5 -5 -6", "-4 -4 -4 -5", OTHER),
        // The copies go backwards, and the sums, too.
        wrong("0 1 1 1 0 -1 -1 -1 1 0", "0 1 1 1 0 1 1 1 1 0", ProofFlaw::WrongValue),
        wrong("0 1 1 1 0 -1 -1 -1 1 0", "0 -1 -1 -1 0 -1 -1 -1 1 0", ProofFlaw::WrongValue),
        wrong("-1 -1 -1 0\nend", "-1 -1 -1\nend", ProofFlaw::Malformed),
        wrong("-1 -1 -1 0\nend", "-1 -1 -1 0 0\nend", ProofFlaw::Malformed),
        wrong("demand 1 : all : all", "demand 1 : all : 0", OTHER),
        wrong("demand 1 : all : all", "demand 1 : 0 : all", OTHER),
        // Sums with common summands, and any number of hops for sums of which several ranks get each.
        wrong("demand 1 : all : all", "demand 1 : all : all : 0 1 : 0", ProofFlaw::WrongVertex),
        wrong("bound 3/4 time roots", "bound 3/4 time", OTHER),
        wrong("bound 3/4 time roots", "bound 3/4 time steps 1", ProofFlaw::WrongValue),
        wrong("bound 3/4 time roots", "bound 3/4 time hops 3", ProofFlaw::WrongVertex),
        wrong("bound 3/4 time roots", "bound 3/4 time root", ProofFlaw::Malformed),
    ];
    refuse_all(breaks);
}

#[test]
fn switches_with_abilities_pass_on_what_they_want() {
    let plain = build_hub(4, SwitchAbilities::default()).unwrap();
    let bound = bound_allreduce(&plain).unwrap();
    // A ReduceScatter and an AllGather of four.
    assert_eq!(bound.value, Rational::new(3, 2).unwrap());
    let proof = write_proof(
        &plain,
        &[Certificate::AllReduce { collective: CollectiveKind::AllReduce.into(), bound }],
    );
    let (head, numbers) = proof.rsplit_once(" : ").unwrap();
    let numbers = numbers.strip_suffix("\nend 1\n").unwrap();
    let numbers: Vec<i64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
    // Backwards, the copies are the sums.
    let halves = numbers.chunks(10).flat_map(|flow| [&flow[5..], &flow[..5]]);
    let mirrored: String = halves.flatten().map(|number| format!(" {}", -number)).collect();
    let mirrored = format!("{head} :{mirrored}\nend 1\n");
    // The bound does not hold if the switch can do both. The solver uses the switch for one half only.
    for (proof, ability) in [(proof, "multicast"), (mirrored, "reduce")] {
        assert!(check_proof(&proof).is_ok());
        for abilities in [ability, "multicast reduce"] {
            let able = proof.replace("switch\n", &format!("switch {abilities}\n"));
            assert_ne!(able, proof);
            let Err(ProofError { line: 15, flaw: ProofFlaw::OtherValue(shown) }) =
                check_proof(&able)
            else {
                panic!("{abilities}")
            };
            let able = [abilities.contains("multicast"), abilities.contains("reduce")];
            let abilities = SwitchAbilities { multicast: able[0], reduce: able[1] };
            let bound = bound_allreduce(&build_hub(4, abilities).unwrap()).unwrap();
            assert!(shown <= bound.value, "{shown} {abilities:?}");
        }
    }
}

#[test]
fn broken_files_are_refused() {
    let wrong = |old, new, line, flaw| Break { old, new, line, flaw };
    let breaks = [
        wrong("ccl-proof 2", "ccl-proof 1", 1, ProofFlaw::Malformed),
        wrong("rates relative", "rates bits", 2, ProofFlaw::Malformed),
        wrong("edge 0 1 1 0", "edge 0 1 x 0", 4, ProofFlaw::Malformed),
        wrong("edge 3 2 1 0", "link 3 2 1 0", 11, ProofFlaw::Malformed),
        wrong("collective\n", "", 12, ProofFlaw::Malformed),
        wrong("collective\n", "collectives\n", 12, ProofFlaw::Malformed),
        wrong("end 8", "end 6", 51, ProofFlaw::Incomplete),
        wrong("end 8\n", "end 8\nbound 0 time\n", 51, ProofFlaw::Incomplete),
        wrong("end 8\n", "end 8\ncollective\n", 51, ProofFlaw::Incomplete),
        wrong("end 8\n", "", 51, ProofFlaw::Incomplete),
        wrong("bound 1/2 time\nflow 0 : 0 0 1 1\n", "", 49, ProofFlaw::Incomplete),
        wrong(
            "edge 3 2 1 0 memory port",
            "edge 3 4 1 0 memory port",
            11,
            ProofFlaw::Topology(TopologyError::VertexOutOfRange { edge: 7, vertex: Vertex(4) }),
        ),
        wrong(
            "edge 3 2 1 0 memory port",
            "edge 3 2 0 0 memory port",
            11,
            ProofFlaw::Topology(TopologyError::RateNotPositive { edge: 7 }),
        ),
    ];
    refuse_all(breaks);
    // However the file is cut off.
    for length in 0..RING.len() - 1 {
        assert!(check_proof(&RING[..length]).is_err(), "{length}");
    }
    assert!(check_proof(RING.trim_end()).is_ok());
}

#[test]
fn numbers_that_overflow_are_refused() {
    let large = i128::MAX.to_string();
    let refuse = |old: &str, new: &str, line, flaw: &ProofFlaw| {
        let broken = RING.replacen(old, new, 1);
        assert_ne!(broken, RING);
        let error = check_proof(&broken).map_err(classify);
        assert_eq!(error, Err(ProofError { line, flaw: flaw.clone() }), "{new}");
    };
    refuse("bound 3/2", &format!("bound {large}"), 17, &OTHER);
    refuse("bound 3/2", &format!("bound {large}0"), 17, &ProofFlaw::Malformed);
    refuse("bound 2 time", &format!("bound {large} time"), 42, &OTHER);
    // 2^63 - 1 and one more, and the least number.
    refuse(": 1 0 1 2", ": 1 0 9223372036854775807 2", 42, &OTHER);
    refuse(": 1 0 1 2", ": 1 0 9223372036854775808 2", 42, &ProofFlaw::Malformed);
    refuse(": 1 0 1 2", ": 1 0 -9223372036854775808 9223372036854775807", 42, &OTHER);
    refuse("0 1 2 1\nbound", "0 1 9223372036854775808 1\nbound", 19, &ProofFlaw::Malformed);
    refuse("0 1 2 1\nbound", "0 1 9223372036854775807 1\nbound", 19, &OTHER);
    // What edges offer does not fit, or the bound.
    let overflow = ProofFlaw::Arithmetic(ArithmeticError::Overflow);
    let heavy = RING.replace("edge 0 1 1 0", "edge 0 1 1000000000000000000 0");
    let far = "-9223372036854775808 9223372036854775807 -9223372036854775808 0";
    let line = "flow 0 : 0 0 1 1";
    let heavy = heavy.replace(line, &format!("flow 0 : {far}"));
    let (head, rest) = heavy.split_once("collective").unwrap();
    let rest = rest.split_once("collective").unwrap().1;
    assert!(check_proof(&format!("{head}collective{rest}")).is_err());
    // A round is so long that the bound does not fit: 2 * 2^126.
    let slow = RING.replace(" 1 0 memory", " 1/85070591730234615865843651857942052864 0 memory");
    let (slow, _) = slow.split_once("bound").unwrap();
    assert_eq!(
        check_proof(&format!("{slow}bound 3/2 time\nflow 0 : 0 6 6 6\nend 1\n")).map_err(classify),
        Err(ProofError { line: 17, flaw: OTHER })
    );
    let all = "flow all : 0 0 0 8\n";
    let slow = slow.replace("demand 1 :", "demand 4294967295 :");
    assert_eq!(
        check_proof(&format!("{slow}bound 3/2 time\n{all}end 1\n")),
        Err(ProofError { line: 17, flaw: overflow })
    );
    let rates = ProofFlaw::Topology(TopologyError::RatesOverflow { edge: 0 });
    refuse("edge 0 1 1 0", &format!("edge 0 1 {large} 0"), 11, &rates);
}

#[test]
fn long_files_are_refused_at_once() {
    let line = "edge 0 1 1 0 memory port\n";
    let error = |line, flaw| Err(ProofError { line, flaw });
    let too_long = error(MAX_PROOF_LINES + 1, ProofFlaw::TooLong);
    assert_eq!(check_proof(&format!("ccl-proof 2\n{}", line.repeat(600_000))), too_long);
    let file = format!("ccl-proof 2\n{}", line.repeat(1_000_000));
    assert_eq!(check_proof(&file), error(1, ProofFlaw::TooLong));
    let many = RING.replace(line, &line.repeat(300_000));
    let edges = ProofFlaw::Topology(TopologyError::TooManyEdges);
    assert_eq!(check_proof(&many), error(300_010, edges));

    let (head, _) = RING.split_once("bound").unwrap();
    let cuts = "bound 3/2 time\nflow 0 1 2 : 0 0 0 1\n".repeat(MAX_CERTIFICATES + 1);
    let file = |count: usize| {
        let cuts = &cuts[..count * cuts.len() / (MAX_CERTIFICATES + 1)];
        format!("{head}{cuts}end {count}\n")
    };
    assert!(check_proof(&file(MAX_CERTIFICATES)).is_ok());
    assert_eq!(
        check_proof(&file(MAX_CERTIFICATES + 1)),
        error(17 + 2 * MAX_CERTIFICATES, ProofFlaw::TooLong)
    );
}

#[test]
fn long_certificates_are_refused_at_once() {
    let too_long = |line| Err(ProofError { line, flaw: ProofFlaw::TooLong });
    // What is not a proof at all, but too long to find out.
    assert_eq!(check_proof(&"x".repeat(MAX_PROOF_BYTES + 1)), too_long(1));
    let short = Err(ProofError { line: 1, flaw: ProofFlaw::Malformed });
    assert_eq!(check_proof(&"x".repeat(MAX_PROOF_BYTES)), short);
    // As many potentials as edges can be compared along, and more. The numbers are not looked at.
    let full = write_proof(&build_full(64, 1).unwrap(), &[]);
    let head = full.strip_suffix("end 0\n").unwrap();
    let length = usize::try_from(MAX_EDGE_WORK).unwrap() / (64 * 63 + 64) * 64 * 2;
    let file = |length: usize| {
        let numbers = "x".repeat(length);
        format!("{head}collective\ndemand 1 : 0 : 1\nbound 2 time\nflow 0 : {numbers}\n")
    };
    let line = head.lines().count() + 3;
    assert_eq!(check_proof(&file(length)), too_long(line));
    let malformed = Err(ProofError { line, flaw: ProofFlaw::Malformed });
    assert_eq!(check_proof(&file(length * 9 / 10)), malformed);
    // Many steps on many edges are much to keep, even if little is said of each.
    let mut edges = "ccl-proof 2\nrates relative\nranks 2\n".to_owned();
    for latency in 0..20_000 {
        edges += &format!("edge 0 1 1 {latency} port\n");
    }
    let steps = 2000;
    let numbers = " 0".repeat(2 * (steps + 1));
    let file = format!(
        "{edges}collective\ndemand 1 : 0 : 1\nbound 2 time steps {steps}\nflow 0 :{numbers}\nend 1\n"
    );
    assert_eq!(check_proof(&file), too_long(20_006));
}

#[test]
fn proofs_of_large_machines_are_accepted() {
    let full = build_full(200, 1).unwrap();
    // For 500 ranks, potentials of each of them are compared along all edges, and a few further ones.
    const { assert!(MAX_EDGE_WORK > 510 * 500 * 499) };
    let boxes = BoxShape {
        boxes: 128,
        ranks: 8,
        port_rate: 9,
        card_rate: 1,
        rails: 8,
        abilities: SwitchAbilities::default(),
    };
    for topology in [full, build_boxes(boxes).unwrap()] {
        let certificates = [Certificate::Lengths { bound: bound_alltoall(&topology).unwrap() }];
        let proof = check_proof(&write_proof(&topology, &certificates)).unwrap();
        assert_eq!(proof.claims, expect_claims(&certificates));
    }
}

#[test]
fn proofs_of_another_machine_can_be_told() {
    let line = build_line(4).unwrap();
    let proof = check_proof(&write_proof(&line, &collect_certificates(&line))).unwrap();
    assert_ne!(proof.topology, build_ring(4).unwrap());
}

#[test]
fn the_checker_is_short_and_independent() {
    // Lines as `cargo fmt` makes them, with all comments: demands, certificates and what they show.
    let source = include_str!("../src/proof/check.rs");
    assert!(source.lines().count() <= 200, "{}", source.lines().count());
    assert!(source.lines().all(|line| line.chars().count() <= 120));
    let allowed = ["super::", "crate::graph::", "crate::rational::", "std::"];
    let imports = source.lines().filter_map(|line| line.strip_prefix("use "));
    for path in imports {
        assert!(allowed.iter().any(|allowed| path.starts_with(allowed)), "{path}");
    }
    // What it takes from the module around it are types without code.
    assert!(source.contains("use super::{ProofFlaw, ProvedBound, ProvedQuantity};"));
    assert_eq!(source.matches("super::").count(), 1);
    let documented = source.matches("[`crate::proof`]").count();
    let used = source.matches("use crate::").count();
    assert_eq!(source.matches("crate::").count(), used + documented);
}

/// Other values are alike.
fn classify(error: ProofError) -> ProofError {
    let ProofError { line, flaw } = error;
    let flaw = if matches!(flaw, ProofFlaw::OtherValue(_)) { OTHER } else { flaw };
    ProofError { line, flaw }
}

fn refuse_all(breaks: impl IntoIterator<Item = Break>) {
    for Break { old, new, line, flaw } in breaks {
        let broken = RING.replacen(old, new, 1);
        assert_ne!(broken, RING, "{old}");
        let error = check_proof(&broken).map_err(classify);
        assert_eq!(error, Err(ProofError { line, flaw }), "{old} to {new}");
    }
}
