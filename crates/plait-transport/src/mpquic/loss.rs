//! Finding losses: later packets, time, and probes of the tail (RFC 9002 §6).

use super::sender::Sender;
use crate::congestion::CongestionController;
use crate::core::{ANY_PATH, Transmission, TransmissionState};
use crate::observer::Observer;
use crate::rtt::RttEstimator;
use plait_sched::{Duration, Event, PathId, PathState, Scheduler, Time};

/// kPacketThreshold (RFC 9002 §6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// kPersistentCongestionThreshold (RFC 9002 §7.6.1).
const PERSISTENT: u32 = 3;

/// Packets that one probe timeout sends (RFC 9002 §6.2.4: one at least, two at most).
pub(super) const PROBES: u8 = 2;

/// How long a packet is waited for once a later one was acknowledged (RFC 9002 §6.1.2).
fn patience(rtt: &RttEstimator) -> Duration {
    (rtt.smoothed().max(rtt.latest()) * 9 / 8).max(Duration::from_millis(1))
}

impl<S: Scheduler> Sender<S> {
    /// Packets that were overtaken by three, or for longer than 9/8 of a round trip, are lost; the timer is set for those that may
    /// become so.
    pub(super) fn detect_losses(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let path = self.core.path(index);
        let Some(largest) = self.spaces[index].largest else { return };
        let patience = patience(path.rtt());
        self.spaces[index].loss_timer = None;
        self.lost.clear();
        let mut span: Option<(Time, Time)> = None;
        for number in path.flight().first()..largest {
            let Some(sent) = path.flight().get(number).filter(|sent| sent.is_in_flight()) else { continue };
            let overdue = sent.sent_at.saturating_add(patience);
            if number + PACKET_THRESHOLD <= largest || overdue <= now {
                self.lost.push(number);
                span = Some((span.map_or(sent.sent_at, |span| span.0), sent.sent_at));
            } else {
                let timer = &mut self.spaces[index].loss_timer;
                *timer = Some(timer.map_or(overdue, |timer| timer.min(overdue)));
            }
        }
        let (Some(&newest), Some((from, to))) = (self.lost.last(), span) else { return };
        // RFC 9002 §7.6: persistent congestion, if all packets of a long time were lost. Packets that want no acknowledgement do not
        // count (§7.6.2).
        let flight = self.core.path(index).flight();
        let contiguous = (self.lost[0]..newest).all(|number| {
            let sent = flight.get(number).copied().unwrap_or_default();
            self.lost.binary_search(&number).is_ok()
                || sent.bytes() == 0
                || sent.state() == TransmissionState::Lost
        });
        let path = self.core.path_mut(index);
        if path.begins_recovery(newest) {
            // RFC 9002 §7.3.2 halves the window, however much of it is used.
            let window = path.control().window();
            path.control_mut().on_congestion(now, window);
        }
        let variation = (path.rtt().variation() * 4).max(Duration::from_millis(1));
        let long = (path.rtt().smoothed() + variation + self.config.ack_delay) * u64::from(PERSISTENT);
        if contiguous && to.since(from) > long {
            path.control_mut().set_window(2 * self.config.connection.counted_segment());
        }
        self.lose_found(now, index, observer);
        self.core.touch(index);
        self.core.notify(&Event::Lost { path: PathId(index as u8), segments: self.lost.len() as u32 });
        self.core.note_opportunity();
    }

    /// The packets that were found lost leave the flight, and what they carry may leave anywhere again.
    fn lose_found(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        for &number in &self.lost {
            observer.lost(now, PathId(index as u8), number);
        }
        self.spaces[index].believed_lost.note(&self.lost, self.core.path(index).flight());
        let lost = core::mem::take(&mut self.lost);
        self.core.lose(index, lost.iter().copied(), ANY_PATH);
        self.lost = lost;
    }

    /// The probe timeout: nothing of what was sent last was answered (RFC 9002 §6.2). Nothing is lost by that.
    pub(super) fn probe_timeout(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let waits = self.core.path(index).flight().segments() > 0 || self.spaces[index].asked;
        let set_aside = self.core.facts()[index].state == PathState::PotentiallyFailed;
        self.core.path_mut(index).stop_timer();
        if !waits && !set_aside {
            return;
        }
        self.core.counters_mut().timeouts += 1;
        if self.core.path(index).is_spent() {
            // It may not carry probes: what was not answered is sent elsewhere. Where nothing else works, answers may still come.
            if self.has_others(index) {
                self.lose_flight(now, index, observer);
                self.core.touch(index);
                self.core.note_opportunity();
            }
            return;
        }
        let path = self.core.path_mut(index);
        path.rtt_mut().back_off();
        path.note_timeout();
        self.spaces[index].probes = if waits { PROBES } else { 1 };
        self.core.touch(index);
        self.core.notify(&Event::Timeout { path: PathId(index as u8) });
        self.core.note_opportunity();
        let path = self.core.path(index);
        let few = u64::from(path.flight().segments()) <= PACKET_THRESHOLD;
        // So few packets may have been lost without the path: the answer to the probes tells.
        let doubtful = few && !path.rtt().smoothed().is_zero();
        if doubtful && self.config.connection.potentially_failed && !self.has_sooner(index) {
            return;
        }
        if doubtful && path.errors() == 1 {
            self.spaces[index].verdict = Some(now.saturating_add(patience(path.rtt())));
        } else {
            self.set_aside(now, index, observer);
        }
    }

