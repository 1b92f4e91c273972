//! The latest findings of the checks for a file, carried over to its current text until the checks have new ones.
//!
//! In: findings of programs, texts. Out: the findings at their positions in a newer text. Everything that was typed in
//! between is treated as one changed range: findings behind it move, and findings in it are dropped.

use crate::analysis::Spot;
use crate::diagnostics::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Findings of a file's programs.
#[derive(Default)]
pub struct Carried {
    text: Arc<str>,
    /// By the programs' titles (their first words).
    found: BTreeMap<String, Vec<Finding>>,
}

impl Carried {
    /// Carries everything over to a new text of the file `name`. Fixes are dropped, since they may no longer be right.
    pub fn follow(&mut self, name: &str, text: &Arc<str>) {
        if self.text == *text {
            return;
        }
        let change = Change::new(&self.text, text);
        for findings in self.found.values_mut() {
            findings.retain_mut(|finding| {
                finding.fixes.clear();
                let spots = finding.related.iter_mut().map(|(spot, _)| spot);
                let spots = spots.chain([&mut finding.spot]).chain(finding.home.as_mut());
                let mut here = spots.filter(|spot| spot.name == name);
                here.all(|spot| change.carry(spot))
            });
        }
        self.text = text.clone();
    }

    /// Stores the current findings of a program; returns whether they differ from those before.
    pub fn set(&mut self, title: String, findings: Vec<Finding>) -> bool {
        let nothing = findings.is_empty();
        let same = self.found.get(&title).map_or(nothing, |known| *known == findings);
        self.found.insert(title, findings);
        !same
    }

    /// Forgets all programs except these.
    pub fn keep(&mut self, titles: &BTreeSet<String>) {
        self.found.retain(|title, _| titles.contains(title));
    }

    /// All findings, together with `others`, in the order of the text.
    #[must_use]
    pub fn with(&self, others: &[Finding]) -> Vec<Finding> {
        let mut all: Vec<Finding> =
            others.iter().chain(self.found.values().flatten()).cloned().collect();
        all.sort_by(|a, b| a.spot.cmp(&b.spot));
        all
    }
}

/// A range of a text that was replaced.
struct Change {
    start: u32,
    old: u32,
    new: u32,
}

impl Change {
    fn new(old: &str, new: &str) -> Change {
        let same = |(a, b): &(u8, u8)| a == b;
        let start = old.bytes().zip(new.bytes()).take_while(same).count();
        let most = old.len().min(new.len()) - start;
        let rest = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(same).count();
        Change {
            start: start as u32,
            old: (old.len() - rest) as u32,
            new: (new.len() - rest) as u32,
        }
    }

    /// Moves a place; returns whether it still exists.
    fn carry(&self, spot: &mut Spot) -> bool {
        if spot.end <= self.start {
            return true;
        }
        if spot.start < self.old {
            return false;
        }
        spot.start = spot.start - self.old + self.new;
        spot.end = spot.end - self.old + self.new;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_an_edit_moves() {
        let change = Change::new("let a = 1; let b = 2;", "let a = 10; let b = 2;");
        let carried = |start, end| {
            let mut spot = Spot { name: String::new(), start, end };
            change.carry(&mut spot).then_some((spot.start, spot.end))
        };
        assert_eq!(carried(4, 5), Some((4, 5)));
        assert_eq!(carried(15, 16), Some((16, 17)));
        let change = Change::new("aXYb", "aZb");
        let mut spot = Spot { name: String::new(), start: 1, end: 2 };
        assert!(!change.carry(&mut spot));
    }
}
