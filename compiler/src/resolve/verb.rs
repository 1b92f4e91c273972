//! The words of modifiers and of verbs that synchronize, and the kinds of channels that a verb which moves data names.

use super::program::{Op, Sync};
use crate::syntax::ast::SynchroniseVerb;
use grammar::verb::{ChannelKind, ChannelNeed, Verb};

/// The kinds of channels that a verb names after `via`; none if it never names any.
pub(super) fn list_links(verb: Verb) -> &'static [ChannelKind] {
    match verb.row().channel_need() {
        ChannelNeed::Always | ChannelNeed::WhereRemote => verb.row().channels,
        ChannelNeed::Never => &[],
    }
}

/// The words of `op`.
pub(super) const OPS: [&str; 3] = ["sum", "min", "max"];

/// The words of `sync`.
pub(super) const SYNCS: [&str; 4] = ["before", "after", "both", "none"];

/// The reduction that a word names.
pub(super) fn op_word(word: &str) -> Option<Op> {
    match word {
        "sum" => Some(Op::Sum),
        "min" => Some(Op::Min),
        "max" => Some(Op::Max),
        _ => None,
    }
}

/// The `sync` setting that a word names.
pub(super) fn sync_word(word: &str) -> Option<Sync> {
    match word {
        "before" => Some(Sync::Before),
        "after" => Some(Sync::After),
        "both" => Some(Sync::Both),
        "none" => Some(Sync::None),
        _ => None,
    }
}

/// The word of a verb.
pub(super) fn synchronise_word(verb: SynchroniseVerb) -> &'static str {
    match verb {
        SynchroniseVerb::Signal => "signal",
        SynchroniseVerb::Wait => "wait",
        SynchroniseVerb::Flush => "flush",
        SynchroniseVerb::Acquire => "acquire",
        SynchroniseVerb::Release => "release",
    }
}
