//! The first rank on its own.
//!
//! In: a program and its settings. Out: the concrete program, in which the first rank has everything, and the others
//! have their memory only. What a rank has no room for usually shows on the first one, at a fraction of what all ranks
//! cost. There is no result if anything is wrong: the elaboration of all ranks reports it.

use super::declare::{Extent, FirstPass};
use super::eval::Shared;
use super::pair::Paired;
use super::unroll::Output;
use super::world::Declared;
use super::{Settings, finish, fuel, layout, local_names, new_eval, start};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::resolve::program::{ProgramId, Unit};
use crate::table::Id;
use std::rc::Rc;

/// Elaborates the first rank of a program.
pub fn first_rank(
    unit: &Unit,
    program: ProgramId,
    settings: &Settings,
    interrupt: &Interrupt,
) -> Option<ir::Program> {
    let mut shared = Shared::new(fuel(settings), interrupt);
    let start = start::start(unit, &unit.programs[program], settings, &mut shared)?;
    let program = elaborated(&start, settings, &mut shared)?;
    (!shared.reports.has_errors() && !interrupt.is_set()).then_some(program)
}

/// How many ranks a program has with these settings; none if it does not accept them.
pub fn count_ranks(unit: &Unit, program: ProgramId, settings: &Settings) -> Option<usize> {
    let interrupt = Interrupt::default();
    let mut shared = Shared::new(fuel(settings), &interrupt);
    let start = start::start(unit, &unit.programs[program], settings, &mut shared)?;
    usize::try_from(start.world.ranks).ok()
}

fn elaborated<'a>(
    start: &start::Start<'a>,
    settings: &Settings,
    shared: &mut Shared<'a>,
) -> Option<ir::Program> {
    let world = start.world;
    let (mut declared, mut made) = (Vec::new(), Vec::new());
    for rank in 0..world.ranks {
        let own = Rc::new(Declared::new(world.program));
        let mut eval = new_eval(world, shared, Some(rank), start.frame.clone(), own);
        made.push(eval.declare(if rank == 0 { Extent::Everything } else { Extent::Memory }));
        let _ = eval.implement(start.collective, start.in_place);
        declared.push(Rc::unwrap_or_clone(eval.own));
        if shared.reports.has_errors() || shared.interrupt.is_set() {
            return None;
        }
    }
    // Where several channels of a kind lead to one rank, the order on the lower rank counts, which is the first.
    let in_order = |made: &FirstPass| (0..made.ends.len()).map(ir::ChannelId::from_index).collect();
    let alone = |made: &FirstPass| vec![None; made.ends.len()];
    let paired = Paired {
        rows: made.iter().map(in_order).collect(),
        partners: made.iter().map(alone).collect(),
    };
    let declared = finish::with_channels(declared, &made, &paired);
    let mut result = start.program();
    let mut out = Output {
        origins: &mut result.origins,
        operations: 0,
        max_operations: settings.max_operations,
        counting: false,
        pipelines: 0,
        op: result.collective.op,
        names: local_names(&world.program.frame),
    };
    let own = Rc::clone(declared.first()?);
    let mut eval = new_eval(world, shared, Some(0), own.frame.clone(), own);
    eval.all = &declared;
    eval.body(&mut out);
    if eval.given_up(&out) {
        return None;
    }
    let first = eval.finish_rank(&mut out, &made, &paired);
    let others = declared.iter().skip(1).map(|own| memory_of(own));
    result.ranks = std::iter::once(first).chain(others).collect::<Vec<_>>().into();
    layout::keep_apart(&mut result.ranks, &declared, None);
    Some(result)
}

/// A rank that has nothing but its memory.
fn memory_of(own: &Declared) -> ir::Rank {
    ir::Rank {
        input_chunks: own.input_chunks as u32,
        output_chunks: own.output_chunks as u32,
        scratch_chunks: own.scratch_chunks as u32,
        alias: own.alias,
        ..ir::Rank::default()
    }
}
