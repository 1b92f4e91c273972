//! Operations. In: a statement. Out: a resolved one whose operands, channels and modifiers fit its verb.
//!
//! Sides and modifiers: E0214. Kinds of channels: E0209. Packets are in scratch only: E0210. Values whose
//! properties are not known before evaluation (a procedure's parameters) are not checked here.

use super::body::Body;
use super::call::given_twice;
use super::name::meant;
use super::program::{
    BufferName, Builtin, Expr, ExprKind, Op, Operand, Sync, Synchronise, Transfer,
};
use super::stmt::Operated;
use super::types::Ty;
use super::verb::{OPS, SYNCS, list_links, op_word, sync_word, synchronise_word};
use super::via::{Channels, Way, owner};
use crate::diagnostic::{Certainty, Code, Diagnostic, Edit, Fix, nearest};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::SynchroniseVerb;
use grammar::verb::{ChannelKind, ChannelNeed, OperandForm, OperandSide, Verb};

/// The modifiers of an operation.
#[derive(Default)]
struct Words {
    relaxed: Option<Span>,
    op: Option<(Op, Span)>,
    sync: Option<(Sync, Span)>,
    slice: Option<(Expr, Expr)>,
}

impl Body<'_> {
    /// An operation that moves data.
    pub(super) fn transfer(&mut self, transfer: &ast::Transfer) -> Transfer {
        let sources = self.operands(&transfer.sources, &Ty::Chunk);
        let destinations = self.operands(&transfer.destinations, &Ty::Chunk);
        let via = self.operands(&transfer.via, &Ty::Channel);
        let mut words = self.words(&transfer.modifiers);
        let verb = transfer.verb;
        if let Some(span) = words.relaxed.take() {
            self.report(relaxed_transfer(verb, span));
        }
        if let Some((_, span)) = words.op
            && !verb.reduces()
        {
            self.report(op_without_reduction(verb, span));
        }
        let wrong_links: Vec<Diagnostic> =
            via.iter().filter_map(|channel| self.check_link(verb, channel)).collect();
        let linked = wrong_links.is_empty();
        let sound = self.check_sides(transfer, &sources, &destinations, &via, linked);
        // What goes over another kind of channel may need no packets.
        if linked {
            self.check_packets(verb, &sources, &destinations, &sound);
        }
        self.reports.extend(wrong_links);
        Transfer {
            verb,
            verb_span: transfer.verb_span,
            sources: bare(sources),
            destinations: bare(destinations),
            via: bare(via),
            op: words.op,
            sync: words.sync.map(|(sync, _)| sync),
            slice: words.slice,
        }
    }

    /// An operation on channels or semaphores.
    pub(super) fn synchronise(&mut self, synchronise: &ast::Synchronise) -> Synchronise {
        let verb = synchronise.verb;
        let want = match verb {
            SynchroniseVerb::Signal | SynchroniseVerb::Wait | SynchroniseVerb::Flush => Ty::Channel,
            SynchroniseVerb::Acquire | SynchroniseVerb::Release => Ty::Semaphore,
        };
        let operands = self.operands(&synchronise.operands, &want);
        let words = self.words(&synchronise.modifiers);
        if let Some(span) = words.relaxed
            && !matches!(verb, SynchroniseVerb::Signal | SynchroniseVerb::Wait)
        {
            self.report(relaxed_elsewhere(synchronise_word(verb), span));
        }
        if let Some((_, span)) = words.op {
            self.report(word_elsewhere("op", synchronise_word(verb), span));
        }
        if let Some((slice, _)) = &words.slice {
            self.report(word_elsewhere("slice", synchronise_word(verb), slice.span));
        }
        for operand in &operands {
            self.check_synchronised(verb, operand);
        }
        Synchronise {
            verb,
            verb_span: synchronise.verb_span,
            operands: bare(operands),
            relaxed: words.relaxed,
            sync: words.sync.map(|(sync, _)| sync),
        }
    }

    fn words(&mut self, modifiers: &[ast::Modifier]) -> Words {
        let mut words = Words::default();
        for modifier in modifiers {
            let twice = match modifier {
                ast::Modifier::Relaxed(span) => {
                    words.relaxed.replace(*span).map(|first| ("relaxed", *span, first))
                }
                ast::Modifier::Op(name) => match op_word(&name.text) {
                    Some(op) => {
                        let first = words.op.replace((op, name.span));
                        first.map(|(_, first)| ("op", name.span, first))
                    }
                    None => {
                        self.report(unknown_word("op", name, &OPS));
                        None
                    }
                },
                ast::Modifier::Sync(name) => match sync_word(&name.text) {
                    Some(sync) => {
                        let first = words.sync.replace((sync, name.span));
                        first.map(|(_, first)| ("sync", name.span, first))
                    }
                    None => {
                        self.report(unknown_word("sync", name, &SYNCS));
                        None
                    }
                },
                ast::Modifier::Slice(index, count) => {
                    let slice = (self.expect(index, &Ty::Int), self.expect(count, &Ty::Int));
                    let place = slice.0.span;
                    words.slice.replace(slice).map(|(first, _)| ("slice", place, first.span))
                }
            };
            if let Some((word, second, first)) = twice {
                self.report(given_twice(word, second, first));
            }
        }
        words
    }

    /// Checks whose memory each operand is in, and whether there is a channel; one that is superfluous is not reported
    /// unless all are `linked`, of a kind that the verb can use. Returns the operands that are on a side that the verb
    /// allows, or on an unknown one.
    fn check_sides(
        &mut self,
        transfer: &ast::Transfer,
        sources: &[Operated],
        destinations: &[Operated],
        via: &[Operated],
        linked: bool,
    ) -> Vec<Span> {
        let verb = transfer.verb;
        if let Some(report) = backwards(transfer, sources, destinations) {
            self.report(report);
            return Vec::new();
        }
        let group = sources.iter().find(|source| source.nature.side == Some(OperandSide::Switch));
        let mut sound = Vec::new();
        for (position, source) in sources.iter().enumerate() {
            let allowed = verb.row().sources.sides(position, group.is_some());
            self.check_side(verb, source, allowed, "reads", position, &mut sound);
        }
        for (position, destination) in destinations.iter().enumerate() {
            let allowed = verb.row().destinations.sides(position, group.is_some());
            self.check_side(verb, destination, allowed, "writes", position, &mut sound);
        }
        if let Some(group) = group
            && verb == Verb::Reduce
            && sources.len() > 1
        {
            self.report(group_among_sources(group.span));
        }
        let operands = || sources.iter().chain(destinations);
        if sound.len() < operands().count() {
            return sound;
        }
        let remote: Vec<&Operated> =
            operands().filter(|operand| operand.nature.side == Some(OperandSide::Remote)).collect();
        let unknown = operands().any(|operand| operand.nature.side.is_none());
        let switched = operands().any(|operand| operand.nature.side == Some(OperandSide::Switch));
        match (verb.row().channel_need(), remote.first()) {
            (ChannelNeed::Always, _) | (ChannelNeed::WhereRemote, Some(_)) if via.is_empty() => {
                let end = destinations.last().map(|last| self.with_parentheses(last.span));
                let way = self.way_to(verb, &remote);
                self.use_suggested_channels(verb);
                self.report(missing_via(transfer, remote.first().copied(), way, end));
            }
            (ChannelNeed::Never, _) => {
                if let Some(channel) = via.first() {
                    self.report(needless_via(verb, channel.span, switched));
                }
            }
            (ChannelNeed::WhereRemote, None) if !unknown && linked => {
                if let Some(channel) = via.first() {
                    self.report(needless_via(verb, channel.span, switched));
                }
            }
            (ChannelNeed::Always | ChannelNeed::WhereRemote, _) => {}
        }
        sound
    }

    fn check_side(
        &mut self,
        verb: Verb,
        operand: &Operated,
        allowed: &[OperandSide],
        does: &str,
        position: usize,
        sound: &mut Vec<Span>,
    ) {
        if operand.wrong {
            return;
        }
        match operand.nature.side {
            Some(side) if !allowed.contains(&side) => {
                let text = self.text(operand.span);
                let report = match self
                    .own_memory(operand)
                    .filter(|_| allowed.contains(&OperandSide::Local))
                {
                    Some(edit) => rank_in_front(&text, operand.span, edit),
                    None => wrong_side(verb, &text, operand.span, side, allowed, does, position),
                };
                self.report(report);
            }
            Some(_) | None => sound.push(operand.span),
        }
    }

    /// For an operand that is written as memory of `rank`, which is this rank: the edit that leaves `rank.` out.
    fn own_memory(&self, operand: &Operated) -> Option<Edit> {
        let Operand::One(chunk) = &operand.operand else { return None };
        let (rank, buffer) = owner(chunk)?;
        let is_own = matches!(rank.kind, ExprKind::Builtin(Builtin::Rank, None));
        let span = Span { end: buffer.span.start, ..rank.span };
        is_own.then(|| Edit { span, text: String::new() })
    }

    fn check_packets(
        &mut self,
        verb: Verb,
        sources: &[Operated],
        destinations: &[Operated],
        sound: &[Span],
    ) {
        let is_packets = |form: OperandForm| form == OperandForm::Packets;
        let sources = sources.iter().enumerate();
        let sources = sources.filter(|(i, _)| is_packets(verb.source_form(*i)));
        let destinations = destinations.iter().enumerate();
        let destinations = destinations.filter(|(i, _)| is_packets(verb.destination_form(*i)));
        for (operand, does) in
            sources.map(|(_, o)| (o, "reads")).chain(destinations.map(|(_, o)| (o, "writes")))
        {
            let outside =
                matches!(operand.nature.buffer, Some(BufferName::Input | BufferName::Output));
            if outside && sound.contains(&operand.span) {
                let text = self.text(operand.span);
                self.report(packets_outside_scratch(verb, &text, operand.span, does));
            }
        }
    }

    /// The report about a channel of a kind over which the verb moves nothing.
    fn check_link(&self, verb: Verb, channel: &Operated) -> Option<Diagnostic> {
        let link = channel.nature.link?;
        let kinds = list_links(verb);
        let fits = kinds.is_empty() || kinds.contains(&link);
        let text = self.text(channel.span);
        (!fits).then(|| wrong_link(verb, &text, channel.span, link, kinds))
    }

    fn check_synchronised(&mut self, verb: SynchroniseVerb, operand: &Operated) {
        let Some(link) = operand.nature.link else { return };
        let fits = match verb {
            SynchroniseVerb::Signal | SynchroniseVerb::Wait => link != ChannelKind::Switch,
            SynchroniseVerb::Flush => link == ChannelKind::Port,
            SynchroniseVerb::Acquire | SynchroniseVerb::Release => true,
        };
        if !fits {
            let text = self.text(operand.span);
            self.report(wrong_synchronisation(verb, &text, operand.span, link));
        }
    }
}

