//! A short pass over every target with the same inputs each time: seeds with a few damaged bytes,
//! and noise.

use plait_fuzz::{TARGETS, Target};
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of inputs per target.
const INPUTS: usize = 100_000;
/// Bytes that decoders often compare lengths and types with.
const TELLING: [u8; 8] = [0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff];

struct Damage(Xoshiro256PlusPlus);

impl Damage {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        if self.below(2) == 0 { TELLING[self.below(TELLING.len())] } else { self.below(256) as u8 }
    }

    /// Returns a seed with up to four changes, or sometimes noise.
    fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if self.below(16) == 0 {
            return (0..self.below(64)).map(|_| self.byte()).collect();
        }
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let (place, byte) = (self.below(bytes.len() + 1), self.byte());
            match self.below(6) {
                0 => bytes.truncate(place),
                1 => bytes.insert(place, byte),
                2 => {
                    let other = &seeds[self.below(seeds.len())];
                    bytes.truncate(place);
                    bytes.extend_from_slice(&other[self.below(other.len())..]);
                }
                3 if place < bytes.len() => bytes[place] ^= 1 << self.below(8),
                _ if place < bytes.len() => bytes[place] = byte,
                _ => bytes.push(byte),
            }
        }
        bytes
    }
}

fn pass(target: Target) {
    let seeds = (target.seeds)();
    seeds.iter().for_each(|seed| (target.check)(seed));
    let mut damage = Damage(Xoshiro256PlusPlus::seed_from_u64(1));
    for number in 0..INPUTS {
        let input = damage.input(&seeds);
        let result = std::panic::catch_unwind(|| (target.check)(&input));
        assert!(result.is_ok(), "{}: input {number} is {input:02x?}", target.name);
    }
}

#[test]
fn nothing_is_found() {
    TARGETS.into_iter().for_each(pass);
}
