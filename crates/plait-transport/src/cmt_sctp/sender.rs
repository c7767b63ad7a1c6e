//! The sender: reading SACKs, timers.

use super::recovery::Recovery;
use super::reports::Reports;
use super::{CAPABILITIES, CORE_RULES, Config};
use crate::core::{ANY_PATH, Core, NEVER, Outgoing, PathConfig, Via};
use crate::error::Error;
use crate::observer::Observer;
use crate::packet::sctp::{Packet, Sack};
use crate::protocol::Side;
use crate::run_set::RunSet;
use crate::sink::{Origin, SinkOf, Transmit};
use plait_sched::{Event, Path, PathId, PathState, Scheduler, Time};
use std::collections::VecDeque;

/// The sending half of an end.
///
/// Every input ([`Sender::handle_sack`], [`Sender::handle_timeout`]) must be followed by
/// [`Sender::transmit`] and a look at [`Sender::next_timer`].
#[derive(Clone, Debug)]
pub(crate) struct Sender<S> {
    pub(super) core: Core<S, Recovery>,
    side: Side,
    pub(super) config: Config,
    /// Segments acknowledged by gap blocks, above the cumulative acknowledgement.
    acknowledged: RunSet,
    pub(super) reports: Reports,
    /// Heartbeats to send, and their due times.
    pub(super) heartbeats: VecDeque<(PathId, Time)>,
    /// The acknowledgement at hand found losses.
    pub(super) any_lost: bool,
    /// Timeouts in a row on all paths together.
    association_errors: u32,
}

impl<S: Scheduler> Sender<S> {
    /// Creates a sender over `paths`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the scheduler needs a capability that CMT-SCTP does not offer;
    /// [`Error::SegmentSize`] if segments have more than 65,535 bytes.
    pub(super) fn new(
        config: &Config,
        side: Side,
        paths: &[PathConfig],
        scheduler: S,
    ) -> Result<Self, Error> {
        let recovery = || Recovery::new(config);
        let core =
            Core::new(config.connection.clone(), CORE_RULES, paths, recovery, scheduler, CAPABILITIES)?;
        Ok(Self {
            side,
            core,
            config: config.clone(),
            acknowledged: RunSet::new(),
            reports: Reports::default(),
            heartbeats: VecDeque::new(),
            any_lost: false,
            association_errors: 0,
        })
    }

