//! Random scenarios as TOML, so that a failure can be copied.

use plait_sched::{Domain, ParameterInfo, SCHEDULERS, SchedulerInfo};
use plait_sim::link::discipline::{DISCIPLINES, Info, Parameter, Unit};
use plait_transport::congestion::{Algorithm, Family};
use proptest::prelude::*;

/// Numbers over several orders of magnitude, uniform in their logarithm.
fn log(low: u64, high: u64) -> impl Strategy<Value = u64> + Clone {
    ((low as f64).ln()..=(high as f64).ln()).prop_map(move |x| (x.exp() as u64).clamp(low, high))
}

/// The text in a third of the cases.
fn sometimes(text: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> + Clone {
    prop_oneof![2 => Just(String::new()), 1 => text]
}

/// The behaviour of a network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// Losses, copies, reordering, outages and all other effects.
    Any,
    /// Every packet arrives, in the order of its path.
    Orderly,
}

/// A complete scenario of CMT-SCTP or MPTCP.
pub(crate) fn scenario(network: Network) -> impl Strategy<Value = String> {
    with_transport(network, prop_oneof![cmt_sctp(), mptcp()].boxed())
}

/// A complete scenario of CMT-SCTP alone.
pub(crate) fn cmt_sctp_scenario(network: Network) -> impl Strategy<Value = String> {
    with_transport(network, cmt_sctp().boxed())
}

/// A complete scenario of MPTCP or TCP.
pub(crate) fn mptcp_scenario(network: Network) -> impl Strategy<Value = String> {
    with_transport(network, mptcp().boxed())
}

/// A complete scenario of Multipath QUIC.
pub(crate) fn mpquic_scenario(network: Network) -> impl Strategy<Value = String> {
    with_transport(network, mpquic().boxed())
}

/// A complete scenario of any protocol, with a scheduler that waits without room.
pub(crate) fn with_a_scheduler_that_waits_without_room(network: Network) -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec!["lowest-rtt", "delivery-delay"]);
    let transport = prop_oneof![cmt_sctp(), mptcp(), mpquic()].boxed();
    with_both(network, transport, names.prop_map(|name| format!("\"{name}\"")).boxed())
}

fn with_transport(network: Network, transport: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    with_both(network, transport, scheduler().boxed())
}

fn with_both(
    network: Network,
    transport: BoxedStrategy<String>,
    scheduler: BoxedStrategy<String>,
) -> impl Strategy<Value = String> {
    let paths = prop::collection::vec(path(network), 1..=8);
    let surroundings = (paths, links(network), flows());
    (any::<u32>(), scheduler, transport, workload(), surroundings).prop_map(
        |(seed, scheduler, transport, (workload, bulk), (mut paths, links, flows))| {
            let links = connect(&mut paths, &links);
            let total: u64 = paths.iter().map(|(rate, _)| rate).sum();
            // A flow is some thousand packets at most.
            let flow_millis = (60_000_000 * 1_000 / total).clamp(1, 150_000);
            let flows: Vec<String> = flows.iter().map(|flow| flow.replace("$stop", &flow_millis.to_string())).collect();
            let duration = if bulk {
                // Bulk traffic lasts as long as its rate allows: some ten thousand packets.
                let rate: u64 = paths.iter().map(|(rate, _)| rate).sum();
                (60_000 * 12_000_u64 / rate).clamp(1, 150)
            } else {
                150
            };
            let paths: Vec<String> = paths.into_iter().map(|(_, text)| text).collect();
            format!(
                "seed = {seed}\nduration = \"{duration}s\"\nscheduler = {scheduler}\n\n[transport]\n{transport}\n\
                 [workload]\n{workload}\n\n{}\n{}\n{}",
                paths.join("\n"),
                links.join("\n"),
                flows.join("\n")
            )
        },
    )
}

/// Any scheduler with any valid parameters.
fn scheduler() -> impl Strategy<Value = String> {
    prop::sample::select(SCHEDULERS).prop_flat_map(|info: SchedulerInfo| {
        let parameters: Vec<_> = info.parameters.iter().map(parameter).collect();
        parameters
            .prop_map(move |parameters| format!("{{ name = \"{}\"{} }}", info.name, parameters.concat()))
    })
}

