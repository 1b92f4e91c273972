//! The text of reports about conflicts: which accesses conflict where, why, and what would help.

use super::super::names;
use super::acts::Touch;
use super::machine::{Conflict, Kind};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::grain::Grain;
use crate::ir::{
    Action, Block, BlockId, Buffer, ChannelId, Link, Op, Program, RankId, Verb, Where, all_ops,
};
use crate::source::{At, Place};
use crate::table::Id;

const ONLY_PACKETS: &str = "only packets are between the two; they order execution, and of memory only the data that they carry";

/// Makes reports of conflicts, with the facts about the program that they depend on.
pub(super) struct Words<'a> {
    program: &'a Program,
    grain: Grain,
    /// Whether any signal or wait is relaxed. Where none is, only packets order execution alone.
    relaxed: bool,
    /// Whether any of those is the author's.
    own_relaxed: bool,
}

/// What help ends with where either of two accesses may come first.
pub(super) const OTHER_WAY: &str = ", or the other way around";

/// How a rank lets another one know that it is done.
pub(super) fn signal_first(done: RankId, other: RankId) -> String {
    format!("let rank {} signal when it is done, and rank {} wait for that first", done.0, other.0)
}

impl<'a> Words<'a> {
    /// For a program whose memory is looked at by this grain.
    pub(super) fn new(program: &'a Program, grain: Grain) -> Words<'a> {
        let own = |op: &Op| !program.origins.is_library(program.origins.place(op.origin));
        Words {
            program,
            grain,
            relaxed: has_relaxed(program, &|_| true),
            own_relaxed: has_relaxed(program, &own),
        }
    }

    /// The report of a conflict.
    pub(super) fn report(&self, conflict: &Conflict) -> Diagnostic {
        match conflict.kind {
            Kind::Race => self.race(conflict),
            Kind::Threads => self.threads(conflict),
            Kind::Start => self.start(conflict),
            Kind::End => self.end(conflict),
            Kind::Unwritten => self.unwritten(conflict),
            Kind::Twice => self.twice(conflict),
            Kind::Launches => self.launches(conflict),
        }
    }

    fn race(&self, conflict: &Conflict) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        let place = self.place(conflict);
        let owner = conflict.place.rank;
        let message = match (first.rank == second.rank, first.rank == owner) {
            (true, true) => format!(
                "{} of rank {} {} {place} while {} may be {} it",
                self.agent(second),
                owner.0,
                does(second),
                self.agent(first),
                doing(first)
            ),
            (true, false) => format!(
                "{} of rank {} {} {place} of rank {} while {} of rank {} may be {} it",
                self.agent(second),
                second.rank.0,
                does(second),
                owner.0,
                self.agent(first),
                first.rank.0,
                doing(first)
            ),
            (false, _) => format!(
                "rank {} {} {} while rank {} may be {} it",
                second.rank.0,
                does(second),
                self.whose(conflict, second.rank),
                first.rank.0,
                doing(first)
            ),
        };
        let report = self.meeting(Code::E0501, conflict, message);
        let report = match (conflict.relaxed, self.relaxed) {
            (true, true) => {
                return report
                    .note("only a relaxed signal or wait, or packets, are between the two; they order execution, not memory")
                    .help(match self.own_relaxed {
                        true => "remove `relaxed` from the signal and the wait between the two",
                        false => "put a signal and a wait that are not relaxed between the two",
                    });
            }
            (true, false) => report.note(ONLY_PACKETS),
            (false, _) => report.note("nothing orders the two"),
        };
        let own = match first.write && second.write {
            true => "let each write a chunk of its own; or ",
            false => "",
        };
        report.help(if first.rank == second.rank {
            format!("{own}{}", self.handover(first, second))
        } else {
            format!("{own}{}{OTHER_WAY}", signal_first(first.rank, second.rank))
        })
    }

    /// How one agent of a rank tells another that it is done. Semaphores are for blocks: for a proxy, the block does it
    /// that hands the operation to the proxy.
    fn handover(&self, first: &Touch, second: &Touch) -> String {
        let done = match self.block(first) {
            Some(block) => {
                format!("let block `{}` release a semaphore when it is done", block.name)
            }
            None if puts_packets(first) => "let the block that puts wait for a signal in reply from the peer, and then release a semaphore"
                .to_owned(),
            None => "let the block that puts use `put_with_signal_and_flush`, and then release a semaphore"
                .to_owned(),
        };
        match (self.block(first), self.block(second)) {
            (Some(_), Some(block)) => {
                format!("{done}, and block `{}` acquire it first{OTHER_WAY}", block.name)
            }
            (None, Some(block)) => format!("{done}, and block `{}` acquire it first", block.name),
            (_, None) => format!("{done}, and the block that puts acquire it before it does"),
        }
    }

