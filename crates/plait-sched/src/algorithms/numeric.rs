//! Functions that the core library lacks. They use only additions, multiplications, divisions and
//! bit operations, so results are the same on every machine.

/// 1/√(2π).
const DENSITY: f64 = 0.398_942_280_401_432_7;

/// The square root; 0 for arguments that are not positive. Newton's method, from a guess that
/// halves the exponent.
pub(super) fn sqrt(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return 0.0;
    }
    if x == f64::INFINITY {
        return x;
    }
    let mut root = f64::from_bits((x.to_bits() >> 1) + (1023 << 51));
    // The guess is off by 6 % at most, and each step squares the error. The last steps change at
    // most the last bit.
    for _ in 0..6 {
        root = 0.5 * (root + x / root);
    }
    root
}

/// e^−x for x ≥ 0, with a relative error of about 10⁻¹⁵: a power of two times the series of the
/// rest.
fn decay(x: f64) -> f64 {
    if x > 700.0 {
        return 0.0;
    }
    let halvings = (x * core::f64::consts::LOG2_E + 0.5) as u64;
    let rest = halvings as f64 * core::f64::consts::LN_2 - x;
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..16 {
        term *= rest / f64::from(n);
        sum += term;
    }
    sum * f64::from_bits((1023 - halvings) << 52)
}

/// φ, the density of the standard normal distribution.
pub(super) fn density(x: f64) -> f64 {
    DENSITY * decay((0.5 * x * x).min(1_000.0))
}

/// Φ, the standard normal distribution function, within 7.5·10⁻⁸ (Abramowitz and Stegun, *Handbook
/// of Mathematical Functions*, 26.2.17).
pub(super) fn distribution(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let series =
        0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429)));
    let beyond = density(x) * t * series;
    if x < 0.0 { beyond } else { 1.0 - beyond }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn roots_are_those_of_the_machine_but_for_a_last_bit() {
        for n in 1..10_000 {
            let x = f64::from(n) * 1.7e-3;
            assert!((sqrt(x) - x.sqrt()).abs() <= f64::EPSILON * x.sqrt(), "{x}");
        }
        for x in [1e-300, 4.9e-200, 1.0, 2.0, 1e18, 1e300] {
            assert!((sqrt(x) - x.sqrt()).abs() <= f64::EPSILON * x.sqrt(), "{x}");
        }
        assert_eq!([sqrt(0.0), sqrt(-1.0), sqrt(f64::NAN), sqrt(4.0)], [0.0, 0.0, 0.0, 2.0]);
    }

    #[test]
    fn powers_of_e_are_right_to_the_last_bits() {
        for n in 0..7_000 {
            let x = f64::from(n) / 10.0;
            assert!((decay(x) - (-x).exp()).abs() <= 1e-13 * (-x).exp(), "{x}");
        }
        assert_eq!((decay(0.0), decay(1e9)), (1.0, 0.0));
    }

    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        let table = [
            (0.0, 0.5),
            (0.5, 0.691_462_461),
            (1.0, 0.841_344_746),
            (1.96, 0.975_002_105),
            (3.0, 0.998_650_102),
        ];
        for (x, expected) in table {
            assert!((distribution(x) - expected).abs() < 7.5e-8, "{x}");
            assert!((distribution(-x) - (1.0 - expected)).abs() < 7.5e-8, "{x}");
        }
        assert!((density(0.0) - 0.398_942_280).abs() < 1e-9);
        assert!((density(1.0) - 0.241_970_725).abs() < 1e-9);
    }
}
