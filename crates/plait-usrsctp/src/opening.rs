//! Opens the association before the clock starts: over the paths' delays alone, until every path
//! is confirmed and no packet is in flight.

use crate::packet;
use crate::process::{Process, ProcessError, Reply, Request};
use plait_sched::{Duration, Time};
use plait_sim::scenario::Scenario;
use std::collections::BTreeMap;

/// The stack's clock at the begin of the handshake. It takes a time of 0 as unset.
const BEGIN: Time = Time::from_nanos(1_000_000_000);
/// Longest time for opening the association.
const LONGEST: Duration = Duration::from_secs(3600);

/// An open association.
pub(crate) struct Opened {
    /// The stack's clock when it was open.
    pub(crate) time: Time,
    /// The stack's next timer.
    pub(crate) next: Option<Time>,
    /// The near end's initial TSN.
    pub(crate) initial_tsn: u32,
}

/// Opens the association.
pub(crate) fn open(process: &mut Process<'_>, scenario: &Scenario) -> Result<Opened, ProcessError> {
    let mut in_flight: BTreeMap<(Time, u64), Vec<u8>> = BTreeMap::new();
    let mut initial_tsn = None;
    let mut replies = Vec::new();
    let (mut now, mut count) = (BEGIN, 0);
    let mut next = process.ask(now, Request::Wake, &mut replies)?;
    loop {
        for reply in replies.drain(..) {
            let Reply::Sent(bytes) = reply else { continue };
            let reading = packet::read(&bytes).map_err(|error| ProcessError(error.to_string()))?;
            initial_tsn = initial_tsn.or(reading.initial_tsn);
            let delay = scenario.delay(reading.path.index(), reading.direction);
            in_flight.insert((now + delay, count), bytes);
            count += 1;
        }
        let arrival = in_flight.first_key_value().map(|(&(time, _), _)| time);
        if arrival.is_none() {
            next = process.ask(now, Request::State, &mut replies)?;
            let confirmed = replies.iter().any(|reply| matches!(reply, Reply::State(_, true)));
            if let (true, Some(initial_tsn)) = (confirmed, initial_tsn) {
                return Ok(Opened { time: now, next, initial_tsn });
            }
        }
        let Some(time) = arrival.into_iter().chain(next).min().filter(|&time| time < BEGIN + LONGEST) else {
            return Err(ProcessError("the association could not be opened".to_owned()));
        };
        now = time;
        next = match in_flight.first_entry() {
            Some(entry) if entry.key().0 == time => {
                process.ask(now, Request::Packet(&entry.remove()), &mut replies)?
            }
            _ => process.ask(now, Request::Wake, &mut replies)?,
        };
    }
}