    /// True if another path's round trip is shorter than the time until this path's next probe. Otherwise that probe
    /// is answered before another path delivers anything.
    fn has_sooner(&self, index: usize) -> bool {
        let next_probe = self.core.path(index).rtt().rto();
        self.core.facts().iter().any(|path| {
            let rtt = self.core.path(path.id.index()).rtt();
            let answers = if rtt.smoothed().is_zero() { rtt.rto() } else { rtt.smoothed() };
            path.is_usable() && path.id.index() != index && answers < next_probe
        })
    }

    /// A path that answered several probes in a row with silence takes nothing new while another one works, and what is on its way there
    /// is sent elsewhere.
    pub(super) fn set_aside(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let connection = &self.config.connection;
        let most = if connection.potentially_failed { 0 } else { connection.path_max_retransmissions };
        if !self.has_others(index)
            || self.core.path(index).errors() <= most
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

    /// What is on its way on a path is sent elsewhere, and the path asked whether it works.
    pub(super) fn put_aside(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        self.lose_flight(now, index, observer);
        self.core.set_state(now, index, PathState::PotentiallyFailed, observer);
        self.spaces[index].asked = false;
        self.spaces[index].probes = 1;
    }

    /// The peer hears nothing on a path, as it said on another one. Once what is on its way there should have been answered, nothing more is added to it: more would be lost if the
    /// path is cut, and each packet would put off its probe timeout.
    pub(super) fn heed_silence(&mut self, now: Time, index: usize) {
        let path = self.core.path(index);
        let flight = path.flight();
        let mut in_flight = (flight.first()..flight.next()).filter_map(|number| flight.get(number));
        let oldest = in_flight.find(|sent| sent.is_in_flight());
        let Some(oldest) = oldest.filter(|_| self.spaces[index].silent) else { return };
        let overdue = oldest.sent_at.saturating_add(patience(path.rtt()));
        if overdue <= now {
            let path = self.core.path_mut(index);
            path.set_reduced_window(Some(path.used().max(self.config.connection.counted_segment())));
            self.core.touch(index);
        } else {
            let timer = &mut self.spaces[index].loss_timer;
            *timer = Some(timer.map_or(overdue, |timer| timer.min(overdue)));
        }
    }

    /// Everything that is on its way on a path is lost.
    pub(super) fn lose_flight(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        self.lose_from(now, index, 0, observer);
    }

    /// Declares all packets from a number on lost.
    pub(super) fn lose_from(&mut self, now: Time, index: usize, from: u64, observer: &mut impl Observer) {
        let flight = self.core.path(index).flight();
        let in_flight = |number: &u64| flight.get(*number).is_some_and(Transmission::is_in_flight);
        self.lost.clear();
        self.lost.extend((flight.first().max(from)..flight.next()).filter(in_flight));
        self.lose_found(now, index, observer);
    }

    /// Something came back for packets of the path: it works.
    pub(super) fn hear(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        (self.spaces[index].silent, self.spaces[index].verdict) = (false, None);
        let path = self.core.path_mut(index);
        path.hear();
        path.forgive();
        path.set_reduced_window(None);
        let state = path.working_state();
        if self.core.facts()[index].state == PathState::PotentiallyFailed {
            self.core.set_state(now, index, state, observer);
        }
    }

    /// The probe timeout runs from the last packet that wants an acknowledgement; none while losses are about to be found by time
    /// (RFC 9002 §6.2.1).
    pub(super) fn arm(&mut self, index: usize) {
        let set_aside = self.core.facts()[index].state == PathState::PotentiallyFailed;
        let space = &self.spaces[index];
        let path = self.core.path_mut(index);
        let waits = path.flight().segments() > 0 || space.asked || set_aside;
        let begins = path.last_sent().max(space.pinged_at);
        // Acknowledgements end the back-off of probes, and not that of a question whose answer does not come.
        let questions =
            if path.flight().segments() == 0 { space.questions.saturating_sub(1).min(8) } else { 0 };
        let timer = begins.saturating_add(path.rtt().rto().saturating_mul(1 << questions));
        path.set_timer((waits && space.loss_timer.is_none()).then_some(timer));
    }
}
