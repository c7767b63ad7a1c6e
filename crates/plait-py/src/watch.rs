//! Observes a Python or foreign scheduler, to find out whether it ever sends.

use plait_sched::{Capabilities, Connection, Decision, Event, Interest, Path, Scheduler, Time, usable};
use std::fmt;

/// Calls of a scheduler that never sent anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    /// Number of calls.
    pub(crate) calls: u64,
    /// Number of decisions to wait.
    pub(crate) waits: u64,
    /// Number of calls with data to send and a path with room.
    pub(crate) able: u64,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, waits, able } = *self;
        let none = if waits == calls {
            "all Wait".to_owned()
        } else {
            format!("{waits} Wait, the others not Assign")
        };
        let (s, them) = if calls == 1 { ("", "then") } else { ("s", "in") };
        write!(f, "never decided to send: {calls} call{s}, {none}, though data waited and a path had room ")?;
        if calls == 1 { f.write_str(them) } else { write!(f, "{them} {able} of them") }
    }
}

/// A scheduler whose decisions are counted until it sends for the first time.
pub(crate) struct Watched<S> {
    scheduler: S,
    sends: bool,
    silence: Silence,
}

impl<S> Watched<S> {
    pub(crate) fn new(scheduler: S) -> Self {
        Self { scheduler, sends: false, silence: Silence { calls: 0, waits: 0, able: 0 } }
    }

    /// Counts a decision.
    fn count(&mut self, decision: &Decision, connection: &Connection, paths: &[Path]) {
        if self.sends {
            return;
        }
        self.silence.calls += 1;
        match decision {
            Decision::Assign { .. } | Decision::Reinject { .. } => self.sends = true,
            Decision::Wait { .. } => self.silence.waits += 1,
            _ => {}
        }
        let able = connection.sendable() > 0 && usable(paths).any(Path::is_open);
        self.silence.able += u64::from(able);
    }

    /// Returns the calls of a scheduler that could have sent and never did.
    pub(crate) fn silence(&self) -> Option<Silence> {
        (!self.sends && self.silence.able > 0).then_some(self.silence)
    }
}

impl<S: Scheduler> Scheduler for Watched<S> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let decision = self.scheduler.decide(now, connection, paths);
        self.count(&decision, connection, paths);
        decision
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        let decision = self.scheduler.decide_with_reason(now, connection, paths, reason);
        self.count(&decision, connection, paths);
        decision
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        self.scheduler.on_event(event, connection, paths);
    }

    fn needs(&self) -> Capabilities {
        self.scheduler.needs()
    }

    fn interest(&self) -> Interest {
        self.scheduler.interest()
    }

    fn waits_without_room(&self) -> bool {
        self.scheduler.waits_without_room()
    }

    fn send_memory(&self) -> Option<u64> {
        self.scheduler.send_memory()
    }
}
