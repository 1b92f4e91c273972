//! The single place from which diagnostics are sent to the client.
//!
//! In: findings about files, in any order. Out: notifications to the client. The rules:
//!
//! - Nothing about an older version is published after a newer one, and nothing from an earlier stage after a later
//!   stage of the same version.
//! - Findings about types wait up to [`PATIENCE`] for the proofs; most proofs are done by then, and one publication
//!   has everything.
//! - Diagnostics that have not changed are not published again for the same version.
//! - A list that is empty because nothing is known yet is not published.
//! - If a check takes longer than [`LONG`], the client is shown a progress message with the name of the program.
//! - If a client was shown less than is known now, for a text that has not changed since, it is asked to request
//!   again.

use crate::features::problems::Problem;
use crate::verdict::{FileVerdicts, NamedVerdict, Verdicts};
use lsp_types::{Diagnostic, DiagnosticSeverity, Url};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long findings about types wait for the proofs.
pub const PATIENCE: Duration = Duration::from_millis(10);

/// How long a check takes before its progress is shown.
pub const LONG: Duration = Duration::from_millis(400);

/// How much is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Types; proofs follow.
    Types,
    /// The errors of its declarations, each checked on its own; the check of the whole file follows.
    Doubtful,
    /// Everything.
    Whole,
}

/// A notification to the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The diagnostics of a version of a file; without a version, the file was closed and has none.
    Diagnostics(Url, Option<i32>, Vec<Diagnostic>),
    /// What is known about the programs of a file.
    Verdicts(FileVerdicts),
    /// Something that the client has requested has changed, although the file has not.
    Refresh(View),
    /// A message about something that has no place in a text.
    Message(String),
    /// The progress of the checks.
    Progress(Progress),
}

/// The progress of the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// They take long; the text says what is being checked.
    Begin(String),
    /// The text says what is being checked now.
    Report(String),
    /// They have ended.
    End,
}

/// Something that a client requests, and keeps until the file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Diagnostics.
    Diagnostics,
    /// Lenses above programs.
    Lenses,
    /// Inlay hints: values, types and names.
    Hints,
    /// Semantic tokens.
    Tokens,
}

/// Sends a notice to the client; the next notice waits until this one has been sent.
pub type Notify = dyn Fn(Notice) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// What is known of a file.
#[derive(Clone, Debug)]
pub struct Known {
    /// The version of its text.
    pub version: i32,
    /// How much is known.
    pub stage: Stage,
    /// The problems found in it.
    pub problems: Vec<Problem>,
    /// The verdicts about its programs.
    pub verdicts: Verdicts,
}

enum Message {
    Publish(Url, Known),
    Forget(Url),
    Stale,
    Say(String),
    Busy(String),
    Idle,
}

/// The latest results for each file, and how much of them the client was shown.
#[derive(Debug, Default)]
struct State {
    latest: BTreeMap<Url, Known>,
    /// The version whose diagnostics were sent last, and whether that list was empty.
    told: BTreeMap<Url, (i32, bool)>,
    /// For files whose lenses were requested: the version, and the stage that they show.
    lenses: BTreeMap<Url, (i32, Option<Stage>)>,
}

/// A handle to the publisher.
#[derive(Clone)]
pub struct Publisher {
    queue: UnboundedSender<Message>,
    state: Arc<Mutex<State>>,
}

impl Publisher {
    /// A publisher, and its [`Work`], which the caller must run. A client that `pulls` requests diagnostics, and is
    /// not sent any.
    #[must_use]
    pub fn new(notify: Arc<Notify>, pulls: bool) -> (Publisher, Work) {
        let (queue, messages) = unbounded_channel();
        let state: Arc<Mutex<State>> = Arc::default();
        let work = Work {
            messages,
            state: state.clone(),
            held: BTreeMap::new(),
            busy: None,
            notify,
            pulls,
        };
        (Publisher { queue, state }, work)
    }

    /// Submits findings about a file.
    pub fn publish(&self, url: Url, known: Known) {
        let _ = self.queue.send(Message::Publish(url, known));
    }

    /// Notes that a file is no longer open and has no diagnostics.
    pub fn forget(&self, url: Url) {
        let _ = self.queue.send(Message::Forget(url));
    }

