//! Topologies as text: how proof files carry the machine that they are about.
//!
//! ```text
//! rates relative                  or: rates bytes_per_second
//! ranks 2
//! switch multicast reduce         one line for each switch, with its abilities
//! edge 0 2 1/2 350 memory port    from, to, rate, latency in nanoseconds, abilities
//! ```

use super::{
    DirectedEdge, EdgeAbilities, EdgeRate, MAX_EDGES, MAX_VERTICES, RateUnit, SwitchAbilities,
    Topology, TopologyError, Vertex,
};
use std::fmt;
use std::str::FromStr;

/// Why a text is no topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyTextError {
    /// A line is not as the format says, or a number does not fit.
    Malformed {
        /// Its index among the lines, from 0.
        line: usize,
    },
    /// The lines are as they should be, and what they say is no topology.
    Invalid(TopologyError),
}

/// The lines of a topology, each with its end.
#[must_use]
pub fn write_topology(topology: &Topology) -> String {
    let unit = match topology.unit() {
        RateUnit::ChunksPerRound => "relative",
        RateUnit::BytesPerSecond => "bytes_per_second",
    };
    let mut lines = vec![format!("rates {unit}\nranks {}\n", topology.count_ranks())];
    lines.extend(topology.switches().iter().map(|abilities| {
        let [multicast, reduce] = [
            AbilityWord(abilities.multicast, "multicast"),
            AbilityWord(abilities.reduce, "reduce"),
        ];
        format!("switch{multicast}{reduce}\n")
    }));
    lines.extend(topology.edges().iter().map(|edge| {
        let DirectedEdge { from, to, rate, latency_ns, abilities } = edge;
        let [memory, port] =
            [AbilityWord(abilities.memory, "memory"), AbilityWord(abilities.port, "port")];
        format!("edge {from} {to} {} {latency_ns}{memory}{port}\n", rate.amount)
    }));
    lines.concat()
}

/// A word after a space, if something has the ability that it names.
struct AbilityWord(bool, &'static str);

impl fmt::Display for AbilityWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 { write!(f, " {}", self.1) } else { Ok(()) }
    }
}

/// Whether a line can be part of a topology, by its first word.
#[must_use]
pub fn is_topology_line(line: &str) -> bool {
    line.split(' ').next().is_some_and(|word| ["rates", "ranks", "switch", "edge"].contains(&word))
}

/// The topology that lines describe.
///
/// # Errors
/// [`TopologyTextError`].
pub fn parse_topology(lines: &[&str]) -> Result<Topology, TopologyTextError> {
    let unit = match lines.first() {
        Some(&"rates relative") => RateUnit::ChunksPerRound,
        Some(&"rates bytes_per_second") => RateUnit::BytesPerSecond,
        _ => return Err(TopologyTextError::Malformed { line: 0 }),
    };
    let ranks = lines.get(1).and_then(|line| line.strip_prefix("ranks ")?.parse().ok());
    let ranks = ranks.ok_or(TopologyTextError::Malformed { line: 1 })?;
    let mut switches = Vec::new();
    let mut edges = Vec::new();
    for (line, text) in lines.iter().enumerate().skip(2) {
        let malformed = TopologyTextError::Malformed { line };
        let mut words = text.split(' ');
        match words.next() {
            Some("switch") => switches.push(parse_switch(words).ok_or(malformed)?),
            Some("edge") => edges.push(parse_edge(words, unit).ok_or(malformed)?),
            _ => return Err(malformed),
        }
        // What is too much anyway need not be read.
        if edges.len() > MAX_EDGES || switches.len() > MAX_VERTICES {
            break;
        }
    }
    Topology::new(ranks, switches, &edges).map_err(TopologyTextError::Invalid)
}

fn parse_switch<'a>(words: impl Iterator<Item = &'a str>) -> Option<SwitchAbilities> {
    let mut abilities = SwitchAbilities::default();
    for word in words {
        match word {
            "multicast" => abilities.multicast = true,
            "reduce" => abilities.reduce = true,
            _ => return None,
        }
    }
    Some(abilities)
}

fn parse_edge<'a>(
    mut words: impl Iterator<Item = &'a str>,
    unit: RateUnit,
) -> Option<DirectedEdge> {
    let from = Vertex(parse_next(&mut words)?);
    let to = Vertex(parse_next(&mut words)?);
    let rate = EdgeRate { amount: parse_next(&mut words)?, unit };
    let latency_ns = parse_next(&mut words)?;
    let mut abilities = EdgeAbilities { memory: false, port: false };
    for word in words {
        match word {
            "memory" => abilities.memory = true,
            "port" => abilities.port = true,
            _ => return None,
        }
    }
    Some(DirectedEdge { from, to, rate, latency_ns, abilities })
}

fn parse_next<'a, T: FromStr>(words: &mut impl Iterator<Item = &'a str>) -> Option<T> {
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{TopologyTextError, parse_topology, write_topology};
    use crate::graph::{TopologyError, Vertex};

    const SMALL: &str = "rates bytes_per_second\nranks 2\nswitch\nswitch multicast reduce\n\
        edge 0 1 1/2 350 memory port\nedge 1 2 7 0 port\nedge 3 0 5 1\n";

    fn parse(text: &str) -> Result<crate::graph::Topology, TopologyTextError> {
        parse_topology(&text.lines().collect::<Vec<&str>>())
    }

    #[test]
    fn what_is_written_is_read() {
        let topology = parse(SMALL).unwrap();
        assert_eq!(write_topology(&topology), SMALL);
        assert_eq!(topology.edges()[1].to, Vertex(2));
        assert!(topology.edges()[0].abilities.memory && !topology.edges()[1].abilities.memory);
        assert!(topology.switches()[1].multicast && !topology.switches()[0].multicast);
    }

    #[test]
    fn malformed_lines_are_named() {
        let changes = [
            ("rates bytes_per_second", "rates bits", 0),
            ("ranks 2", "ranks -2", 1),
            ("ranks 2", "ranks 4294967296", 1),
            ("switch\n", "switch broadcast\n", 2),
            ("edge 0 1 1/2 350", "edge 0 1 1/2", 4),
            ("edge 0 1 1/2 350", "edge 0 1 1/0 350", 4),
            ("edge 1 2", "edge 1  2", 5),
            ("7 0 port", "7 0 ports", 5),
            ("edge 3 0", "link 3 0", 6),
        ];
        for (old, new, line) in changes {
            let text = SMALL.replacen(old, new, 1);
            assert_ne!(text, SMALL);
            assert_eq!(parse(&text), Err(TopologyTextError::Malformed { line }), "{new}");
        }
        let invalid = TopologyTextError::Invalid(TopologyError::SelfLoop { edge: 2 });
        assert_eq!(parse(&SMALL.replace("edge 3 0", "edge 3 3")), Err(invalid));
        assert_eq!(parse(""), Err(TopologyTextError::Malformed { line: 0 }));
        assert_eq!(parse("rates relative\n"), Err(TopologyTextError::Malformed { line: 1 }));
    }

    #[test]
    fn what_is_too_long_is_not_read_to_its_end() {
        let many =
            |line: &str| format!("rates relative\nranks 2\n{}nonsense\n", line.repeat(1_000_000));
        let edges = parse(&many("edge 0 1 1 0 port\n"));
        assert_eq!(edges, Err(TopologyTextError::Invalid(TopologyError::TooManyEdges)));
        let switches = parse(&many("switch multicast\n"));
        assert_eq!(switches, Err(TopologyTextError::Invalid(TopologyError::TooManyVertices)));
    }
}
