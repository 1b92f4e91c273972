//! Results of functions, by their arguments.
//!
//! Functions have no effects, so a call with the same numbers has the same result, unless the rank that evaluates it is
//! mentioned. Only functions of which a call took long are remembered.

use super::value::{List, Value};
use crate::resolve::program::FunctionId;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// How many steps a call must take for its function to be remembered from then on.
const LONG: u64 = 32;
/// How many numbers all arguments and results may have together.
const ROOM: i64 = 1 << 23;

/// A call: a function, and its arguments as numbers.
pub(super) type Key = (FunctionId, SmallVec<[i64; 4]>);

/// The results that are remembered.
#[derive(Default)]
pub(super) struct Memo {
    results: FxHashMap<Key, Value>,
    /// The functions of which a call took long.
    long: FxHashSet<FunctionId>,
    /// The numbers in arguments and results.
    used: i64,
    /// How often the rank that evaluates an expression was mentioned.
    mentions: u64,
}

/// The state before a call.
#[derive(Clone, Copy)]
pub(super) struct Before {
    fuel: u64,
    mentions: u64,
}

impl Memo {
    /// Notes that the result of the calls in progress depends on the rank.
    pub(super) fn mention_rank(&mut self) {
        self.mentions += 1;
    }

    /// The state before a call, with this much fuel left.
    pub(super) fn before(&self, fuel: u64) -> Before {
        Before { fuel, mentions: self.mentions }
    }

    /// The result of a call.
    pub(super) fn result(&self, key: &Key) -> Option<Value> {
        if self.long.contains(&key.0) { self.results.get(key).cloned() } else { None }
    }

    /// Remembers the result of a call if it took long, there is room, and it does not depend on the rank.
    pub(super) fn remember(&mut self, key: Key, value: &Value, before: Before, fuel: u64) {
        if before.fuel.saturating_sub(fuel) >= LONG {
            self.long.insert(key.0);
        }
        let size = key.1.len() as i64 + length(value);
        let fits = self.used.saturating_add(size) <= ROOM && before.mentions == self.mentions;
        if fits && self.long.contains(&key.0) {
            self.used += size;
            self.results.insert(key, value.clone());
        }
    }
}

/// A call with these arguments; none unless all are numbers.
pub(super) fn key(function: FunctionId, arguments: &[Value]) -> Option<Key> {
    let number = |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
    Some((function, arguments.iter().map(number).collect::<Option<_>>()?))
}

/// How many numbers are stored for a value, up to a few more than there is room for: lists may share their members, and name
/// far more of them than there are.
fn length(value: &Value) -> i64 {
    let Value::List(list) = value else { return 1 };
    match list {
        List::Range { .. } => 1,
        List::Ints(list) => list.len() as i64,
        List::Values(list) => {
            let mut all = 1;
            for member in list.iter() {
                all += length(member);
                if all > ROOM {
                    break;
                }
            }
            all
        }
    }
}