/// A parameter, or an empty text for the default.
fn parameter(info: &ParameterInfo) -> BoxedStrategy<String> {
    let name = info.name;
    let value = match info.domain {
        Domain::Boolean => any::<bool>().prop_map(|truth| truth.to_string()).boxed(),
        Domain::Integer { min, max } => {
            prop_oneof![min..=max.min(min.saturating_add(8)), min..=max].prop_map(|n| n.to_string()).boxed()
        }
        Domain::Number { min, max } => {
            prop_oneof![min..=max.min(min + 4.0), min..=max].prop_map(|n| format!("{n:?}")).boxed()
        }
        Domain::Choice(words) => prop::sample::select(words).prop_map(|word| format!("\"{word}\"")).boxed(),
    };
    prop_oneof![Just(String::new()), value.prop_map(move |value| format!(", {name} = {value}"))].boxed()
}

/// MPTCP with any of its options.
fn mptcp() -> impl Strategy<Value = String> {
    let packet = prop_oneof![3 => Just(1500_u64), 1 => 80_u64..9_000];
    let buffers = (
        packet,
        prop_oneof![1_u64..4, log(1, 1_000)],
        sometimes(log(1, 500).prop_map(|packets| packets.to_string())),
    );
    let control = prop::sample::select(Algorithm::names(Some(Family::Tcp)));
    let windows = (control, any::<bool>(), prop_oneof![Just(10_u64), log(1, 100)], any::<bool>());
    let acknowledgements = (prop_oneof![3 => Just(1_u32), 3 => Just(2), 1 => 1_u32..20], log(1, 500));
    let timers = (log(1, 1_000), log(1, 8), prop_oneof![log(1, 8_000), log(2_000, 8_000)]);
    let failures = (0_u32..6, prop_oneof![Just(10_u32), 0_u32..20, Just(100_000)], any::<bool>());
    let clocks = (any::<bool>(), log(1, 1_000_000), -1_000_000_i64..1_000_000, any::<bool>());
    (buffers, windows, acknowledgements, timers, failures, clocks).prop_map(
        |(
            (packet, receive, send),
            (control, hystart, initial_window, grow),
            (ack_every, ack_delay),
            (rto_min, initial_factor, rto_max),
            (path_max, association_max, suspect),
            (handshake, tick, offset, ecn),
        )| {
            let receive = packet * receive;
            let send = match send.parse::<u64>() {
                Ok(packets) => format!("send_buffer = \"{}B\"\n", packet * packets),
                Err(_) => String::new(),
            };
            let max = rto_max.max(rto_min);
            let initial = (rto_min * initial_factor).min(max);
            format!(
                "protocol = \"mptcp\"\nprofile = \"standard\"\npacket = \"{packet}B\"\nreceive_buffer = \"{receive}B\"\n{send}\
                 congestion_control = \"{control}\"\nhystart = {hystart}\n\
                 initial_window = \"{initial_window}p\"\ngrow_in_recovery = {grow}\nack_every = {ack_every}\n\
                 ack_delay = \"{ack_delay}ms\"\nrto_min = \"{rto_min}ms\"\nrto_initial = \"{initial}ms\"\n\
                 rto_max = \"{max}ms\"\npath_max_retransmissions = {path_max}\n\
                 association_max_retransmissions = {association_max}\npotentially_failed = {suspect}\n\
                 handshake = {handshake}\ntimestamp_granularity = \"{tick}us\"\nclock_offset = \"{offset}us\"\n\
                 ecn = {ecn}\n"
            )
        },
    )
}

/// Multipath QUIC with any of the options that it shares with MPTCP.
fn mpquic() -> impl Strategy<Value = String> {
    const OTHERS: [&str; 3] = ["rto_min", "timestamp_granularity", "clock_offset"];
    mptcp().prop_map(|text| {
        let shared = text.lines().filter(|line| !OTHERS.iter().any(|key| line.starts_with(key)));
        let text: String = shared.map(|line| format!("{line}\n")).collect();
        text.replacen("protocol = \"mptcp\"\nprofile = \"standard\"", "protocol = \"mpquic\"", 1)
    })
}

