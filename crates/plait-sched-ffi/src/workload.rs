//! A workload as a table of callbacks, and an instance of it.

use std::ffi::{c_char, c_void};
use std::ptr;

use crate::class::{Destroy, Fault};
use crate::error::{Error, PLAIT_ERROR_ARGUMENT, PLAIT_OK, guard};
use crate::sized::{self, Sized32};
use crate::table::{self, Table, class_methods};

/// Write a message: a block, or with `requests` a request, which the sender answers.
pub const PLAIT_STEP_WRITE: u32 = 0;
/// Call `on_time` at the time `at`.
pub const PLAIT_STEP_WAIT: u32 = 1;
/// Write no further message. The run ends when all messages have arrived.
pub const PLAIT_STEP_END: u32 = 2;

/// A step of a workload. Fields that are 0 have their default. Times are in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CStep {
    /// The size of this struct as the workload knows it, in bytes.
    pub size: u32,
    /// PLAIT_STEP_WRITE, PLAIT_STEP_WAIT or PLAIT_STEP_END.
    pub kind: u32,
    /// The time of the step from the start; a time of writing that has passed is now.
    pub at: u64,
    /// The size of the block or of the response, in payload bytes; at least 1.
    pub bytes: u64,
    /// The size of the request, in payload bytes; 0 for 200.
    pub request: u64,
    /// The time for the delivery from `at` on; 0 for no deadline.
    pub deadline: u64,
    /// The stream of the block or of the response, up to 999.
    pub stream: u32,
    /// The priority between streams, up to 255: the higher one goes first.
    pub priority: u32,
}

// SAFETY: integers only, without padding: 2 times 4 bytes, 4 times 8, 2 times 4.
unsafe impl Sized32 for CStep {
    const FIRST: u32 = 48;
    const DEFAULT: Self = Self {
        size: size_of::<Self>() as u32,
        kind: 0,
        at: 0,
        bytes: 0,
        request: 0,
        deadline: 0,
        stream: 0,
        priority: 0,
    };
    const WRONG: &'static str =
        "the size of a plait_step is none that a version of this interface has: set it before the call";
}

/// Adds a step to a plait_steps. Returns PLAIT_OK, or an error that the caller returns in turn.
pub type Add = Option<unsafe extern "C" fn(steps: *mut c_void, step: *const CStep) -> i32>;

/// The next steps of a workload, in their order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSteps {
    /// The size of this struct as Plait knows it, in bytes.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// Adds a step: `steps->add(steps, &step)`.
    pub add: Add,
}

/// A block or a response that was delivered wholly.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CDelivery {
    /// The size of this struct as Plait knows it, in bytes.
    pub size: u32,
    /// Its stream.
    pub stream: u32,
    /// Its number in the order of writing, from 0.
    pub number: u64,
    /// Its size, in payload bytes.
    pub bytes: u64,
    /// The time at which the block or the request was written, in nanoseconds from the start.
    pub written: u64,
}

/// Creates an instance for one run and stores it in `*state`. The rest as plait_create.
pub type CreateWorkload = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        parameters: *const c_char,
        state: *mut *mut c_void,
        message: *mut c_char,
        capacity: u32,
    ) -> i32,
>;

/// Adds the first steps. Any return value but PLAIT_OK ends the run.
pub type Begin = Option<unsafe extern "C" fn(state: *mut c_void, steps: *mut CSteps) -> i32>;

/// Adds the next steps at the time of a PLAIT_STEP_WAIT. Any return value but PLAIT_OK ends the run.
pub type OnTime = Option<unsafe extern "C" fn(state: *mut c_void, now: u64, steps: *mut CSteps) -> i32>;

/// Adds the next steps when a message was delivered wholly. Any return value but PLAIT_OK ends the
/// run.
pub type OnDelivered = Option<
    unsafe extern "C" fn(state: *mut c_void, now: u64, delivery: *const CDelivery, steps: *mut CSteps) -> i32,
>;

/// A workload of one's own. A shared library provides its classes through a function `const
/// plait_workload_class *plait_workload_class_at(uint32_t index)`, which returns NULL for all indices
/// after the last class.
///
/// Each run has an instance, which is used on one thread; several instances may be in use at the
/// same time. The rules are those of schedulers: no clock, no memory beyond its own state, the same
/// steps after the same calls.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WorkloadClass {
    /// The size of this struct as its author knows it, in bytes.
    pub size: u32,
    /// Not 0 if the messages are requests of a client, which the sender answers at once.
    pub requests: u32,
    /// The name: letters, digits and hyphens.
    pub name: *const c_char,
    /// The traffic in a sentence; may be NULL.
    pub summary: *const c_char,
    /// Passed to `create` unchanged.
    pub context: *mut c_void,
    /// Creates an instance.
    pub create: CreateWorkload,
    /// Frees an instance; may be NULL.
    pub destroy: Destroy,
    /// Adds the first steps.
    pub begin: Begin,
    /// Adds steps at a time; may be NULL if the workload never waits.
    pub on_time: OnTime,
    /// Adds steps after a delivery; may be NULL.
    pub on_delivered: OnDelivered,
}

