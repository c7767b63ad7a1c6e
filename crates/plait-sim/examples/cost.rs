//! One benchmark's run.
use plait_sched::Builtin;
use plait_sim::recorder::RecordOptions;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{Control, run};
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let transport = match arguments[1].as_str() {
        "cmt" => "receive_window_accounting = \"outstanding\"",
        "mptcp" => "protocol = \"mptcp\"",
        "linux" => "protocol = \"mptcp\"\nprofile = \"linux\"",
        _ => "protocol = \"mpquic\"",
    };
    let scheduler = &arguments[2];
    let seconds: u64 = arguments[3].parse().unwrap();
    let times: u32 = arguments.get(4).map_or(1, |times| times.parse().unwrap());
    let buffer = std::env::var("BUF").unwrap_or("4MB".into());
    let text = format!(
        "duration = \"{seconds}s\"\n[transport]\nreceive_buffer = \"{buffer}\"\n{transport}\n\
         [[path]]\nrate = \"100Mbit\"\nrtt = \"20ms\"\nqueue = \"1000p\"\n\
         [[path]]\nrate = \"100Mbit\"\nrtt = \"100ms\"\nqueue = \"1000p\"\n"
    );
    let scenario = Scenario::from_toml(&text, "bench.toml", Path::new(".")).unwrap();
    let start = std::time::Instant::now();
    let mut packets = 0;
    for _ in 0..times {
        let built = Builtin::new(scheduler, &[]).unwrap();
        let result = run(&scenario, built, &RecordOptions::default(), &mut |_| Control::Continue).unwrap();
        packets = result.paths.iter().map(|path| path.packets_sent).sum::<u64>();
    }
    let elapsed = start.elapsed().as_secs_f64();
    println!(
        "{} {scheduler}: {packets} packets, {:.3} M/s",
        arguments[1],
        f64::from(times) * packets as f64 / elapsed / 1e6
    );
}
