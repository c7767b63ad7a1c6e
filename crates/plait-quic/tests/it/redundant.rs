//! The class redundant: its gain with packet loss, and its cost. Virtual time.

use crate::sessions::{FAST, MILLISECOND, Net, Path, SECOND, SLOW, content};
use plait_quic::Terms;
use plait_quic::streams::{Class, StreamEvent};
use std::fmt;

/// Traffic of a remote shell or a voice call: `SAYS` bytes every `OFTEN` nanoseconds, which the
/// other end echoes.
const SAYS: usize = 100;
const OFTEN: u64 = 20 * MILLISECOND;
const FROM: u64 = SECOND;
const UNTIL: u64 = 6 * SECOND;

/// Results of an echo beside an upload.
#[derive(Default)]
struct Echo {
    /// Times from sending to the complete echo, in nanoseconds, ascending.
    waits: Vec<u64>,
    /// Payload bytes sent in both directions, copies included.
    left: u64,
    /// Bytes of the upload that arrived during the echo.
    uploaded: u64,
}

impl Echo {
    fn at(&self, percent: usize) -> f64 {
        self.waits[(self.waits.len() - 1) * percent / 100] as f64 / MILLISECOND as f64
    }

    fn join(mut self, other: Self) -> Self {
        self.waits.extend(other.waits);
        self.waits.sort_unstable();
        Self { left: self.left + other.left, uploaded: self.uploaded + other.uploaded, ..self }
    }
}

impl fmt::Display for Echo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, p95, p99, most] = [50, 95, 99, 100].map(|percent| self.at(percent));
        let &Self { left, uploaded, .. } = self;
        write!(
            f,
            "{median:.0} ms, p95 {p95:.0}, p99 {p99:.0}, most {most:.0}; {left} bytes left, {uploaded} uploaded"
        )
    }
}

/// Runs an echo of this class, with or without an upload beside it.
fn run(net: &mut Net<'_>, class: Class, upload: bool, every: u64, seed: u64) -> Echo {
    let bulk = upload.then(|| net.ends[0].streams.open("bulk:1", Class::Bulk).expect("there is room"));
    let stream = net.ends[0].streams.open("echo:1", class).expect("there is room");
    let piece = content(SAYS, seed);
    let (mut sent, mut received, mut waits) = (0, 0, Vec::new());
    let (mut echo, mut before) = (Echo::default(), 0);
    while net.now < UNTIL + SECOND {
        while let Some(event) = net.ends[1].streams.poll() {
            if let StreamEvent::Opened { stream, .. } = event {
                net.ends[1].streams.accept(stream);
            }
        }
        let due = FROM + every * sent as u64;
        if net.now >= due && due < UNTIL {
            assert_eq!(net.ends[0].streams.write(stream, &piece), SAYS, "there is room");
            sent += 1;
        }
        let far = &mut net.ends[1].streams;
        let delivered = far.peek(stream).to_vec();
        far.consume(stream, delivered.len());
        assert_eq!(far.write(stream, &delivered), delivered.len(), "there is room");
        if let Some(bulk) = bulk {
            let delivered = far.peek(bulk).len();
            far.consume(bulk, delivered);
            echo.uploaded += if (FROM..UNTIL).contains(&net.now) { delivered as u64 } else { 0 };
            net.ends[0].streams.write(bulk, &[7; 20_000]);
        }
        let near = &mut net.ends[0].streams;
        received += near.peek(stream).len();
        near.consume(stream, near.peek(stream).len());
        waits.extend((waits.len()..received / SAYS).map(|at| net.now - FROM - every * at as u64));
        if net.now < FROM {
            before = left(net);
        }
        let next = [due, FROM, UNTIL + SECOND].into_iter().filter(|next| *next > net.now).min();
        // The step may find no event, or move the clock past `next`.
        let goes_on = net.step();
        net.now = next.map_or(net.now, |next| if goes_on { net.now.min(next) } else { next });
    }
    assert!(net.ends.iter().all(|end| end.failed.is_none()));
    assert_eq!(waits.len(), sent, "all of it was said back");
    waits.sort_unstable();
    Echo { waits, left: left(net) - before, ..echo }
}

fn left(net: &Net<'_>) -> u64 {
    net.ends.iter().flat_map(|end| end.session.carried().0).sum()
}

fn echoes(scheduler: &str, paths: &[Path], class: Class, upload: bool) -> Echo {
    let one = |seed| run(&mut Net::new(scheduler, paths, seed), class, upload, OFTEN, seed);
    (1..=8).map(one).fold(Echo::default(), Echo::join)
}

