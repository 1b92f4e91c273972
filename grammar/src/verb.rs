//! The verbs that move data: one row each, with all that follows from the verb alone.
//!
//! The parser, resolution, elaboration, the checks, the passes, the reading and writing of plans, the reference and the
//! editors read these rows. What an operation does beyond that (how it is joined with another, which faults an executor
//! has with it) stands where it is decided.

/// Makes the enum, and its rows, from one line per verb.
macro_rules! verbs {
    ($($(#[$doc:meta])* $verb:ident = $row:ident,)*) => {
        /// The verbs that move data, as in the language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verb {
            $($(#[$doc])* $verb,)*
        }

        impl Verb {
            /// Every verb, in the order of the reference.
            pub const ALL: &[Verb] = &[$(Verb::$verb,)*];

            /// All that follows from the verb alone.
            #[must_use]
            pub const fn row(self) -> &'static VerbRow {
                match self {
                    $(Verb::$verb => &$row,)*
                }
            }
        }
    };
}

verbs! {
    /// Local to local.
    Copy = COPY,
    /// Local to peer.
    Put = PUT,
    /// Local to peer over a port, then a signal.
    PutWithSignal = PUT_WITH_SIGNAL,
    /// Local to peer over a port, then a signal, then a flush.
    PutWithSignalAndFlush = PUT_WITH_SIGNAL_AND_FLUSH,
    /// Peer to local.
    Get = GET,
    /// Combines sources.
    Reduce = REDUCE,
    /// Stores to every rank of a switch channel's group.
    Broadcast = BROADCAST,
    /// Plain data into packets of a peer's scratch.
    PutPackets = PUT_PACKETS,
    /// Packets into packets of a peer's scratch.
    ReadPutPackets = READ_PUT_PACKETS,
    /// Plain data into packets of local scratch.
    CopyPackets = COPY_PACKETS,
    /// Packets into plain data.
    UnpackPackets = UNPACK_PACKETS,
    /// Combines plain data (the first source) with packets (the others); the first destination is plain, the others
    /// are packets.
    ReducePackets = REDUCE_PACKETS,
    /// Packets stored to every rank of a switch channel's group.
    BroadcastPackets = BROADCAST_PACKETS,
}

/// What follows from a verb alone.
#[derive(Debug)]
pub struct VerbRow {
    /// How an author writes it.
    pub word: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// A statement that begins with it.
    pub example: &'static str,
    /// What is to the left of the arrow.
    pub sources: OperandRule,
    /// What is to the right of the arrow.
    pub destinations: OperandRule,
    /// The kinds of channels that data go over.
    pub channels: &'static [ChannelKind],
    /// Which sources go to which destinations.
    pub pairing: Pairing,
    /// What it does after the data.
    pub completion: Completion,
    /// How the threads of a block share the elements of an operation without an operand behind a switch.
    pub share: Share,
    /// The verb that does the same in the other direction.
    pub reverse: Option<Verb>,
    /// The operations of a plan that it becomes, the simplest first: where there are several, the operands say which.
    pub plan: &'static [PlanForm],
}

/// What the operands on one side of an operation are.
#[derive(Debug)]
pub struct OperandRule {
    /// The first operand.
    pub first: OperandKind,
    /// The operands after it.
    pub others: OperandKind,
    /// Whose memory all of them may be in where a source is the memory behind a switch channel.
    pub with_group: &'static [OperandSide],
}

/// What an operand is.
#[derive(Clone, Copy, Debug)]
pub struct OperandKind {
    /// Whose memory it may be in, in the order in which a report names them.
    pub sides: &'static [OperandSide],
    /// What lies there.
    pub form: OperandForm,
}

/// Whose memory an operand is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandSide {
    /// This rank's.
    Local,
    /// Another rank's.
    Remote,
    /// The memory of the group behind a switch channel.
    Switch,
}

/// What lies in an operand's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandForm {
    /// The data alone.
    Plain,
    /// Packets, which hold flags between the data: twice the size, and only in scratch.
    Packets,
}

/// The kinds of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelKind {
    /// To a peer's memory, which is mapped.
    Memory,
    /// To a peer, through a proxy thread on the host.
    Port,
    /// To the same buffer of every rank of a group, through the switch.
    Switch,
}

/// When a verb needs channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelNeed {
    /// Always.
    Always,
    /// Never.
    Never,
    /// If an operand is another rank's memory.
    WhereRemote,
}

