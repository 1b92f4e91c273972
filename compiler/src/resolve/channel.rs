//! The peers of channels, and the ends that they meet.
//!
//! In: `memory(p)`, `port(p)`, `switch(ranks, buffer)`, a choice between them by `if`, and `to name[..]`. Out: links and
//! ends. Rules: the peer is a rank, the buffer is a whole buffer of this rank (E0204); the named end is a channel of
//! this program with the right number of indices (E0201, E0205); a switch channel has no other end (E0214).

use super::access::wrong_arity;
use super::body::{Body, wrong};
use super::call::named_argument;
use super::family::Family;
use super::name::meant;
use super::program::{BufferName, ChannelEnd, Dimension, Expr, ExprKind, Link, Peer, Type};
use super::types::Ty;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::source::Span;
use crate::syntax::{ast, foreign};
use grammar::verb::ChannelKind;

impl Body<'_> {
    /// The link that a channel's declaration gives it.
    pub(super) fn link(&mut self, value: &ast::Expr, dimensions: &[Dimension]) -> Link {
        let wrong = || Link::Memory(Peer { rank: wrong(value.span), dimension: None });
        if let ast::ExprKind::If(condition, then, otherwise) = &value.kind {
            let condition = self.expect(condition, &Ty::Bool);
            let then = Box::new(self.link(then, dimensions));
            return Link::If(condition, then, Box::new(self.link(otherwise, dimensions)));
        }
        let ast::ExprKind::Call(name, arguments) = &value.kind else {
            let typed = self.expr(value, None);
            self.reports.extend((typed.ty != Ty::Error).then(|| not_a_link(value.span)));
            return wrong();
        };
        let Some(kind) = ChannelKind::find(&name.text) else {
            for argument in arguments {
                self.expr(&argument.value, None);
            }
            self.report(unknown_link(name));
            return wrong();
        };
        for argument in arguments {
            if let Some(name) = &argument.name {
                self.report(named_argument(name, argument.value.span));
            }
        }
        match (kind, arguments.as_slice()) {
            (ChannelKind::Memory, [peer]) => {
                Link::Memory(self.peer(&name.text, &peer.value, dimensions))
            }
            (ChannelKind::Port, [peer]) => {
                Link::Port(self.peer(&name.text, &peer.value, dimensions))
            }
            (ChannelKind::Switch, [ranks, buffer]) => {
                let ranks = self.expect(&ranks.value, &Ty::Rank.list());
                match self.whole_buffer(&buffer.value) {
                    Some(buffer) => Link::Switch(ranks, buffer),
                    None => wrong(),
                }
            }
            (ChannelKind::Memory | ChannelKind::Port | ChannelKind::Switch, _) => {
                for argument in arguments {
                    self.expr(&argument.value, None);
                }
                self.report(link_arity(name, kind, arguments.len()));
                wrong()
            }
        }
    }

    /// The rank that a channel leads to.
    fn peer(&mut self, kind: &str, peer: &ast::Expr, dimensions: &[Dimension]) -> Peer {
        let typed = self.expr(peer, Some(&Ty::Rank));
        if self.types.unify(&typed.ty, &Ty::Rank) {
            return Peer { dimension: dimension_of(&typed.expr, dimensions), rank: typed.expr };
        }
        let report = self.mismatch(&typed, &Ty::Rank);
        let text = self.text(peer.span);
        let is_named_list = matches!(typed.expr.ty, Type::List(_)) && text != "this";
        self.report(if is_named_list {
            report.help(format!(
                "a family has a channel for each: write `[p in {}]` after its name, and `{kind}(p)`",
                text.trim_matches('`')
            ))
        } else {
            report
        });
        Peer { rank: wrong(peer.span), dimension: None }
    }

    /// The buffer that an expression names.
    fn whole_buffer(&mut self, expr: &ast::Expr) -> Option<BufferName> {
        let typed = self.expr(expr, Some(&Ty::Buffer));
        if let ExprKind::Buffer(buffer) = typed.expr.kind {
            return Some(buffer);
        }
        if typed.ty != Ty::Error {
            let text = self.text(expr.span);
            self.report(not_a_buffer(&text, expr.span));
        }
        None
    }

    /// The other end of a channel, if it is named.
    pub(super) fn channel_end(&mut self, end: &ast::ChannelEnd, link: &Link) -> Option<ChannelEnd> {
        let indices: Vec<Expr> =
            end.indices.iter().map(|index| self.expect(index, &Ty::Int)).collect();
        if link.cases().iter().any(|case| matches!(case, Link::Switch(..))) {
            self.report(end_of_switch(end.span));
            return None;
        }
        let Some(Family::Channel(family)) = self.family(&end.name.text) else {
            if !self.is_lost(&end.name.text) {
                let report = self.unknown_end(&end.name);
                self.report(report);
            }
            return None;
        };
        let families = self.families.as_mut()?;
        let declaration = &mut families.channels[family];
        let definition = declaration.span;
        if declaration.arity != indices.len() {
            let report = wrong_arity(
                &declaration.name,
                declaration.arity,
                indices.len(),
                end.span,
                declaration.span,
            );
            self.report(report);
            return None;
        }
        // Without it the other declaration would name nothing.
        declaration.stands = None;
        self.uses.add(end.name.span, definition);
        Some(ChannelEnd { family, indices, span: end.span })
    }

    fn unknown_end(&mut self, name: &ast::Name) -> Diagnostic {
        let message = format!("no channel is called `{}`", name.text);
        let report = Diagnostic::new(Code::E0201, name.span, message);
        let families = self.families.iter().flat_map(|families| &families.names);
        let channels = families.filter(|(_, family)| matches!(family, Family::Channel(_)));
        let near = self.globals.nearest(&name.text, channels.map(|(name, _)| name.as_str()));
        self.suggest(report, name.span, near)
    }
}

