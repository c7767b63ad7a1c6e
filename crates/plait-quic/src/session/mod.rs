//! A transport endpoint whose packets are bytes, with the payload of both directions. It protects
//! nothing: the connections of the paths do that.

mod black_hole;
mod budgets;
mod changes;
mod counts;
mod encoder;
mod observer;
mod void_segments;

use self::black_hole::BlackHoleDetector;
use self::encoder::Encoder;
use self::observer::SessionObserver;
use self::void_segments::VoidSegments;
use crate::error::Error;
use crate::recording::{Beginning, Recording};
use crate::settings::{MIN_SEGMENT, Settings};
use crate::source::Source;
use crate::terms::Terms;
use bytes::Bytes;
use core::num::NonZeroU32;
pub use counts::PathCounts;
pub(crate) use counts::smoothed;
use plait_sched::{Builtin, Path, PathId, PathSet, Scheduler, Time};
use plait_transport::endpoint::{Endpoint, Side};
use plait_transport::image::{Arriving, Boundaries, Image};
use plait_transport::packet::{Packet, SegmentEcn, quic};
use plait_transport::wire::quic::TAG_BYTES;
use plait_transport::{Counters, PathConfig, PathTotals};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Parameters that both ends have agreed upon.
#[derive(Clone, Copy, Debug)]
pub struct Agreed {
    /// Number of paths.
    pub paths: usize,
    /// Path that was open first.
    pub initial: usize,
    /// Payload bytes of a full segment.
    pub segment: u16,
    /// The receiver's window.
    pub window: u64,
    /// Kind of data in each direction.
    pub delivery: Delivery,
}

/// Kind of data in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// One stream in each direction, read in order. All of its segments are full.
    Ordered,
    /// Segments of any length, read as they arrive. They carry their numbers.
    Unordered,
}

impl Delivery {
    /// True if a segment at this offset may have so many payload bytes.
    fn admits(self, offset: u64, bytes: u64, full: u64) -> bool {
        bytes > 0
            && match self {
                Self::Ordered => bytes == full && offset.is_multiple_of(full),
                Self::Unordered => bytes <= full,
            }
    }
}

/// Segments beyond the next expected one that are accepted at least, for any window. The limit
/// bounds the memory for segments, even if these are short.
const MIN_AHEAD: u64 = 4_096;

/// One end of a connection, with any scheduler.
#[derive(Debug)]
pub struct Session<W = Builtin> {
    endpoint: Endpoint<W>,
    image: Image,
    peer: Boundaries,
    agreed: Agreed,
    observer: SessionObserver,
    /// Payload that waits for missing data.
    out_of_order: BTreeMap<u64, Bytes>,
    in_order: VecDeque<Bytes>,
    /// Segments of an [unordered](Delivery::Unordered) peer, by number.
    unordered: VecDeque<(u64, Bytes)>,
    void_segments: VoidSegments,
    /// Buffer for a packet, with room for its tag.
    scratch: Vec<u8>,
    sent: Vec<u64>,
    /// Received payload bytes by path, duplicates included.
    received: Vec<u64>,
    budgets: Vec<u64>,
    /// Paths that have used up their budgets, as far as the transport knows.
    spent_paths: PathSet,
    /// Bit set of the paths that have joined at least once.
    joined: u32,
}

impl<W: Scheduler> Session<W> {
    /// Creates an end that has nothing to send yet: see [`Session::extend`].
    ///
    /// # Errors
    /// If the scheduler needs a feature that the transport does not offer.
    pub fn new(side: Side, settings: &Settings, agreed: Agreed, scheduler: W) -> Result<Self, Error> {
        Self::with_terms(side, settings, agreed, &vec![Terms::default(); agreed.paths], scheduler)
    }