fn bare(operands: Vec<Operated>) -> Vec<Operand> {
    operands.into_iter().map(|operand| operand.operand).collect()
}

fn whose(side: OperandSide) -> &'static str {
    match side {
        OperandSide::Local => "this rank's memory",
        OperandSide::Remote => "another rank's memory",
        OperandSide::Switch => "the group's memory behind a switch channel",
    }
}

fn wrong_side(
    verb: Verb,
    text: &str,
    span: Span,
    side: OperandSide,
    allowed: &[OperandSide],
    does: &str,
    position: usize,
) -> Diagnostic {
    let first = if allowed.len() == 1 && verb.reduces() && position == 0 { " first" } else { "" };
    let wanted = allowed.iter().map(|side| whose(*side)).collect::<Vec<_>>().join(" or ");
    let message = format!("`{}` {does} {wanted}{first}; {text} is {}", verb.word(), whose(side));
    let report = Diagnostic::new(Code::E0214, span, message);
    match (verb, side, does) {
        (Verb::Copy, OperandSide::Remote, "writes") => {
            report.help("to write a peer's memory: `put a -> p.b via channel`")
        }
        (Verb::Copy, OperandSide::Remote, _) => {
            report.help("to read a peer's memory: `get p.a -> b via channel`")
        }
        (_, OperandSide::Switch, "reads") => report.help("`reduce nvls.input[i] -> b` reads it"),
        (_, OperandSide::Switch, _) => report.help("`broadcast a -> nvls.input[i]` writes it"),
        (Verb::Get, OperandSide::Remote, "writes") => {
            report.help("to write a peer's memory: `put a -> p.b via channel`")
        }
        (_, OperandSide::Remote, "reads") => {
            report.help("to read a peer's memory: `get p.a -> b via channel`")
        }
        (_, OperandSide::Local, "writes") if allowed.contains(&OperandSide::Remote) => {
            report.help("write the peer in front of its buffer: `p.output[i]`")
        }
        (Verb::Get, OperandSide::Local, _) => {
            report.help("write the peer in front of its buffer: `p.input[i]`")
        }
        (Verb::Broadcast, OperandSide::Local, _) => report.help(
            "within a rank, use `copy a -> b`; a group's buffer has its switch channel in front",
        ),
        (_, OperandSide::Remote, "writes") if verb.reduces() => {
            report.help("name a chunk of this rank first, then a peer's, which gets the same value")
        }
        (_, OperandSide::Remote, "writes") => {
            report.help("to write a peer's memory: `put a -> p.b via channel`")
        }
        _ => report,
    }
}

