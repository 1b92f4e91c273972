//! Breaks the lines of a statement that does not fit on one.
//!
//! In: the nodes of a statement. Out: its lines. The rules:
//!
//! - What binds loosest is broken first: before `->`, `via` and modifiers, then after commas, then after `=`, then at
//!   operators, from `||` to `*`. Operators of one strength are broken all or not at all; of the others, only as many as
//!   necessary.
//! - A link or ports of a topology are broken after their binders, then after what they join, then between properties.
//! - What is after `=` goes on the next line if it fits there. Otherwise, if it is a call, a list or an `if` expression,
//!   that is opened; anything else begins on the next line.
//! - An opened bracket has its contents on lines of their own: of parentheses, one element a line, and so for elements
//!   that are brackets or long; short ones fill lines, broken where their author broke them, too. A bracket with a single
//!   element that can be opened itself leaves it where it is.
//! - Nothing else is broken, unless a line is too long without: then at any space.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::lines::Lines;
use super::nodes::{Arm, Bracket, Node, group};
use super::{INDENT, Piece};
use crate::syntax::token::{Class, Kind};

/// The most columns of an element that shares a line with others in a list that is broken.
const SHORT: usize = 24;

/// A statement, or its part before a body.
pub(super) struct Statement<'p, 't> {
    nodes: Vec<Node<'p, 't>>,
    place: Place,
}

/// What a sequence of nodes is, as far as that decides where it is broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A statement that begins with a verb: operands and modifiers.
    Operation,
    /// The declaration of a channel.
    Channel,
    /// The machine of a program, or the head of a topology.
    Machine,
    /// A link or ports: binders, what is joined, and properties.
    Link,
    /// Names bound to values, and what is made of each: `p in peers: p.input[0]`.
    Binders,
    /// Anything else.
    Other,
}

/// How tightly a place holds together, from the places that are broken first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// Before the parts of an operation, or after the binders of a comprehension.
    Clause,
    /// Before the properties of a link.
    Properties,
    Comma,
    Assignment,
    /// Before the condition of a binder.
    Filter,
    Range,
    /// At an operator of this precedence.
    Operator(u8),
    /// At any other space.
    Space,
}

/// At `==` and the like.
const COMPARISON: Strength = Strength::Operator(2);

/// Where lines that go on begin.
#[derive(Clone, Copy)]
struct Margin {
    /// The indentation of lines that go on.
    rest: usize,
    /// The columns that must stay free behind the last token.
    tail: usize,
}

impl Margin {
    fn deeper(self) -> Margin {
        Margin { rest: self.rest + INDENT, ..self }
    }
}

impl<'p, 't> Statement<'p, 't> {
    pub(super) fn new(pieces: &'p [Piece<'t>]) -> Statement<'p, 't> {
        let place = match pieces.first().map(|piece| piece.token.kind) {
            Some(Kind::Channel) => Place::Channel,
            Some(Kind::Topology) => Place::Machine,
            Some(Kind::Link | Kind::Ports) => Place::Link,
            Some(kind) if kind.class() == Class::Verb => Place::Operation,
            _ => Place::Other,
        };
        Statement { nodes: group(pieces), place }
    }

    /// Whether it fits on the last line.
    pub(super) fn fits(&self, lines: &Lines<'t>) -> bool {
        width(&self.nodes).is_some_and(|width| lines.has_room(width))
    }

    /// Prints it.
    pub(super) fn print(&self, lines: &mut Lines<'t>, indent: usize) {
        let margin = Margin { rest: indent + INDENT, tail: 0 };
        print_sequence(&self.nodes, self.place, margin, lines);
    }

    /// Prints it so that a brace fits behind it.
    pub(super) fn print_head(&self, lines: &mut Lines<'t>, indent: usize) {
        let margin = Margin { rest: indent + 2 * INDENT, tail: 2 };
        print_sequence(&self.nodes, self.place, margin, lines);
    }
}

/// Prints nodes, broken where they do not fit.
fn print_sequence<'t>(nodes: &[Node<'_, 't>], place: Place, margin: Margin, lines: &mut Lines<'t>) {
    if has_room(nodes, margin.tail, lines) {
        return print_flat(nodes, margin.rest, lines);
    }
    let parts = Parts::split(nodes, place);
    match parts.strength {
        Strength::Space => print_greedily(nodes, place, margin, lines),
        Strength::Assignment => print_assignment(&parts, place, margin, lines),
        COMPARISON if parts.nodes.len() == 2 => print_assignment(&parts, place, margin, lines),
        Strength::Operator(_) => print_parts(&parts, place, margin, lines, Filling::One),
        _ => print_parts(&parts, place, margin, lines, Filling::Many),
    }
}