/// A copy on the other path replaces a lost packet. The first copy uses any free path, so the gain
/// does not depend on the scheduler.
#[test]
fn losses_cost_a_redundant_stream_less_time_whoever_schedules() {
    for scheduler in ["lowest-rtt", "blest", "ecf", "round-robin"] {
        for lost in [10, 30, 50] {
            let paths = [FAST, SLOW].map(|path| Path { lost, ..path });
            for upload in [true, false] {
                let [once, twice] = [Class::Interactive, Class::Redundant]
                    .map(|class| echoes(scheduler, &paths, class, upload));
                let name = format!("{scheduler}, {lost} of 1000 lost, upload {upload}");
                println!("{name}: {once}; redundant {twice}");
                // Of 1000 packets lost, 10 delay fewer than 5 % of the echoes.
                assert!(twice.at(99) < 0.8 * once.at(99), "{name}");
                assert!(twice.at(50) <= once.at(50), "{name}");
            }
        }
    }
}

/// Copies cost an upload about one packet for each echo, and nothing else.
#[test]
fn what_copies_take_is_bounded() {
    let paths = [FAST, SLOW];
    let [once, twice] =
        [Class::Interactive, Class::Redundant].map(|class| echoes("lowest-rtt", &paths, class, false));
    assert_eq!((once.uploaded, twice.left), (0, 2 * once.left), "each packet on each path, and no more");
    let [once, twice] =
        [Class::Interactive, Class::Redundant].map(|class| echoes("lowest-rtt", &paths, class, true));
    println!("no losses: {once}; redundant {twice}");
    let segments = (twice.waits.len() * 1_100) as u64;
    assert!(twice.uploaded + segments * 5 / 4 > once.uploaded, "{once} {twice}");
    // The gain without losses: the time that a copy waits for room in a window.
    assert!(twice.at(99) < once.at(99), "{once} {twice}");
}

/// A single copy on a failed path waits until the failure is detected. With two copies, the other
/// one has arrived before.
#[test]
fn a_redundant_stream_does_not_notice_that_a_path_goes_dark() {
    for dark in [0, 1] {
        let mut paths = [FAST, SLOW];
        paths[dark].outage = [3 * SECOND, 5 * SECOND];
        let [once, twice] =
            [Class::Interactive, Class::Redundant].map(|class| echoes("round-robin", &paths, class, false));
        println!("path {dark} dark: {once}; redundant {twice}");
        assert!(twice.at(100) < 120.0, "{twice}");
        assert!(once.at(100) > 1.3 * twice.at(100), "{once}");
    }
}

/// Copies respect the terms: a backup path carries nothing, and a budget counts both directions.
#[test]
fn copies_keep_to_what_paths_are_for() {
    for terms in
        [Terms { backup: true, ..Terms::default() }, Terms { budget: Some(5_000), ..Terms::default() }]
    {
        let mut net = Net::over("lowest-rtt", &[FAST, SLOW], &[Terms::default(), terms], 1);
        let echo = run(&mut net, Class::Redundant, false, OFTEN, 1);
        let carried = net.ends[0].session.budget_used()[1];
        println!("{terms:?}: {carried} bytes; {echo}");
        // The budget of both directions, and data in flight: four packets in a round trip of 80 ms.
        let least = terms.budget.unwrap_or(0);
        let most = terms.budget.map_or(0, |budget| budget + 5 * 115);
        assert!((least..=most).contains(&carried), "{carried} bytes");
    }
}

/// A thin stream over a lossy path and a slow one. 24 kbit/s are less than the copies need.
#[test]
fn a_slow_second_path_delays_no_thin_stream() {
    let fast = Path { kilobits: 10_000, lost: 30, ..FAST };
    let thin = |paths: &[Path], class| {
        let one = |seed| run(&mut Net::new("lowest-rtt", paths, seed), class, false, 50 * MILLISECOND, seed);
        (1..=8).map(one).fold(Echo::default(), Echo::join)
    };
    let alone = thin(&[fast], Class::Interactive);
    for (kilobits, delay, lost) in [(24, 300, 0), (1_000, 150, 10), (5_000, 40, 5)] {
        let paths = [fast, Path { kilobits, delay, lost, ..FAST }];
        let twice = thin(&paths, Class::Redundant);
        let once = thin(&paths, Class::Interactive);
        println!("{kilobits} kbit/s, {delay} ms: {once}; redundant {twice}; fast path alone {alone}");
        for percent in [50, 95, 99, 100] {
            // The margin is a round trip of the fast path: runs with different losses vary within
            // it.
            assert!(twice.at(percent) < alone.at(percent) + 20.0, "percentile {percent}: {twice}; {alone}");
        }
    }
}
