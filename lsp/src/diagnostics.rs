//! What is wrong with a file, as `cclc check` would report it.
//!
//! There are two ways to find out. [`parts`] processes each declaration separately, so that only the ones that an edit
//! changed are processed again; its findings are right for files without errors, and close enough to show at once for
//! others. [`whole`] runs the compiler on the whole file; it decides about files with errors, where one mistake hides
//! others, and takes longer the longer the file is.

use crate::analysis::{self, Part, Semantics, Spot};
use crate::complaints::{self, Complaint};
use crate::cut;
use crate::database::{self, Configuration, Database, Db as _, Disk, Document, Resolved, Text};
use crate::declared::program_of;
use crate::directive;
use crate::entangled::entangled;
use crate::settings::Settings;
use crate::verdict::{Verdict, Verdicts};
use compiler::diagnostic::{Certainty, Code, Diagnostic, Edit, Fix, Import, Label, Severity};
use compiler::driver::{self, Proof, Request};
use compiler::elaborate;
use compiler::interrupt::Interrupt;
use compiler::ir;
use compiler::onset;
use compiler::resolve::program::{ProgramId, Unit};
use compiler::resolve::usage;
use compiler::source::{Place, SourceMap, Span};
use compiler::syntax::ast;
use compiler::trial::{self, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A report with its places mapped to files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule; none for a comment or setting that this server cannot use.
    pub code: Option<Code>,
    /// Its severity.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub spot: Spot,
    /// If it lies in another file than the one that was checked: where it is shown in that one.
    pub home: Option<Spot>,
    /// The label of its place.
    pub label: String,
    /// The other places.
    pub related: Vec<(Spot, String)>,
    /// Notes: why, for which ranks, how often.
    pub notes: Vec<String>,
    /// Possible fixes, in words.
    pub helps: Vec<String>,
    /// The fixes that the editor can make; if there are several, each is enough.
    pub fixes: Vec<QuickFix>,
}

/// A change of files that fixes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuickFix {
    /// What it does, in the imperative.
    pub title: String,
    /// Whether it is certain to be right.
    pub sure: bool,
    /// The ranges to replace, and their new texts.
    pub edits: Vec<(Spot, String)>,
    /// The name that the file must import in addition.
    pub import: Option<Import>,
}

/// The findings about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// Whether only [`whole`] can decide.
    pub doubtful: bool,
}

/// What the compiler finds when it checks a file as a whole.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// The verdicts about its programs; empty if there are errors for which no program is checked.
    pub verdicts: Verdicts,
}

/// The findings about syntax and types.
#[must_use]
pub fn types(database: &Database, document: Document) -> Findings {
    let parts = analysis::parts(database, document);
    let mut found = Findings { doubtful: false, findings: Vec::new() };
    let faulty: Vec<bool> =
        parts.iter().map(|part| database::is_faulty(database, part.declaration)).collect();
    if faulty.contains(&true) {
        found.doubtful = true;
        for (part, _) in parts.iter().zip(faulty).filter(|(_, faulty)| *faulty) {
            found.findings.extend(syntax(database, *part));
        }
        return found;
    }
    found.doubtful =
        entangled(database, document) || database::directory(database, document).clashes;
    let mut mentioned = BTreeSet::new();
    for part in &parts {
        let resolved = database::resolved(database, part.declaration);
        found.doubtful |= resolved.broken;
        mentioned.extend(resolved.mentioned.iter().cloned());
    }
    for part in &parts {
        let resolved = database::resolved(database, part.declaration);
        if resolved.reports.is_empty() {
            continue;
        }
        let semantics = Semantics::new(database, part.declaration);
        let own = resolved.reports.iter().filter(|report| own(&semantics, report));
        let counts = |report: &&Diagnostic| {
            (!found.doubtful || report.severity == Severity::Error) && report.code != Code::W0201
        };
        found.findings.extend(own.filter(counts).filter_map(|report| {
            let finding = semantic(&semantics, report)?;
            Some(with_own_removal(database, *part, &semantics, report, finding))
        }));
        if !found.doubtful {
            found.findings.extend(unused_imports(database, *part, &semantics, &mentioned));
        }
    }
    if !found.doubtful {
        found.findings.extend(parts.iter().flat_map(|part| complained(database, *part)));
    }
    found
}

