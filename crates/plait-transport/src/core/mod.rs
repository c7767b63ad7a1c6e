//! The connection core that every protocol shares: data queue and path queues, flight per path, scheduler, windows,
//! round-trip times, retransmission queues and path states.
//!
//! What differs between protocols stays outside: how an acknowledgement is read and what it says about losses, where a
//! lost segment is sent again, what heartbeats look like (see [`crate::cmt_sctp`]).

mod common;
mod flight;
mod path;
mod schedule;
mod stream;
mod transmit;
mod window;

pub(crate) use common::common_to_senders;
use flight::Copy;
pub(crate) use flight::TransmissionState;
pub(crate) use path::PathSender;
pub use path::{OneWayDelays, PathConfig};
pub(crate) use stream::SegmentState;
pub(crate) use transmit::Outgoing;
pub use transmit::Transmit;
pub(crate) use window::SendWindow;
pub use window::WindowRule;

use crate::congestion::{Acknowledged, CongestionConfig, CongestionControl, Share};
use crate::error::Error;
use crate::observer::Observer;
use crate::rtt::RtoConfig;
use plait_sched::{Capabilities, Duration, Event, PathId, PathState, Scheduler, Time};
use std::collections::VecDeque;
use stream::Stream;

/// Segments that may wait in one path's queue.
pub const MAX_QUEUED: usize = 1 << 20;

/// Decisions that a scheduler may take at one moment before it waits, beside one for each segment that it assigns.
pub const MAX_DECISIONS_PER_OPPORTUNITY: u32 = 1 << 16;

/// What both ends and all protocols agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionConfig {
    /// Payload bytes of a full segment.
    pub segment_bytes: u32,
    /// Header bytes per segment that count in congestion and receiver windows (SCTP's DATA chunk header: 16).
    pub counted_overhead: u32,
    /// How the receiver's window and the congestion window are counted.
    pub window_rule: WindowRule,
    /// The receiver's window before its first acknowledgement, in counted bytes.
    pub receive_window: u64,
    /// Payload bytes that may be assigned and not yet cumulatively acknowledged; `u64::MAX` for no limit.
    pub send_buffer: u64,
    /// Congestion control.
    pub congestion: CongestionConfig,
    /// Retransmission timeout.
    pub rto: RtoConfig,
    /// Timeouts in a row after which a path has failed (Path.Max.Retrans).
    pub path_max_retransmissions: u32,
    /// Timeouts in a row, on all paths together, after which the peer is given up (Association.Max.Retrans).
    pub association_max_retransmissions: u32,
    /// An idle path is probed this long (plus one RTO) after its last use.
    pub heartbeat_interval: Duration,
    /// A path takes no new data from its first timeout until a probe comes back (RFC 7829).
    pub potentially_failed: bool,
    /// A window may grow while losses of an earlier window are repaired, which RFC 9260 §7.2.1 forbids and ns-2 does.
    pub grow_in_recovery: bool,
    /// Packets that one event may release on a path (RFC 9260 §6.1 D: Max.Burst); 0 for no limit.
    pub max_burst: u32,
    /// Congestion windows count packets, as in Linux, however small: each takes a full segment of them.
    pub window_in_packets: bool,
    /// A segment may hold the end of one write and the beginning of the next, if the first one still waits.
    pub joined_writes: bool,
}

impl ConnectionConfig {
    /// Bytes that a full segment counts in windows.
    pub fn counted_segment(&self) -> u64 {
        u64::from(self.segment_bytes) + u64::from(self.counted_overhead)
    }

    /// Counted bytes that a congestion window must have left for another packet to leave. SCTP may overshoot it by a packet
    /// (RFC 9260 §6.1, rule B), TCP may not.
    pub(crate) fn headroom(&self) -> u64 {
        match self.window_rule {
            WindowRule::Credit => 1,
            WindowRule::Offset => self.counted_segment(),
        }
    }
}

/// Where segments are sent again when their path cannot be chosen yet.
pub(crate) const ANY_PATH: Option<PathId> = None;

/// What one acknowledgement newly acknowledged on one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathNews {
    /// Counted bytes.
    pub(crate) bytes: u64,
    pub(crate) segments: u32,
    /// The newest transmission that became acknowledged, plus one; 0 for none.
    pub(crate) newest_end: u64,
    /// The highest segment that became acknowledged, plus one; 0 for none.
    pub(crate) highest_end: u64,
    /// The lowest segment that became acknowledged.
    pub(crate) lowest: u64,
    /// The oldest transmission in flight became acknowledged (CMT's pseudo cumulative acknowledgement).
    pub(crate) oldest_acknowledged: bool,
    pub(crate) in_flight_before: u64,
    /// See [`Acknowledged::used_before`].
    pub(crate) used_before: u64,
    pub(crate) rtt: Option<Duration>,
    /// The round trip of the newest segment, see [`Acknowledged::newest_rtt`].
    pub(crate) newest_rtt: Option<Duration>,
}

