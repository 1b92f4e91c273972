//! The thread that checks open files.
//!
//! In: a snapshot and the files to check, the one that was edited last first. Out: findings, sent to the publisher. The
//! rules:
//!
//! - A newer job replaces an older one and cancels it; it names all files that the older one named.
//! - If a file has not changed but something that it depends on has, the editor is asked to request its values and
//!   semantic tokens again.
//! - Syntax and types of all files are sent to the publisher before the proofs, which may take long. The proofs'
//!   findings for the previous text are shown until there are new ones.
//! - For a file with errors, the findings of its declarations are shown first. The compiler's findings for the whole
//!   file follow once nobody has typed for [`REST`]. That check takes longer the longer the file is, and runs without a
//!   snapshot, so that no edit waits for it.

use crate::actor::{self, Open, Snapshot};
use crate::analysis;
use crate::carried::Carried;
use crate::database::{self, Configuration, Db as _, Disk, Text};
use crate::diagnostics::{self, Finding};
use crate::features::problems::{self, Context};
use crate::publisher::{Known, Publisher, Stage};
use crate::settings::Settings;
use crate::text::{Encoding, Lines};
use crate::verdict::{self, Verdicts};
use crate::workspace::Workspace;
use compiler::diagnostic::nearest;
use compiler::interrupt::Interrupt;
use compiler::syntax::ast::ItemKind;
use lsp_types::Url;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long nothing must have been typed before a whole file is checked.
pub const REST: Duration = Duration::from_millis(30);

/// How long the checks of a file may take before the findings so far are shown.
const SHOW: Duration = Duration::from_millis(10);

/// A file to check.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its address.
    pub url: Url,
    /// The version of its text.
    pub version: i32,
    /// The compiler's name for it.
    pub name: String,
}

/// Files to check.
pub struct Job {
    /// The files; the first is the most urgent.
    pub subjects: Vec<Subject>,
    /// The snapshot in which they are checked.
    pub snapshot: Snapshot,
}

/// A handle to the thread.
pub struct Analyst {
    next: Arc<Mutex<Option<Job>>>,
    wake: Sender<()>,
    publisher: Publisher,
}

impl Analyst {
    /// Starts the thread, and the one that checks whole files.
    #[must_use]
    pub fn start(disk: Arc<dyn Disk>, publisher: Publisher) -> Analyst {
        let next = Arc::new(Mutex::new(None));
        let (wake, awake) = mpsc::channel();
        let (settler, jobs) = mpsc::channel();
        let mut worker = Worker {
            next: next.clone(),
            publisher: publisher.clone(),
            settler,
            dependencies: BTreeMap::new(),
            carried: BTreeMap::new(),
            said: Default::default(),
        };
        thread::spawn(move || worker.run(&awake));
        let results = publisher.clone();
        thread::spawn(move || settle(&jobs, &results, &*disk));
        Analyst { next, wake, publisher }
    }

    /// Gives the thread a job, replacing one that has not been started.
    pub fn give(&self, job: Job) {
        let old = self.next.lock().unwrap_or_else(PoisonError::into_inner).replace(job);
        drop(old);
        let _ = self.wake.send(());
    }

    /// Notes that a file is no longer open.
    pub fn forget(&self, url: &Url) {
        self.publisher.forget(url.clone());
    }
}

struct Worker {
    next: Arc<Mutex<Option<Job>>>,
    publisher: Publisher,
    /// The channel to the thread that checks whole files.
    settler: Sender<(Recheck, Interrupt)>,
    /// What each file depended on when it was last checked.
    dependencies: BTreeMap<Url, Dependencies>,
    /// The latest findings of the checks for each file.
    carried: BTreeMap<Url, Carried>,
    /// The settings, and the messages already shown about them.
    said: (Arc<Settings>, BTreeSet<String>),
}

/// Everything besides its text that a file's diagnostics depend on.
#[derive(PartialEq)]
struct Dependencies {
    /// The version of the text at which this was recorded.
    version: i32,
    settings: Arc<Settings>,
    /// The texts of the files that it imports.
    texts: BTreeMap<String, Text>,
}

/// Files with errors, and everything needed to check them without a snapshot.
struct Recheck {
    subjects: Vec<Subject>,
    texts: BTreeMap<String, Text>,
    settings: Arc<Settings>,
    open: Arc<BTreeMap<Url, Open>>,
    workspace: Arc<Workspace>,
    encoding: Encoding,
}

