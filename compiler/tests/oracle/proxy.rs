//! Port channels: requests, and the two agents of each channel that serve them.
//!
//! The reader takes the source's bytes; the writer puts them into the destination and delivers signals. Each serves a
//! channel's requests in order, with the writer behind the reader. A request may rely on what its thread could rely on
//! when it made the request, and on earlier requests of the channel as far as the thread knew of them: if two threads
//! made requests without knowing of each other, their order holds only in this schedule.

use crate::code::Push;
use crate::machine::{Key, Kind, Machine, Post, Turn, Verdict};
use crate::memory::{Access, Actor, Held, Packet, Site, Term};
use crate::view::{Told, View, advance};
use std::rc::Rc;

/// A port channel's requests, and the progress of its agents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Port {
    requests: Vec<Rc<Request>>,
    pushers: Vec<Pusher>,
    pub(crate) read: usize,
    pub(crate) written: usize,
    /// Data that was read and is not written yet.
    pub(crate) moving: std::collections::VecDeque<Vec<Held>>,
}

/// A thread that makes requests on a channel.
#[derive(Clone, Debug)]
struct Pusher {
    thread: u32,
    /// In views, the agent that reads for it; the next agent writes for it.
    agent: u32,
    /// For each of its requests: the thread's access count when it was made, and the number of pieces up to and
    /// including it.
    made: Vec<(u32, u32)>,
}

/// A request.
#[derive(Debug)]
struct Request {
    push: Push,
    /// First cells of source and destination.
    from: usize,
    into: usize,
    told: Told,
    entered: u64,
    site: Site,
    /// The agent that reads; the writer is the next agent. `pieces`: the number of the thread's pieces before this
    /// request, and including it.
    agent: u32,
    pieces: (u32, u32),
    /// For each reading agent, how many of its pieces are certain to come first.
    behind: Vec<(u32, u32)>,
}

