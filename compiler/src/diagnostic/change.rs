//! Changes of a program, of which text is made where the source is at hand.
//!
//! Checks know places of statements, not their text. What they have tried and found to help is a change; `repair` makes
//! edits of it.

use crate::source::Place;

/// A change of statements, each named by its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The threads of the block meet before a statement.
    Join {
        /// The statement.
        before: Place,
    },
    /// Signals and waits are no longer relaxed.
    Strong {
        /// Signals and waits.
        at: Vec<Place>,
    },
    /// `put_with_signal` becomes `put_with_signal_and_flush`.
    Flush {
        /// The put.
        at: Place,
    },
    /// A statement goes to the other side of another one.
    Move {
        /// Its verb.
        verb: &'static str,
        /// What goes.
        what: Place,
        /// Past which.
        past: Place,
        /// Where it stands then.
        side: Side,
    },
    /// Launches take turns with two halves of scratch.
    DoubleScratch,
    /// Both ends of a statement's channels signal and wait.
    Handshake {
        /// The statement.
        at: Place,
        /// On which side of it.
        side: Side,
        /// Whether it has to order execution only.
        relaxed: bool,
    },
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
            Change::Join { .. } => {
                "let the threads of the block meet before it: `sync;`".to_owned()
            }
            Change::Strong { at } if at.len() == 1 => "remove `relaxed`".to_owned(),
            Change::Strong { .. } => {
                "remove `relaxed` from the signal and from the wait".to_owned()
            }
            Change::Flush { .. } => "use `put_with_signal_and_flush`".to_owned(),
            Change::Move { verb, side: Side::After, .. } => {
                format!("`{verb}` after it, not before")
            }
            Change::Move { verb, side: Side::Before, .. } => {
                format!("`{verb}` before it, not after")
            }
            Change::DoubleScratch => "take `double_scratch = true`".to_owned(),
            Change::Handshake { side, relaxed, .. } => {
                let side = if *side == Side::After { "after" } else { "before" };
                let enough = if *relaxed { "; `relaxed` is enough" } else { "" };
                format!("signal and wait over its channels {side} it{enough}")
            }
        }
    }
}
