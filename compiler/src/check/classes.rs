//! The message sizes that a program is checked for.
//!
//! In: a program. Out: classes of message sizes that have to be checked, the one first that makes all parts of chunks
//! whole, if the plan serves such a message. A chunk has a whole number of units of `alignment`, the same number
//! everywhere. Sizes that the plan does not serve are in no class.
//!
//! * Slices. The executor distributes the units of an operation over a group's blocks. Where they do not divide evenly,
//!   the first blocks get one more; with fewer units than blocks, the last blocks have nothing to do. Operations of one
//!   size on the same chunks are distributed alike, so uneven slices matter only where operations have several sizes,
//!   where other accesses begin or end within the chunks that are shared ([`borders`]), or where blocks without work are
//!   not told by packets what the others are. One size of each pattern of ends is checked (`patterns.rs`), with as few units as
//!   make that pattern. So few units go through a pipeline in a single window, if the plan serves such messages. Pipelines
//!   over slices, which only plans have, are not checked for uneven slices.
//! * Windows. A message that is no larger than a window goes through a pipeline once, so nothing waits for what a
//!   second round would have waited for. This is left out where the plan serves no message as small as that. Between
//!   one window and those of the given program, there is a class for each way in which windows tile chunks
//!   (`windows.rs`), where slices are even. The last of several windows may be shorter, but it is so in all operations alike.
//! * Long messages. Where pipelines may run ahead of each other, they do not wait until they have gone through as many
//!   windows as they may be ahead ([`crate::ir::pace::Pace`]), or through all that the largest message has. Only whether all blocks
//!   come to their ends is checked there: with fewer windows, less is waited for, so a race shows with few windows already.

use super::borders;
use super::budget::{Exceeded, PARTS};
use super::ends::Relation;
use super::patterns::{Alike, Patterns, patterns};
use super::race::overlay;
use super::windows;
use crate::bytes;
use crate::ir::grain::{Grain, MOST_PARTS, count_parts, find_coarsest_grain, gcd};
use crate::ir::memory::accesses;
use crate::ir::pace::measure_pace;
use crate::ir::windows::{ChunkSize, choose_windows};
use crate::ir::{Action, Op, Operand, Pipeline, Program, Signal, Slice, Transfer, all_ops};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// A class of message sizes that are checked together, and the program to check for them.
pub(super) struct Class {
    /// The program; none where it is the given one.
    pub(super) program: Option<Rc<Program>>,
    /// The number of parts that a chunk is cut into.
    pub(super) parts: u32,
    /// A grain at which the class can be decided, if that is coarser than those parts.
    pub(super) coarse: Option<Grain>,
    /// The smallest message of the class, in bytes, where that is known.
    pub(super) size: Option<u64>,
    /// Whether chunks of that message have as many units as there are parts.
    is_exact: bool,
    /// The class in words, for a note of a report; none where all parts are whole.
    pub(super) said: Option<String>,
    /// What to look for.
    pub(super) sought: Sought,
}

/// What is looked for in a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sought {
    /// Everything.
    All,
    /// Whether all blocks come to their ends.
    Ends,
}

/// The classes to check.
pub(super) struct Classes {
    /// All of them; none only if something is left out.
    pub(super) all: Vec<Class>,
    /// What is in no class although it may go wrong.
    pub(super) left_out: Option<LeftOut>,
}

/// Why there are messages in no class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// Slices end in too many patterns to list them.
    Patterns(Exceeded),
    /// Slices are in pipelines.
    InPipelines,
    /// Slices share memory with windows of pipelines.
    BesideWindows,
    /// Slices come out uneven in messages of few windows.
    FewWindows,
    /// Windows tile chunks in too many ways to look at all of them.
    Windows(Exceeded),
}

/// Up to so many units of a chunk, these are the parts that a program is checked with although fewer would do: reports then
/// have witnesses.
const EXACT_UNITS: u64 = 64;

/// What reports say about plans that serve only messages that go through many windows.
const FEWER_WINDOWS: &str = "this is checked with fewer windows of pipelines than any message has that the plan serves: with as many as those have, it may be right";

