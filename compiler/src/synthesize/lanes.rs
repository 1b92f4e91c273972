//! Programs of trees that a group of shifts keeps, for long messages: rules for one rank, and a thread block for each way
//! by which pieces come, instead of one for each tree.
//!
//! A *lane* `[t, v]` passes on what has come over the way `v` to the distance `t` from the roots, window by window; the
//! lanes of distance 0 send the rank's own pieces. Sums run backwards: a lane adds up what those have to which it would
//! send, and there is one for all ways at distance 0, since all add to the same pieces.

use super::channels::Channels;
use super::rules::{TableNames, WayBinders, name_before, write_pairs, write_tables};
use super::shifted::{ShiftRules, WaySteps};
use super::{MAX_BLOCK_CHANNELS, MAX_BLOCKS, ProgramHead, WINDOW, write_declarations, write_head};
use std::fmt::{self, Write as _};
use synth::collective::CollectiveKind;
use synth::graph::Vertex;
use synth::trees::TreeDirection;

/// A program of lanes.
pub(super) struct LaneWriter<'a> {
    head: &'a ProgramHead<'a>,
    rules: &'a ShiftRules,
    table: &'a WaySteps,
    channels: &'a Channels,
    adds_up: bool,
    /// How many lanes of distance 0 share the ways; each sends over some of them, or adds up what comes over some.
    roots: usize,
}

/// What goes on, by lane and way.
struct Hops {
    /// For each distance and way: the ways over which something goes on.
    ways: Vec<Vec<Vec<usize>>>,
}

