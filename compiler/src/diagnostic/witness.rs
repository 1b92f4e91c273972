//! Evidence that a report is right: plain data, for machines and for whoever wants to see the problem happen.
//!
//! A witness names what is in conflict (two accesses, the blocks of a cycle, a value and where it came from) and gives
//! a schedule that leads to it. Ranks, blocks and channels are numbers of the concrete program; operations are counted
//! as in their block.

use crate::source::Place;

/// What was found, and a schedule that leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// What goes wrong in the end.
    pub finding: Finding,
    /// The turns that lead there. Each lets an agent advance as far as it says; an agent that has to wait before that
    /// continues later, as soon as it can. Empty if the schedule is too long to be given.
    pub schedule: Vec<Turn>,
    /// The smallest message for which it happens, in bytes; none if the first check found it, which stands for messages
    /// of every size.
    pub message_size: Option<u64>,
}

impl Witness {
    /// A witness for messages of every size.
    #[must_use]
    pub fn new(finding: Finding, schedule: Vec<Turn>) -> Witness {
        Witness { finding, schedule, message_size: None }
    }
}

/// The kinds of findings that can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Two accesses to the same memory that nothing orders.
    Race(Box<Race>),
    /// Blocks that wait forever.
    Deadlock {
        /// The blocks that wait, each for the next one and the last for the first; a single one if nobody provides what
        /// it waits for.
        cycle: Vec<Wait>,
    },
    /// A counter whose value at the end of a launch differs from the beginning.
    Counter {
        /// The last operation that uses it.
        event: Event,
        /// Which counter.
        counter: String,
        /// How many more signals or releases than waits or acquires.
        left: i64,
    },
    /// One counter that several users use at once.
    Users {
        /// Which counter.
        counter: String,
        /// What they do with it, in the plural: "signal over", "acquire".
        does: &'static str,
        /// The first use of each block, or the two uses by threads of one block.
        users: Vec<Event>,
    },
    /// A write to an input, which belongs to the user.
    Clobber(Box<Clobber>),
    /// A chunk that does not hold what is promised.
    Value(Box<WrongValue>),
    /// A rank that ends before another one has begun.
    Early {
        /// The rank that ends.
        ends: u32,
        /// The rank that begins.
        begins: u32,
    },
}

/// Two accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// Where they meet.
    pub memory: Cells,
    /// The access that should come first, or be left out; none if `second` reads what nothing has written.
    pub first: Option<Access>,
    /// The other access. In the schedule it comes before the first one, unless `ordered` is set.
    pub second: Access,
    /// Whether the first access always runs before the second, and only its effect may come later.
    pub ordered: bool,
    /// The next synchronization after the first.
    pub after_first: Option<Event>,
    /// The last synchronization before the second.
    pub before_second: Option<Event>,
}

/// A write to an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clobber {
    /// What is written.
    pub memory: Cells,
    /// The operation that writes it.
    pub event: Event,
}

/// A half-open range of cells of one buffer. A chunk consists of `parts` cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The rank whose buffer it is.
    pub rank: u32,
    /// `input`, `output` or `scratch`.
    pub buffer: &'static str,
    /// The first cell.
    pub start: u64,
    /// The cell after the last.
    pub end: u64,
    /// Cells in a chunk.
    pub parts: u32,
}

/// A read or a write by an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The agent, the operation and the launch.
    pub event: Event,
    /// Whether it writes.
    pub write: bool,
}

/// Something that an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The launch that it happens in.
    pub launch: u32,
    /// The rank that it happens on.
    pub rank: u32,
    /// The agent that does it.
    pub agent: Agent,
    /// The operation; none for a user.
    pub step: Option<Step>,
    /// The place that the operation comes from; none for a user.
    pub place: Option<Place>,
}

/// An agent: something that acts on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// A thread block.
    Block(u32),
    /// The proxy of a port channel, on behalf of a block.
    Proxy {
        /// The channel, counted over all kinds.
        channel: u32,
        /// The block that requested it.
        block: u32,
    },
    /// Whoever launches the program on the rank: it writes the input before, and reads the output after.
    User,
}

/// An operation of a block, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Its number; for an operation in a pipeline's body, the number of the pipeline.
    pub operation: u32,
    /// In a pipeline: the number in its body, and the round.
    pub inner: Option<(u32, u32)>,
}

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The user of a rank reads what the previous launch left, writes new input, and starts this launch.
    Launch {
        /// The rank.
        rank: u32,
        /// The launch, from 0.
        launch: u32,
    },
    /// A block advances through an operation.
    Block {
        /// The rank.
        rank: u32,
        /// The launch, from 0.
        launch: u32,
        /// The block.
        block: u32,
        /// The last operation of this turn.
        through: Step,
    },
    /// The proxy of a port channel serves requests.
    Proxy {
        /// The rank.
        rank: u32,
        /// The launch, from 0.
        launch: u32,
        /// The channel, counted over all kinds.
        channel: u32,
        /// How many of the launch's requests are served at the end of this turn.
        served: u32,
    },
}

/// A block that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The block, and the operation at which it waits.
    pub event: Event,
    /// What it waits for.
    pub awaits: String,
    /// The operation of the next block in the cycle that would provide it.
    pub given_by: Option<Event>,
}

/// A chunk that does not hold what is promised. A contribution is (rank, input chunk).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongValue {
    /// The chunk.
    pub memory: Cells,
    /// Contributions that are promised and missing.
    pub missing: Vec<(u32, u32)>,
    /// Contributions that are there, but less often than promised.
    pub too_few: Vec<(u32, u32)>,
    /// Contributions that are there more often than promised.
    pub doubled: Vec<(u32, u32)>,
    /// Contributions that are there but not promised.
    pub unexpected: Vec<(u32, u32)>,
    /// The operator that combined them, if it is not the collective's.
    pub operator: Option<&'static str>,
    /// The paths of the first of these contributions, each from the input on: one path if it is missing, two if it is
    /// there twice.
    pub paths: Vec<Vec<Hop>>,
}

/// A step on a contribution's path: it is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The operation that moves it.
    pub event: Event,
    /// The memory that it is moved into.
    pub into: Cells,
}