impl PathNews {
    /// Of a path before the acknowledgement is read.
    pub(crate) fn before(path: &PathSender) -> Self {
        Self { in_flight_before: path.flight.bytes(), used_before: path.used(), ..Self::default() }
    }
}

/// Amounts of data at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Segments sent again because they were considered lost.
    pub retransmissions: u64,
    /// Copies sent because the scheduler asked.
    pub reinjections: u64,
    /// Of the retransmissions, probes of a tail that nobody acknowledged (RFC 8985 §7).
    pub tail_probes: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// Decisions other than waiting.
    pub decisions: u64,
    /// Answers to wait.
    pub waits: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Core<S> {
    pub(crate) config: ConnectionConfig,
    pub(crate) stream: Stream,
    pub(crate) paths: Vec<PathSender>,
    pub(crate) facts: Vec<plait_sched::Path>,
    pub(crate) scheduler: S,
    needs: Capabilities,
    /// Ask the scheduler before the next transmission.
    opportunity: bool,
    /// Something was sent, of which the scheduler may want copies.
    copies_possible: bool,
    wake: Option<Time>,
    /// What the receiver admits.
    pub(crate) window: SendWindow,
    /// The first segment beyond all that were ever sent.
    pub(crate) sent_end: u64,
    /// Payload bytes assigned and not cumulatively acknowledged.
    held: u64,
    queued_segments: u64,
    /// Lost segments that any path may send again, ascending.
    pub(crate) shared_retransmissions: VecDeque<u64>,
    /// Timeouts in a row on all paths together.
    pub(crate) association_errors: u32,
    next_transmission: u64,
    pub(crate) counters: Counters,
    pub(crate) news: Vec<PathNews>,
    /// What coupled congestion control sees of the paths; empty for an algorithm that is not coupled.
    shares: Vec<Share>,
}

impl<S: Scheduler> Core<S> {
    /// Refuses a scheduler that needs more than `offered`.
    pub(crate) fn new(
        config: ConnectionConfig,
        paths: &[PathConfig],
        scheduler: S,
        offered: Capabilities,
    ) -> Result<Self, Error> {
        let needs = scheduler.needs();
        if let Some(capability) = needs.missing_from(offered) {
            return Err(Error::Unsupported { capability });
        }
        let mut core = Self {
            config,
            stream: Stream::new(config.segment_bytes, config.joined_writes),
            paths: paths.iter().map(|path| PathSender::new(&config, path, !needs.assign_ahead)).collect(),
            facts: (paths.iter().enumerate())
                .map(|(index, path)| path::initial_facts(index, config.segment_bytes, path))
                .collect(),
            scheduler,
            needs,
            opportunity: true,
            copies_possible: false,
            wake: None,
            window: SendWindow::new(config.window_rule, config.receive_window),
            sent_end: 0,
            held: 0,
            queued_segments: 0,
            shared_retransmissions: VecDeque::new(),
            association_errors: 0,
            next_transmission: 0,
            counters: Counters::default(),
            news: vec![PathNews::default(); paths.len()],
            shares: Vec::with_capacity(paths.len()),
        };
        (0..paths.len()).for_each(|index| core.refresh(index));
        Ok(core)
    }

    /// Something changed that the scheduler should hear of.
    pub(crate) fn note_opportunity(&mut self) {
        self.opportunity = true;
    }

    pub(crate) fn refresh(&mut self, index: usize) {
        self.paths[index].refresh(&mut self.facts[index], self.config.counted_segment());
    }

