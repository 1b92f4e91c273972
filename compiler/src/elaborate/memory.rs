//! Slices of buffers and members of families: names followed by brackets.

use super::domain::{Domain, Miss, Run, Selection};
use super::eval::{Eval, Evaluated, Failed};
use super::reports::PastEnd;
use super::value::{BufferValue, List, Value, list_of};
use super::world::{Declared, Family};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{
    BufferName, ChannelFamilyId, Expr, ExprKind, Index, RegionId, SemaphoreFamilyId,
};
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
        Ok(list_of(slices))
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

    /// `mem`, `mem[p]`, `mem[p, *]`
    pub(super) fn channels(
        &mut self,
        id: ChannelFamilyId,
        indices: &'a [Index],
        span: Span,
    ) -> Evaluated<Value> {
        let own = self.own.clone();
        let world = self.world;
        let name = &world.program.channels[id].name;
        let Some(Some(family)) = own.channels.get(id.index()) else {
            return Err(self.fail_at(String::new(), too_early(span)));
        };
        self.members(family, name, indices, span, &|number| {
            let row = own.channel_rows.get(number as usize).copied();
            Value::Channel(row.unwrap_or(ir::ChannelId(number as u32)))
        })
    }

    /// `ready`, `ready[p]`, `ready[*]`
    pub(super) fn semaphores(
        &mut self,
        id: SemaphoreFamilyId,
        indices: &'a [Index],
        span: Span,
    ) -> Evaluated<Value> {
        let own = self.own.clone();
        let world = self.world;
        let name = &world.program.semaphores[id].name;
        let Some(Some(family)) = own.semaphores.get(id.index()) else {
            return Err(self.fail_at(String::new(), too_early(span)));
        };
        self.members(family, name, indices, span, &|number| {
            Value::Semaphore(ir::SemaphoreId(number as u32))
        })
    }

    /// The members that indices select: one, or a list if an index is `*` or a list, or if there are no indices.
    fn members(
        &mut self,
        family: &Family,
        name: &'a str,
        indices: &'a [Index],
        span: Span,
        value: &dyn Fn(u64) -> Value,
    ) -> Evaluated<Value> {
        let single = indices.is_empty() && matches!(family.domain, Domain::Leaf);
        let (tuples, several) = self.index_tuples(&family.domain, indices)?;
        let mut found = Vec::with_capacity(tuples.len());
        for tuple in tuples {
            match family.domain.position(&tuple) {
                Ok(number) => found.push(value(family.first + number)),
                Err(_) => {
                    let values = super::situation::of_indices(self, indices);
                    return Err(self.fail_at(values, no_member(span, name, &tuple, &family.domain)));
                }
            }
        }
        match (several && !single, found.first()) {
            (false, Some(value)) => Ok(value.clone()),
            _ => Ok(list_of(found)),
        }
    }

    /// The index tuples that brackets select in a domain, and whether there can be several.
    pub(super) fn index_tuples(
        &mut self,
        domain: &Domain,
        indices: &'a [Index],
    ) -> Evaluated<(Vec<Vec<i64>>, bool)> {
        if indices.is_empty() {
            return Ok((domain.members(), true));
        }
        let mut tuples = vec![Vec::with_capacity(indices.len())];
        let mut several = false;
        for index in indices {
            let picked = self.picked(index)?;
            several |= !matches!(picked, Picked::One(_));
            let mut longer = Vec::new();
            for tuple in tuples {
                let below = tuple.iter().try_fold(domain, |domain, value| domain.below(*value));
                let values = picked.values(below);
                longer.extend(
                    values.into_iter().map(|value| tuple.iter().copied().chain([value]).collect()),
                );
            }
            tuples = longer;
        }
        Ok((tuples, several))
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    fn picked(&mut self, index: &'a Index) -> Evaluated<Picked> {
        Ok(match index {
            Index::All(_) | Index::Whole(_) => Picked::All,
            Index::At(expr) => match self.value(expr)? {
                Value::Int(value) => Picked::One(value),
                Value::List(list) => Picked::Many(
                    list.iter()
                        .filter_map(|v| if let Value::Int(n) = v { Some(n) } else { None })
                        .collect(),
                ),
                _ => return Err(Failed),
            },
            Index::To(expr, inclusive) => {
                Picked::Below(self.int(expr)?.saturating_add(i64::from(*inclusive)))
            }
            Index::From(expr) => Picked::From(self.int(expr)?),
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

enum Picked {
    All,
    One(i64),
    Many(Vec<i64>),
    Below(i64),
    From(i64),
}

impl Picked {
    fn values(&self, domain: Option<&Domain>) -> Vec<i64> {
        let all = || domain.map(Domain::values).unwrap_or_default();
        match self {
            Picked::All => all(),
            Picked::One(value) => vec![*value],
            Picked::Many(values) => values.clone(),
            Picked::Below(end) => all().into_iter().filter(|value| value < end).collect(),
            Picked::From(start) => all().into_iter().filter(|value| value >= start).collect(),
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

/// `0, 1, 2`: at most a dozen values, then the number of all.
fn few(values: &[i64]) -> String {
    let shown: Vec<String> = values.iter().take(12).map(ToString::to_string).collect();
    match values.len() {
        1 => format!("index {}", shown.join(", ")),
        0..=12 => format!("indices {}", shown.join(", ")),
        more => format!("indices {}, .. ({more} in all)", shown.join(", ")),
    }
}

fn no_member(span: Span, name: &str, tuple: &[i64], domain: &Domain) -> Diagnostic {
    let indices: Vec<String> = tuple.iter().map(ToString::to_string).collect();
    let diagnostic = Diagnostic::new(
        Code::E0304,
        span,
        format!("there is no `{name}[{}]` here", indices.join(", ")),
    );
    let (begun, domain) = known(tuple, domain);
    let name = match begun.is_empty() {
        true => name.to_owned(),
        false => {
            format!("{name}[{}, ..]", indices.get(..begun.len()).unwrap_or_default().join(", "))
        }
    };
    match domain.values() {
        values if values.is_empty() => {
            diagnostic.note(format!("`{name}` has no members on this rank"))
        }
        values => diagnostic.note(format!("`{name}` is declared only for {}", few(&values))),
    }
}

/// The longest prefix of the indices that exists in the domain, and the domain below it.
fn known<'t, 'd>(tuple: &'t [i64], domain: &'d Domain) -> (&'t [i64], &'d Domain) {
    let mut found = domain;
    for (depth, index) in tuple.iter().enumerate() {
        match found.below(*index) {
            Some(below) => found = below,
            None => return (tuple.get(..depth).unwrap_or_default(), found),
        }
    }
    (tuple, found)
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

fn too_early(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0314, span, "this is used before it is declared")
        .help("move the declaration up")
}
