//! Finding losses: later packets, time, and probes of the tail (RFC 9002 §6).

use super::sender::Sender;
use super::space::Space;
use crate::congestion::{CongestionController, CongestionEvent};
use crate::core::{ANY_PATH, NEVER, PathSender, Transmission, TransmissionState};
use crate::observer::Observer;
use crate::rtt::RttEstimator;
use plait_sched::{Duration, Event, PathId, PathState, Scheduler, Time};

/// kPacketThreshold (RFC 9002 §6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// kPersistentCongestionThreshold (RFC 9002 §7.6.1).
const PERSISTENT: u32 = 3;

/// Packets that one probe timeout sends (RFC 9002 §6.2.4: one at least, two at most).
pub(super) const PROBES: u8 = 2;

/// Packets of a flight that are candidates for a probe. All packets of a long silence may be
/// probes with the same data, and a search of them all for each probe would take quadratic time.
pub(super) const PROBE_CANDIDATES: usize = 1000;

/// How long a packet is waited for once a later one was acknowledged (RFC 9002 §6.1.2).
fn patience(rtt: &RttEstimator) -> Duration {
    (rtt.smoothed().max(rtt.latest()) * 9 / 8).max(Duration::from_millis(1))
}

impl PathSender<Space> {
    /// Finds lost packets: those that three later ones overtook, and those that one overtook more
    /// than 9/8 of a round trip ago. Sets the timer for packets that may become lost, and reduces
    /// the window. Returns the number of losses.
    fn find_lost(&mut self, now: Time) -> u32 {
        let mut lost = core::mem::take(&mut self.recovery.lost);
        lost.clear();
        if let Some(largest) = self.recovery.largest {
            let span = self.look_for_lost(now, largest, &mut lost);
            if let (Some(&newest), Some((from, to))) = (lost.last(), span) {
                self.react_to_losses(now, &lost, newest, to.since(from));
            }
        }
        self.recovery.lost = lost;
        self.recovery.lost.len() as u32
    }

    /// Returns when the first and the last of the lost packets were sent.
    fn look_for_lost(&mut self, now: Time, largest: u64, lost: &mut Vec<u64>) -> Option<(Time, Time)> {
        let patience = patience(&self.rtt);
        let (mut timer, mut span) = (NEVER, None::<(Time, Time)>);
        for number in self.flight.first()..largest {
            let Some(sent) = self.flight.get(number).filter(|sent| sent.is_in_flight()) else { continue };
            let overdue = sent.sent_at.saturating_add(patience);
            if number + PACKET_THRESHOLD <= largest || overdue <= now {
                lost.push(number);
                span = Some((span.map_or(sent.sent_at, |span| span.0), sent.sent_at));
            } else {
                timer = timer.min(overdue);
            }
        }
        self.recovery.loss_timer = timer;
        span
    }

    fn react_to_losses(&mut self, now: Time, lost: &[u64], newest: u64, span: Duration) {
        // RFC 9002 §7.6: persistent congestion, if all packets of a long time were lost. Packets
        // that are not ack-eliciting do not count (§7.6.2).
        let contiguous = (lost[0]..newest).all(|number| {
            let sent = self.flight.get(number).copied().unwrap_or_default();
            lost.binary_search(&number).is_ok()
                || sent.bytes() == 0
                || sent.state() == TransmissionState::Lost
        });
        if self.begins_recovery(newest) {
            // RFC 9002 §7.3.2 halves the window, regardless of its use.
            let window = self.control.window();
            self.note_congestion(now, CongestionEvent::Loss { outstanding: window });
        }
        let variation = (self.rtt.variation() * 4).max(Duration::from_millis(1));
        let long = (self.rtt.smoothed() + variation + self.recovery.ack_delay) * u64::from(PERSISTENT);
        if contiguous && span > long {
            self.note_congestion(now, CongestionEvent::Collapse { window: 2 * self.segment });
        }
    }

    /// Reacts to the peer's report, over another path, that it hears nothing on this path. Once all
    /// packets in flight should have been answered, the path gets no more packets: they would be
    /// lost if the path is cut, and each would postpone its probe timeout.
    pub(super) fn heed_silence(&mut self, now: Time) {
        if !self.recovery.silent {
            return;
        }
        let flight = &self.flight;
        let mut in_flight = (flight.first()..flight.next()).filter_map(|number| flight.get(number));
        let Some(oldest) = in_flight.find(|sent| sent.is_in_flight()) else { return };
        let overdue = oldest.sent_at.saturating_add(patience(&self.rtt));
        if overdue <= now {
            self.reduced_window = Some(self.used().max(self.segment));
            self.touch();
        } else {
            self.recovery.loss_timer = self.recovery.loss_timer.min(overdue);
        }
    }

    /// Sets the probe timeout. It runs from the last ack-eliciting packet. There is none while the
    /// loss timer runs (RFC 9002 §6.2.1).
    pub(super) fn arm(&mut self, set_aside: bool) {
        let space = &self.recovery;
        let waits = self.flight.segments() > 0 || space.asked || set_aside;
        let begins = self.last_sent.max(space.pinged_at);
        // Acknowledgements end the back-off of probes, but not that of unanswered PATH_CHALLENGEs.
        let questions =
            if self.flight.segments() == 0 { space.questions.saturating_sub(1).min(8) } else { 0 };
        let timer = begins.saturating_add(self.rtt.rto().saturating_mul(1 << questions));
        self.retransmission_timer = if waits && space.loss_timer == NEVER { timer } else { NEVER };
    }
}

