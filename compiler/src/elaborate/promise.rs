//! The collective of a program on one rank: buffer sizes, how input and output share memory, and what is promised.
//!
//! - E0314: a size, an `in_place` or a promise that cannot be.
//! - E0703: two promises for one chunk differ. The same promise may be made twice.

use super::eval::{Eval, Evaluated, MAX_LIST};
use super::lists::too_long;
use super::value::{BufferValue, Value};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::ir::contribution::collect_contributions;
use crate::resolve::program::{
    Claim, Collective, Expr, Implements, Parameter, Promised, StmtKind, Type,
};
use crate::source::Span;
use smallvec::SmallVec;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

/// What a collective promises for one rank.
pub(super) struct Promises {
    /// The chunks of its output, ascending.
    pub(super) chunks: Arc<[ir::Promise]>,
    /// The ranks that have begun before it ends, ascending.
    pub(super) begun: Arc<[ir::RankId]>,
    /// The chunks of its output that are promised to have the same bits as those of other ranks, ascending.
    pub(super) same: Arc<[u32]>,
}

/// A promise for a chunk, and where it is made.
struct Stated {
    terms: Terms,
    span: Span,
}

type Terms = SmallVec<[ir::Term; 1]>;

/// How many steps the promise for a chunk takes: as many as an operation, since it needs as much memory.
const STEPS_PER_CHUNK: u64 = super::STEPS_PER_OPERATION;

/// The most chunks that a buffer may have: operands count them in 32 bits.
const MAX_CHUNKS: i64 = 1 << 31;

