//! The one thread that owns the database.
//!
//! In: commands in the order in which messages arrived. Out: snapshots for questions, and work for the analyst. The
//! rules:
//!
//! - Edits are applied in order; the database is told once for all that wait in the queue, or before a question.
//! - Telling it cancels whatever is being computed. Diagnostics are then begun anew; a question is asked again, unless
//!   the file that it is about has changed: then it is answered with "content modified".
//! - Questions run on threads of their own, so that none waits for diagnostics.

use crate::analysis::{Analysis, Spot};
use crate::analyst::{Analyst, Job, Subject};
use crate::database::{self, Database, Db as _, Disk};
use crate::publisher::Publisher;
use crate::settings::Settings;
use crate::text::{self, Encoding, Lines};
use crate::workspace::Workspace;
use lsp_types::{Location, TextDocumentContentChangeEvent, Url};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tokio::sync::oneshot;

/// How many questions are worked on at once: some wait for checks, and the others must not wait for them.
const ANSWERERS: usize = 4;

/// What the actor is told.
pub enum Command {
    /// A file is open, with this text.
    Open(Url, i32, String),
    /// An open file has changed.
    Change(Url, i32, Vec<TextDocumentContentChangeEvent>),
    /// A file is not open any more.
    Close(Url),
    /// Files on the disk may have changed.
    OnDisk(Vec<Url>),
    /// The settings are these.
    Configure(Settings),
    /// Folders are worked in now, and others are not any more.
    Folders(Vec<PathBuf>, Vec<PathBuf>),
    /// Something is to be computed.
    Ask(Question),
}

/// Something to compute, about one file or about all.
pub struct Question {
    /// The file that it is about, and its version when it was asked.
    about: Option<(Url, Option<i32>)>,
    work: Box<Attempt>,
}

/// Tries to answer; may be called again where that was cancelled.
type Attempt = dyn FnMut(&Snapshot, Fate) -> Outcome + Send;

/// Whether a question still has an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Live,
    Stale,
}

/// Whether an answer came about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    Cancelled,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The file has changed since.
    Modified,
    /// The server is about to end, or something is broken in it.
    Gone,
}

/// What comes of a question.
pub type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// A file that is open in the editor.
#[derive(Clone, Debug)]
pub struct Open {
    /// The version of its text.
    pub version: i32,
    /// Its text.
    pub text: Arc<str>,
    /// What the compiler calls it.
    pub name: String,
}

/// Everything that is known at one time.
#[derive(Clone)]
pub struct Snapshot {
    /// Open files.
    pub open: Arc<BTreeMap<Url, Open>>,
    /// Names of files.
    pub workspace: Arc<Workspace>,
    /// In what columns are counted.
    pub encoding: Encoding,
    /// The database; last, so that it is dropped last.
    pub database: Database,
}

impl Snapshot {
    /// A file, as features see it.
    #[must_use]
    pub fn analysis(&self, url: &Url) -> Analysis<'_> {
        let name = self.open.get(url).map(|open| open.name.clone());
        let name = name.unwrap_or_else(|| self.workspace.name(url));
        Analysis::new(&self.database, &self.workspace, &name, self.encoding)
    }

    /// The version of a file, if it is open.
    #[must_use]
    pub fn version(&self, url: &Url) -> Option<i32> {
        self.open.get(url).map(|open| open.version)
    }

    /// The address of a file.
    #[must_use]
    pub fn url(&self, name: &str) -> Option<Url> {
        url(&self.open, &self.workspace, name)
    }

    /// The lines of a file; none where it cannot be read.
    #[must_use]
    pub fn lines(&self, name: &str) -> Option<Arc<Lines>> {
        let document = self.database.document(name);
        document.text(&self.database).ok()?;
        Some(database::lines(&self.database, document, self.encoding))
    }

    /// A range of a file, as clients speak of it.
    #[must_use]
    pub fn location(&self, spot: &Spot) -> Option<Location> {
        let lines = self.lines(&spot.name)?;
        Some(Location::new(self.url(&spot.name)?, lines.range(spot.start..spot.end)))
    }

    /// The names of all source files, open ones and those in the folders.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let open = self.open.values().map(|open| open.name.clone());
        let all: BTreeSet<String> = open.chain(self.workspace.files()).collect();
        all.into_iter().collect()
    }
}

/// The address of a file: what the client calls it where it is open.
pub(crate) fn url(open: &BTreeMap<Url, Open>, workspace: &Workspace, name: &str) -> Option<Url> {
    let known = open.iter().find(|(_, open)| open.name == name).map(|(url, _)| url.clone());
    known.or_else(|| workspace.url(name))
}

/// The way to the actor.
#[derive(Clone)]
pub struct Handle {
    queue: Sender<Command>,
}

impl Handle {
    /// Puts a command into the queue.
    pub fn send(&self, command: Command) {
        // Without an actor there is nobody to tell.
        let _ = self.queue.send(command);
    }

    /// Asks something about the state that this command finds in its turn in the queue. The command is in the queue
    /// when this returns; the answer comes later.
    pub fn ask<T: Send + 'static>(
        &self,
        about: Option<Url>,
        work: impl Fn(&Snapshot) -> T + Send + 'static,
    ) -> Answer<T, Refusal> {
        let (sender, receiver) = oneshot::channel();
        let mut sender = Some(sender);
        let work = Box::new(move |snapshot: &Snapshot, fate| {
            let answer = match fate {
                Fate::Stale => Err(Refusal::Modified),
                Fate::Live => match salsa::Cancelled::catch(AssertUnwindSafe(|| work(snapshot))) {
                    Ok(answer) => Ok(answer),
                    Err(_) => return Outcome::Cancelled,
                },
            };
            // Whoever asked may not wait any more.
            sender.take().map(|sender| sender.send(answer).ok());
            Outcome::Answered
        });
        self.send(Command::Ask(Question { about: about.map(|url| (url, None)), work }));
        Box::pin(async move { receiver.await.unwrap_or(Err(Refusal::Gone)) })
    }
}

