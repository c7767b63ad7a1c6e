//! The most that a path's congestion window lets out, by time: no controller grows faster than
//! slow start.

use super::curve::Curve;
use super::network::Network;
use super::rules::Rules;
use crate::scenario::{Direction, Profile, Scenario};

/// A path's slow start. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    /// The first time at which data can leave.
    pub(super) begins: u64,
    /// The shortest time of a data packet to the receiver.
    pub(super) forward: u64,
    /// The shortest time from a data packet's departure to its acknowledgement.
    pub(super) round: u64,
    /// Payload of the first round, in bytes.
    pub(super) window: f64,
}

impl Envelope {
    /// The most payload that can arrive by `moment`.
    pub(super) fn most(&self, moment: u64) -> f64 {
        let Some(passed) = moment.checked_sub(self.begins + self.forward) else { return 0.0 };
        match passed.checked_div(self.round) {
            Some(rounds) if rounds < 64 => self.window * (2_f64.powi(rounds as i32 + 1) - 1.0),
            _ => f64::INFINITY,
        }
    }
}

/// The shortest times of the way back, in nanoseconds.
pub(super) struct WaysBack {
    /// Of an acknowledgement, per path.
    pub(super) acknowledgements: Vec<u64>,
    /// Of the answer to a packet that opens a path.
    answers: Vec<u64>,
}

impl WaysBack {
    pub(super) fn new(scenario: &Scenario, end: u64) -> Self {
        let overhead = scenario.transport.overhead();
        let time = |bytes: u32| {
            let bytes = f64::from(bytes);
            let path = |path| {
                let route = scenario.route(path, Direction::Backward);
                route.map(|link| Curve::new(link, bytes, end).quickest(bytes)).sum()
            };
            (0..scenario.paths.len()).map(path).collect::<Vec<u64>>()
        };
        Self { acknowledgements: time(overhead.packet), answers: time(overhead.packet + overhead.control) }
    }

    /// Of any acknowledgement.
    pub(super) fn shortest(&self) -> u64 {
        self.acknowledgements.iter().copied().min().unwrap_or(0)
    }
}

/// The envelopes of all paths for data that is written at `start`. The smallest packet on the wire
/// has `smallest` bytes.
pub(super) fn envelopes(
    scenario: &Scenario,
    network: &Network<'_>,
    back: &WaysBack,
    start: u64,
    smallest: f64,
) -> Vec<Envelope> {
    let (options, rules) = (&scenario.transport, Rules::of(scenario));
    let begins = if rules.handshake {
        beginnings(scenario, network, back, start)
    } else {
        vec![start; scenario.paths.len()]
    };
    let (payload, counted) = (network.sizes.payload, options.counted_packet());
    let window = (options.initial_window as f64 / counted).max(rules.least_window) + rules.beyond_window;
    let envelope = |path: usize| {
        let back = if rules.acknowledges_anywhere { back.shortest() } else { back.acknowledgements[path] };
        let forward = network.quickest(path, smallest);
        let round = forward + back;
        // A timer that is shorter than a round trip doubles until it is longer. It sends up to two
        // packets each time. A first sample of small packets may leave it short.
        let early = match rules.first_timeout.as_nanos() {
            timer if timer < round => 2.0 * ((round as f64 / timer as f64 + 1.0).log2().ceil() + 1.0),
            _ => 0.0,
        };
        Envelope { begins: begins[path], forward, round, window: (window + early) * payload }
    };
    (0..scenario.paths.len()).map(envelope).collect()
}

/// The first time at which each path can carry data that is written at `start`, after handshakes.
fn beginnings(scenario: &Scenario, network: &Network<'_>, back: &WaysBack, start: u64) -> Vec<u64> {
    let (options, paths) = (&scenario.transport, scenario.paths.len());
    let overhead = options.overhead();
    let opening = f64::from(overhead.packet + overhead.control);
    let round = |path: usize| network.quickest(path, opening) + back.answers[path];
    let named = options.initial_path();
    let first = scenario.paths.iter().position(|path| Some(path.name.as_str()) == named).unwrap_or(0);
    let open = round(first);
    // By Linux' rules, joins begin with the first acknowledged data, and are confirmed.
    let waits = options.profile() == Profile::Linux;
    let proved = if waits {
        let data = network.quickest(first, network.sizes.headers + 1.0);
        open.max(start) + data + back.acknowledgements[first]
    } else {
        open
    };
    let confirmed = |path: usize| {
        let confirmation = f64::from(overhead.packet);
        if waits { network.quickest(path, confirmation) + back.acknowledgements[path] } else { 0 }
    };
    let begins = |path: usize| match path == first {
        true => open,
        false => proved + round(path) + confirmed(path),
    };
    (0..paths).map(|path| begins(path).max(start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_doubles_per_round() {
        let envelope = Envelope { begins: 100, forward: 10, round: 30, window: 5.0 };
        let found = [109, 110, 139, 140, 170].map(|moment| envelope.most(moment));
        assert_eq!(found, [0.0, 5.0, 5.0, 15.0, 35.0]);
        assert_eq!(envelope.most(u64::MAX / 2), f64::INFINITY);
    }
}
