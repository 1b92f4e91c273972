//! The latest findings of the checks for a file, carried over to its current text until the checks have new ones.
//!
//! In: findings of programs, texts. Out: the findings at their positions in a newer text. Everything that was typed in
//! between is treated as one changed range: findings behind it move, and findings in it are dropped.

use crate::analysis::Spot;
use crate::diagnostics::Finding;
use crate::text::TextChange;
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
        let change = TextChange::new(&self.text, text);
        for findings in self.found.values_mut() {
            findings.retain_mut(|finding| {
                finding.fixes.clear();
                let spots = finding.related.iter_mut().map(|(spot, _)| spot);
                let spots = spots.chain([&mut finding.spot]).chain(finding.home.as_mut());
                let mut here = spots.filter(|spot| spot.name == name);
                here.all(|spot| carry(spot, &change))
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

/// Moves a place along with a change; returns whether it still exists.
fn carry(spot: &mut Spot, change: &TextChange) -> bool {
    let mut range = spot.start..spot.end;
    let exists = change.carry(&mut range);
    (spot.start, spot.end) = (range.start, range.end);
    exists
}