/// The classes of message sizes that have to be checked. A program without pipelines is straight.
pub(super) fn classes(program: &Program) -> Classes {
    let served = served(program);
    if !has_pipelines(program) {
        let (all, left_out) = straight(Subject::Given(program), served);
        return Classes { all, left_out };
    }
    let mut classes = Classes { all: Vec::new(), left_out: None };
    let window = window(program);
    if *served.end() > window {
        let served = window.saturating_add(1).max(*served.start())..=*served.end();
        (classes.all, classes.left_out) = several_windows(program, served);
    }
    if *served.start() <= window || choose_windows(program).are_left_out() {
        let once = Rc::new(once(program));
        let served = *served.start()..=window.min(*served.end()).max(*served.start());
        let (all, left_out) = straight(Subject::Once(&once), served);
        classes.all.extend(all);
        classes.left_out = classes.left_out.or(left_out);
    }
    let sizes = windows::sizes(program, &served, alignment(program));
    let are_others = !sizes.all.is_empty() || classes.all.len() > 1 || sizes.exceeded.is_some();
    if sizes.is_complete && are_others {
        classes.all.retain(|class| class.program.is_some() || class.said.is_some());
    }
    classes.all.extend(sizes.all.iter().map(|size| Class::of_windows(program, size)));
    classes.left_out = classes.left_out.or(sizes.exceeded.map(LeftOut::Windows));
    if sizes.are_longer {
        let unsaid = classes.all.iter_mut().filter(|class| class.said.is_none());
        unsaid.for_each(|class| class.said = Some(FEWER_WINDOWS.to_owned()));
    }
    if sizes.has_others && uneven_slices_matter(program) {
        classes.left_out = classes.left_out.or(Some(LeftOut::FewWindows));
    }
    classes.all.extend(long(program));
    classes
}

/// A program whose classes are listed.
#[derive(Clone, Copy)]
enum Subject<'p> {
    /// As it was given.
    Given(&'p Program),
    /// With the body of every pipeline run once.
    Once(&'p Rc<Program>),
}

impl<'p> Subject<'p> {
    fn program(self) -> &'p Program {
        match self {
            Subject::Given(program) => program,
            Subject::Once(program) => program,
        }
    }

    /// The program of a class, if it is not the given one.
    fn variant(self) -> Option<Rc<Program>> {
        match self {
            Subject::Given(_) => None,
            Subject::Once(program) => Some(Rc::clone(program)),
        }
    }
}

impl Class {
    /// Whether reports about the class are about the given program, with the parts that they name.
    pub(super) fn has_witnesses(&self) -> bool {
        self.program.is_none() && self.is_exact
    }

    /// The class of messages that make all parts whole.
    fn whole(subject: Subject<'_>) -> Class {
        const ONCE: &str = "this happens when a message is no larger than a window of a pipeline";
        let (program, variant) = (subject.program(), subject.variant());
        let parts = count_parts(program);
        let said = variant.is_some().then(|| ONCE.to_owned());
        // Chunks that are treated as one have the windows of one: fewer than they have where the largest message has few.
        let is_coarse = !has_pipelines(program) || !is_short(program);
        let coarse = is_coarse.then(|| find_coarsest_grain(program, parts)).flatten();
        let sought = Sought::All;
        Class { program: variant, parts, coarse, size: None, is_exact: true, said, sought }
    }

    /// A class of messages with few windows of some pipelines.
    fn of_windows(program: &Program, size: &windows::CheckedSize) -> Class {
        let program = Program { chunk_size: Some(size.like), ..program.clone() };
        let alignment = alignment(&program).max(1);
        let message = size.served.saturating_mul(unit(&program) / alignment);
        // With even slices, as it is checked, a message of that size may not exist.
        let is_even = slices_are_even(&program, size.served / alignment);
        let message = (is_even || !uneven_slices_matter(&program)).then_some(message);
        let which = message.map_or_else(
            || "messages whose slices come out even and".to_owned(),
            |message| format!("messages of {},", bytes::text(message)),
        );
        let said = format!(
            "this happens for {which} in which a pipeline goes through {} window{}",
            size.windows,
            if size.windows == 1 { "" } else { "s" }
        );
        Class {
            parts: count_parts(&program),
            program: Some(Rc::new(program)),
            coarse: None,
            size: message,
            is_exact: false,
            said: Some(said),
            sought: Sought::All,
        }
    }