fn cmt_sctp() -> impl Strategy<Value = String> {
    let packet = prop_oneof![3 => Just(1500_u64), 1 => 60_u64..9_000];
    let buffers = (
        packet.clone(),
        prop_oneof![1_u64..4, log(1, 1_000)],
        sometimes(log(1, 500).prop_map(|packets| packets.to_string())),
    );
    let windows = (
        any::<bool>(),
        prop_oneof![Just(4_380_u64), log(1, 100_000)],
        sometimes(log(1, 100_000).prop_map(|bytes| format!("initial_ssthresh = \"{bytes}B\"\n"))),
        prop_oneof![4 => Just(0_u64), 1 => 1_u64..8],
        any::<bool>(),
    );
    let acknowledgements =
        (prop_oneof![3 => Just(1_u32), 3 => Just(2), 1 => 1_u32..20], log(1, 500), any::<bool>());
    let policy = prop::sample::select(vec!["same", "ssthresh", "cwnd", "loss-rate", "asap"]);
    let losses = (policy, prop_oneof![3 => Just(3_u32), 1 => 1_u32..6]);
    let timers = (log(1, 1_000), log(1, 8), prop_oneof![log(1, 8_000), log(2_000, 8_000)]);
    let failures = (0_u32..6, prop_oneof![Just(10_u32), 0_u32..20, Just(100_000)], any::<bool>());
    let heartbeats = log(100, 5_000);
    (buffers, windows, acknowledgements, losses, timers, failures, heartbeats).prop_map(
        |(
            (packet, receive, send),
            (outstanding, initial_window, ssthresh, max_burst, grow),
            (ack_every, ack_delay, cmt),
            (policy, threshold),
            (rto_min, initial_factor, rto_max),
            (path_max, association_max, suspect),
            heartbeat,
        )| {
            let receive = packet * receive;
            let send = match send.parse::<u64>() {
                Ok(packets) => format!("send_buffer = \"{}B\"\n", packet * packets),
                Err(_) => String::new(),
            };
            let accounting = if outstanding { "outstanding" } else { "buffer" };
            let initial = rto_min * initial_factor;
            // Never more than 8 s, so that the time after the last outage is many timeouts long.
            let max = rto_max.max(rto_min);
            let initial = initial.min(max);
            format!(
                "protocol = \"cmt-sctp\"\npacket = \"{packet}B\"\nreceive_buffer = \"{receive}B\"\n{send}\
                 receive_window_accounting = \"{accounting}\"\ninitial_window = \"{initial_window}B\"\n{ssthresh}\
                 max_burst = {max_burst}\ngrow_in_recovery = {grow}\nack_every = {ack_every}\n\
                 ack_delay = \"{ack_delay}ms\"\ndelayed_ack_for_cmt = {cmt}\nretransmission_policy = \"{policy}\"\n\
                 fast_retransmit_threshold = {threshold}\nrto_min = \"{rto_min}ms\"\nrto_initial = \"{initial}ms\"\n\
                 rto_max = \"{max}ms\"\npath_max_retransmissions = {path_max}\n\
                 association_max_retransmissions = {association_max}\npotentially_failed = {suspect}\n\
                 heartbeat_interval = \"{heartbeat}ms\"\n"
            )
        },
    )
}

/// The text, and whether the workload never ends.
fn workload() -> impl Strategy<Value = (String, bool)> {
    let file = log(1, 1_000_000).prop_map(|size| (format!("kind = \"file\"\nsize = \"{size}B\""), false));
    let constant = (log(10, 3_000), log(20, 100_000), 0_u64..10_000).prop_map(|(rate, block, start)| {
        let text =
            format!("kind = \"cbr\"\nrate = \"{rate}kbit\"\nblock = \"{block}B\"\nstart = \"{start}ms\"");
        (text, false)
    });
    let on_off = (log(10, 3_000), log(20, 100_000), on_off()).prop_map(|(rate, block, times)| {
        (format!("kind = \"on-off\"\nrate = \"{rate}kbit\"\nblock = \"{block}B\"\n{times}"), false)
    });
    let requests = requests().prop_map(|text| (text, false));
    let in_time = |workload: BoxedStrategy<(String, bool)>| {
        (workload, prop::option::of(1_u64..5_000)).prop_map(|((text, endless), deadline)| {
            let deadline = deadline.map_or(String::new(), |time| format!("\ndeadline = \"{time}ms\""));
            (text + &deadline, endless)
        })
    };
    let [file, constant, on_off, requests] =
        [file.boxed(), constant.boxed(), on_off.boxed(), requests.boxed()].map(in_time);
    let bulk = Just(("kind = \"bulk\"".to_owned(), true));
    prop_oneof![6 => file, 2 => constant, 1 => on_off, 2 => bulk, 3 => requests]
}

