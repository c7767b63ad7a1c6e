//! A competing flow of datagrams. The first eight payload bytes of each datagram are its number,
//! big-endian, from 0.

use crate::connection::Losses;
use crate::error::ObservationError;
use crate::sending::RecordPosition;
use plait_sched::Time;
use plait_sim::result::FlowEnding;
use plait_sim::statistics::Spans;

/// A flow of datagrams in progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagrams {
    /// Per number, the time at which the datagram was sent, and whether it has arrived. Links may
    /// duplicate datagrams: then one arrives more than once.
    sent: Vec<Option<(Time, bool)>>,
    measured: bool,
    packets_sent: u64,
    packets_delivered: u64,
    delivered_bytes: u64,
    losses: Losses,
    delay: Spans,
}

/// Numbers that a sender may skip. A larger gap is an error.
const MAX_SKIPPED: u64 = 1 << 16;

impl Datagrams {
    /// Creates a flow. With `measured`, it measures from the start on.
    pub(crate) fn new(measured: bool) -> Self {
        Self { measured, ..Self::default() }
    }

    pub(crate) fn end_warmup(&mut self) {
        self.measured = true;
        self.losses.restart(self.sent.len() as u64);
    }

    pub(crate) fn transmit(
        &mut self,
        now: Time,
        position: RecordPosition<'_>,
        number: Option<u64>,
    ) -> Result<(), ObservationError> {
        let number = numbered(position, number, self.sent.len())?;
        if number as usize >= self.sent.len() {
            self.sent.resize(number as usize + 1, None);
        }
        self.sent[number as usize] = Some((now, false));
        self.packets_sent += u64::from(self.measured);
        Ok(())
    }

    pub(crate) fn arrive(
        &mut self,
        now: Time,
        position: RecordPosition<'_>,
        number: Option<u64>,
        bytes: u32,
    ) -> Result<(), ObservationError> {
        let number = numbered(position, number, self.sent.len())?;
        let (sent, arrived) =
            self.sent.get_mut(number as usize).and_then(Option::as_mut).ok_or_else(|| {
                position.mismatch(format!("the sender's capture has no datagram of number {number}"))
            })?;
        let delay = now.since(*sent);
        if !std::mem::replace(arrived, true) {
            self.losses.arrived(number);
        }
        if self.measured {
            self.packets_delivered += 1;
            self.delivered_bytes += u64::from(bytes);
            self.delay.add(delay);
        }
        Ok(())
    }

    pub(crate) fn ending(&self) -> FlowEnding {
        FlowEnding {
            packets_sent: self.packets_sent,
            retransmissions: 0,
            packets_delivered: self.packets_delivered,
            delivered_bytes: self.delivered_bytes,
            packets_lost: self.losses.count(),
            packets_dropped: None,
            delay: self.delay.summary(),
            completed: None,
        }
    }
}

fn numbered(
    position: RecordPosition<'_>,
    number: Option<u64>,
    known: usize,
) -> Result<u64, ObservationError> {
    number.filter(|&number| number < known as u64 + MAX_SKIPPED).ok_or_else(|| {
        position
            .malformed("a datagram of a competing flow begins with its number, eight bytes, counted from 0")
    })
}
