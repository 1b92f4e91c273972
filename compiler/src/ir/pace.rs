//! How far blocks are from each other in pipelines that synchronize.
//!
//! In: a program. Out: bounds on how many windows later, or earlier, one pipeline may be than another one that it waits
//! for, directly or through others. A wait in a window is usually answered in the same window of another pipeline. It is
//! answered in an earlier window if the counter has an initial value, or is given to before that pipeline; and in a later
//! window if it is taken from before the pipeline that waits. Along a chain of pipelines, the distances add up, so the
//! bounds are sums over all counters. A pipeline shows all that it can do only if it goes through more windows than that.

use crate::ir::counter::{CounterKind, Owned, given, takes};
use crate::ir::{BlockId, Op, Pipeline, Program, RankId};
use rustc_hash::FxHashMap;

/// Bounds on the distance between pipelines, in windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// How many windows a pipeline may go through before those on which its waits depend have begun.
    pub ahead: u64,
    /// How many windows those must have gone through before it begins.
    pub behind: u64,
}

/// The distances between the pipelines of a program.
#[must_use]
pub fn measure_pace(program: &Program) -> Pace {
    let mut uses: FxHashMap<Owned, Uses> = FxHashMap::default();
    in_pipelines(program, &mut |owned| {
        uses.entry(owned).or_default();
    });
    if uses.is_empty() {
        return Pace::default();
    }
    for (rank, row) in program.ranks.entries() {
        for (block, row) in row.blocks.entries() {
            for op in &row.ops {
                follow(program, (rank, block), op, &mut uses);
            }
        }
    }
    let paces = uses.iter().map(|(owned, uses)| uses.pace(initial(program, *owned)));
    paces.fold(Pace::default(), Pace::and)
}

impl Pace {
    fn and(self, other: Pace) -> Pace {
        Pace {
            ahead: self.ahead.saturating_add(other.ahead),
            behind: self.behind.saturating_add(other.behind),
        }
    }
}

/// The uses of a counter.
#[derive(Default)]
struct Uses {
    gives: Line,
    takes: Line,
}

/// The operations that give to a counter, or that take from it, in order.
#[derive(Default)]
struct Line {
    block: Option<(RankId, BlockId)>,
    /// Whether they are in several blocks, so that their order is not known.
    several: bool,
    /// How often it is used outside pipelines.
    plain: u64,
    loops: Vec<Loop>,
}

/// A pipeline that uses a counter.
#[derive(Clone, Copy)]
struct Loop {
    shape: Shape,
    /// How often the counter is used before it, outside pipelines.
    before: u64,
}

/// What determines how often a pipeline uses a counter: its unit, its chunks, and the uses in a window.
type Shape = (u64, u32, u64);

impl Uses {
    fn pace(&self, initial: i64) -> Pace {
        let (gives, takes) = (&self.gives, &self.takes);
        let had = |given: u64| given.saturating_add(u64::try_from(initial).unwrap_or(0));
        let used = |taken: u64| taken.saturating_add(initial.min(0).unsigned_abs());
        let shapes = |line: &Line| line.loops.iter().map(|one| one.shape).collect::<Vec<Shape>>();
        if gives.several || takes.several || shapes(gives) != shapes(takes) {
            return Pace { ahead: had(gives.plain), behind: used(takes.plain) };
        }
        let pairs = gives.loops.iter().zip(&takes.loops);
        let paces = pairs.map(|(given, taken)| {
            let (had, used) = (had(given.before), used(taken.before));
            Pace { ahead: had.saturating_sub(used), behind: used.saturating_sub(had) }
        });
        paces.fold(Pace::default(), Pace::and)
    }
}

impl Line {
    fn add(&mut self, block: (RankId, BlockId), pipeline: Option<&Pipeline>) {
        self.several |= *self.block.get_or_insert(block) != block;
        let Some(pipeline) = pipeline else {
            self.plain += 1;
            return;
        };
        self.loops.push(Loop { shape: (pipeline.unit, pipeline.chunks, 1), before: self.plain });
    }

    /// Adds one more use in the window of the pipeline that was added last.
    fn again(&mut self) {
        if let Some(last) = self.loops.last_mut() {
            last.shape.2 += 1;
        }
    }
}

