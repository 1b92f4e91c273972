//! The same machine under other names, at other rates, and backwards: bounds, frontiers and trees follow.

#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[path = "support/drawing.rs"]
mod drawing;
#[path = "support/machines.rs"]
mod machines;

use drawing::{Drawing, LinkKind, SwitchKind, draw_topology};
use machines::{boxes, build_ndv2, build_slow_port};
use synth::bound::allreduce::bound_allreduce;
use synth::bound::cut::bound_allgather;
use synth::bound::rooted::bound_broadcast;
use synth::collective::{Collective, CollectiveKind};
use synth::families::{
    build_amd4, build_dgx1, build_hub, build_line, build_mi250, build_ring, build_star,
    build_two_cliques,
};
use synth::frontier::{FrontierRequest, PointStatus, find_frontier};
use synth::graph::{SwitchAbilities, Topology, Vertex};
use synth::rational::Rational;
use synth::schedule::{check_schedule, list_units};
use synth::trees::{
    PackRequest, compose_allreduce_trees, pack_allgather_trees, pack_allreduce_trees,
    pack_broadcast_trees,
};

fn list_kinds(root: Vertex) -> [CollectiveKind; 8] {
    [
        CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll,
        CollectiveKind::AllReduce,
        CollectiveKind::Broadcast(root),
        CollectiveKind::Reduce(root),
        CollectiveKind::Scatter(root),
        CollectiveKind::Gather(root),
    ]
}

/// Small ones, on which every search comes to its end, and random ones.
fn list_machines() -> Vec<Topology> {
    let mut machines: Vec<Topology> = [
        build_ring(5),
        build_line(4),
        build_star(5),
        build_hub(4, SwitchAbilities { multicast: true, reduce: false }),
        build_amd4(),
        build_two_cliques(3, 2),
        build_dgx1(),
    ]
    .map(Result::unwrap)
    .into();
    machines.push(boxes(2, 2, 3, 1));
    let mut random = fastrand::Rng::with_seed(2031);
    let drawing = Drawing {
        most_ranks: 5,
        most_switches: 2,
        links: LinkKind::Uneven,
        switches: SwitchKind::Able,
    };
    machines.extend((0..8).map(|_| draw_topology(&mut random, drawing)));
    machines
}

/// The machine with its ranks, and its switches, in another order, and all rates multiplied.
struct Renaming {
    names: Vec<u32>,
    factor: u64,
}

impl Renaming {
    fn draw(topology: &Topology, random: &mut fastrand::Rng) -> Renaming {
        let mut names: Vec<u32> = (0..topology.count_vertices() as u32).collect();
        let (ranks, switches) = names.split_at_mut(topology.count_ranks() as usize);
        random.shuffle(ranks);
        random.shuffle(switches);
        Renaming { names, factor: random.u64(2..1000) }
    }

    fn name(&self, vertex: Vertex) -> Vertex {
        Vertex(self.names[vertex.0 as usize])
    }

    fn apply(&self, topology: &Topology) -> Topology {
        let ranks = topology.count_ranks();
        let mut switches = topology.switches().to_vec();
        for (index, abilities) in (ranks..).zip(topology.switches()) {
            switches[(self.name(Vertex(index)).0 - ranks) as usize] = *abilities;
        }
        let mut edges = topology.edges().to_vec();
        for edge in &mut edges {
            [edge.from, edge.to] = [edge.from, edge.to].map(|end| self.name(end));
            let factor = Rational::from_integer(self.factor);
            edge.rate.amount = edge.rate.amount.checked_mul(factor).unwrap();
        }
        Topology::new(ranks, switches, &edges).unwrap()
    }
}

/// A bound, up to the precision to which prices that are in no simple ratios are rounded.
fn show_bound(value: Rational) -> String {
    if value.denominator() < 1 << 20 {
        return value.to_string();
    }
    format!("{:.6}", value.numerator() as f64 / value.denominator() as f64)
}

/// What is known of a collective, with all times multiplied: its bounds, and the points of its frontier.
fn summarize(topology: &Topology, kind: CollectiveKind, factor: u64) -> Vec<String> {
    let request = FrontierRequest { max_chunks: 3, conflicts: 3000, ..FrontierRequest::default() };
    let frontier = find_frontier(topology, &kind.into(), &request).unwrap();
    let stretch = |time: Rational| time.checked_mul(Rational::from_integer(factor)).unwrap();
    let bounds = &frontier.bounds;
    let mut lines = vec![
        format!("{} steps at least", bounds.steps.steps),
        format!("{} for any number", stretch(bounds.bandwidth.value)),
        format!("{:?} {:?}", bounds.bandwidth.attainment, bounds.sweep_end),
    ];
    for own in &bounds.by_steps {
        lines.push(format!("{} in {} steps", show_bound(stretch(own.value)), own.steps));
    }
    let units = list_units(&Collective::Known(kind), topology.count_ranks());
    for point in &frontier.points {
        check_schedule(topology, &units, &point.schedule).unwrap();
        assert!(point.time >= bounds.bandwidth.value);
        let steps = point.schedule.measure().steps;
        let bound = bounds.by_steps.iter().find(|own| own.steps == steps);
        assert!(bound.is_none_or(|bound| point.time >= bound.value));
        let is_optimal = point.status == PointStatus::Optimal;
        lines.push(format!("point {steps} {} {is_optimal}", stretch(point.time)));
    }
    lines.push(format!("complete: {}", frontier.is_complete));
    lines
}

