//! Members of families of channels and semaphores: names followed by brackets.

use super::domain::Domain;
use super::eval::{Eval, Evaluated, Failed, MAX_LIST};
use super::lists::too_long;
use super::value::{Value, list_of};
use super::world::Family;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{ChannelFamilyId, Index, SemaphoreFamilyId};
use crate::source::Span;
use crate::table::Id;

impl<'a> Eval<'_, 'a> {
    /// `mem`, `mem[p]`, `mem[p, *]`
    pub(super) fn channels(
        &mut self,
        id: ChannelFamilyId,
        indices: &'a [Index],
        span: Span,
    ) -> Evaluated<Value> {
        let own = self.own.clone();
        let world = self.world;
        let name = &world.program.channels[id].name;
        let Some(Some(family)) = own.channels.get(id.index()) else {
            return Err(self.fail_at(String::new(), too_early(span)));
        };
        self.members(family, name, indices, span, &|number| {
            let row = own.channel_rows.get(number as usize).copied();
            Value::Channel(row.unwrap_or(ir::ChannelId(number as u32)))
        })
    }

    /// `ready`, `ready[p]`, `ready[*]`
    pub(super) fn semaphores(
        &mut self,
        id: SemaphoreFamilyId,
        indices: &'a [Index],
        span: Span,
    ) -> Evaluated<Value> {
        let own = self.own.clone();
        let world = self.world;
        let name = &world.program.semaphores[id].name;
        let Some(Some(family)) = own.semaphores.get(id.index()) else {
            return Err(self.fail_at(String::new(), too_early(span)));
        };
        self.members(family, name, indices, span, &|number| {
            Value::Semaphore(ir::SemaphoreId(number as u32))
        })
    }

    /// The members that indices select: one, or a list if an index is `*` or a list, or if there are no indices.
    fn members(
        &mut self,
        family: &Family,
        name: &'a str,
        indices: &'a [Index],
        span: Span,
        value: &dyn Fn(u64) -> Value,
    ) -> Evaluated<Value> {
        let single = indices.is_empty() && matches!(family.domain, Domain::Leaf);
        let (tuples, several) = self.index_tuples(&family.domain, indices)?;
        let mut found = Vec::with_capacity(tuples.len());
        for tuple in tuples {
            match family.domain.position(&tuple) {
                Ok(number) => found.push(value(family.first + number)),
                Err(_) => {
                    let values = super::situation::of_indices(self, indices);
                    return Err(self.fail_at(values, no_member(span, name, &tuple, &family.domain)));
                }
            }
        }
        match (several && !single, found.first()) {
            (false, Some(value)) => Ok(value.clone()),
            _ => Ok(Value::List(list_of(found))),
        }
    }

    /// The index tuples that brackets select in a domain, and whether there can be several.
    pub(super) fn index_tuples(
        &mut self,
        domain: &Domain,
        indices: &'a [Index],
    ) -> Evaluated<(Vec<Vec<i64>>, bool)> {
        if indices.is_empty() {
            return Ok((domain.members(), true));
        }
        let mut tuples = vec![Vec::with_capacity(indices.len())];
        let mut several = false;
        for index in indices {
            let picked = self.picked(index)?;
            several |= !matches!(picked, Picked::One(_));
            let mut longer = Vec::new();
            for tuple in tuples {
                let below = tuple.iter().try_fold(domain, |domain, value| domain.below(*value));
                let values = picked.values(below);
                longer.extend(
                    values.into_iter().map(|value| tuple.iter().copied().chain([value]).collect()),
                );
                if longer.len() as i64 > MAX_LIST {
                    return Err(self.fail_at(String::new(), too_long(index.span())));
                }
            }
            tuples = longer;
        }
        Ok((tuples, several))
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    fn picked(&mut self, index: &'a Index) -> Evaluated<Picked> {
        Ok(match index {
            Index::All(_) | Index::Whole(_) => Picked::All,
            Index::At(expr) => match self.value(expr)? {
                Value::Int(value) => Picked::One(value),
                Value::List(list) if list.len() > MAX_LIST => {
                    return Err(self.fail(expr, too_long(expr.span)));
                }
                Value::List(list) => {
                    self.spend_steps(list.len().unsigned_abs(), expr.span)?;
                    let int = |member| if let Value::Int(n) = member { Some(n) } else { None };
                    Picked::Many(list.iter().filter_map(int).collect())
                }
                _ => return Err(Failed),
            },
            Index::To(expr, inclusive) => {
                Picked::Below(self.int(expr)?.saturating_add(i64::from(*inclusive)))
            }
            Index::From(expr) => Picked::From(self.int(expr)?),
        })
    }
}

enum Picked {
    All,
    One(i64),
    Many(Vec<i64>),
    Below(i64),
    From(i64),
}

impl Picked {
    fn values(&self, domain: Option<&Domain>) -> Vec<i64> {
        let all = || domain.map(Domain::values).unwrap_or_default();
        match self {
            Picked::All => all(),
            Picked::One(value) => vec![*value],
            Picked::Many(values) => values.clone(),
            Picked::Below(end) => all().into_iter().filter(|value| value < end).collect(),
            Picked::From(start) => all().into_iter().filter(|value| value >= start).collect(),
        }
    }
}

/// `0, 1, 2`: at most a dozen values, then the number of all.
pub(super) fn few(values: &[i64]) -> String {
    let shown: Vec<String> = values.iter().take(12).map(ToString::to_string).collect();
    match values.len() {
        1 => format!("index {}", shown.join(", ")),
        0..=12 => format!("indices {}", shown.join(", ")),
        more => format!("indices {}, .. ({more} in all)", shown.join(", ")),
    }
}

fn no_member(span: Span, name: &str, tuple: &[i64], domain: &Domain) -> Diagnostic {
    let indices: Vec<String> = tuple.iter().map(ToString::to_string).collect();
    let diagnostic = Diagnostic::new(
        Code::E0304,
        span,
        format!("there is no `{name}[{}]` here", indices.join(", ")),
    );
    let (begun, domain) = known(tuple, domain);
    let name = match begun.is_empty() {
        true => name.to_owned(),
        false => {
            format!("{name}[{}, ..]", indices.get(..begun.len()).unwrap_or_default().join(", "))
        }
    };
    match domain.values() {
        values if values.is_empty() => {
            diagnostic.note(format!("`{name}` has no members on this rank"))
        }
        values => diagnostic.note(format!("`{name}` is declared only for {}", few(&values))),
    }
}

/// The longest prefix of the indices that exists in the domain, and the domain below it.
fn known<'t, 'd>(tuple: &'t [i64], domain: &'d Domain) -> (&'t [i64], &'d Domain) {
    let mut found = domain;
    for (depth, index) in tuple.iter().enumerate() {
        match found.below(*index) {
            Some(below) => found = below,
            None => return (tuple.get(..depth).unwrap_or_default(), found),
        }
    }
    (tuple, found)
}

/// Something that is used before its declaration.
pub(super) fn too_early(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0314, span, "this is used before it is declared")
        .help("move the declaration up")
}
