//! Witnesses as JSON; `docs/diagnostics.md` describes the fields.

use super::place;
use crate::diagnostic::witness::{
    Access, Agent, Cells, Event, Finding, Hop, Race, Step, Turn, Wait, Witness, WrongValue,
};
use crate::source::SourceMap;
use serde_json::{Map, Value, json};

/// A witness as an object.
pub(super) fn object(sources: &SourceMap, witness: &Witness) -> Value {
    let mut object = match &witness.finding {
        Finding::Race(found) => race(sources, found),
        Finding::Deadlock { cycle } => {
            let cycle: Vec<Value> = cycle.iter().map(|one| wait(sources, one)).collect();
            json!({"kind": "deadlock", "cycle": cycle})
        }
        Finding::Counter { event: last, counter, left } => json!({
            "kind": "counter", "last": event(sources, last), "counter": counter, "left": left,
        }),
        Finding::Users { counter, does, users } => {
            let users: Vec<Value> = users.iter().map(|one| event(sources, one)).collect();
            json!({"kind": "users", "counter": counter, "does": does, "users": users})
        }
        Finding::Clobber(found) => json!({
            "kind": "clobber", "memory": cells(&found.memory), "by": event(sources, &found.event),
        }),
        Finding::Value(found) => wrong_value(sources, found),
        Finding::Early { ends, begins } => json!({"kind": "early", "ends": ends, "begins": begins}),
    };
    let schedule: Vec<Value> = witness.schedule.iter().map(turn).collect();
    insert(&mut object, [("schedule", Value::from(schedule))]);
    insert(&mut object, [("message_size", witness.message_size.into())]);
    object
}

fn race(sources: &SourceMap, race: &Race) -> Value {
    json!({
        "kind": "race",
        "memory": cells(&race.memory),
        "first": race.first.map(|one| access(sources, &one)),
        "second": access(sources, &race.second),
        "ordered": race.ordered,
        "after_first": race.after_first.map(|one| event(sources, &one)),
        "before_second": race.before_second.map(|one| event(sources, &one)),
    })
}

fn wrong_value(sources: &SourceMap, found: &WrongValue) -> Value {
    let path = |hops: &Vec<Hop>| hops.iter().map(|one| hop(sources, one)).collect::<Vec<Value>>();
    let paths: Vec<Vec<Value>> = found.paths.iter().map(path).collect();
    json!({
        "kind": "value",
        "memory": cells(&found.memory),
        "missing": contributions(&found.missing),
        "too_few": contributions(&found.too_few),
        "doubled": contributions(&found.doubled),
        "unexpected": contributions(&found.unexpected),
        "operator": found.operator,
        "paths": paths,
    })
}

fn contributions(list: &[(u32, u32)]) -> Vec<Value> {
    list.iter().map(|(rank, chunk)| json!({"rank": rank, "chunk": chunk})).collect()
}

fn cells(cells: &Cells) -> Value {
    json!({
        "rank": cells.rank,
        "buffer": cells.buffer,
        "start": cells.start,
        "end": cells.end,
        "parts": cells.parts,
    })
}

fn access(sources: &SourceMap, access: &Access) -> Value {
    let mut object = event(sources, &access.event);
    insert(&mut object, [("write", access.write.into())]);
    object
}

fn wait(sources: &SourceMap, wait: &Wait) -> Value {
    let mut object = event(sources, &wait.event);
    let given_by = wait.given_by.map(|given| event(sources, &given));
    insert(&mut object, [("awaits", wait.awaits.as_str().into()), ("given_by", given_by.into())]);
    object
}

fn hop(sources: &SourceMap, hop: &Hop) -> Value {
    let mut object = event(sources, &hop.event);
    insert(&mut object, [("into", cells(&hop.into))]);
    object
}

fn event(sources: &SourceMap, event: &Event) -> Value {
    let mut object = json!({
        "launch": event.launch,
        "rank": event.rank,
        "place": event.place.and_then(|at| serde_json::to_value(place(sources, at)).ok()),
    });
    match event.agent {
        Agent::Block(block) => {
            insert(&mut object, [("agent", "block".into()), ("block", block.into())]);
        }
        Agent::Proxy { channel, block } => insert(
            &mut object,
            [("agent", "proxy".into()), ("channel", channel.into()), ("block", block.into())],
        ),
        Agent::User => insert(&mut object, [("agent", "user".into())]),
    }
    if let Some(at) = event.step {
        step(&mut object, at);
    }
    object
}

fn step(object: &mut Value, step: Step) {
    let inner = step.inner.map(|(operation, turn)| json!({"operation": operation, "turn": turn}));
    insert(object, [("operation", step.operation.into()), ("inner", inner.into())]);
}

fn turn(turn: &Turn) -> Value {
    match *turn {
        Turn::Launch { rank, launch } => json!({"agent": "user", "rank": rank, "launch": launch}),
        Turn::Block { rank, launch, block, through } => {
            let mut object =
                json!({"agent": "block", "rank": rank, "launch": launch, "block": block});
            step(&mut object, through);
            object
        }
        Turn::Proxy { rank, launch, channel, served } => json!({
            "agent": "proxy", "rank": rank, "launch": launch, "channel": channel, "served": served,
        }),
    }
}

fn insert<const N: usize>(object: &mut Value, fields: [(&str, Value); N]) {
    let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
    object.as_object_mut().unwrap_or(&mut Map::new()).extend(fields);
}