/// Which sources go to which destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// Source k goes to destination k. A single source goes to all destinations: it is read once for each.
    Pairs,
    /// The same, but a single source is read once for all destinations.
    OneToAll,
    /// All sources are combined, and the result goes to every destination.
    Combine,
}

/// What a verb does after its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// Nothing.
    Nothing,
    /// A signal to the other end of each channel, after the data.
    Signal,
    /// That signal; then it waits until its request is complete.
    SignalAndFlush,
}

/// How the elements of an operation fall to the threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// 16 bytes each.
    Wide,
    /// One packet's payload each.
    Payload,
    /// Otherwise, or not by threads: never known to be the same thread's.
    Other,
}

/// An operation of a plan, and the operands with which a verb becomes it.
#[derive(Debug)]
pub struct PlanForm {
    /// Its name in a plan.
    pub name: &'static str,
    /// Whose memory its sources are in: two members for one that is not like the first.
    pub sources: &'static [OperandSide],
    /// Whose memory its destinations are in.
    pub destinations: &'static [OperandSide],
    /// Whether an executor has it.
    pub support: PlanSupport,
}

/// Whether an executor has an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSupport {
    /// It does.
    Executed,
    /// It has only one that does this and more; the text says which, and is what the reference shows.
    Joined(&'static str),
}

impl OperandRule {
    /// What the operand at a position is.
    #[must_use]
    pub const fn kind(&self, index: usize) -> &OperandKind {
        match index {
            0 => &self.first,
            _ => &self.others,
        }
    }

    /// Whose memory the operand at a position may be in; `has_group` says that a source is the memory behind a switch
    /// channel.
    #[must_use]
    pub const fn sides(&self, index: usize, has_group: bool) -> &'static [OperandSide] {
        if has_group { self.with_group } else { self.kind(index).sides }
    }

    /// Whether every operand is away from this rank.
    #[must_use]
    pub fn is_away(&self) -> bool {
        !self.first.sides.contains(&OperandSide::Local)
    }

    /// Whether any operand is packets.
    #[must_use]
    pub fn has_packets(&self) -> bool {
        [self.first, self.others].iter().any(|kind| kind.form == OperandForm::Packets)
    }

    fn allows_remote(&self) -> bool {
        [self.first, self.others].iter().any(|kind| kind.sides.contains(&OperandSide::Remote))
    }
}

impl VerbRow {
    /// When it needs channels.
    #[must_use]
    pub fn channel_need(&self) -> ChannelNeed {
        let rules = [&self.sources, &self.destinations];
        if rules.iter().any(|rule| rule.first.sides == [OperandSide::Remote]) {
            ChannelNeed::Always
        } else if rules.iter().any(|rule| rule.allows_remote()) {
            ChannelNeed::WhereRemote
        } else {
            ChannelNeed::Never
        }
    }
}

impl Verb {
    /// The verb that a word is.
    #[must_use]
    pub fn find(word: &str) -> Option<Verb> {
        Verb::ALL.iter().copied().find(|verb| verb.row().word == word)
    }

    /// The verb as an author writes it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// What source `index` is read as.
    #[must_use]
    pub const fn source_form(self, index: usize) -> OperandForm {
        self.row().sources.kind(index).form
    }

    /// What destination `index` is written as.
    #[must_use]
    pub const fn destination_form(self, index: usize) -> OperandForm {
        self.row().destinations.kind(index).form
    }

    /// Whether it sends a signal after the data.
    #[must_use]
    pub const fn signals(self) -> bool {
        match self.row().completion {
            Completion::Nothing => false,
            Completion::Signal | Completion::SignalAndFlush => true,
        }
    }

    /// Whether it waits until its request is complete.
    #[must_use]
    pub const fn flushes(self) -> bool {
        match self.row().completion {
            Completion::Nothing | Completion::Signal => false,
            Completion::SignalAndFlush => true,
        }
    }

    /// Whether everything that is read is combined, and every destination gets the result.
    #[must_use]
    pub const fn reduces(self) -> bool {
        match self.row().pairing {
            Pairing::Combine => true,
            Pairing::Pairs | Pairing::OneToAll => false,
        }
    }

    /// Whether any operand is packets.
    #[must_use]
    pub fn moves_packets(self) -> bool {
        self.row().sources.has_packets() || self.row().destinations.has_packets()
    }
}

