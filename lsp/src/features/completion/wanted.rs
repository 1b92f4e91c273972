//! The type that a value at the cursor must have, and what has it.

use super::scope::Scope;
use crate::features::signature;
use compiler::syntax::token::{Kind, Token};
use lsp_types::CompletionItem;

/// What is wanted at the cursor.
pub(super) struct Wanted {
    ty: Option<String>,
    /// Whether nothing else can be there.
    only: bool,
    /// Whether it is an index that may be `*`.
    pub(super) is_index_of_family: bool,
}

/// How well a type fits the wanted one, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It is the wanted one.
    Same,
    /// It can be used in its place.
    Alike,
    /// It is not known.
    Unknown,
    /// It is another one.
    Other,
}

/// The type of lists of any type.
const ANY_LIST: &str = "[]";

impl Wanted {
    /// What is wanted at the end of a statement's tokens.
    pub(super) fn at(scope: &Scope<'_>, statement: &[Token<'_>]) -> Wanted {
        let wanted =
            |ty: &str| Wanted { ty: Some(ty.to_owned()), only: false, is_index_of_family: false };
        match statement.last().map(|token| token.kind) {
            Some(Kind::In) => return wanted(ANY_LIST),
            Some(Kind::If | Kind::Require) => return wanted("bool"),
            _ => {}
        }
        if let Some(name) = indexed(statement) {
            let index = scope.index_of(name);
            let begins = matches!(
                statement.last().map(|token| token.kind),
                Some(Kind::LeftBracket | Kind::Comma)
            );
            let ty = scope.type_of(name);
            let is_list = ty.is_some_and(|ty| matches!(&*ty, "channel[]" | "semaphore[]"));
            let is_index_of_family = begins && (index.is_some() || is_list);
            return Wanted { is_index_of_family, ..wanted(index.unwrap_or("int")) };
        }
        let ty = signature::expected(scope.analysis(), scope.part(), statement);
        let only = ty.as_deref() == Some("rank");
        Wanted { ty, only, is_index_of_family: false }
    }

    /// The wanted type, if it is known.
    pub(super) fn ty(&self) -> Option<&str> {
        self.ty.as_deref()
    }

    /// Items of which `type_of` knows the types, those that fit best first.
    pub(super) fn sorted(
        &self,
        mut items: Vec<CompletionItem>,
        type_of: impl Fn(&CompletionItem) -> Option<String>,
    ) -> Vec<CompletionItem> {
        let fit = |item: &CompletionItem| self.fit(type_of(item).as_deref());
        items.retain(|item| !self.only || fit(item) != Fit::Other);
        items.sort_by_key(fit);
        items
    }

    /// Sorted values in two: those that fit, and the others.
    pub(super) fn parted(
        &self,
        values: Vec<CompletionItem>,
    ) -> (Vec<CompletionItem>, Vec<CompletionItem>) {
        values.into_iter().partition(|item| self.fit(item.detail.as_deref()) <= Fit::Alike)
    }

    fn fit(&self, ty: Option<&str>) -> Fit {
        let (Some(wanted), Some(ty)) = (self.ty(), ty.filter(|ty| *ty != "?")) else {
            return Fit::Unknown;
        };
        let is_number = |ty: &str| matches!(ty.trim_end_matches("[]"), "int" | "rank");
        let lists = |ty: &str| ty.matches("[]").count();
        if wanted == ty || wanted == ANY_LIST && ty.ends_with("[]") {
            Fit::Same
        } else if is_number(wanted) && is_number(ty) && lists(wanted) == lists(ty) {
            Fit::Alike
        } else {
            Fit::Other
        }
    }
}

/// What has the index that is open at the end of some tokens.
fn indexed<'t>(statement: &[Token<'t>]) -> Option<&'t str> {
    let mut depth = 0_usize;
    for (at, token) in statement.iter().enumerate().rev() {
        if token.kind.is_closer() {
            depth += 1;
        } else if token.kind.is_opener() && depth > 0 {
            depth -= 1;
        } else if token.kind.is_opener() {
            let named = at.checked_sub(1).and_then(|before| statement.get(before));
            let named =
                named.filter(|named| named.kind.is_name() && token.kind == Kind::LeftBracket);
            return named.map(|named| named.text);
        }
    }
    None
}

/// The type of what is called or named, as its declaration in the item's detail says.
pub(super) fn result(item: &CompletionItem) -> Option<String> {
    let (_, ty) = item.detail.as_ref()?.rsplit_once(" -> ")?;
    Some(ty.to_owned())
}

/// The type of a builtin function's result.
pub(super) fn builtin_result(item: &CompletionItem) -> Option<String> {
    match item.label.as_str() {
        "all" | "any" => Some("bool".to_owned()),
        "rank_at" => Some("rank".to_owned()),
        _ => int(),
    }
}

/// The type of most builtin names.
pub(super) fn int() -> Option<String> {
    Some("int".to_owned())
}