/// The findings of the checks for all programs; to be called only if [`types`] has no doubt.
#[must_use]
pub fn proofs(database: &Database, document: Document) -> Vec<Finding> {
    let mut findings = Vec::new();
    for part in analysis::parts(database, document) {
        findings.extend(proof(database, part));
    }
    findings
}

/// The findings of the checks for a declaration; none if it is neither a program nor a topology.
#[must_use]
pub fn proof(database: &Database, part: Part<'_>) -> Vec<Finding> {
    let topologies = machines(database, part);
    if !topologies.is_empty() {
        return topologies;
    }
    let proved = database::proved(database, part.declaration);
    if proved.reports.is_empty() {
        return Vec::new();
    }
    let semantics = Semantics::new(database, part.declaration);
    let program = semantics.resolved.unit.programs.iter().next();
    let home = program.map(|program| semantics.spot(program.span));
    let found = proved.reports.iter().filter_map(|report| semantic(&semantics, report));
    found.map(|finding| at_home(finding, home.as_ref())).collect()
}

/// The findings about the topologies of a declaration that need no arguments.
fn machines(database: &Database, part: Part<'_>) -> Vec<Finding> {
    let parsed = database::parsed(database, part.declaration);
    let names: Vec<&str> = parsed
        .file
        .items
        .iter()
        .filter_map(|item| match &item.kind {
            ast::ItemKind::Topology(topology) => Some(topology.name.text.as_str()),
            ast::ItemKind::Use(_)
            | ast::ItemKind::Let(_)
            | ast::ItemKind::Function(_)
            | ast::ItemKind::Procedure(_)
            | ast::ItemKind::Collective(_)
            | ast::ItemKind::Program(_) => None,
        })
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let semantics = Semantics::new(database, part.declaration);
    let unit = &semantics.resolved.unit;
    let mut findings = Vec::new();
    for (id, topology) in unit.topologies.entries() {
        if !names.contains(&topology.name.as_str()) || unit.library.contains(&topology.span.file) {
            continue;
        }
        let home = semantics.spot(topology.span);
        let reports = elaborate::evaluate_alone(unit, id, database.interrupt()).1;
        let found = reports.iter().filter_map(|report| semantic(&semantics, report));
        findings.extend(found.map(|finding| at_home(finding, Some(&home))));
    }
    findings
}

/// Warnings about settings and comments that are ignored for a declaration.
fn complained(database: &Database, part: Part<'_>) -> Vec<Finding> {
    let (text, settings) =
        (part.declaration.text(database), Configuration::get(database).settings(database));
    if settings.parameters.is_empty() && !text.contains("//") {
        return Vec::new();
    }
    let resolved = database::resolved(database, part.declaration);
    let program = resolved.unit.programs.iter().next();
    let found = complaints::complaints(&settings, program, &text);
    if found.is_empty() {
        return Vec::new();
    }
    let semantics = Semantics::new(database, part.declaration);
    let name = part.declaration.document(database).name(database);
    let spot = |place: &complaints::Place| match place {
        complaints::Place::Comment(range) => here(&name, part.start, range),
        complaints::Place::Parameter(span) => semantics.spot(*span),
    };
    found.iter().map(|one| complaint(one, spot(&one.place), &name, part.start)).collect()
}

/// All findings, computed for each declaration separately.
#[must_use]
pub fn parts(database: &Database, document: Document) -> Findings {
    let mut found = types(database, document);
    if !found.doubtful {
        found.findings.extend(proofs(database, document));
        found.findings.sort_by(|a, b| a.spot.cmp(&b.spot));
    }
    found
}