/// How many parts a line takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filling {
    One,
    Many,
}

/// Prints parts, each on the line of the one before if it fits there and `filling` allows.
fn print_parts<'t>(
    parts: &Parts<'_, '_, 't>,
    place: Place,
    margin: Margin,
    lines: &mut Lines<'t>,
    filling: Filling,
) {
    let last = parts.nodes.len().saturating_sub(1);
    let mut was_broken = false;
    for (i, part) in parts.nodes.iter().enumerate() {
        let tail = if i == last { margin.tail } else { 0 };
        let joins = filling == Filling::Many && !was_broken && has_room(part, tail, lines);
        let part = if i > 0 && !joins { begin_part(part, margin.rest, lines) } else { part };
        let inner = Margin { tail, ..margin };
        let stays = match place {
            // What is joined and the properties are below each other.
            Place::Link => i > 0 && parts.strength < Strength::Comma,
            _ => i == 0 && parts.strength < Strength::Assignment,
        };
        let before = lines.count();
        print_sequence(part, place, if stays { inner } else { inner.deeper() }, lines);
        was_broken = lines.count() > before && !lines.ends_bracket();
    }
}

/// Begins the line of a part, after the comments that stand before it on lines of their own; what is left of it.
fn begin_part<'a, 'p, 't>(
    part: &'a [Node<'p, 't>],
    rest: usize,
    lines: &mut Lines<'t>,
) -> &'a [Node<'p, 't>] {
    lines.wrap(rest);
    let comments = part.iter().take_while(|node| node.is_comment()).count();
    let (comments, part) = part.split_at_checked(comments).unwrap_or_default();
    print_flat(comments, rest, lines);
    if !comments.is_empty() && !part.is_empty() {
        lines.wrap(rest);
    }
    part
}

/// Prints what is before and after `=`, or before a comparison and from it on.
fn print_assignment<'t>(
    parts: &Parts<'_, '_, 't>,
    place: Place,
    margin: Margin,
    lines: &mut Lines<'t>,
) {
    let Some((target, values)) = parts.nodes.split_first() else { return };
    print_sequence(target, place, Margin { tail: 0, ..margin }, lines);
    let last = values.len().saturating_sub(1);
    for (i, value) in values.iter().enumerate() {
        let tail = if i == last { margin.tail } else { 0 };
        let fits_next =
            width(value).is_some_and(|width| lines.has_room_at(margin.rest, width + tail));
        let opens = Parts::split(value, place).strength == Strength::Space
            && value.iter().any(Node::can_open);
        let begins = value.first().map_or(0, space_before) + glued(value, place, tail);
        let goes_on =
            has_room(value, tail, lines) || (opens && !fits_next && lines.has_room(begins));
        let value = if goes_on { value } else { begin_part(value, margin.rest, lines) };
        print_sequence(value, place, Margin { tail, ..margin }, lines);
    }
}

/// Prints nodes that nothing separates: brackets are opened, and a line goes on at a space where nothing else helps.
fn print_greedily<'t>(nodes: &[Node<'_, 't>], place: Place, margin: Margin, lines: &mut Lines<'t>) {
    for (i, node) in nodes.iter().enumerate() {
        let before = nodes.get(..i).unwrap_or_default();
        let rest = nodes.get(i..).unwrap_or_default();
        if !lines.is_fresh() && gap(before, node, place).is_some() {
            let until_gap = glued(rest, place, margin.tail);
            if !lines.has_room(until_gap + space_before(node)) {
                lines.wrap(margin.rest);
            }
        }
        let behind = rest.get(1..).unwrap_or_default();
        match node {
            Node::Piece(piece) => lines.put(piece, margin.rest),
            Node::Bracket(bracket) => {
                let tail = glued_to_bracket(behind, margin.tail);
                print_bracket(bracket, Margin { tail, ..margin }, lines);
            }
            Node::Conditional(arms) => {
                let tail = glued_to_bracket(behind, margin.tail);
                print_conditional(arms, Margin { tail, ..margin }, lines);
            }
        }
    }
}

