//! What callers know of functions, procedures, collectives and constants: plain data.

use super::program::{CollectiveId, ConstantId, FunctionId, ProcedureId};
use super::types::Ty;
use crate::source::Span;
use crate::table::Table;

/// Everything that can be called or named at the top of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Signatures {
    /// Of functions.
    pub(super) functions: Table<FunctionId, Signature>,
    /// Of procedures.
    pub(super) procedures: Table<ProcedureId, Signature>,
    /// Of collectives.
    pub(super) collectives: Table<CollectiveId, Signature>,
    /// Of constants: the result is the type.
    pub(super) constants: Table<ConstantId, Signature>,
}

/// What a caller knows.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// What it takes.
    pub(super) parameters: Vec<Takes>,
    /// What it gives; of procedures and collectives nothing.
    pub(super) result: Ty,
    /// What its value follows from, arguments aside.
    pub(super) needs: Needs,
    /// What a procedure does.
    pub(super) effects: Effects,
    /// Where its name stands.
    pub(super) span: Span,
}

/// A parameter, as a caller knows it.
#[derive(Clone, Debug)]
pub(super) struct Takes {
    /// Its name.
    pub(super) name: String,
    /// Where it stands.
    pub(super) span: Span,
    /// Its type.
    pub(super) ty: Ty,
    /// Whether an argument may be left out.
    pub(super) optional: bool,
}

/// What a value follows from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Differs from rank to rank.
    pub(super) rank: bool,
    /// Follows from the number of ranks or nodes, which only a program knows.
    pub(super) ranks: bool,
}

impl Needs {
    /// What follows from either.
    pub(super) fn and(self, other: Needs) -> Needs {
        Needs { rank: self.rank || other.rank, ranks: self.ranks || other.ranks }
    }
}

/// What the statements of a procedure ask of the place that calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    /// It has operations that stand in no group: it must be called in a block.
    pub(super) operates: Option<Span>,
    /// One of them synchronizes: no group may call it.
    pub(super) synchronizes: Option<Span>,
    /// It has groups, barriers or pipelines: it must be called outside blocks.
    pub(super) arranges: Option<Span>,
}

impl Effects {
    /// What both ask.
    pub(super) fn and(self, other: Effects) -> Effects {
        Effects {
            operates: self.operates.or(other.operates),
            synchronizes: self.synchronizes.or(other.synchronizes),
            arranges: self.arranges.or(other.arranges),
        }
    }
}
