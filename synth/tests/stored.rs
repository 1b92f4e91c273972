//! Bounds of random topologies, compared with what another solver found: HiGHS, on programs that have every flow and
//! every amount as a variable, where ours have cuts or routings as rows.
//!
//! `stored/bounds.txt` has the topologies, each with its answers after it.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use synth::bound::allreduce::bound_allreduce;
use synth::bound::alltoall::bound_alltoall;
use synth::bound::layered::bound_allgather_in_steps;
use synth::graph::text::{is_topology_line, parse_topology};
use synth::graph::{SwitchAbilities, Topology};

/// A question, as it is written, and the answer.
struct Answer {
    question: &'static str,
    value: &'static str,
}

struct StoredCase {
    topology: Topology,
    answers: Vec<Answer>,
}

fn read_cases() -> Vec<StoredCase> {
    let lines: Vec<&'static str> = include_str!("stored/bounds.txt").lines().collect();
    // A topology begins after the answers of the one before.
    let blocks = lines.chunk_by(|line, next| is_topology_line(line) || !is_topology_line(next));
    let read = |block: &[&'static str]| {
        let (head, answers): (Vec<&str>, Vec<&'static str>) =
            block.iter().partition(|line| is_topology_line(line));
        let answers = answers.iter().map(|line| {
            let answer = line.strip_prefix("answer ").unwrap();
            let (question, value) = answer.rsplit_once(' ').unwrap();
            Answer { question, value }
        });
        StoredCase { topology: parse_topology(&head).unwrap(), answers: answers.collect() }
    };
    blocks.map(read).collect()
}

/// The topology with other switches.
fn with_abilities(topology: &Topology, abilities: SwitchAbilities) -> Topology {
    let switches = vec![abilities; topology.switches().len()];
    Topology::new(topology.count_ranks(), switches, topology.edges()).unwrap()
}

#[test]
fn bounds_are_those_of_another_solver() {
    let cases = read_cases();
    assert_eq!(cases.len(), 60);
    let mut layered = 0;
    for StoredCase { topology, answers } in &cases {
        for Answer { question, value } in answers {
            let words: Vec<&str> = question.split(' ').collect();
            let found = match words.as_slice() {
                ["alltoall"] => bound_alltoall(topology).unwrap().value,
                ["allgather", steps] => {
                    layered += 1;
                    bound_allgather_in_steps(topology, steps.parse().unwrap()).unwrap().value
                }
                ["allreduce", abilities @ ..] => {
                    let [multicast, reduce] =
                        ["multicast", "reduce"].map(|ability| abilities.contains(&ability));
                    let able = with_abilities(topology, SwitchAbilities { multicast, reduce });
                    bound_allreduce(&able).unwrap().value
                }
                _ => panic!("{question}"),
            };
            assert_eq!(found.to_string(), *value, "{question} of {topology:?}");
        }
    }
    assert!(layered > 20, "{layered}");
}