/// Requests and responses, some hundred at most.
fn requests() -> impl Strategy<Value = String> {
    let spread = || prop::sample::select(vec!["fixed", "exponential"]);
    let sizes = (log(1, 10_000), log(1, 300_000), spread());
    let thinking = (prop_oneof![Just(0), log(1, 10_000)], spread());
    let clients = (1_u32..=8, 0_u32..4);
    (sizes, thinking, clients, log(1, 200), 0_u64..5_000, prop::option::of(5_000_u64..150_000)).prop_map(
        |((request, response, sizes), (think, think_times), (parallel, urgent), count, start, stop)| {
            let stop = stop.map_or(String::new(), |stop| format!("stop = \"{stop}ms\"\n"));
            format!(
                "kind = \"request-response\"\nrequest = \"{request}B\"\nresponse = \"{response}B\"\nsizes = \"{sizes}\"\n\
                 think = \"{think}ms\"\nthink_times = \"{think_times}\"\nparallel = {parallel}\ncount = {count}\n\
                 start = \"{start}ms\"\nurgent = {urgent}\n{stop}"
            )
        },
    )
}

/// On and off times.
fn on_off() -> impl Strategy<Value = String> {
    (log(1, 5_000), log(1, 5_000), prop::option::of(11_u32..50)).prop_map(|(on, off, shape)| {
        let shape = shape.map_or(String::new(), |shape| {
            format!("distribution = \"pareto\"\nshape = {:.1}\n", f64::from(shape) / 10.0)
        });
        format!("on = \"{on}ms\"\noff = \"{off}ms\"\n{shape}")
    })
}

/// A shared link: its rate, its text, and for each path whether the path uses it, and whether it
/// replaces the path's wire.
type SharedLink = (u64, String, Vec<(bool, bool)>);

/// Up to three shared links, usually none.
fn links(network: Network) -> impl Strategy<Value = Vec<SharedLink>> {
    let users = prop::collection::vec((any::<bool>(), prop::bool::weighted(0.2)), 8);
    let link = (log(10_000, 100_000_000), way(network), way(network), users).prop_map(
        |(rate, forward, backward, users)| {
            let text =
                format!("forward = {{ rate = \"{rate}bit\", {forward} }}\nbackward = {{ rate = \"{rate}bit\", {backward} }}\n");
            (rate, text, users)
        },
    );
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(link, 1..=3)]
}

/// Adds the links to paths. Returns the texts of the links in use.
fn connect(paths: &mut [(u64, String)], links: &[SharedLink]) -> Vec<String> {
    let mut used = vec![false; links.len()];
    for (index, (rate, text)) in paths.iter_mut().enumerate() {
        let passed: Vec<usize> = (0..links.len()).filter(|&link| links[link].2[index].0).collect();
        if passed.is_empty() {
            continue;
        }
        let names: Vec<String> = passed.iter().map(|link| format!("\"link{link}\"")).collect();
        passed.iter().for_each(|&link| used[link] = true);
        if links[passed[0]].2[index].1 {
            *text = "[[path]]\n".to_owned();
            *rate = links[passed[0]].0;
        }
        text.push_str(&format!("links = [{}]\n", names.join(", ")));
    }
    let texts = links.iter().enumerate().filter(|(link, _)| used[*link]);
    texts.map(|(link, (_, text, _))| format!("[[link]]\nname = \"link{link}\"\n{text}")).collect()
}

/// Up to two competing flows, usually none.
fn flows() -> impl Strategy<Value = Vec<String>> {
    let direction = prop::sample::select(vec!["forward", "backward"]);
    let own = prop::sample::select(vec![
        "",
        "congestion_control = \"newreno\"\n",
        "congestion_control = \"cubic\"\n",
    ]);
    let tcp = (log(1, 300_000), own).prop_map(|(size, control)| {
        format!("kind = \"tcp\"\npath = \"path1\"\nsize = \"{size}B\"\n{control}")
    });
    let constant = (log(10, 3_000), log(20, 9_000)).prop_map(|(rate, packet)| {
        format!("kind = \"cbr\"\npath = \"path1\"\nrate = \"{rate}kbit\"\npacket = \"{packet}B\"\n")
    });
    let on_off = (log(10, 3_000), on_off()).prop_map(|(rate, times)| {
        format!("kind = \"on-off\"\npath = \"path1\"\nrate = \"{rate}kbit\"\n{times}")
    });
    let size = prop::option::of(log(1, 300_000));
    let multipath = (scheduler(), size).prop_map(|(scheduler, size)| {
        let end = size.map_or_else(|| "stop = \"$stopms\"".to_owned(), |size| format!("size = \"{size}B\""));
        format!("kind = \"multipath\"\nscheduler = {scheduler}\ncongestion_control = \"newreno\"\n{end}\n")
    });
    let flow = (direction, prop_oneof![tcp, constant, on_off, multipath])
        .prop_map(|(direction, text)| format!("[[flow]]\ndirection = \"{direction}\"\n{text}"));
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(flow, 1..=2)]
}

