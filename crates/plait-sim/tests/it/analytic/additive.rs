//! Additive increase and multiplicative decrease under independent losses, round by round.
//!
//! √(3/2)/√p (Mathis et al. 1997) applies to losses at regular distances. Independent losses come
//! in clusters: the window's mean is then 1.31/√p, 7 % more (Ott, Kemperman, Mathis 1996). The
//! throughput is lower if each loss takes a round of repair and only whole packets leave. It is
//! higher if the window cannot be halved further. This module computes it without a simulator.

/// The next number of a pseudo-random sequence (splitmix64), in [0, 1).
fn next(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / 2.0_f64.powi(64)
}

/// The rules of a protocol.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    /// The window is halved, but never below this many segments.
    pub(crate) least: f64,
    /// The window does not grow in the round after a loss, which repairs it.
    pub(crate) repair: bool,
    /// Packets sent beyond the number of whole packets that fit the window.
    pub(crate) overshoot: f64,
}

/// RFC 9260: the window grows during repairs, the last packet may overshoot it, and it is never
/// halved below four segments.
pub(crate) const SCTP: Rounds = Rounds { least: 4.0, repair: false, overshoot: 1.0 };

/// RFC 5681, RFC 6675.
pub(crate) const TCP: Rounds = Rounds { least: 2.0, repair: true, overshoot: 0.0 };

/// The mean number of segments that arrive in a round.
pub(crate) fn arrivals(loss: f64, Rounds { least, repair, overshoot }: Rounds) -> f64 {
    const ROUNDS: u32 = 400_000;
    let (mut state, mut window, mut packets, mut repairing) = (1, 10.0_f64, 0.0, false);
    for _ in 0..ROUNDS {
        let sent = window.floor() + overshoot;
        packets += sent * (1.0 - loss);
        let lost = next(&mut state) >= (1.0 - loss).powf(sent);
        match (lost, repairing && repair) {
            (true, _) => window = (window / 2.0).max(least),
            (false, true) => {}
            (false, false) => window += 1.0,
        }
        repairing = lost;
    }
    packets / f64::from(ROUNDS)
}
