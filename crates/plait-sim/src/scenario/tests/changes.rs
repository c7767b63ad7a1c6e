//! Steps of delay, loss and queue, copies, distributions of jitter: reading, writing, errors.

use super::*;
use crate::link::{Duplicate, JitterDistribution, Varying};

fn path(rest: &str) -> String {
    format!("[[path]]\nrate = \"12Mbit\"\n{rest}\n")
}

fn accepted(rest: &str) -> Scenario {
    let scenario = read(&path(rest)).expect(rest);
    let written = scenario.to_json().to_string();
    let again = Scenario::from_json(&written, "s.json", Path::new("/nonexistent"));
    assert_eq!(again.as_ref(), Ok(&scenario), "{written}");
    scenario
}

fn stepped<T: Copy>(first: T, steps: &[(u64, T)], repeat: Option<u64>) -> Varying<T> {
    let second = |s| Time::ZERO + Duration::from_secs(s);
    let steps = steps.iter().map(|&(at, value)| Step { at: second(at), value }).collect();
    Varying::Steps(Arc::new(Steps::new(first, steps, repeat.map(Duration::from_secs))))
}

const STEPS: &str = "rtt = \"40ms\"\nqueue = \"50p\"\nloss = \"1%\"\nrepeat = \"30s\"\n\
                     delay_steps = [{ at = \"10s\", delay = \"100ms\" }, { at = \"20s\", delay = \"0ms\" }]\n\
                     loss_steps = [{ at = \"5s\", loss = \"0%\" }]\n\
                     queue_steps = [{ at = \"7s\", queue = \"bdp\" }, { at = \"8s\", queue = \"30ms\" }]\n";

#[test]
fn delay_and_queue_change_both_ways_and_loss_forward() {
    let scenario = accepted(STEPS);
    let wire = wire(&scenario, 0);
    let millis = Duration::from_millis;
    let delay = stepped(millis(20), &[(10, millis(100)), (20, millis(0))], Some(30));
    assert_eq!((&wire.forward.delay, &wire.backward.delay), (&delay, &delay));
    let loss = stepped(Loss::Bernoulli { share: 10_000_000 }, &[(5, Loss::None)], Some(30));
    assert_eq!((&wire.forward.loss, &wire.backward.loss), (&loss, &Loss::None.into()));
    let limits = [(7, QueueLimit::Packets(40)), (8, QueueLimit::Wait(millis(30)))];
    let queue = stepped(QueueLimit::Packets(50), &limits, Some(30));
    assert_eq!((&wire.forward.queue, &wire.backward.queue), (&queue, &queue));
    assert_eq!(scenario.round_trip(0), millis(40), "that of the start");
    assert_eq!(wire.forward.delays(), (millis(0), millis(100)));
}

#[test]
fn a_direction_with_a_delay_of_its_own_has_no_steps_of_its_path() {
    let scenario = accepted(&format!("{}forward = {{ loss = \"2%\" }}\n", STEPS.replace("rtt", "delay")));
    assert_eq!(wire(&scenario, 0).forward.loss, Loss::Bernoulli { share: 20_000_000 }.into());
    let text =
        "delay = \"10ms\"\ndelay_steps = [{ at = \"1s\", delay = \"20ms\" }]\nbackward = { delay = \"5ms\" }";
    let scenario = accepted(text);
    let wire = wire(&scenario, 0);
    assert!(wire.forward.delay.steps().is_some());
    assert_eq!(wire.backward.delay, Duration::from_millis(5).into());
}