    /// A class of messages with uneven slices.
    fn uneven(subject: Subject<'_>, alike: &Alike) -> Class {
        let program = subject.program();
        let size = unit(program).saturating_mul(alike.units);
        let said = format!(
            "this happens for messages of {}: a chunk has {} unit{} of `alignment`, so that some slices are larger than others",
            bytes::text(size),
            alike.units,
            if alike.units == 1 { "" } else { "s" }
        );
        let is_exact = alike.units <= EXACT_UNITS.max(alike.parts.into());
        Class {
            program: subject.variant(),
            parts: if is_exact { alike.units as u32 } else { alike.parts },
            coarse: Some(alike.grain),
            size: Some(size),
            is_exact,
            said: Some(said),
            sought: Sought::All,
        }
    }
}

/// The classes for all patterns of slices' ends, where it does not matter where windows end.
fn straight(subject: Subject<'_>, served: RangeInclusive<u64>) -> (Vec<Class>, Option<LeftOut>) {
    let whole = || Class::whole(subject);
    let relation = what_matters(subject.program());
    // Where no message of the plan makes all slices whole, some blocks may have nothing to do in any of them.
    let is_never_even = !serves_even(subject.program(), &served);
    let Some(relation) = relation.or_else(|| is_never_even.then_some(Relation::Empty)) else {
        return (vec![whole()], None);
    };
    let Patterns { all: patterns, exceeded } = match patterns(subject.program(), served, relation) {
        Ok(patterns) => patterns,
        Err(exceeded) => {
            // What is in no message of the plan is no reason to refuse it.
            let all = if is_never_even { Vec::new() } else { vec![whole()] };
            return (all, Some(LeftOut::Patterns(exceeded)));
        }
    };
    let (even, uneven): (Vec<&Alike>, Vec<&Alike>) =
        patterns.iter().partition(|alike| alike.is_even);
    let is_needed = !even.is_empty() || uneven.is_empty();
    let mut first = is_needed.then(whole);
    // Where chunks would need too many parts, fewer may make the same pattern.
    for (class, alike) in first.iter_mut().zip(even.iter().filter(|one| one.parts > MOST_PARTS)) {
        (class.parts, class.coarse) = (alike.parts, Some(alike.grain));
    }
    let uneven = uneven.into_iter().map(|alike| Class::uneven(subject, alike));
    (first.into_iter().chain(uneven).collect(), exceeded.map(LeftOut::Patterns))
}

/// The classes of a program in messages that go through several windows of its pipelines. Uneven slices are checked where
/// windows have no part in them: then it does not matter where windows end.
fn several_windows(
    program: &Program,
    served: RangeInclusive<u64>,
) -> (Vec<Class>, Option<LeftOut>) {
    let whole = |left_out| (vec![Class::whole(Subject::Given(program))], left_out);
    match what_matters(program) {
        Some(_) if slices_in_pipelines(program) => whole(Some(LeftOut::InPipelines)),
        Some(_) if borders::meet_windows(program) => whole(Some(LeftOut::BesideWindows)),
        None => whole(None),
        Some(_) if !are_whole(program) => whole(Some(LeftOut::Patterns(PARTS.exceeded()))),
        Some(_) => straight(Subject::Given(program), served),
    }
}

/// Whether uneven slices can matter in messages of few windows, which are checked with even ones: because of other slices, or
/// because of windows in the same memory. In messages of more windows, fewer slices meet the first and the last windows,
/// which are those that nothing may order.
fn uneven_slices_matter(program: &Program) -> bool {
    // A single operation that is shared out conflicts with whole ones alike, wherever it is cut.
    let sliced = program.all_ops().filter_map(Op::transfer).filter(|one| one.slice.is_some());
    let are_several = sliced.take(2).count() > 1;
    are_several && what_matters(program).is_some() || borders::meet_windows(program)
}

/// Whether the parts that chunks are cut into make all slices whole: there may be too many of them.
fn are_whole(program: &Program) -> bool {
    slices_are_even(program, count_parts(program).into())
}

/// Whether chunks of so many units make all slices whole.
fn slices_are_even(program: &Program, units: u64) -> bool {
    let mut shapes = shapes(program).into_iter();
    shapes
        .all(|shape| u64::from(shape.size).saturating_mul(units).is_multiple_of(shape.count.into()))
}

/// Whether some of these numbers of units make all slices whole.
fn serves_even(program: &Program, served: &RangeInclusive<u64>) -> bool {
    let part = |shape: &Shape| {
        let count = u64::from(shape.count);
        count / gcd(count, shape.size.into()).max(1)
    };
    let period = shapes(program)
        .iter()
        .map(part)
        .fold(1, |all: u64, part| (all / gcd(all, part).max(1)).saturating_mul(part));
    served.start().div_ceil(period).saturating_mul(period) <= *served.end()
}

