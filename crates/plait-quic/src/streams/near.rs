//! The end that opens paths, with streams on them.

use super::Streams;
use crate::connector::SessionConfig;
use crate::error::Error;
use crate::hello::Offer;
use crate::payload::Payload;
use crate::session::Session;
use crate::session_opener::SessionOpener;
use crate::settings::Settings;
use crate::terms::PathTerms;
use bytes::Bytes;
use plait_sched::{Builtin, PathId, Scheduler, Time};
use std::time::Instant;

/// One connection over all paths, with the scheduler `W`.
pub type Near<W = Builtin> = SessionOpener<Streams, W>;

impl Payload for Streams {
    const ENDLESS: bool = true;

    fn receive<W: Scheduler>(&mut self, session: &mut Session<W>) -> Option<Result<(), Error>> {
        self.take(session).err().map(Err)
    }

    fn transmit<W: Scheduler>(
        &mut self,
        _now: Instant,
        time: Time,
        session: &mut Session<W>,
        packets: &mut Vec<(PathId, Bytes)>,
    ) -> Result<(), Error> {
        self.transmit(time, session, packets)
    }

    fn report_terms(&mut self, path: usize, terms: PathTerms) {
        self.queue_terms(path, terms);
    }
}

impl<W: Scheduler> Near<W> {
    /// Creates an end that opens its paths from now on. It always offers [streams](Offer::STREAMS),
    /// even if `config` has another offer.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub fn new(now: Instant, settings: Settings, config: SessionConfig, scheduler: W) -> Result<Self, Error> {
        let config = SessionConfig { offer: Offer::STREAMS, ..config };
        let streams = Streams::new(true, settings.shared_segment());
        Self::open(now, settings, config, scheduler, streams)
    }

    /// Returns the streams, even before a path is open.
    pub fn streams(&mut self) -> &mut Streams {
        &mut self.payload
    }

    /// Queues a datagram on a flow.
    pub fn send_datagram(&mut self, now: Instant, flow: u32, bytes: &[u8]) {
        let time = self.time(now);
        self.payload.send_datagram(time, flow, bytes);
    }
}
