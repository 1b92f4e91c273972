//! The pieces of a statement grouped by their brackets, so that lines are broken at the outermost places first.

use super::Piece;
use crate::syntax::lookahead::ends_value;
use crate::syntax::token::{Class, Kind};

/// A piece, or what belongs together.
#[derive(Debug)]
pub(super) enum Node<'p, 't> {
    /// A token or comment.
    Piece(&'p Piece<'t>),
    /// A bracket with what is in it.
    Bracket(Bracket<'p, 't>),
    /// An `if` expression.
    Conditional(Vec<Arm<'p, 't>>),
}

/// A bracket with what is in it.
#[derive(Debug)]
pub(super) struct Bracket<'p, 't> {
    pub(super) open: &'p Piece<'t>,
    pub(super) inside: Vec<Node<'p, 't>>,
    pub(super) close: Option<&'p Piece<'t>>,
    /// Whether its author put the contents on lines of their own.
    pub(super) kept: bool,
    /// Whether it holds imported names.
    pub(super) imports: bool,
}

/// A value of an `if` expression.
#[derive(Debug)]
pub(super) struct Arm<'p, 't> {
    /// What is before it: `if c`, `else if c` or `else`.
    pub(super) head: Vec<Node<'p, 't>>,
    pub(super) value: Bracket<'p, 't>,
}

impl<'p, 't> Node<'p, 't> {
    /// Its first piece.
    pub(super) fn first(&self) -> Option<&'p Piece<'t>> {
        match self {
            Node::Piece(piece) => Some(piece),
            Node::Bracket(bracket) => Some(bracket.open),
            Node::Conditional(arms) => arms.first()?.head.first()?.first(),
        }
    }

    /// Whether it is a token of a kind.
    pub(super) fn is_kind(&self, kind: Kind) -> bool {
        matches!(self, Node::Piece(piece) if piece.is_kind(kind))
    }

    pub(super) fn is_comment(&self) -> bool {
        self.is_kind(Kind::Comment)
    }

    /// Whether it is a comment behind code.
    pub(super) fn is_trailing(&self) -> bool {
        matches!(self, Node::Piece(piece) if piece.is_comment() && !piece.token.first)
    }

    /// Whether a value can end with it.
    pub(super) fn ends_value(&self) -> bool {
        match self {
            Node::Piece(piece) => ends_value(piece.token.kind),
            Node::Bracket(_) | Node::Conditional(_) => true,
        }
    }

    /// Whether it has something that can go on a line of its own.
    pub(super) fn can_open(&self) -> bool {
        match self {
            Node::Piece(_) => false,
            Node::Bracket(bracket) => !bracket.inside.is_empty(),
            Node::Conditional(_) => true,
        }
    }
}

/// Groups the pieces of a statement, or of its part before a body.
pub(super) fn group<'p, 't>(pieces: &'p [Piece<'t>]) -> Vec<Node<'p, 't>> {
    let mut rest = pieces.iter();
    let mut out = group_until_closer(&mut rest).nodes;
    // Nothing is lost should brackets not match.
    out.extend(rest.map(Node::Piece));
    join_conditionals(out, true)
}

/// What is in a bracket.
struct Contents<'p, 't> {
    nodes: Vec<Node<'p, 't>>,
    close: Option<&'p Piece<'t>>,
}

fn group_until_closer<'p, 't>(rest: &mut std::slice::Iter<'p, Piece<'t>>) -> Contents<'p, 't> {
    let mut nodes = Vec::new();
    while let Some(piece) = rest.next() {
        if piece.token.kind.is_closer() {
            return Contents { nodes, close: Some(piece) };
        }
        if !piece.token.kind.is_opener() {
            nodes.push(Node::Piece(piece));
            continue;
        }
        let Contents { nodes: inside, close } = group_until_closer(rest);
        let first = inside.iter().find(|node| !node.is_trailing()).and_then(Node::first);
        let imports = nodes.last().is_some_and(|last| last.is_kind(Kind::PathSeparator));
        let kept = !imports
            && first.is_some_and(|first| first.token.first)
            && close.is_some_and(|close| close.token.first);
        let inside = join_conditionals(inside, false);
        nodes.push(Node::Bracket(Bracket { open: piece, inside, close, kept, imports }));
    }
    Contents { nodes, close: None }
}

/// Joins the nodes of `if` expressions. The `if` that begins a statement is none, nor is the one that filters what a
/// name is bound to: a value is before that.
fn join_conditionals<'p, 't>(nodes: Vec<Node<'p, 't>>, is_statement: bool) -> Vec<Node<'p, 't>> {
    let mut rest = nodes.into_iter().peekable();
    let mut out: Vec<Node<'p, 't>> = Vec::new();
    while let Some(node) = rest.next() {
        if !node.is_kind(Kind::If) || is_keyword(&out, is_statement) {
            out.push(node);
            continue;
        }
        let mut joined = conditional(node, &mut rest);
        if joined.arms.is_empty() {
            out.append(&mut joined.unfinished);
        } else {
            out.push(Node::Conditional(joined.arms));
            out.append(&mut joined.unfinished);
        }
    }
    out
}

/// Whether an `if` after these nodes begins no expression.
fn is_keyword(before: &[Node<'_, '_>], is_statement: bool) -> bool {
    let mut before = before.iter().filter(|node| !node.is_comment());
    let Some(last) = before.next_back() else { return is_statement };
    let is_verb = matches!(last, Node::Piece(piece) if piece.token.kind.class() == Class::Verb);
    let begins = before.next().is_none() && is_statement;
    last.ends_value() && !(begins && is_verb)
}

type Rest<'p, 't> = std::iter::Peekable<std::vec::IntoIter<Node<'p, 't>>>;

/// An `if` expression, and what was read after its last value.
struct Joined<'p, 't> {
    arms: Vec<Arm<'p, 't>>,
    unfinished: Vec<Node<'p, 't>>,
}

/// Reads an `if` expression after its `if`.
fn conditional<'p, 't>(first: Node<'p, 't>, rest: &mut Rest<'p, 't>) -> Joined<'p, 't> {
    let mut joined = Joined { arms: Vec::new(), unfinished: vec![first] };
    while let Some(node) = rest.next() {
        let head = &mut joined.unfinished;
        let last = head.iter().rev().find(|node| !node.is_comment());
        let follows_value = last.is_some_and(Node::ends_value);
        let follows_else = last.is_some_and(|last| last.is_kind(Kind::Else));
        if node.is_kind(Kind::If) && !follows_value && !follows_else {
            let mut inner = conditional(node, rest);
            if !inner.arms.is_empty() {
                head.push(Node::Conditional(inner.arms));
            }
            head.append(&mut inner.unfinished);
            continue;
        }
        match node {
            Node::Bracket(value)
                if value.open.is_kind(Kind::LeftBrace) && (follows_value || follows_else) =>
            {
                joined.arms.push(Arm { head: std::mem::take(head), value });
                if follows_else || !goes_on(rest, &mut joined.unfinished) {
                    return joined;
                }
            }
            node @ (Node::Piece(_) | Node::Bracket(_) | Node::Conditional(_)) => head.push(node),
        }
    }
    joined
}

/// Whether an `else` follows; the comments before it are read.
fn goes_on<'p, 't>(rest: &mut Rest<'p, 't>, head: &mut Vec<Node<'p, 't>>) -> bool {
    while let Some(comment) = rest.next_if(Node::is_comment) {
        head.push(comment);
    }
    rest.peek().is_some_and(|next| next.is_kind(Kind::Else))
}
