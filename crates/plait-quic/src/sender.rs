//! The end that has a file: it opens the paths and sends.

pub use crate::address_change::AddressChange;
pub use crate::connector::{Progress, SessionConfig};
use crate::error::Error;
use crate::payload::Payload;
use crate::session::Session;
use crate::session_opener::SessionOpener;
use crate::settings::Settings;
use crate::source::Application;
use bytes::Bytes;
use plait_sched::{Builtin, PathId, Scheduler, Time};
use std::time::Instant;

/// The sending end of the application `S`, with the scheduler `W`.
pub type Sender<S, W = Builtin> = SessionOpener<OrderedStream<S>, W>;

/// The ordered stream of an application.
#[derive(Debug)]
pub struct OrderedStream<S> {
    application: S,
    /// Bytes of the stream that the transport knows.
    written: u64,
}

impl<S: Application> Payload for OrderedStream<S> {
    const ENDLESS: bool = false;

    fn receive<W: Scheduler>(&mut self, session: &mut Session<W>) -> Option<Result<(), Error>> {
        let mut received = Ok(());
        while let Some(piece) = session.read().filter(|_| received.is_ok()) {
            received = self.application.receive(&piece);
        }
        received.err().map(Err).or_else(|| self.application.outcome())
    }

    fn transmit<W: Scheduler>(
        &mut self,
        now: Instant,
        time: Time,
        session: &mut Session<W>,
        packets: &mut Vec<(PathId, Bytes)>,
    ) -> Result<(), Error> {
        // The application writes full segments.
        let unit = session.agreed().segment.into();
        loop {
            let written = self.application.advance(now, session.acknowledged(), unit);
            let more = written - std::mem::replace(&mut self.written, written);
            session.extend(more);
            session.transmit(time, &mut self.application, packets)?;
            // The application may now have room for more.
            if more == 0 {
                return Ok(());
            }
        }
    }

    fn left(&self) -> Option<u64> {
        let size = self.application.size();
        (size > 0).then(|| size.saturating_sub(self.application.carried()))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.application.next_wakeup()
    }
}

impl<S: Application, W: Scheduler> Sender<S, W> {
    /// Creates an end that has sent nothing yet.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub fn new(
        now: Instant,
        settings: Settings,
        config: SessionConfig,
        scheduler: W,
        application: S,
    ) -> Result<Self, Error> {
        Self::open(now, settings, config, scheduler, OrderedStream { application, written: 0 })
    }

    /// Returns the application.
    pub fn application(&self) -> &S {
        &self.payload.application
    }
}
