//! Changes of a program, of which text is made where the source is at hand.
//!
//! Checks know places of statements, not their text. What they have tried and found to help is a change; `repair` makes
//! edits of it.

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
    /// Signals and waits are no longer relaxed.
    Strong {
        /// Signals and waits.
        at: Vec<Place>,
    },
    /// `put_with_signal`, or a `put` and the signal behind it, becomes `put_with_signal_and_flush`.
    Flush {
        /// The put.
        at: Place,
        /// The signal that goes, where the put had none of its own.
        signal: Option<Place>,
    },
    /// A statement goes to the other side of another one.
    Move {
        /// Its verb.
        verb: &'static str,
        /// What goes.
        what: Place,
        /// Past which.
        past: Place,
        /// The verb of that one.
        over: &'static str,
        /// Where it stands then.
        side: Side,
    },
    /// An option of the program that the report's place is in has a value.
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
        /// Whether it has to order execution only.
        relaxed: bool,
    },
    /// A statement is left out.
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
    /// A semaphore that there is already is released.
    Release {
        /// Its name.
        semaphore: String,
        /// After which statement.
        after: Place,
    },
    /// A semaphore begins with another value.
    Initial {
        /// Its name.
        semaphore: String,
        /// Its declaration.
        at: Place,
        /// With what it begins so far.
        before: i64,
        /// With what it begins then.
        value: i64,
    },
    /// One block tells another one by a new semaphore.
    Handover(Handover),
    /// Each block of a family tells the next one by a new semaphore that it is done.
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
        /// Which collective it implements, and with what.
        at: Place,
    },
    /// One more block comes to a barrier.
    Attend {
        /// The barrier.
        barrier: Place,
        /// The block, by name.
        block: String,
    },
}

/// A new semaphore, of which every releasing block or every acquiring one has its own where there are several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// A block that releases it, by name.
    pub from: String,
    /// A block that acquires it.
    pub to: String,
    /// Released after this statement.
    pub after: Place,
    /// Acquired before this one.
    pub before: Place,
    /// How often.
    pub times: Times,
    /// The value it starts with.
    pub initial: u32,
}

/// How often something is done beside a statement that is repeated.
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
    /// What it does, in the imperative.
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
                "put a barrier of all their blocks between the two".to_owned()
            }
            Change::InPlace { .. } => {
                "if input and output are to share memory, say so: `in_place = true`".to_owned()
            }
            Change::Attend { block, .. } => format!("add `{block}` to the barrier too"),
        }
    }

    /// The statements that are no longer what they are, or where they are. Others may get something beside them.
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
            | Change::Repeat { .. }
            | Change::Answer { .. }
            | Change::Release { .. }
            | Change::Handover(_)
            | Change::Relay { .. }
            | Change::Barrier { .. } => Vec::new(),
        }
    }

    /// The statements that it changes, or stands beside, with what is to be said there; none of those that its title
    /// speaks of without naming them.
    #[must_use]
    pub fn places(&self) -> Vec<(Place, String)> {
        match self {
            Change::Remove { at, .. } => vec![(*at, "remove this".to_owned())],
            Change::Repeat { verb, at, .. } => vec![(*at, format!("`{verb}` here again"))],
            Change::Answer { verb, at, side } => {
                vec![(*at, format!("`{verb}` {} this", side.word()))]
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
            Change::Flush { at, signal: None } => vec![(*at, "here".to_owned())],
            Change::Join { .. }
            | Change::Strong { .. }
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

/// Of two statements with one verb, the second is the other one.
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
