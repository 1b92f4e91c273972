//! The single thread that owns the database.
//!
//! In: commands, in the order in which the messages arrived. Out: snapshots for questions (requests from the client),
//! and jobs for the analyst. The rules:
//!
//! - Edits are applied in order; the database is updated once for all edits that wait in the queue, or before a
//!   question.
//! - An update cancels whatever is being computed. Diagnostics then start over. A question is asked again, unless the
//!   file that it is about has changed: then the answer is the error "content modified".
//! - Questions run on threads of their own, so that none waits for diagnostics. Questions about diagnostics, which may
//!   take as long as the checks, have other threads than the rest.

use crate::analysis::{Analysis, Spot};
use crate::analyst::{Analyst, Job, Subject};
use crate::database::{self, Database, Db as _, Disk, Text};
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

/// How many questions are answered at once.
const ANSWERERS: usize = 4;

/// How many questions that wait for checks are answered at once.
const CHECKERS: usize = 2;

/// A command to the actor.
pub enum Command {
    /// A file was opened, with this version and text.
    Open(Url, i32, String),
    /// An open file has changed.
    Change(Url, i32, Vec<TextDocumentContentChangeEvent>),
    /// A file was closed.
    Close(Url),
    /// Files on the disk may have changed.
    OnDisk(Vec<Url>),
    /// The settings have changed to these.
    Configure(Settings),
    /// Folders were added to the workspace (the first list), and others removed (the second).
    Folders(Vec<PathBuf>, Vec<PathBuf>),
    /// A question is to be answered.
    Ask(Question),
}

/// A request to answer, about one file or about all.
pub struct Question {
    /// The file that it is about, and the version of that file when it was asked.
    about: Option<(Url, Option<i32>)>,
    pace: Pace,
    work: Box<Attempt>,
}

/// How long a question may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It is answered from what is known, or after a short computation.
    Prompt,
    /// It waits for the checks of programs.
    Checked,
}

/// Tries to answer; may be called again if it was cancelled.
type Attempt = dyn FnMut(&Snapshot, Fate) -> Outcome + Send;

/// Whether a question can still be answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Live,
    Stale,
}

/// Whether an attempt gave an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    Cancelled,
}

/// Why a question was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The file has changed since the question was asked.
    Modified,
    /// The server is shutting down, or answering failed.
    Gone,
}

/// The future of an answer.
pub type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// A file that is open in the editor.
#[derive(Clone, Debug)]
pub struct Open {
    /// The version of its text.
    pub version: i32,
    /// Its text.
    pub text: Arc<str>,
    /// The compiler's name for it.
    pub name: String,
}

/// The state at one point in time.
#[derive(Clone)]
pub struct Snapshot {
    /// Open files.
    pub open: Arc<BTreeMap<Url, Open>>,
    /// The mapping between files and names.
    pub workspace: Arc<Workspace>,
    /// The units in which columns are counted.
    pub encoding: Encoding,
    /// The database; it is the last field so that it is dropped last.
    pub database: Database,
}

impl Snapshot {
    /// The view of a file that features work with.
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

    /// A range of a file as a location of the protocol.
    #[must_use]
    pub fn location(&self, spot: &Spot) -> Option<Location> {
        let lines = self.lines(&spot.name)?;
        Some(Location::new(self.url(&spot.name)?, lines.range(spot.start..spot.end)))
    }

    /// The names of all source files: open ones, and those in the folders.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let open = self.open.values().map(|open| open.name.clone());
        let all: BTreeSet<String> = open.chain(self.workspace.files()).collect();
        all.into_iter().collect()
    }
}

/// The URL of a file; for an open file, the one that the client uses.
pub(crate) fn url(open: &BTreeMap<Url, Open>, workspace: &Workspace, name: &str) -> Option<Url> {
    let known = open.iter().find(|(_, open)| open.name == name).map(|(url, _)| url.clone());
    known.or_else(|| workspace.url(name))
}

/// A handle to the actor.
#[derive(Clone)]
pub struct Handle {
    queue: Sender<Command>,
}

impl Handle {
    /// Puts a command into the queue.
    pub fn send(&self, command: Command) {
        // If the actor is gone, the command is dropped.
        let _ = self.queue.send(command);
    }

    /// Asks a question about the state that it finds when its turn in the queue comes. The command is already in the
    /// queue when this function returns; the answer comes later.
    pub fn ask<T: Send + 'static>(
        &self,
        about: Option<Url>,
        pace: Pace,
        work: impl Fn(&Snapshot) -> T + Send + 'static,
    ) -> Answer<T, Refusal> {
        let (sender, receiver) = oneshot::channel();
        let mut sender = Some(sender);
        let work = Box::new(move |snapshot: &Snapshot, fate| {
            if sender.as_ref().is_none_or(oneshot::Sender::is_closed) {
                // Nobody waits for the answer any more.
                return Outcome::Answered;
            }
            let answer = match fate {
                Fate::Stale => Err(Refusal::Modified),
                Fate::Live => match salsa::Cancelled::catch(AssertUnwindSafe(|| work(snapshot))) {
                    Ok(answer) => Ok(answer),
                    Err(_) => return Outcome::Cancelled,
                },
            };
            // The receiver may be gone by now.
            sender.take().map(|sender| sender.send(answer).ok());
            Outcome::Answered
        });
        let about = about.map(|url| (url, None));
        self.send(Command::Ask(Question { about, pace, work }));
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
    let names = Arc::new(Mutex::new(workspace.clone()));
    let disk: Arc<dyn Disk> = Arc::new(Folders { now: names.clone() });
    let mut database = Database::new(disk.clone());
    database.set_settings(settings);
    let analyst = Analyst::start(disk, publisher);
    let prompt = answerers(&queue, ANSWERERS);
    let checked = answerers(&queue, CHECKERS);
    let actor = Actor {
        snapshot: Snapshot { open: Arc::default(), workspace, encoding, database },
        names,
        unsaid: BTreeSet::new(),
        recent: Vec::new(),
        changed: false,
        prompt,
        checked,
        analyst,
    };
    thread::spawn(move || actor.run(&commands));
    Handle { queue }
}

