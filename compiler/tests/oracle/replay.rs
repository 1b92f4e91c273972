//! Replays the schedules of witnesses, as they are in the JSON of reports, and checks that what they claim happens.
//!
//! A turn allows an agent to go on up to a certain place; then all that is allowed runs as far as it can.

use crate::code::{self, At, Code, Instr, Size};
use crate::machine::{Dice, Kind, Machine, Verdict};
use crate::memory::{Actor, Site};
use crate::schedule::LAUNCHES;
use crate::user::{Promised, promised};
use compiler::ir::Program;
use serde_json::Value;
use std::collections::BTreeSet;

/// Different sizes, because threads meet depending on how elements are assigned to them: whole windows, neighboring
/// chunks assigned to different threads, chunks that begin with any thread, and more threads than a chunk has elements.
const SIZES: [Size; 9] = [
    Size { threads: 2, unit: 2, odd: 0, windows: 2 },
    Size { threads: 4, unit: 4, odd: 0, windows: 2 },
    Size { threads: 2, unit: 2, odd: 1, windows: 2 },
    Size { threads: 2, unit: 2, odd: 0, windows: 1 },
    Size { threads: 3, unit: 2, odd: 0, windows: 2 },
    Size { threads: 8, unit: 2, odd: 0, windows: 2 },
    Size { threads: 2, unit: 2, odd: 0, windows: 3 },
    Size { threads: 2, unit: 2, odd: 0, windows: 4 },
    Size { threads: 2, unit: 2, odd: 0, windows: 6 },
];

/// The most turns of a replay.
const TURNS: u64 = 2_000_000;

/// How far agents may go.
#[derive(Clone, Debug)]
struct Allowed {
    /// For each block, the launch and the place up to which it may go.
    blocks: Vec<Option<(u32, Place)>>,
    /// For each end of a channel, the number of requests that may be served.
    proxies: Vec<usize>,
    /// For each rank, the number of launches that may begin.
    users: Vec<u32>,
}

/// A place in a block, which compares in execution order: operation, turn, operation of the body.
type Place = (u32, u32, u32);

/// Replays the witness of a report; the error says why it does not show what it should.
pub(crate) fn replay(program: &Program, report: &Value) -> Result<(), String> {
    let mut why = Vec::new();
    for size in SIZES {
        match at_size(program, report, size) {
            Ok(()) => return Ok(()),
            Err(other) => why.push(other),
        }
    }
    why.dedup();
    Err(why.join("; or: "))
}

fn at_size(program: &Program, report: &Value, size: Size) -> Result<(), String> {
    let witness = &report["witness"];
    let code = code::code(program, size).map_err(|why| format!("{why:?}"))?;
    let promised = promised(program, &code);
    if witness["schedule"].as_array().is_none_or(Vec::is_empty) {
        return Err("there is no schedule".to_owned());
    }
    let nothing = promised.nothing();
    let plain = || run(&code, &nothing, Kind::Plain, LAUNCHES, witness);
    match witness["kind"].as_str() {
        Some("race") => race(&code, &nothing, report),
        Some("deadlock") => {
            let (mut machine, verdict, mut allowed) = plain();
            not_wrong(&verdict)?;
            // In a later launch, others may provide what is missing in this one.
            finish(&mut machine, &mut allowed, 1);
            deadlock(&machine, &witness["cycle"])
        }
        Some("counter") => {
            let (mut machine, verdict, mut allowed) = run(&code, &nothing, Kind::Plain, 1, witness);
            not_wrong(&verdict)?;
            let end = finish(&mut machine, &mut allowed, 2).unwrap_or_else(|| machine.end());
            // If something else blocks, the launch does not end.
            let stands = || matches!(end, Verdict::Deadlock { .. });
            match matches!(end, Verdict::CounterLeft { .. })
                || stands() && is_left_over(&machine, &witness["last"])
            {
                true => Ok(()),
                false => Err(format!("it ends with {end:?}")),
            }
        }
        Some("value") => {
            let (mut machine, verdict, _) = run(&code, &promised, Kind::Plain, LAUNCHES, witness);
            let Some(Verdict::WrongValue { rank, cell, .. }) = verdict else {
                return Err(format!("it ends with {verdict:?}"));
            };
            wrong_value(&code, &witness["memory"], rank, cell)?;
            ways(&code, &machine.trace.take().unwrap_or_default(), witness)
        }
        Some("early") => {
            let (mut machine, verdict, mut allowed) =
                run(&code, &promised, Kind::Plain, LAUNCHES, witness);
            not_wrong(&verdict)?;
            // The user of the rank looks when its blocks have ended.
            let (ends, begins) = (number(&witness["ends"]), number(&witness["begins"]));
            allowed.users[ends as usize] += 1;
            match go_on(&mut machine, &allowed) {
                Some(Verdict::Early { rank, .. })
                    if rank == ends && machine.ranks[begins as usize].begun == 0 =>
                {
                    Ok(())
                }
                other => Err(format!("it ends with {other:?}")),
            }
        }
        Some(_) | None => Err("no kind".to_owned()),
    }
}