/// Everything that `cclc check` reports for a file; empty if it was interrupted.
#[must_use]
pub fn whole(
    name: &str,
    texts: &BTreeMap<String, Text>,
    disk: &dyn Disk,
    checked_with: &Settings,
    interrupt: &Interrupt,
) -> Checked {
    let known = |name: &str| texts.get(name).cloned().unwrap_or_else(|| disk.read(name));
    let Ok(text) = known(name) else { return Checked::default() };
    let mut read = |import: &str| disk.refuse_import(name, import).and_then(|()| known(import));
    let mut sources = SourceMap::default();
    let main = sources.add(name, text.clone());
    let (unit, mut reports) = driver::load(main, &mut sources, &mut read);
    let mut homes = vec![None; reports.len()];
    let (mut complained, mut verdicts) = (Vec::new(), Verdicts::new());
    if !driver::has_errors(&reports) {
        for (id, topology) in unit.topologies.entries() {
            if topology.span.file == main {
                let found = elaborate::evaluate_alone(&unit, id, interrupt).1;
                reports.extend(
                    found
                        .into_iter()
                        .filter(|report| !reports.contains(report))
                        .collect::<Vec<_>>(),
                );
                homes.resize(reports.len(), Some(topology.span));
            }
        }
        for (id, program) in unit.programs.entries() {
            if interrupt.is_set() {
                return Checked::default();
            }
            let (_, piece) = cut::piece(&text, program.span.start);
            let directive = directive::directive(piece);
            let elaboration = checked_with.elaboration(program, &directive);
            let (mut found, lowered) = prove(&unit, id, &elaboration, checked_with, interrupt);
            verdicts.insert(
                program.name.clone(),
                Verdict::new(&found, lowered.map(|program| program.ranks.len())),
            );
            confirm((&sources, &unit, id), &elaboration, checked_with, interrupt, &mut found);
            checked_with.attribute(program, &directive, &mut found);
            reports.extend(found);
            homes.resize(reports.len(), Some(program.span));
        }
        complained = cut::pieces(&text)
            .flat_map(|(start, piece)| {
                let inside = |at: u32| (start..start + piece.len() as u32).contains(&at);
                let program = unit.programs.iter().find(|program| inside(program.span.start));
                let found = complaints::complaints(checked_with, program, piece);
                found.into_iter().map(move |one| (start, one))
            })
            .collect();
    }
    let place = |span: Span| Spot {
        name: sources.files.lookup(span.file).map(|file| file.name.clone()).unwrap_or_default(),
        start: span.start,
        end: span.end,
    };
    let mut findings = Vec::new();
    for (report, home) in reports.iter().zip(homes) {
        let Some(finding) = finding(report, &place, &place) else { continue };
        let elsewhere = finding.spot.name != name;
        let import = || if elsewhere { import(name, &text, &finding.spot.name) } else { None };
        let home = home.map(place).or_else(import);
        findings.push(at_home(finding, home.as_ref()));
    }
    findings.extend(complained.iter().map(|(start, one)| {
        let spot = match &one.place {
            complaints::Place::Comment(range) => here(name, *start, range),
            complaints::Place::Parameter(span) => place(*span),
        };
        complaint(one, spot, name, *start)
    }));
    findings.sort_by(|a, b| a.spot.cmp(&b.spot));
    Checked { findings, verdicts }
}

/// Checks a program: returns the reports, and the program in its final form, if it has one.
pub(crate) fn prove(
    unit: &Unit,
    program: ProgramId,
    elaboration: &elaborate::Settings,
    settings: &Settings,
    interrupt: &Interrupt,
) -> (Vec<Diagnostic>, Option<ir::Program>) {
    let (target, capacity) = (settings.target, settings.capacity());
    let proof = Proof::Needed;
    let request = Request { unit, program, settings: elaboration, target, proof, interrupt };
    let (made, mut reports) = driver::check_program(&request, capacity);
    onset::explain(&request, capacity, &mut reports);
    (reports, made)
}

/// Makes fixes for the reports, and tries which of them fix the program.
pub(crate) fn confirm(
    (sources, unit, program): (&SourceMap, &Unit, ProgramId),
    elaboration: &elaborate::Settings,
    settings: &Settings,
    interrupt: &Interrupt,
    reports: &mut [Diagnostic],
) {
    let (target, capacity) = (settings.target, settings.capacity());
    let check = |unit: &Unit, program: ProgramId, settings: &elaborate::Settings, proof: Proof| {
        let request = Request { unit, program, settings, target, proof, interrupt };
        driver::check_program(&request, capacity).1
    };
    let settings = std::slice::from_ref(elaboration);
    let subject = Subject { sources, unit, program, settings, check: &check, interrupt };
    trial::confirm(subject, reports);
}