// SAFETY: nothing writes to the table. The author of the class owns the target of `context`, and
// accepts calls from any thread.
unsafe impl Sync for WorkloadClass {}
// SAFETY: any thread may own the table, for the reasons given for `Sync`.
unsafe impl Send for WorkloadClass {}

// SAFETY: integers and nullable pointers, beginning with the size.
unsafe impl Table for WorkloadClass {
    const FIRST: usize = size_of::<Self>();
    const NULL: &'static str = "the plait_workload_class is a null pointer";
    const WRONG: &'static str =
        "the size of a plait_workload_class is none that a version of this interface has";
    const NEEDS: &'static str = "a plait_workload_class needs name, create and begin";

    fn is_complete(&self) -> bool {
        !self.name.is_null() && self.create.is_some() && self.begin.is_some()
    }
}

class_methods!(WorkloadClass);

/// Collects the steps of one call.
#[repr(C)]
struct Collector {
    /// The part that C sees.
    steps: CSteps,
    added: Vec<CStep>,
    /// The message about a wrong step.
    wrong: Option<String>,
}

/// # Safety
/// `steps` is the first field of a [`Collector`] that nothing else uses meanwhile. `step` is null or
/// points to a struct that begins with its true size.
unsafe extern "C" fn add(steps: *mut c_void, step: *const CStep) -> i32 {
    if steps.is_null() {
        return PLAIT_ERROR_ARGUMENT;
    }
    guard(|| {
        // SAFETY: by contract.
        let collector = unsafe { &mut *steps.cast::<Collector>() };
        // SAFETY: by contract.
        match unsafe { sized::read(step, "the plait_step is a null pointer") } {
            Ok(step) => collector.added.push(step),
            Err(error) => {
                let text = error.text();
                collector.wrong.get_or_insert(text);
                return Err(Error::argument("a plait_step is wrong"));
            }
        }
        Ok(())
    })
}

/// An instance of a class: the workload of one run.
#[derive(Debug)]
pub struct Workload {
    class: WorkloadClass,
    state: *mut c_void,
    fault: Fault,
}

impl Workload {
    /// Creates an instance with the given parameters (`parameter=value:parameter=value`). After a
    /// later failure the instance adds no steps, and `fault` holds the reason.
    ///
    /// # Errors
    /// The class's message about the parameters.
    pub fn new(class: WorkloadClass, parameters: &str, fault: Fault) -> Result<Self, String> {
        let create = class.create.ok_or("the class has no create")?;
        let mut state = ptr::null_mut();
        table::create("workload", &class.name(), parameters, |parameters, message, capacity| {
            // SAFETY: the arguments are as `CreateWorkload` requires, and the class is valid by the
            // contract of `table::read`.
            unsafe { create(class.context, parameters, &raw mut state, message, capacity) }
        })?;
        Ok(Self { class, state, fault })
    }

    /// Ends the run: a step of the function is wrong.
    pub fn fail(&self, function: &str, wrong: &str) {
        self.fault.keep(format!("workload {}: {function} {wrong}", self.class.name()));
    }

    /// Calls the function of this name, and returns the added steps.
    fn call(&self, function: &str, call: impl FnOnce(*mut c_void, *mut CSteps) -> i32) -> Vec<CStep> {
        if self.fault.message().is_some() {
            return Vec::new();
        }
        let steps = CSteps { size: size_of::<CSteps>() as u32, reserved: 0, add: Some(add) };
        let mut collector = Collector { steps, added: Vec::new(), wrong: None };
        let code = call(self.state, (&raw mut collector).cast());
        let wrong = match collector.wrong {
            Some(wrong) => format!("added a wrong step: {wrong}"),
            None if code != PLAIT_OK => format!("failed with error {code}"),
            None => return collector.added,
        };
        self.fail(function, &wrong);
        Vec::new()
    }

    /// Returns the first steps.
    pub fn begin(&self) -> Vec<CStep> {
        let Some(begin) = self.class.begin else { return Vec::new() };
        // SAFETY: the state that `create` made, and steps that exist during the call.
        self.call("begin", |state, steps| unsafe { begin(state, steps) })
    }

    /// Returns the steps at a time for which the workload waited.
    pub fn on_time(&self, now: u64) -> Vec<CStep> {
        let Some(on_time) = self.class.on_time else {
            self.fail("on_time", "is missing: a workload that waits needs it");
            return Vec::new();
        };
        // SAFETY: as above.
        self.call("on_time", |state, steps| unsafe { on_time(state, now, steps) })
    }

    /// Returns the steps after a delivery, whose `size` is set here.
    pub fn on_delivered(&self, now: u64, delivery: &CDelivery) -> Vec<CStep> {
        let Some(on_delivered) = self.class.on_delivered else { return Vec::new() };
        let delivery = CDelivery { size: size_of::<CDelivery>() as u32, ..*delivery };
        let call = |state, steps| {
            // SAFETY: as above, and a delivery with its size.
            unsafe { on_delivered(state, now, &raw const delivery, steps) }
        };
        self.call("on_delivered", call)
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        if let Some(destroy) = self.class.destroy {
            // SAFETY: the state came from `create`, and it is not used after this call.
            unsafe { destroy(self.state) };
        }
    }
}
