//! What the links of a machine carry in a program, beside the least that its promise takes there.
//!
//! In: a program that names its machine. Out: a note (N0503) with the link that is busiest for its bandwidth, and how
//! many times longer that takes than the least (`synth::bound`). What is counted are the chunks that cross each link:
//! memory channels take the path with the fewest links, port channels too, packets count twice, and what a switch
//! multicasts or reduces crosses each port once.

use crate::demand::{collect_demands, has_common_contributions};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{
    ChannelId, ChannelKind, Link, Operand, Program, Rank, RankId, ReduceOp, Transfer, Where,
};
use crate::machine::listing::write_rate;
use crate::machine::{EdgeEnds, Machine, Path};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use synth::bound::collective::{BoundRequest, BoundScope, CollectiveBounds, bound_collective};
use synth::graph::{RateUnit, SwitchAbilities, Vertex};
use synth::rational::{ArithmeticError, Rational};
use synth::sketch::Sketch;

/// The note; none if the program names no machine.
#[must_use]
pub fn analyze(program: &Program) -> Option<Diagnostic> {
    let machine = program.machine.as_deref()?;
    let place = program.collective.place?;
    let note = |text: String| Diagnostic::new(Code::N0503, place, text);
    let unknown =
        |why: &str| note(format!("what the links of `{}` carry is not known: {why}", machine.name));
    let busiest = match find_busiest(program, machine) {
        Ok(Some(busiest)) => busiest,
        Ok(None) => return Some(note(format!("no link of `{}` carries anything", machine.name))),
        Err(_) => return Some(unknown("the numbers are too large")),
    };
    let request = BoundRequest { max_steps: Some(0), ..BoundRequest::default() };
    let least = collect_demands(&program.ranks.iter().cloned().collect::<Vec<Rank>>())
        .map_err(|error| error.to_string())
        .and_then(|collective| {
            if program.collective.op != ReduceOp::Sum && has_common_contributions(&collective) {
                return Err("its values have parts in common, and are no sums".to_owned());
            }
            bound_collective(&machine.graph, &collective, &Sketch::default(), &request)
                .map_err(|error| error.to_string())
        });
    let message = match least {
        Ok(bounds) => compare(machine, &busiest, &bounds),
        Err(error) => Ok(format!("{}; the least is not known: {error}", busiest.describe(machine))),
    };
    let Ok(message) = message else { return Some(unknown("the numbers are too large")) };
    let report = note(message);
    let declared = machine.places.get(&busiest.ends).copied();
    Some(match declared {
        Some(span) => report.and(span, format!("this is {}", busiest.name(machine))),
        None => report,
    })
}

/// The edge that takes longest.
struct Busiest {
    ends: EdgeEnds,
    /// The chunks that it carries.
    chunks: Rational,
    /// Its rate.
    rate: Rational,
    /// The chunks divided by the rate.
    time: Rational,
}

impl Busiest {
    fn name(&self, machine: &Machine) -> String {
        let [from, to] = [self.ends.from, self.ends.to].map(|vertex| machine.name_vertex(vertex));
        format!("the link from {from} to {to}")
    }

    fn describe(&self, machine: &Machine) -> String {
        format!(
            "{} carries {} at {}",
            self.name(machine),
            if self.chunks == Rational::ONE {
                "1 chunk".to_owned()
            } else {
                format!("{} chunks", self.chunks)
            },
            write_rate(self.rate, machine.graph.unit())
        )
    }
}

fn compare(
    machine: &Machine,
    busiest: &Busiest,
    bounds: &CollectiveBounds,
) -> Result<String, ArithmeticError> {
    let least = bounds.bandwidth.value.checked_mul(Rational::from_integer(bounds.factor))?;
    let rounds = |time: Rational| match machine.graph.unit() {
        RateUnit::BytesPerSecond => time.checked_mul(machine.graph.quantum()),
        RateUnit::ChunksPerRound => Ok(time),
    };
    let factor = busiest.time.checked_div(least)?;
    let (takes, needs) = (rounds(busiest.time)?, rounds(least)?);
    let busy = busiest.describe(machine);
    let times = factor.numerator() as f64 / factor.denominator() as f64;
    let takes =
        if takes == Rational::ONE { "1 round".to_owned() } else { format!("{takes} rounds") };
    let compared = match factor.cmp(&Rational::ONE) {
        Ordering::Equal => "which is the least".to_owned(),
        Ordering::Greater => format!("{times:.2} times the least ({needs})"),
        // That bound is of algorithms that sum each part up at one rank.
        Ordering::Less if bounds.bandwidth.scope == BoundScope::RootedSums => {
            format!("less than the {needs} that algorithms need which sum each part up at one rank")
        }
        Ordering::Less => {
            format!(
                "less than the least ({needs}), so that one of the two is wrong: please report it"
            )
        }
    };
    Ok(format!("on `{}` this takes {takes}, {compared}: {busy}", machine.name))
}

