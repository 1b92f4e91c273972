//! What memory is called in reports.

use crate::ir::{Buffer, Program, RankId};

/// "`output[3]`", by the name that the author uses, of a region if it is in one.
pub(super) fn chunk(program: &Program, rank: RankId, buffer: Buffer, chunk: u64) -> String {
    let (name, index) = match buffer {
        Buffer::Input => ("input".to_string(), chunk),
        Buffer::Output => ("output".to_string(), chunk),
        Buffer::Scratch => region(program, rank, chunk),
    };
    format!("`{name}[{index}]`")
}

/// The word for a buffer.
pub(super) fn buffer(buffer: Buffer) -> &'static str {
    match buffer {
        Buffer::Input => "input",
        Buffer::Output => "output",
        Buffer::Scratch => "scratch",
    }
}

fn region(program: &Program, rank: RankId, chunk: u64) -> (String, u64) {
    let regions = program.ranks.lookup(rank).map(|rank| &rank.regions);
    let region = regions.into_iter().flatten().rfind(|region| u64::from(region.offset) <= chunk);
    match region {
        Some(region) if region.dimensions.len() == 1 => {
            let at = chunk - u64::from(region.offset);
            let value =
                region.dimensions.first().and_then(|values| values.get(at as usize)).copied();
            (region.name.to_string(), value.and_then(|v| u64::try_from(v).ok()).unwrap_or(at))
        }
        Some(_) | None => ("scratch".to_string(), chunk),
    }
}
