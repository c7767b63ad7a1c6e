use super::super::script::Script;
use super::*;
use crate::view::PathId;
use crate::{Duration, Event, PathState};

/// 100 ms, a window of 10 segments of 1000 bytes, in congestion avoidance.
fn path(id: u8) -> Path {
    Path { srtt: Duration::from_millis(100), cwnd: 10, ssthresh: 1, ..Path::new(PathId(id), 1000) }
}

#[test]
fn the_kernel_paces_a_window_and_a_fifth_per_round_trip_and_two_in_slow_start() {
    assert_eq!(pacing_rate(&path(0)), 120_000);
    assert_eq!(pacing_rate(&Path { ssthresh: u32::MAX, ..path(0) }), 200_000);
    // For the pacing rate, slow start ends at half of the threshold.
    assert_eq!(pacing_rate(&Path { ssthresh: 20, ..path(0) }), 120_000);
    assert_eq!(pacing_rate(&Path { ssthresh: 22, ..path(0) }), 200_000);
    // After a loss, more is outstanding than the window.
    assert_eq!(pacing_rate(&Path { in_flight: 12, lost: 3, ..path(0) }), 180_000);
    // Selectively acknowledged packets are outstanding too.
    assert_eq!(pacing_rate(&Path { in_flight: 9, outstanding: Some(13), ..path(0) }), 156_000);
    // Congestion control states its own rate.
    assert_eq!(pacing_rate(&Path { pacing_rate: Some(8_000_000), ..path(0) }), 1_000_000);
}

#[test]
fn extreme_facts_are_cut() {
    let huge = Path { srtt: Duration::from_nanos(1), cwnd: u32::MAX, in_flight: u32::MAX, ..path(0) };
    let huge = Path { mss: u32::MAX, queued: u32::MAX, lost: u32::MAX, ..huge };
    assert_eq!((pacing_rate(&huge), memory(&huge)), (MOST_RATE, MOST_MEMORY));
    assert_eq!(pacing_rate(&Path { srtt: Duration::MAX, ..path(0) }), 1);
}

#[test]
fn an_engine_may_tell_the_memory_of_a_path() {
    let path = Path { in_flight: 3, lost: 1, queued: 2, ..path(0) };
    assert_eq!(memory(&path), 6 * 1832);
    // Short packets, and some that were selectively acknowledged.
    assert_eq!(memory(&Path { memory: Some(9_000), ..path }), 9_000);
}

#[test]
fn bursts_go_where_the_buffer_empties_first_until_that_is_full() {
    // 300 and 120 kB/s. The first fragment, 33 segments of 1,832 bytes in memory, fills 2 * 10 *
    // 2304 = 46,080 bytes.
    let mut script = Script::new(LinuxDefault::default(), &[(40, 10), (100, 10)]);
    assert_eq!(script.opportunity(), [(0, 33), (1, 33)]);
    // A full buffer stops all sending, although the other path could send. Another fragment fits
    // when less than 46,080 bytes are held.
    script.acked(0, 7);
    assert_eq!(script.opportunity(), []);
    script.acked(0, 1);
    assert_eq!(script.opportunity(), [(0, 33)]);
}

#[test]
fn kernels_of_distributions_have_a_larger_buffer_and_a_fixed_one_is_as_it_is() {
    // 2 * 10 * 4352 = 87,040 bytes: two fragments, 65,456 bytes, end the burst, and take 120,912.
    let mut script = Script::new(LinuxDefault::new(4352, 0), &[(40, 10)]);
    assert_eq!(script.opportunity(), [(0, 66)]);
    let mut script = Script::new(LinuxDefault::new(2304, 4096), &[(40, 10)]);
    assert_eq!(script.opportunity(), [(0, 33)]);
    // A fast path at 4 MiB: 5000 segments in flight take more.
    let mut script = Script::new(LinuxDefault::default(), &[(40, 9000)]).in_flight(0, 5000);
    assert_eq!(script.opportunity(), []);
}

/// The facts with this next segment, without offsets.
fn at(next_segment: u64) -> Connection {
    Connection { next_segment, ..Connection::default() }
}

#[test]
fn a_burst_is_whole_fragments() {
    // The kernel takes two fragments, 65,456 bytes, for a burst of 65,428.
    let most = u64::MAX;
    assert_eq!(fragments(&at(0), 1000, BURST, most), 66);
    // Segment 66 begins 544 bytes into the third fragment: the burst still covers that one and the
    // next.
    assert_eq!(fragments(&at(66), 1000, BURST, most), 65);
    // In the middle of a fragment: its remaining 17,728 bytes and two more fragments.
    assert_eq!(fragments(&at(15), 1000, BURST, most), 84);
    // The engine reports the end of the first fragment. A fragment of 65,428 bytes would be enough
    // for the burst; the rest of this one is not.
    let short = Connection { fragment_left: Some(11_000), ..at(40) };
    assert_eq!(fragments(&short, 1000, BURST, most), 77);
    // A shortened burst and a full buffer end with a fragment too.
    assert_eq!(fragments(&at(0), 1000, 10, most), 33);
    assert_eq!(fragments(&at(0), 1000, BURST, 10), 33);
    assert!(fragments(&at(u64::MAX), u64::from(u32::MAX), BURST, most) > 0);
}

