//! The choice of the next agent, and the search for a schedule that goes wrong.
//!
//! A schedule is identified by a few numbers and can be run again ([`run`]). The policies are: each agent in turn, as
//! far as it gets; random agents; and agents by random priorities, which are drawn for blocks, proxies and users, or
//! for ranks first, and change a few times during a run, so that one of them is ahead of or behind all others as long
//! as possible. Tiny programs are run in every schedule ([`exhaust`]), up to states that were seen before.

use crate::code::{self, Code, Size};
use crate::lot::Lot;
use crate::machine::{Dice, Kind, Machine, Verdict};
use crate::memory::{Actor, Site};
use crate::user::{Promised, promised};
use compiler::ir::Program;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// How many launches are run: with double scratch, the third one uses the same half as the first.
pub(crate) const LAUNCHES: u32 = 3;

/// The most turns of a run.
const TURNS: u64 = 4_000_000;

/// A schedule; all choices follow from its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) size: Size,
    pub(crate) kind: Kind,
    pub(crate) weak: Weak,
    pub(crate) policy: Policy,
    pub(crate) seed: u64,
}

/// When memory is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weak {
    Never,
    Always,
    Sometimes,
}

/// How the next agent is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Each in turn, as far as it gets.
    Eager,
    /// At random.
    Random,
    /// The one with the highest priority; by rank first, or not.
    Urgent { by_rank: bool },
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) verdict: Verdict,
    pub(crate) schedule: Option<Schedule>,
    /// Whether values, counters or a deadlock showed it, in a run that does not look for races.
    pub(crate) shown: bool,
    /// Whether some run read memory that was not written in its launch.
    pub(crate) stale: bool,
    /// Whether some run wrote an input that is not the output.
    pub(crate) clobbers: bool,
    pub(crate) runs: u32,
}

/// How many runs to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Runs that look for races, for each size.
    pub(crate) checked: u32,
    /// Runs with weak memory, for each size.
    pub(crate) weak: u32,
    /// Whether to continue the runs with weak memory after a race has been found.
    pub(crate) show: bool,
}

/// The sizes at which programs are run: chunks that are odd multiples of the threads' stride, even multiples, and
/// longer ones; for programs with pipelines, also messages of a single window and of many.
pub(crate) const SIZES: [Size; 4] = [
    Size { threads: 2, unit: 2, odd: 1, windows: 2 },
    Size { threads: 4, unit: 4, odd: 0, windows: 2 },
    Size { threads: 2, unit: 2, odd: 0, windows: 1 },
    Size { threads: 2, unit: 2, odd: 0, windows: 6 },
];

/// Searches for a schedule that goes wrong.
pub(crate) fn explore(program: &Program, effort: Effort, seed: u64) -> Found {
    let mut found = Found {
        verdict: Verdict::Ok,
        schedule: None,
        shown: false,
        stale: false,
        clobbers: false,
        runs: 0,
    };
    let sizes = SIZES.into_iter().filter(|size| size.windows == 2 || code::has_pipelines(program));
    for size in sizes {
        let code = match code::code(program, size) {
            Ok(code) => code,
            Err(code::OutOfBounds { rank, block, at }) => {
                found.verdict = Verdict::OutOfBounds { rank, block, op: at.op };
                return found;
            }
        };
        let promised = promised(program, &code);
        for schedule in schedules(size, effort, seed) {
            let Outcome { verdict, stale, clobbers } = run(&code, &promised, schedule, LAUNCHES);
            found.runs += 1;
            found.stale |= stale;
            found.clobbers |= clobbers;
            if verdict == Verdict::Ok {
                continue;
            }
            found.shown = schedule.kind == Kind::Weak;
            if found.schedule.is_none() {
                (found.verdict, found.schedule) = (verdict, Some(schedule));
            }
            if found.shown || !effort.show {
                return found;
            }
        }
    }
    found
}

/// How many launches are run where sizes change: two of one, two of the other, and two of the first again, so that with
/// one half of scratch or two, each size meets what the other one has left.
const LAUNCHES_OF_TWO: u32 = 6;