/// Visits the counters that operations in pipelines use.
fn in_pipelines(program: &Program, visit: &mut dyn FnMut(Owned)) {
    for (rank, row) in program.ranks.entries() {
        let ops = row.blocks.iter().flat_map(|block| &block.ops);
        for op in ops.filter_map(Op::pipeline).flat_map(|pipeline| &pipeline.body) {
            given(program, rank, op).for_each(&mut *visit);
            takes(&op.action).for_each(|counter| visit((rank, counter)));
        }
    }
}

/// Adds the uses of an operation, or of the body of a pipeline.
fn follow(program: &Program, block: (RankId, BlockId), op: &Op, uses: &mut FxHashMap<Owned, Uses>) {
    let pipeline = op.pipeline();
    let body = pipeline.map_or(std::slice::from_ref(op), |pipeline| &pipeline.body);
    let (mut given_here, mut taken_here) = (Vec::new(), Vec::new());
    let add = |line: &mut Line, seen: &mut Vec<Owned>, owned: Owned| match pipeline.is_some()
        && seen.contains(&owned)
    {
        true => line.again(),
        false => {
            seen.push(owned);
            line.add(block, pipeline);
        }
    };
    for op in body {
        for owned in given(program, block.0, op) {
            if let Some(uses) = uses.get_mut(&owned) {
                add(&mut uses.gives, &mut given_here, owned);
            }
        }
        for owned in takes(&op.action).map(|counter| (block.0, counter)) {
            if let Some(uses) = uses.get_mut(&owned) {
                add(&mut uses.takes, &mut taken_here, owned);
            }
        }
    }
}

/// The initial value of a counter.
fn initial(program: &Program, (rank, counter): Owned) -> i64 {
    let CounterKind::Semaphore(id) = counter else { return 0 };
    let semaphores = program.ranks.lookup(rank).map(|rank| &rank.semaphores);
    let row = semaphores.and_then(|semaphores| semaphores.lookup(id));
    row.map_or(0, |row| row.initial)
}

#[cfg(test)]
mod tests {
    use super::{Pace, measure_pace};
    use crate::ir::build::{acquire, pipeline, program, release};
    use crate::ir::{Action, Program, RankId, SemaphoreId};

    /// One rank with two blocks: one releases a semaphore, the other acquires it.
    fn blocks(gives: Vec<Action>, takes: Vec<Action>) -> Program {
        program(1, 1, 1, 0).semaphores(1).block(|_| gives.clone()).block(|_| takes.clone())
    }

    fn given() -> Action {
        pipeline(64, 1, vec![release(&[0])])
    }

    fn taken() -> Action {
        pipeline(64, 1, vec![acquire(&[0])])
    }

    #[test]
    fn pipelines_that_hand_off_are_together() {
        let plain = blocks(vec![release(&[0]), given()], vec![acquire(&[0]), taken()]);
        assert_eq!(measure_pace(&plain), Pace { ahead: 0, behind: 0 });
        let none = blocks(vec![release(&[0])], vec![acquire(&[0])]);
        assert_eq!(measure_pace(&none), Pace { ahead: 0, behind: 0 });
    }

    #[test]
    fn uses_before_and_initial_values_are_the_distance() {
        let early = || vec![release(&[0]), release(&[0]), given()];
        let late = || vec![taken(), acquire(&[0]), acquire(&[0])];
        assert_eq!(measure_pace(&blocks(early(), late())), Pace { ahead: 2, behind: 0 });
        let mut initial = blocks(early(), late());
        initial.ranks[RankId(0)].semaphores[SemaphoreId(0)].initial = 3;
        assert_eq!(measure_pace(&initial), Pace { ahead: 5, behind: 0 });
        let before = blocks(
            vec![given(), release(&[0]), release(&[0])],
            vec![acquire(&[0]), acquire(&[0]), taken()],
        );
        assert_eq!(measure_pace(&before), Pace { ahead: 0, behind: 2 });
    }

    #[test]
    fn where_the_order_is_not_known_everything_outside_counts() {
        let takes = vec![taken(), acquire(&[0])];
        let two = program(1, 1, 1, 0)
            .semaphores(1)
            .block(|_| vec![given()])
            .block(|_| vec![release(&[0])])
            .block(|_| takes.clone());
        assert_eq!(measure_pace(&two), Pace { ahead: 1, behind: 1 });
        let unlike = blocks(
            vec![given(), given()],
            vec![pipeline(64, 1, vec![acquire(&[0]), acquire(&[0])])],
        );
        assert_eq!(measure_pace(&unlike), Pace { ahead: 0, behind: 0 });
    }
}