    fn threads(&self, conflict: &Conflict) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        let place = self.place(conflict);
        let what = match first.write && second.write {
            true => "both write".to_string(),
            false => format!("{} and {}", bare(first), bare(second)),
        };
        let message = format!(
            "threads of one block {what} {place} of rank {} without synchronizing in between",
            conflict.place.rank.0
        );
        self.meeting(Code::E0503, conflict, message)
            .note("an operation is spread over all threads of its block, and each thread continues as soon as its own part is done")
            .help("put `sync;` between the two, or leave synchronization inside blocks to the compiler")
    }

    fn start(&self, conflict: &Conflict) -> Diagnostic {
        let (before, touch) = (&conflict.first, &conflict.second);
        let owner = conflict.place.rank.0;
        let message = format!(
            "rank {} {} {} of rank {owner}, which may not have started",
            touch.rank.0,
            does(touch),
            self.place(conflict)
        );
        let report = self.alone(Code::E0510, touch, message);
        let report = match conflict.place.buffer {
            Buffer::Input | Buffer::Output => report.note(format!(
                "until rank {owner} starts, what ran there before may still use this memory"
            )),
            Buffer::Scratch if self.at(before) == self.at(touch) => report.note(format!(
                "until rank {owner} starts, rank {} may still be {} it in the previous launch",
                before.rank.0,
                doing(before)
            )),
            Buffer::Scratch => report.and(
                self.at(before),
                format!("{}, possibly still in the previous launch", self.label(before)),
            ),
        };
        report.help(match self.way(touch, conflict.place.rank) {
            Some(name) => format!(
                "wait for a signal from rank {owner} first, over `{name}`; `relaxed` is enough"
            ),
            None => format!("wait for a signal from rank {owner} first; `relaxed` is enough"),
        })
    }

    /// The channel over which an access's block waits for a rank, if the access itself goes through a switch, which has
    /// no signals.
    fn way(&self, touch: &Touch, owner: RankId) -> Option<&str> {
        let Action::Transfer(transfer) = &touch.op.action else { return None };
        let mut operands = transfer.sources.iter().chain(&transfer.destinations);
        let rank = self.program.ranks.lookup(touch.rank)?;
        let mut waited: Vec<ChannelId> = Vec::new();
        all_ops(&self.block(touch)?.ops).for_each(|op| {
            if let Action::Wait(signal) = &op.action {
                waited.extend(&signal.channels);
            }
        });
        let leads_there = |link: &Link| match link {
            Link::Memory(peer) | Link::Port(peer) => *peer == owner,
            Link::Switch(_) => false,
        };
        let mut channels = waited.into_iter().filter_map(|id| rank.channels.lookup(id));
        let channel = channels.find(|channel| leads_there(&channel.link));
        let through_switch = operands.any(|operand| matches!(operand.place, Where::Switch(_)));
        let name = channel.filter(|_| through_switch)?.name.split('[').next();
        name.filter(|_| matches!(self.at(touch).place, Place::Source(_)))
    }

    fn end(&self, conflict: &Conflict) -> Diagnostic {
        let touch = &conflict.first;
        let owner = conflict.place.rank.0;
        let place = self.place(conflict);
        let message = match touch.rank == conflict.place.rank {
            true => format!(
                "the proxy of rank {owner} may still be {} {place} when the kernel ends",
                doing(touch)
            ),
            false => format!(
                "rank {} may still be {} {place} of rank {owner} when its kernel ends",
                touch.rank.0,
                doing(touch)
            ),
        };
        let report = self.alone(Code::E0512, touch, message)
            .note(format!("rank {owner}'s user may overwrite its buffers, or read them, as soon as its kernel has ended"));
        match (touch.rank == conflict.place.rank, conflict.relaxed) {
            (true, _) => report.help(answer(touch)),
            (false, true) if self.relaxed => report
                .note("only a relaxed signal or wait, or packets, are in between; they order execution, not memory")
                .help(match self.own_relaxed {
                    true => "remove `relaxed` from the last signal and wait",
                    false => "let a signal and a wait that are not relaxed come last",
                }),
            (false, _) => report
                .help(format!("signal rank {owner} after this, and let it wait for that before it ends; both without `relaxed`")),
        }
    }

    fn unwritten(&self, conflict: &Conflict) -> Diagnostic {
        let touch = &conflict.first;
        let message = format!(
            "rank {} reads {}, which has not been written",
            touch.rank.0,
            self.whose(conflict, touch.rank)
        );
        self.alone(Code::E0520, touch, message)
            .note("it holds whatever was left there, by an earlier launch or by anything else")
            .help("write it first, in this launch, or read a chunk that is written")
    }

    fn twice(&self, conflict: &Conflict) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        let place = self.place(conflict);
        let message = format!(
            "two packets are written to {place} of rank {} in one launch",
            conflict.place.rank.0
        );
        self.meeting(Code::E0521, conflict, message)
            .note("both carry the flag of the launch, and the reader takes whichever it finds")
            .help(match first.rank == second.rank {
                true => "give each its own slot".to_string(),
                false => format!(
                    "give each rank that writes there a slot of its own on rank {}",
                    conflict.place.rank.0
                ),
            })
    }

    fn launches(&self, conflict: &Conflict) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        let launch = if self.program.options.double_scratch {
            "an earlier launch"
        } else {
            "the previous launch"
        };
        let message = format!(
            "rank {} {} {} while rank {} may still be {} it in {launch}",
            second.rank.0,
            does(second),
            self.whose(conflict, second.rank),
            first.rank.0,
            doing(first)
        );
        let report = self.meeting(Code::E0515, conflict, message).note(
            "scratch keeps its contents from launch to launch, and ranks do not start together",
        );
        if self.block(first).is_none() && first.rank == conflict.place.rank {
            return report.help(answer(first));
        }
        // The two halves of scratch are for packets.
        let doubled = match second.packet && !self.program.options.double_scratch {
            true => ", or set `double_scratch = true`",
            false => "",
        };
        // A signal at the end would do for launches of one size only.
        report.help(format!(
            "let rank {} signal when it begins, and rank {} wait for that before this; `relaxed` is enough{doubled}",
            first.rank.0, second.rank.0
        ))
    }

    /// A report of both accesses, the second one first.
    fn meeting(&self, code: Code, conflict: &Conflict, message: String) -> Diagnostic {
        let (first, second) = (&conflict.first, &conflict.second);
        Diagnostic::new(code, self.at(second), message)
            .label(self.label(second))
            .and(self.at(first), self.label(first))
    }

    /// A report of one access.
    fn alone(&self, code: Code, touch: &Touch, message: String) -> Diagnostic {
        Diagnostic::new(code, self.at(touch), message).label(self.label(touch))
    }

    fn at(&self, touch: &Touch) -> At {
        self.program.origins.at(touch.op.origin)
    }

    fn label(&self, touch: &Touch) -> String {
        let values = self.program.origins.values(touch.op.origin);
        let values =
            if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
        format!("rank {}, {}, {} it{values}", touch.rank.0, self.agent(touch), does(touch))
    }

    /// "block `main`", or "the proxy of a port channel" where the block has handed off the operation.
    fn agent(&self, touch: &Touch) -> String {
        match self.block(touch) {
            Some(block) => format!("block `{}`", block.name),
            None => "the proxy of a port channel".to_string(),
        }
    }

    /// The block of an access; none if a proxy makes it.
    fn block(&self, touch: &Touch) -> Option<&Block> {
        let ranks = &self.program.ranks;
        let before: usize =
            ranks.iter().take(touch.rank.index()).map(|rank| rank.blocks.len()).sum();
        let block = (touch.agent as usize).checked_sub(before).map(BlockId::from_index)?;
        ranks.lookup(touch.rank)?.blocks.lookup(block)
    }

    /// "its `output[3]`", "`output[3]` of rank 1", as seen from a rank.
    fn whose(&self, conflict: &Conflict, from: RankId) -> String {
        let owner = conflict.place.rank;
        let place = self.place(conflict);
        if owner == from { format!("its {place}") } else { format!("{place} of rank {}", owner.0) }
    }

    /// "`output[3]`", by the name that the author uses.
    fn place(&self, conflict: &Conflict) -> String {
        let (buffer, cell) = conflict.said(self.program, self.grain);
        let chunk = self.grain.chunk(cell);
        names::chunk(self.program, conflict.place.rank, buffer, chunk)
    }
}