impl<'a> LaneWriter<'a> {
    /// A writer of the program; `None` if it would have more blocks than run at once, or more channels than a block has
    /// room for.
    pub(super) fn new(
        head: &'a ProgramHead<'a>,
        rules: &'a ShiftRules,
        direction: TreeDirection,
        channels: &'a Channels,
    ) -> Option<LaneWriter<'a>> {
        let table = rules.tables.first()?;
        let adds_up = direction == TreeDirection::ToRoot;
        let ways = rules.ways.len();
        let fewest = if adds_up { 1 } else { ways };
        let fitting = (fewest..=ways.max(1)).map(|roots| LaneWriter {
            head,
            rules,
            table,
            channels,
            adds_up,
            roots,
        });
        fitting.into_iter().find(LaneWriter::fits)
    }

    /// The pieces that go over a way at a distance, as numbers: those of the owner that is `x` away begin at `x` times
    /// the pieces of a chunk.
    fn list_pieces(&self, step: usize, way: usize) -> Vec<u64> {
        let chunks = self.head.chunks;
        let load = self.table.0.get(step).and_then(|loads| loads.get(way));
        let Some(load) = load else { return Vec::new() };
        let wholes = load.wholes.iter().flat_map(|owner| {
            let first = u64::from(*owner) * chunks;
            first..first + chunks
        });
        let parts = load.parts.iter().flat_map(|part| {
            let first = u64::from(part.owner) * chunks + part.first;
            first..first + part.count
        });
        wholes.chain(parts).collect()
    }

    /// The ways over which each lane sends.
    fn find_hops(&self) -> Hops {
        let (steps, ways) = (self.table.0.len(), self.rules.ways.len());
        let mut hops = Vec::new();
        for step in 0..steps {
            let next: Vec<Vec<u64>> = (0..ways).map(|way| self.list_pieces(step, way)).collect();
            let mut of_step = Vec::new();
            for lane in 0..ways {
                let came = if step == 0 { Vec::new() } else { self.list_arrived(step - 1, lane) };
                let goes_on = |way: &usize| {
                    let pieces = next.get(*way).map_or(&[][..], Vec::as_slice);
                    if step == 0 {
                        !pieces.is_empty() && way % self.roots == lane
                    } else {
                        pieces.iter().any(|piece| came.binary_search(piece).is_ok())
                    }
                };
                of_step.push((0..ways).filter(goes_on).collect());
            }
            hops.push(of_step);
        }
        hops.push(vec![Vec::new(); ways]);
        Hops { ways: hops }
    }

    /// The pieces that come over a way, as numbers of the rank that gets them, in order.
    fn list_arrived(&self, step: usize, way: usize) -> Vec<u64> {
        let chunks = self.head.chunks.max(1);
        let offset = Vertex(self.rules.ways.get(way).copied().unwrap_or(0));
        let turn = |piece: u64| {
            let owner = self.rules.group.subtract(Vertex((piece / chunks) as u32), offset);
            u64::from(owner.0) * chunks + piece % chunks
        };
        let mut arrived: Vec<u64> =
            self.list_pieces(step, way).into_iter().map(turn).collect();
        arrived.sort_unstable();
        arrived
    }

    /// Whether there are not too many blocks, and each has room for its channels.
    fn fits(&self) -> bool {
        let hops = self.find_hops();
        let lanes = hops.ways.iter().flatten().filter(|ways| !ways.is_empty()).count();
        lanes <= MAX_BLOCKS && self.has_room(&hops)
    }

    fn has_room(&self, hops: &Hops) -> bool {
        let kind = |rank: Vertex, way: usize, is_away: bool| {
            let offset = Vertex(self.rules.ways.get(way).copied().unwrap_or(0));
            let group = &self.rules.group;
            let peer =
                if is_away { group.add(rank, offset) } else { group.subtract(rank, offset) };
            usize::from(self.channels.is_memory(rank, peer))
        };
        let fits_on = |rank: Vertex| {
            hops.ways.iter().enumerate().all(|(step, lanes)| {
                lanes.iter().enumerate().filter(|(_, ways)| !ways.is_empty()).all(|(lane, ways)| {
                    let mut counts = [0_usize; 2];
                    let mut add = |way: usize, is_away: bool| {
                        if let Some(count) = counts.get_mut(kind(rank, way, is_away)) {
                            *count += 1;
                        }
                    };
                    for way in ways {
                        add(*way, true);
                        let is_leaf = hops
                            .ways
                            .get(step + 1)
                            .and_then(|next| next.get(*way))
                            .is_none_or(Vec::is_empty);
                        if is_leaf {
                            add(*way, false);
                        }
                    }
                    let before = step.checked_sub(1).and_then(|step| hops.ways.get(step));
                    for _ in before.into_iter().flatten().filter(|ways| ways.contains(&lane)) {
                        add(lane, false);
                    }
                    counts.iter().all(|count| *count <= MAX_BLOCK_CHANNELS)
                })
            })
        };
        (0..self.rules.group.count_ranks()).map(Vertex).all(fits_on)
    }

    /// Writes the program.
    pub(super) fn write_program(&self, text: &mut String) -> fmt::Result {
        write_head(self.head, text)?;
        write_tables(self.rules, &[TableNames::LEVELS], true, text)?;
        self.write_onward(text)?;
        self.channels.write_functions(text)?;
        write_declarations(self.head, true, text)?;
        let (steps, ways) = (self.table.0.len(), self.rules.ways.len());
        let binders = format!("t in 0..{steps}, v in 0..{ways}, w in hops[t][v]");
        let binders = WayBinders { binders: &binders, names: "t, v, w" };
        write_pairs(self.channels, name_before(self.rules), &binders, text)?;
        if self.adds_up && !self.channels.can_read() {
            writeln!(
                text,
                "scratch got[t in 0..{steps}, v in 0..{ways}, w in hops[t][v], e in onward[t][v][w]];"
            )?;
        }
        let is_chained = self.adds_up && self.roots > 1;
        if is_chained {
            writeln!(text, "semaphore turn[v in 1..{}];", self.roots)?;
        }
        writeln!(
            text,
            "\nblock lane[t in 0..{steps}, v in 0..{ways} if hops[t][v].len() > 0] {{"
        )?;
        let is_deep = steps > 1;
        if is_deep {
            writeln!(
                text,
                "let came = [u in 0..{ways} if t > 0 && onward[t - 1][u][v].len() > 0: u];
                let leaves = [w in hops[t][v] if hops[t + 1][w].len() == 0: w];"
            )?;
        }
        let body = LaneBody { writer: self, is_deep, is_chained };
        match (self.adds_up, self.channels.can_read()) {
            (false, _) => body.write_copies(text)?,
            (true, true) => body.write_reads(text)?,
            (true, false) => body.write_pushes(text)?,
        }
        writeln!(text, "}}\n}}")
    }

    /// What each lane sends on.
    fn write_onward(&self, text: &mut String) -> fmt::Result {
        let chunks = self.head.chunks;
        let (steps, ways) = (self.table.0.len(), self.rules.ways.len());
        let pieces = if chunks == 1 { "sends" } else { "pieces" };
        if chunks > 1 {
            let parts = if self.table.has_parts() {
                format!(
                    " + [s in parts if s[0] == t && s[1] == w, i in s[3] ..+ s[4]: s[2] * {chunks} + i]"
                )
            } else {
                String::new()
            };
            writeln!(
                text,
                "/// The same in pieces: `x * {chunks} + i` is the i-th of the rank that is `x` away.
                let pieces = [t in 0..{steps}: [w in 0..{ways}: [x in sends[t][w], i in 0..{chunks}: x * {chunks} + i]{parts}]];\n"
            )?;
        }
        let moved = if chunks == 1 {
            "at(e, ways[v])".to_owned()
        } else {
            format!("at(e / {chunks}, ways[v]) * {chunks} + e % {chunks}")
        };
        let own = match (self.roots, ways) {
            (1, _) => "v == 0".to_owned(),
            (roots, ways) if roots == ways => "v == w".to_owned(),
            (roots, _) => format!("w % {roots} == v"),
        };
        let condition = if steps == 1 {
            own
        } else {
            format!("if t == 0 {{ {own} }} else {{ {pieces}[t - 1][v].contains({moved}) }}")
        };
        let what = if self.adds_up { "adds up from" } else { "sends over" };
        writeln!(
            text,
            "/// What a lane `[t, v]` {what} each way: of what has come over the way `v`, or of the rank's own at distance 0.
            let onward = [t in 0..{steps}: [v in 0..{ways}: [w in 0..{ways}: [e in {pieces}[t][w] if {condition}: e]]]];\n"
        )?;
        let end = if steps == 1 { "" } else { " + [[v in ways: []]]" };
        writeln!(
            text,
            "/// The ways of each lane; none has any beyond the largest distance.
            let hops = [t in 0..{steps}: [v in 0..{ways}: [w in 0..{ways} if onward[t][v][w].len() > 0: w]]]{end};\n"
        )
    }
}

