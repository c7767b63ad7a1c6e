//! Measures the cost of a decision, for every built-in scheduler with 2, 4 and 8 paths.
//!
//! The benchmark measures a call of `decide` in the steady state of a long transfer. One
//! acknowledgement arrives, on each path in turn, and the scheduler receives the event. It is then
//! called until it waits, which includes the assignment of the segment for which the
//! acknowledgement made room. The reported time is per decision. The benchmark updates the facts
//! outside of the scheduler but inside the measurement, because every engine has to. The row
//! `engine-alone` measures only that part, to be subtracted.

use std::hint::black_box;
use std::time::{Duration as Wall, Instant as WallClock};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use plait_sched::{
    Builtin, Capabilities, Connection, Decision, Duration, Event, Path, PathId, SCHEDULERS, Scheduler, Time,
    Value,
};

/// Round-trip times of a phone's Wi-Fi and LTE, and of six more paths.
const RTT_MILLIS: [u64; 8] = [20, 100, 35, 60, 48, 200, 80, 27];

struct Engine<S> {
    scheduler: S,
    connection: Connection,
    paths: Vec<Path>,
    now: Time,
    turn: usize,
}

impl<S: Scheduler> Engine<S> {
    fn new(scheduler: S, count: usize) -> Self {
        let paths = (0..count).map(|i| Path {
            srtt: Duration::from_millis(RTT_MILLIS[i]),
            rttvar: Duration::from_millis(RTT_MILLIS[i] / 8),
            latest_rtt: Duration::from_millis(RTT_MILLIS[i]),
            min_rtt: Duration::from_millis(RTT_MILLIS[i] * 3 / 4),
            rto: Duration::from_secs(1),
            cwnd: 10 + i as u32,
            ssthresh: 8,
            in_flight: 10 + i as u32,
            delivery_rate: 5_000_000,
            ..Path::new(PathId(i as u8), 1460)
        });
        let connection = Connection {
            // The application writes as fast as data is acknowledged, which bounds the data
            // assigned ahead.
            unassigned: 64,
            window_left: 1_000,
            window: 1_000,
            send_buffer_left: 1_000,
            ..Connection::default()
        };
        Self { scheduler, connection, paths: paths.collect(), now: Time::ZERO, turn: 0 }
    }

    /// Processes an acknowledgement and the decisions that follow. Returns the number of decisions.
    #[inline]
    fn acknowledgement(&mut self) -> u64 {
        self.now += Duration::from_micros(100);
        self.turn = if self.turn + 1 == self.paths.len() { 0 } else { self.turn + 1 };
        let count = self.paths.len() as u64;
        let path = &mut self.paths[self.turn];
        if path.in_flight > 0 {
            path.in_flight -= 1;
            self.connection.unassigned += 1;
        }
        send(path);
        // Queues lengthen all round trips after the first one.
        let first = self.now.as_nanos() <= 100_000 * count;
        let rtt = Some(if first { path.min_rtt } else { path.srtt });
        let event = Event::Acked { path: path.id, segments: 1, rtt };
        self.scheduler.on_event(&event, &self.connection, &self.paths);
        let mut decisions = 0;
        loop {
            decisions += 1;
            match black_box(self.scheduler.decide(self.now, &self.connection, &self.paths)) {
                Decision::Assign { path, segments } => {
                    self.connection.next_segment += u64::from(segments);
                    self.connection.unassigned -= u64::from(segments);
                    self.paths[path.index()].queued += segments;
                    send(&mut self.paths[path.index()]);
                }
                Decision::Recall { path } => {
                    let queued = u64::from(self.paths[path.index()].queued);
                    self.connection.next_segment -= queued;
                    self.connection.unassigned += queued;
                    self.paths[path.index()].queued = 0;
                }
                Decision::Limit { path, in_flight } => self.paths[path.index()].limit = in_flight,
                Decision::Reinject { .. } | Decision::Penalize { .. } | Decision::Defer => {}
                Decision::Wait { .. } => return decisions,
            }
        }
    }
}

fn send(path: &mut Path) {
    let segments = path.queued.min(path.cwnd.saturating_sub(path.in_flight));
    path.queued -= segments;
    path.in_flight += segments;
}

/// A scheduler that makes trivial decisions at no cost.
struct Nobody;

impl Scheduler for Nobody {
    fn decide(&mut self, now: Time, _connection: &Connection, paths: &[Path]) -> Decision {
        let path = &paths[(now.as_nanos() / 100_000) as usize & (paths.len() - 1)];
        if path.room() > 0 { Decision::Assign { path: path.id, segments: 1 } } else { Decision::WAIT }
    }

    fn needs(&self) -> Capabilities {
        Capabilities::ALL
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn measure<S: Scheduler>(criterion: &mut Criterion, name: &str, make: impl Fn() -> S) {
    let mut group = criterion.benchmark_group(name);
    group.warm_up_time(Wall::from_millis(200)).measurement_time(Wall::from_millis(600)).sample_size(20);
    for count in [2, 4, 8] {
        let mut engine = Engine::new(make(), count);
        for _ in 0..256 * count {
            engine.acknowledgement();
        }
        group.bench_function(BenchmarkId::from_parameter(format!("{count}-paths")), |bencher| {
            // Criterion asks for a number of iterations. An iteration is a decision, and an
            // acknowledgement leads to one or more.
            bencher.iter_custom(|wanted| {
                let mut decided = 0;
                let start = WallClock::now();
                while decided < wanted {
                    decided += engine.acknowledgement();
                }
                start.elapsed().mul_f64(wanted as f64 / decided as f64)
            });
        });
    }
    group.finish();
}

fn decisions(criterion: &mut Criterion) {
    measure(criterion, "engine-alone", || Nobody);
    for info in SCHEDULERS {
        measure(criterion, info.name, || Builtin::new(info.name, &[]).expect("defaults are valid"));
    }
    for mode in ["opportunistic", "when-idle", "probing"] {
        let make = || Builtin::new("redundant", &[("mode", Value::Text(mode))]).expect("a mode of it");
        measure(criterion, &format!("redundant-{mode}"), make);
    }
    for name in ["lowest-rtt+rp", "lowest-rtt+bm", "lowest-rtt+rp+bm"] {
        measure(criterion, name, || Builtin::new(name, &[]).expect("every scheduler takes options"));
    }
}

criterion_group!(benches, decisions);
criterion_main!(benches);
