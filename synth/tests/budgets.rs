//! Bounds that end at a budget say so, and hold.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::automorphism::Symmetry;
use synth::bound::allreduce::bound_allreduce_under;
use synth::bound::alltoall::bound_alltoall_under;
use synth::bound::layered::bound_allgather_in_steps_under;
use synth::bound::{BoundBudget, BoundError, Completeness, ProgramBudget};
use synth::families::{build_dgx1, build_mi250};
use synth::graph::Topology;
use synth::rational::Rational;

/// What a bound is, with its completeness.
#[derive(Debug, PartialEq)]
struct Outcome {
    value: Rational,
    completeness: Completeness,
}

fn allgather(topology: &Topology, budget: &ProgramBudget) -> Outcome {
    let symmetry = Symmetry::trivial(topology);
    let bound = bound_allgather_in_steps_under(topology, &symmetry, 2, budget).unwrap();
    Outcome { value: bound.value, completeness: bound.completeness }
}

fn allreduce(topology: &Topology, budget: &ProgramBudget) -> Outcome {
    let bound = bound_allreduce_under(topology, &Symmetry::trivial(topology), budget).unwrap();
    Outcome { value: bound.value, completeness: bound.completeness }
}

fn alltoall(topology: &Topology, budget: &ProgramBudget) -> Outcome {
    let bound = bound_alltoall_under(topology, &Symmetry::trivial(topology), budget).unwrap();
    Outcome { value: bound.value, completeness: bound.completeness }
}

#[test]
fn budgets_are_reached_and_named() {
    let whole = ProgramBudget::default();
    let short = ProgramBudget { rounds: 1, ..whole };
    let lazy = ProgramBudget { pivot_work: 1 << 12, ..whole };
    let narrow = ProgramBudget { first_rows: 0, ..whole };
    let [dgx1, mi250] = [build_dgx1().unwrap(), build_mi250(1, 1, 1).unwrap()];
    let optimum = |value: &str| Outcome {
        value: value.parse().unwrap(),
        completeness: Completeness::Optimal,
    };
    type Bound = fn(&Topology, &ProgramBudget) -> Outcome;
    let cases: [(Bound, &Topology, Outcome); 3] = [
        (allgather, &dgx1, optimum("3/2")),
        (allreduce, &dgx1, optimum("7/24")),
        (alltoall, &mi250, optimum("32/3")),
    ];
    for (bound, topology, optimum) in cases {
        assert_eq!(bound(topology, &whole), optimum);
        for (budget, stop) in [(short, BoundBudget::Rounds), (lazy, BoundBudget::PivotWork)] {
            let Outcome { value, completeness } = bound(topology, &budget);
            assert_eq!(completeness, Completeness::Stopped(stop));
            assert!(value < optimum.value && value >= Rational::ZERO, "{stop} {value}");
        }
    }
    let Outcome { value, completeness } = alltoall(&mi250, &narrow);
    assert_eq!(completeness, Completeness::Stopped(BoundBudget::FirstRows));
    assert!(value.is_positive() && value < optimum("32/3").value);
}

#[test]
fn sizes_are_limited() {
    let dgx1 = build_dgx1().unwrap();
    let symmetry = Symmetry::trivial(&dgx1);
    let whole = ProgramBudget::default();
    // 32 edges, eight origins, two steps; and eight destinations.
    for (variables, lengths) in [(512, 4096), (511, 4096), (512, 4095)] {
        let budget =
            ProgramBudget { layered_variables: variables, layered_lengths: lengths, ..whole };
        let bound = bound_allgather_in_steps_under(&dgx1, &symmetry, 2, &budget);
        let is_enough = variables == 512 && lengths == 4096;
        assert_eq!(bound.err(), (!is_enough).then_some(BoundError::TooLarge));
    }
    for most in [39, 40] {
        let budget = ProgramBudget { allreduce_variables: most, ..whole };
        let bound = bound_allreduce_under(&dgx1, &symmetry, &budget);
        assert_eq!(bound.err(), (most == 39).then_some(BoundError::TooLarge));
    }
}