#[test]
fn the_buffer_does_not_shrink_with_the_window() {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 100)]);
    script.connection.unassigned = 1;
    assert_eq!(script.opportunity(), [(0, 1)]);
    script.paths[0].cwnd = 10;
    script.connection.unassigned = 200;
    // 460,800 bytes hold all segments, in bursts. The first burst begins in the middle of a
    // fragment, so two more fragments are not enough for it.
    assert_eq!(script.opportunity(), [(0, 98), (0, 65), (0, 37)]);
}

#[test]
fn the_mean_rate_weighs_the_moment_by_the_burst() {
    let mut scheduler = LinuxDefault::default();
    let mut path = Path { in_flight: 10, ..path(0) };
    let held = memory(&path);
    assert_eq!((held, scheduler.linger(&path, held)), (18_320, (18_320 << 32) / 120_000));
    path.cwnd = 20;
    scheduler.average(&path, held, BURST);
    // (120,000 * 18,320 + 240,000 * 65,428) / 83,748
    assert_eq!(scheduler.subflows[0].rate, 213_749);
}

#[test]
fn the_window_of_the_receiver_cuts_a_burst() {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 10), (100, 10)]);
    script.connection.window_left = 5;
    assert_eq!(script.opportunity(), [(0, 5)]);
}

#[test]
fn a_backup_carries_nothing_while_an_active_one_lives_even_if_that_is_full() {
    let mut script = Script::new(LinuxDefault::new(1, 4096), &[(100, 10), (10, 10)]).in_flight(0, 10);
    script.paths[1].state = PathState::Backup;
    assert_eq!(script.opportunity(), []);
    script.paths[0].state = PathState::PotentiallyFailed;
    assert_eq!(script.opportunity(), [(1, 33)]);
}

#[test]
fn an_unmeasured_path_gets_what_its_window_lets_out() {
    let mut script = Script::new(LinuxDefault::default(), &[(0, 4), (0, 3)]);
    assert_eq!(script.opportunity(), [(0, 4), (1, 3)]);
}

#[test]
fn what_comes_back_is_a_new_subflow() {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 100)]);
    script.connection.unassigned = 1;
    script.opportunity();
    script.tell(&Event::PathUp { path: PathId(0) });
    assert_eq!((script.scheduler.subflows[0].rate, script.scheduler.subflows[0].buffer), (0, 0));
}

#[test]
fn a_stale_subflow_that_answers_again_is_the_same_one() {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 100)]);
    script.connection.unassigned = 1;
    script.opportunity();
    let before = (script.scheduler.subflows[0].rate, script.scheduler.subflows[0].buffer);
    assert!(before.0 > 0 && before.1 > 0);
    script.paths[0].state = PathState::PotentiallyFailed;
    script.tell(&Event::PathDown { path: PathId(0) });
    script.paths[0].state = PathState::Active;
    script.tell(&Event::PathUp { path: PathId(0) });
    assert_eq!((script.scheduler.subflows[0].rate, script.scheduler.subflows[0].buffer), before);
    // A subflow that failed is closed, and a new one is opened.
    script.paths[0].state = PathState::Failed;
    script.tell(&Event::PathDown { path: PathId(0) });
    script.paths[0].state = PathState::Active;
    script.tell(&Event::PathUp { path: PathId(0) });
    assert_eq!((script.scheduler.subflows[0].rate, script.scheduler.subflows[0].buffer), (0, 0));
}

#[test]
fn a_subflow_counts_from_the_answer_to_its_syn_and_is_another_one_then() {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 10), (100, 10)]);
    script.paths[1].state = PathState::Failed;
    script.tell(&Event::PathUp { path: PathId(0) });
    script.tell(&Event::Acked { path: PathId(0), segments: 1, rtt: None });
    let answered = Event::Acked { path: PathId(1), segments: 0, rtt: Some(Duration::from_millis(100)) };
    script.tell(&answered);
    assert_eq!(script.scheduler.send_memory(), Some(4096 + 2 * 46_080));
    script.paths[1].state = PathState::Active;
    script.tell(&Event::PathUp { path: PathId(1) });
    let subflow = |script: &Script<LinuxDefault>| script.scheduler.subflows[1];
    assert_eq!((script.scheduler.count, subflow(&script).place, subflow(&script).waits), (2, 3, false));
    // The subflow becomes stale, then closes, and its SYN is answered again.
    script.scheduler.subflows[1].rate = 1;
    script.paths[1].state = PathState::PotentiallyFailed;
    script.tell(&Event::PathDown { path: PathId(1) });
    script.paths[1].state = PathState::Failed;
    script.tell(&answered);
    script.paths[1].state = PathState::Active;
    script.tell(&Event::PathUp { path: PathId(1) });
    assert_eq!(subflow(&script).rate, 0);
}

