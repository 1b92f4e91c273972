//! The paths of contributions: where a surplus one came from, and how far a missing one got.

use super::trace::{Cell, Row, Trace, trace};
use super::{Foreign, foreign};
use crate::check::event_graph::{EventGraph, Run};
use crate::check::names;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::witness::{Cells, Finding, Hop, Turn, Witness, WrongValue};
use crate::interpreter::{Broken, Memory};
use crate::ir::contribution::Contribution;
use crate::ir::{Action, Alias, Buffer, RankId, ReduceOp};
use std::collections::BTreeSet;

/// How many operations of a path get a label.
const LABELED: usize = 4;

/// How many chunks of a path are named.
const NAMED: usize = 6;

/// The operation that combined a wrong chunk's contributions by another operator than the collective's; the first one, if
/// there are several.
pub(super) fn combining(graph: &EventGraph, broken: &Broken) -> Option<Foreign> {
    let mut run = Run::new(graph);
    if !graph.program.ranks.ids().all(|rank| run.reach(graph.start(rank, 1))) {
        return None;
    }
    let trace = trace(graph, run.moments())?;
    let first = u64::from(broken.chunk) * u64::from(graph.parts()) + u64::from(broken.part);
    let last = trace.last(trace.cell(broken.rank, Buffer::Output, first))?;
    let (mut open, mut seen, mut found) = (vec![last], BTreeSet::from([last]), None);
    while let Some(at) = open.pop() {
        let row = trace.row(at)?;
        let line = row.moment.and_then(|moment| graph.line(moment));
        let line = line.and_then(|(agent, at)| graph.lines(agent).get(at as usize));
        if row.sources.len() > 1
            && let Some(one) = line.and_then(|line| foreign(graph.program, line.op))
            && found.as_ref().is_none_or(|(first, _)| at < *first)
        {
            found = Some((at, one));
        }
        open.extend(row.sources.iter().copied().filter(|source| seen.insert(*source)));
    }
    found.map(|(_, one)| one)
}

/// Adds to a report the paths of the first wrong contribution, and a schedule that leads to the value. `operator` is what
/// combined it, if that is not the promised one.
pub(super) fn show(
    graph: &EventGraph,
    memory: &Memory,
    broken: &Broken,
    operator: Option<ReduceOp>,
    mut report: Diagnostic,
) -> Diagnostic {
    let parts = memory.parts();
    let first = u64::from(broken.chunk) * u64::from(parts) + u64::from(broken.part);
    let mut value = WrongValue {
        memory: Cells {
            rank: broken.rank.0,
            buffer: Buffer::Output.word(),
            start: first,
            end: first + 1,
            parts,
        },
        missing: broken.missing.clone(),
        too_few: broken.too_few.iter().map(|one| one.of).collect(),
        doubled: broken.doubled.iter().map(|one| one.of).collect(),
        unexpected: broken.unexpected.clone(),
        operator: operator.map(ReduceOp::word),
        paths: Vec::new(),
    };
    let mut run = Run::new(graph);
    let reached = run.reach(graph.start(broken.rank, 1));
    let schedule: Vec<Turn> = if reached { graph.turns(run.moments()) } else { Vec::new() };
    let all = graph.program.ranks.ids().all(|rank| run.reach(graph.start(rank, 1)));
    let traced = if all { trace(graph, run.moments()) } else { None };
    if let Some(trace) = traced {
        let mut ways = Ways { graph, trace, parts };
        let at = ways.trace.cell(broken.rank, Buffer::Output, first);
        let paths = ways.paths(at, broken);
        for path in &paths {
            value.paths.push(path.iter().filter_map(|row| ways.hop(*row)).collect());
        }
        report = ways.tell(broken, &paths, report);
    }
    report.witness = Some(Box::new(Witness::new(Finding::Value(Box::new(value)), schedule)));
    report
}

/// A path of [`NAMED`] chunks at most; a longer one is shortened to its two ends, and the chunks from `from` on.
fn shortened(path: &[String], from: usize) -> String {
    let half = NAMED / 2;
    if path.len() <= NAMED {
        return path.join(" -> ");
    }
    let tail = path.len() - half;
    let shown =
        |at: usize| at < half || at >= tail || (from..from + half).contains(&at) && from != half;
    let mut names: Vec<&str> = Vec::new();
    for (at, name) in path.iter().enumerate() {
        if shown(at) {
            names.push(name);
        } else if names.last() != Some(&"..") {
            names.push("..");
        }
    }
    names.join(" -> ")
}

struct Ways<'a, 'p> {
    graph: &'a EventGraph<'p>,
    trace: Trace<'p>,
    parts: u32,
}