impl<'a> Eval<'_, 'a> {
    /// Evaluates the collective's arguments and sizes in the program's frame. Leaves the collective's frame in place,
    /// so that its promises can be evaluated once all ranks have their sizes.
    pub(super) fn implement(
        &mut self,
        implements: &'a Implements,
        in_place: bool,
    ) -> Evaluated<()> {
        let world = self.world;
        let collective = &world.unit.collectives[implements.collective];
        let frame = self.arguments(
            &collective.parameters,
            &implements.arguments,
            collective.frame.len(),
            implements.span,
        )?;
        if frame.iter().any(|value| value.is_longer_than(MAX_LIST)) {
            return Err(self.fail_at(String::new(), too_long(implements.span)));
        }
        if let Some(report) = wrong_ranks(collective, implements, &frame, world.ranks) {
            return Err(self.fail_at(String::new(), report));
        }
        self.frame = frame;
        self.names = &collective.frame;
        self.calls.push(implements.span);
        let done = self.sizes(collective).and_then(|()| match in_place {
            true if collective.in_place.is_some() => self.alias(collective),
            _ => Ok(()),
        });
        self.calls.pop();
        match in_place && collective.in_place.is_none() {
            true if done.is_ok() => {
                Err(self.fail_at(String::new(), never_in_place(implements.span, collective)))
            }
            _ => done,
        }
    }

    /// Checks the collective's requirements and evaluates the sizes of its buffers.
    fn sizes(&mut self, collective: &'a Collective) -> Evaluated<()> {
        for statement in &collective.body {
            match &statement.kind {
                StmtKind::Let(local, value) => {
                    let value = self.value(value)?;
                    self.bind(*local, value);
                }
                StmtKind::Require(condition, message) => {
                    self.require(condition, message.as_deref(), statement.span)?;
                }
                StmtKind::For(..)
                | StmtKind::If(..)
                | StmtKind::Block { .. }
                | StmtKind::Group(..)
                | StmtKind::Pipeline { .. }
                | StmtKind::Barrier(_)
                | StmtKind::Sync
                | StmtKind::Transfer(_)
                | StmtKind::Synchronise(_)
                | StmtKind::Call(..) => {}
            }
        }
        let (input, output) = (self.chunks(&collective.input)?, self.chunks(&collective.output)?);
        let own = Rc::make_mut(&mut self.own);
        (own.input_chunks, own.output_chunks) = (input, output);
        Ok(())
    }

    fn chunks(&mut self, expr: &'a Expr) -> Evaluated<i64> {
        let chunks = self.int(expr)?;
        match (0..MAX_CHUNKS).contains(&chunks) {
            true => Ok(chunks),
            false => Err(self.fail(expr, bad_size(expr.span, chunks))),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    fn alias(&mut self, collective: &'a Collective) -> Evaluated<()> {
        let Some(clause) = &collective.in_place else { return Ok(()) };
        let inner = super::memory::kind_of(clause.inner);
        let (input, output) = (self.own.input_chunks as u32, self.own.output_chunks as u32);
        let inner_chunks = if inner == ir::Buffer::Input { input } else { output };
        if inner_chunks == 0 {
            return Ok(()); // as on a rank that contributes nothing: no slice is that short
        }
        let (outer, offset, size) = match self.value(&clause.value)? {
            Value::Chunk(slice) => (slice.buffer, slice.index, slice.size),
            Value::Buffer(BufferValue { name, .. }) => {
                let outer = super::memory::kind_of(name);
                (outer, 0, if outer == ir::Buffer::Input { input } else { output })
            }
            _ => return Err(self.fail(&clause.value, bad_alias(clause.span))),
        };
        if outer == inner || outer == ir::Buffer::Scratch || size != inner_chunks {
            return Err(self.fail(&clause.value, bad_alias(clause.span)));
        }
        Rc::make_mut(&mut self.own).alias = Some(ir::Alias { inner, outer, offset });
        Ok(())
    }

    /// What the collective promises for this rank, where `reduce` stands for `op`. The frame must be the collective's.
    pub(super) fn promises(
        &mut self,
        collective: &'a Collective,
        op: ir::ReduceOp,
    ) -> Evaluated<Promises> {
        let (mut chunks, mut begun, mut same) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for ensures in &collective.ensures {
            let _ = self.for_each(&ensures.binders, &mut |eval| {
                match &ensures.claim {
                    Claim::Holds { output, value } => {
                        eval.promise((output, value), op, &mut chunks)?
                    }
                    Claim::Begun(rank) => {
                        begun.insert(ir::RankId(eval.rank_value(rank)? as u32));
                    }
                    Claim::Same(output) => {
                        let (output, span) = (eval.output(output)?, output.span);
                        eval.spend_chunks(output.size, span)?;
                        same.extend(output.index..output.index.saturating_add(output.size));
                    }
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        let promise = |(chunk, Stated { terms, .. })| ir::Promise { chunk, terms };
        let chunks = chunks.into_iter().map(promise);
        let (begun, same) = (begun.into_iter().collect(), same.into_iter().collect());
        Ok(Promises { chunks: chunks.collect(), begun, same })
    }

    /// Spends the steps that the promises for so many chunks take.
    fn spend_chunks(&mut self, chunks: u32, span: Span) -> Evaluated<()> {
        self.spend_steps(STEPS_PER_CHUNK.saturating_mul(chunks.into()), span)
    }

    /// A chunk of this rank's output.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    fn output(&mut self, output: &'a Expr) -> Evaluated<ir::Operand> {
        match self.value(output)? {
            Value::Chunk(chunk) if chunk.buffer == ir::Buffer::Output => Ok(chunk),
            _ => Err(self.fail(output, no_output(output.span))),
        }
    }

    fn promise(
        &mut self,
        (left, right): (&'a Expr, &'a Promised),
        op: ir::ReduceOp,
        promises: &mut BTreeMap<u32, Stated>,
    ) -> Evaluated<()> {
        let output = self.output(left)?;
        let mut terms = SmallVec::new();
        match right {
            Promised::Chunk(value) => self.term(value, output.size, &mut terms)?,
            Promised::Reduce(binders, value) => {
                let _ = self.for_each(binders, &mut |eval| {
                    eval.term(value, output.size, &mut terms)?;
                    Ok(ControlFlow::Continue(()))
                })?;
                if terms.is_empty() {
                    return Err(self.fail(left, nothing_reduced(left.span)));
                }
            }
        }
        self.spend_chunks(output.size, left.span)?;
        for chunk in 0..output.size {
            let mut shifted = terms.clone();
            shifted.iter_mut().for_each(|term| term.chunk += chunk);
            let stated = Stated { terms: shifted, span: left.span };
            match promises.entry(output.index + chunk) {
                Entry::Vacant(free) => {
                    free.insert(stated);
                }
                Entry::Occupied(first) => {
                    let (first, at) = (first.get(), output.index + chunk);
                    if collect_contributions(&first.terms, op)
                        != collect_contributions(&stated.terms, op)
                    {
                        let report = contradictory(at, self.rank, first, &stated);
                        let mentions =
                            if let Promised::Chunk(value) = right { value } else { left };
                        return Err(self.fail(mentions, report));
                    }
                }
            }
        }
        Ok(())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    fn term(&mut self, value: &'a Expr, size: u32, terms: &mut Terms) -> Evaluated<()> {
        let chunk = match self.value(value)? {
            Value::Chunk(chunk) if chunk.buffer == ir::Buffer::Input && chunk.size == size => chunk,
            _ => return Err(self.fail(value, no_input(value.span))),
        };
        let rank = chunk.place.peer().map_or(self.rank.unwrap_or(0) as u32, |peer| peer.0);
        append(terms, rank, chunk.index);
        Ok(())
    }
}

/// Adds a contribution: extends the last term if it continues that term's progression.
fn append(terms: &mut Terms, rank: u32, chunk: u32) {
    if let Some(last) = terms.last_mut() {
        let (after, steps) = (last.count as i32, last.count as i32 - 1);
        let (rank_of, chunk_of) = (
            last.rank as i32 + steps * last.rank_step,
            last.chunk as i32 + steps * last.chunk_step,
        );
        let (rank_step, chunk_step) = (rank as i32 - rank_of, chunk as i32 - chunk_of);
        if after == 1 || (rank_step, chunk_step) == (last.rank_step, last.chunk_step) {
            (last.rank_step, last.chunk_step) = (rank_step, chunk_step);
            last.count += 1;
            return;
        }
    }
    terms.push(ir::Term { rank, chunk, count: 1, rank_step: 0, chunk_step: 0 });
}

/// The report where a collective's parameter `ranks` is not the number of ranks that the program has: every rank of the
/// program takes part in its collective.
fn wrong_ranks(
    collective: &Collective,
    implements: &Implements,
    frame: &[Value],
    ranks: i64,
) -> Option<Diagnostic> {
    let is_ranks = |parameter: &Parameter| parameter.name == "ranks" && parameter.ty == Type::Int;
    let position = collective.parameters.iter().position(is_ranks)?;
    let Some(Value::Int(declared)) = frame.get(position) else { return None };
    if *declared == ranks {
        return None;
    }
    let given = implements.arguments.iter().find(|(at, _)| *at == position);
    let span = given.map_or(implements.span, |(_, value)| value.span);
    let text = format!(
        "`{}` is declared for {declared} rank{}, and the program has {ranks}",
        collective.name,
        if *declared == 1 { "" } else { "s" }
    );
    Some(
        Diagnostic::new(Code::E0314, span, text)
            .help("all ranks of a program take part in its collective: pass `ranks`"),
    )
}

fn bad_size(span: Span, chunks: i64) -> Diagnostic {
    Diagnostic::new(
        Code::E0312,
        span,
        format!("a buffer has 0 to 2^31 chunks, and this would have {chunks}"),
    )
}

fn never_in_place(span: Span, collective: &Collective) -> Diagnostic {
    let name = &collective.name;
    Diagnostic::new(Code::E0314, span, format!("`{name}` has no in-place form"))
        .and(collective.span, "it has no `in_place` clause")
        .help("remove `in_place`, or say in the collective which buffer is part of which")
}

fn bad_alias(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0314,
        span,
        "the two sides of `in_place` are not the same number of chunks of two buffers",
    )
}

fn no_output(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0314, span, "a promise is about a chunk of `output`")
}

fn no_input(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0314,
        span,
        "a promise names chunks of `input`, as many as on its left side",
    )
}

fn nothing_reduced(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0314, span, "a promise is a reduction of at least one chunk")
        .help("leave the chunk out where there is nothing to reduce: add an `if` to the promise")
}

/// Reports that a chunk is promised to be two different things.
fn contradictory(chunk: u32, rank: Option<i64>, first: &Stated, second: &Stated) -> Diagnostic {
    let rank = rank.map_or_else(String::new, |rank| format!(" of rank {rank}"));
    let message = format!("two promises for `output[{chunk}]`{rank} contradict each other");
    let (before, here) = (shown(&first.terms), shown(&second.terms));
    let report = Diagnostic::new(Code::E0703, second.span, message);
    if first.span == second.span {
        return report
            .label(format!("first it is {before}, and then {here}"))
            .help("name each chunk once; `reduce(r in ..: r.input[..])` is the reduction of several contributions");
    }
    report.label(format!("here it is {here}")).and(first.span, format!("and here {before}")).help(
        "remove one of the two, or let an `if` say which ranks or chunks each of them is about",
    )
}

/// How many contributions of a promise are shown.
const SHOWN: usize = 4;

/// "`0.input[1]`", or "the reduction of `0.input[1]`, `1.input[1]`, .. (8 in all)".
fn shown(terms: &[ir::Term]) -> String {
    let all = || terms.iter().flat_map(ir::Term::sources);
    let count = all().count();
    let some: Vec<String> =
        all().take(SHOWN).map(|(rank, chunk)| format!("`{rank}.input[{chunk}]`")).collect();
    let some = some.join(", ");
    match count {
        1 => some,
        _ if count <= SHOWN => format!("the reduction of {some}"),
        _ => format!("the reduction of {some}, .. ({count} in all)"),
    }
}