/// Searches for a schedule that goes wrong when launches of two sizes follow each other.
pub(crate) fn explore_sizes(
    program: &Program,
    sizes: [Size; 2],
    effort: Effort,
    seed: u64,
) -> Verdict {
    let [one, two] = match code::pair(program, sizes) {
        Ok(both) => both,
        Err(code::OutOfBounds { rank, block, at }) => {
            return Verdict::OutOfBounds { rank, block, op: at.op };
        }
    };
    let [first, second] = [&one, &two].map(|code| promised(program, code));
    let other = Some((&two, &second));
    let wrong = schedules(sizes[0], effort, seed).find_map(|schedule| {
        let outcome = run_with((&one, &first), other, schedule, LAUNCHES_OF_TWO);
        Some(outcome.verdict).filter(|verdict| *verdict != Verdict::Ok)
    });
    wrong.unwrap_or(Verdict::Ok)
}

fn schedules(size: Size, effort: Effort, seed: u64) -> impl Iterator<Item = Schedule> {
    let mut lot = Lot(seed);
    let checked = (0..effort.checked).map(|i| (Kind::Views, Weak::Never, i));
    let weak = (0..effort.weak)
        .map(|i| (Kind::Weak, if i % 2 == 0 { Weak::Always } else { Weak::Sometimes }, i / 2));
    checked.chain(weak).map(move |(kind, weak, i)| {
        let policy = match (kind, i % 4) {
            (Kind::Views, 0) => Policy::Eager,
            (_, 0 | 2) => Policy::Urgent { by_rank: false },
            (_, 1) => Policy::Urgent { by_rank: true },
            (_, _) => Policy::Random,
        };
        Schedule { size, kind, weak, policy, seed: lot.next() }
    })
}

/// The operations that a verdict mentions, by rank, block and index in the block.
pub(crate) fn places(program: &Program, found: &Found) -> String {
    let size = found.schedule.map_or(SIZES[0], |schedule| schedule.size);
    let Ok(code) = code::code(program, size) else { return String::new() };
    let step = |block: u32, step: u32| {
        let block = block as usize;
        let row = &code.blocks[block];
        let local = block - code.ranks[row.rank].blocks.start;
        let at = row.steps.get(step as usize).map(|step| step.at);
        let inner = at.and_then(|at| at.inner).map(|(op, turn)| format!(".{op} turn {turn}"));
        let op = at.map_or_else(|| "end".to_owned(), |at| format!("op {}", at.op));
        format!("rank {} block {local} {op}{}", row.rank, inner.unwrap_or_default())
    };
    let site = |site: &Site| match site.actor {
        Actor::Thread { block, step: at } => format!("{} launch {}", step(block, at), site.launch),
        Actor::Proxy { block, step: at } => {
            format!("the proxy for {} launch {}", step(block, at), site.launch)
        }
        Actor::User { rank } => format!("the user of rank {rank} before launch {}", site.launch),
    };
    match &found.verdict {
        Verdict::Race { first, second, .. } => format!("{}; {}", site(first), site(second)),
        Verdict::Deadlock { blocked, .. } => {
            let blocked: Vec<String> = blocked.iter().map(|(b, at)| step(*b, *at)).collect();
            blocked.join("; ")
        }
        Verdict::Ok
        | Verdict::WrongValue { .. }
        | Verdict::Early { .. }
        | Verdict::CounterLeft { .. }
        | Verdict::OutOfBounds { .. }
        | Verdict::TooLong => String::new(),
    }
}

/// The result of a run.
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    /// Whether it read memory that was not written in its launch.
    pub(crate) stale: bool,
    /// Whether it wrote an input that is not the output.
    pub(crate) clobbers: bool,
}

/// Runs one schedule.
pub(crate) fn run(code: &Code, promised: &Promised, schedule: Schedule, launches: u32) -> Outcome {
    run_with((code, promised), None, schedule, launches)
}