/// Whether the channel's link was reported. Then it does not matter that nothing uses the channel.
pub(super) fn is_wrong(link: &Link) -> bool {
    match link {
        Link::Memory(peer) | Link::Port(peer) => peer.rank.ty == Type::Error,
        Link::Switch(ranks, _) => ranks.ty == Type::Error,
        Link::If(condition, then, otherwise) => {
            condition.ty == Type::Error || is_wrong(then) || is_wrong(otherwise)
        }
    }
}

/// The buffer behind all channels of a family.
pub(super) fn behind(link: &Link) -> Option<BufferName> {
    match link {
        Link::Memory(_) | Link::Port(_) => None,
        Link::Switch(_, buffer) => Some(*buffer),
        Link::If(_, then, otherwise) => {
            behind(then).filter(|then| behind(otherwise) == Some(*then))
        }
    }
}

/// Whether a link leads to the rank that is an index of its channel.
pub(super) fn leads_to_index(link: &Link) -> bool {
    match link {
        Link::Memory(peer) | Link::Port(peer) => peer.dimension.is_some(),
        Link::Switch(..) => false,
        Link::If(_, then, otherwise) => leads_to_index(then) && leads_to_index(otherwise),
    }
}

/// The kind of all channels of a family, if it is known.
pub(super) fn kind(value: &ast::Expr) -> Option<ChannelKind> {
    if let ast::ExprKind::If(_, then, otherwise) = &value.kind {
        return kind(then).filter(|then| kind(otherwise) == Some(*then));
    }
    let ast::ExprKind::Call(word, _) = &value.kind else { return None };
    ChannelKind::find(&word.text)
}

/// The name of the peer in a declaration's link, to suggest as the name of a list's member; `i` if it has none.
pub(super) fn member(value: &ast::Expr) -> &str {
    if let ast::ExprKind::If(_, then, _) = &value.kind {
        return member(then);
    }
    let ast::ExprKind::Call(_, arguments) = &value.kind else { return "i" };
    match arguments.first().map(|peer| &peer.value.kind) {
        Some(ast::ExprKind::Name(name)) => name,
        Some(_) | None => "i",
    }
}

/// The dimension whose binder is the argument of `memory` or `port`.
fn dimension_of(peer: &Expr, dimensions: &[Dimension]) -> Option<usize> {
    let ExprKind::Local(peer) = peer.kind else { return None };
    dimensions.iter().position(|dimension| match dimension {
        Dimension::Binder(binder) => binder.local == peer,
        Dimension::Count(_) => false,
    })
}

fn not_a_link(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, "this is not a channel")
        .help("a channel is made by `memory(p)`, `port(p)` or `switch(ranks, buffer)`")
}

fn unknown_link(name: &ast::Name) -> Diagnostic {
    let message = format!("no kind of channel is called `{}`", name.text);
    let report = Diagnostic::new(Code::E0201, name.span, message);
    let other = foreign::link(&name.text);
    match other.or_else(|| nearest(&name.text, ["memory", "port", "switch"])) {
        Some(near) => meant(report, name.span, near),
        None => report.help("channels are made by `memory`, `port` and `switch`"),
    }
}

fn link_arity(name: &ast::Name, kind: ChannelKind, given: usize) -> Diagnostic {
    let takes = match kind {
        ChannelKind::Memory | ChannelKind::Port => "the peer's rank",
        ChannelKind::Switch => "the group's ranks and a buffer",
    };
    let is = if given == 1 { "1 argument is".to_owned() } else { format!("{given} arguments are") };
    let message = format!("`{}` takes {takes}; {is} given", name.text);
    Diagnostic::new(Code::E0205, name.span, message)
}

fn not_a_buffer(text: &str, span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, format!("{text} is not a buffer of this rank"))
        .help("name a whole buffer: `input`, `output`, or a scratch region")
}

fn end_of_switch(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0214, span, "a switch channel has no other end")
        .label("it joins all ranks of its group")
        .help("remove `to`")
}