/// Whether a signal or wait among some operations is relaxed.
fn has_relaxed(program: &Program, among: &dyn Fn(&Op) -> bool) -> bool {
    let mut found = false;
    for block in program.ranks.iter().flat_map(|rank| &rank.blocks) {
        all_ops(&block.ops).for_each(|op| {
            found |= matches!(&op.action, Action::Signal(list) | Action::Wait(list) if list.relaxed)
                && among(op);
        });
    }
    found
}

/// Whether what a proxy does puts packets, which a put with a flush cannot.
fn puts_packets(asked: &Touch) -> bool {
    asked.op.transfer().is_some_and(|put| put.verb == Verb::ReadPutPackets)
}

/// How a block learns that a proxy has carried out what the block asked of it.
fn answer(asked: &Touch) -> &'static str {
    match puts_packets(asked) {
        true => {
            "wait for a signal in reply from the peer, without `relaxed`, or, in a kernel, `flush` the channel"
        }
        false => {
            "use `put_with_signal_and_flush`, or wait for a signal in reply from the peer, without `relaxed`"
        }
    }
}

fn does(touch: &Touch) -> &'static str {
    if touch.write { "writes" } else { "reads" }
}

fn doing(touch: &Touch) -> &'static str {
    if touch.write { "writing" } else { "reading" }
}

fn bare(touch: &Touch) -> &'static str {
    debug_assert!(
        matches!(touch.op.action, Action::Transfer(_)),
        "only data operations touch memory"
    );
    if touch.write { "write" } else { "read" }
}
