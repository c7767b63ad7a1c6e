//! The sending end of a path in the model engine, and the facts about it.

use std::collections::VecDeque;
use std::vec::Vec;

use super::random::Random;
use crate::{Duration, Path, PathId, PathState, Time};

/// A copy of a segment in flight.
pub(super) struct CopyInFlight {
    pub(super) segment: u64,
    pub(super) sent: Time,
    /// The arrival time of its acknowledgement, or of the report of its loss.
    pub(super) news: Time,
    pub(super) lost: bool,
}

/// The sending end of a path.
pub(super) struct Sender {
    pub(super) queue: VecDeque<u64>,
    pub(super) flight: Vec<CopyInFlight>,
    pub(super) rtt: Duration,
}

/// Draws the paths of a case.
pub(super) fn draw(random: &mut Random, seed: u64) -> (Vec<Path>, Vec<Sender>) {
    let count = random.between(1, 8) as u8;
    let mut paths = Vec::new();
    let mut senders = Vec::new();
    // A separate generator, so that the weights change no other draw of a seed.
    let mut weights = Random::new(!seed);
    for id in 0..count {
        let mut path = Path::new(PathId(id), 1460);
        path.cwnd = random.between(1, 10) as u32;
        path.cost = random.between(0, 9) as u32;
        path.weight = weights.between(1, 9) as u32;
        path.state = match random.between(0, 7) {
            0 => PathState::Backup,
            1 => PathState::Failed,
            _ => PathState::Active,
        };
        // Equal and very unequal delays are both common.
        let rtt = Duration::from_millis([10, 10, 20, 37, 100, 200, 950][random.between(0, 6) as usize]);
        if random.one_in(2) {
            measure(&mut path, rtt);
        }
        paths.push(path);
        senders.push(Sender { queue: VecDeque::new(), flight: Vec::new(), rtt });
    }
    (paths, senders)
}

/// Updates the measurements of a path with a sample of the round-trip time.
pub(super) fn measure(path: &mut Path, sample: Duration) {
    path.srtt = if path.has_rtt() { (path.srtt * 7 + sample) / 8 } else { sample };
    path.rttvar = path.srtt / 4;
    path.latest_rtt = sample;
    // On every other path the acknowledgements came back over another path, up to twice as fast.
    let own = if path.id.0 % 2 == 1 { sample * 2 } else { sample };
    path.own_rtt = if path.own_rtt.is_zero() { own } else { (path.own_rtt * 7 + own) / 8 };
    path.min_rtt = if path.min_rtt.is_zero() { own } else { path.min_rtt.min(own) };
    path.delivery_rate = u64::from(path.cwnd * path.mss) * 8 * 1_000_000_000 / path.srtt.as_nanos().max(1);
    // Not every path measures one-way delays, and the clocks differ.
    path.forward_delay = (path.cost > 2).then(|| (path.srtt.as_nanos() / 2) as i64 - 3_000_000_000);
}
