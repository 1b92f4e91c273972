//! Statements, with the numbers in them separate from the text.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A rank, for which formulas of ranks are tried first.
    Rank,
    /// Anything else.
    Number,
}

/// A number that differs from rank to rank and from turn to turn.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) kind: Kind,
    /// One for each rank; in a loop, for each rank one for each turn, and so on inward.
    pub(super) values: Vec<i64>,
}

/// What a sequence consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// Statements, each on a line of its own.
    Statements,
    /// Members of a list, separated by commas.
    Members,
}

/// What a loop runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Domain {
    /// Numbers from 0.
    Count,
    /// Ranks for which the language has a name.
    Peers(super::world::Peers),
}

/// Is called with a number and the loops around it, from the outermost in; returns whether to continue.
pub(super) type Visit<'v, 'n> = dyn FnMut(&'n Number, &[(Domain, usize)]) -> bool + 'v;

/// A piece of text.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Text that is the same everywhere.
    Text(Cow<'static, str>),
    /// A number, which becomes an expression.
    Number(Number),
    /// The rank that owns some memory, with the dot after it.
    Owner(Number),
    /// Several pieces, one after the other.
    Parts(Vec<Node>),
    /// Any number of pieces of one kind.
    Sequence(Form, Vec<Node>),
    /// Pieces that are repeated.
    Loop(Loop),
}

/// Members of a sequence that repeat.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) form: Form,
    pub(super) domain: Domain,
    pub(super) turns: usize,
    pub(super) body: Vec<Node>,
}

impl Node {
    /// Text.
    pub(super) fn text(text: impl Into<Cow<'static, str>>) -> Node {
        Node::Text(text.into())
    }

    /// A number on one rank.
    pub(super) fn number(value: impl Into<i64>) -> Node {
        Node::Number(Number { kind: Kind::Number, values: vec![value.into()] })
    }

    /// A rank, as a number on one rank.
    pub(super) fn rank(value: impl Into<i64>) -> Node {
        Node::Number(Number { kind: Kind::Rank, values: vec![value.into()] })
    }

    /// The owner of memory, as a number on one rank.
    pub(super) fn owner(value: impl Into<i64>) -> Node {
        Node::Owner(Number { kind: Kind::Rank, values: vec![value.into()] })
    }

    /// A hash that is equal for pieces that differ only in numbers.
    pub(super) fn skeleton(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash_skeleton(&mut hasher);
        hasher.finish()
    }

    fn hash_skeleton(&self, hasher: &mut DefaultHasher) {
        std::mem::discriminant(self).hash(hasher);
        let all = |nodes: &[Node], hasher: &mut DefaultHasher| {
            nodes.len().hash(hasher);
            nodes.iter().for_each(|node| node.hash_skeleton(hasher));
        };
        match self {
            Node::Text(text) => text.hash(hasher),
            Node::Number(number) | Node::Owner(number) => number.kind.hash(hasher),
            Node::Parts(nodes) => all(nodes, hasher),
            Node::Sequence(form, nodes) => {
                form.hash(hasher);
                all(nodes, hasher);
            }
            Node::Loop(repeat) => {
                (repeat.form, repeat.domain, repeat.turns).hash(hasher);
                all(&repeat.body, hasher);
            }
        }
    }

    /// Merges copies of one piece, so that each number has the values of all copies: for each of `ranks` ranks those of
    /// the first copy, of the second, and so on. None if the copies differ in more than numbers.
    pub(super) fn merge(copies: &[&Node], ranks: usize) -> Option<Node> {
        let first = *copies.first()?;
        let alike = |copy: &&Node| std::mem::discriminant(*copy) == std::mem::discriminant(first);
        if !copies.iter().all(alike) {
            return None;
        }
        let nodes = || {
            let lists: Vec<&[Node]> =
                copies.iter().map(|copy| copy.children()).collect::<Option<_>>()?;
            merge_lists(&lists, ranks)
        };
        Some(match first {
            Node::Text(text) => {
                let same = |copy: &&Node| matches!(copy, Node::Text(other) if other == text);
                copies.iter().all(same).then(|| first.clone())?
            }
            Node::Number(_) => Node::Number(merge_numbers(copies, ranks)?),
            Node::Owner(_) => Node::Owner(merge_numbers(copies, ranks)?),
            Node::Parts(_) => Node::Parts(nodes()?),
            Node::Sequence(form, _) => Node::Sequence(*form, nodes()?),
            Node::Loop(repeat) => Node::Loop(Loop { body: nodes()?, ..repeat.clone() }),
        })
    }

