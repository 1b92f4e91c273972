//! Types during inference. In: pairs of types that must agree. Out: types without unknowns.
//!
//! These are the types of [`Type`], and variables. `int` and `rank` agree. A variable that is unified with `rank`
//! becomes `int`, since only a written `rank` is checked to be one; a variable that stays unknown becomes `int`.

use super::program::Type;
use crate::syntax::ast;

/// How deep lists may nest: types are traversed recursively, and nobody needs more dimensions than that.
pub(super) const DEPTH: usize = 16;

/// A type that may still be unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// `int`
    Int,
    /// `rank`
    Rank,
    /// `bool`
    Bool,
    /// Text.
    Str,
    /// `rate`
    Rate,
    /// `time`
    Time,
    /// `chunk`
    Chunk,
    /// `buffer`
    Buffer,
    /// `channel`
    Channel,
    /// `semaphore`
    Semaphore,
    /// `block`
    Block,
    /// A list.
    List(Box<Ty>),
    /// A type that has been reported as wrong.
    Error,
    /// Not known yet.
    Var(usize),
}

impl Ty {
    /// The type of lists of it.
    pub(super) fn list(self) -> Ty {
        Ty::List(Box::new(self))
    }
}

/// What is known about type variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Types {
    solved: Vec<Option<Ty>>,
}

impl Types {
    /// A new type variable.
    pub(super) fn fresh(&mut self) -> Ty {
        self.solved.push(None);
        Ty::Var(self.solved.len() - 1)
    }

    /// The type; if it is a variable that has been solved, the solution.
    pub(super) fn known(&self, ty: &Ty) -> Ty {
        let mut ty = ty;
        while let Ty::Var(variable) = ty {
            match self.solved.get(*variable).and_then(Option::as_ref) {
                Some(next) => ty = next,
                None => break,
            }
        }
        ty.clone()
    }

    /// Makes two types agree, if they can.
    pub(super) fn unify(&mut self, left: &Ty, right: &Ty) -> bool {
        match (self.known(left), self.known(right)) {
            (Ty::Error, _) | (_, Ty::Error) => true,
            (Ty::Var(a), Ty::Var(b)) if a == b => true,
            (Ty::Var(variable), other) | (other, Ty::Var(variable)) => self.solve(variable, other),
            (Ty::List(a), Ty::List(b)) => self.unify(&a, &b),
            (Ty::Int | Ty::Rank, Ty::Int | Ty::Rank) => true,
            (a, b) => a == b,
        }
    }

    /// The type of an expression with two branches, if these agree: `int` if one of them is `rank`.
    pub(super) fn join(&mut self, left: &Ty, right: &Ty) -> Option<Ty> {
        if !self.unify(left, right) {
            return None;
        }
        let (left, right) = (self.known(left), self.known(right));
        Some(match (&left, &right) {
            (Ty::Rank, Ty::Int) | (Ty::Error, _) => right,
            _ => left,
        })
    }

    /// The type with its variables replaced.
    pub(super) fn close(&self, ty: &Ty) -> Type {
        match self.known(ty) {
            Ty::Int | Ty::Var(_) => Type::Int,
            Ty::Rank => Type::Rank,
            Ty::Bool => Type::Bool,
            Ty::Str => Type::Str,
            Ty::Rate => Type::Rate,
            Ty::Time => Type::Time,
            Ty::Chunk => Type::Chunk,
            Ty::Buffer => Type::Buffer,
            Ty::Channel => Type::Channel,
            Ty::Semaphore => Type::Semaphore,
            Ty::Block => Type::Block,
            Ty::List(member) => Type::List(Box::new(self.close(&member))),
            Ty::Error => Type::Error,
        }
    }

    /// How many lists are nested around the member, up to [`DEPTH`] + 1.
    pub(super) fn depth(&self, ty: &Ty) -> usize {
        let mut ty = self.known(ty);
        for depth in 0..=DEPTH {
            let Ty::List(member) = ty else { return depth };
            ty = self.known(&member);
        }
        DEPTH + 1
    }

    fn solve(&mut self, variable: usize, ty: Ty) -> bool {
        let ty = if ty == Ty::Rank { Ty::Int } else { ty };
        if self.occurs(variable, &ty) || self.depth(&ty) > DEPTH {
            return false;
        }
        if let Some(slot) = self.solved.get_mut(variable) {
            *slot = Some(ty);
        }
        true
    }

    fn occurs(&self, variable: usize, ty: &Ty) -> bool {
        let mut ty = self.known(ty);
        for _ in 0..=DEPTH {
            match ty {
                Ty::Var(other) => return other == variable,
                Ty::List(member) => ty = self.known(&member),
                Ty::Int
                | Ty::Rank
                | Ty::Bool
                | Ty::Str
                | Ty::Rate
                | Ty::Time
                | Ty::Chunk
                | Ty::Buffer
                | Ty::Channel
                | Ty::Semaphore
                | Ty::Block
                | Ty::Error => return false,
            }
        }
        false
    }
}

