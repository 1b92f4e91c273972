//! The two short floats: IEEE 754's binary16, and bfloat16, the upper half of a binary32.

/// A binary16 as a binary32, without loss.
pub(super) fn wide16(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10) & 31, u32::from(bits) & 1023);
    match (exponent, fraction) {
        // Zero and subnormal numbers: multiples of 2^-24.
        (0, _) => f32::from_bits((fraction as f32 / 16_777_216.0).to_bits() | sign),
        (31, _) => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// The nearest binary16; of two equally near ones, the even one.
pub(super) fn narrow16(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, size) = ((bits >> 16) as u16 & 0x8000, bits & 0x7fff_ffff);
    if size > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    // 65520 is halfway between the largest number and what would be the next one.
    if size >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if size < 0x3880_0000 {
        // Adding 0.5 leaves a fraction whose last place is worth 2^-24, rounded as all sums are.
        let moved = f32::from_bits(size) + 0.5;
        return sign | (moved.to_bits() - 0.5_f32.to_bits()) as u16;
    }
    let rounded = size + 0xfff + (size >> 13 & 1);
    sign | ((rounded - (112 << 23)) >> 13) as u16
}

/// A bfloat16 as a binary32, without loss.
pub(super) fn wide_b16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bfloat16; of two equally near ones, the even one.
pub(super) fn narrow_b16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_float_comes_back() {
        for bits in 0..=u16::MAX {
            if !wide16(bits).is_nan() {
                assert_eq!(narrow16(wide16(bits)), bits);
            }
            if !wide_b16(bits).is_nan() {
                assert_eq!(narrow_b16(wide_b16(bits)), bits);
            }
        }
    }

    #[test]
    fn the_nearest_is_taken_and_the_even_one_of_two() {
        for (value, bits) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            // Halfway between 2048 and 2050, and between 2050 and 2052.
            (2049.0, 0x6800),
            (2051.0, 0x6802),
            (5.960_464_5e-8, 0x0001),
            // Half of the smallest number is rounded to zero, a little more is not.
            (2.980_232_2e-8, 0x0000),
            (3.0e-8, 0x0001),
            (6.103_515_6e-5, 0x0400),
        ] {
            assert_eq!(narrow16(value), bits, "{value}");
        }
        assert_eq!(wide16(0x3555), 0.333_251_95);
        // 257 lies between 256 and 258, 259 between 258 and 260.
        assert_eq!((narrow_b16(257.0), narrow_b16(259.0)), (0x4380, 0x4382));
        assert!(wide16(narrow16(f32::NAN)).is_nan() && wide_b16(narrow_b16(f32::NAN)).is_nan());
    }
}