/// Runs one schedule. With another size, launches of both take turns, two by two.
fn run_with<'a>(
    (code, promised): (&'a Code, &'a Promised),
    other: Option<(&'a Code, &'a Promised)>,
    schedule: Schedule,
    launches: u32,
) -> Outcome {
    let dice = match schedule.weak {
        Weak::Never => Dice::Never,
        Weak::Always => Dice::Always,
        Weak::Sometimes => Dice::Random(Lot(schedule.seed)),
    };
    let mut machine = Machine::new(code, promised, schedule.kind, dice, launches);
    machine.other = other;
    machine.quarter = (schedule.seed % 4) as u32;
    let mut picker = Picker::new(&machine, schedule);
    let mut turns = 0;
    let mut verdict = None;
    while let Some(agent) = picker.pick(&machine).filter(|_| verdict.is_none()) {
        turns += 1;
        verdict = machine.turn(agent).err().or((turns > TURNS).then_some(Verdict::TooLong));
    }
    let verdict = verdict.unwrap_or_else(|| machine.end());
    Outcome { verdict, stale: machine.stale, clobbers: machine.clobbers }
}

/// Chooses the next agent.
struct Picker {
    policy: Policy,
    lot: Lot,
    urgency: Vec<u64>,
    current: Option<(usize, usize)>,
    left: u64,
}

impl Picker {
    fn new(machine: &Machine<'_>, schedule: Schedule) -> Picker {
        let mut lot = Lot(schedule.seed);
        let by_rank = schedule.policy == Policy::Urgent { by_rank: true };
        let ranks: Vec<u64> = machine.ranks.iter().map(|_| lot.next() >> 8).collect();
        let mut groups: Vec<u64> = Vec::new();
        let urgency = (0..machine.agents()).map(|agent| {
            let (group, rank) = group(machine, agent);
            if groups.len() <= group {
                groups.resize_with(group + 1, || lot.next() >> 8);
            }
            if agent >= machine.first_store_agent() && schedule.weak == Weak::Always {
                return 0;
            }
            if by_rank { ranks[rank] ^ groups[group] >> 32 } else { groups[group] }
        });
        let urgency = urgency.collect();
        Picker { policy: schedule.policy, lot, urgency, current: None, left: 0 }
    }

    fn pick(&mut self, machine: &Machine<'_>) -> Option<usize> {
        let ready = &machine.ready;
        if let Some((agent, known)) = self.current {
            self.left = self.left.saturating_sub(1);
            let again = self.left > 0 && ready.len() == known && ready.contains(&agent);
            if again {
                return Some(agent);
            }
        }
        let agent = match self.policy {
            Policy::Eager => *ready.first()?,
            Policy::Random if ready.is_empty() => return None,
            Policy::Random => ready[self.lot.next() as usize % ready.len()],
            Policy::Urgent { .. } => *ready.iter().max_by_key(|agent| self.urgency[**agent])?,
        };
        self.left = match self.policy {
            Policy::Eager => u64::MAX,
            Policy::Random => 1 + self.lot.next() % 4,
            Policy::Urgent { .. } => 1 + self.lot.next() % 512,
        };
        if self.policy != Policy::Eager && self.policy != Policy::Random && self.left == 1 {
            // Now and then the most urgent agent falls behind all others.
            self.urgency[agent] = self.lot.next() >> 40;
        }
        self.current = Some((agent, ready.len()));
        Some(agent)
    }
}

/// The group that an agent shares its urgency with (a block's threads, a proxy, a user, a block's stores), and its
/// rank.
fn group(machine: &Machine<'_>, agent: usize) -> (usize, usize) {
    let blocks = machine.blocks.len();
    if agent < machine.first_port_agent() {
        let block = agent / machine.code.threads;
        return (block, machine.rank_of(block));
    }
    if agent < machine.first_user_agent() {
        let proxy = agent - machine.first_port_agent();
        return (blocks + proxy, machine.code.channels[proxy / 2].rank);
    }
    let users = agent - machine.first_user_agent();
    let group = blocks + 2 * machine.code.channels.len() + users;
    if agent < machine.first_store_agent() {
        return (group, users);
    }
    (group, machine.rank_of(agent - machine.first_store_agent()))
}

