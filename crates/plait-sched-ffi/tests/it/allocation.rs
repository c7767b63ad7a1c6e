//! After a handle is created, nothing is allocated: not by decisions, events, or the refusal of
//! wrong arguments.

#![allow(unsafe_code, reason = "it calls what C calls")]

use plait_sched_ffi::connection::{CConnection, plait_connection_init};
use plait_sched_ffi::decision::{CDecision, CEvent, PLAIT_EVENT_ACKED, PLAIT_NEVER};
use plait_sched_ffi::error::{PLAIT_ERROR_ARGUMENT, PLAIT_OK};
use plait_sched_ffi::path::{CPath, plait_path_init};
use plait_sched_ffi::scheduler::{
    name_of, plait_scheduler_decide, plait_scheduler_free, plait_scheduler_new, plait_scheduler_on_event,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::ptr;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of this thread.
struct Counting;

// SAFETY: it is the system's allocator, and a counter that allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: by contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by contract.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn facts() -> (CConnection, [CPath; 8]) {
    let mut connection = MaybeUninit::<CConnection>::uninit();
    let mut paths = [const { MaybeUninit::<CPath>::uninit() }; 8];
    // SAFETY: each struct has the size that it states, and the call initializes it.
    unsafe {
        assert_eq!(plait_connection_init(connection.as_mut_ptr(), size_of::<CConnection>() as u32), PLAIT_OK);
        for path in &mut paths {
            assert_eq!(plait_path_init(path.as_mut_ptr(), size_of::<CPath>() as u32, 1448), PLAIT_OK);
        }
        let mut connection = connection.assume_init();
        let mut paths = paths.map(|path| path.assume_init());
        (connection.unassigned, connection.window_left) = (1_000, 500);
        for (path, srtt) in paths.iter_mut().zip([50, 20, 70, 30, 90, 10, 60, 40]) {
            (path.srtt, path.cwnd) = (srtt * 1_000_000, 12);
        }
        (connection, paths)
    }
}

#[test]
fn nothing_is_allocated_after_creation() {
    let (connection, mut paths) = facts();
    let name = |index| name_of(index).map(|name| (name, CString::new(name).unwrap()));
    for (name, text) in (0..).map_while(name) {
        let mut scheduler = ptr::null_mut();
        let event = CEvent {
            size: size_of::<CEvent>() as u32,
            kind: PLAIT_EVENT_ACKED,
            path: 3,
            segments: 2,
            segment: 0,
            rtt: 31_000_000,
            retransmission: 0,
            reserved: 0,
        };
        let mut decision = CDecision {
            size: size_of::<CDecision>() as u32,
            kind: 0,
            path: 0,
            segments: 0,
            segment: 0,
            until: PLAIT_NEVER,
        };
        // SAFETY: all structs have their sizes, and the handle is this test's.
        unsafe {
            assert_eq!(plait_scheduler_new(text.as_ptr(), &raw mut scheduler), PLAIT_OK);
            let before = ALLOCATIONS.get();
            for now in 1..200 {
                paths[now as usize % 8].in_flight = now as u32 % 12;
                let told = plait_scheduler_on_event(
                    scheduler,
                    &raw const event,
                    &raw const connection,
                    paths.as_ptr(),
                    8,
                );
                let decided = plait_scheduler_decide(
                    scheduler,
                    now * 1_000_000,
                    &raw const connection,
                    paths.as_ptr(),
                    8,
                    &raw mut decision,
                );
                let refused =
                    plait_scheduler_decide(scheduler, now, ptr::null(), paths.as_ptr(), 8, &raw mut decision);
                assert_eq!((told, decided, refused), (PLAIT_OK, PLAIT_OK, PLAIT_ERROR_ARGUMENT), "{name}");
            }
            assert_eq!(ALLOCATIONS.get(), before, "{name}");
            plait_scheduler_free(scheduler);
        }
    }
}