fn print_bracket<'t>(bracket: &Bracket<'_, 't>, margin: Margin, lines: &mut Lines<'t>) {
    let flat = bracket_width(bracket);
    let is_flat = flat.is_some_and(|width| {
        lines.has_room(width + margin.tail + usize::from(bracket.open.space && !lines.is_fresh()))
    });
    lines.put(bracket.open, margin.rest);
    if is_flat {
        print_flat(&bracket.inside, margin.rest, lines);
    } else if bracket.leaves_element()
        && lines.has_room(glued(&bracket.inside, Place::Other, margin.tail + 1))
    {
        let inner = Margin { tail: margin.tail + 1, ..margin };
        print_sequence(&bracket.inside, Place::Other, inner, lines);
    } else {
        print_opened(bracket, lines);
    }
    if let Some(close) = bracket.close {
        lines.put(close, margin.rest);
    }
}

/// Prints the contents of a bracket on lines of their own.
fn print_opened<'t>(bracket: &Bracket<'_, 't>, lines: &mut Lines<'t>) {
    let indent = lines.indent();
    let margin = Margin { rest: indent + INDENT, tail: 0 };
    let place = bracket.place();
    if place == Place::Binders {
        // A comment behind the opening bracket stays there.
        let trailing = bracket.inside.iter().take_while(|node| node.is_trailing()).count();
        let (behind, inside) = bracket.inside.split_at_checked(trailing).unwrap_or_default();
        print_flat(behind, margin.rest, lines);
        let inside = begin_part(inside, margin.rest, lines);
        print_sequence(inside, place, margin, lines);
    } else {
        let parts = Parts::split_at(&bracket.inside, place, Strength::Comma);
        let fills = bracket.imports
            || !bracket.open.is_kind(Kind::LeftParen)
                && parts.nodes.iter().all(|part| width(part).is_none_or(|width| width <= SHORT));
        for (i, part) in parts.nodes.iter().enumerate() {
            let first = part.first().and_then(Node::first);
            let was_first = bracket.kept && first.is_some_and(|first| first.token.first);
            let joins = part.first().is_some_and(Node::is_trailing)
                || (i > 0 && fills && !was_first && has_room(part, 0, lines));
            let part = if joins { part } else { begin_part(part, margin.rest, lines) };
            print_sequence(part, place, margin.deeper(), lines);
        }
    }
    lines.wrap(indent);
}

fn print_conditional<'t>(arms: &[Arm<'_, 't>], margin: Margin, lines: &mut Lines<'t>) {
    if conditional_width(arms)
        .is_some_and(|width| lines.has_room(width + margin.tail + usize::from(!lines.is_fresh())))
    {
        return arms.iter().for_each(|arm| print_arm_flat(arm, margin.rest, lines));
    }
    let mut rest = margin.rest + INDENT;
    for arm in arms {
        print_sequence(&arm.head, Place::Other, Margin { rest, tail: 2 }, lines);
        lines.put(arm.value.open, rest);
        print_opened(&arm.value, lines);
        if let Some(close) = arm.value.close {
            lines.put(close, margin.rest);
        }
        rest = lines.indent() + 2 * INDENT;
    }
}

/// Prints nodes without line breaks, except behind comments.
fn print_flat<'t>(nodes: &[Node<'_, 't>], rest: usize, lines: &mut Lines<'t>) {
    for node in nodes {
        match node {
            Node::Piece(piece) => lines.put(piece, rest),
            Node::Bracket(bracket) => print_bracket_flat(bracket, rest, lines),
            Node::Conditional(arms) => {
                arms.iter().for_each(|arm| print_arm_flat(arm, rest, lines));
            }
        }
    }
}

fn print_bracket_flat<'t>(bracket: &Bracket<'_, 't>, rest: usize, lines: &mut Lines<'t>) {
    lines.put(bracket.open, rest);
    print_flat(&bracket.inside, rest, lines);
    if let Some(close) = bracket.close {
        lines.put(close, rest);
    }
}

fn print_arm_flat<'t>(arm: &Arm<'_, 't>, rest: usize, lines: &mut Lines<'t>) {
    print_flat(&arm.head, rest, lines);
    print_bracket_flat(&arm.value, rest, lines);
}