#[test]
fn names_and_rates_change_no_frontier() {
    let mut random = fastrand::Rng::with_seed(2032);
    for topology in list_machines() {
        let renaming = Renaming::draw(&topology, &mut random);
        let renamed = renaming.apply(&topology);
        let root = Vertex(random.u32(0..topology.count_ranks()));
        for (kind, own) in list_kinds(root).into_iter().zip(list_kinds(renaming.name(root))) {
            let found = summarize(&renamed, own, renaming.factor);
            assert_eq!(found, summarize(&topology, kind, 1), "{kind} {topology:?}");
        }
    }
}

#[test]
fn backwards_collectives_have_the_same_frontiers() {
    let mut random = fastrand::Rng::with_seed(2033);
    for topology in list_machines() {
        // Sums and copies change places.
        let switches = topology.switches().iter();
        let switches =
            switches.map(|own| SwitchAbilities { multicast: own.reduce, reduce: own.multicast });
        let reversed = topology.reverse();
        let reversed =
            Topology::new(topology.count_ranks(), switches.collect(), reversed.edges()).unwrap();
        let root = Vertex(random.u32(0..topology.count_ranks()));
        for (kind, own) in [
            (CollectiveKind::AllGather, CollectiveKind::ReduceScatter),
            (CollectiveKind::Broadcast(root), CollectiveKind::Reduce(root)),
            (CollectiveKind::Scatter(root), CollectiveKind::Gather(root)),
            (CollectiveKind::AllToAll, CollectiveKind::AllToAll),
            (CollectiveKind::AllReduce, CollectiveKind::AllReduce),
        ] {
            let found = summarize(&reversed, own, 1);
            assert_eq!(found, summarize(&topology, kind, 1), "{kind} {topology:?}");
        }
    }
}

/// How many trees there are for each root, and their time, which is multiplied.
fn measure_trees(topology: &Topology, root: Vertex, factor: u64) -> Vec<String> {
    let request = PackRequest::default();
    let cut = bound_allgather(topology).unwrap();
    let gather = pack_allgather_trees(topology, &cut, request).unwrap().trees;
    let cut = bound_broadcast(topology, root).unwrap();
    let broadcast = pack_broadcast_trees(topology, root, &cut, request).unwrap().trees;
    let composed = compose_allreduce_trees(topology, request).unwrap();
    let found = [(gather.k, gather.rho), (broadcast.k, broadcast.rho), (composed.k, composed.rho)];
    let show = |(k, rho): (u64, Rational)| {
        format!("{k} {}", rho.checked_mul(Rational::from_integer(factor)).unwrap())
    };
    found.map(show).into()
}

#[test]
fn names_and_rates_change_no_trees() {
    let mut random = fastrand::Rng::with_seed(2034);
    let mut machines = vec![
        build_dgx1().unwrap(),
        build_mi250(1, 50, 16).unwrap(),
        build_two_cliques(4, 4).unwrap(),
        boxes(2, 8, 9, 1),
        boxes(2, 8, 12, 2),
        build_slow_port(2, 8),
        build_ndv2(2),
        build_ndv2(4),
    ];
    let drawing = Drawing {
        most_ranks: 8,
        most_switches: 3,
        links: LinkKind::Even,
        switches: SwitchKind::Able,
    };
    machines.extend((0..60).map(|_| draw_topology(&mut random, drawing)));
    for topology in machines {
        let renaming = Renaming::draw(&topology, &mut random);
        let renamed = renaming.apply(&topology);
        let root = Vertex(random.u32(0..topology.count_ranks()));
        let found = measure_trees(&renamed, renaming.name(root), renaming.factor);
        assert_eq!(found, measure_trees(&topology, root, 1), "{topology:?}");
    }
}

/// Those of an AllReduce that is not composed are the best that a search finds, but where the bound is reached they are so
/// under any names.
#[test]
fn names_and_rates_change_no_allreduce_that_reaches_its_bound() {
    let mut random = fastrand::Rng::with_seed(2035);
    let drawing = Drawing {
        most_ranks: 7,
        most_switches: 2,
        links: LinkKind::Uneven,
        switches: SwitchKind::Plain,
    };
    for _ in 0..25 {
        let topology = draw_topology(&mut random, drawing);
        let renaming = Renaming::draw(&topology, &mut random);
        let renamed = renaming.apply(&topology);
        let [own, other] = [&topology, &renamed].map(|topology| {
            let bound = bound_allreduce(topology).unwrap();
            let packing = pack_allreduce_trees(topology, &bound, PackRequest::default()).unwrap();
            assert_eq!(packing.trees.rho, bound.value);
            bound.value
        });
        let factor = Rational::from_integer(renaming.factor);
        assert_eq!(other.checked_mul(factor).unwrap(), own);
    }
}