/// The path's rate in bits per second, and the text.
fn path(network: Network) -> impl Strategy<Value = (u64, String)> {
    let rates = (log(10_000, 100_000_000), prop_oneof![2 => Just(1_u64), 1 => log(1, 20)]);
    let ways = (way(network), way(network));
    let outages = if network == Network::Any { outages().boxed() } else { Just(String::new()).boxed() };
    (rates, ways, outages, steps(network), (prop::bool::weighted(0.1), 0_u32..5, 1_u32..5)).prop_map(
        move |((rate, slower), (forward, backward), outages, steps, (backup, cost, weight))| {
            let back = (rate / slower).max(10_000);
            let (steps, of_queue) = steps;
            let steps = steps.replace("$rate", &(rate / 2).to_string());
            // An active discipline has one limit.
            let of_queue = if network == Network::Any && !forward.contains("discipline") { of_queue } else { String::new() };
            let text = format!(
                "[[path]]\nbackup = {backup}\ncost = {cost}\nweight = {weight}\n{outages}\
                 forward = {{ rate = \"{rate}bit\", {forward}{steps}{of_queue} }}\nbackward = {{ rate = \"{back}bit\", {backward} }}\n"
            );
            (rate, text)
        },
    )
}

/// Sometimes a step to half the rate, another delay or other losses. Separately, a step to another
/// limit of the queue. The steps may repeat.
fn steps(network: Network) -> impl Strategy<Value = (String, String)> {
    let which = prop::array::uniform4(any::<bool>());
    let moments = (log(1, 20_000), prop::option::of(log(1, 20_000)));
    let values = (log(1, 300_000), log(1, 2_000), log(1, 200));
    let steps = (moments, which, values).prop_map(move |((at, rest), which, (delay, loss, queue))| {
        let [rate, delays, losses, queues] = which;
        let losses = losses && network == Network::Any;
        let text = |given: bool, key: &str, value: String| {
            let step = format!(", {key}_steps = [{{ at = \"{at}ms\", {key} = \"{value}\" }}]");
            if given { step } else { String::new() }
        };
        let repeat = rest.filter(|_| rate || delays || losses);
        let repeat = repeat.map_or(String::new(), |rest| format!(", repeat = \"{}ms\"", at + rest));
        let steps = text(rate, "rate", "$ratebit".to_owned())
            + &text(delays, "delay", format!("{delay}us"))
            + &text(losses, "loss", format!("{:.2}%", loss as f64 / 100.0))
            + &repeat;
        (steps, text(queues && repeat.is_empty(), "queue", format!("{queue}p")))
    });
    prop_oneof![4 => Just((String::new(), String::new())), 2 => steps]
}

/// Sometimes an active discipline, with any of its parameters.
fn discipline() -> impl Strategy<Value = String> {
    let active = prop::sample::select(DISCIPLINES).prop_flat_map(|info: Info| {
        let parameters: Vec<_> = info.parameters.iter().map(discipline_parameter).collect();
        parameters
            .prop_map(move |given| format!(", discipline = {{ name = \"{}\"{} }}", info.name, given.concat()))
    });
    prop_oneof![3 => Just(String::new()), 1 => active]
}

fn discipline_parameter(parameter: &'static Parameter) -> BoxedStrategy<String> {
    let key = parameter.key;
    let (low, high) = parameter.range;
    let any = match parameter.unit {
        Unit::Duration => log(low.max(1), 1_000_000_000).prop_map(|nanos| format!("\"{nanos}ns\"")).boxed(),
        Unit::Bytes => log(low, high.min(1_000_000)).prop_map(|bytes| format!("\"{bytes}B\"")).boxed(),
        Unit::Count => log(low, high.min(2_000)).prop_map(|count| count.to_string()).boxed(),
        Unit::Truth => any::<bool>().prop_map(|truth| truth.to_string()).boxed(),
    };
    prop_oneof![Just(String::new()), any.prop_map(move |value| format!(", {key} = {value}"))].boxed()
}

