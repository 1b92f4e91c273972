//! Witnesses as SARIF code flows: one thread flow per agent, with its places in the order in which they are
//! run.

use super::location;
use crate::diagnostic::Label;
use crate::diagnostic::witness::{Agent, Event, Finding, Hop, Race, Wait, Witness};
use crate::source::SourceMap;
use serde_json::{Value, json};

/// The code flows of a witness; empty if no place can be shown.
pub(super) fn code_flows(sources: &SourceMap, witness: &Witness) -> Vec<Value> {
    let flows: Vec<Vec<(Event, String)>> = match &witness.finding {
        Finding::Race(race) => of_race(race),
        Finding::Deadlock { cycle } => of_cycle(cycle),
        Finding::Counter { event, counter, .. } => vec![vec![(*event, counter.clone())]],
        Finding::Users { does, counter, users } => {
            users.iter().map(|event| vec![(*event, format!("{does} {counter}"))]).collect()
        }
        Finding::Clobber(found) => vec![vec![(found.event, "writes the input".to_owned())]],
        Finding::Early { .. } => Vec::new(),
        Finding::Value(value) => value.paths.iter().map(|path| of_path(path)).collect(),
    };
    let threads: Vec<Value> = flows.iter().filter_map(|flow| thread_flow(sources, flow)).collect();
    if threads.is_empty() { Vec::new() } else { vec![json!({"threadFlows": threads})] }
}

/// Each block waits, and after that would provide what the previous block waits for.
fn of_cycle(waits: &[Wait]) -> Vec<Vec<(Event, String)>> {
    let before = waits.iter().cycle().skip(waits.len().saturating_sub(1));
    let flow = |(wait, before): (&Wait, &Wait)| {
        let gives =
            before.given_by.map(|event| (event, format!("would provide {}", before.awaits)));
        let waits = (wait.event, format!("waits for {}", wait.awaits));
        std::iter::once(waits).chain(gives).collect()
    };
    waits.iter().zip(before).map(flow).collect()
}

fn of_race(race: &Race) -> Vec<Vec<(Event, String)>> {
    let does = |write: bool| if write { "writes" } else { "reads" }.to_owned();
    let mut first: Vec<(Event, String)> =
        race.first.iter().map(|access| (access.event, does(access.write))).collect();
    first.extend(race.after_first.map(|event| (event, "the next synchronization".to_owned())));
    let before = race.before_second.map(|event| (event, "the last synchronization".to_owned()));
    let second = (race.second.event, does(race.second.write));
    vec![first, before.into_iter().chain([second]).collect()]
}

fn of_path(path: &[Hop]) -> Vec<(Event, String)> {
    let into = |hop: &Hop| {
        let chunk = hop.into.start / u64::from(hop.into.parts.max(1));
        format!("into `{}[{chunk}]` of rank {}", hop.into.buffer, hop.into.rank)
    };
    path.iter().map(|hop| (hop.event, into(hop))).collect()
}

fn thread_flow(sources: &SourceMap, flow: &[(Event, String)]) -> Option<Value> {
    let (first, _) = flow.first()?;
    let places = flow.iter().filter_map(|(event, text)| {
        let label = Label::new(event.place?, text.clone());
        Some(json!({"location": location(sources, &label)}))
    });
    let places: Vec<Value> = places.collect();
    (!places.is_empty()).then(|| json!({"id": name(first), "locations": places}))
}

fn name(event: &Event) -> String {
    let rank = event.rank;
    match event.agent {
        Agent::Block(block) => format!("rank {rank}/block {block}"),
        Agent::Proxy { channel, .. } => format!("rank {rank}/proxy of channel {channel}"),
        Agent::User => format!("rank {rank}/user"),
    }
}
