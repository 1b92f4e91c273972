//! The body of all lanes.

use super::LaneWriter;
use crate::synthesize::WINDOW;
use crate::synthesize::rules::write_sender;
use std::fmt::{self, Write as _};
use synth::collective::CollectiveKind;

pub(super) struct LaneBody<'a> {
    pub(super) writer: &'a LaneWriter<'a>,
}

/// A signal or a wait.
struct ChannelCall<'t> {
    verb: &'t str,
    family: &'t str,
    modifier: &'t str,
}

impl<'t> ChannelCall<'t> {
    fn new(verb: &'t str, family: &'t str) -> ChannelCall<'t> {
        ChannelCall { verb, family, modifier: "" }
    }

    fn relaxed(self) -> ChannelCall<'t> {
        ChannelCall { modifier: " relaxed", ..self }
    }
}

impl LaneBody<'_> {
    pub(super) fn write(&self, text: &mut String) -> fmt::Result {
        let ways = self.writer.rules.ways.len();
        let last = self.writer.table.0.len().saturating_sub(1);
        if self.writer.is_deep() {
            writeln!(
                text,
                "let came = [u in 0..{ways} if t > 0 && onward[t - 1][u][v].len() > 0: u];
                let leaves = [w in hops[t][v] if t == {last} || hops[t + 1][w].len() == 0: w];"
            )?;
        }
        match (self.writer.adds_up, self.writer.channels.can_read()) {
            (false, _) => self.write_copies(text),
            (true, true) => self.write_reads(text),
            (true, false) => self.write_pushes(text),
        }
    }

    fn open_pipeline(&self, text: &mut String) -> fmt::Result {
        let chunks = if self.writer.table.has_parts() { 1 } else { self.writer.head.chunks };
        writeln!(text, "pipeline unit = {WINDOW}, chunks = {chunks} {{")
    }

    /// The binders of what a lane adds up, and of the ways that have it: what is added to the same chunk comes together,
    /// and is added in one operation.
    fn bind_sums(&self) -> String {
        let shares = self.writer.shares;
        let filter = if shares > 1 {
            format!(" if e % {} % {shares} == j", self.writer.head.chunks)
        } else {
            String::new()
        };
        format!(
            "x in {{w in hops[t][v], e in onward[t][v][w]{filter}: e}}, w in hops[t][v] if onward[t][v][w].contains(x)"
        )
    }

    /// The binder of what a lane has for a way, whose indices these are.
    fn bind_entries(&self, lane: &str) -> String {
        let shares = self.writer.shares;
        let filter = if shares > 1 {
            format!(" if x % {} % {shares} == j", self.writer.head.chunks)
        } else {
            String::new()
        };
        format!("x in onward{lane}{filter}")
    }

    /// The first chunk of what is `x` for a rank.
    fn find_chunk(&self, rank: &str) -> String {
        match self.writer.head.chunks {
            1 => format!("at({rank}, x)"),
            chunks if self.writer.table.has_parts() => {
                format!("at({rank}, x / {chunks}) * {chunks} + x % {chunks}")
            }
            chunks => format!("at({rank}, x) * {chunks}"),
        }
    }

    /// The brackets of the chunks from `c` on.
    fn find_span(&self) -> String {
        match self.writer.head.chunks {
            chunks if chunks > 1 && !self.writer.table.has_parts() => format!("[c ..+ {chunks}]"),
            _ => "[c]".to_owned(),
        }
    }

    /// Where they arrive in scratch memory, for a lane.
    fn find_slot(&self, lane: &str) -> String {
        let share = self.writer.share_index();
        let is_whole = self.writer.head.chunks > 1 && !self.writer.table.has_parts();
        let pieces = if is_whole { ", .." } else { "" };
        format!("got[{share}{lane}, x{pieces}]")
    }

    /// A signal or a wait over all channels by which something comes.
    fn write_came(&self, call: &ChannelCall<'_>, text: &mut String) -> fmt::Result {
        if !self.writer.is_deep() {
            return Ok(());
        }
        let (share, all) = (self.writer.share_index(), self.index_all());
        let ChannelCall { verb, family, modifier } = call;
        writeln!(text, "for u in came {{ {verb} {family}[{share}t - 1, u, v{all}]{modifier}; }}")
    }

    /// A signal or a wait over all channels to lanes that pass something on.
    fn write_passing(&self, verb: &str, text: &mut String) -> fmt::Result {
        if !self.writer.is_deep() {
            return Ok(());
        }
        let (share, all) = (self.writer.share_index(), self.index_all());
        writeln!(
            text,
            "for w in hops[t][v] if !leaves.contains(w) {{ {verb} out[{share}t, v, w{all}]; }}"
        )
    }

    /// What follows a way in the index of all its channels.
    fn index_all(&self) -> String {
        self.writer.channels.write_way_index("*")
    }

    /// What follows a way in the index of its channel to the rank `p`.
    fn index_peer(&self) -> String {
        self.writer.channels.write_way_index("p")
    }

    /// The indices of the channels to lanes without any others behind them.
    fn leaves(&self) -> String {
        let leaves = if self.writer.is_deep() { "leaves" } else { "*" };
        format!("{}t, v, {leaves}{}", self.writer.share_index(), self.index_all())
    }

    /// The indices of all channels of a lane.
    fn all(&self) -> String {
        format!("{}t, v, *{}", self.writer.share_index(), self.index_all())
    }

    fn find_buffer(&self) -> &'static str {
        if self.writer.head.kind == CollectiveKind::ReduceScatter { "input" } else { "output" }
    }

    fn write_copies(&self, text: &mut String) -> fmt::Result {
        let (buffer, leaves, all) = (self.find_buffer(), self.leaves(), self.all());
        self.write_came(&ChannelCall::new("signal", "into").relaxed(), text)?;
        writeln!(text, "signal into[{leaves}] relaxed;\nwait out[{all}] relaxed;")?;
        self.open_pipeline(text)?;
        self.write_came(&ChannelCall::new("wait", "into"), text)?;
        let (entries, chunk) = (self.bind_entries("[t][v][w]"), self.find_chunk("rank"));
        let (span, share) = (self.find_span(), self.writer.share_index());
        let peer = self.index_peer();
        writeln!(
            text,
            "for w in hops[t][v], p in [at(rank, ways[w])], {entries} {{
                let c = {chunk};
                put {buffer}{span} -> p.{buffer}{span} via out[{share}t, v, w{peer}];
            }}"
        )?;
        self.write_passing("signal", text)?;
        writeln!(text, "}}\nsignal out[{leaves}];\nwait into[{leaves}];")?;
        if self.writer.channels.can_read() {
            return Ok(());
        }
        self.write_came(&ChannelCall::new("signal", "into"), text)?;
        writeln!(text, "signal into[{leaves}];    // all has arrived\nwait out[{all}];")
    }

    /// Sums in turn, where several lanes add to the same pieces.
    fn write_turn(&self, sums: &str, text: &mut String) -> fmt::Result {
        if !self.writer.is_chained() {
            return writeln!(text, "{sums}");
        }
        let (roots, share) = (self.writer.roots, self.writer.share_index());
        writeln!(text, "if t == 0 && v > 0 {{ acquire turn[{share}v]; }}")?;
        writeln!(text, "{sums}")?;
        writeln!(text, "if t == 0 && v + 1 < {roots} {{ release turn[{share}v + 1]; }}")
    }

    fn write_reads(&self, text: &mut String) -> fmt::Result {
        let (buffer, leaves, all) = (self.find_buffer(), self.leaves(), self.all());
        writeln!(text, "signal into[{leaves}] relaxed;\nwait out[{leaves}] relaxed;")?;
        self.open_pipeline(text)?;
        self.write_passing("wait", text)?;
        let (sums, chunk) = (self.bind_sums(), self.find_chunk("rank"));
        let (span, share) = (self.find_span(), self.writer.share_index());
        let peer = self.index_peer();
        let sums = format!(
            "for {sums}, p in [at(rank, ways[w])] {{
                let c = {chunk};
                reduce {buffer}{span}, p.{buffer}{span} -> {buffer}{span} via out[{share}t, v, w{peer}];
            }}"
        );
        self.write_turn(&sums, text)?;
        self.write_came(&ChannelCall::new("signal", "into"), text)?;
        writeln!(text, "}}\nsignal out[{all}];    // all is read")?;
        self.write_came(&ChannelCall::new("wait", "into"), text)?;
        writeln!(text, "wait into[{leaves}];")
    }

    fn write_pushes(&self, text: &mut String) -> fmt::Result {
        let (buffer, leaves, all) = (self.find_buffer(), self.leaves(), self.all());
        writeln!(text, "signal out[{all}] relaxed;")?;
        self.write_came(&ChannelCall::new("wait", "into").relaxed(), text)?;
        writeln!(text, "wait into[{leaves}] relaxed;")?;
        self.open_pipeline(text)?;
        let [own, up] = ["[t][v][w]", "[t - 1][u][v]"].map(|lane| self.bind_entries(lane));
        let [here, there] = ["rank", "p"].map(|rank| self.find_chunk(rank));
        let [slot, slot_up] = ["t, v, w", "t - 1, u, v"].map(|lane| self.find_slot(lane));
        let (span, share) = (self.find_span(), self.writer.share_index());
        let peer = self.index_peer();
        let [sender, sender_up] = ["w", "v"].map(|way| write_sender(self.writer.rules, way));
        let sent = if self.writer.is_deep() { "leaves" } else { "hops[t][v]" };
        writeln!(
            text,
            "for w in {sent}, p in [{sender}], {own} {{
                let c = {there};
                put {buffer}{span} -> p.{slot} via into[{share}t, v, w{peer}];
            }}
            signal into[{leaves}];
            wait out[{all}];"
        )?;
        let sums = self.bind_sums();
        let sums = format!(
            "for {sums} {{
                let c = {here};
                reduce {buffer}{span}, {slot} -> {buffer}{span};
            }}"
        );
        self.write_turn(&sums, text)?;
        if self.writer.is_deep() {
            writeln!(
                text,
                "for u in came, p in [{sender_up}], {up} {{
                    let c = {there};
                    put {buffer}{span} -> p.{slot_up} via into[{share}t - 1, u, v{peer}];
                }}"
            )?;
        }
        self.write_came(&ChannelCall::new("signal", "into"), text)?;
        writeln!(text, "}}\nsignal out[{all}];    // all has arrived")?;
        self.write_came(&ChannelCall::new("wait", "into"), text)?;
        writeln!(text, "wait into[{leaves}];")
    }
}