fn rank_in_front(text: &str, span: Span, edit: Edit) -> Diagnostic {
    let message = format!("{text} is written as another rank's memory, but `rank` is this rank");
    Diagnostic::new(Code::E0214, span, message).fix("remove `rank.`", vec![edit])
}

/// A `put` that should be a `get`, or a `get` that should be a `put`: one mistake, not two.
fn backwards(
    transfer: &ast::Transfer,
    sources: &[Operated],
    destinations: &[Operated],
) -> Option<Diagnostic> {
    let row = transfer.verb.row();
    let instead = row.reverse?;
    let (from, to) = (row.destinations.first.sides, row.sources.first.sides);
    let does = if row.destinations.is_away() { "writes" } else { "reads" };
    let all = |operands: &[Operated], sides: &[OperandSide]| {
        let on = |operand: &Operated| operand.nature.side.is_some_and(|side| sides.contains(&side));
        operands.iter().all(|operand| !operand.wrong && on(operand))
    };
    if !all(sources, from) || !all(destinations, to) || sources.is_empty() {
        return None;
    }
    let message =
        format!("`{}` {does} another rank's memory; this goes the other way", transfer.verb.word());
    let instead = instead.word();
    let edit = Edit { span: transfer.verb_span, text: instead.to_owned() };
    let report = Diagnostic::new(Code::E0214, transfer.verb_span, message);
    Some(report.guess(format!("write `{instead}`"), vec![edit]))
}