impl Ways<'_, '_> {
    /// The paths of the reported contribution, as rows from the input on.
    fn paths(&mut self, at: Cell, broken: &Broken) -> Vec<Vec<u32>> {
        let last = self.trace.last(at);
        let input = |trace: &Trace, (rank, chunk): (u32, u32)| {
            let cell = u64::from(chunk) * u64::from(self.parts) + u64::from(broken.part);
            trace.cell(RankId(rank), Buffer::Input, cell)
        };
        let known = |list: &[(u32, u32)]| {
            list.iter().copied().find(|(rank, _)| *rank != Contribution::NOBODY)
        };
        let doubled = broken.doubled.first().map(|one| one.of);
        if let (Some(doubled), Some(last)) = (doubled, last) {
            return self.two_ways(&self.trace.reached_from(input(&self.trace, doubled)), last);
        }
        if let Some(missing) = known(&broken.missing) {
            let cell = input(&self.trace, missing);
            self.trace.holds(cell);
            let reached = self.trace.reached_from(cell);
            return self
                .farthest(&reached, at)
                .map(|row| self.way(&reached, row))
                .into_iter()
                .collect();
        }
        match (known(&broken.unexpected), last) {
            (Some(unexpected), Some(last)) => {
                vec![self.way(&self.trace.reached_from(input(&self.trace, unexpected)), last)]
            }
            (_, _) => Vec::new(),
        }
    }

    /// The path to a row through rows that contain a contribution.
    fn way(&self, reached: &BTreeSet<u32>, row: u32) -> Vec<u32> {
        let mut way = vec![row];
        let mut at = row;
        while let Some(source) = self.sources(reached, at).first().copied() {
            way.push(source);
            at = source;
        }
        way.reverse();
        way
    }

    /// The sources of a row that contain a contribution.
    fn sources(&self, reached: &BTreeSet<u32>, row: u32) -> Vec<u32> {
        let sources = self.trace.row(row).map(|row| row.sources.as_slice()).unwrap_or_default();
        sources.iter().copied().filter(|source| reached.contains(source)).collect()
    }

    /// Two paths to a row: they split at a row of which two sources contain the contribution.
    fn two_ways(&self, reached: &BTreeSet<u32>, last: u32) -> Vec<Vec<u32>> {
        let mut behind = Vec::new();
        let mut at = last;
        loop {
            behind.push(at);
            match self.sources(reached, at).as_slice() {
                [one, other, ..] => {
                    let ends: Vec<u32> = behind.iter().rev().copied().collect();
                    let through = |source: u32| {
                        let mut way = self.way(reached, source);
                        way.extend(&ends);
                        way
                    };
                    return vec![through(*one), through(*other)];
                }
                [one] => at = *one,
                [] => return vec![self.way(reached, last)],
            }
        }
    }

    /// The row that shows how far a contribution got: in the cell where it is missing, or else on that cell's rank, or
    /// else the latest one.
    fn farthest(&self, reached: &BTreeSet<u32>, at: Cell) -> Option<u32> {
        let nearness = |row: &u32| {
            let cell = self.trace.row(*row).map(|row| row.cell);
            (cell == Some(at), cell.is_some_and(|cell| cell.rank == at.rank), *row)
        };
        reached.iter().copied().max_by_key(nearness)
    }

    fn hop(&self, row: u32) -> Option<Hop> {
        let row = self.trace.row(row)?;
        let event = self.graph.event(row.moment?);
        let into = Cells {
            rank: row.cell.rank.0,
            buffer: row.cell.buffer.word(),
            start: row.cell.cell,
            end: row.cell.cell + 1,
            parts: self.parts,
        };
        Some(Hop { event, into })
    }

    /// "`output[3]` of rank 2"; initial contents are named as input, wherever they lie.
    fn name(&self, row: &Row) -> String {
        let Cell { rank, buffer, cell, .. } = row.cell;
        let chunk = cell / u64::from(self.parts.max(1));
        let alias = self.graph.program.ranks.lookup(rank).and_then(|row| row.alias);
        let (buffer, chunk) = match alias.filter(|_| row.moment.is_none()) {
            Some(Alias { inner: Buffer::Input, offset, .. }) => {
                (Buffer::Input, chunk.saturating_sub(u64::from(offset)))
            }
            Some(_) | None => (buffer, chunk),
        };
        format!("{} of rank {}", names::chunk(self.graph.program, rank, buffer, chunk), rank.0)
    }

    fn tell(&self, broken: &Broken, paths: &[Vec<u32>], report: Diagnostic) -> Diagnostic {
        match paths {
            [one, other] => {
                let behind = one.iter().rev().zip(other.iter().rev());
                let behind = behind.take_while(|(a, b)| a == b).count().saturating_sub(1);
                let own = |path: &[u32]| path.len() - behind;
                let report = self.label(report, one.get(..own(one)).unwrap_or(one), "moves");
                let report =
                    self.label(report, other.get(..own(other)).unwrap_or(other), "moves again");
                let (first, second) = self.two_names(one, other);
                let second = match (one == other, first == second) {
                    (true, _) => format!("the same path again: {second}"),
                    (false, true) => "another: through the same chunks, by other operations".into(),
                    (false, false) => format!("another: {second}"),
                };
                report.note(format!("one path: {first}")).note(second)
            }
            [path] if broken.missing.is_empty() => {
                self.label(report, path, "moves on").note(format!("its path: {}", self.names(path)))
            }
            [path] => self.end(broken, path, self.label(report, path, "moves on")),
            [..] => report,
        }
    }