    /// Handles an acknowledgement that came back on `path`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn handle_sack(&mut self, now: Time, path: PathId, sack: &Sack) {
        // A SACK that acknowledges unsent data is ignored.
        if sack.cumulative > self.core.sent_end {
            return;
        }
        // SACKs overtake each other between paths. An older one adds nothing to the newer one's
        // report on the wire (RFC 9260 §6.2.1 i). In memory its blocks may be those that the newer
        // one had no room for.
        let overtaken = sack.cumulative < self.core.stream.first();
        let advanced = sack.cumulative > self.core.stream.first();
        self.hear(path.index());
        self.core.counters.spurious_retransmissions += sack.duplicates().len() as u64;
        self.core.paths[path.index()].came_back(now, sack);
        self.core.begin_acknowledgement();
        let copied = self.core.has_copies();
        let alone = sack.packets <= 1 && (!copied || self.brings_one(sack));
        let duplicate = sack.duplicates().last().copied();
        let fresh = copied && !overtaken && duplicate.is_none() && self.reports.is_newest(sack);
        let via = Via { path: path.index(), alone, fresh };
        let cumulative = self.core.advance(now, sack.cumulative.max(self.core.stream.first()), via);
        self.acknowledged.advance(cumulative);
        self.read_gap_blocks(now, sack, via);
        for &segment in sack.duplicates() {
            // A duplicate is acknowledged at once (RFC 9260 §6.2): it arrived last, on the SACK's
            // path.
            self.core.copy_arrived(now, via.path, segment, Some(segment) == duplicate);
        }
        if copied {
            let repeats = sack.duplicates().len() as u8;
            if self.core.copies_everything() && !via.alone {
                let others = sack.packets.saturating_sub(repeats);
                self.core.copies_told(now, via.path, (others, repeats == 0), |segment| sack.covers(segment));
            } else if sack.packets <= 1
                && sack.duplicates().is_empty()
                && self.core.paths[via.path].news.ack.segments == 0
            {
                self.core.copy_told(now, via.path, |segment| sack.covers(segment));
            }
            self.core.settle_evidence(via.path);
            self.core.settle_due(now);
        }
        self.reports.take(sack, cumulative, self.core.sent_end);
        self.find_missing(sack, via.path, advanced);
        if !overtaken {
            self.read_window(sack, advanced);
        }
        // CMT's congestion window update: the path's own oldest segment counts, not the cumulative
        // acknowledgement.
        self.core.finish_acknowledgement(now, |news| news.oldest_acknowledged);
        self.fast_retransmit(now);
    }

    /// Reads the advertised window. SACKs of a long path are older than those of a short one. As
    /// long as data waits for a gap to be filled, the window can only shrink. A larger one with the
    /// same cumulative acknowledgement is an earlier window.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_window(&mut self, sack: &Sack, advanced: bool) {
        let gap_remains = !advanced && !self.acknowledged.is_empty();
        let window = if gap_remains { sack.window.min(self.core.window.end()) } else { sack.window };
        self.core.window.set(window);
    }

    /// Whether a SACK reports one new segment and no duplicates: then that segment arrived.
    /// Otherwise it may report packets whose own SACKs are still on their way on slower paths, and
    /// a copy of their segments may be in flight on this path.
    fn brings_one(&mut self, sack: &Sack) -> bool {
        let base = self.acknowledged.base();
        let below = (base < sack.cumulative).then(|| (base, sack.cumulative - 1));
        let above = self.reports.news(sack).map(|block| {
            let [first, last] = [block.first, block.last].map(|at| sack.cumulative + u64::from(at));
            (first.max(base), last)
        });
        let mut new = sack.duplicates().len();
        for (first, last) in below.into_iter().chain(above) {
            let mut segment = self.acknowledged.first_absent(first);
            while segment <= last && new <= 1 {
                new += 1;
                segment = self.acknowledged.first_absent(segment + 1);
            }
        }
        new == 1 && sack.duplicates().is_empty()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_gap_blocks(&mut self, now: Time, sack: &Sack, via: Via) {
        let end = self.core.sent_end;
        for block in self.reports.news(sack) {
            let last = (sack.cumulative + u64::from(block.last)).min(end.saturating_sub(1));
            let first = (sack.cumulative + u64::from(block.first)).max(self.acknowledged.base());
            let mut segment = self.acknowledged.first_absent(first);
            while segment <= last {
                if self.core.acknowledge(now, segment, via) {
                    self.acknowledged.insert(segment);
                }
                if segment == last {
                    break;
                }
                segment = self.acknowledged.first_absent(segment + 1);
            }
        }
    }

    /// Call when [`Sender::next_timer`] has come; harmless at any other time.
    ///
    /// # Errors
    /// [`Error::PeerUnreachable`] once too many timeouts came in a row.
    pub(super) fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        for index in 0..self.core.paths.len() {
            if self.core.paths[index].retransmission_timer <= now {
                self.retransmission_timeout(now, index, observer);
            }
        }
        self.check_heartbeats(now, observer);
        self.core.wake_scheduler(now);
        if self.is_peer_silent() {
            return Err(Error::PeerUnreachable { at: now });
        }
        Ok(())
    }

    /// Notes that a packet came back on the path: the peer is alive, with any content. It need not
    /// acknowledge new data, because duplicates are answered, too.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn hear(&mut self, index: usize) {
        self.association_errors = 0;
        self.core.paths[index].silence = 0;
    }

    /// RFC 9260 §8.1, with the consecutive errors on all paths together. A path that answers its
    /// probes, or has none, speaks for the peer though: only the silence of every path counts.
    fn is_peer_silent(&self) -> bool {
        self.association_errors > self.config.connection.association_max_retransmissions
            && self.core.paths.iter().all(|path| path.silence > 0)
    }

    /// Handles the expiry of T3 (RFC 9260 §6.3.3): all data in flight on the path is retransmitted.
    fn retransmission_timeout(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let path = &mut self.core.paths[index];
        path.retransmission_timer = NEVER;
        if path.flight.segments() == 0 {
            return;
        }
        if self.core.settle_superseded(index) {
            self.core.note_opportunity();
            return;
        }
        self.core.paths[index].time_out(now);
        self.note_error(now, index, observer);
        let origin = PathId(index as u8);
        self.core.update_facts();
        let facts = self.core.facts();
        let target = self.config.retransmission_policy.choose(origin, facts);
        // RFC 9260 §6.4.1: after a timeout data goes to another active address, also to that of a
        // backup path.
        let target = target.filter(|&target| target != origin).or_else(|| standby(facts)).or(target);
        self.core.lose_all(index, target.or(ANY_PATH));
        self.core.notify(&Event::Timeout { path: origin });
        self.core.note_opportunity();
    }

    /// Counts a timeout of data or of a heartbeat against the path and the association.
    pub(super) fn note_error(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let usable = self.core.facts()[index].is_usable();
        let path = &mut self.core.paths[index];
        path.note_timeout();
        self.association_errors += 1;
        let state = if path.errors > self.config.connection.path_max_retransmissions {
            PathState::Failed
        } else if self.config.connection.potentially_failed && usable {
            PathState::PotentiallyFailed
        } else {
            return;
        };
        path.recovery.probing.due = now;
        self.core.set_state(now, index, state, observer);
        self.keep_one_usable(now, observer);
    }

    /// If no path is usable, uses the potentially failed one with the fewest errors (RFC 7829 §5).
    fn keep_one_usable(&mut self, now: Time, observer: &mut impl Observer) {
        if self.core.facts().iter().any(Path::is_usable) {
            return;
        }
        let best = (0..self.core.paths.len())
            .filter(|&index| self.core.facts()[index].state == PathState::PotentiallyFailed)
            .min_by_key(|&index| self.core.paths[index].errors);
        if let Some(index) = best {
            // Data sent on the path probes it; a heartbeat at the same time may take its place in
            // the queue.
            let path = &mut self.core.paths[index];
            path.probe_later(now);
            let state = path.working_state();
            self.core.set_state(now, index, state, observer);
        }
    }

    /// Sends all that there is to send now.
    ///
    /// # Errors
    /// [`Error::Scheduler`] if the scheduler broke its contract.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        self.core.look_at_pacers(now);
        loop {
            self.core.run_scheduler(now, observer)?;
            if let Some(out) = self.core.send_at_once(now, observer) {
                self.leave(now, &out, sink);
            } else if !self.send_other(now, sink, observer) {
                break;
            }
        }
        // Data first: if paths share a queue with one place, one path's probe must not displace
        // another path's data.
        if !self.heartbeats.is_empty() {
            self.transmit_heartbeats(sink);
        }
        Ok(())
    }

    /// Sends the next data, if it is not the first of an assignment that leaves at once.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send_other(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> bool {
        self.core.has_other_data() && self.find_other(now, sink, observer)
    }

    #[inline(never)]
    fn find_other(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> bool {
        let Some(out) = self.core.next_data(now, observer) else { return false };
        self.leave(now, &out, sink);
        true
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leave(&mut self, now: Time, out: &Outgoing, sink: &mut impl SinkOf<Packet>) {
        self.core.paths[out.path.index()].note_sent(now);
        let origin = Origin::Sender { offset: Some(out.offset) };
        let packet = match self.core.stream.further_headers(out.offset, out.data.bytes) {
            0 => Packet::Data(out.data),
            headers => Packet::Bundle(out.data, headers as u16),
        };
        let (packet, transmission) = (&packet, out.transmission);
        sink.send(&Transmit { path: out.path, packet, transmission, origin });
    }

    #[inline(never)]
    fn transmit_heartbeats(&mut self, sink: &mut impl SinkOf<Packet>) {
        for (path, sent_at) in self.heartbeats.drain(..) {
            let (packet, origin) = (&Packet::Heartbeat { sent_at }, Origin::Sender { offset: None });
            sink.send(&Transmit { path, packet, transmission: 0, origin });
        }
    }

    /// When [`Sender::handle_timeout`] must be called next; [`Time::MAX`] for never.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_timer(&self) -> Time {
        self.core.next_timer(Recovery::next_heartbeat)
    }

    /// True if this end has no data to send, so the other end monitors the paths.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.side == Side::Server && !self.core.has_written()
    }

    pub(super) fn looks(&self) -> u64 {
        self.acknowledged.looks()
    }
}

/// The backup path with the shortest round trip.
fn standby(paths: &[Path]) -> Option<PathId> {
    let backups = paths.iter().filter(|path| path.state == PathState::Backup);
    backups.min_by_key(|path| path.srtt).map(|path| path.id)
}
