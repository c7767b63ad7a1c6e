//! Distributions of extra delays: uniform, or those of `tc`'s tables for `netem` (iproute2,
//! `netem/*.c`, taken from NIST Net).
//!
//! A table holds the inverse of a cumulative distribution function. `netem` multiplies its value by
//! the jitter and adds the product to the delay. Here the functions themselves replace the tables.
//! Tables end at four times the jitter, and so do these functions.

use crate::logarithm::{exp, ln};

/// The distribution of an extra delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum JitterDistribution {
    /// Uniform, from zero to the amount.
    #[default]
    Uniform,
    /// Normal around zero; the amount is the standard deviation.
    Normal,
    /// 4/3 · (x − 3/2), where P(X > x) = x⁻³ for x ≥ 1. The mean is zero, except for the effect of
    /// the table's end.
    Pareto,
    /// A quarter of the normal quantile and three quarters of Pareto's.
    ParetoNormal,
}

/// The end of the tables, which hold numbers of 16 bits in units of 1/8192.
const END: f64 = 4.0;

impl JitterDistribution {
    /// The smallest and the largest quantile, in units of the amount.
    pub(super) fn range(self) -> (f64, f64) {
        match self {
            Self::Uniform => (0.0, 1.0),
            Self::Normal => (-END, END),
            Self::Pareto => (pareto(1.0), END),
            Self::ParetoNormal => ((3.0 * pareto(1.0) - END) / 4.0, END),
        }
    }

    /// The quantile for a random number, in units of the amount.
    pub(super) fn quantile(self, bits: u64) -> f64 {
        // The middle of one of 2⁵² equal parts of the numbers between 0 and 1: never 0 or 1.
        let u = ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64;
        match self {
            Self::Uniform => u,
            Self::Normal => normal(u),
            Self::Pareto => pareto(1.0 - u),
            Self::ParetoNormal => (normal(u) + 3.0 * pareto(1.0 - u)) / 4.0,
        }
    }
}

/// The quantile that is exceeded with probability `above`.
fn pareto(above: f64) -> f64 {
    const SHAPE: f64 = 3.0;
    (4.0 / 3.0 * (exp(-ln(above) / SHAPE) - 1.5)).min(END)
}

/// The inverse of the normal distribution function, up to the end of the tables: M. J. Wichura,
/// "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37
/// (1988), PPND16 without its outermost part.
fn normal(u: f64) -> f64 {
    const NEAR: ([f64; 8], [f64; 8]) = (
        [
            3.387_132_872_796_366_5,
            133.141_667_891_784_38,
            1_971.590_950_306_551_3,
            13_731.693_765_509_46,
            45_921.953_931_549_87,
            67_265.770_927_008_7,
            33_430.575_583_588_13,
            2_509.080_928_730_122_7,
        ],
        [
            1.0,
            42.313_330_701_600_91,
            687.187_007_492_057_9,
            5_394.196_021_424_751,
            21_213.794_301_586_597,
            39_307.895_800_092_71,
            28_729.085_735_721_943,
            5_226.495_278_852_854,
        ],
    );
    const FAR: ([f64; 8], [f64; 8]) = (
        [
            1.423_437_110_749_683_5,
            4.630_337_846_156_546,
            5.769_497_221_460_691,
            3.647_848_324_763_204_5,
            1.270_458_252_452_368_4,
            0.241_780_725_177_450_6,
            0.022_723_844_989_269_184,
            7.745_450_142_783_414e-4,
        ],
        [
            1.0,
            2.053_191_626_637_759,
            1.676_384_830_183_803_8,
            0.689_767_334_985_1,
            0.148_103_976_427_480_08,
            0.015_198_666_563_616_457,
            5.475_938_084_995_345e-4,
            1.050_750_071_644_416_9e-9,
        ],
    );
    let polynomial = |terms: &[f64; 8], x: f64| terms.iter().rev().fold(0.0, |sum, term| sum * x + term);
    let ratio = |(above, below): &([f64; 8], [f64; 8]), x: f64| polynomial(above, x) / polynomial(below, x);
    let centred = u - 0.5;
    if centred.abs() <= 0.425 {
        return centred * ratio(&NEAR, 0.425 * 0.425 - centred * centred);
    }
    let tail = (-ln(u.min(1.0 - u))).sqrt();
    ratio(&FAR, (tail - 1.6).min(3.4)).min(END).copysign(centred)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quantiles of 2²⁰ equidistant random numbers.
    fn quantiles(distribution: JitterDistribution) -> Vec<f64> {
        (0..1_u64 << 20).map(|n| distribution.quantile((n << 44) + (1 << 43))).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
    }

    /// Values from printed tables of the normal distribution.
    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (share, quantile) in [
            (0.5, 0.0),
            (0.841_344_746_068_542_9, 1.0),
            (0.975, 1.959_963_984_540_054),
            (0.995, 2.575_829_303_548_901),
            (0.999, 3.090_232_306_167_813_5),
            (0.000_1, -3.719_016_485_455_709),
            (0.000_001, -4.0),
            (0.999_999, 4.0),
        ] {
            assert!((normal(share) - quantile).abs() < 1e-12, "{share}: {}", normal(share));
        }
    }

    /// Pareto's moments are integrals up to the end of the table.
    #[test]
    fn means_and_deviations_are_those_of_the_definitions() {
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-4, "{found}, expected {expected}");
        };
        let (mean, deviation) = moments(&quantiles(JitterDistribution::Normal));
        near(mean, 0.0);
        near(deviation, 1.0);
        // X = u^(−1/3), at most c = 4.5: E X = 3/2 − c⁻²/2 and E X² = 3 − 2/c.
        let (c, (mean, deviation)) = (4.5_f64, moments(&quantiles(JitterDistribution::Pareto)));
        let (first, second) = (1.5 - 0.5 / (c * c), 3.0 - 2.0 / c);
        near(mean, 4.0 / 3.0 * (first - 1.5));
        near(deviation, 4.0 / 3.0 * (second - first * first).sqrt());
        let (mixed, _) = moments(&quantiles(JitterDistribution::ParetoNormal));
        near(mixed, 0.75 * mean);
    }

    #[test]
    fn quantiles_ascend_and_keep_their_range() {
        use JitterDistribution::{Normal, Pareto, ParetoNormal};
        for distribution in [Normal, Pareto, ParetoNormal] {
            let found = quantiles(distribution);
            assert!(found.is_sorted(), "{distribution:?}");
            let (least, most) = distribution.range();
            assert!(
                [0, u64::MAX]
                    .map(|bits| distribution.quantile(bits))
                    .iter()
                    .all(|q| (least..=most).contains(q))
            );
        }
    }
}