/// The syntax errors of a declaration.
fn syntax(database: &Database, part: Part<'_>) -> Vec<Finding> {
    let name = part.declaration.document(database).name(database);
    let place = |span: Span| {
        let range = part.range(span);
        Spot { name: name.to_string(), start: range.start, end: range.end }
    };
    let parsed = database::parsed(database, part.declaration);
    parsed.reports.iter().filter_map(|report| finding(report, &place, &place)).collect()
}

/// Whether a report is about the declaration itself; reports about the others in the excerpt are theirs.
fn own(semantics: &Semantics<'_>, report: &Diagnostic) -> bool {
    match report.primary.as_ref().map(|label| label.place) {
        Some(Place::Source(span)) => semantics.is_own(span),
        Some(Place::Plan(_)) | None => false,
    }
}

/// The finding with the compiler's edit for the file in place of that for the excerpt, if it is about a statement that
/// nothing uses: the excerpt has neither its comments nor its blanks.
fn with_own_removal(
    database: &Database,
    part: Part<'_>,
    semantics: &Semantics<'_>,
    report: &Diagnostic,
    finding: Finding,
) -> Finding {
    let is_unused = matches!(report.code, Code::W0202 | Code::W0203 | Code::W0204 | Code::W0205);
    let edits = report.fix.as_ref().map(|fix| &*fix.edits);
    let (true, Some([edit])) = (is_unused, edits) else { return finding };
    let removed = semantics.resolved.sources.slice(edit.span);
    let blanks_before = (removed.len() - removed.trim_start().len()) as u32;
    let blanks_behind = (removed.len() - removed.trim_end().len()) as u32;
    let (start, end) = (edit.span.start + blanks_before, edit.span.end - blanks_behind);
    let spot = semantics.spot(Span { start, end, ..edit.span });
    if is_documented(database, part, &spot) {
        // Without the statement, its documentation would be that of what follows.
        let helps =
            finding.helps.iter().map(|help| help.replacen("to keep it, ", "remove it, or ", 1));
        return Finding { helps: helps.collect(), fixes: Vec::new(), ..finding };
    }
    let text = part.declaration.document(database).text(database).unwrap_or_default();
    let own = usage::removal(Span { start: spot.start, end: spot.end, ..edit.span }, &text);
    let place = Spot { start: own.span.start, end: own.span.end, ..spot };
    let removal =
        |fix: QuickFix| QuickFix { edits: vec![(place.clone(), own.text.clone())], ..fix };
    Finding { fixes: finding.fixes.into_iter().map(removal).collect(), ..finding }
}

/// Whether a statement at the top level of a program has documentation.
fn is_documented(database: &Database, part: Part<'_>, statement: &Spot) -> bool {
    let parsed = database::parsed(database, part.declaration);
    let mut items = parsed.file.items.iter().filter_map(program_of).flat_map(|one| &one.items);
    items.any(|item| {
        let range = part.range(item.span);
        !item.docs.is_empty() && range.end == statement.end && range.start <= statement.start
    })
}

/// The imports of a declaration that nothing in the file mentions. In the excerpt, which has only what the declaration
/// needs, all names of an import are unused; which of them are removed together only the file can tell.
fn unused_imports(
    database: &Database,
    part: Part<'_>,
    semantics: &Semantics<'_>,
    mentioned: &BTreeSet<String>,
) -> Vec<Finding> {
    let Resolved { reports, .. } = &*semantics.resolved;
    let unused: BTreeSet<Place> = (reports.iter())
        .filter(|report| report.code == Code::W0201)
        .filter_map(|report| report.primary.as_ref().map(|label| label.place))
        .collect();
    if unused.is_empty() {
        return Vec::new();
    }
    let (text, parsed) =
        (part.declaration.text(database), database::parsed(database, part.declaration));
    let name = part.declaration.document(database).name(database);
    let place = |span: Span| here(&name, part.start, &(span.start..span.end));
    let mut found = Vec::new();
    for item in &parsed.file.items {
        let ast::ItemKind::Use(import) = &item.kind else { continue };
        let is_unused = |name: &ast::UseName| {
            let here = name.known_as();
            !mentioned.contains(&here.text)
                && unused.contains(&Place::Source(semantics.place(here.span)))
        };
        let unused: Vec<bool> = import.names.iter().map(is_unused).collect();
        let reports = usage::unused_imports(item, import, &unused, &text);
        found.extend(reports.iter().filter_map(|report| finding(report, &place, &place)));
    }
    found
}