fn not_wrong(verdict: &Option<Verdict>) -> Result<(), String> {
    verdict.as_ref().map_or(Ok(()), |verdict| Err(format!("{verdict:?}")))
}

fn number(value: &Value) -> u32 {
    value.as_u64().expect("a number") as u32
}

fn run<'a>(
    code: &'a Code,
    promised: &'a Promised,
    kind: Kind,
    launches: u32,
    witness: &Value,
) -> (Machine<'a>, Option<Verdict>, Allowed) {
    let mut machine = Machine::new(code, promised, kind, Dice::Never, launches);
    machine.trace = Some(Vec::new());
    let (verdict, allowed) = replayed(&mut machine, witness);
    (machine, verdict, allowed)
}

/// Takes the turns of a witness's schedule.
fn replayed(machine: &mut Machine<'_>, witness: &Value) -> (Option<Verdict>, Allowed) {
    let code = machine.code;
    let mut allowed = Allowed {
        blocks: vec![None; code.blocks.len()],
        proxies: vec![0; code.channels.len()],
        users: vec![0; code.ranks.len()],
    };
    for turn in witness["schedule"].as_array().expect("a schedule") {
        allow(code, &mut allowed, turn);
        if let Some(verdict) = go_on(machine, &allowed) {
            return (Some(verdict), allowed);
        }
    }
    (None, allowed)
}

fn allow(code: &Code, allowed: &mut Allowed, turn: &Value) {
    let rank = number(&turn["rank"]) as usize;
    let launch = number(&turn["launch"]);
    match turn["agent"].as_str() {
        Some("block") => {
            let block = code.ranks[rank].blocks.start + number(&turn["block"]) as usize;
            allowed.blocks[block] = Some((launch, place(turn)));
        }
        Some("proxy") => {
            let channel = code.ranks[rank].channels + number(&turn["channel"]) as usize;
            let before = launch as usize * requests(code, channel);
            let served = &mut allowed.proxies[channel];
            *served = (*served).max(before + number(&turn["served"]) as usize);
        }
        Some("user") => allowed.users[rank] = launch + 1,
        other => panic!("no agent: {other:?}"),
    }
}

/// How many requests a proxy gets in a launch.
fn requests(code: &Code, channel: usize) -> usize {
    let steps = code.blocks.iter().flat_map(|block| &block.steps);
    let pushes = steps.map(|step| match &step.instr {
        Instr::Push(pushes) => pushes.iter().filter(|push| push.channel == channel).count(),
        Instr::Join
        | Instr::Barrier { .. }
        | Instr::Signal { .. }
        | Instr::Wait { .. }
        | Instr::Acquire(_)
        | Instr::Release(_)
        | Instr::Move(_) => 0,
    });
    pushes.sum()
}

fn place(event: &Value) -> Place {
    let inner = &event["inner"];
    let (operation, turn) = match inner.is_null() {
        true => (0, 0),
        false => (number(&inner["operation"]), number(&inner["turn"])),
    };
    (number(&event["operation"]), turn, operation)
}

fn order(at: At) -> Place {
    let (operation, turn) = at.inner.unwrap_or((0, 0));
    (at.op, turn, operation)
}

/// Runs all that is allowed as far as it can.
fn go_on(machine: &mut Machine<'_>, allowed: &Allowed) -> Option<Verdict> {
    for _ in 0..TURNS {
        let ready = machine.ready.clone();
        let agent = ready.into_iter().find(|agent| may(machine, allowed, *agent))?;
        if let Err(verdict) = machine.turn(agent) {
            return Some(verdict);
        }
    }
    Some(Verdict::TooLong)
}

