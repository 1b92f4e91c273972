//! What ranks begin with, and what they must end with.
//!
//! Every element of every rank's input in every launch is a pseudorandom number that is derived from its place. Numbers
//! are small enough that sums of floats are exact in any order, so a correct result is correct to the bit.

use super::{Element, Settings, Wrong};
use crate::ir::{Buffer, Program, Promise, Rank, RankId, ReduceOp};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The inputs, and the outputs that they must give.
pub(super) struct Data {
    element: Element,
    op: ReduceOp,
    /// Numbers are between minus this and this; none if any number will do.
    span: Option<i64>,
    /// For each rank, the first rank whose promises are the same.
    alike: Vec<usize>,
    /// The contents of the promised chunks, in order; by rank, as in [`Data::alike`], launch, and bytes in a chunk.
    expected: BTreeMap<(usize, u32, u64), Rc<[u8]>>,
    instances: u32,
}

/// How many bytes of expected outputs are remembered.
pub(super) fn bytes(program: &Program, settings: &Settings) -> u64 {
    let lists = alike(program);
    let distinct = lists.iter().enumerate().filter(|(i, first)| i == *first);
    let chunks = distinct
        .map(|(i, _)| program.ranks.iter().nth(i).map_or(0, |rank| rank.promises.len() as u64));
    chunks
        .sum::<u64>()
        .saturating_mul(settings.chunk_bytes.iter().fold(0, |sum, size| size.saturating_add(sum)))
        .saturating_mul(u64::from(settings.launches))
}

fn alike(program: &Program) -> Vec<usize> {
    let mut first: BTreeMap<*const Promise, usize> = BTreeMap::new();
    let lists = program.ranks.iter().map(|rank| rank.promises.as_ptr()).enumerate();
    lists.map(|(i, list)| *first.entry(list).or_insert(i)).collect()
}

impl Data {
    pub(super) fn new(program: &Program, settings: &Settings) -> Data {
        let promises = program.ranks.iter().flat_map(|rank| rank.promises.iter());
        let count =
            |promise: &Promise| promise.terms.iter().map(|term| u64::from(term.count)).sum();
        let most: u64 = promises.map(count).max().unwrap_or(1).max(1);
        Data {
            element: settings.element,
            op: program.collective.op,
            span: settings.element.exact().map(|exact| (exact / most) as i64),
            alike: alike(program),
            expected: BTreeMap::new(),
            instances: program.instances_done.max(1),
        }
    }

    /// Writes a rank's input from byte `start` on.
    pub(super) fn fill(&self, rank: u32, launch: u32, start: u64, to: &mut [u8]) {
        let width = self.element.bytes();
        for (i, place) in (start / width..).zip(to.chunks_exact_mut(width as usize)) {
            self.element.write(self.number(rank, launch, i), place);
        }
    }

    fn number(&self, rank: u32, launch: u32, element: u64) -> i64 {
        let place = element ^ u64::from(rank) << 44 ^ u64::from(launch) << 32;
        let drawn = super::schedule::mixed(place);
        match self.span {
            None => drawn as i64,
            Some(0) => i64::from(drawn.is_multiple_of(64)),
            Some(span) => (drawn % (2 * span as u64 + 1)) as i64 - span,
        }
    }

    /// The first element of a rank's output that is not what is promised. `output` is the whole output, in chunks of so
    /// many bytes.
    pub(super) fn wrong(
        &mut self,
        (id, rank): (RankId, &Rank),
        launch: u32,
        (output, chunk_bytes): (&[u8], u64),
    ) -> Option<Wrong> {
        let expected = self.expected((id, rank), launch, chunk_bytes);
        let bytes = chunk_bytes as usize;
        for (promise, wanted) in rank.promises.iter().zip(expected.chunks_exact(bytes)) {
            let found = output.chunks_exact(bytes).nth(promise.chunk as usize).unwrap_or_default();
            if found != wanted {
                return Some(self.first(id, launch, promise.chunk, found, wanted));
            }
        }
        None
    }

    fn first(&self, rank: RankId, launch: u32, chunk: u32, found: &[u8], wanted: &[u8]) -> Wrong {
        let (width, wanted_bytes) = (self.element.bytes(), wanted.len() as u64);
        let found = found.chunks_exact(width as usize);
        let mut pairs = (0..).zip(found.zip(wanted.chunks_exact(width as usize)));
        let (at, (found, wanted)) =
            pairs.find(|(_, (found, wanted))| found != wanted).unwrap_or_default();
        Wrong {
            rank,
            launch,
            chunk: chunk / self.instances,
            element: u64::from(chunk) * (wanted_bytes / width) + at,
            found: self.element.shown(found),
            expected: self.element.shown(wanted),
            writers: Vec::new(),
        }
    }

    /// The contents of a rank's promised output chunks after a launch, one after the other.
    fn expected(&mut self, (id, rank): (RankId, &Rank), launch: u32, chunk_bytes: u64) -> Rc<[u8]> {
        let list = self.alike.get(id.0 as usize).copied().unwrap_or_default();
        let key = (list, launch, chunk_bytes);
        if let Some(known) = self.expected.get(&key) {
            return Rc::clone(known);
        }
        let mut all = Vec::new();
        for promise in rank.promises.iter() {
            all.extend_from_slice(&self.promised(promise, launch, chunk_bytes));
        }
        let all: Rc<[u8]> = all.into();
        self.expected.insert(key, Rc::clone(&all));
        all
    }

    fn promised(&self, promise: &Promise, launch: u32, chunk_bytes: u64) -> Vec<u8> {
        let mut sum: Option<Vec<u8>> = None;
        for term in &promise.terms {
            for i in 0..i64::from(term.count) {
                let rank = (i64::from(term.rank) + i * i64::from(term.rank_step)) as u32;
                let chunk = (i64::from(term.chunk) + i * i64::from(term.chunk_step)) as u64;
                let mut input = vec![0; chunk_bytes as usize];
                self.fill(rank, launch, chunk * chunk_bytes, &mut input);
                match &mut sum {
                    Some(sum) => self.element.combine(self.op, sum, &input),
                    None => sum = Some(input),
                }
            }
        }
        sum.unwrap_or_else(|| vec![0; chunk_bytes as usize])
    }

    /// The type of the numbers, which combines what transfers read.
    pub(super) fn element(&self) -> Element {
        self.element
    }
}

/// The buffers that users write and read.
pub(super) const USERS: [Buffer; 2] = [Buffer::Input, Buffer::Output];
