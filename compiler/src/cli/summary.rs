//! What `cclc check` says of a program that it has proved: for how many ranks, and what the program is.

use compiler::ir::traffic::{Traffic, traffic};
use compiler::ir::{self, MOST_OPS};
use compiler::optimize::replicate;

/// What is said of a program, or of one program for several parameters: then the most of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    ranks: usize,
    /// The most thread blocks of a rank.
    blocks: usize,
    /// The most operations of a block.
    operations: usize,
    /// What moves between ranks, if that can be compared with what must move.
    traffic: Option<Traffic>,
}

impl Summary {
    /// That of a program in its final form, before its copies are made.
    pub(crate) fn of(program: &ir::Program) -> Summary {
        let copies = replicate::copies(program) as usize;
        let blocks = program.ranks.iter().map(|rank| rank.blocks.len()).max().unwrap_or(0);
        let operations = program.blocks().map(|block| ir::count_ops(&block.ops)).max().unwrap_or(0);
        Summary {
            ranks: program.ranks.len(),
            blocks: blocks.saturating_mul(copies),
            operations,
            traffic: traffic(program),
        }
    }

    /// The most of both.
    pub(crate) fn and(self, other: Summary) -> Summary {
        let traffic = self.traffic.zip(other.traffic);
        Summary {
            ranks: self.ranks.max(other.ranks),
            blocks: self.blocks.max(other.blocks),
            operations: self.operations.max(other.operations),
            traffic: traffic.map(|(one, other)| one.further(other)),
        }
    }

    /// For how many ranks the program is proved, for people.
    pub(crate) fn ranks(&self) -> String {
        counted(self.ranks, "rank")
    }

    /// What the program is, for people. `is_plan`: the executor's limit is said, too; `varies`: the numbers are the most
    /// of several programs.
    pub(crate) fn text(&self, is_plan: bool, varies: bool) -> String {
        let limit = if is_plan { format!(" of {MOST_OPS}") } else { String::new() };
        let most = if varies { "at most " } else { "" };
        let blocks = counted(self.blocks, "block");
        let mut text =
            format!("{most}{blocks}, at most {}{limit} operations in a block", self.operations);
        if let Some(traffic) = self.traffic {
            text += ", sends ";
            if let Some(inputs) = traffic.inputs_sent
                && !varies
            {
                text += &match rounded_up(inputs).as_str() {
                    "1" => "its input once, ".to_owned(),
                    times => format!("{times} times its input, "),
                };
            }
            text += &compared(&traffic, most);
        }
        text
    }
}

/// The summaries of a program for several combinations of parameters.
#[derive(Default)]
pub(crate) struct Summaries {
    most: Option<Summary>,
    /// Whether one is missing, since the program was not proved.
    lacks_one: bool,
}

impl Summaries {
    /// Adds that of one combination; none if the program is not proved for it.
    pub(crate) fn add(&mut self, one: Option<Summary>) {
        match one {
            Some(one) => self.most = Some(self.most.map_or(one, |most| most.and(one))),
            None => self.lacks_one = true,
        }
    }

    /// The summary of all, if the program is proved for all.
    pub(crate) fn of_all(self) -> Option<Summary> {
        if self.lacks_one { None } else { self.most }
    }
}

/// What moves, compared with what must.
fn compared(traffic: &Traffic, most: &str) -> String {
    if traffic.moved <= traffic.least {
        return "the least that the promise forces".to_owned();
    }
    let ratio = traffic.moved as f64 / traffic.least as f64;
    format!("{most}{} times the least that the promise forces", rounded_up(ratio))
}

/// A number with two decimals at most, so that what is more than a whole number is never shown as one.
fn rounded_up(number: f64) -> String {
    let hundredths = (number * 100.0 - 1e-6).ceil();
    let text = format!("{:.2}", hundredths / 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn counted(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {word}{plural}")
}

#[cfg(test)]
mod tests {
    use super::rounded_up;

    #[test]
    fn what_is_more_is_shown_as_more() {
        for (number, text) in [(1.75, "1.75"), (2.0, "2"), (1.0001, "1.01"), (1.1, "1.1")] {
            assert_eq!(rounded_up(number), text);
        }
    }
}
