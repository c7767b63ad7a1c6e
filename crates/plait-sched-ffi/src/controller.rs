//! A congestion controller as a table of callbacks, and an instance of it.

use std::ffi::{c_char, c_void};
use std::ptr;

use crate::class::{Destroy, Fault};
use crate::error::PLAIT_OK;
use crate::table::{self, Table, class_methods};

/// No loss is being repaired.
pub const PLAIT_REPAIRING_NOTHING: u32 = 0;
/// Losses that later acknowledgements showed are being repaired.
pub const PLAIT_REPAIRING_LOSSES: u32 = 1;
/// Losses that a timeout showed are being repaired.
pub const PLAIT_REPAIRING_TIMEOUT: u32 = 2;

/// Later acknowledgements showed a loss; once per window of data. `outstanding`.
pub const PLAIT_CONGESTION_LOSS: u32 = 0;
/// The receiver reported marked packets; once per window of data. `outstanding`.
pub const PLAIT_CONGESTION_MARK: u32 = 1;
/// The retransmission timer ran out. `outstanding`, `repairing`.
pub const PLAIT_CONGESTION_TIMEOUT: u32 = 2;
/// The window is to be `window`, after a timeout or persistent congestion.
pub const PLAIT_CONGESTION_COLLAPSE: u32 = 3;
/// The last reduction was unnecessary. `window`, `threshold`.
pub const PLAIT_CONGESTION_UNDONE: u32 = 4;
/// The scheduler halves the window.
pub const PLAIT_CONGESTION_PENALTY: u32 = 5;
/// No packet left for one retransmission timeout.
pub const PLAIT_CONGESTION_IDLE: u32 = 6;
/// A packet leaves after no packet was in flight. `idle`, `app_limited`.
pub const PLAIT_CONGESTION_RESUMED: u32 = 7;
/// All data in flight was acknowledged.
pub const PLAIT_CONGESTION_DRAINED: u32 = 8;
/// A handshake measured the round trip. `rtt`.
pub const PLAIT_CONGESTION_MEASURED: u32 = 9;

/// Largest window in bytes.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// The window of a path, which its controller sets. Amounts are in bytes as the protocol's windows
/// count them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CWindow {
    /// The size of this struct as Plait knows it, in bytes.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// A full segment; constant.
    pub segment: u64,
    /// The scenario's `initial_window`; constant.
    pub initial: u64,
    /// Congestion window, from 1 to 10^15; less than a segment counts as a segment. Initially
    /// `initial`.
    pub window: u64,
    /// Slow-start threshold, for schedulers and metrics; UINT64_MAX for none. Initially the
    /// scenario's `initial_ssthresh`.
    pub threshold: u64,
    /// Rate in bytes per second at which packets leave. 0, the initial value, if they leave as soon
    /// as the window admits them. A controller that paces sets it in `create`.
    pub pacing_rate: u64,
}

/// A path of the connection, for controllers that couple paths.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CPathWindow {
    /// The size of this struct as Plait knows it, in bytes; the same for all paths of an array.
    pub size: u32,
    /// 0 for a path that is not established, or that has failed.
    pub usable: u32,
    /// Congestion window in bytes.
    pub window: u64,
    /// Smoothed round-trip time in nanoseconds; 0 before the first sample.
    pub srtt: u64,
}

/// A sample of the delivery rate: `delivered` bytes in `interval`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CRateSample {
    /// The size of this struct as Plait knows it, in bytes.
    pub size: u32,
    /// Not 0 if the application, the scheduler or the receiver limited the sender when the newest
    /// acknowledged packet left.
    pub app_limited: u32,
    /// Bytes that the path delivered in the interval.
    pub delivered: u64,
    /// The interval in nanoseconds; 0 if the acknowledgement gives no sample.
    pub interval: u64,
    /// Bytes that the path had delivered when the newest acknowledged packet left.
    pub prior: u64,
    /// Bytes that the path has delivered in all.
    pub total: u64,
    /// Bytes that the acknowledgement shows to be lost.
    pub lost: u64,
    /// Bytes in flight after the acknowledgement.
    pub in_flight: u64,
}