#[test]
fn a_file_of_steps_is_the_list_of_its_lines() {
    let folder = std::env::temp_dir().join(format!("plait-steps-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = "# a satellite\n\n10s 100ms\n  20s\t0ms\n";
    std::fs::write(folder.join("delays"), file).expect("a file");
    let listed = STEPS.lines().find(|line| line.starts_with("delay_steps")).expect("delays");
    let text = path(&STEPS.replace(listed, "delay_steps = \"delays\""));
    let from_file = Scenario::from_toml(&text, "s.toml", &folder).expect("a valid scenario");
    assert_eq!(from_file, read(&path(STEPS)).expect("a valid scenario"));
    for (content, expected) in [
        (
            "10s 100ms\n10s 50ms\n",
            ", line 2 = \"10s\": is not later than the step before it: list them in order",
        ),
        ("10s\n", ", line 1 = \"10s\": expected a time and a value, such as 10s 50ms"),
        ("10s 5\n", ", line 1 = \"5\": duration has no unit: write ns, us, µs, ms, s or min"),
        ("0s 5ms\n", ", line 1 = \"0s\": must be from 1ns to 1000000s"),
        ("# nothing\n", " = \"delays\": a file has 1 to 100000 steps"),
    ] {
        std::fs::write(folder.join("delays"), content).expect("a file");
        let error = Scenario::from_toml(&text, "s.toml", &folder).expect_err(content);
        assert_eq!(error.to_string(), format!("s.toml: path[0].delay_steps{expected}"));
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
    let error = Scenario::from_toml(&text, "s.toml", &folder).expect_err("no file");
    assert!(error.to_string().contains("path[0].delay_steps = \"delays\": cannot be read"), "{error}");
}

#[test]
fn copies_and_jitter_are_read_as_written() {
    let scenario = accepted(
        "rtt = \"40ms\"\nduplicate = \"1%\"\nreorder = true\n\
         jitter = { amount = \"5ms\", distribution = \"paretonormal\", correlation = \"25%\" }\n\
         backward = { duplicate = { share = \"2%\", correlation = \"50%\" }, reorder = false }",
    );
    let wire = wire(&scenario, 0);
    let jitter = Jitter {
        amount: Duration::from_millis(5),
        distribution: JitterDistribution::ParetoNormal,
        correlation: 250_000_000,
        reorder: false,
    };
    assert_eq!(wire.forward.jitter, Some(jitter));
    assert_eq!(wire.forward.duplicate, Some(Duplicate { share: 10_000_000, correlation: 0 }));
    assert_eq!(wire.backward.duplicate, Some(Duplicate { share: 20_000_000, correlation: 500_000_000 }));
    assert_eq!((wire.forward.reorders(), wire.backward.reorders()), (true, false));
    let scenario = accepted("rtt = \"40ms\"\nduplicate = \"1%\"\nforward = { duplicate = \"0%\" }");
    assert_eq!(wire_of(&scenario).forward.duplicate, None);
}

fn wire_of(scenario: &Scenario) -> &DuplexLink {
    wire(scenario, 0)
}

/// The probability of a loss after a loss is c + (1 − c) · p, and the share of losses stays p.
#[test]
fn correlated_losses_keep_their_share() {
    let scenario =
        accepted("rtt = \"40ms\"\nloss = { model = \"bernoulli\", share = \"2%\", correlation = \"25%\" }");
    let loss = wire_of(&scenario).forward.loss.first();
    let Loss::GilbertElliott { to_good, good_loss, bad_loss, .. } = loss else { panic!("{loss:?}") };
    assert!((loss.mean() - 0.02).abs() < 1e-9, "{}", loss.mean());
    assert!((1.0 - f64::from(to_good) / 1e9 - (0.25 + 0.75 * 0.02)).abs() < 1e-9, "{to_good}");
    assert_eq!((good_loss, bad_loss), (0, 1_000_000_000));
}

#[test]
fn errors_name_the_place_the_value_and_the_choices() {
    let at = "[{ at = \"1s\", delay = \"5ms\" }]";
    for (rest, expected) in [
        (
            format!("forward = {{ delay = \"1ms\" }}\nbackward = {{ delay = \"1ms\" }}\ndelay_steps = {at}"),
            "path[0].delay_steps: there is no delay to begin with: give rtt or delay too",
        ),
        (
            format!("rtt = \"20ms\"\nforward = {{ delay_steps = {at} }}"),
            "path[0].forward.delay_steps = [list of 1]: there is no delay to begin with: give the delay before the first step too",
        ),
        (
            "rtt = \"20ms\"\nrepeat = \"5s\"".to_owned(),
            "path[0].repeat = \"5s\": there are no steps to repeat",
        ),
        (
            format!("rtt = \"20ms\"\nrepeat = \"1s\"\ndelay_steps = {at}"),
            "path[0].repeat = \"1s\": must be later than the last step, at 1s",
        ),
        (
            format!(
                "rtt = \"20ms\"\nrepeat = \"2s\"\ndelay_steps = {at}\n\
                 forward = {{ loss = \"0%\", loss_steps = [{{ at = \"3s\", loss = \"1%\" }}] }}"
            ),
            "path[0].forward: some of its steps begin anew after 2s, some never: give all of them, and one repeat, in one table",
        ),
        (
            "rtt = \"20ms\"\ndelay_steps = [{ at = \"1s\", rate = \"5Mbit\" }]".to_owned(),
            "path[0].delay_steps[0].rate: unknown key (valid: at, delay)",
        ),
        (
            "rtt = \"20ms\"\nloss_steps = [{ at = \"1s\", loss = \"101%\" }]".to_owned(),
            "path[0].loss_steps[0].loss = \"101%\": must be from 0% to 100%",
        ),
        (
            "rtt = \"20ms\"\nqueue_steps = [{ at = \"1s\", queue = \"0p\" }]".to_owned(),
            "path[0].queue_steps[0].queue = \"0p\": must be from 1p to 1000000000000p",
        ),
        (
            "rtt = \"20ms\"\ndiscipline = \"codel\"\nqueue = \"9p\"\nqueue_steps = [{ at = \"1s\", queue = \"5p\" }]"
                .to_owned(),
            "path[0].forward.queue: codel has one limit: leave queue_steps out",
        ),
        (
            "rtt = \"20ms\"\nduplicate = { share = \"1%\", correlation = \"100%\" }".to_owned(),
            "path[0].duplicate.correlation = \"100%\": must be less than 100%, or nothing would ever change",
        ),
        (
            "rtt = \"20ms\"\njitter = { amount = \"1ms\", distribution = \"gamma\" }".to_owned(),
            "path[0].jitter.distribution = \"gamma\": unknown (valid: uniform, normal, pareto, paretonormal)",
        ),
        (
            "rtt = \"20ms\"\nloss = { model = \"bernoulli\", share = \"100%\", correlation = \"5%\" }".to_owned(),
            "path[0].loss.share = \"100%\": is of every packet: leave the correlation out",
        ),
    ] {
        let error = read(&path(&rest)).expect_err(&rest);
        assert_eq!(error.to_string(), format!("s.toml: {expected}"), "{rest}");
    }
}
