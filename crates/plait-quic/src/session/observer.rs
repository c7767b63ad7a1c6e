//! The observer of a session.

use super::black_hole::BlackHoleDetector;
use crate::recording::Recording;
use plait_sched::{Connection, Decision, Duration, Path, PathId, Time};
use plait_transport::{Observer, Sent};

/// Collects the events of one received packet, also for a recording.
#[derive(Debug, Default)]
pub(super) struct SessionObserver {
    pub(super) fresh: bool,
    pub(super) delivered: Vec<u64>,
    /// Payload bytes by path, without duplicates.
    pub(super) bytes: Vec<u64>,
    pub(super) delivered_at: Option<Time>,
    /// Longest time between two deliveries.
    pub(super) gap_nanos: u64,
    pub(super) recording: Option<Recording>,
    /// Payload bytes of a full segment, and the fate of full segments by path.
    pub(super) full: u32,
    pub(super) black_holes: Vec<BlackHoleDetector>,
}

impl Observer for SessionObserver {
    fn hears_decisions(&self) -> bool {
        self.recording.as_ref().is_some_and(Recording::hears_decisions)
    }

    fn sent(&mut self, now: Time, sent: &Sent) {
        if let Some(black_hole) = self.black_holes.get_mut(sent.path.index()) {
            black_hole.sent(now, sent, self.full);
        }
        if let Some(recording) = &mut self.recording {
            recording.sent(now, sent);
        }
    }

    fn decided(&mut self, now: Time, decision: &Decision, connection: &Connection, paths: &[Path]) {
        if let Some(recording) = &mut self.recording {
            recording.decided(now, decision, connection, paths);
        }
    }

    fn acknowledged(&mut self, now: Time, path: PathId, number: u64, waited: Duration) {
        if let Some(black_hole) = self.black_holes.get_mut(path.index()) {
            black_hole.acknowledged(number);
        }
        if let Some(recording) = &mut self.recording {
            recording.acknowledged(now, path, number, waited);
        }
    }

    fn lost(&mut self, now: Time, path: PathId, number: u64) {
        if let Some(black_hole) = self.black_holes.get_mut(path.index()) {
            black_hole.lost(number);
        }
        if let Some(recording) = &mut self.recording {
            recording.lost(now, path, number);
        }
    }

    fn arrived(&mut self, _now: Time, path: PathId, _segment: u64, bytes: u32) {
        self.fresh = true;
        if let Some(sum) = self.bytes.get_mut(path.index()) {
            *sum += u64::from(bytes);
        }
    }

    fn delivered(&mut self, now: Time, segment: u64, _bytes: u32) {
        let since = self.delivered_at.map_or(0, |newest| now.since(newest).as_nanos());
        self.gap_nanos = self.gap_nanos.max(since);
        self.delivered_at = Some(now);
        self.delivered.push(segment);
    }
}