    /// Creates an end with terms for each path. A budget is kept to the packet: payload beyond it
    /// takes another path.
    ///
    /// # Errors
    /// If the scheduler needs a feature that the transport does not offer.
    pub fn with_terms(
        side: Side,
        settings: &Settings,
        agreed: Agreed,
        terms: &[Terms],
        scheduler: W,
    ) -> Result<Self, Error> {
        let config = settings.protocol(agreed.segment, agreed.window, agreed.initial);
        let paths: Vec<PathConfig> = terms.iter().map(|terms| terms.path()).collect();
        let endpoint = Endpoint::new(&config, side, &paths, scheduler)?;
        let [client, server] = Image::pair(&config, agreed.paths, [0; 2]);
        let image = if side == Side::Client { client } else { server };
        let segment = NonZeroU32::new(agreed.segment.into()).ok_or(Error::Malformed("segment"))?;
        let (image, peer) = match (agreed.delivery, image) {
            (Delivery::Unordered, Image::Mpquic(image)) => {
                (Image::Mpquic(image.numbered()), Boundaries::numbered())
            }
            (Delivery::Ordered, Image::Mpquic(image)) => {
                (Image::Mpquic(image.untold()), Boundaries::uniform(segment))
            }
            (_, image) => (image, Boundaries::uniform(segment)),
        };
        Ok(Self {
            endpoint,
            image,
            peer,
            agreed,
            observer: SessionObserver {
                bytes: vec![0; agreed.paths],
                full: agreed.segment.into(),
                black_holes: (0..agreed.paths).map(|_| BlackHoleDetector::default()).collect(),
                ..SessionObserver::default()
            },
            out_of_order: BTreeMap::new(),
            in_order: VecDeque::new(),
            unordered: VecDeque::new(),
            void_segments: VoidSegments::default(),
            scratch: Vec::new(),
            sent: vec![0; agreed.paths],
            received: vec![0; agreed.paths],
            budgets: terms.iter().map(|terms| terms.budget.unwrap_or(u64::MAX)).collect(),
            spent_paths: PathSet::EMPTY,
            joined: 0,
        })
    }

    /// Records all events from now on; call it before anything is sent. `sends`: bytes of all
    /// files, or [`ENDLESS`](crate::recording::ENDLESS).
    pub(crate) fn record(&mut self, now: Time, mut recording: Recording, mtu: u16, sends: u64) {
        let Agreed { initial, segment, window, .. } = self.agreed;
        recording.begin(now, &Beginning { initial, segment, window, sends, mtu });
        self.observer.recording = Some(recording);
    }

    /// Ends the recording; `whole` if the peer has confirmed all data. Returns any write error,
    /// even an earlier one.
    ///
    /// # Errors
    /// Write errors of the file.
    pub(crate) fn end_recording(&mut self, now: Time, whole: bool) -> io::Result<()> {
        let counters = self.counters();
        self.observer.recording.take().map_or(Ok(()), |recording| recording.end(now, &counters, whole))
    }

    /// Records the state of the windows, if there is a recording and its interval is over.
    fn sample_windows(&mut self, now: Time) {
        let Self { endpoint, observer: SessionObserver { recording: Some(recording), .. }, .. } = self else {
            return;
        };
        if recording.is_due(now) {
            let paths = endpoint.paths();
            let windows: Vec<_> = paths.iter().map(|path| endpoint.window(path.id)).collect();
            recording.sample_windows(now, &paths, &windows, endpoint.connection().window_left);
        }
    }

    /// Allows so many more bytes to leave. The transport splits them into full segments and perhaps
    /// a shorter one, which an [ordered](Delivery::Ordered) stream must not have. The source
    /// provides the bytes when they leave.
    pub fn extend(&mut self, bytes: u64) {
        self.endpoint.write(bytes);
    }

    /// Returns the number of a segment before which all segments of this end are acknowledged.
    pub fn acknowledged_segments(&self) -> u64 {
        let connection = self.endpoint.connection();
        let nothing = if self.endpoint.is_drained() { connection.next_segment } else { 0 };
        connection.oldest_unacked.map_or(nothing, |oldest| oldest.segment)
    }

    /// Handles a packet that arrived on a path. Ignores packets that do not belong to this
    /// connection.
    pub fn handle(&mut self, now: Time, path: PathId, packet: &[u8]) {
        let Self {
            endpoint,
            image,
            peer,
            agreed,
            observer,
            out_of_order,
            in_order,
            unordered,
            void_segments,
            scratch,
            received,
            ..
        } = self;
        // The image has room for the tag, though nothing is protected here.
        scratch.clear();
        scratch.extend_from_slice(packet);
        scratch.extend_from_slice(&[0; TAG_BYTES]);
        let arriving = Arriving { path, ecn: SegmentEcn::default(), bytes: scratch };
        let _ = image.decode(&arriving, peer, |packet, payload| {
            let (mut number, mut bytes) = (0, 0);
            if let Packet::Quic(quic::Packet::OneRtt(packet)) = packet
                && let Some(stream) = packet.stream
            {
                (number, bytes) = (stream.data.segment, u64::from(stream.data.bytes));
                let most = (agreed.window / u64::from(MIN_SEGMENT)).max(MIN_AHEAD);
                let ahead = number.saturating_sub(endpoint.reassembly().next_expected());
                let fits = agreed.delivery.admits(stream.offset, bytes, agreed.segment.into());
                if ahead > most || !fits {
                    return;
                }
                received[path.index()] += payload.len() as u64;
            }
            observer.fresh = false;
            endpoint.handle_packet(now, path, packet, observer);
            if agreed.delivery == Delivery::Unordered {
                observer.delivered.clear();
                if payload.is_empty() {
                    if observer.fresh {
                        observer.bytes[path.index()] -= bytes;
                        void_segments.insert(number);
                    }
                } else if observer.fresh || void_segments.remove(number) {
                    unordered.push_back((number, Bytes::copy_from_slice(payload)));
                }
                return;
            }
            let mut fresh = observer.fresh.then(|| Bytes::copy_from_slice(payload));
            for delivered in observer.delivered.drain(..) {
                // Most segments arrive in order, and need no buffer.
                let own = if delivered == number { fresh.take() } else { None };
                in_order.extend(own.or_else(|| out_of_order.remove(&delivered)));
            }
            if let Some(early) = fresh {
                out_of_order.insert(number, early);
            }
        });
    }

