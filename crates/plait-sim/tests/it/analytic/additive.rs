//! Additive increase and multiplicative decrease under independent losses, round by round.
//!
//! √(3/2)/√p (Mathis et al. 1997) is for losses at regular distances. Independent ones come in clusters: the window's mean is
//! then 1.31/√p, 7 % more (Ott, Kemperman, Mathis 1996). Less arrives where each loss takes a round of repair and only whole packets
//! leave, more where the window cannot be halved further. This computes it without a simulator.

/// The next of a sequence of numbers that look random (splitmix64), in [0, 1).
fn next(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / 2.0_f64.powi(64)
}

/// How a protocol does it.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    /// The window is halved, but not below so many segments.
    pub(crate) least: f64,
    /// In the round after a loss, which repairs it, the window does not grow.
    pub(crate) repair: bool,
    /// Packets that are sent beyond the whole ones that fit the window.
    pub(crate) overshoot: f64,
}

/// RFC 9260: repairs go on beside the window's growth, which the last packet may overshoot; never halved below four segments.
pub(crate) const SCTP: Rounds = Rounds { least: 4.0, repair: false, overshoot: 1.0 };

/// RFC 5681, RFC 6675.
pub(crate) const TCP: Rounds = Rounds { least: 2.0, repair: true, overshoot: 0.0 };

/// What arrives in a round on average, in segments.
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
