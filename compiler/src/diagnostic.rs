//! What a report says: plain data, made where the mistake is found, drawn by `render`, written out by `json`.

pub mod change;
pub mod code;
pub mod github;
pub mod json;
pub mod render;
pub mod sarif;
pub mod witness;

use crate::source::{At, Call, Place, Span};
pub use change::Change;
pub use code::Code;
pub use witness::Witness;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; never changes an exit code.
    Note,
    /// Suspicious; an error under `--deny`.
    Warning,
    /// The program is refused.
    Error,
}

/// A place with what is to be said of it; the text may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// What is underlined.
    pub place: Place,
    /// What is said beside it.
    pub text: String,
    /// The calls that led there, from the innermost out.
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

    /// Whether it stands there, reached by these calls.
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

/// Whether a change may be made without asking.
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
    /// What it imports. Where that stands follows from the whole file: who has shown only a part of it finds it again. The
    /// edits at the report's place are not for that.
    pub import: Option<Import>,
}

/// A name that comes into a file.
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
    /// Why, for which ranks, how often.
    pub notes: Vec<String>,
    /// The smallest ways out.
    pub helps: Vec<String>,
    /// A way out that an editor can take.
    pub fix: Option<Fix>,
    /// The weakest change of the program that helps, of which edits can be made where the source is at hand.
    pub change: Option<Change>,
    /// What shows that it is so, for findings about what happens when the program runs.
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
            change: None,
            witness: None,
        }
    }

    /// Says `text` beside the primary place.
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

    /// Whether something is said of a place already.
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

    /// Adds a way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.helps.push(text.into());
        self
    }

    /// Adds the change that mends it; its title becomes a help line too.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Diagnostic {
        let (certainty, import) = (Certainty::Sure, None);
        self.fix = Some(Fix { title: title.into(), certainty, edits, import });
        self
    }

    /// Adds a change that may mend it; its title becomes a help line too.
    #[must_use]
    pub fn guess(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Diagnostic {
        let (certainty, import) = (Certainty::Guess, None);
        self.fix = Some(Fix { title: title.into(), certainty, edits, import });
        self
    }

    /// Says that the change imports a name.
    #[must_use]
    pub fn importing(mut self, import: Import) -> Diagnostic {
        if let Some(fix) = &mut self.fix {
            fix.import = Some(import);
        }
        self
    }
}

/// "did you mean": the candidate nearest to a misspelt name, if one is near enough.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|c| *c != name)
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}