fn semantic(semantics: &Semantics<'_>, report: &Diagnostic) -> Option<Finding> {
    finding(report, &|span| semantics.spot(span), &|span| semantics.edited(span))
}

/// A report with its places mapped to files; none if it has no place in a text.
fn finding(
    report: &Diagnostic,
    place: &dyn Fn(Span) -> Spot,
    edited: &dyn Fn(Span) -> Spot,
) -> Option<Finding> {
    let spot = |label: &Label| match label.place {
        Place::Source(span) => Some(place(span)),
        Place::Plan(_) => None,
    };
    let primary = report.primary.as_ref()?;
    let related = report.secondary.iter();
    // Where an import goes is known only for the whole file.
    let is_here = |edit: &&Edit| Place::Source(edit.span) == primary.place;
    let quick_fix = |fix: &Fix| QuickFix {
        title: fix.title.clone(),
        sure: fix.certainty == Certainty::Sure,
        edits: (fix.edits.iter())
            .filter(|edit| fix.import.is_none() || is_here(edit))
            .map(|edit| (edited(edit.span), edit.text.clone()))
            .collect(),
        import: fix.import.clone(),
    };
    Some(Finding {
        code: Some(report.code),
        severity: report.severity,
        message: report.message.clone(),
        spot: spot(primary)?,
        home: None,
        label: primary.text.clone(),
        related: related.filter_map(|label| Some((spot(label)?, label.text.clone()))).collect(),
        notes: report.notes.clone(),
        helps: report.helps.iter().map(|help| for_editors(help)).collect(),
        fixes: report.fix.iter().chain(&report.alternatives).map(quick_fix).collect(),
    })
}

/// A help text that mentions command-line options, reworded for someone in an editor.
fn for_editors(help: &str) -> String {
    help.replace("--max-operations", "the editor's setting `ccl.maxOperations`")
        .replace("`-D ranks_per_node=..`", "`// ccl: ranks_per_node=..` above the program")
        .replace("`-D ranks_per_domain=..`", "`// ccl: ranks_per_domain=..` above the program")
        .replace("`-D ", "`// ccl: ")
        .replace("=VALUE`", "=value` above the program")
}

/// Sets where a finding that lies in another file is shown: at a related place in this file, or else at `home`.
fn at_home(finding: Finding, home: Option<&Spot>) -> Finding {
    let Some(home) = home.filter(|home| home.name != finding.spot.name) else { return finding };
    let here = finding.related.iter().find(|(spot, _)| spot.name == home.name);
    let home = here.map_or(home, |(spot, _)| spot).clone();
    Finding { home: Some(home), ..finding }
}

/// Roughly where a file imports another one: the quoted text that ends with its name.
fn import(name: &str, text: &str, other: &str) -> Option<Spot> {
    let quoted = format!("{}\"", other.rsplit('/').next().unwrap_or(other));
    let end = text.find(&quoted)? + quoted.len();
    let start = text.get(..end - 1)?.rfind('"')?;
    Some(Spot { name: name.to_owned(), start: start as u32, end: end as u32 })
}

/// A range in a declaration that begins at `start`.
fn here(name: &str, start: u32, range: &Range<u32>) -> Spot {
    Spot { name: name.to_owned(), start: start + range.start, end: start + range.end }
}

/// The warning about something that is ignored in the declaration that begins at `start`.
fn complaint(complaint: &Complaint, spot: Spot, name: &str, start: u32) -> Finding {
    let quick_fix = |(title, range, text): (String, Range<u32>, String)| QuickFix {
        title,
        sure: true,
        edits: vec![(here(name, start, &range), text)],
        import: None,
    };
    Finding {
        code: None,
        severity: Severity::Warning,
        message: complaint.message.clone(),
        spot,
        home: None,
        label: String::new(),
        related: Vec::new(),
        notes: Vec::new(),
        helps: vec![complaint.help.clone()],
        fixes: complaint.fix.clone().map(quick_fix).into_iter().collect(),
    }
}
