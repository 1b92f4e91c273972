//! The proxy of a port channel: it does what it was asked for, in order, in its own time.

use super::Writer;
use super::memory::Spot;
use std::collections::VecDeque;

/// What a proxy has to do.
#[derive(Default)]
pub(super) struct Proxy {
    pub(super) requests: VecDeque<Request>,
    /// How many requests it was ever given, and how many it has done.
    pub(super) asked: u64,
    pub(super) done: u64,
}

/// One thing to do.
#[derive(Clone, Copy)]
pub(super) enum Request {
    /// Move bytes.
    Put(Put),
    /// Tell the other end.
    Signal,
}

/// Bytes to move.
#[derive(Clone, Copy)]
pub(super) struct Put {
    pub(super) from: Spot,
    pub(super) to: Spot,
    pub(super) bytes: u64,
    /// Whether packets are moved as they are; bytes and spots are then of their data.
    pub(super) packets: bool,
    pub(super) launch: u32,
    pub(super) writer: Writer,
}

impl Proxy {
    /// Takes a request and says how many there were with it.
    pub(super) fn ask(&mut self, request: Request) -> u64 {
        self.requests.push_back(request);
        self.asked += 1;
        self.asked
    }

    /// What is to be moved next, at most so many bytes; it counts as moved then.
    pub(super) fn piece(&mut self, most: u64) -> Option<Put> {
        let Some(Request::Put(put)) = self.requests.front_mut() else { return None };
        let piece = Put { bytes: put.bytes.min(most), ..*put };
        put.from = put.from.ahead(piece.bytes);
        put.to = put.to.ahead(piece.bytes);
        put.bytes -= piece.bytes;
        if put.bytes == 0 {
            self.requests.pop_front();
            self.done += 1;
        }
        Some(piece)
    }

    /// Whether the next thing is to signal; it counts as done then.
    pub(super) fn signal(&mut self) -> bool {
        let is_signal = matches!(self.requests.front(), Some(Request::Signal));
        if is_signal {
            self.requests.pop_front();
            self.done += 1;
        }
        is_signal
    }
}