fn group_among_sources(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0214, span, "a switch reduces the group's chunks and nothing else")
        .help("reduce the group's chunks first, then the rest: two operations")
}

/// An operation without the channels that it needs. They are written behind `last`, its last operand.
fn missing_via(
    transfer: &ast::Transfer,
    remote: Option<&Operated>,
    way: Way,
    last: Option<Span>,
) -> Diagnostic {
    let message = format!("`{}` needs a channel to reach another rank", transfer.verb.word());
    let mut report = Diagnostic::new(Code::E0214, transfer.verb_span, message);
    if let Some(remote) = remote {
        report = report.and(remote.span, "this is another rank's memory");
    }
    let found = match way {
        Way::Declare(text) => return report.help(text),
        Way::Via(found) => found,
    };
    let title = |text: &str| format!("name it after the operands: `via {text}`");
    let fix = |channels: &Channels| {
        let (place, certainty) = (last?, channels.certainty?);
        let text = format!(" via {}", channels.text);
        let edits = vec![Edit { span: Span { start: place.end, ..place }, text }];
        Some(Fix { title: title(&channels.text), certainty, edits, import: None })
    };
    let fixes = found.iter().filter_map(fix);
    match found.as_slice() {
        [only] => match fix(only) {
            Some(fix) => Diagnostic { fix: Some(fix), ..report },
            None => report.help(title(&only.text)),
        },
        several => {
            let texts = several.iter().map(|one| format!("`via {}`", one.text));
            let texts: Vec<String> = texts.collect();
            let alternatives = fixes.map(|fix| Fix { certainty: Certainty::Guess, ..fix });
            let alternatives = alternatives.collect();
            let help = format!("name one after the operands: {}", texts.join(" or "));
            Diagnostic { alternatives, ..report.help(help) }
        }
    }
}

