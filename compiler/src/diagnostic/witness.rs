//! What shows that a report is right: plain data, for machines and for whoever wants to see it happen.
//!
//! A witness names what meets (two accesses, blocks in a circle, a value and where it came from) and gives a schedule,
//! which leads to it. Ranks, blocks and channels are numbers of the concrete program, operations are counted as
//! their block has them.

use crate::source::Place;

/// What was found, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// What goes wrong in the end.
    pub finding: Finding,
    /// Turns that lead there. Each lets an agent go on as far as it says; one that has to wait before that goes on later,
    /// as soon as it can. Empty where the way is too long to be told.
    pub schedule: Vec<Turn>,
    /// The smallest message for which it is so, in bytes; none where it is so for all that the check has looked at first.
    pub message_size: Option<u64>,
}

impl Witness {
    /// A witness for messages of every size.
    #[must_use]
    pub fn new(finding: Finding, schedule: Vec<Turn>) -> Witness {
        Witness { finding, schedule, message_size: None }
    }
}

/// What can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Two accesses meet that nothing orders.
    Race(Box<Race>),
    /// Blocks stand still.
    Deadlock {
        /// Who waits, each for the next one, the last for the first; one alone where nobody gives what it waits for.
        circle: Vec<Wait>,
    },
    /// A counter does not end a launch as it began it.
    Counter {
        /// The last operation that uses it.
        event: Event,
        /// Which counter.
        counter: String,
        /// How much more it is given than taken.
        left: i64,
    },
    /// One counter has several users at once.
    Users {
        /// Which counter.
        counter: String,
        /// What they do with it, in the plural: "signal over", "acquire".
        does: &'static str,
        /// The first use of each block, or the two uses of threads of one block.
        users: Vec<Event>,
    },
    /// An input is written that is its user's.
    Clobber(Box<Clobber>),
    /// A chunk does not hold what is promised.
    Value(Box<WrongValue>),
}

/// Two accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// Where they meet.
    pub memory: Cells,
    /// The access that should come first, or be left out; none where what is missing is the access itself.
    pub first: Option<Access>,
    /// The access that meets it. In the schedule it comes before the first one, but where `ordered` says otherwise.
    pub second: Access,
    /// Whether the first is always run before the second, and only its effect may come later.
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
    /// By what.
    pub event: Event,
}

/// Cells of one buffer, half open. A chunk is `parts` cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Whose.
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

/// Somebody reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Who and when.
    pub event: Event,
    /// Whether it writes.
    pub write: bool,
}

/// Something that an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// In which launch.
    pub launch: u32,
    /// Of which rank.
    pub rank: u32,
    /// Who.
    pub agent: Agent,
    /// The operation; none for a user.
    pub step: Option<Step>,
    /// Where it comes from; none for a user.
    pub place: Option<Place>,
}

/// Who does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// A thread block.
    Block(u32),
    /// The proxy of a port channel, on behalf of a block.
    Proxy {
        /// The channel, counted over all kinds.
        channel: u32,
        /// The block that asked for it.
        block: u32,
    },
    /// Whoever launches the program on the rank: writes its input before, and reads its output after.
    User,
}

/// An operation of a block, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Its number; of a pipeline's body, that of the pipeline.
    pub operation: u32,
    /// In a pipeline: the number in its body, and the turn.
    pub inner: Option<(u32, u32)>,
}

/// One line of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The user of a rank looks at what the launch before left, writes new input, and starts this launch.
    Launch {
        /// The rank.
        rank: u32,
        /// The launch, from 0.
        launch: u32,
    },
    /// A block goes on through an operation.
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
        /// How many of the launch's requests are served then.
        served: u32,
    },
}

/// A block that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Who, and at which operation.
    pub event: Event,
    /// What it waits for.
    pub awaits: String,
    /// The operation of the next one that would give it.
    pub given_by: Option<Event>,
}

/// A chunk that does not hold what is promised. Contributions are (rank, input chunk).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongValue {
    /// The chunk.
    pub memory: Cells,
    /// What is promised and not there.
    pub missing: Vec<(u32, u32)>,
    /// What is there too often.
    pub doubled: Vec<(u32, u32)>,
    /// What is there and not promised.
    pub unexpected: Vec<(u32, u32)>,
    /// The ways of the first of these, each from the input on: one for what is missing, two for what is there twice.
    pub paths: Vec<Vec<Hop>>,
}

/// A contribution is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// By what.
    pub event: Event,
    /// Where to.
    pub into: Cells,
}
