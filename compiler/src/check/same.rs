//! Whether outputs have the same bits on all ranks for which the collective promises that.
//!
//! In: the memory that a run left, with how its values were computed. Without races, every schedule computes them in the same
//! way, so one run decides.
//! * E0704: what two ranks end with was not computed once and copied, nor in the same way: from the same operands in the
//!   same order ([`Tree`]).

use crate::diagnostic::{Code, Diagnostic};
use crate::interpreter::{self, Memory, Tree, TreeId, Trees, Value};
use crate::ir::contribution::Contribution;
use crate::ir::{OriginId, Program, RankId};
use crate::source::At;
use std::collections::BTreeMap;

/// How many operands of a value are shown.
const SHOWN: usize = 40;

/// The last value of a cell of a rank's output.
struct Held<'m> {
    rank: RankId,
    value: &'m Value,
    writer: Option<OriginId>,
}

/// Two ranks whose outputs may differ in a chunk.
struct Unequal<'m> {
    chunk: u32,
    first: Held<'m>,
    other: Held<'m>,
}

/// Reports the first chunk whose bits may differ, and how many more do.
pub(super) fn check(program: &Program, memory: &Memory) -> Option<Diagnostic> {
    let trees = memory.trees()?;
    let mut found: Vec<Unequal<'_>> = Vec::new();
    let unit = memory.grain().chunks_of_unit();
    let mut last = None;
    for (chunk, ranks) in promised(program) {
        // The chunks of a unit are alike.
        let key = Some((chunk / unit, ranks));
        if let Some((at, ranks)) = &key
            && key != last
        {
            found.extend(unequal(memory, (chunk, at * unit), ranks));
        }
        last = key;
    }
    let first = found.first()?;
    let report = report(program, memory, trees, first);
    Some(match found.len() {
        1 => report,
        2 => report.note("1 other chunk may differ, too"),
        more => report.note(format!("{} other chunks may differ, too", more - 1)),
    })
}

/// The chunks, each with the ranks for which the same bits are promised.
fn promised(program: &Program) -> BTreeMap<u32, Vec<RankId>> {
    let mut all: BTreeMap<u32, Vec<RankId>> = BTreeMap::new();
    for (id, rank) in program.ranks.entries() {
        rank.same.iter().for_each(|chunk| all.entry(*chunk).or_default().push(id));
    }
    all
}

/// The first rank that may have other bits in a chunk, of a unit that begins at `start`, than the first of all.
fn unequal<'m>(
    memory: &'m Memory,
    (chunk, start): (u32, u32),
    ranks: &[RankId],
) -> Option<Unequal<'m>> {
    let first = memory.grain().cells(u64::from(start));
    (first..first + u64::from(memory.parts())).find_map(|cell| {
        let held = |rank: &RankId| {
            let (value, writer) = memory.written(*rank, cell)?;
            Some(Held { rank: *rank, value, writer })
        };
        let mut all = ranks.iter().filter_map(held);
        let first = all.next()?;
        let other = all.find(|other| !interpreter::same_bits(first.value, other.value))?;
        Some(Unequal { chunk, first, other })
    })
}

fn report(program: &Program, memory: &Memory, trees: &Trees, found: &Unequal<'_>) -> Diagnostic {
    let Unequal { chunk, first, other } = found;
    let (a, b) = (first.rank.0, other.rank.0);
    let same = first.value.contributions() == other.value.contributions();
    let nobody = |held: &Held<'_>| {
        let parts = held.value.contributions();
        parts.iter().any(|part| part.rank == Contribution::NOBODY)
    };
    let (why, help) = if nobody(first) || nobody(other) {
        (
            "it holds memory that was never written",
            "write the chunk on every rank of the promise, or promise nothing of it",
        )
    } else if same {
        (
            "they compute it in different ways",
            "compute each chunk on one rank and send it to the others, or let all ranks take the operands in the same order, for example from scratch in the order of ranks",
        )
    } else {
        (
            "they compute it from different data",
            "send the same data to all ranks of the promise, or promise nothing of this chunk",
        )
    };
    let message =
        format!("`output[{chunk}]` may have other bits on rank {b} than on rank {a}: {why}");
    let at = |held: &Held<'_>| held.writer.map(|origin| program.origins.at(origin));
    let place = at(other).or_else(|| at(first));
    let place = place.or(program.collective.place.map(At::from));
    let report = match place {
        Some(place) => Diagnostic::new(Code::E0704, place, message),
        None => Diagnostic::without_place(Code::E0704, message),
    };
    let report = match other.writer {
        Some(_) => report.label(format!("the last write to it on rank {b}")),
        None => report.label(format!("nothing writes it on rank {b}")),
    };
    let report = match at(first).filter(|place| !report.tells_of(place)) {
        Some(place) => report.and(place, format!("the last write to it on rank {a}")),
        None => report,
    };
    let report = match program.collective.place {
        Some(promised) => report.and(promised, "the promise of the same bits"),
        None => report,
    };
    let parts = memory.parts().max(1);
    let unit = memory.grain().chunks_of_unit();
    let shown = |held: &Held<'_>| Shown { trees, parts, unit, left: SHOWN }.text(held.value.tree());
    report
        .note(format!("rank {a}: {}", shown(first)))
        .note(format!("rank {b}: {}", shown(other)))
        .help(help)
}

/// A writer of trees as text.
struct Shown<'t> {
    trees: &'t Trees,
    parts: u32,
    unit: u32,
    /// How many more operands are shown.
    left: usize,
}

impl Shown<'_> {
    /// "`0.input[1]` + (`1.input[1]` + ..)"; deeper than a few operands, nothing is shown.
    fn text(&mut self, id: TreeId) -> String {
        let Some(left) = self.left.checked_sub(1) else { return "..".to_owned() };
        self.left = left;
        match self.trees.get(id) {
            Some(Tree::Input { rank, cell }) => {
                format!("`{rank}.input[{}]`", cell / self.parts * self.unit)
            }
            Some(Tree::Reduced(op, operands)) => {
                self.left += 1;
                let mut shown = Vec::new();
                for operand in operands {
                    let nested = matches!(self.trees.get(*operand), Some(Tree::Reduced(..)));
                    let text = if self.left == 0 { "..".to_owned() } else { self.nested(*operand) };
                    let is_last = text == "..";
                    shown.push(if nested && !is_last { format!("({text})") } else { text });
                    if is_last {
                        break;
                    }
                }
                let sign = match op {
                    crate::ir::ReduceOp::Sum => " + ",
                    crate::ir::ReduceOp::Min => " min ",
                    crate::ir::ReduceOp::Max => " max ",
                };
                shown.join(sign)
            }
            Some(Tree::Switched(op, number)) => {
                format!("the {} that the switch made for load {number}", op.word())
            }
            Some(Tree::Nothing) | None => "memory that was never written".to_owned(),
        }
    }

    /// An operand; one level of nesting uses up one operand, so that the depth is bounded.
    fn nested(&mut self, id: TreeId) -> String {
        let is_nested = matches!(self.trees.get(id), Some(Tree::Reduced(..)));
        let Some(left) = self.left.checked_sub(usize::from(is_nested)) else {
            return "..".to_owned();
        };
        self.left = left;
        self.text(id)
    }
}
