//! Estimates of a path's bottleneck: the spacing of segments there, its backlog, and the path's
//! delay without queues.
//!
//! # Spacing
//! A train is a run of segments sent until the first one is acknowledged, 16 at most. It needs as
//! long at the bottleneck as the longer one of two intervals: between the transmissions, and
//! between the acknowledgements. A loss ends the train. The estimate is the smallest spacing of the
//! last 5 to 10 s with trains.
//!
//! If the sender spaced the train, the bottleneck was idle in between. Then the spacing is too
//! large, never too small. So a train that shows less than the estimate always counts. The first
//! train, and one that shows more, count only with a sign of a queue: the acknowledgements are
//! further apart than the transmissions, or the round trip is longer than without queues. The sign
//! can mislead, because the queue may be that of the last segments alone. An estimate that is too
//! large keeps segments away from the path, so the sender spaces all later trains. Only their
//! smaller values correct it.
//!
//! # Backlog
//! Each segment occupies the bottleneck for one spacing. Acknowledgements correct the time when
//! it is free. With n segments in flight it is free at most n spacings from now. It is free no
//! earlier than n spacings after the arrival of the newest acknowledged segment, a smallest round
//! trip ago. The round trip of a train's first segment shows how long that segment was queued. The
//! bottleneck is free earlier by as much as the prediction at its transmission was longer. If the
//! prediction was shorter, the estimates of spacing or round trip are too small. Predictions are
//! longer by this error until the next train, but never longer than n spacings.
//!
//! While a pacer holds back packets, the facts show a full window. Transmissions, acknowledgements
//! and losses then tell the number of segments in flight.
//!
//! # Capacity
//! If several segments are lost at once, the queue of the bottleneck has overflowed. It holds no
//! more than the largest backlog of the last one to two round trips. If the newest round trip shows
//! a longer queue, this counts: on links with varying rates, the spacing is too small. The estimate
//! is the smallest such backlog of the last 5 to 10 s with overflows. Single losses, and those after
//! a backlog of less than 6 segments, count as random.

use crate::time::{Duration, Time};
use crate::view::Path;

/// The largest number of segments of a train.
const TRAIN: u32 = 16;
/// The smallest number of segments that measure a spacing.
const SHORTEST: u32 = 3;
/// Acknowledgements of a whole train that come at fewer moments were delayed together.
const MOMENTS: u32 = 3;
/// The smallest number of segments that an overflow of the queue loses at once.
const OVERFLOW: u32 = 2;
/// The smallest backlog, in segments, that can overflow a queue.
const SMALLEST: u64 = 6;
/// Errors of the predicted queueing delay, in segments, that do not show that a path is busy.
const NOISE: u64 = 4;
/// A minimum covers between one and two of these periods, in nanoseconds.
const PERIOD: u64 = 5_000_000_000;

/// The smallest value of the last one to two periods that have values.
#[derive(Clone, Copy, Debug)]
struct Minimum {
    newer: u64,
    older: u64,
    begun: u64,
}

impl Minimum {
    const NONE: Self = Self { newer: u64::MAX, older: u64::MAX, begun: 0 };

    fn note(&mut self, now: u64, value: u64) {
        if now.saturating_sub(self.begun) > PERIOD {
            *self = Self { newer: u64::MAX, older: self.newer, begun: now };
        }
        self.newer = self.newer.min(value);
    }

    fn get(&self) -> Option<u64> {
        Some(self.newer.min(self.older)).filter(|&value| value != u64::MAX)
    }
}

/// The largest value of the last one to two periods, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Maximum {
    newer: u64,
    older: u64,
    begun: u64,
}

impl Maximum {
    const NONE: Self = Self { newer: 0, older: 0, begun: 0 };

    fn note(&mut self, now: u64, period: u64, value: u64) {
        let age = now.saturating_sub(self.begun);
        if age > period {
            let older = if age > 2 * period { 0 } else { self.newer };
            *self = Self { newer: 0, older, begun: now };
        }
        self.newer = self.newer.max(value);
    }

    fn get(&self) -> u64 {
        self.newer.max(self.older)
    }
}

/// A train; times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Train {
    first_sent: u64,
    last_sent: u64,
    /// The predicted queueing delay of the first segment.
    wait: u64,
    /// Segments sent, without the first one.
    sent: u32,
    /// Packets in flight up to the first segment of the train, until it is acknowledged.
    ahead: u32,
    /// The time when the first segment was acknowledged.
    first_acked: Option<u64>,
    /// Segments acknowledged after that, and the number of moments at which they were.
    acked: u32,
    moments: u32,
}

