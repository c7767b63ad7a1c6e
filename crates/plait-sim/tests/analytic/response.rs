//! NewReno's response to random loss: goodput = MSS/RTT · sqrt(3/2)/sqrt(p) (Mathis et al. 1997), for one acknowledgement per
//! packet (b = 1) and p small enough that timeouts are rare.
//!
//! RFC 9260's congestion avoidance adds one segment per window of acknowledged bytes, so b is the number of packets per
//! window's growth as in TCP: 1 with one SACK per packet, and (because bytes are counted) 1 with delayed SACKs too. The
//! constant sqrt(3/2) belongs to losses that come regularly; independent ones give sqrt(2) to 1.31 times 1/sqrt(p)
//! depending on what is averaged, and recovery costs about one round trip per loss, which lowers it: between them 15 %.

use crate::common::run;

/// Long enough that any window fits, short enough that the rate never matters: 1 Gbit/s, 12 µs per packet.
fn ratio(loss: f64, seconds: u64, seeds: u64) -> f64 {
    let goodput: f64 = (1..=seeds)
        .map(|seed| {
            let result = run(&format!(
                "seed = {seed}\nduration = \"{}s\"\nwarmup = \"20s\"\n\
                 transport = {{ receive_buffer = \"100MB\", ack_every = 1 }}\n\
                 [[path]]\nrate = \"1Gbit\"\nrtt = \"100ms\"\nloss = \"{}%\"",
                seconds + 20,
                loss * 100.0
            ));
            result.metrics.goodput_bps
        })
        .sum::<f64>()
        / seeds as f64;
    goodput / (1452.0 * 8.0 / 0.1 * (1.5 / loss).sqrt())
}

#[test]
fn goodput_falls_with_the_square_root_of_the_loss_rate() {
    for (loss, seconds) in [(0.0003, 1_500), (0.001, 1_000), (0.003, 600), (0.01, 300)] {
        let ratio = ratio(loss, seconds, 4);
        println!("p = {loss}: {ratio:.3}");
        assert!((0.85..=1.15).contains(&ratio), "p = {loss}: {ratio:.3} of the formula");
    }
}