    /// Notes that something that files depend on has changed, so that lenses, hints and tokens may be out of date.
    pub fn stale(&self) {
        let _ = self.queue.send(Message::Stale);
    }

    /// Shows a message about something that has no place in a text.
    pub fn say(&self, text: String) {
        let _ = self.queue.send(Message::Say(text));
    }

    /// Notes that a check has begun, which may take long.
    pub fn busy(&self, with: String) {
        let _ = self.queue.send(Message::Busy(with));
    }

    /// Notes that nothing is being checked any more.
    pub fn idle(&self) {
        let _ = self.queue.send(Message::Idle);
    }

    /// The latest result for this version of a file.
    #[must_use]
    pub fn known(&self, url: &Url, version: Option<i32>) -> Option<Known> {
        lock(&self.state).known(url, version)
    }

    /// Like [`Publisher::known`], for lenses: when more is known later, the client is asked to request them again.
    #[must_use]
    pub fn known_to_lenses(&self, url: &Url, version: Option<i32>) -> Option<Known> {
        let mut state = lock(&self.state);
        let known = state.known(url, version);
        if let Some(version) = version {
            let stage = known.as_ref().map(|known| known.stage);
            state.lenses.insert(url.clone(), (version, stage));
        }
        known
    }
}

impl State {
    fn known(&self, url: &Url, version: Option<i32>) -> Option<Known> {
        self.latest.get(url).filter(|known| Some(known.version) == version).cloned()
    }
}