/// The same type, as one that can be unified.
pub(super) fn open(ty: &Type) -> Ty {
    match ty {
        Type::Int => Ty::Int,
        Type::Rank => Ty::Rank,
        Type::Bool => Ty::Bool,
        Type::Str => Ty::Str,
        Type::Rate => Ty::Rate,
        Type::Time => Ty::Time,
        Type::Chunk => Ty::Chunk,
        Type::Buffer => Ty::Buffer,
        Type::Channel => Ty::Channel,
        Type::Semaphore => Ty::Semaphore,
        Type::Block => Ty::Block,
        Type::List(member) => open(member).list(),
        Type::Error => Ty::Error,
    }
}

/// The words that name types.
pub(super) const WORDS: &[&str] =
    &["int", "rank", "bool", "rate", "time", "chunk", "buffer", "channel", "semaphore", "block"];

/// The type that a word stands for.
pub(super) fn word(name: &str) -> Option<Ty> {
    Some(match name {
        "int" => Ty::Int,
        "rank" => Ty::Rank,
        "bool" => Ty::Bool,
        "rate" => Ty::Rate,
        "time" => Ty::Time,
        "chunk" => Ty::Chunk,
        "buffer" => Ty::Buffer,
        "channel" => Ty::Channel,
        "semaphore" => Ty::Semaphore,
        "block" => Ty::Block,
        _ => return None,
    })
}

/// The type that is written; none if the word is unknown or the lists nest too deep.
pub(super) fn written(ty: &ast::Type) -> Option<Ty> {
    let member = word(&ty.name.text)?;
    (ty.lists as usize <= DEPTH).then(|| (0..ty.lists).fold(member, |ty, _| ty.list()))
}

/// A description of a value of the type, such as "a channel".
pub(super) fn describe(ty: &Type) -> String {
    match ty {
        Type::List(member) => format!("a list of {}", plural(member)),
        Type::Int => "a number".to_owned(),
        Type::Rank => "a rank".to_owned(),
        Type::Bool => "a Boolean".to_owned(),
        Type::Str => "text".to_owned(),
        Type::Rate => "a rate".to_owned(),
        Type::Time => "a time".to_owned(),
        Type::Chunk => "a chunk".to_owned(),
        Type::Buffer => "a buffer".to_owned(),
        Type::Channel => "a channel".to_owned(),
        Type::Semaphore => "a semaphore".to_owned(),
        Type::Block => "a block".to_owned(),
        Type::Error => "unknown".to_owned(),
    }
}

/// A description of several values of the type, such as "channels".
pub(super) fn plural(ty: &Type) -> String {
    match ty {
        Type::List(member) => format!("lists of {}", plural(member)),
        Type::Int => "numbers".to_owned(),
        Type::Rank => "ranks".to_owned(),
        Type::Bool => "Booleans".to_owned(),
        Type::Str => "texts".to_owned(),
        Type::Rate => "rates".to_owned(),
        Type::Time => "times".to_owned(),
        Type::Chunk => "chunks".to_owned(),
        Type::Buffer => "buffers".to_owned(),
        Type::Channel => "channels".to_owned(),
        Type::Semaphore => "semaphores".to_owned(),
        Type::Block => "blocks".to_owned(),
        Type::Error => "unknowns".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_itself_is_refused() {
        let mut types = Types::default();
        let unknown = types.fresh();
        assert!(!types.unify(&unknown, &unknown.clone().list()));
    }

    #[test]
    fn an_unknown_that_meets_a_rank_is_a_number() {
        let mut types = Types::default();
        let unknown = types.fresh();
        assert!(types.unify(&unknown, &Ty::Rank));
        assert_eq!(types.close(&unknown), Type::Int);
    }

    #[test]
    fn what_is_known_of_one_unknown_is_known_of_its_equal() {
        let mut types = Types::default();
        let (a, b) = (types.fresh(), types.fresh());
        assert!(types.unify(&a, &b));
        assert!(types.unify(&b, &Ty::Channel.list()));
        assert_eq!(types.close(&a), Type::List(Box::new(Type::Channel)));
        assert!(!types.unify(&a, &Ty::Chunk));
    }

    #[test]
    fn depth_is_bounded() {
        let mut types = Types::default();
        let deep = (0..DEPTH).fold(Ty::Int, |ty, _| ty.list());
        let unknown = types.fresh();
        assert!(types.unify(&unknown, &deep));
        let other = types.fresh();
        assert!(!types.unify(&other, &unknown.list()));
    }
}