    /// "`input[4]` of rank 4 -> .. -> `output[5]` of rank 1"
    fn names(&self, path: &[u32]) -> String {
        shortened(&self.chunks(path), NAMED / 2)
    }

    /// The names of two paths. Where these are shortened, what remains shows the first chunk in which they differ.
    fn two_names(&self, one: &[u32], other: &[u32]) -> (String, String) {
        let (one, other) = (self.chunks(one), self.chunks(other));
        let (short, shorter) = (shortened(&one, NAMED / 2), shortened(&other, NAMED / 2));
        let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
        if short != shorter || one == other {
            return (short, shorter);
        }
        (shortened(&one, same), shortened(&other, same))
    }

    /// The names of the chunks that a path goes through.
    fn chunks(&self, path: &[u32]) -> Vec<String> {
        path.iter().filter_map(|row| self.trace.row(*row)).map(|row| self.name(row)).collect()
    }

    /// Adds labels at the last operations of a path, except at places that have one already.
    fn label(&self, mut report: Diagnostic, path: &[u32], does: &str) -> Diagnostic {
        let rows = path.iter().filter_map(|row| self.trace.row(*row));
        let rows: Vec<&Row> = rows.filter(|row| row.moment.is_some()).collect();
        for row in rows.iter().rev().take(LABELED) {
            let place = row.moment.and_then(|moment| self.graph.at(moment));
            if let Some(place) = place.filter(|place| !report.tells_of(place)) {
                report = report.and(place, format!("it {does} here, into {}", self.name(row)));
            }
        }
        report
    }

    /// Adds where the path of a missing contribution ends, whether it is overwritten there, and what would help.
    fn end(&self, broken: &Broken, path: &[u32], report: Diagnostic) -> Diagnostic {
        let end = path.last().and_then(|last| Some((*last, self.trace.row(*last)?)));
        let Some((last, row)) = end else { return report };
        let report = match row.moment {
            Some(_) => report.note(format!("it gets as far as: {}", self.names(path))),
            None => report.note(format!("nothing forwards {}", self.name(row))),
        };
        let over = self.trace.overwritten(last).and_then(|over| over.moment);
        let report = report.help(self.way_out(broken, (last, row), over.is_some()));
        match over.and_then(|moment| self.graph.at(moment)) {
            Some(place) => report.and(place, format!("{} is overwritten here", self.name(row))),
            None => report,
        }
    }

    /// The advice for a contribution whose path ends at a row.
    fn way_out(&self, broken: &Broken, (end, row): (u32, &Row), is_overwritten: bool) -> String {
        let first = u64::from(broken.chunk) * u64::from(self.parts) + u64::from(broken.part);
        let at = self.trace.cell(broken.rank, Buffer::Output, first);
        let target = format!("`output[{}]` of rank {}", broken.chunk, broken.rank.0);
        let before = if is_overwritten { ", before it is overwritten" } else { "" };
        if row.cell == at {
            return "let the operation that overwrites it reduce into it instead, or write elsewhere".to_owned();
        }
        let name = self.name(row);
        let written = |last: &u32| self.trace.row(*last).is_some_and(|row| row.moment.is_some());
        let later = |last: &u32| row.moment.is_none() || *last > end;
        let last = self.trace.last(at).filter(|last| written(last) && later(last));
        let is_reduced = last.is_some_and(|last| self.reduces(last))
            && row.cell.rank == at.rank
            && !is_overwritten;
        // What is there in its place was probably taken by mistake.
        let stray = broken.unexpected.iter().find(|(rank, _)| *rank != Contribution::NOBODY);
        let stray = stray.map(|(rank, chunk)| format!("`input[{chunk}]` of rank {rank}"));
        match (stray.filter(|_| last.is_some()), is_reduced, row.moment) {
            (Some(stray), true, _) => {
                format!("let the `reduce` that writes {target} include {name} instead of {stray}")
            }
            (None, true, _) => format!("let the `reduce` that writes {target} include {name} too"),
            (Some(stray), false, _) => {
                format!("move {name} to {target} instead of {stray}{before}")
            }
            (None, false, None) => {
                format!("add an operation that moves it to {target}{before}")
            }
            (None, false, Some(_)) => {
                format!("add an operation that moves it on to {target}{before}")
            }
        }
    }

    /// Whether a row was made by a reduction.
    fn reduces(&self, row: u32) -> bool {
        let line = self.trace.row(row).and_then(|row| self.graph.line(row.moment?));
        let op = line.and_then(|(agent, at)| self.graph.lines(agent).get(at as usize));
        op.is_some_and(|line| {
            matches!(&line.op.action, Action::Transfer(transfer)
                if transfer.verb.reduces())
        })
    }
}
