//! Costs of schedules in the linear model, beside closed forms.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

use synth::bound::cut::bound_allgather;
use synth::collective::CollectiveKind;
use synth::cost::CostModel;
use synth::families::{build_dgx1, build_ring};
use synth::frontier::{FrontierRequest, find_frontier};
use synth::rational::Rational;
use synth::schedule::{SchedulePoint, StepSchedule};
use synth::trees::{PackRequest, pack_allgather_trees};

fn ratio(numerator: i128, denominator: i128) -> Rational {
    Rational::new(numerator, denominator).unwrap()
}

/// The worked example of the DGX-1 in the literature: 2 + 1.5 s beside 3 + 7 s / 6.
#[test]
fn costs_of_the_dgx1_frontier_are_those_of_the_literature() {
    let topology = build_dgx1().unwrap();
    let request = FrontierRequest::default();
    let frontier = find_frontier(&topology, &CollectiveKind::AllGather.into(), &request).unwrap();
    let schedules: Vec<&StepSchedule> =
        frontier.points.iter().map(|point| &point.schedule).collect();
    let cost = |schedule: &StepSchedule, size| {
        CostModel::UNIT.estimate_steps(&topology, schedule, size).unwrap()
    };
    let costs = |size: Rational| -> Vec<Rational> {
        schedules.iter().map(|schedule| cost(schedule, size)).collect()
    };
    assert_eq!(costs(ratio(10, 1)), [ratio(17, 1), ratio(44, 3)]);
    assert_eq!(costs(ratio(1, 10)), [ratio(215, 100), ratio(187, 60)]);
    assert_eq!(costs(ratio(3, 1)), [ratio(13, 2), ratio(13, 2)]);
    assert_eq!(schedules[1].measure(), SchedulePoint { steps: 3, rounds: 7, chunks: 6 });
}

/// On a ring of 4 ranks: depth 2, 3/2 rounds for each chunk. With P windows, `(P + 1) (1 + 3 s / 2 P)`.
#[test]
fn trees_take_the_best_number_of_windows() {
    let topology = build_ring(4).unwrap();
    let cut = bound_allgather(&topology).unwrap();
    let packing = pack_allgather_trees(&topology, &cut, PackRequest::default()).unwrap();
    assert_eq!(packing.trees.measure_depth(), 2);
    for size in [1, 2, 6, 50, 1_000, 123_456] {
        let least = (1..2_000)
            .map(|windows: i128| ratio((windows + 1) * (2 * windows + 3 * size), 2 * windows));
        let estimate =
            CostModel::UNIT.estimate_trees(&topology, &packing.trees, ratio(size, 1)).unwrap();
        assert_eq!(Some(estimate), least.min(), "size {size}");
    }
}
