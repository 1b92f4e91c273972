//! The search for schedules and trees, and what it finds.

use super::super::Failure;
use super::super::args::{SynthEngine, SynthGoal, SynthSymmetry};
use super::super::search_watch::SearchStop;
use super::costs::CostTable;
use super::{Question, find_kind};
use synth::collective::CollectiveKind;
use synth::frontier::{
    Frontier, FrontierGoal, FrontierRequest, SearchEngine, SymmetryUse, find_frontier,
};
use synth::graph::Topology;
use synth::observer::SearchObserver;
use synth::steps::{SearchError, SolverBudget};
use synth::trees::{
    AllReducePacking, PackRequest, PackingEnd, TreeDirection, TreeError, TreeSet,
    find_allreduce_trees, has_trees, pack_collective_trees,
};

/// What was found.
#[derive(Default)]
pub(super) struct Synthesis {
    /// Schedules of steps; none if only trees were asked for.
    pub(super) frontier: Option<Frontier>,
    /// Trees; none if they were not asked for, or if the collective has none.
    pub(super) trees: Option<Result<TreeSet, TreeError>>,
    /// How many hops the ways of trees take, which were left out for that.
    pub(super) long_trees: Option<u32>,
    /// Trees of an AllReduce, if they were asked for.
    pub(super) allreduce: Option<Result<AllReducePacking, TreeError>>,
    /// Whether only some numbers of steps were asked for.
    pub(super) is_limited: bool,
    /// What ended the search before it was complete.
    pub(super) stop: Option<SearchStop>,
    /// What it costs at the sizes that were asked for.
    pub(super) costs: Option<CostTable>,
}