impl<S: Scheduler> Sender<S> {
    /// See [`PathSender::find_lost`]. The segments of lost packets may leave on any path.
    pub(super) fn detect_losses(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let losses = self.core.paths[index].find_lost(now);
        if losses > 0 {
            self.lose_found(now, index, observer);
            self.core.tell_lost(index, losses);
        }
    }

    /// The packets that were found lost leave the flight.
    fn lose_found(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let path = &mut self.core.paths[index];
        let lost = core::mem::take(&mut path.recovery.lost);
        for &number in &lost {
            observer.lost(now, PathId(index as u8), number);
        }
        path.recovery.believed_lost.note(&lost, &path.flight);
        self.core.lose(index, lost.iter().copied(), ANY_PATH);
        self.core.paths[index].recovery.lost = lost;
    }

    /// Handles the probe timeout: no recent packet was answered (RFC 9002 §6.2). It declares no
    /// loss.
    pub(super) fn probe_timeout(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let path = &mut self.core.paths[index];
        let waits = path.flight.segments() > 0 || path.recovery.asked;
        path.retransmission_timer = NEVER;
        let set_aside = self.core.facts()[index].state == PathState::PotentiallyFailed;
        if !waits && !set_aside {
            return;
        }
        let path = &mut self.core.paths[index];
        path.counters.timeouts += 1;
        if path.is_spent() {
            // The path may not carry probes: unanswered data is sent elsewhere. If no other path
            // works, answers may still come.
            if self.has_others(index) {
                self.lose_flight(now, index, observer);
                self.core.note_opportunity();
            }
            return;
        }
        path.rtt.back_off();
        path.note_timeout();
        path.recovery.probes = if waits { PROBES } else { 1 };
        self.core.notify(&Event::Timeout { path: PathId(index as u8) });
        self.core.note_opportunity();
        let path = &self.core.paths[index];
        let few = u64::from(path.flight.segments()) <= PACKET_THRESHOLD;
        // A path with so few losses may still work: the answer to the probes decides.
        let doubtful = few && !path.rtt.smoothed().is_zero();
        if doubtful && self.config.connection.potentially_failed && !self.has_sooner(index) {
            return;
        }
        if doubtful && path.errors == 1 {
            let path = &mut self.core.paths[index];
            path.recovery.verdict = now.saturating_add(patience(&path.rtt));
        } else {
            self.set_aside(now, index, observer);
        }
    }

    /// True if another path's round trip is shorter than the time until this path's next probe.
    /// Otherwise that probe is answered before another path delivers anything.
    fn has_sooner(&self, index: usize) -> bool {
        let next_probe = self.core.paths[index].rtt.rto();
        self.core.facts().iter().any(|path| {
            let rtt = &self.core.paths[path.id.index()].rtt;
            let answers = if rtt.smoothed().is_zero() { rtt.rto() } else { rtt.smoothed() };
            path.is_usable() && path.id.index() != index && answers < next_probe
        })
    }

    /// Suspends a path that left several consecutive probes unanswered: it takes no new data while
    /// another one works, and its data in flight is sent elsewhere.
    pub(super) fn set_aside(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let connection = &self.config.connection;
        let most = if connection.potentially_failed { 0 } else { connection.path_max_retransmissions };
        if !self.has_others(index)
            || self.core.paths[index].errors <= most
            || !self.core.facts()[index].is_usable()
        {
            return;
        }
        self.put_aside(now, index, observer);
    }

    /// Another path works.
    pub(super) fn has_others(&self, index: usize) -> bool {
        self.core.facts().iter().any(|path| path.is_usable() && path.id.index() != index)
    }

    /// Moves a path's data in flight to other paths, and probes whether the path works.
    pub(super) fn put_aside(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        self.lose_flight(now, index, observer);
        self.core.set_state(now, index, PathState::PotentiallyFailed, observer);
        let space = &mut self.core.paths[index].recovery;
        (space.asked, space.probes) = (false, 1);
    }

    /// Declares all data in flight on a path lost.
    pub(super) fn lose_flight(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        self.lose_from(now, index, 0, observer);
    }

    /// Declares all packets from a number on lost.
    pub(super) fn lose_from(&mut self, now: Time, index: usize, from: u64, observer: &mut impl Observer) {
        let path = &mut self.core.paths[index];
        let flight = &path.flight;
        let in_flight = |number: &u64| flight.get(*number).is_some_and(Transmission::is_in_flight);
        path.recovery.lost.clear();
        path.recovery.lost.extend((flight.first().max(from)..flight.next()).filter(in_flight));
        self.lose_found(now, index, observer);
    }

    /// Something came back for packets of the path: it works.
    pub(super) fn hear(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let path = &mut self.core.paths[index];
        (path.recovery.silent, path.recovery.verdict) = (false, NEVER);
        path.recovery.withdrawn_until = None;
        path.silence = 0;
        path.errors = 0;
        path.reduced_window = None;
        let state = path.working_state();
        if self.core.facts()[index].state == PathState::PotentiallyFailed {
            self.core.set_state(now, index, state, observer);
        }
    }

    /// Sets the path's probe timeout.
    pub(super) fn arm(&mut self, index: usize) {
        let set_aside = self.core.facts()[index].state == PathState::PotentiallyFailed;
        self.core.paths[index].arm(set_aside);
    }
}
