//! The facts of a path as a C struct, and their conversion from and to those of Rust.

use plait_sched::view::MAX_PATHS;
use plait_sched::{Duration, Path, PathId, PathState};

use crate::error::{Error, Result, guard};
use crate::sized::{self, Sized32};

/// Largest number of paths of a connection.
pub const PLAIT_MAX_PATHS: u32 = 32;
const _: () = assert!(PLAIT_MAX_PATHS as usize == MAX_PATHS, "the header says how many there are");

/// A path carries new data.
pub const PLAIT_PATH_ACTIVE: u32 = 0;
/// A path works, but may be used only while no active one is usable.
pub const PLAIT_PATH_BACKUP: u32 = 1;
/// A path had a timeout and is being probed.
pub const PLAIT_PATH_POTENTIALLY_FAILED: u32 = 2;
/// A path does not exist: not established, or given up.
pub const PLAIT_PATH_FAILED: u32 = 3;

/// No threshold, or no limit.
pub const PLAIT_NONE: u32 = 0xffff_ffff;

/// The facts of one path; its number is its place in the array. Times are in nanoseconds and
/// amounts in segments, unless said otherwise. `plait_path_init` fills in a path without
/// measurements.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CPath {
    /// The size of this struct as the caller knows it, in bytes; the same for all paths of an
    /// array.
    pub size: u32,
    /// PLAIT_PATH_ACTIVE, _BACKUP, _POTENTIALLY_FAILED or _FAILED.
    pub state: u32,
    /// Not 0 while the path recovers from a loss and should take no new data.
    pub in_recovery: u8,
    /// Not 0 during loss recovery of any kind.
    pub repairing: u8,
    /// Not 0 if `forward_delay` is known.
    pub has_forward_delay: u8,
    /// Zero.
    pub reserved: u8,
    /// Largest segment, in payload bytes; more than 0.
    pub mss: u32,
    /// Congestion window. `cwnd` less `in_flight` has to be the number of segments that may leave:
    /// engines that count bytes round accordingly.
    pub cwnd: u32,
    /// Slow-start threshold; PLAIT_NONE while unset.
    pub ssthresh: u32,
    /// Segments sent and neither acknowledged nor considered lost.
    pub in_flight: u32,
    /// Segments considered lost that wait for retransmission on this path.
    pub lost: u32,
    /// Segments assigned to this path and not sent yet, and copies queued on it.
    pub queued: u32,
    /// Limit of `in_flight` set by a decision; PLAIT_NONE without one.
    pub limit: u32,
    /// Share of the sent segments that were lost, in parts per million.
    pub loss_ppm: u32,
    /// Cost of using the path, in units of the user's choice.
    pub cost: u32,
    /// Smoothed round-trip time; 0 until the first sample, like the next four fields.
    pub srtt: u64,
    /// Round-trip time variation (RFC 6298).
    pub rttvar: u64,
    /// The latest sample.
    pub latest_rtt: u64,
    /// Smoothed round-trip time of packets that were acknowledged on this path too.
    pub own_rtt: u64,
    /// The smallest sample of `own_rtt`.
    pub min_rtt: u64,
    /// Estimated one-way delay towards the receiver. It may contain a clock offset that is common
    /// to all paths.
    pub forward_delay: i64,
    /// Retransmission timeout, back-off included.
    pub rto: u64,
    /// Recent delivery rate in payload bits per second; 0 until measured.
    pub delivery_rate: u64,
    /// Weight of the path: its share of the sent data relative to the weights of the others; 1
    /// unless set.
    pub weight: u32,
    /// Not 0 if `uncarried` is valid.
    pub has_uncarried: u32,
    /// The oldest segment in flight on other paths that this path neither carries nor is about to
    /// carry.
    pub uncarried: u64,
    /// Memory of the packets in flight, lost and queued, in bytes, as Linux counts it for a socket.
    /// UINT64_MAX, the initial value, if it is not counted.
    pub memory: u64,
    /// Packets sent and not cumulatively acknowledged. UINT64_MAX, the initial value, if they are
    /// not counted.
    pub outstanding: u64,
    /// Rate at which congestion control lets packets leave, in bits per second. 0, the initial
    /// value, if packets leave as soon as the window admits them.
    pub pacing_rate: u64,
}

// SAFETY: integers only, without padding: 12 times 4 bytes, then 8 times 8, then twice 4, then 4
// times 8.
unsafe impl Sized32 for CPath {
    const FIRST: u32 = 112;
    const DEFAULT: Self = Self::of(&Path::new(PathId(0), 1));
    const WRONG: &'static str = "the size of a plait_path is none that a version of this interface has";
}

