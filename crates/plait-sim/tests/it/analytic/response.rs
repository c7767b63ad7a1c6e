//! NewReno's response to random loss: additive increase and multiplicative decrease, see
//! [`super::additive`].
//!
//! RFC 9260's congestion avoidance adds one segment per window of acknowledged bytes, with one SACK
//! per packet. Losses are repaired while the window grows, and it is never halved below four
//! segments.

use super::additive::{SCTP, arrivals};
use crate::common::run;

/// A round trip long enough for any window, and a rate that never matters: 1 Gbit/s, 12 µs per
/// packet.
fn ratio(loss: f64, seconds: u64, seeds: u64) -> f64 {
    let goodput: f64 = (1..=seeds)
        .map(|seed| {
            let result = run(&format!(
                "seed = {seed}\nduration = \"{}s\"\nwarmup = \"20s\"\n\
                 transport = {{ protocol = \"cmt-sctp\", receive_buffer = \"100MB\", ack_every = 1 }}\n\
                 [[path]]\nrate = \"1Gbit\"\nrtt = \"100ms\"\nqueue = \"50p\"\nloss = \"{}%\"",
                seconds + 20,
                loss * 100.0
            ));
            result.metrics.goodput_bps
        })
        .sum::<f64>()
        / seeds as f64;
    goodput / (1452.0 * 8.0 / 0.1 * arrivals(loss, SCTP))
}

#[test]
fn goodput_falls_with_the_square_root_of_the_loss_rate() {
    for (loss, seconds) in [(0.0003, 1_500), (0.001, 1_000), (0.003, 600), (0.01, 300)] {
        let ratio = ratio(loss, seconds, 4);
        println!("p = {loss}: {ratio:.3}");
        assert!((0.95..=1.05).contains(&ratio), "p = {loss}: {ratio:.3} of the model");
    }
}
