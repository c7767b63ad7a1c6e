//! Cube roots for [`Cubic`](super::Cubic), without library functions: the same on all machines.

/// ∛x; 0 for numbers that are not positive. Exact for cubes of whole numbers that a double holds.
pub(super) fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent is within a few per cent; each step of Newton's method doubles the
    // digits.
    let mut root = f64::from_bits(x.to_bits() / 3 + (1023_u64 << 52) / 3 * 2);
    for _ in 0..5 {
        root -= (root - x / (root * root)) / 3.0;
    }
    let whole = (root + 0.5) as u64 as f64;
    if whole * whole * whole == x { whole } else { root }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact_or_within_rounding() {
        for whole in 0..=200_000_u64 {
            let cube = whole * whole * whole;
            if cube < 1 << 53 {
                assert_eq!(cube_root(cube as f64), whole as f64);
            }
        }
        assert_eq!((cube_root(-1.0), cube_root(0.125), cube_root(3.375)), (0.0, 0.5, 1.5));
        let mut x = 1e-9;
        while x < 1e15 {
            let root = cube_root(x);
            assert!((root * root * root / x - 1.0).abs() < 3e-12, "{x}: {root}");
            x *= 1.037;
        }
    }
}