/// The estimates of one path.
#[derive(Clone, Debug)]
pub(super) struct Bottleneck {
    spacing: Minimum,
    round_trip: Minimum,
    /// The time when the bottleneck will have transmitted all that was sent, in nanoseconds.
    free: u64,
    /// How much longer the first segment of the newest train was queued than predicted, in nanoseconds.
    error: u64,
    last_sent: u64,
    /// The backlog behind each transmission, and the smallest one that overflowed the queue.
    backlog: Maximum,
    capacity: Minimum,
    /// Segments in flight.
    in_flight: u32,
    train: Option<Train>,
    /// Packets sent, packets acknowledged and the newest sample since the last decision.
    sent: u32,
    acked: u32,
    sample: Option<Duration>,
}

impl Bottleneck {
    pub(super) const NEW: Self = Self {
        spacing: Minimum::NONE,
        round_trip: Minimum::NONE,
        free: 0,
        error: 0,
        last_sent: 0,
        backlog: Maximum::NONE,
        capacity: Minimum::NONE,
        in_flight: 0,
        train: None,
        sent: 0,
        acked: 0,
        sample: None,
    };

    /// The time that a segment occupies the bottleneck, in nanoseconds. Before the first train, a
    /// path delivers a window per round trip.
    pub(super) fn spacing(&self, path: &Path) -> u64 {
        let pacing = path.pacing_rate.map(|rate| u64::from(path.mss) * 8 * 1_000_000_000 / rate.max(1));
        match self.spacing.get() {
            Some(spacing) => spacing.max(pacing.unwrap_or(0)),
            None => pacing.unwrap_or(path.srtt.as_nanos() / u64::from(path.cwnd.max(1))),
        }
    }

    /// True if nothing was sent on the path since it came up.
    pub(super) const fn is_unused(&self) -> bool {
        self.free == 0
    }

    /// True if the spacing is known, by a train or by the controller's pacing.
    pub(super) fn is_measured(&self, path: &Path) -> bool {
        self.spacing.get().is_some() || path.pacing_rate.is_some()
    }

    /// The smallest round-trip time, in nanoseconds.
    pub(super) fn round_trip(&self, path: &Path) -> u64 {
        self.round_trip.get().unwrap_or(path.srtt.as_nanos())
    }

    /// The bandwidth-delay product in segments, once measured.
    pub(super) fn product(&self, path: &Path) -> Option<u64> {
        Some(self.round_trip(path).div_ceil(self.spacing.get()?.max(1)))
    }

    /// The capacity of the queue in segments, once it has overflowed.
    pub(super) fn capacity(&self, path: &Path) -> Option<u64> {
        Some(self.capacity.get()? / self.spacing(path).max(1))
    }

    /// Segments in flight.
    pub(super) fn in_flight(&self, path: &Path) -> u32 {
        if path.pacing_rate.is_some() { path.in_flight.min(self.in_flight) } else { path.in_flight }
    }

    /// The time when the bottleneck will have transmitted all that was sent, in nanoseconds.
    pub(super) const fn free(&self) -> u64 {
        self.free
    }

    /// The same time, later by the error of the newest prediction.
    pub(super) fn corrected_free(&self, now: Time, path: &Path) -> u64 {
        let latest = now.as_nanos().saturating_add(self.most(path));
        self.free.saturating_add(self.error).min(latest).max(self.free)
    }

    /// The time that all segments in flight occupy the bottleneck, in nanoseconds.
    fn most(&self, path: &Path) -> u64 {
        self.spacing(path).saturating_mul(u64::from(self.in_flight(path)))
    }

    /// True if at most two segments are at the bottleneck.
    pub(super) fn is_idle(&self, now: Time, path: &Path) -> bool {
        let spacing = self.spacing(path);
        let noise = self.error <= NOISE * spacing;
        let free = if noise { self.free } else { self.corrected_free(now, path) };
        free <= now.as_nanos() + 2 * spacing
    }

    /// The delay after the bottleneck without queues, and a quarter of the round-trip variation. In
    /// nanoseconds, with a clock offset if it is a one-way delay; `None` until measured.
    pub(super) fn delay(&self, path: &Path, one_way: bool) -> Option<i64> {
        if !path.has_rtt() {
            return None;
        }
        let least = self.round_trip(path);
        let delay = if one_way {
            // Queues lengthen the forward delay and the round trip alike.
            path.forward_delay?.saturating_sub_unsigned(path.srtt.as_nanos().saturating_sub(least))
        } else {
            // Acknowledgements of CMT-SCTP may come back on a shorter path.
            let shorter = path.own_rtt.as_nanos().saturating_sub(path.srtt.as_nanos());
            ((least + shorter) / 2) as i64
        };
        Some(delay.saturating_add_unsigned(path.rttvar.as_nanos() / 4))
    }

    /// Notes a transmission. If the time of the last decision is not `exact` for it, the next
    /// decision corrects it.
    pub(super) fn on_sent(&mut self, now: Time, exact: bool, path: &Path) {
        let (now, spacing) = (now.as_nanos(), self.spacing(path));
        self.free = self.free.max(now).saturating_add(spacing);
        self.backlog.note(now, self.round_trip(path), self.free - now);
        self.in_flight = self.in_flight.saturating_add(1);
        self.sent += u32::from(!exact);
        if exact {
            self.extend(now, 1, path);
        }
    }

