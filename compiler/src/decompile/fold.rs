//! Turning runs of equal pieces into loops.
//!
//! In: a tree, and the ranks for which it has values. Out: the same tree, with a loop wherever
//! pieces that follow each other differ only in numbers and every number has an expression in terms
//! of the loop's variable; innermost sequences first.

use super::formula::Formulas;
use super::tree::{Domain, Form, Loop, Node, merge_lists};

/// The most pieces in a loop's body.
const MOST_PERIOD: usize = 64;

/// The most runs of a sequence that are tried at a time.
const MOST_TRIES: usize = 400;

/// Finds loops in a piece and in its parts.
pub(super) fn fold(node: Node, formulas: &Formulas) -> Node {
    match node {
        Node::Text(_) | Node::Number(_) | Node::Owner(_) => node,
        Node::Parts(nodes) => {
            Node::Parts(nodes.into_iter().map(|node| fold(node, formulas)).collect())
        }
        Node::Sequence(form, nodes) => Node::Sequence(form, sequence(form, nodes, formulas)),
        Node::Loop(repeat) => {
            let body = repeat.body.into_iter().map(|node| fold(node, formulas)).collect();
            Node::Loop(Loop { body, ..repeat })
        }
    }
}

/// Finds loops in a sequence.
pub(super) fn sequence(form: Form, nodes: Vec<Node>, formulas: &Formulas) -> Vec<Node> {
    let mut nodes: Vec<Node> = nodes.into_iter().map(|node| fold(node, formulas)).collect();
    while let Some((run, repeat)) = best(form, &nodes, formulas) {
        nodes.splice(run.start..run.start + run.period * run.turns, [Node::Loop(repeat)]);
    }
    nodes
}

/// A run of pieces that repeat.
#[derive(Clone, Copy)]
struct Run {
    start: usize,
    period: usize,
    turns: usize,
}

/// The run that covers the most and can be a loop.
fn best(form: Form, nodes: &[Node], formulas: &Formulas) -> Option<(Run, Loop)> {
    let mut runs = runs(form, nodes);
    runs.sort_by_key(|run| (std::cmp::Reverse(run.period * run.turns), run.period, run.start));
    runs.into_iter().take(MOST_TRIES).find_map(|run| {
        // The first or the last turn may differ from the others in its numbers;
        // and loops over two lists may follow each other.
        let shorter = run.turns - 1;
        let variants = [
            run,
            Run { turns: shorter, ..run },
            Run { start: run.start + run.period, turns: shorter, ..run },
        ];
        let lists = formulas.world.lists().iter().filter_map(|list| {
            let turns = formulas.world.list(*list, *formulas.ranks.first()?).len();
            (turns < run.turns).then_some(Run { turns, ..run })
        });
        let mut variants = variants.into_iter().chain(lists);
        variants.find_map(|run| Some((run, folded(form, nodes, run, formulas)?)))
    })
}

fn runs(form: Form, nodes: &[Node]) -> Vec<Run> {
    let skeletons: Vec<u64> = nodes.iter().map(Node::skeleton).collect();
    let longest = if form == Form::Members { 1 } else { MOST_PERIOD.min(nodes.len() / 2) };
    let mut runs = Vec::new();
    for period in 1..=longest {
        let mut start = 0;
        while start + period < nodes.len() {
            let equal = skeletons
                .iter()
                .skip(start)
                .zip(skeletons.iter().skip(start + period))
                .take_while(|(a, b)| a == b)
                .count();
            for phase in 0..period.min(equal + 1) {
                let turns = (equal - phase) / period + 1;
                if turns > 1 {
                    runs.push(Run { start: start + phase, period, turns });
                }
            }
            start += equal + 1;
        }
    }
    runs
}

fn folded(form: Form, nodes: &[Node], run: Run, formulas: &Formulas) -> Option<Loop> {
    if run.turns < 2 || formulas.is_tired() {
        return None;
    }
    let turn = |turn: usize| {
        let start = run.start + turn * run.period;
        nodes.get(start..start + run.period)
    };
    let turns: Vec<&[Node]> = (0..run.turns).map(turn).collect::<Option<_>>()?;
    if form == Form::Members && turns.iter().any(|turn| matches!(turn, [Node::Loop(_)])) {
        return None;
    }
    let lines: usize = turns.first()?.iter().map(Node::lines).sum();
    if form == Form::Statements && (run.turns - 1) * lines < 2 {
        return None;
    }
    let body = merge_lists(&turns, formulas.ranks.len())?;
    let mut best: Option<(u32, Domain)> = None;
    for domain in domains(run.turns, formulas) {
        if form == Form::Members && domain == Domain::Count && run.turns < 3 {
            continue;
        }
        let cost = cost(&body, domain, run.turns, formulas);
        if let Some(cost) = cost.filter(|cost| best.is_none_or(|(least, _)| *cost < least)) {
            best = Some((cost, domain));
        }
    }
    best.map(|(_, domain)| Loop { form, domain, turns: run.turns, body })
}

/// What a loop with so many turns can run over.
fn domains(turns: usize, formulas: &Formulas) -> Vec<Domain> {
    let world = formulas.world;
    let lists = world
        .lists()
        .iter()
        .filter(|list| formulas.ranks.iter().all(|rank| world.list(**list, *rank).len() == turns));
    lists.map(|list| Domain::Peers(*list)).chain([Domain::Count]).collect()
}

/// How hard a body is to read; none if one of its numbers has no expression.
fn cost(body: &[Node], domain: Domain, turns: usize, formulas: &Formulas) -> Option<u32> {
    let mut cost = 0;
    let mut loops = vec![(domain, turns)];
    let all = body.iter().all(|node| {
        node.numbers(&mut loops, &mut |number, loops| match formulas.find(number, loops) {
            Some(found) => {
                cost += found.cost;
                true
            }
            None => false,
        })
    });
    all.then_some(cost)
}