/// The disk, by the folders that are open now.
struct Folders {
    now: Arc<Mutex<Arc<Workspace>>>,
}

impl Folders {
    fn workspace(&self) -> Arc<Workspace> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Disk for Folders {
    fn read(&self, name: &str) -> Text {
        self.workspace().read(name)
    }

    fn refuse_import(&self, main: &str, name: &str) -> Result<(), String> {
        self.workspace().refuse_import(main, name)
    }
}

/// Starts threads that answer questions; cancelled questions go back into the queue.
fn answerers(queue: &Sender<Command>, threads: usize) -> Sender<(Question, Snapshot)> {
    let (sender, receiver) = mpsc::channel::<(Question, Snapshot)>();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..threads {
        let (receiver, queue) = (receiver.clone(), queue.clone());
        thread::spawn(move || {
            loop {
                let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((mut question, snapshot)) = next else { return };
                // If a feature panics, only its answer is lost.
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
    /// The workspace by whose folders and names files are read from the disk.
    names: Arc<Mutex<Arc<Workspace>>>,
    /// Files whose new texts have not been written to the database yet.
    unsaid: BTreeSet<Url>,
    /// Open files, the most recently changed first.
    recent: Vec<Url>,
    /// Whether diagnostics may have changed.
    changed: bool,
    /// The threads for questions of each pace.
    prompt: Sender<(Question, Snapshot)>,
    checked: Sender<(Question, Snapshot)>,
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
                for url in urls {
                    self.on_disk(&url);
                }
            }
            Command::Configure(settings) => {
                self.snapshot.database.set_settings(settings);
                self.changed = true;
            }
            Command::Folders(added, removed) => {
                let workspace = Arc::new(self.snapshot.workspace.changed(added, removed));
                let old = std::mem::replace(&mut self.snapshot.workspace, workspace);
                if !self.snapshot.workspace.has_folders_of(&old) {
                    self.follow_folders(&old);
                }
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

    /// Reads what may have changed on the disk: a file, or what was read from a folder. The texts of open files are the
    /// editor's.
    fn on_disk(&mut self, url: &Url) {
        let name = self.snapshot.workspace.name(url);
        for name in self.snapshot.database.known_below(&name) {
            if self.opened(&name).is_none() {
                self.snapshot.database.refresh(&name);
                self.changed = true;
            }
        }
    }

    /// Reads files by the folders that are open now, and gives them the names that they have there.
    fn follow_folders(&mut self, old: &Workspace) {
        let workspace = self.snapshot.workspace.clone();
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = workspace.clone();
        self.snapshot.database.change_folders();
        if !workspace.names_like(old) {
            self.name_again(&workspace);
        }
        // The same name may be that of another file now, and a link may stay in a new folder that leads out of an old one.
        self.snapshot.database.refresh_all();
        // The texts of open files are the editor's.
        self.unsaid.extend(self.snapshot.open.keys().cloned());
        self.changed = true;
    }

    fn name_again(&mut self, workspace: &Workspace) {
        for (url, open) in Arc::make_mut(&mut self.snapshot.open) {
            open.name = workspace.name(url);
        }
    }

    fn close(&mut self, url: &Url) {
        self.recent.retain(|other| other != url);
        self.unsaid.remove(url);
        if let Some(open) = Arc::make_mut(&mut self.snapshot.open).remove(url) {
            match self.opened(&open.name) {
                Some(other) => drop(self.unsaid.insert(other)),
                None => self.snapshot.database.refresh(&open.name),
            }
            self.analyst.forget(url);
            self.changed = true;
        }
    }

    /// The URL under which a file is open: a client can open a file under several, through symbolic links.
    fn opened(&self, name: &str) -> Option<Url> {
        let has = |url: &&Url| self.snapshot.open.get(url).is_some_and(|open| open.name == name);
        self.recent.iter().find(has).cloned()
    }

    /// Writes the new texts to the database.
    fn tell(&mut self) {
        let unsaid = std::mem::take(&mut self.unsaid);
        // If a file is open under several URLs, the text that was changed last counts.
        for url in self.recent.iter().rev().filter(|url| unsaid.contains(*url)) {
            if let Some(open) = self.snapshot.open.get(url) {
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
        let threads = match question.pace {
            Pace::Prompt => &self.prompt,
            Pace::Checked => &self.checked,
        };
        let _ = threads.send((question, self.snapshot.clone()));
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
