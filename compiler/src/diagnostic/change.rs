//! Changes of a program that would fix a mistake, in terms of statements rather than text.
//!
//! The checks know the places of statements, not their text. A change that they have tried and found to help is
//! recorded here; `repair` turns it into edits if the source is available.

use crate::source::Place;

/// A change of statements, each named by its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The threads of the block synchronize before a statement.
    Join {
        /// Its verb.
        verb: &'static str,
        /// The statement.
        before: Place,
    },
    /// Signals and waits are no longer `relaxed`.
    Strong {
        /// The signals and waits.
        at: Vec<Place>,
    },
    /// `put_with_signal`, or a `put` and the signal after it, becomes `put_with_signal_and_flush`.
    Flush {
        /// The put.
        at: Place,
        /// The signal to remove, if the put had none of its own.
        signal: Option<Place>,
    },
    /// A statement goes to the other side of another one.
    Move {
        /// Its verb.
        verb: &'static str,
        /// The statement that moves.
        what: Place,
        /// The statement that it moves past.
        past: Place,
        /// The verb of that statement.
        over: &'static str,
        /// On which side of that statement it is then.
        side: Side,
    },
    /// An option is set for the program that the report's place is in.
    Option {
        /// Its name.
        name: &'static str,
        /// Its value, as it is written.
        value: &'static str,
    },
    /// Both ends of a statement's channels signal and wait.
    Handshake {
        /// The statement.
        at: Place,
        /// On which side of it.
        side: Side,
        /// Whether the handshake has to order execution only.
        relaxed: bool,
    },
    /// A block begins with a relaxed signal and wait, over the channels of a wait that it has.
    Exchange {
        /// The name of the block or family.
        block: String,
        /// The wait.
        like: Place,
    },
    /// A statement is removed.
    Remove {
        /// Its verb.
        verb: &'static str,
        /// The statement.
        at: Place,
    },
    /// A statement is made several times in a row.
    Repeat {
        /// Its verb.
        verb: &'static str,
        /// The statement.
        at: Place,
        /// How many more times.
        more: u32,
    },
    /// A signal over a statement's channels, or a wait on them.
    Answer {
        /// `signal` or `wait`.
        verb: &'static str,
        /// The statement.
        at: Place,
        /// On which side of it.
        side: Side,
    },
    /// An existing semaphore is released.
    Release {
        /// Its name.
        semaphore: String,
        /// After which statement.
        after: Place,
    },
    /// A semaphore starts with another value.
    Initial {
        /// Its name.
        semaphore: String,
        /// Its declaration.
        at: Place,
        /// The value that it starts with now.
        before: i64,
        /// The value that it starts with then.
        value: i64,
    },
    /// A new semaphore, which one block releases and another block acquires.
    Handover(Handover),
    /// New semaphores, with which each block of a family tells the next one that it is done.
    Relay {
        /// The family, by name.
        family: String,
        /// A statement of its blocks.
        within: Place,
    },
    /// All blocks that run two statements meet between them.
    Barrier {
        /// The statement that comes first in the text.
        first: Place,
        /// The other one.
        second: Place,
    },
    /// Input and output of a program share memory.
    InPlace {
        /// The place of the `collective` statement, which says what the program implements.
        at: Place,
    },
    /// One more block takes part in a barrier.
    Attend {
        /// The barrier.
        barrier: Place,
        /// The block, by name.
        block: String,
    },
}

/// A new semaphore. If there are several releasing or several acquiring blocks, each of them has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// A block that releases it, by name.
    pub from: String,
    /// A block that acquires it.
    pub to: String,
    /// Released after this statement.
    pub after: Place,
    /// Acquired before this statement.
    pub before: Place,
    /// How often it is released and acquired.
    pub times: Times,
    /// The value it starts with.
    pub initial: u32,
}

/// How often something is done next to a statement that is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Each time.
    Each,
    /// Once in the block: after the last time, or before the first.
    Once,
}

/// A side of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before it.
    Before,
    /// After it.
    After,
}

