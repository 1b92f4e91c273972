//! The first pass over a program, for one rank: constants, requirements, and the rank's declarations.
//!
//! All ranks declare before any statement is unrolled, since `p.inbox[rank]` is looked up in the declarations of
//! rank `p`. A `let` that is not a number, a Boolean, a text or a list of these waits for the second pass.

use super::domain::Domain;
use super::eval::{Eval, Evaluated, not_a_rank};
use super::situation;
use super::value::Value;
use super::world::Family;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{
    Binder, ChannelFamilyId, Dimension, Expr, Link, LocalId, ProgramItem, RegionId,
    SemaphoreFamilyId, StmtKind, Type,
};
use crate::source::Span;
use crate::table::Id;
use smallvec::SmallVec;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The most members a family may have.
const MAX_MEMBERS: u64 = 1 << 31;

/// How many steps a channel or a semaphore counts for: it takes as long, and hundreds of bytes.
const CHANNEL: u64 = 4;

/// The indices of a member.
pub(super) type Indices = SmallVec<[i64; 2]>;

/// One end of a channel, as it is declared.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// Its family.
    pub(super) family: ChannelFamilyId,
    /// Its indices in the family.
    pub(super) indices: Indices,
    /// What it connects to.
    pub(super) link: ir::Link,
    /// The other end: its family and indices, on the peer.
    pub(super) other: Option<(ChannelFamilyId, Indices)>,
}

/// A semaphore, as it is declared.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    /// Its family.
    pub(super) family: SemaphoreFamilyId,
    /// Its indices in the family.
    pub(super) indices: Indices,
    /// The value it starts with.
    pub(super) initial: i64,
}

/// What the first pass makes, in addition to what is looked up by name.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstPass {
    /// Channel ends, in order of declaration.
    pub(super) ends: Vec<End>,
    /// Semaphores, in order of declaration.
    pub(super) semaphores: Vec<Declaration>,
}

/// Which declarations are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All.
    Everything,
    /// Those that other ranks refer to: channels and semaphores are left out.
    Memory,
}

