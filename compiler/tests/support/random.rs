//! Pseudorandom numbers, the same in every run.

#![allow(unreachable_pub, reason = "test crates include this file")]

/// A pseudorandom sequence that depends on its seed only.
pub struct Random(pub u64);

impl Random {
    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        // A linear congruential generator with Knuth's multiplier; the high bits are good enough.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}
