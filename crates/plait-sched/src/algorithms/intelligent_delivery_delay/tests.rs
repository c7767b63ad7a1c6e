extern crate std;

use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

use super::super::delivery_delay::DeliveryDelay;
use super::super::script::Script;
use super::*;
use crate::time::Duration;
use crate::view::PathId;

const MILLI: u64 = 1_000_000;

/// The windows of the two paths of the outlook, and their forward delays in milliseconds.
const OUTLOOK: [(u32, u64); 2] = [(3, 50), (5, 100)];

/// The model that gives both tables of the outlook.
///
/// The slides print neither windows nor rates for the tables. The first table fixes most of them.
/// Packets 1–3 on the fast path (50 ms) and 4–8 on the slow path (100 ms) are the windows, 3 and 5.
/// Packet 9 arrives 40 ms before packet 8; packets 10 and 11 follow at intervals of 10 ms. So a
/// packet takes 10 ms to serialize, as on the 1.2 Mbit/s links of the slide before, and packet 9
/// leaves 50 ms after packet 1. This gives:
/// * all twelve packets exist at time 0; the windows do not change;
/// * each path sends a packet every 10 ms at most (1500 bytes at 1.2 Mbit/s);
/// * a packet arrives 50 or 100 ms after the start of its transmission, serialization included, and
///   its acknowledgement takes no time: the round-trip time is the forward delay;
/// * the end-to-end delay counts from the sending of the packet, the reordering delay from its
///   arrival;
/// * all events of one moment on both paths are known before the next decision.
struct Outlook<S> {
    scheduler: S,
    paths: Vec<Path>,
    /// The numbers in each path's queue, and the arrival times of the segments in flight.
    queues: [VecDeque<usize>; 2],
    flights: [VecDeque<u64>; 2],
    /// The time at which the serializer of each path is free.
    free: [u64; 2],
    now: u64,
    next: usize,
    sent: Vec<u64>,
    arrived: Vec<u64>,
}

impl<S: Scheduler> Outlook<S> {
    const PACKETS: usize = 12;

    /// Delays of each packet in milliseconds: (reordering, end-to-end without reordering).
    fn run(scheduler: S) -> Vec<(u64, u64)> {
        let paths = OUTLOOK.iter().zip(0..).map(|(&(cwnd, delay), id)| Path {
            cwnd,
            srtt: Duration::from_millis(delay),
            forward_delay: Some((delay * MILLI) as i64),
            delivery_rate: 1_200_000,
            ..Path::new(PathId(id), 1500)
        });
        let mut outlook = Self {
            scheduler,
            paths: paths.collect(),
            queues: Default::default(),
            flights: Default::default(),
            free: [0; 2],
            now: 0,
            next: 0,
            sent: vec![0; Self::PACKETS],
            arrived: vec![0; Self::PACKETS],
        };
        loop {
            outlook.ask();
            let Some(&next) = outlook.flights.iter().flatten().min() else { break };
            outlook.now = next;
            for path in 0..2 {
                while outlook.flights[path].front() == Some(&next) {
                    outlook.flights[path].pop_front();
                    outlook.paths[path].in_flight -= 1;
                    outlook.transmit(path);
                    outlook.tell(&Event::Acked { path: PathId(path as u8), segments: 1, rtt: None });
                }
            }
        }
        let mut in_order = 0;
        let delays = outlook.sent.iter().zip(&outlook.arrived).map(|(&sent, &arrived)| {
            in_order = arrived.max(in_order);
            ((in_order - arrived) / MILLI, (arrived - sent) / MILLI)
        });
        delays.collect()
    }

    fn connection(&self) -> Connection {
        let unassigned = (Self::PACKETS - self.next) as u64;
        Connection { unassigned, window_left: 100, next_segment: self.next as u64, ..Connection::default() }
    }

    fn tell(&mut self, event: &Event) {
        let connection = self.connection();
        self.scheduler.on_event(event, &connection, &self.paths);
    }

