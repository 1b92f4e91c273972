//! Signatures: what callers know about functions, procedures, collectives, topologies and constants. Plain
//! data.

use super::program::{CollectiveId, ConstantId, FunctionId, ProcedureId, TopologyId};
use super::types::Ty;
use crate::source::Span;
use crate::table::Table;

/// The signatures of everything that can be called or named at the top of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Signatures {
    /// Those of functions.
    pub(super) functions: Table<FunctionId, Signature>,
    /// Those of procedures.
    pub(super) procedures: Table<ProcedureId, Signature>,
    /// Those of collectives.
    pub(super) collectives: Table<CollectiveId, Signature>,
    /// Those of topologies.
    pub(super) topologies: Table<TopologyId, Signature>,
    /// Those of constants: the result is the constant's type.
    pub(super) constants: Table<ConstantId, Signature>,
}

/// What a caller knows about a declaration.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// Its parameters.
    pub(super) parameters: Vec<Takes>,
    /// The type of its result; meaningless for procedures and collectives.
    pub(super) result: Ty,
    /// What its value depends on, apart from its arguments.
    pub(super) needs: Needs,
    /// What a procedure does.
    pub(super) effects: Effects,
    /// Where its name is.
    pub(super) span: Span,
}

/// What a caller knows about a parameter.
#[derive(Clone, Debug)]
pub(super) struct Takes {
    /// Its name.
    pub(super) name: String,
    /// Where it is.
    pub(super) span: Span,
    /// Its type.
    pub(super) ty: Ty,
    /// Whether an argument may be left out.
    pub(super) optional: bool,
}

/// What a value depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The rank: it differs from rank to rank.
    pub(super) rank: bool,
    /// The number of ranks or nodes, which only a program knows.
    pub(super) ranks: bool,
}

impl Needs {
    /// What depends on either.
    pub(super) fn and(self, other: Needs) -> Needs {
        Needs { rank: self.rank || other.rank, ranks: self.ranks || other.ranks }
    }
}

/// What the statements of a procedure require of the place that calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    /// An operation that is in no group, if there is one: the procedure must be called in a block.
    pub(super) operates: Option<Span>,
    /// An operation that synchronizes, if there is one: no group may call the procedure.
    pub(super) synchronizes: Option<Span>,
    /// A group, barrier or pipeline, if there is one: the procedure must be called outside blocks.
    pub(super) arranges: Option<Span>,
}

impl Effects {
    /// What either requires.
    pub(super) fn and(self, other: Effects) -> Effects {
        Effects {
            operates: self.operates.or(other.operates),
            synchronizes: self.synchronizes.or(other.synchronizes),
            arranges: self.arranges.or(other.arranges),
        }
    }
}