/// One direction: delay, queue, loss, jitter, discipline.
fn way(network: Network) -> BoxedStrategy<String> {
    if network == Network::Orderly {
        let jitter = sometimes(log(1, 50_000).prop_map(|micros| format!(", jitter = \"{micros}us\"")));
        let delay = log(1, 300_000);
        return (delay, jitter)
            .prop_map(|(delay, jitter)| format!("delay = \"{delay}us\", queue = \"infinite\"{jitter}"))
            .boxed();
    }
    let queue = prop_oneof![
        Just("infinite".to_owned()),
        Just("bdp".to_owned()),
        log(1, 200).prop_map(|packets| format!("{packets}p")),
        log(9_000, 500_000).prop_map(|bytes| format!("{bytes}B")),
        log(1, 2_000).prop_map(|millis| format!("{millis}ms")),
    ];
    // In hundredths of a percent, up to 20 %.
    let bernoulli = log(1, 2_000).prop_map(|share| format!(", loss = \"{:.2}%\"", share as f64 / 100.0));
    // Bursts have at most two packets on average: otherwise the last seconds of a run prove
    // nothing.
    let bursts = (log(1, 1_500), 50_u32..=100, 0_u32..=5, 20_u32..=100).prop_map(|(p, r, good, bad)| {
        let p = p as f64 / 100.0;
        format!(
            ", loss = {{ model = \"gilbert-elliott\", to_bad = \"{p:.2}%\", to_good = \"{r}%\", good_loss = \"{good}%\", \
             bad_loss = \"{bad}%\" }}"
        )
    });
    let loss = prop_oneof![3 => Just(", loss = \"0%\"".to_owned()), 1 => bernoulli, 1 => bursts];
    let distribution = prop::sample::select(vec!["uniform", "uniform", "normal", "pareto", "paretonormal"]);
    let correlation = prop_oneof![2 => Just(0), 1 => 1_u32..100];
    let jitter = (log(1, 50_000), distribution, correlation.clone(), any::<bool>()).prop_map(
        |(micros, distribution, correlation, reorder)| {
            format!(
                ", jitter = {{ amount = \"{micros}us\", distribution = \"{distribution}\", correlation = \"{correlation}%\", \
                 reorder = {reorder} }}"
            )
        },
    );
    let copies = (log(1, 3_000), correlation).prop_map(|(share, correlation)| {
        let share = share as f64 / 100.0;
        format!(", duplicate = {{ share = \"{share:.2}%\", correlation = \"{correlation}%\" }}")
    });
    let copies = prop_oneof![4 => Just(String::new()), 1 => copies];
    let reorder = prop_oneof![4 => Just(""), 1 => Just(", reorder = true")];
    (log(1, 300_000), queue, loss, sometimes(jitter), discipline(), copies, reorder)
        .prop_map(|(delay, queue, loss, jitter, discipline, copies, reorder)| {
            // A limit of time applies to drop-tail alone.
            let queue =
                if discipline.is_empty() || !queue.ends_with("ms") { queue } else { "50p".to_owned() };
            format!("delay = \"{delay}us\", queue = \"{queue}\"{loss}{jitter}{discipline}{copies}{reorder}")
        })
        .boxed()
}

/// Outages that end by the 60th second, never end, or repeat for ever.
fn outages() -> impl Strategy<Value = String> {
    let windows = prop::collection::vec(log(1, 15_000), 2..=6).prop_map(|lengths| {
        let mut now = 0;
        let windows: Vec<String> = lengths
            .chunks_exact(2)
            .map(|pair| {
                let (from, to) = (now + pair[0], now + pair[0] + pair[1]);
                now = to;
                format!("{{ from = \"{from}ms\", to = \"{to}ms\" }}")
            })
            .collect();
        format!("outages = [{}]\n", windows.join(", "))
    });
    let for_ever = (0_u64..60_000)
        .prop_map(|from| format!("outages = [{{ from = \"{from}ms\", to = \"1000000s\" }}]\n"));
    let periodic = (log(2, 10_000), 1_u64..100).prop_map(|(every, share)| {
        let length = (every * share / 100).clamp(1, every - 1);
        format!("outages = {{ every = \"{every}ms\", length = \"{length}ms\" }}\n")
    });
    prop_oneof![12 => Just(String::new()), 4 => windows, 1 => for_ever, 1 => periodic]
}
