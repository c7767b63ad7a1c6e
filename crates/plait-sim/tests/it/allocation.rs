//! In the steady state, packets cause no heap allocations.

use crate::common::scenario;
use plait_sim::recorder::RecordOptions;
use plait_sim::simulation::{self, Control};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread. A run has one thread: other tests do not change the
/// count.
struct Counting;

impl Counting {
    fn count() {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
    }
}

#[expect(unsafe_code, reason = "a global allocator is the only way to see allocations")]
// SAFETY: every call is the system allocator's, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count();
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count();
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations in the second half of a run, and packets delivered in the whole run.
fn second_half(text: &str) -> (u64, u64) {
    let scenario = scenario(text);
    let (mut at_half, mut at_end) = (None, 0);
    let mut control = |share: f64| {
        let now = ALLOCATIONS.with(Cell::get);
        if share >= 0.5 {
            at_half.get_or_insert(now);
        }
        at_end = now;
        Control::Continue
    };
    let scheduler = scenario.scheduler.build();
    let result = simulation::run(&scenario, scheduler, &RecordOptions::default(), &mut control).unwrap();
    (at_end - at_half.expect("the run is long enough to be asked"), result.metrics.packets_delivered)
}

/// Two paths that share a link, with competing flows.
const TOPOLOGY: &str = r#"
    duration = "40s"
    transport = { protocol = "cmt-sctp", receive_buffer = "1MB" }
    [[path]]
    rate = "100Mbit"
    rtt = "20ms"
    queue = "50p"
    links = ["core"]
    [[path]]
    links = ["cell", "core"]
    [[link]]
    name = "core"
    rate = "100Mbit"
    delay = "5ms"
    queue = "bdp"
    [[link]]
    name = "cell"
    rate = "50Mbit"
    rate_steps = [{ at = "1s", rate = "20Mbit" }]
    repeat = "2s"
    delay = "20ms"
    queue = "50p"
    [[flow]]
    kind = "tcp"
    links = ["core"]
    [[flow]]
    kind = "multipath"
    direction = "backward"
    [[flow]]
    kind = "on-off"
    links = ["cell"]
    rate = "5Mbit"
    on = "10ms"
    off = "10ms"
"#;

#[test]
fn packets_allocate_nothing_in_the_steady_state() {
    let (allocations, packets) = second_half(TOPOLOGY);
    println!("shared links and flows: {allocations} allocations, {packets} packets");
    assert!(packets > 20_000, "{packets} packets");
    assert!(allocations <= 8, "{allocations} allocations for {packets} packets");
    for scheduler in ["round-robin", "lowest-rtt", "daps", "daps-rounds"] {
        for loss in ["0%", "0.01%"] {
            let (allocations, packets) = second_half(&format!(
                "duration = \"20s\"\nscheduler = \"{scheduler}\"\ntransport = {{ protocol = \"cmt-sctp\", receive_buffer = \"4MB\" }}\n\
                 [[path]]\nrate = \"100Mbit\"\nrtt = \"20ms\"\nqueue = \"bdp\"\nloss = \"{loss}\"\n\
                 [[path]]\nrate = \"100Mbit\"\nrtt = \"100ms\"\nqueue = \"bdp\"\nloss = \"{loss}\""
            ));
            println!("{scheduler}, loss {loss}: {allocations} allocations, {packets} packets");
            assert!(packets > 20_000, "{scheduler}, loss {loss}: {packets} packets");
            // Buffers double when they exceed their previous maximum, which is rare in this half.
            // One allocation per packet would be tens of thousands.
            assert!(
                allocations <= 8,
                "{scheduler}, loss {loss}: {allocations} allocations for {packets} packets"
            );
        }
    }
}
