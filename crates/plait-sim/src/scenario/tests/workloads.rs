//! Workloads: reading, writing, errors.

use super::*;
use crate::application::{self, Bulk, ConstantRate, RequestDistribution, RequestResponse};

#[test]
fn workloads_have_a_start_and_a_stop() {
    let workload = |text: &str| read(&format!("workload = {{ {text} }}\n{SMALL}")).expect(text).workload;
    let second = Duration::from_secs;
    assert_eq!(workload("kind = \"bulk\", start = \"2s\""), Bulk { start: second(2) }.into());
    let text = "kind = \"on-off\", rate = \"1Mbit\", block = \"1kB\", on = \"1s\", off = \"3s\", stop = \"9s\", \
         deadline = \"150ms\"";
    let times = OnOffTimes { on: second(1), off: second(3), distribution: OnOffDistribution::Exponential };
    let deadline = Some(Duration::from_millis(150));
    let blocks =
        ConstantRate { rate: 1_000_000, block: 1000, start: Duration::ZERO, stop: Some(second(9)), deadline };
    assert_eq!(workload(text), application::OnOff { blocks, times }.into());
    let scenario = read(&format!("workload = {{ {text} }}\n{SMALL}")).expect(text);
    let json = scenario.to_json().to_string();
    assert_eq!(
        Scenario::from_json(&json, "s.json", Path::new(".")),
        Ok(Scenario { name: "s".into(), ..scenario })
    );
}

#[test]
fn requests_have_sizes_think_times_and_clients() {
    let read = |text: &str| read(&format!("workload = {{ kind = \"request-response\", {text} }}\n{SMALL}"));
    let least = RequestResponse {
        request: 200,
        response: 10_000,
        sizes: RequestDistribution::Fixed,
        think: Duration::ZERO,
        think_times: RequestDistribution::Fixed,
        parallel: 1,
        count: None,
        start: Duration::ZERO,
        stop: None,
        deadline: None,
        urgent: 0,
    };
    let text = "response = \"10kB\"";
    assert_eq!(read(text).expect(text).workload, least.into());
    let text = "request = \"1kB\", response = \"10kB\", sizes = \"exponential\", think = \"20ms\", \
                think_times = \"exponential\", parallel = 4, count = 100, start = \"1s\", stop = \"3s\", \
                deadline = \"1.5s\", urgent = 2";
    let all = RequestResponse {
        request: 1000,
        sizes: RequestDistribution::Exponential,
        think: Duration::from_millis(20),
        think_times: RequestDistribution::Exponential,
        parallel: 4,
        count: Some(100),
        start: Duration::from_secs(1),
        stop: Some(Duration::from_secs(3)),
        deadline: Some(Duration::from_millis(1500)),
        urgent: 2,
        ..least
    };
    let scenario = read(text).expect(text);
    assert_eq!(scenario.workload, all.into());
    let json = scenario.to_json().to_string();
    assert_eq!(
        Scenario::from_json(&json, "s.json", Path::new(".")),
        Ok(Scenario { name: "s".into(), ..scenario })
    );
    let error = |text: &str| read(text).expect_err(text).to_string();
    assert!(error("request = \"1kB\"").contains("response"));
    let typo = error("response = \"1kB\", paralel = 2");
    assert!(typo.contains("workload.paralel: unknown key") && typo.contains("parallel"), "{typo}");
    assert!(error("response = \"1kB\", parallel = 0").contains("must be from 1 to 1000"));
    let near = error("response = \"1kB\", sizes = \"exponentially\"");
    assert!(near.contains("did you mean exponential?"), "{near}");
}