impl Machine<'_> {
    /// A thread makes a request; returns the number of the request.
    pub(crate) fn request(&mut self, i: usize, push: &Push) -> usize {
        let block = i / self.code.threads;
        self.threads[i].count += 1;
        let told = self.told(i);
        let address = |which: fn(&(_, _, usize)) -> crate::code::Start| {
            push.put.as_ref().map_or(0, |put| self.address(block, &which(put)))
        };
        let (from, into) = (address(|put| put.0), address(|put| put.1));
        let fresh = self.new_agent;
        let port = &mut self.ports[push.channel];
        let known = port.pushers.iter().map(|pusher| {
            let made = pusher.made.iter().take_while(|(at, _)| told.view.sees(pusher.thread, *at));
            (pusher.agent, made.last().map_or(0, |(_, pieces)| *pieces))
        });
        let behind = known.collect();
        if port.pushers.iter().all(|pusher| pusher.thread as usize != i) {
            port.pushers.push(Pusher { thread: i as u32, agent: fresh, made: Vec::new() });
            self.new_agent += 2;
        }
        let pusher = port.pushers.iter_mut().find(|pusher| pusher.thread as usize == i);
        let moved = 1 + push.put.map_or(0, |put| put.2 as u32);
        let (agent, pieces) = pusher.map_or((0, (0, 0)), |pusher| {
            let before = pusher.made.last().map_or(0, |(_, pieces)| *pieces);
            pusher.made.push((told.count, before + moved));
            (pusher.agent, (before, before + moved))
        });
        let site = Site {
            launch: self.launch(block),
            actor: Actor::Proxy { block: block as u32, step: self.threads[i].pc as u32 },
        };
        let entered = self.threads[i].entered;
        let push = push.clone();
        let request = Request { push, from, into, told, entered, site, agent, pieces, behind };
        let requests = &mut self.ports[request.push.channel].requests;
        requests.push(Rc::new(request));
        requests.len() - 1
    }

    /// A step of an agent of a port channel: even ones read, odd ones write.
    pub(crate) fn proxy(&mut self, agent: usize) -> Result<Turn, Verdict> {
        let (channel, writes) = (agent / 2, agent % 2 == 1);
        if !self.code.channels[channel].port {
            return Ok(Turn::Over);
        }
        let port = &self.ports[channel];
        let (next, limit) =
            if writes { (port.written, port.read) } else { (port.read, port.requests.len()) };
        if next >= limit {
            return Ok(Turn::Waits(Key::Port(channel)));
        }
        let request = Rc::clone(&port.requests[next]);
        if writes {
            self.deliver(channel, &request)?;
        } else {
            self.fetch(channel, &request)?;
        }
        self.wake(Key::Port(channel));
        Ok(Turn::Ran)
    }

    /// The number of the piece that a cell of a request belongs to. Pieces begin at any quarter of the request and wrap
    /// around, front to back with an even number of threads, back to front with an odd one; both cells of a packet are
    /// one piece.
    fn piece(&self, request: &Request, cell: usize) -> u32 {
        let width = if request.push.raw { 2 } else { 1 };
        let all = (request.push.put.map_or(0, |put| put.2) / width).max(1) as u32;
        let piece = ((cell / width) as u32 + all * self.quarter / 4) % all;
        let (before, with) = request.pieces;
        if self.code.threads.is_multiple_of(2) { before + 1 + piece } else { with - piece }
    }

    /// What a request's agents can rely on when `read` pieces were read and `written` pieces were written.
    fn relies(&self, request: &Request, read: u32, written: u32) -> View {
        let mut view = View { me: u32::MAX, ..View::default() };
        if self.kind != Kind::Views {
            return view;
        }
        view.gather(&request.told, true);
        for clock in [&mut view.seen, &mut view.past] {
            for (agent, count) in &request.behind {
                advance(clock, *agent, *count);
                advance(clock, *agent + 1, *count);
            }
            advance(clock, request.agent, read);
            advance(clock, request.agent + 1, written);
        }
        view
    }

    fn fetch(&mut self, channel: usize, request: &Request) -> Result<(), Verdict> {
        let mut bytes = Vec::new();
        let view = self.relies(request, 0, 0);
        let flag = request.site.launch + 1;
        for i in 0..request.push.put.map_or(0, |put| put.2) {
            let cell = request.from + i;
            let count = self.piece(request, i);
            let by = Access { agent: request.agent, count, site: request.site };
            self.note(by.site, cell, false);
            if self.kind == Kind::Views {
                let load = if self.code.packets { self.loads.add() } else { 0 };
                let touched = &mut self.cells[cell].touched;
                let read = match (request.push.raw, request.push.observed) {
                    (false, _) => touched.read(&view, by, load),
                    (true, true) => touched.read_found(&view, by, flag),
                    (true, false) => touched.read_raw(&view, by, flag),
                };
                self.met(read, by, cell)?;
            }
            let held = &self.cells[cell].held;
            // A reader of packets checks the flag, so that a packet that was not written is not taken for one.
            if let (Held::Plain(value), false) = (held, request.push.raw) {
                self.stale |= value.is_stale(request.site.launch);
            }
            bytes.push(held.clone());
        }
        let port = &mut self.ports[channel];
        port.moving.push_back(bytes);
        port.read += 1;
        Ok(())
    }

    fn deliver(&mut self, channel: usize, request: &Request) -> Result<(), Verdict> {
        let bytes = self.ports[channel].moving.pop_front().unwrap_or_default();
        let mut terms = Rc::from([]);
        for (i, held) in bytes.into_iter().enumerate() {
            let count = self.piece(request, i);
            // The pieces after this one may not even have been read when it arrives.
            let view = self.relies(request, count, 0);
            let by = Access { agent: request.agent + 1, count, site: request.site };
            if let Held::Packet(packet) = &held {
                terms = Rc::clone(&packet.value.terms);
            }
            let cell = request.into + i;
            self.note(by.site, cell, true);
            let held = self.arriving(cell, held, &view, (by, &terms), request)?;
            self.commit(cell, held, u32::MAX);
        }
        self.ports[channel].written += 1;
        if request.push.signal {
            let told = self.delivered(request);
            self.post(channel, &told, request.entered, true);
        }
        Ok(())
    }

    /// Checks a write to a cell, and returns the new contents.
    fn arriving(
        &mut self,
        cell: usize,
        held: Held,
        view: &View,
        (by, terms): (Access, &Rc<[Term]>),
        request: &Request,
    ) -> Result<Held, Verdict> {
        let touched = &mut self.cells[cell].touched;
        let views = self.kind == Kind::Views;
        let flag = request.site.launch + 1;
        match held {
            Held::Packet(old) => {
                let content = (old.flag, &old.value.terms);
                if views {
                    let write = touched.write_packet(view, by, content, &self.loads);
                    self.met(write, by, cell)?;
                }
                let told = Told { view: view.clone(), agent: by.agent, count: by.count };
                let value = old.value.clone();
                let entered = request.entered;
                Ok(Held::Packet(Rc::new(Packet { flag: old.flag, value, told, entered })))
            }
            Held::Tail if views => {
                let write = touched.write_packet(view, by, (flag, terms), &self.loads);
                self.met(write, by, cell)?;
                Ok(Held::Tail)
            }
            Held::Plain(_) if views => {
                let write = touched.write(view, by, &self.loads);
                self.met(write, by, cell)?;
                Ok(held)
            }
            Held::Tail | Held::Plain(_) => Ok(held),
        }
    }

    /// What the end of a request publishes.
    fn delivered(&self, request: &Request) -> Told {
        let (_, all) = request.pieces;
        let view = self.relies(request, all, all);
        Told { view, agent: request.told.agent, count: request.told.count }
    }

    /// What a flush learns when its request is done.
    pub(crate) fn flushed(&self, channel: usize, index: usize) -> Option<Post> {
        let port = &self.ports[channel];
        let request = port.requests.get(index).filter(|_| port.written > index)?;
        let mut post = Post { time: self.now, entered: request.entered, ..Post::default() };
        post.view.gather(&self.delivered(request), true);
        Some(post)
    }
}