impl<'a> Eval<'_, 'a> {
    /// Goes through the program's top level.
    pub(super) fn declare(&mut self, extent: Extent) -> FirstPass {
        let mut made = FirstPass::default();
        let world = self.world;
        let is_left_out = |item: &ProgramItem| {
            extent == Extent::Memory
                && matches!(item, ProgramItem::Channel(_) | ProgramItem::Semaphore(_))
        };
        for item in world.program.body.iter().filter(|item| !is_left_out(item)) {
            // The failure has been reported. Other declarations can still be made, but not after a requirement that
            // does not hold.
            if self.declare_item(item, &mut made).is_err() && is_requirement(item) {
                break;
            }
        }
        Rc::make_mut(&mut self.own).frame = self.frame.clone();
        made
    }

    /// Checks the program's requirements, with the constants that they use, and declares nothing.
    pub(super) fn check_requirements(&mut self) {
        let mut made = FirstPass::default();
        let world = self.world;
        let is_statement = |item: &&ProgramItem| matches!(item, ProgramItem::Statement(_));
        for item in world.program.body.iter().filter(is_statement) {
            if self.declare_item(item, &mut made).is_err() {
                return;
            }
        }
    }

    fn declare_item(&mut self, item: &'a ProgramItem, made: &mut FirstPass) -> Evaluated<()> {
        let program = self.world.program;
        match item {
            ProgramItem::Scratch(id) => self.declare_region(*id),
            ProgramItem::Channel(id) => self.declare_channels(*id, made),
            ProgramItem::Semaphore(id) => self.declare_semaphores(*id, made),
            ProgramItem::Block(id) => {
                let Some(dimensions) = &program.blocks[*id].dimensions else { return Ok(()) };
                let domain = self.domain(dimensions, program.blocks[*id].span)?;
                set(&mut Rc::make_mut(&mut self.own).blocks, *id, Family { domain, first: 0 });
                Ok(())
            }
            ProgramItem::Statement(statement) => match &statement.kind {
                StmtKind::Let(local, value) if is_plain(&value.ty) => {
                    let value = self.value(value)?;
                    self.bind(*local, value);
                    Ok(())
                }
                StmtKind::Require(condition, message) => {
                    self.require(condition, message.as_deref(), statement.span)
                }
                StmtKind::Let(..)
                | StmtKind::For(..)
                | StmtKind::If(..)
                | StmtKind::Block { .. }
                | StmtKind::Group(..)
                | StmtKind::Pipeline { .. }
                | StmtKind::Barrier(_)
                | StmtKind::Sync
                | StmtKind::Transfer(_)
                | StmtKind::Synchronise(_)
                | StmtKind::Call(..) => Ok(()),
            },
        }
    }

    /// Checks a requirement.
    pub(super) fn require(
        &mut self,
        condition: &'a Expr,
        message: Option<&str>,
        span: Span,
    ) -> Evaluated<()> {
        match self.boolean(condition)? {
            true => Ok(()),
            false => {
                let values = situation::with_lists(self, condition);
                Err(self.fail_at(values, not_required(span, message)))
            }
        }
    }

    fn declare_region(&mut self, id: RegionId) -> Evaluated<()> {
        let region = &self.world.program.scratch[id];
        let domain = self.domain(&region.dimensions, region.span)?;
        let own = Rc::make_mut(&mut self.own);
        let first = own.scratch_chunks;
        own.scratch_chunks = first.saturating_add(domain.len());
        set(&mut own.regions, id, Family { domain, first });
        match self.own.scratch_chunks < MAX_MEMBERS {
            true => Ok(()),
            false => Err(self.fail_at(String::new(), too_many(region.span))),
        }
    }

    fn declare_channels(&mut self, id: ChannelFamilyId, made: &mut FirstPass) -> Evaluated<()> {
        let family = &self.world.program.channels[id];
        let domain = self.domain(&family.dimensions, family.span)?;
        let first = made.ends.len() as u64;
        self.spend_steps(domain.len().saturating_mul(CHANNEL), family.span)?;
        for indices in domain.members() {
            self.bind_member(&family.dimensions, &indices);
            let (link, peer) = self.link(&family.link, family.span)?;
            let other = match (&link, &family.to) {
                (ir::Link::Switch(_), _) => None,
                (_, Some(end)) => {
                    let there: Evaluated<Indices> =
                        end.indices.iter().map(|index| self.int(index)).collect();
                    Some((end.family, there?))
                }
                (_, None) => Some((id, self.mirrored(&indices, peer))),
            };
            made.ends.push(End { family: id, indices: indices.into(), link, other });
        }
        set(&mut Rc::make_mut(&mut self.own).channels, id, Family { domain, first });
        Ok(())
    }

    /// The indices of the other end: the same, with this rank in place of the peer.
    fn mirrored(&self, indices: &[i64], peer: Option<usize>) -> Indices {
        let mut there = Indices::from_slice(indices);
        if let (Some(slot), Some(rank)) =
            (peer.and_then(|position| there.get_mut(position)), self.rank)
        {
            *slot = rank;
        }
        there
    }

    /// What a channel connects to, and the index that is its peer.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    fn link(&mut self, link: &'a Link, span: Span) -> Evaluated<(ir::Link, Option<usize>)> {
        match link {
            Link::Memory(peer) => Ok((ir::Link::Memory(self.peer(&peer.rank)?), peer.dimension)),
            Link::Port(peer) => Ok((ir::Link::Port(self.peer(&peer.rank)?), peer.dimension)),
            Link::If(condition, then, otherwise) => {
                let chosen = if self.boolean(condition)? { then } else { otherwise };
                self.link(chosen, span)
            }
            Link::Switch(ranks, buffer) => {
                let mut members = Vec::new();
                for rank in self.list(ranks)?.iter() {
                    match rank {
                        Value::Int(rank) if (0..self.world.ranks).contains(&rank) => {
                            members.push(ir::RankId(rank as u32));
                        }
                        _ => return Err(self.fail(ranks, not_ranks(ranks.span, self.world.ranks))),
                    }
                }
                members.sort_unstable();
                members.dedup();
                if self.rank.is_some_and(|rank| !members.contains(&ir::RankId(rank as u32))) {
                    return Err(self.fail_at(String::new(), not_in_group(span)));
                }
                let size = members.len() as u32;
                let buffer = super::memory::kind_of(*buffer);
                let group = ir::SwitchGroup { buffer, ranks: members, size };
                Ok((ir::Link::Switch(group.into()), None))
            }
        }
    }

    fn peer(&mut self, expr: &'a Expr) -> Evaluated<ir::RankId> {
        let ranks = self.world.ranks;
        let peer = self.int(expr)?;
        if !(0..ranks).contains(&peer) {
            return Err(self.fail(expr, peer_beyond(expr.span, peer, ranks)));
        }
        match self.rank == Some(peer) {
            true => Err(self.fail(expr, to_itself(expr.span))),
            false => Ok(ir::RankId(peer as u32)),
        }
    }

    fn declare_semaphores(&mut self, id: SemaphoreFamilyId, made: &mut FirstPass) -> Evaluated<()> {
        let family = &self.world.program.semaphores[id];
        let domain = self.domain(&family.dimensions, family.span)?;
        let first = made.semaphores.len() as u64;
        self.spend_steps(domain.len().saturating_mul(CHANNEL), family.span)?;
        for indices in domain.members() {
            self.bind_member(&family.dimensions, &indices);
            let initial = match &family.initial {
                Some(value) => self.int(value)?,
                None => 0,
            };
            if !(0..=i64::from(i32::MAX)).contains(&initial) {
                return Err(self.fail_at(String::new(), bad_initial(family.span, initial)));
            }
            made.semaphores.push(Declaration { family: id, indices: indices.into(), initial });
        }
        set(&mut Rc::make_mut(&mut self.own).semaphores, id, Family { domain, first });
        Ok(())
    }

    /// Binds the locals of a family's dimensions to a member's indices.
    pub(super) fn bind_member(&mut self, dimensions: &[Dimension], indices: &[i64]) {
        for (dimension, index) in dimensions.iter().zip(indices) {
            if let Dimension::Binder(binder) = dimension {
                self.bind(binder.local, Value::Int(*index));
            }
        }
    }

    /// The members of a family.
    pub(super) fn domain(&mut self, dimensions: &'a [Dimension], span: Span) -> Evaluated<Domain> {
        let domain = self.domain_of(dimensions)?;
        match domain.len() < MAX_MEMBERS {
            true => Ok(domain),
            false => Err(self.fail_at(String::new(), too_many(span))),
        }
    }

    fn domain_of(&mut self, dimensions: &'a [Dimension]) -> Evaluated<Domain> {
        let Some((first, rest)) = dimensions.split_first() else { return Ok(Domain::Leaf) };
        let binder = match first {
            Dimension::Count(expr) => {
                let count = self.int(expr)?;
                if !(0..MAX_MEMBERS as i64).contains(&count) {
                    return Err(self.fail(expr, bad_extent(expr.span, count)));
                }
                return Ok(Domain::count(count, self.domain_of(rest)?));
            }
            Dimension::Binder(binder) => binder,
        };
        let values = self.binder_values(binder)?;
        if !rest.iter().any(|dimension| depends(dimension, binder.local)) {
            return Ok(Domain::list(values, self.domain_of(rest)?));
        }
        let mut domains = Vec::with_capacity(values.len());
        for value in &values {
            self.bind(binder.local, Value::Int(*value));
            domains.push(self.domain_of(rest)?);
        }
        Ok(Domain::each(values, domains))
    }

    /// The integers that a binder runs over, without duplicates.
    fn binder_values(&mut self, binder: &'a Binder) -> Evaluated<Vec<i64>> {
        let mut values = Vec::new();
        let local = binder.local;
        let _ = self.for_each(std::slice::from_ref(binder), &mut |eval| {
            if let Some(Value::Int(value)) = eval.frame.get(local.index()) {
                values.push(*value);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(super::lists::without_duplicates(values).collect())
    }
}

fn is_requirement(item: &ProgramItem) -> bool {
    matches!(item, ProgramItem::Statement(statement) if matches!(statement.kind, StmtKind::Require(..)))
}

/// Whether a value of this type can be known before all ranks have made their declarations.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Int | Type::Rank | Type::Bool | Type::Str | Type::Rate | Type::Time => true,
        Type::List(item) => is_plain(item),
        Type::Chunk
        | Type::Buffer
        | Type::Channel
        | Type::Semaphore
        | Type::Block
        | Type::Error => false,
    }
}

