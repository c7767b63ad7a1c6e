//! Tests of predicted arrivals.

use super::*;

/// A window of 50 segments each 100 ms would let the segment leave after 405 ms. At 5 ms a segment,
/// the bottleneck transmits it after 200 others. The delay behind it is 50 ms.
#[test]
fn a_queue_leaves_no_faster_than_the_bottleneck_transmits() {
    let (plait, mut path) = train(10, 0, 5, 100);
    let arrival = |path: &Path| plait.arrival(path, core::slice::from_ref(path), 0).unwrap().0;
    path.queued = 200;
    assert_eq!(arrival(&path), (145 + 201 * 5 + 50) * MILLI as i64);
    path.cwnd = 5;
    assert_eq!(arrival(&path), (145 + 40 * 100 + 5 + 50) * MILLI as i64, "40 windows");
}