/// Newly acknowledged data of one path, from one acknowledgement. Times are in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CAcknowledgement {
    /// The size of this struct as Plait knows it, in bytes.
    pub size: u32,
    /// The number of the path in `paths`.
    pub path: u32,
    /// The time from the start.
    pub now: u64,
    /// Bytes newly acknowledged, as windows count them.
    pub bytes: u64,
    /// Packets newly acknowledged.
    pub packets: u32,
    /// Not 0 if the window may grow: no losses are being repaired.
    pub may_grow: u32,
    /// PLAIT_REPAIRING_NOTHING, _LOSSES or _TIMEOUT.
    pub repairing: u32,
    /// Not 0 if data waited for room in the window while the oldest acknowledged packet was in
    /// flight.
    pub limited: u32,
    /// Bytes of the window that were in use before the acknowledgement.
    pub in_flight: u64,
    /// Smoothed round-trip time.
    pub srtt: u64,
    /// The round trip of the oldest acknowledged packet; 0 without a sample.
    pub rtt: u64,
    /// The round trip of the newest acknowledged packet; 0 without a sample.
    pub newest_rtt: u64,
    /// All paths of the connection, in the scenario's order.
    pub paths: *const CPathWindow,
    /// Number of these paths.
    pub path_count: u32,
    /// Zero.
    pub reserved: u32,
    /// A sample of the delivery rate; NULL unless `create` set a pacing rate.
    pub rate: *const CRateSample,
}

/// An event on the path of a controller. Fields that its kind does not have are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CCongestionEvent {
    /// The size of this struct as Plait knows it, in bytes.
    pub size: u32,
    /// PLAIT_CONGESTION_…
    pub kind: u32,
    /// The time from the start, in nanoseconds.
    pub now: u64,
    /// Bytes sent and not cumulatively acknowledged.
    pub outstanding: u64,
    /// PLAIT_CONGESTION_COLLAPSE: the new window in bytes. PLAIT_CONGESTION_UNDONE: the window
    /// before the reduction.
    pub window: u64,
    /// The threshold before the reduction, in bytes; UINT64_MAX if there was none.
    pub threshold: u64,
    /// Nanoseconds since the packet before it left.
    pub idle: u64,
    /// The round trip in nanoseconds.
    pub rtt: u64,
    /// Not 0 if the losses of the last reduction were still being repaired.
    pub repairing: u32,
    /// Not 0 if the path had no data, and not only no room.
    pub app_limited: u32,
}

/// Creates an instance for one path and stores it in `*state`. `window` has the values at the start;
/// the function may change them. The rest as plait_create.
pub type CreateController = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        parameters: *const c_char,
        window: *mut CWindow,
        state: *mut *mut c_void,
        message: *mut c_char,
        capacity: u32,
    ) -> i32,
>;

/// Handles newly acknowledged data. Any return value but PLAIT_OK ends the run.
pub type OnAck = Option<
    unsafe extern "C" fn(state: *mut c_void, ack: *const CAcknowledgement, window: *mut CWindow) -> i32,
>;

/// Handles an event. Any return value but PLAIT_OK ends the run.
pub type OnCongestionEvent = Option<
    unsafe extern "C" fn(state: *mut c_void, event: *const CCongestionEvent, window: *mut CWindow) -> i32,
>;

/// A congestion controller of one's own. A shared library provides its classes through a function
/// `const plait_controller_class *plait_controller_class_at(uint32_t index)`, which returns NULL for
/// all indices after the last class.
///
/// Each path of each end has an instance. An instance is used on one thread; several instances may
/// be in use at the same time. The rules are those of schedulers: no clock, no memory beyond its own
/// state, the same windows after the same calls.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ControllerClass {
    /// The size of this struct as its author knows it, in bytes.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// The name: letters, digits and hyphens.
    pub name: *const c_char,
    /// The rule in a sentence; may be NULL.
    pub summary: *const c_char,
    /// Passed to `create` unchanged.
    pub context: *mut c_void,
    /// Creates an instance.
    pub create: CreateController,
    /// Frees an instance; may be NULL.
    pub destroy: Destroy,
    /// Handles acknowledged data.
    pub on_ack: OnAck,
    /// Handles events; may be NULL.
    pub on_event: OnCongestionEvent,
}

// SAFETY: nothing writes to the table. The author of the class owns the target of `context`, and
// accepts calls from any thread.
unsafe impl Sync for ControllerClass {}
// SAFETY: any thread may own the table, for the reasons given for `Sync`.
unsafe impl Send for ControllerClass {}

// SAFETY: integers and nullable pointers, beginning with the size.
unsafe impl Table for ControllerClass {
    const FIRST: usize = size_of::<Self>();
    const NULL: &'static str = "the plait_controller_class is a null pointer";
    const WRONG: &'static str =
        "the size of a plait_controller_class is none that a version of this interface has";
    const NEEDS: &'static str = "a plait_controller_class needs name, create and on_ack";

    fn is_complete(&self) -> bool {
        !self.name.is_null() && self.create.is_some() && self.on_ack.is_some()
    }
}

class_methods!(ControllerClass);