impl ChannelKind {
    /// The kind of channel that this function declares.
    #[must_use]
    pub fn find(word: &str) -> Option<ChannelKind> {
        let kinds = [ChannelKind::Memory, ChannelKind::Port, ChannelKind::Switch];
        kinds.into_iter().find(|kind| kind.word() == word)
    }

    /// The function that declares it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ChannelKind::Memory => "memory",
            ChannelKind::Port => "port",
            ChannelKind::Switch => "switch",
        }
    }

    /// With its article.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            ChannelKind::Memory => "a memory channel",
            ChannelKind::Port => "a port channel",
            ChannelKind::Switch => "a switch channel",
        }
    }
}

/// Operands that are all alike.
const fn alike(sides: &'static [OperandSide], form: OperandForm) -> OperandRule {
    let kind = OperandKind { sides, form };
    OperandRule { first: kind, others: kind, with_group: sides }
}

/// The one operation of a plan that a verb becomes.
const fn named(
    name: &'static str,
    sources: &'static [OperandSide],
    destinations: &'static [OperandSide],
) -> PlanForm {
    PlanForm { name, sources, destinations, support: PlanSupport::Executed }
}

const HERE: &[OperandSide] = &[OperandSide::Local];
const AT_PEER: &[OperandSide] = &[OperandSide::Remote];
const IN_GROUP: &[OperandSide] = &[OperandSide::Switch];
/// One operand of this rank, and one of a peer.
const HERE_AND_AT_PEER: &[OperandSide] = &[OperandSide::Local, OperandSide::Remote];

const COPY: VerbRow = VerbRow {
    word: "copy",
    doc: "copies chunks inside a rank",
    example: "copy a -> b;",
    sources: alike(HERE, OperandForm::Plain),
    destinations: alike(HERE, OperandForm::Plain),
    channels: &[],
    pairing: Pairing::Pairs,
    completion: Completion::Nothing,
    share: Share::Wide,
    reverse: None,
    plan: &[named("copy", HERE, HERE)],
};

const PUT: VerbRow = VerbRow {
    word: "put",
    doc: "writes chunks to a peer, over a memory or port channel",
    example: "put a -> p.b via c;",
    sources: alike(HERE, OperandForm::Plain),
    destinations: alike(AT_PEER, OperandForm::Plain),
    channels: &[ChannelKind::Memory, ChannelKind::Port],
    pairing: Pairing::Pairs,
    completion: Completion::Nothing,
    share: Share::Wide,
    reverse: Some(Verb::Get),
    plan: &[named("put", HERE, AT_PEER)],
};

const PUT_WITH_SIGNAL: VerbRow = VerbRow {
    word: "put_with_signal",
    doc: "writes chunks to a peer over a port channel, then signals",
    example: "put_with_signal a -> p.b via c;",
    sources: alike(HERE, OperandForm::Plain),
    destinations: alike(AT_PEER, OperandForm::Plain),
    channels: &[ChannelKind::Port],
    pairing: Pairing::Pairs,
    completion: Completion::Signal,
    share: Share::Other,
    reverse: None,
    plan: &[named("pws", HERE, AT_PEER)],
};

const PUT_WITH_SIGNAL_AND_FLUSH: VerbRow = VerbRow {
    word: "put_with_signal_and_flush",
    doc: "writes chunks to a peer over a port channel, signals, and waits until the source may be reused",
    example: "put_with_signal_and_flush a -> p.b via c;",
    sources: alike(HERE, OperandForm::Plain),
    destinations: alike(AT_PEER, OperandForm::Plain),
    channels: &[ChannelKind::Port],
    pairing: Pairing::Pairs,
    completion: Completion::SignalAndFlush,
    share: Share::Other,
    reverse: None,
    plan: &[named("pwsf", HERE, AT_PEER)],
};

const GET: VerbRow = VerbRow {
    word: "get",
    doc: "reads chunks from a peer over a memory channel",
    example: "get p.a -> b via c;",
    sources: alike(AT_PEER, OperandForm::Plain),
    destinations: alike(HERE, OperandForm::Plain),
    channels: &[ChannelKind::Memory],
    pairing: Pairing::Pairs,
    completion: Completion::Nothing,
    share: Share::Wide,
    reverse: Some(Verb::Put),
    plan: &[named("get", AT_PEER, HERE)],
};