fn depends(dimension: &Dimension, local: LocalId) -> bool {
    let mut mentioned = Vec::new();
    match dimension {
        Dimension::Count(expr) => situation::mentioned(expr, &mut mentioned),
        Dimension::Binder(binder) => {
            situation::mentioned(&binder.list, &mut mentioned);
            if let Some(filter) = &binder.filter {
                situation::mentioned(filter, &mut mentioned);
            }
        }
    }
    mentioned.contains(&local)
}

fn set<I: Id>(rows: &mut [Option<Family>], id: I, family: Family) {
    if let Some(row) = rows.get_mut(id.index()) {
        *row = Some(family);
    }
}

fn not_required(span: Span, message: Option<&str>) -> Diagnostic {
    let message = message.unwrap_or("this requirement does not hold");
    Diagnostic::new(Code::E0302, span, message)
}

fn too_many(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, span, "this declares more than 2^31 members")
}

fn bad_extent(span: Span, count: i64) -> Diagnostic {
    Diagnostic::new(
        Code::E0304,
        span,
        format!("{count} is not an extent: a dimension has 0 to 2^31 members"),
    )
}

fn peer_beyond(span: Span, peer: i64, ranks: i64) -> Diagnostic {
    let condition = if peer < 0 { "rank - 1] if p >= 0" } else { "rank + 1] if p < ranks" };
    not_a_rank(span, peer, ranks).help(format!(
        "for a peer that only some ranks have, declare a family with a condition: `c[p in [{condition}] = memory(p)`; for a ring, write `% ranks`"
    ))
}

fn to_itself(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0307, span, "this channel leads from a rank to itself")
        .help("exclude this rank: with `p in peers`, or with a filter such as `if p != rank`")
}

fn not_ranks(span: Span, ranks: i64) -> Diagnostic {
    Diagnostic::new(Code::E0303, span, format!("a switch group has ranks 0 to {}", ranks - 1))
}

fn not_in_group(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0307,
        span,
        "this rank declares a switch channel whose group it is not in",
    )
    .help("let the group contain each rank that declares it (`0..ranks` has all ranks, `peers` lacks this one), or declare a family that is empty here")
}

fn bad_initial(span: Span, value: i64) -> Diagnostic {
    Diagnostic::new(Code::E0312, span, format!("a semaphore cannot start at {value}"))
        .help("it counts releases that have not been acquired: 0 or more")
}