/// An instance of a class: the controller of one path.
#[derive(Debug)]
pub struct Controller {
    class: ControllerClass,
    state: *mut c_void,
    window: CWindow,
    fault: Fault,
}

// SAFETY: the state belongs to this instance alone; the class accepts calls from any thread.
unsafe impl Send for Controller {}
// SAFETY: nothing calls the class through a shared reference.
unsafe impl Sync for Controller {}

impl Controller {
    /// Creates an instance with the given parameters (`parameter=value:parameter=value`) for a path
    /// with these values, in bytes, at its start. After a later failure the window stays, and
    /// `fault` holds the reason.
    ///
    /// # Errors
    /// The class's message about the parameters, or a wrong window.
    pub fn new(
        class: ControllerClass,
        parameters: &str,
        (segment, initial, threshold): (u64, u64, u64),
        fault: Fault,
    ) -> Result<Self, String> {
        let create = class.create.ok_or("the class has no create")?;
        let size = size_of::<CWindow>() as u32;
        let (window, pacing_rate) = (initial, 0);
        let window = CWindow { size, reserved: 0, segment, initial, window, threshold, pacing_rate };
        let mut made = Self { class, state: ptr::null_mut(), window, fault };
        let name = class.name();
        let created = table::create("controller", &name, parameters, |parameters, message, capacity| {
            let (window, state) = (&raw mut made.window, &raw mut made.state);
            // SAFETY: the arguments are as `CreateController` requires, and the class is valid by
            // the contract of `table::read`.
            unsafe { create(class.context, parameters, window, state, message, capacity) }
        });
        if let Err(message) = created {
            // There is no instance to be freed.
            made.class.destroy = None;
            return Err(message);
        }
        match made.wrong("create") {
            None => Ok(made),
            Some(wrong) => Err(format!("controller {name}: {wrong}")),
        }
    }

    /// The message about a wrong window after a call, if it is wrong.
    fn wrong(&self, function: &str) -> Option<String> {
        let window = self.window.window;
        let is_wrong = window == 0 || window > MOST_BYTES;
        is_wrong.then(|| format!("{function} left window = {window}: expected 1 to {MOST_BYTES} (bytes)"))
    }

    /// Checks the effect of a call, which returned `code`.
    fn check(&mut self, function: &str, code: i32, before: CWindow) {
        let wrong = if code == PLAIT_OK {
            self.wrong(function)
        } else {
            Some(format!("{function} failed with error {code}"))
        };
        if let Some(wrong) = wrong {
            self.window = before;
            self.fault.keep(format!("controller {}: {wrong}", self.class.name()));
        }
    }

    /// Handles acknowledged data. `size`, `paths` and `rate` of `ack` are set here.
    pub fn on_ack(&mut self, ack: &CAcknowledgement, paths: &[CPathWindow], rate: Option<&CRateSample>) {
        let Some(on_ack) = self.class.on_ack.filter(|_| self.fault.message().is_none()) else { return };
        let ack = CAcknowledgement {
            size: size_of::<CAcknowledgement>() as u32,
            paths: paths.as_ptr(),
            path_count: paths.len() as u32,
            rate: rate.map_or(ptr::null(), ptr::from_ref),
            ..*ack
        };
        let before = self.window;
        // SAFETY: structs with their sizes, and the state that `create` made.
        let code = unsafe { on_ack(self.state, &raw const ack, &raw mut self.window) };
        self.check("on_ack", code, before);
    }

    /// Handles an event. Its `size` is set here.
    pub fn on_event(&mut self, event: &CCongestionEvent) {
        let Some(on_event) = self.class.on_event.filter(|_| self.fault.message().is_none()) else { return };
        let event = CCongestionEvent { size: size_of::<CCongestionEvent>() as u32, ..*event };
        let before = self.window;
        // SAFETY: structs with their sizes, and the state that `create` made.
        let code = unsafe { on_event(self.state, &raw const event, &raw mut self.window) };
        self.check("on_event", code, before);
    }

    /// The congestion window in bytes, at least a segment.
    pub fn window(&self) -> u64 {
        self.window.window.max(self.window.segment)
    }

    /// The slow-start threshold in bytes; `u64::MAX` for none.
    pub fn threshold(&self) -> u64 {
        self.window.threshold
    }

    /// The pacing rate in bytes per second.
    pub fn pacing_rate(&self) -> Option<u64> {
        Some(self.window.pacing_rate).filter(|&rate| rate > 0)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if let Some(destroy) = self.class.destroy {
            // SAFETY: the state came from `create`, and it is not used after this call.
            unsafe { destroy(self.state) };
        }
    }
}
