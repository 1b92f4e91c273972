//! What was shown of a declaration when it had no errors, for as long as it has some: while a statement is incomplete,
//! the rest of its program need not lose its hints.
//!
//! In: what a feature shows of sound declarations, and the texts of their files. Out: the same, moved along with the
//! edits since then. What stood in an edited range is dropped.

use crate::text::TextChange;
use lsp_types::Url;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Something that is shown at places of a text.
pub trait Retainable {
    /// Moves its places along with a change; returns whether it can still be shown.
    fn carry(&mut self, change: &TextChange) -> bool;
}

/// What was shown of the declarations of files.
#[derive(Debug)]
pub struct Retained<T> {
    files: Mutex<BTreeMap<Url, RetainedFile<T>>>,
}

impl<T> Default for Retained<T> {
    fn default() -> Retained<T> {
        Retained { files: Mutex::default() }
    }
}

/// What was shown of a file's declarations, at its places in this text.
#[derive(Debug)]
struct RetainedFile<T> {
    text: Arc<str>,
    shown: BTreeMap<String, Vec<T>>,
}

impl<T: Retainable + Clone> Retained<T> {
    /// Keeps what is shown of a sound declaration of a file with this text, in place of what was kept before.
    pub fn keep(&self, file: &Url, text: &Arc<str>, declaration: &str, shown: Vec<T>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = files
            .entry(file.clone())
            .or_insert_with(|| RetainedFile { text: text.clone(), shown: BTreeMap::new() });
        kept.follow(text);
        kept.shown.insert(declaration.to_owned(), shown);
    }

    /// What was kept of a declaration, at its places in this text of the file.
    #[must_use]
    pub fn recall(&self, file: &Url, text: &Arc<str>, declaration: &str) -> Vec<T> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kept) = files.get_mut(file) else { return Vec::new() };
        kept.follow(text);
        kept.shown.get(declaration).cloned().unwrap_or_default()
    }

    /// Drops everything about a file, which is no longer open.
    pub fn forget(&self, file: &Url) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(file);
    }
}

impl<T: Retainable> RetainedFile<T> {
    fn follow(&mut self, text: &Arc<str>) {
        if self.text == *text {
            return;
        }
        let change = TextChange::new(&self.text, text);
        for shown in self.shown.values_mut() {
            shown.retain_mut(|one| one.carry(&change));
        }
        self.text = text.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct At(u32);

    impl Retainable for At {
        fn carry(&mut self, change: &TextChange) -> bool {
            change.carry_offset(&mut self.0)
        }
    }

    #[test]
    fn what_is_kept_moves_with_the_text_and_goes_with_its_place() {
        let (file, retained) = (Url::parse("file:///a.ccl").unwrap(), Retained::default());
        retained.keep(&file, &"ab cd ef".into(), "p", vec![At(2), At(4), At(8)]);
        let moved = |text: &str| retained.recall(&file, &text.into(), "p");
        assert_eq!(moved("ab xcd ef"), [At(2), At(5), At(9)]);
        assert_eq!(moved("ab ef"), [At(2), At(5)]);
        retained.keep(&file, &"ab".into(), "p", vec![At(1)]);
        assert_eq!(moved("-ab"), [At(2)]);
        retained.forget(&file);
        assert_eq!(moved("-ab"), []);
    }
}
