//! Data operations, element by element, and the effects of weak memory on them.

use crate::code::{Lane, Start};
use crate::machine::{Key, Kind, Machine, Post, Store, Turn, Verdict};
use crate::memory::{Access, Actor, Held, NOBODY, Packet, Site, Value, combine, depends};
use std::rc::Rc;

impl Machine<'_> {
    /// Moves the thread on to its next element of an operation; false if there is none.
    pub(crate) fn seek(&mut self, i: usize, k: u32, lanes: &[Lane]) -> bool {
        let thread = &mut self.threads[i];
        if thread.lane == 0 && thread.element == 0 {
            thread.element = k;
        }
        while let Some(lane) = lanes.get(thread.lane) {
            if thread.element < lane.elements {
                return true;
            }
            (thread.lane, thread.element) = (thread.lane + 1, k);
        }
        false
    }

    /// Executes the thread's next element, if its packets have arrived.
    pub(crate) fn element(&mut self, i: usize, lanes: &[Lane]) -> Result<Turn, Verdict> {
        let thread = &self.threads[i];
        let (pc, at, element) = (thread.pc, thread.lane, thread.element);
        if let Some(cell) = self.missing(i, &lanes[at], element) {
            return Ok(Turn::Waits(Key::Cell(cell)));
        }
        let plain = lanes[at].reads.iter().chain(&lanes[at].writes).all(|place| !place.packet);
        if self.threads[i].late.last().is_some_and(|late| late.0 != pc) {
            self.catch_up(i)?;
        }
        if self.kind == Kind::Weak && plain && self.dice.roll() {
            self.threads[i].late.push((pc, at, element));
            self.wake(Key::Stores(i / self.code.threads));
        } else {
            self.catch_up(i)?;
            // What was overtaken may overwrite the packets.
            if let Some(cell) = self.missing(i, &lanes[at], element) {
                return Ok(Turn::Waits(Key::Cell(cell)));
            }
            self.perform(i, pc, &lanes[at], element)?;
        }
        self.threads[i].element += self.code.threads as u32;
        Ok(Turn::Ran)
    }

    /// Executes the elements that were overtaken.
    pub(crate) fn catch_up(&mut self, i: usize) -> Result<(), Verdict> {
        let steps = self.steps(i / self.code.threads);
        for (pc, lane, element) in std::mem::take(&mut self.threads[i].late) {
            if let crate::code::Instr::Move(lanes) = &steps[pc].instr {
                self.perform(i, pc, &lanes[lane], element)?;
            }
        }
        Ok(())
    }

    /// The cell of the first packet that has not arrived.
    fn missing(&self, i: usize, lane: &Lane, element: u32) -> Option<usize> {
        let block = i / self.code.threads;
        let flag = self.launch(block) + 1;
        let packets = lane.reads.iter().filter(|place| place.packet);
        let mut cells = packets
            .flat_map(|place| &place.starts)
            .map(|start| self.address(block, start) + 2 * element as usize);
        cells.find(|cell| match self.visible(i, *cell) {
            Held::Packet(packet) => packet.flag != flag,
            Held::Plain(_) | Held::Tail => true,
        })
    }

    /// The cell where an operand begins, in the half of scratch that this launch uses.
    pub(crate) fn address(&self, block: usize, start: &Start) -> usize {
        start.cell + start.half * (self.launch(block) as usize & 1)
    }

    /// What a thread finds in a cell: its own stores, those of its block before the last join, or
    /// memory.
    fn visible(&self, i: usize, cell: usize) -> &Held {
        let stores = &self.blocks[i / self.code.threads].stores;
        let mine =
            |store: &&Store| store.cell == cell && store.thread.is_none_or(|thread| thread == i);
        stores.iter().rev().find(mine).map_or(&self.cells[cell].held, |store| &store.held)
    }

    fn perform(&mut self, i: usize, pc: usize, lane: &Lane, element: u32) -> Result<(), Verdict> {
        let block = i / self.code.threads;
        let launch = self.launch(block);
        let actor = Actor::Thread { block: block as u32, step: pc as u32 };
        self.threads[i].count += 1;
        let by =
            Access { agent: i as u32, count: self.threads[i].count, site: Site { launch, actor } };
        for part in 0..lane.width {
            let mut values = Vec::with_capacity(lane.reads.len());
            let mut loads = Vec::new();
            let at = (lane.width * element + part) as usize;
            for place in &lane.reads {
                for start in &place.starts {
                    let cell = self.address(block, start);
                    values.push(if place.packet {
                        self.read_packet(i, cell + 2 * at, by)?
                    } else {
                        self.read_plain(i, cell + at, by, &mut loads)?
                    });
                }
            }
            let value =
                Value { terms: combine(lane.reduce, &values), loads: depends(&values, &loads) };
            for place in &lane.writes {
                for start in &place.starts {
                    let cell = self.address(block, start);
                    if place.packet {
                        self.write_packet(i, cell + 2 * at, by, &value)?;
                    } else {
                        self.write_plain(i, cell + at, by, &value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn read_plain(
        &mut self,
        i: usize,
        cell: usize,
        by: Access,
        loads: &mut Vec<u32>,
    ) -> Result<Value, Verdict> {
        self.note(by.site, cell, false);
        if self.kind == Kind::Views {
            let load = if self.code.packets { self.loads.add() } else { 0 };
            loads.extend(Some(load).filter(|_| self.code.packets));
            let touched = &mut self.cells[cell].touched;
            let read = touched.read(&self.threads[i].view, by, load);
            self.met(read, by, cell)?;
        }
        let block = i / self.code.threads;
        let old = self.kind == Kind::Weak && {
            let stored = self.blocks[block].stores.iter().any(|store| store.cell == cell);
            let held = &self.cells[cell];
            let anew = held.written <= self.threads[i].fresh || held.writer == block as u32;
            !stored && !anew && self.dice.roll()
        };
        let held = if old { &self.cells[cell].before } else { self.visible(i, cell) };
        let value = match held {
            Held::Plain(value) => value.clone(),
            Held::Packet(_) | Held::Tail => Value::of(NOBODY, cell as u32, u32::MAX),
        };
        self.stale |= value.is_stale(self.launch(block));
        Ok(value)
    }

    fn read_packet(&mut self, i: usize, cell: usize, by: Access) -> Result<Value, Verdict> {
        let Held::Packet(packet) = self.visible(i, cell) else {
            unreachable!("it was there a moment ago")
        };
        let packet = Rc::clone(packet);
        self.note(by.site, cell, false);
        if self.kind == Kind::Views {
            for cell in [cell, cell + 1] {
                let touched = &mut self.cells[cell].touched;
                let read = touched.read_packet(&self.threads[i].view, by, packet.flag);
                self.met(read, by, cell)?;
            }
            self.loads.hear(&packet.value.loads, by.agent, by.count);
        }
        let mut post = Post { entered: packet.entered, ..Post::default() };
        if self.kind == Kind::Views {
            post.view.gather(&packet.told, false);
        }
        self.learn(i, &post, false);
        Ok(packet.value.clone())
    }

    fn write_plain(
        &mut self,
        i: usize,
        cell: usize,
        by: Access,
        value: &Value,
    ) -> Result<(), Verdict> {
        self.note(by.site, cell, true);
        if self.kind == Kind::Views {
            let touched = &mut self.cells[cell].touched;
            let write = touched.write(&self.threads[i].view, by, &self.loads);
            self.met(write, by, cell)?;
        }
        self.put(i, cell, Held::Plain(value.clone()));
        Ok(())
    }

    /// The verdict on a conflicting access: a race, if races in this cell are looked for.
    pub(crate) fn met(
        &self,
        access: Result<(), Access>,
        by: Access,
        cell: usize,
    ) -> Result<(), Verdict> {
        match access {
            Err(first) if self.watched.as_ref().is_none_or(|cells| cells.contains(&cell)) => {
                Err(Verdict::Race { first: first.site, second: by.site, cell })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn write_packet(
        &mut self,
        i: usize,
        cell: usize,
        by: Access,
        value: &Value,
    ) -> Result<(), Verdict> {
        let flag = by.site.launch + 1;
        self.note(by.site, cell, true);
        if self.kind == Kind::Views {
            for cell in [cell, cell + 1] {
                let touched = &mut self.cells[cell].touched;
                let content = (flag, &value.terms);
                let write = touched.write_packet(&self.threads[i].view, by, content, &self.loads);
                self.met(write, by, cell)?;
            }
        }
        let entered = self.threads[i].entered;
        let packet = Packet { flag, value: value.clone(), told: self.told(i), entered };
        self.put(i, cell, Held::Packet(Rc::new(packet)));
        self.put(i, cell + 1, Held::Tail);
        Ok(())
    }

    /// A store: either held back, or visible to all at once, after older stores to its cell.
    fn put(&mut self, i: usize, cell: usize, held: Held) {
        let block = i / self.code.threads;
        if self.kind == Kind::Weak && self.dice.roll() {
            self.blocks[block].stores.push(Store { cell, held, thread: Some(i) });
            self.wake(Key::Stores(block));
            self.wake(Key::Cell(cell));
            return;
        }
        self.drain(block, |store| store.cell == cell);
        self.commit(cell, held, block as u32);
    }

    /// Gives a cell new contents, visible to all.
    pub(crate) fn commit(&mut self, cell: usize, held: Held, writer: u32) {
        let slot = &mut self.cells[cell];
        slot.before = std::mem::replace(&mut slot.held, held);
        (slot.written, slot.writer) = (self.now, writer);
        self.wake(Key::Cell(cell));
    }

    /// Makes some of a block's stores visible, in order.
    pub(crate) fn drain(&mut self, block: usize, which: impl Fn(&Store) -> bool) {
        let stores = std::mem::take(&mut self.blocks[block].stores);
        let (seen, kept): (Vec<Store>, Vec<Store>) = stores.into_iter().partition(which);
        self.blocks[block].stores = kept;
        for store in seen {
            self.commit(store.cell, store.held, block as u32);
        }
    }

    /// Executes something that was held back.
    pub(crate) fn store(&mut self, block: usize) -> Result<Turn, Verdict> {
        let threads = block * self.code.threads..(block + 1) * self.code.threads;
        if let Some(late) = { threads }.find(|i| !self.threads[*i].late.is_empty()) {
            self.catch_up(late)?;
            return Ok(Turn::Ran);
        }
        let count = self.blocks[block].stores.len();
        if count == 0 {
            return Ok(Turn::Waits(Key::Stores(block)));
        }
        let which = self.now as usize % count;
        let cell = self.blocks[block].stores[which].cell;
        self.drain(block, |store| store.cell == cell);
        Ok(Turn::Ran)
    }
}
