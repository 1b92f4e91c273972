//! Programs of AllToAlls on boxes whose ranks are joined in memory, and with the same rank of each other box by ports: the
//! rails. What is for another box goes to the rank in whose rail its receiver is, and then over the rail; what is there
//! already goes at once. Formulas say which chunk goes where, so that the text does not grow with the machine.

use super::{ProgramHead, UnwrittenProgram, format_program, library_name, write_head};
use std::fmt;
use std::fmt::Write as _;
use synth::collective::CollectiveKind;
use synth::schedule::{Move, MoveAction, StepSchedule};

/// How many thread blocks a program has at most: one for each rail, one for each other rank of the box, and one for what
/// stays. An H100 runs 132 at once.
const MAX_BLOCKS: u32 = 132;

/// Boxes of consecutive ranks. The `i`-th ranks of all boxes are a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailBoxes {
    /// How many ranks are in a box; at least 2.
    pub ranks_per_box: u32,
    /// How many boxes there are; at least 2.
    pub boxes: u32,
}

impl RailBoxes {
    /// The boxes by which a schedule goes: each of its pieces moves as the program would move it. `None` if there are none,
    /// or if the machine has no channels for such a program.
    #[must_use]
    pub fn find(head: &ProgramHead<'_>, schedule: &StepSchedule) -> Option<RailBoxes> {
        if head.kind != CollectiveKind::AllToAll {
            return None;
        }
        let ranks = head.machine.graph.count_ranks();
        let mut sizes = (2..ranks).filter(|size| ranks.is_multiple_of(*size));
        let found = sizes.find_map(|size| {
            let boxes = RailBoxes { ranks_per_box: size, boxes: ranks / size };
            let is_way = |own: &Move| boxes.is_way(own, schedule.chunks);
            schedule.moves.iter().all(is_way).then_some(boxes)
        })?;
        let blocks = found.boxes + found.ranks_per_box - 1;
        let is_fit = blocks <= MAX_BLOCKS && found.has_nodes(head) && found.has_channels(head);
        (is_fit && found.has_abilities(head, schedule)).then_some(found)
    }

    /// Whether the program moves a piece from a rank to the other one, too.
    fn is_way(self, own: &Move, chunks: u32) -> bool {
        let ranks = self.boxes * self.ranks_per_box;
        let unit = own.piece.0 / chunks.max(1);
        let (origin, receiver) = (unit % ranks, unit / ranks);
        let find_box = |rank: u32| rank / self.ranks_per_box;
        let relay = find_box(origin) * self.ranks_per_box + receiver % self.ranks_per_box;
        let [from, to] = [own.from.0, own.to.0];
        let is_step = if find_box(origin) == find_box(receiver) {
            [from, to] == [origin, receiver]
        } else {
            [from, to] == [relay, receiver] || ([from, to] == [origin, relay] && from != to)
        };
        is_step && own.action == MoveAction::Copy
    }

    /// Whether the nodes that the machine declares are the boxes.
    fn has_nodes(self, head: &ProgramHead<'_>) -> bool {
        let Some(nodes) = &head.machine.nodes else { return true };
        (0..).zip(nodes).all(|(rank, node): (u32, &u32)| rank / self.ranks_per_box == *node)
    }

    /// Whether the machine has the channels of the program, and back.
    fn has_channels(self, head: &ProgramHead<'_>) -> bool {
        let ranks = || head.whole.graph.ranks();
        ranks().all(|one| {
            ranks().filter(|other| *other != one).all(|other| {
                let [(box_one, rail_one), (box_other, rail_other)] = [one, other]
                    .map(|rank| (rank.0 / self.ranks_per_box, rank.0 % self.ranks_per_box));
                if box_one == box_other {
                    head.whole.joins_in_memory(one, other)
                } else {
                    rail_one != rail_other || head.whole.joins_by_port(one, other)
                }
            })
        })
    }

