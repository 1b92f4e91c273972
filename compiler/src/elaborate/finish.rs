//! Turns what one rank has declared and unrolled into a rank of the concrete program.

use super::declare::FirstPass;
use super::eval::{Eval, Shared};
use super::new_eval;
use super::pair::Paired;
use super::promise::Promises;
use super::transfer::reduce_op;
use super::unroll::{Around, Output, accepts};
use super::world::{Declared, World, indexed};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{BlockFamilyId, Implements, ProgramItem};
use crate::source::Span;
use crate::table::{Id, Table};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The largest thread-block id that can be pinned.
const MAX_BLOCK: i64 = u16::MAX as i64;

/// Adds the final rows of the channels to the declarations.
pub(super) fn with_channels(
    declared: Vec<Declared>,
    made: &[FirstPass],
    paired: &Paired,
) -> Vec<Rc<Declared>> {
    let all = declared.into_iter().zip(made).zip(&paired.rows);
    all.map(|((mut declared, made), rows)| {
        declared.channel_rows.clone_from(rows);
        let mut links = vec![None; rows.len()];
        for (end, row) in made.ends.iter().zip(rows) {
            if let Some(slot) = links.get_mut(row.index()) {
                *slot = Some(end.link.clone());
            }
        }
        declared.links = links.into_iter().flatten().collect();
        Rc::new(declared)
    })
    .collect()
}

impl<'a> Eval<'_, 'a> {
    /// Unrolls the program's statements.
    pub(super) fn body(&mut self, out: &mut Output) {
        let world = self.world;
        out.pipelines = 0;
        for item in &world.program.body {
            if let ProgramItem::Statement(statement) = item
                && self.statement(out, &Around::default(), statement).is_err()
                && self.given_up(out)
            {
                return;
            }
        }
    }

    /// The rank of the concrete program.
    pub(super) fn finish_rank(
        mut self,
        out: &mut Output,
        made: &[FirstPass],
        paired: &Paired,
    ) -> ir::Rank {
        let rank = self.rank.unwrap_or(0) as usize;
        let (blocks, barriers) = self.finish_blocks(out);
        let own = self.own.clone();
        let made = made.get(rank);
        ir::Rank {
            input_chunks: own.input_chunks as u32,
            output_chunks: own.output_chunks as u32,
            scratch_chunks: own.scratch_chunks as u32,
            alias: own.alias,
            regions: self.regions(),
            channels: made
                .map(|made| self.channel_table(out, made, paired, rank))
                .unwrap_or_default(),
            semaphores: made.map(|made| self.semaphore_table(out, made)).unwrap_or_default(),
            barriers,
            blocks,
            promises: Arc::from([]),
            begun: Arc::from([]),
            same: Arc::from([]),
        }
    }

    fn finish_blocks(
        &mut self,
        out: &mut Output,
    ) -> (Table<ir::BlockId, ir::Block>, Table<ir::BarrierId, Vec<ir::BlockId>>) {
        let program = self.world.program;
        let pins = self.pins();
        let position = |family: BlockFamilyId| {
            let declared =
                |item: &ProgramItem| matches!(item, ProgramItem::Block(id) if *id == family);
            program.body.iter().position(declared)
        };
        let blocks = std::mem::take(&mut self.blocks);
        let numbered = blocks.number(&position, &pins);
        if let Some((id, first, second)) = numbered.collision {
            let spans = [first, second].map(|row| self.block_span(&blocks, row));
            let names = [first, second].map(|row| self.block_text(&blocks, row));
            self.fail_at(String::new(), pinned_twice(id, spans, &names));
        }
        let hole = out.origins.rows.push(ir::Origin { place: program.span.into(), binding: None });
        let name =
            |family: BlockFamilyId, indices: &[i64]| indexed(&program.blocks[family].name, indices);
        blocks.finish(&numbered.order, &name, hole)
    }

    /// The pinned ids of the blocks that this rank mentions.
    fn pins(&mut self) -> FxHashMap<u32, i64> {
        let program = self.world.program;
        let mut pins = FxHashMap::default();
        for row in 0..self.blocks.rows.len() as u32 {
            let Some((family, indices)) = self.blocks.identity(row) else { continue };
            let (family, indices) = (&program.blocks[family], indices.to_vec());
            let (Some(id), Some(dimensions)) = (&family.id, &family.dimensions) else { continue };
            self.bind_member(dimensions, &indices);
            match self.int(id) {
                Ok(pin) if (0..=MAX_BLOCK).contains(&pin) => {
                    pins.insert(row, pin);
                }
                Ok(pin) => {
                    self.fail(id, bad_pin(id.span, pin));
                }
                Err(_) => {}
            }
        }
        pins
    }

    fn block_span(&self, blocks: &super::blocks::Blocks, row: u32) -> Span {
        let family = blocks.identity(row).map(|(family, _)| family);
        family.map_or(self.world.program.span, |family| self.world.program.blocks[family].span)
    }

    fn block_text(&self, blocks: &super::blocks::Blocks, row: u32) -> String {
        let Some((family, indices)) = blocks.identity(row) else { return String::new() };
        indexed(&self.world.program.blocks[family].name, indices)
    }

    fn regions(&self) -> Vec<ir::Region> {
        let mut regions = Vec::new();
        for (region, family) in self.world.program.scratch.iter().zip(&self.own.regions) {
            let Some(family) = family else { continue };
            let name: Arc<str> = region.name.as_str().into();
            regions.extend(family.domain.parts().into_iter().map(|(first, dimensions)| {
                let offset = (family.first + first) as u32;
                ir::Region { name: Arc::clone(&name), offset, dimensions }
            }));
        }
        regions
    }

    fn channel_table(
        &self,
        out: &mut Output,
        made: &FirstPass,
        paired: &Paired,
        rank: usize,
    ) -> Table<ir::ChannelId, ir::Channel> {
        let program = self.world.program;
        let mut rows: Vec<Option<ir::Channel>> = vec![None; made.ends.len()];
        let mut origins: FxHashMap<u32, ir::OriginId> = FxHashMap::default();
        for (number, end) in made.ends.iter().enumerate() {
            let family = &program.channels[end.family];
            let origin = *origins.entry(end.family.0).or_insert_with(|| {
                out.origins.rows.push(ir::Origin { place: family.span.into(), binding: None })
            });
            let partner =
                paired.partners.get(rank).and_then(|ends| ends.get(number)).copied().flatten();
            let name = indexed(&family.name, &end.indices).into();
            let row = paired.rows.get(rank).and_then(|rows| rows.get(number));
            if let Some(slot) = row.and_then(|row| rows.get_mut(row.index())) {
                let shared = accepts(&family.allowed, "shared");
                *slot = Some(ir::Channel { name, link: end.link.clone(), partner, origin, shared });
            }
        }
        rows.into_iter().flatten().collect()
    }

    fn semaphore_table(
        &self,
        out: &mut Output,
        made: &FirstPass,
    ) -> Table<ir::SemaphoreId, ir::Semaphore> {
        let program = self.world.program;
        let semaphore = |declaration: &super::declare::Declaration| {
            let family = &program.semaphores[declaration.family];
            ir::Semaphore {
                name: indexed(&family.name, &declaration.indices).into(),
                initial: declaration.initial,
                shared: accepts(&family.allowed, "shared"),
                origin: out
                    .origins
                    .rows
                    .push(ir::Origin { place: family.span.into(), binding: None }),
            }
        };
        made.semaphores.iter().map(semaphore).collect()
    }
}