/// Whether it matters where slices end, and if so, for what.
fn what_matters(program: &Program) -> Option<Relation> {
    let shapes = shapes(program);
    // Where all operations are distributed alike, only blocks that have nothing to do make a difference.
    let several = shapes.len() > 1 || !shapes.is_empty() && borders::are_met(program);
    let by_distance = || overlay::mixed(program) || lanes_differ(program);
    match (several, has_sliced_packets(program)) {
        (false, false) => None,
        (false, true) => Some(Relation::Empty),
        (true, _) if by_distance() => Some(Relation::Distances),
        (true, false) => Some(Relation::Cells),
        (true, true) => Some(Relation::Order),
    }
}

/// Whether threads of a block go on from packets, without meeting, to elements that are at other distances from the
/// beginning of their operation: of what is shared out otherwise, or of whole operands, whose elements are larger.
fn lanes_differ(program: &Program) -> bool {
    program.blocks().any(|block| {
        let mut told: Vec<&Transfer> = Vec::new();
        let mut before: Option<&Op> = None;
        all_ops(&block.ops).any(|op| {
            let meets = matches!(op.action, Action::Sync | Action::Barrier { .. });
            if meets || before.is_none_or(|before| program.meets_between(before, op)) {
                told.clear();
            }
            before = Some(op);
            let Some(transfer) = op.transfer() else { return false };
            let packets = accesses(transfer).any(|access| access.packets);
            let is_larger = transfer.slice.is_none() && !packets;
            let found = told.iter().any(|one| form(one) != form(transfer) || is_larger);
            if packets {
                told.push(transfer);
            }
            found
        })
    })
}

/// Which part of how many chunks an operation is about.
fn form(transfer: &Transfer) -> (Option<Slice>, u32) {
    (transfer.slice, transfer.operands().next().map_or(0, |operand| operand.size))
}

/// Whether slices of packets end within chunks.
fn has_sliced_packets(program: &Program) -> bool {
    let mut transfers = program.all_ops().filter_map(Op::transfer);
    transfers.any(|transfer| {
        let is_cut = |operand: &Operand| {
            transfer
                .slice
                .is_some_and(|slice| slice.count > 1 && !operand.size.is_multiple_of(slice.count))
        };
        accesses(transfer).any(|access| access.packets && is_cut(&access.operand))
    })
}

/// The numbers of units that a chunk has in messages that the plan serves.
fn served(program: &Program) -> RangeInclusive<u64> {
    let unit = unit(program);
    let most = program.options.max_message_size.map_or(u64::MAX, |most| most / unit);
    least_size(program).div_ceil(unit).max(1)..=most
}

/// Whether the plan serves messages of one size only.
pub(super) fn is_of_one_size(program: &Program) -> bool {
    let served = served(program);
    served.start() == served.end()
}

/// The most units that a chunk has in a message that goes through every pipeline once.
fn window(program: &Program) -> u64 {
    let pipelines = program.all_ops().filter_map(Op::pipeline);
    let units =
        |one: &Pipeline| one.unit / alignment(program).max(1) / u64::from(one.chunks.max(1));
    pipelines.map(units).min().unwrap_or(u64::MAX)
}

/// Whether the largest message that the plan serves is not much larger than the one that is checked.
fn is_short(program: &Program) -> bool {
    let most = served(program).end().saturating_mul(alignment(program));
    choose_windows(program).bytes(1).is_some_and(|checked| most / checked.max(1) < program.chunks())
}

