//! The thread that finds out what is wrong with open files.
//!
//! In: a snapshot and the files to look at, the one that was edited last first. Out: findings to the publisher. The
//! rules:
//!
//! - A newer job replaces an older one, and cancels it: it names all files that the older one named.
//! - A file that has not changed, while something that it relies on has, is shown anew: values in it, and what its words
//!   are.
//! - Syntax and types are handed to the publisher before the proofs, which may take long.
//! - A file with errors is shown what its declarations say on their own. What the compiler says of the whole file
//!   follows once nobody has typed for [`REST`]: it takes as long as the file is, and runs without a snapshot, so that
//!   no edit waits for it.

use crate::actor::{self, Open, Snapshot};
use crate::analysis;
use crate::database::{self, Configuration, Db as _, Disk, Text};
use crate::diagnostics::{self, Finding};
use crate::features::problems::{self, Context};
use crate::publisher::{Publisher, Stage};
use crate::settings::Settings;
use crate::text::Encoding;
use crate::workspace::Workspace;
use compiler::interrupt::Interrupt;
use lsp_types::Url;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long nothing must be typed before a whole file is looked at.
pub const REST: Duration = Duration::from_millis(30);

/// A file to look at.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its address.
    pub url: Url,
    /// The version of its text.
    pub version: i32,
    /// What the compiler calls it.
    pub name: String,
}

/// Files to look at.
pub struct Job {
    /// The files; the first is the most urgent.
    pub subjects: Vec<Subject>,
    /// What they are looked at in.
    pub snapshot: Snapshot,
}

/// The way to the thread.
pub struct Analyst {
    next: Arc<Mutex<Option<Job>>>,
    wake: Sender<()>,
    publisher: Publisher,
}

impl Analyst {
    /// Starts the thread.
    #[must_use]
    pub fn start(disk: Arc<Disk>, publisher: Publisher) -> Analyst {
        let next = Arc::new(Mutex::new(None));
        let (wake, awake) = mpsc::channel();
        let (settler, jobs) = mpsc::channel();
        let relied = BTreeMap::new();
        let mut worker =
            Worker { next: next.clone(), publisher: publisher.clone(), settler, relied };
        thread::spawn(move || worker.run(&awake));
        let teller = publisher.clone();
        thread::spawn(move || settle(&jobs, &teller, &*disk));
        Analyst { next, wake, publisher }
    }

    /// Gives a job, in place of one that has not been begun.
    pub fn give(&self, job: Job) {
        let old = self.next.lock().unwrap_or_else(PoisonError::into_inner).replace(job);
        drop(old);
        let _ = self.wake.send(());
    }

    /// A file is not open any more.
    pub fn forget(&self, url: &Url) {
        self.publisher.forget(url.clone());
    }
}

struct Worker {
    next: Arc<Mutex<Option<Job>>>,
    publisher: Publisher,
    /// The thread that looks at whole files.
    settler: Sender<(Doubts, Interrupt)>,
    /// What files relied on when they were last looked at.
    relied: BTreeMap<Url, Relied>,
}

/// What decides about a file besides its text.
#[derive(PartialEq)]
struct Relied {
    /// The version of its text, for which this holds.
    version: i32,
    settings: Arc<Settings>,
    /// The files that it imports.
    texts: BTreeMap<String, Text>,
}

/// Files with errors, and all that is needed to look at them without a snapshot.
struct Doubts {
    subjects: Vec<Subject>,
    texts: BTreeMap<String, Text>,
    settings: Arc<Settings>,
    open: Arc<BTreeMap<Url, Open>>,
    workspace: Arc<Workspace>,
    encoding: Encoding,
}

