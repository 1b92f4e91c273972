//! Converts findings to diagnostics of the protocol.
//!
//! In: the findings about a file. Out: its diagnostics, with the other places as related information, a link to the
//! page that explains the code, and the fixes. Notes and helps follow the message, one on each line.
//!
//! Few editors show related information unless asked. The other side of a race, or of operations that wait for each
//! other, is therefore an information diagnostic of its own, which links back: both lines are underlined in every
//! editor.

use crate::analysis::Spot;
use crate::copies;
use crate::diagnostics::{Finding, QuickFix};
use crate::text::Lines;
use compiler::diagnostic::{Code, Import, Severity};
use compiler::resolve::import;
use compiler::source::FileId;
use compiler::syntax::{self, ast};
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    Location, NumberOrString, TextEdit, Url,
};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// A diagnostic and its fixes.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The file in which it is shown.
    pub url: Url,
    /// The diagnostic that the client is sent.
    pub diagnostic: Diagnostic,
    /// The changes of which each fixes it.
    pub fixes: Vec<Fix>,
    /// Its code, if an attribute around its place accepts it.
    pub allowable: Option<Code>,
}

/// A change of files.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What it does, in the imperative.
    pub title: String,
    /// Whether it is certain to be right.
    pub sure: bool,
    /// Its edits.
    pub edits: Vec<(Url, TextEdit)>,
    /// The name that it imports into the file of the problem.
    pub import: Option<Import>,
}

/// Maps names of files to URLs and texts, with caches.
pub struct Context<'c> {
    read: &'c dyn Fn(&str) -> Option<Arc<Lines>>,
    url: &'c dyn Fn(&str) -> Option<Url>,
    lines: RefCell<BTreeMap<String, Option<Arc<Lines>>>>,
    pages: RefCell<BTreeMap<Code, Option<Url>>>,
    files: RefCell<BTreeMap<String, Option<Rc<ast::File>>>>,
}

impl<'c> Context<'c> {
    /// A context that looks up lines with `read`, and URLs with `url`.
    #[must_use]
    pub fn new(
        read: &'c dyn Fn(&str) -> Option<Arc<Lines>>,
        url: &'c dyn Fn(&str) -> Option<Url>,
    ) -> Context<'c> {
        Context {
            read,
            url,
            lines: RefCell::default(),
            pages: RefCell::default(),
            files: RefCell::default(),
        }
    }

    fn lines(&self, name: &str) -> Option<Arc<Lines>> {
        let read = || (self.read)(name);
        self.lines.borrow_mut().entry(name.to_owned()).or_insert_with(read).clone()
    }

    fn page(&self, code: Code) -> Option<CodeDescription> {
        let page =
            self.pages.borrow_mut().entry(code).or_insert_with(|| copies::page(code)).clone();
        Some(CodeDescription { href: page? })
    }

    /// The edits that import a name into a file.
    fn import(&self, name: &str, import: &Import) -> Option<Vec<(Url, TextEdit)>> {
        let (url, lines) = ((self.url)(name)?, self.lines(name)?);
        let parse = || Some(Rc::new(syntax::parse(FileId(0), lines.text()).0));
        let file = self.files.borrow_mut().entry(name.to_owned()).or_insert_with(parse).clone()?;
        let edits =
            import::edits(&file, FileId(0), std::slice::from_ref(import)).into_iter().map(|edit| {
                let range = lines.range(edit.span.start..edit.span.end);
                (url.clone(), TextEdit::new(range, edit.text))
            });
        Some(edits.collect())
    }

    fn location(&self, spot: &Spot) -> Option<Location> {
        let range = self.lines(&spot.name)?.range(spot.start..spot.end);
        Some(Location { uri: (self.url)(&spot.name)?, range })
    }
}

/// The diagnostics of one file, and those in other files that concern it: a mistake in an imported procedure that only
/// shows where a program calls it.
#[must_use]
pub fn problems(context: &Context<'_>, name: &str, findings: &[Finding]) -> Vec<Problem> {
    let here = findings.iter().filter(|finding| place(name, finding).is_some()).collect();
    let (shown, more) = shown(here);
    let mut room = MOST_SHOWN.saturating_sub(shown.len());
    let both = |finding: &Finding| {
        let problem = problem(context, name, finding);
        let sided = problem.as_ref().filter(|_| room > 0 && has_sides(finding));
        let other = sided.and_then(counterpart);
        room -= usize::from(other.is_some());
        problem.into_iter().chain(other)
    };
    merged(shown.into_iter().chain(&more).flat_map(both))
}

/// Merges problems with the same message at the same place into one, with the related places of all: findings at
/// several places of an imported file may be shown at one place of this file.
fn merged(problems: impl Iterator<Item = Problem>) -> Vec<Problem> {
    let mut all: Vec<Problem> = Vec::new();
    let mut known = BTreeMap::new();
    for problem in problems {
        let Diagnostic { range, message, .. } = &problem.diagnostic;
        let at = *known.entry((range.start, range.end, message.clone())).or_insert(all.len());
        match all.get_mut(at) {
            None => all.push(problem),
            Some(first) => {
                let places = first.diagnostic.related_information.get_or_insert_default();
                let more = problem.diagnostic.related_information.into_iter().flatten();
                for place in more {
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
            }
        }
    }
    all
}

/// How many findings of a file are shown, including the other sides of races; `cclc` shows as many.
const MOST_SHOWN: usize = 1000;

/// The findings to show, and a note that says how many are left out; warnings are left out first.
fn shown(mut findings: Vec<&Finding>) -> (Vec<&Finding>, Option<Finding>) {
    if findings.len() <= MOST_SHOWN {
        return (findings, None);
    }
    let all = findings.len();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let rest = findings.split_off(MOST_SHOWN);
    findings.sort_by_key(|finding| &finding.spot);
    let more = rest.first().map(|first| Finding {
        code: None,
        severity: Severity::Note,
        message: format!("{MOST_SHOWN} of {all} reports about this file are shown"),
        label: String::new(),
        related: Vec::new(),
        notes: Vec::new(),
        helps: Vec::new(),
        fixes: Vec::new(),
        ..(*first).clone()
    });
    (findings, more)
}

/// Where a finding is shown in a file.
fn place<'f>(name: &str, finding: &'f Finding) -> Option<&'f Spot> {
    let own = (finding.spot.name == name).then_some(&finding.spot);
    own.or(finding.home.as_ref())
}

