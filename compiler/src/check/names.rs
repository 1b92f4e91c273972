//! What memory is called in reports.

use crate::ir::{Buffer, Program, RankId};
use std::sync::Arc;

/// "`output[3]`", by the name that the author uses, of a region if it is in one.
pub(crate) fn chunk(program: &Program, rank: RankId, buffer: Buffer, chunk: u64) -> String {
    let (name, index) = match buffer {
        Buffer::Input => ("input".to_string(), chunk.to_string()),
        Buffer::Output => ("output".to_string(), chunk.to_string()),
        Buffer::Scratch => region(program, rank, chunk),
    };
    format!("`{name}[{index}]`")
}

/// A number of bytes as the language writes it.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or(format!("{bytes} bytes"), |(unit, name)| format!("{}{name}", bytes / unit))
}

/// The word for a buffer.
pub(super) fn buffer(buffer: Buffer) -> &'static str {
    match buffer {
        Buffer::Input => "input",
        Buffer::Output => "output",
        Buffer::Scratch => "scratch",
    }
}

/// A region and the indices in it, "box", "1, 0"; of what is no even family, a place in all of scratch.
fn region(program: &Program, rank: RankId, chunk: u64) -> (String, String) {
    let regions = program.ranks.lookup(rank).map(|rank| &rank.regions);
    let region = regions.into_iter().flatten().rfind(|region| u64::from(region.offset) <= chunk);
    let named = region.and_then(|region| {
        let at = chunk - u64::from(region.offset);
        Some((region.name.to_string(), indices(&region.dimensions, at)?))
    });
    named.unwrap_or_else(|| ("scratch".to_string(), chunk.to_string()))
}

/// The values of the dimensions at a place, of which the last one runs fastest; none where it lies beyond them.
fn indices(dimensions: &[Arc<[i64]>], mut at: u64) -> Option<String> {
    let mut found: Vec<String> = Vec::with_capacity(dimensions.len());
    for values in dimensions.iter().rev() {
        let count = values.len() as u64;
        found.push(values.get(at.checked_rem(count)? as usize)?.to_string());
        at /= count;
    }
    found.reverse();
    (at == 0 && !found.is_empty()).then(|| found.join(", "))
}