    fn ask(&mut self) {
        while self.next < Self::PACKETS {
            let now = Time::from_nanos(self.now);
            match self.scheduler.decide(now, &self.connection(), &self.paths) {
                Decision::Assign { path, segments } => {
                    for _ in 0..segments {
                        self.queues[path.index()].push_back(self.next);
                        self.paths[path.index()].queued += 1;
                        self.next += 1;
                    }
                    self.transmit(path.index());
                }
                Decision::Wait { until: None } => return,
                other => panic!("{other:?}"),
            }
        }
    }

    fn transmit(&mut self, path: usize) {
        while self.paths[path].in_flight < self.paths[path].cwnd
            && let Some(packet) = self.queues[path].pop_front()
        {
            let sent = self.free[path].max(self.now);
            self.free[path] = sent + 10 * MILLI;
            self.sent[packet] = sent;
            self.arrived[packet] = sent + OUTLOOK[path].1 * MILLI;
            self.flights[path].push_back(self.arrived[packet]);
            self.paths[path].in_flight += 1;
            self.paths[path].queued -= 1;
            let segment = packet as u64;
            self.tell(&Event::Sent { path: PathId(path as u8), segment, retransmission: false });
        }
    }
}

#[test]
fn the_outlook_table_of_delivery_delay() {
    let (reordering, end_to_end): (Vec<_>, Vec<_>) = Outlook::run(DeliveryDelay).into_iter().unzip();
    assert_eq!(end_to_end, [50, 50, 50, 100, 100, 100, 100, 100, 50, 50, 50, 50]);
    assert_eq!(reordering, [0, 0, 0, 0, 0, 0, 0, 0, 40, 30, 20, 0]);
}

#[test]
fn the_outlook_table_of_intelligent_delivery_delay() {
    let delays = Outlook::run(IntelligentDeliveryDelay::new(64));
    let (reordering, end_to_end): (Vec<_>, Vec<_>) = delays.into_iter().unzip();
    assert_eq!(end_to_end, [50, 50, 50, 50, 100, 50, 100, 50, 100, 100, 100, 50]);
    assert_eq!(reordering, [0; 12]);
}

/// One window ahead is enough for two paths that are one window apart.
#[test]
fn the_outlook_table_with_one_window_ahead() {
    assert_eq!(
        Outlook::run(IntelligentDeliveryDelay::new(1)),
        Outlook::run(IntelligentDeliveryDelay::new(64))
    );
}

fn script(ahead: u32, paths: &[(u64, u32)]) -> Script<IntelligentDeliveryDelay> {
    Script::new(IntelligentDeliveryDelay::new(ahead), paths)
}

/// The paths of the segments.
fn order(steps: &[(u8, u32)]) -> Vec<u8> {
    steps.iter().flat_map(|&(path, segments)| vec![path; segments as usize]).collect()
}

/// 1 Gbit/s and 20 ms beside 10 Mbit/s and 1.9 s. One decision covers all segments that the fast
/// path delivers before the slow path's first one; a segment of the slow path costs two decisions.
#[test]
fn consecutive_segments_of_a_path_are_one_decision() {
    let mut script = script(65_536, &[(20, 1_700), (1_900, 1_600)]);
    script.paths[0].delivery_rate = 1_000_000_000;
    script.paths[1].delivery_rate = 10_000_000;
    script.connection.unassigned = 345_000;
    script.connection.window_left = 345_000;
    let steps = script.opportunity();
    let assigned: u64 = steps.iter().map(|&(_, segments)| u64::from(segments)).sum();
    let slow: u64 = steps.iter().filter(|step| step.0 == 1).map(|&(_, segments)| u64::from(segments)).sum();
    assert!(assigned > 65_536 && slow > 1_000, "{assigned}, {slow}");
    assert!(
        steps.len() as u64 <= 2 * slow + assigned / 256 + 2,
        "{} decisions for {assigned} segments",
        steps.len()
    );
}

/// Delays 10 and 30 ms, round trips 20 and 60 ms, no rate known. The fast path's segments arrive at
/// 10 and 30, 30 ms and so on, two at a time.
#[test]
fn by_rounds_while_no_rate_is_known() {
    let mut script = script(64, &[(20, 2), (60, 1)]);
    script.connection.unassigned = 8;
    assert_eq!(order(&script.opportunity()), [0, 0, 0, 0, 1]);
}

