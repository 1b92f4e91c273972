//! Stretches: runs of chunks of a buffer between two places at which an operand begins or ends. The chunks of a stretch
//! always go together, so what is known about it is stored once, however many chunks it has.

/// The number of chunks per word.
const BITS: u32 = u64::BITS;

/// Where a buffer is cut: a bit for each chunk, and one for its end.
#[derive(Debug)]
pub(super) struct Cuts {
    words: Vec<u64>,
    chunks: u32,
}

/// A buffer's stretches.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stretches {
    /// Each chunk is a stretch; how many there are.
    Each(u32),
    /// The stretches between cuts; for each word of the cuts, the number of cuts before it.
    Between { cuts: Vec<u64>, before: Vec<u32> },
}

impl Cuts {
    /// A buffer that is cut only at its ends.
    pub(super) fn none(chunks: u32) -> Cuts {
        let mut cuts = Cuts { words: vec![0; (chunks / BITS) as usize + 1], chunks };
        cuts.add(0);
        cuts.add(chunks);
        cuts
    }

    /// Adds a cut before a chunk.
    pub(super) fn add(&mut self, chunk: u32) {
        let word = self.words.get_mut((chunk / BITS) as usize);
        if let Some(word) = word.filter(|_| chunk <= self.chunks) {
            *word |= 1 << (chunk % BITS);
        }
    }

    /// The stretches between the cuts.
    pub(super) fn stretches(self) -> Stretches {
        let mut cuts = 0;
        let before = self.words.iter().map(|word| {
            let before = cuts;
            cuts += word.count_ones();
            before
        });
        Stretches::Between { before: before.collect(), cuts: self.words }
    }
}

impl Stretches {
    /// The number of the stretch that contains a chunk; for the end of the buffer, the number of stretches.
    pub(super) fn of(&self, chunk: u32) -> usize {
        let (cuts, before) = match self {
            Stretches::Each(chunks) => return chunk.min(*chunks) as usize,
            Stretches::Between { cuts, before } => (cuts, before),
        };
        let word = (chunk / BITS) as usize;
        let until = |word: &u64| (word << (BITS - 1 - chunk % BITS)).count_ones();
        let begun = cuts.get(word).zip(before.get(word));
        begun.map_or(self.len(), |(word, before)| (before + until(word)) as usize - 1)
    }

    /// Where each stretch begins, and where the last one ends.
    pub(super) fn ends(&self) -> impl Iterator<Item = u32> {
        let (each, cuts) = match self {
            Stretches::Each(chunks) => (Some(0..=*chunks), None),
            Stretches::Between { cuts, .. } => (None, Some(cuts)),
        };
        let cut = (0..).zip(cuts.into_iter().flatten()).flat_map(|(at, word)| {
            let bits = (0..BITS).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| at * BITS + bit)
        });
        each.into_iter().flatten().chain(cut)
    }

    /// The number of stretches.
    pub(super) fn len(&self) -> usize {
        match self {
            Stretches::Each(chunks) => *chunks as usize,
            Stretches::Between { cuts, before } => {
                let last = cuts.last().zip(before.last());
                last.map_or(0, |(word, before)| (before + word.count_ones()) as usize - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_in_the_stretch_that_begins_there_or_before() {
        let mut cuts = Cuts::none(200);
        [3, 63, 64, 130].into_iter().for_each(|at| cuts.add(at));
        let stretches = cuts.stretches();
        let ends: Vec<u32> = stretches.ends().collect();
        assert_eq!(ends, [0, 3, 63, 64, 130, 200]);
        assert_eq!(stretches.len(), 5);
        for chunk in 0..=200 {
            let begun = ends.iter().filter(|at| **at <= chunk).count();
            assert_eq!(stretches.of(chunk), begun - 1, "{chunk}");
        }
    }

    #[test]
    fn a_buffer_of_no_chunks_has_no_stretch() {
        let stretches = Cuts::none(0).stretches();
        assert_eq!((stretches.len(), stretches.of(0)), (0, 0));
        assert_eq!(stretches.ends().collect::<Vec<u32>>(), [0]);
    }
}