/// Whether a finding is about operations that meet at run time, so that the mistake may be in any of them.
fn has_sides(finding: &Finding) -> bool {
    finding.code.is_some_and(|code| code.id().starts_with("E05") || code.id().starts_with("E06"))
}

/// The diagnostic for the other side, if it is in the same file. The same fix applies to both.
fn counterpart(problem: &Problem) -> Option<Problem> {
    let diagnostic = &problem.diagnostic;
    // The first related place is the other side; the ones after it are context.
    let other = diagnostic.related_information.as_ref()?.first()?;
    if other.location.uri != problem.url || other.location.range == diagnostic.range {
        return None;
    }
    let first = diagnostic.message.lines().next().unwrap_or_default();
    let back = DiagnosticRelatedInformation {
        location: Location::new(problem.url.clone(), diagnostic.range),
        message: first.to_owned(),
    };
    let diagnostic = Diagnostic {
        range: other.location.range,
        severity: Some(DiagnosticSeverity::INFORMATION),
        message: other.message.clone(),
        related_information: Some(vec![back]),
        tags: None,
        ..diagnostic.clone()
    };
    Some(Problem { diagnostic, ..problem.clone() })
}

fn problem(context: &Context<'_>, name: &str, finding: &Finding) -> Option<Problem> {
    let place = place(name, finding)?;
    let lines = context.lines(&place.name)?;
    let elsewhere = (finding.spot.name != name).then_some((&finding.spot, finding.label.as_str()));
    let others = finding.related.iter().map(|(spot, text)| (spot, text.as_str()));
    let related = elsewhere.into_iter().chain(others).filter_map(|(spot, text)| {
        let message = if text.is_empty() { "here".to_owned() } else { text.to_owned() };
        Some(DiagnosticRelatedInformation { location: context.location(spot)?, message })
    });
    let related: Vec<DiagnosticRelatedInformation> = related.collect();
    let diagnostic = Diagnostic {
        range: lines.range(place.start..place.end),
        severity: Some(severity(finding.severity)),
        code: finding.code.map(|code| NumberOrString::String(code.id().to_owned())),
        code_description: finding.code.and_then(|code| context.page(code)),
        source: Some("ccl".to_owned()),
        message: message(finding),
        related_information: (!related.is_empty()).then_some(related),
        tags: tags(finding),
        data: None,
    };
    let edit = |(spot, text): &(Spot, String)| {
        let lines = context.lines(&spot.name)?;
        let mut range = lines.range(spot.start..spot.end);
        if text.is_empty() && range.start.character == 0 && range.end.character > 0 {
            // If everything on a line is removed, the line itself goes too.
            let next = lines.start(range.end.line + 1);
            let rest = lines.text().get(spot.end as usize..next as usize).unwrap_or("");
            if rest.trim().is_empty() {
                range.end = lines.position(next);
            }
        }
        Some(((context.url)(&spot.name)?, TextEdit::new(range, text.clone())))
    };
    let fix = |quick_fix: &QuickFix| {
        let mut edits = quick_fix.edits.iter().map(edit).collect::<Option<Vec<_>>>()?;
        if let Some(import) = &quick_fix.import {
            edits.extend(context.import(&finding.spot.name, import)?);
        }
        let QuickFix { title, sure, import, .. } = quick_fix;
        Some(Fix { title: title.clone(), sure: *sure, edits, import: import.clone() })
    };
    let fixes = finding.fixes.iter().filter_map(fix).collect();
    let is_allowable = |code: &Code| code.severity() != Severity::Error && elsewhere.is_none();
    let allowable = finding.code.filter(is_allowable);
    Some(Problem { url: (context.url)(&place.name)?, diagnostic, fixes, allowable })
}

fn message(finding: &Finding) -> String {
    let mut message = finding.message.clone();
    if !finding.label.is_empty() {
        message.push_str(&format!(": {}", finding.label));
    }
    for note in &finding.notes {
        message.push_str(&format!("\nnote: {note}"));
    }
    for help in &finding.helps {
        message.push_str(&format!("\nhelp: {help}"));
    }
    message
}

fn severity(severity: Severity) -> DiagnosticSeverity {
    match severity {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Note => DiagnosticSeverity::INFORMATION,
    }
}

/// Unused declarations are shown faded.
fn tags(finding: &Finding) -> Option<Vec<DiagnosticTag>> {
    match finding.code {
        Some(Code::W0201 | Code::W0202 | Code::W0203 | Code::W0204 | Code::W0205) => {
            Some(vec![DiagnosticTag::UNNECESSARY])
        }
        Some(_) | None => None,
    }
}