#[test]
fn a_trace_of_writes_is_a_file_beside_the_scenario() {
    let folder = std::env::temp_dir().join(format!("plait-writes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("writes.csv"), "time_s,bytes\n0.5,1200\n").expect("a temporary file");
    std::fs::write(folder.join("wrong.csv"), "time_s,bytes\n0.5,12kB\n").expect("a temporary file");
    std::fs::write(folder.join("fast.csv"), "time_s,bytes\n0,1000000000\n").expect("a temporary file");
    std::fs::write(folder.join("often.csv"), "time_s,bytes\n0,1\n0,1\n").expect("a temporary file");
    let read = |text: &str| {
        let text = format!("workload = {{ kind = \"trace\", {text} }}\n{SMALL}");
        Scenario::from_toml(&text, "s.toml", &folder)
    };
    let text = "file = \"writes.csv\", start = \"1s\", repeat = \"2s\"";
    let scenario = read(text).expect(text);
    let write = application::TracedWrite {
        at: Duration::from_millis(500),
        bytes: 1200,
        stream: 0,
        priority: 0,
        deadline: None,
    };
    let trace = application::WriteTrace {
        file: "writes.csv".to_owned(),
        writes: [write].into(),
        bytes: 1200,
        start: Duration::from_secs(1),
        repeat: Some(Duration::from_secs(2)),
    };
    assert_eq!(scenario.workload, trace.into());
    let json = scenario.to_json().to_string();
    assert_eq!(Scenario::from_json(&json, "s.json", &folder).as_ref(), Ok(&scenario));
    for (text, expected) in [
        ("start = \"1s\"", "workload: file is missing"),
        (
            "file = \"writes.csv\", repeat = \"500ms\"",
            "workload.repeat = \"500ms\": must be later than the last write, at 500ms",
        ),
        (
            "file = \"fast.csv\", repeat = \"1us\"",
            "workload.repeat = \"1us\": the mean rate is more than 1000Gbit",
        ),
        (
            "file = \"often.csv\", repeat = \"1999ns\"",
            "workload.repeat = \"1999ns\": the mean interval between writes is less than 1us",
        ),
        (
            "file = \"wrong.csv\"",
            "workload.file = \"wrong.csv\": line 2: bytes = \"12kB\": expected a whole number from 1 to 1000000000000000",
        ),
        ("file = \".\"", "workload.file = \".\": a trace is a regular file"),
        (
            "file = \"writes.csv\", deadline = \"1s\"",
            "workload.deadline: unknown key (valid: kind, file, start, repeat)",
        ),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert_eq!(error, format!("s.toml: {expected}"));
    }
    let missing = read("file = \"none.csv\"").expect_err("no file").to_string();
    assert!(missing.starts_with("s.toml: workload.file = \"none.csv\": cannot be read: "), "{missing}");
    std::fs::remove_dir_all(&folder).expect("the temporary folder is ours");
}

#[test]
fn a_kind_may_name_a_class() {
    let with = |text: &str| read(&format!("workload = {{ kind = \"video.py:Video\", {text} }}\n{SMALL}"));
    let scenario = with("level = 2, share = 0.5, fast = true, name = \"x\"").expect("valid");
    let Workload::Own(own) = &scenario.workload else { panic!("{:?}", scenario.workload) };
    assert_eq!((own.name.as_str(), own.parameters.len()), ("video.py:Video", 4));
    let json = scenario.to_json();
    assert_eq!(json["workload"]["share"], 0.5);
    let again = Scenario::from_json(&json.to_string(), "s.json", Path::new("."));
    assert_eq!(again.map(|again| again.workload).as_ref(), Ok(&scenario.workload));
    let error = with("level = [1]").expect_err("a list").to_string();
    assert_eq!(
        error,
        "s.toml: workload.level = [list of 1]: expected text, a finite number, true or false, got an array"
    );
    let run = crate::simulation::run(
        &scenario,
        scenario.scheduler.build(),
        &crate::recorder::RecordOptions::default(),
        &mut |_| crate::simulation::Control::Continue,
    );
    assert_eq!(
        run.expect_err("no behaviour").to_string(),
        "workload \"video.py:Video\": a class in Python, which only plait's Python package runs"
    );
}
