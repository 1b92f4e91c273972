//! Port channels: requests, and the two agents of each channel that serve them.
//!
//! The reader takes the source's bytes, the writer puts them into the destination and delivers signals; each serves a
//! channel's requests in order, the writer behind the reader. A request may rely on what its thread could when it
//! made it, and on earlier requests of the channel as far as the thread knew of these.

use crate::code::Push;
use crate::element::race;
use crate::machine::{Key, Kind, Machine, Post, Turn, Verdict};
use crate::memory::{Access, Actor, Held, Packet, Site};
use crate::view::{Told, View, advance};
use std::rc::Rc;

/// A port channel's requests and how far its agents have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Port {
    requests: Vec<Rc<Request>>,
    pub(crate) read: usize,
    pub(crate) written: usize,
    /// What was read and not yet written.
    pub(crate) moving: std::collections::VecDeque<Vec<Held>>,
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
    /// How many of the requests before it surely come first.
    behind: usize,
}

impl Machine<'_> {
    /// A thread asks for something; the number of the request.
    pub(crate) fn request(&mut self, i: usize, push: &Push) -> usize {
        let block = i / self.code.threads;
        self.threads[i].count += 1;
        let told = self.told(i);
        let address = |which: fn(&(_, _, usize)) -> crate::code::Start| {
            push.put.as_ref().map_or(0, |put| self.address(block, &which(put)))
        };
        let (from, into) = (address(|put| put.0), address(|put| put.1));
        let requests = &self.ports[push.channel].requests;
        let known = |request: &Rc<Request>| {
            told.view.sees(request.told.agent, request.told.count)
        };
        let last = requests.last().is_none_or(|last| known(last) && last.behind + 1 == requests.len());
        let behind = if last {
            requests.len()
        } else {
            requests.iter().take_while(|request| known(request)).count()
        };
        let site = Site {
            launch: self.launch(block),
            actor: Actor::Proxy { block: block as u32, step: self.threads[i].pc as u32 },
        };
        let entered = self.threads[i].entered;
        let request = Request { push: push.clone(), from, into, told, entered, site, behind };
        self.ports[push.channel].requests.push(Rc::new(request));
        self.ports[push.channel].requests.len() - 1
    }

    /// An agent of a port channel: even ones read, odd ones write.
    pub(crate) fn proxy(&mut self, agent: usize) -> Result<Turn, Verdict> {
        let (channel, writes) = (agent / 2, agent % 2 == 1);
        if !self.code.channels[channel].port {
            return Ok(Turn::Over);
        }
        let port = &self.ports[channel];
        let (next, limit) = if writes {
            (port.written, port.read)
        } else {
            (port.read, port.requests.len())
        };
        if next >= limit {
            return Ok(Turn::Waits(Key::Port(channel)));
        }
        let request = Rc::clone(&port.requests[next]);
        if writes {
            self.deliver(channel, next, &request)?;
        } else {
            self.fetch(channel, next, &request)?;
        }
        self.wake(Key::Port(channel));
        Ok(Turn::Ran)
    }

    fn agents_of(&self, channel: usize) -> (u32, u32) {
        let first = self.first_port_agent() + 2 * channel;
        (first as u32, first as u32 + 1)
    }

    /// What a request's agents can rely on.
    fn relies(&self, channel: usize, request: &Request) -> View {
        let (reads, writes) = self.agents_of(channel);
        let mut view = View { me: u32::MAX, ..View::default() };
        if self.kind == Kind::Views {
            view.gather(&request.told, true);
            for clock in [&mut view.seen, &mut view.past] {
                advance(clock, reads, request.behind as u32);
                advance(clock, writes, request.behind as u32);
            }
        }
        view
    }

    fn fetch(&mut self, channel: usize, index: usize, request: &Request) -> Result<(), Verdict> {
        let mut bytes = Vec::new();
        let view = self.relies(channel, request);
        let by = Access {
            agent: self.agents_of(channel).0,
            count: index as u32 + 1,
            site: request.site,
        };
        let flag = request.site.launch + 1;
        for cell in request.from..request.from + request.push.put.map_or(0, |put| put.2) {
            if self.kind == Kind::Views {
                let load = if self.code.packets { self.loads.add() } else { 0 };
                let touched = &mut self.cells[cell].touched;
                let read = match (request.push.raw, request.push.observed) {
                    (false, _) => touched.read(&view, by, load),
                    (true, true) => touched.read_packet(&view, by, flag),
                    (true, false) => touched.read_raw(&view, by, flag),
                };
                read.map_err(|first| race(&first, &by, cell))?;
            }
            bytes.push(self.cells[cell].held.clone());
        }
        let port = &mut self.ports[channel];
        port.moving.push_back(bytes);
        port.read += 1;
        Ok(())
    }

    fn deliver(&mut self, channel: usize, index: usize, request: &Request) -> Result<(), Verdict> {
        let (reads, writes) = self.agents_of(channel);
        let mut view = self.relies(channel, request);
        if self.kind == Kind::Views && request.behind == index {
            advance(&mut view.seen, reads, index as u32 + 1);
            advance(&mut view.past, reads, index as u32 + 1);
        }
        let by = Access { agent: writes, count: index as u32 + 1, site: request.site };
        let bytes = self.ports[channel].moving.pop_front().unwrap_or_default();
        for (cell, held) in (request.into..).zip(bytes) {
            let held = self.arriving(cell, held, &view, by, request)?;
            self.commit(cell, held, u32::MAX);
        }
        self.ports[channel].written += 1;
        if request.push.signal {
            let told = self.delivered(channel, index, request);
            self.post(channel, &told, request.entered, true);
        }
        Ok(())
    }

    /// What is written to a cell, checked.
    fn arriving(
        &mut self,
        cell: usize,
        held: Held,
        view: &View,
        by: Access,
        request: &Request,
    ) -> Result<Held, Verdict> {
        let touched = &mut self.cells[cell].touched;
        let views = self.kind == Kind::Views;
        let flag = request.site.launch + 1;
        match held {
            Held::Packet(old) => {
                let content = (old.flag, &old.value.terms);
                if views {
                    touched
                        .write_packet(view, by, content, &self.loads)
                        .map_err(|first| race(&first, &by, cell))?;
                }
                let told = Told { view: view.clone(), agent: by.agent, count: by.count };
                let value = old.value.clone();
                let entered = request.entered;
                Ok(Held::Packet(Rc::new(Packet { flag: old.flag, value, told, entered })))
            }
            Held::Tail if views => {
                touched
                    .write_packet(view, by, (flag, &Rc::from([])), &self.loads)
                    .map_err(|first| race(&first, &by, cell))?;
                Ok(Held::Tail)
            }
            Held::Plain(_) if views => {
                touched
                    .write(view, by, &self.loads)
                    .map_err(|first| race(&first, &by, cell))?;
                Ok(held)
            }
            Held::Tail | Held::Plain(_) => Ok(held),
        }
    }

    /// What the end of a request tells.
    fn delivered(&self, channel: usize, index: usize, request: &Request) -> Told {
        let (reads, writes) = self.agents_of(channel);
        let mut view = self.relies(channel, request);
        if self.kind == Kind::Views && request.behind == index {
            for clock in [&mut view.seen, &mut view.past] {
                advance(clock, reads, index as u32 + 1);
                advance(clock, writes, index as u32 + 1);
            }
        }
        Told { view, agent: request.told.agent, count: request.told.count }
    }

    /// What a flush tells when its request is done.
    pub(crate) fn flushed(&self, channel: usize, index: usize) -> Option<Post> {
        let port = &self.ports[channel];
        let request = port.requests.get(index).filter(|_| port.written > index)?;
        let mut post = Post { time: self.now, entered: request.entered, ..Post::default() };
        post.view.gather(&self.delivered(channel, index, request), true);
        Some(post)
    }
}