/// The chunks that each edge carries.
struct Loads<'m> {
    machine: &'m Machine,
    chunks: BTreeMap<EdgeEnds, Rational>,
    memory_paths: BTreeMap<EdgeEnds, Option<Path>>,
    port_paths: BTreeMap<EdgeEnds, Option<Path>>,
}

fn find_busiest(program: &Program, machine: &Machine) -> Result<Option<Busiest>, ArithmeticError> {
    let mut loads = Loads {
        machine,
        chunks: BTreeMap::new(),
        memory_paths: BTreeMap::new(),
        port_paths: BTreeMap::new(),
    };
    for (id, rank) in program.ranks.entries() {
        for transfer in rank.all_ops().filter_map(|op| op.transfer()) {
            loads.add_transfer(id, rank, transfer)?;
        }
    }
    let mut rates: BTreeMap<EdgeEnds, Rational> = BTreeMap::new();
    for edge in machine.graph.edges() {
        let rate = rates.entry(EdgeEnds { from: edge.from, to: edge.to }).or_insert(Rational::ZERO);
        *rate = rate.checked_add(edge.rate.amount)?;
    }
    let mut busiest: Option<Busiest> = None;
    for (ends, chunks) in loads.chunks {
        let Some(rate) = rates.get(&ends).copied() else { continue };
        let time = chunks.checked_div(rate)?;
        if busiest.as_ref().is_none_or(|known| known.time < time) {
            busiest = Some(Busiest { ends, chunks, rate, time });
        }
    }
    Ok(busiest)
}

impl Loads<'_> {
    fn add_transfer(
        &mut self,
        id: RankId,
        rank: &Rank,
        transfer: &Transfer,
    ) -> Result<(), ArithmeticError> {
        let here = Vertex(id.0);
        let parts = transfer.slice.map_or(1, |slice| slice.count.max(1));
        let copies = if transfer.verb.moves_packets() { 2 } else { 1 };
        let size =
            |operand: &Operand| Rational::new(i128::from(operand.size) * copies, i128::from(parts));
        for operand in &transfer.sources {
            match operand.place {
                Where::Local => {}
                Where::Remote(peer) => {
                    self.add_path(Vertex(peer.0), here, transfer, size(operand)?)?
                }
                Where::Switch(channel) => {
                    self.add_reduction(here, rank, channel, size(operand)?)?
                }
            }
        }
        for operand in &transfer.destinations {
            match operand.place {
                Where::Local => {}
                Where::Remote(peer) => {
                    self.add_path(here, Vertex(peer.0), transfer, size(operand)?)?
                }
                Where::Switch(channel) => {
                    self.add_multicast(here, rank, channel, size(operand)?)?
                }
            }
        }
        Ok(())
    }

    fn add_path(
        &mut self,
        from: Vertex,
        to: Vertex,
        transfer: &Transfer,
        chunks: Rational,
    ) -> Result<(), ArithmeticError> {
        let (machine, ends) = (self.machine, EdgeEnds { from, to });
        let path = if transfer.via == Some(ChannelKind::Port) {
            let paths = self.port_paths.entry(ends);
            paths.or_insert_with(|| machine.find_port_path(from, to))
        } else {
            let paths = self.memory_paths.entry(ends);
            paths.or_insert_with(|| machine.find_memory_path(from, to))
        };
        let vertices = path.as_ref().map(|path| path.vertices.clone()).unwrap_or_default();
        for pair in vertices.windows(2) {
            if let &[from, to] = pair {
                self.add(from, to, chunks)?;
            }
        }
        Ok(())
    }

    fn add_multicast(
        &mut self,
        here: Vertex,
        rank: &Rank,
        channel: ChannelId,
        chunks: Rational,
    ) -> Result<(), ArithmeticError> {
        let Some((switch, members)) = self.find_group(rank, channel) else { return Ok(()) };
        self.add(here, switch, chunks)?;
        members.into_iter().try_for_each(|member| self.add(switch, member, chunks))
    }

    fn add_reduction(
        &mut self,
        here: Vertex,
        rank: &Rank,
        channel: ChannelId,
        chunks: Rational,
    ) -> Result<(), ArithmeticError> {
        let Some((switch, members)) = self.find_group(rank, channel) else { return Ok(()) };
        members.into_iter().try_for_each(|member| self.add(member, switch, chunks))?;
        self.add(switch, here, chunks)
    }

    /// The switch behind a channel, and the ranks of its group.
    fn find_group(&self, rank: &Rank, channel: ChannelId) -> Option<(Vertex, Vec<Vertex>)> {
        let Link::Switch(group) = &rank.channels.lookup(channel)?.link else { return None };
        let members: Vec<Vertex> = group.ranks.iter().map(|rank| Vertex(rank.0)).collect();
        let switch = self.machine.find_common_switch(&members, SwitchAbilities::default())?;
        Some((switch, members))
    }

    fn add(&mut self, from: Vertex, to: Vertex, chunks: Rational) -> Result<(), ArithmeticError> {
        let load = self.chunks.entry(EdgeEnds { from, to }).or_insert(Rational::ZERO);
        *load = load.checked_add(chunks)?;
        Ok(())
    }
}