/// Evaluates the collective's promises for every rank.
pub(super) fn promises<'a>(
    world: World<'a>,
    implements: &'a Implements,
    in_place: bool,
    shared: &mut Shared<'a>,
    declared: &[Rc<Declared>],
    ranks: &mut [ir::Rank],
) {
    let collective = &world.unit.collectives[implements.collective];
    let op = implements.op.map_or(ir::ReduceOp::Sum, |(op, _)| reduce_op(op));
    let alike = !collective.ensures.iter().any(|ensures| ensures.mentions_rank);
    let mut common: Option<Promises> = None;
    for (number, (rank, own)) in ranks.iter_mut().zip(declared).enumerate() {
        if let (true, Some(promises)) = (alike, &common) {
            promise(rank, promises);
            continue;
        }
        let mut eval = new_eval(world, shared, Some(number as i64), own.frame.clone(), own.clone());
        eval.all = declared;
        if eval.implement(implements, in_place).is_err() {
            return;
        }
        let Ok(promises) = eval.promises(collective, op) else { return };
        promise(rank, &promises);
        common = Some(promises);
    }
}

fn promise(rank: &mut ir::Rank, promises: &Promises) {
    (rank.promises, rank.begun) = (promises.chunks.clone(), promises.begun.clone());
    rank.same = promises.same.clone();
}

/// Warns about ids that belong to no block.
pub(super) fn warn_of_holes(world: World, shared: &mut Shared, ranks: &[ir::Rank]) {
    let program = world.program;
    let pinned = program.blocks.iter().find(|family| family.id.is_some());
    let Some(family) = pinned.filter(|family| !accepts(&family.allowed, "W0301")) else { return };
    for (number, rank) in ranks.iter().enumerate() {
        let holes: Vec<String> = rank
            .blocks
            .entries()
            .filter(|(_, block)| block.name.is_empty())
            .map(|(id, _)| id.0.to_string())
            .collect();
        if !holes.is_empty() {
            shared.reports.add(Some(number as i64), String::new(), hole(family.span, &holes));
        }
    }
}

fn pinned_twice(id: i64, spans: [Span; 2], names: &[String; 2]) -> Diagnostic {
    let ([first, second], [a, b]) = (spans, names);
    let report = Diagnostic::new(
        Code::E0311,
        second,
        format!("`{a}` and `{b}` would both be thread block {id}"),
    );
    if first == second { report } else { report.and(first, format!("`{a}` is pinned here")) }
}

fn bad_pin(span: Span, id: i64) -> Diagnostic {
    Diagnostic::new(
        Code::E0311,
        span,
        format!("{id} is not a thread-block id: ids are 0 to {MAX_BLOCK}"),
    )
}

fn hole(span: Span, holes: &[String]) -> Diagnostic {
    let (noun, verb) = if holes.len() == 1 { ("block", "does") } else { ("blocks", "do") };
    Diagnostic::new(Code::W0301, span, format!("thread {noun} {} {verb} nothing", holes.join(", ")))
        .note("the executor launches every id up to the highest")
        .help("pin ids without gaps, or leave them to the compiler")
}
