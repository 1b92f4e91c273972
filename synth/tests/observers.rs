//! Searches that are stopped at every question, and what they report.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

use std::cell::{Cell, RefCell};
use synth::bound::collective::{BoundRequest, CollectiveBounds, bound_collective};
use synth::bound::cut::bound_allgather;
use synth::bound::{BoundBudget, Completeness};
use synth::collective::{Collective, CollectiveKind, Demand, DemandList, SummandGroup};
use synth::families::{
    BoxShape, build_boxes, build_dgx1, build_hub, build_line, build_ring, build_star,
};
use synth::frontier::{Frontier, FrontierRequest, PointStatus, find_frontier};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::observer::{NoObserver, SearchObserver, SearchProgress};
use synth::schedule::check_schedule;
use synth::sketch::Sketch;
use synth::steps::SolverLimit;
use synth::trees::{PackLimit, PackRequest, TreeError, check_trees, pack_allgather_trees};

const ROOT: Vertex = Vertex(0);

/// Stops a search when it has asked so often.
#[derive(Debug)]
struct PatientObserver {
    patience: u64,
    questions: Cell<u64>,
}

impl PatientObserver {
    fn new(patience: u64) -> PatientObserver {
        PatientObserver { patience, questions: Cell::new(0) }
    }
}

impl SearchObserver for PatientObserver {
    fn is_stopped(&self) -> bool {
        self.questions.set(self.questions.get() + 1);
        self.questions.get() > self.patience
    }
}

/// Writes down what is reported.
#[derive(Debug, Default)]
struct Listener {
    lines: RefCell<Vec<String>>,
}

impl SearchObserver for Listener {
    fn report(&self, progress: SearchProgress<'_>) {
        let line = match progress {
            SearchProgress::BoundsFound(bounds) => format!("bounds {}", bounds.bandwidth.value),
            SearchProgress::StepsBegun { steps, bound } => format!("steps {steps} {bound}"),
            SearchProgress::PointBegun { point, .. } => format!("begun {}", point.rounds),
            SearchProgress::Solving { conflicts, .. } => format!("conflicts {conflicts}"),
            SearchProgress::PointFound { point } => {
                format!("found {} {} {}", point.steps, point.rounds, point.chunks)
            }
            SearchProgress::TestingFlows { tests } => format!("tests {tests}"),
        };
        self.lines.borrow_mut().push(line);
    }
}

fn list_machines() -> Vec<Topology> {
    let plain = SwitchAbilities::default();
    let shape =
        BoxShape { boxes: 2, ranks: 2, port_rate: 3, card_rate: 1, rails: 1, abilities: plain };
    [build_ring(5), build_line(3), build_hub(4, plain), build_boxes(shape), build_star(4)]
        .map(Result::unwrap)
        .into()
}

const EVERY_KIND: [CollectiveKind; 8] = [
    CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllReduce,
    CollectiveKind::AllToAll,
    CollectiveKind::Broadcast(ROOT),
    CollectiveKind::Reduce(ROOT),
    CollectiveKind::Scatter(ROOT),
    CollectiveKind::Gather(ROOT),
];

/// The known ones, a scan, and sums and copies for some ranks.
fn list_collectives(ranks: u32) -> Vec<Collective> {
    let all: Vec<Vertex> = (0..ranks).map(Vertex).collect();
    let sum = |last: usize| Demand {
        origins: all[..=last].to_vec(),
        receivers: vec![all[last]],
        count: 1,
        summands: Some(SummandGroup(0)),
    };
    let scan = DemandList::new((0..ranks as usize).map(sum).collect()).unwrap();
    let mixed = vec![
        Demand::sum(all[1..].to_vec(), vec![all[0], all[2]], 1),
        Demand::copy(all[1], vec![all[0], all[2]], 2),
    ];
    let mixed = DemandList::new(mixed).unwrap();
    let known = EVERY_KIND.into_iter().map(Collective::Known);
    known.chain([scan, mixed].map(Collective::Demands)).collect()
}

fn search(topology: &Topology, collective: &Collective, observer: &dyn SearchObserver) -> Frontier {
    let request =
        FrontierRequest { max_chunks: 4, conflicts: 600, observer, ..FrontierRequest::default() };
    find_frontier(topology, collective, &request).unwrap()
}

/// That a stopped search claims nothing that the whole one does not show.
fn assert_consistent(topology: &Topology, whole: &Frontier, stopped: &Frontier) {
    for own in &stopped.points {
        check_schedule(topology, stopped.find_units(own), &own.schedule).unwrap();
        let steps = own.schedule.measure().steps;
        let count = whole.step_counts.iter().rev().find(|count| count.steps <= steps);
        if let (PointStatus::Optimal, Some(count)) = (own.status, count) {
            assert_eq!(own.time, count.bound);
        }
    }
    assert_bounds(&whole.bounds, &stopped.bounds);
    for count in &stopped.step_counts {
        let own = whole.step_counts.iter().find(|own| own.steps == count.steps);
        assert!(own.is_none_or(|own| count.bound <= own.bound));
    }
    if stopped.is_complete {
        assert!(whole.is_complete && !stopped.is_stopped);
        let times = |frontier: &Frontier| -> Vec<_> {
            frontier.points.iter().map(|own| (own.schedule.measure().steps, own.time)).collect()
        };
        assert_eq!(times(whole), times(stopped));
    }
    if !stopped.is_stopped {
        assert_eq!(stopped.is_complete, whole.is_complete);
    }
}

