//! The proxy of a port channel: it carries out its requests in order, in its own time.

use super::Writer;
use super::memory::Spot;
use crate::events::CounterId;
use std::collections::VecDeque;

/// The state of a proxy.
#[derive(Default)]
pub(super) struct Proxy {
    pub(super) requests: VecDeque<Request>,
    /// How many requests it has been given so far, and how many it has done.
    pub(super) asked: u64,
    pub(super) done: u64,
}

/// A request.
#[derive(Clone, Copy)]
pub(super) enum Request {
    /// Move bytes.
    Put(Put),
    /// Signal the other end, where it has one.
    Signal(Option<CounterId>),
}

/// Bytes to move.
#[derive(Clone, Copy)]
pub(super) struct Put {
    pub(super) from: Spot,
    pub(super) to: Spot,
    pub(super) bytes: u64,
    /// Whether packets are moved as they are; `bytes` and the places then count their data only.
    pub(super) packets: bool,
    pub(super) launch: u32,
    pub(super) writer: Writer,
}

impl Proxy {
    /// Adds a request; returns how many there have been, including this one.
    pub(super) fn ask(&mut self, request: Request) -> u64 {
        self.requests.push_back(request);
        self.asked += 1;
        self.asked
    }

    /// The next bytes to move, at most as many as `most` says for their launch; they then count as moved.
    pub(super) fn piece(&mut self, most: impl Fn(u32) -> u64) -> Option<Put> {
        let Some(Request::Put(put)) = self.requests.front_mut() else { return None };
        let piece = Put { bytes: put.bytes.min(most(put.launch)), ..*put };
        put.from = put.from.ahead(piece.bytes);
        put.to = put.to.ahead(piece.bytes);
        put.bytes -= piece.bytes;
        if put.bytes == 0 {
            self.requests.pop_front();
            self.done += 1;
        }
        Some(piece)
    }

    /// The counter to which the next request gives, if it is a signal; it then counts as done.
    pub(super) fn take_signal(&mut self) -> Option<Option<CounterId>> {
        let Some(Request::Signal(counter)) = self.requests.front() else { return None };
        let counter = *counter;
        self.requests.pop_front();
        self.done += 1;
        Some(counter)
    }
}