impl Bracket<'_, '_> {
    /// What its contents are.
    fn place(&self) -> Place {
        let mut inside = self.inside.iter().filter(|node| !node.is_comment());
        match (inside.next(), inside.next()) {
            (Some(_), Some(second)) if second.is_kind(Kind::In) => Place::Binders,
            _ => Place::Other,
        }
    }

    /// Whether it has a single element which is opened instead of it.
    fn leaves_element(&self) -> bool {
        let place = self.place();
        let gaps = Parts::split(&self.inside, place).strength;
        let opens = self.inside.last().is_some_and(Node::can_open);
        !self.kept
            && place == Place::Other
            && !self.open.is_kind(Kind::LeftBrace)
            && opens
            && gaps == Strength::Space
            && !self.inside.iter().any(Node::is_comment)
    }
}

/// Nodes, cut where they hold together least.
struct Parts<'a, 'p, 't> {
    nodes: Vec<&'a [Node<'p, 't>]>,
    strength: Strength,
}

impl<'a, 'p, 't> Parts<'a, 'p, 't> {
    fn split(nodes: &'a [Node<'p, 't>], place: Place) -> Parts<'a, 'p, 't> {
        let gaps = nodes
            .iter()
            .enumerate()
            .filter_map(|(i, node)| gap(nodes.get(..i).unwrap_or_default(), node, place));
        let strength = gaps.min().unwrap_or(Strength::Space);
        Parts::split_at(nodes, place, strength)
    }

    /// Cuts at the places of one strength. A comment behind code belongs to it.
    fn split_at(nodes: &'a [Node<'p, 't>], place: Place, strength: Strength) -> Parts<'a, 'p, 't> {
        let mut parts = Parts { nodes: Vec::new(), strength };
        let mut start = 0;
        for (i, node) in nodes.iter().enumerate() {
            let before = nodes.get(..i).unwrap_or_default();
            if gap(before, node, place) != Some(strength) {
                continue;
            }
            let own =
                before.iter().rev().take_while(|n| n.is_comment() && !n.is_trailing()).count();
            parts.nodes.extend(nodes.get(start..i - own));
            start = i - own;
        }
        // Comments on lines of their own behind everything else are a part, too.
        let own = nodes.iter().rev().take_while(|n| n.is_comment() && !n.is_trailing()).count();
        let end = (nodes.len() - own).max(start);
        for part in [nodes.get(start..end), nodes.get(end..)].into_iter().flatten() {
            parts.nodes.extend(Some(part).filter(|part| !part.is_empty()));
        }
        parts
    }
}

/// How tightly a token holds together with what is before it; none if it cannot begin a line.
fn gap(before: &[Node<'_, '_>], node: &Node<'_, '_>, place: Place) -> Option<Strength> {
    let last = before.iter().rev().find(|node| !node.is_comment())?;
    if node.is_comment() || !has_space(node) {
        return None;
    }
    let behind = match last {
        Node::Piece(piece) if place == Place::Link && piece.is_kind(Kind::Comma) => {
            let is_later =
                before.iter().any(|node| node.is_kind(Kind::Equal) || node.is_kind(Kind::In));
            Some(if is_later { Strength::Comma } else { Strength::Properties })
        }
        Node::Piece(piece) => strength_behind(piece.token.kind, place),
        _ => None,
    };
    behind.or_else(|| strength_before(last, node, place))
}

fn has_space(node: &Node<'_, '_>) -> bool {
    node.first().is_some_and(|piece| piece.space)
}

fn space_before(node: &Node<'_, '_>) -> usize {
    usize::from(has_space(node))
}

fn strength_behind(last: Kind, place: Place) -> Option<Strength> {
    match last {
        Kind::Comma => Some(Strength::Comma),
        Kind::Equal if place != Place::Operation => Some(Strength::Assignment),
        Kind::Colon if matches!(place, Place::Binders | Place::Link) => Some(Strength::Clause),
        _ => None,
    }
}

fn strength_before(last: &Node<'_, '_>, node: &Node<'_, '_>, place: Place) -> Option<Strength> {
    let Node::Piece(piece) = node else { return Some(Strength::Space) };
    let follows_value = last.ends_value();
    let is_clause = match piece.token.kind {
        Kind::Arrow | Kind::Via | Kind::Relaxed => place == Place::Operation,
        Kind::Op | Kind::Sync | Kind::Slice => place == Place::Operation && follows_value,
        Kind::To => place == Place::Channel && follows_value,
        Kind::On | Kind::Without => place == Place::Machine && follows_value,
        _ => false,
    };
    if is_clause {
        return Some(Strength::Clause);
    }
    Some(match piece.token.kind {
        Kind::If if follows_value => Strength::Filter,
        Kind::RangeHalfOpen | Kind::RangeInclusive | Kind::RangeLength => Strength::Range,
        Kind::Arrow | Kind::BothArrow if place == Place::Link => Strength::Range,
        kind if follows_value => precedence(kind).map_or(Strength::Space, Strength::Operator),
        _ => Strength::Space,
    })
}

/// The precedence of an operator between two values, from the loosest.
fn precedence(kind: Kind) -> Option<u8> {
    match kind {
        Kind::OrOr => Some(0),
        Kind::AndAnd => Some(1),
        Kind::EqualEqual | Kind::NotEqual | Kind::Less | Kind::LessEqual => Some(2),
        Kind::Greater | Kind::GreaterEqual => Some(2),
        Kind::Or => Some(3),
        Kind::Caret => Some(4),
        Kind::And => Some(5),
        Kind::ShiftLeft | Kind::ShiftRight => Some(6),
        Kind::Plus | Kind::Minus => Some(7),
        Kind::Star | Kind::Slash | Kind::Percent => Some(8),
        _ => None,
    }
}

/// Whether nodes fit on the last line, with so many columns behind them.
fn has_room(nodes: &[Node<'_, '_>], tail: usize, lines: &Lines<'_>) -> bool {
    let space = if lines.is_fresh() { 0 } else { nodes.first().map_or(0, space_before) };
    width(nodes).is_some_and(|width| lines.has_room(width + space + tail))
}

/// The columns of nodes on one line, without the space before them; none if they need several lines.
fn width(nodes: &[Node<'_, '_>]) -> Option<usize> {
    let mut columns = 0;
    for (i, node) in nodes.iter().enumerate() {
        columns += if i > 0 { space_before(node) } else { 0 };
        columns += match node {
            Node::Piece(piece) if piece.is_comment() => return None,
            Node::Piece(piece) => piece.token.text.chars().count(),
            Node::Bracket(bracket) => bracket_width(bracket)?,
            Node::Conditional(arms) => conditional_width(arms)?,
        };
    }
    Some(columns)
}

fn bracket_width(bracket: &Bracket<'_, '_>) -> Option<usize> {
    if bracket.kept {
        return None;
    }
    let inside = width(&bracket.inside)?;
    let spaces = bracket.inside.first().map_or(0, space_before)
        + usize::from(bracket.close.is_some_and(|close| close.space));
    Some(2 + inside + spaces)
}

fn conditional_width(arms: &[Arm<'_, '_>]) -> Option<usize> {
    let mut columns = 0;
    for (i, arm) in arms.iter().enumerate() {
        // Each `else` and each brace is behind a space.
        columns += usize::from(i > 0) + width(&arm.head)? + 1 + bracket_width(&arm.value)?;
    }
    Some(columns)
}

/// The columns up to the next place where a line can go on, and behind that if there is none.
fn glued(nodes: &[Node<'_, '_>], place: Place, tail: usize) -> usize {
    let mut columns = 0;
    for (i, node) in nodes.iter().enumerate() {
        let before = nodes.get(..i).unwrap_or_default();
        if node.is_comment() || gap(before, node, place).is_some() {
            return columns;
        }
        columns += if i > 0 { space_before(node) } else { 0 };
        columns += match node {
            Node::Piece(piece) => piece.token.text.chars().count(),
            Node::Bracket(bracket) if bracket.inside.is_empty() => 2,
            // It can be opened.
            Node::Bracket(_) => return columns + 1,
            Node::Conditional(_) => return columns + "if".len(),
        };
    }
    columns + tail
}

/// The columns from behind a bracket up to the next one.
fn glued_to_bracket(nodes: &[Node<'_, '_>], tail: usize) -> usize {
    let mut columns = 0;
    for node in nodes {
        columns += space_before(node);
        columns += match node {
            Node::Piece(piece) if piece.is_comment() => return columns,
            Node::Piece(piece) => piece.token.text.chars().count(),
            Node::Bracket(bracket) if bracket.inside.is_empty() => 2,
            Node::Bracket(_) => return columns + 1,
            Node::Conditional(_) => return columns + "if".len(),
        };
    }
    columns + tail
}
