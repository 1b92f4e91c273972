//! Random numbers that depend on nothing but a seed. What was found with a seed stays known under it, so the generator
//! is not one of a library, which may change.

/// A sequence of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Lot(pub(crate) u64);

impl Lot {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        (self.next() >> 33) as u32 % end.max(1)
    }

    /// True once in `times` times.
    pub(crate) fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }
}