/// The body of all lanes. Without lanes behind others (`is_deep`) every way is a leaf.
struct LaneBody<'a> {
    writer: &'a LaneWriter<'a>,
    is_deep: bool,
    /// Whether lanes of distance 0 add up one after another.
    is_chained: bool,
}

impl LaneBody<'_> {
    /// The piece `e` of a rank.
    fn write_piece(&self, rank: &str) -> String {
        match self.writer.head.chunks {
            1 => format!("at({rank}, e)"),
            chunks => format!("at({rank}, e / {chunks}) * {chunks} + e % {chunks}"),
        }
    }

    fn find_buffer(&self) -> &'static str {
        if self.writer.head.kind == CollectiveKind::ReduceScatter { "input" } else { "output" }
    }

    fn write_operation(
        &self,
        verb: &str,
        family: &str,
        modifier: &str,
        text: &mut String,
    ) -> fmt::Result {
        if self.is_deep {
            writeln!(text, "for u in came {{ {verb} {family}[t - 1, u, v, *]{modifier}; }}")?;
        }
        Ok(())
    }

    fn leaves(&self) -> &'static str {
        if self.is_deep { "leaves" } else { "*" }
    }

    fn write_copies(&self, text: &mut String) -> fmt::Result {
        let leaves = self.leaves();
        self.write_operation("signal", "into", " relaxed", text)?;
        writeln!(text, "signal into[t, v, {leaves}, *] relaxed;\nwait out[t, v, *, *] relaxed;")?;
        writeln!(text, "pipeline unit = {WINDOW}, chunks = 1 {{")?;
        self.write_operation("wait", "into", "", text)?;
        writeln!(
            text,
            "for w in hops[t][v], p in [at(rank, ways[w])], e in onward[t][v][w] {{
                let c = {};
                put output[c] -> p.output[c] via out[t, v, w, p];
            }}",
            self.write_piece("rank")
        )?;
        if self.is_deep {
            writeln!(
                text,
                "for w in hops[t][v] if !leaves.contains(w) {{ signal out[t, v, w, *]; }}"
            )?;
        }
        writeln!(text, "}}\nsignal out[t, v, {leaves}, *];\nwait into[t, v, {leaves}, *];")?;
        if self.writer.channels.can_read() {
            return Ok(());
        }
        self.write_operation("signal", "into", "", text)?;
        writeln!(text, "signal into[t, v, {leaves}, *];    // all has arrived\nwait out[t, v, *, *];")
    }

    /// In turn, where several lanes add to the same pieces.
    fn write_turn(&self, sums: &str, text: &mut String) -> fmt::Result {
        if !self.is_chained {
            return writeln!(text, "{sums}");
        }
        let roots = self.writer.roots;
        writeln!(text, "if t == 0 && v > 0 {{ acquire turn[v]; }}")?;
        writeln!(text, "{sums}")?;
        writeln!(text, "if t == 0 && v + 1 < {roots} {{ release turn[v + 1]; }}")
    }

    fn write_reads(&self, text: &mut String) -> fmt::Result {
        let (buffer, leaves) = (self.find_buffer(), self.leaves());
        writeln!(
            text,
            "signal into[t, v, {leaves}, *] relaxed;\nwait out[t, v, {leaves}, *] relaxed;
            pipeline unit = {WINDOW}, chunks = 1 {{"
        )?;
        if self.is_deep {
            writeln!(
                text,
                "for w in hops[t][v] if !leaves.contains(w) {{ wait out[t, v, w, *]; }}"
            )?;
        }
        let piece = self.write_piece("rank");
        let sums = format!(
            "for w in hops[t][v], p in [at(rank, ways[w])], e in onward[t][v][w] {{
                let c = {piece};
                reduce {buffer}[c], p.{buffer}[c] -> {buffer}[c] via out[t, v, w, p];
            }}"
        );
        self.write_turn(&sums, text)?;
        self.write_operation("signal", "into", "", text)?;
        writeln!(text, "}}\nsignal out[t, v, *, *];    // all is read")?;
        self.write_operation("wait", "into", "", text)?;
        writeln!(text, "wait into[t, v, {leaves}, *];")
    }

    fn write_pushes(&self, text: &mut String) -> fmt::Result {
        let (buffer, leaves) = (self.find_buffer(), self.leaves());
        let before = name_before(self.writer.rules);
        let push = |lane: &str| {
            let piece = self.write_piece("p");
            format!(
                "let c = {piece};
                put {buffer}[c] -> p.got[{lane}, e] via into[{lane}, p];"
            )
        };
        writeln!(text, "signal out[t, v, *, *] relaxed;")?;
        self.write_operation("wait", "into", " relaxed", text)?;
        writeln!(
            text,
            "wait into[t, v, {leaves}, *] relaxed;
            pipeline unit = {WINDOW}, chunks = 1 {{"
        )?;
        let own = if self.is_deep { "leaves" } else { "hops[t][v]" };
        writeln!(
            text,
            "for w in {own}, p in [{before}(rank, ways[w])], e in onward[t][v][w] {{ {} }}
            signal into[t, v, {leaves}, *];
            wait out[t, v, *, *];",
            push("t, v, w")
        )?;
        let piece = self.write_piece("rank");
        let sums = format!(
            "for w in hops[t][v], e in onward[t][v][w] {{
                let c = {piece};
                reduce {buffer}[c], got[t, v, w, e] -> {buffer}[c];
            }}"
        );
        self.write_turn(&sums, text)?;
        if self.is_deep {
            writeln!(
                text,
                "for u in came, p in [{before}(rank, ways[v])], e in onward[t - 1][u][v] {{ {} }}",
                push("t - 1, u, v")
            )?;
        }
        self.write_operation("signal", "into", "", text)?;
        writeln!(text, "}}\nsignal out[t, v, *, *];    // all has arrived")?;
        self.write_operation("wait", "into", "", text)?;
        writeln!(text, "wait into[t, v, {leaves}, *];")
    }
}
