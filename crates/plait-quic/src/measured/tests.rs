use super::*;
use plait_sched::PathId;

const COUNTED: u64 = 1_000;

/// A path as a sender sees it, over a link of `per_second` packets per second, in steps of a
/// millisecond.
struct Link {
    now: Time,
    measure: Measure,
    totals: PathTotals,
    per_second: f64,
    arrived: f64,
}

impl Link {
    fn new(per_second: f64) -> Self {
        let measure = Measure::new(1, COUNTED, 1_250);
        Self { now: Time::ZERO, measure, totals: PathTotals::default(), per_second, arrived: 0.0 }
    }

    /// Runs the link for `millis` milliseconds. Packets arrive at `share` of the rate, and each
    /// waits `waits` milliseconds. At the end of each tenth of a second, `lost` packets are lost.
    fn run(&mut self, millis: u64, share: f64, waits: u64, lost: u64) {
        for step in 0..millis {
            self.now += Duration::from_millis(1);
            self.arrived += self.per_second * share / 1_000.0;
            self.totals.acknowledged = self.arrived as u64 * COUNTED;
            if step % 100 == 99 {
                self.totals.lost += lost;
            }
            let facts = Path {
                srtt: Duration::from_millis(20 + waits),
                latest_rtt: Duration::from_millis(20 + waits),
                min_rtt: Duration::from_millis(20),
                ..Path::new(PathId(0), COUNTED as u32)
            };
            self.measure.update(self.now, &facts, &self.totals);
        }
    }

    fn measured(&self) -> Measured {
        self.measure.measured(0)
    }
}

fn is_near(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() < share
}

#[test]
fn a_busy_path_delivers_its_capacity() {
    let mut link = Link::new(1_000.0);
    link.run(300, 0.4, 0, 0);
    assert!(link.measure.known().is_none(), "three rounds are too little");
    let slow = link.measured();
    assert!(!slow.busy && is_near(slow.rate_bps, 4e6, 0.08), "{slow:?}");
    link.run(1_000, 1.0, 10, 0);
    let known = link.measure.known().expect("it was busy for long enough");
    assert!(known[0].busy && is_near(known[0].rate_bps, 1e7, 0.05), "{known:?}");
    assert_eq!(known[0].round_trip, Duration::from_millis(20));
    assert_eq!(known[0].recent, Duration::from_millis(30));
    assert_eq!((known[0].queue, known[0].overflowed), (Duration::from_millis(10), false));
    // The capacity stays known when less data is sent later.
    link.run(300, 0.2, 0, 0);
    assert!(is_near(link.measured().rate_bps, 1e7, 0.05), "{:?}", link.measured());
}

#[test]
fn a_path_that_is_never_busy_carries_what_was_most() {
    let mut link = Link::new(1_000.0);
    for millis in 0..900 {
        link.run(1, 0.03 * (f64::from(millis) / 300.0).exp(), 0, 0);
        assert!(link.measure.known().is_none(), "it grows still: {millis}");
    }
    link.run(500, 0.6, 0, 0);
    let known = link.measure.known().expect("there were many rounds");
    assert!(!known[0].busy && is_near(known[0].rate_bps, 6e6, 0.08), "{known:?}");
}

#[test]
fn losses_of_a_full_queue_are_not_the_wires() {
    let mut link = Link::new(1_000.0);
    link.run(1_000, 1.0, 2, 0);
    link.run(500, 1.0, 50, 20);
    let full = link.measured();
    assert_eq!((full.loss, full.overflowed), (0.0, true));
    assert_eq!(full.queue, Duration::from_millis(50));
}

#[test]
fn losses_beside_an_empty_queue_are_the_wires() {
    let mut link = Link::new(1_000.0);
    link.run(500, 1.0, 40, 0);
    link.run(200, 1.0, 5, 0);
    // Two of 102 packets are lost.
    link.run(3_000, 1.0, 5, 2);
    let lossy = link.measured();
    assert!(is_near(lossy.loss, 2.0 / 102.0, 0.1), "{lossy:?}");
    assert!(!lossy.overflowed);
    // Lost packets have used the path's capacity, too.
    assert!(is_near(lossy.rate_bps, 1.02e7, 0.05), "{lossy:?}");
    // Overflows do not change the share of losses, neither at once nor for two round trips.
    link.run(300, 1.0, 45, 30);
    link.run(90, 1.0, 5, 0);
    assert!(is_near(link.measured().loss, lossy.loss, 1e-9));
}

/// Packets that leave together overflow a short queue. When acknowledgements of later packets
/// reveal the loss, the queue has drained.
#[test]
fn losses_that_are_found_after_the_queue_has_drained_are_its_own() {
    let mut link = Link::new(1_000.0);
    link.run(500, 1.0, 0, 0);
    for _ in 0..50 {
        link.run(10, 1.0, 30, 0);
        link.totals.lost += 5;
        link.run(40, 1.0, 0, 0);
    }
    let bursty = link.measured();
    assert_eq!((bursty.loss, bursty.overflowed), (0.0, true), "{bursty:?}");
}

#[test]
fn packets_that_came_late_were_not_lost() {
    let mut link = Link::new(1_000.0);
    link.run(500, 1.0, 40, 0);
    link.run(1_000, 1.0, 5, 3);
    link.totals.lost -= 30;
    link.run(100, 1.0, 5, 0);
    assert_eq!(link.measured().loss, 0.0);
}

#[test]
fn paths_that_are_not_in_use_are_left_out() {
    let mut measure = Measure::new(2, COUNTED, 1_250);
    assert_eq!(measure.known(), Some(Vec::new()));
    let failed = Path { state: PathState::Failed, ..Path::new(PathId(1), 1_000) };
    measure.update(Time::ZERO, &failed, &PathTotals::default());
    assert_eq!(measure.known(), Some(Vec::new()));
    let unknown = Path::new(PathId(0), 1_000);
    measure.update(Time::ZERO, &unknown, &PathTotals::default());
    assert_eq!(measure.known(), None, "one is in use, and not known");
}

#[test]
fn paths_are_told_in_a_few_words() {
    let measured = Measured { rate_bps: 6.13e6, loss: 0.0031, ..Link::new(1.0).measured() };
    let measured = Measured { round_trip: Duration::from_millis(60), ..measured };
    assert_eq!(measured.to_string(), "6.1 Mbit/s 60 ms 0.3 % loss");
    let clean = Measured { loss: 0.0, round_trip: Duration::from_micros(2_340), ..measured };
    assert_eq!(clean.to_string(), "6.1 Mbit/s 2.3 ms");
}