/// Whether a list is empty because nothing is known yet. An empty list that replaces a non-empty one does say
/// something, unless the check of the whole file follows.
fn says_nothing(known: &Known, told: Option<(i32, bool)>) -> bool {
    let takes_back = told.is_some_and(|(_, empty)| !empty);
    known.problems.is_empty()
        && match known.stage {
            Stage::Types => !takes_back,
            Stage::Doubtful => true,
            Stage::Whole => false,
        }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The publisher's task.
pub struct Work {
    messages: UnboundedReceiver<Message>,
    state: Arc<Mutex<State>>,
    /// Findings about types that wait for the proofs, and until when.
    held: BTreeMap<Url, (Instant, Known)>,
    /// The check that is running.
    busy: Option<Busy>,
    notify: Arc<Notify>,
    pulls: bool,
}

/// A check that is running.
struct Busy {
    with: String,
    /// When to show progress that has not been shown yet.
    due: Option<Instant>,
    /// Whether a progress message is being shown.
    begun: bool,
}

impl Work {
    /// Publishes until every handle is gone.
    pub async fn run(mut self) {
        loop {
            let held = self.held.values().map(|(until, _)| *until);
            let first = held.chain(self.busy.as_ref().and_then(|busy| busy.due)).min();
            let message = match first {
                None => self.messages.recv().await,
                Some(until) => {
                    match tokio::time::timeout_at(until.into(), self.messages.recv()).await {
                        Ok(message) => message,
                        Err(_) => {
                            self.release().await;
                            self.progress().await;
                            continue;
                        }
                    }
                }
            };
            match message {
                Some(Message::Publish(url, known)) => self.take(url, known).await,
                Some(Message::Forget(url)) => self.forget(url).await,
                Some(Message::Stale) => {
                    self.refresh(&[View::Lenses, View::Hints, View::Tokens]).await;
                }
                Some(Message::Say(text)) => (self.notify)(Notice::Message(text)).await,
                Some(Message::Busy(with)) => self.set_busy(with),
                Some(Message::Idle) => {
                    if self.busy.take().is_some_and(|busy| busy.begun) {
                        (self.notify)(Notice::Progress(Progress::End)).await;
                    }
                }
                None => return,
            }
        }
    }

    fn set_busy(&mut self, with: String) {
        let due = Instant::now() + LONG;
        match &mut self.busy {
            // The time limit applies to a run of checks as a whole, even if each of them is short.
            Some(busy) => {
                busy.with = with;
                busy.due.get_or_insert(due);
            }
            None => self.busy = Some(Busy { with, due: Some(due), begun: false }),
        }
    }

    /// Shows what is being checked, if that is due.
    async fn progress(&mut self) {
        let Some(busy) = &mut self.busy else { return };
        if busy.due.is_none_or(|due| Instant::now() < due) {
            return;
        }
        busy.due = None;
        let begun = std::mem::replace(&mut busy.begun, true);
        let with = busy.with.clone();
        let progress = if begun { Progress::Report(with) } else { Progress::Begin(with) };
        (self.notify)(Notice::Progress(progress)).await;
    }

    async fn take(&mut self, url: Url, known: Known) {
        let held = self.held.get(&url).filter(|(_, held)| held.version <= known.version);
        let until = held.filter(|(_, held)| held.version == known.version).map(|(until, _)| *until);
        if held.is_some() {
            self.held.remove(&url);
        }
        match known.stage {
            Stage::Types => {
                let until = until.unwrap_or_else(|| Instant::now() + PATIENCE);
                self.held.insert(url, (until, known));
            }
            Stage::Doubtful | Stage::Whole => self.say(url, known).await,
        }
    }

    async fn release(&mut self) {
        let now = Instant::now();
        let due: Vec<Url> = self
            .held
            .iter()
            .filter(|(_, held)| held.0 <= now)
            .map(|(url, _)| url.clone())
            .collect();
        for url in due {
            if let Some((_, known)) = self.held.remove(&url) {
                self.say(url, known).await;
            }
        }
    }

    async fn say(&self, url: Url, known: Known) {
        for notice in self.note(url, known) {
            (self.notify)(notice).await;
        }
    }

    async fn refresh(&self, views: &[View]) {
        for view in views {
            (self.notify)(Notice::Refresh(*view)).await;
        }
    }

    /// Records a result; returns the notices to send to the client.
    fn note(&self, url: Url, known: Known) -> Vec<Notice> {
        let mut state = lock(&self.state);
        let (mut unchanged, mut agreed, mut settled) = (false, false, false);
        if let Some(last) = state.latest.get(&url) {
            let same = last.version == known.version;
            let older = (known.version, known.stage) < (last.version, last.stage);
            if older {
                return Vec::new();
            }
            unchanged = same && last.problems == known.problems;
            agreed = unchanged && last.verdicts == known.verdicts;
            settled = same && last.stage == Stage::Whole;
        }
        let mut notices = Vec::new();
        let told = state.told.get(&url).copied();
        let unsaid = told.is_none_or(|(version, _)| version != known.version) || !unchanged;
        if unsaid && !says_nothing(&known, told) && !self.pulls {
            state.told.insert(url.clone(), (known.version, known.problems.is_empty()));
            let problems = known.problems.iter();
            let diagnostics = problems.map(|problem| problem.diagnostic.clone()).collect();
            notices.push(Notice::Diagnostics(url.clone(), Some(known.version), diagnostics));
        }
        if !agreed && known.stage != Stage::Types {
            notices.push(Notice::Verdicts(verdicts(&url, &known)));
        }
        if !unchanged && self.pulls && settled {
            notices.push(Notice::Refresh(View::Diagnostics));
        }
        let shown = state.lenses.get(&url).filter(|(version, _)| *version == known.version);
        let less = shown.is_some_and(|(_, stage)| *stage != Some(known.stage) || !agreed);
        if less && known.stage != Stage::Types {
            state.lenses.remove(&url);
            notices.push(Notice::Refresh(View::Lenses));
        }
        state.latest.insert(url, known);
        notices
    }

    async fn forget(&mut self, url: Url) {
        self.held.remove(&url);
        {
            let mut state = lock(&self.state);
            state.latest.remove(&url);
            state.told.remove(&url);
            state.lenses.remove(&url);
        }
        let none =
            FileVerdicts { uri: url.clone(), version: None, errors: 0, programs: Vec::new() };
        (self.notify)(Notice::Verdicts(none)).await;
        if !self.pulls {
            (self.notify)(Notice::Diagnostics(url, None, Vec::new())).await;
        }
    }
}

fn verdicts(url: &Url, known: &Known) -> FileVerdicts {
    let is_error =
        |problem: &&Problem| problem.diagnostic.severity == Some(DiagnosticSeverity::ERROR);
    let programs = known.verdicts.iter();
    FileVerdicts {
        uri: url.clone(),
        version: Some(known.version),
        errors: known.problems.iter().filter(is_error).count(),
        programs: programs.map(|(name, verdict)| NamedVerdict::new(name, *verdict)).collect(),
    }
}
