//! The facts of the connection as a C struct, and their conversion from and to those of Rust.

use plait_sched::{Connection, Message, Outstanding, PathId, PathSet, Time};

use crate::decision::PLAIT_NEVER;
use crate::error::{Error, Result, guard};
use crate::path::PLAIT_MAX_PATHS;
use crate::sized::{self, Sized32};

/// The facts of the connection; amounts are in segments. `plait_connection_init` fills in a
/// connection without data.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CConnection {
    /// The size of this struct as the caller knows it, in bytes.
    pub size: u32,
    /// Not 0 if the application has written its last byte.
    pub finished: u8,
    /// Not 0 if the three `oldest_…` fields are valid.
    pub has_oldest: u8,
    /// Not 0 while the application waits because it has more to write than there is room for.
    pub writer_waits: u8,
    /// Zero.
    pub reserved: u8,
    /// Segments written by the application and assigned to no path.
    pub unassigned: u64,
    /// The number of the next segment that an assignment would hand out.
    pub next_segment: u64,
    /// Segments that the receiver's window still admits, less those in path queues.
    pub window_left: u64,
    /// Segments that the application could still write before the send buffer is full.
    pub send_buffer_left: u64,
    /// The number of the oldest unacknowledged segment in flight.
    pub oldest_segment: u64,
    /// The path that carries it, the latest one if several do.
    pub oldest_path: u32,
    /// Every path that carries it: the bit of value 1 is path 0.
    pub oldest_carried: u32,
    /// The whole receiver's window: segments admitted from the oldest unacknowledged one on, sent
    /// or not. `window_left` is the rest of it. UINT64_MAX, the initial value, if it is unknown or
    /// infinite.
    pub window: u64,
    /// The number of the message of the next segment, counted from 0. The `message_…` fields,
    /// `streams` and `due` are for schedulers with PLAIT_NEEDS_MESSAGES. For other schedulers the
    /// initial values are right: zeros and PLAIT_NEVER.
    pub message_number: u64,
    /// Segments of the message in the data queue; UINT64_MAX for a message that never ends.
    pub message_left: u64,
    /// The time by which the whole message should have arrived; PLAIT_NEVER without a deadline.
    pub message_deadline: u64,
    /// The stream of the message.
    pub message_stream: u32,
    /// The priority of the message between streams, up to 255: the higher one goes first.
    pub message_priority: u32,
    /// Not 0 if the five `message_…` fields are valid.
    pub has_message: u32,
    /// Streams with data in the data queue that no path has had yet: PLAIT_DEFER chooses between
    /// them.
    pub streams: u32,
    /// The earliest deadline of the messages that are not fully acknowledged; PLAIT_NEVER without
    /// one.
    pub due: u64,
    /// Bytes from the next segment to the end of its fragment, the unit in which Linux' MPTCP keeps
    /// data. UINT64_MAX, the initial value, without fragments.
    pub fragment_left: u64,
}

// SAFETY: integers only, without padding: 4 + 1 + 1 + 1 + 1 bytes, 5 times 8, 2 times 4; in later
// versions 4 times 8, 4 times 4, 8, 8.
unsafe impl Sized32 for CConnection {
    const FIRST: u32 = 56;
    const DEFAULT: Self = Self {
        size: size_of::<Self>() as u32,
        finished: 0,
        has_oldest: 0,
        writer_waits: 0,
        reserved: 0,
        unassigned: 0,
        next_segment: 0,
        window_left: 0,
        send_buffer_left: 0,
        oldest_segment: 0,
        oldest_path: 0,
        oldest_carried: 0,
        window: u64::MAX,
        message_number: 0,
        message_left: 0,
        message_deadline: PLAIT_NEVER,
        message_stream: 0,
        message_priority: 0,
        has_message: 0,
        streams: 0,
        due: PLAIT_NEVER,
        fragment_left: u64::MAX,
    };
    const WRONG: &'static str = "the size of a plait_connection is none that a version of this interface has";
}

