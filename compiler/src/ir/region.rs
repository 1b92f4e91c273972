//! The names of places in scratch.

use super::Buffer;
use std::sync::Arc;

/// A named part of scratch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name in the source.
    pub name: Arc<str>,
    /// Its first chunk.
    pub offset: u32,
    /// The values of each dimension, in order; the last dimension is contiguous. A family whose rows differ has a
    /// region for each part in which they do not; if it has too many such parts, it has no regions.
    pub dimensions: Vec<Arc<[i64]>>,
}

/// The author's name for a chunk of scratch: its region and its indices there, "box" and "1, 0"; otherwise, or if it is
/// in no region, the buffer and the chunk's number.
#[must_use]
pub fn at(regions: &[Region], buffer: Buffer, chunk: u64) -> (String, String) {
    let region = regions.iter().rfind(|region| u64::from(region.offset) <= chunk);
    let named = region.filter(|_| buffer == Buffer::Scratch).and_then(|region| {
        let at = chunk - u64::from(region.offset);
        Some((region.name.to_string(), indices(&region.dimensions, at)?))
    });
    named.unwrap_or_else(|| (buffer.word().to_string(), chunk.to_string()))
}

/// The values of the dimensions at a place, where the last one varies fastest; none if the place lies beyond them.
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
