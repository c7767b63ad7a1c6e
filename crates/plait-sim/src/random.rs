//! Random numbers: one independent stream per (seed, component).
//!
//! A component (the losses of one link, the jitter of another) draws from its own stream. An
//! additional draw in one component therefore changes no other component, and every scheduler meets
//! the same losses on the same packets.
//!
//! # The numbers are part of the product
//! The same seed and name give the same numbers in every version and on every machine. The
//! generator is xoshiro256++. Its 256-bit state is the next four outputs of SplitMix64, started at
//! `SplitMix64(seed) XOR FNV-1a-64(name)`. Floating-point draws use only operations that are
//! rounded the same way everywhere.

use crate::logarithm::{exp, ln};
use plait_sched::Duration;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One in a billion: the unit of probabilities that are integers.
pub const PARTS_PER_BILLION: u32 = 1_000_000_000;

/// The random stream of one component. Every method takes exactly one number from the generator for
/// any arguments: two runs that differ in a probability stay in step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RandomStream {
    generator: Xoshiro256PlusPlus,
}

impl RandomStream {
    /// Creates the stream of `component` in a run with `seed`.
    pub fn new(seed: u64, component: &str) -> Self {
        let mut mixer = SplitMix64(seed);
        mixer = SplitMix64(mixer.next() ^ fnv1a(component.as_bytes()));
        let mut state = [0_u8; 32];
        for word in state.chunks_exact_mut(8) {
            word.copy_from_slice(&mixer.next().to_le_bytes());
        }
        Self { generator: Xoshiro256PlusPlus::from_seed(state) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A number in [0, 1), a multiple of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with a probability of `parts_per_billion` / 10⁹; always for 10⁹ and more, never for 0.
    pub fn chance(&mut self, parts_per_billion: u32) -> bool {
        self.below(u64::from(PARTS_PER_BILLION)) < u64::from(parts_per_billion)
    }

    /// A whole number from `low` to `high`, both included. Over a span of n numbers the
    /// probabilities differ from 1/n by less than 2⁻⁶⁴: no number is rejected and drawn again to
    /// correct that.
    ///
    /// # Panics
    /// If `low` exceeds `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "a number between {low} and {high}");
        match (high - low).checked_add(1) {
            Some(count) => low + self.below(count),
            None => self.bits(),
        }
    }

    /// An exponentially distributed span, at least 1 ns.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        self.span(mean.as_nanos() as f64, |u| -ln(u))
    }

    /// An exponentially distributed amount, at least 1.
    pub fn exponential_amount(&mut self, mean: u64) -> u64 {
        self.exponential(Duration::from_nanos(mean)).as_nanos()
    }

    /// A Pareto-distributed span, at least 1 ns: P(X > x) = (least / x)^shape, where the least is
    /// mean · (shape − 1) / shape.
    pub fn pareto(&mut self, mean: Duration, shape: f64) -> Duration {
        self.span(mean.as_nanos() as f64 * ((shape - 1.0) / shape), |u| exp(-ln(u) / shape))
    }

    /// `unit` times a function of a number in (0, 1].
    fn span(&mut self, unit: f64, function: impl Fn(f64) -> f64) -> Duration {
        /// The longest span: 10¹⁸ ns exceed every run, and a sum of a few such spans does not
        /// overflow.
        const LONGEST: f64 = 1e18;
        let nanos = (unit * function(1.0 - self.uniform())).round();
        Duration::from_nanos(nanos.clamp(1.0, LONGEST) as u64)
    }

    /// A whole number from 0 to `count`, exclusive (Lemire's multiplication).
    fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }
}

/// Correlated random numbers. With a given probability, a number repeats its predecessor; otherwise
/// it is a new one. The distribution is therefore that of uncorrelated numbers. Numbers that are n
/// apart correlate by the n-th power of the probability.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CorrelatedStream {
    stream: RandomStream,
    /// The probability of a repetition, in parts per billion.
    correlation: u32,
    last: u64,
}