/// Allows everything, up to a number of starts of launches.
fn finish(machine: &mut Machine<'_>, allowed: &mut Allowed, starts: u32) -> Option<Verdict> {
    allowed.blocks.fill(Some((u32::MAX, (0, 0, 0))));
    allowed.proxies.fill(usize::MAX);
    allowed.users.fill(starts);
    go_on(machine, allowed)
}

fn may(machine: &mut Machine<'_>, allowed: &Allowed, agent: usize) -> bool {
    let code = machine.code;
    if agent < machine.first_port_agent() {
        let block = agent / code.threads;
        let begun = machine.ranks[machine.rank_of(block)].begun;
        if begun == 0 {
            return false;
        }
        machine.settle(agent);
        // A block that has reached its end may finish.
        let Some(step) = code.blocks[block].steps.get(machine.threads[agent].pc) else {
            return true;
        };
        return allowed.blocks[block].is_some_and(|(launch, through)| {
            launch > begun - 1 || launch == begun - 1 && order(step.at) <= through
        });
    }
    if agent < machine.first_user_agent() {
        let proxy = agent - machine.first_port_agent();
        let port = &machine.ports[proxy / 2];
        let done = if proxy.is_multiple_of(2) { port.read } else { port.written };
        return done < allowed.proxies[proxy / 2] || !code.channels[proxy / 2].port;
    }
    if agent < machine.first_store_agent() {
        let rank = agent - machine.first_user_agent();
        return machine.ranks[rank].begun < allowed.users[rank];
    }
    true
}

/// Whether a site matches an event of a report.
fn is(code: &Code, site: Site, event: &Value) -> bool {
    let (rank, launch) = (number(&event["rank"]) as usize, number(&event["launch"]));
    let at = |block: u32, step: u32| {
        let block = block as usize;
        let there = code.ranks[rank].blocks.start + number(&event["block"]) as usize;
        block == there && order(code.blocks[block].steps[step as usize].at) == place(event)
    };
    let agent = event["agent"].as_str();
    launch == site.launch
        && match site.actor {
            Actor::Thread { block, step } => agent == Some("block") && at(block, step),
            Actor::Proxy { block, step } => agent == Some("proxy") && at(block, step),
            Actor::User { rank: there } => agent == Some("user") && there as usize == rank,
        }
}

fn race(code: &Code, promised: &Promised, report: &Value) -> Result<(), String> {
    let witness = &report["witness"];
    let (mut machine, verdict, mut allowed) = run(code, promised, Kind::Plain, LAUNCHES, witness);
    not_wrong(&verdict)?;
    let (first, second) = (&witness["first"], &witness["second"]);
    let trace = machine.trace.take().unwrap_or_default();
    if first.is_null() {
        let read = trace.iter().any(|(site, _, _)| is(code, *site, second));
        return match (read, machine.stale) {
            (true, true) => Ok(()),
            (read, stale) => Err(format!("read: {read}, of what was not written: {stale}")),
        };
    }
    let of = |event: &Value| -> Vec<(usize, usize, bool)> {
        let all = trace.iter().enumerate().filter(|(_, (site, _, _))| is(code, *site, event));
        all.map(|(at, (_, cell, write))| (at, *cell, *write)).collect()
    };
    let (firsts, seconds) = (of(first), of(second));
    let ordered = witness["ordered"].as_bool().expect("a truth value");
    // The interpreter orders the threads of one block as it likes.
    let threads = report["code"] == "E0503";
    let meet = firsts.iter().any(|one| {
        let mut others = seconds.iter().filter(|other| other.1 == one.1 && (one.2 || other.2));
        others.any(|other| threads || other.0 != one.0 && (one.0 < other.0) == ordered)
    });
    if !meet && !ordered && !seconds.is_empty() {
        // The first access overwrites packets that are waited for: they never arrive.
        finish(&mut machine, &mut allowed, LAUNCHES - 1);
        return deadlock(&machine, &serde_json::json!([first]));
    }
    if !meet {
        return Err(format!(
            "of {} and {} accesses none meet in the order that is told",
            firsts.len(),
            seconds.len()
        ));
    }
    if report["code"] == "E0521" {
        // Two packets in one place may be ordered; the error is that their reader cannot know which of them it finds.
        return Ok(());
    }
    // Other accesses may collide earlier, so that only bytes that both accesses touch are watched. One of the two must
    // be part of the race that is found; the other may be hidden by a later access of the same agent to these bytes.
    let cells = |all: &[(usize, usize, bool)]| all.iter().map(|one| one.1).collect::<BTreeSet<_>>();
    let watched = &cells(&firsts) & &cells(&seconds);
    let is_told = |site: Site| is(code, site, first) || is(code, site, second);
    // A proxy may move its data in any order.
    let mut others = Vec::new();
    for quarter in 0..4 {
        let mut machine = Machine::new(code, promised, Kind::Views, Dice::Never, LAUNCHES);
        machine.quarter = quarter;
        machine.watched = Some(watched.clone());
        match replayed(&mut machine, witness).0 {
            Some(Verdict::Race { first, second, .. }) if is_told(first) || is_told(second) => {
                return Ok(());
            }
            other => others.push(other),
        }
    }
    Err(format!("the two do not meet: {others:?}"))
}