impl Worker {
    fn run(&mut self, awake: &Receiver<()>) {
        let mut doubts: Option<Doubts> = None;
        let mut settling = Interrupt::default();
        loop {
            let woken = match &doubts {
                Some(_) => awake.recv_timeout(REST),
                None => awake.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match woken {
                Ok(()) => {
                    let job = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some(job) = job else { continue };
                    settling.set();
                    doubts = self.look(job);
                }
                Err(RecvTimeoutError::Timeout) => {
                    settling = Interrupt::default();
                    if let Some(doubts) = doubts.take() {
                        let _ = self.settler.send((doubts, settling.clone()));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Does a job, until it is cancelled; files about which there are doubts are left over.
    fn look(&mut self, job: Job) -> Option<Doubts> {
        let Job { subjects, snapshot } = job;
        let (mut doubtful, mut relied) = (Vec::new(), BTreeMap::new());
        let look = || {
            for subject in &subjects {
                if self.one(&snapshot, subject) {
                    doubtful.push(subject.clone());
                }
            }
            for subject in &subjects {
                relied.insert(subject.url.clone(), Relied::on(&snapshot, subject));
            }
        };
        // A job that is cancelled is followed by another one about the same files. One that fails takes its diagnostics
        // with it, and nothing else.
        let look = AssertUnwindSafe(|| salsa::Cancelled::catch(AssertUnwindSafe(look)));
        panic::catch_unwind(look).ok()?.ok()?;
        self.rely(relied);
        let settings = Configuration::get(&snapshot.database).settings(&snapshot.database);
        (!doubtful.is_empty()).then(|| Doubts {
            subjects: doubtful,
            texts: snapshot.database.texts(),
            settings,
            open: snapshot.open.clone(),
            workspace: snapshot.workspace.clone(),
            encoding: snapshot.encoding,
        })
    }

    /// Notes what files rely on; tells where that has changed and their texts have not.
    fn rely(&mut self, relied: BTreeMap<Url, Relied>) {
        let old = std::mem::replace(&mut self.relied, relied);
        let stale = |(url, new): (&Url, &Relied)| {
            old.get(url).is_some_and(|old| old.version == new.version && old != new)
        };
        if self.relied.iter().any(stale) {
            self.publisher.stale();
        }
    }

    /// Looks at one file; says whether there are doubts.
    fn one(&self, snapshot: &Snapshot, subject: &Subject) -> bool {
        let database = &snapshot.database;
        let document = database.document(&subject.name);
        let mut found = diagnostics::types(database, document);
        let text = |name: &str| database.document(name).text(database).ok();
        let url = |name: &str| snapshot.url(name);
        let context = Context::new(snapshot.encoding, &text, &url);
        let publish = |stage, findings: &[Finding]| {
            let problems = problems::problems(&context, &subject.name, findings);
            self.publisher.publish(subject.url.clone(), subject.version, stage, problems);
        };
        if found.doubtful {
            publish(Stage::Doubtful, &found.findings);
            return true;
        }
        publish(Stage::Types, &found.findings);
        found.findings.extend(diagnostics::proofs(database, document));
        publish(Stage::Whole, &found.findings);
        false
    }
}

impl Relied {
    fn on(snapshot: &Snapshot, subject: &Subject) -> Relied {
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
        Relied { version: subject.version, settings, texts }
    }
}

/// Looks at whole files, one job after the other.
fn settle(jobs: &Receiver<(Doubts, Interrupt)>, publisher: &Publisher, disk: &Disk) {
    while let Ok((doubts, interrupt)) = jobs.recv() {
        // A file that cannot be looked at keeps what its declarations say on their own.
        let _ =
            panic::catch_unwind(AssertUnwindSafe(|| whole(&doubts, &interrupt, publisher, disk)));
    }
}

fn whole(doubts: &Doubts, interrupt: &Interrupt, publisher: &Publisher, disk: &Disk) {
    for subject in &doubts.subjects {
        let (texts, settings) = (&doubts.texts, &doubts.settings);
        let found = diagnostics::whole(&subject.name, texts, &disk, settings, interrupt);
        if interrupt.is_set() {
            return;
        }
        let text = |name: &str| texts.get(name).cloned()?.ok();
        let url = |name: &str| actor::url(&doubts.open, &doubts.workspace, name);
        let context = Context::new(doubts.encoding, &text, &url);
        let problems = problems::problems(&context, &subject.name, &found);
        publisher.publish(subject.url.clone(), subject.version, Stage::Whole, problems);
    }
}
