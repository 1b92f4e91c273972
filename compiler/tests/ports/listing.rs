//! A plan as the executor's loader sees it, line by line, and the number of operations of its
//! thread blocks.

use super::table::cclc;
use std::collections::BTreeMap;
use std::path::Path;

/// The output of `cclc list`.
pub(crate) struct Listing(Vec<String>);

/// The number of operations in a thread block, including `nop`s, and the number of `nop`s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// All operations.
    pub(crate) operations: usize,
    /// Joins of the block's threads.
    pub(crate) nops: usize,
}

impl Listing {
    /// Lists a plan.
    pub(crate) fn of(plan: &Path, form: &[&str]) -> Result<Self, String> {
        let plan = plan.display().to_string();
        let text = cclc(&[&["list", plan.as_str()], form].concat())?;
        Ok(Self(text.lines().map(str::to_owned).collect()))
    }

    /// Its lines.
    pub(crate) fn lines(&self) -> &[String] {
        &self.0
    }

    /// The counts of each thread block, by rank and block. A rank that the loader refuses has none.
    pub(crate) fn blocks(&self) -> BTreeMap<(u32, u32), Count> {
        let mut counts: BTreeMap<(u32, u32), Count> = BTreeMap::new();
        let (mut rank, mut block) = (0, 0);
        for line in &self.0 {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["rank", number, ..] => rank = number.parse().unwrap(),
                ["tb", number, ..] => {
                    block = number.parse().unwrap();
                    counts.entry((rank, block)).or_default();
                }
                [_, name, ..] if line.starts_with(' ') => {
                    let count = counts.entry((rank, block)).or_default();
                    count.operations += 1;
                    count.nops += usize::from(*name == "nop(0)");
                }
                _ => {}
            }
        }
        counts
    }

    /// The counts of all thread blocks together.
    pub(crate) fn counts(&self) -> Count {
        self.blocks().values().fold(Count::default(), |sum, block| Count {
            operations: sum.operations + block.operations,
            nops: sum.nops + block.nops,
        })
    }
}