fn needless_via(verb: Verb, span: Span, switched: bool) -> Diagnostic {
    let message = format!("this `{}` uses no channel", verb.word());
    Diagnostic::new(Code::E0214, span, message)
        .note(if switched {
            "the operand behind a switch names its channel itself"
        } else {
            "all its operands are this rank's memory"
        })
        .help("remove `via`")
}

fn packets_outside_scratch(verb: Verb, text: &str, span: Span, does: &str) -> Diagnostic {
    let message = format!("`{}` {does} packets here, but {text} is not scratch", verb.word());
    Diagnostic::new(Code::E0210, span, message)
        .note("packets carry flags between the data; only scratch has room for them")
        .help("declare a region, such as `scratch inbox[p in peers];`, and unpack from it")
}

fn wrong_link(
    verb: Verb,
    text: &str,
    span: Span,
    link: ChannelKind,
    kinds: &[ChannelKind],
) -> Diagnostic {
    let wanted: Vec<&str> = kinds.iter().map(|kind| kind.noun()).collect();
    let message =
        format!("`{}` goes over {}; {text} is {}", verb.word(), wanted.join(" or "), link.noun());
    let report = Diagnostic::new(Code::E0209, span, message);
    match (verb, link) {
        (Verb::PutPackets, ChannelKind::Port) => report.help(
            "make the packets first: `copy_packets a -> s`, then `read_put_packets s -> p.s via port`",
        ),
        (Verb::PutWithSignal | Verb::PutWithSignalAndFlush, ChannelKind::Memory) => {
            report.help("over a memory channel these are two operations: `put`, then `signal`")
        }
        (Verb::Get, ChannelKind::Port) => {
            report.help("let the peer `put` it; a port channel only writes")
        }
        (Verb::Reduce, ChannelKind::Port) => {
            report.help("let the peer `put` its part into scratch, and reduce from there")
        }
        (_, ChannelKind::Switch) => {
            report.help("through a switch, use `reduce nvls.input[i] -> b` and `broadcast a -> nvls.input[i]`")
        }
        _ => report,
    }
}

fn wrong_synchronisation(
    verb: SynchroniseVerb,
    text: &str,
    span: Span,
    link: ChannelKind,
) -> Diagnostic {
    let message = format!("`{}` does nothing over {}", synchronise_word(verb), link.noun());
    let report =
        Diagnostic::new(Code::E0209, span, message).label(format!("{text} is {}", link.noun()));
    match link {
        ChannelKind::Switch => {
            report.help("ranks of a group signal one another over memory channels")
        }
        ChannelKind::Memory => report.help("a memory channel needs no flush: use `signal`"),
        ChannelKind::Port => report,
    }
}

fn relaxed_transfer(verb: Verb, span: Span) -> Diagnostic {
    relaxed_elsewhere(verb.word(), span)
}

fn relaxed_elsewhere(verb: &str, span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0214, span, format!("`{verb}` has no relaxed form"))
        .label("only `signal` and `wait` have one")
        .fix("remove `relaxed`", vec![Edit { span, text: String::new() }])
}

fn op_without_reduction(verb: Verb, span: Span) -> Diagnostic {
    word_elsewhere("op", verb.word(), span)
}

fn word_elsewhere(setting: &str, verb: &str, span: Span) -> Diagnostic {
    let message = format!("`{verb}` takes no `{setting}`");
    let report = Diagnostic::new(Code::E0214, span, message).help("remove it");
    match setting {
        "op" => report.note("it reduces nothing"),
        _ => report.note("it moves no data"),
    }
}

/// A word that a setting does not accept.
pub(super) fn unknown_word(setting: &str, name: &ast::Name, words: &[&str]) -> Diagnostic {
    let message = format!("`{setting}` cannot be `{}`", name.text);
    let report = Diagnostic::new(Code::E0211, name.span, message);
    match nearest(&name.text, words.iter().copied()) {
        Some(near) => meant(report, name.span, near),
        None => report.help(format!("it must be one of {}", words.join(", "))),
    }
}