    /// Handles timers. Call it when [`Session::next_wakeup`] has come.
    ///
    /// # Errors
    /// Those of the transport.
    pub fn handle_timeout(&mut self, now: Time) -> Result<(), Error> {
        Ok(self.endpoint.handle_timeout(now, &mut self.observer)?)
    }

    /// Appends all packets that leave now, with their paths.
    ///
    /// # Errors
    /// If the scheduler broke its contract, or the source cannot be read.
    pub fn transmit(
        &mut self,
        now: Time,
        source: &mut impl Source,
        packets: &mut Vec<(PathId, Bytes)>,
    ) -> Result<(), Error> {
        self.apply_budgets(now, &[]);
        loop {
            let Self { endpoint, image, peer, sent, received, budgets, observer, .. } = self;
            let (payload, redundant, refused) = (Vec::new(), Vec::new(), Vec::new());
            let mut encoder = Encoder {
                image,
                peer,
                source,
                sent,
                received,
                budgets,
                packets,
                payload,
                redundant,
                refused,
                failed: None,
            };
            endpoint.transmit(now, &mut encoder, observer)?;
            let Encoder { redundant, refused, failed, .. } = encoder;
            if let Some(error) = failed {
                return Err(error.into());
            }
            let more = self.apply_budgets(now, &refused);
            if !self.duplicate(&redundant) && !more {
                break;
            }
        }
        self.sample_windows(now);
        Ok(())
    }

    /// Returns the time at which [`Session::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.endpoint.next_wakeup()
    }

    /// Returns the next segment of an [unordered](Delivery::Unordered) peer, with its number, in
    /// the order of arrival.
    pub fn read_unordered(&mut self) -> Option<(u64, Bytes)> {
        self.unordered.pop_front()
    }

    /// Returns the number of a segment before which all segments of the peer have arrived.
    pub fn next_expected(&self) -> u64 {
        self.endpoint.reassembly().next_expected()
    }

    /// Returns the next segment of the peer's [ordered](Delivery::Ordered) stream.
    pub fn read(&mut self) -> Option<Bytes> {
        self.in_order.pop_front()
    }

    /// True once all data of this end is acknowledged.
    pub fn is_drained(&self) -> bool {
        self.endpoint.is_drained()
    }

    /// Bytes of this end's [ordered](Delivery::Ordered) stream before the oldest unacknowledged
    /// segment.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged_segments() * u64::from(self.agreed.segment)
    }

    /// Payload bytes by path: sent bytes, duplicates included, and bytes received from the peer,
    /// without duplicates.
    pub fn carried(&self) -> (&[u64], &[u64]) {
        (&self.sent, &self.observer.bytes)
    }

    /// Longest time without data delivered in order, between the first delivery and the last.
    pub fn longest_gap(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.observer.gap_nanos)
    }

    /// Returns the paths as the scheduler sees them.
    pub fn paths(&self) -> Vec<Path> {
        self.endpoint.paths()
    }

    /// Returns the parameters that both ends have agreed upon.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Returns the totals of a path.
    pub fn totals(&self, path: PathId) -> PathTotals {
        self.endpoint.totals(path)
    }

    /// Replaces the scheduler: see [`Endpoint::replace_scheduler`]. Call [`Session::transmit`]
    /// next.
    ///
    /// # Errors
    /// If it needs a feature that the transport does not offer.
    pub fn replace_scheduler(&mut self, scheduler: W) -> Result<W, Error> {
        Ok(self.endpoint.replace_scheduler(scheduler)?)
    }

    /// Returns the transport's counters.
    pub fn counters(&self) -> Counters {
        self.endpoint.counters()
    }

    /// Payload bytes that wait for missing data, which the window bounds.
    pub fn buffered(&self) -> u64 {
        self.endpoint.reassembly().buffered()
    }
}