/// Starts the actor and its threads.
#[must_use]
pub fn start(
    workspace: Workspace,
    encoding: Encoding,
    settings: Settings,
    publisher: Publisher,
) -> Handle {
    let (queue, commands) = mpsc::channel();
    let workspace = Arc::new(workspace);
    let reader = workspace.clone();
    let disk: Arc<Disk> = Arc::new(move |name: &str| reader.read(name));
    let mut database = Database::new(disk.clone());
    database.set_settings(settings);
    let analyst = Analyst::start(disk, publisher);
    let questions = answerers(&queue);
    let actor = Actor {
        snapshot: Snapshot { open: Arc::default(), workspace, encoding, database },
        unsaid: BTreeSet::new(),
        recent: Vec::new(),
        changed: false,
        questions,
        analyst,
    };
    thread::spawn(move || actor.run(&commands));
    Handle { queue }
}

/// Threads that answer questions; those that were cancelled go back into the queue.
fn answerers(queue: &Sender<Command>) -> Sender<(Question, Snapshot)> {
    let (sender, receiver) = mpsc::channel::<(Question, Snapshot)>();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..ANSWERERS {
        let (receiver, queue) = (receiver.clone(), queue.clone());
        thread::spawn(move || {
            loop {
                let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((mut question, snapshot)) = next else { return };
                // A feature that fails takes its answer with it, and nothing else.
                let attempt = AssertUnwindSafe(|| (question.work)(&snapshot, Fate::Live));
                let outcome = panic::catch_unwind(attempt);
                drop(snapshot);
                if matches!(outcome, Ok(Outcome::Cancelled)) {
                    let _ = queue.send(Command::Ask(question));
                }
            }
        });
    }
    sender
}

struct Actor {
    snapshot: Snapshot,
    /// Files whose texts the database has not been told.
    unsaid: BTreeSet<Url>,
    /// Files in the order in which they changed, the last one first.
    recent: Vec<Url>,
    /// Whether something may have other diagnostics than before.
    changed: bool,
    questions: Sender<(Question, Snapshot)>,
    analyst: Analyst,
}

impl Actor {
    fn run(mut self, commands: &Receiver<Command>) {
        while let Ok(first) = commands.recv() {
            self.take(first);
            while let Ok(next) = commands.try_recv() {
                self.take(next);
            }
            self.tell();
            if std::mem::take(&mut self.changed) {
                self.analyse();
            }
        }
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Open(url, version, text) => {
                let name = self.snapshot.workspace.name(&url);
                self.set(url, Open { version, text: text.into(), name });
            }
            Command::Change(url, version, changes) => {
                let Some(open) = self.snapshot.open.get(&url) else { return };
                let text = text::changed(&open.text, changes, self.snapshot.encoding);
                let name = open.name.clone();
                self.set(url, Open { version, text, name });
            }
            Command::Close(url) => self.close(&url),
            Command::OnDisk(urls) => {
                for url in urls.iter().filter(|url| !self.snapshot.open.contains_key(url)) {
                    let name = self.snapshot.workspace.name(url);
                    self.snapshot.database.refresh(&name);
                    self.changed = true;
                }
            }
            Command::Configure(settings) => {
                self.snapshot.database.set_settings(settings);
                self.changed = true;
            }
            Command::Folders(added, removed) => {
                let workspace = self.snapshot.workspace.changed(added, removed);
                self.snapshot.workspace = Arc::new(workspace);
            }
            Command::Ask(question) => self.ask(question),
        }
    }

    fn set(&mut self, url: Url, open: Open) {
        self.recent.retain(|other| *other != url);
        self.recent.insert(0, url.clone());
        self.unsaid.insert(url.clone());
        Arc::make_mut(&mut self.snapshot.open).insert(url, open);
        self.changed = true;
    }

    fn close(&mut self, url: &Url) {
        self.recent.retain(|other| other != url);
        self.unsaid.remove(url);
        if let Some(open) = Arc::make_mut(&mut self.snapshot.open).remove(url) {
            self.snapshot.database.refresh(&open.name);
            self.analyst.forget(url);
            self.changed = true;
        }
    }

    /// Tells the database what has changed.
    fn tell(&mut self) {
        for url in std::mem::take(&mut self.unsaid) {
            if let Some(open) = self.snapshot.open.get(&url) {
                self.snapshot.database.set_text(&open.name, Ok(open.text.clone()));
            }
        }
    }

    fn ask(&mut self, mut question: Question) {
        self.tell();
        if let Some((url, asked)) = &mut question.about {
            let now = self.snapshot.version(url);
            if asked.is_some() && *asked != now {
                let _ = (question.work)(&self.snapshot, Fate::Stale);
                return;
            }
            *asked = now;
        }
        let _ = self.questions.send((question, self.snapshot.clone()));
    }

    fn analyse(&mut self) {
        let subject = |url: &Url| {
            let open = self.snapshot.open.get(url)?;
            Some(Subject { url: url.clone(), version: open.version, name: open.name.clone() })
        };
        let subjects = self.recent.iter().filter_map(subject).collect();
        self.analyst.give(Job { subjects, snapshot: self.snapshot.clone() });
    }
}