impl CConnection {
    /// Converts the facts from Rust.
    pub(crate) fn of(connection: &Connection) -> Self {
        let oldest = connection.oldest_unacked;
        let message = connection.message.unwrap_or_default();
        Self {
            finished: connection.finished.into(),
            has_oldest: oldest.is_some().into(),
            writer_waits: connection.writer_waits.into(),
            unassigned: connection.unassigned,
            next_segment: connection.next_segment,
            window_left: connection.window_left,
            window: connection.window,
            send_buffer_left: connection.send_buffer_left,
            oldest_segment: oldest.map_or(0, |oldest| oldest.segment),
            oldest_path: oldest.map_or(0, |oldest| oldest.path.0.into()),
            oldest_carried: oldest.map_or(0, |oldest| oldest.carried.0),
            message_number: message.number,
            message_left: message.segments_left,
            message_deadline: moment(message.deadline),
            message_stream: message.stream,
            message_priority: message.priority.into(),
            has_message: connection.message.is_some().into(),
            streams: connection.streams,
            due: moment(connection.due),
            fragment_left: connection.fragment_left.unwrap_or(u64::MAX),
            ..Self::DEFAULT
        }
    }

    /// Reads the facts that C wrote.
    ///
    /// # Safety
    /// `from` is null or points to a struct that begins with its true size.
    pub(crate) unsafe fn read(from: *const Self) -> Result<Connection> {
        // SAFETY: by contract.
        unsafe { sized::read(from, "the plait_connection is a null pointer")? }.connection()
    }

    pub(crate) fn connection(&self) -> Result<Connection> {
        let oldest_unacked = if self.has_oldest == 0 {
            None
        } else if self.oldest_path < PLAIT_MAX_PATHS {
            let path = PathId(self.oldest_path as u8);
            Some(Outstanding::new(self.oldest_segment, path, PathSet(self.oldest_carried)))
        } else {
            return Err(Error::argument("oldest_path of a plait_connection is PLAIT_MAX_PATHS or more"));
        };
        Ok(Connection {
            unassigned: self.unassigned,
            next_segment: self.next_segment,
            fragment_left: (self.fragment_left != u64::MAX).then_some(self.fragment_left),
            window_left: self.window_left,
            window: self.window,
            send_buffer_left: self.send_buffer_left,
            oldest_unacked,
            finished: self.finished != 0,
            message: self.message()?,
            streams: self.streams,
            due: deadline(self.due),
            writer_waits: self.writer_waits != 0,
        })
    }

    fn message(&self) -> Result<Option<Message>> {
        if self.has_message == 0 {
            return Ok(None);
        }
        let priority = u8::try_from(self.message_priority)
            .map_err(|_| Error::argument("message_priority of a plait_connection is more than 255"))?;
        Ok(Some(Message {
            number: self.message_number,
            stream: self.message_stream,
            segments_left: self.message_left,
            priority,
            deadline: deadline(self.message_deadline),
        }))
    }
}

/// An optional time, as C represents it.
fn moment(time: Option<Time>) -> u64 {
    time.map_or(PLAIT_NEVER, Time::as_nanos)
}

fn deadline(moment: u64) -> Option<Time> {
    (moment != PLAIT_NEVER).then(|| Time::from_nanos(moment))
}

/// Fills in `connection` without data and without window. `size` is `sizeof(plait_connection)`.
///
/// Returns PLAIT_OK. On an error it returns PLAIT_ERROR_ARGUMENT or _SIZE and does not change
/// `connection`.
///
/// # Safety
/// `connection` is null or points to `size` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_connection_init(connection: *mut CConnection, size: u32) -> i32 {
    // SAFETY: by contract.
    guard(|| unsafe {
        sized::initialize(connection, size, CConnection::DEFAULT, "the plait_connection is a null pointer")
    })
}