    /// Puts the newest `sent` packets into the train.
    fn extend(&mut self, now: u64, sent: u32, path: &Path) {
        self.last_sent = now;
        match &mut self.train {
            Some(train) if train.first_acked.is_none() && train.sent + sent < TRAIN => {
                train.last_sent = now;
                train.sent += sent;
            }
            Some(_) => {}
            None => {
                let own = self.spacing(path).saturating_mul(u64::from(sent));
                let ahead = path.in_flight.saturating_sub(sent - 1).max(1);
                self.train = Some(Train {
                    first_sent: now,
                    last_sent: now,
                    wait: self.free.saturating_sub(now).saturating_sub(own),
                    sent: sent - 1,
                    ahead,
                    first_acked: None,
                    acked: 0,
                    moments: 0,
                });
            }
        }
    }

    pub(super) fn on_acked(&mut self, segments: u32, rtt: Option<Duration>) {
        self.acked += segments;
        self.in_flight = self.in_flight.saturating_sub(segments);
        self.sample = rtt.or(self.sample);
    }

    /// Notes lost segments, at the time of the last decision.
    pub(super) fn on_lost(&mut self, now: Time, segments: u32, path: &Path) {
        self.in_flight = self.in_flight.saturating_sub(segments);
        let queued = path.latest_rtt.as_nanos().saturating_sub(self.round_trip(path));
        let backlog = self.backlog.get().max(queued);
        if segments >= OVERFLOW && backlog >= self.spacing(path).saturating_mul(SMALLEST) {
            self.capacity.note(now.as_nanos(), backlog);
        }
        self.end_train();
    }

    /// Ends the train: a lost packet needed no time at the bottleneck.
    pub(super) fn end_train(&mut self) {
        self.sent = 0;
        self.train = None;
    }

    /// Evaluates the events since the last decision.
    pub(super) fn refresh(&mut self, now: Time, path: &Path, trains: bool) {
        let now = now.as_nanos();
        if path.in_flight < path.cwnd {
            self.in_flight = path.in_flight;
        }
        let sent = core::mem::take(&mut self.sent);
        if sent > 0 {
            let spacing = self.spacing(path);
            self.free = self.free.max(now.saturating_add(spacing.saturating_mul(u64::from(sent))));
            self.extend(now, sent, path);
        }
        if let Some(sample) = self.sample.take() {
            self.round_trip.note(now, sample.as_nanos());
        }
        let acked = core::mem::take(&mut self.acked);
        if acked == 0 {
            return;
        }
        if let Some(spacing) = self.measure(now, acked, path)
            && trains
        {
            self.spacing.note(now, spacing);
        }
        let spacing = self.spacing(path);
        let in_flight = self.in_flight(path);
        let latest = now.saturating_add(self.most(path));
        let earliest = match in_flight {
            0 => 0,
            _ => latest.saturating_sub(self.round_trip(path)).max(self.last_sent.saturating_add(spacing)),
        };
        self.free = self.free.min(latest).max(earliest);
    }

    /// The spacing that the train shows, if the newest acknowledgement ends it.
    fn measure(&mut self, now: u64, acked: u32, path: &Path) -> Option<u64> {
        if path.repairing {
            // A retransmission fills a gap, and many segments are acknowledged at once.
            self.train = None;
        }
        let waited = path.latest_rtt.as_nanos().saturating_sub(self.round_trip(path));
        let train = self.train.as_mut()?;
        match train.first_acked {
            Some(_) => {
                train.acked += acked;
                train.moments += 1;
            }
            None if acked < train.ahead => train.ahead -= acked,
            None => {
                // The acknowledgement may cover more of the train: the train begins at its end.
                train.first_acked = Some(now);
                self.free = self.free.saturating_sub(train.wait.saturating_sub(waited));
                self.error = waited.saturating_sub(train.wait);
                train.sent = train.sent.saturating_sub(acked - train.ahead);
            }
        }
        let train = *train;
        let first_acked = train.first_acked?;
        if train.sent >= SHORTEST && train.acked < train.sent && path.in_flight > 0 {
            return None;
        }
        self.train = None;
        if train.acked < SHORTEST || train.moments < MOMENTS {
            return None;
        }
        let (sent, back) = (train.last_sent - train.first_sent, now - first_acked);
        let spacing = back.max(sent) / u64::from(train.acked);
        let queued = back > sent / 8 * 9 || path.latest_rtt.as_nanos() > self.round_trip(path) / 8 * 9;
        let smaller = self.spacing.get().is_some_and(|known| spacing < known);
        Some(spacing).filter(|&spacing| spacing > 0 && (queued || smaller))
    }
}
