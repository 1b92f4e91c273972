//! Statements with holes: the text of a kernel, in which every number that might differ between ranks and blocks is
//! separate from the text around it. Plain data.

use crate::ir::OriginId;

/// One statement, or the opening or closing of a loop.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// How deep it is in loops.
    pub(super) depth: usize,
    /// Its text and holes, in order.
    pub(super) pieces: Vec<Piece>,
    /// The operation that it does; none for statements that the compiler added.
    pub(super) origin: Option<OriginId>,
}

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    /// Text as it is.
    Text(String),
    /// A number.
    One(Kind, u32),
    /// A list of numbers.
    Many(Kind, Vec<u32>),
    /// A list of numbers that becomes a single number if all are the same.
    Even(Kind, Vec<u32>),
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A rank.
    Rank,
    /// A chunk of a buffer.
    Chunk,
    /// A channel among those between two ranks.
    Lane,
    /// A multicast group.
    Group,
    /// A semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// A number of chunks.
    Size,
    /// A block's place in a group of blocks.
    Share,
}

impl Kind {
    /// The name of a variable that holds such a number.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Rank => "rank",
            Kind::Chunk => "chunk",
            Kind::Lane => "lane",
            Kind::Group => "group",
            Kind::Semaphore => "semaphore",
            Kind::Barrier => "barrier",
            Kind::Size => "size",
            Kind::Share => "share",
        }
    }
}

impl Piece {
    /// The numbers in it.
    pub(super) fn numbers(&self) -> &[u32] {
        match self {
            Piece::Text(_) => &[],
            Piece::One(_, number) => std::slice::from_ref(number),
            Piece::Many(_, numbers) | Piece::Even(_, numbers) => numbers,
        }
    }
}

impl Statement {
    /// All numbers in it.
    pub(super) fn numbers(&self) -> impl Iterator<Item = &u32> {
        self.pieces.iter().flat_map(Piece::numbers)
    }

    pub(super) fn new(depth: usize, origin: Option<OriginId>) -> Statement {
        Statement { depth, pieces: Vec::new(), origin }
    }

    pub(super) fn text(mut self, text: &str) -> Statement {
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
        self
    }

    pub(super) fn one(mut self, kind: Kind, number: u32) -> Statement {
        self.pieces.push(Piece::One(kind, number));
        self
    }

    /// Adds a list; a list of one is a number.
    pub(super) fn many(mut self, kind: Kind, numbers: Vec<u32>) -> Statement {
        self.pieces.push(match numbers.as_slice() {
            [one] => Piece::One(kind, *one),
            [] | [_, ..] => Piece::Many(kind, numbers),
        });
        self
    }

    /// Adds a list that becomes a single number if all are the same.
    pub(super) fn even(mut self, kind: Kind, numbers: Vec<u32>) -> Statement {
        self.pieces.push(match numbers.as_slice() {
            [one] => Piece::One(kind, *one),
            [] | [_, ..] => Piece::Even(kind, numbers),
        });
        self
    }

    /// Whether another statement differs only in numbers.
    pub(super) fn is_like(&self, other: &Statement) -> bool {
        let like = |pair: (&Piece, &Piece)| match pair {
            (Piece::Text(one), Piece::Text(other)) => one == other,
            (Piece::One(one, _), Piece::One(other, _)) => one == other,
            (Piece::Many(one, these), Piece::Many(other, those))
            | (Piece::Even(one, these), Piece::Even(other, those)) => {
                one == other && these.len() == those.len()
            }
            (Piece::Text(_) | Piece::One(..) | Piece::Many(..) | Piece::Even(..), _) => false,
        };
        self.depth == other.depth
            && self.pieces.len() == other.pieces.len()
            && self.pieces.iter().zip(&other.pieces).all(like)
    }

    /// Whether it opens or closes a loop, or is in one.
    pub(super) fn is_loop(&self) -> bool {
        let ends = |text: &String| text.ends_with('{') || text == "}";
        self.depth > 0 || matches!(self.pieces.as_slice(), [Piece::Text(text)] if ends(text))
    }

    /// Adds the statement without its numbers to `shape`: what two blocks must have in common to share it.
    pub(super) fn shape(&self, shape: &mut String) {
        shape.push_str(&format!("\n{}", self.depth));
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => shape.push_str(text),
                Piece::One(kind, _) => shape.push_str(&format!("\u{1}{}", kind.name())),
                Piece::Many(kind, numbers) | Piece::Even(kind, numbers) => {
                    shape.push_str(&format!("\u{2}{}{}", kind.name(), numbers.len()));
                }
            }
        }
    }
}