/// Trees that were found.
#[derive(Clone, Copy)]
pub(super) enum PackedTrees<'a> {
    /// Towards roots, or away from them.
    OneWay(&'a TreeSet),
    /// Those of an AllReduce.
    BothWays(&'a AllReducePacking),
}

impl Question<'_> {
    /// Whether trees are looked for, and schedules only of collectives that have none.
    fn looks_for_trees(&self) -> bool {
        self.args.goal == SynthGoal::Bandwidth || self.args.engine == SynthEngine::Trees
    }

    /// Refuses to prove bounds of schedules that are not looked for.
    pub(super) fn refuse_proof(&self) -> Result<(), Failure> {
        let may_have = find_kind(self.asked).is_some_and(may_have_trees);
        if self.args.answer.prove.is_some() && self.looks_for_trees() && may_have {
            return Err(Failure::Usage(
                "`--prove` is about schedules of steps: leave `--goal bandwidth` and `--engine trees` out, or use `cclc bound --prove`"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Looks for trees, which take less time, and then for schedules.
    pub(super) fn search(&self, observer: &dyn SearchObserver) -> Result<Synthesis, SearchError> {
        let Question { args, asked, machine, .. } = self;
        let topology = &machine.graph;
        let only_trees = self.looks_for_trees();
        let kind = find_kind(asked);
        let is_limited = args.steps.is_some() || args.goal == SynthGoal::LeastSteps;
        let mut found = Synthesis { is_limited, ..Synthesis::default() };
        let wants_trees = match (&args.goal, args.engine) {
            (SynthGoal::Latency | SynthGoal::LeastSteps, _) => false,
            (_, SynthEngine::Auto | SynthEngine::Trees) => true,
            (_, SynthEngine::Bfb | SynthEngine::Sat | SynthEngine::Greedy | SynthEngine::Flows) => {
                only_trees
            }
        };
        let request = PackRequest { observer, ..PackRequest::default() };
        let of_trees = if wants_trees { kind } else { None };
        match of_trees {
            Some(CollectiveKind::AllReduce) => {
                let packing =
                    find_allreduce_trees(topology, request).map_err(SearchError::Bound)?;
                found.take_allreduce(packing, topology, self.max_hops);
            }
            Some(kind) => {
                let trees =
                    pack_collective_trees(topology, kind, request).map_err(SearchError::Bound)?;
                found.take_trees(trees, self.max_hops);
            }
            None => {}
        }
        if !only_trees || !kind.is_some_and(may_have_trees) {
            let request = self.read_request(observer);
            found.frontier = Some(find_frontier(topology, &asked.collective, &request)?);
        }
        Ok(found)
    }

    /// What is asked for, as the search takes it.
    pub(super) fn read_request<'o>(&self, observer: &'o dyn SearchObserver) -> FrontierRequest<'o> {
        let args = self.args;
        let own = FrontierRequest::default();
        let conflicts = args.budget.unwrap_or(own.conflicts);
        // One point may use more than a part of the budget only where there is only one.
        let of_point = if args.point.is_some() { conflicts } else { conflicts / 4 };
        let solver = SolverBudget { conflicts: own.solver.conflicts.max(of_point), ..own.solver };
        let engine = match args.engine {
            SynthEngine::Auto | SynthEngine::Trees => SearchEngine::Auto,
            SynthEngine::Bfb => SearchEngine::BreadthFirst,
            SynthEngine::Sat => SearchEngine::Solver,
            SynthEngine::Greedy => SearchEngine::Greedy,
            SynthEngine::Flows => SearchEngine::Flows,
        };
        let symmetry = match args.symmetry {
            SynthSymmetry::Auto => SymmetryUse::Auto,
            SynthSymmetry::None => SymmetryUse::None,
        };
        let goal = match args.goal {
            SynthGoal::LeastSteps => FrontierGoal::LeastSteps,
            SynthGoal::Pareto
            | SynthGoal::Latency
            | SynthGoal::Bandwidth
            | SynthGoal::Size(_)
            | SynthGoal::Sizes { .. } => FrontierGoal::EveryPoint,
        };
        FrontierRequest {
            min_steps: args.steps.and_then(|range| range.least),
            max_steps: args.steps.and_then(|range| range.most),
            goal,
            max_chunks: args.max_chunks,
            max_hops: self.max_hops,
            engine,
            symmetry,
            solver,
            conflicts,
            observer,
            ..own
        }
    }
}

/// Whether there are trees for a collective, in one direction or, for an AllReduce, in both.
fn may_have_trees(kind: CollectiveKind) -> bool {
    kind == CollectiveKind::AllReduce || has_trees(kind)
}

impl Synthesis {
    /// Keeps trees whose ways are not too long.
    fn take_trees(&mut self, trees: Option<Result<TreeSet, TreeError>>, max_hops: Option<u32>) {
        let depth = match &trees {
            Some(Ok(trees)) => trees.measure_depth(),
            Some(Err(_)) | None => 0,
        };
        if max_hops.is_some_and(|most| depth > most) {
            self.long_trees = Some(depth);
        } else {
            self.trees = trees;
        }
    }

    /// The same for an AllReduce, whose ways lead to a root and from there.
    fn take_allreduce(
        &mut self,
        packing: Result<AllReducePacking, TreeError>,
        topology: &Topology,
        max_hops: Option<u32>,
    ) {
        let depth = packing.as_ref().map_or(0, |packing| {
            let halves = [TreeDirection::ToRoot, TreeDirection::FromRoot];
            halves.map(|half| packing.trees.measure_depth(topology, half)).iter().sum()
        });
        if max_hops.is_some_and(|most| depth > most) {
            self.long_trees = Some(depth);
        } else {
            self.allreduce = Some(packing);
        }
    }

    /// Whether nothing that was asked for is missing.
    pub(super) fn is_complete(&self) -> bool {
        let is_settled = |frontier: &Frontier| {
            let has_asked = frontier.is_complete || (self.is_limited && frontier.is_settled());
            has_asked && !frontier.points.is_empty()
        };
        self.frontier.as_ref().is_none_or(is_settled)
            && self.trees.as_ref().is_none_or(Result::is_ok)
            && self.long_trees.is_none()
            && self.allreduce.as_ref().is_none_or(|packing| {
                packing.as_ref().is_ok_and(|packing| packing.end == PackingEnd::BoundReached)
            })
    }

    /// The trees that were found, of any kind.
    pub(super) fn find_packed(&self) -> Option<PackedTrees<'_>> {
        match (self.find_trees(), &self.allreduce) {
            (Some(trees), _) => Some(PackedTrees::OneWay(trees)),
            (None, Some(Ok(packing))) => Some(PackedTrees::BothWays(packing)),
            (None, Some(Err(_)) | None) => None,
        }
    }

    /// The trees that were found, of a collective that is no AllReduce.
    pub(super) fn find_trees(&self) -> Option<&TreeSet> {
        self.trees.as_ref().and_then(|trees| trees.as_ref().ok())
    }
}
