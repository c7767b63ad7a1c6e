//! A near end and a far end with real TLS, in virtual time.

use crate::network::links::{Network, Path, SERVER, To, address, path_to, some_moment};
use plait_quic::connection::ReceivedBatch;
use plait_quic::sender::SessionConfig;
use plait_quic::streams::far::{Id, PeerEvent};
use plait_quic::streams::{Class, Far, Near, StreamEvent};
use plait_quic::{Error, Identity, Offer, OpeningEnd, Secret, Settings, Terms};
use plait_sched::Builtin;
use std::time::{Duration, Instant};

pub(super) const ID: Id = [7; 16];

pub(super) struct Fixture<'a> {
    pub(super) start: Instant,
    pub(super) now: Instant,
    pub(super) near: Near,
    pub(super) far: Far,
    pub(super) network: Network<'a>,
    pub(super) events: Vec<PeerEvent>,
}

pub(super) fn settings() -> Settings {
    Settings { seed: Some([3; 32]), ..Settings::default() }
}

pub(super) fn scheduler() -> Result<Builtin, Error> {
    Builtin::new("lowest-rtt", &[]).map_err(|error| Error::Setting(error.to_string()))
}

/// Returns a near end with so many paths.
pub(super) fn near(
    start: Instant,
    identity: &Identity,
    locals: usize,
    secret: &str,
    terms: &[Terms],
) -> Near {
    let config = SessionConfig {
        remote: (SERVER, 4433).into(),
        locals: (0..locals).map(|path| address(path).ip()).collect(),
        terms: terms.to_vec(),
        fingerprint: identity.fingerprint(),
        secret: Secret::new(secret),
        session: ID,
        offer: Offer::STREAMS,
    };
    Near::new(start, settings(), config, scheduler().expect("it is built in")).expect("an end")
}

/// Data that is sent on a stream and echoed.
struct Talk {
    stream: u32,
    payload: Vec<u8>,
    said: usize,
    received: Vec<u8>,
}

impl<'a> Fixture<'a> {
    pub(super) fn new(paths: &'a [Path], secret: &str, terms: &[Terms]) -> Self {
        Self::with(paths, paths.len(), secret, terms, settings())
    }

    /// Makes a world that begins with `locals` of the paths. The far end has its own settings.
    pub(super) fn with(
        paths: &'a [Path],
        locals: usize,
        secret: &str,
        terms: &[Terms],
        far: Settings,
    ) -> Self {
        let (start, identity) = (some_moment(), Identity::generate().expect("a key"));
        Self {
            start,
            now: start,
            near: near(start, &identity, locals, secret, terms),
            far: Far::new(far, &identity, Secret::new("told"), scheduler).expect("an end"),
            network: Network::new(start, paths, 1),
            events: Vec::new(),
        }
    }

    /// Returns the error that ended the near end.
    pub(super) fn error(&self) -> Option<&Error> {
        self.near.outcome()?.as_ref().err()
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.now.duration_since(self.start)
    }

    /// Handles all events of this moment and moves on to the next event.
    pub(super) fn step(&mut self) {
        let Self { now, near, far, network, .. } = self;
        near.handle_timeout(*now);
        far.handle_timeout(*now);
        while network.in_flight.first_key_value().is_some_and(|(key, _)| key.0 <= *now) {
            match network.in_flight.pop_first().expect("it is there").1 {
                To::Server(piece) => {
                    let from = network.seen(piece.path);
                    far.handle_datagrams(*now, &ReceivedBatch::single(from, Some(SERVER), &piece.bytes));
                }
                To::Client(piece) => {
                    let batch = ReceivedBatch::single((SERVER, 4433).into(), None, &piece.bytes);
                    near.handle_datagrams(*now, piece.path, &batch);
                }
            }
        }
        while let Some(event) = far.poll() {
            self.events.push(event);
        }
        let mut out = Vec::new();
        near.transmit(*now, &mut out);
        for outgoing in out.drain(..) {
            network.send(*now, 2 * outgoing.path, &outgoing);
        }
        far.transmit(*now, &mut out);
        for mut outgoing in out.drain(..) {
            outgoing.path = path_to(outgoing.remote);
            network.send(*now, 2 * outgoing.path + 1, &outgoing);
        }
        let arrival = network.in_flight.first_key_value().map(|(key, _)| key.0);
        // A near end with an outcome has stopped.
        let due = near.next_wakeup().filter(|_| near.outcome().is_none());
        let next = [arrival, due, far.next_wakeup()].into_iter().flatten().min();
        *now = next.unwrap_or(*now + Duration::from_secs(1)).max(*now);
    }

    /// Runs until `holds` is true or `seconds` have passed. Returns whether it became true.
    pub(super) fn run_until(&mut self, seconds: u64, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        let until = self.now + Duration::from_secs(seconds);
        while self.now < until && self.near.outcome().is_none() {
            self.step();
            if holds(self) {
                return true;
            }
        }
        false
    }

    /// Makes the far end echo the data of every stream to its end.
    pub(super) fn echo(&mut self) {
        let Some(streams) = self.far.streams(&ID) else { return };
        while let Some(event) = streams.poll() {
            if let StreamEvent::Opened { stream, .. } = event {
                streams.accept(stream);
            }
        }
        for stream in 0..streams.opened() {
            let delivered = streams.peek(stream).to_vec();
            let count = streams.write(stream, &delivered);
            streams.consume(stream, count);
            if streams.is_ended(stream) {
                streams.finish(stream);
            }
        }
    }

    /// Sends data on several streams at once and waits for its echo. Returns the duration.
    pub(super) fn exchange(&mut self, streams: usize, bytes: usize) -> Duration {
        let begun = self.now;
        let content = |stream: u32| -> Vec<u8> {
            (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 ^ stream as u8).collect()
        };
        let open = |_| self.near.streams().open("host:1", Class::Bulk).expect("there is room");
        let opened: Vec<u32> = (0..streams).map(open).collect();
        let mut talks: Vec<Talk> = (opened.into_iter())
            .map(|stream| Talk { stream, payload: content(stream), said: 0, received: Vec::new() })
            .collect();
        let done = self.run_until(120, |fixture| {
            fixture.echo();
            let streams = fixture.near.streams();
            for Talk { stream, payload, said, received } in &mut talks {
                *said += streams.write(*stream, &payload[*said..]);
                if *said == payload.len() {
                    streams.finish(*stream);
                }
                received.extend_from_slice(streams.peek(*stream));
                let count = streams.peek(*stream).len();
                streams.consume(*stream, count);
            }
            streams.is_empty()
        });
        assert!(done, "{:?} after {:?}", self.near.outcome(), self.elapsed());
        for Talk { stream, payload, received, .. } in &talks {
            assert!(received == payload, "stream {stream}: {} of {bytes} bytes", received.len());
        }
        assert_eq!(self.near.oversized(), 0, "every packet fits");
        self.now.duration_since(begun)
    }
}
