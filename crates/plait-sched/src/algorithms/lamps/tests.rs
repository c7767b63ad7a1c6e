use super::*;
use crate::time::Duration;
use crate::view::Outstanding;

fn path(id: u8, srtt: u64, in_flight: u32) -> Path {
    let srtt = Duration::from_millis(srtt);
    Path { srtt, cwnd: 10, in_flight, ..Path::new(PathId(id), 1000) }
}

fn acked(lamps: &mut Lamps, id: u8, segments: u32) {
    let event = Event::Acked { path: PathId(id), segments, rtt: None };
    lamps.on_event(&event, &Connection::default(), &[path(0, 200, 5), path(1, 200, 5)]);
}

fn lost(lamps: &mut Lamps, id: u8) {
    let event = Event::Lost { path: PathId(id), segments: 1 };
    lamps.on_event(&event, &Connection::default(), &[]);
}

/// Path 0 with `interval` segments from loss to loss.
fn lossy(interval: u32) -> Lamps {
    let mut lamps = Lamps::default();
    lost(&mut lamps, 0);
    acked(&mut lamps, 0, interval - 1);
    lost(&mut lamps, 0);
    lamps
}

#[test]
fn losses_lengthen_the_time_and_below_twenty_a_path_is_redundant() {
    // T = r/2 · 21/19 and r/2 · 20/18.
    let path = path(0, 200, 0);
    let lamps = lossy(20);
    assert_eq!((lamps.time(&path), lamps.is_redundant(&path)), (110_526_315, false));
    let lamps = lossy(19);
    assert_eq!((lamps.time(&path), lamps.is_redundant(&path)), (111_111_111, true));
    assert_eq!(Lamps::default().time(&path), 100_000_000, "nothing was ever lost");
}

#[test]
fn the_first_loss_counts_four_times() {
    let mut lamps = Lamps::default();
    acked(&mut lamps, 0, 4);
    lost(&mut lamps, 0);
    assert_eq!(lamps.interval(PathId(0)), Some(20 * SEGMENT));
}

#[test]
fn losses_of_one_repair_are_one_and_what_is_acknowledged_since_lengthens_the_interval() {
    let mut lamps = lossy(19);
    lost(&mut lamps, 0);
    assert_eq!(lamps.interval(PathId(0)), Some(19 * SEGMENT), "the same repair");
    let timeout = Event::Timeout { path: PathId(0) };
    lamps.on_event(&timeout, &Connection::default(), &[]);
    assert_eq!(lamps.interval(PathId(0)), Some(19 * SEGMENT), "nothing was acknowledged since");
    acked(&mut lamps, 0, 25);
    assert_eq!(lamps.interval(PathId(0)), Some(25 * SEGMENT));
    lost(&mut lamps, 0);
    assert_eq!(lamps.interval(PathId(0)), Some(26 * SEGMENT));
}

#[test]
fn a_repair_lasts_until_the_path_says_that_it_is_over() {
    let mut lamps = lossy(19);
    let mut paths = [path(0, 200, 5)];
    paths[0].repairing = true;
    let event = Event::Acked { path: PathId(0), segments: 3, rtt: None };
    lamps.on_event(&event, &Connection::default(), &paths);
    lost(&mut lamps, 0);
    assert_eq!(lamps.interval(PathId(0)), Some(19 * SEGMENT));
    lamps.on_event(&Event::Timeout { path: PathId(0) }, &Connection::default(), &paths);
    assert_eq!(lamps.interval(PathId(0)), Some(4 * SEGMENT), "a timeout is a loss of its own");
}

#[test]
fn smoothing_moves_part_of_the_way() {
    let mut lamps = Lamps::new(2);
    acked(&mut lamps, 0, 4);
    lost(&mut lamps, 0);
    acked(&mut lamps, 0, 7);
    lost(&mut lamps, 0);
    // 20 · 3/4 + 8/4.
    assert_eq!(lamps.interval(PathId(0)), Some(17 * SEGMENT));
}

/// One decision with this many unassigned segments. Segment 7 on path 1 is the oldest, and segment
/// 9 was sent there.
fn decide(lamps: &mut Lamps, paths: &[Path], unassigned: u64) -> Decision {
    let mut carried = PathSet::EMPTY;
    carried.insert(PathId(1));
    let connection = Connection {
        unassigned,
        window_left: 100,
        oldest_unacked: Some(Outstanding::new(7, PathId(1), carried)),
        ..Connection::default()
    };
    lamps.decide(Time::ZERO, &connection, paths)
}

#[test]
fn a_redundant_path_copies_and_takes_nothing_new_while_another_works() {
    let mut lamps = lossy(19);
    for segment in 7..9 {
        let event = Event::Sent { path: PathId(1), segment, retransmission: false };
        lamps.on_event(&event, &Connection::default(), &[]);
    }
    // The other path is full; a segment would arrive later there in any case.
    let paths = [path(0, 20, 0), path(1, 200, 10)];
    let copy = |segment| Decision::Reinject { path: PathId(0), segment };
    assert_eq!(decide(&mut lamps, &paths, 5), copy(7));
    assert_eq!(decide(&mut lamps, &paths, 5), copy(8));
    assert_eq!(decide(&mut lamps, &paths, 5), Decision::WAIT);
    let open = [path(0, 20, 0), path(1, 200, 6)];
    assert_eq!(decide(&mut lamps, &open, 5), Decision::Assign { path: PathId(1), segments: 4 });
}

#[test]
fn where_all_paths_are_redundant_they_take_new_data() {
    let mut lamps = lossy(19);
    lost(&mut lamps, 1);
    let paths = [path(0, 20, 7), path(1, 200, 10)];
    // The oldest segment is the only sent segment that path 0 can copy.
    assert_eq!(decide(&mut lamps, &paths, 5), Decision::Reinject { path: PathId(0), segment: 7 });
    assert_eq!(decide(&mut lamps, &paths, 5), Decision::Assign { path: PathId(0), segments: 3 });
}

#[test]
fn a_redundant_path_goes_on_from_where_it_was() {
    let mut lamps = lossy(19);
    for (path, segment) in [(1, 7), (0, 8), (1, 9), (1, 10)] {
        let event = Event::Sent { path: PathId(path), segment, retransmission: false };
        lamps.on_event(&event, &Connection::default(), &[]);
    }
    let paths = [path(0, 20, 1), path(1, 200, 10)];
    // The oldest segment and those after it are known to be sent.
    assert_eq!(decide(&mut lamps, &paths, 0), Decision::Reinject { path: PathId(0), segment: 9 });
    assert_eq!(decide(&mut lamps, &paths, 0), Decision::Reinject { path: PathId(0), segment: 10 });
    assert_eq!(decide(&mut lamps, &paths, 0), Decision::WAIT);
}

#[test]
fn a_path_that_timed_out_is_not_waited_for() {
    let mut lamps = lossy(19);
    acked(&mut lamps, 1, 99);
    let paths = [path(0, 20, 7), path(1, 200, 10)];
    assert_eq!(decide(&mut lamps, &paths, 5), Decision::Reinject { path: PathId(0), segment: 7 });
    assert_eq!(decide(&mut lamps, &paths, 5), Decision::WAIT);
    lamps.on_event(&Event::Timeout { path: PathId(1) }, &Connection::default(), &paths);
    assert_eq!(decide(&mut lamps, &paths, 5), Decision::Assign { path: PathId(0), segments: 3 });
}
