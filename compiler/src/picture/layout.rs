//! The rows of events: each event is below everything that comes before it.

use super::event::{Order, Scene, Who};
use std::collections::VecDeque;

/// Where events are.
pub(super) struct Layout {
    /// The row of each event, from 0.
    pub(super) rows: Vec<usize>,
    /// For each event, whether it is never executed, since what it waits for never comes.
    pub(super) stuck: Vec<bool>,
    /// How many rows there are.
    pub(super) count: usize,
}

/// Puts every event below those before it, and no two events of a column in one row.
pub(super) fn layout(scene: &Scene) -> Layout {
    let teams = teams(scene);
    let mut before = vec![0_usize; scene.events.len()];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); scene.events.len()];
    for (from, to) in edges(scene, &teams) {
        if let (Some(count), Some(next)) = (before.get_mut(to), after.get_mut(from)) {
            *count += 1;
            next.push(to);
        }
    }
    let mut placing = Placing {
        least: vec![0; scene.events.len()],
        last: vec![0; scene.columns.len()],
        layout: Layout {
            rows: vec![0; scene.events.len()],
            stuck: vec![true; scene.events.len()],
            count: 0,
        },
    };
    let leaders = || (0..scene.events.len()).filter(|event| teams.get(*event) == Some(event));
    let mut ready: VecDeque<usize> =
        leaders().filter(|event| before.get(*event) == Some(&0)).collect();
    while let Some(event) = ready.pop_front() {
        let row = placing.place(scene, &teams, event, false);
        for next in after.get(event).into_iter().flatten() {
            placing.raise(*next, row + 1);
            if let Some(count) = before.get_mut(*next) {
                *count -= 1;
                if *count == 0 {
                    ready.push_back(*next);
                }
            }
        }
    }
    for event in leaders() {
        if placing.layout.stuck.get(event) == Some(&true) {
            placing.place(scene, &teams, event, true);
        }
    }
    placing.layout
}

/// The state of placing events.
struct Placing {
    /// For each event, the first row below all events before it.
    least: Vec<usize>,
    /// For each column, the first free row.
    last: Vec<usize>,
    layout: Layout,
}

impl Placing {
    /// Places the events that meet, whose first is `leader`, in one row.
    fn place(&mut self, scene: &Scene, teams: &[usize], leader: usize, stuck: bool) -> usize {
        let members: Vec<usize> =
            (0..teams.len()).filter(|event| teams.get(*event) == Some(&leader)).collect();
        let column = |event: &usize| scene.events.get(*event).map(|event| event.column);
        let free = members.iter().filter_map(column).filter_map(|column| self.last.get(column));
        let least = self.least.get(leader).copied().unwrap_or_default();
        let row = free.copied().max().unwrap_or_default().max(least);
        for event in &members {
            if let Some(slot) = column(event).and_then(|column| self.last.get_mut(column)) {
                *slot = row + 1;
            }
            if let (Some(slot), Some(never)) =
                (self.layout.rows.get_mut(*event), self.layout.stuck.get_mut(*event))
            {
                (*slot, *never) = (row, stuck);
            }
        }
        self.layout.count = self.layout.count.max(row + 1);
        row
    }

    fn raise(&mut self, event: usize, row: usize) {
        if let Some(least) = self.least.get_mut(event) {
            *least = row.max(*least);
        }
    }
}

/// For each event, the first of those that it meets.
pub(super) fn teams(scene: &Scene) -> Vec<usize> {
    let mut teams: Vec<usize> = (0..scene.events.len()).collect();
    for arrow in scene.arrows.iter().filter(|arrow| arrow.order == Order::Meeting) {
        let leader = teams.get(arrow.from).copied();
        if let (Some(leader), Some(team)) = (leader, teams.get_mut(arrow.to)) {
            *team = leader;
        }
    }
    teams
}

/// Which event comes before which, between leaders: at a block all events in
/// order, at a proxy the requests of one block.
fn edges(scene: &Scene, teams: &[usize]) -> Vec<(usize, usize)> {
    let mut edges: Vec<(usize, usize)> = scene
        .arrows
        .iter()
        .filter(|arrow| arrow.order != Order::Meeting)
        .map(|arrow| (arrow.from, arrow.to))
        .collect();
    for column in &scene.columns {
        for (at, event) in column.events.iter().enumerate() {
            let asker = |event: &usize| scene.events.get(*event).map(|event| event.step.block);
            let next =
                column.events.iter().skip(at + 1).find(|next| {
                    matches!(column.who, Who::Block(_)) || asker(next) == asker(event)
                });
            edges.extend(next.map(|next| (*event, *next)));
        }
    }
    let leader = |event: usize| teams.get(event).copied().unwrap_or(event);
    edges.iter().map(|(from, to)| (leader(*from), leader(*to))).collect()
}