impl Change {
    /// What the change does, in the imperative.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Change::Join { verb, .. } => {
                format!("synchronize the threads of the block before the `{verb}`: `sync;`")
            }
            Change::Strong { at } if at.len() == 1 => "remove `relaxed`".to_owned(),
            Change::Strong { .. } => {
                "remove `relaxed` from the signal and from the wait".to_owned()
            }
            Change::Flush { signal: None, .. } => "use `put_with_signal_and_flush`".to_owned(),
            Change::Flush { .. } => {
                "use `put_with_signal_and_flush`, and remove the `signal` after it".to_owned()
            }
            Change::Move { verb, over, side: Side::After, .. } => {
                format!("move the `{verb}` after the {}`{over}`", other(verb, over))
            }
            Change::Move { verb, over, side: Side::Before, .. } => {
                format!("move the `{verb}` before the {}`{over}`", other(verb, over))
            }
            Change::Option { name, value } => format!("set `{name} = {value}`"),
            Change::Handshake { side, relaxed, .. } => {
                let enough = if *relaxed { "; `relaxed` is enough" } else { "" };
                format!("signal and wait over its channels {} it{enough}", side.word())
            }
            Change::Exchange { block, .. } => format!(
                "signal and wait at the beginning of `{block}`, over the channels that it waits on later; `relaxed` is enough"
            ),
            Change::Remove { verb, .. } => format!("remove the `{verb}`"),
            Change::Repeat { verb, more: 1, .. } => format!("`{verb}` once more"),
            Change::Repeat { verb, more, .. } => format!("`{verb}` {more} times more"),
            Change::Answer { verb: "signal", side, .. } => {
                format!("`signal` over its channels {} it", side.word())
            }
            Change::Answer { verb, side, .. } => {
                format!("`{verb}` on its channels {} it", side.word())
            }
            Change::Release { semaphore, .. } => format!("`release {semaphore};` after that"),
            Change::Initial { semaphore, before, value, .. } => {
                format!("start `{semaphore}` at {value} instead of {before}")
            }
            Change::Handover(Handover { from, to, initial: 0, .. }) => {
                format!(
                    "let `{from}` release a new semaphore when it is done, and `{to}` acquire it first"
                )
            }
            Change::Handover(Handover { from, to, initial, .. }) => {
                format!(
                    "let `{to}` acquire a new semaphore that starts at {initial}, and `{from}` release it when it is done"
                )
            }
            Change::Relay { family, .. } => {
                format!(
                    "let each `{family}` release a new semaphore when it is done, and the next one acquire it first"
                )
            }
            Change::Barrier { .. } => {
                "put a barrier for all their blocks between the two statements".to_owned()
            }
            Change::InPlace { .. } => {
                "if input and output are to share memory, say so: `in_place = true`".to_owned()
            }
            Change::Attend { block, .. } => format!("add `{block}` to the barrier too"),
        }
    }

    /// The statements that are changed, removed or moved. Other statements may get something new next to them.
    #[must_use]
    pub fn rewritten(&self) -> Vec<Place> {
        match self {
            Change::Strong { at } => at.clone(),
            Change::Join { before: at, .. }
            | Change::Remove { at, .. }
            | Change::Attend { barrier: at, .. }
            | Change::InPlace { at }
            | Change::Initial { at, .. } => vec![*at],
            Change::Flush { at, signal } => std::iter::once(*at).chain(*signal).collect(),
            Change::Move { what, past, .. } => vec![*what, *past],
            Change::Option { .. }
            | Change::Handshake { .. }
            | Change::Exchange { .. }
            | Change::Repeat { .. }
            | Change::Answer { .. }
            | Change::Release { .. }
            | Change::Handover(_)
            | Change::Relay { .. }
            | Change::Barrier { .. } => Vec::new(),
        }
    }

    /// The statements that it affects or adds something next to, each with a text for its label in the report. Empty
    /// for changes whose titles refer to these statements without a label.
    #[must_use]
    pub fn places(&self) -> Vec<(Place, String)> {
        match self {
            Change::Remove { at, .. } => vec![(*at, "remove this".to_owned())],
            Change::Repeat { verb, at, .. } => vec![(*at, format!("`{verb}` here again"))],
            Change::Answer { verb, at, side } => {
                vec![(*at, format!("`{verb}` {} this", side.word()))]
            }
            Change::Exchange { block, like } => {
                vec![(*like, format!("`{block}` waits on them here"))]
            }
            Change::Release { after, .. } => vec![(*after, "release it after this".to_owned())],
            Change::Initial { at, before, .. } => {
                vec![(
                    *at,
                    format!(
                        "it starts at {before}: acquired {} before any release",
                        times(*before)
                    ),
                )]
            }
            Change::Attend { barrier, block } => vec![(*barrier, format!("`{block}` is missing"))],
            Change::Handover(Handover { from, after, .. }) => {
                vec![(*after, format!("`{from}` is done with it here"))]
            }
            Change::Barrier { first, second } => vec![
                (*first, "the barrier comes after this".to_owned()),
                (*second, "the barrier comes before this".to_owned()),
            ],
            Change::Flush { at, signal: None } => vec![(*at, "use it here".to_owned())],
            Change::Strong { at } => {
                at.iter().map(|at| (*at, "this is relaxed".to_owned())).collect()
            }
            Change::Join { .. }
            | Change::Flush { .. }
            | Change::Move { .. }
            | Change::Option { .. }
            | Change::Handshake { .. }
            | Change::InPlace { .. }
            | Change::Relay { .. } => Vec::new(),
        }
    }
}

fn times(count: i64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// `other `, if both statements have the same verb.
fn other(verb: &str, over: &str) -> &'static str {
    if verb == over { "other " } else { "" }
}

impl Side {
    /// `before` or `after`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Side::Before => "before",
            Side::After => "after",
        }
    }
}
