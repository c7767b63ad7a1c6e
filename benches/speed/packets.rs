//! Simulated data packets per second, with only the metrics recorded.
//!
//! The benchmarks measure, in this order:
//! - the memory of a run;
//! - two networks as in the comparison with ns-2, the larger one also with MPTCP by the RFCs and
//!   with MPTCP as in Linux;
//! - a minute of the larger network with windows of 1 to 64 MB. The time for a packet must not grow
//!   with the number of packets in flight;
//! - the memory of a packet in flight.
//!
//! `cargo bench -p plait-speed --bench packets`, with `-- 10/20` for the benchmarks whose name
//! contains that.

use std::path::Path;
use std::time::{Duration as Wall, Instant as WallClock};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use plait_sched::Builtin;
use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{Control, run};

const SCHEDULERS: [&str; 2] = ["round-robin", "lowest-rtt"];
const WINDOWS_MB: [u64; 4] = [1, 4, 16, 64];

/// Approximate payload of a full packet, in bytes.
const FULL_SEGMENT: f64 = 1440.0;

/// Settings of the transports, apart from the buffer.
const CMT_SCTP: &str = "protocol = \"cmt-sctp\"\nreceive_window_accounting = \"outstanding\"";
const MPTCP: &str = "protocol = \"mptcp\"\nprofile = \"standard\"";
const MPQUIC: &str = "protocol = \"mpquic\"";
const LINUX: &str = "protocol = \"mptcp\"\nprofile = \"linux\"";

/// Returns a scenario of two paths of `rate` Mbit/s, with round-trip times of 20 and 100 ms.
fn scenario(transport: &str, rate: u32, seconds: u32, window_mb: u64, queue: &str) -> Scenario {
    let text = format!(
        "duration = \"{seconds}s\"\n\
         [transport]\n\
         receive_buffer = \"{window_mb}MB\"\n\
         {transport}\n\
         [[path]]\nrate = \"{rate}Mbit\"\nrtt = \"20ms\"\nqueue = \"{queue}\"\n\
         [[path]]\nrate = \"{rate}Mbit\"\nrtt = \"100ms\"\nqueue = \"{queue}\"\n"
    );
    Scenario::from_toml(&text, "bench.toml", Path::new(".")).expect("a valid scenario")
}

fn simulate(scenario: &Scenario, scheduler: &str) -> RunResult {
    let scheduler = Builtin::new(scheduler, &[]).expect("a built-in scheduler");
    run(scenario, scheduler, &RecordOptions::default(), &mut |_share| Control::Continue).expect("it runs")
}

fn data_packets(result: &RunResult) -> u64 {
    result.paths.iter().map(|path| path.packets_sent).sum()
}

fn networks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packets");
    group.warm_up_time(Wall::from_millis(500)).measurement_time(Wall::from_secs(3)).sample_size(10);
    for (name, transport, rate) in [
        ("10/20+10/100", CMT_SCTP, 10),
        ("100/20+100/100", CMT_SCTP, 100),
        ("mptcp 100/20+100/100", MPTCP, 100),
        ("linux 100/20+100/100", LINUX, 100),
    ] {
        let scenario = scenario(transport, rate, 20, 4, "1000p");
        for scheduler in SCHEDULERS {
            group.throughput(Throughput::Elements(data_packets(&simulate(&scenario, scheduler))));
            group.bench_function(BenchmarkId::new(name, scheduler), |bencher| {
                bencher.iter(|| simulate(&scenario, scheduler));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, networks);

/// Prints millions of data packets per second for each window, the best of three runs of a
/// simulated minute. The queues never drop packets, so that the window limits the data in flight.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn windows() {
    println!("\nMillions of data packets per second, 100/20+100/100, a simulated minute:");
    println!("{:12}{}", "window", WINDOWS_MB.map(|window| format!("{window:>7} MB")).concat());
    for scheduler in SCHEDULERS {
        let speeds = WINDOWS_MB.map(|window| {
            let scenario = scenario(CMT_SCTP, 100, 60, window, "infinite");
            let rounds = (0..3).map(|_round| {
                let start = WallClock::now();
                let packets = data_packets(&simulate(&scenario, scheduler));
                packets as f64 / start.elapsed().as_secs_f64()
            });
            format!("{:>10.2}", rounds.fold(0.0, f64::max) / 1e6)
        });
        println!("{scheduler:12}{}", speeds.concat());
    }
}

/// Returns the peak memory of this process, in kilobytes (Linux).
fn peak_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Argument with which this program runs itself: simulate a minute with this transport and window,
/// and print the peak memory.
const MEMORY: &str = "--memory-of";

/// Returns the peak memory of a separate process for a minute with such a window, in kilobytes.
fn memory_of(transport: &str, window_mb: u64) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let window = window_mb.to_string();
    let told = std::process::Command::new(program).args([MEMORY, transport, &window]).output().ok()?;
    String::from_utf8(told.stdout).ok()?.trim().parse().ok()
}

/// Prints the memory of a packet in flight: the increase by a larger window, divided by the
/// additional packets in it.
fn memory_per_packet() {
    println!(
        "\nBytes of memory per packet in flight (peaks of processes that run a minute of 100/20+100/100):"
    );
    for (name, transport) in [("cmt-sctp", CMT_SCTP), ("mptcp", MPTCP), ("mpquic", MPQUIC)] {
        let [small, large, larger] = [1, 64, 128].map(|window| memory_of(transport, window));
        let per_packet = |less: Option<u64>, more: Option<u64>, megabytes: f64| {
            let packets = megabytes * 1e6 / FULL_SEGMENT;
            more.zip(less).map_or(f64::NAN, |(more, less)| (more as f64 - less as f64) * 1024.0 / packets)
        };
        let (first, second) = (per_packet(small, large, 63.0), per_packet(large, larger, 64.0));
        println!("{name:12}{first:>6.0} from 1 to 64 MB{second:>6.0} from 64 to 128 MB");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, transport, window] = &arguments[..]
        && command == MEMORY
    {
        let window = window.parse().expect("a number of megabytes");
        simulate(&scenario(transport, 100, 60, window, "infinite"), "round-robin");
        println!("{}", peak_kilobytes().unwrap_or(0));
        return;
    }
    // This comes first, before the process has used memory for anything else.
    let packets = data_packets(&simulate(&scenario(CMT_SCTP, 100, 100, 4, "1000p"), "round-robin"));
    if let Some(kilobytes) = peak_kilobytes() {
        let megabytes = kilobytes as f64 * 1024.0 / 1e6;
        println!(
            "100 s of 100/20+100/100, 4 MB, {packets} data packets: {megabytes:.1} MB of memory at most"
        );
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
    // `cargo bench -- NAME` and `cargo test --benches` skip these tables.
    if arguments.iter().all(|argument| argument == "--bench") {
        windows();
        memory_per_packet();
    }
}