#[test]
fn the_bound_stops_it_at_the_best_path() {
    let mut script = script(2, &[(10, 2), (1_000, 5)]);
    assert_eq!(order(&script.opportunity()), [0; 6], "a window in flight and two waiting");
    assert_eq!(script.paths[0].queued, 4);
    script.acked(0, 1);
    assert_eq!(order(&script.opportunity()), [0]);
}

#[test]
fn the_receivers_window_bounds_it_too() {
    let mut script = script(64, &[(10, 2), (1_000, 5)]);
    script.connection.window_left = 0;
    assert_eq!(script.opportunity(), []);
}

#[test]
fn an_unmeasured_path_is_measured_first_and_given_nothing_ahead() {
    let mut script = script(64, &[(10, 1), (0, 2)]);
    script.connection.unassigned = 5;
    assert_eq!(order(&script.opportunity()), [1, 1, 0]);
}

#[test]
fn a_loss_recalls_everything_once() {
    let mut script = script(2, &[(10, 2), (1_000, 5)]);
    script.opportunity();
    script.tell(&Event::Lost { path: PathId(1), segments: 1 });
    let steps = script.opportunity();
    assert_eq!((steps[0], order(&steps[1..])), ((0, 0), vec![0; 4]));
    assert_eq!(script.opportunity(), []);
}

/// A thousand acknowledgements that each report another loss of the same window cost two plans, not
/// a thousand.
#[test]
fn the_losses_of_a_window_are_planned_for_twice() {
    let mut script = script(64, &[(20, 100), (100, 10)]);
    script.opportunity();
    assert!(script.paths[0].queued > 0, "there is something to take back");
    let mut recalls = 0;
    let mut plan = |script: &mut Script<IntelligentDeliveryDelay>, event| {
        // Lost and acknowledged segments have left the flight, so there is room for a plan.
        script.paths.iter_mut().for_each(|path| path.in_flight = path.cwnd - 1);
        script.tell(&event);
        recalls += script.opportunity().iter().filter(|&&(_, segments)| segments == 0).count();
    };
    script.paths[0].repairing = true;
    for _ in 0..1_000 {
        plan(&mut script, Event::Lost { path: PathId(0), segments: 1 });
    }
    script.paths[0].repairing = false;
    for _ in 0..10 {
        plan(&mut script, Event::Acked { path: PathId(0), segments: 1, rtt: None });
    }
    assert!((1..=4).contains(&recalls), "{recalls} recalls of two queues");
}

/// A segment that was sent long ago is acknowledged soon: the wait is not a whole round.
#[test]
fn what_is_in_flight_ages() {
    let mut scheduler = IntelligentDeliveryDelay::new(64);
    let path = Path { srtt: Duration::from_millis(100), cwnd: 4, ..Path::new(PathId(0), 1500) };
    let mut paths = [Path { delivery_rate: 1_200_000, in_flight: 4, ..path }];
    let connection = Connection { unassigned: 9, window_left: 9, ..Connection::default() };
    let at = |millis: u64| Time::from_nanos(millis * MILLI);
    scheduler.decide(at(0), &connection, &paths);
    for segment in 0..4 {
        let sent = Event::Sent { path: PathId(0), segment, retransmission: false };
        scheduler.on_event(&sent, &connection, &paths);
    }
    let departs = |scheduler: &IntelligentDeliveryDelay, millis, paths: &[Path]| {
        scheduler.departure(at(millis), &paths[0], 0) / MILLI as i64
    };
    assert_eq!(departs(&scheduler, 0, &paths), 100, "when the first, sent at 0, is acknowledged");
    assert_eq!(departs(&scheduler, 95, &paths), 100);
    assert_eq!(departs(&scheduler, 105, &paths), 105, "the acknowledgement is late");
    paths[0].queued = 5;
    assert_eq!(departs(&scheduler, 50, &paths), 210, "two rounds after the second");
    paths[0].cwnd = 2;
    paths[0].queued = 0;
    assert_eq!(departs(&scheduler, 50, &paths), 120, "a smaller window: after the third");
}
