//! What ranks begin with, and what they must end with.
//!
//! Every element of every rank's input in every launch is a pseudorandom number that is derived from its place. Numbers
//! are small enough that sums of floats are exact in any order, so a correct result is correct to the bit. If they are to
//! be inexact ([`Settings::inexact`]), floats have as many digits as there is room for, and a sum is correct if it is as close to
//! the exact one as any order of additions brings it. Where ranks are promised to have the same bits, each has those
//! of the first one that ended.

use super::{Element, Settings, Wrong};
use crate::ir::{Buffer, Program, Promise, Rank, RankId, ReduceOp, Term};
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
    inexact: bool,
    /// By launch and chunk, the first rank that ended with a chunk for which the same bits are promised, and the chunk.
    first: BTreeMap<(u32, u32), First>,
}

/// The rank that ended first, and what its chunk held.
#[derive(Clone)]
struct First {
    rank: RankId,
    chunk: Rc<[u8]>,
}

/// How many bytes of expected outputs are remembered.
pub(super) fn bytes(program: &Program, settings: &Settings) -> u64 {
    let lists = alike(program);
    let distinct = lists.iter().enumerate().filter(|(i, first)| i == *first);
    let chunks = distinct
        .map(|(i, _)| program.ranks.iter().nth(i).map_or(0, |rank| rank.promises.len() as u64));
    let same = program.ranks.iter().flat_map(|rank| rank.same.iter()).max();
    chunks
        .chain(same.map(|last| u64::from(*last) + 1))
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
            inexact: settings.inexact && settings.element.exact().is_some(),
            first: BTreeMap::new(),
        }
    }

    /// Forgets what ranks ended with in another schedule.
    pub(super) fn begin(&mut self) {
        self.first.clear();
    }

    /// Writes a rank's input from byte `start` on.
    pub(super) fn fill(&self, rank: u32, launch: u32, start: u64, to: &mut [u8]) {
        let width = self.element.bytes();
        for (i, place) in (start / width..).zip(to.chunks_exact_mut(width as usize)) {
            let drawn = drawn(rank, launch, i);
            match self.inexact {
                true => self.element.write_any(drawn, place),
                false => self.element.write(self.number(drawn), place),
            }
        }
    }

    fn number(&self, drawn: u64) -> i64 {
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
        let chunk = |chunk: u32| output.chunks_exact(bytes).nth(chunk as usize).unwrap_or_default();
        for (promise, wanted) in rank.promises.iter().zip(expected.chunks_exact(bytes)) {
            let found = chunk(promise.chunk);
            if found == wanted {
                continue;
            }
            let at = match self.inexact && self.op == ReduceOp::Sum {
                true => self.far_off((promise, launch), found),
                false => self.first_difference(found, wanted),
            };
            if let Some(at) = at {
                return Some(self.wrong_at((id, launch, promise.chunk), at, found, wanted));
            }
        }
        rank.same.iter().find_map(|number| {
            let found = chunk(*number);
            let new = || First { rank: id, chunk: Rc::from(found) };
            let first = self.first.entry((launch, *number)).or_insert_with(new).clone();
            let at = self.first_difference(found, &first.chunk)?;
            let wrong = self.wrong_at((id, launch, *number), at, found, &first.chunk);
            Some(Wrong { like: Some(first.rank), ..wrong })
        })
    }

    /// The first element in which two chunks differ.
    fn first_difference(&self, found: &[u8], wanted: &[u8]) -> Option<usize> {
        let width = self.element.bytes() as usize;
        let mut pairs = found.chunks_exact(width).zip(wanted.chunks_exact(width));
        pairs.position(|(found, wanted)| found != wanted)
    }

    /// The first element that is farther from the exact sum than rounding can bring it. Every addition rounds by at most
    /// half of the last digit, so that all together are off by no more than that share of the sum of all sizes, times the
    /// number of additions.
    fn far_off(&self, (promise, launch): (&Promise, u32), found: &[u8]) -> Option<usize> {
        let width = self.element.bytes() as usize;
        let (mut sums, mut sizes) =
            (vec![0.0; found.len() / width], vec![0.0; found.len() / width]);
        let mut count = 0.0;
        for (rank, chunk) in promise.terms.iter().flat_map(Term::sources) {
            let mut input = vec![0; found.len()];
            self.fill(rank, launch, u64::from(chunk) * found.len() as u64, &mut input);
            count += 1.0;
            for ((sum, size), bytes) in
                sums.iter_mut().zip(&mut sizes).zip(input.chunks_exact(width))
            {
                let number = self.element.value(bytes);
                *sum += number;
                *size += number.abs();
            }
        }
        let mut rows = found.chunks_exact(width).zip(sums.iter().zip(&sizes));
        rows.position(|(bytes, (sum, size))| {
            let off = (self.element.value(bytes) - sum).abs();
            off.is_nan() || off > (count - 1.0) * self.element.rounding(*size)
        })
    }

    fn wrong_at(
        &self,
        (rank, launch, chunk): (RankId, u32, u32),
        at: usize,
        found: &[u8],
        wanted: &[u8],
    ) -> Wrong {
        let width = self.element.bytes() as usize;
        let shown = |bytes: &[u8]| {
            self.element.shown(bytes.chunks_exact(width).nth(at).unwrap_or_default())
        };
        Wrong {
            rank,
            launch,
            chunk: chunk / self.instances,
            element: u64::from(chunk) * (wanted.len() / width) as u64 + at as u64,
            found: shown(found),
            expected: shown(wanted),
            writers: Vec::new(),
            like: None,
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
        for (rank, chunk) in promise.terms.iter().flat_map(Term::sources) {
            let mut input = vec![0; chunk_bytes as usize];
            self.fill(rank, launch, u64::from(chunk) * chunk_bytes, &mut input);
            match &mut sum {
                Some(sum) => self.element.combine(self.op, sum, &input),
                None => sum = Some(input),
            }
        }
        sum.unwrap_or_else(|| vec![0; chunk_bytes as usize])
    }

    /// The type of the numbers, which combines what transfers read.
    pub(super) fn element(&self) -> Element {
        self.element
    }
}

/// The random number of an element of a rank's input.
fn drawn(rank: u32, launch: u32, element: u64) -> u64 {
    super::schedule::mixed(element ^ u64::from(rank) << 44 ^ u64::from(launch) << 32)
}

/// The buffers that users write and read.
pub(super) const USERS: [Buffer; 2] = [Buffer::Input, Buffer::Output];
