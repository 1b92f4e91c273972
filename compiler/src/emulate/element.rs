//! The types of the numbers in a message, and how they are combined, many at a time.

use super::half::{narrow_b16, narrow16, wide_b16, wide16};
use crate::ir::ReduceOp;

/// A type of numbers that kernels support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// IEEE 754's binary32.
    F32,
    /// IEEE 754's binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// Signed integers modulo 2^32.
    I32,
    /// Unsigned integers modulo 2^32.
    U32,
    /// Unsigned integers modulo 2^8.
    U8,
}

/// Floats are multiples of one eighth.
const EIGHTHS: f32 = 8.0;

impl Element {
    /// The size in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Element::F32 | Element::I32 | Element::U32 => 4,
            Element::F16 | Element::Bf16 => 2,
            Element::U8 => 1,
        }
    }

    /// Up to how many eighths every sum is exact, in any order; none if every sum is.
    pub(super) fn exact(self) -> Option<u64> {
        match self {
            Element::F32 => Some(1 << 24),
            Element::F16 => Some(1 << 11),
            Element::Bf16 => Some(1 << 8),
            Element::I32 | Element::U32 | Element::U8 => None,
        }
    }

    /// Writes a number: as a float so many eighths, as an integer as many of its lowest bits as there is room for.
    pub(super) fn write(self, number: i64, to: &mut [u8]) {
        let float = number as f32 / EIGHTHS;
        match self {
            Element::F32 => to.copy_from_slice(&float.to_le_bytes()),
            Element::F16 => to.copy_from_slice(&narrow16(float).to_le_bytes()),
            Element::Bf16 => to.copy_from_slice(&narrow_b16(float).to_le_bytes()),
            Element::I32 | Element::U32 => to.copy_from_slice(&(number as u32).to_le_bytes()),
            Element::U8 => to.copy_from_slice(&[number as u8]),
        }
    }

    /// Writes any number of a few powers of two, with as many digits as there is room for; integers as in [`Self::write`].
    pub(super) fn write_any(self, drawn: u64, to: &mut [u8]) {
        let digits = (drawn >> 40) as f32 / (1 << 24) as f32 - 0.5;
        let float = digits * (1 << (drawn & 7)) as f32;
        match self {
            Element::F32 => to.copy_from_slice(&float.to_le_bytes()),
            Element::F16 => to.copy_from_slice(&narrow16(float).to_le_bytes()),
            Element::Bf16 => to.copy_from_slice(&narrow_b16(float).to_le_bytes()),
            Element::I32 | Element::U32 | Element::U8 => self.write(drawn as i64, to),
        }
    }

    /// The value of a float; 0 for other types, or if there are too few bytes.
    pub(super) fn value(self, bytes: &[u8]) -> f64 {
        let word = || bytes.first_chunk().map(|word| u32::from_le_bytes(*word));
        let short = || bytes.first_chunk().map(|word| u16::from_le_bytes(*word));
        let float = match self {
            Element::F32 => word().map(f32::from_bits),
            Element::F16 => short().map(wide16),
            Element::Bf16 => short().map(wide_b16),
            Element::I32 | Element::U32 | Element::U8 => None,
        };
        float.map_or(0.0, f64::from)
    }

    /// By how much an addition may be off whose result is not larger than this.
    pub(super) fn rounding(self, size: f64) -> f64 {
        let (digits, smallest) = match self {
            Element::F32 | Element::I32 | Element::U32 | Element::U8 => (24, -149),
            Element::F16 => (11, -24),
            Element::Bf16 => (8, -133),
        };
        // A partial sum is itself off, by far less than its size.
        2.0 * size * 2f64.powi(-digits) + 2f64.powi(smallest)
    }

    /// A number as text; empty if there are too few bytes.
    pub(super) fn shown(self, bytes: &[u8]) -> String {
        let word = || bytes.first_chunk().map(|word| u32::from_le_bytes(*word));
        let short = || bytes.first_chunk().map(|word| u16::from_le_bytes(*word));
        let text = match self {
            Element::F32 => word().map(|bits| f32::from_bits(bits).to_string()),
            Element::F16 => short().map(|bits| wide16(bits).to_string()),
            Element::Bf16 => short().map(|bits| wide_b16(bits).to_string()),
            Element::I32 => word().map(|bits| (bits as i32).to_string()),
            Element::U32 => word().map(|bits| bits.to_string()),
            Element::U8 => bytes.first().map(u8::to_string),
        };
        text.unwrap_or_default()
    }

    /// Combines `other` into `sum`, element by element.
    pub(super) fn combine(self, op: ReduceOp, sum: &mut [u8], other: &[u8]) {
        let float = |a: f32, b: f32| match op {
            ReduceOp::Sum => a + b,
            ReduceOp::Min => a.min(b),
            ReduceOp::Max => a.max(b),
        };
        match self {
            Element::F32 => each(sum, other, |a, b| {
                float(f32::from_le_bytes(a), f32::from_le_bytes(b)).to_le_bytes()
            }),
            Element::F16 => each(sum, other, |a, b| {
                let (a, b) = (wide16(u16::from_le_bytes(a)), wide16(u16::from_le_bytes(b)));
                narrow16(float(a, b)).to_le_bytes()
            }),
            Element::Bf16 => each(sum, other, |a, b| {
                let (a, b) = (wide_b16(u16::from_le_bytes(a)), wide_b16(u16::from_le_bytes(b)));
                narrow_b16(float(a, b)).to_le_bytes()
            }),
            Element::I32 => each(sum, other, |a, b| {
                let (a, b) = (i32::from_le_bytes(a), i32::from_le_bytes(b));
                integer(op, a, b, i32::wrapping_add).to_le_bytes()
            }),
            Element::U32 => each(sum, other, |a, b| {
                let (a, b) = (u32::from_le_bytes(a), u32::from_le_bytes(b));
                integer(op, a, b, u32::wrapping_add).to_le_bytes()
            }),
            Element::U8 => each(sum, other, |[a], [b]| [integer(op, a, b, u8::wrapping_add)]),
        }
    }
}

fn integer<T: Ord>(op: ReduceOp, a: T, b: T, add: fn(T, T) -> T) -> T {
    match op {
        ReduceOp::Sum => add(a, b),
        ReduceOp::Min => a.min(b),
        ReduceOp::Max => a.max(b),
    }
}

fn each<const N: usize>(sum: &mut [u8], other: &[u8], f: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    for (a, b) in sum.as_chunks_mut().0.iter_mut().zip(other.as_chunks().0) {
        *a = f(*a, *b);
    }
}