fn assert_bounds(whole: &CollectiveBounds, stopped: &CollectiveBounds) {
    assert_eq!(whole.steps, stopped.steps);
    assert!(stopped.bandwidth.value <= whole.bandwidth.value);
    if stopped.bandwidth.completeness == Completeness::Optimal {
        assert_eq!(stopped.bandwidth.value, whole.bandwidth.value);
    }
    if let Some(count) = stopped.tree_count {
        assert_eq!(Some(count), whole.tree_count);
    }
    for own in &stopped.by_steps {
        let same = whole.by_steps.iter().find(|other| other.steps == own.steps);
        assert!(same.is_none_or(|same| own.value <= same.value));
    }
}

#[test]
fn frontiers_that_are_stopped_at_any_question_hold() {
    let mut stops = 0;
    for topology in list_machines() {
        for collective in list_collectives(topology.count_ranks()) {
            let count = PatientObserver::new(u64::MAX);
            let whole = search(&topology, &collective, &count);
            let questions = count.questions.get();
            assert!(questions > 2, "{collective:?}");
            // All of them if there are few, and some of many.
            let stride = questions / 30 + 1;
            for patience in (0..questions).step_by(stride as usize) {
                let stopped = search(&topology, &collective, &PatientObserver::new(patience));
                assert_consistent(&topology, &whole, &stopped);
                let reached = stopped.step_counts.iter().flat_map(|count| &count.undecided);
                let mut limits = reached.map(|own| own.reached.limit);
                stops += u32::from(limits.any(|limit| limit == SolverLimit::Observer));
            }
            let late = search(&topology, &collective, &PatientObserver::new(questions));
            assert_eq!(late.points, whole.points);
            assert_eq!(late.step_counts, whole.step_counts);
        }
    }
    assert!(stops > 50, "{stops}");
}

#[test]
fn who_watches_changes_nothing() {
    let dgx1 = build_dgx1().unwrap();
    for kind in [CollectiveKind::AllGather, CollectiveKind::AllReduce] {
        let listener = Listener::default();
        let [alone, watched]: [Frontier; 2] = [&NoObserver as &dyn SearchObserver, &listener]
            .map(|own| search(&dgx1, &kind.into(), own));
        assert_eq!(alone.points, watched.points);
        assert_eq!(alone.step_counts, watched.step_counts);
        assert!(!listener.lines.borrow().is_empty());
    }
}

#[test]
fn searches_report_what_they_come_to() {
    let dgx1 = build_dgx1().unwrap();
    let listener = Listener::default();
    let request = FrontierRequest { observer: &listener, ..FrontierRequest::default() };
    let kind = CollectiveKind::AllGather;
    find_frontier(&dgx1, &kind.into(), &request).unwrap();
    let lines = listener.lines.take();
    let place = |wanted: &str| lines.iter().position(|line| line == wanted).unwrap();
    let order = ["bounds 7/6", "steps 2 3/2", "found 2 3 2", "steps 3 7/6", "found 3 7 6"];
    assert!(order.map(place).is_sorted(), "{lines:?}");
    // What has many conflicts says how many.
    let star = build_star(8).unwrap();
    find_frontier(&star, &CollectiveKind::AllToAll.into(), &request).unwrap();
    assert!(listener.lines.borrow().iter().any(|line| line == "conflicts 256"));
}

#[test]
fn stopped_bounds_are_bounds() {
    for topology in list_machines() {
        for kind in EVERY_KIND {
            let collective = Collective::Known(kind);
            let bound = |observer: &dyn SearchObserver| {
                let request = BoundRequest { observer, ..BoundRequest::default() };
                bound_collective(&topology, &collective, &Sketch::default(), &request).unwrap()
            };
            let count = PatientObserver::new(u64::MAX);
            let whole = bound(&count);
            let questions = count.questions.get();
            for patience in (0..questions).step_by((questions / 100 + 1) as usize) {
                assert_bounds(&whole, &bound(&PatientObserver::new(patience)));
            }
            let at_once = bound(&PatientObserver::new(0)).bandwidth.completeness;
            let is_stopped = at_once == Completeness::Stopped(BoundBudget::Observer);
            assert!(is_stopped || at_once == Completeness::Optimal);
        }
    }
}

#[test]
fn trees_that_are_stopped_are_none() {
    let dgx1 = build_dgx1().unwrap();
    let cut = bound_allgather(&dgx1).unwrap();
    let pack = |observer: &dyn SearchObserver| {
        pack_allgather_trees(&dgx1, &cut, PackRequest { observer, ..PackRequest::default() })
    };
    let count = PatientObserver::new(u64::MAX);
    let whole = pack(&count).unwrap();
    for patience in 0..count.questions.get() {
        let stopped = pack(&PatientObserver::new(patience));
        assert_eq!(stopped, Err(TreeError::OutOfBudget(PackLimit::Observer)));
    }
    let late = pack(&PatientObserver::new(count.questions.get())).unwrap();
    check_trees(&dgx1, &late.trees).unwrap();
    assert_eq!(late, whole);
    assert_eq!(pack(&NoObserver), Ok(whole));
}
