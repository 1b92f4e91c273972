//! The one place from which diagnostics go to the client.
//!
//! In: what was found out about files, in any order. Out: publications. The rules:
//!
//! - Nothing of an older version follows a newer one, and what was decided about a version is not taken back by what
//!   was thought of it before.
//! - Types without proofs wait for [`PATIENCE`]; most proofs are there by then, and one publication says it all.
//! - What was published last is not published again for the same version.

use crate::features::problems::Problem;
use lsp_types::{Diagnostic, Url};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long types wait for their proofs.
pub const PATIENCE: Duration = Duration::from_millis(10);

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
    /// Diagnostics that it asked for have changed, though the file has not.
    Refresh,
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
}

/// The way to the publisher.
#[derive(Clone)]
pub struct Publisher {
    queue: UnboundedSender<Message>,
    latest: Arc<Mutex<BTreeMap<Url, Known>>>,
    pulls: Arc<AtomicBool>,
    refreshes: Arc<AtomicBool>,
}

impl Publisher {
    /// A publisher and its work, which is to be run.
    #[must_use]
    pub fn new(tell: Arc<Tell>) -> (Publisher, Work) {
        let (queue, messages) = unbounded_channel();
        let latest: Arc<Mutex<BTreeMap<Url, Known>>> = Arc::default();
        let pulls = Arc::new(AtomicBool::new(false));
        let refreshes = Arc::new(AtomicBool::new(false));
        let work = Work {
            messages,
            latest: latest.clone(),
            held: BTreeMap::new(),
            tell,
            pulls: pulls.clone(),
            refreshes: refreshes.clone(),
        };
        (Publisher { queue, latest, pulls, refreshes }, work)
    }

    /// The client asks for diagnostics, and is not to be sent any; it is told that they have changed if `refreshes`.
    pub fn hold_back(&self, refreshes: bool) {
        self.pulls.store(true, Ordering::Relaxed);
        self.refreshes.store(refreshes, Ordering::Relaxed);
    }

    /// Hands over what was found out.
    pub fn publish(&self, url: Url, version: i32, stage: Stage, problems: Vec<Problem>) {
        let _ = self.queue.send(Message::Publish(url, Known { version, stage, problems }));
    }

    /// A file is not open any more: it has no diagnostics.
    pub fn forget(&self, url: Url) {
        let _ = self.queue.send(Message::Forget(url));
    }

    /// What was last published of a file.
    #[must_use]
    pub fn latest(&self, url: &Url) -> Option<Known> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned()
    }
}

/// What the publisher does.
pub struct Work {
    messages: UnboundedReceiver<Message>,
    latest: Arc<Mutex<BTreeMap<Url, Known>>>,
    /// What waits for proofs, and until when.
    held: BTreeMap<Url, (Instant, Known)>,
    tell: Arc<Tell>,
    pulls: Arc<AtomicBool>,
    refreshes: Arc<AtomicBool>,
}

impl Work {
    /// Publishes until nobody is left who could hand something over.
    pub async fn run(mut self) {
        loop {
            let first = self.held.values().map(|(until, _)| *until).min();
            let message = match first {
                None => self.messages.recv().await,
                Some(until) => {
                    match tokio::time::timeout_at(until.into(), self.messages.recv()).await {
                        Ok(message) => message,
                        Err(_) => {
                            self.release().await;
                            continue;
                        }
                    }
                }
            };
            match message {
                Some(Message::Publish(url, known)) => self.take(url, known).await,
                Some(Message::Forget(url)) => self.forget(url).await,
                None => return,
            }
        }
    }

    async fn take(&mut self, url: Url, known: Known) {
        if self.held.get(&url).is_some_and(|(_, held)| held.version <= known.version) {
            self.held.remove(&url);
        }
        match known.stage {
            Stage::Types => drop(self.held.insert(url, (Instant::now() + PATIENCE, known))),
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
        if let Some(notice) = self.note(url, known) {
            (self.tell)(notice).await;
        }
    }

    /// Notes what is known now; gives what the client must be told, if it must.
    fn note(&self, url: Url, known: Known) -> Option<Notice> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut unchanged, mut settled) = (false, false);
        if let Some(last) = latest.get(&url) {
            let same = last.version == known.version;
            let older = (known.version, known.stage) < (last.version, last.stage);
            if older {
                return None;
            }
            unchanged = same && last.problems == known.problems;
            settled = same && last.stage == Stage::Whole;
        }
        let diagnostics = known.problems.iter().map(|problem| problem.diagnostic.clone()).collect();
        let version = known.version;
        latest.insert(url.clone(), known);
        if unchanged {
            return None;
        }
        if self.pulls.load(Ordering::Relaxed) {
            return (settled && self.refreshes.load(Ordering::Relaxed)).then_some(Notice::Refresh);
        }
        Some(Notice::Diagnostics(url, Some(version), diagnostics))
    }

    async fn forget(&mut self, url: Url) {
        self.held.remove(&url);
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).remove(&url);
        if !self.pulls.load(Ordering::Relaxed) {
            (self.tell)(Notice::Diagnostics(url, None, Vec::new())).await;
        }
    }
}