/// Runs a program in every schedule, with one thread a block; none if there are more than `limit` states.
pub(crate) fn exhaust(program: &Program, launches: u32, limit: usize) -> Option<Verdict> {
    exhaust_threads(program, 1, launches, limit)
}

/// Runs a program in every schedule, with stores visible at once; none if there are more than `limit` states.
pub(crate) fn exhaust_threads(
    program: &Program,
    threads: usize,
    launches: u32,
    limit: usize,
) -> Option<Verdict> {
    let size = Size { threads, unit: threads as u32, odd: 0, windows: 2 };
    let code = match code::code(program, size) {
        Ok(code) => code,
        Err(code::OutOfBounds { rank, block, at }) => {
            return Some(Verdict::OutOfBounds { rank, block, op: at.op });
        }
    };
    let promised = promised(program, &code);
    let mut met = BTreeSet::new();
    let mut open = vec![Machine::new(&code, &promised, Kind::Plain, Dice::Never, launches)];
    while let Some(mut machine) = open.pop() {
        if met.len() > limit {
            return None;
        }
        // Agents that cannot go on are parked before anything is chosen.
        let mut followers = Vec::new();
        let before = contents(&machine);
        let mut ready = std::mem::take(&mut machine.ready);
        ready.sort_unstable();
        let alone = ready.iter().position(|agent| machine.is_alone(*agent));
        let tried = alone.map_or(0..ready.len(), |at| at..at + 1);
        for (at, agent) in ready.iter().enumerate().take(tried.end).skip(tried.start) {
            let mut after = machine.clone();
            after.ready = ready.clone();
            after.ready.swap_remove(at);
            after.ready.push(*agent);
            match after.turn(*agent) {
                Err(verdict) => return Some(verdict),
                // Only parking changes nothing: then the agent does not matter until it is woken.
                Ok(false) if contents(&after) == before => {
                    followers = vec![after];
                    break;
                }
                Ok(_) => followers.push(after),
            }
        }
        if ready.is_empty() {
            let verdict = machine.end();
            if verdict != Verdict::Ok {
                return Some(verdict);
            }
        }
        open.extend(followers.into_iter().filter(|after| met.insert(fingerprint(after))));
    }
    Some(Verdict::Ok)
}

/// A hash of the parts of a state that determine how it can go on.
fn fingerprint(machine: &Machine<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    contents(machine).hash(&mut hasher);
    let mut ready = machine.ready.clone();
    ready.sort_unstable();
    ready.hash(&mut hasher);
    hasher.finish()
}

/// A hash of the same parts, except for which agents wait.
fn contents(machine: &Machine<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for thread in &machine.threads {
        (thread.pc, thread.lane, thread.element, thread.ticket).hash(&mut hasher);
        (thread.joins, thread.met, thread.over).hash(&mut hasher);
    }
    for rank in &machine.ranks {
        (rank.begun, rank.left).hash(&mut hasher);
    }
    for block in &machine.blocks {
        (block.joined, block.passed).hash(&mut hasher);
    }
    for arrived in &machine.arrived {
        for (block, _, _) in arrived {
            block.hash(&mut hasher);
        }
        arrived.len().hash(&mut hasher);
    }
    for cell in &machine.cells {
        hash_held(&cell.held, &mut hasher);
    }
    for inbox in &machine.inboxes {
        (inbox.posts.len(), inbox.expected).hash(&mut hasher);
    }
    for semaphore in &machine.semaphores {
        (semaphore.value, semaphore.taken).hash(&mut hasher);
    }
    for port in &machine.ports {
        (port.read, port.written).hash(&mut hasher);
        for held in port.moving.iter().flatten() {
            hash_held(held, &mut hasher);
        }
    }
    hasher.finish()
}

fn hash_held(held: &crate::memory::Held, hasher: &mut DefaultHasher) {
    match held {
        crate::memory::Held::Plain(value) => value.terms.hash(hasher),
        crate::memory::Held::Packet(packet) => (packet.flag, &packet.value.terms).hash(hasher),
        crate::memory::Held::Tail => 1.hash(hasher),
    }
}
