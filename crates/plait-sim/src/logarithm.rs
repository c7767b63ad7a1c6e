//! Logarithm and exponential from additions, multiplications and divisions alone, which IEEE 754
//! rounds the same way on every machine. The standard library uses the platform's functions, which
//! differ in the last bit.

/// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// Position of the exponent in the bits of a number.
const MANTISSA_BITS: u32 = 52;
const BIAS: i64 = 1023;

/// The natural logarithm of a positive, normal number, with a relative error below 10⁻¹⁵.
///
/// With x = m · 2ᵉ and m between √½ and √2, ln x = e ln 2 + 2 artanh s for s = (m − 1)/(m + 1), |s|
/// < 0.172. The remainder of the series artanh s = s + s³/3 + s⁵/5 + … is below half a unit in the
/// last place after the eleventh term.
///
/// # Panics
/// If `x` is not positive and normal.
pub fn ln(x: f64) -> f64 {
    assert!(x.is_normal() && x > 0.0, "the logarithm of {x}");
    let bits = x.to_bits();
    let mut exponent = (bits >> MANTISSA_BITS) as i64 - BIAS;
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    let mut m = f64::from_bits(mantissa | ((BIAS as u64) << MANTISSA_BITS));
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut series = 0.0;
    for term in (0..12).rev() {
        series = series * square + 1.0 / f64::from(2 * term + 1);
    }
    let exponent = exponent as f64;
    exponent * LN_2_HIGH + (2.0 * s * series + exponent * LN_2_LOW)
}

/// e to the power of `x`, with a relative error below 10⁻¹⁵. Returns 0 or infinity outside the
/// range of `f64`.
///
/// With x = k ln 2 + r and |r| ≤ ln 2 / 2, eˣ = 2ᵏ eʳ. The remainder of the series of eʳ is below
/// half a unit in the last place after the fourteenth term.
pub fn exp(x: f64) -> f64 {
    const LARGEST: f64 = 709.0;
    if x > LARGEST {
        return f64::INFINITY;
    }
    if x < -LARGEST {
        return 0.0;
    }
    let k = (x / std::f64::consts::LN_2).round();
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut series = 1.0;
    for term in (1..16).rev() {
        series = 1.0 + r / f64::from(term) * series;
    }
    series * f64::from_bits(((k as i64 + BIAS) as u64) << MANTISSA_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values_are_exact() {
        assert_eq!((ln(1.0), exp(0.0), ln(2.0)), (0.0, 1.0, std::f64::consts::LN_2));
        assert_eq!((exp(1000.0), exp(-1000.0)), (f64::INFINITY, 0.0));
    }

    const GOLDEN: [u64; 6] = [
        0xc002_6bb1_bbb5_5515,
        0x3ff1_93ea_7aad_030b,
        0xc042_6bb1_bbb5_5516,
        0x4005_bf0a_8b14_576a,
        0x3fe3_68b2_fc6f_960a,
        0x41bc_eb08_8b68_e804,
    ];

    /// The same bits on every machine: runs with random times depend on it.
    #[test]
    fn results_are_the_same_for_ever() {
        let found = [ln(0.1), ln(3.0), ln(1e-16), exp(1.0), exp(-0.5), exp(20.0)].map(f64::to_bits);
        assert_eq!(found, GOLDEN);
    }

    proptest! {
        #[test]
        fn the_logarithm_is_that_of_the_platform(x in 1e-300_f64..1e300, near in 0.5_f64..2.0, tiny in 0_u32..1023) {
            for x in [x, near, 1.0 / (1_u64 << (tiny % 54)) as f64, near * near] {
                let (ours, theirs) = (ln(x), x.ln());
                prop_assert!((ours - theirs).abs() <= 1e-14 * theirs.abs().max(0.01), "{x}: {ours}, {theirs}");
            }
        }

        #[test]
        fn the_exponential_is_that_of_the_platform(x in -700.0_f64..700.0, small in -1.0_f64..1.0) {
            for x in [x, small] {
                let (ours, theirs) = (exp(x), x.exp());
                prop_assert!((ours / theirs - 1.0).abs() <= 1e-14, "{x}: {ours}, {theirs}");
            }
        }
    }
}
