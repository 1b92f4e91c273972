//! The user of a rank's stream: before every launch it writes new input, and after it, it checks the output.
//!
//! Both buffers are written between two launches, the output with values that cannot be a result: writes and reads
//! after the end of a launch thus become visible.

use crate::code::Code;
use crate::machine::{Key, Kind, Machine, Turn, Verdict};
use crate::memory::{Access, Actor, Held, NOBODY, Site, Term, Value, bit, count};
use crate::view::View;
use compiler::ir::{Buffer, Program};
use compiler::table::Id as _;

/// What the collective promises, cell by cell.
#[derive(Clone, Debug)]
pub(crate) struct Promised {
    ranks: Vec<RankPromised>,
}

#[derive(Clone, Debug, Default)]
struct RankPromised {
    /// Output cells, and what they must hold in launch 0.
    cells: Vec<(usize, Vec<Term>)>,
    /// Input cells, in order.
    input: Vec<usize>,
    /// Output cells that are not input cells.
    output: Vec<usize>,
    /// Whether the input must stay unchanged.
    kept: bool,
    /// The ranks that have begun a launch before this one ends it.
    begun: Vec<u32>,
    /// The operator that may have made the outputs ([`bit`]).
    by: u8,
}

/// Reads the promises of a program.
pub(crate) fn promised(program: &Program, code: &Code) -> Promised {
    let ranks = program.ranks.entries().map(|(id, rank)| {
        let memory = &code.ranks[id.index()].memory;
        let all = |buffer, chunks: u32| {
            let cells = move |chunk| (0..code.chunk).map(move |at| memory.cell(buffer, chunk, at));
            (0..chunks).flat_map(cells).collect::<Vec<usize>>()
        };
        let input = all(Buffer::Input, rank.input_chunks);
        let output = all(Buffer::Output, rank.output_chunks);
        let output = output.into_iter().filter(|cell| !input.contains(cell)).collect();
        let mut cells = Vec::new();
        for promise in rank.promises.iter() {
            for at in 0..code.chunk {
                let mut terms = Vec::new();
                for term in &promise.terms {
                    for i in 0..i64::from(term.count) {
                        let rank = i64::from(term.rank) + i * i64::from(term.rank_step);
                        let chunk = i64::from(term.chunk) + i * i64::from(term.chunk_step);
                        let cell = chunk as u32 * code.chunk + at;
                        terms.push(Term { rank: rank as u32, cell, launch: 0, count: 1, by: 0 });
                    }
                }
                terms.sort_unstable();
                let named = std::mem::take(&mut terms);
                named.into_iter().for_each(|term| count(&mut terms, program.collective.op, term));
                cells.push((memory.cell(Buffer::Output, promise.chunk, at), terms));
            }
        }
        let begun = rank.begun.iter().map(|other| other.0).collect();
        let by = bit(program.collective.op);
        RankPromised { cells, input, output, kept: !program.collective.in_place, begun, by }
    });
    Promised { ranks: ranks.collect() }
}

impl Promised {
    /// The same buffers, with nothing promised.
    pub(crate) fn nothing(&self) -> Promised {
        let nothing = |rank: &RankPromised| RankPromised {
            cells: Vec::new(),
            begun: Vec::new(),
            ..rank.clone()
        };
        let ranks = self.ranks.iter().map(nothing);
        Promised { ranks: ranks.collect() }
    }
}

