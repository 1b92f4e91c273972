//! Buffers and slices of them: `input`, `p.inbox[n, ..]`.

use super::domain::{Domain, Miss, Run, Selection};
use super::eval::{Eval, Evaluated, Failed};
use super::members::{few, too_early};
use super::reports::PastEnd;
use super::value::{BufferValue, List, Value, list_of};
use super::world::{Declared, Family};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{BufferName, Expr, ExprKind, Index, RegionId};
use crate::source::Span;
use crate::syntax::ast::RangeKind;
use crate::table::Id;

/// Why a slice is invalid.
enum InvalidSlice {
    Outside { first: i64, len: i64, chunks: i64 },
    Empty,
    Scattered,
    NoMember(usize, i64),
}

impl From<Miss> for InvalidSlice {
    fn from(miss: Miss) -> InvalidSlice {
        match miss {
            Miss::NoMember(dimension, value) => InvalidSlice::NoMember(dimension, value),
            Miss::Scattered => InvalidSlice::Scattered,
            Miss::Empty => InvalidSlice::Empty,
        }
    }
}

impl<'a> Eval<'_, 'a> {
    /// `p.inbox`
    pub(super) fn remote_buffer(&mut self, rank: &'a Expr, buffer: &'a Expr) -> Evaluated<Value> {
        let peer = self.rank_value(rank)?;
        let name = self.buffer_name(buffer)?;
        let place = match self.rank == Some(peer) {
            true => ir::Where::Local,
            false => ir::Where::Remote(ir::RankId(peer as u32)),
        };
        Ok(Value::Buffer(BufferValue { place, name }))
    }

    /// `nvls.input`
    pub(super) fn switch_buffer(
        &mut self,
        channel: &'a Expr,
        buffer: &'a Expr,
    ) -> Evaluated<Value> {
        let Value::Channel(id) = self.value(channel)? else { return Err(Failed) };
        let name = self.buffer_name(buffer)?;
        let bound = match self.own.links.get(id.index()) {
            Some(ir::Link::Switch(group)) => group.buffer,
            Some(ir::Link::Memory(_) | ir::Link::Port(_)) | None => {
                return Err(self.fail(channel, no_switch(channel.span)));
            }
        };
        match bound == kind_of(name) {
            true => Ok(Value::Buffer(BufferValue { place: ir::Where::Switch(id), name })),
            false => Err(self.fail(channel, not_bound(buffer.span, bound))),
        }
    }

    fn buffer_name(&mut self, buffer: &'a Expr) -> Evaluated<BufferName> {
        let Value::Buffer(BufferValue { name, .. }) = self.value(buffer)? else {
            return Err(Failed);
        };
        Ok(name)
    }

    /// `input[a..b]`, `p.stage[n, ..]`, `inbox[*]`
    pub(super) fn slice(
        &mut self,
        base: &'a Expr,
        indices: &'a [Index],
        expr: &'a Expr,
    ) -> Evaluated<Value> {
        let Value::Buffer(buffer) = self.value(base)? else { return Err(Failed) };
        self.expect_declared(buffer, expr)?;
        let mut chosen = Vec::with_capacity(indices.len());
        let mut several = false;
        for index in indices {
            several |= matches!(index, Index::All(_));
            chosen.push(self.chosen(index)?);
        }
        if !several {
            let selections: Vec<Selection> = chosen.into_iter().map(Chosen::selection).collect();
            return self.one_slice(buffer, &selections, expr).map(Value::Chunk);
        }
        let mut slices = Vec::new();
        self.each_slice(buffer, &mut Vec::new(), &chosen, expr, &mut slices)?;
        Ok(Value::List(list_of(slices)))
    }

    /// Reports a peer's buffer that is used before all ranks have made their declarations.
    fn expect_declared(&mut self, buffer: BufferValue, expr: &'a Expr) -> Evaluated<()> {
        match buffer.place {
            ir::Where::Remote(peer) if peer.index() >= self.all.len() => {
                Err(self.fail_at(String::new(), too_early(expr.span)))
            }
            ir::Where::Local | ir::Where::Remote(_) | ir::Where::Switch(_) => Ok(()),
        }
    }

    /// The declarations of the rank that a buffer is on, by where it lies.
    pub(super) fn declared(&self, place: ir::Where) -> &Declared {
        place.peer().and_then(|peer| self.all.get(peer.index())).unwrap_or(&self.own)
    }

    fn one_slice(
        &mut self,
        buffer: BufferValue,
        selections: &[Selection],
        expr: &'a Expr,
    ) -> Evaluated<ir::Operand> {
        let declared = self.declared(buffer.place);
        let found = match buffer.name {
            BufferName::Input => flat(declared.input_chunks, selections),
            BufferName::Output => flat(declared.output_chunks, selections),
            BufferName::Scratch(region) => match region_of(declared, region) {
                Some(family) => family
                    .domain
                    .run(selections)
                    .map(|run| shifted(run, family.first))
                    .map_err(InvalidSlice::from),
                None => return Err(self.fail_at(String::new(), too_early(expr.span))),
            },
        };
        match found {
            Ok(run) => Ok(ir::Operand {
                place: buffer.place,
                buffer: kind_of(buffer.name),
                index: run.first as u32,
                size: run.len as u32,
            }),
            Err(bad) => Err(self.bad_slice(buffer, bad, expr)),
        }
    }

    fn each_slice(
        &mut self,
        buffer: BufferValue,
        prefix: &mut Vec<Selection>,
        chosen: &[Chosen],
        expr: &'a Expr,
        into: &mut Vec<Value>,
    ) -> Evaluated<()> {
        let Some((next, rest)) = chosen.split_first() else {
            let slice = self.one_slice(buffer, prefix, expr)?;
            into.push(Value::Chunk(slice));
            return Ok(());
        };
        let values = match next {
            Chosen::Selected(selection) => {
                prefix.push(selection.clone());
                self.each_slice(buffer, prefix, rest, expr, into)?;
                prefix.pop();
                return Ok(());
            }
            Chosen::All => self.values_below(buffer, prefix),
        };
        for value in values {
            self.spend(expr.span)?;
            prefix.push(Selection::One(value));
            self.each_slice(buffer, prefix, rest, expr, into)?;
            prefix.pop();
        }
        Ok(())
    }

    /// The values that the dimension after `prefix` runs over.
    fn values_below(&self, buffer: BufferValue, prefix: &[Selection]) -> Vec<i64> {
        let declared = self.declared(buffer.place);
        match buffer.name {
            BufferName::Input => (0..declared.input_chunks).collect(),
            BufferName::Output => (0..declared.output_chunks).collect(),
            BufferName::Scratch(region) => {
                let mut domain = region_of(declared, region).map(|family| &family.domain);
                for selection in prefix {
                    domain = domain.and_then(|domain| domain.below_first(selection));
                }
                domain.map(Domain::values).unwrap_or_default()
            }
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    fn chosen(&mut self, index: &'a Index) -> Evaluated<Chosen> {
        Ok(match index {
            Index::All(_) => Chosen::All,
            Index::Whole(_) => Chosen::Selected(Selection::Whole),
            Index::At(expr) => match self.value(expr)? {
                Value::Int(value) => Chosen::Selected(Selection::One(value)),
                Value::List(List::Range { len: 0, .. }) => {
                    Chosen::Selected(Selection::Values(0, 0))
                }
                Value::List(list) => match list.consecutive() {
                    Some((first, len)) => Chosen::Selected(Selection::Values(first, len)),
                    None if list.len() == 0 => Chosen::Selected(Selection::Values(0, 0)),
                    None => return Err(self.fail(expr, not_consecutive(expr.span))),
                },
                _ => return Err(Failed),
            },
            Index::To(expr, inclusive) => {
                let end = self.int(expr)?;
                Chosen::Selected(Selection::Below(end.saturating_add(i64::from(*inclusive))))
            }
            Index::From(expr) => Chosen::Selected(Selection::From(self.int(expr)?)),
        })
    }

    fn bad_slice(&mut self, buffer: BufferValue, bad: InvalidSlice, expr: &'a Expr) -> Failed {
        let name = self.buffer_text(buffer);
        let diagnostic = match bad {
            InvalidSlice::Outside { first, len, chunks } => {
                let report = outside(expr.span, &name, first, len, chunks);
                let report = match (&self.world.program.collective, buffer.name) {
                    (Some(implements), BufferName::Input | BufferName::Output) if chunks == 0 => {
                        report.and(implements.span, format!("this gives {name} no chunks"))
                    }
                    (_, _) => report,
                };
                let end = first.saturating_add(len);
                return self.fail_past_end(expr, report, PastEnd { buffer: name, first, end });
            }
            InvalidSlice::Empty if self.is_clause(expr) => no_chunks(expr.span, &name),
            InvalidSlice::Empty => empty(expr.span, &name, is_from_to(expr)),
            InvalidSlice::Scattered => scattered(expr.span, &name),
            InvalidSlice::NoMember(dimension, value) => {
                let has = self.values_below(buffer, &[]);
                no_index(expr.span, &name, dimension, value, &has)
            }
        };
        self.fail(expr, diagnostic)
    }

    /// Whether a slice is the value of the collective's `in_place` clause.
    fn is_clause(&self, expr: &Expr) -> bool {
        let implements = self.world.program.collective.as_ref();
        let clause = implements
            .and_then(|one| self.world.unit.collectives[one.collective].in_place.as_ref());
        clause.is_some_and(|clause| clause.value.span == expr.span)
    }

    /// `input`, or "`output` of rank 3".
    pub(super) fn buffer_text(&self, buffer: BufferValue) -> String {
        let name = match buffer.name {
            BufferName::Input => "input",
            BufferName::Output => "output",
            BufferName::Scratch(region) => &self.world.program.scratch[region].name,
        };
        match buffer.place {
            ir::Where::Local | ir::Where::Switch(_) => format!("`{name}`"),
            ir::Where::Remote(peer) => format!("`{name}` of rank {}", peer.0),
        }
    }
}

enum Chosen {
    All,
    Selected(Selection),
}

impl Chosen {
    fn selection(self) -> Selection {
        match self {
            Chosen::All => Selection::Whole,
            Chosen::Selected(selection) => selection,
        }
    }
}

/// The buffer in the IR that a name stands for.
pub(super) fn kind_of(name: BufferName) -> ir::Buffer {
    match name {
        BufferName::Input => ir::Buffer::Input,
        BufferName::Output => ir::Buffer::Output,
        BufferName::Scratch(_) => ir::Buffer::Scratch,
    }
}

fn region_of(declared: &Declared, region: RegionId) -> Option<&Family> {
    declared.regions.get(region.index()).and_then(Option::as_ref)
}

fn shifted(run: Run, by: u64) -> Run {
    Run { first: run.first + by, len: run.len }
}

/// A slice of a buffer without dimensions.
fn flat(chunks: i64, selections: &[Selection]) -> Result<Run, InvalidSlice> {
    let (first, len) = match selections.first() {
        None | Some(Selection::Whole) => (0, chunks),
        Some(Selection::One(index)) => (*index, 1),
        Some(Selection::Values(first, len)) => (*first, *len),
        Some(Selection::From(first)) => (*first, chunks.saturating_sub(*first)),
        Some(Selection::Below(end)) => (0, *end),
    };
    if len <= 0 {
        return Err(InvalidSlice::Empty);
    }
    match first >= 0 && first.checked_add(len).is_some_and(|end| end <= chunks) {
        true => Ok(Run { first: first as u64, len: len as u64 }),
        false => Err(InvalidSlice::Outside { first, len, chunks }),
    }
}

fn outside(span: Span, name: &str, first: i64, len: i64, chunks: i64) -> Diagnostic {
    let slice = if len == 1 { format!("[{first}]") } else { format!("[{first}..+{len}]") };
    let quoted = name.replacen('`', "", 1).replacen('`', &format!("{slice}`"), 1);
    let noun = if chunks == 1 { "chunk" } else { "chunks" };
    let what = if first < 0 { "begins before" } else { "reaches past the end of" };
    let diagnostic = Diagnostic::new(
        Code::E0401,
        span,
        format!("`{quoted} {what} {name}, which has {chunks} {noun}"),
    );
    match first >= 0 && first < chunks && len > 1 {
        true => match chunks - first {
            1 => diagnostic.help(format!("from chunk {first} on, only 1 is left")),
            left => diagnostic.help(format!("from chunk {first} on, only {left} are left")),
        },
        false => diagnostic,
    }
}

fn no_chunks(span: Span, name: &str) -> Diagnostic {
    Diagnostic::new(Code::E0402, span, format!("this slice of {name} is empty"))
        .help("a buffer inside another one has at least one chunk")
}

fn empty(span: Span, name: &str, is_from_to: bool) -> Diagnostic {
    let report = Diagnostic::new(Code::E0402, span, format!("this slice of {name} is empty"))
        .help("an operation moves at least one chunk; guard it with `if`");
    match is_from_to {
        true => {
            report.help("or did you mean `a..+n`, `n` chunks from `a` on? `a..b` ends before `b`")
        }
        false => report,
    }
}

/// Whether an expression is a slice `b[i..j]`.
fn is_from_to(expr: &Expr) -> bool {
    let ExprKind::Slice(_, indices) = &expr.kind else { return false };
    let from_to = |index: &Index| {
        matches!(index, Index::At(Expr { kind: ExprKind::Range(RangeKind::HalfOpen, ..), .. }))
    };
    indices.iter().any(from_to)
}

fn scattered(span: Span, name: &str) -> Diagnostic {
    Diagnostic::new(Code::E0313, span, format!("these chunks of {name} are not contiguous"))
        .note("one operand is contiguous memory, and the last dimension is the contiguous one")
        .help("`*` instead of a range makes each chunk an operand of its own")
}

fn not_consecutive(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0313, span, "a slice takes consecutive, ascending indices")
        .help("`(i in list: buffer[i])` makes each chunk an operand of its own")
}

fn no_index(span: Span, name: &str, dimension: usize, value: i64, has: &[i64]) -> Diagnostic {
    let place =
        if dimension == 0 { String::new() } else { format!(" in dimension {}", dimension + 1) };
    let report =
        Diagnostic::new(Code::E0401, span, format!("{name} has no chunk at index {value}{place}"));
    match dimension {
        0 if has.is_empty() => report.note(format!("{name} has no chunks at all")),
        0 => report.note(format!("{name} is declared only for {}", few(has))),
        _ => report,
    }
}

fn no_switch(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0308, span, "only a switch channel stands for the buffers of a group")
        .help("another rank's buffer is written `p.input`")
}

fn not_bound(span: Span, bound: ir::Buffer) -> Diagnostic {
    let bound = match bound {
        ir::Buffer::Input => "`input`",
        ir::Buffer::Output => "`output`",
        ir::Buffer::Scratch => "scratch",
    };
    Diagnostic::new(Code::E0308, span, format!("this switch channel is bound to {bound}"))
}