    /// Whether data goes over edges that its channels use.
    fn has_abilities(self, head: &ProgramHead<'_>, schedule: &StepSchedule) -> bool {
        schedule.moves.iter().all(|own| {
            let is_inside = own.from.0 / self.ranks_per_box == own.to.0 / self.ranks_per_box;
            own.path.iter().all(|edge| {
                let edge = head.machine.graph.edges().get(edge.0 as usize);
                edge.is_some_and(|edge| {
                    if is_inside { edge.abilities.memory } else { edge.abilities.port }
                })
            })
        })
    }
}

/// Writes the program of an AllToAll on boxes, formatted.
///
/// # Errors
/// [`UnwrittenProgram::Malformed`].
pub fn write_box_program(
    head: &ProgramHead<'_>,
    boxes: RailBoxes,
) -> Result<String, UnwrittenProgram> {
    let mut text = String::new();
    let written = fill_program(head, boxes, &mut text);
    written.map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    format_program(&text)
}

fn fill_program(head: &ProgramHead<'_>, boxes: RailBoxes, text: &mut String) -> fmt::Result {
    let RailBoxes { ranks_per_box, boxes } = boxes;
    let (ranks, chunks) = (boxes * ranks_per_box, head.chunks);
    // What a rank has for another one is so many chunks.
    let times = if chunks == 1 { String::new() } else { format!(" * {chunks}") };
    let part = |rank: &str| {
        if chunks == 1 { rank.to_owned() } else { format!("{rank}{times} ..+ {chunks}") }
    };
    let [local, peer, far_peer, here] = ["local_rank", "p", "q", "rank"].map(part);
    let collective = library_name(head.kind);
    write_head(head, text)?;
    // One more import follows those of the head.
    text.truncate(text.trim_end().len());
    writeln!(
        text,
        "
        use std::patterns::{{handshake, meet, rail_onward}};

        /// What is for another node goes to the rank of this node in whose rail its receiver is, which sends it on with what
        /// the others have for that receiver.
        program {}(
            ranks: int = {ranks},
            ranks_per_node: int = {ranks_per_box},
            instances: int = 1
        ) {{
        require ranks == {ranks} && ranks_per_node == {ranks_per_box}, \"this schedule is for {boxes} nodes of {ranks_per_box} ranks\";",
        head.name
    )?;
    if head.is_library_machine {
        writeln!(text, "topology {};", head.machine.name)?;
    }
    let with_chunks = if chunks == 1 { String::new() } else { format!(", chunks = {chunks}") };
    let [first, after] = if chunks == 1 {
        ["rank - local_rank", "local_rank + 1"].map(str::to_owned)
    } else {
        ["rank - local_rank", "local_rank + 1"].map(|ranks| format!("({ranks}){times}"))
    };
    writeln!(
        text,
        "collective {collective}(ranks{with_chunks});
        options {{ instances = instances; }}

        scratch outbox[q in rail_peers, c in 0..ranks_per_node{times}];
        channel near[p in node_peers] = memory(p);
        channel far[q in rail_peers] = port(q);
        semaphore gathered[q in rail_peers, p in node_peers] = 0;

        block hand[p in node_peers] {{
            handshake([near[p]]);
            for q in rail_onward(p, first = 1) {{
                put input[{far_peer}] -> p.outbox[q, {local}] via near[p];
            }}
            meet([near[p]]);
            release gathered[*, p];
            put input[{peer}] -> p.output[{here}] via near[p];
            meet([near[p]]);
        }}
        block rail[q in rail_onward(rank, first = 1)] {{
            handshake([far[q]]);
            put_with_signal_and_flush input[{far_peer}] -> q.output[{here}] via far[q];
            acquire gathered[q, *];
            for part in [c in [0..local_rank{times}, {after}..ranks_per_node{times}] if c.len() > 0] {{
                put_with_signal_and_flush outbox[q, part] -> q.output[{first} + part[0] ..+ part.len()] via far[q];
                wait far[q];
            }}
            wait far[q];
        }}
        block own {{ copy input[{here}] -> output[{here}]; }}
        }}"
    )
}
