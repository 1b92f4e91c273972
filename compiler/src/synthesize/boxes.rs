//! Programs of AllToAlls on boxes whose ranks are joined in memory, and with the same rank of each other box by ports: the
//! rails. What is for another box goes to the rank in whose rail its receiver is, and then over the rail; what is there
//! already goes at once. Between some places of boxes it may go the other way round, over the rail of its sender first.
//! Formulas say which chunk goes where, so that the text does not grow with the machine.

use super::{ProgramHead, UnwrittenProgram, format_program, library_name, write_head};
use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;
use synth::collective::CollectiveKind;
use synth::schedule::{Move, MoveAction, StepSchedule};

/// How many thread blocks a program has at most: one for each rail, one for each other rank of the box, and one for what
/// stays. An H100 runs 132 at once.
const MAX_BLOCKS: u32 = 132;

/// Boxes of consecutive ranks. The `i`-th ranks of all boxes are a rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RailBoxes {
    /// How many ranks are in a box; at least 2.
    pub ranks_per_box: u32,
    /// How many boxes there are; at least 2.
    pub boxes: u32,
    /// Between which places what is for another box crosses the network first.
    pub late: BTreeSet<PlacePair>,
}

/// A rank of a box has something for a rank of another one: their places in these boxes, which differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacePair {
    /// That of the sender.
    pub from: u32,
    /// That of the receiver.
    pub to: u32,
}