impl CorrelatedStream {
    /// Draws from `stream`. Without correlation, the numbers are those of the stream.
    pub fn new(mut stream: RandomStream, correlation: u32) -> Self {
        let last = if correlation == 0 { 0 } else { stream.bits() };
        Self { stream, correlation, last }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        if self.correlation == 0 {
            return self.stream.bits();
        }
        let (stays, new) = (self.stream.chance(self.correlation), self.stream.bits());
        if !stays {
            self.last = new;
        }
        self.last
    }
}

/// Steele, Lea and Flood's generator, which turns similar seeds into unrelated states.
struct SplitMix64(u64);

impl SplitMix64 {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Fowler, Noll and Vo's hash, 64 bits, version 1a.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published test values: the golden numbers below then depend on the algorithms, not on this
    /// file.
    #[test]
    fn the_parts_are_the_published_algorithms() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        let mut mixer = SplitMix64(1_234_567);
        assert_eq!([mixer.next(), mixer.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn the_first_numbers_are_the_same_for_ever() {
        let first = |seed, name| {
            let mut stream = RandomStream::new(seed, name);
            [stream.bits(), stream.bits(), stream.bits()]
        };
        assert_eq!(
            first(1, "fast/forward/loss"),
            [0x38eb_8b91_8126_67dc, 0xaaad_bdd6_6e98_bd55, 0x412f_ece1_e112_3822]
        );
        assert_eq!(first(0, ""), [0x96bb_3c9c_ab98_ed3f, 0x65b6_4fbc_9a77_0e81, 0xed86_fb2d_91de_1ae1]);
    }

    #[test]
    fn seeds_and_names_give_unrelated_streams() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..100 {
            for name in ["a", "b", "ab", "ba", ""] {
                assert!(seen.insert(RandomStream::new(seed, name).bits()));
            }
        }
    }

    #[test]
    fn draws_have_their_mean() {
        let mut stream = RandomStream::new(7, "mean");
        let count = 200_000;
        let mean = (0..count).map(|_| stream.uniform()).sum::<f64>() / f64::from(count);
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        let hits = (0..count).filter(|_| stream.chance(250_000_000)).count();
        assert!((hits as f64 / f64::from(count) - 0.25).abs() < 0.004, "{hits}");
        let mut histogram = [0_u32; 3];
        for _ in 0..count {
            histogram[(stream.between(10, 12) - 10) as usize] += 1;
        }
        assert!(histogram.iter().all(|&n| n.abs_diff(66_667) < 1_000), "{histogram:?}");
    }

    #[test]
    fn spans_have_their_mean_and_their_tail() {
        let mean = Duration::from_millis(10);
        let count = 200_000;
        let draws = |draw: &mut dyn FnMut() -> Duration| -> Vec<f64> {
            (0..count).map(|_| draw().as_secs_f64() / mean.as_secs_f64()).collect()
        };
        let average = |spans: &[f64]| spans.iter().sum::<f64>() / f64::from(count);
        let beyond =
            |spans: &[f64], x: f64| spans.iter().filter(|span| **span > x).count() as f64 / f64::from(count);
        let mut stream = RandomStream::new(7, "spans");
        let exponential = draws(&mut || stream.exponential(mean));
        assert!((average(&exponential) - 1.0).abs() < 0.01, "{}", average(&exponential));
        assert!((beyond(&exponential, 2.0) - (-2.0_f64).exp()).abs() < 0.003);
        let pareto = draws(&mut || stream.pareto(mean, 2.5));
        assert!((average(&pareto) - 1.0).abs() < 0.02, "{}", average(&pareto));
        assert!(pareto.iter().all(|span| *span >= 0.6 - 1e-6), "never less than the least");
        assert!((beyond(&pareto, 3.0) - 0.2_f64.powf(2.5)).abs() < 0.002);
    }

    #[test]
    fn certainties_are_certain_and_bounds_are_reached() {
        let mut stream = RandomStream::new(7, "bounds");
        assert!((0..1000).all(|_| stream.chance(PARTS_PER_BILLION) && !stream.chance(0)));
        assert_eq!(stream.between(5, 5), 5);
        stream.between(0, u64::MAX);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&stream.uniform())));
    }
}
