//! The content of a report, as plain data: made where the mistake is found, drawn by `render`, written out by `json`.

pub mod change;
pub mod code;
pub mod github;
pub mod json;
pub mod log;
pub mod render;
pub mod sarif;
pub mod witness;

use crate::source::{At, Call, FileId, Place, PlanPlace, Span};
pub use change::Change;
pub use code::Code;
pub use witness::Witness;

/// How severe a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; never changes an exit code.
    Note,
    /// Suspicious; an error under `--deny`.
    Warning,
    /// The program is refused.
    Error,
}

/// A place with a text about it, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// What is underlined.
    pub place: Place,
    /// The text next to it.
    pub text: String,
    /// The calls that led there, innermost first.
    pub calls: Vec<Call>,
}

impl Label {
    /// A text at a place.
    #[must_use]
    pub fn new(at: impl Into<At>, text: impl Into<String>) -> Label {
        let At { place, calls } = at.into();
        Label { place, text: text.into(), calls }
    }

    /// Its place.
    #[must_use]
    pub fn at(&self) -> At {
        At { place: self.place, calls: self.calls.clone() }
    }

    /// Whether it is at this place, reached by the same calls.
    #[must_use]
    pub fn is_at(&self, at: &At) -> bool {
        self.place == at.place && self.calls == at.calls
    }
}

/// A change of source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span inserts.
    pub span: Span,
    /// What it is replaced by.
    pub text: String,
}

/// Whether an edit may be made without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It is what the author meant, or does no harm: `cclc check --fix` makes it.
    Sure,
    /// It may be what the author meant.
    Guess,
}

/// A change that an editor can make on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, in the imperative: "remove `relaxed`".
    pub title: String,
    /// Whether it may be made without asking.
    pub certainty: Certainty,
    /// Its edits, none overlapping another.
    pub edits: Vec<Edit>,
    /// The name that it imports. Where the `use` line goes depends on the whole file: a tool that has parsed only a
    /// part of the file has to work out the place again. The edits at the report's place are not part of the import.
    pub import: Option<Import>,
}

/// A name that is imported into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The module of the library, as `std::math`.
    pub from: String,
    /// Its name there.
    pub name: String,
}

/// One mistake, one report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that was broken.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where. A report without a place is about a whole file or command.
    pub primary: Option<Label>,
    /// The other places that matter, in the order in which they are to be read.
    pub secondary: Vec<Label>,
    /// The reason, which ranks it happens on, how often.
    pub notes: Vec<String>,
    /// The smallest changes that help.
    pub helps: Vec<String>,
    /// A change that helps, and that an editor can make.
    pub fix: Option<Fix>,
    /// Changes of which one helps, if it is not known which one is meant; there is no `fix` then.
    pub alternatives: Vec<Fix>,
    /// The weakest change of the program that helps; it can be turned into edits if the source is available.
    pub change: Option<Change>,
    /// Evidence, for findings about what happens when the program runs.
    pub witness: Option<Box<Witness>>,
}

impl Diagnostic {
    /// A report of the severity that the code's letter stands for: `E` is an error, `W` a warning, `N` a note.
    #[must_use]
    pub fn new(code: Code, place: impl Into<At>, message: impl Into<String>) -> Diagnostic {
        let primary = Some(Label::new(place, String::new()));
        Diagnostic { primary, ..Diagnostic::without_place(code, message) }
    }

    /// A report about something that has no place in a text.
    #[must_use]
    pub fn without_place(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.severity(),
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
            fix: None,
            alternatives: Vec::new(),
            change: None,
            witness: None,
        }
    }

    /// Is about the whole of this plan, if it has no other place.
    #[must_use]
    pub fn in_plan(mut self, file: FileId) -> Diagnostic {
        self.primary.get_or_insert_with(|| Label::new(Place::Plan(PlanPlace::whole(file)), ""));
        self
    }

    /// Puts `text` next to the primary place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        if let Some(primary) = &mut self.primary {
            primary.text = text.into();
        }
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn and(mut self, place: impl Into<At>, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label::new(place, text));
        self
    }

    /// Whether the report already has a label at a place.
    #[must_use]
    pub fn tells_of(&self, at: &At) -> bool {
        self.primary.iter().chain(&self.secondary).any(|label| label.is_at(at))
    }

    /// Adds a line of explanation.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds a way to fix it.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.helps.push(text.into());
        self
    }

    /// Adds an edit that fixes the mistake; its title becomes a help line, too.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Diagnostic {
        let (certainty, import) = (Certainty::Sure, None);
        self.fix = Some(Fix { title: title.into(), certainty, edits, import });
        self
    }

    /// Adds an edit that may fix the mistake; its title becomes a help line, too.
    #[must_use]
    pub fn guess(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Diagnostic {
        let (certainty, import) = (Certainty::Guess, None);
        self.fix = Some(Fix { title: title.into(), certainty, edits, import });
        self
    }

    /// Records that the fix imports a name.
    #[must_use]
    pub fn importing(mut self, import: Import) -> Diagnostic {
        if let Some(fix) = &mut self.fix {
            fix.import = Some(import);
        }
        self
    }
}

/// How many characters of a text of a file a report shows.
const MOST_SHOWN: usize = 80;

/// A text of a file as a report shows it, shortened if it is long.
#[must_use]
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// How many names a report lists.
const MOST_LISTED: usize = 20;

/// Names in a row, and how many more there are.
#[must_use]
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_LISTED).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

/// Longer names are not misspelled: comparing two of them takes as many steps as the product of their lengths.
const LONGEST_MISSPELLED: usize = 100;

/// "Did you mean": the candidate nearest to a misspelled name, if one is near enough.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let limit = (length / 3).max(1);
    // Any two names of one letter are near each other, and those whose lengths differ by more than the limit are not.
    let may_be_meant = |c: &&str| {
        let theirs = c.chars().take(length + limit + 1).count();
        length > 1 && theirs.abs_diff(length) <= limit || c.eq_ignore_ascii_case(name)
    };
    if length > LONGEST_MISSPELLED {
        return None;
    }
    candidates
        .into_iter()
        .filter(|c| *c != name)
        .filter(may_be_meant)
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}
