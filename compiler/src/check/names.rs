//! The names of memory and ranks in reports.

use crate::ir::{Buffer, Program, RankId, Region, region};

/// How many ranks of a list are written out.
const LISTED: usize = 8;

/// "rank 1", "ranks 0 and 2", "ranks 1 to 7"; of a long list, the first few.
pub(crate) fn ranks(list: &[u32]) -> String {
    match list {
        [] => "nobody".to_owned(),
        [only] => format!("rank {only}"),
        [first, .., last] if list.len() > 2 && is_run(list) => format!("ranks {first} to {last}"),
        [before @ .., last] if list.len() <= LISTED => {
            format!("ranks {} and {last}", numbers(before))
        }
        _ => {
            let (shown, rest) = list.split_at(LISTED);
            format!("ranks {} and {} more", numbers(shown), rest.len())
        }
    }
}

fn is_run(list: &[u32]) -> bool {
    list.windows(2).all(|two| matches!(two, [a, b] if a.checked_add(1) == Some(*b)))
}

fn numbers(list: &[u32]) -> String {
    list.iter().map(u32::to_string).collect::<Vec<String>>().join(", ")
}

/// The family and the number of a name like `part[3]`; none where the name has several indices, or
/// none.
pub(super) fn member(name: &str) -> Option<(&str, i64)> {
    let (family, number) = name.strip_suffix(']')?.split_once('[')?;
    Some((family, number.parse().ok()?))
}

/// "`output[3]`": a chunk by the name that the author uses, that of its region if it is in one.
pub(crate) fn chunk(program: &Program, rank: RankId, buffer: Buffer, chunk: u64) -> String {
    let (name, index) = at(program, rank, buffer, chunk);
    format!("`{name}[{index}]`")
}

/// The word for a buffer.
pub(super) fn buffer(buffer: Buffer) -> &'static str {
    buffer.word()
}

/// The buffer or region that contains a chunk, and the chunk's indices in it.
pub(super) fn at(program: &Program, rank: RankId, buffer: Buffer, chunk: u64) -> (String, String) {
    let regions = program.ranks.lookup(rank).map_or(&[] as &[Region], |rank| &rank.regions);
    region::at(regions, buffer, chunk)
}

#[cfg(test)]
mod tests {
    use super::ranks;

    #[test]
    fn ranks_are_listed_as_people_do() {
        for (list, text) in [
            (&[][..], "nobody"),
            (&[4], "rank 4"),
            (&[0, 1], "ranks 0 and 1"),
            (&[0, 2, 3], "ranks 0, 2 and 3"),
            (&[1, 2, 3], "ranks 1 to 3"),
            (&[0, 2, 4, 6, 8, 10, 12, 14], "ranks 0, 2, 4, 6, 8, 10, 12 and 14"),
            (&[0, 2, 4, 6, 8, 10, 12, 14, 16, 18], "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 2 more"),
        ] {
            assert_eq!(ranks(list), text);
        }
    }
}