const REDUCE: VerbRow = VerbRow {
    word: "reduce",
    doc: "combines chunks of this rank and of peers",
    example: "reduce a, b -> c;",
    sources: OperandRule {
        with_group: &[OperandSide::Switch, OperandSide::Local, OperandSide::Remote],
        ..alike(&[OperandSide::Local, OperandSide::Remote, OperandSide::Switch], OperandForm::Plain)
    },
    destinations: OperandRule {
        first: OperandKind { sides: HERE, form: OperandForm::Plain },
        others: OperandKind { sides: HERE_AND_AT_PEER, form: OperandForm::Plain },
        with_group: &[OperandSide::Local, OperandSide::Switch],
    },
    channels: &[ChannelKind::Memory],
    pairing: Pairing::Combine,
    completion: Completion::Nothing,
    share: Share::Wide,
    reverse: None,
    plan: &[
        named("re", HERE, HERE),
        named("rre", HERE_AND_AT_PEER, HERE),
        named("res", HERE, HERE_AND_AT_PEER),
        named("rres", HERE_AND_AT_PEER, HERE_AND_AT_PEER),
        PlanForm {
            name: "glre",
            sources: IN_GROUP,
            destinations: HERE,
            support: PlanSupport::Joined("`glres`, with the `broadcast` that follows"),
        },
        named("glres", IN_GROUP, IN_GROUP),
    ],
};

const BROADCAST: VerbRow = VerbRow {
    word: "broadcast",
    doc: "stores chunks to every rank of a switch channel",
    example: "broadcast a -> nvls.b;",
    sources: alike(HERE, OperandForm::Plain),
    destinations: alike(IN_GROUP, OperandForm::Plain),
    channels: &[ChannelKind::Switch],
    pairing: Pairing::OneToAll,
    completion: Completion::Nothing,
    share: Share::Other,
    reverse: None,
    plan: &[named("gstore", HERE, IN_GROUP)],
};

const PUT_PACKETS: VerbRow = VerbRow {
    word: "put_packets",
    doc: "writes chunks as packets into a peer's scratch",
    example: "put_packets a -> p.b via c;",
    sources: alike(HERE, OperandForm::Plain),
    destinations: alike(AT_PEER, OperandForm::Packets),
    channels: &[ChannelKind::Memory],
    pairing: Pairing::Pairs,
    completion: Completion::Nothing,
    share: Share::Payload,
    reverse: None,
    plan: &[named("ppkt", HERE, AT_PEER)],
};

const READ_PUT_PACKETS: VerbRow = VerbRow {
    word: "read_put_packets",
    doc: "forwards packets from scratch to a peer's scratch",
    example: "read_put_packets a -> p.b via c;",
    sources: alike(HERE, OperandForm::Packets),
    destinations: alike(AT_PEER, OperandForm::Packets),
    channels: &[ChannelKind::Memory, ChannelKind::Port],
    pairing: Pairing::OneToAll,
    completion: Completion::Nothing,
    share: Share::Payload,
    reverse: None,
    plan: &[named("rppkt", HERE, AT_PEER)],
};

const COPY_PACKETS: VerbRow = VerbRow {
    word: "copy_packets",
    doc: "writes chunks as packets into this rank's scratch",
    example: "copy_packets a -> b;",
    sources: alike(HERE, OperandForm::Plain),
    destinations: alike(HERE, OperandForm::Packets),
    channels: &[],
    pairing: Pairing::Pairs,
    completion: Completion::Nothing,
    share: Share::Payload,
    reverse: None,
    plan: &[named("cpkt", HERE, HERE)],
};

const UNPACK_PACKETS: VerbRow = VerbRow {
    word: "unpack_packets",
    doc: "reads packets from scratch into plain chunks",
    example: "unpack_packets a -> b;",
    sources: alike(HERE, OperandForm::Packets),
    destinations: alike(HERE, OperandForm::Plain),
    channels: &[],
    pairing: Pairing::Pairs,
    completion: Completion::Nothing,
    share: Share::Payload,
    reverse: None,
    plan: &[named("upkt", HERE, HERE)],
};

