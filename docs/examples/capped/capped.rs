//! The open path with the shortest round trip, with at most `share` of its congestion window in flight.

use plait_sched_ffi::export::Exported;
use plait_sched_ffi::plait_sched::{Connection, Decision, Path, Scheduler, Time, usable};
use plait_sched_ffi::{Given, export_schedulers, export_source};
use std::ffi::CStr;

struct Capped {
    share: f64,
}

impl Scheduler for Capped {
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let below = |path: &&Path| {
            let most = (self.share * f64::from(path.cwnd)).max(1.0);
            path.is_open() && f64::from(path.in_flight + path.queued) < most
        };
        // Of paths that are equally short, the first one.
        match usable(paths).filter(below).min_by_key(|path| path.srtt) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    }
}

impl Exported for Capped {
    const NAME: &'static CStr = c"Capped";
    const SUMMARY: &'static CStr = c"The shortest open path, with a share of its window in flight.";

    fn create(given: &mut Given<'_>) -> Result<Self, String> {
        let share = given.take("share", 1.0)?;
        if share > 0.0 { Ok(Self { share }) } else { Err(format!("share is {share}: more than 0")) }
    }
}

export_schedulers!(Capped);
export_source!("capped.rs");
