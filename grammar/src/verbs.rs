//! The operands of each operation, and the operation of a plan that it becomes.
//!
//! One row for each form of an operation. The reference shows this table, and editors show its
//! rows.

/// One form of an operation. The texts are those of the reference, with code in backquotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The verb.
    pub verb: &'static str,
    /// The location of its sources.
    pub sources: &'static str,
    /// The location of its destinations.
    pub destinations: &'static str,
    /// The kinds of channels that it can use.
    pub channels: &'static str,
    /// Its operation in a plan.
    pub plan: &'static str,
}

impl Form {
    /// The form as a row of a table.
    #[must_use]
    pub fn row(&self) -> String {
        let cell = |text: &str| if text.is_empty() { " ".to_owned() } else { format!(" {text} ") };
        let cells = [self.sources, self.destinations, self.channels, self.plan].map(cell);
        format!("| `{}` |{}|", self.verb, cells.join("|"))
    }
}

/// The forms of one verb, the simplest first.
pub fn forms(verb: &str) -> impl Iterator<Item = &'static Form> {
    FORMS.iter().filter(move |form| form.verb == verb)
}

const fn form(
    verb: &'static str,
    [sources, destinations]: [&'static str; 2],
    channels: &'static str,
    plan: &'static str,
) -> Form {
    Form { verb, sources, destinations, channels, plan }
}

/// The forms of all verbs.
pub const FORMS: &[Form] = &[
    form("copy", ["here", "here"], "", "`copy`"),
    form("put", ["here", "a peer"], "memory, port", "`put`"),
    form("put_with_signal", ["here", "a peer"], "port", "`pws`"),
    form("put_with_signal_and_flush", ["here", "a peer"], "port", "`pwsf`"),
    form("get", ["a peer", "here"], "memory", "`get`"),
    form("reduce", ["here", "here"], "", "`re`"),
    form("reduce", ["here and peers", "here"], "memory", "`rre`"),
    form("reduce", ["here", "here and peers"], "memory", "`res`"),
    form("reduce", ["here and peers", "here and peers"], "memory", "`rres`"),
    form("reduce", ["a switch channel", "here"], "", "`glres`, with the `broadcast` that follows"),
    form("broadcast", ["here", "a switch channel"], "", "`gstore`"),
    form("put_packets", ["here", "a peer's scratch"], "memory", "`ppkt`"),
    form("read_put_packets", ["scratch", "a peer's scratch"], "memory, port", "`rppkt`"),
    form("copy_packets", ["here", "scratch"], "", "`cpkt`"),
    form("unpack_packets", ["scratch", "here"], "", "`upkt`"),
    form("reduce_packets", ["here, then scratch", "here"], "", "`repkt`"),
    form("reduce_packets", ["here, then scratch", "here, then scratch"], "", "`recpkt`"),
    form(
        "reduce_packets",
        ["here, then scratch", "here, then peers' scratch"],
        "memory",
        "`respkt`",
    ),
    form(
        "reduce_packets",
        ["here, then scratch", "here, then scratch, then peers'"],
        "memory",
        "`recspkt`",
    ),
    form("broadcast_packets", ["scratch", "a switch channel, over scratch"], "", "`gstorepkt`"),
    form("signal", ["", ""], "memory, port", "`signal`; `relaxed`: `rlxsignal`"),
    form("wait", ["", ""], "memory, port", "`wait`; `relaxed`: `rlxwait`"),
    form("flush", ["", ""], "port", "none: see below"),
    form("acquire", ["", ""], "", "`sem_acquire`"),
    form("release", ["", ""], "", "`sem_release`"),
    form("barrier", ["", ""], "", "`barrier`"),
    form("sync", ["", ""], "", "`nop`"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, of_kind};

    const REFERENCE: &str = include_str!("../../docs/reference.md");

    #[test]
    fn the_reference_shows_this_table() {
        let (_, table) = REFERENCE.split_once("| verb | sources |").unwrap();
        let table = table.split_once("\n\n").map_or(table, |(table, _)| table);
        let shown: Vec<&str> = table.lines().skip(2).collect();
        let rows: Vec<String> = FORMS.iter().map(Form::row).collect();
        assert_eq!(shown, rows);
    }

    #[test]
    fn every_verb_has_a_form() {
        for word in of_kind(Kind::Transfer).chain(of_kind(Kind::Synchronise)) {
            assert!(forms(word.text).next().is_some(), "{}", word.text);
        }
    }
}