    /// Its parts.
    fn children(&self) -> Option<&[Node]> {
        match self {
            Node::Text(_) | Node::Number(_) | Node::Owner(_) => None,
            Node::Parts(nodes) | Node::Sequence(_, nodes) => Some(nodes),
            Node::Loop(repeat) => Some(&repeat.body),
        }
    }

    /// Calls `visit` for each number, with the loops around it in this piece, outermost first.
    pub(super) fn numbers<'n>(
        &'n self,
        loops: &mut Vec<(Domain, usize)>,
        visit: &mut Visit<'_, 'n>,
    ) -> bool {
        match self {
            Node::Text(_) => true,
            Node::Number(number) | Node::Owner(number) => visit(number, loops),
            Node::Parts(nodes) | Node::Sequence(_, nodes) => {
                nodes.iter().all(|node| node.numbers(loops, visit))
            }
            Node::Loop(repeat) => {
                loops.push((repeat.domain, repeat.turns));
                let all = repeat.body.iter().all(|node| node.numbers(loops, visit));
                loops.pop();
                all
            }
        }
    }

    /// Roughly how many lines it takes.
    pub(super) fn lines(&self) -> usize {
        match self {
            Node::Text(_) | Node::Number(_) | Node::Owner(_) => 0,
            Node::Sequence(Form::Members, _) | Node::Loop(Loop { form: Form::Members, .. }) => 0,
            Node::Parts(nodes) => 1 + nodes.iter().map(Node::lines).sum::<usize>(),
            Node::Sequence(Form::Statements, nodes) => {
                1 + nodes.iter().map(Node::lines).sum::<usize>()
            }
            Node::Loop(repeat) => 2 + repeat.body.iter().map(Node::lines).sum::<usize>(),
        }
    }
}

/// The same for lists of pieces, place by place.
pub(super) fn merge_lists(lists: &[&[Node]], ranks: usize) -> Option<Vec<Node>> {
    let length = lists.first()?.len();
    if lists.iter().any(|list| list.len() != length) {
        return None;
    }
    (0..length)
        .map(|at| {
            let copies: Vec<&Node> = lists.iter().filter_map(|list| list.get(at)).collect();
            Node::merge(&copies, ranks)
        })
        .collect()
}

fn merge_numbers(copies: &[&Node], ranks: usize) -> Option<Number> {
    let number = |node: &&Node| match node {
        Node::Number(number) | Node::Owner(number) => Some(number.clone()),
        Node::Text(_) | Node::Parts(_) | Node::Sequence(..) | Node::Loop(_) => None,
    };
    let numbers: Vec<Number> = copies.iter().map(number).collect::<Option<_>>()?;
    let kind = numbers.first()?.kind;
    let inner = numbers.first()?.values.len() / ranks.max(1);
    let mut values = Vec::with_capacity(inner * ranks * numbers.len());
    for rank in 0..ranks {
        for number in &numbers {
            values.extend(number.values.get(rank * inner..(rank + 1) * inner)?);
        }
    }
    numbers.iter().all(|number| number.kind == kind).then_some(Number { kind, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_by_rank_then_turn() {
        let of =
            |values: &[i64]| Node::Number(Number { kind: Kind::Number, values: values.to_vec() });
        let merged = Node::merge(&[&of(&[1, 2]), &of(&[10, 20]), &of(&[100, 200])], 2);
        let Some(Node::Number(number)) = merged else { panic!("numbers merge") };
        assert_eq!(number.values, [1, 10, 100, 2, 20, 200]);
    }

    #[test]
    fn text_must_agree() {
        assert!(Node::merge(&[&Node::text("a"), &Node::text("b")], 1).is_none());
        assert_eq!(Node::number(1).skeleton(), Node::number(2).skeleton());
        assert_ne!(Node::number(1).skeleton(), Node::rank(1).skeleton());
    }
}
