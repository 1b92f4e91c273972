//! The operands of each operation, and the operation of a plan that it becomes: the table of the reference, whose rows
//! editors show. The rows of verbs that move data are made from [`crate::verb`].

use crate::verb::{
    OperandForm, OperandKind, OperandRule, OperandSide, PlanForm, PlanSupport, Verb,
};

/// One form of an operation. The texts are those of the reference, with code in backquotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The verb.
    pub verb: &'static str,
    /// The location of its sources.
    pub sources: String,
    /// The location of its destinations.
    pub destinations: String,
    /// The kinds of channels that it can use.
    pub channels: String,
    /// Its operation in a plan.
    pub plan: String,
}

/// The head of the table.
pub const HEAD: &str =
    "| verb | sources | destinations | channel | plan |\n| --- | --- | --- | --- | --- |";

/// The operations that move no data: the verb, its channels, its operation in a plan.
const OTHERS: &[[&str; 3]] = &[
    ["signal", "memory, port", "`signal`; `relaxed`: `rlxsignal`"],
    ["wait", "memory, port", "`wait`; `relaxed`: `rlxwait`"],
    ["flush", "port", "none: see below"],
    ["acquire", "", "`sem_acquire`"],
    ["release", "", "`sem_release`"],
    ["barrier", "", "`barrier`"],
    ["sync", "", "`nop`"],
];

impl Form {
    /// The form as a row of a table.
    #[must_use]
    pub fn row(&self) -> String {
        let cell = |text: &str| if text.is_empty() { " ".to_owned() } else { format!(" {text} ") };
        let cells = [&self.sources, &self.destinations, &self.channels, &self.plan];
        let cells = cells.map(|text| cell(text));
        format!("| `{}` |{}|", self.verb, cells.join("|"))
    }
}

/// The forms of all verbs, each verb's simplest first.
pub fn all_forms() -> impl Iterator<Item = Form> {
    let transfers = Verb::ALL.iter().flat_map(|verb| {
        let forms = verb.row().plan.iter();
        forms.map(|form| describe_form(*verb, form))
    });
    let others = OTHERS.iter().map(|[verb, channels, plan]| Form {
        verb,
        sources: String::new(),
        destinations: String::new(),
        channels: (*channels).to_owned(),
        plan: (*plan).to_owned(),
    });
    transfers.chain(others)
}

/// The forms of one verb, the simplest first.
pub fn forms(verb: &str) -> impl Iterator<Item = Form> {
    all_forms().filter(move |form| form.verb == verb)
}

fn describe_form(verb: Verb, form: &PlanForm) -> Form {
    let row = verb.row();
    let is_remote =
        form.sources.iter().chain(form.destinations).any(|side| *side == OperandSide::Remote);
    let channels = if is_remote { row.channels } else { &[] };
    let channels: Vec<&str> = channels.iter().map(|kind| kind.word()).collect();
    let plan = match form.support {
        PlanSupport::Executed => format!("`{}`", form.name),
        PlanSupport::Joined(text) => text.to_owned(),
    };
    Form {
        verb: row.word,
        sources: describe_operands(&row.sources, form.sources),
        destinations: describe_operands(&row.destinations, form.destinations),
        channels: channels.join(", "),
        plan,
    }
}

/// Where operands lie that are in these places.
fn describe_operands(rule: &OperandRule, sides: &[OperandSide]) -> String {
    let Some((first, others)) = sides.split_first() else { return String::new() };
    let mut text = describe_first(*first, rule.first).to_owned();
    for side in others {
        let in_scratch = text.ends_with("scratch");
        text += match rule.others.form {
            OperandForm::Plain => " and ",
            OperandForm::Packets => ", then ",
        };
        text += describe_other(*side, rule.others, in_scratch);
    }
    text
}

fn describe_first(side: OperandSide, kind: OperandKind) -> &'static str {
    match (side, kind.form) {
        (OperandSide::Local, OperandForm::Plain) => "here",
        (OperandSide::Local, OperandForm::Packets) => "scratch",
        (OperandSide::Remote, OperandForm::Plain) => "a peer",
        (OperandSide::Remote, OperandForm::Packets) => "a peer's scratch",
        (OperandSide::Switch, OperandForm::Plain) => "a switch channel",
        (OperandSide::Switch, OperandForm::Packets) => "a switch channel, over scratch",
    }
}

/// The same for further operands, which follow some `in_scratch` or not.
fn describe_other(side: OperandSide, kind: OperandKind, in_scratch: bool) -> &'static str {
    match (side, kind.form) {
        (OperandSide::Remote, OperandForm::Plain) => "peers",
        (OperandSide::Remote, OperandForm::Packets) if in_scratch => "peers'",
        (OperandSide::Remote, OperandForm::Packets) => "peers' scratch",
        (OperandSide::Local | OperandSide::Switch, _) => describe_first(side, kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, of_kind};

    #[test]
    fn every_verb_has_a_form() {
        for word in of_kind(Kind::Transfer).chain(of_kind(Kind::Synchronise)) {
            assert!(forms(word.text).next().is_some(), "{}", word.text);
        }
    }
}