impl Machine<'_> {
    /// After a launch: checks the output, writes the buffers, and starts the next launch.
    pub(crate) fn user(&mut self, rank: usize) -> Result<Turn, Verdict> {
        if self.ranks[rank].left > 0 {
            return Ok(Turn::Waits(Key::Launch(rank)));
        }
        let blocks = self.code.ranks[rank].blocks.clone();
        for block in blocks.clone() {
            self.drain(block, |_| true);
        }
        let begun = self.ranks[rank].begun;
        if let Some(launch) = begun.checked_sub(1) {
            self.look(rank, launch)?;
        }
        let threads = blocks.start * self.code.threads..blocks.end * self.code.threads;
        self.overwrite(rank, threads.clone())?;
        if begun == self.launches {
            return Ok(Turn::Over);
        }
        self.start(rank, threads);
        Ok(if self.ranks[rank].left == 0 { Turn::Ran } else { Turn::Waits(Key::Launch(rank)) })
    }

    /// Whether everything is as it was promised.
    fn look(&mut self, rank: usize, launch: u32) -> Result<(), Verdict> {
        let promised = &self.in_launch(launch).1.ranks[rank];
        let late = |other: &&u32| self.ranks[**other as usize].begun <= launch;
        if let Some(begins) = promised.begun.iter().find(late) {
            return Err(Verdict::Early { rank: rank as u32, begins: *begins, launch });
        }
        for (cell, terms) in &promised.cells {
            let wanted = terms.iter().map(|term| Term { launch, ..*term });
            let right = match &self.cells[*cell].held {
                Held::Plain(value) => {
                    let made_by = |term: &Term| term.by & !promised.by == 0;
                    let held = value.terms.iter().map(|term| Term { by: 0, ..*term });
                    value.terms.iter().all(made_by) && held.eq(wanted)
                }
                Held::Packet(_) | Held::Tail => false,
            };
            if !right {
                let cell = *cell as u32;
                return Err(Verdict::WrongValue { rank: rank as u32, cell, launch });
            }
        }
        for (index, cell) in promised.input.iter().enumerate().filter(|_| promised.kept) {
            let given = Term { rank: rank as u32, cell: index as u32, launch, count: 1, by: 0 };
            let kept = matches!(&self.cells[*cell].held, Held::Plain(v) if *v.terms == [given]);
            self.clobbers |= !kept;
        }
        Ok(())
    }

    fn overwrite(&mut self, rank: usize, threads: std::ops::Range<usize>) -> Result<(), Verdict> {
        let launch = self.ranks[rank].begun;
        let promised = &self.in_launch(launch).1.ranks[rank];
        let agent = (self.first_user_agent() + rank) as u32;
        let mut view = View { me: agent, ..View::default() };
        if self.kind == Kind::Views {
            view.join(&self.users[rank]);
            view.join(&self.common(threads).0);
        }
        let actor = Actor::User { rank: rank as u32 };
        let by = Access { agent, count: launch + 1, site: Site { launch, actor } };
        let input = (0..).zip(&promised.input).map(|(i, cell)| (*cell, rank as u32, i));
        let output = promised.output.iter().map(|cell| (*cell, NOBODY, *cell as u32));
        for (cell, from, index) in input.chain(output) {
            if let Some(trace) = &mut self.trace {
                trace.push((by.site, cell, true));
            }
            if self.kind == Kind::Views {
                let touched = &mut self.cells[cell].touched;
                let write = touched.write(&view, by, &self.loads);
                self.met(write, by, cell)?;
            }
            self.commit(cell, Held::Plain(Value::of(from, index, launch)), u32::MAX);
        }
        if self.kind == Kind::Views {
            crate::view::advance(&mut view.seen, agent, launch + 1);
            crate::view::advance(&mut view.past, agent, launch + 1);
            view.begun = std::rc::Rc::clone(&view.seen);
        }
        self.users[rank] = view;
        Ok(())
    }

    fn start(&mut self, rank: usize, threads: std::ops::Range<usize>) {
        let view = self.users[rank].clone();
        self.ranks[rank].begun += 1;
        self.ranks[rank].left = threads.len();
        for i in threads {
            let thread = &mut self.threads[i];
            thread.view = View { me: i as u32, ..view.clone() };
            (thread.pc, thread.lane, thread.element, thread.ticket) = (0, 0, 0, None);
            thread.over = false;
            (thread.fresh, thread.entered) = (self.now, self.now);
        }
        self.wake(Key::Launch(rank));
    }
}