impl CPath {
    /// Converts the facts from Rust.
    pub(crate) const fn of(path: &Path) -> Self {
        let (forward_delay, has_forward_delay) = match path.forward_delay {
            Some(delay) => (delay, 1),
            None => (0, 0),
        };
        Self {
            size: size_of::<Self>() as u32,
            state: match path.state {
                PathState::Active => PLAIT_PATH_ACTIVE,
                PathState::Backup => PLAIT_PATH_BACKUP,
                PathState::PotentiallyFailed => PLAIT_PATH_POTENTIALLY_FAILED,
                PathState::Failed => PLAIT_PATH_FAILED,
            },
            in_recovery: path.in_recovery as u8,
            repairing: path.repairing as u8,
            has_forward_delay,
            reserved: 0,
            mss: path.mss,
            cwnd: path.cwnd,
            ssthresh: path.ssthresh,
            in_flight: path.in_flight,
            lost: path.lost,
            queued: path.queued,
            limit: path.limit,
            loss_ppm: path.loss_ppm,
            cost: path.cost,
            srtt: path.srtt.as_nanos(),
            rttvar: path.rttvar.as_nanos(),
            latest_rtt: path.latest_rtt.as_nanos(),
            own_rtt: path.own_rtt.as_nanos(),
            min_rtt: path.min_rtt.as_nanos(),
            forward_delay,
            rto: path.rto.as_nanos(),
            delivery_rate: path.delivery_rate,
            weight: path.weight,
            has_uncarried: path.uncarried.is_some() as u32,
            uncarried: match path.uncarried {
                Some(segment) => segment,
                None => 0,
            },
            memory: match path.memory {
                Some(bytes) => bytes,
                None => u64::MAX,
            },
            outstanding: match path.outstanding {
                Some(packets) => packets as u64,
                None => u64::MAX,
            },
            pacing_rate: match path.pacing_rate {
                Some(rate) => rate,
                None => 0,
            },
        }
    }

    pub(crate) fn path(&self, id: PathId) -> Result<Path> {
        let state = match self.state {
            PLAIT_PATH_ACTIVE => PathState::Active,
            PLAIT_PATH_BACKUP => PathState::Backup,
            PLAIT_PATH_POTENTIALLY_FAILED => PathState::PotentiallyFailed,
            PLAIT_PATH_FAILED => PathState::Failed,
            _ => return Err(Error::argument("the state of a plait_path is none of PLAIT_PATH_…")),
        };
        if self.mss == 0 {
            return Err(Error::argument("the mss of a plait_path is 0: it must be 1 at least"));
        }
        Ok(Path {
            id,
            state,
            in_recovery: self.in_recovery != 0,
            repairing: self.repairing != 0,
            srtt: Duration::from_nanos(self.srtt),
            rttvar: Duration::from_nanos(self.rttvar),
            latest_rtt: Duration::from_nanos(self.latest_rtt),
            own_rtt: Duration::from_nanos(self.own_rtt),
            min_rtt: Duration::from_nanos(self.min_rtt),
            forward_delay: (self.has_forward_delay != 0).then_some(self.forward_delay),
            rto: Duration::from_nanos(self.rto),
            mss: self.mss,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            in_flight: self.in_flight,
            lost: self.lost,
            queued: self.queued,
            limit: self.limit,
            loss_ppm: self.loss_ppm,
            delivery_rate: self.delivery_rate,
            cost: self.cost,
            weight: self.weight,
            uncarried: (self.has_uncarried != 0).then_some(self.uncarried),
            memory: (self.memory != u64::MAX).then_some(self.memory),
            outstanding: u32::try_from(self.outstanding).ok(),
            pacing_rate: (self.pacing_rate != 0).then_some(self.pacing_rate),
        })
    }
}

/// The facts of all paths, in place, so that nothing is allocated.
#[derive(Debug)]
pub(crate) struct Paths {
    paths: [Path; MAX_PATHS],
}

impl Paths {
    pub(crate) fn new() -> Self {
        Self { paths: std::array::from_fn(|index| Path::new(PathId(index as u8), 1)) }
    }

    /// Reads the paths that C wrote.
    ///
    /// # Safety
    /// `from` is null or points to `count` structs that begin with their true size, the same for
    /// all.
    pub(crate) unsafe fn read(&mut self, from: *const CPath, count: u32) -> Result<&[Path]> {
        if count > PLAIT_MAX_PATHS {
            return Err(Error::argument("there are more than PLAIT_MAX_PATHS paths"));
        }
        let paths = &mut self.paths[..count as usize];
        if paths.is_empty() {
            return Ok(paths);
        }
        if from.is_null() {
            return Err(Error::argument("the plait_path array is a null pointer"));
        }
        // SAFETY: not null, so by contract there is a size at least.
        let size = unsafe { from.cast::<u32>().read() };
        let stride = sized::check::<CPath>(size)?;
        for (index, path) in paths.iter_mut().enumerate() {
            // SAFETY: by contract there are `count` structs of this size.
            let facts = unsafe { sized::read_part(from.byte_add(index * stride), stride) };
            if facts.size != size {
                return Err(Error::size("the plait_path structs of an array have different sizes"));
            }
            *path = facts.path(PathId(index as u8))?;
        }
        Ok(paths)
    }
}

/// Fills in `path` without measurements: active, a window of one segment.
///
/// `size` is `sizeof(plait_path)`, `mss` the largest segment in payload bytes. Returns PLAIT_OK. On
/// an error it returns PLAIT_ERROR_ARGUMENT or _SIZE and does not change `path`.
///
/// # Safety
/// `path` is null or points to `size` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_path_init(path: *mut CPath, size: u32, mss: u32) -> i32 {
    guard(|| {
        let facts = CPath { mss, ..CPath::DEFAULT };
        // SAFETY: by contract.
        unsafe { sized::initialize(path, size, facts, "the plait_path is a null pointer") }
    })
}