    pub(crate) fn counted(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.config.counted_overhead)
    }

    /// Tells the scheduler; the facts must be up to date.
    pub(crate) fn notify(&mut self, event: &Event) {
        let connection = self.connection_facts();
        self.scheduler.on_event(event, &connection, &self.facts);
    }

    /// Starts reading an acknowledgement.
    pub(crate) fn begin_acknowledgement(&mut self) {
        for (news, path) in self.news.iter_mut().zip(&self.paths) {
            *news = PathNews { lowest: u64::MAX, ..PathNews::before(path) };
        }
    }

    /// The receiver has `segment`: it leaves the flight of its path, and its round trip may be a sample. False if it was
    /// never sent, so that the receiver cannot have it.
    pub(crate) fn acknowledge(&mut self, now: Time, segment: u64) -> bool {
        let Some(entry) = self.stream.get_mut(segment) else { return false };
        let (state, path, transmission, bytes) = (entry.state, entry.path, entry.transmission, entry.bytes);
        if !entry.ever_sent || state == SegmentState::Acknowledged {
            return entry.ever_sent;
        }
        entry.state = SegmentState::Acknowledged;
        let carried = entry.carried;
        let counted = self.counted(bytes);
        self.window.acknowledged(counted);
        let newest = (usize::from(path), transmission);
        // Of copies on several paths nobody knows which one arrived: none overtook anything for sure.
        let certain = carried.0.count_ones() <= 1;
        let mut at = Some(newest);
        while let Some((index, number)) = at.take() {
            let sender = &mut self.paths[index];
            let Some((sent, was_oldest)) = sender.flight.leave(number, TransmissionState::Acknowledged)
            else {
                continue;
            };
            let news = &mut self.news[index];
            news.bytes += u64::from(sent.bytes);
            news.segments += 1;
            if certain {
                news.newest_end = news.newest_end.max(number + 1);
                news.highest_end = news.highest_end.max(segment + 1);
                news.lowest = news.lowest.min(segment);
            }
            news.oldest_acknowledged |= was_oldest;
            if sender.timed == Some(number) {
                sender.timed = None;
                // Karn: only a segment that was never sent again tells a round trip.
                if sent.first_time && (index, number) == newest {
                    let rtt = now.since(sent.sent_at);
                    sender.rtt.sample_there(rtt);
                    news.rtt = Some(rtt);
                }
            }
            at = sent.earlier.map(|copy| (usize::from(copy.path), copy.transmission));
        }
        true
    }

    /// Forgets what lies below the cumulative acknowledgement, acknowledging what had not been before. Returns how far
    /// that is: an acknowledgement of what was never sent is nonsense from the peer and cut to what was.
    pub(crate) fn advance(&mut self, now: Time, cumulative: u64) -> u64 {
        let first = self.stream.first();
        let cumulative =
            (first..cumulative).find(|&segment| !self.acknowledge(now, segment)).unwrap_or(cumulative);
        while let Some(segment) = self.stream.pop_below(cumulative) {
            self.held -= u64::from(segment.bytes);
        }
        cumulative
    }

    /// As [`Core::advance`], where acknowledgements of a path's own numbers say what left its flight.
    pub(crate) fn release(&mut self, cumulative: u64) {
        while let Some(segment) = self.stream.pop_below(cumulative.min(self.sent_end)) {
            self.held -= u64::from(segment.bytes);
            self.window.acknowledged(self.counted(segment.bytes));
        }
    }

    /// Lets the window of a path grow for what was acknowledged on it.
    pub(crate) fn grow_window(&mut self, now: Time, index: usize, news: &PathNews) {
        self.update_shares();
        let writer_blocked = self.stream.is_endless() || self.held >= self.config.send_buffer;
        let path = &mut self.paths[index];
        let acknowledged = Acknowledged {
            now,
            bytes: news.bytes,
            in_flight_before: news.in_flight_before,
            used_before: news.used_before,
            srtt: path.rtt.smoothed(),
            rtt: news.rtt,
            path: index,
            segments: news.segments,
            newest_rtt: news.newest_rtt,
            rto: path.rtt.rto(),
            cumulative: path.flight.first(),
            next: path.flight.next(),
            writer_blocked,
        };
        path.control.on_acknowledged(&acknowledged, &self.shares);
    }

    /// Grows windows and tells the scheduler what an acknowledgement brought. `grow` says of a path's news whether its
    /// window may grow.
    pub(crate) fn finish_acknowledgement(&mut self, now: Time, grow: impl Fn(&PathNews) -> bool) {
        for index in 0..self.paths.len() {
            let news = self.news[index];
            if news.segments == 0 {
                continue;
            }
            self.association_errors = 0;
            let rto = self.paths[index].rtt.rto();
            let path = &mut self.paths[index];
            path.errors = 0;
            path.note_delivery(now, news.bytes);
            let recovering = path.flight.first() < path.recovery_end;
            if grow(&news) && (!recovering || self.config.grow_in_recovery) {
                self.grow_window(now, index, &news);
            }
            let path = &mut self.paths[index];
            if path.flight.segments() == 0 {
                path.control.on_drained();
                path.retransmission_timer = None;
            } else if news.oldest_acknowledged {
                path.retransmission_timer = Some(now.saturating_add(rto));
            }
            self.refresh(index);
        }
        for index in 0..self.paths.len() {
            let news = self.news[index];
            if news.segments > 0 {
                let path = PathId(index as u8);
                self.notify(&Event::Acked { path, segments: news.segments, rtt: news.rtt });
            }
        }
        self.note_opportunity();
    }

    fn update_shares(&mut self) {
        if !self.config.congestion.algorithm.is_coupled() {
            return;
        }
        self.shares.clear();
        self.shares.extend(self.paths.iter().zip(&self.facts).map(|(path, facts)| Share {
            window: path.control.window(),
            srtt: path.rtt.smoothed(),
            loss_interval: path.control.loss_interval(),
            usable: facts.is_usable(),
        }));
    }

    /// A transmission is considered lost: its segment waits to be sent again on `target`.
    pub(crate) fn lose(&mut self, index: usize, number: u64, target: Option<PathId>) {
        let Some((sent, _)) = self.paths[index].flight.leave(number, TransmissionState::Lost) else { return };
        self.paths[index].lost += 1;
        if self.paths[index].timed == Some(number) {
            self.paths[index].timed = None;
        }
        let Some(entry) = self.stream.get_mut(sent.segment) else { return };
        entry.carried.remove(PathId(index as u8));
        if entry.state != SegmentState::InFlight {
            return;
        }
        let newest = Copy { path: entry.path, transmission: entry.transmission };
        let this = Copy { path: index as u8, transmission: number };
        if newest != this {
            self.unlink_copy(newest, this, sent.earlier);
            return;
        }
        // A copy that is still in flight elsewhere takes over.
        if let Some(copy) = sent.earlier {
            entry.path = copy.path;
            entry.transmission = copy.transmission;
            return;
        }
        entry.state = SegmentState::Lost;
        let queue = match target {
            Some(path) => &mut self.paths[path.index()].retransmissions,
            None => &mut self.shared_retransmissions,
        };
        insert_ascending(queue, sent.segment);
    }

    /// Takes `lost` out of the chain of copies in flight that begins with `newest`.
    fn unlink_copy(&mut self, newest: Copy, lost: Copy, earlier: Option<Copy>) {
        let mut at = Some(newest);
        while let Some(copy) = at {
            let Some(sent) = self.paths[usize::from(copy.path)].flight.get_mut(copy.transmission) else {
                return;
            };
            if sent.earlier == Some(lost) {
                sent.earlier = earlier;
                return;
            }
            at = sent.earlier;
        }
    }

    /// Sets a path's state. A path that stops being usable gives everything it has not sent back.
    pub(crate) fn set_state(
        &mut self,
        now: Time,
        index: usize,
        state: PathState,
        observer: &mut impl Observer,
    ) {
        let before = self.facts[index].state;
        if before == state {
            return;
        }
        let was_usable = self.facts[index].is_usable();
        self.facts[index].state = state;
        let path = PathId(index as u8);
        observer.path_state(now, path, state);
        if was_usable && !self.facts[index].is_usable() {
            self.recall(index);
            while let Some(segment) = self.paths[index].retransmissions.pop_front() {
                insert_ascending(&mut self.shared_retransmissions, segment);
            }
            self.paths[index].reinjections.clear();
            self.refresh(index);
            self.notify(&Event::PathDown { path });
        } else if !was_usable && self.facts[index].is_usable() {
            self.refresh(index);
            self.notify(&Event::PathUp { path });
        }
        self.note_opportunity();
    }

    /// Takes the unsent segments of a path back into the data queue.
    pub(crate) fn recall(&mut self, index: usize) {
        let path = &mut self.paths[index];
        self.queued_segments -= path.queue.len() as u64;
        self.stream.recall(&mut path.queue);
        path.refresh_amounts(&mut self.facts[index]);
    }

    /// The earliest of the core's own timers: retransmission timers and the scheduler's wait.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.paths.iter().filter_map(|path| path.retransmission_timer).chain(self.wake).min()
    }

    /// Wakes the scheduler if it asked to be.
    pub(crate) fn wake_scheduler(&mut self, now: Time) {
        if self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
            self.note_opportunity();
        }
    }
}

/// Puts `segment` where it belongs in an ascending queue; usually at its end.
pub(crate) fn insert_ascending(queue: &mut VecDeque<u64>, segment: u64) {
    if queue.back().is_none_or(|&last| last < segment) {
        queue.push_back(segment);
        return;
    }
    if let Err(place) = queue.binary_search(&segment) {
        queue.insert(place, segment);
    }
}