/// Whether more signals of an event have arrived than a launch has waits for.
fn is_left_over(machine: &Machine<'_>, event: &Value) -> bool {
    let code = machine.code;
    let rank = &code.ranks[number(&event["rank"]) as usize];
    let block = &code.blocks[rank.blocks.start + number(&event["block"]) as usize];
    let channels = block.steps.iter().filter(|step| order(step.at) == place(event));
    let mut channels = channels.flat_map(|step| match &step.instr {
        Instr::Signal { channels, .. } => channels.clone(),
        Instr::Push(pushes) => pushes.iter().map(|push| push.channel).collect(),
        Instr::Join
        | Instr::Barrier { .. }
        | Instr::Wait { .. }
        | Instr::Acquire(_)
        | Instr::Release(_)
        | Instr::Move(_) => Vec::new(),
    });
    let steps = || code.blocks.iter().flat_map(|block| &block.steps);
    let waits = |there: usize| {
        let waits = |instr: &Instr| matches!(instr, Instr::Wait { channels, .. } if channels.contains(&there));
        steps().filter(|step| waits(&step.instr)).count()
    };
    channels.any(|channel| {
        let there = code.channels[channel].partner;
        there.is_none_or(|there| machine.inboxes[there].posts.len() > waits(there))
    })
}

fn deadlock(machine: &Machine<'_>, cycle: &Value) -> Result<(), String> {
    let Verdict::Deadlock { blocked, .. } = machine.end() else {
        return Err(format!("it ends with {:?}", machine.end()));
    };
    for event in cycle.as_array().expect("a cycle") {
        let rank = number(&event["rank"]) as usize;
        let block = machine.code.ranks[rank].blocks.start + number(&event["block"]) as usize;
        let steps = &machine.code.blocks[block].steps;
        let stands = |(there, at): &(u32, u32)| {
            *there as usize == block
                && steps.get(*at as usize).is_some_and(|step| order(step.at) == place(event))
        };
        if !blocked.iter().any(stands) {
            return Err(format!("block {block} does not stand at {event}: {blocked:?}"));
        }
    }
    Ok(())
}

/// Whether the operations of the reported paths write one after the other. The path of a missing contribution may end
/// at a place that the schedule does not reach.
fn ways(code: &Code, trace: &[(Site, usize, bool)], witness: &Value) -> Result<(), String> {
    let empty = |name: &str| witness[name].as_array().is_none_or(Vec::is_empty);
    let paths = witness["paths"].as_array().expect("paths");
    if !empty("doubled") && paths.len() != 2 {
        return Err(format!("{} ways of what is there twice", paths.len()));
    }
    if empty("doubled") && !empty("missing") {
        return Ok(());
    }
    for path in paths {
        let mut at = 0;
        for hop in path.as_array().expect("a path") {
            let rest = trace.iter().skip(at);
            let next = { rest }.position(|(site, _, write)| *write && is(code, *site, hop));
            at += next.ok_or_else(|| format!("{hop} does not come in its turn"))?;
        }
    }
    Ok(())
}

fn wrong_value(code: &Code, memory: &Value, rank: u32, cell: u32) -> Result<(), String> {
    let chunk = memory["start"].as_u64().expect("a cell") as u32 / number(&memory["parts"]);
    let layout = &code.ranks[number(&memory["rank"]) as usize].memory;
    let first = layout.cell(compiler::ir::Buffer::Output, chunk, 0) as u32;
    let there = rank == number(&memory["rank"]) && (first..first + code.chunk).contains(&cell);
    if there { Ok(()) } else { Err(format!("another value is wrong: cell {cell} of rank {rank}")) }
}