/// How a program could move a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceWay {
    /// Inside a box, or over a rail.
    Either,
    /// To the rail of the receiver first.
    Early(PlacePair),
    /// Over the rail of the sender first.
    Late(PlacePair),
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
        let found = sizes.find_map(|size| RailBoxes::divide(ranks, size, schedule))?;
        let blocks = found.boxes + found.ranks_per_box - 1;
        let is_fit = blocks <= MAX_BLOCKS && found.has_nodes(head) && found.has_channels(head);
        (is_fit && found.has_abilities(head, schedule)).then_some(found)
    }

    /// Boxes of so many ranks, if a program for them moves all pieces as the schedule does.
    fn divide(ranks: u32, size: u32, schedule: &StepSchedule) -> Option<RailBoxes> {
        let mut boxes =
            RailBoxes { ranks_per_box: size, boxes: ranks / size, late: BTreeSet::new() };
        let mut early = BTreeSet::new();
        for own in &schedule.moves {
            match boxes.find_way(own, schedule.chunks)? {
                PieceWay::Either => {}
                PieceWay::Early(places) => {
                    early.insert(places);
                }
                PieceWay::Late(places) => {
                    boxes.late.insert(places);
                }
            }
        }
        boxes.late.is_disjoint(&early).then_some(boxes)
    }

    /// How the program moves a piece if it moves it from a rank to the other one, too.
    fn find_way(&self, own: &Move, chunks: u32) -> Option<PieceWay> {
        let size = self.ranks_per_box;
        let ranks = self.boxes * size;
        let unit = own.piece.0 / chunks.max(1);
        let (origin, receiver) = (unit % ranks, unit / ranks);
        let [before, after] =
            [origin / size * size + receiver % size, receiver / size * size + origin % size];
        let places = PlacePair { from: origin % size, to: receiver % size };
        let ends = [own.from.0, own.to.0];
        if own.action != MoveAction::Copy {
            return None;
        }
        if origin / size == receiver / size || places.from == places.to {
            return (ends == [origin, receiver]).then_some(PieceWay::Either);
        }
        let ways = [
            ([origin, before], PieceWay::Early(places)),
            ([before, receiver], PieceWay::Early(places)),
            ([origin, after], PieceWay::Late(places)),
            ([after, receiver], PieceWay::Late(places)),
        ];
        ways.into_iter().find_map(|(way, found)| (ends == way).then_some(found))
    }

    /// Whether the nodes that the machine declares are the boxes.
    fn has_nodes(&self, head: &ProgramHead<'_>) -> bool {
        let Some(nodes) = &head.machine.nodes else { return true };
        (0..).zip(nodes).all(|(rank, node): (u32, &u32)| rank / self.ranks_per_box == *node)
    }

    /// Whether the machine has the channels of the program, and back.
    fn has_channels(&self, head: &ProgramHead<'_>) -> bool {
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
    fn has_abilities(&self, head: &ProgramHead<'_>, schedule: &StepSchedule) -> bool {
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
    boxes: &RailBoxes,
) -> Result<String, UnwrittenProgram> {
    let mut text = String::new();
    let written = fill_program(head, boxes, &mut text);
    written.map_err(|error| UnwrittenProgram::Malformed(error.to_string()))?;
    format_program(&text)
}

fn fill_program(head: &ProgramHead<'_>, boxes: &RailBoxes, text: &mut String) -> fmt::Result {
    let RailBoxes { ranks_per_box, boxes: nodes, .. } = *boxes;
    let ranks = nodes * ranks_per_box;
    let parts = PartTexts::find(head);
    write_head(head, text)?;
    // One more import follows those of the head.
    text.truncate(text.trim_end().len());
    writeln!(text, "\nuse std::patterns::{{handshake, meet, rail_onward}};\n")?;
    if !boxes.late.is_empty() {
        write_late_places(boxes, text)?;
    }
    writeln!(
        text,
        "/// What is for another node goes to the rank of this node in whose rail its receiver is, which sends it on with what
        /// the others have for that receiver{}.
        program {}(
            ranks: int = {ranks},
            ranks_per_node: int = {ranks_per_box},
            instances: int = 1
        ) {{
        require ranks == {ranks} && ranks_per_node == {ranks_per_box}, \"this schedule is for {nodes} nodes of {ranks_per_box} ranks\";",
        if boxes.late.is_empty() { "" } else { "; or over the rail of its sender first" },
        head.name
    )?;
    if head.is_library_machine {
        writeln!(text, "topology {};", head.machine.name)?;
    }
    let with_chunks =
        if head.chunks == 1 { String::new() } else { format!(", chunks = {}", head.chunks) };
    writeln!(
        text,
        "collective {}(ranks{with_chunks});
        options {{ instances = instances; }}\n",
        library_name(head.kind)
    )?;
    if boxes.late.is_empty() {
        parts.write_early(text)?;
    } else {
        parts.write_both(text)?;
    }
    writeln!(text, "block own {{ copy input[{0}] -> output[{0}]; }}\n}}", parts.here)
}

/// The places for which what begins at a place crosses the network first.
fn write_late_places(boxes: &RailBoxes, text: &mut String) -> fmt::Result {
    let rows = (0..boxes.ranks_per_box).map(|from| {
        let own = boxes.late.iter().filter(|places| places.from == from);
        let own: Vec<String> = own.map(|places| places.to.to_string()).collect();
        format!("[{}]", own.join(", "))
    });
    writeln!(
        text,
        "/// Place by place in a node: for which places of other nodes what begins there crosses the network first.
        let late = [\n{},\n];\n
        /// Whether what a place has for another one does so.
        fn is_late(from: int, to: int) -> bool = late[from].contains(to);\n",
        rows.collect::<Vec<String>>().join(", ")
    )
}

/// Indices of what a rank has for another one, which is so many chunks.
struct PartTexts {
    /// What a number of ranks is multiplied by for a number of chunks.
    times: String,
    chunks: u64,
    peer: String,
    far_peer: String,
    here: String,
}

impl PartTexts {
    fn find(head: &ProgramHead<'_>) -> PartTexts {
        let chunks = head.chunks;
        let times = if chunks == 1 { String::new() } else { format!(" * {chunks}") };
        let part = |rank: &str| write_part(rank, chunks);
        PartTexts { peer: part("p"), far_peer: part("q"), here: part("rank"), times, chunks }
    }

    /// What goes to the rail of its receiver first: all that crosses the network.
    fn write_early(&self, text: &mut String) -> fmt::Result {
        let PartTexts { times, chunks, peer, far_peer, here } = self;
        let local = write_part("local_rank", *chunks);
        let [first, after] = ["rank - local_rank", "local_rank + 1"]
            .map(|ranks| if *chunks == 1 { ranks.to_owned() } else { format!("({ranks}){times}") });
        writeln!(
            text,
            "scratch outbox[q in rail_peers, c in 0..ranks_per_node{times}];
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
            }}"
        )
    }

    /// The same where some of that goes over the rail of its sender first, and then to its receiver.
    fn write_both(&self, text: &mut String) -> fmt::Result {
        let PartTexts { chunks, peer, far_peer, here, .. } = self;
        // The chunks of an entry of scratch memory, behind what says which entry it is.
        let size = if *chunks == 1 { String::new() } else { format!(", {chunks}") };
        let all = if *chunks == 1 { "" } else { ", .." };
        let origin = write_part("p", *chunks);
        let receiver = write_part("r", *chunks);
        writeln!(
            text,
            "channel near[p in node_peers] = memory(p);
            channel far[q in rail_peers] = port(q);
            // From the rank `p` of this node for the rank `q`, and from the rank `q` for the rank `p` of this node.
            scratch outbox[q in rail_peers, p in node_peers if !is_late(p.local_rank, local_rank){size}];
            scratch inbox[q in rail_peers, p in node_peers if is_late(local_rank, p.local_rank){size}];
            semaphore gathered[q in rail_peers, p in node_peers if !is_late(p.local_rank, local_rank)] = 0;
            semaphore arrived[q in rail_peers, p in node_peers if is_late(local_rank, p.local_rank)] = 0;

            block hand[p in node_peers] {{
                handshake([near[p]]);
                for q in rail_onward(p, first = 1) if !is_late(local_rank, p.local_rank) {{
                    put input[{far_peer}] -> p.outbox[q, rank{all}] via near[p];
                }}
                meet([near[p]]);
                if !is_late(p.local_rank, local_rank) {{ release gathered[*, p]; }}
                put input[{peer}] -> p.output[{here}] via near[p];
                for q in rail_peers if is_late(local_rank, p.local_rank) {{
                    acquire arrived[q, p];
                    put inbox[q, p{all}] -> p.output[{far_peer}] via near[p];
                }}
                meet([near[p]]);
            }}
            block rail[q in rail_onward(rank, first = 1)] {{
                handshake([far[q]]);
                put_with_signal_and_flush input[{far_peer}] -> q.output[{here}] via far[q];
                for c in late[local_rank], r in [rank_at(q.node, c)] {{
                    put_with_signal_and_flush input[{receiver}] -> q.inbox[rank, r{all}] via far[q];
                }}
                wait far[q];
                for c in late[local_rank] {{
                    wait far[q];
                    release arrived[q, rank_at(node, c)];
                }}
                for p in node_peers if !is_late(p.local_rank, local_rank) {{
                    acquire gathered[q, p];
                    put_with_signal_and_flush outbox[q, p{all}] -> q.output[{origin}] via far[q];
                }}
                for p in node_peers if !is_late(p.local_rank, local_rank) {{ wait far[q]; }}
            }}"
        )
    }
}

/// The index of what a rank has for another one.
fn write_part(rank: &str, chunks: u64) -> String {
    if chunks == 1 { rank.to_owned() } else { format!("{rank} * {chunks} ..+ {chunks}") }
}
