//! The one place from which diagnostics go to the client.
//!
//! In: what was found out about files, in any order. Out: publications. The rules:
//!
//! - Nothing of an older version follows a newer one, and what was decided about a version is not taken back by what
//!   was thought of it before.
//! - Types without proofs wait for [`PATIENCE`]; most proofs are there by then, and one publication says it all.
//! - What was published last is not published again for the same version.
//! - A list that is empty because nothing is known yet is not published.
//! - Where a check takes longer than [`LONG`], the client is shown that it goes on, and which one.
//! - A client that was shown less than is known now, of a text that has not changed since, is told to ask again.

use crate::features::problems::Problem;
use lsp_types::{Diagnostic, Url};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long types wait for their proofs.
pub const PATIENCE: Duration = Duration::from_millis(10);

/// How long a check takes before the client is shown that it goes on.
pub const LONG: Duration = Duration::from_millis(400);

/// How much is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Types; proofs follow.
    Types,
    /// Errors of declarations on their own; what the whole file says follows.
    Doubtful,
    /// Everything.
    Whole,
}

/// What the client is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The diagnostics of a version of a file; without a version, that it has none any more.
    Diagnostics(Url, Option<i32>, Vec<Diagnostic>),
    /// What it asked for has changed, though the file has not.
    Refresh(View),
    /// Something that no place in a text could say.
    Message(String),
    /// How far the checks are.
    Progress(Progress),
}

/// How far the checks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// They take long; this is what they are about.
    Begin(String),
    /// They are about this now.
    Report(String),
    /// They have come to an end.
    End,
}

/// What a client asks for, and keeps until the file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Diagnostics.
    Diagnostics,
    /// Lenses above programs.
    Lenses,
    /// Values, types and names between the words.
    Hints,
    /// What each word is.
    Tokens,
}

/// Tells the client; the next notice waits until this one is on its way.
pub type Tell = dyn Fn(Notice) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// What is known of a file.
#[derive(Clone, Debug)]
pub struct Known {
    /// The version of its text.
    pub version: i32,
    /// How much is known.
    pub stage: Stage,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

enum Message {
    Publish(Url, Known),
    Forget(Url),
    Stale,
    Say(String),
    Busy(String),
    Idle,
}

/// What is known of files, and what of that lenses show.
#[derive(Debug, Default)]
struct State {
    latest: BTreeMap<Url, Known>,
    /// The version of which the client was told last, and whether that was an empty list.
    told: BTreeMap<Url, (i32, bool)>,
    /// For files whose lenses were asked for, of which version and how much they show.
    lenses: BTreeMap<Url, (i32, Option<Stage>)>,
}

/// The way to the publisher.
#[derive(Clone)]
pub struct Publisher {
    queue: UnboundedSender<Message>,
    state: Arc<Mutex<State>>,
}

impl Publisher {
    /// A publisher and its work, which is to be run. A client that `pulls` asks for diagnostics, and is not sent any.
    #[must_use]
    pub fn new(tell: Arc<Tell>, pulls: bool) -> (Publisher, Work) {
        let (queue, messages) = unbounded_channel();
        let state: Arc<Mutex<State>> = Arc::default();
        let work =
            Work { messages, state: state.clone(), held: BTreeMap::new(), busy: None, tell, pulls };
        (Publisher { queue, state }, work)
    }

    /// Hands over what was found out.
    pub fn publish(&self, url: Url, version: i32, stage: Stage, problems: Vec<Problem>) {
        let _ = self.queue.send(Message::Publish(url, Known { version, stage, problems }));
    }

    /// A file is not open any more: it has no diagnostics.
    pub fn forget(&self, url: Url) {
        let _ = self.queue.send(Message::Forget(url));
    }

    /// Something that files rely on has changed, and with it values and names that are shown in them.
    pub fn stale(&self) {
        let _ = self.queue.send(Message::Stale);
    }

    /// Says something that no place in a text could say.
    pub fn say(&self, text: String) {
        let _ = self.queue.send(Message::Say(text));
    }

    /// Something is checked, which may take long.
    pub fn busy(&self, with: String) {
        let _ = self.queue.send(Message::Busy(with));
    }

    /// Nothing is checked any more.
    pub fn idle(&self) {
        let _ = self.queue.send(Message::Idle);
    }

    /// What is known of a version of a file.
    #[must_use]
    pub fn known(&self, url: &Url, version: Option<i32>) -> Option<Known> {
        lock(&self.state).known(url, version)
    }

    /// The same for lenses: when more is known than this, the client is told to ask again.
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

/// Whether a list is empty because nothing is known yet. One that takes back what the client was told says something,
/// but where the whole file is looked at next.
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

/// What the publisher does.
pub struct Work {
    messages: UnboundedReceiver<Message>,
    state: Arc<Mutex<State>>,
    /// What waits for proofs, and until when.
    held: BTreeMap<Url, (Instant, Known)>,
    /// What is checked.
    busy: Option<Busy>,
    tell: Arc<Tell>,
    pulls: bool,
}

/// A check that goes on.
struct Busy {
    with: String,
    /// When the client is to be shown what is not shown yet.
    due: Option<Instant>,
    /// Whether the client is shown anything.
    begun: bool,
}

impl Work {
    /// Publishes until nobody is left who could hand something over.
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
                Some(Message::Say(text)) => (self.tell)(Notice::Message(text)).await,
                Some(Message::Busy(with)) => self.set_busy(with),
                Some(Message::Idle) => {
                    if self.busy.take().is_some_and(|busy| busy.begun) {
                        (self.tell)(Notice::Progress(Progress::End)).await;
                    }
                }
                None => return,
            }
        }
    }

    fn set_busy(&mut self, with: String) {
        let due = Instant::now() + LONG;
        match &mut self.busy {
            // While others end soon, what takes long is the whole.
            Some(busy) => {
                busy.with = with;
                busy.due.get_or_insert(due);
            }
            None => self.busy = Some(Busy { with, due: Some(due), begun: false }),
        }
    }

    /// Shows what is checked, if that is due.
    async fn progress(&mut self) {
        let Some(busy) = &mut self.busy else { return };
        if busy.due.is_none_or(|due| Instant::now() < due) {
            return;
        }
        busy.due = None;
        let begun = std::mem::replace(&mut busy.begun, true);
        let with = busy.with.clone();
        let progress = if begun { Progress::Report(with) } else { Progress::Begin(with) };
        (self.tell)(Notice::Progress(progress)).await;
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
            (self.tell)(notice).await;
        }
    }

    async fn refresh(&self, views: &[View]) {
        for view in views {
            (self.tell)(Notice::Refresh(*view)).await;
        }
    }

    /// Notes what is known now; gives what the client must be told.
    fn note(&self, url: Url, known: Known) -> Vec<Notice> {
        let mut state = lock(&self.state);
        let (mut unchanged, mut settled) = (false, false);
        if let Some(last) = state.latest.get(&url) {
            let same = last.version == known.version;
            let older = (known.version, known.stage) < (last.version, last.stage);
            if older {
                return Vec::new();
            }
            unchanged = same && last.problems == known.problems;
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
        if !unchanged && self.pulls && settled {
            notices.push(Notice::Refresh(View::Diagnostics));
        }
        let shown = state.lenses.get(&url).filter(|(version, _)| *version == known.version);
        let less = shown.is_some_and(|(_, stage)| *stage != Some(known.stage) || !unchanged);
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
        if !self.pulls {
            (self.tell)(Notice::Diagnostics(url, None, Vec::new())).await;
        }
    }
}
