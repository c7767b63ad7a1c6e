//! Linux' rules for delayed acknowledgements: the delay grows with delays in vain, but not beyond a
//! round-trip time.

use super::linux::{PAYLOAD, linux};
use crate::common::{Log, at, ms, sent_by};
use plait_sched::{Duration, PathId, Time};
use plait_transport::mptcp::{Config, Receiver};
use plait_transport::packet::tcp::TcpSegment;
use plait_transport::packet::{Data, SegmentEcn};

const PATH: PathId = PathId(0);

struct Listener {
    receiver: Receiver,
    log: Log,
    now: Time,
    next: u64,
}

impl Listener {
    /// A receiver that has answered a SYN and got the confirmation `round_trip` later.
    fn new(round_trip: Duration) -> Self {
        let mut config = Config { handshake: true, ..linux() };
        config.connection.receive_window = 30 * PAYLOAD;
        let mut listener =
            Self { receiver: Receiver::new(&config, 2), log: Log::default(), now: at(1), next: 0 };
        listener.receiver.handle_syn(listener.now, PATH, 1);
        listener.answers();
        listener.now += round_trip;
        listener.receiver.handle_confirmation(listener.now, PATH);
        listener.answers();
        listener
    }

    /// Sends pending packets. Returns true if there are some.
    fn answers(&mut self) -> bool {
        !sent_by(|sink| self.receiver.transmit(sink)).is_empty()
    }

    /// Returns the delay of the acknowledgement for the next segment, which arrives `later`.
    fn wait(&mut self, later: Duration) -> Duration {
        self.now += later;
        let data = Data { segment: self.next, bytes: PAYLOAD as u32 };
        let (number, offset) = (self.next, self.next * PAYLOAD);
        self.next += 1;
        let segment = TcpSegment {
            data,
            number,
            offset,
            timestamp: 1,
            echo: 1,
            push: false,
            ack: None,
            ecn: SegmentEcn::default(),
        };
        self.receiver.handle_segment(self.now, PATH, &segment, &mut self.log);
        if self.answers() {
            return Duration::ZERO;
        }
        let due = self.receiver.poll_timeout().expect("a timer");
        self.receiver.handle_timeout(due);
        assert!(self.answers());
        due.since(self.now)
    }
}

/// Returns the first delays above zero, for one segment per 150 ms. Earlier acknowledgements leave
/// at once, also while the window still grows.
fn waits(listener: &mut Listener) -> Vec<Duration> {
    let first = (0..1_000).map(|_| listener.wait(ms(150))).find(|wait| *wait > Duration::ZERO);
    let mut waits = vec![first.expect("the window stops growing")];
    waits.extend((0..3).map(|_| listener.wait(ms(150))));
    waits
}

/// A timer of `milliseconds` expires a tick late; one of more than 63 ms expires up to eight ms
/// late.
fn about(milliseconds: u64) -> impl Fn(&Duration) -> bool {
    move |wait| (ms(milliseconds)..=ms(milliseconds + 8)).contains(wait)
}

#[test]
fn an_acknowledgement_that_waited_in_vain_makes_the_next_one_wait_longer() {
    let waits = waits(&mut Listener::new(ms(100)));
    assert!(about(40)(&waits[0]), "{waits:?}");
    assert!(about(80)(&waits[1]), "{waits:?}");
    assert!(waits[2..].iter().all(about(100)), "{waits:?}");
}

#[test]
fn it_waits_no_longer_than_a_round_trip() {
    let waits = waits(&mut Listener::new(ms(30)));
    assert!(waits.iter().all(about(40)), "{waits:?}");
}

#[test]
fn what_comes_again_ends_the_waiting() {
    let mut listener = Listener::new(ms(100));
    waits(&mut listener);
    listener.next -= 1;
    assert_eq!(listener.wait(ms(150)), Duration::ZERO);
    for _ in 0..15 {
        assert_eq!(listener.wait(ms(150)), Duration::ZERO);
    }
    let wait = listener.wait(ms(150));
    assert!(about(40)(&wait), "{wait:?}");
}

#[test]
fn a_pause_of_more_than_a_timeout_ends_it_too() {
    // The timeout follows from the first round-trip time: 20 ms plus 200.
    let after = |pause| {
        let mut listener = Listener::new(ms(20));
        waits(&mut listener);
        listener.wait(ms(pause))
    };
    assert!(about(40)(&after(210)));
    assert_eq!(after(230), Duration::ZERO);
}