const REDUCE_PACKETS: VerbRow = VerbRow {
    word: "reduce_packets",
    doc: "combines plain chunks with packets",
    example: "reduce_packets a, b -> c;",
    sources: OperandRule {
        first: OperandKind { sides: HERE, form: OperandForm::Plain },
        others: OperandKind { sides: HERE, form: OperandForm::Packets },
        with_group: HERE,
    },
    destinations: OperandRule {
        first: OperandKind { sides: HERE, form: OperandForm::Plain },
        others: OperandKind { sides: HERE_AND_AT_PEER, form: OperandForm::Packets },
        with_group: HERE,
    },
    channels: &[ChannelKind::Memory],
    pairing: Pairing::Combine,
    completion: Completion::Nothing,
    share: Share::Payload,
    reverse: None,
    plan: &[
        named("repkt", &[OperandSide::Local, OperandSide::Local], HERE),
        named(
            "recpkt",
            &[OperandSide::Local, OperandSide::Local],
            &[OperandSide::Local, OperandSide::Local],
        ),
        named("respkt", &[OperandSide::Local, OperandSide::Local], HERE_AND_AT_PEER),
        named(
            "recspkt",
            &[OperandSide::Local, OperandSide::Local],
            &[OperandSide::Local, OperandSide::Local, OperandSide::Remote],
        ),
    ],
};

const BROADCAST_PACKETS: VerbRow = VerbRow {
    word: "broadcast_packets",
    doc: "stores packets to every rank of a switch channel",
    example: "broadcast_packets a -> nvls.b;",
    sources: alike(HERE, OperandForm::Packets),
    destinations: alike(IN_GROUP, OperandForm::Packets),
    channels: &[ChannelKind::Switch],
    pairing: Pairing::OneToAll,
    completion: Completion::Nothing,
    share: Share::Payload,
    reverse: None,
    plan: &[named("gstorepkt", HERE, IN_GROUP)],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_and_examples_begin_with_them() {
        for verb in Verb::ALL {
            assert_eq!(Verb::find(verb.word()), Some(*verb));
            let (head, rest) = verb.row().example.split_once(' ').unwrap();
            assert_eq!(head, verb.word());
            assert!(rest.ends_with(';'), "{rest}");
        }
        assert_eq!(Verb::find("input"), None);
    }

    #[test]
    fn a_verb_and_its_reverse_are_each_others() {
        for verb in Verb::ALL {
            let Some(reverse) = verb.row().reverse else { continue };
            let (row, back) = (verb.row(), reverse.row());
            assert_eq!(back.reverse, Some(*verb));
            assert_eq!(row.sources.first.sides, back.destinations.first.sides);
            assert_eq!(row.destinations.first.sides, back.sources.first.sides);
        }
    }

    #[test]
    fn the_parts_of_a_row_agree() {
        for verb in Verb::ALL {
            let row = verb.row();
            let names_channels = row.channel_need() != ChannelNeed::Never;
            let to_peers = row.channels.iter().any(|kind| *kind != ChannelKind::Switch);
            assert_eq!(names_channels, to_peers, "{verb:?}: {:?}", row.channels);
            // Only a proxy signals behind data.
            assert!(!verb.signals() || row.channels == [ChannelKind::Port], "{verb:?}");
            assert!(verb.signals() || !verb.flushes(), "{verb:?}");
            assert_eq!(verb.moves_packets(), row.share == Share::Payload, "{verb:?}");
            assert!(!row.plan.is_empty(), "{verb:?}");
            for form in row.plan {
                for (rule, sides) in
                    [(&row.sources, form.sources), (&row.destinations, form.destinations)]
                {
                    let allowed = |at: usize, side: &OperandSide| {
                        rule.kind(at).sides.contains(side) || rule.with_group.contains(side)
                    };
                    assert!(!sides.is_empty(), "{verb:?}: {}", form.name);
                    assert!(sides.iter().enumerate().all(|(at, side)| allowed(at, side)));
                }
            }
        }
    }

    #[test]
    fn packets_are_where_the_reference_has_scratch() {
        let form = |verb: Verb, at| [verb.source_form(at), verb.destination_form(at)];
        assert_eq!(form(Verb::ReducePackets, 0), [OperandForm::Plain; 2]);
        assert_eq!(form(Verb::ReducePackets, 1), [OperandForm::Packets; 2]);
        assert_eq!(form(Verb::PutPackets, 0), [OperandForm::Plain, OperandForm::Packets]);
        assert_eq!(form(Verb::UnpackPackets, 3), [OperandForm::Packets, OperandForm::Plain]);
        assert_eq!(form(Verb::Reduce, 1), [OperandForm::Plain; 2]);
    }
}