/// The class of messages so long that pipelines that run ahead have to wait, or, if the plan serves none that long, of the
/// longest; none if no pipeline runs ahead, or longer messages than the usual ones are not served. Its program has the
/// synchronization of all pipelines, but not the data that they move.
fn long(program: &Program) -> Option<Class> {
    let ahead = measure_pace(program).ahead;
    let usual = choose_windows(program).bytes(1)?;
    // One window more than what may be ahead shows the wait, and another one what comes after it.
    let pipelines = program.all_ops().filter_map(Op::pipeline);
    let size =
        |one: &Pipeline| one.unit.saturating_mul(ahead + 2).div_ceil(one.chunks.max(1).into());
    let most = served(program).end().saturating_mul(alignment(program));
    let chunk = pipelines.map(size).max()?.min(most);
    if ahead == 0 || chunk <= usual {
        return None;
    }
    let mut long = program.clone();
    long.chunk_size = Some(ChunkSize { size: chunk, scale: 1 });
    for block in long.blocks_mut() {
        block.ops.retain_mut(|op| {
            let Action::Pipeline(pipeline) = &mut op.action else { return true };
            pipeline.body.retain_mut(only_synchronizes);
            !pipeline.body.is_empty()
        });
    }
    let turns = |one: &Pipeline| {
        (one.unit != 0).then(|| u64::from(one.chunks).saturating_mul(chunk).div_ceil(one.unit))
    };
    let said = format!(
        "this happens for long messages, here of {}, for which a pipeline goes through {} windows",
        bytes::text(chunk.saturating_mul(unit(program) / alignment(program).max(1))),
        long.all_ops().filter_map(Op::pipeline).filter_map(turns).max().unwrap_or(1)
    );
    Some(Class {
        program: Some(Rc::new(long)),
        // For what is outside of pipelines.
        parts: count_parts(program),
        coarse: None,
        size: None,
        is_exact: false,
        said: Some(said),
        sought: Sought::Ends,
    })
}

/// Reduces an operation to its synchronization; false if there is none.
fn only_synchronizes(op: &mut Op) -> bool {
    let Action::Transfer(transfer) = &mut op.action else { return true };
    let channels = std::mem::take(&mut transfer.channels);
    let signals = transfer.verb.signals();
    op.action = Action::Signal(Signal { channels, relaxed: false });
    signals
}

/// How an operation is distributed over a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// How many chunks it has.
    size: u32,
    /// Over how many blocks.
    count: u32,
    /// Where it begins, modulo its size.
    offset: u32,
}

/// The shapes of operations whose slices end within chunks.
fn shapes(program: &Program) -> BTreeSet<Shape> {
    let mut shapes = BTreeSet::new();
    let mut last = None;
    for transfer in program.all_ops().filter_map(Op::transfer) {
        let Some(slice) = transfer.slice.filter(|slice| slice.count > 1) else { continue };
        let shape = |operand: &Operand| Shape {
            size: operand.size,
            count: slice.count,
            offset: operand.index % operand.size.max(1),
        };
        let operands = transfer.operands();
        for operand in operands.filter(|one| !one.size.is_multiple_of(slice.count)) {
            // Usually the operands of an operation are alike.
            let shape = shape(operand);
            if last != Some(shape) {
                last = Some(shape);
                shapes.insert(shape);
            }
        }
    }
    shapes
}

/// The least size of a message that the plan serves, in bytes.
fn least_size(program: &Program) -> u64 {
    program.options.min_message_size.unwrap_or(0)
}

/// The size of a unit, in bytes.
fn alignment(program: &Program) -> u64 {
    u64::from(program.options.alignment)
}

/// The size of the message whose chunks have one unit each, in bytes.
pub(super) fn unit(program: &Program) -> u64 {
    let options = &program.options;
    let chunks = program.message_chunks();
    let copies = if program.instances_done == 1 { options.instances.max(1) } else { 1 };
    (alignment(program) * u64::from(chunks) * u64::from(copies)).max(1)
}

/// Whether a pipeline goes over slices, which only plans have.
fn slices_in_pipelines(program: &Program) -> bool {
    let in_pipelines =
        program.all_ops().filter_map(Op::pipeline).flat_map(|pipeline| &pipeline.body);
    in_pipelines.filter_map(Op::transfer).any(|transfer| transfer.slice.is_some())
}

fn has_pipelines(program: &Program) -> bool {
    let is_pipeline = |op: &Op| matches!(op.action, Action::Pipeline(_));
    program.all_ops().any(is_pipeline)
}

/// The program with the body of every pipeline run once, for whole chunks.
fn once(program: &Program) -> Program {
    let mut program = program.clone();
    for block in program.blocks_mut() {
        let mut ops = Vec::with_capacity(block.ops.len());
        for op in block.ops.drain(..) {
            match op.action {
                Action::Pipeline(pipeline) => ops.extend(pipeline.body),
                Action::Sync
                | Action::Barrier { .. }
                | Action::Signal(_)
                | Action::Wait(_)
                | Action::Flush(_)
                | Action::Acquire(_)
                | Action::Release(_)
                | Action::Transfer(_) => ops.push(op),
            }
        }
        block.ops = ops;
    }
    program
}