impl Worker {
    fn run(&mut self, awake: &Receiver<()>) {
        let mut recheck: Option<Recheck> = None;
        let mut settling = Interrupt::default();
        loop {
            let woken = match &recheck {
                Some(_) => awake.recv_timeout(REST),
                None => awake.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match woken {
                Ok(()) => {
                    let job = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some(job) = job else { continue };
                    settling.set();
                    recheck = self.look(job);
                }
                Err(RecvTimeoutError::Timeout) => {
                    settling = Interrupt::default();
                    if let Some(recheck) = recheck.take() {
                        let _ = self.settler.send((recheck, settling.clone()));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Does a job unless it is cancelled; returns the files that must be checked as a whole.
    fn look(&mut self, job: Job) -> Option<Recheck> {
        let Job { subjects, snapshot } = job;
        let mut doubtful = Vec::new();
        self.carried.retain(|url, _| snapshot.open.contains_key(url));
        let look = || {
            let mut sound = Vec::new();
            // The types of all files come first, so that a slow proof in one does not delay what is known of the
            // others.
            for subject in &subjects {
                match self.types(&snapshot, subject) {
                    Some(types) => sound.push((subject, types)),
                    None => doubtful.push(subject.clone()),
                }
            }
            for (subject, types) in &sound {
                self.proofs(&snapshot, subject, types);
            }
            let dependencies =
                |subject: &Subject| (subject.url.clone(), Dependencies::on(&snapshot, subject));
            (subjects.iter().map(dependencies).collect(), unmet(&snapshot, &subjects))
        };
        // A cancelled job is followed by another one about the same files. If a job panics, only its diagnostics are
        // lost.
        let look = AssertUnwindSafe(|| salsa::Cancelled::catch(AssertUnwindSafe(look)));
        let looked = panic::catch_unwind(look);
        if !matches!(looked, Ok(Err(_))) {
            self.publisher.idle();
        }
        let (dependencies, unmet) = looked.ok()?.ok()?;
        self.rely(dependencies);
        let settings = Configuration::get(&snapshot.database).settings(&snapshot.database);
        self.say_once(&settings, unmet);
        (!doubtful.is_empty()).then(|| Recheck {
            subjects: doubtful,
            texts: snapshot.database.texts(),
            settings,
            open: snapshot.open.clone(),
            workspace: snapshot.workspace.clone(),
            encoding: snapshot.encoding,
        })
    }

    /// Reports parameter settings that fit no open program, once for each change of the settings.
    fn say_once(&mut self, settings: &Arc<Settings>, unmet: Vec<String>) {
        if self.said.0 != *settings {
            self.said = (settings.clone(), BTreeSet::new());
        }
        for text in unmet {
            if self.said.1.insert(text.clone()) {
                self.publisher.say(text);
            }
        }
    }

    /// Records what files depend on; notifies the publisher if that has changed for a file whose text has not.
    fn rely(&mut self, dependencies: BTreeMap<Url, Dependencies>) {
        let old = std::mem::replace(&mut self.dependencies, dependencies);
        let stale = |(url, new): (&Url, &Dependencies)| {
            old.get(url).is_some_and(|old| old.version == new.version && old != new)
        };
        if self.dependencies.iter().any(stale) {
            self.publisher.stale();
        }
    }

    /// Checks the syntax and the types of a file; none if it must be checked as a whole.
    fn types(&mut self, snapshot: &Snapshot, subject: &Subject) -> Option<Vec<Finding>> {
        let database = &snapshot.database;
        let document = database.document(&subject.name);
        let found = diagnostics::types(database, document);
        if found.doubtful {
            self.publish(snapshot, subject, Stage::Doubtful, &found.findings, Verdicts::new());
            return None;
        }
        let text = document.text(database).unwrap_or_default();
        let carried = self.carried.entry(subject.url.clone()).or_default();
        carried.follow(&subject.name, &text);
        let all = carried.with(&found.findings);
        self.publish(snapshot, subject, Stage::Types, &all, Verdicts::new());
        Some(found.findings)
    }

    /// Checks the programs of a file; while that takes long, shows the findings so far.
    fn proofs(&mut self, snapshot: &Snapshot, subject: &Subject, types: &[Finding]) {
        let database = &snapshot.database;
        let (mut shown, mut news) = (Instant::now(), false);
        let (mut titles, mut verdicts) = (BTreeSet::new(), Verdicts::new());
        for part in analysis::parts(database, database.document(&subject.name)) {
            let title = part.declaration.title(database);
            if title.starts_with("program") {
                self.publisher.busy(title.clone());
            }
            let carried = self.carried.entry(subject.url.clone()).or_default();
            if news && shown.elapsed() > SHOW {
                let all = carried.with(types);
                self.publish(snapshot, subject, Stage::Types, &all, verdicts.clone());
                (shown, news) = (Instant::now(), false);
            }
            let found = diagnostics::proof(database, part);
            verdicts.extend(verdict::verdict(database, part.declaration));
            let carried = self.carried.entry(subject.url.clone()).or_default();
            news |= carried.set(title.clone(), found);
            titles.insert(title);
        }
        let carried = self.carried.entry(subject.url.clone()).or_default();
        carried.keep(&titles);
        let all = carried.with(types);
        self.publish(snapshot, subject, Stage::Whole, &all, verdicts);
    }

    fn publish(
        &self,
        snapshot: &Snapshot,
        subject: &Subject,
        stage: Stage,
        found: &[Finding],
        verdicts: Verdicts,
    ) {
        let lines = |name: &str| snapshot.lines(name);
        let url = |name: &str| snapshot.url(name);
        let context = Context::new(&lines, &url);
        let problems = problems::problems(&context, &subject.name, found);
        let known = Known { version: subject.version, stage, problems, verdicts };
        self.publisher.publish(subject.url.clone(), known);
    }
}

/// Messages about parameter settings that no program in these files has, if a program has a parameter with a similar
/// name. Without a similar name, the setting is probably meant for programs that are not open.
fn unmet(snapshot: &Snapshot, subjects: &[Subject]) -> Vec<String> {
    let database = &snapshot.database;
    let settings = Configuration::get(database).settings(database);
    if settings.parameters.is_empty() {
        return Vec::new();
    }
    let mut names = BTreeSet::new();
    for subject in subjects {
        for part in analysis::parts(database, database.document(&subject.name)) {
            for item in &database::parsed(database, part.declaration).file.items {
                if let ItemKind::Program(program) = &item.kind {
                    names.extend(program.parameters.iter().map(|one| one.name.text.clone()));
                }
            }
        }
    }
    let unmet = settings.parameters.keys().filter(|name| !names.contains(*name));
    let led = unmet.filter_map(|name| {
        let near = nearest(name, names.iter().map(String::as_str))?;
        Some(format!(
            "ccl settings: no open program has a parameter `{name}`, which `parameters` sets: did you mean `{near}`?"
        ))
    });
    led.collect()
}

impl Dependencies {
    fn on(snapshot: &Snapshot, subject: &Subject) -> Dependencies {
        let database = &snapshot.database;
        let mut texts = BTreeMap::new();
        for part in analysis::parts(database, database.document(&subject.name)) {
            let resolved = database::resolved(database, part.declaration);
            for file in resolved.sources.files.iter().skip(1) {
                let text = || database.document(&file.name).text(database);
                if !file.name.starts_with("std::") && !texts.contains_key(&file.name) {
                    texts.insert(file.name.clone(), text());
                }
            }
        }
        let settings = Configuration::get(database).settings(database);
        Dependencies { version: subject.version, settings, texts }
    }
}

/// Checks whole files, one job after the other.
fn settle(jobs: &Receiver<(Recheck, Interrupt)>, publisher: &Publisher, disk: &dyn Disk) {
    while let Ok((recheck, interrupt)) = jobs.recv() {
        // If the check of a file panics, the findings of its declarations stay.
        let _ =
            panic::catch_unwind(AssertUnwindSafe(|| whole(&recheck, &interrupt, publisher, disk)));
    }
}

fn whole(recheck: &Recheck, interrupt: &Interrupt, publisher: &Publisher, disk: &dyn Disk) {
    for subject in &recheck.subjects {
        let (texts, settings) = (&recheck.texts, &recheck.settings);
        let checked = diagnostics::whole(&subject.name, texts, disk, settings, interrupt);
        if interrupt.is_set() {
            return;
        }
        let text = |name: &str| texts.get(name).cloned().unwrap_or_else(|| disk.read(name)).ok();
        let lines = |name: &str| Some(Arc::new(Lines::new(text(name)?, recheck.encoding)));
        let url = |name: &str| actor::url(&recheck.open, &recheck.workspace, name);
        let context = Context::new(&lines, &url);
        let problems = problems::problems(&context, &subject.name, &checked.findings);
        let (version, verdicts) = (subject.version, checked.verdicts);
        let known = Known { version, stage: Stage::Whole, problems, verdicts };
        publisher.publish(subject.url.clone(), known);
    }
}