#[test]
fn the_buffer_grows_while_the_application_waits_and_the_window_is_not_filled() {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 10)]);
    script.connection.unassigned = 1;
    assert_eq!(script.opportunity(), [(0, 1)]);
    let buffer = |script: &Script<LinuxDefault>| script.scheduler.subflows[0].buffer;
    assert_eq!(buffer(&script), 46_080);
    script.paths[0].cwnd = 20;
    script.tell(&Event::Acked { path: PathId(0), segments: 0, rtt: None });
    assert_eq!(buffer(&script), 46_080, "nobody waits");
    script.connection.writer_waits = true;
    (script.paths[0].in_flight, script.paths[0].queued) = (19, 16);
    script.tell(&Event::Acked { path: PathId(0), segments: 0, rtt: None });
    assert_eq!(buffer(&script), 46_080, "the next packet fills the window");
    script.paths[0].in_flight = 18;
    script.tell(&Event::Acked { path: PathId(0), segments: 0, rtt: None });
    assert_eq!(buffer(&script), 2 * 20 * 2304);
}

/// Full buffers of 46,080 bytes; an acknowledgement on path 0 then raises that path's buffer to
/// 92,160 bytes.
fn grown() -> Script<LinuxDefault> {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 10), (50, 10)]);
    assert_eq!(script.opportunity(), [(0, 33), (1, 33)]);
    script.connection.writer_waits = true;
    script.paths[0].cwnd = 20;
    script.tell(&Event::Acked { path: PathId(0), segments: 0, rtt: None });
    script
}

#[test]
fn what_an_acknowledgement_frees_is_assigned_before_it_makes_the_buffer_larger() {
    let mut script = grown();
    assert_eq!(script.opportunity(), [], "60,456 of 46,080 bytes are held");
    // It waits again at the same time, but not later.
    let mut look = |now| script.scheduler.decide(now, &script.connection, &script.paths);
    assert_eq!(look(script.now), Decision::WAIT);
    assert!(matches!(look(script.now + Duration::from_millis(1)), Decision::Assign { .. }));
}

#[test]
fn what_is_written_after_an_acknowledgement_finds_the_larger_buffer() {
    let mut script = grown();
    assert_eq!(script.opportunity(), []);
    script.connection.unassigned += 1;
    let decision = script.scheduler.decide(script.now, &script.connection, &script.paths);
    assert!(matches!(decision, Decision::Assign { .. }), "{decision:?}");
}

#[test]
fn the_application_may_fill_the_buffers_of_all_subflows_and_a_page() {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 10), (100, 10)]);
    let acked = Event::Acked { path: PathId(0), segments: 1, rtt: None };
    assert_eq!(script.scheduler.send_memory(), Some(4096 + 16_384), "the connection is not open");
    script.tell(&Event::PathUp { path: PathId(0) });
    assert_eq!(script.scheduler.send_memory(), Some(4096 + 16_384), "it was counted before it had a buffer");
    script.connection.writer_waits = true;
    script.tell(&acked);
    assert_eq!(script.scheduler.send_memory(), Some(4096 + 46_080));
    script.paths[0].cwnd = 11;
    script.tell(&acked);
    assert_eq!(script.scheduler.send_memory(), Some(4096 + 50_688 + 16_384), "the second subflow joins");
    script.connection.writer_waits = false;
    script.tell(&Event::PathUp { path: PathId(1) });
    assert_eq!(script.scheduler.send_memory(), Some(4096 + 50_688 + 46_080));
    assert_eq!(LinuxDefault::new(2304, 1 << 24).send_memory(), Some(4096 + (1 << 24)));
}

#[test]
fn buffers_count_once_the_application_waits() {
    let mut script = Script::new(LinuxDefault::default(), &[(40, 10)]);
    script.tell(&Event::PathUp { path: PathId(0) });
    script.tell(&Event::Acked { path: PathId(0), segments: 1, rtt: None });
    assert_eq!(script.scheduler.send_memory(), Some(4096 + 16_384), "nobody waits for room");
}

#[test]
fn of_equals_the_first_in_the_list_of_subflows_is_taken() {
    // Path 2 opens first. The SYN of path 1 left before its SYN did.
    let mut script = Script::new(LinuxDefault::default(), &[(40, 10), (40, 10), (40, 10)]).in_flight(0, 5);
    for path in [0, 2, 1] {
        script.tell(&Event::PathUp { path: PathId(path) });
    }
    assert_eq!(script.opportunity()[0].0, 1);
}
