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
    let (message, ends) = match measure_busiest_link(program, machine) {
        Ok(Some(busiest)) => {
            let message = match find_least(program, machine).map(|least| busiest.compare(&least)) {
                Ok(Ok(measured)) => measured.describe(machine, &busiest),
                Ok(Err(_)) => describe_unknown(machine),
                Err(error) => {
                    format!("{}; the least is not known: {error}", busiest.describe(machine))
                }
            };
            (message, Some(busiest.ends))
        }
        Ok(None) => (format!("no link of `{}` carries anything", machine.name), None),
        Err(_) => (describe_unknown(machine), None),
    };
    let report = note(message);
    Some(match ends.and_then(|ends| Some((ends, machine.places.get(&ends).copied()?))) {
        Some((ends, span)) => report.and(span, format!("this is {}", name_link(machine, ends))),
        None => report,
    })
}

fn describe_unknown(machine: &Machine) -> String {
    format!("what the links of `{}` carry is not known: the numbers are too large", machine.name)
}

/// How long a program takes on its machine as messages become long, beside the least time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredBandwidth {
    /// Into how many parts the program divides each chunk of the collective.
    factor: u64,
    /// How many rounds the busiest link takes for each chunk of the collective; a round is the time in which a link
    /// whose bandwidth divides all others passes one.
    pub takes: Rational,
    /// How many rounds are needed at least.
    pub least: Rational,
    /// Which algorithms need so many.
    pub scope: BoundScope,
}

/// What [`analyze`] says as numbers; none if the program names no machine, if nothing is moved, or if the least is not known.
#[must_use]
pub fn measure_bandwidth(program: &Program) -> Option<MeasuredBandwidth> {
    let machine = program.machine.as_deref()?;
    let busiest = measure_busiest_link(program, machine).ok()??;
    busiest.compare(&find_least(program, machine).ok()?).ok()
}

/// The bound of what a program promises.
fn find_least(program: &Program, machine: &Machine) -> Result<LeastTime, String> {
    let request = BoundRequest { max_steps: Some(0), ..BoundRequest::default() };
    let collective = collect_demands(&program.ranks.iter().cloned().collect::<Vec<Rank>>())
        .map_err(|error| error.to_string())?;
    if program.collective.op != ReduceOp::Sum && has_common_contributions(&collective) {
        return Err("its values have parts in common, and are no sums".to_owned());
    }
    let bounds = bound_collective(&machine.graph, &collective, &Sketch::default(), &request)
        .map_err(|error| error.to_string())?;
    let rounds_per_second = match machine.graph.unit() {
        RateUnit::BytesPerSecond => machine.graph.quantum(),
        RateUnit::ChunksPerRound => Rational::ONE,
    };
    Ok(LeastTime { bounds, rounds_per_second })
}

/// How long the busiest link takes for what a program moves over it, in the unit of the machine's rates; none if nothing is
/// moved, or if the numbers are too large.
pub(super) fn measure_busiest_time(program: &Program, machine: &Machine) -> Option<Rational> {
    measure_busiest_link(program, machine).ok()?.map(|busiest| busiest.time)
}

struct LeastTime {
    bounds: CollectiveBounds,
    rounds_per_second: Rational,
}

impl MeasuredBandwidth {
    /// How many times the least time it takes.
    ///
    /// # Errors
    /// [`ArithmeticError`] if the numbers are too large.
    pub fn compute_ratio(&self) -> Result<Rational, ArithmeticError> {
        self.takes.checked_div(self.least)
    }

    /// Its numbers in a few words, such as `bandwidth 7/6 of 7/6, optimal`. None if they are too large, and if the
    /// program is faster than the algorithms that the least is of.
    #[must_use]
    pub fn summarize(&self) -> Option<String> {
        let ratio = self.compute_ratio().ok()?;
        let compared = match ratio.cmp(&Rational::ONE) {
            Ordering::Less => return None,
            Ordering::Equal => "optimal".to_owned(),
            Ordering::Greater => format!("{:.2} times the least", round_ratio(ratio)),
        };
        Some(format!("bandwidth {} of {}, {compared}", self.takes, self.least))
    }

    fn describe(&self, machine: &Machine, busiest: &Busiest) -> String {
        let whole = |time: Rational| time.checked_mul(Rational::from_integer(self.factor));
        let (Ok(takes), Ok(needs), Ok(ratio)) =
            (whole(self.takes), whole(self.least), self.compute_ratio())
        else {
            return describe_unknown(machine);
        };
        let times = round_ratio(ratio);
        let takes =
            if takes == Rational::ONE { "1 round".to_owned() } else { format!("{takes} rounds") };
        let compared = match ratio.cmp(&Rational::ONE) {
            Ordering::Equal => "which is the least".to_owned(),
            Ordering::Greater => format!("{times:.2} times the least ({needs})"),
            // That bound is of algorithms that sum each part up at one rank.
            Ordering::Less if self.scope == BoundScope::RootedSums => {
                format!(
                    "less than the {needs} that algorithms need which sum each part up at one rank"
                )
            }
            Ordering::Less => {
                format!(
                    "less than the least ({needs}), so that one of the two is wrong: please report it"
                )
            }
        };
        let busy = busiest.describe(machine);
        format!("on `{}` this takes {takes}, {compared}: {busy}", machine.name)
    }
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
    fn describe(&self, machine: &Machine) -> String {
        format!(
            "{} carries {} at {}",
            name_link(machine, self.ends),
            if self.chunks == Rational::ONE {
                "1 chunk".to_owned()
            } else {
                format!("{} chunks", self.chunks)
            },
            write_rate(self.rate, machine.graph.unit())
        )
    }

    fn compare(&self, least: &LeastTime) -> Result<MeasuredBandwidth, ArithmeticError> {
        let LeastTime { bounds, rounds_per_second } = least;
        let factor = bounds.factor;
        let whole = self.time.checked_mul(*rounds_per_second)?;
        Ok(MeasuredBandwidth {
            factor,
            takes: whole.checked_div(Rational::from_integer(factor))?,
            least: bounds.bandwidth.value.checked_mul(*rounds_per_second)?,
            scope: bounds.bandwidth.scope,
        })
    }
}

fn name_link(machine: &Machine, ends: EdgeEnds) -> String {
    let [from, to] = [ends.from, ends.to].map(|vertex| machine.name_vertex(vertex));
    format!("the link from {from} to {to}")
}

fn round_ratio(ratio: Rational) -> f64 {
    ratio.numerator() as f64 / ratio.denominator() as f64
}

/// The chunks that each edge carries.
struct Loads<'m> {
    machine: &'m Machine,
    chunks: BTreeMap<EdgeEnds, Rational>,
    memory_paths: BTreeMap<EdgeEnds, Option<Path>>,
    port_paths: BTreeMap<EdgeEnds, Option<Path>>,
}

fn measure_busiest_link(
    program: &Program,
    machine: &Machine,
) -> Result<Option<Busiest>, ArithmeticError> {
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
